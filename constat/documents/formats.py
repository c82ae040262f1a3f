"""Readers of the formats of documents: each makes a text of a file's bytes, with its structure.

In: bytes that anybody may have written. Out: a `Parsed`, or `UnreadableError` with the reason.
Runs in a process of its own that is bounded in memory and time (`reader`); nothing in a document is
obeyed: no script runs, no link is followed, no entity is opened.
"""

from __future__ import annotations

import email
import io
import re
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import field
from email import policy
from html.parser import HTMLParser
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NoReturn

from constat.documents.parsed import LINE, MARKS, Parsed, Table, TableRow, sections_of
from constat.frozen import slotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from email.message import EmailMessage
    from xml.etree.ElementTree import Element

MOST_TEXT: Final = 16 << 20
"""Characters of the text of one document."""
MOST_LINES: Final = 1_000_000
"""Lines of the text of one document."""
_MOST_PARTS: Final = 100_000
_MOST_XML: Final = 64 << 20
_BLANKS: Final = re.compile(r"\s+")


class UnreadableError(Exception):
    """A document that cannot be read; the text says why, and quotes nothing of it."""


# ------------------------------------------------------------------------------ text, Markdown


def read_text(data: bytes) -> Parsed:
    """Read plain text."""
    text = _decoded(data)
    return Parsed(text, _first_line(text))


def read_markdown(data: bytes) -> Parsed:
    """Read Markdown: headings and tables as CommonMark and GitHub define them."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  heavy library, loaded on first use

    text = _decoded(data)
    lines = [0, *(found.end() for found in LINE.finditer(text))]
    reader = MarkdownIt("commonmark").enable("table")
    # What stands within a line is left as it is: its emphasis is taken away by us.
    reader.core.ruler.enableOnly(["normalize", "block"])
    found = _Blocks(text, [*lines, len(text)])
    # The mark of byte order stands before the first line, and is no part of it.
    for token in reader.parse(text.replace("\ufeff", " ", 1) if text[:1] == "\ufeff" else text):
        found.take(token.type, token.tag, token.map, token.content)
    title = found.headings[0][2] if found.headings else _first_line(text)
    sections = sections_of(found.headings, len(text))
    return Parsed(text, title, sections, tuple(found.tables), marked=True)


class _Blocks:
    """Collects headings and tables from the blocks of Markdown, with the places of their lines."""

    def __init__(self, text: str, lines: Sequence[int]) -> None:
        self.headings: list[tuple[int, int, str]] = []
        self.tables: list[Table] = []
        self._text = text
        self._lines = lines
        self._level = 0
        self._cells: list[str] | None = None
        self._row: tuple[int, int] = (0, 0)
        self._header: list[str] = []
        self._rows: list[TableRow] = []
        self._start = 0

    def take(self, kind: str, tag: str, lines: Sequence[int] | None, content: str) -> None:
        """Take one token."""
        if kind == "heading_open":
            self._level, self._start = int(tag[1:]), self._lines[(lines or [0])[0]]
        elif kind == "inline" and self._level:
            self.headings.append((self._start, self._level, _plain(content)))
            self._level = 0
        elif kind == "table_open":
            self._header, self._rows, self._start = [], [], self._lines[(lines or [0])[0]]
        elif kind == "tr_open":
            first, last = (lines or [0, 0])[:2]
            self._row, self._cells = self._range(first, last), []
        elif kind == "inline" and self._cells is not None:
            self._cells.append(_plain(content))
        elif kind == "tr_close" and self._cells is not None:
            if self._header:
                self._rows.append(TableRow(tuple(self._cells), *self._row))
            else:
                self._header = self._cells
            self._cells = None
        elif kind == "table_close":
            self.tables.append(Table(tuple(self._header), tuple(self._rows), self._start))

    def _range(self, first: int, last: int) -> tuple[int, int]:
        start, end = self._lines[first], self._lines[min(last, len(self._lines) - 1)]
        return start, start + len(self._text[start:end].rstrip())


def _plain(words: str) -> str:
    """Give the words of a cell or heading: emphasis around all of it is no part of what is said."""
    return _BLANKS.sub(" ", words.replace("\\|", "|")).strip(f" {MARKS}")


def _decoded(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UnreadableError("it is not UTF-8; save it as UTF-8") from None
    if "\0" in text:
        raise UnreadableError("it is no text: it holds zero bytes")
    return _bounded(text)


def _bounded(text: str) -> str:
    if len(text) > MOST_TEXT:
        raise UnreadableError(f"its text has more than {MOST_TEXT:,} characters")
    if text.count("\n") + text.count("\r") > MOST_LINES:
        raise UnreadableError(f"its text has more than {MOST_LINES:,} lines")
    return text


def _first_line(text: str) -> str:
    found = re.search(r"\S[^\r\n]*", text)
    return _BLANKS.sub(" ", found[0]).strip()[:200] if found else ""


# ---------------------------------------------------------------- formats that are no text


@slotted
class Written:
    """A text that is written while a format is read, with the headings and tables in it."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    headings: list[tuple[int, int, str]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    def line(self, words: str) -> tuple[int, int]:
        """Write a line; give its place."""
        start = self.length
        # What is no text is shown as such, and can be written into a certificate.
        words = words.replace("\0", " ").encode(errors="replace").decode()
        if self.length + len(words) >= MOST_TEXT or len(self.parts) >= MOST_LINES:
            raise UnreadableError(f"its text has more than {MOST_TEXT:,} characters")
        self.parts.append(f"{words}\n")
        self.length += len(words) + 1
        return start, start + len(words)

    def paragraph(self, words: str, level: int = 0) -> None:
        """Write a paragraph, or a heading of a level, and an empty line after it."""
        lines = [one for one in map(_one_line, words.split("\n")) if one]
        if level and lines:
            self.headings.append((self.length, level, " ".join(lines)))
        for one in lines:
            self.line(one)
        if lines:
            self.line("")

    def table(self, rows: list[tuple[str, ...]], trouble: str = "") -> None:
        """Write a table, a line for each row; the first row holds the headings."""
        rows = [row for row in rows if any(row)]
        if not rows:
            return
        start, header = self.length, rows[0]
        if not trouble and any(len(row) != len(header) for row in rows):
            trouble = "its rows have different numbers of cells"
        placed = [TableRow(row, *self.line(" | ".join(row))) for row in rows]
        self.line("")
        self.tables.append(Table(header, tuple(placed[1:]), start, trouble))

    def parsed(self, reader: str, title: str = "") -> Parsed:
        """Give the document."""
        text = "".join(self.parts)
        named = title or (self.headings[0][2] if self.headings else _first_line(text))
        sections = sections_of(self.headings, len(text))
        return Parsed(text, named, sections, tuple(self.tables), reader)


