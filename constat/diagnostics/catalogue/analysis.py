"""Codes C02: analysis."""

from __future__ import annotations

from constat.diagnostics.entry import Entry

ENTRIES: tuple[Entry, ...] = ()
