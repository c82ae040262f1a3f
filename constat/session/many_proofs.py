"""Several proofs of a goal, as a session gives them: results one after the other.

In: a goal and a ranking. Out: `FoundProofs`, an iterator of `Result`. Invariants: the sources are
asked once, before the first result, and each further proof is looked for when it is asked for;
where decisions are logged, each is written down before it is given. Example:
`[result.confidence for result in session.proofs("is_vip(C001)")]`.
"""

from __future__ import annotations

from dataclasses import field, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

from constat.analysis import check_goal
from constat.check import check_certificate
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Answer, Demand, Portion, Verdict, ignore_event
from constat.forward.evaluating import levels_of
from constat.frozen import frozen, slotted
from constat.logic import Atom, Constant, Predicate, Program
from constat.proof.decide import answers_in, confidence_of, decide
from constat.proof.derivations import Ways
from constat.proof.instances import Binding, ComparisonCode, PositiveCode, compile_rule, is_hole
from constat.proof.levels import MILLION, Ranking
from constat.proof.proofs import Proof, RuleNode
from constat.proof.reading import TooLargeError, accepting_reading, hard_reading
from constat.proof.topk import Effort, TopK
from constat.session.answers import RowCheck, RowDifference, Rows
from constat.session.asked_goals import asked_over, read_query
from constat.session.bulk import BulkQuery
from constat.session.options import RANKINGS
from constat.session.querying import answer_columns, compile_query, row_goals
from constat.session.result import result_of
from constat.store.clock import now
from constat.syntax import parse_goal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Engine, ExternalPredicate, Externals, Limits, Observer
    from constat.forward.evaluating import Levels
    from constat.logic import Row, Value
    from constat.proof import Decision
    from constat.proof.instances import AtomCode, LiteralCode, RuleCode
    from constat.proof.reading import Reading
    from constat.proof.topk import Ranked
    from constat.session.answers import Answers
    from constat.session.parts import SessionParts
    from constat.session.querying import Compiled
    from constat.session.result import Result

# Several proofs of a goal as decisions, each with a certificate of its own.

_WAYS_STEPS: Final = 2_000_000
_TOO_MANY: Final = "there are too many rule instances to look for other proofs"

Signature = frozenset[tuple[object, ...]]


class Proofs:
    """The proofs of a goal: iterate, once.

    ``first`` is what ``decide`` says, ``ranked`` the place of the proof that was given last: how
    high and large it is (missing where no proof was looked for).  At the end ``complete`` tells
    whether there are no others, and ``stopped`` why that is not known.
    """

    def __init__(self, first: Decision, ranking: Ranking, effort: Effort | None) -> None:
        self.first = first
        self.complete = False
        self.stopped = ""
        self.ranked: Ranked | None = None
        self._ranking = ranking
        self._effort = effort or Effort()
        self._decisions = self._found()

    def __iter__(self) -> Iterator[Decision]:
        """Iterate over what is left."""
        return self._decisions

    def __next__(self) -> Decision:
        """Give the next proof; it is looked for now."""
        return next(self._decisions)

    def _found(self) -> Iterator[Decision]:
        if self.first.verdict not in {Verdict.PROVED, Verdict.PROVED_UNDER}:
            self.complete = True
            yield self.first
            return
        reading = _deciding_reading(self.first)
        given = False
        for one in self._ranked(reading):
            given = True
            yield one
        if not given:
            # The search gave up before its first proof; the engine's own is a proof all the same.
            yield self.first

    def _ranked(self, reading: Reading) -> Iterator[Decision]:
        answers = answers_in(reading, self.first.goal)
        seen: set[Signature] = set()
        best: int | None = None
        try:
            ways = Ways(reading, answers, _WAYS_STEPS)
            search = TopK(ways, answers, self._ranking, self._effort)
            for ranked in search:
                proof = _shown(reading, ranked)
                signature = _signature(proof)
                if signature in seen:
                    # They differ where a certificate shows nothing: how a row that is there
                    # anyway could have been derived as well.
                    continue
                seen.add(signature)
                if best is None and ways.is_exact:
                    best = confidence_of(proof)
                self.ranked = ranked
                yield _decision(self.first, proof, best)
        except TooLargeError:
            self.stopped = _TOO_MANY
            return
        self.complete, self.stopped = search.complete, search.stopped


