"""A module is named after what it holds."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.sources import Source, sources

HOMELESS = re.compile(r"_*(utils?|helpers?|common|base|managers?|misc|shared|stuff|tools)_*")


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.shown)
def test_no_module_is_a_drawer_for_everything(source: Source) -> None:
    last = source.name.rpartition(".")[2]
    assert not HOMELESS.fullmatch(last)
    assert not set(last.split("_")) & {"util", "utils", "helper", "helpers", "manager", "common"}


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.shown)
def test_every_module_says_what_it_is_for(source: Source) -> None:
    assert ast.get_docstring(source.tree)
