"""What exploring a question gives.

In: nothing. Out: values. Invariants: the verdict on an answer is that of its certificate, and an
answer without one has none: it was computed and not checked; a plan that a model drafted is an
assumption; an answer does not change when sources or later questions do. Example:
`explored.relation.rows` are the rows, and `explored.sentence` says them in words.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from itertools import chain, permutations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.authoring.discovery import fenced, quoted
from constat.diagnostics import ConstatError
from constat.evaluation import Assumption, Verdict
from constat.explore.plan import one_line
from constat.explore.planning import asked, narrating_prompt
from constat.explore.relations import DUCKDB, TIER, Settlement
from constat.frozen import OfSession, frozen
from constat.logic import Kind, display_value
from constat.model import Prompt, Task, Turn, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.explore.plan import Plan
    from constat.explore.relations import Relation
    from constat.logic import Row, Value
    from constat.model import Client
    from constat.proof.translation import Translation

# Say an answer in a sentence, whose numbers are those of the result.

PLACE, SHARE, VAGUE = "place", "share", "vague"
_UNITS: Final = MappingProxyType(
    {
        word: value
        for value, word in enumerate(
            (
                *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
                *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
                *("seventeen", "eighteen", "nineteen"),
            )
        )
    }
)
_TENS: Final = MappingProxyType(
    {
        word: 10 * value
        for value, word in enumerate(
            ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), start=2
        )
    }
)
_SCALES: Final = MappingProxyType(
    {"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
)
_TIMES: Final = MappingProxyType(
    {
        "twice": 2,
        "double": 2,
        "doubled": 2,
        "doubles": 2,
        "twofold": 2,
        "thrice": 3,
        "triple": 3,
        "tripled": 3,
        "triples": 3,
        "threefold": 3,
        "quadruple": 4,
        "quadrupled": 4,
        "fourfold": 4,
        "fivefold": 5,
        "tenfold": 10,
    }
)
_ORDINALS: Final = MappingProxyType(
    {
        "second": 2,
        "third": 3,
        "fourth": 4,
        "fifth": 5,
        "sixth": 6,
        "seventh": 7,
        "eighth": 8,
        "ninth": 9,
        "tenth": 10,
        "eleventh": 11,
        "twelfth": 12,
        "twentieth": 20,
        "hundredth": 100,
    }
)
_PARTS: Final = MappingProxyType(
    {**{word: value for word, value in _ORDINALS.items() if value > 2}, "quarter": 4}  # noqa: PLR2004
)
_VAGUE: Final = frozenset(f"{word}s" for word in _SCALES) | {"tens"}
_HALVES: Final = frozenset({"half", "halves", "halved"})
_WORD: Final = re.compile(r"[A-Za-z]+")
_BEHIND: Final = re.compile(
    r"\s*(?:(?P<percent>%|percent\b|per cent\b)|(?P<times>[- ]?times\b|-?fold\b))"
)
_DIGITS_BEFORE: Final = re.compile(r"\d[\s-]*\Z")
_NO_COUNT: Final = frozenset(
    {"no", "any", "every", "each", "this", "that", "which", "another", "last", "next", "first"}
)


@frozen
class Number:
    """A number of a sentence: its text, its value, the unit of its last place, and what it counts.

    `share` is `percent`, `times`, `share` (a part of a whole), `place` (an ordinal), `vague` for
    what has no value, or empty for a plain number.
    """

    text: str
    value: Decimal
    unit: Decimal
    share: str


@frozen
class _Word:
    text: str
    start: int
    end: int


def numbers_in_words(sentence: str) -> tuple[Number, ...]:
    """Read the numbers of a sentence that are written as words."""
    words = [_Word(one[0].lower(), one.start(), one.end()) for one in _WORD.finditer(sentence)]
    return tuple(_Reading(sentence, words).numbers())


class _Reading:
    """One sentence, word by word."""

    def __init__(self, sentence: str, words: Sequence[_Word]) -> None:
        self.sentence = sentence
        self.words = words

    def numbers(self) -> Iterator[Number]:
        place = 0
        while place < len(self.words):
            number, place = self.number(place)
            if number is not None:
                yield number

    def number(self, place: int) -> tuple[Number | None, int]:
        """Read what begins at a word; gives the place behind it."""
        word = self.words[place].text
        if word in _VAGUE:
            return self.told(place, place + 1, Decimal(0), VAGUE), place + 1
        if word in _TIMES:
            return self.told(place, place + 1, Decimal(_TIMES[word]), "times"), place + 1
        if word in _HALVES and self.at(place - 1) not in {"first", "second"}:
            return self.told(place, place + 1, Decimal("0.5"), SHARE), place + 1
        part = self.part(place)
        if part is not None:
            return part
        if word in _ORDINALS:
            return self.told(place, place + 1, Decimal(_ORDINALS[word]), PLACE), place + 1
        end = self.cardinal_end(place)
        return (None, place + 1) if end == place else self.cardinal(place, end)

    def part(self, place: int) -> tuple[Number, int] | None:
        """Read `a third`, `three quarters of`."""
        count = {"a": 1, "an": 1}.get(self.words[place].text) or _UNITS.get(self.words[place].text)
        name = self.at(place + 1)
        whole = _PARTS.get(name) or _PARTS.get(name.removesuffix("s"))
        if not count or whole is None or not self.joined(place):
            return None
        if name == "quarter" and self.at(place + 2) != "of":
            # A quarter of a year.
            return None
        if self.words[place].text in {"a", "an"} and self.at(place + 2) not in {"of", "more"}:
            # `a third region` is one more.
            return None
        value = Decimal(count) / Decimal(whole)
        return self.told(place, place + 2, value, SHARE), place + 2

    def cardinal_end(self, place: int) -> int:
        """Find where the number that begins at a word ends; at the word itself where none does."""
        if self.at(place) in {"a", "an"}:
            return place if self.at(place + 1) not in _SCALES else self.cardinal_end(place + 1)
        end = place
        while end < len(self.words) and self.is_cardinal(self.at(end)):
            end += 1
            if not self.joined(end - 1):
                break
            scaled = self.at(end - 1) in _SCALES and self.at(end) == "and"
            if scaled and self.is_cardinal(self.at(end + 1)) and self.joined(end):
                end += 1
        return end

    def cardinal(self, place: int, end: int) -> tuple[Number | None, int]:
        words = [one.text for one in self.words[place:end] if one.text not in {"a", "an", "and"}]
        before = self.sentence[: self.words[place].start]
        if words[0] in _SCALES and _DIGITS_BEFORE.search(before):
            # `650 thousand` is read with its digits.
            return None, end
        if words == ["one"] and (self.at(place - 1) in _NO_COUNT or self.at(end) in {"of", "s"}):
            return None, end
        value, unit = _value(words)
        if value is None:
            return self.told(place, end, Decimal(0), VAGUE), end
        behind = _BEHIND.match(self.sentence, self.words[end - 1].end)
        share = "" if behind is None else "percent" if behind["percent"] else "times"
        return Number(self.text(place, end), value, unit, share), end

    def told(self, place: int, end: int, value: Decimal, share: str) -> Number:
        unit = Decimal("0.01") if share == SHARE else Decimal(1)
        return Number(self.text(place, end), value, unit, share)

    def text(self, place: int, end: int) -> str:
        return self.sentence[self.words[place].start : self.words[end - 1].end]

    def at(self, place: int) -> str:
        return self.words[place].text if 0 <= place < len(self.words) else ""

    def joined(self, place: int) -> bool:
        """Whether nothing but a space or a hyphen lies between a word and the next."""
        if place + 1 >= len(self.words):
            return False
        between = self.sentence[self.words[place].end : self.words[place + 1].start]
        return between in {" ", "-"}

    @staticmethod
    def is_cardinal(word: str) -> bool:
        return word in _UNITS or word in _TENS or word in _SCALES


def _value(words: Sequence[str]) -> tuple[Decimal | None, Decimal]:
    """Add up the words of a number; `None` where they are none, such as `twenty twenty`."""
    total = part = 0
    least, room = 10**12, 10**12
    for word in words:
        scale = _SCALES.get(word, 0)
        if scale >= 1_000:  # noqa: PLR2004
            if scale >= least:
                return None, Decimal(1)
            total, part, least, room = total + (part or 1) * scale, 0, scale, scale
        elif scale:
            if part >= scale:
                return None, Decimal(1)
            # Behind a dozen nothing follows.
            part, room = (part or 1) * scale, scale if scale == _SCALES["hundred"] else 0
        else:
            value = _UNITS.get(word, _TENS.get(word, 0))
            if value >= room:
                return None, Decimal(1)
            part, room = part + value, 10 if word in _TENS else 1
    # `two million` may be rounded as `2 million` may; `two hundred` is two hundred.
    rounded = words[-1] in _SCALES and _SCALES[words[-1]] >= 1_000  # noqa: PLR2004
    return Decimal(total + part), Decimal(_SCALES[words[-1]] if rounded else 1)


# A number passes only where a cell, a count, or a sum, mean, difference, ratio or percentage of
# cells rounds to it at the places that it is written with; the numbers of the question pass, for
# they are its own.

_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?P<sign>[-\u2212+]?)[$€£¥]?\s?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<scale>\s?(?:dozen|hundred|thousand|million|billion|[KkMmBb](?!\w)))?(?P<percent>\s?(?:%|percent))?"
    r"(?P<times>\s?(?:times|-?fold|x\b))?"
    r"(?![\d])"
)
_NUMBERS_SCALES: Final = MappingProxyType(
    {
        "": 1,
        "dozen": 12,
        "hundred": 100,
        "thousand": 1_000,
        "k": 1_000,
        "million": 1_000_000,
        "m": 1_000_000,
        "billion": 1_000_000_000,
        "b": 1_000_000_000,
    }
)
_DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")
_MOST_ROWS: Final = 200
_MOST_PAIRED: Final = 12
_HUNDRED: Final = Decimal(100)
_ROUNDINGS: Final = (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_DOWN)


def numbers_in(sentence: str) -> tuple[Number, ...]:
    """Read the numbers of a sentence, in digits and in words."""
    found = [*numbers_in_words(sentence)]
    for match in _NUMBER.finditer(sentence):
        plain = match["digits"].replace(",", "")
        scale = Decimal(_NUMBERS_SCALES[(match["scale"] or "").strip().lower()])
        places = len(plain.partition(".")[2])
        value = Decimal(plain) * scale * (-1 if match["sign"] in {"-", "\u2212"} else 1)
        unit = Decimal(1).scaleb(-places) * scale
        share = "percent" if match["percent"] else "times" if match["times"] else ""
        found.append(Number(match[0].strip(), value, unit, share))
    return tuple(found)


def unfounded(sentence: str, relation: Relation, question: str) -> tuple[str, ...]:
    """Give the numbers of a sentence that nothing in the result or the question accounts for."""
    asked = {_plain(one) for one in _DIGITS.findall(question)}
    asked |= {str(one.value) for one in numbers_in_words(question)}
    known = asked | set(_texts(relation))
    wanted = [
        one
        for one in numbers_in(_without(sentence, relation))
        if one.share not in {"", PLACE} or not _written(one) & known
    ]
    if not wanted:
        return ()
    candidates = {"": list(_values(relation)), "percent": [], "times": [], VAGUE: []}
    candidates[PLACE] = [Decimal(one) for one in range(1, len(relation.rows) + 1)]
    for one, other in _pairs(relation):
        candidates["times"].append(one / other)
        candidates["percent"] += [one / other * _HUNDRED, (one - other) / other * _HUNDRED]
    candidates[SHARE] = candidates["times"]
    candidates["cells"] = [cell for column in _columns(relation) for cell in column]
    return tuple(one.text for one in wanted if not _is_founded(one, candidates))


def _written(number: Number) -> set[str]:
    """How a number is written in digits, as far as others may have written it so."""
    digits = _DIGITS.findall(number.text)
    return {_plain(digits[0])} if digits else {str(number.value)}


def _is_founded(number: Number, candidates: Mapping[str, Sequence[Decimal]]) -> bool:
    if number.share == VAGUE:
        return False
    # A column may hold percentages itself. A fall of 3 % may be said without its sign.
    own = number.share not in {"", PLACE}
    found = chain(candidates[number.share], candidates["cells"] if own else candidates[""])
    return any(_rounds(abs(one) if number.value >= 0 else one, number) for one in found)


def _rounds(value: Decimal, number: Number) -> bool:
    try:
        scaled = value / number.unit
        return any(
            scaled.quantize(Decimal(1), rounding=way) * number.unit == number.value
            for way in _ROUNDINGS
        )
    except InvalidOperation:
        return False


def _without(sentence: str, relation: Relation) -> str:
    """Take texts of the result out of a sentence: the digits of an id are no number."""
    texts = {cell for row in relation.rows[:_MOST_ROWS] for cell in row if isinstance(cell, str)}
    named = (one for one in texts if any(map(str.isdigit, one)) or numbers_in_words(one))
    for text in sorted(named, key=len, reverse=True):
        sentence = sentence.replace(text, " , ")
    return sentence


def _texts(relation: Relation) -> Iterator[str]:
    """The groups of digits in texts of the result, such as the year of a day."""
    for row in relation.rows[:_MOST_ROWS]:
        for cell in row:
            if isinstance(cell, str):
                yield from map(_plain, _DIGITS.findall(cell))


def _plain(digits: str) -> str:
    return digits.replace(",", "")


def _columns(relation: Relation) -> Iterator[list[Decimal]]:
    rows: Sequence[tuple[object, ...]] = relation.shown[:_MOST_ROWS]
    for place, kind in enumerate(relation.kinds):
        if kind.numeric:
            yield [Decimal(str(row[place])) for row in rows]


def _values(relation: Relation) -> Iterator[Decimal]:
    """Cells, counts, sums, means and differences."""
    yield Decimal(len(relation.rows))
    for cells in _columns(relation):
        yield from cells
        if cells:
            yield sum(cells, Decimal(0))
            yield sum(cells, Decimal(0)) / len(cells)
        for one, other in permutations(cells[:_MOST_PAIRED], 2):
            yield one - other
    for row in relation.shown[:_MOST_PAIRED]:
        cells = _numbers(relation, row)
        for one, other in permutations(cells, 2):
            yield one - other
            yield one + other


def _pairs(relation: Relation) -> Iterator[tuple[Decimal, Decimal]]:
    """Pairs to divide: cells of a column, a cell and the sum of its column, cells of a row."""
    groups = [[*cells[:_MOST_PAIRED], sum(cells, Decimal(0))] for cells in _columns(relation)]
    groups += [_numbers(relation, row) for row in relation.shown[:_MOST_PAIRED]]
    for cells in groups:
        yield from ((one, other) for one, other in permutations(cells, 2) if other)


def _numbers(relation: Relation, row: tuple[object, ...]) -> list[Decimal]:
    return [
        Decimal(str(cell)) for cell, kind in zip(row, relation.kinds, strict=True) if kind.numeric
    ]


_MOST_SHOWN: Final = 50
_LONGEST: Final = 1_000
_LONGEST_CELL: Final = 60
_LONGEST_TEXT: Final = 200


@frozen
class Said:
    """A sentence; `narrated` where a model worded it, `note` says why its wording was not used."""

    sentence: str
    narrated: bool = False
    note: str = ""
    usage: Usage = Usage()


def plain_sentence(plan: Plan, relation: Relation) -> str:
    """Say a result in words of ours."""
    title = plan.title or relation.output.name.replace("_", " ")
    rows = relation.shown
    if relation.settlement is Settlement.OPEN:
        return f"{title}: not settled, {_counted(len(rows))} known so far."
    if not rows:
        return f"{title}: there are none."
    if len(rows) == 1 and len(relation.names) == 1:
        return f"{title}: {_shown(rows[0][0], relation.kinds[0])}."
    told = ", ".join(_cells(relation, rows[0]))
    if len(rows) == 1:
        return f"{title}: {told}."
    return f"{title}: {_counted(len(rows))}, first {told}."


def narrate(client: Client, question: str, plan: Plan, relation: Relation) -> Said:
    """Have a model word the answer; ours where it fails or a number is not accounted for."""
    plain = plain_sentence(plan, relation)
    if relation.settlement is Settlement.OPEN:
        # What is not known cannot be worded from a table of what is.
        return Said(plain)
    turn = Turn("user", f"The question:\n{fenced(question)}\nThe result:\n{_table(relation)}")
    prompt = Prompt(Task.NARRATE, narrating_prompt(), (turn,), most_tokens=400)
    try:
        reply = asked(client, prompt)
    except ConstatError as problem:
        return Said(plain, note=f"no model worded the answer: {problem.diagnostics[0].message}")
    text = " ".join(reply.text.split())
    if not text or len(text) > _LONGEST or not text.isprintable() or reply.stop != "end":
        return Said(plain, note="a model's wording was no sentence", usage=reply.usage)
    wrong = unfounded(text, relation, question)
    if wrong:
        note = f"a model's sentence was not used: {', '.join(wrong[:5])} is not in the result"
        return Said(plain, note=note, usage=reply.usage)
    return Said(text, narrated=True, usage=reply.usage)


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _cells(relation: Relation, row: Row) -> list[str]:
    cells = zip(relation.names, row, relation.kinds, strict=True)
    return [f"{name} {_shown(value, kind)}" for name, value, kind in cells]


def _shown(value: Value, kind: Kind) -> str:
    if isinstance(value, Decimal | int):
        return f"{value:,}"
    return one_line(display_value(value, kind), _LONGEST_CELL)


def _told(value: Value, kind: Kind) -> str:
    """Write a cell for a model: a text of data is quoted, so that it is nothing else."""
    text = display_value(value, kind)
    return quoted(text, _LONGEST_TEXT) if kind in {Kind.SYMBOL, Kind.STRUCTURE} else text


def _table(relation: Relation) -> str:
    lines = ["\t".join(relation.names)]
    lines += [
        "\t".join(_told(*one) for one in zip(row, relation.kinds, strict=True))
        for row in relation.shown[:_MOST_SHOWN]
    ]
    more = len(relation.rows) - _MOST_SHOWN
    if more > 0:
        lines.append(f"and {more:,} more rows")
    return fenced("\n".join(lines))


# What exploring a question gives.

NOT_CHECKED: Final = "computed, not checked"


@frozen
class StepReport:
    """What became of a step. `how` is `computed`, `kept`, or `not needed`.

    `check` is `passed` where what it computed in bulk was counted again from the rules and was the
    same, else why it was not; empty where there was no need.
    """

    number: int
    name: str
    goal: str
    work: str
    how: str
    seconds: float = 0.0
    attempts: int = 0
    rows: int = 0
    level: str = ""
    reads: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    check: str = ""


@frozen
class AnswerProof:
    """The proof of an answer: the verdict of its certificate, or `why` there is none."""

    verdict: Verdict | None = None
    certificate: bytes = field(default=b"", repr=False)
    why: str = ""

    @property
    def identity(self) -> str:
        """The identity of the certificate; empty where there is none."""
        return str(json.loads(self.certificate)["identity"]) if self.certificate else ""

    @property
    def label(self) -> str:
        """The verdict as people read it."""
        return NOT_CHECKED if self.verdict is None else self.verdict.label

    @property
    def selected(self) -> tuple[str, ...]:
        """The steps whose rows stand on DuckDB's word, as `step totals`."""
        if not self.certificate:
            return ()
        words = [
            (str(one["name"]), one["attestation"])
            for one in json.loads(self.certificate)["sources"]
            if one.get("tier") == TIER and one.get("attestation") is not None
        ]
        return tuple(sorted({name for name, word in words if word["agent"]["name"] == DUCKDB}))


