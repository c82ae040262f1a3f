"""A review as people and programs read it.

In: what was found out about a draft or a proposed rule. Out: lines, and a JSON object. Invariant:
both say the same; nothing is cut in JSON. Example: the lines of a draft are its question, the
difference to the library, the cases, what changes in the data, and remarks.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.library.reviewing.trying import Tried
    from constat.session.reviewing_effects import Effect


@dataclass(frozen=True, slots=True)
class Item:
    """A draft, or a proposed rule of a file (`kind` is `draft` or `rule`), in one line.

    `identity` is what `approve` and `reject` take. `approvals` of `needed` are there.
    """

    identity: str
    kind: str
    status: str
    purpose: str
    goal: str
    model: str
    asked_by: str
    at: str
    rules: tuple[str, ...]
    approvals: tuple[str, ...]
    needed: int
    reason: str = ""

    def to_json(self) -> dict[str, object]:
        """Give it as a JSON object."""
        return {name: _listed(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Review:
    """What a person should know before they decide.

    `file` is where the rules are or would be. `difference` is a unified one. `amended` are
    predicates that were there and get rules, `replaced` the ids and texts of rules that give way.
    `problem` says why it cannot be approved as it is; then the rest is empty.
    """

    item: Item
    text: str
    file: str = ""
    difference: str = ""
    amended: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    cases: tuple[Tried, ...] = ()
    effects: tuple[Effect, ...] = ()
    remarks: tuple[str, ...] = ()
    problem: str = ""

    def to_json(self) -> dict[str, object]:
        """Give it as a JSON object."""
        return {
            **self.item.to_json(),
            "text": self.text,
            "file": self.file,
            "difference": self.difference,
            "amended": list(self.amended),
            "replaced": [{"id": one, "text": text} for one, text in self.replaced],
            "cases": [
                {"name": one.name, "own": one.own, "problems": list(one.problems)}
                for one in self.cases
            ],
            "effects": [_effect(one) for one in self.effects],
            "remarks": list(self.remarks),
            "problem": self.problem,
        }

    def to_lines(self) -> Iterator[str]:
        """Give it for people."""
        item = self.item
        yield f"{item.kind} {item.identity}: {item.status}"
        yield from _told("asked", item.purpose)
        yield from _told("goal", item.goal)
        drafter = item.model or "somebody"
        yield from _told("drafted by", f"{drafter} at {item.at}" if item.at else drafter)
        yield from _told("asked by", item.asked_by)
        yield f"approvals: {len(item.approvals)} of {item.needed}" + (
            f" ({', '.join(item.approvals)})" if item.approvals else ""
        )
        yield from _told("reason", item.reason)
        yield ""
        if self.problem:
            yield from _indented(self.text)
            yield ""
            yield f"cannot be approved: {self.problem}"
            return
        for one in self.amended:
            yield f"amends: {one}, which has rules or rows already"
        for identity, text in self.replaced:
            yield f"takes the place of {identity}:"
            yield from _indented(text)
        if self.difference:
            yield from self.difference.rstrip("\n").split("\n")
        else:
            yield f"in {self.file}:"
            yield from _indented(self.text)
        yield ""
        yield from self._findings()

    def _findings(self) -> Iterator[str]:
        failing = [one for one in self.cases if one.problems]
        bare = self.item.kind == "draft" and not any(one.own for one in self.cases)
        yield f"cases: {len(self.cases) - len(failing)} of {len(self.cases)} pass" + (
            "; the draft brings none of its own" if bare else ""
        )
        for one in failing:
            yield from (f"  {one.name}: {problem}" for problem in one.problems)
        yield "effect on the present data:"
        for effect in self.effects:
            yield from _effect_lines(effect)
        if not self.effects:
            yield "  none"
        if self.remarks:
            yield "remarks:"
        yield from (f"  {one}" for one in self.remarks)


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision came to: the status that the draft or the rules have now.

    `file` is where the rules are, `signed` whether the word is signed; `have` of the `needed`
    approvals count.
    """

    identity: str
    kind: str
    status: str
    rules: tuple[str, ...] = ()
    file: str = ""
    signed: bool = False
    have: int = 0
    needed: int = 0


def _told(label: str, text: str) -> Iterator[str]:
    if text:
        first, *rest = text.split("\n")
        yield f"{label}: {first}"
        yield from (f"  {line}" for line in rest)


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in text.rstrip("\n").split("\n"))


def _effect_lines(effect: Effect) -> Iterator[str]:
    if effect.reason and not effect.transitions:
        yield f"  {effect.predicate}: {effect.reason}"
        return
    rows = f"{effect.rows_before:,} rows before, {effect.rows_after:,} after"
    yield f"  {effect.predicate}: {rows}, {effect.changes:,} differ" + (
        f" ({effect.reason})" if effect.reason else ""
    )
    for one in effect.transitions:
        more = f", and {one.count - len(one.shown):,} more" if one.count > len(one.shown) else ""
        yield f"    {one.before} -> {one.after}: {', '.join(one.shown)}{more}"


def _effect(effect: Effect) -> dict[str, object]:
    found = {name: _listed(value) for name, value in asdict(effect).items()}
    found["transitions"] = [
        {name: _listed(value) for name, value in asdict(one).items()} for one in effect.transitions
    ]
    return found


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
