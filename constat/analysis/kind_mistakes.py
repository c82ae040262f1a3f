"""What to say where kinds or structures do not fit: one diagnostic per cause, with both places."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis.kind_classes import Construction, Origin
from constat.diagnostics import Diagnostic, Related, Severity, nearest
from constat.logic import (
    AGGREGATES,
    FUNCTIONS,
    NIL,
    OPERATORS,
    RANGE,
    RECORD,
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Signature,
    Term,
    Variable,
    is_constructor,
    is_wildcard,
    parse_value,
    term_variables,
)
from constat.syntax import print_atom, print_literal, print_term
from constat.syntax.mistakes.habits import without_case
from constat.syntax.mistakes.spelling import quoted, truth_meant
from constat.syntax.words import AGGREGATE_HABITS, TODAY_EDIT, TODAY_HABITS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from constat.analysis.kind_classes import Classes
    from constat.analysis.types import TypeTable
    from constat.logic import Branch, Column, Literal, Predicate, Rule

# The atom is of a declared predicate that has both a column of the id's type or name and one of
# texts.

_LOOKED_AT = 1000
_IDS = ("id", "key", "code", "no", "nr")
_NAMES = ("name", "title", "label", "symbol")


def offered_join(
    kinds: tuple[Kind, Kind],
    origins: tuple[Origin | None, Origin | None],
    predicates: Mapping[str, Predicate],
    text: Constant | None = None,
) -> str:
    """Give the atom of a predicate that holds both the id and the name, else an empty text."""
    if (kinds[0] is Kind.SYMBOL) == (kinds[1] is Kind.SYMBOL):
        return ""
    place = 1 if kinds[0] is Kind.SYMBOL else 0
    origin, other = origins[place], origins[1 - place]
    if origin is None or origin.predicate is None:
        return ""
    wanted = origin.predicate.columns[origin.column]
    for predicate in islice(predicates.values(), _LOOKED_AT):
        if predicate.name == origin.predicate.name:
            continue
        found = _pair(predicate, wanted)
        if found is not None and _is_other(predicate, found[1], other):
            return _atom(predicate, found, origin, text)
    return ""


def _pair(predicate: Predicate, wanted: Column) -> tuple[int, int] | None:
    """Give the places of the id and of the name in a predicate that has both."""
    ids = [
        place
        for place, column in enumerate(predicate.columns)
        if column.kind is wanted.kind and _same_id(column, wanted)
    ]
    texts = [
        place
        for place, one in enumerate(predicate.columns)
        if one.type_name == Kind.SYMBOL.value or (one.kind is Kind.SYMBOL and place not in ids)
    ]
    named = [
        place for place in texts if any(part in predicate.columns[place].name for part in _NAMES)
    ]
    if not ids or not texts:
        return None
    return ids[0], (named or texts)[0]


def _same_id(column: Column, wanted: Column) -> bool:
    if wanted.type_name != wanted.kind.value:
        return column.type_name == wanted.type_name
    return column.name == wanted.name and column.name.casefold().endswith(_IDS)


def _is_other(predicate: Predicate, place: int, other: Origin | None) -> bool:
    """Tell whether the name comes from elsewhere than this very column."""
    return other is None or other.predicate is not predicate or other.column != place


def _atom(
    predicate: Predicate, found: tuple[int, int], origin: Origin, text: Constant | None
) -> str:
    terms: list[Term] = [Variable("_1")] * len(predicate.columns)
    wanted = origin.predicate.columns[origin.column] if origin.predicate else None
    shown = origin.term if isinstance(origin.term, Variable) else None
    terms[found[0]] = shown or Variable(wanted.name if wanted else "id")
    terms[found[1]] = text or Variable(predicate.columns[found[1]].name)
    return print_atom(Atom(predicate.name, tuple(terms)))


# What stands in backquotes in a help parses.

_SHOWN = 5
_NOMINAL = "structures of different types never meet, not even with the same fields"


def pattern(branch: Branch) -> str:
    """Write a constructor with variables named after its fields."""
    fields = ", ".join(f"?{column.name}" for column in branch.fields)
    if branch.constructor == RECORD:
        return f"[{fields}]"
    if not branch.fields:
        return branch.constructor
    return f"{branch.constructor}({fields})"


def unknown_branch(term: Apply, constructors: Sequence[str]) -> Diagnostic:
    """Report a branch that no type has."""
    names = [one[1:] for one in constructors[:_LOOKED_AT]]
    near = nearest(term.function[1:], names)
    today = not near and term.function[1:].casefold() in TODAY_HABITS
    fields = ", ".join(f"x{place}: symbol" for place in range(1, len(term.arguments) + 1))
    edit = f"declare it: `.type {term.function[1:]}Type = {term.function[1:]} {{{fields}}}`"
    shown = ", ".join(f"`${one}`" for one in names[:_SHOWN]) + ", ..." * (len(names) > _SHOWN)
    return Diagnostic(
        "C0234",
        f"no algebraic data type has the branch `{term.function}`",
        term.span,
        label="not declared",
        note=f"the branches are {shown}" if names else "no algebraic data type is declared",
        help=f"write `${near}`" if near else TODAY_EDIT if today else edit,
    )


def wrong_fields(term: Apply, name: str, branch: Branch) -> Diagnostic:
    """Report a constructor with too few or too many fields."""
    what = name if branch.constructor == RECORD else branch.constructor
    wanted, given = len(branch.fields), len(term.arguments)
    fields = ", ".join(f"{one.name}: {one.type_name}" for one in branch.fields) or "none"
    place = branch.span
    return Diagnostic(
        "C0235",
        f"`{what}` has {wanted} field{'s' * (wanted != 1)}, given {given}",
        term.span,
        label=f"the fields are {fields}",
        note="a structure has all the fields of its declaration, in their order; in a pattern `_` "
        "stands for a value that does not matter",
        help=f"write `{pattern(branch)}` with your terms in these places",
        related=() if place is None else (Related(place, "declared here"),),
    )


def which_record(term: Apply, types: TypeTable) -> Diagnostic:
    """Report a record of which nothing tells the type."""
    records = [name for name in types.structures.branches if types.structures.is_record(name)]
    shown = ", ".join(f"`{one}`" for one in records[:_SHOWN]) + ", ..." * (len(records) > _SHOWN)
    name = records[0] if records else "Pair"
    return Diagnostic(
        "C0236",
        f"nothing tells which record `{print_term(term)}` is",
        term.span,
        label="its type is not known",
        note=f"records are written alike, whatever their type; declared are {shown}"
        if records
        else "no record type is declared",
        help=f"use it, or what it is equal to, in a column of the type: `.decl known(r: {name})`"
        if records
        else "declare one: `.type Pair = [a: symbol, b: number]`",
    )


def no_record(
    term: Apply, name: str, branches: Sequence[Branch], origin: Origin | None
) -> Diagnostic:
    """Report `[..]` or `nil` in place of a branch of an algebraic data type."""
    what = "`nil`" if term.function == NIL else f"a record, `{print_term(term)}`,"
    forms = " or ".join(f"`{pattern(one)}`" for one in branches[:_SHOWN])
    return Diagnostic(
        "C0237",
        f"{what} stands for a value of {name}, which is no record",
        term.span or (None if origin is None else origin.used),
        label=f"{told_by(origin)} {name}" if origin is not None else "",
        note="`nil` and `[...]` are values of record types; the branches of an algebraic data "
        "type are written with `$`",
        help=f"write {forms}",
        related=_declared(origin),
    )


def two_types(names: tuple[str, str], first: Origin | None, second: Origin | None) -> Diagnostic:
    """Report two structure types for what must have one."""
    where = next((one.used for one in (second, first) if one is not None and one.used), None)
    related = dict.fromkeys((*_declared(first), *_declared(second)))
    return Diagnostic(
        "C0237",
        f"{told_by(first)} {names[0]}, but {told_by(second)} {names[1]}",
        where,
        label=f"{names[1]} here",
        note=_NOMINAL,
        help="use two variables, or take one apart by a pattern such as `?r = [?x, ?y]` and make "
        "the other of its parts",
        related=tuple(related),
    )


def told_by(origin: Origin | None) -> str:
    """Say what tells a structure type, up to its name: "column `x` of `p` is"."""
    if origin is None:
        return "one side is"
    if origin.branch is not None:
        return f"{field_name(origin)} is"
    if origin.predicate is not None:
        column = origin.predicate.columns[origin.column]
        return f"column `{column.name}` of `{origin.predicate.name}` is"
    if isinstance(origin.term, Apply):
        return f"`{print_term(origin.term)}` is"
    return "one side is"


def field_name(origin: Origin) -> str:
    """Name the field that an origin is about: "field `x` of `$Number`"."""
    branch = origin.branch
    if branch is None:
        return "one side"
    owner = "the record" if branch.constructor == RECORD else f"`{branch.constructor}`"
    return f"field `{branch.fields[origin.column].name}` of {owner}"


def _declared(origin: Origin | None) -> tuple[Related, ...]:
    if origin is None or origin.declared is None:
        return ()
    return (Related(origin.declared, "declared here"),)


def no_order(comparison: Comparison) -> Diagnostic:
    """Report `<` and its like on structures."""
    return Diagnostic(
        "C0225",
        f"`{comparison.operator}` is not defined on records and algebraic data types",
        comparison.span,
        label="structures have no order",
        note="on structures there are only `=` and `!=`",
        help="compare a field: match it by a pattern such as `?r = [?x, _]` first",
    )


def too_long(term: Apply, reason: str) -> Diagnostic:
    """Report a structure whose text is too long."""
    return Diagnostic(
        "C0238",
        f"{reason}",
        term.span,
        label="this structure is written out in full",
        note="a structure is kept as its text, and a text has at most a million bytes",
        help="keep the parts as rows of a predicate: `.decl part(whole: symbol, n: number)`",
    )


def never_cast(term: Apply, kind: Kind, reason: str) -> Diagnostic:
    """Report a text that is cast to a type of which it spells no value."""
    return Diagnostic(
        "C0226",
        f"`{print_term(term.arguments[0])}` {reason}",
        term.span,
        label=f"this is cast to {kind.value}",
        note="the cast fails for every row, so the rule never gives one",
        help=f"write `as({_EXAMPLES[kind]}, {kind.value})`",
    )


def any_value(variable: Variable, where: str) -> Diagnostic:
    """Report `_` in a structure that is made, where nothing can stand for any value."""
    return Diagnostic(
        "C0244",
        f"`{print_term(variable)}` stands for any value in a structure {where}",
        variable.span,
        label="this part of the structure has no value",
        note="only a structure that is taken apart has parts that do not matter: in a positive "
        "atom of the body, or on a side of `=` whose other side is known",
        help="give the part a value; to ask whether there is one like it, declare a predicate for "
        "the parts that matter, with a rule such as `has_first(?x) :- pair([?x, _]).`",
    )


# A constructor without a diagnostic has the fields of a branch of its type.


def makes_structure(function: str) -> bool:
    """Tell whether a function of the text makes structures; `nil` is one without arguments."""
    return is_constructor(function) or function == NIL


class Constructions:
    """The constructors of one rule."""

    def __init__(self, types: TypeTable, classes: Classes, diagnostics: list[Diagnostic]) -> None:
        self.types = types
        self.classes = classes
        self.diagnostics = diagnostics
        self.found: list[Construction] = []

    def add(self, term: Apply, arguments: tuple[int, ...]) -> int:
        """Give the class of a structure, its parts typed as far as its constructor tells."""
        one = Construction(term, arguments, self.classes.new())
        self.found.append(one)
        owner = self.types.owner(term.function)
        # A constructor of an analysed rule tells its type itself.
        known = self.types.structure(term.type_name) if owner is None else owner[0]
        self.classes.bind(one.result, Kind.STRUCTURE, Origin(term=term), known)
        if owner is not None:
            self.fields(one, *owner)
        elif term.function in {RECORD, NIL}:
            self.classes.watch(one)
        else:
            self.reject(one, unknown_branch(term, self.types.constructors))
        return one.result

    def settle(self) -> bool:
        """Type the parts of records whose types have become known; tell whether there were any."""
        released = self.classes.released()
        for one in released:
            name = self.classes.structure(one.result)
            branch = self.types.branch(name, RECORD)
            if branch is None:
                origin = self.classes.origin(one.result)
                branches = self.types.structures.branches.get(name, ())
                self.reject(one, no_record(one.term, name, branches, origin))
            elif one.term.function == RECORD:
                self.fields(one, name, branch)
        return bool(released)

    def fields(self, one: Construction, name: str, branch: Branch) -> None:
        """Say what the fields of a branch ask of the arguments."""
        if len(one.arguments) != len(branch.fields):
            self.reject(one, wrong_fields(one.term, name, branch))
            return
        for place, (argument, column) in enumerate(zip(one.arguments, branch.fields, strict=True)):
            if column.type_name in self.types.kinds:
                term = one.term.arguments[place]
                origin = Origin(term=term, branch=branch, column=place, within=one.term)
                structure = self.types.structure(column.type_name)
                self.classes.bind(argument, column.kind, origin, structure)
            elif isinstance(one.term.arguments[place], Apply):
                # What is wrong with the field is told elsewhere.
                self.classes.spoil(argument)

    def finish(self) -> None:
        """Report records whose type nothing tells: the outermost of nested ones."""
        for one in reversed(self.found):
            if one.term.function in {RECORD, NIL} and not self.classes.structure(one.result):
                # Parts of what was reported are no mistakes of their own.
                self.reject(one, which_record(one.term, self.types))

    def reject(self, one: Construction, mistake: Diagnostic) -> None:
        """Report a constructor, unless it stands in a class or a structure that was reported."""
        if not self.classes.broken(one.result):
            self.diagnostics.append(mistake)
        self.classes.spoil(one.result)
        for argument in one.arguments:
            self.classes.spoil(argument)


# A diagnostic names the column, its declared type and an edit that parses.

_ONE_KIND = "two terms are compared, joined or calculated with only when they have one base type"
_EXACTNESS = "exact and approximate numbers never mix silently: nothing would show the lost digits"
_EXAMPLES = MappingProxyType(
    {
        Kind.DATE: '"2025-01-31"',
        Kind.TIMESTAMP: '"2025-01-31T10:00:00Z"',
        Kind.BOOL: '"true"',
    }
)
_MOMENT = re.compile(
    r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})"
    r"(?:[T ]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.]0+)?)?)?(?:Z|[+]00:?00)?"
)
_HABITS = MappingProxyType(
    {
        **dict.fromkeys(("len", "length", "size"), "strlen"),
        **dict.fromkeys(("concat", "concatenate", "join"), "cat"),
        **dict.fromkeys(("substring", "mid", "slice"), "substr"),
        **dict.fromkeys(("int", "integer", "number", "ftoi", "utoi"), "to_number"),
        **dict.fromkeys(("itou", "ftou"), "to_unsigned"),
        **dict.fromkeys(("itof", "utof"), "to_float"),
        **dict.fromkeys(("pow", "power"), "^"),
        "least": "min",
        "greatest": "max",
        **dict.fromkeys(("str", "string", "text"), "to_string"),
        **dict.fromkeys(("datediff", "date_diff"), "days_between"),
        **dict.fromkeys(("dateadd", "add_days"), "date_add"),
        "decimal": "to_decimal",
        "double": "to_float",
        "float": "to_float",
    }
)
_READERS = MappingProxyType(
    {
        Kind.NUMBER: "to_number",
        Kind.UNSIGNED: "to_unsigned",
        Kind.FLOAT: "to_float",
        Kind.DECIMAL: "to_decimal",
    }
)


def described(origin: Origin | None, kind: Kind) -> str:
    """Say what tells a kind: "column `t` of `tier` is symbol"."""
    if origin is None:
        return f"one side is {kind.value}"
    if origin.branch is not None:
        return f"{field_name(origin)} is {origin.branch.fields[origin.column].type_name}"
    if origin.predicate is not None:
        column = origin.predicate.columns[origin.column]
        declared = column.type_name
        shown = kind.value if declared == kind.value else f"{declared}, a {kind.value}"
        return f"column `{column.name}` of `{origin.predicate.name}` is {shown}"
    if origin.comparison is not None:
        return f"`{origin.comparison.operator.lstrip('!')}` compares texts of type symbol"
    if origin.aggregate is not None:
        return f"`{origin.aggregate.function}` gives {kind.value}"
    if isinstance(origin.term, Apply):
        if makes_structure(origin.term.function):
            return f"`{print_term(origin.term)}` is a structure"
        return f"`{print_term(origin.term)}` {origin.role} {kind.value}"
    return f"one side is {kind.value}"


def places(*origins: tuple[Origin | None, Kind]) -> tuple[Related, ...]:
    """Give the declarations that tell the kinds, each once."""
    found = {}
    for origin, kind in origins:
        if origin is not None and origin.declared is not None:
            found[origin.declared] = Related(origin.declared, f"declared as {kind.value} here")
    return tuple(found.values())


def conflict(
    kinds: tuple[Kind, Kind],
    first: Origin | None,
    second: Origin | None,
    predicates: Mapping[str, Predicate],
) -> Diagnostic:
    """Report two kinds for what must have one."""
    code = _conflict_code(kinds, first, second)
    where = next((one.used for one in (second, first) if one is not None and one.used), None)
    related = list(places((first, kinds[0]), (second, kinds[1])))
    if first is not None and first.used is not None and first.used != where:
        related.append(Related(first.used, f"{kinds[0].value} here"))
    return Diagnostic(
        code,
        f"{described(first, kinds[0])}, but {described(second, kinds[1])}",
        where,
        label=f"{kinds[1].value} here" if second is not None and second.used == where else "",
        note=_EXACTNESS if code == "C0218" else _ONE_KIND,
        help=_conflict_help(kinds, first, second, predicates),
        related=tuple(related),
    )


def between_days(term: Apply) -> str:
    """Say what gives the days between two dates, which are not subtracted."""
    later, earlier = (print_term(one) for one in (term.arguments[0], term.arguments[-1]))
    return f"write `days_between({earlier}, {later})`, which gives a number of days"


def _conflict_code(kinds: tuple[Kind, Kind], first: Origin | None, second: Origin | None) -> str:
    if set(kinds) == {Kind.DECIMAL, Kind.FLOAT}:
        return "C0218"
    compared = any(one is not None and one.comparison is not None for one in (first, second))
    if compared and Kind.SYMBOL in kinds:
        return "C0225"
    taken = any(one is not None and one.role == "takes" for one in (first, second))
    return "C0223" if taken else "C0215"


def _conflict_help(
    kinds: tuple[Kind, Kind],
    first: Origin | None,
    second: Origin | None,
    predicates: Mapping[str, Predicate],
) -> str:
    if Kind.STRUCTURE in kinds:
        return "use two variables; a pattern such as `?r = [?x, ?y]` gives the fields of a record"
    join = offered_join(kinds, (first, second), predicates)
    if join:
        edit = f"to go from a name to its id, join with `{join}`"
        own = second.predicate if second is not None and second.role == "gets" else None
        if second is None or own is None or own.source is not None:
            return edit
        column = own.columns[second.column].name
        return f"declare `{column}: {kinds[0].value}` in `.decl {own.name}`; {edit}"
    if set(kinds) == {Kind.DECIMAL, Kind.FLOAT}:
        return _floats_help(first if kinds[0] is Kind.DECIMAL else second)
    known, wanted = kinds
    if second is None or (second.comparison is None and second.role == "gives"):
        known, wanted = _from_and_to(known, wanted)
    source = first if known is kinds[0] else second
    shown = _variable(source)
    edit = f"?y = {_converted(shown, known, wanted)}"
    return f"convert, and use another variable for the result: `{edit}`"


def _floats_help(exact: Origin | None) -> str:
    """Say how a Decimal becomes a float; the other way fails for nearly every float."""
    edit = f"make the Decimal a float: `{_converted(_variable(exact), Kind.DECIMAL, Kind.FLOAT)}`"
    if exact is None or exact.predicate is None:
        return edit
    column = exact.predicate.columns[exact.column].name
    return f"declare column `{column}` of `{exact.predicate.name}` as float, or {edit}"


def _from_and_to(one: Kind, other: Kind) -> tuple[Kind, Kind]:
    """Choose the direction that loses nothing: integers become Decimals, not the reverse."""
    order = (Kind.SYMBOL, Kind.UNSIGNED, Kind.NUMBER, Kind.FLOAT, Kind.DECIMAL)
    places = [order.index(kind) if kind in order else len(order) for kind in (one, other)]
    return (one, other) if places[0] <= places[1] else (other, one)


def _converted(shown: str, known: Kind, wanted: Kind) -> str:
    if wanted is Kind.SYMBOL:
        return f"to_string({shown})"
    if known is Kind.SYMBOL and wanted in _READERS:
        return f"{_READERS[wanted]}({shown})"
    if known is Kind.TIMESTAMP and wanted is Kind.DATE:
        return f"date_of({shown})"
    if wanted.numeric and not known.numeric and known is not Kind.SYMBOL:
        return f"{_READERS[wanted]}(to_string({shown}))"
    return f"as({shown}, {wanted.value})"


def misfit(
    constant: Constant, kind: Kind, origin: Origin | None, predicates: Mapping[str, Predicate]
) -> Diagnostic:
    """Report a constant that is no value of the kind that stands opposite."""
    text, numeric = print_term(constant), constant.kind.numeric
    if kind in _EXAMPLES and not numeric:
        return _bad_spelling(constant, kind, origin)
    how = "given" if origin is not None and origin.term is constant else "compared with"
    shown = f"{'text' if constant.kind is Kind.SYMBOL else constant.kind.value} {text}"
    code, note, edit = _misfit_reason(constant, kind, origin, predicates)
    return Diagnostic(
        code,
        f"{described(origin, kind)}, {how} {shown}",
        constant.span or (None if origin is None else origin.used),
        label=f"this is no {kind.value}",
        note=note,
        help=edit,
        related=places((origin, kind)),
    )


def _misfit_reason(
    constant: Constant, kind: Kind, origin: Origin | None, predicates: Mapping[str, Predicate]
) -> tuple[str, str, str]:
    text = print_term(constant)
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return (
            "C0220",
            "dates are quoted; without quotes it is arithmetic",
            f"write `{_EXAMPLES[kind]}`",
        )
    if kind is Kind.BOOL:
        meant = truth_meant(str(constant.value))
        edit = f'`"{meant}"`' if meant else '`"true"` or `"false"`, as it is meant'
        return "C0215", 'a Bool is `"true"` or `"false"`', f"write {edit}"
    if kind.numeric and constant.kind.numeric:
        return "C0221", *_number_reason(constant, kind, origin)
    if kind is Kind.STRUCTURE:
        note = (
            "a record is written `[...]` or `nil`, a branch of an algebraic data type `$Name(...)`"
        )
        return "C0215", note, "write the structure, for example `[1, 2]` or `$Zero`"
    if kind is Kind.SYMBOL:
        note, edit = "a text stands in quotes, also where it looks like a number", f'`"{text}"`'
        column = None if origin is None or origin.term is constant else origin.term
        if not isinstance(column, Variable) or not constant.kind.numeric:
            return "C0215", note, f"write {edit}"
        # Texts in quotes are compared letter by letter, which is hardly what a number asks for.
        read = f"`to_decimal({print_term(column)})`"
        return "C0215", note, f"compare {read} with it; or the text as it is, with {edit}"
    join = offered_join((kind, Kind.SYMBOL), (origin, None), predicates, constant)
    if join:
        return "C0215", _ONE_KIND, f"to go from a name to its id, join with `{join}`"
    return "C0215", _ONE_KIND, _as_number(str(constant.value), kind)


def _as_number(text: str, kind: Kind) -> str:
    """Say what a text that stands for a number is to be: nobody knows which number a word means."""
    try:
        return f"write `{print_term(Constant(parse_value(text, kind), kind))}`"
    except ValueError:
        example = "2" if kind in {Kind.NUMBER, Kind.UNSIGNED} else "2.5"
        return f"write the {kind.value} in digits, without quotes, such as `{example}`"


def _number_reason(constant: Constant, kind: Kind, origin: Origin | None) -> tuple[str, str]:
    note = f"a constant stands for a {kind.value} only where it is exactly one"
    value = constant.value
    if kind in {Kind.NUMBER, Kind.UNSIGNED}:
        if value == int(value) and (kind is Kind.NUMBER or int(value) >= 0):
            return note, f"write `{int(value)}`"
        shown = _variable(origin)
        other = Kind.DECIMAL if constant.kind is Kind.DECIMAL else Kind.FLOAT
        if kind is Kind.UNSIGNED and value == int(value):
            other = Kind.NUMBER
        return note, f"convert the other side: `as({shown}, {other.value})`"
    return note, f"write `{'0.5' if constant.kind is not Kind.NUMBER else f'{value}.0'}`"


def _variable(origin: Origin | None) -> str:
    if origin is not None and isinstance(origin.term, Variable):
        return print_term(origin.term)
    return "?x"


def _bad_spelling(constant: Constant, kind: Kind, origin: Origin | None) -> Diagnostic:
    reason = "is none"
    try:
        parse_value(str(constant.value), kind)
    except ValueError as error:
        reason = str(error)
    return Diagnostic(
        "C0219",
        f"{described(origin, kind)}, and this text {reason}",
        constant.span or (None if origin is None else origin.used),
        label=f"this is no {kind.value}",
        note=f"a {kind.value} is written as {_EXAMPLES[kind]}",
        help=f"write `{_mended(str(constant.value), kind)}`",
        related=places((origin, kind)),
    )


def _mended(text: str, kind: Kind) -> str:
    """Give the literal that a misspelt date or time is meant to be, else an example."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None or kind not in {Kind.DATE, Kind.TIMESTAMP}:
        return _EXAMPLES[kind]
    day = f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"
    time = f"{int(found[4] or 0):02}:{found[5] or '00'}:{found[6] or '00'}"
    mended = day if kind is Kind.DATE else f"{day}T{time}Z"
    try:
        parse_value(mended, kind)
    except ValueError:
        return _EXAMPLES[kind]
    return f'"{mended}"'


