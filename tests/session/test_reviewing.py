"""Reviews: what a draft would change, who lets it in, and that it is in whole or not at all."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.cli.completion import offers
from constat.cli.entry import cli
from constat.diagnostics import ConstatError
from constat.library import check_rules
from constat.library.reviewing import placement as writing
from constat.proof.export.prov import to_prov_json
from constat.proof.report.page import to_html
from constat.proof.signing import write_public_key
from constat.session.cases import run_cases
from constat.session.reviewing import Approver, ReviewedLibrary, word
from constat.store.drafts import NewDraft
from tests.cli.running import run
from tests.session.reviewed import (
    PEOPLE,
    TEN_IS_GOOD,
    TOP,
    draft,
    make_project,
    with_ada,
)
from tests.signing.keys import TIME, key, with_one_bit_of_the_signature_turned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from constat.session.reviewing import Decided

BOB_IS_GOOD = 'score("bob", 10).\n@[expect(proved = "good(bob)")] .output good\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "small")


def approve(folder: Path, name: str, **told: Any) -> Decided:  # noqa: ANN401  whatever is decided
    with Session(folder) as session:
        return session.reviews.approve(name, **{"by": "ada", "reason": "as agreed", **told})


def refused(decide: Callable[[], object]) -> str:
    with pytest.raises(ConstatError) as problem:
        decide()
    return problem.value.diagnostics[0].code


def verdict(folder: Path, goal: str) -> str:
    with Session(folder) as session:
        return session.prove(goal).verdict.value


def state_of(folder: Path) -> dict[str, bytes]:
    """Give the files of a project, but for what it keeps."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".constat" not in path.parts
    }


# ---------------------------------------------------------------------- reviews


def test_a_review_shows_difference_cases_effects_and_remarks(project: Path) -> None:
    kept = draft(project, TEN_IS_GOOD, "Is ten enough?", replaces=("GOOD1",), tests=(BOB_IS_GOOD,))
    before = state_of(project)
    with Session(project) as session:
        review = session.reviews.review(kept.short)
    assert state_of(project) == before
    assert review.amended == ("good",)
    assert [identity for identity, _ in review.replaced] == ["GOOD1"]
    assert "-@[id = GOOD1]" in review.difference
    assert "+good(?p) :- score(?p, ?n), ?n >= 10." in review.difference
    (meaning,) = review.meanings
    assert meaning.endswith("the score's points is at least 10.")
    assert review.rests_on == ("score",)
    shown = "\n".join(review.to_lines())
    assert f"in words:\n  {meaning}\nrests on: score\n" in shown
    found = {one.predicate: one for one in review.effects}
    assert list(found) == ["good", "fine"]
    for name, effect in found.items():
        (change,) = effect.transitions
        assert (change.before, change.after, change.count) == ("absent", "PROVED", 1)
        assert change.shown == (f"{name}(bob)",)
    own, others = [[one for one in review.cases if one.own is own] for own in (True, False)]
    assert [one.problems for one in own] == [()]
    assert "GOOD1" in others[0].problems[0]
    assert review.problem == ""


def test_a_review_compares_every_verdict(project: Path) -> None:
    text = TEN_IS_GOOD.replace(">= 10", "< 5").replace("at least 10", "less than 5")
    kept = draft(project, text, replaces=("GOOD1",))
    with Session(project) as session:
        effects = session.reviews.review(kept.short).effects
    told = {(one.before, one.after, one.shown) for one in effects[0].transitions}
    assert told == {
        ("absent", "PROVED", ("good(cyd)",)),
        ("PROVED", "absent", ("good(ann)",)),
    }
    assert (effects[0].rows_before, effects[0].rows_after, effects[0].changes) == (1, 1, 2)


def test_remarks_name_what_is_loose(project: Path) -> None:
    text = ".decl lone(x: symbol)\n.decl never(x: symbol)\nlone(?x) :- score(?x, 12), !never(?x)."
    kept = draft(project, text)
    with Session(project) as session:
        remarks = " ".join(session.reviews.review(kept.short).remarks)
    for part in ("has no sentence", "`never` come from people", "no rule uses the new predicate"):
        assert part in remarks


