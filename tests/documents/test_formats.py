"""What is read of each format, and what becomes of hostile ones."""

from __future__ import annotations

import time
from itertools import accumulate
from pathlib import Path

import pytest

from constat.documents import Parsed
from constat.documents.formats import KINDS, UnreadableError
from constat.documents.parsed import Places
from constat.documents.reader import read_documents
from tests.documents.conftest import docx, pdf


def read(kind: str, data: bytes | str) -> Parsed:
    return KINDS[kind](data.encode() if isinstance(data, str) else data)


def sections(parsed: Parsed) -> list[tuple[str, int, str]]:
    return [(one.title, one.level, parsed.text[one.start : one.end]) for one in parsed.sections]


def rows(parsed: Parsed) -> list[list[tuple[str, ...]]]:
    for table in parsed.tables:
        for row in table.rows:
            assert all(cell in parsed.text[row.start : row.end] for cell in row.cells)
    return [[table.header, *(row.cells for row in table.rows)] for table in parsed.tables]


def test_markdown_has_sections_within_sections_and_tables() -> None:
    text = "Before\n\n# A *one*\n\n```\n# no heading\n| a |\n|---|\n```\n\nB\n---\n"
    table = "| x | y |\n|--|:-:|\n| **1** | a\\|b |\n| 2 |\n"
    found = read("markdown", f"{text}{table}\n# C\nend")
    assert [(title, level) for title, level, _ in sections(found)] == [
        ("A *one", 1),
        ("B", 2),
        ("C", 1),
    ]
    assert sections(found)[0][2].endswith("| 2 |\n\n")
    assert sections(found)[2][2] == "# C\nend"
    assert [table.header for table in found.tables] == [("x", "y")]
    assert [row.cells for row in found.tables[0].rows] == [("1", "a|b"), ("2", "")]
    places = Places(found)
    assert places.section(found.text.index("| 2 |")) == "B"
    assert places.section(0) == ""
    assert places.section(found.text.index("end")) == "C"


def test_lines_and_bytes_are_those_of_the_file_whatever_ends_its_lines() -> None:
    text = "\ufeff# Grün\r\n\r\nKey: välue\rOther: 2\n"
    found = read("markdown", text)
    places = Places(found)
    at = found.text.index("Other")
    assert places.line(at) == 4
    assert text.encode()[places.byte(at) :] == b"Other: 2\n"
    assert [(one.key, one.value) for one in found.fields()] == [("Key", "välue"), ("Other", "2")]
    assert [one.title for one in found.sections] == ["Grün"]


def test_a_page_is_read_as_it_is_seen() -> None:
    page = """<!doctype html><html><head><title>The  page</title><style>p {x: y}</style></head>
<body><h1>Top</h1><p>One <b>word</b>&amp;more<br>next</p><p hidden>secret</p>
<script>alert(1)</script>
<h2>Prices</h2><table><tr><th>Item</th><th>Price</th></tr><tr><td>nut</td><td> 1 </td></tr></table>
<table><tr><td><table><tr><th>a<tr><td>b</table></td><td>c</td></tr></table></body></html>"""
    found = read("html", page)
    assert found.title == "The page"
    assert "One word&more\nnext\n" in found.text.replace("\n\n", "\n")
    assert "secret" not in found.text
    assert "alert" not in found.text
    assert [(title, level) for title, level, _ in sections(found)] == [("Top", 1), ("Prices", 2)]
    inner = [table for table in found.tables if not table.trouble]
    assert [[table.header, *(row.cells for row in table.rows)] for table in inner] == [
        [("Item", "Price"), ("nut", "1")],
        [("a",), ("b",)],
    ]


def test_a_docx_has_headings_by_styles_tables_and_what_was_not_deleted() -> None:
    body = """<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>Terms</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Notice </w:t></w:r>
<w:del><w:r><w:delText>30</w:delText></w:r></w:del>
<w:ins><w:r><w:t>90 days</w:t></w:r></w:ins>
<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Item</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>nut</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"""
    found = read("docx", docx(body))
    assert found.text == "Terms\n\nNotice 90 days\n\nItem\nnut\n\n"
    assert [one.title for one in found.sections] == ["Terms"]
    assert rows(found) == [[("Item",), ("nut",)]]


