"""What an agent needs next, at each of its calls: `python -m tests.bench.memory.forward`.

In: `CONSTAT_DATA`, and tokenizers where they are installed (`pip install tiktoken`, and `pip
install --no-deps litellm`, which ships the vocabulary). Out: a table in Markdown. A history is cut
before a call; what later calls ask with, and what stood before the cut, is looked for in the
context: each value (*arguments*), each two values of one record that one call needs (*rows*, on one
line), the same within what the line says of one record (*records*), and the next call as a whole
(*call*: all its values, and those of one record on one line).
*Asked before* are the values that an earlier call asked with: they look back. *Found* asks the
archive for the argument and the tool by name, or with what a person said last, never for the value.
Invariants: no model grades; no method sees the gold; every text is bounded by the same count of
tokens.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.memory import BudgetError, Memory, Role, Text, estimate, from_openai, safe_cuts
from tests.bench.memory import logs
from tests.bench.memory.counting import Tokens, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.memory import Message

RATIOS: Final = (5, 10, 20)
LENGTHS: Final = (2_000, 10_000, 60_000, 10**9)
_LEAST: Final = 3
_RECORD: Final = 16
_SIDE_BY_SIDE: Final = 8
_ROUNDS: Final = 1_000
_MEASURES: Final = ("arguments", "rows", "records", "call", "asked before")


@dataclass(frozen=True, slots=True)
class Cut:
    """A place before a call: the history up to it, and what calls behind it ask with.

    ``pairs`` are of values of one record; ``next`` are the arguments of the very next call by their
    names, and ``next_pairs`` its pairs.
    """

    source: str
    messages: tuple[Message, ...]
    values: frozenset[str]
    before: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    tool: str
    next: Mapping[str, str]
    next_pairs: frozenset[tuple[str, str]]


@dataclass(slots=True)
class Scores:
    """Sums of one method over the cuts of one source: found, and looked for, by measure."""

    sums: dict[str, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))

    def add(self, measure: str, found: float, wanted: float) -> None:
        """Add what one cut gave."""
        one = self.sums[measure]
        one[0] += found
        one[1] += wanted


def dialogues(folder: Path, half: str, kind: str) -> list[list[Message]]:
    """Return the dialogues of a half, by the numbers of their tasks."""
    if kind.startswith("sgd"):
        files = sorted((folder / "sgd").glob("dev-dialogues_*.json"))
        chosen = files[: len(files) // 2] if half == "even" else files[len(files) // 2 :]
        found = [one for file in chosen for one in json.loads(file.read_text(encoding="utf-8"))]
        random.Random(7).shuffle(found)
        return [list(from_openai(list(logs.spoken(one)))) for one in found]
    runs = json.loads((folder / "tau-bench" / "gpt-4o-airline-even.json").read_text())
    runs = [run for run in runs if (run["task_id"] // 2) % 2 == (half == "odd")]
    runs.sort(key=lambda run: (run["trial"], run["task_id"]))
    return [
        [one for one in from_openai(run["traj"]) if one.role is not Role.SYSTEM] for run in runs
    ]


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Split a dialogue where no call is open."""
    cuts = safe_cuts(messages)
    return [list(messages[one:two]) for one, two in pairwise(cuts)]


def histories(kind: str, given: Sequence[list[Message]]) -> Iterator[tuple[str, list[Any]]]:
    """Yield histories as groups of messages, each with the number of its dialogue."""
    together = 1 if kind == "single" else _SIDE_BY_SIDE
    for start in range(0, len(given) - together + 1, together):
        block = [groups(one) for one in given[start : start + together]]
        name = f"{kind} {start // together}"
        if kind.endswith("joined") or kind == "single":
            yield name, [(at, group) for at, one in enumerate(block) for group in one]
        else:
            most = max(map(len, block))
            yield (
                name,
                [
                    (at, one[turn])
                    for turn in range(most)
                    for at, one in enumerate(block)
                    if turn < len(one)
                ],
            )


def cuts(kind: str, name: str, history: Sequence[Any], every: int) -> Iterator[Cut]:
    """Yield the cuts of a history; in joined ones only those within the last dialogue."""
    last = max(at for at, _ in history)
    number = 0
    for place, (dialogue, group) in enumerate(history):
        if not group[0].calls or (kind.endswith("joined") and dialogue != last):
            continue
        number += 1
        if number % every:
            continue
        found = _cut(name, history, place)
        if found is not None:
            yield found


