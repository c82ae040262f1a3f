"""What every kind of source gives, does not give and leaves as it was: one case for all drivers."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.logic import OPEN, has_null_cells
from tests.tiers.building import declare, open_rows, reasons, rows
from tests.tiers.kinds import KINDS, TYPED, WRITERS, Table, source

if TYPE_CHECKING:
    from pathlib import Path

    from constat.logic import Predicate

pytestmark = pytest.mark.sampled(3)

ORDERS = "SELECT id, c, amount FROM orders"
PREDICATE = "orders(id: number, c: symbol, amount: Decimal)"
COLUMNS = {"id": "integer", "c": "text", "amount": "decimal"}
C1, C2 = ("C001",), ("C002",)
FILLED = {
    "orders": Table(
        COLUMNS,
        [(1, "C001", Decimal("10.5")), (2, "C001", Decimal("10.5")), (3, "C002", Decimal(7))],
    )
}
HOLES = {
    "orders": Table(
        COLUMNS,
        [
            (1, "C001", Decimal(5)),
            (2, "C001", None),
            (3, None, Decimal(9)),
            (4, "C002", Decimal(7)),
        ],
    )
}
every = pytest.mark.parametrize("kind", KINDS)


@every
def test_the_keys_of_a_demand_are_answered_exactly(tmp_path: Path, kind: str) -> None:
    found = source(tmp_path, kind, FILLED, declare(PREDICATE, ORDERS))
    answer = found.ask("orders", (1,), C1, C2, ("C003",))
    assert rows(answer) == {tuple(row) for row in FILLED["orders"].rows}
    assert answer.answered == {C1, C2, ("C003",)}
    assert rows(found.ask("orders", (0,), (3,))) == {(3, "C002", Decimal(7))}
    assert rows(found.ask("orders", (0, 1), (3, "C001"))) == set()
    assert "WHERE" in found.queries[0].query


@every
def test_nothing_of_a_key_is_part_of_a_query(tmp_path: Path, kind: str) -> None:
    hostile = ["' OR 1=1 --", "'); DROP TABLE t; --", '"', "\\", "%", "?", "$1", "\n", "💥", "a'b"]
    table = Table({"x": "text", "y": "text"}, [("secret", "a"), *((one, one) for one in hostile)])
    found = source(
        tmp_path, kind, {"t": table}, declare("p(x: symbol, y: symbol)", "SELECT x, y FROM t")
    )
    for text in hostile:
        assert rows(found.ask("p", (0,), (text,))) == {(text, text)}
        assert rows(found.ask("p", (0, 1), (text, text), (text, "a"))) == {(text, text)}
    assert not [one for one in found.queries if "DROP" in one.query or "1=1" in one.query]


@every
def test_a_state_has_a_name_that_changes_with_it(tmp_path: Path, kind: str) -> None:
    found = source(tmp_path, kind, FILLED, declare(PREDICATE, ORDERS))
    names = []
    for tables in (FILLED, FILLED, HOLES):
        if tables is not FILLED:
            WRITERS[kind](tmp_path, tables)
        answer = found.ask("orders", (1,), C2)
        names.append(answer.authorities[0].snapshot)
        found.tiers.release()
    assert names[0] == names[1] != names[2]
    assert None not in names
    assert rows(found.ask("orders", (1,), C2)) == {(4, "C002", Decimal(7))}


@every
def test_a_source_that_is_replaced_is_read_anew(tmp_path: Path, kind: str) -> None:
    found = source(tmp_path, kind, FILLED, declare(PREDICATE, ORDERS))
    assert rows(found.ask("orders", (1,), C2)) == {(3, "C002", Decimal(7))}
    found.tiers.release()
    other = tmp_path / "other"
    other.mkdir()
    WRITERS[kind](other, HOLES)
    for data in other.iterdir():
        data.rename(tmp_path / data.name)
    assert rows(found.ask("orders", (1,), C2)) == {(4, "C002", Decimal(7))}


# Null policies (semantics 26).


def with_nulls(folder: Path, kind: str, predicate: Predicate) -> tuple[set[object], str]:
    found = source(folder, kind, HOLES, predicate)
    answer = found.ask("orders", (1,), C1)
    assert answer.answered == {C1}
    known = {row for row in rows(answer) if not has_null_cells(row)}
    assert known == {(1, "C001", Decimal(5))}
    # The whole relation says the same of this key as a demand for it does.
    whole = found.ask("orders")
    assert {row for row in open_rows(whole) if row[1] in {"C001", OPEN}} == open_rows(answer)
    return set(open_rows(answer)), reasons(answer)


@every
def test_null_is_an_error_unless_something_else_is_said(tmp_path: Path, kind: str) -> None:
    possible, reason = with_nulls(tmp_path, kind, declare(PREDICATE, ORDERS))
    assert possible == {(2, "C001", OPEN), (3, OPEN, Decimal(9))}
    assert "C0524" in reason


@every
@pytest.mark.parametrize("policy", ["skip", "none", "maybe", "unknown"])
def test_null_means_what_the_declaration_says(tmp_path: Path, kind: str, policy: str) -> None:
    predicate = declare(PREDICATE, ORDERS, parameters={"null": policy})
    possible, reason = with_nulls(tmp_path, kind, predicate)
    assert possible == set()
    assert not reason
    folder = tmp_path / "again"
    folder.mkdir()
    answer = source(folder, kind, HOLES, predicate).ask("orders", (1,), C1)
    held = {row[0] for row in rows(answer) if has_null_cells(row)}
    # What has no value is no row of that key; what may have one may be.
    assert held == {"skip": set(), "none": {2}}.get(policy, {2, 3})


@every
def test_empty_text_is_no_null(tmp_path: Path, kind: str) -> None:
    table = Table({"x": "text", "y": "text"}, [("", "NA"), ("null", ""), ("N/A", "NULL")])
    found = source(
        tmp_path, kind, {"t": table}, declare("p(x: symbol, y: symbol)", "SELECT x, y FROM t")
    )
    assert rows(found.ask("p")) == {("", "NA"), ("null", ""), ("N/A", "NULL")}


# Equal rows (semantics 22), and cells that are no values.


@every
def test_equal_rows_are_an_error_that_names_query_and_count(tmp_path: Path, kind: str) -> None:
    predicate = declare("paid(c: symbol, amount: Decimal)", "SELECT c, amount FROM orders")
    found = source(tmp_path, kind, FILLED, predicate)
    answer = found.ask("paid", (0,), C1, C2)
    assert answer.answered == {C2}
    assert "query of paid gave 1 of 3 rows more than once" in reasons(answer)
    assert found.ask("paid").answered == frozenset()


@every
def test_a_cell_that_is_no_value_opens_its_row_only(tmp_path: Path, kind: str) -> None:
    predicate = declare("p(id: number, c: number)", "SELECT id, c FROM t")
    table = Table({"id": "integer", "c": "text"}, [(1, "12"), (2, "ten"), (3, "9" * 30)])
    answer = source(tmp_path, kind, {"t": table}, predicate).ask("p")
    assert rows(answer) == {(1, 12)}
    assert open_rows(answer) == {(2, OPEN), (3, OPEN)}
    assert "column c (declared number) is not an integer" in reasons(answer)
    assert "ten [" not in reasons(answer)


# Mistakes of a query: one clear error, at first use.


@every
@pytest.mark.parametrize(
    ("query", "code", "fix"),
    [
        ("SELECT id, c, amount FROM ordes", "C0517", "orders"),
        ("SELECT id, c, amont FROM orders", "C0515", "amount"),
        ("SELECT id, o.c, o.amnt FROM orders o", "C0515", ""),
        ("SELECT id, c FROM orders", "C0518", "position"),
        ("SELECT *, 1 FROM orders", "C0518", "position"),
        ("SELECT id c amount orders", "C0515", ""),
        ("SELECT id, c, nonsense(amount) FROM orders", "C0516", ""),
        ("DELETE FROM orders", "C0516", ""),
    ],
)
def test_a_wrong_query_is_an_error_of_the_rules(
    tmp_path: Path, kind: str, query: str, code: str, fix: str
) -> None:
    found = source(tmp_path, kind, FILLED, declare(PREDICATE, query))
    for _ in range(2):
        with pytest.raises(ConstatError, match=code) as caught:
            found.ask("orders", (1,), C1)
        assert fix in caught.value.diagnostics[0].help
        assert "`orders`" in str(caught.value)
        assert str(tmp_path) not in str(caught.value)


# Bounds and failures: unknown with a reason, never "no rows".

NUMBERS = {"n": Table({"i": "integer"}, [(number,) for number in range(3_000)])}
SLOW = """
    SELECT a.i FROM n a, n b, n c
    WHERE CAST(a.i AS TEXT) || CAST(b.i AS TEXT) || CAST(c.i AS TEXT) = 'x'
