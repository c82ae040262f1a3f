"""The notations of W3C PROV: PROV-JSON, PROV-N, and RDF with PROV-O."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.proof.export.libraries import missing_package
from constat.proof.export.prov import NAMESPACES, Element, Name, Record, Relation, Value, provenance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from pyoxigraph import Literal, NamedNode, Quad

    from constat.proof.encoding import Json
    from constat.proof.export.prov import Provenance

# It says what `prov_mapping` says and nothing else.  See the W3C submission PROV-JSON.

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


# It says what `prov_mapping` says and nothing else.  See www.w3.org/TR/prov-n.

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
_PROV_OF_PROV: Final = frozenset({"label", "value"})
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
    return _prov_element(record) if isinstance(record, Element) else _relation(record)


def _prov_element(element: Element) -> str:
    ends = [str(element.name)]
    if element.section == "activity":
        ends += ["-", element.ended or "-"]
    pairs = [("prov:type", _prov_value(one)) for one in element.types]
    pairs += [
        (f"{'prov' if key in _PROV_OF_PROV else 'constat'}:{key}", _prov_value(value))
        for key, value in element.values
    ]
    return f"{element.section}({', '.join(ends)}{_attributes(pairs)})"


def _relation(relation: Relation) -> str:
    ends = ", ".join(str(relation.end(name) or "-") for name in _ARGUMENTS[relation.section])
    name = "" if relation.name is None else f"{relation.name}; "
    pairs = [("prov:type", relation.kind), ("prov:role", relation.role)]
    told = [(key, _prov_value(value)) for key, value in pairs if value is not None]
    return f"{relation.section}({name}{ends}{_attributes(told)})"


def _attributes(pairs: list[tuple[str, str]]) -> str:
    return f", [{', '.join(f'{key}={text}' for key, text in pairs)}]" if pairs else ""


def _prov_value(value: Value) -> str:
    if isinstance(value, Name):
        return f"'{value}'"
    return str(value) if isinstance(value, int) else f'"{value.translate(_ESCAPES)}"'


_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_LABEL: Final = "http://www.w3.org/2000/01/rdf-schema#label"
_PROV: Final = "http://www.w3.org/ns/prov#"
_CLASSES: Final = MappingProxyType({"entity": "Entity", "activity": "Activity", "agent": "Agent"})
# Plain property, qualifying property, class of the qualified relation, property of its object; and
# which argument is the subject, which the object.
_RELATIONS: Final = MappingProxyType(
    {
        "wasGeneratedBy": (
            *("wasGeneratedBy", "qualifiedGeneration", "Generation", "activity"),
            *("entity", "activity"),
        ),
        "used": ("used", "qualifiedUsage", "Usage", "entity", "activity", "entity"),
        "wasAssociatedWith": (
            *("wasAssociatedWith", "qualifiedAssociation", "Association", "agent"),
            *("activity", "agent"),
        ),
        "wasAttributedTo": (
            *("wasAttributedTo", "qualifiedAttribution", "Attribution", "agent"),
            *("entity", "agent"),
        ),
        "wasDerivedFrom": (
            *("wasDerivedFrom", "qualifiedDerivation", "Derivation", "entity"),
            *("generatedEntity", "usedEntity"),
        ),
        "specializationOf": ("specializationOf", "", "", "", "specificEntity", "generalEntity"),
        "alternateOf": ("alternateOf", "", "", "", "alternate1", "alternate2"),
        "mentionOf": ("mentionOf", "", "", "", "specificEntity", "generalEntity"),
        "hadMember": ("hadMember", "", "", "", "collection", "entity"),
    }
)
# Kinds of derivation that have properties of their own.
_DERIVATIONS: Final = MappingProxyType(
    {
        "Revision": ("wasRevisionOf", "qualifiedRevision"),
        "Quotation": ("wasQuotedFrom", "qualifiedQuotation"),
        "PrimarySource": ("hadPrimarySource", "qualifiedPrimarySource"),
    }
)


def to_turtle(certificate: bytes) -> str:
    """Return the proof as Turtle, in one graph; ``ValueError`` for what is no certificate."""
    return _written(certificate, "TURTLE", graphs=False)


def to_trig(certificate: bytes) -> str:
    """Return the proof as TriG; ``ValueError`` for what is no certificate."""
    return _written(certificate, "TRIG", graphs=True)


def to_nquads(certificate: bytes) -> str:
    """Return the proof as N-Quads; ``ValueError`` for what is no certificate."""
    return _written(certificate, "N_QUADS", graphs=True)


def _written(certificate: bytes, notation: str, *, graphs: bool) -> str:
    try:
        import pyoxigraph as rdf  # noqa: PLC0415  heavy library, loaded on first use
    except ImportError as problem:
        raise missing_package("pyoxigraph", "rdf") from problem
    told = provenance(certificate)
    quads = dict.fromkeys(_Writer(rdf, told).quads(graphs=graphs))
    statements = quads if graphs else [quad.triple for quad in quads]
    prefixes = dict(NAMESPACES)
    prefixes |= {"proof": told.bundles[0].namespace, "xsd": _XSD}
    prefixes["rdfs"] = _LABEL.removesuffix("label")
    chosen = getattr(rdf.RdfFormat, notation)
    content = rdf.serialize(statements, format=chosen, prefixes=prefixes)
    return (content or b"").decode()


class _Writer:
    """Turns records into quads."""

    def __init__(self, rdf: ModuleType, told: Provenance) -> None:
        self.rdf = rdf
        self.told = told
        self.namespaces = dict(NAMESPACES)
        self.graph: object = None

    def quads(self, *, graphs: bool) -> Iterator[Quad]:
        """Give every statement, those about the bundles first."""
        self.graph = self.rdf.DefaultGraph()
        yield from self.records(self.told.records)
        for bundle in self.told.bundles:
            self.namespaces["proof"] = bundle.namespace
            if graphs:
                self.graph = self.node(bundle.name)
            yield from self.records(bundle.records)

    def records(self, records: tuple[Record, ...]) -> Iterator[Quad]:
        """Give the statements of records."""
        for place, record in enumerate(records):
            if isinstance(record, Element):
                yield from self.element(record)
            else:
                yield from self.relation(record, place)

    def node(self, name: Name) -> NamedNode:
        """Give the node of a name."""
        return self.rdf.NamedNode(self.namespaces[name.prefix] + name.local)  # type: ignore[no-any-return]  # an untyped module

    def literal(self, value: Value) -> NamedNode | Literal:
        """Give the term of a value."""
        if isinstance(value, Name):
            return self.node(value)
        return self.rdf.Literal(value)  # type: ignore[no-any-return]  # an untyped module

    def quad(self, subject: object, predicate: str, target: object) -> Quad:
        """Give one statement in the present graph."""
        return self.rdf.Quad(subject, self.rdf.NamedNode(predicate), target, self.graph)  # type: ignore[no-any-return]  # an untyped module

    def element(self, element: Element) -> Iterator[Quad]:
        """Give the statements of an element."""
        node = self.node(element.name)
        classes = (Name("prov", _CLASSES[element.section]), *element.types)
        for one in dict.fromkeys(classes):
            yield self.quad(node, _RDF_TYPE, self.node(one))
        if element.ended is not None:
            moment = self.rdf.Literal(element.ended, datatype=self.rdf.NamedNode(f"{_XSD}dateTime"))
            yield self.quad(node, f"{_PROV}endedAtTime", moment)
        for key, value in element.values:
            yield self.quad(node, self.attribute(key), self.literal(value))

    def attribute(self, key: str) -> str:
        """Give the property of an attribute."""
        if key == "label":
            return _LABEL
        return f"{_PROV}value" if key == "value" else f"{self.namespaces['constat']}{key}"

    def relation(self, relation: Relation, place: int) -> Iterator[Quad]:
        """Give a relation in its plain and its qualified form."""
        plain, qualified, kind, target, subject_end, object_end = _RELATIONS[relation.section]
        subject = self.node(_given(relation, subject_end))
        ends = self.node(_given(relation, object_end))
        yield self.quad(subject, f"{_PROV}{plain}", ends)
        own = relation.kind.local if relation.kind is not None else ""
        narrower = _DERIVATIONS.get(own)
        if narrower is not None:
            yield self.quad(subject, f"{_PROV}{narrower[0]}", ends)
        if relation.section == "mentionOf":
            yield self.quad(subject, f"{_PROV}asInBundle", self.node(_given(relation, "bundle")))
        if not qualified:
            return
        node = self.qualified(relation, place)
        yield self.quad(subject, f"{_PROV}{qualified}", node)
        yield self.quad(node, _RDF_TYPE, self.rdf.NamedNode(f"{_PROV}{kind}"))
        if narrower is not None:
            yield self.quad(subject, f"{_PROV}{narrower[1]}", node)
        yield self.quad(node, f"{_PROV}{target}", ends)
        yield from self.details(relation, node)

    def qualified(self, relation: Relation, place: int) -> NamedNode:
        """Give the node of a qualified relation; one without a name is numbered."""
        if relation.name is not None:
            return self.node(relation.name)
        prefix = "proof" if "proof" in self.namespaces else "decision"
        return self.node(Name(prefix, f"relation{place}"))

    def details(self, relation: Relation, node: NamedNode) -> Iterator[Quad]:
        """Give what only the qualified form says: kind, role, plan, activity, generation, usage."""
        if relation.kind is not None:
            yield self.quad(node, _RDF_TYPE, self.node(relation.kind))
        if relation.role is not None:
            role = self.node(relation.role)
            yield self.quad(node, f"{_PROV}hadRole", role)
            yield self.quad(role, _RDF_TYPE, self.rdf.NamedNode(f"{_PROV}Role"))
        ends = {"plan": "hadPlan", "generation": "hadGeneration", "usage": "hadUsage"}
        if relation.section == "wasDerivedFrom":
            ends["activity"] = "hadActivity"
        for key, term in ends.items():
            end = relation.end(key)
            if end is not None:
                yield self.quad(node, f"{_PROV}{term}", self.node(end))


def _given(relation: Relation, end: str) -> Name:
    found = relation.end(end)
    if found is None:
        raise ValueError(f"{relation.section} has no {end}")
    return found
