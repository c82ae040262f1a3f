"""How a decision is to be written down; apart from the log, which most programs never load.

Example: `session.prove("is_vip(C001)", log=LogAs(by="alice"))`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogAs:
    """How a decision is written down.

    `by` is who decides, by default the user of this process; `retention` is a class of the
    project's; `supersedes` is the number of an earlier decision, or the identity of its proof.
    Unless `asked`, the project must have a log of its own.
    """

    by: str | None = None
    retention: str | None = None
    supersedes: str | None = None
    asked: bool = True
