"""Ask a provider until it answers in time, and check that the reply can be used."""

from __future__ import annotations

import email.utils
import ipaddress
import json
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from constat.frozen import frozen
from constat.model.prompts import ModelError, ToolCall, Turn, printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import httpx2

    from constat.model.prompts import Answered, Json, Prompt, RawCall, Request, Tool, Usage

# An HTTP client for providers' libraries that no server can keep busy, fill or send elsewhere.

MOST_BYTES: Final = 16 << 20


class UnsafeResponseError(Exception):
    """A response that is too large, too slow, compressed, or a redirect. The text is ours."""


def is_loopback(address: str) -> bool:
    """Tell whether an address is one of this machine."""
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bounded_client(address: str, most_bytes: int = MOST_BYTES) -> httpx2.Client:
    """Give a client for one address."""
    import httpx2  # noqa: PLC0415  heavy library, loaded on first use

    def bounded(response: httpx2.Response) -> None:
        _refuse(response)
        until = time.monotonic() + _seconds(response.request)
        response.stream = _stream(response.stream, until, most_bytes)

    return httpx2.Client(
        follow_redirects=False,
        event_hooks={"response": [bounded]},
        headers={"accept-encoding": "identity"},
        # A proxy of the environment is for other machines; this one needs none.
        trust_env=not is_loopback(address),
    )


def _refuse(response: httpx2.Response) -> None:
    if 300 <= response.status_code < 400:  # noqa: PLR2004  the statuses of redirects
        raise UnsafeResponseError(
            "the provider sends us to another address, where no request and no key will go"
        )
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsafeResponseError("the reply is compressed, which was not asked for")


def _seconds(request: httpx2.Request) -> float:
    timeouts: Any = request.extensions.get("timeout") or {}
    read = timeouts.get("read")
    return read if isinstance(read, int | float) else 600.0


def _stream(inner: Any, until: float, most_bytes: int) -> Any:  # noqa: ANN401  of httpx2
    import httpx2  # noqa: PLC0415  heavy library, loaded on first use

    class Bounded(httpx2.SyncByteStream):
        """The bytes of a response, until there are too many or it is too late."""

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for chunk in inner:
                size += len(chunk)
                if size > most_bytes:
                    raise UnsafeResponseError(f"the reply has more than {most_bytes} bytes")
                if time.monotonic() > until:
                    raise UnsafeResponseError("the reply took longer than it was given")
                yield chunk

        def close(self) -> None:
            inner.close()

    return Bounded()


class Provider(Protocol):
    """One address that models are asked at."""

    def send(self, request: Request, seconds: float) -> Answered:
        """Ask once; raises `ModelError`, with what came so far where something did."""
        ...

    def count(self, request: Request, seconds: float) -> int | None:
        """Count the tokens of a request without asking; `None` where nobody can tell."""
        ...


class MisfitReplyError(ModelError):
    """A whole reply that calls the wrong tool, or with arguments that do not fit."""

    def __init__(self, message: str, answered: Answered) -> None:
        super().__init__("C0826", message, usage=answered.usage)
        self.answered = answered


class BrokenReplyError(ModelError):
    """A reply that ended too early: what came of it was paid for."""

    def __init__(self, message: str, answered: Answered, *, retryable: bool = True) -> None:
        usage: Usage = answered.usage
        super().__init__("C0826", message, retryable=retryable, usage=usage)
        self.answered = answered


# The sentence has one printable line without the key.

REFUSED: Final = "C0824"
UNREACHED: Final = "C0825"
UNUSABLE: Final = "C0826"

_LONGEST: Final = 200
_BUSY: Final = frozenset({408, 409, 425, 429})
_SERVER: Final = 500
_OK: Final = 300
# A stream has begun with status 200 when its provider finds that it cannot go on.
_PASSING: Final = frozenset(
    {"api_error", "overloaded_error", "rate_limit_error", "timeout_error", "server_error"}
)
_LOST: Final = frozenset({"APIConnectionError", "TransportError"})
_UNSENT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
_LONGEST_WAIT: Final = 86_400.0