def test_a_draft_that_fits_no_longer_says_why(project: Path) -> None:
    kept = draft(project, TEN_IS_GOOD, replaces=("GOOD1",))
    file = project / "people" / "people.dl"
    file.write_text(PEOPLE.replace("GOOD1", "GOOD7"), encoding="utf-8")
    with Session(project) as session:
        review = session.reviews.review(kept.short)
    assert "C0887" in review.problem
    assert refused(lambda: approve(project, kept.short)) == "C0887"


def test_a_rule_of_a_file_is_reviewed_against_a_library_without_it(project: Path) -> None:
    with Session(project) as session:
        items = session.reviews.items()
        review = session.reviews.review("POOR1")
    assert [(one.kind, one.identity, one.model) for one in items] == [("rule", "POOR1", "llm:m-1")]
    (effect,) = review.effects
    assert [one.shown for one in effect.transitions] == [("poor(cyd)",)]
    assert (effect.settled_before, effect.settled_after) == ("SETTLED", "SETTLED")
    assert review.file == "modelled.dl"


# ---------------------------------------------------------------------- approvals


def test_an_approved_draft_is_a_rule_of_the_library(project: Path) -> None:
    kept = draft(
        project, TOP, tests=('score("eve", 99).\n@[expect(proved = "top(eve)")] .output top',)
    )
    decided = approve(project, kept.short, rule_id="TOP1")
    assert (decided.status, decided.file, decided.rules) == ("approved", "people/top.dl", ("TOP1",))
    with Session(project) as session:
        result = session.prove("top(ann)")
        assert (result.verdict.value, result.assumptions) == ("PROVED", ())
        report = check_certificate(result.certificate)
        assert report.accepted
        assert [one.split(" at ")[0] for one in report.approvals] == [
            "TOP1, author llm:draft: approved by ada",
            "3 facts of rule files: nobody approved them",
        ]
        assert session.drafts.get(kept.short).status == "approved"
        (item,) = [one for one in session.reviews.items("approved") if one.kind == "draft"]
        assert item.rules == ("TOP1",)
    record = json.loads((project / "people" / "approvals.jsonl").read_text(encoding="utf-8"))
    assert (record["rule"], record["by"], record["draft"]) == ("TOP1", "ada", kept.identity)
    assert (project / "people" / "cases" / f"top-{kept.identity[:8]}-1.dl").exists()


def test_a_rule_that_is_edited_loses_its_approval(project: Path) -> None:
    approve(project, "POOR1")
    assert verdict(project, "poor(cyd)") == "PROVED"
    file = project / "modelled.dl"
    text = file.read_text(encoding="utf-8")
    # Layout is not what a rule says; its threshold, its sentence and its id are.
    file.write_text(text.replace(", ?n < 5", " ,\n  ?n<5"), encoding="utf-8")
    assert verdict(project, "poor(cyd)") == "PROVED"
    for change in (("?n < 5", "?n < 6"), ("less than 5", "little"), ("POOR1", "POOR2")):
        file.write_text(text.replace(*change), encoding="utf-8")
        assert verdict(project, "poor(cyd)") == "PROVED_UNDER", change
        if "POOR2" not in change:
            with Session(project) as session:
                (remark,) = session.reviews.review("POOR1").remarks
            assert remark == "it was edited since ada approved it"
            (warning,) = check_rules([project / "people", file]).diagnostics
            assert (warning.code, "edited since" in warning.message) == ("C0885", True)
    file.write_text(text, encoding="utf-8")
    assert verdict(project, "poor(cyd)") == "PROVED"


def test_a_rule_without_an_id_is_not_approved_by_its_number(project: Path) -> None:
    file = project / "modelled.dl"
    text = file.read_text(encoding="utf-8").replace("@[id = POOR1] ", "")
    file.write_text(text, encoding="utf-8")
    assert refused(lambda: approve(project, "poor.1")) == "C0885"


