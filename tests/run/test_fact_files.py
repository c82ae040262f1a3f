"""What is written reads back, whatever the texts are."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from constat.catalog.fact_files import (
    STDIN,
    FactFile,
    estimated_rows,
    file_pieces,
    read_rows,
    row_pieces,
)
from constat.catalog.fact_ports import OutputFile
from constat.logic import Column, Kind, Predicate, Row

COLUMNS = (
    Column("n", "number", Kind.NUMBER),
    Column("t", "symbol", Kind.SYMBOL),
    Column("f", "float", Kind.FLOAT),
    Column("u", "unsigned", Kind.UNSIGNED),
)
PREDICATE = Predicate("p", COLUMNS)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
plain = st.text(
    st.characters(exclude_characters="\0\n\r;", exclude_categories=["Cs"]), max_size=8
).filter(lambda text: not text.startswith("\ufeff"))
floats = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value or 0.0)


def rows_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[Row]]:
    numbers, unsigned = st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)
    return st.lists(st.tuples(numbers, text, floats, unsigned), max_size=6)


def written_and_read(rows: list[Row], *, delimiter: str, quoted: bool, header: bool) -> list[Row]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "p.csv"
        output = OutputFile(path, "p.csv", PREDICATE, delimiter, header, quoted)
        path.write_bytes("".join(file_pieces(output, row_pieces(output, rows))).encode())
        return list(
            read_rows(FactFile(path, "p.csv", PREDICATE, (0, 1, 2, 3), delimiter, header, quoted))
        )


@settings(max_examples=60)
@given(rows_of(texts), st.sampled_from([",", ";;", "\t"]))
def test_quoted_rows_read_back_as_they_were(rows: list[Row], delimiter: str) -> None:
    for header in (True, False):
        assert written_and_read(rows, delimiter=delimiter, quoted=True, header=header) == rows


@settings(max_examples=60)
@given(rows_of(plain))
def test_plain_rows_read_back_where_no_text_holds_the_delimiter(rows: list[Row]) -> None:
    for header in (True, False):
        assert written_and_read(rows, delimiter=";", quoted=False, header=header) == rows


def _file(path: Path) -> FactFile:
    predicate = Predicate("p", (Column("a", "number", Kind.NUMBER),))
    return FactFile(path, path.name, predicate, (0,))


def test_the_rows_of_a_small_file_are_counted_and_of_a_large_one_estimated(tmp_path: Path) -> None:
    small, large = tmp_path / "small.facts", tmp_path / "large.facts"
    small.write_text("1\n22\n333\n")
    large.write_text("1234567\n" * 50_000)
    assert estimated_rows(_file(small)) == 3
    assert estimated_rows(_file(large)) == 50_000


def test_no_rows_are_estimated_where_nothing_can_be_known(tmp_path: Path) -> None:
    packed = tmp_path / "packed.facts"
    packed.write_bytes(gzip.compress(b"1\n2\n"))
    os.mkfifo(tmp_path / "pipe.facts")
    places = (packed, tmp_path / "missing.facts", tmp_path / "pipe.facts", tmp_path, STDIN)
    assert [estimated_rows(_file(place)) for place in places] == [None] * 5
