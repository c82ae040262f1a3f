"""What `files:` of a database says: which files hold a table, and how their fields are written.

Names are plain words that no two tables share, paths are relative and stay inside the project or
are addresses of objects (`s3://`, `gs://`, `https://`), endings are known; whether the files exist
is seen when they are read.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import field
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.logic import LOCALES, find_locale
from constat.patterns import regex
from constat.project.document import Listing, Text, printable
from constat.project.reading import expand, suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.logic import Locale
    from constat.project.apis import AuthSetting
    from constat.project.document import Node
    from constat.project.reading import Sections

SEPARATED: Final = (".csv", ".tsv", ".tab", ".txt")
TYPED: Final = (".parquet", ".arrow", ".arrows", ".feather")
WORKBOOK: Final = ".xlsx"
JSON: Final = (".jsonl", ".ndjson", ".json")
ENDINGS: Final = (*SEPARATED, *JSON, WORKBOOK, *TYPED)
UTF_8: Final = "utf-8"
_ENCODINGS: Final = (
    *(UTF_8, "utf-16", "windows-1250", "windows-1251", "windows-1252", "windows-1253"),
    *("windows-1254", "windows-1257", "iso-8859-1", "iso-8859-2", "iso-8859-15", "koi8-r"),
    *("shift_jis", "euc-jp", "gb18030", "big5", "euc-kr", "cp437", "cp850", "mac-roman"),
)
_OF_TEXTS: Final = ("separator", "encoding")
_OF_LINES: Final = ("skip", "footer")
_OF_FOOTER: Final = ("checked", "required", "optional")
_OF_CELLS: Final = ("null", "locale", "unit")
DELTA: Final = "delta"
ICEBERG: Final = "iceberg"
LAKES: Final = (DELTA, ICEBERG)
_OF_SHEETS: Final = ("range", "header")
_KEYS: Final = ("file", *_OF_TEXTS, *_OF_LINES, *_OF_SHEETS, *_OF_CELLS, *LAKES, "version")
_RANGE: Final = regex(r"([A-Z]{1,3})([1-9][0-9]{0,6}):([A-Z]{1,3})([1-9][0-9]{0,6})\Z")
_LETTERS: Final = 26
_NAME: Final = regex(r"[A-Za-z_][A-Za-z0-9_]{0,62}\Z")
S3: Final = "s3"
GCS: Final = "gs"
_REMOTE: Final = regex(r"(s3|gs|https?)://", re.IGNORECASE)
_BUCKET: Final = regex(r"(?:s3|gs)://[a-z0-9][a-z0-9._-]{0,220}/[^/#?]", re.IGNORECASE)
VERSIONS: Final = MappingProxyType({S3: "versionId", GCS: "generation"})
"""What names the version of an object, behind the `?` of its address."""
_MOST_TEXTS: Final = 100
_LONGEST_UNIT: Final = 20
MOST_SKIPPED: Final = 1_000
MOST_ROWS: Final = 1 << 20
MOST_COLUMNS: Final = 1 << 14
EVERY: Final = ""
"""In place of a column's name: all columns."""
Footer = int | tuple[str, ...] | None
"""How many lines stand below the rows, or how they begin; `None`: nothing is said."""


