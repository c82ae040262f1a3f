"""Rows of bulk evaluation are computed; those with a certificate of their own are proved."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from threading import Event
from time import sleep
from typing import TYPE_CHECKING

import pytest

from constat import ConstatError, Session, Verdict
from constat.check import check_certificate
from constat.check.report import Report
from constat.cli.repl import ReplContext, answer, tell_checks
from constat.plan.forward import planning as projection
from constat.plan.forward.demand import Cut
from constat.recount import Prepared, Recount, State
from constat.session import many_proofs, stored_answers
from constat.session import session as session_module
from constat.session.answers import Computed, Settled
from constat.session.options import BulkOptions
from constat.session.repl import Notebook
from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from constat.logic import Kind

# The rows 5 and 15 hold; 105 came of a projection that two rules shared by mistake.
RULES = """
.pragma "constat" "0.1"
.decl w(a: number, f: float)
.decl v(a: number)
.decl s(x: number)
.decl p(x: number)
.decl doubted(x: number)
.input doubted
.decl sure(x: number)
w(1, 1.5).
v(2).
s(5).
p(?x) :- s(?x).
p(?b + 10) :- p(?b), p(?c), w(?a, ?f), ?f > 1.0, ?a > 0, ?b < 7, ?c < 7.
p(?b + 100) :- p(?b), p(?c), w(?a, ?f), ?f > 1.0, ?a > 0, v(?a), ?b < 7, ?c < 7.
sure(?x) :- p(?x), !doubted(?x).
"""
GIVEN = "rules: [rules.dl]\nclosed: [doubted]\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "rules.dl").write_text(RULES, encoding="utf-8")
    (tmp_path / "constat.yaml").write_text(GIVEN, encoding="utf-8")
    return tmp_path


@pytest.fixture
def session(project: Path) -> Iterator[Session]:
    with Session(project) as found:
        yield found


class LiteralsOnly(Cut):
    """The mistake as it was: what is shared is known by its literals alone."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cut) and self.literals == other.literals

    def __hash__(self) -> int:
        return hash(self.literals)

    @classmethod
    def of(cls, literals: object, kept: object, kinds: Mapping[str, Kind]) -> Cut:
        found = Cut.of(literals, kept, kinds)  # type: ignore[arg-type]  # handed through
        return cls(found.literals, found.kept, found.kinds)


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bulk evaluation give a row that does not hold."""
    monkeypatch.setattr(projection, "Cut", LiteralsOnly)


def test_rows_of_bulk_are_computed_and_not_checked(session: Session) -> None:
    answers = session.query("p(?x)", engine="forward", check="off")
    assert answers.recount is None
    assert [(row["x"], row.verdict) for row in answers] == [
        (5, Computed.CERTAIN),
        (15, Computed.CERTAIN),
    ]
    assert (answers.count(Verdict.PROVED), answers.count(Computed.CERTAIN)) == (0, 2)
    assert list(answers.to_pandas()["verdict"]) == ["COMPUTED", "COMPUTED"]
    assert {row.verdict for row in session.query("p(?x)", engine="reference")} == {Verdict.PROVED}


@pytest.mark.parametrize("check", ["always", "background"])
def test_rows_that_are_counted_again_are_proved(session: Session, check: str) -> None:
    answers = session.query("p(?x)", engine="forward", check=check)
    assert answers.recount == Recount(State.PASSED)
    assert [(row["x"], row.verdict) for row in answers] == [
        (5, Verdict.PROVED),
        (15, Verdict.PROVED),
    ]
    assert (answers.count(Verdict.PROVED), answers.count(Computed.CERTAIN)) == (2, 0)
    assert answers.exit_code == 0


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Let rows wait for no check, and no check end before this is set."""
    may_end = Event()
    for module in (session_module, stored_answers):
        monkeypatch.setattr(module, "BulkOptions", partial(BulkOptions, wait=0.0))
    usual = Prepared.finish

    def finish(self: Prepared) -> Recount:
        may_end.wait(60)
        return usual(self)

    monkeypatch.setattr(Prepared, "finish", finish)
    yield may_end
    may_end.set()


