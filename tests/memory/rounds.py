"""Sessions of many rounds, made up: orders that change, errors, wishes, lists of tasks."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

from constat.memory import Call, Message, Result, Role, Text

if TYPE_CHECKING:
    from constat.memory import Memory

WISHES = (
    "Never email anyone outside corp.com.",
    "You must always ask before you pay.",
    "Do not touch the table payroll.",
)


def user(text: str) -> Message:
    return Message(Role.USER, (Text(text),))


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, (Text(text),))


def called(tool: str, number: int, **arguments: object) -> Message:
    return Message(Role.ASSISTANT, (Call(f"c{number}", tool, json.dumps(arguments)),), plain=False)


def answered(number: int, content: object, *, failed: bool = False) -> Message:
    text = content if isinstance(content, str) else json.dumps(content)
    return Message(Role.TOOL, (Result(f"c{number}", (Text(text),), failed=failed),))


def one_round(number: int, rng: random.Random) -> list[Message]:
    """A question, a call, an answer that may fail and is tried again, a list of things to do."""
    order = f"O-{rng.randrange(100, 130)}"
    wish = f" {WISHES[number % len(WISHES)]}" if number % 7 == 3 else ""
    found = [user(f"Please look at order {order} for customer C{number:03d}.{wish}")]
    found.append(called("get_order", number, id=order))
    if rng.random() < 0.2:
        found.append(answered(number, "Error: the database is locked", failed=True))
        return [*found, assistant("It failed; I will try again.")]
    content = {
        "id": order,
        "state": rng.choice(["open", "paid", "sent"]),
        "lines": [{"sku": f"S{rng.randrange(50):02d}-A", "price": rng.randrange(1, 500)}],
        "note": "x" * rng.randrange(30),
    }
    found.append(answered(number, content))
    box = "x" if rng.random() < 0.5 else " "
    found.append(assistant(f"Order {order} is {content['state']}.\n- [{box}] settle {order}"))
    return found


def rounds(count: int, seed: int = 1) -> list[list[Message]]:
    rng = random.Random(seed)
    return [one_round(number, rng) for number in range(count)]


def session(count: int, seed: int = 1) -> list[Message]:
    head = Message(Role.SYSTEM, (Text("You are the clerk of a shop. You must be exact."),))
    return [head, *(one for each in rounds(count, seed) for one in each)]


def check_quotes(memory: Memory, tokens: int = 3_000) -> int:
    """Every line of a view quotes the bytes that its place names."""
    count = 0
    for line in memory.view(tokens).lines:
        for name in line.claims:
            claim = memory.history.claim(name)
            quote = memory.open(claim.place)
            assert quote == claim.quote
            # A line ends with its place; in one of several texts each value has its own.
            assert quote in memory.open(line.place) or f" @{claim.text.name} " in line.text
            shown = claim.fact.value
            if claim.fact.method in {"wish", "saying", "tasks"}:
                assert shown == quote.decode()
        assert line.text.endswith((f"@{line.place}", f"@{line.place.partition('[')[0]}"))
        count += 1
    return count
