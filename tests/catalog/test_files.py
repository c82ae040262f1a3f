"""CSV, Parquet and JSON lines: nothing is guessed, nothing damaged is taken for no rows."""

from __future__ import annotations

import csv
import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.catalog import (
    Question,
    ReadBounds,
    SourceFailureError,
    duck_session,
    open_connection,
)
from constat.catalog.duck_session import DuckSession
from constat.catalog.file_tables import (
    LastLines,
    find_table,
    find_tables,
    guess_cells,
    guess_files,
    has_parts,
    state_name,
)
from constat.catalog.files import FilesConnection, header_of
from constat.diagnostics import ConstatError
from constat.logic import OPEN, find_locale
from constat.project import load_project
from constat.project.files import TableFiles
from tests.tiers.building import Setting, configured, declare, open_rows, reasons, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.catalog import Connection
    from constat.catalog.file_tables import Mark
    from constat.evaluation import Answer

pytestmark = pytest.mark.sampled(3)

PREDICATE = "p(x: symbol, y: symbol)"
QUERY = "SELECT x, y FROM t"


def settle(
    folder: Path, files: dict[str, bytes | str], *, table: str = "", query: str = QUERY
) -> Setting:
    """Write files and a project with the table `t` over the first of them, or over `table`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    named = table or next(iter(files))
    text = f'databases: {{sales: {{files: {{t: "{named}"}}}}}}'
    return configured(folder, text, declare(PREDICATE, query))


def told(folder: Path, name: str, content: bytes | str) -> Answer:
    return settle(folder, {name: content}).ask("p")


def parquet(folder: Path, name: str, query: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{folder / name}' (FORMAT parquet)")


def fails(answer: Answer, reason: str, code: str) -> None:
    assert answer.answered == frozenset()
    assert rows(answer) == set()
    assert open_rows(answer) == {(OPEN, OPEN)}
    assert reason in reasons(answer)
    assert f"[{code}]" in reasons(answer)


# Separated values.


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("x,y\n1,a\n", {("1", "a")}),
        ("x,y\n1,a", {("1", "a")}),
        ("x,y\r\n1,a\r\n2,b\r\n", {("1", "a"), ("2", "b")}),
        ("x,y\r1,a\r2,b\r", {("1", "a"), ("2", "b")}),
        ("\ufeffx,y\n1,a\n", {("1", "a")}),
        ("x,y\n", set()),
        ("x,y", set()),
        ("x,y\n\n1,a\n\n", {("1", "a")}),
        ('x,y\n"1,5","say ""a"""\n', {("1,5", 'say "a"')}),
        ('x,y\n"a\nb","c\r\nd"\n', {("a\nb", "c\r\nd")}),
        ("x,y\n 1 , a \n", {(" 1 ", " a ")}),
        ("y,x\na,1\n", {("1", "a")}),
        ("y,x,z\na,1,\n", {("1", "a")}),
        ('"x","y"\n1,a\n', {("1", "a")}),
        ("X,Y\n1,a\n", {("1", "a")}),
        ("x,y\n#1,a\n", {("#1", "a")}),
        ("x,y\n00123,1e3\n", {("00123", "1e3")}),
        ("x,y\n2026-01-31,true\n", {("2026-01-31", "true")}),
        ("x,y\nNA,null\nN/A,NULL\n", {("NA", "null"), ("N/A", "NULL")}),
        ("x,y\né,💥\n", {("é", "💥")}),
        ('x,y\n1,A"b\n', {("1", 'A"b')}),
    ],
)  # fmt: skip
def test_fields_are_the_text_that_is_written(
    tmp_path: Path, content: str, expected: set[tuple[str, str]]
) -> None:
    answer = told(tmp_path, "t.csv", content)
    assert rows(answer) == expected
    assert answer.answered == {()}
    assert answer.openings == ()


def test_an_empty_field_is_null_and_an_empty_text_is_a_text(tmp_path: Path) -> None:
    answer = told(tmp_path, "t.csv", 'x,y\n1,\n2,""\n')
    assert rows(answer) == {("2", "")}
    assert open_rows(answer) == {("1", OPEN)}


def test_tabs_separate_where_the_name_says_so(tmp_path: Path) -> None:
    assert rows(told(tmp_path, "t.tsv", "x\ty\n1,5\ta b\n")) == {("1,5", "a b")}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "t.csv has no first line that names its columns"),
        ("\n", "t.csv has no first line that names its columns"),
        ("x,y\n1,a\n2\n3,c\n", "t.csv, line 3, has 1 field; 2 are named"),
        ("x,y\n1,a\n2,b,c\n3,c\n", "t.csv, line 3, has 3 fields; 2 are named"),
        ("x,y\n1,a\n2", "t.csv, line 3, has 1 field; 2 are named"),
        ('x,y\n1,a\n2,"b\n3,c\n', "t.csv, line 3, has a quote that is not closed"),
        ('x,y\n1,"a"b\n', "t.csv, line 2, has a quote that is not closed, or text behind it"),
        (b"x,y\n1,a\n2,M\xfcller\n", "UTF-8"),
        (b"x,y\n1,a\n" + b"2,b\n" * 9_000 + b"3,M\xfcller\n", "t.csv, line 9003, is not UTF-8"),
        ("x,y\n1,a\n".encode("utf-16"), "UTF-8"),
        (b"PAR1\x00\x00\x00", "usable name"),
        ("x,x\n1,a\n", "names two columns `x`"),
        ("x,X\n1,a\n", "names two columns `X`"),
        ("x,\n1,a\n", "no usable name for its column 2"),
        ('x,"y\nz"\n1,a\n', "first line that names no columns"),
        ("x" * 3_000_000, "first line that names no columns"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_damaged_values_are_told_by_their_line(
    tmp_path: Path, content: bytes | str, reason: str
) -> None:
    answer = told(tmp_path, "t.csv", content)
    fails(answer, reason, "C0543")
    assert "ller" not in reasons(answer)
    assert str(tmp_path) not in reasons(answer)


def test_text_is_compared_with_numbers_only_after_a_cast(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"t.csv": "x,y\n9,a\n10.5,b\n"}
    with pytest.raises(ConstatError, match=r"C0515(.|\n)*cast"):
        settle(tmp_path, files, query="SELECT x, y FROM t WHERE x > 9").ask("p")
    found = settle(tmp_path, files, query="SELECT x, y FROM t WHERE x::DECIMAL(9, 2) > 10")
    assert rows(found.ask("p")) == {("10.5", "b")}


# JSON lines.


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"x": "a", "y": "b"}\n', {("a", "b")}),
        ('{"x": "a", "y": "b"}', {("a", "b")}),
        ('\ufeff{"x":"a","y":"b"}\r\n\r\n{"y":"d","x":"c"}\n', {("a", "b"), ("c", "d")}),
        ('{"x": 12345678901234567890123456789, "y": 10.10}\n',
         {("12345678901234567890123456789", "10.10")}),
        ('{"x": true, "y": -0.1e-5}\n', {("true", "-0.1e-5")}),
        ('{"x": "\\u00e9\\n\\ud83d\\udca5", "y": ""}\n', {("é\n💥", "")}),
        ('{"x": {"k": [1, 2.50]}, "y": []}\n', {('{"k": [1, 2.50]}', "[]")}),
        ('{"x": "a", "y": "b", "z": null}\n{"x": "c", "y": "d", "w": 1}\n',
         {("a", "b"), ("c", "d")}),
        (' { "x" : "a" , "y" : "b" } \n', {("a", "b")}),
    ],
)  # fmt: skip
def test_members_are_read_as_they_are_written(
    tmp_path: Path, content: str, expected: set[tuple[str, str]]
) -> None:
    answer = told(tmp_path, "t.jsonl", content)
    assert rows(answer) == expected
    assert answer.answered == {()}


