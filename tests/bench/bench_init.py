"""How much of the processor `constat init` takes for a folder of files.

    python -m tests.bench.bench_init [ROWS]

Writes ten files, eight of separated values with ROWS rows (20,000), a workbook of two sheets with a
tenth of that and a list of JSON, begins a project with them and prints the seconds of processor.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

import openpyxl

from constat.session.starting import start

ROWS = 20_000


def write_files(folder: Path, rows: int) -> None:
    """Write them, the same on each run."""
    chosen = random.Random(7)
    for number in range(8):
        lines = ["No;Name;Amount;Day"]
        for row in range(rows):
            amount = f"{chosen.randrange(1, 900_000):,}".replace(",", ".")
            day = f"{row % 28 + 1:02}.{row % 12 + 1:02}.2025"
            lines.append(f"{row:07};name {row % 97};{amount},{row % 100:02};{day}")
        (folder / f"list_{number}.csv").write_text("\n".join(lines) + "\n")
    book = openpyxl.Workbook(write_only=True)
    for title in ("Accounts", "Cases"):
        sheet = book.create_sheet(title)
        sheet.append(["id", "amount", "name"])
        for row in range(rows // 10):
            sheet.append([row, chosen.randrange(1, 9_000) / 100, f"name {row % 31}"])
    book.save(folder / "book.xlsx")
    orders = [{"id": row, "total": row % 900} for row in range(rows // 10)]
    (folder / "orders.json").write_text(json.dumps(orders))


def main() -> None:
    """Measure one beginning."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").mkdir()
        write_files(folder / "data", rows)
        before = time.process_time()
        found = start("data", folder, folder)
        seconds = time.process_time() - before
    sys.stdout.write(
        f"{len(found.tables)} tables, {found.result.verdict.label}: {seconds:.1f} s of processor\n"
    )


if __name__ == "__main__":
    main()
