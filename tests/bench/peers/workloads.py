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

    def program(self, folder: Path) -> Path:
        """The rules, as Constat and Souffle read them; generated ones lie with the facts."""
        generated = folder / "program.dl"
        return generated if generated.exists() else PROGRAMS / f"{self.name}.dl"


_EDGE: Final = ("a", "b")


def _shape(name: str, title: str, inputs: str, answers: str) -> Workload:
    """Give a shape of the literature; the first engine that answers says what is right."""
    given = (one.split(":") for one in inputs.split())
    return Workload(
        name,
        title,
        {relation: tuple(columns) for relation, columns in given},
        dict.fromkeys(answers.split(), 0),
    )


_SHAPES: Final = (
    _shape("graspan", "context-sensitive pointers", "assign:yx deref:yx", "flow memory alias"),
    _shape(
        "el",
        "classification in EL",
        "class:x below:ab both:abc gives:apb needs:pab role:pq chain:pqt",
        "is has",
    ),
    _shape(
        "doop",
        "points-to with 32 relations",
        "alloc:vo move:ab load:abf store:afb sload:af sstore:fb aload:ab astore:ab cast:abt"
        " vcall:vsi scall:im within:im otype:ot lookup:tsm param:mnv arg:inv ret:mv result:iv"
        " this:mv throw:mv catch:mtv extends:tu main:m",
        "vpt fpt edge reach thrown unsafe",
    ),
    _shape("kin", "same generation, skewed", "parent:cp", "same"),
    _shape("bom", "bill of materials", "part:pc made:psq", "below total kinds"),
    _shape("near", "shortest paths with a bound", "edge:abw start:a", "path shortest"),
    _shape("texts", "dependencies by texts", "needs:abv", "reach exposed"),
    _shape("rules", "2,000 rules in layers", "e:ab", "middle last"),
    _shape("lists", "lists and trees in recursion", "edge:ab", "walk tree value"),
)

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
            *_SHAPES,
        )
    }
)
