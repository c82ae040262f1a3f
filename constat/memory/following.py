"""Memory for somebody else's agent: its own messages go in, and its own messages come out.

In: the messages of a conversation as a program has them, as dictionaries or as the objects of an
SDK, in the format of Anthropic, of OpenAI (chat or responses) or of LangChain.  Out: the messages
to send, in the same format.  Invariants: a message that stays as it was is the very object that
was given; one that was looked at is not looked at again; nothing of what was said is lost.

Example: ``client.messages.create(messages=Conversation(memory).context(messages), ...)``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from constat.memory.logs import (
    ANTHROPIC,
    OPENAI,
    format_of,
    from_anthropic,
    from_openai,
    text_of,
    to_anthropic,
    to_openai,
)
from constat.memory.messages import (
    Call,
    Message,
    MessageFormatError,
    Opaque,
    Result,
    Role,
    Text,
)
from constat.memory.quotations import MARKER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from constat.memory.archive import Found
    from constat.memory.compaction import Context
    from constat.memory.decisions import Proof
    from constat.memory.facts import Fact
    from constat.memory.messages import Attachments, Block
    from constat.memory.remembering import Memory
    from constat.memory.view import View

RESPONSES: Final = "openai responses"
LANGCHAIN: Final = "langchain"
FORMATS: Final = (ANTHROPIC, OPENAI, RESPONSES, LANGCHAIN)
# Items of a response that have no role; what a model does before it speaks is one turn with it.
_ITEMS: Final = frozenset({"function_call", "function_call_output", "reasoning", "item_reference"})
_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
_DEEPEST: Final = 60
# What providers count of what they were sent; what came from a cache was sent as well.
_USED: Final = (
    *("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    "prompt_tokens",
)
# Of fewer tokens the marks between messages are too large a share.
_LEAST_MORE: Final = 100


class Conversation:
    """Follows one conversation; ``form`` is one of ``FORMATS``, and is found out without it.

    With a ``budget`` no context has more tokens; without one the policy of the memory decides.
    """

    def __init__(self, memory: Memory, form: str = "", *, budget: int | None = None) -> None:
        if form and form not in FORMATS:
            raise MessageFormatError(f"`{form}` is none of {', '.join(FORMATS)}")
        self.memory = memory
        self.form = form
        self.budget = budget
        self.last: Context | None = None
        self._complete: list[object] | None = []
        self._sent: list[object] = []
        self._originals: dict[int, tuple[object, ...]] = {}
        self._estimate = 0.0
        self._told: tuple[float, int] | None = None

    def context(
        self,
        messages: Iterable[object],
        *,
        system: object = None,
        goal: str = "",
        boundary: bool = False,
    ) -> list[Any]:
        """Keep what is new of these messages, and return those to send.

        ``messages`` are all of the conversation, or what the last context was with what came since.
        ``system`` is what Anthropic's format has beside the messages; it is kept, and never shorter
        afterwards, so it is sent as before. Raises ``MessageFormatError`` and ``BudgetError``.
        """
        self.take(messages, system=system)
        self.last = self.memory.context(self.budget, goal, boundary=boundary)
        self._estimate = self.last.tokens / self.memory.calibration.whole
        found = self.last.messages
        if system is not None and found and found[0].role is Role.SYSTEM:
            found = found[1:]
        self._sent = [raw for one in found for raw in self._raw(one)]
        return list(self._sent)

    def take(self, messages: Iterable[object], *, system: object = None) -> int:
        """Keep what is new of these messages; gives how many there were."""
        given = list(messages)
        known = self._known(given)
        if known is None:
            return self._aligned(given, system)
        pairs = self._read(given[known:], None if self._begun else system)
        self._keep(pairs, given if self._complete is not None else None)
        return len(pairs)

    def reported(self, usage: object) -> None:
        """Take over what a provider says that the last context took, as its ``usage`` tells.

        Tools and the system's text are in each report and in no estimate, so it is by how much two
        reports differ that estimates are mended. A reply of Anthropic's SDK that is handed over
        with the messages is known without this.
        """
        members = plain(usage)
        counts = [members.get(name) for name in _USED] if isinstance(members, dict) else []
        taken = sum(one for one in counts if isinstance(one, int))
        if not taken or not self._estimate:
            return
        if self._told is not None:
            more = self._estimate - self._told[0]
            if more >= _LEAST_MORE:
                self.memory.calibration.learn(round(more), taken - self._told[1])
        self._told = self._estimate, taken

    @property
    def _begun(self) -> bool:
        return bool(self.memory.history.messages)

    def _known(self, given: Sequence[object]) -> int | None:
        """Return how many of these were seen before; `None` where that is not plain."""
        if self._complete is not None and _begins(given, self._complete):
            return len(self._complete) if self._complete or not self._begun else None
        if self._sent and _begins(given, self._sent):
            # The program goes on from what it was given, so it has no longer all of it.
            self._complete = None
            return len(self._sent)
        return None

    def _aligned(self, given: Sequence[object], system: object) -> int:
        """Find messages again in what is kept, where another program has begun with it."""
        pairs = self._read(given, system)
        kept = self.memory.history.messages
        said = {block.text for one in kept for block in one.blocks if isinstance(block, Text)}
        at = 0
        new: list[tuple[Message, tuple[object, ...]]] = []
        places: dict[Message, list[int]] = {}
        for number, one in enumerate(kept):
            places.setdefault(one, []).append(number)
        for message, raws in pairs:
            later = next((one for one in places.get(message, ()) if one >= at), None)
            if later is not None:
                at = later + 1
                self._originals[id(self.memory.shown[later])] = raws
            elif not _is_ours(message, said):
                new.append((message, raws))
        complete = len(pairs) - len(new) == len(kept)
        self._keep(new, given if complete else None)
        return len(new)

    def _keep(
        self,
        pairs: Sequence[tuple[Message, tuple[object, ...]]],
        complete: Sequence[object] | None,
    ) -> None:
        numbers = self.memory.append([message for message, _ in pairs]) if pairs else ()
        kept, shown = self.memory.history.messages, self.memory.shown
        for number, (_, raws) in zip(numbers, pairs, strict=True):
            # A text too heavy for the window is shown by its ends, so the given object is not.
            if raws and shown[number] is kept[number]:
                self._originals[id(shown[number])] = raws
        self._complete = None if complete is None else list(complete)

    def _read(
        self, given: Sequence[object], system: object
    ) -> list[tuple[Message, tuple[object, ...]]]:
        self.form = self.form or form_of(given)
        attachments = self.memory.attachments
        found: list[tuple[Message, tuple[object, ...]]] = []
        if system is not None:
            told = from_anthropic((), attachments, system=plain(system))
            found += [(one, ()) for one in told]
        if self.form == RESPONSES:
            return found + _turns(given)
        for raw in given:
            usage = raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None)
            if usage is not None and self.form == ANTHROPIC:
                self.reported(usage)
        return found + [_message(raw, self.form, attachments) for raw in given]

    def _raw(self, message: Message) -> tuple[object, ...]:
        known = self._originals.get(id(message))
        return known or tuple(_written(message, self.form, self.memory.attachments))


def _begins(given: Sequence[object], known: Sequence[object]) -> bool:
    """Tell whether messages begin with known ones; mostly they are the same objects."""
    if len(given) < len(known):
        return False
    return all(one is other or one == other for one, other in zip(given, known, strict=False))


def _is_ours(message: Message, said: set[str]) -> bool:
    """Tell whether a message is a part of an earlier context, and nothing that anybody said now."""
    texts = [block.text for block in message.blocks if isinstance(block, Text)]
    if len(texts) != len(message.blocks):
        return False
    if any(one.startswith(MARKER) for one in texts):
        return True
    return not message.plain and all(one in said for one in texts)


def plain(value: object, depth: int = 0) -> Any:  # noqa: ANN401  any JSON
    """Return a value with the objects of an SDK as dictionaries.

    Raises ``MessageFormatError`` for what is too deep or no message.
    """
    if depth > _DEEPEST:
        raise MessageFormatError("a message is too deep")
    if isinstance(value, Mapping):
        return {str(name): plain(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, depth + 1) for one in value]
    if isinstance(value, str | int | float | None):
        return value
    for name, given in (("to_dict", {}), ("model_dump", {"mode": "json", "exclude_unset": True})):
        method = getattr(value, name, None)
        if callable(method):
            return plain(method(**given), depth + 1)
    raise MessageFormatError(f"a `{type(value).__name__}` is no message")


def form_of(messages: Iterable[object]) -> str:
    """Tell the format of messages by what only it has; empty where all of them have that."""
    for one in messages:
        if not isinstance(one, Mapping) and hasattr(one, "lc_serializable"):
            return LANGCHAIN
        members = plain(one)
        if not isinstance(members, dict):
            raise MessageFormatError("a message is not an object")
        content = members.get("content")
        parts = content if isinstance(content, list) else ()
        kinds = {part.get("type") for part in parts if isinstance(part, dict)}
        if members.get("type") in _ITEMS or kinds & _PARTS:
            return RESPONSES
        found = format_of([members])
        if found:
            return found
    return ""


def _message(
    raw: object, form: str, attachments: Attachments
) -> tuple[Message, tuple[object, ...]]:
    if form == LANGCHAIN:
        return _of_langchain(raw), (raw,)
    members = plain(raw)
    if form == ANTHROPIC:
        if isinstance(members, dict) and members.get("type") == "message":
            # A response is a message with what it cost, which no request takes.
            raw = members = {name: members.get(name) for name in ("role", "content")}
        return from_anthropic([members], attachments)[0], (raw,)
    return from_openai([members])[0], (raw,)


def _of_langchain(raw: object) -> Message:
    from langchain_core.messages import convert_to_openai_messages  # noqa: PLC0415  heavy library, loaded on first use

    (found,) = from_openai([convert_to_openai_messages([raw], include_id=True)[0]])
    failed = getattr(raw, "status", "") == "error"
    if failed:
        blocks = (replace(one, failed=True) for one in found.blocks if isinstance(one, Result))
        found = replace(found, blocks=tuple(blocks))
    return found


def _written(message: Message, form: str, attachments: Attachments) -> list[Any]:
    if form == ANTHROPIC:
        first = Message(Role.USER, ())
        return to_anthropic([first, message], attachments)[1][1:]
    if form == RESPONSES:
        return [one for block in message.blocks for one in _items(block, message)]
    members = to_openai([message])
    if form == LANGCHAIN:
        from langchain_core.messages import convert_to_messages  # noqa: PLC0415  heavy library, loaded on first use

        return list(convert_to_messages(members))
    return members


# The items of a response: what a model thinks, calls and says in one go is one message here, so
# that no cut parts a call from the thought that led to it.


def _turns(given: Sequence[object]) -> list[tuple[Message, tuple[object, ...]]]:
    found: list[tuple[Message, tuple[object, ...]]] = []
    for number, raw in enumerate(given):
        members = plain(raw)
        if not isinstance(members, dict):
            raise MessageFormatError(f"item {number} is not an object")
        one = _item(members, f"item {number}")
        before = found[-1][0] if found else None
        if before is not None and before.role is one.role is Role.ASSISTANT:
            joined = replace(before, blocks=before.blocks + one.blocks, plain=False)
            found[-1] = (joined, (*found[-1][1], raw))
        else:
            found.append((one, (raw,)))
    return found


def _item(members: Mapping[str, Any], where: str) -> Message:
    kind = members.get("type", "message")
    match kind:
        case "function_call":
            call = (members.get(name) for name in ("call_id", "name", "arguments"))
            return _did(Call(*(_text(one, where) for one in call)))
        case "function_call_output":
            output = members.get("output")
            said = output if isinstance(output, str) else text_of(output)
            result = Result(_text(members.get("call_id"), where), (Text(said),))
            return Message(Role.TOOL, (result,))
        case "message":
            role = _text(members.get("role"), where)
            content = members.get("content")
            if not isinstance(content, str | list):
                raise MessageFormatError(f"{where}: `content` is neither a text nor a list")
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            blocks = tuple(_content_part(one, where) for one in parts)
            known = {"developer": Role.SYSTEM, **{one.value: one for one in Role}}
            if role not in known:
                raise MessageFormatError(f"{where}: `{role}` is no role of this format")
            return Message(known[role], blocks, isinstance(content, str))
        case _:
            # What a model thought, or did with a tool of its provider.
            return _did(Opaque(_text(kind, where), text_of(members)))


def _did(block: Block) -> Message:
    return Message(Role.ASSISTANT, (block,), plain=False)


def _content_part(part: object, where: str) -> Text | Opaque:
    if not isinstance(part, dict):
        raise MessageFormatError(f"{where}: a part is not an object")
    if part.get("type") in {"input_text", "output_text", "text"}:
        return Text(_text(part.get("text"), where))
    return Opaque(_text(part.get("type"), where), text_of(part))


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise MessageFormatError(f"{where}: a text is missing")
    return value


def _items(block: Block, message: Message) -> Iterator[dict[str, Any]]:
    role = message.role
    match block:
        case Text(text) if message.plain:
            yield {"role": role.value, "content": text}
        case Text(text):
            kind = "output_text" if role is Role.ASSISTANT else "input_text"
            yield {"role": role.value, "content": [{"type": kind, "text": text}]}
        case Call(call, name, arguments):
            kind = "function_call"
            yield {"type": kind, "call_id": call, "name": name, "arguments": arguments}
        case Result(call):
            yield {"type": "function_call_output", "call_id": call, "output": block.text}
        case Opaque(kind, content):
            members = json.loads(content)
            yield {"role": role.value, "content": [members]} if kind in _PARTS else members
        case _:
            return


# The tool runner of Anthropic's SDK holds the messages itself: between two requests they are read,
# and replaced where the memory has compacted them.  Its own compaction, by a model, stays unused.


def following(
    runner: Iterable[Any], conversation: Conversation, *, goal: str = ""
) -> Iterator[Any]:
    """Yield what a tool runner yields, and let it go on with what the memory gives it.

    ``runner`` is what ``client.beta.messages.tool_runner(...)`` returns.
    """
    try:
        for reply in runner:
            yield reply
            conversation.reported(getattr(reply, "usage", None))
            _step(runner, conversation, goal)
    finally:
        _finish(runner, conversation)


async def following_async(
    runner: Any,  # noqa: ANN401  of an SDK that is loaded when it is used
    conversation: Conversation | AsyncMemory,
    *,
    goal: str = "",
) -> AsyncIterator[Any]:
    """Do the same with the asynchronous tool runner, without holding up the event loop."""
    later: Callable[..., Awaitable[object]] = asyncio.to_thread
    if isinstance(conversation, AsyncMemory):
        later, one = conversation.run, conversation.conversation
    else:
        one = conversation
    try:
        async for reply in runner:
            yield reply
            one.reported(getattr(reply, "usage", None))
            await later(_step, runner, one, goal)
    finally:
        await later(_finish, runner, one)


def _step(runner: Any, conversation: Conversation, goal: str) -> None:  # noqa: ANN401
    params = _params(runner)
    given = list(params["messages"])
    found = conversation.context(given, system=params.get("system"), goal=goal)
    if found != given:
        # The rest of a run is free to differ: a changed beginning starts a new thread.
        runner.set_messages_params(lambda params: {**params, "messages": found})


def _finish(runner: Any, conversation: Conversation) -> None:  # noqa: ANN401
    params = _params(runner)
    conversation.take(params["messages"], system=params.get("system"))


def _params(runner: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the parameters of the next request; a runner hands them to whoever may change them."""
    held: list[dict[str, Any]] = []

    def look(params: dict[str, Any]) -> dict[str, Any]:
        held.append(params)
        return params

    runner.set_messages_params(look)
    return held[0]


