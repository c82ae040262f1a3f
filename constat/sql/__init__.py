"""The SQL back end: pipelines become sqlglot trees, DuckDB runs them over tables.

In: a `Database` (one DuckDB with the relations of one evaluation as tables, and the dictionary of
texts) and a stage of a forward plan. Out: the stage's relations as tables.

Public names: `Database`, `run_stage`, `statements` (the text of what would run).
"""

import constat.evaluation.processor as _processor

_processor.load_numpy()

from constat.sql.database import Database  # noqa: E402  numpy is loaded above, in the right way
from constat.sql.stages import run_stage  # noqa: E402  as above
from constat.sql.written import statements  # noqa: E402  as above

__all__ = ["Database", "run_stage", "statements"]
