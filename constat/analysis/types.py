"""What the declared types mean: a base kind each, what structures are made of, what lies below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from constat.analysis.binding import (
    Step,
    bind,
    equations,
    is_pattern,
    names_in,
    pattern_names,
)
from constat.diagnostics import Diagnostic, Related, Severity, nearest
from constat.frozen import slotted
from constat.logic import (
    RECORD,
    Aggregate,
    Apply,
    Branch,
    Column,
    Comparison,
    Kind,
    Negative,
    Positive,
    Structures,
    TypeDefinition,
    Variable,
)
from constat.syntax import Mode, print_term
from constat.syntax.words import STAND_INS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from constat.analysis.analysed import Draft
    from constat.diagnostics import Span
    from constat.logic import Atom, Literal, Predicate, Rule, Term

# A branch name belongs to one type, and every field that drew no diagnostic has a kind.


def fill(
    draft: Draft,
    definitions: Mapping[str, TypeDefinition],
    unknown: Callable[[str, Span | None], Diagnostic],
) -> None:
    """Type the fields of all branches, and report names that are taken or mean nothing."""
    table = draft.types
    seen: dict[str, tuple[TypeDefinition, Branch]] = {}
    for definition in definitions.values():
        if not definition.branches:
            continue
        for branch in definition.branches:
            for column in branch.fields:
                known = column.type_name in table.kinds
                if not known and column.type_name not in draft.program.types:
                    place = column.span or branch.span or definition.span
                    draft.diagnostics.append(unknown(column.type_name, place))
            first, earlier = seen.setdefault(branch.constructor, (definition, branch))
            if first is not definition and branch.constructor != RECORD:
                draft.diagnostics.append(_taken(definition, branch, first, earlier))
        typed = [_typed(draft, branch) for branch in definition.branches]
        table.fill(definition.name, tuple(typed))
    for definition in definitions.values():
        name = table.structure(definition.name)
        if name and name != definition.name:
            table.fill(definition.name, table.structures.branches.get(name, ()))
    draft.diagnostics.extend(_without_values(draft, definitions))


def _typed(draft: Draft, branch: Branch) -> Branch:
    return replace(branch, fields=tuple(map(draft.types.typed, branch.fields)))


def _taken(
    definition: TypeDefinition, branch: Branch, first: TypeDefinition, earlier: Branch
) -> Diagnostic:
    name = branch.constructor[1:]
    place = earlier.span or first.span
    return Diagnostic(
        "C0232",
        f"`{name}` is a branch of `{first.name}` already",
        branch.span or definition.span,
        label=f"a branch of `{definition.name}` cannot have this name",
        note="a branch name belongs to one type of a program, so that `$Name` tells the type",
        help=f"rename the branch: `{_declared(definition, branch)}`",
        related=() if place is None else (Related(place, f"`{name}` of `{first.name}` is here"),),
    )


def _declared(definition: TypeDefinition, branch: Branch) -> str:
    """Write the definition with its branch renamed, for a help."""
    parts = [
        (f"{one.constructor[1:]}Of{definition.name}" if one is branch else one.constructor[1:])
        + " {"
        + ", ".join(f"{column.name}: {column.type_name}" for column in one.fields)
        + "}"
        for one in definition.branches
    ]
    return f".type {definition.name} = {' | '.join(parts)}"


def no_base(definition: TypeDefinition, kinds: Mapping[str, Kind | None]) -> Diagnostic:
    """Report a subtype or a union of a record or an algebraic data type."""
    name = next(member for member, kind in kinds.items() if kind is Kind.STRUCTURE)
    what = "subtype" if definition.form == "subtype" else "union"
    note = "a record or an algebraic data type has no subtypes and is no member of a union"
    return Diagnostic(
        "C0233",
        f"`{definition.name}` is a {what} of `{name}`, which is made of fields",
        definition.span,
        label=f"`{name}` is a record or an algebraic data type",
        note=f"{note}; another name for the same type is allowed",
        help=f"write `.type {definition.name} = {name}`, or give one type a branch for each case",
    )


def _without_values(
    draft: Draft, definitions: Mapping[str, TypeDefinition]
) -> Iterator[Diagnostic]:
    """Yield a warning for each type of which no value can ever be written down.

    A branch has values once its fields have: forward chaining in linear time, as for Horn clauses.
    """
    made: set[str] = set()
    waiting: dict[str, list[list[object]]] = {}
    ready: list[str] = []
    for name, definition in definitions.items():
        for branch in definition.branches:
            needs = _needed(draft, branch)
            if not needs:
                ready.append(name)
            cell: list[object] = [len(needs), name]
            for needed in needs:
                waiting.setdefault(needed, []).append(cell)
    while ready:
        name = ready.pop()
        made.add(name)
        for cell in waiting.pop(name, ()):
            cell[0] -= 1  # type: ignore[operator]  # a counter beside its type
            if not cell[0]:
                ready.append(cell[1])  # type: ignore[arg-type]  # the type
    for name, definition in definitions.items():
        if definition.branches and name not in made:
            yield _endless(definition)


def _needed(draft: Draft, branch: Branch) -> set[str]:
    """Give the algebraic data types of the fields; a record is never missing: there is `nil`."""
    if branch.constructor == RECORD:
        return set()
    types = {draft.types.structure(column.type_name) for column in branch.fields}
    return {name for name in types if name and draft.types.branch(name, RECORD) is None}


def _endless(definition: TypeDefinition) -> Diagnostic:
    return Diagnostic(
        "C0248",
        f"no value of type `{definition.name}` can be written down",
        definition.span,
        label="every branch needs another value of a type like this",
        note="values are finite, so some branch ends: it has no fields, or others of other types",
        help=f"add a branch that ends: `.type {definition.name}End = {definition.name}End {{}}`",
        severity=Severity.WARNING,
    )


# Every name in the table leads to one kind, without cycles. A type is seen as the set of declared
# types below it, itself included; two types have a common subtype exactly when these sets meet, as
# in Souffle.

BASE_KINDS: Mapping[str, Kind] = MappingProxyType(
    {kind.value: kind for kind in Kind if kind is not Kind.STRUCTURE}
)

Below = frozenset[str] | None
"""The declared types below a type; `None` for a base type, above everything of its kind."""


MAX_DEPTH = 100
"""How many steps a type may be away from its base type."""


@slotted
class TypeTable:
    """The kind of every type that could be resolved, and the order of types."""

    kinds: dict[str, Kind] = field(default_factory=lambda: dict(BASE_KINDS))
    depths: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BASE_KINDS, 0))
    _children: dict[str, list[str]] = field(default_factory=dict)
    _below: dict[str, Below] = field(default_factory=dict)
    _branches: dict[str, tuple[Branch, ...]] = field(default_factory=dict)
    _structures: dict[str, str] = field(default_factory=dict)
    _owners: dict[str, tuple[str, Branch]] = field(default_factory=dict)
    _made: Structures = field(init=False)

    def __post_init__(self) -> None:
        # The types refer to each other, so all share one mapping that grows.
        self._made = Structures(self._branches)

    @property
    def structures(self) -> Structures:
        """What the records and algebraic data types are made of; one object for all columns."""
        return self._made

    def structure(self, name: str) -> str:
        """Give the type that a name of a structure type stands for; empty for other types."""
        return self._structures.get(name, "")

    def owner(self, constructor: str) -> tuple[str, Branch] | None:
        """Give the algebraic data type that has a branch, and the branch."""
        return self._owners.get(constructor)

    def branch(self, name: str, constructor: str) -> Branch | None:
        """Give a branch of a structure type, at once however many there are."""
        if constructor == RECORD:
            branches = self._branches.get(name, ())
            return branches[0] if branches and branches[0].constructor == RECORD else None
        found = self._owners.get(constructor)
        return found[1] if found is not None and found[0] == self.structure(name) else None

    @property
    def constructors(self) -> tuple[str, ...]:
        """The constructors of all branches, each with its dollar sign."""
        return tuple(self._owners)

    def add_structure(self, definition: TypeDefinition) -> None:
        """Add a record or an algebraic data type; its fields are typed by `fill`."""
        self.kinds[definition.name] = Kind.STRUCTURE
        self.depths[definition.name] = 1
        self._structures[definition.name] = definition.name

    def fill(self, name: str, branches: tuple[Branch, ...]) -> None:
        """Say what a structure type is made of, once all types are known."""
        self._branches[name] = branches
        if self._structures[name] == name:
            for branch in branches:
                if branch.constructor != RECORD:
                    self._owners.setdefault(branch.constructor, (name, branch))

    def typed(self, column: Column) -> Column:
        """Give a column or a field with its kind, and with the structures where it is one."""
        kind = self.kinds.get(column.type_name)
        if kind is Kind.STRUCTURE:
            return replace(column, kind=kind, structures=self._made)
        return column if kind is None or kind is column.kind else replace(column, kind=kind)

    def add(self, definition: TypeDefinition, kind: Kind) -> None:
        """Add a type whose members are in the table."""
        name = definition.name
        self.kinds[name] = kind
        self.depths[name] = 1 + max(self.depths[member] for member in definition.members)
        if kind is Kind.STRUCTURE:
            self._structures[name] = self._structures[definition.members[0]]
        for member in definition.members:
            if definition.form != "subtype":
                self._children.setdefault(name, []).append(member)
            if definition.form != "union":
                # An alias is another name for the same type, so each lies below the other.
                self._children.setdefault(member, []).append(name)

    def below(self, name: str) -> Below:
        """Give the types below a type; `None` also for a name that could not be resolved."""
        if name in BASE_KINDS or name not in self.kinds:
            return None
        if name not in self._below:
            self._below[name] = self._reachable(name)
        return self._below[name]

    def _reachable(self, name: str) -> Below:
        found = {name}
        stack = [name]
        while stack:
            for child in self._children.get(stack.pop(), ()):
                if child in BASE_KINDS:
                    return None
                if child not in found:
                    found.add(child)
                    stack.append(child)
        return frozenset(found)


def common(left: Below, right: Below) -> Below:
    """Give what lies below both; both have one kind."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def is_below(lower: Below, upper: Below) -> bool:
    """Tell whether everything of the lower set lies in the upper one."""
    return upper is None or (lower is not None and lower <= upper)


