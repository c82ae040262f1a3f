"""What the rules of memory say of one growing history, kept up to date text by text.

In: a history, and what people pinned and took back.  Out: the order in which claims are offered to
a context.  Invariants: it is what the rules of ``rules/memory`` say of the same history, claim by
claim (tests compare both); it does not depend on when it was asked before; one more message costs
what it says, and a context what is in play, however long the history is.

The rules stay what is proved: ``Memory.why`` asks them, and a folder with rules of one's own is
asked itself.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.memory.decisions import (
    COMMON_FROM,
    FAR,
    LAST,
    LATELY,
    MAX_HOPS,
    MOST_CELLS,
    NOW,
    RETRACTION,
    Words,
    called,
    cell,
    endings,
    freshest,
    how_of,
    record_of,
    shape_of,
    slot_of,
    tells,
)
from constat.memory.facts import Author, Place
from constat.memory.history import SILENT, WHOLE
from constat.memory.tokens import estimate
from constat.memory.view import MOST_PLACES, NOT_TAKEN_UP, Faces, offers, what_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from constat.memory.history import Cited, Claim, History
    from constat.memory.view import Place as Placed
    from constat.memory.view import What

# The tables of the rules: trust.dl, currency.dl, view.dl.
_FUNCTIONAL: Final = frozenset({"leaf", "cell", "column", "user_fact", "artifact"})
_BY_PEOPLE: Final = frozenset({"task", "constraint", "preference", RETRACTION, "correction"})
_BY_MODELS: Final = frozenset({"pending", "done", "decision"})
_PINNED: Final = frozenset({"task", "constraint"})
_WORTH: Final = MappingProxyType(
    {
        **dict.fromkeys(("preference", "decision", "correction", "user_fact"), 2),
        **dict.fromkeys(("artifact", "promise"), 2),
        "command": 3,
        **dict.fromkeys(("column", "table", "query"), 7),
        **dict.fromkeys(("question", "done", "said", "quoted"), 8),
    }
)
_SENTENCES: Final = frozenset(
    {
        *("said", "quoted", "decision", "preference", "correction", "user_fact", "promise"),
        *("question", "query", "done"),
    }
)
_LITTLE: Final = frozenset({"prose", "flag", "short"})
_NOTHING: Final[Mapping[What, list[int]]] = MappingProxyType({})

# What is known of a claim.
_CURRENT: Final = 1
_IS_LITTLE: Final = 2
_TAKEN: Final = 4
_SHORT_ARGUMENT: Final = 8
_CODE: Final = 16
_OFFERED: Final = 32
_REPEATED: Final = 64
_LEAF: Final = 128
_NEXT: Final = 256
_CANDIDATE: Final = _CODE | _OFFERED | _REPEATED
# When a claim came up last: not lately, though what its text tells of still does, lately, now.
_OLD: Final = 0
_TOLD_OF: Final = 1
_LATELY: Final = 2
_NOW: Final = 3
_OPEN_CHOICE: Final = (7, 4, 4, 3)


@lru_cache(maxsize=4096)
def _class(flags: int, kind: str, when: int) -> int:
    """Return the class of a claim that holds, by what is known of it, but for its distance."""
    found = [LAST]
    little = bool(flags & _IS_LITTLE)
    lately = when >= _LATELY
    worth = _WORTH.get(kind, 0)
    if worth and (not little or kind in _SENTENCES):
        found.append(worth)
    if flags & _SHORT_ARGUMENT or (flags & _REPEATED and flags & _CODE and lately):
        found.append(2)
    if not little:
        if flags & _TAKEN:
            found.append(2 if lately else 5)
        if flags & _CANDIDATE:
            found.append(3 if flags & _NEXT and when else _OPEN_CHOICE[when])
        if when == _NOW:
            found.append(6)
        if flags & _REPEATED:
            found.append(9)
    return min(found)


def _may_say(kind: str, author: Author) -> bool:
    if kind in _BY_PEOPLE:
        return author >= Author.HUMAN
    return kind not in _BY_MODELS or author in {Author.ASSISTANT, Author.HUMAN, Author.SYSTEM}


class _Tools:
    """What tools answered last, and which of their texts have errors."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.answers: dict[int, list[int]] = {}
        self._answered: dict[str, tuple[int, int]] = {}
        self._heard: dict[str, tuple[int, int]] = {}
        self._errors: dict[int, list[int]] = defaultdict(list)

    def take(self, number: int, text: Cited) -> None:
        """Take a text in."""
        passage = text.passage
        if passage.place is Place.ARGUMENTS:
            self.asked[passage.call] = number
        elif passage.place is Place.ANSWER:
            if passage.call in self.asked:
                self.answers.setdefault(self.asked[passage.call], []).append(number)
            one = (text.at, number)
            for table, name in ((self._answered, passage.subject), (self._heard, passage.tool)):
                table[cell(name)] = max(one, table.get(cell(name), one))

    def fail(self, number: int, claim: int) -> None:
        """Take in that a text says that something went wrong."""
        self._errors[number].append(claim)

    def pressing(self, texts: Sequence[Cited]) -> Iterator[int]:
        """Yield the errors that are the last word of their tools."""
        for at, number in self._heard.values():
            if number in self._errors:
                answered = self._answered[cell(texts[number].passage.subject)]
                if answered[0] == at:
                    yield from self._errors[number]

    def put_right(self, text: Cited, texts: Sequence[Cited]) -> str:
        """Say whether an error in a text was put right; another call proves nothing about it."""
        passage = text.passage
        if passage.place is not Place.ANSWER:
            return "not put right"
        tool = cell(passage.tool)
        at, by = self._answered[cell(passage.subject)]
        if at > text.at:
            same = cell(texts[by].passage.tool) == tool and by not in self._errors
            return f"put right in @{texts[by].name}" if same else "not put right"
        _, other = self._heard[tool]
        if other in self._errors:
            return "not put right"
        return f"not put right; {passage.tool} did well in @{texts[other].name}"


