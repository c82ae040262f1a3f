"""Compare what a certificate quotes of documents with the documents themselves.

In: an accepted certificate and the folder that its documents lie in.  Out: how many quotations were
found word by word, and how many only stand in a document whose hash is right; ``Rejected`` where a
document is missing or another, or other words stand there.  Invariant: no path leads out of the
folder, and nothing but bytes is read.  FORMAT.md, section 5.

Example: bytes 15 to 36 of ``contracts/acme.md`` are ``Supplier: Acme``.
"""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from .canonical import Rejected
from .proofs import every

if TYPE_CHECKING:
    from .certificate import Certificate
    from .records import Quoted, Source

MOST_BYTES: Final = 1 << 30
"""Bytes of one document."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How many quotations were compared: ``words`` byte by byte, ``hashes`` by the file alone."""

    words: int = 0
    hashes: int = 0

    def __str__(self) -> str:
        """Say what was compared, and what has to be believed."""
        parts = []
        if self.words:
            parts.append(f"{_quotations(self.words)} found in documents, byte by byte")
        if self.hashes:
            parts.append(
                f"{_quotations(self.hashes)} of documents that have the hash; that their words are"
                " in the text, whoever read them says"
            )
        return "; ".join(parts) or "nothing rests on documents"


def _quotations(count: int) -> str:
    return f"{count:,} quotation{'' if count == 1 else 's'}"


def compare_documents(certificate: Certificate, folder: Path) -> Compared:
    """Compare all quotations, those of nested certificates included."""
    contents: dict[str, bytes] = {}
    words = hashes = 0
    for one in every(certificate):
        for position, source in enumerate(one.evidence.sources):
            if source.span is None:
                continue
            try:
                if _compare(source, source.span, folder, contents):
                    words += 1
                else:
                    hashes += 1
            except Rejected as reason:
                reason.within(f"sources[{position}].span")
                raise
    return Compared(words, hashes)


def _compare(source: Source, span: Quoted, folder: Path, contents: dict[str, bytes]) -> bool:
    """Compare one quotation; tell whether its words were found."""
    if span.document not in contents:
        contents.clear()  # quotations of one document stand together; one at a time is held
        contents[span.document] = _content(span.document, folder)
    content, named = contents[span.document], f"{span.document!r:.80}"
    found = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if span.hash is not None and span.hash != found:
        raise Rejected("document", f"the document {named} has another hash")
    told = source.attestation
    # Words of a text that a reader made of the file stand in that text.
    if told is not None and told.answered is not None and told.answered != found:
        if span.hash is None:
            raise Rejected("document", f"nothing says which document {named} is")
        return False
    if content[span.start : span.end] != span.text.encode():
        raise Rejected("document", f"other words stand there in {named}")
    return True


def _content(name: str, folder: Path) -> bytes:
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or "\\" in name or "\0" in name:
        raise Rejected("document", "its name leads out of the folder")
    try:
        path = (folder / parts).resolve(strict=True)
        if not path.is_relative_to(folder.resolve(strict=True)):
            raise Rejected("document", "its name leads out of the folder")
        if not stat.S_ISREG(path.stat().st_mode):
            raise Rejected("document", "it is no file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError):
        message = f"the document {name!r:.80} is not in this folder, which is that of the project"
        raise Rejected("document", message) from None
    if len(content) > MOST_BYTES:
        raise Rejected("document", f"the document {name!r:.80} is too large")
    return content
