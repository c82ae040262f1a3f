"""What stock Souffle would not load or would answer differently is named, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from constat.analysis import analyse
from constat.diagnostics import Diagnostic, Severity
from constat.diagnostics.catalogue import Entry, chapter
from constat.library import check_rules
from constat.library.portability import portability_notes
from constat.syntax import parse_text

PORTABILITY = [entry for entry in chapter("portability") if entry.code != "C0283"]
ROOT = Path(__file__).resolve().parents[2]


def notes(text: str) -> tuple[Diagnostic, ...]:
    found: list[Diagnostic] = []
    program = parse_text(text, "x.dl", found)
    analysed = analyse(program, found)
    assert analysed is not None, found
    return portability_notes(analysed, {"x.dl": text})


@pytest.mark.parametrize("entry", PORTABILITY, ids=lambda entry: entry.code)
def test_the_wrong_example_has_its_note_and_the_right_one_has_not(entry: Entry) -> None:
    assert entry.code in {one.code for one in notes(entry.wrong)}
    assert entry.code not in {one.code for one in notes(entry.right)}


@pytest.mark.parametrize("entry", PORTABILITY, ids=lambda entry: entry.code)
def test_a_note_is_a_warning_with_a_place_an_effect_and_an_edit(entry: Entry) -> None:
    for one in notes(entry.wrong):
        assert one.severity is Severity.WARNING
        assert one.span is not None
        assert one.label in {"Souffle 2.5 does not load this", "Souffle 2.5 answers differently"}
        assert one.note
        assert one.help


def test_the_catalogue_holds_each_code_once_in_order() -> None:
    codes = [entry.code for entry in PORTABILITY]
    assert codes == [f"C{number:04}" for number in (*range(260, 280), 284, 285, 286)]
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "constat" / "library").glob("portability*.py")
    )
    assert set(re.findall(r'"(C02\d\d)"', source)) == set(codes)


@pytest.mark.parametrize(
    "text",
    [
        ".decl p(x: number)\np(1).\n.decl q(x: number)\nq(?x + 1) :- p(?x), ?x < 3, !p(7).\n",
        '.decl p(x: symbol)\n.input p\n.decl q(x: symbol)\nq(cat(?x, ?x)) :- p(?x), ?x < "m".\n',
        '.decl p(x: number)\n.input p(IO=sqlite, filename="x.db", name="v")\n',
        ".decl p(x: number)\np(2147483647).\np(-2147483648).\n",
        ".decl p(x: unsigned)\np(4294967295u).\n",
        ".decl p(x: number)\n.input p\n.decl s(n: number)\ns(?n) :- ?n = max ?x : { p(?x) }.\n",
        '@[says = "{x} is here"] @[owner = me] .decl p(x: symbol)\n.input p\n',
        ".type Id <: symbol\n.decl p(x: Id)\n.input p\n.decl q(x: Id)\nq(as(?x, Id)) :- p(?x).",
        ".decl p(x: number)\n.input p\n.decl q(x: number)\nq(10 / ?x) :- p(?x), ?x != 0.\n",
        ".decl p(x: number)\n.input p\n.decl q(x: number)\nq(?x ^ 2 band 7 bor bnot 1) :- p(?x).\n",
        ".decl p(x: number)\n.input p\n.decl q(x: number)\nq(2 ^ ?x) :- p(?x), 0 <= ?x.\n",
        ".decl p(x: unsigned)\n.input p\n.decl q(x: unsigned)\nq(2 ^ ?x bshl 31) :- p(?x).\n",
        ".decl p(x: number)\n.input p\n.decl q(x: float)\nq(to_float(max(?x, 3))) :- p(?x).\n",
        ".decl p(x: number)\n.input p\n.decl q(x: number)\nq(?x bshr (?x band 31)) :- p(?x).\n",
        ".decl p(x: number)\n.input p\n.printsize p\n",
        "// it's a # comment\n.decl p(x: symbol)\np(\"it's #1\").\n",
    ],
)
def test_what_means_the_same_in_both_has_no_note(text: str) -> None:
    assert notes(text) == ()


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (".decl p(x: number)\np(2147483648).\np(-2147483649).\n", ["C0273", "C0273"]),
        (".decl p(x: unsigned)\np(4294967296u).\n", ["C0273"]),
        (
            ".decl p(x: number)\n.input p\n.decl q(x: number)\nq(1 / ?x) :- p(?x), p(?y), ?y != 0.",
            ["C0275"],
        ),
        (
            ".decl t(x: Timestamp)\n.input t\n.decl m(x: Timestamp)\nm(?m) :- ?m = max ?x : t(?x).",
            ["C0260", "C0260", "C0268"],
        ),
        (
            ".decl p(x: number)\n.input p\n.decl q()\nq() :- p(?x), (?x = 10 / ?x; ?x = 9 % ?x).",
            ["C0275", "C0275"],
        ),
    ],
)
def test_notes_are_given_for_each_place_once(text: str, codes: list[str]) -> None:
    assert [one.code for one in notes(text)] == codes


@pytest.mark.parametrize(
    ("rule", "codes"),
    [
        ("n(2 ^ ?x) :- n(?x).", ["C0276"]),
        ("n(2 ^ -1) :- n(_).", ["C0276"]),
        ("n(2 ^ ?x) :- n(?x), ?x > -5.", ["C0276"]),
        ("n(2 ^ ?x) :- n(?x), ?x <= 5.", ["C0276"]),
        ("f(?x ^ 2.0) :- f(?x).", ["C0276"]),
        ("n(1 bshl ?x) :- n(?x).", ["C0277"]),
        ("n(?x bshr 32) :- n(?x).", ["C0277"]),
        ("n(?x bshru (?x band 63)) :- n(?x).", ["C0277"]),
        ("n(to_number(?x)) :- f(?x).", ["C0278"]),
        ("u(to_unsigned(?x)) :- n(?x).", ["C0278"]),
        ("u(to_unsigned(?x)) :- n(?x), ?x >= 0.", []),
        ("n(to_number(?x)) :- s(?x).", ["C0271"]),
        ("f(to_float(?x)) :- n(?x).", []),
        ("n(1 bshl 31) :- n(0).", []),
    ],
)
def test_operators_that_the_machine_of_souffle_decides_have_a_note(
    rule: str, codes: list[str]
) -> None:
    columns = (("n", "number"), ("u", "unsigned"), ("f", "float"), ("s", "symbol"))
    declared = "".join(f".decl {name}(x: {kind})\n.input {name}\n" for name, kind in columns)
    assert [one.code for one in notes(declared + rule + "\n")] == codes


def test_the_edit_of_named_arguments_is_the_atom_by_position() -> None:
    text = ".decl p(x: number, y: symbol)\n.input p\n.decl q(x: number)\n"
    (note,) = notes(f'{text}q(?x) :- p(y = "a", x = ?x).\n')
    assert (note.code, note.help) == ("C0279", 'write `p(?x, "a")`')
    assert notes(f'{text}q(?x) :- p(?x, "a").\n') == ()


def test_a_check_reports_portability_only_where_it_is_asked_and_there_are_no_errors(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rules.dl"
    path.write_text(".decl d(x: Date)\n", encoding="utf-8")
    assert check_rules([path]).portability is None
    assert check_rules([path]).exit_code == 0
    asked = check_rules([path], portable=True)
    assert [one.code for one in asked.portability or ()] == ["C0262", "C0260"]
    assert asked.exit_code == 1
    path.write_text(".decl d(x: Dte)\n", encoding="utf-8")
    broken = check_rules([path], portable=True)
    assert (broken.portability, broken.exit_code) == (None, 2)
    path.write_text(".decl d(x: symbol)\n.input d\n", encoding="utf-8")
    assert check_rules([path], portable=True).exit_code == 0


def test_the_places_of_a_library_are_in_its_own_files() -> None:
    checked = check_rules([ROOT / "rules" / "customer-value"], portable=True)
    assert checked.portability
    assert all(one.span and one.span.source in checked.texts for one in checked.portability)
