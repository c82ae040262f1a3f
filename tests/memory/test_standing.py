"""What is kept up to date text by text is what the rules say of all of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from constat.logic import Constant, Kind
from constat.memory import Author, Fact, Memory, from_openai
from constat.memory.decisions import (
    COMMON_FROM,
    FAR,
    MAX_HOPS,
    decide,
    load_rules,
    rows_of,
)
from constat.memory.history import SILENT
from constat.memory.standing import Seen, Standing
from constat.memory.view import Filling, Ranked, filled
from tests.memory.logs import public_logs
from tests.memory.rounds import answered, assistant, called, session, user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.memory import Message

GOAL = "settle O-105"


def kept_up(memory: Memory, standing: Standing, goal: str) -> Seen:
    standing.update()
    return standing.seen(goal, [name for name, _ in memory.known(goal).held])


def check(memory: Memory, standing: Standing, goal: str = GOAL) -> None:
    """Compare all that the rules say with what was kept up to date."""
    known = memory.known(goal)
    decided = decide(load_rules(), rows_of(known), bulk=True)
    seen = kept_up(memory, standing, goal)
    claims = [one for one in memory.history.claims if one.fact.predicate not in SILENT]
    assert [(one.name, seen.level_of(one)) for one in claims] == [
        (one.name, decided.level(one.name)) for one in claims
    ]
    hops = {one.text.name: seen.hops_of(one) for one in claims}
    assert hops == {name: decided.hops.get(name, FAR) for name in hops}
    assert tuple(seen.contradictions) == decided.contradictions
    shown = [one for one in claims if decided.level(one.name)]
    beside = {one.name: tuple(cell.name for cell in seen.beside(one)) for one in shown}
    assert beside == {name: decided.beside.get(name, ()) for name in beside}
    errors = [one for one in shown if one.fact.predicate == "error"]
    assert [seen.put_right(one) for one in errors] == [
        decided.put_right(one.name, one.text.passage.tool) for one in errors
    ]
    ranked = Ranked(memory.history.claims, decided)
    for level, offered in seen.groups(lambda _: True, ()):
        for one in (claim for each in offered for claim in each):
            assert set(seen.news(one, level)) == set(ranked.news(one, level))
    for filling in (Filling(loose=True), Filling(loose=True, terse=True, counts=False)):
        for tokens in (200, 700, 3_000):
            assert filled(seen, tokens, filling) == filled(ranked, tokens, filling)


def hard(seed: int) -> list[Message]:
    """Values that come back, in other letters, in words, in arguments, by other speakers."""
    rng = random.Random(seed)
    towns = ["Oslo", "oslo", "New York", "Rome", "1", "true", "O-105", "ann@corp.com"]
    found: list[Message] = [user("Book what is cheapest. Never pay more than 500.")]
    for number in range(30):
        town, other = rng.choice(towns), rng.choice(towns)
        found.append(called(rng.choice(["find", "book"]), number, town=town, room_id=f"R{number}"))
        content: object = {
            "id": f"R{rng.randrange(20)}",
            "town": other,
            "free": rng.random() < 0.5,
            "price": rng.randrange(1, 9) * 100,
            "next": [f"R{rng.randrange(40)}" for _ in range(3)],
            "owner": {"name": rng.choice(["Ann Lee", "Bob Ray"]), "id": f"A{rng.randrange(4)}-7"},
        }
        if rng.random() < 0.2:
            content = f"Error: no room in {town}"
        found.append(answered(number, content, failed=isinstance(content, str)))
        if rng.random() < 0.5:
            found.append(assistant(f"There is {other}. I chose {town}.\n- [ ] pay R{number}"))
        if rng.random() < 0.5:
            found.append(user(f"Then {rng.choice(towns)}, please. I prefer room R{number}."))
    return found


def pieces(messages: Sequence[Message], rng: random.Random) -> list[Sequence[Message]]:
    found, at = [], 0
    while at < len(messages):
        size = rng.choice([1, 1, 2, 5, 13])
        found.append(messages[at : at + size])
        at += size
    return found


@pytest.mark.laws
@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_the_rules_say_however_it_came(seed: int) -> None:
    rng = random.Random(seed)
    with Memory() as memory:
        standing = Standing(memory.history)
        for number, piece in enumerate(pieces(hard(seed) + session(3, seed), rng)):
            memory.append(piece)
            kept_up(memory, standing, "")
            if number % 4 == 3:
                check(memory, standing)
        check(memory, standing, "room R7 in Oslo for ann@corp.com")
        again = Standing(memory.history)
        check(memory, again)


def test_what_an_old_text_says_is_of_another_class_once_it_was_taken_up() -> None:
    talk = [assistant(f"Well, {word}.") for word in ("then", "now", "so") * 40]
    with Memory() as memory:
        standing = Standing(memory.history)
        rooms = [{"room_id": f"R-{n}", "floor_id": f"F-{n}"} for n in range(4)]
        memory.append([called("find", 0, room_id="R-9"), answered(0, rooms), *talk])
        check(memory, standing, "")
        memory.append([user("What of R-1?"), *talk])
        check(memory, standing, "")


def test_what_people_pin_and_take_back_is_seen() -> None:
    with Memory() as memory:
        memory.append(hard(5))
        name = next(one.name for one in memory.history.claims if one.fact.predicate == "leaf")
        wish = next(one for one in memory.history.claims if one.fact.predicate == "constraint")
        assert any(wish.name in one.claims for one in memory.view(2_000).lines)
        memory.pin(name, "ann")
        memory.retract(wish.name, "ann")
        check(memory, Standing(memory.history, [wish.name]))
        lines = memory.view(2_000).lines
        assert not any(wish.name in one.claims for one in lines)
        assert any(name in one.claims for one in lines if one.level == 1)


def test_facts_noted_later_lie_where_they_were_said() -> None:
    with Memory() as memory:
        standing = Standing(memory.history)
        for number, piece in enumerate(pieces(hard(8), random.Random(8))):
            memory.append(piece)
            kept_up(memory, standing, "")
            text = memory.history.texts[-1 - number % 3]
            span = text.passage.span(0, min(4, len(text.passage.text)))
            said = text.passage.text[:4]
            author = Author.EXTRACTED
            message = text.passage.message
            kind = ("user_fact", "artifact", "leaf")[number % 3]
            memory.note([Fact(kind, "x", "k", said, "text", "", span, message, author, "model")])
        check(memory, standing)


def test_the_numbers_are_those_of_the_rules() -> None:
    rules = load_rules().program.program.rules
    facts = {one.head.predicate: one.head.terms for one in rules if not one.body}
    assert facts["max_hops"][0] == Constant(MAX_HOPS, Kind.NUMBER)
    assert facts["common_from"][0] == Constant(COMMON_FROM, Kind.NUMBER)


@pytest.mark.data
def test_of_public_dialogues_too() -> None:
    import json

    folder = public_logs()
    runs = json.loads((folder / "tau-bench" / "gpt-4o-airline-even.json").read_text())
    with Memory() as memory:
        standing = Standing(memory.history)
        for number, run in enumerate(runs[:12]):
            for piece in pieces(from_openai(run["traj"]), random.Random(number)):
                memory.append(piece)
                kept_up(memory, standing, "")
            if number % 3 == 2:
                check(memory, standing, "cancel reservation 4WQ150")
