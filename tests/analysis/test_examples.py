"""Each code of analysis has a wrong and a right example, and both do what they say."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import constat.analysis
from constat.analysis import analyse
from constat.diagnostics import Severity, render
from constat.diagnostics.catalogue import Entry, chapter
from constat.syntax import parse_text
from tests.analysis.programs import SOURCE, diagnostics_of

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic

GOLDEN = Path(__file__).parent / "golden"
ENTRIES = chapter("analysis")
RUN = [entry for entry in ENTRIES if entry.kind == "rules"]
CODE = re.compile(r"C02[0-9]{2}\Z")

# Where an edit may stand; a snippet of a help parses in one of these places.
PLACES = (
    "{}",
    "head_(1) :- {}.",
    "head_(1) :- ?x = {}.",
    "head_(1) :- ?x = {} : {{ p(?t) }}.",
    "head_(?x) :- {}(?x).",
    ".decl head_(c: {})",
    '.input head_(source = "s", {})',
    "{} .decl head_(c: symbol)",
    ".decl head_(@[{}] c: symbol)",
)


def by_code(entry: Entry) -> str:
    return entry.code


def parses(snippet: str, example: str = "") -> bool:
    # What names columns is read with the declarations that have them.
    known = "".join(f"{line}\n" for line in example.splitlines() if line.startswith(".decl"))
    if re.fullmatch(r"\{[a-z]+\}", snippet):
        return True  # the placeholder of a sentence
    for place in PLACES:
        diagnostics: list[Diagnostic] = []
        declared = "" if ".decl head_" in place else ".decl head_(c: symbol)\n"
        for before in ("", known):
            diagnostics.clear()
            parse_text(before + declared + place.format(snippet), SOURCE, diagnostics)
            if not any(one.severity is Severity.ERROR for one in diagnostics):
                return True
    return False


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_the_wrong_example_gives_its_code_and_no_other(entry: Entry) -> None:
    assert [one.code for one in diagnostics_of(entry.wrong)] == [entry.code]


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_the_right_example_is_analysed(entry: Entry) -> None:
    diagnostics: list[Diagnostic] = []
    program = parse_text(entry.right, SOURCE, diagnostics)
    assert analyse(program, diagnostics) is not None
    assert diagnostics == []


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_the_rendered_diagnostic_is_the_golden_one(entry: Entry) -> None:
    path = GOLDEN / f"{entry.code}.txt"
    text = render(diagnostics_of(entry.wrong), {SOURCE: entry.wrong}, colour=False)
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {entry.code for entry in RUN}


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_every_diagnostic_has_a_place_a_note_and_a_help_that_parses(entry: Entry) -> None:
    for one in diagnostics_of(entry.wrong):
        assert one.span is not None
        assert one.note
        snippets = re.findall(r"`([^`]+)`", one.help)
        assert snippets
        assert [snippet for snippet in snippets if not parses(snippet, entry.wrong)] == []


@pytest.mark.parametrize("snippet", ["p(?x", "not p(?x)", "?x ==", "@[a = ]", ":- p(1).", "1 +"])
def test_what_is_no_edit_is_seen(snippet: str) -> None:
    assert not parses(snippet)


def test_every_code_of_analysis_is_in_the_catalogue() -> None:
    used: set[str] = set()
    for path in Path(constat.analysis.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                used.update([node.value] if CODE.match(node.value) else [])
    assert used == {entry.code for entry in ENTRIES}
