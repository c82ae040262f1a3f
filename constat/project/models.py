"""What a project says about language models: which there are, for which task, at which price.

Invariants: a key is named by its environment variable and never held; an address may come from the
environment and never appears in `repr`. Example: `ModelsSetting().of("draft") is None`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.diagnostics import Span
    from constat.project.variables import Expanded

ANTHROPIC: Final = "anthropic"
OPENAI: Final = "openai"
PROVIDERS: Final = (ANTHROPIC, OPENAI)
EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
TASKS: Final = (
    *("draft", "knowledge", "heuristic", "sub-plan", "extract", "plan", "code", "narrate"),
)
"""What models are asked for; `constat.model.Task` has the same names."""

REPLAY: Final = "replay"
RECORD: Final = "record"


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost: read at the full price, from and into the cache, written."""

    read: Decimal
    written: Decimal
    cached: Decimal
    stored: Decimal


@dataclass(frozen=True, slots=True)
class ModelSetting:
    """A model under the name that tasks use.

    `key` names the environment variable with the key; empty where none is needed. `answers_as` are
    other names by which the provider may call the model. `seconds` bound one call.
    """

    name: str
    provider: str
    model: str
    key: str = ""
    address: Expanded | None = field(default=None, repr=False)
    prices: Prices | None = None
    effort: str = ""
    answers_as: tuple[str, ...] = ()
    seconds: float = 120.0
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be spent: tokens, money, and seconds of waiting; `None` is no bound."""

    tokens: int | None = None
    money: Decimal | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TapeSetting:
    """A file of replies: `replay` asks no model, `record` asks those that are not in it."""

    file: Path
    mode: str = REPLAY


@dataclass(frozen=True, slots=True)
class ModelsSetting:
    """All of it.

    `tasks` maps a task to a name, `default` is for the others. `confidence` is what a model's word
    has when it says nothing about it, and the most it ever has. `keep` are the seconds that paid
    replies are served again, `None` for ever, 0 never.
    """

    named: Mapping[str, ModelSetting] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    default: str = ""
    question: Budget = Budget(tokens=200_000, seconds=300.0)
    session: Budget = Budget(tokens=2_000_000)
    currency: str = "USD"
    tape: TapeSetting | None = None
    confidence: tuple[Decimal, Decimal] = (Decimal("0.6"), Decimal("0.8"))
    keep: int | None = None
    batch: int = 20

    def of(self, task: str) -> ModelSetting | None:
        """Give the model for a task; nothing where none is configured for it."""
        return self.named.get(self.tasks.get(task, self.default))