def _one_line(words: str) -> str:
    return _BLANKS.sub(" ", words).strip()


# ------------------------------------------------------------------------------------- HTML

_HTML: Final = "constat html 1"
_UNSEEN: Final = frozenset({"script", "style", "template", "noscript", "iframe", "svg", "head"})
_BREAKS: Final = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "br", "dd", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "li", "main"),
        *("nav", "ol", "option", "p", "pre", "section", "summary", "ul"),
    )
)
_EMPTY: Final = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr"),
    )
)
_HEADING: Final = re.compile(r"h([1-6])\Z")


@slotted
class _OpenTable:
    rows: list[tuple[str, ...]] = field(default_factory=list)
    cells: list[str] | None = None
    cell: list[str] | None = None
    trouble: str = ""

    def end_cell(self) -> None:
        if self.cell is not None and self.cells is not None:
            self.cells.append(_one_line("".join(self.cell)))
        self.cell = None

    def end_row(self) -> None:
        self.end_cell()
        if self.cells:
            self.rows.append(tuple(self.cells))
            if len(self.rows) > _MOST_PARTS:
                raise UnreadableError("a table has too many rows")
        self.cells = None


class _Html(HTMLParser):
    """Writes what a reader of a page would see, and the tables in it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.written = Written()
        self.title = ""
        self._unseen: list[str] = []
        self._titled: list[str] | None = None
        self._words: list[str] = []
        self._level = 0
        self._tables: list[_OpenTable] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title" and not self.title and "svg" not in self._unseen:
            self._titled = []
            return
        if self._unseen or tag in _UNSEEN or "hidden" in dict(attrs):
            if tag not in _EMPTY and (not self._unseen or tag == self._unseen[0]):
                self._unseen.append(tag)
            # A page without `</head>` begins with its body all the same.
            if tag == "body" and self._unseen[:1] == ["head"]:
                self._unseen.clear()
            return
        if tag == "table":
            self._begin_table()
        elif self._tables and tag in {"tr", "td", "th"}:
            self._part(tag, dict(attrs))
        elif heading := _HEADING.match(tag):
            self._flush()
            self._level = int(heading[1])
        elif tag in _BREAKS:
            self._break()

    def handle_endtag(self, tag: str) -> None:
        if tag == "title" and self._titled is not None:
            self.title, self._titled = _one_line("".join(self._titled))[:200], None
        elif self._unseen:
            if tag == self._unseen[-1]:
                self._unseen.pop()
        elif tag == "table" and self._tables:
            self._end_table()
        elif self._tables and tag in {"td", "th"}:
            self._tables[-1].end_cell()
        elif self._tables and tag == "tr":
            self._tables[-1].end_row()
        elif _HEADING.match(tag):
            self._flush()
        elif tag in _BREAKS:
            self._break()

    def handle_data(self, data: str) -> None:
        if self._titled is not None:
            self._titled.append(data)
        elif self._unseen:
            return
        elif self._tables and self._tables[-1].cell is not None:
            self._tables[-1].cell.append(data)
        else:
            self._words.append(data)

    def finished(self) -> Parsed:
        """End what a page has left open, and give the document."""
        self.close()
        while self._tables:
            self._end_table()
        self._flush()
        return self.written.parsed(_HTML, self.title)

    def _break(self) -> None:
        if self._tables and self._tables[-1].cell is not None:
            self._tables[-1].cell.append(" ")
        else:
            self._flush()

    def _flush(self) -> None:
        words, self._words = "".join(self._words), []
        self.written.paragraph(_one_line(words), self._level)
        self._level = 0

    def _begin_table(self) -> None:
        if len(self._tables) > _DEEPEST:
            raise UnreadableError("its tables stand in each other too deeply")
        if self._tables:
            # A table around a table lays out a page: what stands in it is written as text.
            around = self._tables[-1]
            around.trouble = "another table stands in it"
            self._words = [*self._words, *(around.cell or [])]
            if around.cell is not None:
                around.cell = []
        self._flush()
        self._tables.append(_OpenTable())

    def _end_table(self) -> None:
        ended = self._tables.pop()
        ended.end_row()
        self.written.table(ended.rows, ended.trouble)

    def _part(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        table = self._tables[-1]
        if tag == "tr":
            table.end_row()
            table.cells = []
            return
        table.end_cell()
        table.cells = [] if table.cells is None else table.cells
        table.cell = []
        if any((attributes.get(one) or "1").strip() != "1" for one in ("colspan", "rowspan")):
            table.trouble = "cells go over several rows or columns"


_DEEPEST: Final = 20


def read_html(data: bytes) -> Parsed:
    """Read a page: what can be seen of it, headings and tables."""
    reader = _Html()
    try:
        reader.feed(_decoded_page(data))
        return reader.finished()
    except (AssertionError, RecursionError):
        raise UnreadableError("it is no HTML that can be read") from None


def _decoded_page(data: bytes) -> str:
    said = re.search(rb"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", data[:2_000])
    name = said[1].decode("ascii") if said else "utf-8"
    try:
        return _bounded(data.decode(name).replace("\0", " "))
    except (LookupError, UnicodeDecodeError):
        raise UnreadableError(f"it is not written in {name}, as it should be") from None


# ------------------------------------------------------------------------------------- PDF


def read_pdf(data: bytes) -> Parsed:
    """Read the text of a PDF; each page is a section, `page 1` and so on."""
    try:
        import pypdf  # noqa: PLC0415  heavy library, loaded on first use
    except ImportError:
        raise UnreadableError("pypdf is not installed: pip install 'constat[documents]'") from None
    written = Written()
    try:
        file = pypdf.PdfReader(io.BytesIO(data))
        if file.is_encrypted and not file.decrypt(""):
            _refuse("it is locked by a password")
        for number, page in enumerate(file.pages, 1):
            begun, before = written.length, len(written.parts)
            written.headings.append((begun, 1, f"page {number}"))
            for line in page.extract_text().splitlines():
                written.line(line.rstrip())
            laid_out = page.extract_text(extraction_mode="layout")
            text, last = "".join(written.parts[before:]), number == len(file.pages)
            written.tables += _laid_out_tables(laid_out, text, begun, last=last)
    except (UnreadableError, MemoryError):
        raise
    except Exception as problem:  # noqa: BLE001  a library over bytes of anybody
        _refuse(f"it is no PDF that can be read ({type(problem).__name__})")
    if not any(part.strip() for part in written.parts):
        raise UnreadableError("it holds no text; pictures of pages have to be read by OCR before")
    return written.parsed(f"pypdf {pypdf.__version__}", _first_line("".join(written.parts)))


_CELL: Final = re.compile(r"\S+(?: \S+)*")
_LONGEST_ROW: Final = 10_000


def _laid_out_tables(laid_out: str, text: str, begun: int, *, last: bool) -> Iterator[Table]:
    """Yield the tables of a page, by what stands side by side; `begun` is where its text begins.

    A table is lines of as many cells each, with two blanks or more between them. A line that may be
    a part of a cell, or rows that may go on, are trouble. What is a cell has to stand in the text.
    """
    lines: list[tuple[list[str], bool]] = []
    blank = True
    for line in laid_out.splitlines():
        cells = _CELL.findall(line[:_LONGEST_ROW])
        if cells:
            lines.append((cells, blank))
        blank = not cells
    at = place = 0
    while at < len(lines):
        header, after = lines[at][0], at + 1
        if len(header) > 1:
            while after < len(lines) and len(lines[after][0]) == len(header):
                after += 1
            trouble = _trouble_below(lines[after : after + 2], last=last)
            rows = [cells for cells, _ in lines[at + 1 : after]]
            if rows or trouble:
                table, place = _placed(header, rows, trouble, (text, begun, place))
                yield table
        at = after


def _trouble_below(below: list[tuple[list[str], bool]], *, last: bool) -> str:
    """Say why the lines below a table may belong to it; empty where they do not."""
    if not below:
        return "" if last else "it may go on on the next page"
    if len(below[0][0]) > 1:
        return "its rows have different numbers of cells"
    if not below[0][1] or any(len(cells) > 1 for cells, _ in below[1:]):
        return "a line below it may be a part of a cell"
    return ""


def _placed(
    header: list[str], rows: list[list[str]], trouble: str, where: tuple[str, int, int]
) -> tuple[Table, int]:
    """Give a table with the places of its rows in the text, and the end of the last one."""
    text, begun, place = where
    found: list[tuple[int, int]] = []
    for cells in (header, *rows):
        words = r"\s+".join(re.escape(one) for cell in cells for one in cell.split())
        match = re.compile(rf"(?<!\S){words}(?!\S)").search(text, place)
        if match is None:
            trouble = trouble or "its cells cannot be told from the words around them"
            break
        place = match.end()
        found.append((begun + match.start(), begun + match.end()))
    start = found[0][0] if found else begun
    pairs = zip(rows, found[1:], strict=False)
    listed = tuple(TableRow(tuple(cells), *one) for cells, one in pairs)
    return Table(tuple(header), listed, start, trouble), place


def _refuse(reason: str) -> NoReturn:
    raise UnreadableError(reason) from None


# ------------------------------------------------------------------------------------ DOCX

_DOCX: Final = "constat docx 1"
_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BODY: Final = "word/document.xml"
_STYLES: Final = "word/styles.xml"
_STYLE_NAME: Final = re.compile(r"heading ([1-9])\Z", re.IGNORECASE)


def read_docx(data: bytes) -> Parsed:
    """Read the body of a DOCX: paragraphs, headings by their styles, tables.

    Insertions count and deletions do not; hidden text, comments, notes and page headers stay out.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            styles = _styles(_member(archive, _STYLES)) if _STYLES in archive.namelist() else {}
            body = _member(archive, _BODY).find(f"{_W}body")
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, OSError, ValueError):
        raise UnreadableError("it is no DOCX that can be read") from None
    if body is None:
        raise UnreadableError("it is no DOCX that can be read")
    written = Written()
    for block in _blocks(body):
        if block.tag == f"{_W}tbl":
            _docx_table(block, written)
        else:
            written.paragraph(_run_text(block), _level(block, styles))
    return written.parsed(_DOCX)


