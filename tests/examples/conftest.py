from __future__ import annotations

from tests.examples.fixtures import shop, shop_database, still_shop
from tests.servers.conftest import postgresql, postgresql_server

__all__ = ["postgresql", "postgresql_server", "shop", "shop_database", "still_shop"]
