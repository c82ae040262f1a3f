"""The laws of the layout, and what it looks like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.analysis import analyse
from constat.syntax import parse_text, print_program
from constat.syntax.argument_styles import ArgumentStyle
from constat.syntax.formatting import format_text
from constat.syntax.lexer import lex
from tests.syntax.strategies import programs

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic
    from constat.logic import Program

COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|(//[^\n]*|/\*.*?\*/)', re.DOTALL)
GAPS = (
    *(" ", "\n", "\t\n\n\n ", " // why\n", " /* in line */ ", "\n/* two\n   lines */\n"),
    *("\n// own\n\n\n", " /* a */ /* b */ ", "// one\n/* then */ ", "/**/ // é ☃ \n", "\r\n"),
)


def read(text: str) -> Program:
    found: list[Diagnostic] = []
    program = parse_text(text, "rules.dl", found)
    assert [one for one in found if one.severity.value == "error"] == [], text
    return program


def laid_out(text: str) -> str:
    found: list[Diagnostic] = []
    written = format_text(text, "rules.dl", found)
    assert written is not None, found
    return written


def comments(text: str) -> list[str]:
    found = (one.group(1) for one in COMMENT.finditer(text.replace("\r\n", "\n")))
    return [one.rstrip() for one in found if one]


def spread(text: str, gaps: list[str]) -> str:
    """Put gaps between the tokens of a text, as many as there are."""
    tokens = lex(text, "rules.dl", [])
    parts: list[str] = []
    behind = 0
    for place, start in enumerate(tokens.starts):
        parts.append(text[behind:start])
        if tokens.kinds[place] not in {"directive", "end"} and not tokens.adjacent(place):
            parts.append(gaps[place % len(gaps)])
        parts.append(text[start : tokens.ends[place]])
        behind = tokens.ends[place]
    return "".join(parts)


@pytest.mark.laws
@given(programs(), st.lists(st.sampled_from(GAPS), min_size=1, max_size=40))
def test_the_layout_obeys_its_laws(program: Program, gaps: list[str]) -> None:
    text = spread(print_program(program), gaps)
    written = laid_out(text)
    assert read(written) == read(text)
    assert laid_out(written) == written
    assert comments(written) == comments(text)
    assert "\n\n\n" not in re.sub(r"/\*.*?\*/", "c", written, flags=re.DOTALL)
    assert not written.startswith("\n")
    assert written.endswith("\n")


@pytest.mark.laws
@given(programs())
def test_a_printed_program_is_laid_out_without_changing_it(program: Program) -> None:
    written = laid_out(print_program(program))
    assert read(written) == program
    assert laid_out(written) == written


@given(programs(), st.lists(st.sampled_from(GAPS), min_size=1, max_size=40))
def test_names_of_arguments_come_and_go_without_changing_a_rule(
    program: Program, gaps: list[str]
) -> None:
    text = spread(print_program(program), gaps)
    plain = format_text(text, "rules.dl", [], style=ArgumentStyle.POSITIONAL)
    assert plain is not None
    assert not re.search(r"\bc0 =", plain)
    assert read(plain) == read(text)
    assert sorted(comments(plain)) == sorted(comments(text))
    assert read(laid_out(plain)) == read(text)


TOKENS = (
    *("p", "?x", "_", "1", "1.5", '"a//b"', "(", ")", "{", "}", "@[", "]", ",", ";", ":-", "."),
    *("[", "$", "$A", "$A(?x)", "|", "nil", "[1, ?x]", "T", "A {", "x: T", ".type T =", "B { }"),
    *(":", "=", "<", "-", "+", "!", "sum", "count", ".decl", ".type", ".input", "symbol", "<:"),
    *("// c\n", "/* c */", "/// d\n", "\n", " ", "\n.once\n", "p(?x) :- q(?x).\n", "q(1)."),
)


@given(st.lists(st.sampled_from(TOKENS), max_size=30).map(" ".join))
def test_whatever_has_no_errors_obeys_the_laws_and_nothing_else_is_written(text: str) -> None:
    found: list[Diagnostic] = []
    written = format_text(text, "rules.dl", found)
    if written is None:
        assert any(one.severity.value == "error" for one in found)
        return
    assert laid_out(written) == written
    assert comments(written) == comments(text)
    assert read(written) == read(text)


@given(st.text(max_size=60))
def test_no_text_makes_the_layout_fail(text: str) -> None:
    format_text(text, "rules.dl", [])


LONG = "?aaaaaaaaaaaaaaaaaaaaaaaa"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("p( ?x ):-q(?x) ,!r(?x).", "p(?x) :- q(?x), !r(?x).\n"),
        ("p(-1,- 5, - -?x,-(?x)):-q(?x).", "p(-1, -5, - -?x, -(?x)) :- q(?x).\n"),
        ("p(1).q(2).\n\n\n\nr(3).", "p(1).\nq(2).\n\nr(3).\n"),
        (
            "p(?x):-?x=sum ?y*2:{q(?y),?y!=1},(r(?x);s(?x)).",
            "p(?x) :- ?x = sum ?y * 2 : { q(?y), ?y != 1 }, (r(?x); s(?x)).\n",
        ),
        ("p(?x):-?x=sum(?y+1):{q(?y)}.", "p(?x) :- ?x = sum (?y + 1) : { q(?y) }.\n"),
        ("p(?x):-?x=0x1F^2*0b101-12u.", "p(?x) :- ?x = 0x1F ^ 2 * 0b101 - 12u.\n"),
        (
            "p(?x  band(?y)bor-1,bnot(?x),bnot  -?x,(?x)lxor(?y)):-q(?x,?y).",
            "p(?x band (?y) bor -1, bnot(?x), bnot -?x, (?x) lxor (?y)) :- q(?x, ?y).\n",
        ),
        ("p(min(?x,2)):-?x=min(?y):{q(?y)}.", "p(min(?x, 2)) :- ?x = min (?y) : { q(?y) }.\n"),
        (
            "p(?x):-?x=sum max(?y,2):{q(?y)},?x<max((max(?y,2))):{q(?y)}.",
            "p(?x) :- ?x = sum max(?y, 2) : { q(?y) }, ?x < max ((max(?y, 2))) : { q(?y) }.\n",
        ),
        (".printsize  p,q", ".printsize p, q\n"),
        (
            '/// d\n@[id=R1]@[says="{x}"]p(1).// why',
            '/// d\n@[id = R1]\n@[says = "{x}"]\np(1).  // why\n',
        ),
        (
            ".decl  p( @[null=skip] x:symbol,y:number )inline",
            ".decl p(@[null = skip] x: symbol, y: number) inline\n",
        ),
        (".type A=B|C .type B<:symbol", ".type A = B | C\n.type B <: symbol\n"),
        (
            "p(?x) :- q(?x), // first\n  // own\n\n  r(?x). // last",
            "p(?x) :-\n  q(?x),  // first\n  // own\n  r(?x).  // last\n",
        ),
        ("p(?x) :- q(?x) // odd\n , r(?x).", "p(?x) :-\n  q(?x)  // odd\n    ,\n  r(?x).\n"),
        ("// a\n\n\n// b\np(1). /* c */ q(2).\n// d", "// a\n\n// b\np(1).\n/* c */ q(2).\n// d\n"),
        ("p(?x) :- @![owner = me] q(?x).", "p(?x) :- @![owner = me] q(?x).\n"),
        ("", ""),
        ("\n\n // only\n\n", "// only\n"),
        (
            f"p({LONG}) :- q({LONG}), r({LONG}), s({LONG}).",
            f"p({LONG}) :-\n  q({LONG}),\n  r({LONG}),\n  s({LONG}).\n",
        ),
        (
            f"p(?t) :- q(?t), ?t = sum {LONG} : {{ r({LONG}), s({LONG}, {LONG}), u({LONG}) }}.",
            (
                f"p(?t) :-\n  q(?t),\n  ?t = sum {LONG} : {{\n    r({LONG}),\n"
                f"    s({LONG}, {LONG}),\n    u({LONG})\n  }}.\n"
            ),
        ),
        (
            ".decl p(x: symbol, // a\ny: number\n// end\n)",
            ".decl p(\n  x: symbol,  // a\n  y: number\n  // end\n)\n",
        ),
        (".output p\nq(?x % 2) :- r(?x).", ".output p\nq(?x % 2) :- r(?x).\n"),
        (
            f"p({LONG}) :- @![owner = me] q({LONG}), r({LONG}), s({LONG}).",
            f"p({LONG}) :-\n  @![owner = me]\n  q({LONG}),\n  r({LONG}),\n  s({LONG}).\n",
        ),
        (
            # What can be broken later does not break the call before it.
            f"p(?t) :- ?t = sum ?p * as(?q, Decimal) : {{ r({LONG}), s({LONG}, ?p), u(?q) }}.",
            (
                f"p(?t) :-\n  ?t = sum ?p * as(?q, Decimal) : {{\n    r({LONG}),\n"
                f"    s({LONG}, ?p),\n    u(?q)\n  }}.\n"
            ),
        ),
        (
            f'.input p(source="a", query="{LONG}{LONG}{LONG}", null="skip")',
            f'.input p(\n  source = "a",\n  query = "{LONG}{LONG}{LONG}",\n  null = "skip"\n)\n',
        ),
        (
            f'@[expect(proved="{LONG}{LONG}",disproved="{LONG}{LONG}")] .output p',
            f'@[expect(\n  proved = "{LONG}{LONG}",\n  disproved = "{LONG}{LONG}"\n)]\n.output p\n',
        ),
    ],
)
def test_the_layout_is_as_people_write_it(text: str, written: str) -> None:
    assert laid_out(text) == written
    assert laid_out(written) == written


def test_a_rule_of_100_columns_stays_on_its_line_and_one_of_101_does_not() -> None:
    rule = "p(?x) :- q(?x), r(" + "?y" + "y" * 78 + ")."
    assert len(rule) == 100
    assert laid_out(rule) == f"{rule}\n"
    assert laid_out(rule.replace("?yy", "?yyy")).count("\n") == 3
    noted = rule.replace("?yyyyyyyyy", "/* c */ ?y")
    assert len(noted) == 100
    for text, lines in ((noted, 1), (noted.replace(" ?y", " ?yy"), 3)):
        assert laid_out(text).count("\n") == lines


def test_a_text_with_errors_is_not_laid_out() -> None:
    found: list[Diagnostic] = []
    assert format_text("p(?x) :- q(?x)\nr(1).", "rules.dl", found) is None
    assert {one.code for one in found} == {"C0117"} or found


def test_nesting_costs_no_stack_and_long_statements_no_square() -> None:
    deep = "p(" + "(" * 150 + "1" + ")" * 150 + ")."
    assert laid_out(deep) == f"{deep}\n"
    wide = "p(" + ", ".join(["(1)"] * 6_000) + ")."
    assert laid_out(wide).count("\n") == 6_002
    literals = ", ".join(["q(f(1), 2)"] * 6_000)
    assert laid_out(f"p(1) :- {literals}.").count("\n") == 6_001


def test_the_description_and_attributes_of_a_type_are_read_and_printed() -> None:
    text = "/// A number.\n@[owner = sales]\n.type Id <: symbol\n"
    program = read(text)
    assert program.types["Id"].description == "A number."
    assert program.types["Id"].attributes == {"owner": "sales"}
    assert text in print_program(program)
    assert read(print_program(program)) == program


def test_an_unknown_attribute_of_a_type_is_a_warning() -> None:
    found: list[Diagnostic] = []
    analyse(parse_text("@[ownr = me] .type Id <: symbol\n", "rules.dl", found), found)
    assert [(one.code, one.message) for one in found] == [
        ("C0240", "a type has no attribute `ownr`")
    ]


@pytest.mark.slow
def test_a_hundred_thousand_rules_are_laid_out() -> None:
    text = "".join(f"p{i % 50}(?x, {i}) :- q(?x), r({i}).\n" for i in range(100_000))
    assert laid_out(text) == text
