"""All ways to read the same rows give the same answer: rows, open rows, and what is unknown."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constat.evaluation import Demand
from tests.servers import keeper
from tests.servers.building import served
from tests.tiers.building import declare, reasons

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.evaluation import Answer
    from constat.logic import Predicate, Row
    from tests.servers.leasing import ServedDatabase
    from tests.tiers.building import Setting

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb]

TEXTS = st.sampled_from(
    ["a", "A", "b", "1", "01", "", "é", "É", "💥", "%", "'", "\\", "x y", "x ", "ß", "ss"]
)
CELLS = st.tuples(
    st.one_of(st.none(), TEXTS, TEXTS),
    st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1])),
    st.one_of(st.none(), st.sampled_from([0.5, 1.0, -0.25, 1e300, 0.1])),
)
TABLES = st.lists(CELLS, max_size=8)
QUERIES = (
    "SELECT a, b, c FROM t",
    "SELECT a, b, c FROM t WHERE a LIKE '%' AND a <> '?%s:x'",
    "SELECT DISTINCT a, b, c FROM t",
    "SELECT x.a, x.b, x.c FROM t x JOIN t y ON x.b = y.b",
    "SELECT a, max(b), max(c) FROM t GROUP BY a",
    "WITH w AS (SELECT a, b, c FROM t WHERE b > 0) SELECT a, b, c FROM w",
    "SELECT a, b, c FROM t UNION ALL SELECT a, b, c FROM t WHERE b = 1",
)
KEYS = {
    0: st.sampled_from(["a", "A", "b", "1", "é", "💥", "'", "\\", "x", "x ", "nobody", "%"]),
    1: st.sampled_from([-3, 0, 1, 2, 2**63 - 1, -(2**63), 2**53, 2**53 + 1]),
    2: st.sampled_from([0.5, 1.0, 0.1, 7.5]),
}
COLUMNS = st.sampled_from([(), (0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
SIGNATURE = "p(a: symbol, b: number, c: float)"


@pytest.fixture(scope="module")
def ways(request: pytest.FixtureRequest) -> Iterator[dict[str, ServedDatabase]]:
    """Give the databases of the servers that can be started here."""
    kinds = [kind for kind in ("postgresql", "mariadb") if not keeper.missing(kind)]
    if not kinds:
        pytest.skip("no server can be started here")
    servers = {kind: request.getfixturevalue(f"{kind}_server") for kind in kinds}
    found: dict[str, ServedDatabase] = {}
    opened = []
    for kind, server in servers.items():
        fresh = server.fresh()
        database = found[kind] = fresh.__enter__()
        opened.append(fresh)
        # Only with letters as they are do all sources group and distinguish alike.
        exact = "" if kind == "postgresql" else " COLLATE utf8mb4_nopad_bin"
        database.run(f"CREATE TABLE t (a VARCHAR(20){exact}, b BIGINT, c DOUBLE PRECISION)")
    yield found
    for fresh in opened:
        fresh.__exit__(None, None, None)


def said(answer: Answer) -> tuple[object, ...]:
    """Give what an answer says, without which source says it and when."""
    return (
        sorted((row for portion in answer.portions for row in portion.rows), key=repr),
        sorted({repr(opening.row) for opening in answer.openings}),
        answer.answered,
        {code for code in ("C0523", "C0524", "C0525") if code in reasons(answer)},
    )


def file_of(folder: Path, rows: list[tuple[Any, ...]]) -> Path:
    path = folder / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("CREATE TABLE t (a TEXT, b INTEGER, c REAL)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path


@settings(
    max_examples=settings().max_examples // 4,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_all_sources_give_the_same_answer(
    ways: dict[str, ServedDatabase],
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:
    table = data.draw(TABLES)
    policy = data.draw(st.sampled_from(["error", "skip", "unknown"]))
    folder = tmp_path_factory.mktemp("shop")
    path = file_of(folder, table)
    addresses = {"native": f"sqlite:///{path}", "alchemy": f"sqlite+pysqlite:///{path}"}
    for kind, database in ways.items():
        database.run("DELETE FROM t")
        database.insert("t", table)
        addresses[kind] = database.uri
    query = data.draw(st.sampled_from(QUERIES))
    predicate = declare(SIGNATURE, query, parameters={"null": policy})
    demands = [demand(data, predicate) for _ in range(3)]
    answers: dict[str, list[tuple[object, ...]]] = {}
    for way, uri in addresses.items():
        found: Setting = served(folder, uri, predicate)
        external = found.tiers.externals["p"]
        answers[way] = [said(external.answer(one)) for one in demands]
        found.tiers.close()
    for way, answer in answers.items():
        assert answer == answers["native"], way


def demand(data: st.DataObject, predicate: Predicate) -> Demand:
    columns = data.draw(COLUMNS)
    if not columns:
        return Demand(predicate, (), ((),))
    wanted = st.tuples(*(KEYS[column] for column in columns))
    keys: list[Row] = data.draw(st.lists(wanted, min_size=1, max_size=4, unique=True))
    return Demand(predicate, columns, tuple(keys))
