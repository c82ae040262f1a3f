"""Write an in-toto Statement about a certificate: which bytes prove which verdict.

In: the bytes of a certificate.  Out: one JSON object, unsigned.  Invariants: the subject is the
certificate's bytes by their sha256, so the statement speaks about one file; the predicate repeats
only what that file says.  Reference: in-toto Attestation Framework, Statement v1.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from constat.proof.export.document import Document
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
