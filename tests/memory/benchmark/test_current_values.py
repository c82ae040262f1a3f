"""Of values that change the last one counts, and nothing else is retired by it."""

from __future__ import annotations

import json
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from constat.memory import Call, Memory, Message, Result, Role, Text
from constat.memory.decisions import MemoryRules, decide, load_rules, rows_of

ORDERS = st.sampled_from(["O-1", "O-2"])
ANSWERS = st.fixed_dictionaries(
    {"state": st.sampled_from(["open", "paid", "sent"]), "total": st.integers(1, 4)},
    optional={"note": st.sampled_from(["x", "y"])},
)


@cache
def rules() -> MemoryRules:
    return load_rules()


def asked(number: int, order: str, answer: dict[str, object]) -> list[Message]:
    call = Call(f"c{number}", "get_order", json.dumps({"id": order}))
    told = Result(f"c{number}", (Text(json.dumps(answer)),))
    return [Message(Role.ASSISTANT, (call,), plain=False), Message(Role.TOOL, (told,))]


@settings(max_examples=12)
@given(st.lists(st.tuples(ORDERS, ANSWERS), min_size=1, max_size=6))
def test_of_what_a_tool_answers_the_last_counts(
    rounds: list[tuple[str, dict[str, object]]],
) -> None:
    last = {(order, key): str(value) for order, answer in rounds for key, value in answer.items()}
    with Memory() as memory:
        memory.append([Message(Role.USER, (Text("Look after my orders."),))])
        for number, (order, answer) in enumerate(rounds):
            memory.append(asked(number, order, answer))
        decided = decide(rules(), rows_of(memory.known()))
        leaves = [one for one in memory.history.claims if one.fact.predicate == "leaf"]
    current = [one.fact for one in leaves if one.name in decided.current]
    told = {(json.loads(one.subject[10:-1])["id"], one.key): one.value for one in current}
    assert told == last
    assert len(current) == len(last)