def test_a_mail_has_some_headers_and_its_text() -> None:
    mail = b"""From: =?utf-8?q?J=C3=B6rg?= <j@x.example>
Subject: Notice
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=latin-1
Content-Transfer-Encoding: quoted-printable

We end it on 1=AA May.
--b
Content-Type: text/plain
Content-Disposition: attachment; filename=a.txt

attached
--b--
"""
    found = read("mail", mail)
    assert [(one.key, one.value) for one in found.fields()][:2] == [
        ("From", "Jörg <j@x.example>"),
        ("Subject", "Notice"),
    ]
    assert "1ª May" in found.text
    assert "attached" not in found.text


def test_each_page_of_a_pdf_is_a_section() -> None:
    found = read("pdf", pdf("One", "Two\nlines"))
    assert sections(found) == [("page 1", 1, "One\n"), ("page 2", 1, "Two\nlines\n")]


BOMB = docx(f"<w:p><w:r><w:t>{'a' * (70 << 20)}</w:t></w:r></w:p>")
DOCTYPE = docx("<w:p/>", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        ("text", b"\xff\xfe\x00", "not UTF-8"),
        ("text", b"a\0b", "zero bytes"),
        ("text", b"\n" * 1_000_002, "lines"),
        ("docx", b"PK\x03\x04 broken", "no DOCX"),
        ("docx", BOMB, "too large"),
        ("docx", DOCTYPE, "declares entities"),
        ("pdf", b"%PDF-1.4", "no PDF"),
        ("pdf", pdf(""), "no text"),
        ("html", b'<meta charset="klingon">', "klingon"),
        ("html", b"<table>" * 500, "too deeply"),
    ],
)
def test_what_cannot_be_read_says_why(kind: str, data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(kind, data)


@pytest.mark.faults
def test_what_takes_too_much_costs_itself_and_no_other() -> None:
    # A document that needs more memory than there is, one that takes too long, and a good one.
    wide = docx("<w:p/>" * 3_000_000)
    until = time.monotonic() + 600
    found = read_documents(
        [("text", b"before"), ("docx", wide), ("text", b"after")], until, memory=150 << 20
    )
    texts = [one.text if isinstance(one, Parsed) else one for one in found]
    assert texts == ["before", "reading it took too much time or memory", "after"]
    slow = read_documents([("docx", wide), ("text", b"after")], until, seconds=0.2)
    assert isinstance(slow[0], str)
    assert isinstance(slow[1], Parsed)


def _plain_pdf(objects: int, pages: int) -> bytes:
    """Give a PDF of one empty page, named so many times, and so many objects."""
    kids = "3 0 R " * pages
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
        *["null"] * (objects - 3),
    ]
    told = [f"{place} 0 obj\n{body}\nendobj\n" for place, body in enumerate(bodies, 1)]
    starts = list(accumulate(map(len, told), initial=9))
    table = "".join(f"{start:010} 00000 n \n" for start in starts[:-1])
    size = objects + 1
    end = f"xref\n0 {size}\n{0:010} 65535 f \n{table}trailer << /Size {size} /Root 1 0 R >>\n"
    return f"%PDF-1.4\n{''.join(told)}{end}startxref\n{starts[-1]}\n%%EOF".encode()


@pytest.mark.faults
@pytest.mark.parametrize(("objects", "pages"), [(1_000_000, 1), (3, 1_000_000)])
def test_a_pdf_of_a_million_parts_costs_itself_and_no_other(objects: int, pages: int) -> None:
    wide = [("pdf", _plain_pdf(objects, pages)), ("text", b"after")]
    first, after = read_documents(wide, time.monotonic() + 600, seconds=20)
    assert isinstance(first, str)
    assert isinstance(after, Parsed)
    assert after.text == "after"


def test_nothing_is_read_after_the_time_is_up() -> None:
    assert read_documents([("text", b"a")], time.monotonic() - 1) == ["the time limit was reached"]


@pytest.mark.parametrize("name", ["a.py", "README"])
def test_the_reader_writes_no_file_and_runs_nothing(tmp_path: Path, name: str) -> None:
    # Bytes that look like a frame of the pipe are bytes of the document.
    text = f"text 5\n{name}\n"
    (found,) = read_documents([("text", text.encode())], time.monotonic() + 30)
    assert isinstance(found, Parsed)
    assert found.text == text
    assert not list(tmp_path.iterdir())
