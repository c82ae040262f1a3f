"""What would decide an unresolved goal: a subset-minimal set of facts, as goals to paste back."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.evaluation import (
    ABSENT,
    CERTAIN,
    CONCEIVABLE,
    CONTESTED,
    Answer,
    Evidence,
    Opening,
    Origin,
    Portion,
    is_accepted,
    with_parts,
)
from constat.frozen import frozen, slotted
from constat.logic import (
    OPEN,
    Aggregate,
    Constant,
    Kind,
    Negative,
    NullCell,
    NullPolicy,
    Positive,
    Value,
    is_wildcard,
    null_policies,
    row_order,
)
from constat.proof.outside import AnswerBook, Columns, Relation
from constat.proof.reading import Reading, accept_rules, assumptions_met
from constat.proof.sentences import show_value, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import (
        Assumption,
        Call,
        Demand,
        Engine,
        ExternalPredicate,
        Externals,
        Limits,
        Outcome,
    )
    from constat.logic import Atom, Literal, OpenRow, Predicate, Row, Slot
    from constat.proof.outside import Answers
    from constat.proof.proofs import Proof

# Only columns count that the goal or a rule below it reads, in rows that its constants let match.


@frozen
class UnknownRow:
    """A certain row of which not every cell that is read is known."""

    predicate: Predicate
    row: Row
    columns: tuple[int, ...]
    tier: str
    any_of: int = 0
    """Of how many cells any one may decide the goal; 0 where all that are named are needed."""

    @property
    def pattern(self) -> OpenRow:
        """The row, as what to ask for: every cell that may be a value stays open."""
        cells: OpenRow = self.row
        return tuple(OPEN if isinstance(cell, NullCell) else cell for cell in cells)

    def is_among(self, covered: Collection[tuple[str, tuple[int, ...], Row]]) -> bool:
        """Whether it may be a row of one of these patterns: predicate, columns, and their key."""
        cells: OpenRow = self.row
        return any(
            name == self.predicate.name
            and all(_may_be(value, cells[place]) for place, value in zip(columns, key, strict=True))
            for name, columns, key in covered
        )

    @property
    def reason(self) -> str:
        """What is not known: `the region of order 7 is not known`."""
        names = [words(self.predicate.columns[column].name) for column in self.columns]
        listed = (" or " if self.any_of else " and ").join(f"the {name}" for name in names)
        is_known = "is not known" if len(names) == 1 or self.any_of else "are not known"
        others = self.any_of > len(names)
        choice = f"; any one of {self.any_of} such cells may decide it" if others else ""
        return f"{listed} of {_subject(self.predicate, self.row)} {is_known}{choice}"


def is_contested(reason: str) -> bool:
    """Whether a row is open because its source has others of the same key: no word closes it."""
    return CONTESTED in reason


def mending(predicate: Predicate, row: OpenRow = ()) -> str:
    """Say how a contested key is mended: in the source, and nowhere else."""
    shown = (
        f"{predicate.columns[n].name} = {show_value(row[n], predicate.columns[n].kind)}"
        for n in predicate.key
        if row and row[n] is not OPEN
    )
    which = " and ".join(shown)
    rows = f"the rows of {predicate.name}{f' with {which}' if which else ''}"
    return f"mend {rows} in the source; `constat check-data {predicate.name}` lists them"


def edit_of(predicate: Predicate, row: OpenRow, reason: str) -> str:
    """Say what decides a row that is open: an edit of the source, or a declaration; else nothing.

    Only `maybe` leaves it open whether there is a value: who knows that there is none can say so.
    """
    if is_contested(reason):
        return mending(predicate, row)
    if reason.endswith(NO_SOURCE):
        name = predicate.name
        whole = f"`closed: {{{name}: WHO_SAYS_SO}}` in constat.yaml says that no fact is missing"
        return f"{whole}; `.input {name}(...)` behind its .decl names a source that has all"
    if " not known" not in reason and " is NULL in " not in reason:
        return ""
    policies = zip(predicate.columns, null_policies(predicate), row, strict=True)
    names = [one.name for one, policy, cell in policies if policy is _MAYBE and cell is OPEN]
    if not names:
        return ""
    declared = ", ".join(f"`@[null = none] {name}`" for name in names)
    return f"if NULL means that there is none, declare {declared} in {predicate.name}"


NO_SOURCE: Final = "it has no source that does"
_MAYBE: Final = NullPolicy.MAYBE


def unknown_rows(outcome: Outcome) -> tuple[UnknownRow, ...]:
    """Give the rows that a goal met, and of which it reads what nobody knows."""
    readings = atoms_read(outcome.program, outcome.goal)
    found: dict[tuple[str, Row], UnknownRow] = {}
    for call in outcome.calls:
        predicate = call.demand.predicate
        atoms = readings.get(predicate.name, ())
        for portion in call.answer.portions if atoms else ():
            for row in portion.rows:
                columns = unknown_columns(row, atoms)
                if columns:
                    tier = portion.evidence.tier
                    found[predicate.name, row] = UnknownRow(predicate, row, columns, tier)
    return tuple(sorted(found.values(), key=lambda one: (one.predicate.name, row_order(one.row))))


def atoms_read(program: AnalysedProgram, goal: Atom) -> dict[str, list[Atom]]:
    """Give the atoms that read external predicates, of the goal and of the rules below it."""
    seen = {goal.predicate}
    found: dict[str, list[Atom]] = {goal.predicate: [goal]}
    waiting = [goal.predicate]
    while waiting:
        name = waiting.pop()
        for number in program.rule_numbers(name):
            for atom in _atoms(program.rules[number].body):
                found.setdefault(atom.predicate, []).append(atom)
                if atom.predicate not in seen:
                    seen.add(atom.predicate)
                    waiting.append(atom.predicate)
    return found


def _atoms(body: tuple[Literal, ...]) -> Iterator[Atom]:
    for literal in body:
        if isinstance(literal, Aggregate):
            yield from _atoms(literal.body)
        elif isinstance(literal, Positive | Negative):
            yield literal.atom


def unknown_columns(row: Row, atoms: Sequence[Atom]) -> tuple[int, ...]:
    """Give the columns of a row that some atom reads, that it may match, and that are not known."""
    found: dict[int, None] = {}
    cells: OpenRow = row
    for atom in atoms:
        pairs = list(zip(atom.terms, cells, strict=True))
        if all(not isinstance(term, Constant) or _may_be(term.value, cell) for term, cell in pairs):
            for column, (term, cell) in enumerate(pairs):
                if _may_be_any(cell) and not is_wildcard(term):
                    found[column] = None
    return tuple(sorted(found))


def _may_be(value: Slot, cell: Slot) -> bool:
    return value == cell or _may_be_any(cell)


def _may_be_any(cell: object) -> bool:
    return isinstance(cell, NullCell) and not cell.policy.is_empty


def _subject(predicate: Predicate, row: Row) -> str:
    """Name a row by its key, or else by what is known of it."""
    cells: OpenRow = row
    places = predicate.key or tuple(range(len(row)))
    known = [place for place in places if not isinstance(cells[place], NullCell)]
    columns = predicate.columns
    shown = {p: show_value(cells[p], columns[p].kind, columns[p].name) for p in known}
    if predicate.key:
        return f"{words(predicate.name)} {', '.join(shown.values())}"
    listed = ", ".join(f"{words(columns[place].name)} {text}" for place, text in shown.items())
    return f"{words(predicate.name)} with {listed}" if listed else f"a {words(predicate.name)}"


# A demand that was not recorded, and that no wider answer serves, is left unanswered, so it is
# open.

OpenGap = tuple[str, "OpenRow"]
"""A predicate and the shape of a row that may exist."""

_SUPPOSED = Evidence("supposed", Origin.CONFIG, "supposed", "")


@frozen
class Supposition:
    """What a replay takes for granted besides the recorded answers.

    ``accepted`` are the accepted assumptions; openings in ``closed`` are left out (nothing of that
    shape exists), and the ground ones in ``present`` are facts instead.  ``known`` are predicates,
    rows, and what these are where nobody knows all their cells.
    """

    accepted: frozenset[Assumption] = frozenset()
    closed: frozenset[OpenGap] = frozenset()
    present: frozenset[OpenGap] = frozenset()
    known: frozenset[tuple[str, Row, Row]] = frozenset()


class RecordedExternals(dict[str, "ExternalPredicate"]):
    """Recorded answers as external predicates, ready for an engine."""

    def __init__(
        self,
        calls: Iterable[Call],
        supposition: Supposition | None = None,
        costs: Externals | None = None,
    ) -> None:
        super().__init__()
        book = AnswerBook(calls)
        for predicate in {*book.predicates(), *(costs or ())}:
            cost = 1 if costs is None or predicate not in costs else costs[predicate].cost
            self[predicate] = _Replay(
                predicate, book.of(predicate), supposition or Supposition(), cost
            )


class _Replay:
    """One predicate, answered from the record."""

    def __init__(
        self, predicate: str, answers: Answers, supposition: Supposition, cost: int
    ) -> None:
        self.cost = cost
        self._predicate = predicate
        self._answers = answers
        self._accepted = supposition.accepted
        self._openings: dict[OpenRow, Opening] = {}
        self._plain: dict[Row, Evidence] = {}
        self._closed = supposition.closed
        self._present = supposition.present
        self._known = {row: new for name, row, new in supposition.known if name == predicate}
        self._sort_rows()
        self._sort_openings()
        self._suppose()
        self._open_rows = Relation(self._openings)
        self._rows = Relation(self._plain)

    def _holds(self, assumption: Assumption | None) -> bool:
        return is_accepted(assumption, self._accepted)

    def _sort_rows(self) -> None:
        for row, grounds in self._answers.rows.items():
            held = next((one for one in grounds if self._holds(one.assumption)), None)
            if held is not None:
                self._plain[self._known.get(row, row)] = held.evidence
            elif grounds[0].evidence.fills is not None:
                told = grounds[0].filled(row).held(self._holds)
                self._plain[told.row] = told.evidence
            else:
                self._openings[row] = Opening(row, "rests on what is not accepted", "")

    def _sort_openings(self) -> None:
        for row, by_assumption in self._answers.openings.items():
            for assumption, opening in by_assumption.items():
                if assumption is None or assumption not in self._accepted:
                    self._openings[row] = Opening(row, opening.reason, opening.tier)

    def _suppose(self) -> None:
        for predicate, row in self._closed:
            if predicate == self._predicate:
                self._openings.pop(row, None)
        for predicate, row in self._present:
            if predicate == self._predicate:
                self._openings.pop(row, None)
                self._plain[row] = _SUPPOSED  # type: ignore[index]  # only ground rows are supposed

    def _is_answered(self, columns: Columns, key: Row, arity: int) -> bool:
        if next(self._answers.serving(columns, key), None) is not None:
            return True
        places = dict(zip(columns, key, strict=True))
        gap = (self._predicate, tuple(places.get(column, OPEN) for column in range(arity)))
        return gap in self._closed or gap in self._present

    def answer(self, demand: Demand) -> Answer:
        """Answer what the record answers; wider answers are filtered to the keys."""
        columns = demand.columns
        arity = demand.predicate.arity
        answered = [key for key in demand.keys if self._is_answered(columns, key, arity)]
        # Grouped by identity: an evidence may name thousands of parameters.
        portions: dict[int, tuple[Evidence, dict[Row, None]]] = {}
        for row in self._found(self._rows, columns, demand.keys):
            evidence = self._plain[row]  # type: ignore[index]  # plain rows are ground
            portions.setdefault(id(evidence), (evidence, {}))[1][row] = None  # type: ignore[index]
        openings = dict.fromkeys(self._found(self._open_rows, columns, demand.keys))
        return Answer(
            tuple(Portion(tuple(rows), evidence) for evidence, rows in portions.values()),
            tuple(self._openings[row] for row in openings),
            frozenset(answered),
        )

    @staticmethod
    def _found(relation: Relation, columns: Columns, keys: Iterable[Row]) -> Iterator[OpenRow]:
        for key in keys:
            yield from relation.matching(columns, key)


# No tier is called; accepted assumptions are made plain and all others open, so one evaluation in
# the hard reading answers "what if exactly these hold" (semantics 10).


@slotted
class Budget:
    """How often and how long recorded answers may be evaluated again."""

    runs: int = 200
    seconds: float = 10.0
    started: float = field(default_factory=time.monotonic)

    def is_spent(self) -> bool:
        """Tell whether no run is left."""
        return self.runs <= 0 or time.monotonic() - self.started > self.seconds

    def spend(self) -> bool:
        """Take one run; tell whether there was one left."""
        if self.is_spent():
            return False
        self.runs -= 1
        return True


@frozen
class Replay:
    """An outcome whose recorded answers can be evaluated again."""

    engine: Engine
    outcome: Outcome
    externals: Externals
    limits: Limits
    budget: Budget

    def evaluate(self, supposition: Supposition) -> Outcome:
        """Evaluate on recorded answers under a supposition."""
        program = accept_rules(self.outcome.program, supposition.accepted)
        recorded = RecordedExternals(self.outcome.calls, supposition, self.externals)
        return self.engine.evaluate(program, self.outcome.goal, recorded, self.limits, exhaust=True)

    def accepting(self, accepted: Iterable[Assumption]) -> Reading:
        """Return the reading that accepts exactly these assumptions, with their parts."""
        chosen = frozenset(with_parts(accepted))
        outcome = self.evaluate(Supposition(chosen))
        original = self.outcome
        return Reading(original.program, original.calls, outcome, chosen, CERTAIN, CONCEIVABLE)

    def decides(self, accepted: Iterable[Assumption], wanted: int) -> Reading | None:
        """Return the reading if it gives the goal the wanted strength, 3 or -1."""
        if not self.budget.spend():
            return None
        reading = self.accepting(accepted)
        return reading if reading.outcome.strength(self.outcome.goal) == wanted else None


@frozen
class Minimal:
    """A reading that decides the goal; ``proven`` when no assumption of it can be dropped."""

    reading: Reading
    proven: bool


def minimal_reading(
    replay: Replay, every: Reading, used: Sequence[Assumption], wanted: int
) -> Minimal:
    """Drop assumptions one by one, the least confident first, as long as the goal stays decided."""
    best = replay.decides(used, wanted)
    if best is None:
        best = replay.decides(every.accepted, wanted)
    if best is None:
        # Recorded answers do not reach: the accepting reading of the first outcome stands.
        return Minimal(every, proven=False)
    # What has parts goes first: they stay accepted as long as it is.
    for assumption in sorted(
        best.accepted, key=lambda one: (not one.parts, one.confidence, one.kind, one.text)
    ):
        if replay.budget.is_spent():
            return Minimal(best, proven=False)
        if any(assumption in one.parts for one in best.accepted):
            continue
        best = replay.decides(best.accepted - {assumption}, wanted) or best
    return Minimal(best, proven=True)


# Every gap matches an open row that the certificate shows.  Greedy and within a budget (semantics
# 10): where the budget ends, the list still decides the goal but may be longer than needed.

_MOST_LISTED = 100
_MOST_EXPLAINED = 8

Shape = tuple[str, "OpenRow"]


@frozen
class Gap:
    """An open row that matters: ask for it, and the goal may be decided.

    ``if_true`` and ``if_false`` say what the goal becomes when the gap alone is answered by this
    row, or by "there is none": ``proved``, ``disproved``, ``open``, or empty where it was not
    tried. ``key`` are the cells of a declared key.
    """

    predicate: str
    row: OpenRow
    reason: str
    tier: str
    if_true: str = ""
    if_false: str = ""
    key: OpenRow = ()

    @property
    def contested(self) -> bool:
        """Whether only the source itself can decide it."""
        return is_contested(self.reason)

    @property
    def shape(self) -> Shape:
        """The predicate and the row."""
        return (self.predicate, self.row)


def find_gaps(replay: Replay, proof: Proof) -> tuple[tuple[Gap, ...], int]:
    """Find what would decide the goal; at least the openings it rests on.

    Also counts those that are left out of the list.
    """
    candidates = _openings(proof)
    if not candidates:
        return (), 0
    if replay.outcome.strength(replay.outcome.goal) in {CERTAIN, ABSENT}:
        # Evaluation decides it, so answers that it tries out say nothing about the certificate.
        some = tuple(candidates[:_MOST_LISTED])
        return some, len(candidates) - len(some)
    accepted = frozenset(
        assumptions_met(replay.outcome.program, replay.outcome.calls, replay.limits.running())
    )
    search = _Search(replay, accepted, candidates)
    chosen = list(_with_rivals(search.smallest(), candidates))
    listed = enumerate(chosen[:_MOST_LISTED])
    gaps = tuple(search.explained(gap, place) for place, gap in listed)
    return gaps, len(chosen) - len(gaps)


def _with_rivals(chosen: Iterable[Gap], candidates: Sequence[Gap]) -> Iterator[Gap]:
    """Add to each contested row those that contradict it: people have to see both."""
    told: set[Shape] = set()
    for gap in chosen:
        same = [one for one in candidates if gap.contested and one.contested]
        same = [one for one in same if one.predicate == gap.predicate and one.key == gap.key]
        for one in same or (gap,):
            if one.shape not in told:
                told.add(one.shape)
                yield one


def _openings(proof: Proof) -> list[Gap]:
    """List the open rows under which the goal is possible and that no assumption would close."""
    found: dict[Shape, Gap] = {}
    outside = proof.slice.outside
    for predicate, columns, key in sorted(outside.usage.every(), key=str):
        side = outside.side(predicate)
        for row in side.rows.matching(columns, key):
            opening = side.openings.get(row, {}).get(None)
            if opening is not None and (predicate, row) not in found:
                declared = proof.reading.program.program.predicates[predicate]
                named = tuple(row[place] for place in declared.key)
                found[predicate, row] = Gap(predicate, row, opening.reason, opening.tier, key=named)
    return list(found.values())


class _Search:
    """Tries answers to gaps on the record."""

    def __init__(
        self, replay: Replay, accepted: frozenset[Assumption], candidates: list[Gap]
    ) -> None:
        self.replay = replay
        self.accepted = accepted
        self.candidates = candidates

    def smallest(self) -> list[Gap]:
        """Return the smaller of two minimal sets: answers that say yes, or answers that say no."""
        ground = [gap for gap in self.candidates if OPEN not in gap.row]
        by_yes = self._minimal(ground, yes=True) if ground else None
        by_no = self._minimal(self.candidates, yes=False)
        found = [one for one in (by_yes, by_no) if one is not None]
        return min(found, key=len) if found else self.candidates

    def strength(self, gaps: list[Gap], *, yes: bool) -> int | None:
        """Return the goal's strength with gaps answered; ``None`` when the budget is spent."""
        if not self.replay.budget.spend():
            return None
        shapes = frozenset(gap.shape for gap in gaps)
        nothing: frozenset[Shape] = frozenset()
        present, closed = (shapes, nothing) if yes else (nothing, shapes)
        supposition = Supposition(self.accepted, closed=closed, present=present)
        return self.replay.evaluate(supposition).strength(self.replay.outcome.goal)

    def _decided(self, gaps: list[Gap], *, yes: bool) -> bool:
        return self.strength(gaps, yes=yes) in {CERTAIN, ABSENT}

    def _minimal(self, gaps: list[Gap], *, yes: bool) -> list[Gap] | None:
        """Drop gaps in halving chunks as long as the rest decides; ``None`` if all do not."""
        if not self._decided(gaps, yes=yes):
            return None
        kept, size = list(gaps), max(1, len(gaps) // 2)
        while True:
            at = 0
            while at < len(kept):
                rest = kept[:at] + kept[at + size :]
                if rest and self._decided(rest, yes=yes):
                    kept = rest
                else:
                    at += size
            if size == 1:
                return kept
            size = max(1, size // 2)

    def explained(self, gap: Gap, place: int) -> Gap:
        """Say what the gap alone would decide."""
        if place >= _MOST_EXPLAINED or gap.contested:
            return gap
        if_false = _word(self.strength([gap], yes=False))
        if OPEN in gap.row:
            return replace(gap, if_false=if_false)
        return replace(gap, if_true=_word(self.strength([gap], yes=True)), if_false=if_false)


def _word(strength: int | None) -> str:
    match strength:
        case None:
            return ""
        case 3:
            return "proved"
        case -1:
            return "disproved"
        case _:
            return "open"


# What nobody knows is tried with values: all cells at once, then fewer as long as the goal stays
# decided.  So a cell that is named matters; that another value of it may leave more open is so for
# every gap.

Cell = tuple[int, int]
"""The place of an unknown row among those that may matter, and a column."""
_MOST_TRIED: Final = 400
_MOST_CHOICES: Final = 20
_MOST_CONSTANTS: Final = 4
# Values that nothing has, below and above all others.
_FAR: Final[Mapping[Kind, tuple[Value, Value]]] = MappingProxyType(
    {
        Kind.NUMBER: (-(10**9) - 7, 10**9 + 7),
        Kind.UNSIGNED: (0, 10**9 + 7),
        Kind.FLOAT: (-1e9 - 7, 1e9 + 7),
        Kind.DECIMAL: (Decimal(-(10**9) - 7), Decimal(10**9 + 7)),
        Kind.SYMBOL: ("\x02 nothing is called so", "\uffee nothing is called so"),
        Kind.DATE: ("0001-01-01", "9999-12-31"),
        Kind.TIMESTAMP: ("0001-01-01T00:00:00.000000Z", "9999-12-31T00:00:00.000000Z"),
        Kind.BOOL: ("false", "true"),
    }
)


def deciding_cells(replay: Replay, rows: Sequence[UnknownRow]) -> tuple[UnknownRow, ...]:
    """Leave of unknown rows the cells whose values would decide the goal: none could be left out.

    All of them where no values that are tried decide it, or the budget is spent first.
    """
    if sum(len(one.columns) for one in rows) > _MOST_TRIED:
        return tuple(rows)
    search = _CellSearch(replay, rows)
    best: list[Cell] = []
    values: Mapping[Kind, Value] = {}
    for tried in search.values():
        found = search.smallest(tried)
        if found and (not best or len(found) < len(best)):
            best, values = found, tried
        if len(best) == 1:
            break
    if len(best) == 1:
        choices = [one for one in search.cells[:_MOST_CHOICES] if search.decides([one], values)]
        if len(choices) > 1:
            return tuple(_named(rows, choices, len(choices)))
    return tuple(_named(rows, best, 0)) if best else tuple(rows)


def _named(rows: Sequence[UnknownRow], cells: Sequence[Cell], any_of: int) -> Iterator[UnknownRow]:
    for place, row in enumerate(rows):
        columns = tuple(column for at, column in cells if at == place)
        if columns:
            yield replace(row, columns=columns, any_of=any_of)


class _CellSearch:
    """Tries values for unknown cells on the record."""

    def __init__(self, replay: Replay, rows: Sequence[UnknownRow]) -> None:
        self.replay = replay
        self.rows = rows
        self.cells: list[Cell] = [
            (place, column) for place, row in enumerate(rows) for column in row.columns
        ]
        outcome = replay.outcome
        met = assumptions_met(outcome.program, outcome.calls, replay.limits.running())
        self.accepted = frozenset(met)

    def values(self) -> Iterator[Mapping[Kind, Value]]:
        """Yield values to try, one for each kind: far ones, then those that the rules name."""
        program, goal = self.replay.outcome.program, self.replay.outcome.goal
        named: dict[Kind, dict[Value, None]] = {}
        for atoms in atoms_read(program, goal).values():
            for term in (term for atom in atoms for term in atom.terms):
                if isinstance(term, Constant):
                    named.setdefault(term.kind, {})[term.value] = None
        for far in zip(*_FAR.values(), strict=True):
            yield dict(zip(_FAR, far, strict=True))
        for number in range(min(_MOST_CONSTANTS, max(map(len, named.values()), default=0))):
            said = {kind: list(one)[number] for kind, one in named.items() if len(one) > number}
            for far in zip(*_FAR.values(), strict=True):
                yield {**dict(zip(_FAR, far, strict=True)), **said}

    def decides(self, cells: Sequence[Cell], values: Mapping[Kind, Value]) -> bool:
        """Tell whether the goal is decided where these cells have such values."""
        if not self.replay.budget.spend():
            return False
        told: dict[int, dict[int, Value]] = {}
        for place, column in cells:
            kind = self.rows[place].predicate.columns[column].kind
            if kind in values:
                told.setdefault(place, {})[column] = values[kind]
        known = frozenset(
            (
                self.rows[place].predicate.name,
                self.rows[place].row,
                tuple(new.get(at, cell) for at, cell in enumerate(self.rows[place].row)),
            )
            for place, new in told.items()
        )
        outcome = self.replay.evaluate(Supposition(self.accepted, known=known))
        return outcome.strength(self.replay.outcome.goal) in {CERTAIN, ABSENT}

    def smallest(self, values: Mapping[Kind, Value]) -> list[Cell]:
        """Drop cells in halving chunks as long as the rest decides; none where all do not."""
        if not self.decides(self.cells, values):
            return []
        kept, size = list(self.cells), max(1, len(self.cells) // 2)
        while True:
            at = 0
            while at < len(kept):
                rest = kept[:at] + kept[at + size :]
                if rest and self.decides(rest, values):
                    kept = rest
                else:
                    at += size
            if size == 1:
                return kept
            size = max(1, size // 2)
