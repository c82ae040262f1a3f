"""The record of a project, to look at and to shorten.

In: a project and its program. Out: `RecordedAnswer` values, or a count. Invariant: looking changes
nothing; only answers leave, stated facts are never touched. Example:
`session.recorded.list("customer_tier")`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.session.recording_times import parse_moment
from constat.store.answer_file import AnswerStoreError
from constat.store.recorded import RecordStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis import AnalysedProgram
    from constat.project import Project


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer in the record: about how many keys of which columns, and when it was recorded."""

    predicate: str
    bound: tuple[str, ...]
    keys: int
    rows: int
    source: str
    recorded_at: str
    size: int


class RecordedAnswers:
    """The record of one project."""

    def __init__(self, project: Project, program: AnalysedProgram) -> None:
        self._store = RecordStore(project.state)
        self._predicates = program.program.predicates

    def list(self, predicate: str | None = None) -> tuple[RecordedAnswer, ...]:
        """Give what is recorded, by predicate and time. Raises `ConstatError`."""
        with _complaints():
            found = self._store.list(predicate)
        return tuple(
            RecordedAnswer(
                one.predicate,
                self._names(one.predicate, one.pattern),
                *(one.keys, one.rows, one.source, one.recorded_at, one.size),
            )
            for one in found
        )

    def forget(self, before: str, predicate: str | None = None) -> int:
        """Remove what was recorded before a time; gives how many answers. Raises `ConstatError`."""
        moment = parse_moment(before)
        with _complaints():
            return self._store.forget(moment, predicate)

    def _names(self, name: str, pattern: str) -> tuple[str, ...]:
        declared = self._predicates.get(name)
        columns = () if declared is None else declared.columns
        places = [place for place in pattern.split(",") if place]
        return tuple(
            columns[int(place)].name if int(place) < len(columns) else place for place in places
        )


@contextmanager
def _complaints() -> Iterator[None]:
    try:
        yield
    except AnswerStoreError as problem:
        hint = "the file `recorded.sqlite` of the state folder holds it"
        message = f"the record cannot be used: {problem}"
        raise ConstatError([Diagnostic("C0726", message, help=hint)]) from problem
