"""JSON lists, workbooks and Arrow files: read exactly, or refused by name and row."""

from __future__ import annotations

import datetime as dt
import importlib
import io
import json
import random
import re
import zipfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.catalog import SourceFailureError
from constat.catalog.duck_session import DuckSession
from constat.catalog.files import guess_sheets, load_arrow, nested_parts, sheet_rows, spelled
from constat.catalog.files import rows_of as rows_of_json
from constat.diagnostics import ConstatError
from constat.project.files import TableFiles
from tests.catalog.test_files import fails, settle, told
from tests.tiers.building import configured, declare, reasons, rows

if TYPE_CHECKING:
    from tests.tiers.building import Setting

pytestmark = pytest.mark.sampled(2)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[{"x": 1, "y": "a"}]', {("1", "a")}),
        (
            '\ufeff [ {"y": "a", "x": "1"} , {"x": 2.50, "y": {"k": [1]}} ] \n',
            {("1", "a"), ("2.50", '{"k": [1]}')},
        ),
        ('[{"x": "1", "y": "a"}, {"x": "2", "y": null}]', {("1", "a")}),
    ],
)
def test_a_json_list_is_a_table(tmp_path: Path, content: str, expected: set[Any]) -> None:
    assert rows(told(tmp_path, "t.json", content)) == expected


@pytest.mark.parametrize(
    "content",
    [
        "", "[", "[]", "{}", '{"x": 1}', "[1]", '[{"x": 1},]', '[{"x": 1}] x', '[{"x": NaN}]',
        '[{"x": "\\ud800", "y": "a"}]', '[{"x": 1, "x": 2}]', "[" * 100_000, b'[{"x": "\xff"}]',
    ],
)  # fmt: skip
def test_a_damaged_json_list_is_a_failure(tmp_path: Path, content: str | bytes) -> None:
    fails(told(tmp_path, "t.json", content), "t.json", "C0543")


ORDERS = {
    "exported": "2025-10-01",
    "orders": [
        {
            "order": "O-1",
            "customer": {"id": "C1", "address": {"city": "Bonn"}},
            "lines": [{"sku": "007", "price": 1.50}, {"sku": "8", "price": 2, "gift": True}],
            "tags": ["a", "b"],
        },
        {"order": "O-2", "customer": None, "lines": [], "tags": []},
        {"order": "O-3", "lines": [{"sku": "9", "price": None}]},
    ],
}


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_objects_and_lists_within_json_are_columns_and_tables(tmp_path: Path, ending: str) -> None:
    orders: list[object] = [*ORDERS["orders"]]
    text = json.dumps(ORDERS) if ending == "json" else "\n".join(map(json.dumps, orders))
    path = tmp_path / f"t.{ending}"
    path.write_text(text.replace("1.5", "1.50"))
    root = "orders[]" if ending == "json" else "[]"
    name = "orders" if ending == "json" else "rows"
    parts = {name: root, "lines": f"{root}.lines[]", "tags": f"{root}.tags[]"}
    assert nested_parts(path) == parts
    assert list(rows_of_json(path, root)) == [
        {"order": "O-1", "customer.id": "C1", "customer.address.city": "Bonn"},
        {"order": "O-2"},
        {"order": "O-3"},
    ]
    number = f"{name}.order"
    assert list(rows_of_json(path, parts["lines"])) == [
        {number: "O-1", "sku": "007", "price": "1.50"},
        {number: "O-1", "sku": "8", "price": "2", "gift": "true"},
        {number: "O-3", "sku": "9", "price": None},
    ]
    assert [one["value"] for one in rows_of_json(path, parts["tags"])] == ["a", "b"]
    found = sheets(
        tmp_path,
        f"t.{ending}#{parts['lines']}",
        f'SELECT "{number}", sku, price FROM t',
        "p(o: symbol, sku: symbol, price: Decimal)",
    )
    got = {(str(one[0]), str(one[1])) for one in rows(found.ask("p"))}
    assert got == {("O-1", "007"), ("O-1", "8"), ("O-3", "9")}