def _cut(name: str, history: Sequence[Any], place: int) -> Cut | None:
    before = tuple(one for _, group in history[:place] for one in group)
    later = [call for _, group in history[place:] for one in group for call in one.calls]
    text = logs.text_of(before)
    known = {value for call in later for _, value in arguments(call) if logs.names(text, value)}
    asked = {value for one in before for call in one.calls for _, value in arguments(call)}
    records = [one for message in before for one in records_of(message)]
    pairs = {call.id + str(at): _pairs(call, known, records) for at, call in enumerate(later)}
    following = history[place][1][0].calls[0]
    if not known:
        return None
    return Cut(
        name,
        before,
        frozenset(known),
        frozenset(asked),
        frozenset(pair for each in pairs.values() for pair in each),
        following.name,
        {key: value for key, value in arguments(following) if value in known},
        frozenset(_pairs(following, known, records)),
    )


def arguments(call: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  a call of a message
    """Yield the arguments of a call that tell something, in small letters, by their names."""
    try:
        given = json.loads(call.arguments)
    except ValueError:
        return
    for key, value in _leaves(given, ""):
        text = str(value).lower()
        if isinstance(value, bool) or value is None or len(text) < _LEAST:
            continue
        yield key, text


def _leaves(value: object, key: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, str(name))
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one, key)
    else:
        yield key, value


def records_of(message: Message) -> Iterator[frozenset[str]]:
    """Yield the objects of a tool's answers, those within them included, that are no long ones."""
    for result in message.results:
        try:
            yield from _records(json.loads(result.text))
        except ValueError:
            continue


def _records(value: object) -> Iterator[frozenset[str]]:
    if isinstance(value, list):
        for one in value:
            yield from _records(one)
    elif isinstance(value, dict):
        leaves = list(_flat(value))
        if 1 < len(leaves) <= _RECORD:
            yield frozenset(str(one).lower() for one in leaves if len(str(one)) >= _LEAST)
        for one in value.values():
            yield from _records(one)


def _flat(value: Mapping[str, Any]) -> Iterator[Any]:
    for one in value.values():
        if isinstance(one, dict):
            yield from _flat(one)
        elif not isinstance(one, list) and one is not None and not isinstance(one, bool):
            yield one


def _pairs(call: Any, known: set[str], records: Sequence[frozenset[str]]) -> set[tuple[str, str]]:  # noqa: ANN401
    values = sorted({value for _, value in arguments(call)} & known)
    return {
        pair for pair in combinations(values, 2) if any(set(pair) <= record for record in records)
    }


# Other methods: each gives a text of at most so many tokens.

_TELLING: Final = re.compile(r"[\w@#$€.:/+-]*[0-9_@][\w@#.:/+-]*")
_WORD: Final = re.compile(r"\w+")
_PLACE: Final = re.compile(r"\s@m[0-9.]+(?=\s|$)")
_OWN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
_PIECE: Final = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[}\]]),\s*")


def last(text: str, question: str, budget: int, count: Tokens) -> str:
    """The end of the history."""
    return count.tail(text, budget)


def head_and_tail(text: str, question: str, budget: int, count: Tokens) -> str:
    """Its beginning and its end."""
    return f"{count.head(text, budget // 2)}\n{count.tail(text, budget // 2)}"


def expression(text: str, question: str, budget: int, count: Tokens) -> str:
    """What an expression for ids and numbers finds, the newest first, each once."""
    found = dict.fromkeys(
        one.group().rstrip(".:-") for one in reversed(list(_TELLING.finditer(text)))
    )
    kept, used = [], 0
    for one in found:
        used += count.of(f" {one}")
        if used > budget:
            break
        kept.append(one)
    return " ".join(kept)


def halves(text: str, question: str, budget: int, count: Tokens) -> str:
    """Half of it what the expression finds, half the end."""
    half = budget // 2
    return f"{expression(text, question, half, count)}\n{last(text, question, half, count)}"


def by_words(text: str, question: str, budget: int, count: Tokens) -> str:
    """The sentences and pieces that are nearest to what a person said last, by TF-IDF."""
    pieces = [one for one in _PIECE.split(text) if one.strip()]
    words = [Counter(_WORD.findall(one.lower())) for one in pieces]
    common = Counter(word for one in words for word in one)
    wanted = set(_WORD.findall(question.lower()))

    def worth(at: int) -> float:
        each = {
            word: times * math.log(len(pieces) / common[word]) for word, times in words[at].items()
        }
        length = math.sqrt(sum(one * one for one in each.values())) or 1.0
        return sum(one for word, one in each.items() if word in wanted) / length

    kept, used = [], 0
    for at in sorted(range(len(pieces)), key=lambda at: (-worth(at), -at)):
        used += count.of(pieces[at]) + 1
        if used > budget:
            break
        kept.append(at)
    return "\n".join(pieces[at] for at in sorted(kept))