def test_null_and_missing_members_are_null(tmp_path: Path) -> None:
    answer = told(tmp_path, "t.ndjson", '{"x": "1", "y": null}\n{"x": "2"}\n{"x": "", "y": ""}\n')
    assert rows(answer) == {("", "")}
    assert open_rows(answer) == {("1", OPEN), ("2", OPEN)}


def test_members_of_objects_are_taken_apart_in_the_query(tmp_path: Path) -> None:
    line = '{"x": 1, "o": {"city": "Z\\u00fcrich", "tags": ["a"]}}\n'
    query = "SELECT x, o->>'$.city' FROM t"
    found = settle(tmp_path, {"t.jsonl": line}, query=query)
    assert rows(found.ask("p")) == {("1", "Zürich")}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "holds no object that would name columns"),
        ("\n\n", "holds no object that would name columns"),
        ("{}\n", "holds no object that would name columns"),
        ('{"x": 1, "y": 2}\n{"x": 1,\n', "t.jsonl, line 2, is no JSON object"),
        ('{"x": 1, "y": 2}\n[1, 2]\n', "line 2, is no JSON object"),
        ('{"x": 1, "y": 2} {"x": 3}\n', "line 1, is no JSON object"),
        ('{"x": 1, "y": 2}]\n', "line 1, is no JSON object"),
        ('{"x": 1, "x": 2}\n', "line 1, is no JSON object"),
        ('{"x": NaN}\n', "line 1, is no JSON object"),
        ('{"x": 1 "y": 2}\n', "line 1, is no JSON object"),
        ('{"x": 01}\n', "line 1, is no JSON object"),
        ("{'x': 1}\n", "line 1, is no JSON object"),
        ("{1: 2}\n", "line 1, is no JSON object"),
        ('{"x": "a\tb"}\n', "line 1, is no JSON object"),
        ('{"x": ' + "[" * 100_000 + "}\n", "line 1, is no JSON object"),
        ('{"x": "\\ud800", "y": 1}\n', "line 1, is not UTF-8"),
        (b'{"x": "\xff", "y": 1}\n', "line 1, is not UTF-8"),
        ('{"x": 1, "X": 2}\n', "names two columns `X`"),
        ('{"x": 1}\n{"X": 2}\n', "names two columns `X`"),
        ('{"": 1}\n', "no usable name for its column 1"),
        ("{" + ",".join(f'"c{n}": 1' for n in range(2_100)) + "}\n", "more than 2,000 columns"),
    ],
    ids=lambda one: str(one)[:30],
)  # fmt: skip
def test_damaged_lines_are_told_by_their_number(
    tmp_path: Path, content: bytes | str, reason: str
) -> None:
    fails(told(tmp_path, "t.jsonl", content), reason, "C0543")


# Parquet.


def test_parquet_has_types_of_its_own(tmp_path: Path) -> None:
    parquet(tmp_path, "t.parquet", "SELECT '00123' AS x, 10.50::DECIMAL(9, 2) AS y")
    text = "databases: {sales: {files: {t: t.parquet}}}"
    found = configured(tmp_path, text, declare("p(x: symbol, y: Decimal)", QUERY))
    assert rows(found.ask("p", (0,), ("00123",))) == {("00123", Decimal("10.5"))}
    assert "WHERE" in found.queries[0].query


@pytest.mark.parametrize("damage", ["short", "text", "empty", "page"])
def test_a_damaged_parquet_file_is_told(tmp_path: Path, damage: str) -> None:
    query = "SELECT (i * 7919)::VARCHAR AS x, md5(i::VARCHAR) AS y FROM range(9000) AS r(i)"
    parquet(tmp_path, "t.parquet", query)
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    if damage == "page":
        content[1_000:3_000] = b"\xff" * 2_000
    damaged = {"short": bytes(content[:-200]), "text": b"x,y\n1,a\n" * 9, "empty": b""}
    answer = told(tmp_path, "t.parquet", damaged.get(damage, bytes(content)))
    assert answer.answered == frozenset()
    assert "C0543" in reasons(answer)
    assert str(tmp_path) not in reasons(answer)


def test_an_arrow_file_that_takes_too_much_memory_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(*_: object, **__: object) -> None:
        raise SourceFailureError(duck_session.NEEDS_MEMORY)

    monkeypatch.setattr(DuckSession, "take", take)
    answer = told(tmp_path, "t.arrows", b"\xff\xff\xff\xff\0\0\0\0")
    fails(answer, duck_session.NEEDS_MEMORY, "C0520")


LONG = "repeat('x', 200_000) AS x, 'a' AS y FROM range(40)"


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        (f"SELECT {LONG}", True),
        (f"SELECT {LONG} UNION ALL SELECT NULL, NULL", True),
        (f"SELECT repeat('y', 200_000)::BLOB AS z, {LONG.replace('200_000', '2')}", True),
        (f"SELECT {LONG.replace('range(40)', 'range(4)')}", False),
        ("SELECT repeat('x', 60_000) || (i // 90) AS x, 'a' AS y FROM range(360) AS r(i)", False),
        ("SELECT i || repeat('x', 70_000) AS x, 'a' AS y FROM range(40) AS r(i)", False),
    ],
)
def test_a_long_text_that_stands_once_for_many_rows_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, *, refused: bool
) -> None:
    monkeypatch.setattr(duck_session, "_MOST_TEXT", 1 << 21)
    parquet(tmp_path, "t.parquet", query)
    answer = settle(tmp_path, {}, table="t.parquet").ask("p")
    if refused:
        fails(answer, "t.parquet says 7 MiB of text, and its footer 0 MiB", "C0543")
    else:
        assert "MiB" not in reasons(answer)


@pytest.mark.parametrize(
    "other", ["1.5 AS x, 'c' AS y", "'b' AS y, 2 AS x", "2 AS x", "2 AS x, 'c' AS y, 3 AS z"]
)
def test_parquet_files_of_a_table_have_the_same_columns(tmp_path: Path, other: str) -> None:
    parquet(tmp_path, "a.parquet", "SELECT 1 AS x, 'a' AS y")
    parquet(tmp_path, "b.parquet", f"SELECT {other}")
    answer = settle(tmp_path, {}, table="*.parquet").ask("p")
    fails(answer, "b.parquet has other columns or types than the first file", "C0543")


