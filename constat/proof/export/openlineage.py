"""Write a certificate as an OpenLineage event: one run of a job, its data sets, column lineage.

In: the bytes of a certificate.  Out: one JSON object, a ``COMPLETE`` event of OpenLineage 2.0.2.
Invariants: the run has the same UUID whenever the same certificate is exported; inputs are the
answers of sources that the proof shows or rests on, by predicate; there are no rows in it.

The job is the goal's predicate, its output the predicate's relation.  What OpenLineage has no facet
for (verdict, query, hash) stands in facets whose names begin with ``constat``.
Reference: openlineage.io/spec.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Final

from constat.proof.export.column_lineage import Lineage
from constat.proof.export.document import Document
from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final = "https://openlineage.io/spec/facets"
_PRODUCER: Final = "urn:constat:engine"
_OWN: Final = "urn:constat:facet"
_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:constat:run")
_KINDS: Final = (("number", "int64"), ("unsigned", "uint64"), ("float", "double"))

Members = dict[str, Any]


def to_openlineage(certificate: bytes) -> str:
    """Return the event; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    predicate = document.header["goal"][0]
    output = {
        "namespace": "constat",
        "name": printable(predicate),
        "facets": {"schema": _schema(document, predicate), "columnLineage": _lineage(document)},
    }
    event = {
        "eventType": "COMPLETE",
        "eventTime": document.record["created"],
        "producer": _PRODUCER,
        "schemaURL": _SCHEMA,
        "run": {"runId": str(uuid.uuid5(_NAMESPACE, document.members["digest"])), **_run(document)},
        "job": {"namespace": "constat", "name": printable(predicate), "facets": _job(document)},
        "inputs": list(_inputs(document)),
        "outputs": [output],
    }
    return json.dumps(event, indent=1) + "\n"


def _facet(schema: str, **members: object) -> Members:
    return {"_producer": _PRODUCER, "_schemaURL": schema, **members}


def _run(document: Document) -> Members:
    header = document.header
    decision = _facet(
        f"{_OWN}:decision",
        verdict=header["verdict"],
        goal=document.goal(),
        confidence=header["confidence"],
        level=header["level"],
        identity=document.identity,
        assumptions=[printable(document.assumptions[one]["text"]) for one in header["under"]],
        missing=[document.atom(*missing) for missing in document.members["missing"]],
    )
    engine = _facet(
        f"{_FACETS}/1-1-1/ProcessingEngineRunFacet.json",
        name="constat",
        version=printable(document.record["engine"]).removeprefix("constat "),
    )
    return {"facets": {"constatDecision": decision, "processing_engine": engine}}


def _job(document: Document) -> Members:
    kind = _facet(
        f"{_FACETS}/2-0-3/JobTypeJobFacet.json",
        processingType="BATCH",
        integration="CONSTAT",
        jobType="DECISION",
    )
    rules = _facet(
        f"{_OWN}:rules",
        program=document.header["program"],
        rules=[printable(" ".join(text.split())) for text in document.rule_texts],
    )
    return {"jobType": kind, "constatRules": rules}


def _inputs(document: Document) -> Iterator[Members]:
    """Give each relation of a source once, with all answers it gave."""
    found: dict[tuple[str, str], list[int]] = {}
    for predicate, place in _spoken(document):
        key = (_namespace(document.sources[place]), predicate)
        places = found.setdefault(key, [])
        if place not in places:
            places.append(place)
    for (namespace, predicate), places in found.items():
        facets = {
            "schema": _schema(document, predicate),
            "constatSource": _source(document, places),
        }
        snapshot = document.sources[places[0]]["snapshot"]
        version = snapshot or document.sources[places[0]]["hash"]
        facets["version"] = _facet(
            f"{_FACETS}/1-0-1/DatasetVersionDatasetFacet.json", datasetVersion=printable(version)
        )
        yield {"namespace": namespace, "name": printable(predicate), "facets": facets}


def _spoken(document: Document) -> Iterator[tuple[str, int]]:
    for group in document.facts:
        yield group["predicate"], group["source"]
    for coverage in document.members["coverage"]:
        for place in coverage["sources"]:
            yield coverage["predicate"], place


def _namespace(source: Members) -> str:
    name = printable(source["name"] or source["tier"])
    return f"constat:{source['origin'].lower()}:{name}"


def _source(document: Document, places: list[int]) -> Members:
    answers = [
        {
            "query": printable(document.sources[place]["query"] or ""),
            "parameters": [printable(one) for one in document.sources[place]["parameters"]],
            "rows": document.sources[place]["rows"],
            "hash": document.sources[place]["hash"],
            "readAt": document.record["executed"][place],
        }
        for place in places
    ]
    return _facet(f"{_OWN}:source", answers=answers)


def _schema(document: Document, predicate: str) -> Members:
    columns = document.program.program.predicates[predicate].columns
    fields = [
        {
            "name": printable(column.name),
            "type": dict(_KINDS).get(column.kind.value, column.kind.value.lower()),
        }
        for column in columns
    ]
    return _facet(f"{_FACETS}/1-2-0/SchemaDatasetFacet.json", fields=fields)


def _lineage(document: Document) -> Members:
    predicate = document.header["goal"][0]
    namespaces: dict[str, list[str]] = {}
    for name, place in _spoken(document):
        known = namespaces.setdefault(name, [])
        namespace = _namespace(document.sources[place])
        if namespace not in known:
            known.append(namespace)
    lineage = Lineage(document)
    names = document.columns
    fields = {
        printable(column): {
            "inputFields": [
                {
                    "namespace": namespace,
                    "name": printable(one.predicate),
                    "field": printable(names[one.predicate][one.column]),
                    "transformations": [{"type": "DIRECT", "subtype": one.how}],
                }
                for one in lineage.inputs(predicate, place)
                for namespace in namespaces.get(one.predicate, ())
            ]
        }
        for place, column in enumerate(names[predicate])
    }
    return _facet(f"{_FACETS}/1-2-0/ColumnLineageDatasetFacet.json", fields=fields)
