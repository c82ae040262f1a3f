"""The step table holds every step, and no cell computes anything."""

from __future__ import annotations

import csv
import io
import zipfile
from typing import TYPE_CHECKING

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.diagnostics import ConstatError
from constat.proof.export import Document, steps_of, tables
from constat.proof.export.tables import STEP_COLUMNS, to_csv, to_xlsx
from constat.proof.render import defused
from tests.export.worlds import HOSTILE, WORLDS, hostile, hostile_fields, vip
from tests.report.certificates import good

if TYPE_CHECKING:
    from collections.abc import Callable

    from openpyxl import Workbook

MAKERS = [*(make for _, make in WORLDS), hostile, hostile_fields]
DANGEROUS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(data), newline="")))


def workbook(data: bytes) -> Workbook:
    return openpyxl.load_workbook(io.BytesIO(to_xlsx(data)))


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("make", MAKERS)
def test_each_step_is_a_row_and_premises_are_rows_before_it(make: Callable[[], bytes]) -> None:
    data = make()
    steps = steps_of(Document(data)).steps
    rows = rows_of(data)
    assert [row["step"] for row in rows] == [str(n) for n in range(1, len(steps) + 1)]
    for number, (row, step) in enumerate(zip(rows, steps, strict=True), 1):
        premises = [int(one) for one in row["premises"].split("; ") if one]
        assert premises == [premise.step + 1 for premise in step.premises]
        assert all(premise < number for premise in premises)
        assert row["kind"] == step.kind


def test_a_row_says_everything_an_auditor_asks() -> None:
    rows = {row["fact"]: row for row in rows_of(vip("is_vip(C3)"))}
    stated = rows["tier(C3, gold)"]
    assert stated["source"] == "USER_PROVIDED facts"
    assert stated["assumption"] == "alice says tier(C3, gold)"
    assert stated["confidence"] == "0.9"
    absent = rows["!blocked(C3)"]
    assert (absent["query"], absent["parameters"], absent["level"]) == (
        "SELECT * FROM blocked",
        "C3",
        "C3",
    )
    assert absent["time"] == "2026-01-31T10:00:00.000000Z"
    assert rows["is_vip(C3)"]["rule"].startswith("is_vip.2: is_vip(?c) :- ")


def test_what_was_declared_complete_stands_with_what_rests_on_it() -> None:
    rows = {row["kind"]: row for row in rows_of(good()["disproved_under"])}
    assert rows["closure"]["assumption"] == "bob vouches that no tier is missing"
    assert rows["absence"]["assumption"] == ""


@pytest.mark.parametrize("make", MAKERS)
def test_no_cell_is_a_formula_or_draws_on_a_terminal(make: Callable[[], bytes]) -> None:
    for row in rows_of(make()):
        for cell in row.values():
            assert cell.isprintable()
            number = cell.removeprefix("-").replace(".", "", 1).isdigit()
            assert not cell.lstrip(" \"'").startswith(DANGEROUS) or cell[0] == "'" or number


@given(st.text())
def test_what_is_defused_begins_no_formula(text: str) -> None:
    shown = defused(text)
    number = shown.lstrip("+-").replace(".", "", 1).isdigit()
    assert shown.isprintable()
    assert not shown.startswith(DANGEROUS) or number


@pytest.mark.parametrize(("text", "shown"), [("-5", "-5"), ("-5.25", "-5.25"), ("+1", "+1")])
def test_numbers_stay_as_they_are(text: str, shown: str) -> None:
    assert defused(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        (" =1+1", "' =1+1"),
        ('"=1+1', "'\"=1+1"),
        ("-1+1", "'-1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\uff1d1", "'\uff1d1"),
        ("-\u0665", "'-\u0665"),
    ],
)
def test_formulas_get_an_apostrophe(text: str, shown: str) -> None:
    assert defused(text) == shown


@pytest.mark.parametrize("make", MAKERS)
def test_the_workbook_holds_the_same_table_as_text(make: Callable[[], bytes]) -> None:
    data = make()
    book = workbook(data)
    assert book.sheetnames == ["Decision", "Steps", "Sources", "Assumptions"]
    found = [tuple(cell.value or "" for cell in row) for row in book["Steps"].iter_rows()]
    expected = [tuple(row.values()) for row in rows_of(data)]
    assert found[0] == STEP_COLUMNS
    for mine, other in zip(found[1:], expected, strict=True):
        for cell, text in zip(mine, other, strict=True):
            unescaped = str(cell).replace("_x005F_", "_")
            assert unescaped == text or unescaped.startswith(text[:1000])
    for sheet in book:
        assert all(cell.data_type in {"s", "n"} for row in sheet.iter_rows() for cell in row)


def test_what_looks_like_an_escape_of_the_format_stays_as_it_is() -> None:
    archive = zipfile.ZipFile(io.BytesIO(to_xlsx(hostile())))
    sheet = archive.read("xl/worksheets/sheet2.xml").decode()
    assert "_x005F_x0041_" in sheet
    assert "(_x0041_)" not in sheet


def test_the_workbook_says_what_was_decided_and_assumed() -> None:
    book = workbook(vip("is_vip(C3)"))
    told = {row[0].value: row[1].value for row in book["Decision"].iter_rows()}
    assert (told["goal"], told["verdict"]) == ("is_vip(C3)", "PROVED UNDER")
    assumed = [[cell.value for cell in row] for row in book["Assumptions"].iter_rows(min_row=2)]
    assert assumed == [["1", "fact", "alice says tier(C3, gold)", "0.9", "yes"]]


def test_a_text_that_is_too_long_for_a_cell_is_cut_and_says_so() -> None:
    cells = [cell.value for row in workbook(hostile())["Steps"].iter_rows() for cell in row]
    long = [str(cell) for cell in cells if "x" * 1000 in str(cell)]
    assert long
    assert all(len(cell) <= 32_767 and "the certificate has all" in cell for cell in long)


def test_the_same_certificate_gives_the_same_bytes() -> None:
    assert to_xlsx(vip("is_vip(C1)")) == to_xlsx(vip("is_vip(C1)"))


def test_more_rows_than_a_worksheet_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_ROWS", 3)
    with pytest.raises(ConstatError) as caught:
        to_xlsx(vip("is_vip(C1)"))
    assert caught.value.diagnostics[0].code == "C0772"


def test_every_hostile_value_is_in_the_table() -> None:
    facts = " ".join(row["fact"] for row in rows_of(hostile()))
    for text in ("<script>alert(1)</script>", "]]>", "_x0041_", "\\u{202e}"):
        assert text in facts
    assert len(HOSTILE) > 15
