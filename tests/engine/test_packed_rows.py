"""Rows that come packed are folded as others are: the same certificate, but for its times."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constat import Session
from constat.check import check_certificate
from constat.engine.relation import Relation
from constat.evaluation import PackedColumn, PackedRows
from constat.proof import groups
from constat.proof.outside import Answers
from constat.tiers import database
from constat.tiers.database import Fetched

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.logic import Row, Value

FEW, NONE = 4, 1 << 40
RULES = """.pragma "constat" "0.1"
.decl sold(id: number, who: symbol, price: {kind}, n: number)
.input sold(source = "s", query = "SELECT id, who, price, n FROM sold", null = "{null}")
.decl who(w: symbol)
.input who(source = "s", query = "SELECT DISTINCT who FROM sold")
.decl found({columns})
{rule}
"""
BODIES = {
    "sum": "sum ?p : { sold(_i, ?w, ?p, _n) }",
    "mean": "mean ?p : { sold(_i, ?w, ?p, _n) }",
    "least": "min ?p : { sold(_i, ?w, ?p, _n) }",
    "where": "sum ?p : { sold(_i, ?w, ?p, ?n), ?n > 1, ?p > 2 }",
    "erring": "sum ?p : { sold(_i, ?w, ?p, ?n), 6 / ?n > 2 }",
    "product": "sum ?p * ?p : { sold(_i, ?w, ?p, _n) }",
    "computed": "sum ?q : { sold(_i, ?w, ?p, _n), ?q = ?p + ?p }",
    "one variable twice": "sum ?p : { sold(?n, ?w, ?p, ?n) }",
    "columns left out": "sum ?p : { sold(_, ?w, ?p, _) }",
    "too large": "sum ?p : { sold(_i, ?w, ?p, _n) }",
}
KINDS: dict[str, Sequence[object]] = {
    "number": (1, 2, 3, -1, -2),
    "Decimal": ("1.5", "2.25", "3", "-0.1", "1000000000000000000.5"),
    "float": (0.1, 0.2, 2.5, -1.0, 1e300),
}


def project(folder: Path, kind: str, body: str, *, null: str = "error", count: int = 40) -> None:
    """Write a project of sales; every other one is of `A`."""
    result = "float" if body.startswith("mean") and kind == "number" else kind
    rule = f"found(?w, ?t) :- who(?w), ?t = {body}."
    columns = f"w: symbol, t: {result}"
    text = RULES.format(kind=kind, rule=rule, columns=columns, null=null)
    (folder / "rules.dl").write_text(text, encoding="utf-8")
    (folder / "constat.yaml").write_text(
        "rules: [rules.dl]\ndatabases: {s: {uri: 'sqlite:///s.sqlite'}}\n", encoding="utf-8"
    )
    values = KINDS[kind]
    rows = [(n * 7 % 41, "AB"[n % 2], values[n % len(values)], n % 3) for n in range(count)]
    with closing(sqlite3.connect(folder / "s.sqlite")) as base, base:
        base.execute("CREATE TABLE sold(id INTEGER, who TEXT, price, n INTEGER)")
        base.executemany("INSERT INTO sold VALUES (?, ?, ?, ?)", rows)


def execute(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "s.sqlite")) as base, base:
        base.execute(statement)


def proved(folder: Path, goal: str, most: int) -> dict[str, object]:
    """Prove with rows packed above so many; give the certificate without its times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_MOST_UNPACKED", most)
        patch.setattr(groups, "MOST_INLINE", FEW)
        with Session(folder, cache=False) as session:
            written = session.prove(goal).certificate
    found: dict[str, object] = json.loads(written)
    del found["digest"], found["record"]
    return found


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which rows are packed, and where packed ones are made objects of again."""
    noted: list[str] = []
    pack = Fetched.pack

    def packing(fetched: Fetched) -> None:
        noted.append("packed")
        pack(fetched)

    monkeypatch.setattr(Fetched, "pack", packing)
    for owner, name in ((Relation, "sure"), (Answers, "rows")):
        monkeypatch.setattr(owner, name, _noting(getattr(owner, name), name, noted))
    return noted


def _noting(made: property, name: str, noted: list[str]) -> property:
    def noting(one: Relation | Answers) -> object:
        if one.packed is not None:
            noted.append(name)
        return made.fget(one) if made.fget else None

    return property(noting)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", BODIES)
def test_packed_rows_give_the_certificate_of_others(tmp_path: Path, body: str, kind: str) -> None:
    project(tmp_path, kind, BODIES[body])
    if body == "too large" and kind == "number":
        execute(tmp_path, f"UPDATE sold SET price = {2**63 - 1}")
    goal = "found(A, ?t)"
    assert proved(tmp_path, goal, FEW) == proved(tmp_path, goal, NONE)


@pytest.mark.parametrize(
    ("kind", "body"),
    [*((kind, body) for kind in KINDS for body in ("sum", "where")), ("number", "product")],
)
def test_plain_sums_leave_their_rows_packed(
    tmp_path: Path, body: str, kind: str, looked: list[str]
) -> None:
    project(tmp_path, kind, BODIES[body], count=200)
    proved(tmp_path, "found(A, ?t)", FEW)
    assert set(looked) == {"packed"}


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO sold SELECT * FROM sold WHERE id = 14",
        "UPDATE sold SET price = NULL WHERE id = 39",
        "UPDATE sold SET price = 'none' WHERE id = 39",
        "DELETE FROM sold WHERE who = 'A' AND id > 3",
        "UPDATE sold SET id = -1 - (id % 2), n = id",
    ],
)
@pytest.mark.parametrize("null", ["error", "unknown", "skip"])
def test_rows_that_cannot_stay_packed_are_looked_at_one_by_one(
    tmp_path: Path, change: str, null: str
) -> None:
    project(tmp_path, "number", BODIES["sum"], null=null)
    execute(tmp_path, change)
    for goal in ("found(A, ?t)", "found(?w, ?t)"):
        assert proved(tmp_path, goal, FEW) == proved(tmp_path, goal, NONE)


@pytest.mark.parametrize("body", ["sum", "columns left out"])
def test_whoever_reads_the_same_rows_otherwise_finds_them(tmp_path: Path, body: str) -> None:
    project(tmp_path, "number", BODIES[body], count=200)
    with (tmp_path / "rules.dl").open("a", encoding="utf-8") as rules:
        rules.write(".decl both(w: symbol, t: number, i: number)\n")
        rules.write("both(?w, ?t, 14) :- found(?w, ?t), !sold(?t, ?w, 3, 7).\n")
    goal = "both(A, ?t, 14)"
    packed = proved(tmp_path, goal, FEW)
    assert packed == proved(tmp_path, goal, NONE)
    assert packed["nodes"]


@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize("null", ["error", "unknown"])
def test_a_row_that_comes_again_after_thousands_is_noticed(tmp_path: Path, null: str) -> None:
    project(tmp_path, "number", BODIES["sum"], null=null, count=9_000)
    execute(tmp_path, "UPDATE sold SET id = rowid")
    alone = proved(tmp_path, "found(A, ?t)", FEW)
    execute(tmp_path, "INSERT INTO sold SELECT * FROM sold WHERE id = 3")
    packed = proved(tmp_path, "found(A, ?t)", FEW)
    assert packed == proved(tmp_path, "found(A, ?t)", NONE)
    assert packed != alone


def test_a_certificate_of_packed_rows_is_accepted(tmp_path: Path) -> None:
    project(tmp_path, "Decimal", BODIES["where"], count=3_000)
    execute(tmp_path, "UPDATE sold SET id = rowid, n = 2, price = '1' || (rowid % 7) || '.25'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_MOST_UNPACKED", FEW)
        with Session(tmp_path, cache=False) as session:
            report = check_certificate(session.prove("found(A, ?t)").certificate)
    assert (report.accepted, report.verdict, report.level) == (True, "PROVED", "C1")


VALUES = st.one_of(
    st.lists(st.integers(-(2**63), 2**64)),
    st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    st.lists(st.floats(allow_nan=False)),
    st.lists(st.text(max_size=2)),
    st.lists(st.one_of(st.integers(0, 3), st.text(max_size=1), st.booleans())),
)


@given(st.lists(VALUES, max_size=3))
@example([[1, 2**63], [3]])
@example([["a"], [1], ["b"]])
@example([[Decimal("1.50"), Decimal(10**30)], [Decimal("-0.01")]])
@example([[0.0, -0.0], [1.5]])
def test_a_packed_column_holds_what_was_given(batches: list[list[Value]]) -> None:
    column, plain = PackedColumn(), list[object]()
    for batch in batches:
        column.extend(batch)
        plain += batch
    # A Decimal keeps its number; how many zeros stand behind it nobody writes.
    assert [(type(one), one) for one in column] == [(type(one), one) for one in plain]
    assert [column[place] for place in range(len(column))] == plain
    assert column[1:3] == plain[1:3]


def test_packed_rows_are_found_by_their_keys_and_chosen() -> None:
    rows: list[Row] = [(n, "ab"[n % 2], Decimal(n) / 4) for n in range(9_000)]
    packed = PackedRows([PackedColumn() for _ in range(3)])
    packed.extend(rows[:5])
    packed.extend(rows[5:])
    assert list(packed) == rows
    assert packed[7] == rows[7]
    assert packed[2:4] == rows[2:4]
    assert rows[8_999] in packed
    assert (1, "a", Decimal(1)) not in packed
    assert list(packed.having((1,), {("a",)})) == rows[::2]
    assert list(packed.having((1, 0), {("a", 4), ("b", 4)})) == [rows[4]]
    assert packed.having((), {()}) is packed
    assert packed.chosen(bytearray(b"\1" * 9_000)) is packed
    assert list(packed.project((2, 0)))[3] == (Decimal("0.75"), 3)
    assert len(packed.having((1,), {("c",)})) == 0
