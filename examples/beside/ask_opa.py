"""Ask the policy of people.rego who is old, who is young, and who is not old."""

import csv
from pathlib import Path

from opa_bindings import OpaEngine

with Path("people.csv").open(encoding="utf-8") as file:
    # A cell that is empty is a key that is not there.
    register = [{key: cell for key, cell in row.items() if cell} for row in csv.DictReader(file)]
with OpaEngine() as engine:
    engine.add_policy("people.rego", Path("people.rego").read_text(encoding="utf-8"))
    engine.add_data({"register": register})
    for name in ("old", "young", "not_old"):
        print(name, *engine.eval_document(f"people.{name}"))
