"""Sentences about facts and rule instances, with every value in them."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self, cast

from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.frozen import frozen
from constat.logic import (
    FIELD_OF,
    LOCALES,
    OPEN,
    UNREAD_CELL,
    Aggregate,
    Apply,
    Attributes,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Negative,
    NullCell,
    NullPolicy,
    Open,
    Positive,
    Variable,
    display_value,
    find_locale,
    implementation,
    is_constructor,
    made_of,
    unread_variables,
)
from constat.proof.written import as_written, pattern_sides
from constat.syntax import print_term

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.logic import Atom, Column, Literal, Locale, OpenRow, Predicate, Rule, Slot, Term

# The process's own locale plays no part; without one numbers have commas between thousands and
# days are as in ISO 8601.

# A year or a number that only names something is not written with separators.
_NAMING: Final = re.compile(r"(^|_)(id|ids|key|no|nr|number|code|year|zip)$", re.IGNORECASE)
_GROUPED_FROM: Final = 1_000


# What a column can say of how its values are written.
STYLES: Final = ("id", "percent", "places", "unit", "year")
DISCLOSURE: Final = ("confidential", "personal")
"""What a column says of who may see its values."""
_NAMES: Final = frozenset({"id", "year"})
_NO_STYLE: Final[Attributes] = MappingProxyType({})


class Measured(str):
    """A value with its unit; ``bare`` is for a template that has the unit beside it already."""

    __slots__ = ("bare", "unit")
    bare: str
    unit: str

    def __new__(cls, bare: str, unit: str) -> Self:
        """Put a sign such as ``$`` before the value, and a word behind it."""
        sign = not any(one.isalnum() or one.isspace() for one in unit) and unit != "%"
        minus = "-" if sign and bare.startswith("-") else ""
        told = f"{minus}{unit}{bare.removeprefix('-')}" if sign else f"{bare} {unit}"
        found = super().__new__(cls, told)
        found.bare, found.unit = bare, unit
        return found


def style_of(column: Column) -> Attributes:
    """Return what a column says of how its values are written."""
    if not column.attributes:
        return _NO_STYLE
    return {key: column.attributes[key] for key in STYLES if key in column.attributes}


def _placed(number: Decimal, places: str, shift: int = 0) -> Decimal:
    """Return a number moved by so many places, with at least ``places``: no digit is lost."""
    # Digit by digit: arithmetic would round to the digits of the context.
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return number
    lowest = min(exponent + shift, 0, -int(places) if places.isdecimal() else 0)
    return Decimal((sign, (*digits, *(0,) * (exponent + shift - lowest)), lowest))


@frozen
class Speech:
    """Writes values for people; ``locale`` is empty for the spelling that no place has."""

    locale: Locale | None = None

    def template(self, attributes: Attributes, form: str) -> str | None:
        """Return a template: ``says``, ``says_not`` or ``says_unknown``, in the language if any."""
        if self.locale is not None:
            found = attributes.get(f"{form}.{self.locale.language}")
            if found is not None:
                return found
        return attributes.get(form)

    def value(self, slot: Slot, kind: Kind, name: str = "", style: Attributes = _NO_STYLE) -> str:
        """Write a value; ``name`` is the column or variable it stands in.

        ``style`` has the attributes of its column: ``unit``, ``places``, ``percent``, ``id`` and
        ``year`` say how it is written.
        """
        if isinstance(slot, Open):
            return "something unknown"
        shown = display_value(slot, kind)
        cell: object = slot
        if isinstance(cell, NullCell):
            return shown
        if kind.numeric and (_NAMING.search(name) or not style.keys().isdisjoint(_NAMES)):
            return shown
        if style and kind.numeric:
            number = Decimal(shown if kind is Kind.FLOAT else slot)
            hundredfold = 2 if "percent" in style else 0
            return self._measured(_placed(number, style.get("places", ""), hundredfold), style)
        spelled = (
            self._plain(slot, kind, shown)
            if self.locale is None
            else _local(self.locale, slot, kind, shown)
        )
        return self._with_unit(spelled, style) if style else spelled

    def _measured(self, number: Decimal, style: Attributes) -> str:
        """Write a number in the style of its column."""
        if self.locale is not None:
            spelled = self.locale.number(number)
        else:
            spelled = f"{number:,f}" if abs(number) >= _GROUPED_FROM else f"{number:f}"
        return f"{spelled}%" if "percent" in style else self._with_unit(spelled, style)

    @staticmethod
    def _with_unit(spelled: str, style: Attributes) -> str:
        unit = style.get("unit", "")
        return Measured(spelled, unit) if unit else spelled

    @staticmethod
    def _plain(slot: Slot, kind: Kind, shown: str) -> str:
        if not kind.numeric or kind is Kind.FLOAT:
            return shown
        number = Decimal(slot)  # type: ignore[arg-type]  # no open slot is left
        return f"{number:,f}" if abs(number) >= _GROUPED_FROM else shown


def _local(locale: Locale, slot: Slot, kind: Kind, shown: str) -> str:
    match kind:
        case Kind.FLOAT:
            return locale.plain(shown)
        case Kind.DATE:
            return locale.date(shown)
        case Kind.TIMESTAMP:
            return locale.moment(shown)
        case _ if kind.numeric:
            return locale.number(Decimal(slot))  # type: ignore[arg-type]  # no open slot is left
        case _:
            return shown


PLAIN: Final = Speech()


def speech_in(name: str) -> Speech:
    """Return the speech of a locale, the plain one of no name; ``ConstatError`` for others."""
    if not name:
        return PLAIN
    found = find_locale(name)
    if found is None:
        known = [one.name for one in LOCALES]
        near = nearest(name, known)
        help_ = f"write `{near}`" if near else f"known: {', '.join(known)}"
        raise ConstatError([Diagnostic("C0790", "this locale is not known", help=help_)])
    return Speech(found)


# A default sentence names every value of what it speaks about, so no comparison and no threshold
# is left out.  How numbers and days are written, and in which language templates are taken, is
# told by a `Speech`.

_PLACEHOLDER: Final = re.compile(r"\{([?A-Za-z_][A-Za-z0-9_]*)\}")
_BETWEEN: Final = re.compile(r"(, and |, | and )")


def show_value(slot: Slot, kind: Kind, name: str = "", speech: Speech = PLAIN) -> str:
    """Write a value for people; ``name`` is the column or variable it stands in."""
    return speech.value(slot, kind, name)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into a template; a placeholder nobody fills stays as it is."""

    def value(found: re.Match[str]) -> str:
        name = found.group(1).removeprefix("?")
        told = values.get(name, found.group(0))
        if isinstance(told, Measured):
            before, behind = template[: found.start()], template[found.end() :]
            beside = before.endswith(told.unit) or behind.lstrip().startswith(told.unit)
            return told.bare if beside else told
        return told

    return _PLACEHOLDER.sub(value, template)


