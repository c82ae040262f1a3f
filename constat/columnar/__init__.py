"""Fixpoints over numpy arrays: a stage and integer columns in, the stage's relations out.

`Columns` are arrays of int64 of one length, one per column, whose rows are distinct; a column
holds numbers, or the numbers of texts in the dictionary. Knows no database.

Public names: `refusal(stage, relations, strategy) -> str` (empty where this package can compute
the stage, else why not) and `run_stage(stage, plan, relations, number_of, strategy, resources,
...) -> (relations, StageReport)`.
"""

import constat.evaluation.processor as _processor

_processor.load_numpy()

from constat.columnar.arrays import Columns  # noqa: E402  numpy is loaded above, in the right way
from constat.columnar.stage import (  # noqa: E402  as above
    Tuning,
    refusal,
    run_stage,
)

__all__ = ["Columns", "Tuning", "refusal", "run_stage"]
