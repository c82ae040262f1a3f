"""The forty questions, and how their answers are compared.

In: the files of `questions`. Out: questions with the steps that a person wrote, and rows whose
values compare. Invariant: equal numbers are equal, whatever type they came as.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from tests.explore.worlds import TODAY

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER: Final = Path(__file__).parent / "questions"
DAYS: Final = {
    "regions": TODAY,
    "shop": "2025-11-21",
    "access": "2026-06-30",
    "ownership": "2026-01-15",
}


def questions(world: str) -> list[dict[str, Any]]:
    """Read the questions of a world, each with steps that have names and goals."""
    found: list[dict[str, Any]] = yaml.safe_load((FOLDER / f"{world}.yaml").read_text())
    for one in found:
        for step in one["steps"]:
            step["name"] = step["outputs"][0].partition("(")[0]
            step["goal"] = step["name"].replace("_", " ")
        one["answer"] = one["steps"][-1]["name"]
    return found


def plain(rows: Iterable[Iterable[Any]]) -> list[tuple[Any, ...]]:
    """Give rows with values that compare, sorted."""
    return sorted(tuple(map(_plain, row)) for row in rows)


def _plain(value: Any) -> Any:  # noqa: ANN401  any cell
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float | Decimal):
        return Decimal(str(value)).normalize() + 0
    return value
