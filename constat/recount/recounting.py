"""Compute answers a second time, rule by rule, and compare them with what a run gave.

In: an analysed program, the inputs, and the rows of a wanted atom. Out: whether the rows are
exactly those that follow. Components are computed callees first; one that is recursive in rounds,
each row being derived from rows of earlier rounds only, so that none rests on itself. Nothing of
the run is taken over: neither its plan, nor its demands, nor its relations below the answer.
"""

from __future__ import annotations

import time
from dataclasses import field, replace
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from constat.diagnostics.interruption import check_interrupted
from constat.evaluation import Clock, LimitReachedError
from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Constant,
    Kind,
    Negative,
    Positive,
    Rule,
    Variable,
    has_null_cells,
    is_never_negative,
)
from constat.recount.inputs import columns_read, read_input
from constat.recount.marks import MarkedRule, Reading, Source
from constat.recount.restriction import restricted
from constat.recount.statements import (
    INTEGERS,
    RefusedError,
    RuleStatement,
    is_apart,
    literal,
    may_err,
    select,
)
from constat.recount.tables import Loaded, OtherKindError, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram, Component
    from constat.evaluation import Externals
    from constat.logic import Atom, Literal, Predicate, Row
    from constat.recount.matrices import Filled

_Found = TypeVar("_Found")
_SHOWN: Final = 3
_VALUE_ERRORS: Final = frozenset(
    {"OutOfRangeException", "ConversionException", "InvalidInputException"}
)


class State(Enum):
    """What a check came to. The value is how JSON writes it."""

    PASSED = "passed"
    DIFFERS = "differs"
    NOT_CHECKED = "not checked"


