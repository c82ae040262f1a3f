"""Each type of a server's column gives the exact value, or the reason why there is none."""

from __future__ import annotations

import struct
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from constat.catalog.keyed import Family
from constat.catalog.postgresql import Names, families
from constat.logic import OPEN
from tests.servers.building import served
from tests.tiers.building import declare, open_rows, reasons, rows

if TYPE_CHECKING:
    from pathlib import Path

    from constat.evaluation import Answer
    from tests.servers.leasing import ServedDatabase

MOST = 2**63 - 1
DIGITS = "1234567890123456789012345678.0123456789"


def _value(answer: Answer) -> tuple[object, str]:
    found = rows(answer)
    if found:
        ((value,),) = found
        assert not answer.openings
        return value, ""
    assert open_rows(answer) == {(OPEN,)}
    return None, reasons(answer)


POSTGRESQL: list[tuple[str, str, str, Any]] = [
    ("numeric(38, 10)", DIGITS, "Decimal", Decimal(DIGITS)),
    ("numeric", "'NaN'", "Decimal", None),
    ("numeric", "'Infinity'", "Decimal", None),
    ("numeric(10, 2)", "5.00", "number", 5),
    ("numeric(10, 2)", "5.01", "number", None),
    ("numeric(10, 2)", "10.50", "Decimal", Decimal("10.5")),
    ("numeric(50, 0)", "9" * 45, "Decimal", None),
    ("bigint", str(MOST), "number", MOST),
    ("bigint", str(-MOST - 1), "number", -MOST - 1),
    ("smallint", "-7", "number", -7),
    ("integer", "-7", "unsigned", None),
    ("boolean", "true", "Bool", "true"),
    ("boolean", "false", "Bool", "false"),
    ("boolean", "true", "symbol", None),
    ("integer", "1", "Bool", "true"),
    ("integer", "2", "Bool", None),
    ("double precision", "0.1", "float", 0.1),
    ("double precision", "'NaN'", "float", None),
    ("double precision", "'-Infinity'", "float", None),
    ("double precision", "9007199254740993", "number", 2**53),
    ("real", "0.1", "float", struct.unpack("f", struct.pack("f", 0.1))[0]),
    ("real", "0.1", "Decimal", Decimal("0.1")),
    ("real", "123456792", "number", 123456792),
    ("date", "'2020-02-29'", "Date", "2020-02-29"),
    ("date", "'infinity'", "Date", None),
    ("date", "'0044-03-15 BC'", "Date", None),
    ("date", "'2020-02-29'", "symbol", None),
    ("date", "'infinity'", "symbol", None),
    ("timestamp", "'2020-02-29 10:30:00.125'", "Timestamp", "2020-02-29T10:30:00.125000Z"),
    ("timestamptz", "'2020-02-29 10:30:00+05:30'", "Timestamp", "2020-02-29T05:00:00.000000Z"),
    ("timestamptz", "'infinity'", "Timestamp", None),
    ("timestamp", "'2020-02-29 00:00'", "Date", "2020-02-29"),
    ("timestamp", "'2020-02-29 10:30'", "Date", None),
    ("time", "'10:30'", "symbol", None),
    ("interval", "'1 day'", "symbol", None),
    ("bytea", r"'\x00ff'", "symbol", None),
    ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "symbol",
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("char(5)", "'ab'", "symbol", "ab   "),
    ("varchar(5)", "'ab '", "symbol", "ab "),
    ("text", "''", "symbol", ""),
    ("text", "'12'", "number", 12),
    ("integer", "12", "symbol", None),
    ("json", "'{\"a\": 1}'", "symbol", None),
    ("jsonb", "'[1]'", "symbol", None),
    ("integer[]", "'{1,2}'", "symbol", None),
    ("inet", "'10.0.0.1'", "symbol", None),
    ("money", "'5.00'", "Decimal", None),
    ("bit(3)", "B'101'", "symbol", None),
    ("oid", "12", "symbol", None),
]  # fmt: skip

MARIADB: list[tuple[str, str, str, Any]] = [
    ("decimal(38, 10)", DIGITS, "Decimal", Decimal(DIGITS)),
    ("decimal(10, 2)", "5.00", "number", 5),
    ("bigint", str(-MOST - 1), "number", -MOST - 1),
    ("bigint unsigned", str(2**64 - 1), "unsigned", 2**64 - 1),
    ("bigint unsigned", str(2**64 - 1), "number", None),
    ("tinyint(1)", "1", "Bool", "true"),
    ("boolean", "false", "Bool", "false"),
    ("tinyint(1)", "2", "Bool", None),
    ("double", "0.1", "float", 0.1),
    ("double", "1.7976931348623157e308", "float", 1.7976931348623157e308),
    ("double", "5e-324", "float", 5e-324),
    ("float", "0.1", "float", struct.unpack("f", struct.pack("f", 0.1))[0]),
    ("float", "0.1", "Decimal", Decimal("0.1")),
    ("float", "123456792", "number", 123456792),
    ("date", "'2020-02-29'", "Date", "2020-02-29"),
    ("datetime", "'2020-02-29 10:30:00'", "Timestamp", "2020-02-29T10:30:00.000000Z"),
    ("datetime(6)", "'2020-02-29 10:30:00.125'", "Timestamp", "2020-02-29T10:30:00.125000Z"),
    ("datetime", "'2020-02-29'", "Date", "2020-02-29"),
    ("time", "'10:30'", "symbol", None),
    ("year", "2020", "number", 2020),
    ("blob", "x'00ff'", "symbol", None),
    ("varbinary(5)", "'ab'", "symbol", None),
    ("bit(3)", "b'101'", "number", None),
    ("char(5)", "'ab'", "symbol", "ab"),
    ("varchar(5)", "'ab '", "symbol", "ab "),
    ("enum('x', 'Y')", "'y'", "symbol", "Y"),
    ("set('x', 'y')", "'x,y'", "symbol", "x,y"),
    ("longtext", "'é💥'", "symbol", "é💥"),
    ("integer", "12", "symbol", None),
    ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "symbol",
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("varchar(5) character set latin1", "'é'", "symbol", "é"),
]  # fmt: skip


