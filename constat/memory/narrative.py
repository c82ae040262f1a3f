"""A session told in words, made anew from facts each time, and never from earlier words.

In: claims and what the rules say of them.  Out: a text with fixed sections.  Invariants: each line
quotes what was said or names the message it is from; what a model makes of it is taken only where
every number and code in it stands in the facts; an error is never taken for a text.

Example: the sections are the task, the work that was done, decisions, the state, what is pending,
and errors with what put them right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.memory.lines import quoted
from constat.memory.preview import sandwich
from constat.memory.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from constat.memory.deciding import Decided
    from constat.memory.history import Claim

SUMMARY: Final = "## Session Summary"
_EXACT: Final = re.compile(r"[\w.@/-]*[0-9][\w.@/-]*")
_FAILED: Final = re.compile(
    r"^\W*(?:api |internal |server )?(?:error|exception|traceback|rate.?limit|overloaded"
    r"|timed? ?out|service unavailable|bad gateway|unauthorized)",
    re.IGNORECASE,
)
_MOST_LINES: Final = 12
_LONGEST: Final = 200
_LONG_TASK: Final = 1_500


@dataclass(frozen=True, slots=True)
class Told:
    """A narrative; ``by`` is ``facts``, or ``model`` where a model's words were taken."""

    text: str
    by: str
    refused: str = ""


def narrative(
    claims: Sequence[Claim],
    decided: Decided,
    *,
    number: int = 1,
    most_tokens: int = 800,
    counted: Callable[[str], int] = estimate,
) -> str:
    """Tell a session in the sections of seed 003, in so many tokens; newest lines stay longest."""
    sections = _sections(claims, decided)
    lines = _MOST_LINES
    while True:
        text = _written(sections, number, lines)
        if counted(text) <= most_tokens or lines == 1:
            return text
        lines -= 1


def told(facts: str, write: Callable[[str], str] | None = None, most_tokens: int = 1_000) -> Told:
    """Return a narrative, in a model's words where ``write`` gives some that can be taken."""
    if write is None:
        return Told(facts, "facts")
    try:
        text = write(facts).strip()
    except Exception as problem:  # noqa: BLE001  whatever fails, the facts are there
        return Told(facts, "facts", type(problem).__name__)
    refused = _refused(text, facts, most_tokens)
    return Told(facts, "facts", refused) if refused else Told(text, "model")


def _refused(text: str, facts: str, most_tokens: int) -> str:
    """Say why a model's words cannot be taken; empty where they can."""
    if not text:
        return "it is empty"
    if _FAILED.match(text):
        return "it is an error"
    if estimate(text) > most_tokens:
        return "it is too long"
    known = set(_EXACT.findall(facts))
    unknown = [one for one in _EXACT.findall(text) if one.strip(".-/") not in facts]
    if unknown:
        return f"{len(set(unknown) - known)} numbers or names in it are not in the facts"
    return ""


@dataclass(frozen=True, slots=True)
class _Sections:
    task: Claim | None
    work: Sequence[tuple[str, str, str]]
    decisions: Sequence[str]
    working_on: str
    completed: str
    pending: Sequence[str]
    errors: Sequence[str]


def _sections(claims: Sequence[Claim], decided: Decided) -> _Sections:
    current = [one for one in claims if one.name in decided.current]
    tasks = [one for one in current if one.fact.predicate == "task"]
    pending = _of(current, "pending", decided.pinned)
    done = _of(current, "done")
    said = _of(current, "said")
    return _Sections(
        tasks[0] if tasks else None,
        _work(current),
        [_quote(one) for one in _of(current, "decision")],
        _quote(pending[-1]) if pending else _quote(said[-1]) if said else "nothing was asked",
        _quote(done[-1]) if done else "nothing is ticked",
        [_quote(one) for one in pending],
        [_error(one, decided) for one in _of(current, "error")],
    )


def _of(claims: Iterable[Claim], kind: str, among: frozenset[str] | None = None) -> list[Claim]:
    return [
        one for one in claims if one.fact.predicate == kind and (among is None or one.name in among)
    ]


def _work(claims: Iterable[Claim]) -> list[tuple[str, str, str]]:
    """Return the rows of the table: files and components, what was done, and where it was said."""
    found: dict[tuple[str, str], str] = {}
    for one in claims:
        if one.fact.predicate == "artifact":
            found[one.fact.key, one.fact.value] = one.place
        elif one.fact.predicate == "tool_call":
            found[one.fact.value, "called"] = one.place
    return [(what, action, f"@{place}") for (what, action), place in found.items()]


def _error(one: Claim, decided: Decided) -> str:
    return f"{_quote(one)} → {decided.put_right(one.name, one.text.passage.tool)}"


def _quote(one: Claim) -> str:
    value = one.fact.value
    shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
    return f"{quoted(shown)} @{one.place}"


def _written(found: _Sections, number: int, lines: int) -> str:
    task = "Unknown task" if found.task is None else quoted(found.task.fact.value)
    if lines == 1 and len(task) > _LONG_TASK and found.task is not None:
        task = f"{quoted(sandwich(found.task.fact.value, _LONG_TASK))} @{found.task.place}"
    rows = [f"| {_cell(what)} | {_cell(action)} | {where} |" for what, action, where in found.work]
    parts = [
        f"{SUMMARY} (Compaction Round {number})",
        f"### Original Task\n{task}",
        "### Completed Work\n| File/Component | Action | Description |\n|---|---|---|",
        *rows[-lines:],
        "### Key Technical Decisions",
        *(f"- {one}" for one in found.decisions[-lines:]),
        "### Current State",
        f"- Working on: {found.working_on}",
        f"- Last completed: {found.completed}",
        "### Pending Work",
        *(f"- [ ] {one}" for one in found.pending[-lines:]),
    ]
    if found.errors:
        parts += ["### Errors & Resolutions", *(f"- {one}" for one in found.errors[-lines:])]
    return "\n".join(parts)


def _cell(text: str) -> str:
    return quoted(text)[1:-1].replace("|", "\\|")
