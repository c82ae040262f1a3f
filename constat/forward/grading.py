"""Compile a program over open inputs into a closed one: a relation for each strength and shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram, Component
from constat.analysis.strata import components_of
from constat.evaluation import ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.forward.erring import Placeholders
from constat.forward.ways import (
    MADE,
    MEMBER,
    MEMBERS,
    Body,
    Doubt,
    Grade,
    Graded,
    Labels,
    UnfitError,
    Way,
    assigned,
    graded_atom,
    graded_name,
    graded_predicate,
    loosened,
    pruned,
)
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
    Term,
    Value,
    Variable,
    literal_variables,
    outer_names,
    term_variables,
)
from constat.plan.compilation import predicates_of, rules_by_head

if TYPE_CHECKING:
    from constat.forward.erring import Erring, LookupDemand

TypedRule = tuple[Rule, Mapping[str, Kind]]


@frozen
class Around:
    """What is known around a rule: its program, the grades of predicates, instances that err.

    With `loose` a way whose meaning depends on the order of literals is loosened, and not refused.
    """

    program: AnalysedProgram
    graded: Graded
    asked: LookupDemand
    erring: tuple[Erring, ...]
    loose: bool = False
    labels: Labels = field(default_factory=Labels)

    def fitting(self, way: Way, placeholders: Placeholders, given: Iterable[str] = ()) -> list[Way]:
        """Give the ways that say what every order of literals says, or at most as much."""
        if not self.loose:
            placeholders.check(way)
            return [way]
        doubted = placeholders.doubted(way)
        return loosened(way, doubted, tuple(given)) if doubted else [way]


@slotted
class Made:
    """What the rules of one component become."""

    rules: list[TypedRule] = field(default_factory=list)
    grades: dict[str, set[Grade]] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)
    guards: dict[str, str] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    erring: dict[str, Erring] = field(default_factory=dict)


@slotted
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
        labels = self.around.labels
        body = Body(rule.body, graded, frozenset(), doubts, erring=inside, kinds=self.kinds)
        ways = replace(body, labels=labels).ways()
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
        made: dict[int, Variable] = {}
        for place, term in enumerate(head.terms):
            if _computes_label(term, way):
                found = self.around.labels.made(way, term, self.kinds)
                # What another function makes of an unknown value nobody knows.
                way = way.widened() if found is None else found[0]
                made |= {} if found is None else {place: found[1]}
        if way.strength < ACCEPTED:
            way = way.widened()
        opened = tuple(
            place
            for place, term in enumerate(head.terms)
            if place in failed or any(one.name in way.open for one in term_variables(term))
        )
        labels = {
            place: way.carried[term.name]
            for place, term in enumerate(head.terms)
            if isinstance(term, Variable) and term.name in way.carried
        }
        labels = dict(sorted({**labels, **(made if way.carried else {})}.items()))
        strength = min(way.strength, ACCEPTED) if self.rule.assumed else way.strength
        sure = replace(self.rule, body=way.literals, proposed=False, confidence=Decimal(1))
        if strength == CERTAIN and not labels:
            self.take(sure)
            return
        of_functions = tuple(n for n, label in labels.items() if label.name.endswith(MADE))
        grade = Grade(strength, opened, tuple(labels), of_functions)
        self.made.grades.setdefault(head.predicate, set()).add(grade)
        predicate = self.around.program.program.predicates[head.predicate]
        name = f"{self.rule.id}.{count}"
        self.take(replace(sure, id=name, head=graded_atom(predicate, grade, head, labels)))

    def take(self, rule: Rule) -> None:
        """Add a rule, with the kinds of its variables: those that were made get one here."""
        kinds = dict(self.kinds)
        for one in rule.body:
            if isinstance(one, Aggregate):
                name = one.result.name
                if name.endswith(MEMBER):
                    kinds = {**kinds, name: self.kinds[name.removesuffix(MEMBER)]}
                elif name.endswith(MEMBERS):
                    kinds = {**kinds, name: Kind.NUMBER}
            if isinstance(one, Comparison):
                names = [v.name for v in literal_variables(one) if v.name.endswith(MADE)]
                kinds = {**dict.fromkeys(names, Kind.SYMBOL), **kinds}
            for atom in _atoms_of(one):
                if any(isinstance(t, Variable) and t.name not in kinds for t in atom.terms):
                    columns = zip(atom.terms, self._kinds_of(atom.predicate), strict=True)
                    given = {t.name: kind for t, kind in columns if isinstance(t, Variable)}
                    kinds = {**given, **kinds}
        self.made.rules.append((rule, kinds if len(kinds) > len(self.kinds) else self.kinds))

    def declare(self, predicate: Predicate) -> None:
        """Add a relation that belongs to the head."""
        self.made.predicates[predicate.name] = predicate
        self.made.origin[predicate.name] = self.rule.head.predicate

    def _kinds_of(self, name: str) -> tuple[Kind, ...]:
        """Give the kinds of a relation: of the program, or made of it."""
        graded = self.around.graded
        for known in (self.made.predicates, graded.predicates):
            if name in known:
                return known[name].kinds
        return next(
            graded_predicate(predicate, grade).kinds
            for base, grades in graded.grades.items()
            for grade in grades
            if graded_name(predicate := graded.predicates[base], grade) == name
        )

    def _doubt(self, place: int, literal: Aggregate) -> Doubt | None:
        """Say which groups of an aggregate have members that are not certain."""
        around = self.around
        if not any(around.graded.of(name) for name in predicates_of(literal)):
            return None
        if literal.recursive:
            raise UnfitError("a total inside its own recursion has members that are not certain")
        group = self._group(literal)
        body = Body(
            literal.body,
            around.graded,
            start=frozenset(group),
            distinct=True,
            kinds=self.kinds,
            labels=around.labels,
        )
        placeholders = Placeholders(literal.body, around.graded, frozenset(around.asked.near))
        columns = tuple(Column(name, self.kinds[name].value, self.kinds[name]) for name in group)
        touched = Predicate(f"{self.rule.head.predicate}.group.{self.rule.id}.{place}", columns)
        found: dict[Grade, Atom] = {}
        ways = body.ways()
        weak = [way for way in ways if way.strength < CERTAIN]
        members: Aggregate | None = None
        if any(one.labels for name in predicates_of(literal) for one in around.graded.of(name)):
            sure = [way for way in ways if way.strength == CERTAIN]
            counted = Members(self, literal, touched, place)
            members, doubted = counted.split(sure)
            # Nobody tells here what holds once assumptions are accepted.
            weak = [replace(way.widened(), strength=POSSIBLE) for way in (*weak, *doubted)]
            found |= counted.alike()
        every = (one for way in weak for one in around.fitting(way, placeholders, group))
        for count, way in enumerate(every):
            grade, atom = self._touch(touched, way, count)
            found[grade] = atom
            self._guard(way, count, touched)
        return Doubt(found, self._accepted(literal), members)

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
        self.take(Rule(f"{touched.name}.{count}", atom, way.literals))
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
                labels = {
                    term.name: Kind.SYMBOL
                    for atom in (shown, other)
                    for term in atom.terms
                    if isinstance(term, Variable) and term.name not in kinds
                }
                self.made.rules.append((rule, {**kinds, **labels}))

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


@slotted
class Members:
    """The certain members of the groups of an aggregate, where some of them hold labels.

    They are a relation: the group, then the variables of the body, then the labels of those that
    hold one in some way; a variable that holds a label has no value, and any constant stands there.
    """

    grading: RuleGrading
    literal: Aggregate
    touched: Predicate
    place: int
    names: tuple[str, ...] = ()
    labelled: tuple[str, ...] = ()
    masks: frozenset[frozenset[str]] = frozenset()

    @property
    def name(self) -> str:
        """The name of the relation."""
        rule = self.grading.rule
        return f"{rule.head.predicate}.members.{rule.id}.{self.place}"

    @property
    def group(self) -> list[str]:
        """The variables of the group."""
        return [column.name for column in self.touched.columns]

    def split(self, ways: Sequence[Way]) -> tuple[Aggregate | None, list[Way]]:
        """Give the aggregate over the members, and the ways that leave their groups open."""
        target = () if self.literal.target is None else tuple(term_variables(self.literal.target))
        read = {one.name for one in target}
        if any(not set(self.group) <= _bound(way.literals) for way in ways):
            if not self.grading.around.loose:
                raise UnfitError("an aggregate compares what only its group knows")
            return None, list(ways)
        kept = [way for way in ways if not read & way.carried.keys()]
        inside = [
            one.name
            for part in self.literal.body
            if isinstance(part, Positive)
            for one in literal_variables(part)
        ]
        names = dict.fromkeys([*inside, *(one.name for one in target)])
        self.names = tuple(name for name in names if name not in self.group)
        self.masks = frozenset(frozenset(way.carried.keys() & set(self.names)) for way in kept)
        self.labelled = tuple(sorted(frozenset[str]().union(*self.masks)))
        self._declare()
        for count, way in enumerate(kept):
            head = self._atom(way.carried, {})
            self.grading.take(Rule(f"{self.name}.{count}", head, way.literals))
        free = map(Variable, (*self.group, *self.names))
        every = Atom(self.name, (*free, *map(_label_of, self.labelled)))
        open_ways = [way for way in ways if way not in kept]
        return replace(self.literal, body=(Positive(every),)), open_ways

    def alike(self) -> dict[Grade, Atom]:
        """Open the groups that have two members which no known column tells apart (26c)."""
        found: dict[Grade, Atom] = {}
        if self.literal.function in {"min", "max"}:
            return found
        masks = sorted(self.masks, key=sorted)
        for number, one in enumerate(masks):
            for other in masks[number:]:
                for rule in self._pairs(one, other):
                    grade = Grade(POSSIBLE)
                    free = Atom(self.touched.name, tuple(map(Variable, self.group)))
                    found[grade] = graded_atom(self.touched, grade, free)
                    self.grading.declare(graded_predicate(self.touched, grade))
                    self.grading.take(replace(rule, head=found[grade]))
        return found

    def _pairs(self, one: frozenset[str], other: frozenset[str]) -> Iterator[Rule]:
        """Yield rules for two members of these labels that may be one."""
        either = one | other
        parts = [
            Positive(
                self._atom(
                    {name: Variable(f"{name}.{side}.label") for name in mask},
                    {name: Variable(f"{name}.{side}") for name in either},
                )
            )
            for side, mask in enumerate((one, other))
        ]
        name = f"{self.name}.{'.'.join(sorted(one))}.beside.{'.'.join(sorted(other))}"
        free = Atom(self.name, ())
        if one != other:
            nothing = Constant("", Kind.SYMBOL)
            labels = [
                Comparison("!=", Variable(f"{name}.{side}.label"), nothing)
                for side, mask in enumerate((one, other))
                for name in sorted(mask)
            ]
            yield Rule(name, free, (*parts, *labels))
            return
        for differing in sorted(one):
            left, right = (Variable(f"{differing}.{side}.label") for side in (0, 1))
            yield Rule(f"{name}.{differing}", free, (*parts, Comparison("!=", left, right)))

    def _declare(self) -> None:
        kinds = self.grading.kinds
        columns = [
            Column(name, kinds[name].value, kinds[name]) for name in (*self.group, *self.names)
        ]
        columns += [
            Column(_label_of(name).name, Kind.SYMBOL.value, Kind.SYMBOL) for name in self.labelled
        ]
        self.grading.declare(Predicate(self.name, tuple(columns)))

    def _atom(self, labels: Mapping[str, Variable], values: Mapping[str, Variable]) -> Atom:
        """Give an atom for members with these labels; `values` are other names of variables."""
        kinds = self.grading.kinds
        terms: list[Term] = [Variable(name) for name in self.group]
        for name in self.names:
            own = values.get(name, Variable(name))
            terms.append(_some(kinds[name]) if name in labels else own)
        terms += [labels.get(name, Constant("", Kind.SYMBOL)) for name in self.labelled]
        return Atom(self.name, tuple(terms))


def _label_of(name: str) -> Variable:
    return Variable(f"{name}.label")


def _some(kind: Kind) -> Constant:
    """Give a constant that stands where there is no value."""
    numbers: dict[Kind, Value] = {
        Kind.NUMBER: 0,
        Kind.UNSIGNED: 0,
        Kind.FLOAT: 0.0,
        Kind.DECIMAL: Decimal(0),
    }
    return Constant(numbers.get(kind, ""), kind)


def _atoms_of(literal: Literal) -> Iterator[Atom]:
    match literal:
        case Positive(atom) | Negative(atom):
            yield atom
        case Aggregate(body=body):
            for one in body:
                yield from _atoms_of(one)
        case _:
            return


def _computes_label(term: Term, way: Way) -> bool:
    """Whether a term of the head is computed from a label."""
    return isinstance(term, Apply) and any(one.name in way.carried for one in term_variables(term))


def _with_head(way: Way, heads: Mapping[int, Atom]) -> list[tuple[Way, frozenset[int]]]:
    """Split a way by which columns of the head err."""
    found: list[tuple[Way, frozenset[int]]] = [(way, frozenset())]
    for place, erring in heads.items():
        unknown = way.open | way.carried.keys()
        if any(one.name in unknown for term in erring.terms for one in term_variables(term)):
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


MOST_GRADES: Final = 12


@frozen
class GradedProgram:
    """A closed program.

    `grades` are those of each predicate that is not closed, `unfit` what is left to the reference
    engine and why. `guards` names for each guard the predicate that it speaks of, `origin` for
    each relation that was made the predicate it belongs to. `erring` names the relations that list
    the instances that err. `loose` are the predicates of which the reference engine may decide
    more, with reasons.
    """

    program: AnalysedProgram
    grades: Mapping[str, tuple[Grade, ...]] = field(hash=False)
    unfit: Mapping[str, str] = field(hash=False)
    guards: Mapping[str, str] = field(hash=False)
    origin: Mapping[str, str] = field(hash=False)
    erring: Mapping[str, Erring] = field(default_factory=dict, hash=False)
    loose: Mapping[str, str] = field(default_factory=dict, hash=False)

    def atoms(self, wanted: Atom) -> dict[Grade, Atom]:
        """Give the atoms that read the grades of a wanted atom."""
        predicate = self.program.program.predicates[wanted.predicate]
        grades = self.grades.get(wanted.predicate, ())
        return {grade: graded_atom(predicate, grade, wanted) for grade in grades}


def grade_program(
    program: AnalysedProgram,
    inputs: Mapping[str, tuple[Grade, ...]],
    asked: LookupDemand,
    erring: Sequence[Erring] = (),
    labels: Labels | None = None,
    *,
    loose: bool = False,
) -> GradedProgram:
    """Compile a program.

    `inputs` are the grades of the inputs that are open, `erring` the instances that err. With
    `loose` a predicate of which the reference engine's words depend on the order of its questions
    is loosened (see `loosening`), and not left to that engine. `labels` are those of the inputs.
    """
    known = Labels() if labels is None else labels
    grading = _Grading(program, inputs, asked, tuple(erring), known, may_loosen=loose)
    for component in program.components:
        grading.grade(component)
    return grading.result()


class _Grading:
    """A program under compilation."""

    def __init__(
        self,
        program: AnalysedProgram,
        inputs: Mapping[str, tuple[Grade, ...]],
        asked: LookupDemand,
        erring: tuple[Erring, ...],
        labels: Labels,
        *,
        may_loosen: bool,
    ) -> None:
        self.may_loosen = may_loosen
        self.labels = labels
        self.loose: dict[str, str] = {}
        self.program = program
        self.erring = erring
        self.asked = asked
        self.inputs = inputs
        self.heads = rules_by_head(program)
        self.grades: dict[str, tuple[Grade, ...]] = {}
        self.graded = Graded(program.program.predicates, self.grades)
        self.unfit: dict[str, str] = {}
        self.made = Made()
        for name, grades in inputs.items():
            if name not in self.heads:
                self._give(name, grades)

    def _give(self, name: str, grades: tuple[Grade, ...]) -> None:
        """Take the grades of an input that no rule derives."""
        try:
            self._take_grades(name, grades)
            self._check(name, recursive=False)
        except UnfitError as problem:
            if self.may_loosen and len(grades) <= MOST_GRADES:
                # Its rows are what they are; it is only told more narrowly when asked by key.
                self.loose[name] = str(problem)
                return
            self.unfit[name] = str(problem)
            self.grades.pop(name, None)

    def result(self) -> GradedProgram:
        """Put the program together."""
        errors = {one.predicate.name: one.predicate for one in self.erring}
        predicates = {**self.program.program.predicates, **self.made.predicates, **errors}
        rules = tuple(rule for rule, _ in self.made.rules)
        program = replace(self.program.program, predicates=predicates, rules=rules)
        given = {
            graded_name(predicates[name], grade)
            for name, grades in self.inputs.items()
            for grade in grades
            if name in self.grades
        }
        analysed = AnalysedProgram(
            program,
            rules,
            tuple(kinds for _, kinds in self.made.rules),
            components_of(program),
            self.program.external | given | errors.keys(),
        )
        made = self.made
        return GradedProgram(
            analysed, self.grades, self.unfit, made.guards, made.origin, made.erring, self.loose
        )

    def grade(self, component: Component) -> None:
        """Compile the rules of a component, or leave it to the reference engine."""
        numbers = [n for name in component.predicates for n in self.heads.get(name, ())]
        try:
            made = self._fitting(component, numbers)
        except UnfitError as problem:
            self.unfit.update(dict.fromkeys(component.predicates, str(problem)))
            self._forget(component)
            made = Made([(self.program.rules[n], self.program.variable_kinds[n]) for n in numbers])
        known = set(self.made.predicates)
        self.made.rules += [
            one for one in made.rules if one[0].head.predicate not in known & made.shared
        ]
        self.made.predicates |= made.predicates
        self.made.origin |= made.origin
        self.made.guards |= made.guards
        self.made.erring |= made.erring

    def _fitting(self, component: Component, numbers: list[int]) -> Made:
        """Compile a component exactly, or loosely where that may be and has to be."""
        try:
            return self._component(component, numbers)
        except UnfitError as problem:
            if not self.may_loosen:
                raise
            self._forget(component)
            made = self._component(component, numbers, loose=True)
            self.loose.update(dict.fromkeys(component.predicates, str(problem)))
            return made

    def _forget(self, component: Component) -> None:
        for name in component.predicates:
            self.grades.pop(name, None)

    def _component(self, component: Component, numbers: list[int], *, loose: bool = False) -> Made:
        below = {
            name
            for n in numbers
            for one in self.program.rules[n].body
            for name in predicates_of(one)
        }
        for name in sorted(below & self.unfit.keys()):
            raise UnfitError(f"it rests on {name}")
        for name in component.predicates:
            if name in self.inputs:
                self._take_grades(name, self.inputs[name])
        around = Around(self.program, self.graded, self.asked, self.erring, loose, self.labels)
        while True:
            made = Made()
            for number in numbers:
                RuleGrading(around, number, made).run()
            if not self._grow(made):
                break
        if not loose:
            for name in component.predicates:
                self._check(name, recursive=component.recursive)
        return made

    def _grow(self, made: Made) -> bool:
        """Add the grades that rules gave; whether any is new, so that readers must see it."""
        grown = False
        for name, grades in made.grades.items():
            known = self.grades.get(name, ())
            if not grades <= set(known):
                self._take_grades(name, (*known, *grades))
                grown = True
        return grown

    def _take_grades(self, name: str, grades: Iterable[Grade]) -> None:
        found = tuple(sorted(set(grades)))
        if len(found) > MOST_GRADES:
            raise UnfitError(f"its rows are open in more than {MOST_GRADES} ways")
        self.grades[name] = found
        predicate = self.program.program.predicates[name]
        for grade in found:
            one = graded_predicate(predicate, grade)
            self.made.predicates[one.name] = one
            self.made.origin[one.name] = name

    def _check(self, name: str, *, recursive: bool) -> None:
        for grade in self.grades.get(name, ()):
            if grade.open and recursive:
                raise UnfitError("its recursion has rows with unknown columns")
            if grade.open and self.asked.narrows(name, grade.open):
                raise UnfitError(f"{name} is asked for in several ways, one by an unknown column")
