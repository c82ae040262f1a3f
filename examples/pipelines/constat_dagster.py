"""Dagster: an asset with a check that is a goal; the check fails where the goal is not proved."""

from __future__ import annotations

import os
from pathlib import Path

from dagster import AssetCheckResult, Definitions, MaterializeResult, asset, asset_check
from gate import NotProvedError, prove

HERE = Path(__file__).parent
DAY = os.environ.get("DAY", "2026-03-01")


@asset
def orders() -> MaterializeResult:
    """The orders of the day, which something else has written."""
    rows = (HERE / "data" / "orders.csv").read_text(encoding="utf-8").count("\n") - 1
    return MaterializeResult(metadata={"rows": rows})


@asset_check(asset=orders, blocking=True)
def may_close() -> AssetCheckResult:
    """Whether the day may be closed, with its certificate."""
    place = str(HERE / "build" / f"may_close-{DAY}.json")
    try:
        found = prove(f"may_close({DAY})", os.environ.get("CONSTAT_PROJECT", str(HERE)), place)
    except NotProvedError as problem:
        return AssetCheckResult(passed=False, metadata={"why": str(problem)})
    told = {"verdict": found["verdict"], "certificate": place}
    return AssetCheckResult(passed=True, metadata=told)


definitions = Definitions(assets=[orders], asset_checks=[may_close])
