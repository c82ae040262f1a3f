"""Hostile texts: the parser and the goal parser answer with diagnostics, whatever they read.

`CONSTAT_FUZZ_ROUNDS` gives the number of mutated texts of each kind. Whatever is read without an
error must also print and read back as itself.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.diagnostics import ConstatError, Severity, render, to_json
from constat.diagnostics.catalogue import catalogue
from constat.syntax import load_program, parse_fact, parse_goal, parse_text, print_program
from constat.syntax.words import RESERVED

if TYPE_CHECKING:
    from pathlib import Path

    from constat.diagnostics import Diagnostic
    from constat.logic import Program

ROUNDS = int(os.environ.get("CONSTAT_FUZZ_ROUNDS", "400"))
SEED = int(os.environ.get("CONSTAT_FUZZ_SEED", "1"))
# A text of a few kilobytes gives at most this many diagnostics: reporting is bounded.
MOST = 2_000

SAMPLES = [
    """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.type CustomerId <: symbol
.type Any = CustomerId | symbol
/// Who orders.
@[says = "customer {c} ordered {a}"] @[key = c]
.decl order(c: CustomerId, a: Decimal, @[null = skip] d: Date) brie
.input order(source="shop", query="SELECT 1", max_age=3600)
@[expect(proved = "C001")] .output total(IO=stdout)
.decl total(c: CustomerId, t: Decimal)
@[id = R1] @[confidence = 0.9] @[approved(by = "J. Doe", on = "2026-01-31")]
total(?c, ?t) :- order(?c, _, _), ?t = sum ?a : { order(?c, ?a, ?d), ?d >= "2025-01-01" }.
""",
    """\
p(?x), q(?x) :- (r(?x, -5); !s(?x, 10.50)), ?x * (2 + 1) % 3 != -?x, match("a.*", "b").
p(as(?x, number)) :- t(?x), ?n > count : { t(_) } - max ?y : { t(?y) }, !contains("a", "b").
flag(). p("a\\n\\"b", 0x1F, 5u, 1.5e300). .plan 0: (1, 2)
.comp C { .decl a(x: number) } #define X
p(X) :- not q(x), ?x == 'y' && ?z is 2024-01-01 or r(.5) % comment
/* open
""",
]
GOALS = [
    "order(C001, 10.50, 2024-01-01)",
    'order(c = "J. \\"D\\"", a = ?a, d = _)',
    "total(?c, ?t).",
    "not total('x', f(y)), order(a==b",
]
PIECES = [
    *sorted(RESERVED),
    *"()[]{}.,;:?_!@#$%^&*-+=/\\|<>'\"`~ \t\n\r\0",
    *[":-", "@[", "@![", "<=", "!=", "//", "/*", "*/", "///", "--", ".decl ", ".type ", "..", "''"],
    *["?x", "_x", "_1", "?_x", "5", "5.", ".5", "1.5", "0x", "99999999999999999999", "2024-01-01"],
    *["\ud800", "é", "日", "\u202e", "\u2028", "\x1b[31m", "\x85", "\ufeff", "\U0001f600", "\x07"],
    "(" * 300,
    "cat(" * 300,
    "a" * 3_000,
]


def mutated(text: str, chance: random.Random) -> str:
    """Change a text in a few places: cut, copy, insert, replace."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 1, 1, 3, 20]))
        what = chance.random()
        if what < 0.5:
            middle = chance.choice(PIECES)
        elif what < 0.7:
            other = chance.randrange(len(text) + 1)
            middle = text[other : other + chance.randint(0, 30)]
        elif what < 0.85:
            middle = chr(chance.randrange(0x110000))
        else:
            middle = ""
        text = text[:start] + middle + text[end:]
    return text


def check_text(text: str) -> None:
    """A text gives a program and diagnostics, and nothing else."""
    found: list[Diagnostic] = []
    program = parse_text(text, "fuzz.dl", found)
    check_diagnostics(found, {"fuzz.dl": text})
    if not any(one.severity is Severity.ERROR for one in found):
        again: list[Diagnostic] = []
        assert parse_text(print_program(program), "again.dl", again) == program
        assert again == []


def check_diagnostics(found: list[Diagnostic], texts: dict[str, str]) -> None:
    assert len(found) <= MOST
    known = catalogue()
    assert all(one.code in known and one.note and one.help for one in found)
    shown = render(found, texts, colour=False)
    assert all(letter == "\n" or letter.isprintable() for letter in shown)
    shown.encode()
    assert len(to_json(found)) == len(found)


def goal_program() -> Program:
    return parse_text(SAMPLES[0], "rules.dl", [])


def check_goal(text: str, program: Program) -> None:
    for parse in (parse_goal, parse_fact):
        try:
            parse(text, program)
        except ConstatError as error:
            check_diagnostics(list(error.diagnostics), {"<goal>": text, "<fact>": text})


def test_mutated_rule_files_never_break_the_parser() -> None:
    chance = random.Random(SEED)
    for number in range(ROUNDS):
        check_text(mutated(SAMPLES[number % len(SAMPLES)], chance))


def test_mutated_goals_never_break_the_goal_parser() -> None:
    chance, program = random.Random(SEED), goal_program()
    for number in range(ROUNDS):
        check_goal(mutated(GOALS[number % len(GOALS)], chance), program)


def test_mutated_bytes_never_break_the_loader(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    path = tmp_path / "fuzz.dl"
    for number in range(ROUNDS // 4):
        content = bytearray(SAMPLES[number % len(SAMPLES)].encode())
        for _ in range(chance.randint(1, 5)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)
        found: list[Diagnostic] = []
        texts: dict[str, str] = {}
        load_program([path], [tmp_path], found, texts=texts)
        check_diagnostics(found, texts)


@given(st.text(max_size=200))
def test_any_text_is_read_or_explained(text: str) -> None:
    check_text(text)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
def test_any_heap_of_tokens_is_read_or_explained(text: str) -> None:
    check_text(text)


@given(st.text(st.characters(), max_size=100))
def test_any_goal_is_read_or_explained(text: str) -> None:
    check_goal(text, goal_program())
    check_goal(f"order({text})", goal_program())


@pytest.mark.parametrize(
    "piece",
    [
        *"()[]{}.,;:?_!@#$%^&*-+=/\\|<>'\"`~ \n",
        "/*",
        '"\n',
        "p(",
        "p(X).",
        "?x % ",
        "@[",
        ".p ",
        "p(1).p",
    ],
)
def test_a_piece_repeated_without_end_is_read_in_linear_time(piece: str) -> None:
    found: list[Diagnostic] = []
    parse_text(piece * (200_000 // len(piece)), "fuzz.dl", found)
    assert len([one for one in found if one.severity is Severity.ERROR]) <= 401
