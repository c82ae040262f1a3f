"""What a project says about records: whose signatures count, how decisions are written down.

Invariant: a class of retention that is used is one that is configured, or `kept`, which is for
ever. Example: `LogSetting(on=True).days("kept") is None`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.diagnostics import Span

FOREVER: Final = "forever"
KEPT: Final = "kept"
# Who may read the log of decisions beside its owner, and the rights of its files for that.
READERS: Final = MappingProxyType({"owner": 0o600, "group": 0o640, "everyone": 0o644})


@dataclass(frozen=True, slots=True)
class KeySetting:
    """A public key that the project trusts for some roles; `expires` and `revoked` are dates."""

    name: str
    file: Path
    roles: tuple[str, ...]
    expires: str | None = None
    revoked: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LogSetting:
    """Whether each decision is written down, where, and for how long each class is kept.

    `retention` is the class of new entries; `classes` gives days, `None` for ever. `file_mode` are
    the rights of its files, by which an auditor's account can read and verify them.
    """

    on: bool = False
    folder: Path | None = None
    retention: str = KEPT
    classes: Mapping[str, int | None] = field(default_factory=dict, hash=False)
    file_mode: int = READERS["owner"]

    def days(self, retention: str) -> int | None:
        """Give for how many days a class is kept; raises `KeyError` for an unknown class."""
        return None if retention == KEPT else self.classes[retention]
