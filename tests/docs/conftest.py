from __future__ import annotations

from tests.browser.conftest import browser
from tests.examples.fixtures import shop, shop_database, still_shop

__all__ = ["browser", "shop", "shop_database", "still_shop"]
