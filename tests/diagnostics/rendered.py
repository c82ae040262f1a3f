"""Run the examples of the catalogue and render what they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis import analyse_or_raise
from constat.diagnostics import ConstatError, Diagnostic, render
from constat.syntax import Mode, parse_goal, parse_text
from constat.syntax.lowering import lower
from constat.syntax.parser import parse_file

if TYPE_CHECKING:
    from constat.diagnostics.catalogue import Entry

RUNNABLE = frozenset({"rules", "souffle", "goal"})


def diagnostics_of(entry: Entry, example: str) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    if entry.kind == "rules":
        parse_text(example, "example.dl", found)
        return found
    if entry.kind == "souffle":
        file = parse_file(example, "example.dl", found, Mode.SOUFFLE)
        lower(file.items, found, Mode.SOUFFLE)
        return found
    program = analyse_or_raise(parse_text(entry.rules_for_goal, "example.dl", found)).program
    assert found == []
    try:
        parse_goal(example, program)
    except ConstatError as error:
        return list(error.diagnostics)
    return []


def rendered(entry: Entry) -> str:
    texts = {"example.dl": entry.wrong, "<goal>": entry.wrong}
    if entry.kind == "goal":
        texts["example.dl"] = entry.rules_for_goal
    return render(diagnostics_of(entry, entry.wrong), texts, colour=False)
