"""The store of stated facts: its records, or one diagnostic, whatever lies in the file.

In: damaged files, records whose texts are anything, facts of any texts to be kept.  What was kept
comes back as it was; a record that does not fit its declaration opens the key and is no row.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError
from constat.evaluation import Demand
from constat.store import FactStore
from constat.tiers.user import UserFacts
from tests.fuzz.damage import NUMBERS, STRANGE, any_text, damaged_bytes
from tests.fuzz.goals_and_facts import assert_spelled, program
from tests.fuzz.reading import check_diagnostics

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from tests.fuzz.reading import Input

_NAMES: Final = ("order", "total", "flag", "every", "unknown", "")
_TEXTS: Final = (*NUMBERS, *STRANGE, "C001", "0x1p+3", "true", "2024-01-01", "", " ")
_RECORDS: Final = (
    '["C001","10.5","2024-01-01"]',
    '["C001", "10.50", "2024-01-01"]',
    *("[]", "[1]", "{}", "null", '"x"', "[", "", "[[]]", '["\\ud800"]', '["a\\u0000"]', "NaN"),
    "[" * 2_000,
    '["' + "x" * 3_000 + '"]',
)
_STATEMENT: Final = "UPDATE facts SET predicate = ?, row = ?, author = ?, note = ?, added_at = ?"


class StoredFacts:
    """Reads and writes stores."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "state"
        self.store = FactStore(self.folder)
        self.program = program()
        self.store.add("order", ("C001", "10.5", "2024-01-01"), "alice")
        with closing(sqlite3.connect(self.store.path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        self._content = self.store.path.read_bytes()

    def make(self, chance: Random) -> Input:
        match chance.randrange(8):
            case 0 | 1 | 2:
                return "file", damaged_bytes(self._content, chance, 12)
            case 3:
                row = tuple(any_text(chance, 9) for _ in range(chance.randrange(4)))
                texts = tuple(chance.choice((*_TEXTS, any_text(chance))) for _ in range(2))
                return "add", chance.choice(_NAMES), row, *texts
            case _:
                return "record", tuple(self._text(chance) for _ in range(5))

    @staticmethod
    def _text(chance: Random) -> str:
        return chance.choice((*_NAMES, "order", "order", *_RECORDS, *_TEXTS, any_text(chance, 9)))

    def check(self, given: Input) -> str:
        for path in self.folder.iterdir():
            path.unlink()
        match given:
            case ("file", bytes(content)):
                self.store.path.write_bytes(content)
            case ("record", tuple(texts)):
                self.store.path.write_bytes(self._content)
                if not self._put(texts):
                    return "SQLite does not store it"
            case ("add", str(name), tuple(row), str(author), str(note)):
                return self._add(name, row, author, note)
        return self._read()

    def _put(self, texts: tuple[object, ...]) -> bool:
        with closing(sqlite3.connect(self.store.path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            try:
                connection.execute(_STATEMENT, texts)
            except UnicodeEncodeError:
                return False
        return True

    def _add(self, name: str, row: tuple[str, ...], author: str, note: str) -> str:
        try:
            kept = self.store.add(name, row, author, note)
        except ConstatError as problem:
            check_diagnostics(problem.diagnostics, {})
            return "refused"
        assert (kept.predicate, kept.row, kept.author, kept.note) == (name, row, author, note)
        assert self.store.list() == (kept,)
        return "kept"

    def _read(self) -> str:
        predicate = self.program.predicates["order"]
        try:
            self.store.list(history=True)
            answer = UserFacts(self.store).answer(Demand(predicate, (), ((),)))
        except ConstatError as problem:
            check_diagnostics(problem.diagnostics, {})
            return "refused"
        rows = [row for portion in answer.portions for row in portion.rows]
        for row in rows:
            assert_spelled(row, predicate.kinds)
        return "read as a row" if rows else "read, no row"
