"""What a certificate's rows say about a pattern, and how far undecided rules get over them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from constat.logic import (
    OPEN,
    Comparison,
    Kind,
    Negative,
    NullCell,
    Open,
    Positive,
    format_value,
    literal_variables,
)
from constat.proof.decoding import NullText, decode_instance, decode_row, decode_value
from constat.proof.groups import Group, fold_exactly
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    compile_rule,
    is_hole,
    is_known,
    opened,
    order_of,
)
from constat.proof.levels import COMMITTED, DECLARED, DERIVED, INLINE, RERUNNABLE
from constat.proof.outside import Relation, has_none
from constat.proof.render import printable
from constat.proof.sentences import (
    Instance,
    bare_term,
    demand_comparison,
    describe_fact,
    describe_pattern,
    refute_comparison,
    say_folded,
    say_form,
    say_more,
    say_possible,
    show_value,
)
from constat.proof.whynot import Attempt
from constat.proof.written import original_row, written_body
from constat.syntax import print_literal, print_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from constat.logic import Atom, OpenRow, Row, Slot, Value
    from constat.proof.export.document import Document, Members, TextFact, TextRow
    from constat.proof.groups import Exact
    from constat.proof.instances import Binding, Cell, LiteralCode, Pattern, RuleCode, Test
    from constat.proof.sentences import Speech
    from constat.proof.written import Written

# Only rows that the certificate shows are looked at, and never more than `MOST_LOOKED_AT` of them
# for one aggregate.
# These are the `Rows` of `constat.proof.groups`, read from a file in place of an evaluation.

MOST_LOOKED_AT: Final = 200_000
_MOST_GROUPS: Final = 12
ELSEWHERE: Final = "its head is about other values"
_AUTHORITIES: Final = frozenset({"CONFIG", "DATABASE"})


class TooManyRowsError(ValueError):
    """The rows of an aggregate are too many to be listed."""


class Lookups:
    """The rows of a certificate, found by any columns."""

    def __init__(self, document: Document) -> None:
        self.document = document
        predicates = document.program.program.predicates
        self._kinds = {name: predicate.kinds for name, predicate in predicates.items()}
        self._codes: dict[int, RuleCode] = {}
        self._relations: dict[str, Relation] = {}
        self._left = MOST_LOOKED_AT
        self._met: list[str] = []

    def code(self, rule: int) -> RuleCode:
        """Return a rule made ready."""
        found = self._codes.get(rule)
        if found is None:
            found = self._codes[rule] = compile_rule(self.document.program, rule)
        return found

    def binding(self, node: Members) -> Binding:
        """Return the substitution of a rule node; what it leaves open is unbound."""
        values = decode_row(node["bind"], self.code(node["rule"]).kinds)
        return [None if value is OPEN else value for value in values]

    def counted(self, node: Members, place: int) -> tuple[Exact, str]:
        """Return what an aggregate of a node counts, and the level it rests on.

        ``TooManyRowsError`` where it counts too many rows.
        """
        literal, start = self._group(node, place)
        found = Group(self, literal).exact(start)
        return found, weakest(self._met)

    def counted_of(self, rule: int, place: int, given: Binding) -> Exact | None:
        """Return what an aggregate counts of a group; ``None`` where the group is not known."""
        literal = self.code(rule).body[place]
        if not isinstance(literal, AggregateCode):
            raise TypeError(literal)
        if any(is_hole(given[slot]) for slot in literal.outer):
            return None
        self._left, self._met = MOST_LOOKED_AT, []
        return Group(self, literal).exact(_of_group(literal, given))

    def bindings_before(self, rule: int, place: int) -> list[Binding]:
        """Return the first bindings with which a rule comes to an aggregate of its body."""
        code = self.code(rule)
        found: list[Binding] = [[None] * len(code.names)]
        self._left = MOST_LOOKED_AT
        tests = [one for at, one in enumerate(code.body) if at != place]
        for literal in sorted(tests, key=lambda one: not isinstance(one, PositiveCode)):
            if isinstance(literal, PositiveCode) or (
                isinstance(literal, ComparisonCode) and literal.operator == "="
            ):
                extended = (one for binding in found for one in self.tested(literal, binding))
                found = list(islice(extended, _MOST_GROUPS))
        return found

    def left_out(
        self, rule: int, place: int, given: Binding, met: AbstractSet[TextFact]
    ) -> list[TextFact]:
        """Return rows that are about the group of an aggregate, and none of those it counts."""
        literal = self.code(rule).body[place]
        if not isinstance(literal, AggregateCode):
            raise TypeError(literal)
        start = _of_group(literal, given)
        found: list[TextFact] = []
        for one in literal.body:
            if not isinstance(one, PositiveCode):
                continue
            atom = one.atom
            pattern, certain = atom.pattern(start), self._certain.get(atom.predicate, {})
            known = tuple(column for column, cell in enumerate(pattern) if is_known(cell))
            key: Row = tuple(pattern[column] for column in known)  # type: ignore[misc]  # ground
            for row in self._relation(atom.predicate).matching(known, key):
                if row in certain and atom.unify(pattern, row, start) is not None:
                    fact = (atom.predicate, self.fact(atom.predicate, row))  # type: ignore[arg-type]  # ground
                    found += [] if fact in met else [fact]
        return list(dict.fromkeys(found))

    def threshold_level(self, node: Members, place: int) -> str:
        """Return the level on which a recursive threshold of a node rests; empty for none.

        It rests on what its summands negate, and, where its text allows negative summands, on the
        rows that may be summands.
        """
        literal, start = self._group(node, place)
        if literal.threshold is not None and not literal.threshold.proven:
            Group(self, literal).distinct(start)
        kinds = self.code(node["rule"]).kinds
        for values, _ in node["premises"][place]:
            binding = list(start)
            for slot, text in zip(literal.inner, values, strict=True):
                binding[slot] = decode_value(text, kinds[slot])
            for test in literal.body:
                if isinstance(test, NegativeCode):
                    self._meet(test.atom.predicate, test.atom.pattern(binding))
        return weakest(self._met)

    def instance(self, node: Members) -> Instance:
        """Return the rule of a node with its values; of a threshold with what its summands reach.

        A certificate has the summands of a recursive total and not what they come to.
        """
        found = decode_instance(self.document.program, node, self.document.speech)
        code, values = self.code(node["rule"]), dict(found.values)
        for place, literal in enumerate(code.body):
            summands = node["premises"][place]
            if isinstance(literal, AggregateCode) and isinstance(summands, list):
                reached = self._reached(node, literal, summands)
                if reached is not None:
                    values.setdefault(code.names[literal.result], reached)
        return replace(found, values=values)

    def _reached(
        self, node: Members, literal: AggregateCode, summands: Sequence[Members]
    ) -> Value | None:
        kinds, start = self.code(node["rule"]).kinds, self.binding(node)
        targets = []
        for values, _ in summands:
            binding = list(start)
            for slot, text in zip(literal.inner, values, strict=True):
                binding[slot] = decode_value(text, kinds[slot])
            targets.append(literal.target.evaluate(binding) if literal.target else 1)
        if any(is_hole(one) or isinstance(one, NullCell) for one in targets):
            return None
        found = fold_exactly(literal, targets, len(targets))  # type: ignore[arg-type]  # no holes
        return None if found is None or is_hole(found) else found  # type: ignore[return-value]  # no hole

    def _group(self, node: Members, place: int) -> tuple[AggregateCode, Binding]:
        """Return an aggregate and the binding of its group, and begin to count look-ups."""
        code = self.code(node["rule"])
        literal = code.body[place]
        if not isinstance(literal, AggregateCode):
            raise TypeError(literal)
        start: Binding = [None] * len(code.names)
        given = self.binding(node)
        for slot in literal.outer:
            start[slot] = given[slot]
        self._left, self._met = MOST_LOOKED_AT, []
        return literal, start

    def fact(self, predicate: str, row: Row) -> TextRow:
        """Return a row in the spelling of certificates, with the null cells it has."""
        pairs = zip(row, self._kinds[predicate], strict=True)
        cells: list[tuple[object, Kind]] = list(pairs)
        return tuple(
            [
                NullText(cell) if isinstance(cell, NullCell) else format_value(cell, kind)  # type: ignore[arg-type]  # ground
                for cell, kind in cells
            ]
        )

    def texts(self, predicate: str, pattern: Pattern) -> TextRow:
        """Return a pattern in the spelling of certificates."""
        return tuple(
            [
                format_value(cell, kind) if is_known(cell) else None  # type: ignore[arg-type]  # ground
                for cell, kind in zip(pattern, self._kinds[predicate], strict=True)
            ]
        )

    def level(self, predicate: str, texts: Sequence[str | None]) -> str:
        """Return the level on which "these are all rows of the pattern" rests; empty for none."""
        parts = []
        if predicate in self.document.program.external:
            parts.append(self._level_outside(predicate, texts))
        if self.document.is_closed(predicate, texts):
            parts.append(DERIVED)
        return weakest(parts)

    def _level_outside(self, predicate: str, texts: Sequence[str | None]) -> str:
        opened = self._accepted.get(predicate, ())
        if any(_may_match(one, texts) for one in opened):
            return DECLARED
        found = map(self._coverage_level, self.document.coverages(predicate, texts))
        return max(found, default="")

    def _coverage_level(self, coverage: Members) -> str:
        """Return how well a coverage is founded; empty where no source of the world speaks."""
        sources = coverage["sources"]
        told = [self.document.sources[one] for one in sources]
        if not any(one["origin"] in _AUTHORITIES or one.get("authority") for one in told):
            return ""
        if any(one["origin"] == "API" for one in told):
            return RERUNNABLE
        believed = [source for source in sources if source not in self._inline]
        if not believed:
            return INLINE
        columns = tuple(coverage["columns"])
        keys = {(columns, tuple(key)) for key in coverage["keys"]}
        opened = all(keys <= self._opened.get(source, frozenset()) for source in believed)
        return COMMITTED if opened else RERUNNABLE

    # ------------------------------------------------------- what ``Group`` asks of its owner

    def tested(self, literal: Test, binding: Binding) -> Iterator[Binding]:
        """Return the bindings under which a literal may be true."""
        if isinstance(literal, PositiveCode):
            pattern = literal.atom.pattern(binding)
            for row in self.possible(literal.atom.predicate, pattern, literal.atom.unread):
                extended = literal.atom.unify(pattern, row, binding)
                if extended is not None:
                    yield extended
        elif isinstance(literal, ComparisonCode):
            truth = literal.truth(binding)
            assigned = literal.assigned(binding) if truth is None else None
            if truth is not False:
                yield assigned or binding
        else:
            negated = literal.atom.pattern(binding)
            if not self.is_certain(literal.atom.predicate, negated):  # type: ignore[arg-type]  # ground
                yield binding

    def possible(
        self, predicate: str, pattern: Pattern, unread: AbstractSet[int] = frozenset()
    ) -> list[OpenRow]:
        """Return the rows that match a pattern; ``unread`` are columns it asks nothing of."""
        columns = tuple(place for place, cell in enumerate(pattern) if is_known(cell))
        key: Row = tuple(pattern[place] for place in columns)  # type: ignore[misc]  # ground
        relation = self._relation(predicate)
        read = relation.columns_of_none - unread
        found = relation.matching(columns, key)
        if read:
            found = [row for row in found if not any(has_none(row[column]) for column in read)]
        self._left -= len(found) + 1
        if self._left < 0:
            raise TooManyRowsError("an aggregate reads more rows than can be listed")
        self._meet(predicate, pattern)
        return found

    def is_served(self, predicate: str, pattern: Pattern) -> bool:
        """Tell whether the certificate says all that matches a pattern."""
        if predicate not in self.document.program.external:
            return True
        return bool(self.document.coverages(predicate, self.texts(predicate, pattern)))

    def look(self, steps: int) -> None:
        """Look at no clock: what is listed is counted."""

    def is_certain(self, predicate: str, row: OpenRow) -> bool:
        """Tell whether a row is certain."""
        return row in self._certain.get(predicate, ())

    # ------------------------------------------------------------------------------- inside

    def _meet(self, predicate: str, pattern: Pattern) -> None:
        self._met.append(self.level(predicate, self.texts(predicate, pattern)))

    def _relation(self, predicate: str) -> Relation:
        found = self._relations.get(predicate)
        if found is None:
            found = self._relations[predicate] = Relation(self._rows(predicate))
        return found

    def _rows(self, predicate: str) -> Iterator[OpenRow]:
        kinds = self._kinds[predicate]
        yield from self._certain.get(predicate, ())
        for texts in self._listed.get(predicate, ()):
            yield decode_row(texts, kinds)

    @cached_property
    def _certain(self) -> dict[str, dict[OpenRow, None]]:
        """Rows that hold: those of fact groups that hold, and the facts of nodes."""
        document = self.document
        found: dict[str, dict[OpenRow, None]] = {}
        for number, group in enumerate(document.facts):
            if document.holds(group):
                self._note(found, group["predicate"], document.rows(number))
        for node in document.nodes:
            self._note(found, node["fact"][0], (node["fact"][1],))
        return found

    def _note(
        self, found: dict[str, dict[OpenRow, None]], predicate: str, rows: Iterable[TextRow]
    ) -> None:
        kinds = self._kinds[predicate]
        found.setdefault(predicate, {}).update((decode_row(row, kinds), None) for row in rows)

    @cached_property
    def _listed(self) -> dict[str, list[TextRow]]:
        """All rows that may be: of facts, of open rows that count, of the closure."""
        members = self.document.members
        under = frozenset(self.document.header["under"])
        found: dict[str, list[TextRow]] = {}
        for number, group in enumerate(self.document.facts):
            found.setdefault(group["predicate"], []).extend(self.document.rows(number))
        for one in members["open"]:
            if one["assumption"] not in under:
                found.setdefault(one["predicate"], []).append(one["row"])
        for predicate, rows in members["closure"]["rows"]:
            found.setdefault(predicate, []).extend(rows)
        return found

    @cached_property
    def _accepted(self) -> dict[str, list[TextRow]]:
        """Open rows, and null cells, that count no more: their assumption is accepted."""
        under = frozenset(self.document.header["under"])
        found: dict[str, list[TextRow]] = {}
        for one in self.document.members["open"]:
            if one["assumption"] in under:
                found.setdefault(one["predicate"], []).append(one["row"])
        for number, at in self.document.fillings:
            group = self.document.facts[number]
            bare = tuple(None if isinstance(c, NullText) else c for c in group["rows"][at])
            found.setdefault(group["predicate"], []).append(bare)
        return found

    @cached_property
    def _inline(self) -> frozenset[int]:
        """Sources all of whose rows are shown, of one predicate."""
        shown: dict[int, dict[str, int]] = {}
        for group in self.document.facts:
            rows = shown.setdefault(group["source"], {})
            rows[group["predicate"]] = rows.get(group["predicate"], 0) + len(group["rows"])
        return frozenset(
            place
            for place, source in enumerate(self.document.sources)
            if (list(shown.get(place, {}).values()) or [0]) == [source["rows"]]
        )

    @cached_property
    def _opened(self) -> dict[int, frozenset[tuple[tuple[int, ...], TextRow]]]:
        """Of each committed source the keys that are opened; the first of a root has them all."""
        relations: dict[tuple[str, str], frozenset[tuple[tuple[int, ...], TextRow]]] = {}
        found = {}
        for place, source in enumerate(self.document.sources):
            commitment = source["commitment"]
            if commitment is not None:
                keys = frozenset(
                    (tuple(one["columns"]), tuple(one["key"])) for one in commitment["openings"]
                )
                relation = commitment["predicate"], commitment["root"]
                found[place] = relations.setdefault(relation, keys)
        return found


def _of_group(literal: AggregateCode, given: Binding) -> Binding:
    """Return a binding of nothing but what an aggregate takes from outside."""
    start: Binding = [None] * len(given)
    for slot in literal.outer:
        start[slot] = given[slot]
    return start


def weakest(levels: Iterable[str]) -> str:
    """Return the weakest level; empty where there is none."""
    return min((level for level in levels if level), default="")


def _may_match(row: Sequence[str | None], pattern: Sequence[str | None]) -> bool:
    return all(
        mine is None or cell is None or mine == cell
        for mine, cell in zip(row, pattern, strict=True)
    )


# Only rows that the certificate shows are walked, in the order in which its closure takes each
# body, and in a bounded number of steps; nothing is decided here, the checker does that.

_MOST_STEPS: Final = 50_000


def orders_of(document: Document) -> dict[int, tuple[int, ...]]:
    """Return the order in which the closure takes the body of each rule, as first written."""
    found: dict[int, tuple[int, ...]] = {}
    for entry in document.members["closure"]["entries"]:
        for number, order in entry["orders"]:
            found.setdefault(number, tuple(order))
    return found


class Attempting:
    """Walks one rule and remembers the furthest binding."""

    def __init__(self, document: Document, lookups: Lookups, number: int) -> None:
        self.lookups = lookups
        self.predicates = document.program.program.predicates
        self.external = document.program.external
        self.rule = document.program.rules[number]
        self.speech = document.speech
        self.written = written_body(self.rule.body)
        self.code: RuleCode = lookups.code(number)
        self.steps = _MOST_STEPS
        self.stop: int | None = None
        self.stop_binding: Binding = []
        self.behind: tuple[int, ...] = ()

    def made(self, state: str, reached: int, **details: str) -> Attempt:
        """Return an attempt of this rule, with printable details."""
        text = ", ".join(print_literal(one.literal, self.predicates) for one in self.written)
        shown = {name: printable(said) for name, said in details.items()}
        name = printable(self.rule.id)
        return Attempt(
            name,
            printable(text),
            state,
            reached,
            len(self.written),
            literal=shown.get("literal", ""),
            sentence=shown.get("sentence", ""),
            actual=shown.get("actual", ""),
            required=shown.get("required", ""),
            distance=shown.get("distance", ""),
            untried=self.untried(),
        )

    def untried(self) -> tuple[str, ...]:
        """Give the literals behind the one that stops the rule."""
        behind = (one for one in self.written if set(one.places) & set(self.behind))
        literals = (one.literal for one in behind if self.stop not in one.places)
        return tuple(printable(print_literal(one, self.predicates)) for one in literals)

    def run(self, order: tuple[int, ...] | None, columns: tuple[int, ...], key: Row) -> Attempt:
        """Walk the body as far as it goes."""
        start = self.code.start(columns, key)
        if start is None:
            return self.made("failed", 0, sentence=ELSEWHERE)
        order = order or order_of(self.code, columns)
        furthest: tuple[int, Binding] = (0, start)
        waiting = [furthest]
        while waiting:
            depth, binding = waiting.pop()
            if depth > furthest[0]:
                furthest = (depth, binding)
            if depth == len(order):
                self.stop_binding = binding
                return self.possible(binding)
            self.steps -= 1
            if self.steps < 0:
                raise ValueError("the rule has too many instances to be walked here")
            waiting += [(depth + 1, one) for one in self.extended(order[depth], binding)]
        held = set(order[: furthest[0]])
        self.stop, self.stop_binding = order[furthest[0]], furthest[1]
        self.behind = tuple(order[furthest[0] + 1 :])
        reached = sum(set(one.places) <= held for one in self.written)
        return self.stopped(reached, order[furthest[0]], furthest[1])

    def shown(self) -> dict[str, str]:
        """Give the values that the rule's variables have where it ends, as people read them."""
        if not self.stop_binding:
            return {}
        known = self.instance(self.stop_binding)
        told = {name: slot for name, slot in known.values.items() if slot is not OPEN}
        shown = replace(known, values=told).shown()
        return {name: shown[name] for name in told}

    def failing(self) -> Iterator[int]:
        """Yield the place that stops the rule, and those behind it that fail whatever it is."""
        if self.stop is None:
            return
        yield self.stop
        seen = {self._literal_of(self.stop)}
        for place in self.behind:
            if self._literal_of(place) not in seen and self._fails(self.code.body[place]):
                seen.add(self._literal_of(place))
                yield place

    def veiled(self) -> Iterator[int]:
        """Yield the places behind the one that stops the rule that compare a hidden value."""
        seen = {self._literal_of(self.stop)} if self.stop is not None else set()
        for place in self.behind:
            number = self._literal_of(place)
            literal = self.written[number].literal
            if number in seen or not isinstance(literal, Comparison):
                continue
            seen.add(number)
            names = literal_variables(literal)
            cells = (self.stop_binding[self.code.names.index(one.name)] for one in names)
            if any(isinstance(cell, NullCell) and cell.is_hidden for cell in cells):
                yield place

    def told(self, place: int) -> Attempt:
        """Say of another place why it fails, as where the rule stopped."""
        return self.stopped(0, place, self.stop_binding)

    def _literal_of(self, place: int) -> int:
        return next(n for n, one in enumerate(self.written) if place in one.places)

    def _fails(self, literal: LiteralCode) -> bool:
        if isinstance(literal, ComparisonCode):
            return literal.truth(self.stop_binding) is False
        if isinstance(literal, AggregateCode):
            return False
        name, pattern = literal.atom.predicate, literal.atom.pattern(self.stop_binding)
        if isinstance(literal, NegativeCode):
            return self.lookups.is_certain(name, pattern)  # type: ignore[arg-type]  # holes are in no row
        # Where the certificate does not say all that matches, nothing follows from what it shows.
        if name in self.external:
            served = self.lookups.is_served(name, pattern)
        else:
            served = self.lookups.document.is_closed(name, self.lookups.texts(name, pattern))
        return served and not self.lookups.possible(name, pattern, literal.atom.unread)

    def extended(self, place: int, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which one literal may be true as well."""
        literal: LiteralCode = self.code.body[place]
        if not isinstance(literal, AggregateCode):
            return reversed(list(self.lookups.tested(literal, binding)))
        known = binding[literal.result]
        value = self.value(literal, binding)
        if value is None or not (is_hole(known) or is_hole(value) or value == known):
            return ()
        extended = list(binding)
        extended[literal.result] = value if is_hole(known) else known
        return (extended,)

    def value(self, literal: AggregateCode, binding: Binding) -> Cell:
        """Return the value of an aggregate; what a recursive total may reach is not looked for."""
        if literal.threshold is not None or any(is_hole(binding[one]) for one in literal.outer):
            return OPEN
        start: Binding = [None] * len(binding)
        for slot in literal.outer:
            start[slot] = binding[slot]
        return Group(self.lookups, literal).exact(start).value

    def instance(self, binding: Binding) -> Instance:
        """Return the rule with the values bound so far."""
        values: dict[str, Slot] = {
            name: slot
            for name, slot, cell in zip(
                self.code.names, opened(tuple(binding)), binding, strict=True
            )
            if cell is not None
        }
        kinds = dict(zip(self.code.names, self.code.kinds, strict=True))
        return Instance(self.rule, values, kinds, self.predicates, self.speech)

    def possible(self, binding: Binding) -> Attempt:
        """Say that the rule may give the goal, and which of its literals speak of the unknown."""
        instance = self.instance(binding)
        known = [self.unknown(instance, one) for one in self.written]
        unknown = [said for said in known if said] or [
            describe_pattern(
                self.predicates[atom.predicate], instance.row(atom), speech=self.speech
            )
            for atom in (one.atom for one in self.rule.body if isinstance(one, Positive))
            if atom.predicate not in self.external
        ]
        sentence = say_possible(unknown, self.speech)
        return self.made("open", len(self.written), sentence=sentence)

    def unknown(self, instance: Instance, one: Written) -> str:
        """Say what has to be true for a literal about something unknown; empty for the others."""
        match one.literal:
            case Positive(atom):
                row = instance.row(atom)
                told = OPEN not in row and (
                    # A bound shows which derived rows may be; that one is in it settles nothing.
                    atom.predicate not in self.external
                    or self.lookups.is_certain(atom.predicate, row)
                )
                declared = self.predicates[atom.predicate]
                return "" if told else describe_pattern(declared, row, speech=self.speech)
            case Negative(atom):
                row = instance.row(atom)
                declared = self.predicates[atom.predicate]
                pattern = tuple(None if slot is OPEN else slot for slot in row)
                rows = self.lookups.possible(atom.predicate, pattern)
                said = describe_pattern(declared, row, holds=False, speech=self.speech)
                return said if rows else ""
            case Comparison(left=left) as literal if one.opened:
                # Its fields are known where the structure is.
                return say_form(instance, literal) if instance.slot(left) is OPEN else ""
            case Comparison() as literal:
                return demand_comparison(instance, literal)
            case _:
                return ""

    def stopped(self, reached: int, place: int, binding: Binding) -> Attempt:
        """Say what stops the rule."""
        one = next(one for one in self.written if place in one.places)
        literal, code = one.literal, self.code.body[place]
        instance = self.instance(binding)
        details = {"literal": print_literal(literal, self.predicates)}
        match literal:
            case Comparison() if one.opened and isinstance(code, ComparisonCode):
                details["sentence"] = refute_comparison(instance, literal)
                guard = place == one.places[0]
                wanted = bare_term(literal.right) if guard else ""
                details |= _unlike(code, binding, wanted, self.speech)
            case Comparison() if isinstance(code, ComparisonCode):
                details["sentence"] = refute_comparison(instance, literal)
                details |= _compared(code, binding, self.speech)
            case Positive(atom):
                declared, row = self.predicates[atom.predicate], instance.row_read(atom)
                said = describe_pattern(declared, row, holds=False, speech=self.speech)
                details |= {"required": print_row(declared, row), "sentence": said}
            case Negative(atom):
                details |= self.there(atom, instance)
            case _ if isinstance(code, AggregateCode):
                details |= self.folded(code, binding)
            case _:
                raise TypeError(literal)
        return self.made("failed", reached, **details)

    def there(self, atom: Atom, instance: Instance) -> dict[str, str]:
        """Say what is there though a rule asks that it is not: the first row, and how many more."""
        program = self.lookups.document.program
        name, row = original_row(program, atom.predicate, instance.row(atom))
        declared = self.predicates[name]
        shown = print_row(declared, row)
        sentence = describe_fact(declared, row, self.speech)
        if OPEN in row:
            pattern = tuple(None if slot is OPEN else slot for slot in row)
            try:
                rows = [one for one in self.lookups.possible(name, pattern) if OPEN not in one]
            except TooManyRowsError:
                rows = []
            if rows:
                first = min(rows, key=lambda one: print_row(declared, one))
                said = describe_fact(declared, first, self.speech)
                sentence = say_more(said, len(rows) - 1, self.speech)
        return {"actual": shown, "required": f"no {shown}", "sentence": sentence}

    def folded(self, code: AggregateCode, binding: Binding) -> dict[str, str]:
        """Say the value of an aggregate that is not the one wanted."""
        value, kind = self.value(code, binding), self.code.kinds[code.result]
        if value is None:
            return {
                "actual": "no rows",
                "sentence": say_folded(code.function, None, self.speech),
            }
        actual, wanted = (
            show_value(one, kind, "", self.speech) for one in opened((value, binding[code.result]))
        )
        return {
            "actual": actual,
            "required": f"= {wanted}",
            "sentence": say_folded(code.function, actual, self.speech),
        }


def _unlike(code: ComparisonCode, binding: Binding, wanted: str, speech: Speech) -> dict[str, str]:
    """Return the constructor that is not the wanted one, or the field that is another."""
    left, right = opened((code.left.evaluate(binding), code.right.evaluate(binding)))
    if isinstance(left, Open) or isinstance(right, Open):
        return {}
    if wanted:
        return {"actual": str(left), "required": f"= {wanted}"}
    # A field stands on the right, what it has to be on the left.
    return _sides(("=", right, left), code.left.kind, speech)


def _compared(code: ComparisonCode, binding: Binding, speech: Speech) -> dict[str, str]:
    """Return both sides of a comparison, and how far a number is off."""
    left, right = opened((code.left.evaluate(binding), code.right.evaluate(binding)))
    if isinstance(left, Open) or isinstance(right, Open):
        return {}
    return _sides((code.operator, left, right), code.left.kind, speech)


def _sides(compared: tuple[str, Value, Value], kind: Kind, speech: Speech) -> dict[str, str]:
    operator, left, right = compared
    actual, required = (show_value(one, kind, "", speech) for one in (left, right))
    details = {"actual": actual, "required": f"{operator} {required}"}
    if isinstance(left, NullCell) or isinstance(right, NullCell):
        return details
    if kind is Kind.FLOAT:
        details["distance"] = show_value(abs(float(left) - float(right)), kind, "", speech)
    elif kind.numeric:
        details["distance"] = show_value(abs(Decimal(left) - Decimal(right)), kind, "", speech)
    return details
