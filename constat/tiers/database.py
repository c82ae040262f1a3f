"""The tier of the project's databases: queries, and raw rows as rows of declared kinds."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from itertools import islice
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.catalog import (
    BulkConnection,
    Guarded,
    Push,
    QueryMistakeError,
    Question,
    ReadBounds,
    SourceFailureError,
    Whole,
    guard,
    read_column,
)
from constat.catalog.connection import (
    AskedFor,
    ComputingConnection,
    GuessingConnection,
    Known,
    NotPlacedError,
    Shown,
    Stream,
    read_cells,
)
from constat.catalog.keyed import JOINED, MERGED, UNCLEAR, origin, query_name, query_prefix
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.evaluation import (
    CONTESTED,
    Demand,
    Evidence,
    Observer,
    Opening,
    Origin,
    PackedColumn,
    PackedRows,
    Portion,
    QueryRun,
    Readable,
    Served,
)
from constat.frozen import frozen, slotted
from constat.logic import (
    OPEN,
    UNREAD_CELL,
    Kind,
    NullPolicy,
    null_policies,
    null_words,
    with_null_cells,
)
from constat.store.clock import now
from constat.tiers.tier import (
    UNBOUNDED,
    TierAnswer,
    content_hash,
    failed,
    keys_of,
    matched_keys,
    opened,
    openings_for,
    packed_hash,
    rows_for,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized

    from constat.catalog import Cell, Connection, RawRow
    from constat.evaluation import Clock, Range
    from constat.logic import OpenRow, Predicate, Row, Slot, Value
    from constat.tiers.building import Connections

# Each raw row ends as a row, perhaps with null cells, as an open row with a reason, or is left out
# by `null = "skip"`. Equal rows are counted; those whose null cells may be values get ordinals
# instead.

DATABASE: Final = "database"
_TOO_MANY: Final = "C0522"
_FEW: Final = 500
MOST_OPENINGS: Final = 1_000
NO_VALUE: Final = "[C0525]"
"""What is said of a row with a cell that is no value of its column has it."""
_WITH_A_KEY: Final = "where no rule reads it, `@[key = ...]` before `.decl` leaves it unread"
ALIKE: Final = "alike in all that is read"
"""What is said of rows of one key between which nothing that is read differs."""


@slotted
class Fetched:
    """What a query gave: distinct rows in their order, rows that came again, and open rows.

    `alike` counts rows by their cells where null cells keep equal ones apart. Very many plain rows
    are `packed` where somebody asks for that: then `rows` has none. It is `overfull` where there
    were more rows than are allowed.
    """

    rows: dict[Row, None] = field(default_factory=dict)
    packs: bool = False
    packed: PackedRows | None = None
    alike: dict[tuple[Value | None, ...], int] = field(default_factory=dict)
    repeated: dict[Row, int] = field(default_factory=dict)
    openings: list[Opening] = field(default_factory=list)
    count: int = 0
    failure: str = ""
    overfull: bool = False

    @property
    def given(self) -> Collection[Row]:
        """The rows, packed or not."""
        return self.rows if self.packed is None else self.packed

    def pack(self) -> None:
        """Pack the rows that there are; those that come are packed behind them."""
        self.packed = PackedRows([PackedColumn() for _ in next(iter(self.rows))])
        self.packed.extend(self.rows)
        self.rows.clear()

    def unpack(self) -> None:
        """Look at each row by itself from now on, and again at those that came."""
        packed, self.packed, self.packs = self.packed, None, False
        for row in packed or ():
            _add(row, self)


def said_of_input(predicate: Predicate, name: str) -> str:
    """Give a parameter of the `.input`, or else the attribute `@[name = ...]`; else nothing."""
    parameters = predicate.source.parameters if predicate.source else {}
    return parameters.get(name, predicate.attributes.get(name, ""))


class RowReader:
    """Reads the rows of one predicate."""

    def __init__(self, predicate: Predicate, where: str, tier: str = DATABASE) -> None:
        """`where` names in messages what gives the rows, `tier` whose they are."""
        self._tier = tier
        self._predicate = predicate
        self._kinds = predicate.kinds
        self._words = null_words(predicate)
        self._nulls = null_policies(predicate)
        self._keeps = any(self._nulls)
        self._unread = dict.fromkeys(predicate.unread, UNREAD_CELL)
        self._where = where
        self._known = [Known() for _ in self._kinds]

    def take(self, batch: Iterable[RawRow], fetched: Fetched) -> None:
        """Add a batch."""
        raws = list(batch)
        read = self._chosen(raws) if self._unread else raws
        whole = [raw for raw in read if None not in raw]
        values = self._values(whole) if whole else []
        if values is None:
            values, whole = [], []
        begun, known = fetched.count, iter(values)
        if len(whole) == len(raws):
            fetched.count += len(raws)
            self._add_all(values, fetched)
            return
        fetched.unpack()
        for number, (raw, chosen) in enumerate(zip(raws, read, strict=True), begun + 1):
            fetched.count = number
            if whole and None not in chosen:
                _add(next(known), fetched)
            else:
                self._take_one(raw, fetched)

    def take_asked(
        self, batch: Sequence[RawRow], fetched: Fetched, demand: Demand, wanted: frozenset[Row]
    ) -> None:
        """Add of a batch what has one of the keys; nothing else counts or is kept."""
        part = Fetched(alike=fetched.alike)
        self.take(batch, part)
        fetched.count += part.count
        for row in rows_for(part.rows, demand.columns, wanted):
            more = part.repeated.get(row, 0) + (row in fetched.rows)
            fetched.rows[row] = None
            if more:
                fetched.repeated[row] = fetched.repeated.get(row, 0) + more
        fetched.openings += openings_for(part.openings, demand.columns, wanted)
        if len(fetched.openings) > MOST_OPENINGS:
            fetched.openings = [*fetched.openings[:MOST_OPENINGS], self._others()]

    def _chosen(self, raws: Sequence[RawRow]) -> Sequence[RawRow]:
        """Give the cells of the columns that somebody reads."""
        places = [place for place in range(len(self._kinds)) if place not in self._unread]
        return list(keys_of(cast("Sequence[Row]", raws), places))

    def _values(self, raws: Sequence[RawRow]) -> list[Row] | None:
        """Read rows without nulls by columns; `None` where one is better looked at by itself.

        The cells are those of the columns that somebody reads.
        """
        places = [place for place in range(len(self._kinds)) if place not in self._unread]
        if Kind.STRUCTURE in self._kinds or any(len(raw) != len(places) for raw in raws):
            return None
        columns: list[Sequence[object]] = [
            [self._unread.get(n)] * len(raws) for n in range(len(self._kinds))
        ]
        try:
            for place, cells in zip(places, zip(*raws, strict=True), strict=True):
                columns[place] = read_cells(cells, self._kinds[place], self._known[place])
        except ValueError:
            return None
        return [cast("Row", row) for row in zip(*columns, strict=True)]

    @staticmethod
    def _add_all(rows: Sequence[Row], fetched: Fetched) -> None:
        if fetched.packed is not None:
            fetched.packed.extend(rows)
            return
        new = dict.fromkeys(rows)
        if len(new) == len(rows) and fetched.rows.keys().isdisjoint(new):
            fetched.rows.update(new)
            if fetched.packs and len(fetched.rows) > _MOST_UNPACKED:
                fetched.pack()
            return
        fetched.packs = False
        for row in rows:
            _add(row, fetched)

    def _take_one(self, raw: RawRow, fetched: Fetched) -> None:
        try:
            row = self._row(raw)
        except ValueError:
            if not (self._keeps and self._take_nulls(raw, fetched)):
                self._take_hole(raw, fetched)
            return
        _add(row, fetched)

    def _row(self, raw: RawRow) -> Row:
        """Read a row all of whose cells are values, but those that nobody reads."""
        unread, columns = self._unread, self._predicate.columns
        cells = [
            unread[place] if place in unread else read_column(cell, column)
            for place, (cell, column) in enumerate(zip(raw, columns, strict=True))
        ]
        return cast("Row", tuple(cells))

    def apart(self, numbered: Iterable[tuple[int, Sequence[object]]]) -> Fetched:
        """Read raw rows with nulls, which are told apart from all others, with their numbers."""
        fetched = Fetched()
        for number, cells in numbered:
            fetched.count = number
            raw = cast("Sequence[Cell]", cells)
            if not (self._keeps and self._take_nulls(raw, fetched)):
                self._take_hole(raw, fetched)
        return fetched

    def _take_nulls(self, raw: Sequence[Cell], fetched: Fetched) -> bool:
        """Add a row whose cells are values, but for nulls that a row may hold; tell whether so.

        A key that holds a null tells no row apart: then it is an open row.
        """
        if any(raw[place] is None for place in self._predicate.key):
            return False
        cells: list[Value | None] = []
        for cell, column, policy in zip(raw, self._predicate.columns, self._nulls, strict=True):
            if cell is None and policy is not None:
                cells.append(None)
                continue
            try:
                cells.append(read_column(cell, column))
            except ValueError:
                return False
        known = tuple(cells)
        ordinal = fetched.alike.get(known, 0)
        places = (policy for cell, policy in zip(known, self._nulls, strict=True) if cell is None)
        if not all(policy is None or policy.is_empty for policy in places):
            fetched.alike[known] = ordinal + 1
        _add(with_null_cells(self._predicate.name, known, self._nulls, ordinal), fetched)
        return True

    def _take_hole(self, raw: Sequence[Cell], fetched: Fetched) -> None:
        """Keep what is known of a row with a cell that is no value."""
        slots: list[Slot] = []
        reasons: list[str] = []
        nulls: list[str] = []
        for place, (cell, policy) in enumerate(zip(raw, self._words, strict=True)):
            if cell is None and policy == "skip":
                return
            if place in self._unread:
                slots.append(OPEN)
                continue
            try:
                slots.append(read_column(cell, self._predicate.columns[place]))
            except ValueError as problem:
                slots.append(OPEN)
                # A NULL that is accounted for opens no row where another cell is no value.
                said = nulls if cell is None and policy != "error" else reasons
                said.append(self._reason(place, cell, policy, str(problem)))
        if len(fetched.openings) < MOST_OPENINGS:
            # Which row it is, its known cells say: a query has no numbers of rows of its source.
            reason = f"{self._where}, {'; '.join(reasons or nulls)}"
            fetched.openings.append(Opening(tuple(slots), reason, self._tier))
        elif len(fetched.openings) == MOST_OPENINGS:
            fetched.openings.append(self._others())

    def _others(self) -> Opening:
        """Give the opening that stands for all beyond those that are told one by one."""
        everything: OpenRow = (OPEN,) * len(self._kinds)
        reason = f"{self._where}: more than {MOST_OPENINGS} rows hold cells that are no values"
        return Opening(everything, reason, self._tier)

    def _reason(self, place: int, cell: Cell, policy: str, problem: str) -> str:
        column = self._predicate.columns[place]
        if cell is not None:
            told = f"column {column.name} (declared {column.type_name}) {problem} {NO_VALUE}"
            if isinstance(cell, str) and column.kind not in {Kind.SYMBOL, Kind.STRUCTURE}:
                told += f"; if it holds texts now, declare `{column.name}: symbol`"
            # Without a key every column tells rows apart, and so each of them is read.
            return told if self._predicate.key else f"{told}; {_WITH_A_KEY}"
        if place in self._predicate.key:
            return f"column {column.name} of its key is NULL"
        if policy != "error":
            return f"column {column.name} is NULL"
        return (
            f'column {column.name} is NULL; if it may be, say null = "maybe" (a value or none), '
            '"none", "unknown" (a value that nobody knows) or "skip" [C0524]'
        )


def _add(row: Row, fetched: Fetched) -> None:
    if row in fetched.rows:
        fetched.repeated[row] = fetched.repeated.get(row, 0) + 1
    else:
        fetched.rows[row] = None


# Above this, plain rows are packed for who asks for that.
_MOST_UNPACKED: Final = 50_000
# Above this, one pass over the source is cheaper than looking keys up.
_MOST_PUSHED_KEYS: Final = 50_000
# So many keys are looked up where that pass has failed: nobody asks for all of it one by one.
_MOST_KEYS_AFTER_FAILURE: Final = 5_000


_WITHOUT: Final = "write `@[null = none] {0}: {1}`, or `skip`, or select a column of a table"
_INSTEAD: Final = MappingProxyType(
    {
        MERGED: "select the key of the table as well, without DISTINCT or GROUP BY; or write "
        "`@[null = none] {0}: {1}`",
        JOINED: "write `@[null = none] {0}: {1}`: without a partner there is no value",
        UNCLEAR: "name the table before the column, `t.{0}`, or write `@[null = none] {0}: {1}`",
    }
)


@frozen
class _Ran:
    """A query that ran: what it gave, and the evidence of it."""

    fetched: Fetched
    evidence: Evidence


@slotted
class _FailedPass:
    """A pass over all rows that failed, and how many keys that evaluation has asked for since."""

    evaluation: int
    ran: _Ran
    keys: int = 0


# Why a server that computes is told constants and ranges alone.
_NOT_COMPUTED: Final = MappingProxyType(
    {
        "mysql": "MariaDB and MySQL have NULL where a value cannot be had, and compare texts by "
        "collations, so joins and sums are computed here"
    }
)
_SECONDS_FOR_TEXTS: Final = 2.0
_MOST_TEXTS: Final = 20_000


class DatabaseTier:
    """Answers from the databases of the project; the authority of the predicates it reads."""

    name = DATABASE
    cost = 10

    def __init__(self, connections: Connections, observe: Observer) -> None:
        self._connections = connections
        self._observe = observe
        self._guarded: dict[str, Guarded] = {}
        self._checked: dict[str, int] = {}
        # Of one predicate more columns may be read for one goal than for another.
        self._whole: dict[_Read, tuple[int, _Ran]] = {}
        self._failed: dict[_Read, _FailedPass] = {}
        # The SQL parser is not made for two threads, and two sources may be asked at once.
        self._preparing = Lock()

    def forget(self) -> None:
        """Drop the answers that are kept whole."""
        self._whole.clear()
        self._failed.clear()

    def cost_of(self, predicate: Predicate) -> int:
        """How dear a demand for that predicate is; no source is opened to tell."""
        return self._connections.cost(_source(predicate))

    def configured(self, predicate: Predicate) -> bool:
        """Whether the predicate's `.input` names a database of the project."""
        return self._connections.knows(_source(predicate))

    def answer(self, demand: Demand) -> TierAnswer:
        """Ask the database. Raises `ConstatError` where the query itself is wrong."""
        name = _source(demand.predicate)
        try:
            connection = self._connections.reading(name)
            generation = self._connections.generation(name)
            kept = self._whole.get(_read(demand.predicate))
            if kept is not None and kept[0] == generation:
                return self._told(demand, demand.keys, kept[1])
            with self._preparing:
                guarded = self._prepared(demand.predicate, connection, generation)
            return self._asked(demand, guarded, connection, generation)
        except SourceFailureError as problem:
            self._connections.note(name, problem)
            return failed(demand, f"database {name}: {problem.reason} [{problem.code}]")

    def shown(self, predicate: Predicate) -> Shown:
        """Tell what of a predicate's rows its database shows whoever asks now."""
        name = _source(predicate)
        try:
            connection = self._connections.reading(name)
            with self._preparing:
                guarded = self._prepared(predicate, connection, self._connections.generation(name))
            return connection.shown(guarded) if isinstance(connection, AskedFor) else Shown.OTHER
        except (SourceFailureError, QueryMistakeError):
            return Shown.OTHER

    def state(self, predicate: Predicate) -> str | None:
        """Name the state of a predicate's database that is read now."""
        try:
            return self._connections.reading(_source(predicate)).snapshot
        except SourceFailureError:
            return None

    def estimate(self, predicate: Predicate) -> float | None:
        """Guess how many rows the query of a predicate gives; `None` where nobody knows.

        Raises `ConstatError` where the query itself is wrong.
        """
        found = self._bulk(predicate)
        try:
            return None if found is None else found[0].estimate(found[1])
        except (SourceFailureError, QueryMistakeError):
            return None

    def guess(self, predicate: Predicate, ranges: tuple[Range, ...]) -> float | None:
        """Guess how many rows of a predicate lie within ranges; `None` where nobody knows.

        Raises `ConstatError` as `estimate` does.
        """
        found = self._bulk(predicate)
        if found is None or not isinstance(found[0], GuessingConnection):
            return None
        kinds, policies = predicate.kinds, null_words(predicate)
        distinct = _is_distinct(predicate)
        whole = Whole(found[1], kinds, policies, distinct, predicate.key, ranges)
        try:
            return None if found[1].unread else found[0].guess(whole)
        except (SourceFailureError, QueryMistakeError):
            return None

    def texts(self, predicate: Predicate, column: int) -> frozenset[str] | None:
        """Give the texts in a column; `None` where that takes long, or there are very many."""
        name = _source(predicate)
        try:
            connection = self._connections.reading(name)
            with self._preparing:
                guarded = self._prepared(predicate, connection, self._connections.generation(name))
            listed = f"SELECT DISTINCT c{column} FROM {query_name(guarded)}"  # noqa: S608  a position alone
            text = query_prefix(guarded, predicate.arity) + listed
            question = Question(text, tables=guarded.tables)
            batches = connection.read(question, ReadBounds(_SECONDS_FOR_TEXTS, _MOST_TEXTS))
            return frozenset(str(one) for batch in batches for (one,) in batch if one is not None)
        except (ConstatError, SourceFailureError, QueryMistakeError):
            return None

    def as_relation(
        self, predicate: Predicate, most_rows: int, ranges: tuple[Range, ...] = ()
    ) -> Readable | None:
        """Hand out all rows of a predicate where its source can do that; see `Readable`.

        Those outside of the ranges may be left out.

        Whatever keeps it from doing so is told by `answer`, which is asked next.
        """
        found = self._bulk(predicate)
        if found is None:
            return None
        connection, guarded = found
        if guarded.unread:
            # A stream selects all columns.
            return None
        name = _source(predicate)
        bounds = self._connections.bounds(name)
        policies = null_words(predicate)
        distinct = _is_distinct(predicate)
        whole = Whole(guarded, predicate.kinds, policies, distinct, predicate.key, ranges)
        started, clock = now(), time.perf_counter()
        try:
            stream = connection.stream(whole, ReadBounds(bounds.seconds, most_rows))
        except (SourceFailureError, QueryMistakeError):
            return None
        if stream is None:
            return None
        where = self._connections.spoken(name, predicate.name)
        apart = RowReader(predicate, where).apart(stream.holes)
        if apart.repeated:
            return None
        seconds = time.perf_counter() - clock
        self._observe(QueryRun(name, stream.query, len(stream.parameters), stream.rows, seconds))
        return Readable(
            predicate,
            stream.rows,
            self._streamed(stream, name, started, connection.snapshot),
            stream.open,
            distinct,
            tuple(apart.openings),
            tuple(apart.rows),
            stream.changed,
            stream.told,
        )

    def served(self, predicate: Predicate, *, cheaply: bool) -> Served | str:
        """Say how the server of a predicate gives all of its rows exactly, or why it does not.

        "" where its source is no server that computes.
        """
        name, started = _source(predicate), now()
        try:
            connection = self._connections.reading(name)
            generation = self._connections.generation(name)
            if not isinstance(connection, ComputingConnection):
                return _NOT_COMPUTED.get(connection.dialect, "")
            with self._preparing:
                guarded = self._prepared(predicate, connection, generation)
            if guarded.unread:
                return "its columns are read one by one"
            bounds = self._connections.bounds(name)
            rows = self.estimate(predicate) or 0.0
            whole = Whole(
                guarded,
                predicate.kinds,
                null_words(predicate),
                _is_distinct(predicate),
                predicate.key,
            )
            query, chooses = connection.placed(whole, bounds.seconds, cheaply=cheaply)
        except NotPlacedError as reason:
            return str(reason)
        except (SourceFailureError, QueryMistakeError) as problem:
            return f"{problem.reason} [{problem.code}]"
        found = Stream(int(rows), query, lambda: None)
        evidence = self._streamed(found, name, started, connection.snapshot)

        def results(text: str, kinds: tuple[Kind, ...]) -> Iterator[Mapping[str, object]]:
            began, count = time.perf_counter(), 0
            for batch in connection.results(text, kinds, self._connections.bounds(name)):
                count += len(cast("Sized", next(iter(batch.values()))))
                yield batch
            self._observe(QueryRun(name, text, 0, count, time.perf_counter() - began))

        def doubted(read: Collection[int]) -> str:
            return connection.doubted(whole, read, self._connections.bounds(name).seconds)

        asked = (doubted, results, chooses, connection.guessed, partial(connection.minded, whole))
        return Served(predicate, name, query, rows, evidence, *asked)

    def _bulk(self, predicate: Predicate) -> tuple[BulkConnection, Guarded] | None:
        name = _source(predicate)
        try:
            connection = self._connections.reading(name)
            generation = self._connections.generation(name)
            if not isinstance(connection, BulkConnection):
                return None
            with self._preparing:
                return connection, self._prepared(predicate, connection, generation)
        except SourceFailureError:
            return None

    def _asked(
        self, demand: Demand, guarded: Guarded, connection: Connection, generation: int
    ) -> TierAnswer:
        predicate = demand.predicate
        # What has no value there has none of the keys.
        without = {"skip"} if predicate.key else {"skip", "none"}
        words = enumerate(null_words(predicate))
        watched = [place for place, policy in words if policy not in without]
        pushes = connection.pushes(guarded, demand, watched)
        failed_pass = self._failed_pass(predicate)
        if not pushes or len(demand.keys) > _MOST_PUSHED_KEYS:
            if failed_pass is not None:
                return self._told(demand, demand.keys, failed_pass.ran)
            question = connection.whole(guarded, predicate.arity)
            ran = self._run(demand, connection, question)
            if demand.only and ran.fetched.overfull:
                return self._told(demand, demand.keys, self._run_only(demand, connection, question))
            if ran.fetched.failure and not demand.passing:
                evaluation = self._connections.evaluation
                self._failed[_read(predicate)] = _FailedPass(evaluation, ran)
            elif not demand.passing:
                self._whole[_read(predicate)] = (generation, ran)
            return self._told(demand, demand.keys, ran)
        answers = []
        if failed_pass is not None:
            failed_pass.keys += len(demand.keys)
            if failed_pass.keys > _MOST_KEYS_AFTER_FAILURE:
                return self._told(demand, demand.keys, failed_pass.ran)
        for keys in _shares(demand, pushes, connection.most_keys):
            places = [demand.columns.index(push.position) for push in pushes]
            distinct = tuple(dict.fromkeys(keys_of(keys, places)))
            question = connection.keyed(guarded, predicate.arity, pushes, distinct)
            ran = self._run(demand, connection, question)
            if demand.only and ran.fetched.overfull:
                ran = self._run_only(replace(demand, keys=keys), connection, question)
            answers.append(self._told(demand, keys, ran))
        return _joined(answers)

    def _failed_pass(self, predicate: Predicate) -> _FailedPass | None:
        """Give the pass over all rows that has failed in this evaluation, if there was one."""
        found = self._failed.get(_read(predicate))
        return found if found and found.evaluation == self._connections.evaluation else None

    def _run(self, demand: Demand, connection: Connection, question: Question) -> _Ran:
        predicate, clock = demand.predicate, demand.clock
        packs = demand.packs and not predicate.unread
        name, fetched = _source(predicate), Fetched(packs=packs)
        reader = RowReader(predicate, self._connections.spoken(name, predicate.name))
        started, began = now(), time.perf_counter()
        try:
            for batch in connection.read(question, self._connections.bounds(name)):
                clock.check()
                reader.take(batch, fetched)
        except SourceFailureError as problem:
            self._failed_to_run(fetched, name, problem)
        except QueryMistakeError as problem:
            raise self._mistake(predicate, problem, connection) from None
        return self._ran(demand, connection, question, fetched, (started, began))

    def _failed_to_run(self, fetched: Fetched, name: str, problem: SourceFailureError) -> None:
        self._connections.note(name, problem)
        raising = self._connections.raising(name, problem.code)
        fetched.failure = f"{problem.reason} [{problem.code}]{raising}"
        fetched.overfull = problem.code == _TOO_MANY

    def _run_only(self, demand: Demand, connection: Connection, question: Question) -> _Ran:
        """Read again where there was too much, and count what has one of the keys alone.

        Of a key there is one row: so many keys may give so many rows, whoever may see which.
        """
        predicate, wanted = demand.predicate, frozenset(demand.keys)
        name, fetched = _source(predicate), Fetched()
        reader = RowReader(predicate, self._connections.spoken(name, predicate.name))
        started, began = now(), time.perf_counter()
        bounds = self._connections.bounds(name)
        by_key = predicate.key and set(predicate.key) <= set(demand.columns)
        most = max(bounds.rows, len(wanted)) if by_key else bounds.rows
        try:
            for batch in connection.read(question, replace(bounds, rows=UNBOUNDED)):
                demand.clock.check()
                for start in range(0, len(batch), _FEW):
                    reader.take_asked(batch[start : start + _FEW], fetched, demand, wanted)
                if len(fetched.rows) > most:
                    fetched.rows = dict.fromkeys(islice(fetched.rows, most))
                    raise SourceFailureError(f"it gives more than {bounds.rows} rows", _TOO_MANY)  # noqa: TRY301  as a source does
        except SourceFailureError as problem:
            self._failed_to_run(fetched, name, problem)
        return self._ran(demand, connection, question, fetched, (started, began))

    def _ran(
        self,
        demand: Demand,
        connection: Connection,
        question: Question,
        fetched: Fetched,
        begun: tuple[str, float],
    ) -> _Ran:
        """Say what a query gave, and tell who watches."""
        name, (started, began) = _source(demand.predicate), begun
        predicate, clock = demand.predicate, demand.clock
        fetched.overfull |= len(fetched.openings) > MOST_OPENINGS
        digest = _hash_of(fetched, predicate, clock)
        evidence = Evidence(
            tier=DATABASE,
            origin=Origin.DATABASE,
            source=name,
            executed_at=started,
            query=question.text,
            parameters=tuple(map(str, question.parameters)),
            row_count=len(fetched.given),
            content_hash=digest,
            snapshot=connection.snapshot,
            author=self._connections.description(name),
        )
        seconds, sent = time.perf_counter() - began, len(question.parameters)
        self._observe(QueryRun(name, question.text, sent, fetched.count, seconds))
        return _Ran(fetched, evidence)

    def _streamed(self, stream: Stream, name: str, started: str, snapshot: str | None) -> Evidence:
        """Give the evidence of rows that nobody has looked at one by one."""
        return Evidence(
            tier=DATABASE,
            origin=Origin.DATABASE,
            source=name,
            executed_at=started,
            query=stream.query,
            parameters=tuple(map(str, stream.parameters)),
            row_count=stream.rows,
            snapshot=snapshot,
            author=self._connections.description(name),
        )

    def _told(self, demand: Demand, keys: Sequence[Row], ran: _Ran) -> TierAnswer:
        """Say what a query tells about some of the demanded keys."""
        where = self._connections.spoken(ran.evidence.source, demand.predicate.name)
        return told_of(demand, keys, ran.fetched, ran.evidence, where)

    def _prepared(self, predicate: Predicate, connection: Connection, generation: int) -> Guarded:
        """Guard the query once, and hold it against the tables whenever the source has changed."""
        name = predicate.name
        try:
            if name not in self._guarded:
                query = predicate.source.parameters["query"] if predicate.source else ""
                self._guarded[name] = guard(query, connection.dialect)
            guarded = self._guarded[name]
            if self._checked.get(name) != generation:
                check_columns(predicate, guarded, connection)
                self._checked[name] = generation
        except QueryMistakeError as problem:
            raise self._mistake(predicate, problem, connection) from None
        return replace(guarded, unread=frozenset(predicate.unread))

    @staticmethod
    def _mistake(
        predicate: Predicate, problem: QueryMistakeError, connection: Connection
    ) -> ConstatError:
        span = predicate.source.span if predicate.source else predicate.span
        message = f"the query of `{predicate.name}`: {problem.reason}"
        query = predicate.source.parameters.get("query", "") if predicate.source else ""
        hint = meant(problem, query, connection)
        return ConstatError([Diagnostic(problem.code, message, span, help=hint)])


