"""By how much a goal passes the limit of time that its project configures.

Rows of a source are far more than the limit allows to be gone through; for each goal the table has
the seconds of `Session.prove` with its certificate beside the limit. Half of the runs have a stated
row, by which a goal is evaluated whole and then once more by columns. Run with
`python -m tests.bench.bench_limits FOLDER [--seconds 5] [--sources ...] [--goals ...]`, and with
`--questions` for those that evaluate more than once; what FOLDER holds already is not made again.
Servers are started for it, as the tests do.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Final

import duckdb

from constat.session import Session
from tests.servers.leasing import ServedDatabase, leased

# How many rows each source has.
ROWS: Final = {
    "duckdb": 4_000_000,
    "csv": 4_000_000,
    "sqlite": 2_000_000,
    "postgresql": 2_000_000,
    "mariadb": 1_000_000,
}
SERVERS: Final = {"postgresql", "mariadb"}
DATABASE: Final = {
    "duckdb": '{uri: "duckdb:///data/shop.duckdb"}',
    "csv": "{files: {sale: data/sale.csv, closed: data/closed.csv, document: data/document.csv}}",
    "sqlite": '{uri: "sqlite:///data/shop.sqlite"}',
}
# What takes a function minutes, and nothing can stop it meanwhile: a pattern of half a text.
_LATE: Final = "SELECT id, length(replace(body, {}, 'c')) FROM document"
LONG: Final = {
    "sqlite": _LATE.format("substr(body, 1, 900000) || 'b'"),
    "postgresql": _LATE.format("'b' || substr(body, 1, 50000)"),
    "mariadb": _LATE.format("concat(substr(body, 1, 900000), 'b')"),
    "duckdb": "SELECT id, levenshtein(body, body || 'b') FROM document",
    "csv": "SELECT id, levenshtein(body, body || 'b') FROM document",
}
RULES: Final = """.pragma "constat" "0.1"
.decl sale(id: number, customer: number, amount: number, note: symbol)
.input sale(source = "big", query = "SELECT id, customer, amount, note FROM sale")
.decl closed(customer: number, reason: symbol)
@[key = id]
.decl price(id: number, amount: number)
.input price(source = "big", query = "SELECT id, amount FROM sale")
.input closed(source = "big", query = "SELECT customer, reason FROM closed")
.decl document(id: number, letters: number)
.input document(source = "big", query = "LONG QUERY")

.decl total(amount: number)
total(?t) :- ?t = sum ?a : { sale(_id, _c, ?a, _n) }.
.decl absent(customer: number)
absent(?c) :- closed(?c, _), !sale(_, ?c, 7, _).
.decl open_sale(id: number, amount: number)
open_sale(?i, ?a) :- sale(?i, ?c, ?a, _), !closed(?c, _).
.decl open_total(amount: number)
open_total(?t) :- ?t = sum ?a : { open_sale(_i, ?a) }.
.decl by_customer(customer: number, amount: number)
by_customer(?c, ?t) :- closed(?c, _), ?t = sum ?a : { sale(_i, ?c, ?a, _n) }.
.decl best(customer: number)
best(?c) :- by_customer(?c, ?t), !better(?t).
.decl better(amount: number)
better(?t) :- by_customer(_, ?t), by_customer(_, ?other), ?other > ?t.
.decl odd(id: number)
.decl lengths(n: number)
lengths(?n) :- ?n = sum ?l : { document(_i, ?l) }.
.decl prices(amount: number)
prices(?t) :- ?t = sum ?a : { price(_i, ?a) }.
.decl cheap(id: number)
cheap(?i) :- price(?i, ?a), ?a < 0.
odd(?i) :- sale(?i, _, _, ?n), match("n[0-9]*9x", ?n).
"""
STATED: Final = ('sale(9999999, 9999999, 0, "told")', "price(7, 8)")
HEAD: Final = """| source | stated | question | goal | answer | seconds | over |
|---|---|---|---|---|---:|---:|"""
GOALS: Final = {
    "total": "total(1)",
    "absence": "absent(3)",
    "negation": "open_sale(1, 1)",
    "derived": "open_total(1)",
    "groups": "best(3)",
    "prices": "prices(1)",
    "cheap": "cheap(7)",
    "match": "odd(0)",
    "function": "lengths(0)",
    "point": 'sale(1, 2, 3, "none")',
}


def main() -> int:
    """Measure and print a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--seconds", type=float, default=5.0)
    asked.add_argument("--sources", nargs="*", default=list(ROWS))
    asked.add_argument("--goals", nargs="*", default=list(GOALS))
    asked.add_argument("--questions", nargs="*", default=["prove"], choices=list(QUESTIONS))
    asked.add_argument("--factor", type=float, default=1.0)
    wanted = asked.parse_args()
    print(HEAD)  # noqa: T201  what the program is for
    for source in wanted.sources:
        with made(wanted.folder / source, source, wanted.seconds, wanted.factor) as project:
            for stated, question in product((False, True), wanted.questions):
                for name in wanted.goals:
                    said = measured(project, question, GOALS[name], stated=stated)
                    told = "yes" if stated else "no"
                    print(f"| {source} | {told} | {question} | {name} | {said} |", flush=True)  # noqa: T201  as above
    return 0


