"""`constat run PROGRAM`: a whole program over fact files, as `souffle -F DIR -D DIR program.dl`."""

from __future__ import annotations

import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from constat.cli.groups import PlainCommand, format_option, profile_option
from constat.cli.options import STDIN, files_given
from constat.cli.output import note, show_error, use_utf8, write_json, write_pieces
from constat.cli.progress import watching
from constat.diagnostics import ConstatError, render, to_json
from constat.diagnostics.interruption import check_interrupted
from constat.evaluation import Resources
from constat.plan.forward import Strategy
from constat.project.settings import CHECKS, OFF, SparkSetting
from constat.session.run_relations import ENGINES
from constat.session.running import RunOptions, RunSummary, run_program
from constat.syntax import Mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from click import Context, Parameter

# Decimal units are powers of 1,000, binary ones of 1,024, as in DuckDB's settings.

_WRITTEN: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([kmgt]i?b)\Z", re.IGNORECASE)
_UNITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)},
        **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)},
    }
)
_LEAST: Final = 64 * 1000**2


class MemorySize(click.ParamType[int]):
    """The type of an option that bounds memory; gives bytes."""

    name = "size"

    def convert(self, value: str | int, param: Parameter | None, ctx: Context | None) -> int:
        """Read a size; a mistake is said with an example."""
        if isinstance(value, int):
            return value
        found = _WRITTEN.match(value.strip())
        if found is None:
            self.fail(f"`{value[:20]}` is no size; write `500MB` or `2GB`", param, ctx)
        size = round(float(found[1]) * _UNITS[found[2].lower()])
        if size < _LEAST:
            self.fail("less than 64MB is not enough to start with", param, ctx)
        return size


# Everything is computed before the first result is written; so an error leaves the old results as
# they were. It is the only command that reads Souffle's own style, and needs no project.

_STDOUT: Final = "-"
_FOREVER: Final = 1e9


@click.command(name="run", cls=PlainCommand)
@click.argument("program")
@click.option(
    "--facts", "-F", metavar="DIR", default=".", help="Read fact files here; default: here."
)
@click.option("--output", "-D", metavar="DIR", default=".", help="Write results here; - is stdout.")
@click.option("--include", "-I", metavar="DIR", multiple=True, help="Include files from here.")
@click.option(
    "--mode",
    type=click.Choice([one.value for one in Mode]),
    help="How to read the program; by default its pragma `constat` decides.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="What computes: in bulk, row by row (auto: where little is to do), or on a Spark server.",
)
@click.option(
    "--remote",
    metavar="ADDRESS",
    envvar="SPARK_REMOTE",
    help="The Spark Connect server of --engine spark, like sc://localhost:15002.",
)
@click.option(
    "--scratch",
    metavar="FOLDER",
    default="",
    help="Where Spark keeps what it computes; default: a temporary folder, if it runs here.",
)
@click.option(
    "--parquet",
    metavar="FOLDER",
    default="",
    help="Let Spark write each .output there as Parquet; its rows do not come here.",
)
@click.option(
    "--word-size",
    type=click.Choice(("32", "64")),
    default="32",
    show_default=True,
    help="Bits of an integer in souffle mode.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), help="Stop after so many seconds."
)
@click.option("--threads", type=click.IntRange(1, 1024), help="Cores to use; default: all.")
@click.option("--memory", type=MemorySize(), help="Bytes to use at most, like 2GB.")
@click.option(
    "--strategy",
    type=click.Choice([one.value for one in Strategy]),
    help="Compute so wherever it is right; `constat explain-plan` shows the choice.",
)
@click.option(
    "--check",
    type=click.Choice(CHECKS),
    default=OFF,
    show_default=True,
    help="Count what was computed in bulk again from the rules, by another way: before anything is "
    "written (always), or once it is written (background).",
)
@profile_option
@click.option("--no-warn", "-w", "silent", is_flag=True, help="Do not print warnings.")
@format_option
def command(program: str, *, silent: bool, form: str, profile: str | None, **given: object) -> int:
    """Run PROGRAM, or stdin for -: read its .input files, compute, write its .output files.

    A relation NAME is read from NAME.facts and written to NAME.csv, one row on a line and a tab
    between columns. `.input` and `.output` can say otherwise: filename, delimiter, columns,
    headers, rfc4180 (CSV), compress (NAME.csv.gz), IO=stdin, IO=stdout. Files lie in the folders
    given, links followed. `.printsize NAME` prints how many rows there are.

    A program with `.pragma "constat"` is read in strict mode, any other in souffle mode: names
    without `?` are variables, integers wrap at 32 bits (--word-size 64: at 64), and what strict
    mode would refuse is a warning. What Souffle has and Constat has not is named, with exit code
    78. Rules that are assumptions elsewhere count as certain.

    A division by zero or another failing function ends the run where a result depends on it;
    nothing is written then.

    Examples:
      constat run examples/reach/reach.dl --facts examples/reach/facts --output examples/reach
      constat run examples/reach/reach.dl -F examples/reach/facts -D-
      constat run examples/reach/reach.dl -F examples/reach/facts -D- --mode souffle -w
      constat run examples/reach/reach.dl -F examples/reach/facts -D- --engine reference
      constat run examples/reach/reach.dl -F examples/reach/facts -D- --threads 1 --memory 500MB
      constat run examples/reach/reach.dl -F examples/reach/facts -D- --format json
      constat run examples/reach/reach.dl -F examples/reach/facts --profile reach.svg

    Exit codes: 0 all results are written, 2 a mistake in program, facts or usage, 7 --check found
    a difference, 70 internal error, 78 a construct that is not supported, 130 interrupted.
    """
    as_json = form == "json"
    printed, texts = list[str](), dict[str, str]()
    use_utf8()
    summary: RunSummary | ConstatError
    _prepare(program, given)
    try:
        if profile is not None:
            with files_given([program]) as (file,):
                _profile(file, profile, texts, _profiled(given), as_json=as_json)
            return 0
        with watching() as observe, files_given([program]) as (file,):
            show = printed.extend if as_json else write_pieces
            summary = run_program(file, _options(**given), show, texts=texts, observe=observe)  # type: ignore[arg-type]  # the options declared above
    except ConstatError as problem:
        summary = problem
    if isinstance(summary, ConstatError):
        # What a signal has stopped is no mistake of the program's.
        check_interrupted()
        show_error(summary, texts, as_json=as_json)
        return summary.exit_code
    _show(summary, printed if as_json else None, texts, silent=silent)
    return 0


