"""The slice of the world that a verdict needs, walked as a checker walks it (FORMAT.md, 6)."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias, cast

from constat.frozen import frozen, slotted
from constat.logic import OPEN, add_exactly, is_beyond
from constat.proof.groups import Aggregates, Group
from constat.proof.instances import (
    AggregateCode,
    Binding,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    compile_rule,
    is_ground,
    is_hole,
    is_known,
    is_starred,
    known_columns,
    opened,
    order_of,
)
from constat.proof.outside import Outside, Relation, has_none
from constat.proof.reading import TooLargeError, look_at, timely
from constat.proof.sentences import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from constat.evaluation import DemandEntry
    from constat.logic import OpenRow, Row, Value
    from constat.proof.groups import GroupKey, Walker
    from constat.proof.instances import (
        AtomCode,
        Cell,
        LiteralCode,
        Pattern,
        RuleCode,
        Test,
        ThresholdCode,
    )
    from constat.proof.outside import AnswerBook, Columns, Fact
    from constat.proof.reading import Reading
    from constat.proof.sentences import Speech

# The most a group may reach is found as a checker finds it (FORMAT.md, section 6), look-up by
# look-up, so that every pattern it asks for is served by the certificate.

Number = int | Decimal


@frozen
class Top:
    """``total`` is ``None`` where nobody knows the most there can be.

    ``grows`` tells that every possible summand is known not to be negative.
    """

    total: Number | None
    grows: bool


@frozen
class Summand:
    """An assignment: values of the local variables, a fact for each positive literal."""

    values: tuple[Value, ...]
    premises: tuple[Fact | None, ...]


@frozen
class Listed:
    """What carries a threshold of a node; ``total`` is a lower bound of its result."""

    summands: tuple[Summand, ...]
    total: Number

    def premises(self) -> Iterator[Fact]:
        """Yield the facts the total rests on."""
        for summand in self.summands:
            yield from (premise for premise in summand.premises if premise is not None)


class Growth:
    """Evaluates the groups of a slice's thresholds, each once."""

    def __init__(self, owner: Walker) -> None:
        self._owner = owner
        self._known: dict[GroupKey, Top] = {}

    def restart(self) -> None:
        """Forget the totals: rows have been added."""
        self._known.clear()

    def top(self, code: RuleCode, place: int, literal: AggregateCode, binding: Binding) -> Top:
        """Return what the possible rows of the binding's group may add up to."""
        group = tuple([binding[slot] for slot in literal.outer])
        if not all(map(is_known, group)):
            return Top(None, grows=False)
        key = (code.number, place, group)
        known = self._known.get(key)
        if known is None:
            start: Binding = [None] * len(code.names)
            for slot, value in zip(literal.outer, group, strict=True):
                start[slot] = value
            known = self._known[key] = self._top(literal, start)
        return known

    def may_exceed(self, threshold: ThresholdCode, top: Top, binding: Binding) -> bool:
        """Tell whether a total may exceed the bound under a binding."""
        bound = threshold.bound.evaluate(binding)
        if top.total is None or not is_known(bound):
            return True
        return is_beyond(top.total, threshold.operator, cast("Number", bound))

    def _top(self, literal: AggregateCode, start: Binding) -> Top:
        total: Number | None = 0
        grows = True
        for cells, binding in Group(self._owner, literal).distinct(start).items():
            value = summand(literal, binding)
            grows &= value is not None and value >= 0
            # A row with ⋆ stands for any number of rows.
            if value is None or not is_ground(cells):
                total = None
            elif total is not None:
                total = add_exactly(total, max(value, 0))
        return Top(total, grows)


def summand(literal: AggregateCode, binding: Binding) -> Number | None:
    """Return what an assignment adds; ``None`` where nobody knows it."""
    if literal.target is None:
        return 1
    value = literal.target.evaluate(binding)
    return cast("Number", value) if is_known(value) else None


