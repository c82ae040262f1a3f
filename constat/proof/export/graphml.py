"""Write a certificate as GraphML: facts, rules and sources as nodes, "rests on" as edges.

In: the bytes of a certificate.  Out: one XML document.  Invariant: every edge points from what is
concluded to what it rests on; node ids are ``node0``, ``rule0``, ``source0`` as in the certificate.
See the GraphML primer at graphml.graphdrawing.org.
"""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape, quoteattr

from constat.proof.export.document import Document, Members
from constat.proof.render import printable

_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
)
_KEYS: Final = (
    ("kind", "node"),
    ("label", "node"),
    ("confidence", "node"),
    ("query", "node"),
    ("executed_at", "node"),
    ("origin", "node"),
    ("role", "edge"),
)


def to_graphml(certificate: bytes) -> str:
    """Return the proof as GraphML; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    writer = _Writer()
    goal = f"{document.header['verdict']}: {document.goal()}"
    writer.node("goal", kind="goal", label=goal, confidence=document.header["confidence"])
    _write_sources(document, writer)
    for place, rule in enumerate(document.rules):
        writer.node(f"rule{place}", kind="rule", label=printable(rule["id"]))
    for place, node in enumerate(document.nodes):
        _write_node(document, writer, place, node)
    for place, missing in enumerate(document.members["missing"]):
        writer.node(f"missing{place}", kind="missing", label=document.atom(*missing))
        writer.edge("goal", f"missing{place}", "missing")
    return writer.finished(document.identity)


def _write_sources(document: Document, writer: _Writer) -> None:
    times = document.record["executed"]
    for place, source in enumerate(document.sources):
        writer.node(
            f"source{place}",
            kind="source",
            label=printable(source["name"] or source["tier"]),
            query=printable(source["query"] or ""),
            executed_at=times[place] or "",
            origin=source["origin"],
        )
    if document.header["verdict"].startswith("DISPROVED"):
        for place in document.sources_of(document.header["goal"][0]):
            writer.edge("goal", f"source{place}", "absence")


def _write_node(document: Document, writer: _Writer, place: int, node: Members) -> None:
    predicate, row = node["fact"]
    name = f"node{place}"
    label = document.atom(predicate, row)
    writer.node(name, kind=node["kind"], label=label, confidence=node["confidence"])
    wanted_predicate, wanted = document.header["goal"]
    matches = all(cell is None or cell == mine for cell, mine in zip(wanted, row, strict=False))
    if predicate == wanted_predicate and matches:
        writer.edge("goal", name, "answer")
    if node["kind"] == "fact":
        writer.edge(name, f"source{document.facts[node['facts']]['source']}", "source")
        return
    writer.edge(name, f"rule{node['rule']}", "rule")
    for at in range(len(node["premises"])):
        premises = document.premises(node, at)
        for premise in premises:
            writer.edge(name, f"node{premise}", f"body {at + 1}")
        if premises:
            continue
        for predicate_below in dict.fromkeys(document.literal_predicates(node, at)):
            for source in document.sources_of(predicate_below):
                writer.edge(
                    name, f"source{source}", f"body {at + 1}: {document.instance(node, at)}"
                )


class _Writer:
    """Collects XML."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.edges = 0

    def node(self, name: str, **values: str) -> None:
        self.lines.append(f"<node id={quoteattr(name)}>{_data(values)}</node>")

    def edge(self, source: str, target: str, role: str) -> None:
        name = f'id="edge{self.edges}" source={quoteattr(source)} target={quoteattr(target)}'
        self.lines.append(f"<edge {name}>{_data({'role': role})}</edge>")
        self.edges += 1

    def finished(self, identity: str) -> str:
        keys = "".join(
            f'<key id="{name}" for="{place}" attr.name="{name}" attr.type="string"/>\n'
            for name, place in _KEYS
        )
        body = "\n".join(self.lines)
        graph = (
            f'<graph id={quoteattr(printable(identity))} edgedefault="directed">\n{body}\n</graph>'
        )
        return f"{_HEAD}{keys}{graph}\n</graphml>\n"


def _data(values: dict[str, str]) -> str:
    return "".join(
        f'<data key="{name}">{escape(text)}</data>' for name, text in values.items() if text
    )