def definition_order(definitions: Mapping[str, TypeDefinition]) -> Iterator[list[str]]:
    """Yield the names so that members come first: lists of one, or the path of a cycle.

    Depth first on a stack of our own: a chain of types may be as long as a file. What lies on
    a cycle is yielded once, as the cycle.
    """
    done: set[str] = set(BASE_KINDS)
    for start in definitions:
        path: list[str] = []
        waiting: list[Iterator[str]] = [iter((start,))]
        on_path: set[str] = set()
        while waiting:
            name = next(waiting[-1], None)
            if name is None:
                waiting.pop()
                if path:
                    finished = path.pop()
                    on_path.discard(finished)
                    if finished not in done:
                        done.add(finished)
                        yield [finished]
            elif name in on_path:
                cycle = path[path.index(name) :]
                if not done.intersection(cycle):
                    yield cycle
                done.update(cycle)
            elif name not in done and name in definitions:
                path.append(name)
                on_path.add(name)
                waiting.append(iter(definitions[name].members))


# A name that means nothing is reported once per place and counts as unknown from then on.


def resolve_types(draft: Draft) -> None:
    """Fill the type table and the kinds of all columns."""
    definitions = {name: one for name, one in draft.program.types.items() if name not in BASE_KINDS}
    draft.types = TypeTable()
    for names in definition_order(definitions):
        if len(names) > 1 or names[0] in definitions[names[0]].members:
            draft.diagnostics.append(_cycle([definitions[name] for name in names]))
        else:
            _resolve(draft, definitions[names[0]])
    fill(draft, definitions, lambda name, place: _unknown(draft, name, place))
    for name, predicate in draft.program.predicates.items():
        draft.predicates[name] = _with_kinds(draft, predicate)