def decide_many(  # noqa: PLR0913  # the engine's own arguments, handed through
    engine: Engine,
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    limits: Limits,
    *,
    ranking: Ranking = Ranking.HEIGHT,
    effort: Effort | None = None,
    observe: Observer = ignore_event,
) -> Proofs:
    """Evaluate a goal once, to the end, and give its proofs."""
    first = decide(engine, program, goal, externals, limits, exhaust=True, observe=observe)
    return Proofs(first, ranking, effort)


def _deciding_reading(decision: Decision) -> Reading:
    """Return the reading in which all proofs of the verdict hold."""
    if decision.verdict is Verdict.PROVED:
        return hard_reading(decision.outcome)
    return accepting_reading(decision.outcome)


def _shown(reading: Reading, ranked: Ranked) -> Proof:
    """Return the proof of one answer, which is an instance of a goal with variables."""
    predicate, row = ranked.answer
    kinds = reading.program.program.predicates[predicate].kinds
    terms = tuple(Constant(value, kind) for value, kind in zip(row, kinds, strict=True))
    proof = Proof(reading, Atom(predicate, terms))
    proof.prefer(ranked.nodes)
    proof.show((ranked.answer,), bounded=False)
    return proof


def _signature(proof: Proof) -> Signature:
    """Return what makes a proof this one: the instance of each fact, but no choice of summands."""
    found: list[tuple[object, ...]] = []
    for fact, node in proof.nodes.items():
        if isinstance(node, RuleNode):
            bounds = {proof.code(node.rule).body[place] for place, _ in node.totals}
            results = {getattr(one, "result", None) for one in bounds}
            values = (v for slot, v in enumerate(node.values) if slot not in results)
            found.append((fact, node.rule, *values))
        else:
            found.append((fact,))
    return frozenset(found)


def _decision(first: Decision, proof: Proof, best: int | None) -> Decision:
    confidence = confidence_of(proof)
    return replace(
        first,
        goal=proof.goal,
        confidence=Decimal(confidence) / MILLION,
        exact=confidence in {MILLION, best},
        assumptions=proof.accepted_assumptions(),
        minimal=False,
        proof=proof,
    )


@frozen
class Shape:
    """How large a proof is: its different facts, its height, and its size as a tree.

    In a tree a fact counts as often as it is used. Rows that an aggregate reads count as well.
    """

    facts: int
    height: int
    size: int


class FoundProofs:
    """The proofs of a goal, best first: iterate, once.

    A goal that is not proved has the one result that `prove` gives. At the end `complete` tells
    whether there are no other proofs, and `stopped` why that is not known. `shapes` are the
    measures of the proofs that were given.
    """

    def __init__(
        self,
        proofs: Proofs,
        program: AnalysedProgram,
        created: str,
        write: Callable[[Result], Result],
        asked: str = "",
    ) -> None:
        self.shapes: list[Shape] = []
        self._proofs = proofs
        self._program = program
        self._created = created
        self._write = write
        self._asked = asked

    def __iter__(self) -> Iterator[Result]:
        """Iterate over what is left."""
        return self

    def __next__(self) -> Result:
        """Give the next proof."""
        result = self._write(self._result(next(self._proofs)))
        ranked = self._proofs.ranked
        if ranked is not None:
            self.shapes.append(Shape(ranked.facts, ranked.height, ranked.size))
        return result

    @property
    def goal(self) -> str:
        """The goal as it was asked; a result's goal is an instance of it."""
        return self.first.goal

    @cached_property
    def first(self) -> Result:
        """What `prove` says to the goal."""
        return self._result(self._proofs.first)

    @property
    def complete(self) -> bool:
        """Whether all proofs there are have been given."""
        return self._proofs.complete

    @property
    def stopped(self) -> str:
        """Why it is not known whether there are others."""
        return self._proofs.stopped

    def _result(self, decision: Decision) -> Result:
        found = result_of(decision, self._program, self._created)
        return found.asked_as(self._asked) if self._asked else found


