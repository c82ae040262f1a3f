"""Tiers of a project's own, as somebody outside would write them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from constat.evaluation import Demand, Evidence, Origin, Portion
from constat.tiers import TierAnswer, TierSettings, failed

if TYPE_CHECKING:
    from constat.logic import Predicate, Row


class Sample:
    """Knows what its options say: `rows`, `origin`, `complete`, or it breaks."""

    def __init__(self, settings: TierSettings) -> None:
        self.name = settings.name
        self.cost = settings.cost
        self.options = settings.options
        self.asked: list[Demand] = []

    def configured(self, predicate: Predicate) -> bool:
        return True

    def answer(self, demand: Demand) -> TierAnswer:
        match self.options.get("mode", ""):
            case "raise":
                raise RuntimeError("cannot reach https://bob:hunter2@crm/x password=hunter3")
            case "fail":
                return failed(demand, "the service is closed")
            case "nonsense":
                return "rows"  # type: ignore[return-value]
            case "wrong row":
                return self._told(demand, ((1, 2, 3),), frozenset())
            case "wrong kind":
                return self._told(demand, ((1,) * demand.predicate.arity,), frozenset())
        pairs = self.options.get("rows", "").split()
        rows = tuple(tuple(pair.split("/")) for pair in pairs)
        complete = frozenset(demand.keys) if "complete" in self.options else frozenset()
        return self._told(demand, rows, complete)

    def _told(self, demand: Demand, rows: tuple[Row, ...], complete: frozenset[Row]) -> TierAnswer:
        evidence = Evidence(
            tier=self.name,
            origin=Origin[self.options.get("origin", "API")],
            source="crm",
            executed_at="2026-01-01T00:00:00.000000Z",
            row_count=len(rows),
            confidence=Decimal("0.8"),
        )
        return TierAnswer((Portion(rows, evidence),), (), complete, {}, (evidence,))


def broken(settings: TierSettings) -> Sample:
    raise RuntimeError("hunter2")
