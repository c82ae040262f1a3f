"""The workloads: what they ask, and how many rows are right.

`answers` are the cardinalities at full size on which every engine that ended has agreed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAMS: Final = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class Workload:
    """One question to all engines: its inputs with their columns, and its answers in rows."""

    name: str
    title: str
    inputs: Mapping[str, tuple[str, ...]]
    answers: Mapping[str, int]

    @property
    def program(self) -> Path:
        """The rules, as Constat and Souffle read them."""
        return PROGRAMS / f"{self.name}.dl"


_EDGE: Final = ("a", "b")

WORKLOADS: Final[Mapping[str, Workload]] = MappingProxyType(
    {
        one.name: one
        for one in (
            Workload("w1", "paths of a chain", {"edge": _EDGE}, {"path": 1_999_000}),
            Workload("w2", "paths of a sparse graph", {"edge": _EDGE}, {"path": 8_143_237}),
            Workload("w2s", "w2 with addresses", {"edge": _EDGE}, {"path": 8_143_237}),
            Workload("w3", "same generation", {"parent": ("c", "p")}, {"same": 1_398_100}),
            Workload(
                "w4",
                "reached from one node",
                {"edge": _EDGE, "source": ("a",)},
                {"reached": 993_003},
            ),
            Workload(
                "w5",
                "sums, negation and counts",
                {
                    "orders": ("id", "c", "amt", "reg", "d"),
                    "customer": ("c", "tier"),
                    "blocked": ("c",),
                },
                {"is_vip": 28_277},
            ),
            Workload(
                "w7",
                "mutual recursion",
                {
                    "new": ("v", "h"),
                    "assign": ("y", "x"),
                    "load": ("y", "x"),
                    "store": ("y", "x"),
                },
                {"points": 4_188_383, "field_points": 333_658},
            ),
            Workload("w8", "sums inside recursion", {"own": ("x", "y", "w")}, {"controls": 25_432}),
        )
    }
)
