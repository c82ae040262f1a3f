"""RDF is parsed by others, says each relation in both forms, and keeps our shapes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, Store, parse

from constat.diagnostics import ConstatError
from constat.proof.export.prov import to_nquads, to_trig, to_turtle
from tests.export.worlds import WORLDS, hostile, hostile_fields, vip
from tests.proof.asking import VIP, analysed, ask, certificate, vip_tables

if TYPE_CHECKING:
    from collections.abc import Callable

PROV = "http://www.w3.org/ns/prov#"
TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
MAKERS = [*(make for _, make in WORLDS), hostile, hostile_fields]
PLAIN = {
    "qualifiedUsage": ("used", "entity"),
    "qualifiedGeneration": ("wasGeneratedBy", "activity"),
    "qualifiedAssociation": ("wasAssociatedWith", "agent"),
    "qualifiedAttribution": ("wasAttributedTo", "agent"),
    "qualifiedDerivation": ("wasDerivedFrom", "entity"),
    "qualifiedPrimarySource": ("hadPrimarySource", "entity"),
    "qualifiedRevision": ("wasRevisionOf", "entity"),
    "qualifiedQuotation": ("wasQuotedFrom", "entity"),
}
Triple = tuple[object, object, object]


def triples(text: str, notation: RdfFormat) -> set[Triple]:
    return {
        (quad.subject, quad.predicate, quad.object)
        for quad in parse(text.encode(), format=notation)
    }


@pytest.mark.parametrize("make", MAKERS)
def test_the_three_notations_say_the_same(make: Callable[[], bytes]) -> None:
    data = make()
    turtle = triples(to_turtle(data), RdfFormat.TURTLE)
    assert turtle == triples(to_trig(data), RdfFormat.TRIG)
    assert turtle == triples(to_nquads(data), RdfFormat.N_QUADS)


@pytest.mark.parametrize("make", MAKERS)
def test_every_relation_stands_in_both_forms(make: Callable[[], bytes]) -> None:
    found = triples(to_turtle(make()), RdfFormat.TURTLE)
    by_subject: dict[object, list[tuple[object, object]]] = {}
    for subject, predicate, target in found:
        by_subject.setdefault(subject, []).append((predicate, target))
    qualified = set()
    for subject, predicate, target in found:
        name = getattr(predicate, "value", "").removeprefix(PROV)
        if name in PLAIN:
            plain, end = PLAIN[name]
            (other,) = [o for p, o in by_subject[target] if p == NamedNode(PROV + end)]
            assert (subject, NamedNode(PROV + plain), other) in found
            qualified.add((subject, plain, other))
    stated = {
        (s, getattr(p, "value", "").removeprefix(PROV), o)
        for s, p, o in found
        if getattr(p, "value", "").removeprefix(PROV) in {plain for plain, _ in PLAIN.values()}
    }
    assert stated == qualified


def test_the_decision_is_a_graph_of_its_own() -> None:
    graphs = {
        quad.graph_name
        for quad in parse(to_trig(vip("is_vip(C1)")).encode(), format=RdfFormat.TRIG)
    }
    bundles = {
        quad.subject
        for quad in parse(to_trig(vip("is_vip(C1)")).encode(), format=RdfFormat.TRIG)
        if quad.predicate == TYPE and quad.object == NamedNode(f"{PROV}Bundle")
    }
    assert bundles < graphs
    assert len(graphs) == 2


def test_there_is_no_blank_node() -> None:
    for subject, _, target in triples(to_turtle(vip("is_vip(C1)")), RdfFormat.TURTLE):
        assert isinstance(subject, NamedNode)
        assert isinstance(target, NamedNode | Literal)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyoxigraph", None)
    with pytest.raises(ConstatError) as caught:
        to_turtle(vip("is_vip(C1)"))
    assert caught.value.diagnostics[0].code == "C0770"
    assert "constat[rdf]" in caught.value.diagnostics[0].help


def shacl(text: str) -> tuple[bool, str]:
    pyshacl = pytest.importorskip("pyshacl")
    rdflib = pytest.importorskip("rdflib")
    data = rdflib.Graph().parse(data=text, format="turtle")
    shapes = rdflib.Graph().parse(Path(__file__).with_name("shapes.ttl"), format="turtle")
    conforms, _, told = pyshacl.validate(data, shacl_graph=shapes)
    return bool(conforms), str(told)


def test_shapes_are_kept_and_would_not_be_by_another_graph() -> None:
    text = to_turtle(vip("is_vip(C3)"))
    conforms, told = shacl(text)
    assert conforms, told
    assert not shacl(text.replace('"PROVED_UNDER"', '"PERHAPS"'))[0]
    assert not shacl(text.replace("prov:hadPlan", "prov:hadNoPlan"))[0]


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS)
def test_shapes_are_kept_by_every_world(make: Callable[[], bytes]) -> None:
    conforms, told = shacl(to_turtle(make()))
    assert conforms, told


def test_the_first_queries_that_one_would_write_answer() -> None:
    store = Store()
    owned = VIP.replace(".decl is_vip", '@[owner = "customer care"]\n.decl is_vip', 1)
    proved = certificate(ask(analysed(owned), "is_vip(C1)", vip_tables()))
    store.bulk_load(to_trig(proved).encode(), format=RdfFormat.TRIG)
    prefix = f"PREFIX prov: <{PROV}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "

    def found(text: str) -> set[tuple[str, ...]]:
        rows = store.query(prefix + text, use_default_graph_as_union=True)
        return {tuple(one.value for one in row) for row in rows}  # type: ignore[union-attr]  # a SELECT

    sources = found(
        "SELECT ?row ?s WHERE { ?r prov:hadPrimarySource ?d . "
        "?r rdfs:label ?row . ?d rdfs:label ?s }"
    )
    assert any(source == "sales" and "(" in row for row, source in sources), sources
    people = found(
        "SELECT ?plan ?who WHERE { ?p a prov:Plan . ?p prov:wasAttributedTo ?w . "
        "?p rdfs:label ?plan . ?w rdfs:label ?who }"
    )
    assert any(who == "customer care" for _, who in people)
    assert {who for _, who in people} == {"customer care", "nobody named"}
