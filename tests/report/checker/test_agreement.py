"""Two checkers that share no code say the same about the same bytes.

What is compared: whether a certificate is accepted, its verdict, exit code, confidence and levels;
of a forgery, which is wrong in its logic and for one reason, also the reason.  ``FORMS`` are the
codes of passes that come before the logic, each checker in its own order.
"""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from constat import Session
from constat.check import check_certificate
from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.proof import decide
from constat.proof.report.markup import checker_source
from tests.check import corpus
from tests.check.catalog import GOOD, good, small
from tests.check.forged_commitments import FORGERIES, forge
from tests.check.mutants import mutants
from tests.check.writer import seal
from tests.examples.projects import copy_example, readme_goals
from tests.proof.asking import certificate
from tests.property.owners import owner_cases
from tests.property.strategies import Case, cases
from tests.property.tables import STRICT, Manner, tables
from tests.property.test_decision_laws import decided
from tests.property.test_null_laws import null_cases
from tests.report.checker.approved import CASES as APPROVED
from tests.report.checker.cases import CASES
from tests.report.checker.second_checker import SecondChecker, node
from tests.report.checker.variants import mended, variant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.check.writer import Tree

pytestmark = pytest.mark.skipif(node() is None, reason="no Node.js: neither on the path nor here")

# These passes read forms before anything is concluded, each checker in an order of its own.
FORMS: Final = frozenset(
    {
        *("json", "canonical", "depth", "number", "text", "size", "schema", "value", "order"),
        *("kind", "digest", "identity", "program", "pin", "declaration", "rule", "safety"),
        *("strata", "source", "attestation", "assumption", "coverage", "closure", "summary"),
        *("proof", "header", "missing", "premise"),
    }
)
MANNERS: Final = st.builds(Manner, st.booleans(), st.booleans(), st.booleans())
LARGEST_BASE: Final = 60_000


@pytest.fixture(scope="module")
def second() -> Iterator[SecondChecker]:
    checker = SecondChecker(checker_source())
    yield checker
    checker.close()


def said(report: Any) -> tuple[object, ...]:  # noqa: ANN401  of the first checker
    return report.accepted, report.verdict, report.exit_code, report.confidence


def said_second(report: dict[str, Any]) -> tuple[object, ...]:
    return report["accepted"], report["verdict"], report["exitCode"], report["confidence"]


def agreed(
    second: SecondChecker, data: bytes, name: str = "", *, one_reason: bool = True
) -> dict[str, Any]:
    """Return the second report; fails where the first checker says something else."""
    first, other = check_certificate(data), second.check(data)
    where = f"{name}: {first.code} {first.place} {first.reason} | {other}"
    assert said_second(other) == said(first), where
    if first.accepted:
        assert levels_of_second(other) == levels_of(first), where
    elif one_reason and first.code != other["reasonCode"]:
        assert {first.code, other["reasonCode"]} & FORMS, where
    return other


def levels_of(report: Any) -> list[tuple[object, ...]]:  # noqa: ANN401
    found = [(one.node, one.premise, one.level, one.rests_on) for one in report.levels]
    return sorted([(report.level,), *found], key=repr)


def levels_of_second(report: dict[str, Any]) -> list[tuple[object, ...]]:
    names = ("node", "literal", "level", "restsOn")
    found = [tuple(one[name] for name in names) for one in report["levels"]]
    return sorted([(report["level"],), *found], key=repr)


@pytest.mark.laws
def test_they_agree_on_good_certificates(second: SecondChecker) -> None:
    for name in GOOD:
        data = good(name).data()
        report = agreed(second, data, name)
        assert report["accepted"]
        first = check_certificate(data)
        assert (report["identity"], report["program"]) == (first.identity, first.program)
        assert len(report["nodes"]) == first.nodes
        assert all(one["ok"] for one in report["nodes"])


@pytest.mark.laws
def test_they_agree_on_the_corpus(second: SecondChecker) -> None:
    forgeries = [(name, *forge(name, 0)) for name in FORGERIES]
    for kind, given_cases in (
        ("forgery", [(name, seal(tree), code) for name, code, tree in forgeries]),
        ("damage", corpus.damaged()),
        ("program", corpus.judged()),
    ):
        for name, data, code in given_cases:
            assert agreed(second, data, f"{kind} {name}")["accepted"] == (code is None), name


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("name", CASES)
def test_they_agree_on_a_case(second: SecondChecker, name: str) -> None:
    data, expected = CASES[name]()
    report = agreed(second, data, name)
    assert (report["verdict"] or report["reasonCode"]) == expected
    assert (check_certificate(data).code or report["verdict"]) == expected


