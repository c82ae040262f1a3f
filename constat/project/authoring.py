"""What a project says about drafting: how long a model may try, what it may draft.

Invariant: without a word of the project no predicate is planned by a model, and every bound is
finite. Example: `AuthoringSetting().rounds == 3`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STRICT: Final = "strict"
BARE: Final = "bare"
SPELLINGS: Final = (STRICT, BARE)


@dataclass(frozen=True, slots=True)
class AuthoringSetting:
    """How `ask` drafts.

    After `rounds` proposals that do not pass the checks it gives up; `lookups` bounds what a model
    may look up for one question. `variables` is how a model spells them: `strict` is `?x`, `bare`
    is `x`. `context` tells the model about the domain. Without `queries` it may not write SQL;
    `query_rows` bounds the estimated rows of a query that it does write. With `facts` it may also
    look up facts, which then go to its provider.
    """

    rounds: int = 3
    lookups: int = 16
    variables: str = STRICT
    context: str = ""
    queries: bool = True
    query_rows: int = 1_000_000
    facts: bool = False


@dataclass(frozen=True, slots=True)
class SubPlanSetting:
    """Which predicates a model may plan where nothing else answers them, and how deep plans go."""

    predicates: tuple[str, ...] = ()
    depth: int = 2
