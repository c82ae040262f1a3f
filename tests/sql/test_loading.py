"""Rows, fact files, frames and arrays become relations exactly, or an error with its place."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.catalog.fact_files import FactFile, read_rows
from constat.diagnostics import ConstatError
from constat.evaluation import Resources, StrategyError
from constat.logic import (
    Atom,
    Branch,
    Column,
    Constant,
    Kind,
    Predicate,
    Row,
    Structures,
    Variable,
)
from constat.plan.forward import Relation
from constat.sql import Database, loading, trees
from tests.logic.strategies import VALUES
from tests.sql.computing import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

KINDS = tuple(Kind)
SETTINGS = settings(max_examples=max(1, settings().max_examples // 3), deadline=None)
LINES = st.one_of(
    st.sampled_from(
        [
            "1\ta",
            "-2\tb",
            "1\ta\n1\ta",
            "007\tx",
            "+5\tx",
            "-0\tx",
            " 1\tx",
            "1.0\tx",
            "1e3\tx",
            "9223372036854775807\tx",
            "9223372036854775808\tx",
            "1",
            "1\ta\tb",
            "\ta",
            "1\t",
            '1\t"quoted"',
            "1\tNULL",
            "1\t\\N",
            "1\ta\r",
            "",
            "x\ty",
            "1\té",
            "1_0\tx",
            "0x1\tx",
            "1\t# no comment",
            "1\t''",
            "٣\tx",
        ]
    ),
    st.tuples(st.integers(-99, 99), st.text("ab,\"'\\ ", max_size=4)).map(
        lambda pair: f"{pair[0]}\t{pair[1]}"
    ),
)


def relation(kinds: Sequence[Kind], encoded: bool = False, name: str = "r") -> Relation:  # noqa: FBT001, FBT002  a test's switch
    texts = {Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL}
    return Relation(
        name,
        tuple(kinds),
        tuple(encoded and kind in texts for kind in kinds),
        given=True,
        derived=False,
    )


def predicate(kinds: Sequence[Kind]) -> Predicate:
    return Predicate(
        "r", tuple(Column(f"c{place}", kind.value, kind) for place, kind in enumerate(kinds))
    )


def loaded(kinds: Sequence[Kind], files: Sequence[FactFile]) -> set[Row] | str:
    with Database(Resources(threads=1)) as database:
        database.declare(relation(kinds))
        try:
            database.load_files("r", files)
        except ConstatError as problem:
            return problem.diagnostics[0].message
        return rows_of(database, "r")


def read(files: Sequence[FactFile]) -> set[Row] | str:
    try:
        return {row for file in files for row in read_rows(file)}
    except ConstatError as problem:
        return problem.diagnostics[0].message


@SETTINGS
@given(st.lists(LINES, max_size=5), st.booleans(), st.sampled_from([32, 64]), st.booleans())
def test_a_fact_file_is_what_its_reader_says(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    quoted: bool,  # noqa: FBT001  hypothesis gives it
    word_size: int,
    ended: bool,  # noqa: FBT001  as above
) -> None:
    path = tmp_path_factory.mktemp("facts") / "r.facts"
    path.write_text("\n".join(lines) + "\n" * ended, encoding="utf-8", newline="")
    kinds = (Kind.NUMBER, Kind.SYMBOL)
    file = FactFile(path, "r.facts", predicate(kinds), (0, 1), quoted=quoted, word_size=word_size)
    assert loaded(kinds, [file]) == read([file])


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "1\ta\n\n2\tb\n",
        "\n1\ta\n",
        "1\ta\n\n",
        "1\ta\r\n2\tb\r\n",
        "1\ta\rb\n",
        "\ufeff1\ta\n",
        '1\t"a"\n',
        '1\t"a\nb"\n',
        "1\ta\n007\tb\n",
        "1\ta\tmore\n2\tb\n",
        "1\ta\n2\tb\tmore\n",
        "1\ta\n2\n",
        "1\t\n",
        "\n",
        "",
    ],
)
def test_an_odd_file_is_what_its_reader_says(tmp_path: Path, text: str, *, quoted: bool) -> None:
    path = tmp_path / "r.facts"
    path.write_text(text, encoding="utf-8", newline="")
    for kinds in ((Kind.NUMBER, Kind.SYMBOL), (Kind.SYMBOL,)):
        places = tuple(range(len(kinds)))
        file = FactFile(path, "r.facts", predicate(kinds), places, quoted=quoted)
        assert loaded(kinds, [file]) == read([file])


@SETTINGS
@given(data=st.data())
def test_a_plain_file_of_any_kind_is_what_its_reader_says(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    kinds = tuple(data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3)))
    rows = data.draw(st.lists(st.tuples(*(VALUES[kind] for kind in kinds)), max_size=4))
    path = tmp_path_factory.mktemp("facts") / "r.facts"
    text = "\n".join("\t".join(str(value) for value in row) for row in rows)
    path.write_text(text, encoding="utf-8", newline="")
    file = FactFile(path, "r.facts", predicate(kinds), tuple(range(len(kinds))))
    try:
        assert loaded(kinds, [file]) == read([file])
    except StrategyError:
        assert Kind.DECIMAL in kinds


def test_plain_files_are_read_by_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.facts"
    path.write_text("x,2.5,a\ny,-1e3,\n", encoding="utf-8")
    kinds = (Kind.SYMBOL, Kind.FLOAT)
    file = FactFile(path, "r.facts", predicate(kinds), (2, 1), delimiter=",")
    monkeypatch.setattr(loading, "read_rows", None)
    assert loaded(kinds, [file, file]) == {("a", 2.5), ("", -1000.0)}
    header = FactFile(path, "r.facts", predicate(kinds), (2, 1), delimiter=",", header=True)
    assert loaded(kinds, [header]) == {("", -1000.0)}


def test_a_wrong_cell_is_told_by_its_place(tmp_path: Path) -> None:
    path = tmp_path / "r.facts"
    path.write_text("1\ta\nx\tb\n", encoding="utf-8")
    kinds = (Kind.NUMBER, Kind.SYMBOL)
    message = loaded(kinds, [FactFile(path, "r.facts", predicate(kinds), (0, 1))])
    assert isinstance(message, str)
    assert "line 2" in message


@SETTINGS
@given(data=st.data(), encoded=st.booleans())
def test_rows_come_back_as_they_went_in(data: st.DataObject, encoded: bool) -> None:  # noqa: FBT001  hypothesis gives it
    kinds = tuple(data.draw(st.lists(st.sampled_from(KINDS), max_size=4)))
    rows = data.draw(st.lists(st.tuples(*(VALUES[kind] for kind in kinds)), max_size=5))
    with Database(Resources(threads=1)) as database:
        database.declare(relation(kinds, encoded))
        try:
            database.load_rows("r", rows[:2])
            database.load_rows("r", rows[2:])
        except StrategyError:
            assert Kind.DECIMAL in kinds
            return
        assert rows_of(database, "r") == set(rows)
        assert database.count("r") == len(set(rows))


def test_numbers_of_texts_are_dense_and_lasting() -> None:
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.SYMBOL, Kind.NUMBER), encoded=True))
        first = database.number_of("b")
        database.load_rows("r", [("a", 1), ("b", 2), ("it's", 3), ("a", 1)])
        texts, numbers = database.columns("r")
        assert first == 0
        assert sorted(set(texts.tolist())) == [0, 1, 2]
        assert database.number_of("b") == 0
        shown = dict(zip(numbers.tolist(), database.texts(texts.tolist()), strict=True))
        assert shown == {1: "a", 2: "b", 3: "it's"}
        assert database.number_of("new") == 3


def test_arrays_come_back_as_they_went_in() -> None:
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.NUMBER, Kind.UNSIGNED)))
        database.store_columns("r", (np.array([1, -2]), np.array([3, 4])))
        assert rows_of(database, "r") == {(1, 3), (-2, 4)}
        found = database.columns("r")
        assert {array.dtype for array in found} == {np.dtype(np.int64)}
        database.load_rows("r", [(5, 2**64 - 1)])
        with pytest.raises(StrategyError):
            database.columns("r")


def test_a_frame_is_taken_column_by_column() -> None:
    frame = pd.DataFrame({"x": [1, 2], "f": [0.5, -0.0], "s": ["a", "b"], "b": [True, False]})
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.NUMBER, Kind.FLOAT, Kind.SYMBOL, Kind.BOOL), encoded=True))
        database.load_frame("r", frame)
        assert rows_of(database, "r") == {(1, 0.5, "a", "true"), (2, 0.0, "b", "false")}


def test_a_stream_of_arrow_is_read_cell_by_cell_where_types_leave_doubt() -> None:
    kinds = (Kind.DECIMAL, Kind.DATE, Kind.NUMBER, Kind.TIMESTAMP)
    query = (
        "SELECT 1.50::DECIMAL(9,2) d, DATE '2024-02-29' x, 3.0::DOUBLE n, TIMESTAMP '2024-01-01' t"
    )
    with duckdb.connect() as other, Database(Resources(threads=1)) as database:
        database.declare(relation(kinds))
        database.load_frame("r", other.sql(query))
        moment = "2024-01-01T00:00:00.000000Z"
        assert rows_of(database, "r") == {(Decimal("1.5"), "2024-02-29", 3, moment)}


def test_a_cell_means_what_it_means_in_any_source() -> None:
    query = (
        "SELECT 0.1::FLOAT f, TIMESTAMPTZ '2024-01-01 02:00:00+02' t, 'x'::ENUM ('x') e "
        "UNION ALL SELECT 0.25::FLOAT, TIMESTAMPTZ '2024-06-01 00:00:00+00', 'x'"
    )
    with duckdb.connect() as other, Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.DECIMAL, Kind.TIMESTAMP, Kind.SYMBOL), encoded=True))
        database.load_frame("r", other.sql(query))
        assert rows_of(database, "r") == {
            (Decimal("0.1"), "2024-01-01T00:00:00.000000Z", "x"),
            (Decimal("0.25"), "2024-06-01T00:00:00.000000Z", "x"),
        }
        database.declare(relation((Kind.SYMBOL,), name="days"))
        with pytest.raises(ConstatError):
            database.load_frame("days", other.sql("SELECT DATE '2024-01-01' d"))


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (pd.DataFrame({"x": [1.0, float("nan")]}), "C0651"),
        (pd.DataFrame({"x": [1.5]}), "C0651"),
        (pd.DataFrame({"x": ["1", "ten"]}), "C0651"),
        (pd.DataFrame({"x": [2**64 - 1]}, dtype="uint64"), "C0651"),
        (pd.DataFrame({"x": [1], "y": [2]}), "C0650"),
    ],
)
def test_a_cell_that_is_no_value_is_told(frame: pd.DataFrame, code: str) -> None:
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.NUMBER,)))
        with pytest.raises(ConstatError) as caught:
            database.load_frame("r", frame)
        assert caught.value.diagnostics[0].code == code
        assert "ten" not in caught.value.diagnostics[0].message
        assert rows_of(database, "r") == set()


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1", "2", "ten"], "row 3 of what was given for `r`: column 1 is a number"),
        (
            ["1", None],
            "row 2 of what was given for `r`: column 1 is a number, and its cell is NULL",
        ),
        ([1.5], "is a fraction where an integer is declared"),
    ],
)
def test_a_cell_that_is_no_value_is_told_by_its_row_and_why(cells: list[object], said: str) -> None:
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.NUMBER,)))
        with pytest.raises(ConstatError) as caught:
            database.load_frame("r", pd.DataFrame({"x": cells}))
    assert said in caught.value.diagnostics[0].message


@pytest.mark.parametrize("beginning", [b"\x1f\x8b", b"\xef\xbb\xbf", b"\n"])
def test_a_beginning_that_duckdb_takes_in_another_way_is_read_by_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    path = tmp_path / "r.facts"
    path.write_bytes(beginning + b"1\n")
    file = FactFile(path, "r.facts", predicate((Kind.SYMBOL,)), (0,))
    called: list[FactFile] = []

    def reading(one: FactFile) -> Iterator[Row]:
        called.append(one)
        yield from ()

    monkeypatch.setattr(loading, "read_rows", reading)
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.SYMBOL,)))
        database.load_files("r", [file])
    assert called == [file]


def test_rows_that_replace_others_leave_no_table_behind() -> None:
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.NUMBER,)))
        tables = []
        for number in (1, 2, 3):
            database.keep("r", (np.array([number]),))
            assert rows_of(database, "r") == {(number,)}
            found = database.connection.driver.execute("SELECT count(*) FROM duckdb_tables()")
            tables.append(found.fetchone())
        assert len(set(tables)) == 1


def test_a_decimal_has_as_many_places_as_its_column() -> None:
    least = Decimal(1).scaleb(-trees.PLACES)
    assert trees.checked_decimal(least) == least
    for wrong in (least.scaleb(-1), Decimal(10) ** (38 - trees.PLACES), Decimal("NaN")):
        with pytest.raises(StrategyError, match="Decimal needs more"):
            trees.checked_decimal(wrong)


def test_structures_of_a_frame_are_read_as_their_type() -> None:
    numbers = Column("x", "number", Kind.NUMBER)
    types = Structures({"Option": (Branch("$None", ()), Branch("$Some", (numbers,)))})
    columns = (Column("o", "Option", Kind.STRUCTURE, structures=types),)
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.STRUCTURE,)))
        good = pd.DataFrame({"o": ["$Some( 1 )", "$None()", "$Some(1)"]})
        database.load_frame("r", good, columns)
        assert rows_of(database, "r") == {("$Some(1)",), ("$None",)}
        for bad in ("$Some(x)", "[1]", "nil", "$Other", ""):
            with pytest.raises(ConstatError) as caught:
                database.load_frame("r", pd.DataFrame({"o": [bad]}), columns)
            assert caught.value.diagnostics[0].code == "C0651"


def test_a_query_reads_parquet_and_an_attached_file(tmp_path: Path) -> None:
    parquet, file = tmp_path / "a.parquet", tmp_path / "b.duckdb"
    with duckdb.connect() as writer:
        writer.execute(f"COPY (SELECT 1 AS x, 'a' AS s) TO '{parquet}'")
    with duckdb.connect(str(file)) as writer:
        writer.execute("CREATE TABLE q AS SELECT 2 AS x, 'b' AS s")
    with Database(Resources(threads=1), allowed=[parquet, file]) as database:
        database.declare(relation((Kind.NUMBER, Kind.SYMBOL)))
        read_parquet = sqlglot.parse_one(
            f"SELECT * FROM read_parquet('{parquet}')", dialect="duckdb"
        )
        assert isinstance(read_parquet, sqlglot.exp.Query)
        database.load_query("r", read_parquet, {})
        attached = sqlglot.parse_one("SELECT x, s FROM other.q", dialect="duckdb")
        assert isinstance(attached, sqlglot.exp.Query)
        database.load_query("r", attached, {"other": file})
        assert rows_of(database, "r") == {(1, "a"), (2, "b")}


def test_rows_that_match_an_atom_are_selected() -> None:
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.SYMBOL, Kind.SYMBOL, Kind.NUMBER), encoded=True))
        database.load_rows("r", [("a", "a", 1), ("a", "b", 1), ("b", "b", 2)])
        same = Atom("r", (Variable("x"), Variable("x"), Constant(1, Kind.NUMBER)))
        assert database.select("r", same).fetchall() == [("a", "a", 1)]
        text = Atom("r", (Constant("b", Kind.SYMBOL), Variable("y"), Variable("n")))
        assert database.select("r", text).fetchall() == [("b", "b", 2)]


@pytest.mark.parametrize("value", ["0.0000000000001", "99999999999999999999999999999999999999"])
def test_a_constant_that_no_column_holds_matches_no_row(value: str) -> None:
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.DECIMAL,)))
        database.load_rows("r", [(Decimal("1.5"),), (Decimal(0),)])
        atom = Atom("r", (Constant(Decimal(value), Kind.DECIMAL),))
        assert database.select("r", atom).fetchall() == []


def test_rows_are_written_as_separated_texts(tmp_path: Path) -> None:
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.SYMBOL, Kind.FLOAT, Kind.DECIMAL), encoded=True))
        database.load_rows("r", [('a"b', 1e22, Decimal("1.5"))] * 2)
        database.connection.seal()
        path = tmp_path / "r.csv"
        assert database.write_separated("r", path, ";", header=("x", "y", "z")) == 1
        assert path.read_text(encoding="utf-8") == 'x;y;z\na"b;1e+22;1.5\n'


def test_estimates_need_no_distinct_rows() -> None:
    with Database(Resources(threads=1)) as database:
        database.declare(relation((Kind.NUMBER, Kind.SYMBOL)))
        database.load_rows("r", [(place, "a") for place in range(1000)])
        assert database.estimate("r") == 1000
        assert 800 < database.distinct_estimate("r", 0) < 1200
        assert database.distinct_estimate("r", 1) == 1
