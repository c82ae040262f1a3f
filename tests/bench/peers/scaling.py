"""How time grows: with data, with rules, with cores.

In: a folder for inputs. Out: for each curve its title and points. Rules are generated: chains of
joins and unions over one small relation, so that planning is what is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.bench.peers.comparing import Result
from tests.bench.peers.engines import engines
from tests.bench.peers.generate import Size, write
from tests.bench.peers.running import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_SECONDS: Final = 300.0
_RULES: Final = (10, 100, 500, 1_000, 2_000)
_SIZES: Final = (0.25, 1.0, 4.0)
"""Of the full size: x1, x4 and x16 of a million and a quarter rows."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve: what grows, and a result for each size."""

    title: str
    points: tuple[tuple[str, Result], ...]


def curves(folder: Path, environment: Mapping[str, str]) -> Iterator[Curve]:
    """Measure all curves."""
    for workload in ("w4", "w5"):
        yield _data(workload, folder, environment)
    for workload in ("w2", "w5", "w7"):
        yield _cores(workload, folder, environment)
    yield _rules(folder, environment)


def _data(workload: str, folder: Path, environment: Mapping[str, str]) -> Curve:
    points = []
    for factor in _SIZES:
        place = folder / f"{workload}-x{factor * 4:g}"
        write(workload, place, Size.FULL, factor)
        points.append((f"x{factor * 4:g}", _one(workload, place, environment)))
    return Curve(f"data of {workload}", tuple(points))


def _cores(workload: str, folder: Path, environment: Mapping[str, str]) -> Curve:
    place = folder / workload
    write(workload, place, Size.FULL)
    points = []
    for threads in (1, 2):
        options = ("--threads", str(threads))
        points.append((f"{threads} threads", _one(workload, place, environment, options)))
    return Curve(f"cores of {workload}", tuple(points))


def _rules(folder: Path, environment: Mapping[str, str]) -> Curve:
    place = folder / "rules"
    place.mkdir(parents=True, exist_ok=True)
    (place / "r0.facts").write_text("".join(f"{row}\t{row + 1}\n" for row in range(100)))
    ours = next(engines())
    points = []
    for count in _RULES:
        program = place / f"rules{count}.dl"
        program.write_text(rules(count))
        command = [*ours.command("w1", place)]
        command[command.index("run") + 1] = str(program)
        one = run(command, _SECONDS, environment)
        points.append((f"{count} rules", Result(ours.name, "rules", one.outcome, (one,))))
    return Curve("rules over 100 rows", tuple(points))


def _one(
    workload: str, folder: Path, environment: Mapping[str, str], options: tuple[str, ...] = ()
) -> Result:
    ours = next(engines())
    one = run([*ours.command(workload, folder), *options], _SECONDS, environment)
    return Result(ours.name, workload, one.outcome, (one,))


def rules(count: int) -> str:
    """Write a program of that many rules: layers of joins, unions and negations."""
    lines = [".decl r0(a: number, b: number)", ".input r0"]
    for number in range(1, count + 1):
        below, further = number - 1, max(0, number - 7)
        body = (
            f"r{below}(a, c), r0(c, b)",
            f"r{further}(a, b), a != {number}",
            f"r0(a, b), !r{below}(b, a)",
        )[number % 3]
        lines += [f".decl r{number}(a: number, b: number)", f"r{number}(a, b) :- {body}."]
    return "\n".join([*lines, f".printsize r{count}", ""])