BASELINES: Final = MappingProxyType(
    {
        "last": last,
        "head and tail": head_and_tail,
        "TF-IDF": by_words,
        "expression": expression,
        "half expression, half last": halves,
    }
)


def written(messages: Iterable[Message]) -> str:
    """Return what a model reads of messages."""
    parts: list[str] = []
    for message in messages:
        parts += [block.text for block in message.blocks if isinstance(block, Text)]
        parts += [f"{call.name} {call.arguments}" for call in message.calls]
        parts += [result.text for result in message.results]
    return "\n".join(parts)


def score(cut: Cut, text: str, into: Scores) -> None:
    """Add what stands in a text."""
    text = text.lower()
    there = {one for one in cut.values if logs.names(text, one)}
    lines = [line for line in text.splitlines() if line]
    rows = {pair for pair in cut.pairs if _beside(pair, lines)}
    into.add("arguments", len(there), len(cut.values))
    looking_back = cut.values & cut.before
    into.add("asked before", len(there & looking_back), len(looking_back))
    into.add("rows", len(rows), len(cut.pairs))
    parts = [part for line in lines for part in parts_of(line)]
    into.add("records", sum(_beside(pair, parts) for pair in cut.pairs), len(cut.pairs))
    if cut.next:
        whole = set(cut.next.values()) <= there and cut.next_pairs <= rows
        into.add("call", whole, 1)


def parts_of(line: str) -> Iterator[str]:
    """Yield what a line of a context says of one record each; any other line is one part."""
    for text in _PLACE.split(line):
        for part in text.split("; "):
            common, each, own = part.partition("each: ")
            yield from (f"{common}{one}" for one in _OWN.findall(own)) if each else (part,)


def _beside(pair: tuple[str, str], lines: Iterable[str]) -> bool:
    return any(all(logs.names(line, one) for one in pair) for line in lines)


def question_of(messages: Sequence[Message]) -> str:
    """Return what a person said last."""
    return next((one.text for one in reversed(messages) if one.role is Role.USER), "")


Groups = dict[tuple[str, str], dict[str, dict[str, Scores]]]


def run(given: argparse.Namespace, count: Tokens, folder: Path) -> Groups:
    """Measure all cuts: for kind and length, for method, for source."""
    found: Groups = defaultdict(lambda: defaultdict(lambda: defaultdict(Scores)))
    factor = 1.0
    for kind in given.kind:
        blocks = list(histories(kind, dialogues(folder, given.half, kind)))
        for name, history in blocks[given.skip :: given.stride][: given.most]:
            with Memory(model="gpt-4o") as memory:
                memory.calibration.factor = factor
                for cut in cuts(kind, name, history, given.every):
                    memory.append(cut.messages[len(memory.history.messages) :])
                    _measure(kind, cut, memory, count, found, given)
                # A model's factor is known beyond one session.
                factor = memory.calibration.factor
    return found


def _measure(
    kind: str,
    cut: Cut,
    memory: Memory,
    count: Tokens,
    found: Groups,
    given: argparse.Namespace,
) -> None:
    whole = written(cut.messages)
    size = count.of(whole)
    length = next(one for one in LENGTHS if size < one)
    into = found[kind, f"< {length // 1000}k" if length < LENGTHS[-1] else "more"]
    question = question_of(cut.messages)
    for ratio in RATIOS:
        budget = size // ratio
        if not given.ours:
            for name, method in BASELINES.items():
                score(
                    cut,
                    method(whole, question, budget, count),
                    into[f"{name}, 1/{ratio}"][cut.source],
                )
        scores = into[f"memory, 1/{ratio}"][cut.source]
        try:
            messages = memory.context(budget).messages
        except BudgetError:
            scores.add("refused", 1, 1)
            score(cut, "", scores)
            continue
        text = written(messages)
        scores.add("refused", 0, 1)
        scores.add("size", count.of(text), budget)
        # As a provider reports what it was sent.
        memory.calibration.learn(estimate(text), count.of(text))
        score(cut, text, scores)
        if given.show:
            _show(cut, text, ratio)
    if given.search:
        _search(cut, memory, question, into["memory, one search"][cut.source])


def _show(cut: Cut, text: str, ratio: int) -> None:
    low = text.lower()
    missing = sorted(one for one in cut.values if not logs.names(low, one))
    lines = low.splitlines()
    apart = sorted(one for one in cut.pairs if not _beside(one, lines))
    sys.stdout.write(
        f"\n=== {cut.source}, 1/{ratio}: missing {missing}; apart {apart[:12]}\n{text}\n"
    )