def mixed_constants(first: Constant, second: Constant) -> Diagnostic:
    """Report a text and a number where one kind is needed."""
    return Diagnostic(
        "C0215",
        f"text {print_term(first)} compared with number {print_term(second)}",
        second.span or first.span,
        label="a number",
        note=_ONE_KIND,
        help=f'write `"{print_term(second)}"`',
        related=() if first.span is None else (Related(first.span, "a text"),),
    )


def no_order_of_kind(comparison: Comparison) -> Diagnostic:
    """Report `<` and its like on truth values."""
    equal = print_literal(comparison).replace(f" {comparison.operator} ", " = ", 1)
    return Diagnostic(
        "C0225",
        f"`{comparison.operator}` is not defined on Bool",
        comparison.span,
        label="truth values have no order",
        note="on Bool there are only `=` and `!=`",
        help=f"write `{equal}`",
    )


def no_aggregate(aggregate: Aggregate, kind: Kind, origin: Origin | None) -> Diagnostic:
    """Report an aggregate over values that it is not defined on."""
    target = "" if aggregate.target is None else print_term(aggregate.target)
    needs = "numbers" if aggregate.function in {"sum", "mean"} else "values that have an order"
    reader = f"to_decimal({target})" if kind is Kind.SYMBOL else f"to_number(to_string({target}))"
    count = print_literal(replace(aggregate, function="count", target=None))
    edit = f"count the rows instead: `{count}`"
    shown = "records and algebraic data types" if kind is Kind.STRUCTURE else kind.value
    if kind is Kind.SYMBOL and aggregate.function in {"sum", "mean"}:
        edit = f"read the text as a number, `{aggregate.function} {reader}`, or {edit}"
    return Diagnostic(
        "C0224",
        f"`{aggregate.function}` is not defined on {shown}",
        (aggregate.target.span if aggregate.target else None) or aggregate.span,
        label=described(origin, kind),
        note=f"`{aggregate.function}` needs {needs}",
        help=edit,
        related=places((origin, kind)),
    )