# Patterns and places.


def test_a_pattern_is_all_its_files(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "data/o-1.csv": "x,y\n1,a\n",
        "data/o-2.csv": "x,y\n2,b\n",
        "data/other.csv": "x,y\n3,c\n",
    }
    found = settle(tmp_path, files, table="data/o-*.csv")
    assert rows(found.ask("p")) == {("1", "a"), ("2", "b")}
    found.tiers.release()
    (tmp_path / "data/o-3.csv").write_text("x,y\n4,d\n")
    assert rows(found.ask("p")) == {("1", "a"), ("2", "b"), ("4", "d")}
    found.tiers.release()
    (tmp_path / "data/o-1.csv").unlink()
    assert rows(found.ask("p")) == {("2", "b"), ("4", "d")}


def test_files_of_other_columns_are_no_part_of_a_table(tmp_path: Path) -> None:
    found = settle(tmp_path, {"a.csv": "x,y\n1,a\n", "b.csv": "y,x\n1,a\n"}, table="*.csv")
    fails(found.ask("p"), "b.csv has other columns than the first file of its table", "C0543")


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("none.csv", "there is no file none.csv"),
        ("none-*.csv", "no file matches `none-*.csv`"),
        ("folder.csv", "there is no file folder.csv"),
        ("out.csv", "leads out of the project"),
        ("linked-*.csv", "leads out of the project"),
        ("odd[[]1].csv", "holds one of `*?[`"),
    ],
)
def test_what_is_no_file_of_the_project_is_told(tmp_path: Path, table: str, reason: str) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text("x,y\nsecret,a\n")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "folder.csv").mkdir()
    (folder / "out.csv").symlink_to(outside)
    (folder / "linked-1.csv").symlink_to(outside)
    (folder / "odd[1].csv").write_text("x,y\n1,a\n")
    fails(settle(folder, {}, table=table).ask("p"), reason, "C0541")


def test_a_link_inside_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("x,y\n1,a\n")
    (tmp_path / "t.csv").symlink_to(tmp_path / "real.csv")
    assert rows(settle(tmp_path, {}, table="t.csv").ask("p")) == {("1", "a")}


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("everything may be read by root")
    found = settle(tmp_path, {"t.csv": "x,y\n1,a\n"})
    (tmp_path / "t.csv").chmod(0)
    assert found.ask("p").answered == frozenset()


def test_a_damaged_file_harms_its_own_table_only(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("x,y\n1,a\n")
    (tmp_path / "bad.csv").write_text("x,y\n1\n")
    text = "databases: {sales: {files: {good: good.csv, bad: bad.csv, gone: gone.csv}}}"
    found = configured(
        tmp_path,
        text,
        declare("g(x: symbol, y: symbol)", "SELECT x, y FROM good"),
        declare("b(x: symbol, y: symbol)", "SELECT x, y FROM bad"),
    )
    assert "C0543" in reasons(found.ask("b"))
    found.tiers.release()
    assert rows(found.ask("g")) == {("1", "a")}
    # Repaired, it answers.
    found.tiers.release()
    (tmp_path / "bad.csv").write_text("x,y\n1,b\n")
    assert rows(found.ask("b")) == {("1", "b")}


def one_row(path: Path, number: int) -> None:
    """Write the row `number, a` into a file as it is; its size stays the same."""
    if path.suffix == ".parquet":
        aside = path.with_name("aside")
        parquet(path.parent, aside.name, f"SELECT '{number}' AS x, 'a' AS y")
        path.write_bytes(aside.read_bytes())
    elif path.suffix == ".csv":
        path.write_text(f"x,y\n{number},a\n")
    else:
        path.write_text(f'{{"x": {number}, "y": "a"}}\n')


@pytest.fixture(params=["t.csv", "t.jsonl", "t.parquet"])
def two_files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Setting]:
    """Give a file of each kind, and a project that reads it and another one."""
    path = tmp_path / request.param
    one_row(path, 1)
    (tmp_path / "other.csv").write_text("x,y\n1,a\n")
    other = declare("o(x: symbol, y: symbol)", "SELECT x, y FROM other")
    text = f"databases: {{sales: {{files: {{t: {path.name}, other: other.csv}}}}}}"
    return path, configured(tmp_path, text, declare(PREDICATE, QUERY), other)


def test_a_file_that_changes_while_it_is_read_is_a_failure(two_files: tuple[Path, Setting]) -> None:
    path, found = two_files
    assert rows(found.ask("o")) == {("1", "a")}
    one_row(path, 2)
    answer = found.ask("p")
    assert answer.answered == frozenset()
    assert "changed while it was read [C0542]" in reasons(answer)
    found.tiers.release()
    assert rows(found.ask("p")) == {("2", "a")}


def test_a_file_whose_size_and_time_stay_the_same_is_seen_to_change(
    two_files: tuple[Path, Setting],
) -> None:
    path, found = two_files
    first = path.stat()

    def rewrite(number: int) -> None:
        one_row(path, number)
        os.utime(path, ns=(first.st_atime_ns, first.st_mtime_ns))
        present = path.stat()
        for name in ("st_ino", "st_size", "st_mtime_ns"):
            assert getattr(present, name) == getattr(first, name)

    assert rows(found.ask("o")) == {("1", "a")}
    rewrite(2)
    answer = found.ask("p")
    assert answer.answered == frozenset()
    assert "changed while it was read [C0542]" in reasons(answer)
    found.tiers.release()
    assert rows(found.ask("p")) == {("2", "a")}
    rewrite(3)
    found.tiers.release()
    assert rows(found.ask("p")) == {("3", "a")}