class _Tasks:
    """What was listed as pending or done, and what is open of it."""

    def __init__(self) -> None:
        self._listed: dict[str, tuple[int, list[int]]] = {}

    def take(self, slot: str, at: int, claim: int, *, is_open: bool) -> None:
        """Take in that a task was listed."""
        last, found = self._listed.get(slot, (-1, []))
        if at > last:
            self._listed[slot] = (at, [claim] if is_open else [])
        elif at == last and is_open:
            found.append(claim)

    def open(self) -> Iterator[int]:
        """Yield what is open."""
        for _, found in self._listed.values():
            yield from found


class _Values:
    """Where values stand, and when they came up last."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.claims: list[list[int]] = []
        self.texts: list[list[int]] = []
        self.in_text: list[set[int]] = []
        self.asked: list[int] = []
        self.told: list[int] = []
        self.unused: dict[int, list[int]] = defaultdict(list)
        self.untold: dict[int, list[int]] = defaultdict(list)
        self.rooms: list[int] = []

    def number(self, value: str) -> int:
        """Return the number of a value."""
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = len(self.claims)
            self.claims.append([])
            self.texts.append([])
            self.asked.append(-1)
            self.told.append(-1)
            self.rooms.append(-1)
        return found

    def hold(self, text: int, value: int) -> None:
        """Take in that a value stands in a text."""
        if value not in self.in_text[text]:
            self.in_text[text].add(value)
            self.texts[value].append(text)

    def tells_apart(self, value: int) -> bool:
        """Tell whether a value stands in few texts."""
        return len(self.texts[value]) <= COMMON_FROM


class Standing:
    """One history of the main branch; ``dead`` names what people took back."""

    def __init__(self, history: History, dead: Collection[str] = ()) -> None:
        self.history = history
        self.faces = Faces()
        self.values = _Values()
        self.tools = _Tools()
        self.tasks = _Tasks()
        self.flags: list[int] = []
        # The class of each claim that holds as if nothing of it had come up lately.
        self.levels: list[int] = []
        self.of_text: list[list[int]] = []
        self.text_of: list[int] = []
        self.numbers: dict[str, int] = {}
        self.pins: list[int] = []
        self.against: dict[str, tuple[tuple[int, int], ...]] = {}
        self.buckets: dict[tuple[int, int], dict[What, list[int]]] = {}
        self.retracts = False
        self._dead = frozenset(dead)
        self._slots: dict[str, list[int]] = {}
        self._words = Words()
        self._names: dict[str, list[int]] = defaultdict(list)
        self.asked_by: dict[int, list[int]] = defaultdict(list)
        self._offered: set[str] = set()
        self.whats: list[What] = []
        self._news: dict[int, Mapping[int, set[What]]] = {}
        self._whats: dict[What, What] = {}
        self._next: dict[int, frozenset[int]] = {}

    def update(self) -> None:
        """Take in what was said since."""
        texts = self.history.texts
        first = len(self.of_text)
        new = range(first, len(texts))
        for number in new:
            self.numbers[texts[number].name] = number
            self.of_text.append([])
            self.values.in_text.append(set())
            self.tools.take(number, texts[number])
        begun = len(self.flags)
        claims = self.history.claims[begun:]
        self.flags += [0] * len(claims)
        self.levels += [LAST] * len(claims)
        self.whats += [self._whats.setdefault(one, one) for one in map(what_of, claims)]
        self.text_of += [self.numbers[one.text.name] for one in claims]
        values: dict[str, int] = {}
        for number in range(begun, len(self.flags)):
            claim = self.history.claims[number]
            if claim.fact.predicate not in SILENT:
                self._take(number, claim)
                if tells(claim):
                    self._told(claim, values)
        self._spoken([number for number in new if texts[number].passage.place is Place.SAID])
        for value, number in values.items():
            for text in self._words.add(value):
                self._mention(number, text)

    def _told(self, claim: Claim, values: dict[str, int]) -> None:
        """Take in that a value stands in a text; ``values`` are those that are new."""
        value, text = cell(claim.fact.value), self.numbers[claim.text.name]
        number = self.values.number(value)
        if value not in self._words:
            values[value] = number
        if claim.text.passage.author is Author.TOOL:
            self.values.hold(text, number)
        else:
            self._mention(number, text)

    def _spoken(self, texts: Sequence[int]) -> None:
        """Take in what people and models said, word by word."""
        for number in texts:
            for value in self._words.read(number, self.history.texts[number].passage.text):
                self._mention(self.values.number(value), number)

    def _mention(self, value: int, text: int) -> None:
        """Take in that a value came up in a text, by no tool."""
        values, cited = self.values, self.history.texts[text]
        values.hold(text, value)
        told = how_of(cited) == "told"
        last, waiting = (values.told, values.untold) if told else (values.asked, values.unused)
        if cited.at <= last[value]:
            return
        last[value] = cited.at
        left = []
        for number in waiting.pop(value, ()):
            if self.history.claims[number].at < cited.at:
                self._know(number, _REPEATED if told else _TAKEN)
            else:
                left.append(number)
        if left:
            waiting[value] = left

    def _take(self, number: int, claim: Claim) -> None:
        """Take one claim in."""
        fact = claim.fact
        kind, shape = fact.predicate, shape_of(claim)
        value = self.values.number(cell(fact.value))
        self.values.claims[value].append(number)
        self.of_text[self.text_of[number]].append(number)
        self.retracts = self.retracts or kind == RETRACTION
        self._next.pop(self.text_of[number], None)
        flags = _CODE if shape == "code" else _IS_LITTLE if shape in _LITTLE else 0
        if kind == "tool_arg":
            flags |= _TAKEN | (_SHORT_ARGUMENT if shape == "short" else 0)
            if fact.method == "json":
                self._offer(called(claim))
            if shape == "code":
                self.asked_by[value].append(self.text_of[number])
        elif kind == "entity_value" and fact.author is Author.HUMAN:
            flags |= _TAKEN
        elif kind == "leaf":
            flags |= _LEAF | self._leaf(number, claim, value)
        self.flags[number] = flags
        dead = claim.name in self._dead and fact.author <= Author.HUMAN
        if kind in _FUNCTIONAL and not self._stands(number, claim):
            return
        if not dead and _may_say(kind, fact.author):
            self._holds(number, claim)

    def _leaf(self, number: int, claim: Claim, value: int) -> int:
        """Return what is known of what a tool said; the rest is known later."""
        flags, values = 0, self.values
        if values.asked[value] > claim.at:
            flags |= _TAKEN
        else:
            values.unused[value].append(number)
        if values.told[value] > claim.at:
            flags |= _REPEATED
        else:
            values.untold[value].append(number)
        if claim.fact.method == "json":
            name = called(claim)
            self._names[name].append(number)
            flags |= _OFFERED if name in self._offered else 0
        return flags

    def _holds(self, number: int, claim: Claim) -> None:
        kind = claim.fact.predicate
        self.flags[number] |= _CURRENT
        self._into(number)
        if kind in _PINNED:
            self.pins.append(number)
        elif kind in {"pending", "done"}:
            self.tasks.take(slot_of(claim), claim.at, number, is_open=kind == "pending")
        elif kind == "error":
            text = self.numbers[claim.text.name]
            if claim.text.passage.place is Place.ANSWER:
                self.tools.fail(text, number)

    def _offer(self, name: str) -> None:
        """Take in that tools are asked with something of a name."""
        for one in (name, *endings(name)):
            if one not in self._offered:
                self._offered.add(one)
                for number in self._names.get(one, ()):
                    self._know(number, _OFFERED)

    def _stands(self, number: int, claim: Claim) -> bool:
        """Tell whether a value is the last word on its slot; it ends those that were."""
        slot, claims = slot_of(claim), self.history.claims
        kept = self._slots.get(slot, [])
        author, at = claim.fact.author, claim.at
        if any(claims[one].fact.author >= author and claims[one].at > at for one in kept):
            return False
        left = []
        for one in kept:
            other = claims[one]
            if author >= other.fact.author and at > other.at:
                self._ends(one)
            else:
                left.append(one)
        left.append(number)
        self._slots[slot] = left
        self.against.pop(slot, None)
        if len(left) > 1:
            self._oppose(slot, left)
        return True

    def _ends(self, number: int) -> None:
        if self.flags[number] & _CURRENT:
            self._out(number)
            self.flags[number] &= ~_CURRENT

    def _oppose(self, slot: str, kept: Sequence[int]) -> None:
        """Take in that values of one slot contradict each other."""
        claims = self.history.claims
        alive = [one for one in kept if claims[one].name not in self._dead]
        pairs = [
            (one, other)
            for one in alive
            for other in alive
            if claims[one].name < claims[other].name
            and cell(claims[one].fact.value) != cell(claims[other].fact.value)
        ]
        if pairs:
            self.against[slot] = tuple(pairs)

    def _know(self, number: int, flag: int) -> None:
        """Take in something new of a claim."""
        if not self.flags[number] & flag:
            self._next.pop(self.text_of[number], None)
            self._out(number)
            self.flags[number] |= flag
            self._into(number)

    # Claims that hold lie in buckets, by their class as if nothing of it had come up lately, and by
    # what their value takes.

    def key(self, number: int, level: int) -> tuple[int, int]:
        """Return the bucket of a claim in a class."""
        claim = self.history.claims[number]
        if level < NOT_TAKEN_UP or claim.fact.predicate in WHOLE:
            return level, 0
        value = self.values.number(cell(claim.fact.value))
        room = self.values.rooms[value]
        if room < 0:
            room = self.values.rooms[value] = estimate(claim.fact.value)
        return level, room

    def level(self, number: int, when: int) -> int:
        """Return the class of a claim that holds, by when it came up."""
        flags, text = self.flags[number], self.text_of[number]
        if when and flags & _CANDIDATE and flags & _LEAF:
            if text not in self._next:
                self._next[text] = self._gone_through(text)
            flags |= _NEXT if number in self._next[text] else 0
        return _class(flags, self.history.claims[number].fact.predicate, when)

    def _gone_through(self, text: int) -> frozenset[int]:
        """Return the entries of lists of which another one was taken up."""
        sizes: dict[str, int] = defaultdict(int)
        lists: dict[tuple[str, str], list[int]] = defaultdict(list)
        for one in self.of_text[text]:
            claim = self.history.claims[one]
            if claim.fact.method == "json":
                sizes[record_of(claim)] += 1
                if self.flags[one] & _LEAF:
                    lists[record_of(claim), called(claim)].append(one)
        found: set[int] = set()
        for (record, _), entries in lists.items():
            used = [one for one in entries if self.flags[one] & _TAKEN]
            if used and sizes[record] <= MOST_CELLS:
                found.update(entries if len(used) > 1 else set(entries) - {*used})
        return frozenset(found)

    def news_of(self, text: int) -> Mapping[int, set[What]]:
        """Return what a text says that holds, by classes as if nothing had come up lately."""
        found = self._news.get(text)
        if found is None:
            found = self._news[text] = self.by_class(self.of_text[text], {})
        return found

    def by_class(self, numbers: Iterable[int], moved: Mapping[int, int]) -> Mapping[int, set[What]]:
        """Return what claims say that hold, by their classes, but for those that moved."""
        found: dict[int, set[What]] = defaultdict(set)
        for one in numbers:
            if self.flags[one] & _CURRENT:
                found[moved.get(one, self.levels[one])].add(self.whats[one])
        return found

    def _into(self, number: int) -> None:
        self._news.pop(self.text_of[number], None)
        if self.flags[number] & _CURRENT:
            claim, what = self.history.claims[number], self.whats[number]
            level = self.levels[number] = self.level(number, _OLD)
            bucket = self.buckets.setdefault(self.key(number, level), {})
            same = bucket.setdefault(what, [])
            if same and claim.at < self.history.claims[same[-1]].at:
                insort(same, number, key=lambda one: (self.history.claims[one].at, one))
            else:
                same.append(number)

    def _out(self, number: int) -> None:
        self._news.pop(self.text_of[number], None)
        if self.flags[number] & _CURRENT:
            key, what = self.key(number, self.levels[number]), self.whats[number]
            bucket = self.buckets[key]
            bucket[what].remove(number)
            if not bucket[what]:
                del bucket[what]
                if not bucket:
                    del self.buckets[key]

    def seen(self, goal: str, held: Sequence[str]) -> Seen:
        """Return what holds now, for a goal; ``held`` names what people pinned."""
        return Seen(self, self._words.within(goal), held)


class Seen:
    """What a history says now: an ``Order``."""

    def __init__(self, standing: Standing, asked: Collection[str], held: Sequence[str]) -> None:
        self.faces = standing.faces
        self._standing = standing
        self._claims = standing.history.claims
        self._pinned = self._pins(held)
        self._fixed = {standing.text_of[number] for number in self._pinned}
        self._alive = self._came_up()
        self._moved: dict[int, int] = {}
        self._news: dict[int, Mapping[int, set[What]]] = {}
        self._lively = {standing.text_of[number] for number in self._alive}
        self._hops = self._near(asked)

    @property
    def count(self) -> int:
        """How many claims there are."""
        return len(self._claims)

    @property
    def pinned(self) -> Sequence[Claim]:
        """What is always in sight, the newest first."""
        found = [self._claims[one] for one in self._pinned]
        return sorted(found, key=lambda one: (-one.at, one.name))

    @property
    def contradictions(self) -> Sequence[tuple[str, str]]:
        """The claims that contradict each other."""
        claims = self._claims
        pairs = (pair for each in self._standing.against.values() for pair in each)
        return sorted((claims[one].name, claims[other].name) for one, other in pairs)

    def put_right(self, error: Claim) -> str:
        """Say whether an error was put right."""
        standing = self._standing
        return standing.tools.put_right(error.text, standing.history.texts)

    def news(self, claim: Claim, level: int) -> Collection[What]:
        """Return what the text of a claim says of a class."""
        standing = self._standing
        text = standing.numbers[claim.text.name]
        # Where nothing moves a claim, it is of the class that it had for the last context.
        moves = text in self._hops and level >= LAST - 1
        if not moves and text not in self._lively and text not in self._fixed:
            return standing.news_of(text).get(level, frozenset())
        found = self._news.get(text)
        if found is None:
            free = (one for one in standing.of_text[text] if one not in self._pinned)
            found = self._news[text] = standing.by_class(free, self._moved)
        return found.get(level, frozenset())

    def groups(
        self, wanted: Callable[[Claim], bool], said: Collection[What]
    ) -> Iterator[tuple[int, list[list[Claim]]]]:
        """Yield classes, and the claims in them that say the same, as they are to be offered."""
        now: dict[tuple[int, int], dict[What, list[int]]] = {}
        self._moved = moved = {}
        self._news.clear()
        standing = self._standing
        for number, when in self._alive.items():
            level = standing.level(number, when)
            if level != standing.levels[number] and standing.flags[number] & _CURRENT:
                moved[number] = level
                self._sort(now, number, level)
        for level in range(2, LAST + 1):
            if level == LAST - 1:
                self._news.clear()
                for number in self._nearby(moved):
                    moved[number] = level
                    self._sort(now, number, level)
            yield from self._class(level, now, moved, wanted, said)

    def beside(self, key: Claim) -> list[Claim]:
        """Return the cells that stay beside a claim: what tools are asked with, of its record."""
        standing, text = self._standing, self._standing.numbers[key.text.name]
        if key.fact.method != "json" or text not in self._lively:
            return []
        siblings = standing.of_text[text]
        number = next((one for one in siblings if self._claims[one] is key), -1)
        when = self._alive.get(number, _OLD)
        if when < _LATELY:
            return []
        flags = standing.flags[number]
        if not flags & _CURRENT:
            return []
        wanted, kinds = 0, ""
        if flags & _CODE or (flags & _CANDIDATE and not flags & _IS_LITTLE and when == _NOW):
            wanted = _OFFERED
        if key.fact.predicate == "tool_arg" and not flags & _IS_LITTLE and when == _NOW:
            kinds = "tool_arg"
        if not wanted and not kinds:
            return []
        record = record_of(key)
        same = [
            one
            for one in siblings
            if self._claims[one].fact.method == "json" and record_of(self._claims[one]) == record
        ]
        if len(same) > MOST_CELLS:
            return []
        found = [
            self._claims[one]
            for one in same
            if one != number
            and standing.flags[one] & _CURRENT
            and not standing.flags[one] & _IS_LITTLE
            and (standing.flags[one] & wanted or self._claims[one].fact.predicate == kinds)
        ]
        return sorted(found, key=lambda one: one.name)

    def level_of(self, claim: Claim) -> int:
        """Return the class of a claim: 1 is pinned, 0 is left out."""
        standing = self._standing
        text = standing.numbers[claim.text.name]
        number = next(one for one in standing.of_text[text] if self._claims[one] is claim)
        if number in self._pinned:
            return 1
        if not standing.flags[number] & _CURRENT:
            return 0
        level = standing.level(number, self._alive.get(number, _OLD))
        near = text in self._hops and not standing.flags[number] & _IS_LITTLE
        return min(level, LAST - 1) if near else level

    def hops_of(self, claim: Claim) -> int:
        """Return how many steps the text of a claim is from what is being done."""
        return self._hops.get(self._standing.numbers[claim.text.name], FAR)

    def _pins(self, held: Sequence[str]) -> frozenset[int]:
        standing = self._standing
        found = {*standing.pins, *standing.tasks.open()}
        found.update(standing.tools.pressing(standing.history.texts))
        found.update(one for each in standing.against.values() for pair in each for one in pair)
        names = set(held)
        if names:
            places = {name.partition("[")[0].partition(" ")[0] for name in names}
            for place in places & standing.numbers.keys():
                siblings = standing.of_text[standing.numbers[place]]
                found.update(one for one in siblings if self._claims[one].name in names)
        return frozenset(one for one in found if standing.flags[one] & _CURRENT)

    def _came_up(self) -> dict[int, int]:
        """Return when claims came up that did lately: in the last texts, or by their value.

        Beside them stands what is told of a code that came up somewhat earlier, too.
        """
        standing = self._standing
        texts = [standing.numbers[one.name] for one in freshest(standing.history.texts)]
        found: dict[int, int] = {}
        told_of: set[int] = set()
        # From what came up earlier to what came up now, which counts.
        for when, first, end in (
            (_OLD, LATELY, len(texts)),
            (_LATELY, NOW, LATELY),
            (_NOW, 0, NOW),
        ):
            for value in {
                one for text in texts[first:end] for one in standing.values.in_text[text]
            }:
                if standing.values.tells_apart(value):
                    if when:
                        found.update(dict.fromkeys(standing.values.claims[value], when))
                    for asking in standing.asked_by.get(value, ()):
                        told_of.update(standing.tools.answers.get(asking, ()))
            if when:
                for text in texts[first:end]:
                    found.update(dict.fromkeys(standing.of_text[text], when))
        for text in told_of:
            for one in standing.of_text[text]:
                found.setdefault(one, _TOLD_OF)
        return found

    def _near(self, asked: Collection[str]) -> dict[int, int]:
        """Return how far texts are from what is being done, over values that both hold."""
        standing, values = self._standing, self._standing.values
        last = standing.history.last_human
        texts = set() if last is None else {standing.numbers[last.name]}
        texts.update(standing.numbers[self._claims[one].text.name] for one in standing.tasks.open())
        for named in asked:
            texts.update(values.texts[values.numbers[named]])
        found = dict.fromkeys(texts, 0)
        known: set[int] = set()
        for hops in range(1, MAX_HOPS + 1):
            held = {value for text in texts for value in values.in_text[text]} - known
            known |= held
            answers = standing.tools.answers
            later = {one for text in texts if text in answers for one in answers[text]}
            for value in held:
                if values.tells_apart(value):
                    later.update(values.texts[value])
            texts = later - found.keys()
            found.update(dict.fromkeys(texts, hops))
        return found

    def _sort(
        self, now: dict[tuple[int, int], dict[What, list[int]]], number: int, level: int
    ) -> None:
        if self._standing.flags[number] & _CURRENT and number not in self._pinned:
            same = now.setdefault(self._standing.key(number, level), {})
            same.setdefault(self._standing.whats[number], []).append(number)

    def _nearby(self, moved: Mapping[int, int]) -> Iterator[int]:
        standing = self._standing
        for text in self._hops:
            for number in standing.of_text[text]:
                flags = standing.flags[number]
                holds = flags & _CURRENT and not flags & _IS_LITTLE and number not in moved
                if holds and standing.levels[number] == LAST:
                    yield number

    def _class(
        self,
        level: int,
        now: Mapping[tuple[int, int], Mapping[What, list[int]]],
        moved: Mapping[int, int],
        wanted: Callable[[Claim], bool],
        said: Collection[What],
    ) -> Iterator[tuple[int, list[list[Claim]]]]:
        buckets = self._standing.buckets
        for key in sorted({key for key in (*buckets, *now) if key[0] == level}):
            here, lately = buckets.get(key, _NOTHING), now.get(key, _NOTHING)
            names = [one for one in here if one not in said]
            names += [one for one in lately if one not in said and one not in here]
            places = []
            for name in names:
                both: Sequence[int] = here.get(name, ())
                if name in lately:
                    both = sorted({*both, *lately[name]}, key=self._by_time)
                if found := self._latest(both, level, moved, wanted):
                    places.append(found)
            if places:
                yield level, offers(places)

    def _latest(
        self,
        numbers: Sequence[int],
        level: int,
        moved: Mapping[int, int],
        wanted: Callable[[Claim], bool],
    ) -> list[tuple[Placed, Claim]]:
        """Return the last of some claims that are of a class, with their places in it."""
        found: list[tuple[Placed, Claim]] = []
        text_of, hops, pinned = self._standing.text_of, self._hops, self._pinned
        claims, place = self._claims, moved.get
        for one in reversed(numbers):
            if place(one, level) != level or one in pinned:
                continue
            claim = claims[one]
            if wanted(claim):
                found.append(((hops.get(text_of[one], FAR), -claim.at, claim.name), claim))
                if len(found) == MOST_PLACES:
                    break
        return found

    def _by_time(self, number: int) -> tuple[int, int]:
        return self._claims[number].at, number
