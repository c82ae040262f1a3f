"""Keys that are sent to DuckDB find exactly what filtering here finds (semantics 24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.logic import OPEN
from tests.tiers.building import configured, declare, open_rows, rows

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from constat.logic import Row

TYPES = (
    *("TINYINT", "INTEGER", "BIGINT", "UBIGINT", "HUGEINT", "DOUBLE", "FLOAT", "BOOLEAN"),
    *("DECIMAL(4, 1)", "DECIMAL(18, 0)", "DECIMAL(38, 19)", "DECIMAL(38, 25)", "BLOB", "UUID"),
    *("VARCHAR", "VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT", "ENUM ('a', 'A', '12')"),
)
TEXTS = ("1", "12", "012", "12.0", "12.5", "-3", "a", "A", "á", "a ", "", "true", "💥", "1e1")
WIDE = (str(2**53 + 1), str(2**63 - 1), "9.3e18", "ab0d1f9a-0000-4000-8000-000000000001")
CELLS = st.one_of(st.none(), st.sampled_from(TEXTS), st.sampled_from(WIDE))
SELECTS = (
    "SELECT a, b FROM t",
    "SELECT t.a, u.b FROM t AS u JOIN t ON t.rowid = u.rowid",
    "SELECT DISTINCT a, b FROM t",
    "SELECT a, b FROM t UNION ALL SELECT a, b FROM t",
    "SELECT a, max(b) FROM t GROUP BY ALL",
    "SELECT CAST(a AS VARCHAR), b FROM t",
    "SELECT a, b FROM v",
    "WITH w AS (SELECT a, b FROM t) SELECT w.a, w.b FROM w",
)
NUMBERS: list[Any] = [0, 1, 10, 12, 2**53, 2**53 + 1, 2**63 - 1]


@settings(max_examples=settings().max_examples // 2)
@given(
    cells=st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=12),
    query=st.sampled_from(SELECTS),
    types=st.tuples(st.sampled_from(TYPES), st.sampled_from(TYPES)),
    columns=st.sampled_from([(0,), (1,), (0, 1)]),
    kinds=st.tuples(*[st.sampled_from(["number", "unsigned", "symbol"])] * 2),
    few=st.booleans(),
)
def test_pushing_keys_finds_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory,
    cells: list[tuple[str | None, str | None]],
    query: str,
    types: tuple[str, str],
    columns: tuple[int, ...],
    kinds: tuple[str, str],
    *,
    few: bool,
) -> None:
    folder = tmp_path_factory.mktemp("shop")
    write(folder, types, cells)
    policy = {"distinct": "true"}
    signature = f"p(a: {kinds[0]}, b: {kinds[1]})"
    found = configured(
        folder,
        'databases: {sales: "duckdb:///shop.duckdb"}',
        declare(signature, query, parameters=policy),
    )
    texts = [text for text in (*TEXTS, *WIDE) if text]
    pools = [texts if kinds[column] == "symbol" else NUMBERS for column in columns]
    keys: list[Row] = [(value,) for value in pools[0]]
    if len(columns) > 1:
        keys = [(one, other) for one in pools[0] for other in pools[1]]
    keys = keys[:1] if few else keys
    try:
        asked = found.ask("p", columns, *keys)
        whole = found.ask("p")
    finally:
        found.tiers.close()
    assert asked.answered == set(keys), asked.openings
    assert rows(asked) == {row for row in rows(whole) if pick(row, columns) in set(keys)}
    # A cell that is NULL or no value of its column may equal each key.
    for opening in whole.openings:
        may_be = any(
            all(opening.row[c] in {value, OPEN} for c, value in zip(columns, key, strict=True))
            for key in keys
        )
        assert not may_be or opening.row in open_rows(asked)


def pick(row: Row, columns: tuple[int, ...]) -> Row:
    return tuple(row[column] for column in columns)


def write(folder: Path, types: tuple[str, str], cells: list[tuple[str | None, str | None]]) -> None:
    """Store what of the cells the types can hold."""
    plain = [one.partition(" COLLATE")[0] for one in types]
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t (a {types[0]}, b {types[1]})")
        connection.execute("CREATE VIEW v AS SELECT a, b FROM t")
        connection.executemany(
            f"INSERT INTO t SELECT TRY_CAST(? AS {plain[0]}), TRY_CAST(? AS {plain[1]})", cells
        )
