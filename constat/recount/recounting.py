"""Compute answers a second time, rule by rule, and compare them with what a run gave.

In: an analysed program, the inputs, and the rows of a wanted atom. Out: whether the rows are
exactly those that follow. Components are computed callees first; one that is recursive in rounds,
each row being derived from rows of earlier rounds only, so that none rests on itself. Nothing of
the run is taken over: neither its plan, nor its demands, nor its relations below the answer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from constat.diagnostics.interruption import check_interrupted
from constat.evaluation import Clock, LimitReachedError
from constat.logic import (
    Aggregate,
    Constant,
    Negative,
    Positive,
    Variable,
    is_never_negative,
)
from constat.recount.statements import RefusedError, RuleStatement, literal, select
from constat.recount.tables import Tables, read_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram, Component
    from constat.evaluation import Externals
    from constat.logic import Atom, Kind, Predicate, Row, Rule

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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Claim:
    """What a run says: the rows that match an atom, in the columns `places` of it.

    `stream` gives an object of Arrow with them, `rows` are Python values where there is none.
    """

    atom: Atom
    places: tuple[int, ...]
    rows: Iterable[Row] = ()
    stream: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a check may use: seconds, bytes of memory and threads (0: as much as seems right)."""

    seconds: float = 60.0
    memory: int = 0
    threads: int = 0


_DEFAULT: Final = Bounds()
_TIME_UP: Final = "the time for it was up"


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
    with Tables(bounds.seconds, bounds.memory, bounds.threads) as tables:
        clock = Clock(begun + bounds.seconds, _TIME_UP)

        def read(_: Tables, predicate: Predicate) -> str:
            return read_input(tables, predicate, externals.get(predicate.name), clock)

        evaluation = Evaluation(tables, program, read)
        for claim in claims:
            one = checked(evaluation, claim, partial(evaluation.claimed, claim))
            found.append(replace(one, seconds=time.monotonic() - begun))
    return found


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
        self._tables = tables = Tables(bounds.seconds, bounds.memory, bounds.threads)
        tables.__enter__()

        def read(_: Tables, predicate: Predicate) -> str:
            return read_input(tables, predicate, externals.get(predicate.name), self._clock)

        self._evaluation = Evaluation(tables, program, read)
        self._claimed = ""
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


def checked(evaluation: Evaluation, claim: Claim, claimed: Callable[[], str]) -> Recount:
    """Check one answer, whose rows are in the table that `claimed` gives."""

    def compared() -> Recount:
        expected = evaluation.answers(claim)
        return _compared(evaluation.tables, expected, claimed(), len(claim.places))

    return _guarded(compared)


def _guarded(work: Callable[[], _Found]) -> _Found | Recount:
    """Do a part of a check; what goes wrong is why there is none."""
    try:
        return _told_why(work)
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
        raise RefusedError(
            "an instance of a rule may err" if errs else f"the check itself failed ({kind})"
        ) from None


def _compared(tables: Tables, expected: str, claimed: str, arity: int) -> Recount:
    """Compare two tables, of which the expected one has each row once.

    Where there are as many rows and every expected one is claimed, both are the same.
    """
    same = " AND ".join(f"e.c{place} = c.c{place}" for place in range(max(1, arity)))
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
    told = _told(wrong, "1 row does not follow", "rows do not follow")
    told += _told(missing, "1 row follows and is not there", "rows follow and are not there")
    told += _told(twice, "1 row comes twice", "rows come twice")
    shown = tables.run("SELECT * FROM", extra, f"ORDER BY ALL LIMIT {_SHOWN}")
    return Recount(State.DIFFERS, " and ".join(told), wrong, missing, tuple(map(tuple, shown)))


def _told(count: int, one: str, several: str) -> list[str]:
    return [one if count == 1 else f"{count:,} {several}"] if count else []


