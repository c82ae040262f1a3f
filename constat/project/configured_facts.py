"""Read `facts:` and `closed:`: the facts that a project states itself.

In: nodes of the configuration. Out: fact tables whose cells are texts, or lists of them (for
records), with the environment variables they came from. Invariant: a cell without a text names the
variables that are missing.
Example: `rate: [[north, 0.1]]` is a table of form `rows` with one row of two cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.project.document import Listing, Node, Table, Text, printable
from constat.project.project import Cell, FactRow, FactTable
from constat.project.variables import expand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.diagnostics import Span
    from constat.project.sections import Sections


def read_facts(
    node: Node, environment: Mapping[str, str], sections: Sections
) -> dict[str, FactTable]:
    """Read all of `facts:`."""
    return {
        key.text: _table(key, value, environment, sections)
        for key, value in sections.entries(node, "`facts`")
    }


def read_closed(node: Node, sections: Sections, config_name: str) -> dict[str, str]:
    """Read `closed:`: predicate to who declares it; a plain list is declared by the file."""
    if isinstance(node, Listing):
        return {one.text: config_name for one in sections.texts(node, "`closed`")}
    return {
        key.text: sections.text(value, f"who declares `{printable(key.text)}` closed", config_name)
        for key, value in sections.entries(node, "`closed`")
    }


def _table(key: Text, node: Node, environment: Mapping[str, str], sections: Sections) -> FactTable:
    match node:
        case Text():
            row = FactRow((_cell(node, environment, sections),), None, node.span)
            return FactTable(key.text, "scalar", (row,), key.span)
        case Table():
            row = _row(node, environment, sections)
            return FactTable(key.text, "rows", (row,), key.span)
        case Listing(entries=entries):
            rows = tuple(_row(entry, environment, sections) for entry in entries)
            return FactTable(key.text, "rows", rows, key.span)


def _row(node: Node, environment: Mapping[str, str], sections: Sections) -> FactRow:
    match node:
        case Text():
            return FactRow((_cell(node, environment, sections),), None, node.span)
        case Table(entries=entries):
            cells = tuple(_cell(value, environment, sections) for _, value in entries)
            return FactRow(cells, tuple(key.text for key, _ in entries), node.span)
        case Listing(entries=nodes):
            cells = tuple(_cell(value, environment, sections) for value in nodes)
            return FactRow(cells, None, node.span)


def _cell(node: Node, environment: Mapping[str, str], sections: Sections) -> Cell:
    if isinstance(node, Listing):
        return joined_cells([_cell(one, environment, sections) for one in node.entries], node.span)
    if not isinstance(node, Text):
        sections.complain("C0504", "a value in `facts` is a table inside a row", node)
        return Cell("", span=node.span)
    if node.bare and not node.text:
        sections.complain(
            "C0504", "a value in `facts` is missing", node, hint='an empty text is written `""`'
        )
    expanded = expand(node.text, environment)
    if expanded.malformed:
        sections.complain(
            "C0504",
            "a `${` that is not followed by a name and `}`",
            node,
            hint="write `${NAME}`, or `$${` for the characters themselves",
        )
        return Cell("", span=node.span)
    return Cell(expanded.text, expanded.names, expanded.missing, node.span)


def joined_cells(parts: Sequence[Cell], span: Span | None) -> Cell:
    """Make a cell of a list, which depends on what its parts depend on."""
    variables = dict.fromkeys(name for one in parts for name in one.variables)
    missing = dict.fromkeys(name for one in parts for name in one.missing)
    return Cell(None if missing else "", tuple(variables), tuple(missing), span, tuple(parts))
