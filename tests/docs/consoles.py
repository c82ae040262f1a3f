"""Blocks of commands in Markdown, and how their output is compared.

A block is fenced by three back quotes and the word `console`; a line that starts with `$ ` is a
command, what follows is its output. `...` as a whole line stands for any lines. Times, hashes and
durations are compared by their form. In a tutorial a block with `title="NAME"` is a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"sha256:[0-9a-f]{6,64}"), "<hash>"),
    (re.compile(r"\d+\.\d ms"), "<duration>"),
    (re.compile(r"\(key [0-9a-f]{4,16}\)"), "(key <id>)"),
)


@dataclass(frozen=True)
class Command:
    """A command of a document with the output it is said to have."""

    line: str
    output: str
    place: str


def commands(file: Path) -> list[Command]:
    """Read the commands of a document, in order."""
    found: list[Command] = []
    inside = False
    text, start = "", 0
    output: list[str] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not inside:
            inside = line == "```console"
            continue
        if line == "```" or line.startswith("$ "):
            if text:
                found.append(Command(text, "\n".join(output), f"{file.name}:{start}"))
            inside = line != "```"
            text, output, start = line.removeprefix("$ ") if inside else "", [], number
        else:
            output.append(line)
    return found


_TITLED = re.compile(r"^```[a-z]+ title=\"([^\"]+)\"\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def files(file: Path) -> Iterator[tuple[str, str]]:
    """Give the names and texts of the files that a tutorial shows, in order."""
    yield from _TITLED.findall(file.read_text(encoding="utf-8"))


def agrees(wanted: str, given: str) -> bool:
    """Compare outputs."""
    parts = re.split(r"^\.\.\.$\n?", _same(wanted), flags=re.MULTILINE)
    pattern = ".*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern + r"\n?", _same(given) + "\n", flags=re.DOTALL) is not None


def _same(text: str) -> str:
    for varies, name in _VARIES:
        text = varies.sub(name, text)
    return text.rstrip("\n")
