"""`constat init` and `constat doctor`: begin a project, and look at everything that it needs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import project_option
from constat.cli.output import GREEN, RED, YELLOW, write, write_heading, write_json
from constat.diagnostics import counted
from constat.session.diagnosis import ERROR, WARNING, diagnose
from constat.session.starting import EXAMPLES, FIRST_GOALS, start, start_api, start_example

if TYPE_CHECKING:
    from constat.session.starting import Started, StartedApi


_NO_DATABASE: Final = "name a DATABASE: an address, a file or a folder; without one: --example vip"


@click.command(name="init", cls=PlainCommand)
@click.argument("path", metavar="[DATABASE]", default="")
@click.option(
    *("--directory", "--project", "directory"),
    metavar="DIR",
    default=".",
    help="The project's folder; made if new.",
)
@click.option("--name", default="", help="The project's name; by default that of its folder.")
@click.option(
    "--tables", metavar="A,B,...", help="Draft these tables, or views, rather than all tables."
)
@click.option("--manifest", metavar="FILE", default="", help="What dbt says of the tables.")
@click.option("--api", is_flag=True, help="DATABASE is an API, or the file of its description.")
@click.option("--graphql", is_flag=True, help="DATABASE is the address of an API of GraphQL.")
@click.option("--example", metavar="NAME", help=f"Begin with made-up data: {', '.join(EXAMPLES)}.")
@format_option
def init_command(  # noqa: PLR0913  its options
    path: str,
    *,
    directory: str,
    name: str,
    tables: str | None,
    manifest: str,
    api: bool,
    graphql: bool,
    example: str | None,
    form: str,
) -> None:
    """Begin a project with DATABASE: an address, a file, or a folder of files.

    Files such as orders.csv have to lie inside the project; a database may lie anywhere.

    Writes constat.yaml; rules/sources.dl with a .decl and an .input for each table (30 at most; the
    most related ones come first); rules/first.dl with first rules, one of which counts; a case that
    tries them and a plan that uses them. Then it proves a first goal, and says how. A password in
    the address is not written: a variable of the environment, or of a file .env in the project,
    takes its place. No file is overwritten. With --api it begins with the operations of an API that
    only read, a .decl for each list in their answers; nothing but its description is asked for.
    With --example no database is needed: an example is copied, with its rules. With --manifest the
    descriptions of models come from a manifest of dbt, and keys and foreign keys from its tests.

    Examples:
      constat init --example vip --directory my-first
      constat init examples/vip/data/shop.sqlite --directory shop
      constat init examples/deliveries/tracking.yaml --api --directory tracking
      constat init sqlite:///examples/vip/data/shop.sqlite --directory shop2 --format json

    Exit codes: 0 begun, 2 bad usage, a project or file is there already, or no database is read.
    """
    if example is not None:
        alone = not (path or tables or name or api or graphql or manifest)
        _begin_example(example, directory, form, alone=alone)
        return
    if not path:
        raise click.UsageError(_NO_DATABASE)
    chosen = [part.strip() for part in (tables or "").split(",") if part.strip()]
    there, here = Path(directory), Path.cwd()
    if api or graphql:
        if manifest:
            raise click.UsageError("--manifest is about the tables of a database")
        begun = start_api(path, there, here, graphql=graphql, name=name, operations=chosen)
        _begin_api(begun, directory, form)
        return
    _show(start(path, there, here, name=name, tables=chosen, manifest=manifest), directory, form)


def _begin_example(example: str, directory: str, form: str, *, alone: bool) -> None:
    if not alone:
        raise click.UsageError("--example takes no DATABASE, and no other options but --directory")
    files = start_example(example, Path(directory))
    goal = FIRST_GOALS[example]
    if form == "json":
        write_json({"folder": directory, "files": list(files), "example": example, "goal": goal})
        return
    write(f"written: {counted(len(files), 'file')} of the example {example}")
    _write_next(goal, directory, cases=any("cases" in one for one in files))


def _begin_api(found: StartedApi, directory: str, form: str) -> None:
    if form == "json":
        write_json(
            {
                "folder": str(found.folder),
                "files": list(found.files),
                "database": found.api,
                "tables": list(found.operations),
                "left_out": found.left_out,
                "predicates": list(found.predicates),
                "goal": "",
                "verdict": "",
                "variables": list(found.variables),
                "hints": [],
            }
        )
        return
    for name in found.files:
        write(f"written: {Path(directory) / name}")
    text = f"{found.api}: {counted(len(found.operations), 'operation')}"
    if found.left_out:
        text += _left_out(found.left_out)
    write(text)
    for one in found.predicates:
        write(f"drafted: {one}")
    for variable in found.variables:
        write(f"the key is in no file: write `{variable}=...` into {Path(directory) / '.env'}")
    place = "" if Path(directory) == Path() else f" --project {directory}"
    write(f"next: constat catalog list{place}")
    write(f"      constat doctor{place}")


def _left_out(number: int) -> str:
    return f"; {number:,} more {'is' if number == 1 else 'are'} left to `constat catalog draft`"


def _write_next(goal: str, directory: str, *, cases: bool, look: bool = False) -> None:
    place = "" if Path(directory) == Path() else f" --project {directory}"
    # A text in the goal has quotes of its own, which a shell would take.
    quoted = f'"{goal}"' if not set(goal) & _SPECIAL else shlex.quote(goal)
    write(f"next: constat prove {quoted}{place}")
    if cases:
        write(f"      constat rules test{place}")
    if look:
        write(f"      constat check-data{place}")
    write("      constat help language")


def _show(found: Started, directory: str, form: str) -> None:
    if form == "json":
        write_json(_json(found))
    else:
        _write(found, directory)


def _write(found: Started, directory: str) -> None:
    for name in found.files:
        write(f"written: {Path(directory) / name}")
    text = f"{found.database}: {counted(len(found.tables), 'table')}"
    if found.left_out:
        text += _left_out(found.left_out)
    write(text)
    for variable in found.variables:
        write(
            f"the password is in no file: write `{variable}=...` into {Path(directory) / '.env'},"
            " which git ignores, or export it"
        )
    write(f"{found.result.verdict.label}: {found.goal}")
    for one in found.hints:
        write(f"note: {one}")
    _write_next(found.goal, directory, cases=True, look=bool(found.hints))


def _json(found: Started) -> dict[str, object]:
    return {
        "folder": str(found.folder),
        "files": list(found.files),
        "database": found.database,
        "tables": list(found.tables),
        "left_out": found.left_out,
        "predicates": list(found.predicates),
        "goal": found.goal,
        "verdict": found.result.verdict.value,
        "variables": list(found.variables),
        "hints": list(found.hints),
    }


_SPECIAL: Final = frozenset('"`$\\!')


@click.command(name="doctor", cls=PlainCommand)
@format_option
@project_option
def doctor_command(*, form: str, project: str | None) -> int:
    """Look at configuration, rules, databases, queries, state, keys, models and the sandbox.

    Each error and warning comes with an edit or a command that mends it. Nothing is changed and
    no model is asked; of each query the first rows are read, and of keys and passwords only
    whether they are set is told.

    Examples:
      constat doctor
      constat doctor --format json

    Exit codes: 0 no errors, 2 errors.
    """
    found = diagnose(None if project is None else Path(project))
    errors = sum(one.state == ERROR for one in found)
    warnings = sum(one.state == WARNING for one in found)
    if form == "json":
        write_json(
            {
                "findings": [one.as_json() for one in found],
                "errors": errors,
                "warnings": warnings,
            }
        )
        return 2 if errors else 0
    for one in found:
        write(one.as_text())
    text = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    write_heading(text, RED if errors else YELLOW if warnings else GREEN)
    return 2 if errors else 0
