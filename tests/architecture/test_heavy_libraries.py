"""Heavy libraries load when they are first used, so that the command line starts fast."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.architecture.sources import HEAVY, folders, imports, shown, sources_in

if TYPE_CHECKING:
    from pathlib import Path

REASON = "heavy library, loaded on first use"


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_no_heavy_library_is_imported_at_the_top_of_a_module(folder: Path) -> None:
    for source in sources_in(folder):
        assert [
            f"line {imported.line}: {imported.module}"
            for imported in imports(source)
            if imported.top in HEAVY and not imported.in_function and not imported.for_types_only
        ] == []


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_only_heavy_libraries_are_imported_inside_functions(folder: Path) -> None:
    for source in sources_in(folder):
        lines = source.text.splitlines()
        late = [imported for imported in imports(source) if imported.in_function]
        assert [imported.module for imported in late if imported.top not in HEAVY] == []
        assert [lines[i.line - 1].strip() for i in late if REASON not in lines[i.line - 1]] == []


def test_the_command_line_starts_without_a_heavy_library() -> None:
    program = (
        "import sys; import constat.__main__, constat.cli;"
        f" print(*sorted(set(sys.modules) & {set(HEAVY)!r}))"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.split() == []
