"""Names for `some row of p` and for given columns, so that rules read them as relations."""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from constat.analysis import AnalysedProgram, Component
from constat.analysis.analysed import Draft
from constat.analysis.binding import names_in
from constat.analysis.demand import binders, demand_relation, without_given
from constat.analysis.strata import find_strata
from constat.diagnostics import ConstatError
from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Atom,
    Constant,
    Negative,
    NullPolicy,
    Positive,
    Predicate,
    Rule,
    Variable,
    is_wildcard,
    literal_variables,
    null_policies,
    null_words,
    outer_names,
    term_variables,
    unread_variables,
)
from constat.proof.encoding import reachable
from constat.proof.sentences import PLAIN, describe_some, speech_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from constat.logic import Kind, Literal, Program


def has_given(program: AnalysedProgram) -> bool:
    """Tell whether a predicate has given columns."""
    return program.remembered(
        "has given", lambda: any(one.given for one in program.program.predicates.values())
    )


def with_given(program: AnalysedProgram) -> AnalysedProgram:
    """Return a program without given columns, for goals that are rules of it."""
    if not has_given(program):
        return program
    predicates = program.program.predicates
    asking = _Asking(program)
    rules = [
        asking.rule(rule, kinds)
        for rule, kinds in zip(program.rules, program.variable_kinds, strict=True)
    ]
    every = (*rules, *(rule for rule, _ in asking.added))
    kinds = (*program.variable_kinds, *(one for _, one in asking.added))
    plain = {name: without_given(one) for name, one in predicates.items()}
    declared = {**plain, **{one.name: one for one in asking.demanded.values()}}
    joined = replace(program.program, predicates=declared, rules=every)
    draft = Draft(joined, [], predicates=declared, rules=list(every), variable_kinds=list(kinds))
    find_strata(draft)
    if draft.diagnostics:
        raise ConstatError(draft.diagnostics)
    marked = tuple(draft.rules)
    return AnalysedProgram(
        replace(joined, rules=marked), marked, kinds, draft.components, program.external
    )


