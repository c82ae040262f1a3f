"""What people and models write out of habit: named, and mended by the edit in the help."""

from __future__ import annotations

import pytest

from tests.syntax.reading import errors, read, sound

# wrong text, code, the edit that the help gives, the text after the edit
HABITS = [
    ("p([?h | ?t]) :- q(?h, ?t).", "C0192", "`[?head, ?tail]`", "p([?h, ?t]) :- q(?h, ?t)."),
    ("p((1, 2)).", "C0192", "`[1, 2]`", "p([1, 2])."),
    ("p({x: 1, y: 2}).", "C0192", "`[1, 2]`", "p([1, 2])."),
    ("p([x: 1, 2]).", "C0192", "`x`", "p([1, 2])."),
    ("p($Circle { 1 }).", "C0191", "`$Circle(...)`", "p($Circle(1))."),
    ("p(nil()).", "C0191", "`nil`", "p(nil)."),
    (".type T = A { x: number } | B", "C0193", "`B {}`", ".type T = A { x: number } | B {}"),
    (".type T = { x: number }", "C0193", "`[x: number]`", ".type T = [x: number]"),
    (".type T = A(x: number)", "C0193", "`A { x: number }`", ".type T = A { x: number }"),
    ("p(?x) :- q(?x, Gold).", "C0116", '`"Gold"`', 'p(?x) :- q(?x, "Gold").'),
    ("p(?x) :- q(?x, gold).", "C0116", "`?gold`", "p(?x) :- q(?x, ?gold)."),
    ("p(?x) :- q(?x, true).", "C0116", '`"true"`', 'p(?x) :- q(?x, "true").'),
    ("p(?x) :- q(?x), ?x = Gold.", "C0116", '`"Gold"`', 'p(?x) :- q(?x), ?x = "Gold".'),
    ("p(?x) :- q(?x), not r(?x).", "C0117", "`!r(?x)`", "p(?x) :- q(?x), !r(?x)."),
    ("p(?x) :- q(?x), not(r(?x)).", "C0117", "`!r(?x)`", "p(?x) :- q(?x), !r(?x)."),
    ("p(?x) :- q(?x), \\+ r(?x).", "C0117", "`!r(?x)`", "p(?x) :- q(?x), !r(?x)."),
    ("p(?x) :- q(?x), ~r(?x).", "C0117", "`!r(?x)`", "p(?x) :- q(?x), !r(?x)."),
    ("p(?x) :- q(?x), ¬r(?x).", "C0117", "`!r(?x)`", "p(?x) :- q(?x), !r(?x)."),
    ("p(?x) :- q(?x), ?x == 1.", "C0118", "`=`", "p(?x) :- q(?x), ?x = 1."),
    ("p(?x) :- q(?x), ?x =< 1.", "C0118", "`<=`", "p(?x) :- q(?x), ?x <= 1."),
    ("p(?x) :- q(?x), ?x => 1.", "C0118", "`>=`", "p(?x) :- q(?x), ?x >= 1."),
    ("p(?x) :- q(?x), ?x <> 1.", "C0118", "`!=`", "p(?x) :- q(?x), ?x != 1."),
    ("p(?x) :- q(?x), ?x \\= 1.", "C0118", "`!=`", "p(?x) :- q(?x), ?x != 1."),
    ("p(?x) :- q(?x), ?x =\\= 1.", "C0118", "`!=`", "p(?x) :- q(?x), ?x != 1."),
    ("p(?x) :- q(?x), ?x =:= 1.", "C0118", "`=`", "p(?x) :- q(?x), ?x = 1."),
    ("p(?x) :- q(?x), ?x ≤ 1.", "C0118", "`<=`", "p(?x) :- q(?x), ?x <= 1."),
    ("p(?x) :- q(?y), ?x is ?y + 1.", "C0118", "`=`", "p(?x) :- q(?y), ?x = ?y + 1."),
    ("p(?x) :- q(?y), ?x := ?y + 1.", "C0118", "`=`", "p(?x) :- q(?y), ?x = ?y + 1."),
    ("p(?x) :- q(?x) && r(?x).", "C0119", "`,`", "p(?x) :- q(?x), r(?x)."),
    ("p(?x) :- q(?x) and r(?x).", "C0119", "`,`", "p(?x) :- q(?x), r(?x)."),
    ("p(?x) :- q(?x) & r(?x).", "C0119", "`,`", "p(?x) :- q(?x), r(?x)."),
    ("p(?x) :- q(?x) || r(?x).", "C0119", "`;`", "p(?x) :- q(?x); r(?x)."),
    ("p(?x) :- q(?x) or r(?x).", "C0119", "`;`", "p(?x) :- q(?x); r(?x)."),
    ("p(?x) :- q(?x) | r(?x).", "C0119", "`;`", "p(?x) :- q(?x); r(?x)."),
    ("p(?x ** 2) :- q(?x).", "C0158", "`^`", "p(?x ^ 2) :- q(?x)."),
    ("p(?x << 2) :- q(?x).", "C0158", "`bshl`", "p(?x bshl 2) :- q(?x)."),
    ("p(?x >> 2) :- q(?x).", "C0158", "`bshr`", "p(?x bshr 2) :- q(?x)."),
    ("p(?x >>> 2) :- q(?x).", "C0158", "`bshru`", "p(?x bshru 2) :- q(?x)."),
    ("p(?y) :- q(?x), ?y = ?x & 2.", "C0158", "`band`", "p(?y) :- q(?x), ?y = ?x band 2."),
    ("p(?y) :- q(?x), ?y = ?x | ?x.", "C0158", "`bor`", "p(?y) :- q(?x), ?y = ?x bor ?x."),
    ("p(?x) :- q(?x), (?x & 1) = 1.", "C0158", "`band`", "p(?x) :- q(?x), (?x band 1) = 1."),
    ("p(?y) :- q(?x), ?y = ?x && 2.", "C0158", "`land`", "p(?y) :- q(?x), ?y = ?x land 2."),
    ("p((?x || (?x))) :- q(?x).", "C0158", "`lor`", "p((?x lor (?x))) :- q(?x)."),
    ("p(?y) :- q(?x), ?y = ~?x.", "C0158", "`bnot`", "p(?y) :- q(?x), ?y = bnot ?x."),
    ("p(?y) :- q(?x), ?y = ?x mod 2.", "C0158", "`%`", "p(?y) :- q(?x), ?y = ?x % 2."),
    ("p(?y) :- q(?x), ?y = ?x xor 2.", "C0158", "`bxor`", "p(?y) :- q(?x), ?y = ?x bxor 2."),
    ("p(?x) :- q(?x), ?x > 1 & ?x < 9.", "C0119", "`,`", "p(?x) :- q(?x), ?x > 1, ?x < 9."),
    ("p(?x) :- q(?x), ?x > 1 && 9 > ?x.", "C0119", "`,`", "p(?x) :- q(?x), ?x > 1, 9 > ?x."),
    ("p(?x) :- q(?x), ?x > 1 & r(?x).", "C0119", "`,`", "p(?x) :- q(?x), ?x > 1, r(?x)."),
    ("p(?x) <- q(?x).", "C0120", "`:-`", "p(?x) :- q(?x)."),
    ("p(?x) <= q(?x).", "C0120", "`:-`", "p(?x) :- q(?x)."),
    ("p(?x) => q(?x).", "C0120", "`:-`", "p(?x) :- q(?x)."),
    ("p(?x) := q(?x).", "C0120", "`:-`", "p(?x) :- q(?x)."),
    ("p(?x) : q(?x).", "C0120", "`:-`", "p(?x) :- q(?x)."),
    ("p(?x) if q(?x).", "C0120", "`:-`", "p(?x) :- q(?x)."),
    ("p(?x) ← q(?x).", "C0120", "`:-`", "p(?x) :- q(?x)."),
    ("p(?x) :- q(?x)", "C0121", "`.`", "p(?x) :- q(?x)."),
    ("p(?x) :- q(?x) r(?x).", "C0122", "`,`", "p(?x) :- q(?x), r(?x)."),
    ("p(?x, ?y) :- q(?x ?y).", "C0122", "`,`", "p(?x, ?y) :- q(?x, ?y)."),
    (".decl p(x: symbol y: symbol)", "C0122", "`,`", ".decl p(x: symbol, y: symbol)"),
    ("p(?x :- q(?x).", "C0123", "`)`", "p(?x) :- q(?x)."),
    ("p(?x)) :- q(?x).", "C0123", "`)`", "p(?x) :- q(?x)."),
    ("p(?n) :- ?n = count : { q(_) .", "C0123", "`}`", "p(?n) :- ?n = count : { q(_) }."),
    (
        "p(?x) :- q(?x), ?x > 2024-01-01.",
        "C0124",
        '`"2024-01-01"`',
        'p(?x) :- q(?x), ?x > "2024-01-01".',
    ),
    ("p(2024-01-01).", "C0124", '`"2024-01-01"`', 'p("2024-01-01").'),
    ("p(2024-01-01T10:00:00Z).", "C0124", '`"2024-01-01T10:00:00Z"`', 'p("2024-01-01T10:00:00Z").'),
    (".decl p(count: number)", "C0125", "`count_`", ".decl p(count_: number)"),
    (".decl sum(x: number)", "C0125", "`sum_`", ".decl sum_(x: number)"),
    ("range(?x) :- q(?x).", "C0125", "`range_`", "range_(?x) :- q(?x)."),
    (".type match <: symbol", "C0125", "`match_`", ".type match_ <: symbol"),
    ("% a comment\np(1).", "C0114", "`//`", "// a comment\np(1)."),
    ("p(1). % don't\nq(2).", "C0114", "`//`", "p(1). // don't\nq(2)."),
    (".decl p(x: number) % why\np(1).", "C0114", "`//`", ".decl p(x: number) // why\np(1)."),
    ("p(?x) :- q(?x),\n  % it's so\n  r(?x).", "C0114", "`//`", "p(?x) :- q(?x),\n  r(?x)."),
    ("-- a comment\np(1).", "C0114", "`//`", "// a comment\np(1)."),
    ("# a comment\np(1).", "C0114", "`//`", "// a comment\np(1)."),
    ("//! a header\np(1).", "C0114", "`//`", "// a header\np(1)."),
    ("p('a').", "C0104", '`"a"`', 'p("a").'),
    ("p(?x) :- q(?x), ?x > 7,5.", "C0112", "write `7.5`", "p(?x) :- q(?x), ?x > 7.5."),
    ("p(?x) :- q(?x), ?x > 1.000,50.", "C0112", "`1000.50`", "p(?x) :- q(?x), ?x > 1000.50."),
    ("p(?n) :- ?n = count : { q(?x), ?x > 7,5 }.", "C0112", "`7.5`", "p(1)."),
    ("p(?x) :- q(?x), ?x > 1'000.", "C0112", "write `1000`", "p(?x) :- q(?x), ?x > 1000."),
    ("p(1'000).", "C0112", "write `1000`", "p(1000)."),
    ("p(€5).", "C0112", "write `5`", "p(5)."),
    ("p(7,5€).", "C0112", "write `7.5`", "p(7.5)."),
    ("p(?x) :- q(?x), ?x > $5.", "C0112", "write `5`", "p(?x) :- q(?x), ?x > 5."),
    ("p(5k).", "C0112", "write `5000`", "p(5000)."),
    ("p(2.5M).", "C0112", "write `2500000`", "p(2500000)."),
    ("p(.5).", "C0112", "`0.5`", "p(0.5)."),
    ("p(?x) :- q(?_x).", "C0115", "`_x`", "p(?x) :- q(_x)."),
    ("p(?x) :- q(?x, ?_).", "C0115", "write `_`", "p(?x) :- q(?x, _)."),
    (".decl p(?x: symbol)", "C0130", "`x`", ".decl p(x: symbol)"),
    (".inptu p", "C0126", "`.input`", ".decl p(x: symbol) .input p"),
    (".decl p(x: symbol).", "C0138", "delete the dot", ".decl p(x: symbol)"),
]


