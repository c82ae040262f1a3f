"""The results that commands print as JSON: their types, by the names of the commands.

`constat schema` writes the JSON Schema of each from its type; there is no other copy.
"""

from __future__ import annotations

from constat.cli.schemas.table import json_schema, results

__all__ = ["json_schema", "results"]
