"""What rows of each strength become, also where an open shape covers them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from constat.analysis import analyse_or_raise
from constat.diagnostics import Span
from constat.engine import LazyEngine
from constat.evaluation import Assumption, Limits, Verdict, ignore_event
from constat.logic import (
    OPEN,
    Atom,
    Column,
    Kind,
    Negative,
    Positive,
    Predicate,
    Program,
    Rule,
    Source,
    Variable,
)
from constat.session.answers import Settled
from constat.session.query_text import Query
from constat.session.querying import answer_query, compile_query
from tests.oracle.naive import World
from tests.property.tables import SOME_TIME, TableExternal, tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constat.evaluation import Evidence
    from constat.logic import OpenRow, Row, Term
    from constat.session import Answers
    from constat.session.answers import RowVerdict

CLOSED = Assumption("closure", "project", "the project declares it complete")
SAID = Assumption("fact", "p(2)", "alice says so")
NOWHERE = Span("<goal>", 1, 1, 1, 1)


def ask(
    rows: tuple[tuple[OpenRow, Assumption | None], ...],
    openings: tuple[tuple[OpenRow, Assumption | None], ...],
    *terms: Term,
) -> Answers:
    columns = tuple(Column(f"c{place}", "number", Kind.NUMBER) for place in range(len(terms)))
    predicate = Predicate("p", columns, Source({"source": "memory"}))
    program = analyse_or_raise(Program({"p": predicate}, ()))
    world = World({"p": rows}, {"p": openings})  # type: ignore[dict-item]  # ground rows
    shown = tuple(
        Column(term.name, "number", Kind.NUMBER) for term in terms if isinstance(term, Variable)
    )
    query = Query((Positive(Atom("p", terms)),), shown, "p", NOWHERE)
    return answer_query(
        LazyEngine(),
        compile_query(query, program),
        tables(program, world),
        Limits(),
        created=SOME_TIME,
        confidence=False,
        observe=ignore_event,
    )


def verdicts(answers: Answers) -> dict[object, RowVerdict]:
    return {row.values[0]: row.verdict for row in answers}


def test_each_strength_has_its_verdict() -> None:
    answers = ask((((1,), None), ((2,), SAID)), (((3,), None), ((4,), CLOSED)), Variable("x"))
    assert verdicts(answers) == {
        1: Verdict.PROVED,
        2: Verdict.PROVED_UNDER,
        3: Verdict.UNRESOLVED,
    }
    assert (answers.settled, answers.open_shapes, answers.excluded) == (Settled.OPEN, 0, 1)
    assert [len(answers.rows.only([verdict])) for verdict in Verdict] == [1, 1, 1, 0, 0]


def test_a_row_that_an_open_shape_covers_is_possible() -> None:
    answers = ask((), (((4,), CLOSED), ((OPEN,), None)), Variable("x"))
    assert verdicts(answers) == {4: Verdict.UNRESOLVED}
    assert (answers.open_shapes, answers.excluded) == (1, 0)


def test_a_shape_that_an_assumption_closes_leaves_the_set_settled_under_it() -> None:
    answers = ask((((1,), None),), (((OPEN,), CLOSED),), Variable("x"))
    assert verdicts(answers) == {1: Verdict.PROVED}
    assert (answers.settled, answers.open_shapes, answers.excluded) == (Settled.UNDER, 0, 1)
    assert answers.assumptions == (CLOSED,)


def test_only_what_no_assumption_closes_is_a_reason() -> None:
    answers = ask((), (((4,), CLOSED), ((5,), None), ((6,), None)), Variable("x"))
    assert [(one.reason, one.count) for one in answers.reasons] == [("the source did not say", 2)]


def number(name: str) -> Predicate:
    return Predicate(name, (Column("c", "number", Kind.NUMBER),), Source({"source": "memory"}))


def derived(rules: tuple[Rule, ...], world: World, weights: Mapping[str, str]) -> Answers:
    predicates = {"p": number("p"), "q": number("q"), "r": replace(number("r"), source=None)}
    program = analyse_or_raise(Program(predicates, rules))
    externals = {
        name: Weighed(predicates[name], world, Decimal(weights.get(name, "1"))) for name in "pq"
    }
    goal = Query((Positive(Atom("r", (X,))),), (Column("x", "number", Kind.NUMBER),), "r", NOWHERE)
    return answer_query(
        LazyEngine(),
        compile_query(goal, program),
        externals,
        Limits(),
        created=SOME_TIME,
        confidence=True,
        observe=ignore_event,
    )


class Weighed(TableExternal):
    """A table of a source that is not wholly trusted."""

    def __init__(self, predicate: Predicate, world: World, confidence: Decimal) -> None:
        super().__init__(predicate, world)
        self._confidence = confidence

    def _evidence(self, rows: Iterable[Row], assumption: Assumption | None) -> Evidence:
        return replace(super()._evidence(rows, assumption), confidence=self._confidence)


X = Variable("x")


def test_a_row_that_rests_on_an_absence_names_what_closes_it() -> None:
    rule = Rule("r.1", Atom("r", (X,)), (Positive(Atom("p", (X,))), Negative(Atom("q", (X,)))))
    world = World({"p": (((1,), None),), "q": ()}, {"p": (), "q": (((OPEN,), CLOSED),)})
    answers = derived((rule,), world, {})
    assert verdicts(answers) == {1: Verdict.PROVED_UNDER}
    assert answers.rows[0].assumptions == (CLOSED,)


def test_the_confidence_of_a_row_is_that_of_its_best_proof() -> None:
    rules = tuple(
        Rule(f"r.{place}", Atom("r", (X,)), (Positive(Atom(name, (X,))),))
        for place, name in enumerate("pq", start=1)
    )
    rows = (((1,), None),)
    world = World({"p": rows, "q": rows}, {"p": (), "q": ()})
    for weights in ({"p": "0.5", "q": "0.9"}, {"p": "0.9", "q": "0.5"}):
        answers = derived(rules, world, weights)
        assert verdicts(answers) == {1: Verdict.PROVED}
        assert answers.rows[0].confidence == Decimal("0.9")