UNKNOWN: Final = "C0222"
TURNED: Final = "C0287"


def turned_round(comparison: Comparison) -> Diagnostic:
    """Say that `contains(?text, "part")` looks for the value of the variable in the constant."""
    word = comparison.operator.removeprefix("!")
    left, right = print_term(comparison.left), print_term(comparison.right)
    part = "part" if word == "contains" else "pattern"
    sign = comparison.operator.removesuffix(word)
    return Diagnostic(
        TURNED,
        f"`{word}` takes the {part} first and the text behind it",
        comparison.span,
        label=f"here the value of {left} is the {part}",
        note=f"a constant that is looked through never changes; {right} is most likely the {part}",
        help=f"write `{sign}{word}({right}, {left})`; if the constant is to be looked through, name"
        f" it: `?text = {right}, {sign}{word}({left}, ?text)`",
        severity=Severity.WARNING,
    )


def meant_in_rule(term: Apply, rule: Rule, predicates: Mapping[str, Predicate]) -> str:
    """Write what was meant by a call of another language: as an aggregate, or by a pattern.

    The whole rule; of a goal, whose head has no columns, the whole goal. Nothing where it is not
    clear.
    """
    name = term.function.casefold()
    fold = AGGREGATE_HABITS.get(name, name)
    if fold in AGGREGATES and not any(isinstance(one, Aggregate) for one in rule.body):
        return _as_aggregate(term, fold, rule, predicates)
    return _without_case(term, rule) if name in _CASES else ""


