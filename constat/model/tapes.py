"""Replies in a file of the project, for tests and demonstrations without a model.

In: a path, the hash of a request. Out: what was replied then, word for word. A tape says in its
first line whose replies they are: those of models, or answers that people wrote by hand.
Invariants: both kinds never mix; a line whose request or reply has another hash than it says is
refused, so that nobody edits a reply unnoticed; no address and no key is in it; what is written is
written whole.
Example: `Tape(path).find("sha256:...")`.
"""

from __future__ import annotations

import json
import threading
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from constat.frozen import frozen
from constat.model.prompts import Answered, ModelError, RawCall, Usage, canonical, hash_of
from constat.store.replacing import replaced
from constat.store.state_file import alone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

WRITTEN_MODEL: Final = "written-answers"
WRITTEN: Final = "written by hand"
RECORDED: Final = "recorded"
MISSING: Final = "C0828"
DAMAGED: Final = "C0829"
_FORMAT: Final = 1
_MOST_BYTES: Final = 64 << 20
_PUBLIC: Final = 0o644


@frozen
class Taped:
    """One reply on a tape, with the exact request, its time and what it had cost then."""

    prompt: str
    request: Mapping[str, Any] = field(repr=False)
    answered: Answered
    at: str


class Tape:
    """The replies of one file, read when the first one is looked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._entries: dict[str, Taped] | None = None

    @property
    def answers(self) -> str:
        """Whose replies they are; raises `ModelError` for a file that is no tape."""
        return _kind(self._read())

    @property
    def models(self) -> tuple[str, ...]:
        """The models whose replies are on it."""
        return tuple(sorted({one.answered.model for one in self._read().values()}))

    @property
    def entries(self) -> tuple[Taped, ...]:
        """All replies in the order in which they came."""
        return tuple(self._read().values())

    def find(self, prompt: str) -> Taped | None:
        """Give the reply to a request; raises `ModelError` for a file that is no tape."""
        return self._read().get(prompt)

    def add(self, taped: Taped) -> None:
        """Put a reply on the tape; raises `ModelError` where it cannot be."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with alone(
                self.path.parent, ModelError(DAMAGED, "another program keeps the tape busy")
            ):
                with self._lock:
                    self._entries = None
                self._write({**self._read(), taped.prompt: taped})
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise ModelError(DAMAGED, f"the tape cannot be written ({reason})") from None

    def _write(self, entries: dict[str, Taped]) -> None:
        kind = _kind(entries)
        models = sorted({one.answered.model for one in entries.values()})
        header = {"answers": kind, "format": _FORMAT, "models": models, "tape": "constat"}
        lines = [header, *map(_line, entries.values())]
        with replaced(self.path, mode=_PUBLIC) as stream:
            for line in lines:
                stream.write(_bytes(line) + b"\n")
        with self._lock:
            self._entries = entries

    def _read(self) -> dict[str, Taped]:
        with self._lock:
            if self._entries is None:
                self._entries = {one.prompt: one for one in _taped(self.path)}
            return self._entries


def _kind(entries: Mapping[str, Taped]) -> str:
    kinds = {one.answered.model == WRITTEN_MODEL for one in entries.values()}
    if len(kinds) > 1:
        raise ModelError(DAMAGED, "a tape holds replies of models or written ones, not both")
    return WRITTEN if True in kinds else RECORDED


def _taped(path: Path) -> Iterator[Taped]:
    """Read a tape; one that does not exist yet is empty."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _damaged(path, f"it has more than {_MOST_BYTES} bytes")
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    except OSError as problem:
        raise _damaged(path, problem.strerror or type(problem).__name__) from None
    try:
        yield from _entries(lines)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as problem:
        reason = str(problem) if type(problem) is ValueError else "a line is no JSON of ours"
        raise _damaged(path, reason) from None


def _entries(lines: list[bytes]) -> list[Taped]:
    header = json.loads(lines[0])
    if header.get("tape") != "constat" or header.get("format") != _FORMAT:
        raise ValueError("its first line is not that of a tape")
    entries = [_entry(json.loads(line)) for line in lines[1:] if line]
    if header.get("answers") != _kind({one.prompt: one for one in entries}):
        raise ValueError("its first line tells of other replies than it has")
    return entries


def _line(taped: Taped) -> dict[str, object]:
    answered, usage = taped.answered, taped.answered.usage
    return {
        "prompt": taped.prompt,
        "response_hash": hash_of(answered.form),
        "at": taped.at,
        "model": answered.model,
        "stop": answered.stop,
        "text": answered.text,
        "calls": [[one.identity, one.name, one.arguments] for one in answered.calls],
        "usage": {
            "read": usage.read,
            "cached": usage.cached,
            "stored": usage.stored,
            "written": usage.written,
        },
        "request": taped.request,
    }


def _bytes(line: object) -> bytes:
    try:
        return json.dumps(line, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        # A reply may hold halves of surrogate pairs, which only escapes can spell.
        return json.dumps(line, allow_nan=False).encode()


def _entry(line: Any) -> Taped:  # noqa: ANN401  any JSON
    calls = tuple(RawCall(*call) for call in line["calls"])
    counts = {name: line["usage"][name] for name in ("read", "cached", "stored", "written")}
    if not all(type(count) is int and count >= 0 for count in counts.values()):
        raise ValueError("a count of tokens is none")
    answered = Answered(line["model"], line["text"], calls, line["stop"], Usage(calls=1, **counts))
    if hash_of(canonical(line["request"])) != line["prompt"]:
        raise ValueError("a request has another hash than its line says")
    if hash_of(answered.form) != line["response_hash"]:
        raise ValueError("a reply has another hash than its line says: somebody edited it")
    if not isinstance(line["at"], str):
        raise TypeError
    return Taped(line["prompt"], line["request"], answered, line["at"])


def _damaged(path: Path, reason: str) -> ModelError:
    return ModelError(DAMAGED, f"the tape {path.name} cannot be used: {reason}")
