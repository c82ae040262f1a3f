"""The documents of one source: files by names, folders and patterns, read when they are needed.

In: a `DocumentsSetting`. Out: each file's name, hash and what was read of it. Invariants: every
file lies in the project after resolving links; what is read twice under one hash is read once; a
file that cannot be read is told with its reason and hides no other one.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from typing import TYPE_CHECKING, Final

from constat.documents.parsed import ENDINGS, Parsed, Places, kind_of
from constat.documents.reader import read_documents
from constat.frozen import frozen

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from constat.project.documents import DocumentsSetting

_AT_ONCE: Final = getattr(os, "O_NONBLOCK", 0)
_MOST_SEEN: Final = 100_000
"""Entries of folders that are looked at."""


@frozen
class Document:
    """A file of the project. Without `parsed` it could not be read, and `failure` says why.

    `name` is its path in the project, `hash` that of its bytes: `sha256:` and 64 digits.
    """

    name: str
    kind: str
    size: int = 0
    hash: str = ""
    parsed: Parsed | None = None
    places: Places | None = None
    failure: str = ""


State = tuple[tuple[str, int, int, int], ...]
"""Of each file its name, size, time of change and number."""


class Collection:
    """The documents of one source. Used by one thread at a time; `cancel` may be any thread's."""

    def __init__(self, setting: DocumentsSetting, folder: Path, state: Path) -> None:
        self.setting = setting
        self._folder = folder.resolve()
        self._state = state.resolve()
        self._read: dict[tuple[str, str], Parsed | str] = {}
        self._known: tuple[State, tuple[Document, ...]] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = threading.Event()

    def state(self) -> State:
        """Tell which files there are, without reading them."""
        return tuple(self._stat(path) for path in self._paths()[0])

    def names(self) -> tuple[str, ...]:
        """List the files that there are."""
        return tuple(name for name, *_ in self.state())

    def documents(self, until: float) -> tuple[Document, ...]:
        """Read all documents, until a monotonic time; those that have not changed only once."""
        state = self.state()
        if self._known is not None and self._known[0] == state:
            return self._known[1]
        self._cancelled.clear()
        paths, missing = self._paths()
        found = [*self._all(paths, until), *missing]
        documents = tuple(sorted(found, key=lambda one: one.name))
        # What could not be read is tried again: it may have been a matter of time.
        if not any(one.failure for one in documents) and self.state() == state:
            self._known = state, documents
        return documents

    def cancel(self) -> None:
        """End the reading, from any thread."""
        self._cancelled.set()
        process = self._process
        if process is not None:
            process.kill()

    def _all(self, paths: tuple[Path, ...], until: float) -> Iterator[Document]:
        """Read files; those whose bytes were read before are not read again."""
        raws = [self._bytes(path) for path in paths]
        new = {
            (one.kind, one.hash): data
            for one, data in raws
            if not one.failure and (one.kind, one.hash) not in self._read
        }
        wanted = [(kind, data) for (kind, _), data in new.items()]
        reads = read_documents(wanted, until, started=self._started) if wanted else []
        for key, read in zip(new, reads, strict=True):
            self._read[key] = read
        present = {(one.kind, one.hash) for one, _ in raws}
        for one, _ in raws:
            yield one if one.failure else self._document(one)
        self._read = {
            key: read
            for key, read in self._read.items()
            if key in present and isinstance(read, Parsed)
        }

    def _document(self, raw: Document) -> Document:
        read = self._read[raw.kind, raw.hash]
        if isinstance(read, str):
            return Document(raw.name, raw.kind, raw.size, raw.hash, failure=read)
        return Document(raw.name, raw.kind, raw.size, raw.hash, read, Places(read))

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        if self._cancelled.is_set():
            process.kill()

    # ------------------------------------------------------------------------------- files

    def _paths(self) -> tuple[tuple[Path, ...], list[Document]]:
        """Give the files in the order of their names, and what is named and not there."""
        found: dict[Path, None] = {}
        missing: list[Document] = []
        for pattern in self.setting.files:
            matched = list(self._matching(pattern))
            found.update(dict.fromkeys(matched))
            if not (matched or _is_pattern(pattern) or (self._folder / pattern).is_dir()):
                missing.append(Document(pattern, kind_of(pattern), failure="there is no such file"))
        paths = sorted(found, key=self._name)
        if len(paths) > self.setting.most:
            for path in paths[self.setting.most :]:
                failure = f"more than {self.setting.most:,} documents: raise `most`"
                missing.append(Document(self._name(path), kind_of(path.name), failure=failure))
        return tuple(paths[: self.setting.most]), missing

    def _matching(self, pattern: str) -> Iterator[Path]:
        """Yield the files of a pattern that are documents, inside the project."""
        whole = self._folder / pattern
        if not _is_pattern(pattern):
            if whole.is_dir():
                yield from self._matching(f"{pattern.rstrip('/')}/**/*")
            elif whole.is_file() and self._inside(whole):
                yield whole
            return
        for number, path in enumerate(self._folder.glob(pattern)):
            if number >= _MOST_SEEN:
                return
            hidden = any(part.startswith(".") for part in path.relative_to(self._folder).parts)
            known = path.suffix.lower() in ENDINGS
            if known and not hidden and path.is_file() and self._inside(path):
                yield path

    def _inside(self, path: Path) -> bool:
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):
            return False
        return real.is_relative_to(self._folder) and not real.is_relative_to(self._state)

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def _stat(self, path: Path) -> tuple[str, int, int, int]:
        try:
            found = path.stat()
        except OSError:
            return self._name(path), -1, 0, 0
        return self._name(path), found.st_size, found.st_mtime_ns, found.st_ino

    def _bytes(self, path: Path) -> tuple[Document, bytes]:
        """Read the bytes of a file, within the bound."""
        name, kind = self._name(path), kind_of(path.name)
        most = self.setting.bytes
        try:
            # A pipe that nobody writes to would hold us for ever.
            with os.fdopen(os.open(path, os.O_RDONLY | _AT_ONCE), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return Document(name, kind, failure="it is no file"), b""
                data = file.read(most + 1)
        except OSError as problem:
            reason = f"it cannot be opened ({type(problem).__name__})"
            return Document(name, kind, failure=reason), b""
        if len(data) > most:
            failure = f"it has more than {most:,} bytes: raise `bytes`"
            return Document(name, kind, failure=failure), b""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        return Document(name, kind, len(data), digest), data


def _is_pattern(written: str) -> bool:
    return any(letter in written for letter in "*?[")
