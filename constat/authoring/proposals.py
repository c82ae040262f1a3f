"""What a model hands in: a goal and the rules that it needs, or why it cannot.

In: the arguments of a tool call, which may be anything. Out: a `Proposal`, or diagnostics placed in
`<proposal>`. Invariant: an argument of another type is refused, never converted. Example:
`{"goal": "is_vip(C001)", "rules": ""}` proposes a goal over what is there already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic
from constat.model import Tool

if TYPE_CHECKING:
    from constat.model import ToolCall

PROPOSE: Final = "propose"
GIVE_UP: Final = "cannot_express"
MOST_GOAL: Final = 2_000
_MOST_REASON: Final = 1_000

PROPOSE_TOOL: Final = Tool(
    PROPOSE,
    "Hand in the goal that answers the question, with the rules it needs beyond existing ones.",
    {
        "type": "object",
        "properties": {
            "goal": {"type": "string", "description": "One atom"},
            "rules": {"type": "string", "description": "Declarations, queries, rules; or empty"},
        },
        "required": ["goal", "rules"],
        "additionalProperties": False,
    },
)
GIVE_UP_TOOL: Final = Tool(
    GIVE_UP,
    "Say that the question cannot be expressed here, and what is lacking.",
    {
        "type": "object",
        "properties": {"reason": {"type": "string"}},
        "required": ["reason"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A goal, and rules as text."""

    goal: str
    rules: str = ""


def read_proposal(call: ToolCall, diagnostics: list[Diagnostic]) -> Proposal | None:
    """Read the arguments of a call of `propose`."""
    given: object = call.arguments
    if not isinstance(given, Mapping):
        diagnostics.append(_misshapen("its arguments are no object"))
        return None
    odd = sorted(str(name)[:40] for name in given.keys() - {"goal", "rules"})
    if odd:
        diagnostics.append(_misshapen(f"it has the unknown member `{odd[0]}`"))
    goal, rules = given.get("goal"), given.get("rules", "")
    if not isinstance(goal, str) or not goal.strip():
        diagnostics.append(_misshapen("`goal` is no text"))
    elif len(goal) > MOST_GOAL:
        diagnostics.append(_misshapen(f"`goal` is longer than {MOST_GOAL:,} characters"))
    if not isinstance(rules, str):
        diagnostics.append(_misshapen("`rules` is no text"))
    if diagnostics or not isinstance(goal, str) or not isinstance(rules, str):
        return None
    return Proposal(goal.strip(), rules.replace("\r\n", "\n").strip("\n"))


def read_reason(call: ToolCall) -> str:
    """Read why a model gives up, in one bounded line."""
    given: object = call.arguments
    said = given.get("reason", "") if isinstance(given, Mapping) else ""
    return one_line(said if isinstance(said, str) else "", _MOST_REASON)


def one_line(text: str, most: int) -> str:
    """Give a foreign text as one line without control characters, bounded."""
    shown = "".join(one if one.isprintable() else " " for one in text[: most + 1])
    return shown if len(shown) <= most else shown[:most] + "…"


def _misshapen(what: str) -> Diagnostic:
    hint = 'call `propose` with {"goal": "is_vip(C001)", "rules": ""}'
    return Diagnostic("C0861", f"the proposal cannot be read: {what}", help=hint)
