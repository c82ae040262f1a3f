"""Ask a server many hostile queries, one after the other: `python -m tests.servers.hostile`.

In: a kind of server and a number. A query is put together at random of what multiplies, waits,
recurses or makes long values, with half a second to run in. Each has to end soon, with rows, a
refusal or a failure that is told; nothing of it may run on, and the server answers the next one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from constat.catalog import Question, ReadBounds, SourceFailureError
from constat.catalog.connection import QueryMistakeError
from constat.catalog.guard import guard
from tests.servers.building import opened, read
from tests.servers.leasing import leased
from tests.tiers.test_stopped_queries import NUMBERS, grown

if TYPE_CHECKING:
    from tests.servers.leasing import ServedDatabase

SECONDS: Final = 0.5
LONGEST: Final = 60.0
"""Seconds after which an end is too late; the machine may be busy."""
BOUNDS: Final = ReadBounds(SECONDS, 20_000)
_PATIENCE: Final = 600
_DIALECTS: Final = {"postgresql": "postgres", "mariadb": "mysql"}
_CELLS: Final = (
    *("1", "n", "n * n", "n / 0", "-n", "count(*) OVER ()", "sum(n) OVER (ORDER BY n)"),
    *("length(concat({long}, n))", "concat({long}, n)", "replace({long}, 'a', {long})"),
    *("(SELECT max(b.n) FROM s b WHERE b.n > s.n)", "power(n, 300)", "lpad('a', 99999999, 'b')"),
    *("sleep(50)", "pg_sleep(50)", "benchmark(999999999, md5('a'))", "repeat('a', 999999999)"),
    *("CAST(n AS DECIMAL(38, 10)) * 1e30", "md5(concat(n, {long}))", "{long} LIKE '%a%b%a%b%a%c'"),
)
_SOURCES: Final = (
    *("s", "s", "s JOIN s t ON s.n < t.n", "s, s t, s u", "s LEFT JOIN s t ON s.n = t.n + 1"),
    "s CROSS JOIN s t CROSS JOIN s u CROSS JOIN s v",
)
_ENDS: Final = (
    *("", " WHERE s.n < 0", " ORDER BY s.n DESC", " GROUP BY s.n", " LIMIT 5"),
    *(" WHERE EXISTS (SELECT 1 FROM s x, s y WHERE x.n * y.n = -s.n)", " HAVING 1 = 2"),
    " UNION SELECT n, n FROM s",
)


def running(source: ServedDatabase) -> int:
    """Count the queries that the server is busy with."""
    link = source.server.link()
    cursor = link.cursor()
    if source.server.kind == "postgresql":
        told = "pg_stat_activity WHERE datname = %s AND state = 'active'"
    else:
        told = "information_schema.processlist WHERE db = %s AND command <> 'Sleep'"
    cursor.execute(f"SELECT count(*) FROM {told}", (source.name,))
    (count,) = cursor.fetchone()
    link.close()
    return int(count)


def comes_to_rest(source: ServedDatabase) -> bool:
    for _ in range(_PATIENCE):
        if not running(source):
            return True
        time.sleep(0.05)
    return False


def drawn(random: Random) -> str:
    """Put a query together."""
    bound = random.choice(["", " WHERE n < 50", " WHERE n < 3000", " WHERE n < 1000000"])
    cells = random.choice(_CELLS).format(long=grown(random.randrange(1, 4)))
    source = random.choice(_SOURCES)
    cells = cells.replace("n", "s.n") if cells in {"n", "-n", "n * n", "n / 0"} else cells
    ending = random.choice(_ENDS)
    return f"{NUMBERS.format(bound)} SELECT {cells} AS c, s.n FROM {source}{ending}"


def run(database: ServedDatabase, count: int, seed: int = 1) -> Counter[str]:
    """Ask so many queries; raises `AssertionError` at the first fault."""
    told: Counter[str] = Counter()
    random, dialect = Random(f"{database.server.kind} {seed}"), _DIALECTS[database.server.kind]
    for _ in range(count):
        query = drawn(random)
        begun = time.monotonic()
        connection = opened(database)
        try:
            guard(query, dialect)
            connection.begin()
            found = read(connection, Question(query), BOUNDS)
            told["rows"] += 1
            assert len(found) <= BOUNDS.rows, query
        except QueryMistakeError:
            told["refused or wrong"] += 1
        except SourceFailureError as problem:
            told[f"ended: {problem.code}"] += 1
        finally:
            connection.close()
        seconds = time.monotonic() - begun
        told["over 5 s"] += seconds > 5
        assert seconds < LONGEST, f"{seconds:.0f} s: {query}"
        assert comes_to_rest(database), f"it still runs: {query}"
        again = opened(database)
        again.begin()
        assert read(again, Question("SELECT 42")) == [(42,)]
        again.close()
    return told


def main() -> int:
    """Ask both servers."""
    parser = argparse.ArgumentParser(description="Ask hostile queries.")
    parser.add_argument("kinds", nargs="*", default=["postgresql", "mariadb"])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for kind in asked.kinds:
        with (
            tempfile.TemporaryDirectory() as named,
            leased(kind, Path(named)) as server,
            server.fresh() as database,
        ):
            told = run(database, asked.count, asked.seed)
        sys.stdout.write(f"{kind}: {asked.count} queries, {dict(told)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