@frozen
class TableFiles:
    """The file of a table, or the pattern of its files, and how their fields are written.

    `separator` stands between the fields of a line; where it is empty that is a comma, or a tab in
    files that end in `.tsv` or `.tab`. `skip` lines stand above the one that names the columns;
    `footer` says which lines below them are no rows: each has to be there, so that a file that was
    cut off is seen, but for what `optional` names; what `checked` names of it has to agree with the
    rows, so that a file that lacks some is seen. `null` gives, by column, the texts that say
    that there is no value, and under `EVERY` those of all columns. `locale` says, by column, how
    numbers and days are spelled; where it says nothing they are spelled plainly. `unit` says, by
    column, what stands before or behind each number. Columns are in small letters. `lake` names the
    format of a folder that keeps versions of a table (`delta`, `iceberg`), `version` the one that
    counts; the newest where it is empty. Of a sheet only the cells of `range` count (`B3:E20`);
    without `header` its first row is one of the others, and columns have the letters of the sheet.
    """

    pattern: str
    separator: str = ""
    encoding: str = UTF_8
    null: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: MappingProxyType({}), hash=False
    )
    locale: Mapping[str, Locale] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    skip: int = 0
    footer: Footer = None
    unit: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    optional: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    lake: str = ""
    version: str = ""
    range: str = ""
    header: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        """How lines below the rows begin, those that need not be there too."""
        return (*(self.footer if isinstance(self.footer, tuple) else ()), *self.optional)

    @property
    def ending(self) -> str:
        """How the names of the files end."""
        return f".{self.lake}" if self.lake else _ending(split_part(self.pattern)[0])

    @property
    def is_typed(self) -> bool:
        """Whether its values bring their types."""
        return bool(self.lake) or self.ending in TYPED

    @property
    def scheme(self) -> str:
        """How the address of objects begins; empty where the files lie in the project."""
        found = _REMOTE.match(self.pattern)
        return found[1].lower() if found else ""

    @property
    def delimiter(self) -> str:
        """What stands between the fields of a line."""
        return self.separator or ("\t" if self.ending in {".tsv", ".tab"} else ",")

    @property
    def identity(self) -> str:
        """Tell apart all ways to read the same files."""
        null = sorted(self.null.items())
        locale = sorted((column, one.name) for column, one in self.locale.items())
        said = (self.pattern, self.separator, self.encoding, self.skip, null, locale)
        none = 0 if self.footer is None else "none"
        later = (self.checked,) if self.checked else ()
        more = (self.footer or none, sorted(self.unit.items()), self.optional, *later)
        lake = (self.lake, self.version) if self.lake else ()
        cells = (self.range, self.header) if self.range else ()
        # What was recorded before there were these keeps its name.
        return repr((*said, *more, *lake, *cells) if any((*more, *lake, *cells)) else said)

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """Give the first and last row and column of `range`, counted from zero; else of a sheet."""
        found = _RANGE.match(self.range)
        if found is None:
            return 0, MOST_ROWS, 0, MOST_COLUMNS
        return int(found[2]) - 1, int(found[4]) - 1, column_at(found[1]), column_at(found[3])

    @property
    def is_plain(self) -> bool:
        """Whether nothing is said but where the files are."""
        return self.identity == TableFiles(self.pattern).identity


def column_at(letters: str) -> int:
    """Give the place of a column of a sheet by its letters, counted from zero."""
    place = 0
    for letter in letters:
        place = place * _LETTERS + ord(letter) - ord("A") + 1
    return place - 1


def letters_of(column: int) -> str:
    """Give the letters of a column of a sheet."""
    letters = ""
    while column >= 0:
        letters = chr(ord("A") + column % _LETTERS) + letters
        column = column // _LETTERS - 1
    return letters


def split_part(pattern: str) -> tuple[str, str]:
    """Give the path of a file and its part: a sheet of a workbook, or where rows of JSON stand."""
    path, mark, part = pattern.partition("#")
    return (path, part) if mark and _ending(path) in {WORKBOOK, *JSON} else (pattern, "")


def _ending(path: str) -> str:
    bare = path.partition("?")[0] if _REMOTE.match(path) else path
    return PurePosixPath(bare).suffix.lower()


@frozen
class RemoteSetting:
    """How objects are fetched.

    `bytes` bounds what one table takes, `private` allows addresses of this machine and of private
    networks, `auth` says who asks a server of http or https. `environment` has what their
    addresses name, and the keys of S3 and GCS.
    """

    private: bool = False
    bytes: int = 128 << 20
    auth: AuthSetting | None = field(default=None, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)


