"""Restrict rules to what a goal with constants needs, so that no other row is computed again.

In: an analysed program and a goal. Out: a program whose relations hold those rows that may bear on
the goal, or nothing where constants lead nowhere. Example: for `t(1, ?b)` the rules
`t(?a, ?b) :- e(?a, ?b).` and `t(?a, ?c) :- e(?a, ?b), t(?b, ?c).` become

    demand(1).    demand(?b) :- demand(?a), e(?a, ?b).
    t(?a, ?b) :- demand(?a), e(?a, ?b).    t(?a, ?c) :- demand(?a), e(?a, ?b), t(?b, ?c).

A relation has one key, the columns that are known wherever it is read: from constants, from the key
of the rule's head, and from atoms that share a variable with these. Its demand is a set of keys. A
demand reads inputs, facts, other demands, and the covers of relations that do not need themselves.
A cover has some columns of a relation, by the positive atoms of its rules alone: no negation, no
aggregate and no comparison. So demands and covers are positive rules, they rest on no relation that
is counted again, and they may be too large, never too small.

Why the demanded rows are those that follow (semantics 38, i and ii). Let R be the relations that
follow from all rules, and D the rows of R whose keys are demanded.

1. What a row of D has in the columns of its cover lies there. By induction on components, callees
   first: the row has an instance, whose atoms a demand reads in an order. The key of each atom is
   demanded by a rule whose body are those before it; the row that it reads is in R, so it is in D,
   and what a demand reads of it is in its cover.
2. So in each instance that is true over R with a head in D, each atom of the body has a demanded
   key, whether it is denied or stands in an aggregate, for every binding there. Read over D instead
   of R the literals say the same: a denied row with a demanded key is in D if it is in R, and the
   rows of a group are all in D. As D lies in R, the same holds of an instance that is true over D.
3. So the rules over D give with a head in D what they give over R, round by round, and rank by
   rank. A restricted rule is the rule and the demand of its head, so its relation is D.

A demand may be left out where the body reads the head's own relation with the same key, as all rows
there have demanded keys. No key has a column whose value a head computes: then what errs in an
instance could not be told from what is not demanded. An instance whose head is not demanded may
err, as no row of D reads its head (9). Nothing is restricted where an input has rows that are not
whole and certain, or where a rule is an assumption. Nothing here is shared with the demands of the
run (`constat.plan`), which other constants, orders of joins and estimates lead.
"""

from __future__ import annotations

from dataclasses import field, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram
from constat.analysis.strata import components_of
from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Constant,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from constat.logic import Kind, Literal, Term

# No predicate of a program has a name with a blank.
_DEMAND: Final = "demand of"
_COVER: Final = "cover of"


def restricted(
    program: AnalysedProgram, goal: Atom, below: AbstractSet[str]
) -> AnalysedProgram | None:
    """Give the rules for a goal, restricted to what it needs; nothing where no key is known.

    `below` names all that the goal rests on. The relations keep their names.
    """
    rules: dict[str, list[int]] = {}
    for number, rule in enumerate(program.rules):
        if rule.head.predicate in below:
            rules.setdefault(rule.head.predicate, []).append(number)
    if any(program.rules[number].assumed for own in rules.values() for number in own):
        return None
    keys = _keys_of(program, goal, rules, below)
    return _Writing(keys).program(goal) if any(keys.of.values()) else None


@frozen
class _Step:
    """An atom of a rule that a demand reads: how it reads it, and what no step before binds."""

    source: Atom
    atom: Atom
    binds: frozenset[str]


