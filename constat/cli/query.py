"""`constat query GOAL`: all answers, in many formats."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from constat.cli.groups import PlainCommand, profile_option
from constat.cli.options import (
    RulesThatCount,
    answering,
    draft_options,
    note_unmet,
    note_warned,
    project_option,
    refuse_with_another,
)
from constat.cli.output import (
    bold,
    joined,
    note,
    replacing,
    use_utf8,
    write,
    write_bytes,
    write_json,
    write_pieces,
)
from constat.cli.progress import watching
from constat.cli.results import calls_text, print_result, result_json
from constat.cli.row_formats import (
    Shown,
    bulk_csv_pieces,
    bulk_json_line_pieces,
    csv_pieces,
    json_line_pieces,
    json_pieces,
    stored_rows,
    value_json,
    write_arrow,
    write_parquet,
)
from constat.cli.tables import Cells, Table, ground_text, summary
from constat.diagnostics import ConstatError, Diagnostic, counted, nearest
from constat.evaluation import Verdict
from constat.frozen import frozen
from constat.logic import display_value
from constat.project.settings import CHECKS
from constat.proof import tree_to_json
from constat.session import Session
from constat.session.answers import Computed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.session import AnswerColumn, Answers, Rows, SecondRows

# No row is shown with a verdict, because nothing is proved.

_FORMATS: Final = ("table", "csv", "json")
_NO_ANSWER: Final = 4


def give_second_rows(session: Session, goal: str, *, form: str) -> int:
    """Ask pyDatalog and print what it says; give the exit code."""
    if form not in _FORMATS:
        raise click.UsageError(f"--format {form} cannot be used with --engine pydatalog")
    with watching() as observe:
        found = session.second_rows(goal, observe=observe)
    code = _NO_ANSWER if found.stopped else 0
    if form == "json":
        write_json(_as_json(found, code))
        return code
    if form == "csv":
        use_utf8()
        write_pieces(_csv(found))
    elif found.columns and found.rows:
        write_pieces(_table(found))
    told = f"no answer: {found.stopped}" if found.stopped else counted(len(found.rows), "row")
    (write if form == "table" else note)(f"{told} by pyDatalog, without proofs")
    return code


def _cells(found: SecondRows) -> Iterator[list[str]]:
    kinds = [column.kind for column in found.columns]
    for row in found.rows:
        yield [display_value(value, kind) for value, kind in zip(row, kinds, strict=True)]


def _table(found: SecondRows) -> Iterator[str]:
    names = [column.name for column in found.columns]
    table = Table(names, [column.kind.numeric for column in found.columns], None)
    table.fit(_cells(found))
    yield table.heading() + "\n"
    for row in _cells(found):
        yield table.line(row) + "\n"
    yield "\n"


def _csv(found: SecondRows) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([column.name for column in found.columns])
    writer.writerows(_cells(found))
    yield text.getvalue()


def _as_json(found: SecondRows, code: int) -> dict[str, object]:
    return {
        "query": found.query,
        "engine": "pydatalog",
        "exit_code": code,
        "reason": found.stopped,
        "columns": [{"name": one.name, "kind": one.kind.value} for one in found.columns],
        "rows": [
            {
                column.name: value_json(value, column.kind)
                for value, column in zip(row, found.columns, strict=True)
            }
            for row in found.rows
        ],
    }


# The row is proved anew, from the sources, so that nothing needs to be remembered of the millions
# of others.

_EXPLAIN_FORMATS: Final = ("table", "json")
# The row is only as certain as the least certain of its atoms.
_WORST_FIRST: Final = (
    Verdict.DISPROVED,
    Verdict.DISPROVED_UNDER,
    Verdict.UNRESOLVED,
    Verdict.PROVED_UNDER,
    Verdict.PROVED,
)


def explain_row(session: Session, goal: str, row: str, *, form: str) -> int:
    """Prove a row and print the proofs; give the exit code."""
    if form not in _EXPLAIN_FORMATS:
        raise click.UsageError(f"--format {form} cannot be used with --explain-row")
    with watching() as observe:
        results = session.prove_row(goal, row, observe=observe)
    verdict = min((one.verdict for one in results), key=_WORST_FIRST.index)
    if form == "json":
        proofs = [result_json(one, json.loads(tree_to_json(one.tree))) for one in results]
        told = {"query": goal, "row": row, "verdict": verdict.value, "proofs": proofs}
        models = session.model_usage
        write_json({**told, "exit_code": verdict.exit_code, "models": models})
    else:
        for one in results:
            print_result(one)
    return verdict.exit_code


# The evaluation ends before the first row is written; so the exit code is known by then, and a
# reader that stops early (`| head`) changes nothing.

_QUERY_FORMATS: Final = ("table", "csv", "json", "jsonl", "parquet", "arrow")
_VERDICTS: Final = (
    ("proved", Verdict.PROVED),
    ("under", Verdict.PROVED_UNDER),
    ("computed", Computed.CERTAIN),
    ("under", Computed.UNDER),
    ("unresolved", Verdict.UNRESOLVED),
)
_NEEDING_VERDICTS: Final = (
    "output",
    "order",
    "limit",
    "columns",
    "verdicts",
    "confidence",
    "spreadsheet",
    "trace_calls",
    "explained",
    "materialized",
    "check",
    "bulk",
)
_BINARY: Final = MappingProxyType({"parquet": write_parquet, "arrow": write_arrow})
_ENGINES: Final = ("auto", "reference", "forward", "spark", "postgres", "pydatalog")


class Checking(click.ParamType["int | str"]):
    """How rows of bulk are checked: a word, or how many are proved one by one."""

    name = "check"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Read what was typed."""
        text = str(value)
        if text in CHECKS:
            return text
        if text.isascii() and text.isdigit():
            return int(text)
        return self.fail(f"{text!r} is neither {', '.join(CHECKS)} nor a number", param, ctx)


