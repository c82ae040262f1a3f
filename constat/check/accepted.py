"""What rests on each assumption that a verdict accepts.

In: a checked certificate.  Out: for each accepted assumption lines that name the rows, the rules
and the absences that count because it is accepted.  Invariant: the lines are made from what was
checked; an assumption's own text is the writer's word and may speak of something else.

Example: under ``alice says so`` stands ``tier("C001", "gold")``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .printing import printable, show_row, show_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .certificate import Certificate

MOST_SHOWN: Final = 5


def resting(certificate: Certificate, assumption: int) -> tuple[str, ...]:
    """Return a line for each thing that rests on the assumption; of many rows the first few."""
    found = list(_rows(certificate, assumption))
    rest = len(found) - MOST_SHOWN
    more = [f"and {rest} more"] if rest > 0 else []
    return (*found[:MOST_SHOWN], *more, *_rules(certificate, assumption))


def _rows(certificate: Certificate, assumption: int) -> Iterator[str]:
    declarations = certificate.program.declarations
    for group in certificate.evidence.facts:
        if assumption in group.rests_on:
            kinds = declarations[group.predicate].kinds
            for row in group.rows:
                yield show_row(group.predicate, kinds, row)
    for one in certificate.evidence.filled:
        if one.assumption == assumption:
            group = certificate.evidence.facts[one.group]
            kinds = declarations[group.predicate].kinds
            whole = show_row(group.predicate, kinds, group.rows[one.row])
            name = declarations[group.predicate].columns[one.column][0]
            yield f"{name} of {whole} is {show_value(kinds[one.column], one.value)}"
    for hole in certificate.evidence.open:
        if hole.assumption == assumption:
            kinds = declarations[hole.predicate].kinds
            yield f"nothing else matches {show_row(hole.predicate, kinds, hole.row)}"


def _rules(certificate: Certificate, assumption: int) -> Iterator[str]:
    for rule in certificate.program.rules:
        if rule.assumption == assumption:
            yield f"rule {printable(rule.name)}"
