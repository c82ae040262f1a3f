"""A client whose replies a test writes down, for the loop alone; it is no model and claims none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from constat.model import Reply, ToolCall, Usage
from constat.store.drafts import Draft, identity_of

if TYPE_CHECKING:
    from constat.model import Prompt

Call = tuple[str, Any]
AT = "2026-01-01T00:00:00.000000Z"


def said(
    *calls: Call, text: str = "", stop: Literal["end", "tools", "length", "refusal"] | None = None
) -> Reply:
    """Write a reply that calls tools."""
    made = tuple(ToolCall(f"call{n}", name, given) for n, (name, given) in enumerate(calls))
    return Reply(
        "written-answers",
        text,
        made,
        stop or ("tools" if calls else "end"),
        Usage(1, 100, 0, 10),
        "sha256:" + "a" * 64,
        "sha256:" + "b" * 64,
        AT,
    )


def proposed(goal: str, rules: str = "") -> Reply:
    """Write a reply that hands in a proposal."""
    return said(("propose", {"goal": goal, "rules": rules}))


class Scripted:
    """Gives its replies in turn, the last one for ever; keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.prompts: list[Prompt] = []

    def ask(self, prompt: Prompt) -> Reply:
        """Give the next reply."""
        self.prompts.append(prompt)
        place = min(len(self.prompts), len(self.replies)) - 1
        return self.replies[place]


def kept(text: str) -> Draft:
    """Give a draft as the quarantine would."""
    return Draft(
        identity=identity_of(text, "q"),
        text=text,
        purpose="q",
        goal="",
        model="",
        prompt="",
        response="",
        at=AT,
        status="proposed",
        replaces=(),
        tests=(),
        decision=None,
    )
