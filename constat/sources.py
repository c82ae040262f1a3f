"""Sources of one's own: a class with one method that gives rows.

`constat.yaml` names the class as a tier: `tiers: {crm: {factory: "acme.crm:Crm"}}`. What comes from
it is read, typed and shown like rows of any other source; `constat.testing` tries it. Whoever needs
more, such as answers that speak for some keys only, implements `constat.tiers.Tier`.

Example::

    class Crm(Source):
        authority = True

        def rows(self, request: Request) -> Iterator[Row]:
            for line in open(self.settings.folder / "crm.txt"):
                request.check()
                yield line.split()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.evaluation import Demand, Evidence, Origin
from constat.evaluation.clock import UNTIMED, Clock, LimitReachedError
from constat.frozen import frozen
from constat.logic import Kind
from constat.store.clock import now
from constat.tiers.database import Fetched, RowReader, told_of
from constat.tiers.tier import TierAnswer, TierSettings, content_hash, scrubbed

if TYPE_CHECKING:
    from constat.logic import Predicate, Value

__all__ = ["Cell", "Clock", "Request", "Row", "Source", "SourceError", "TierSettings"]

Cell = str | int | float | Decimal | bool | date | datetime | None
"""A value of a column; `None` is NULL, whose meaning the declaration says."""
Row = Sequence[Cell] | Mapping[str, Cell]
"""The cells in the order of the columns, or by their names."""

_BLOCK: Final = 500
MOST_ROWS: Final = 1_000_000


class SourceError(Exception):
    """The source cannot answer. The text says why; it is shown to people."""


@frozen
class Request:
    """Which rows are asked for.

    `columns` are all columns of the predicate with their kinds, in order; `bound` are those whose
    values are given, and `keys` their values, in the order of `bound`. Without any, all rows are
    asked for. Rows that have none of the keys may be given, too: they are left out.
    """

    predicate: str
    columns: Mapping[str, str]
    bound: tuple[str, ...] = ()
    keys: tuple[tuple[Cell, ...], ...] = ((),)
    clock: Clock = UNTIMED

    def check(self) -> None:
        """Stop here where nobody waits any longer: call it before every page or block."""
        self.clock.check()


class Source:
    """Base of sources of one's own; implements `constat.tiers.Tier`.

    With `authority` the rows that are given for a request are all there are, and what is not among
    them is not so; without it each row is an assumption, "tier crm says ...", and nothing follows
    from what is missing. `predicates` of the tier in `constat.yaml` says which are asked.
    """

    authority = False
    secrets: Sequence[str] = ()
    """Texts that must not be shown, such as a token: they are taken out of every reason."""

    def __init__(self, settings: TierSettings) -> None:
        self.settings = settings
        self.name = settings.name
        self.cost = settings.cost

    def rows(self, request: Request) -> Iterable[Row]:
        """Give the rows, best one by one. Raise `SourceError` where they cannot be had."""
        raise NotImplementedError

    def describe(self, request: Request) -> str:
        """Say in one line what is asked, for the certificate; no secret and no value of a row."""
        asked = ", ".join(f"{name} = ?" for name in request.bound)
        return f"{request.predicate}({', '.join(request.columns)})" + (
            f" where {asked}" if asked else ""
        )

    def state(self) -> str | None:
        """Name the state that is read, such as a version or a hash, where it has one."""
        return None

    # What follows is no part of what a source writes.

    def configured(self, predicate: Predicate) -> bool:
        """Whether `predicates` lists it, or its `.input` names this tier."""
        listed = self.settings.predicates
        named = predicate.source is not None and predicate.source.name == self.name
        return named or (listed is not None and predicate.name in listed)

    def answer(self, demand: Demand) -> TierAnswer:
        """Answer as a tier: rows with their evidence, or why there are none."""
        predicate = demand.predicate
        request = _request(demand)
        where = f"rows for {predicate.name}"
        fetched = Fetched()
        try:
            self._read(request, demand, fetched, RowReader(predicate, where, self.name))
        except LimitReachedError:
            raise
        except SourceError as problem:
            fetched.failure = scrubbed(str(problem), self.secrets) or "it gives no reason"
        except Exception as problem:  # noqa: BLE001  code of others: nothing of it is quoted
            fetched.failure = f"it broke down ({type(problem).__name__})"
        evidence = Evidence(
            tier=self.name,
            origin=Origin.DATABASE if self.authority else Origin.API,
            source=self.name,
            executed_at=now(),
            query=scrubbed(self.describe(request), self.secrets),
            parameters=tuple(str(cell) for key in request.keys[:_BLOCK] for cell in key),
            row_count=len(fetched.rows),
            content_hash=content_hash(fetched.rows, predicate.kinds, demand.clock),
            snapshot=self.state(),
        )
        answer = told_of(demand, demand.keys, fetched, evidence, where)
        if self.authority:
            return answer
        remark = f"tier {self.name} tells some facts of {predicate.name}, which need not be all"
        remarks = {key: remark for key in demand.keys if key not in answer.failures}
        return TierAnswer(
            answer.portions, answer.openings, frozenset(), answer.failures, (), remarks
        )

    def _read(self, request: Request, demand: Demand, fetched: Fetched, reader: RowReader) -> None:
        names = tuple(request.columns)
        block: list[tuple[Cell, ...]] = []
        given = self.rows(request)
        if not isinstance(given, Iterable) or isinstance(given, str | bytes):
            raise SourceError("it gives no rows")
        for number, row in enumerate(given):
            if number >= MOST_ROWS:
                raise SourceError(f"it gives more than {MOST_ROWS:,} rows for one request")
            block.append(_cells(row, names))
            if len(block) == _BLOCK:
                demand.clock.check()
                reader.take(block, fetched)
                block = []
        demand.clock.check()
        reader.take(block, fetched)


def _cells(row: Row, names: tuple[str, ...]) -> tuple[Cell, ...]:
    """Put the cells of a row in order; a column that is not there is no NULL."""
    if isinstance(row, Mapping):
        missing = [name for name in names if name not in row]
        if missing:
            raise SourceError(f"a row has no `{missing[0]}`; NULL is given as None")
        return tuple(row[name] for name in names)
    if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) != len(names):
        raise SourceError(f"a row is no sequence of {len(names)} cells")
    return tuple(row)


def _request(demand: Demand) -> Request:
    columns = demand.predicate.columns
    bound = [columns[place] for place in demand.columns]
    keys = (
        tuple(_given(value, column.kind) for value, column in zip(key, bound, strict=True))
        for key in demand.keys
    )
    kinds = {column.name: column.kind.value for column in columns}
    names = tuple(column.name for column in bound)
    return Request(demand.predicate.name, kinds, names, tuple(keys), demand.clock)


def _given(value: Value, kind: Kind) -> Cell:
    """Give a value as Python has it."""
    if kind is Kind.DATE and isinstance(value, str):
        return date.fromisoformat(value)
    if kind is Kind.TIMESTAMP and isinstance(value, str):
        return datetime.fromisoformat(value)
    return value == "true" if kind is Kind.BOOL else value
