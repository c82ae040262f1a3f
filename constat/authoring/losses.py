"""What a question says and neither a goal nor its rules do: a warning for people, never a proof.

What is noticed: words that deny, `only`, `every`, numbers, dates, names, comparisons, `or` and
`and`, currencies, percentages, superlatives, in English; numbers, dates in digits and names in any
language. The names and sentences of a draft count for nothing: its author would repeat the question
there. Those of the project's own predicates say what they mean. How much of it is found is measured
(tests/bench/README.md).
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.authoring.constants import atom_constants, constants_of, query_constants, unseen
from constat.authoring.likely import stems
from constat.library.reviewing.beyond import BEYOND
from constat.logic import Aggregate, Apply, Comparison, Constant, Kind, Negative, Positive
from constat.proof.encoding import reachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Atom, Literal, Predicate, Rule

_DAYS: Final = frozenset({Kind.DATE, Kind.TIMESTAMP})
_PRESENT: Final = frozenset({"today", "period"})
_TURNED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})


def losses(
    question: str,
    goal: Atom,
    program: AnalysedProgram,
    base: AnalysedProgram,
    *,
    texts: Sequence[str] = (),
    besides: Iterable[str] = (),
) -> tuple[str, ...]:
    """Tell what of a question is lost; `base` is the program without drafts.

    `texts` are what else a draft runs: SELECTs, rankings, code; `besides` is what they read.
    """
    names = (goal.predicate, *besides)
    below = frozenset().union(*(reachable(program, one) for one in names))
    meaning = _meaning(goal, program, base, below)
    for text in texts:
        meaning.sql(text)
    plain = " ".join(question.split())
    found = [*_Question(plain, meaning).lost()]
    added = unseen((one for one in meaning.own if one.kind is Kind.SYMBOL), [plain])
    found += [f"the question does not say “{one.value}”, and the goal does" for one in added]
    return tuple(dict.fromkeys(found))


# ---------------------------------------------------------------------- what goal and rules say


@dataclass(slots=True)
class _Meaning:
    """What a goal and its rules say, as far as the words of a question are looked for in it.

    `own` are constants of goal and draft, `surface` the texts by which people describe the
    predicates that these name, `text` those of all below. `denied` are words of predicates that
    people's rules deny.
    """

    own: list[Constant] = field(default_factory=list)
    surface: str = ""
    text: str = ""
    numbers: set[Decimal] = field(default_factory=set)
    dates: set[str] = field(default_factory=set)
    compared: set[tuple[str, str]] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    folded: set[str] = field(default_factory=set)
    denies: bool = False
    differs: bool = False
    calculates: bool = False
    alternatives: bool = False
    present: bool = False
    drafted: bool = False

    def knows(self, word: str) -> bool:
        """Whether a word, or one like it, stands in a constant or a people's description."""
        plain = re.escape(word.casefold())
        plural = rf"(?:{plain}|{plain.removesuffix('s')})" if plain.endswith("s") else plain
        found = re.search(rf"(?<!\w){plural}(?!\w)", self.text)
        return found is not None or bool(stems([word]) & stems([self.text]))

    def constant(self, one: Constant) -> None:
        if one.kind in _DAYS:
            self.dates.add(str(one.value)[:10])
        elif one.kind.numeric:
            self.numbers.add(abs(Decimal(str(one.value))))
        else:
            self.text += f" {str(one.value).casefold()}"
            if re.fullmatch(r"\d{4}-\d\d-\d\d.*", str(one.value)):
                self.dates.add(str(one.value)[:10])

    def sql(self, query: str) -> None:
        """Take a SELECT of a draft: its constants, comparisons, and words of SQL."""
        for one in query_constants(query).values():
            self.constant(one)
        plain = query.casefold()
        self.text += " " + re.sub(r"\W+", " ", plain)
        self.denies |= bool(re.search(r"\bnot\b|\bexcept\b|<>|!=|\bis null\b|= ?0\b", plain))
        self.differs |= bool(re.search(r"<>|!=", plain))
        self.alternatives |= bool(re.search(r"\bor\b|\bin *\(|\bunion\b", plain))
        self.calculates |= bool(re.search(r"[/*%] *\(?[\w(]", plain))
        self.folded |= set(re.findall(r"\b(max|min|count|sum|avg|rank|limit|top)\b", plain))
        self.present |= bool(re.search(r"\b(today|period|current_date)\b", plain))
        for operator, value in re.findall(r"(<=|>=|=|<|>) *'?([\w.:-]+)'?", plain):
            self.compared.add((operator, _spelled(value)))


