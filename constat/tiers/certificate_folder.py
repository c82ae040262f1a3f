"""The files of a folder that certificates are taken from.

In: a folder inside the project. Out: the files that may prove a goal of a predicate, with their
content; larger ones are passed over. Invariants: links that lead out of the project are not
followed; what is read in one go is bounded, and a bound that is reached is an error and no empty
folder; a file is read again only when it has changed. Example: of three files, `files("is_vip")`
gives the one whose goal is `is_vip`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from constat.project import inside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_FILES: Final = 10_000
MOST_BYTES: Final = 128 << 20
LARGEST: Final = 8 << 20
_SUFFIX: Final = ".json"

Stamp = tuple[str, int, int]
"""Name, time of change and size."""


class UnreadableError(Exception):
    """The folder cannot be read whole; the text says why, without bytes from outside."""


@dataclass(frozen=True, slots=True)
class CertificateFile:
    """One file: its path within the project, and what it holds."""

    name: str
    stamp: Stamp
    content: bytes = field(compare=False, repr=False)


class CertificateFolder:
    """One folder. `named` folders must be there; the project's own may not have begun yet."""

    def __init__(self, folder: Path, project: Path, *, named: bool) -> None:
        self._folder = folder
        self._project = project
        self._named = named
        self._files: dict[Stamp, CertificateFile] = {}
        self._listed: tuple[Stamp, ...] = ()
        self._generation = 0

    def generation(self) -> int:
        """Give a number that is another one when files have come, gone or changed."""
        try:
            listed = tuple(self._stamps())
        except UnreadableError:
            listed = (("", 0, -1),)
        if listed != self._listed:
            self._listed = listed
            self._generation += 1
        return self._generation

    def files(self, predicate: str) -> Iterator[CertificateFile]:
        """Yield the files in which a goal of the predicate stands, by name."""
        mark = f'"goal":["{predicate}",'.encode()
        kept: dict[Stamp, CertificateFile] = {}
        total = 0
        for stamp in list(self._stamps()):
            if stamp[2] > LARGEST:
                continue
            total += stamp[2]
            if total > MOST_BYTES:
                raise UnreadableError(f"the certificates are larger than {MOST_BYTES >> 20} MiB")
            known = self._files.get(stamp)
            kept[stamp] = self._read(stamp) if known is None else known
        self._files = kept
        yield from (file for file in kept.values() if mark in file.content)

    def _stamps(self) -> Iterator[Stamp]:
        try:
            with os.scandir(self._folder) as entries:
                found = [entry.name for entry in entries if entry.name.endswith(_SUFFIX)]
        except FileNotFoundError:
            if self._named:
                raise UnreadableError("the folder of certificates is not there") from None
            return
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise UnreadableError(f"the folder of certificates cannot be read: {reason}") from None
        if len(found) > MOST_FILES:
            raise UnreadableError(f"there are more than {MOST_FILES:,} certificates")
        for name in sorted(found):
            stamp = self._stamp(name)
            if stamp is not None:
                yield stamp

    def _stamp(self, name: str) -> Stamp | None:
        path = inside(name, self._folder, (self._project,))
        try:
            status = None if path is None else path.stat()
        except OSError:
            return None
        return None if status is None else (name, status.st_mtime_ns, status.st_size)

    def _read(self, stamp: Stamp) -> CertificateFile:
        shown = "".join(c if c.isprintable() else "?" for c in stamp[0])[:100]
        try:
            return CertificateFile(shown, stamp, (self._folder / stamp[0]).read_bytes())
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise UnreadableError(f"{shown} cannot be read: {reason}") from None