@pytest.mark.parametrize("ahead", [0, 1])
def test_where_times_are_whole_seconds_a_second_writing_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    def coarse(file: Path) -> Mark:
        about = file.stat()
        seconds = (about.st_ctime_ns // 10**9 + ahead) * 10**9
        return about.st_dev, about.st_ino, about.st_size, 0, seconds

    monkeypatch.setattr("constat.catalog.file_tables.mark_of", coarse)
    (tmp_path / "t.csv").write_text("x,y\n1,a\n")
    found = find_tables({"t": TableFiles("t.csv")}, tmp_path)
    assert found["t"].marks
    (tmp_path / "t.csv").write_text("x,y\n2,a\n")
    assert find_table(TableFiles("t.csv"), tmp_path) != found["t"]


def test_a_file_that_is_written_all_the_time_has_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n")
    monkeypatch.setattr("time.sleep", lambda _: path.write_text("x,y\n2,a\n"))
    assert find_tables({"t": TableFiles("t.csv")}, tmp_path)["t"].marks == ()


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_parquet_is_held_against_its_beginning_after_each_query(tmp_path: Path, how: str) -> None:
    query = "SELECT '{}' AS x, 'a' AS y UNION ALL SELECT '2', 'b'"
    parquet(tmp_path, "t.parquet", query.format(1))
    found = settle(tmp_path, {}, table="t.parquet")
    assert rows(found.ask("p", (0,), ("2",))) == {("2", "b")}
    (tmp_path / "t.parquet").unlink()
    if how == "changed":
        parquet(tmp_path, "t.parquet", query.format(3))
    answer = found.ask("p", (0,), ("1",))
    assert answer.answered == frozenset()
    assert "C0542" in reasons(answer)
    found.tiers.release()
    expected = {("3", "a")} if how == "changed" else set()
    assert rows(found.ask("p", (0,), ("3",))) == expected


def test_what_was_loaded_is_kept_as_long_as_its_file_stays(tmp_path: Path) -> None:
    found = settle(tmp_path, {"t.csv": "x,y\n1,a\n2,b\n"})
    assert rows(found.ask("p", (0,), ("1",))) == {("1", "a")}
    (tmp_path / "t.csv").write_text("x,y\n1,z\n2,b\n")
    # One state is being read: what was loaded is that state.
    assert rows(found.ask("p", (0,), ("2",))) == {("2", "b")}
    found.tiers.release()
    assert rows(found.ask("p", (0,), ("1",))) == {("1", "z")}


# Nothing else can be read.


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Connection]:
    (tmp_path / "t.csv").write_text("x,y\n1,a\n")
    (tmp_path / "other.csv").write_text("x,y\nsecret,a\n")
    (tmp_path / "constat.yaml").write_text("databases: {sales: {files: {t: t.csv}}}")
    project = load_project(tmp_path)
    found = open_connection(project.databases["sales"], project.folder, 5)
    yield found
    found.close()


def test_only_the_named_files_can_be_read(source: Connection, tmp_path: Path) -> None:
    source.begin()
    # The last line of defence alone: nothing of this has been guarded.
    for text in (
        f"SELECT * FROM read_csv('{tmp_path}/other.csv')",
        f"SELECT * FROM '{tmp_path}/other.csv'",
        "SELECT * FROM read_text('/etc/passwd')",
        f"SELECT * FROM glob('{tmp_path}/*')",
        f"COPY (SELECT 1) TO '{tmp_path}/new.csv'",
        "SET enable_external_access = true",
        f"SET allowed_paths = ['{tmp_path}/other.csv']",
        "INSTALL httpfs",
    ):
        with pytest.raises(Exception, match=r"allowed|cannot|says") as caught:
            list(source.read(Question(text), ReadBounds(5, 10)))
        assert "secret" not in str(caught.value)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["constat.yaml", "other.csv", "t.csv"]


def test_loading_has_a_bound_and_may_be_tried_again(tmp_path: Path) -> None:
    lines = "".join(f'{{"x": "{n}", "y": "a"}}\n' for n in range(60_000))
    (tmp_path / "t.jsonl").write_text(lines)
    source = FilesConnection({"t": TableFiles("t.jsonl")}, tmp_path, 0.01)
    source.begin()
    with pytest.raises(SourceFailureError, match=r"did not finish within 0\.01 s"):
        source.columns(QUERY)
    source._seconds = 60
    assert source.columns(QUERY) == ("x", "y")
    source.close()


def test_loading_is_stopped_by_control_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jsonl").write_text('{"x": "1", "y": "a"}\n')
    source = FilesConnection({"t": TableFiles("t.jsonl")}, tmp_path, 5)
    source.begin()

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(DuckSession, "check_time", stop)
        with pytest.raises(KeyboardInterrupt):
            source.columns(QUERY)
    assert source.columns(QUERY) == ("x", "y")
    source.close()


# ------------------------------------------------------------------ as others write them


def every_row(answer: Answer) -> set[object]:
    return {*rows(answer), *open_rows(answer)}


def written_as(folder: Path, name: str, content: bytes, said: str, predicate: str) -> Setting:
    """Give a project over one file, with what is said of how it is written."""
    (folder / name).write_bytes(content)
    text = f'databases: {{sales: {{files: {{t: {{file: "{name}", {said}}}}}}}}}'
    return configured(folder, text, declare(predicate, "SELECT * FROM t"))


GERMAN = 'id;name;price;day\n1;Müller €;1.234,50;31.12.2025\n2;;12;1.2.2026\n3;"";NA;NA\n'
SAID = 'separator: ";", null: {price: [NA], day: [NA]}, locale: {price: de_DE, day: de_DE}'
INVOICE = (
    "p(id: number, @[null = unknown] name: symbol, @[null = unknown] price: Decimal,"
    " @[null = unknown] day: Date)"
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1252"])
def test_a_file_is_read_as_its_country_writes(tmp_path: Path, encoding: str) -> None:
    said = f"{SAID}, encoding: {encoding}"
    setting = written_as(tmp_path, "t.csv", GERMAN.encode(encoding), said, INVOICE)
    assert every_row(setting.ask("p")) == {
        (1, "Müller €", Decimal("1234.5"), "2025-12-31"),
        (2, OPEN, Decimal(12), "2026-02-01"),
        (3, "", OPEN, OPEN),
    }


def test_several_files_of_another_encoding_are_all_read(tmp_path: Path) -> None:
    for number, name in enumerate(("Müller", "Größe", "x")):
        content = f"x,y\n{number},{name}\n"
        (tmp_path / f"t-{number}.csv").write_bytes(content.encode("iso-8859-1"))
    text = 'databases: {sales: {files: {t: {file: "t-*.csv", encoding: iso-8859-1}}}}'
    answer = configured(tmp_path, text, declare(PREDICATE, QUERY)).ask("p")
    assert rows(answer) == {("0", "Müller"), ("1", "Größe"), ("2", "x")}


def test_what_is_not_in_the_encoding_is_damage(tmp_path: Path) -> None:
    setting = written_as(tmp_path, "t.csv", b"x,y\n1,\x81\n", "encoding: windows-1252", PREDICATE)
    fails(setting.ask("p"), "t.csv is not windows-1252", "C0543")
    setting = written_as(tmp_path, "u.csv", b"x,y\n1,\xfc\n", 'null: ["-"]', PREDICATE)
    fails(setting.ask("p"), "is not UTF-8; `encoding: windows-1252`, or another", "C0543")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "x,y\nNA,1\n-,NA\n"),
        ("t.tsv", "x\ty\nNA\t1\n-\tNA\n"),
        ("t.jsonl", '{"x": "NA", "y": "1"}\n{"x": "-", "y": "NA"}\n'),
        ("t.json", '[{"x": "NA", "y": 1}, {"x": "-", "y": "NA"}]'),
    ],
)
def test_a_text_for_no_value_holds_for_its_columns(tmp_path: Path, name: str, content: str) -> None:
    predicate = "p(x: symbol, @[null = unknown] y: number)"
    setting = written_as(tmp_path, name, content.encode(), "null: {y: [NA]}", predicate)
    assert every_row(setting.ask("p")) == {("NA", 1), ("-", OPEN)}
    predicate = "p(@[null = unknown] x: symbol, @[null = unknown] y: number)"
    setting = written_as(tmp_path, name, content.encode(), 'null: ["-", NA]', predicate)
    assert every_row(setting.ask("p")) == {(OPEN, 1), (OPEN, OPEN)}


