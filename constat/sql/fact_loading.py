"""Load fact files: by DuckDB where that is exactly what the reader of fact files would give.

In: fact files. Out: their rows in a relation. Invariant: a file is taken by DuckDB as a whole, or
not at all: each cell must be spelled so plainly that there is no doubt about its value (an integer
that reads back as the same text, for example). Everything else, and every mistake, is left to the
reader of fact files, which knows all spellings and names the line. Example: `007` is a number that
DuckDB would read as well; its file is read by Python.
"""

from __future__ import annotations

import mmap
from itertools import chain
from typing import TYPE_CHECKING, Final, assert_never

from constat.catalog.fact_files import STDIN, read_rows
from constat.evaluation import StrategyError
from constat.logic import Kind
from constat.sql import changes, storing, trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from constat.catalog.fact_files import FactFile
    from constat.sql.relations import Relations

_WILD: Final = frozenset("*?[")
_NARROW: Final = 32
_LONGEST: Final = 1 << 20
_FLOAT: Final = r"[+-]?[0-9]{1,300}(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,4})?"
_DECIMAL: Final = r"[+-]?[0-9]{1,26}(\.[0-9]{1,12})?"
_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"
_GZIP: Final = b"\x1f\x8b"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def load_files(database: Relations, name: str, files: Sequence[FactFile]) -> None:
    """Add the rows of fact files to a relation. Raises `ConstatError` for a damaged one."""
    staging = database.fresh_name(f"files {name}")
    try:
        queries = [query for one in files if (query := _query(one)) is not None]
        if not queries:
            return
        database.connection.run(changes.create(staging, trees.union(queries)))
        storing.take_staged(database, database.stored(name), staging)
    except (StrategyError, OSError, ValueError):
        storing.load_rows(database, name, chain.from_iterable(map(read_rows, files)))
    finally:
        database.connection.run(changes.drop(staging))


def _query(file: FactFile) -> exp.Select | None:
    """The query of a file's rows, or nothing for an empty file."""
    shown = str(file.path)
    if file.path == STDIN or not file.places or _WILD.intersection(shown):
        raise StrategyError("a file that Python reads")
    if Kind.STRUCTURE in file.predicate.kinds:
        # A structure has several spellings, and its type is checked.
        raise StrategyError("a column that Python reads")
    width = _width(file)
    if not width:
        return None
    if width <= max(file.places):
        raise StrategyError("a line that is too short")
    labels = [f"t{place}" for place in range(width)]
    options = _options(file)
    source = changes.read_csv(shown, labels, options)
    texts = [trees.call("coalesce", trees.bare(label), trees.text("")) for label in labels]
    wanted = [(f"t{place}", texts[at]) for place, at in enumerate(file.places)]
    kinds = file.predicate.kinds
    parsed = [
        (f"v{place}", _parsed(trees.bare(f"t{at}"), kinds[place], file.word_size))
        for place, at in enumerate(file.places)
    ]
    read = trees.select([*wanted, *parsed], source=source, where=_kept(file, labels))
    outputs = [(f"c{place}", _cell(place, kind, file)) for place, kind in enumerate(kinds)]
    return trees.select(outputs, source=trees.nested(read, "q"))


def _options(file: FactFile) -> list[tuple[str, exp.Expr]]:
    no, yes = changes.truth(False), changes.truth(True)  # noqa: FBT003  values of settings
    return [
        ("delim", trees.text(file.delimiter)),
        ("header", no),
        ("skip", trees.integer(int(file.header))),
        ("auto_detect", no),
        ("compression", trees.text("none")),
        ("encoding", trees.text("utf-8")),
        ("quote", trees.text("")),
        ("escape", trees.text("")),
        ("null_padding", no.copy()),
        ("ignore_errors", no.copy()),
        ("strict_mode", yes),
    ]


