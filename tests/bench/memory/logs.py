"""Public dialogues as long sessions, each with the values that have to be kept of it.

In: the folder with the development data. Out: sessions of many dialogues one after the other, with
their gold: for tau-bench the arguments that the task wants, for SGD the last value of each slot.
Invariants: a gold value stands in its session word for word, or it is not counted; dialogues are
split by their numbers into two halves, so that what was tried on one can be told on the other.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from constat.memory import Message, Role, Text, from_openai

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

DIALOGUES: Final = 50


@dataclass(frozen=True, slots=True)
class Session:
    """A long session; each gold is a set of spellings of which one has to be there."""

    name: str
    half: str
    messages: tuple[Message, ...]
    gold: tuple[frozenset[str], ...]


def tau_sessions(folder: Path) -> Iterator[Session]:
    """Yield sessions of airline dialogues, without the policy that begins each of them."""
    runs = _runs(folder)
    for half in ("even", "odd"):
        chosen = [run for run in runs if (run["task_id"] // 2) % 2 == (half == "odd")]
        for trial in sorted({run["trial"] for run in runs}):
            # Each task once: a task that is tried again would say its values twice.
            block = [run for run in chosen if run["trial"] == trial]
            yield _tau_session(f"tau {half} {trial}", half, block)


def long_sessions(folder: Path) -> Iterator[Session]:
    """Yield twice as long ones: all tasks, each once. Halves are of trials, not of tasks."""
    runs = _runs(folder)
    for trial in sorted({run["trial"] for run in runs}):
        block = [run for run in runs if run["trial"] == trial]
        yield _tau_session(f"tau long {trial}", "odd" if trial % 2 else "even", block)


def _runs(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (folder / "tau-bench" / "gpt-4o-airline-even.json").read_text()
    )
    return found


def _tau_session(name: str, half: str, block: Sequence[Mapping[str, Any]]) -> Session:
    messages = [one for run in block for one in from_openai(run["traj"]) if one.role != Role.SYSTEM]
    gold = [
        frozenset({value})
        for run in block
        for action in run["info"]["task"]["actions"]
        for value in _scalars(action["kwargs"])
    ]
    return _session(name, half, messages, gold)


def sgd_sessions(folder: Path) -> Iterator[Session]:
    """Yield sessions of bookings; calls and their results stand between what is said."""
    files = sorted((folder / "sgd").glob("dev-dialogues_*.json"))
    dialogues = [one for file in files for one in json.loads(file.read_text())]
    for half in ("even", "odd"):
        chosen = [one for at, one in enumerate(dialogues) if at % 2 == (half == "odd")]
        for number, block in enumerate(_blocks(chosen)):
            logs = [list(spoken(one)) for one in block]
            messages = [one for log in logs for one in from_openai(log)]
            gold = [values for one in block for values in _last_state(one).values()]
            yield _session(f"sgd {half} {number}", half, messages, gold)


def swe_sessions(folder: Path) -> Iterator[Session]:
    """Yield runs of a coding agent; the gold are paths, commands and numbers."""
    for number, file in enumerate(sorted((folder / "swe-agent").glob("*.traj"))):
        given = json.loads(file.read_text())
        if "trajectory" not in given:
            continue
        log = [
            {"role": one["role"], "content": one["content"]}
            for one in given["history"]
            if one["role"] != "system"
        ]
        seen = "\n".join(str(one["observation"]) for one in given["trajectory"])
        gold = [frozenset({one}) for one in sorted(set(_PATHS.findall(seen)))]
        gold += [frozenset({one["action"].strip()}) for one in given["trajectory"]]
        gold += [frozenset({one}) for one in sorted(set(_NUMBERS.findall(seen)))]
        half = "odd" if number % 2 else "even"
        yield _session(f"swe {number}", half, tuple(from_openai(log)), gold)


_PATHS: Final = re.compile(r"(?<![\w/])(?:/[\w.-]+){2,}")
_NUMBERS: Final = re.compile(r"(?<![\w.])[0-9]{2,}(?:\.[0-9]+)?(?![\w.])")


def names(text: str, value: str) -> bool:
    """Tell whether a text holds a value, not as a part of a longer word or number."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        before, behind = text[start - 1 : start], text[end : end + 1]
        inside = (value[0].isalnum() and before.isalnum()) or (
            value[-1].isalnum() and behind.isalnum()
        )
        if not inside:
            return True
        start = text.find(value, start + 1)
    return False


def text_of(messages: Iterable[Message]) -> str:
    """Return everything that a model reads of messages, in small letters."""
    parts: list[str] = []
    for message in messages:
        parts += [block.text for block in message.blocks if isinstance(block, Text)]
        parts += [f"{call.name} {call.arguments}" for call in message.calls]
        parts += [result.text for result in message.results]
    return "\n".join(parts).lower()


def _session(
    name: str, half: str, messages: Sequence[Message], gold: Iterable[frozenset[str]]
) -> Session:
    whole = text_of(messages)
    small = dict.fromkeys(frozenset(one.lower() for one in values) for values in gold)
    kept = [values for values in small if any(names(whole, one) for one in values)]
    return Session(name, half, tuple(messages), tuple(kept))


def _blocks(given: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(given) - DIALOGUES + 1, DIALOGUES):
        yield given[start : start + DIALOGUES]


def _scalars(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _scalars(one)
    elif isinstance(value, list):
        for one in value:
            yield from _scalars(one)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def spoken(dialogue: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a dialogue as messages of OpenAI; calls stand before what is said of their answers."""
    for number, turn in enumerate(dialogue["turns"]):
        if turn["speaker"] == "USER":
            yield {"role": "user", "content": turn["utterance"]}
            continue
        for frame in turn["frames"]:
            call = frame.get("service_call")
            if call is not None:
                named = f"{dialogue['dialogue_id']}-{number}-{frame['service']}"
                function = {"name": call["method"], "arguments": json.dumps(call["parameters"])}
                asked = {"id": named, "type": "function", "function": function}
                yield {"role": "assistant", "content": None, "tool_calls": [asked]}
                answer = json.dumps(frame["service_results"])
                yield {"role": "tool", "tool_call_id": named, "content": answer}
        yield {"role": "assistant", "content": turn["utterance"]}


def _last_state(dialogue: Mapping[str, Any]) -> dict[tuple[str, str], frozenset[str]]:
    found = {}
    for turn in dialogue["turns"]:
        for frame in turn["frames"]:
            for slot, values in frame.get("state", {}).get("slot_values", {}).items():
                found[frame["service"], slot] = frozenset(values)
    return found
