"""The cheapest sets of facts that would prove a goal, in the world of a session.

In: a goal, and what may be supposed or taken away. Out: `MissingFacts`. Invariants: each set has
been decided as `what_if` decides it, and a proper part of it does not prove the goal; nothing is
written. Where nothing is abducible, it is said how to declare it. Example:
`session.missing_facts("is_vip(C004)", removable={"blocked": "1"}).sets[0].remove`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.analysis.abducing import cost_from
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.evaluation import Verdict
from constat.proof import decide
from constat.proof.abducibles import Abducibles, abducibles, leaves_below
from constat.proof.abduction import Abduction, Found, Search
from constat.proof.overlay import overlaid
from constat.proof.projection import with_projections
from constat.proof.worlds import Worlds
from constat.session.asked_goals import asked_over
from constat.session.result import Result, result_of
from constat.session.suppositions import rests_on
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Observer
    from constat.logic import Atom
    from constat.proof.witnesses import Shown
    from constat.session.bench import Bench
    from constat.tiers import Tiers


_SHARE_TO_SEARCH: Final = 0.8


@dataclass(frozen=True, slots=True)
class Asked:
    """How many sets are wanted, what is abducible besides what is declared, and for how long."""

    top: int = 3
    abducible: tuple[tuple[str, str], ...] = ()
    removable: tuple[tuple[str, str], ...] = ()
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class MissingSet:
    """One set: facts to suppose, with conditions on what may be chosen; facts to take away.

    `verdict` is what the goal becomes with it.
    """

    cost: Decimal
    add: tuple[Shown, ...]
    remove: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True)
class MissingFacts:
    """What would prove a goal.

    `sets` come by cost. Sets that cost less than `bound` and can be found are all there; where it
    is `None` the search ended by itself, else `stopped` says why it did not. `dropped` counts sets
    that failed when they were tried, `unsolved` names what was not searched. `abducible` are the
    predicates that were, with costs; `candidates` those that the goal rests on.
    """

    result: Result
    sets: tuple[MissingSet, ...]
    bound: Decimal | None
    dropped: int
    unsolved: tuple[str, ...]
    abducible: Abducibles
    candidates: tuple[str, ...]
    stopped: str = ""

    @property
    def goal(self) -> str:
        """The goal."""
        return self.result.goal

    @property
    def holds(self) -> bool:
        """Whether the goal holds as it is."""
        return self.result.verdict in {Verdict.PROVED, Verdict.PROVED_UNDER}

    @property
    def exhausted(self) -> bool:
        """Whether every set was looked at: there are no others."""
        return self.bound is None and not self.unsolved and not self.dropped

    @property
    def exit_code(self) -> int:
        """0 where nothing is missing or a set was found, 5 where there is none, else 4."""
        if self.holds or self.sets:
            return 0
        return 5 if self.exhausted else 4


def missing_facts(
    bench: Bench, goal: str, asked: Asked, *, observe: Observer | None = None
) -> MissingFacts:
    """Find what would prove a goal. Raises `ConstatError` as `prove` does."""
    bench, asked_goal = asked_over(bench.begun(), goal)
    program, atom = bench.program, asked_goal.atom
    costs = _allowed(program, asked)
    created = now()

    def looked_for(tiers: Tiers) -> tuple[Result, Abduction, tuple[MissingSet, ...]]:
        with tiers.anew():
            decision = decide(
                bench.engine, program, atom, tiers.externals, bench.limits, observe=bench.observe
            )
            if decision.answers or not costs:
                found = Abduction((), None, 0, ())
            else:
                found = _searched(bench, tiers, atom, costs, asked)
            sets = tuple(_decided(bench, tiers, atom, one) for one in found.found)
            result = result_of(decision, program, created)
            text = asked_goal.text
            return (result.asked_as(text) if text else result), found, sets

    result, abduction, sets = bench.evaluated(observe, looked_for)
    return MissingFacts(
        result,
        sets,
        abduction.bound,
        abduction.dropped,
        abduction.unsolved,
        costs,
        _candidates(program, atom),
        abduction.stopped,
    )


def _searched(bench: Bench, tiers: Tiers, atom: Atom, costs: Abducibles, asked: Asked) -> Abduction:
    program = with_projections(bench.program)
    worlds = Worlds(bench.engine, program, tiers.externals, bench.limits)
    # The rest is for deciding the goal with what was found.
    seconds = min(asked.seconds, _SHARE_TO_SEARCH * bench.limits.left)
    return Search(worlds, atom, costs, asked.top, seconds).run()


def _decided(bench: Bench, tiers: Tiers, atom: Atom, found: Found) -> MissingSet:
    """Decide the goal with a set, as `what_if` does."""
    externals = overlaid(tiers.externals, bench.program, found.chosen.delta.overlay())
    decision = decide(bench.engine, bench.program, atom, externals, bench.limits)
    return MissingSet(found.cost, found.chosen.added, found.chosen.removed, decision.verdict)


def _candidates(program: AnalysedProgram, atom: Atom) -> tuple[str, ...]:
    """Name the predicates of outside that a goal rests on."""
    if atom.predicate in program.external:
        return (atom.predicate,)
    return tuple(rests_on(program, atom.predicate))


def _allowed(program: AnalysedProgram, asked: Asked) -> Abducibles:
    """Collect what may be supposed and taken away.

    What is named and derived by rules stands for what these rest on: a fact below a negation is
    taken away so that there is more of it, and supposed so that there is less.
    """
    added = _costs(program, asked.abducible, "abducible")
    removed = _costs(program, asked.removable, "removable")
    declared = abducibles(program)
    below: tuple[dict[str, Decimal], dict[str, Decimal]] = ({}, {})
    for named, more in ((added, True), (removed, False)):
        for name, cost in named:
            if name not in program.external:
                for leaf, same in leaves_below(program, name):
                    below[more is not same].setdefault(leaf, cost)
    outside = program.external
    return Abducibles(
        {**below[0], **declared.added, **{n: cost for n, cost in added if n in outside}},
        {**below[1], **declared.removed, **{n: cost for n, cost in removed if n in outside}},
    )


def _costs(
    program: AnalysedProgram, named: Iterable[tuple[str, str]], what: str
) -> list[tuple[str, Decimal]]:
    """Read predicates with costs that were named besides the declared ones."""
    found = []
    for name, text in named:
        if name not in program.program.predicates:
            near = nearest(name, sorted(program.program.predicates))
            message = f"facts of `{name}` cannot be {what}: no rule file declares it"
            hint = (
                f"write `--{what} {near}`" if near else "name a predicate that comes from outside"
            )
            raise ConstatError([Diagnostic("C0704", message, help=hint)])
        cost = cost_from(text)
        if cost is None:
            message = f"`{text}` is no cost of `{name}`"
            note = "a cost is a decimal above 0, of at most six places and a million"
            raise ConstatError(
                [Diagnostic("C0705", message, note=note, help=f"write `--{what} {name}=1`")]
            )
        found.append((name, cost))
    return found