"""


@every
def test_a_query_that_takes_too_long_is_stopped(tmp_path: Path, kind: str) -> None:
    predicate = declare("p(i: number)", SLOW, distinct="true")
    found = source(tmp_path, kind, NUMBERS, predicate, extra=", seconds: 0.5")
    answer = found.ask("p")
    assert answer.answered == frozenset()
    assert "did not finish within 0.5 s" in reasons(answer)
    # The source still answers.
    found.tiers.release()


@every
def test_too_many_rows_are_partial(tmp_path: Path, kind: str) -> None:
    predicate = declare("p(i: number)", "SELECT i FROM n")
    found = source(tmp_path, kind, NUMBERS, predicate, extra=", rows: 10")
    answer = found.ask("p")
    assert answer.answered == frozenset()
    assert len(rows(answer)) == 10
    assert "more than 10 rows" in reasons(answer)
    # What was stopped is asked again in the next evaluation, and not remembered.
    found.ask("p")
    assert len(found.queries) == 1
    found.tiers.release()
    found.ask("p")
    assert len(found.queries) == 2


@every
def test_a_query_is_cancelled_from_another_thread(tmp_path: Path, kind: str) -> None:
    from constat.catalog import ReadBounds, SourceFailureError, guard, open_connection
    from constat.project import load_project

    found = source(tmp_path, kind, NUMBERS, declare("p(i: number)", SLOW))
    project = load_project(found.folder)
    connection = open_connection(project.databases["sales"], project.folder, 5)
    connection.begin()
    guarded = guard(SLOW, connection.dialect)
    connection.cancel()  # nothing runs yet
    connection.columns(guarded.text)
    question = connection.whole(guarded, 1)
    over = threading.Event()

    def cancel() -> None:
        while not over.wait(0.1):
            connection.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(SourceFailureError, match="it was cancelled"):
            list(connection.read(question, ReadBounds(120, 10)))
    finally:
        over.set()
        thread.join()
        connection.close()


@every
def test_a_source_that_goes_away_is_unknown_and_answers_later(tmp_path: Path, kind: str) -> None:
    found = source(tmp_path, kind, FILLED, declare(PREDICATE, ORDERS))
    (data,) = [one for one in tmp_path.iterdir() if one.stem in {"shop", "orders"}]
    content = data.read_bytes()
    data.unlink()
    answer = found.ask("orders", (1,), C1)
    assert answer.answered == frozenset()
    assert open_rows(answer) == {(OPEN, "C001", OPEN)}
    assert f"database sales: there is no file {data.name}" in reasons(answer)
    assert str(tmp_path) not in reasons(answer)
    found.tiers.release()
    data.write_bytes(content)
    assert len(rows(found.ask("orders", (1,), C1))) == 2


@every
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00hello" * 900, b"hello"])
def test_a_file_of_another_kind_is_unknown(tmp_path: Path, kind: str, content: bytes) -> None:
    found = source(tmp_path, kind, FILLED, declare(PREDICATE, ORDERS))
    (data,) = [one for one in tmp_path.iterdir() if one.stem in {"shop", "orders"}]
    data.write_bytes(content)
    if (kind, content) in {("sqlite", b""), ("csv", b"hello")}:
        # It can be read, and has no such table or column: that is for people to see.
        with pytest.raises(ConstatError, match=r"C051[57]"):
            found.ask("orders", (1,), C1)
        return
    answer = found.ask("orders", (1,), C1)
    assert answer.answered == frozenset()
    assert open_rows(answer) == {(OPEN, "C001", OPEN)}
    assert str(tmp_path) not in reasons(answer)
    assert "hello" not in reasons(answer)


@every
def test_nothing_is_ever_written(tmp_path: Path, kind: str) -> None:
    found = source(tmp_path, kind, FILLED, declare(PREDICATE, ORDERS))
    before = {one: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()}
    found.ask("orders", (1,), C1)
    found.ask("orders")
    found.tiers.release()
    found.ask("orders", (1,), C2)
    found.tiers.close()
    assert {one: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()} == before


@every
def test_a_session_may_move_to_another_thread(tmp_path: Path, kind: str) -> None:
    found = source(tmp_path, kind, FILLED, declare(PREDICATE, ORDERS))
    found.ask("orders", (1,), C1)
    answers: list[int] = []
    thread = threading.Thread(
        target=lambda: answers.append(len(rows(found.ask("orders", (1,), C2))))
    )
    thread.start()
    thread.join()
    assert answers == [1]


@pytest.mark.parametrize("kind", TYPED)
def test_text_without_case_is_filtered_exactly(tmp_path: Path, kind: str) -> None:
    table = Table({"x": "text", "y": "integer"}, [("c001", 1), ("C001", 2), ("C001 ", 3)])
    query = "SELECT x COLLATE NOCASE, y FROM t"
    found = source(tmp_path, kind, {"t": table}, declare("p(x: symbol, y: number)", query))
    answer = found.ask("p", (0,), ("C001",))
    assert rows(answer) == {("C001", 2)}
    # The evidence speaks of all that the source gave.
    assert answer.portions[0].evidence.row_count in {1, 2}


@every
def test_ten_thousand_keys_take_a_handful_of_queries(tmp_path: Path, kind: str) -> None:
    listed = [(f"C{number}", number) for number in range(1, 12_001)]
    table = Table({"a": "text", "b": "integer"}, listed)
    found = source(
        tmp_path, kind, {"t": table}, declare("p(a: symbol, b: number)", "SELECT a, b FROM t")
    )
    keys = [(f"C{number}",) for number in range(1, 10_001)]
    answer = found.ask("p", (0,), *keys)
    assert len(rows(answer)) == 10_000
    assert answer.answered == set(keys)
    assert len(found.queries) <= 4
