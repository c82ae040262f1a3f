"""The checker shares no code with the rest of Constat and needs the standard library only."""

from __future__ import annotations

import sys

import pytest

from tests.architecture.sources import PACKAGE, Source, imports, sources

CHECKER = PACKAGE / "check"


@pytest.mark.parametrize("source", sources(CHECKER), ids=lambda source: source.shown)
def test_the_checker_imports_only_the_standard_library_and_itself(source: Source) -> None:
    # `python check FILE` on a copy of the folder finds its modules by their bare names.
    own = {path.stem for path in CHECKER.glob("*.py")}
    foreign = {
        imported.module
        for imported in imports(source)
        if imported.top not in sys.stdlib_module_names
        and imported.top not in own
        and imported.module.split(".")[:2] != ["constat", "check"]
        and (imported.module, imported.symbol) != ("constat", "check")
    }
    assert not foreign


def test_no_module_of_the_checker_hides_one_of_the_standard_library() -> None:
    own = {path.stem for path in CHECKER.glob("*.py")}
    assert not own & sys.stdlib_module_names
