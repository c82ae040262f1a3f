"""A certificate as a graph: the goal, steps, rules and sources, and what rests on what.

In: the bytes of a certificate.  Out: a ``ProofGraph``.  Invariant: every edge points from what is
concluded to what it rests on, so the graph has no cycle; there is one edge between two nodes, and
its role lists all places; every text is printable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.proof.export.document import Document
from constat.proof.export.steps import Step, steps_of
from constat.proof.export.taken import taken_by
from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a node may say; an empty text is left out by the writers.
ATTRIBUTES: Final = (
    "kind",
    "label",
    "sentence",
    "confidence",
    "level",
    "assumption",
    "query",
    "executed_at",
    "origin",
    "hash",
)


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node; ``values`` are texts by the names of ``ATTRIBUTES``."""

    name: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge; ``role`` says in which place of the body, or how else the one rests on the other."""

    source: str
    target: str
    role: str


@dataclass(frozen=True, slots=True)
class ProofGraph:
    """The graph of one certificate."""

    identity: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def proof_graph(certificate: bytes) -> ProofGraph:
    """Return the graph of a certificate; ``ValueError`` for what is none."""
    drawing = _Drawing(Document(certificate))
    drawing.draw()
    edges = (
        GraphEdge(*ends, "; ".join(dict.fromkeys(roles))) for ends, roles in drawing.edges.items()
    )
    return ProofGraph(printable(drawing.document.identity), tuple(drawing.nodes), tuple(edges))


class _Drawing:
    """Collects nodes, and the roles of edges by their ends."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes: list[GraphNode] = []
        self.edges: dict[tuple[str, str], list[str]] = {}

    def node(self, name: str, **values: str) -> None:
        """Add a node."""
        self.nodes.append(GraphNode(name, {key: text for key, text in values.items() if text}))

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
