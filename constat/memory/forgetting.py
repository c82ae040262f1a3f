"""Forget a text: what it said goes, that it was there stays.

In: an archive, and the digest of a text.  Out: what was removed.  Invariants: the bytes are gone
from the file, also from what the database keeps behind its back; the digest stays, with who wanted
it and why, so a gap can be told from damage; everything that was made of the text goes with it:
facts, rendered contexts, saved results.  A text is kept once for all who said it, so it is
forgotten in every session, and for ever: saying it again brings nothing back.

Example: ``forget(archive, ["sha256:..."], by="ann", reason="a card number")``.
Reference: https://www.sqlite.org/pragma.html#pragma_secure_delete
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.memory.archive import FORGOTTEN
from constat.store import clock

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from constat.memory.archive import Archive

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How much went: texts, the messages that said them, facts noted of them, checkpoints."""

    texts: tuple[str, ...]
    messages: int
    notes: int
    checkpoints: int


def forget(archive: Archive, digests: Sequence[str], *, by: str, reason: str) -> Forgotten:
    """Forget texts; raises ``ConstatError`` C0926 for one that is not kept, or no person."""
    wanted = tuple(dict.fromkeys(digests))
    if not by.strip() or not wanted or not all(map(_DIGEST.fullmatch, wanted)):
        message = "a text is forgotten by its digest, and in the name of a person"
        raise ConstatError([Diagnostic("C0926", message)])
    with archive.writing() as connection:
        # What is deleted is overwritten; otherwise it would stay in the file until that is reused.
        connection.execute("PRAGMA secure_delete = ON")
        missing = [one for one in wanted if not _is_kept(connection, one)]
        if missing:
            message = f"no text `{missing[0]}` is kept"
            raise ConstatError([Diagnostic("C0926", message, note="nothing was forgotten")])
        sessions = {name for one in wanted for name in _sessions(connection, one)}
        removed = Forgotten(
            wanted,
            sum(len(_rows(connection, one)) for one in wanted),
            sum(_drop_notes(connection, one) for one in wanted),
            sum(_drop_contexts(connection, one) for one in sorted(sessions)),
        )
        moment = clock.now()
        for one in wanted:
            connection.execute("UPDATE contents SET content = ? WHERE digest = ?", (FORGOTTEN, one))
            connection.execute(
                "INSERT INTO forgotten (digest, author, reason, forgotten_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (one, by, reason, moment),
            )
    with archive.reading() as connection:
        if connection is not None:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return removed


def _is_kept(connection: sqlite3.Connection, digest: str) -> bool:
    asked = "SELECT 1 FROM contents WHERE digest = ?"
    return connection.execute(asked, (digest,)).fetchone() is not None


def _rows(connection: sqlite3.Connection, digest: str) -> list[tuple[str, int]]:
    """Return the messages that hold a text, which name it by its digest."""
    asked = "SELECT session, number FROM messages WHERE instr(spelling, ?) > 0"
    return list(connection.execute(asked, (json.dumps(digest),)))


def _sessions(connection: sqlite3.Connection, digest: str) -> set[str]:
    return {session for session, _ in _rows(connection, digest)}


def _drop_notes(connection: sqlite3.Connection, digest: str) -> int:
    asked = "DELETE FROM notes WHERE instr(fact, ?) > 0"
    return connection.execute(asked, (json.dumps(digest),)).rowcount


def _drop_contexts(connection: sqlite3.Connection, session: str) -> int:
    """Remove what was rendered of a session; it is made anew from what is left."""
    connection.execute("DELETE FROM working_memory WHERE session = ?", (session,))
    asked = "DELETE FROM checkpoint_summaries WHERE session_id = ?"
    return connection.execute(asked, (session,)).rowcount