def read_remote(
    key: Text,
    entries: Mapping[str, Node],
    files: Mapping[str, TableFiles],
    environment: Mapping[str, str],
    sections: Sections,
) -> RemoteSetting | None:
    """Read how the objects of a database are fetched; `None` where it has none."""
    what = f"database `{printable(key.text)}`"
    if not any(one.scheme for one in files.values()):
        for name in ("private", "bytes", "auth"):
            if name in entries and files:
                message = f"`{name}` of {what} is said of files behind an address, and it has none"
                sections.complain("C0504", message, entries[name], hint="take it away")
        return None
    from constat.project.apis import read_auth  # noqa: PLC0415  loaded when it is used

    plain = RemoteSetting()
    return RemoteSetting(
        sections.flag(entries.get("private"), "`private`"),
        sections.integer(entries.get("bytes"), "`bytes`", plain.bytes),
        read_auth(key, entries.get("auth"), what, environment, sections),
        environment,
    )


def read_files(node: Node | None, what: str, sections: Sections) -> Mapping[str, TableFiles]:
    """Give the files of each table; every mistake is reported."""
    if node is None:
        return {}
    found: dict[str, TableFiles] = {}
    before = len(sections.diagnostics)
    for key, value in sections.entries(node, f"`files` of {what}"):
        name = key.text.lower()
        if not _NAME.match(name):
            message = f"`{printable(key.text)}` in `files` of {what} is no name for a table"
            hint = "use letters, digits and `_`, with a letter first"
            sections.complain("C0504", message, key, hint=hint)
        elif name in found:
            sections.complain("C0502", f"the table `{name}` of {what} stands twice", key)
        elif (one := _table(value, what, sections)) is not None:
            found[name] = one
    if not found and len(sections.diagnostics) == before:
        sections.complain("C0504", f"`files` of {what} names no table", node)
    return found


def _table(node: Node, what: str, sections: Sections) -> TableFiles | None:
    if isinstance(node, Text | Listing):
        pattern = _pattern(node, what, sections)
        return TableFiles(pattern) if pattern else None
    said = f"a table of {what}"
    entries = sections.table(node, said, _KEYS)
    lake = next((one for one in LAKES if one in entries), "")
    if lake or "version" in entries:
        return _lake(lake, entries, said, sections)
    if "file" not in entries:
        sections.complain("C0504", f"{said} names no `file`", node, hint="write `file: a.csv`")
        return None
    pattern = _pattern(entries["file"], what, sections)
    if not pattern:
        return None
    footer, optional, checked = _footer(entries.get("footer"), said, sections)
    found = TableFiles(
        pattern,
        _separator(entries.get("separator"), said, sections),
        _encoding(entries.get("encoding"), said, sections),
        MappingProxyType(_null(entries.get("null"), said, sections)),
        MappingProxyType(_locale(entries.get("locale"), said, sections)),
        _lines(entries.get("skip"), f"`skip` of {said}", sections),
        footer,
        MappingProxyType(_unit(entries.get("unit"), said, sections)),
        optional,
        checked,
        range=_range(entries, said, sections),
        header="header" not in entries or sections.flag(entries["header"], f"`header` of {said}"),
    )
    _check_kind(found, entries, said, sections)
    return found


def _lake(
    lake: str, entries: Mapping[str, Node], said: str, sections: Sections
) -> TableFiles | None:
    """Read the folder of a table that is kept in versions."""
    others = sorted(entries.keys() - {lake, "version"})
    if not lake or others:
        key = others[0] if others else "version"
        message = f"`{key}` of {said} does not go together with `{lake or 'version'}`"
        hint = "write `orders: {delta: lake/orders, version: 3}`"
        sections.complain("C0504", message, entries[key], hint=hint)
        return None
    path = sections.text(entries[lake], f"`{lake}` of {said}")
    parts = PurePosixPath(path)
    if not path or _REMOTE.match(path) or parts.is_absolute() or ".." in parts.parts:
        if path:
            note = "tables in versions lie in its folder"
            message = "this path leads out of the project"
            sections.complain("C0505", message, entries[lake], note=note)
        return None
    version = sections.text(entries.get("version"), f"`version` of {said}")
    if version and not (version.isascii() and version.isdigit() and len(version) < _LONGEST_UNIT):
        message = f"`version` of {said} is no number of a version or a snapshot"
        sections.complain("C0504", message, entries["version"], hint="write `version: 3`")
        return None
    return TableFiles(path, lake=lake, version=version)


