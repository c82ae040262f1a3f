"""Random graphs of owners, with rules whose recursion runs through a threshold.

In: nothing.  Out: cases whose thresholds fire often, in circles, too: who controls whom by summed
shares, and what spreads once enough neighbours have it.  Shares may be negative, open, or
somebody's word; the rules differ in how a summand is kept from being negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from constat.analysis import analyse_or_raise
from constat.evaluation import Assumption
from constat.logic import OPEN, Atom, Constant, Kind, OpenRow, Row, Term, Variable
from constat.syntax import parse_text
from tests.oracle.naive import World
from tests.property.rules import DOMAIN
from tests.property.strategies import Case

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram

CONTROL = """
.pragma "constat" "0.1"
.decl own(x: symbol, y: symbol, w: number)
.input own(source="memory")
.decl limit(y: symbol, k: number)
.input limit(source="memory")
.decl barred(x: symbol)
.input barred(source="memory")
.decl holds(x: symbol, via: symbol, y: symbol, w: number)
holds(?x, ?x, ?y, ?w) :- own(?x, ?y, ?w).
holds(?x, ?z, ?y, ?w) :- controls(?x, ?z), own(?z, ?y, ?w), ?x != ?z.
.decl controls(x: symbol, y: symbol)
controls(?x, ?y) :- holds(?x, _, ?y, _), THRESHOLD.
.decl held(y: symbol)
held(?y) :- controls(_, ?y).
.decl free(y: symbol)
free(?y) :- own(?y, _, _), !held(?y).
.decl controlled(x: symbol, n: number)
controlled(?x, ?n) :- own(?x, _, _), ?n = count : { controls(?x, _) }.
"""

SPREAD = """
.pragma "constat" "0.1"
.decl own(x: symbol, y: symbol, w: number)
.input own(source="memory")
.decl limit(y: symbol, k: number)
.input limit(source="memory")
.decl barred(x: symbol)
.input barred(source="memory")
.decl hit(x: symbol)
hit(?x) :- own(?x, ?x, _).
hit(?x) :- limit(?x, ?k), THRESHOLD.
.decl safe(x: symbol)
safe(?x) :- limit(?x, _), !hit(?x).
"""

HELD = "sum ?w : { holds(?x, _via, ?y, ?w) } > 3"
THRESHOLDS = (
    (CONTROL, HELD),
    (CONTROL, "sum ?w : { holds(?x, _via, ?y, ?w), ?w >= 0 } > 3"),
    (CONTROL, "limit(?y, ?k), ?s = sum ?w : { holds(?x, _via, ?y, ?w) }, ?s >= ?k"),
    (CONTROL, "limit(?y, ?k), ?k + 1 < sum ?w : { holds(?x, _via, ?y, ?w), 0 <= ?w }"),
    (CONTROL, "3 <= sum ?w * 2 : { holds(?x, ?via, ?y, ?w), !barred(?via), ?w > 0 }"),
    (CONTROL, "sum ?w : { holds(?x, ?via, ?y, ?w), !barred(?via) } >= 3"),
    (CONTROL, "sum ?w - 2 : { holds(?x, _via, ?y, ?w), ?w >= 0 } >= 1"),
    (CONTROL, "count : { holds(?x, _via, ?y, _w) } >= 2"),
    (SPREAD, "count : { hit(?y), own(?y, ?x, _w) } >= ?k"),
    (SPREAD, "sum ?w : { hit(?y), own(?y, ?x, ?w) } > ?k"),
    (SPREAD, "sum ?w : { hit(?y), own(?y, ?x, ?w), ?w >= 0, !barred(?y) } > ?k"),
)
NEGATIVE = -1


@dataclass(frozen=True, slots=True)
class Ways:
    """What a world may have besides plain rows."""

    open: bool = True
    assumed: bool = True
    negative: bool = True


def program(rules: str, threshold: str) -> AnalysedProgram:
    """Analyse one of the programs."""
    diagnostics: list[object] = []
    found = parse_text(rules.replace("THRESHOLD", threshold), "owners.dl", diagnostics)  # type: ignore[arg-type]
    assert diagnostics == []
    return analyse_or_raise(found)


PROGRAMS = tuple(program(*one) for one in THRESHOLDS)


@st.composite
def owner_cases(draw: st.DrawFn, ways: Ways | None = None) -> Case:
    """Give a program, a graph and a goal."""
    ways = ways or Ways()
    chosen = draw(st.sampled_from(PROGRAMS))
    world = draw(_worlds(ways))
    names = [name for name in chosen.program.predicates if name not in chosen.external]
    name = draw(st.sampled_from([*names, "controls" if "controls" in names else "hit"]))
    terms: list[Term] = []
    for place, kind in enumerate(chosen.program.predicates[name].kinds):
        if draw(st.integers(0, 2)) == 0:
            terms.append(Variable(f"g{place}"))
        else:
            terms.append(Constant(draw(st.sampled_from(DOMAIN[kind])), kind))
    return Case(chosen, world, Atom(name, tuple(terms)))


@st.composite
def _worlds(draw: st.DrawFn, ways: Ways) -> World:
    nodes = st.sampled_from(DOMAIN[Kind.SYMBOL])
    numbers = st.sampled_from([*DOMAIN[Kind.NUMBER][1:], *([NEGATIVE] if ways.negative else [])])
    share: st.SearchStrategy[Row] = st.tuples(nodes, nodes, numbers)
    shares = st.lists(share, min_size=2, max_size=8, unique=True)
    found: dict[str, list[Row]] = {
        "own": draw(shares),
        "limit": [(node, draw(st.integers(0, 3))) for node in DOMAIN[Kind.SYMBOL]],
        "barred": draw(st.lists(st.tuples(nodes), max_size=1)),
    }
    rows = {
        name: tuple((row, draw(_word(name, row, ways))) for row in some)
        for name, some in found.items()
    }
    openings: dict[str, tuple[tuple[OpenRow, Assumption | None], ...]] = {}
    if ways.open and draw(st.booleans()):
        slots = st.one_of(nodes, st.just(OPEN)), st.one_of(nodes, st.just(OPEN))
        shapes = st.tuples(*slots, st.one_of(st.just(OPEN), numbers))
        openings["own"] = tuple((shape, None) for shape in draw(st.lists(shapes, max_size=2)))
    return World(rows, openings)


def _word(name: str, row: Row, ways: Ways) -> st.SearchStrategy[Assumption | None]:
    if not ways.assumed:
        return st.none()
    said = Assumption("fact", f"{name}{row}", f"{name}{row} is alice's word", Decimal("0.7"))
    return st.sampled_from([None, None, None, None, said])
