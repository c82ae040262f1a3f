"""Certificates with approvals of rules, right and forged, for both checkers.

In: nothing.  Out: certificates by name, each with the verdict or with the code of its rejection.
"""

from __future__ import annotations

import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tests.check.catalog import good
from tests.check.writer import canonical, seal, sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Change = Callable[[list[str]], object]

TIME: Final = "2026-11-21T10:00:00.000000Z"
KEY: Final = "sha256:" + "5" * 64


def said(rule: Mapping[str, Any]) -> str:
    """Return the hash of what a rule says, as the format tells it."""
    return sha256(canonical({name: one for name, one in rule.items() if name != "assumption"}))


def approval(rule: str, **changes: object) -> dict[str, object]:
    return {"at": TIME, "by": "Ada", "key": None, "rule": rule} | changes


def approved(change: Change) -> bytes:
    """Return a good certificate; ``change`` gives approvals for the hashes of its rules."""
    tree = copy.deepcopy(good("levels_of_all_kinds").tree)
    tree["header"]["approvals"] = change([said(rule) for rule in tree["rules"]])
    return seal(tree)


def ordered(*approvals: dict[str, object]) -> list[dict[str, object]]:
    return sorted(approvals, key=canonical)


CHANGES: Final[Mapping[str, tuple[Change, str]]] = MappingProxyType(
    {
        "approved_rule": (lambda rules: [approval(rules[0])], "PROVED_UNDER"),
        "approved_rules": (
            lambda rules: ordered(*(approval(one, key=KEY) for one in rules)),
            "PROVED_UNDER",
        ),
        "approved_twice": (
            lambda rules: ordered(approval(rules[0]), approval(rules[0], by="Bob")),
            "PROVED_UNDER",
        ),
        "approval_of_another_rule": (lambda _: [approval(KEY)], "approval"),
        "approval_of_a_rule_before_its_change": (
            lambda rules: [approval(rules[0][:-1] + ("0" if rules[0][-1] != "0" else "1"))],
            "approval",
        ),
        "approval_by_nobody": (lambda rules: [approval(rules[0], by="")], "approval"),
        "approval_at_no_time": (lambda rules: [approval(rules[0], at="2026-11-21")], "value"),
        "approval_with_no_key": (lambda rules: [approval(rules[0], key="Ada's")], "schema"),
        "approval_with_more": (lambda rules: [approval(rules[0], reason="why")], "schema"),
        "approval_that_is_a_text": (lambda rules: [rules[0]], "schema"),
        "approvals_out_of_order": (
            lambda rules: ordered(approval(rules[0]), approval(rules[0], by="Bob"))[::-1],
            "order",
        ),
        "approval_that_stands_twice": (lambda rules: [approval(rules[0])] * 2, "order"),
    }
)

CASES: Final[Mapping[str, Callable[[], tuple[bytes, str]]]] = MappingProxyType(
    {
        name: lambda change=change, code=code: (approved(change), code)  # type: ignore[misc]
        for name, (change, code) in CHANGES.items()
    }
)
