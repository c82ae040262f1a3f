"""What the store of tables keeps, as values.

In: nothing. Out: frozen values. Invariant: a version, once kept, is never changed; numbers of
versions, notes and artifacts begin at 1 and have no gaps. Example: `StoredTable("sales", 2, ...)`
is the second table called `sales`, and the first one is still there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from constat.store.tables_format import Table

Scalar = int | float | str | bool | None
Json = Scalar | list["Json"] | dict[str, "Json"]

ARTIFACT_KINDS: Final = ("code", "output", "error", "plot", "query", "chart", "text")


@dataclass(frozen=True, slots=True)
class NewArtifact:
    """Something that a step left besides tables; `attempt` counts the tries of the step."""

    kind: str
    name: str
    content: bytes = field(repr=False)
    media: str = "text/plain; charset=utf-8"
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class StepResult:
    """All that a step leaves; it is kept as a whole or not at all."""

    step: int
    name: str = ""
    tables: Mapping[str, Table] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    artifacts: tuple[NewArtifact, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A version of a table.

    `reference` is the Parquet file of a large one in the store's folder, and empty for others.
    """

    name: str
    version: int
    step: int
    step_name: str
    sha256: str
    rows: int
    columns: tuple[tuple[str, str], ...]
    size: int
    reference: str
    at: str


@dataclass(frozen=True, slots=True)
class StoredState:
    """A version of a state variable."""

    name: str
    version: int
    step: int
    value: Json
    at: str


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the scratchpad."""

    number: int
    step: int
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something that a step left besides tables, without its content."""

    number: int
    step: int
    attempt: int
    kind: str
    name: str
    media: str
    sha256: str
    size: int
    at: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What `commit` kept, with the numbers that it got."""

    tables: tuple[StoredTable, ...] = ()
    state: tuple[StoredState, ...] = ()
    notes: tuple[Note, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