def failure_of(problem: Exception, key: str) -> ModelError:
    """Say what an exception of a provider's library means."""
    for cause in _causes(problem):
        if isinstance(cause, UnsafeResponseError):
            return ModelError(UNUSABLE, str(cause))
    status = getattr(problem, "status_code", None)
    if isinstance(status, int):
        return _of_status(status, problem, key)
    kinds = {kind.__name__ for cause in _causes(problem) for kind in type(cause).__mro__}
    if kinds & _LOST:
        # A connection that was never made has carried no request.
        sent = not kinds & _UNSENT
        late = any("Timeout" in kind for kind in kinds)
        reason = "did not answer in time" if late else "cannot be reached"
        return ModelError(UNREACHED, f"the provider {reason}", retryable=True, unsettled=sent)
    if isinstance(problem, UnicodeEncodeError):
        return ModelError(REFUSED, "the prompt holds text that is no Unicode")
    return ModelError(UNUSABLE, f"the reply cannot be read ({type(problem).__name__})")


def _of_status(status: int, problem: Exception, key: str) -> ModelError:
    said, kind = _said(problem)
    shown = f": {printable(said, key)}" if said else ""
    after = _retry_after(problem)
    if status in _BUSY or status >= _SERVER or (status < _OK and kind in _PASSING):
        words = "is asked too much" if status in _BUSY else "has trouble"
        message = f"the provider {words} (status {status}){shown}"
        return ModelError(UNREACHED, message, retryable=True, retry_after=after)
    if _OK <= status < 400:  # noqa: PLR2004  the statuses of redirects
        return ModelError(UNUSABLE, f"the provider sends us elsewhere (status {status})")
    return ModelError(REFUSED, f"the provider refuses the request (status {status}){shown}")


def _said(problem: Exception) -> tuple[str, str]:
    """Give the provider's own words and its name for the kind of error."""
    body: Any = getattr(problem, "body", None)
    if isinstance(body, dict):
        error = body.get("error", body)
        if isinstance(error, dict):
            said, kind = error.get("message"), error.get("type")
            return (said if isinstance(said, str) else ""), str(kind)[:_LONGEST]
    return "", ""


def _retry_after(problem: Exception) -> float | None:
    headers: Mapping[str, str] = getattr(getattr(problem, "response", None), "headers", {})
    written = headers.get("retry-after") or ""
    seconds = _number(headers.get("retry-after-ms") or "")
    if seconds is not None:
        seconds /= 1000
    elif (seconds := _number(written)) is None:
        parsed = email.utils.parsedate_tz(written)
        seconds = None if parsed is None else email.utils.mktime_tz(parsed) - time.time()
    return None if seconds is None else min(max(seconds, 0.0), _LONGEST_WAIT)


def _number(written: str) -> float | None:
    plain = written.strip()
    if plain.isascii() and plain.replace(".", "", 1).isdigit() and len(plain) <= 20:  # noqa: PLR2004  digits
        return float(plain)
    return None


