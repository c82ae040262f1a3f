"""A certificate made again, from its record or from today, and two of one goal compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat import __version__
from constat.check import check_certificate
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.comparison import compare
from constat.proof.decoding import read_members
from constat.proof.rebuilding import rebuild
from constat.session.leaves import Rereading, written_goal
from constat.session.stale_rules import PresentRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals
    from constat.logic import Atom
    from constat.proof.comparison import Comparison
    from constat.session.leaves import Leaf
    from constat.session.result import Result

REJECTED: Final = 1


class ProveAgain(Protocol):
    """Proves a goal now, asking all sources anew."""

    def __call__(self, goal: Atom, *, exhaust: bool) -> Result:
        """Give the result."""


def compare_certificates(
    before: bytes, after: bytes, analysed: AnalysedProgram | None
) -> Comparison:
    """Compare two certificates; a program says which columns are keys."""
    for name, content in (("first", before), ("second", after)):
        require_accepted(content, f"the {name} certificate")
    return compare(before, after, {} if analysed is None else declared_keys(analysed))


def compare_with_present(
    before: bytes, analysed: AnalysedProgram, prove_again: ProveAgain
) -> tuple[Comparison, Result]:
    """Prove the goal of a certificate again and compare; also gives the new result."""
    require_accepted(before, "the certificate")
    header = read_members(before)["header"]
    goal = goal_of(header, analysed)
    keys = declared_keys(analysed)
    found: list[tuple[Comparison, Result]] = []
    # A search that came to its end by itself does not say whether it was told to go there.
    for exhaust in (False, True) if header["search"] == "exhausted" else (False,):
        result = prove_again(goal, exhaust=exhaust)
        found.append((compare(before, result.certificate, keys), result))
        if found[-1][0].is_empty:
            break
    return min(found, key=lambda one: len(one[0].changes) + len(one[0].unaligned))


def declared_keys(analysed: AnalysedProgram) -> Mapping[str, tuple[int, ...]]:
    """Return the key columns of the predicates that declare a key."""
    predicates = analysed.program.predicates
    return {name: one.key for name, one in predicates.items() if one.key}


def goal_of(header: Mapping[str, Any], analysed: AnalysedProgram) -> Atom:
    """Read the goal of a certificate; raises `ConstatError` where the project has no such goal."""
    goal = written_goal(header, analysed)
    if goal is None:
        message = f"the project has no goal like that of the certificate, `{header['goal'][0]}`"
        note = "no rule or `.decl` declares the predicate with these columns"
        hint = "compare two certificates, or name the project with `--project`"
        raise ConstatError([Diagnostic("C0721", message, note=note, help=hint)])
    return goal


def require_accepted(content: bytes, what: str) -> None:
    """Raise `ConstatError` where the checker rejects a certificate."""
    report = check_certificate(content)
    if not report.accepted:
        message = f"{what} is rejected: {report.reason}"
        place = f"at {report.place}; `constat verify` says the same"
        hint = "get the certificate anew from whoever made it"
        raise ConstatError(
            [Diagnostic("C0720", message, note=place, help=hint)], exit_code=REJECTED
        )


SAME: Final = 0
UNTOLD: Final = 4
DIFFERENT: Final = 7
_WORDS: Final = (("gone", "vanished"), ("new", "appeared"), ("changed", "changed"))


@frozen
class Replay:
    """What the record gives. Where the bytes differ, `members` are those that do.

    `content` is missing where the record does not hold everything; `reason` says what it lacks.
    `made_by` wrote the certificate, `replayed_by` made it again.
    """

    verdict: str
    identity: str
    same: bool
    reason: str
    members: tuple[str, ...]
    content: bytes | None
    made_by: str
    replayed_by: str

    @property
    def exit_code(self) -> int:
        """0 the same bytes, 7 others, 4 the record does not hold everything."""
        if self.content is None:
            return UNTOLD
        return SAME if self.same else DIFFERENT


@frozen
class Drift:
    """A fact of the certificate today.

    `status` is `unchanged`, `changed`, `vanished`, `appeared` or `cannot be read`.
    """

    fact: str
    status: str
    detail: str = ""


@frozen
class LiveReplay:
    """The same goal with the sources and rules of today: facts, rules, and what differs."""

    verdict: str
    verdict_now: str
    facts: tuple[Drift, ...]
    rules: tuple[str, ...]
    comparison: Comparison

    @property
    def drift(self) -> tuple[Drift, ...]:
        """The facts that are not as they were, or cannot be read."""
        return tuple(one for one in self.facts if one.status != "unchanged")

    @property
    def exit_code(self) -> int:
        """0 everything is as it was, 7 something is not, 4 some facts cannot be read."""
        told = {one.status for one in self.facts} - {"unchanged"}
        if self.rules or told - {"cannot be read"} or self._other_verdict(told):
            return DIFFERENT
        return UNTOLD if told else SAME

    def _other_verdict(self, told: set[str]) -> bool:
        # Where a source does not answer, the verdict is another one for that reason.
        return self.verdict != self.verdict_now and not told


def replay(certificate: bytes) -> Replay:
    """Make a certificate again from its own rules, rows and nodes."""
    require_accepted(certificate, "the certificate")
    rebuilt = rebuild(certificate)
    members = json.loads(certificate)
    return Replay(
        verdict=members["header"]["verdict"],
        identity=members["identity"],
        same=rebuilt.same,
        reason=rebuilt.reason,
        members=rebuilt.members,
        content=rebuilt.content,
        made_by=members["record"]["engine"],
        replayed_by=f"constat {__version__}",
    )


def replay_live(
    certificate: bytes,
    analysed: AnalysedProgram,
    externals: Externals,
    prove_again: ProveAgain,
) -> LiveReplay:
    """Prove the goal again and read every fact of the certificate again."""
    comparison, result = compare_with_present(certificate, analysed, prove_again)
    document = read_members(certificate)
    rereading = Rereading(document, analysed, externals)
    leaves = dict.fromkeys((*rereading.facts(), *rereading.coverage()))
    rules = PresentRules(analysed)
    return LiveReplay(
        verdict=document["header"]["verdict"],
        verdict_now=result.verdict.value,
        facts=tuple(map(_drift, leaves)),
        rules=(*rules.changes(document), *rules.wording(document)),
        comparison=comparison,
    )


def _drift(leaf: Leaf) -> Drift:
    if leaf.status == "same":
        return Drift(leaf.text, "unchanged", leaf.detail)
    if not leaf.reached:
        return Drift(leaf.text, "cannot be read", leaf.detail)
    return Drift(leaf.text, dict(_WORDS).get(leaf.status, "changed"), leaf.detail)
