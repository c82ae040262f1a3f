"""Read the text of a draft: new predicates, and rules that are proposals whatever they claim.

In: a draft. Out: `DraftedRules`, whose rules have ids and authors of ours. Invariant: the
attributes `@[approved]`, `@[id]`, `@[confidence]` and `@[author]` of the text have no effect, and
each that is dropped is noted; where rows of a predicate lie a draft cannot say. Example: the first
rule of the draft `3fa1b2c4...` has the id `D3fa1b2c4-1` and is proposed, with confidence 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.library.reviewing.beyond import is_fenced_in
from constat.syntax import exit_code, parse_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.logic import Predicate, Program, Rule, TypeDefinition
    from constat.store.drafts import Draft

_COUNTED: Final = re.compile(r"[A-Za-z_]\w*\.[0-9]+[a-z]*\Z")
_ID_DIGITS: Final = 8
MOST_RULES: Final = 200


@dataclass(frozen=True, slots=True)
class DraftedRules:
    """What a draft declares and proposes; `notes` tell what of its text has no effect.

    `source` is the name that places in the text have, for diagnostics.
    """

    draft: Draft
    source: str
    predicates: Mapping[str, Predicate] = field(hash=False)
    types: Mapping[str, TypeDefinition] = field(hash=False)
    rules: tuple[Rule, ...]
    notes: tuple[str, ...]


def source_name(draft: Draft) -> str:
    """Give the name by which diagnostics speak of a draft's text."""
    return f"<draft {draft.short}>"


def read_draft(draft: Draft, known: Mapping[str, Predicate]) -> DraftedRules:
    """Read a draft over known predicates. Raises `ConstatError` with the mistakes of its text."""
    source = source_name(draft)
    diagnostics: list[Diagnostic] = []
    program = parse_text(draft.text, source, diagnostics, known)
    if not any(one.severity is Severity.ERROR for one in diagnostics):
        diagnostics += _refusals(program)
    errors = [one for one in diagnostics if one.severity is Severity.ERROR]
    if errors:
        raise ConstatError(errors, exit_code=exit_code(errors))
    notes: dict[str, None] = {}
    rules = tuple(
        _proposed(rule, draft, number, notes) for number, rule in enumerate(program.rules, start=1)
    )
    for name in (*program.outputs, *program.sizes):
        notes[f"`.output` and `.printsize` of {name} are left out"] = None
    return DraftedRules(draft, source, program.predicates, program.types, rules, tuple(notes))


def _refusals(program: Program) -> Iterator[Diagnostic]:
    if not program.rules:
        hint = "a draft is at least one rule, such as `p(?x) :- q(?x).`"
        yield Diagnostic("C0882", "the draft proposes no rule", help=hint)
    if len(program.rules) > MOST_RULES:
        message = f"the draft proposes more than {MOST_RULES} rules"
        yield Diagnostic("C0882", message, help="have it drafted in parts")
    for predicate in program.predicates.values():
        # A query behind a proposed rule of its own is a proposal like any other (decision 0026).
        if predicate.source is not None and not is_fenced_in(predicate.name, program.rules):
            yield Diagnostic(
                "C0882",
                f"the draft says where rows of `{predicate.name}` lie",
                predicate.source.span or predicate.span,
                note="what is read from where is the project's to say, not a draft's",
                help=f"delete `.input {predicate.name}`",
            )


def _proposed(rule: Rule, draft: Draft, number: int, notes: dict[str, None]) -> Rule:
    """Give a rule the id and the author that it has as a proposal."""
    if not is_numbered(rule.id):
        notes[f"`@[id = {rule.id}]` has no effect in a draft"] = None
    if rule.confidence != 1:
        notes["`@[confidence]` has no effect in a draft"] = None
    attributes = {}
    for key, value in rule.attributes.items():
        name = key.partition(".")[0]
        if name in {"approved", "author"}:
            notes[f"`@[{name}]` has no effect in a draft"] = None
        else:
            attributes[key] = value
    return replace(
        rule,
        id=f"D{draft.identity[:_ID_DIGITS]}-{number}",
        confidence=Decimal(1),
        proposed=True,
        attributes={"author": author_of(draft), **attributes},
    )


def is_numbered(identity: str) -> bool:
    """Tell whether an id is only the number of a rule, which other rules may come to have."""
    return bool(_COUNTED.match(identity))


def author_of(draft: Draft) -> str:
    """Give the author as the attribute of a rule spells it: a model even where none is named."""
    return f"llm:{draft.model or 'draft'}"
