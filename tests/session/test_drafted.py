"""Drafts that join, and questions where only approved rules count."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.session.drafted import with_drafts
from constat.store.drafts import NewDraft
from tests.session.reviewed import TEN_IS_GOOD, TOP, draft, make_project

if TYPE_CHECKING:
    from pathlib import Path

    from constat.library.reviewing.drafts import JoinedProgram


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("drafted"))


def verdict(session: Session, goal: str) -> str:
    result = session.prove(goal)
    report = check_certificate(result.certificate)
    assert (report.accepted, report.verdict) == (True, result.verdict.value)
    return result.verdict.value


def joined(session: Session) -> JoinedProgram:
    assert session.joined is not None
    return session.joined


def refused(project: Path, text: str, *replaces: str) -> list[str]:
    """Give what is wrong with a draft that is not named."""
    with Session(project) as session, pytest.raises(ConstatError) as problem:
        with_drafts(session.program, [draft(project, text, replaces=replaces)])
    return [one.code for one in problem.value.diagnostics]


def test_a_draft_counts_only_where_it_is_named(project: Path) -> None:
    kept = draft(project)
    with Session(project) as session:
        with pytest.raises(ConstatError, match="C0181"):
            session.prove("top(ann)")
        with session.with_drafts([kept.short]) as other:
            assert verdict(other, "top(ann)") == "PROVED_UNDER"
            result = other.prove("top(ann)")
            assert [one.subject for one in result.assumptions] == [f"D{kept.identity[:8]}-1"]
            assert verdict(other, "top(bob)") == "DISPROVED_UNDER"
            assert verdict(other, "good(ann)") == "PROVED"


def test_what_a_draft_says_about_itself_has_no_effect(project: Path) -> None:
    kept = draft(project)
    with Session(project) as session, session.with_drafts([kept.short]) as other:
        (rule,) = [one for one in other.program.rules if one.head.predicate == "top"][:1]
        assert (rule.id, rule.proposed) == (f"D{kept.identity[:8]}-1", True)
        assert rule.confidence == 1
        assert rule.attributes["author"] == "llm:draft"
        assert not any(key.startswith("approved") for key in rule.attributes)
        assert len(joined(other).notes) == 3


def test_an_amendment_joins_only_by_name_and_is_told(project: Path) -> None:
    assert refused(project, TEN_IS_GOOD) == ["C0882"]
    kept = draft(project, TEN_IS_GOOD)
    with Session(project) as session, session.with_drafts([kept.short]) as other:
        assert joined(other).amended == ("good",)
        assert verdict(other, "good(bob)") == "PROVED_UNDER"
        assert verdict(other, "fine(bob)") == "PROVED_UNDER"
        assert verdict(other, "good(ann)") == "PROVED"
        assert verdict(other, "good(cyd)") == "DISPROVED"


def test_doing_without_a_replaced_rule_is_an_assumption(project: Path) -> None:
    text = TEN_IS_GOOD.replace("?n >= 10", "?n < 5")
    assert refused(project, text, "GOOD1") == ["C0882", "C0882"]
    kept = draft(project, text, replaces=("GOOD1",))
    with Session(project) as session, session.with_drafts([kept.short]) as other:
        assert joined(other).dropped == ("GOOD1",)
        assert verdict(other, "good(cyd)") == "PROVED_UNDER"
        result = other.prove("good(ann)")
        assert result.verdict.value == "DISPROVED_UNDER"
        assert "rule GOOD1 does not stand" in result.assumptions[0].text


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("crowd(?p, 5) :- score(?p, _).", ["C0882"]),
        (
            '.decl more(x: symbol)\n.input more(source="db", query="SELECT 1")\nmore("a").',
            ["C0882"],
        ),
        (".decl score(who: symbol)\nscore(1).", ["C0882", "C0882"]),
        (".decl fine(who: symbol)", ["C0882"]),
        ('.include "../../secret.dl"\np(1).', ["C0150"]),
        (".decl p(x: symbol)\np(?x) :- nothing(?x).", ["C0201"]),
        (".decl p(x: symbol)\np(?x) :- score(_, _).", ["C0203"]),
        (".decl p(x: symbol)\np(?x) :- score(?x, _), !p(?x).", ["C0250"]),
    ],
)
def test_what_does_not_fit_is_refused(project: Path, text: str, codes: list[str]) -> None:
    assert refused(project, text) == codes


def test_what_people_state_is_not_derived_even_by_name(project: Path) -> None:
    kept = draft(project, "crowd(?p, 5) :- score(?p, _).")
    with Session(project) as session, pytest.raises(ConstatError, match="C0882"):
        session.with_drafts([kept.short])


def test_a_rule_replaced_since_is_gone(project: Path) -> None:
    assert "C0887" in refused(project, TEN_IS_GOOD, "GOOD9")


def test_a_huge_or_deep_draft_ends_in_a_refusal(project: Path) -> None:
    many = ".decl p(x: number)\n" + "\n".join(f"p({number})." for number in range(500))
    assert refused(project, many) == ["C0882"]
    deep = f".decl p(x: number)\np({'(' * 5_000}1{')' * 5_000})."
    assert refused(project, deep)[0].startswith("C0")


def test_where_only_approved_rules_count_the_others_leave_it_open(project: Path) -> None:
    with Session(project) as session:
        assert verdict(session, "poor(cyd)") == "PROVED_UNDER"
        with session.approved_only() as other:
            result = other.prove("poor(cyd)")
            assert verdict(other, "poor(cyd)") == "UNRESOLVED"
            assert (result.unapproved, result.missing) == (("POOR1",), ())
            assert verdict(other, "poor(ann)") == "DISPROVED"
            assert verdict(other, "good(ann)") == "UNRESOLVED"
            assert other.prove("good(ann)").unapproved == ("GOOD1",)
            answers = other.query("poor(?p)")
            assert [(row["p"], row.verdict.value) for row in answers] == [("cyd", "UNRESOLVED")]


def test_a_rule_that_a_person_wrote_is_approved_like_any_other(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    with Session(project) as session:
        before = check_certificate(session.prove("good(ann)").certificate)
        assert "GOOD1: nobody approved this rule" in before.approvals
        assert session.reviews.approve("GOOD1", reason="as agreed", by="ada").status == "approved"
        after = check_certificate(session.prove("good(ann)").certificate)
        assert any(one.startswith("GOOD1: approved by ada at ") for one in after.approvals)
        with session.approved_only() as other:
            assert verdict(other, "good(ann)") == "PROVED"
        assert session.reviews.reject("GOOD1", by="ada", reason="no more").status == "rejected"
        with session.approved_only() as other:
            assert verdict(other, "good(ann)") == "UNRESOLVED"


def test_a_rule_that_was_edited_since_is_approved_by_nobody(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    with Session(project) as session:
        session.reviews.approve("GOOD1", reason="as agreed", by="ada")
    rules = project / "people" / "people.dl"
    rules.write_text(rules.read_text().replace("?n > 10.", "?n > 11."))
    with Session(project) as session:
        report = check_certificate(session.prove("good(ann)").certificate)
        assert "GOOD1: nobody approved this rule" in report.approvals


def test_a_policy_makes_an_unapproved_rule_an_assumption(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    told = json.loads((project / "constat.yaml").read_text())
    (project / "constat.yaml").write_text(json.dumps(told | {"review": {"approved": "required"}}))
    with Session(project) as session:
        assert verdict(session, "good(ann)") == "PROVED_UNDER"
        session.reviews.approve("GOOD1", reason="as agreed", by="ada")
        assert verdict(session, "good(ann)") == "PROVED"
    (project / "constat.yaml").write_text(json.dumps(told | {"review": {"approved": "wished"}}))
    with pytest.raises(ConstatError) as problem, Session(project) as session:
        session.prove("good(ann)")
    assert [one.code for one in problem.value.diagnostics] == ["C0889"]


def test_a_draft_that_is_a_rule_of_the_library_joins_once(project: Path) -> None:
    with Session(project) as session:
        kept = session.drafts.add(NewDraft(TOP, "again"))
        with session.with_drafts([kept.short, kept.short]) as other:
            rules = [one.id for one in other.program.rules if one.head.predicate == "top"]
            assert rules.count(f"D{kept.identity[:8]}-1") == 1


def test_a_rule_with_reasons_counts_only_where_it_is_approved(tmp_path: Path) -> None:
    rules = """income("a", 10).
.decl income(who: symbol, amount: number) .decl credit(who: symbol)
@[reasons = "-, R01"] credit(?w) :- income(?w, ?x), ?x > 5.
"""
    (tmp_path / "credit.dl").write_text(rules)
    (tmp_path / "constat.yaml").write_text("rules: [credit.dl]\n")
    with Session(tmp_path) as session, session.approved_only() as strict:
        assert session.prove('credit("a")').verdict.value == "PROVED"
        assert strict.prove('credit("a")').verdict.value == "UNRESOLVED"