def check(source: ServedDatabase, folder: Path, cases: list[tuple[str, str, str, Any]]) -> None:
    """Store all cases in one row, because a server is slow to make tables."""
    columns = ", ".join(f"x{number} {column}" for number, (column, *_) in enumerate(cases))
    written = ", ".join(text for _, text, *_ in cases)
    source.run(f"CREATE TABLE t ({columns})", f"INSERT INTO t VALUES ({written})")
    predicates = [
        declare(f"p{number}(x: {kind})", f"SELECT x{number} FROM t")
        for number, (_, _, kind, _) in enumerate(cases)
    ]
    found = served(folder, source.uri, *predicates)
    for number, (column, text, kind, expected) in enumerate(cases):
        value, reason = _value(found.ask(f"p{number}"))
        assert (value, type(value)) == (expected, type(expected)), (column, text, kind, reason)
        if expected is None:
            assert "C0525" in reason
            assert len(text) < 6 or text.strip("'") not in reason


def test_types_of_postgresql(postgresql: ServedDatabase, tmp_path: Path) -> None:
    check(postgresql, tmp_path, POSTGRESQL)


def test_types_of_mariadb(mariadb: ServedDatabase, tmp_path: Path) -> None:
    check(mariadb, tmp_path, MARIADB)


def test_dates_that_do_not_exist(mariadb: ServedDatabase, tmp_path: Path) -> None:
    mariadb.run(
        "CREATE TABLE t (a DATE, b DATETIME, c TIMESTAMP NULL)",
        "SET SESSION sql_mode = ''",
    )
    link = mariadb.server.link(mariadb.name)
    with link.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = ''")
        cursor.execute("INSERT INTO t VALUES ('0000-00-00', '2020-02-00', '0000-00-00')")
    link.close()
    found = served(
        tmp_path,
        mariadb.uri,
        declare("p(a: Date, b: Timestamp, c: Timestamp)", "SELECT a, b, c FROM t"),
        declare("q(a: symbol)", "SELECT a FROM t"),
    )
    assert open_rows(found.ask("p")) == {(OPEN, OPEN, OPEN)}
    assert open_rows(found.ask("q")) == {(OPEN,)}


def test_a_moment_does_not_depend_on_the_servers_time_zone(
    source: ServedDatabase, tmp_path: Path
) -> None:
    if source.server.kind == "postgresql":
        source.run(
            f"ALTER DATABASE {source.name} SET timezone = 'Asia/Tokyo'",
            f"ALTER DATABASE {source.name} SET datestyle = 'SQL, DMY'",
            f"ALTER DATABASE {source.name} SET extra_float_digits = -10",
            f"ALTER DATABASE {source.name} SET standard_conforming_strings = off",
            f"ALTER DATABASE {source.name} SET default_transaction_isolation = 'read committed'",
            "CREATE TABLE t (x timestamptz, f double precision)",
        )
    else:
        source.run("CREATE TABLE t (x TIMESTAMP, f DOUBLE)", "SET SESSION time_zone = '+09:00'")
    source.insert("t", [("2020-02-29 10:30:00", 0.1 + 0.2)])
    if source.server.kind == "postgresql":
        source.run("UPDATE t SET x = '2020-02-29 10:30:00+00'")
    else:
        source.run("UPDATE t SET x = from_unixtime(1582972200)")
    signature = "p(x: Timestamp, f: float)"
    found = served(tmp_path, source.uri, declare(signature, r"SELECT x, f FROM t WHERE '\' = '\'"
                   if source.server.kind == "postgresql" else "SELECT x, f FROM t"))  # fmt: skip
    ((moment, number),) = rows(found.ask("p"))
    assert moment == "2020-02-29T10:30:00.000000Z"
    assert number == 0.1 + 0.2


# Keys are found by the server's equality, and filtered by ours.


