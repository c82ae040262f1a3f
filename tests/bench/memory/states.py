"""How much of what people want is known turn by turn: `python -m tests.bench.memory.states`.

In: `CONSTAT_DATA`, for dialogues in which people noted after each turn which value each slot has.
Out: the share of these values that are the value or the very words of an extracted fact so far, and
the share that stand in such a fact or word for word in what was said, which is kept as a fact as
well. No model is asked. Slots are not told apart: which one a value fills is known where a call
names it. The extractors were made looking at the first half.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constat.memory import History, from_openai
from tests.bench.memory import logs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SENTENCES = frozenset({"said", "task"})


@dataclass
class Count:
    """Values of slots, those that facts have, and those that are only in what was said."""

    values: int = 0
    facts: int = 0
    said: int = 0

    def row(self, name: str) -> str:
        """Write it as a row of a table."""
        facts, either = self.facts / self.values, (self.facts + self.said) / self.values
        return f"| {name} | {self.values:,} | {facts:.1%} | {either:.1%} |\n"


def follow(dialogue: Mapping[str, Any], count: Count) -> None:
    """Go through a dialogue turn by turn, as it was."""
    history, said, known = History(), "", set[str]()
    messages = from_openai(logs.spoken(dialogue))
    place = 0
    for turn in dialogue["turns"]:
        # A call and its answer stand before what the other side says.
        calls = sum(frame.get("service_call") is not None for frame in turn["frames"])
        new = messages[place : place + 1 + 2 * calls]
        place += len(new)
        before = len(history.claims)
        history.extend(new)
        for claim in history.claims[before:]:
            if claim.fact.predicate not in _SENTENCES:
                known |= {claim.fact.value.lower(), claim.quote.decode().lower()}
        said += "\n" + logs.text_of(new)
        for spellings in _wanted(turn):
            count.values += 1
            if any(one.lower() in known for one in spellings):
                count.facts += 1
            elif any(logs.names(said, one.lower()) for one in spellings):
                count.said += 1


def _wanted(turn: Mapping[str, Any]) -> Iterator[list[str]]:
    if turn["speaker"] == "USER":
        for frame in turn["frames"]:
            yield from frame.get("state", {}).get("slot_values", {}).values()


def main() -> int:
    """Measure and print."""
    folder = Path(os.environ.get("CONSTAT_DATA", "")) / "memory" / "sgd"
    if "CONSTAT_DATA" not in os.environ or not folder.is_dir():
        sys.stderr.write("CONSTAT_DATA names no folder with development data\n")
        return 2
    halves = (Count(), Count())
    files = sorted(folder.glob("dev-dialogues_*.json"))
    dialogues = [one for file in files for one in json.loads(file.read_text(encoding="utf-8"))]
    for number, dialogue in enumerate(dialogues):
        follow(dialogue, halves[number % 2])
    sys.stdout.write("| dialogues | values | in facts | in facts or sentences |\n")
    sys.stdout.write("|---|---:|---:|---:|\n")
    for name, half in zip(("even", "odd"), halves, strict=True):
        sys.stdout.write(half.row(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
