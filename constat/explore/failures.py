"""What goes wrong in a step, as far as somebody may mend it.

In: nothing. Out: `StepFailure` values and the exception that carries one. Invariant: whether a step
may be tried again follows from the kind: what another text may mend is retryable, what the step did
to be stopped is not, and a connection as the project says. Example: a misspelt column is
`missing column`, which a model gets back with the columns that are there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

# The kinds of the sandbox's errors, and those of rules and SELECTs.
NOT_RETRYABLE: Final = frozenset(
    {"timeout", "memory", "killed", "blocked import", "blocked call", "too much output"}
    | {"protocol", "unsettled input", "not allowed", "limit", "source", "difference"}
)
DIFFERENCE: Final = "difference"
"""What a step gives that was counted again from the rules, and was something else."""
CONNECTION: Final = "connection"
_MOST_TEXT: Final = 8_000
# Where what is wrong is a name, libraries put it between quotes, or behind a colon.
_ABOUT_NAMES: Final = frozenset({"name", "missing column", "missing table", "attribute", "syntax"})
_NAMED: Final = re.compile(r"[\"'`]([^\W\d]\w*)[\"'`]|(?:column|table|function): (?:\w+\.)?(\w+)")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_MOST_NAMES: Final = 3


@frozen
class StepFailure:
    """Why an attempt at a step gave nothing.

    `line` is that of the step's text, 0 where there is none. `variables` are names with bounded
    representations; text of theirs and of the trace comes from the step, and is not to be trusted.
    `output` is what code had printed, and `queries` what it had asked until then. `public` is the
    message in words that hold no value of data, where there are such.
    """

    kind: str
    message: str
    line: int = 0
    trace: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    output: str = ""
    queries: tuple[tuple[str, str], ...] = ()
    public: str = ""

    @property
    def retryable(self) -> bool:
        """Whether another text may mend it."""
        return self.kind not in NOT_RETRYABLE and self.kind != CONNECTION

    def told(self) -> str:
        """Tell it to whoever writes the step anew: kind, place, trace and state."""
        lines = [f"{self.kind}: {self.message}"]
        if self.line:
            lines.append(f"in line {self.line} of the step")
        if self.hint:
            lines.append(f"help: {self.hint}")
        if self.trace:
            lines += ["traceback:", self.trace]
        if self.variables:
            lines.append("variables:")
            lines += [f"  {name} = {shown}" for name, shown in self.variables]
        return "\n".join(lines)[:_MOST_TEXT]

    def told_without_values(self, texts: Iterable[str]) -> str:
        """Tell it as far as that holds no value of data: kind, place, and names out of `texts`.

        Messages, traces and variables are made of data: `KeyError: 'Smith'` is a cell. Only a name
        that stands in the step, or in what it may read, is repeated.
        """
        known = {word for text in texts for word in _WORD.findall(text)}
        lines = [f"{self.kind}: {self.public}" if self.public else self.kind]
        if self.line:
            lines.append(f"in line {self.line} of the step")
        if self.hint and self.public:
            lines.append(f"help: {self.hint}")
        if not self.public:
            found = [one or other for one, other in _NAMED.findall(self.message)]
            names = [one for one in dict.fromkeys(found) if one in known][:_MOST_NAMES]
            if names and self.kind in _ABOUT_NAMES:
                lines.append(f"the message names {', '.join(f'`{one}`' for one in names)}")
            lines.append("the message itself may hold values of data, and is not shown")
        return "\n".join(lines)


class StepFailureError(Exception):
    """An attempt at a step gave nothing."""

    def __init__(self, failure: StepFailure) -> None:
        self.failure = failure
        super().__init__(f"{failure.kind}: {failure.message}")
