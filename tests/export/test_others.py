"""Statements, events, crates and inferences keep what their specifications require."""

from __future__ import annotations

import hashlib
import io
import json
import uuid
import zipfile
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from rocrate.rocrate import ROCrate

from constat.proof.export.lineage import to_openlineage
from constat.proof.export.packages import to_in_toto, to_nemo, to_ro_crate
from constat.session import Session
from tests.export.worlds import WORLDS, hostile, hostile_fields, reach, unresolved, vip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAKERS = [*(make for _, make in WORLDS), hostile, hostile_fields]
URI = {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:"}
DIGEST = {
    "type": "object",
    "properties": {"sha256": {"pattern": "^[0-9a-f]{64}$"}},
    "minProperties": 1,
}
FACETS = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "required": ["_producer", "_schemaURL"],
        "properties": {"_producer": URI, "_schemaURL": URI},
    },
}
DATASET = {
    "type": "object",
    "required": ["namespace", "name"],
    "properties": {
        "namespace": {"type": "string", "minLength": 1},
        "name": {"type": "string", "minLength": 1},
        "facets": FACETS,
    },
}
NAMED = {"type": "object", "required": ["namespace", "name"], "properties": {"facets": FACETS}}
# What the specification of OpenLineage 2.0.2 requires of a run event.
RUN_EVENT = {
    "type": "object",
    "required": ["eventTime", "producer", "schemaURL", "run", "job"],
    "properties": {
        "eventType": {"enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]},
        "eventTime": {"type": "string", "format": "date-time"},
        "producer": URI,
        "schemaURL": URI,
        "run": {
            "type": "object",
            "required": ["runId"],
            "properties": {"runId": {"type": "string", "format": "uuid"}, "facets": FACETS},
        },
        "job": NAMED,
        "inputs": {"type": "array", "items": DATASET},
        "outputs": {"type": "array", "items": DATASET},
    },
}
# What the in-toto Attestation Framework requires of a Statement v1.
STATEMENT = {
    "type": "object",
    "required": ["_type", "subject", "predicateType"],
    "additionalProperties": False,
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["digest"],
                "properties": {"name": {"type": "string"}, "digest": DIGEST},
            },
        },
        "predicateType": URI,
        "predicate": {"type": "object"},
    },
}


def valid(value: object, schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    ).validate(value)


@pytest.mark.parametrize("make", MAKERS)
def test_an_event_keeps_the_specification(make: Callable[[], bytes]) -> None:
    data = make()
    began, event = json.loads(to_openlineage(data))
    for one in (began, event):
        valid(one, RUN_EVENT)
    assert (began["eventType"], event["eventType"]) == ("START", "COMPLETE")
    assert began["run"]["runId"] == event["run"]["runId"]
    assert began["eventTime"] <= event["eventTime"]
    uuid.UUID(event["run"]["runId"])
    inputs = {(one["namespace"], one["name"]) for one in event["inputs"]}
    fields = {
        (one["namespace"], one["name"]): {
            field["name"] for field in one["facets"]["schema"]["fields"]
        }
        for one in event["inputs"]
    }
    for column in event["outputs"][0]["facets"]["columnLineage"]["fields"].values():
        for field in column["inputFields"]:
            place = (field["namespace"], field["name"])
            assert place in inputs
            assert field["field"] in fields[place]


def lineage(data: bytes, column: str) -> set[tuple[str, str, str]]:
    (output,) = json.loads(to_openlineage(data))[1]["outputs"]
    found = output["facets"]["columnLineage"]["fields"][column]["inputFields"]
    return {(one["name"], one["field"], one["transformations"][0]["subtype"]) for one in found}


def test_columns_are_followed_through_rules_and_aggregates() -> None:
    data = vip("revenue(C1, ?t)")
    assert lineage(data, "total") == {("order_line", "amount", "AGGREGATION")}
    assert lineage(data, "c") == {
        ("customer", "c", "IDENTITY"),
        ("order_line", "c", "IDENTITY"),
    }
    # Through recursion, and a count counts what stands in its body.
    assert lineage(reach("reach(A, C)"), "b") == {("owns", "b", "IDENTITY")}
    assert ("owns", "b", "AGGREGATION") in lineage(reach("reached(A, 3)"), "n")


