"""What an approval is bound to: what a rule says, and what it rests on beside its text.

In: an analysed program and the number of a rule. Out: `Hashes`. Invariants: layout, comments and
the names of files are no part of them; whatever changes what the rule means or is said to mean is:
id, head, body, kinds, confidence, sentence, the query behind a predicate that came with a draft,
and the definition of each structure type in it. Examples: a change of `WHERE` in such a query ends
the approval of the rule that reads it, and so does a change of the order of a record's fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constat.analysis import QUERIED
from constat.library.reviewing.beyond import used
from constat.logic import Column, Kind
from constat.logic.structure_forms import constructions, types_form
from constat.proof.canonical import canonical, sha256
from constat.proof.encoding import reachable, rule_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.logic import Rule


@dataclass(frozen=True, slots=True)
class Hashes:
    """The hash of a rule, as certificates have it, and of what it rests on; empty where nothing.

    It rests on the drafted queries and the definitions of structure types that it uses.
    """

    rule: str
    queries: str = ""


def hashes_of(program: AnalysedProgram, number: int) -> Hashes:
    """Give what an approval of a rule is bound to."""
    return Hashes(rule_digest(program, number), _queries(program, number))


def hash_below(program: AnalysedProgram, names: Iterable[str]) -> str:
    """Give the hash of everything below some predicates: rules, declarations, sources, types.

    Who has approved a rule is no part of it; a sentence and a query are.
    """
    found = frozenset().union(*(reachable(program, name) for name in names))
    predicates = program.program.predicates
    declared = [predicates[name] for name in sorted(found) if name in predicates]
    numbered = enumerate(program.rules)
    rules = sorted(rule_digest(program, n) for n, one in numbered if one.head.predicate in found)
    told: dict[str, Any] = {
        one.name: [
            [[column.name, column.type_name, dict(column.attributes)] for column in one.columns],
            dict(one.attributes),
            None if one.source is None else dict(one.source.parameters),
        ]
        for one in declared
    }
    types = types_form([column for one in declared for column in one.columns])
    return sha256(canonical({"declared": told, "rules": rules, "types": types}))


def _queries(program: AnalysedProgram, number: int) -> str:
    predicates = program.program.predicates
    names = {name for name in used(program.rules[number].body) if name.endswith(QUERIED)}
    sources = {name: predicates[name].source for name in sorted(names)}
    told: dict[str, Any] = {
        name: dict(one.parameters) for name, one in sources.items() if one is not None
    }
    types = types_form(_columns(program, program.rules[number]))
    # No predicate has a dot in its name.
    told |= {".type": types} if types else {}
    return sha256(canonical(told)) if told else ""


def _columns(program: AnalysedProgram, rule: Rule) -> Iterator[Column]:
    """Yield the columns of a rule's predicates, and one for each structure that it makes."""
    predicates = program.program.predicates
    columns = [column for one in predicates.values() for column in one.columns]
    structures = next((one.structures for one in columns if one.structures is not None), None)
    for name in (rule.head.predicate, *used(rule.body)):
        yield from predicates[name].columns
    for made in constructions([rule]):
        yield Column(made.function, made.type_name, Kind.STRUCTURE, structures=structures)
