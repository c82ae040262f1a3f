"""The catalogue of codes: what each means, with a wrong and a right example.

It is written in Markdown, in `codes/`, one chapter for each topic: the text that people read there
is the text that `constat explain` prints. Those who make diagnostics do not load it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from constat.frozen import frozen

FOLDER: Final = Path(__file__).with_name("codes")
# What follows the back quotes of an example says what it is.
_KINDS: Final = MappingProxyType(
    {
        "prolog": "rules",
        "prolog souffle": "souffle",
        "prolog goal": "goal",
        "yaml": "project",
        "text": "text",
    }
)
_ENTRY: Final = re.compile(
    r"(?P<code>C0[0-9]{3}): (?P<title>[^\n]+)\n\n(?P<explanation>.+?)\n\n"
    r"(?:With these rules:\n\n```prolog\n(?P<rules>.*?)\n```\n\n)?"
    r"Wrong:\n\n```(?P<kind>[a-z ]+)\n(?P<wrong>.*?)\n```\n\n"
    r"Right:\n\n```(?P=kind)\n(?P<right>.*?)\n```\n?\n?",
    re.DOTALL,
)
# Files end with a line end; a goal and a command do not.
_FILES: Final = frozenset({"rules", "souffle", "project"})


@frozen
class Entry:
    """A code, what it means, and a wrong and a right example.

    `kind` says what the examples are: `rules` (a rule file), `souffle` (one that is read as
    Souffle's), `goal` (a goal over `rules_for_goal`), `project` (a `constat.yaml`), or `text`
    where no file shows the mistake. Codes never change meaning.
    """

    code: str
    title: str
    explanation: str
    wrong: str
    right: str
    kind: str = "rules"
    rules_for_goal: str = ""


def catalogue() -> Mapping[str, Entry]:
    """Every entry by code, in the order of codes."""
    entries = [entry for file in FOLDER.glob("*.md") for entry in chapter(file.stem)]
    return {entry.code: entry for entry in sorted(entries, key=lambda entry: entry.code)}


def chapter(name: str) -> tuple[Entry, ...]:
    """Read the entries of one topic, such as `syntax`, in the order of its file."""
    file = FOLDER / f"{name}.md"
    return tuple(_entries(file.read_text(encoding="utf-8"), file.name))


def _entries(text: str, name: str) -> Iterator[Entry]:
    for part in text.split("\n## ")[1:]:
        parts = _ENTRY.fullmatch(part)
        if parts is None or parts["kind"] not in _KINDS:
            raise ValueError(f"{name}: no entry of the form that the others have: {part[:60]!r}")
        kind = _KINDS[parts["kind"]]
        end = "\n" if kind in _FILES else ""
        yield Entry(
            parts["code"],
            parts["title"],
            " ".join(parts["explanation"].split("\n")),
            parts["wrong"] + end,
            parts["right"] + end,
            kind,
            parts["rules"] or "",
        )