def test_lines_above_the_names_of_columns_are_skipped(tmp_path: Path) -> None:
    content = b'Export, of\n"2025, all"\nx,y\na,1\n'
    predicate = "p(x: symbol, y: number)"
    setting = written_as(tmp_path, "t.csv", content, "skip: 2", predicate)
    assert rows(setting.ask("p")) == {("a", 1)}


def test_a_column_that_is_not_there_is_no_silent_mistake(tmp_path: Path) -> None:
    setting = written_as(tmp_path, "t.csv", b"x,y\n1,2\n", "null: {z: [NA]}", PREDICATE)
    fails(setting.ask("p"), "has no column `z`, which `constat.yaml` names", "C0543")


def test_a_number_of_another_country_is_not_read_plainly(tmp_path: Path) -> None:
    predicate = "p(x: symbol, y: Decimal)"
    content = b"x;y\na;1.5\nb;1,5\n"
    said = 'separator: ";", locale: {y: de_DE}'
    setting = written_as(tmp_path, "t.csv", content, said, predicate)
    answer = setting.ask("p")
    assert rows(answer) == {("b", Decimal("1.5"))}
    assert any("y" in reason for reason in reasons(answer))


def test_another_way_to_read_a_file_is_another_state_of_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,NA\n")
    plain, other = TableFiles("t.csv"), TableFiles("t.csv", null={"y": ("NA",)})
    states = [state_name(find_tables({"t": one}, tmp_path)) for one in (plain, other, plain)]
    assert states[0] == states[2] != states[1]


# ------------------------------------------------------------------------- what is guessed


@pytest.mark.parametrize(
    ("content", "separator", "encoding"),
    [
        (b"a,b\n1,2\n", "", "utf-8"),
        (b"a\n1\n", "", "utf-8"),
        (b"a;b\n1;2,5\n2;3\n", ";", "utf-8"),
        (b"a|b,c\n1|2\n", "|", "utf-8"),
        (b"a\tb\n1\t2\n", "\t", "utf-8"),
        (b'a,b\n"x;y","z;w"\n', "", "utf-8"),
        ("a,b\nü,2\n".encode(), "", "utf-8"),
        ("a,b\nü,2\n".encode("latin-1"), "", "windows-1252"),
        ("a;b\nü;2\n".encode("utf-16"), ";", "utf-16"),
        (b"", "", "utf-8"),
        (b"Export of 2025\n\na;b\n1;2\n3;4\n5;6\n7;8\n9;1\n", ";", "utf-8"),
        (b"a;b\n\x81;2\n", ";", "cp850"),
        (b'a;b\n1;"x\ny"\n2;"z\nw"\n', ";", "utf-8"),
        (b"a;b;c\n1;2;3\n4;5\n6;7;8\n9;1;2\n", ";", "utf-8"),
    ],
)
def test_separator_and_encoding_are_guessed(
    tmp_path: Path, content: bytes, separator: str, encoding: str
) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    found, _ = guess_files(tmp_path / "t.csv", "t.csv")
    assert (found.separator, found.encoding) == (separator, encoding)
    assert found.skip == (2 if content.startswith(b"Export") else 0)


VALUES = (
    st.integers(0, 9999).map(str),
    st.integers(100, 999_999).map(lambda one: f"{one // 100},{one % 100:02}"),
    st.integers(100, 999_999).map(lambda one: f"{one // 100}.{one % 100:02} EUR"),
    st.integers(1, 28).map(lambda one: f"{one:02}.03.2025"),
    st.sampled_from(["Meier, Hans", "Huber, Eva", "A|B, C", "x; y"]),
    st.sampled_from(["10:30", "Meier", "", "a b"]),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    """A separator, and a table whose first row names its columns."""
    width = draw(st.integers(2, 5))
    columns = [draw(st.sampled_from(VALUES)) for _ in range(width)]
    names = [
        draw(st.sampled_from(["{}", "n{}, EUR", "n{} of x"])).format(f"c{n}") for n in range(width)
    ]
    rows = draw(st.lists(st.tuples(*columns).map(list), min_size=1, max_size=8))
    return draw(st.sampled_from(";,\t|")), [names, *rows]


@given(tables(), st.booleans(), st.sampled_from(["", "Report\n", "Report, 2025; A\n\n"]))
@settings(max_examples=200)
def test_no_table_is_taken_for_another_one(
    tmp_path_factory: pytest.TempPathFactory,
    written: tuple[str, list[list[str]]],
    quoted: bool,  # noqa: FBT001  drawn
    above: str,
) -> None:
    separator, table = written
    file = tmp_path_factory.mktemp("t") / "t.csv"
    with file.open("w", newline="") as opened:
        opened.write(above)
        writer = csv.writer(opened, delimiter=separator, quoting=csv.QUOTE_MINIMAL)
        if quoted:
            writer = csv.writer(opened, delimiter=separator, quoting=csv.QUOTE_ALL)
        writer.writerows(table)
    try:
        found, _ = guess_files(file, "t.csv")
        read = [header_of(file, found), *LastLines(file, found).rows()]
    except SourceFailureError:
        return
    held = [row for row in table if any(row)]
    # Lines that are not split show it in the names; those of other widths are never read.
    assert read == held or len(read[0]) == 1 or len({*map(len, read)}) > 1


@pytest.mark.parametrize(
    ("content", "separator"),
    [
        ("no;amount\n1001;7,50\n1002;8,50\n", ";"),
        ("no\tamount\n1001\t7,50\n1002\t8,50\n", "\t"),
        ("no;name\n1;Meier, Hans\n2;Huber, Eva\n", ";"),
        ("day;rate\n01.03.2025;1,01\n02.03.2025;1,02\nSum 2,03\n", ";"),
        ('"no";"name"\n"1";"Meier, Hans"\n"2";"Huber, Eva"\n', ";"),
        ("Sales, 2025\n\nno;amount\n1;7,50\n2;8,50\n", ";"),
    ],
)
def test_decimal_commas_separate_nothing(tmp_path: Path, content: str, separator: str) -> None:
    (tmp_path / "t.csv").write_text(content)
    found, _ = guess_files(tmp_path / "t.csv", "t.csv")
    assert (found.separator, found.skip) == (separator, 2 if "Sales" in content else 0)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("no;amount, EUR\n1;7,50\n2;8,50\n", 'write `separator: ","` or `separator: ";"` beside'),
        ("no:amount\n1001:7,50\n1002:8,50\n", 'is separated by "," from line 2 on only'),
        ("no:name\n1:Meier, Hans\n2:Huber, Eva\n", "a line above may name the columns"),
        ("amount\n7,50\n8,50\n", "a line above may name the columns"),
        ("Sales; 2025\n\nno;amount\n1;7\n", "has an empty line below line 1, which may be a title"),
    ],
)
def test_a_separator_that_cannot_be_told_is_not_guessed(
    tmp_path: Path, content: str, reason: str
) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(SourceFailureError, match="separator") as problem:
        guess_files(tmp_path / "t.csv", "t.csv")
    assert reason in problem.value.reason