def _hash_of(fetched: Fetched, predicate: Predicate, clock: Clock) -> str:
    """Give the hash of the rows; packed ones of which two are the same are looked at one by one."""
    if fetched.packed is not None:
        found = packed_hash(fetched.packed, predicate.kinds, clock)
        if found is not None:
            return found
        fetched.unpack()
    return content_hash(fetched.rows, predicate.kinds, clock)


def told_of(
    demand: Demand, keys: Sequence[Row], fetched: Fetched, evidence: Evidence, where: str
) -> TierAnswer:
    """Say what rows that were fetched tell about some of the demanded keys."""
    predicate, wanted = demand.predicate, frozenset(keys)
    failures: dict[Row, str] = {}
    openings = fetched.openings
    if fetched.failure:
        failures = dict.fromkeys(keys, f"{where}: {fetched.failure}")
    elif fetched.repeated and not _is_distinct(predicate):
        if predicate.key and len(fetched.repeated) <= MOST_OPENINGS:
            # What is wrong with one key says nothing of any other.
            openings = [*openings, *_opened_twins(fetched, where, evidence.tier)]
        else:
            failures = _merging(demand, wanted, fetched, where)
    rows: Sequence[Row]
    if demand.packs and fetched.packed is not None:
        rows = fetched.packed.having(demand.columns, wanted)
    else:
        rows = rows_for(fetched.given, demand.columns, wanted, demand.clock)
    return TierAnswer(
        (Portion(rows, evidence),) if rows else (),
        openings_for(openings, demand.columns, wanted, demand.clock),
        wanted - failures.keys(),
        failures,
        (evidence,),
    )


