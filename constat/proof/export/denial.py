"""Why a goal does not hold, as the rows of a certificate say it: from the goal to what decides it.

In: a document and its look-ups.  Out: conclusions that are not there, the goal first, each with how
far its rules get, what stops them, and the conclusions that these lack; and the reason codes of
what fails, in order.  Invariants: nothing is asked, so what it says was known when the certificate
was written, and the same certificate gives the same reasons; each conclusion stands once.

Example: of ``is_vip(C002)``: rule VIP1 stops at ``?total > ?threshold``, 100,000 being no more than
100,000; rule VIP2 lacks ``customer_tier(C002, gold)``.
"""

from __future__ import annotations

from dataclasses import field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis.attributes import NO_REASON, reason_codes
from constat.frozen import frozen
from constat.logic import OPEN, NullCell, Spoken
from constat.proof.decoding import decode_row
from constat.proof.export.document import shortened
from constat.proof.export.lookups import ELSEWHERE, Attempting, orders_of
from constat.proof.instances import ComparisonCode, PositiveCode, is_hole
from constat.proof.obstacles import FARTHEST, distance
from constat.proof.render import printable
from constat.proof.sentences import PLAIN, deny_fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.logic import OpenRow
    from constat.proof.export.document import Document
    from constat.proof.export.lookups import Lookups
    from constat.proof.sentences import Speech
    from constat.proof.whynot import Attempt

ATTEMPTED: Final = MappingProxyType(
    {
        "failed": Spoken("does not give it", "ergibt es nicht"),
        "open": Spoken(
            "may give it, but something is unknown", "kann es ergeben, doch etwas ist unbekannt"
        ),
        "not tried": Spoken(
            "was not followed: too many possibilities",
            "wurde nicht verfolgt: zu viele Möglichkeiten",
        ),
    }
)
"""What became of a rule that was tried for a row, by the state of the attempt."""
MOST_REASONS: Final = 4
"""How many principal reasons a notice gives."""
_MOST_CONCLUSIONS: Final = 40
_MOST_BELOW_ABSENCE: Final = 6
_MOST_KEYS: Final = 8

Shape = tuple[str, "OpenRow"]


def became(document: Document, attempt: Attempt) -> str:
    """Name what became of a rule: none gives what is disproved, though a bound leaves it open."""
    disproved = document.header["verdict"].startswith("DISPROVED")
    return "failed" if disproved and attempt.state == "open" else attempt.state


@frozen
class Reason:
    """A reason code, the sentence of what fails, the rule; ``gap`` is 0 for what is nearest.

    ``says`` is what the rule says of the code, `@[reason(R01 = ...)]`; empty where it says nothing.
    """

    code: str
    rule: str
    sentence: str
    gap: Fraction
    actual: str = ""
    required: str = ""
    distance: str = ""
    says: str = ""

    @property
    def text(self) -> str:
        """The whole reason: what the code says, and what fails."""
        return f"{self.says}: {self.sentence}" if self.says else self.sentence


@frozen
class Path:
    """A rule of a conclusion: how far it gets, the conclusion below what stops it, its reasons.

    ``veiled`` are reasons of which a view does not tell whether they are some; ``lacks`` are the
    sentences of all that fails, each with the operator and how far it is off where it compares;
    ``values`` are those of the rule's variables as far as it gets, as people read them.
    """

    attempt: Attempt
    below: int | None
    reasons: tuple[Reason, ...]
    veiled: tuple[Reason, ...] = ()
    lacks: tuple[tuple[str, str, str], ...] = ()
    values: Mapping[str, str] = field(default_factory=dict, hash=False)


@frozen
class Conclusion:
    """Something that is not there, in words, and the ways to it."""

    sentence: str
    paths: tuple[Path, ...]


def denied(document: Document, lookups: Lookups) -> tuple[Conclusion, ...]:
    """Return the conclusions that are not there, the goal first."""
    name, pattern = document.header["goal"]
    row = decode_row(pattern, document.program.program.predicates[name].kinds)
    return tuple(_Walk(document, lookups).run((name, row)))


def absent(document: Document, lookups: Lookups, name: str, row: OpenRow) -> tuple[Conclusion, ...]:
    """Return why a conclusion is not there on which an answer rests: it first, then those below."""
    return tuple(_Walk(document, lookups, _MOST_BELOW_ABSENCE).run((name, row)))


