"""How Constat speaks to people: diagnostics, places, and the catalogue of codes.

Imports nothing of ours. Code ranges: 01 syntax, 02 analysis, 03 planning, 04 evaluation, 05
external (configuration, sources, tiers, facts), 06 models and authoring, 07 back ends.
"""

from constat.diagnostics.diagnostic import (
    ConstatError,
    Diagnostic,
    JsonObject,
    Related,
    Severity,
    Span,
    counted,
    nearest,
    to_json,
)
from constat.diagnostics.render import render

__all__ = [
    "ConstatError",
    "Diagnostic",
    "JsonObject",
    "Related",
    "Severity",
    "Span",
    "counted",
    "nearest",
    "render",
    "to_json",
]
