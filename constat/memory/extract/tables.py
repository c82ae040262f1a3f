"""Tables in text: comma or tab separated, Markdown, and those that databases print.

In: what was said, or what a tool answered.  Out: ``table`` (value: how many rows of what),
``column`` (key: the column, value: its profile), ``cell`` (key: row and column, value: the cell).
Invariants: the span of a cell is the cell without the blanks around it; a row is called by its
first cell where no other row has the same one, else by its number; numbers are profiled exactly.
All rows are profiled, also where the cells of only so many are facts of their own.

Example: under ``id,total`` the line ``7,12.50`` is the cell ``7.total`` = 12.50.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.memory.extract.reading import Reading
    from constat.memory.facts import Fact
    from constat.memory.passages import Passage

MOST_CELLS: Final = 5_000
_LEAST_ROWS: Final = 2
_LEAST_COLUMNS: Final = 2
_MOST_COLUMNS: Final = 200
_LONGEST_LINE: Final = 10_000
_LONGEST_NAME: Final = 60
_RULE: Final = re.compile(r"[ \t|+:\-=\u2500-\u257f]*[-=\u2500\u2550]{2}[ \t|+:\-=\u2500-\u257f]*")
_BARS: Final = re.compile("[|\u2502\u2551]")
_NUMBER: Final = re.compile(
    r"[-+]?[$\u20ac\u00a3]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?%?"
)
_PROSE: Final = re.compile(r"[.!?]\s|, |: |\A\s*[-*+#>]\s")


@dataclass(frozen=True, slots=True)
class _Cell:
    start: int
    end: int
    text: str


_Row = tuple[_Cell, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    head: _Row
    rows: tuple[_Row, ...]


def from_tables(reading: Reading) -> Iterator[Fact]:
    """Yield the facts of each table."""
    passage = reading.passage
    if passage.place is Place.ARGUMENTS or reading.members is not None:
        return
    for number, table in enumerate(_tables(passage.text), 1):
        # Two tables that people show have nothing to do with each other, whatever their columns.
        name = f"t{number}" if passage.subject else f"t{number}@{passage.archive[7:13]}"
        yield from _facts(passage, table, name)


def _facts(passage: Passage, table: _Table, name: str) -> Iterator[Fact]:
    columns = [cell.text for cell in table.head]
    shown = f"{len(table.rows)} rows of {', '.join(columns)}"
    start, end = table.head[0].start, table.rows[-1][-1].end
    yield fact(passage, Said("table", name, shown, "table"), start, end, "tables")
    for place, head in enumerate(table.head):
        said = Said("column", f"{name}.{head.text}", _profile(table.rows, place), "profile")
        yield fact(passage, said, head.start, head.end, "tables")
    firsts = Counter(row[0].text for row in table.rows)
    for number, row in enumerate(table.rows[: MOST_CELLS // len(columns)]):
        alone = row[0].text and firsts[row[0].text] == 1
        called = row[0].text if alone else f"[{number}]"
        for head, cell in zip(table.head, row, strict=True):
            if cell.text:
                kind = "number" if _NUMBER.fullmatch(cell.text) else "text"
                said = Said("cell", f"{name}.{called}.{head.text}", cell.text, kind)
                yield fact(passage, said, cell.start, cell.end, "tables")


def _profile(rows: Sequence[_Row], place: int) -> str:
    """Describe a column: kind, empty cells, distinct values, bounds and sum."""
    values = [row[place].text for row in rows if row[place].text]
    empty, distinct = len(rows) - len(values), len(set(values))
    numbers = [_number(value) for value in values]
    parts = [f"{len(rows)} rows", f"{distinct} distinct", *([f"{empty} empty"] if empty else [])]
    exact = [one for one in numbers if one is not None]
    if exact and len(exact) == len(values):
        parts += [f"{min(exact)} to {max(exact)}", f"sum {sum(exact)}"]
    elif values:
        parts.append(f"{min(values)[:40]} to {max(values)[:40]}")
    return ", ".join(parts)


def _number(text: str) -> Decimal | None:
    if not _NUMBER.fullmatch(text) or len(text) > _LONGEST_NAME:
        return None
    try:
        return Decimal(re.sub(r"[,$%\u20ac\u00a3+]", "", text))
    except InvalidOperation:
        return None


def _tables(text: str) -> Iterator[_Table]:
    """Find runs of lines that have the same number of cells."""
    if text.count("\n") < _LEAST_ROWS:
        return
    lines = [(found.start(), found.group()) for found in re.finditer(r"[^\n]+", text)]
    at = 0
    while at < len(lines):
        table, used = _table(lines, at)
        if table is not None:
            yield table
        at += used


def _table(lines: Sequence[tuple[int, str]], at: int) -> tuple[_Table | None, int]:
    """Read the table that begins with a line; tells how many lines are done with."""
    mark = _mark(lines[at][1])
    ruled = at + 1 < len(lines) and bool(_RULE.fullmatch(lines[at + 1][1]))
    # Bars also stand in other texts; under the head of a table there is a rule.
    if mark is None or (mark == "|" and not ruled):
        return None, 1
    framed = bool(_BARS.match(lines[at][1].lstrip()[:1]))
    head = _cells(*lines[at], mark, framed=framed)
    if not _is_head(head, mark):
        return None, 1
    rows: list[_Row] = []
    behind = at + 1
    while behind < len(lines):
        start, line = lines[behind]
        if not _RULE.fullmatch(line):
            row = _cells(start, line, mark, framed=framed) if _mark(line) == mark else ()
            if len(row) != len(head):
                break
            rows.append(row)
        behind += 1
    enough = len(rows) >= (1 if ruled else _LEAST_ROWS)
    return (_Table(head, tuple(rows)) if enough else None), behind - at if enough else 1


def _mark(line: str) -> str | None:
    """Return what separates the cells of a line."""
    if len(line) > _LONGEST_LINE:
        return None
    if _BARS.search(line):
        return "|"
    if "\t" in line:
        return "\t"
    if line.count(";") > line.count(","):
        return ";"
    return "," if "," in line and not _PROSE.search(line) else None


def _is_head(head: _Row, mark: str) -> bool:
    names = [cell.text for cell in head]
    if not _LEAST_COLUMNS <= len(names) <= _MOST_COLUMNS or len(set(names)) < len(names):
        return False
    named = all(name and len(name) <= _LONGEST_NAME for name in names)
    # What separates cells also stands in sentences: there a head is words, and no numbers.
    return named and (mark == "|" or not any(name[0].isdigit() for name in names))


def _cells(start: int, line: str, mark: str, *, framed: bool) -> _Row:
    """Cut a line; with a frame it begins and ends with a bar, without one these are cells."""
    if mark == "|":
        cuts = [found.start() for found in _BARS.finditer(line)]
        if not framed:
            cuts = [-1, *cuts, len(line)]
        elif not _BARS.match(line.rstrip()[-1:]):
            cuts.append(len(line))
    else:
        cuts = [-1, *_separators(line, mark), len(line)]
    return tuple(_cell(start, line, begin + 1, end) for begin, end in pairwise(cuts))


def _separators(line: str, mark: str) -> Iterator[int]:
    quoted = False
    for place, one in enumerate(line):
        if one == '"':
            quoted = not quoted
        elif one == mark and not quoted:
            yield place


def _cell(start: int, line: str, begin: int, end: int) -> _Cell:
    part = line[begin:end]
    inner = part.strip()
    place = begin + len(part) - len(part.lstrip())
    if len(inner) > 1 and inner[0] == inner[-1] == '"':
        inner, place = inner[1:-1], place + 1
    return _Cell(start + place, start + place + len(inner), inner)
