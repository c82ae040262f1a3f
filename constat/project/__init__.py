"""What a project is: its folder, its `constat.yaml`, its connections, facts and limits.

In: a folder. Out: a `Project`. Nothing here opens a connection or reads a rule. What reads YAML is
loaded with the first project: a program over files has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.project.places import CONFIGURATION, find_project, inside
from constat.project.reading import Expanded, suggestion
from constat.project.settings import (
    APPROVALS_FILE,
    APPROVER,
    BUILT_IN_TIERS,
    KEPT,
    NO_NAMES_OF_SOURCES,
    AuthoringSetting,
    Bounds,
    Cell,
    CustomTier,
    Database,
    ExploreSetting,
    FactRow,
    FactTable,
    KeySetting,
    LogSetting,
    ModelSetting,
    ModelsSetting,
    Project,
    ReviewSetting,
    SubPlanSetting,
)

if TYPE_CHECKING:
    from constat.project.loading import load_project

__all__ = [
    "APPROVALS_FILE",
    "APPROVER",
    "BUILT_IN_TIERS",
    "CONFIGURATION",
    "KEPT",
    "NO_NAMES_OF_SOURCES",
    "AuthoringSetting",
    "Bounds",
    "Cell",
    "CustomTier",
    "Database",
    "Expanded",
    "ExploreSetting",
    "FactRow",
    "FactTable",
    "KeySetting",
    "LogSetting",
    "ModelSetting",
    "ModelsSetting",
    "Project",
    "ReviewSetting",
    "SubPlanSetting",
    "find_project",
    "inside",
    "load_project",
    "suggestion",
]


def __getattr__(name: str) -> object:
    """Find `load_project` in its module; `AttributeError` for any name that is not here."""
    if name != "load_project":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from constat.project.loading import load_project as loading_load_project  # noqa: PLC0415  loaded when it is used

    value: object = loading_load_project
    return value
