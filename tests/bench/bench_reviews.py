"""How long a review takes, what approvals cost those who only ask, and what a told fact costs.

In: nothing.  Out: figures; run by hand, it prints them.  The review compares every row of two
predicates before and after, of a table with 300,000 rows in SQLite.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat import Session
from constat.proof.signing import write_public_key
from constat.store.drafts import NewDraft
from tests.bench.measuring import figure, once, several, table
from tests.signing.keys import key

if TYPE_CHECKING:
    from tests.bench.measuring import Figure

ROWS: Final = 300_000
RULES: Final = 100
ROUNDS: Final = 3
HEAD: Final = """\
.pragma "constat" "0.1"
.decl score(who: symbol, points: number)
.input score(source = "db", query = "SELECT who, points FROM score")
.decl crowd(place: symbol, people: number)
.decl good(who: symbol)
@[id = GOOD1] good(?p) :- score(?p, ?n), ?n > 900.
.decl fine(who: symbol)
@[id = FINE1] fine(?p) :- good(?p).
"""
DRAFTED: Final = "good(?p) :- score(?p, ?n), ?n > 899."


def measure() -> list[Figure]:
    """Measure a review, a load with signed approvals, and a told fact."""
    with tempfile.TemporaryDirectory() as place:
        folder = _project(Path(place))
        with Session(folder) as session:
            draft = session.drafts.add(NewDraft(DRAFTED, "?", replaces=("GOOD1",)))
            review = [once(lambda: session.reviews.review(draft.short)) for _ in range(ROUNDS)]
            effects = session.reviews.review(draft.short).effects
            assert [one.changes for one in effects] == [ROWS // 1000] * 2
            bare = several(lambda: _loaded(folder), ROUNDS)
        for number in range(RULES):
            with Session(folder) as session:
                session.reviews.approve(f"M{number}", reason="seen", key=key())
        signed = several(lambda: _loaded(folder), ROUNDS)
        with Session(folder) as session:
            told = several(lambda: _told(session), 20)
    return [
        figure(f"review: 2 predicates over {ROWS:,} rows, every row compared", review, 10.0),
        figure(f"rules loaded, {RULES} of models that nobody approved", bare, 1.0),
        figure("... each approved and signed (Ed25519, checked each time)", signed, 1.0),
        figure("a fact held against 1,000 sentences", told, 0.5, milliseconds=True),
    ]


def _project(folder: Path) -> Path:
    with contextlib.closing(sqlite3.connect(folder / "db.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE score (who TEXT, points INTEGER)")
        rows = ((f"p{number}", number % 1000) for number in range(ROWS))
        connection.executemany("INSERT INTO score VALUES (?, ?)", rows)
    modelled = (
        f'.decl m{n}(who: symbol)\n@[id = M{n}] @[author = "llm:m"] m{n}(?p) :- score(?p, {n}).\n'
        for n in range(RULES)
    )
    (folder / "rules.dl").write_text(HEAD + "".join(modelled), encoding="utf-8")
    (folder / "ada.pem").write_bytes(write_public_key(key()))
    (folder / "constat.yaml").write_text(
        "rules: [rules.dl]\ndatabases: {db: {uri: 'sqlite:///db.sqlite'}}\n"
        "keys: {ada: {file: ada.pem, roles: [approver]}}\n",
        encoding="utf-8",
    )
    return folder


def _loaded(folder: Path) -> None:
    with Session(folder) as session:
        assert session.program.rules


def _told(session: Session) -> None:
    text = "We saw the park. " * 999 + "There were 1 million people at the march."
    told = session.provide_facts(text, author="ada", atoms=["crowd(march, 1000000)"])
    assert told.said


if __name__ == "__main__":
    print(table(measure()))  # noqa: T201  a script