_CASES: Final = frozenset({"lower", "upper", "lcase", "ucase"})


def _without_case(term: Apply, rule: Rule) -> str:
    """Write `lower(?x) = "text"` as a pattern that takes letters of both cases."""
    for one in rule.body:
        if not isinstance(one, Comparison) or one.operator not in {"=", "!="}:
            continue
        text = one.right if one.left == term else one.left
        if (
            term in {one.left, one.right}
            and isinstance(text, Constant)
            and len(term.arguments) == 1
        ):
            sign = "!" if one.operator == "!=" else ""
            pattern = quoted(without_case(str(text.value)))
            return f"{sign}match({pattern}, {print_term(term.arguments[0])})"
    return ""


def _as_aggregate(term: Apply, fold: str, rule: Rule, predicates: Mapping[str, Predicate]) -> str:
    """Write `?n = sum(?t)`, or `sum(?t)` in the head, as an aggregate over the rest of the body."""
    body = list(dict.fromkeys(rule.body))
    holding = [one for one in body if isinstance(one, Comparison) and term in {one.left, one.right}]
    inner = [one for one in body if one not in holding]
    atoms = [one.atom for one in inner if isinstance(one, Positive)]
    known = all(one.predicate in predicates for one in atoms)
    if not atoms or not known or len(holding) > 1 or (fold != "count" and len(term.arguments) != 1):
        return ""
    result: Term = Variable(fold)
    tested = ""
    for one in holding:
        other = one.right if one.left == term else one.left
        if one.operator == "=" and isinstance(other, Variable):
            result = other
        else:
            sides = (result if side == term else side for side in (one.left, one.right))
            tested = f", {f' {one.operator} '.join(map(print_term, sides))}"
    head = replace(rule.head, terms=tuple(result if t == term else t for t in rule.head.terms))
    keys = [t for t in head.terms if isinstance(t, Variable) and t not in {result, *term.arguments}]
    told = (*inner, Positive(head))
    names = Counter(one.name for literal in told for one in _variables(literal))
    if fold != "count":
        names.update(one.name for one in term_variables(term))
    single = {name for name, count in names.items() if count == 1}
    within = ", ".join(_in_aggregate(one, predicates, single, len(atoms)) for one in inner)
    target = "" if fold == "count" else f" {print_term(term.arguments[0])}"
    groups = "".join(f"{one}, " for one in _groups(keys, atoms, predicates))
    text = f"{groups}{print_term(result)} = {fold}{target} : {{ {within} }}{tested}"
    return f"{print_atom(head)} :- {text}." if rule.head.terms else text


