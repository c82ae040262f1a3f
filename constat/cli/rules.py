"""`constat rules`: list, check, format, import and test rules; review and approve drafts."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.confirmation import Once, accept_option
from constat.cli.groups import LazyGroup, PlainCommand, format_option
from constat.cli.options import STDIN, asked, files_given, project_option
from constat.cli.output import (
    bold,
    note,
    read_file,
    show_error,
    write,
    write_diagnostics,
    write_file,
    write_json,
    write_pieces,
)
from constat.cli.tables import Table
from constat.diagnostics import ConstatError, Diagnostic, Severity, counted, render, to_json
from constat.library import check_rules, rule_files
from constat.library.cases import to_junit, to_sarif
from constat.library.listing import Rewritten, declared_near, list_rules, read_listing, rewrite
from constat.library.pydatalog_rules import WRITTEN, import_rules
from constat.library.sql_rules import import_sql, stored_tables
from constat.project import find_project, load_project
from constat.session import Session
from constat.session.cases import run_cases
from constat.session.catalog import dialect_of
from constat.session.diagnosis import with_sources
from constat.store.drafts import mentioned
from constat.syntax.argument_styles import ArgumentStyle
from constat.syntax.loading import MAX_FILE
from constat.tiers.declarations import check_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.library import Checked
    from constat.library.cases import CasesRun
    from constat.library.listing import ListedPredicate, ListedRule, Listing
    from constat.library.pydatalog_rules import Imported
    from constat.project import Project
    from constat.proof.signing import SigningKey
    from constat.proof.translation import Translation
    from constat.session.reviewing import Decided, Item
    from constat.store.drafts import Draft

_RULES: Final = ("RULE", "HEAD", "OWNER", "CONFIDENCE", "STATE", "PLACE", "SAYS")
_PREDICATES: Final = ("PREDICATE", "FROM", "RULES", "FACTS", "OWNER", "PLACE")
_DRAFTS: Final = ("DRAFT", "MODEL", "DRAFTED", "ASKED")
_NUMBERS: Final = frozenset({"CONFIDENCE", "RULES", "FACTS"})


@click.command(name="list", cls=PlainCommand)
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("--predicate", default="", metavar="NAME", help="Only what derives this predicate.")
@click.option("--owner", default="", metavar="NAME", help="Only what this owner answers for.")
@click.option("--proposed", is_flag=True, help="Only rules of models that nobody has approved yet.")
@format_option
@project_option
def list_command(
    paths: tuple[str, ...],
    *,
    predicate: str,
    owner: str,
    proposed: bool,
    form: str,
    project: str | None,
) -> int:
    """List the rules and predicates of rule files and folders; of the project without PATH.

    `-` is stdin. A rule is listed with its id, head, sentence, owner, confidence, state
    (`approved`, `proposed` by a model, or `written` by a person and approved by nobody), and its
    place; a predicate with its columns, where its rows come from and how many rules and facts give
    it. Facts of the text are counted with their predicate. Drafts that wait in the quarantine are
    listed below.

    Examples:
      constat rules list
      constat rules list rules/customer-value --predicate is_vip
      constat rules list --proposed --format json

    Exit codes: 0 listed, 2 bad usage, configuration or rules.
    """
    with files_given(paths) as files:
        listing, drafts = _listing(files, project)
    listing = listing.only(predicate=predicate, owner=owner, proposed=proposed)
    # A draft is listed for what it speaks about; it has no owner yet.
    waiting = [
        one for one in drafts if not owner and (predicate or "") in {"", *mentioned(one.text)}
    ]
    if form == "json":
        write_json({**_json(listing), "drafts": [_draft_json(one) for one in waiting]})
    else:
        write_pieces(f"{line}\n" for line in _lines(listing))
        write_pieces(f"{line}\n" for line in _draft_lines(waiting))
    return 0


def _listing(paths: Sequence[Path], project: str | None) -> tuple[Listing, tuple[Draft, ...]]:
    if not paths:
        with Session(project) as session, asked(session):
            listing = list_rules(session.program)
            found: list[Diagnostic] = []
            check_sources(session.project, session.program.program.predicates.values(), found)
            if found:
                warned = [replace(one, severity=Severity.WARNING) for one in found]
                note(render(warned, session.texts, colour=False).rstrip("\n"))
            return listing, session.drafts.list("proposed")
    texts: dict[str, str] = {}
    try:
        return read_listing(paths, texts), ()
    except ConstatError as problem:
        as_json = bool(click.get_current_context().find_root().obj)
        show_error(problem, texts, as_json=as_json)
        raise click.exceptions.Exit(problem.exit_code) from None


def _json(listing: Listing) -> dict[str, object]:
    predicates = []
    for one in listing.predicates:
        written = asdict(one)
        written["columns"] = [
            {"name": name, "type": type_name, "kind": kind} for name, type_name, kind in one.columns
        ]
        predicates.append(written)
    return {"rules": [asdict(rule) for rule in listing.rules], "predicates": predicates}


def _draft_json(draft: Draft) -> dict[str, object]:
    return {
        "identity": draft.short,
        "purpose": draft.purpose,
        "goal": draft.goal,
        "model": draft.model,
        "asked_by": draft.asked_by,
        "at": draft.at,
        "text": draft.text,
    }


def _draft_lines(drafts: Sequence[Draft]) -> Iterator[str]:
    if drafts:
        yield ""
        yield from _table(_DRAFTS, [_draft_cells(one) for one in drafts])
        yield "drafts count nowhere by themselves: `constat rules review` shows them"


def _draft_cells(draft: Draft) -> tuple[str, ...]:
    return (draft.short, draft.model, draft.at[:19], " ".join(draft.purpose.split()))


def _lines(listing: Listing) -> Iterator[str]:
    yield from _table(_RULES, [_rule_cells(rule) for rule in listing.rules])
    yield ""
    yield from _table(_PREDICATES, [_predicate_cells(one) for one in listing.predicates])


def _rule_cells(rule: ListedRule) -> tuple[str, ...]:
    place = f"{rule.file}:{rule.line}"
    return (rule.id, rule.head, rule.owner, rule.confidence, rule.status, place, rule.says)


def _predicate_cells(one: ListedPredicate) -> tuple[str, ...]:
    columns = ", ".join(
        f"{name}: {type_name}" if type_name == kind else f"{name}: {type_name} ({kind})"
        for name, type_name, kind in one.columns
    )
    place = f"{one.file}:{one.line}"
    origin = one.source or ("the project" if one.external else "rules")
    return (f"{one.name}({columns})", origin, str(one.rules), str(one.facts), one.owner, place)


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        yield f"no {titles[0].lower()}s"
        return
    # What goes to a file or to another program is never cut.
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    table = Table(titles, [title in _NUMBERS for title in titles], most)
    table.fit(rows)
    yield bold(table.heading())
    yield from map(table.line, rows)
    if table.cut:
        yield f"cut to fit: {', '.join(table.cut)}; `--format json` shows all"


@click.command(name="check", cls=PlainCommand)
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option(
    "--portable", is_flag=True, help="Also say what stock Souffle 2.5 would make of the rules."
)
@format_option
@project_option
def check_command(paths: tuple[str, ...], *, portable: bool, form: str, project: str | None) -> int:
    """Check rule files, and folders of them, as one program; those of the project without PATH.

    `-` is stdin. The cases of libraries are left out: `constat rules test` runs them. What the
    files of a project name as sources has to be there: names without asking, tables and columns
    where the data is in files; `constat doctor` asks servers as well. With --portable every
    construct is named that stock Souffle 2.5 would not load, or would answer differently, with what
    to write instead; these are warnings, and they make the exit code 1. So does a sentence of
    `@[says]` that leaves out a column, or a value that its rule compares.

    Examples:
      constat rules check
      constat rules check rules/customer-value
      constat rules check rules/customer-value examples/vip --format json
      constat rules check --portable rules/customer-value  # exits with 1

    Exit codes: 0 no errors, 1 a sentence leaves out a value, or not portable (with --portable),
    2 errors, 78 all errors are constructs refused on purpose.
    """
    with files_given(paths) as files:
        # What a text of stdin includes is looked for in this folder.
        beside = [Path.cwd()] if STDIN in paths else []
        checked = _checked(files, beside, project, portable=portable)
    if form == "json":
        write_json(_check_json(checked))
    else:
        every = (*checked.diagnostics, *checked.incomplete, *(checked.portability or ()))
        write_diagnostics(every, checked.texts)
        if not checked.errors:
            write(_summary(checked))
            for name, columns in checked.unused:
                write(f"no rule uses {', '.join(columns)} of `{name}`")
    return checked.exit_code


def _checked(
    paths: Sequence[Path], beside: Sequence[Path], project: str | None, *, portable: bool
) -> Checked:
    if not paths:
        own = _project(project)
        checked = check_rules(own.rules, own.rule_roots, portable=portable, project=own)
        return with_sources(checked, own, whole=True)
    checked = check_rules(paths, beside, portable=portable)
    try:
        around = _project(project)
    except ConstatError:
        # Files are checked with no project around them, too.
        return checked
    theirs = {one.resolve() for one in around.rules}
    if not all(one.resolve() in theirs for one in checked.files):
        return checked
    return with_sources(checked, around, whole=False)


def _check_json(checked: Checked) -> dict[str, object]:
    told: dict[str, object] = {
        "files": len(checked.files),
        "predicates": checked.predicates,
        "rules": checked.rules,
        "errors": len(checked.errors),
        "exit_code": checked.exit_code,
        "diagnostics": to_json(checked.diagnostics),
        "incomplete": to_json(checked.incomplete),
        "unused": [{"predicate": name, "columns": list(names)} for name, names in checked.unused],
    }
    if checked.portability is not None:
        told["portable"] = not checked.portability
        told["portability"] = to_json(checked.portability)
    return told


def _summary(checked: Checked) -> str:
    files = counted(len(checked.files), "file")
    declared = f"{counted(checked.predicates, 'predicate')}, {counted(checked.rules, 'rule')}"
    summary = f"{files}, {declared}: no errors"
    if checked.incomplete:
        left_out = counted(len(checked.incomplete), "sentence")
        summary += (
            f"; {left_out} {'leaves' if len(checked.incomplete) == 1 else 'leave'} out values"
        )
    if checked.portability is None:
        return summary
    found = counted(len(checked.portability), "construct")
    return f"{summary}; " + (f"{found} not portable" if checked.portability else "portable")


_STDIN_NAME: Final = "<stdin>"
_WORDS: Final = ("error", "changed", "unchanged")


@click.command(name="fmt", cls=PlainCommand)
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
@click.option(
    "--positional", is_flag=True, help="Write no names of columns, as stock Souffle wants it."
)
@format_option
@project_option
def fmt_command(
    paths: tuple[str, ...],
    *,
    check: bool,
    diff: bool,
    positional: bool,
    form: str,
    project: str | None,
) -> int:
    """Write rule files, and folders of them, in the canonical layout; `-` is stdin to stdout.

    Without PATH those that lie in the project, with their cases.

    Comments stay where they are, and what the rules say never changes. A rule that fits into 100
    columns stands on one line, another one has one literal per line; of blank lines in a row one
    stays; each attribute of an item has its line. Line ends and permissions of a file are kept. A
    file with errors is not touched.

    Atoms of predicates with more than five columns are written with the names of their columns,
    `orders(order_id = ?o, amount = ?a)`, without those that hold `_`; facts stay as they are, and
    with --positional no atom has names. Declarations are looked up in the file, in those named with
    it and in those beside them.

    Examples:
      constat rules fmt rules
      constat rules fmt --check rules examples
      constat rules fmt --diff rules/customer-value/vip.dl
      constat rules fmt --check rules --format json
      constat rules fmt --positional --diff rules

    Exit codes: 0 done, 1 a file would change (with --check), 2 a file has errors or is not there.
    """
    style = ArgumentStyle.POSITIONAL if positional else ArgumentStyle.WIDE_NAMED
    if STDIN in paths:
        return _filter(paths, style, check=check, diff=diff, form=form)
    files = _files_to_lay_out([Path(path) for path in paths], project)
    known = declared_near(files)
    rewritten = [
        rewrite(read_file(str(path), MAX_FILE), _shown(path), known=known, style=style)
        for path in files
    ]
    for path, one in zip(files, rewritten, strict=True):
        if not check and not diff and one.changed and one.after is not None:
            write_file(str(path), one.after)
    code = _exit_code(rewritten, check=check)
    if form == "json":
        write_json(_fmt_json(rewritten, code, diff=diff))
    else:
        _tell(rewritten, diff=diff, check=check)
    return code


def _project(project: str | None) -> Project:
    return load_project(find_project(None if project is None else Path(project)))


def _files_to_lay_out(named: list[Path], project: str | None) -> tuple[Path, ...]:
    found: list[Diagnostic] = []
    files = rule_files(named or _own_places(_project(project)), found, with_cases=True)
    if found:
        raise ConstatError(found)
    return files


def _own_places(project: Project) -> list[Path]:
    """Name the folders and files of rules that lie in the project, and not in a library."""
    folders = list(project.rule_folders)
    files = [one for one in project.rules if one.parent not in folders]
    return [one for one in (*folders, *files) if one.is_relative_to(project.folder)]


def _filter(
    paths: Sequence[str], style: ArgumentStyle, *, check: bool, diff: bool, form: str
) -> int:
    """Lay out stdin; what has errors is not printed, so that no editor replaces a text by nothing.

    With JSON the text itself is not printed either.
    """
    if len(paths) > 1:
        raise click.UsageError("`-` stands for stdin and stands alone")
    one = rewrite(read_file(STDIN, MAX_FILE), _STDIN_NAME, style=style)
    code = _exit_code([one], check=check)
    if form == "json":
        write_json(_fmt_json([one], code, diff=diff))
    elif diff or check or one.after is None:
        _tell([one], diff=diff, check=check)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(one.after)
        sys.stdout.buffer.flush()
    return code


def _exit_code(rewritten: Sequence[Rewritten], *, check: bool) -> int:
    if any(one.after is None for one in rewritten):
        return 2
    return int(check and any(one.changed for one in rewritten))


def _tell(rewritten: Sequence[Rewritten], *, diff: bool, check: bool) -> None:
    kept = check or diff
    for one in rewritten:
        if one.after is None:
            show_error(ConstatError(one.diagnostics), one.texts)
        elif diff and one.changed:
            write(_diff(one).rstrip("\n"))
        elif one.changed:
            write(f"{'would change' if kept else 'changed'} {one.name}")
    counts = {word: sum(one.status == word for one in rewritten) for word in _WORDS}
    told = [f"{counts['changed']} would change" if kept else f"{counts['changed']} changed"]
    told.append(f"{counts['unchanged']} unchanged")
    told += [f"{counts['error']} with errors"] if counts["error"] else []
    if not diff:
        write(", ".join(told))


def _fmt_json(rewritten: Sequence[Rewritten], code: int, *, diff: bool) -> dict[str, object]:
    return {
        "exit_code": code,
        "files": [
            {
                "file": one.name,
                "status": one.status,
                "diff": _diff(one) if diff else "",
                "diagnostics": to_json(one.diagnostics),
            }
            for one in rewritten
        ],
    }


def _diff(one: Rewritten) -> str:
    if one.after is None or not one.changed:
        return ""
    before, after = (
        text.decode(errors="replace").replace("\r\n", "\n").splitlines(keepends=True)
        for text in (one.before, one.after)
    )
    lines = difflib.unified_diff(before, after, one.name, f"{one.name} (laid out)")
    # A file whose last line has no end would run into the next line of the difference.
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _shown(path: Path) -> str:
    """The path as people would write it here."""
    near = os.path.relpath(path)
    return near if not near.startswith("..") else str(path)


@click.command(name="import", cls=PlainCommand)
@click.argument("file", metavar="FILE")
@click.option("--output", "-o", metavar="FILE.dl", help="Write the rules there, not to stdout.")
@format_option
@project_option
def import_command(file: str, *, output: str | None, form: str, project: str | None) -> int:
    """Read a file of SQL, or in pyDatalog's syntax, and write rules that say the same.

    The file is parsed and never run. What has no counterpart is an error that names it; what means
    something slightly different is a warning. Of `FILE.sql` views and queries become rules over the
    tables that the project declares, but for those with an error; of pyDatalog's file nothing is
    written then. Types of its rules, which it does not declare, are found from the constants. `-`
    is stdin, in pyDatalog's syntax.

    Examples:
      constat rules import report.sql --output rules/report.dl
      constat rules import examples/pydatalog/family.py
      constat rules import examples/pydatalog/family.py --output family.dl
      constat rules import examples/pydatalog/family.py --format json

    Exit codes: 0 done, 2 a statement of the file, or a rule that it makes, has an error: what has
    none is written then, but for pyDatalog's file.
    """
    text = _text(file)
    imported = (
        _from_sql(text, file, project)
        if file.lower().endswith(".sql")
        else import_rules(text, file)
    )
    if output is not None and imported.text:
        write_file(output, imported.text.encode())
    code = 2 if imported.errors else 0
    if form == "json":
        write_json(_import_json(imported, code))
        return code
    write_diagnostics(imported.diagnostics, {file: text, WRITTEN: imported.text})
    if imported.text and output is None:
        write(imported.text.rstrip("\n"))
    elif imported.text:
        written = f"{counted(imported.predicates, 'predicate')}, {counted(imported.rules, 'rule')}"
        write(f"{written} written to {output}")
    return code


def _from_sql(text: str, file: str, project: str | None) -> Imported:
    with Session(project) as session, asked(session):
        names = session.project.databases
        dialects = {name: dialect_of(session.project, name) for name in names}
        predicates = list(session.program.program.predicates.values())
    return import_sql(text, file, stored_tables(predicates, dialects), [*dialects.values(), ""][0])


def _text(file: str) -> str:
    content = read_file(file, MAX_FILE)
    try:
        return content.decode()
    except UnicodeDecodeError:
        message = f"`{file}` is not UTF-8"
        raise ConstatError([Diagnostic("C0460", message)]) from None


def _import_json(imported: Imported, code: int) -> dict[str, object]:
    return {
        "exit_code": code,
        "predicates": imported.predicates,
        "rules": imported.rules,
        "text": imported.text,
        "diagnostics": to_json(imported.diagnostics),
    }


@click.command(name="test", cls=PlainCommand)
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("-k", "only", default="", metavar="NAME", help="Only cases with NAME in their name.")
@click.option("--coverage", is_flag=True, help="Also say which rules and literals no case tries.")
@click.option("--junit", metavar="FILE", help="Also write the result as JUnit XML.")
@click.option("--sarif", metavar="FILE", help="Also write an audit of the proofs, SARIF 2.1.0.")
@format_option
@project_option
def test_command(  # noqa: PLR0913  each form has an option
    paths: tuple[str, ...],
    *,
    only: str,
    coverage: bool,
    junit: str | None,
    sarif: str | None,
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
    `.pragma "open" "tier"`, or has read from their source with `.pragma "source" "orders"`: so a
    case says what a source must fulfil. Each certificate is checked by the independent checker.

    Examples:
      constat rules test
      constat rules test rules/customer-value --coverage
      constat rules test rules -k vip --junit cases.xml
      constat rules test rules/customer-value --format json
      constat rules test rules/customer-value --sarif audit.sarif

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
    if sarif is not None:
        write_file(sarif, (json.dumps(to_sarif(run), indent=2) + "\n").encode("ascii"))
    return run.exit_code


def _complain(run: CasesRun) -> None:
    for case in run.cases:
        if case.diagnostics:
            show_error(ConstatError(case.diagnostics), case.texts)


@click.command(name="approve", cls=PlainCommand)
@click.argument("rule_id", metavar="ID")
@click.option("--by", default="", metavar="NAME", help="Who approves; with --key its owner.")
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@click.option("--key", metavar="FILE", help="Sign the approval with this private key.")
@click.option(
    "--into",
    default="",
    metavar="FOLDER",
    help="The folder of rules, or the rule file, it goes to.",
)
@click.option("--id", "name", default="", metavar="NAME", help="The id that its rule gets.")
@accept_option
@format_option
@project_option
def approve_command(  # noqa: PLR0913  each part of an approval has an option
    rule_id: str,
    *,
    by: str,
    reason: str,
    key: str | None,
    into: str,
    name: str,
    accept_goal: str,
    form: str,
    project: str | None,
) -> int:
    """Approve the draft ID, or the rule ID of a rule file, whoever wrote it.

    The rules of a draft are written into a rule file of the project: where they replace or add to
    rules, into the file of those; else into a new file beside the rules that they speak about, or
    where --into says. The approval is a record in `approvals.jsonl` beside that file, bound to what
    the rule says: whoever edits the rule loses it. Where the project trusts keys as approver, the
    record has to be signed with --key; where its `review:` asks for several approvers, the rules
    are let in with the last one.

    Whether the goal of a draft is what its question asks is another matter. It is asked once, when
    the draft is in, and kept as a word of its own; --accept-goal gives it without being asked.

    Examples:
      constat rules approve DRAFT1 --by alice --reason "as customer care asked"
      constat rules approve DRAFT1 --by alice --reason "as agreed" --format json

    Exit codes: 0 approved, 4 another approver is needed, 2 bad usage, configuration or rules, or
    this person may not approve it.
    """
    owner = approving_key(key)
    with Session(project) as session, asked(session):
        if accept_goal:
            session.translation_of_draft(rule_id, accept_goal=accept_goal)
        decided = session.reviews.approve(
            rule_id, by=by, reason=reason, key=owner, into=into, rule_id=name
        )
        translation = None
        if (decided.kind, decided.status) == ("draft", "approved"):
            translation = session.translation_of_draft(rule_id)
        who = by or ("" if owner is None else owner.name)
        confirm = Once(session, who, accepted=bool(accept_goal))
        show_decided(decided, form, translation, confirm)
    return 0 if decided.status == "approved" else 4


def approving_key(path: str | None) -> SigningKey | None:
    """Read the private key that signs an approval, where one is given."""
    if path is None:
        return None
    # Only who signs needs what reads keys.
    from constat.cli.signing import private_key  # noqa: PLC0415  loaded when it is used

    found: SigningKey = private_key(path)
    return found


def show_decided(
    decided: Decided,
    form: str,
    translation: Translation | None = None,
    confirm: Once | None = None,
) -> None:
    """Say what a decision came to; then the question is confirmed, if there is one."""
    if form == "json":
        if translation is not None and confirm is not None:
            translation = confirm(translation, asks=False)
        told = {} if translation is None else {"translation": translation.as_json()}
        write_json(
            {
                **told,
                "id": decided.identity,
                "kind": decided.kind,
                "status": decided.status,
                "rules": list(decided.rules),
                "file": decided.file,
                "signed": decided.signed,
                "approvals": decided.have,
                "needed": decided.needed,
            }
        )
        return
    where = f" in {decided.file}" if decided.file else ""
    rules = f": {', '.join(decided.rules)}{where}" if decided.rules else ""
    write(f"{decided.status}: {decided.kind} {decided.identity}{rules}")
    if decided.status == "proposed":
        note(f"{decided.have} of {decided.needed} approvals are there: another person has to agree")
    elif decided.status == "approved" and not decided.signed:
        note("the approval is not signed: nothing but its record says who gave it")
    if translation is not None and confirm is not None:
        confirm(translation, asks=True)


@click.command(name="reject", cls=PlainCommand)
@click.argument("rule_id", metavar="ID")
@click.option("--by", required=True, metavar="NAME", help="Who rejects it.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; later drafts are told.")
@format_option
@project_option
def reject_command(rule_id: str, *, by: str, reason: str, form: str, project: str | None) -> int:
    """Reject the draft ID, or the rule ID that a model wrote into a file.

    The draft stays in the quarantine with the reason, and a model that drafts about the same
    predicates is told of it. A rule of a file loses its approval, if it has one: from then on what
    follows from it is proved UNDER the assumption that it is right, until somebody deletes it.

    Examples:
      constat rules reject DRAFT1 --by bob --reason "one order is not enough to say so"
      constat rules reject DRAFT1 --by bob --reason "too few orders" --format json

    Exit codes: 0 rejected, 2 bad usage, configuration or rules, or there is no such draft.
    """
    with Session(project) as session, asked(session):
        decided = session.reviews.reject(rule_id, by=by, reason=reason)
    show_decided(decided, form)
    if decided.kind == "rule":
        note(f"the rule still stands in {decided.file}, as a proposed one; delete it there")
    return 0


_STATUSES: Final = ("proposed", "approved", "rejected", "superseded", "all")
_LONGEST: Final = 72


@click.command(name="review", cls=PlainCommand)
@click.argument("rule_id", required=False, metavar="[ID]")
@click.option(
    "--status",
    type=click.Choice(_STATUSES),
    default=_STATUSES[0],
    show_default=True,
    help="Without ID: which drafts and rules are listed.",
)
@click.option(
    "--budget",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="With ID: how long effects are looked for.",
)
@format_option
@project_option
def review_command(
    rule_id: str | None, *, status: str, budget: float, form: str, project: str | None
) -> int:
    """Show the draft ID, or the rule ID that a model wrote into a file, as it would be approved.

    That is: the question behind it; the difference to the rule file that it goes into; what
    becomes of the cases of that library, and of its own; which rows of which predicates would be
    others with the present data; and what else a reviewer should know, such as sentences that
    leave out a value. Nothing is changed. An ID of a draft is the beginning of its identity.

    Without ID all drafts of the quarantine that wait for a decision are listed, and the rules of
    models in rule files that nobody has approved.

    Examples:
      constat rules review
      constat rules review DRAFT1
      constat rules review DRAFT1 --format json
      constat rules review --status all --format json

    Exit codes: 0 shown, 2 bad usage, configuration or rules, or there is no such draft.
    """
    with Session(project) as session, asked(session):
        if rule_id is None:
            items = session.reviews.items(None if status == _STATUSES[-1] else status)
            _show(items, form)
            return 0
        review = session.reviews.review(rule_id, seconds=budget)
    if form == "json":
        write_json({"reviews": [review.to_json()]})
    else:
        write_pieces(f"{line}\n" for line in review.to_lines())
    return 0


def _show(items: tuple[Item, ...], form: str) -> None:
    if form == "json":
        write_json({"reviews": [one.to_json() for one in items]})
    elif not items:
        note("nothing waits for a decision")
    else:
        write_pieces(f"{line}\n" for one in items for line in _review_lines(one))


def _review_lines(item: Item) -> Iterator[str]:
    words = f", {len(item.approvals)} of {item.needed} approvals" if item.needed > 1 else ""
    by = f" by {item.model}" if item.model else ""
    yield f"{item.identity}  {item.status}{words}: {item.kind}{by}"
    if item.purpose:
        line = " ".join(item.purpose.split())
        yield f"  {line if len(line) <= _LONGEST else f'{line[:_LONGEST]}...'}"
    if item.reason:
        yield f"  reason: {' '.join(item.reason.split())}"


_COMMANDS: Final = (
    ("add", "Copy a library of others into the project, and lock it.", "packages.add_command"),
    ("approve", "Let a draft in, or a rule that a model wrote.", approve_command),
    ("check", "Check rule files, and whether stock Souffle could read them.", check_command),
    ("diff", "Tell what another version of a library would change.", "packages.diff_command"),
    ("fmt", "Write rule files in the canonical layout.", fmt_command),
    ("import", "Read SQL, or pyDatalog's rules.", import_command),
    ("list", "List rules and predicates.", list_command),
    (
        "lock",
        "Fetch and lock the libraries of others.",
        "packages.lock_command",
    ),
    ("publish", "Write a library as a wheel.", "packages.publish_command"),
    ("reject", "Refuse a draft, or take back an approval.", reject_command),
    ("remove", "Take a library of others out of the project.", "packages.remove_command"),
    ("review", "Show drafts, and what they would change.", review_command),
    ("test", "Run the cases of rule libraries.", test_command),
)


@click.group(name="rules", cls=LazyGroup, listed=_COMMANDS)
def command() -> None:
    """Check, lay out, import, list and test rule files; decide about drafts."""
