"""Which claims belong into a context: the rules of memory over a history, with proofs."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat import __version__
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.engine import LazyEngine
from constat.evaluation import (
    CERTAIN,
    Answer,
    Evidence,
    Limits,
    Origin,
    Portion,
    ResourceError,
    Resources,
)
from constat.frozen import frozen
from constat.library import rule_files
from constat.library.loading import read_rules
from constat.logic import OPEN, Atom, Constant, Kind, Variable
from constat.memory.facts import Author, Place
from constat.memory.history import MAIN, SILENT, last_name, parent_of
from constat.store import clock
from constat.store.replacing import Scratch
from constat.syntax import exit_code
from constat.tiers.tier import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Demand, Verdict
    from constat.logic import Predicate, Row
    from constat.memory.history import Cited, Claim, History
    from constat.proof import Decision, Tree

# Rows depend on what was said and on the goal, and on nothing else; no row says what matters, for
# that is for the rules.

SPEAKERS: Final = tuple((author, author.name.lower()) for author in Author)
RETRACTION: Final = "retraction"
_LONGEST: Final = 300
_LONGEST_SLOT: Final = 90
_WORDS: Final = re.compile(r"[^\W_](?:[\w@#./:+$%-]*\w)?")
_LEAST_TELLING: Final = 3
_MOST_WORDS: Final = 8
_LONGEST_NAME: Final = 120
_MOST_BLANKS: Final = 7
# Of so many texts at the end it is said that they are fresh, and how.
NOW: Final = 12
LATELY: Final = 48
EARLIER: Final = 96
_FRESH: Final = ((NOW, "now"), (LATELY, "lately"), (EARLIER, "earlier"))
MOST_CELLS: Final = 40
# What the rules say in `relevance.dl`.
MAX_HOPS: Final = 3
COMMON_FROM: Final = 40
_NUMBER: Final = re.compile(r"[-+]?[0-9][0-9.,:]*")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]*Z?)?")
# A calculation says little once it is made; its result is somewhere else.
_FORMULA: Final = re.compile(r"[0-9.,()]+(?:[ ][-+*/][ ][0-9.,() ]+)+")
# A code names one thing: letters with digits, or with marks that no word has.
_CODE: Final = re.compile(r"(?=\S*[A-Za-z])(?=\S*[0-9_@/#])\S{3,}")
_BLANKS: Final = re.compile(r"\s+")


@frozen
class Fork:
    """Where a branch left the main one (so many messages), and where it came back, if it has."""

    branch: str
    start: int
    end: int | None = None


@frozen
class Known:
    """Everything that the rules are told: branches, pins, and what people took back and why.

    ``goal`` is a text; the values that it names are what counts of it. ``focus`` is the branch
    whose last human text tells what is being done.
    """

    histories: Sequence[History]
    forks: Sequence[Fork] = ()
    held: Sequence[tuple[str, str]] = ()
    taken_back: Sequence[tuple[str, str]] = ()
    goal: str = ""
    focus: str = MAIN


def rows_of(known: Known) -> dict[str, list[Row]]:
    """Return the rows of every predicate that comes from outside."""
    texts = [text for history in known.histories for text in history.texts]
    claims = [
        claim
        for history in known.histories
        for claim in history.claims
        if claim.fact.predicate not in SILENT
    ]
    words = Words()
    for value in {claim.fact.value for claim in claims if tells(claim)}:
        words.add(cell(value))
    found: dict[str, list[Row]] = {
        "stated": [*map(_stated, claims), *_retractions(known)],
        "shaped": [(claim.name, shape) for claim in claims if (shape := shape_of(claim))],
        "called": [(claim.name, called(claim)) for claim in claims if claim.fact.method == "json"],
        "within": list(_within(claims)),
        "akin": list(_akin(claims)),
        "fresh": list(_fresh(known)),
        "spoken": [(text.name, text.branch, text.at) for text in texts],
        "forked": [(one.branch, MAIN, _order(one.start)) for one in known.forks],
        "joined": [
            (one.branch, MAIN, _order(one.end)) for one in known.forks if one.end is not None
        ],
        "takes_back": [
            *((claim.name, claim.fact.value) for claim in claims if _retracts(claim)),
            *((f"retraction {at}", claim) for at, (claim, _) in enumerate(known.taken_back)),
        ],
        "held": list(known.held),
        "asked": [(value,) for value in sorted(words.within(known.goal))],
    }
    found["returned"] = [
        (text.name, cell(text.passage.tool), cell(text.passage.subject), text.at)
        for text in texts
        if text.passage.place is Place.ANSWER
    ]
    found["answers"] = list(_answers(texts))
    found["holds"], found["mentioned"] = _values(texts, claims, words)
    # A branch in which nothing was asked yet goes on with what was asked before it began.
    lasts = {one.branch: one.last_human for one in known.histories}
    last = lasts.get(known.focus) or lasts.get(MAIN)
    found["last_human"] = [] if last is None else [(last.name,)]
    return found


def _within(claims: Iterable[Claim]) -> Iterator[Row]:
    """Yield leaves with their objects; one of very many leaves is a list and no record."""
    records: dict[str, list[str]] = defaultdict(list)
    for one in claims:
        if one.fact.method == "json":
            records[record_of(one)].append(one.name)
    for record, names in records.items():
        if len(names) <= MOST_CELLS:
            yield from ((name, cell(record)) for name in names)


def _akin(claims: Iterable[Claim]) -> Iterator[Row]:
    """Yield names of leaves with longer names of arguments that end with them."""
    names = {called(one) for one in claims if one.fact.method == "json"}
    for longer in sorted({called(one) for one in claims if one.fact.predicate == "tool_arg"}):
        yield from ((name, longer) for name in endings(longer) if name in names)


def endings(name: str) -> tuple[str, ...]:
    """Return what a name ends with: `payment_id` with `id`."""
    parts = name.split("_")
    return tuple("_".join(parts[at:]) for at in range(1, len(parts)))


def _fresh(known: Known) -> Iterator[Row]:
    """Yield the last texts of what is being done now, in its branch or where that began."""
    branches = {known.focus, MAIN}
    found = [one for each in known.histories if each.branch in branches for one in each.texts]
    found.sort(key=lambda one: (one.branch == known.focus, one.at))
    for place, one in enumerate(freshest(found)):
        yield from ((one.name, when) for most, when in _FRESH if place < most)


def freshest(texts: Sequence[Cited]) -> list[Cited]:
    """Return the last of some texts, the newest first.

    They are in order but for those of one message.
    """
    start = max(0, len(texts) - EARLIER)
    while start and texts[start - 1].passage.message == texts[start].passage.message:
        start -= 1
    focus = texts[-1].branch if texts else MAIN
    latest = sorted(texts[start:], key=lambda one: (one.branch == focus, one.at))
    return latest[: -EARLIER - 1 : -1]


def slot_of(claim: Claim) -> str:
    """Return what a claim gives a value to."""
    one = claim.fact
    if one.predicate in {"pending", "done"}:
        return cell(_BLANKS.sub(" ", one.value).strip().lower())
    return cell(f"{one.subject} {one.key}".strip(), _LONGEST_SLOT)


def called(claim: Claim) -> str:
    """Return the last name of the path to a leaf: ``price`` of ``lines[0].price``."""
    return cell(last_name(claim.fact.key), _LONGEST_SLOT)


def record_of(claim: Claim) -> str:
    """Return the object that a leaf stands in: ``m3 lines[0]`` of ``lines[0].price`` in ``m3``."""
    one = claim.fact
    path = parent_of(one.key) if one.method == "json" else one.key.rpartition(".")[0]
    return f"{claim.text.name} {path}".strip()


def shape_of(claim: Claim) -> str:
    """Return what a value looks like; empty for a name or a number."""
    one = claim.fact
    value = one.value
    if one.kind in {"truth", "nothing"}:
        return "flag"
    if len(value) < _LEAST_TELLING:
        return "short"
    if one.kind == "date" or _DATE.fullmatch(value):
        return "date"
    if one.kind == "number" or _NUMBER.fullmatch(value):
        return ""
    if _FORMULA.fullmatch(value) or len(value) > _LONGEST_NAME or value.count(" ") > _MOST_BLANKS:
        return "prose"
    return "code" if _CODE.fullmatch(value) else ""


def cell(text: str, longest: int = _LONGEST) -> str:
    """Return a text as a cell: a long one by its beginning and its digest.

    What no certificate may hold, NUL and half a surrogate pair, becomes a mark for it.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    text = text.replace("\0", "\ufffd")
    if len(text) <= longest:
        return text
    shown = text[: longest * 2 // 3]
    return f"{shown}... sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _order(messages: int) -> int:
    return messages << 32


def _stated(claim: Claim) -> Row:
    one = claim.fact
    speaker = SPEAKERS[one.author][1]
    value = cell(one.value)
    return (claim.name, one.predicate, slot_of(claim), value, speaker, claim.text.name, claim.at)


def _retracts(claim: Claim) -> bool:
    return claim.fact.predicate == RETRACTION


def _retractions(known: Known) -> Iterator[Row]:
    """Yield what people took back through the interface: that is a person's word, and no text's."""
    for at, (claim, why) in enumerate(known.taken_back):
        yield (f"retraction {at}", RETRACTION, claim, cell(why), "human", "", at)


def _answers(texts: Sequence[Cited]) -> Iterator[Row]:
    asked: dict[tuple[str, str], str] = {}
    for text in texts:
        call = (text.branch, text.passage.call)
        if text.passage.place is Place.ARGUMENTS:
            asked[call] = text.name
        elif text.passage.place is Place.ANSWER and call in asked:
            yield (text.name, asked[call])


class Words:
    """The values that are looked for in prose, word by word, and the texts that were read.

    For each first word the lengths are known, so a text takes the same time however many values
    begin alike.
    """

    def __init__(self) -> None:
        self._lengths: dict[str, set[int]] = defaultdict(set)
        self._values: dict[tuple[str, ...], list[str]] = {}
        self._known: set[str] = set()
        self._texts: dict[str, list[int]] = {}
        self._read: dict[int, str] = {}

    def __contains__(self, value: str) -> bool:
        return value in self._known

    def add(self, value: str) -> Iterator[int]:
        """Look for a value from now on; gives the texts that were read before and have it."""
        self._known.add(value)
        words = tuple(_WORDS.findall(value.lower()))
        if not words or len(words) > _MOST_WORDS:
            return iter(())
        self._values.setdefault(words, []).append(value)
        self._lengths[words[0]].add(len(words))
        return self._having(words)

    def read(self, number: int, text: str) -> set[str]:
        """Read a text, which is known by its number; gives the values in it."""
        self._read[number] = text
        for word in dict.fromkeys(_WORDS.findall(text.lower())):
            self._texts.setdefault(word, []).append(number)
        return self.within(text)

    def within(self, text: str) -> set[str]:
        """Return the values that stand in a text, word for word."""
        words = _WORDS.findall(text.lower())
        found: set[str] = set()
        for at, word in enumerate(words):
            for length in self._lengths.get(word, ()):
                found.update(self._values.get(tuple(words[at : at + length]), ()))
        return found

    def _having(self, words: tuple[str, ...]) -> Iterator[int]:
        """Yield the texts that have some words one after the other."""
        rarest = min((self._texts.get(word, []) for word in words), key=len)
        for number in rarest:
            said = _WORDS.findall(self._read[number].lower())
            ends = range(len(said) - len(words) + 1)
            if any(tuple(said[at : at + len(words)]) == words for at in ends):
                yield number


def tells(claim: Claim) -> bool:
    """Tell whether a claim's value may be known again elsewhere."""
    one = claim.fact
    if one.predicate not in {"leaf", "tool_arg", "entity_value", "user_fact", "cell"}:
        return False
    if one.kind in {"truth", "nothing"} or len(one.value) < _LEAST_TELLING:
        return False
    return len(one.value) <= _LONGEST


def _values(
    texts: Sequence[Cited], claims: Sequence[Claim], words: Words
) -> tuple[list[Row], list[Row]]:
    """Return which values stand in which texts, and which of them came up again there."""
    holds: dict[tuple[str, str], None] = {}
    mentioned: dict[tuple[str, str, str, int], None] = {}
    for claim in claims:
        if tells(claim):
            value, text = cell(claim.fact.value), claim.text
            holds[text.name, value] = None
            if text.passage.author is not Author.TOOL:
                mentioned[value, how_of(text), text.name, text.at] = None
    for text in texts:
        if text.passage.place is Place.SAID:
            for value in sorted(words.within(text.passage.text)):
                holds[text.name, value] = None
                mentioned[value, how_of(text), text.name, text.at] = None
    return list(holds), list(mentioned)


def how_of(text: Cited) -> str:
    """Return how a value comes up in a text that is not a tool's."""
    if text.passage.place is Place.ARGUMENTS:
        return "asked"
    return "told" if text.passage.author is Author.ASSISTANT else "said"


# What is not among the rows was not said, so every key is answered.

SOURCE: Final = "archive of messages"
_PLAIN: Final = Evidence("database", Origin.DATABASE, SOURCE, "")


class SaidRows:
    """The rows of one predicate, found by any columns."""

    cost = 1

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch, without saying where each row is from."""
        rows = self.matching(demand)
        portions = (Portion(rows, _PLAIN),) if rows else ()
        return Answer(portions, (), frozenset(demand.keys), (_PLAIN,))

    def matching(self, demand: Demand) -> tuple[Row, ...]:
        """Return the rows that a demand asks for, each once."""
        index = self._index(demand.columns)
        return tuple(dict.fromkeys(row for key in demand.keys for row in index.get(key, ())))

    def _index(self, columns: tuple[int, ...]) -> dict[Row, list[Row]]:
        if columns not in self._indexes:
            found: dict[Row, list[Row]] = {}
            for row in self.rows:
                found.setdefault(tuple(row[column] for column in columns), []).append(row)
            self._indexes[columns] = found
        return self._indexes[columns]


_WANTED: Final = (
    "pinned",
    "of_class",
    "current",
    "nearest",
    "refused",
    "contradiction",
    "mended",
    "worked_later",
    "beside",
)
FAR: Final = 9
LAST: Final = 10
_MOST_ONE_BY_ONE: Final = 600
_SECONDS: Final = 120.0


@frozen
class MemoryRules:
    """The rules, analysed; ``digest`` names their text."""

    program: AnalysedProgram = field(repr=False)
    digest: str


@frozen
class Decided:
    """What the rules say: sets of names of claims, and steps by the names of texts.

    ``mended`` names the answers that put errors right, ``worked`` those to other calls of the tool;
    ``beside`` names the cells that stay beside a claim.
    """

    pinned: frozenset[str]
    current: frozenset[str]
    refused: frozenset[str]
    classes: Mapping[str, int] = field(hash=False)
    hops: Mapping[str, int] = field(hash=False)
    contradictions: tuple[tuple[str, str], ...] = ()
    mended: Mapping[str, str] = field(default_factory=dict, hash=False)
    worked: Mapping[str, str] = field(default_factory=dict, hash=False)
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def level(self, claim: str) -> int:
        """Return the class of a claim: 1 is pinned, 10 is what nobody asked for, 0 is left out."""
        if claim in self.pinned:
            return 1
        if claim not in self.current:
            return 0
        return self.classes.get(claim, LAST)

    def put_right(self, error: str, tool: str) -> str:
        """Say whether an error of a tool was put right; another call proves nothing about it."""
        if error in self.mended:
            return f"put right in @{self.mended[error]}"
        later = self.worked.get(error, "")
        return f"not put right; {tool} did well in @{later}" if later else "not put right"


def rules_folder(package: Path = Path(__file__).parent) -> Path:
    """Return where the rules lie: in an installed package, or in ``rules/memory`` of a checkout.

    Raises ``ConstatError`` C0805 where they are in neither.
    """
    for folder in (package / "rules", package.parents[1] / "rules" / "memory"):
        if (folder / "view.dl").is_file():
            return folder
    message = "the rules of memory are missing"
    told = Diagnostic("C0805", message, help="install Constat again; `rules/memory` has them")
    raise ConstatError([told])


def load_rules(own: Path | None = None) -> MemoryRules:
    """Load the rules; files in ``own`` take the place of those of the same name, or are added.

    Raises ``ConstatError`` with every mistake in them, and where a predicate is missing.
    """
    return _shipped_rules() if own is None else _joined_rules(own)


@lru_cache(maxsize=1)
def _shipped_rules() -> MemoryRules:
    """Load the rules of the package, which are the same for every memory of a program."""
    return _read_rules(rules_folder())


def _joined_rules(own: Path) -> MemoryRules:
    """Read the rules of the package with those of a folder in their place or beside them."""
    try:
        with Scratch() as place:
            for source in (rules_folder(), own):
                for path in sorted(source.glob("*.dl")):
                    shutil.copyfile(path, place.path / path.name)
            return _read_rules(place.path)
    except OSError as problem:
        message = f"the rules of memory cannot be joined: {problem.strerror or problem}"
        told = Diagnostic("C0805", message, help="see that the temporary folder has room")
        raise ConstatError([told]) from None


def _read_rules(folder: Path) -> MemoryRules:
    diagnostics: list[Diagnostic] = []
    texts: dict[str, str] = {}
    files = rule_files([folder], diagnostics)
    program = read_rules(files, [folder], diagnostics, texts)
    if program is None:
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        raise ConstatError(errors, exit_code=exit_code(errors))
    missing = [name for name in _WANTED if name not in program.program.predicates]
    if missing:
        message = f"the rules of memory declare no `{missing[0]}`"
        raise ConstatError([Diagnostic("C0805", message)])
    joined = "\0".join(f"{name}\0{text}" for name, text in sorted(texts.items()))
    return MemoryRules(program, hashlib.sha256(joined.encode()).hexdigest())


def decide(
    rules: MemoryRules, rows: Mapping[str, Sequence[Row]], *, bulk: bool | None = None
) -> Decided:
    """Run the rules over rows; a predicate without rows is empty.

    ``bulk`` says whether whole relations are computed, which pays for many rows; the result is the
    same. ``None`` leaves that to their number.
    """
    if bulk is None:
        bulk = sum(map(len, rows.values())) > _MOST_ONE_BY_ONE
    found = None if bulk else _one_by_one(rules, rows)
    return _in_bulk(rules, rows) if found is None else found


class _Gathered:
    """What was found so far; each name is the text that the rows have, and no copy of it."""

    def __init__(self, rows: Mapping[str, Sequence[Row]]) -> None:
        known = [*rows.get("stated", ()), *rows.get("spoken", ())]
        self._known = {name: name for name, *_ in known}
        self._sets: dict[str, set[str]] = defaultdict(set)
        self._classes: dict[str, int] = {}
        self._hops: dict[str, int] = {}
        self._pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)

    def take(self, predicate: str, rows: Iterable[Row]) -> None:
        """Take rows of a predicate over."""
        match predicate:
            case "of_class":
                for claim, level in rows:
                    name, number = self._name(claim), int(str(level))
                    self._classes[name] = min(number, self._classes.get(name, number))
            case "nearest":
                self._hops.update((self._name(text), int(str(hops))) for text, hops in rows)
            case "contradiction" | "mended" | "worked_later" | "beside":
                self._pairs[predicate] += [(self._name(one), self._name(two)) for one, two in rows]
            case _:
                self._sets[predicate].update(self._name(name) for (name,) in rows)

    def decided(self) -> Decided:
        """Give all of it, in an order that does not depend on that of the rows."""
        beside: dict[str, list[str]] = defaultdict(list)
        for claim, key in sorted(self._pairs["beside"]):
            beside[key].append(claim)
        return Decided(
            beside={key: tuple(claims) for key, claims in beside.items()},
            pinned=frozenset(self._sets["pinned"]),
            current=frozenset(self._sets["current"]),
            refused=frozenset(self._sets["refused"]),
            classes=self._classes,
            hops=self._hops,
            contradictions=tuple(sorted(self._pairs["contradiction"])),
            mended=dict(sorted(self._pairs["mended"])),
            worked=dict(sorted(self._pairs["worked_later"])),
        )

    def _name(self, value: object) -> str:
        name = str(value)
        return str(self._known.get(name, name))


def _in_bulk(rules: MemoryRules, rows: Mapping[str, Sequence[Row]]) -> Decided:
    # Evaluating in bulk loads a database engine, which a short session does not need.
    from constat.forward import Options, Rows, evaluate  # noqa: PLC0415  loaded when it is used

    wanted = [_free(rules, name) for name in _WANTED]
    inputs = {name: Rows(rows.get(name, ())) for name in rules.program.external}
    # Relations of some ten thousand rows: a second thread takes more memory and no less time.
    options = Options(resources=Resources(seconds=_SECONDS, threads=1))
    found = _Gathered(rows)
    try:
        with evaluate(rules.program, wanted, inputs, options) as results:
            for place, name in enumerate(_WANTED):
                for batch in results.batches(place):
                    found.take(name, batch)
    except ResourceError as problem:
        message = f"the rules of memory came to no end: {problem}"
        raise ConstatError([Diagnostic("C0809", message)]) from problem
    return found.decided()


def _one_by_one(rules: MemoryRules, rows: Mapping[str, Sequence[Row]]) -> Decided | None:
    """Ask goal by goal; `None` where that was stopped by a limit."""
    engine = LazyEngine()
    given = {name: SaidRows(rows.get(name, ())) for name in rules.program.external}
    found = _Gathered(rows)
    for name in _WANTED:
        goal = _free(rules, name)
        outcome = engine.evaluate(rules.program, goal, given, Limits(), exhaust=True)
        if outcome.stopped not in {"", "settled"}:
            return None
        # Everything is known, so no row has a placeholder.
        certain: list[Row] = [row for row in outcome.rows(name, CERTAIN) if OPEN not in row]  # type: ignore[misc]
        found.take(name, certain)
    return found.decided()


def _free(rules: MemoryRules, name: str) -> Atom:
    arity = rules.program.program.predicates[name].arity
    return Atom(name, tuple(Variable(f"?v{place}") for place in range(arity)))


_LIMITS: Final = Limits(seconds=20.0, rows=2_000_000, calls=100_000)


@dataclass(frozen=True)
class Proof:
    """One goal about a claim, with its verdict; tree and certificate are made when asked for."""

    goal: str
    verdict: Verdict
    created: str
    decision: Decision = field(repr=False, compare=False)

    @cached_property
    def tree(self) -> Tree:
        """The proof, from the goal down to what was said."""
        from constat.proof import proof_tree  # noqa: PLC0415  loaded when it is used

        tree: Tree = proof_tree(self.decision)
        return tree

    @cached_property
    def text(self) -> str:
        """The proof for people."""
        from constat.proof import render_tree  # noqa: PLC0415  loaded when it is used

        text: str = render_tree(self.tree)
        return text

    @cached_property
    def certificate(self) -> bytes:
        """The certificate, for a checker."""
        from constat.proof import build_certificate  # noqa: PLC0415  loaded when it is used

        written: bytes = build_certificate(
            self.decision, created=self.created, engine_version=f"constat {__version__}"
        )
        return written


class Proving:
    """Decides goals about one state of a history; ``state`` says which, for the evidence."""

    def __init__(
        self,
        rules: MemoryRules,
        rows: Mapping[str, Sequence[Row]],
        claims: Mapping[str, Claim],
        state: str,
    ) -> None:
        self._rules = rules
        self._externals = {
            name: _CitedRows(rows.get(name, ()), claims if name == "stated" else {}, state)
            for name in rules.program.external
        }

    def why(self, claim: str, decided: Decided) -> Proof:
        """Prove what the rules say of a claim: why it is in sight, or why it is not."""
        level = decided.level(claim)
        if level == 0:
            return self.prove("refused" if claim in decided.refused else "superseded", claim)
        if level == 1:
            return self.prove("pinned", claim)
        return (
            self.prove("current", claim) if level == LAST else self.prove("of_class", claim, level)
        )

    def prove(self, predicate: str, claim: str, *others: int) -> Proof:
        """Decide a predicate of a claim."""
        # Proofs are made for people who ask; contexts are made without them.
        from constat import proof as proving  # noqa: PLC0415  loaded when it is used

        numbers = (Constant(one, Kind.NUMBER) for one in others)
        goal = Atom(predicate, (Constant(claim, Kind.SYMBOL), *numbers))
        created = clock.now()
        decision: Decision = proving.decide(
            LazyEngine(), self._rules.program, goal, self._externals, _LIMITS
        )
        asked = ", ".join(map(str, (claim, *others)))
        return Proof(f"{predicate}({asked})", decision.verdict, created, decision)


class _CitedRows(SaidRows):
    """Rows with where each of them was said."""

    def __init__(self, rows: Sequence[Row], claims: Mapping[str, Claim], state: str) -> None:
        super().__init__(rows)
        self._claims = claims
        self._state = state

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        rows = self.matching(demand)
        predicate = demand.predicate
        whole = self._evidence(predicate, self.rows)
        cited = [row for row in rows if str(row[0]) in self._claims]
        other = tuple(row for row in rows if str(row[0]) not in self._claims)
        portions = [Portion((row,), self._cited(predicate, row)) for row in cited]
        portions += [Portion(other, whole)] if other else []
        return Answer(tuple(portions), (), frozenset(demand.keys), (whole,))

    def _evidence(self, predicate: Predicate, rows: Sequence[Row]) -> Evidence:
        distinct = tuple(dict.fromkeys(rows))
        return Evidence(
            tier="database",
            origin=Origin.DATABASE,
            source=SOURCE,
            executed_at=clock.now(),
            query=f"{predicate.name}: extracted from {self._state}",
            row_count=len(distinct),
            content_hash=content_hash(distinct, predicate.kinds),
            snapshot=self._state,
        )

    def _cited(self, predicate: Predicate, row: Row) -> Evidence:
        claim = self._claims[str(row[0])]
        span = claim.fact.span
        return Evidence(
            tier="database",
            origin=Origin.DATABASE,
            source=SOURCE,
            executed_at=clock.now(),
            query=f"bytes {span.start} to {span.end} of {span.archive}, which is {claim.text.name}",
            row_count=1,
            content_hash=content_hash((row,), predicate.kinds),
            snapshot=self._state,
        )
