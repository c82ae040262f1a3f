"""One run reports every mistake, each where it is, and nothing else."""

from __future__ import annotations

import pytest

from constat.diagnostics import ConstatError, Diagnostic
from constat.syntax import exit_code, parse_text
from tests.syntax.reading import errors, places, read

FILE = """\
.decl tier(c: symbol, count: number)
.dcl wrong(x: symbol)
% tiers
p(?x) :- tier(?x, Gold), not q(?x).
p("abc) :- q(?x).
p(?x) :- q(?x)
p(?y) :- q(?y), ?y == 1.
q(?x :- p(?x).
q(?x) :- p(?x)) .
q(?z) :- p(?z), ?z > 2024-01-01.
.input nothing
q(1).
"""


def test_every_mistake_of_a_file_is_reported_in_its_place() -> None:
    assert places(FILE) == [
        "C0125@1:23",
        "C0126@2:1",
        "C0114@3:1",
        "C0116@4:19",
        "C0117@4:26",
        "C0101@5:3",
        "C0121@6:15",
        "C0118@7:20",
        "C0123@8:5",
        "C0123@9:15",
        "C0124@10:22",
        "C0144@11:8",
    ]


def test_what_is_right_is_read_in_spite_of_the_mistakes() -> None:
    program, _ = read(FILE)
    assert set(program.predicates) == {"tier"}
    assert [rule.id for rule in program.rules] == ["p.1", "p.2", "p.3", "q.1", "q.2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(?x) :- q(?x)\nr(?x) :- q(?x).", ["C0121@1:15"]),
        ("p(?x) :-\n  q(?x)\n  r(?x).", ["C0122@2:8"]),
        ("p(1)\np(2)\np(3).", ["C0121@1:5", "C0121@2:5"]),
        ("p(1)\n.decl p(x: number)", ["C0121@1:5"]),
        ("p(1)\n@[id = a]\np(2).", ["C0121@1:5"]),
        (".decl p(x: number\n.decl q(x: number)", ["C0123@1:18"]),
        (".decl p(x number)\np(1).", ["C0130@1:11"]),
        (".type T = [x: number, x: symbol]\n.type U <: [y: T]", ["C0194@1:23", "C0193@2:12"]),
        (".comp C { .decl a(x: number) a(1). b(2). }\np(1) p(2).", ["C0160@1:1", "C0121@2:5"]),
        ("@[a.b = 1] @[id = x]\np(?x) :- q(X).", ["C0128@1:4", "C0116@2:12"]),
        ("@[says = ]\np(1).", ["C0128@1:10"]),
        ("hello world, this is no rule\np(X).", ["C0130@1:7", "C0116@2:3"]),
        ("p(é).", ["C0106@1:3"]),
        ('p("a\nb").', ["C0102@1:3"]),
        ('p("a).\nq("b").', ["C0101@1:3"]),
        ('p("a).\nq(?x)) :- r(?x).', ["C0101@1:3", "C0123@2:6"]),
        ("p(1).\n/* open\nq(2) q(3).", ["C0113@2:1"]),
        ("p(1) :- q(2), .", ["C0130@1:15"]),
        ("p(?x) :- q(?x) :- r(?x).", ["C0130@1:16"]),
        (":- p(?x).", ["C0130@1:1"]),
        ("?- p(?x).", ["C0130@1:4"]),
        ("p(,).", ["C0130@1:3"]),
        ("p(?x,).", ["C0123@1:6"]),
        ("}", ["C0123@1:1"]),
        ("p", ["C0130@1:2"]),
    ],
)
def test_a_mistake_is_reported_once_and_where_it_is(text: str, expected: list[str]) -> None:
    assert places(text) == expected


def test_reporting_stops_after_two_hundred_errors() -> None:
    codes = errors("p(X).\n" * 1_000)
    assert codes == ["C0116"] * 200
    _, found = read("p(X).\n" * 1_000)
    assert found[-1].code == "C0157"


def test_a_text_that_is_no_rule_file_is_given_up() -> None:
    codes = errors("€" * 10_000)
    assert codes == ["C0105"] * 200


