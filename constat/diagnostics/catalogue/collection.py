"""Collect the entries of all parts of the catalogue.

In: the tuples of the parts. Out: entries by code, sorted. Example: `analysis` has
C0203 and `syntax` C0121; here C0121 comes first.
"""

from __future__ import annotations

from collections.abc import Mapping

from constat.diagnostics.catalogue import (
    analysis,
    authoring,
    comparing,
    evaluation,
    exploring,
    exporting,
    external,
    forward,
    handed,
    hypotheses,
    library,
    memory,
    models,
    plans,
    proving,
    remembering,
    reporting,
    reviewing,
    running,
    sandboxes,
    schemas,
    sentences,
    signing,
    syntax,
)
from constat.diagnostics.entry import Entry


def catalogue() -> Mapping[str, Entry]:
    """Every entry by code, in the order of codes."""
    parts = (
        *(syntax.ENTRIES, analysis.ENTRIES, library.ENTRIES),
        *(evaluation.ENTRIES, external.ENTRIES, forward.ENTRIES, running.ENTRIES),
        *(comparing.ENTRIES, hypotheses.ENTRIES),
        *(handed.ENTRIES, plans.ENTRIES, signing.ENTRIES, exporting.ENTRIES, sentences.ENTRIES),
        authoring.ENTRIES,
        exploring.ENTRIES,
        memory.ENTRIES,
        models.ENTRIES,
        proving.ENTRIES,
        remembering.ENTRIES,
        reporting.ENTRIES,
        reviewing.ENTRIES,
        sandboxes.ENTRIES,
        schemas.ENTRIES,
    )
    entries = sorted((entry for part in parts for entry in part), key=lambda entry: entry.code)
    return {entry.code: entry for entry in entries}
