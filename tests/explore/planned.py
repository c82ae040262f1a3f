"""Plans of tests, and a client that says what was written for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from constat.explore.plan import Plan
from constat.explore.reading import plan_of
from constat.model import ModelError, Prompt, Reply, ToolCall, Usage

WRITTEN = "written-answers"


def step(outputs: str, *, name: str = "", goal: str = "", **work: object) -> dict[str, Any]:
    """Give a step as JSON; its name is that of its relation."""
    name = name or outputs.partition("(")[0]
    return {"name": name, "goal": goal or name, "outputs": [outputs], **work}


def plan(*steps: Mapping[str, Any], question: str = "what is there?", **more: object) -> Plan:
    """Give a plan that a person wrote."""
    return plan_of({"steps": list(steps), **more}, question=question)


def call(name: str, **arguments: object) -> ToolCall:
    """Give a call of a tool."""
    return ToolCall(f"call_{name}", name, arguments)


@dataclass
class Scripted:
    """Replies in their order, as a person wrote them; it is no model, and none is asked."""

    replies: list[ToolCall | str | ModelError]
    asked: list[Prompt] = field(default_factory=list)

    @classmethod
    def of(cls, *replies: ToolCall | str | ModelError) -> Scripted:
        return cls(list(replies))

    def ask(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        found = self.replies.pop(0)
        if isinstance(found, ModelError):
            raise found
        text, calls = (found, ()) if isinstance(found, str) else ("", (found,))
        hashes = ("sha256:" + "0" * 64, "sha256:" + "1" * 64)
        usage = Usage(calls=1, read=10, written=5)
        stop = "tools" if calls else "end"
        return Reply(WRITTEN, text, calls, stop, usage, *hashes, "2026-01-01T00:00:00.000000Z")  # type: ignore[arg-type]


def told(events: Iterable[object], kind: type) -> list[Any]:
    """Give the events of a kind."""
    return [one for one in events if isinstance(one, kind)]
