"""Which rows and columns an answer has: paths into JSON, and the fields that a schema tells of.

A path names fields, `address.city`; `[]` stands for the entries of a list, `orders[].lines[]`. The
path of rows says where each of them stands. A column's path begins at its row, `$.` at the whole
answer, and one with `[]` of its own at an entry that the row lies in: `orders[].id`. `.` is the
entry itself, `#` at the end its place in its list. JSON: RFC 8259.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any, Final

from constat.apis.transport import UNREADABLE, ApiError
from constat.frozen import frozen
from constat.project.document import printable

# A field that is missing is null; a list or a table is no cell, and a duplicate name no JSON.

ENTRIES: Final = "[]"
PLACE: Final = "#"
_STEP: Final = re.compile(r"([^.\[\]#\s][^.\[\]]*)?((?:\[\])*)\Z")
_MOST_STEPS: Final = 24
_MOST_DIGITS: Final = 400
Json = Any


class PathError(ValueError):
    """A path that cannot be read; the text says why."""


@frozen
class Path:
    """Steps into an answer; each is the name of a field, `[]` or, at the end, `#`."""

    steps: tuple[str, ...]
    whole: bool = False
    """Whether it begins at the whole answer and not at the row."""

    @property
    def depth(self) -> int:
        """How many lists it goes through."""
        return self.steps.count(ENTRIES)


def read_path(text: str) -> Path:
    """Read a path; raises `PathError`."""
    written = text.strip()
    whole = written == "$" or written.startswith(("$.", "$["))
    written = written[1:].removeprefix(".") if whole else written
    if written in {"", "."}:
        return Path((), whole)
    place = written.endswith(PLACE)
    written = written.removesuffix(PLACE).removesuffix(".") if place else written
    steps: list[str] = []
    for part in written.split(".") if written else ():
        found = _STEP.match(part)
        if found is None or not part:
            raise PathError(f"`{text[:80]}` is no path such as `address.city` or `orders[].id`")
        steps += [found[1]] if found[1] else []
        steps += [ENTRIES] * (len(found[2]) // len(ENTRIES))
    if len(steps) > _MOST_STEPS:
        raise PathError(f"`{text[:80]}` goes deeper than {_MOST_STEPS} steps")
    return Path((*steps, PLACE) if place else tuple(steps), whole or ENTRIES in steps)


def path_text(steps: Sequence[str]) -> str:
    """Spell steps as a path."""
    return "".join(one if one == ENTRIES else f".{one}" for one in steps).removeprefix(".")


@frozen
class Shape:
    """Where the rows stand, and each column of them."""

    rows: Path
    columns: tuple[Path, ...]

    def check(self) -> None:
        """Raise `PathError` where a column lies in a list that its row does not lie in."""
        for column in self.columns:
            if column.whole and column.depth and not self._reaches(column):
                raise PathError(
                    f"`{path_text(column.steps)}` goes through a list that the rows, "
                    f"`{path_text(self.rows.steps)}`, do not lie in"
                )

    def _reaches(self, column: Path) -> bool:
        last = len(column.steps) - 1 - column.steps[::-1].index(ENTRIES)
        return column.steps[: last + 1] == self.rows.steps[: last + 1]

    def trails(self, document: Json) -> Iterator[Trail]:
        """Yield each row with the entries around it; raises `ApiError` as `cells` does."""
        # An entry that is null is no thing with fields; where the entry itself is read it is a row.
        return _entries(document, self.rows.steps, nulls=Path(()) in self.columns)

    def blank(self, document: Json) -> str:
        """Name a list with an entry that is null and no row: nobody knows what would stand there.

        Raises `ApiError` as `cells` does.
        """
        steps = self.rows.steps
        lists = [n + 1 for n, step in enumerate(steps) if step == ENTRIES]
        if lists and lists[-1] == len(steps) and Path(()) in self.columns:
            del lists[-1]  # an entry that is read itself is a row
        for end in lists:
            for trail in _entries(document, steps[:end], nulls=True):
                if trail.entry is None:
                    return path_text(steps[:end])
        return ""

    def cells(self, document: Json) -> Iterator[tuple[object, ...]]:
        """Yield the cells of each row; raises `ApiError` where a list is expected and is none."""
        for trail in self.trails(document):
            yield tuple([_cell(trail, document, column) for column in self.columns])

    def count(self, document: Json) -> int:
        """Count the entries of the outermost list of a page; -1 where rows lie in none."""
        if ENTRIES not in self.rows.steps:
            return -1
        steps = self.rows.steps[: self.rows.steps.index(ENTRIES) + 1]
        return sum(1 for _ in _entries(document, steps))


@frozen
class Trail:
    """An entry, with the entries around it and its places in their lists."""

    around: tuple[Json, ...]
    places: tuple[int, ...]
    entry: Json


def _entries(document: Json, steps: Sequence[str], *, nulls: bool = False) -> Iterator[Trail]:
    waiting = [(Trail((), (), document), 0)]
    while waiting:
        trail, at = waiting.pop()
        entry = trail.entry
        while at < len(steps) and steps[at] != ENTRIES:
            entry = _field(entry, steps[at])
            at += 1
        if at == len(steps):
            if entry is not None or (nulls and steps[-1:] == (ENTRIES,)):
                yield Trail(trail.around, trail.places, entry)
            continue
        if entry is None:
            continue  # a list that is missing has no entries
        if not isinstance(entry, list):
            where = path_text(steps[:at]) or "the answer"
            raise ApiError(f"{where} is no list", "C0577")
        inner = [
            (Trail((*trail.around, one), (*trail.places, place), one), at + 1)
            for place, one in enumerate(entry)
        ]
        waiting += reversed(inner)


def _field(entry: Json, name: str) -> Json:
    if isinstance(entry, dict):
        return entry.get(name)
    if entry is None:
        return None
    what = "a list" if isinstance(entry, list) else "a value"
    raise ApiError(f"there is {what} where `{printable(name)}` is looked for", "C0577")


def _cell(trail: Trail, document: Json, path: Path) -> object:
    found, steps = trail.entry, path.steps
    if path.whole:
        depth = path.depth
        found = trail.around[depth - 1] if depth else document
        if depth:
            steps = steps[len(steps) - steps[::-1].index(ENTRIES) :]
    if steps[-1:] == (PLACE,):
        depth = path.depth if path.whole else len(trail.places)
        return trail.places[depth - 1] if depth else None
    for name in steps:
        found = _field(found, name)
    if isinstance(found, dict | list):
        where = path_text(path.steps) or "an entry"
        raise ApiError(f"{where} is a list or a table, and no value", "C0577")
    return found


# ------------------------------------------------------------------------------ reading JSON


def read_json(body: bytes) -> Json:
    """Read an answer; numbers with a point stay exact. Raises `ApiError`."""
    try:
        return json.loads(
            body.decode("utf-8-sig"),
            parse_float=_exact,
            parse_int=_whole,
            parse_constant=_refuse,
            object_pairs_hook=members_once,
        )
    except (ValueError, RecursionError, ArithmeticError):
        beginning = body.lstrip()[:1]
        what = "HTML or XML" if beginning == b"<" else "no JSON"
        raise ApiError(f"the answer is {what}, where JSON is expected", UNREADABLE) from None


def _exact(text: str) -> Decimal:
    if len(text) > _MOST_DIGITS:
        raise ValueError("a number of too many digits")
    return Decimal(text)


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("a number of too many digits")
    return int(text)


def _refuse(_text: str) -> float:
    raise ValueError("no number of JSON")


def members_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Give the object of these members; raise `ValueError` where a name stands twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name that stands twice")
    return found


# ------------------------------------------------------------------------------ what schemas say


@frozen
class Field:
    """A field that a description tells of. `kind` is that of its value; `list` and `table` open."""

    path: tuple[str, ...]
    kind: str
    nullable: bool
    description: str = ""


@frozen
class LeftOut:
    """What a description tells of and no column can read, and why."""

    path: tuple[str, ...]
    why: str


@frozen
class Listed:
    """The fields that a description tells of, and whether it tells of others besides."""

    fields: tuple[Field, ...] = ()
    open: bool = True
    by_path: Mapping[tuple[str, ...], Field] = field(default_factory=dict, hash=False)
    left_out: tuple[LeftOut, ...] = ()

    @classmethod
    def of(
        cls, fields: Sequence[Field], *, is_open: bool, left_out: Sequence[LeftOut] = ()
    ) -> Listed:
        """Index fields by their paths."""
        by_path = {one.path: one for one in fields}
        return cls(tuple(fields), is_open, by_path, tuple(left_out))

    def may_lack(self, one: Field, rows: Sequence[str]) -> bool:
        """Tell whether rows may be without a field: for its own sake, or for a table around it."""
        around = (self.by_path.get(one.path[:n]) for n in range(len(rows) + 1, len(one.path)))
        return one.nullable or any(each is None or each.nullable for each in around)
