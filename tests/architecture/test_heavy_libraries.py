"""Heavy libraries load when they are first used, so that the command line starts fast."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.architecture.sources import HEAVY, folders, imports, shown, sources, sources_in

if TYPE_CHECKING:
    from pathlib import Path

HEAVY_REASON = "heavy library, loaded on first use"
OWN_REASON = "loaded when it is used"
# Modules that compute with arrays import it at the top; a module that each `prove` loads does not.
HEAVY_AT_START = {"numpy"}
ABSENT_REASON = "a browser has none"
ABSENT = {"resource"}
# Commands, public names, and the checker, which runs under any name.
TABLES_OF_NAMES = {"constat.cli.groups", "constat.session", "constat.check.__main__"}


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_no_heavy_library_is_imported_at_the_top_of_a_module(folder: Path) -> None:
    for source in sources_in(folder):
        assert [
            f"line {imported.line}: {imported.module}"
            for imported in imports(source)
            if imported.top in HEAVY and not imported.in_function and not imported.for_types_only
        ] == []


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_what_is_imported_inside_functions_is_heavy_or_ours_and_says_so(folder: Path) -> None:
    for source in sources_in(folder):
        lines = source.text.splitlines()
        late = [imported for imported in imports(source) if imported.in_function]
        known = HEAVY | HEAVY_AT_START | ABSENT | {"constat"}
        assert [one.module for one in late if not {one.top, one.module} & known] == []
        for imported in late:
            reason = OWN_REASON if imported.top == "constat" else HEAVY_REASON
            reason = ABSENT_REASON if imported.top in ABSENT else reason
            assert reason in lines[imported.line - 1]


def test_our_modules_are_named_in_strings_by_tables_of_names_only() -> None:
    found = {
        source.name
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}
        and re.search(r"['\"{](constat\b|__name__|_package\(\))", ast.unparse(node.args[0]))
    }
    assert found == TABLES_OF_NAMES


def test_the_command_line_starts_without_a_heavy_library() -> None:
    program = (
        "import sys; import constat.__main__, constat.cli;"
        f" print(*sorted(set(sys.modules) & {set(HEAVY)!r}))"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.split() == []


def test_every_duckdb_of_ours_is_set_up() -> None:
    opening = [source for source in sources() if "duckdb.connect(" in source.text]
    assert len(opening) > 5
    # Two sessions may open one file at the same time, and the first locks its settings: those of
    # sources are given when it is opened.
    ways = ("set_up_duckdb(", '"disabled_optimizers": WRONG_OPTIMIZERS')
    for source in opening:
        set_up = sum(map(source.text.count, ways))
        assert source.text.count("duckdb.connect(") <= set_up, source.name
