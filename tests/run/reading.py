"""Reads the literate runs: `*.md` files of programs, fact files and what a run must give.

A case is a `##` heading followed by fenced blocks. ```` ```program OPTIONS ```` is the program and
what the command line adds. ```` ```facts NAME ```` is a fact file, ```` ```result NAME ```` a file
that the run writes, `stdout` what it prints; in these `→` is a tab. ```` ```codes EXIT ```` lists
the codes on stderr, errors and warnings, one on a line; without it the run ends with 0 and the
codes are not looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
_FENCE = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class RunCase:
    """One case; `results` are `None` texts where nothing may be written."""

    name: str
    program: str
    options: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    results: tuple[tuple[str, str], ...]
    stdout: str
    code: int = 0
    codes: tuple[str, ...] | None = None


def run_cases() -> list[RunCase]:
    """Give the cases of all files, in order."""
    return [
        _case(path.stem, part)
        for path in sorted(FOLDER.glob("*.md"))
        for part in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    ]


def _case(file: str, part: str) -> RunCase:
    title, _, text = part.partition("\n")
    blocks = [(kind, word, inner.replace("→", "\t")) for kind, word, inner in _FENCE.findall(text)]
    unknown = {kind for kind, _, _ in blocks} - {"program", "facts", "result", "stdout", "codes"}
    assert not unknown, f"{title}: blocks {unknown}"
    programs = [(word, inner) for kind, word, inner in blocks if kind == "program"]
    assert len(programs) == 1, f"{title}: one program"
    codes = [(word, inner) for kind, word, inner in blocks if kind == "codes"]
    return RunCase(
        f"{file}: {title}",
        programs[0][1],
        tuple(programs[0][0].split()),
        tuple((word, inner) for kind, word, inner in blocks if kind == "facts"),
        tuple((word, inner) for kind, word, inner in blocks if kind == "result"),
        "".join(inner for kind, _, inner in blocks if kind == "stdout"),
        int(codes[0][0] or "0") if codes else 0,
        tuple(sorted(codes[0][1].split())) if codes else None,
    )
