"""The words behind a stated fact: who told them, where in them it stands, and what found it there.

In: told texts and places in them. Out: rows of two tables beside the facts, and back. Invariants: a
text is kept whole, under its hash, as long as a fact quotes it; the bytes at the place of a quote
are its words. Example: the fact march_size(1000000) quotes bytes 0 to 41 of what alice told.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.store.draft_values import unprintable, unshowable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

LONGEST_TEXT: Final = 100_000
_LONGEST_NAME: Final = 200
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS told_texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS told (
    fact INTEGER PRIMARY KEY REFERENCES facts (id),
    hash TEXT NOT NULL REFERENCES told_texts (hash),
    first INTEGER NOT NULL,
    behind INTEGER NOT NULL,
    tool TEXT NOT NULL,
    prompt TEXT NOT NULL,
    response TEXT NOT NULL
)""",
)


@dataclass(frozen=True, slots=True)
class Told:
    """Words that say a fact: bytes `start` to `end` of `text` in UTF-8.

    `tool` names what found the fact in them, a model with the hashes of prompt and response; it is
    empty where the person wrote the fact. The word is the person's in any case.
    """

    text: str
    start: int
    end: int
    tool: str = ""
    prompt: str = ""
    response: str = ""

    @property
    def hash(self) -> str:
        """The hash of the whole text."""
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def words(self) -> str:
        """The words themselves."""
        return self.text.encode()[self.start : self.end].decode(errors="replace")


def check_told_text(text: str) -> None:
    """Raise `ConstatError` where a text cannot be kept."""
    problem = unshowable(text)
    if not text.strip():
        problem = "the text is empty"
    elif len(text) > LONGEST_TEXT:
        problem = f"the text is longer than {LONGEST_TEXT:,} characters"
    if problem:
        hint = "tell it in plain words, in parts if need be"
        raise ConstatError([Diagnostic("C0888", problem, note="nothing was kept", help=hint)])


def check_told(told: Told) -> None:
    """Raise `ConstatError` where words cannot be kept."""
    check_told_text(told.text)
    names = (told.tool, told.prompt, told.response)
    content = told.text.encode()
    try:
        placed = 0 <= told.start < told.end <= len(content)
        content[told.start : told.end].decode()
    except UnicodeDecodeError:
        placed = False
    named = all(len(one) <= _LONGEST_NAME and not unprintable(one) for one in names)
    if not placed or not named:
        message = "the words lie outside the text, or a name of what found them is none"
        raise ConstatError([Diagnostic("C0888", message, note="nothing was kept")])


def keep_told(connection: sqlite3.Connection, fact: int, told: Told) -> None:
    """Keep the words of a fact; the first ones stay."""
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute("INSERT OR IGNORE INTO told_texts VALUES (?, ?)", (told.hash, told.text))
    connection.execute(
        "INSERT OR IGNORE INTO told VALUES (?, ?, ?, ?, ?, ?, ?)",
        (fact, told.hash, told.start, told.end, told.tool, told.prompt, told.response),
    )


def read_told(connection: sqlite3.Connection, facts: Sequence[int]) -> dict[int, Told]:
    """Give the words of facts by their numbers; none in a file of before there were any."""
    if not facts:
        return {}
    tables = "SELECT count(*) FROM sqlite_master WHERE name IN ('told', 'told_texts')"
    if connection.execute(tables).fetchone()[0] != len(_SCHEMA):
        return {}
    found = connection.execute(
        "SELECT t.fact, x.text, t.hash, t.first, t.behind, t.tool, t.prompt, t.response"
        " FROM told t JOIN told_texts x ON x.hash = t.hash WHERE t.fact BETWEEN ? AND ?",
        (min(facts), max(facts)),
    )
    told = {}
    for fact, text, digest, start, end, *how in found:
        one = Told(str(text), int(start), int(end), *map(str, how))
        if one.hash != digest:
            raise ValueError("the words of a fact in it are not those that were told")
        told[int(fact)] = one
    return told
