"""Write a plan as YAML that people read and edit.

In: a `Plan`. Out: a text. Invariant: reading what was written gives the plan again, whatever its
texts hold. Texts of several lines are written as blocks, so that rules, SELECTs and code look as in
files of their own. Example: `write_plan(plan)` begins with `question: |-` or a quoted text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from constat.explore.plan import Work

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.explore.plan import Plan, Ranking, Step

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*[A-Za-z0-9_]\Z")
_BLOCKS: Final = frozenset({Work.RULES.value, Work.SQL.value, Work.PYTHON.value})
# What other readers of YAML take for something else than a text.
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n"})
# Within a block scalar nothing is escaped: these would end a line, or be refused.
_UNBLOCKED: Final = re.compile("[^\n -~\u00a1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")


def write_plan(plan: Plan) -> str:
    """Write a plan."""
    return "\n".join(_lines(plan)) + "\n"


def plan_json(plan: Plan) -> dict[str, object]:
    """Give a plan as JSON, in the form in which models propose it."""
    told: dict[str, object] = {"question": plan.question}
    told |= {k: v for k, v in _optional(plan) if v}
    return {**told, "answer": plan.answer, "steps": [step_json(one) for one in plan.steps]}


def step_json(step: Step) -> dict[str, object]:
    """Give a step as JSON."""
    told: dict[str, object] = {"name": step.name, "goal": step.goal}
    told |= {"inputs": list(step.inputs), "outputs": [one.declaration for one in step.outputs]}
    if step.source:
        told["source"] = step.source
    told[step.work.value] = ranking_json(step.ranking) if step.ranking else step.text
    return told


def ranking_json(ranking: Ranking) -> dict[str, object]:
    """Give a ranking as JSON."""
    told: dict[str, object] = {
        "of": ranking.of,
        "by": [f"{name} {'desc' if descending else 'asc'}" for name, descending in ranking.by],
    }
    if ranking.top:
        told["top"] = ranking.top
    if ranking.within:
        told["within"] = list(ranking.within)
    if ranking.place:
        told["place"] = ranking.place
    return told


def _optional(plan: Plan) -> tuple[tuple[str, str], ...]:
    return (("title", plan.title), ("chart", plan.chart), ("author", plan.author))


def _lines(plan: Plan) -> Iterator[str]:
    yield from _entry("question", plan.question, 0)
    for key, value in _optional(plan):
        if value:
            yield from _entry(key, value, 0)
    yield from _entry("answer", plan.answer, 0)
    yield "steps:"
    for step in plan.steps:
        yield from _step_lines(step)


def _step_lines(step: Step) -> Iterator[str]:
    first, *rest = list(_entry("name", step.name, 4))
    yield f"  - {first.lstrip()}"
    yield from rest
    if step.goal:
        yield from _entry("goal", step.goal, 4)
    if step.inputs:
        yield f"    inputs: [{', '.join(map(_quoted, step.inputs))}]"
    if len(step.outputs) == 1:
        yield from _entry("outputs", step.outputs[0].declaration, 4)
    elif step.outputs:
        yield "    outputs:"
        yield from (f"      - {_quoted(one.declaration)}" for one in step.outputs)
    if step.source:
        yield from _entry("source", step.source, 4)
    if step.ranking is None:
        yield from _entry(step.work.value, step.text, 4)
        return
    yield f"    {Work.RANKING.value}:"
    for key, value in ranking_json(step.ranking).items():
        if isinstance(value, list):
            yield f"      {key}: [{', '.join(_quoted(str(one)) for one in value)}]"
        else:
            yield f"      {key}: {_quoted(str(value))}"


def _entry(key: str, value: str, indent: int) -> Iterator[str]:
    margin = " " * indent
    if (key in _BLOCKS or "\n" in value) and _is_block(value):
        yield f"{margin}{key}: |-"
        yield from (f"{margin}  {line}" if line else "" for line in value.split("\n"))
    else:
        yield f"{margin}{key}: {_quoted(value)}"


def _is_block(value: str) -> bool:
    # A block takes its depth from its first line, and a final line end would be lost.
    lines = value.split("\n")
    return (
        bool(lines[0])
        and not lines[0].startswith((" ", "\t"))
        and bool(lines[-1].strip() and not _UNBLOCKED.search(value))
        and not any(line.isspace() for line in lines)
    )


def _quoted(value: str) -> str:
    if value.isdecimal() and value.isascii():
        return value
    if _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    plain = json.dumps(value, ensure_ascii=False)
    return _UNBLOCKED.sub(_escaped, plain)


def _escaped(found: re.Match[str]) -> str:
    """Write a character that YAML would not read as it is."""
    return f"\\U{ord(found[0]):08x}"
