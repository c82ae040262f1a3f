r"""Write a certificate as PROV-N, the notation for people of W3C PROV.

In: the bytes of a certificate.  Out: one text with a bundle for each decision.  Invariant: it says
what ``prov_mapping`` says and nothing else.  See www.w3.org/TR/prov-n.

Example: ``used(proof:usage-node4-0; proof:apply-node4, proof:node2, -,
[prov:role='constat:body-1'])``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.proof.export.prov_mapping import provenance
from constat.proof.export.prov_records import NAMESPACES, Element, Name, Record, Relation, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

# The arguments of each relation, in the order of the notation; one that is not given is a dash.
_ARGUMENTS: Final = MappingProxyType(
    {
        "wasGeneratedBy": ("entity", "activity", "time"),
        "used": ("activity", "entity", "time"),
        "wasAssociatedWith": ("activity", "agent", "plan"),
        "wasAttributedTo": ("entity", "agent"),
        "wasDerivedFrom": ("generatedEntity", "usedEntity", "activity", "generation", "usage"),
        "specializationOf": ("specificEntity", "generalEntity"),
        "alternateOf": ("alternate1", "alternate2"),
        "mentionOf": ("specificEntity", "generalEntity", "bundle"),
        "hadMember": ("collection", "entity"),
    }
)
_OF_PROV: Final = frozenset({"label", "value"})
_ESCAPES: Final = MappingProxyType(str.maketrans({"\\": "\\\\", '"': '\\"'}))


def to_prov_n(certificate: bytes) -> str:
    """Return the proof as PROV-N; ``ValueError`` for what is no certificate."""
    return "\n".join(_lines(certificate)) + "\n"


def _lines(certificate: bytes) -> Iterator[str]:
    told = provenance(certificate)
    yield "document"
    for prefix, full in NAMESPACES:
        if prefix != "prov":
            yield f"  prefix {prefix} <{full}>"
    yield ""
    for record in told.records:
        yield f"  {_record(record)}"
    for bundle in told.bundles:
        yield f"  bundle {bundle.name}"
        yield f"    prefix proof <{bundle.namespace}>"
        yield ""
        for record in bundle.records:
            yield f"    {_record(record)}"
        yield "  endBundle"
    yield "endDocument"


def _record(record: Record) -> str:
    return _element(record) if isinstance(record, Element) else _relation(record)


def _element(element: Element) -> str:
    ends = [str(element.name)]
    if element.section == "activity":
        ends += ["-", element.ended or "-"]
    pairs = [("prov:type", _value(one)) for one in element.types]
    pairs += [
        (f"{'prov' if key in _OF_PROV else 'constat'}:{key}", _value(value))
        for key, value in element.values
    ]
    return f"{element.section}({', '.join(ends)}{_attributes(pairs)})"


def _relation(relation: Relation) -> str:
    ends = ", ".join(str(relation.end(name) or "-") for name in _ARGUMENTS[relation.section])
    name = "" if relation.name is None else f"{relation.name}; "
    pairs = [("prov:type", relation.kind), ("prov:role", relation.role)]
    told = [(key, _value(value)) for key, value in pairs if value is not None]
    return f"{relation.section}({name}{ends}{_attributes(told)})"


def _attributes(pairs: list[tuple[str, str]]) -> str:
    return f", [{', '.join(f'{key}={text}' for key, text in pairs)}]" if pairs else ""


def _value(value: Value) -> str:
    if isinstance(value, Name):
        return f"'{value}'"
    return str(value) if isinstance(value, int) else f'"{value.translate(_ESCAPES)}"'
