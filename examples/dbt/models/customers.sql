select id as customer_id, name, country, joined from {{ ref('raw_customers') }}
