"""What rests on a draft: its certificate against the sources, and its query by itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.session import Session
from constat.store.drafts import Decision
from tests.authoring.scripted import Scripted, proposed
from tests.authoring.test_asking import CLOSED, QUERIED, check
from tests.authoring.test_sub_plans import PLAN, Planned, configured
from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.session.result import Answered

FENCED = "shut_as_queried"


@pytest.fixture
def session(shop: Path) -> Iterator[Session]:
    with Session(shop) as found:
        yield found


def asked(session: Session, customer: str = "C006", *, approved: bool = False) -> Answered:
    reply = proposed(f"shut({customer})", QUERIED.calls[0].arguments["rules"])
    question = f"Was an account of {customer} shut?"
    return session.ask(question, client=Scripted(reply), require_approved=approved)


def change(shop: Path, statement: str) -> None:
    with closing(sqlite3.connect(shop / "data" / "shop.sqlite")) as connection:
        assert connection.execute(statement).rowcount > 0
        connection.commit()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("customer", ["C006", "C001"])
def test_a_certificate_through_a_draft_is_held_against_its_source(
    session: Session, shop: Path, customer: str
) -> None:
    found = asked(session, customer)
    assert found.draft is not None
    report = session.verify_source(found.result.certificate)
    assert (report.drift, report.exit_code) == ((), found.exit_code)
    assert [(one.identity, one.status) for one in report.drafts] == [
        (found.draft.identity, "proposed")
    ]
    assert f"with draft {found.draft.identity[:16]}, which is proposed" in report.to_text()
    closed = "NULL" if customer == "C006" else "'2025-01-01'"
    change(shop, f"UPDATE accounts SET closed_on = {closed} WHERE customer_id = '{customer}'")
    changed = session.verify_source(found.result.certificate)
    assert changed.drift
    assert changed.exit_code == 1


def test_a_draft_is_looked_up_or_named_and_one_that_is_gone_is_said(session: Session) -> None:
    certificate = asked(session).result.certificate
    draft = session.drafts.list()[0]
    other = session.ask("Is it so?", client=Scripted(proposed("gone(C001)", GONE))).draft
    assert other is not None
    assert session.verify_source(certificate, drafts=[draft.short]).drift == ()
    # Another draft does not ask what this one asked.
    assert session.verify_source(certificate, drafts=[other.short]).drift
    with pytest.raises(ConstatError) as caught:
        session.verify_source(certificate, drafts=["99999999"])
    assert [one.code for one in caught.value.diagnostics] == ["C0880"]
    session.drafts.path.unlink()
    with Session(session.project.folder) as later:
        report = later.verify_source(certificate)
        assert report.exit_code == 1
        assert [one.status for one in report.drafts] == [""]
        assert "is not in the quarantine" in report.to_text()


GONE = ".decl gone(c: CustomerId)\ngone(?c) :- customer(?c), !blocked(?c)."


def test_where_only_approved_rules_counted_the_draft_decides_nothing_again(
    session: Session,
) -> None:
    for customer in ("C006", "C001"):
        found = asked(session, customer, approved=True)
        assert found.verdict is Verdict.UNRESOLVED
        assert session.verify_source(found.result.certificate).drift == ()


def test_a_certificate_through_a_sub_plan_is_held_against_its_source(shop: Path) -> None:
    project = configured(shop, "{predicates: [contract_value]}")
    with Planned(project, Scripted(PLAN)) as session:
        found = session.prove("is_strategic(C004)")
        assert found.verdict is Verdict.PROVED_UNDER
        (plan,) = session.drafts.list()
        report = session.verify_source(found.certificate)
        assert (report.drift, len(report.drafts)) == ((), 1)
        # The plan may also be named, and what people state still counts beside it.
        with session.with_drafts([plan.short]) as other:
            assert other.prove("is_strategic(C004)").verdict is Verdict.PROVED_UNDER
            assert other.prove("contract_value(C009, ?v)").verdict is Verdict.UNRESOLVED


def test_the_command_verifies_with_drafts(shop: Path) -> None:
    file = shop / "closed.json"
    assert run("ask", CLOSED, "--project", shop, "--quiet", "--certificate", file).code == 6
    ran = run("verify", file, "--source", "--project", shop)
    assert (ran.code, "0 changed" in ran.out) == (6, True)
    told = run("verify", file, "--source", "--project", shop, "--format", "json").json
    check(told, "verify")
    (joined,) = told["drafts"]
    named = run("verify", file, "--source", "--draft", joined["id"][:8], "--project", shop)
    assert named.code == 6
    refused = run("verify", file, "--draft", joined["id"][:8], "--project", shop)
    assert (refused.code, "--source" in refused.err) == (2, True)


def test_the_rows_of_a_drafted_query_are_no_answer_by_themselves(session: Session) -> None:
    draft = asked(session).draft
    assert draft is not None
    with session.with_drafts([draft.short]) as other:
        attempts = (
            lambda: other.prove(f"{FENCED}(C006)"),
            lambda: other.prove(f"{FENCED}(C001)"),
            lambda: other.query(f"{FENCED}(?c)"),
            lambda: other.query(f"customer(?c), {FENCED}(?c)"),
            lambda: other.query(f"customer(?c), !{FENCED}(?c)"),
            lambda: other.why_not(f"{FENCED}(C001)"),
            lambda: other.prove_row(f"{FENCED}(?c)", "C006"),
        )
        for attempt in attempts:
            with pytest.raises(ConstatError) as caught:
                attempt()
            (told,) = caught.value.diagnostics
            assert told.code == "C0875"
            assert "ask for `shut`" in told.help
        # What it serves is UNDER the draft, and names it.
        assert other.prove("shut(C006)").verdict is Verdict.PROVED_UNDER
        assert not other.query("shut(?c)").count(Verdict.PROVED)


def test_once_approved_a_query_is_like_any_other(shop: Path) -> None:
    with Session(shop) as session:
        draft = asked(session).draft
        assert draft is not None
        session.reviews.approve(draft.short, by="ada", reason="closed is shut")
    with Session(shop) as session:
        assert session.prove(f"{FENCED}(C006)").verdict is Verdict.PROVED
        with session.approved_only() as strict:
            assert strict.prove("shut(C006)").verdict is Verdict.PROVED
    # An edit of the query ends its approval: it is a guess again.
    (file,) = (one for one in shop.parents[1].rglob("*.dl") if FENCED in one.read_text("utf-8"))
    text = file.read_text("utf-8")
    file.write_text(text.replace("closed_on IS NOT NULL", "closed_on IS NULL"), "utf-8")
    with Session(shop) as session:
        assert session.prove("shut(C001)").verdict is Verdict.PROVED_UNDER
        with session.approved_only() as strict:
            for other in (session, strict):
                with pytest.raises(ConstatError) as caught:
                    other.prove(f"{FENCED}(C001)")
                assert [one.code for one in caught.value.diagnostics] == ["C0875"]


def test_a_kept_conclusion_through_a_draft_stands_until_something_changes(
    session: Session, shop: Path
) -> None:
    found = asked(session)
    assert found.draft is not None
    session.keep(found.result)
    assert [one.status for one in session.stale().conclusions] == ["current"]
    change(shop, "UPDATE accounts SET closed_on = NULL WHERE customer_id = 'C006'")
    (gone,) = session.stale().conclusions
    assert gone.status == "stale"
    assert not any(one.kind == "rules" for one in gone.reasons)
    change(shop, "UPDATE accounts SET closed_on = '2025-03-01' WHERE customer_id = 'C006'")
    session.drafts.decide(found.draft.identity, Decision("rejected", "ada", "closed is not shut"))
    (rejected,) = session.stale().conclusions
    assert any(one.kind == "rules" for one in rejected.reasons)
