"""Laws: nothing through a draft is certain, and nothing else is touched by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.authoring.checking import Proposal, check_proposal
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.library.reviewing.drafts import join_drafts
from constat.session import Session, Settled
from constat.session.asking_steps import drafted_session, ground_of
from tests.authoring.scripted import kept

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.session.result import Result

CERTAIN: Final = {Verdict.PROVED, Verdict.DISPROVED}
BASE: Final = ("is_vip(C001)", "is_vip(C002)", "is_strategic(C009)", "blocked(C004)")
SIGNED: Final = (
    *('customer_tier(?c, "gold")', "blocked(?c)", "is_vip(?c)", "partner(?c)", "gold(?c)"),
    *("is_strategic(?c)", "may_leave(?c)"),
)
PLAIN: Final = (
    "order_count(?c, ?n), ?n > 2",
    "?m = count : { gold(_) }, ?m > 3",
    "customer_revenue(?c, ?r), ?r < 1000",
)
TEXT: Final = """\
.decl gold(c: CustomerId)
.input gold(source = "sales", query = "SELECT customer_id FROM accounts WHERE tier = 'gold'")
.decl one(c: CustomerId)
one(?c) :- customer(?c){}.
.decl two(c: CustomerId)
two(?c) :- customer(?c){}.
two(?c) :- customer(?c){}.
"""


@pytest.fixture(scope="module")
def session(still_shop: Path) -> Iterator[Session]:
    with Session(still_shop) as found:
        yield found


@st.composite
def bodies(draw: st.DrawFn, more: tuple[str, ...] = ()) -> str:
    signed = draw(st.lists(st.sampled_from((*SIGNED, *more)), max_size=2, unique=True))
    parts = [draw(st.sampled_from(("", "!"))) + one for one in signed]
    parts += draw(st.lists(st.sampled_from(PLAIN), max_size=1))
    return "".join(f", {part}" for part in parts)


@st.composite
def drafts(draw: st.DrawFn) -> str:
    return TEXT.format(draw(bodies()), draw(bodies(("one(?c)",))), draw(bodies(("one(?c)",))))


def joined(session: Session, rules: str) -> Session:
    checked = check_proposal(Proposal("two(?c)", rules), ground_of(session), ["gold"])
    assert checked.errors == ()
    program = join_drafts(session.program, [kept(checked.text)])
    return drafted_session(session, program, cache=False, locale=None)


def proved(session: Session, rules: str, goal: str) -> Result:
    with joined(session, rules) as other:
        return other.prove(goal)


@settings(max_examples=15)
@given(rules=drafts(), customer=st.sampled_from(("C001", "C003", "C005", "C999")))
def test_nothing_through_a_draft_is_certain(session: Session, rules: str, customer: str) -> None:
    found = proved(session, rules, f"two({customer})")
    assert found.verdict not in CERTAIN
    assert session.verify(found.certificate).accepted
    if found.verdict is not Verdict.UNRESOLVED:
        assert found.assumptions


@settings(max_examples=3)
@given(rules=drafts())
def test_no_list_through_a_draft_is_certain(session: Session, rules: str) -> None:
    with joined(session, rules) as other:
        found = other.query("two(?c)")
        assert found.settled is not Settled.FOR_CERTAIN
        assert not any(row.verdict is Verdict.PROVED for row in found.rows)


@settings(max_examples=6)
@given(rules=drafts(), goal=st.sampled_from(BASE))
def test_a_draft_changes_nothing_that_was_there(session: Session, rules: str, goal: str) -> None:
    before, after = session.prove(goal), proved(session, rules, goal)
    assert (after.verdict, after.assumptions) == (before.verdict, before.assumptions)
    assert after.missing == before.missing


QUERY: Final = """\
.decl gold_as_queried(c: CustomerId)
.input gold_as_queried(source = "sales", query = "SELECT customer_id FROM accounts")
.decl gold(c: CustomerId)
"""


@pytest.mark.parametrize(
    "rules",
    [
        "gold(?c) :- gold_as_queried(?c), customer(?c).",
        "gold(?c) :- customer(?c), !gold_as_queried(?c).",
        "gold_as_queried(?c) :- customer(?c).\ngold(?c) :- gold_as_queried(?c).",
        ".decl other(c: CustomerId)\nother(?c) :- gold_as_queried(?c).",
        ".decl other(n: number)\nother(?n) :- ?n = count : { gold_as_queried(_) }.",
        'gold("C001") :- gold_as_queried(_).',
    ],
)
def test_a_drafted_query_reaches_one_predicate_only(session: Session, rules: str) -> None:
    with pytest.raises(ConstatError):
        join_drafts(session.program, [kept(QUERY + rules)])
    fenced_in = kept(QUERY + "gold(?c) :- gold_as_queried(?c).")
    assert len(join_drafts(session.program, [fenced_in]).rules) == 1
