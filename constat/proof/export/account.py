"""A certificate in the order people read it: the one account that reports and drawings share.

In: the bytes of a certificate.  Out: an ``Account``: the question, the answer, the steps numbered
from the answers down, what each comparison said, and for a goal without an answer how far its rules
get.  Invariant: every step has one number, a step that rests on others is numbered before those
that are met through it, and all texts are printable and not endless.

Example: of ``is_vip(C001)`` step 1 is "C001 is a VIP", and the steps below it are 2, 3 and so on.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.frozen import frozen
from constat.logic import (
    OPEN,
    UNREAD_CELL,
    Aggregate,
    Comparison,
    Kind,
    Negative,
    NullCell,
    NullPolicy,
    Open,
    Positive,
    Spoken,
)
from constat.proof.decoding import NullText, decode_row
from constat.proof.encoding import reachable
from constat.proof.export.denial import (
    Conclusion,
    Reason,
    absent,
    denied,
    reasons_of,
    veiled_of,
)
from constat.proof.export.document import Document, capital, own_words, shortened
from constat.proof.export.lookups import Lookups, TooManyRowsError
from constat.proof.export.steps import (
    ABSENCE,
    AGGREGATE,
    RULE,
    meets,
    steps_of,
    taken_by,
)
from constat.proof.instances import ComparisonCode, is_hole, opened
from constat.proof.missing import is_contested
from constat.proof.obstacles import distance
from constat.proof.render import printable
from constat.proof.sentences import (
    PLAIN,
    Instance,
    RuleWords,
    describe_aggregate,
    describe_comparison,
    describe_fact,
    describe_pattern,
    is_left_out,
    show_value,
    value_column,
    words,
)
from constat.proof.written import as_written, written_body
from constat.syntax import print_wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.logic import OpenRow, Predicate, Rule, Slot
    from constat.proof.export.document import Members, TextFact
    from constat.proof.export.steps import Step
    from constat.proof.instances import Binding
    from constat.proof.sentences import Speech
    from constat.proof.whynot import Attempt

_MOST_ABSENCES: Final = 12
_ORDERINGS: Final = frozenset({"<", "<=", ">", ">="})


@frozen
class Compared:
    """A comparison of a rule as a sentence.

    ``turned`` says which change of the first value turns it: ``50,000 less``; empty if unknown.
    """

    label: str
    sentence: str
    literal: Comparison
    turned: str = ""


@frozen
class Gap:
    """What is missing, as a goal to paste, and why it is not known; ``words`` say the goal."""

    goal: str
    reasons: tuple[str, ...]
    words: str = ""
    contested: bool = False
    """Whether only the source itself can decide it: stating the fact changes nothing."""


@frozen
class Fold:
    """What an aggregate counts and what it leaves out, in words.

    ``counted`` is how many entries count; ``where`` are its conditions; ``left`` are the rows of
    the certificate that are about the same and do not count.
    """

    sentence: str
    counted: int
    where: tuple[str, ...]
    left: tuple[str, ...]


@frozen
class Account:
    """Everything a report says.

    ``order`` lists the steps as people read them and ``numbers`` is its inverse, from 1.  ``roots``
    are the steps that decide the goal; ``others`` are those that only closed sets rest on.
    ``headline`` says the answer without its "yes" or "no".  ``taken`` are the assumptions that each
    step itself rests on.  ``denial`` are the conclusions that are not there, the goal first, where
    it is not proved, and ``reasons`` the reason codes of what fails there, in order.
    """

    document: Document
    steps: tuple[Step, ...]
    roots: tuple[int, ...]
    others: tuple[int, ...]
    order: tuple[int, ...]
    numbers: tuple[int, ...]
    taken: tuple[tuple[int, ...], ...]
    question: str
    answer: str
    headline: str
    attempts: tuple[Attempt, ...]
    gaps: tuple[Gap, ...]
    lookups: Lookups
    denial: tuple[Conclusion, ...] = ()
    reasons: tuple[Reason, ...] = ()
    veiled: tuple[Reason, ...] = ()
    """Reasons of which a view does not tell whether they are some."""
    absences: tuple[tuple[int, tuple[Conclusion, ...]], ...] = ()
    """Steps that say an absence, each with why it is so; see `with_absences`."""

    def node(self, step: Step) -> Members | None:
        """Return the certificate's node of a step; ``None`` for what lies between nodes."""
        place = self.place(step)
        return None if place is None else self.document.nodes[place]

    def place(self, step: Step) -> int | None:
        """Return the index of a step's node."""
        number = step.name.removeprefix("node")
        return int(number) if number.isdecimal() else None

    def rests_on(self) -> list[int]:
        """Return the rules that the verdict rests on, those of what is absent or counted included.

        What holds rests on the rules of its steps and on all below what these exclude or count:
        that nothing else gives it is part of the proof.  Any other verdict rests on every rule.
        """
        rules = self.document.program.rules
        places = list(range(len(rules)))
        if self.document.header["verdict"] == "PROVED":
            used = {step.rule for step in self.steps if step.rule is not None}
            names = {one for place in used for one in _closed_below(rules[place])}
            behind = {one for name in names for one in reachable(self.document.program, name)}
            heads = (rules[place].head.predicate in behind for place in places)
            places = [one for one, head in zip(places, heads, strict=True) if head or one in used]
        return [place for place in places if rules[place].body]

    def bindings(self, step: Step) -> tuple[tuple[str, str], ...]:
        """Return the substitution of a rule step, variable by variable."""
        node = self.node(step)
        if node is None or step.kind != RULE:
            return ()
        instance = self.lookups.instance(node)
        return tuple(
            (
                printable(name),
                shortened(show_value(slot, instance.kinds[name], name, self.document.speech)),
            )
            for name, slot in instance.values.items()
        )

    def folds(self, most: int) -> tuple[Fold, ...]:
        """Say of the first aggregates which rows they leave out; of an answer by its steps."""
        steps = (self.steps[place] for place in self.order)
        folded = (self._fold(step) for step in steps if step.kind == AGGREGATE)
        found = tuple(islice((one for one in folded if one is not None), most))
        if found or self.document.answers():
            return found
        program = self.document.program
        every = (
            self._folded(number, place, binding)
            for number, rule in enumerate(program.rules)
            for place, literal in enumerate(rule.body)
            if isinstance(literal, Aggregate) and not literal.recursive
            for binding in self.lookups.bindings_before(number, place)
        )
        told = dict.fromkeys(islice((one for one in every if one is not None), most))
        return tuple(told)

    def _fold(self, step: Step) -> Fold | None:
        """Say what the aggregate of a step leaves out; nothing of rows that are not listed."""
        number, _, place = step.name.removeprefix("aggregate").partition("_")
        node = self.document.nodes[int(number)]
        literal = self.lookups.instance(node).rule.body[int(place) - 1]
        if not isinstance(literal, Aggregate) or literal.recursive:
            return None
        if step.summary is not None or step.note:
            return None
        return self._folded(node["rule"], int(place) - 1, self.lookups.binding(node))

    def _folded(self, rule: int, place: int, binding: Binding) -> Fold | None:
        """Say what an aggregate counts of a group, and what is about it and not counted."""
        program, code = self.document.program, self.lookups.code(rule)
        literal = program.rules[rule].body[place]
        try:
            exact = self.lookups.counted_of(rule, place, binding)
        except TooManyRowsError:
            return None
        if not isinstance(literal, Aggregate) or exact is None or exact.value is None:
            return None
        if is_hole(exact.value):
            return None
        whole: Binding = list(binding)
        whole[code.names.index(literal.result.name)] = exact.value
        values = dict(zip(code.names, opened(tuple(whole)), strict=True))
        values = {
            name: one
            for (name, one), at in zip(values.items(), whole, strict=True)
            if at is not None
        }
        kinds = dict(zip(code.names, code.kinds, strict=True))
        instance = Instance(
            program.rules[rule], values, kinds, program.program.predicates, self.document.speech
        )
        met = {(name, self.lookups.fact(name, row)) for name, row in exact.read}
        # Of several relations an entry is one of all of them together.
        of = [one.atom.predicate for one in literal.body if isinstance(one, Positive)]
        alone = len(of) == 1
        count = sum(name in of for name, _ in met) if alone else len(exact.assignments)
        left = self.lookups.left_out(rule, place, binding, met)
        return self._told(rule, literal, (describe_aggregate(instance, literal), count), left)

    def _told(
        self, rule: int, literal: Aggregate, said: tuple[str, int], left: Iterable[TextFact]
    ) -> Fold:
        program = self.document.program
        predicates, speech = program.program.predicates, self.document.speech
        told = RuleWords.of(program.rules[rule], predicates, speech)
        where = [*told.joined(literal)]
        where += [one for inner in as_written(literal.body) for one in told.filters(inner)]
        rows = []
        for name, texts in left:
            declared = predicates[name]
            row = decode_row(texts, declared.kinds)
            rows.append(shortened(describe_fact(declared, row, speech)))
        return Fold(*said, tuple(map(shortened, where)), tuple(rows))

    def tests(self, step: Step) -> tuple[Compared, ...]:
        """Say each comparison of a rule step with its values, whatever a template leaves out."""
        node = self.node(step)
        if node is None or step.kind != RULE:
            return ()
        instance = self.lookups.instance(node)
        binding, code = self.lookups.binding(node), self.lookups.code(node["rule"])
        found = []
        for one in written_body(instance.rule.body):
            literal, compiled = one.literal, code.body[one.places[0]]
            if not isinstance(literal, Comparison) or instance.is_told_elsewhere(literal):
                continue
            if isinstance(compiled, ComparisonCode):
                sides = opened((compiled.left.evaluate(binding), compiled.right.evaluate(binding)))
                said = describe_comparison(instance, literal)
                label = instance.speech.said(_KIND_OF[literal.operator in _ORDERINGS])
                turned = _turned(literal.operator, sides, compiled.left.kind, instance.speech)
                found.append(Compared(label, shortened(said), literal, turned))
        return tuple(found)