@pytest.mark.parametrize(
    ("content", "part", "reason"),
    [
        ('{"a": 1}', "a[]", "a is no list"),
        ('{"a": [{"b": 1}]}', "a[].b.c[]", "there is a value where `c` is looked for"),
        ('{"a": [{"b": 1}]}', "a[", "is no path such as"),
        ('{"a": [{"b": 1, "b": 2}]}', "a[]", "is no JSON"),
        ('{"a": [{"b": NaN}]}', "a[]", "is no JSON"),
        ('{"a": [{"b": "\\ud800"}]}', "a[]", "is not UTF-8"),
        ('{"a": ', "a[]", "is no JSON"),
        ('{"a": [{"b": {}}]}', "a[]", "no object that would name columns"),
    ],
)
def test_a_part_of_json_that_is_not_there_is_a_failure(
    tmp_path: Path, content: str, part: str, reason: str
) -> None:
    fails(settle(tmp_path, {"t.json": content}, table=f"t.json#{part}").ask("p"), reason, "C0543")


def test_a_table_in_json_that_is_no_list_is_found_by_the_error(tmp_path: Path) -> None:
    said = told(tmp_path, "t.json", '{"seen": 1, "orders": [{"x": 1, "y": 2}]}')
    fails(said, "write `t.json#orders[]` for the list in it", "C0543")
    (tmp_path / "u.json").write_text('[{"x": 1}, {"x": 2}]')
    assert nested_parts(tmp_path / "u.json") == {}
    (tmp_path / "v.json").write_text("{")
    assert nested_parts(tmp_path / "v.json") == {}


# Workbooks.


