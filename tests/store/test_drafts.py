"""The quarantine: what comes in is kept as it is, decisions stay, nothing harmful is shown."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.diagnostics import ConstatError
from constat.store.drafts import Decision, DraftStore, Endorsement, NewDraft, identity_of

if TYPE_CHECKING:
    from pathlib import Path

NEW = NewDraft("p(?x) :- q(?x).", "Who is p?", asked_by="eve", replaces=("P1",), tests=("q(1).",))


def code_of(problem: pytest.ExceptionInfo[ConstatError]) -> str:
    return problem.value.diagnostics[0].code


def test_reading_creates_nothing(tmp_path: Path) -> None:
    store = DraftStore(tmp_path / "state")
    assert store.list() == ()
    assert store.rejections_about(["p"]) == ()
    with pytest.raises(ConstatError, match="C0880"):
        store.get("abcd")
    assert list(tmp_path.iterdir()) == []


def test_a_draft_is_kept_once_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    store = DraftStore(tmp_path)
    kept = store.add(NEW)
    assert store.add(NEW) == kept
    assert store.list() == DraftStore(tmp_path).list() == (kept,)
    assert kept.identity == identity_of(NEW.text, NEW.purpose, NEW.replaces, NEW.tests)
    assert kept.status == "proposed"
    assert (kept.replaces, kept.tests, kept.asked_by) == (("P1",), ("q(1).",), "eve")
    for change in ({"purpose": "Who else?"}, {"replaces": ("P2",)}, {"tests": ()}):
        assert store.add(replace(NEW, **change)).identity != kept.identity


SHOWN = st.text(st.characters(exclude_categories=("C", "Z"))).filter(str.strip)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> DraftStore:
    return DraftStore(tmp_path_factory.mktemp("drafts"))


@given(text=SHOWN, purpose=SHOWN)
def test_what_is_added_is_read_back(shared: DraftStore, text: str, purpose: str) -> None:
    store = shared
    kept = store.add(NewDraft(text, purpose))
    assert (kept.text, kept.purpose) == (text, purpose)
    assert store.get(kept.identity[:12].upper()) == kept


def test_a_name_that_is_no_draft_s_finds_none(tmp_path: Path) -> None:
    store = DraftStore(tmp_path)
    kept = store.add(NEW)
    for name in ("", "%", "____", kept.identity[:3], f"{kept.identity}0", "zzzz", "' OR 1=1 --"):
        with pytest.raises(ConstatError) as problem:
            store.get(name)
        assert code_of(problem) == "C0880"


def test_a_beginning_of_several_names_none(tmp_path: Path) -> None:
    store = DraftStore(tmp_path)
    store.add(NEW)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        for number in range(2):
            text, purpose = f"p({number}).", "twins"
            twin = ("abcd" + str(number) * 60, text, purpose, *[""] * 5, "", "[]", "[]")
            names = "identity, text, purpose, goal, model, prompt, response, asked_by, at, replaces"
            connection.execute(
                f"INSERT INTO drafts ({names}, tests) VALUES (?,?,?,?,?,?,?,?,?,?,?)", twin
            )
    # They are no drafts either: their identity is not that of their text.
    with pytest.raises(ConstatError) as problem:
        store.get("abcd")
    assert code_of(problem) == "C0886"


def test_the_last_decision_counts_and_the_earlier_ones_stay(tmp_path: Path) -> None:
    store = DraftStore(tmp_path)
    kept = store.add(NEW)
    rejected = store.decide(kept.short, Decision("rejected", "bob", "too wide"))
    assert (rejected.status, rejected.decision and rejected.decision.by) == ("rejected", "bob")
    assert store.decide(kept.short, Decision("rejected", "bob", "too wide")) == rejected
    assert store.list("proposed") == ()
    approved = store.decide(kept.identity, Decision("approved", "ada", "on second thoughts"))
    assert store.list("approved") == (approved,)
    assert store.add(NEW) == approved
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("SELECT count(*) FROM decisions").fetchone() == (2,)


def test_rejections_are_told_to_who_drafts_about_the_same_predicates(tmp_path: Path) -> None:
    store = DraftStore(tmp_path)
    for number, text in enumerate(("p(?x) :- q(?x).", "r(?x) :- q(?x).", "s(1).")):
        kept = store.add(NewDraft(text, "?"))
        if number:
            store.decide(kept.identity, Decision("rejected", "bob", f"no {number}"))
    assert [one.text for one in store.rejections_about(["q"])] == ["r(?x) :- q(?x)."]
    assert [one.text for one in store.rejections_about(["s", "r"])] == ["s(1).", "r(?x) :- q(?x)."]
    assert store.rejections_about(["p"]) == ()


def test_an_approver_s_later_word_takes_the_place_of_the_earlier(tmp_path: Path) -> None:
    store = DraftStore(tmp_path)
    kept = store.add(NEW)
    store.endorse(kept.identity, Endorsement("ada", "fine", "2026-01-01", "1"))
    store.endorse(kept.identity, Endorsement("bob", "fine", "2026-01-02", "2"))
    words = store.endorse(kept.identity, Endorsement("ada", "still fine", "2026-01-03", "3"))
    assert [(one.by, one.record) for one in words] == [("bob", "2"), ("ada", "3")]
    assert store.get(kept.identity).status == "proposed"


@pytest.mark.parametrize(
    "new",
    [
        NewDraft("", "?"),
        NewDraft("p(1).", " "),
        NewDraft("p(1)." + " " * (64 << 10), "?"),
        NewDraft("p(1).\x1b[2J", "?"),
        NewDraft("p(1).\x00", "?"),
        NewDraft("p(1). // \u202e", "?"),
        NewDraft("p(1). // \u2066", "?"),
        NewDraft("p(1). // \ud800", "?"),
        NewDraft("p(1).", "a\rb"),
        NewDraft("p(1).", "?" * 5_000),
        NewDraft("p(1).", "?", model="m\n"),
        NewDraft("p(1).", "?", asked_by="e" * 300),
        NewDraft("p(1).", "?", replaces=("R\x07",)),
        NewDraft("p(1).", "?", replaces=("R",) * 101),
        NewDraft("p(1).", "?", tests=("q(1).\x9b",)),
        NewDraft("p(1).", "?", tests=("q" * (1 << 20),)),
    ],
)
def test_what_a_terminal_would_act_on_or_is_too_much_is_refused(
    tmp_path: Path, new: NewDraft
) -> None:
    with pytest.raises(ConstatError) as problem:
        DraftStore(tmp_path / "state").add(new)
    assert code_of(problem) == "C0881"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "decision",
    [
        Decision("blessed", "ada", "why"),
        Decision("approved", " ", "why"),
        Decision("approved", "ada", " "),
        Decision("approved", "a\tda", "why"),
        Decision("approved", "ada", "\x1b[31m"),
    ],
)
def test_a_decision_has_a_name_and_a_reason(tmp_path: Path, decision: Decision) -> None:
    store = DraftStore(tmp_path)
    kept = store.add(NEW)
    with pytest.raises(ConstatError) as problem:
        store.decide(kept.identity, decision)
    assert code_of(problem) == "C0883"
    assert store.list("proposed") == (kept,)


def test_a_draft_that_was_changed_in_its_file_is_not_given_out(tmp_path: Path) -> None:
    store = DraftStore(tmp_path)
    store.add(NEW)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE drafts SET text = 'p(?x) :- r(?x).'")
    with pytest.raises(ConstatError) as problem:
        store.list()
    assert code_of(problem) == "C0886"


@pytest.mark.parametrize("content", [b"no database at all, but longer than a page" * 40, None])
def test_another_file_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "drafts.sqlite"
    if content is None:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("CREATE TABLE other (x)")
    else:
        file.write_bytes(content)
    before = file.read_bytes()
    for ask in (lambda: DraftStore(tmp_path).add(NEW), DraftStore(tmp_path).list):
        with pytest.raises(ConstatError) as problem:
            ask()
        assert code_of(problem) == "C0886"
    assert file.read_bytes() == before


def test_several_may_write_at_once(tmp_path: Path) -> None:
    def write(name: str) -> None:
        for number in range(5):
            DraftStore(tmp_path).add(NewDraft(f'p("{name}", {number}).', "?"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(DraftStore(tmp_path).list()) == 15


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from constat.store.drafts import *\n"
        "store = DraftStore(Path(sys.argv[1]))\n"
        "for n in range(10_000): print(store.add(NewDraft(f'p({n}).', '?')).identity, flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    seen = [child.stdout.readline().strip() for _ in range(20)]
    os.kill(child.pid, signal.SIGKILL)
    seen += [line.strip() for line in child.stdout.readlines() if len(line) == 65]
    child.wait()
    child.stdout.close()
    assert {one.identity for one in DraftStore(tmp_path).list()} >= set(seen)