def test_collations_that_fold_letters_find_more_and_give_what_was_asked(
    source: ServedDatabase, tmp_path: Path
) -> None:
    if source.server.kind == "postgresql":
        try:
            source.run(
                "CREATE COLLATION folding"
                " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
            )
        except psycopg.errors.FeatureNotSupported:
            pytest.skip("this build of PostgreSQL has no collations that fold letters")
        source.run("CREATE TABLE t (x text COLLATE folding, n int)")
    else:
        source.run("CREATE TABLE t (x VARCHAR(20) COLLATE utf8mb4_general_ci, n INT)")
    source.insert("t", [("c001", 1), ("C001", 2), ("C002", 3)])
    predicate = declare("p(x: symbol, n: number)", "SELECT x, n FROM t")
    found = served(tmp_path, source.uri, predicate)
    answer = found.ask("p", (0,), ("C001",))
    assert rows(answer) == {("C001", 2)}
    # The evidence speaks of all that the source gave.
    assert answer.portions[0].evidence.row_count == 2
    assert "WHERE" in found.queries[0].query


def test_padded_text_is_found_as_it_is_given(postgresql: ServedDatabase, tmp_path: Path) -> None:
    postgresql.run("CREATE TABLE t (x char(5), n int)", "INSERT INTO t VALUES ('ab', 1)")
    found = served(tmp_path, postgresql.uri, declare("p(x: symbol)", "SELECT x FROM t"))
    assert rows(found.ask("p", (0,), ("ab   ",))) == {("ab   ",)}
    assert rows(found.ask("p", (0,), ("ab",))) == set()


def test_keys_that_a_type_does_not_know_are_simply_not_there(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    known = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    postgresql.run(
        "CREATE TYPE colour AS ENUM ('red', 'green')",
        "CREATE DOMAIN code AS text CHECK (length(VALUE) < 5)",
        "CREATE TABLE t (u uuid, c colour, d code, n name)",
        f"INSERT INTO t VALUES ('{known}', 'red', 'abc', 'x')",
    )
    signature = "p(u: symbol, c: symbol, d: symbol, n: symbol)"
    found = served(tmp_path, postgresql.uri, declare(signature, "SELECT u, c, d, n FROM t"))
    row = (known, "red", "abc", "x")
    for column, value in enumerate(row):
        answer = found.ask("p", (column,), (value,), ("neither",))
        assert rows(answer) == {row}
        assert answer.answered == {(value,), ("neither",)}
    assert all("WHERE" in one.query for one in found.queries)
    assert rows(found.ask("p", (0,), (known.upper(),))) == set()


def test_letters_that_a_column_cannot_hold_are_simply_not_there(
    mariadb: ServedDatabase, tmp_path: Path
) -> None:
    mariadb.run("CREATE TABLE t (x VARCHAR(9) CHARACTER SET latin1, y VARCHAR(9), n INT)")
    mariadb.insert("t", [("é", "💥", 1), ("e", "b", 2)])
    predicate = declare("p(x: symbol, y: symbol, n: number)", "SELECT x, y, n FROM t")
    found = served(tmp_path, mariadb.uri, predicate)
    answer = found.ask("p", (0,), ("💥",), ("é",), ("z",))
    assert rows(answer) == {("é", "💥", 1)}
    assert len(answer.answered) == 3
    assert rows(found.ask("p", (0, 1), ("é", "💥"))) == {("é", "💥", 1)}
    assert rows(found.ask("p", (0,), ("e",))) == {("e", "b", 2)}


def test_integers_are_found_in_every_column_of_numbers(
    source: ServedDatabase, tmp_path: Path
) -> None:
    numbers = [2**53, 2**53 + 1, 0, -1, MOST, -MOST - 1, 12]
    real = "double precision"
    source.run(f"CREATE TABLE t (a BIGINT, b {real}, c DECIMAL(30, 5), d {real})")
    source.insert("t", [(one, float(one), one, one + 0.5) for one in numbers])
    predicates = [
        declare(f"{use}_{kind}_{column}(x: {kind})", f"SELECT DISTINCT {column} FROM t")
        for column in "abcd"
        for kind in ("number", "unsigned")
        for use in ("whole", "keyed")
    ]
    found = served(tmp_path, source.uri, *predicates)
    for column, kind in product("abcd", ("number", "unsigned")):
        whole = found.ask(f"whole_{kind}_{column}")
        for number in [one for one in numbers if kind == "number" or one >= 0]:
            answer = found.ask(f"keyed_{kind}_{column}", (0,), (number,))
            assert rows(answer) == {row for row in rows(whole) if row[0] == number}
            # What is no value of its column may be any.
            assert len(answer.openings) == len(whole.openings)
        assert "WHERE" in found.queries[-1].query
    assert len(rows(found.ask("whole_number_a"))) == len(numbers)
    assert len(found.ask("whole_number_d").openings) > 0


def test_types_that_are_not_known_are_not_sent() -> None:
    names = Names(labels={90_001}, folding={90_002}, other={90_003})
    assert families([20, 25, 2950, 1082, 90_001, 90_002, 90_003, 16], names) == (
        Family.SIGNED, Family.TEXT, Family.CAST, Family.OTHER, Family.CAST, Family.TEXT,
        Family.OTHER, Family.OTHER,
    )  # fmt: skip
    assert names.unknown([20, 90_001, 90_004, 90_004]) == [90_004]
