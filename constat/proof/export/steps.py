"""The steps of a certificate, flat and in order: what every other notation is written from."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.logic import Aggregate
from constat.proof.decoding import decode_row
from constat.proof.export.lookups import Lookups, TooManyRowsError
from constat.proof.instances import AggregateCode, NegativeCode, PositiveCode
from constat.proof.render import printable
from constat.proof.sentences import (
    describe_aggregate,
    describe_fact,
    describe_pattern,
    explain,
    words,
)
from constat.proof.written import PROJECTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.logic import Predicate
    from constat.proof.export.document import Document, Members, TextFact, TextRow

# Premises come before the step that rests on them, so a writer needs no recursion and no order of
# its own; each fact is one step however often it is used.

FACT: Final = "fact"
ROW: Final = "row"
RULE: Final = "rule"
ABSENCE: Final = "absence"
AGGREGATE: Final = "aggregate"
CLOSURE: Final = "closure"


@frozen
class Premise:
    """A step that another rests on; ``place`` is the body literal from 1, 0 where there is none."""

    step: int
    place: int = 0


@frozen
class Step:
    """One step.

    ``name`` is that of the certificate's node, or made from it: ``node3``, ``absence3_2``,
    ``aggregate3_1``; ``row1_0`` is a row that only an aggregate counts, ``closure0`` everything
    that can be of a derived predicate.  ``fact`` is the title, ``sentence`` says it, ``reasoning``
    says why a rule gives it.  ``rule``, ``summary``, ``assumption`` and ``sources`` are indices
    into the certificate.  ``level`` is the level of completeness, empty where none is needed.
    """

    name: str
    kind: str
    predicate: str
    row: TextRow
    fact: str
    sentence: str
    reasoning: str = ""
    confidence: str = ""
    rule: int | None = None
    premises: tuple[Premise, ...] = ()
    sources: tuple[int, ...] = ()
    assumption: int | None = None
    level: str = ""
    note: str = ""
    summary: int | None = None


@frozen
class Steps:
    """All steps, and those the verdict rests on."""

    steps: tuple[Step, ...]
    answers: tuple[int, ...]


@frozen
class Counted:
    """The rows an aggregate counts, the level they rest on, and why they are not listed."""

    facts: tuple[TextFact, ...] = ()
    level: str = ""
    note: str = ""
    summary: int | None = None


def steps_of(document: Document) -> Steps:
    """List the steps of a certificate; ``ValueError`` for what is no certificate."""
    try:
        return _Walk(document).finished()
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("this is no certificate: a step has another shape") from None


class _Walk:
    """Goes through the nodes once, and puts what lies between them before each."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.lookups = Lookups(document)
        self.predicates = document.program.program.predicates
        self.steps: list[Step] = []
        self.step_of: dict[TextFact, int] = {}
        self.closures: dict[str, int] = {}
        self.aggregates: dict[tuple[int, int], Counted] = {}
        self.facts = [(node["fact"][0], tuple(node["fact"][1])) for node in document.nodes]
        self.node_of = {fact: number for number, fact in enumerate(self.facts)}
        self.place_of: dict[TextFact, tuple[int, int]] = {}
        for number, group in enumerate(document.facts):
            if document.holds(group):
                for at, row in enumerate(document.rows(number)):
                    self.place_of.setdefault((group["predicate"], row), (number, at))
        self.summaries = {
            (one["rule"], one["literal"], tuple(one["group"])): place
            for place, one in enumerate(document.members["summaries"])
        }

    def finished(self) -> Steps:
        """Return the steps of all nodes, and of the goal's absence where that is the verdict."""
        for number in range(len(self.facts)):
            self.with_premises(number)
        answers = [self.step_of[self.facts[node]] for node in self.document.answers()]
        if self.document.header["verdict"].startswith("DISPROVED"):
            predicate, pattern = self.document.header["goal"]
            answers.append(self.absence("absence", predicate, tuple(pattern)))
        return Steps(tuple(self.steps), tuple(answers))

    def add(self, step: Step) -> int:
        """Add a step and return its number."""
        self.steps.append(step)
        return len(self.steps) - 1

    # ------------------------------------------------------------------------------- nodes

    def with_premises(self, number: int) -> None:
        """Add the step of a node after those it rests on.

        Premises are earlier nodes, but what an aggregate counts may be a later one.
        """
        waiting = [number]
        begun: set[int] = set()
        while waiting:
            number = waiting[-1]
            missing = [
                one for one in self.nodes_below(number) if self.facts[one] not in self.step_of
            ]
            if missing and number in begun:
                raise ValueError("this is no certificate: a node rests on itself")
            begun.add(number)
            waiting += missing
            if not missing:
                self.node(waiting.pop())

    def nodes_below(self, number: int) -> list[int]:
        """Return the nodes that a node rests on, those that its aggregates count with them."""
        if self.facts[number] in self.step_of:
            return []
        node = self.document.nodes[number]
        found: list[int] = []
        for place in range(len(node.get("premises", ()))):
            found += self.document.premises(node, place)
            counted = self.counted(number, place).facts
            found += [self.node_of[fact] for fact in counted if fact in self.node_of]
        return found

    def node(self, number: int) -> None:
        """Add the step of a node, once."""
        fact, node = self.facts[number], self.document.nodes[number]
        if fact in self.step_of:
            return
        if node["kind"] == "rule":
            step = self.applied(number, fact)
        else:
            place = (node["facts"], node["row"])
            step = self.told(f"node{number}", FACT, fact, place, node["confidence"])
        self.step_of[fact] = self.add(step)

    def told(
        self, name: str, kind: str, fact: TextFact, place: tuple[int, int], confidence: str
    ) -> Step:
        """Return the step of a row that a source gave, and that others may have filled."""
        group = self.document.facts[place[0]]
        filled = self.document.fillings.get(place, ())
        assumption = group["assumption"]
        for one in filled:
            assumption = one["assumption"] if assumption is None else assumption
        return Step(
            name,
            kind,
            *fact,
            self.document.atom(*fact),
            self.said(*fact),
            confidence=confidence,
            sources=tuple(dict.fromkeys((group["source"], *(one["source"] for one in filled)))),
            assumption=assumption,
        )

    def said(self, predicate: str, row: TextRow) -> str:
        """Return the sentence of a fact."""
        declared = self.predicates[predicate]
        return printable(
            describe_fact(declared, decode_row(row, declared.kinds), self.document.speech)
        )

    def applied(self, number: int, fact: TextFact) -> Step:
        """Return the step of a rule application."""
        node = self.document.nodes[number]
        premises: dict[Premise, None] = {}
        for place in range(len(node["premises"])):
            for below in self.below(number, place):
                premises[Premise(below, place + 1)] = None
        instance = self.lookups.instance(node)
        return Step(
            f"node{number}",
            RULE,
            *fact,
            self.document.atom(*fact),
            self.said(*fact),
            printable(explain(instance)),
            node["confidence"],
            node["rule"],
            tuple(premises),
            assumption=self.document.rules[node["rule"]]["assumption"],
        )

    def below(self, number: int, place: int) -> list[int]:
        """Return the steps that a body literal rests on."""
        node = self.document.nodes[number]
        literal = self.lookups.code(node["rule"]).body[place]
        if isinstance(literal, AggregateCode):
            return [self.aggregate(number, place, literal)]
        if isinstance(literal, NegativeCode):
            predicate = literal.atom.predicate
            pattern = literal.atom.pattern(self.lookups.binding(node))
            name = f"absence{number}_{place + 1}"
            return [self.absence(name, predicate, self.lookups.texts(predicate, pattern))]
        return [self.step_of[self.facts[one]] for one in self.document.premises(node, place)]

    # -------------------------------------------------------------------- between the nodes

    def absence(self, name: str, predicate: str, row: TextRow) -> int:
        """Add the step of an absence, which rests on who says so and on closed sets."""
        declared = self.predicates[predicate]
        step = Step(
            name,
            ABSENCE,
            predicate,
            row,
            f"!{self.document.atom(predicate, row)}",
            printable(self.not_there(declared, row)),
            premises=self.closed_sets([predicate]),
            sources=tuple(self.document.speakers(predicate, row)),
            level=self.lookups.level(predicate, row),
        )
        return self.add(step)

    def not_there(self, declared: Predicate, row: TextRow) -> str:
        """Return the sentence of an absence."""
        cells = decode_row(row, declared.kinds)
        return describe_pattern(declared, cells, holds=False, speech=self.document.speech)

    def closed_sets(self, predicates: Iterable[str]) -> tuple[Premise, ...]:
        """Return premises for the closed sets of those predicates that have one."""
        closed = [name for name in predicates if self.document.has_closed_set(name)]
        return tuple(Premise(self.closure(name)) for name in dict.fromkeys(closed))

    def closure(self, predicate: str) -> int:
        """Return the step of the closed set of a predicate: all that can be of it."""
        known = self.closures.get(predicate)
        if known is not None:
            return known
        rows = dict(self.document.members["closure"]["rows"]).get(predicate, ())
        speech = self.document.speech
        title = speech.say(
            "all that can be of {0} ({1} rows)",
            "alles, was {0} sein kann ({1} Zeilen)",
            printable(predicate),
            speech.number(len(rows)),
        )
        name = words(printable(predicate).partition(PROJECTION)[0])
        there = speech.counted(len(rows), "row") if rows else speech.say("nothing", "nichts")
        said = speech.say(
            "all that the rules can give of \u2018{0}\u2019: {1}",
            "alles, was die Regeln zu \u201a{0}\u2018 ergeben können: {1}",
            name,
            there,
        )
        sources: dict[int, None] = {}
        for name in self.document.reads(predicate):
            sources.update(dict.fromkeys(self.document.sources_of(name)))
        step = Step(
            f"closure{len(self.closures)}",
            CLOSURE,
            predicate,
            (),
            title,
            said,
            sources=tuple(sources),
            level="C4",
        )
        self.closures[predicate] = self.add(step)
        return self.closures[predicate]

    def aggregate(self, number: int, place: int, literal: AggregateCode) -> int:
        """Add the step of an aggregate: of a threshold its summands, else the rows it counts."""
        node = self.document.nodes[number]
        counted = self.counted(number, place)
        below = [self.row(fact) for fact in counted.facts]
        below += [self.step_of[self.facts[one]] for one in self.document.premises(node, place)]
        premises = [Premise(one) for one in dict.fromkeys(below)]
        if not isinstance(node["premises"][place], list):
            # All rows of the group count, so it matters that there are no more.
            premises += self.closed_sets(self.document.literal_predicates(node, place))
        instance = self.lookups.instance(node)
        stated = instance.rule.body[place]
        if not isinstance(stated, Aggregate):
            raise TypeError(stated)
        step = Step(
            f"aggregate{number}_{place + 1}",
            AGGREGATE,
            "",
            (),
            self.document.instance(node, place),
            printable(describe_aggregate(instance, stated)),
            premises=tuple(premises),
            sources=self.speakers(node, literal, counted.summary),
            level=counted.level,
            note=counted.note,
            summary=counted.summary,
        )
        return self.add(step)

    def counted(self, number: int, place: int) -> Counted:
        """Return what an aggregate of a node counts, found once; nothing for other literals."""
        known = self.aggregates.get((number, place))
        if known is None:
            known = self.aggregates[number, place] = self.count(number, place)
        return known

    def count(self, number: int, place: int) -> Counted:
        """Return what an aggregate of a node counts."""
        node = self.document.nodes[number]
        literal = self.lookups.code(node["rule"]).body[place]
        if not isinstance(literal, AggregateCode):
            return Counted()
        try:
            if isinstance(node["premises"][place], list):
                return Counted(level=self.lookups.threshold_level(node, place))
            read, level = self.lookups.counted(node, place)
        except TooManyRowsError as problem:
            return Counted(note=str(problem))
        group = tuple(node["bind"][slot] for slot in literal.outer)
        summary = self.summaries.get((node["rule"], place, group))
        if summary is not None:
            told = self.document.members["summaries"][summary]
            if len(read.assignments) != told["count"]:
                return Counted(level="C1", note="its rows are not listed here", summary=summary)
        facts = [(name, self.lookups.fact(name, values)) for name, values in read.read]
        return Counted(tuple(sorted(facts, key=self.order)), level, summary=summary)

    def order(self, fact: TextFact) -> tuple[int, int]:
        """Return where a row stands in the certificate."""
        return self.place_of.get(fact, (len(self.document.facts), self.node_of.get(fact, 0)))

    def speakers(
        self, node: Members, literal: AggregateCode, summary: int | None
    ) -> tuple[int, ...]:
        """Return the sources that say which rows an aggregate has."""
        if summary is not None:
            return tuple(self.document.members["summaries"][summary]["sources"])
        binding = self.lookups.binding(node)
        found: dict[int, None] = {}
        for inner in literal.body:
            if isinstance(inner, PositiveCode | NegativeCode):
                predicate = inner.atom.predicate
                texts = self.lookups.texts(predicate, inner.atom.pattern(binding))
                found.update(dict.fromkeys(self.document.speakers(predicate, texts)))
        return tuple(found)

    def row(self, fact: TextFact) -> int:
        """Return the step of a row that an aggregate counts."""
        known = self.step_of.get(fact)
        if known is not None:
            return known
        number, at = self.place_of[fact]
        told = [self.document.facts[number], *self.document.fillings.get((number, at), ())]
        sure = [self.document.sources[one["source"]]["confidence"] for one in told]
        step = self.told(f"row{number}_{at}", ROW, fact, (number, at), min(sure, key=Decimal))
        self.step_of[fact] = self.add(step)
        return self.step_of[fact]


