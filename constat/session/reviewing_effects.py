"""What rules would change: the rows of the predicates they bear on, before and after.

In: two sessions over the same sources and the rules that differ. Out: an `Effect` for each
predicate that can differ. Invariants: every row is compared, or the effect says that it was not;
both sides are read in the order of their values, so no side is held in memory. Example: a rule for
`is_vip` that takes in C002 gives one row of `is_vip` that was DISPROVED and is PROVED.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from constat.diagnostics import ConstatError
from constat.logic import Aggregate
from constat.session.answers import Settled
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis import AnalysedProgram
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


@dataclass(frozen=True, slots=True)
class Transition:
    """So many rows had one verdict and have another; `ABSENT` is that of rows not listed."""

    before: str
    after: str
    count: int
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
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
        later = after.query(_goal(predicate))
        earlier = before.query(_goal(predicate)) if known else None
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