def _opened_twins(fetched: Fetched, where: str, tier: str) -> Iterator[Opening]:
    """Yield the rows of a key that came more than once, as rows that may be (semantics 22)."""
    for row, more in fetched.repeated.items():
        reason = (
            f"{where} gave {more + 1} {CONTESTED}, {ALIKE};"
            " `constat check-data` shows such keys [C0523]"
        )
        yield Opening(opened(row), reason, tier)


def _merging(
    demand: Demand, wanted: frozenset[Row], fetched: Fetched, where: str
) -> dict[Row, str]:
    """Give the demanded keys of rows that came more than once, each with what is wrong."""
    extra = sum(fetched.repeated.values())
    reason = (
        f"{where} gave {extra} of {fetched.count} rows more than once;"
        " add the row's own key to it, or write `@[distinct]` before `.decl` [C0523]"
    )
    failures: dict[Row, str] = {}
    for row in fetched.repeated:
        failures.update(dict.fromkeys(matched_keys(row, demand.columns, wanted), reason))
    return failures


_Read = tuple[str, tuple[int, ...]]
"""A predicate, and the columns of it that are not read."""


def _read(predicate: Predicate) -> _Read:
    return predicate.name, predicate.unread


def _source(predicate: Predicate) -> str:
    return predicate.source.name if predicate.source else ""