def test_a_file_that_is_separated_otherwise_is_told_so(tmp_path: Path) -> None:
    answer = told(tmp_path, "t.csv", "x;y\n1;7,50\n2;8,50\n")
    fails(answer, 'has 2 fields; 1 are named; write `separator: ";"` beside `file`', "C0543")


@pytest.mark.parametrize(
    ("above", "skip"),
    [
        ("Liste;;;\n", 1),
        ("Liste;;;\nMandant;001;;\n\n", 3),
        ("Liste;;;\nStand: 30.09.\n", 2),
        ("Liste\n", 1),
        ("", 0),
        # No title fills most of the columns, and then nothing is known.
        ("a;b;c;\n", 0),
    ],
)
def test_titles_stand_above_the_names_with_separators_or_without(
    tmp_path: Path, above: str, skip: int
) -> None:
    content = f"{above}no;name;amount;day\n1;x;2,5;1.1.2025\n2;;;\n3;z;1;\n"
    (tmp_path / "t.csv").write_text(content)
    assert guess_files(tmp_path / "t.csv", "t.csv")[0].skip == skip
    setting = written_as(
        tmp_path, "t.csv", content.encode(), 'separator: ";"', "p(no: number, name: symbol)"
    )
    if skip:
        fails(setting.ask("p"), f"in line {skip + 1}, write `skip: {skip}` beside `file`", "C0543")


@pytest.mark.parametrize(
    ("cells", "null", "locale", "doubtful"),
    [
        (["1", "NA", "2.5", None], ("NA",), "", ""),
        (["2026-01-01", "-", "N/A"], ("-", "N/A"), "", ""),
        (["1.234,5", "12", "NA"], ("NA",), "de_DE", ""),
        (["31.12.2025", "1.2.2026"], (), "de_DE", ""),
        (["1,234.5", "12"], (), "en_US", ""),
        (["12/31/2025", "1/2/2026"], (), "en_US", ""),
        (["1/2/2026", "3/4/2026"], (), "", "column X means other values in other countries: it"),
        (["1,234", "5,678"], (), "", "column X means other values in other countries: it"),
        (["31.12.25", "1.2.26"], (), "", "column X holds years of two digits"),
        (["31.12.25", "1.2.2026"], (), "", "column X holds years of two digits"),
        (["31.12.25", "x"], (), "", ""),
        (["NA", "DE", "FR"], (), "", "column X holds NA: write it under `null`"),
        (["NA", "NA"], (), "", "column X holds NA"),
        (["18.000", "9.400"], (), "", "every number of column X is written like 1.234"),
        (["18.000", "9.4"], (), "", ""),
        (["18.000", "0.400"], (), "", ""),
        (["a", "b"], (), "", ""),
        ([None, None], (), "", ""),
    ],
)
def test_words_for_no_value_and_spellings_are_guessed(
    cells: list[str | None], null: tuple[str, ...], locale: str, doubtful: str
) -> None:
    found, doubts = guess_cells(TableFiles("t.csv"), {"X": cells})
    assert found.null.get("x", ()) == null
    assert found.locale["x"].name == locale if locale else "x" not in found.locale
    assert len(doubts) == bool(doubtful)
    assert "".join(doubts).startswith(doubtful)


def test_other_columns_say_what_a_point_between_digits_is() -> None:
    columns = {"day": ["31.12.2025"], "fee": ["1,50"], "x": ["18.000", "9.400"]}
    found, doubts = guess_cells(TableFiles("t.csv", ";"), columns)
    assert (found.locale["x"].name, doubts) == ("de_DE", [])


def test_other_columns_say_what_a_comma_between_digits_is() -> None:
    found, _ = guess_cells(TableFiles("t.csv"), {"fee": ["1,200.5"], "x": ["5,000", "1,000"]})
    assert found.locale["x"].name == "en_US"


@pytest.mark.parametrize(
    ("cells", "unit", "locale"),
    [
        (["($1,200.50)", "$5"], "$", "en_US"),
        (["$1.5", "$2"], "$", ""),
        (["5 %", "2,5 %"], "%", "de_DE"),
        (["1.200,50- EUR", "3,00 EUR"], "EUR", "de_DE"),
        (["$5", "5"], "", ""),
        (["$5", "\u20ac5"], "", ""),
        (["C101", "C102"], "", ""),
        (["03/04/24", "12/25/23"], "", ""),
    ],
)
def test_a_unit_is_guessed_where_all_numbers_have_it(
    cells: list[str], unit: str, locale: str
) -> None:
    found, doubts = guess_cells(TableFiles("t.csv"), {"X": cells})
    assert found.unit.get("x", "") == unit
    assert (found.locale["x"].name if found.locale else "") == locale
    said = {"03/04": "two digits", "$5,5": "in $ and without a", "$5,\u20ac5": "in $ and in \u20ac"}
    wanted = next((text for one, text in said.items() if ",".join(cells)[: len(one)] == one), "")
    assert (len(doubts), wanted in "".join(doubts)) == (bool(wanted), True)


def test_nothing_is_doubted_that_is_said() -> None:
    columns = {
        "a": ["1.234"],
        "b": ["1/2/2026"],
        "c": ["NA", "DE"],
        "d": ["$5", "\u20ac5"],
        "e": ["1.1.25"],
    }
    said = TableFiles(
        "t.csv",
        null={"c": ("-",)},
        locale={one: one_of for one in "abe" if (one_of := find_locale("en_US"))},
        unit={"d": "$"},
    )
    assert len(guess_cells(TableFiles("t.csv"), columns)[1]) == 5
    assert guess_cells(said, columns)[1] == []
    # JSON writes numbers in one way.
    assert guess_cells(TableFiles("t.json"), {"a": ["1.234"]})[1] == []


@pytest.mark.parametrize(
    ("last", "footer", "doubtful"),
    [
        ("Summe;;1.200,75", ("Summe",), ""),
        ("Total:;;1.200,75", ("Total",), ""),
        ("Summe EUR;;1.200,75", ("Summe EUR",), ""),
        ("Summe;;", ("Summe",), ""),
        ("Zwischensumme;;1.200,75\nMwSt;;228,14\nGesamt;;1.428,89", 3, ""),
        ("Zwischensumme;;1.200,75\nSumme;;1.200,75", ("Zwischensumme", "Summe"), ""),
        ("Gesamt;;1.200,75\n\n* ohne MwSt;;\nStand 1.1.2025", ("Gesamt",), ""),
        (";;1.200,75", 1, ""),
        ("Summe;;1.200,74", ("Summe",), "the last line says Summe and holds no sum of the rows"),
        ("Mittelwert;;600,38", ("Mittelwert",), ""),
        ("Anzahl;3;", ("Anzahl",), ""),
        ("Max;b;17,00", None, "a line near the end says Max: write `footer: [Max]` where"),
        ("3;b;1.200,75", None, ""),
        (";b;1.200,74", None, ""),
        ("Summe Handels AG;b;1.200,75", None, ""),
    ],
)
def test_last_lines_of_sums_are_no_rows(
    tmp_path: Path, last: str, footer: object, doubtful: str
) -> None:
    (tmp_path / "t.csv").write_text(f"n;x;y\n1;a;1.200,50\n2;b;0,25\n5;c;k.A.\n{last}\n")
    found, doubts = guess_files(tmp_path / "t.csv", "t.csv")
    if footer == 3:
        footer = ("Zwischensumme", "MwSt", "Gesamt")
    assert (found.footer, "".join(doubts)[: len(doubtful)]) == (footer, doubtful)
    assert bool(doubts) == bool(doubtful)


