"""That a tool was called, and that it answered.

In: the arguments of a call, or its answer.  Out: ``tool_call`` (key: the id, value: the tool) or
``tool_result`` (key: the id, value: ``ok`` or ``failed``).  Invariant: the span is the whole text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.memory.extract.making import Said, fact
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.facts import Fact
    from constat.memory.passages import Passage


def from_answer(passage: Passage) -> Iterator[Fact]:
    """Yield at most one fact."""
    if passage.place is Place.ARGUMENTS:
        said = Said("tool_call", passage.call, passage.tool)
    elif passage.place is Place.ANSWER:
        said = Said("tool_result", passage.call, "failed" if passage.failed else "ok")
    else:
        return
    yield fact(passage, said, 0, len(passage.text), "call")
