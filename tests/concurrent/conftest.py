from __future__ import annotations

from tests.examples.fixtures import shop, shop_database

__all__ = ["shop", "shop_database"]
