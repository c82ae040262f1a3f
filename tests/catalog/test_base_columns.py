"""Which outputs of a query are columns of tables passed on: only their NULLs are one cell's."""

from __future__ import annotations

import pytest

from constat.catalog import guard
from constat.catalog.keyed import COMPUTED, JOINED, MERGED, STRANGE, UNCLEAR, origin

JOIN = "FROM orders o {} JOIN ships s ON s.o = o.id"


def reasons(query: str, columns: int = 1, dialect: str = "sqlite") -> list[str]:
    guarded = guard(query, dialect)
    return [origin(guarded.origins, place) for place in range(columns)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT region FROM orders",
        "SELECT * FROM orders",
        "SELECT o.* FROM orders o, ships s",
        "SELECT (region) AS r FROM orders",
        "SELECT CAST(region AS TEXT) FROM orders",
        "SELECT region || '' FROM orders",
        "SELECT replace(substr(region, 1, length(region) - 2), ',', '') FROM orders",
        "SELECT CASE WHEN code = '1' THEN substr(region, -3) ELSE region || ' ?' END FROM orders",
        "SELECT place->>'$.region' FROM orders",
        "SELECT (place->'$.region')->>'$.code' FROM orders",
        "SELECT region FROM orders WHERE id > 2 ORDER BY id LIMIT 5",
        "SELECT region, row_number() OVER (ORDER BY id) FROM orders",
        "SELECT region FROM (SELECT region FROM orders) q",
        "SELECT r FROM (SELECT region AS r, count(*) OVER () AS n FROM orders) q",
        "WITH q AS (SELECT region FROM orders) SELECT region FROM q",
        "WITH q(r) AS (SELECT region FROM orders) SELECT r FROM q",
        "WITH orders AS (SELECT region FROM orders) SELECT region FROM orders",
        f"SELECT o.region {JOIN.format('')}",
        f"SELECT region {JOIN.format('')}",
        f"SELECT o.region {JOIN.format('LEFT')}",
        f"SELECT s.region {JOIN.format('RIGHT')}",
    ],
)
def test_a_column_of_a_table_is_passed_on(query: str) -> None:
    assert reasons(query) == [""]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT DISTINCT region FROM orders", MERGED),
        ("SELECT region FROM orders GROUP BY region", MERGED),
        ("SELECT region, max(id) FROM orders", MERGED),
        ("SELECT region FROM orders HAVING count(*) > 1", MERGED),
        ("SELECT region FROM orders UNION ALL SELECT region FROM ships", MERGED),
        ("SELECT region FROM orders EXCEPT SELECT region FROM ships", MERGED),
        ("SELECT region FROM (SELECT DISTINCT region FROM orders) q", MERGED),
        ("SELECT * FROM (SELECT region FROM orders GROUP BY region) q", MERGED),
        ("WITH q AS (SELECT DISTINCT region FROM orders) SELECT q.region FROM q", MERGED),
        ("WITH RECURSIVE q AS (SELECT region FROM orders) SELECT region FROM q", MERGED),
        ("SELECT lag(region) OVER (ORDER BY id) FROM orders", COMPUTED),
        ("SELECT region || code FROM orders", COMPUTED),
        ("SELECT replace(region, ',', code) FROM orders", COMPUTED),
        ("SELECT replace(region, ',', NULL) FROM orders", COMPUTED),
        ("SELECT substr(region, id) FROM orders", COMPUTED),
        ("SELECT substr(region, strpos(region, code)) FROM orders", COMPUTED),
        ("SELECT CASE WHEN id = 1 THEN region END FROM orders", COMPUTED),
        ("SELECT CASE WHEN id = 1 THEN region ELSE code END FROM orders", COMPUTED),
        ("SELECT CASE WHEN id = 1 THEN NULL ELSE region END FROM orders", COMPUTED),
        ("SELECT nullif(region, '') FROM orders", COMPUTED),
        ("SELECT CAST(region AS DATE) FROM orders", COMPUTED),
        ("SELECT (SELECT region FROM ships LIMIT 1) FROM orders", COMPUTED),
        ("SELECT r FROM (SELECT lower(region) AS r FROM orders) q", COMPUTED),
        (f"SELECT s.region {JOIN.format('LEFT')}", JOINED),
        (f"SELECT o.region {JOIN.format('RIGHT')}", JOINED),
        (f"SELECT o.region {JOIN.format('FULL')}", JOINED),
        (f"SELECT s.region {JOIN.format('FULL')}", JOINED),
        (f"SELECT s.region {JOIN.format('LEFT')} JOIN lines l ON l.o = o.id", JOINED),
        (f"SELECT o.region {JOIN.format('')} RIGHT JOIN lines l ON l.o = o.id", JOINED),
        (f"SELECT * {JOIN.format('LEFT')}", JOINED),
        (f"SELECT s.* {JOIN.format('LEFT')}", JOINED),
        (f"SELECT region {JOIN.format('LEFT')}", UNCLEAR),
        ("SELECT x.region FROM orders", STRANGE),
        ("SELECT r FROM (SELECT region FROM orders) q(r)", STRANGE),
        ("SELECT o.region FROM a LEFT JOIN (orders o JOIN ships s ON s.o = o.id) ON 1", STRANGE),
    ],
)
def test_what_the_query_makes_is_no_column_of_a_table(query: str, reason: str) -> None:
    assert reasons(query) == [reason]


def test_each_output_is_judged_by_itself() -> None:
    query = f"SELECT o.region, s.day, 1, o.id {JOIN.format('LEFT')}"
    assert reasons(query, 4) == ["", JOINED, COMPUTED, ""]
