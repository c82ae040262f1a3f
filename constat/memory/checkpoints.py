"""Checkpoints: what each compaction made of a session, for whoever watches over it.

In: a ``Checkpoint``.  Out: rows of the table ``checkpoint_summaries``.  Invariants: numbers grow by
one and are never used again; a session keeps its last ones and no more, while the messages and
facts that they were made of stay; ranges of messages follow each other.

The table has the columns of seed 004, and the digest of the view, where its source is archived, how
many facts it was made of, and the round.  ``LATEST`` and ``SAVINGS`` are its queries to watch by.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from constat.store import clock

if TYPE_CHECKING:
    from constat.memory.archive import Archive

LATEST: Final = """
SELECT session_id, checkpoint_num, compression_ratio, summary_cost_usd
FROM checkpoint_summaries
ORDER BY created_at DESC, id DESC
"""
SAVINGS: Final = """
SELECT session_id, SUM(original_tokens - compressed_tokens) AS tokens_saved,
       SUM(summary_cost_usd) AS total_cost
FROM checkpoint_summaries
GROUP BY session_id
ORDER BY session_id
"""
_COLUMNS: Final = (
    "checkpoint_num, from_message_id, to_message_id, messages_compressed, summary_content,"
    " key_facts, original_tokens, compressed_tokens, summary_cost_usd, view_sha, archive_ref,"
    " fact_count, round, kept, snapshot"
)
_INSERT: Final = (
    f"INSERT INTO checkpoint_summaries (session_id, {_COLUMNS}, compression_ratio, created_at)"  # noqa: S608  ours
    f" VALUES ({', '.join('?' * 18)})"
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One compaction; ``number`` is 0 until it is kept.

    ``start`` and ``end`` are the first and the last message that it covers, ``key_facts`` the
    places of what it shows, ``before`` and ``after`` tokens, ``kept`` the messages that stayed word
    for word, ``snapshot`` the name of the state that it shows.
    """

    start: int
    end: int
    summary: str
    key_facts: tuple[str, ...]
    before: int
    after: int
    view_sha: str
    fact_count: int
    round: int
    archive_ref: str
    kept: str = ""
    snapshot: str = ""
    cost_usd: float = 0.0
    compressed: int = 0
    number: int = 0

    @property
    def ratio(self) -> float:
        """How many times fewer the tokens are."""
        return self.before / max(1, self.after)

    @property
    def gain(self) -> float:
        """The share of the tokens that was saved."""
        return 1 - self.after / max(1, self.before)


class Checkpoints:
    """The checkpoints of one session, in the file of the archive."""

    def __init__(self, archive: Archive, session: str, most: int = 5) -> None:
        self._archive = archive
        self._session = session
        self._most = most

    def add(self, made: Checkpoint) -> int:
        """Keep a checkpoint and forget those before the last ones; returns its number."""
        with self._archive.writing() as connection:
            asked = (
                "SELECT coalesce(max(checkpoint_num), 0) + 1 FROM checkpoint_summaries"
                " WHERE session_id = ?"
            )
            number = int(connection.execute(asked, (self._session,)).fetchone()[0])
            connection.execute(_INSERT, self._row(made, number))
            connection.execute(
                "DELETE FROM checkpoint_summaries WHERE session_id = ? AND checkpoint_num <= ?",
                (self._session, number - max(1, self._most)),
            )
        return number

    def _row(self, made: Checkpoint, number: int) -> tuple[object, ...]:
        return (
            self._session,
            number,
            made.start,
            made.end,
            made.compressed,
            made.summary,
            json.dumps(made.key_facts, ensure_ascii=True),
            made.before,
            made.after,
            made.cost_usd,
            made.view_sha,
            made.archive_ref,
            made.fact_count,
            made.round,
            made.kept,
            made.snapshot,
            made.ratio,
            clock.now(),
        )

    def all(self) -> tuple[Checkpoint, ...]:
        """Return the checkpoints that are kept, the newest first."""
        asked = (
            f"SELECT {_COLUMNS} FROM checkpoint_summaries WHERE session_id = ?"  # noqa: S608  ours
            " ORDER BY checkpoint_num DESC"
        )
        with self._archive.reading() as connection:
            rows = [] if connection is None else connection.execute(asked, (self._session,))
            return tuple(_read(row) for row in rows)

    def last(self) -> Checkpoint | None:
        """Return the newest one."""
        return next(iter(self.all()), None)


def _read(row: tuple[Any, ...]) -> Checkpoint:
    names = [name.strip() for name in _COLUMNS.split(",")]
    one = dict(zip(names, row, strict=True))
    return Checkpoint(
        start=one["from_message_id"],
        end=one["to_message_id"],
        summary=one["summary_content"],
        key_facts=tuple(json.loads(one["key_facts"])),
        before=one["original_tokens"],
        after=one["compressed_tokens"],
        view_sha=one["view_sha"],
        fact_count=one["fact_count"],
        round=one["round"],
        archive_ref=one["archive_ref"],
        kept=one["kept"],
        snapshot=one["snapshot"],
        cost_usd=one["summary_cost_usd"],
        compressed=one["messages_compressed"],
        number=one["checkpoint_num"],
    )
