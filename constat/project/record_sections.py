"""Read `keys:` and `log:`: whose signatures count, and whether decisions are written down.

In: nodes of the configuration. Out: `KeySetting` and `LogSetting`. Invariant: files and folders
lie inside the project after resolving links; dates are real days; a retention is a number of days
or `forever`. Example: `log: {retention: lending, classes: {lending: 3650d}}`.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from constat.project.document import Table, Text, printable
from constat.project.places import inside
from constat.project.records import FOREVER, KEPT, READERS, KeySetting, LogSetting
from constat.project.suggesting import suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from constat.project.document import Node
    from constat.project.sections import Sections

_KEY_KEYS: Final = ("file", "roles", "expires", "revoked")
_LOG_KEYS: Final = ("on", "folder", "retention", "classes", "readable_by")
_ROLE: Final = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
_DAYS: Final = re.compile(r"([1-9][0-9]{0,5})d\Z", re.ASCII)


def read_keys(node: Node, folder: Path, sections: Sections) -> dict[str, KeySetting]:
    """Read `keys:`, a table of names."""
    return {
        key.text: _key(key, value, folder, sections)
        for key, value in sections.entries(node, "`keys`")
    }


def _key(key: Text, node: Node, folder: Path, sections: Sections) -> KeySetting:
    what = f"key `{printable(key.text)}`"
    found = sections.table(node, what, _KEY_KEYS)
    for name in ("file", "roles"):
        if name not in found:
            hint = "write `file: keys/ada.pub.pem` and `roles: [approver]`"
            sections.complain("C0745", f"{what} has no `{name}`", key, hint=hint)
    file = inside(sections.text(found.get("file"), "`file`", "."), folder)
    if file is None:
        sections.complain("C0745", f"the file of {what} leads out of the project", found["file"])
    roles = sections.texts(found.get("roles"), "`roles`")
    for role in roles:
        if not _ROLE.match(role.text):
            hint = "a role is lower-case letters, digits and `-`, such as `approver`"
            sections.complain("C0745", "this is no name of a role", role, hint=hint)
    return KeySetting(
        name=key.text,
        file=file or folder,
        roles=tuple(role.text for role in roles),
        expires=_day(found.get("expires"), "`expires`", sections),
        revoked=_day(found.get("revoked"), "`revoked`", sections),
        span=key.span,
    )


def _day(node: Node | None, what: str, sections: Sections) -> str | None:
    if node is None:
        return None
    written = sections.text(node, what)
    try:
        return date.fromisoformat(written).isoformat()
    except ValueError:
        sections.complain("C0745", f"{what} is no date", node, hint="write it as `2027-01-31`")
        return None


def read_log(node: Node | None, folder: Path, sections: Sections) -> LogSetting:
    """Read `log:`, which is true, false or a table; a table means true unless it says `on`."""
    if node is None:
        return LogSetting()
    if isinstance(node, Text) and node.text:
        return LogSetting(on=sections.flag(node, "`log`"))
    found = sections.table(node, "`log`", _LOG_KEYS)
    classes = _classes(found.get("classes", Table((), node.span)), sections)
    return LogSetting(
        on=sections.flag(found["on"], "`on`") if "on" in found else True,
        folder=_folder(found.get("folder"), folder, sections),
        retention=_retention(found.get("retention"), classes, sections),
        classes=classes,
        file_mode=_file_mode(found.get("readable_by"), sections),
    )


def _file_mode(node: Node | None, sections: Sections) -> int:
    written = "owner" if node is None else sections.text(node, "`readable_by`", "owner")
    if node is not None and written not in READERS:
        hint = suggestion(written, list(READERS))
        message = "`readable_by` is `owner`, `group` or `everyone`"
        sections.complain("C0505", message, node, hint=hint)
        return READERS["owner"]
    return READERS[written]


def _folder(node: Node | None, folder: Path, sections: Sections) -> Path | None:
    if node is None:
        return None
    found = inside(sections.text(node, "`folder`", "."), folder)
    if found is None or found == folder:
        sections.complain("C0505", "`folder` is not a folder inside the project", node)
        return None
    return found


def _classes(node: Node, sections: Sections) -> dict[str, int | None]:
    classes: dict[str, int | None] = {}
    for key, value in sections.entries(node, "`classes`"):
        written = sections.text(value, "a retention", FOREVER)
        days = _DAYS.match(written)
        if days is None and written != FOREVER:
            hint = "write days such as `3650d`, or `forever`"
            sections.complain("C0757", "this is no retention", value, hint=hint)
        if not _ROLE.match(key.text) or key.text == KEPT:
            hint = (
                f"use lower-case letters, digits and `-`; `{KEPT}` is built in and means for ever"
            )
            sections.complain("C0757", "this is no name for a class", key, hint=hint)
        classes[key.text] = int(days[1]) if days else None
    return classes


def _retention(node: Node | None, classes: Mapping[str, int | None], sections: Sections) -> str:
    if node is None:
        return KEPT
    written = sections.text(node, "`retention`", KEPT)
    if written != KEPT and written not in classes:
        hint = suggestion(written, [*classes, KEPT])
        sections.complain("C0757", "`retention` names no class of `classes`", node, hint=hint)
        return KEPT
    return written
