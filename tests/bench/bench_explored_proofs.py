"""How long the proof of an explored answer takes, and its check, by the size of the answer.

In: an empty folder. Out: processor seconds for whole relations as answers, and for a ranking of as
many rows, proved and checked by the independent checker; each certificate is accepted. Run it with
`python -m tests.bench.bench_explored_proofs`.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from constat import Session
from constat.check import check_certificate
from tests.explore.planned import plan, step
from tests.explore.worlds import TODAY, make_regions

if TYPE_CHECKING:
    from constat.explore.plan import Plan

SIZES: Final = (100, 1_000, 5_000, 20_000)
ALL: Final = step(
    "sold(id: number, region: symbol, amount: Decimal)",
    rules="sold(?i, ?r, ?a) :- sale(?i, ?r, _, _, ?a).",
)
FIRST: Final = step(
    "first(place: number, id: number, amount: Decimal)",
    rank={"of": "sold", "by": "amount desc", "top": 5, "place": "place"},
)
SELECTED: Final = step(
    "shares(region: symbol, percent: Decimal)",
    inputs=["sold"],
    sql="SELECT region, round(100 * sum(amount) / (SELECT sum(amount) FROM sold), 1) FROM sold"
    " GROUP BY region",
)


def measure(folder: Path, size: int) -> list[str]:
    """Prove three answers over so many sales; gives lines of a table."""
    plans: tuple[tuple[str, Plan], ...] = (
        ("all of them", plan(ALL)),
        ("the first 5 of them", plan(ALL, FIRST)),
        ("a SELECT over them", plan(ALL, SELECTED)),
    )
    project = make_regions(folder / str(size), size)
    with (project / "constat.yaml").open("a", encoding="utf-8") as file:
        # What is not asked for is not made: the difference is the proof.
        file.write("explore: {certificates: false}\n")
    lines = []
    with Session(project) as session:
        for name, made in plans:
            session.solve(name, plan=made, today=TODAY)
            times = [time.process_time()]
            session.resume()
            times.append(time.process_time())
            explored = session.resume(certify=True)
            times.append(time.process_time())
            report = check_certificate(explored.certificate)
            times.append(time.process_time())
            again, whole, checked = (late - one for one, late in pairwise(times))
            if not report.accepted:
                raise AssertionError((name, size, report.reason))
            cells = f"{whole - again:.2f} s | {checked:.2f} s"
            kilobytes = len(explored.certificate) / 1000
            lines.append(f"| {size:,} rows, {name} | {cells} | {kilobytes:,.0f} kB |\n")
    return lines


def main() -> int:
    """Print the table."""
    sys.stdout.write("| answer | proved | checked | certificate |\n|---|---:|---:|---:|\n")
    with TemporaryDirectory() as folder:
        for size in SIZES:
            sys.stdout.writelines(measure(Path(folder), size))
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