def _resolve(draft: Draft, definition: TypeDefinition) -> None:
    table = draft.types
    if definition.branches:
        table.add_structure(definition)
        return
    kinds: dict[str, Kind | None] = {}
    for member in definition.members:
        if member not in table.kinds and member not in draft.program.types:
            draft.diagnostics.append(_unknown(draft, member, definition.span))
        kinds[member] = table.kinds.get(member)
    known = {kind for kind in kinds.values() if kind is not None}
    if Kind.STRUCTURE in known and definition.form != "alias":
        draft.diagnostics.append(no_base(definition, kinds))
    elif len(known) > 1:
        draft.diagnostics.append(_mixed_union(definition, kinds))
    elif None not in kinds.values():
        table.add(definition, known.pop())
        if table.depths[definition.name] == MAX_DEPTH + 1:
            draft.diagnostics.append(_too_deep(definition))


def _with_kinds(draft: Draft, predicate: Predicate) -> Predicate:
    columns: list[Column] = []
    for column in predicate.columns:
        kind = draft.types.kinds.get(column.type_name)
        if kind is None and column.type_name not in draft.program.types:
            place = column.span or predicate.span
            draft.diagnostics.append(_unknown(draft, column.type_name, place))
        columns.append(draft.types.typed(column))
    if all(new is old for new, old in zip(columns, predicate.columns, strict=True)):
        return predicate
    return replace(predicate, columns=tuple(columns))


