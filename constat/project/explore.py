"""What a project says about exploring: how much steps may use, and whether code may run.

In: the node under `explore:`. Out: an `ExploreSetting`. Invariant: without a configuration steps of
Python run only where the machine can keep them in. Example:
`explore: {retries: 3, python: false, store: "duckdb:///explored.duckdb"}`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from constat.project.variables import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.project.document import Node
    from constat.project.sections import Sections

_KEYS: Final = (
    *("retries", "connection_retries", "rows", "seconds", "memory"),
    *("python", "sandbox", "store", "certificates"),
)
STRONG, WEAK = "strong", "weak"
_SANDBOXES: Final = (STRONG, WEAK)
_MEGABYTE: Final = 1 << 20
_MOST_RETRIES: Final = 20


@dataclass(frozen=True, slots=True)
class ExploreSetting:
    """How exploring is done.

    `retries` are corrections by a model and `connection_retries` further tries, for each step;
    `rows`, `seconds` and `memory` (bytes) bound one step. `sandbox` is `strong`, or `weak` where
    code may run in spite of a machine that cannot keep it in, if whoever runs it says so as well:
    then `unconfined` is set, never by a configuration. `store` is the address of the tables,
    empty for a file in the state folder; it may hold a password. With `certificates` an answer is
    proved, and its certificate kept, where that takes less than a moment.
    """

    retries: int = 2
    connection_retries: int = 1
    rows: int = 2_000_000
    seconds: float = 60.0
    memory: int = 1 << 30
    python: bool = True
    sandbox: str = STRONG
    unconfined: bool = False
    store: str = field(default="", repr=False)
    certificates: bool = True


def read_explore(
    node: Node | None, environment: Mapping[str, str], sections: Sections
) -> ExploreSetting:
    """Read `explore:`."""
    plain = ExploreSetting()
    if node is None:
        return plain
    found = sections.table(node, "`explore`", _KEYS)
    sandbox = sections.text(found.get("sandbox"), "`sandbox`", STRONG)
    if sandbox not in _SANDBOXES:
        message = "`sandbox` is neither strong nor weak"
        sections.complain("C0504", message, found["sandbox"], hint="write `sandbox: strong`")
        sandbox = STRONG
    address = expand(sections.text(found.get("store"), "`store`"), environment)
    if address.malformed or address.text is None:
        message = "`store` names an environment variable that is not set"
        sections.complain("C0511", message, found["store"])
    memory = sections.integer(found.get("memory"), "`memory`", plain.memory // _MEGABYTE)
    return ExploreSetting(
        _count(found, "retries", plain.retries, sections),
        _count(found, "connection_retries", plain.connection_retries, sections),
        sections.integer(found.get("rows"), "`rows`", plain.rows),
        sections.seconds(found.get("seconds"), "`seconds`", plain.seconds),
        memory * _MEGABYTE,
        sections.flag(found["python"], "`python`") if "python" in found else plain.python,
        sandbox,
        store=address.text or "",
        certificates=sections.flag(found["certificates"], "`certificates`")
        if "certificates" in found
        else plain.certificates,
    )


def _count(found: Mapping[str, Node], key: str, default: int, sections: Sections) -> int:
    """Read a number that may be zero."""
    node = found.get(key)
    if node is None or sections.text(node, f"`{key}`") == "0":
        return default if node is None else 0
    return min(sections.integer(node, f"`{key}`", default), _MOST_RETRIES)
