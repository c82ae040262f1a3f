"""What a question says and neither a goal nor its rules do: a warning for people, never a proof.

What is noticed: words that deny, `only`, `every`, numbers, dates, names, comparisons, `or` and
`and`, currencies, percentages, measures, superlatives, in English; numbers, dates in digits and
names in any language. The names and sentences of a draft count for nothing: its author would repeat
the question there. Those of the project's own predicates say what they mean. How much of it is
found is measured (tests/bench/README.md).
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import field
from datetime import date, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.authoring.constants import atom_constants, constants_of, query_constants, unseen
from constat.authoring.prompts import stems
from constat.frozen import slotted
from constat.library.approvals import BEYOND
from constat.logic import Aggregate, Apply, Comparison, Constant, Kind, Negative, Positive
from constat.proof.encoding import reachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Atom, Literal, Predicate, Rule

_DAYS: Final = frozenset({Kind.DATE, Kind.TIMESTAMP})
_PRESENT: Final = frozenset({"today", "period"})
_TURNED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})


def losses(  # noqa: PLR0913  each option has a name
    question: str,
    goal: Atom,
    program: AnalysedProgram,
    base: AnalysedProgram,
    *,
    texts: Sequence[str] = (),
    besides: Iterable[str] = (),
    today: str = "",
) -> tuple[str, ...]:
    """Tell what of a question is lost; `base` is the program without drafts.

    `texts` are what else a draft runs: SELECTs, rankings, code; `besides` is what they read;
    `today` is the day from which "last month" is reckoned.
    """
    names = (goal.predicate, *besides)
    below = frozenset().union(*(reachable(program, one) for one in names))
    meaning = _meaning(goal, program, base, below)
    for text in texts:
        meaning.sql(text)
    plain = " ".join(question.split())
    symbols = [one for one in meaning.own if one.kind is Kind.SYMBOL]
    asked = _Question(plain, meaning, today, [str(one.value) for one in unseen(symbols, [plain])])
    return tuple(dict.fromkeys(asked.lost()))


# ---------------------------------------------------------------------- what goal and rules say


@slotted
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
    ordered: bool = False

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
        self.ordered |= bool(re.search(r"[<>]|\border by\b", plain))
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
                found.ordered |= operator in _TURNED
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
    # Questions are read in English; what is said where it does not hold denies by itself.
    told = predicate.attributes.get("says", "")
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

_ONES: Final = MappingProxyType(
    {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
)
_TENS: Final = MappingProxyType(
    {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70}
    | {"eighty": 80, "ninety": 90}
)
_WORDS: Final = MappingProxyType(
    {**_ONES, **_TENS, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14}
    | {"fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19}
    | {f"{ten}-{one}": n + m for ten, n in _TENS.items() for one, m in {"one": 1, **_ONES}.items()}
    | {
        "one": 1,
        "once": 1,
        "dozen": 12,
        "hundred": 100,
        "thousand": 1000,
        "million": 10**6,
        "twice": 2,
        "thrice": 3,
    }
)
_SCALES: Final = MappingProxyType(
    {"k": 10**3, "dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6}
    | {"billion": 10**9}
)
# The longest first: "thirty-five" is not thirty.
_SPELLED: Final = "|".join(sorted(_WORDS, key=len, reverse=True))
_NUMBER: Final = (
    rf"(?:[$€£¥] ?)?(?P<%s>\d[\d,_]*(?:\.\d+)?|{_SPELLED})"
    r"(?P<%sscale>(?: ?(?:k|dozen|hundred|thousand|million|billion))*)\b"
    r"(?P<%spart> ?(?:%%|percent\b|per cent\b))?"
)
_N: Final = _NUMBER % ("n", "n", "n")
_M: Final = _NUMBER % ("m", "m", "m")
# Not "the second half of 2025", "a quarter of an hour" or "the third of May".
_FRACTION: Final = (
    r"(?<!first )(?<!second )(?<!last )(?<!other )\b(?:an? |one )?(?P<w>half|two thirds"
    r"|(?<=a )third|(?<=one )third|three quarters|(?<=a )quarter|(?<=one )quarter|(?<=a )tenth)"
    r"(?= of (?!(?:19|20)\d\d|an hour|the year)| the\b)"
)
_FRACTIONS: Final = MappingProxyType(
    {"half": (1, 2), "third": (1, 3), "two thirds": (2, 3), "quarter": (1, 4)}
    | {"three quarters": (3, 4), "tenth": (1, 10)}
)
# How many of the smallest one make one of each; a name is told by its beginning.
_MEASURES: Final = tuple(
    MappingProxyType(one)
    for one in (
        {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800},
        {"month": 1, "quarter": 3, "year": 12},
        {"gram": 1, "kg": 1000, "kilo": 1000, "kilogram": 1000, "tonne": 10**6, "ton": 10**6},
        {"millimetre": 1, "mm": 1, "centimetre": 10, "cm": 10, "metre": 1000, "meter": 1000}
        | {"kilometre": 10**6, "kilometer": 10**6, "km": 10**6},
        {"millilitre": 1, "ml": 1, "litre": 1000, "liter": 1000},
        {"cent": 1, "euro": 100, "dollar": 100},
        {"megabyte": 1, "mb": 1, "gigabyte": 1000, "gb": 1000, "terabyte": 10**6, "tb": 10**6},
    )
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
    (
        r"\b(?:in|of|since|before|after|during|within|until|till|by|from|for|year)"
        r" (?P<y>(?:19|20)\d\d)\b"
    ),
)
_QUARTERS: Final = ("first", "second", "third", "fourth")
_UNITS: Final = "day|week|weekend|month|quarter|year|monday|tuesday|wednesday|thursday|friday"
_RELATIVE: Final = (
    rf"\b(?:today|tonight|yesterday|tomorrow|lately|recently|(?:this|last|next|past|previous|coming)"
    rf" (?:\d+ |two |three |six )?(?:{_UNITS})s?|\d+ (?:{_UNITS})s? ago)\b"
)
_BOUND: Final = (
    (">=", rf"(?:at least|not? (?:less|fewer) than|a minimum of) {_N}"),
    ("<=", rf"{_N}(?: \w+)? at (?:the )?most\b"),
    (">=", rf"{_N}(?: \w+)? at (?:the )?least\b"),
    (">=", rf"{_N}(?: \w+)? or (?:more|above|over|longer|higher|later)\b"),
    ("<=", rf"(?:at most|up to|not? more than|a maximum of|not? exceed(?:s|ing)?) {_N}"),
    ("<=", rf"{_N}(?: \w+)? or (?:less|fewer|below|under|shorter|lower|earlier)\b"),
    (">", rf"(?:more|greater|longer|larger|higher|bigger|older|worth more) than {_N}"),
    ("within", rf"within {_N}"),
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
_WHEN_BEHIND: Final = (
    ("<=", r"(?:at the latest|or (?:earlier|before)|and (?:earlier|before))"),
    (">=", r"(?:at the earliest|or (?:later|after)|and (?:later|after)|onwards?)"),
)
_SIGNS: Final = (
    ("<=", r"(?:at most|up to|no more than) *$"),
    (">=", r"(?:at least|no less than|no fewer than) *$"),
    (">", r"(?:more than|over|above|exceeding) *$"),
    ("<", r"(?:less than|fewer than|under|below) *$"),
)
_DENYING: Final = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|except(?:ing|"
    r" for)?|excluding|excluded|unless|lacks?|lacking|lacked|missing|absent|false|untrue|wrong|"
    r"unable|non-\w+|rul(?:e|es|ed) out|fail(?:s|ed)? to|other than|apart from|besides"
    r"|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
# These deny nothing: they compare, stress, or are polite.
_NO_DENIAL: Final = re.compile(
    r"\b(?:not? (?:more|less|fewer|later|earlier) than|not? exceed\w*|at all|not only"
    r"|whether or not|or not|(?:ca|could|wo|would)n['\u2019]t you|can you not"
    r"|I (?:do not|don['\u2019]t|can(?:not|['\u2019]t)) (?:know|remember|recall|mind|tell|see)"
    r"|(?:I['\u2019]m|I am) not sure|no (?:idea|doubt|hurry|rush)"
    r"|why (?:not|don['\u2019]t you))\b"
    r"|, \w+n['\u2019]t (?:it|he|she|they|we|you|there)\b(?=\W*$)",
    re.IGNORECASE,
)
# "unpaid" and "disconnected" deny; "until", "under" and "display" do not.
_UN: Final = re.compile(
    r"\bun(?!i[toqvfx]|cle|anim|fort|til|der|less|like|to\b|able\b)[a-z]{3,}"
    r"|\bdis(?:agree|allow|appear|approv|connect|continu|honou?r|loyal|miss|obey|qualif|satisf)\w+",
    re.IGNORECASE,
)
# What somebody only wants is no condition.
_CHAT: Final = re.compile(
    r"\b(?:I|we)(?:['\u2019]d| would| just| am| are|['\u2019]m|['\u2019]re)* only"
    r" (?:need|want|wish|ask|care|wonder|look|like|interested|after)\w*"
    r"|\bonly (?:wondering|asking|curious)\b|\bnot only\b|\bif only\b|\bonly (?:a|one) quick\b",
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
# What is asked of all, unless a list of all is asked for: "show me all orders", "what are all ...".
_LISTING: Final = re.compile(
    r"\W*(?:(?:what|which|who|where)(?: else)?(?: is| are| was| were)?"
    r"|(?:.*\b)?(?:list|show|give|find|name|tell|print|display|get|return|enumerate|count|see|need"
    r"|want|of|for)(?: me| us)?(?: the)?|)\W*",
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
# "the last order", not "tracks last 260 seconds" or "served first", which is often a word for
# something else; "First National Bank" is a name.
_FIRST: Final = re.compile(
    r"(?<=\bthe )(?:very )?(?:first|last)\b(?! (?:name|half|few|quarter|time|one|day of|of)\b)"
    r"(?! \d)"
)
# A limit, and no best one.
_NO_BESTS: Final = re.compile(r"\bat the (?:latest|earliest|most|least|best)\b", re.IGNORECASE)
_THAN: Final = re.compile(
    rf"\b(?:more|less|fewer|(?!(?:oth|rath|aft|und|ov|nev|ev|eith)er)[a-z]{{3,}}er)"
    rf"(?: (?!(?:than|more|less|fewer)\b)[\w-]+){{0,3}} than"
    rf" (?!(?:\d|[$€£¥]|{_SPELLED}|a|an|one|once|half)\b)",
    re.IGNORECASE,
)
_BESTS: Final = frozenset({"max", "min", "rank", "limit", "top"})
_RANKED: Final = re.compile(
    r"\b(?:rank(?:s|ed|ing)?|bottom|meisten?|wenigsten?|(?:größ|höch|klein|best)s?ten?)\b",
    re.IGNORECASE,
)


def asks_for_a_rank(question: str) -> bool:
    """Tell whether a question asks which are the best, or the most, of several."""
    found = _BEST.finditer(_NO_BESTS.sub(_blank, question))
    best = any(one[0].casefold() not in _NO_BEST for one in found)
    return best or _RANKED.search(question) is not None


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

    def __init__(self, question: str, meaning: _Meaning, today: str, added: Sequence[str]) -> None:
        self.text = question
        self.meaning = meaning
        self.today = date.fromisoformat(today) if today else None
        self.unsaid = added
        """Constants of goal and draft that the question does not say."""
        self.left = question
        """What has not been read as something else: a date is no number."""

    def lost(self) -> Iterator[str]:
        """Yield what is lost."""
        yield from self.dates()
        yield from self.fractions()
        yield from self.comparisons()
        yield from self.numbers()
        yield from self.denials()
        yield from self.prefixes()
        yield from self.only_and_every()
        yield from self.bests()
        yield from self.names()
        yield from self.links()
        yield from self.units()
        yield from self.added()

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
            yield from self.relative(found[0])

    def relative(self, words: str) -> Iterator[str]:
        """Yield what is lost of "last month", reckoned from today where that is known."""
        m = self.meaning
        if m.present or words.casefold() in m.surface:
            return
        opens = _opens(words.casefold(), self.today) if self.today else ()
        if opens and words.casefold().endswith("year") and Decimal(opens[0].year) in m.numbers:
            return
        if not m.dates:
            yield f"“{words}”: neither goal nor rules look at a day"
            return
        # Where the rules begin no span nothing can be told.
        begins = {
            date.fromisoformat(day) + timedelta(sign == ">")
            for sign, day in m.compared
            if sign in {">", ">="} and day in m.dates
        }
        single = {str(one) for one in opens} & m.dates if len(opens) == 1 else ()
        if opens and not single and (begins or len(opens) == 1) and not begins & {*opens}:
            yield f"“{words}”: the rules look at other days than from {opens[0]} on"

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
        behind = self.text[found.end() :]
        for operator, words in _WHEN_BEHIND:
            if re.match(rf" *,? *{words}\b", behind, re.IGNORECASE):
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

    def fractions(self) -> Iterator[str]:
        """Yield what is lost of "more than half of": 0.5, 50, or a calculation with 2."""
        m = self.meaning
        for found in self.take(_FRACTION):
            part, whole = _FRACTIONS[found["w"].casefold()]
            near = {one for one in m.numbers if _near(one, Decimal(part) / whole)}
            signs = {sign for sign, one in m.compared if one in {_spelled(n) for n in near}}
            head = self.text[: found.start()]
            wanted = next((sign for sign, words in _SIGNS if re.search(words, head)), "")
            if not near and not (m.calculates and Decimal(whole) in m.numbers):
                yield f"“{found[0]}”: not this part"
            elif wanted and signs and wanted not in signs:
                yield f"“{found[0]}”: the rules compare it in another way"

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
        known = {value, *part, *self.converted(value, found)} & m.numbers
        several = value <= 2 and m.differs  # noqa: PLR2004  "more than one" are two that differ
        if several or (value == 1 and (operator == ">=" or m.denies)):
            return
        if operator in {"=", "within"}:
            signs = {sign for sign, one in m.compared if one in {_spelled(n) for n in known}}
            right = {"=", "!="} if operator == "=" else {"<", "<="}
            if not known:
                yield f"“{shown}”: not this number"
            elif signs and not signs & right:
                yield f"“{shown}”: the rules compare it in another way"
            return
        step = {">=": (">", -1), ">": (">=", 1), "<=": ("<", 1), "<": ("<=", -1)}[operator]
        if any(self.bounded(one, {operator}) for one in known) or (
            value == int(value) and self.bounded(value + step[1], {step[0]})
        ):
            yield from self.measured(value, found)
        elif known:
            yield f"“{shown}”: the rules compare it in another way"
        else:
            yield f"“{shown}”: not this number"

    def measure(self, found: re.Match[str]) -> tuple[str, Mapping[str, int]]:
        """Give the measure behind a number, with those that it can be told in."""
        behind = re.match(
            r"[ -]?([A-Za-z]+)", self.text[max(found.end("n"), found.end("nscale")) :]
        )
        name = "" if behind is None else behind[1].casefold()
        for table in _MEASURES:
            for one in (name, name.removesuffix("s")):
                if one in table:
                    return one, table
        return "", {}

    def converted(self, value: Decimal, found: re.Match[str]) -> Iterator[Decimal]:
        """Yield what a number is in the other measures that the rules speak of."""
        name, table = self.measure(found)
        for other, size in table.items():
            if size != table[name] and _measures(other, self.meaning.text):
                yield value * table[name] / size

    def measured(self, value: Decimal, found: re.Match[str]) -> Iterator[str]:
        """Yield that the same number is of another measure: 200 hours are asked, not minutes."""
        name, table = self.measure(found)
        known = {one for one in table if _measures(one, self.meaning.surface)}
        same = name and any(table[one] == table[name] for one in known)
        if known and not same and not {*self.converted(value, found)} & self.meaning.numbers:
            yield f"“{value:f} {name}”: the rules measure it in {min(known)}s"

    def bounded(self, value: Decimal, signs: set[str]) -> bool:
        return any((sign, _spelled(value)) in self.meaning.compared for sign in signs)

    def numbers(self) -> Iterator[str]:
        m = self.meaning
        ids = re.sub(r"\b(?!\d+k\b)(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]+", _blank, self.left)
        for found in re.finditer(rf"(?<![\w.,-]){_N}", ids, re.IGNORECASE):
            value = _value(found, "n")
            parts = {value, *([value / 100] if found["npart"] else ())}
            parts |= {*self.converted(value, found)}
            # Two or three that differ, or that are counted.
            few = found["n"].casefold() in _ONES and not found["nscale"]
            two = few and (m.differs or m.folded)
            stands = value in {0, 1} or parts & m.numbers or two
            if not stands and found["n"].casefold() not in m.text.split():
                yield f"“{found[0].strip()}”: not this number"

    # ------------------------------------------------------------------ not, only, every, most

    def denials(self) -> Iterator[str]:
        plain = _NO_DENIAL.sub(_blank, self.text)
        for found in _DENYING.finditer(plain):
            of_name = found[0].casefold().startswith("non-") and self.meaning.knows(found[0])
            if not of_name and not self.denied(plain[found.end() :]):
                yield f"“{found[0]}”: neither goal nor rules deny anything"

    def denied(self, what: str) -> bool:
        """Whether goal or rules deny anything, or people's rules what stands there."""
        m = self.meaning
        surface = _DENYING.search(m.surface) or _UN.search(m.surface)
        return (
            m.denies or m.differs or surface is not None or bool(stems(what.split()[:4]) & m.denied)
        )

    def prefixes(self) -> Iterator[str]:
        """Yield `unpaid` where nothing denies; a state that is not said may mean it: `open`."""
        # What is told beside the question is no condition: "C004, who has unpaid invoices, ...".
        plain = re.sub(r", (?:who|which|whose) [^,]*,", _blank, self.text)
        for found in _UN.finditer(plain):
            word = found[0].casefold()
            known = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self.meaning.text)
            if not (known or self.denied(word[2:]) or any(map(_is_state, self.unsaid))):
                yield f"“{found[0]}”: neither goal nor rules deny anything"

    def only_and_every(self) -> Iterator[str]:
        m = self.meaning
        counts = m.denies or m.differs or bool(m.folded)
        for found in _ONLY.finditer(_CHAT.sub(_blank, self.text)):
            if not (counts or _ONLY.search(m.surface)):
                yield f"“{found[0]}”: neither goal nor rules exclude anything else"
        for found in _EVERY.finditer(self.text):
            if self.universal(found) and not (counts or _EVERY.search(m.surface)):
                yield f"“{found[0]}”: one of them is enough for the goal"

    def universal(self, found: re.Match[str]) -> bool:
        """Whether `every` asks something of all; in "list all" it asks for a list."""
        if _YES_OR_NO.match(self.text):
            return True
        head = self.text[: found.start()]
        return found[0].casefold() != "each" and _LISTING.fullmatch(head) is None

    def bests(self) -> Iterator[str]:
        """Yield superlatives, `first` and `last`, and what is "more than" another."""
        m = self.meaning
        for found in _BEST.finditer(_NO_BESTS.sub(_blank, self.text)):
            if found[0].casefold() not in _NO_BEST and not self.best(found[0]):
                yield f"“{found[0]}”: nothing is compared with all others"
        for found in _FIRST.finditer(self.left):
            if not self.best(found[0].split()[-1]):
                yield f"“{found[0]}”: nothing is compared with all others"
        for found in _THAN.finditer(self.left):
            said = stems(found[0].split()) & stems([m.surface])
            if not (m.ordered or m.folded & _BESTS or said):
                yield f"“{found[0].strip()}”: nothing is compared"

    def best(self, word: str) -> bool:
        m, word = self.meaning, word.casefold()
        found = m.folded & _BESTS or m.denies or word in m.surface or word in m.text.split()
        return bool(found)

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

    def added(self) -> Iterator[str]:
        """Yield constants that only the goal says, but for other spellings of what was asked."""
        plain = self.text.casefold().replace("-", " ")
        state = any(not self.meaning.knows(found[0]) for found in _UN.finditer(self.text))
        for one in self.unsaid:
            value = one.casefold().replace("-", " ")
            money = (names for names in _CURRENCIES if any(name == value for name in names))
            spelled = any(_stands(name, plain) for names in money for name in names)
            if value and (value in plain or spelled or (state and _is_state(one))):
                continue
            yield f"the question does not say “{one}”, and the goal does"