def test_a_check_that_takes_long_goes_on_beside_the_rows(session: Session, held: Event) -> None:
    answers = session.query("p(?x)", engine="forward")
    assert answers.recount is None
    assert {row.verdict for row in answers} == {Computed.CERTAIN}
    assert answers.checked(0.01).checking is not None
    # The sources are not needed any more, and other questions are answered meanwhile.
    assert session.prove("p(5)").verdict is Verdict.PROVED
    session.close()
    held.set()
    checked = answers.checked()
    assert checked.recount == Recount(State.PASSED)
    assert [(row["x"], row.verdict) for row in checked] == [
        (5, Verdict.PROVED),
        (15, Verdict.PROVED),
    ]


def test_a_check_that_is_stopped_leaves_rows_that_are_computed(
    session: Session, held: Event
) -> None:
    answers = session.query("p(?x)", engine="forward")
    assert answers.checking is not None
    answers.checking.stop()
    held.set()
    stopped = answers.checked()
    assert stopped.recount == Recount(State.NOT_CHECKED, "it was stopped")
    assert {row.verdict for row in stopped} == {Computed.CERTAIN}
    assert stopped.exit_code == 0


@pytest.mark.usefixtures("wrong")
def test_a_difference_that_nobody_waits_for_is_told_until_the_check_passes(
    project: Path, session: Session, held: Event, caplog: pytest.LogCaptureFixture
) -> None:
    answers = session.query("p(?x)", engine="forward")
    assert answers.checking is not None
    held.set()
    while not answers.checking.done:
        sleep(0.01)
    assert "DIFFERENCE: p(?x) was counted again" in caplog.text
    told = "the answers of `p(?x)`, counted again at "
    assert [one.message[: len(told)] for one in session.warnings] == [told]
    assert list(answers.checked()) == []
    assert answers.checked().exit_code == 7
    ran = run("query", "s(?x)", "--project", str(project))
    assert (ran.code, told in ran.err) == (0, True)
    assert "differs: p(?x)" in run("history", "--project", str(project)).out


def test_a_check_that_passes_ends_the_warning(project: Path, session: Session) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "Cut", LiteralsOnly)
        assert session.query("p(?x)", engine="forward", check="always").exit_code == 7
    assert session.warnings
    session.query("p(?x)", engine="forward", check="off")
    assert session.warnings
    assert session.query("p(?x)", engine="forward", check="always").exit_code == 0
    assert not session.warnings


def test_what_is_asked_for_is_what_the_project_says(project: Path) -> None:
    (project / "constat.yaml").write_text(GIVEN + "check: off\n", encoding="utf-8")
    with Session(project) as session:
        assert session.query("p(?x)", engine="forward").recount is None
        assert session.query("p(?x)", engine="forward", check="always").recount is not None
    (project / "constat.yaml").write_text(GIVEN + "check: sometimes\n", encoding="utf-8")
    ran = run("query", "s(?x)", "--project", str(project))
    assert (ran.code, "`check` is background, always or off" in ran.err) == (2, True)


@pytest.mark.usefixtures("late")
def test_the_command_shows_rows_first_and_then_what_came_of_the_check(project: Path) -> None:
    ran = run(*asked(project))
    assert ran.out.split()[:3] == ["x", "5", "15"]
    assert "2 rows computed; the check goes on\n" in ran.err
    assert ran.out.endswith(
        "2 answers, all proved. There are no others.\n"
        "checked: all that follows was counted again from the rules, and is the same\n"
    )


@pytest.mark.usefixtures("wrong", "late")
def test_the_command_takes_back_the_rows_that_it_showed(project: Path) -> None:
    ran = run(*asked(project))
    assert ran.code == 7
    assert "105" in ran.out
    assert "DIFFERENCE: counted again from the rules, 1 row does not follow" in ran.out
    assert "none of the rows above counts; `--engine reference` answers goal by goal" in ran.out


