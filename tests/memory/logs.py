"""Conversations for tests: random ones, and public logs where they are present."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests import extras

Json = Any
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)


def extended(members: dict[str, Json], more: dict[str, Json]) -> dict[str, Json]:
    """Add members that nobody of us knows."""
    return {**{f"x_{name}": value for name, value in more.items()}, **members}


@st.composite
def texts(draw: st.DrawFn) -> dict[str, Json]:
    more = draw(OBJECTS) if draw(st.booleans()) else {}
    return extended({"type": "text", "text": draw(TEXTS)}, more)


@st.composite
def images(draw: st.DrawFn) -> dict[str, Json]:
    content = base64.b64encode(draw(st.binary(max_size=9))).decode()
    source = {"type": "base64", "media_type": "image/png", "data": content}
    if draw(st.booleans()):
        source = {"type": "url", "url": draw(TEXTS)}
    return {"type": "image", "source": source}


@st.composite
def anthropic_results(draw: st.DrawFn, call: str) -> dict[str, Json]:
    found: dict[str, Json] = {"type": "tool_result", "tool_use_id": call}
    match draw(st.integers(0, 3)):
        case 0:
            found["content"] = draw(TEXTS)
        case 1:
            found["content"] = draw(st.lists(texts() | images(), max_size=3))
        case 2:
            found["content"] = None
    if draw(st.booleans()):
        found["is_error"] = draw(st.booleans())
    return found


@st.composite
def anthropic_logs(draw: st.DrawFn) -> list[dict[str, Json]]:
    """Rounds of a question, calls side by side, and their results in any order."""
    found: list[dict[str, Json]] = []
    number = 0
    for _ in range(draw(st.integers(0, 4))):
        asked = draw(TEXTS | st.lists(texts() | images(), max_size=2))
        found.append({"role": "user", "content": asked})
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"call {number + place}" for place in range(draw(st.integers(1, 3)))]
            number += len(ids)
            thought = {"type": "thinking", "thinking": draw(TEXTS), "signature": draw(TEXTS)}
            calls = [
                {"type": "tool_use", "id": one, "name": draw(NAMES), "input": draw(OBJECTS)}
                for one in ids
            ]
            said = [thought] if draw(st.booleans()) else []
            found.append({"role": "assistant", "content": [*said, *calls]})
            answered = [draw(anthropic_results(one)) for one in draw(st.permutations(ids))]
            found.append({"role": "user", "content": answered})
        found.append(extended({"role": "assistant", "content": draw(TEXTS)}, draw(OBJECTS)))
    return found


@st.composite
def openai_logs(draw: st.DrawFn) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = [{"role": "system", "content": draw(TEXTS)}]
    number = 0
    for _ in range(draw(st.integers(0, 4))):
        found.append({"role": "user", "content": draw(TEXTS | st.lists(texts(), max_size=2))})
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"call {number + place}" for place in range(draw(st.integers(1, 3)))]
            number += len(ids)
            calls = [
                extended(
                    {
                        "id": one,
                        "type": "function",
                        "function": {"name": draw(NAMES), "arguments": draw(TEXTS)},
                    },
                    draw(OBJECTS),
                )
                for one in ids
            ]
            said: dict[str, Json] = {"role": "assistant", "tool_calls": calls}
            if draw(st.booleans()):
                said["content"] = draw(st.none() | TEXTS)
            found.append(said)
            found += [
                extended({"role": "tool", "tool_call_id": one, "content": draw(TEXTS)}, {})
                for one in draw(st.permutations(ids))
            ]
        found.append(extended({"role": "assistant", "content": draw(TEXTS)}, draw(OBJECTS)))
    return found


def public_logs() -> Path:
    """The folder of public logs; skips where there is none."""
    extras.need("data")
    folder = Path(os.environ.get("CONSTAT_DATA", "")) / "memory"
    if "CONSTAT_DATA" not in os.environ or not folder.is_dir():
        pytest.skip("CONSTAT_DATA names no folder with public logs")
    return folder


def airline_dialogues() -> list[list[Json]]:
    file = public_logs() / "tau-bench" / "gpt-4o-airline-even.json"
    return [one["traj"] for one in json.loads(file.read_text())]


def request_logs() -> list[list[Json]]:
    found = []
    for file in sorted((public_logs() / "openhands").glob("*.json")):
        given = json.loads(file.read_text())
        found.append(given["messages"] if isinstance(given, dict) else given)
    return found


def coding_logs() -> list[list[Json]]:
    """Runs of a coding agent: some call tools, others write their commands into their texts."""
    found = []
    for file in sorted((public_logs() / "swe-agent").glob("*.traj")):
        history = json.loads(file.read_text()).get("history", [])
        found.append([_coding_message(one) for one in history])
    return found


def _coding_message(given: dict[str, Json]) -> dict[str, Json]:
    kept = {key: given[key] for key in ("role", "content", "tool_calls") if given.get(key)}
    if given["role"] == "tool":
        kept["tool_call_id"] = given["tool_call_ids"][0]
    return {"content": "", **kept}
