select
  id as order_id,
  customer as customer_id,
  day as ordered_on,
  cast(cents / 100.0 as decimal(12, 2)) as amount_eur,
  state
from {{ ref('raw_orders') }}