def _check_kind(
    found: TableFiles, entries: Mapping[str, Node], said: str, sections: Sections
) -> None:
    """Refuse what a kind of file cannot be told: some say themselves how they are written."""
    unused = set() if found.ending in SEPARATED else {*_OF_TEXTS}
    unused |= set() if found.ending in {*SEPARATED, WORKBOOK} else {*_OF_LINES}
    unused |= set() if found.ending == WORKBOOK else {*_OF_SHEETS}
    unused |= {*_OF_CELLS} if found.ending in TYPED else set()
    for key in sorted(unused & entries.keys()):
        message = f"`{key}` of {said} says nothing of `{found.ending}`"
        hint = f"take `{key}` away; such files say it themselves"
        sections.complain("C0504", message, entries[key], hint=hint)


def _pattern(node: Node, what: str, sections: Sections) -> str:
    written = sections.text(node, f"a file of {what}")
    if not written or not isinstance(node, Text):
        return ""
    path = PurePosixPath(split_part(written)[0])
    if _REMOTE.match(written):
        problem = _unusable(written)
        if problem:
            message = f"a file of {what} has an address that cannot be read: {problem}"
            sections.complain("C0504", message, node, hint="write `s3://bucket/folder/a.csv`")
            return ""
    elif path.is_absolute() or ".." in path.parts:
        sections.complain(
            "C0505", "this path leads out of the project", node, note="data lies in its folder"
        )
        return ""
    if _ending(split_part(written)[0]) not in ENDINGS:
        message = f"a file of {what} is of a kind that cannot be read"
        sections.complain("C0504", message, node, hint=f"known: {', '.join(ENDINGS)}")
        return ""
    return written


def _unusable(written: str) -> str:
    """Tell why no object is fetched from an address; empty where it may be."""
    address, _ = split_part(written)
    if not address.isascii() or not address.isprintable() or " " in address:
        return "it holds a letter that no address has; write it as `%20`"
    if expand(address, {}).malformed:
        return "it has a `${` without a name and `}`"
    path, _, query = address.partition("?")
    scheme = path.partition(":")[0].lower()
    if scheme in VERSIONS:
        if not _BUCKET.match(address):
            return "it names no bucket and object"
        name = VERSIONS[scheme]
        return "" if not query or query.startswith(f"{name}=") else f"`?` is for `{name}` only"
    from constat.project.apis import unsafe  # noqa: PLC0415  loaded when it is used

    if "*" in path or "[" in path:
        return "a server of http has no list of its files; name each"
    return unsafe(address.partition("#")[0], "it", keyed=False)


def _range(entries: Mapping[str, Node], said: str, sections: Sections) -> str:
    """Read which cells of a sheet are the table."""
    node = entries.get("range")
    written = sections.text(node, f"`range` of {said}").upper().replace("$", "")
    first, last, left, right = TableFiles("", range=written).cells
    if node is not None and not (
        _RANGE.match(written) and first <= last < MOST_ROWS and left <= right < MOST_COLUMNS
    ):
        message = f"`range` of {said} is no range of cells"
        sections.complain("C0504", message, node, hint="write `range: B3:E20`")
        return ""
    if node is None and "header" in entries:
        message = f"`header` of {said} is said of a `range` of cells"
        hint = "write `range: B3:E20` beside it"
        sections.complain("C0504", message, entries["header"], hint=hint)
    return written


def _separator(node: Node | None, said: str, sections: Sections) -> str:
    name = sections.text(node, f"`separator` of {said}")
    letter = "\t" if name == "tab" else name
    usable = len(letter) == 1 and letter.isascii() and not letter.isalnum()
    if node is not None and name and (not usable or letter in "\"'\r\n"):
        hint = 'write `separator: ";"`, or `separator: tab`'
        sections.complain("C0504", f"`separator` of {said} cannot stand there", node, hint=hint)
        return ""
    return letter


