"""Boxes in task lists: ticked, or not.

In: what was said, or what a tool answered.  Out: ``done`` or ``pending`` (value: the task).
Invariant: the span is the line behind the box.

Example: ``- [ ] check the totals`` is pending.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.facts import Fact
    from constat.memory.passages import Passage

_BOX: Final = re.compile(
    r"^[ \t]{0,20}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+\[(?P<box>[ xX])\][ \t]+(?P<task>\S[^\n]{0,500})",
    re.MULTILINE,
)


def from_task_lists(passage: Passage) -> Iterator[Fact]:
    """Yield a fact for each box."""
    if passage.place is Place.ARGUMENTS:
        return
    for found in _BOX.finditer(passage.text):
        task = found["task"].rstrip()
        predicate = "pending" if found["box"] == " " else "done"
        start = found.start("task")
        yield fact(passage, Said(predicate, "", task), start, start + len(task), "tasks")
