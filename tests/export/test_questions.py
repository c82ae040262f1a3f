"""The same questions have the same answers in every RDF notation and in the certificate itself."""

from __future__ import annotations

import json
from functools import cache

import pytest
from pyoxigraph import QuerySolutions, RdfFormat, Store

from constat.proof.decoding import Members, read_members
from constat.proof.export.prov import to_nquads, to_trig, to_turtle
from tests.export.questions import PREFIXES, QUESTIONS, Answer, everything, supporting
from tests.export.worlds import WORLDS

NOTATIONS = (
    (to_turtle, RdfFormat.TURTLE),
    (to_trig, RdfFormat.TRIG),
    (to_nquads, RdfFormat.N_QUADS),
)


@cache
def stores(world: str) -> tuple[Store, ...]:
    content = dict(WORLDS)[world]()
    found = []
    for write, notation in NOTATIONS:
        store = Store()
        store.load(write(content).encode(), format=notation)
        found.append(store)
    return tuple(found)


def answer(store: Store, query: str) -> Answer:
    # The proof lies in a graph of its own, and what is said about it outside: both are asked.
    found = store.query(PREFIXES + query, use_default_graph_as_union=True)
    assert isinstance(found, QuerySolutions)
    return {tuple(str(cell.value) for cell in solution) for solution in found}


def read_everything(certificate: bytes) -> list[Members]:
    """Return a certificate and those nested in it, all their cells as texts."""
    return [read_members(json.dumps(one)) for one in everything(json.loads(certificate))]


@pytest.mark.parametrize("world", [name for name, _ in WORLDS])
def test_each_question_has_one_answer_everywhere(world: str) -> None:
    certificates = read_everything(dict(WORLDS)[world]())
    for name, query, told in QUESTIONS:
        found = [answer(store, query) for store in stores(world)]
        expected = set().union(*map(told, certificates))
        assert found == [expected] * len(NOTATIONS), name


def test_each_question_has_an_answer_somewhere() -> None:
    certificates = [read_members(make()) for _, make in WORLDS]
    assert [name for name, _, told in QUESTIONS if not any(map(told, certificates))] == []


@pytest.mark.parametrize("world", ["proved", "all", "under", "recursive", "counted", "attested"])
def test_the_decision_leads_to_every_row_that_supports_it(world: str) -> None:
    query = (
        "SELECT ?p ?v { ?d a constat:Decision; (prov:wasDerivedFrom|prov:hadMember)+ ?r."
        " ?r a constat:Row; constat:predicate ?p; prov:value ?v }"
    )
    expected = supporting(json.loads(dict(WORLDS)[world]()))
    assert [answer(store, query) for store in stores(world)] == [expected] * len(NOTATIONS)
