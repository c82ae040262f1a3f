"""What the catalogue of codes is made of: one entry per code, with examples that are run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A code, what it means, and a wrong and a right example.

    `kind` says what the examples are: `rules` (a rule file), `souffle` (one that is read as
    Souffle's), `goal` (a goal over `rules_for_goal`), `project` (a `constat.yaml`), or `text`
    where no file shows the mistake. Codes never change meaning.
    """

    code: str
    title: str
    explanation: str
    wrong: str
    right: str
    kind: str = "rules"
    rules_for_goal: str = ""
