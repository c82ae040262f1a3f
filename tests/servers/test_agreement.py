"""All ways to read the same rows give the same answer: rows, open rows, and what is unknown."""

from __future__ import annotations

import sqlite3
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from constat import Session
from constat.catalog import server_reading
from constat.check import check_certificate
from constat.evaluation import Demand, Range
from constat.logic import OPEN, NullCell
from constat.session.data_checks import check_data, prove_broken_keys
from tests.servers import keeper
from tests.servers.building import served
from tests.session.test_contested_keys import (
    CONTESTED,
    ENGINES,
    PLAIN,
    listed,
    proved,
    write,
)
from tests.tiers.building import declare, reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
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


# Columns of PostgreSQL that come by COPY: types, the kinds that they may be declared as, and cells.

EXACT: Final = ("0", "-0.5", "10.50", "1e-13", "'NaN'", "1e30", "12345678901234567", "5.00", "0.1")
TIMES: Final = ("'2020-02-29'", "'infinity'", "'0044-03-15 BC'", "'9999-12-31'", "'10000-01-01'")
COPIED: Final = (
    ("smallint", ("number", "unsigned", "float", "Bool"), ("0", "1", "-7", "32767")),
    ("integer", ("number", "unsigned", "float", "symbol"), ("0", "1", "-2147483648")),
    ("bigint", ("number", "unsigned", "float"), (str(2**63 - 1), str(-(2**63)), "7", "0")),
    ("real", ("float", "Decimal"), ("0.1", "'NaN'", "-0.0", "1e30")),
    ("double precision", ("float", "Decimal"), ("0.1", "'NaN'", "'-Infinity'", "-0.0", "5e-324")),
    ("numeric", ("Decimal", "number", "unsigned", "float"), EXACT),
    ("numeric(10, 2)", ("Decimal", "number", "float"), ("0", "-0.5", "10.50", "'NaN'", "5.00")),
    ("boolean", ("Bool", "symbol"), ("true", "false")),
    ("text", ("symbol", "number", "Date", "float"), ("'é💥'", "''", "'12'", "'2020-02-29'")),
    ("char(5)", ("symbol",), ("'ab'", "''", "'é'")),
    ("date", ("Date", "symbol"), TIMES),
    ("timestamp", ("Timestamp", "Date"), ("'2020-02-29 10:30:00.125'", *TIMES)),
    ("timestamptz", ("Timestamp",), ("'2020-02-29 10:30:00+05:30'", "'infinity'")),
    ("uuid", ("symbol",), ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",)),
    ("bytea", ("symbol",), ("'x'",)),
)
DAYS: Final = ("'2020-02-29'", "'0000-00-00'", "'2020-00-10'", "'2020-10-00'", "'9999-12-31'")
# As above, of MariaDB, where rows are put into columns here.
FETCHED: Final = (
    ("tinyint", ("number", "float", "Bool"), ("0", "1", "-7")),
    ("int", ("number", "unsigned", "float"), ("0", "1", "-2147483648")),
    ("bigint", ("number", "unsigned", "float"), (str(2**63 - 1), str(-(2**63)), "7", "0")),
    ("bigint unsigned", ("number", "unsigned"), (str(2**64 - 1), str(2**63), "7", "0")),
    ("float", ("float", "Decimal"), ("0.1", "-0.0", "1e30")),
    ("double", ("float", "Decimal", "number"), ("0.1", "1e300", "-0.0", "5e-324", "3")),
    ("decimal(38, 12)", ("Decimal", "number", "float"), ("0", "-0.5", "1e25", "10.000000000001")),
    ("decimal(65, 30)", ("Decimal",), ("0", "0.1", "1e30", "1e-30", "12345678901234567.25")),
    ("decimal(10, 2)", ("Decimal", "number", "float"), ("0", "-0.5", "10.50", "5.00")),
    ("varchar(9) collate utf8mb4_general_ci", ("symbol", "number"), ("'a'", "'A '", "'é'", "'12'")),
    ("varchar(9) collate utf8mb4_nopad_bin", ("symbol", "Date"), ("'é'", "'e'", "''", "' '")),
    ("char(5) character set latin1", ("symbol",), ("'ab'", "''", "'é'")),
    ("enum('a', 'A ', '')", ("symbol",), ("'a'", "''")),
    ("date", ("Date", "symbol"), DAYS),
    ("datetime(6)", ("Timestamp", "Date"), ("'2020-02-29 10:30:00.125'", *DAYS)),
    ("year", ("number",), ("2020", "0")),
)
SERVED: Final = {
    "postgresql": (COPIED, "INSERT INTO", " ON CONFLICT DO NOTHING"),
    "mariadb": (FETCHED, "INSERT IGNORE INTO", ""),
}


@settings(
    max_examples=settings().max_examples // 2,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
@pytest.mark.parametrize("server", SERVED)
def test_columns_hold_what_their_cells_do_within_ranges_too(
    ways: dict[str, ServedDatabase],
    tmp_path_factory: pytest.TempPathFactory,
    server: str,
    data: st.DataObject,
) -> None:
    if server not in ways:
        pytest.skip(f"no {server} can be started here")
    types, insert, unless = SERVED[server]
    chosen = data.draw(st.lists(st.sampled_from(types), min_size=1, max_size=3))
    kinds = [data.draw(st.sampled_from(one[1])) for one in chosen]
    cells = [st.one_of(st.just("NULL"), st.sampled_from(one[2])) for one in chosen]
    rows = data.draw(st.lists(st.tuples(*cells), min_size=1, max_size=5))
    policy = data.draw(st.sampled_from(["error", "skip", "none", "unknown"]))
    columns = ", ".join(f"x{n} {one[0]}" for n, one in enumerate(chosen))
    ways[server].run(
        *(["SET sql_mode = ''"] if server == "mariadb" else []),
        "DROP TABLE IF EXISTS copied",
        f"CREATE TABLE copied ({columns})",
        *(["CREATE UNIQUE INDEX apart ON copied (x0)"] if data.draw(st.booleans()) else []),
        *(f"{insert} copied VALUES ({', '.join(row)}){unless}" for row in rows),
    )
    signature = ", ".join(f"x{n}: {kind}" for n, kind in enumerate(kinds))
    listed = ", ".join(f"x{n}" for n in range(len(chosen)))
    key: dict[str, Any] = {"key": "x0"} if data.draw(st.booleans()) else {}
    predicate = declare(
        f"p({signature})", f"SELECT {listed} FROM copied", parameters={"null": policy}, **key
    )
    found = served(tmp_path_factory.mktemp("shop"), ways[server].uri, predicate)
    external: Any = found.tiers.externals["p"]
    answer = external.answer(Demand(predicate, (), ((),)))
    told = {row for portion in answer.portions for row in portion.rows}
    ranges = [data.draw(st.sampled_from(one)) for one in _ranges(told)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_reading, "FEW", -1)
        demand = Demand(predicate, (), ((),), ranges=tuple(one for one in ranges if one))
        readable = external.as_relation(demand, 1_000)
    event("in columns" if readable else "cell by cell")
    if readable is not None:
        with duckdb.connect() as database:
            whole = database.from_arrow(readable.stream()).fetchall()
        read = {*whole, *readable.nulls}
        open_rows = {one.row for one in answer.openings}
        assert read <= told
        assert {row for row in told if _is_inside(row, demand.ranges)} <= read
        assert {one.row for one in readable.openings} <= open_rows
        assert {row for row in open_rows if _is_inside(row, demand.ranges)} <= {
            one.row for one in readable.openings
        }
        assert len(whole) == readable.rows
    found.tiers.close()


@pytest.mark.parametrize("how", CONTESTED)
def test_rows_that_share_a_key_leave_that_key_open_and_no_other(
    tmp_path: Path, source: ServedDatabase, how: str
) -> None:
    bills = (*PLAIN, CONTESTED[how])
    source.run(
        "CREATE TABLE customer (c INTEGER, name VARCHAR(9))",
        "CREATE TABLE bill (i INTEGER, c INTEGER, total INTEGER, note VARCHAR(9))",
        *(f"INSERT INTO customer VALUES ({n}, 'n{n}')" for n in range(1, 6)),
        *(f"INSERT INTO bill VALUES ({', '.join(map(_written, one))})" for one in bills),
    )
    folder = write(tmp_path / "with", bills, uri=source.uri)
    said = proved(folder)
    assert said["rich", 4] == said["busy", 4] == "UNRESOLVED"
    for engine in ENGINES:
        assert listed(folder, engine) == said, engine
    # A database in a file says the same.
    assert said == proved(write(tmp_path / "beside", bills))
    with Session(folder) as session:
        (check,) = check_data(session, ["bill"], 5)
        ((_, proof),) = prove_broken_keys(session, check)
    assert not isinstance(proof, str)
    assert check_certificate(proof.certificate).verdict == "PROVED"


def _written(cell: object) -> str:
    return "NULL" if cell is None else repr(cell)


COMPARED: Final = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


def _ranges(told: Iterable[Row]) -> list[list[Range | None]]:
    """Give for each column ranges about values that are there, and none."""
    columns = zip(*told, strict=True)
    return [
        [
            None,
            *(
                Range(place, operator, cell)
                for cell in sorted(
                    {one for one in cells if not isinstance(one, NullCell)}, key=repr
                )
                for operator in COMPARED
            ),
        ]
        for place, cells in enumerate(columns)
    ]


def _is_inside(row: Sequence[Any], ranges: Iterable[Range]) -> bool:
    """Tell whether a row is within ranges, or may be: a cell that is no value may be anything."""
    cells = ((row[one.column], one) for one in ranges)
    return all(
        cell is OPEN or isinstance(cell, NullCell) or COMPARED[one.operator](cell, one.value)
        for cell, one in cells
    )
