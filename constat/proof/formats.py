"""The formats a certificate can be exported in.

In: a format's name and the bytes of a certificate.  Out: bytes.  Invariants: the table is fixed; a
format's module is loaded when something is written in it, so naming the formats costs nothing; text
is UTF-8 and holds no control character but line ends and tabs.

Example: ``write_format(format_named("turtle"), certificate)``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    import networkx as nx


@dataclass(frozen=True, slots=True)
class Format:
    """A format: what it is for, how its files end, where its function is, what it needs.

    ``binary`` ones are not for a terminal; ``extra`` is the extra of the package to install.
    """

    name: str
    purpose: str
    suffix: str
    place: str
    binary: bool = False
    extra: str = ""


FORMATS: Final = (
    Format("html", "a report for people, which checks itself", ".html", "report.page:to_html"),
    Format("markdown", "a report to paste into a ticket", ".md", "export.markdown:to_markdown"),
    Format(
        "pdf",
        "a report to file, with the certificate inside",
        ".pdf",
        "report.pdf:to_pdf",
        binary=True,
        extra="pdf",
    ),
    Format("svg", "a drawing", ".svg", "export.svg:to_svg"),
    Format("dot", "a drawing by Graphviz", ".dot", "export.dot:to_dot"),
    Format("mermaid", "a drawing in Markdown pages", ".mmd", "export.mermaid:to_mermaid"),
    Format("csv", "one row for each step, for auditors", ".csv", "export.csv_table:to_csv"),
    Format(
        "xlsx",
        "decision, steps, sources, assumptions as a workbook",
        ".xlsx",
        "export.xlsx:to_xlsx",
        binary=True,
    ),
    Format("prov-json", "W3C PROV as JSON", ".prov.json", "export.prov_json:to_prov_json"),
    Format("prov-n", "W3C PROV for people", ".provn", "export.prov_n:to_prov_n"),
    Format("turtle", "W3C PROV-O, one graph", ".ttl", "export.prov_rdf:to_turtle", extra="rdf"),
    Format(
        "trig",
        "W3C PROV-O, a graph for each decision",
        ".trig",
        "export.prov_rdf:to_trig",
        extra="rdf",
    ),
    Format(
        "n-quads",
        "W3C PROV-O, a line for each statement",
        ".nq",
        "export.prov_rdf:to_nquads",
        extra="rdf",
    ),
    Format(
        "openlineage",
        "a run event with its data sets and columns",
        ".openlineage.json",
        "export.openlineage:to_openlineage",
    ),
    Format(
        "ro-crate",
        "a research object: the certificate, described",
        ".crate.zip",
        "export.ro_crate:to_ro_crate",
        binary=True,
    ),
    Format(
        "in-toto",
        "a statement about the certificate, unsigned",
        ".intoto.json",
        "export.in_toto:to_in_toto",
    ),
    Format("graphml", "a graph for yEd, networkx, Neo4j", ".graphml", "export.graph:to_graphml"),
    Format("gexf", "a graph for Gephi", ".gexf", "export.graph:to_gexf"),
    Format("node-link", "a graph for networkx, D3", ".graph.json", "export.graph:to_node_link"),
    Format("nemo", "inferences for Nemo and Evonne", ".trace.json", "export.nemo:to_nemo"),
    Format(
        "lean",
        "a positive proof for the checker verified in Lean (-g)",
        ".graph.lean.json",
        "export.lean:to_lean",
    ),
    Format(
        "lean-ordered",
        "the same, each step after its premises (-o)",
        ".ograph.lean.json",
        "export.lean:to_lean_ordered",
    ),
)


def format_named(name: str) -> Format:
    """Return a format; ``KeyError`` where there is none of that name."""
    return {one.name: one for one in FORMATS}[name]


def write_format(chosen: Format, certificate: bytes) -> bytes:
    """Write a certificate; ``ValueError`` for what is none, ``ConstatError`` where it cannot be."""
    content: str | bytes = _function(chosen.place)(certificate)
    return content.encode() if isinstance(content, str) else content


def proof_as_graph(certificate: bytes) -> nx.DiGraph[str]:
    """Give the graph of a certificate that `export.graph` describes; `ValueError` for none."""
    graph: nx.DiGraph[str] = _function("export.graph:proof_graph")(certificate)
    return graph


def _function(place: str) -> Callable[[bytes], Any]:
    module, _, function = place.partition(":")
    found: Callable[[bytes], Any] = getattr(
        importlib.import_module(f"constat.proof.{module}"), function
    )
    return found
