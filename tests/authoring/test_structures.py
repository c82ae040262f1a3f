"""Drafts and models where a project has records and algebraic data types."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.authoring.checking import Checked, Proposal, check_proposal
from constat.authoring.constants import constants_of
from constat.authoring.prompts import names_text, predicates_text, show_predicate
from constat.authoring.telling import NotSaid, Pointed, Said, examine, prompt_for
from constat.logic import Kind
from constat.logic.structures import branches_of, leaves_of
from constat.session import Session
from constat.session.asking_steps import ground_of
from tests.structures import expressions, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.authoring.fragments import Ground

RULES = """\
.pragma "constat" "0.1"
.type Pair = [least: number, most: number]
.type Expr = Number { x: number } | Add { l: Expr, r: Expr } | Named { s: symbol } | Zero {}
.decl term(id: symbol, e: Expr)
.decl within(id: symbol, p: Pair)
.decl plain(id: symbol)
plain(?i) :- term(?i, $Number(17)).
plain(?i) :- within(?i, [?a, ?b]), term(?i, $Add(?l, _r)), ?l = $Named("gold"), ?a < ?b.
"""
SUM = """\
.decl is_sum(id: symbol)
is_sum(?i) :- term(?i, $Add(_l, _r)).
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder: Path = tmp_path_factory.mktemp("structures")
    (folder / "terms.dl").write_text(RULES, encoding="utf-8")
    (folder / "constat.yaml").write_text("project: terms\nrules: [terms.dl]\n", encoding="utf-8")
    with Session(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def ground(session: Session) -> Ground:
    return ground_of(session)


def check(ground: Ground, goal: str, rules: str = "", seen: str = "a") -> Checked:
    return check_proposal(Proposal(goal, rules), ground, [seen])


def test_a_draft_takes_structures_apart_and_is_kept_as_written(ground: Ground) -> None:
    found = check(ground, "is_sum(a)", SUM)
    assert [one.code for one in found.diagnostics] == []
    assert "is_sum(?i) :- term(?i, $Add(_l, _r))." in found.text


@pytest.mark.parametrize(
    ("definition", "kept"),
    [
        (".type Box = Box { e: Expr, inner: Inner }\n.type Inner = [x: number]\n", True),
        (
            ".type Box = Box { e: Expr, inner: Inner }\n.type Inner = [x: number, next: Inner]\n",
            True,
        ),
        (".type Box = Box { e: Expr, inner: Pair }\n", False),
    ],
)
def test_types_that_a_draft_needs_are_kept_with_it(
    ground: Ground,
    definition: str,
    kept: bool,  # noqa: FBT001  a case
) -> None:
    rules = (
        f"{definition}.type Unused = [x: number]\n"
        ".decl boxed(i: symbol, b: Box)\nboxed(?i, $Box(?e, ?p)) :- term(?i, ?e), made(?p).\n"
        f".decl made(p: {'Inner' if kept else 'Pair'})\n"
    )
    found = check(ground, "boxed(a, ?b)", rules)
    assert [one.code for one in found.errors] == []
    assert ".type Box = Box" in found.text
    assert (".type Inner" in found.text) is kept
    assert "Unused" not in found.text
    assert ".type Pair" not in found.text


def test_a_type_that_only_rules_use_is_kept(ground: Ground) -> None:
    rules = (
        ".type Mark = Seen { n: number } | Unseen {}\n.decl marked(i: symbol)\n"
        "marked(?i) :- within(?i, [?a, _b]), ?m = $Seen(?a), ?m != $Seen(3).\n"
    )
    found = check(ground, "marked(a)", rules, seen="a 3")
    assert [one.code for one in found.errors] == []
    assert ".type Mark = Seen" in found.text


@pytest.mark.parametrize(
    "definition",
    [
        ".type Pair = [most: number, least: number]",
        ".type Pair = [least: number, most: unsigned]",
        ".type Pair = Pair { least: number, most: number }",
        ".type Expr = Number { x: number } | Add { l: Expr, r: Expr } | Named { s: symbol }",
        ".type Pair = number",
    ],
)
def test_a_draft_does_not_change_a_type_of_the_project(ground: Ground, definition: str) -> None:
    found = check(ground, "is_sum(a)", f"{definition}\n{SUM}")
    assert "C0862" in [one.code for one in found.errors]
    same = RULES.partition("\n")[2].partition(".decl")[0]
    assert check(ground, "is_sum(a)", same + SUM).errors == ()


def test_a_branch_belongs_to_one_type(ground: Ground) -> None:
    rules = f".type Mine = Zero {{}} | Other {{}}\n.decl mine(m: Mine)\n{SUM}"
    assert check(ground, "is_sum(a)", rules).errors != ()


def test_what_stands_in_a_structure_is_invented_or_was_seen(ground: Ground) -> None:
    rules = '.decl hot(i: symbol)\nhot(?i) :- term(?i, $Add($Number(41), $Named("silver"))).\n'
    assert check(ground, "hot(a)", rules).invented == ("41", "silver")
    assert check(ground, "hot(a)", rules, seen="a 41 Silver").invented == ()
    # Constants of the project's own rules are known; places of fields in them are not constants.
    known = '.decl hot(i: symbol)\nhot(?i) :- term(?i, $Add($Number(17), $Named("gold"))).\n'
    assert check(ground, "hot(a)", known).invented == ()


def test_fields_and_constructors_are_no_constants_of_rules(session: Session) -> None:
    found = constants_of(session.program.rules)
    assert set(found) == {"17", "gold"}


@given(nodes(st.text(max_size=4)), expressions(st.text("ab, [(0\\", max_size=4)))
def test_leaves_are_what_stands_between_commas_and_brackets(node: str, made: str) -> None:
    kinds = [kind for _, kind in leaves_of(made)]
    counts = (kinds.count(Kind.SYMBOL), kinds.count(Kind.NUMBER))
    assert counts == (made.count("$Named("), made.count("$Number("))
    assert set(branches_of(made)) <= {"Number", "Add", "Named", "Zero"}
    kinds = [kind for _, kind in leaves_of(node)]
    assert kinds == [Kind.NUMBER, Kind.FLOAT, Kind.SYMBOL] * (len(kinds) // 3)


def test_leaves_keep_their_values() -> None:
    text = '$A1(-2, 1.50, 0x1.8000000000000p+0, "2, $B(3)", [nil, $Zero])'
    assert list(leaves_of(text)) == [
        (-2, Kind.NUMBER),
        (Decimal("1.50"), Kind.DECIMAL),
        (1.5, Kind.FLOAT),
        ("2, $B(3)", Kind.SYMBOL),
    ]
    assert branches_of(text) == ("A1", "Zero")


def test_a_model_is_told_of_types_where_there_are_any(session: Session) -> None:
    shown = ".type Pair = [least: number, most: number]"
    for text in (predicates_text(session.program), names_text(session.program)):
        assert shown in text
    assert shown in (show_predicate(session.program, "within", values=False) or "")
    assert shown not in (show_predicate(session.program, "plain", values=False) or "")
    assert shown in prompt_for(session.program, "x").system


@pytest.mark.parametrize(
    ("atom", "text", "said"),
    [
        ("within(a, [3, 7])", "a is within 3 and 7.", True),
        ("within(a, [3, 8])", "a is within 3 and 7.", False),
        ("term(a, $Named(gold))", "The term a is Named gold.", True),
        ("term(a, $Named(gold))", "The term a is gold.", False),
        ("within(a, nil)", "The bounds of a are nil.", True),
        ("within(a, nil)", "There is a.", False),
        ("within(a, $Zero)", "a Zero", False),
    ],
)
def test_a_text_says_a_structure_where_all_of_it_stands_there(
    session: Session,
    atom: str,
    text: str,
    said: bool,  # noqa: FBT001  a case
) -> None:
    found, refused = examine(session.program, text, [Pointed(atom)])
    assert (len(found), len(refused)) == ((1, 0) if said else (0, 1))
    assert all(isinstance(one, Said) for one in found)
    assert all(isinstance(one, NotSaid) for one in refused)
