"""Two certificates of one goal, or a certificate and the present.

In: certificates as bytes. Out: a `Comparison`. Invariants: what the checker rejects is not
compared; whatever is proved again is proved as it was then, with or without a search for better
proofs, and nothing is served from the cache. Example: `session.diff(content)` says what has changed
since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.check import check_certificate
from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.comparison import compare
from constat.proof.decoding import read_members
from constat.session.rereading import written_goal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import AnalysedProgram
    from constat.logic import Atom
    from constat.proof.comparison import Comparison
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
