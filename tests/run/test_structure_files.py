"""Structures in fact files: what is written reads back, and nothing else is taken for a value."""

from __future__ import annotations

import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.catalog.fact_files import (
    FactFile,
    read_rows,
    row_pieces,
    structure_reader,
    structure_writer,
)
from constat.catalog.fact_ports import OutputFile
from constat.diagnostics import ConstatError
from constat.logic import Predicate, Row
from tests.structures import EXPRESSION, LIST, NODE, expressions, nodes

PREDICATE = Predicate("p", (NODE, EXPRESSION))
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
# What a text without quotes may hold: nothing that ends it, nothing that a reader passes over.
tame = st.from_regex(r"[a-z(?]([a-z \[(\\'$?]{0,4}[a-z])?", fullmatch=True)


def rows_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(nodes(text), expressions(text)), max_size=5)


def written_and_read(rows: list[Row], *, quoted: bool, word_size: int = 64) -> list[Row]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "p.csv"
        delimiter = "," if quoted else "\t"
        output = OutputFile(path, "p.csv", PREDICATE, delimiter, quoted=quoted, word_size=word_size)
        path.write_bytes("".join(row_pieces(output, rows)).encode())
        return list(
            read_rows(
                FactFile(path, "p.csv", PREDICATE, (0, 1), delimiter, False, quoted, word_size)
            )
        )


@settings(max_examples=80)
@given(rows_of(texts))
def test_with_quotes_all_reads_back(rows: list[Row]) -> None:
    assert written_and_read(rows, quoted=True) == rows


@settings(max_examples=80)
@given(rows_of(tame))
def test_without_quotes_texts_without_signs_read_back(rows: list[Row]) -> None:
    assert written_and_read(rows, quoted=False) == rows


@settings(max_examples=80)
@given(nodes(texts), st.text('[]()$", \\nilAdd0123456789.-x\t', max_size=12), st.integers(0, 40))
def test_a_cell_is_a_value_or_an_error(text: str, noise: str, place: int) -> None:
    hurt = text[:place] + noise + text[place + len(noise) // 2 :]
    for word_size in (32, 64):
        try:
            found = structure_reader(NODE, word_size)(hurt)
        except ValueError:
            continue
        again = structure_reader(NODE, word_size)(str(found))
        assert again == found


def test_numbers_have_32_bits_where_words_do() -> None:
    read = structure_reader(NODE, 32)
    assert read("[2147483647, 0.1, x, nil]") == '[2147483647, 0x1.99999a0000000p-4, "x", nil]'
    for wrong in ("[2147483648, 0.1, x, nil]", "[1, 1e39, x, nil]"):
        with pytest.raises(ValueError, match=r"outside|not a finite"):
            read(wrong)
    inner = "[1, 0.5, x, [-2147483649, 0.5, x, nil]]"
    with pytest.raises(ValueError, match="has a field n that is outside"):
        read(inner)
    assert structure_reader(NODE, 64)(inner) == inner.replace(
        "0.5", "0x1.0000000000000p-1"
    ).replace(" x", ' "x"')


def test_a_branch_counts_the_fields_of_its_own() -> None:
    text = '$Add($Number(1), $Named("2147483648", $Zero))'
    assert structure_reader(EXPRESSION, 32)(text) == text
    assert structure_writer(9, quoted=False)(text) == "$Add($Number(1), $Named(2147483648, $Zero))"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1, 0.5, x]\t$Zero", "lacks `,` at character 11"),
        ("nil\tnil", "names no branch of Expression at character 1"),
        ("nil\t$Number(x)", "has a field x that is not an integer"),
        ("nil\t$Zero $Zero", "goes on behind its end at character 7"),
        ('["1", 0.5, x, nil]\t$Zero', "holds a text in the field n"),
    ],
)
def test_a_mistake_names_line_column_and_reason(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "p.facts"
    path.write_text(f"nil\t$Zero\n{line}\n")
    with pytest.raises(ConstatError) as caught:
        list(read_rows(FactFile(path, "p.facts", PREDICATE, (0, 1))))
    (found,) = caught.value.diagnostics
    assert found.code == "C0600"
    assert re.match(r"line 2 of `p.facts`: column `(node|e)` is a ", found.message)
    assert reason in found.message


@pytest.mark.laws
def test_hostile_cells_end_soon() -> None:
    started = time.monotonic()
    for cell in ("[" * 500_000, "[1, " * 50_000, '["' + '\\"' * 400_000, "$Add(" * 50_000):
        for column in (NODE, EXPRESSION, LIST):
            with pytest.raises(ValueError, match=r"holds|lacks|names|has"):
                structure_reader(column, 32)(cell)
    deep = "[1, " * 50_000 + "nil" + "]" * 50_000
    assert structure_reader(LIST, 32)(deep) == deep
    assert time.monotonic() - started < 30