@frozen
class _Wanted:
    """What is asked, by which rules, and what to write of the answers."""

    form: str
    output: str | None
    order: str
    limit: int | None
    columns: str
    verdicts: tuple[str, ...]
    confidence: bool
    spreadsheet: bool
    explained: str | None
    check: int | str | None
    bulk: str | None
    materialized: bool
    trace_calls: bool
    anew: bool
    profile: str | None
    counting: RulesThatCount


@click.command(name="query", cls=PlainCommand)
@click.argument("goal")
@click.option(
    "--format",
    "form",
    type=click.Choice(_QUERY_FORMATS),
    default="table",
    show_default=True,
    help="How to print the rows.",
)
@click.option("--output", "-o", metavar="FILE", help="Write the rows to FILE, whole or not at all.")
@click.option("--order", default="", metavar="COLUMN[:desc],...", help="Sort the rows.")
@click.option("--limit", type=click.IntRange(min=0), help="Write so many rows at most.")
@click.option("--columns", default="", metavar="COLUMN,...", help="Write these columns only.")
@click.option(
    "--verdict",
    "verdicts",
    multiple=True,
    type=click.Choice(list(dict.fromkeys(name for name, _ in _VERDICTS))),
    help="Write only rows with this verdict; may be given twice.",
)
@click.option("--confidence", is_flag=True, help="Find the confidence of each proved row.")
@click.option(
    "--spreadsheet",
    is_flag=True,
    help="CSV: make texts that are formulas, and control characters, harmless.",
)
@click.option("--trace-calls", is_flag=True, help="Print what was asked outside, on stderr.")
@click.option("--no-cache", "anew", is_flag=True, help="Ask all sources anew, and keep that.")
@click.option("--materialized", is_flag=True, help="Look in what `materialize` kept.")
@click.option(
    "--explain-row",
    "explained",
    metavar="VALUES",
    help="Prove one row of the answers, given as in a goal: C001, 150; by a proof of least height.",
)
@click.option(
    "--check",
    type=Checking(),
    metavar="background|always|off|N",
    help="Check rows of bulk as a whole: rows wait two seconds for it and are shown then "
    "(background, unless the project says otherwise), always, or never; or prove N of them one by "
    "one, and have their certificates checked.",
)
@click.option(
    "--bulk",
    metavar="FOLDER",
    help="Write answers, rules and all rows of the inputs there, for `constat verify --bulk`.",
)
@click.option(
    "--engine",
    type=click.Choice(_ENGINES),
    default=_ENGINES[0],
    show_default=True,
    help="Who answers: reference goes goal by goal, forward computes whole relations, spark "
    "does so on the server that the project names, postgres in the database that has the "
    "relations, auto chooses between the first two by how much "
    "there is to read; pydatalog is a second opinion without verdicts.",
)
@profile_option
@draft_options
@project_option
def command(goal: str, *, engine: str, project: str | None, **given: object) -> int:
    """Find all answers of GOAL: the values of its variables for which it holds.

    GOAL is an atom, or several of them with commas between: `!` denies an atom, and comparisons
    (< <= > >= = !=) choose among values. Variables begin with `?`; a variable may stand twice;
    `_` and columns left out stand for any value. Functions and aggregates are as in the body of a
    rule (`constat help goals`); for `;` write a rule and ask for its head.

    Each row is PROVED, PROVED_UNDER assumptions, or UNRESOLVED (possible, and not decided); what is
    disproved is not listed. Rows that were computed in bulk are PROVED where they were checked as a
    whole: all that follows is counted again from the rules, by another way, and compared. A table
    waits two seconds for that, then its rows are shown, and the last lines say what came of it; if
    something differs none of the rows counts, and the exit code is 7. Every other format waits for
    the check, and Ctrl-C ends it. Else rows are
    COMPUTED or COMPUTED_UNDER: nothing has checked them, and below them stands why. --check N
    proves N of the rows, spread over those that are written: these are PROVED then, and that says
    nothing of any other. A row that does not prove is reported as a difference and not shown.
    `constat prove` shows why for any row; for an UNRESOLVED one, which it asks about by itself, it
    may know more. Rows are in the order of their values; numbers are ordered as numbers, texts by
    code points.

    Formats: JSON writes integers beyond 2^53 - 1 and all decimals as texts (`constat schema
    query`); jsonl is the rows of it, one on a line; csv is RFC 4180 in UTF-8 with values as they
    are; parquet and arrow (the IPC stream) have exact types; parquet needs --output, arrow that or
    a pipe. A record or branch is a text in each of them, as rules write it: `[1, "a"]`. Except with
    table and json, what is known of the answers as a whole is written to stderr.

    Examples:
      constat query "is_vip(?c)" --limit 5
      constat query "customer_revenue(?c, ?total), ?total >= 150000" --order total:desc
      constat query "is_vip(?c), !controls(_, ?c)" --format csv --output vips.csv
      constat query "controls(?x, ?x)" --format json
      constat query "may_leave(?c)" --confidence                  # exits with 3
      constat query "is_strategic(?c)"                            # exits with 4
      constat query "owns(?a, ?b, ?share)" --format parquet --output owns.parquet
      constat query "controls(C001, ?b)" --engine pydatalog --format json
      constat query "customer_revenue(?c, ?r)" --engine forward --format csv
      constat query "customer_revenue(?c, ?r)" --engine forward --limit 5 --check 3
      constat query "is_vip(?c)" --explain-row C001
      constat query "is_vip(?c)" --bulk today
      constat query "is_vip(?c)" --profile vips.svg
      constat query "may_leave(?c)" --require-approved            # exits with 4

    Exit codes: 0 the answers are settled, 3 settled under assumptions, 4 there may be other
    answers or some are not decided, 7 a check found a difference, 2 bad usage, configuration or
    rules. With --engine pydatalog: 0 rows without proofs, 4 no answer, 78 a construct it lacks.
    --explain-row: those of `prove`. --profile: 0 the profile is shown.
    """
    # click gives the options declared above.
    return _run(goal, engine, project, _Wanted(**given))  # type: ignore[arg-type]


