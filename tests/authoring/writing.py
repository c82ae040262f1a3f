"""Answers to the questions that people wrote, as a model would hand them in.

In: questions with their references, and how variables are spelled. Out: an `Answerer` for
`ModelServer`: the mistaken proposals first, then the reference. Invariant: a question that nobody
has written an answer for is refused. Example: `answerer(questions("music"))`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from constat.project.settings import BARE, STRICT
from tests.loopback.server import Raw, Written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.authoring.worlds import Proposed, Question
    from tests.loopback.server import Answer, Answerer, Asked

_VARIABLE: Final = re.compile(r"\?([a-z]\w*)")
_JSON: Final = {"content-type": "application/json"}


def answerer(wanted: Sequence[Question], variables: str = STRICT) -> Answerer:
    """Give what answers these questions, turn by turn."""
    known = {one.text: (*one.first, one.reference) for one in wanted}

    def answer(asked: Asked) -> Answer:
        found = next((one for text, one in known.items() if text in asked.question), None)
        if found is None or asked.turn >= len(found):
            body = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
            return Raw(400, _JSON, (json.dumps(body).encode(),))
        return Written("", (("propose", arguments_of(found[asked.turn], variables)),))

    return answer


def arguments_of(proposed: Proposed, variables: str) -> dict[str, str]:
    """Give a proposal as the arguments of `propose`, its variables spelled as was asked for."""
    bare = variables == BARE
    rules = _VARIABLE.sub(r"\1", proposed.rules) if bare else proposed.rules
    return {"goal": proposed.goal, "rules": rules}
