"""What the proposals of a model are held against.

In: nothing. Out: the value that a session builds once for a question. Invariant: `check_query` only
prepares queries, it runs none. Example: `Ground(program, ("sales",), setting, check_query)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.logic import Predicate
    from constat.project import AuthoringSetting


@dataclass(frozen=True, slots=True)
class Ground:
    """What a proposal is held against.

    `databases` are the sources that a query may name; `check_query` asks one of them. A draft may
    add rules to the predicates in `plannable`, which nothing else answers; with `must_derive` it
    has to derive that one. `rejected` are texts that people have rejected, with their reasons.
    """

    program: AnalysedProgram
    databases: tuple[str, ...]
    setting: AuthoringSetting
    check_query: Callable[[Predicate], list[Diagnostic]]
    plannable: frozenset[str] = frozenset()
    must_derive: str = ""
    rejected: Mapping[str, str] = field(default_factory=dict, hash=False)
