"""Rules that derive what is demanded and nothing else: magic sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from constat.analysis.strata import THRESHOLDS, dependencies
from constat.diagnostics import ConstatError, counted
from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Apply,
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
from constat.plan.compilation import order_body, predicates_of, rules_by_head
from constat.plan.forward.estimates import JoinOrder, TypedRule, domains_of, work_of
from constat.plan.forward.operators import Wanted
from constat.plan.forward.pipelines import compile_pipelines
from constat.plan.planning import not_bound

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.plan.forward.estimates import Draft, Estimates

# The order of the rules and of the components stays. Where every rule is needed nothing changes,
# so that a rule's number is the one of the original program.


def keep_reachable(draft: Draft) -> None:
    """Drop rules and components that no wanted relation needs."""
    program = draft.program
    needed = reachable(program, [one.relation for one in draft.wanted])
    declared = (program.program.predicates.get(name) for name in sorted(needed))
    open_columns = [not_bound(one) for one in declared if one is not None and one.given]
    if open_columns:
        raise ConstatError(open_columns)
    kept = [number for number, r in enumerate(program.rules) if r.head.predicate in needed]
    if len(kept) == len(program.rules):
        return
    rules = tuple(program.rules[number] for number in kept)
    draft.program = replace(
        program,
        program=replace(program.program, rules=rules),
        rules=rules,
        variable_kinds=tuple(program.variable_kinds[number] for number in kept),
        components=tuple(one for one in program.components if needed & set(one.predicates)),
    )
    dropped = len(program.rules) - len(kept)
    draft.note(
        "dead rules", counted(dropped, "rule"), "no wanted relation needs them", applied=True
    )


def reachable(program: AnalysedProgram, wanted: Iterable[str]) -> set[str]:
    """The predicates that some derivation of a wanted predicate can use, these included."""
    heads = rules_by_head(program)
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        predicate = waiting.pop()
        if predicate in found:
            continue
        found.add(predicate)
        for number in heads.get(predicate, ()):
            for literal in program.rules[number].body:
                waiting.extend(predicates_of(literal))
    return found


def settled(draft: Draft, wanted: Iterable[str]) -> bool:
    """Whether nothing that these predicates rest on is open or assumed."""
    program = draft.program
    needed = reachable(program, wanted)
    if needed & draft.options.open:
        return False
    return not any(one.assumed for one in program.rules if one.head.predicate in needed)


# The atom holds for the same values of the kept variables; all others were local to the literals.


@frozen
class Cut:
    """All that makes one such relation another: its literals, columns, and kinds of variables.

    `Extracts` makes a relation from nothing else, so no two that differ can be taken for one.
    """

    literals: tuple[Literal, ...]
    kept: tuple[str, ...]
    kinds: tuple[tuple[str, Kind], ...]

    @classmethod
    def of(cls, literals: Iterable[Literal], kept: Iterable[str], kinds: Mapping[str, Kind]) -> Cut:
        """Describe some literals of a rule, whose variables have these kinds."""
        body = tuple(literals)
        return cls(body, tuple(kept), kinds_of(body, kinds))


@frozen
class Extract:
    """A relation made of literals."""

    predicate: Predicate
    rule: TypedRule

    def atom(self, renamed: Mapping[str, str]) -> Atom:
        """The atom for other names of the kept variables."""
        terms = (term for term in self.rule[0].head.terms if isinstance(term, Variable))
        return Atom(self.predicate.name, tuple(Variable(renamed[term.name]) for term in terms))


@slotted
class Extracts:
    """The relations that one pass makes, each once."""

    made: dict[Cut, Extract] = field(default_factory=dict)

    def take(self, name: str, cut: Cut) -> Extract:
        """Give the relation of a cut; a new one is called by this name and its number."""
        if cut not in self.made:
            self.made[cut] = extract(f"{name}/{len(self.made) + 1}", cut)
        return self.made[cut]

    @property
    def predicates(self) -> dict[str, Predicate]:
        """The relations by name."""
        return {one.predicate.name: one.predicate for one in self.made.values()}

    @property
    def rules(self) -> list[TypedRule]:
        """The rule of each relation."""
        return [one.rule for one in self.made.values()]


def extract(name: str, cut: Cut) -> Extract:
    """Make literals a relation whose columns are the kept variables."""
    kinds = dict(cut.kinds)
    columns = tuple(Column(one, kinds[one].value, kinds[one]) for one in cut.kept)
    head = Atom(name, tuple(map(Variable, cut.kept)))
    return Extract(Predicate(name, columns), (Rule(f"{name}.1", head, cut.literals), kinds))


def kinds_of(body: Iterable[Literal], kinds: Mapping[str, Kind]) -> tuple[tuple[str, Kind], ...]:
    """Give the variables of a body with their kinds, in the order of their names."""
    return tuple((name, kinds[name]) for name in sorted({n for one in body for n in names_of(one)}))


def names_of(literal: Literal) -> set[str]:
    """The names of a literal's variables."""
    return {variable.name for variable in literal_variables(literal)}


def computes(atom: Atom) -> bool:
    """Whether an atom computes from variables, which other literals then have to bind."""
    return any(
        isinstance(one, Apply) and any(True for _ in term_variables(one)) for one in atom.terms
    )