def _width(file: FactFile) -> int:
    """How many cells the first line has; 0 for an empty file.

    Raises `StrategyError` for bytes that DuckDB takes in another way than the reader does: it
    leaves empty lines out, and lets a carriage return end a line.
    """
    if not file.path.stat().st_size:
        return 0
    with file.path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as all_:
        odd = [b"\r", b"\0", b"\n\n", *([b'"'] if file.quoted else [])]
        odd += [b"[", b"]"] if file.bracketed else []
        if any(all_.find(one) >= 0 for one in odd):
            raise StrategyError("bytes that Python reads")
        if all_[:2] == _GZIP or all_[:3] == _BYTE_ORDER_MARK or all_[:1] == b"\n":
            raise StrategyError("a beginning that Python reads")
        end = all_.find(b"\n")
        first = all_[: end if end >= 0 else len(all_)]
    if file.header and end in {-1, file.path.stat().st_size - 1}:
        return 0
    return first.count(file.delimiter.encode()) + 1


def _kept(file: FactFile, labels: Sequence[str]) -> list[exp.Expr]:
    """Leave out rows with an empty cell where that is wanted and the cell would be no value."""
    return [
        trees.binary("!=", trees.bare(labels[file.places[place]]), trees.text(""))
        for place in sorted(file.skip_empty)
        if file.predicate.kinds[place] is not Kind.SYMBOL
    ]


def _parsed(node: exp.Expr, kind: Kind, word_size: int) -> exp.Expr:
    """A cell as DuckDB reads it, which may be too generous."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED | Kind.DECIMAL:
            return trees.try_cast(node, trees.type_of(kind))
        case Kind.FLOAT:
            value = trees.try_cast(node, trees.type_of(kind))
            if word_size == _NARROW:
                value = trees.cast(trees.try_cast(value, trees.typed("FLOAT")), trees.type_of(kind))
            return value
        case Kind.DATE:
            return trees.try_cast(node, trees.typed("DATE"))
        case Kind.TIMESTAMP:
            without_zone = trees.call("left", node, trees.integer(26))
            return trees.try_cast(without_zone, trees.typed("TIMESTAMP"))
        case Kind.SYMBOL | Kind.BOOL | Kind.STRUCTURE:
            return trees.integer(0)


def _cell(place: int, kind: Kind, file: FactFile) -> exp.Expr:
    """The value of a cell, or a failure where its spelling is not plain."""
    text, value = trees.bare(f"t{place}"), trees.bare(f"v{place}")
    found: exp.Expr = text
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            plain = [trees.binary("=", trees.cast(value, trees.typed("VARCHAR")), text)]
            if file.word_size == _NARROW:
                narrow = "INT" if kind is Kind.NUMBER else "UINT"
                plain.append(_known(trees.try_cast(value, trees.typed(narrow))))
            found = value
        case Kind.FLOAT:
            plain = [_matches(text, _FLOAT), trees.call("isfinite", value)]
            zero = trees.constant(0.0, kind)
            found = trees.choose(trees.binary("=", value, zero), zero.copy(), value)
        case Kind.DECIMAL:
            plain, found = [_matches(text, _DECIMAL), _known(value)], value
        case Kind.DATE | Kind.TIMESTAMP:
            shape = _DATE if kind is Kind.DATE else _TIMESTAMP
            first = trees.binary(">=", text, trees.text("0001"))
            plain = [_matches(text, shape), _known(value), first]
        case Kind.BOOL:
            truths = [trees.binary("=", text, trees.text(one)) for one in ("true", "false")]
            plain = [trees.binary("or", *truths)]
        case Kind.SYMBOL:
            plain = [trees.binary("<=", trees.call("strlen", text), trees.integer(_LONGEST))]
        case Kind.STRUCTURE:
            raise StrategyError("a column that Python reads")
        case _:
            assert_never(kind)
    condition = plain[0]
    for one in plain[1:]:
        condition = trees.binary("and", condition, one)
    return trees.choose(condition, found, trees.call("error", trees.text("a cell")))


def _known(node: exp.Expr) -> exp.Expr:
    return trees.opposite(trees.is_null(node))


def _matches(text: exp.Expr, pattern: str) -> exp.Expr:
    return trees.call("regexp_full_match", text, trees.text(pattern))