@pytest.mark.parametrize(
    ("last", "checked"),
    [
        ("Summe;;1.200,75", ("Summe",)),
        ("Anzahl;3;", ("Anzahl",)),
        ("Zwischensumme;;1.200,75\nMwSt;;228,14\nGesamt;;1.428,89", ("Zwischensumme",)),
        ("Gesamt;;1.200,75\n\n* ohne MwSt;;\nStand 1.1.2025", ("Gesamt",)),
        ("Summe;;1.200,74", ()),
        ("Summe;;", ()),
        (";;1.200,75", ()),
    ],
)
def test_a_last_line_that_agrees_with_the_rows_has_to(
    tmp_path: Path, last: str, checked: tuple[str, ...]
) -> None:
    (tmp_path / "t.csv").write_text(f"n;x;y\n1;a;1.200,50\n2;b;0,25\n5;c;k.A.\n{last}\n")
    assert guess_files(tmp_path / "t.csv", "t.csv")[0].checked == checked


# --------------------------------------------------------------------- units and footers


def test_numbers_are_read_with_their_unit_alone(tmp_path: Path) -> None:
    content = b"x,y\na,($1.50)\nb,$2-\nc,3\nd,\xe2\x82\xac4\ne,$5\n"
    setting = written_as(tmp_path, "t.csv", content, 'unit: {y: "$"}', "p(x: symbol, y: Decimal)")
    answer = setting.ask("p")
    found = {("a", Decimal("-1.5")), ("b", Decimal(-2)), ("e", Decimal(5))}
    assert rows(answer) == found


def test_lines_below_the_rows_are_left_out(tmp_path: Path) -> None:
    content = b"x,y\na,1\nb,2\nTotal,3\nprinted in May\n\n"
    predicate = "p(x: symbol, y: number)"
    setting = written_as(tmp_path, "t.csv", content, "footer: 2", predicate)
    assert rows(setting.ask("p")) == {("a", 1), ("b", 2)}
    setting = written_as(tmp_path, "u.csv", content, "footer: 20", predicate)
    fails(setting.ask("p"), "has no footer of 20 lines", "C0543")


def test_a_table_of_texts_has_its_separator(tmp_path: Path) -> None:
    predicate = "p(x: symbol, y: number)"
    setting = written_as(tmp_path, "t.txt", b"x|y\na|1\n", 'separator: "|"', predicate)
    assert rows(setting.ask("p")) == {("a", 1)}
    setting = written_as(tmp_path, "t.tab", b"x\ty\na\t1\n", "encoding: utf-8", predicate)
    assert rows(setting.ask("p")) == {("a", 1)}


ROWS = "x,y\na,1\nb,2\n"
AMOUNTS = "p(x: symbol, y: number)"
MAY = "footer: {optional: [Total]}"


@pytest.mark.parametrize(
    ("footer", "below", "reason"),
    [
        ("footer: [Total]", "Total,3\n", ""),
        ("footer: {optional: [Total]}", "", ""),
        ("footer: {optional: Total}", "Total,3", ""),
        ("footer: {required: [Total], optional: [Seen by]}", "Total,3\nSeen by,me\n", ""),
        ("footer: {required: [Total], optional: [Seen by]}", "Total,3\n", ""),
        ("footer: Total", "total 2025:,3\n\n", ""),
        ("footer: [Total]", "Total,3\n,\n* printed in May,\n", ""),
        ("footer: [Subtotal, Total]", "Subtotal,3\nTotal,3\n", ""),
        ("footer: [Sum]", '"Sum",3\n"a ""note""\nof two lines",\n', ""),
        ("footer: 1", "Total,3\n", ""),
        ("footer: 1", ",3\n", ""),
        ("footer: 1", "printed in May\n", ""),
        ("footer: [Total rows]", "Total rows,2\n", ""),
        # Without a line that has to be there the file may be cut off.
        ("footer: {checked: [Total]}", "Total,3\n", ""),
        ("footer: {checked: [Sum], required: Seen by}", "Sum,3\nSeen by,me\n", ""),
        ("footer: {checked: [Rows]}", "Rows,2\n", ""),
        (
            "footer: {checked: [Total]}",
            "Total,4\n",
            "`Total` does not agree with the 2 lines above",
        ),
        ("footer: {checked: [Total]}", "Total,4\n", "write `footer: {required: [Total]}` beside"),
        ("footer: {checked: [Rows]}", "Rows,5\n", "`Rows` does not agree with the 2 lines above"),
        ("footer: {checked: [Total]}", "", "begins with `Total`, as its `footer` says, so it may"),
        ("footer: [Total]", "", "begins with `Total`, as its `footer` says, so it may be cut off"),
        ("footer: [Total]", "", "write `footer: {optional: [Total]}` beside `file`"),
        ("footer: [Sum, Total]", "Sum,3\n", "begins with `Total`"),
        ("footer: {required: Total}", "c,4\n", "begins with `Total`"),
        ("footer: [Total]", "Total,3\nc,4\n", "one stands 1 line above the end"),
        ('footer: ["Total,3"]', "Total,3\n", "more than one field; write how the first one"),
        ("footer: [Total]", "Total rows,2\n", "write `footer: [Total rows]`"),
        # Not only sums stand below the rows, and a word that names no row is enough.
        ("", "Average,1.5\n", "write `footer: {checked: [Average]}`"),
        ("", "Mittelwert,2\n", "write `footer: {checked: [Mittelwert]}`"),
        ("", "Anzahl,2\n", "write `footer: [Anzahl]`"),
        ("", "Max,2\nMin,1\n", "write `footer: {checked: [Max, Min]}`"),
        ("", "Total,4\n", "write `footer: {checked: [Total]}`"),
        ("", "Endsaldo,1000\n", "write `footer: [Endsaldo]`"),
        ("", "North Total,3\nc,4\nd,5\nSouth Total,9\n", "may hold totals among its rows"),
        ("", "c,4\nSumme Nord,7\n" + "d,5\n" * 60, "may hold totals among its rows"),
        ("", "# lines: 2,\n", "ends with 1 line below its rows"),
        ("", "a total,\nb total,\n", "ends with 2 lines below its rows"),
        ("", "c,4\nTotal,7\n" + "d,5\n" * 60, "may hold totals among its rows"),
        # What leaves out a row, or reads a total as one, is told, and gives no rows at all.
        ("footer: 1", "", "one of the last 1 line, which `footer: 1` leaves out, looks like a row"),
        ("footer: 2", "Total,3\n", "looks like a row"),
        ("footer: 1", ",4\n", "looks like a row"),
        ("footer: 1", "Subtotal,3\nTotal,3\n", "ends with 1 line below its rows, totals"),
        (
            "footer: [Total]",
            "Sum,3\n",
            "write `footer: {checked: [Sum]}` beside `file`, or `footer: 0`",
        ),
        ("", "Total,3\n", "write `footer: {checked: [Total]}` beside `file`, or `footer: 0`"),
        ("", "Subtotal,3\nTotal,3\n", "write `footer: [Subtotal, Total]`"),
        ("", ",3\n", "write `footer: 1`"),
        ("", "Total,3\nc,4\nTotal,4\n", "may hold totals among its rows"),
        ("", ",3\nc,4\nd,5\n,9\n", "may hold totals among its rows"),
        ("encoding: windows-1252", "Total,3\n", "write `footer: {checked: [Total]}`"),
    ],
)
def test_no_row_is_lost_below_and_no_total_is_a_row(
    tmp_path: Path, footer: str, below: str, reason: str
) -> None:
    said = footer or 'null: ["-"]'
    setting = written_as(tmp_path, "t.csv", (ROWS + below).encode(), said, AMOUNTS)
    if reason:
        fails(setting.ask("p"), reason, "C0543")
    else:
        assert rows(setting.ask("p")) == {("a", 1), ("b", 2)}


