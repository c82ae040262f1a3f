"""Goals of several literals and with functions: proved, checked, and read again at the sources."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from constat import ConstatError, Session, Verdict
from tests.session.test_unknown_values import shop as nullable_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def session(still_shop: Path) -> Iterator[Session]:
    with Session(still_shop) as opened:
        yield opened


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ("is_vip(C001), customer_revenue(C001, ?r), ?r > 100000", Verdict.PROVED),
        ("is_vip(C001), customer_revenue(C001, ?r), ?r > 200000", Verdict.DISPROVED),
        ('is_vip("C001"), !blocked("C001")', Verdict.PROVED),
        ("is_vip(?c), blocked(?c)", Verdict.DISPROVED),
        ("customer_tier(customer = ?c, tier = gold), is_vip(customer = ?c).", Verdict.PROVED),
        ("is_regular(C001), is_vip(C001)", Verdict.UNRESOLVED),
        ("may_leave(C005), customer(C005)", Verdict.PROVED_UNDER),
        ("owns(?a, _, _), is_vip(?a)", Verdict.PROVED),
        ("owns(?a, ?a, _)", Verdict.DISPROVED),
        ('customer_revenue("C001", 100000.0 + 50000.0)', Verdict.PROVED),
        ('customer_revenue("C001", ?r), ?r / 2.0 >= 75000.0', Verdict.PROVED),
        ('strlen("C001") = 4', Verdict.PROVED),
        ("is_vip(?c), strlen(?c) != 4", Verdict.DISPROVED),
        ('max(2, 3) > 2, is_vip("C001")', Verdict.PROVED),
        ('customer_revenue("C001", ?r), (?r > 1000000.0; is_vip("C001"))', None),
    ],
)
def test_a_goal_of_several_literals_has_a_verdict_and_a_certificate(
    session: Session, goal: str, verdict: Verdict | None
) -> None:
    if verdict is None:
        with pytest.raises(ConstatError, match="C0180"):
            session.prove(goal)
        return
    result = session.prove(goal)
    assert result.verdict is verdict
    assert result.goal == goal.removesuffix(".")
    report = session.verify(result.certificate)
    assert (report.accepted, report.exit_code) == (True, result.exit_code)
    again = session.verify_source(result.certificate)
    assert (again.rules, again.drift) == ((), ())
    assert again.exit_code == result.exit_code


def test_the_rule_of_another_goal_is_another_verdict(session: Session) -> None:
    """The rule comes with the certificate: what it says is what is proved again."""
    document = json.loads(session.prove("is_vip(C001), customer(C001)").certificate)
    (rule,) = [one for one in document["rules"] if one["id"] == "the.goal.1"]
    assert [one[1][0] for one in rule["body"]] == ["is_vip", "customer"]


def test_such_a_goal_is_told_as_it_was_typed(session: Session) -> None:
    goal = "customer_revenue(C001, ?r), !blocked(C001)"
    document = json.loads(session.prove(goal).certificate)
    (relation,) = [one for one in document["declarations"] if one["name"] == "the.goal"]
    assert relation["says"] == "customer_revenue(C001, {r}), !blocked(C001)"


def test_a_changed_rule_of_the_project_is_noticed(shop: Path) -> None:
    with Session(shop) as session:
        certificate = session.prove("is_vip(C001), customer(C001)").certificate
    library = shop.parent.parent / "rules" / "customer-value" / "vip.dl"
    text = library.read_text(encoding="utf-8")
    library.write_text(text.replace("?total > ?threshold", "?total >= ?threshold"))
    with Session(shop) as session:
        found = session.verify_source(certificate)
    assert any("VIP1" in one for one in found.rules)
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("goal", "code"),
    [
        ("is_vip(C001", "C0180"),
        ("!is_vip(C001)", "C0180"),
        ("is_vip(C001) customer(C001)", "C0430"),
        ("is_vip(C001), custmer(C001)", "C0181"),
        ("is_vip(?c), ?r > 5", "C0205"),
        ('customer_revenue("C001", ?x + 1.0)', "C0205"),
        ("f(", "C0180"),
        ("", "C0180"),
    ],
)
def test_what_is_no_goal_has_an_edit(session: Session, goal: str, code: str) -> None:
    with pytest.raises(ConstatError) as caught:
        session.prove(goal)
    assert caught.value.diagnostics[0].code == code
    assert caught.value.diagnostics[0].help


def test_what_was_not_recorded_leaves_several_literals_open(session: Session) -> None:
    found = session.prove("is_vip(C001), customer(C001)", as_of="2026-01-01")
    assert found.verdict is Verdict.UNRESOLVED


BOTH = "is_vip(C001), is_vip(C002)"


def test_why_not_says_which_literal_fails(session: Session) -> None:
    found = session.why_not(BOTH)
    assert (found.verdict, found.goal) == (Verdict.DISPROVED, BOTH)
    assert "stops at: C002 is no VIP" in found.to_text()


def test_what_if_answers_a_conjunction_in_both_worlds(session: Session) -> None:
    goal = "is_vip(C001), customer_tier(C002, gold)"
    found = session.what_if(goal, add=["customer_tier(C002, gold)"])
    assert (found.before.verdict, found.verdict) == (Verdict.DISPROVED, Verdict.PROVED_UNDER)
    assert (found.before.goal, found.goal) == (goal, goal)


def test_missing_finds_what_a_conjunction_lacks(session: Session) -> None:
    goal = "is_vip(C001), customer_tier(C002, gold)"
    found = session.missing_facts(goal, abducible={"customer_tier": "1"})
    assert found.goal == goal
    (one,) = found.sets
    assert (len(one.add), "C002" in str(one.add[0]), one.verdict) == (1, True, Verdict.PROVED_UNDER)


def test_all_proofs_of_a_conjunction_are_given(session: Session) -> None:
    goal = 'is_vip("C001"), customer_revenue("C001", ?r), ?r > 1000.0 * 2.0'
    found = session.proofs(goal)
    results = list(found)
    assert found.goal == goal
    assert results
    assert {one.verdict for one in results} == {Verdict.PROVED}


# Random goals over columns that may be null: by place and by name, read, left out, or denied.

_COLUMNS = {"orders": ("id", "due", "shipped", "region"), "late": ("o",), "beside": ("o", "p")}
_VALUES = {"shipped": ("7", "3"), "region": ("north", "south"), "due": ("5", "9")}


def drawn_atom(draw: random.Random, *, denied: bool) -> str:
    """Draw an atom; what is denied is bound, or means any row."""
    name = draw.choice(["orders", "orders", *_COLUMNS])
    by_name = draw.random() < 0.5
    found = []
    for column in _COLUMNS[name]:
        values = _VALUES.get(column, ("1", "2", "3", "77"))
        variable = "?o" if column in {"id", "o", "p"} else f"?{column}"
        wild = "_" if draw.random() < 0.6 else f"_{column}"
        form = draw.choice([wild, wild, draw.choice(values), wild if denied else variable])
        form = variable if denied and column in {"id", "o"} and draw.random() < 0.7 else form
        if not by_name:
            found.append(form)
        elif draw.random() < 0.6:
            found.append(f"{column} = {form}")
    if by_name and not found:
        found = [f"{_COLUMNS[name][0]} = ?o"]
    return f"{name}({', '.join(found)})"


def drawn_goal(draw: random.Random) -> str:
    literals = ["orders(?o, ?d, _, _)"]
    for _ in range(draw.randint(1, 3)):
        denied = draw.random() < 0.6
        literals.append(("!" if denied else "") + drawn_atom(draw, denied=denied))
    return ", ".join(literals)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("policy", ["none", "maybe", "unknown"])
def test_what_prove_writes_verify_source_accepts(tmp_path: Path, policy: str) -> None:
    verdicts = Counter[str]()
    draw = random.Random(policy)
    with Session(nullable_shop(tmp_path, policy, policy)) as session:
        for _ in range(40):
            goal = drawn_goal(draw)
            try:
                result = session.prove(goal)
            except ConstatError:
                verdicts["refused"] += 1
                continue
            report = session.verify_source(result.certificate)
            assert report.exit_code == result.exit_code, (goal, report.reason, report.drift)
            verdicts[result.verdict.value] += 1
    assert verdicts["refused"] < 30
    assert verdicts["PROVED"] > 4
    assert verdicts["DISPROVED"] > 4


@pytest.mark.parametrize("ask", ["prove", "query"])
def test_a_slip_in_an_aggregate_is_shown_where_it_stands(session: Session, ask: str) -> None:
    text = "is_vip(?c), ?n = count : { owns(?c, ?slip, _) }"
    with pytest.raises(ConstatError) as caught:
        getattr(session, ask)(text)
    (found,) = caught.value.diagnostics
    assert found.code == "C0206"
    assert found.span is not None
    assert text[found.span.column - 1 : found.span.end_column - 1] == "?slip"