def _is_distinct(predicate: Predicate) -> bool:
    return said_of_input(predicate, "distinct") == "true"


def check_columns(predicate: Predicate, guarded: Guarded, connection: Connection) -> None:
    """Raise `QueryMistakeError` where tables are not there or columns are not as declared."""
    known = connection.tables()
    if not guarded.tables <= known.keys():
        # Tables of lists within documents are known once these have been read.
        with suppress(QueryMistakeError):
            connection.columns(guarded.text)
        known = connection.tables()
    for table in sorted(guarded.tables):
        if table not in known:
            near = nearest(table, known)
            hint = f"write `{known[near].name}`" if near else ""
            raise QueryMistakeError(f"there is no table `{table}`", "C0517", hint=hint)
    names = connection.columns(guarded.text)
    if len(names) != predicate.arity:
        declared = ", ".join(column.name for column in predicate.columns)
        raise QueryMistakeError(
            f"it gives {len(names)} columns, and {predicate.arity} are declared: {declared}",
            "C0518",
            hint="columns are taken by position; select exactly the declared ones",
        )
    _check_nulls(predicate, guarded)


def _check_nulls(predicate: Predicate, guarded: Guarded) -> None:
    """Raise `QueryMistakeError` where a null that may be a value is made by the query (26d)."""
    policies = zip(predicate.columns, null_policies(predicate), strict=True)
    for position, (column, policy) in enumerate(policies):
        if policy in {NullPolicy.MAYBE, NullPolicy.UNKNOWN}:
            reason = origin(guarded.origins, position)
            if reason:
                raise QueryMistakeError(
                    f"a null in `{column.name}` says `{policy.value}`, and is none of a row of a "
                    f"table: {reason}",
                    "C0519",
                    hint=_INSTEAD.get(reason, _WITHOUT).format(column.name, column.type_name),
                )


