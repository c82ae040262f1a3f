"""What `.input` and `.output` say about files: names, delimiters, columns, headers, quoting.

In: a port of the program, its predicate, the folder given on the command line. Out: a `FactFile`
to read or an `OutputFile` to write. Invariant: with links resolved a file lies inside the folder;
parameters that are not about files are ignored, as Souffle ignores them, and those that are mean
what they mean there or are refused. Example: `.input p(filename = "a.csv", rfc4180 = true)`.
Reference: https://souffle-lang.github.io/directives
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.catalog.fact_files import STDIN, FactFile
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.logic import Kind

if TYPE_CHECKING:
    from constat.diagnostics import Span
    from constat.logic import Predicate
    from constat.syntax import Port

REFUSED: Final = 78
_COLUMNS: Final = re.compile(r"[0-9]{1,4}(:[0-9]{1,4})*\Z")
_TRUTHS: Final = ("true", "false")
_ELSEWHERE: Final = frozenset({"sqlite", "json", "jsonfile"})


@frozen
class OutputFile:
    """Where and how the rows of a predicate are written; `path` is `None` for the standard output.

    `shown` is how people name the file. `packed` says that it is gzip.
    """

    path: Path | None
    shown: str
    predicate: Predicate
    delimiter: str = "\t"
    header: bool = False
    quoted: bool = False
    packed: bool = False
    word_size: int = 64


def input_file(port: Port, predicate: Predicate, folder: Path, word_size: int) -> FactFile:
    """Give the file of an `.input`. Raises `ConstatError` for what it cannot mean."""
    said = _Said(port, predicate)
    kind = said.text("IO", "file")
    if kind not in {"file", "stdin"}:
        raise said.unsupported(kind, "file, stdin")
    quoted = said.truth("rfc4180")
    shown = said.text("filename", f"{predicate.name}.facts")
    path = STDIN if kind == "stdin" else inside(folder, shown, port.span, "--facts")
    return FactFile(
        path=path,
        shown="<stdin>" if kind == "stdin" else shown,
        predicate=predicate,
        places=said.columns(),
        delimiter=said.delimiter(quoted=quoted),
        header=said.truth("headers"),
        quoted=quoted,
        word_size=word_size,
        skip_empty=_skipped(port, predicate),
    )


def output_file(
    port: Port, predicate: Predicate, folder: Path | None, word_size: int
) -> OutputFile:
    """Give the file of an `.output`; without a folder all is written on the standard output."""
    said = _Said(port, predicate)
    kind = said.text("IO", "file")
    if kind not in {"file", "stdout"}:
        raise said.unsupported(kind, "file, stdout")
    quoted = said.truth("rfc4180")
    packed = said.truth("compress")
    shown = said.text("filename", f"{predicate.name}.csv{'.gz' if packed else ''}")
    path = None
    if kind == "file" and folder is not None:
        path = inside(folder, shown, port.span, "--output")
    return OutputFile(
        path=path,
        shown=shown if path else "<stdout>",
        predicate=predicate,
        delimiter=said.delimiter(quoted=quoted),
        # `-D-` names the columns, `IO = stdout` does so only when asked.
        header=said.truth("headers") or (kind == "file" and folder is None),
        quoted=quoted,
        packed=path is not None and packed,
        word_size=word_size,
    )


def inside(folder: Path, name: str, span: Span | None, option: str) -> Path:
    """Give the file of that name, which lies in the folder after links are resolved."""
    try:
        found = (folder / name).resolve()
        if found.is_relative_to(folder.resolve()) and found != folder.resolve():
            return found
    except (OSError, ValueError, RuntimeError):
        # NUL bytes, names too long for the system, links in a circle: no file of the folder.
        pass
    raise ConstatError(
        [
            Diagnostic(
                "C0605",
                f"the file lies outside the folder given by `{option}`",
                span,
                note="a program reads and writes only in the folders that its user names; links "
                "are followed before that is checked",
                help=f"name the folder of the file: `{option} DIR`",
            )
        ]
    )


def _skipped(port: Port, predicate: Predicate) -> frozenset[int]:
    """Give the columns whose empty cells leave the row out; a column's word beats the input's."""
    given = {one.key: one.value for one in (*port.notes.attributes, *port.parameters)}
    common = given.get("null", predicate.attributes.get("null", "error"))
    found = set()
    for place, column in enumerate(predicate.columns):
        policy = column.attributes.get("null", common)
        if column.kind is Kind.SYMBOL or policy == "error":
            continue
        if policy != "skip":
            raise ConstatError(
                [
                    Diagnostic(
                        "C0613",
                        f"`{predicate.name}` keeps rows with an empty `{column.name}`",
                        column.span or port.span,
                        note="`run` writes values and has no way to write what may be one",
                        help=f"write `@[null = skip] {column.name}: {column.type_name}`, or ask "
                        "by `constat query`",
                    )
                ]
            )
        found.add(place)
    return frozenset(found)


class _Said:
    """The parameters of one port."""

    def __init__(self, port: Port, predicate: Predicate) -> None:
        self.port = port
        self.predicate = predicate
        self.given = {one.key: one for one in port.parameters}

    def text(self, key: str, otherwise: str) -> str:
        return self.given[key].value if key in self.given else otherwise

    def truth(self, key: str) -> bool:
        value = self.text(key, "false")
        if value not in _TRUTHS:
            raise self.mistake(key, f"`{key}` is true or false", f"{key} = true")
        return value == "true"

    def delimiter(self, *, quoted: bool) -> str:
        value = self.text("delimiter", "," if quoted else "\t")
        if not value or "\n" in value or "\r" in value:
            raise self.mistake("delimiter", "a delimiter is a character of a line", 'delimiter=","')
        if quoted and '"' in value:
            reason = "in CSV a double quote cannot be the delimiter"
            raise self.mistake("delimiter", reason, 'delimiter=","')
        return value

    def columns(self) -> tuple[int, ...]:
        arity = self.predicate.arity
        value = self.text("columns", "")
        if not value:
            return tuple(range(arity))
        places = [int(one) for one in value.split(":")] if _COLUMNS.match(value) else []
        if len(places) != arity or len(set(places)) != arity:
            example = ":".join(str(place) for place in range(arity))
            reason = f"`columns` names one place, counted from 0, for each of {arity} columns"
            raise self.mistake("columns", reason, f'columns="{example}"')
        return tuple(places)

    def mistake(self, key: str, reason: str, edit: str) -> ConstatError:
        span = self.given[key].span if key in self.given else self.port.span
        directive = f".{self.port.directive} {self.predicate.name}"
        return ConstatError(
            [
                Diagnostic(
                    "C0604",
                    reason,
                    span,
                    note="the parameters of files are IO, filename, delimiter, columns, headers, "
                    "rfc4180 and compress",
                    help=f"write `{directive}({edit})`",
                )
            ]
        )

    def unsupported(self, kind: str, known: str) -> ConstatError:
        if kind not in _ELSEWHERE:
            return self.mistake("IO", f"`IO` is one of {known}", "IO=file")
        found = Diagnostic(
            "C0610",
            f"`IO={kind}` is not supported",
            self.given["IO"].span,
            note=f"`run` reads and writes separated texts: IO is one of {known}",
            help="write the rows into a tab-separated file",
        )
        return ConstatError([found], exit_code=REFUSED)