def followed(document: Document, lookups: Lookups, number: int) -> Path | None:
    """Return what a rule binds for the first key that was followed and that it gives a row for.

    Without one, how far it gets for the first key.
    """
    name = document.program.rules[number].head.predicate
    kinds = document.program.program.predicates[name].kinds
    order = orders_of(document).get(number)
    found: Path | None = None
    for entry in document.members["closure"]["entries"]:
        columns = tuple(entry["columns"])
        keys = entry["keys"][:_MOST_KEYS] if entry["predicate"] == name else ()
        for key in keys:
            known = decode_row(key, [kinds[column] for column in columns])
            one = Attempting(document, lookups, number)
            try:
                attempt = one.run(order, columns, known)  # type: ignore[arg-type]  # ground
            except ValueError:
                continue
            path = Path(attempt, None, (), values=one.shown())
            if path.values and attempt.state == "open":
                return path
            found = found or (path if path.values else None)
    return found


class _Walk:
    """Goes from the goal down, in the order in which conclusions are met."""

    def __init__(self, document: Document, lookups: Lookups, most: int = _MOST_CONCLUSIONS) -> None:
        self.document = document
        self.most = most
        self.lookups = lookups
        self.orders = orders_of(document)
        self.numbers: dict[Shape, int] = {}
        self.waiting: list[Shape] = []

    def run(self, goal: Shape) -> Iterator[Conclusion]:
        self.number(goal)
        while self.waiting:
            shape = self.waiting.pop(0)
            yield self.conclusion(shape)

    def number(self, shape: Shape) -> int | None:
        """Return the place of a conclusion; ``None`` where there are too many."""
        if shape not in self.numbers:
            if len(self.numbers) >= self.most:
                return None
            self.numbers[shape] = len(self.numbers)
            self.waiting.append(shape)
        return self.numbers[shape]

    def conclusion(self, shape: Shape) -> Conclusion:
        name, row = shape
        declared = self.document.program.program.predicates[name]
        columns = tuple(place for place, cell in enumerate(row) if cell is not OPEN)
        key = tuple(row[column] for column in columns)
        paths = []
        for number in self.document.program.rule_numbers(name):
            one = Attempting(self.document, self.lookups, number)
            try:
                attempt = one.run(self.orders.get(number), columns, key)  # type: ignore[arg-type]  # ground
            except ValueError:
                paths.append(Path(one.made("not tried", 0), None, ()))
                continue
            failing = list(one.failing())
            below = self.below(one, failing[0]) if failing else None
            reasons = tuple(self.reasons(one, attempt, failing))
            veiled = tuple(self.reasons(one, attempt, list(one.veiled())))
            lacks = [attempt if place == one.stop else one.told(place) for place in failing]
            said = dict.fromkeys(
                (told.sentence, told.required.partition(" ")[0], told.distance) for told in lacks
            )
            told = tuple(one for one in said if one[0])
            paths.append(Path(attempt, below, reasons, veiled, told, one.shown()))
        denied_so = deny_fact(declared, row, self.document.speech)
        return Conclusion(shortened(denied_so), tuple(paths))

    def below(self, one: Attempting, place: int) -> int | None:
        """Return the conclusion that a rule lacks at a literal, where rules could give it."""
        code = one.code.body[place]
        if not isinstance(code, PositiveCode):
            return None
        atom = code.atom
        if atom.predicate in self.document.program.external:
            return None
        pattern = atom.pattern(one.stop_binding)
        if not self.document.is_closed(atom.predicate, self.lookups.texts(atom.predicate, pattern)):
            return None
        row = tuple(OPEN if is_hole(cell) else cell for cell in pattern)
        return self.number((atom.predicate, row))  # type: ignore[arg-type]  # no hole is left

    def reasons(self, one: Attempting, attempt: Attempt, failing: list[int]) -> Iterator[Reason]:
        codes = reason_codes(one.rule.attributes)
        for place in failing:
            number = next(n for n, part in enumerate(one.written) if place in part.places)
            first = one.written[number].places[0]
            code = codes[first] if first < len(codes) else NO_REASON
            if code == NO_REASON:
                continue
            told = attempt if place == one.stop else one.told(place)
            gap = _gap(one, place)
            yield Reason(
                code,
                told.rule,
                told.sentence,
                gap,
                told.actual,
                told.required,
                told.distance,
                printable(self.document.speech.reason(one.rule.attributes, code)),
            )