def _meaning(
    goal: Atom, program: AnalysedProgram, base: AnalysedProgram, below: frozenset[str]
) -> _Meaning:
    people, known = base.program.predicates, program.program.predicates
    drafted = {one for one in below if one not in people and not one.endswith(BEYOND)}
    rules = [one for one in program.rules if one.head.predicate in below]
    own = [one for one in rules if one.head.predicate in drafted and not _is_bridge(one)]
    found = _Meaning(drafted=bool(drafted), present=bool(below & _PRESENT))
    found.own = [*atom_constants(goal), *constants_of(own).values()]
    for one in (*found.own, *constants_of(rules).values()):
        found.constant(one)
    for literal in _literals(rules):
        if isinstance(literal, Comparison):
            found.compared |= set(_compared(literal))
    _take_draft(found, goal, own)
    denied = (one.atom.predicate for one in _literals(rules) if isinstance(one, Negative))
    found.denied = stems(name.replace("_", " ") for name in denied)
    named = {goal.predicate, *(atom.predicate for atom in _atoms(own))}
    said = [people[one] for one in sorted(named & people.keys())]
    # Of a predicate that a draft leaves to people nothing is known but its name and sentence.
    heads = {one.head.predicate for one in own}
    said += [known[one] for one in sorted(drafted - heads) if known[one].source is None]
    found.surface = " ".join(map(_described, said)).casefold()
    deep = [people[one] for one in sorted(below & people.keys())]
    sentences = (rule.attributes.get("says", "") for rule in rules if rule not in own)
    explained = (one.description for one in deep)
    described = " ".join((*map(_described, deep), *explained, *sentences)).casefold()
    found.text += f" {found.surface} {described}"
    for query in _queries(known[one] for one in sorted(drafted)):
        found.sql(query)
    return found


def _take_draft(found: _Meaning, goal: Atom, own: Sequence[Rule]) -> None:
    """Take over what a draft denies, folds, calculates and leaves open between alternatives."""
    heads = [one.head.predicate for one in own]
    found.alternatives = len(set(heads)) < len(heads)
    for literal in _literals(own):
        match literal:
            case Negative():
                found.denies = True
            case Aggregate(function=function):
                found.folded.add(function)
            case Comparison(operator=operator, left=left, right=right):
                found.differs |= operator == "!="
                found.denies |= operator.startswith("!")
                found.calculates |= isinstance(left, Apply) or isinstance(right, Apply)
            case _:
                pass
    # "no order" is a count of 0, or of less than 1; "more than 0" denies nothing.
    bounds = {("=", "0"), ("<=", "0"), ("<", "1")}
    given = [one for atom in (goal, *_atoms(own)) for one in atom_constants(atom)]
    none = any(one.kind.numeric and one.value == 0 for one in given)
    compared = {
        pair for one in _literals(own) if isinstance(one, Comparison) for pair in _compared(one)
    }
    found.denies |= none or bool(bounds & compared)


def _is_bridge(rule: Rule) -> bool:
    return any(one.predicate.endswith(BEYOND) for one in _atoms([rule]))


def _literals(rules: Iterable[Rule]) -> Iterator[Literal]:
    for rule in rules:
        for literal in rule.body:
            yield literal
            if isinstance(literal, Aggregate):
                yield from literal.body


