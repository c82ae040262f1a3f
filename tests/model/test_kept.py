"""Paid replies outlive programs, machines' moods and each other."""

from __future__ import annotations

import json
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from constat.cli.entry import cli
from constat.model.prompts import answered_of, request_of
from constat.store.model_answers import FILE_NAME, ModelAnswerError, ModelAnswers, PaidReply
from tests.model.speaking import Scripted, around, prompt, said

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

DYING = """
import os, signal, sys
from pathlib import Path
from tests.model.speaking import Scripted, around, prompt, said
around(Path(sys.argv[1]), Scripted([said(3)])).client.ask(prompt())
os.kill(os.getpid(), signal.SIGKILL)
"""


def paid(number: int, *, at: str = "2026-11-21T00:00:00.000000Z", size: int = 0) -> PaidReply:
    request = request_of(prompt(f"{number}{'x' * size}"), "big")
    return PaidReply(
        prompt=request.hash,
        task="draft",
        model="m",
        at=at,
        request=request.text,
        response=said(number).form,
        usable=True,
        read=70,
        cached=1,
        stored=2,
        written=5,
        cost=Decimal("0.1"),
        seconds=0.5,
    )


def test_a_program_that_is_killed_right_after_the_answer_loses_nothing(tmp_path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", DYING, str(tmp_path)], check=False)
    assert died.returncode == -signal.SIGKILL
    assert around(tmp_path, Scripted([])).client.ask(prompt()).calls[0].arguments == {"n": 3}


def test_many_writers_lose_nothing_and_exact_costs_add_up(tmp_path: Path) -> None:
    def write(first: int) -> None:
        store = ModelAnswers(tmp_path)
        for number in range(first, first + 5):
            store.add(paid(number))
        store.close()

    threads = [threading.Thread(target=write, args=(5 * one,)) for one in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = ModelAnswers(tmp_path)
    (spent,) = store.spent()
    assert (spent.calls, spent.read, spent.cost) == (20, 1400, Decimal("2.0"))
    for number in range(20):
        found = store.find(paid(number).prompt)
        assert found is not None
        assert answered_of(found.response).calls == said(number).calls
    store.close()


def test_a_full_disk_is_reported_and_leaves_what_was_there(tmp_path: Path) -> None:
    store = ModelAnswers(tmp_path)
    store.add(paid(1))
    assert store._connection is not None
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ModelAnswerError, match="full"):
        store.add(paid(2, size=100_000))
    assert store.find(paid(1).prompt) is not None
    assert store.find(paid(2, size=100_000).prompt) is None
    store.close()


def test_reading_makes_no_file_and_the_file_is_its_owners(tmp_path: Path) -> None:
    store = ModelAnswers(tmp_path / "state")
    assert store.find("sha256:0") is None
    assert (store.spent(), store.told("s", ["k"]), store.clear()) == ((), (), 0)
    assert not (tmp_path / "state").exists()
    store.add(paid(1))
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    # A machine that loses its power cannot be tried here: what the file is told stands for it.
    assert store._connection is not None
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


def test_another_program_s_database_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    with pytest.raises(ModelAnswerError, match="another program"):
        ModelAnswers(tmp_path).add(paid(1))
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    assert [name for (name,) in connection.execute("SELECT name FROM sqlite_master")] == ["theirs"]
    connection.close()


def test_what_was_told_about_a_key_goes_with_its_reply(tmp_path: Path) -> None:
    store = ModelAnswers(tmp_path)
    old, new = paid(1, at="2026-01-01T00:00:00.000000Z"), paid(2)
    for number, one in enumerate((old, new)):
        store.add(one)
        store.tell("scope", one.prompt, {f"k{number}": number})
    store.tell("scope", "sha256:unknown", {"k9": 0})
    found = store.told("scope", ["k0", "k1", "k9"])
    assert [(one.key, one.place, one.reply.prompt) for one in found] == [
        ("k0", 0, old.prompt),
        ("k1", 1, new.prompt),
    ]
    assert store.told("other", ["k0"]) == ()
    assert [one.key for one in store.told("scope", ["k0", "k1"], "2026-06-01")] == ["k1"]
    assert store.clear("2026-06-01") == 1
    assert [one.key for one in store.told("scope", ["k0", "k1"])] == ["k1"]
    store.close()


def test_the_command_shows_clears_and_refuses(tmp_path: Path) -> None:
    (tmp_path / "constat.yaml").write_text("project: x\n")
    store = ModelAnswers(tmp_path / ".constat")
    store.add(paid(1))
    store.close()
    digits = paid(1).prompt.removeprefix("sha256:")[:12]

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["models", *arguments, "--project", str(tmp_path)])

    def output(*arguments: str) -> str:
        return run(*arguments).output

    assert "1 call, 73 tokens read (1 of them from the provider's cache), 5 written" in output()
    assert paid(1).request in output("--show", digits)
    shown = json.loads(output("--show", f"sha256:{digits}", "--format", "json"))
    assert (shown["prompt_hash"], shown["request"]) == (paid(1).prompt, paid(1).request)
    for wrong in ("66ee", "zz" * 8, "%", digits[:-1] + ("0" if digits[-1] != "0" else "1")):
        refused = run("--show", wrong)
        assert refused.exit_code == 2, wrong
        assert "C0834" in refused.output
    assert "cleared: 0 replies" in output("--clear", "3650d")
    assert json.loads(output("--clear", "1s", "--format", "json")) == {"cleared": 1}
    # The texts are gone, what they have cost is not.
    assert "1 call, 73 tokens read" in output()
    assert "C0834" in output("--show", digits)