def _gap(one: Attempting, place: int) -> Fraction:
    code = one.code.body[place]
    if not isinstance(code, ComparisonCode):
        return FARTHEST
    left = code.left.evaluate(one.stop_binding)
    right = code.right.evaluate(one.stop_binding)
    if any(is_hole(side) or isinstance(side, NullCell) for side in (left, right)):
        return FARTHEST
    return distance(code.operator, left, right, code.left.kind).gap  # type: ignore[arg-type]  # no holes


def reasons_of(conclusions: tuple[Conclusion, ...]) -> tuple[Reason, ...]:
    """Rank all reasons: the nearest to holding first, ties as rules and bodies stand; codes once.

    A literal that lacks a conclusion is as near as the nearest that stops this one.
    """
    nearest = [_nearest(conclusions, place) for place in range(len(conclusions))]
    found = [
        replace(reason, gap=min(reason.gap, _below(path, nearest)))
        for conclusion in conclusions
        for path in conclusion.paths
        for reason in path.reasons
    ]
    first: dict[str, Reason] = {}
    for one in sorted(found, key=lambda one: one.gap):
        first.setdefault(one.code, one)
    return tuple(first.values())


def veiled_of(conclusions: tuple[Conclusion, ...]) -> tuple[Reason, ...]:
    """Return the reasons of which a view does not tell whether they are some, codes once."""
    known = {one.code for one in reasons_of(conclusions)}
    found = {
        one.code: one
        for conclusion in conclusions
        for path in conclusion.paths
        for one in path.veiled
        if one.code not in known
    }
    return tuple(found.values())


_OR: Final = Spoken(" or ", " oder ")
_ONE_VEILED: Final = Spoken("Whether {0} is a reason, too", "Ob auch {0} ein Grund ist")
_MORE_VEILED: Final = Spoken("Whether {0} are reasons, too", "Ob auch {0} Gründe sind")
_VEILED: Final = Spoken(
    "{0}, this copy does not tell: it hides values that are compared there. The reasons above may "
    "so not be the principal ones; the whole certificate tells them.",
    "{0}, sagt diese Abschrift nicht: sie verbirgt Werte, die dort verglichen werden. Die Gründe "
    "oben sind darum vielleicht nicht die Hauptgründe; die ganze Bescheinigung nennt sie.",
)


def of_veiled(found: tuple[Reason, ...], speech: Speech = PLAIN) -> str:
    """Say that a copy hides whether something is a reason; empty where it hides nothing of it."""
    if not found:
        return ""
    named = speech.said(_OR).join(f"{one.says or one.rule} ({one.code})" for one in found)
    return speech.said(_VEILED, speech.said(_MORE_VEILED if found[1:] else _ONE_VEILED, named))


def decisive(conclusions: tuple[Conclusion, ...]) -> tuple[str, ...]:
    """Return the sentences at which the ways to the goal end, each way followed once."""
    found: dict[str, None] = {}
    waiting, met = [0] if conclusions else [], {0}
    while waiting:
        for path in conclusions[waiting.pop(0)].paths:
            below = path.below
            if below is not None and conclusions[below].paths:
                waiting += [] if below in met else [below]
                met.add(below)
            elif path.attempt.state == "failed" and path.attempt.sentence:
                found[path.attempt.sentence] = None
    # That a rule is about something else decides nothing where another one comes nearer.
    nearer = tuple(one for one in found if one != ELSEWHERE)
    return nearer or tuple(found)


def _below(path: Path, nearest: list[Fraction]) -> Fraction:
    return FARTHEST if path.below is None else nearest[path.below]


def _nearest(conclusions: tuple[Conclusion, ...], place: int) -> Fraction:
    waiting, seen, found = [place], {place}, [FARTHEST]
    while waiting:
        for path in conclusions[waiting.pop()].paths:
            found += [reason.gap for reason in path.reasons[:1] if path.below is None]
            if path.below is not None and path.below not in seen:
                seen.add(path.below)
                waiting.append(path.below)
    return min(found)