def _member(archive: zipfile.ZipFile, name: str) -> Element:
    """Read a part of the archive as XML, bounded, without entities."""
    with archive.open(name) as file:
        content = file.read(_MOST_XML + 1)
    if len(content) > _MOST_XML:
        raise UnreadableError("what is packed in it is too large")
    # No office program writes one, and entities are made there.
    if (
        b"<!DOCTYPE" in content
        or b"<!ENTITY" in content
        or content[:2] in {b"\xff\xfe", b"\xfe\xff"}
    ):
        raise UnreadableError("it declares entities")
    try:
        return ET.fromstring(content)  # noqa: S314  bounded, and without entities
    except ET.ParseError:
        raise UnreadableError("it is no DOCX that can be read") from None


def _styles(root: Element) -> Mapping[str, int]:
    """Give the levels of the styles that are headings."""
    found = {}
    for style in root.iter(f"{_W}style"):
        name = style.find(f"{_W}name")
        match = _STYLE_NAME.match("" if name is None else name.get(f"{_W}val", ""))
        if match:
            found[style.get(f"{_W}styleId", "")] = int(match[1])
    return found


def _blocks(body: Element) -> Iterator[Element]:
    """Yield paragraphs and tables in their order; what holds them is opened."""
    waiting = list(reversed(body))
    while waiting:
        one = waiting.pop()
        if one.tag in {f"{_W}p", f"{_W}tbl"}:
            yield one
        elif one.tag not in {f"{_W}sectPr", f"{_W}del", f"{_W}moveFrom"}:
            waiting.extend(reversed(one))


