"""What the catalog answers: databases, relationships, search results, samples.

In: nothing. Out: frozen values. Invariant: a source that was not reached is told apart from one
without tables. Example: `DatabaseSummary("sales", "sqlite", 12, "2026-01-31T10:00:00Z")`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """A database of the project. `failure` is why it could not be looked at just now.

    `seen_at` is when its tables were read; empty where that never succeeded.
    """

    name: str
    kind: str
    tables: int
    seen_at: str = ""
    failure: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A relationship with both its ends, `table` pointing to `target`; names within `database`."""

    database: str
    table: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    declared: bool
    evidence: str


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that fits a search: a `table`, `column`, `predicate` or `rule`.

    `place` is the database, or the file of a rule; `about` a comment, a sentence or a description.
    """

    kind: str
    name: str
    place: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best hits first; where there is none, words of the catalog that were perhaps meant."""

    hits: tuple[Hit, ...]
    meant: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """Values of a column as text, the most frequent of those that were looked at first."""

    column: str
    values: tuple[tuple[str, int], ...]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a look at a source found: whether anything has changed, and how many tables it has."""

    name: str
    changed: bool
    tables: int
    failure: str = ""
    problems: tuple[str, ...] = ()