TYPE_HABITS = MappingProxyType(
    {
        **dict.fromkeys(("int", "integer", "bigint", "long", "smallint", "int64"), "number"),
        **dict.fromkeys(("string", "str", "text", "varchar", "char"), "symbol"),
        **dict.fromkeys(("numeric", "money", "dec", "currency"), "Decimal"),
        **dict.fromkeys(("double", "real", "float64"), "float"),
        **dict.fromkeys(("datetime", "time", "timestamptz"), "Timestamp"),
        "boolean": "Bool",
    }
)
"""What other languages call the built-in types, in lower case."""


def _unknown(draft: Draft, name: str, place: Span | None) -> Diagnostic:
    plain = name.removesuffix("_")
    if draft.mode is Mode.SOUFFLE and plain in STAND_INS:
        return _of_constat_only(plain, place)
    near = TYPE_HABITS.get(name.casefold()) or nearest(name, [*BASE_KINDS, *draft.program.types])
    edit = f"write `{near}`" if near else f"declare it: `.type {name} <: symbol`"
    return Diagnostic(
        "C0212",
        f"there is no type `{name}`",
        place,
        label="this type is not declared",
        note="built in are " + ", ".join(BASE_KINDS) + "; others are declared by `.type`",
        help=edit,
    )


def _of_constat_only(name: str, place: Span | None) -> Diagnostic:
    """Say that Souffle's language, in which the program is read, lacks a type of ours."""
    return Diagnostic(
        "C0212",
        f"there is no type `{name}` in Souffle's language",
        place,
        label="this type is not declared",
        note="this program is read as Souffle reads it; Constat's own language has the type",
        help='begin the file with `.pragma "constat" "0.1"`, or declare it: '
        f"`.type {name} <: {STAND_INS[name]}`",
    )


def _cycle(definitions: list[TypeDefinition]) -> Diagnostic:
    first = definitions[0]
    path = " -> ".join(f"`{one.name}`" for one in [*definitions, first])
    return Diagnostic(
        "C0213",
        f"type `{first.name}` is defined by itself",
        first.span,
        label=path,
        note="a type leads to one of the built-in types in the end",
        help=f"write `.type {first.name} <: symbol`",
        related=tuple(
            Related(one.span, f"`{one.name}` is defined here")
            for one in definitions[1:]
            if one.span
        ),
    )


def _too_deep(definition: TypeDefinition) -> Diagnostic:
    return Diagnostic(
        "C0213",
        f"type `{definition.name}` is more than {MAX_DEPTH} steps away from a built-in type",
        definition.span,
        note="the limit keeps generated types from filling the memory",
        help=f"write `.type {definition.name} <: symbol`",
    )


def _mixed_union(definition: TypeDefinition, kinds: Mapping[str, Kind | None]) -> Diagnostic:
    shown = ", ".join(f"`{one}` is {kind.value}" for one, kind in kinds.items() if kind)
    return Diagnostic(
        "C0214",
        f"the types of the union `{definition.name}` have different base types",
        definition.span,
        label=shown,
        note="a column holds values of one base type; a union joins subtypes of one base type",
        help=f"write `.type {definition.name} = {definition.members[0]}`, and a second type "
        "for the other values",
    )


# Check that ids of different types never meet.
#
# Invariant: the columns that a variable stands in have a common subtype, and a head column only
# gets what lies below its type, as in Souffle. The fields of structures are columns in this.
# Constants, and what functions and aggregates give, fit every subtype of their kind. Example:
# `customer(?c), order(?c)` with different id types is C0216.


@slotted
class _Typed:
    """What is known about the type of a variable, and which column or field told it last."""

    below: Below
    name: str
    predicate: Predicate | None
    column: Column | None
    span: Span | None
    branch: Branch | None = None


def check_subtypes(draft: Draft) -> None:
    """Report variables whose columns have no common subtype, and heads that get too much."""
    if not draft.program.types:
        return
    for rule in draft.rules:
        draft.diagnostics.extend(_Check(draft, rule).run())


