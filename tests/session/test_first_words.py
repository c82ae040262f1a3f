"""What somebody types who knows SQL, Prolog or a spreadsheet, and has seen no message of ours.

The cases were written before the messages were looked at. The edit that a message suggests is
applied as a program would, again where there is another mistake, and then the goal gives what its
writer meant: rows that are written here by hand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError

if TYPE_CHECKING:
    from pathlib import Path

    from constat.diagnostics import Diagnostic

RULES = """.pragma "constat" "0.1"
@[key = id]
.decl customer(id: symbol, name: symbol, city: symbol, tier: symbol)
customer("C1", "Anna", "Rome", "gold").
customer("C2", "Bob", "Bern", "silver").
customer("C3", "Carl", "Rome", "bronze").
@[key = id]
.decl orders(id: number, customer_id: symbol, amount: Decimal, day: Date)
orders(1, "C1", 150.0, "2025-01-31").
orders(2, "C1", 12.5, "2025-02-10").
orders(3, "C2", 7.5, "2025-03-01").
orders(4, "C3", 12.5, "2025-03-01").
.decl blocked(customer_id: symbol)
blocked("C2").
"""
MOST_EDITS = 4

# What is typed, and the values that the first column of the answer is to have.
GOALS = [
    ("select * from customer", {"C1", "C2", "C3"}),
    ("SELECT name FROM customer WHERE city = 'Rome'", {"Anna", "Carl"}),
    ("SELECT count(*) FROM orders", {"4"}),
    ("SELECT max(amount) FROM orders", {"150"}),
    ("SELECT sum(amount) FROM orders WHERE customer_id = 'C1'", {"162.5"}),
    ("SELECT sum(amount) FROM orders", {"182.5"}),
    ("SELECT id FROM orders WHERE amount > 10 AND amount < 100", {"2", "4"}),
    ("SELECT id FROM orders WHERE amount >= 12.5 AND customer_id = 'C1'", {"1", "2"}),
    ('customer(id = ?i, name == "Anna")', {"C1"}),
    ('customer(id = ?i, city != "Rome")', {"C2"}),
    ("customer(id = ?i, city <> Rome)", {"C2"}),
    ("orders(id = ?i, amount > 100)", {"1"}),
    ("orders(?i, ?c, >= 100, ?d)", {"1"}),
    ('customer(id = ?i, name in ("Anna", "Carl"))', {"C1", "C3"}),
    ('customer(id = ?i, name = "Anna" or "Carl")', {"C1", "C3"}),
    ("orders(id = ?i, customer_id in [C1, C3])", {"1", "2", "4"}),
    ('orders(id = ?i, day = ?d), ?n = ?d - "2025-01-31", ?n > 20', {"3", "4"}),
    ('orders(id = ?i, day = "2025-03-01 00:00:00")', {"3", "4"}),
    ('"Order"(id = ?i, amount = 7.5)', {"3"}),
    ('"Customer ID"(?x)', {"C1", "C2", "C3"}),
    ("orders(?i, ?c, between 10 and 20, ?d)", {"2", "4"}),
    ("orders(id = ?i, amount between 10 and 20)", {"2", "4"}),
    ('orders(id = ?i, day = BETWEEN "2025-02-01" AND "2025-02-28")', {"2"}),
    ("orders(?i, not C1, ?a, ?d)", {"3", "4"}),
    ("orders(id = ?i, amount >= 7,5, amount < 12)", {"3"}),
    ("orders(id = ?i, amount = ?a) and ?a > 100", {"1"}),
    ("orders(id = ?i, amount = ?a) && ?a > 100", {"1"}),
    ("orders(id = ?i) where amount > 100", {"1"}),
    ("orders(id = ?i), amount > 100", {"1"}),
    ('customer(id = ?i), name = "Anna"', {"C1"}),
    ('orders(id = ?i, customer_id = ?c) join customer(id = ?c, city = "Rome")', {"1", "2", "4"}),
    ("orders(id = ?i, amount = ?a), ?a between 10 and 20", {"2", "4"}),
    ("orders(id = ?i, amount = ?a), 10 < ?a < 100", {"2", "4"}),
    ('customer(id = ?i, name = ?n), ?n like "A%"', {"C1"}),
    ('customer(id = ?i, name = ?n), lower(?n) = "anna"', {"C1"}),
    ('customer(id = ?i, name = ?n), UPPER(?n) = "BOB"', {"C2"}),
    ('customer(id = ?i, name = ?n), starts_with(?n, "A")', {"C1"}),
    ('customer(id = ?i, name = ?n), substring(?n, 1, 1) = "n"', {"C1"}),
    ("customer(id = ?i, name = ?n), length(?n) > 3", {"C1", "C3"}),
    ('customer(id = ?i, city = ?c), ?c in ("Bern", "Wien")', {"C2"}),
    ("customer(id = ?i, tier = gold or silver)", {"C1", "C2"}),
    ("customers(id = ?i)", {"C1", "C2", "C3"}),
    ("Customer(id = ?i)", {"C1", "C2", "C3"}),
    ("customer[id = ?i]", {"C1", "C2", "C3"}),
    ('customer(id = ?i, nmae = "Anna")', {"C1"}),
    ("customer(id = ?i, name = 'Anna')", {"C1"}),
    ("orders(id = ?i, amount = ?a), ?a > 50%", {"1"}),
    ("orders(id = ?i, amount = ?a), ?a > 12,6\u20ac", {"1"}),
    ("orders(id = ?i, amount = ?a), ?a > 1_00", {"1"}),
    ("orders(id = ?i, amount = ?a), ?a > $100", {"1"}),
    ("orders(id = ?i, amount = ?a), ?a > 100 EUR", {"1"}),
    ('orders(id = ?i, amount = "7.5")', {"3"}),
    ("orders(id = ?i, amount = ?a), ?a <> 12.5", {"1", "3"}),
    ("orders(id = ?i, amount = ?a), ?a =< 7.5", {"3"}),
    ("orders(id = ?i, amount = ?a), ?a \u2265 100", {"1"}),
    ("orders(id = ?i, amount = ?a), abs(?a) > 100", {"1"}),
    ('orders(id = ?i, day = "31.01.2025")', {"1"}),
    ('orders(id = ?i, day = ?d), ?d > date("2025-02-20")', {"3", "4"}),
    ('orders(id = ?i, day = ?d), ?d - "2025-01-01" > 50', {"3", "4"}),
    ('orders(id = ?i, day = ?d), datediff(?d, "2025-03-01") > 20', {"1"}),
    ('?- customer(id = ?i, city = "Bern").', {"C2"}),
    ("customer(id = ?i), not blocked(?i)", {"C1", "C3"}),
    ("customer(id = ?i), \\+ blocked(?i)", {"C1", "C3"}),
    ('exists orders(id = ?i, customer_id = "C3")', {"4"}),
    ('is customer(id = ?i, name = "Bob")', {"C2"}),
    ("distinct customer(city = ?c)", {"Rome", "Bern"}),
    ("max(orders.amount)", {"150"}),
    ("avg(orders.amount)", {"45.625"}),
    ('count(orders(customer_id = "C1"))', {"2"}),
    ("customer(?i, ?n)", {"C1", "C2", "C3"}),
]

COUNTED = ".decl big(c: symbol, n: number)\n"
SUMMED = ".decl big(c: symbol, t: Decimal)\n"
BIG = ".decl big(c: symbol)\n"
# Rules, and the goal with the values that it is to have.
PROGRAMS = [
    (BIG + "big(?c) :- orders(customer_id = ?c, amount = ?a), ?a > 100", {"C1"}),
    (BIG + "big(?c) <- orders(customer_id = ?c, amount = ?a), ?a > 100.", {"C1"}),
    (BIG + "big(?c) if orders(customer_id = ?c, amount = ?a), ?a > 100.", {"C1"}),
    (BIG + "big(?c) :- orders(customer_id = ?c, amount = ?a) and ?a > 100.", {"C1"}),
    (BIG + "big(?c) :- orders(customer_id = ?c, amount = ?a), ?a > 100 or ?a < 8.", {"C1", "C2"}),
    (BIG + "big(?c) :- customer(id = ?c), not blocked(?c).", {"C1", "C3"}),
    (BIG + "big(?c) :- customer(id = ?c, tier = 'gold').", {"C1"}),
    (BIG + "big(?c) :- customer(id = ?c, tier = gold).", {"C1"}),
    (BIG + "big(?c) :- orders(customer_id = ?c, day = ?d), ?d < 2025-02-01.", {"C1"}),
    (BIG + "big(?c) :- order(customer_id = ?c, amount = ?a), ?a > 100.", {"C1"}),
    (BIG + "big(?c) :- orders(customer_id = ?c, amount = ?a), ?a > 50%.", {"C1"}),
    (BIG + "big(?c) :- orders(customer_id = ?c, amount = ?a), ?a > 12,6\u20ac.", {"C1"}),
    (BIG + "big(?c) :- orders(customer_id = ?c, amount > 100).", {"C1"}),
    (BIG + "big(?c) :- orders(_, ?c, > 100, _).", {"C1"}),
    (BIG + "big(?c) :- orders(customer_id = ?c, amount = ?a), ?a > 0,1.", {"C1", "C2", "C3"}),
    (
        BIG + "big(?c) :- orders(customer_id = ?c, amount = ?a), ?a < 1,000,000.00.",
        {"C1", "C2", "C3"},
    ),
    (".decl big(c: text)\nbig(?c) :- orders(customer_id = ?c, amount = ?a), ?a > 100.", {"C1"}),
    (".decl big(c)\nbig(?c) :- orders(customer_id = ?c, amount = ?a), ?a > 100.", {"C1"}),
    (
        ".decl big(c: varchar(20))\nbig(?c) :- orders(customer_id = ?c, amount = ?a), ?a > 100.",
        {"C1"},
    ),
    (
        f"{SUMMED}big(?c, sum(?a)) :- orders(customer_id = ?c, amount = ?a).",
        {"C1", "C2", "C3"},
    ),
    (
        ".decl big(c: symbol, n: number)\nbig(?c, count(*)) :- orders(customer_id = ?c).",
        {"C1", "C2", "C3"},
    ),
    (
        f"{COUNTED}big(?c, ?n) :- customer(id = ?c), ?n = count(orders(customer_id = ?c)).",
        {"C1", "C2", "C3"},
    ),
]


def edited(text: str, mistake: Diagnostic, first_line: int = 1) -> str:
    """Apply the first edit of a message: a whole text, else what stands in the mistake's place."""
    found = re.search("`([^`]+)`", mistake.help)
    assert found is not None, mistake.help
    edit = found[1]
    if edit.startswith(("?n = ", "customer(", "orders(", "sale(")) and first_line == 1:
        return edit
    assert mistake.span is not None
    lines = text.split("\n")
    place = mistake.span.line - first_line
    if ":- " in edit:
        lines[place] = edit
        return "\n".join(lines)
    first, last = mistake.span.column - 1, mistake.span.end_column - 1
    if mistake.code == "C0212" and "length" not in mistake.message:
        # The place is that of the column; the type stands behind it.
        named = mistake.message.split("`")[1]
        first = lines[place].index(named, first) if named in lines[place][last:] else first
        last = first + len(named) if lines[place][first:].startswith(named) else last
    if edit.startswith(("match(", "!match(")) or (
        mistake.code in {"C0118", "C0117"} and ("?" in edit or edit[1:2].isalpha())
    ):
        # The edit is the whole literal around the word.
        first, last = literal_at(lines[place], first)
    lines[place] = lines[place][:first] + edit + lines[place][last:]
    return "\n".join(lines)


