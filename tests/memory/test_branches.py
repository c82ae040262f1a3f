"""Agents that work side by side see one state, and what they find comes together in any order."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.memory import Memory
from tests.memory.rounds import answered, assistant, called, session, user

if TYPE_CHECKING:
    from pathlib import Path

    from constat.memory import Message

STATE = [called("get", 1, id="O-1"), answered(1, {"state": "unpaid-7"})]


def found(number: int, state: str) -> list[Message]:
    return [
        user("Look at O-1 and settle it. Never sleep."),
        called("get", number, id="O-1"),
        answered(number, {"state": state}),
        assistant(f"It is {state}."),
    ]


def test_children_see_the_state_in_which_they_began(tmp_path: Path) -> None:
    with Memory(tmp_path, "s") as memory:
        memory.append([*session(1), *STATE])
        before = memory.snapshot("O-1")
        children = [memory.branch(name) for name in ("ali", "marco", "sara")]
        views = {child.view(900, "O-1").text for child in children}
        assert len(views) == 1
        memory.append([called("get", 2, id="O-1"), answered(2, {"state": "settled-8"})])
        assert {child.view(900, "O-1").text for child in children} == views
        assert memory.view(900, at=before).text == memory.resume("ali").view(900, "O-1").text
        assert memory.snapshot("O-1").id != before.id
        assert "settled-8" in memory.view(900, "O-1").text
        for child in children:
            child.close()


def test_what_branches_found_comes_together_in_any_order(tmp_path: Path) -> None:
    names = ("ali", "marco", "sara")
    texts = set()
    for place, order in enumerate([*permutations(names)][::2]):
        with Memory(tmp_path / str(place), "s") as memory:
            memory.append([user("Settle O-1."), *STATE])
            for number, name in enumerate(names):
                with memory.branch(name) as child:
                    child.append(found(number + 5, f"state-{number}"))
            for name in order:
                memory.merge(name)
            texts.add(memory.view(2_000, "O-1").text)
    (text,) = texts
    # Three agents read three states, none after another: nobody is right by coming last.
    assert "get -> state: state-0 @ali:m2 state-1 @marco:m2 state-2 @sara:m2" in text
    assert "unpaid-7" not in text
    assert 'constraint must_not "Never sleep."' not in text


def test_contradictions_of_branches_are_pinned_until_somebody_looks_again(tmp_path: Path) -> None:
    with Memory(tmp_path, "s") as memory:
        memory.append([user("Settle O-1."), *STATE])
        for number, name in enumerate(("ali", "marco")):
            with memory.branch(name) as child:
                child.append(found(number + 5, f"state-{number}"))
            memory.merge(name)
        pinned = [one for one in memory.view(2_000).lines if one.level == 1]
        assert any("state-0 @ali:m2 state-1 @marco:m2" in one.text for one in pinned)
        assert memory.open("marco:m2") == b'{"state": "state-1"}'
        memory.append([called("get", 9, id="O-1"), answered(9, {"state": "settled-8"})])
        text = memory.view(2_000).text
        assert "settled-8" in text
        assert "get -> state: state-0" not in text
        (proof, *_) = memory.why("marco:m2[10:19] leaf")
        assert (proof.goal.split("(")[0], proof.verdict.name) == ("superseded", "PROVED")


def test_what_a_branch_does_not_bring_back_stays_its_own(tmp_path: Path) -> None:
    with Memory(tmp_path, "s") as memory:
        memory.append([user("Settle O-1."), *STATE])
        with memory.branch("ali") as child:
            child.append(found(5, "state-5"))
            assert "state-5" in child.view(2_000).text
        assert "state-5" not in memory.view(2_000).text
        with Memory(tmp_path, "s") as again, again.resume("ali") as child:
            assert "state-5" in child.view(2_000).text


def test_the_context_of_a_branch_begins_with_what_was_known(tmp_path: Path) -> None:
    with Memory(tmp_path, "s") as memory:
        memory.append([user("Settle O-1. Never touch payroll."), *STATE])
        with memory.branch("ali") as child:
            first = child.context()
            child.append([user("Look at O-1.")])
            second = child.context()
            assert second.messages == (*first.messages, user("Look at O-1."))
            assert (first.checkpoint, second.checkpoint) == (1, 1)
            for context in (first, child.context(300)):
                assert any("Never touch payroll." in one.text for one in context.messages)
                assert "unpaid-7" in context.messages[0].text


def test_a_branch_has_a_name_of_its_own(tmp_path: Path) -> None:
    with Memory(tmp_path, "s") as memory:
        memory.append([user("Hello")])
        with memory.branch("ali") as child:
            for name in ("ali", "", "main", "a/b", "a\nb", "x" * 61):
                with pytest.raises(ConstatError, match="C0806"):
                    memory.branch(name)
            with pytest.raises(ConstatError, match="C0806"):
                child.branch("deeper")
        for name in ("nobody", ""):
            with pytest.raises(ConstatError, match="C0806"):
                memory.merge(name)