def _atoms(rules: Iterable[Rule]) -> Iterator[Atom]:
    for literal in _literals(rules):
        if isinstance(literal, Positive | Negative):
            yield literal.atom


def _described(predicate: Predicate) -> str:
    columns = " ".join(one.name for one in predicate.columns)
    told = " ".join(text for key, text in predicate.attributes.items() if key.startswith("says"))
    return f"{predicate.name.replace('_', ' ')} {columns} {told}"


def _queries(predicates: Iterable[Predicate]) -> Iterator[str]:
    for one in predicates:
        if one.source is not None:
            yield one.source.parameters.get("query", "")


def _compared(literal: Comparison) -> Iterator[tuple[str, str]]:
    left, right, operator = literal.left, literal.right, literal.operator
    if isinstance(right, Constant):
        yield operator, _spelled(right.value)
    if isinstance(left, Constant):
        yield _TURNED.get(operator, operator), _spelled(left.value)


def _spelled(value: object) -> str:
    """Give one spelling to numbers that are the same; days are texts."""
    try:
        return f"{Decimal(str(value)).normalize():f}"
    except ArithmeticError:
        return str(value)[:10]


# ---------------------------------------------------------------------- what a question says

_NUMBER: Final = (
    r"(?:[$€£¥] ?)?(?P<%s>\d[\d,_]*(?:\.\d+)?|two|three|four|five|six|seven|eight|nine|ten|twelve"
    r"|dozen)"
    r"(?P<%sscale> ?(?:k|thousand|million|billion))?\b(?P<%spart> ?(?:%%|percent\b|per cent\b))?"
)
_N: Final = _NUMBER % ("n", "n", "n")
_M: Final = _NUMBER % ("m", "m", "m")
_WORDS: Final = MappingProxyType(
    {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
    | {"ten": 10, "twelve": 12, "dozen": 12}
)
_SCALES: Final = MappingProxyType(
    {"k": 10**3, "thousand": 10**3, "million": 10**6, "billion": 10**9}
)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH: Final = "|".join(f"{one}|{one[:3]}\\.?" for one in _MONTHS)
_NAMED_DAYS: Final = (
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH}),? (?P<y>(?:19|20)\d\d)\b",
    rf"\b(?P<m>{_MONTH}) (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>(?:19|20)\d\d)\b",
    r"\b(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)\b",
)
_SPANS: Final = (
    r"\b(?:(?P<q1>first|second|third|fourth) quarter|Q(?P<q2>[1-4]))(?: of)? (?P<y>\d{4})\b",
    r"\b(?P<y>\d{4})-?Q(?P<q2>[1-4])\b",
    rf"\b(?P<m>{_MONTH})(?: of)? (?P<y>(?:19|20)\d\d)\b",
    r"\b(?:in|of|since|before|after|during|until|till|by|from|for|year) (?P<y>(?:19|20)\d\d)\b",
)
_QUARTERS: Final = ("first", "second", "third", "fourth")
_UNITS: Final = "day|week|weekend|month|quarter|year|monday|tuesday|wednesday|thursday|friday"
_RELATIVE: Final = (
    rf"\b(?:today|tonight|yesterday|tomorrow|lately|recently|(?:this|last|next|past|previous|coming)"
    rf" (?:\d+ |two |three |six )?(?:{_UNITS})s?|\d+ (?:{_UNITS})s? ago)\b"
)
_BOUND: Final = (
    (">=", rf"(?:at least|not? (?:less|fewer) than|a minimum of) {_N}"),
    (">=", rf"{_N}(?: \w+)? or (?:more|above|over|longer|higher|later)\b"),
    ("<=", rf"(?:at most|up to|not? more than|a maximum of|not? exceed(?:s|ing)?) {_N}"),
    ("<=", rf"{_N}(?: \w+)? or (?:less|fewer|below|under|shorter|lower|earlier)\b"),
    (">", rf"(?:more|greater|longer|larger|higher|bigger|older|worth more) than {_N}"),
    (">", rf"(?:over|above|beyond|exceed(?:s|ed|ing)?) {_N}"),
    ("<", rf"(?:less|fewer|lower|shorter|smaller|younger|cheaper) than {_N}"),
    ("<", rf"(?:under|below) {_N}"),
    ("=", rf"(?:exactly|precisely) {_N}"),
)
_WHEN: Final = (
    ("<=", r"(?:by|until|till|up to|no later than|on or before)"),
    (">=", r"(?:since|from|no earlier than|on or after|starting)"),
    ("<", r"(?:before|prior to)"),
    (">", r"after"),
)
_DENYING: Final = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|except(?:ing|"
    r" for)?|excluding|excluded|unless|lacks?|lacking|lacked|missing|absent|false|untrue|wrong|"
    r"unable|rul(?:e|es|ed) out|fail(?:s|ed)? to|other than|apart from|besides|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
# These deny nothing: they compare, or only stress.
_NO_DENIAL: Final = re.compile(
    r"\b(?:not? (?:more|less|fewer|later|earlier) than|not? exceed\w*|at all|not only"
    r"|whether or not|or not)\b",
    re.IGNORECASE,
)
_ONLY: Final = re.compile(
    r"\b(?:only|solely|sole|exclusively|alone|nothing but|nobody but|no one but|nobody else"
    r"|no other)\b",
    re.IGNORECASE,
)
_EVERY: Final = re.compile(
    r"\b(?:every|each(?! other)|(?<!at )(?<!in )(?<!of )all|everybody|everyone|everything|always|"
    r"entire|whole)\b",
    re.IGNORECASE,
)
_YES_OR_NO: Final = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|may|might|must|should|shall|will|"
    r"would|am|isn't|aren't|doesn't|don't|didn't|hasn't)\b",
    re.IGNORECASE,
)
_BEST: Final = re.compile(
    r"\b(?:(?<!at )most|(?<!at )least|best|worst|top|maximum|minimum|[a-z]{3,}est)\b",
    re.IGNORECASE,
)
_BESTS: Final = frozenset({"max", "min", "rank", "limit", "top"})
_NO_BEST: Final = frozenset(
    (
        *("request", "interest", "guest", "rest", "west", "test", "forest", "harvest", "honest"),
        *("quest", "invest", "contest", "protest", "nest", "suggest", "digest", "arrest", "modest"),
        *("earnest", "chest", "pest", "vest", "conquest", "tempest", "manifest", "crest"),
    )
)
_CURRENCIES: Final = (
    ("$", "usd", "dollar", "buck"),
    ("€", "eur", "euro"),
    ("£", "gbp", "pound"),
    ("¥", "jpy", "yen"),
    ("chf", "franc"),
    ("cent",),
)
_PERCENT: Final = re.compile(r"%|\bper ?cent\b|\bpercentage\b", re.IGNORECASE)
_RATES: Final = ("%", "percent", "share", "rate", "ratio", "quota")
_EITHER: Final = re.compile(
    r"\b([\w-]+) or (?:an? |the )?(?!(?:not|more|less|fewer|later|earlier|longer|shorter|through|by"
    r"|via|in|on|with|above|below|over|after|before)\b)([\w-]+)",
    re.IGNORECASE,
)
_BOTH: Final = re.compile(
    r"\b([\w-]+) (?:and|as well as) (?:an? |the |also )?([\w-]+)", re.IGNORECASE
)
_NAME: Final = re.compile(
    r"[\"\u201c\u00ab]([^\"\u201d\u00bb]+)[\"\u201d\u00bb]"
    r"|\b((?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]+|[A-Z][\w-]*)"
)