def _encoding(node: Node | None, said: str, sections: Sections) -> str:
    if node is None:
        return UTF_8
    name = sections.text(node, f"`encoding` of {said}", UTF_8)
    known = {codecs.lookup(one).name: one for one in _ENCODINGS}
    try:
        return known[codecs.lookup(name).name]
    except (KeyError, LookupError, ValueError):
        hint = suggestion(name, _ENCODINGS) or f"known: {', '.join(_ENCODINGS)}"
        sections.complain("C0504", f"`encoding` of {said} is not known", node, hint=hint)
        return UTF_8


def _lines(node: Node | None, what: str, sections: Sections) -> int:
    lines = sections.integer(node, what, 0) if node is not None else 0
    if node is not None and lines > MOST_SKIPPED:
        hint = f"write {MOST_SKIPPED} at most"
        sections.complain("C0504", f"{what} is too large", node, hint=hint)
        return 0
    return lines


_FooterWords = tuple[Footer, tuple[str, ...], tuple[str, ...]]
"""What has to stand below the rows, what may, and what of the first is held against the rows."""


def _footer(node: Node | None, said: str, sections: Sections) -> _FooterWords:
    """Read a number of lines, or the words that lines below the rows begin with."""
    what = f"`footer` of {said}"
    if node is None:
        return None, (), ()
    if isinstance(node, Text) and node.text.isdigit():
        return 0 if node.text == "0" else _lines(node, what, sections), (), ()
    if isinstance(node, Text | Listing):
        return _words(node, what, sections) or None, (), ()
    entries = sections.table(node, what, _OF_FOOTER)
    checked, required, optional = (
        _words(entries[key], f"`{key}` in {what}", sections) if key in entries else ()
        for key in _OF_FOOTER
    )
    return (*checked, *required) or None, optional, checked


def _words(node: Node, what: str, sections: Sections) -> tuple[str, ...]:
    words = tuple(one.text.strip() for one in sections.texts(node, what))
    if 0 < len(words) <= _MOST_TEXTS and all(words):
        return words
    hint = "write `footer: [Total]`, or `footer: 0` where every line is a row"
    sections.complain("C0504", f"{what} names no words", node, hint=hint)
    return ()


def _null(node: Node | None, said: str, sections: Sections) -> dict[str, tuple[str, ...]]:
    if node is None:
        return {}
    if isinstance(node, Text | Listing):
        return {EVERY: _texts(node, said, sections)}
    return {
        key.text.lower(): _texts(value, said, sections)
        for key, value in sections.entries(node, f"`null` of {said}")
    }


def _texts(node: Node, said: str, sections: Sections) -> tuple[str, ...]:
    found = tuple(one.text for one in sections.texts(node, f"`null` of {said}"))
    if not 0 < len(found) <= _MOST_TEXTS:
        hint = "write `null: [NA]`, or `null: {delay: [NA]}`"
        sections.complain("C0504", f"`null` of {said} names no texts", node, hint=hint)
    return found[:_MOST_TEXTS]


def _locale(node: Node | None, said: str, sections: Sections) -> dict[str, Locale]:
    found: dict[str, Locale] = {}
    if node is None:
        return found
    for key, value in sections.entries(node, f"`locale` of {said}"):
        name = sections.text(value, f"`locale` of {said}")
        locale = find_locale(name)
        if locale is not None:
            found[key.text.lower()] = locale
        elif name:
            hint = suggestion(name, [one.name for one in LOCALES]) or "write `price: de_DE`"
            sections.complain("C0504", f"`locale` of {said} is not known", value, hint=hint)
    return found


def _unit(node: Node | None, said: str, sections: Sections) -> dict[str, str]:
    found: dict[str, str] = {}
    if node is None:
        return found
    for key, value in sections.entries(node, f"`unit` of {said}"):
        unit = sections.text(value, f"`unit` of {said}").strip()
        if unit and len(unit) <= _LONGEST_UNIT and not any(map(str.isdigit, unit)):
            found[key.text.lower()] = unit
        else:
            hint = 'write `price: "$"`; without digits'
            sections.complain("C0504", f"`unit` of {said} cannot stand there", value, hint=hint)
    return found