def test_a_withdrawn_approval_counts_no_more_until_the_next(project: Path) -> None:
    approve(project, "POOR1")
    with Session(project) as session:
        decided = session.reviews.reject("POOR1", by="bob", reason="five is not poor")
        assert (decided.status, session.prove("poor(cyd)").verdict.value) == (
            "rejected",
            "PROVED_UNDER",
        )
        (rejected,) = session.drafts.rejections_about(["poor"])
    assert rejected.decision is not None
    assert rejected.decision.reason == "five is not poor"
    assert "@[author" in rejected.text
    approve(project, "POOR1")
    assert verdict(project, "poor(cyd)") == "PROVED"
    lines = (project / "approvals.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(one)["action"] for one in lines] == ["approved", "withdrawn", "approved"]


def test_replacing_a_rule_leaves_the_rest_of_its_file_alone(project: Path) -> None:
    kept = draft(project, TEN_IS_GOOD, replaces=("GOOD2",))
    approve(project, kept.short, rule_id="GOOD3")
    after = (project / "people" / "people.dl").read_text(encoding="utf-8")
    start, end = PEOPLE.index("/// And whoever"), PEOPLE.index('@[says = "{who} is fine"]')
    assert after.startswith(PEOPLE[:start])
    assert after.endswith(PEOPLE[end:])
    assert "dan" not in after
    assert verdict(project, "good(bob)") == "PROVED"


def test_a_draft_that_took_a_rule_s_place_gives_way_to_a_later_one(project: Path) -> None:
    first = draft(project, TEN_IS_GOOD, replaces=("GOOD1",))
    approve(project, first.short, rule_id="GOOD3")
    later = draft(project, TEN_IS_GOOD.replace("10", "3"), replaces=("GOOD3",))
    approve(project, later.short)
    with Session(project) as session:
        assert session.drafts.get(first.short).status == "superseded"
        assert session.prove("good(cyd)").verdict.value == "PROVED"


def test_crlf_files_stay_crlf(project: Path) -> None:
    file = project / "people" / "people.dl"
    file.write_bytes(PEOPLE.replace("\n", "\r\n").encode())
    approve(project, draft(project, TEN_IS_GOOD, replaces=("GOOD1",)).short)
    after = file.read_bytes()
    assert after.count(b"\r\n") == after.count(b"\n")
    assert verdict(project, "good(bob)") == "PROVED"


@pytest.mark.parametrize(
    "into",
    [
        *("../elsewhere", "/", "nowhere", "people/../../x.dl", "people/.hidden.dl"),
        *("people/cases/x.dl", "people/x.py", "constat.yaml", ".constat"),
        *("people/\x1b[2J.dl", "a\0b"),
    ],
)
def test_a_draft_goes_nowhere_but_where_rules_are_read(project: Path, into: str) -> None:
    kept = draft(project)
    before = state_of(project.parent)
    assert refused(lambda: approve(project, kept.short, into=into)) == "C0884"
    assert state_of(project.parent) == before


@pytest.mark.parametrize(
    ("into", "file"), [("people", "top.dl"), ("people/mine.dl", "mine.dl"), ("modelled.dl", "")]
)
def test_a_draft_goes_where_it_is_sent(project: Path, into: str, file: str) -> None:
    approve(project, draft(project).short, into=into)
    assert (project / "people" / file).exists()
    assert verdict(project, "top(ann)") == "PROVED"


@pytest.mark.parametrize("named", ["GOOD1", "1", "a b", "x" * 99, "\x1b", "../x"])
def test_an_id_that_is_taken_or_none_is_refused(project: Path, named: str) -> None:
    kept = draft(project)
    assert refused(lambda: approve(project, kept.short, rule_id=named)) == "C0884"


def test_rules_of_two_files_are_not_replaced_by_one_draft(project: Path) -> None:
    kept = draft(project, TEN_IS_GOOD, replaces=("GOOD1", "POOR1"))
    assert refused(lambda: approve(project, kept.short)) == "C0884"


def test_a_part_of_a_statement_is_not_replaced(project: Path) -> None:
    file = project / "people" / "people.dl"
    file.write_text(f"{PEOPLE}@[id = TWO] good(?p) :- score(?p, 1); score(?p, 2).\n")
    kept = draft(project, TEN_IS_GOOD, replaces=("TWOa",))
    assert refused(lambda: approve(project, kept.short)) == "C0884"
    both = draft(project, TEN_IS_GOOD, replaces=("TWOa", "TWOb"))
    assert approve(project, both.short).status == "approved"


# ---------------------------------------------------------------------- who may approve


def test_who_asked_does_not_approve_where_four_eyes_are_wanted(tmp_path: Path) -> None:
    project = make_project(tmp_path, review={"four_eyes": "true"})
    kept = draft(project, asked_by="Eve")
    assert refused(lambda: approve(project, kept.short, by=" eve ")) == "C0883"
    assert approve(project, kept.short, by="ada").status == "approved"
    # Nobody knows who asked for this one: two people are four eyes.
    assert (approve(project, "POOR1", by="eve").status, verdict(project, "poor(cyd)")) == (
        "proposed",
        "PROVED_UNDER",
    )
    assert approve(project, "POOR1", by="EVE ").status == "proposed"
    assert approve(project, "POOR1", by="ada").status == "approved"
    assert verdict(project, "poor(cyd)") == "PROVED"


def test_rules_are_in_with_the_last_approver_that_is_needed(tmp_path: Path) -> None:
    project = make_project(tmp_path, review={"approvers": "2"})
    kept = draft(project)
    before = state_of(project)
    first = approve(project, kept.short)
    assert (first.status, first.have, first.needed) == ("proposed", 1, 2)
    assert approve(project, kept.short).status == "proposed"
    # Under another id it is another rule, of which nobody has approved yet.
    assert approve(project, kept.short, by="bob", rule_id="TOP9").have == 1
    assert state_of(project) == before
    with Session(project) as session:
        (item,) = [one for one in session.reviews.items() if one.kind == "draft"]
        assert (item.approvals, item.needed) == (("ada", "bob"), 2)
    assert approve(project, kept.short, by="bob").status == "approved"
    assert verdict(project, "top(ann)") == "PROVED"


def test_where_a_key_is_trusted_only_its_signature_counts(tmp_path: Path) -> None:
    project = with_ada(tmp_path)
    kept = draft(project)
    assert refused(lambda: approve(project, kept.short)) == "C0883"
    for wrong in (key(seed=2), key(role="auditor"), key(name="Bob", seed=3)):
        decide = partial(approve, project, kept.short, by="", key=wrong)
        assert refused(decide) == "C0883"
    assert refused(lambda: approve(project, kept.short, by="bob", key=key())) == "C0883"
    decided = approve(project, kept.short, by="", key=key())
    assert (decided.status, decided.signed) == ("approved", True)
    with Session(project) as session:
        result = session.prove("top(ann)")
        report = check_certificate(result.certificate)
        assert (result.verdict.value, report.accepted) == ("PROVED", True)
        assert key().public.id in report.approvals[0]


def test_one_key_is_one_person_whatever_names_it_signs_with(tmp_path: Path) -> None:
    project = with_ada(tmp_path, review={"four_eyes": "true", "approvers": "2"})
    (project / "bob.pem").write_bytes(write_public_key(key(name="Bob", seed=2)))
    told = json.loads((project / "constat.yaml").read_text(encoding="utf-8"))
    told["keys"]["bob"] = {"file": "bob.pem", "roles": ["approver"]}
    (project / "constat.yaml").write_text(json.dumps(told), encoding="utf-8")
    kept = draft(project, asked_by="ada")
    # Ada's key asks for it and is no approver here, also where it signs as Carol.
    for name in ("Ada", "Carol"):
        decide = partial(approve, project, kept.short, by="", key=key(name=name))
        assert refused(decide) == "C0883"
    for name in ("Bob", "Carol", "Dan"):
        decided = approve(project, kept.short, by="", key=key(name=name, seed=2))
        assert (decided.status, decided.have) == ("proposed", 1)
    for name in ("Bob", "Carol"):
        assert approve(project, "POOR1", by="", key=key(name=name, seed=2)).status == "proposed"
    assert approve(project, "POOR1", by="", key=key()).status == "approved"


def test_a_replacing_rule_may_keep_the_id(project: Path) -> None:
    kept = draft(project, TEN_IS_GOOD, replaces=("GOOD1",))
    assert approve(project, kept.short, rule_id="GOOD1").rules == ("GOOD1",)
    assert verdict(project, "good(bob)") == "PROVED"
    with Session(project) as session:
        assert all(not one.problems for one in session.reviews.review("GOOD1").cases)


def test_an_approved_draft_whose_rule_was_edited_does_not_come_in_twice(project: Path) -> None:
    kept = draft(project)
    approve(project, kept.short)
    file = project / "people" / "top.dl"
    file.write_text(file.read_text(encoding="utf-8").replace("> 11", "> 2"), encoding="utf-8")
    assert verdict(project, "top(cyd)") == "PROVED_UNDER"
    assert refused(lambda: approve(project, kept.short)) == "C0884"
    approve(project, f"D{kept.identity[:8]}-1")
    assert verdict(project, "top(cyd)") == "PROVED"


def forge(line: dict[str, Any]) -> list[dict[str, Any]]:
    """Give records that somebody without the key might write."""
    return [
        {**line, "envelope": ""},
        {**line, "by": "Bob"},
        {**line, "reason": "another"},
        {**line, "at": "2027-01-01T00:00:00.000000Z"},
        {**line, "envelope": with_one_bit_of_the_signature_turned(line["envelope"])},
        {**line, "draft": "0" * 64},
    ]


def test_a_forged_or_revoked_approval_does_not_count(tmp_path: Path) -> None:
    project = with_ada(tmp_path)
    approve(project, "POOR1", by="", key=key())
    assert verdict(project, "poor(cyd)") == "PROVED"
    file = project / "approvals.jsonl"
    line = json.loads(file.read_text(encoding="utf-8"))
    for forged in forge(line):
        text = json.dumps(forged, sort_keys=True, separators=(",", ":"))
        file.write_text(f"{text}\n", encoding="utf-8")
        assert verdict(project, "poor(cyd)") == "PROVED_UNDER", forged
    file.write_text(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n")
    assert verdict(project, "poor(cyd)") == "PROVED"
    keys = {"ada": {"file": "ada.pem", "roles": ["approver"], "revoked": "2026-01-01"}}
    told = json.loads((project / "constat.yaml").read_text(encoding="utf-8"))
    (project / "constat.yaml").write_text(json.dumps({**told, "keys": keys}), encoding="utf-8")
    assert verdict(project, "poor(cyd)") == "PROVED_UNDER"


def test_a_signature_in_another_role_is_no_approval(tmp_path: Path) -> None:
    project = make_project(
        tmp_path, keys={"ada": {"file": "ada.pem", "roles": ["approver", "auditor"]}}
    )
    (project / "ada.pem").write_bytes(write_public_key(key()))
    with Session(project) as session:
        library = ReviewedLibrary(session.project)
    (subject,) = library.subjects(library.named("POOR1"))
    for role, found in (("auditor", "PROVED_UNDER"), ("approver", "PROVED")):
        line = word(subject, Approver("Ada", key(role=role)), "seen", TIME).to_line()
        (project / "approvals.jsonl").write_bytes(line)
        assert verdict(project, "poor(cyd)") == found


@pytest.mark.parametrize(
    "content",
    [b"{}\n", b"nothing", b"\xff\n", b'{"action":"approved"}\n', b"[" * 100_000 + b"\n", b" \n"],
)
def test_damaged_records_stop_everything(project: Path, content: bytes) -> None:
    approve(project, "POOR1")
    file = project / "approvals.jsonl"
    file.write_bytes(file.read_bytes() + content)
    assert refused(lambda: verdict(project, "good(ann)")) == "C0885"
    assert refused(lambda: approve(project, "POOR1")) == "C0885"


def test_a_record_of_a_rule_in_another_folder_is_found_beside_its_file(project: Path) -> None:
    kept = draft(project, TEN_IS_GOOD)
    approve(project, kept.short)
    assert (project / "people" / "approvals.jsonl").exists()
    shutil.move(project / "people" / "approvals.jsonl", project / "elsewhere.jsonl")
    assert verdict(project, "good(bob)") == "PROVED_UNDER"


# ---------------------------------------------------------------------- rejections


def test_a_rejected_draft_stays_with_its_reason(project: Path) -> None:
    kept = draft(project)
    before = state_of(project)
    with Session(project) as session:
        session.reviews.reject(kept.short, by="bob", reason="nobody is top")
        assert [one.identity for one in session.reviews.items("rejected")] == [kept.short]
        assert [one.identity for one in session.drafts.rejections_about(["top"])] == [kept.identity]
        assert session.drafts.add(NewDraft(TOP, "Who is it?")).status == "rejected"
    assert state_of(project) == before


def test_an_approved_draft_is_rejected_by_its_rules_alone(project: Path) -> None:
    kept = draft(project)
    approve(project, kept.short, rule_id="TOP1")
    with Session(project) as session:
        assert refused(lambda: session.reviews.reject(kept.short, by="b", reason="r")) == "C0883"
        session.reviews.reject("TOP1", by="bob", reason="nobody is top")
        assert session.prove("top(ann)").verdict.value == "PROVED_UNDER"


# ---------------------------------------------------------------------- crashes


class KilledError(BaseException):
    """What ends a program where it stands."""


@pytest.mark.parametrize("steps", range(5))
def test_an_approval_that_is_cut_off_has_happened_or_has_not(
    project: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    kept = draft(project, TEN_IS_GOOD, replaces=("GOOD1",), tests=(BOB_IS_GOOD,))
    left = steps
    real = writing._replace

    def replace(path: Path, text: str) -> None:
        nonlocal left
        if left == 0:
            raise KilledError
        left -= 1
        real(path, text)

    monkeypatch.setattr(writing, "_replace", replace)
    try:
        approve(project, kept.short)
        finished = True
    except KilledError:
        finished = False
    monkeypatch.undo()
    inside = steps >= 2
    with Session(project) as session:
        assert session.prove("good(bob)").verdict.value == ("PROVED" if inside else "DISPROVED")
        (item,) = [one for one in session.reviews.items(None) if one.kind == "draft"]
        assert item.status == ("approved" if inside else "proposed")
    assert approve(project, kept.short).status == "approved"
    assert approve(project, kept.short).status == "approved"
    with Session(project) as session:
        assert session.drafts.get(kept.short).status == "approved"
        assert session.prove("good(bob)").verdict.value == "PROVED"
    assert len(list((project / "people" / "cases").glob("people-*.dl"))) == 1
    assert finished == (steps >= 3)
    lines = (project / "people" / "approvals.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1


def test_a_full_disk_lets_nothing_in(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = draft(project)
    before = state_of(project)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "_replace", full)
    assert refused(lambda: approve(project, kept.short)) == "C0884"
    assert state_of(project) == before
    with Session(project) as session:
        assert session.drafts.get(kept.short).status == "proposed"


def test_a_file_that_was_changed_meanwhile_is_left_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = draft(project, TEN_IS_GOOD, replaces=("GOOD1",))
    file = project / "people" / "people.dl"
    real = writing._require_unchanged

    def changed(placement: Any) -> None:  # noqa: ANN401  a placement
        file.write_text(f"{PEOPLE}// mine\n", encoding="utf-8")
        real(placement)

    monkeypatch.setattr(writing, "_require_unchanged", changed)
    assert refused(lambda: approve(project, kept.short)) == "C0884"
    assert file.read_text(encoding="utf-8").endswith("// mine\n")
    assert not (project / "people" / "approvals.jsonl").exists()


# ---------------------------------------------------------------------- elsewhere


def test_cases_of_a_library_know_its_approvals(project: Path) -> None:
    cases = project / "cases"
    cases.mkdir()
    case = 'score("eve", 1).\n@[expect(proved = "poor(eve)")] .output poor\n'
    (cases / "poor.dl").write_text(case, encoding="utf-8")
    (project / "score.dl").write_text(".decl score(who: symbol, points: number)\n")
    assert [one.verdict for one in run_cases([cases]).results] == ["PROVED_UNDER"]
    (project / "constat.yaml").write_text("rules: [modelled.dl, score.dl]\n")
    approve(project, "POOR1")
    assert run_cases([cases]).failures == ()


def test_reports_and_exports_name_who_approved(project: Path) -> None:
    approve(project, "POOR1", by="Ada <b>")
    with Session(project) as session:
        certificate = session.prove("poor(cyd)").certificate
    assert "POOR1 by Ada &lt;b&gt;, 20" in to_html(certificate)
    assert "POOR1 approved by Ada <b>" in to_prov_json(certificate)


def test_several_people_approve_at_once(project: Path) -> None:
    kept = [draft(project, TOP.replace("top", f"top{number}")) for number in range(4)]
    threads = [Thread(target=approve, args=(project, one.short)) for one in kept]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    lines = (project / "people" / "approvals.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(one)["draft"] for one in lines} == {one.identity for one in kept}
    assert [verdict(project, f"top{number}(ann)") for number in range(4)] == ["PROVED"] * 4


def test_the_commands_list_and_decide(project: Path) -> None:
    kept = draft(project, asked_by="eve")
    told = ("--project", project)
    words = ["prove", "top(ann)", "--project", str(project), "--draft"]
    assert [one.value for one in offers(cli, words, kept.short[:3])] == [kept.short]
    listed = run("rules", "list", "--proposed", "--format", "json", *told).json
    assert [one["identity"] for one in listed["drafts"]] == [kept.short]
    shown = run("rules", "review", *told)
    assert (shown.code, kept.short in shown.out, "POOR1" in shown.out) == (0, True, True)
    assert "+++ b/people/top.dl" in run("rules", "review", kept.short, *told).out
    given = ("--by", "ada", "--reason", "as agreed", *told)
    assert run("prove", "top(ann)", "--draft", kept.short, "-q", *told).code == 3
    both = run("prove", "top(ann)", "--draft", kept.short, "--require-approved", *told)
    assert both.code == 2
    assert run("rules", "approve", "nothing", *given).code == 2
    assert run("rules", "approve", kept.short, *given).code == 0
    assert run("prove", "top(ann)", "--require-approved", "-q", *told).code == 0
    rejected = run("rules", "reject", "POOR1", "--by", "bob", "--reason", "no", *told)
    assert (rejected.code, "delete it there" in rejected.err) == (0, True)
    assert run("prove", "poor(cyd)", "--require-approved", *told).code == 4


@pytest.mark.slow
def test_an_approval_survives_a_kill_at_any_moment(project: Path) -> None:
    """Kill a program that approves drafts one after the other, and look at what it left."""
    kept = [draft(project, TOP.replace("top", f"top{number}")) for number in range(60)]
    names = " ".join(one.short for one in kept)
    program = (
        "import sys; from constat import Session\n"
        "for name in sys.argv[2].split():\n"
        "    print(name, flush=True)\n"
        "    with Session(sys.argv[1]) as session:\n"
        "        session.reviews.approve(name, by='ada', reason='as agreed')\n"
    )
    chance = random.Random(7)
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(project), names], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(chance.random())
        os.kill(child.pid, signal.SIGKILL)
        child.stdout.close()
        child.wait()
        with Session(project) as session:
            for one in session.reviews.items(None):
                if one.kind == "draft":
                    landed = bool(one.rules)
                    assert (one.status == "approved") == landed
            known = session.program.program.predicates
            proposed = {rule.head.predicate for rule in session.program.rules if rule.proposed}
            assert proposed == {"poor"}
            assert all(f"top{n}" not in known or session.prove(f"top{n}(ann)") for n in range(60))


def test_rules_of_an_owner_are_decided_about_by_those_who_are_named(tmp_path: Path) -> None:
    project = make_project(tmp_path, review={"owners": {"sales": ["Ada", "bob"], "risk": "eve"}})
    good, top = draft(project, TEN_IS_GOOD), draft(project)
    # Of a slip nobody would know that it leaves the rules to everybody.
    assert refused(lambda: approve(project, top.short, by="ada")) == "C0889"
    for file, before, after in (
        ("people/people.dl", ".decl good", "@[owner = sales] .decl good"),
        ("modelled.dl", "@[id = POOR1]", "@[id = POOR1] @[owner = risk]"),
    ):
        path = project / file
        path.write_text(path.read_text().replace(before, after, 1))
    with Session(project) as session:
        for name, other in ((good.short, "eve"), ("POOR1", "ada")):
            assert refused(lambda: approve(project, name, by=other)) == "C0883"  # noqa: B023
            assert (
                refused(lambda: session.reviews.reject(name, by=other, reason="no")) == "C0883"  # noqa: B023
            )
    assert approve(project, good.short, by="ADA ").status == "approved"
    assert approve(project, "POOR1", by="eve").status == "approved"
    owned = draft(project, f"@[owner = risk] {TOP}")
    assert refused(lambda: approve(project, owned.short, by="ada")) == "C0883"
    # What has no owner is for every approver.
    assert approve(project, top.short, by="cyd").status == "approved"
