"""Check what declarations say of missing facts, and what rules say of reasons.

In: predicates with ``@[abducible(cost = 2)]`` or ``@[removable(cost = 1)]``, rules with
``@[reasons = "-,R12"]``. Out: diagnostics C0705 to C0707. Invariant: afterwards every cost is a
decimal above 0, only facts of outside are abducible or removable, and a rule has as many reasons as
its body has literals. Example: a cost of 0 is C0705, because a search by cost would not end.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.logic import Attributes, Predicate, Rule

ABDUCIBLE: Final = "abducible"
REMOVABLE: Final = "removable"
REASONS: Final = "reasons"
NO_REASON: Final = "-"

_MOST_COST: Final = Decimal(1_000_000)
_MOST_PLACES: Final = 6
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,31}\Z")


def cost_from(text: str) -> Decimal | None:
    """Read a cost: a decimal above 0 and at most a million, of six places; ``None`` for others."""
    try:
        cost = Decimal(text)
    except InvalidOperation:
        return None
    if not cost.is_finite() or not 0 < cost <= _MOST_COST:
        return None
    exponent = cost.as_tuple().exponent
    return cost if isinstance(exponent, int) and -exponent <= _MOST_PLACES else None


def declared_cost(attributes: Attributes, name: str) -> str | None:
    """Return the cost that an attribute gives, 1 where it gives none; ``None`` without it."""
    text = attributes.get(f"{name}.cost", attributes.get(name))
    return "1" if text == "true" else text


def reason_codes(attributes: Attributes) -> tuple[str, ...]:
    """Return the reason codes of a rule by literal, ``-`` where a literal has none."""
    text = attributes.get(REASONS)
    return () if text is None else tuple(one.strip() for one in text.split(","))


def check_abducing(predicate: Predicate, *, derived: bool) -> Iterator[Diagnostic]:
    """Report costs that are none, and conclusions that are called abducible or removable."""
    for name in (ABDUCIBLE, REMOVABLE):
        text = declared_cost(predicate.attributes, name)
        if text is None:
            if any(key.startswith(f"{name}.") for key in predicate.attributes):
                yield _odd_cost(predicate, name, "")
        elif derived and predicate.source is None:
            yield Diagnostic(
                "C0707",
                f"`{predicate.name}` is derived by rules and cannot be {name}",
                predicate.span,
                note="a conclusion holds where its rules give it; facts of outside can be missing",
                help=f"write `@[{name}]` before a declaration that its rules rest on",
            )
        elif cost_from(text) is None:
            yield _odd_cost(predicate, name, text)


def _odd_cost(predicate: Predicate, name: str, text: str) -> Diagnostic:
    return Diagnostic(
        "C0705",
        f"`{text}` is no cost" if text else f"`{name}` says something, and no cost",
        predicate.span,
        note="a cost is a decimal above 0, at most a million, with at most six places",
        help=f"write `@[{name}(cost = 1)]`",
    )


def check_reasons(rule: Rule) -> Iterator[Diagnostic]:
    """Report reasons that do not fit the body, literal by literal."""
    codes = reason_codes(rule.attributes)
    if not codes:
        return
    literals = len(rule.body)
    if len(codes) != literals:
        fitting = ",".join([*codes, *[NO_REASON] * literals][:literals])
        shared = "" if rule.id[-1:].isdigit() else "; alternatives with `;` share the attribute"
        yield Diagnostic(
            "C0706",
            f"{len(codes)} reasons for a body of {literals} literals",
            rule.span,
            note=f"there is one for each literal of a body, `-` for none{shared}",
            help=f'write `@[reasons = "{fitting}"]`' if literals else "delete the attribute",
        )
        return
    odd = next((one for one in codes if one != NO_REASON and not _CODE.match(one)), None)
    if odd is not None:
        yield Diagnostic(
            "C0706",
            f"`{odd[:40]}` is no reason code",
            rule.span,
            note="a code is 1 to 32 letters, digits, `_`, `.`, `:` or `-`, beginning with a letter "
            "or digit",
            help="write a code such as `R12`, or `-` for none",
        )
