"""Say an answer in a sentence.

In: a question and its relation, whose rows may be told. Out: a sentence. The first one is ours; a
model may word a better one, which is used only if each of its numbers is accounted for. Invariants:
there is always a sentence; it holds no number that is not in the result or computed from it; texts
of data are shown without control characters. Example: `top customers by revenue: 5 rows, first
place 1, customer C175, total 34,330.4`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.authoring.discovery_text import fenced, quoted
from constat.diagnostics import ConstatError
from constat.explore.instructions import narrating_prompt
from constat.explore.numbers import unfounded
from constat.explore.planning import asked
from constat.explore.relations import Settlement
from constat.explore.texts import one_line
from constat.logic import Kind, display_value
from constat.model import Prompt, Task, Turn, Usage

if TYPE_CHECKING:
    from constat.explore.plan import Plan
    from constat.explore.relations import Relation
    from constat.logic import Row, Value
    from constat.model import Client

_MOST_SHOWN: Final = 50
_LONGEST: Final = 1_000
_LONGEST_CELL: Final = 60
_LONGEST_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence; `narrated` where a model worded it, `note` says why its wording was not used."""

    sentence: str
    narrated: bool = False
    note: str = ""
    usage: Usage = Usage()  # noqa: RUF009  a frozen value


def plain_sentence(plan: Plan, relation: Relation) -> str:
    """Say a result in words of ours."""
    title = plan.title or relation.output.name.replace("_", " ")
    rows = relation.shown
    if relation.settlement is Settlement.OPEN:
        return f"{title}: not settled, {_counted(len(rows))} known so far."
    if not rows:
        return f"{title}: there are none."
    if len(rows) == 1 and len(relation.names) == 1:
        return f"{title}: {_shown(rows[0][0], relation.kinds[0])}."
    told = ", ".join(_cells(relation, rows[0]))
    if len(rows) == 1:
        return f"{title}: {told}."
    return f"{title}: {_counted(len(rows))}, first {told}."


def narrate(client: Client, question: str, plan: Plan, relation: Relation) -> Said:
    """Have a model word the answer; ours where it fails or a number is not accounted for."""
    plain = plain_sentence(plan, relation)
    if relation.settlement is Settlement.OPEN:
        # What is not known cannot be worded from a table of what is.
        return Said(plain)
    turn = Turn("user", f"The question:\n{fenced(question)}\nThe result:\n{_table(relation)}")
    prompt = Prompt(Task.NARRATE, narrating_prompt(), (turn,), most_tokens=400)
    try:
        reply = asked(client, prompt)
    except ConstatError as problem:
        return Said(plain, note=f"no model worded the answer: {problem.diagnostics[0].message}")
    text = " ".join(reply.text.split())
    if not text or len(text) > _LONGEST or not text.isprintable() or reply.stop != "end":
        return Said(plain, note="a model's wording was no sentence", usage=reply.usage)
    wrong = unfounded(text, relation, question)
    if wrong:
        note = f"a model's sentence was not used: {', '.join(wrong[:5])} is not in the result"
        return Said(plain, note=note, usage=reply.usage)
    return Said(text, narrated=True, usage=reply.usage)


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _cells(relation: Relation, row: Row) -> list[str]:
    cells = zip(relation.names, row, relation.kinds, strict=True)
    return [f"{name} {_shown(value, kind)}" for name, value, kind in cells]


def _shown(value: Value, kind: Kind) -> str:
    if isinstance(value, Decimal | int):
        return f"{value:,}"
    return one_line(display_value(value, kind), _LONGEST_CELL)


def _told(value: Value, kind: Kind) -> str:
    """Write a cell for a model: a text of data is quoted, so that it is nothing else."""
    text = display_value(value, kind)
    return quoted(text, _LONGEST_TEXT) if kind in {Kind.SYMBOL, Kind.STRUCTURE} else text


def _table(relation: Relation) -> str:
    lines = ["\t".join(relation.names)]
    lines += [
        "\t".join(_told(*one) for one in zip(row, relation.kinds, strict=True))
        for row in relation.shown[:_MOST_SHOWN]
    ]
    more = len(relation.rows) - _MOST_SHOWN
    if more > 0:
        lines.append(f"and {more:,} more rows")
    return fenced("\n".join(lines))
