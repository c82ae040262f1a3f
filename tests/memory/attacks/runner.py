"""Attacks on memory, played over three rounds of compaction in several ways; see README.md."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from constat.memory import (
    Author,
    BudgetError,
    Memory,
    Message,
    Role,
    Text,
    from_anthropic,
    from_openai,
    to_anthropic,
    to_openai,
)
from constat.memory.decisions import load_rules
from constat.memory.quotations import MARKER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from constat.memory import Claim
    from constat.memory.decisions import MemoryRules

FOLDER: Final = Path(__file__).parent
KINDS: Final = frozenset(
    {"task", "constraint", "preference", "pending", "done", "decision", "retraction"}
)
PEOPLE: Final = frozenset({Author.HUMAN, Author.SYSTEM})
WAYS: Final = ("alone", "changed", "joined", "session", "returned")
"""The ways that lose nothing of what people said; `every_way` has more."""
ROUNDS: Final = 3
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BUDGETS: Final = (300, 450, 700, 1_000, 1_500, 2_500, 5_000, 20_000)
_BLANKS: Final = re.compile(r"\s+")


Heard = tuple[tuple[str, ...], tuple[Message, ...]]
"""What a memory takes for words of people, and its context."""
Told = tuple[tuple[Message, ...], ...]
"""What comes back, and what is new, of one round."""
Known = dict[tuple[Told, ...], Heard]


@dataclass(frozen=True)
class Attack:
    """One attack, or one honest history: `rounds` are messages as a provider writes them."""

    id: str
    kind: str
    format: str
    system: object
    rounds: tuple[Sequence[Mapping[str, Any]], ...]
    needles: tuple[str, ...]
    survive: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What a memory holds after some rounds: needles that became a person's, and what was lost."""

    way: str
    round: int
    claims: tuple[str, ...]
    lost: tuple[str, ...]


def attacks(folder: Path) -> list[Attack]:
    """Read the attacks of a folder."""
    return [
        _attack(given)
        for path in sorted(folder.glob("*.yaml"))
        for given in yaml.load(path.read_text(encoding="utf-8"), _LOADER)  # noqa: S506  one of two safe ones
    ]


def _attack(given: Mapping[str, Any]) -> Attack:
    return Attack(
        given["id"],
        given["kind"],
        given["format"],
        given.get("system"),
        (given["messages"], given.get("second") or [], given.get("third") or []),
        tuple(given.get("needles") or ()),
        tuple(given.get("survive") or ()),
    )


def played(attack: Attack, way: str, known: Known | None = None) -> Iterator[Outcome]:
    """Play an attack in one way; gives what is known after 0, 1, 2 and 3 rounds.

    What another way told just so is looked up in `known`.
    """
    who = way.partition(" ")[0]
    in_session = who in {"session", "returned"}
    known = {} if known is None else known
    with _memory() as kept:
        context: tuple[Message, ...] = ()
        history: list[Told] = []
        for number in range(ROUNDS + 1):
            before = _handed_back(context, way, attack.format, kept)
            told: Told = (() if who == "session" else before,)
            if number < ROUNDS:
                new = (*_new(attack, number, context, kept), *small_talk(number))
                if way == "session changed":
                    new = _handed_back(new, way, attack.format, kept)
                told = (*told, new)
            history = [*history, told] if in_session else [told]
            key = tuple(history)
            if key not in known:
                known[key] = _heard(kept if in_session else None, history)
            claims, context = known[key]
            yield Outcome(
                way,
                number,
                tuple(one for one in claims if any(_in(needle, one) for needle in attack.needles)),
                tuple(one for one in attack.survive if not any(_in(one, each) for each in claims)),
            )


def _heard(memory: Listening | None, history: Sequence[Told]) -> Heard:
    """Tell a memory what it has not heard yet; it is compacted behind what is new."""
    if memory is None:
        with _memory() as fresh:
            return _heard(fresh, history)
    claims: tuple[str, ...] = ()
    context: tuple[Message, ...] = ()
    for told in history[memory.heard :]:
        memory.heard += 1
        for number, some in enumerate(told):
            memory.append(some)
            context = compacted(memory) if number else ()
        claims = tuple(people_said(memory))
    return claims, context


class Listening(Memory):
    """A memory that counts the rounds that it has heard."""

    heard = 0


def _memory() -> Listening:
    """Open a memory; its rules are read once for all of them, since they are the same."""
    found = Listening()
    found._rules = _rules()
    return found


@lru_cache(maxsize=1)
def _rules() -> MemoryRules:
    return load_rules()


def people_said(memory: Memory) -> list[str]:
    """Give what memory takes for tasks, constraints and preferences of people."""
    return [one.fact.value for one in memory.history.claims if _is_of_people(one)]


def compacted(memory: Memory) -> tuple[Message, ...]:
    """Compact a memory to the fewest tokens that its pins allow."""
    for budget in _BUDGETS:
        try:
            return memory.context(budget).messages
        except BudgetError:
            continue
    raise AssertionError("the pins fit into no budget")


