"""A refusal and its reasons: the certificate has all of them, and every export gives the same."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from constat.check import check_certificate
from constat.evaluation import Call, Origin, Portion, Verdict
from constat.project.settings import Sight, SightOf
from constat.proof.export.account import account_of
from constat.proof.formats import format_named, write_format
from constat.proof.rebuilding import rebuild
from constat.proof.redaction import finished
from constat.proof.report.markup import checker_source
from constat.proof.report.pdf import paper
from constat.session import Session
from constat.session.counterfactuals import is_cheap
from constat.session.options import LogAs
from constat.session.redacting import Hiding, make_view
from tests.cli.running import run
from tests.examples.projects import ROOT, readme_goals
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = ROOT / "examples" / "lending"
REASONS = {
    "A102": ("R02",),
    "A103": ("R04",),
    "A104": ("R01", "R02", "R03", "R04", "R05"),
    "A105": (),
}


@pytest.fixture(scope="module")
def certificates() -> dict[str, bytes]:
    with Session(PROJECT) as session:
        return {one: session.prove(f"approved({one})").certificate for one in ("A101", *REASONS)}


def test_the_goals_of_the_readme_have_their_verdicts(certificates: dict[str, bytes]) -> None:
    asked = [goal.removeprefix("approved(").removesuffix(")") for goal in readme_goals("lending")]
    assert asked == list(certificates)
    codes = [check_certificate(certificates[one]).exit_code for one in asked]
    assert codes == [0, 5, 5, 5, 5]


@pytest.mark.parametrize("name", REASONS)
def test_a_certificate_has_the_reasons_that_asking_again_gives(
    certificates: dict[str, bytes], name: str
) -> None:
    told = account_of(certificates[name]).reasons
    assert tuple(one.code for one in told) == REASONS[name]
    assert [one.gap for one in told] == sorted(one.gap for one in told)
    with Session(PROJECT) as session:
        asked = session.why_not(f"approved({name})").reasons(most=10)
    assert [(one.code, one.gap) for one in told] == [(one.code, one.gap) for one in asked]


@pytest.mark.parametrize("form", ["letter", "html", "markdown"])
def test_every_export_gives_at_most_four_reasons_in_order(
    certificates: dict[str, bytes], form: str
) -> None:
    text = write_format(format_named(form), certificates["A104"]).decode()
    shown = text.partition('<nav aria-label="Parts of the report">')[0]
    first = [shown.find(code) for code in REASONS["A104"]]
    assert first[:4] == sorted(first[:4])
    assert min(first[:4]) >= 0
    assert "ncome insufficient: income of P4 is 1,700" in text
    if form != "markdown":
        assert first[4] == -1


def test_a_letter_says_whose_rule_it_was_and_leaves_places_for_the_sender(
    certificates: dict[str, bytes],
) -> None:
    text = write_format(format_named("letter"), certificates["A102"]).decode()
    assert "rule CRE1 version 2026-2 of credit policy" in text
    assert "[name and address of the person concerned]" in text
    assert len(re.findall(r"^\d\. ", text, re.MULTILINE)) == 1


def test_a_letter_in_german_says_reasons_numbers_and_words_of_the_sender_in_german(
    certificates: dict[str, bytes],
) -> None:
    text = write_format(format_named("letter"), certificates["A104"], "de_DE").decode()
    assert "# Antrag A104 wird nicht bewilligt." in text
    assert "1. Einkommen zu niedrig: 1.700, nötig ist mindestens 1.800. (R01)" in text
    assert "Regel CRE1 Fassung 2026-2 von credit policy (niemand hat sie gebilligt)" in text
    english = re.findall(r"\b(?:the|is|of|income|reasons|asked)\b", text)
    assert english == []
    plain = write_format(format_named("letter"), certificates["A104"]).decode()
    assert "Einkommen" not in plain


def test_why_not_says_its_sentences_in_the_language_of_the_locale() -> None:
    asked = ("why-not", "approved(A104)", "--reasons", "--project", str(PROJECT))
    told = run(*asked, "--locale", "de_DE").out
    assert "stops at: P4 ist eine Zahlung schuldig geblieben" in told
    assert "kleiner als" in told
    assert "P4 has missed a payment" in run(*asked).out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("A101", "# Application A101 is approved."),
        ("A105", "1. There is no entry of applicant with id P9."),
    ],
)
def test_a_letter_without_codes_says_what_decides(
    certificates: dict[str, bytes], name: str, said: str
) -> None:
    text = write_format(format_named("letter"), certificates[name]).decode()
    assert said in text
    assert ("principal reasons" in text) == (name != "A101")


def test_a_letter_about_what_is_proved_says_why_and_by_whose_rule(
    certificates: dict[str, bytes],
) -> None:
    text = write_format(format_named("letter"), certificates["A101"]).decode()
    assert "It was decided so because:\n\n- An income of " in text
    assert "It follows from rule CRE1 version 2026-2 of credit policy (nobody approved it)." in text
    assert "\n[date of this letter]\n" in text


@pytest.mark.examples
def test_a_change_is_told_only_where_it_was_tried() -> None:
    with Session(PROJECT) as session:
        found = session.counterfactuals(session.why_not("approved(A102)"))
        assert {one.text.partition(", where")[0] for one in found.found} >= {
            "monthly 252 in place of 310 (58 less)",
            "without the entry that P2 pays $180.5 a month for loan L3",
        }
        for one in found.found:
            again = session.what_if(
                "approved(A102)", remove=[one.remove], add=[one.add] if one.add else []
            )
            assert again.verdict is one.verdict is Verdict.PROVED_UNDER
        # Five conditions fail: no single row turns that.
        none = session.counterfactuals(session.why_not("approved(A104)"))
        assert none.found == ()
        assert none.tried > 0
        assert session.counterfactuals(session.why_not("approved(A101)")).tried == 0


def test_the_command_lists_changes_as_options_of_what_if() -> None:
    goal = "approved(A102)"
    done = run("why-not", goal, "--counterfactuals", "--project", str(PROJECT), "--format", "json")
    changes = json.loads(done.out)["counterfactuals"]
    assert {"remove": "loan(L3, P2, 180.5)", "add": ""}.items() <= changes["found"][-1].items()


@pytest.fixture(scope="module")
def changed() -> bytes:
    with Session(PROJECT) as session:
        return session.prove("approved(A102)", counterfactuals=True).certificate


@pytest.mark.examples
@pytest.mark.parametrize("form", ["letter", "html", "paper"])
def test_changes_are_frozen_and_shown_as_computed(
    certificates: dict[str, bytes], changed: bytes, form: str
) -> None:
    members = json.loads(changed)
    assert [one["remove"] for one in members["record"]["changes"]][-1] == "loan(L3, P2, 180.5)"
    assert members["identity"] == json.loads(certificates["A102"])["identity"]
    report = check_certificate(changed)
    assert report.accepted
    assert sum("not proved by this certificate" in one for one in report.decided) == 4
    shown, plain = (
        paper(account_of(one))
        if form == "paper"
        else write_format(format_named(form), one).decode()
        for one in (changed, certificates["A102"])
    )
    shown = shown.partition('<nav aria-label="Parts of the report">')[0]
    plain = plain.partition('<nav aria-label="Parts of the report">')[0]
    said = "onthly 252 in place of 310 (58 less), where P2 pays "
    assert said in shown
    assert said not in plain
    assert "not proved" in shown
    assert rebuild(changed).same


def test_a_view_has_no_changes_for_they_would_tell_the_number(changed: bytes) -> None:
    view = make_view(changed, Hiding(("applicant.income",)), b"s" * 32)
    assert check_certificate(view).accepted
    assert "changes" not in json.loads(view)["record"]
    assert "58 less" in changed.decode()
    assert "58 less" not in view.decode()


def test_a_yes_and_a_no_that_nothing_turns_have_no_changes() -> None:
    with Session(PROJECT) as session:
        for goal in ("approved(A101)", "approved(A104)"):
            found = session.prove(goal, counterfactuals=True)
            assert "changes" not in json.loads(found.certificate)["record"]
        with pytest.raises(ValueError, match="facts of the present"):
            session.prove("approved(A102)", as_of="2026-01-01", counterfactuals=True)


@pytest.mark.examples
def test_the_command_freezes_changes(tmp_path: Path) -> None:
    file, where = tmp_path / "a.json", ("--project", str(PROJECT))
    done = run("prove", "approved(A102)", "--counterfactuals", "--certificate", str(file), *where)
    assert "it would hold with this change: without the entry that P2 pays $180.5" in done.err
    assert len(json.loads(file.read_bytes())["record"]["changes"]) == 4
    for other in ("--all", "--as-of=2026-01-01"):
        assert run("prove", "approved(A102)", "--counterfactuals", other, *where).code == 2


def test_a_few_changes_are_tried_where_a_certificate_is_written(tmp_path: Path) -> None:
    file, where = tmp_path / "a.json", ("--project", str(PROJECT))
    told = []
    for option in ((), ("--no-counterfactuals",), ("--counterfactuals",)):
        assert run("prove", "approved(A102)", "--certificate", str(file), *option, *where).code == 5
        told.append(json.loads(file.read_bytes())["record"].get("changes", []))
        assert check_certificate(file.read_bytes()).accepted
    few, none, every = told
    assert few
    assert few == every[: len(few)]
    assert not none
    # Whoever wants the verdict alone waits for nothing.
    assert "change" not in run("prove", "approved(A102)", *where).err
    with Session(PROJECT) as session:
        assert "changes" not in json.loads(session.prove("approved(A102)").certificate)["record"]


def test_what_is_decided_on_record_freezes_changes(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "rules", tmp_path / "rules")
    project = tmp_path / "examples" / "lending"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns(".constat"))
    with Session(project) as session:
        logged = session.prove("approved(A102)", log=LogAs(by="alice"))
        assert json.loads(logged.certificate)["record"]["changes"]
        assert session.decisions.certificate(session.decisions.find("1")) == logged.certificate
        plain = session.prove("approved(A102)", log=LogAs(by="alice"), counterfactuals=False)
        assert "changes" not in json.loads(plain.certificate)["record"]


def test_changes_are_not_tried_unasked_where_much_or_a_model_was_read() -> None:
    with Session(PROJECT) as session:
        calls = session.prove("approved(A102)").calls
    assert is_cheap(calls)
    (first, *_) = (one for one in calls if one.answer.portions)
    (portion, *_) = first.answer.portions

    def with_portion(other: Portion) -> Call:
        return replace(first, answer=replace(first.answer, portions=(other,)))

    many = replace(portion, rows=(*portion.rows,) * 1_001)
    said = replace(portion, evidence=replace(portion.evidence, origin=Origin.LLM_KNOWLEDGE))
    asked = replace(portion, evidence=replace(portion.evidence, origin=Origin.API))
    for other in (many, said, asked):
        assert not is_cheap([*calls, with_portion(other)])


def test_changes_show_nothing_that_the_caller_may_not_see(tmp_path: Path) -> None:
    (tmp_path / "constat.yaml").write_text(
        "project: p\nrules: [r.dl]\ndatabases: {main: {files: {people: people.csv}}}\n"
    )
    (tmp_path / "people.csv").write_text("id,region,income\nP2,north,900\nP3,south,717.25\n")
    (tmp_path / "r.dl").write_text(
        '.pragma "constat" "0.1"\n@[key = id]\n'
        ".decl person(id: symbol, region: symbol, income: Decimal)\n"
        '.input person(source = main, query = "SELECT id, region, income FROM people")\n'
        ".decl able(p: symbol)\n"
        'able(?p) :- person(?p, ?r, ?i), ?r != "west", ?i >= 1000.0.\n'
    )
    sight = Sight("clerk", "", {"person": SightOf(rows={"region": ("north",)})})
    with Session(tmp_path) as session:
        assert "717" in str(json.loads(session.prove("able(P3)", counterfactuals=True).certificate))
    with Session(tmp_path, sight=sight) as session:
        seen, hidden = (
            session.prove(f"able({one})", counterfactuals=True).certificate for one in ("P2", "P3")
        )
    assert "income 1,000 in place of 900" in seen.decode()
    assert "changes" not in json.loads(hidden)["record"]
    for content in (seen, hidden):
        for form in ("letter", "html", "markdown"):
            text = write_format(format_named(form), content).decode() + content.decode()
            assert "717.25" not in text


@pytest.mark.skipif(node() is None, reason="there is no JavaScript engine")
def test_both_checkers_read_the_form_of_changes(
    certificates: dict[str, bytes], changed: bytes
) -> None:
    one = json.loads(changed)["record"]["changes"][0]
    wrong: list[tuple[bytes, object, str]] = [
        (changed, [], "schema"),
        (changed, [one] * 25, "schema"),
        (changed, [{**one, "verdict": "DISPROVED"}], "schema"),
        (changed, [{**one, "text": ""}], "schema"),
        (changed, [{**one, "proof": 1}], "schema"),
        (certificates["A101"], [one], "record"),
        (make_view(changed, Hiding(("applicant.income",)), b"s" * 32), [one], "record"),
    ]
    second = SecondChecker(checker_source())
    try:
        assert second.check(changed)["accepted"]
        for whole, changes, code in wrong:
            members = json.loads(whole)
            members["record"]["changes"] = changes
            forged = finished(members)
            assert second.check(forged)["reasonCode"] == check_certificate(forged).code == code
    finally:
        second.close()


def test_a_member_that_a_checker_does_not_know_is_refused_and_changes_can_be_taken_out(
    changed: bytes,
) -> None:
    if node() is None:
        pytest.skip("there is no JavaScript engine")
    members = json.loads(changed)
    told = members["record"].pop("changes")
    without = finished(members)
    members["record"]["improvements"] = told
    unknown = finished(members)
    second = SecondChecker(checker_source())
    try:
        assert second.check(without)["accepted"]
        assert second.check(unknown)["reasonCode"] == "schema"
    finally:
        second.close()
    assert check_certificate(without).identity == check_certificate(changed).identity
    assert check_certificate(unknown).code == "schema"


def test_whoever_is_concerned_sees_the_reasons_and_not_what_is_confidential(
    certificates: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(certificates["A104"])
    done = run("export", str(path), "--view", "subject", "--to", "letter")
    assert done.code == 0, done.err
    assert "income of P4 is 1,700" in done.out
    assert "471" not in re.sub(r"[0-9a-f]{16,}", "", done.out)
    assert "520" not in done.out
    assert "R01" in done.out


@pytest.mark.parametrize("form", ["letter", "html", "markdown"])
def test_a_view_says_of_which_reasons_it_does_not_tell(
    certificates: dict[str, bytes], form: str
) -> None:
    view = make_view(certificates["A104"], Hiding(view="subject"), b"s" * 32)
    told = account_of(view)
    assert tuple(one.code for one in told.reasons) == ("R01", "R02", "R04", "R05")
    assert tuple(one.code for one in told.veiled) == ("R03",)
    text = write_format(format_named(form), view).decode()
    assert "Whether insufficient score (R03) is a reason, too, this copy does not tell" in text
    whole = write_format(format_named(form), certificates["A104"]).decode()
    assert "this copy does not tell" not in whole


def test_a_view_names_what_it_hides_and_nothing_else(certificates: dict[str, bytes]) -> None:
    view = json.loads(make_view(certificates["A104"], Hiding(view="subject"), b"s" * 32))
    text = view["assumptions"][view["redaction"]["assumption"]]["text"]
    # The income is that of the subject, who may read it.
    assert text.startswith("hidden: the value of applicant.score, the value of least_score.score. ")


def test_the_first_screen_puts_the_words_of_a_rule_beside_what_it_requires(
    certificates: dict[str, bytes],
) -> None:
    pages = {
        name: write_format(format_named("html"), certificates[name]).decode().partition("<nav")[0]
        for name in ("A101", "A104")
    }
    # A rule is told with the values of the case, also where they are not as it requires.
    assert "“An income of $3,100 is at least $1,800, the payments of $670" in pages["A101"]
    assert "“An income of $1,700 is at least $1,800, the payments of $640 are at" in pages["A104"]
    assert "What it requires does not hold." in pages["A104"]
    for page in pages.values():
        assert "the applicant&#x27;s score is at least the least score; " in page
        assert "the burden is at most the applicant&#x27;s income times the most burden; " in page
        assert "the applicant has missed no payment." in page
    assert "This proof falls if one of these turns round" in pages["A101"]
    # Not only comparisons: also what has to be absent.
    turning = pages["A101"].partition("turns round")[2].partition("Assumptions")[0]
    assert "P1 has missed no payment" in turning
    # How far the comparisons are from turning, and the facts that somebody could change.
    assert " less turns it." in turning
    assert "What the sources say: " in turning
    owners = pages["A104"].partition("By whose rule")[2]
    # The burden that is too high is what BUR1 adds up.
    assert ">BUR1</a>" in owners
    assert "Rule CRE1 fails on each of these 5:<ul><li>" in pages["A104"]


def test_an_open_page_says_what_would_decide_it(still_shop: Path) -> None:
    with Session(still_shop) as session:
        certificate = session.prove("is_strategic(C009)").certificate
    page = write_format(format_named("html"), certificate).decode().partition("<nav")[0]
    assert "What would decide it" in page
    assert "the contract value of C009 is more than the vip threshold 100,000" in page
    assert "something unknown" not in page


@pytest.mark.parametrize("goal", ["nobody()", "none()"])
def test_a_page_about_nobody_names_somebody(tmp_path: Path, goal: str) -> None:
    rules = """.decl m(x: symbol, t: symbol)
m("ann", "gold"). m("bob", "gold"). m("cy", "tin").
.decl gold(x: symbol)
gold(?x) :- m(?x, "gold").
.decl nobody()
nobody() :- !gold(_).
.decl none()
none() :- !m(_, "gold").
"""
    with Session(rules=rules) as session:
        certificate = session.prove(goal).certificate
    page = write_format(format_named("html"), certificate).decode().partition("<nav")[0]
    assert re.search(r"(gold\W* holds for|m\W* holds for x) (ann|bob)", page, re.IGNORECASE)
    assert "It requires that there is no entry of" in page
