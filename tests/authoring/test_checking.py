"""What a draft may say: each thing that it may not draws its code, and has no effect."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from constat.authoring.checking import Checked, Proposal, check_proposal
from constat.authoring.fragments import Ground, check_query
from constat.catalog import SqliteConnection
from constat.session import Session
from constat.session.asking_steps import ground_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOD = """\
.decl large(c: CustomerId)
large(?c) :- order_count(?c, ?n), ?n > 20.
"""
QUERY = '.decl q(c: CustomerId)\n.input q(source = "sales", query = "{}")\n'


@pytest.fixture(scope="module")
def ground(still_shop: Path) -> Iterator[Ground]:
    with Session(still_shop) as session:
        yield ground_of(session)


def check(ground: Ground, goal: str, rules: str = "", seen: str = "20 C001") -> Checked:
    return check_proposal(Proposal(goal, rules), ground, [seen])


def codes(checked: Checked) -> list[str]:
    return [one.code for one in checked.errors]


def test_a_goal_over_what_is_there_needs_no_draft(ground: Ground) -> None:
    found = check(ground, "is_vip(C001)")
    assert (codes(found), found.text, found.reused) == ([], "", ("is_vip",))


def test_a_draft_that_is_right_is_kept(ground: Ground) -> None:
    found = check(ground, "large(C001)", GOOD)
    assert codes(found) == []
    assert found.reused == ("order_count",)
    assert "large(?c) :- order_count(?c, ?n), ?n > 20." in found.text


def test_a_draft_may_name_the_arguments_of_what_is_there(ground: Ground) -> None:
    named = GOOD.replace("order_count(?c, ?n)", "order_count(orders = ?n, customer = ?c)")
    found = check(ground, "large(c = C001)", named)
    assert codes(found) == []
    assert "large(?c) :- order_count(?c, ?n), ?n > 20." in found.text
    wrong = GOOD.replace("order_count(?c, ?n)", "order_count(order = ?n, customer = ?c)")
    assert codes(check(ground, "large(C001)", wrong)) == ["C0183"]


def test_what_the_goal_does_not_need_is_not_kept(ground: Ground) -> None:
    more = GOOD + ".decl spy(c: CustomerId)\nspy(?c) :- blocked(?c).\n"
    assert "spy" not in check(ground, "large(C001)", more).text
    assert check(ground, "is_vip(C001)", more).text == ""


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ("is_vip(?c) :- customer(?c).", "C0862"),
        ("blocked(?c) :- customer(?c).", "C0862"),
        ("contract_value(?c, ?v) :- customer_revenue(?c, ?v).", "C0862"),
        (".decl is_vip(c: CustomerId, why: symbol)", "C0862"),
        (".type CustomerId <: number", "C0862"),
        ('large("C001").\n.decl large(c: CustomerId)', "C0863"),
        ('.decl large(c: CustomerId)\nlarge(?c) :- ?c = "C001".', "C0863"),
        ('.decl large(c: CustomerId)\nlarge(?c) :- !blocked(?c), ?c = "C001".', "C0863"),
        ('.input customer(source = "sales", query = "SELECT id FROM customers")', "C0864"),
        ('.decl q(c: CustomerId)\n.input q(source = "config")', "C0864"),
        ('.decl q(c: CustomerId)\n.input q(source = "certificates")', "C0864"),
        ('.decl q(c: CustomerId)\n.input q(source = "model")', "C0864"),
        ('.decl q(c: CustomerId)\n.input q(IO = "file", filename = "/etc/passwd")', "C0864"),
        ('.decl q(c: CustomerId)\n.input q(source = "sales")', "C0865"),
        ('.include "../secrets.dl"', "C0868"),
        ('.output is_vip(filename = "/tmp/x")', "C0868"),
        (".decl q_as_queried(c: CustomerId)", "C0875"),
        (".decl q_beyond_draft(c: CustomerId)", "C0875"),
        (".functor f(x: number): number", "C0163"),
        ("// \x1b[2J", "C0879"),
        (".decl p(n: number)\np(?n) :- order_count(_, ?n).\np(?n + 1) :- p(?n).", "C0878"),
        (
            ".decl p(n: number)\np(?n) :- order_count(_, ?n).\np(?m) :- p(?n), ?m = ?n * 2.",
            "C0878",
        ),
        (GOOD + "large(?c) :- customer(?c), !large(?c).", "C0250"),
        (".decl p(n: number)\np(?n / 2) :- order_count(_, ?n).", "C0228"),
    ],
)
def test_what_no_draft_may_say(ground: Ground, rules: str, code: str) -> None:
    found = check(ground, "is_vip(C001)", rules)
    assert code in codes(found)
    assert (found.goal, found.text) == (None, "")
    assert all(one.help for one in found.errors)


def test_a_draft_divides_whole_numbers_only_where_it_says_so(ground: Ground) -> None:
    half = ".decl half(c: CustomerId, n: number)\nhalf(?c, ?n / 2) :- order_count(?c, ?n).\n"
    (told,) = check(ground, "half(C001, ?n)", half).errors
    assert told.code == "C0228"
    assert "`as(?n, Decimal) / 2`" in told.help
    meant = check(ground, "half(C001, ?n)", half.replace("half(?c, ?n", "@[floor] half(?c, ?n"))
    assert codes(meant) == []
    assert "@[floor = true]" in meant.text, "who approves it sees that it is meant"
    exact = half.replace("n: number", "n: Decimal").replace("?n / 2", "as(?n, Decimal) / 2")
    assert codes(check(ground, "half(C001, ?n)", exact)) == []


def test_types_of_a_draft_are_kept_with_those_they_rest_on(ground: Ground) -> None:
    rules = (
        ".type Unused <: symbol\n.type Name <: symbol\n.type Nick <: Name\n"
        '.decl q(c: Nick)\n.input q(source = "sales", query = "SELECT name FROM customers")\n'
    )
    found = check(ground, "q(Bo)", rules)
    assert codes(found) == []
    assert found.fragment is not None
    assert set(found.fragment.types) == {"Name", "Nick"}


def test_alternatives_are_counted_as_rules(ground: Ground) -> None:
    body = ", ".join("(customer(?c); blocked(?c))" for _ in range(8))
    found = check(ground, "p(C001)", f".decl p(c: CustomerId)\np(?c) :- {body}.")
    assert codes(found) == ["C0879"]


def test_bare_variables_are_read_where_that_was_asked_for(ground: Ground) -> None:
    rules = (
        ".decl rich(c: CustomerId, t: Decimal)\nrich(c, t) :- customer_revenue(c, t), t > 20.\n"
        ".decl late(d: Date)\nlate(d) :- placed_order(_, _, _, d).\n"
    )
    bare = replace(ground, setting=replace(ground.setting, variables="bare"))
    assert "C0116" in codes(check(ground, "rich(C001, ?t)", rules))
    assert codes(check(bare, "rich(C001, ?t)", rules)) == []
    slip = ".decl gold(c: CustomerId)\ngold(c) :- customer_tier(c, Gold)."
    assert codes(check(bare, "gold(?c)", slip)), "a constant without quotes is no variable"


def test_a_goal_that_nothing_derives_is_refused(ground: Ground) -> None:
    declared = ".decl signed(c: CustomerId)\n"
    assert codes(check(ground, "signed(C001)", declared)) == ["C0861"]
    rules = declared + ".decl ok(c: CustomerId)\nok(?c) :- customer(?c), signed(?c)."
    found = check(ground, "ok(C001)", rules)
    assert codes(found) == []
    assert ".decl signed(c: CustomerId)" in found.text


def test_one_round_shows_all_mistakes(ground: Ground) -> None:
    rules = (
        'is_vip("C001").\n.decl p(c: CustomerId)\np(?c) :- customr(?c).\n'
        '.input p(source = "config")\n.output p'
    )
    found = codes(check(ground, "q(C001)", rules))
    assert {"C0863", "C0864", "C0868"} <= set(found)
    assert any(code.startswith("C02") for code in found), "the analysis was run"


def test_a_fact_is_called_one(ground: Ground) -> None:
    (told,) = check(ground, "is_vip(C001)", '.decl p(c: symbol)\np("C001").').errors
    assert "stated as a fact" in told.message


def test_recursion_with_a_bound_is_allowed(ground: Ground) -> None:
    rules = (
        ".decl p(n: number)\np(?n) :- order_count(_, ?n).\np(?m) :- p(?n), ?m = ?n + 1, ?m < 20."
    )
    assert codes(check(ground, "p(20)", rules)) == []


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("DELETE FROM accounts", "not a SELECT"),
        ("SELECT customer_id FROM accounts; DROP TABLE accounts", "more than one statement"),
        ("SELECT load_extension('x') FROM accounts", "function"),
        ("SELECT readfile('/etc/passwd') FROM accounts", "function"),
        ("SELECT pg_sleep(9) FROM accounts", "function"),
        ("SELECT randomblob(1000000000) FROM accounts", "function"),
        ("PRAGMA writable_schema = 1", "not a SELECT"),
        ("ATTACH DATABASE '/tmp/x' AS y", "not a SELECT"),
        ("SELECT sql FROM sqlite_master", "no table"),
        ("SELECT customer_id FROM other.accounts", "its own source"),
        ("SELECT 'C001'", "reads no table"),
        ("VALUES ('C001')", "not a SELECT"),
        ("SELECT customer_id FROM acounts", "no table"),
        ("SELECT nope FROM accounts", "no such column"),
        ("SELECT customer_id, tier FROM accounts", "gives 2 columns"),
        ("SELECT customer_id FROM accounts WHERE tier = ?", "Placeholder"),
        ("SELECT customer_id FROM accounts WHERE", "not SQL"),
        (
            "WITH RECURSIVE n(x) AS (SELECT id FROM customers UNION ALL SELECT x FROM n) "
            "SELECT x FROM n, " + ", ".join(f"customers c{i}" for i in range(3)),
            "",
        ),
    ],
)
def test_queries_that_do_more_than_read_their_tables(
    ground: Ground, query: str, reason: str
) -> None:
    found = check(ground, "q(C001)", QUERY.format(query))
    if reason:
        assert codes(found) == ["C0865"]
        assert reason in found.errors[0].message
    else:
        # It may run: the source's own limits end it.
        assert codes(found) == []


def test_a_query_that_reads_too_much_is_refused(ground: Ground, still_shop: Path) -> None:
    found = check(ground, "q(C001)", QUERY.format("SELECT customer_id FROM orders")).fragment
    assert found is not None
    connection = SqliteConnection(still_shop / "data" / "shop.sqlite", wait_seconds=5)
    connection.begin()
    predicate = found.predicates["q_as_queried"]
    assert check_query(predicate, connection, 1_000_000) == []
    (refused,) = check_query(predicate, connection, 100)
    connection.close()
    assert (refused.code, "more rows than the 100 that" in refused.message) == ("C0865", True)
    # How many they are tells of values where a condition filters them: the number stays here.
    assert not re.search("6,?[0-9]{3}", refused.message)


def test_a_project_may_want_no_queries(ground: Ground) -> None:
    setting = type(ground.setting)(queries=False)
    closed = Ground(ground.program, ground.databases, setting, ground.check_query)
    found = check(closed, "q(C001)", QUERY.format("SELECT customer_id FROM accounts"))
    assert codes(found) == ["C0864"]


def test_what_is_not_a_drafts_to_give_is_taken_out(ground: Ground) -> None:
    rules = (
        '@[closed = "me"] @[says = "{c} is large"]\n.decl large(c: CustomerId)\n'
        '@[approved(by = "me")] @[id = VIP1] @[confidence = 1] @[author = "ada"]\n'
        "large(?c) :- order_count(?c, ?n), ?n > 20."
    )
    found = check(ground, "large(C001)", rules)
    taken = {one.message.split("`")[1] for one in found.diagnostics if one.code == "C0870"}
    assert taken == {"closed", "approved.by", "id", "confidence", "author"}
    for word in ("closed", "approved", "VIP1", "confidence", "author"):
        assert word not in found.text


@pytest.mark.parametrize(
    ("constant", "seen", "invented"),
    [
        ("100000", "more than 100,000", False),
        ("100000", "more than a lot", True),
        ("1000000", "more than 1 million", False),
        ("0", "nothing", False),
        ("20.5", "20.50 euros", False),
        ("21", "20.5", True),
    ],
)
def test_numbers_that_nobody_has_mentioned_are_named(
    ground: Ground, constant: str, seen: str, *, invented: bool
) -> None:
    rules = f".decl rich(c: CustomerId)\nrich(?c) :- customer_revenue(?c, ?t), ?t > {constant}."
    found = check(ground, "rich(?c)", rules, seen)
    assert bool(found.invented) is invented
    assert any(one.code == "C0869" for one in found.diagnostics) is invented


@pytest.mark.parametrize(
    ("query", "invented"),
    [
        ("SELECT customer_id FROM orders WHERE amount > 100000 AND id <> 1", ("100000",)),
        ("SELECT customer_id FROM accounts WHERE tier = 'lead'", ("lead",)),
        ("SELECT customer_id FROM accounts WHERE tier = 'silver'", ()),
        ('SELECT customer_id AS "c 7" FROM orders o1 WHERE amount > 20.0', ()),
    ],
)
def test_values_in_a_query_count_too(ground: Ground, query: str, invented: tuple[str, ...]) -> None:
    rules = QUERY.format(query.replace('"', '\\"'))
    found = check(ground, "q(C001)", rules, "Which silver ones with C001 and 20?")
    assert (codes(found), found.invented) == ([], invented)


def test_a_goal_about_somebody_else_is_named(ground: Ground) -> None:
    found = check(ground, "is_vip(C002)", seen="Is C001 a VIP?")
    assert [one.code for one in found.diagnostics] == ["C0869"]
    assert "C002" in found.diagnostics[0].message
