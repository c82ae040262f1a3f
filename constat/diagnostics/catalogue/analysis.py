"""Codes C02: analysis."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.catalogue.constructors import CONSTRUCTORS
from constat.diagnostics.catalogue.kinds import KINDS
from constat.diagnostics.catalogue.programs import PROGRAMS
from constat.diagnostics.catalogue.thresholds import THRESHOLDS
from constat.diagnostics.catalogue.variables import VARIABLES
from constat.diagnostics.entry import Entry

ENTRIES: Final[tuple[Entry, ...]] = (
    *VARIABLES,
    *KINDS,
    *PROGRAMS,
    *CONSTRUCTORS,
    *THRESHOLDS,
)
