"""A module is named after what it holds."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.architecture.sources import folders, shown, sources_in

if TYPE_CHECKING:
    from pathlib import Path

HOMELESS = re.compile(r"_*(utils?|helpers?|common|base|managers?|misc|shared|stuff|tools)_*")


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_no_module_is_a_drawer_for_everything(folder: Path) -> None:
    for source in sources_in(folder):
        last = source.name.rpartition(".")[2]
        assert not HOMELESS.fullmatch(last)
        assert not set(last.split("_")) & {
            "util",
            "utils",
            "helper",
            "helpers",
            "manager",
            "common",
        }


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_every_module_says_what_it_is_for(folder: Path) -> None:
    for source in sources_in(folder):
        assert ast.get_docstring(source.tree)