def listed(
    code: RuleCode,
    literal: AggregateCode,
    values: Sequence[Value],
    assignments: Iterable[Mapping[str, Value]],
) -> Listed:
    """Return assignments of local variables, by name, as summands with their premises."""
    outer: list[Cell] = [*values, *[None] * (len(code.names) - code.outer)]
    total: Number = 0
    found: list[Summand] = []
    for assignment in assignments:
        binding = list(outer)
        cells = tuple([assignment[code.names[slot]] for slot in literal.inner])
        for slot, value in zip(literal.inner, cells, strict=True):
            binding[slot] = value
        total = add_exactly(total, summand(literal, binding) or 0)
        found.append(Summand(cells, tuple(premises_of(literal, binding))))
    return Listed(tuple(found), total)


def bound_by(code: RuleCode, literal: AggregateCode, one: Summand, binding: Binding) -> Binding:
    """Return the binding of a node with a summand's local variables bound."""
    extended: Binding = [*binding[: code.outer], *[None] * (len(code.names) - code.outer)]
    for slot, value in zip(literal.inner, one.values, strict=True):
        extended[slot] = value
    return extended


def premises_of(literal: AggregateCode, binding: Binding) -> Iterator[Fact | None]:
    """Yield the fact of each positive literal of an assignment, and nothing for the others."""
    for test in literal.body:
        if isinstance(test, PositiveCode):
            row = cast("Row", test.atom.pattern(binding))
            yield test.atom.predicate, row
        else:
            yield None


def has_negations(literal: AggregateCode) -> bool:
    """Tell whether a summand rests on an absence."""
    return any(isinstance(test, NegativeCode) for test in literal.body)


# Every pattern that was looked up is served by an entry; rows an engine did not have are added,
# never dropped.

Orders = dict[int, tuple[int, ...]]


@slotted
class Entry:
    """The keys of some columns of a predicate, and the order of each rule's body for them."""

    predicate: str
    columns: Columns
    orders: Orders
    keys: dict[Row, None] = field(default_factory=dict)