def _search(cut: Cut, memory: Memory, question: str, into: Scores) -> None:
    for name, value in cut.next.items():
        for measure, query in (
            ("found by name", f"{name} {cut.tool}".replace("_", " ")),
            ("found by question", question),
        ):
            places = [one.place for one in memory.search(query)]
            texts = (memory.open(one).decode("utf-8", "replace").lower() for one in places)
            into.add(measure, any(logs.names(text, value) for text in texts), 1)


def share(sources: Iterable[Scores], measure: str) -> float | None:
    """Return found of looked for, over sources."""
    found, wanted = 0.0, 0.0
    for one in sources:
        if measure in one.sums:
            found += one.sums[measure][0]
            wanted += one.sums[measure][1]
    return found / wanted if wanted else None


def behind(
    ours: Mapping[str, Scores], other: Mapping[str, Scores], measure: str
) -> tuple[float, float]:
    """Return the bounds of how far ours is above another: 95 % of drawings of sources."""
    names, drawn = sorted(ours), random.Random(1)
    gaps = []
    for _ in range(_ROUNDS):
        chosen = [drawn.choice(names) for _ in names]
        one = share((ours[name] for name in chosen), measure)
        two = share((other[name] for name in chosen), measure)
        if one is not None and two is not None:
            gaps.append(one - two)
    gaps.sort()
    if not gaps:
        return 0.0, 0.0
    return gaps[len(gaps) * 25 // 1000], gaps[min(len(gaps) - 1, len(gaps) * 975 // 1000)]


def table(found: Groups) -> str:
    """Write the scores; behind those of memory what the best of the others is ahead or behind."""
    lines = [
        f"| data | length | method | {' | '.join(_MEASURES)} | refused | size |",
        f"|---|---|---|{'---:|' * (len(_MEASURES) + 2)}",
    ]
    for (kind, length), methods in sorted(found.items()):
        for method, sources in methods.items():
            if method.endswith("search"):
                continue
            cells = [
                _percent(share(sources.values(), one)) for one in (*_MEASURES, "refused", "size")
            ]
            lines.append(f"| {kind} | {length} | {method} | {' | '.join(cells)} |")
        searched = methods.get("memory, one search")
        if searched:
            one, two = (
                _percent(share(searched.values(), f"found by {how}"))
                for how in ("name", "question")
            )
            lines.append(
                f"| {kind} | {length} | one search: by name {one}, by question {two} "
                + "|" * (len(_MEASURES) + 3)
            )
    lines += [
        "",
        "| data | length | ratio | best other | it | memory | ahead by (95 %) |",
        "|---|---|---:|---|---:|---:|---|",
    ]
    lines += [
        line
        for (kind, length), methods in sorted(found.items())
        for line in _against(kind, length, methods)
    ]
    return "\n".join(lines) + "\n"


def _against(kind: str, length: str, methods: Mapping[str, Mapping[str, Scores]]) -> Iterator[str]:
    for ratio in RATIOS:
        ours = methods[f"memory, 1/{ratio}"]
        others = {
            name: share(methods[f"{name}, 1/{ratio}"].values(), "arguments") or 0.0
            for name in BASELINES
            if f"{name}, 1/{ratio}" in methods
        }
        if not others:
            continue
        best = max(others, key=lambda name: others[name])
        low, high = behind(ours, methods[f"{best}, 1/{ratio}"], "arguments")
        mine = _percent(share(ours.values(), "arguments"))
        yield (
            f"| {kind} | {length} | {ratio}x | {best} | {others[best]:.1%} | {mine} "
            f"| {100 * low:+.1f} to {100 * high:+.1f} |"
        )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


KINDS: Final = ("single", "interleaved", "joined", "sgd-interleaved", "sgd-joined")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("even", "odd"), default="even", help="odd is held out")
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=list(KINDS))
    parser.add_argument("--most", type=int, default=1_000, help="how many histories of a kind")
    parser.add_argument("--skip", type=int, default=0, help="histories to leave out first")
    parser.add_argument("--stride", type=int, default=1, help="take each so-manieth history")
    parser.add_argument("--every", type=int, default=1, help="cut at each so-manieth call")
    parser.add_argument("--ours", action="store_true", help="without the other methods")
    parser.add_argument("--search", action="store_true", help="also ask the archive")
    parser.add_argument("--show", action="store_true", help="write the contexts")
    given = parser.parse_args()
    folder = Path(os.environ.get("CONSTAT_DATA", "")) / "memory"
    if "CONSTAT_DATA" not in os.environ or not folder.is_dir():
        sys.stderr.write("CONSTAT_DATA names no folder with development data\n")
        return 2
    count = tokens()
    sys.stdout.write(f"Tokens of {count.name}, half {given.half}.\n\n")
    sys.stdout.write(table(run(given, count, folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
