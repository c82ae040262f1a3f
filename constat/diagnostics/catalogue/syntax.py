"""Codes C01: the text of rules and goals."""

from __future__ import annotations

from constat.diagnostics.catalogue.declarations import DECLARATIONS
from constat.diagnostics.catalogue.goals import GOALS
from constat.diagnostics.catalogue.records import RECORDS
from constat.diagnostics.catalogue.refusals import REFUSALS
from constat.diagnostics.catalogue.spelling import SPELLING
from constat.diagnostics.catalogue.structure import STRUCTURE
from constat.diagnostics.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *(*SPELLING, *STRUCTURE, *DECLARATIONS),
    *(*REFUSALS, *GOALS, *RECORDS),
)