@frozen
class Recount:
    """The result of a check.

    `why` says why there is none, or what differs. `extra` counts rows that do not follow, `missing`
    those that follow and are not among the answers; `examples` are a few of the extra ones.
    """

    state: State
    why: str = ""
    extra: int = 0
    missing: int = 0
    examples: tuple[Row, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def passed(self) -> bool:
        """Whether the answers are exactly what follows."""
        return self.state is State.PASSED

    @property
    def differs(self) -> bool:
        """Whether something else follows."""
        return self.state is State.DIFFERS


@frozen
class Claim:
    """What a run says: the rows that match an atom, in the columns `places` of it.

    `stream` gives an object of Arrow with them, `rows` are Python values beside it: all rows where
    there is none, else those with labels. With `whole` it says that there are no others, and none
    that are possible.
    """

    atom: Atom
    places: tuple[int, ...]
    rows: Iterable[Row] = ()
    stream: Callable[[], object] | None = None
    whole: bool = True


@frozen
class Bounds:
    """What a check may use: seconds, bytes of memory and threads (0: as much as seems right).

    Relations of less than `few` rows go over tables: loading what computes on arrays costs more.
    """

    seconds: float = 60.0
    memory: int = 0
    threads: int = 0
    few: int = 1_000


_DEFAULT: Final = Bounds()
_MOST_TIMES: Final = 2
"""So many instances for each row of an answer are sorted; where there are more, they are hashed."""
_TIME_UP: Final = "the time for it was up"
_MAY_ERR: Final = "an instance of a rule may err"


def recount(
    program: AnalysedProgram, claim: Claim, externals: Externals, bounds: Bounds = _DEFAULT
) -> Recount:
    """Check the answers of a run. What cannot be checked is said, and is no mistake of the run."""
    return recount_all(program, [claim], externals, bounds)[0]


def recount_all(
    program: AnalysedProgram,
    claims: Sequence[Claim],
    externals: Externals,
    bounds: Bounds = _DEFAULT,
) -> list[Recount]:
    """Check several answers of one run; what they share is computed once."""
    found: list[Recount] = []
    begun = time.monotonic()
    with Tables(bounds.seconds, bounds.memory, bounds.threads, few=bounds.few) as tables:
        clock = Clock(begun + bounds.seconds, _TIME_UP)
        evaluation = Evaluation(tables, program, _reader(program, claims, externals, clock))
        for claim in claims:
            one = checked(evaluation, claim, partial(evaluation.claimed, claim))
            found.append(replace(one, seconds=time.monotonic() - begun))
    return found


def _reader(
    program: AnalysedProgram, claims: Sequence[Claim], externals: Externals, clock: Clock
) -> Callable[[Tables, Predicate], Loaded]:
    """Give what reads an input: the columns at least that rules below the claims read."""
    goals = {one.atom.predicate for one in claims}
    below = set().union(*(predicates_below(program, one) for one in goals))
    columns = columns_read(one for one in program.rules if one.head.predicate in below)
    whole = goals | {one.head.predicate for one in program.rules}

    def read(tables: Tables, predicate: Predicate) -> Loaded:
        name = predicate.name
        wanted = None if name in whole else columns.get(name)
        return read_input(tables, predicate, externals.get(name), clock, wanted)

    return read


class Prepared:
    """An answer with its inputs, read and ready to be counted again: no source is asked any more.

    `finish` may run in another thread, with as many seconds as reading had, and has to be called;
    `stop` ends it from any thread.
    """

    def __init__(
        self,
        program: AnalysedProgram,
        claim: Claim,
        externals: Externals,
        bounds: Bounds = _DEFAULT,
    ) -> None:
        self._claim = claim
        self._seconds = bounds.seconds
        self._stopped = False
        self._clock = Clock(time.monotonic() + bounds.seconds, _TIME_UP)
        self._begun = time.monotonic()
        self._tables = tables = Tables(
            bounds.seconds, bounds.memory, bounds.threads, few=bounds.few
        )
        tables.__enter__()
        read = _reader(program, [claim], externals, self._clock)
        self._evaluation = Evaluation(tables, program, read)
        self._claimed = Loaded("")
        try:
            self._early = _guarded(self._prepare)
        except BaseException:
            tables.__exit__(None, None, None)
            raise

    def _prepare(self) -> Recount | None:
        self._evaluation.read_inputs(self._claim.atom.predicate)
        self._claimed = self._evaluation.claimed(self._claim)
        return None

    def finish(self) -> Recount:
        """Count, compare, and close what is held."""
        self._tables.begin_anew(self._seconds)
        if self._stopped:
            self._tables.cancel()
        try:
            found = self._early or checked(self._evaluation, self._claim, lambda: self._claimed)
        finally:
            self._tables.__exit__(None, None, None)
        if self._stopped and not found.differs and not found.passed:
            found = Recount(State.NOT_CHECKED, "it was stopped")
        return replace(found, seconds=time.monotonic() - self._begun)

    def stop(self) -> None:
        """End the counting soon."""
        self._stopped = True
        self._tables.cancel()


def checked(evaluation: Evaluation, claim: Claim, claimed: Callable[[], Loaded]) -> Recount:
    """Check one answer, whose rows are in the table that `claimed` gives.

    Where a statement fails since an instance errs, what may err is computed with marks from there.
    """
    once = cache(claimed)
    found = _checked(evaluation, claim, once)
    if found.why != _MAY_ERR or evaluation.erring:
        return found
    evaluation.erring = True
    evaluation.tables.infer_nothing()
    return _checked(evaluation, claim, once)


def _checked(evaluation: Evaluation, claim: Claim, claimed: Callable[[], Loaded]) -> Recount:
    def compared() -> Recount:
        narrow, last = evaluation.narrowed(claim.atom), None
        if narrow.is_last(claim):
            last = claimed()
            if not last.marked and narrow.gives(claim, last.whole):
                return Recount(State.PASSED)
        filled = narrow.filled_for(claim)
        given = claimed() if last is None else last
        if (
            filled is not None
            and not given.marked
            and filled.is_exactly(evaluation.tables, given.whole)
        ):
            return Recount(State.PASSED)
        expected = narrow.answers(claim)
        width = max(1, len(claim.places))
        kinds = claim_kinds(evaluation.program, claim)
        if claim.whole and _same_numbers(evaluation.tables, expected.whole, given.whole, kinds):
            found = Recount(State.PASSED)
        else:
            values = [f"c{place}" for place in range(width)]
            found = _compared(
                evaluation.tables, expected.whole, given.whole, values, whole=claim.whole
            )
        if found.passed and (expected.marked or given.marked):
            found = _compared_marked(evaluation.tables, expected, given, width, whole=claim.whole)
        return found

    return _guarded(compared)


def _guarded(work: Callable[[], _Found]) -> _Found | Recount:
    """Do a part of a check; what goes wrong is why there is none."""
    try:
        return _told_why(work)
    except OtherKindError:
        return Recount(State.DIFFERS, "a value of an answer is not of its column's kind")
    except RefusedError as refused:
        return Recount(State.NOT_CHECKED, str(refused))
    except Exception as problem:  # noqa: BLE001  a check that fails costs no answer
        return Recount(State.NOT_CHECKED, f"the check itself failed ({type(problem).__name__})")


def _told_why(work: Callable[[], _Found]) -> _Found:
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    try:
        return work()
    except duckdb.InterruptException:
        check_interrupted()
        raise RefusedError(_TIME_UP) from None
    except LimitReachedError as limit:
        raise RefusedError(str(limit)) from None
    except duckdb.OutOfMemoryException:
        raise RefusedError("it needs more memory than there is") from None
    except duckdb.Error as problem:
        # The text of the library may quote values; its kind does not.
        kind = type(problem).__name__
        errs = kind in _VALUE_ERRORS
        raise RefusedError(_MAY_ERR if errs else f"the check itself failed ({kind})") from None


def _compared_marked(
    tables: Tables, expected: Loaded, given: Loaded, width: int, *, whole: bool
) -> Recount:
    """Compare the rows with labels; an answer that is whole has no possible rows besides."""
    none = tables.empty_marked([Kind.NUMBER] * width)
    told = expected.marked or none
    if whole and tables.number("SELECT count(*) FROM", told, "WHERE s IS NULL"):
        return Recount(State.DIFFERS, "rows are possible, and it says that there are no others")
    # A cell has a value or a mark, so one text says which.
    columns = ", ".join(
        f"CASE WHEN m{n} IS NULL THEN 'V' || CAST(c{n} AS VARCHAR) ELSE m{n} END AS c{n}"
        for n in range(width)
    )
    texts: list[str] = []
    for table in (told, given.marked or none):
        texts.append(tables.fresh())
        tables.run(
            *("CREATE TABLE", texts[-1], "AS SELECT DISTINCT", columns),
            *("FROM", table, "WHERE s"),
        )
    values = [f"c{n}" for n in range(width)]
    found = _compared(tables, texts[0], texts[1], values, whole=whole)
    # The texts of labels are the check's own.
    return replace(found, examples=())


def _same_numbers(tables: Tables, expected: str, claimed: str, kinds: Sequence[Kind]) -> bool:
    """Whether two large tables of whole numbers have the same rows, the claimed one each once.

    A row is packed into one number, so equal rows are equal numbers, and both lists are sorted.
    """
    if tables.count(claimed) < tables.few or not all(kind in INTEGERS for kind in kinds):
        return False
    ranges = tables.ranges([expected, claimed], kinds)
    if len(ranges) != len(kinds):
        return False
    return _same(*(tables.packed(table, ranges) for table in (expected, claimed)))


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401  arrays, and numpy is loaded where it is used
    """Whether two arrays have the same numbers, the other one each once; both are sorted."""
    one.sort()
    other.sort()
    if len(one) > len(other):
        new = one[:1].astype(bool)
        new.resize(len(one), refcheck=False)
        new[:1], new[1:] = True, one[1:] != one[:-1]
        one = one[new]
    return len(one) == len(other) and bool((one == other).all())


def _compared(
    tables: Tables, expected: str, claimed: str, values: Sequence[str], *, whole: bool
) -> Recount:
    """Compare two tables, of which the expected one has each row once.

    Where there are as many rows and every expected one is claimed, both are the same. One that is
    not `whole` may lack rows.
    """
    same = " AND ".join(f"e.{one} = c.{one}" for one in values)
    missing = 0
    if whole:
        missing = tables.number(
            *("SELECT count(*) FROM", expected, "AS e WHERE NOT EXISTS"),
            *("(SELECT 1 FROM", claimed, "AS c WHERE", same, ")"),
        )
        if not missing and tables.count(expected) == tables.count(claimed):
            return Recount(State.PASSED)
    twice = tables.number(
        "SELECT count(*) FROM (SELECT * FROM", claimed, "GROUP BY ALL HAVING count(*) > 1) AS two"
    )
    extra = tables.fresh()
    tables.run(
        *("CREATE TABLE", extra, "AS SELECT * FROM", claimed),
        *("EXCEPT SELECT * FROM", expected),
    )
    wrong = tables.count(extra)
    if not wrong and not missing and not twice:
        return Recount(State.PASSED)
    told = _told(wrong, "1 row does not follow", "rows do not follow")
    told += _told(missing, "1 row follows and is not there", "rows follow and are not there")
    told += _told(twice, "1 row comes twice", "rows come twice")
    shown = tables.run("SELECT * FROM", extra, f"ORDER BY ALL LIMIT {_SHOWN}")
    return Recount(State.DIFFERS, " and ".join(told), wrong, missing, tuple(map(tuple, shown)))


def _told(count: int, one: str, several: str) -> list[str]:
    return [one if count == 1 else f"{count:,} {several}"] if count else []


@slotted
class Evaluation:
    """All relations below an atom, each in a table of its own.

    `read` gives a table with the rows of an input. `erring` says that an instance errs: its head is
    possible then, and a rule that may err is computed with marks.
    """

    tables: Tables
    program: AnalysedProgram
    read: Callable[[Tables, Predicate], Loaded]
    found: dict[str, str] = field(default_factory=dict)
    marked: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    filled: dict[str, Filled] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    erring: bool = False

    def narrowed(self, goal: Atom) -> Evaluation:
        """Give what computes no more than a goal needs: itself where nothing can be left out."""
        below = self.read_inputs(goal.predicate)
        if self.erring or goal.predicate in self.done or below & self.marked.keys():
            return self
        program = restricted(self.program, goal, below)
        if program is None:
            return self
        inputs = {name: self.found[name] for name in below & self.program.external}
        return Evaluation(self.tables, program, self.read, inputs)

    def compute(self, goal: str) -> None:
        """Compute all relations below a goal, and its own."""
        below = self.read_inputs(goal)
        for component in self.program.components:
            if set(component.predicates) & below - self.done:
                self._component(component)
                self.done |= set(component.predicates)

    def filled_for(self, claim: Claim) -> Filled | None:
        """Give the matrix of the rows that follow, where there is one and all of it is claimed."""
        self.compute(claim.atom.predicate)
        return self.filled.get(claim.atom.predicate) if self._is_all(claim) else None

    def is_last(self, claim: Claim) -> bool:
        """Whether all rows of a relation of whole numbers are claimed, and no rule reads it."""
        name, rules = claim.atom.predicate, self.program.rules
        return (
            self._is_all(claim)
            and not self.erring
            and name not in self.done | self.found.keys()
            and all(kind in INTEGERS for kind in self._predicate(name).kinds)
            and not any(rules[number].assumed for number in self.rules(name))
            and not any(name in _read_by(one) for rule in rules for one in rule.body)
        )

    def gives(self, claim: Claim, claimed: str) -> bool:
        """Whether the rules of a relation that is the last one give these rows; else unknown.

        What they give twice is found when the rows are sorted, unless that is far more.
        """
        tables, name = self.tables, claim.atom.predicate
        rows, kinds = tables.count(claimed), self._predicate(name).kinds
        read = {one for n in self.rules(name) for item in self._body(n) for one in _read_by(item)}
        self.refuse(name)
        for one in sorted(read):
            self.compute(one)
        if rows < max(1, tables.few) or read & self.marked.keys():
            return False
        ranges = tables.ranges([claimed], kinds)
        if len(ranges) != len(kinds):
            return False
        parts = [self.statement(n, self.tables_of, distinct=False) for n in self.rules(name)]
        most = _MOST_TIMES * rows
        each = f"({' UNION ALL '.join(parts)}) AS each_one LIMIT {most + 1}"
        found = tables.packed(each, ranges, beyond=True)
        return len(found) <= most and _same(found, tables.packed(claimed, ranges))

    def _body(self, number: int) -> tuple[Literal, ...]:
        return self.program.rules[number].body

    def _is_all(self, claim: Claim) -> bool:
        every = claim.places == tuple(range(len(claim.atom.terms)))
        return claim.whole and every and _is_free(claim.atom)

    def answers(self, claim: Claim) -> Loaded:
        """Give tables of the rows that follow and match an atom."""
        self.compute(claim.atom.predicate)
        if claim.atom.predicate in self.marked:
            return MarkedEvaluation(self).matching(claim)
        found = self.table(claim.atom.predicate)
        if claim.places == tuple(range(len(claim.atom.terms))) and _is_free(claim.atom):
            return Loaded(found)
        matching = self.tables.fresh()
        self.tables.run("CREATE TABLE", matching, "AS", self._matching(claim))
        return Loaded(matching)

    def read_inputs(self, goal: str) -> set[str]:
        """Read the inputs below a goal that were not read yet; name all that it rests on."""
        below = self.refuse(goal)
        for name in sorted((below & self.program.external) - self.found.keys()):
            read = self.read(self.tables, self._predicate(name))
            self.found[name] = read.whole
            if read.marked:
                self.marked[name] = read.marked
        return below

    def claimed(self, claim: Claim) -> Loaded:
        """Give tables of the rows that the run gave."""
        kinds = claim_kinds(self.program, claim)
        table = self.tables.empty(kinds)
        labelled = [row for row in claim.rows if has_null_cells(row)]
        if claim.stream is not None:
            self.tables.add_stream(table, claim.stream(), kinds, cast=False)
        whole = (row for row in claim.rows if not has_null_cells(row) and _is_of(row, kinds))
        self.tables.add_rows(table, whole, kinds)
        if not labelled:
            return Loaded(table)
        marked = self.tables.empty_marked(kinds)
        self.tables.add_marked(marked, ((row, True) for row in labelled), kinds)
        return Loaded(table, marked)

    def _predicate(self, name: str) -> Predicate:
        return self.program.program.predicates[name]

    def refuse(self, goal: str) -> set[str]:
        """Name all that a goal rests on. Raises `RefusedError` for what has no clause here."""
        below = predicates_below(self.program, goal)
        for name in sorted(below):
            if self._predicate(name).given:
                raise RefusedError(f"{name} has columns that the caller gives")
        return below

    def _matching(self, claim: Claim) -> str:
        source = f"{self.table(claim.atom.predicate)} AS q"
        conditions: list[str] = []
        first: dict[str, int] = {}
        for place, term in enumerate(claim.atom.terms):
            match term:
                case Constant(value, kind):
                    conditions.append(f"q.c{place} = {literal(value, kind)}")
                case Variable(name) if name in first:
                    conditions.append(f"q.c{place} = q.c{first[name]}")
                case Variable(name):
                    first[name] = place
                case _:
                    raise RefusedError("an atom that computes")
        outputs = [f"q.c{place} AS c{number}" for number, place in enumerate(claim.places)]
        outputs = outputs or ["CAST(0 AS BIGINT) AS c0"]
        return select([f"DISTINCT {outputs[0]}", *outputs[1:]], [source], conditions)

    # ----------------------------------------------------------------------------- components

    def _component(self, component: Component) -> None:
        read = {one for name in component.predicates for one in self._reads(name)}
        numbers = [n for name in component.predicates for n in self.rules(name)]
        rules = [self.program.rules[number] for number in numbers]
        doubtful = any(one.assumed or (self.erring and may_err(one)) for one in rules)
        if doubtful or read & self.marked.keys():
            MarkedEvaluation(self).component(component)
            return
        if component.recursive:
            filled = self._filling(component)
            if filled is not None:
                self.filled |= filled
                return
            rounds = _Rounds(self, component.predicates)
            if rounds.is_linear:
                rounds.run_at_once()
            else:
                rounds.run()
            return
        for name in component.predicates:
            table = self.tables.empty(self._predicate(name).kinds)
            twice = name in self.found or not self._is_apart(name)
            parts = [self.statement(n, self.tables_of, distinct=twice) for n in self.rules(name)]
            if name in self.found:
                parts.append(_every(self.found[name]))
            self.tables.run("INSERT INTO", table, " UNION ".join(parts))
            self.found[name] = table

    def _is_apart(self, name: str) -> bool:
        """Whether the rules of a relation give each row once by themselves."""
        keys, rules = self.tables.keys, [self.program.rules[n] for n in self.rules(name)]
        return len(rules) == 1 and is_apart(
            rules[0], lambda atom: keys.get(self.table(atom.predicate))
        )

    def _filling(self, component: Component) -> dict[str, Filled] | None:
        """Fill matrices, where the component has the form for it."""
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        from constat.recount.matrices import Filling  # noqa: PLC0415  loaded when it is used

        program, members, tables = self.program, component.predicates, self.tables
        read = {one for name in members for one in self._reads(name)}
        if sum(map(self._size, read)) < tables.few:
            return None
        filling = Filling(
            tables,
            {name: self.rules(name) for name in members},
            program.rules.__getitem__,
            program.variable_kinds.__getitem__,
            {name: self._predicate(name).kinds for name in members},
            self.tables_of,
            {name: [_every(self.found[name])] if name in self.found else [] for name in members},
        )
        try:
            return filling.run()
        except (RefusedError, duckdb.ConversionException, duckdb.OutOfRangeException):
            # Apart from the rest of its rule a part may err, or bind too little.
            if tables.late:
                raise
            return None

    def _size(self, name: str) -> int:
        """Count the rows of a relation, as far as it is known."""
        if name in self.filled:
            return self.filled[name].count()
        return self.tables.count(self.found[name]) if name in self.found else 0

    def _reads(self, name: str) -> Iterator[str]:
        """Name what the rules of a predicate read, and itself."""
        yield name
        for number in self.rules(name):
            for item in self.program.rules[number].body:
                yield from _read_by(item)

    def rules(self, name: str) -> tuple[int, ...]:
        """Give the numbers of the rules of a predicate."""
        return self.program.rule_numbers(name)

    def tables_of(self, _place: int, atom: Atom) -> str:
        """Give the table of an atom."""
        return self.table(atom.predicate)

    def table(self, name: str) -> str:
        """Give the table of a relation; one that is a matrix is written into one."""
        if name in self.filled and name in self.done:
            if name not in self.written:
                self.written[name] = self.filled[name].into(self.tables)
            return self.written[name]
        if name not in self.found:
            raise RefusedError(f"{name} is read before it is known")
        return self.found[name]

    def statement(
        self, number: int, table: Callable[[int, Atom], str], *, distinct: bool = True
    ) -> str:
        """Write the instances of a rule; one who takes each row once anyway needs none distinct."""
        rule, kinds = self.program.rules[number], self.program.variable_kinds[number]
        return RuleStatement(rule, kinds, self.tables.functions, table).text(distinct=distinct)


@slotted
class _Rounds:
    """A recursive component, from nothing upwards.

    `known` are the rows of the rounds before, `fresh` those of the last one. A row comes in when a
    rule instance over rows of rounds before gives it: so every row has a derivation of lower rank,
    and when a round brings nothing the relations are closed under the rules.
    """

    evaluation: Evaluation
    members: tuple[str, ...]
    known: dict[str, str] = field(default_factory=dict)
    fresh: dict[str, str] = field(default_factory=dict)

    @property
    def is_linear(self) -> bool:
        """Whether each rule of the only member reads it in one atom at most."""
        rules = [self.evaluation.program.rules[n] for n in self.evaluation.rules(self.members[0])]
        return len(self.members) == 1 and not any(
            any(isinstance(one, Aggregate) and one.recursive for one in rule.body)
            or len(self._places(rule)) > 1
            for rule in rules
        )

    def run_at_once(self) -> None:
        """Compute a linear component by one recursive query.

        Its rounds are those of DuckDB: the rows of one are all that the next one reads of the
        member, and a row that was there before is dropped.
        """
        (name,) = self.members
        tables, rules = self.evaluation.tables, self.evaluation.rules(name)
        given = self.evaluation.found.get(name)
        kinds = self.evaluation._predicate(name).kinds  # noqa: SLF001  parts of one evaluation
        last, known = tables.fresh(), tables.empty(kinds)

        def table(place: int, atom: Atom) -> str:
            return last if atom.predicate == name else self.evaluation.tables_of(place, atom)

        reading = {n for n in rules if self._places(self.evaluation.program.rules[n])}
        first = [self.evaluation.statement(n, table) for n in rules if n not in reading]
        first += [_every(given)] if given else []
        if not first:
            first = [_every(known)]
        following = [self.evaluation.statement(n, table, distinct=False) for n in sorted(reading)]
        columns = ", ".join(f"c{place}" for place in range(max(1, len(kinds))))
        tables.run(
            *("INSERT INTO", known, "WITH RECURSIVE", last, f"({columns}) AS (("),
            *(" UNION ".join(first), ") UNION (", " UNION ALL ".join(following), "))"),
            *("SELECT * FROM", last),
        )
        self.evaluation.found[name] = known

    def _places(self, rule: Rule) -> list[int]:
        """Give the places of the atoms of a body that read the component."""
        return [
            place
            for place, one in enumerate(rule.body)
            if isinstance(one, Positive) and one.atom.predicate in self.members
        ]

    def run(self) -> None:
        """Compute the component in rounds."""
        tables = self.evaluation.tables
        given = {name: self.evaluation.found.get(name) for name in self.members}
        for name in self.members:
            kinds = self.evaluation._predicate(name).kinds  # noqa: SLF001  parts of one evaluation
            self.known[name] = tables.empty(kinds)
        first = {name: [_every(one)] if one else [] for name, one in given.items()}
        nothing: dict[str, list[str]] = {name: [] for name in self.members}
        brought = self._round(first, self._first)
        while brought:
            check_interrupted()
            brought = self._round(nothing, self._next)
            if not brought and self._passing():
                brought = self._round(nothing, self._whole)
        self.evaluation.found |= self.known
        self._never_negative()

    def _round(
        self, parts: Mapping[str, list[str]], statements: Callable[[int], Iterator[str]]
    ) -> bool:
        """Take what these statements give; whether that brought a row."""
        tables = self.evaluation.tables
        made: dict[str, str] = {}
        for name in self.members:
            queries = [*parts[name]]
            for number in self.evaluation.rules(name):
                queries += statements(number)
            if queries and (table := self._beside(name, " UNION ".join(queries))):
                made[name] = table
        for table in self.fresh.values():
            tables.run("DROP TABLE", table)
        self.fresh = made
        for name, table in made.items():
            tables.run("INSERT INTO", self.known[name], "SELECT * FROM", table)
        return bool(made)

    def _beside(self, name: str, query: str) -> str:
        """Give a table with the rows of a query that are not known yet; nothing where none is."""
        tables = self.evaluation.tables
        table, known = tables.fresh(), self.known[name]
        arity = max(1, self.evaluation._predicate(name).arity)  # noqa: SLF001  as above
        same = " AND ".join(f"k.c{place} = n.c{place}" for place in range(arity))
        found = tables.number(
            *("CREATE TABLE", table, "AS SELECT * FROM (", query, ") AS n"),
            *("WHERE NOT EXISTS (SELECT 1 FROM", known, "AS k WHERE", same, ")"),
        )
        if not found:
            tables.run("DROP TABLE", table)
        return table if found else ""

    def _first(self, number: int) -> Iterator[str]:
        """Yield the statements of a rule before any row of the component is known."""
        yield self.evaluation.statement(number, self._table)

    def _next(self, number: int) -> Iterator[str]:
        """Yield the statements of a rule that read a row of the last round.

        A threshold may be passed by a row that only its group reads: see `_whole`.
        """
        rule = self.evaluation.program.rules[number]
        for chosen in self._places(rule):

            def table(place: int, atom: Atom, chosen: int = chosen) -> str:
                if place == chosen:
                    return self.fresh[atom.predicate]
                return self._table(place, atom)

            if rule.body[chosen].atom.predicate in self.fresh:  # type: ignore[union-attr]  # an atom
                yield self.evaluation.statement(number, table)

    def _passing(self) -> list[int]:
        """Give the rules that look whether a threshold is passed."""
        rules = self.evaluation.program.rules
        return [
            number
            for name in self.members
            for number in self.evaluation.rules(name)
            if any(isinstance(one, Aggregate) and one.recursive for one in rules[number].body)
        ]

    def _whole(self, number: int) -> Iterator[str]:
        """Yield the statement of a rule with a threshold, over all rows of the rounds before.

        It is asked when nothing else brings a row, so that the relations are closed under it in
        the end, whatever rows made a group pass.
        """
        if number in self._passing():
            yield self.evaluation.statement(number, self._table)

    def _table(self, place: int, atom: Atom) -> str:
        found = self.known.get(atom.predicate)
        return self.evaluation.tables_of(place, atom) if found is None else found

    def _never_negative(self) -> None:
        """Raise `RefusedError` where a summand of a recursive threshold is below zero."""
        program, tables = self.evaluation.program, self.evaluation.tables
        for name in self.members:
            for number in self.evaluation.rules(name):
                rule, kinds = program.rules[number], program.variable_kinds[number]
                for one in rule.body:
                    if (
                        isinstance(one, Aggregate)
                        and one.recursive
                        and not is_never_negative(one, kinds)
                    ):
                        summands = _summands(rule, one)
                        query = RuleStatement(summands, kinds, tables.functions, self._table).text()
                        if tables.number("SELECT count(*) FROM (", query, ") AS s WHERE s.c0 < 0"):
                            raise RefusedError("a recursive sum has summands below zero")


_Variants = tuple[Source, ...]


@slotted
class MarkedEvaluation:
    """Components over relations of which some rows have marks, in rounds (see `marks`).

    A round takes what the rules give over the rows of rounds before, and a row that was only
    possible may become certain by it. When a round brings nothing, the certain and the possible
    relation are both closed; a certain row has a certain instance over rows of earlier rounds.
    """

    evaluation: Evaluation
    variants: dict[tuple[str, Reading], _Variants] = field(default_factory=dict)

    def component(self, component: Component) -> None:
        """Compute the relations of a component."""
        tables, own = self.evaluation.tables, component.predicates
        given: dict[str, Loaded] = {}
        for name in own:
            kinds = self._kinds(name)
            given[name] = Loaded(
                self.evaluation.found.get(name, ""), self.evaluation.marked.get(name, "")
            )
            self.evaluation.found[name] = tables.empty(kinds)
            self.evaluation.marked[name] = tables.empty_marked(kinds)
            self._take(name, [_lifted(given[name].whole, len(kinds))] if given[name].whole else [])
            self._take(name, [_every(given[name].marked)] if given[name].marked else [])
        while True:
            check_interrupted()
            grown = False
            for name in own:
                queries = [text for n in self.evaluation.rules(name) for text in self._texts(n)]
                grown |= self._take(name, queries)
            self._forget(own)
            if not grown or not component.recursive:
                break
        for name in own:
            if not tables.count(self.evaluation.marked[name]):
                del self.evaluation.marked[name]

    def matching(self, claim: Claim) -> Loaded:
        """Give the rows that match an atom, as a rule whose body it is would give them."""
        atom = claim.atom
        terms = tuple(atom.terms[place] for place in claim.places)
        if any(not isinstance(term, (Variable, Constant)) for term in terms):
            raise RefusedError("an atom that computes")
        name = f"{atom.predicate}.asked"
        predicate = self._predicate(atom.predicate)
        kinds = [predicate.kinds[place] for place in claim.places]
        rule = Rule(name, replace(atom, predicate=name, terms=terms), (Positive(atom),))
        pairs = zip(atom.terms, predicate.kinds, strict=True)
        known = {term.name: kind for term, kind in pairs if isinstance(term, Variable)}
        tables = self.evaluation.tables
        self.evaluation.found[name] = tables.empty(kinds)
        self.evaluation.marked[name] = tables.empty_marked(kinds)
        self._take(name, list(self._rule(rule, known).texts()), len(kinds))
        return Loaded(self.evaluation.found.pop(name), self.evaluation.marked.pop(name))

    # -------------------------------------------------------------------------------- parts

    def _predicate(self, name: str) -> Predicate:
        return self.evaluation.program.program.predicates[name]

    def _kinds(self, name: str) -> tuple[Kind, ...]:
        return self._predicate(name).kinds

    def _texts(self, number: int) -> Iterator[str]:
        program = self.evaluation.program
        rule = program.rules[number]
        if any(isinstance(one, Aggregate) and one.recursive for one in rule.body):
            raise RefusedError("a recursive threshold over rows that are not fully known")
        yield from self._rule(rule, program.variable_kinds[number]).texts()

    def _rule(self, rule: Rule, kinds: Mapping[str, Kind]) -> MarkedRule:
        tables = self.evaluation.tables
        functions = tables.emptying if self.evaluation.erring else tables.functions
        return MarkedRule(rule, kinds, functions, self._sources, self._is_apart)

    def _take(self, name: str, queries: Sequence[str], arity: int | None = None) -> bool:
        """Take rows; whether any is new, or is certain now."""
        if not queries:
            return False
        tables, width = self.evaluation.tables, max(1, self._width(name, arity))
        whole, marked = self.evaluation.found[name], self.evaluation.marked[name]
        before = self._size(name)
        fresh = tables.fresh()
        tables.run("CREATE TABLE", fresh, "AS", " UNION ALL ".join(queries))
        values = ", ".join(f"c{n}" for n in range(width))
        none = " AND ".join(f"m{n} IS NULL" for n in range(width))
        tables.run(
            *("INSERT INTO", whole, "SELECT DISTINCT", values, "FROM", fresh),
            *("WHERE s AND", none, "EXCEPT SELECT * FROM", whole),
        )
        columns = ", ".join(f"c{n}, m{n}" for n in range(width))
        opened = " OR ".join(f"coalesce(m{n} = '*', false)" for n in range(width))
        same = " AND ".join(f"w.c{n} = every.c{n}" for n in range(width))
        merged = tables.fresh()
        tables.run(
            *("CREATE TABLE", merged, "AS SELECT", columns),
            *(", CASE WHEN bool_or(coalesce(s, false) AND NOT (", opened, ")) THEN true END AS s"),
            *("FROM (SELECT * FROM", marked, "UNION ALL SELECT * FROM", fresh, ") AS every"),
            *("WHERE NOT (", none, "AND EXISTS (SELECT 1 FROM", whole, "AS w WHERE", same, "))"),
            *("GROUP BY", columns),
        )
        tables.run("DROP TABLE", fresh)
        tables.run("DROP TABLE", marked)
        self.evaluation.marked[name] = merged
        return before != self._size(name)

    def _width(self, name: str, arity: int | None) -> int:
        return len(self._kinds(name)) if arity is None else arity

    def _size(self, name: str) -> tuple[int, int, int]:
        tables, marked = self.evaluation.tables, self.evaluation.marked[name]
        sure = tables.number("SELECT count(*) FROM", marked, "WHERE s")
        return tables.count(self.evaluation.found[name]), tables.count(marked), sure

    def _forget(self, names: Iterable[str]) -> None:
        """Drop the tables that were made of relations which may have grown."""
        for key in [key for key in self.variants if key[0] in set(names)]:
            del self.variants[key]

    def _sources(self, atom: Atom, reading: Reading) -> _Variants:
        """Give the tables of an atom: the rows that are whole where it reads them, the others."""
        name = atom.predicate
        whole = self.evaluation.tables_of(0, atom)
        if name not in self.evaluation.marked:
            return (Source(whole, marked=False),)
        key = name, reading
        if key not in self.variants:
            self.variants[key] = self._variants(name, reading, whole)
        return self.variants[key]

    def _variants(self, name: str, reading: Reading, whole: str) -> _Variants:
        tables, marked = self.evaluation.tables, self.evaluation.marked[name]
        width = max(1, len(self._kinds(name)))
        known = [f"m{n} IS NULL" for n in reading.read]
        known += [f"(m{n} IS NULL OR left(m{n}, 1) IN ('L', 'F'))" for n in reading.single]
        is_whole = " AND ".join(["s IS TRUE", *known])
        plain, others = tables.fresh(), tables.fresh()
        values = ", ".join(f"c{n}" for n in range(width))
        tables.run(
            *("CREATE TABLE", plain, "AS SELECT * FROM", whole),
            *("UNION ALL SELECT", values, "FROM", marked, "WHERE", is_whole),
        )
        read = {*reading.read, *reading.single}
        outputs = [
            f"c{n}, CASE WHEN left(m{n}, 1) = 'M' THEN '*' ELSE m{n} END AS m{n}"
            if n in read
            else f"c{n}, m{n}"
            for n in range(width)
        ]
        maybe = " OR ".join(f"coalesce(left(m{n}, 1) = 'M', false)" for n in sorted(read))
        none = " OR ".join(f"coalesce(m{n} = 'N', false)" for n in sorted(read))
        tables.run(
            *("CREATE TABLE", others, "AS SELECT", ", ".join(outputs)),
            *(", CASE WHEN s AND NOT (", maybe or "false", ") THEN true END AS s FROM", marked),
            *("WHERE NOT coalesce(", is_whole, ", false) AND NOT (", none or "false", ")"),
        )
        first = (Source(plain, marked=False),)
        return (*first, Source(others, marked=True)) if tables.count(others) else first

    def _is_apart(self, name: str) -> bool:
        """Whether any two certain rows of a relation differ in a known column (26c)."""
        if name not in self.evaluation.marked:
            return True
        tables, marked = self.evaluation.tables, self.evaluation.marked[name]
        width = max(1, len(self._kinds(name)))
        numbered = tables.fresh()
        none, unknown = "CASE WHEN m{0} = 'N' THEN m{0} END", "coalesce(m{0} <> 'N', false)"
        told = f"c{{0}}, {none} AS n{{0}}, {unknown} AS u{{0}}"
        cells = ", ".join(told.format(n) for n in range(width))
        tables.run("CREATE TABLE", numbered, "AS SELECT", cells, "FROM", marked, "WHERE s")
        doubtful = ", ".join(f"u{n}" for n in range(width))
        masks = tables.run("SELECT DISTINCT", doubtful, "FROM", numbered)
        plain = ", ".join(f"c{n}, {_NO_MARK} AS n{n}, false AS u{n}" for n in range(width))
        every = tables.fresh()
        tables.run(
            *("CREATE TABLE", every, "AS SELECT row_number() OVER () AS r, * FROM"),
            *("(SELECT * FROM", numbered, "UNION ALL SELECT", plain, "FROM"),
            *(self.evaluation.found[name], ") AS each_one"),
        )
        kinds = [tuple(bool(one) for one in mask) for mask in masks]
        return not any(
            self._are_two(every, mask, other)
            for mask in filter(any, kinds)
            for other in {*kinds, (False,) * width}
        )

    def _are_two(self, every: str, mask: Sequence[bool], other: Sequence[bool]) -> bool:
        """Look for two rows, unknown in some columns each, that are equal in all others."""
        width = range(len(mask))
        same = [
            f"x.c{n} IS NOT DISTINCT FROM y.c{n} AND x.n{n} IS NOT DISTINCT FROM y.n{n}"
            for n in width
            if not mask[n] and not other[n]
        ]
        own = [f"x.u{n} = {str(mask[n]).lower()}" for n in width]
        own += [f"y.u{n} = {str(other[n]).lower()}" for n in width]
        found = self.evaluation.tables.number(
            *("SELECT count(*) FROM (SELECT 1 FROM", every, "AS x,", every, "AS y WHERE"),
            *(" AND ".join(["x.r <> y.r", *own, *same]), "LIMIT 1) AS two"),
        )
        return bool(found)


def _is_of(row: Row, kinds: Sequence[Kind]) -> bool:
    """Whether the values of a claimed row are of their kinds; raises `OtherKindError` if not.

    A column would turn the number 1 into the text that follows. A whole number is a Decimal too.
    """
    for value, kind in zip(row, kinds, strict=True):
        if not isinstance(value, _TYPES.get(kind, str)) or isinstance(value, bool):
            raise OtherKindError
    return True


_TYPES: Final[Mapping[Kind, type | tuple[type, ...]]] = MappingProxyType(
    {Kind.NUMBER: int, Kind.UNSIGNED: int, Kind.FLOAT: float, Kind.DECIMAL: (int, Decimal)}
)
_NO_MARK: Final = "CAST(NULL AS VARCHAR)"


def _lifted(table: str, arity: int) -> str:
    """Write the rows of a table as rows with marks."""
    cells = ", ".join(f"c{n}, {_NO_MARK} AS m{n}" for n in range(max(1, arity)))
    return f"SELECT {cells}, true AS s FROM {table}"  # noqa: S608  names are ours


def _summands(rule: Rule, one: Aggregate) -> Rule:
    """Give a rule whose heads are the summands of an aggregate, over all groups."""
    if one.target is None:
        raise RefusedError("a recursive count that may fall")
    return replace(rule, head=replace(rule.head, terms=(one.target,)), body=one.body)


def _is_free(atom: Atom) -> bool:
    names = [term.name for term in atom.terms if isinstance(term, Variable)]
    return len(set(names)) == len(atom.terms)


def _every(table: str) -> str:
    return f"SELECT * FROM {table}"  # noqa: S608  the name is ours


def claim_kinds(program: AnalysedProgram, claim: Claim) -> tuple[Kind, ...]:
    """Give the kinds of the columns of an answer."""
    kinds = program.program.predicates[claim.atom.predicate].kinds
    return tuple(kinds[place] for place in claim.places)


def predicates_below(program: AnalysedProgram, name: str) -> set[str]:
    """Name a predicate and all that its rules read."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            for number in program.rule_numbers(one):
                for item in program.rules[number].body:
                    waiting += _read_by(item)
    return found


def _read_by(item: object) -> Iterator[str]:
    match item:
        case Positive(atom) | Negative(atom):
            yield atom.predicate
        case Aggregate(body=body):
            for inner in body:
                yield from _read_by(inner)
        case _:
            return