@pytest.mark.parametrize(
    "text",
    [
        "p(" + "(" * 10_000 + "1" + ")" * 10_000 + ").",
        "p(?x) :- " + "(" * 10_000 + "q(?x)" + ")" * 10_000 + ".",
        "p(?x) :- ?x = " + "cat(" * 10_000 + ".",
        "p(" + "- " * 10_000 + "1).",
        "p(1" + " + 1" * 10_000 + ").",
        "p(1" + " * 1" * 10_000 + ").",
    ],
)
def test_deep_nesting_is_an_error_and_no_crash(text: str) -> None:
    assert errors(text) == ["C0129"]


def test_unclosed_brackets_in_great_number_are_read_in_one_pass() -> None:
    assert errors("p(?x) :- " + "(" * 200_000)[:1] == ["C0129"]
    assert errors("{" * 100_000) != []
    assert errors("((" * 50_000 + "\n.decl p(x: number)") != []


def test_a_nesting_of_two_hundred_is_read() -> None:
    text = "p(?x) :- q(?x), ?x > " + "(" * 190 + "?x" + " + 1)" * 190 + "."
    assert errors(text) == []
    assert errors("p(?x) :- " + "(" * 200 + "q(?x)" + "; r(?x))" * 200 + ".") == []


def test_alternatives_that_multiply_are_an_error() -> None:
    assert errors("p(?x) :- " + ", ".join(["(q(?x); r(?x))"] * 9) + ".") == ["C0141"]
    assert errors("p(?x) :- " + ", ".join(["(q(?x); r(?x))"] * 5_000) + ".") == ["C0141"]
    assert errors("p(?x) :- " + ", ".join(["(q(?x); r(?x))"] * 8) + ".") == []


def test_refused_constructs_have_an_exit_code_of_their_own() -> None:
    _, refused = read(".comp C { }\n.limitsize p(n=1)\n.decl p(x: number) inline")
    assert exit_code(refused) == 78
    _, mixed = read(".comp C { }\np(X).")
    assert exit_code(mixed) == 2
    assert exit_code([]) == 2


def test_an_error_carries_its_diagnostics_sorted() -> None:
    _, found = read(FILE)
    error = ConstatError(found)
    assert [one.place for one in error.diagnostics] == sorted(one.place for one in found)


@pytest.mark.parametrize(
    "refused",
    [
        ".comp C { .decl a(x: number) }",
        ".init c = C",
        ".functor f(x: number): number",
        ".lattice L { }",
        ".limitsize p(n=3)",
        ".number_type N",
        ".symbol_type S",
        ".type T",
        ".decl p(x: number) eqrel",
        ".decl p(x: number) input",
        ".decl p(x: number, y: number) choice-domain x",
        ".decl p(x: c.T)",
        "p(?x) :- c.q(?x).",
        "p(?x) <= p(?y) :- ?x < ?y.",
        "p(?x) :- ?x = @f(1).",
        "p(?x) :- ?x = autoinc().",
        "#define X 1",
        '#include "x.dl"',
    ],
)
def test_a_construct_that_is_refused_exits_with_78(refused: str) -> None:
    _, found = read(refused)
    assert exit_code(found) == 78, found


def test_hints_are_noted_once_and_ignored() -> None:
    text = (
        '.pragma "provenance" "explain"\n.decl p(x: number) inline brie\n'
        ".decl q(x: number) brie\np(?x) :- q(?x).\n.plan 0: (1), 1: (1)\nq(1)."
    )
    program, found = read(text)
    assert [one.code for one in found] == ["C0156"] * 4
    assert {one.severity.value for one in found} == {"note"}
    assert [rule.id for rule in program.rules] == ["p.1", "q.1"]


def test_parse_text_of_a_huge_text_is_refused() -> None:
    found: list[Diagnostic] = []
    parse_text("p(1).\n" * 1_000_000, "big.dl", found)
    assert [one.code for one in found] == ["C0110"]


@pytest.mark.parametrize("written", ["key(a, b)", "key = a, b", "key(a,b)"])
def test_a_key_of_several_columns_has_an_edit_that_is_one(written: str) -> None:
    declared = ".decl d(a: symbol, b: number)\n"
    _, found = read(f"@[{written}]\n{declared}")
    edit = '@[key = "a, b"]'
    assert [(one.code, f"`{edit}`" in one.help) for one in found] == [("C0128", True)]
    assert errors(f"{edit}\n{declared}") == []
