"""Write a certificate as GEXF 1.3, the format of Gephi.

In: the bytes of a certificate.  Out: one XML document.  Invariant: the same nodes and edges as in
GraphML; attributes are declared by number, as the format wants.  See gexf.net.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import quoteattr

from constat.proof.export.graph import ATTRIBUTES, GraphNode, proof_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="http://gexf.net/1.3" version="1.3">\n'
)
# The label is no attribute here: every node and edge has one.
_DECLARED: Final = tuple(name for name in ATTRIBUTES if name != "label")


def to_gexf(certificate: bytes) -> str:
    """Return the proof as GEXF; ``ValueError`` for what is no certificate."""
    return "".join(_pieces(certificate))


def _pieces(certificate: bytes) -> Iterator[str]:
    graph = proof_graph(certificate)
    yield f"{_HEAD}<meta><description>{graph.identity}</description></meta>\n"
    yield '<graph mode="static" defaultedgetype="directed">\n<attributes class="node">\n'
    for place, name in enumerate(_DECLARED):
        yield f'<attribute id="{place}" title="{name}" type="string"/>\n'
    yield "</attributes>\n<nodes>\n"
    for node in graph.nodes:
        label = quoteattr(node.values.get("label", node.name))
        yield f"<node id={quoteattr(node.name)} label={label}>{_values(node)}</node>\n"
    yield "</nodes>\n<edges>\n"
    for place, edge in enumerate(graph.edges):
        ends = f"source={quoteattr(edge.source)} target={quoteattr(edge.target)}"
        yield f'<edge id="{place}" {ends} label={quoteattr(edge.role)}/>\n'
    yield "</edges>\n</graph>\n</gexf>\n"


def _values(node: GraphNode) -> str:
    inside = "".join(
        f'<attvalue for="{place}" value={quoteattr(node.values[name])}/>'
        for place, name in enumerate(_DECLARED)
        if name in node.values
    )
    return f"<attvalues>{inside}</attvalues>"
