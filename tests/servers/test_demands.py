"""Servers answer demands as files do: evidence, one state, nulls, equal rows, keys, mistakes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from constat.catalog import Question
from constat.diagnostics import ConstatError
from constat.logic import OPEN, has_null_cells
from tests.cli.running import run
from tests.servers.building import opened, read, served
from tests.tiers.building import declare, open_rows, reasons, rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.leasing import ServedDatabase
    from tests.tiers.building import Setting

pytestmark = pytest.mark.sampled(2)

ORDERS = "SELECT id, c, amount FROM orders"
PREDICATE = "orders(id: number, c: symbol, amount: Decimal)"
TABLE = "CREATE TABLE orders (id BIGINT PRIMARY KEY, c VARCHAR(40), amount DECIMAL(38, 10))"
C1, C2 = ("C001",), ("C002",)


def orders(source: ServedDatabase, folder: Path, **parameters: str) -> Setting:
    source.run(
        TABLE,
        "INSERT INTO orders VALUES (1, 'C001', 10.5), (2, 'C001', 10.5), (3, 'C002', 7)",
    )
    return served(folder, source.uri, declare(PREDICATE, ORDERS, parameters=parameters))


def test_evidence_says_exactly_what_was_asked_and_what_came(
    source: ServedDatabase, tmp_path: Path
) -> None:
    found = orders(source, tmp_path)
    (portion,) = found.ask("orders", (1,), C1).portions
    assert set(portion.rows) == {
        (1, "C001", Decimal("10.5")),
        (2, "C001", Decimal("10.5")),
    }
    evidence = portion.evidence
    assert evidence.query == (
        f"WITH q(c0, c1, c2) AS (\n{ORDERS}\n)\nSELECT c0, c1, c2 FROM q WHERE c1 = ? OR c1 IS NULL"
    )
    assert evidence.parameters == ("C001",)
    assert (evidence.source, evidence.row_count) == ("sales", 2)
    # Anybody can run it again, with the placeholder that the server's own tools have.
    assert len(source.rows(evidence.query.replace("?", "'C001'"))) == 2


def test_a_far_source_costs_more_than_a_file_and_is_not_opened_to_tell(
    source: ServedDatabase, tmp_path: Path
) -> None:
    found = orders(source, tmp_path)
    assert found.tiers.externals["orders"].cost == 100
    assert not found.events


def test_many_keys_take_a_handful_of_queries(source: ServedDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE t (a VARCHAR(20), b INT)")
    source.insert("t", [(f"C{number}", number) for number in range(12_000)])
    predicate = declare("t(a: symbol, b: number)", "SELECT a, b FROM t")
    found = served(tmp_path, source.uri, predicate)
    keys = [(f"C{number}",) for number in range(1, 10_001)]
    answer = found.ask("t", (0,), *keys)
    assert rows(answer) == {(f"C{number}", number) for number in range(1, 10_001)}
    assert answer.answered == set(keys)
    # PostgreSQL takes an array, others a placeholder for each of 5,000 keys.
    assert len(found.queries) == (1 if source.server.kind == "postgresql" else 2)
    pairs: list[Any] = [(f"C{number}", number) for number in range(500, 2_000)]
    found.tiers.release()
    assert rows(found.ask("t", (0, 1), *pairs)) == set(pairs)


# One state for one evaluation (semantics 16).


def test_a_commit_between_two_demands_is_seen_by_the_next_evaluation_only(
    source: ServedDatabase, tmp_path: Path
) -> None:
    found = orders(source, tmp_path)
    before = found.ask("orders", (1,), C1).authorities[0].snapshot
    assert before is not None
    source.run("UPDATE orders SET amount = 99 WHERE c = 'C002'", "DELETE FROM orders WHERE id = 1")
    answer = found.ask("orders", (1,), C2)
    assert rows(answer) == {(3, "C002", Decimal(7))}
    assert answer.authorities[0].snapshot == before
    assert len(rows(found.ask("orders"))) == 3
    found.tiers.release()
    answer = found.ask("orders", (1,), C2)
    assert rows(answer) == {(3, "C002", Decimal(99))}
    assert answer.authorities[0].snapshot not in {before, None}
    assert len(rows(found.ask("orders"))) == 2


def test_the_state_is_that_of_its_beginning_not_of_the_first_question(
    source: ServedDatabase,
) -> None:
    source.run("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
    connection = opened(source)
    assert connection.begin()
    assert not connection.begin()
    source.run("UPDATE t SET a = 2")
    assert read(connection, Question("SELECT a FROM t")) == [(1,)]
    connection.release()
    assert connection.begin()
    assert read(connection, Question("SELECT a FROM t")) == [(2,)]
    connection.close()


def test_a_state_of_postgresql_has_a_name_that_lasts_until_something_is_written(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    found = orders(postgresql, tmp_path)
    names = []
    for change in ("", "", "UPDATE orders SET amount = 1 WHERE id = 1", ""):
        if change:
            postgresql.run(change)
        answer = found.ask("orders", (1,), C1)
        names.append(answer.authorities[0].snapshot)
        found.tiers.release()
    assert names[0] == names[1] != names[2] == names[3]
    assert "cluster " in str(names[0])
    # What is known of a state is not asked again while the state lasts.
    assert len(found.queries) == 2


def test_tables_without_snapshots_leave_the_state_without_a_name(
    mariadb: ServedDatabase, tmp_path: Path
) -> None:
    found = orders(mariadb, tmp_path)
    mariadb.run("CREATE TABLE old (a INT) ENGINE = MyISAM")
    assert found.ask("orders", (1,), C1).authorities[0].snapshot is None


# Null policies (semantics 26), equal rows (semantics 22).


@pytest.mark.parametrize("policy", ["error", "skip", "none", "unknown"])
def test_null_policies(source: ServedDatabase, tmp_path: Path, policy: str) -> None:
    found = orders(source, tmp_path, null=policy)
    source.run("INSERT INTO orders VALUES (4, 'C001', NULL), (5, NULL, 9)")
    answer = found.ask("orders", (1,), C1)
    assert answer.answered == {C1}
    known = {row for row in rows(answer) if not has_null_cells(row)}
    assert known == {(n, "C001", Decimal("10.5")) for n in (1, 2)}
    held = {row[0] for row in rows(answer) if has_null_cells(row)}
    assert held == {"none": {4}, "unknown": {4, 5}}.get(policy, set())
    expected = {(4, "C001", OPEN), (5, OPEN, Decimal(9))} if policy == "error" else set()
    assert open_rows(answer) == expected
    assert ("C0524" in reasons(answer)) == (policy == "error")
    whole = found.ask("orders")
    assert {row for row in open_rows(whole) if row[1] in {"C001", OPEN}} == expected


def test_equal_rows_are_an_error_that_names_query_and_count(
    source: ServedDatabase, tmp_path: Path
) -> None:
    orders(source, tmp_path).tiers.close()
    query = "SELECT c, amount FROM orders"
    signature = "(c: symbol, amount: Decimal)"
    found = served(
        tmp_path,
        source.uri,
        declare("paid" + signature, query),
        declare("once" + signature, query, distinct="true"),
    )
    answer = found.ask("paid", (0,), C1, C2)
    assert answer.answered == {C2}
    assert "query of paid gave 1 of 3 rows more than once" in reasons(answer)
    assert "C0523" in reasons(answer)
    assert found.ask("once", (0,), C1, C2).answered == {C1, C2}


# Mistakes of a query.


MISTAKES = (
    ("SELECT id, c, amount FROM ordes", "C0517", "orders"),
    ("SELECT id, c, amont FROM orders", "C0515", "amount"),
    ("SELECT id, o.c, o.amont FROM orders o", "C0515", "amount"),
    ("SELECT id, c FROM orders", "C0518", "position"),
    ("SELECT o.*, 1 AS one FROM orders o", "C0518", "position"),
    ("SELECT id c amount orders", "C0515", ""),
    ("DELETE FROM orders", "C0516", ""),
    ("SELECT id, c, coalesce() FROM orders", "C0515", ""),
)


def test_a_wrong_query_is_an_error_of_the_rules(source: ServedDatabase, tmp_path: Path) -> None:
    source.run(TABLE)
    predicates = [
        declare(PREDICATE.replace("orders", f"p{number}"), query)
        for number, (query, _, _) in enumerate(MISTAKES)
    ]
    found = served(tmp_path, source.uri, *predicates)
    for number, (_, code, fix) in enumerate(MISTAKES):
        with pytest.raises(ConstatError, match=code) as caught:
            found.ask(f"p{number}", (1,), C1)
        assert fix in caught.value.diagnostics[0].help
        assert f"`p{number}`" in str(caught.value)


def test_a_schema_may_be_named(source: ServedDatabase, tmp_path: Path) -> None:
    schema = "public" if source.server.kind == "postgresql" else source.name
    orders(source, tmp_path).tiers.close()
    query = f"SELECT id, c, amount FROM {schema}.orders"
    found = served(tmp_path, source.uri, declare(PREDICATE, query))
    assert len(rows(found.ask("orders"))) == 3


def test_tables_of_other_schemas_of_postgresql_are_found_by_their_full_names(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    postgresql.run(
        "CREATE SCHEMA crm", "CREATE TABLE crm.t (a INT)", "INSERT INTO crm.t VALUES (7)"
    )
    found = served(
        tmp_path,
        postgresql.uri,
        declare("p(a: number)", "SELECT a FROM crm.t"),
        declare("bare(a: number)", "SELECT a FROM t"),
    )
    assert rows(found.ask("p")) == {(7,)}
    with pytest.raises(ConstatError, match="C0517"):
        found.ask("bare")


# Text reaches the server as it was written.

PATTERNS = ("%", "%x:y%", "%%", "%s", "%(a)s", ":name", "?", "a\\\\b", "10%", "%%s %b %t", "{0}")


def test_the_text_of_a_query_reaches_the_server_verbatim(
    source: ServedDatabase, tmp_path: Path
) -> None:
    source.run("CREATE TABLE t (a VARCHAR(40), b INT)")
    others = [("ax:yb", -1), ("a\\b", -2), ("other", -3)]
    source.insert("t", [*others, *((text, number) for number, text in enumerate(PATTERNS))])
    queries = [f"SELECT a, b FROM t WHERE a LIKE '{text}' OR a = '{text}'" for text in PATTERNS]
    predicates = [
        declare(f"t{number}(a: symbol, b: number)", query) for number, query in enumerate(queries)
    ]
    found = served(tmp_path, source.uri, *predicates)
    for number, query in enumerate(queries):
        expected = set(source.rows(query))
        assert expected
        for text in {row[0] for row in expected}:
            wanted = {row for row in expected if row[0] == text}
            assert rows(found.ask(f"t{number}", (0,), (text,))) == wanted
        assert rows(found.ask(f"t{number}", (0,), ("nobody",))) == set()
        assert rows(found.ask(f"t{number}")) == expected


def test_values_never_become_text_of_a_query(source: ServedDatabase, tmp_path: Path) -> None:
    hostile = [
        "' OR 1=1 --", "'); DROP TABLE t; --", '"', "]", "\\", "\\'", "%", "?", "%s", ":a", "$1",
        "\x01", "\n", "/*", "null", "💥", "\u2028", "x' COLLATE \"C\" --", "\x1a", "é", "\u0301",
    ]  # fmt: skip
    source.run("CREATE TABLE t (x VARCHAR(60), y VARCHAR(60))")
    source.insert("t", [("secret", "a"), *((text, text) for text in hostile)])
    predicate = declare("p(x: symbol, y: symbol)", "SELECT x, y FROM t WHERE x LIKE '%'")
    found = served(tmp_path, source.uri, predicate)
    for text in hostile:
        assert rows(found.ask("p", (0,), (text,))) == {(text, text)}
        assert rows(found.ask("p", (0, 1), (text, text), (text, "a"))) == {(text, text)}
    assert rows(found.ask("p")) == {("secret", "a"), *((text, text) for text in hostile)}


def test_every_code_point_comes_back_as_it_was_stored(
    source: ServedDatabase, tmp_path: Path
) -> None:
    source.run("CREATE TABLE t (x VARCHAR(3000), n INT)")
    points = [*range(1, 0xD800), *range(0xE000, 0x110000, 37)]
    texts = [
        "".join(map(chr, points[start : start + 3_000])) for start in range(0, len(points), 3_000)
    ]
    source.insert("t", [(text, number) for number, text in enumerate(texts)])
    found = served(tmp_path, source.uri, declare("p(x: symbol, n: number)", "SELECT x, n FROM t"))
    assert rows(found.ask("p")) == {(text, number) for number, text in enumerate(texts)}


def test_functions_that_are_normal_there_may_be_used(
    source: ServedDatabase, tmp_path: Path
) -> None:
    source.run(
        "CREATE TABLE t (a VARCHAR(20), d DATE, n INT)",
        "INSERT INTO t VALUES ('x y', '2020-05-17', 3), ('x z', '2021-01-02', 4)",
    )
    if source.server.kind == "postgresql":
        query = """
            SELECT split_part(a, ' ', 2), date_trunc('month', d)::date, extract(year FROM d)::int,
                   count(*) FILTER (WHERE n > 3) OVER () + greatest(n, 0)
            FROM t WHERE a ILIKE 'X%' AND to_char(d, 'YYYY') >= '2020'
        """
        first = [("y", "2020-05-01", 2020, 4), ("z", "2021-01-01", 2021, 5)]
    else:
        query = """
            SELECT substring_index(a, ' ', -1), d, year(d), ifnull(n, 0) + greatest(n, 0) * 0
            FROM t WHERE date_format(d, '%Y-%m') >= '2020-01' AND a REGEXP '^x'
        """
        first = [("y", "2020-05-17", 2020, 3), ("z", "2021-01-02", 2021, 4)]
    signature = "p(a: symbol, d: Date, y: number, n: number)"
    found = served(tmp_path, source.uri, declare(signature, query))
    assert rows(found.ask("p")) == set(first)


@pytest.mark.parametrize(
    ("keys", "left_out"),
    [
        ("PRIMARY KEY (id)", True),
        ("UNIQUE (id)", True),
        ("PRIMARY KEY (id, part)", False),
        ("UNIQUE (id) DEFERRABLE", False),
        ("CHECK (id > 0)", False),
    ],
)
def test_rows_are_left_to_postgresql_where_it_keeps_the_key_apart(
    postgresql: ServedDatabase, tmp_path: Path, keys: str, *, left_out: bool
) -> None:
    # Else two rows of one key, one of them outside of the range, would be no contradiction.
    postgresql.run(
        f"CREATE TABLE t (id int NOT NULL, part int NOT NULL, amount numeric(9, 2), {keys})",
        "INSERT INTO t SELECT n, n % 7, n FROM generate_series(1, 30000) AS n",
        "ANALYZE t",
    )
    (tmp_path / "constat.yaml").write_text(
        f'rules: r.dl\ndatabases: {{s: "{postgresql.uri}"}}\n', encoding="utf-8"
    )
    (tmp_path / "r.dl").write_text(
        """
@[key = id]
.decl t(id: number, part: number, @[null = none] amount: Decimal)
.input t(source = "s", query = "SELECT id, part, amount FROM t")
.decl large(id: number)
large(?id) :- t(?id, _, ?amount), ?amount >= 29990.
""",
        encoding="utf-8",
    )
    ran = run("explain-plan", "large(?id)", "--analyze", "--project", tmp_path)
    assert ran.code == 0, ran
    told = "its source leaves out rows outside of amount >= 29990"
    assert (told in ran.out, "counted 11 rows" in ran.out) == (left_out, True), ran.out