_BESIDE_PROFILE: Final = ("form", "engine", "anew", "require_approved", "drafts", "project")


def _refuse_with_profile(form: str, engine: str) -> None:
    from constat.cli.explain_plan import require_profiled  # noqa: PLC0415  loaded when it is used

    require_profiled(_BESIDE_PROFILE)
    if form not in _EXPLAIN_FORMATS:
        raise click.UsageError(f"--format {form} cannot be used with --profile")
    if engine not in {"auto", "forward"}:
        raise click.UsageError(f"--engine {engine} has no --profile")


def _profile(session: Session, goal: str, file: str, *, form: str) -> int:
    from constat.cli.explain_plan import give_profile  # noqa: PLC0415  loaded when it is used
    from constat.session.plan_explaining import PlanQuestion  # noqa: PLC0415  loaded when it is used

    with watching() as observe:
        found = session.explain_plan(goal, PlanQuestion(), analyze=True, observe=observe)
    give_profile(found, goal, file, as_json=form == "json")
    return 0


def _run(goal: str, engine: str, project: str | None, wanted: _Wanted) -> int:
    if wanted.profile is not None:
        _refuse_with_profile(wanted.form, engine)
    _require_sense(wanted, engine)
    own = Session(project, cache=not wanted.anew)
    with answering(own, wanted.counting, goal) as session:
        if wanted.profile is not None:
            return _profile(session, goal, wanted.profile, form=wanted.form)
        if engine == _ENGINES[-1]:
            return give_second_rows(session, goal, form=wanted.form)
        if wanted.explained is not None:
            return explain_row(session, goal, wanted.explained, form=wanted.form)
        answers = _answers(session, goal, wanted, engine)
        answers = _give(answers, wanted, session.model_usage)
        if wanted.trace_calls:
            note(calls_text(answers.calls))
        if not answers.rows:
            with suppress(ConstatError):
                note_unmet(session, goal)
        note_warned(session)
    return answers.exit_code


