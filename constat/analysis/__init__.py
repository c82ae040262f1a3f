"""Analysis: names, types, safety, modes, strata."""

from __future__ import annotations

from constat.analysis.analysed import AnalysedProgram, Component

__all__ = ["AnalysedProgram", "Component"]
