"""Compaction: a history within a budget of tokens.

In: a history as it was at some moment, what the rules say of it, and a budget.  Out: the messages
that stay, and the block that stands for the others.  Invariants: it is a function of these, so the
same history gives the same context whenever it is compacted; no model is asked; what is pinned is
in sight, in the block or word for word, or ``BudgetError`` is raised.

The tail gives way first: it may take a fifth of the room, then half of that, then only its
last group, then that group's long texts are shown by their ends.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.memory.contexts import assembled, introduction
from constat.memory.counting import ROLE_TOKENS, message_tokens, messages_tokens
from constat.memory.keeping import Kept, kept, lightened
from constat.memory.passages import Place
from constat.memory.tokens import estimate
from constat.memory.view import BudgetError, Filling, View, fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.memory.deciding import Decided
    from constat.memory.history import Claim, History
    from constat.memory.messages import Message
    from constat.memory.policy import Policy

_TAIL_SHARES: Final = (0.2, 0.1, 0.0)
_LONG: Final = 4_000
_MOST_SAVED: Final = 10


@dataclass(frozen=True, slots=True)
class Material:
    """What a context is made of.

    ``shown`` are the messages with heavy texts by their ends, ``costs`` their tokens, ``heavy`` the
    numbers and names of these texts. ``claims`` are those of all branches.
    """

    history: History
    shown: Sequence[Message]
    costs: Sequence[int]
    heavy: Sequence[tuple[int, str]]
    claims: Sequence[Claim]
    decided: Decided


@dataclass(frozen=True, slots=True)
class Compacted:
    """What stays word for word of the first ``end`` messages, and the block for the rest of them.

    ``light`` has long texts by their ends.
    """

    kept: Kept
    block: str
    view: View
    end: int
    light: bool = False

    def messages(self, shown: Sequence[Message]) -> tuple[Message, ...]:
        """Put the context together; messages behind those that were compacted follow it."""
        return put_together(shown, self.kept, self.block, self.end, light=self.light)

    @property
    def spelled(self) -> str:
        """What stays, as checkpoints keep it."""
        one = self.kept
        return json.dumps([one.system, one.human, one.tail, int(self.light), one.words])


def compact(material: Material, policy: Policy, budget: int) -> Compacted:
    """Fit a history into a budget; raises ``BudgetError``."""
    error = None
    for share in _TAIL_SHARES:
        for light in (False,) if share else (False, True):
            try:
                return _attempt(material, policy, budget, share, light=light)
            except BudgetError as problem:
                error = problem
    raise error or BudgetError(0, budget, ())


def put_together(
    shown: Sequence[Message], kept_: Kept, block: str, end: int, *, light: bool
) -> tuple[Message, ...]:
    """Put a context together; messages of the history from ``end`` on follow as they are."""
    if light:
        numbers = {*kept_.human, *kept_.tail}
        shown = [_light(one, at) if at in numbers else one for at, one in enumerate(shown)]
    return assembled(shown, kept_, block, shown[end:])


def read_kept(text: str) -> tuple[Kept, bool]:
    """Read what stays, as ``spelled`` wrote it."""
    system, human, tail, light, *others = json.loads(text)
    words = tuple((role, said) for role, said in (others[0] if others else ()))
    return Kept(tuple(system), tuple(human), tuple(tail), words), bool(light)


def _attempt(
    material: Material, policy: Policy, budget: int, share: float, *, light: bool
) -> Compacted:
    shown, costs = material.shown, material.costs
    first = len(kept(shown, policy, 0, costs).system)
    if light:
        # What the system says is never shortened.
        shown = [one if at < first else _light(one, at) for at, one in enumerate(shown)]
        costs = [
            cost if one is other else message_tokens(one)
            for one, other, cost in zip(shown, material.shown, costs, strict=True)
        ]
    system = sum(costs[:first])
    keep = kept(shown, policy, int((budget - system) * share), costs)
    saved = _saved(material, keep)
    # A branch has seen the messages before it as well.
    words = introduction(material.history.first + len(shown) - len(keep.numbers), saved)
    without = messages_tokens(assembled(shown, keep, "")) + estimate(words) + 2 * ROLE_TOKENS + 1
    filling = Filling(
        _in_full(material, keep, light=light), policy.human_tokens, policy.verbatim_characters
    )
    try:
        view = fill(material.claims, material.decided, budget - without, filling)
    except BudgetError as problem:
        raise BudgetError(problem.needed + without, budget, problem.refs) from None
    if without > budget:
        raise BudgetError(without + view.tokens, budget, ())
    keep = replace(keep, words=view.words)
    return Compacted(keep, f"{words}\n{view.block}".rstrip(), view, len(shown), light)


def _saved(material: Material, keep: Kept) -> list[str]:
    """Name the newest of the texts that are too heavy to be shown and do not stay."""
    stays = set(keep.numbers)
    names = [name for number, name in material.heavy if number not in stays]
    return names[-_MOST_SAVED:]


def _in_full(material: Material, keep: Kept, *, light: bool) -> frozenset[str]:
    """Name the texts that the context holds word for word."""
    heavy = {name for _, name in material.heavy}
    found = []
    for number in keep.numbers:
        for text in material.history.texts_of(number):
            passage = text.passage
            left_out = number in keep.human and passage.place is not Place.SAID
            short = light and number not in keep.system and len(passage.text) > _LONG
            if not (left_out or short or text.name in heavy):
                found.append(text.name)
    return frozenset(found)


def _light(message: Message, number: int) -> Message:
    return lightened(message, number, _is_long)


def _is_long(text: str, _said: bool) -> bool:  # noqa: FBT001  who said it does not matter here
    return len(text) > _LONG