class _Question:
    """A question, held against what a goal and its rules say."""

    def __init__(self, question: str, meaning: _Meaning) -> None:
        self.text = question
        self.meaning = meaning
        self.left = question
        """What has not been read as something else: a date is no number."""

    def lost(self) -> Iterator[str]:
        """Yield what is lost."""
        yield from self.dates()
        yield from self.comparisons()
        yield from self.numbers()
        yield from self.denials()
        yield from self.names()
        yield from self.links()
        yield from self.units()

    def take(self, pattern: str) -> Iterator[re.Match[str]]:
        """Give the places of a pattern, and read them as nothing else afterwards."""
        found = list(re.finditer(pattern, self.left, re.IGNORECASE))
        for one in found:
            blank = " " * (one.end() - one.start())
            self.left = self.left[: one.start()] + blank + self.left[one.end() :]
        yield from found

    # ------------------------------------------------------------------ days

    def dates(self) -> Iterator[str]:
        for pattern in _NAMED_DAYS:
            for found in self.take(pattern):
                day = _day(found["y"], found["m"], found["d"])
                if day is not None:
                    yield from self.one_day(day, found)
        for pattern in _SPANS:
            for found in self.take(pattern):
                yield from self.span(found)
        for found in self.take(_RELATIVE):
            m = self.meaning
            told = m.present or m.dates or found[0].casefold() in m.surface
            if not told:
                yield f"“{found[0]}”: neither goal nor rules look at a day"

    def one_day(self, day: date, found: re.Match[str]) -> Iterator[str]:
        held = {str(day + timedelta(n)) for n in (-1, 0, 1)} & self.meaning.dates
        if not held:
            yield f"“{found[0]}”: no such day"
            return
        yield from self.order(found, day, day)

    def span(self, found: re.Match[str]) -> Iterator[str]:
        bounds = _bounds(found)
        if bounds is None:
            return
        first, last = bounds
        m = self.meaning
        if Decimal(first.year) in m.numbers and first.month == 1 and last.month == 12:  # noqa: PLR2004  a year
            return
        opens = bool({str(first), str(first - timedelta(1))} & m.dates)
        closes = bool({str(last), str(last + timedelta(1))} & m.dates)
        operator = self.bound_before(found)
        needed = {">=": opens, ">": opens or closes, "<": opens, "<=": closes}
        if not needed.get(operator, opens and closes):
            yield f"“{found[0]}”: not these days"
            return
        yield from self.order(found, first, last)

    def bound_before(self, found: re.Match[str]) -> str:
        """Give how a date bounds: `before 2025` is `<`; nothing where it does not."""
        # Where a year stands alone its preposition was read with it.
        head, own = self.text[: found.start()], found[0].split()[0]
        for operator, words in _WHEN:
            before = re.search(rf"\b{words}(?: the)? *$", head, re.IGNORECASE)
            if before or re.fullmatch(words, own, re.IGNORECASE):
                return operator
        return ""

    def order(self, found: re.Match[str], first: date, last: date) -> Iterator[str]:
        """Yield what is lost of `before`, `after`, `since` and `until`."""
        operator = self.bound_before(found)
        near = {
            "<": (("<", first), ("<=", first - timedelta(1))),
            "<=": (("<=", last), ("<", last + timedelta(1))),
            ">": ((">", last), (">=", last + timedelta(1)), (">", first), (">=", first)),
            ">=": ((">=", first), (">", first - timedelta(1))),
        }
        if operator == ">" and first == last:
            near[">"] = near[">"][:2]
        wanted = {(sign, str(day)) for sign, day in near.get(operator, ())}
        if wanted and not wanted & self.meaning.compared:
            word = self.text[: found.end()].split()[-3:]
            yield f"“{' '.join(word)}”: the rules compare it in another way"

    # ------------------------------------------------------------------ numbers

    def comparisons(self) -> Iterator[str]:
        between = rf"between {_N} and {_M}"
        for found in self.take(between):
            for name, signs in (("n", {">=", ">"}), ("m", {"<=", "<"})):
                value = _value(found, name)
                if not self.bounded(value, signs):
                    yield f"“{found[0]}”: not this bound: {value:f}"
        for operator, pattern in _BOUND:
            for found in self.take(rf"\b{pattern}"):
                yield from self.comparison(operator, found)

    def comparison(self, operator: str, found: re.Match[str]) -> Iterator[str]:
        value, m = _value(found, "n"), self.meaning
        part = {value / 100} if found["npart"] else set()
        shown = found[0].strip()
        if operator == "=":
            signs = {sign for sign, one in m.compared if one == _spelled(value)}
            if value not in m.numbers:
                yield f"“{shown}”: not this number"
            elif signs and not signs & {"=", "!="}:
                yield f"“{shown}”: the rules compare it in another way"
            return
        known = {value, *part} & m.numbers
        step = {">=": (">", -1), ">": (">=", 1), "<=": ("<", 1), "<": ("<=", -1)}[operator]
        if any(self.bounded(one, {operator}) for one in known):
            return
        if value == int(value) and self.bounded(value + step[1], {step[0]}):
            return
        if value == 1 and operator == ">=":
            return
        if known:
            yield f"“{shown}”: the rules compare it in another way"
        else:
            yield f"“{shown}”: not this number"

    def bounded(self, value: Decimal, signs: set[str]) -> bool:
        return any((sign, _spelled(value)) in self.meaning.compared for sign in signs)

    def numbers(self) -> Iterator[str]:
        m = self.meaning
        ids = re.sub(r"\b(?!\d+k\b)(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]+", " ", self.left)
        for found in re.finditer(rf"(?<![\w.,-]){_N}", ids, re.IGNORECASE):
            value = _value(found, "n")
            parts = {value, value / 100} if found["npart"] else {value}
            spelled = found["n"].casefold() in _WORDS
            two = spelled and (m.differs or m.folded)
            stands = value in {0, 1} or parts & m.numbers or two
            if not stands and found["n"].casefold() not in m.text.split():
                yield f"“{found[0].strip()}”: not this number"

    # ------------------------------------------------------------------ not, only, every, most

    def denials(self) -> Iterator[str]:
        m, plain = self.meaning, _NO_DENIAL.sub(" ", self.text)
        surface = bool(_DENYING.search(m.surface)) or bool(re.search(r"\b(un|dis)\w+", m.surface))
        for found in _DENYING.finditer(plain):
            behind = stems(plain[found.end() :].split()[:4])
            if not (m.denies or m.differs or surface or behind & m.denied):
                yield f"“{found[0]}”: neither goal nor rules deny anything"
        counts = m.denies or m.differs or bool(m.folded)
        for found in _ONLY.finditer(self.text):
            if not (counts or _ONLY.search(m.surface)):
                yield f"“{found[0]}”: neither goal nor rules exclude anything else"
        for found in _EVERY.finditer(self.text):
            if self.universal(found) and not (counts or _EVERY.search(m.surface)):
                yield f"“{found[0]}”: one of them is enough for the goal"
        for found in _BEST.finditer(self.text):
            word = found[0].casefold()
            best = m.folded & _BESTS or m.denies or word in m.surface
            if not best and word not in _NO_BEST and word not in m.text.split():
                yield f"“{found[0]}”: nothing is compared with all others"

    def universal(self, found: re.Match[str]) -> bool:
        """Whether `every` asks something of all; in "list all" it asks for a list."""
        if _YES_OR_NO.match(self.text):
            return True
        before = len(self.text[: found.start()].split())
        return found[0].casefold() != "each" and before > 3  # noqa: PLR2004  "what are the all"

    # ------------------------------------------------------------------ names, links, units

    def names(self) -> Iterator[str]:
        first = len(self.text) - len(self.text.lstrip('"\u201c '))
        for found in _NAME.finditer(self.left):
            name = (found[1] or found[2] or "").strip("-")
            opening = found.start() <= first and not found[1]
            number = re.fullmatch(r"\d+k?", name)
            if opening and not any(letter.isdigit() for letter in name):
                continue
            if name in {"I", "A"} or number or name.casefold() in _MONTHS:
                continue
            if self.explained(found) or self.currency(name):
                continue
            if not self.meaning.knows(name):
                yield f"“{name}”: no such name"

    def explained(self, found: re.Match[str]) -> bool:
        """Whether a known constant stands behind it in brackets: `Belgium (country BE)`."""
        behind = re.match(r"(?: [A-Z][\w-]*)* \(([^()]*)\)", self.text[found.end() :])
        numbers = {f"{one:f}" for one in self.meaning.numbers}
        return behind is not None and any(
            one in numbers
            or re.search(rf"(?<!\w){re.escape(one.casefold())}(?!\w)", self.meaning.text)
            for one in re.findall(r"\b(?:[A-Z][\w-]*|\d+)\b", behind[1])
        )

    @staticmethod
    def currency(name: str) -> bool:
        plain = name.casefold()
        return any(plain.rstrip("s") in one for one in _CURRENCIES)

    def links(self) -> Iterator[str]:
        m = self.meaning
        plain = re.sub(r"\bbetween\b.*?\band\b", " ", self.text, flags=re.IGNORECASE)
        for found in _EITHER.finditer(plain):
            left, right = m.knows(found[1]), m.knows(found[2])
            # Where neither word is known nothing can be told from them.
            one_of_two = left and (not right or (m.drafted and not m.alternatives))
            if one_of_two or not (left or right or m.alternatives):
                yield f"“{found[0]}”: no alternatives"
        for found in _BOTH.finditer(plain):
            known = m.knows(found[1]), m.knows(found[2])
            if known == (True, False):
                yield f"“{found[0]}”: only one of the two"

    def units(self) -> Iterator[str]:
        m, plain = self.meaning, self.text.casefold()
        for spellings in _CURRENCIES:
            said = [one for one in spellings if _stands(one, plain)]
            if said and not any(_stands(one, m.text) for one in spellings):
                yield f"“{said[0]}”: no such currency"
        if _PERCENT.search(self.text) and not m.calculates:
            fractions = any(0 < one < 1 for one in m.numbers)
            if not fractions and not any(one in m.text for one in _RATES):
                yield "percent: nothing is a part of anything"


