"""Sentences about atoms and assumptions; the same assumption always gets the same sentence.

In: predicates, rows, names. Out: text and `Assumption` values. Example: the row `("C009", "gold")`
of `tier` reads `tier(C009, gold)`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.evaluation import Assumption, Origin
from constat.logic import OPEN, OpenRow
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from constat.evaluation import Demand, Evidence
    from constat.logic import Predicate, Row

_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s/@]{0,500}@")
_NAMED_SECRET: Final = re.compile(
    r"(?i)\b(pass(?:word|wd)?|pwd|secret|token|api[_-]?key|authorization)(\s*[=:]\s*)\S{1,500}"
)
_LONGEST: Final = 200

SUPPOSED: Final = "supposed"
"""The tier of supposed rows, and how the text of every supposition begins."""


def pattern(demand: Demand, key: Row) -> OpenRow:
    """Give the open row of a demanded key: anything in the other columns."""
    places = dict(zip(demand.columns, key, strict=True))
    return tuple(places.get(place, OPEN) for place in range(demand.predicate.arity))


def stated_by(author: str, predicate: Predicate, row: Row) -> Assumption:
    """Give the assumption that a person's word is true."""
    atom = print_row(predicate, row)
    return Assumption("fact", atom, f"user {author} says {atom}")


def told_by(tier: str, predicate: Predicate, row: Row, confidence: Decimal) -> Assumption:
    """Give the assumption that what a tier tells is true."""
    atom = print_row(predicate, row)
    return Assumption("fact", atom, f"tier {tier} says {atom}", confidence)


def fallen_through(tiers: Iterable[str], predicate: Predicate) -> Assumption:
    """Give the assumption that silent tiers would have changed nothing."""
    names = tuple(dict.fromkeys(tiers))
    noun = "tier" if len(names) == 1 else "tiers"
    listed = " and ".join(names)
    return Assumption(
        "fall-through", listed, f"{noun} {listed} did not answer for {predicate.name}"
    )


def declared_closed(author: str, predicate: Predicate) -> Assumption:
    """Give the assumption that the known rows are all there are."""
    text = f"{author} declares that no fact of {predicate.name} is missing"
    return Assumption("closure", predicate.name, text)


def preferred(tier: str, predicate: Predicate) -> Assumption:
    """Give the assumption that people are right where another assumed value stands against them."""
    text = f"what people state of {predicate.name} counts before what tier {tier} assumes"
    return Assumption("closure", predicate.name, text)


def filled_in(predicate: Predicate) -> Assumption:
    """Give the assumption that what lower tiers say of null cells of a source is their value."""
    text = f"what is stated of {predicate.name} fills the cells that its source does not know"
    return Assumption("closure", predicate.name, text)


def who_says(tier: str, predicate: Predicate, row: Row, evidence: Evidence | None) -> str:
    """Say whose word a row is: `database sales says tier(C001, gold)`."""
    if evidence is not None and evidence.tier == SUPPOSED:
        return f"{SUPPOSED} is {print_row(predicate, row)}"
    who = f"tier {tier}"
    if evidence is not None and evidence.author:
        who = f"user {evidence.author}"
    elif evidence is not None and evidence.origin is Origin.DATABASE:
        who = f"database {evidence.source}"
    elif evidence is not None and evidence.origin is Origin.CONFIG:
        who = "the configuration"
    return f"{who} says {print_row(predicate, row)}"


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """Give a message of foreign code without addresses' passwords, bounded, in one line."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    text = _NAMED_SECRET.sub(r"\1\2***", _ADDRESS.sub(r"\1***@", text[:5_000]))
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
