"""A certificate as a graph of networkx: the goal, steps, rules and sources, and what rests on what.

Every edge points from what is concluded to what it rests on, so the graph has no cycle; every text
is printable. GraphML, GEXF and node-link JSON are written by networkx from this graph.

A node is named as in the certificate (`goal`, `node0`, `rule0`, `source0`, `assumption0`,
`missing0`). Its attributes are texts, left out where empty:

- `kind`: `goal`, `rule`, `source`, `assumption`, `missing`, or that of a step: `application` (of a
  rule), `row`, `fact` (of a rule file), `closure`, `absence`, `aggregate`;
- `label`: what it says; `sentence`: the same in words, or the text of a rule;
- `confidence`; `level`, the level of completeness; `assumption`, those that a step takes on trust;
- of sources `query`, `executed_at`, `origin` and `hash`.

An edge has a `role`: `body 1` and so on, `over` (rows of an aggregate), `rule`, `source`, `answer`,
`assumption`, `missing`; several are joined by `; `. `graph.graph["id"]` is the proof's identity.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from constat.proof.export.document import Document
from constat.proof.export.steps import Step, steps_of, taken_by
from constat.proof.render import printable

if TYPE_CHECKING:
    import networkx as nx

if TYPE_CHECKING:
    Graph = nx.DiGraph[str]

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def proof_graph(certificate: bytes) -> Graph:
    """Return the graph of a certificate; ``ValueError`` for what is none."""
    import networkx as nx  # noqa: PLC0415  heavy library, loaded on first use

    drawing = _Drawing(Document(certificate))
    drawing.draw()
    graph: Graph = nx.DiGraph(id=printable(drawing.document.identity))
    graph.add_nodes_from(drawing.nodes)
    for (source, target), roles in drawing.edges.items():
        graph.add_edge(source, target, role="; ".join(dict.fromkeys(roles)))
    return graph


def to_graphml(certificate: bytes) -> str:
    """Write the proof as GraphML, for programs that draw and measure graphs."""
    import networkx as nx  # noqa: PLC0415  heavy library, loaded on first use

    lines = nx.generate_graphml(proof_graph(certificate), named_key_ids=True)
    return _XML + "".join(f"{line}\n" for line in lines)


def to_gexf(certificate: bytes) -> str:
    """Write the proof as GEXF 1.3, the format of Gephi; an edge's label is its role."""
    from networkx.readwrite.gexf import GEXFWriter  # noqa: PLC0415  heavy library, loaded on first use

    graph = proof_graph(certificate)
    for _, _, edge in graph.edges(data=True):
        edge["label"] = edge.pop("role")
    writer = GEXFWriter(graph, version="1.3")
    # The day of writing and the library's version would make equal proofs unequal files.
    (meta,) = writer.xml.findall("meta")
    meta.clear()
    described = meta.makeelement("description", {})
    described.text = graph.graph["id"]
    meta.append(described)
    return f"{_XML}{writer}\n"


def to_node_link(certificate: bytes) -> str:
    """Write the proof as node-link JSON, which networkx and D3 read."""
    import networkx as nx  # noqa: PLC0415  heavy library, loaded on first use

    members = nx.node_link_data(proof_graph(certificate), edges="edges")
    members["graph"] = {"identity": members["graph"]["id"]}
    return json.dumps(members, indent=1) + "\n"


class _Drawing:
    """Collects nodes, and the roles of edges by their ends."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes: list[tuple[str, dict[str, str]]] = []
        self.edges: dict[tuple[str, str], list[str]] = {}

    def node(self, name: str, **values: str) -> None:
        """Add a node."""
        self.nodes.append((name, {key: text for key, text in values.items() if text}))

    def edge(self, source: str, target: str, role: str) -> None:
        """Add a role to the edge between two nodes."""
        self.edges.setdefault((source, target), []).append(role)

    def draw(self) -> None:
        """Add everything."""
        document = self.document
        steps = steps_of(document)
        header = document.header
        self.node("goal", kind="goal", label=document.verdict(), confidence=header["confidence"])
        for place in header["under"]:
            name = f"assumption{place}"
            self.node(name, kind="assumption", label=self.assumption(place))
            self.edge("goal", name, "assumption")
        self.sources()
        for place, rule in enumerate(document.rules):
            text = printable(" ".join(document.rule_texts[place].split()))
            self.node(f"rule{place}", kind="rule", label=printable(rule["id"]), sentence=text)
        taken = taken_by(document, steps.steps)
        for step, assumed in zip(steps.steps, taken, strict=True):
            self.step(step, steps.steps, assumed)
        for answer in steps.answers:
            self.edge("goal", steps.steps[answer].name, "answer")
        for place, missing in enumerate(document.members["missing"]):
            self.node(f"missing{place}", kind="missing", label=document.atom(*missing))
            self.edge("goal", f"missing{place}", "missing")

    def assumption(self, place: int) -> str:
        """Return the text of an assumption."""
        return printable(self.document.assumptions[place]["text"])

    def sources(self) -> None:
        """Add what sources answered."""
        times = self.document.record["executed"]
        for place, source in enumerate(self.document.sources):
            self.node(
                f"source{place}",
                kind="source",
                label=printable(source["name"] or source["tier"]),
                query=printable(source["query"] or ""),
                executed_at=times[place] or "",
                origin=source["origin"],
                hash=source["hash"],
                confidence=source["confidence"],
            )

    def step(self, step: Step, steps: tuple[Step, ...], assumed: tuple[int, ...]) -> None:
        """Add a step and its edges."""
        self.node(
            step.name,
            kind="application" if step.kind == "rule" else step.kind,
            label=step.fact,
            sentence=step.sentence,
            confidence=step.confidence,
            level=step.level,
            assumption=" | ".join(map(self.assumption, assumed)),
        )
        if step.rule is not None:
            self.edge(step.name, f"rule{step.rule}", "rule")
        for premise in step.premises:
            role = f"body {premise.place}" if premise.place else "over"
            self.edge(step.name, steps[premise.step].name, role)
        for source in step.sources:
            self.edge(step.name, f"source{source}", "source")