_FROM: Final = r"\b(from|join)\s+({})(?![\"`\w])"
_LONGEST_QUERY: Final = 300
_MOST_SHOWN: Final = 12


def meant(problem: QueryMistakeError, query: str, connection: Connection) -> str:
    """Suggest what to write where a query names a table or a column wrongly; else nothing."""
    tables = connection.tables().values()
    mark = "`" if connection.dialect == "mysql" else '"'
    if problem.code in {"C0515", "C0517"}:
        for name in (one.name for one in tables if not _is_bare(one.name, connection)):
            bare = re.compile(_FROM.format(re.escape(name)), re.IGNORECASE)
            mended = bare.sub(lambda found: f"{found[1]} {mark}{name}{mark}", query)  # noqa: B023  called at once
            if mended != query:
                shown = mended if len(mended) <= _LONGEST_QUERY else f"FROM {mark}{name}{mark}"
                return f"the name of the table needs quotes: `{shown}`"
    marker = "no such column: "
    if problem.help or marker not in problem.reason:
        return problem.help
    written = problem.reason.partition(marker)[2].rpartition(".")[2].strip(' "`')
    columns = sorted({column.name for table in tables for column in table.columns})
    near = nearest(written, columns) or _containing(written, columns)
    if near:
        return f"write `{near if _is_bare(near, connection) else mark + near + mark}`"
    more = ", ..." if len(columns) > _MOST_SHOWN else ""
    there = f"{', '.join(columns[:_MOST_SHOWN])}{more}"
    first = f"the source has {there}: write the one that is meant, or " if columns else ""
    return f"{first}take `{written}` out of query and declaration"


