"""`constat rules test [PATH...]`: the cases of rule libraries, decided and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import show_error, write, write_json
from constat.diagnostics import ConstatError
from constat.library.cases import to_junit
from constat.session.cases import run_cases

if TYPE_CHECKING:
    from constat.library.cases import CasesRun


@click.command(name="test", cls=PlainCommand)
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("-k", "only", default="", metavar="NAME", help="Only cases with NAME in their name.")
@click.option("--coverage", is_flag=True, help="Also say which rules and literals no case tries.")
@click.option("--junit", metavar="FILE", help="Also write the result as JUnit XML.")
@format_option
@project_option
def command(
    paths: tuple[str, ...],
    *,
    only: str,
    coverage: bool,
    junit: str | None,
    form: str,
    project: str | None,
) -> int:
    """Run the cases of libraries, of folders that hold some, or case files.

    Without PATH those of the project and its libraries run. A case is a file `cases/NAME.dl` of a
    library: facts, and what should follow from them with the library's rules:

      @[expect(proved = "is_vip(C001)", disproved = "is_vip(C002)", by = "VIP1")] .output is_vip

    The parts are proved, disproved, unresolved, proved_under and disproved_under with goals
    separated by semicolons; `by` names the rule of the last step, `uses` rules and predicates of
    the proof. What a case does not state is not so, but for predicates that it leaves open with
    `.pragma "open" "tier"`. Each verdict's certificate is checked by the independent checker.

    Examples:
      constat rules test
      constat rules test rules/customer-value --coverage
      constat rules test rules -k vip --junit cases.xml
      constat rules test rules/customer-value --format json

    Exit codes: 0 all is as expected, 1 an expectation failed, 2 a case is broken, or there is none.
    """
    run = run_cases(paths, only=only, project=project)
    if form == "json":
        write_json(run.to_json(coverage=coverage))
    else:
        _complain(run)
        write(run.to_text(coverage=coverage))
    if junit is not None:
        write_file(junit, to_junit(run).encode("utf-8", "replace"))
    return run.exit_code


def _complain(run: CasesRun) -> None:
    for case in run.cases:
        if case.diagnostics:
            show_error(ConstatError(case.diagnostics), case.texts)
