"""Tiers that a project adds without touching Constat.

In: the `tiers:` of the project. Out: `Tier` values that import their code when they are first
asked. A tier is named by `factory: "package.module:callable"`, or it is an entry point of the group
`constat.tiers` with the tier's name; the callable takes `TierSettings`. Invariant: entry points are
searched only for a tier without a factory. Example: `tiers: {crm: {factory: "acme.tiers:crm"}}`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Final, cast

from constat.diagnostics import ConstatError, Diagnostic
from constat.tiers.tier import TierSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from constat.evaluation import Demand
    from constat.logic import Predicate
    from constat.project import CustomTier
    from constat.tiers.tier import Tier, TierAnswer

_GROUP: Final = "constat.tiers"


class CustomTierLoader:
    """Stands for a project's own tier until its code is needed; implements `Tier`."""

    def __init__(self, declared: CustomTier, folder: Path) -> None:
        self.name = declared.name
        self.cost = declared.cost
        self._declared = declared
        self._folder = folder
        self._tier: Tier | None = None

    def configured(self, predicate: Predicate) -> bool:
        """Whether the project lists the predicate, or the tier itself says it knows it.

        Raises `ConstatError` when the tier's code is needed and cannot be used.
        """
        if not self.may_know(predicate):
            return False
        tier = self._loaded()
        if self._declared.predicates is not None:
            return True
        try:
            return bool(tier.configured(predicate))
        except Exception as problem:
            reason = f"asking what it knows failed ({type(problem).__name__})"
            raise _mistake(self._declared, reason) from problem

    def may_know(self, predicate: Predicate) -> bool:
        """Whether the project leaves open that the tier knows the predicate; loads nothing."""
        listed = self._declared.predicates
        return listed is None or predicate.name in listed

    def answer(self, demand: Demand) -> TierAnswer:
        """Ask the tier."""
        return self._loaded().answer(demand)

    def _loaded(self) -> Tier:
        if self._tier is None:
            one = self._declared
            factory = _factory(one)
            settings = TierSettings(one.name, self._folder, one.cost, one.predicates, one.options)
            try:
                self._tier = factory(settings)
            except Exception as problem:
                raise _mistake(one, f"its factory failed ({type(problem).__name__})") from problem
        return self._tier


def _factory(declared: CustomTier) -> Callable[[TierSettings], Tier]:
    found: object
    if declared.factory:
        module, _, name = declared.factory.partition(":")
        if not name or module.startswith("."):
            raise _mistake(declared, "its factory is not written `package.module:callable`")
        try:
            found = getattr(importlib.import_module(module), name, None)
        except Exception as problem:
            raise _mistake(declared, f"its module fails ({type(problem).__name__})") from problem
    else:
        entries = importlib.metadata.entry_points(group=_GROUP, name=declared.name)
        try:
            found = next((entry.load() for entry in entries), None)
        except Exception as problem:
            reason = f"its entry point fails ({type(problem).__name__})"
            raise _mistake(declared, reason) from problem
    if not callable(found):
        raise _mistake(declared, "no callable of that name was found")
    return cast("Callable[[TierSettings], Tier]", found)


def _mistake(declared: CustomTier, reason: str) -> ConstatError:
    return ConstatError(
        [
            Diagnostic(
                "C0530",
                f"tier `{declared.name}` cannot be used: {reason}",
                declared.span,
                help='name it as `factory: "package.module:callable"`',
            )
        ]
    )
