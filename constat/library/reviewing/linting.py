"""What a reviewer should know of a draft that is no mistake: warnings, sentences, loose ends.

In: a draft that has been joined. Out: texts, those with a place first. Invariant: nothing here
stops an approval. Example: a new predicate that no rule uses and no goal asks for is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis.sentences import incomplete_sentences
from constat.logic import Aggregate
from constat.store.draft_values import mentioned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis import AnalysedProgram
    from constat.library.reviewing.drafted_rules import DraftedRules
    from constat.library.reviewing.joining import JoinedProgram
    from constat.logic import Rule


def lint(joined: JoinedProgram, drafted: DraftedRules, before: AnalysedProgram) -> tuple[str, ...]:
    """Give the remarks about one draft; `before` is the program without it."""
    found: dict[str, None] = dict.fromkeys(joined.notes)
    for one in (*joined.warnings, *incomplete_sentences(joined.program)):
        if one.span is not None and one.span.source == drafted.source:
            found[f"line {one.span.line}: {one.message} [{one.code}]"] = None
    found.update(dict.fromkeys(_loose_ends(joined.program, drafted, before)))
    return tuple(found)


def _loose_ends(
    program: AnalysedProgram, drafted: DraftedRules, before: AnalysedProgram
) -> Iterator[str]:
    known = {(rule.head, rule.body): rule.id for rule in before.rules}
    for rule in program.rules:
        if rule.id in {one.id for one in drafted.rules}:
            if (rule.head, rule.body) in known:
                yield f"rule {rule.id} says what {known[rule.head, rule.body]} says already"
            predicate = program.program.predicates[rule.head.predicate]
            if "says" not in rule.attributes and "says" not in predicate.attributes:
                yield f"rule {rule.id} has no sentence: `@[says = ...]`"
    asked = mentioned(drafted.draft.goal)
    used = {name for rule in program.rules for name in _used(rule)}
    for name in drafted.predicates:
        if name in before.program.predicates:
            continue
        if name in program.external and program.program.predicates[name].source is None:
            yield f"rows of the new predicate `{name}` come from people and models only"
        elif name not in used | asked:
            yield f"no rule uses the new predicate `{name}`"


def _used(rule: Rule) -> Iterator[str]:
    for literal in rule.body:
        inner = literal.body if isinstance(literal, Aggregate) else (literal,)
        for one in inner:
            atom = getattr(one, "atom", None)
            if atom is not None:
                yield atom.predicate
