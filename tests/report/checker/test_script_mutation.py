"""Broken copies of the second checker are noticed; SURVIVORS.md argues the few that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from constat.proof.report.markup import CHECKER_FILES, checker_parts
from tests.report.checker.script_mutation import mutants_of, parts, survivors
from tests.report.checker.second_checker import node

needs_node = pytest.mark.skipif(node() is None, reason="no Node.js: neither on the path nor here")
ARGUED = Path(__file__).parent / "SURVIVORS.md"
TRIED = ("world.js", "groups.js", "totals.js", "closure.js", "nodes.js", "terms.js", "verdict.js")


def test_every_file_has_mutants_that_change_it() -> None:
    script = checker_parts()
    for name, begin, end in parts(script, CHECKER_FILES):
        made = list(mutants_of(script, begin, end))
        assert made, name
        for one in made:
            assert begin <= one.start < one.end <= end
            assert script[one.start : one.end] != one.text


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_broken_copies_are_noticed(name: str) -> None:
    argued = ARGUED.read_text(encoding="utf-8").replace("\\|", "|")
    _, left = survivors(name)
    assert [line for line in left if f"`{line.partition('  ->  ')[0]}`" not in argued] == []