def _turned(operator: str, sides: OpenRow, kind: Kind, speech: Speech) -> str:
    """Say by which change of its first value a comparison that holds fails."""
    left, right = sides
    # A day in the year 9999 stands for no end.
    odd = any(isinstance(one, Open | NullCell) or _is_endless(one, kind) for one in sides)
    if operator not in _TURNED or odd or not (kind.numeric or kind is Kind.DATE):
        return ""
    apart = distance(operator, left, right, kind, speech)  # type: ignore[arg-type]  # values
    return by_change(_TURNED[operator], apart.text, speech)


def _is_endless(value: object, kind: Kind) -> bool:
    return kind is Kind.DATE and str(value).startswith("9999")


_KIND_OF: Final = (Spoken("Compared", "Verglichen"), Spoken("Threshold", "Schwelle"))
_TURNED: Final = MappingProxyType({"<": ">=", "<=": ">", ">": "<=", ">=": "<"})
"""What holds where an ordering fails."""


def by_change(operator: str, apart: str, speech: Speech = PLAIN) -> str:
    """Say which change of the first value makes a comparison hold: ``more than 50 more``."""
    if operator not in _TURNED or not apart:
        return ""
    one, days = (speech.counted(number, "day").partition(" ")[2] for number in (1, 2))
    dated = apart.endswith((f" {one}", f" {days}"))
    more, less = (_LATER, _EARLIER) if dated else (_MORE_OF, _LESS_OF)
    way = speech.said(more if operator.startswith(">") else less)
    if apart in {"0", f"0 {days}"}:
        return speech.said(_BY_A_DAY if dated else _BY_ANY, way)
    return speech.said(_BY if operator.endswith("=") else _BY_MORE_THAN, apart, way)


