"""Read `files:` of a database: tables and the files they stand for.

In: the node of a configuration. Out: the pattern of each table. Invariant: names are plain words
that no two tables share, paths are relative and stay inside the project, endings are known; whether
the files exist is seen when they are read. Example: `files: {orders: "data/orders-*.parquet"}`.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from constat.project.document import Text, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.project.document import Node
    from constat.project.sections import Sections

ENDINGS: Final = (
    *(".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json"),
    *(".arrow", ".arrows", ".feather", ".xlsx"),
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}\Z")


def split_sheet(pattern: str) -> tuple[str, str]:
    """Give the path of a workbook and the name of a sheet; no name where none is written."""
    path, mark, sheet = pattern.partition("#")
    return (path, sheet) if mark and path.lower().endswith(".xlsx") else (pattern, "")


def read_files(node: Node | None, what: str, sections: Sections) -> Mapping[str, str]:
    """Give the pattern of each table's files; every mistake is reported."""
    if node is None:
        return {}
    found: dict[str, str] = {}
    before = len(sections.diagnostics)
    for key, value in sections.entries(node, f"`files` of {what}"):
        name = key.text.lower()
        if not _NAME.match(name):
            message = f"`{printable(key.text)}` in `files` of {what} is no name for a table"
            hint = "use letters, digits and `_`, with a letter first"
            sections.complain("C0504", message, key, hint=hint)
        elif name in found:
            sections.complain("C0502", f"the table `{name}` of {what} stands twice", key)
        elif pattern := _pattern(value, what, sections):
            found[name] = pattern
    if not found and len(sections.diagnostics) == before:
        sections.complain("C0504", f"`files` of {what} names no table", node)
    return found


def _pattern(node: Node, what: str, sections: Sections) -> str:
    written = sections.text(node, f"a file of {what}")
    if not written or not isinstance(node, Text):
        return ""
    path = PurePosixPath(split_sheet(written)[0])
    if path.is_absolute() or ".." in path.parts:
        sections.complain(
            "C0505", "this path leads out of the project", node, note="data lies in its folder"
        )
        return ""
    if path.suffix.lower() not in ENDINGS:
        message = f"a file of {what} is of a kind that cannot be read"
        sections.complain("C0504", message, node, hint=f"known: {', '.join(ENDINGS)}")
        return ""
    return written
