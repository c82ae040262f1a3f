"""The view: as much of what matters as fits, as lines with their places.

In: claims, what the rules say of them, and a budget of tokens.  Out: a ``View``.  Invariants: the
same in, the same out, byte for byte; what is pinned is in it or ``BudgetError`` is raised; a value
that is shown is not shown again; the tokens of the text are not more than the budget.

Classes are filled one after the other, nearer texts before others, newer claims before older, and
of what nobody took up short values before long ones; a claim that no longer fits is passed over.
Example: ``fill(claims, decided, 500).text``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.memory.deciding import FAR
from constat.memory.families import LINE, Family, family_of
from constat.memory.lines import SILENT, WHOLE, whole_line
from constat.memory.preview import sandwich
from constat.memory.tokens import estimate, hundredths

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from constat.memory.deciding import Decided
    from constat.memory.history import Claim
    from constat.memory.lines import Line

_MOST_REFS: Final = 50
_PREVIEW: Final = 2_000
# What long texts are cut to, one after the other, where what is pinned does not fit.
_SHORTER: Final = (2_000, 600)
_ENTIRE: Final = frozenset({"constraint", "preference"})
# From this class on nobody has asked with a value or named it: more of them fit if short ones go
# first. What was asked with goes by its time alone.
_NOT_TAKEN_UP: Final = 4
# Where less than this is left nothing is looked at any more.
_LEAST: Final = 200


class BudgetError(ConstatError):
    """What is pinned does not fit; ``refs`` are the places of all of it."""

    def __init__(self, needed: int, budget: int, refs: Sequence[str]) -> None:
        self.needed = needed
        self.budget = budget
        self.refs = tuple(refs)
        shown = ", ".join(self.refs[:_MOST_REFS])
        message = f"what is pinned takes {needed:,} tokens, and {budget:,} are there"
        super().__init__(
            [
                Diagnostic(
                    "C0803",
                    message,
                    note=f"pinned: {shown}",
                    help=f"give at least {needed:,} tokens, or take one of these back",
                )
            ]
        )


@dataclass(frozen=True, slots=True)
class View:
    """Lines in the order in which they were said; ``passed_over`` counts what did not fit."""

    lines: tuple[Line, ...]
    tokens: int
    passed_over: int = 0

    @property
    def text(self) -> str:
        """The lines, one after the other."""
        return "\n".join(one.text for one in self.lines)

    @property
    def block(self) -> str:
        """The lines of a context's block: of what people said only what it is, and where."""
        return "\n".join(one.stub or one.text for one in self.lines)

    @property
    def words(self) -> tuple[tuple[str, str], ...]:
        """What people and the system said, by their roles: the task first, and nothing twice."""
        spoken = [one for one in self.lines if one.role]
        spoken.sort(key=lambda one: (not one.stub.startswith("task "), one.at))
        found: list[tuple[str, str]] = []
        for one in spoken:
            if not any(one.role == role and one.words in said for role, said in found):
                found.append((one.role, one.words))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Filling:
    """How to fill: what is shown in full elsewhere, and the bounds of what people said.

    ``shown`` are names of texts that the context holds word for word.
    """

    shown: Collection[str] = ()
    human_tokens: int = 20_000
    verbatim: int = 8_000


def fill(
    claims: Iterable[Claim],
    decided: Decided,
    budget: int,
    filling: Filling | None = None,
) -> View:
    """Choose and write. Raises ``BudgetError``."""
    filling = filling or Filling()
    ranked = sorted(_ranked(claims, decided, filling), key=lambda one: one[0])
    pinned = [claim for (level, *_), claim in ranked if level == 1]
    packing = _pinned(pinned, decided, budget, filling)
    for level, group in groupby(ranked[len(pinned) :], key=lambda one: one[0][0]):
        packing.offer_all([claim for _, claim in group], level)
    return packing.view()


def _pinned(claims: Sequence[Claim], decided: Decided, budget: int, filling: Filling) -> _Packing:
    """Pin claims; where they do not fit, long ones of them are shown by their ends."""
    for verbatim in _SHORTER:
        packing = _Packing(decided, budget, filling)
        try:
            packing.pin(claims)
        except BudgetError:
            filling = replace(filling, verbatim=min(verbatim, filling.verbatim))
        else:
            return packing
    packing = _Packing(decided, budget, filling)
    packing.pin(claims)
    return packing


_Rank = tuple[int, int, int, int, str]


def _ranked(
    claims: Iterable[Claim], decided: Decided, filling: Filling
) -> list[tuple[_Rank, Claim]]:
    found: list[tuple[_Rank, Claim]] = []
    known: dict[str, int] = {}
    for claim in claims:
        level = decided.level(claim.name)
        # A constraint that is shown in full where it was said is in sight already.
        if level == 0 or claim.fact.predicate in SILENT or claim.text.name in filling.shown:
            continue
        hops = decided.hops.get(claim.text.name, FAR) if level > 1 else 0
        room, value = 0, claim.fact.value
        if level >= _NOT_TAKEN_UP and claim.fact.predicate not in WHOLE:
            room = known[value] if value in known else known.setdefault(value, estimate(value))
        found.append(((level, hops, room, -claim.at, claim.name), claim))
    return found