def _give(answers: Answers, wanted: _Wanted, models: dict[str, object] | None) -> Answers:
    """Write the answers; those of a table before their check has ended, if it takes long."""
    first = wanted.form == "table" and not (wanted.output or wanted.verdicts)
    first = first and bool(answers.columns)
    goes_on = answers.checking is not None
    if goes_on and first:
        before, _ = _shown(answers, wanted)
        write_pieces(_rows_of_table(before, terminal=sys.stdout.isatty()))
        answers = _waited(answers, "the rows above are", counted(len(answers), "row"))
    elif goes_on:
        answers = _waited(answers, "nothing is written; it is")
    shown, left_out = _shown(answers, wanted)
    shown.models = models
    if goes_on and first:
        shown.given_before = True
        write_pieces(f"{line}\n" for line in summary(shown, left_out))
    else:
        _write(shown, left_out, wanted)
    return answers


def _shown(answers: Answers, wanted: _Wanted) -> tuple[Shown, int]:
    rows, left_out, unplaced = _chosen(answers, wanted)
    columns = _columns(answers, wanted)
    shown = Shown(answers, rows, columns, confidence=wanted.confidence)
    shown.unplaced = unplaced
    return shown, left_out


def _waited(answers: Answers, what: str, rows: str = "") -> Answers:
    """Wait for the check that goes on; Ctrl-C ends it, and the answers stay as they are."""
    try:
        if rows:
            note(f"{rows} computed; the check goes on")
        with watching():
            return answers.checked()
    except KeyboardInterrupt as problem:
        if answers.checking is not None:
            answers.checking.stop()
        problem.add_note(f"{what} computed, not checked")
        raise


def _answers(session: Session, goal: str, wanted: _Wanted, engine: str) -> Answers:
    if wanted.materialized:
        return session.materialized.query(goal)

    def among(answers: Answers) -> Rows:
        return _ordered(answers, answers.rows, wanted)[: wanted.limit]

    with watching() as observe:
        if wanted.bulk is not None:
            check = None if isinstance(wanted.check, int) else wanted.check
            return session.query_into(Path(wanted.bulk), goal, check=check, observe=observe)
        return session.query(
            goal,
            confidence=wanted.confidence,
            engine=engine,
            check=wanted.check,
            among=among,
            observe=observe,
        )


def _require_sense(wanted: _Wanted, engine: str) -> None:
    if engine == _ENGINES[-1]:
        refuse_with_another(engine, *_NEEDING_VERDICTS)
    found = []
    counts = isinstance(wanted.check, int)
    if wanted.confidence and engine in _ENGINES[2:4]:
        message = f"`--engine {engine}` keeps no proofs, from which confidences are found"
        found.append(Diagnostic("C0432", message, help="leave `--engine` out"))
    proving = wanted.confidence or wanted.explained is not None or wanted.check is not None
    if wanted.materialized and proving:
        message = "`--materialized` gives kept rows, without confidences and proofs"
        found.append(Diagnostic("C0432", message, help="leave `--materialized` out"))
    if wanted.bulk is not None and (wanted.materialized or wanted.confidence or counts):
        message = "`--bulk` writes answers that are computed and checked as a whole"
        told = "leave `--materialized`, `--confidence` and numbers for `--check` out"
        found.append(Diagnostic("C0432", message, help=told))
    terminal = wanted.form == "arrow" and sys.stdout.isatty()
    if not wanted.output and (wanted.form == "parquet" or terminal):
        message = f"{wanted.form.capitalize()} is not text"
        found.append(Diagnostic("C0432", message, help="add `--output FILE`"))
    if wanted.spreadsheet and wanted.form != "csv":
        found.append(Diagnostic("C0432", "`--spreadsheet` is about CSV", help="add `--format csv`"))
    if found:
        raise ConstatError(found)


