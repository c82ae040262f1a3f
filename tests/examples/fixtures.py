"""The example as fixtures: its database is built once, each test gets a copy of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.examples.shop import build_database, copy_shop

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def shop_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.sqlite"
    build_database(path)
    return path


@pytest.fixture
def shop(tmp_path: Path, shop_database: Path) -> Path:
    """Return the folder of a project that the test may change."""
    return copy_shop(tmp_path / "repository", shop_database)


@pytest.fixture(scope="session")
def still_shop(tmp_path_factory: pytest.TempPathFactory, shop_database: Path) -> Path:
    """Return the folder of a project that no test may change."""
    return copy_shop(tmp_path_factory.mktemp("still") / "repository", shop_database)
