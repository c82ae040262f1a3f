"""What an approval is bound to: what a rule says, and the drafted queries that it reads.

In: an analysed program and the number of a rule. Out: `Hashes`. Invariants: layout, comments and
the names of files are no part of them; whatever changes what the rule means or is said to mean is:
id, head, body, kinds, confidence, sentence, and the query behind a predicate that came with a
draft. Example: a change of `WHERE` in such a query ends the approval of the rule that reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.analysis import QUERIED
from constat.library.reviewing.beyond import used
from constat.proof.canonical import canonical, sha256
from constat.proof.encoding import rule_digest

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram


@dataclass(frozen=True, slots=True)
class Hashes:
    """The hash of a rule, as certificates have it, and of drafted queries; empty where none."""

    rule: str
    queries: str = ""


def hashes_of(program: AnalysedProgram, number: int) -> Hashes:
    """Give what an approval of a rule is bound to."""
    return Hashes(rule_digest(program, number), _queries(program, number))


def _queries(program: AnalysedProgram, number: int) -> str:
    predicates = program.program.predicates
    names = {name for name in used(program.rules[number].body) if name.endswith(QUERIED)}
    sources = {name: predicates[name].source for name in sorted(names)}
    told = {name: dict(one.parameters) for name, one in sources.items() if one is not None}
    return sha256(canonical(told)) if told else ""
