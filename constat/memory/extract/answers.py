"""That a tool was called, that it answered, and how the program that it ran ended.

In: the arguments of a call, or its answer.  Out: ``tool_call`` (key: the id, value: the tool),
``tool_result`` (key: the id, value: ``ok`` or ``failed``), ``exit_code`` (value: the number).
Invariant: the span is the whole text, that of an exit code its number.

Example: ``[finished with exit code 0]`` is an exit code, 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.extract.reading import Reading
    from constat.memory.facts import Fact

_ENDED: Final = re.compile(
    r"\b(?:exit(?:ed)?[ ](?:code|status|with)|return[ ]?code|returncode)[^0-9-]{0,12}"
    r"(?P<code>-?[0-9]{1,3})\b",
    re.IGNORECASE,
)


def from_answer(reading: Reading) -> Iterator[Fact]:
    """Yield what is known of a call or an answer as a whole."""
    passage = reading.passage
    if passage.place is Place.ARGUMENTS:
        yield fact(
            passage, Said("tool_call", passage.call, passage.tool), 0, len(passage.text), "call"
        )
    elif passage.place is Place.ANSWER:
        said = Said("tool_result", passage.call, "failed" if passage.failed else "ok")
        yield fact(passage, said, 0, len(passage.text), "call")
        ended = None if reading.members is not None else _ENDED.search(passage.text)
        if ended:
            code = Said("exit_code", "", ended["code"], "number")
            yield fact(passage, code, ended.start("code"), ended.end("code"), "call")