@dataclass(slots=True)
class Evaluation:
    """All relations below an atom, each in a table of its own.

    `read` gives a table with the rows of an input.
    """

    tables: Tables
    program: AnalysedProgram
    read: Callable[[Tables, Predicate], str]
    found: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def answers(self, claim: Claim) -> str:
        """Give a table of the rows that follow and match an atom."""
        below = self.read_inputs(claim.atom.predicate)
        for component in self.program.components:
            if set(component.predicates) & below - self.done:
                self._component(component)
                self.done |= set(component.predicates)
        found = self.found[claim.atom.predicate]
        if claim.places == tuple(range(len(claim.atom.terms))) and _is_free(claim.atom):
            return found
        matching = self.tables.fresh()
        self.tables.run("CREATE TABLE", matching, "AS", self._matching(claim))
        return matching

    def read_inputs(self, goal: str) -> set[str]:
        """Read the inputs below a goal that were not read yet; name all that it rests on."""
        below = self.refuse(goal)
        for name in sorted((below & self.program.external) - self.found.keys()):
            self.found[name] = self.read(self.tables, self._predicate(name))
        return below

    def claimed(self, claim: Claim) -> str:
        """Give a table of the rows that the run gave."""
        kinds = claim_kinds(self.program, claim)
        table = self.tables.empty(kinds)
        if claim.stream is None:
            self.tables.add_rows(table, claim.rows, kinds)
        else:
            self.tables.add_stream(table, claim.stream(), kinds)
        return table

    def _predicate(self, name: str) -> Predicate:
        return self.program.program.predicates[name]

    def refuse(self, goal: str) -> set[str]:
        """Name all that a goal rests on. Raises `RefusedError` for what has no clause here."""
        below = predicates_below(self.program, goal)
        for name in sorted(below):
            if self._predicate(name).given:
                raise RefusedError(f"{name} has columns that the caller gives")
        if any(one.assumed for one in self.program.rules if one.head.predicate in below):
            raise RefusedError("a rule is an assumption")
        return below

    def _matching(self, claim: Claim) -> str:
        source = f"{self.found[claim.atom.predicate]} AS q"
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
        if component.recursive:
            rounds = _Rounds(self, component.predicates)
            if rounds.is_linear:
                rounds.run_at_once()
            else:
                rounds.run()
            return
        for name in component.predicates:
            table = self.tables.empty(self._predicate(name).kinds)
            parts = [self.statement(number, self.tables_of) for number in self.rules(name)]
            if name in self.found:
                parts.append(_every(self.found[name]))
            self.tables.run("INSERT INTO", table, " UNION ".join(parts))
            self.found[name] = table

    def rules(self, name: str) -> tuple[int, ...]:
        """Give the numbers of the rules of a predicate."""
        return self.program.rule_numbers(name)

    def tables_of(self, _place: int, atom: Atom) -> str:
        """Give the table of an atom."""
        if atom.predicate not in self.found:
            raise RefusedError(f"{atom.predicate} is read before it is known")
        return self.found[atom.predicate]

    def statement(
        self, number: int, table: Callable[[int, Atom], str], *, distinct: bool = True
    ) -> str:
        """Write the instances of a rule; one who takes each row once anyway needs none distinct."""
        rule, kinds = self.program.rules[number], self.program.variable_kinds[number]
        return RuleStatement(rule, kinds, table, self.tables.functions).text(distinct=distinct)


@dataclass(slots=True)
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
        self._round(first, self._first)
        while any(map(tables.count, self.fresh.values())):
            check_interrupted()
            self._round({name: [] for name in self.members}, self._next)
        self.evaluation.found |= self.known
        self._never_negative()

    def _round(
        self, parts: Mapping[str, list[str]], statements: Callable[[int], Iterator[str]]
    ) -> None:
        tables, made = self.evaluation.tables, {}
        for name in self.members:
            queries = [*parts[name]]
            for number in self.evaluation.rules(name):
                queries += statements(number)
            if queries:
                made[name] = self._beside(name, " UNION ".join(queries))
        for table in self.fresh.values():
            tables.run("DROP TABLE", table)
        self.fresh = made
        for name, table in made.items():
            tables.run("INSERT INTO", self.known[name], "SELECT * FROM", table)

    def _beside(self, name: str, query: str) -> str:
        """Compute the rows of a query that are not known yet."""
        tables = self.evaluation.tables
        table, known = tables.fresh(), self.known[name]
        arity = max(1, self.evaluation._predicate(name).arity)  # noqa: SLF001  as above
        same = " AND ".join(f"k.c{place} = n.c{place}" for place in range(arity))
        tables.run(
            *("CREATE TABLE", table, "AS SELECT * FROM (", query, ") AS n"),
            *("WHERE NOT EXISTS (SELECT 1 FROM", known, "AS k WHERE", same, ")"),
        )
        return table

    def _first(self, number: int) -> Iterator[str]:
        """Yield the statements of a rule before any row of the component is known."""
        yield self.evaluation.statement(number, self._table)

    def _next(self, number: int) -> Iterator[str]:
        """Yield the statements of a rule that read a row of the last round."""
        rule = self.evaluation.program.rules[number]
        if any(isinstance(one, Aggregate) and one.recursive for one in rule.body):
            # A threshold may be passed by many rows together: it is looked at as a whole.
            yield self.evaluation.statement(number, self._table)
            return
        for chosen in self._places(rule):

            def table(place: int, atom: Atom, chosen: int = chosen) -> str:
                if place == chosen:
                    return self.fresh[atom.predicate]
                return self._table(place, atom)

            last = self.fresh.get(rule.body[chosen].atom.predicate)  # type: ignore[union-attr]  # an atom
            if last is not None and self.evaluation.tables.count(last):
                yield self.evaluation.statement(number, table)

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
                        query = RuleStatement(summands, kinds, self._table, tables.functions).text()
                        if tables.number("SELECT count(*) FROM (", query, ") AS s WHERE s.c0 < 0"):
                            raise RefusedError("a recursive sum has summands below zero")


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