@pytest.mark.parametrize(("wrong", "code", "edit", "right"), HABITS, ids=lambda part: part[:30])
def test_a_habit_is_named_and_its_help_mends_it(
    wrong: str, code: str, edit: str, right: str
) -> None:
    _, found = read(wrong)
    assert [one.code for one in found] == [code]
    assert edit in found[0].help
    sound(right)


@pytest.mark.parametrize(
    "text",
    [
        "p(?x) :- q(?x), ?x = 2024 - 01 - 01.",
        "p(?x) :- q(?y), ?x = ?y % 2.",
        "p(?x) :- q(?y), ?x = ?y\n  % 2.",
        "p(?x) :- q(?y), ?x <-5.",
        "p(?x) :- q(?x, ?count, ?sum, ?match).",
        "p(5).q(5.5).r(?x):-p(?x).",
        "p(1). q(1).",
        '.decl p(x: symbol) .output p p("a").',
        "p(?x) :- q(?x), (?x + 1) * 2 > 3, ((q(?x))).",
        "p(?x) :- q(?x), min(?x, 1) = 1, ?x = max(?x, ?x).",
        "p(?x) :- q(?x), bnot ?x = 1, bnot(?x) band 1 = 0, ?x < -1, ?x > -1.",
        "p(?x) :- q(?x), (?x) bshl 1 > 3, (?x ^ 2) = 4, ?x ^ 2 = 4, lnot (?x) = 0.",
        'p(?x) :- q(?x), cat("a", ?x) != "b".',
        "p(?n) :- ?n = count : q(_).",
        "p(?n) :- count : { q(_) } = ?n.",
        "p(?n) :- ?n = sum(?x) : { q(?x) }.",
        "//// not a description\np(1). //// nor this",
        "/* a ** comment */ p(1). /**/",
        "p(1).\r\nq(2).\r\n",
        "",
        "   // nothing",
    ],
)
def test_what_only_looks_like_a_habit_is_read(text: str) -> None:
    assert errors(text) == []


@pytest.mark.parametrize("day", ["@today", "@now()", "current_date", "SYSDATE"])
def test_the_day_of_today_is_a_fact(day: str) -> None:
    _, (found,) = read(f"p(?x) :- q(?x), ?x < {day}.")
    assert "`.decl today(day: Date)`, read it by `today(?day)`" in found.help
    sound(".decl today(day: Date)\np(?x) :- q(?x), today(?day), ?x < ?day.")


@pytest.mark.parametrize("word", ["none", "None", "NaN", "missing"])
def test_a_word_for_no_value_leads_to_what_nulls_mean(word: str) -> None:
    _, (found,) = read(f"p(?x) :- q(?x, {word}).")
    assert found.code == "C0116"
    assert f'`"{word}"` for the text' in found.help
    assert "`constat help nulls`" in found.help
