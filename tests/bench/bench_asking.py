"""What asking costs besides the model: checks, quarantine, proof; and how large a first prompt is.

In: nothing. Out: a table; `python -m tests.bench.bench_asking`. The proposals are the references of
`tests/authoring/questions`, handed in without a wait, so that no model and no network is timed.
Invariant: each question is answered in a project of its own folder, with nothing kept before.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from constat.authoring.checking import Proposal, check_proposal
from constat.authoring.prompts import likely
from constat.memory.tokens import estimate
from constat.session import Session
from constat.session.asking_steps import ground_of
from tests.authoring.scripted import Scripted, proposed
from tests.authoring.worlds import SCHEMAS, build_world, questions
from tests.bench.measuring import once

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.model import Prompt
    from tests.authoring.worlds import Question
    from tests.bench.measuring import Timing

write = sys.stdout.write


def main() -> int:
    """Write the table."""
    write("| schema | questions | check | whole answer | first prompt | of it tools | hinted |\n")
    write("|---|---:|---:|---:|---:|---:|---:|\n")
    with tempfile.TemporaryDirectory() as folder:
        for schema in SCHEMAS:
            _schema(schema, Path(folder) / schema)
    return 0


def _schema(schema: str, folder: Path) -> None:
    wanted = questions(schema)
    checks: list[Timing] = []
    answers: list[Timing] = []
    hinted = 0
    with Session(build_world(schema, folder)) as session:
        ground = ground_of(session)
        clients = [Scripted(proposed(one.reference.goal, one.reference.rules)) for one in wanted]
        # The first question loads what all of them need.
        session.ask(wanted[0].text, client=clients[0])
        for question, client in zip(wanted, clients, strict=True):
            reference = question.reference
            proposal = Proposal(reference.goal, reference.rules)
            checks.append(once(lambda: check_proposal(proposal, ground, [question.text])))  # noqa: B023  run at once
            answers.append(once(lambda: session.ask(question.text, client=client)))  # noqa: B023  as above
            hinted += _hinted(question, ground.program)
    prompt = clients[0].prompts[0]
    tools = _tools(prompt)
    first = estimate(prompt.system) + estimate(prompt.turns[0].text) + tools
    times = (_shown(checks), _shown(answers))
    cells = (schema, len(wanted), *times, f"{first:,}", f"{tools:,}", hinted)
    write(f"| {' | '.join(map(str, cells))} |\n")


def _hinted(question: Question, program: AnalysedProgram) -> bool:
    """Whether all predicates of the reference are described with the question."""
    known = tuple(program.program.predicates.values())
    text = f" {question.reference.goal}\n {question.reference.rules}".replace("!", " ")
    used = {one.name for one in known if f" {one.name}(" in text}
    return used <= {one.name for one in likely(known, question.text)}


def _tools(prompt: Prompt) -> int:
    return sum(
        estimate(f"{tool.name} {tool.description} {json.dumps(tool.parameters)}")
        for tool in prompt.tools
    )


def _shown(timings: list[Timing]) -> str:
    middle = statistics.median(one.clock for one in timings) * 1000
    processor = statistics.fmean(one.processor for one in timings) * 1000
    return f"{middle:.0f} ms ({processor:.0f} ms)"


if __name__ == "__main__":
    sys.exit(main())