def literal_at(line: str, place: int) -> tuple[int, int]:
    """Give the literal around a place: up to the commas outside of brackets."""
    start = end = place
    depth = 0
    while start > 0 and not (line[start - 1] == "," and depth == 0):
        start -= 1
        depth += {")": 1, "(": -1}.get(line[start], 0)
        if line[start : start + 3] == ":- ":
            start += 2
            break
    depth = 0
    while end < len(line) and not (line[end] == "," and depth <= 0):
        depth += {"(": 1, ")": -1}.get(line[end], 0)
        end += 1
    text = line[start:end]
    kept = end - len(text) + len(text.rstrip(" ."))
    return start + len(text) - len(text.lstrip()), kept


@pytest.mark.parametrize(("typed", "meant"), GOALS)
def test_the_edits_of_a_goal_lead_to_what_was_meant(
    tmp_path: Path, typed: str, meant: set[str]
) -> None:
    (tmp_path / "constat.yaml").write_text("rules: [rules.dl]\n")
    (tmp_path / "rules.dl").write_text(RULES)
    goal = typed
    with Session(tmp_path) as session:
        for _ in range(MOST_EDITS):
            try:
                found = session.query(goal)
                break
            except ConstatError as problem:
                goal = edited(goal, problem.diagnostics[0])
        else:
            pytest.fail(goal)
        assert goal != typed
        assert {str(row.values[0]) for row in found.rows} == meant


@pytest.mark.parametrize(("typed", "meant"), PROGRAMS)
def test_the_edits_of_a_rule_lead_to_what_was_meant(
    tmp_path: Path, typed: str, meant: set[str]
) -> None:
    (tmp_path / "constat.yaml").write_text("rules: [rules.dl]\n")
    text = typed
    for _ in range(MOST_EDITS):
        (tmp_path / "rules.dl").write_text(f"{RULES}{text}\n")
        try:
            with Session(tmp_path) as session:
                columns = session.program.program.predicates["big"].columns
                named = ", ".join(f"{one.name} = ?{one.name}" for one in columns)
                found = session.query(f"big({named})")
            break
        except ConstatError as problem:
            text = edited(text, problem.diagnostics[0], RULES.count("\n") + 1)
    else:
        pytest.fail(text)
    assert text != typed
    assert {str(row.values[0]) for row in found.rows} == meant
