"""Read `review:`: what an approval of a rule needs.

In: a node of the configuration. Out: a `ReviewSetting`. Invariant: the number of approvers is one
that people can reach. Example: `review: {four_eyes: true, approvers: 2}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.project.review import APPROVER, ReviewSetting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.project.document import Node
    from constat.project.records import KeySetting
    from constat.project.sections import Sections

_KEYS: Final = ("four_eyes", "approvers", "signed")
_MOST_APPROVERS: Final = 20


def read_review(
    node: Node | None, keys: Mapping[str, KeySetting], sections: Sections
) -> ReviewSetting:
    """Read `review:`."""
    if node is None:
        return ReviewSetting()
    found = sections.table(node, "`review`", _KEYS)
    approvers = sections.integer(found.get("approvers"), "`approvers`", 1)
    if approvers > _MOST_APPROVERS:
        message = f"`approvers` is more than {_MOST_APPROVERS}"
        sections.complain("C0889", message, found["approvers"], hint="write `approvers: 2`")
        approvers = 1
    signed = sections.flag(found["signed"], "`signed`") if "signed" in found else None
    if signed and not any(APPROVER in one.roles for one in keys.values()):
        message = "`signed` wants signatures, and no key is trusted as approver"
        hint = "name one under `keys:` with `roles: [approver]`, or leave `signed` out"
        sections.complain("C0889", message, found["signed"], hint=hint)
    return ReviewSetting(sections.flag(found.get("four_eyes"), "`four_eyes`"), approvers, signed)
