"""All results, by the names of their commands."""

from __future__ import annotations

from collections.abc import Mapping

from constat.cli.schemas import (
    answers,
    context,
    exploring,
    reasons,
    records,
    rules,
    sources,
)
from constat.cli.schemas.forms import Result, Schema, schema_of


def results() -> Mapping[str, Result]:
    """Give the result of each command, by its name with dashes; `error` is that of failures."""
    chapters = (answers, context, exploring, reasons, records, rules, sources)
    return {name: result for chapter in chapters for name, result in chapter.RESULTS.items()}


def json_schema(name: str) -> Schema:
    """Write the JSON Schema of what a command prints; `KeyError` where there is none."""
    return schema_of(name, results()[name])
