"""Answer a goal in a supposed world, and tell which conclusions differ from those of the real one.

In: a goal and suppositions. Out: a `WhatIf`: both verdicts, the certificate of the supposed one,
and the conclusions of the goal's slice that differ. Invariants: nothing is written, the file of
kept answers included; every supposition that the verdict needs is among its assumptions, so
without suppositions it is the verdict of `prove`. Example:
`session.what_if("is_vip(C003)", remove=["blocked(C003)"]).verdict` is PROVED UNDER that.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.logic import Atom, Constant
from constat.proof import decide
from constat.proof.changes import World, compare
from constat.proof.overlay import (
    Overlay,
    dropped_rule,
    overlaid,
    supposed_absence,
    supposed_fact,
)
from constat.proof.projection import with_projections
from constat.session.asked_goals import AskedGoal, asked_over
from constat.session.result import Result, result_of
from constat.session.supposed_rules import SupposedProgram, suppose_rules
from constat.session.suppositions import Suppositions, read_suppositions
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from constat.evaluation import Externals, Observer, Outcome, Verdict
    from constat.logic import Row
    from constat.proof import Decision
    from constat.proof.changes import Asker, Change, Changes
    from constat.session.bench import Bench
    from constat.tiers import Tiers

__all__ = ["Suppositions", "WhatIf", "what_if"]

_MOST_ASKED: Final = 1_000
_SECONDS: Final = 10.0


@dataclass(frozen=True)
class WhatIf:
    """A hypothetical answer.

    `before` is the answer of the real world, `after` that of the supposed one. `supposed` lists the
    suppositions, `without_effect` those that nothing asked about, or that hide no row. `changes`
    are the conclusions that differ; of `uncompared` more one world was not asked.
    """

    supposed: tuple[str, ...]
    without_effect: tuple[str, ...]
    before: Result
    after: Result
    changes: tuple[Change, ...]
    uncompared: int

    @property
    def goal(self) -> str:
        """The goal."""
        return self.after.goal

    @property
    def verdict(self) -> Verdict:
        """The verdict in the supposed world."""
        return self.after.verdict

    @property
    def exit_code(self) -> int:
        """The exit code of that verdict."""
        return self.after.exit_code

    @property
    def confidence(self) -> Decimal:
        """The confidence of that verdict."""
        return self.after.confidence

    @property
    def certificate(self) -> bytes:
        """The certificate of the supposed answer; its assumptions name what is supposed."""
        return self.after.certificate


def what_if(
    bench: Bench,
    goal: str,
    supposed: Suppositions,
    *,
    query: bool = False,
    observe: Observer | None = None,
) -> WhatIf:
    """Answer a goal in both worlds. Raises `ConstatError` for what cannot be supposed."""
    bench = bench.begun()
    changed = suppose_rules(bench.program, supposed.rules, bench.project.rule_roots, bench.texts)
    overlay = read_suppositions(supposed, changed.program, bench.project)
    overlay = Overlay(overlay.added, overlay.removed, changed.dropped)
    real = _goal(bench, goal, query=query)
    other = _goal(replace(bench, program=changed.program), goal, query=query)

    def both(tiers: Tiers) -> tuple[_Side, _Side, Changes]:
        with tiers.anew():
            before = _Side(bench, real, tiers.externals)
            after = _Side(bench, other, overlaid(tiers.externals, other.program, overlay))
            predicates = other.program.program.predicates
            worlds = before.world(), after.world()
            return before, after, compare(*worlds, predicates, _compared(before, after))

    before, after, found = bench.evaluated(observe, both)
    asked = tuple(_texts(overlay, changed))
    met = set(_met(after.decision))
    return WhatIf(
        tuple(text for text, _ in asked),
        tuple(text for text, key in asked if key not in met),
        before.result,
        after.result,
        found.listed,
        found.uncompared,
    )


def _goal(bench: Bench, goal: str, *, query: bool) -> AskedGoal:
    if not query:
        return asked_over(bench, goal)[1]
    program = bench.program
    # Plain goals are answered without what only queries need.
    reading = importlib.import_module("constat.session.query_text")
    querying = importlib.import_module("constat.session.querying")
    compiled = querying.compile_query(reading.parse_query(goal, program.program), program)
    bench.mention(compiled.goal)
    return AskedGoal(compiled.goal, compiled.program)


class _Side:
    """One of the two worlds."""

    def __init__(self, bench: Bench, asked: AskedGoal, externals: Externals) -> None:
        self.bench = bench
        self.program = program = asked.program
        self.externals = externals
        created = now()
        self.decision = decide(
            bench.engine, program, asked.atom, externals, bench.limits, observe=bench.observe
        )
        result = result_of(self.decision, program, created)
        self.result = result.asked_as(asked.text) if asked.text else result

    def world(self) -> World:
        """Give what is compared: all that the goal needs, not only until it is settled."""
        return World(self.outcome(), self.asker())

    def outcome(self) -> Outcome:
        found = self.decision.outcome
        return self.evaluate(found.goal) if found.stopped == "settled" else found

    def evaluate(self, goal: Atom) -> Outcome:
        program = with_projections(self.program)
        bench, limits = self.bench, self.bench.limits
        return bench.engine.evaluate(
            program, goal, self.externals, limits, exhaust=True, observe=bench.observe
        )

    def asker(self) -> Asker:
        """Give a way to ask this world for single rows, within a budget."""
        predicates = self.program.program.predicates
        left = _MOST_ASKED
        until = time.monotonic() + min(_SECONDS, self.bench.limits.left)

        def ask(name: str, row: Row) -> int | None:
            nonlocal left
            if left <= 0 or time.monotonic() > until:
                return None
            left -= 1
            predicate = predicates.get(name)
            if predicate is None:
                return -1
            pairs = zip(row, predicate.kinds, strict=True)
            atom = Atom(name, tuple(Constant(value, kind) for value, kind in pairs))
            return self.evaluate(atom).strength(atom)

        return ask


def _compared(before: _Side, after: _Side) -> tuple[str, ...]:
    """Name what is compared: the goal's predicate and the conclusions it rests on."""
    known = before.program.program.predicates
    derived = {rule.head.predicate for rule in (*before.program.rules, *after.program.rules)}
    names = dict.fromkeys([after.decision.goal.predicate])
    names.update(dict.fromkeys(name for name in known if name in derived))
    names.update(dict.fromkeys(sorted(derived)))
    return tuple(name for name in names if name in known)


def _texts(overlay: Overlay, changed: SupposedProgram) -> Iterator[tuple[str, str]]:
    """Yield each supposition as a text, with what stands for it among the assumptions."""
    predicates = changed.program.program.predicates
    for name, row in overlay.added:
        text = supposed_fact(predicates[name], row).text
        yield text, text
    for one in overlay.removed:
        text = supposed_absence(predicates[one.predicate], one.pattern).text
        yield text, text
    for rule in changed.dropped:
        text = dropped_rule(rule).text
        yield text, text
    for rule in changed.supposed:
        yield f"supposed: rule {rule} holds", rule


def _met(decision: Decision) -> Iterator[str]:
    """Yield the suppositions that the evaluation came upon."""
    for call in decision.outcome.calls:
        answer = call.answer
        supposed = [one.assumption for one in answer.portions]
        supposed += [one.assumption for one in answer.openings]
        yield from (one.text for one in supposed if one is not None)
    for demand in decision.outcome.demands:
        for number in demand.orders:
            yield decision.outcome.program.rules[number].id