def _level(paragraph: Element, styles: Mapping[str, int]) -> int:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return 0 if style is None else styles.get(style.get(f"{_W}val", ""), 0)


def _run_text(element: Element) -> str:
    parts: list[str] = []
    waiting = [element]
    while waiting:
        one = waiting.pop()
        if one.tag == f"{_W}t":
            parts.append(one.text or "")
        elif one.tag in {f"{_W}tab", f"{_W}noBreakHyphen"}:
            parts.append("-" if one.tag == f"{_W}noBreakHyphen" else "\t")
        elif one.tag in {f"{_W}br", f"{_W}cr"}:
            parts.append("\n")
        elif one.tag in {f"{_W}del", f"{_W}moveFrom", f"{_W}pPr"} or _is_hidden(one):
            continue
        else:
            waiting.extend(reversed(one))
    return "".join(parts)


def _is_hidden(run: Element) -> bool:
    if run.tag != f"{_W}r":
        return False
    said = run.find(f"{_W}rPr/{_W}vanish")
    return said is not None and said.get(f"{_W}val", "true") not in {"0", "false", "off"}


def _docx_table(table: Element, written: Written) -> None:
    rows, trouble = [], ""
    for row in table.iter(f"{_W}tr"):
        cells = [one for one in row if one.tag == f"{_W}tc"]
        if any(one.find(f".//{_W}tbl") is not None for one in cells):
            trouble = "another table stands in it"
        for name in ("gridSpan", "vMerge"):
            if any(one.find(f"{_W}tcPr/{_W}{name}") is not None for one in cells):
                trouble = "cells go over several rows or columns"
        rows.append(tuple(_cell_text(one) for one in cells))
        if len(rows) > _MOST_PARTS:
            raise UnreadableError("a table has too many rows")
    written.table(rows, trouble)


