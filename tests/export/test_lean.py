"""What is written for the checker in Lean is a proof by its own rule, or is refused by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from constat.diagnostics import ConstatError
from constat.proof.export.packages import to_lean, to_lean_ordered
from tests.check.catalog import good, small
from tests.export.worlds import hostile, reach, unresolved, vip
from tests.proof.asking import Table, analysed, ask, certificate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Members = dict[str, Any]


def bindings(atom: Members, fact: Members, known: dict[str, str]) -> dict[str, str] | None:
    found = dict(known)
    if atom["symbol"] != fact["symbol"] or len(atom["terms"]) != len(fact["terms"]):
        return None
    for term, cell in zip(atom["terms"], fact["terms"], strict=True):
        value = cell["constant"]
        if "constant" in term and term["constant"] != value:
            return None
        if "variable" in term and found.setdefault(term["variable"], value) != value:
            return None
    return found


def locally_valid(vertex: Members, predecessors: list[Members], program: list[Members]) -> bool:
    """The rule of CertifyingDatalog: an instance of a rule, its body the predecessors in order."""
    for rule in program:
        found = bindings(rule["head"], vertex, {})
        if found is None or len(rule["body"]) != len(predecessors):
            continue
        for atom, below in zip(rule["body"], predecessors, strict=True):
            found = None if found is None else bindings(atom, below, found)
        if found is not None:
            return True
    return False


def checked(data: bytes) -> list[Members]:
    """Check the graph as that checker does, and return its vertices."""
    graph = json.loads(to_lean(data))
    ordered = json.loads(to_lean_ordered(data))
    assert graph["program"] == ordered["program"]
    edges, labels = graph["graph"]["edges"], ordered["graph"]["edges"]
    for place, (edge, one) in enumerate(zip(edges, labels, strict=True)):
        assert edge["vertex"] == one["label"]
        assert all(below < place for below in one["predecessors"])
        assert edge["predecessors"] == [labels[below]["label"] for below in one["predecessors"]]
        assert locally_valid(edge["vertex"], edge["predecessors"], graph["program"])
    return [edge["vertex"] for edge in edges]


def positive() -> Iterator[tuple[str, Callable[[], bytes]]]:
    yield "reach", lambda: reach("reach(A, C)")
    yield "hostile", hostile
    for name in small():
        members = json.loads(good(name).data())
        rules = [members["rules"][one["rule"]] for one in members["nodes"] if one["kind"] == "rule"]
        plain = all(
            literal[0] == "+" and all(term[0] != "f" for term in literal[1][1])
            for rule in rules
            for literal in rule["body"]
        ) and all(term[0] != "f" for rule in rules for term in rule["head"][1])
        if members["header"]["verdict"].startswith("PROVED") and plain:
            yield name, good(name).data


POSITIVE = dict(positive())


def test_every_positive_proof_is_valid_by_the_rule_of_that_checker() -> None:
    assert len(POSITIVE) > 10
    for name, make in POSITIVE.items():
        data = make()
        vertices = checked(data)
        facts = [tuple(node["fact"][1]) for node in json.loads(data)["nodes"]]
        assert [tuple(cell["constant"] for cell in one["terms"]) for one in vertices] == facts, name


def test_the_rule_of_that_checker_can_fail() -> None:
    graph = json.loads(to_lean(reach("reach(A, C)")))
    edge = graph["graph"]["edges"][-1]
    assert edge["predecessors"]
    edge["vertex"]["terms"][0]["constant"] = "Z"
    assert not locally_valid(edge["vertex"], edge["predecessors"], graph["program"])


def test_everything_else_is_refused_and_named() -> None:
    for name in small():
        if name in POSITIVE:
            continue
        for write in (to_lean, to_lean_ordered):
            with pytest.raises(ConstatError) as caught:
                write(good(name).data())
            (diagnostic,) = caught.value.diagnostics
            assert (diagnostic.code, bool(diagnostic.note)) == ("C0771", True), name
            assert diagnostic.help


def computed() -> bytes:
    rules = """
    .decl base(x: number)
    .input base(source="s", query="q")
    .decl followed(x: number)
    followed(?x) :- base(?x), base(?x + 1).
    """
    return certificate(ask(analysed(rules), "followed(1)", {"base": Table(((1,), (2,)))}))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: vip("is_vip(C1)"), "rule revenue.1: literal 2 aggregates"),
        (lambda: vip("is_vip(C3)"), "rule is_vip.2: literal 2 negates an atom"),
        (lambda: vip("is_vip(C2)"), "the verdict is DISPROVED"),
        (computed, "rule followed.1: literal 2 computes a value"),
        (unresolved, "the verdict is UNRESOLVED"),
    ],
)
def test_the_refusal_says_what_is_outside(make: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(ConstatError, match="the checker in Lean") as caught:
        to_lean(make())
    assert reason in caught.value.diagnostics[0].message
