"""Task lists: boxes that are ticked or not, and lists that a tool is given.

In: what was said, what a tool answered, or the arguments of a call.  Out: ``done`` or ``pending``
(value: the task).  Invariant: the span is the task; a list in arguments is one of objects that have
a text and a state.

Example: ``- [ ] check the totals`` is pending, and so is
``{"todos": [{"content": "check the totals", "status": "in_progress"}]}``.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact, fact_at
from constat.memory.facts import Span
from constat.memory.passages import Place
from constat.memory.quotations import blanked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.extract.reading import Reading
    from constat.memory.facts import Fact

_BOX: Final = re.compile(
    r"^[ \t]{0,20}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+\[(?P<box>[ xX])\][ \t]+(?P<task>\S[^\n]{0,500})",
    re.MULTILINE,
)
_TEXTS: Final = frozenset({"content", "task", "title", "text", "description", "step"})
_STATES: Final = frozenset({"status", "state", "done", "completed"})
_DONE: Final = frozenset({"done", "completed", "complete", "finished", "closed", "true"})
_OPEN: Final = frozenset(
    {"pending", "in_progress", "in progress", "open", "todo", "not_started", "blocked", "false"}
)


def from_task_lists(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each task."""
    passage = reading.passage
    if passage.place is Place.ARGUMENTS:
        yield from _from_arguments(reading)
        return
    if "[" not in passage.text or reading.members is not None:
        return
    text = blanked(passage.text, passage.foreign) if passage.foreign else passage.text
    for found in _BOX.finditer(text):
        task = found["task"].rstrip()
        predicate = "pending" if found["box"] == " " else "done"
        start = found.start("task")
        yield fact(passage, Said(predicate, "", task), start, start + len(task), "tasks")


def _from_arguments(reading: Reading) -> Iterator[Fact]:
    listed = (one for one in reading.members or () if len(one.path) > 1)
    for path, members in groupby(listed, key=lambda one: one.path[:-1]):
        if not isinstance(path[-1], int):
            continue
        by_name = {one.name: one for one in members}
        task = next((by_name[name] for name in by_name if name in _TEXTS), None)
        state = next((by_name[name].value.lower() for name in by_name if name in _STATES), "")
        if task is not None and task.kind == "text" and state in _DONE | _OPEN:
            span = Span(reading.passage.archive, task.start, task.end)
            said = Said("done" if state in _DONE else "pending", "", task.value)
            yield fact_at(reading.passage, said, span, "tasks")
