"""Claims of texts that begin alike, as one table: what each more would take, and the lines.

In: claims, one after the other.  Out: what they take in hundredths of a token, and their lines.
Invariants: what a family takes is never less than what its lines are estimated at; a line ends with
the text it is taken from, and where several share one line each value is followed by its text; the
lines depend on the claims and on the order in which they came, and on nothing else.

One text names its keys: ``get -> id=O-5 state=paid @m7``. Texts with one key, or none, share a
line: ``call get id: O-5 @m7 O-7 @m9``. Otherwise the first line names the columns; an empty cell
says nothing: its value is shown elsewhere, did not fit, or is not there::

    get -> id|state|sum: O-5|paid|12 @m7
      O-7||40 @m9
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from constat.memory.facts import Span
from constat.memory.lines import Line, head, key_of, shown
from constat.memory.tokens import hundredths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.memory.history import Claim

# More columns than these are hard to tell apart by counting; what is left names its key.
_MOST_COLUMNS: Final = 8
_INDENT: Final = "  "
# What the end of a line takes, and marks between values: one, and one more beside it.
LINE: Final = 10
_MARK: Final = hundredths("|")
_AGAIN: Final = hundredths("||") - _MARK


def family_of(claim: Claim) -> str:
    """Return which claims share a table: lines begin alike, and all have keys, or none has."""
    return f"{head(claim.text)}{'' if key_of(claim) else ' -'}"


@dataclass(slots=True)
class _Row:
    """The claims of one text; ``attached`` is what each key takes beside its values."""

    claims: list[Claim] = field(default_factory=list)
    level: int = 9
    attached: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Sums:
    """What parts of a family take: values with places, keys before them, columns, cells."""

    values: int = 0
    keyed: int = 0
    columns: int = 0
    cells: int = 0


class Family:
    """Claims whose lines begin alike, growing."""

    def __init__(self, first: Claim) -> None:
        self._head = head(first.text)
        self._takes = hundredths(self._head) + LINE
        self._rows: dict[str, _Row] = {}
        self._columns: dict[str, int] = {}
        self._keys: set[str] = set()
        self._sums = _Sums()

    def cost(self, claim: Claim) -> int:
        """Return what one more claim would take, in hundredths of a token."""
        rows = len(self._rows) + (claim.text.name not in self._rows)
        keys = self._keys | {key_of(claim)}
        return self._total(self._with(claim), rows, keys) - self._now()

    def has(self, claim: Claim) -> bool:
        """Tell whether the text of a claim has a row already."""
        return claim.text.name in self._rows

    def take(self, claim: Claim, level: int) -> None:
        """Take a claim in."""
        self._sums = self._with(claim)
        key = key_of(claim)
        row = self._rows.setdefault(claim.text.name, _Row())
        row.claims.append(claim)
        row.level = min(level, row.level)
        row.attached[key] = max(row.attached.get(key, 0), _attached(claim))
        self._keys.add(key)
        if key not in self._columns and len(self._columns) < _MOST_COLUMNS:
            self._columns[key] = len(self._columns)

    def lines(self) -> list[Line]:
        """Write the claims, in the order in which they were said."""
        rows = sorted((_by_place(row) for row in self._rows.values()), key=_when)
        if not rows:
            return []
        if len(rows) == 1:
            return [_line(rows[0], f"{self._head} {_named(rows[0].claims)}")]
        if len(self._keys) == 1:
            return [self._shared(rows)]
        names = "|".join(self._columns)
        first = _line(rows[0], f"{self._head} {names}: {self._cells(rows[0])}")
        return [first, *(_line(row, f"{_INDENT}{self._cells(row)}") for row in rows[1:])]

    def _now(self) -> int:
        return self._total(self._sums, len(self._rows), self._keys) if self._rows else 0

    def _total(self, sums: _Sums, rows: int, keys: set[str]) -> int:
        if rows == 1:
            return self._takes + sums.values + sums.keyed
        if len(keys) == 1:
            return self._takes + sums.values + hundredths(f"{next(iter(keys))}:")
        return self._takes + sums.values + sums.columns + sums.cells + rows * LINE

    def _with(self, claim: Claim) -> _Sums:
        """Return what the parts take with one more claim."""
        sums, key, name = self._sums, key_of(claim), claim.text.name
        row = self._rows.get(name)
        values = sums.values + hundredths(shown(claim))
        values += 0 if row else hundredths(f"@{name}")
        known = row.attached if row else {}
        keyed = max(0, _attached(claim) - known.get(key, 0))
        column = self._columns.get(key, len(self._columns))
        columns, cells = sums.columns, sums.cells
        if column >= _MOST_COLUMNS:
            cells += keyed
        else:
            columns += 0 if key in self._columns else hundredths(key) + _MARK
            filled = [self._columns[one] for one in known if one in self._columns]
            cells += _between({*filled, column}) - _between(filled)
        return _Sums(values, sums.keyed + keyed, columns, cells)

    def _cells(self, row: _Row) -> str:
        """Write a row: its cells, and behind them what has no column."""
        cells: dict[str, list[str]] = {one: [] for one in self._columns}
        for claim in row.claims:
            if key_of(claim) in cells:
                cells[key_of(claim)].append(shown(claim))
        said = "|".join(" ".join(values) for values in cells.values()).rstrip("|")
        others = [one for one in row.claims if key_of(one) not in cells]
        return " ".join(part for part in (said, _named(others)) if part)

    def _shared(self, rows: Sequence[_Row]) -> Line:
        """Write texts of one key, or none, in one line."""
        key = key_of(rows[0].claims[0])
        said = [self._head, *([f"{key}:"] if key else [])]
        for row in rows:
            said += [*map(shown, row.claims), f"@{row.claims[0].text.name}"]
        names = tuple(one.name for row in rows for one in row.claims)
        level = min(row.level for row in rows)
        return Line(" ".join(said), _place(rows[-1].claims), names, level, rows[0].claims[0].at)


def _attached(claim: Claim) -> int:
    """Return what its key takes before a value: together they may be read as one long code."""
    key, value = key_of(claim), shown(claim)
    if not key:
        return 0
    apart = hundredths(f"{key}=")
    return max(apart, hundredths(f"{key}={value}") - hundredths(value))


def _between(columns: set[int] | Sequence[int]) -> int:
    """Return what the marks between the cells of a row take."""
    if not columns:
        return 0
    runs = len(columns) - (0 in columns)
    return runs * _MARK + (max(columns) - runs) * _AGAIN


def _named(claims: Sequence[Claim]) -> str:
    """Write claims of one text, each key once before its values."""
    values: dict[str, list[str]] = {}
    for one in claims:
        values.setdefault(key_of(one), []).append(shown(one))
    return " ".join(
        f"{key}={' '.join(said)}" if key else " ".join(said) for key, said in values.items()
    )


def _by_place(row: _Row) -> _Row:
    ordered = sorted(row.claims, key=lambda one: (one.fact.span.start, one.name))
    return _Row(ordered, row.level, row.attached)


def _when(row: _Row) -> tuple[int, str]:
    return (row.claims[0].at, row.claims[0].text.name)


def _line(row: _Row, said: str) -> Line:
    names = tuple(one.name for one in row.claims)
    first = row.claims[0]
    return Line(f"{said} @{first.text.name}", _place(row.claims), names, row.level, first.at)


def _place(claims: Sequence[Claim]) -> str:
    spans = [one.fact.span for one in claims]
    whole = Span(spans[0].archive, min(x.start for x in spans), max(x.end for x in spans))
    return claims[0].text.place(whole)
