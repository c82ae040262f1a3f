"""The view: as much of what matters as fits, as lines with their places.

In: claims, what the rules say of them, and a budget of tokens.  Out: a ``View``.  Invariants: the
same in, the same out, byte for byte; what is pinned is in it or ``BudgetError`` is raised; a value
that is shown is not shown again; the tokens of the text are not more than the budget.

Classes are filled one after the other, nearer texts before others, newer claims before older; a
claim that no longer fits is passed over.  Example: ``fill(claims, decided, 500).text``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.memory.deciding import FAR
from constat.memory.lines import (
    SILENT,
    WHOLE,
    head,
    key_of,
    label,
    line,
    piece,
    quoted,
    shared_line,
    shown,
    value,
    whole_line,
)
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
# What the end of a line takes, in hundredths of a token.
_LINE: Final = 10
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
    for (level, *_), claim in ranked[len(pinned) :]:
        packing.offer(claim, level)
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


_Rank = tuple[int, int, int, str]


def _ranked(
    claims: Iterable[Claim], decided: Decided, filling: Filling
) -> list[tuple[_Rank, Claim]]:
    found = []
    for claim in claims:
        level = decided.level(claim.name)
        # A constraint that is shown in full where it was said is in sight already.
        if level == 0 or claim.fact.predicate in SILENT or claim.text.name in filling.shown:
            continue
        hops = decided.hops.get(claim.text.name, FAR)
        found.append(((level, hops if level > 1 else 0, -claim.at, claim.name), claim))
    return found


class _Packing:
    """Fills a budget, claim by claim."""

    def __init__(self, decided: Decided, budget: int, filling: Filling) -> None:
        self.filling = filling
        self._decided = decided
        self._budget = 100 * budget
        self._used = 0
        self._said: set[tuple[str, str]] = set()
        self._groups: dict[str, list[Claim]] = defaultdict(list)
        self._levels: dict[str, int] = {}
        self._sharing: Counter[str] = Counter()
        self._wholes: list[Line] = []
        self._passed_over = 0
        self._human = 100 * filling.human_tokens

    def pin(self, claims: Sequence[Claim]) -> None:
        """Show all of these."""
        against = self._opponents()
        for claim in claims:
            if self._is_new(claim):
                note = against.get(claim.name, "")
                self._add(claim, 1, note=f"(contradicts {note})" if note else "")
        if self._used > self._budget:
            ordered = sorted(claims, key=lambda one: (one.at, one.place))
            refs = list(dict.fromkeys(one.place for one in ordered))
            raise BudgetError(-(-self._used // 100), self._budget // 100, refs)

    def offer(self, claim: Claim, level: int) -> None:
        """Show a claim if it fits and says something new."""
        if self._budget - self._used < _LEAST:
            self._passed_over += 1
            return
        if not self._is_new(claim, remember=False):
            return
        if claim.fact.predicate == "said" and self._cost(claim) > self._human:
            self._passed_over += 1
        elif self._used + self._cost(claim) <= self._budget:
            self._is_new(claim)
            self._add(claim, level)
        else:
            self._passed_over += 1

    def view(self) -> View:
        """Write the lines, in the order in which things were said."""
        shared: dict[str, list[Claim]] = defaultdict(list)
        lines = []
        for name, group in self._groups.items():
            if len(group) == 1:
                shared[label(group[0])].append(group[0])
            else:
                lines.append(line(group, self._levels[name]))
        for group in shared.values():
            level = min(self._levels[one.text.name] for one in group)
            lines.append(shared_line(group, level) if len(group) > 1 else line(group, level))
        ordered = sorted([*self._wholes, *lines], key=lambda one: (one.at, one.text))
        text = "\n".join(one.text for one in ordered)
        return View(tuple(ordered), estimate(text), self._passed_over)

    def _opponents(self) -> Mapping[str, str]:
        places: dict[str, str] = {}
        for one, two in self._decided.contradictions:
            places.setdefault(one, f"@{two.partition(' ')[0]}")
            places.setdefault(two, f"@{one.partition(' ')[0]}")
        return places

    def _is_new(self, claim: Claim, *, remember: bool = True) -> bool:
        one = claim.fact
        kind = one.predicate if one.predicate in WHOLE else "value"
        what = (kind, one.value if kind != "value" else f"{one.value} {one.unit}".strip())
        # A sentence is in sight once it is shown; a pinned value has to be shown where it belongs.
        if what in self._said and (kind != "value" or claim.name not in self._decided.pinned):
            return False
        if remember:
            self._said.add(what)
        return True

    def _add(self, claim: Claim, level: int, note: str = "") -> None:
        cost = self._cost(claim, note)
        self._used += cost
        if claim.fact.predicate == "said":
            self._human -= cost
        if claim.fact.predicate in WHOLE:
            self._wholes.append(self._whole(claim, level, note))
            return
        name = claim.text.name
        group = self._groups[name]
        if len(group) == 1:
            self._sharing[label(group[0])] -= 1
        group.append(claim)
        if len(group) == 1:
            self._sharing[label(claim)] += 1
        self._levels[name] = min(level, self._levels.get(name, level))

    def _cost(self, claim: Claim, note: str = "") -> int:
        """Return what a claim takes, in hundredths of a token."""
        if claim.fact.predicate in WHOLE:
            return hundredths(self._whole(claim, 1, note).text) + _LINE
        # Blanks cost nothing, and pieces between blanks cost what they cost alone.
        group = self._groups.get(claim.text.name, [])
        if not group:
            return self._alone(claim, self._sharing[label(claim)])
        key = key_of(claim)
        again = key and any(key_of(one) == key for one in group)
        cost = hundredths(f",{shown(claim)}" if again else piece(claim))
        if len(group) > 1:
            return cost
        # The text no longer says one value only: it gets a line of its own.
        first = group[0]
        text = f"{head(first.text)} {piece(first)} @{first.text.name}"
        cost += hundredths(text) + _LINE
        return cost - self._alone(first, self._sharing[label(first)] - 1)

    def _alone(self, claim: Claim, others: int) -> int:
        """Return what a text of one value takes beside others of its label."""
        cost = hundredths(value(claim))
        return cost if others else cost + hundredths(label(claim)) + _LINE

    def _whole(self, claim: Claim, level: int, note: str = "") -> Line:
        value = claim.fact.value
        said = quoted(value)
        # What shall be or shall not be is said whole: its middle may be what matters.
        if len(value) > self.filling.verbatim and claim.fact.predicate not in _ENTIRE:
            ends = min(_PREVIEW, self.filling.verbatim)
            said = f"{quoted(sandwich(value, ends))} [all of it: ref:{claim.text.name}]"
        mended = self._decided.mended.get(claim.name)
        if claim.fact.predicate == "error":
            note = note or (f"(put right in @{mended})" if mended else "(not put right)")
        return whole_line(claim, level, said, note)
