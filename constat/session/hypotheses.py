"""Why a goal fails, what another world would change, and which facts would prove it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.analysis.attributes import cost_from
from constat.analysis.goals import below, is_written_in_rules, rests_on
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Verdict
from constat.frozen import OfSession, frozen
from constat.logic import Atom, Constant
from constat.proof import decide, render_tree
from constat.proof.abduction import Abduction, Found, Search
from constat.proof.changes import World, compare
from constat.proof.overlay import Overlay, dropped_rule, overlaid, supposed_absence, supposed_fact
from constat.proof.projection import facts_apart, with_projections
from constat.proof.refutation import MOST, Reason, Refutation, principal_reasons, refute
from constat.proof.refutation_text import render_refutation
from constat.proof.suppositions import Abducibles, abducibles
from constat.proof.worlds import Worlds, leaves_below
from constat.session.asked_goals import AskedGoal, asked_over, read_query
from constat.session.result import Result, result_of
from constat.session.suppositions import (
    SupposedProgram,
    Suppositions,
    read_suppositions,
    suppose_rules,
)
from constat.store.clock import now
from constat.syntax.mistakes.habits import near_name
from constat.tiers import rule_facts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from decimal import Decimal

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals, Observer, Outcome
    from constat.logic import Row
    from constat.proof import Decision
    from constat.proof.changes import Asker, Change, Changes
    from constat.proof.worlds import Shown
    from constat.session.parts import SessionParts
    from constat.tiers import Tiers


@dataclass(frozen=True)
class WhyNotResult(OfSession):
    """Why a goal does not hold; `refutation` is `None` where it does."""

    result: Result
    refutation: Refutation | None

    def __repr__(self) -> str:
        from constat.session.showing import why_not_text  # noqa: PLC0415  loaded when it is used

        return why_not_text(self)

    def _repr_html_(self) -> str:
        from constat.session.showing import why_not_html  # noqa: PLC0415  loaded when it is used

        return why_not_html(self)

    @property
    def goal(self) -> str:
        """The goal."""
        return self.result.goal

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return self.result.verdict

    @property
    def exit_code(self) -> int:
        """The exit code of the verdict."""
        return self.result.exit_code

    def reasons(self, most: int = MOST) -> tuple[Reason, ...]:
        """Rank the reason codes of what fails, the nearest to holding first."""
        return () if self.refutation is None else principal_reasons(self.refutation, most)

    def reasons_left(self, most: int) -> int:
        """Count the reasons beyond so many."""
        if self.refutation is None:
            return 0
        return max(0, len(principal_reasons(self.refutation, None)) - most)

    def to_text(self, *, reasons: int = 0) -> str:
        """Write it for people; a goal that holds is shown with its proof."""
        if self.refutation is None:
            _, _, proof = render_tree(self.result.tree, moment=self.result.created).partition("\n")
            return proof
        ranked = self.reasons(reasons) if reasons else ()
        left = self.reasons_left(reasons) if reasons else 0
        return render_refutation(self.refutation, ranked, left=left, moment=self.result.created)


def why_not(
    parts: SessionParts, goal: str, *, most: int, observe: Observer | None = None
) -> WhyNotResult:
    """Say why a goal does not hold. Raises `ConstatError` as `prove` does."""
    parts, asked = asked_over(parts, goal)
    created, parts = now(), parts.begun()
    rules, facts = facts_apart(parts.program)
    program = parts.reading_least(rules, asked.atom)

    def answered(tiers: Tiers) -> tuple[Decision, Refutation | None]:
        externals = {**tiers.externals, **rule_facts(facts)}
        decision = decide(
            parts.engine, program, asked.atom, externals, parts.limits, observe=parts.observe
        )
        if decision.answers:
            return decision, None
        return decision, refute(
            parts.engine, decision, externals, parts.limits, most=most, speech=parts.speech
        )

    decision, refutation = parts.evaluated(observe, answered)
    result = result_of(decision, program, created, parts.speech)
    return WhyNotResult(result.asked_as(asked.text) if asked.text else result, refutation)


_MOST_ASKED: Final = 1_000
_SECONDS: Final = 10.0
# All rows of both worlds are compared; to prove each takes ten times as long as to find it. Of the
# world as it is, one proof shows the verdict: who wants more of it asks for it.
_MOST_PROVED: Final = 1_000


@dataclass(frozen=True)
class WhatIf(OfSession):
    """A hypothetical answer.

    `before` is the answer of the real world, `after` that of the supposed one. `supposed` lists the
    suppositions, `without_effect` those that nothing asked about, or that hide no row. `changes`
    are the conclusions that differ; of `uncompared` more one world was not asked. `stopped` says
    why one world was not evaluated to its end, so that others may differ. Of a goal with variables
    the real world proves one row and the supposed one at most 1,000; `left_out` counts others that
    hold in the supposed one.
    """

    supposed: tuple[str, ...]
    without_effect: tuple[str, ...]
    before: Result
    after: Result
    changes: tuple[Change, ...]
    uncompared: int
    stopped: str = ""

    def __repr__(self) -> str:
        from constat.session.showing import what_if_text  # noqa: PLC0415  loaded when it is used

        return what_if_text(self)

    def _repr_html_(self) -> str:
        from constat.session.showing import what_if_html  # noqa: PLC0415  loaded when it is used

        return what_if_html(self)

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
    def left_out(self) -> int:
        """How many rows hold in the supposed world, and are in no proof of it."""
        return self.after.decision.left_out

    @property
    def certificate(self) -> bytes:
        """The certificate of the supposed answer; its assumptions name what is supposed."""
        return self.after.certificate


def what_if(
    parts: SessionParts,
    goal: str,
    supposed: Suppositions,
    *,
    query: bool = False,
    observe: Observer | None = None,
) -> WhatIf:
    """Answer a goal in both worlds. Raises `ConstatError` for what cannot be supposed."""
    parts = parts.begun()
    changed, overlay, whole = _supposed(parts, supposed)
    real = _goal(parts, goal, whole, query=query)
    other = _goal(replace(parts, program=changed.program), goal, whole, query=query)

    def both(tiers: Tiers) -> tuple[_Side, _Side, Changes]:
        with tiers.anew():
            before = _Side(parts, real, tiers.externals, 1)
            changed_externals = overlaid(tiers.externals, other.program, overlay)
            after = _Side(parts, other, changed_externals, _MOST_PROVED)
            predicates = other.program.program.predicates
            worlds = before.world(), after.world()
            names, clock = _compared(before, after), parts.limits.running()
            return before, after, compare(*worlds, predicates, names, clock)

    before, after, found = parts.evaluated(observe, both)
    asked = tuple(_texts(overlay, changed))
    met = set(_met(after.decision))
    return WhatIf(
        tuple(text for text, _ in asked),
        tuple(text for text, key in asked if key not in met),
        before.result,
        after.result,
        found.listed,
        found.uncompared,
        next((why for one in (before, after) if (why := one.stopped)), ""),
    )


def supposed_verdict(
    parts: SessionParts, goal: str, supposed: Suppositions, seconds: float
) -> Verdict:
    """Give the verdict of `what_if` alone: the supposed world is evaluated, and nothing compared.

    Raises `ConstatError` for what cannot be supposed.
    """
    parts = replace(parts, limits=parts.limits.at_most(seconds)).begun()
    changed, overlay, whole = _supposed(parts, supposed)
    asked = _goal(replace(parts, program=changed.program), goal, whole, query=False)

    def answered(tiers: Tiers) -> Verdict:
        with tiers.anew():
            changed_externals = overlaid(tiers.externals, asked.program, overlay)
            there = (asked.program, asked.atom, changed_externals, parts.limits)
            return decide(parts.engine, *there, observe=parts.observe).verdict

    return parts.evaluated(None, answered)


def _supposed(
    parts: SessionParts, supposed: Suppositions
) -> tuple[SupposedProgram, Overlay, frozenset[str]]:
    """Give the changed rules, what is supposed of rows, and of which predicates whole rows."""
    changed = suppose_rules(parts.program, supposed.rules, parts.project.rule_roots, parts.texts)
    overlay = read_suppositions(supposed, changed.program, parts.project)
    # What is supposed not to be is a row by all its columns.
    whole = frozenset(one.predicate for one in overlay.removed)
    return changed, Overlay(overlay.added, overlay.removed, changed.dropped), whole


def _goal(parts: SessionParts, goal: str, whole: Collection[str], *, query: bool) -> AskedGoal:
    asked = _over_program(parts, goal, query=query)
    return replace(asked, program=parts.reading_least(asked.program, asked.atom, whole))


def _over_program(parts: SessionParts, goal: str, *, query: bool) -> AskedGoal:
    if not query:
        return asked_over(parts, goal)[1]
    program = parts.program
    # Plain goals are answered without what only queries need.
    from constat.session.querying import compile_query  # noqa: PLC0415  loaded when it is used

    compiled = compile_query(read_query(goal, program), program)
    parts.mention(compiled.goal)
    return AskedGoal(compiled.goal, compiled.program)


class _Side:
    """One of the two worlds."""

    def __init__(
        self, parts: SessionParts, asked: AskedGoal, externals: Externals, most: int
    ) -> None:
        self.parts = parts
        self.program = program = asked.program
        self.externals = externals
        self.stopped = ""
        created = now()
        self.decision = decide(
            parts.engine,
            program,
            asked.atom,
            externals,
            parts.limits,
            most=most,
            every=any(not isinstance(term, Constant) for term in asked.atom.terms),
            observe=parts.observe,
        )
        result = result_of(self.decision, program, created)
        self.result = result.asked_as(asked.text) if asked.text else result

    def world(self) -> World:
        """Give what is compared: all that the goal needs, not only until it is settled."""
        outcome = self.outcome()
        self.stopped = outcome.stopped
        return World(outcome, self.asker())

    def outcome(self) -> Outcome:
        found = self.decision.outcome
        return self.evaluate(found.goal) if found.stopped == "settled" else found

    def evaluate(self, goal: Atom) -> Outcome:
        program = with_projections(self.program)
        parts, limits = self.parts, self.parts.limits
        return parts.engine.evaluate(
            program, goal, self.externals, limits, exhaust=True, observe=parts.observe
        )

    def asker(self) -> Asker:
        """Give a way to ask this world for single rows, within a budget."""
        predicates = self.program.program.predicates
        left = _MOST_ASKED
        until = time.monotonic() + min(_SECONDS, self.parts.limits.left)

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


_SHARE_TO_SEARCH: Final = 0.8
_LEAST_VARIED: Final = 2
_HOLDING: Final = frozenset({Verdict.PROVED, Verdict.PROVED_UNDER})


@frozen
class MissingOptions:
    """How many sets are wanted, what is abducible besides what is declared, and for how long."""

    top: int = 3
    abducible: tuple[tuple[str, str], ...] = ()
    removable: tuple[tuple[str, str], ...] = ()
    seconds: float = 10.0


@frozen
class MissingSet:
    """One set: facts to suppose, with conditions on what may be chosen; facts to take away.

    `verdict` is what the goal becomes with it.
    """

    cost: Decimal
    add: tuple[Shown, ...]
    remove: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True)
class MissingFacts(OfSession):
    """What would prove a goal.

    `sets` come by cost. Sets that cost less than `bound` and can be found are all there; where it
    is `None` the search ended by itself, else `stopped` says why it did not. `dropped` counts sets
    that failed when they were tried, `unsolved` names what was not searched. `abducible` are the
    predicates that were, with costs; `candidates` those that the goal rests on, and `below` those
    of them that stand below negations alone: more of them is less of the goal.
    """

    result: Result
    sets: tuple[MissingSet, ...]
    bound: Decimal | None
    dropped: int
    unsolved: tuple[str, ...]
    abducible: Abducibles
    candidates: tuple[str, ...]
    stopped: str = ""
    below: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        from constat.session.showing import missing_text  # noqa: PLC0415  loaded when it is used

        return missing_text(self)

    def _repr_html_(self) -> str:
        from constat.session.showing import missing_html  # noqa: PLC0415  loaded when it is used

        return missing_html(self)

    @property
    def goal(self) -> str:
        """The goal."""
        return self.result.goal

    @property
    def holds(self) -> bool:
        """Whether the goal holds as it is."""
        return self.result.verdict in _HOLDING

    @property
    def exhausted(self) -> bool:
        """Whether every set was looked at: there are no others."""
        return self.bound is None and not self.unsolved and not self.dropped

    @property
    def exit_code(self) -> int:
        """0 where nothing is missing or a set was found, 5 where nothing can prove it, else 4.

        What is open may still prove an open goal, so no search ends that with 5.
        """
        if self.holds or self.sets:
            return 0
        is_open = self.result.verdict is Verdict.UNRESOLVED
        return 5 if self.exhausted and not is_open else 4


def missing_facts(
    parts: SessionParts, goal: str, asked: MissingOptions, *, observe: Observer | None = None
) -> MissingFacts:
    """Find what would prove a goal. Raises `ConstatError` as `prove` does."""
    parts, asked_goal = asked_over(parts.begun(), goal)
    program, atom = parts.program, asked_goal.atom
    costs = _allowed(program, asked)
    # The goal is decided as `prove` does.
    least = parts.reading_least(program, atom)
    created = now()

    def looked_for(tiers: Tiers) -> tuple[Result, Abduction, tuple[MissingSet, ...]]:
        with tiers.anew():
            decision = decide(
                parts.engine, least, atom, tiers.externals, parts.limits, observe=parts.observe
            )
            if decision.answers or not costs:
                found = Abduction((), None, 0, ())
            else:
                found = _searched(parts, tiers, atom, costs, asked)
            tried = tuple(_decided(parts, tiers, atom, one) for one in found.found)
            sets = tuple(one for one in tried if one.verdict in _HOLDING)
            found = replace(found, dropped=found.dropped + len(tried) - len(sets))
            result = result_of(decision, least, created)
            text = asked_goal.text
            return (result.asked_as(text) if text else result), found, sets

    result, abduction, sets = parts.evaluated(observe, looked_for)
    return MissingFacts(
        result,
        sets,
        abduction.bound,
        abduction.dropped,
        tuple(sorted({*abduction.unsolved, *_written(program, asked)})),
        costs,
        _candidates(program, atom),
        abduction.stopped,
        _below_negations(program, atom),
    )


def _searched(
    parts: SessionParts, tiers: Tiers, atom: Atom, costs: Abducibles, asked: MissingOptions
) -> Abduction:
    # Facts are supposed and taken away whole; of all others is read what the goal needs.
    whole = frozenset((*costs.added, *costs.removed))
    program = with_projections(parts.reading_least(parts.program, atom, whole))
    worlds = Worlds(parts.engine, program, tiers.externals, parts.limits)
    # The rest is for deciding the goal with what was found.
    until = time.monotonic() + min(asked.seconds, _SHARE_TO_SEARCH * parts.limits.left)
    found = Search(worlds, atom, costs, asked.top, until - time.monotonic()).run()
    return _varied(found, worlds, atom, costs, asked.top, until)


def _varied(  # noqa: PLR0917  what a search takes
    found: Abduction, worlds: Worlds, atom: Atom, costs: Abducibles, top: int, until: float
) -> Abduction:
    """Have a set of another kind among those that are as cheap, where the wanted ones are alike.

    The rows of one invoice after the other can be taken away: where one may be supposed, too, as
    cheaply, that would not be seen.
    """
    if len(found.found) < top or top < _LEAST_VARIED:
        return found
    kept = list(found.found)
    last = kept[-1].cost
    others: list[Found] = []
    left = costs
    while len(others) < top - 1:
        left = _unused(left, (*kept, *others))
        seconds = until - time.monotonic()
        if not left or seconds <= 0:
            break
        more = Search(worlds, atom, left, 1, seconds).run().found
        if not more or more[0].cost > last:
            break
        others += more
    cheaper = [one for one in kept if one.cost < last]
    alike = [one for one in kept if one.cost == last]
    if not others or len(cheaper) >= top - 1:
        return found
    room = max(1, top - len(cheaper) - len(others))
    return replace(found, found=(*cheaper, *alike[:room], *others)[:top])


def _unused(costs: Abducibles, found: Sequence[Found]) -> Abducibles:
    """Leave out what the sets suppose, and what they take away."""
    supposed = {name for one in found for name, _ in one.chosen.delta.added}
    gone = {name for one in found for name, _ in one.chosen.delta.removed}
    return Abducibles(
        {name: cost for name, cost in costs.added.items() if name not in supposed},
        {name: cost for name, cost in costs.removed.items() if name not in gone},
    )


def _decided(parts: SessionParts, tiers: Tiers, atom: Atom, found: Found) -> MissingSet:
    """Decide the goal with a set, as `what_if` does."""
    overlay = found.chosen.delta.overlay()
    whole = frozenset(one.predicate for one in overlay.removed)
    program = parts.reading_least(parts.program, atom, whole)
    externals = overlaid(tiers.externals, program, overlay)
    decision = decide(parts.engine, program, atom, externals, parts.limits)
    return MissingSet(found.cost, found.chosen.added, found.chosen.removed, decision.verdict)


def _written(program: AnalysedProgram, asked: MissingOptions) -> Iterator[str]:
    """Name what stands for facts that were not searched, since they stand in rule files."""
    named = {name for name, _ in (*asked.abducible, *asked.removable)}
    for name in sorted({one for each in named for one in below(program, each)}):
        if is_written_in_rules(program, name):
            yield f"facts of {name}, which stand in rule files"


def _below_negations(program: AnalysedProgram, atom: Atom) -> frozenset[str]:
    leaves = leaves_below(program, atom.predicate)
    more = {name for name, same in leaves if same}
    return frozenset(name for name, same in leaves if not same and name not in more)


def _candidates(program: AnalysedProgram, atom: Atom) -> tuple[str, ...]:
    """Name the predicates of outside that a goal rests on."""
    if atom.predicate in program.external:
        return (atom.predicate,)
    return tuple(rests_on(program, atom.predicate))


def _allowed(program: AnalysedProgram, asked: MissingOptions) -> Abducibles:
    """Collect what may be supposed and taken away.

    What is named and derived by rules stands for what these rest on: a fact below a negation is
    taken away so that there is more of it, and supposed so that there is less.
    """
    added = _costs(program, asked.abducible, "abducible")
    removed = _costs(program, asked.removable, "removable")
    declared = abducibles(program)
    leaves: tuple[dict[str, Decimal], dict[str, Decimal]] = ({}, {})
    for named, more in ((added, True), (removed, False)):
        for name, cost in named:
            if name not in program.external:
                for leaf, same in leaves_below(program, name):
                    leaves[more is not same].setdefault(leaf, cost)
    outside = program.external
    return Abducibles(
        {**leaves[0], **declared.added, **{n: cost for n, cost in added if n in outside}},
        {**leaves[1], **declared.removed, **{n: cost for n, cost in removed if n in outside}},
    )


def _costs(
    program: AnalysedProgram, named: Iterable[tuple[str, str]], what: str
) -> list[tuple[str, Decimal]]:
    """Read predicates with costs that were named besides the declared ones."""
    found = []
    for name, text in named:
        if is_written_in_rules(program, name):
            message = f"facts of `{name}` cannot be {what}: they stand in rule files"
            hint = (
                "write the fact into a file and try it, `constat what-if GOAL --rules FILE`; or "
                "give the facts a source, or `facts:` in constat.yaml"
            )
            raise ConstatError([Diagnostic("C0704", message, help=hint)])
        if name not in program.program.predicates:
            near = near_name(name, program.program.predicates)
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
