"""The derivation tree for people, as flat values: a step knows its premises by number.

In: a decision.  Out: a ``Tree``: the steps of the proof, for a goal that is not proved the attempts
of its rules, and what is missing.  Invariant: each fact is one step however often it is used, so a
tree is no larger than the proof; premises have greater numbers than the step that first needs them.

The shape is flat because a proof may be 10,000 steps deep, and nothing here may recurse.
"""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING

from constat.diagnostics import counted
from constat.evaluation import Verdict, in_parts
from constat.frozen import frozen
from constat.logic import Aggregate, Positive
from constat.proof.instances import AggregateCode, NegativeCode, PositiveCode, is_ground, opened
from constat.proof.levels import Completeness, millionths, spell
from constat.proof.proofs import FactNode
from constat.proof.reading import rule_assumption
from constat.proof.sentences import (
    ASKED,
    PLAIN,
    Instance,
    Speech,
    deny_fact,
    describe_aggregate,
    describe_fact,
    doubt_fact,
    explain,
    name_target,
    said_predicates,
    show_fact,
)
from constat.proof.shown import Outsides, SourceShown, source_shown, sources_shown
from constat.syntax import print_row, print_rule, print_wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from constat.logic import Row, Slot
    from constat.proof.decide import Decision
    from constat.proof.groups import Exact
    from constat.proof.instances import Cell, RuleCode
    from constat.proof.outside import Fact
    from constat.proof.proofs import RuleNode
    from constat.proof.whynot import Attempt

ROWS_SHOWN = 5


@frozen
class Step:
    """One line of a derivation and what stands under it.

    ``kind`` is ``fact``, ``rule``, ``absence`` or ``aggregate``.  ``confidence`` is a decimal text.
    ``hidden`` counts, by predicate, rows of an aggregate that are not its premises here.  ``level``
    says how well an absence or an aggregate is founded, C0 to C4.
    """

    kind: str
    fact: str
    sentence: str
    confidence: str
    reasoning: str = ""
    rule: str = ""
    rule_text: str = ""
    assumption: str = ""
    sources: tuple[SourceShown, ...] = ()
    premises: tuple[int, ...] = ()
    hidden: tuple[tuple[str, int], ...] = ()
    note: str = ""
    level: str = ""

    @property
    def hidden_rows(self) -> int:
        """How many rows of an aggregate are not among its premises here."""
        return sum(count for _, count in self.hidden)


@frozen
class GapShown:
    """A missing fact as a goal to paste back."""

    goal: str
    reason: str
    tier: str
    if_true: str
    if_false: str
    sentence: str = ""
    edit: str = ""

    @property
    def contested(self) -> bool:
        """Whether only the source itself can decide it: stating the fact changes nothing."""
        from constat.proof.missing import is_contested  # noqa: PLC0415  loaded when it is used

        return is_contested(self.reason)


@frozen
class Tree:
    """What became of a goal, and why.

    ``roots`` are the steps that prove the goal; ``attempts`` say why its rules do not, and
    ``looked_up`` which sources were asked for the goal itself.  ``as_of`` is the time at which the
    facts had been recorded, where they are not those of the present.  ``gaps_left`` counts what is
    missing besides.
    """

    goal: str
    verdict: str
    confidence: str
    exact: bool
    assumptions: tuple[str, ...]
    roots: tuple[int, ...]
    steps: tuple[Step, ...]
    attempts: tuple[Attempt, ...]
    looked_up: tuple[SourceShown, ...]
    gaps: tuple[GapShown, ...]
    failures: tuple[str, ...]
    stopped: str
    as_of: str = ""
    gaps_left: int = 0


def proof_tree(decision: Decision, speech: Speech = PLAIN) -> Tree:
    """Make the tree of a decision; its sentences are those of ``speech``."""
    builder = _Builder(decision, speech)
    roots = tuple(builder.steps_for(decision.answers))
    predicates = decision.reading.program.program.predicates
    return Tree(
        print_row(predicates[decision.goal.predicate], opened(decision.proof.pattern)),
        decision.verdict.value,
        spell(millionths(decision.confidence)),
        decision.exact,
        tuple(assumption.text for assumption in decision.assumptions),
        roots,
        tuple(builder.finished()),
        _attempts(decision, speech),
        () if decision.answers else _looked_up(decision),
        _gaps(decision, speech),
        _failures(decision),
        decision.limit or decision.outcome.stopped,
        gaps_left=decision.gaps_left,
    )