class _Check:
    """The types of the variables of one rule; `=` between two variables makes them one."""

    def __init__(self, draft: Draft, rule: Rule) -> None:
        self.draft = draft
        self.rule = rule
        self.types: dict[str, _Typed] = {}
        self.same: dict[str, str] = {}
        self.reported: set[str] = set()

    def run(self) -> Iterator[Diagnostic]:
        literals = list(_flat(self.rule.body))
        pairs = [pair for literal in literals for pair in _equations(literal)]
        for left, right in pairs:
            self.equate(left, right)
        for literal in literals:
            if isinstance(literal, Positive):
                yield from self.meet(self.columns(literal.atom))
        taken, made = self.patterns(literals, pairs)
        for pattern in taken:
            yield from self.meet(self.fields(pattern))
        for literal in literals:
            if isinstance(literal, Comparison) and literal.operator == "!=":
                yield from self.compare(literal.left, literal.right)
            elif isinstance(literal, Negative):
                yield from self.meet(self.columns(literal.atom))
        for left, right in pairs:
            yield from self.compare(left, right)
        for pattern in made:
            yield from self.give(self.fields(pattern))
        yield from self.give(self.columns(self.rule.head))

    def equate(self, left: Term, right: Term) -> None:
        if isinstance(left, Variable) and isinstance(right, Variable):
            one, other = self.root(left.name), self.root(right.name)
            if one != other:
                self.same[one] = other

    def root(self, name: str) -> str:
        while name in self.same:
            name = self.same[name]
        return name

    def patterns(
        self, literals: list[Positive | Negative | Comparison], pairs: list[tuple[Term, Term]]
    ) -> tuple[list[Apply], list[Apply]]:
        """Give the constructors that take something apart, and those that make something."""
        found = [
            (pattern, other)
            for one in pairs
            for pattern, other in (one, one[::-1])
            if is_pattern(pattern)
        ]
        if not found:
            return [], []
        known = _known_without_making(self.rule, literals, pairs)
        taken: list[Apply] = []
        made: list[Apply] = []
        for pattern, other in found:
            is_known = not isinstance(other, Variable) or other.name in known
            (taken if is_known else made).append(pattern)
        return taken, made

    def of_term(self, term: Term) -> _Typed | None:
        """Give the type of a variable or a cast; other terms fit every subtype."""
        if isinstance(term, Variable):
            return self.types.get(self.root(term.name))
        if isinstance(term, Apply) and term.function == "as" and term.type_name:
            below = self.draft.types.below(term.type_name)
            return _Typed(below, term.type_name, None, None, term.span)
        return None

    def columns(self, atom: Atom) -> Iterator[tuple[Term, _Typed, Kind]]:
        predicate = self.draft.predicates.get(atom.predicate)
        if predicate is None:
            return
        for term, column in zip(atom.terms, predicate.columns, strict=False):
            if is_pattern(term):
                yield from self.fields(term)
            # The types of structures are told apart with the kinds: they have no subtypes.
            elif column.kind is not Kind.STRUCTURE and column.type_name in self.draft.types.kinds:
                below = self.draft.types.below(column.type_name)
                typed = _Typed(below, column.type_name, predicate, column, term.span or atom.span)
                yield term, typed, column.kind

    def fields(self, pattern: Apply) -> Iterator[tuple[Term, _Typed, Kind]]:
        """Yield the terms in the fields of a constructor, also of those in it."""
        types = self.draft.types
        stack = [pattern]
        while stack:
            part = stack.pop()
            branch = types.branch(part.type_name, part.function)
            if branch is None:
                continue
            for term, column in zip(part.arguments, branch.fields, strict=False):
                if is_pattern(term):
                    stack.append(term)
                elif column.kind is not Kind.STRUCTURE and column.type_name in types.kinds:
                    below, span = types.below(column.type_name), term.span or part.span
                    yield (
                        term,
                        _Typed(below, column.type_name, None, column, span, branch),
                        column.kind,
                    )

    def meet(self, columns: Iterable[tuple[Term, _Typed, Kind]]) -> Iterator[Diagnostic]:
        """Intersect the types of terms with those of the columns and fields they stand in."""
        for term, column, kind in columns:
            known = self.of_term(term)
            if known is not None and self.kind_of(known) is not kind:
                continue
            if known is not None and not _meets(known.below, column.below):
                yield from self.report(term, known, column)
            elif isinstance(term, Variable):
                self.types[self.root(term.name)] = _narrowed(known, column)

    def kind_of(self, typed: _Typed) -> Kind | None:
        return self.draft.types.kinds.get(typed.name)

    def compare(self, one: Term, other: Term) -> Iterator[Diagnostic]:
        left, right = self.of_term(one), self.of_term(other)
        if left is None or right is None or self.kind_of(left) is not self.kind_of(right):
            return
        if not _meets(left.below, right.below):
            yield from self.report(other, left, right)

    def give(self, columns: Iterable[tuple[Term, _Typed, Kind]]) -> Iterator[Diagnostic]:
        """Check that what columns of the head and fields get lies below their types."""
        for term, column, kind in columns:
            known = self.of_term(term)
            if known is None or self.kind_of(known) is not kind:
                continue
            if not _meets(known.below, column.below):
                yield from self.report(term, known, column)
            elif not is_below(known.below, column.below):
                yield from self.report_wide(term, known, column)

    def report(self, term: Term, known: _Typed, other: _Typed) -> Iterator[Diagnostic]:
        name = print_term(term)
        if name in self.reported:
            return
        self.reported.add(name)
        yield Diagnostic(
            "C0216",
            f"`{name}` is {_shown(known)}, but {_shown(other)}",
            other.span or known.span or self.rule.span,
            label=f"{other.name} here",
            note="values of different declared types never meet without a common subtype",
            help=f"use two variables, or cast one: `as({name}, {other.name})`",
            related=_places(known, other),
        )

    def report_wide(self, term: Term, known: _Typed, column: _Typed) -> Iterator[Diagnostic]:
        name = print_term(term)
        if name in self.reported:
            return
        self.reported.add(name)
        what = "a head column" if column.branch is None else "a field"
        yield Diagnostic(
            "C0217",
            f"`{name}` is {_shown(known)}, which is wider than {_shown(column)}",
            column.span or self.rule.span,
            label=f"not every {known.name} is a {column.name}",
            note=f"{what} gets only values of its type or of a subtype",
            help=f"bind `{name}` in a column of type {column.name}, or cast it: "
            f"`as({name}, {column.name})`",
            related=_places(known, column),
        )