@slotted
class _Walk:
    """The steps from the key of a head through a body; `known` are the variables that they bind."""

    keys: _Keys
    start: frozenset[str]
    steps: list[_Step] = field(default_factory=list)

    def take(self, literals: Iterable[Literal]) -> None:
        """Take every positive atom that leads on, inputs first."""
        waiting = [one.atom for one in literals if isinstance(one, Positive)]
        waiting.sort(key=lambda one: one.predicate not in self.keys.stored)
        while waiting:
            narrowed = filter(self._narrowed, waiting)
            step = next(filter(None, map(self._step, chain(waiting, narrowed))), None)
            if step is None:
                return
            waiting.remove(step.source)
            self.steps.append(step)

    def also(self, literals: Iterable[Literal]) -> _Walk:
        """Give the walk that goes on through the body of an aggregate."""
        longer = replace(self, steps=[*self.steps])
        longer.take(literals)
        return longer

    def before(self, atom: Atom) -> list[_Step]:
        """Give the steps before that of an atom; all where it is none."""
        place = next((n for n, one in enumerate(self.steps) if one.source == atom), None)
        return self.steps[:place]

    def known(self, steps: Sequence[_Step]) -> frozenset[str]:
        """Name the variables that some steps bind, and the key of the head."""
        return self.start.union(*(one.binds for one in steps))

    def body(self, terms: Sequence[Term], steps: Sequence[_Step]) -> list[Literal]:
        """Give of some steps those that it takes to bind terms."""
        needed, found = _names(terms), []
        for one in reversed(steps):
            if one.binds & needed:
                needed |= _names(one.atom.terms)
                found.append(one.atom)
        return [Positive(one) for one in reversed(found)]

    def _narrowed(self, atom: Atom) -> bool:
        """Narrow the key of a relation to what is known, if that is any of it."""
        known = self.known(self.steps)
        key = self.keys.of.get(atom.predicate, ())
        if not any(_is_bound(atom.terms[n], known) for n in key):
            return False
        self.keys.keep(atom, known)
        return True

    def _step(self, atom: Atom) -> _Step | None:
        known, name = self.known(self.steps), atom.predicate
        places: Sequence[int] = range(len(atom.terms))
        if name in self.keys.stored:
            if not known & _names(atom.terms):
                return None
        else:
            key = self.keys.of.get(name, ())
            if not key or not all(_is_bound(atom.terms[place], known) for place in key):
                return None
            if name not in self.keys.covers:
                return None
            places, name = self.keys.covers[name], f"{_COVER} {name}"
        terms = tuple(
            # What is computed is not looked at: so the step takes more rows, and none errs.
            Variable(f"any {len(self.steps)} {place}") if isinstance(term, Apply) else term
            for place, term in ((place, atom.terms[place]) for place in places)
        )
        binds = _names(terms) - known
        return _Step(atom, Atom(name, terms), binds) if binds else None


@slotted
class _Keys:
    """The key and the cover of each relation below a goal that can be restricted.

    `rules` are the rules by their heads. A key, `of` a relation, is empty where no column of it is
    known wherever it is read. `stored` names what demands read as it is: inputs and facts.
    """

    program: AnalysedProgram
    rules: Mapping[str, Sequence[int]]
    stored: frozenset[str]
    of: dict[str, tuple[int, ...]]
    covers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    walks: dict[int, _Walk] = field(default_factory=dict)

    def settle(self) -> None:
        """Find the widest keys that every place where a relation is read can give."""
        before: dict[str, tuple[int, ...]] = {}
        while before != self.of:
            before = dict(self.of)
            self._walk()
            for _, walk, atom in self.read(self.rules):
                known = walk.known(walk.before(atom))
                self.keep(atom, known)

    def keep(self, atom: Atom, known: AbstractSet[str]) -> None:
        """Leave out of a key what is not known where an atom reads the relation."""
        key = self.of.get(atom.predicate, ())
        if key:
            self.of[atom.predicate] = tuple(n for n in key if _is_bound(atom.terms[n], known))

    def read(self, names: Iterable[str]) -> Iterator[tuple[int, _Walk, Atom]]:
        """Yield what the rules of relations read that has a key: number, walk to it, atom."""
        for number in (n for name in names for n in self.rules[name]):
            for one in self.program.rules[number].body:
                for walk, atom in self._read_by(one, self.walks[number]):
                    yield number, walk, atom

    def _read_by(self, literal: Literal, walk: _Walk) -> Iterator[tuple[_Walk, Atom]]:
        match literal:
            case Positive(atom) | Negative(atom) if self.of.get(atom.predicate):
                yield walk, atom
            case Aggregate(body=body):
                inner = walk.also(body)
                for one in body:
                    yield from self._read_by(one, inner)
            case _:
                return

    def _walk(self) -> None:
        """Walk through all bodies, those of what covers read first."""
        self.covers, self.walks = {}, {}
        for component in self.program.components:
            for name in component.predicates:
                key = self.of.get(name, ())
                for number in self.rules.get(name, ()):
                    rule = self.program.rules[number]
                    start = _names([rule.head.terms[n] for n in key])
                    self.walks[number] = walk = _Walk(self, start)
                    walk.take(rule.body)
                if key and not component.recursive:
                    self.covers[name] = _shared(self.program, self.rules[name], self._reached)

    def _reached(self, number: int) -> frozenset[str]:
        return self.walks[number].known(self.walks[number].steps)


