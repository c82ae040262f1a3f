"""Each code has a wrong and a right example, and both do what they say."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

import constat.syntax
from constat.diagnostics import Entry
from constat.diagnostics.catalogue import analysis, catalogue, evaluation, external, syntax
from tests.diagnostics.rendered import RUNNABLE, diagnostics_of, rendered

GOLDEN = Path(__file__).parent / "golden"
RUN = [entry for entry in syntax.ENTRIES if entry.kind in RUNNABLE]
CODE = re.compile(r"C0[1-7][0-9]{2}\Z")


def by_code(entry: Entry) -> str:
    return entry.code


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_the_wrong_example_gives_its_code_and_no_other(entry: Entry) -> None:
    assert [one.code for one in diagnostics_of(entry, entry.wrong)] == [entry.code]


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_the_right_example_gives_nothing(entry: Entry) -> None:
    assert diagnostics_of(entry, entry.right) == []


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_the_rendered_diagnostic_is_the_golden_one(entry: Entry) -> None:
    path = GOLDEN / f"{entry.code}.txt"
    text = rendered(entry)
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_every_code_has_one_golden_file() -> None:
    known = {entry.code for entry in syntax.ENTRIES}
    assert {path.stem for path in GOLDEN.glob("C01*.txt")} == known


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_every_diagnostic_has_a_place_a_note_and_a_help(entry: Entry) -> None:
    for one in diagnostics_of(entry, entry.wrong):
        assert one.span is not None
        assert one.note
        assert one.help
        assert one.message[:1] == one.message[:1].lower()
        assert not one.message.endswith(".")


def test_codes_are_unique_and_in_their_ranges() -> None:
    parts = {"1": syntax, "2": analysis, "34": evaluation, "5": external}
    codes = [entry.code for part in parts.values() for entry in part.ENTRIES]
    assert len(codes) == len(set(codes))
    for digits, part in parts.items():
        assert all(CODE.match(entry.code) for entry in part.ENTRIES)
        assert {entry.code[2] for entry in part.ENTRIES} <= set(digits)


def test_the_catalogue_holds_every_entry_in_order() -> None:
    found = catalogue()
    assert list(found) == sorted(found)
    assert {entry.code for entry in syntax.ENTRIES} <= set(found)
    assert all(code == entry.code for code, entry in found.items())


def test_every_entry_says_something() -> None:
    for entry in catalogue().values():
        assert entry.title
        assert len(entry.explanation.split()) >= 5, entry.code
        assert entry.wrong != entry.right, entry.code


def codes_in_source() -> set[str]:
    found: set[str] = set()
    for path in Path(constat.syntax.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update([node.value] if CODE.match(node.value) else [])
    return found


def test_every_code_that_the_syntax_gives_is_in_the_catalogue() -> None:
    assert codes_in_source() == {entry.code for entry in syntax.ENTRIES}
