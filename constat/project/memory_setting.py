"""What a project says about memory: how much of a conversation a model is told, by whose rules.

In: the node under `memory:`. Out: a `MemorySetting`. Invariant: the folder of rules lies in the
project. Example: `memory: {tokens: 6000, rules: rules/memory}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.project.places import inside

if TYPE_CHECKING:
    from pathlib import Path

    from constat.project.document import Node
    from constat.project.sections import Sections

_KEYS: Final = ("tokens", "rules")
_MOST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class MemorySetting:
    """How conversations are remembered.

    `tokens` is what a question is told of what was said before it, at most. Files in the folder
    `rules` take the place of the rules of memory of the same name, or are added to them.
    """

    tokens: int = 4_000
    rules: Path | None = None


def read_memory(node: Node | None, folder: Path, sections: Sections) -> MemorySetting:
    """Read `memory:`."""
    plain = MemorySetting()
    if node is None:
        return plain
    found = sections.table(node, "`memory`", _KEYS)
    tokens = sections.integer(found.get("tokens"), "`tokens`", plain.tokens)
    if tokens > _MOST:
        message = f"`tokens` is more than {_MOST:,}"
        sections.complain("C0933", message, found["tokens"], hint=f"write a number up to {_MOST}")
        tokens = plain.tokens
    return MemorySetting(tokens, _rules(found.get("rules"), folder, sections))


def _rules(node: Node | None, folder: Path, sections: Sections) -> Path | None:
    if node is None:
        return None
    place = inside(sections.text(node, "`rules`"), folder)
    if place is None or not place.is_dir():
        message = "`rules` of `memory` is no folder inside the project"
        sections.complain("C0933", message, node, hint="write `memory: {rules: rules/memory}`")
        return None
    return place
