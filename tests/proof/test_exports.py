"""Exports are read back by the libraries of their formats."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import networkx as nx
import pytest
from prov.model import ProvDocument

from constat.proof.export import to_graphml, to_prov_json
from tests.proof.asking import (
    REACH,
    VIP,
    Table,
    analysed,
    ask,
    certificate,
    reach_tables,
    vip_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

GOALS = ["is_vip(C1)", "is_vip(C2)", "is_vip(C3)", "is_vip(?c)", "revenue(C1, ?t)"]


def vip(goal: str, **other: Table) -> bytes:
    return certificate(ask(analysed(VIP), goal, vip_tables(**other)))


def graph_of(data: bytes) -> nx.DiGraph[str]:
    graph = nx.read_graphml(io.BytesIO(to_graphml(data).encode()))
    assert isinstance(graph, nx.DiGraph)
    return graph


def provenance_of(data: bytes) -> ProvDocument:
    return ProvDocument.deserialize(content=to_prov_json(data), format="json")


def labels(graph: nx.DiGraph[str], names: Iterable[str]) -> set[str]:
    return {graph.nodes[name]["label"] for name in names}


@pytest.mark.parametrize("goal", GOALS)
def test_graphml_holds_every_node_of_the_certificate(goal: str) -> None:
    data = vip(goal)
    graph = graph_of(data)
    document = json.loads(data)
    kinds = [values["kind"] for _, values in graph.nodes(data=True)]
    assert kinds.count("rule") == sum(n["kind"] == "rule" for n in document["nodes"]) + len(
        document["rules"]
    )
    assert kinds.count("source") == len(document["sources"])
    assert nx.is_directed_acyclic_graph(graph)


def test_graphml_leads_from_the_goal_to_its_sources() -> None:
    graph = graph_of(vip("is_vip(C1)"))
    below = nx.descendants(graph, "goal")
    assert {"is_vip(C1)", "revenue(C1, 150060)", "threshold(100000)"} <= labels(graph, below)
    assert any(graph.nodes[name].get("query") == "SELECT * FROM order_line" for name in below)


def test_graphml_says_in_which_place_of_the_body_a_premise_stands() -> None:
    graph = graph_of(vip("is_vip(C1)"))
    roles = {values["role"] for _, _, values in graph.edges(data=True)}
    assert {"answer", "rule", "source", "body 1", "body 4: !blocked(C1)"} <= roles


def test_what_is_missing_stands_in_the_graph() -> None:
    graph = graph_of(vip("is_vip(C2)", tier=Table(silent=True)))
    assert labels(graph, graph.successors("goal")) == {"tier(C2, gold)"}


def test_text_that_xml_forbids_is_escaped() -> None:
    rules = analysed('.decl p(x: symbol)\n.input p(source="s", query="q")\n')
    data = certificate(ask(rules, "p(?x)", {"p": Table((("a\x01<&\"'>",),))}))
    assert "p(a\\x01<&\"'>)" in labels(graph_of(data), graph_of(data).nodes)


@pytest.mark.parametrize("goal", GOALS)
def test_prov_json_is_read_back_and_written_the_same(goal: str) -> None:
    provenance = provenance_of(vip(goal))
    again = ProvDocument.deserialize(content=provenance.serialize(format="json"), format="json")
    assert again == provenance
    assert provenance.has_bundles() is False


def section(data: bytes, name: str) -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(to_prov_json(data)).get(name, {})
    return list(found.values())


def test_every_rule_application_is_an_activity_with_its_rule_as_plan() -> None:
    data = vip("is_vip(C1)")
    steps = [node for node in json.loads(data)["nodes"] if node["kind"] == "rule"]
    planned = [one for one in section(data, "wasAssociatedWith") if "prov:plan" in one]
    assert len(planned) == len(steps)


def test_premises_are_used_with_their_place_as_role() -> None:
    roles = [one.get("prov:role") for one in section(vip("is_vip(C1)"), "used")]
    assert {"body 1", "body 2", "body 4"} <= set(roles)


def test_each_fact_is_derived_from_its_source_as_primary() -> None:
    data = vip("is_vip(C1)")
    facts = [node for node in json.loads(data)["nodes"] if node["kind"] == "fact"]
    primary = [one for one in section(data, "wasDerivedFrom") if "prov:type" in one]
    assert len(primary) == len(facts)


def test_whose_word_it_is_and_what_is_assumed_are_recorded() -> None:
    data = vip("is_vip(C3)")
    document = json.loads(to_prov_json(data))
    people = [one["prov:label"] for one in document["agent"].values()]
    assert "alice" in people
    assumed = [one.get("prov:role") for one in section(data, "used")]
    assert "assumption" in assumed


def test_logical_steps_carry_no_time() -> None:
    document = json.loads(to_prov_json(vip("is_vip(C1)")))
    timed = [name for name, one in document["activity"].items() if "prov:endTime" in one]
    assert timed
    assert not any(name.startswith("proof:step") for name in timed)


def test_a_proof_with_recursion_and_counting_is_exported() -> None:
    data = certificate(ask(analysed(REACH), "reached(A, 3)", reach_tables()))
    kinds = {str(one["prov:type"]) for one in json.loads(to_prov_json(data))["entity"].values()}
    assert any("prov:Collection" in kind for kind in kinds)
    assert graph_of(data).has_node("goal")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format":"constat-cert/1"}', b"\xff"])
def test_what_is_no_certificate_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="this is no certificate"):
        to_graphml(data)
    with pytest.raises(ValueError, match="this is no certificate"):
        to_prov_json(data)
