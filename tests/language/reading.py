"""Reads the literate cases: `*.md` files of rules, facts, goals and what is expected.

A case is a `##` heading followed by fenced blocks.  `rules` is a program.  `facts` has one fact on
a line; after `open` stands a shape of rows that may exist, after `assumed` a row on somebody's
word, after `declared` a shape that is open until a closure is accepted.  `expect` has lines
`goal: VERDICT`, with the certain rows indented below; `error` has the codes of a refused program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from constat.diagnostics import Diagnostic

FOLDER = Path(__file__).parent
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Expectation:
    """A goal, its verdict and, where the case lists them, its rows."""

    goal: str
    verdict: str
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LanguageCase:
    """One case of a file."""

    name: str
    rules: str
    facts: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    errors: tuple[str, ...] = field(default=())


def language_cases() -> list[LanguageCase]:
    """Return the cases of all files, in order."""
    return [
        _case(path.stem, part)
        for path in sorted(FOLDER.glob("*.md"))
        for part in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    ]


def errors(diagnostics: list[Diagnostic]) -> list[str]:
    """Return the codes of the errors, sorted."""
    return sorted({one.code for one in diagnostics if one.severity.value == "error"})


def _case(file: str, part: str) -> LanguageCase:
    title, _, text = part.partition("\n")
    blocks = dict(_FENCE.findall(text))
    unknown = set(blocks) - {"rules", "facts", "expect", "error"}
    assert not unknown, f"{title}: blocks {unknown}"
    assert len(_FENCE.findall(text)) == len(blocks), f"{title}: a block stands twice"
    return LanguageCase(
        f"{file}: {title}",
        blocks["rules"],
        tuple(blocks.get("facts", "").split("\n")[:-1]),
        tuple(_expectations(blocks.get("expect", ""))),
        tuple(blocks.get("error", "").split("\n")[:-1]),
    )


def _expectations(text: str) -> list[Expectation]:
    found: list[Expectation] = []
    for line in text.splitlines():
        if line.startswith(" "):
            last = found.pop()
            found.append(Expectation(last.goal, last.verdict, (*last.rows, line.strip())))
        else:
            goal, _, verdict = line.rpartition(": ")
            found.append(Expectation(goal, verdict))
    return found
