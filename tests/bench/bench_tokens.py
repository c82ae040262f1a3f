"""How many tokens each kind of call takes, beside what was planned for it.

In: nothing. Out: a table; `python -m tests.bench.bench_tokens`. The prompts are those that are sent
and the replies those that people wrote: for the 64 questions, for the exploration of the example,
for a step with a mistake in it, and for facts. "The same" is what a project sends with each such
call, system text and tools, which providers keep in a cache. Tokens are what
`constat.memory.tokens` estimates, not a provider's bill. Invariant: no model is asked.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from constat.memory.tokens import estimate
from constat.session import Session
from tests.authoring.scripted import Scripted, proposed
from tests.authoring.worlds import SCHEMAS, build_world, questions
from tests.examples.shop import ROOT
from tests.explore import planned
from tests.explore.worlds import make_regions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.model import Prompt, Tool

write = sys.stdout.write
_TAPE: Final = ROOT / "examples" / "vip" / "tapes" / "ask.jsonl"
_FACTS: Final = ROOT / "examples" / "shipments" / "tapes" / "prove.jsonl"
_PLANNED: Final = {
    "a question": "1,000 / 500",
    "its repair": "1,500 / 500",
    "a plan of steps": "1,000 / 500",
    "the repair of a step": "1,500 / 500",
    "a fact": "1,000 / 200",
}


@dataclass(frozen=True, slots=True)
class Call:
    """The tokens of one call: what is the same for all of its kind, what is not, what comes."""

    same: int
    rest: int
    written: int


def main() -> int:
    """Write the table."""
    write("| call | plan, in / out | calls | in | of it the same | out | most in / out |\n")
    write("|---|---:|---:|---:|---:|---:|---:|\n")
    with tempfile.TemporaryDirectory() as folder:
        first, repairs = asked(Path(folder))
        _row("a question", first)
        _row("its repair", repairs)
        _row("a plan of steps", taped(_TAPE, "propose_plan"))
        _row("the repair of a step", mended(Path(folder) / "regions"))
        _row("a fact", taped(_FACTS, "tell"))
    return 0


def asked(folder: Path) -> tuple[list[Call], list[Call]]:
    """Ask every question; gives the first calls, and those that follow a mistake."""
    first: list[Call] = []
    repairs: list[Call] = []
    for schema in SCHEMAS:
        with Session(build_world(schema, folder / schema)) as session:
            for question in questions(schema):
                handed = [*question.first, question.reference]
                client = Scripted(*(proposed(one.goal, one.rules) for one in handed))
                session.ask(question.text, client=client)
                written = [estimate(f"{one.goal}\n{one.rules}") for one in handed]
                calls = [_call(*pair) for pair in zip(client.prompts, written, strict=True)]
                first.append(calls[0])
                repairs += calls[1:]
    return first, repairs


def mended(folder: Path) -> list[Call]:
    """Let a step with a mistake in it be written anew."""
    select = "SELECT region, sum({}) FROM sale GROUP BY 1"
    wrong = planned.step("t(region: symbol, v: Decimal)", sql=select.format("amont"))
    text = select.format("amount")
    client = planned.Scripted.of(planned.call("rewrite_step", text=text))
    with Session(make_regions(folder)) as session:
        session.solve("totals?", plan=planned.plan(wrong), mend=True, client=client)
    return [_call(one, estimate(text)) for one in client.asked]


def taped(tape: Path, tool: str) -> list[Call]:
    """Read the calls of a tape whose replies call a tool."""
    lines = [json.loads(line) for line in tape.read_text("utf-8").splitlines()[1:]]
    found: list[Call] = []
    for line in lines:
        if [name for _, name, _ in line["calls"]] != [tool]:
            continue
        request = line["request"]
        same = estimate(request["system"]) + estimate(json.dumps(request["tools"]))
        written = sum(estimate(str(arguments)) for *_, arguments in line["calls"])
        found.append(Call(same, estimate(json.dumps(request["turns"])), written))
    return found


def _call(prompt: Prompt, written: int) -> Call:
    same = estimate(prompt.system) + sum(map(_tool, prompt.tools))
    rest = sum(map(estimate, _turns(prompt)))
    return Call(same, rest, written)


def _tool(tool: Tool) -> int:
    return estimate(f"{tool.name} {tool.description} {json.dumps(tool.parameters)}")


def _turns(prompt: Prompt) -> Iterator[str]:
    for turn in prompt.turns:
        yield turn.text
        yield from (json.dumps(_plain(one.arguments)) for one in turn.calls)
        yield from (one.text for one in turn.results)


def _plain(arguments: Any) -> Any:  # noqa: ANN401  any JSON
    return dict(arguments) if hasattr(arguments, "items") else arguments


def _row(name: str, calls: Iterable[Call]) -> None:
    listed = list(calls)
    read = statistics.median(one.same + one.rest for one in listed)
    same = statistics.median(one.same for one in listed)
    out = statistics.median(one.written for one in listed)
    most = max(one.same + one.rest for one in listed), max(one.written for one in listed)
    counts = f"{read:,.0f}", f"{same:,.0f}", f"{out:,.0f}", f"{most[0]:,} / {most[1]:,}"
    cells = (name, _PLANNED[name], len(listed), *counts)
    write(f"| {' | '.join(map(str, cells))} |\n")


if __name__ == "__main__":
    sys.exit(main())