class AsyncMemory:
    """A memory for an event loop: each piece of work is done in one thread of its own, in turn.

    Writers of one session, in one program or in many, have a memory each: what they append is
    kept whole, one after the other.
    """

    def __init__(self, memory: Memory, form: str = "", *, budget: int | None = None) -> None:
        self.memory = memory
        self.conversation = Conversation(memory, form, budget=budget)
        self._thread = ThreadPoolExecutor(1, "memory")

    async def run(self, work: Callable[..., Any], *given: Any, **named: Any) -> Any:  # noqa: ANN401
        """Do a piece of work in the thread of the memory."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(work, *given, **named))

    async def context(self, messages: Iterable[object], **named: Any) -> list[Any]:  # noqa: ANN401
        """Do what ``Conversation.context`` does."""
        found: list[Any] = await self.run(self.conversation.context, messages, **named)
        return found

    async def append(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Do what ``Memory.append`` does."""
        found: tuple[int, ...] = await self.run(self.memory.append, messages)
        return found

    async def note(self, facts: Iterable[Fact]) -> None:
        """Do what ``Memory.note`` does."""
        await self.run(self.memory.note, facts)

    async def view(self, tokens: int, goal: str = "") -> View:
        """Do what ``Memory.view`` does."""
        found: View = await self.run(self.memory.view, tokens, goal)
        return found

    async def search(self, words: str, limit: int = 10) -> tuple[Found, ...]:
        """Do what ``Memory.search`` does."""
        found: tuple[Found, ...] = await self.run(self.memory.search, words, limit)
        return found

    async def open(self, ref: str) -> bytes:
        """Do what ``Memory.open`` does."""
        found: bytes = await self.run(self.memory.open, ref)
        return found

    async def why(self, of: str, goal: str = "") -> tuple[Proof, ...]:
        """Do what ``Memory.why`` does."""
        found: tuple[Proof, ...] = await self.run(self.memory.why, of, goal)
        return found

    async def close(self) -> None:
        """Let go of the memory and of its thread."""
        await self.run(self.memory.close)
        self._thread.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_problem: object) -> None:
        await self.close()
