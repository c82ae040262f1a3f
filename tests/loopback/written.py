"""Answers that people wrote by hand, chosen by what is asked.

In: a YAML file, a list of entries, alone or under `answers`. Out: an `Answerer` for `ModelServer`.
An entry answers where its `question` stands in the first turn; of several the one with the longest
question. It may also name the `turn` (how often the model has spoken, 0 at first), a `tool` that
must be on offer, and what the last turn `says`. Invariant: what nobody has written is refused,
never made up. Example:

    - question: Is C001 a VIP?
      tool: propose
      calls: [{name: propose, arguments: {goal: is_vip(C001)}}]
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.loopback.server import Answer, Answerer, Asked, Raw, Written

_KEYS = frozenset({"question", "turn", "tool", "says", "text", "calls", "stop"})


def written_answers(*files: Path) -> Answerer:
    """Read files of answers, which together answer."""
    entries = [entry for file in files for entry in _entries(file)]
    return lambda asked: _answer(entries, asked)


def _entries(file: Path) -> Iterable[Mapping[str, Any]]:
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    for entry in written["answers"] if isinstance(written, dict) else written:
        unknown = entry.keys() - _KEYS
        if unknown or "question" not in entry:
            raise ValueError(f"{file.name}: {sorted(unknown) or 'an entry without a question'}")
        yield entry


def _answer(entries: Iterable[Mapping[str, Any]], asked: Asked) -> Answer:
    fitting = [entry for entry in entries if _fits(entry, asked)]
    if not fitting:
        return _refusal(asked)
    entry = max(fitting, key=lambda one: (len(one["question"]), "says" in one, "tool" in one))
    calls = tuple((call["name"], call["arguments"]) for call in entry.get("calls", ()))
    return Written(entry.get("text", ""), calls, entry.get("stop", ""))


def _fits(entry: Mapping[str, Any], asked: Asked) -> bool:
    return (
        entry["question"] in asked.question
        and entry.get("turn", asked.turn) == asked.turn
        and entry.get("tool", "") in ("", *asked.tools)
        and entry.get("says", "") in asked.last
    )


def _refusal(asked: Asked) -> Raw:
    text = (
        f"nobody has written an answer for turn {asked.turn} "
        f"with the tools {', '.join(asked.tools) or 'none'}: {asked.question[:300]}"
    )
    error = {"type": "invalid_request_error", "message": text}
    body = json.dumps({"type": "error", "error": error}).encode()
    return Raw(400, {"content-type": "application/json"}, (body,))
