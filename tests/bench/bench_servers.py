"""What goals over a server's tables cost beside the same question in SQL by hand, same driver.

A million orders, or as many as are named, of 10,007 customers lie in PostgreSQL or MariaDB on this
machine. Each figure is of a process of its own that is warm: the first time is not counted. Run
`python -m tests.bench.bench_servers postgresql ROWS`. With `--cases` it asks twenty goals of each
engine, and says whether `auto` took what was fastest.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import psycopg

from constat import Session
from constat.diagnostics import ConstatError
from constat.forward.gathering import Gathering
from tests.servers.leasing import leased

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.leasing import ServedDatabase

CUSTOMERS: Final = 10_007
ROUNDS: Final = 5
POINTS: Final = 100
FIRST: Final = 4711
CONFIGURATION = """
project: shop
rules: [rules.dl]
databases: {shop: {uri: "%s"}}
limits: {seconds: 600, query_seconds: 600, query_rows: 20000000, rows: 100000000}
"""
RULES = """
.pragma "constat" "0.1"
.decl orders(id: number, customer: number, amount: float, cents: number, state: symbol)
.input orders(source="shop", query="SELECT id, customer, amount, cents, state FROM orders")
.decl customers(id: number, region: symbol)
.input customers(source="shop", query="SELECT id, region FROM customers")
.decl big(id: number, amount: float)
@[id = "BIG"]
big(?i, ?a) :- orders(?i, _, ?a, _, _), ?a > 99.5.
.decl open_of(id: number, amount: float)
@[id = "OPEN_OF"]
open_of(?i, ?a) :- orders(?i, 4711, ?a, _, "open").
.decl spent(customer: number, total: float)
@[id = "SPENT"]
spent(?c, ?t) :- customers(?c, _), ?t = sum ?a : { orders(_, ?c, ?a, _, _) }.
.decl northern(id: number)
@[id = "NORTHERN"]
northern(?i) :- customers(?c, "north"), orders(?i, ?c, ?a, _, _), ?a > 99.
.decl paid(customer: number, total: number)
@[id = "PAID"]
paid(?c, ?t) :- customers(?c, _), ?t = sum ?x : { orders(_, ?c, _, ?x, _) }.
.decl rich(customer: number, total: number)
@[id = "RICH"]
rich(?c, ?t) :- paid(?c, ?t), ?t > 500000.
.decl many(region: symbol, n: number)
@[id = "MANY"]
many(?r, ?n) :- customers(_, ?r),
    ?n = count : { customers(?c, ?r), orders(_i, ?c, _a, _x, "open") }.
.decl idle(customer: number)
@[id = "IDLE"]
idle(?c) :- customers(?c, _), !orders(_, ?c, _, _, "late").
.decl most(customer: number, cents: number)
@[id = "MOST"]
most(?c, ?m) :- customers(?c, "north"), ?m = max ?x : { orders(_, ?c, _, ?x, _) }.
.decl states(state: symbol)
@[id = "STATES"]
states(?s) :- orders(_, _, _, _, ?s).
.decl priced(id: number, price: number)
@[id = "PRICED"]
priced(?i, ?x * 2 + 1) :- orders(?i, ?c, _, ?x, "open"), customers(?c, "north").
.decl pair(a: number, b: number)
@[id = "PAIR"]
pair(?a, ?b) :- orders(?a, ?c, _, 1, _), orders(?b, ?c, _, 2, _).
"""
ORDERS: Final = """
    CREATE TABLE orders (id bigint PRIMARY KEY, customer bigint NOT NULL,
        amount double precision NOT NULL, cents bigint NOT NULL, state varchar(10) NOT NULL)
"""
TABLES: Final = (
    ORDERS,
    "CREATE TABLE customers (id bigint PRIMARY KEY, region varchar(10) NOT NULL)",
)
SUMS: Final = """
    SELECT c.id, sum(o.amount) FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.id
"""
JOINED: Final = """
    SELECT o.id FROM customers c JOIN orders o ON o.customer = c.id
    WHERE c.region = 'north' AND o.amount > 99
"""
COUNTED: Final = """
    SELECT c.region, count(*) FROM customers c JOIN orders o ON o.customer = c.id
    WHERE o.state = 'open' GROUP BY c.region
