"""A certificate in a parcel: an in-toto statement about it, or an RO-Crate around it."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from constat.proof.export.document import Document
from constat.proof.export.prov import to_prov_json
from constat.proof.export.tables import to_csv, zipped
from constat.proof.render import printable

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "constat:decision/v1"


def to_in_toto(certificate: bytes) -> str:
    """Return the statement; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    header, record = document.header, document.record
    members = {
        "_type": STATEMENT,
        "subject": [
            {
                "name": document.goal(),
                "digest": {"sha256": hashlib.sha256(certificate).hexdigest()},
            }
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "goal": document.goal(),
            "verdict": header["verdict"],
            "confidence": header["confidence"],
            "search": header["search"],
            "level": header["level"],
            "identity": document.identity,
            "program": header["program"],
            "decidedAt": record["created"],
            "engine": printable(record["engine"]),
            "assumptions": [
                printable(document.assumptions[place]["text"]) for place in header["under"]
            ],
            "missing": [document.atom(*missing) for missing in document.members["missing"]],
            "sources": [
                {
                    "name": printable(source["name"]),
                    "origin": source["origin"],
                    "digest": {"sha256": source["hash"].removeprefix("sha256:")},
                    "readAt": time,
                }
                for source, time in zip(document.sources, record["executed"], strict=True)
            ],
        },
    }
    return json.dumps(members, indent=1) + "\n"


_METADATA: Final = "ro-crate-metadata.json"
_CERTIFICATE: Final = "certificate.proof.json"
_PROVENANCE: Final = "provenance.prov.json"
_STEPS: Final = "steps.csv"
_CRATE: Final = "https://w3id.org/ro/crate/1.1"
_PROFILE: Final = "https://w3id.org/ro/wfrun/process/0.5"

Members = dict[str, Any]


def to_ro_crate(certificate: bytes) -> bytes:
    """Return the crate; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    files = {
        _CERTIFICATE: certificate,
        _PROVENANCE: to_prov_json(certificate).encode(),
        _STEPS: to_csv(certificate).encode(),
    }
    graph = [
        _descriptor(),
        _root(document, list(files)),
        {"@id": _PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        *(_file(name, content) for name, content in files.items()),
        *_run(document),
        *_data(document),
    ]
    metadata = {"@context": f"{_CRATE}/context", "@graph": graph}
    text = json.dumps(metadata, indent=1) + "\n"
    return zipped([(_METADATA, text.encode()), *files.items()])


def _descriptor() -> Members:
    return {
        "@id": _METADATA,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": _CRATE},
    }


def _root(document: Document, names: list[str]) -> Members:
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": document.verdict(),
        "description": f"The decision about {document.goal()} with its proof, which "
        "`constat verify` checks without the engine that made it.",
        "datePublished": document.record["created"],
        "identifier": document.identity,
        "license": {"@id": "#rights"},
        "conformsTo": {"@id": _PROFILE},
        "hasPart": [{"@id": name} for name in names],
        "mentions": [{"@id": "#run"}],
    }


def _file(name: str, content: bytes) -> Members:
    told = {
        _CERTIFICATE: ("The certificate, profile constat-cert", "application/json"),
        _PROVENANCE: ("The provenance of the decision in PROV-JSON", "application/json"),
        _STEPS: ("The steps of the proof, one on each line", "text/csv"),
    }
    title, encoding = told[name]
    return {
        "@id": name,
        "@type": "File",
        "name": title,
        "encodingFormat": encoding,
        "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _run(document: Document) -> list[Members]:
    engine = printable(document.record["engine"])
    people = {
        f"#author-{place}": printable(source["author"])
        for place, source in enumerate(document.sources)
        if source["author"] is not None and source["origin"] == "USER_PROVIDED"
    }
    return [
        {
            "@id": "#rights",
            "@type": "CreativeWork",
            "name": "Rights in the data",
            "description": "The rows shown here belong to the sources they were read from.",
        },
        {"@id": "#engine", "@type": "SoftwareApplication", "name": engine, "version": engine},
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": f"Decision about {document.goal()}",
            "instrument": {"@id": "#engine"},
            "agent": [{"@id": "#engine"}, *({"@id": name} for name in people)],
            "object": [{"@id": f"#source-{place}"} for place in range(len(document.sources))],
            "result": {"@id": _CERTIFICATE},
            "endTime": document.record["created"],
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
        *({"@id": name, "@type": "Person", "name": person} for name, person in people.items()),
    ]


def _data(document: Document) -> list[Members]:
    return [
        {
            "@id": f"#source-{place}",
            "@type": "PropertyValue",
            "name": printable(source["name"] or source["tier"]),
            "description": printable(source["query"] or source["origin"]),
            "value": source["hash"],
            "dateModified": document.record["executed"][place] or document.record["created"],
        }
        for place, source in enumerate(document.sources)
    ]
