"""Compile one rule over open predicates into rules over closed relations.

In: a rule, and what is known of the predicates it reads. Out: rules, predicates and guards, put
into `Made`. Invariants: an instance of the rule is an instance of exactly one of the ways in which
its body holds, as far as its strength goes; what a rule computes is computed only where it does not
err. Example: `total(?c, ?t) :- customer(?c), ?t = sum ?v : { order(_, ?c, ?v) }.` over open orders
becomes the same rule for the groups that are not touched, and one for those that are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from constat.evaluation import ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.forward.grades import Grade, graded_atom, graded_predicate
from constat.forward.loosening import loosened, pruned
from constat.forward.placeholders import Placeholders
from constat.forward.ways import Body, Doubt, Graded, UnfitError, Way, assigned
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Column,
    Comparison,
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
from constat.plan.costs import predicates_of

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.forward.erring import Erring
    from constat.forward.placeholders import Asked

TypedRule = tuple[Rule, Mapping[str, Kind]]


@dataclass(frozen=True, slots=True)
class Around:
    """What is known around a rule: its program, the grades of predicates, instances that err.

    With `loose` a way whose meaning depends on the order of literals is loosened, and not refused.
    """

    program: AnalysedProgram
    graded: Graded
    asked: Asked
    erring: tuple[Erring, ...]
    loose: bool = False

    def fitting(self, way: Way, placeholders: Placeholders, given: Iterable[str] = ()) -> list[Way]:
        """Give the ways that say what every order of literals says, or at most as much."""
        if not self.loose:
            placeholders.check(way)
            return [way]
        doubted = placeholders.doubted(way)
        return loosened(way, doubted, tuple(given)) if doubted else [way]


@dataclass(slots=True)
class Made:
    """What the rules of one component become."""

    rules: list[TypedRule] = field(default_factory=list)
    grades: dict[str, set[Grade]] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)
    guards: dict[str, str] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    erring: dict[str, Erring] = field(default_factory=dict)


@dataclass(slots=True)
class RuleGrading:
    """One rule under compilation; what it becomes goes into `made`."""

    around: Around
    number: int
    made: Made

    @property
    def rule(self) -> Rule:
        """The rule as written."""
        return self.around.program.rules[self.number]

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kinds of its variables."""
        return self.around.program.variable_kinds[self.number]

    def run(self) -> None:
        """Expand the rule into one for each way in which its body holds."""
        rule, graded = self.rule, self.around.graded
        erring = [one for one in self.around.erring if one.site.rule == self.number]
        names = {name for one in rule.body for name in predicates_of(one)}
        if not erring and not any(map(graded.of, names)):
            self._add(Way(rule.body), 0)
            return
        doubts = {
            place: doubt
            for place, literal in enumerate(rule.body)
            if isinstance(literal, Aggregate) and (doubt := self._doubt(place, literal)) is not None
        }
        keyed = frozenset(self.around.asked.keys.get(rule.head.predicate, ()))
        near = frozenset(self.around.asked.near)
        placeholders = Placeholders(rule.body, graded, near, rule.head.terms, keyed)
        for one in erring:
            self._list(one)
        inside = {one.site.place: one.atom for one in erring if not one.site.in_head}
        heads = {one.site.place: one.atom for one in erring if one.site.in_head}
        ways = Body(rule.body, graded, doubts=doubts, erring=inside).ways()
        every = (one for way in ways for one in self.around.fitting(way, placeholders))
        for count, way in enumerate(every):
            for found, failed in _with_head(way, heads):
                self._add(found, count, failed)

    def _list(self, erring: Erring) -> None:
        """List the instances that err."""
        predicate, listing = erring.instances(self.kinds)
        self.made.predicates[predicate.name] = predicate
        self.made.origin[predicate.name] = self.rule.head.predicate
        self.made.erring[predicate.name] = erring
        self.made.rules.append((listing, self.kinds))

    def _add(self, way: Way, count: int, failed: frozenset[int] = frozenset()) -> None:
        """Add the rule of one way; `failed` are the columns of its head that err."""
        _check_computed(way)
        head = self.rule.head
        opened = tuple(
            place
            for place, term in enumerate(head.terms)
            if place in failed or any(one.name in way.open for one in term_variables(term))
        )
        strength = min(way.strength, ACCEPTED) if self.rule.assumed else way.strength
        sure = replace(self.rule, body=way.literals, proposed=False, confidence=Decimal(1))
        if strength == CERTAIN:
            self.made.rules.append((sure, self.kinds))
            return
        grade = Grade(strength, opened)
        self.made.grades.setdefault(head.predicate, set()).add(grade)
        predicate = self.around.program.program.predicates[head.predicate]
        name = f"{self.rule.id}.{count}"
        found = replace(sure, id=name, head=graded_atom(predicate, grade, head))
        self.made.rules.append((found, self.kinds))

    def _doubt(self, place: int, literal: Aggregate) -> Doubt | None:
        """Say which groups of an aggregate have members that are not certain."""
        around = self.around
        if not any(around.graded.of(name) for name in predicates_of(literal)):
            return None
        if literal.recursive:
            raise UnfitError("a total inside its own recursion has members that are not certain")
        group = self._group(literal)
        body = Body(literal.body, around.graded, start=frozenset(group), distinct=True)
        placeholders = Placeholders(literal.body, around.graded, frozenset(around.asked.near))
        columns = tuple(Column(name, self.kinds[name].value, self.kinds[name]) for name in group)
        touched = Predicate(f"{self.rule.head.predicate}.group.{self.rule.id}.{place}", columns)
        found: dict[Grade, Atom] = {}
        weak = [way for way in body.ways() if way.strength < CERTAIN]
        every = (one for way in weak for one in around.fitting(way, placeholders, group))
        for count, way in enumerate(every):
            grade, atom = self._touch(touched, way, count)
            found[grade] = atom
            self._guard(way, count, touched)
        return Doubt(found, self._accepted(literal))

    def _group(self, literal: Aggregate) -> tuple[str, ...]:
        outer = {*outer_names(self.rule)} - {literal.result.name}
        inside = [one.name for part in literal.body for one in literal_variables(part)]
        if literal.target is not None:
            inside += [one.name for one in term_variables(literal.target)]
        return tuple(dict.fromkeys(name for name in inside if name in outer))

    def _touch(self, touched: Predicate, way: Way, count: int) -> tuple[Grade, Atom]:
        """Derive the groups that one way of the inner body touches."""
        group = [column.name for column in touched.columns]
        _check_computed(way, group)
        bound = _bound(way.literals)
        opened = tuple(n for n, name in enumerate(group) if name not in bound)
        read = {one.name for literal in way.literals for one in literal_variables(literal)}
        if any(group[place] in read for place in opened):
            if not self.around.loose:
                raise UnfitError("an aggregate compares what only its group knows")
            way = pruned(way, [group[place] for place in opened])
        grade = Grade(way.strength, opened)
        atom = graded_atom(touched, grade, Atom(touched.name, tuple(map(Variable, group))))
        self.made.predicates[atom.predicate] = graded_predicate(touched, grade)
        self.made.origin[atom.predicate] = self.rule.head.predicate
        rule = Rule(f"{touched.name}.{count}", atom, way.literals)
        self.made.rules.append((rule, self.kinds))
        return grade, atom

    def _guard(self, way: Way, count: int, touched: Predicate) -> None:
        """Look for open rows that may be rows which are there: they add no member to a group."""
        graded = self.around.graded
        for place, (grade, atom) in enumerate(way.whole):
            predicate = graded.predicates[atom.predicate]
            free = Atom(predicate.name, tuple(Variable(f"c{n}") for n in range(predicate.arity)))
            kinds = {f"c{n}": kind for n, kind in enumerate(predicate.kinds)}
            shown = graded.atom(grade, free)
            stronger = [
                graded.atom(one, free)
                for one in graded.of(atom.predicate)
                if not one.open and one.strength > grade.strength
            ]
            name = f"{touched.name}.guard.{count}.{place}"
            self.made.predicates[name] = Predicate(name, ())
            self.made.origin[name] = self.rule.head.predicate
            self.made.guards[name] = self.rule.head.predicate
            for number, other in enumerate((free, *stronger)):
                rule = Rule(f"{name}.{number}", Atom(name, ()), (Positive(shown), Positive(other)))
                self.made.rules.append((rule, kinds))

    def _accepted(self, literal: Aggregate) -> Aggregate:
        """Give the aggregate over what holds once assumptions are accepted."""
        body: list[Positive | Negative | Comparison] = []
        graded = self.around.graded
        for one in literal.body:
            match one:
                case Positive(atom):
                    body.append(Positive(self._held(atom)))
                case Negative(atom):
                    weak = [
                        grade for grade in graded.of(atom.predicate) if grade.strength > CONCEIVABLE
                    ]
                    body += [
                        Negative(atom),
                        *(Negative(graded.atom(grade, atom)) for grade in weak),
                    ]
                case Comparison():
                    body.append(one)
        return replace(literal, body=tuple(body))

    def _held(self, atom: Atom) -> Atom:
        """Give the atom over the rows that are certain or accepted."""
        graded = self.around.graded
        if Grade(ACCEPTED) not in graded.of(atom.predicate):
            return atom
        predicate = graded.predicates[atom.predicate]
        name = f"{predicate.name}.held"
        self.made.shared.add(name)
        self.made.predicates[name] = replace(
            graded_predicate(predicate, Grade(ACCEPTED)), name=name
        )
        self.made.origin[name] = self.rule.head.predicate
        free = Atom(predicate.name, tuple(Variable(f"c{n}") for n in range(predicate.arity)))
        kinds = {f"c{n}": kind for n, kind in enumerate(predicate.kinds)}
        for number, source in enumerate((free, graded.atom(Grade(ACCEPTED), free))):
            rule = Rule(f"{name}.{number}", replace(free, predicate=name), (Positive(source),))
            if (rule, kinds) not in self.made.rules:
                self.made.rules.append((rule, kinds))
        return replace(atom, predicate=name)