# Besides the assumption that a row or a rule names, these are those of a nested proof, and of an
# absence, an aggregate or a closed set what was declared complete or fell through for it.


def taken_by(document: Document, steps: Sequence[Step]) -> tuple[tuple[int, ...], ...]:
    """Return for each step the assumptions that it rests on by itself."""
    under = frozenset(document.header["under"])
    accepted = [one for one in document.members["open"] if one["assumption"] in under]
    return tuple(tuple(dict.fromkeys(_taken(document, step, accepted))) for step in steps)


def _taken(document: Document, step: Step, accepted: Sequence[Members]) -> Iterator[int]:
    """Yield the assumptions of one step, those of a nested proof included."""
    if step.assumption is not None:
        yield step.assumption
    if step.kind in {FACT, ROW}:
        for source in step.sources:
            proof = document.sources[source].get("proof")
            yield from proof["assumptions"] if proof else ()
    elif step.kind != RULE:
        yield from _closed(document, step, accepted)


def _closed(document: Document, step: Step, accepted: Sequence[Members]) -> Iterator[int]:
    """Yield what was declared complete or fallen through: open rows that count no more."""
    names: Sequence[str] = (step.predicate,)
    if step.kind == CLOSURE:
        names = document.reads(step.predicate)
    elif step.kind == AGGREGATE:
        node, _, literal = step.name.removeprefix("aggregate").partition("_")
        names = document.literal_predicates(document.nodes[int(node)], int(literal) - 1)
    for one in accepted:
        met = one["predicate"] in names
        if met and (step.kind != ABSENCE or meets(one["row"], step.row)):
            yield one["assumption"]


def meets(row: Sequence[str | None], pattern: Sequence[str | None]) -> bool:
    """Tell whether some row can be of both; ``None`` is any value."""
    return all(
        mine is None or cell is None or mine == cell
        for mine, cell in zip(row, pattern, strict=True)
    )
