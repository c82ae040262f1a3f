"""An explored answer as text, JSON and CSV.

In: an answer. Out: results on stdout. Invariants: cells and names are data and draw nothing on a
terminal; decimals and large integers are texts in JSON, as in `query`; what was answered stands
first, and what the answer rests on is always said. Example: the last line names the exploration.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.cli.confirming_options import translation_lines
from constat.cli.output import bold, counted, use_utf8, write, write_pieces
from constat.cli.results import assumption_json
from constat.cli.tables import Table
from constat.evaluation import Verdict
from constat.explore.writing import plan_json
from constat.proof.translation import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.explore.answered import AnswerProof, Explored, StepReport
    from constat.logic import Value

SHOWN: Final = 50
_SAFE_INTEGER: Final = (1 << 53) - 1
_NOT_CHECKED: Final = "COMPUTED_NOT_CHECKED"


def print_explored(explored: Explored, limit: int) -> None:
    """Print an answer for people."""
    # Who wrote the plan knows what it answers.
    if explored.translation is not None and explored.translation.status is not Status.STATED:
        for line in translation_lines(explored.translation):
            write(line)
        write("")
    write(explored.sentence)
    if explored.rows:
        write("")
        _print_table(explored, limit)
    write("")
    write(_verdict_text(explored.proof))
    for one in explored.assumptions:
        write(f"assuming: {one.text}")
    for reason in explored.relation.reasons:
        write(f"not known: {reason}")
    for remark in explored.notes:
        write(f"note: {remark}")
    for line in _steps_text(explored.steps):
        write(line)
    write(f"exploration {explored.exploration}, question {explored.number}")


def explored_json(explored: Explored) -> dict[str, object]:
    """Give an answer as JSON."""
    relation, used = explored.relation, explored.usage
    return {
        "exploration": explored.exploration,
        "number": explored.number,
        "question": explored.question,
        "today": explored.today,
        "verdict": explored.verdict.value if explored.verdict else _NOT_CHECKED,
        "settled": explored.settlement.value,
        "exit_code": explored.exit_code,
        "translation": None if explored.translation is None else explored.translation.as_json(),
        "sentence": explored.sentence,
        "narrated": explored.narrated,
        "relation": relation.output.name,
        "columns": [
            {"name": name, "kind": kind.value}
            for name, kind in zip(relation.names, relation.kinds, strict=True)
        ],
        "rows": [[_cell(value) for value in row] for row in explored.rows],
        "unresolved": relation.unresolved,
        "assumptions": [assumption_json(one) for one in explored.assumptions],
        "reasons": list(relation.reasons),
        "notes": list(explored.notes),
        "steps": [_step_json(one) for one in explored.steps],
        "plan": plan_json(explored.plan),
        "approved_by": list(explored.approvals),
        "proof": {
            "verdict": None if explored.proof.verdict is None else explored.proof.verdict.value,
            "identity": explored.proof.identity,
            "why": explored.proof.why,
        },
        "seconds": round(explored.seconds, 3),
        "replaying": explored.replaying,
        "usage": {"calls": used.calls, "tokens": used.tokens, "cost": f"{used.cost:f}"},
    }


def print_csv(explored: Explored) -> None:
    """Print the rows as CSV (RFC 4180)."""
    use_utf8()
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(explored.relation.names)
    writer.writerows(explored.cells())
    write_pieces([stream.getvalue()])


def print_json(explored: Explored) -> None:
    """Print an answer as JSON."""
    write_pieces([json.dumps(explored_json(explored), indent=2, ensure_ascii=True), "\n"])


def _print_table(explored: Explored, limit: int) -> None:
    relation = explored.relation
    terminal = sys.stdout.isatty()
    most = shutil.get_terminal_size().columns if terminal else None
    table = Table(relation.names, [one.numeric for one in relation.kinds], most)
    cells = explored.cells()[:limit]
    table.fit(cells)
    write_pieces([bold(table.heading()) if terminal else table.heading(), "\n"])
    write_pieces(table.line(row) + "\n" for row in cells)
    more = len(relation.rows) - len(cells)
    if more:
        write(f"and {more:,} more; `--limit` and `--format csv` show them")


def _steps_text(steps: Sequence[StepReport]) -> list[str]:
    names = ("computed", "kept", "not needed")
    counts = [(sum(one.how == name for one in steps), name) for name in names]
    told = ", ".join(f"{count} {name}" for count, name in counts if count)
    levels = sorted({one.level for one in steps if one.level})
    kept = f"; code was kept in by {', '.join(levels)}" if levels else ""
    return [f"{counted(len(steps), 'step')}: {told}{kept}"]


def _verdict_text(proof: AnswerProof) -> str:
    """Say the one verdict there is: that of the certificate, or that there is none, and why."""
    if proof.verdict is None:
        return f"{proof.label}: {proof.why}"
    more = ": there may be other rows" if proof.verdict is Verdict.UNRESOLVED else ""
    return f"{proof.label}{more}"


def _step_json(step: StepReport) -> dict[str, object]:
    return {
        "step": step.number,
        "name": step.name,
        "goal": step.goal,
        "work": step.work,
        "how": step.how,
        "seconds": round(step.seconds, 3),
        "attempts": step.attempts,
        "rows": step.rows,
        "sandbox": step.level,
        "reads": list(step.reads),
        "gives": list(step.gives),
    }


def _cell(value: Value) -> object:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, int) and abs(value) > _SAFE_INTEGER:
        return str(value)
    return value
