"""Sources that DuckDB reads itself: whole relations without Python values, and nothing lost."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat import Session
from constat.catalog import Spelled, read_cell
from constat.catalog.connection import Single
from constat.catalog.duck_queries import DuckColumn, spelling
from constat.evaluation import Demand
from constat.logic import Kind
from constat.session.rows import StoredRows
from tests.forward.called import held

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from constat.evaluation import Readable
    from constat.session import Answers
    from constat.tiers import Chain

pytestmark = pytest.mark.sampled(2)

COLUMNS = (
    "s: symbol, n: number, u: unsigned, f: float, d: Decimal, day: Date, at: Timestamp, ok: Bool"
)
ROWS = """
    SELECT * FROM (VALUES
        ('a', 1, 2::UBIGINT, 0.5::DOUBLE, 10.50::DECIMAL(10, 2), DATE '2025-01-31',
         TIMESTAMP '2025-01-31 10:00:00.000001', true),
        ('ü "x", y', -9223372036854775808, 18446744073709551615, -0.0, 0.00, DATE '0001-01-01',
         TIMESTAMP '9999-12-31 23:59:59.999999', false),
        ('', 9223372036854775807, 0, 1e300, -99999999.99, DATE '9999-12-31',
         TIMESTAMP '2024-02-29 00:00:00', true)
    ) AS t(s, n, u, f, d, day, "at", ok)
