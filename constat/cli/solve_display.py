"""What an exploration does, while it does it: a checklist, plain lines, or JSON lines; on stderr.

In: events. Out: on a terminal a checklist that is redrawn, with timings, tries, tables and what was
spent; elsewhere a line for each step; with `jsonl` each event as JSON. Invariants: nothing goes to
stdout; names and messages draw nothing on a terminal; the display is removed in every case.
Example: `with displayed("auto") as tell: session.solve(question, observe=tell)`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from constat.cli.output import counted, note, safe
from constat.explore.events import (
    Answered,
    Executing,
    ExploreEvent,
    Generating,
    PlanReady,
    Retrying,
    Spent,
    StepFailed,
    StepFinished,
    StepStarted,
    TableCreated,
    event_json,
    ignore,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.explore.events import Telling

FORMS: Final = ("auto", "plain", "jsonl", "none")
_LONGEST: Final = 120


@contextmanager
def displayed(form: str) -> Iterator[Telling]:
    """Give what shows events."""
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if form == "none":
        yield ignore
    elif form == "jsonl":
        yield _tell_json
    elif form == "plain" or not terminal:
        yield _tell_plain
    else:
        checklist = Checklist()
        try:
            yield checklist.tell
        finally:
            checklist.close()


def _tell_json(event: ExploreEvent) -> None:
    note(json.dumps(event_json(event), ensure_ascii=True))


def _tell_plain(event: ExploreEvent) -> None:
    match event:
        case PlanReady(steps=steps, needed=needed):
            note(f"plan: {counted(len(steps), 'step')}, {len(needed):,} needed")
        case Generating(purpose=purpose):
            note(f"asking a model for a {purpose}")
        case StepFinished(step=step, name=name, seconds=seconds, rows=rows, how=how):
            took = f", {seconds:.1f} s" if how == "computed" else ", kept"
            note(f"step {step}, {name}: {counted(rows, 'row')}{took}")
        case StepFailed(step=step, attempt=attempt, kind=kind, message=message):
            note(f"step {step}, attempt {attempt}: {kind}: {_short(message)}")
        case Retrying(step=step, attempt=attempt, corrected=corrected):
            how = "as corrected" if corrected else "once more"
            note(f"step {step}: attempt {attempt}, {how}")
        case _:
            pass


def _short(text: str) -> str:
    line = safe(text).replace("\n", " ").replace("\t", " ")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


class _Shown:
    """A line of the checklist."""

    def __init__(self, number: int, name: str, goal: str, *, needed: bool) -> None:
        self.number = number
        self.name = name
        self.goal = goal
        self.mark = "·" if needed else "-"
        self.style = "dim"
        self.told = "" if needed else "not needed"
        self.began = 0.0


class Checklist:
    """The plan with a mark for each step, redrawn as they run."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415  heavy library, loaded on first use
        from rich.live import Live  # noqa: PLC0415  heavy library, loaded on first use

        self._steps: dict[int, _Shown] = {}
        self._title = ""
        self._doing = ""
        self._spent = ""
        self._live = Live(
            console=Console(stderr=True), get_renderable=self.drawn, refresh_per_second=8
        )
        self._live.start()

    def close(self) -> None:
        """Draw a last time and leave the checklist where it is."""
        self._live.stop()

    def tell(self, event: ExploreEvent) -> None:
        """Take one event."""
        match event:
            case PlanReady(question=question, steps=steps, needed=needed):
                self._title = _short(question)
                self._doing = ""
                # Another thread draws: it sees the old steps or the new ones.
                self._steps = {
                    number: _Shown(number, _short(name), _short(goal), needed=number in needed)
                    for number, name, goal in steps
                }
            case Generating(step=step, purpose=purpose):
                self._doing = f"asking a model for a {purpose}"
                self._at(step, "…", "yellow", f"asking for a {purpose}")
            case Spent(calls=calls, tokens=tokens, cost=cost):
                paid = f", {cost}" if cost not in {"", "0"} else ""
                told = f"{counted(calls, 'call')}, {tokens:,} tokens{paid}"
                self._spent = told if calls else ""
                self._doing = ""
            case Answered():
                self._doing = ""
            case _:
                self._of_step(event)

    def _of_step(self, event: ExploreEvent) -> None:
        match event:
            case StepStarted(step=step):
                self._at(step, "▸", "cyan", "")
                if step in self._steps:
                    self._steps[step].began = time.monotonic()
            case Executing(step=step, attempt=attempt):
                told = "" if attempt == 1 else f"attempt {attempt}"
                self._at(step, "▸", "cyan", told)
            case StepFailed(step=step, kind=kind, message=message):
                self._at(step, "✗", "red", _short(f"{kind}: {message}"))
            case Retrying(step=step, attempt=attempt, corrected=corrected):
                how = "corrected" if corrected else "once more"
                self._at(step, "↻", "yellow", f"attempt {attempt}, {how}")
            case TableCreated(step=step, name=name, rows=rows):
                self._at(step, "▸", "cyan", f"{_short(name)}: {counted(rows, 'row')}")
            case StepFinished(step=step, seconds=seconds, rows=rows, how=how):
                took = f"{seconds:.1f} s" if how == "computed" else "kept"
                self._at(step, "✓", "green", f"{counted(rows, 'row')}, {took}")
            case _:
                pass

    def _at(self, step: int, mark: str, style: str, told: str) -> None:
        shown = self._steps.get(step)
        if shown is not None:
            shown.mark, shown.style, shown.told = mark, style, told

    def drawn(self) -> Any:  # noqa: ANN401  what rich can draw
        """Draw the present state."""
        from rich.text import Text  # noqa: PLC0415  heavy library, loaded on first use

        # Parts are texts and never markup: a goal may hold brackets.
        text = Text()
        if self._title:
            text.append(f"{self._title}\n", style="bold")
        for shown in self._steps.values():
            text.append(f" {shown.mark} {shown.number}. {shown.name}", style=shown.style)
            running = shown.mark == "▸" and shown.began
            told = f"{shown.told} {time.monotonic() - shown.began:.1f} s" if running else shown.told
            text.append(f"  {told.strip() or shown.goal}\n", style="dim")
        if self._doing:
            text.append(f" {self._doing}\n", style="yellow")
        if self._spent:
            text.append(f" {self._spent}\n", style="dim")
        return text