def find_proofs(
    parts: SessionParts,
    goal: str,
    *,
    ranking: str,
    seconds: float,
    observe: Observer | None,
    write: Callable[[Result], Result],
) -> FoundProofs:
    """Evaluate a goal to the end and give its proofs."""
    parts, asked = asked_over(parts, goal)
    created = now()
    proofs = parts.evaluated(
        observe,
        lambda tiers: decide_many(
            parts.engine,
            parts.program,
            asked.atom,
            tiers.externals,
            parts.limits,
            ranking=ranking_of(ranking) or Ranking.HEIGHT,
            effort=Effort(seconds=seconds),
            observe=parts.observe,
        ),
    )
    return FoundProofs(proofs, parts.program, created, write, asked.text)


def ranking_of(name: str) -> Ranking | None:
    """Return what counts among equally confident proofs; nothing else where that is all.

    Raises `ValueError` for a word that is none of `RANKINGS`.
    """
    if name not in RANKINGS:
        raise ValueError(f"proofs are ranked by one of {', '.join(RANKINGS)}")
    return None if name == "confidence" else Ranking(name)


# Proofs of single rows of a large result, checked one by one.

# The rows from outside that a lowest proof of a row rests on, found in whole relations.

Leaves = dict[str, dict["Row", None]]


# What looking for the instances of one row costs, in rows whose height is computed.
_ROWS_A_STEP: Final = 400

Fact = tuple[str, "Row"]
Premises = tuple[Fact, ...]


class _DearError(Exception):
    """So much has been searched that the heights of all rows would have cost no more."""


@slotted
class LowestProofs:
    """Finds the leaves of proofs; the rules are made ready once.

    A row's height is found among the rows that it may rest on. Where that has taken `left` steps
    for all rows so far, the heights of all rows are computed instead.
    """

    program: AnalysedProgram
    levels: Levels
    left: int
    _codes: dict[str, list[RuleCode]] = field(default_factory=dict)

    def leaves(self, predicate: str, row: Row) -> Leaves | None:
        """Give the leaves of a lowest proof; `None` where none is found."""
        goal = (predicate, row)
        if not self.levels.has_heights:
            try:
                return self._leaves(goal, _lowest(goal, self._possible(goal)).get)
            except _DearError:
                if not self.levels.add_heights():
                    return None
        return self._leaves(goal, self._premises)

    def _leaves(self, goal: Fact, premises_of: Callable[[Fact], Premises | None]) -> Leaves | None:
        found: Leaves = {}
        waiting, seen = [goal], {goal}
        while waiting:
            fact = waiting.pop()
            name, values = fact
            if name not in self.levels.derived:
                found.setdefault(name, {})[values] = None
                continue
            premises = premises_of(fact)
            if premises is None:
                return None
            fresh = [one for one in premises if one not in seen]
            seen.update(fresh)
            waiting += fresh
        return found

    def _possible(self, goal: Fact) -> dict[Fact, list[Premises]]:
        """Give all that rules need for a row, and for the rows that it may rest on."""
        found: dict[Fact, list[Premises]] = {}
        waiting = [goal]
        while waiting:
            fact = waiting.pop()
            if fact in found:
                continue
            found[fact] = list(self._instances(fact, 1))
            needed = (one for premises in found[fact] for one in premises)
            waiting += [one for one in needed if one[0] in self.levels.derived]
        return found

    def _premises(self, fact: Fact) -> Premises | None:
        """Give what one rule instance of least height needs."""
        height = self.levels.height(*fact)
        return None if height is None else next(self._instances(fact, height), None)

    def _instances(self, fact: Fact, below: int) -> Iterator[Premises]:
        """Yield what rule instances need that give a row by rows of less height."""
        predicate, row = fact
        for code in self._rules(predicate):
            start = code.start(tuple(range(len(row))), row)
            if start is None:
                continue
            atoms = [one.atom for one in code.body if isinstance(one, PositiveCode)]
            for found in self._bindings(code, start, below):
                if code.head.pattern(found) == row:
                    yield tuple((atom.predicate, atom.pattern(found)) for atom in atoms)  # type: ignore[misc]  # all is bound

    def _bindings(self, code: RuleCode, start: Binding, below: int) -> Iterator[Binding]:
        """Yield bindings under which the body holds in rows of less height."""
        waiting: list[tuple[Binding, tuple[LiteralCode, ...]]] = [(start, code.body)]
        while waiting:
            binding, left = waiting.pop()
            if not left:
                yield binding
                continue
            place = self._next(binding, left)
            test, rest = left[place], left[:place] + left[place + 1 :]
            if isinstance(test, ComparisonCode):
                extended = test.assigned(binding)
                if extended is not None or test.truth(binding) is True:
                    waiting.append((extended or binding, rest))
            elif isinstance(test, PositiveCode):
                atom, pattern = test.atom, test.atom.pattern(binding)
                for row in self.levels.rows(atom.predicate, _bound(atom, binding), below):
                    self._step()
                    unified = atom.unify(pattern, row, binding)
                    if unified is not None:
                        waiting.append((unified, rest))

    def _step(self) -> None:
        if not self.levels.has_heights:
            self.left -= 1
            if self.left < 0:
                raise _DearError

    def _next(self, binding: Binding, left: tuple[LiteralCode, ...]) -> int:
        """Choose what can be tested, then the atom that leaves the fewest rows."""
        best, least = 0, -1
        for place, test in enumerate(left):
            if isinstance(test, ComparisonCode):
                if test.truth(binding) is not None or test.assigned(binding) is not None:
                    return place
            elif isinstance(test, PositiveCode):
                count = self.levels.count(test.atom.predicate, _bound(test.atom, binding))
                if least < 0 or count < least:
                    best, least = place, count
        return best

    def _rules(self, predicate: str) -> list[RuleCode]:
        if predicate not in self._codes:
            numbers = self.program.rule_numbers(predicate)
            self._codes[predicate] = [compile_rule(self.program, number) for number in numbers]
        return self._codes[predicate]


