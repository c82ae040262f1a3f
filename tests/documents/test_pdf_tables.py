"""Tables of PDF: what stands side by side, and what cannot be told apart for certain."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from constat.documents.formats import read_pdf
from constat.evaluation import Verdict
from constat.session import Session
from tests.documents.conftest import Write
from tests.extras import Late

pytestmark = pytest.mark.filterwarnings("ignore:HarfBuzz")
weasyprint = Late("weasyprint", extra="pdf")
ROWS = [
    ("A-1", "Small widget", "12.50"),
    ("A-2", "Large widget with brass", "1,250.00"),
    ("A-3", "Nut", "0.05"),
]
PRICE = """
.decl price(item: symbol, price: Decimal)
.input price(source = "papers", rows = "table", columns = "price = Unit price")
"""


def pdf(
    rows: Sequence[tuple[str, ...]], style: str = "", below: str = "<p>Valid until May.</p>"
) -> bytes:
    cells = "".join(f"<tr>{''.join(f'<td>{one}</td>' for one in row)}</tr>" for row in rows)
    head = "<tr><th>Item</th><th>Name</th><th>Unit price</th></tr>"
    own = "td, th {padding: 4px 14px; border: 1px solid} td:last-child {text-align: right}"
    body = f"<h1>Prices</h1><p>These are ours.</p><table>{head}{cells}</table>{below}"
    made: bytes = weasyprint.HTML(string=f"<style>{own}{style}</style>{body}").write_pdf()
    return made


def test_a_table_has_its_rows_and_their_words() -> None:
    found = read_pdf(pdf(ROWS))
    (table,) = found.tables
    assert (table.header, table.trouble) == (("Item", "Name", "Unit price"), "")
    assert [one.cells for one in table.rows] == ROWS
    assert [found.text[one.start : one.end] for one in table.rows] == [" ".join(x) for x in ROWS]


@pytest.mark.parametrize(
    ("rows", "style", "reason"),
    [
        (ROWS, "td {max-width: 70px}", "a part of a cell"),
        ([*ROWS, ("A-4", "", "1.00")], "", "different numbers of cells"),
    ],
)
def test_rows_that_cannot_be_told_apart_are_trouble(
    rows: Sequence[tuple[str, ...]], style: str, reason: str
) -> None:
    table = next(x for x in read_pdf(pdf(rows, style)).tables if x.header[0] == "Item")
    assert reason in table.trouble


def test_a_table_may_go_on_where_a_page_ends() -> None:
    many = [(f"A-{n}", f"Part {n}", f"{n}.00") for n in range(80)]
    tables = [one for one in read_pdf(pdf(many)).tables if one.header[0] == "Item"]
    assert tables[0].trouble == "it may go on on the next page"


def test_rows_of_a_pdf_are_proved_with_their_words(write: Write) -> None:
    folder = write(PRICE, "documents: {papers: {files: papers/, locale: en_GB}}\n", a_pdf=pdf(ROWS))
    with Session(folder) as session:
        found = session.prove('price("A-2", 1250.00)')
        assert found.verdict is Verdict.PROVED_UNDER
        assert "A-2 Large widget with brass 1,250.00" in str(found.certificate)
        assert session.prove('price("A-2", 1.00)').verdict is not Verdict.DISPROVED
