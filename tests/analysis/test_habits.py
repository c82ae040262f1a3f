"""What comes from SQL and from other languages: the edit of the message does what was meant.

Each case is a wrong rule, what stands wrong in it, the edit that the message offers, and the rows
that the writer meant. The message has the edit; with it in place the rule gives these rows.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError

if TYPE_CHECKING:
    from pathlib import Path

WORLD = """.pragma "constat" "0.1"
.include "constat/prelude.dl"
.decl sale(id: number, who: symbol, amount: Decimal, n: number, first: Date, last: Date)
.decl at(id: number, time: Timestamp)
sale(1, "ann", 5.5, 1500, "2025-01-01", "2025-01-11").
sale(2, "bob", 7.0, 900, "2025-02-01", "2025-02-02").
sale(3, "c.d", -9.0, 1000, "2025-03-01", "2025-03-01").
at(1, "2025-01-31T00:00:00Z").
at(2, "2025-01-31T10:30:00Z").
"""
IDS = ".decl got(id: number)\n"
CASES = [
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w in ("ann", "bob").', '?w in ("ann", "bob")',
     '(?w = "ann"; ?w = "bob")', {(1,), (2,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w not in ("ann", "bob").',
     '?w not in ("ann", "bob")', '?w != "ann", ?w != "bob"', {(3,)}),
    (IDS, "got(?i) :- sale(id = ?i, amount = ?a), ?a between 5.5 and 6.0.",
     "?a between 5.5 and 6.0", "?a >= 5.5, ?a <= 6.0", {(1,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w like "a%".', '?w like "a%"',
     'match("a.*", ?w)', {(1,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w like "c._".', '?w like "c._"',
     'match("c[.].", ?w)', {(3,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w like "%o%".', '?w like "%o%"',
     'contains("o", ?w)', {(2,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w not like "%o%".', '?w not like "%o%"',
     '!contains("o", ?w)', {(1,), (3,)}),
    (IDS, "got(?i) :- sale(id = ?i, n = ?n), ?n > 1,000.", "1,000", "1000", {(1,)}),
    (IDS, 'got(?i) :- "sale"(id = ?i).', '"sale"(', "sale(", {(1,), (2,), (3,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who == "ann").', "==", "=", {(1,)}),
    (IDS, "got(?i) :- sale(id = ?i, amount = ?a), abs(?a) > 6.0.", "abs(?a)", "max(?a, -?a)",
     {(2,), (3,)}),
    (IDS, 'got(?i) :- at(id = ?i, time = ?t), ?t > "2025-01-31".', '"2025-01-31"',
     '"2025-01-31T00:00:00Z"', {(2,)}),
    (IDS, 'got(?i) :- at(id = ?i, time = ?t), ?t >= "2025/1/31 10:30".', '"2025/1/31 10:30"',
     '"2025-01-31T10:30:00Z"', {(2,)}),
    (IDS, 'got(?i) :- sale(id = ?i, first = ?d), ?d > "2025-01-31T00:00:00Z".',
     '"2025-01-31T00:00:00Z"', '"2025-01-31"', {(2,), (3,)}),
    (IDS, "got(?i) :- sale(id = ?i, n = ?n, amount = ?a), ?a * ?n > 8000.0.", "?a * ?n",
     "as(?n, Decimal)", None),
    (IDS, "got(?x) :- sale(id = ?i).", "got(?x)", "?i", None),
    (".decl got(n: number)\n", "got(?n) :- sale(first = ?a, last = ?b), ?n = ?b - ?a.",
     "?b - ?a", "days_between(?a, ?b)", {(10,), (1,), (0,)}),
    (".decl got(m: Decimal)\n", "got(?m) :- ?m = avg ?n : { sale(amount = ?n), ?n > 0.0 }.",
     "avg", "mean", {("6.25",)}),
    (".decl got(i: int)\n", "got(?i) :- sale(id = ?i).", ": int)", "number", None),
    (".decl got(w: string)\n", "got(?w) :- sale(who = ?w).", ": string)", "symbol", None),
    (".decl got(y: number)\n", "got(?y) :- sale(first = ?d), ?y = year ?d.", "year ?d",
     "year(?d)", {(2025,)}),
    (IDS, "got(?i) :- at(id = ?i), !sale(id = ?i, amount = ?a), ?a > 6.0.", "!sale",
     "such_sale(?i) :- sale(?i, _, ?a, _, _, _), ?a > 6.0.", None),
    (IDS, "got(?i) :- sale(?i, _, _, ?n, _, _), !sale(?i, _, _, ?m, _, _), ?m > ?n.", "!sale",
     "such_sale(?i, ?n) :- sale(?i, _, _, ?n, _, _), sale(?i, _, _, ?m, _, _), ?m > ?n.", None),
    (".decl got(n: number)\n", "got(?n) :- ?n = count distinct ?w : { sale(who = ?w) }.",
     "distinct", "count : { different(?w) }", None),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w in ["ann", "bob"].', '?w in ["ann", "bob"]',
     '(?w = "ann"; ?w = "bob")', {(1,), (2,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w NOT IN ("ann", "bob").',
     '?w NOT IN ("ann", "bob")', '?w != "ann", ?w != "bob"', {(3,)}),
    (IDS, "got(?i) :- sale(id = ?i, amount = ?a), ?a BETWEEN 5.5 AND 6.0.",
     "?a BETWEEN 5.5 AND 6.0", "?a >= 5.5, ?a <= 6.0", {(1,)}),
    (IDS, "got(?i) :- sale(id = ?i, amount = ?a), between(?a, 5.5, 6.0).",
     "between(?a, 5.5, 6.0)", "?a >= 5.5, ?a <= 6.0", {(1,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), like(?w, "a%").', 'like(?w, "a%")',
     'match("a.*", ?w)', {(1,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), in(?w, "ann", "bob").', 'in(?w, "ann", "bob")',
     '(?w = "ann"; ?w = "bob")', {(1,), (2,)}),
    (IDS, "got(?i) :- sale(id = ?i) AND at(id = ?i).", " AND", ",", {(1,), (2,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = "c.d") OR at(id = ?i).', " OR", ";",
     {(1,), (2,), (3,)}),
    (IDS, "got(?i) :- sale(id = ?i), not at(id = ?i).", "not at(id = ?i)", "!at(id = ?i)", {(3,)}),
    (IDS, "got(?i) :- sale(id = ?i), NOT at(id = ?i).", "NOT at(id = ?i)", "!at(id = ?i)", {(3,)}),
    (IDS, 'got(?i) :- "Sale"(id = ?i, n = 900).', '"Sale"(id = ?i, n = 900)',
     "sale(id = ?i, n = 900)", {(2,)}),
    (".decl got(who: symbol)\n", "got(?who) :- SELECT who FROM sale WHERE n = 900.",
     "SELECT who FROM sale WHERE n = 900", "sale(who = ?who, n = 900)", {("bob",)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w ilike "A%".', '?w ilike "A%"',
     'match("[Aa].*", ?w)', {(1,)}),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), ?w regexp "[.]"', '?w regexp "[.]"',
     'match(".*([.]).*", ?w)', None),
    (IDS, 'got(?i) :- sale(id = ?i, who = ?w), lower(?w) = "BOB".', 'lower(?w) = "BOB"',
     'match("[Bb][Oo][Bb]", ?w)', {(2,)}),
    (IDS, "got(?i) :- sale(id = ?i), not exists at(id = ?i).", "not exists at(id = ?i)",
     "!at(id = ?i)", {(3,)}),
    (".decl got(w: symbol)\n", 'got(?x) :- sale(who = ?w), ?x = ?w || "-" || ?w.',
     '?w || "-" || ?w', 'cat(?w, "-", ?w)', {("ann-ann",), ("bob-bob",), ("c.d-c.d",)}),
    (".decl got(n: number)\n", "got(?s) :- sale(n = ?n), ?s = sum(?n).",
     "got(?s) :- sale(n = ?n), ?s = sum(?n).", "got(?s) :- ?s = sum ?n : { sale(n = ?n) }.",
     {(3400,)}),
    (".decl got(n: number)\n", "got(sum(?n)) :- sale(n = ?n), ?n > 900.",
     "got(sum(?n)) :- sale(n = ?n), ?n > 900.",
     "got(?sum) :- ?sum = sum ?n : { sale(n = ?n), ?n > 900 }.", {(2500,)}),
    (IDS, "got(?i) :- sale(id = ?i, n = ?n), sum(?n) > 950.",
     "got(?i) :- sale(id = ?i, n = ?n), sum(?n) > 950.",
     "got(?i) :- sale(id = ?i), ?sum = sum ?n : { sale(id = ?i, n = ?n) }, ?sum > 950.",
     {(1,), (3,)}),
    ("", "got(?i) :- sale(id = ?i, n = ?n), ?n > 950.", "got(?i) :-",
     ".decl got(id: number)", None),
    (IDS, 'got(?i) :- sale(id = ?i, n = "many").', '"many"', "without quotes, such as `2`", None),
    (IDS, 'got(?i) :- sale(id = ?i, n = "900").', '"900"', "900", {(2,)}),
    (".decl got(n: number)\n", "got(?n) :- sale(amount = ?a), ?a > 0.0, ?n = round(?a).",
     "round(?a)", "to_number(?a + 0.5)", {(6,), (7,)}),
    (".decl got(m: Decimal)\n", "got(?m) :- sale(id = 1, amount = ?a), ?m = round(?a / 3.0, 1).",
     "round(?a / 3.0, 1)", "as(to_number((?a / 3.0) * 10.0 + 0.5), Decimal) / 10.0", {("1.8",)}),
    (".decl got(n: number)\n", "got(?n) :- sale(id = 1, amount = ?a), ?n = trunc(?a).",
     "trunc(?a)", "to_number(?a)", {(5,)}),
    (".decl got(n: number)\n", "got(?n) :- sale(id = 1, amount = ?a), ?n = floor(?a).",
     "floor(?a)", "to_number(?a)", {(5,)}),
    (".decl got(n: number)\n", "got(?n) :- sale(id = 1, amount = ?a), ?n = ceil(?a).",
     "ceil(?a)", "to_number(?a) + 1", {(6,)}),
    (".decl got(n: number)\n", "got(?n) :- sale(amount = ?a), ?n = int(?a).",
     "int(?a)", "to_number(?a)", {(5,), (7,), (-9,)}),
    (".decl got(w: symbol)\n", "got(?w) :- sale(id = 1, n = ?n), ?w = string(?n).",
     "string(?n)", "to_string(?n)", {("1500",)}),
]  # fmt: skip


def answers(folder: Path, text: str) -> set[tuple[str, ...]]:
    folder.mkdir(exist_ok=True)
    (folder / "constat.yaml").write_text("rules: [rules.dl]\n")
    (folder / "rules.dl").write_text(text)
    with Session(folder) as session:
        return {tuple(map(str, row.values)) for row in session.query("got(?x)").rows}


@pytest.mark.parametrize(("declared", "rule", "wrong", "edit", "rows"), CASES)
def test_the_edit_of_the_message_does_what_was_meant(
    tmp_path: Path,
    declared: str,
    rule: str,
    wrong: str,
    edit: str,
    rows: set[tuple[object, ...]] | None,
) -> None:
    with pytest.raises(ConstatError) as caught:
        answers(tmp_path / "wrong", f"{WORLD}{declared}{rule}\n")
    assert edit.removesuffix("(") in caught.value.diagnostics[0].help
    assert caught.value.exit_code == 2
    if rows is not None:
        mended = rule.replace(wrong, edit)
        found = answers(tmp_path / "right", f"{WORLD}{declared}{mended}\n")
        assert found == {tuple(map(str, row)) for row in rows}


@pytest.mark.parametrize("word", ["NULL", "null"])
def test_what_a_null_is_compared_with_is_asked_as_the_message_says(
    tmp_path: Path, word: str
) -> None:
    with pytest.raises(ConstatError) as caught:
        answers(tmp_path / "p", f"{WORLD}{IDS}got(?i) :- sale(id = ?i, who = {word}).")
    advice = caught.value.diagnostics[0].help
    assert ("@[null = none]" in advice, "`who`" in advice, f'`"{word}"`' in advice) == (True,) * 3
    # What it says, done to a table: a relation of those with a value, and what is not in it.
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as made:
        made.executescript(
            "CREATE TABLE sale (id INTEGER PRIMARY KEY, who TEXT);"
            "INSERT INTO sale VALUES (1, 'ann'), (2, NULL);"
        )
    (tmp_path / "constat.yaml").write_text(
        'rules: [rules.dl]\ndatabases: {shop: {uri: "sqlite:///shop.sqlite"}}\n'
    )
    (tmp_path / "rules.dl").write_text(
        '.pragma "constat" "0.1"\n'
        "@[key = id]\n.decl sale(id: number, @[null = none] who: symbol)\n"
        '.input sale(source = "shop", query = "SELECT id, who FROM sale")\n'
        f"{IDS}.decl has_who(id: number)\nhas_who(?i) :- sale(id = ?i, who = _who).\n"
        "got(?i) :- sale(id = ?i), !has_who(?i).\n"
    )
    with Session(tmp_path) as session:
        assert [row.values for row in session.query("got(?x)").rows] == [(2,)]


def test_a_null_is_no_comparison(tmp_path: Path) -> None:
    for condition in ("?w is null", "?w is not null"):
        with pytest.raises(ConstatError) as caught:
            answers(tmp_path / "p", f"{WORLD}{IDS}got(?i) :- sale(id = ?i, who = ?w), {condition}.")
        assert "`constat help nulls`" in caught.value.diagnostics[0].help


GOALS = [
    ("sale(id = ?i, who = ?w), ?w in ('ann', 'bob')", "?w in ('ann', 'bob')",
     'match("ann|bob", ?w)', 2),
    ("sale(id = ?i, who = 'ann')", None, 'sale(id = ?i, who = "ann")', 1),
    ("sale(id = ?i, who = ?w) where ?w = 'ann'", " where ?w = 'ann'", ', ?w = "ann"', 1),
    ("sale(id = ?i, first = ?d), year(?d) = '2025'", "'2025'", "2025", 3),
    ('sale(id = ?i, who = ?w), contains(?w, "o")', 'contains(?w, "o")', 'contains("o", ?w)', 1),
    ('sale(id = ?i, who = ?w), match(?w, "a.*")', 'match(?w, "a.*")', 'match("a.*", ?w)', 1),
    ("sale(n = ?n), ?s = sum(?n)", None, "?s = sum ?n : { sale(n = ?n) }", 1),
    ("select count(*) from sale where n = 900", None, "?n = count : { sale(n = 900) }", 1),
    ("select avg(amount) from sale where n = 900", None,
     "?n = mean ?amount : { sale(amount = ?amount, n = 900) }", 1),
    ("count(sale)", None, "?n = count : { sale(id = _) }", 1),
    ("Sales(Id = ?i, Who = ann)", None, "sale(id = ?i, who = ann)", 1),
    ("sale()", None, "sale(id = ?id)", 3),
    ("sale(id = 1, 5)", None, "sale(id = 1, who = 5)", 0),
    ("sale(id = ?_k)", "?_k", "?k", 3),
]  # fmt: skip


@pytest.mark.parametrize(("goal", "wrong", "edit", "count"), GOALS)
def test_the_edit_of_a_goal_does_what_was_meant(
    tmp_path: Path, goal: str, wrong: str | None, edit: str, count: int
) -> None:
    (tmp_path / "constat.yaml").write_text("rules: [rules.dl]\n")
    (tmp_path / "rules.dl").write_text(WORLD)
    with Session(tmp_path) as session:
        with pytest.raises(ConstatError) as caught:
            session.query(goal)
        assert f"`{edit}`" in " ".join(one.help for one in caught.value.diagnostics)
        mended = edit if wrong is None else goal.replace(wrong, edit)
        assert len(session.query(mended).rows) == count


def test_order_and_limit_are_options(tmp_path: Path) -> None:
    (tmp_path / "constat.yaml").write_text("rules: [rules.dl]\n")
    (tmp_path / "rules.dl").write_text(WORLD)
    with Session(tmp_path) as session, pytest.raises(ConstatError) as caught:
        session.query("sale(id = ?i, who = 'ann') order by ?i desc limit 5")
    told = {one.code: one.help for one in caught.value.diagnostics}
    assert told["C0430"] == "write `--order i:desc` and `--limit 5` instead"
    assert told["C0104"] == 'write `"ann"`'


def test_rows_without_a_value_are_asked_for_as_the_message_says(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as made:
        made.executescript(
            "CREATE TABLE sale (id INTEGER PRIMARY KEY, who TEXT);"
            "INSERT INTO sale VALUES (1, 'ann'), (2, NULL);"
        )
    (tmp_path / "constat.yaml").write_text(
        'rules: [rules.dl]\ndatabases: {shop: {uri: "sqlite:///shop.sqlite"}}\n'
    )
    (tmp_path / "rules.dl").write_text(
        '.pragma "constat" "0.1"\n'
        "@[key = id]\n.decl sale(id: number, @[null = none] who: symbol)\n"
        '.input sale(source = "shop", query = "SELECT id, who FROM sale")\n'
    )
    with Session(tmp_path) as session:
        with pytest.raises(ConstatError) as caught:
            session.query("sale(who = NULL)")
        edit = caught.value.diagnostics[0].help.split("`")[1]
        assert [row.values for row in session.query(edit).rows] == [(2,)]


@pytest.mark.parametrize(
    ("literal", "edit"),
    [
        ("is_null(?w)", "`constat help nulls`"),
        ("!known(?w)", "`constat help nulls`"),
        ("isnull(?w)", "`constat help nulls`"),
        ("?w = today()", "read it by `today(?day)`"),
        ("?w = $today", "read it by `today(?day)`"),
    ],
)
def test_a_question_for_no_value_or_for_today_says_how_it_is_asked(
    tmp_path: Path, literal: str, edit: str
) -> None:
    with pytest.raises(ConstatError) as caught:
        answers(
            tmp_path / "p",
            f"{WORLD}.decl r(i: number)\nr(?i) :- sale(id = ?i, who = ?w), {literal}.",
        )
    assert edit in " ".join(one.help for one in caught.value.diagnostics)
