"""Write a certificate in RDF with the vocabulary PROV-O: as Turtle, TriG or N-Quads.

In: the bytes of a certificate.  Out: text.  Invariants: every relation stands there twice, plain
(``prov:used``) for whoever follows paths and qualified (``prov:qualifiedUsage``) with role, plan
and activity; a subproperty stands with its superproperty, so no reasoner is needed; there is no
blank node.  In TriG and N-Quads each decision is a graph of its own, in Turtle there is one graph.
See www.w3.org/TR/prov-o.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.proof.export.extras import missing_package
from constat.proof.export.prov_mapping import provenance
from constat.proof.export.prov_records import NAMESPACES, Element, Name, Record, Relation, Value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from pyoxigraph import Literal, NamedNode, Quad

    from constat.proof.export.prov_records import Provenance

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
