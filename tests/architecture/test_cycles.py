"""No two modules need each other, counting imports inside functions."""

from __future__ import annotations

import networkx as nx

from tests.architecture.sources import Source, imports, sources


def import_graph(modules: tuple[Source, ...]) -> nx.DiGraph[str]:
    names = {source.name for source in modules}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for source in modules:
        for imported in imports(source):
            if imported.for_types_only:
                continue
            # `from a.b import c` needs the module a.b.c where there is one, else a.b.
            longer = f"{imported.module}.{imported.symbol}"
            target = longer if longer in names else imported.module
            if target in names:
                graph.add_edge(source.name, target)
    return graph


def test_no_modules_import_each_other() -> None:
    graph = import_graph(sources())
    knots = [sorted(knot) for knot in nx.strongly_connected_components(graph) if len(knot) > 1]
    assert knots == []
    assert list(nx.selfloop_edges(graph)) == []