def _with_head(way: Way, heads: Mapping[int, Atom]) -> list[tuple[Way, frozenset[int]]]:
    """Split a way by which columns of the head err."""
    found: list[tuple[Way, frozenset[int]]] = [(way, frozenset())]
    for place, erring in heads.items():
        if any(one.name in way.open for term in erring.terms for one in term_variables(term)):
            continue
        sure = [(one.taking(CERTAIN, Negative(erring)), failed) for one, failed in found]
        weak = [(one.taking(POSSIBLE, Positive(erring)), failed | {place}) for one, failed in found]
        found = sure + weak
    return found


def _check_computed(way: Way, given: Iterable[str] = ()) -> None:
    """Raise `UnfitError` where an atom computes from what nothing that is left of a way binds."""
    totals = [one.result.name for one in way.literals if isinstance(one, Aggregate)]
    bound = _bound(way.literals, {*totals, *given})
    for literal in way.literals:
        if isinstance(literal, Positive) and _computed_from(literal.atom) - bound:
            raise UnfitError("a rule computes what it looks for from what is unknown")


def _computed_from(atom: Atom) -> set[str]:
    computed = [term for term in atom.terms if isinstance(term, Apply)]
    return {one.name for term in computed for one in term_variables(term)}


def _bound(literals: Iterable[Literal], known: Iterable[str] = ()) -> set[str]:
    """Name the variables that a body binds, where these are known before."""
    found: set[str] = set(known)
    left = list(literals)
    while ready := [one for one in left if _binds(one, found) is not None]:
        left = [one for one in left if one not in ready]
        found |= {name for one in ready for name in _binds(one, found) or ()}
    return found


def _binds(literal: Literal, known: set[str]) -> set[str] | None:
    """Name what a literal binds; nothing where it has to wait, or binds nothing."""
    match literal:
        case Comparison():
            name = assigned(literal, known)
            return None if name is None else {name}
        case Positive(atom):
            names = {v.name for v in literal_variables(literal)}
            return names if _computed_from(atom) <= known else None
        case _:
            return None