@frozen
class Explored(OfSession):
    """An answered question of an exploration.

    `sentence` says the answer; `narrated` tells whether a model worded it. `notes` are remarks,
    such as that a source has changed since an earlier question. `replaying` says whose replies were
    replayed, where no model was asked. `authors` are the models that drafted any step which the
    answer rests on, those of earlier questions included; `approvals` are the names of people who
    approved the plan, as far as that counts. `proof` has the certificate, `translation` who says
    that the plan's answer is what was asked.
    """

    exploration: str
    number: int
    question: str
    plan: Plan
    relation: Relation = field(repr=False)
    steps: tuple[StepReport, ...]
    sentence: str
    today: str
    narrated: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    replaying: str = ""
    authors: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    proof: AnswerProof = field(default_factory=AnswerProof)
    translation: Translation | None = None

    @property
    def certificate(self) -> bytes:
        """The certificate of the answer, for a checker; empty where there is none."""
        return self.proof.certificate

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the answer's certificate; `None` where it was computed and not checked."""
        return self.proof.verdict

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the answer rests on, the draft of its plan included."""
        if self.verdict is Verdict.PROVED:
            return ()
        drafted = () if self.approvals else self.authors
        found = [*map(plan_assumption, drafted), *self.relation.assumptions]
        # What a SELECT over steps gives is somebody's word, as what code gives is.
        found += map(select_assumption, self.proof.selected)
        return tuple(found)

    @property
    def settlement(self) -> Settlement:
        """Whether the answer is known, as its verdict says."""
        match self.verdict:
            case Verdict.PROVED:
                return Settlement.CERTAIN
            case Verdict.PROVED_UNDER:
                return Settlement.UNDER
            case _:
                return Settlement.OPEN

    @property
    def exit_code(self) -> int:
        """0 proved, 3 under assumptions or unconfirmed, 4 open, or computed and not checked."""
        code = self.settlement.exit_code
        return code if self.translation is None else self.translation.exit_code(code)

    @property
    def rows(self) -> Sequence[tuple[Any, ...]]:
        """The rows, in the order that the last step asked for."""
        return self.relation.shown

    def records(self) -> list[dict[str, Any]]:
        """The rows as tables of column and value."""
        return [dict(zip(self.relation.names, row, strict=True)) for row in self.rows]

    def cells(self) -> list[list[str]]:
        """The rows as texts for people."""
        kinds = self.relation.kinds
        return [[display_value(v, k) for v, k in zip(row, kinds, strict=True)] for row in self.rows]


def plan_assumption(author: str) -> Assumption:
    """Give the assumption that a model's plan answers the question."""
    text = f"the plan that {author} drafted, and nobody has approved, answers the question"
    return Assumption("rule", "plan", text)


def select_assumption(step: str) -> Assumption:
    """Give the assumption that DuckDB computed what a SELECT over steps says."""
    return Assumption("fact", step, f"the SELECT of {step} gives the rows that it says")


@frozen
class StepAttempt:
    """One try of a step: the text that ran, what it printed, and its error; empty where none was.

    `queries` are those that code sent to databases; `ended` is when the try was kept.
    """

    number: int
    text: str
    output: str = ""
    error: str = ""
    queries: tuple[str, ...] = ()
    ended: str = ""


@frozen
class StepRecordView:
    """What is kept of a step: its tries in their order, and the tables of the last that ended well.

    `question` is the number of the question whose plan has the step.
    """

    number: int
    name: str
    goal: str
    work: str
    question: int
    source: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attempts: tuple[StepAttempt, ...] = ()
    tables: tuple[Mapping[str, object], ...] = ()


@frozen
class ExplorationState:
    """What an exploration holds now: tables with their steps, state variables, the scratchpad."""

    exploration: str
    title: str
    today: str
    questions: tuple[tuple[int, str, str], ...]
    tables: tuple[Mapping[str, object], ...]
    state: Mapping[str, object]
    notes: tuple[str, ...]
