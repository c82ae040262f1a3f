"""Random small programs, worlds and goals, safe and stratified by construction.

Predicates stand in layers: a rule negates and aggregates over lower layers only and may use its
own layer positively, which gives recursion and mutual recursion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from hypothesis import settings
from hypothesis import strategies as st

from constat.analysis import AnalysedProgram, analyse
from constat.evaluation import Assumption
from constat.logic import (
    OPEN,
    Atom,
    Branch,
    Column,
    Constant,
    Kind,
    OpenRow,
    Predicate,
    Program,
    Row,
    Slot,
    Source,
    Term,
    TypeDefinition,
    Variable,
)
from tests.oracle.naive import World, evaluate
from tests.property.rules import DOMAIN, TREE, RuleDraw, Shape, counter
from tests.property.showing import show_case

if TYPE_CHECKING:
    from hypothesis.vendor.pretty import RepresentationPrinter

    from constat.diagnostics import Diagnostic

_CLOSED_BY_WORD = Assumption(
    "closure", "project", "the project declares it complete", Decimal("0.9")
)


@dataclass(frozen=True, repr=False)
class Case:
    """A program, what is outside, and a goal."""

    program: AnalysedProgram
    world: World
    goal: Atom

    def __repr__(self) -> str:
        return show_case(self.program, self.world, self.goal)

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:  # noqa: FBT001  hypothesis asks
        printer.text(repr(self))


_TYPE = TypeDefinition(
    TREE,
    "algebraic",
    (),
    branches=(
        Branch("$None", ()),
        Branch("$Leaf", (Column("n", "number"),)),
        Branch("$Node", (Column("s", "symbol"), Column("t", TREE))),
    ),
)
FULL = Shape()
STRUCTURED = Shape(structures=True)
STRUCTURED_EXACT = Shape(open=False, assumed=False, errors=False, structures=True)
HALF: Final = settings(max_examples=max(1, settings().max_examples // 2))
EXACT = Shape(open=False, assumed=False, errors=False)


@st.composite
def _predicates(
    draw: st.DrawFn, prefix: str, least: int, most: int, shape: Shape
) -> list[Predicate]:
    listed = [Kind.NUMBER, Kind.NUMBER, Kind.SYMBOL]
    if prefix != "e":
        listed = [Kind.NUMBER] * 4 + [Kind.SYMBOL] * 3 + [Kind.FLOAT]
    kinds = st.sampled_from(listed + [Kind.STRUCTURE] * (4 * shape.structures))
    columns = st.sampled_from([1, 1, 1, 2, 2, 2, 3, 0]).flatmap(
        lambda arity: st.lists(kinds, min_size=arity, max_size=arity)
    )
    rows = draw(st.lists(columns, min_size=least, max_size=most))
    return [
        Predicate(
            f"{prefix}{place}",
            tuple(Column(f"c{i}", _type_name(kind), kind) for i, kind in enumerate(kinds)),
            # A predicate may have rules and a source; most derived ones have rules only.
            Source({"source": "memory"})
            if prefix == "e" or draw(st.integers(0, 11)) > 10
            else None,
        )
        for place, kinds in enumerate(rows)
    ]


def _type_name(kind: Kind) -> str:
    return TREE if kind is Kind.STRUCTURE else kind.value


@st.composite
def programs(draw: st.DrawFn, shape: Shape = FULL) -> AnalysedProgram:
    """Give an analysed program with one to three layers over one to four external predicates."""
    external = draw(_predicates("e", 2, 4, shape))
    lower, rules = list(external), []
    for depth in range(draw(st.integers(1, 3))):
        layer = draw(_predicates("pqr"[depth], 1, 2, shape))
        for predicate in layer:
            drawing = [RuleDraw(draw, shape, lower, layer) for _ in range(draw(st.integers(1, 3)))]
            rules += [one.rule(predicate, number) for number, one in enumerate(drawing, 1)]
            if predicate.kinds == (Kind.NUMBER,) and draw(st.integers(0, 9)) == 9:
                rules.append(counter(predicate, 9))
        lower = lower + layer
    types = {TREE: _TYPE} if shape.structures else {}
    return analysed(Program({one.name: one for one in lower}, tuple(rules), types))


def analysed(program: Program) -> AnalysedProgram:
    """Analyse a program that is right; shows the diagnostics where it is not."""
    diagnostics: list[Diagnostic] = []
    found = analyse(program, diagnostics)
    assert found is not None, diagnostics
    return found


@st.composite
def worlds(draw: st.DrawFn, program: AnalysedProgram, shape: Shape = FULL) -> World:
    """Give rows and openings for the external predicates."""
    rows, openings = {}, {}
    for name in sorted(program.external):
        predicate = program.program.predicates[name]
        least = draw(st.integers(0, min(3, _combinations(predicate))))
        found = draw(st.lists(_row(predicate), min_size=least, max_size=6, unique=True))
        if found and shape.assumed and draw(st.integers(0, 9)) == 9:
            found.append(found[0])  # the same row from two tiers
        rows[name] = tuple(
            dict.fromkeys(
                (row, draw(_fact_assumption(name, row)) if shape.assumed else None) for row in found
            )
        )
        if shape.open and draw(st.integers(0, 9)) >= 4:
            patterns = draw(st.lists(_open_row(predicate), min_size=1, max_size=2, unique=True))
            words = st.sampled_from([None, None, _CLOSED_BY_WORD] if shape.assumed else [None])
            openings[name] = tuple((pattern, draw(words)) for pattern in patterns)
    return World(rows, openings)


def _combinations(predicate: Predicate) -> int:
    return math.prod(len(DOMAIN[kind]) for kind in predicate.kinds)


def _row(predicate: Predicate) -> st.SearchStrategy[Row]:
    return st.tuples(*(st.sampled_from(DOMAIN[kind]) for kind in predicate.kinds))


def _open_row(predicate: Predicate) -> st.SearchStrategy[OpenRow]:
    columns: list[st.SearchStrategy[Slot]] = [
        st.sampled_from([OPEN, OPEN, OPEN, *DOMAIN[kind]]) for kind in predicate.kinds
    ]
    return st.tuples(*columns)


def _fact_assumption(name: str, row: Row) -> st.SearchStrategy[Assumption | None]:
    text = f"{name}{row} is taken on alice's word"
    said = Assumption("fact", f"{name}{row}", text, Decimal("0.7"))
    fell = Assumption("fall-through", "database", "the database did not answer", Decimal(1))
    return st.sampled_from([None, None, None, None, said, fell])


@st.composite
def goals(draw: st.DrawFn, program: AnalysedProgram, world: World) -> Atom:
    """Give a goal, ground, partly bound or free; most often about rows that may be there."""
    names = list(program.program.predicates)
    relations = evaluate(program, world, accepted=False)
    name = draw(st.sampled_from(names[-3:] * 2 + names))
    row: OpenRow = draw(_row(program.program.predicates[name]))
    if draw(st.integers(0, 3)) and relations[name]:
        row = draw(st.sampled_from(list(relations[name])))
    free = draw(st.sampled_from([0, 0, 5, 10]))
    terms: list[Term] = []
    for place, (slot, kind) in enumerate(
        zip(row, program.program.predicates[name].kinds, strict=True)
    ):
        if draw(st.integers(0, 9)) < free:
            terms.append(Variable(f"g{place}"))
        else:
            value = draw(st.sampled_from(DOMAIN[kind])) if slot is OPEN else slot
            terms.append(Constant(value, kind))
    return Atom(name, tuple(terms))


@st.composite
def cases(draw: st.DrawFn, shape: Shape = FULL) -> Case:
    """Give a program, a world for it, and a goal."""
    program = draw(programs(shape))
    world = draw(worlds(program, shape))
    return Case(program, world, draw(goals(program, world)))


@st.composite
def answered(draw: st.DrawFn, program: AnalysedProgram, world: World) -> World:
    """Give a world in which more is known: each opening is kept, or replaced by rows inside it."""
    rows = {name: list(found) for name, found in world.rows.items()}
    openings = {}
    for name, patterns in world.openings.items():
        kinds = program.program.predicates[name].kinds
        kept = []
        for pattern, assumption in patterns:
            fate = draw(st.sampled_from(["keep", "add", "close", "close"]))
            if fate != "keep":
                inside = st.tuples(
                    *(
                        st.sampled_from(DOMAIN[kind]) if slot is OPEN else st.just(slot)
                        for slot, kind in zip(pattern, kinds, strict=True)
                    )
                )
                rows[name] += [(row, None) for row in draw(st.lists(inside, max_size=2))]
            if fate != "close":
                kept.append((pattern, assumption))
        openings[name] = tuple(kept)
    return World({name: tuple(dict.fromkeys(found)) for name, found in rows.items()}, openings)