def _variables(literal: Literal) -> Iterator[Variable]:
    """Yield the variables of a literal, as often as they stand there."""
    match literal:
        case Positive(atom) | Negative(atom):
            terms: Sequence[Term] = atom.terms
        case Comparison(left=left, right=right):
            terms = (left, right)
        case _:
            terms = ()
    for term in terms:
        yield from term_variables(term)


def _in_aggregate(
    one: Literal, predicates: Mapping[str, Predicate], single: Collection[str], atoms: int
) -> str:
    """Write a literal by the names of its columns; among others with the key of its rows.

    `single` are the variables that stand once: they may be anything.
    """
    if not isinstance(one, Positive):
        return print_literal(one, predicates)
    predicate = predicates[one.atom.predicate]
    written = []
    for place, (column, part) in enumerate(zip(predicate.columns, one.atom.terms, strict=True)):
        is_single = isinstance(part, Variable) and part.name in single
        if not is_wildcard(part) and not is_single:
            written.append(f"{column.name} = {print_term(part)}")
        elif atoms > 1 and (is_single or place in predicate.key):
            written.append(f"{column.name} = _{column.name}")
    first = predicate.columns[predicate.key[0] if predicate.key else 0].name
    return f"{one.atom.predicate}({', '.join(written) or f'{first} = _{first}'})"