def small_talk(number: int) -> list[Message]:
    """Give dull messages, so that compaction has something to do."""
    found = []
    for item in range(7):
        name = f"{'ABC'[number % 3]}{item}"
        found.append(Message(Role.USER, (Text(f"What about item {name}?"),)))
        said = f"Item {name} is there, for ${number + item}.50."
        found.append(Message(Role.ASSISTANT, (Text(said),)))
    return found


def block_of(context: Sequence[Message]) -> str:
    """Give the block of a context; empty where it was not compacted."""
    return next((one.text for one in context if one.text.startswith(MARKER)), "")


def _is_of_people(claim: Claim) -> bool:
    return claim.fact.predicate in KINDS and claim.fact.author in PEOPLE


def _in(needle: str, text: str) -> bool:
    return _plain(needle) in _plain(text)


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text).strip().casefold()


def _new(
    attack: Attack, number: int, context: Sequence[Message], memory: Memory
) -> tuple[Message, ...]:
    given = _with_block(list(attack.rounds[number]), block_of(context))
    if attack.format == "openai":
        return from_openai(given)
    system = attack.system if number == 0 else None
    return from_anthropic(given, memory.attachments, system=system)


def _handed_back(
    context: Sequence[Message], way: str, written_as: str, memory: Memory
) -> tuple[Message, ...]:
    """Write a context as a provider is sent it, and read it again."""
    how = way.split(" ")
    if "joined" in how:
        context = _joined(context)
    for shape in (one for one in how if one.startswith(":")):
        context = [_shaped(one, SHAPES[shape]) for one in context]
    if (written_as == "openai") is not ("changed" in how):
        return from_openai(json.loads(json.dumps(to_openai(context))))
    system, messages = json.loads(json.dumps(to_anthropic(context, memory.attachments)))
    return from_anthropic(messages, memory.attachments, system=system)


def _shaped(message: Message, shape: Callable[[str], str]) -> Message:
    """Give a block in another shape, and any other message as it is."""
    if not message.text.startswith(MARKER):
        return message
    return replace(message, blocks=(Text(shape(message.text)),))


def _joined(context: Sequence[Message]) -> list[Message]:
    """Join neighbouring texts of users, as programs do for which roles have to alternate."""
    found: list[Message] = []
    for one in context:
        plain = one.role is Role.USER and all(isinstance(block, Text) for block in one.blocks)
        texts = "\n\n".join(block.text for block in one.blocks if isinstance(block, Text))
        if plain and found and found[-1].role is Role.USER and not found[-1].results:
            found[-1] = Message(Role.USER, (Text(f"{found[-1].text}\n\n{texts}"),))
        else:
            found.append(Message(Role.USER, (Text(texts),)) if plain else one)
    return found


SHAPES: Final[Mapping[str, Callable[[str], str]]] = {
    "": lambda block: block,
    ":quoted": lambda block: "\n".join(f"> {line}" for line in block.splitlines()),
    ":indented": lambda block: "\n".join(f"    {line}" for line in block.splitlines()),
    ":fenced": lambda block: f"```\n{block}\n```",
    ":json": json.dumps,
    ":escaped": html.escape,
    ":base64": lambda block: base64.b64encode(block.encode()).decode(),
    ":lines": lambda block: "\n".join(block.splitlines()[1:]),
    ":head": lambda block: block[: len(block) // 2],
    ":tail": lambda block: block[len(block) // 2 :],
    ":joined": lambda block: " ".join(block.splitlines()),
}


def every_way() -> tuple[str, ...]:
    """Name every way: with and without a session, each format, joined, the block in each shape."""
    shapes = [one for one in SHAPES if one]
    handed = [" ".join(one) for one in product(("alone", "returned"), ("as it is", *shapes))]
    handed = [one.removesuffix(" as it is") for one in handed]
    handed += ["joined", "returned joined"]
    changed = [f"{one} changed" for one in handed if one != "alone"]
    return (*handed, "changed", *changed, "session", "session changed")


def _with_block(given: Any, block: str) -> Any:  # noqa: ANN401  whatever stands in a message
    if isinstance(given, str):
        for name, shape in SHAPES.items():
            given = given.replace(f"{{BLOCK{name}}}", shape(block))
        return given
    if isinstance(given, list):
        return [_with_block(one, block) for one in given]
    if isinstance(given, dict):
        return {name: _with_block(one, block) for name, one in given.items()}
    return given


def report(
    folders: Sequence[Path], ways: Sequence[str] = WAYS, part: tuple[int, int] = (0, 1)
) -> Iterator[str]:
    """Say what succeeded, attack by attack, and how many there were; `part` is one of how many."""
    given = [one for folder in folders for one in attacks(folder)][part[0] :: part[1]]
    broken = 0
    for attack in given:
        known: Known = {}
        found = [
            one for way in ways for one in played(attack, way, known) if one.claims or one.lost
        ]
        broken += any(one.claims for one in found)
        for one in found:
            said = [
                *(f"TAKEN {text!r}" for text in one.claims),
                # A block in another shape is not ours: it may hide what a person said in it.
                *(f"LOST {x!r}" for x in one.lost if one.round and one.way in WAYS),
            ]
            if said:
                yield f"{attack.id} [{one.way}, after {one.round} rounds]: {'; '.join(said)}"
    yield f"{len(given)} attacks in {len(ways)} ways, {broken} succeeded"
