"""Calls that a model writes into its text, where a provider has no calls beside it.

In: what a model said.  Out: ``tool_call`` (value: the tool) and ``tool_arg`` (key: the name, value:
the argument) for calls in tags, ``command`` for a block of code that is one for a shell.
Invariant: the span is what was written between the marks, without the blanks around it.

Example: a block between three backticks that holds ``ls -la`` is a command.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.facts import Author
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.extract.reading import Reading
    from constat.memory.facts import Fact
    from constat.memory.passages import Passage

_FENCE: Final = re.compile(
    r"^```(?P<language>\w{0,20})[ \t]*\n(?P<code>(?:(?!^```).*\n)*)^```", re.MULTILINE
)
_SHELLS: Final = frozenset({"", "bash", "sh", "shell", "console", "zsh"})
_TAG: Final = re.compile(r"<(?P<kind>function|parameter)=(?P<name>[\w.-]{1,100})>")
_END: Final = "</parameter>"


def from_spoken_calls(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each call and argument."""
    passage = reading.passage
    if passage.place is not Place.SAID or passage.author is not Author.ASSISTANT:
        return
    if "<function=" in passage.text:
        yield from _in_tags(passage)
    if "```" in passage.text:
        for found in _FENCE.finditer(passage.text):
            if found["language"].lower() in _SHELLS and found["code"].strip():
                start, end = _inner(passage.text, *found.span("code"))
                said = Said("command", "", passage.text[start:end])
                yield fact(passage, said, start, end, "spoken")


def _in_tags(passage: Passage) -> Iterator[Fact]:
    tags = [*_TAG.finditer(passage.text)]
    for tag, following in zip_longest(tags, tags[1:]):
        if tag["kind"] == "function":
            said = Said("tool_call", "", tag["name"])
            yield fact(passage, said, tag.start("name"), tag.end("name"), "spoken")
            continue
        limit = following.start() if following else len(passage.text)
        closed = passage.text.find(_END, tag.end(), limit)
        if closed > tag.end():
            start, end = _inner(passage.text, tag.end(), closed)
            said = Said("tool_arg", tag["name"], passage.text[start:end])
            yield fact(passage, said, start, end, "spoken")


def _inner(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    begin = start + len(part) - len(part.lstrip())
    return begin, begin + len(part.strip())