def _groups(
    keys: Sequence[Variable], atoms: Sequence[Atom], predicates: Mapping[str, Predicate]
) -> Iterator[str]:
    """Yield atoms that give the groups, each with no more columns than these need."""
    left = list(dict.fromkeys(keys))
    for atom in atoms:
        columns = zip(predicates[atom.predicate].columns, atom.terms, strict=True)
        given = [f"{one.name} = {print_term(part)}" for one, part in columns if part in left]
        left = [one for one in left if one not in atom.terms]
        if given:
            yield f"{atom.predicate}({', '.join(given)})"


def unknown_function(term: Apply) -> Diagnostic:
    """Report a function that does not exist."""
    named = [name for name in (*FUNCTIONS, RANGE) if name not in OPERATORS]
    return Diagnostic(
        UNKNOWN,
        f"there is no function `{term.function}`",
        term.span,
        label="only predicates can be declared, functions are built in",
        note="the functions are " + ", ".join(sorted(named)),
        help=_told_otherwise(term)
        or _known_edit(term, _HABITS.get(term.function) or nearest(term.function, named)),
    )


def _known_edit(term: Apply, near: str | None) -> str:
    """Say what to write in place of a function that does not exist."""
    if near in OPERATORS:
        return f"write `?x {near} ?y`"
    inner = ", ".join(map(print_term, term.arguments))
    if near:
        return f"write `{near}({inner})`"
    return "see `constat help functions`; what is not there the source can compute, in its query"