class _Packing:
    """Fills a budget, claim by claim."""

    def __init__(self, decided: Decided, budget: int, filling: Filling) -> None:
        self.filling = filling
        self._decided = decided
        self._budget = 100 * budget
        self._used = 0
        self._said: set[tuple[str, str]] = set()
        self._families: dict[str, Family] = {}
        self._wholes: list[Line] = []
        self._passed_over = 0
        self._human = 100 * filling.human_tokens

    def pin(self, claims: Sequence[Claim]) -> None:
        """Show all of these."""
        against = self._opponents()
        for claim in claims:
            if self._is_new(claim):
                other = against.get(claim.name, "")
                note = f"(contradicts {other})" if other else ""
                self._add(claim, 1, self._cost(claim, note), note)
        if self._used > self._budget:
            ordered = sorted(claims, key=lambda one: (one.at, one.place))
            refs = list(dict.fromkeys(one.place for one in ordered))
            raise BudgetError(-(-self._used // 100), self._budget // 100, refs)

    def offer_all(self, claims: Sequence[Claim], level: int) -> None:
        """Show what fits of one class; what several texts say is cited from one that is, anyway."""
        same: dict[tuple[str, str], list[Claim]] = defaultdict(list)
        for one in claims:
            if self._is_new(one):
                same[_what(one)].append(one)
        news = Counter(name for each in same.values() for name in {one.text.name for one in each})
        for each in same.values():
            self.offer(min(each, key=lambda one: self._effort(one, news)), level)

    def _effort(self, claim: Claim, news: Counter[str]) -> tuple[bool, int]:
        """Return what orders texts that say the same: those in sight, those with most to say."""
        if claim.fact.predicate in WHOLE:
            return (False, 0)
        return (not self._family(claim).has(claim), -news[claim.text.name])

    def offer(self, claim: Claim, level: int) -> None:
        """Show a claim if it fits and says something new."""
        if self._budget - self._used < _LEAST:
            self._passed_over += 1
            return
        if not self._is_new(claim):
            return
        cost = self._cost(claim)
        bound = self._human if claim.fact.predicate == "said" else cost
        if cost <= min(bound, self._budget - self._used):
            self._add(claim, level, cost)
        else:
            self._passed_over += 1

    def view(self) -> View:
        """Write the lines, in the order in which things were said."""
        blocks = [[one] for one in self._wholes]
        blocks += [lines for one in self._families.values() if (lines := one.lines())]
        blocks.sort(key=lambda lines: (lines[0].at, lines[0].text))
        found = tuple(line for block in blocks for line in block)
        text = "\n".join(one.text for one in found)
        return View(found, estimate(text), self._passed_over)

    def _opponents(self) -> Mapping[str, str]:
        places: dict[str, str] = {}
        for one, two in self._decided.contradictions:
            places.setdefault(one, f"@{two.partition(' ')[0]}")
            places.setdefault(two, f"@{one.partition(' ')[0]}")
        return places

    def _is_new(self, claim: Claim) -> bool:
        """Tell whether a claim says what is not in sight yet."""
        if claim.fact.predicate == "said" and ("person", claim.fact.value) in self._said:
            return False
        if _what(claim) in self._said:
            # A sentence is in sight once it is shown; a pinned value is shown where it belongs.
            return claim.fact.predicate not in WHOLE and claim.name in self._decided.pinned
        return True

    def _add(self, claim: Claim, level: int, cost: int, note: str = "") -> None:
        self._used += cost
        self._said |= {_what(claim), ("person", claim.fact.value)}
        if claim.fact.predicate == "said":
            self._human -= cost
        if claim.fact.predicate in WHOLE:
            self._wholes.append(self._whole(claim, level, note))
        else:
            self._family(claim).take(claim, level)

    def _cost(self, claim: Claim, note: str = "") -> int:
        """Return what a claim takes, in hundredths of a token."""
        if claim.fact.predicate in WHOLE:
            line = self._whole(claim, 1, note)
            apart = hundredths(line.stub) + 100 * estimate(line.words)
            return max(hundredths(line.text), apart if line.role else 0) + LINE
        return self._family(claim).cost(claim)

    def _family(self, claim: Claim) -> Family:
        name = family_of(claim)
        found = self._families.get(name)
        if found is None:
            found = self._families[name] = Family(claim)
        return found

    def _whole(self, claim: Claim, level: int, note: str = "") -> Line:
        said, rest = claim.fact.value, ""
        # What shall be or shall not be is said whole: its middle may be what matters.
        if len(said) > self.filling.verbatim and claim.fact.predicate not in _ENTIRE:
            said = sandwich(said, min(_PREVIEW, self.filling.verbatim))
            rest = f" [all of it: ref:{claim.text.name}]"
        if claim.fact.predicate == "error":
            known = claim.fact.unit or self._decided.put_right(claim.name, claim.text.passage.tool)
            note = note or f"({known})"
        return whole_line(claim, level, said, rest, note)


def _what(claim: Claim) -> tuple[str, str]:
    """Return what a claim says: a sentence of a kind, or a value with its unit."""
    one = claim.fact
    if one.predicate in WHOLE:
        return (one.predicate, one.value)
    return ("value", f"{one.value} {one.unit}".strip())
