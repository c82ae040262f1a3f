"""What stands in a rule's way: a literal that fails under a binding, in values and words."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, assert_never

from constat.frozen import frozen
from constat.logic import (
    OPEN,
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    Negative,
    NullCell,
    Positive,
    Variable,
)
from constat.logic.functors import days_between
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    is_hole,
    opened,
)
from constat.proof.sentences import (
    PLAIN,
    Instance,
    describe_fact,
    describe_pattern,
    refute_comparison,
    say_below,
    say_beyond,
    say_folded,
    say_there,
    show_value,
)
from constat.proof.written import original_literal, original_row, written_body
from constat.syntax import print_literal, print_row, print_stated, print_term

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.logic import Atom, Literal, OpenRow, Predicate, Slot, Term, Value
    from constat.proof.instances import (
        AtomCode,
        Binding,
        Cell,
        LiteralCode,
        Pattern,
        RuleCode,
        ThresholdCode,
    )
    from constat.proof.sentences import Speech
    from constat.proof.slices import Slice

# The gap lies between 0 (any change turns it) and 1 (nothing is known to be near), and among
# comparisons of one kind with one threshold the nearer value has the smaller gap.
# Numbers: the difference, and its share of both magnitudes.  Dates: days, times: seconds, each as
# a share of itself and a year.  Texts that should be equal: the edits that would make them so
# (Levenshtein, 1966), as a share of the longer one; other comparisons of texts have no distance.

FARTHEST: Final = Fraction(1)
_YEAR_DAYS: Final = 365
_DAY: Final = 86_400
_LONGEST_TEXT: Final = 64
_OF_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "contains": "contains",
        "!contains": "does not contain",
        "match": "matches",
        "!match": "does not match",
    }
)


@frozen
class Distance:
    """A distance in words, empty where there is none, and its gap."""

    text: str
    gap: Fraction


def distance(
    operator: str, left: Value, right: Value, kind: Kind, speech: Speech = PLAIN
) -> Distance:
    """Measure how far a comparison that fails is from holding."""
    if operator == "!=":
        # Equal values: whatever changes, changes it.
        return Distance("", Fraction(0))
    if kind.numeric:
        return _of_numbers(left, right, kind, speech)
    if kind is Kind.DATE:
        return _of_days(abs(days_between(str(left), str(right))), speech)
    if kind is Kind.TIMESTAMP:
        return _of_seconds(abs(_moment(str(left)) - _moment(str(right))), speech)
    if kind is Kind.SYMBOL and operator == "=":
        return _of_texts(str(left), str(right))
    return Distance("", FARTHEST)


def _of_numbers(left: Value, right: Value, kind: Kind, speech: Speech) -> Distance:
    one, other = Fraction(left), Fraction(right)
    off = abs(one - other)
    whole = abs(one) + abs(other)
    shown: Value = abs(left - right)  # type: ignore[operator]  # numbers of one kind
    return Distance(show_value(shown, kind, "", speech), off / whole if whole else Fraction(0))


def _of_days(days: int, speech: Speech) -> Distance:
    return Distance(speech.counted(days, "day"), Fraction(days, days + _YEAR_DAYS))


def _of_seconds(microseconds: int, speech: Speech) -> Distance:
    whole = Fraction(microseconds, 1_000_000)
    seconds = microseconds // 1_000_000
    if seconds >= 2 * _DAY:
        text = speech.counted(seconds // _DAY, "day")
    else:
        text = speech.counted(seconds, "second")
    return Distance(text, whole / (whole + _YEAR_DAYS * _DAY))


def _moment(text: str) -> int:
    moment = datetime.fromisoformat(text)
    since = moment - datetime.fromisoformat("0001-01-01T00:00:00Z")
    return (since.days * _DAY + since.seconds) * 1_000_000 + since.microseconds


def _of_texts(left: str, right: str) -> Distance:
    if max(len(left), len(right)) > _LONGEST_TEXT:
        return Distance("", FARTHEST)
    edits = _edits(left, right)
    text = f"{edits} edit" + ("" if edits == 1 else "s")
    return Distance(text, Fraction(edits, max(len(left), len(right), 1)))


def _edits(left: str, right: str) -> int:
    """Count the single letters to insert, delete or replace."""
    row = list(range(len(right) + 1))
    for done, letter in enumerate(left, start=1):
        before, row[0] = row[0], done
        for place, other in enumerate(right, start=1):
            before, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, before + (letter != other)),
            )
    return row[-1]


# Nothing else changes, so what it says for the binding is what the rule says.


def substituted(literal: Literal, values: Mapping[str, Constant]) -> Literal:
    """Put values in the place of variables; others stay."""
    match literal:
        case Positive(atom):
            return Positive(_atom(atom, values))
        case Negative(atom):
            return Negative(_atom(atom, values))
        case Comparison(left=left, right=right):
            return replace(literal, left=_term(left, values), right=_term(right, values))
        case Aggregate(target=target, body=body):
            inner = tuple(substituted(one, values) for one in body)
            folded = None if target is None else _term(target, values)
            return replace(literal, target=folded, body=inner)  # type: ignore[arg-type]
        case _:
            assert_never(literal)


def _atom(atom: Atom, values: Mapping[str, Constant]) -> Atom:
    return replace(atom, terms=tuple(_term(term, values) for term in atom.terms))


def _term(term: Term, values: Mapping[str, Constant]) -> Term:
    match term:
        case Variable(name=name):
            return values.get(name, term)
        case Apply(arguments=arguments):
            # As deep as the parser allows a term to be nested.
            return replace(term, arguments=tuple(_term(one, values) for one in arguments))
        case _:
            return term


# Nothing is said that the recorded answers do not give.

MOST_NEAR = 3
_MOST_IN_ORDER: Final = 6
"""With more columns a row that lacks values is written by name."""


@frozen
class Obstacle:
    """A literal that fails.

    ``place`` is its place in the rule's body, ``number`` that of its literal in the rule's text,
    where what takes a structure apart is one; ``kind`` is ``comparison``, ``lacking`` (a row that
    is not there), ``present`` (a row that must not be there), ``aggregate`` or ``threshold``.
    ``claim`` is the literal with its values.  ``gap`` ranks: 0 is nearest to holding, 1 farthest.
    ``atom`` is the predicate and the shape of the row that is lacking or present.  ``misshapen``
    says that a structure has another constructor, so that the rule is not about it.
    """

    place: int
    kind: str
    literal: str
    claim: str
    actual: str = ""
    required: str = ""
    distance: str = ""
    sentence: str = ""
    gap: Fraction = FARTHEST
    atom: tuple[str, OpenRow] | None = None
    number: int = 0
    misshapen: bool = False


class Describing:
    """Describes the literals of one rule."""

    def __init__(self, walker: Slice, code: RuleCode) -> None:
        self.walker = walker
        self.program = walker.program
        self.code = code
        self.rule = self.program.rules[code.number]
        self.predicates = self.program.program.predicates
        self.written = written_body(self.rule.body)
        self.number_at = {
            place: number for number, one in enumerate(self.written) for place in one.places
        }

    def instance(self, binding: Binding) -> Instance:
        """Return the rule with the values of a binding; ⋆ stays, holes are left out."""
        kinds = dict(zip(self.code.names, self.code.kinds, strict=True))
        return Instance(self.rule, self.values(binding), kinds, self.predicates, self.walker.speech)

    def values(self, binding: Binding) -> dict[str, Slot]:
        """Return what is bound, by variable."""
        return {
            name: cell  # type: ignore[misc]  # holes but ⋆ are left out
            for name, cell in zip(self.code.names, binding, strict=True)
            if cell is OPEN or not is_hole(cell)
        }

    def text(self, code: LiteralCode) -> str:
        """Return a literal as the rule has it."""
        literal = self.literal(self.code.body.index(code))
        return print_literal(original_literal(self.program, literal), self.predicates)

    def literal(self, place: int) -> Literal:
        """Return the literal of the text that a place of the body belongs to."""
        return self.written[self.number_at[place]].literal

    def held(self, places: tuple[int, ...]) -> list[int]:
        """Return the first places of literals of the text all of whose places are given."""
        met = dict.fromkeys(self.number_at[place] for place in places)
        whole = (self.written[number].places for number in met)
        return [one[0] for one in whole if set(one) <= set(places)]

    def is_misshapen(self, place: int, binding: Binding) -> bool:
        """Tell whether a place is about a structure that has not the constructor of its pattern."""
        one = self.written[self.number_at[place]]
        guard = self.code.body[one.places[0]]
        return one.opened and isinstance(guard, ComparisonCode) and guard.truth(binding) is not True

    def is_idle(self, place: int, binding: Binding) -> bool:
        """Tell whether a place asks for a field of a structure that has another constructor."""
        is_field = self.written[self.number_at[place]].places[0] != place
        return is_field and self.is_misshapen(place, binding)

    def claim(self, place: int, binding: Binding) -> str:
        """Return a literal with its values."""
        kinds = dict(zip(self.code.names, self.code.kinds, strict=True))
        values = {
            name: Constant(value, kinds[name])
            for name, value in self.values(binding).items()
            if value is not OPEN and not isinstance(value, NullCell)
        }
        literal = original_literal(self.program, substituted(self.literal(place), values))
        text = print_literal(literal, self.predicates)
        if isinstance(literal, Aggregate) and literal.result.name in values:
            # The result of an aggregate is a variable in the tree, and may be a value in a text.
            shown = print_term(values[literal.result.name])
            return shown + text.removeprefix(print_term(literal.result))
        return text

    def head(self, binding: Binding) -> str:
        """Return the conclusion of the rule with its values."""
        declared = self.predicates[self.rule.head.predicate]
        return print_row(declared, opened(self.code.head.pattern(binding)))

    def is_configured(self, predicate: str) -> bool:
        """Tell whether the configuration lists a predicate's rows."""
        source = self.predicates[predicate].source
        return source is not None and source.name == "config"

    def gap(self, place: int, binding: Binding) -> Fraction:
        """Return how near a literal that fails is to holding, without describing it."""
        code = self.code.body[place]
        if not isinstance(code, ComparisonCode) or self.is_misshapen(place, binding):
            return FARTHEST
        left, right = code.left.evaluate(binding), code.right.evaluate(binding)
        if is_hole(left) or is_hole(right):
            return FARTHEST
        return _distance(code.operator, left, right, code.left.kind).gap

    def obstacle(self, place: int, binding: Binding) -> Obstacle:
        """Describe a literal that fails."""
        literal, code = self.literal(place), self.code.body[place]
        number, claim = self.number_at[place], self.claim(place, binding)
        text = print_literal(literal, self.predicates)
        found = Obstacle(place, "comparison", text, claim, number=number)
        match code:
            case ComparisonCode() if self.written[number].opened:
                return self.unlike(found, code, literal, binding)
            case ComparisonCode():
                return self.compared(found, code, binding, literal)
            case AggregateCode():
                return self.aggregated(replace(found, kind="aggregate"), code, binding)
            case PositiveCode(atom):
                return self.lacking(replace(found, kind="lacking"), atom, binding)
            case NegativeCode(atom):
                present = replace(found, kind="present", literal=self.text(code))
                return self.present(present, atom, binding)
            case _:
                assert_never(code)

    def unlike(
        self, found: Obstacle, code: ComparisonCode, literal: Literal, binding: Binding
    ) -> Obstacle:
        """Say which constructor a structure has, or which of its fields is another."""
        left, right = code.left.evaluate(binding), code.right.evaluate(binding)
        if is_hole(left) or is_hole(right) or not isinstance(literal, Comparison):
            return found
        said = replace(found, sentence=refute_comparison(self.instance(binding), literal))
        if self.is_misshapen(found.place, binding):
            wanted = f"= {print_term(literal.right)}"
            return replace(said, actual=str(left), required=wanted, misshapen=True)
        # A field stands on the right, what it has to be on the left.
        kind = code.left.kind
        off = _distance("=", right, left, kind)
        return replace(
            said,
            actual=_shown(right, kind),
            required=f"= {_shown(left, kind)}",
            distance=off.text,
            gap=off.gap,
        )

    def compared(
        self, found: Obstacle, code: ComparisonCode, binding: Binding, literal: Literal
    ) -> Obstacle:
        """Say what the two sides are."""
        left, right = code.left.evaluate(binding), code.right.evaluate(binding)
        if is_hole(left) or is_hole(right):
            return found
        kind = code.left.kind
        off = _distance(code.operator, left, right, kind)
        # Of texts the right one is looked at, and the left one is what it has to have.
        words = _OF_TEXTS.get(code.operator)
        actual, wanted = (left, right) if words is None else (right, left)
        return replace(
            found,
            actual=_shown(actual, kind),
            required=f"{words or code.operator} {_shown(wanted, kind)}",
            sentence=refute_comparison(self.instance(binding), literal),
            distance=off.text,
            gap=off.gap,
        )

    def aggregated(self, found: Obstacle, code: AggregateCode, binding: Binding) -> Obstacle:
        """Say what an aggregate comes to."""
        if code.threshold is not None:
            return self.below(found, code, code.threshold, binding)
        exact = self.walker.aggregates.exact(self.code, found.place, code, binding)
        if exact.value is None:
            sentence = say_folded(code.function, None, self.walker.speech)
            return replace(found, actual="no rows", sentence=sentence)
        kind, wanted = self.code.kinds[code.result], binding[code.result]
        bound = self.walker.aggregates.ruled_out(self.code, binding)
        if bound is not None and bound[0] == found.place:
            speech = self.walker.speech
            actual = say_beyond(code.function, _shown(bound[1], kind), speech)
            said = replace(found, actual=actual, sentence=say_folded(code.function, actual, speech))
            return said if is_hole(wanted) else replace(said, required=f"= {_shown(wanted, kind)}")
        actual = _shown(exact.value, kind)
        sentence = say_folded(code.function, actual, self.walker.speech)
        said = replace(found, actual=actual, sentence=sentence)
        if is_hole(wanted) or is_hole(exact.value):
            return said
        off = _distance("=", exact.value, wanted, kind)
        required = f"= {_shown(wanted, kind)}"
        return replace(said, required=required, distance=off.text, gap=off.gap)

    def below(
        self, found: Obstacle, code: AggregateCode, threshold: ThresholdCode, binding: Binding
    ) -> Obstacle:
        """Say how far a recursive total stays from its bound."""
        kind = self.code.kinds[code.result]
        top = self.walker.growth.top(self.code, found.place, code, binding)
        bound = threshold.bound.evaluate(binding)
        if top.total is None or is_hole(bound):
            return found
        total, least = _shown(top.total, kind), _shown(bound, kind)
        off = _distance(threshold.operator, top.total, bound, kind)
        speech = self.walker.speech
        sums = [speech.value(one, kind) for one in (top.total, bound)]  # type: ignore[arg-type]  # no holes
        return replace(
            found,
            kind="threshold",
            claim=f"{found.claim}, {self.claim(threshold.place, binding)}",
            literal=print_literal(self.rule.body[threshold.place], self.predicates),
            actual=total,
            required=f"{threshold.operator} {least}",
            sentence=say_below(code.function, sums[0], threshold.operator, sums[1], speech),
            distance=off.text,
            gap=off.gap,
        )

    def lacking(self, found: Obstacle, atom: AtomCode, binding: Binding) -> Obstacle:
        """Say which row is not there, and which rows are near it."""
        declared = self.predicates[atom.predicate]
        pattern = atom.pattern(binding)
        unbound = [slot for slot, cell in zip(atom.slots, pattern, strict=True) if is_hole(cell)]
        if len(unbound) != len(set(unbound)):
            # Rows of its shape may be there: only none with two equal values.
            sentence = say_there(found.claim, self.walker.speech, holds=False)
            return replace(found, required=found.claim, sentence=sentence)
        shape = atom.shape(pattern)
        wanted = _lacking_row(declared, shape)
        near = self.near(atom.predicate, pattern)
        return replace(
            found,
            required=wanted,
            sentence=describe_pattern(declared, shape, holds=False, speech=self.walker.speech),
            actual=", ".join(print_row(declared, row) for row in near[:MOST_NEAR])
            + (f" and {len(near) - MOST_NEAR:,} more" if len(near) > MOST_NEAR else ""),
            atom=(atom.predicate, opened(pattern)),
        )

    def near(self, predicate: str, pattern: Pattern) -> list[OpenRow]:
        """Return recorded rows that differ from the pattern in its last bound column only."""
        bound = [place for place, cell in enumerate(pattern) if not is_hole(cell)]
        if len(bound) < 2 or predicate not in self.program.external:  # noqa: PLR2004  one to differ
            return []
        columns = tuple(bound[:-1])
        key = tuple([pattern[column] for column in columns])
        rows = self.walker.outside.side(predicate).rows.matching(columns, key)  # type: ignore[arg-type]
        return [row for row in rows if OPEN not in row]

    def present(self, found: Obstacle, atom: AtomCode, binding: Binding) -> Obstacle:
        """Say which row is there and must not be."""
        asked = opened(atom.pattern(binding))
        name, row = original_row(self.program, atom.predicate, asked)
        declared = self.predicates[name]
        shown = _lacking_row(declared, row)
        if OPEN not in row:
            sentence = describe_fact(declared, row, self.walker.speech)
        elif OPEN not in asked and "says" in declared.attributes:
            # The sentence of "some row of p".
            sentence = describe_fact(self.predicates[atom.predicate], asked, self.walker.speech)
        else:
            sentence = say_there(shown, self.walker.speech)
        return replace(
            found,
            actual=shown,
            required=f"no {shown}",
            sentence=sentence,
            atom=(name, row),
        )


def _lacking_row(declared: Predicate, shape: OpenRow) -> str:
    """Write a row that is not there; of a wide one what is asked for, by name."""
    known = sum(slot is not OPEN for slot in shape)
    if len(shape) > _MOST_IN_ORDER and 0 < known < len(shape):
        return print_stated(declared, [None if slot is OPEN else slot for slot in shape])
    return print_row(declared, shape)


def _shown(cell: Cell, kind: Kind) -> str:
    return show_value(cell, kind)  # type: ignore[arg-type]  # callers have looked for holes


def _distance(operator: str, left: Cell, right: Cell, kind: Kind) -> Distance:
    return distance(operator, left, right, kind)  # type: ignore[arg-type]  # no holes
