"""Certificates that were kept, each in a file named after its proof.

In: the bytes of a certificate and the identity of its proof. Out: the path of the file. Invariants:
a file is there whole or not at all, and what `add` has returned survives a crash of the machine; a
proof that is found again takes the place of itself, with its newer times. Example:
`CertificateStore(folder).add("sha256:<hex>", content)` writes `certificates/<hex>.json`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.store.replacing import replaced

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER_NAME: Final = "certificates"
_IDENTITY: Final = re.compile(r"sha256:([0-9a-f]{64})\Z")
_SUFFIX: Final = ".json"
# As much as a checker reads.
_MOST_BYTES: Final = 256 << 20


class CertificateStore:
    """The certificates of a project, in a folder of its state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER_NAME

    def add(self, identity: str, content: bytes) -> Path:
        """Keep a certificate; gives its path. Raises `ConstatError` where it cannot be written."""
        found = _IDENTITY.match(identity)
        if found is None:
            raise ValueError("this is no identity of a proof")
        path = self.folder / f"{found[1]}{_SUFFIX}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with replaced(path) as stream:
                stream.write(content)
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            message = f"the certificate cannot be kept: {reason}"
            raise ConstatError([Diagnostic("C0563", message)]) from problem
        return path

    def read(self, identity: str) -> bytes:
        """Give a kept certificate. Raises `ConstatError` where there is none, or it is damaged."""
        found = _IDENTITY.match(identity)
        path = self.folder / f"{'' if found is None else found[1]}{_SUFFIX}"
        try:
            with path.open("rb") as stream:
                return stream.read(_MOST_BYTES + 1)
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            message = f"no certificate is kept under `{identity}`: {reason}"
            hint = "`constat prove GOAL --keep` keeps one and says its name"
            raise ConstatError([Diagnostic("C0722", message, help=hint)]) from problem

    def paths(self) -> tuple[Path, ...]:
        """Give the files, in the order of their names."""
        if not self.folder.is_dir():
            return ()
        return tuple(sorted(self._files()))

    def _files(self) -> Iterator[Path]:
        for path in self.folder.glob(f"*{_SUFFIX}"):
            if _IDENTITY.match(f"sha256:{path.stem}"):
                yield path
