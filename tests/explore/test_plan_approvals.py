"""Approvals of whole plans: bound to what the plan does, counted as the project wants it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.explore.plan import write_plan
from constat.proof.signing import write_public_key
from tests.check.writer import seal
from tests.cli.running import run
from tests.explore.planned import Scripted, call, plan, step
from tests.explore.test_certificates import BEST, TOTALS, tree_of
from tests.explore.worlds import TODAY
from tests.signing.keys import key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from constat.explore.answered import Explored


def drafted(session: Session, **more: Any) -> Explored:  # noqa: ANN401  the options of `solve`
    written = call("propose_plan", steps=[TOTALS, BEST], answer="best")
    client = Scripted.of(written, "The result is in the table.")
    return session.solve("best?", client=client, today=TODAY, by="bob", **more)


def code_of(run: Callable[[], object]) -> str:
    with pytest.raises(ConstatError) as caught:
        run()
    return caught.value.diagnostics[0].code


def test_a_models_plan_runs_where_that_is_required_only_as_somebody_approved_it(
    session: Session,
) -> None:
    assert code_of(lambda: drafted(session, require_approved=True)) == "C0952"
    [kept] = session.history
    assert kept.questions[0].status == "planned"
    assert code_of(lambda: session.resume(require_approved=True)) == "C0952"
    decided = session.plans.approve(by="ada", reason="as agreed")
    assert (decided.status, decided.have, decided.needed) == ("approved", 1, 1)
    explored = session.resume(require_approved=True)
    assert (explored.approvals, explored.assumptions) == (("ada",), ())
    # That the plan is right is one word, and that it answers what was asked another.
    assert explored.exit_code == 3
    session.confirm(explored, by="bob")
    assert session.resume(require_approved=True).exit_code == 0
    assert explored.proof.verdict is Verdict.PROVED
    report = check_certificate(explored.certificate)
    # The rules of people are told of as well: nobody has approved them.
    [approved] = [one for one in report.approvals if "ada" in one]
    assert approved.count("plan.") == 1
    # An approval that names another plan is refused.
    tree = tree_of(explored)
    rule = next(one for one in tree["rules"] if one["id"].startswith("plan."))
    rule["id"] = "plan." + "0" * 64
    assert check_certificate(seal(tree)).code == "approval"


def test_an_approval_is_of_the_plan_as_it_is(session: Session) -> None:
    drafted(session)
    session.plans.approve(by="ada", reason="as agreed")
    _, made, _ = session.plans.of()
    assert session.plans.approvals()[0].by == "ada"
    four = {**BEST, "rank": {**BEST["rank"], "top": 4}}
    edited = replace(made, steps=plan(TOTALS, four).steps)
    session.plans.edit(edited)
    assert write_plan(edited) != write_plan(made)
    assert session.plans.approvals() == ()
    assert code_of(lambda: session.resume(require_approved=True)) == "C0952"
    session.plans.edit(made)
    again = session.resume(require_approved=True)
    assert (again.settlement.value, again.assumptions) == ("SETTLED", ())
    # A follow-up by a person rests on the model's steps, and on the approval of these as its own.
    more = plan(step("one(region: symbol)", rules="one(?r) :- best(?r, _, _)."))
    assert code_of(lambda: session.follow_up("which?", plan=more, require_approved=True)) == "C0952"
    assert code_of(lambda: session.plans.withdraw(by="ada", reason="none")) == "C0953"


def test_an_approval_that_is_withdrawn_counts_no_more(session: Session) -> None:
    drafted(session)
    session.plans.approve(by="ada", reason="as agreed")
    approved = session.resume()
    assert (approved.assumptions, approved.proof.verdict) == ((), Verdict.PROVED)
    session.plans.withdraw(by="carol", reason="too early")
    explored = session.resume()
    assert (explored.exit_code, explored.approvals) == (3, ())
    assert explored.proof.verdict is Verdict.PROVED_UNDER


def test_who_asked_does_not_approve_where_four_eyes_are_wanted(regions: Path) -> None:
    with (regions / "constat.yaml").open("a") as file:
        file.write("review: {four_eyes: true}\n")
    with Session(regions) as session:
        drafted(session)
        assert code_of(lambda: session.plans.approve(by="Bob", reason="mine")) == "C0883"
        assert session.plans.approve(by="ada", reason="fine").status == "approved"


def test_where_a_key_is_trusted_only_what_it_signs_approves_a_plan(regions: Path) -> None:
    ada = key()
    (regions / "ada.pub.pem").write_bytes(write_public_key(ada))
    with (regions / "constat.yaml").open("a") as file:
        file.write("keys: {ada: {file: ada.pub.pem, roles: [approver]}}\n")
    with Session(regions) as session:
        drafted(session)
        assert code_of(lambda: session.plans.approve(by="ada", reason="unsigned")) == "C0883"
        stranger = key(name="Eve", seed=2)
        assert code_of(lambda: session.plans.approve(key=stranger, reason="mine")) == "C0883"
        assert session.plans.approve(key=ada, reason="as agreed").signed
        explored = session.resume(require_approved=True)
        [approval] = tree_of(explored)["header"]["approvals"]
        assert (approval["by"], approval["key"]) == ("Ada", ada.public.id)
        assert explored.proof.verdict is Verdict.PROVED
        # Whoever edits the record beside the plans has no approval.
        records = session.project.state / "plans" / "approvals.jsonl"
        records.write_text(records.read_text().replace("as agreed", "as wished"))
        assert code_of(lambda: session.resume(require_approved=True)) == "C0952"


@pytest.mark.slow
def test_the_commands_write_keep_approve_and_withdraw(regions: Path, tmp_path: Path) -> None:
    file, project = tmp_path / "plan.yaml", ("--project", regions)
    made = plan(TOTALS, BEST, question="Which lead?", author="some-model")
    file.write_text(write_plan(replace(made, author="some-model")))
    solve = ("solve", "--plan", file, "--today", TODAY, "--events", "none")
    held = run(*solve, "--require-approved", *project)
    assert (held.code, "C0952" in held.err) == (4, True)
    approve = ("plan", "approve", "--by", "ada", "--reason", "as agreed")
    decided = run(*approve, "--format", "json", *project).json
    assert (decided["kind"], decided["status"]) == ("plan", "approved")
    assert "approved by ada at " in run("plan", "show", *project).out
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    ran = run("resume", "--certificate", one, "--format", "json", *project)
    assert (ran.code, ran.json["approved_by"], ran.json["proof"]["verdict"]) == (
        0,
        ["ada"],
        "PROVED",
    )
    again = run("history", "last", "--certificate", other, "--question", "1", *project)
    assert (again.code, other.read_bytes()) == (0, one.read_bytes())
    assert run("verify", one).code == 0
    missing = run("history", "last", "--certificate", other, "--question", "2", *project)
    assert (missing.code, "C0951" in missing.err) == (2, True)
    assert run(*approve, "--withdraw", *project).code == 0
    assert run("resume", "--require-approved", *project).code == 4
