"""Questions beyond "is it so?": why not, what if, and what is missing.

In: a goal, as `prove` takes it. Out: an explanation, a hypothetical answer, sets of facts. Each is
loaded when it is first asked. Invariant: suppositions are written nowhere: no fact, no kept answer,
no certificate. Example: `session.why_not("is_vip(C002)")`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from constat.evaluation import Observer
    from constat.session.bench import Bench
    from constat.session.missing_facts import MissingFacts
    from constat.session.result import Result
    from constat.session.row_proofs import RowProofs
    from constat.session.what_if import WhatIf
    from constat.session.why_not import WhyNotResult


class Questions(ABC):
    """The part of a session that answers them."""

    @abstractmethod
    def _bench(self) -> Bench:
        """Give what is needed to answer."""

    @abstractmethod
    def prove(self, goal: str, *, minimal: str | None = None) -> Result:
        """Prove a goal."""

    def row_proofs(self, query: str) -> RowProofs:
        """Make ready to prove many rows of one query, each with a proof of least height.

        The result is computed once and held in memory, until what this gives is closed. Raises
        `ConstatError` as `query` does.
        """
        proving = importlib.import_module("constat.session.row_proofs")
        found: RowProofs = proving.row_proofs(
            self._bench(), query, lambda goal: self.prove(goal, minimal="height")
        )
        return found

    def why_not(
        self, goal: str, *, most: int = 40, observe: Observer | None = None
    ) -> WhyNotResult:
        """Say why a goal does not hold: how far each rule gets, and what stops it there.

        `most` bounds the number of conclusions that are looked into. A goal that holds is shown
        with its proof; one that is open with what is missing. Raises `ConstatError` as `prove`.
        """
        asking = importlib.import_module("constat.session.why_not")
        found: WhyNotResult = asking.why_not(self._bench(), goal, most=most, observe=observe)
        return found

    def what_if(  # noqa: PLR0913  each kind of supposition has a name
        self,
        goal: str,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
        rules: Sequence[Path | str] = (),
        query: bool = False,
        observe: Observer | None = None,
    ) -> WhatIf:
        """Answer a goal as if facts were there or not, values others, rules others.

        `add` and `remove` are facts (in `remove`, variables stand for any value), `settings` are
        values of the configuration by name, `rules` are files whose rules are added or take the
        place of those with the same id, or of a file with the same name. With `query` the goal is
        a conjunction. Raises `ConstatError` for what cannot be supposed.
        """
        supposing = importlib.import_module("constat.session.what_if")
        supposed = supposing.Suppositions(
            tuple(add), tuple(remove), tuple((settings or {}).items()), tuple(rules)
        )
        found: WhatIf = supposing.what_if(
            self._bench(), goal, supposed, query=query, observe=observe
        )
        return found

    def missing_facts(
        self,
        goal: str,
        *,
        top: int = 3,
        abducible: Mapping[str, str] | None = None,
        removable: Mapping[str, str] | None = None,
        seconds: float = 10.0,
        observe: Observer | None = None,
    ) -> MissingFacts:
        """Find the cheapest sets of facts that would prove a goal, each tried by `what_if`.

        Facts of predicates declared `@[abducible(cost = 2)]` may be supposed, and those of
        predicates declared `@[removable(cost = 1)]` taken away; `abducible` and `removable` name
        further ones with their costs. `top` sets are looked for, the cheapest first.
        """
        searching = importlib.import_module("constat.session.missing_facts")
        asked = searching.Asked(
            top, tuple((abducible or {}).items()), tuple((removable or {}).items()), seconds
        )
        found: MissingFacts = searching.missing_facts(self._bench(), goal, asked, observe=observe)
        return found