def test_rows_without_a_name_are_totals_where_they_hold_the_sums_of_groups() -> None:
    group = [("a", "1"), ("b", "2")]
    assert has_parts([*group, ("", "3"), *group, ("", "3")])
    assert has_parts([*group, ("x", ""), *group, ("", "3"), *group, ("", "3")])
    assert not has_parts([*group, ("", "3"), *group])
    assert not has_parts([*group, ("", "3"), *group, ("", "4"), *group, ("", "5")])


@pytest.mark.parametrize(
    ("footer", "content", "expected"),
    [
        ("footer: 0", ROWS + "Total,3\n", {("a", 1), ("b", 2), ("Total", 3)}),
        ('null: ["-"]', ROWS + "Max,4\n", {("a", 1), ("b", 2), ("Max", 4)}),
        ('null: ["-"]', ROWS + "Average,2.5\n", {("a", 1), ("b", 2)}),
        (MAY, "x,y\nTotal,1\nb,2\n", {("Total", 1), ("b", 2)}),
        (MAY, 'x,y\na,1\n"b\nTotal",2\n', {("a", 1), ("b\nTotal", 2)}),
        (MAY, "x,y\nTotal Oil,1\n", {("Total Oil", 1)}),
    ],
)
def test_what_is_a_row_stays_one(
    tmp_path: Path, footer: str, content: str, expected: set[object]
) -> None:
    setting = written_as(tmp_path, "t.csv", content.encode(), footer, AMOUNTS)
    assert rows(setting.ask("p")) == expected


@pytest.mark.parametrize(
    ("content", "setting"),
    [
        ("Report,May\nid,n\n1,2\n2,3\n", TableFiles("t.csv", skip=1)),
        ("List;Stand;2025\nid;name;n\n1;a;2\n2;b;3\n", TableFiles("t.csv", ";", skip=1)),
        ("id,n\nNA,NA\n1,2\n2,3\n", TableFiles("t.csv")),
        ("id,n\na,b\nc,d\ne,f\n", TableFiles("t.csv")),
        ("x;1\ny;2\n\na;b;c;d\n1;2;3;4\n", TableFiles("t.csv", ";", skip=3)),
    ],
)
def test_titles_with_as_many_fields_as_the_table_are_none_of_it(
    tmp_path: Path, content: str, setting: TableFiles
) -> None:
    assert guess(tmp_path, content.encode()) == setting


MANY = [f"a{one}" for one in range(10)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("values", "last", "seen"),
    [
        (["2.50", "17.25"], "3.5", True),
        (["2.50", "17.25"], "3", True),
        (["2.50", "17.25"], "3.75", False),
        (["2.50", "17"], "3.7", False),
        (["2025-01-31", "2025-02-28"], "2025-0", True),
        (["2025-01-31", "2025-02-28"], "unknown", False),
        (["open", "closed"], "clo", True),
        (["open", "closed"], "sold", False),
        (["open", "closed"], "open", False),
        (["0012", "0013"], "00", True),
        (["12", "130"], "7", False),
        (["ab", "cd"], "", True),
    ],
)
def test_a_file_that_ends_within_a_value_is_refused(
    tmp_path: Path, values: list[str], last: str, encoding: str, *, seen: bool
) -> None:
    body = "".join(f"{one},{values[place % 2]}\n" for place, one in enumerate(MANY))
    declared = "p(x: symbol, y: symbol)"
    for content, footer, fits in (
        (f"x,y\n{body}z,{last}", "null: [NA]", not seen),
        (f"x,y\n{body}z,{last}\n", "null: [NA]", True),
        (f"x,y\n{body}z,{last}", "footer: 0", True),
    ):
        said = f"{footer}, encoding: {encoding}"
        answer = written_as(tmp_path, "t.csv", content.encode(encoding), said, declared).ask("p")
        if fits:
            assert len(rows(answer)) + len(open_rows(answer)) == len(MANY) + 1
        else:
            fails(answer, "t.csv ends within a line", "C0543")


def test_what_a_large_file_ends_with_is_seen(tmp_path: Path) -> None:
    # Longer than the part at the end that is looked at.
    many = "".join(f"{one:060},{one % 7}\n" for one in range(20_000))
    total = sum(one % 7 for one in range(20_000))
    content = f"x,y\n{many}Total,{total}\n".encode()
    assert guess(tmp_path, content).footer == ("Total",)
    setting = written_as(tmp_path, "t.csv", content, 'null: ["-"]', AMOUNTS)
    fails(setting.ask("p"), "write `footer: {checked: [Total]}`", "C0543")


def guess(folder: Path, content: bytes) -> TableFiles:
    (folder / "t.csv").write_bytes(content)
    return guess_files(folder / "t.csv", "t.csv")[0]


def test_a_footer_is_found_in_every_encoding(tmp_path: Path) -> None:
    text = "x;y\nä;1\nö;2\nüü;3\nSumme;6\n"
    for encoding in ("utf-8", "utf-16", "windows-1252"):
        assert guess(tmp_path, text.encode(encoding)).footer == ("Summe",)
        predicate = "p(x: symbol, y: number)"
        said = f'footer: [Summe], separator: ";", encoding: {encoding}'
        setting = written_as(tmp_path, "t.csv", text.encode(encoding), said, predicate)
        assert rows(setting.ask("p")) == {("ä", 1), ("ö", 2), ("üü", 3)}
