"""Where a drafted query ends: a predicate that serves another one, and is no goal by itself.

In: the name of a predicate, a program. Out: a mistake C0875, or nothing. Invariant: as long as
nobody has approved the rule that reads the query, no goal and no query of a person is about its
rows: the database has executed a guess, and its answer alone would look certain. Example: with the
proposed rule `gold(?c) :- gold_as_queried(?c).` one asks for `gold`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic
from constat.logic import Aggregate, Negative, Positive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.analysis.analysed import AnalysedProgram
    from constat.diagnostics import Span
    from constat.logic import Atom, Literal, Rule

QUERIED: Final = "_as_queried"
"""The ending of the names of such predicates."""


def fence_mistakes(
    literals: Sequence[Literal], analysed: AnalysedProgram, span: Span | None
) -> Iterator[Diagnostic]:
    """Yield a mistake for each literal that reads a drafted query directly."""
    for atom in _atoms(literals):
        served = atom.predicate.removesuffix(QUERIED)
        if served != atom.predicate and _is_fenced(atom.predicate, served, analysed):
            yield Diagnostic(
                "C0875",
                f"`{atom.predicate}` is where a drafted query ends",
                atom.span or span,
                note="that the query gives a row is certain, and that it is right nobody has said",
                help=f"ask for `{served}`, which rests on the draft and says so",
            )


def _is_fenced(name: str, served: str, analysed: AnalysedProgram) -> bool:
    readers = [rule for rule in analysed.program.rules if _reads(rule, name, served)]
    # An approved rule has the query alone in its body; a proposed one may be guarded.
    return bool(readers) and all(rule.proposed or len(rule.body) > 1 for rule in readers)


def _reads(rule: Rule, name: str, served: str) -> bool:
    first = rule.body[0] if rule.body else None
    reads = isinstance(first, Positive) and first.atom.predicate == name
    return rule.head.predicate == served and reads


def _atoms(literals: Sequence[Literal]) -> Iterator[Atom]:
    for literal in literals:
        match literal:
            case Positive(atom) | Negative(atom):
                yield atom
            case Aggregate(body=inner):
                yield from _atoms(inner)
            case _:
                pass
