"""A supposed world is the real one but for what is supposed, on random programs and worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from constat.check import check_certificate
from constat.engine import LazyEngine
from constat.evaluation import Verdict
from constat.proof import build_certificate, decide
from constat.proof.overlay import Overlay, Removal, overlaid
from constat.proof.proofs import FactNode
from tests.oracle.naive import World
from tests.property.rules import DOMAIN
from tests.property.running import LIMITS
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import SOME_TIME, Manner, tables

if TYPE_CHECKING:
    from constat.logic import Row
    from constat.proof import Decision

FEW = settings(max_examples=max(1, settings().max_examples // 2))
YES = {Verdict.PROVED, Verdict.PROVED_UNDER}
NO = {Verdict.DISPROVED, Verdict.DISPROVED_UNDER}


@st.composite
def overlays(draw: st.DrawFn, case: Case) -> Overlay:
    """Give rows to add, and to remove some that are there."""
    added, removed = [], []
    for name in sorted(case.program.external):
        kinds = case.program.program.predicates[name].kinds
        row = st.tuples(*(st.sampled_from(DOMAIN[kind]) for kind in kinds))
        added += [(name, one) for one in draw(st.lists(row, max_size=2, unique=True))]
        there = [one for one, _ in case.world.rows.get(name, ())]
        if there:
            chosen = draw(st.lists(st.sampled_from(there), max_size=2, unique=True))
            removed += [Removal(name, one) for one in chosen if (name, one) not in added]
    return Overlay(tuple(added), tuple(removed))


@st.composite
def supposed_cases(draw: st.DrawFn) -> tuple[Case, Overlay]:
    case = draw(cases(EXACT))
    return case, draw(overlays(case))


def decided(case: Case, overlay: Overlay) -> Decision:
    externals = overlaid(tables(case.program, case.world, Manner()), case.program, overlay)
    return decide(LazyEngine(), case.program, case.goal, externals, LIMITS)


def changed(world: World, overlay: Overlay) -> World:
    """Give the world in which what is supposed is so."""
    hidden = {(one.predicate, one.pattern) for one in overlay.removed}
    rows: dict[str, dict[Row, None]] = {
        name: {row: None for row, _ in found if (name, row) not in hidden}
        for name, found in world.rows.items()
    }
    for name, row in overlay.added:
        rows.setdefault(name, {})[row] = None
    return World({name: tuple((row, None) for row in found) for name, found in rows.items()}, {})


@FEW
@given(supposed_cases())
def test_a_supposed_verdict_is_that_of_the_world_it_supposes(
    given_case: tuple[Case, Overlay],
) -> None:
    case, overlay = given_case
    supposed = decided(case, overlay)
    real = decided(Case(case.program, changed(case.world, overlay), case.goal), Overlay())
    assert (supposed.verdict in YES) == (real.verdict in YES)
    assert (supposed.verdict in NO) == (real.verdict in NO)


@FEW
@given(supposed_cases())
def test_a_verdict_without_suppositions_is_that_of_the_real_world(
    given_case: tuple[Case, Overlay],
) -> None:
    case, overlay = given_case
    supposed, real = decided(case, overlay), decided(case, Overlay())
    if supposed.verdict in {Verdict.PROVED, Verdict.DISPROVED}:
        assert supposed.verdict is real.verdict
    for one in supposed.assumptions:
        assert one.text.startswith("supposed: ")


@FEW
@given(supposed_cases())
def test_the_checker_accepts_each_hypothetical_certificate(
    given_case: tuple[Case, Overlay],
) -> None:
    supposed = decided(*given_case)
    report = check_certificate(
        build_certificate(supposed, created=SOME_TIME, engine_version="constat test")
    )
    assert report.accepted, report.to_text()
    assert report.verdict == supposed.verdict.value


def leaves_of(decision: Decision) -> set[tuple[str, Row]]:
    return {fact for fact, node in decision.proof.nodes.items() if isinstance(node, FactNode)}


@FEW
@given(cases(EXACT))
def test_a_proof_does_not_outlive_the_rows_it_rests_on(case: Case) -> None:
    leaves = leaves_of(decided(case, Overlay()))
    removed = tuple(Removal(*fact) for fact in sorted(leaves, key=str))
    assert leaves.isdisjoint(leaves_of(decided(case, Overlay(removed=removed))))
