"""Ways to make a long session short: what others do, and sketches of what memory does.

In: messages. Out: the text that a model would read. Invariants: each method sees the same messages;
none sees the gold. What memory makes of them is measured beside these, at several budgets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.memory import Author, Role, facts_of, passages_of
from constat.memory.tokens import estimate
from tests.bench.memory.logs import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from constat.memory import Fact, Message

BUDGETS: Final = (2, 5, 8, 10, 12, 15, 20, 25, 30)
# Where it is told what could be kept at best.
CEILINGS: Final = (5, 10, 20, 30)


def baselines() -> list[tuple[str, Callable[[Sequence[Message]], str]]]:
    """Return the methods that memory is compared with."""
    found: list[tuple[str, Callable[[Sequence[Message]], str]]] = [
        ("first and last 2,000 characters, last 10", _ends),
        ("last 10 messages", lambda given: text_of(given[-10:])),
        ("last 40 messages", lambda given: text_of(given[-40:])),
        ("last 200 messages", lambda given: text_of(given[-200:])),
        ("head, middle, tail: 50 each", lambda given: _sandwiches(given, 50)),
        ("head, middle, tail: 100 each", lambda given: _sandwiches(given, 100)),
        ("head, middle, tail: 200 each", lambda given: _sandwiches(given, 200)),
        ("all that people said", _human),
        ("arguments of calls", lambda given: _facts(given, _is_argument)),
        ("... and leaves used later", lambda given: _facts(given, _is_argument, used=True)),
        ("... and values that people named", lambda given: _facts(given, _is_named, used=True)),
        (
            "... or all that they said",
            lambda given: f"{_facts(given, _is_argument, used=True)}\n{_human(given)}",
        ),
    ]
    return found


def _ends(messages: Sequence[Message]) -> str:
    whole = text_of(messages[:-10])
    return f"{whole[:2000]}\n[... truncated ...]\n{whole[-2000:]}\n{text_of(messages[-10:])}"


def _sandwiches(messages: Sequence[Message], part: int) -> str:
    return "\n".join(_sandwich(text_of([one]), part) for one in messages)


def _sandwich(text: str, part: int) -> str:
    if len(text) <= 3 * part:
        return text
    middle = (len(text) - part) // 2
    return f"{text[:part]}\n...\n{text[middle : middle + part]}\n...\n{text[-part:]}"


def _human(messages: Sequence[Message]) -> str:
    return text_of(one for one in messages if one.role is Role.USER)


def _is_argument(fact: Fact) -> bool:
    return fact.predicate == "tool_arg"


def _is_named(fact: Fact) -> bool:
    return _is_argument(fact) or (fact.predicate == "entity_value" and fact.author is Author.HUMAN)


def _facts(
    messages: Sequence[Message], wanted: Callable[[Fact], bool], *, used: bool = False
) -> str:
    facts = list(facts_of(passages_of(messages)))
    chosen = [one for one in facts if wanted(one)]
    if used:
        chosen += _used(facts, messages)
    return "\n".join(dict.fromkeys(f"{one.key}={one.value}" for one in chosen)).lower()


def _used(facts: Iterable[Fact], messages: Sequence[Message]) -> list[Fact]:
    """Return what tools said and somebody said again later."""
    last: dict[str, int] = {}
    for fact in facts:
        if fact.author is not Author.TOOL:
            last[fact.value] = max(fact.message, last.get(fact.value, -1))
    said = [(at, text_of([one])) for at, one in enumerate(messages) if one.role is not Role.TOOL]
    again: dict[str, int] = {}
    for at, text in said:
        for word in set(text.split()):
            again[word.strip(".,:;!?()\"'*")] = at
    return [
        one
        for one in facts
        if one.predicate == "leaf"
        and max(last.get(one.value, -1), again.get(one.value.lower(), -1)) > one.message
    ]


def tokens(text: str) -> int:
    """Count, by the estimate that memory uses itself."""
    return estimate(text)