def _show(
    summary: RunSummary, printed: list[str] | None, texts: Mapping[str, str], *, silent: bool
) -> None:
    """Tell what was done: as an object with what was printed, or in remarks."""
    if printed is not None:
        write_json(_json(summary, printed))
        return
    if summary.warnings and not silent:
        note(render(summary.warnings, texts, colour=False).rstrip("\n"))
    _note_checks(summary)


_BESIDE_PROFILE: Final = (
    "facts",
    "include",
    "mode",
    "word_size",
    "timeout",
    "threads",
    "memory",
    "strategy",
    "silent",
    "form",
)


def _profiled(given: Mapping[str, object]) -> RunOptions:
    options = _options(**given)  # type: ignore[arg-type]  # the options declared above
    if options.engine not in ENGINES[:2]:
        raise click.UsageError(f"--engine {options.engine} has no --profile")
    return options


def _profile(
    program: Path, file: str, texts: dict[str, str], options: RunOptions, *, as_json: bool
) -> None:
    from constat.cli.explain_plan import give_profile, require_profiled  # noqa: PLC0415  loaded when it is used
    from constat.session.plan_explaining import PlanQuestion, ProgramFile, analyze_program  # noqa: PLC0415  loaded when it is used

    require_profiled(_BESIDE_PROFILE)
    bounds = options.resources
    question = PlanQuestion(
        options.strategy, seconds=bounds.seconds, memory=bounds.memory, threads=bounds.threads
    )
    source = ProgramFile(program, options.facts, options.mode, options.word_size, options.include)
    with watching() as observe:
        found = analyze_program(source, question, texts, observe)
    give_profile(found, str(program), file, as_json=as_json)


def _prepare(program: str, given: dict[str, Any]) -> None:
    if program == STDIN:
        # What it includes is looked for in this folder.
        given["include"] = (*given["include"], ".")
    if given["parquet"] and given["check"] != OFF:
        raise click.UsageError(
            "--check counts rows that come here, and --parquet leaves them there"
        )


def _note_checks(summary: RunSummary) -> None:
    for name, found in summary.checks:
        told = "counted again from the rules, it is the same" if found.passed else found.why
        note(f"{name}: {told if found.passed else f'not checked: {told}'}")


def _options(  # noqa: PLR0913  one argument for each option
    *,
    facts: str,
    output: str,
    include: tuple[str, ...],
    mode: str | None,
    engine: str,
    remote: str | None,
    scratch: str,
    parquet: str,
    word_size: str,
    timeout: float | None,
    threads: int | None,
    memory: int | None,
    strategy: str | None,
    check: str,
) -> RunOptions:
    seconds = _FOREVER if timeout is None else timeout
    return RunOptions(
        Path(facts),
        None if output == _STDOUT else Path(output),
        None if mode is None else Mode(mode),
        engine,
        int(word_size),
        tuple(map(Path, include)),
        Resources(seconds=seconds, memory=memory or 0, threads=threads or 0),
        None if strategy is None else Strategy(strategy),
        check,
        _spark(engine, remote, scratch, parquet),
    )


def _spark(engine: str, remote: str | None, scratch: str, parquet: str) -> SparkSetting | None:
    if engine != "spark":
        if parquet:
            raise click.UsageError("--parquet is for --engine spark; --output names files here")
        return None
    if not remote:
        raise click.UsageError("--engine spark needs --remote ADDRESS, like sc://localhost:15002")
    return SparkSetting(remote, scratch, results=parquet)


def _json(summary: RunSummary, printed: Iterable[str]) -> dict[str, object]:
    return {
        "exit_code": 0,
        "mode": summary.mode,
        "word_size": summary.word_size,
        "engine": summary.engine,
        "read": [{"relation": name, "file": file} for name, file in summary.read],
        "results": [
            {
                "relation": one.relation,
                "rows": one.rows,
                "kind": one.kind,
                "file": one.file or None,
            }
            for one in summary.written
        ],
        "printed": "".join(printed),
        "checks": [
            {"relation": name, "state": found.state.value, "why": found.why}
            for name, found in summary.checks
        ],
        "seconds": round(summary.seconds, 3),
        "warnings": to_json(summary.warnings),
    }
