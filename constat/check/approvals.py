"""Who let rules of models in: the header's approvals, each bound to what its rule says.

In: parsed JSON of the header's member and of the rules.  Out: ``Approval`` values, or ``Rejected``.
Invariant: an approval names a rule of this certificate by the hash of what the rule says, so one
given for another version cannot be shown for it.  FORMAT.md, section 3.

Example: an approval whose rule had another threshold is rejected with the code ``approval``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from . import shapes
from .canonical import canonical, sha256
from .rejection import Rejected, each

if TYPE_CHECKING:
    from .canonical import Json

_SAID: Final = ("id", "head", "body", "variables", "confidence", "says")


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's word on the rule of this index; ``key`` is the id of the key that signed it."""

    rule: int
    by: str
    at: str
    key: str | None


def read_approvals(value: Json, rules: Json) -> tuple[Approval, ...]:
    """Read the approvals of a certificate whose rules have been read."""
    listed = shapes.array(value)
    if not listed:
        return ()
    spelled = [canonical(one) for one in listed]
    if spelled != sorted(set(spelled)):
        raise Rejected("order", "approvals are sorted and distinct", "approvals")
    places = {rule_hash(rule): place for place, rule in enumerate(shapes.array(rules))}
    return tuple(each("approvals", listed, lambda one: _approval(one, places)))


def rule_hash(rule: Json) -> str:
    """Return the hash of what a rule says; whether it is assumed, and by whom, is no part of it."""
    if not isinstance(rule, dict):
        raise Rejected("schema", "an object is expected")
    # Texts count where there are any, so a rule without has one hash in both formats.
    names = (*_SAID, "texts") if rule.get("texts") else _SAID
    return sha256(canonical({name: rule.get(name) for name in names}))


def _approval(value: Json, places: dict[str, int]) -> Approval:
    at, by, key, rule = shapes.members(value, ("at", "by", "key", "rule"))
    place = places.get(shapes.sha(rule))
    if place is None:
        raise Rejected("approval", "it is of no rule of this certificate", "rule")
    name = shapes.text(by)
    if not name:
        raise Rejected("approval", "nobody is named", "by")
    return Approval(place, name, shapes.moment(at), shapes.sha_or_null(key))
