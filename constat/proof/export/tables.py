"""The step table for auditors, as CSV and as a workbook."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.export.document import Document
from constat.proof.export.steps import steps_of, taken_by
from constat.proof.render import defused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.proof.export.steps import Step

# No cell is a formula to a spreadsheet, whatever the data are; rows are numbered from 1, and
# premises name earlier rows. Reference: OWASP, "CSV injection".

STEP_COLUMNS: Final = (
    *("step", "kind", "fact", "sentence", "rule", "premises", "source", "query", "parameters"),
    *("rows", "hash", "time", "confidence", "level", "assumption"),
)


@frozen
class Table:
    """A table; ``rows`` have as many cells as ``columns``."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def step_table(document: Document) -> Table:
    """Return the steps of the proof."""
    steps = steps_of(document).steps
    taken = zip(steps, taken_by(document, steps), strict=True)
    rows = (_row(document, number, *one) for number, one in enumerate(taken, 1))
    return Table("Steps", STEP_COLUMNS, tuple(tuple(map(defused, row)) for row in rows))


def _row(document: Document, number: int, step: Step, taken: tuple[int, ...]) -> tuple[str, ...]:
    sources = [document.sources[place] for place in step.sources]
    times = [document.record["executed"][place] for place in step.sources]
    rule = "" if step.rule is None else _named_rule(document, step.rule)
    return (
        str(number),
        step.kind,
        step.fact,
        step.reasoning or step.sentence,
        rule,
        "; ".join(str(premise.step + 1) for premise in step.premises),
        _joined(f"{one['origin']} {one['name']}".strip() for one in sources),
        _joined(_one_line(one["query"]) for one in sources),
        _joined(", ".join(one["parameters"]) for one in sources),
        _joined(str(one["rows"]) for one in sources),
        _joined(one["hash"] for one in sources),
        _joined(time or "" for time in times),
        step.confidence,
        step.level,
        _joined(document.assumptions[place]["text"] for place in taken),
    )


def _named_rule(document: Document, place: int) -> str:
    text = " ".join(document.rule_texts[place].split())
    return f"{document.rules[place]['id']}: {text}"


def _one_line(query: str | None) -> str:
    # Queries have lines; an escape in the place of each would be harder to read than a blank.
    return "" if query is None else query.replace("\n", " ")


def _joined(texts: Iterable[str]) -> str:
    # A step that many sources speak for mostly has one query and one time.
    return " | ".join(dict.fromkeys(texts))


def decision_table(document: Document) -> Table:
    """Return what was decided, and the hashes that name the proof."""
    header, members = document.header, document.members
    told = (
        ("goal", document.goal()),
        ("verdict", header["verdict"].replace("_", " ")),
        ("confidence", header["confidence"]),
        ("level of completeness", header["level"] or ""),
        ("decided at", document.record["created"]),
        ("engine", document.record["engine"]),
        ("as of", header["as_of"] or ""),
        ("snapshot", header["snapshot"] or ""),
        ("proof", document.identity),
        ("certificate", members["digest"]),
        ("rules", header["program"]),
        *(("missing", document.atom(*missing)) for missing in members["missing"]),
    )
    rows = tuple((name, defused(text)) for name, text in told)
    return Table("Decision", ("item", "value"), rows)


def source_table(document: Document) -> Table:
    """Return every answer of a source."""
    columns = (
        *("source", "origin", "name", "tier", "query", "parameters", "rows", "hash"),
        *("snapshot", "time", "author", "confidence"),
    )
    rows = (
        (
            str(number),
            source["origin"],
            source["name"],
            source["tier"],
            _one_line(source["query"]),
            ", ".join(source["parameters"]),
            str(source["rows"]),
            source["hash"],
            source["snapshot"] or "",
            document.record["executed"][number - 1] or "",
            source["author"] or "",
            source["confidence"],
        )
        for number, source in enumerate(document.sources, 1)
    )
    return Table("Sources", columns, tuple(tuple(map(defused, row)) for row in rows))


def assumption_table(document: Document) -> Table:
    """Return every assumption, and whether the verdict accepts it."""
    under = frozenset(document.header["under"])
    rows = (
        (
            str(place + 1),
            one["kind"],
            one["text"],
            one["confidence"],
            "yes" if place in under else "no",
        )
        for place, one in enumerate(document.assumptions)
    )
    columns = ("assumption", "kind", "text", "confidence", "accepted")
    return Table("Assumptions", columns, tuple(tuple(map(defused, row)) for row in rows))


# What `step_table` says, and no cell that a spreadsheet would compute.


def to_csv(certificate: bytes) -> str:
    """Return the steps as CSV; ``ValueError`` for what is no certificate."""
    table = step_table(Document(certificate))
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return stream.getvalue()