def words(name: str) -> str:
    """Return a name in words: ``customer_revenue`` is ``customer revenue``."""
    return name.replace("_", " ").strip() or name


def value_column(predicate: Predicate) -> int | None:
    """Return the column that is *the value* of a predicate, if it reads like a function.

    That is the one column outside its key, the column of a scalar of the configuration, or a last
    column that holds an amount.
    """
    width = predicate.arity
    if predicate.key:
        rest = [place for place in range(width) if place not in predicate.key]
        return rest[0] if len(rest) == 1 else None
    if width == 1:
        return 0 if predicate.source is not None and predicate.source.name == "config" else None
    amounts = {Kind.DECIMAL, Kind.FLOAT}
    return width - 1 if width > 1 and predicate.columns[-1].kind in amounts else None


ASKED: Final = "the.goal"
"""The relation of a goal of several literals; no text can spell it, so no project declares it."""


def show_fact(predicate: Predicate, row: OpenRow, *, holds: bool = True) -> str:
    """Write a fact as in a trace: ``is_vip(customer_id=C001) = True``."""
    if predicate.name == ASKED:
        told = zip(predicate.columns, row, strict=True)
        values = [f"?{one.name} = {display_value(slot, one.kind)}" for one, slot in told]
        return f"the goal with {', '.join(values)}" if values else "the goal"
    place = value_column(predicate) if holds else None
    if place is not None and is_left_out(row[place]):
        place = None
    shown = [
        f"{column.name}={display_value(slot, column.kind)}"
        for at, (column, slot) in enumerate(zip(predicate.columns, row, strict=True))
        if at != place and not is_left_out(slot)
    ]
    inside = f"({', '.join(shown)})" if shown or place is None else ""
    if place is None:
        return f"{predicate.name}{inside} = {holds}"
    return f"{predicate.name}{inside} = {display_value(row[place], predicate.columns[place].kind)}"


