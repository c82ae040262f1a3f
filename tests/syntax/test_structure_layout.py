"""What structures and their types look like when a file is laid out."""

from __future__ import annotations

import pytest

from constat.syntax.formatting import format_text

F, G, H = (f"{letter * 12}_field_with_a_long_name" for letter in "fgh")
A, B, C = (f"?{letter * 22}" for letter in "abc")

SHORT = [
    ("p([ 1,$ A( ?x,nil ),[ ] ]):-q($B( ),[-1]).", "p([1, $A(?x, nil), []]) :- q($B(), [-1])."),
    ("p(?x):-[?a]=?x,-[1]-[2]=-$A.", "p(?x) :- [?a] = ?x, -[1] - [2] = -$A."),
    ("p(?x):-?n=count:{q([ ?x,_ ])}.", "p(?x) :- ?n = count : { q([?x, _]) }."),
    ("p($ /* why */ A).", "p($/* why */ A)."),
    (".type T=[x:number,y:T]", ".type T = [x: number, y: T]"),
    (".type T=[ ]", ".type T = []"),
    (".type T=A{x:T}|B{ }", ".type T = A { x: T } | B {}"),
    (".type T=A|B", ".type T = A | B"),
]

LONG = [
    (
        f".type T = A {{ {F}: number }} | B {{ y: T }} // b\n // c\n| C {{ {G}: T }}",
        f"""\
.type T =
  A {{ {F}: number }}
  | B {{ y: T }}  // b
  // c
  | C {{ {G}: T }}""",
    ),
    (
        f".type T = A {{ {F}: number, {G}: number, {H}: number, b: T }} | C {{}}",
        f"""\
.type T =
  A {{
    {F}: number,
    {G}: number,
    {H}: number,
    b: T
  }}
  | C {{}}""",
    ),
    (
        f".type T = [{F}: number, {G}: number, {H}: number]",
        f"""\
.type T = [
  {F}: number,
  {G}: number,
  {H}: number
]""",
    ),
    (
        f"p([{A}, $D({C}), nil]) :- @[owner = me] q([{A}, {B}]), [{A}, {C}] = {B}.",
        f"""\
p([{A}, $D({C}), nil]) :-
  @[owner = me]
  q([{A}, {B}]),
  [{A}, {C}] = {B}.""",
    ),
    (
        f"p([{A}, {B}, $D({C}, {A}), [{B}]]).",
        f"""\
p([
  {A},
  {B},
  $D({C}, {A}),
  [{B}]
]).""",
    ),
]


@pytest.mark.parametrize(("text", "written"), [*SHORT, *LONG])
def test_the_layout_is_as_people_write_it(text: str, written: str) -> None:
    assert format_text(text, "rules.dl", []) == f"{written}\n"
    assert format_text(written, "rules.dl", []) == f"{written}\n"


@pytest.mark.laws
def test_a_long_statement_costs_no_square() -> None:
    branches = " | ".join(f"B{n} {{ x: number, y: T }}" for n in range(5_000))
    nested = "[1, $A(" * 30 + "nil" + ")]" * 30
    text = f".type T = {branches}\np({', '.join([nested] * 10)}).\n"
    written = format_text(text, "rules.dl", [])
    assert written is not None
    assert written.count("\n  | B") == 4_999
    assert format_text(written, "rules.dl", []) == written