def _blank(found: re.Match[str]) -> str:
    """Leave places where they are."""
    return " " * len(found[0])


def _is_state(constant: str) -> bool:
    """Whether a constant is a word as states have: `open`, no name and no key."""
    return re.fullmatch(r"[a-z]{3,}", constant) is not None


def _near(number: Decimal, part: Decimal) -> bool:
    return abs(number - part) < Decimal("0.01") or abs(number - 100 * part) < 1


def _measures(name: str, text: str) -> bool:
    return re.search(rf"(?<![a-z]){name}s?(?![a-z])", text) is not None


def _stands(spelling: str, text: str) -> bool:
    if not spelling.isalpha():
        return spelling in text
    return bool(re.search(rf"\b{spelling}s?\b", text))


def _value(found: re.Match[str], name: str) -> Decimal:
    word = found[name].casefold().replace(",", "").replace("_", "")
    scale = (found[f"{name}scale"] or "").strip().casefold()
    value = Decimal(_WORDS.get(word, word))
    for one in re.findall("|".join(_SCALES), scale):
        value *= _SCALES[one]
    return value


def _opens(words: str, today: date) -> tuple[date, ...]:
    """Give the days on which "last month" may begin, the usual one first; one where it is a day."""
    days = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
    if words in days:
        return (today + timedelta(days[words]),)
    found = re.fullmatch(
        r"(?:(?P<way>this|last|next|past|previous|coming) )?(?P<n>\d+|two|three|six)? ?"
        r"(?P<unit>day|week|month|quarter|year)s?(?: ago)?",
        words,
    )
    if found is None:
        return ()
    way = found["way"] or "past"
    count = min(int(_WORDS.get(found["n"] or "one", 0) or found["n"]), 9_999)
    steps = {"this": 0, "next": 1, "coming": 1}.get(way, -count)
    rolling = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}[found["unit"]]
    try:
        first = _first(today, found["unit"], steps)
        back = {_back(today, found["unit"], -steps), today + timedelta(rolling * steps)}
        around = {one + timedelta(n) for one in back for n in (-1, 0, 1)} if steps < 0 else set()
        sunday = {first - timedelta(1)} if found["unit"] == "week" else set()
    except (ValueError, OverflowError):
        return ()
    return (first, *sorted((around | sunday) - {first}))


def _first(today: date, unit: str, steps: int) -> date:
    """Give the first day of a unit of the calendar, so many of them from today."""
    if unit == "day":
        return today + timedelta(steps)
    if unit == "week":
        return today - timedelta(today.weekday()) + timedelta(7 * steps)
    size = {"month": 1, "quarter": 3, "year": 12}[unit]
    month = today.year * 12 + (today.month - 1) // size * size + steps * size
    return date(month // 12, month % 12 + 1, 1)


def _back(today: date, unit: str, count: int) -> date:
    """Give the same day so many units ago: 23 November, one year ago."""
    if unit in {"day", "week"}:
        return today - timedelta(count * (7 if unit == "week" else 1))
    first = _first(today, "month", -count * {"month": 1, "quarter": 3, "year": 12}[unit])
    return first.replace(day=min(today.day, monthrange(first.year, first.month)[1]))


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
