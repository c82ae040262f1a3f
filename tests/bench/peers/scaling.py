"""How time grows: with data, with rules, with cores.

In: a folder for inputs, a size, rounds. Out: for each curve its title and points. Rules are
generated: chains of joins and unions over one small relation, so that planning is what is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.bench.peers.comparing import Result, repeated
from tests.bench.peers.engines import engines
from tests.bench.peers.generate import Size, write
from tests.bench.peers.running import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_SECONDS: Final = 300.0
_RULES: Final = (10, 100, 500, 1_000, 2_000)
_FEW_RULES: Final = (10, 100)
_SIZES: Final = (0.25, 1.0, 4.0)
"""Of the full size: x1, x4 and x16 of a million and a quarter rows."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve: what grows, and for each size a label, its number and a result."""

    title: str
    points: tuple[tuple[str, float, Result], ...]


@dataclass(frozen=True, slots=True)
class Scaling:
    """What is measured: inputs of a size below a folder, each point so many times."""

    folder: Path
    environment: Mapping[str, str]
    size: Size = Size.FULL
    rounds: int = 1

    def curves(self) -> Iterator[Curve]:
        """Measure all curves."""
        for workload in ("w4", "w5"):
            yield self._data(workload)
        for workload in ("w2", "w5", "w7"):
            yield self._cores(workload)
        yield self._rules()

    def _data(self, workload: str) -> Curve:
        points = []
        for factor in _SIZES:
            place = self.folder / f"{workload}-x{factor * 4:g}"
            write(workload, place, self.size, factor)
            one = self._measured(workload, _command(workload, place))
            points.append((f"x{factor * 4:g}", factor * 4, one))
        return Curve(f"data of {workload}", tuple(points))

    def _cores(self, workload: str) -> Curve:
        place = self.folder / f"{workload}-cores"
        write(workload, place, self.size)
        points = []
        for threads in (1, 2):
            command = [*_command(workload, place), "--threads", str(threads)]
            one = self._measured(workload, command)
            points.append((f"{threads} cores", float(threads), one))
        return Curve(f"cores of {workload}", tuple(points))

    def _rules(self) -> Curve:
        place = self.folder / "rules"
        place.mkdir(parents=True, exist_ok=True)
        (place / "r0.facts").write_text("".join(f"{row}\t{row + 1}\n" for row in range(100)))
        points = []
        for count in _RULES if self.size is Size.FULL else _FEW_RULES:
            program = place / f"rules{count}.dl"
            program.write_text(rules(count))
            command = _command("w1", place)
            command[command.index("run") + 1] = str(program)
            points.append((f"{count} rules", float(count), self._measured("rules", command)))
        return Curve("rules over 100 rows", tuple(points))

    def _measured(self, workload: str, command: list[str]) -> Result:
        measured = partial(run, seconds=_SECONDS, environment=self.environment)
        return repeated(next(engines()).name, workload, command, self.rounds, measured)


def _command(workload: str, folder: Path) -> list[str]:
    return [*next(engines()).command(workload, folder)]


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
