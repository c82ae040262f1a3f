"""Why a line is in sight is proved, and the independent checker accepts the proof."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.memory import Memory, decisions, from_openai
from constat.memory.decisions import decide, load_rules, rows_of, rules_folder
from constat.session import Session
from tests.examples.shop import ROOT
from tests.memory.rounds import answered, assistant, called, session, user


def test_the_rules_of_the_package_are_read_once_and_those_of_ones_own_each_time(
    tmp_path: Path,
) -> None:
    assert load_rules() is load_rules()
    own = tmp_path / "own.dl"
    own.write_text(".decl mine(a: number)\nmine(1).\n", encoding="utf-8")
    first = load_rules(tmp_path)
    assert "mine" in first.program.program.predicates
    assert "mine" not in load_rules().program.program.predicates
    own.write_text(".decl other(a: number)\nother(1).\n", encoding="utf-8")
    assert "other" in load_rules(tmp_path).program.program.predicates


def test_without_room_the_rules_are_read_where_they_are_or_one_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(decisions, "Scratch", full)
    assert decisions._read_rules(rules_folder()).digest == load_rules().digest
    with pytest.raises(ConstatError, match=r"C0805.*No space left"):
        load_rules(tmp_path)


def test_a_line_of_each_class_is_proved_and_checked() -> None:
    with Memory() as memory:
        memory.append(
            [
                *session(1),
                user("Look at order O-1. Never pay twice."),
                called("get_order", 50, id="O-1"),
                answered(50, {"id": "O-1", "state": "unpaid-7"}),
                called("get_order", 51, id="O-1"),
                answered(51, "Error: no such order O-1"),
            ]
        )
        lines = {line.level: line for line in memory.view(500, "order O-1").lines}
        goals = set()
        for line in lines.values():
            for proof in memory.why(line.claims[0], "order O-1"):
                report = check_certificate(proof.certificate)
                assert (report.accepted, proof.verdict.name) == (True, "PROVED"), proof.goal
                goals.add(proof.goal.split("(")[0])
        assert {"pinned", "of_class"} <= goals
        assert len(lines) > 2


def test_a_proof_names_the_bytes_it_rests_on() -> None:
    with Memory() as memory:
        memory.append([user("Never touch payroll."), assistant("Fine.")])
        (proof,) = memory.why("m0[0:20] constraint")
        digest = memory.history.text("m0").passage.archive
        assert f"bytes 0 to 20 of {digest}, which is m0" in proof.text
        assert "human said at m0[0:20] constraint" in proof.text
        tampered = proof.certificate.replace(b"payroll", b"pay-all")
        assert not check_certificate(tampered).accepted


def test_the_rules_are_right_and_say_everything() -> None:
    checked = Session().check_rules([rules_folder()])
    assert (checked.exit_code, checked.diagnostics, checked.incomplete) == (0, (), ())


@pytest.mark.slow
def test_every_line_of_a_session_has_a_proof_that_is_accepted() -> None:
    log = json.loads((ROOT / "examples" / "memory" / "refund.json").read_text())
    with Memory() as memory:
        memory.append(from_openai(log))
        lines = memory.view(10_000, "refund order O-7").lines
        count = 0
        for line in lines:
            proofs = memory.why(line, "refund order O-7")
            assert len(proofs) == len(line.claims)
            for proof in proofs:
                assert proof.verdict.name == "PROVED", proof.goal
                assert check_certificate(proof.certificate).accepted, proof.goal
                count += 1
    assert count > 30


@pytest.mark.parametrize("seed", [3])
def test_both_ways_to_decide_agree(seed: int) -> None:
    rules = load_rules()
    with Memory() as memory:
        memory.append([*session(3, seed), user("Settle order O-105 for C003. Never wait.")])
        claims = memory.history.claims
        memory.pin(claims[5].name, "ann")
        memory.retract(claims[-1].name, "bob")
        rows = rows_of(memory.known("settle O-105"))
        assert decide(rules, rows, bulk=True) == decide(rules, rows, bulk=False)
