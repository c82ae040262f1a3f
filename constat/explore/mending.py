"""Have a model write a step anew after a failure.

In: a chain, the step, its failure with trace and variables, what its inputs are. Out: the chain
with the step mended, or nothing. Invariants: without leave no value of data is told, and messages
of errors are made of them; only the step's text changes, never its name, outputs or kind of work;
the mended chain passes the same checks as the first one, and a correction that does not is told so
once. Example: `sum(revnue)` becomes `sum(revenue)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.authoring.discovery import fenced
from constat.authoring.drafting import mistakes_text
from constat.diagnostics import ConstatError
from constat.explore.chain import compile_chain, draft_errors
from constat.explore.plan import MOST_TEXT, Work
from constat.explore.planning import asked, mending_prompt
from constat.frozen import frozen
from constat.model import Prompt, Task, Tool, ToolResult, Turn
from constat.syntax import print_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.explore.chain import Chain, Link
    from constat.explore.failures import StepFailure
    from constat.explore.plan import Step
    from constat.model import Client

REWRITE: Final = "rewrite_step"
_ROUNDS: Final = 2
_TOOL: Final = Tool(
    REWRITE,
    "Hand in the corrected text of the step.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": "The whole text: rules, SELECT or code."},
            "why": {"type": "string", "description": "What was wrong, in a few words."},
        },
    },
)


@frozen
class Mended:
    """A chain with a step corrected, and the model that wrote the correction."""

    chain: Chain
    author: str


@frozen
class Mending:
    """Writes steps anew; with `values` a model is shown errors and variables as they are."""

    client: Client
    values: bool = False

    def mend(self, chain: Chain, link: Link, failure: StepFailure) -> Mended | None:
        """Give the chain with the step corrected; `None` where nothing fitting came back."""
        if link.step.ranking is not None:
            return None
        prompt = Prompt(
            Task.CODE,
            mending_prompt(),
            (Turn("user", mending_turn(chain, link, failure, values=self.values)),),
            (_TOOL,),
            must_call=REWRITE,
        )
        for _ in range(_ROUNDS):
            reply = asked(self.client, prompt)
            call = next((one for one in reply.calls if one.name == REWRITE), None)
            text = call.arguments.get("text") if call is not None else None
            if call is None or not isinstance(text, str) or not 0 < len(text) <= MOST_TEXT:
                return None
            try:
                step = replace(link.step, text=text.strip())
                return Mended(_checked(with_step(chain, link, step), step), reply.model)
            except ConstatError as problem:
                told = ToolResult(call.identity, mistakes_text(problem.diagnostics), failed=True)
            said = Turn("assistant", reply.text, reply.calls)
            turns = (*prompt.turns, said, Turn("user", results=(told,)))
            prompt = replace(prompt, turns=turns)
        return None


def _checked(chain: Chain, step: Step) -> Chain:
    errors = draft_errors(chain, {step.name})
    if errors:
        raise ConstatError(errors)
    return chain


def with_step(chain: Chain, link: Link, step: Step) -> Chain:
    """Compile a chain anew with another step in the place of one. Raises `ConstatError`."""
    first = min((one.number for one in chain.links), default=1)
    steps = [step if one.number == link.number else one.step for one in chain.links]
    return compile_chain(chain.base, steps, first=first)


def mending_turn(chain: Chain, link: Link, failure: StepFailure, *, values: bool) -> str:
    """Tell the step, its error, and what it may read."""
    step = link.step
    source = f" on the database {step.source}" if step.source else ""
    inputs = _declared(chain, _inputs(link))
    outputs = [one.declaration for one in step.outputs]
    wrong = (
        failure.told() if values else failure.told_without_values([step.text, *inputs, *outputs])
    )
    return "\n".join(
        [
            f"Step {link.number}, `{step.name}`, by {step.work.value}{source}.",
            f"Goal:\n{fenced(step.goal)}",
            "Outputs: " + "; ".join(outputs),
            "Inputs: " + ("; ".join(inputs) or "none"),
            f"Its text:\n{fenced(step.text)}",
            f"What went wrong:\n{fenced(wrong)}",
        ]
    )


def _inputs(link: Link) -> Sequence[str]:
    if link.step.work is Work.PYTHON or link.step.source:
        return link.step.inputs
    return tuple(dict.fromkeys((*link.reads, *link.step.inputs)))


def _declared(chain: Chain, names: Sequence[str]) -> list[str]:
    predicates = chain.analysed.program.predicates
    return [print_signature(predicates[name]) for name in names if name in predicates]