class Inside:
    """The derived predicates of a reading."""

    def __init__(
        self, reading: Reading, order_of: Callable[[int, Columns], tuple[int, ...]]
    ) -> None:
        self.reading = reading
        self.entries: dict[tuple[str, Columns], Entry] = {}
        self.waiting: list[tuple[Entry, Row]] = []
        self.changed = False
        self._order_of = order_of
        self._relations: dict[str, Relation] = {}
        self._certain: dict[str, frozenset[OpenRow]] = {}
        self._found: dict[tuple[str, Columns, Row], list[OpenRow]] = {}
        self._promised: dict[str, dict[Columns, set[Row]]] = {}
        self._demands: dict[str, list[DemandEntry]] = {}
        for demand in reading.outcome.demands:
            self._demands.setdefault(demand.predicate, []).append(demand)
        for demands in self._demands.values():
            demands.sort(key=lambda one: -len(one.columns))

    def restart(self) -> None:
        """Forget what was used, not what was found out."""
        self.changed = False
        self.waiting.clear()
        self._found.clear()
        self.entries.clear()

    def relation(self, predicate: str) -> Relation:
        """Return all possible rows known of a predicate."""
        relation = self._relations.get(predicate)
        if relation is None:
            rows = self.reading.outcome.rows(predicate, self.reading.possible)
            relation = self._relations[predicate] = Relation(rows)
        return relation

    def is_certain(self, predicate: str, row: OpenRow) -> bool:
        """Tell whether the engine has a derivation of the row in this reading."""
        rows = self._certain.get(predicate)
        if rows is None:
            rows = frozenset(self.reading.outcome.rows(predicate, self.reading.certain))
            self._certain[predicate] = rows
        return row in rows

    def add(self, predicate: str, row: OpenRow) -> None:
        """Add a row that the rules give and no known row covers."""
        self.relation(predicate).add(row)
        self.changed = True

    def possible(self, predicate: str, pattern: Pattern) -> list[OpenRow]:
        """Return the possible rows that match a pattern."""
        columns, key = known_columns(pattern)
        found = self._found.get((predicate, columns, key))
        if found is not None:
            return found
        unknown = is_starred(pattern)
        served = self._serving(predicate, columns, key, recorded_only=unknown)
        if served is None:
            return [opened(pattern)]
        entry, projected = served
        if projected not in entry.keys:
            entry.keys[projected] = None
            self.waiting.append((entry, projected))
        found = self._found[predicate, columns, key] = self.relation(predicate).matching(
            columns, key
        )
        return found

    def is_active(self, predicate: str, row: Row) -> bool:
        """Tell whether an entry in use serves a ground pattern."""
        return any(
            tuple([row[column] for column in columns]) in entry.keys
            for (name, columns), entry in self.entries.items()
            if name == predicate
        )

    def promise(self, predicate: str, columns: Columns, key: Row) -> bool:
        """Let a key that is shown serve narrower patterns from now on; tell whether that is new."""
        promised = self._promised.setdefault(predicate, {}).setdefault(columns, set())
        new = key not in promised
        promised.add(key)
        return new

    def is_served(self, predicate: str, columns: Columns, key: Row) -> bool:
        """Tell whether the engine was asked for all that matches a pattern, or it is shown."""
        return self._key_serving(predicate, dict(zip(columns, key, strict=True))) is not None

    def _key_serving(
        self, predicate: str, places: dict[int, Value]
    ) -> tuple[Columns, Row, DemandEntry | None] | None:
        """Return the columns and key that serve a pattern: those of a demand, or promised ones."""
        demands = self._demands.get(predicate, ())
        for demand in demands:
            if all(column in places for column in demand.columns):
                projected = tuple([places[column] for column in demand.columns])
                if projected in demand.keys:
                    return demand.columns, projected, demand
        for columns, keys in self._promised.get(predicate, {}).items():
            if all(column in places for column in columns):
                projected = tuple([places[column] for column in columns])
                if projected in keys:
                    same = (one for one in demands if one.columns == columns)
                    return columns, projected, next(same, None)
        return None

    def _serving(
        self, predicate: str, columns: Columns, key: Row, *, recorded_only: bool
    ) -> tuple[Entry, Row] | None:
        places = dict(zip(columns, key, strict=True))
        found = self._key_serving(predicate, places)
        if found is not None:
            bound, projected, demand = found
            return self._entry(predicate, bound, demand), projected
        if recorded_only:
            return None
        for demand in self._demands.get(predicate, ()):
            if all(column in places for column in demand.columns):
                projected = tuple([places[column] for column in demand.columns])
                return self._entry(predicate, demand.columns, demand), projected
        return self._entry(predicate, columns, None), key

    def _entry(self, predicate: str, columns: Columns, demand: DemandEntry | None) -> Entry:
        entry = self.entries.get((predicate, columns))
        if entry is None:
            orders: Orders = {}
            for number in self.reading.program.rule_numbers(predicate):
                known = None if demand is None else demand.orders.get(number)
                orders[number] = self._order_of(number, columns) if known is None else tuple(known)
            entry = self.entries[predicate, columns] = Entry(predicate, columns, orders)
        return entry

    def shown_rows(self) -> dict[str, list[OpenRow]]:
        """Return the rows within the demanded slice, by predicate."""
        shown: dict[str, dict[OpenRow, None]] = {}
        for entry in self.entries.values():
            relation = self.relation(entry.predicate)
            rows = shown.setdefault(entry.predicate, {})
            for key in entry.keys:
                rows.update(dict.fromkeys(relation.matching(entry.columns, key)))
        return {predicate: list(rows) for predicate, rows in shown.items() if rows}

    def covers(self, predicate: str, head: OpenRow) -> bool:
        """Tell whether a known row covers a head."""
        return self.relation(predicate).covers(head)


def filled_head(pattern: Pattern, columns: Columns, key: Row) -> OpenRow | None:
    """Return a head for a key: holes there take the key's value; ``None`` if it differs."""
    head: list[object] = list(pattern)
    for column, value in zip(columns, key, strict=True):
        if is_hole(pattern[column]):
            head[column] = value
        elif pattern[column] != value and is_known(pattern[column]):
            return None
    return tuple([OPEN if is_hole(cell) else cell for cell in head])  # type: ignore[arg-type, misc]


# At the end every demanded key was run through every rule, and each head obtained is covered by a
# row of the closure; so what is outside the closure is false (Tarski, 1955).
# Where a run finds a row or an opening that nobody knew of, earlier look-ups may have missed it,
# so the walk starts again with it.  So it does where a look-up was taken for one that nothing
# serves, and what is shown for another one serves it: a checker finds the rows there.  Rows and
# promises are only ever added, so this ends where evaluation does.