MOST_ROWS: Final = 1_048_576
MOST_CHARACTERS: Final = 32_767
_WIDEST: Final = 60
_NARROWEST: Final = 8
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# What a reader would take for an escaped character: `_x0041_` is an A in SpreadsheetML.
_ESCAPE: Final = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
_XML: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_CONTENT: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_STYLES: Final = (
    f'{_XML}<styleSheet xmlns="{_MAIN}">'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0"/></cellStyleXfs>'
    '<cellXfs count="2">'
    '<xf numFmtId="49" fontId="0" quotePrefix="1" applyAlignment="1">'
    '<alignment vertical="top" wrapText="1"/></xf>'
    '<xf numFmtId="49" fontId="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>"
)


def to_xlsx(certificate: bytes) -> bytes:
    """Return the workbook; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    tables = (
        decision_table(document),
        step_table(document),
        source_table(document),
        assumption_table(document),
    )
    for table in tables:
        if len(table.rows) >= MOST_ROWS:
            raise _too_many(table)
    return zipped((name, text.encode()) for name, text in _parts(tables))


def _too_many(table: Table) -> ConstatError:
    message = f"a worksheet holds {MOST_ROWS:,} rows, and there are {len(table.rows) + 1:,}"
    diagnostic = Diagnostic(
        "C0772",
        message,
        note=f"the table `{table.name}` does not fit",
        help="write `--to csv`, which has no such bound",
    )
    return ConstatError([diagnostic])


def _parts(tables: tuple[Table, ...]) -> Iterator[tuple[str, str]]:
    numbers = range(1, len(tables) + 1)
    yield "[Content_Types].xml", _content_types(numbers)
    main = [("rId1", "officeDocument", "xl/workbook.xml")]
    yield "_rels/.rels", _relationships(main)
    yield "xl/workbook.xml", _workbook(tables)
    targets = [(f"rId{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in numbers]
    targets.append((f"rId{len(tables) + 1}", "styles", "styles.xml"))
    yield "xl/_rels/workbook.xml.rels", _relationships(targets)
    yield "xl/styles.xml", _STYLES
    for number, table in zip(numbers, tables, strict=True):
        yield f"xl/worksheets/sheet{number}.xml", "".join(_sheet(table))


def _content_types(numbers: range) -> str:
    parts = [("/xl/workbook.xml", "sheet.main"), ("/xl/styles.xml", "styles")]
    parts += [(f"/xl/worksheets/sheet{number}.xml", "worksheet") for number in numbers]
    overrides = "".join(
        f'<Override PartName="{name}" ContentType="{_CONTENT}.{kind}+xml"/>' for name, kind in parts
    )
    return (
        f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )


def _relationships(targets: list[tuple[str, str, str]]) -> str:
    inside = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for name, kind, target in targets
    )
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{inside}</Relationships>'


def _workbook(tables: tuple[Table, ...]) -> str:
    sheets = "".join(
        f'<sheet name={quoteattr(table.name)} sheetId="{number}" r:id="rId{number}"/>'
        for number, table in enumerate(tables, 1)
    )
    return (
        f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>'
    )


def _sheet(table: Table) -> Iterator[str]:
    last = _LETTERS[len(table.columns) - 1]
    yield f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    yield '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
    yield "</sheetView></sheetViews><cols>"
    for place, width in enumerate(_widths(table), 1):
        yield f'<col min="{place}" max="{place}" width="{width}" customWidth="1"/>'
    yield "</cols><sheetData>"
    for number, row in enumerate((table.columns, *table.rows), 1):
        style = 1 if number == 1 else 0
        yield f'<row r="{number}">'
        for letter, text in zip(_LETTERS, row, strict=False):
            yield _cell(f"{letter}{number}", text, style)
        yield "</row>"
    yield f'</sheetData><autoFilter ref="A1:{last}{len(table.rows) + 1}"/></worksheet>'


def _widths(table: Table) -> Iterator[int]:
    for place, name in enumerate(table.columns):
        longest = max((len(row[place]) for row in table.rows), default=0)
        yield min(max(longest, len(name), _NARROWEST), _WIDEST) + 2


def _cell(place: str, text: str, style: int) -> str:
    if not text:
        return ""
    shown = escape(_ESCAPE.sub("_x005F_", _short(text)))
    inside = f'<is><t xml:space="preserve">{shown}</t></is>'
    return f'<c r="{place}" s="{style}" t="inlineStr">{inside}</c>'


def _short(text: str) -> str:
    """Cut a text to what a cell holds; characters beyond 16 bits count twice there."""
    if len(text) * 2 <= MOST_CHARACTERS or len(text.encode("utf-16-le")) // 2 <= MOST_CHARACTERS:
        return text
    end = f"... ({len(text):,} characters; the certificate has all)"
    # Half as many are certain to fit, whatever they are.
    return text[: MOST_CHARACTERS // 2 - len(end)] + end


# The same content gives the same bytes, on any day and machine, so an export can be compared and
# signed.

_FIRST_DAY: Final = (1980, 1, 1, 0, 0, 0)
_READABLE: Final = 0o644 << 16
_UNIX: Final = 3


def zipped(parts: Iterable[tuple[str, bytes]]) -> bytes:
    """Return an archive of the parts, in their order."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts:
            info = zipfile.ZipInfo(name, _FIRST_DAY)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = _READABLE
            info.create_system = _UNIX
            archive.writestr(info, content)
    return stream.getvalue()
