from __future__ import annotations

from tests.examples.fixtures import shop, shop_database, still_shop

__all__ = ["shop", "shop_database", "still_shop"]
