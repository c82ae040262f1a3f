"""`constat query GOAL --explain-row VALUES`: why one row is among the answers.

In: a session, a query and the values of a row. Out: the proof of each positive atom of the query
for that row, as `constat prove` shows it. Invariant: the row is proved anew, from the sources, so
that nothing needs to be remembered of the millions of others. Example:
`constat query "is_vip(?c)" --explain-row C001` shows what `constat prove "is_vip(C001)"` shows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click

from constat.cli.output import write_json
from constat.cli.progress import watching
from constat.cli.results import result_json
from constat.cli.verdict_text import print_result
from constat.evaluation import Verdict
from constat.proof import tree_to_json

if TYPE_CHECKING:
    from constat.session import Session

_FORMATS: Final = ("table", "json")
# The row is only as certain as the least certain of its atoms.
_WORST_FIRST: Final = (
    Verdict.DISPROVED,
    Verdict.DISPROVED_UNDER,
    Verdict.UNRESOLVED,
    Verdict.PROVED_UNDER,
    Verdict.PROVED,
)


def explain_row(session: Session, goal: str, row: str, *, form: str) -> int:
    """Prove a row and print the proofs; give the exit code."""
    if form not in _FORMATS:
        raise click.UsageError(f"--format {form} cannot be used with --explain-row")
    with watching() as observe:
        results = session.prove_row(goal, row, observe=observe)
    verdict = min((one.verdict for one in results), key=_WORST_FIRST.index)
    if form == "json":
        proofs = [result_json(one, json.loads(tree_to_json(one.tree))) for one in results]
        told = {"query": goal, "row": row, "verdict": verdict.value, "proofs": proofs}
        models = session.model_usage
        write_json({**told, "exit_code": verdict.exit_code, "models": models})
    else:
        for one in results:
            print_result(one)
    return verdict.exit_code
