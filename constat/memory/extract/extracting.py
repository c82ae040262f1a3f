"""All extractors, in their order.

In: passages.  Out: their facts.  Invariant: the bytes of a fact are those of its value as it was
written, and each fact comes once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.memory.extract.answers import from_answer
from constat.memory.extract.artifacts import from_files
from constat.memory.extract.constraints import from_wishes
from constat.memory.extract.failures import from_failures
from constat.memory.extract.leaves import from_json
from constat.memory.extract.reading import Reading
from constat.memory.extract.spoken_calls import from_spoken_calls
from constat.memory.extract.tables import from_tables
from constat.memory.extract.tasks import from_task_lists
from constat.memory.extract.values import from_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from constat.memory.facts import Fact
    from constat.memory.passages import Passage

    Extractor = Callable[[Reading], Iterable[Fact]]

EXTRACTORS: Final[Sequence[Extractor]] = (
    from_answer,  # that a tool was called, that it answered, how a program ended
    from_json,  # arguments and answers, leaf by leaf
    from_files,  # arguments: what is made, changed, deleted, read
    from_spoken_calls,  # prose of a model: calls and commands
    from_tables,  # tables: their rows, columns and cells
    from_failures,  # answers that say what went wrong
    from_values,  # prose: numbers, dates, ids, paths, addresses
    from_wishes,  # prose of people: what must and must not be
    from_task_lists,  # boxes that are ticked or not, lists in arguments
)


def facts_of(passages: Iterable[Passage]) -> Iterator[Fact]:
    """Yield the facts of passages, extractor by extractor; each fact once."""
    seen: set[tuple[str | int, ...]] = set()
    for passage in passages:
        reading = Reading(passage)
        for extractor in EXTRACTORS:
            for fact in extractor(reading):
                # The content is compared, for its digest takes longer to make.
                content = fact.content
                if content not in seen:
                    seen.add(content)
                    yield fact
