"""A folder of state as this version writes it, kept as `states/VERSION.zip` for later versions.

`python -m tests.store.states` writes the one of this version, with the project that it belongs to;
one that is there stays, because what was written once has to be readable for good.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Final

import constat
from constat import Session
from constat.service import Service
from constat.session import LogAs
from constat.store import catalog, checks, explored, model_answers
from constat.store.state_file import StateFile

STATES: Final = Path(__file__).with_name("states")
ZIPPED: Final = (1980, 1, 1, 0, 0, 0)

CONFIGURATION: Final = """project: kept
rules: [rules.dl]
facts:
  limit: 100
databases: {shop: {uri: "sqlite:///shop.sqlite"}}
log: {on: true}
record: {sources: [shop]}
"""
RULES: Final = """.pragma "constat" "0.1"
.decl worth(@[key] customer: symbol, value: number)
.input worth
.decl paid(customer: symbol, amount: number)
.input paid(source = "shop", query = "SELECT customer, amount FROM paid", max_age = "3650d")
.decl limit(value: number)
.input limit(source = "config")
.decl good(customer: symbol)
good(?c) :- worth(?c, ?v), limit(?l), ?v > ?l.
.decl payer(customer: symbol)
payer(?c) :- paid(?c, ?a), limit(?l), ?a > ?l.
"""
DRAFT: Final = ".decl best(customer: symbol)\nbest(?c) :- worth(?c, ?v), ?v > 1000."


def write_project(folder: Path) -> None:
    """Write the project."""
    (folder / "constat.yaml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "rules.dl").write_text(RULES, encoding="utf-8")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as shop, shop:
        shop.execute("CREATE TABLE paid (customer TEXT NOT NULL, amount INTEGER NOT NULL)")
        shop.execute("INSERT INTO paid VALUES ('C1', 250), ('C2', 50)")


async def talk(folder: Path) -> None:
    """Let a program hand in a draft, and keep what was said."""
    async with Service(folder, by="robot") as service:
        await service.hand_in("best(C1)", DRAFT, "Is C1 best, that is over 1000?", by="robot")
        await service.remember("talk", "C1 pays on time.")


def use(folder: Path) -> None:
    """Do with a project whatever keeps something."""
    with Session(folder) as session:
        session.facts.add("worth(C1, 250)", author="alice", note="by telephone")
        session.facts.add("worth(C2, 50)", author="alice")
        session.facts.retract("worth(C2, 50)", by="alice")
        for goal in ("good(C1)", "payer(C1)"):
            session.prove(goal, log=LogAs(by="alice"))
        session.materialized.keep("payer(?c)")
        with session.watch(["payer(?c)"], keep=True) as watch:
            watch.poll()
        state = session.project.state
    asyncio.run(talk(folder))
    checks.CheckStore(state).note("good(?c)", "one row more")
    explored.ExploredStore(state).begin("What are the best customers?")
    # Of what a model and a catalog would write, the tables are made.
    for name, form in (
        ("model_answers.sqlite", model_answers._FORM),
        ("catalog.sqlite", catalog._FORM),
    ):
        StateFile(state / name, form).opened().close()


def files_of(folder: Path) -> list[Path]:
    """Give all files, once nothing is in a log beside its database."""
    for one in databases(folder):
        with closing(sqlite3.connect(one)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    beside = ("-wal", "-shm", "lock")
    return [
        one for one in sorted(folder.rglob("*")) if one.is_file() and not one.name.endswith(beside)
    ]


def databases(folder: Path) -> list[Path]:
    """Give the databases of SQLite beneath a folder."""
    every = (one for one in sorted(folder.rglob("*")) if one.is_file())
    return [one for one in every if one.read_bytes()[:15] == b"SQLite format 3"]


def write(target: Path) -> None:
    """Write the state of this version; the same files have the same names and times."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_project(folder)
        use(folder)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
            for one in files_of(folder):
                told = zipfile.ZipInfo(one.relative_to(folder).as_posix(), ZIPPED)
                packed.writestr(told, one.read_bytes(), zipfile.ZIP_DEFLATED)


def main() -> int:
    """Write the one of this version, unless it is there."""
    target = STATES / f"{constat.__version__}.zip"
    if target.exists():
        print(f"{target.name} is there: what was written once stays")  # noqa: T201  the answer
        return 1
    STATES.mkdir(exist_ok=True)
    write(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
