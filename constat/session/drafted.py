"""Answer questions as if drafts of the quarantine were rules, or as if nothing unapproved were.

In: a session and drafts. Out: sessions over other programs, that answer everything a session does.
Invariants: a draft joins only where it is asked for; what rests on it is UNDER that assumption and
names it; where only approved rules count, what needs another one is UNRESOLVED and says which, and
what needs none is as ever. Example:
`with session.drafted(["3fa1b2c4"]) as other: other.prove("may_leave(C005)")`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from constat.analysis import analyse
from constat.evaluation import Answer, Opening
from constat.library.reviewing.joining import JoinedProgram, join_drafts
from constat.logic import OPEN, Atom, Column, Constant, Kind, Positive, Predicate
from constat.proof.overlay import UNAPPROVED, Overlay, overlaid
from constat.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.evaluation import Demand
    from constat.logic import Rule
    from constat.project import Project
    from constat.store.drafts import Draft
    from constat.tiers import Tiers

__all__ = [
    "JoinedProgram",
    "OtherSession",
    "approved_only",
    "join_drafts",
    "with_drafts",
]

_GUARD: Final = Predicate(
    UNAPPROVED,
    (Column("rule", "symbol", Kind.SYMBOL),),
    attributes={
        "says": "rule {rule} is approved",
        "says_unknown": "nobody has approved rule {rule}",
    },
)


def with_drafts(program: AnalysedProgram, drafts: Sequence[Draft]) -> AnalysedProgram:
    """Give the program with drafts that add to it. Raises `ConstatError` for one that amends it."""
    return join_drafts(program, drafts).program


def approved_only(program: AnalysedProgram) -> AnalysedProgram:
    """Give the program in which a proposed rule gives nothing that anybody could accept.

    Each gets a guard of which nothing is known: what the rule would give stays possible.
    """
    if not any(rule.proposed for rule in program.rules):
        return program
    rules = tuple(_guarded(rule) if rule.proposed else rule for rule in program.program.rules)
    predicates = {**program.program.predicates, UNAPPROVED: _GUARD}
    diagnostics: list[Diagnostic] = []
    found = analyse(replace(program.program, predicates=predicates, rules=rules), diagnostics)
    if found is None:
        raise TypeError("a program with guards was not analysed")
    return found


def _guarded(rule: Rule) -> Rule:
    guard = Positive(Atom(UNAPPROVED, (Constant(rule.id, Kind.SYMBOL),)))
    return replace(rule, body=(*rule.body, guard), proposed=False)


class Based(Protocol):
    """What another session is made of: a project and the texts of its rules."""

    @property
    def project(self) -> Project:
        """The project."""
        ...

    @property
    def texts(self) -> Mapping[str, str]:
        """The rule files by name."""
        ...


class OtherSession(Session):
    """A session over another program of the same project; `joined` tells what was joined."""

    joined: JoinedProgram

    def __init__(
        self,
        base: Based,
        joined: JoinedProgram,
        *,
        cache: bool = True,
        locale: str | None = None,
    ) -> None:
        super().__init__(base.project.folder, cache=cache, locale=locale)
        self._project = base.project
        self._program = joined.program
        self._texts = {**base.texts, **joined.texts}
        self.joined = joined

    def _opened(self) -> Tiers:
        if self._tiers is None:
            tiers = super()._opened()
            externals = overlaid(
                tiers.externals, self.program, Overlay(dropped=self.joined.dropped)
            )
            if UNAPPROVED in self.program.external:
                externals = {**externals, UNAPPROVED: _Unapproved()}
            self._tiers = replace(tiers, externals=externals)
        return self._tiers


class _Unapproved:
    """Nobody has approved the rules that are asked for: whether they hold is not known."""

    cost = 1

    def answer(self, demand: Demand) -> Answer:
        """Answer: everything is open, and nothing is there to be accepted."""
        openings = []
        for key in demand.keys:
            rule = str(key[0]) if key else "of the project"
            reason = f"rule {rule} is only proposed, and only approved ones count"
            openings.append(Opening(key or (OPEN,), reason, "review"))
        return Answer((), tuple(openings), frozenset(demand.keys))