def workbook(path: Path, *sheets: tuple[str, list[list[object]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, content in sheets:
        sheet = book.create_sheet(title)
        for row in content:
            sheet.append(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)
    return path


def sheets(folder: Path, named: str, query: str, declared: str) -> Setting:
    text = f'databases: {{sales: {{files: {{t: "{named}"}}}}}}'
    return configured(folder, text, declare(declared, query, parameters={"null": "none"}))


def test_cells_of_a_sheet_are_spelled_as_a_spreadsheet_shows_them(tmp_path: Path) -> None:
    moment = dt.datetime(2025, 1, 31, 10, 30)  # noqa: DTZ001  a spreadsheet knows no zones
    content: list[list[object]] = [
        ["id", "n", "day", "seen", "ok", "text"],
        [1, 0.1 + 0.2, dt.date(2025, 1, 31), moment, True, "00123"],
        [None, None, None, None, None, None],
        [2, 10.5, dt.date(2025, 2, 1), moment, False, "a\nb"],
    ]
    workbook(tmp_path / "b.xlsx", ("First", content), ("Second", [["id"], [7]]))
    declared = "p(id: number, n: Decimal, day: Date, at: Timestamp, ok: Bool, text: symbol)"
    found = sheets(tmp_path, "b.xlsx", "SELECT id, n, day, seen || 'Z', ok, text FROM t", declared)
    assert rows(found.ask("p")) == {
        (1, Decimal("0.3"), "2025-01-31", "2025-01-31T10:30:00.000000Z", "true", "00123"),
        (2, Decimal("10.5"), "2025-02-01", "2025-01-31T10:30:00.000000Z", "false", "a\nb"),
    }
    other = sheets(tmp_path, "b.xlsx#Second", "SELECT id FROM t", "p(id: number)")
    assert rows(other.ask("p")) == {(7,)}


@pytest.mark.parametrize(
    ("content", "named", "reason"),
    [
        ([], "b.xlsx", "no first row"),
        ([["x", None, "y"]], "b.xlsx", "gap between names"),
        ([["x", "X"]], "b.xlsx", "names two columns `X`"),
        ([["x"], ["1", "2"]], "b.xlsx", "row 2, has more cells"),
        ([["x"], ["#N/A"]], "b.xlsx", "row 2, holds the error"),
        ([["x"], [1], ["=A2+1"]], "b.xlsx", "row 3, holds a formula whose value was never stored"),
        ([["x"], [1]], "b.xlsx#Gone", "no sheet of that name"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_a_failure_by_row(
    tmp_path: Path, content: list[list[object]], named: str, reason: str
) -> None:
    workbook(tmp_path / "b.xlsx", ("Only", content))
    fails_one = sheets(tmp_path, named, "SELECT x FROM t", "p(x: symbol)").ask("p")
    assert fails_one.answered == frozenset()
    assert reason in str(fails_one)


SPREAD: list[list[object]] = [
    ["Sales", None, None, None, None, None],
    [None, "id", "n", None, "id", "n"],
    [None, "A", 1, None, "X", 10],
    [None, "B", 2, "note", "Y", 20],
    [None, None, None, None, None, None],
    [None, "Sum", 3, None, None, None],
]


def ranged(folder: Path, said: str, query: str, merged: str = "") -> Setting:
    path = workbook(folder / "b.xlsx", ("First", [["x"]]), ("S", SPREAD))
    if merged:
        book = openpyxl.load_workbook(path)
        book["S"].merge_cells(merged)
        book.save(path)
    text = f"databases: {{sales: {{files: {{t: {{file: 'b.xlsx#S', {said}}}}}}}}}"
    rules = declare("p(id: symbol, n: number)", query, parameters={"null": "none"})
    return configured(folder, text, rules)


@pytest.mark.parametrize(
    ("said", "query", "expected"),
    [
        ("range: 'B2:C4'", "SELECT id, n FROM t", {("A", 1), ("B", 2)}),
        ("range: 'E2:F9'", "SELECT id, n FROM t", {("X", 10), ("Y", 20)}),
        ("range: '$b$2:$c$4'", "SELECT id, n FROM t", {("A", 1), ("B", 2)}),
        ("range: 'B3:C4', header: false", "SELECT B, C FROM t", {("A", 1), ("B", 2)}),
        ("range: 'B1:C4', skip: 1", "SELECT id, n FROM t", {("A", 1), ("B", 2)}),
        ("range: 'B2:C6', footer: [Sum]", "SELECT id, n FROM t", {("A", 1), ("B", 2)}),
        ("range: 'B2:C4', header: true", "SELECT id, n FROM t", {("A", 1), ("B", 2)}),
    ],
)
def test_a_range_of_a_sheet_is_a_table(
    tmp_path: Path, said: str, query: str, expected: set[tuple[str, int]]
) -> None:
    assert rows(ranged(tmp_path, said, query).ask("p")) == expected


@pytest.mark.parametrize(
    ("said", "merged", "reason"),
    [
        ("range: 'B2:D4'", "", "row 4, has more cells than there are names"),
        ("range: 'B2:C6'", "", "totals"),
        ("range: 'B20:C30'", "", "no first row"),
        ("range: 'B2:C4'", "B3:B4", "row 3, lies in the merged cells B3:B4"),
        ("range: 'B2:C4'", "B4:D4", "row 4, lies in the merged cells B4:D4"),
    ],
)
def test_a_range_that_is_no_table_is_a_failure(
    tmp_path: Path, said: str, merged: str, reason: str
) -> None:
    answer = ranged(tmp_path, said, "SELECT id, n FROM t", merged).ask("p")
    assert answer.answered == frozenset()
    assert reason in str(answer)


@pytest.mark.parametrize("merged", ["A1:F1", "D3:D4", "E3:F4", "B6:C6"])
def test_cells_that_are_merged_beside_a_range_do_no_harm(tmp_path: Path, merged: str) -> None:
    found = ranged(tmp_path, "range: 'B2:C4'", "SELECT id, n FROM t", merged)
    assert rows(found.ask("p")) == {("A", 1), ("B", 2)}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("range: 'B4:A2'", "no range"),
        ("range: 'B4'", "no range"),
        ("range: 'A1:ZZZ9'", "no range"),
        ("range: 'A1:B9999999'", "no range"),
        ("header: false", "is said of a `range`"),
    ],
)
def test_a_range_that_cannot_be_meant_is_a_mistake(tmp_path: Path, said: str, reason: str) -> None:
    text = f"databases: {{sales: {{files: {{t: {{file: 'b.xlsx#S', {said}}}}}}}}}"
    with pytest.raises(ConstatError, match=reason):
        configured(tmp_path, text, declare("p(id: symbol)", "SELECT id FROM t"))


def test_a_range_is_said_of_workbooks_only(tmp_path: Path) -> None:
    text = "databases: {sales: {files: {t: {file: b.csv, range: 'A1:B2'}}}}"
    with pytest.raises(ConstatError, match="says nothing of"):
        configured(tmp_path, text, declare("p(id: symbol)", "SELECT id FROM t"))


TITLED: list[list[object]] = [
    ["Open disputes, legal"],
    [],
    [None, "case", "claimed", "seen"],
    [None, "a", 1.5, "x"],
    [None, "b", 2, None],
    [None, None, None, None],
]
DISPUTES = "p(case: symbol, claimed: Decimal)"
CASES = 'SELECT "case", claimed FROM t'


def titled(folder: Path, below: list[list[object]], said: str) -> Setting:
    workbook(folder / "b.xlsx", ("S", [*TITLED, *below]))
    text = f"databases: {{sales: {{files: {{t: {{file: b.xlsx, {said}}}}}}}}}"
    return configured(folder, text, declare(DISPUTES, CASES, parameters={"null": "none"}))


@pytest.mark.parametrize(
    ("below", "said"),
    [
        ([], "skip: 2"),
        ([], "skip: 2, footer: {optional: [Total]}"),
        ([[None, "Total", "=SUM(C4:C5)"]], "skip: 2, footer: [Total]"),
        ([[None, "Total", 3.5], [], ["* as of May"]], "skip: 2, footer: [Total]"),
        ([[None, "Subtotal", 3.5], [None, "Total", "=C7"]], "skip: 2, footer: 2"),
        ([[None, None, "=SUM(C4:C5)"]], "skip: 2, footer: 1"),
    ],
)
def test_titles_and_totals_of_a_sheet_are_no_rows(
    tmp_path: Path, below: list[list[object]], said: str
) -> None:
    found = titled(tmp_path, below, said).ask("p")
    assert rows(found) == {("a", Decimal("1.5")), ("b", Decimal(2))}


@pytest.mark.parametrize(
    ("below", "said", "reason"),
    [
        ([], "footer: 0", "where the names of the columns stand in line 3, write `skip: 2`"),
        ([], "skip: 2, footer: 1", "looks like a row"),
        ([], "skip: 2, footer: [Total]", "so it may be cut off"),
        ([[None, "Total", 3.5], *[[None, "c", 1]] * 60], "skip: 2", "totals among its rows"),
        (
            [[None, "Mittelwert", 1.75]],
            "skip: 2",
            "write `footer: {checked: [Mittelwert]}` beside `file`",
        ),
        ([[None, "Total", 3.5]], "skip: 2", "write `footer: {checked: [Total]}` beside `file`"),
        (
            [[None, "Total", "=SUM(C4:C5)"]],
            "skip: 2",
            "write `footer: {checked: [Total]}` beside `file`",
        ),
        ([[None, "c", "=C5"]], "skip: 2", "row 7, holds a formula whose value was never stored"),
        ([["x", "c", 1]], "skip: 2", "row 7, has a cell left of the names"),
        ([[None, "c", "#N/A"]], "skip: 2", 'row 7, holds the error of a formula; `null: ["#N/A"]`'),
    ],
)
def test_what_is_no_row_of_a_sheet_is_never_taken_for_one(
    tmp_path: Path, below: list[list[object]], said: str, reason: str
) -> None:
    fails(titled(tmp_path, below, said).ask("p"), reason, "C0543")


@pytest.mark.parametrize("size", ["A1", "A1:B2", "A1:XFD1048576"])
def test_rows_outside_what_a_sheet_says_of_its_size_are_read(tmp_path: Path, size: str) -> None:
    path = workbook(tmp_path / "a.xlsx", ("S", [["x", "y"], ["1", "a"], ["2", "b"], ["3", "c"]]))
    with zipfile.ZipFile(path) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content.replace(b'ref="A1:B4"', f'ref="{size}"'.encode()))
    found = sheets(tmp_path, "a.xlsx", "SELECT x, y FROM t", "p(x: symbol, y: symbol)")
    assert rows(found.ask("p")) == {("1", "a"), ("2", "b"), ("3", "c")}


def test_an_error_of_a_formula_may_be_no_value(tmp_path: Path) -> None:
    found = titled(tmp_path, [[None, "c", "#N/A"]], 'skip: 2, null: {claimed: ["#N/A"]}')
    assert {one[0] for one in rows(found.ask("p"))} == {"a", "b", "c"}
    setting = TableFiles("b.xlsx", skip=2, null={"claimed": ("#N/A",)})
    assert [one[0] for one in sheet_rows(tmp_path / "b.xlsx", setting)] == ["case", "a", "b", "c"]
    other = replace(setting, null={"case": ("#N/A",)})
    with pytest.raises(SourceFailureError, match="row 7, holds the error"):
        list(sheet_rows(tmp_path / "b.xlsx", other))


def test_each_sheet_that_is_a_table_is_found_as_it_is_written(tmp_path: Path) -> None:
    total: list[list[object]] = [*TITLED, [None, "Total", "=SUM(C4:C5)"]]
    plain: list[list[object]] = [["id", "n"], [1, 2]]
    notes: list[list[object]] = [["Read me"], ["first"]]
    path = workbook(tmp_path / "b.xlsx", ("A b", total), ("Notes", notes), ("C", plain))
    found, others = guess_sheets(path, "b.xlsx")
    assert {title: one for title, (one, _) in found.items()} == {
        "A b": TableFiles("b.xlsx#A b", skip=2, footer=("Total",), checked=("Total",)),
        "C": TableFiles("b.xlsx#C"),
    }
    assert others == ("Notes",)
    workbook(path, ("Only", plain), ("Notes", notes))
    assert [*guess_sheets(path, "b.xlsx")[0].values()] == [(TableFiles("b.xlsx"), ())]
    workbook(path, ("Notes", notes), ("Only", plain))
    assert [*guess_sheets(path, "b.xlsx")[0]] == ["Only"]


def test_a_workbook_that_is_damaged_or_unpacks_to_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(told(tmp_path, "t.xlsx", b"PK\x03\x04 nothing"), "no workbook", "C0543")
    content = workbook(tmp_path / "b.xlsx", ("S", [["x", "y"], [1, 2]])).read_bytes()
    fails(told(tmp_path, "u.xlsx", content[: len(content) // 2]), "no workbook", "C0543")
    hollow = io.BytesIO()
    with zipfile.ZipFile(hollow, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    fails(told(tmp_path, "v.xlsx", hollow.getvalue()), "no workbook", "C0543")
    monkeypatch.setattr("constat.catalog.files._MOST_BYTES", 1_000)
    fails(told(tmp_path, "w.xlsx", content), "unpacks to more", "C0543")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_spelled_in_plain_digits(number: float) -> None:
    text = spelled(number)
    assert "e" not in text
    assert float(f"{number:.15g}") == float(text)


def test_several_workbooks_are_one_table(tmp_path: Path) -> None:
    for name, value in (("a", 1), ("b", 2)):
        workbook(tmp_path / f"{name}.xlsx", ("S", [["x"], [value]]))
    found = sheets(tmp_path, "*.xlsx#S", "SELECT x FROM t", "p(x: number)")
    assert rows(found.ask("p")) == {(1,), (2,)}
    workbook(tmp_path / "c.xlsx", ("S", [["z"], [3]]))
    found = sheets(tmp_path, "*.xlsx#S", "SELECT x FROM t", "p(x: number)")
    assert "c.xlsx has other columns" in str(found.ask("p"))


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(name: str) -> object:
        raise ImportError(name)

    workbook(tmp_path / "b.xlsx", ("S", [["x"], [1]]))
    (tmp_path / "a.arrow").write_bytes(b"ARROW1")
    session = DuckSession(None)
    with monkeypatch.context() as patch:
        patch.setattr(importlib, "import_module", gone)
        with pytest.raises(SourceFailureError, match=r"constat\[xlsx\]"):
            next(sheet_rows(tmp_path / "b.xlsx", TableFiles("b.xlsx")))
        with pytest.raises(SourceFailureError, match=r"constat\[arrow\]"):
            load_arrow(session, "t", [tmp_path / "a.arrow"], 5)
    session.close()


# Arrow.


def arrow(query: str) -> bytes:
    """Give the stream format of a query's rows."""
    ipc = importlib.import_module("nanoarrow.ipc")
    written = io.BytesIO()
    with duckdb.connect() as connection, ipc.StreamWriter.from_writable(written) as writer:
        writer.write_stream(connection.sql(query))
    return written.getvalue()


ROWS = """
    SELECT 1::BIGINT AS x, 'ä' AS y, DATE '2025-01-31' AS d, 1.50::DECIMAL(9, 2) AS n
    UNION ALL SELECT 2, 'b', NULL, 7
"""


@pytest.mark.parametrize("ending", ["arrow", "arrows", "feather"])
def test_an_arrow_file_keeps_its_types(tmp_path: Path, ending: str) -> None:
    content = arrow(ROWS)
    if ending != "arrows":
        # The file format is such a stream behind eight bytes, with an index after it.
        content = b"ARROW1\0\0" + content + b"\0" * 20 + b"ARROW1"
    (tmp_path / f"t.{ending}").write_bytes(content)
    found = sheets(
        tmp_path, f"t.{ending}", "SELECT x, y, n FROM t", "p(x: number, y: symbol, n: Decimal)"
    )
    assert rows(found.ask("p", (0,), (1,))) == {(1, "ä", Decimal("1.5"))}
    assert rows(found.ask("p")) == {(1, "ä", Decimal("1.5")), (2, "b", Decimal(7))}


def test_arrow_files_of_one_table_have_the_same_types(tmp_path: Path) -> None:
    for name, query in (("a", "SELECT 1 AS x, 2 AS y"), ("b", "SELECT 3 AS x, 4 AS y")):
        (tmp_path / f"{name}.arrows").write_bytes(arrow(query))
    declared = "p(x: number, y: number)"
    found = sheets(tmp_path, "*.arrows", "SELECT x, y FROM t", declared)
    assert rows(found.ask("p")) == {(1, 2), (3, 4)}
    (tmp_path / "c.arrows").write_bytes(arrow("SELECT 'x' AS x, 4 AS y"))
    found = sheets(tmp_path, "*.arrows", "SELECT x, y FROM t", declared)
    assert "c.arrows has other columns or types" in str(found.ask("p"))


@pytest.mark.parametrize("kept", [0.0, 0.02, 0.5, 0.9])
@pytest.mark.parametrize("before", [b"", b"ARROW1\0\0", b"garbage" * 50])
def test_a_damaged_arrow_file_is_a_failure(tmp_path: Path, kept: float, before: bytes) -> None:
    content = arrow(ROWS)
    damaged = before + content[: int(len(content) * kept)]
    fails(told(tmp_path, "t.arrow", damaged), "is no Arrow", "C0543")


def test_an_arrow_file_that_ends_between_its_batches_is_a_failure(tmp_path: Path) -> None:
    whole = arrow(ROWS)
    fails(told(tmp_path, "t.arrows", whole.removesuffix(b"\xff" * 4 + b"\0" * 4)), "", "C0543")
    fails(told(tmp_path, "t.arrow", b"ARROW1\0\0" + whole), "is no Arrow", "C0543")


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_flipped_bytes_of_an_arrow_file_give_rows_or_a_failure(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]]
) -> None:
    content = bytearray(arrow("SELECT 1 AS x, 'a' AS y"))
    for place, byte in flips:
        content[place % len(content)] = byte
    try:
        answer = told(tmp_path_factory.mktemp("flipped"), "t.arrows", bytes(content))
    except ConstatError as problem:
        # The name of a column may have been hit.
        assert "no such column" in str(problem)  # noqa: PT017  an error is one of the outcomes
    else:
        assert answer.portions or reasons(answer)


def test_a_table_may_be_a_sheet_of_a_file_with_settle(tmp_path: Path) -> None:
    content = workbook(tmp_path / "b.xlsx", ("S", [["x", "y"], ["1", "a"]])).read_bytes()
    found = settle(tmp_path, {"data/b.xlsx": content}, table="data/b.xlsx#S")
    assert rows(found.ask("p")) == {("1", "a")}


def test_whatever_is_wrong_in_a_workbook_is_told_and_none_is_swallowed(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["id", "day", "n"], ["a", dt.date(2025, 1, 1), 1.5], ["b", None, 2]):
        book.active.append(row)
    book.save(tmp_path / "whole.xlsx")
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    whole = list(sheet_rows(tmp_path / "whole.xlsx", TableFiles("whole.xlsx")))
    chosen = random.Random(1)
    kinds = set()
    words = re.compile(rb"[A-Za-z0-9.:/]+")
    odd = [b"", b"-1", b"99999999999999", b"x", b"1e999", b"sheet9", b"s", b"d", b"0"]
    for number in range(80):
        name = chosen.choice(sorted(parts))
        content = parts[name]
        for _ in range(chosen.randint(1, 3)):
            found = chosen.choice(list(words.finditer(content)))
            content = content[: found.start()] + chosen.choice(odd) + content[found.end() :]
        path = tmp_path / f"{number}.xlsx"
        with zipfile.ZipFile(path, "w") as archive:
            for part, kept in parts.items():
                archive.writestr(part, content if part == name else kept)
        try:
            rows = list(sheet_rows(path, TableFiles(path.name)))
        except SourceFailureError as problem:
            kinds.add(problem.reason.rpartition("(")[2])
        else:
            # What still reads has the names and the rows of the sheet, if with other values.
            assert len(rows[0]) <= len(whole[0]) + 1
    assert len(kinds) > 2
