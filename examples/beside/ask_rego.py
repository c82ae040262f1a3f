"""Ask the policy of people.rego who is old and who is young."""

import csv
import json
from pathlib import Path

import regopy

with Path("people.csv").open(encoding="utf-8") as file:
    # A cell that is empty is a key that is not there.
    register = [{key: cell for key, cell in row.items() if cell} for row in csv.DictReader(file)]
rego = regopy.Interpreter()
rego.add_module("people", Path("people.rego").read_text(encoding="utf-8"))
rego.add_data({"register": register})
for name in ("old", "young"):
    (answer,) = json.loads(str(rego.query(f"data.people.{name}")))["expressions"]
    print(name, *answer)
