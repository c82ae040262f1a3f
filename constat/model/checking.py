"""Whether a reply can be used: whole, of the model that was asked, with calls that fit.

In: a request and what was answered. Out: the calls as values, how the reply stopped; or
`ModelError`. Invariants: a call that does not fit its tool, or of a tool that was not offered,
never reaches anybody; a reply that was cut off has no calls. Example: a call of `drop_tables` that
no prompt offers is C0826.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, cast

from constat.model.failures import UNUSABLE
from constat.model.printing import printable
from constat.model.prompts import ModelError, ToolCall, Turn
from constat.model.provider import MisfitReplyError
from constat.model.tool_schema import arguments_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from constat.model.canonical import Answered, RawCall, Request
    from constat.model.prompts import Prompt

Stop = Literal["end", "tools", "length", "refusal"]

OTHER_MODEL: Final = "C0827"
_STOPS: Final = ("end", "tools", "length", "refusal")
_MOST_CALLS: Final = 100
# A provider answers for a name with the dated version that it stands for.
_VERSION: Final = re.compile(r"-(?:[0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}|latest)\Z")
_NEWEST: Final = "-latest"


def checked_calls(request: Request, answered: Answered) -> tuple[tuple[ToolCall, ...], Stop]:
    """Give the calls and how the reply stopped; raises `ModelError`."""
    prompt = request.prompt
    if not answered.whole or answered.stop not in _STOPS:
        raise _unusable("the reply ended in a way that is not known", answered)
    stop = cast("Stop", answered.stop)
    if stop in {"length", "refusal"}:
        # What was being called when the reply ended is not what the model wanted to call.
        return (), stop
    if len(answered.calls) > _MOST_CALLS:
        raise MisfitReplyError(f"the reply calls more than {_MOST_CALLS} tools", answered)
    calls = tuple(_call(one, prompt, answered) for one in answered.calls)
    if prompt.must_call is not None and [one.name for one in calls] != [prompt.must_call]:
        raise MisfitReplyError(f"the reply does not call `{prompt.must_call}` once", answered)
    if len({one.identity for one in calls}) != len(calls):
        raise _unusable("two calls of the reply have one identity", answered)
    return calls, "tools" if calls else "end"


def check_model(request: Request, answered: Answered, names: Collection[str]) -> None:
    """Refuse a reply of another model than was asked; `names` are those it may also have."""
    told, asked = answered.model, request.model
    if told == asked or told in names or _VERSION.sub("", told) == asked.removesuffix(_NEWEST):
        return
    message = (
        f"`{printable(request.model)}` was asked and the reply says it is of "
        f"`{printable(told)[:100]}`"
    )
    raise ModelError(OTHER_MODEL, message, usage=answered.usage)


def corrected(prompt: Prompt, problem: MisfitReplyError) -> Prompt:
    """Give the prompt that tells the model what was wrong with its reply, and asks again."""
    said = problem.answered.text
    turns = (Turn("assistant", said),) if said.strip() else ()
    told = (
        f"Your reply could not be used: {problem}. Nothing of it was done. Call a tool that is on "
        "offer, with arguments that fit its schema."
    )
    return replace(prompt, turns=(*prompt.turns, *turns, Turn("user", told)))


def _call(call: RawCall, prompt: Prompt, answered: Answered) -> ToolCall:
    tool = next((one for one in prompt.tools if one.name == call.name), None)
    if tool is None:
        name = printable(call.name)[:60]
        message = f"the reply calls `{name}`, which is none of the tools"
        raise MisfitReplyError(message, answered)
    if not call.identity:
        raise _unusable(f"a call of `{tool.name}` has no identity", answered)
    try:
        arguments = arguments_of(call.arguments, tool)
    except ValueError as problem:
        message = f"the arguments of a call of `{tool.name}` {problem}"
        raise MisfitReplyError(message, answered) from None
    return ToolCall(call.identity, call.name, arguments)


def _unusable(message: str, answered: Answered) -> ModelError:
    return ModelError(UNUSABLE, message, usage=answered.usage)
