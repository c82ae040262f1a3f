"""What `documents:` of a `constat.yaml` says: which files, how they are read, who may see them."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Span
from constat.frozen import frozen
from constat.logic import LOCALES, find_locale
from constat.project.document import Listing, Node, Text, printable
from constat.project.reading import suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.project.reading import Sections

# Nothing is opened here; whether files exist is seen when they are read.

_CODE: Final = "C0580"
_KEYS: Final = ("files", "locale", "read_by_model", "bytes", "most")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}\Z", re.ASCII)
_MOST_BYTES: Final = 1 << 30
_MOST: Final = 100_000


@frozen
class DocumentsSetting:
    """Documents of one name: files, folders and patterns of files, all in the project.

    `locale` says how numbers and days are written in them; without one only what means the same
    everywhere is read. Their texts go to a language model only where `read_by_model` says so.
    `bytes` bounds one file, `most` their number.
    """

    name: str
    files: tuple[str, ...] = ()
    locale: str = ""
    read_by_model: bool = False
    bytes: int = 32 << 20
    most: int = 1_000
    span: Span | None = None


def read_documents(
    node: Node, taken: Mapping[str, str], sections: Sections
) -> dict[str, DocumentsSetting]:
    """Read `documents:`, a table of names; `taken` says what the names of other sources are."""
    found = {}
    for key, value in sections.entries(node, "`documents`"):
        if key.text in taken:
            message = f"`{printable(key.text)}` is a name of a {taken[key.text]} already"
            hint = f"write `{printable(key.text)}_texts`"
            sections.complain(_CODE, message, key, hint=hint)
        if not _NAME.match(key.text):
            message = f"`{printable(key.text)}` is no name for documents"
            sections.complain(_CODE, message, key, hint="use letters, digits, `_` and `-`")
        found[key.text] = _setting(key, value, sections)
    return found


def _setting(key: Text, node: Node, sections: Sections) -> DocumentsSetting:
    what, plain = f"documents `{printable(key.text)}`", DocumentsSetting(key.text)
    entries: Mapping[str, Node] = {"files": node}
    if not isinstance(node, Text | Listing):
        entries = sections.table(node, what, _KEYS)
    files = sections.texts(entries.get("files"), f"`files` of {what}")
    if not files:
        hint = "write `contracts: contracts/`, or `files: [contracts/*.md, policy.pdf]`"
        sections.complain(_CODE, f"{what} names no files", node, hint=hint)
    return DocumentsSetting(
        name=key.text,
        files=tuple(one for one in (_path(one, what, sections) for one in files) if one),
        locale=_locale(entries.get("locale"), what, sections),
        read_by_model=sections.flag(entries.get("read_by_model"), "`read_by_model`"),
        bytes=min(sections.integer(entries.get("bytes"), "`bytes`", plain.bytes), _MOST_BYTES),
        most=min(sections.integer(entries.get("most"), "`most`", plain.most), _MOST),
        span=key.span,
    )


def _path(written: Text, what: str, sections: Sections) -> str:
    path = PurePosixPath(written.text)
    if path.is_absolute() or ".." in path.parts:
        note = "documents lie in the project's folder"
        sections.complain("C0505", "this path leads out of the project", written, note=note)
        return ""
    if any("**" in part and part != "**" for part in path.parts):
        hint = "write `contracts/**/*.md`"
        sections.complain(_CODE, f"a pattern of {what} cannot be read", written, hint=hint)
        return ""
    return path.as_posix()


def _locale(node: Node | None, what: str, sections: Sections) -> str:
    name = sections.text(node, f"`locale` of {what}")
    found = find_locale(name) if name else None
    if name and found is None and node is not None:
        hint = suggestion(name, [one.name for one in LOCALES]) or "write `locale: de_DE`"
        sections.complain(_CODE, f"`locale` of {what} is not known", node, hint=hint)
    return found.name if found is not None else ""