def _rounded(name: str, term: Apply) -> str:
    """Say how a number is rounded; `to_number` leaves the fraction out, towards 0."""
    one, places = (*term.arguments, Variable("x"), Constant(0, Kind.NUMBER))[:2]
    inner = f"({print_term(one)})" if isinstance(one, Apply) else print_term(one)
    whole = f"to_number({print_term(one)})"
    if name == "floor":
        return f"write `{whole}`, from 0 on; below 0 that is the whole number above"
    if name in {"ceil", "ceiling"}:
        return f"write `{whole} + 1`, above 0 and where there is a fraction"
    if name != "round":
        return f"write `{whole}`"
    digits = places.value if isinstance(places, Constant) else 0
    if isinstance(digits, int) and 0 < digits < _MOST_PLACES:
        scale = f"1{'0' * digits}.0"
        nearest_one = f"as(to_number({inner} * {scale} + 0.5), Decimal) / {scale}"
        written = f"; to write an exact value so, `@[places = {digits}]` before its column"
    else:
        nearest_one, written = f"to_number({inner} + 0.5)", ""
    return f"write `{nearest_one}`, from 0 on; below 0 with `- 0.5`{written}"


_MOST_PLACES: Final = 10


def _told_otherwise(term: Apply) -> str:
    """Say how to do without what other languages have a function for."""
    shown = [print_term(one) for one in term.arguments] or ["?x"]
    first = shown[0]
    name = term.function.casefold()
    if name == "abs":
        return f"write `max({first}, -{first})`"
    if name in {"round", "floor", "ceil", "ceiling", "trunc", "truncate"}:
        return _rounded(name, term)
    if name in {"lower", "upper", "trim", "lcase", "ucase", "ltrim", "rtrim"}:
        return (
            "texts are compared as the source has them; have the source do it, in the `query` of"
            f" `.input`: `SELECT {name}(...) ...`"
        )
    if name in TODAY_HABITS:
        return TODAY_EDIT
    fold = AGGREGATE_HABITS.get(name, name)
    if fold in AGGREGATES:
        target, inner = ("", "_") if fold == "count" else (f"{first} ", first)
        return (
            f"an aggregate names its rows: `?n = {fold} {target}: {{ p({inner}) }}`, with a"
            " predicate of yours for `p`; compare `?n`"
        )
    if name in {"coalesce", "ifnull", "nvl", "isnull"}:
        return "write two rules, one for each case; `constat help nulls` says what NULL means"
    return ""