def _causes(problem: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    cause: BaseException | None = problem
    while cause is not None and cause not in seen:
        seen.append(cause)
        yield cause
        cause = cause.__cause__ or cause.__context__


_MOST_CHARACTERS: Final = 4 << 20
_LONGEST_NAME: Final = 60
_DEEPEST: Final = 64
_TYPES: Final = MappingProxyType(
    {
        "object": (dict,),
        "array": (list,),
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "null": (type(None),),
    }
)


def arguments_of(text: str, tool: Tool) -> Json:
    """Read the arguments of a call; raises `ValueError`."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError("are larger than anybody needs")
    try:
        found = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError("are not one JSON object, or are cut short") from None
    if not isinstance(found, dict):
        raise ValueError("are not a JSON object")  # noqa: TRY004  callers catch one type
    if _depth(found) > _DEEPEST:
        raise ValueError(f"are nested more than {_DEEPEST} levels deep")
    for problem in _misfits(found, tool.parameters, ""):
        raise ValueError(problem)
    return found


def _depth(value: object) -> int:
    """Give how deep a value is nested, without recursion: whoever sends it back writes it so."""
    depth, level = 0, [value]
    while level:
        level = [inner for one in level for inner in _parts(one)]
        depth += 1
    return depth


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # Two readers would see two different calls.
        raise ValueError("a member occurs twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _misfits(value: object, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield what does not fit, the first one first."""
    at = f"at `{path[:200]}`" if path else "as a whole"
    if "anyOf" in schema and all(next(_misfits(value, one, path), "") for one in schema["anyOf"]):
        yield f"fit none of the allowed forms {at}"
    kinds = schema.get("type", ())
    names = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if names and not any(_is(value, name) for name in names):
        yield f"are no {' or '.join(names)} {at}"
        return
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield f"are none of the allowed values {at}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"are not the allowed value {at}"
    match value:
        case dict():
            yield from _object_misfits(value, schema, path, at)
        case list():
            yield from _array_misfits(value, schema, path, at)
        case str():
            yield from _size_misfits(len(value), schema, ("minLength", "maxLength"), at)
        case int() | float() if not isinstance(value, bool):
            yield from _size_misfits(value, schema, ("minimum", "maximum"), at)


def _object_misfits(
    value: Mapping[str, Any], schema: Mapping[str, Any], path: str, at: str
) -> Iterator[str]:
    members: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"have no `{name}` {at}"
    for name, one in value.items():
        inner = members.get(name, schema.get("additionalProperties", True))
        if inner is False:
            yield f"have an unknown member `{_shown(name)}` {at}"
        elif inner is not True:
            yield from _misfits(one, inner, f"{path}.{_shown(name)}".lstrip("."))


def _array_misfits(
    value: Sequence[Any], schema: Mapping[str, Any], path: str, at: str
) -> Iterator[str]:
    yield from _size_misfits(len(value), schema, ("minItems", "maxItems"), at)
    if "items" in schema:
        for place, one in enumerate(value):
            yield from _misfits(one, schema["items"], f"{path}[{place}]")


def _size_misfits(
    size: float, schema: Mapping[str, Any], names: tuple[str, str], at: str
) -> Iterator[str]:
    least, most = (schema.get(name) for name in names)
    if (least is not None and size < least) or (most is not None and size > most):
        yield f"are too small or too large {at}"


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, float) and name == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, ()))


def _same(one: object, other: object) -> bool:
    # 1 and True are equal in Python.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _shown(name: str) -> str:
    return "".join(letter for letter in name[:_LONGEST_NAME] if letter.isprintable())


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


Found = TypeVar("Found")

ATTEMPTS: Final = 3
_FIRST_PAUSE: Final = 0.5


@frozen
class Clock:
    """The time, and waiting; tests bring their own."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def send_within(provider: Provider, request: Request, seconds: float, clock: Clock) -> Answered:
    """Ask, and ask again where that may help; raises `ModelError`."""
    until = clock.monotonic() + seconds
    attempt = 1
    while True:
        left = until - clock.monotonic()
        if left <= 0:
            raise ModelError(UNREACHED, "no time is left to ask in", retryable=True)
        try:
            return within(lambda: provider.send(request, left), left)  # noqa: B023  called at once
        except ModelError as problem:
            if problem.code != UNREACHED or attempt == ATTEMPTS:
                raise
            pause = _pause(problem, attempt)
            if pause >= until - clock.monotonic():
                raise _too_late(problem, pause) from None
            clock.sleep(pause)
            attempt += 1


def within(function: Callable[[], Found], seconds: float) -> Found:
    """Run a function in a thread of its own and give what it gives, unless it takes too long."""
    running = _Running(function)
    # A daemon: what hangs in a system call cannot be ended, and must not keep the program.
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if running.problem is not None:
        raise running.problem
    if running.result is None:
        reason = f"the provider did not answer within {seconds:.3g} seconds"
        raise ModelError(UNREACHED, reason, retryable=True, unsettled=True)
    return running.result[0]


class _Running(Generic[Found]):
    def __init__(self, function: Callable[[], Found]) -> None:
        self._function = function
        self.result: tuple[Found] | None = None
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = (self._function(),)
        except BaseException as problem:  # noqa: BLE001  raised again where it is waited for
            self.problem = problem


def _pause(problem: ModelError, attempt: int) -> float:
    if problem.retry_after is not None:
        return problem.retry_after
    # Clients that failed together are not to come back together.
    return _FIRST_PAUSE * 2.0 ** (attempt - 1) * random.uniform(0.75, 1.0)  # noqa: S311  no secret


def _too_late(problem: ModelError, pause: float) -> ModelError:
    message = f"{problem}; asking again in {pause:.3g} seconds would be too late"
    return ModelError(
        UNREACHED, message, retryable=True, retry_after=pause, unsettled=problem.unsettled
    )
