"""Rows as separated texts, in the form in which they are read.

In: an `OutputFile`, its rows or lines. Out: pieces of text. Invariant: what was written without
quoting reads back by `fact_files` unless a text holds the delimiter (or, where that has a comma, a
bracket) or ends a line, and a text in a structure as `fact_structures` says; with quoting, always.
Example: the row `("C001", 12)` is `C001<TAB>12`.

All is written as Souffle writes it: a block on the standard output is framed, and of quoted rows
the texts are quoted, not the numbers. Only a quote within a text is written twice, as RFC 4180
says and as it is read; Souffle puts a backslash before it, which is one more sign when it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.catalog.fact_cells import cell_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from constat.catalog.fact_ports import OutputFile
    from constat.logic import Row, Value

_ABOVE: Final = "---------------\n"
_BELOW: Final = "===============\n"


def file_pieces(output: OutputFile, body: Iterable[str]) -> Iterator[str]:
    """Yield the text of a file; its lines are those of `row_pieces`."""
    if output.header:
        yield header(output)
    yield from body


def block_pieces(output: OutputFile, body: Iterable[str]) -> Iterator[str]:
    """Yield the text of a block on the standard output."""
    yield f"{_ABOVE}{output.predicate.name}\n"
    if output.header:
        yield header(output)
    yield _BELOW
    yield from body
    yield _BELOW


def header(output: OutputFile) -> str:
    """Give the line that names the columns."""
    return output.delimiter.join(one.name for one in output.predicate.columns) + "\n"


def row_pieces(output: OutputFile, rows: Iterable[Row]) -> Iterator[str]:
    """Yield a line for each row."""
    writers = [_writer(output, place) for place in range(output.predicate.arity)]
    delimiter = output.delimiter
    if not writers:
        for _ in rows:
            yield "()\n"
        return
    for row in rows:
        cells = [write(value) for write, value in zip(writers, row, strict=True)]
        yield delimiter.join(cells) + "\n"


def _writer(output: OutputFile, place: int) -> Callable[[Value], str]:
    kind = output.predicate.kinds[place]
    write = cell_writer(kind, output.word_size, quoted=output.quoted)
    if not output.quoted or kind.numeric:
        return write
    return lambda value: '"' + write(value).replace('"', '""') + '"'