"""


def project(folder: Path, *, rows: str = ROWS, columns: str = COLUMNS, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    with duckdb.connect(str(folder / "d.duckdb")) as connection:
        connection.execute(f"CREATE TABLE thing AS {rows}")
        connection.execute(f"COPY thing TO '{folder}/thing.parquet'")
        connection.execute(f"COPY thing TO '{folder}/thing.csv'")
    (folder / "constat.yaml").write_text(
        "project: in place\nrules: [rules.dl]\ndatabases:\n"
        "  duck:\n    uri: duckdb:///d.duckdb\n"
        "  parquet:\n    type: files\n    files: {thing: thing.parquet}\n"
        "  csv:\n    type: files\n    files: {thing: thing.csv}\n",
        encoding="utf-8",
    )
    inputs = "".join(
        f".decl {name}({columns})\n"
        f'.input {name}(source = "{name}", query = "SELECT * FROM thing"{more})\n'
        for name in ("duck", "parquet", "csv")
    )
    (folder / "rules.dl").write_text(
        f'.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n{inputs}', encoding="utf-8"
    )
    return folder


def chain(session: Session, name: str) -> Chain:
    return session.externals[name]  # type: ignore[return-value]  # what a project's predicates are


def readable(session: Session, name: str) -> Readable | None:
    declared = session.program.program.predicates[name]
    return chain(session, name).as_relation(Demand(declared, (), ((),)), 1_000_000)


def both(session: Session, name: str) -> tuple[Answers, Answers]:
    arity = session.program.program.predicates[name].arity
    query = f"{name}({', '.join(f'?v{place}' for place in range(arity))})"
    return session.query(query, engine="forward"), session.query(query, engine="reference")


@pytest.mark.parametrize("name", ["duck", "parquet"])
def test_typed_rows_are_handed_over_as_they_would_be_read(tmp_path: Path, name: str) -> None:
    with Session(project(tmp_path / "p")) as session:
        found = readable(session, name)
        assert found is not None
        assert found.rows == 3
        assert found.evidence.source == name
        assert found.evidence.snapshot
        forward, reference = both(session, name)
        assert [row.values for row in forward] == [row.values for row in reference]
        assert len(forward) == 3
        assert isinstance(forward.sure, StoredRows)


def test_texts_of_a_csv_file_are_the_same_either_way(tmp_path: Path) -> None:
    with Session(project(tmp_path / "p")) as session:
        forward, reference = both(session, "csv")
        assert [row.values for row in forward] == [row.values for row in reference]
        assert len(forward) == 3


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("n: number", "SELECT NULL::INTEGER AS n"),
        ("n: number", "SELECT 'x' AS n"),
        ("n: number", "SELECT unnest([1, 1])"),
        ("n: unsigned", "SELECT -1"),
        ("s: symbol", "SELECT 5"),
        ("s: symbol", "SELECT 'a' || chr(0)"),
        ("f: float", "SELECT 'inf'::DOUBLE"),
        ("f: float", "SELECT 9007199254740993::BIGINT"),
        ("d: Date", "SELECT DATE 'infinity'"),
        ("d: Date", "SELECT DATE '10000-01-01'"),
        ("d: Date", "SELECT '2025-02-30'"),
        ("t: Timestamp", "SELECT TIMESTAMP '0044-03-15 (BC) 10:00:00'"),
        ("b: Bool", "SELECT 2"),
        ("n: number", "SELECT 9223372036854775808::HUGEINT"),
    ],
)
def test_what_has_no_canonical_form_is_left_to_the_tier_and_told_alike(
    tmp_path: Path, columns: str, rows: str
) -> None:
    with Session(project(tmp_path / "p", rows=rows, columns=columns)) as session:
        forward, reference = both(session, "duck")
        assert [row.values for row in forward] == [row.values for row in reference]
        assert (forward.settled, forward.reasons) == (reference.settled, reference.reasons)
        assert forward.exit_code == 4


@pytest.mark.parametrize("name", ["duck", "parquet", "csv"])
def test_null_is_skipped_where_that_is_said(tmp_path: Path, name: str) -> None:
    rows = "SELECT * FROM (VALUES ('a', 1), ('b', NULL), (NULL, 3)) AS t(s, n)"
    folder = project(
        tmp_path / "p", rows=rows, columns="s: symbol, n: number", more=', null = "skip"'
    )
    with Session(folder) as session:
        forward, reference = both(session, name)
        assert [row.values for row in forward] == [row.values for row in reference] == [("a", 1)]


@pytest.mark.parametrize("name", ["duck", "parquet", "csv"])
def test_equal_rows_merge_where_that_is_said(tmp_path: Path, name: str) -> None:
    folder = project(
        tmp_path / "p",
        rows="SELECT unnest([1, 2, 1])",
        columns="n: number",
        more=', distinct = "true"',
    )
    with Session(folder) as session:
        forward, reference = both(session, name)
        assert [row.values for row in forward] == [row.values for row in reference] == [(1,), (2,)]
        assert forward.exit_code == 0


def test_stated_facts_are_never_left_out(tmp_path: Path) -> None:
    folder = project(tmp_path / "p", rows="SELECT 1", columns="n: number")
    with Session(folder) as session:
        assert readable(session, "duck") is not None
        session.facts.add("duck(7)", author="alice")
        assert readable(session, "duck") is None
        forward, reference = both(session, "duck")
        assert [(row.values, held(row)) for row in forward] == [
            (row.values, row.verdict) for row in reference
        ]
        assert len(forward) == 2


def test_a_key_with_two_values_is_a_conflict_either_way(tmp_path: Path) -> None:
    rows = "SELECT * FROM (VALUES ('a', 1), ('a', 2), ('b', 3)) AS t(s, n)"
    folder = project(tmp_path / "p", rows=rows, columns="s: symbol, n: number")
    text = (folder / "rules.dl").read_text(encoding="utf-8")
    text = text.replace(".decl duck", '@[key = "s"]\n.decl duck')
    (folder / "rules.dl").write_text(text, encoding="utf-8")
    with Session(folder) as session:
        assert readable(session, "duck") is None
        forward, reference = both(session, "duck")
        assert [(row.values, held(row)) for row in forward] == [
            (row.values, row.verdict) for row in reference
        ]
        assert forward.exit_code == 4


def test_more_rows_than_are_allowed_are_not_handed_over(tmp_path: Path) -> None:
    with Session(
        project(tmp_path / "p", rows="SELECT unnest(range(10))", columns="n: number")
    ) as session:
        declared = session.program.program.predicates["duck"]
        demand = Demand(declared, (), ((),))
        assert chain(session, "duck").as_relation(demand, 9) is None
        assert chain(session, "duck").as_relation(demand, 10) is not None
        assert chain(session, "duck").estimate() == 10


TYPES: dict[str, Callable[[Any], object]] = {
    "TINYINT": int,
    "BIGINT": int,
    "UBIGINT": int,
    "HUGEINT": int,
    "DOUBLE": float,
    "FLOAT": Single,
    "DECIMAL(18,4)": lambda cell: cell,
    "DECIMAL(38,20)": lambda cell: cell,
    "VARCHAR": lambda cell: cell,
    "DATE": lambda cell: Spelled(str(cell)),
    "TIMESTAMP": lambda cell: Spelled(str(cell)),
    "BOOLEAN": lambda cell: cell,
}
VALUES = st.one_of(
    st.integers(-(2**63), 2**64).map(str),
    st.integers(-200, 200).map(str),
    st.floats(allow_nan=False).map(repr),
    st.decimals(-1000, 1000, places=4).map(str),
    st.dates().map(str),
    st.datetimes().map(str),
    st.sampled_from(
        ["true", "false", "0", "1", "007", "-0", "-0.0", "1e5", "+5", " 5", "", "x", "Infinity"]
    ),
    st.text(max_size=5),
)


@settings(max_examples=max(1, settings().max_examples // 2))
@given(VALUES, st.sampled_from(sorted(TYPES)), st.sampled_from(list(Kind)))
def test_a_spelling_is_what_reading_the_cell_gives(text: str, stored: str, kind: Kind) -> None:
    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:
        text = text.replace("\0", "")
        cell = connection.execute(f"SELECT TRY_CAST(? AS {stored})", [text]).fetchone()
        assert cell is not None
        column = connection.execute(f"SELECT CAST(NULL AS {stored}) AS c0").description[0]
        found = spelling(DuckColumn("c0", column[1].id, str(column[1])), kind, 0)
        if cell[0] is None or found is None:
            return
        given = f"(SELECT CAST(? AS {stored}) AS c0)"
        told = connection.execute(
            f"SELECT {found.value}, {found.wrong} FROM {given}", [text]
        ).fetchone()
        spelled = connection.execute(f"SELECT CAST(c0 AS VARCHAR) FROM {given}", [text]).fetchone()
    assert told is not None
    assert spelled is not None
    raw = spelled[0] if stored in {"DATE", "TIMESTAMP"} else cell[0]
    try:
        expected = read_cell(TYPES[stored](raw), kind)  # type: ignore[arg-type]  # a cell
    except ValueError:
        assert told[1], "what has no value is left to Python"
        return
    if not told[1]:
        value = Decimal(told[0]).normalize() if kind is Kind.DECIMAL else told[0]
        assert value == expected
        assert kind is Kind.DECIMAL or type(value) is type(expected)
        assert str(value) == str(expected) or kind is Kind.DECIMAL
