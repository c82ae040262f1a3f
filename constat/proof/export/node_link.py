"""Write a certificate as node-link JSON, which networkx and D3 read.

In: the bytes of a certificate.  Out: one JSON object.  Invariant: the same nodes and edges as in
GraphML; ``edges`` is the name networkx uses from version 3.4 on.
"""

from __future__ import annotations

import json

from constat.proof.export.graph import proof_graph


def to_node_link(certificate: bytes) -> str:
    """Return the proof as node-link JSON; ``ValueError`` for what is no certificate."""
    graph = proof_graph(certificate)
    members = {
        "directed": True,
        "multigraph": False,
        "graph": {"identity": graph.identity},
        "nodes": [{"id": node.name, **node.values} for node in graph.nodes],
        "edges": [
            {"source": edge.source, "target": edge.target, "role": edge.role}
            for edge in graph.edges
        ],
    }
    return json.dumps(members, indent=1) + "\n"