def _cell_text(cell: Element) -> str:
    return _one_line("\n".join(_run_text(one) for one in cell.iter(f"{_W}p")))


# ------------------------------------------------------------------------------------ mail

_MAIL: Final = "constat mail 1"
_HEADERS: Final = ("From", "To", "Cc", "Date", "Subject")


def read_mail(data: bytes) -> Parsed:
    """Read a mail: some of its headers as lines, then its text. Attachments stay out."""
    try:
        message = email.message_from_bytes(data, policy=policy.default)
        written = Written()
        written.headings.append((0, 1, "headers"))
        for name in _HEADERS:
            for value in message.get_all(name, ()):
                written.line(f"{name}: {_one_line(str(value))}")
        written.line("")
        written.headings.append((written.length, 1, "body"))
        body = _mail_body(message)
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as problem:
        _refuse(f"it is no mail that can be read ({type(problem).__name__})")
    for line in LINE.split(body):
        written.line(line.replace("\0", " ").rstrip())
    return written.parsed(_MAIL, _one_line(str(message.get("Subject", "")))[:200])


def _mail_body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    content = part.get_content()
    if not isinstance(content, str):
        return ""
    return read_html(content.encode()).text if part.get_content_subtype() == "html" else content


KINDS: Final[Mapping[str, Callable[[bytes], Parsed]]] = MappingProxyType(
    {
        "text": read_text,
        "markdown": read_markdown,
        "html": read_html,
        "pdf": read_pdf,
        "docx": read_docx,
        "mail": read_mail,
    }
)
"""The formats, and what reads them."""