"""
CASES: Final = (
    *("big(?i, ?a)", "open_of(?i, ?a)", "spent(?c, ?t)", "northern(?i)", "paid(?c, ?t)"),
    *("rich(?c, ?t)", "many(?r, ?n)", "idle(?c)", "most(?c, ?m)", "states(?s)", "priced(?i, ?p)"),
    *("pair(?a, ?b)", "paid(4711, ?t)", "spent(4711, ?t)", "idle(4711)", "most(9, ?m)"),
    *("orders(4711, ?c, ?a, ?x, ?s)", 'orders(?i, 4711, ?a, ?x, "open")', "pair(4711, ?b)"),
    'many("north", ?n)',
)
CONFIGURED: Final = re.compile(r'postgresql://[^"]+')
ENGINES: Final = ("reference", "here", "there", "auto")
GOALS: Final = {
    "a filter": ("big(?i, ?a)", "SELECT id, amount FROM orders WHERE amount > 99.5"),
    "a sum of whole numbers": ("paid(?c, ?t)", SUMS.replace("amount", "cents")),
    "a sum of floats": ("spent(?c, ?t)", SUMS),
    "a count of a join": ("many(?r, ?n)", COUNTED),
    "constants": (
        "open_of(?i, ?a)",
        "SELECT id, amount FROM orders WHERE customer = 4711 AND state = 'open'",
    ),
    "a join and a filter": ("northern(?i)", JOINED),
    "a point": ("orders({}, ?c, ?a, ?x, ?s)", "SELECT * FROM orders WHERE id = {}"),
}


def fill(database: ServedDatabase, rows: int) -> None:
    """Write the tables, the same ones each time."""
    number = "generate_series(1, {}) AS i"
    state = "CASE WHEN mod(i, 3) = 0 THEN 'open' ELSE 'paid' END"
    if database.server.kind == "mariadb":
        number = "(SELECT seq AS i FROM seq_1_to_{}) AS numbers"
    table = "" if database.server.kind == "postgresql" else "TABLE"
    big = "CAST(i AS bigint)" if database.server.kind == "postgresql" else "i"
    database.run(
        *TABLES,
        f"INSERT INTO orders SELECT i, mod({big} * 7919, {CUSTOMERS}) + 1,"
        f" mod({big} * 104729, 10000) / 100.0, mod({big} * 104729, 10000),"
        f" {state} FROM {number.format(rows)}",
        "INSERT INTO customers SELECT i, CASE WHEN mod(i, 9) = 0 THEN 'north' ELSE 'south' END"
        f" FROM {number.format(CUSTOMERS)}",
        "CREATE INDEX by_customer ON orders (customer)",
        f"ANALYZE {table} orders",
        f"ANALYZE {table} customers",
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def server_seconds(pid: int) -> float:
    """What a server has used of processors: itself, its processes, and those that ended."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            words = place.read_text().rpartition(")")[2].split()
            if place.parent.name == str(pid):
                ticks += sum(map(int, words[11:15]))
            elif words[1] == str(pid):
                ticks += sum(map(int, words[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def timed(run: Callable[[int], object], pid: int, rounds: int = ROUNDS) -> dict[str, float]:
    """Give the least seconds by the clock, and those of processors for each of several rounds.

    The latter are of this process and of the server's, whose clock ticks a hundred times a second.
    """
    run(0)
    clocks, processors, there = [], [], server_seconds(pid)
    for number in range(1, rounds + 1):
        clock, processor = time.perf_counter(), time.process_time()
        run(number)
        clocks.append(time.perf_counter() - clock)
        processors.append(time.process_time() - processor)
    work = (server_seconds(pid) - there) / rounds
    here = sum(processors) / rounds
    return {"clock": min(clocks), "processor": min(processors), "work": here + work}


def measure(goal: str, folder: Path, check: str, pid: int) -> None:
    """Print what a goal costs in this process, as JSON."""
    with Session(folder) as session:
        rows = len(session.query(goal.format(FIRST), check=check).rows)
        # Each time another row: what was asked for before is remembered.
        rounds = _rounds(goal)
        found = timed(lambda n: session.query(goal.format(FIRST + n), check=check), pid, rounds)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _say(json.dumps({**found, "rows": rows, "memory": most}))


def by_hand(
    link: Any,  # noqa: ANN401  two drivers
    query: str,
    pid: int,
) -> tuple[int, dict[str, float]]:
    """Give how many rows a query has, and what reading all of them costs."""

    def read(number: int) -> int:
        cursor = link.cursor()
        cursor.execute(query.format(FIRST + number))
        return len(cursor.fetchall())

    return read(0), timed(read, pid, _rounds(query))


def _rounds(text: str) -> int:
    return POINTS if "{}" in text else ROUNDS


def case(goal: str, folder: Path) -> None:
    """Print what a goal costs with each engine, as JSON, the least of several turns."""
    told: dict[str, dict[str, float]] = {}
    uri = CONFIGURED.search((folder / "constat.yaml").read_text(encoding="utf-8"))
    with ExitStack() as stack:
        link = psycopg.connect(uri[0] if uri else "", autocommit=True)
        stack.callback(link.close)
        sessions = {one: stack.enter_context(Session(folder)) for one in ENGINES}
        for turn in range(ROUNDS + 1):
            for engine, session in list(sessions.items()):
                # Of another state of the database nothing is remembered.
                link.execute("SELECT pg_current_xact_id()")
                clock = time.perf_counter()
                rows = _asked(session, goal, engine)
                clock = time.perf_counter() - clock
                if rows is None:
                    del sessions[engine]
                    told.pop(engine, None)
                elif turn:
                    least = min(clock, told.get(engine, {}).get("clock", clock))
                    told[engine] = {"clock": least, "rows": rows}
    _say(json.dumps(told))


def _asked(session: Session, goal: str, engine: str) -> int | None:
    """Count the answers of an engine; `None` where it gives none, or none in time."""
    how = {"reference": "reference", "here": "forward", "there": "postgres"}.get(engine, "auto")
    left = Gathering._left_there
    if engine == "here":  # nothing is left to the server
        Gathering._left_there = lambda *_: None  # type: ignore[method-assign]
    try:
        answers = session.query(goal, engine=how, check="off")
    except ConstatError:
        return None
    finally:
        Gathering._left_there = left  # type: ignore[method-assign]
    return None if answers.stopped else len(answers.rows)


def _cases(given: argparse.Namespace, folder: Path) -> None:
    for number, goal in enumerate(CASES):
        if given.half is not None and number % 2 != given.half:
            continue
        command = [given.kind, "--goal", goal, "--cases", "--in", str(folder)]
        ended = subprocess.run(
            [sys.executable, "-m", "tests.bench.bench_servers", *command],
            check=True,
            capture_output=True,
            text=True,
        )
        told: dict[str, dict[str, float]] = json.loads(ended.stdout)
        known = {one: each["clock"] for one, each in told.items()}
        best = min(known, key=lambda one: known[one] if one != "auto" else 1e9)
        fast = known.get("auto", 1e9) <= max(1.25 * known[best], known[best] + 0.02)
        cells = [f"{known[one]:.4f} s" if one in known else "-" for one in ENGINES]
        same = len({each["rows"] for each in told.values()}) == 1
        _say(
            f"| `{goal}` | {' | '.join(cells)} | {best}{'' if fast else ', not taken'}"
            f"{'' if same else ', OTHER ROWS'} |"
        )


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("postgresql", "mariadb"))
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--only", choices=GOALS, action="append")
    parser.add_argument("--check", default="off")
    parser.add_argument("--in", dest="folder", type=Path)
    parser.add_argument("--server", type=int, default=0)
    parser.add_argument("--goal")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--half", type=int, choices=(0, 1))
    given = parser.parse_args()
    if given.goal and given.cases:
        case(given.goal, given.folder)
        return 0
    if given.goal:
        measure(given.goal, given.folder, given.check, given.server)
        return 0
    with TemporaryDirectory() as place:
        folder = Path(place)
        with leased(given.kind, folder / "server") as server, server.fresh() as database:
            fill(database, given.rows)
            (folder / "constat.yaml").write_text(CONFIGURATION % database.uri, encoding="utf-8")
            (folder / "rules.dl").write_text(RULES, encoding="utf-8")
            _say(f"{given.kind}, {given.rows:,} orders, check {given.check}")
            if given.cases:
                text = (CONFIGURATION % database.uri).replace("seconds: 600", "seconds: 20", 1)
                (folder / "constat.yaml").write_text(text, encoding="utf-8")
                _cases(given, folder)
                return 0
            for name, (goal, query) in GOALS.items():
                if not given.only or name in given.only:
                    _compare(given, name, goal, query, folder, database)
    return 0


def _compare(
    given: argparse.Namespace,
    name: str,
    goal: str,
    query: str,
    folder: Path,
    database: ServedDatabase,
) -> None:
    link = database.server.link(database.name)
    rows, hand = by_hand(link, query, database.server.pid)
    link.close()
    command = ["-m", "tests.bench.bench_servers", given.kind, "--goal", goal]
    ended = subprocess.run(
        [
            *(sys.executable, *command, "--in", str(folder), "--check", given.check),
            *("--server", str(database.server.pid)),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        _say(f"{name}: {ended.stderr.strip().splitlines()[-1]}")
        return
    told = json.loads(ended.stdout)
    wrong = "" if told["rows"] == rows else f" BUT {told['rows']:,} ROWS"
    _say(
        f"{name}: {rows:,} rows{wrong}; by hand {hand['clock']:.4f} s,"
        f" Constat {told['clock']:.4f} s ({told['clock'] / hand['clock']:.1f}x),"
        f" of it here {told['processor']:.4f} s of the processor; with the server's by hand"
        f" {hand['work']:.3f} s, Constat {told['work']:.3f} s"
        f" ({told['work'] / max(hand['work'], 1e-9):.1f}x); {told['memory']:.0f} MiB"
    )


if __name__ == "__main__":
    sys.exit(main())