def changes_tried(speech: Speech, count: int) -> str:
    """Introduce the changes that were tried when it was decided; they are no part of the proof."""
    each = (
        speech.say("this change", "dieser Änderung")
        if count == 1
        else speech.say("any one of these changes", "jeder dieser Änderungen für sich")
    )
    return speech.say(
        "With {0} the answer would have been yes. Computed by Constat when it was decided, not "
        "proved by this certificate:",
        "Mit {0} wäre die Antwort Ja gewesen. Von Constat bei der Entscheidung berechnet, von "
        "dieser Bescheinigung nicht bewiesen:",
        each,
    )


_LATER: Final = Spoken("later", "später")
_EARLIER: Final = Spoken("earlier", "früher")
_MORE_OF: Final = Spoken("more", "höher")
_LESS_OF: Final = Spoken("less", "niedriger")
_BY_A_DAY: Final = Spoken("a day {0}", "einen Tag {0}")
_BY_ANY: Final = Spoken("any {0}", "etwas {0}")
_BY: Final = Spoken("{0} {1}", "um {0} {1}")
_BY_MORE_THAN: Final = Spoken("more than {0} {1}", "um mehr als {0} {1}")


@contextmanager
def reading_certificate() -> Iterator[None]:
    """Turn what goes wrong where a certificate has another shape into a ``ValueError``."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("this is no certificate: a member has another shape") from None


@reading_certificate()
def account_of(certificate: bytes, speech: Speech = PLAIN) -> Account:
    """Tell a certificate; ``ValueError`` for what is none."""
    document = Document(certificate, speech)
    told = steps_of(document)
    order, others = _reading_order(told.steps, told.answers)
    numbers = [0] * len(order)
    for number, step in enumerate(order, start=1):
        numbers[step] = number
    lookups = Lookups(document)
    predicate, row = goal_of(document)
    decided = bool(document.answers())
    denial = () if decided else denied(document, lookups)
    refused = document.header["verdict"].startswith("DISPROVED")
    return Account(
        document,
        told.steps,
        told.answers,
        others,
        order,
        tuple(numbers),
        taken_by(document, told.steps),
        _question(predicate, row, speech),
        *_answer(document, told.steps, told.answers),
        tuple(path.attempt for one in denial[:1] for path in one.paths),
        _gaps(document),
        lookups,
        denial,
        reasons_of(denial) if refused else (),
        veiled_of(denial) if refused else (),
    )


def with_absences(account: Account) -> Account:
    """Say why conclusions are not there that an answer rests on, of the first few of its steps."""
    document = account.document
    predicates = document.program.program.predicates
    found: dict[int, tuple[Conclusion, ...]] = {}
    for place in account.order:
        step = account.steps[place]
        if step.kind != ABSENCE or not document.program.rule_numbers(step.predicate):
            continue
        row = decode_row(step.row, predicates[step.predicate].kinds)
        found[place] = absent(document, account.lookups, step.predicate, row)
        if len(found) >= _MOST_ABSENCES:
            break
    return replace(account, absences=tuple(found.items()))


def goal_of(document: Document) -> tuple[Predicate, OpenRow]:
    """Return the goal's predicate and pattern as values."""
    name, pattern = document.header["goal"]
    predicate = document.program.program.predicates[name]
    return predicate, decode_row(pattern, predicate.kinds)