def _flat(body: tuple[Literal, ...]) -> Iterator[Positive | Negative | Comparison]:
    for literal in body:
        if isinstance(literal, Aggregate):
            yield from literal.body
        else:
            yield literal


def _equations(literal: Positive | Negative | Comparison) -> Iterator[tuple[Term, Term]]:
    if isinstance(literal, Comparison) and literal.operator == "=":
        yield from equations(literal.left, literal.right)


def _known_without_making(
    rule: Rule,
    literals: list[Positive | Negative | Comparison],
    pairs: list[tuple[Term, Term]],
) -> set[str]:
    """Give the variables that are bound when no equation makes a structure."""
    given = {one.result.name for one in rule.body if isinstance(one, Aggregate)}
    for literal in literals:
        if isinstance(literal, Positive):
            given.update(*map(pattern_names, literal.atom.terms))
    steps = [
        Step(place, names_in((known,)), pattern_names(other))
        for place, pair in enumerate(pairs)
        for known, other in (pair, pair[::-1])
        if not is_pattern(known)
    ]
    return bind(steps, given).names


def _meets(left: Below, right: Below) -> bool:
    found = common(left, right)
    return found is None or bool(found)


def _narrowed(known: _Typed | None, column: _Typed) -> _Typed:
    if known is None:
        return column
    below = common(known.below, column.below)
    return known if below == known.below else replace(column, below=below)


def _shown(typed: _Typed) -> str:
    if typed.branch is not None and typed.column is not None:
        owner = (
            "the record" if typed.branch.constructor == RECORD else f"`{typed.branch.constructor}`"
        )
        return f"{typed.name} in field `{typed.column.name}` of {owner}"
    if typed.predicate is None or typed.column is None:
        return f"{typed.name} by `as`"
    return f"{typed.name} in column `{typed.column.name}` of `{typed.predicate.name}`"


def _places(*several: _Typed) -> tuple[Related, ...]:
    found = {}
    for one in several:
        declared = (one.column.span if one.column else None) or (
            one.predicate.span if one.predicate else None
        )
        if declared is not None:
            found[declared] = Related(declared, f"declared as {one.name} here")
    return tuple(found.values())
