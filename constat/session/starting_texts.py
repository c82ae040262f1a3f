"""The texts of a new project: its configuration, its first rule, its first goal.

In: what was found in a database. Out: texts of files, and a goal. Invariants: rules and goal are
accepted as they stand; no value of the database is in a file. Example: where `orders` point to
`customers`, the first rule derives `has_orders`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.catalog.schema.drafting import identifier
from constat.syntax.formatting import format_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.catalog.schema.described import Relationship
    from constat.catalog.schema.drafting import DraftedColumn, DraftedPredicate
    from constat.session.starting_address import Beginning

SOURCES: Final = "sources.dl"
FIRST: Final = "rules/first.dl"
IGNORED: Final = ".constat/\n"
_CONFIGURATION: Final = """\
# Begun by `constat init`. `constat doctor` looks at everything that this project needs.
project: {project}

databases:
  {name}:
{database}

rules:
  - {sources}
  - rules

# Values of rows are shown, and sent to a model, only where `samples` names them:
# catalog:
#   samples: [{name}]
"""
_RULES: Final = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.include "../{sources}"
.once

// The first rule of this project, to begin with: change it, or take it away.

{declared}
{rule}
"""


@dataclass(frozen=True, slots=True)
class FirstRule:
    """The first rule: its predicate, and the column of a table whose values it is about.

    With `pointing` it is about values that this column of another table points to.
    """

    name: str
    text: str
    subject: tuple[DraftedPredicate, DraftedColumn]
    pointing: tuple[DraftedPredicate, DraftedColumn] | None = None


def configuration(project: str, beginning: Beginning) -> str:
    """Write `constat.yaml`."""
    lines = [f"    uri: {json.dumps(beginning.address, ensure_ascii=False)}"]
    if beginning.files:
        entries = (
            f"      {name}: {json.dumps(path, ensure_ascii=False)}"
            for name, path in beginning.files.items()
        )
        lines = ["    files:", *entries]
    return _CONFIGURATION.format(
        project=json.dumps(project, ensure_ascii=False),
        name=beginning.name,
        database="\n".join(lines),
        sources=SOURCES,
    )


def first_rule(predicates: Sequence[DraftedPredicate]) -> FirstRule:
    """Choose what the first rule is about: a relationship where there is one, else a table."""
    by_label = {one.table.label: one for one in predicates}
    found = []
    for one in predicates:
        for relationship in one.table.relationships:
            target = by_label.get(relationship.target)
            pair = _pair(one, target, relationship) if target is not None else None
            if target is not None and pair is not None:
                # The larger table says more: orders of customers rather than their titles.
                worth = (relationship.declared, one.table.rows or 0)
                found.append((worth, one, pair[0], target, pair[1]))
    if not found:
        return _listed(predicates[0], predicates)
    _, one, column, target, key = max(found, key=lambda each: each[0])
    return _related((one, column), (target, key), predicates)


def _pair(
    one: DraftedPredicate, target: DraftedPredicate, relationship: Relationship
) -> tuple[DraftedColumn, DraftedColumn] | None:
    if len(relationship.columns) != 1 or one is target:
        return None
    first = _column(one, relationship.columns[0])
    second = _column(target, relationship.target_columns[0])
    return (first, second) if first and second else None


def _column(predicate: DraftedPredicate, name: str) -> DraftedColumn | None:
    return next((one for one in predicate.columns if one.decided.column.name == name), None)


def _related(
    pointing: tuple[DraftedPredicate, DraftedColumn],
    subject: tuple[DraftedPredicate, DraftedColumn],
    predicates: Sequence[DraftedPredicate],
) -> FirstRule:
    (one, column), (target, key) = pointing, subject
    name = identifier(f"has {one.name}", [other.name for other in predicates], "has")
    says = f"{{{key.name}}} of {_spoken(target)} has {_spoken(one)}"
    body = f"{_atom(target, key, key.name)}, {_atom(one, column, key.name)}"
    text = _text(name, key, says, body, f"a row of {_spoken(one)} points to {{{key.name}}}")
    return FirstRule(name, text, subject, pointing)


def _listed(one: DraftedPredicate, predicates: Sequence[DraftedPredicate]) -> FirstRule:
    named = one.key[0] if one.key else one.columns[0].name
    column = next(each for each in one.columns if each.name == named)
    name = identifier(f"is in {one.name}", [other.name for other in predicates], "is")
    says = f"{{{named}}} is in {_spoken(one)}"
    text = _text(name, column, says, _atom(one, column, named), f"{_spoken(one)} has {{{named}}}")
    return FirstRule(name, text, (one, column))


def _text(name: str, column: DraftedColumn, says: str, body: str, reason: str) -> str:
    declared = f'@[says = "{says}"]\n.decl {name}({column.name}: {column.kind.value})'
    rule = f'@[id = FIRST1]\n@[says = "{reason}"]\n{name}(?{column.name}) :- {body}.'
    written = _RULES.format(sources=SOURCES, declared=declared, rule=rule)
    return format_text(written, "<draft>", []) or written


def _atom(predicate: DraftedPredicate, column: DraftedColumn, variable: str) -> str:
    terms = (f"?{variable}" if one is column else "_" for one in predicate.columns)
    return f"{predicate.name}({', '.join(terms)})"


def _spoken(predicate: DraftedPredicate) -> str:
    return predicate.name.rstrip("_").replace("_", " ")