def test_an_event_says_what_was_decided() -> None:
    told = json.loads(to_openlineage(unresolved()))[1]["run"]["facets"]["constatDecision"]
    assert told["verdict"] == "UNRESOLVED"
    assert told["missing"] == ["tier(C2, gold)"]


def test_a_data_set_is_known_by_the_tables_of_its_database(still_shop: Path) -> None:
    with Session(still_shop) as session:
        certificate = session.prove("is_vip(C001)").certificate
    _, event = json.loads(to_openlineage(certificate))
    tables = {
        (one["namespace"], one["name"])
        for read in event["inputs"]
        for one in read["facets"].get("symlinks", {"identifiers": []})["identifiers"]
    }
    # The name that a query gives to its own rows is none of a table.
    assert tables == {("sales", "customers"), ("sales", "orders"), ("sales", "blocked_customers")}


@pytest.mark.parametrize("make", MAKERS)
def test_a_statement_names_the_bytes_of_the_certificate(make: Callable[[], bytes]) -> None:
    data = make()
    statement = json.loads(to_in_toto(data))
    valid(statement, STATEMENT)
    (subject,) = statement["subject"]
    assert subject["digest"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert statement["predicate"]["verdict"] == json.loads(data)["header"]["verdict"]


@pytest.mark.parametrize("make", MAKERS)
def test_every_premise_is_the_conclusion_of_an_earlier_inference(
    make: Callable[[], bytes],
) -> None:
    trace = json.loads(to_nemo(make()))
    known: set[str] = set()
    for inference in trace["inferences"]:
        assert set(inference) == {"ruleName", "conclusion", "premises"}
        assert set(inference["premises"]) <= known
        known.add(inference["conclusion"])
    assert set(trace["finalConclusion"]) <= known


def test_texts_of_inferences_are_quoted_so_that_equal_means_equal() -> None:
    conclusions = [one["conclusion"] for one in json.loads(to_nemo(hostile()))["inferences"]]
    assert len(set(conclusions)) == len(conclusions)
    assert 'noted("]]>&lt;&amp;\\"\'")' in conclusions


@pytest.mark.parametrize("make", [dict(WORLDS)["proved"], dict(WORLDS)["under"], hostile])
def test_a_crate_is_read_by_the_library_and_holds_the_certificate(
    make: Callable[[], bytes], tmp_path: Path
) -> None:
    data = make()
    path = tmp_path / "proof.crate.zip"
    path.write_bytes(to_ro_crate(data))
    crate = ROCrate(path)
    run = crate.get("#run")
    assert run is not None
    assert run.type == "CreateAction"
    assert run["instrument"].type == "SoftwareApplication"
    assert run["result"].id == "certificate.proof.json"
    assert len(run["object"]) == len(json.loads(data)["sources"])
    archive = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    assert archive.testzip() is None
    assert archive.read("certificate.proof.json") == data
    described = {
        part["@id"] for part in json.loads(archive.read("ro-crate-metadata.json"))["@graph"]
    }
    assert set(archive.namelist()) <= described
    for entity in crate.get_entities():
        if "sha256" in entity:
            assert entity["sha256"] == hashlib.sha256(archive.read(entity.id)).hexdigest()


def test_a_crate_names_the_people_whose_word_it_rests_on(tmp_path: Path) -> None:
    path = tmp_path / "proof.zip"
    path.write_bytes(to_ro_crate(vip("is_vip(C3)")))
    people = [one["name"] for one in ROCrate(path).get_by_type("Person")]
    assert people == ["alice"]


def test_the_same_certificate_gives_the_same_crate() -> None:
    assert to_ro_crate(vip("is_vip(C1)")) == to_ro_crate(vip("is_vip(C1)"))