def _stands(spelling: str, text: str) -> bool:
    if not spelling.isalpha():
        return spelling in text
    return bool(re.search(rf"\b{spelling}s?\b", text))


def _value(found: re.Match[str], name: str) -> Decimal:
    word = found[name].casefold().replace(",", "").replace("_", "")
    scale = (found[f"{name}scale"] or "").strip().casefold()
    return Decimal(_WORDS.get(word, word)) * _SCALES.get(scale, 1)


def _month(word: str) -> int:
    if word.isdigit():
        return int(word)
    return 1 + next(n for n, one in enumerate(_MONTHS) if one.startswith(word[:3].casefold()))


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), _month(month), int(day))
    except ValueError:
        return None


def _bounds(found: re.Match[str]) -> tuple[date, date] | None:
    """Give the first and the last day of a quarter, a month or a year."""
    parts = found.groupdict()
    year = int(parts["y"])
    if not 1 <= year <= 9998:  # noqa: PLR2004  the calendar
        return None
    if parts.get("q1") or parts.get("q2"):
        word = (parts.get("q1") or "").casefold()
        quarter = _QUARTERS.index(word) + 1 if word else int(parts["q2"] or 1)
        first, last = quarter * 3 - 2, quarter * 3
    elif parts.get("m"):
        first = last = _month(parts["m"])
    else:
        first, last = 1, 12
    return date(year, first, 1), date(year, last, monthrange(year, last)[1])