def describe_fact(predicate: Predicate, row: OpenRow, speech: Speech = PLAIN) -> str:
    """Say a fact in a sentence: by its template, else with all its values."""
    return describe_row(predicate, _shown(predicate, row, speech), speech)


def describe_row(predicate: Predicate, shown: Mapping[str, str], speech: Speech = PLAIN) -> str:
    """Say a fact whose values are texts already, by column; columns may be left out."""
    template = speech.template(predicate.attributes, "says")
    if template:
        return _said(template, predicate, shown)
    place = value_column(predicate)
    valued = "" if place is None else predicate.columns[place].name
    names = [name for name in shown if name != valued]
    subject = words(predicate.name).removesuffix(" of")
    if valued in shown:
        value = shown[valued]
        keys = _listed([shown[name] for name in names])
        return f"the {subject} of {keys} is {value}" if keys else f"the {subject} is {value}"
    if len(names) == 1:
        return _unary(subject, shown[names[0]])
    if not names:
        return f"{subject} holds"
    return f"{subject} holds for {_listed([f'{words(name)} {shown[name]}' for name in names])}"


def deny_fact(predicate: Predicate, row: OpenRow, speech: Speech = PLAIN) -> str:
    """Say that a fact is absent: by ``@[says_not]``, else by the sentence of the fact."""
    template = speech.template(predicate.attributes, "says_not")
    if template:
        return _said(template, predicate, _shown(predicate, row, speech))
    return f"it is not so that {describe_fact(predicate, row, speech)}"


def doubt_fact(predicate: Predicate, row: OpenRow, speech: Speech = PLAIN) -> str:
    """Say that a fact is not known: by ``@[says_unknown]``, else by the sentence of the fact."""
    template = speech.template(predicate.attributes, "says_unknown")
    if template:
        return _said(template, predicate, _shown(predicate, row, speech))
    return f"it is not known whether {describe_fact(predicate, row, speech)}"


def _shown(predicate: Predicate, row: OpenRow, speech: Speech) -> dict[str, str]:
    return {
        column.name: speech.value(slot, column.kind, column.name, style_of(column))
        for column, slot in zip(predicate.columns, row, strict=True)
        if not is_left_out(slot)
    }


def is_left_out(cell: object) -> bool:
    """Tell whether nobody reads a cell: a sentence says nothing of it."""
    return isinstance(cell, NullCell) and cell.policy is NullPolicy.UNREAD