def _gaps(decision: Decision, speech: Speech) -> tuple[GapShown, ...]:
    """Return what is open, where something is."""
    if not decision.gaps:
        return ()
    from constat.proof.missing import edit_of  # noqa: PLC0415  loaded when it is used

    predicates = decision.reading.program.program.predicates
    return tuple(
        GapShown(
            print_wanted(predicates[gap.predicate], gap.row),
            gap.reason,
            gap.tier,
            gap.if_true,
            gap.if_false,
            doubt_fact(predicates[gap.predicate], gap.row, speech),
            edit_of(predicates[gap.predicate], gap.row, gap.reason),
        )
        for gap in decision.gaps
    )


def _attempts(decision: Decision, speech: Speech) -> tuple[Attempt, ...]:
    """Return what was tried in vain, where there is no answer."""
    if decision.answers:
        return ()
    from constat.proof.whynot import attempts_at  # noqa: PLC0415  loaded when it is used

    return attempts_at(decision, speech)


def _looked_up(decision: Decision) -> tuple[SourceShown, ...]:
    """Return the sources that were asked for the goal's own rows."""
    outside = decision.proof.slice.outside
    found: dict[SourceShown, None] = {}
    for covered in sorted(outside.usage.covered, key=str):
        if covered[0] == decision.goal.predicate:
            found.update(dict.fromkeys(map(source_shown, outside.sources(covered))))
    return tuple(found)


def _failures(decision: Decision) -> tuple[str, ...]:
    """Say which instances of rules erred, where that may have decided something."""
    is_one = bool(decision.answers) and is_ground(decision.proof.pattern)
    if is_one or decision.verdict is Verdict.DISPROVED:
        return ()
    found = []
    for failure in decision.outcome.failures:
        rule = decision.reading.program.rules[failure.rule]
        values = ", ".join(f"{name} = {value}" for name, value in failure.bindings.items())
        called = "the goal" if rule.id == f"{ASKED}.1" else f"rule {rule.id}"
        found.append(f"{called} could not be evaluated: {failure.reason} ({values})")
    return tuple(found)


