"""Short ways to read texts in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import Severity
from constat.syntax import parse_text

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic
    from constat.logic import Program


def read(text: str) -> tuple[Program, list[Diagnostic]]:
    found: list[Diagnostic] = []
    return parse_text(text, "test.dl", found), found


def errors(text: str) -> list[str]:
    """The codes of the errors of a text, by place."""
    _, found = read(text)
    wrong = [one for one in found if one.severity is Severity.ERROR]
    return [one.code for one in sorted(wrong, key=lambda one: one.place)]


def places(text: str) -> list[str]:
    """Code, line and column of each error."""
    _, found = read(text)
    ordered = sorted(found, key=lambda one: one.place)
    return [f"{one.code}@{one.span.line}:{one.span.column}" for one in ordered if one.span]


def sound(text: str) -> Program:
    """The program of a text without errors."""
    program, found = read(text)
    assert found == []
    return program
