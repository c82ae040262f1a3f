"""The formats a certificate can be exported in.

In: a format's name and the bytes of a certificate.  Out: bytes.  Invariants: the table is fixed; a
format's module is loaded when something is written in it, so naming the formats costs nothing; text
is UTF-8 and holds no control character but line ends and tabs.

Example: ``write_format(format_named("turtle"), certificate)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    import networkx as nx


@frozen
class Format:
    """A format: what it is for, how its files end, who writes it, what it needs.

    ``binary`` ones are not for a terminal; ``extra`` is the extra of the package to install.
    """

    name: str
    purpose: str
    suffix: str
    write: Callable[[bytes], str | bytes]
    binary: bool = False
    extra: str = ""
    write_in: Callable[[bytes, str], str | bytes] | None = None
    """Writes it in the language of a locale, where it can."""


def _html(certificate: bytes, locale: str = "") -> str | bytes:
    from constat.proof.report.page import to_html  # noqa: PLC0415  loaded when it is used
    from constat.proof.sentences import speech_in  # noqa: PLC0415  loaded when it is used

    return to_html(certificate, speech_in(locale))


def _markdown(certificate: bytes, locale: str = "") -> str | bytes:
    from constat.proof.export.markdown import to_markdown  # noqa: PLC0415  loaded when it is used
    from constat.proof.sentences import speech_in  # noqa: PLC0415  loaded when it is used

    return to_markdown(certificate, speech_in(locale))


def _letter(certificate: bytes, locale: str = "") -> str | bytes:
    from constat.proof.export.letter import to_letter  # noqa: PLC0415  loaded when it is used
    from constat.proof.sentences import speech_in  # noqa: PLC0415  loaded when it is used

    return to_letter(certificate, speech_in(locale))


def _pdf(certificate: bytes, locale: str = "") -> str | bytes:
    from constat.proof.report.pdf import to_pdf  # noqa: PLC0415  loaded when it is used
    from constat.proof.sentences import speech_in  # noqa: PLC0415  loaded when it is used

    return to_pdf(certificate, speech_in(locale))


def _svg(certificate: bytes) -> str | bytes:
    from constat.proof.export.pictures import to_svg  # noqa: PLC0415  loaded when it is used

    return to_svg(certificate)


def _dot(certificate: bytes) -> str | bytes:
    from constat.proof.export.pictures import to_dot  # noqa: PLC0415  loaded when it is used

    return to_dot(certificate)


def _mermaid(certificate: bytes) -> str | bytes:
    from constat.proof.export.pictures import to_mermaid  # noqa: PLC0415  loaded when it is used

    return to_mermaid(certificate)


def _csv(certificate: bytes) -> str | bytes:
    from constat.proof.export.tables import to_csv  # noqa: PLC0415  loaded when it is used

    return to_csv(certificate)


def _xlsx(certificate: bytes) -> str | bytes:
    from constat.proof.export.tables import to_xlsx  # noqa: PLC0415  loaded when it is used

    return to_xlsx(certificate)


def _prov_json(certificate: bytes) -> str | bytes:
    from constat.proof.export.prov import to_prov_json  # noqa: PLC0415  loaded when it is used

    return to_prov_json(certificate)


def _prov_n(certificate: bytes) -> str | bytes:
    from constat.proof.export.prov import to_prov_n  # noqa: PLC0415  loaded when it is used

    return to_prov_n(certificate)


def _turtle(certificate: bytes) -> str | bytes:
    from constat.proof.export.prov import to_turtle  # noqa: PLC0415  loaded when it is used

    return to_turtle(certificate)


def _trig(certificate: bytes) -> str | bytes:
    from constat.proof.export.prov import to_trig  # noqa: PLC0415  loaded when it is used

    return to_trig(certificate)


def _nquads(certificate: bytes) -> str | bytes:
    from constat.proof.export.prov import to_nquads  # noqa: PLC0415  loaded when it is used

    return to_nquads(certificate)


def _openlineage(certificate: bytes) -> str | bytes:
    from constat.proof.export.lineage import to_openlineage  # noqa: PLC0415  loaded when it is used

    return to_openlineage(certificate)


def _ro_crate(certificate: bytes) -> str | bytes:
    from constat.proof.export.packages import to_ro_crate  # noqa: PLC0415  loaded when it is used

    return to_ro_crate(certificate)


def _in_toto(certificate: bytes) -> str | bytes:
    from constat.proof.export.packages import to_in_toto  # noqa: PLC0415  loaded when it is used

    return to_in_toto(certificate)


def _graphml(certificate: bytes) -> str | bytes:
    from constat.proof.export.graph import to_graphml  # noqa: PLC0415  loaded when it is used

    return to_graphml(certificate)


def _gexf(certificate: bytes) -> str | bytes:
    from constat.proof.export.graph import to_gexf  # noqa: PLC0415  loaded when it is used

    return to_gexf(certificate)


def _node_link(certificate: bytes) -> str | bytes:
    from constat.proof.export.graph import to_node_link  # noqa: PLC0415  loaded when it is used

    return to_node_link(certificate)


def _nemo(certificate: bytes) -> str | bytes:
    from constat.proof.export.packages import to_nemo  # noqa: PLC0415  loaded when it is used

    return to_nemo(certificate)


def _lean(certificate: bytes) -> str | bytes:
    from constat.proof.export.packages import to_lean  # noqa: PLC0415  loaded when it is used

    return to_lean(certificate)


def _lean_ordered(certificate: bytes) -> str | bytes:
    from constat.proof.export.packages import to_lean_ordered  # noqa: PLC0415  loaded when it is used

    return to_lean_ordered(certificate)


FORMATS: Final = (
    Format("html", "a report for people, which checks itself", ".html", _html, write_in=_html),
    Format("markdown", "a report to paste into a ticket", ".md", _markdown, write_in=_markdown),
    Format(
        "letter",
        "a draft of the notice of a decision, with its reasons",
        ".md",
        _letter,
        write_in=_letter,
    ),
    Format(
        "pdf",
        "a report to file, with the certificate inside",
        ".pdf",
        _pdf,
        binary=True,
        extra="pdf",
        write_in=_pdf,
    ),
    Format("svg", "a drawing", ".svg", _svg),
    Format("dot", "a drawing by Graphviz", ".dot", _dot),
    Format("mermaid", "a drawing in Markdown pages", ".mmd", _mermaid),
    Format("csv", "one row for each step, for auditors", ".csv", _csv),
    Format(
        "xlsx",
        "decision, steps, sources, assumptions as a workbook",
        ".xlsx",
        _xlsx,
        binary=True,
    ),
    Format("prov-json", "W3C PROV as JSON", ".prov.json", _prov_json),
    Format("prov-n", "W3C PROV for people", ".provn", _prov_n),
    Format("turtle", "W3C PROV-O, one graph", ".ttl", _turtle, extra="rdf"),
    Format(
        "trig",
        "W3C PROV-O, a graph for each decision",
        ".trig",
        _trig,
        extra="rdf",
    ),
    Format(
        "n-quads",
        "W3C PROV-O, a line for each statement",
        ".nq",
        _nquads,
        extra="rdf",
    ),
    Format(
        "openlineage",
        "events of the run, with its data sets and columns",
        ".openlineage.json",
        _openlineage,
    ),
    Format(
        "ro-crate",
        "a research object: the certificate, described",
        ".crate.zip",
        _ro_crate,
        binary=True,
    ),
    Format(
        "in-toto",
        "a statement about the certificate, unsigned",
        ".intoto.json",
        _in_toto,
    ),
    Format("graphml", "a graph for yEd, networkx, Neo4j", ".graphml", _graphml),
    Format("gexf", "a graph for Gephi", ".gexf", _gexf),
    Format("node-link", "a graph for networkx, D3", ".graph.json", _node_link),
    Format("nemo", "inferences for Nemo and Evonne", ".trace.json", _nemo),
    Format(
        "lean",
        "a positive proof for the checker verified in Lean (-g)",
        ".graph.lean.json",
        _lean,
    ),
    Format(
        "lean-ordered",
        "the same, each step after its premises (-o)",
        ".ograph.lean.json",
        _lean_ordered,
    ),
)


def format_named(name: str) -> Format:
    """Return a format; ``KeyError`` where there is none of that name."""
    return {one.name: one for one in FORMATS}[name]


def write_format(chosen: Format, certificate: bytes, locale: str = "") -> bytes:
    """Write a certificate; ``ValueError`` for what is none, ``ConstatError`` where it cannot be.

    A locale is for formats that can be written in one.
    """
    if locale and chosen.write_in is not None:
        content = chosen.write_in(certificate, locale)
    else:
        content = chosen.write(certificate)
    return content.encode() if isinstance(content, str) else content


def proof_as_graph(certificate: bytes) -> nx.DiGraph[str]:
    """Give the graph of a certificate that `export.graph` describes; `ValueError` for none."""
    from constat.proof.export.graph import proof_graph  # noqa: PLC0415  loaded when it is used

    return proof_graph(certificate)