def is_safe(literals: Iterable[Literal]) -> bool:
    """Whether positive atoms bind every variable of the other literals, none an aggregate.

    An atom that computes binds nothing here: what it computes from may be its own variable.
    """
    body = tuple(literals)
    bound: set[str] = set()
    for one in body:
        if isinstance(one, Positive) and not computes(one.atom):
            bound.update(term.name for term in one.atom.terms if isinstance(term, Variable))
    return all(
        isinstance(one, Positive | Negative | Comparison) and names_of(one) <= bound for one in body
    )


# Invariants. A demand has values of relations only, never computed ones, so demands are finite
# wherever the rules are. A predicate that is taken as it is rests on no demand; so without
# `through`, where what is negated or aggregated is taken as it is, the program stays stratified.
# With it demands go into these, too, and the caller must check. Prefixes of a body with several
# atoms become supplementary relations, shared by the demands of what follows.
# See Bancilhon, Maier, Sagiv and Ullman (1986), Beeri and Ramakrishnan (1991), and Balbin, Port,
# Ramamohanarao and Meenakshi, Efficient bottom-up computation of queries on stratified databases
# (1991).

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


# The program stays stratified. Demands go through negation and aggregates where the result is
# still stratified (semantics 14 asks for that of every program); else what is negated or
# aggregated is computed in full. Never blindly: a demand that reaches most of a relation costs
# more than it saves, so both programs are estimated.

NAME = "magic sets"
_GAIN = 0.5
_WORTH = 5_000.0


def restrict_to_demand(draft: Draft) -> None:
    """Rewrite the program by magic sets, where constants are wanted and it pays."""
    subject = ", ".join(sorted({one.relation for one in draft.wanted}))
    if not draft.options.rewrite or draft.options.magic is False or not _may_gain(draft):
        return
    if not settled(draft, [one.relation for one in draft.wanted]):
        draft.note(NAME, subject, "what it rests on may be unknown", applied=False)
        return
    compile_pipelines(draft)
    before = work_of(draft)
    if draft.options.magic is None and before < _WORTH:
        draft.note(NAME, subject, "there is little to compute in any case", applied=False)
        return
    rewritten = _rewritten(draft)
    if rewritten is None:
        draft.note(
            NAME,
            subject,
            "no rule can use the constants, or it would take too many forms of them",
            applied=False,
        )
        return
    keep_reachable(rewritten)
    compile_pipelines(rewritten)
    after = work_of(rewritten)
    why = f"about {_about(after)} bindings with demands, {_about(before)} without"
    applied = draft.options.magic is True or after < before * _GAIN
    if applied:
        draft.program, draft.wanted = rewritten.program, rewritten.wanted
        draft.estimates, draft.drafts = rewritten.estimates, rewritten.drafts
        draft.compiled = rewritten.compiled
        draft.made_by.update(rewritten.made_by)
    draft.note(NAME, subject, why, applied=applied)


def _about(bindings: float) -> str:
    return f"{float(f'{bindings:.2g}'):,.0f}"


def _may_gain(draft: Draft) -> bool:
    """Whether a constant stands in a wanted atom, or where a rule reads a derived predicate."""
    derived = {rule.head.predicate for rule in draft.program.rules}
    wanted = (_renamed(one) for one in draft.wanted)
    read = (
        one.atom for rule in draft.program.rules for one in rule.body if isinstance(one, Positive)
    )
    return any(
        atom.predicate in derived and any(isinstance(term, Constant) for term in atom.terms)
        for atom in (*wanted, *read)
    )


def _rewritten(draft: Draft) -> Draft | None:
    for through in (True, False):
        demands = Demands(draft, draft.estimates, _fixed(draft.program), through=through)
        wanted = [Wanted(one.atom, demands.seed(_renamed(one))) for one in draft.wanted]
        copy = replace(draft, wanted=wanted, notes=[], made_by={}, compiled=None)
        rules = demands.follow()
        if rules is None or not any(one.startswith(demand_name("")) for one in demands.made):
            return None
        copy.revise(rules, demands.made, NAME)
        if not through or is_stratified(copy.program):
            return copy
    return None


def _renamed(wanted: Wanted) -> Atom:
    return replace(wanted.atom, predicate=wanted.relation)


def is_stratified(program: AnalysedProgram) -> bool:
    """Whether no component negates or aggregates over itself, thresholds aside."""
    graph = dependencies(program.program)
    component = {
        name: number for number, one in enumerate(program.components) for name in one.predicates
    }
    return not any(
        use.how not in {"", *THRESHOLDS} and component[use.predicate] == component[name]
        for name, uses in graph.items()
        for use in uses
    )


def _fixed(program: AnalysedProgram) -> frozenset[str]:
    """Predicates that demands do not enter: those with rows from outside, and thresholds."""
    heads = {
        rule.head.predicate
        for rule in program.rules
        if any(isinstance(one, Aggregate) and one.recursive for one in rule.body)
    }
    recursive = {
        name
        for component in program.components
        if heads & set(component.predicates)
        for name in component.predicates
    }
    return frozenset(recursive | program.external)