def described(
    predicate: Predicate, row: OpenRow, speech: Speech = PLAIN, *, holds: bool = True
) -> str:
    """Say a row whose open columns go by their names: ``the customer is a VIP``."""
    return shortened(describe_pattern(predicate, row, holds=holds, speech=speech))


def _reading_order(
    steps: tuple[Step, ...], answers: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Order the steps from the answers down, each once; then what no answer rests on."""
    met: dict[int, None] = {}
    others: list[int] = []
    for root in (*answers, *reversed(range(len(steps)))):
        if root in met:
            continue
        if root not in answers:
            others.append(root)
        waiting = [root]
        while waiting:
            step = waiting.pop()
            if step not in met:
                met[step] = None
                waiting += [premise.step for premise in reversed(steps[step].premises)]
    return tuple(met), tuple(others)


_AND: Final = Spoken(" and ", " und ")
_WHETHER: Final = Spoken("Is it true that {0}?", "Trifft es zu, dass gilt: {0}?")
_WHICH: Final = Spoken("For which {0} is it true that {1}?", "Für welche {0} gilt: {1}?")
_IF_ONE: Final = Spoken(", if an assumption is accepted", ", sofern man eine Annahme gelten lässt")
_IF_MORE: Final = Spoken(
    ", if {0} assumptions are accepted", ", sofern man {0} Annahmen gelten lässt"
)
_YES: Final = Spoken("Yes{0}: {1}.", "Ja{0}: {1}.")
_NO: Final = Spoken("No{0}: {1}.", "Nein{0}: {1}.")
_MORE: Final = Spoken(", and {0} more", ", und {0} weitere")
_OPEN: Final = Spoken(
    "It cannot be decided from what is known.", "Nach dem, was bekannt ist, ist es nicht zu sagen."
)
_OPEN_WHETHER: Final = Spoken(
    "It cannot be decided whether {0}.", "Es ist nicht zu sagen, ob gilt: {0}."
)
_OPEN_WHICH: Final = Spoken(
    "It cannot be decided for which {0} {1}.", "Es ist nicht zu sagen, für welche {0} gilt: {1}."
)


def _question(predicate: Predicate, row: OpenRow, speech: Speech) -> str:
    said, wanted = described(predicate, row, speech), _asked_for(predicate, row, speech)
    return speech.said(_WHICH, wanted, said) if wanted else speech.said(_WHETHER, said)


def _asked_for(predicate: Predicate, row: OpenRow, speech: Speech) -> str:
    """Name the columns that a goal asks for."""
    pairs = zip(predicate.columns, row, strict=True)
    named = (words(column.name) for column, slot in pairs if slot is OPEN)
    return printable(speech.said(_AND).join(named))


def _answer(
    document: Document, steps: tuple[Step, ...], answers: tuple[int, ...]
) -> tuple[str, str]:
    """Return the verdict as an answer to the question, and as a sentence of its own."""
    verdict, under, speech = document.header["verdict"], document.header["under"], document.speech
    one = speech.said(_IF_ONE) if len(under) == 1 else speech.said(_IF_MORE, str(len(under)))
    condition = one if under else ""
    predicate, row = goal_of(document)
    said, wanted = described(predicate, row, speech), _asked_for(predicate, row, speech)
    if verdict.startswith("PROVED"):
        found = [steps[answer].sentence for answer in answers]
        rest = speech.said(_MORE, f"{len(found) - 1:,}") if len(found) > 1 else ""
        word, told = _YES, f"{shortened(found[0]) if found else said}{rest}"
    elif verdict.startswith("DISPROVED"):
        word, told = _NO, described(predicate, row, speech, holds=False)
    else:
        asked = (_OPEN_WHICH, wanted, said) if wanted else (_OPEN_WHETHER, said)
        return speech.said(_OPEN), speech.said(*asked)
    return speech.said(word, condition, told), f"{capital(told)}{condition}."


_IF: Final = Spoken("whether {0}", "ob gilt: {0}")
_THE: Final = Spoken("the {0}", "{0}")
_THE_OF: Final = Spoken("the {0} of {1}", "{0} von {1}")


def _wanted(predicate: Predicate, row: OpenRow, speech: Speech) -> str:
    """Say what would have to be known: ``the contract value of C009``, or whether."""
    place = value_column(predicate)
    others = [slot for at, slot in enumerate(row) if at != place]
    if place is None or row[place] is not OPEN or OPEN in others:
        return shortened(speech.said(_IF, described(predicate, row, speech)))
    keys = [
        show_value(slot, column.kind, column.name, speech)
        for at, (slot, column) in enumerate(zip(row, predicate.columns, strict=True))
        if at != place and not is_left_out(slot)
    ]
    what, named = words(predicate.name), speech.said(_AND).join(keys)
    return shortened(speech.said(_THE_OF, what, named) if keys else speech.said(_THE, what))


def _least(document: Document, name: str) -> tuple[Predicate, frozenset[int]]:
    """Give a predicate with its columns that nobody reads, as its rows in the certificate tell."""
    predicate = document.program.program.predicates[name]
    groups = (one["rows"] for one in document.facts if one["predicate"] == name)
    first = next((rows[0] for rows in groups if rows), ())
    unread = frozenset(
        place
        for place, cell in enumerate(first)
        if isinstance(cell, NullText) and is_left_out(cell.cell)
    )
    columns = tuple(
        replace(one, attributes={"null": NullPolicy.UNREAD.value}) if place in unread else one
        for place, one in enumerate(predicate.columns)
    )
    return replace(predicate, columns=columns), unread


def _gaps(document: Document) -> tuple[Gap, ...]:
    """Return what is missing as goals, with the reasons of the open rows that match."""
    found = []
    for name, pattern in document.members["missing"]:
        predicate, unread = _least(document, name)
        left = unread.union(predicate.unread)
        opened = decode_row(pattern, predicate.kinds)
        row: OpenRow = tuple(
            cast("Slot", UNREAD_CELL) if place in left and slot is OPEN else slot
            for place, slot in enumerate(opened)
        )
        told = [
            one["reason"]
            for one in document.members["open"]
            if one["predicate"] == name and meets(one["row"], pattern)
        ]
        reasons = dict.fromkeys(own_words(shortened(one), document.speech) for one in told)
        goal = shortened(print_wanted(predicate, row))
        wanted, contested = _wanted(predicate, row, document.speech), any(map(is_contested, told))
        found.append(Gap(goal, tuple(reasons), wanted, contested))
    return tuple(found)


def _closed_below(rule: Rule) -> Iterator[str]:
    """Yield the relations that a rule excludes or counts."""
    for literal in rule.body:
        inner = literal.body if isinstance(literal, Aggregate) else (literal,)
        for one in inner:
            if isinstance(one, Negative) or (isinstance(one, Positive) and one is not literal):
                yield one.atom.predicate
