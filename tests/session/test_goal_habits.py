"""What people type for a goal out of habit: the edit of the message does what was meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import AGGREGATES, COMPARISONS, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = """.pragma "constat" "0.1"
@[key = id]
.decl sale(id: number, who: symbol, amount: Decimal, first: Date)
sale(1, "ann", 1500.0, "2025-01-01").
sale(2, "NULL", 900.0, "2025-02-01").
@[key = id]
.decl deal(id: number, who: symbol, amount: Decimal, first: Date)
deal(1, "ann", 1500.0, "2025-01-01").
deal(2, "bob", 900.0, "2025-02-01").
deal(4, "O'Neil & Sons 3", 1600000.0, "2025-03-01").
.decl lit(id: number, on: Bool)
lit(1, "true").
lit(2, "false").
.decl paid(id: number)
paid(1).
"""
_LARGE = {(1, "1500"), (4, "1600000")}
_BOTH = {
    (1, "ann", "1500", "2025-01-01"),
    (4, "O'Neil & Sons 3", "1600000", "2025-03-01"),
}
# What is typed, the edit of the message, and the rows or the verdict of the goal with the edit.
CASES = [
    ("SELECT who FROM Sale WHERE id = 1", "sale(who = ?who, id = 1)", {("ann",)}),
    ("select id from sale where who = 'ann'", 'sale(id = ?id, who = "ann")', {(1,)}),
    ('"Sale"(1, ?w, ?a, ?d)', "sale(1, ?w, ?a, ?d)", {("ann", "1500", "2025-01-01")}),
    ("sale(1)", "sale(id = 1)", True),
    ('sale(id = "1", who = ?w)', "id = 1", {("ann",)}),
    ("sale(id = 2, who = NULL)", '"NULL"', True),
    ("sale(id = ?i) AND paid(?i)", ",", {(1,)}),
    ("sale(id = ?i, amount = ?a), ?a > 1,000", "1000", {(1, "1500")}),
    ("deal(?i, ?w, > 1000, ?d)", "deal(?i, ?w, ?amount, ?d), ?amount > 1000", _BOTH),
    ("deal(?i, _, > 1000)", "deal(id = ?i, amount = ?amount), ?amount > 1000", _LARGE),
    ('deal(id = ?i, amount = "> 1000")', "deal(id = ?i, amount = ?amount), ?amount > 1000", _LARGE),
    ("deal(id = ?i, amount = > 1000)", "deal(id = ?i, amount = ?amount), ?amount > 1000", _LARGE),
    ("deal(who = O'Neil & Sons 3)", 'deal(who = "O\'Neil & Sons 3")', True),
    ("deal(who = 'O'Neil & Sons 3')", 'deal(who = "O\'Neil & Sons 3")', True),
    ("deal(who = 'O''Neil & Sons 3')", 'deal(who = "O\'Neil & Sons 3" )', True),
    ("deal(id = ?i, amount = \u20ac1,600,000.00)", "1600000.00", {(4,)}),
    (
        "deal(?i, ?w, \u20ac1,600,000.00, _)",
        "deal(?i, ?w, 1600000.00, _)",
        {(4, "O'Neil & Sons 3")},
    ),
    (
        "deal(id = ?i, amount = ?a), ?a >= \u20ac1,600,000.00",
        "deal(id = ?i, amount = ?a), ?a >= 1600000.00",
        {(4, "1600000")},
    ),
    ("lit(id = ?i, on = yes)", "on = true", {(1,)}),
    ("lit(id = ?i, on = 0)", "on = false", {(2,)}),
    ("lit(id = ?i, on)", "lit(id = ?i, on = true)", {(1,)}),
    ("lit(id = ?i), on", "lit(id = ?i, on = true)", {(1,)}),
    ("lit(id = ?i, on = ?o), !?o", "lit(id = ?i, on = ?o), ?o = false", {(2, "false")}),
]


def project(folder: Path, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "constat.yaml").write_text("rules: [rules.dl]\n")
    (folder / "rules.dl").write_text(RULES + more)
    return folder


def asked(folder: Path, goal: str) -> object:
    with Session(folder) as session:
        found = session.query(goal)
        rows = {tuple(str(cell) for cell in row.values) for row in found.rows}
        return rows if found.columns else bool(found.rows)


@pytest.mark.parametrize(("goal", "edit", "meant"), CASES)
def test_the_edit_of_a_goal_does_what_was_meant(
    tmp_path: Path, goal: str, edit: str, meant: object
) -> None:
    with pytest.raises(ConstatError) as caught:
        asked(project(tmp_path), goal)
    mistake = caught.value.diagnostics[0]
    assert f"`{edit}`" in mistake.help
    assert mistake.span is not None
    first, last = mistake.span.column - 1, mistake.span.end_column - 1
    whole = edit.startswith(("sale(", "deal(", "lit("))
    mended = edit if whole else goal[:first] + edit + goal[last:]
    expected = {tuple(map(str, row)) for row in meant} if isinstance(meant, set) else meant
    assert asked(project(tmp_path), mended) == expected


@pytest.mark.parametrize(
    ("goal", "holds"),
    [("not paid(2)", True), ("!paid(1)", False), ("NOT sale(id = 1, who = ann)", False)],
)
def test_a_denied_goal_is_asked_by_the_rule_of_the_message(
    tmp_path: Path, goal: str, *, holds: bool
) -> None:
    with Session(project(tmp_path)) as session, pytest.raises(ConstatError) as caught:
        session.prove(goal)
    rule, declared, head = re.findall(r"`([^`]+)`", caught.value.diagnostics[0].help)
    with Session(project(tmp_path, f"{declared}\n{rule}\n")) as session:
        assert session.prove(head).verdict.name == ("PROVED" if holds else "DISPROVED")


def test_a_function_in_a_query_is_computed(tmp_path: Path) -> None:
    goal = 'sale(id = ?i, first = ?d), days_between(?d, "2025-02-10") > 30'
    assert asked(project(tmp_path), goal) == {("1", "2025-01-01")}


def test_a_word_for_a_number_is_not_offered_without_its_quotes(tmp_path: Path) -> None:
    with pytest.raises(ConstatError) as caught:
        asked(project(tmp_path), 'sale(id = "two", who = ?w)')
    assert "`two`" not in caught.value.diagnostics[0].help
    assert "`5`" in caught.value.diagnostics[0].help


def test_a_text_with_a_blank_is_shown_in_its_quotes(tmp_path: Path) -> None:
    with Session(project(tmp_path)) as session, pytest.raises(ConstatError) as caught:
        session.prove("sale(3, van Dyck, ?a, ?d)")
    assert '`sale(3, "van Dyck", ?a, ?d)`' in caught.value.diagnostics[0].help
    with Session(project(tmp_path)) as session, pytest.raises(ConstatError) as caught:
        session.prove("sale(who = van Dyck)")
    assert '`sale(who = "van Dyck")`' in caught.value.diagnostics[0].help
    with Session(project(tmp_path)) as session:
        assert session.prove('sale(3, "van Dyck", ?a, ?d)').verdict.name == "DISPROVED"


@pytest.mark.parametrize("goal", ["not paid(?i)", "!paid(?i)"])
def test_what_is_denied_of_a_variable_is_asked_of_something_that_has_it(
    tmp_path: Path, goal: str
) -> None:
    with Session(project(tmp_path)) as session, pytest.raises(ConstatError) as caught:
        session.prove(goal)
    edit = re.findall(r"`([^`]+)`", caught.value.diagnostics[0].help)[0]
    assert edit == "all(?x), !paid(?i)"
    assert asked(project(tmp_path), edit.replace("all(?x)", "sale(id = ?i)")) == {("2",)}


def test_a_goal_of_several_literals_has_no_name_of_ours(tmp_path: Path) -> None:
    with Session(project(tmp_path)) as session:
        found = session.prove("sale(id = ?i), !paid(?i)")
        assert "the.goal" not in found.explain()
        assert "the goal with ?i = 2" in found.explain()
        assert "the.goal" not in session.why_not("sale(id = ?i), ?i > 5").to_text()


# Each word of the language, with what it gives of the two sales of `FAMILY`.
FAMILY = """.pragma "constat" "0.1"
.decl sale(i: number, w: symbol, a: Decimal, d: Date, t: Timestamp)
sale(1, "ann", 1500.0, "2025-01-01", "2025-01-01T10:00:00Z").
sale(2, "bob b", 900.0, "2025-02-01", "2025-02-01T10:00:00Z").
.decl paid(i: number)
paid(1).
.decl noted(i: number)
"""
SALE = "sale(?i, ?w, ?a, ?d, ?t)"
WORDS = {
    "+": ("?i + 1 > 2", 1), "-": ("?i - 1 > 0", 1), "*": ("?a * 2 > 2000", 1),
    "/": ("?a / 2 > 500", 1), "^": ("?i ^ 2 > 1", 1), "%": ("?i % 2 = 1", 1),
    "band": ("?i band 1 = 1", 1), "bor": ("?i bor 1 = 1", 1), "bxor": ("?i bxor 1 = 0", 1),
    "bshl": ("?i bshl 1 = 2", 1), "bshr": ("?i bshr 1 = 0", 1), "bshru": ("?i bshru 1 = 0", 1),
    "land": ("?i land 1 = 1", 2), "lor": ("?i lor 0 = 1", 2), "lxor": ("?i lxor 1 = 0", 2),
    "neg": ("-?i < -1", 1), "bnot": ("bnot ?i < -2", 1), "lnot": ("lnot ?i = 0", 2),
    "min": ("min(?i, 5) = 1", 1), "max": ("max(?i, 2) = 2", 2), "cat": ('cat(?w, "x") = "annx"', 1),
    "strlen": ("strlen(?w) = 3", 1), "substr": ('substr(?w, 0, 1) = "a"', 1),
    "to_string": ('to_string(?i) = "1"', 1), "to_number": ('to_number("2") = ?i', 1),
    "to_unsigned": ("to_unsigned(?i) = 1", 1), "to_float": ("to_float(?i) > 1.5", 1),
    "to_decimal": ("to_decimal(?i) < 2.0", 1), "as": ("as(?i, Decimal) > 1.5", 1),
    "days_between": ('days_between(?d, "2025-02-10") > 30', 1),
    "years_between": ('years_between(?d, "2027-01-10") > 1', 1),
    "date_add": ('date_add(?d, 3) = "2025-01-04"', 1), "year": ("year(?d) = 2025", 2),
    "month": ("month(?d) = 1", 1), "day": ("day(?d) = 1", 2), "quarter": ("quarter(?d) = 1", 2),
    "date_of": ('date_of(?t) = "2025-01-01"', 1), "range": ("range(2, 9) = ?i", 1),
    "match": ('match("a.*", ?w)', 1), "!match": ('!match("a.*", ?w)', 1),
    "contains": ('contains("b b", ?w)', 1), "!contains": ('!contains("b b", ?w)', 1),
    "=": ('?w = "ann"', 1), "!=": ("?i != 1", 1), "<": ("?i < 2", 1), "<=": ("?i <= 1", 1),
    ">": ("?i > 1", 1), ">=": ("?i >= 2", 1),
    "sum": ("?n = sum ?z : { sale(i = _y, a = ?z) }", 2), "count": ("?n = count : { paid(_y) }", 2),
    "mean": ("?n = mean ?z : { sale(i = _y, a = ?z) }", 2),
    "!": ("!paid(?i)", 1), "an argument": ("paid(?i + 0)", 1),
}  # fmt: skip


def test_every_word_of_the_language_is_tried() -> None:
    assert {*FUNCTIONS, *AGGREGATES, *COMPARISONS} <= WORDS.keys()


@pytest.fixture(scope="module")
def family() -> Iterator[Session]:
    with Session(rules=FAMILY, facts={}) as session:
        yield session


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("word", WORDS)
def test_a_goal_takes_what_a_rule_takes(family: Session, word: str, *, first: bool) -> None:
    literal, rows = WORDS[word]
    goal = f"{literal}, {SALE}" if first else f"{SALE}, {literal}"
    assert len(family.query(goal).rows) == rows
    assert family.prove(goal).verdict.name == "PROVED"
    assert family.why_not(goal).verdict.name == "PROVED"
    supposed = family.what_if(goal, add=["noted(7)"])
    assert {supposed.before.verdict.name, supposed.after.verdict.name} == {"PROVED"}


@pytest.mark.parametrize(
    "word",
    [one for one in WORDS if one not in {"sum", "count", "mean", "!", "range", "=", "to_number"}],
)
def test_alone_it_names_an_atom_that_gives_the_values(family: Session, word: str) -> None:
    literal, _ = WORDS[word]
    with pytest.raises(ConstatError) as caught:
        family.prove(literal)
    (mistake,) = caught.value.diagnostics
    (edit,) = re.findall(r"`(\w+\(.*\)), \.\.\.`", mistake.help)
    assert family.prove(f"{edit}, {literal}").verdict.name in {"PROVED", "DISPROVED"}


HABITS = [
    ('starts_with(?w, "a")', 'match("a.*", ?w)', 1),
    ('startswith(?w, "a.")', 'match("a[.].*", ?w)', 0),
    ('ends_with(?w, "b")', 'match(".*b", ?w)', 1),
    ('?w like "%o%"', 'contains("o", ?w)', 1),
    ('like(?w, "a%")', 'match("a.*", ?w)', 1),
    ('includes(?w, "n")', 'contains("n", ?w)', 1),
    ('regexp(?w, "n|o")', 'match(".*(n|o).*", ?w)', 2),
    ('matches(?w, "[a-n]+")', 'match("[a-n]+", ?w)', 1),
    ("?i between 2 and 5", "?i >= 2, ?i <= 5", 1),
    ("between(?i, 2, 5)", "?i >= 2, ?i <= 5", 1),
    ("?i in (2, 5)", "?i = 2", 1),
    ("abs(?i) = 2", "max(?i, -?i)", 1),
    ("length(?w) = 3", "strlen(?w)", 1),
    ('concat(?w, "x") = "annx"', 'cat(?w, "x")', 1),
    ('substring(?w, 0, 1) = "a"', "substr(?w, 0, 1)", 1),
    ('not contains("o", ?w)', '!contains("o", ?w)', 1),
]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(("habit", "edit", "rows"), HABITS)
def test_a_word_of_another_language_has_its_edit_in_a_goal(
    family: Session, habit: str, edit: str, rows: int, *, first: bool
) -> None:
    def goal(literal: str) -> str:
        return f"{literal}, {SALE}" if first else f"{SALE}, {literal}"

    told = []
    for ask in (family.prove, family.query, family.why_not):
        with pytest.raises(ConstatError) as caught:
            ask(goal(habit))
        told.append(caught.value.diagnostics)
    assert told[0] == told[1] == told[2]
    assert f"`{edit}`" in told[0][0].help
    called = re.match(r"\w+\([^()]*\)", habit)
    is_call = called is not None and not edit.endswith(("5", "2")) and called[0] != habit
    mended = habit.replace(called[0], edit) if called and is_call else edit
    assert len(family.query(goal(mended)).rows) == rows


@pytest.mark.parametrize("word", ["sum", "avg", "count"])
def test_an_aggregate_is_no_function_and_the_edit_shows_one(family: Session, word: str) -> None:
    with pytest.raises(ConstatError) as caught:
        family.prove(f"{SALE}, {word}(?a) > 3")
    (edit,) = re.findall(r"`([^`]+)`", caught.value.diagnostics[0].help)
    assert edit.startswith(f"?{'mean' if word == 'avg' else word} = ")
    assert edit.endswith(" > 3")
    assert family.prove(edit.replace("> 3", "> 0")).verdict.name == "PROVED"


STATED = """.pragma "constat" "0.1"
@[key = id]
.decl client(id: symbol, name: symbol, city: symbol, joined: Date)
.decl sold(id: number, amount: Decimal)
.decl good(id: symbol)
good(?c) :- liked(?c).
.decl liked(id: symbol)
liked(?c) :- client(id = ?c, city = "Rome").
"""
# What is typed, what the message says, and the fact of its edit.
FACTS = [
    ("client(A, Ann, _, ?j)", "`city`, `joined` have none", 'client(id = "A", name = "Ann")'),
    ("client(A)", "4 columns", 'client(id = "gold")'),
    ("client(name = Ann)", "`id`, `city`, `joined`", 'client(id = "gold", name = "Ann")'),
    ("sold(1, _)", "`amount` has none", "sold(1, 10.50)"),
    ("sold(1)", "2 columns", "sold(5, 10.50)"),
    ("sold(id = 1)", "`sold` has no `@[key]`", "sold(1, 10.50)"),
    ("sold(one, 2.5)", "not an integer", "5"),
    ("sold(1, 2.5), sold(2, 2.5)", "goes on", "sold(1, 2.5)"),
]


@pytest.mark.parametrize(("typed", "told", "edit"), FACTS)
def test_the_edit_of_a_fact_can_be_stated(tmp_path: Path, typed: str, told: str, edit: str) -> None:
    folder = project(tmp_path)
    (folder / "rules.dl").write_text(STATED)
    with Session(folder) as session:
        with pytest.raises(ConstatError) as caught:
            session.facts.add(typed, author="ann")
        (mistake,) = caught.value.diagnostics
        assert told in f"{mistake.message} {mistake.note}"
        assert f"`{edit}`" in mistake.help
        mended = edit if "(" in edit else typed.replace("one", edit)
        assert session.facts.add(mended, author="ann").author == "ann"


def test_a_relation_that_facts_are_stated_of_is_declared_without_rules(tmp_path: Path) -> None:
    with Session(project(tmp_path)) as session, pytest.raises(ConstatError) as caught:
        session.facts.add("visited(ann, rome)", author="ann")
    (edit,) = re.findall(r"`(\.decl [^`]+)`", caught.value.diagnostics[0].help)
    with Session(project(tmp_path, f"{edit}\n")) as session:
        session.facts.add("visited(ann, rome)", author="ann")
        assert session.prove("visited(ann, rome)").verdict.name == "PROVED_UNDER"


def test_what_is_derived_names_what_can_be_stated_below_it(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "rules.dl").write_text(STATED)
    with Session(folder) as session:
        with pytest.raises(ConstatError) as caught:
            session.facts.add("good(A)", author="ann")
        assert caught.value.diagnostics[0].help == "state a fact of `client`"
        session.facts.add('client(A, Ann, "Rome", 2025-01-01)', author="ann")
        assert session.prove("good(A)").verdict.name == "PROVED_UNDER"


ALTERNATIVES = [
    ('sale(id = ?i, who = "ann") ; paid(?i)', {("1",)}),
    ("sale(who = ?w, id = 2) or sale(who = ?w, id = 1)", {("ann",), ("NULL",)}),
    ("sale(id = 9) || sale(id = 2)", True),
    ("(sale(id = ?i) | paid(?i))", {("1",), ("2",)}),
    ('sale(id = ?i, amount = ?a), ?a > 1000.0 OR sale(id = ?i, who = "NULL")', {("1",), ("2",)}),
]


@pytest.mark.parametrize(("goal", "meant"), ALTERNATIVES)
def test_alternatives_have_the_rule_that_says_the_same(
    tmp_path: Path, goal: str, meant: object
) -> None:
    with Session(project(tmp_path)) as session:
        mistakes: list[Diagnostic] = []
        for ask in (session.query, session.prove):
            with pytest.raises(ConstatError) as caught:
                ask(goal)
            mistakes += caught.value.diagnostics
    assert {one.message for one in mistakes} == {"a goal has no alternatives; a rule has"}
    mistake, _ = mistakes
    rule, head = re.findall(r"`([^`]*)`", mistake.help)
    assert asked(project(tmp_path, rule), head) == meant