def _is_bare(name: str, connection: Connection) -> bool:
    """Tell whether a name needs no quotes; PostgreSQL alone takes bare ones in small letters."""
    from constat.catalog.schema.drafting import is_plain  # noqa: PLC0415  loaded when it is used

    return is_plain(name if connection.dialect == "postgres" else name.lower())


def _containing(written: str, columns: Sequence[str]) -> str:
    """Give the only name that has all letters of another, or the other way round."""
    said = "".join(filter(str.isalnum, written.casefold()))
    both = [("".join(filter(str.isalnum, one.casefold())), one) for one in columns]
    found = [one for plain, one in both if plain and said and (said in plain or plain in said)]
    return found[0] if len(found) == 1 and len(said) > len("id") else ""


def _shares(demand: Demand, pushes: Sequence[Push], most_keys: int) -> list[tuple[Row, ...]]:
    size = max(1, most_keys // len(pushes))
    keys = demand.keys
    return [keys[start : start + size] for start in range(0, len(keys), size)]


def _joined(answers: list[TierAnswer]) -> TierAnswer:
    failures = {key: reason for answer in answers for key, reason in answer.failures.items()}
    openings = dict.fromkeys(one for answer in answers for one in answer.openings)
    return TierAnswer(
        tuple(portion for answer in answers for portion in answer.portions),
        tuple(openings),
        frozenset().union(*(answer.complete for answer in answers)),
        failures,
        tuple(evidence for answer in answers for evidence in answer.authorities),
    )
