"""A review as people and programs read it: what rules would change, before and after."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Protocol

from constat.diagnostics import ConstatError
from constat.frozen import frozen
from constat.logic import Aggregate
from constat.session.answers import Settled
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.library.reviewing.placement import Tried
    from constat.logic import Predicate, Row, Rule
    from constat.session.answers import AnswerRow, Answers

SECONDS: Final = 30.0
MOST_ROWS: Final = 2_000_000
_MOST_PREDICATES: Final = 40
_MOST_SHOWN: Final = 5
ABSENT: Final = "absent"


class Answering(Protocol):
    """A session, as far as effects need one."""

    @property
    def program(self) -> AnalysedProgram:
        """The rules that count."""
        ...

    def query(self, query: str) -> Answers:
        """Find all answers."""
        ...


@frozen
class Transition:
    """So many rows had one verdict and have another; `ABSENT` is that of rows not listed."""

    before: str
    after: str
    count: int
    shown: tuple[str, ...]


@frozen
class Effect:
    """What becomes of one predicate: rows before and after, whether the sets are known.

    `reason` says why the rows were not compared, or not all; empty where they were.
    """

    predicate: str
    rows_before: int
    rows_after: int
    settled_before: str
    settled_after: str
    transitions: tuple[Transition, ...]
    reason: str = ""

    @property
    def changes(self) -> int:
        """The number of rows that differ."""
        return sum(one.count for one in self.transitions)

    @property
    def is_none(self) -> bool:
        """Whether it is known that nothing has changed."""
        known = self.settled_before == self.settled_after != Settled.OPEN.value
        return known and not self.transitions and not self.reason


def effects(
    before: Answering, after: Answering, heads: Iterable[str], *, seconds: float = SECONDS
) -> tuple[Effect, ...]:
    """Compare the predicates that rules for `heads` bear on, the nearest first.

    What rests only on predicates that stay as they are stays as it is, and is not looked at.
    """
    until = time.monotonic() + seconds
    predicates = after.program.program.predicates
    using = _dependents(after.program)
    waiting = dict.fromkeys(name for name in heads if name in predicates)
    found: dict[str, Effect] = {}
    while waiting:
        name = next(iter(waiting))
        del waiting[name]
        if len(found) >= _MOST_PREDICATES or time.monotonic() > until:
            reason = "not compared: there is no time left for it"
            found[name] = Effect(name, 0, 0, "", "", (), reason)
        else:
            found[name] = _effect(predicates[name], before, after, until)
        if not found[name].is_none:
            waiting |= dict.fromkeys(one for one in using.get(name, ()) if one not in found)
    return tuple(found.values())


def _dependents(program: AnalysedProgram) -> dict[str, dict[str, None]]:
    """Name for each predicate those whose rules speak about it."""
    using: dict[str, dict[str, None]] = {}
    for rule in program.rules:
        for name in _mentioned(rule):
            using.setdefault(name, {})[rule.head.predicate] = None
    return using


def _mentioned(rule: Rule) -> Iterator[str]:
    for literal in rule.body:
        inner = literal.body if isinstance(literal, Aggregate) else (literal,)
        for one in inner:
            atom = getattr(one, "atom", None)
            if atom is not None:
                yield atom.predicate


def _effect(predicate: Predicate, before: Answering, after: Answering, until: float) -> Effect:
    known = predicate.name in before.program.program.predicates
    try:
        later = after.query(_goal(predicate)).checked()
        earlier = before.query(_goal(predicate)).checked() if known else None
    except ConstatError as problem:
        reason = f"not compared: {problem.diagnostics[0].message}"
        return Effect(predicate.name, 0, 0, "", "", (), reason)
    stopped = later.stopped or (earlier.stopped if earlier is not None else "")
    transitions, complete = ((), True) if stopped else _compare(predicate, earlier, later, until)
    reason = f"not compared: {stopped}" if stopped else ""
    if not complete:
        reason = "only the first rows were compared"
    return Effect(
        predicate.name,
        0 if earlier is None else len(earlier),
        len(later),
        "" if earlier is None else earlier.settled.value,
        later.settled.value,
        transitions,
        reason,
    )


def _goal(predicate: Predicate) -> str:
    return f"{predicate.name}({', '.join(f'?c{place}' for place in range(predicate.arity))})"


def _compare(
    predicate: Predicate, earlier: Answers | None, later: Answers, until: float
) -> tuple[tuple[Transition, ...], bool]:
    """Walk through both sides in the order of their values."""
    counts: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], list[str]] = {}
    complete = True
    for number, (row, *verdicts) in enumerate(_merged(earlier, later)):
        if number >= MOST_ROWS or (number % 10_000 == 0 and time.monotonic() > until):
            complete = False
            break
        pair = (verdicts[0], verdicts[1])
        if _decided(pair[0]) != _decided(pair[1]):
            counts[pair] += 1
            examples = shown.setdefault(pair, [])
            if len(examples) < _MOST_SHOWN:
                examples.append(print_row(predicate, row))
    found = tuple(
        Transition(pair[0], pair[1], count, tuple(shown[pair]))
        for pair, count in sorted(counts.items())
    )
    return found, complete


def _decided(label: str) -> str:
    """Leave out whether a row was proved or computed: which engine found it is no effect."""
    return label.removesuffix(", not checked").replace("COMPUTED", "PROVED")


def _merged(earlier: Answers | None, later: Answers) -> Iterator[tuple[Row, str, str]]:
    """Yield each row of either side once, with its verdicts."""
    olds: Iterator[AnswerRow] = iter(()) if earlier is None else iter(earlier)
    news = iter(later)
    old, new = next(olds, None), next(news, None)
    while old is not None or new is not None:
        if new is None or (old is not None and old.values < new.values):
            if old is None:
                raise TypeError("one side has a row")
            yield old.values, old.verdict.label, ABSENT
            old = next(olds, None)
        elif old is None or new.values < old.values:
            yield new.values, ABSENT, new.verdict.label
            new = next(news, None)
        else:
            yield new.values, old.verdict.label, new.verdict.label
            old, new = next(olds, None), next(news, None)


# Both say the same; nothing is cut in JSON.


@frozen
class Item:
    """A draft, or a proposed rule of a file (`kind` is `draft` or `rule`), in one line.

    `identity` is what `approve` and `reject` take. `approvals` of `needed` are there.
    """

    identity: str
    kind: str
    status: str
    purpose: str
    goal: str
    model: str
    asked_by: str
    at: str
    rules: tuple[str, ...]
    approvals: tuple[str, ...]
    needed: int
    reason: str = ""

    def to_json(self) -> dict[str, object]:
        """Give it as a JSON object."""
        return {name: _listed(value) for name, value in asdict(self).items()}


@frozen
class Review:
    """What a person should know before they decide.

    `file` is where the rules are or would be. `difference` is a unified one. `amended` are
    predicates that were there and get rules, `replaced` the ids and texts of rules that give way.
    `problem` says why it cannot be approved as it is; then the rest is empty.
    """

    item: Item
    text: str
    file: str = ""
    difference: str = ""
    amended: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    cases: tuple[Tried, ...] = ()
    effects: tuple[Effect, ...] = ()
    remarks: tuple[str, ...] = ()
    problem: str = ""

    def to_json(self) -> dict[str, object]:
        """Give it as a JSON object."""
        return {
            **self.item.to_json(),
            "text": self.text,
            "file": self.file,
            "difference": self.difference,
            "amended": list(self.amended),
            "replaced": [{"id": one, "text": text} for one, text in self.replaced],
            "cases": [
                {"name": one.name, "own": one.own, "problems": list(one.problems)}
                for one in self.cases
            ],
            "effects": [effect_to_json(one) for one in self.effects],
            "remarks": list(self.remarks),
            "problem": self.problem,
        }

    def to_lines(self) -> Iterator[str]:
        """Give it for people."""
        item = self.item
        yield f"{item.kind} {item.identity}: {item.status}"
        yield from _told("asked", item.purpose)
        yield from _told("goal", item.goal)
        drafter = item.model or "somebody"
        yield from _told("drafted by", f"{drafter} at {item.at}" if item.at else drafter)
        yield from _told("asked by", item.asked_by)
        yield f"approvals: {len(item.approvals)} of {item.needed}" + (
            f" ({', '.join(item.approvals)})" if item.approvals else ""
        )
        yield from _told("reason", item.reason)
        yield ""
        if self.problem:
            yield from _indented(self.text)
            yield ""
            yield f"cannot be approved: {self.problem}"
            return
        for one in self.amended:
            yield f"amends: {one}, which has rules or rows already"
        for identity, text in self.replaced:
            yield f"takes the place of {identity}:"
            yield from _indented(text)
        if self.difference:
            yield from self.difference.rstrip("\n").split("\n")
        else:
            yield f"in {self.file}:"
            yield from _indented(self.text)
        yield ""
        yield from self._findings()

    def _findings(self) -> Iterator[str]:
        failing = [one for one in self.cases if one.problems]
        bare = self.item.kind == "draft" and not any(one.own for one in self.cases)
        yield f"cases: {len(self.cases) - len(failing)} of {len(self.cases)} pass" + (
            "; the draft brings none of its own" if bare else ""
        )
        for one in failing:
            yield from (f"  {one.name}: {problem}" for problem in one.problems)
        yield "effect on the present data:"
        for effect in self.effects:
            yield from effect_lines(effect)
        if not self.effects:
            yield "  none"
        if self.remarks:
            yield "remarks:"
        yield from (f"  {one}" for one in self.remarks)


@frozen
class Decided:
    """What a decision came to: the status that the draft or the rules have now.

    `file` is where the rules are, `signed` whether the word is signed; `have` of the `needed`
    approvals count.
    """

    identity: str
    kind: str
    status: str
    rules: tuple[str, ...] = ()
    file: str = ""
    signed: bool = False
    have: int = 0
    needed: int = 0


def _told(label: str, text: str) -> Iterator[str]:
    if text:
        first, *rest = text.split("\n")
        yield f"{label}: {first}"
        yield from (f"  {line}" for line in rest)


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in text.rstrip("\n").split("\n"))


def effect_lines(effect: Effect) -> Iterator[str]:
    """Say in lines how the rows of a predicate differ."""
    if effect.reason and not effect.transitions:
        yield f"  {effect.predicate}: {effect.reason}"
        return
    rows = f"{effect.rows_before:,} rows before, {effect.rows_after:,} after"
    yield f"  {effect.predicate}: {rows}, {effect.changes:,} differ" + (
        f" ({effect.reason})" if effect.reason else ""
    )
    for one in effect.transitions:
        more = f", and {one.count - len(one.shown):,} more" if one.count > len(one.shown) else ""
        yield f"    {one.before} -> {one.after}: {', '.join(one.shown)}{more}"


def effect_to_json(effect: Effect) -> dict[str, object]:
    """Give it as JSON values."""
    found = {name: _listed(value) for name, value in asdict(effect).items()}
    found["transitions"] = [
        {name: _listed(value) for name, value in asdict(one).items()} for one in effect.transitions
    ]
    return found


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
