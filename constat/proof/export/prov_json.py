"""Write a certificate as PROV-JSON: facts are entities, rule applications activities, rules plans.

In: the bytes of a certificate.  Out: one JSON document.  Invariant: one entity per node, because
two generations of one entity would have to happen at one time; logical steps carry no times, since
the order of PROV is strict and logic has none.  See the W3C notes PROV-DM and PROV-JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from constat.proof.export.document import Document, Members
from constat.proof.render import printable

if TYPE_CHECKING:
    from constat.proof.canonical import Json

_MODELS: Final = frozenset({"LLM_KNOWLEDGE", "LLM_HEURISTIC"})


def to_prov_json(certificate: bytes) -> str:
    """Return the proof as PROV-JSON; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    writer = _Writer()
    _write_run(document, writer)
    for place, rule in enumerate(document.rules):
        writer.add("entity", f"rule{place}", _typed("prov:Plan"), label=printable(rule["id"]))
    for place, source in enumerate(document.sources):
        _write_source(document, writer, place, source)
    for place, node in enumerate(document.nodes):
        _write_node(document, writer, place, node)
    return writer.finished(document.identity)


def _typed(name: str) -> Json:
    return {"$": name, "type": "prov:QUALIFIED_NAME"}


def _write_run(document: Document, writer: _Writer) -> None:
    """The decision, the run that made it, and the engine that ran."""
    record, header = document.record, document.header
    writer.add("agent", "engine", _typed("prov:SoftwareAgent"), label=printable(record["engine"]))
    writer.add("activity", "run", _typed("constat:Run"), end=record["created"])
    writer.relate("wasAssociatedWith", {"activity": "run", "agent": "engine"})
    writer.add(
        "entity",
        "decision",
        _typed("constat:Decision"),
        label=f"{header['verdict']}: {document.goal()}",
        confidence=header["confidence"],
    )
    writer.relate("wasGeneratedBy", {"entity": "decision", "activity": "run"})
    writer.relate("wasAttributedTo", {"entity": "decision", "agent": "engine"})
    for place, assumption in enumerate(document.members["assumptions"]):
        label = printable(assumption["text"])
        writer.add("entity", f"assumption{place}", _typed("constat:Assumption"), label=label)
        if place in header["under"]:
            writer.relate("used", {"activity": "run", "entity": f"assumption{place}"}, "assumption")
    for place, missing in enumerate(document.members["missing"]):
        label = document.atom(*missing)
        writer.add("entity", f"missing{place}", _typed("constat:Missing"), label=label)


def _write_source(document: Document, writer: _Writer, place: int, source: Members) -> None:
    """What a source answered, the reading of it, and whose word it is."""
    name, reading = f"source{place}", f"reading{place}"
    writer.add(
        "entity",
        name,
        _typed("constat:Source"),
        label=printable(source["name"] or source["tier"]),
        origin=source["origin"],
        query=printable(source["query"] or ""),
        rows=str(source["rows"]),
        hash=source["hash"],
    )
    time = document.record["executed"][place]
    writer.add("activity", reading, _typed("constat:Reading"), end=time)
    writer.relate("wasGeneratedBy", {"entity": name, "activity": reading})
    writer.relate("wasAssociatedWith", {"activity": reading, "agent": "engine"})
    if source["author"] is not None:
        kind = "prov:SoftwareAgent" if source["origin"] in _MODELS else "prov:Person"
        writer.add("agent", f"author{place}", _typed(kind), label=printable(source["author"]))
        writer.relate("wasAttributedTo", {"entity": name, "agent": f"author{place}"})


def _write_node(document: Document, writer: _Writer, place: int, node: Members) -> None:
    predicate, row = node["fact"]
    name = f"node{place}"
    label = document.atom(predicate, row)
    confidence = node["confidence"]
    writer.add("entity", name, _typed("constat:Fact"), label=label, confidence=confidence)
    goal, pattern = document.header["goal"]
    if goal == predicate and all(
        cell is None or cell == mine for cell, mine in zip(pattern, row, strict=False)
    ):
        writer.relate("wasDerivedFrom", {"generatedEntity": "decision", "usedEntity": name})
    if node["kind"] == "fact":
        source = f"source{document.facts[node['facts']]['source']}"
        primary = {"generatedEntity": name, "usedEntity": source}
        writer.relate("wasDerivedFrom", primary, kind="prov:PrimarySource")
        return
    step = f"step{place}"
    writer.add("activity", step, _typed("constat:RuleApplication"))
    writer.relate("wasGeneratedBy", {"entity": name, "activity": step})
    rule = f"rule{node['rule']}"
    writer.relate("wasAssociatedWith", {"activity": step, "agent": "engine", "plan": rule})
    for at in range(len(node["premises"])):
        below = [f"node{premise}" for premise in document.premises(node, at)]
        if not below:
            found = _write_looked_up(document, writer, place, at)
            below = [] if found is None else [found]
        for used in below:
            writer.relate("used", {"activity": step, "entity": used}, f"body {at + 1}")
            derived = {"generatedEntity": name, "usedEntity": used, "activity": step}
            writer.relate("wasDerivedFrom", derived)


def _write_looked_up(document: Document, writer: _Writer, place: int, at: int) -> str | None:
    """An absence or an aggregate, derived from the sources that speak for its predicates."""
    node = document.nodes[place]
    sign = document.rules[node["rule"]]["body"][at][0]
    if sign == "?":
        return None
    name = f"{'absence' if sign == '-' else 'aggregate'}{place}_{at}"
    kind = "constat:Absence" if sign == "-" else "prov:Collection"
    writer.add("entity", name, _typed(kind), label=document.instance(node, at))
    for predicate in dict.fromkeys(document.literal_predicates(node, at)):
        for source in document.sources_of(predicate):
            writer.relate(
                "wasDerivedFrom", {"generatedEntity": name, "usedEntity": f"source{source}"}
            )
    return name


class _Writer:
    """Collects records by their section; relations are numbered."""

    def __init__(self) -> None:
        self.sections: dict[str, dict[str, Json]] = {}
        self.relations = 0

    def add(
        self, section: str, name: str, kind: Json, *, end: str | None = None, **values: str
    ) -> None:
        """Add an element; ``end`` is the time an activity ended."""
        record: dict[str, Json] = {"prov:type": kind}
        label = values.pop("label", "")
        if label:
            record["prov:label"] = label
        if end is not None:
            record["prov:endTime"] = end
        record.update({f"constat:{key}": text for key, text in values.items() if text})
        self.sections.setdefault(section, {})[f"proof:{name}"] = record

    def relate(self, section: str, ends: dict[str, str], role: str = "", *, kind: str = "") -> None:
        """Add a relation between elements."""
        record: dict[str, Json] = {f"prov:{key}": f"proof:{name}" for key, name in ends.items()}
        if role:
            record["prov:role"] = role
        if kind:
            record["prov:type"] = _typed(kind)
        self.sections.setdefault(section, {})[f"_:r{self.relations}"] = record
        self.relations += 1

    def finished(self, identity: str) -> str:
        prefix: dict[str, Json] = {
            "constat": "urn:constat:",
            "proof": f"urn:constat:proof:{printable(identity)}:",
        }
        return json.dumps({"prefix": prefix, **self.sections}, indent=2, sort_keys=True) + "\n"
