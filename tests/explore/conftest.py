from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat import Session
from tests.examples.fixtures import shop_database
from tests.explore.worlds import make_regions, make_small_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["shop_database"]


@pytest.fixture
def regions(tmp_path: Path) -> Path:
    """Return a project that the test may change."""
    return make_regions(tmp_path / "regions")


@pytest.fixture
def session(regions: Path) -> Iterator[Session]:
    with Session(regions) as found:
        yield found


@pytest.fixture(scope="session")
def still_regions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project whose data no test may change."""
    return make_regions(tmp_path_factory.mktemp("still") / "regions")


@pytest.fixture(scope="session")
def small_shop(tmp_path_factory: pytest.TempPathFactory, shop_database: Path) -> Path:
    return make_small_shop(tmp_path_factory.mktemp("small") / "repository", shop_database)
