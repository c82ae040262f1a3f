"""What bulk evaluation reads, and how it may go about it, with null cells as views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

from constat.analysis import AnalysedProgram
from constat.analysis.strata import components_of
from constat.catalog.fact_files import FactFile
from constat.evaluation import CERTAIN, POSSIBLE, ExternalPredicate, Resources, StrategyError
from constat.frozen import frozen, slotted
from constat.logic import (
    OPEN,
    Aggregate,
    Atom,
    Column,
    Comparison,
    Kind,
    Literal,
    Negative,
    NullCell,
    NullPolicy,
    Positive,
    Predicate,
    Row,
    Rule,
    Term,
    Value,
    Variable,
    is_wildcard,
    literal_variables,
    null_policies,
    term_variables,
)
from constat.plan.forward import Relation, Strategy
from constat.project.settings import SparkSetting
from constat.sql import Database, loading, trees

if TYPE_CHECKING:
    from sqlglot import exp

    from constat.evaluation import Readable
    from constat.logic import OpenRow, Slot

_SOURCE: Final = "streamed_rows"


class Serving(Enum):
    """Whether a server computes with the relations that it has."""

    NEVER = "never"
    WHERE_LESS_IS_SENT = "where less is sent"
    ALWAYS = "always"


def load_stream(database: Database, name: str, readable: Readable) -> None:
    """Load all rows. Raises `StrategyError` where they are not what was announced."""
    stored = database.stored(name)
    staging = database.fresh_name(f"stream {name}")
    outputs = [
        (f"c{place}", trees.cast(trees.bare(f"v{place}"), trees.type_of(kind)))
        for place, kind in enumerate(stored.relation.kinds)
    ]
    database.connection.register(_SOURCE, readable.stream())
    try:
        query = trees.select(outputs, source=trees.table(_SOURCE))
        database.connection.run(trees.create(staging, query))
    finally:
        database.connection.unregister(_SOURCE)
    if readable.changed():
        database.connection.run(trees.drop(staging))
        raise StrategyError(f"the source of {name} changed while it was read")
    try:
        loading.take_staged(database, stored, staging)
    finally:
        database.connection.run(trees.drop(staging))
    found = database.count(name)
    if found != readable.rows and not (readable.merges and found < readable.rows):
        raise StrategyError(f"the rows of {name} changed while they were read, or came twice")


# A literal that writes `_` at a column does not read it and meets every row; one that reads it
# meets, for certain, the rows that have a value there (semantics 26). So what a literal meets is a
# relation without null cells, which any strategy computes with. A row that is null in a column
# that is read is no row of the view under `none`, an open one under `maybe`, and one with a label
# under `unknown`: rows with labels are relations of their own (see `ways`).

_COUNTING: Final = frozenset({"count", "sum", "mean"})
_NUMBERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})
Nulled = tuple[Value | NullCell, ...]
"""A row as it comes from a source: some of its cells are null."""


@frozen
class View:
    """What some literals meet of a predicate: they read the same of its columns that may be null.

    `unread` are the columns that may be null and are not read. They go, but for those of a count, a
    sum or a mean (`counted`): they tell its members apart, a null being a thing of its own
    (semantics 26c), and become two columns each, of which the second says whether it is null.
    """

    base: Predicate
    unread: tuple[int, ...]
    counted: bool

    @property
    def predicate(self) -> Predicate:
        """The predicate of the view; names of the language have no point, so its name is free."""
        columns = [replace(self.base.columns[place], attributes={}) for place in self.kept]
        for place in self.flagged:
            column = self.base.columns[place]
            columns.append(replace(column, attributes={}))
            columns.append(Column(f"{column.name}.null", Kind.NUMBER.value, Kind.NUMBER))
        missing = [self.base.columns[place].name for place in self.unread]
        how = ["unread", *missing] if missing else ["read"]
        how += ["counted"] if self.flagged else []
        return Predicate(".".join([self.base.name, *how]), tuple(columns))

    @property
    def kept(self) -> list[int]:
        """The columns of the base that the view has."""
        return [place for place in range(self.base.arity) if place not in self.unread]

    @property
    def flagged(self) -> tuple[int, ...]:
        """The columns that tell members of a count apart; each has another beside it."""
        return self.unread if self.counted else ()

    def atom(self, atom: Atom, flags: Sequence[Variable]) -> Atom:
        """Give an atom of the base as one of the view."""
        terms: list[Term] = [atom.terms[place] for place in self.kept]
        for place, flag in zip(self.flagged, flags, strict=False):
            terms += [atom.terms[place], flag]
        return Atom(self.predicate.name, tuple(terms), atom.span)

    def whole(self, rows: Iterable[Row]) -> list[Row]:
        """Give rows without null cells."""
        kept, flagged = self.kept, self.flagged
        if not flagged:
            return [tuple([row[place] for place in kept]) for row in rows]
        return [
            (*[row[n] for n in kept], *[cell for n in flagged for cell in (row[n], 0)])
            for row in rows
        ]

    def row(self, row: Sequence[Slot | NullCell]) -> OpenRow | None:
        """Give a row with labels or placeholders; nothing where what is read has no value."""
        found: list[Slot] = []
        for place in self.kept:
            cell = row[place]
            if isinstance(cell, NullCell) and not cell.is_label:
                if cell.policy.is_empty:
                    return None
                cell = OPEN
            found.append(cast("Slot", cell))
        for place in self.flagged:
            cell = row[place]
            if isinstance(cell, NullCell):
                found += [0 if self.base.kinds[place] in _NUMBERS else "", 1]
            else:
                found += [cell, OPEN if cell is OPEN else 0]
        return tuple(found)

    def is_one_of_several(self, row: Sequence[Slot | NullCell]) -> bool:
        """Whether a row may turn out to be another one, of which a count has one already."""
        return any(isinstance(row[n], NullCell) and not _is_none(row[n]) for n in self.flagged)


@frozen
class Nulls:
    """The rows of an input that hold null cells, and those that are not certain, as they came.

    `why` says why nothing can be said of the input besides.
    """

    rows: tuple[Nulled, ...] = ()
    weak: tuple[tuple[Sequence[Slot | NullCell], int], ...] = ()
    why: str = ""

    @property
    def are_any(self) -> bool:
        """Whether some row holds a null cell."""
        return bool(self.rows) or any(NullCell in map(type, row) for row, _ in self.weak)

    def through(
        self, view: View, whole: Collection[Row], also: Collection[Nulled] = ()
    ) -> tuple[list[Row], list[tuple[OpenRow, int]]]:
        """Give the rows of a view that are certain besides `whole`, and the others by strength.

        Those with labels are among the others. `also` are rows that may turn out to be others,
        which are not at hand.
        """
        alike = {*_alike(view, self.rows, whole, [row for row, _ in self.weak]), *also}
        sure: list[Row] = []
        weak: list[tuple[OpenRow, int]] = []
        for row in self.rows:
            found = view.row(row)
            if found is None:
                continue
            if OPEN in found or row in alike:
                weak.append((found, POSSIBLE))
            elif NullCell in map(type, found):
                weak.append((found, CERTAIN))
            else:
                sure.append(cast("Row", found))
        for shape, strength in self.weak:
            found = view.row(shape)
            if found is not None:
                doubted = OPEN in found or view.is_one_of_several(shape)
                weak.append((found, min(strength, POSSIBLE) if doubted else strength))
        return sure, weak


def _alike(
    view: View,
    rows: Sequence[Nulled],
    whole: Collection[Row],
    weak: Iterable[Sequence[Slot | NullCell]],
) -> set[Nulled]:
    """Give the rows that no known column tells apart from some other row (semantics 26c).

    Of two such rows it is enough to give one: whatever it is a member of is open.
    """
    doubted = [row for row in rows if view.is_one_of_several(row)]
    masks = {_mask(row) for row in doubted}
    if not masks:
        return set()
    found: set[Nulled] = set()
    groups: dict[frozenset[int], list[Sequence[Slot | NullCell]]] = {frozenset(): []}
    for one in (*rows, *weak):
        groups.setdefault(_mask(one), []).append(one)
    for own in masks:
        for other, members in groups.items():
            places = [n for n in range(view.base.arity) if n not in own | other]
            seen = Counter(_key(row, places) for row in members)
            if not other:
                seen.update(_key(row, places) for row in whole)
            for row in doubted:
                if _mask(row) == own and seen[_key(row, places)] > (own == other):
                    found.add(row)
    return found


def _mask(row: Sequence[Slot | NullCell]) -> frozenset[int]:
    """Name the columns of which nobody knows what is in them."""
    return frozenset(
        place for place, cell in enumerate(row) if isinstance(cell, NullCell) and not _is_none(cell)
    )


def _key(row: Sequence[Slot | NullCell], places: Sequence[int]) -> tuple[object, ...]:
    return tuple(None if isinstance(row[n], NullCell) else row[n] for n in places)


def _is_none(cell: object) -> bool:
    return isinstance(cell, NullCell) and cell.policy.is_empty


# ------------------------------------------------------------------------------------- streams


@frozen
class Streamed:
    """What literals meet of a stream, whose rows hold no null cells, and of the rows besides."""

    view: View
    readable: Readable = field(compare=False)
    sure: tuple[Row, ...] = ()

    def load(self, database: Database, name: str) -> None:
        """Load all rows of the view that are certain."""
        table = _loaded(self.view.base, self.readable, database)
        staging = database.fresh_name(f"view {name}")
        labels: list[exp.Expr] = [trees.bare(f"c{place}") for place in self.view.kept]
        for place in self.view.flagged:
            labels += [trees.bare(f"c{place}"), trees.constant(0, Kind.NUMBER)]
        outputs = [(f"c{n}", node) for n, node in enumerate(labels)]
        outputs = outputs or [("c0", trees.constant(0, Kind.NUMBER))]
        query = trees.select(outputs, source=trees.table(table))
        database.connection.run(trees.create(staging, query))
        try:
            loading.take_staged(database, database.stored(name), staging)
        finally:
            database.connection.run(trees.drop(staging))
        database.load_rows(name, self.sure)


def alike_in_stream(
    view: View, rows: Sequence[Nulled], readable: Readable, resources: Resources
) -> set[Nulled]:
    """Give the rows that no known column tells apart from some row of a stream."""
    # A key tells all rows apart; and what has no value in some column is none of the stream's.
    doubted = [
        row
        for row in rows
        if not view.base.key and view.is_one_of_several(row) and not any(map(_is_none, row))
    ]
    found: set[Nulled] = set()
    if not doubted:
        return found
    with Database(resources) as database:
        table = _loaded(view.base, readable, database)
        for number, mask in enumerate(sorted({_mask(row) for row in doubted}, key=sorted)):
            places = [n for n in range(view.base.arity) if n not in mask]
            kinds = tuple(view.base.kinds[n] for n in places)
            own = [row for row in doubted if _mask(row) == mask]
            keys = _relation(f"keys {number}", (*kinds, Kind.NUMBER))
            database.declare(keys)
            numbered = ((*_key(row, places), n) for n, row in enumerate(own))
            database.load_rows(keys.name, cast("Iterable[Row]", numbered))
            same = [
                trees.binary("=", trees.column("k", f"c{n}"), trees.column("w", f"c{place}"))
                for n, place in enumerate(places)
            ]
            one = [("found", trees.integer(1))]
            met = trees.exists(trees.select(one, source=trees.table(table, "w"), where=same))
            source = trees.table(database.stored(keys.name).table, "k")
            last = [("place", trees.column("k", f"c{len(places)}"))]
            rows_met = database.connection.run(trees.select(last, source=source, where=[met]))
            found.update(own[int(str(place))] for (place,) in rows_met)
    return found


def _relation(name: str, kinds: tuple[Kind, ...]) -> Relation:
    return Relation(name, kinds, (False,) * len(kinds), given=True, derived=False)


def _loaded(base: Predicate, readable: Readable, database: Database) -> str:
    """Load a stream once; give the name of its table."""
    name = f"{base.name}.stream"
    if not database.has(name):
        database.declare(_relation(name, base.kinds))
        load_stream(database, name, readable)
    return database.stored(name).table


# ----------------------------------------------------------------------------------- the program


def over_views(
    program: AnalysedProgram, names: Collection[str]
) -> tuple[AnalysedProgram, Mapping[str, View]]:
    """Give the program whose literals read views of these predicates, and the views by name."""
    views: dict[str, View] = {}
    rules: list[Rule] = []
    kinds: list[Mapping[str, Kind]] = []
    for rule, known in zip(program.rules, program.variable_kinds, strict=True):
        viewing = _Viewing(program, names, _uses(rule), views)
        body = tuple(viewing.literal(one) for one in rule.body)
        rules.append(rule if body == rule.body else replace(rule, body=body))
        flags = {one.name: Kind.NUMBER for one in viewing.flags}
        kinds.append({**known, **flags} if flags else known)
    predicates = {name: view.predicate for name, view in views.items()}
    declared = replace(
        program.program,
        predicates={**program.program.predicates, **predicates},
        rules=tuple(rules),
    )
    external = program.external | predicates.keys()
    every = (tuple(rules), tuple(kinds), components_of(declared))
    return AnalysedProgram(declared, *every, external), views


@slotted
class _Viewing:
    """One rule under rewriting; `uses` counts how often each variable comes."""

    program: AnalysedProgram
    names: Collection[str]
    uses: Counter[str]
    views: dict[str, View]
    flags: list[Variable] = field(default_factory=list)

    def literal(self, literal: Literal) -> Literal:
        """Rewrite a literal of the body."""
        if not isinstance(literal, Aggregate):
            return self.simple(literal, counted=False)
        counted = literal.function in _COUNTING
        return replace(
            literal, body=tuple(self.simple(one, counted=counted) for one in literal.body)
        )

    def simple(
        self, literal: Positive | Negative | Comparison, *, counted: bool
    ) -> Positive | Negative | Comparison:
        """Rewrite a literal that is no aggregate; what is only denied is never counted."""
        match literal:
            case Positive(atom):
                return Positive(self.atom(atom, counted=counted))
            case Negative(atom):
                return Negative(self.atom(atom, counted=False))
            case Comparison():
                return literal

    def atom(self, atom: Atom, *, counted: bool) -> Atom:
        if atom.predicate not in self.names:
            return atom
        base = self.program.program.predicates[atom.predicate]
        view = View(base, tuple(self._unread(base, atom)), counted)
        self.views[view.predicate.name] = view
        flags = [Variable(f"_null{len(self.flags) + n}") for n in range(len(view.unread))]
        self.flags += flags if counted else []
        return view.atom(atom, flags)

    def _unread(self, base: Predicate, atom: Atom) -> Iterator[int]:
        """Name the columns that may be null and that an atom does not read.

        A variable that comes nowhere else takes whatever value is there, and under `unknown` there
        is one.
        """
        for place, policy in enumerate(null_policies(base)):
            term = atom.terms[place]
            if policy is None or not isinstance(term, Variable) or self.uses[term.name] > 1:
                continue
            if is_wildcard(term) or policy is NullPolicy.UNKNOWN:
                yield place


def _uses(rule: Rule) -> Counter[str]:
    uses = Counter(one.name for term in rule.head.terms for one in term_variables(term))
    for literal in rule.body:
        uses.update(one.name for one in literal_variables(literal))
    return uses


# An input is read at most once, as a whole.


@frozen
class Rows:
    """Rows in memory, in canonical form; equal ones merge."""

    rows: Sequence[Row] = field(hash=False)


@frozen
class Files:
    """Fact files, read one after the other; equal rows merge."""

    files: tuple[FactFile, ...]


@frozen
class Frame:
    """A data frame, or any object that hands out an Arrow stream (`__arrow_c_stream__`).

    Columns are taken by position.
    """

    frame: object = field(hash=False)


@frozen
class Outside:
    """An external predicate; where its answer is open, so is what depends on it."""

    predicate: ExternalPredicate = field(hash=False)


@frozen
class Viewed:
    """What some literals meet of another input, whose rows hold null cells."""

    view: View


@frozen
class Placed:
    """A relation that the engine itself reads where it lies; its rows never come here."""

    where: str


Input = Rows | Files | Frame | Outside | Viewed | Placed


@frozen
class Options:
    """How to evaluate.

    `strategy` is taken wherever it gives the right answer. `magic` says whether only what the
    wanted atoms demand is computed; `None` leaves that to the estimates. With `stamps` the reports
    say in which round a relation grew. With `measured` they count the bindings of each step.
    `calls` bounds the demands that go outside. With `graded` what is not closed is computed in bulk
    as far as that is exact (see `grading`), without it the reference engine says all of it. Above
    `loose_above` rows of inputs it is computed in bulk also where that engine may decide more
    (see `loosening`); without a number it never is. Without `rewrite` the rules stay as they are
    written, so that the rounds of stamps are those of the rules. With `spark` every stage is
    computed there, or what it would compute differently is refused. `served` says whether a server
    computes with its own relations: never, where that is exact and less is sent, or always, so that
    what it would compute differently is refused.
    """

    resources: Resources = field(default_factory=Resources)
    strategy: Strategy | None = None
    magic: bool | None = None
    measured: bool = False
    stamps: bool = False
    calls: int = 1_000_000_000
    graded: bool = False
    loose_above: int | None = None
    rewrite: bool = True
    spark: SparkSetting | None = None
    served: Serving = Serving.NEVER
