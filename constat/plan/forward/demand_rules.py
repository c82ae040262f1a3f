"""Rewrite rules so that they derive what is demanded and nothing else: magic sets.

In: a program, the wanted atoms with constants, estimates. Out: rules for demanded copies of
predicates, rules for the demands, and those rules that are still needed as they are. Example:
wanted `path(1, ?y)` gives `demand/path/bf(1)`, and `path/bf(?x, ?z) :- demand/path/bf(?x),
path/bf(?x, ?y), edge(?y, ?z).`

Invariants. A demand has values of relations only, never computed ones, so demands are finite
wherever the rules are. A predicate that is taken as it is rests on no demand; so without `through`,
where what is negated or aggregated is taken as it is, the program stays stratified. With it
demands go into these, too, and the caller must check. Prefixes of a body with
several atoms become supplementary relations, shared by the demands of what follows.

See Bancilhon, Maier, Sagiv and Ullman (1986), Beeri and Ramakrishnan (1991), and Balbin, Port,
Ramamohanarao and Meenakshi, Efficient bottom-up computation of queries on stratified databases
(1991).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from constat.logic import (
    Aggregate,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
    literal_variables,
    outer_names,
    term_variables,
)
from constat.plan.costs import predicates_of, rules_by_head
from constat.plan.forward.draft import TypedRule
from constat.plan.forward.extract import Cut
from constat.plan.forward.join_order import JoinOrder, domains_of
from constat.plan.order import order_body

if TYPE_CHECKING:
    from constat.plan.forward.draft import Draft
    from constat.plan.forward.estimates import Estimates

Adorned = tuple[str, tuple[int, ...]]
_MOST_FORMS = 8
_FEW_RULES = 20


class Demands:
    """Follows demands from the wanted atoms through the rules."""

    def __init__(
        self, draft: Draft, estimates: Estimates, fixed: frozenset[str], *, through: bool
    ) -> None:
        self.program = draft.program
        self.estimates = estimates
        self.fixed = fixed
        self.through = through
        self.heads = rules_by_head(draft.program)
        self.recursive = {
            name
            for component in draft.program.components
            if component.recursive
            for name in component.predicates
        }
        self.rules: dict[tuple[Atom, Cut], TypedRule] = {}
        self.prefixes: dict[Cut, Atom] = {}
        self.made: dict[str, Predicate] = {}
        self.full: dict[str, None] = {}
        self.waiting: list[Adorned] = []
        self.seen: set[Adorned] = set()

    def follow(self) -> list[TypedRule] | None:
        """Rewrite whatever is demanded, and add what is needed in full.

        Gives nothing where that would be too many rules: a predicate of n columns has 2^n forms.
        """
        most = _MOST_FORMS * (len(self.program.rules) + _FEW_RULES)
        while self.waiting:
            if len(self.rules) > most:
                return None
            predicate, columns = self.waiting.pop()
            for number in self.heads[predicate]:
                self._rewrite(number, columns)
        return [*self._untouched(), *self.rules.values()]

    def _untouched(self) -> list[TypedRule]:
        needed: set[str] = set()
        waiting = list(self.full)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                for number in self.heads.get(name, ()):
                    for literal in self.program.rules[number].body:
                        waiting.extend(predicates_of(literal))
        typed = zip(self.program.rules, self.program.variable_kinds, strict=True)
        return [(rule, kinds) for rule, kinds in typed if rule.head.predicate in needed]

    def seed(self, atom: Atom) -> str:
        """Demand a wanted atom; give the relation that will have its rows."""
        columns = tuple(c for c, term in enumerate(atom.terms) if isinstance(term, Constant))
        if not self.enters(atom.predicate, columns):
            self.full[atom.predicate] = None
            return atom.predicate
        name = self._adorned(atom.predicate, columns)
        if not columns:
            return name
        head = Atom(demand_name(name), tuple(atom.terms[column] for column in columns))
        self.add(head, (), {})
        return name

    def enters(self, predicate: str, columns: tuple[int, ...]) -> bool:
        """Whether a predicate is rewritten for these bound columns, or taken as it is.

        One without bound columns passes on the constants in its rules, if it is not recursive.
        """
        if predicate not in self.heads or predicate in self.fixed:
            return False
        return bool(columns) or predicate not in self.recursive

    def add(self, head: Atom, body: tuple[Literal, ...], kinds: Mapping[str, Kind]) -> None:
        """Add a rule once; one that derives what it reads says nothing."""
        if body == (Positive(head),):
            return
        self.keep(Rule(f"{head.predicate}.{len(self.rules) + 1}", head, body), kinds)

    def keep(self, rule: Rule, kinds: Mapping[str, Kind]) -> None:
        """Keep a rule, unless it is there."""
        # A rule's names are those of its head and body, and a safe head has no others.
        cut = Cut.of(rule.body, (), kinds)
        self.rules.setdefault((rule.head, cut), (rule, kinds))

    def _rewrite(self, number: int, columns: tuple[int, ...]) -> None:
        rule, kinds = self.program.rules[number], self.program.variable_kinds[number]
        name = self._adorned(rule.head.predicate, columns)
        terms = tuple(rule.head.terms[column] for column in columns)
        walk = _Walk(self, rule, kinds)
        walk.take(Positive(Atom(demand_name(name), terms)) if columns else None)
        head = replace(rule.head, predicate=name)
        body = _without_repetition(walk.body(), head, columns)
        marks = name.rpartition("/")[2]
        self.keep(Rule(f"{rule.id}/{marks}", head, body), kinds)

    def demand(self, atom: Atom, columns: tuple[int, ...], prefix: _Walk) -> Atom:
        """Give the demanded copy of an atom."""
        name = self._adorned(atom.predicate, columns)
        if columns:
            head = Atom(demand_name(name), tuple(atom.terms[column] for column in columns))
            self.add(head, prefix.shared(), prefix.kinds)
        return replace(atom, predicate=name)

    def _adorned(self, predicate: str, columns: tuple[int, ...]) -> str:
        old = self.program.program.predicates[predicate]
        marks = "".join("b" if place in columns else "f" for place in range(old.arity))
        name = f"{predicate}/{marks}"
        if (predicate, columns) not in self.seen:
            self.seen.add((predicate, columns))
            self.waiting.append((predicate, columns))
            self.made[name] = replace(old, name=name, source=None, attributes={})
            demanded = tuple(old.columns[column] for column in columns)
            if columns:
                self.made[demand_name(name)] = Predicate(demand_name(name), demanded)
        return name

    def supplement(self, names: Iterable[str], kinds: Mapping[str, Kind]) -> str:
        """Declare a supplementary relation."""
        name = f"prefix/{len(self.made)}"
        columns = tuple(Column(one, kinds[one].value, kinds[one]) for one in names)
        self.made[name] = Predicate(name, columns)
        return name


def demand_name(adorned: str) -> str:
    """The relation that holds what is demanded of an adorned predicate."""
    return f"demand/{adorned}"


def _without_repetition(
    body: tuple[Literal, ...], head: Atom, columns: tuple[int, ...]
) -> tuple[Literal, ...]:
    """Leave out the demand where the body reads a row of the head's relation with the same key.

    By induction on derivations every such row was demanded.
    """
    if not columns:
        return body
    key = [head.terms[column] for column in columns]
    asked = Positive(Atom(demand_name(head.predicate), tuple(key)))
    for one in body:
        if (
            isinstance(one, Positive)
            and one.atom.predicate == head.predicate
            and [one.atom.terms[column] for column in columns] == key
        ):
            return tuple(literal for literal in body if literal != asked)
    return body


class _Walk:
    """A body on the way from left to right: what was taken, and what it binds from relations."""

    def __init__(self, demands: Demands, rule: Rule, kinds: Mapping[str, Kind]) -> None:
        self.demands = demands
        self.rule = rule
        self.kinds = kinds
        self.taken: list[Literal] = []
        self.known: set[str] = set()
        self.left: list[Literal] = []

    def take(self, seed: Positive | None) -> None:
        """Walk the body in the order of joins that begins with the demand, if there is one."""
        body = self.rule.body if seed is None else (seed, *self.rule.body)
        whole = replace(self.rule, body=body)
        rank = JoinOrder(
            self.demands.estimates, domains_of(self.rule, self.demands.estimates), seed
        )
        order = order_body(body, set(), set(outer_names(whole)), rank)
        self.left = [body[place] for place in order]
        while self.left:
            literal = self.left[0]
            rewritten = literal if literal is seed else self._rewritten(literal)
            self.left.pop(0)
            self.taken.append(rewritten)
            self._learn(literal)

    def body(self) -> tuple[Literal, ...]:
        """The rewritten body."""
        return tuple(self.taken)

    def shared(self) -> tuple[Literal, ...]:
        """The prefix so far; one with several atoms becomes a relation of its own."""
        if sum(isinstance(one, Positive) for one in self.taken) > 1:
            bound = {v.name: None for one in self.taken for v in _binding_variables(one)}
            later = {v.name for one in self.left for v in literal_variables(one)}
            later |= {v.name for term in self.rule.head.terms for v in term_variables(term)}
            names = [name for name in bound if name in later]
            atom = self._supplement(names)
            self.taken = [Positive(atom)]
        return tuple(self.taken)

    def _supplement(self, names: list[str]) -> Atom:
        cut = Cut.of(self.taken, names, self.kinds)
        known = self.demands.prefixes.get(cut)
        if known is None:
            terms = tuple(Variable(name) for name in names)
            known = Atom(self.demands.supplement(names, self.kinds), terms)
            self.demands.prefixes[cut] = known
            self.demands.add(known, cut.literals, self.kinds)
        return known

    def _rewritten(self, literal: Literal) -> Literal:
        match literal:
            case Positive(atom):
                return Positive(self._atom(atom, adorn=True))
            case Negative(atom):
                return Negative(self._atom(atom, adorn=self.demands.through))
            case Aggregate(body=body):
                return replace(literal, body=tuple(self._inner(one) for one in body))
            case Comparison():
                return literal

    def _inner(self, literal: Positive | Negative | Comparison) -> Positive | Negative | Comparison:
        match literal:
            case Comparison():
                return literal
            case Positive(atom) | Negative(atom):
                return replace(literal, atom=self._atom(atom, adorn=self.demands.through))

    def _atom(self, atom: Atom, *, adorn: bool) -> Atom:
        if atom.predicate not in self.demands.heads:
            return atom
        columns = tuple(c for c, term in enumerate(atom.terms) if _is_bound(term, self.known))
        if not adorn or not self.demands.enters(atom.predicate, columns):
            self.demands.full[atom.predicate] = None
            return atom
        return self.demands.demand(atom, columns, self)

    def _learn(self, literal: Literal) -> None:
        """Note what a literal binds to values of a relation; computed values are never demanded."""
        match literal:
            case Positive(atom):
                self.known.update(t.name for t in atom.terms if isinstance(t, Variable))
            case Comparison("=", left, right):
                for one, other in ((left, right), (right, left)):
                    if isinstance(one, Variable) and _is_bound(other, self.known):
                        self.known.add(one.name)
            case _:
                pass


def _is_bound(term: object, known: set[str]) -> bool:
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in known)


def _binding_variables(literal: Literal) -> Iterable[Variable]:
    match literal:
        case Negative():
            return ()
        case Aggregate(result=result):
            return (result,)
        case _:
            return literal_variables(literal)
