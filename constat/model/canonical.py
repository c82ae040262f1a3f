"""The exact texts that hashes of an attestation are taken of.

In: a prompt, the name of the model it is for. Out: a `Request` with its canonical JSON and hash;
the same for what came back. Invariants: neither the address of the provider nor a secret is in
them, so that a text may be kept, put on a tape and shown; the same request always has the same
text. Example: `request_of(prompt, "some-model").hash` is `sha256:...`.
Reference: RFC 8785 (JSON Canonicalization Scheme), with ASCII escapes for what is not ASCII.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from constat.model.prompts import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.model.prompts import Prompt, Tool, Turn

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt for one model. `text` is its canonical form, `hash` that of the text."""

    prompt: Prompt
    model: str
    effort: str
    text: str = field(repr=False)
    hash: str


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as it came: the arguments are text that nobody has looked at."""

    identity: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What a provider sent, before anybody has looked whether it can be used.

    `stop` is the provider's word in our spelling; `usage` has no price yet. It is not `whole`
    where the stream ended before the reply did.
    """

    model: str
    text: str
    calls: tuple[RawCall, ...]
    stop: str
    usage: Usage = field(default_factory=Usage)
    whole: bool = True

    @property
    def form(self) -> str:
        """The canonical form of the reply."""
        return canonical(
            {
                "calls": [[one.identity, one.name, one.arguments] for one in self.calls],
                "model": self.model,
                "stop": self.stop,
                "text": self.text,
            }
        )


def request_of(prompt: Prompt, model: str, effort: str = "") -> Request:
    """Give the request that asks a model; raises `ValueError` for what JSON cannot say."""
    members = {
        "effort": effort,
        "format": _FORMAT,
        "model": model,
        "most_tokens": prompt.most_tokens,
        "must_call": prompt.must_call,
        "system": prompt.system,
        "tools": [_tool(one) for one in prompt.tools],
        "turns": [_turn(one) for one in prompt.turns],
    }
    text = canonical(members)
    return Request(prompt, model, effort, text, hash_of(text))


def answered_of(form: str, usage: Usage | None = None) -> Answered:
    """Read what `Answered.form` wrote; raises `ValueError` for anything else."""
    members = json.loads(form)
    if not isinstance(members, dict):
        raise ValueError("is no reply")  # noqa: TRY004  callers catch one type
    try:
        calls = tuple(RawCall(*map(_text, call)) for call in members["calls"])
        texts = [_text(members[name]) for name in ("model", "text", "stop")]
    except (KeyError, TypeError) as problem:
        raise ValueError("is no reply") from problem
    found = Answered(texts[0], texts[1], calls, texts[2], usage or Usage())
    if found.form != form:
        raise ValueError("is not in canonical form")
    return found


def canonical(value: object) -> str:
    """Spell a value of JSON in the one way that hashes are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_of(text: str) -> str:
    """Give `sha256:<hex>` of a text."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def plain(value: Any) -> Any:  # noqa: ANN401  any JSON
    """Give mappings and sequences as the types that `json` writes; depth is that of our schemas."""
    if hasattr(value, "items"):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def _tool(tool: Tool) -> Mapping[str, object]:
    return {
        "description": tool.description,
        "name": tool.name,
        "parameters": plain(tool.parameters),
    }


def _turn(turn: Turn) -> Mapping[str, object]:
    return {
        "calls": [[one.identity, one.name, plain(one.arguments)] for one in turn.calls],
        "results": [[one.identity, one.text, one.failed] for one in turn.results],
        "role": turn.role,
        "text": turn.text,
    }


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("holds something that is no text")
    return value