def _said(template: str, predicate: Predicate, shown: Mapping[str, str]) -> str:
    """Put values into a template, without the parts of lists that are about what is left out."""
    left_out = {column.name for column in predicate.columns} - shown.keys()
    if left_out:
        head, colon, rest = template.partition(": ")
        # Whatever has a subject of its own begins with it.
        head = _without(head, left_out, first=True)
        rest = _without(rest, left_out, first=False)
        template = f"{head}{colon}{rest}" if rest else head
        if any(name.removeprefix("?") in left_out for name in _PLACEHOLDER.findall(template)):
            # A sentence with a hole says nothing: the values that are read are listed instead.
            told = predicate.attributes.items()
            plain = {name: one for name, one in told if not name.startswith("says")}
            return describe_row(replace(predicate, attributes=plain), shown)
    return fill(template, shown)


def _without(text: str, left_out: set[str], *, first: bool) -> str:
    """Return a list in words without the items all of whose placeholders are left out."""
    parts = _BETWEEN.split(text)
    kept: list[str] = []
    for number in range(0, len(parts), 2):
        part = parts[number]
        names = {name.removeprefix("?") for name in _PLACEHOLDER.findall(part)}
        if names and names <= left_out:
            # "loan {id}" is still about a loan; what begins with a value has no other subject.
            part = part if part.startswith("{") else _PLACEHOLDER.sub("", part).rstrip()
            if not first or number:
                continue
        kept += [parts[number - 1] if kept and number else "", part]
    return "".join(kept)


def _unary(subject: str, value: str) -> str:
    if subject.startswith("is "):
        return f"{value} {subject}"
    return f"{subject} holds for {value}"


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 2:  # noqa: PLR2004  two parts need a conjunction
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


