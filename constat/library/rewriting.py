r"""A rule file in the canonical layout, as bytes.

In: the bytes of a file and its name. Out: the bytes it should have, or what is wrong with it.
Invariants: only the layout changes; a file keeps the line ends that most of its lines have; a byte
order mark, which has no meaning in UTF-8, is left out. Example: `rewrite(b"p( 1 ).\r\n",
"p.dl").after` is `b"p(1).\r\n"`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Severity, Span
from constat.library.files import CASES, SUFFIX
from constat.logic import Predicate
from constat.syntax import decode_rules
from constat.syntax.argument_styles import ArgumentStyle
from constat.syntax.formatting import format_text
from constat.syntax.loading import MAX_FILE
from constat.syntax.mistakes.spelling import too_large
from constat.syntax.parser import parse_file
from constat.syntax.printing import UNDECLARED, Predicates
from constat.syntax.surface import Declaration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_CRLF = b"\r\n"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file before and after; `after` is `None` where the file has errors."""

    name: str
    before: bytes
    after: bytes | None
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]

    @property
    def changed(self) -> bool:
        """Whether the file is not in the canonical layout."""
        return self.after is not None and self.after != self.before

    @property
    def status(self) -> str:
        """`error`, `changed` or `unchanged`."""
        if self.after is None:
            return "error"
        return "changed" if self.changed else "unchanged"


def rewrite(
    content: bytes,
    name: str,
    *,
    known: Predicates = UNDECLARED,
    style: ArgumentStyle = ArgumentStyle.WIDE_NAMED,
) -> Rewritten:
    """Lay out a file; `known` are predicates that other files declare."""
    found: list[Diagnostic] = []
    text = ""
    if len(content) > MAX_FILE:
        # Counted in bytes: who reads a file within bounds has cut off what lies beyond them.
        found.append(too_large(Span(name, 1, 1, 1, 1), "4 MiB"))
    else:
        text = decode_rules(content, name, found)
    written = None if found else format_text(text, name, found, known=known, style=style)
    errors = tuple(one for one in found if one.severity is Severity.ERROR)
    if written is None:
        return Rewritten(name, content, None, errors, {name: text})
    after = written.encode()
    if 2 * content.count(_CRLF) > content.count(b"\n"):
        after = after.replace(b"\n", _CRLF)
    return Rewritten(name, content, after, (), {name: text})


def declared_near(files: Sequence[Path]) -> dict[str, Predicate]:
    """Give what the files and those beside them declare; not what two declare differently.

    Cases speak of predicates that the folder above declares.
    """
    folders = dict.fromkeys(file.parent for file in files)
    folders.update({one.parent: None for one in folders if one.name == CASES})
    beside = (path for folder in folders for path in sorted(folder.glob(f"*{SUFFIX}")))
    found: dict[str, Predicate] = {}
    differing: set[str] = set()
    for path in dict.fromkeys((*files, *beside)):
        for one in _declared(path):
            first = found.setdefault(one.name, one)
            if [column.name for column in first.columns] != [column.name for column in one.columns]:
                differing.add(one.name)
    return {name: one for name, one in found.items() if name not in differing}


def _declared(path: Path) -> Iterator[Predicate]:
    """Yield what a file declares; one that cannot be read declares nothing here."""
    with suppress(OSError, ValueError), path.open("rb") as stream:
        text = stream.read(MAX_FILE).decode()
        for item in parse_file(text, path.name, []).items:
            if isinstance(item, Declaration):
                yield Predicate(item.name, item.columns)
