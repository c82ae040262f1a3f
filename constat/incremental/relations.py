"""Rows that change: sorted arrays, what came since, and what went.

In: rows of values. Out: the rows that have a key in some columns, now or before the change that is
being made. Invariants: a relation is a set; `added` and `gone` never share a row; the columns of
the arrays are numbers, texts and other values being numbered by `Codes`; a number never changes
its value. Example: `kept.find((0,), (7,))` gives the rows whose first column is 7.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from contextlib import suppress
from dataclasses import field
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from constat.evaluation.processor import set_up_duckdb
from constat.frozen import slotted
from constat.logic import Kind, format_value, parse_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from constat.incremental.maintaining import Maintained
    from constat.logic import Row, Value

# What is kept current, in a file of DuckDB that survives the end of its process at any moment.
#
# Invariants: an update is one transaction, so the file is always that of a whole update; whoever
# opens it compares what it depends on with the present; a file that is damaged, of another
# program or of another version gives nothing, and everything is evaluated anew.

# Relations are tables of numbers (`r0`, `r1`, ...); `changes` has the rows that came and went since
# these were written, in the order of the updates. Where they become many the tables are written
# anew, in the transaction of the update that makes them so.

_VERSION: Final = 1
_MANY: Final = 0.25
_LEAST: Final = 50_000
About = dict[str, object]


class StateBusyError(Exception):
    """Another process has the file open."""


class StateFile:
    """The file of one set of results."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._driver: duckdb.DuckDBPyConnection | None = None
        self._step = 0
        self._logged = 0

    def close(self) -> None:
        """Close the file."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _connection(self) -> duckdb.DuckDBPyConnection:
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        if self._driver is None:
            # DuckDB makes its files by itself, so what is for its owner alone is their folder.
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._driver = set_up_duckdb(
                    duckdb.connect(str(self.path), config={"enable_external_access": "false"})
                )
            except duckdb.IOException as problem:
                if "lock" in str(problem):
                    raise StateBusyError(str(self.path)) from None
                raise
        return self._driver

    # ------------------------------------------------------------------------------- writing

    def save(self, kept: Maintained, about: About) -> None:
        """Write everything, in place of what was there."""
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        try:
            driver = self._connection()
        except duckdb.Error:
            # It is damaged, or no file of DuckDB; what is kept is a copy.
            self.path.unlink(missing_ok=True)
            driver = self._connection()
        driver.execute("BEGIN")
        try:
            self._write_all(driver, kept, about)
            driver.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):
                driver.execute("ROLLBACK")
            raise

    def _write_all(self, driver: duckdb.DuckDBPyConnection, kept: Maintained, about: About) -> None:
        for (name,) in driver.execute(
            "SELECT table_name FROM information_schema.tables"
        ).fetchall():
            driver.execute(f'DROP TABLE "{name}"')
        widest = max((len(one.kinds) for one in kept.relations.values()), default=0)
        columns = "".join(f", c{place} BIGINT" for place in range(widest))
        driver.execute("CREATE TABLE codes (kind VARCHAR, number BIGINT, text VARCHAR)")
        line = f"step BIGINT, relation BIGINT, came BOOLEAN, mark BIGINT{columns}"
        driver.execute(f"CREATE TABLE changes ({line})")
        for number, relation in enumerate(kept.relations.values()):
            arrays, marks = relation.arrays()
            _insert(
                driver, f"CREATE TABLE r{number} AS", [*arrays, marks], [*_labels(arrays), "mark"]
            )
        kept.codes.fresh.clear()
        entries = [
            (kind, number, value)
            for kind in Kind
            for number, value in enumerate(kept.codes.listed(kind))
        ]
        _enter(driver, entries)
        self._step = self._logged = 0
        self._describe(driver, kept, about)

    def _describe(self, driver: duckdb.DuckDBPyConnection, kept: Maintained, about: About) -> None:
        told = {
            "version": _VERSION,
            "relations": list(kept.relations),
            "ranked": [name for one in kept.stages if one.ranked for name in one.predicates],
            "about": about,
        }
        driver.execute("CREATE TABLE IF NOT EXISTS meta (told VARCHAR)")
        driver.execute("DELETE FROM meta")
        driver.execute("INSERT INTO meta VALUES (?)", [json.dumps(told)])

    def append(self, kept: Maintained, about: About, *, anew: bool = False) -> None:
        """Write what the last update has changed, as one transaction."""
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        if anew or self._logged > max(_MANY * kept.size, _LEAST):
            self.save(kept, about)
            return
        driver = self._connection()
        driver.execute("BEGIN")
        try:
            self._append(driver, kept)
            self._describe(driver, kept, about)
            driver.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):
                driver.execute("ROLLBACK")
            raise

    def _append(self, driver: duckdb.DuckDBPyConnection, kept: Maintained) -> None:
        self._step += 1
        widest = max((len(one.kinds) for one in kept.relations.values()), default=0)
        lines: list[list[int]] = []
        for number, (name, relation) in enumerate(kept.relations.items()):
            for row, before, after in kept.marks(name):
                codes = [
                    kept.codes.number(kind, value)
                    for kind, value in zip(relation.kinds, row, strict=True)
                ]
                codes += [0] * (widest - len(codes))
                if before is not None:
                    lines.append([self._step, number, 0, before, *codes])
                if after is not None:
                    lines.append([self._step, number, 1, after, *codes])
        if kept.codes.fresh:
            _enter(driver, kept.codes.fresh)
            kept.codes.fresh.clear()
        if lines:
            self._logged += len(lines)
            arrays = list(np.array(lines, dtype=np.int64).T)
            labels = ["step", "relation", "came", "mark", *[f"c{n}" for n in range(widest)]]
            _insert(driver, "INSERT INTO changes", arrays, labels)

    # ------------------------------------------------------------------------------- reading

    def about(self) -> About | None:
        """Give what the file depends on; nothing where there is no such file."""
        told = self._told()
        found = None if told is None else told.get("about")
        return found if isinstance(found, dict) else None

    def _told(self) -> Mapping[str, object] | None:
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        if not self.path.is_file():
            return None
        try:
            found = self._connection().execute("SELECT told FROM meta").fetchone()
            told = json.loads(found[0]) if found else None
        except (duckdb.Error, ValueError):
            return None
        return told if isinstance(told, dict) and told.get("version") == _VERSION else None

    def load(self, kept: Maintained) -> bool:
        """Fill relations from the file; tells whether it is one of this program."""
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        told = self._told()
        if told is None or told.get("relations") != list(kept.relations):
            return False
        driver = self._connection()
        try:
            for kind in Kind:
                listed = driver.execute(
                    "SELECT text FROM codes WHERE kind = ? ORDER BY number", [kind.value]
                ).fetchall()
                kept.codes.restore(kind, [_read(kind, text) for (text,) in listed])
            for number, relation in enumerate(kept.relations.values()):
                found = driver.execute(f"SELECT * FROM r{number}").fetchnumpy()  # noqa: S608  a name of our own
                arrays = [np.asarray(one, dtype=np.int64) for one in found.values()]
                relation.put(arrays[:-1], arrays[-1])
            self._replay(driver, kept)
        except (duckdb.Error, ValueError, KeyError):
            return False
        ranked = told.get("ranked")
        kept.rank(ranked if isinstance(ranked, list) else [])
        return True

    def _replay(self, driver: duckdb.DuckDBPyConnection, kept: Maintained) -> None:
        relations = list(kept.relations.values())
        lines = driver.execute(
            "SELECT * FROM changes ORDER BY step, relation, came, rowid"
        ).fetchall()
        for step, number, came, mark, *codes in lines:
            relation = relations[number]
            row = tuple(
                kept.codes.value(kind, code)
                for kind, code in zip(relation.kinds, codes, strict=False)
            )
            if came:
                relation.add(row, mark)
            else:
                relation.remove(row)
            self._step = step
        self._logged = len(lines)


def _labels(columns: Sequence[Array]) -> list[str]:
    return [f"c{place}" for place in range(len(columns))]


def _insert(
    driver: duckdb.DuckDBPyConnection, into: str, arrays: Sequence[Array], labels: Sequence[str]
) -> None:
    """Put arrays into a table."""
    given = {label: np.ascontiguousarray(one) for label, one in zip(labels, arrays, strict=True)}
    driver.register("arrays", given)
    try:
        driver.execute(f"{into} SELECT {', '.join(labels)} FROM arrays")  # noqa: S608  names of our own
    finally:
        driver.unregister("arrays")


def _enter(driver: duckdb.DuckDBPyConnection, entries: Iterable[tuple[Kind, int, Value]]) -> None:
    listed = list(entries)
    if not listed:
        return
    given = {
        "kind": np.array([kind.value for kind, _, _ in listed], dtype=object),
        "number": np.array([number for _, number, _ in listed], dtype=np.int64),
        "text": np.array([format_value(value, kind) for kind, _, value in listed], dtype=object),
    }
    driver.register("entries", given)
    try:
        driver.execute("INSERT INTO codes SELECT kind, number, text FROM entries")
    finally:
        driver.unregister("entries")


def _read(kind: Kind, text: str) -> Value:
    return float.fromhex(text) if kind is Kind.FLOAT else parse_value(text, kind)


# Rows that change: sorted arrays, what came since, and what went.

Array = npt.NDArray[np.int64]
Columns = tuple[int, ...]
_FEW: Final = 20_000
"""Up to so many rows a relation is a table of Python, whose lookups take a tenth of the time."""
_WIDEST: Final = 1 << 62


class Codes:
    """Numbers for values that are no numbers of 64 bits, one list for each kind."""

    def __init__(self) -> None:
        self._values: dict[Kind, list[Value]] = {}
        self._numbers: dict[Kind, dict[Value, int]] = {}
        self.fresh: list[tuple[Kind, int, Value]] = []
        """What was entered since somebody last wrote it down."""

    def number(self, kind: Kind, value: Value) -> int:
        """Give the number of a value, entering it where it is new."""
        if kind is Kind.NUMBER:
            return int(value)
        known = self._numbers.setdefault(kind, {})
        found = known.get(value)
        if found is None:
            values = self._values.setdefault(kind, [])
            found = known[value] = len(values)
            values.append(value)
            self.fresh.append((kind, found, value))
        return found

    def known(self, kind: Kind, value: Value) -> int | None:
        """Give the number of a value; nothing where no row has ever held it."""
        if kind is Kind.NUMBER:
            return int(value)
        return self._numbers.get(kind, {}).get(value)

    def value(self, kind: Kind, number: int) -> Value:
        """Give the value of a number."""
        return number if kind is Kind.NUMBER else self._values[kind][number]

    def values(self, kind: Kind, numbers: Array) -> list[Value]:
        """Give the values of many numbers."""
        found: list[Value] = numbers.tolist()
        if kind is Kind.NUMBER:
            return found
        known = self._values.get(kind, [])
        return [known[int(one)] for one in found]

    def numbers(self, kind: Kind, values: Sequence[Value]) -> Array:
        """Give the numbers of many values."""
        if kind is Kind.NUMBER:
            return np.array(values, dtype=np.int64)
        number = self.number
        return np.array([number(kind, one) for one in values], dtype=np.int64)

    def listed(self, kind: Kind) -> Sequence[Value]:
        """Give the values of a kind in the order of their numbers."""
        return self._values.get(kind, [])

    def restore(self, kind: Kind, values: Sequence[Value]) -> None:
        """Take the values of a kind, in the order of their numbers, as they were written down."""
        self._values[kind] = list(values)
        self._numbers[kind] = {value: number for number, value in enumerate(values)}


@slotted
class _Index:
    """The rows of the arrays in the order of some columns."""

    size: int
    sorted: list[memoryview]
    order: Array | None
    """The places of the rows in the arrays; nothing where the arrays are in that order."""

    def range(self, key: Sequence[int]) -> tuple[int, int]:
        low, high = 0, self.size
        for column, value in zip(self.sorted, key, strict=True):
            low = bisect_left(column, value, low, high)
            if low == high:
                return low, low
            high = bisect_right(column, value, low, high)
        return low, high


class Overlay:
    """Rows in a table of Python, found by any of their columns."""

    def __init__(self) -> None:
        self.rows: dict[Row, int] = {}
        self._found: dict[Columns, dict[object, dict[Row, None]]] = {}

    def add(self, row: Row, mark: int) -> None:
        """Take a row."""
        self.rows[row] = mark
        for columns, found in self._found.items():
            found.setdefault(_key(columns)(row), {})[row] = None

    def remove(self, row: Row) -> int:
        """Drop a row that is there; give its mark."""
        mark = self.rows.pop(row)
        for columns, found in self._found.items():
            key = _key(columns)(row)
            rows = found[key]
            del rows[row]
            if not rows:
                del found[key]
        return mark

    def find(self, columns: Columns, key: Row) -> Iterable[Row]:
        """Give the rows that have the key in these columns."""
        if not self.rows:
            return ()
        if not columns:
            return self.rows
        found = self._found.get(columns)
        if found is None:
            found = self._found[columns] = {}
            get = _key(columns)
            for row in self.rows:
                found.setdefault(get(row), {})[row] = None
        return found.get(key if len(columns) > 1 else key[0], ())

    def count(self, columns: Columns, key: Row) -> int:
        """How many rows have the key in these columns."""
        found = self.find(columns, key)
        return len(found)  # type: ignore[arg-type]  # a tuple or a table

    def distinct(self, columns: Columns) -> int:
        """How many keys there are in these columns."""
        return len(set(map(_key(columns), self.rows)))


def _key(columns: Columns) -> Callable[[Row], object]:
    return itemgetter(*columns) if columns else _nothing


def _nothing(_: Row) -> object:
    return ()


@slotted
class Change:
    """The rows of one relation that an update has added and taken away, with their marks."""

    plus: Overlay = field(default_factory=Overlay)
    minus: Overlay = field(default_factory=Overlay)

    def __bool__(self) -> bool:
        return bool(self.plus.rows or self.minus.rows)


class Kept:
    """One relation. `mark` of a row is the round in which it came, where its stage is recursive."""

    def __init__(self, name: str, kinds: Sequence[Kind], codes: Codes) -> None:
        self.name = name
        self.kinds = tuple(kinds)
        self._codes = codes
        self._plain = all(kind is Kind.NUMBER for kind in kinds)
        self._whole: Columns = tuple(range(len(kinds)))
        self.base: list[Array] = []
        self.marks: Array = np.zeros(0, dtype=np.int64)
        self.added = Overlay()
        self.gone: dict[int, Row] = {}
        self._gone = Overlay()
        self._indexes: dict[Columns, _Index] = {}
        self._fans: dict[Columns, float] = {}

    def __len__(self) -> int:
        return len(self.marks) - len(self.gone) + len(self.added.rows)

    # -------------------------------------------------------------------------------- as a whole

    def put(self, columns: Sequence[Array], marks: Array | None) -> None:
        """Take arrays for all rows, each row once."""
        size = len(columns[0]) if columns else (0 if marks is None else len(marks))
        marks = np.zeros(size, dtype=np.int64) if marks is None else marks
        self.added, self.gone, self._gone = Overlay(), {}, Overlay()
        self._indexes, self._fans = {}, {}
        if size <= _FEW:
            self.base = [np.zeros(0, dtype=np.int64) for _ in self.kinds]
            self.marks = np.zeros(0, dtype=np.int64)
            rows = zip(*map(self._spelled, self._whole, columns), strict=True)
            given = rows if self.kinds else [()] * size
            self.added.rows = dict(zip(given, marks.tolist(), strict=True))
            return
        order = order_of(columns)
        self.base = [np.ascontiguousarray(one if order is None else one[order]) for one in columns]
        self.marks = marks if order is None else marks[order]

    def _spelled(self, column: int, numbers: Array) -> list[Value]:
        return self._codes.values(self.kinds[column], numbers)

    def arrays(self) -> tuple[list[Array], Array]:
        """Give all rows as arrays, with their marks; in no particular order."""
        kept = np.ones(len(self.marks), dtype=bool)
        kept[list(self.gone)] = False
        rows = list(self.added.rows)
        columns = []
        for place, kind in enumerate(self.kinds):
            more = self._codes.numbers(kind, [row[place] for row in rows])
            base = self.base[place] if self.base else more[:0]
            columns.append(np.concatenate([base[kept], more]))
        marks = np.array(list(self.added.rows.values()), dtype=np.int64)
        return columns, np.concatenate([self.marks[kept], marks])

    def __iter__(self) -> Iterator[Row]:
        columns, marks = self.arrays()
        if not self.kinds:
            return iter([()] * len(marks))
        return zip(*map(self._spelled, self._whole, columns), strict=True)

    # ------------------------------------------------------------------------------ row for row

    def mark(self, row: Row) -> int | None:
        """Give the mark of a row; nothing where the row is not there."""
        found = self.added.rows.get(row)
        if found is not None:
            return found
        place = self._place(row)
        return None if place is None or place in self.gone else int(self.marks[place])

    def has(self, row: Row) -> bool:
        """Whether a row is there."""
        return self.mark(row) is not None

    def add(self, row: Row, mark: int) -> None:
        """Take a row that is not there."""
        place = self._gone.rows.get(row)
        if place is not None and self.marks[place] == mark:
            self._gone.remove(self.gone.pop(place))
            return
        self.added.add(row, mark)

    def remove(self, row: Row) -> int:
        """Take away a row that is there; give its mark."""
        if row in self.added.rows:
            return self.added.remove(row)
        place = self._place(row)
        if place is None or place in self.gone:
            raise KeyError(row)
        self.gone[place] = row
        self._gone.add(row, place)
        return int(self.marks[place])

    def find(self, columns: Columns, key: Row) -> list[Row]:
        """Give the rows that have the key in these columns."""
        found = list(self.added.find(columns, key))
        if not len(self.marks):
            return found
        numbers = self._numbers(columns, key)
        if numbers is None:
            return found
        index = self._index(columns)
        low, high = index.range(numbers)
        if low == high:
            return found
        places: Sequence[int] = range(low, high)
        if index.order is not None:
            places = index.order[low:high].tolist()
            parts = [column[index.order[low:high]] for column in self.base]
        else:
            parts = [column[low:high] for column in self.base]
        rows = zip(*map(self._spelled, self._whole, parts), strict=True)
        if self.gone:
            gone = self.gone
            found += [row for place, row in zip(places, rows, strict=True) if place not in gone]
        else:
            found += rows
        return found

    def count(self, columns: Columns, key: Row) -> int:
        """How many rows have the key in these columns."""
        found = self.added.count(columns, key) - self._gone.count(columns, key)
        numbers = self._numbers(columns, key) if len(self.marks) else None
        if numbers is None:
            return found
        low, high = self._index(columns).range(numbers)
        return found + high - low

    def fan(self, columns: Columns) -> float:
        """About how many rows have the same key in these columns."""
        if columns not in self._fans:
            self._fans[columns] = self._fan(columns)
        return self._fans[columns]

    def _fan(self, columns: Columns) -> float:
        if not columns or columns == self._whole:
            return 1.0 if columns else float(len(self))
        if not len(self.marks):
            return len(self) / max(self.added.distinct(columns), 1)
        arrays = [self.base[one] for one in columns]
        if len(arrays) == 1:
            return len(self) / max(len(np.unique(arrays[0])), 1)
        # Of several columns the one that tells most rows apart says enough.
        return min(self.fan((one,)) for one in columns)

    # ----------------------------------------------------------------------------------- arrays

    def _numbers(self, columns: Columns, key: Row) -> Sequence[int] | None:
        if self._plain:
            return key  # type: ignore[return-value]  # numbers stand for themselves
        found = []
        for column, value in zip(columns, key, strict=True):
            kind = self.kinds[column]
            number = value if kind is Kind.NUMBER else self._codes.known(kind, value)
            if number is None:
                return None
            found.append(number)
        return found  # type: ignore[return-value]  # numbers of 64 bits

    def _place(self, row: Row) -> int | None:
        if not len(self.marks):
            return None
        numbers = self._numbers(self._whole, row)
        if numbers is None:
            return None
        low, high = self._index(self._whole).range(numbers)
        return None if low == high else low

    def _index(self, columns: Columns) -> _Index:
        found = self._indexes.get(columns)
        if found is None:
            found = self._indexes[columns] = self._indexed(columns)
        return found

    def _indexed(self, columns: Columns) -> _Index:
        size = len(self.marks)
        if columns == self._whole[: len(columns)]:
            return _Index(size, [_viewed(self.base[one]) for one in columns], None)
        arrays = [self.base[one] for one in columns]
        order = order_of(arrays)
        if order is None:
            return _Index(size, [_viewed(one) for one in arrays], None)
        views = [_viewed(np.ascontiguousarray(one[order])) for one in arrays]
        return _Index(size, views, order)


def _viewed(array: Array) -> memoryview:
    """Give what Python looks into ten times as fast as into an array."""
    return memoryview(array)  # type: ignore[arg-type]  # an array is a buffer


def order_of(columns: Sequence[Array]) -> Array | None:
    """Give the order that sorts rows by these columns; nothing where they are sorted."""
    if not columns or not len(columns[0]):
        return None
    packed = pack(columns)
    if packed is not None:
        if bool(np.all(packed[1:] >= packed[:-1])):
            return None
        return np.argsort(packed, kind="stable")
    first = columns[0]
    if bool(np.all(first[1:] > first[:-1])):
        return None
    return np.lexsort(list(reversed(columns)))


def pack(columns: Sequence[Array]) -> Array | None:
    """Give one number for each row, in the order of the rows; nothing where it is too wide."""
    lows = [int(one.min()) for one in columns]
    widths = [int(one.max()) - low + 1 for one, low in zip(columns, lows, strict=True)]
    total = 1
    for width in widths:
        total *= width
    if total > _WIDEST:
        return None
    packed: Array = columns[0] - lows[0]
    for column, low, width in zip(columns[1:], lows[1:], widths[1:], strict=True):
        packed = packed * width + (column - low)
    return packed


def difference(
    old: Sequence[Array], new: Sequence[Array]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Tell of the old rows which are gone, and of the new ones which have come."""
    sizes = len(old[0]), len(new[0])
    both = [np.concatenate([one, other]) for one, other in zip(old, new, strict=True)]
    if not sum(sizes):
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    packed = pack(both)
    if packed is not None:
        before, after = packed[: sizes[0]], packed[sizes[0] :]
        return ~_are_in(before, after), ~_are_in(after, before)
    order = np.lexsort(list(reversed(both)))
    alike = np.ones(sum(sizes) - 1, dtype=bool)
    for one in both:
        taken = one[order]
        alike &= taken[1:] == taken[:-1]
    twice = np.zeros(sum(sizes), dtype=bool)
    twice[order[1:]] |= alike
    twice[order[:-1]] |= alike
    return ~twice[: sizes[0]], ~twice[sizes[0] :]


def _are_in(some: Array, others: Array) -> npt.NDArray[np.bool_]:
    """Tell of some numbers whether they are among others, which are nearly sorted."""
    if not len(others):
        return np.zeros(len(some), dtype=bool)
    ordered = np.sort(others, kind="stable")
    places = np.searchsorted(ordered, some)
    places[places == len(ordered)] = 0
    found: npt.NDArray[np.bool_] = ordered[places] == some
    return found