@frozen
class Instance:
    """A rule with values for its variables; ``kinds`` are those of the variables."""

    rule: Rule
    values: Mapping[str, Slot]
    kinds: Mapping[str, Kind]
    predicates: Mapping[str, Predicate]
    speech: Speech = PLAIN

    def shown(self) -> dict[str, str]:
        """Return the values as people read them, by variable and by column of the head."""
        head = self.predicates[self.rule.head.predicate]
        columns = {
            column.name: self.term(term)
            for column, term in zip(head.columns, self.rule.head.terms, strict=True)
        }
        styles = self.styles
        return columns | {
            name: self.speech.value(slot, self.kinds[name], name, styles.get(name, {}))
            for name, slot in self.values.items()
        }

    @property
    def styles(self) -> dict[str, Attributes]:
        """How the values of variables are written: as the first column of theirs says."""
        found: dict[str, Attributes] = {}
        folded: list[Aggregate] = []
        for literal in (Positive(self.rule.head), *self.rule.body):
            inside = literal.body if isinstance(literal, Aggregate) else (literal,)
            folded += [literal] if isinstance(literal, Aggregate) else []
            for one in inside:
                if isinstance(one, Positive):
                    self._add_styles(one.atom, found)
        for aggregate in folded:
            target = aggregate.target
            if aggregate.function != "count" and isinstance(target, Variable):
                found.setdefault(aggregate.result.name, found.get(target.name, {}))
        return found

    def _add_styles(self, atom: Atom, found: dict[str, Attributes]) -> None:
        for column, term in zip(self.predicates[atom.predicate].columns, atom.terms, strict=True):
            if isinstance(term, Variable) and column.attributes and term.name not in found:
                style = style_of(column)
                if style:
                    found[term.name] = style

    def knows(self, names: Sequence[str]) -> bool:
        """Tell whether variables and columns of the head have values."""
        head = self.predicates[self.rule.head.predicate]
        columns = zip(head.columns, self.row(self.rule.head), strict=True)
        slots = {column.name: slot for column, slot in columns} | dict(self.values)
        return all(slots.get(name.removeprefix("?"), OPEN) is not OPEN for name in names)

    def term(self, term: Term) -> str:
        """Write a term: a value where it has one, else as in the rule."""
        match term:
            case Variable(name=name) if name in self.values:
                style = self.styles.get(name, {})
                return self.speech.value(self.values[name], self.kinds[name], name, style)
            case Constant(value=value, kind=kind):
                return self.speech.value(value, kind)
            case Apply(kind=Kind() as kind):
                slot, formula = self.slot(term), print_term(self._filled(term))
                if slot is OPEN:
                    return formula
                shown = self.speech.value(slot, kind)
                # What makes a structure of values is spelled as the structure.
                told = is_constructor(term.function) and display_value(slot, kind) == formula
                return shown if told else f"{shown} ({formula})"
            case _:
                return print_term(term)

    def slot(self, term: Term) -> Slot:
        """Return the value of a term, ``OPEN`` where it has none or nobody knows it."""
        match term:
            case Variable(name=name):
                return self.values.get(name, OPEN)
            case Constant(value=value):
                return value
            case Apply(function=function, arguments=arguments, kind=Kind() as kind):
                return self._called(function, arguments, kind)
            case _:
                return OPEN

    def _called(self, function: str, arguments: Sequence[Term], kind: Kind) -> Slot:
        slots = [self.slot(one) for one in arguments]
        kinds = [self._kind(one) for one in arguments]
        given = tuple(one for one in kinds if one is not None)
        if OPEN in slots or len(given) < len(kinds):
            return OPEN
        if NullCell in map(type, slots):
            return cast("Slot", made_of(function, slots))
        try:
            return implementation(function, given, kind)(*slots)
        except EvaluationError:
            return OPEN

    def _kind(self, term: Term) -> Kind | None:
        return self.kinds.get(term.name) if isinstance(term, Variable) else term.kind

    def _filled(self, term: Term) -> Term:
        """Return a term with values in the places of variables."""
        if isinstance(term, Apply):
            return replace(term, arguments=tuple(map(self._filled, term.arguments)))
        slot, kind = self.slot(term), self._kind(term)
        if isinstance(slot, Open | NullCell) or kind is None:
            return term
        return Constant(slot, kind)

    def wanted(self, structure: Term, pattern: Apply) -> Apply:
        """Return a pattern with the values that a structure has not; what it has stays a name."""
        whole = self.slot(structure)
        arguments = list(pattern.arguments)
        for place, part in enumerate(arguments if isinstance(whole, str) else ()):
            kind, slot = self._kind(part), self.slot(part)
            if not isinstance(part, Variable) or kind is None or isinstance(slot, Open):
                continue
            field_of = implementation(FIELD_OF, (Kind.STRUCTURE, Kind.NUMBER), kind)
            if field_of(whole, place) != slot:
                arguments[place] = Constant(slot, kind)
        return replace(pattern, arguments=tuple(arguments))

    def row(self, atom: Atom) -> OpenRow:
        """Return the row of an atom as far as its terms have values."""
        return tuple(self.slot(term) for term in atom.terms)

    def row_read(self, atom: Atom) -> OpenRow:
        """Return the same, without the cells that the rule does not read."""
        unread = unread_variables(self.rule)
        return tuple(
            cast("Slot", UNREAD_CELL)
            if isinstance(term, Variable) and term.name in unread
            else slot
            for term, slot in zip(atom.terms, self.row(atom), strict=True)
        )


_OPERATOR_WORDS: Final = (
    (">", "more than"),
    (">=", "at least"),
    ("<", "less than"),
    ("<=", "at most"),
    ("=", "equal to"),
    ("!=", "different from"),
)


_OPPOSITES: Final = MappingProxyType({">=": "less than", "<=": "more than"})
"""What is said of a bound that is not kept: "not at least the least income" misleads."""


def explain(instance: Instance) -> str:
    """Say why a rule instance gives its head: by its template, else literal by literal."""
    template = instance.speech.template(instance.rule.attributes, "says")
    if template:
        return fill(template, instance.shown())
    compared: set[int] = set()
    body = as_written(instance.rule.body)
    parts = [
        _comparison(instance, literal, compared)
        for literal in body
        if isinstance(literal, Comparison)
    ]
    told = [
        _literal(instance, literal)
        for literal in body
        if not isinstance(literal, Comparison) and id(literal) not in compared
    ]
    sentence = ", and ".join([*told, *parts])
    return sentence or "this is stated by the rules"