def measured(project: Path, question: str, goal: str, *, stated: bool) -> str:
    """Ask a question; gives its verdict, its seconds and by how much it passes the limit."""
    with Session(project, cache=False) as session:
        for fact in STATED if stated else ():
            session.facts.add(fact, author="ann")
        begun = time.perf_counter()
        found = QUESTIONS[question](session, goal)
        taken = time.perf_counter() - begun
        over = max(0.0, taken - session.project.limits.seconds)
        for fact in STATED if stated else ():
            session.facts.retract(fact, by="ann")
    return f"{found} | {taken:.2f} | {over:.2f}"


def proved(session: Session, goal: str) -> str:
    """Prove a goal and write its certificate."""
    result = session.prove(goal)
    return f"{result.verdict.name}, {len(result.certificate):,} bytes"


def supposed(session: Session, goal: str) -> str:
    """Ask what another row would change."""
    found = session.what_if(goal, add=['closed(2, "if")'])
    return f"{found.before.verdict.name}, {found.after.verdict.name}"


def missed(session: Session, goal: str) -> str:
    """Look for facts that would prove a goal."""
    found = session.missing_facts(goal, removable={"closed": "1"}, abducible={"sale": "1"})
    return f"{found.result.verdict.name}, {len(found.sets)} sets"


def answered(session: Session, goal: str) -> str:
    """Ask for the rows of a goal: its numbers are variables."""
    answers = session.query(re.sub(r"\b[0-9]+\b", lambda found: f"?v{found.start()}", goal))
    return f"{answers.settled.name}, {len(answers.rows):,} rows"


QUESTIONS: Final[dict[str, Callable[[Session, str], str]]] = {
    "prove": proved,
    "why-not": lambda session, goal: session.why_not(goal).result.verdict.name,
    "what-if": supposed,
    "missing": missed,
    "query": answered,
}


@contextmanager
def made(folder: Path, source: str, seconds: float, factor: float) -> Iterator[Path]:
    """Make a project over many rows, or take what is there."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    rows = int(ROWS[source] * factor)
    if source in SERVERS:
        with leased(source, folder / "server") as server, server.fresh() as database:
            serve(database, folder / "data", rows)
            write(folder, source, f'{{uri: "{database.uri}"}}', seconds)
            yield folder
        return
    write(folder, source, DATABASE[source], seconds)
    if not any((folder / "data").iterdir()):
        fill(folder / "data", source, rows)
    yield folder


def write(folder: Path, source: str, database: str, seconds: float) -> None:
    """Write the configuration and the rules."""
    settings = f"seconds: {seconds:g}, query_seconds: 600, query_rows: 10000000"
    (folder / "constat.yaml").write_text(
        f"project: limits\nrules: [rules.dl]\ndatabases:\n  big: {database}\n"
        f"limits: {{{settings}}}\n",
        encoding="utf-8",
    )
    rules = RULES.replace("LONG QUERY", LONG[source])
    (folder / "rules.dl").write_text(rules, encoding="utf-8")


def serve(database: ServedDatabase, folder: Path, rows: int) -> None:
    """Load the tables of a server from files."""
    if not any(folder.iterdir()):
        fill(folder, "csv", rows)
    database.run(
        "CREATE TABLE sale (id BIGINT, customer BIGINT, amount BIGINT, note VARCHAR(20))",
        "CREATE TABLE closed (customer BIGINT, reason VARCHAR(20))",
        "CREATE TABLE document (id BIGINT, body "
        f"{'TEXT' if database.server.kind == 'postgresql' else 'LONGTEXT'})",
    )
    for name in ("sale", "closed", "document"):
        link = database.server.link(database.name)
        with closing(link), duckdb.connect() as reading:
            cursor = link.cursor()
            file = folder / f"{name}.csv"
            if database.server.kind == "postgresql":
                with cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv, HEADER)") as copy:
                    copy.write(file.read_bytes())
                continue
            read = reading.execute(f"SELECT * FROM read_csv('{file}', max_line_size=9999999)")
            holes = ", ".join(["%s"] * len(read.description or ()))
            while block := read.fetchmany(20_000):
                cursor.executemany(f"INSERT INTO {name} VALUES ({holes})", block)


def fill(folder: Path, source: str, rows: int) -> None:
    """Write the tables of a source: sales, closed customers and one long document."""
    tables = {
        "sale": f"SELECT i AS id, i % 9973 AS customer, i % 1009 AS amount, "
        f"'n' || i AS note FROM range({rows}) r(i)",
        "closed": "SELECT i * 3 AS customer, 'r' || i AS reason FROM range(1000) r(i)",
        "document": "SELECT 1 AS id, repeat('a', 1900000) AS body",
    }
    with duckdb.connect(folder / "shop.duckdb" if source == "duckdb" else ":memory:") as connection:
        for name, query in tables.items():
            if source == "csv":
                connection.execute(f"COPY ({query}) TO '{folder / name}.csv' (HEADER)")
            elif source == "duckdb":
                connection.execute(f"CREATE TABLE {name} AS {query}")
            else:
                copied(connection.sql(query), folder / "shop.sqlite", name)


def copied(rows: duckdb.DuckDBPyRelation, path: Path, name: str) -> None:
    """Write rows into a table of SQLite."""
    columns = ", ".join(rows.columns)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        holes = ", ".join("?" for _ in rows.columns)
        connection.executemany(f"INSERT INTO {name} VALUES ({holes})", rows.fetchall())


if __name__ == "__main__":
    sys.exit(main())