@pytest.mark.parametrize("name", APPROVED)
def test_they_agree_on_approvals(second: SecondChecker, name: str) -> None:
    data, expected = APPROVED[name]()
    report = agreed(second, data, name)
    assert (report["verdict"] or report["reasonCode"]) == expected
    assert (check_certificate(data).code or report["verdict"]) == expected


def test_they_agree_on_mutants(second: SecondChecker) -> None:
    for name in small():
        for path, what, tree in mutants(good(name).tree, 2999):
            agreed(second, seal(tree), f"{name} {path} {what}", one_reason=False)


def follow(second: SecondChecker, tree: Tree, name: str) -> int:
    """Compare what is said of a variant, also with the confidences that are asked for."""
    for tried in range(8):
        report = agreed(second, seal(tree), name, one_reason=False)
        if report["accepted"] or not mended(tree, report["place"], report["reason"]):
            return tried + 1
    return tried + 1


def variants(rng: random.Random) -> Iterator[tuple[str, Tree]]:
    names = [name for name in small() if len(good(name).data()) < LARGEST_BASE]
    while True:
        name = rng.choice(names)
        yield name, variant(rng, good(name, rng.randrange(3)).tree)


def test_they_agree_on_variants(second: SecondChecker) -> None:
    found = variants(random.Random("few"))
    for _ in range(80):
        name, tree = next(found)
        follow(second, tree, name)


def certificate_of(case: Case, manner: Manner, *, exhaust: bool) -> bytes:
    externals = tables(case.program, case.world, manner)
    return certificate(
        decide(LazyEngine(), case.program, case.goal, externals, Limits(), exhaust=exhaust)
    )


@given(st.one_of(cases(), owner_cases()), MANNERS, st.booleans(), st.integers(0, 2**32))
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_they_agree_on_random_programs(
    second: SecondChecker,
    case: Case,
    manner: Manner,
    exhaust: bool,  # noqa: FBT001  drawn
    seed: int,
) -> None:
    data = certificate_of(case, manner, exhaust=exhaust)
    assert agreed(second, data)["accepted"]
    tree, rng = json.loads(data), random.Random(seed)
    for _ in range(4):
        follow(second, variant(rng, tree), "variant")


@given(null_cases())
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_they_agree_over_null_cells(second: SecondChecker, case: Case) -> None:
    data = certificate(decided(case, STRICT))
    assert agreed(second, data)["accepted"]
    for path, what, mutant in list(mutants(json.loads(data), 997))[:40]:
        agreed(second, seal(mutant), f"{path} {what}", one_reason=False)


@pytest.mark.slow
def test_they_agree_on_every_mutant(second: SecondChecker) -> None:
    """All single-place mutants of all small certificates are half a million; a tenth, then."""
    for name in small():
        for path, what, tree in mutants(good(name, 1).tree, 10):
            agreed(second, seal(tree), f"{name} {path} {what}", one_reason=False)


@pytest.mark.slow
def test_they_agree_on_many_variants(second: SecondChecker) -> None:
    found = variants(random.Random(time.time_ns()))
    compared = 0
    while compared < 60_000:
        name, tree = next(found)
        compared += follow(second, tree, name)


@pytest.mark.slow
@given(st.one_of(cases(), owner_cases()), MANNERS, st.booleans(), st.integers(0, 2**32))
@settings(
    max_examples=800,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_they_agree_on_many_random_programs(
    second: SecondChecker,
    case: Case,
    manner: Manner,
    exhaust: bool,  # noqa: FBT001  drawn
    seed: int,
) -> None:
    data = certificate_of(case, manner, exhaust=exhaust)
    assert agreed(second, data)["accepted"]
    tree, rng = json.loads(data), random.Random(seed)
    for _ in range(50):
        follow(second, variant(rng, tree), f"variant {seed}")


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize(
    ("name", "library"), [("ownership", "ownership-control"), ("access", "access-control")]
)
def test_they_agree_on_an_example(
    second: SecondChecker, tmp_path: Path, name: str, library: str
) -> None:
    goals = readme_goals(name)
    assert len(goals) > 1
    with Session(copy_example(name, library, tmp_path)) as session:
        found = [session.prove(goal).certificate for goal in goals]
    for goal, data in zip(goals, found, strict=True):
        assert agreed(second, data, goal)["accepted"]
