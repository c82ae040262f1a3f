"""What a project is: its folder, its `constat.yaml`, its connections, facts and limits.

In: a folder. Out: a `Project`. Nothing here opens a connection or reads a rule.
"""

from __future__ import annotations

from constat.project.loading import load_project
from constat.project.places import CONFIGURATION, find_project, inside
from constat.project.project import (
    BUILT_IN_TIERS,
    Bounds,
    Cell,
    CustomTier,
    Database,
    FactRow,
    FactTable,
    Project,
)
from constat.project.suggesting import suggestion
from constat.project.variables import Expanded

__all__ = [
    "BUILT_IN_TIERS",
    "CONFIGURATION",
    "Bounds",
    "Cell",
    "CustomTier",
    "Database",
    "Expanded",
    "FactRow",
    "FactTable",
    "Project",
    "find_project",
    "inside",
    "load_project",
    "suggestion",
]
