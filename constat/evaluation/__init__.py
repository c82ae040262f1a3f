"""The contract between engines, tiers and whoever reads their results.

See `external` and `outcome`.
"""

from __future__ import annotations

from constat.evaluation.bulk import (
    PipelineReport,
    ResourceError,
    Resources,
    StageReport,
    StrategyError,
)
from constat.evaluation.events import (
    CallFinished,
    CallStarted,
    Event,
    Observer,
    QueryRun,
    RoundFinished,
    StageFinished,
    TierAsked,
    ignore_event,
)
from constat.evaluation.external import (
    Answer,
    Assumption,
    Call,
    ConcurrentPredicate,
    Demand,
    Evidence,
    ExternalPredicate,
    Externals,
    Opening,
    Origin,
    Portion,
)
from constat.evaluation.outcome import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    DemandEntry,
    Derivation,
    Engine,
    FactDerivation,
    Failure,
    Limits,
    Outcome,
    RuleDerivation,
)
from constat.evaluation.verdict import Verdict

__all__ = [
    "ABSENT",
    "ACCEPTED",
    "CERTAIN",
    "CONCEIVABLE",
    "POSSIBLE",
    "Answer",
    "Assumption",
    "Call",
    "CallFinished",
    "CallStarted",
    "ConcurrentPredicate",
    "Demand",
    "DemandEntry",
    "Derivation",
    "Engine",
    "Event",
    "Evidence",
    "ExternalPredicate",
    "Externals",
    "FactDerivation",
    "Failure",
    "Limits",
    "Observer",
    "Opening",
    "Origin",
    "Outcome",
    "PipelineReport",
    "Portion",
    "QueryRun",
    "ResourceError",
    "Resources",
    "RoundFinished",
    "RuleDerivation",
    "StageFinished",
    "StageReport",
    "StrategyError",
    "TierAsked",
    "Verdict",
    "ignore_event",
]
