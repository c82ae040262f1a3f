from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.pydatalog import PyDatalogEngine
from tests.examples.fixtures import shop, shop_database, still_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["engine", "shop", "shop_database", "still_shop"]


@pytest.fixture(scope="module")
def engine() -> Iterator[PyDatalogEngine]:
    """Give one child for all tests of a module: starting Python takes longer than a program."""
    with PyDatalogEngine() as found:
        yield found
