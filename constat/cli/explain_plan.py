"""`constat explain-plan GOAL|PROGRAM`: how answers in bulk are computed.

Without `--analyze` nothing is asked and nothing computed; the figures are estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand
from constat.cli.output import show_error, use_utf8, write, write_json
from constat.cli.plan_dot import dot_lines
from constat.cli.plan_json import plan_json
from constat.cli.plan_text import plan_lines
from constat.cli.progress import watching
from constat.diagnostics import ConstatError
from constat.plan.forward import Strategy
from constat.session import Session
from constat.session.plan_explaining import (
    PlanQuestion,
    ProgramFile,
    analyze_program,
    explain_program,
)
from constat.syntax import Mode

if TYPE_CHECKING:
    from constat.session.plan_explaining import ExplainedPlan

_FORMATS: Final = ("text", "json", "dot")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """How to plan, and how to read a program."""

    strategy: str | None
    no_magic: bool
    facts: str
    include: tuple[str, ...]
    mode: str | None
    word_size: str
    timeout: float

    @property
    def question(self) -> PlanQuestion:
        strategy = None if self.strategy is None else Strategy(self.strategy)
        return PlanQuestion(strategy, False if self.no_magic else None, self.timeout)

    def program(self, path: str) -> ProgramFile:
        mode = None if self.mode is None else Mode(self.mode)
        include = tuple(map(Path, self.include))
        return ProgramFile(Path(path), Path(self.facts), mode, int(self.word_size), include)


@click.command(name="explain-plan", cls=PlainCommand)
@click.argument("subject", metavar="GOAL|PROGRAM")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="How to print the plan; dot is for Graphviz.",
)
@click.option("--analyze", is_flag=True, help="Compute it, and show what each stage took.")
@click.option(
    "--strategy",
    type=click.Choice([one.value for one in Strategy]),
    help="Take this strategy wherever it gives the right answer.",
)
@click.option("--no-magic", is_flag=True, help="Never restrict rules to what constants demand.")
@click.option("--facts", "-F", metavar="DIR", default=".", help="PROGRAM: read fact files here.")
@click.option(
    "--include", "-I", metavar="DIR", multiple=True, help="PROGRAM: include files from here."
)
@click.option(
    "--mode", type=click.Choice([one.value for one in Mode]), help="PROGRAM: how to read it."
)
@click.option(
    "--word-size",
    type=click.Choice(("32", "64")),
    default="32",
    show_default=True,
    help="PROGRAM: bits of an integer in souffle mode.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=3600.0,
    help="Stop --analyze after so many seconds.",
)
@project_option
def command(
    subject: str,
    *,
    form: str,
    analyze: bool,
    project: str | None,
    **given: object,
) -> int:
    """Show how the answers of GOAL, or the results of PROGRAM, are computed in bulk.

    GOAL is a goal of the project, as `constat query` takes it; PROGRAM is a file whose name ends
    in .dl, as `constat run` takes it. The plan has stages: each computes some relations from
    inputs and earlier stages, by a strategy: statement (one of SQL), cte (one recursive table
    expression), loop (rounds of SQL), bitmap and runs (columns of numbers in memory), reference
    (rule by rule, slowly). Each step of a rule is a line.

    Figures with `about` are estimates. With --analyze everything is computed and the other figures
    are counts: of the rows after each step, over all rounds; results are not kept.

    Examples:
      constat explain-plan "is_vip(?c)"
      constat explain-plan "controls(C001, ?b)" --no-magic
      constat explain-plan "is_vip(?c)" --analyze
      constat explain-plan examples/reach/reach.dl -F examples/reach/facts
      constat explain-plan examples/reach/reach.dl -F examples/reach/facts --analyze --strategy loop
      constat explain-plan "is_vip(?c)" --format json
      constat explain-plan "is_vip(?c)" --format dot

    Exit codes: 0 the plan is shown, 2 bad usage, configuration or rules, 78 a construct that is
    not supported.
    """
    wanted = _Wanted(**given)  # type: ignore[arg-type]  # click gives the options declared above
    question = wanted.question
    if subject.endswith(".dl"):
        found = _program(wanted.program(subject), question, analyze=analyze, as_json=form == "json")
        if isinstance(found, int):
            return found
    else:
        with Session(project) as session, asked(session, goal=subject), watching() as observe:
            found = session.explain_plan(subject, question, analyze=analyze, observe=observe)
    _write(found, subject, form)
    return 0


def _program(
    file: ProgramFile, question: PlanQuestion, *, analyze: bool, as_json: bool
) -> ExplainedPlan | int:
    texts: dict[str, str] = {}
    try:
        if not analyze:
            return explain_program(file, question, texts)
        with watching() as observe:
            return analyze_program(file, question, texts, observe)
    except ConstatError as problem:
        show_error(problem, texts, as_json=as_json)
        return problem.exit_code


def _write(found: ExplainedPlan, subject: str, form: str) -> None:
    if form == "json":
        write_json(plan_json(found, subject))
    elif form == "dot":
        use_utf8()
        write("\n".join(dot_lines(found)))
    else:
        write("\n".join(plan_lines(found)))
