from __future__ import annotations

from tests.examples.fixtures import shop_database, still_shop

__all__ = ["shop_database", "still_shop"]
