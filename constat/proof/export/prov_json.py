"""Write a certificate as PROV-JSON.

In: the bytes of a certificate.  Out: one JSON document with a bundle for each decision.  Invariant:
it says what ``prov_mapping`` says and nothing else.  See the W3C submission PROV-JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from constat.proof.export.prov_mapping import provenance
from constat.proof.export.prov_records import NAMESPACES, Element, Name, Record, Value

if TYPE_CHECKING:
    from constat.proof.canonical import Json

_OF_PROV = frozenset({"label", "value"})


def to_prov_json(certificate: bytes) -> str:
    """Return the proof as PROV-JSON; ``ValueError`` for what is no certificate."""
    told = provenance(certificate)
    members = _sections(told.records)
    members["prefix"] = {prefix: full for prefix, full in NAMESPACES if prefix != "prov"}
    members["bundle"] = {
        str(bundle.name): {"prefix": {"proof": bundle.namespace}, **_sections(bundle.records)}
        for bundle in told.bundles
    }
    return json.dumps(members, indent=1) + "\n"


def _sections(records: tuple[Record, ...]) -> dict[str, Json]:
    sections: dict[str, dict[str, Json]] = {}
    for place, record in enumerate(records):
        section = sections.setdefault(record.section, {})
        if isinstance(record, Element):
            section[str(record.name)] = _element(record)
        else:
            # A relation without a name still needs one to stand in an object; `_:` says so.
            name = f"_:r{place}" if record.name is None else str(record.name)
            members: dict[str, Json] = {f"prov:{key}": str(end) for key, end in record.ends}
            if record.kind is not None:
                members["prov:type"] = _value(record.kind)
            if record.role is not None:
                members["prov:role"] = _value(record.role)
            section[name] = members
    return dict(sections)


def _element(element: Element) -> Json:
    members: dict[str, Json] = {}
    if element.ended is not None:
        members["prov:endTime"] = element.ended
    types = [_value(one) for one in element.types]
    if types:
        members["prov:type"] = types if len(types) > 1 else types[0]
    for key, value in element.values:
        members[f"{'prov' if key in _OF_PROV else 'constat'}:{key}"] = _value(value)
    return members


def _value(value: Value) -> Json:
    if isinstance(value, Name):
        return {"$": str(value), "type": "prov:QUALIFIED_NAME"}
    return value
