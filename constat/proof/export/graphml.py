"""Write a certificate as GraphML, for programs that draw and measure graphs.

In: the bytes of a certificate.  Out: one XML document.  Invariant: node ids are those of the
certificate (``node0``, ``rule0``, ``source0``), and what they say is declared as a key.
See the GraphML primer at graphml.graphdrawing.org.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from constat.proof.export.graph import ATTRIBUTES, proof_graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
)


def to_graphml(certificate: bytes) -> str:
    """Return the proof as GraphML; ``ValueError`` for what is no certificate."""
    return "".join(_pieces(certificate))


def _pieces(certificate: bytes) -> Iterator[str]:
    graph = proof_graph(certificate)
    yield _HEAD
    for name, owner in (*((name, "node") for name in ATTRIBUTES), ("role", "edge")):
        yield f'<key id="{name}" for="{owner}" attr.name="{name}" attr.type="string"/>\n'
    yield f'<graph id={quoteattr(graph.identity)} edgedefault="directed">\n'
    for node in graph.nodes:
        yield f"<node id={quoteattr(node.name)}>{_data(node.values)}</node>\n"
    for place, edge in enumerate(graph.edges):
        ends = f"source={quoteattr(edge.source)} target={quoteattr(edge.target)}"
        yield f'<edge id="edge{place}" {ends}>{_data({"role": edge.role})}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _data(values: Mapping[str, str]) -> str:
    return "".join(f'<data key="{name}">{escape(text)}</data>' for name, text in values.items())
