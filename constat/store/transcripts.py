"""Records of how questions became goals, each in a file of its own.

In: a record as JSON with its `id`. Out: the path; records back. Invariants: a file is whole at
every moment, the record of a step or the one before it; what `keep` has returned survives a crash
of the machine; reading creates nothing. Example: `Transcripts(folder).keep(record)` writes
`questions/<id>.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.store.replacing import replaced

if TYPE_CHECKING:
    from pathlib import Path

FOLDER_NAME: Final = "questions"
_IDENTITY: Final = re.compile(r"[0-9a-f]{16}\Z")
_MOST_BYTES: Final = 16 << 20


class Transcripts:
    """The records of a project, in a folder of its state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER_NAME

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
                record = json.loads(stream.read(_MOST_BYTES + 1))
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
        return tuple(sorted(one for one in found if _IDENTITY.match(one)))

    def _path(self, identity: str) -> Path:
        if not _IDENTITY.match(identity):
            message = "this is no id of a transcript"
            hint = "an id has 16 hexadecimal digits; `constat ask` prints it"
            raise ConstatError([Diagnostic("C0873", message, help=hint)])
        return self.folder / f"{identity}.json"


def _unkept(what: str, problem: Exception) -> ConstatError:
    reason = getattr(problem, "strerror", None) or type(problem).__name__
    message = f"the transcript of a question cannot be {what}: {reason}"
    note = "what had been kept before is as it was"
    return ConstatError([Diagnostic("C0873", message, note=note)])