@slotted
class _Asking:
    program: AnalysedProgram
    demanded: dict[str, Predicate] = field(default_factory=dict)
    added: list[tuple[Rule, Mapping[str, Kind]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for predicate in self.program.program.predicates.values():
            if predicate.given:
                self.demanded[predicate.name] = demand_relation(predicate)

    def rule(self, rule: Rule, kinds: Mapping[str, Kind]) -> Rule:
        """Return a rule that reads what is asked for, and note what it asks for itself."""
        own = self.own(rule)
        for place, literal in enumerate(rule.body):
            match literal:
                case Positive(atom) | Negative(atom) if atom.predicate in self.demanded:
                    beside = [one for at, one in enumerate(rule.body) if at != place]
                    self.ask(rule, kinds, atom, beside)
                case Aggregate(body=inner):
                    self.inside(rule, kinds, place, inner)
                case _:
                    pass
        if own is None:
            return rule
        return replace(rule, body=(own, *rule.body), attributes=_shifted(rule))

    def own(self, rule: Rule) -> Positive | None:
        """Return the literal that reads what is asked of a rule's head."""
        predicate = self.program.program.predicates[rule.head.predicate]
        if not predicate.given:
            return None
        terms = tuple(rule.head.terms[place] for place in predicate.given)
        return Positive(Atom(self.demanded[predicate.name].name, terms))

    def inside(
        self, rule: Rule, kinds: Mapping[str, Kind], place: int, inner: Sequence[Literal]
    ) -> None:
        """Note what an aggregate asks for."""
        outside = [one for number, one in enumerate(rule.body) if number != place]
        for at, one in enumerate(inner):
            if isinstance(one, Positive | Negative) and one.atom.predicate in self.demanded:
                beside = [other for number, other in enumerate(inner) if number != at]
                self.ask(rule, kinds, one.atom, [*outside, *beside])

    def ask(
        self, rule: Rule, kinds: Mapping[str, Kind], atom: Atom, beside: Sequence[Literal]
    ) -> None:
        """Add the rule that says which values an atom is asked for."""
        demanded = self.demanded[atom.predicate]
        predicates = self.program.program.predicates
        predicate = predicates[atom.predicate]
        terms = tuple(atom.terms[place] for place in predicate.given)
        body = binders(rule, predicates, names_in(terms), beside)
        if body is None:
            raise TypeError(f"nothing binds the given columns of `{atom.predicate}`")
        own = self.own(rule)
        literals = tuple(body) if own is None else (own, *body)
        name = (
            f"{demanded.name}.{sum(r.head.predicate == demanded.name for r, _ in self.added) + 1}"
        )
        asked = Rule(name, Atom(demanded.name, terms), literals, span=rule.span)
        used = set(outer_names(asked))
        used |= {one.name for literal in literals for one in literal_variables(literal)}
        self.added.append((asked, {n: kind for n, kind in kinds.items() if n in used}))


def _shifted(rule: Rule) -> Mapping[str, str]:
    """Return the attributes with no reason for the literal that was put first."""
    reasons = rule.attributes.get("reasons", "")
    return {**rule.attributes, "reasons": f"-,{reasons}"} if reasons else rule.attributes


# Both programs derive the same rows; in the second one every negated atom is ground once its
# rule's outer variables are bound, as certificates want it (FORMAT.md, section 4).  Of columns
# that may hold null cells the rule reads those that the atom read.

_Kept = tuple[str, tuple[int, ...], tuple[int, ...]]
"""A predicate, the columns that are kept, and those that hold nulls and are not read."""


def with_projections(program: AnalysedProgram) -> AnalysedProgram:
    """Return a program whose negated atoms have no variables of their own.

    What its rules are given is a relation there (see ``given_columns``).
    """
    return program.remembered("projected", lambda: with_projected_negations(with_given(program)))


def demanded_relations(program: AnalysedProgram) -> dict[str, str]:
    """Return for each predicate with given columns the relation of what it is asked for."""
    predicates = program.program.predicates.items()
    return {name: demand_relation(one).name for name, one in predicates if one.given}


def with_projected_negations(program: AnalysedProgram) -> AnalysedProgram:
    """Return a program whose negated atoms have no variables of their own; given columns stay."""
    projector = _Projector(program)
    rules = tuple(projector.rule(rule) for rule in program.rules)
    if not projector.added:
        return program
    every = (*rules, *(added.rule for added in projector.added.values()))
    predicates = {
        **program.program.predicates,
        **{added.predicate.name: added.predicate for added in projector.added.values()},
    }
    return AnalysedProgram(
        replace(program.program, predicates=predicates, rules=every),
        every,
        (*program.variable_kinds, *(added.kinds for added in projector.added.values())),
        _components(program, projector.added),
        program.external,
    )


@frozen
class _Added:
    predicate: Predicate
    rule: Rule
    kinds: Mapping[str, Kind]


@slotted
class _Projector:
    program: AnalysedProgram
    added: dict[_Kept, _Added] = field(default_factory=dict)

    def rule(self, rule: Rule) -> Rule:
        """Return a rule with its negated atoms projected."""
        if not any(isinstance(literal, Negative) for literal in rule.body):
            return rule
        seen = Counter(v.name for literal in rule.body for v in literal_variables(literal))
        seen.update(v.name for term in rule.head.terms for v in term_variables(term))
        body = tuple(
            Negative(self.atom(literal.atom, seen)) if isinstance(literal, Negative) else literal
            for literal in rule.body
        )
        return rule if body == rule.body else replace(rule, body=body)

    def atom(self, atom: Atom, seen: Counter[str]) -> Atom:
        """Return an atom without the variables that occur nowhere else."""
        kept = tuple(
            place
            for place, term in enumerate(atom.terms)
            if not (isinstance(term, Variable) and seen[term.name] == 1)
        )
        if len(kept) == len(atom.terms):
            return atom
        policies = null_policies(self.program.program.predicates[atom.predicate])
        unread = tuple(
            place
            for place, policy in enumerate(policies)
            if policy is not None and is_wildcard(atom.terms[place])
        )
        added = self.added.get((atom.predicate, kept, unread))
        if added is None:
            added = self.make(atom.predicate, kept, unread)
            self.added[atom.predicate, kept, unread] = added
        return Atom(added.predicate.name, tuple(atom.terms[place] for place in kept), atom.span)

    def make(self, name: str, kept: tuple[int, ...], unread: tuple[int, ...]) -> _Added:
        """Make the predicate "some row of p" and its rule."""
        predicate = self.program.program.predicates[name]
        columns = tuple(predicate.columns[place] for place in kept)
        # Names of the language have no point, so this one is free.
        some = ("of", *(predicate.columns[place].name for place in unread)) if unread else ()
        fresh = ".".join([name, "some", *(column.name for column in columns), *some])
        variables = tuple(
            Variable(f"_{place + 1}" if place in unread else f"c{place}")
            for place in range(predicate.arity)
        )
        head = Atom(fresh, tuple(variables[place] for place in kept))
        rule = Rule(f"{fresh}.1", head, (Positive(Atom(name, variables)),))
        kinds = {v.name: kind for v, kind in zip(variables, predicate.kinds, strict=True)}
        told = _said_of_some(predicate, kept)
        if predicate.given:
            # Whoever asks for some row binds what the row's predicate is given.
            told["given"] = ",".join(predicate.columns[place].name for place in predicate.given)
        return _Added(Predicate(fresh, columns, attributes=told), rule, kinds)


def _said_of_some(predicate: Predicate, kept: tuple[int, ...]) -> dict[str, str]:
    """Give the sentences of "some row of p", in the languages that p has sentences in."""
    shown = {name: f"{{{name}}}" for name in (predicate.columns[place].name for place in kept)}
    told: dict[str, str] = {}
    for ending, speech in (("", PLAIN), (".de", speech_in("de_DE"))):
        if not ending or f"says{ending}" in predicate.attributes:
            for form, holds in (("says", True), ("says_not", False)):
                said = describe_some(predicate, shown, holds=holds, speech=speech)
                told[f"{form}{ending}"] = said
    return told


def _components(program: AnalysedProgram, added: Mapping[_Kept, _Added]) -> tuple[Component, ...]:
    """Put each new predicate right above the one it projects."""
    above: dict[str, list[Component]] = {}
    for (name, _, _), one in added.items():
        above.setdefault(name, []).append(Component((one.predicate.name,), recursive=False))
    found: list[Component] = []
    for component in program.components:
        found.append(component)
        for name in component.predicates:
            found += above.pop(name, [])
    first = [component for components in above.values() for component in components]
    return (*first, *found)


# A column that no rule below a goal and not the goal itself reads is not fetched (semantics 50).
# Rows that differ in nothing else become one: outside of aggregates, and where the least or the
# greatest is taken, that changes no answer. In the others the key, which is always read, keeps rows
# apart; rows of a predicate without one are folded whole.

_SKIP: Final = "skip"
UNREAD: Final = NullPolicy.UNREAD.value
# Equal rows change nothing of these.
_EXTREMES: Final = frozenset({"min", "max"})


def reading_least(
    program: AnalysedProgram, goal: Atom, may: Callable[[Predicate], bool]
) -> AnalysedProgram:
    """Return a program in which nobody reads the columns that a goal and its rules do not need.

    Only predicates without rules for which `may` is true lose columns. Goals of one form have one
    program, which remembers what was made of it.
    """
    predicates = program.program.predicates
    form = tuple("" if isinstance(term, Constant) else term for term in goal.terms)
    free = frozenset(one for one in program.external if one in predicates and may(predicates[one]))
    return program.remembered(
        ("least", goal.predicate, form, free), lambda: _reading_least(program, goal, free)
    )


def _reading_least(program: AnalysedProgram, goal: Atom, free: frozenset[str]) -> AnalysedProgram:
    predicates = program.program.predicates
    atoms = [
        (
            goal,
            frozenset(v.name for v in goal.terms if isinstance(v, Variable) and is_wildcard(v)),
            False,
        )
    ]
    atoms += _atoms_below(program, goal.predicate)
    changed: dict[str, Predicate] = {}
    derived = {rule.head.predicate for rule in program.rules}
    for name in dict.fromkeys(atom.predicate for atom, _, _ in atoms):
        predicate = predicates[name]
        uses = [use for use in atoms if use[0].predicate == name]
        if name in free - derived:
            unread = _unread_columns(predicate, uses)
            if unread:
                counted = any(inside for _, _, inside in uses)
                changed[name] = _without_columns(predicate, unread, merges=not counted)
    if not changed:
        return program
    declared = {**predicates, **changed}
    return replace(program, program=replace(program.program, predicates=declared))


def unread_by_rules(program: AnalysedProgram) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the columns of queries that no rule uses, of the predicates that rules do use."""
    found = []
    uses: dict[str, list[tuple[Atom, frozenset[str], bool]]] = {}
    for use in _atoms_of(program.rules):
        uses.setdefault(use[0].predicate, []).append(use)
    for name, own in sorted(uses.items()):
        predicate = program.program.predicates[name]
        if predicate.source is not None and predicate.source.parameters.get("query"):
            columns = (predicate.columns[n].name for n in _unread_columns(predicate, own))
            found.append((name, tuple(columns)))
    return tuple((name, columns) for name, columns in found if columns)


def reading_as_in(members: Mapping[str, Any], program: Program) -> Program:
    """Return a program in which nobody reads the columns that a certificate does not show."""
    predicates = program.predicates
    changed: dict[str, Predicate] = {}
    counted = {name for name, inside in _mentioned_in(members["rules"]) if inside}
    for declared in members["declarations"]:
        places = [n for n, word in enumerate(declared.get("nulls", ())) if word == UNREAD]
        predicate = predicates.get(declared["name"])
        if places and predicate is not None and predicate.arity == len(declared["columns"]):
            merges = predicate.name not in counted
            changed[predicate.name] = _without_columns(predicate, places, merges=merges)
    return replace(program, predicates={**predicates, **changed}) if changed else program


# Facts of a rule file are data. Where a predicate has many and nothing else, they are read as a
# source is: a certificate shows those that a goal meets, and the number and hash of all.

MOST_SHOWN: Final = 64
"""So many facts of a rule file are always shown: they are rules of the certificate."""


Facts: TypeAlias = "Mapping[str, tuple[Rule, ...]]"
"""The facts of rule files that are read as rows, by predicate."""


def facts_apart(program: AnalysedProgram) -> tuple[AnalysedProgram, Facts]:
    """Return a program without the facts of predicates that have many of them, and these facts.

    Only plain facts count: whatever has a confidence, an approval or attributes stays a rule, and
    so do all facts of a predicate that has rules, given columns, or two facts for one key.
    """

    def many(rules: Sequence[Rule]) -> bool:
        return len(rules) > MOST_SHOWN

    return program.remembered("facts apart", lambda: _apart(program, many))


def facts_apart_as_in(
    members: Mapping[str, Any], program: AnalysedProgram
) -> tuple[AnalysedProgram, Facts]:
    """Return the same for the facts that a certificate has as rows, however many there are now."""
    told = frozenset(one["name"] for one in members["declarations"] if one["external"])
    return program.remembered(
        ("facts apart", told),
        lambda: _apart(program, lambda rules: rules[0].head.predicate in told),
    )


def _apart(
    program: AnalysedProgram, chosen: Callable[[Sequence[Rule]], bool]
) -> tuple[AnalysedProgram, Facts]:
    by_head: dict[str, list[Rule]] = {}
    for rule in program.rules:
        by_head.setdefault(rule.head.predicate, []).append(rule)
    predicates = program.program.predicates
    apart = {
        name: tuple(rules)
        for name, rules in by_head.items()
        if name not in program.external and chosen(rules) and _are_data(predicates[name], rules)
    }
    if not apart:
        return program, apart
    kept = [n for n, rule in enumerate(program.rules) if rule.head.predicate not in apart]
    rules = tuple(program.rules[number] for number in kept)
    components = (one for one in program.components if one.predicates[0] not in apart)
    without = AnalysedProgram(
        replace(program.program, rules=rules),
        rules,
        tuple(program.variable_kinds[number] for number in kept),
        tuple(components),
        program.external | apart.keys(),
    )
    return without, apart


def _are_data(predicate: Predicate, rules: Sequence[Rule]) -> bool:
    if predicate.given:
        return False
    for rule in rules:
        plain = not (rule.body or rule.assumed or rule.attributes)
        if not plain or not all(isinstance(term, Constant) for term in rule.head.terms):
            return False
    rows = {rule.head.terms for rule in rules}
    keys = {tuple(row[place] for place in predicate.key) for row in rows}
    return not predicate.key or len(keys) == len(rows)


def _atoms_below(
    program: AnalysedProgram, predicate: str
) -> Iterator[tuple[Atom, frozenset[str], bool]]:
    """Yield the atoms of the rules below a predicate, what is not read, and what is counted."""
    reached = reachable(program, predicate)
    return _atoms_of(rule for rule in program.rules if rule.head.predicate in reached)


def _atoms_of(rules: Iterable[Rule]) -> Iterator[tuple[Atom, frozenset[str], bool]]:
    for rule in rules:
        unread = unread_variables(rule)
        for literal in rule.body:
            counted = isinstance(literal, Aggregate) and literal.function not in _EXTREMES
            for one in literal.body if isinstance(literal, Aggregate) else (literal,):
                if isinstance(one, Positive | Negative):
                    yield one.atom, unread, counted


def _unread_columns(
    predicate: Predicate, uses: Sequence[tuple[Atom, frozenset[str], bool]]
) -> list[int]:
    """Return the columns that none of these atoms reads, and that nothing else needs."""
    words = null_words(predicate)
    key = predicate.key
    read = {*key, *(place for place, word in enumerate(words) if word == _SKIP)}
    for atom, unread, counted in uses:
        own = {
            place
            for place, term in enumerate(atom.terms)
            if not (isinstance(term, Variable) and term.name in unread)
        }
        # Each `_` in an aggregate tells its rows apart, unless a key does.
        read |= set(range(predicate.arity)) if counted and not key else own
    return [place for place in range(predicate.arity) if place not in read]


def _without_columns(predicate: Predicate, unread: Sequence[int], *, merges: bool) -> Predicate:
    columns = tuple(
        replace(one, attributes={**one.attributes, "null": UNREAD}) if place in unread else one
        for place, one in enumerate(predicate.columns)
    )
    distinct = {"distinct": "true"} if merges else {}
    return replace(predicate, columns=columns, attributes={**predicate.attributes, **distinct})


def _mentioned_in(rules: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    """Yield the predicates of the bodies of rules in JSON, and whether their rows are counted."""
    for rule in rules:
        for literal in rule["body"]:
            counted = literal[0] == "a" and literal[1] not in _EXTREMES
            for one in literal[4] if literal[0] == "a" else (literal,):
                if one[0] in {"+", "-"}:
                    yield one[1][0], counted