@pytest.mark.usefixtures("wrong", "late")
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_programs_get_no_row_before_its_check(project: Path, form: str) -> None:
    ran = run(*asked(project, "--format", form))
    assert (ran.code, "105" in ran.out) == (7, False)


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows wait for no check."""
    monkeypatch.setattr(session_module, "BulkOptions", partial(BulkOptions, wait=-1.0))
    usual = Prepared.finish

    def finish(self: Prepared) -> Recount:
        sleep(0.05)
        return usual(self)

    monkeypatch.setattr(Prepared, "finish", finish)


def test_what_is_assumed_is_not_checked_as_a_whole(session: Session) -> None:
    answers = session.query("sure(?x)", engine="forward", check="always")
    assert answers.recount is not None
    assert answers.recount.state is State.NOT_CHECKED
    assert {row.verdict for row in answers} == {Computed.UNDER}


def test_a_word_that_is_no_check_is_refused(session: Session) -> None:
    with pytest.raises(ValueError, match="background, always, off"):
        session.query("p(?x)", check="sometimes")


@pytest.mark.usefixtures("wrong")
def test_counting_again_notices_a_row_that_does_not_follow(session: Session) -> None:
    answers = session.query("p(?x)", engine="forward").checked()
    assert answers.recount is not None
    assert (answers.recount.state, answers.recount.extra) == (State.DIFFERS, 1)
    assert answers.recount.examples == ((105,),)
    assert list(answers) == []
    assert (answers.settled, answers.exit_code) == (Settled.OPEN, 7)


@pytest.mark.usefixtures("wrong")
def test_the_command_tells_what_counting_again_found(project: Path) -> None:
    ran = run(*asked(project))
    assert ran.code == 7
    assert "DIFFERENCE: counted again from the rules, 1 row does not follow" in ran.out
    assert "no row is shown; `--engine reference` answers goal by goal" in ran.out
    assert "105" not in ran.out
    assert "not decided: p(105)\n" in run(*asked(project)[:1], "p(105)", *asked(project)[2:]).out
    told = run(*asked(project, "--format", "json")).json
    assert told["recount"] == {
        "state": "differs",
        "why": "1 row does not follow",
        "extra": 1,
        "missing": 0,
        "examples": [{"x": 105}],
    }
    assert (told["counts"]["proved"], told["counts"]["computed"], told["rows"]) == (0, 0, [])


def test_what_rests_on_a_closure_is_computed_under_it(session: Session) -> None:
    answers = session.query("sure(?x)", engine="forward")
    assert {row.verdict for row in answers} == {Computed.UNDER}
    checked = session.query("sure(?x)", engine="forward", check=1)
    assert [row.verdict for row in checked] == [Verdict.PROVED_UNDER, Computed.UNDER]
    assert [checked.count(one) for one in (Verdict.PROVED_UNDER, Computed.UNDER)] == [1, 1]


def test_a_sample_proves_its_rows_and_no_other(session: Session) -> None:
    answers = session.query("p(?x)", engine="forward", check=1)
    assert [row.verdict for row in answers] == [Verdict.PROVED, Computed.CERTAIN]
    assert [row["x"] for row in answers.rows.only([Verdict.PROVED])] == [5]
    assert [row["x"] for row in answers.rows.only([Computed.CERTAIN])] == [15]
    every = session.query("p(?x)", engine="forward", check=50)
    assert {row.verdict for row in every} == {Verdict.PROVED}
    assert (every.count(Verdict.PROVED), every.count(Computed.CERTAIN)) == (2, 0)


def test_a_row_of_a_conjunction_is_proved_as_a_whole(session: Session) -> None:
    answers = session.query("p(?x), ?x > 5, !v(?x)", engine="forward", check=3)
    assert [(row["x"], row.verdict) for row in answers] == [(15, Verdict.PROVED)]


@pytest.mark.usefixtures("wrong")
def test_a_row_that_does_not_prove_is_a_difference_and_no_answer(session: Session) -> None:
    computed = session.query("p(?x)", engine="forward", check="off")
    assert [row["x"] for row in computed] == [5, 15, 105]
    answers = session.query("p(?x)", engine="forward", check=3)
    assert [(row["x"], row.verdict) for row in answers] == [
        (5, Verdict.PROVED),
        (15, Verdict.PROVED),
    ]
    assert answers.check is not None
    (difference,) = answers.check.differences
    assert (difference.goal, difference.row, difference.verdict) == ("p(105)", (105,), "DISPROVED")
    assert answers.exit_code == 7


def test_a_certificate_that_the_checker_rejects_proves_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rejects(data: bytes) -> Report:
        assert check_certificate(data).accepted
        return Report(False, 1, code="digest", reason="not that of this text")

    monkeypatch.setattr(many_proofs, "check_certificate", rejects)
    answers = session.query("p(?x)", engine="forward", check=1)
    assert [row["x"] for row in answers] == [15]
    assert answers.check is not None
    assert "the checker rejects its certificate" in answers.check.differences[0].reason


def test_a_row_that_rests_on_more_than_was_said_is_a_difference(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_proofs, "_ACCEPTED", (Verdict.PROVED,))
    answers = session.query("sure(?x)", engine="forward", check=1)
    assert answers.check is not None
    assert [one.verdict for one in answers.check.differences] == ["PROVED_UNDER"]


def asked(project: Path, *more: str) -> tuple[str, ...]:
    return ("query", "p(?x)", "--engine", "forward", *more, "--project", str(project))


def test_the_command_says_what_was_checked(project: Path) -> None:
    ran = run(*asked(project, "--check", "off"))
    assert ran.out.endswith("2 answers, all computed, not checked. No others were found.\n")
    assert ran.code == 0
    ran = run(*asked(project))
    assert ran.out.endswith(
        "2 answers, all proved. There are no others.\n"
        "checked: all that follows was counted again from the rules, and is the same\n"
    )
    assert ran.code == 0
    assert run(*asked(project, "--check", "sometimes")).code == 2
    ran = run(*asked(project, "--check", "1"))
    assert "2 answers: 1 proved, 1 computed, not checked. No others were found.\n" in ran.out
    assert ran.out.endswith("a certificate of its own; that says nothing of the other 1\n")
    assert ran.code == 0


@pytest.mark.usefixtures("wrong")
@pytest.mark.parametrize("form", ["table", "csv", "jsonl"])
def test_the_command_tells_a_difference_loudly(project: Path, form: str) -> None:
    ran = run(*asked(project, "--check", "5", "--format", form))
    assert ran.code == 7
    assert "DIFFERENCE: p(105) was COMPUTED, not checked, and proving it says DISPROVED" in (
        ran.out + ran.err
    )
    assert "105" not in ran.out.replace("DIFFERENCE: p(105)", "")


@pytest.mark.usefixtures("wrong")
def test_json_has_the_differences(project: Path) -> None:
    told = run(*asked(project, "--check", "5", "--format", "json")).json
    assert (told["exit_code"], told["counts"]["proved"], told["counts"]["computed"]) == (7, 2, 0)
    assert told["check"]["proved"] == 2
    assert told["check"]["differences"] == [
        {
            "values": {"x": 105},
            "goal": "p(105)",
            "said": "COMPUTED, not checked",
            "verdict": "DISPROVED",
            "reason": "proving it says DISPROVED",
        }
    ]


@pytest.mark.parametrize(
    ("verdict", "rows"), [("proved", ["15"]), ("computed", ["5"]), ("unresolved", [])]
)
def test_rows_are_chosen_by_what_they_are_called(
    project: Path, verdict: str, rows: list[str]
) -> None:
    common = ("--format", "csv", "--order", "x:desc", "--check", "1", "--verdict", verdict)
    ran = run(*asked(project, *common))
    assert [line.split(",")[0] for line in ran.out.splitlines()[1:]] == rows


def test_the_rows_that_are_written_are_those_that_are_checked(project: Path) -> None:
    ran = run(*asked(project, "--limit", "1", "--order", "x:desc", "--check", "1"))
    assert ran.out.splitlines()[1].split() == ["15", "PROVED"]


def test_a_goal_without_variables_is_not_called_decided(project: Path) -> None:
    def said(goal: str, *more: str) -> str:
        common = ("--engine", "forward", *more, "--project", str(project))
        return run("query", goal, *common).out.splitlines()[0]

    assert said("p(5)", "--check", "off") == "COMPUTED, not checked: p(5)"
    assert said("p(6)", "--check", "off") == "COMPUTED not to hold, not checked: p(6)"
    assert said("p(5)", "--check", "1") == "PROVED: p(5)"
    assert said("p(5)") == "PROVED: p(5)"
    assert said("p(6)") == "DISPROVED: p(6)"


@pytest.mark.usefixtures("wrong")
@pytest.mark.parametrize("check", ["always", "background"])
def test_what_differs_is_not_kept(project: Path, check: str) -> None:
    where = ("--project", str(project))
    ran = run("materialize", "p(?x)", "--check", check, *where)
    assert (ran.code, "counted again from the rules 1 row does not follow" in ran.err) == (7, True)
    assert run("query", "p(15)", "--materialized", *where).code == 2


@pytest.mark.usefixtures("wrong")
def test_what_is_kept_while_its_check_goes_on_is_forgotten_when_it_differs(
    project: Path, held: Event
) -> None:
    with Session(project) as session:
        kept = session.materialized.keep("p(?x)")
        assert [row.verdict for row in session.materialized.query("p(105)")] == [Computed.CERTAIN]
        held.set()
        with pytest.raises(ConstatError, match="1 row does not follow") as caught:
            session.materialized.checked(kept)
        assert caught.value.exit_code == 7
        assert session.materialized.list() == ()


def test_what_was_kept_says_whether_it_was_checked(project: Path, held: Event) -> None:
    where = ("--project", str(project))
    with Session(project) as session:
        kept = session.materialized.keep("p(?x)")
        ran = run("query", "p(15)", "--materialized", *where)
        assert ran.out.splitlines()[0] == "COMPUTED, not checked: p(15)"
        held.set()
        assert session.materialized.checked(kept).result.check == "passed"
    ran = run("query", "p(?x)", "--materialized", *where)
    told, checked, kept_at = ran.out.splitlines()[-3:]
    assert told == "2 answers, all proved. There are no others."
    assert checked.startswith("checked: all that follows was counted again")
    assert kept_at.endswith("; nothing that it rests on has changed since")
    assert "2 rows proved, " in run("materialize", "--list", *where).out
    assert run("query", "p(15)", "--materialized", *where).out.startswith("PROVED: p(15)\n")
    ran = run("query", "p(?x)", "--materialized", "--check", "1", *where)
    assert (ran.code, "C0432" in ran.err) == (2, True)


def test_what_was_kept_unchecked_is_computed(project: Path) -> None:
    where = ("--project", str(project))
    assert run("materialize", "p(?x)", "--check", "off", *where).code == 0
    ran = run("query", "p(15)", "--materialized", *where)
    assert ran.out.splitlines()[0] == "COMPUTED, not checked: p(15)"
    assert "not checked as a whole: when it was kept, nobody has counted it again" in (
        run("query", "p(?x)", "--materialized", *where).out
    )
    (told,) = run("materialize", "--list", "--format", "json", *where).json["results"]
    assert (told["checked"], told["check"]) == (False, "")


def test_another_result_is_not_judged_by_the_check_of_an_earlier_one(
    project: Path, held: Event
) -> None:
    with Session(project) as session:
        kept = session.materialized.keep("p(?x)")
        session.materialized.keep("p(?x)", check="off")
        held.set()
        # It is no error: what is kept now is told, and that nobody has checked it.
        assert session.materialized.checked(kept).result.check == ""
        assert [one.result.check for one in session.materialized.list()] == [""]


def test_an_answer_in_a_folder_is_checked_by_who_has_nothing_else(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("elsewhere") / "answer"
    ran = run(*asked(project, "--bulk", str(folder)))
    assert (ran.code, ran.out.splitlines()[-2]) == (
        0,
        "2 answers, all proved. There are no others.",
    )
    for name in ("rules.dl", "constat.yaml"):
        (project / name).unlink()
    ran = run("verify", "--bulk", str(folder))
    assert ran.code == 0
    assert ran.out.startswith("PROVED: 2 rows of p(?x), and there is no other\nanswer: sha256:")
    assert "note: the time is what the writer says; a signature over the index holds it" in ran.out
    told = run("verify", "--bulk", str(folder), "--format", "json").json
    assert (told["state"], told["rows"], told["inputs"], told["exit_code"]) == ("passed", 2, [], 0)
    assert run("verify", "--bulk", str(folder), "--pin", told["rules"]).code == 0
    ran = run("verify", "--bulk", str(folder), "--pin", "sha256:" + "0" * 64)
    assert (ran.code, ran.out) == (1, "REJECTED: its rules are not those that are trusted\n")


def test_a_folder_that_is_not_there_and_a_short_hash_are_bad_usage(
    project: Path, tmp_path: Path
) -> None:
    ran = run("verify", "--bulk", str(tmp_path / "nowhere"))
    assert (ran.code, ran.out) == (2, "")
    assert "there is no folder" in ran.err
    assert "nowhere" in ran.err
    ran = run("verify", "--bulk", str(project / "rules.dl"))
    assert (ran.code, "is a file" in ran.err) == (2, True)
    for option in ("--pin", "--trust"):
        ran = run("verify", str(project / "rules.dl"), option, "sha256:abc")
        assert (ran.code, "64 digits" in ran.err) == (2, True)


@pytest.mark.usefixtures("wrong")
def test_an_answer_in_a_folder_that_does_not_follow_is_rejected(
    project: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "answer"
    assert run(*asked(project, "--check", "off", "--bulk", str(folder))).code == 0
    ran = run("verify", str(folder), "--bulk")
    assert ran.code == 1
    assert ran.out.startswith("REJECTED: 1 row does not follow in the answer of p(?x)\n")


def test_what_cannot_be_checked_elsewhere_is_not_written(project: Path, tmp_path: Path) -> None:
    where = ("--project", str(project))
    ran = run("query", "sure(?x)", "--bulk", str(tmp_path / "answer"), *where)
    assert (ran.code, "C0617" in ran.err, "rests on an assumption" in ran.err) == (2, True, True)
    ran = run("query", "p(?x)", "--bulk", str(project), *where)
    assert (ran.code, "there is something of that name" in ran.err) == (2, True)
    ran = run("query", "p(?x)", "--bulk", str(tmp_path / "answer"), "--check", "2", *where)
    assert (ran.code, "C0432" in ran.err) == (2, True)
    assert not (tmp_path / "answer").exists()
    ran = run("verify", "--bulk", str(tmp_path), "--source")
    assert (ran.code, "of a folder there are `--pin`, `--format`" in ran.err) == (2, True)


def test_a_folder_is_signed_as_a_whole(project: Path, tmp_path: Path) -> None:
    folder, key = tmp_path / "answer", tmp_path / "ada.pem"
    public = f"approver={tmp_path / 'ada.pub.pem'}"
    assert run(*asked(project, "--bulk", str(folder))).code == 0
    assert run("keygen", "--role", "approver", "--name", "Ada", "-o", key).code == 0
    ran = run("verify", folder, "--key", public)
    assert (ran.code, ran.out.startswith("REJECTED at signatures: ")) == (1, True)
    assert run("sign", folder, "--key", key, "--meaning", "approved").code == 0
    assert "its signatures were not checked" in run("verify", folder).err
    ran = run("verify", folder, "--key", public)
    assert (ran.code, ran.out.startswith("PROVED: 2 rows"), "1 valid of 1" in ran.out) == (
        *(0, True),
        True,
    )
    about = folder / "answer.json"
    about.write_text(about.read_text().replace('"created": "', '"created": "x'))
    assert run("verify", folder).code == 0
    ran = run("verify", folder, "--key", public, "--format", "json")
    assert (ran.code, ran.json["state"], ran.json["why"]) == (
        *(1, "rejected"),
        "the signature is of other bytes",
    )
    (folder / "answer.parquet").unlink()
    ran = run("sign", folder, "--key", key, "--meaning", "approved")
    assert (ran.code, "the folder is not accepted" in ran.err) == (2, True)


def test_the_prompt_says_later_what_came_of_a_check(
    project: Path,
    held: Event,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Session(project) as session, Notebook(session) as notebook:
        monkeypatch.setattr(session, "query", partial(session.query, engine="forward"))
        context = ReplContext(notebook, "ada", interactive=True)
        answer(context, "p(?x)")
        shown = capsys.readouterr().out
        assert "2 answers, all computed, not checked." in shown
        assert "the check goes on" in shown
        tell_checks(context)
        assert (capsys.readouterr().out, len(context.going)) == ("", 1)
        held.set()
        tell_checks(context, 60.0)
        told = capsys.readouterr().out
        assert told.startswith("p(?x): 2 rows were shown\n  2 answers, all proved.")
        assert context.going == []


@pytest.mark.usefixtures("wrong", "late")
def test_a_prompt_that_nobody_sees_waits_for_the_check(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Session(project) as session, Notebook(session) as notebook:
        monkeypatch.setattr(session, "query", partial(session.query, engine="forward"))
        answer(ReplContext(notebook, "ada"), "p(?x)")
        shown = capsys.readouterr().out
        assert "105" not in shown
        assert "DIFFERENCE: counted again from the rules, 1 row does not follow" in shown


@pytest.mark.faults
def test_ctrl_c_leaves_rows_that_are_computed(project: Path) -> None:
    driver = """
import sys, time
from functools import partial
from constat.__main__ import main
from constat.recount import Prepared
from constat.session import session
from constat.session.options import BulkOptions
session.BulkOptions = partial(BulkOptions, wait=0.0)
usual = Prepared.finish
def finish(self):
    while not self._stopped:
        time.sleep(0.01)
    return usual(self)
Prepared.finish = finish
sys.exit(main())
"""
    command = [sys.executable, "-c", driver, *asked(project)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "2 rows computed; the check goes on\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out.split()) == (130, ["x", "5", "15"])
    assert "the rows above are computed, not checked" in err