def _lowest(goal: Fact, possible: Mapping[Fact, Sequence[Premises]]) -> dict[Fact, Premises]:
    """Choose the premises of each row by which it is lowest, up to the goal's height."""
    chosen: dict[Fact, Premises] = {}
    users: dict[Fact, list[tuple[Fact, Premises, set[Fact]]]] = {one: [] for one in possible}
    ready: list[tuple[Fact, Premises]] = []
    for fact, instances in possible.items():
        for premises in instances:
            missing = {one for one in premises if one in possible}
            for one in missing:
                users[one].append((fact, premises, missing))
            if not missing:
                ready.append((fact, premises))
    while ready and goal not in chosen:
        fresh = [fact for fact in dict(ready) if fact not in chosen]
        chosen |= {fact: premises for fact, premises in reversed(ready) if fact not in chosen}
        ready = []
        for one in fresh:
            for fact, premises, missing in users[one]:
                missing.discard(one)
                if not missing:
                    ready.append((fact, premises))
    return chosen


def _bound(atom: AtomCode, binding: Binding) -> Mapping[int, Value]:
    """Give the columns of an atom that have a value."""
    cells = enumerate(atom.pattern(binding))
    return {place: cell for place, cell in cells if not is_hole(cell)}  # type: ignore[misc]  # no hole


# Constants are read as in goals, by the kinds of the columns.

_NAME = "row"


def goals_of_row(compiled: Compiled, text: str) -> tuple[str, ...]:
    """Give the goals to prove for a row. Raises `ConstatError` where the row cannot be read."""
    return tuple(dict.fromkeys(row_goals(compiled)(read_row(compiled, text))))


def read_row(compiled: Compiled, text: str) -> Row:
    """Read the values of the answer's columns."""
    columns = answer_columns(compiled)
    declared = {column.name: column for column in compiled.query.columns}
    plain = tuple(replace(declared[column.name], attributes={}) for column in columns)
    written = f"{_NAME}({text})"
    try:
        atom = parse_goal(written, Program({_NAME: Predicate(_NAME, plain)}, ()))
    except ConstatError as problem:
        raise ConstatError(
            [_unreadable(one.message, compiled) for one in problem.diagnostics]
        ) from None
    values = [term.value for term in atom.terms if isinstance(term, Constant)]
    if len(values) != len(columns):
        raise ConstatError([_unreadable("not every column has a value", compiled)])
    return tuple(values)


