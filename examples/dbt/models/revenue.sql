{{ config(materialized='view') }}
select customer_id, sum(amount_eur) as revenue_eur
from {{ ref('orders') }}
where state = 'paid'
group by customer_id
