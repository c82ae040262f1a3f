"""The measures of the house: printed with `-rP`, and kept from growing."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

import networkx as nx

from tests.architecture.sources import Source, imports, sources
from tests.architecture.test_cycles import import_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

# What stood here after the chapters, `recount`, and what a program hands over and is shown (frames,
# rules as text or built, results in notebooks, tasks), agents, checks beside rows, APIs,
# populations, magics of a notebook, a server (REST, GraphQL, rights), matrices of the check,
# documents, memory for other people's agents (two more: its formats, and LangGraph), packages of
# rules, sources of one's own, more stores, Spark, results that stay current, spans; to be lowered,
# not raised.
MOST_FILES = 502
MOST_HEADER = 0.0845
MOST_WITH_ONE_IMPORTER = 0.162
MOST_SMALL_WITH_ONE_IMPORTER = 2
SMALL = 80


def header(source: Source) -> int:
    """Count the lines of docstring and imports before the first statement."""
    for at, statement in enumerate(source.tree.body):
        match statement:
            case ast.Expr(value=ast.Constant(value=str())) if not at:
                continue
            case ast.Import() | ast.ImportFrom():
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
        first = min([statement.lineno, *(one.lineno for one in _decorators(statement))])
        return first - 1
    return lines(source)


def _decorators(statement: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield from statement.decorator_list


def lines(source: Source) -> int:
    return source.text.count("\n")


def importers() -> Counter[str]:
    """Count who needs each module, types and packages left out."""
    return Counter({name: count for name, count in import_graph(sources()).in_degree() if count})


def importers_with_types() -> Counter[str]:
    names = {source.name for source in sources()}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for source in sources():
        for imported in imports(source):
            longer = f"{imported.module}.{imported.symbol}"
            target = longer if longer in names else imported.module
            if target in names and target != source.name:
                graph.add_edge(source.name, target)
    return Counter(dict(graph.in_degree()))


def test_the_house_does_not_fall_apart_again() -> None:
    everything = sources()
    modules = [source for source in everything if not source.is_package]
    counts = importers_with_types()
    single = [source for source in modules if counts[source.name] == 1]
    small = [source for source in single if lines(source) < SMALL]
    total = sum(map(lines, everything))
    share = sum(map(header, everything)) / total
    print(f"{len(everything)} files, {total:,} lines, headers {share:.1%}")  # noqa: T201  the figures, shown by `-rP`
    print(f"{len(single)} of {len(modules)} modules have one importer, {len(small)} are small")  # noqa: T201  the figures, shown by `-rP`
    assert len(everything) <= MOST_FILES
    assert share <= MOST_HEADER
    assert len(single) / len(modules) <= MOST_WITH_ONE_IMPORTER
    assert len(small) <= MOST_SMALL_WITH_ONE_IMPORTER
