"""A passage with what several extractors want to know of it.

In: a passage.  Out: the leaves of its JSON, read once; ``None`` where it is no JSON.  Invariants:
JSON that stands line by line counts as one list; a bounded number of leaves is read.

Example: ``{"a": 1}`` above ``{"a": 2}`` has the leaves ``[0].a`` and ``[1].a``.
Reference: https://jsonlines.org
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.memory.json_spans import JsonSpanError, Leaf, json_leaves
from constat.memory.passages import Place

if TYPE_CHECKING:
    from constat.memory.json_spans import Path
    from constat.memory.passages import Passage

MOST_LEAVES: Final = 20_000
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_KINDS: Final = MappingProxyType({"t": "truth", "f": "truth", "n": "nothing", '"': "text"})


@dataclass(frozen=True, slots=True)
class Member:
    """A leaf with its value: texts are without quotes and escapes, numbers as they are written."""

    path: Path
    start: int
    end: int
    value: str
    kind: str

    @property
    def name(self) -> str:
        """The last name in the path; empty for the elements of a list."""
        return self.path[-1] if self.path and isinstance(self.path[-1], str) else ""


@dataclass(frozen=True)
class Reading:
    """A passage as extractors are given it."""

    passage: Passage

    @cached_property
    def members(self) -> tuple[Member, ...] | None:
        """The leaves of a passage that is JSON."""
        content = self.passage.content
        if self.passage.place is Place.SAID or content.lstrip()[:1] not in {b"{", b"["}:
            return None
        leaves = _leaves(content)
        if leaves is None:
            return None
        return tuple(_member(content, leaf) for leaf in leaves[:MOST_LEAVES])


def _leaves(content: bytes) -> tuple[Leaf, ...] | None:
    try:
        return json_leaves(content)
    except JsonSpanError:
        return _line_by_line(content)


def _line_by_line(content: bytes) -> tuple[Leaf, ...] | None:
    found: list[Leaf] = []
    start = number = 0
    for line in content.splitlines(keepends=True):
        if line.strip():
            try:
                leaves = json_leaves(line)
            except JsonSpanError:
                return None
            found += [
                Leaf((number, *leaf.path), start + leaf.start, start + leaf.end) for leaf in leaves
            ]
            number += 1
        start += len(line)
        if len(found) > MOST_LEAVES:
            break
    return tuple(found)


def _member(content: bytes, leaf: Leaf) -> Member:
    written = content[leaf.start : leaf.end].decode()
    kind = _KINDS.get(written[0], "number")
    value = written
    if kind == "text":
        value = written[1:-1] if "\\" not in written else str(json.loads(written))
    return Member(leaf.path, leaf.start, leaf.end, value, kind)


def path_text(path: Path) -> str:
    """Write a path: ``order.lines[0].price``; names that are no words are quoted."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(parts)