def _shared(
    program: AnalysedProgram, numbers: Sequence[int], names: Callable[[int], AbstractSet[str]]
) -> tuple[int, ...]:
    """Give the columns that are constants or certain variables in the heads of all rules."""
    heads = [(program.rules[number].head.terms, names(number)) for number in numbers]
    return tuple(
        place
        for place in range(len(heads[0][0]))
        if all(_is_bound(terms[place], known) for terms, known in heads)
    )


def _keys_of(
    program: AnalysedProgram,
    goal: Atom,
    rules: Mapping[str, Sequence[int]],
    below: AbstractSet[str],
) -> _Keys:
    """Find the keys for a goal."""
    every = program.rules
    facts = {name for name, own in rules.items() if not any(every[n].body for n in own)}
    inputs = (below & program.external) - rules.keys()
    stored = frozenset(inputs | (facts - program.external))

    def looked_up(number: int) -> frozenset[str]:
        atoms = [one.atom for one in every[number].body if isinstance(one, Positive)]
        return _names([term for one in atoms for term in one.terms if isinstance(term, Variable)])

    keys = {
        name: _shared(program, rules[name], looked_up)
        for name in rules.keys() - stored - program.external
    }
    found = _Keys(program, rules, stored, keys)
    found.keep(goal, frozenset())
    found.settle()
    return found


@slotted
class _Writing:
    """The restricted program on its way: rules, each with the kinds of its variables."""

    keys: _Keys
    rules: list[tuple[Rule, Mapping[str, Kind]]] = field(default_factory=list)
    predicates: dict[str, Predicate] = field(default_factory=dict)

    def program(self, goal: Atom) -> AnalysedProgram:
        """Write the program for a goal."""
        if self.keys.of.get(goal.predicate):
            self._add(self._asked(goal), (), {})
        self._demands()
        whole = self.keys.program
        for number in sorted(n for own in self.keys.rules.values() for n in own):
            self.rules.append((self._restricted(number), whole.variable_kinds[number]))
        rules = tuple(rule for rule, _ in self.rules)
        predicates = {**whole.program.predicates, **self.predicates}
        program = replace(whole.program, predicates=predicates, rules=rules)
        kinds = tuple(one for _, one in self.rules)
        return AnalysedProgram(program, rules, kinds, components_of(program), whole.external)

    def _demands(self) -> None:
        """Write what each rule demands, and the covers that demands read."""
        keys, program = self.keys, self.keys.program
        for number, walk, atom in keys.read(keys.rules):
            key = self._asked(atom)
            steps = walk.body(key.terms, walk.before(atom))
            body = (*self._given(program.rules[number]), *steps)
            self._add(key, body, program.variable_kinds[number])
        for name in keys.covers:
            for number in keys.rules[name]:
                rule, walk = program.rules[number], keys.walks[number]
                head = self._part(_COVER, rule.head, keys.covers[name])
                body = (*self._given(rule), *walk.body(head.terms, walk.steps))
                self._add(head, body, program.variable_kinds[number])

    def _add(self, head: Atom, body: tuple[Literal, ...], kinds: Mapping[str, Kind]) -> None:
        rule = Rule(head.predicate, head, body)
        if body != (Positive(head),) and all(rule != one for one, _ in self.rules):
            self.rules.append((rule, kinds))

    def _restricted(self, number: int) -> Rule:
        """Write a rule with the demand of its head, unless its body has such a row anyway."""
        rule = self.keys.program.rules[number]
        given = self._given(rule)
        alike = (
            one.atom
            for one in rule.body
            if isinstance(one, Positive) and one.atom.predicate == rule.head.predicate
        )
        if not given or given[0].atom in map(self._asked, alike):
            return rule
        return replace(rule, body=(*given, *rule.body))

    def _given(self, rule: Rule) -> tuple[Positive, ...]:
        """Give the demand of a head, where it has a key."""
        return (Positive(self._asked(rule.head)),) if self.keys.of.get(rule.head.predicate) else ()

    def _asked(self, atom: Atom) -> Atom:
        return self._part(_DEMAND, atom, self.keys.of[atom.predicate])

    def _part(self, what: str, atom: Atom, places: Sequence[int]) -> Atom:
        """Give the atom of a relation that has some columns of another one."""
        name = f"{what} {atom.predicate}"
        if name not in self.predicates:
            columns = self.keys.program.program.predicates[atom.predicate].columns
            plain = tuple(replace(columns[place], attributes={}) for place in places)
            self.predicates[name] = Predicate(name, plain)
        return Atom(name, tuple(atom.terms[place] for place in places))


def _is_bound(term: Term, known: AbstractSet[str]) -> bool:
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in known)


def _names(terms: Iterable[Term]) -> frozenset[str]:
    return frozenset(one.name for one in terms if isinstance(one, Variable))
