"""Rule instances that err, and placeholders whose meaning depends on the order of literals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from constat.analysis import AnalysedProgram, Component
from constat.engine.batch import test_of, value_of
from constat.engine.relation import Texts
from constat.engine.state import FAR
from constat.forward.ways import Graded, UnfitError, Way, pins
from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Literal,
    Negative,
    Positive,
    Predicate,
    Row,
    Rule,
    Term,
    Variable,
    canonical_decimal,
    literal_variables,
    term_variables,
)
from constat.logic.program import Column
from constat.plan import Absence, Filter, Fold, Join, expression_of, plan_program
from constat.plan.compilation import kind_of

if TYPE_CHECKING:
    import duckdb

    from constat.plan import Step

# A way that passes is one where every order of the reference engine says the same, and in which
# the bulk reading says it too.

Columns = tuple[int, ...]


@slotted
class LookupDemand:
    """What the reference engine asks for, by predicate, in order to answer some atoms.

    `keys` are the columns that a demand binds in some procedure. `joined` and `tested` are the
    columns by which rows are looked up: to extend bindings, and to see whether there is any.
    `near` are the predicates it may ask for more than a key.
    """

    keys: dict[str, set[int]] = field(default_factory=dict)
    joined: dict[str, set[Columns]] = field(default_factory=dict)
    tested: dict[str, set[Columns]] = field(default_factory=dict)
    near: set[str] = field(default_factory=set)

    def take(self, steps: Iterable[Step]) -> None:
        """Note what steps look up."""
        for step in steps:
            match step:
                case Join(predicate=name, columns=columns, arity=arity):
                    found = self.joined if len(columns) < arity else self.tested
                    found.setdefault(name, set()).add(columns)
                case Absence(predicate=name, columns=columns):
                    self.tested.setdefault(name, set()).add(columns)
                case Fold(steps=inner):
                    self.take(inner)
                case _:
                    pass

    def narrows(self, name: str, columns: Columns) -> bool:
        """Whether rows that are open in these columns may be met in several shapes.

        A demand that binds an open column brings a narrower shape, which another way of looking
        rows up would list beside the wider one.
        """
        joined = self.joined.get(name, set())
        every = joined | self.tested.get(name, set())
        binding = any(set(one) & set(columns) for one in every)
        return binding and bool(joined) and len(every) > 1


def asked_for(
    program: AnalysedProgram, wanted: Iterable[Atom], costs: Mapping[str, int]
) -> LookupDemand:
    """Say what the reference engine asks for to answer atoms of a program."""
    found = LookupDemand()
    derived = {rule.head.predicate for rule in program.rules}
    found.near = {name for name, cost in costs.items() if cost < FAR and name not in derived}
    for atom in wanted:
        bound = tuple(n for n, term in enumerate(atom.terms) if isinstance(term, Constant))
        looked_up = found.joined if len(bound) < len(atom.terms) else found.tested
        looked_up.setdefault(atom.predicate, set()).add(bound)
        for (name, columns), procedure in plan_program(program, atom, costs).procedures.items():
            found.keys.setdefault(name, set()).update(columns)
            for rule in procedure.rules:
                found.take(rule.steps)
    return found


@frozen
class Placeholders:
    """Checks the ways of one body; `head` is empty inside an aggregate, `keyed` are its columns."""

    literals: Sequence[Literal]
    graded: Graded
    near: frozenset[str]
    head: tuple[Term, ...] = ()
    keyed: frozenset[int] = frozenset()

    def check(self, way: Way) -> None:
        """Raise `UnfitError` where the order of literals matters."""
        for name in self.doubted(way):
            raise UnfitError(f"an unknown ?{name} meets several literals of a rule")

    def doubted(self, way: Way) -> list[str]:
        """Name the variables for which the order of literals matters."""
        return [name for name in sorted(way.open | way.met) if not self._is_fit(name, way)]

    def _is_fit(self, name: str, way: Way) -> bool:
        atoms = [one.atom for one in self.literals if isinstance(one, Positive)]
        if any(_computes(atom, name) for atom in atoms):
            return False
        binding = [atom for atom in atoms if Variable(name) in atom.terms]
        results = sum(
            isinstance(one, Aggregate) and one.result.name == name for one in self.literals
        )
        equal = sum(isinstance(one, Comparison) and name in pins(one) for one in self.literals)
        reads = self._is_read(name)
        match len(binding) + results, equal:
            case (1, 0) | (0, 1):
                return name in way.open and not (reads and self._is_keyed(name))
            case (1, 1) if name in way.met:
                # An equality may compute it from what is open, before its literal is asked.
                return not results and not reads and self._is_asked_widely(binding)
            case (1, 1):
                return not results and not reads and not self._is_shown(name)
            case (_, 0):
                return (
                    not results and not reads and name in way.met and self._may_widen(binding, way)
                )
            case _:
                return False

    def _may_widen(self, binding: Sequence[Atom], way: Way) -> bool:
        """Whether all that bind the variable, but for one that is open, can be asked without it."""
        opened = [atom for atom in binding if Positive(atom) not in way.literals]
        others = [atom for atom in binding if Positive(atom) in way.literals]
        return len(opened) == 1 and self._is_asked_widely(others)

    def _is_asked_widely(self, atoms: Iterable[Atom]) -> bool:
        return all(
            atom.predicate in self.near and not self.graded.of(atom.predicate) for atom in atoms
        )

    def _is_shown(self, name: str) -> bool:
        return any(name in _names(term) for term in self.head)

    def _is_keyed(self, name: str) -> bool:
        return any(
            place in self.keyed and term == Variable(name) for place, term in enumerate(self.head)
        )

    def _is_read(self, name: str) -> bool:
        """Whether anything but what binds the variable looks at its value."""
        shown = [term for term in self.head if name in _names(term)]
        if len(shown) > 1 or any(isinstance(term, Apply) for term in shown):
            return True
        return any(_reads(literal, name) for literal in self.literals)


def _reads(literal: Literal, name: str) -> bool:
    match literal:
        case Positive():
            return False
        case Negative(atom):
            return any(name in _names(term) for term in atom.terms)
        case Comparison():
            return name not in pins(literal) and any(
                one.name == name for one in literal_variables(literal)
            )
        case Aggregate(result=result):
            inside = {one.name for one in literal_variables(literal)}
            return name != result.name and name in inside


def _computes(atom: Atom, name: str) -> bool:
    return any(isinstance(term, Apply) and name in _names(term) for term in atom.terms)


def _names(term: Term) -> set[str]:
    return {variable.name for variable in term_variables(term)}


# The values are those of every instance, and perhaps more; what errs is decided by the same
# functions as everywhere (semantics 9).


@frozen
class Site:
    """Where a rule computes: a literal of its body, or a column of its head.

    `variables` are those that the expressions there read, `terms` the expressions; a comparison is
    `compared` as well.
    """

    rule: int
    place: int
    in_head: bool
    variables: tuple[str, ...]
    terms: tuple[Term, ...]
    compared: Comparison | None = None


@frozen
class Erring:
    """The values for which a site errs, as a relation."""

    site: Site
    rule: Rule
    predicate: Predicate
    rows: Mapping[Row, str] = field(hash=False)

    @property
    def atom(self) -> Atom:
        """The atom that holds where the site errs."""
        return Atom(self.predicate.name, tuple(map(Variable, self.site.variables)))

    def instances(self, kinds: Mapping[str, Kind]) -> tuple[Predicate, Rule]:
        """Declare the relation of the instances that err, and the rule that derives it.

        Its columns are the variables that are bound by then and that anything else reads.
        """
        body = (*binding(self.rule, set(self.site.variables)), Positive(self.atom))
        parts = [*self.rule.body, Positive(self.rule.head)]
        uses = Counter(one.name for part in parts for one in literal_variables(part))
        names = dict.fromkeys(one.name for part in body for one in literal_variables(part))
        shown = [name for name in names if uses[name] > 1]
        name = f"{self.predicate.name}.instances"
        columns = tuple(Column(one, kinds[one].value, kinds[one]) for one in shown)
        head = Atom(name, tuple(map(Variable, shown)))
        return Predicate(name, columns), Rule(f"{name}.1", head, body)


def sites_of(program: AnalysedProgram, number: int) -> Iterator[Site]:
    """Yield the sites of a rule whose values its positive literals give."""
    rule = program.rules[number]
    given = {
        term.name
        for one in rule.body
        if isinstance(one, Positive) and not _has_computed(one.atom)
        for term in one.atom.terms
        if isinstance(term, Variable)
    }
    bound = given | {one.result.name for one in rule.body if isinstance(one, Aggregate)}
    for place, literal in enumerate(rule.body):
        match literal:
            case Comparison():
                terms, compared = _computed(literal, bound)
            case Negative(atom):
                terms, compared = tuple(t for t in atom.terms if isinstance(t, Apply)), None
            case _:
                continue
        yield from _site(number, place, terms, compared, given)
    for place, term in enumerate(rule.head.terms):
        if isinstance(term, Apply):
            yield from _site(number, place, (term,), None, given, in_head=True)


def _site(
    number: int,
    place: int,
    terms: tuple[Term, ...],
    compared: Comparison | None,
    given: set[str],
    *,
    in_head: bool = False,
) -> Iterator[Site]:
    names = tuple(dict.fromkeys(one.name for term in terms for one in term_variables(term)))
    if names and set(names) <= given:
        yield Site(number, place, in_head, names, terms, compared)


def _computed(literal: Comparison, bound: set[str]) -> tuple[tuple[Term, ...], Comparison | None]:
    """Give what a comparison computes, and the comparison itself where it does not assign."""
    fresh = [name for name in pins(literal) if name not in bound]
    sides = (literal.left, literal.right)
    if fresh:
        other = sides[1] if sides[0] == Variable(fresh[0]) else sides[0]
        return (other,) if isinstance(other, Apply) else (), None
    plain = all(isinstance(side, Variable | Constant) for side in sides)
    return ((), None) if plain and "match" not in literal.operator else (sides, literal)


@slotted
class Errors:
    """What is known of instances that err, and whose rules have been looked at."""

    found: list[Erring] = field(default_factory=list)
    looked_at: set[str] = field(default_factory=set)


@frozen
class Looking:
    """A site, and the program that derives all values it may meet, as the rows of `atom`."""

    site: Site
    program: AnalysedProgram
    atom: Atom
    kinds: Mapping[str, Kind] = field(hash=False)

    @property
    def source(self) -> Atom | None:
        """The only atom that gives the values, where there is only one."""
        body = self.program.rules[-1].body
        return body[0].atom if len(body) == 1 and isinstance(body[0], Positive) else None

    def rows(self, relation: duckdb.DuckDBPyRelation) -> list[Row]:
        """Take the values out of the rows of the source, each once, in canonical form."""
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        terms = () if self.source is None else self.source.terms
        places = [terms.index(Variable(name)) for name in self.site.variables]
        chosen = [ColumnExpression(f"c{place}") for place in places]
        decimals = [self.kinds[name] is Kind.DECIMAL for name in self.site.variables]
        return [
            tuple(
                [
                    canonical_decimal(Decimal(cell)) if is_decimal else cell
                    for cell, is_decimal in zip(row, decimals, strict=True)
                ]
            )
            for row in relation.select(*chosen).distinct().fetchall()
        ]

    def errs(self, rows: Iterable[Row]) -> Erring:
        """Say for which of the values the site errs."""
        tests = list(_tests(self.site, self.kinds))
        found: dict[Row, str] = {}
        for row in rows:
            try:
                for test in tests:
                    test(row)
            except EvaluationError as problem:
                found[row] = str(problem)
        declared = self.program.program.predicates[self.atom.predicate]
        rule = self.program.rules[self.site.rule]
        return Erring(self.site, rule, replace(declared, name=f"{declared.name}.erring"), found)


def lookings(program: AnalysedProgram, names: Iterable[str]) -> Iterator[Looking]:
    """Yield what to look at for the rules of some predicates, those of recursions left out."""
    recursive = {name for one in program.components if one.recursive for name in one.predicates}
    for name in names:
        numbers = program.rule_numbers(name) if name not in recursive else ()
        for number in numbers:
            for count, site in enumerate(sites_of(program, number)):
                yield _looking(program, site, f"{name}.values.{program.rules[number].id}.{count}")


def _looking(program: AnalysedProgram, site: Site, name: str) -> Looking:
    rule, kinds = program.rules[site.rule], program.variable_kinds[site.rule]
    columns = tuple(Column(one, kinds[one].value, kinds[one]) for one in site.variables)
    atom = Atom(name, tuple(map(Variable, site.variables)))
    added = Rule(f"{name}.1", atom, tuple(binding(rule, set(site.variables))))
    rules = (*program.rules, added)
    predicates = {**program.program.predicates, name: Predicate(name, columns)}
    extended = AnalysedProgram(
        replace(program.program, predicates=predicates, rules=rules),
        rules,
        (*program.variable_kinds, kinds),
        (*program.components, Component((name,), recursive=False)),
        program.external,
    )
    return Looking(site, extended, atom, kinds)


def binding(rule: Rule, names: set[str]) -> Iterator[Positive]:
    """Yield positive literals that bind the names: one, if one binds them all."""
    literals = [one for one in rule.body if isinstance(one, Positive)]
    # A literal that computes is left out: what it computes may err as well.
    plain = [one for one in literals if not _has_computed(one.atom)]
    bound = [{t.name for t in one.atom.terms if isinstance(t, Variable)} for one in plain]
    pairs = list(zip(plain, bound, strict=True))
    whole = next((one for one, found in pairs if names <= found), None)
    if whole is not None:
        yield whole
        return
    yield from (one for one, found in pairs if names & found)


def _has_computed(atom: Atom) -> bool:
    return any(isinstance(term, Apply) for term in atom.terms)


def _tests(site: Site, kinds: Mapping[str, Kind]) -> Iterator[Callable[[Row], object]]:
    slots = {name: place for place, name in enumerate(site.variables)}
    expressions = [expression_of(term, slots, kinds) for term in site.terms]
    if site.compared is None:
        yield from map(value_of, expressions)
        return
    left, right = expressions
    kind = kind_of(site.compared.left, kinds)
    yield test_of(Filter(site.compared.operator, left, right, kind), Texts())