def _unreadable(reason: str, compiled: Compiled) -> Diagnostic:
    listed = ", ".join(f"?{column.name}" for column in answer_columns(compiled)) or "no variables"
    return Diagnostic(
        "C0665",
        f"the row to explain cannot be read: {reason}",
        note=f"a row has a value for each of the query's columns, in their order: {listed}",
        help='write the values with commas between: `--explain-row "C001, 150"`',
    )


# Where heights are not simply rounds, or a source has changed since, the row is proved in the
# usual way.


@slotted
class OnlyRows:
    """An external predicate that is asked for some rows only; of all others it knows nothing."""

    external: ExternalPredicate
    rows: tuple[Row, ...]
    _answer: Answer | None = None

    @property
    def cost(self) -> int:
        """That of the predicate itself."""
        return self.external.cost

    def answer(self, demand: Demand) -> Answer:
        """Answer from the rows, which are asked for in one question."""
        if self._answer is None:
            columns = tuple(range(demand.predicate.arity))
            self._answer = self.external.answer(Demand(demand.predicate, columns, self.rows))
        wanted = set(demand.keys)
        portions = []
        for portion in self._answer.portions:
            rows = [row for row in portion.rows if _key(row, demand.columns) in wanted]
            if rows:
                portions.append(Portion(tuple(rows), portion.evidence, portion.assumption))
        return Answer(tuple(portions))


def _key(row: Row, columns: tuple[int, ...]) -> Row:
    return tuple([row[column] for column in columns])


@slotted
class RowProofs:
    """Proves rows of one query; a context manager that holds the result in memory.

    `usual` proves a goal in the usual way. `effort` bounds the steps in which heights are looked
    for row by row; by default it is what the heights of all rows cost.
    """

    parts: SessionParts
    compiled: Compiled
    usual: Callable[[str], Result]
    effort: int | None = None
    _built: bool = False
    _lowest: LowestProofs | None = field(default=None)

    def prepare(self, *, heights: bool = False) -> bool:
        """Compute the result, which the first proof does otherwise; tell whether it helps.

        With `heights` those of all rows are computed at once, which pays where many are proved.
        """
        if not self._built:
            with self.parts.evaluating(None) as tiers:
                asked = BulkQuery(self.compiled, tiers.externals, self.parts.limits, now())
                program, goal = self.compiled.program, self.compiled.goal
                watching = self.parts.observe
                levels = levels_of(program, goal, tiers.externals, asked.resources, watching)
            self._lowest = None if levels is None else self._finder(program, levels)
            self._built = True
        if self._lowest is None:
            return False
        return not heights or self._lowest.levels.add_heights()

    def _finder(self, program: AnalysedProgram, levels: Levels) -> LowestProofs:
        effort = levels.rows_derived() // _ROWS_A_STEP if self.effort is None else self.effort
        return LowestProofs(program, levels, effort)

    def prove(self, row: str) -> tuple[Result, ...]:
        """Prove a row, given as its values as in a goal: `C001, 150`.

        Gives a result for each positive atom of the query. Raises `ConstatError` as `prove` does.
        """
        self.prepare()
        return tuple(self._proved(goal) for goal in goals_of_row(self.compiled, row))

    def _proved(self, text: str) -> Result:
        program = self.parts.program
        goal = check_goal(parse_goal(text, program.program), program)
        leaves = self._leaves(goal)
        if leaves is None:
            return self.usual(text)
        created = now()
        with self.parts.evaluating(None) as tiers:
            decision = decide(
                self.parts.engine,
                program,
                goal,
                _only(tiers.externals, leaves),
                self.parts.limits,
                ranking=Ranking.HEIGHT,
                observe=self.parts.observe,
            )
        result = result_of(decision, program, created, self.parts.speech)
        return result if result.verdict is Verdict.PROVED else self.usual(text)

    def _leaves(self, goal: Atom) -> Leaves | None:
        """Give what a lowest proof rests on, where that is known."""
        lowest = None if self._is_written_down() else self._lowest
        row = tuple(term.value for term in goal.terms if isinstance(term, Constant))
        if lowest is None or goal.predicate not in lowest.levels.derived:
            return None
        return lowest.leaves(goal.predicate, row) if len(row) == len(goal.terms) else None

    def _is_written_down(self) -> bool:
        """Whether each result is logged or recorded, as only the usual way does."""
        project = self.parts.project
        predicates = self.parts.program.program.predicates.values()
        named = any(one.source and "record" in one.source.parameters for one in predicates)
        return project.log.on or project.record.every or bool(project.record.sources) or named

    def close(self) -> None:
        """Forget the result."""
        lowest, self._lowest, self._built = self._lowest, None, False
        if lowest is not None:
            lowest.levels.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def row_proofs(parts: SessionParts, query: str, usual: Callable[[str], Result]) -> RowProofs:
    """Make ready to prove rows of a query. Raises `ConstatError` where it cannot be read."""
    read = read_query(query, parts.program)
    return RowProofs(parts, compile_query(read, parts.program), usual)