class _Builder:
    """Numbers the steps of a proof from its answers down."""

    def __init__(self, decision: Decision, speech: Speech) -> None:
        self.speech = speech
        self.proof = decision.proof
        self.program = decision.reading.program
        self.predicates = self.program.remembered("said", lambda: said_predicates(self.program))
        self.numbers: dict[object, int] = {}
        self.steps: list[Step | None] = []
        self.waiting: list[tuple[int, object]] = []
        self._completeness: Completeness | None = None

    @property
    def completeness(self) -> Completeness:
        """The levels of absences and aggregates; most proofs need none."""
        if self._completeness is None:
            shown = Outsides(self.proof, ())
            shown.collect()
            self._completeness = Completeness(self.proof, shown.is_inline)
        return self._completeness

    def finished(self) -> list[Step]:
        """Return the steps; every one that was numbered has been made."""
        return [step for step in self.steps if step is not None]

    def steps_for(self, facts: tuple[Fact, ...]) -> list[int]:
        """Make the steps of facts and of everything under them."""
        roots = [self.number(fact) for fact in facts]
        while self.waiting:
            number, key = self.waiting.pop()
            self.steps[number] = self.make(key)
        return roots

    def number(self, key: object) -> int:
        """Return the number of a step, which will be made later."""
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.steps)
            self.steps.append(None)
            self.waiting.append((number, key))
        return number

    def make(self, key: object) -> Step:
        match key:
            case (str(predicate), tuple(row)):
                node = self.proof.nodes.get((predicate, row))
                if node is None or isinstance(node, FactNode):
                    return self.fact_step(predicate, row)
                return self.rule_step(node)
            case ("absence", str(predicate), tuple(row)):
                return self.absence_step(predicate, row)
            case ("aggregate", tuple(fact), int(place)):
                node = self.proof.nodes[fact]
                return self.aggregate_step(node, place)  # type: ignore[arg-type]
            case ("total", tuple(fact), int(place)):
                node = self.proof.nodes[fact]
                return self.total_step(node, place)  # type: ignore[arg-type]
            case _:
                raise TypeError(key)

    def fact_step(self, predicate: str, row: Row) -> Step:
        declared = self.predicates[predicate]
        grounds = self.proof.slice.outside.grounds(predicate, row)
        assumption = grounds.assumption if grounds is not None else None
        held = () if assumption is None else in_parts((assumption,))
        return Step(
            "fact",
            show_fact(declared, row),
            describe_fact(declared, row, self.speech),
            spell(self.proof.confidence_of(predicate, row)),
            assumption="; ".join(one.text for one in held),
            sources=() if grounds is None else sources_shown(grounds),
        )

    def instance(self, node: RuleNode) -> Instance:
        code = self.proof.code(node.rule)
        values: dict[str, Slot] = dict(zip(code.names, node.values, strict=False))
        kinds = dict(zip(code.names, code.kinds, strict=True))
        rule = self.program.rules[node.rule]
        return Instance(rule, values, kinds, self.predicates, self.speech)

    def rule_step(self, node: RuleNode) -> Step:
        declared = self.predicates[node.predicate]
        rule = self.program.rules[node.rule]
        assumption = rule_assumption(self.program, node.rule)
        return Step(
            "rule",
            show_fact(declared, node.row),
            describe_fact(declared, node.row, self.speech),
            spell(self.proof.confidences[node.predicate, node.row]),
            explain(self.instance(node)),
            rule.id,
            print_rule(rule, self.predicates),
            "" if assumption is None else assumption.text,
            premises=tuple(self.premises(node)),
        )

    def premises(self, node: RuleNode) -> list[int]:
        code = self.proof.code(node.rule)
        found: list[int] = []
        for place, literal in enumerate(code.body):
            premise = node.premises[place]
            if premise is not None:
                found.append(self.number(premise))
            elif isinstance(literal, NegativeCode):
                row = literal.atom.pattern(node.binding(code))
                found.append(self.number(("absence", literal.atom.predicate, row)))
            elif isinstance(literal, AggregateCode) and literal.threshold is not None:
                found.append(self.number(("total", (node.predicate, node.row), place)))
            elif isinstance(literal, AggregateCode):
                found.append(self.number(("aggregate", (node.predicate, node.row), place)))
        return list(dict.fromkeys(found))

    def absence_step(self, predicate: str, row: Row) -> Step:
        declared = self.predicates[predicate]
        outside = self.proof.slice.outside
        sources: list[SourceShown] = []
        if predicate in self.program.external:
            spoken = outside.sources((predicate, tuple(range(len(row))), row))
            sources = [source_shown(evidence) for evidence in spoken]
        note = "the sources were asked and have no such row" if sources else ""
        if predicate in self.proof.slice.derived:
            rules = len(self.program.rule_numbers(predicate))
            note = (
                f"none of its {rules} rules gives it" if rules > 1 else "its rule does not give it"
            )
        return Step(
            "absence",
            show_fact(declared, row, holds=False),
            deny_fact(declared, row, self.speech),
            spell(self.proof.absence_confidence()),
            sources=tuple(sources),
            note=note,
            level=self.completeness.of_row(predicate, row),
        )

    def aggregate_step(self, node: RuleNode, place: int) -> Step:
        literal = self.program.rules[node.rule].body[place]
        if not isinstance(literal, Aggregate):
            raise TypeError(literal)
        code = self.proof.code(node.rule).body[place]
        if not isinstance(code, AggregateCode):
            raise TypeError(code)
        exact = dict(node.exacts)[place]
        instance = self.instance(node)
        first = self.of_extreme(node, self.proof.code(node.rule), code, exact)
        shown = nsmallest(
            ROWS_SHOWN, exact.read, key=lambda fact: (fact not in first, fact[0], str(fact[1]))
        )
        count = len(exact.assignments)
        return Step(
            "aggregate",
            self.aggregate_title(literal, instance, count),
            describe_aggregate(instance, literal),
            spell(self.proof.exact_weight(exact)),
            sources=self.aggregate_sources(exact),
            premises=tuple(self.number(fact) for fact in shown),
            hidden=_by_name(literal, exact.read, shown),
            level=self.completeness.of_total(code, exact),
        )

    @staticmethod
    def of_extreme(node: RuleNode, rule: RuleCode, code: AggregateCode, exact: Exact) -> set[Fact]:
        """Find rows that have the least or greatest value, of a few that may have it."""
        if code.function not in {"min", "max"}:
            return set()
        pairs = zip(exact.assignments, exact.targets, strict=True)
        found = islice((cells for cells, target in pairs if target == exact.value), ROWS_SHOWN)
        rows: set[Fact] = set()
        for cells in found:
            binding = node.binding(rule)
            for slot, cell in zip(code.inner, cells, strict=True):
                binding[slot] = cell
            for literal in code.body:
                if isinstance(literal, PositiveCode):
                    atom = literal.atom
                    bound = [binding[slot] if slot >= 0 else None for slot in atom.slots]
                    rows |= {one for one in exact.read if _fits(one, atom.predicate, bound)}
        return rows

    def total_step(self, node: RuleNode, place: int) -> Step:
        """Show the summands that reach a bound: there may be more, and they cannot matter."""
        literal, code = self.program.rules[node.rule].body[place], self.proof.code(node.rule)
        inner = code.body[place]
        if not isinstance(literal, Aggregate) or not isinstance(inner, AggregateCode):
            raise TypeError(literal)
        threshold = inner.threshold
        if threshold is None:
            raise TypeError(literal)
        total = dict(node.totals)[place]
        instance = self.instance(node)
        what = literal.function
        if literal.target is not None:
            what += f" of {name_target(instance, literal)}"
        count = len(total.summands)
        below = list(dict.fromkeys(total.premises()))
        return Step(
            "aggregate",
            f"{what} >= {instance.term(literal.result)} ({_of_rows(literal, count)} listed)",
            describe_aggregate(instance, literal),
            spell(self.proof.total_weight(total, inner)),
            premises=tuple(self.number(fact) for fact in below[:ROWS_SHOWN]),
            hidden=_by_name(literal, below, below[:ROWS_SHOWN]),
            note="" if threshold.proven else "no row that may belong to it is below zero",
        )

    @staticmethod
    def aggregate_title(literal: Aggregate, instance: Instance, count: int) -> str:
        what = literal.function
        if literal.target is not None:
            what += f" of {name_target(instance, literal)}"
        return f"{what} = {instance.term(literal.result)} ({_of_rows(literal, count)})"

    @staticmethod
    def aggregate_sources(exact: Exact) -> tuple[SourceShown, ...]:
        return tuple(source_shown(evidence) for _, evidence in exact.sources)


def _fits(fact: Fact, predicate: str, bound: Sequence[Cell]) -> bool:
    """Tell whether a row has the cells that are bound."""
    pairs = zip(fact[1], bound, strict=True)
    return fact[0] == predicate and all(cell in (None, own) for own, cell in pairs)


def _of_rows(literal: Aggregate, count: int) -> str:
    """Say how many rows are folded: of several relations each is one of all of them together."""
    names = _folded(literal)
    together = f" of {', '.join(names[:-1])} and {names[-1]} together" if len(names) > 1 else ""
    return counted(count, "row") + together


def _folded(literal: Aggregate) -> list[str]:
    """Name the relations whose rows are folded."""
    positive = (one.atom.predicate for one in literal.body if isinstance(one, Positive))
    return list(dict.fromkeys(positive))


def _by_name(
    literal: Aggregate, every: Collection[Fact], shown: Collection[Fact]
) -> tuple[tuple[str, int], ...]:
    """Count the rows that are not shown, for each predicate that has any of all rows."""
    if len(names := _folded(literal)) == 1:
        return ((names[0], len(every) - len(shown)),)
    left = Counter(name for name, _ in every)
    left.subtract(name for name, _ in shown)
    return tuple(left.items())
