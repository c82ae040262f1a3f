"""Files that are replaced as a whole, among them certificates and transcripts."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.interruption import committing
from constat.store.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

# Each file is the old one or the new one at every moment; after a failure or an interruption every
# one is the old one and no temporary file is left; after a success bytes and names are on the
# disk.


class Replacements:
    """Files that are replaced together; those that are not committed in the block are dropped."""

    def __init__(self) -> None:
        self._beside: dict[Path, Scratch] = {}
        self._ready: list[tuple[Path, Path]] = []

    def __enter__(self) -> Self:
        return self

    @contextlib.contextmanager
    def stream(self, target: Path, mode: int | None = None) -> Iterator[BinaryIO]:
        """Give a stream for a file; without a mode only the owner may read it. Raises `OSError`."""
        folder = target.parent
        if folder not in self._beside:
            if not folder.is_dir():
                raise FileNotFoundError(2, os.strerror(2), os.fspath(folder))
            # In the file's own folder, so that it can be moved into its place.
            self._beside[folder] = Scratch(folder, hidden=True)
        written = self._beside[folder].path / f"{len(self._ready)}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        with os.fdopen(os.open(written, flags, 0o600), "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
        self._ready.append((written, target))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for one in self._beside.values():
            one.close()

    def commit(self, *, last: bool = False) -> None:
        """Put all into their places; an interruption stops it before, never between two of them.

        `last` where the command has nothing left to do but to say so.
        """
        with committing(last=last):
            for written, target in self._ready:
                written.replace(target)
            for folder in self._beside:
                _settle(folder)


@contextlib.contextmanager
def replaced(target: Path, mode: int | None = None, *, last: bool = False) -> Iterator[BinaryIO]:
    """Give the stream of one file; see `Replacements`. Raises `OSError`."""
    with Replacements() as files:
        with files.stream(target, mode) as stream:
            yield stream
        files.commit(last=last)


def _settle(folder: Path) -> None:
    # A rename is durable only once the folder is on the disk.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


TRANSCRIPTS_FOLDER_NAME: Final = "questions"
_TRANSCRIPTS_IDENTITY: Final = re.compile(r"[0-9a-f]{16}\Z")
_TRANSCRIPTS_MOST_BYTES: Final = 16 << 20


class Transcripts:
    """The records of a project, in a folder of its state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / TRANSCRIPTS_FOLDER_NAME

    def keep(self, record: Mapping[str, Any]) -> Path:
        """Write a record in the place of its earlier form. Raises `ConstatError`."""
        path = self._path(str(record["id"]))
        text = json.dumps(record, ensure_ascii=True, indent=1)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with replaced(path) as stream:
                stream.write(text.encode())
        except OSError as problem:
            raise _unkept("written", problem) from problem
        return path

    def read(self, identity: str) -> dict[str, Any]:
        """Give a record. Raises `ConstatError` where there is none, or it is damaged."""
        try:
            with self._path(identity).open("rb") as stream:
                record = json.loads(stream.read(_TRANSCRIPTS_MOST_BYTES + 1))
        except (OSError, ValueError, RecursionError) as problem:
            raise _unkept("read", problem) from problem
        if not isinstance(record, dict) or record.get("id") != identity:
            raise _unkept("read", ValueError("it is another record"))
        return record

    def identities(self) -> tuple[str, ...]:
        """Name the records that are kept."""
        if not self.folder.is_dir():
            return ()
        found = (path.stem for path in self.folder.glob("*.json"))
        return tuple(sorted(one for one in found if _TRANSCRIPTS_IDENTITY.match(one)))

    def _path(self, identity: str) -> Path:
        if not _TRANSCRIPTS_IDENTITY.match(identity):
            message = "this is no id of a transcript"
            hint = "an id has 16 hexadecimal digits; `constat ask` prints it"
            raise ConstatError([Diagnostic("C0873", message, help=hint)])
        return self.folder / f"{identity}.json"


def _unkept(what: str, problem: Exception) -> ConstatError:
    reason = getattr(problem, "strerror", None) or type(problem).__name__
    message = f"the transcript of a question cannot be {what}: {reason}"
    note = "what had been kept before is as it was"
    return ConstatError([Diagnostic("C0873", message, note=note)])