def _literal(instance: Instance, literal: Literal) -> str:
    match literal:
        case Positive(atom):
            declared = instance.predicates[atom.predicate]
            return describe_fact(declared, instance.row_read(atom), instance.speech)
        case Negative(atom):
            declared = instance.predicates[atom.predicate]
            return deny_fact(declared, instance.row_read(atom), instance.speech)
        case Aggregate():
            return describe_aggregate(instance, literal)
        case Comparison():
            return ""


def describe_aggregate(instance: Instance, literal: Aggregate) -> str:
    """Say what an aggregate folds: ``the sum of amount over order_line is 150,000``."""
    names = [
        words(inner.atom.predicate) for inner in literal.body if not isinstance(inner, Comparison)
    ]
    over = _listed(list(dict.fromkeys(names))) or "nothing"
    what = f"the {literal.function}"
    if literal.target is not None:
        what += f" of {words(print_term(literal.target).lstrip('?'))}"
    least = "at least " if literal.recursive else ""
    return f"{what} over {over} is {least}{instance.term(literal.result)}"


def _comparison(
    instance: Instance, literal: Comparison, compared: set[int], *, holds: bool = True
) -> str:
    if pattern_sides(literal) is not None:
        return _form(instance, literal, compared, holds=holds)
    left, right = (_side(instance, side, compared) for side in (literal.left, literal.right))
    shown = instance.term(literal.left)
    if _is_lower_bound(instance, literal.left):
        shown = f"at least {shown}"
    subject = f"{left} is {shown}" if left else shown
    other = instance.term(literal.right)
    spoken = dict(_OPERATOR_WORDS).get(literal.operator)
    target = f"the {right} {other}" if right else other
    if spoken is None:
        said = _text_comparison(subject, literal.operator, target, joined=bool(left))
        return said if holds else f"it is not so that {said}"
    opposite = "" if shown.startswith("at least ") else _OPPOSITES.get(literal.operator, "")
    spoken = spoken if holds else opposite or f"not {spoken}"
    return f"{subject}, {spoken} {target}" if left else f"{subject} is {spoken} {target}"


def _form(instance: Instance, literal: Comparison, compared: set[int], *, holds: bool) -> str:
    """Say which form a structure has: `e is $Add(1, 2), of the form $Add(?l, ?r)`."""
    sides = pattern_sides(literal)
    if sides is None:
        raise TypeError(literal)
    structure, pattern = sides
    form = print_term(pattern if holds else instance.wanted(structure, pattern))
    shown, negated = instance.term(structure), "" if holds else "not "
    subject = _side(instance, structure, compared) if _is_named(instance, structure) else ""
    if subject:
        return f"{subject} is {shown}, {negated}of the form {form}"
    return f"{shown} is {negated}of the form {form}"


def _is_named(instance: Instance, term: Term) -> bool:
    """Tell whether a variable is more than the name that analysis gave to a part of a pattern."""
    patterns = [
        sides[1]
        for one in as_written(instance.rule.body)
        if isinstance(one, Comparison) and (sides := pattern_sides(one)) is not None
    ]
    return not any(term in pattern.arguments for pattern in patterns)


def _is_lower_bound(instance: Instance, side: Term) -> bool:
    """Tell whether the value of a variable is what some rows reach, and may be more."""
    return any(
        isinstance(literal, Aggregate) and literal.recursive and literal.result == side
        for literal in instance.rule.body
    )


def describe_comparison(instance: Instance, literal: Comparison) -> str:
    """Say that a comparison holds, with its values."""
    return _comparison(instance, literal, set())