def _chosen(answers: Answers, wanted: _Wanted) -> tuple[Rows, int, int]:
    """Give the rows to write, in order, and how many of the others the limit leaves out.

    The last number is how many of those may belong to the rows that are written: what the rows are
    sorted by is not known of them.
    """
    rows = answers.rows
    if wanted.verdicts:
        rows = rows.only(verdict for name, verdict in _VERDICTS if name in wanted.verdicts)
    rows = _ordered(answers, rows, wanted)
    if wanted.limit is None or len(rows) <= wanted.limit:
        return rows, 0, 0
    rest, unplaced = rows[wanted.limit :], 0
    if wanted.order:
        first = wanted.order.split(",")[0].partition(":")[0].strip()
        unplaced = rest.unknown(_column(answers, first).name)
    return rows[: wanted.limit], len(rest), unplaced


def _ordered(answers: Answers, rows: Rows, wanted: _Wanted) -> Rows:
    for part in reversed([one.strip() for one in wanted.order.split(",") if one.strip()]):
        name, _, way = part.partition(":")
        if way not in {"", "asc", "desc"}:
            message = f"`{way}` is no way to sort"
            raise ConstatError([Diagnostic("C0431", message, help=f"write `{name}:desc`")])
        rows = rows.ordered(_column(answers, name).name, descending=way == "desc")
    return rows


def _columns(answers: Answers, wanted: _Wanted) -> tuple[AnswerColumn, ...]:
    names = [one.strip() for one in wanted.columns.split(",") if one.strip()]
    return tuple(_column(answers, name) for name in dict.fromkeys(names)) or answers.columns


def _column(answers: Answers, name: str) -> AnswerColumn:
    bare = name.removeprefix("?")
    known = {column.name: column for column in answers.columns}
    if bare not in known:
        near = nearest(bare, list(known))
        listed = ", ".join(known) or "none"
        raise ConstatError(
            [
                Diagnostic(
                    "C0431",
                    f"the answers have no column `{bare}`",
                    note=f"their columns are the variables of the goal: {listed}",
                    help=f"write `{near}`" if near else "name a variable of the goal",
                )
            ]
        )
    return known[bare]


def _write(shown: Shown, left_out: int, wanted: _Wanted) -> None:
    if wanted.form in _BINARY and wanted.output:
        with replacing(wanted.output, last=True) as stream:
            _BINARY[wanted.form](shown, stream)
    elif wanted.form == "arrow":
        write_bytes(partial(write_arrow, shown))
    elif wanted.output:
        with replacing(wanted.output, last=True) as stream:
            for chunk in joined(_pieces(shown, left_out, wanted)):
                stream.write(chunk.encode())
    else:
        if wanted.form != "table":
            use_utf8()
        write_pieces(_pieces(shown, left_out, wanted))
    if wanted.output or wanted.form not in {"table", "json"}:
        for line in summary(shown, left_out):
            note(line)
    if wanted.output:
        note(f"{counted(len(shown.rows), 'row')} written to {wanted.output}")


def _pieces(shown: Shown, left_out: int, wanted: _Wanted) -> Iterator[str]:
    stored = stored_rows(shown)
    match wanted.form:
        case "csv" if stored is not None and not wanted.spreadsheet:
            return bulk_csv_pieces(shown, stored)
        case "csv":
            return csv_pieces(shown, spreadsheet=wanted.spreadsheet)
        case "json":
            return json_pieces(shown, left_out)
        case "jsonl" if stored is not None:
            return bulk_json_line_pieces(shown, stored)
        case "jsonl":
            return json_line_pieces(shown)
        case _:
            return _query_table(
                shown, left_out, terminal=wanted.output is None and sys.stdout.isatty()
            )


def _query_table(shown: Shown, left_out: int, *, terminal: bool) -> Iterator[str]:
    if not shown.answers.columns:
        yield ground_text(shown.answers) + "\n"
    yield from _rows_of_table(shown, terminal=terminal)
    for line in summary(shown, left_out):
        yield line + "\n"


def _rows_of_table(shown: Shown, *, terminal: bool) -> Iterator[str]:
    if not shown.answers.columns or not len(shown.rows):
        return
    cells = Cells(shown)
    most = shutil.get_terminal_size().columns if terminal else None
    table = Table(cells.names, cells.numbers, most)
    table.fit(cells)
    yield (bold(table.heading()) if terminal else table.heading()) + "\n"
    for row in cells:
        yield table.line(row) + "\n"
    if table.cut:
        yield f"cut to fit: {', '.join(table.cut)}; `--format csv` shows all\n"
    yield "\n"
