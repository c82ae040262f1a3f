"""What people type for a goal out of habit: the edit of the message does what was meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError

if TYPE_CHECKING:
    from pathlib import Path

RULES = """.pragma "constat" "0.1"
@[key = id]
.decl sale(id: number, who: symbol, amount: Decimal, first: Date)
sale(1, "ann", 1500.0, "2025-01-01").
sale(2, "NULL", 900.0, "2025-02-01").
.decl paid(id: number)
paid(1).
"""
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
    whole = edit.endswith(")") and "(" in edit
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
    assert '`"van Dyck"`' in caught.value.diagnostics[0].help
    with Session(project(tmp_path)) as session, pytest.raises(ConstatError) as caught:
        session.prove("sale(who = van Dyck)")
    assert '`"van Dyck"`' in caught.value.diagnostics[0].help
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
