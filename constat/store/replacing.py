"""Files that are replaced as a whole, among them certificates and transcripts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.interruption import committing
from constat.evaluation.processor import finalize_here
from constat.store.state_file import LOCKS, NO_LINK, lock_within

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

# Private folders, which go even when the process that had one was killed.

_LOCK: Final = "in-use"
_FRESH: Final = "fresh"
_MARK: Final = b"constat\n"
_NAME: Final = re.compile(r"\.?constat-[0-9a-f]{16}")
_MOST_ENTRIES: Final = 20_000
_SECONDS_TO_LOCK: Final = 60.0


class Scratch:
    """A folder of our own, in that for temporary files or in another one, until it is closed."""

    def __init__(self, parent: Path | None = None, *, hidden: bool = False) -> None:
        place = Path(tempfile.gettempdir()) if parent is None else parent
        place.mkdir(parents=True, exist_ok=True)
        remove_left(place)
        self.path = place / f"{'.' if hidden else ''}constat-{secrets.token_hex(8)}"
        # Promised before it is there: an interruption finds nothing that nobody will take away.
        self._remove = finalize_here(self, _removed, self.path)
        self.path.mkdir(mode=0o700)
        self._lock = -1
        if not LOCKS:
            # Nobody takes it away that is killed.
            return
        fresh = self.path / _FRESH
        self._lock = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        os.write(self._lock, _MARK)
        lock_within(self._lock, 0.0, shared=False)
        # Under its name it is locked from the first moment: nobody takes it for a left one.
        fresh.rename(self.path / _LOCK)

    def close(self) -> None:
        """Take the folder away."""
        self._remove()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def remove_left(parent: Path | None = None) -> None:
    """Remove the folders of processes that ended without closing them.

    By default those in the folder for temporary files.
    """
    if not LOCKS:
        return
    # What cannot be looked at or removed belongs to others, and no result depends on it.
    with contextlib.suppress(OSError), os.scandir(parent or tempfile.gettempdir()) as entries:
        for entry in islice(entries, _MOST_ENTRIES):
            if _NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_left(Path(entry.path))


def _remove_if_left(folder: Path) -> None:
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | NO_LINK | os.O_NONBLOCK)
    except FileNotFoundError:
        # Whoever makes a folder has locked it at once, or was killed in that moment.
        if time.time() - about.st_mtime > _SECONDS_TO_LOCK:
            with contextlib.suppress(FileNotFoundError):
                (folder / _FRESH).unlink()
            folder.rmdir()
        return
    try:
        if lock_within(lock, 0.0, shared=False) and os.read(lock, len(_MARK) + 1) == _MARK:
            _removed(folder)
    finally:
        os.close(lock)


def _removed(folder: Path) -> None:
    """Remove a folder, its lock last.

    Whoever is killed on the way leaves one that is known as left, whatever is still in it.
    """
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _LOCK:
                with contextlib.suppress(OSError):
                    path.unlink()
        if [path.name for path in folder.iterdir()] == [_LOCK]:
            (folder / _LOCK).unlink()
        folder.rmdir()


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
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(written, flags, 0o600), "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if mode is not None:
                written.chmod(mode)
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
    # A rename is durable only once the folder is on the disk. Windows opens no folder.
    if os.name == "nt":
        return
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
