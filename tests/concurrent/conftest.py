from __future__ import annotations

from tests.examples.fixtures import shop, shop_database
from tests.servers.conftest import mariadb, mariadb_server, postgresql, postgresql_server

__all__ = [
    "mariadb",
    "mariadb_server",
    "postgresql",
    "postgresql_server",
    "shop",
    "shop_database",
]
