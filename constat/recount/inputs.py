"""How the inputs of a check come in: every row of a relation, once.

In: the predicate, and who gives its rows. Out: tables. Whoever answers is asked for everything once
more, in the read transaction of the run where there is one. What is less than complete is refused:
the check has no clause for it, and says so. Rows that are assumed or only possible, or hold cells
without a value, come in with marks.

A column that no rule reads, as `_` and variables that stand nowhere else do not, may be left out
where its values are texts. Then the rows are shown to differ in whole numbers, or all columns are
read after all: so the table has a row for each row of the relation, and no two of them are one. An
instance of a rule is a row of the join as before, and a binding of an aggregate too; nothing else
looks at the column, and where something did, DuckDB would not find it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from constat.evaluation import UNTIMED, Demand, RelationPredicate
from constat.logic import Aggregate, Kind, Negative, Positive, Variable, has_null_cells
from constat.recount.statements import INTEGERS, RefusedError, literal, once
from constat.recount.tables import Loaded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from constat.evaluation import Answer, Clock, ExternalPredicate, Opening, Readable
    from constat.logic import Atom, Literal, OpenRow, Predicate, Row, Rule
    from constat.recount.tables import Tables

# What costs as much is paid for by the question: nobody asks it for everything.
_DEAR: Final = 1_000
_MOST_ROWS: Final = 2_000_000_000
_EVERYTHING: Final = ((),)
_NARROW: Final = 1 << 32
_SPREAD: Final = 4
"""So many times as many numbers as rows lie between the least and the greatest, at most."""


def columns_read(rules: Iterable[Rule]) -> dict[str, frozenset[int]]:
    """Say which columns rules read, of each relation that they read at all."""
    found: dict[str, frozenset[int]] = {}
    for rule in rules:
        free = once(rule)
        for atom in _atoms(rule.body):
            read = {
                place
                for place, term in enumerate(atom.terms)
                if not isinstance(term, Variable) or term.name not in free
            }
            found[atom.predicate] = found.get(atom.predicate, frozenset()) | read
    return found


def _atoms(body: Iterable[Literal]) -> Iterator[Atom]:
    for one in body:
        match one:
            case Positive(atom) | Negative(atom):
                yield atom
            case Aggregate(body=inner):
                yield from _atoms(inner)
            case _:
                pass


def read_input(
    tables: Tables,
    predicate: Predicate,
    external: ExternalPredicate | None,
    clock: Clock = UNTIMED,
    read: AbstractSet[int] | None = None,
) -> Loaded:
    """Give tables with all rows of a predicate, each once, and the columns `read` or more.

    Raises `RefusedError`.
    """
    if external is None:
        raise RefusedError(f"nobody gives the rows of {predicate.name}")
    if external.cost >= _DEAR:
        raise RefusedError(f"{predicate.name} is not asked for everything")
    demand = Demand(predicate, (), _EVERYTHING, clock)
    stream = None
    if isinstance(external, RelationPredicate) and Kind.STRUCTURE not in predicate.kinds:
        stream = external.as_relation(demand, _MOST_ROWS)
        places = None if stream is None else _enough(tables, stream, read)
        if stream is not None and places is not None:
            table = _streamed(tables, stream, places)
            if _differ(tables, table, predicate.kinds):
                return Loaded(table)
            tables.run("DROP TABLE", table)
            # A stream is read once.
            stream = external.as_relation(demand, _MOST_ROWS)
    marked: dict[OpenRow, bool] = {}
    if stream is not None:
        table = _streamed(tables, stream)
        _opened(marked, stream.openings)
        marked |= dict.fromkeys(stream.nulls, True)
    else:
        answer = external.answer(demand)
        table = tables.empty(predicate.kinds)
        _opened(marked, answer.openings)
        # As long as nobody accepts it, what is assumed is possible (10).
        assumed = (one for one in answer.portions if one.assumption is not None)
        marked |= dict.fromkeys((row for one in assumed for row in one.rows), False)
        tables.add_rows(table, _rows(answer, predicate, marked), predicate.kinds)
    whole = distinct(tables, table, predicate.kinds)
    return Loaded(whole, _beside(tables, whole, marked, predicate) if marked else "")


def _beside(tables: Tables, whole: str, marked: dict[OpenRow, bool], predicate: Predicate) -> str:
    """Give a table with the rows that are not whole and certain, but for those that are as well."""
    beside = tables.empty_marked(predicate.kinds)
    tables.add_marked(beside, marked.items(), predicate.kinds)
    width = range(max(1, predicate.arity))
    alike = [f"b.m{n} IS NULL AND b.c{n} = w.c{n}" for n in width]
    tables.run(
        *("DELETE FROM", beside, "AS b WHERE EXISTS (SELECT 1 FROM", whole, "AS w"),
        *("WHERE", " AND ".join(alike), ")"),
    )
    return beside


def _opened(marked: dict[OpenRow, bool], openings: Iterable[Opening]) -> None:
    """Take the rows that there may be besides; what somebody declares excludes none of them."""
    for one in openings:
        marked[one.row] = False


def _enough(tables: Tables, stream: Readable, read: AbstractSet[int] | None) -> list[int] | None:
    """Give the columns to read where the others need not be; nothing where all are read.

    Where the first column is a whole number it mostly tells rows apart.
    """
    kinds = stream.predicate.kinds
    beside = stream.openings or stream.nulls or stream.merges
    if read is None or beside or stream.rows < max(1, tables.few) or kinds[0] not in INTEGERS:
        return None
    places = [n for n, kind in enumerate(kinds) if n in read or kind in INTEGERS]
    return places if len(places) < len(kinds) else None


def _streamed(tables: Tables, stream: Readable, places: Sequence[int] | None = None) -> str:
    """Give a table with the rows of a stream, and these columns or all."""
    predicate = stream.predicate
    if stream.evidence.confidence != 1:
        raise RefusedError(f"the source of {predicate.name} has less than full confidence")
    table = tables.empty(predicate.kinds, places)
    tables.add_stream(table, stream.stream(), predicate.kinds, places)
    if stream.changed():
        raise RefusedError(f"the source of {predicate.name} changed while it was read")
    found = tables.count(table)
    if found != stream.rows:
        raise RefusedError(f"{predicate.name} has {found:,} rows, and {stream.rows:,} were told")
    return table


def _rows(answer: Answer, predicate: Predicate, marked: dict[OpenRow, bool]) -> Iterator[Row]:
    """Yield the whole rows of an answer; put those with null cells among the marked ones."""
    name = predicate.name
    if _EVERYTHING[0] not in answer.answered:
        raise RefusedError(f"not all rows of {name} were answered")
    sure = [one for one in answer.portions if one.assumption is None]
    said = [*answer.authorities, *(one.evidence for one in sure)]
    if any(one.confidence != 1 for one in said):
        raise RefusedError(f"the source of {name} has less than full confidence")
    for portion in sure:
        for row in portion.rows:
            if has_null_cells(row):
                marked[row] = True
            else:
                yield row


def distinct(tables: Tables, table: str, kinds: Sequence[Kind] = ()) -> str:
    """Give the table, or one with its rows each once.

    Rows that differ in whole numbers differ, and so do rows with other hashes: what is sorted is a
    number for each row, and rows are compared whole where some numbers are the same.
    """
    rows = tables.count(table)
    if kinds and rows >= max(1, tables.few):
        if _differ(tables, table, kinds):
            return table
        # Two values of Float may be equal and have two hashes.
        mixed = any(kind not in INTEGERS for kind in kinds) and Kind.FLOAT not in kinds
        if mixed and _each_once(tables.arrays("SELECT hash(*COLUMNS(*)) AS h FROM", table)[0]):
            return table
    each = tables.number("SELECT count(*) FROM (SELECT DISTINCT * FROM", table, ") AS each_one")
    if each == rows:
        return table
    apart = tables.fresh()
    tables.run("CREATE TABLE", apart, "AS SELECT DISTINCT * FROM", table)
    return apart


def _differ(tables: Tables, table: str, kinds: Sequence[Kind]) -> bool:
    """Whether all rows differ in columns of whole numbers: in one of them, or else together."""
    rows, room = tables.count(table), 1
    for place, low, high in tables.bounds([table], kinds):
        span = high - low + 1
        room *= span
        if rows <= span <= _SPREAD * rows:
            least = literal(low, kinds[place])
            narrow = "UINTEGER" if span <= _NARROW else "UBIGINT"
            number = f"CAST(c{place} - {least} AS {narrow})"
            (numbers,) = tables.arrays("SELECT", number, "AS n FROM", table)
            if _marks(numbers, span) == rows:
                tables.keys[table] = place
                return True
    if room < rows:
        return False
    ranges = tables.ranges([table], kinds)
    return bool(ranges) and _each_once(tables.packed(table, ranges))


def _marks(numbers: Any, span: int) -> int:  # noqa: ANN401  an array, and numpy is loaded where it is used
    """Count the numbers below a bound that there are at all."""
    found = numbers[:0].astype(bool)
    # What it grows by is false.
    found.resize(span, refcheck=False)
    found[numbers] = True
    return int(found.sum())


def _each_once(numbers: Any) -> bool:  # noqa: ANN401  an array, as above
    numbers.sort()
    return bool((numbers[1:] != numbers[:-1]).all())