def _only(externals: Externals, leaves: Leaves) -> Externals:
    """Narrow external predicates to the leaves; those without one know no row."""
    return {name: OnlyRows(one, tuple(leaves.get(name, ()))) for name, one in externals.items()}


# A sample proves the rows in it and no other.

_ACCEPTED = (Verdict.PROVED, Verdict.PROVED_UNDER)


def sample(rows: Rows, size: int) -> list[Row]:
    """Choose so many rows that are not unresolved, spread evenly over all."""
    total = len(rows)
    places = range(total) if size >= total else (place * total // size for place in range(size))
    chosen = (rows[place] for place in dict.fromkeys(places))
    return [one.values for one in chosen if one.verdict is not Verdict.UNRESOLVED]


def check_rows(
    answers: Answers,
    compiled: Compiled,
    rows: Sequence[Row],
    prove: Callable[[Atom], Result],
    asked: int,
) -> Answers:
    """Prove rows of the answers; those that fail are taken out and told as differences."""
    proved: dict[Row, Verdict] = {}
    differences: list[RowDifference] = []
    for row in rows:
        found = _proved(answers, compiled, row, prove)
        if isinstance(found, Verdict):
            proved[row] = found
        else:
            differences.append(found)
    wrong = {one.row for one in differences}
    checked = replace(answers, check=RowCheck(asked, proved, tuple(differences)))
    if not wrong:
        return checked
    kept = [row for row in answers.sure if row not in wrong]
    weak = {row: one for row, one in answers.weak.items() if row not in wrong}
    return replace(checked, sure=kept, weak=weak)


def _proved(
    answers: Answers, compiled: Compiled, row: Row, prove: Callable[[Atom], Result]
) -> Verdict | RowDifference:
    """Prove one row: as the goal of a certificate that the checker accepts."""
    said = answers.row(row).verdict
    reason, verdict = "", ""
    try:
        result = prove(row_goal(compiled, row))
        report = check_certificate(result.certificate)
    except Exception as problem:  # noqa: BLE001  whatever it is, the row is not proved
        reason = f"it could not be proved: {problem}"
    else:
        verdict = result.verdict.value
        if not report.accepted:
            reason = f"the checker rejects its certificate: {report.reason} [{report.code}]"
        elif result.verdict not in _allowed(said):
            reason = f"proving it says {result.verdict.label}"
        else:
            return result.verdict
    goals = answers.show(row) or (answers.query,)
    return RowDifference(row, ", ".join(goals), said.label, verdict, reason)


def _allowed(said: object) -> tuple[Verdict, ...]:
    """Give what proving a row may say: by itself it may rest on less, never on more."""
    under = getattr(said, "value", "").endswith("UNDER")
    return _ACCEPTED if under else _ACCEPTED[:1]


def row_goal(compiled: Compiled, row: Row) -> Atom:
    """Give the query's atom with the values of a row in it."""
    predicate = compiled.program.program.predicates[compiled.goal.predicate]
    terms = list(compiled.goal.terms)
    for place, value in zip(compiled.places, row, strict=True):
        terms[place] = Constant(value, predicate.columns[place].kind)
    return replace(compiled.goal, terms=tuple(terms))
