"""Build the warehouse without dbt: run what dbt has compiled, in the order of its manifest."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

HERE = Path(__file__).resolve().parent


def build(folder: Path) -> None:
    """Load the seeds, then make each model when everything that it reads is there."""
    nodes = json.loads((folder / "target" / "manifest.json").read_text("utf-8"))["nodes"]
    waiting = {name: one for name, one in nodes.items() if one["resource_type"] != "test"}
    file = folder / "warehouse.duckdb"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as warehouse:
        while waiting:
            ready = [
                name
                for name, one in waiting.items()
                if waiting.keys().isdisjoint(one.get("depends_on", {}).get("nodes", ()))
            ]
            for name in ready:
                one = waiting.pop(name)
                if one["resource_type"] == "seed":
                    seed = str(folder / one["original_file_path"])
                    warehouse.read_csv(seed).create(one["name"])
                else:
                    kind = "VIEW" if one["config"]["materialized"] == "view" else "TABLE"
                    warehouse.execute(f"CREATE {kind} {one['name']} AS {one['compiled_code']}")


if __name__ == "__main__":
    build(HERE)
    print(f"written: {HERE / 'warehouse.duckdb'}")
