"""The SQL back end: pipelines become sqlglot trees, DuckDB runs them over tables.

In: a `Database` (one DuckDB with the relations of one evaluation as tables, and the dictionary of
texts) and a stage of a forward plan. Out: the stage's relations as tables.

Public names: `Database`, `run_stage`, `statements` (the text of what would run, for any dialect).
"""

from __future__ import annotations

from constat.sql.database import Database
from constat.sql.running import run_stage
from constat.sql.written import statements

__all__ = ["Database", "run_stage", "statements"]