def misplaced_range(term: Apply) -> Diagnostic:
    """Report a range where one value must stand."""
    return Diagnostic(
        "C0239",
        "`range` makes several values and stands where one value must stand",
        term.span,
        label="no variable names one of its values",
        note="`range` is an argument of a head or of an atom without `!`, or a side of `=`",
        help="name the value: `?n = range(0, 3)`, and write `?n` here",
    )


def wrong_count(term: Apply, signature: Signature) -> Diagnostic:
    """Report a call with too few or too many arguments."""
    wanted = [kind.value for kind in signature.parameters]
    shown = ", ".join(wanted) + (", ..." if signature.variadic else "")
    names = ", ".join(f"?{letter}" for letter in "xyz"[: len(wanted)])
    return Diagnostic(
        "C0223",
        f"`{term.function}` takes {len(wanted)} arguments, given {len(term.arguments)}",
        term.span,
        label=f"the arguments are {shown}",
        note="a function has fixed arguments; only `cat`, `min`, `max` and `range` take more",
        help=_counted_edit(term, names),
    )


def _counted_edit(term: Apply, names: str) -> str:
    edit = f"write `{term.function}({names})` with your terms in these places"
    if term.function in {"min", "max"} and len(term.arguments) == 1:
        target = print_term(term.arguments[0])
        return f"{edit}; over rows it is `{term.function} {target} : {{ p({target}) }}`"
    return edit


def wrong_arguments(
    term: Apply,
    given: Sequence[Kind],
    result: Kind,
    known: Sequence[Signature],
    origin: Origin | None,
) -> Diagnostic:
    """Report a call whose arguments have kinds that the function does not take."""
    code, note, edit = _arguments_reason(term, given, result, known)
    shown = ", ".join(dict.fromkeys(kind.value for kind in given))
    message = f"`{'-' if term.function == 'neg' else term.function}` is not defined on {shown}"
    if term.function == "as":
        message = f"`as` does not turn {shown} into {result.value}"
    elif code == "C0220":
        message = f"{described(origin, given[0])}, compared with `{print_term(term)}`"
    return Diagnostic(
        code,
        message,
        term.span or (None if origin is None else origin.used),
        label=described(origin, given[0]),
        note=note,
        help=edit,
        related=places((origin, given[0])),
    )


def _arguments_reason(
    term: Apply, given: Sequence[Kind], result: Kind, known: Sequence[Signature]
) -> tuple[str, str, str]:
    shown = [print_term(one) for one in term.arguments]
    dates = given[0] in {Kind.DATE, Kind.TIMESTAMP} or result in {Kind.DATE, Kind.TIMESTAMP}
    if Kind.STRUCTURE in {*given, result}:
        code = "C0226" if term.function == "as" else "C0223"
        edit = "take the structure apart by a pattern such as `?r = [?x, _]`, and use a part of it"
        return code, "functions and casts do not work on records and algebraic data types", edit
    if term.function == "as":
        note = "`as` converts numbers into each other, and Date, Timestamp, Bool from and to symbol"
        return "C0226", note, f"write `{_converted(shown[0], given[0], result)}`"
    if dates and _only_numbers(term):
        return "C0220", "dates are quoted; without quotes it is arithmetic", 'write `"2025-01-31"`'
    if dates and term.function == "+":
        return (
            "C0223",
            "dates are moved by a function",
            f"write `date_add({shown[0]}, {shown[-1]})`",
        )
    if dates and term.function == "-":
        edit = f"write `days_between({shown[-1]}, {shown[0]})`"
        if isinstance(term.arguments[-1], Constant) and not _is_day(term.arguments[-1]):
            edit = f"write `date_add({shown[0]}, -{shown[-1]})`"
        return "C0223", "dates are compared and moved by functions", edit
    kinds = dict.fromkeys(kind.value for one in known for kind in one.parameters)
    note = f"`{term.function}` takes {', '.join(kinds)}"
    if term.function == "+" and given[0] is Kind.SYMBOL:
        return "C0223", note, f"write `cat({shown[0]}, {shown[-1]})`"
    wanted = known[0].parameters[0]
    return "C0223", note, f"convert the argument: `{_converted(shown[0], given[0], wanted)}`"


def _is_day(constant: Constant) -> bool:
    try:
        parse_value(str(constant.value), Kind.DATE)
    except ValueError:
        return False
    return True


def _only_numbers(term: Apply) -> bool:
    """Tell whether this is an unquoted date: integers with minus signs between them."""
    stack: list[Term] = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, Apply) and part.function == "-":
            stack.extend(part.arguments)
        elif not (isinstance(part, Constant) and part.kind is Kind.NUMBER):
            return False
    return True
