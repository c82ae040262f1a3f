"""Cells of databases: a value that is exactly the cell, or a reason that quotes nothing.

In: what SQLite can store in columns of every affinity, read through the connection that sources
use, and what other drivers hand over (decimals, dates, times).  Each is read as every kind.
"""

from __future__ import annotations

import math
import sqlite3
import weakref
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from constat.catalog import Question, ReadBounds, SqliteConnection, read_cell
from constat.logic import Kind
from tests.fuzz.damage import NUMBERS, STRANGE, any_text, damaged_text
from tests.fuzz.goals_and_facts import assert_spelled

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from constat.catalog import Cell
    from tests.fuzz.reading import Input

_TEXTS: Final = (
    *NUMBERS,
    *STRANGE,
    *("", " ", "true", "FALSE", "2024-02-29", "2024-02-29T00:00", "2024-01-01 10:00:00+05:30"),
    *(
        "2024-01-01T23:59:59.999999Z",
        "24:00",
        "1,5",
        "$5",
        "0x1p-3",
        "\uff11\uff12",
        "x" * 5_000,
        "1e5",
    ),
)
_AFFINITIES: Final = ("", "INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC", "DATE", "BOOLEAN")
_BOUNDS: Final = ReadBounds(5.0, 10)
_QUOTED_FROM: Final = 12
_Stored: TypeAlias = "int | float | str | bytes | None"


class Cells:
    """Reads single cells."""

    def __init__(self, folder: Path) -> None:
        path = folder / "cells.sqlite"
        self._writer = sqlite3.connect(path, isolation_level=None)
        self._writer.execute("PRAGMA journal_mode = OFF")
        self._writer.execute("PRAGMA synchronous = OFF")
        columns = ", ".join(f"c{place} {one}" for place, one in enumerate(_AFFINITIES))
        self._writer.execute(f"CREATE TABLE t ({columns})")
        self._writer.execute("INSERT INTO t DEFAULT VALUES")
        self._reader = SqliteConnection(path, wait_seconds=5)
        # Python 3.13 warns of connections that are dropped open, and here warnings are errors.
        weakref.finalize(self, self._writer.close)
        weakref.finalize(self, self._reader.close)

    def make(self, chance: Random) -> Input:
        place = chance.randrange(len(_AFFINITIES))
        match chance.randrange(8):
            case 0:
                return "typed", _typed(chance)
            case 1:
                # Text whose bytes need not be UTF-8.
                return "CAST(? AS TEXT)", place, chance.randbytes(chance.randrange(12))
            case _:
                return "?", place, _stored(chance)

    def check(self, given: Input) -> str:
        match given:
            case ("typed", Decimal() | date() as cell):
                return check_cell(cell)
            case (str(form), int(place), int() | float() | str() | bytes() | None as stored):
                return self._check_stored(form, place, stored)
        raise AssertionError(given)

    def _check_stored(self, form: str, place: int, stored: _Stored) -> str:
        try:
            self._writer.execute(f"UPDATE t SET c{place} = {form}", (stored,))
        except (OverflowError, UnicodeEncodeError):
            return "SQLite does not store it"
        rows = list(self._reader.read(Question(f"SELECT c{place} FROM t"), _BOUNDS))
        ((cell,),) = rows[0]
        return check_cell(cell)


def check_cell(cell: Cell) -> str:
    """Read a cell as every kind; what it becomes is a value of that kind and the same number."""
    read = 0
    for kind in Kind:
        try:
            value = read_cell(cell, kind)
        except ValueError as problem:
            _check_reason(str(problem), str(cell))
            continue
        read += 1
        assert_spelled((value,), (kind,))
        if kind.numeric and isinstance(cell, int):
            assert value == cell
        if kind.numeric and isinstance(cell, float):
            assert value == (Decimal(repr(cell)) if kind is Kind.DECIMAL else cell)
        if kind is Kind.SYMBOL:
            assert value == cell
    return "read" if read else "refused"


def _check_reason(reason: str, shown: str) -> None:
    # A reason may name a bound, which a number of the same size looks like.
    if len(shown) >= _QUOTED_FROM and not shown.strip("-").isdecimal():
        assert shown not in reason


def _stored(chance: Random) -> _Stored:
    match chance.randrange(7):
        case 0:
            return chance.choice((1, -1)) * chance.getrandbits(chance.randrange(1, 67))
        case 1:
            return chance.choice(
                (0.0, -0.0, 0.5, 1e15, 1e16, 1e22, 1e300, 5e-324, math.inf, math.nan)
            )
        case 2:
            return chance.uniform(-1, 1) * 10.0 ** chance.randrange(-30, 40)
        case 3:
            return chance.randbytes(chance.randrange(12))
        case 4:
            return any_text(chance, 20)
        case 5:
            return None if chance.random() < 0.1 else _moment(chance).isoformat(chance.choice(" T"))
        case _:
            text = chance.choice(_TEXTS)
            return damaged_text(text, chance, _TEXTS, 2) if chance.random() < 0.5 else text


def _typed(chance: Random) -> Decimal | date:
    match chance.randrange(5):
        case 0:
            return Decimal(chance.choice(("NaN", "sNaN", "Infinity", "-Infinity", "-0", "0E+50")))
        case 1:
            digits = tuple(chance.randrange(10) for _ in range(chance.randint(1, 60)))
            return Decimal((chance.randrange(2), digits, chance.randint(-80, 80)))
        case 2:
            return _moment(chance).date()
        case 3:
            return _moment(chance)
        case _:
            hours = timezone(timedelta(minutes=chance.randint(-14 * 60, 14 * 60)))
            return _moment(chance).replace(tzinfo=chance.choice((UTC, hours)))


def _moment(chance: Random) -> datetime:
    low, high = datetime.min, datetime.max  # noqa: DTZ901  zones are added where they are wanted
    second = chance.choice((0, chance.randrange(86_400)))
    micro = chance.choice((0, chance.randrange(1_000_000)))
    day = timedelta(days=chance.choice((0, chance.randrange((high - low).days), (high - low).days)))
    return low + day + timedelta(seconds=second, microseconds=micro)
