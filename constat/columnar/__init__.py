"""Fixpoints over numpy arrays: a stage and integer columns in, the stage's relations out.

`Columns` are arrays of int64 of one length, one per column, whose rows are distinct; a column
holds numbers, or the numbers of texts in the dictionary. Knows no database.

Public names: `refusal(stage, relations) -> str` (empty where this package can compute the stage,
else why not) and `run_stage(stage, plan, relations, constants, resources, ...) -> StageResult`.
"""

from __future__ import annotations