Shown: TypeAlias = "Mapping[tuple[str, Columns], AbstractSet[Row]]"
MOST_STEPS = 50_000_000
"""How much of the world a proof may look at; a checker counts steps of its own."""
_MOST_PASSES = 10_000
_STEPS_A_LOOK = 1_000


class Slice:
    """Everything a verdict rests on, found by walking from its roots."""

    def __init__(
        self, reading: Reading, steps: int | None = None, book: AnswerBook | None = None
    ) -> None:
        self.reading = reading
        self.program = reading.program
        self.codes: dict[int, RuleCode] = {}
        self.outside = Outside(reading, book)
        self.inside = Inside(reading, lambda number, columns: order_of(self.code(number), columns))
        self.derived = frozenset(rule.head.predicate for rule in self.program.rules)
        self.aggregates = Aggregates(self)
        self.growth = Growth(self)
        self.consulted: dict[Fact, None] = {}
        self.steps = MOST_STEPS if steps is None else steps
        self._unlooked = 0
        self._by_node: dict[Fact, None] = {}
        self._not_by_node: set[Fact] = set()
        # Facts that have nodes, once the roots have been derived.
        self.nodes: Container[Fact] = self.consulted
        self._unserved: set[tuple[str, Columns, Row]] = set()
        self._has_node: set[Fact] = set()
        # An upper bound needs no look at what is negated; whoever asks what is missing does.
        self.shows_negated = False
        # How what is met is said.
        self.speech: Speech = PLAIN

    def code(self, number: int) -> RuleCode:
        """Return a rule, compiled once."""
        code = self.codes.get(number)
        if code is None:
            code = self.codes[number] = self.program.remembered(
                ("code", number), lambda: compile_rule(self.program, number)
            )
        return code

    def walk(self, roots: Callable[[], None]) -> None:
        """Look up what ``roots`` looks up, until everything it rests on is known."""
        for _ in range(_MOST_PASSES):
            self.outside.restart()
            self.inside.restart()
            self.aggregates.restart()
            self.growth.restart()
            self.consulted.clear()
            self._by_node.clear()
            self._unserved.clear()
            roots()
            self.settle()
            changed = self.outside.changed or self.inside.changed
            # Both are asked: each notes what the next walk must know.
            if not any([changed, self._served_anyway(), self._serves_more()]):
                return
        raise TooLargeError

    def settle(self) -> None:
        """Run the rules for every key that waits."""
        waiting = self.inside.waiting
        while waiting:
            entry, key = waiting.pop()
            for number, order in entry.orders.items():
                self._run(entry, key, number, order)

    def possible(
        self, predicate: str, pattern: Pattern, unread: AbstractSet[int] = frozenset()
    ) -> list[OpenRow]:
        """Return the possible rows that match a pattern, from outside and derived.

        ``unread`` are columns of which the pattern asks nothing, not even that there is a value.
        """
        if all(map(is_known, pattern)) and self._is_shown_by_node(predicate, pattern):  # type: ignore[arg-type]
            return [pattern]  # type: ignore[list-item]  # ground
        found: list[OpenRow] | None = None
        if is_starred(pattern):
            self._note_unserved(predicate, pattern)
        if predicate in self.program.external:
            found = self._with_values(predicate, pattern, unread)
        if predicate in self.derived:
            rows = self.inside.possible(predicate, pattern)
            found = rows if found is None else found + rows
        self.spend(1 + len(found or ()))
        return found or []

    def _with_values(
        self, predicate: str, pattern: Pattern, unread: AbstractSet[int]
    ) -> list[OpenRow]:
        """Return the rows from outside that have a value wherever the pattern reads one."""
        found = self.outside.possible(predicate, pattern)
        none = self.outside.side(predicate).rows.columns_of_none
        read = none - unread
        return [row for row in found if not any(has_none(row[c]) for c in read)] if read else found

    def spend(self, steps: int) -> None:
        """Take steps; raises ``TooLargeError`` where there are no more, or no time."""
        self.steps -= steps
        if self.steps < 0:
            raise TooLargeError
        self.look(steps)

    def look(self, steps: int) -> None:
        """Look at the clock after so many steps and again; raises ``LateError``."""
        self._unlooked += steps
        if self._unlooked > _STEPS_A_LOOK:
            self._unlooked = 0
            look_at(self.reading.clock)

    def _is_shown_by_node(self, predicate: str, row: Row) -> bool:
        """Tell whether a node stands for all that a ground pattern may match.

        An engine runs no further rule once a ground row is certain.  Running them here would ask
        what it left unasked, and open what nobody needs; the row's derivation says enough.
        """
        fact = (predicate, row)
        if fact in self._by_node:
            return True
        if fact in self._not_by_node or self._is_looked_up(predicate, row):
            return False
        if not self.is_certain(predicate, row):
            return False
        self._by_node[fact] = self.consulted[fact] = None
        return True

    def _is_looked_up(self, predicate: str, row: Row) -> bool:
        """Tell whether rows that are shown anyway answer a ground pattern."""
        if predicate in self.derived:
            return self.inside.is_active(predicate, row)
        return self.outside.is_served(predicate, row)

    def _served_anyway(self) -> bool:
        """Tell whether something shown serves a pattern that a node stands for.

        A checker then looks there, and the node would be there for nothing.
        """
        covered, keyed = self._shown()
        served = [
            (name, row)
            for name, row in self._by_node
            if _serves(covered, name, range(len(row)), row)
            or _serves(keyed, name, range(len(row)), row)
        ]
        self._not_by_node.update(served)
        return bool(served)

    def _serves_more(self) -> bool:
        """Tell whether something shown serves a pattern that was taken for one without.

        It is promised to the next walk, which looks there as a checker does.
        """
        if not self._unserved:
            return False
        covered, keyed = self._shown()
        more = False
        for name, columns, key in self._unserved:
            outside = _serves(covered, name, columns, key)
            if outside is not None and name in self.program.external:
                more |= self.outside.promise(name, *outside)
            inside = _serves(keyed, name, columns, key)
            if inside is not None and name in self.derived:
                more |= self.inside.promise(name, *inside)
            if (name, key) in self.nodes and (name, key) not in self._has_node:
                self._has_node.add((name, key))
                more = True
        return more

    def _shown(self) -> tuple[Shown, Shown]:
        """Return the patterns that coverage and closure serve, by predicate and columns."""
        covered: dict[tuple[str, Columns], set[Row]] = {}
        for predicate, columns, key in self.outside.usage.covered:
            covered.setdefault((predicate, columns), set()).add(key)
        keyed: Shown = {
            (predicate, columns): entry.keys.keys()
            for (predicate, columns), entry in self.inside.entries.items()
        }
        return covered, keyed

    def is_served(self, predicate: str, pattern: Pattern) -> bool:
        """Tell whether the certificate will say all that matches a pattern."""
        if all(map(is_known, pattern)) and (predicate, pattern) in self._has_node:
            return True
        if self._is_served(predicate, pattern):
            return True
        self._note_unserved(predicate, pattern)
        return False

    def _is_served(self, predicate: str, pattern: Pattern) -> bool:
        columns, key = known_columns(pattern)
        if predicate in self.program.external and not self.outside.is_served(predicate, pattern):
            return False
        return predicate not in self.derived or self.inside.is_served(predicate, columns, key)

    def _note_unserved(self, predicate: str, pattern: Pattern) -> None:
        """Remember a pattern that is taken as one that nothing serves, where it is one."""
        if not self._is_served(predicate, pattern):
            self._unserved.add((predicate, *known_columns(pattern)))

    def is_certain(self, predicate: str, row: OpenRow) -> bool:
        """Tell whether a ground row is certain; the proof then shows why."""
        if predicate in self.program.external and self.outside.is_certain(predicate, row):  # type: ignore[arg-type]
            return True
        if predicate in self.derived and self.inside.is_certain(predicate, row):
            self.consulted[predicate, row] = None  # type: ignore[index]  # the row is ground
            return True
        return False

    def _run(self, entry: Entry, key: Row, number: int, order: tuple[int, ...]) -> None:
        code = self.code(number)
        start = code.start(entry.columns, key)
        if start is None:
            return
        for binding in self.search(code, order, start):
            pattern = code.head.pattern(binding)
            head = filled_head(pattern, entry.columns, key)
            # A checker asks this of each instance, whether or not its head is covered.
            if head is None or self.aggregates.ruled_out(code, binding) is not None:
                continue
            if not self.inside.covers(entry.predicate, head):
                self.inside.add(entry.predicate, head)

    def search(self, code: RuleCode, order: tuple[int, ...], start: Binding) -> Iterator[Binding]:
        """Yield the bindings under which a body may be true; depth first, without recursion."""
        if not order:
            yield start
            return
        last = len(order) - 1
        stack = [iter(self.extend(code, order[0], start))]
        while stack:
            self.look(1)
            binding = next(stack[-1], None)
            if binding is None:
                stack.pop()
            elif len(stack) > last:
                yield binding
            else:
                stack.append(iter(self.extend(code, order[len(stack)], binding)))

    def extend(self, code: RuleCode, place: int, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which one literal may be true as well."""
        literal: LiteralCode = code.body[place]
        if isinstance(literal, AggregateCode):
            return self._aggregated(code, place, literal, binding)
        if isinstance(literal, PositiveCode) and literal.atom.predicate not in self.derived:
            pattern = literal.atom.pattern(binding)
            rows = self.outside.sift(code, place, pattern, binding)
            if rows is not None:
                self.spend(1 + len(rows))
                return self._unified(literal.atom, pattern, rows, binding)
        return self.tested(literal, binding)

    def _unified(
        self, atom: AtomCode, pattern: Pattern, rows: list[OpenRow], binding: Binding
    ) -> list[Binding]:
        extended = (atom.unify(pattern, row, binding) for row in timely(self.reading.clock, rows))
        return [one for one in extended if one is not None]

    def tested(self, literal: Test, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which a literal that is no aggregate may be true."""
        match literal:
            case PositiveCode(atom):
                pattern = atom.pattern(binding)
                rows = self.possible(atom.predicate, pattern, atom.unread)
                return self._unified(atom, pattern, rows, binding)
            case NegativeCode(atom):
                row = atom.pattern(binding)
                if is_ground(row):
                    if self.is_certain(atom.predicate, row):  # type: ignore[arg-type]
                        return ()
                    if self.shows_negated:
                        self.possible(atom.predicate, row)
                return (binding,)
            case ComparisonCode():
                return compared(literal, binding)

    def _aggregated(
        self, code: RuleCode, place: int, literal: AggregateCode, binding: Binding
    ) -> tuple[Binding, ...]:
        if literal.threshold is not None:
            return self._total(code, place, literal, literal.threshold, binding)
        value = self.aggregates.exact(code, place, literal, binding).value
        if value is None:
            return ()
        known = binding[literal.result]
        if is_hole(known):
            extended = list(binding)
            extended[literal.result] = value
            return (extended,)
        # A label may be any value, this one too.
        may_be = is_hole(value) or not is_known(known) or value == known
        return (binding,) if may_be else ()

    def _total(
        self,
        code: RuleCode,
        place: int,
        literal: AggregateCode,
        threshold: ThresholdCode,
        binding: Binding,
    ) -> tuple[Binding, ...]:
        """Keep what may exceed its bound; the comparison behind it is decided with that."""
        top = self.growth.top(code, place, literal, binding)
        if not self.growth.may_exceed(threshold, top, binding):
            return ()
        extended = list(binding)
        extended[literal.result] = OPEN
        return (extended,)


def _serves(
    shown: Shown, predicate: str, columns: Sequence[int], key: Row
) -> tuple[Columns, Row] | None:
    """Return what serves a pattern among what is shown: the same, or fewer columns."""
    places = dict(zip(columns, key, strict=True))
    for (name, wide), keys in shown.items():
        if name == predicate and all(column in places for column in wide):
            projected = tuple([places[column] for column in wide])
            if projected in keys:
                return wide, projected
    return None


def compared(literal: ComparisonCode, binding: Binding) -> tuple[Binding, ...]:
    """Return the binding, bound further by an assignment, or nothing where the test is false."""
    truth = literal.truth(binding)
    if truth is None:
        assigned = literal.assigned(binding)
        if assigned is None:
            raise ValueError("a comparison comes before what binds its variables")
        return (assigned,)
    return () if truth is False else (binding,)
