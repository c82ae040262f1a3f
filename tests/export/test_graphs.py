"""Graphs are read back by networkx, and lead from the goal to what it rests on."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

import networkx as nx
import pytest

from constat.proof.export import graph as graphs
from constat.proof.export.graph import proof_graph, to_gexf, to_graphml, to_node_link
from constat.session import Session
from tests.export.worlds import WORLDS, unresolved, vip
from tests.report.certificates import good

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Graph = nx.DiGraph[str]


def of_graphml(data: bytes) -> Graph:
    graph = nx.read_graphml(io.BytesIO(to_graphml(data).encode()))
    assert isinstance(graph, nx.DiGraph)
    return graph


def of_gexf(data: bytes) -> Graph:
    graph = nx.read_gexf(io.BytesIO(to_gexf(data).encode()))
    assert isinstance(graph, nx.DiGraph)
    return graph


def of_node_link(data: bytes) -> Graph:
    graph = nx.node_link_graph(json.loads(to_node_link(data)), edges="edges")
    assert isinstance(graph, nx.DiGraph)
    return graph


READERS = (of_graphml, of_gexf, of_node_link)


def labels(graph: Graph, names: Iterable[str]) -> set[str]:
    return {graph.nodes[name]["label"] for name in names}


@pytest.mark.parametrize("make", [make for _, make in WORLDS], ids=[name for name, _ in WORLDS])
def test_the_three_notations_hold_the_same_graph(make: Callable[[], bytes]) -> None:
    data = make()
    graphs = [read(data) for read in READERS]
    shown = [
        (
            {name: (told["kind"], told["label"]) for name, told in graph.nodes(data=True)},
            set(graph.edges),
        )
        for graph in graphs
    ]
    assert shown[0] == shown[1] == shown[2]
    assert nx.is_directed_acyclic_graph(graphs[0])
    names = set(graphs[0])
    assert {f"node{at}" for at in range(len(json.loads(data)["nodes"]))} <= names
    assert {f"source{at}" for at in range(len(json.loads(data)["sources"]))} <= names


@pytest.mark.parametrize("read", READERS)
def test_a_node_names_the_assumptions_that_it_rests_on(read: Callable[[bytes], Graph]) -> None:
    nodes = read(good()["disproved_under"]).nodes
    assert nodes["closure0"]["assumption"] == "bob vouches that no tier is missing"
    assert not nodes["absence"].get("assumption")


@pytest.mark.parametrize("read", READERS)
def test_the_goal_leads_to_its_sources(read: Callable[[bytes], Graph]) -> None:
    graph = read(vip("is_vip(C1)"))
    below = nx.descendants(graph, "goal")
    assert {"is_vip(C1)", "revenue(C1, 150060)", "threshold(100000)", "!blocked(C1)"} <= labels(
        graph, below
    )
    assert any(graph.nodes[name].get("query") == "SELECT * FROM order_line" for name in below)


def test_an_edge_says_in_which_places_of_the_body_it_stands() -> None:
    graph = of_graphml(vip("is_vip(C1)"))
    roles = {told["role"] for _, _, told in graph.edges(data=True)}
    assert {"answer", "rule", "source", "body 1", "body 4", "over"} <= roles


def test_what_is_missing_stands_in_the_graph() -> None:
    graph = of_node_link(unresolved())
    assert labels(graph, graph.successors("goal")) == {"tier(C2, gold)"}


def test_what_is_assumed_stands_in_the_graph() -> None:
    graph = of_node_link(vip("is_vip(C3)"))
    assert "alice says tier(C3, gold)" in labels(graph, graph.successors("goal"))


@pytest.mark.parametrize("make", [make for _, make in WORLDS], ids=[name for name, _ in WORLDS])
def test_the_graph_of_a_proof_has_the_attributes_that_are_documented(
    make: Callable[[], bytes],
) -> None:
    graph = proof_graph(make())
    named = set(re.findall(r"`([a-z_]+)`", documented()))
    assert {name for _, node in graph.nodes(data=True) for name in node} <= named
    assert all(node["kind"] in named and node["label"] for _, node in graph.nodes(data=True))
    for _, _, edge in graph.edges(data=True):
        assert edge.keys() == {"role"}
        assert all(role.partition(" ")[0] in ROLES for role in edge["role"].split("; "))
    assert graph.graph["id"].startswith("sha256:")


ROLES = {"body", "over", "rule", "source", "answer", "assumption", "missing"}


def documented() -> str:
    assert graphs.__doc__ is not None
    return graphs.__doc__


def test_a_result_gives_its_proof_as_a_graph(still_shop: Path) -> None:
    with Session(still_shop) as session:
        result = session.prove("is_vip(C001)")
    graph = result.graph()
    assert graph.graph["id"] == json.loads(to_node_link(result.certificate))["graph"]["identity"]
    below = nx.descendants(graph, "goal")
    # The program's rules are all there; those that the proof does not use stand alone.
    assert {graph.nodes[name]["kind"] for name in set(graph) - below} == {"goal", "rule"}
    sources = [name for name in below if graph.nodes[name]["kind"] == "source"]
    assert sources
    assert not any(graph.out_degree(name) for name in sources)
    graph.clear()
    assert len(result.graph()) > 1


def test_equal_proofs_give_equal_files() -> None:
    data = vip("is_vip(C1)")
    for write in (to_graphml, to_gexf, to_node_link):
        assert write(data) == write(data)
        assert "networkx" not in write(data).lower().replace("networkx.org", "")
