"""Hostile fact files and folders: a clear error with its place, never a crash or a leak."""

from __future__ import annotations

import gzip
import os
import stat
from pathlib import Path

import pytest

from constat.catalog import fact_files
from tests.cli.running import run, run_process
from tests.run.places import ENGINES, Place, codes

NUMBERS = ".decl p(x: number)\n.input p\n.output p\n"
TEXTS = ".decl p(x: symbol)\n.input p\n.output p\n"
PAIRS = ".decl p(x: number, y: symbol)\n.input p(rfc4180=true)\n.output p\n"
COMMAS = '.decl p(x: number, y: symbol)\n.input p(delimiter=",")\n.output p\n'
engines = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@engines
@pytest.mark.parametrize(
    ("program", "content", "code", "said"),
    [
        (TEXTS, b"a\nb\0c\n", "C0600", "line 2"),
        (TEXTS, b"a\n\xff\xfe\n", "C0602", "line 2"),
        (TEXTS, b"\xed\xa0\x80\n", "C0602", "line 1"),
        (NUMBERS, b"1\n\n2\n", "C0600", "line 2"),
        (NUMBERS, b"1e3\n", "C0600", "line 1"),
        (NUMBERS, b"1 \n", "C0600", "line 1"),
        (NUMBERS, b"0x1\n", "C0600", "line 1"),
        (NUMBERS, b"1_000\n", "C0600", "line 1"),
        (NUMBERS, "\N{ARABIC-INDIC DIGIT ONE}\n".encode(), "C0600", "line 1"),
        (NUMBERS, b"+-1\n", "C0600", "line 1"),
        (NUMBERS, b"++1\n", "C0600", "line 1"),
        (NUMBERS, b"1" * 5000 + b"\n", "C0600", "line 1"),
        (PAIRS, b'1,"a\n2,b\n', "C0602", "line 1"),
        (PAIRS, b'1,"a"b\n', "C0602", "line 1"),
        (PAIRS, b'1,a"b\n', "C0602", "line 1"),
        (PAIRS, b"1,a\n2\n", "C0601", "line 2"),
        (COMMAS, b"1,a\n2,[b,c\n", "C0602", "line 2"),
        (COMMAS, b"1,a\n2,b]\n", "C0602", "line 2"),
        (COMMAS, b"1,[a,b]c\n", "C0602", "line 1"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(
    place: Place, engine: str, program: str, content: bytes, code: str, said: str
) -> None:
    place.fact("p.facts", content)
    ran = place.run(program, engine=engine)
    assert ran.code == 2
    assert code in codes(ran)
    assert said in ran.err
    assert "p.facts" in ran.err
    assert place.results() == {}


@engines
def test_a_cell_is_never_quoted(place: Place, engine: str) -> None:
    place.fact("p.facts", "secret\x1b[31m\n")
    ran = place.run(NUMBERS, engine=engine)
    assert "secret" not in ran.err
    assert "\x1b" not in ran.err


@engines
def test_a_line_without_end_is_refused(
    place: Place, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_files, "LONGEST_LINE", 1000)
    place.fact("p.facts", b"1\n" + b"2" * 2000)
    ran = place.run(NUMBERS, engine=engine)
    assert ran.code == 2
    assert "line 2" in ran.err


def test_a_quote_that_is_never_closed_fills_no_memory(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_files, "LONGEST_LINE", 1000)
    place.fact("p.facts", b'1,"' + b"a\n" * 4000)
    ran = place.run(PAIRS)
    assert codes(ran)[0] == "C0116" or "C0602" in codes(ran)
    assert "longer than 1000 bytes" in ran.err


@engines
def test_links_out_of_the_folder_are_refused(place: Place, engine: str) -> None:
    outside = place.folder / "outside.facts"
    outside.write_text("1\n", encoding="utf-8")
    (place.folder / "facts" / "p.facts").symlink_to(outside)
    ran = place.run(NUMBERS, engine=engine)
    assert ran.code == 2
    assert "C0605" in codes(ran)


def test_links_inside_the_folder_are_followed(place: Place) -> None:
    place.fact("real.facts", "1\n")
    (place.folder / "facts" / "p.facts").symlink_to("real.facts")
    assert place.run(NUMBERS).code == 0
    assert place.results() == {"p.csv": "1\n"}


def test_a_result_is_not_written_through_a_link_out_of_the_folder(place: Place) -> None:
    place.fact("p.facts", "1\n")
    outside = place.folder / "outside.csv"
    outside.write_text("mine", encoding="utf-8")
    (place.folder / "results" / "p.csv").symlink_to(outside)
    ran = place.run(NUMBERS)
    assert ran.code == 2
    assert outside.read_text(encoding="utf-8") == "mine"


def test_links_in_a_circle_are_no_file(place: Place) -> None:
    (place.folder / "facts" / "p.facts").symlink_to("p.facts")
    assert place.run(NUMBERS).code == 2


@engines
def test_a_folder_or_a_pipe_is_no_fact_file(place: Place, engine: str) -> None:
    path = place.folder / "facts" / "p.facts"
    path.mkdir()
    assert "C0603" in codes(place.run(NUMBERS, engine=engine))
    path.rmdir()
    os.mkfifo(path)
    ran = place.run(NUMBERS, engine=engine)
    assert ran.code == 2
    assert "C0603" in codes(ran)


def test_a_name_with_a_nul_or_too_long_is_refused(place: Place) -> None:
    for name, code in (("a\\0b", "C0103"), ("a\0b", "C0107"), ("x" * 5000, "C0603")):
        ran = place.run(f'.decl p(x: number)\n.input p(filename="{name}")\n.output p\n')
        assert codes(ran) == [code], ran.err


def test_a_packed_file_is_unpacked_and_a_damaged_one_refused(place: Place) -> None:
    packed = gzip.compress(b"1\n2\n")
    place.fact("p.facts", packed)
    assert place.run(NUMBERS).code == 0
    assert place.results() == {"p.csv": "1\n2\n"}
    place.fact("p.facts", packed[:-9])
    ran = place.run(NUMBERS)
    assert "C0603" in codes(ran)
    place.fact("p.facts", packed[:12] + b"\xff\xff" + packed[14:])
    assert place.run(NUMBERS).code == 2


def test_a_result_can_be_packed(place: Place) -> None:
    program = ".decl p(x: number)\np(1).\n.output p(compress=true)\n"
    assert place.run(program).code == 0
    content = (place.folder / "results" / "p.csv.gz").read_bytes()
    assert gzip.decompress(content) == b"1\n"
    assert place.run(program).code == 0
    assert (place.folder / "results" / "p.csv.gz").read_bytes() == content


@engines
def test_a_carriage_return_before_a_line_end_is_dropped_and_the_last_line_needs_no_end(
    place: Place, engine: str
) -> None:
    place.fact("p.facts", b"a\r\nb\rc\r\nd")
    assert place.run(TEXTS, engine=engine).code == 0
    assert (place.folder / "results" / "p.csv").read_bytes() == b"a\nb\rc\nd\n"


def test_a_pipe_is_not_replaced_by_a_result(place: Place) -> None:
    place.fact("p.facts", "1\n")
    pipe = place.folder / "results" / "p.csv"
    os.mkfifo(pipe)
    ran = place.run(NUMBERS)
    assert "C0607" in codes(ran)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_folders_that_do_not_exist_are_named(place: Place) -> None:
    (place.folder / "facts").rmdir()
    ran = place.run(NUMBERS)
    assert "C0606" in codes(ran)
    assert "--facts" in ran.err
    (place.folder / "results").rmdir()
    ran = place.run(".decl p(x: number)\np(1).\n.output p\n")
    assert "C0606" in codes(ran)
    assert "--output" in ran.err


def test_an_error_leaves_old_results_as_they_were(place: Place) -> None:
    old = place.folder / "results" / "a.csv"
    old.write_text("old\n", encoding="utf-8")
    program = (
        ".decl n(x: number)\nn(0).\n.decl a(x: number)\na(1).\n.output a\n"
        ".decl b(x: number)\nb(1 / x) :- n(x).\n.output b\n"
    )
    ran = place.run(program)
    assert ran.code == 2
    assert place.results() == {"a.csv": "old\n"}


def test_a_result_that_cannot_be_written_leaves_no_temporary_file(place: Place) -> None:
    (place.folder / "results" / "p.csv").mkdir()
    place.fact("p.facts", "1\n")
    ran = place.run(NUMBERS)
    assert ran.code == 2
    assert "C0607" in codes(ran)
    assert list((place.folder / "results").iterdir()) == [place.folder / "results" / "p.csv"]


def test_a_result_keeps_the_rights_of_the_file_before(place: Place) -> None:
    place.fact("p.facts", "1\n")
    target = place.folder / "results" / "p.csv"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    assert place.run(NUMBERS).code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    ran = run("run", tmp_path / "none.dl")
    assert ran.code == 2
    assert "none.dl" in ran.err


def test_rows_come_from_the_standard_input(place: Place) -> None:
    path = place.folder / "program.dl"
    path.write_text(".decl p(x: number)\n.input p(IO=stdin)\n.output p\n", encoding="utf-8")
    ran = run_process("run", str(path), "-D-", "-w", "--engine", "reference", given=b"2\n1\n")
    assert (ran.code, ran.out) == (
        0,
        "---------------\np\nx\n===============\n1\n2\n===============\n",
    )


def test_the_folders_default_to_the_current_one(place: Place) -> None:
    path = place.folder / "program.dl"
    path.write_text(NUMBERS, encoding="utf-8")
    (place.folder / "p.facts").write_text("3\n", encoding="utf-8")
    ran = run_process("run", str(path), "-w", "--engine", "reference", cwd=place.folder)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (place.folder / "p.csv").read_text(encoding="utf-8") == "3\n"