def demand_comparison(instance: Instance, literal: Comparison) -> str:
    """Say what a comparison asks of what nobody knows: ``the contract value of C009 is more than``.

    Empty where both sides are known.
    """
    sides = (literal.left, literal.right)
    if all(instance.slot(side) is not OPEN for side in sides):
        return ""
    left, right = (_demanded(instance, side) for side in sides)
    spoken = dict(_OPERATOR_WORDS).get(literal.operator)
    if spoken is None:
        return _text_comparison(left, literal.operator, right, joined=False)
    return f"{left} is {spoken} {right}"


def _demanded(instance: Instance, side: Term) -> str:
    if isinstance(side, Variable):
        name = _side(instance, side, set())
        known = instance.slot(side) is not OPEN
        return f"the {name} {instance.term(side)}" if known else f"the {name}"
    return instance.term(side)


def refute_comparison(instance: Instance, literal: Literal) -> str:
    """Say that a comparison does not hold, with its values; empty for other literals.

    The rule's ``@[says_not]`` says it, where every value that it names is known.
    """
    if not isinstance(literal, Comparison):
        return ""
    template = instance.speech.template(instance.rule.attributes, "says_not")
    if template and instance.knows(_PLACEHOLDER.findall(template)):
        return fill(template, instance.shown())
    return _comparison(instance, literal, set(), holds=False)


def _text_comparison(subject: str, operator: str, target: str, *, joined: bool) -> str:
    link = ", which" if joined else ""
    match operator:
        case "contains":
            return f"{subject}{link} is contained in {target}"
        case "!contains":
            return f"{subject}{link} is not contained in {target}"
        case "match":
            return f"{subject}{link} is a pattern that matches {target}"
        case _:
            return f"{subject}{link} is a pattern that does not match {target}"


def _side(instance: Instance, side: Term, compared: set[int]) -> str:
    """Say where the value of a variable comes from: ``revenue of C001``; empty for constants."""
    if not isinstance(side, Variable):
        return ""
    for literal in instance.rule.body:
        match literal:
            case Positive(atom):
                found = _source(instance, atom, side.name)
                if found:
                    compared.add(id(literal))
                    return found
            case Aggregate(result=result) if result.name == side.name:
                compared.add(id(literal))
                return _aggregate_name(literal)
            case _:
                pass
    return words(side.name.strip("_"))


def _aggregate_name(literal: Aggregate) -> str:
    target = (
        "" if literal.target is None else f" of {words(print_term(literal.target).lstrip('?'))}"
    )
    return f"{literal.function}{target}"


def _naming(instance: Instance, atom: Atom, place: int) -> list[int]:
    """Return the columns that say of which row a value is.

    Those of the key where one is declared, else those that the head or another atom names too.
    """
    predicate = instance.predicates[atom.predicate]
    others = [at for at in range(predicate.arity) if at != place and at not in predicate.unread]
    key = [at for at in others if at in predicate.key]
    if key or len(others) < 2:  # noqa: PLR2004  one names it
        return key or others
    atoms = [one.atom for one in instance.rule.body if isinstance(one, Positive | Negative)]
    beside = [one for one in (instance.rule.head, *atoms) if one is not atom]
    names = {term for one in beside for term in one.terms if isinstance(term, Variable)}
    joined = [at for at in others if atom.terms[at] in names]
    return joined or others


def _source(instance: Instance, atom: Atom, name: str) -> str:
    places = [
        at for at, term in enumerate(atom.terms) if isinstance(term, Variable) and term.name == name
    ]
    if len(places) != 1:
        return ""
    predicate = instance.predicates[atom.predicate]
    naming = _naming(instance, atom, places[0])
    others = [instance.term(atom.terms[at]) for at in naming]
    subject = words(predicate.name)
    if (
        predicate.arity > len(naming) + 1
        or len(others) > 1
        or value_column(predicate)
        not in {
            places[0],
            None,
        }
    ):
        subject = f"{words(predicate.columns[places[0]].name)} in {subject}"
    return f"{subject.removesuffix(' of')} of {_listed(others)}" if others else subject
