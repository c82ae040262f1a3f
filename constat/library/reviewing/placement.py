"""Where an approved draft goes, its cases tried before, and the files as written."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.frozen import frozen
from constat.library.approvals import (
    APPROVED,
    FILE_NAME,
    MOST_BYTES,
    Approval,
    hashes_of,
    read_approvals,
)
from constat.library.cases.cases import Library as CaseLibrary
from constat.library.cases.running import run_library
from constat.library.loading import CASES, SUFFIX
from constat.logic import Program
from constat.project.reading import suggestion
from constat.store.drafts import mentioned
from constat.store.replacing import Scratch, replaced
from constat.store.state_file import alone
from constat.syntax import parse_text, print_program
from constat.syntax.parser import parse_file
from constat.syntax.printing import PRELUDE_NAME
from constat.syntax.surface import RuleText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.library.approvals import Hashes
    from constat.library.cases.results import CaseResult
    from constat.library.cases.running import Checker
    from constat.library.reviewing.drafts import DraftedRules
    from constat.logic import Rule
    from constat.project import Project
    from constat.store.drafts import Draft
    from constat.syntax.surface import SurfaceItem


def joined_text(before: str, body: str) -> str:
    """Give a text with rules at its end."""
    return _with_ends_of(before, f"{_plain(before).rstrip()}\n\n{body.strip()}\n")


def replaced_text(
    before: str, source: str, replaced: Sequence[Rule], everything: Sequence[Rule], body: str
) -> str:
    """Give a text in which rules have taken the place of others; `source` is the text's name.

    Raises `ConstatError` where a replaced rule is only a part of what its statement says.
    """
    gone = {rule.id for rule in replaced}
    spans = {rule.span for rule in replaced}
    partly = [rule.id for rule in everything if rule.span in spans and rule.id not in gone]
    if partly:
        message = f"the statement of a replaced rule also gives `{partly[0]}`"
        raise _uneditable(message, f"have `{partly[0]}` replaced as well")
    lines = _plain(before).split("\n")
    items = parse_file(_plain(before), source, []).items
    stretches = [_lines_of(one, lines) for one in items if one.span in spans]
    if len(stretches) != len(spans):
        raise _uneditable("a replaced rule does not stand in the file any more")
    taken = [set(range(first, last + 1)) for first, last in stretches]
    for item in items:
        if item.span is not None and item.span not in spans:
            own = set(range(item.span.line, item.span.end_line + 1))
            if any(own & one for one in taken):
                raise _uneditable(
                    "a replaced rule shares its line with another statement",
                    "write each on lines of its own: `constat rules fmt`",
                )
    place = min(first for first, _ in stretches)
    every = set().union(*taken)
    written: list[str] = []
    for number, line in enumerate(lines, start=1):
        if number == place:
            written += body.strip().split("\n")
        if number not in every:
            written.append(line)
    return _with_ends_of(before, "\n".join(written))


def _lines_of(item: SurfaceItem, lines: Sequence[str]) -> tuple[int, int]:
    """Give the first and last line of a rule with what stands before it."""
    if not isinstance(item, RuleText):
        raise TypeError(item)
    first = min([item.span.line, *(one.span.line for one in item.notes.attributes)])
    while first > 1 and lines[first - 2].lstrip().startswith("///"):
        first -= 1
    return first, item.span.end_line


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _with_ends_of(before: str, text: str) -> str:
    most = 2 * before.count("\r\n") > before.count("\n")
    return text.replace("\n", "\r\n") if most else text


def _uneditable(message: str, hint: str = "") -> ConstatError:
    return ConstatError([Diagnostic("C0884", message, help=hint)])


_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}\.dl\Z")
_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,79}\Z")
_MOST_BYTES: Final = 4 << 20


@frozen
class Library:
    """The program as it was read: its files by the names that spans use."""

    project: Project
    program: AnalysedProgram
    places: Mapping[str, Path]


@frozen
class Placement:
    """A rule file before (`None` where it is new) and after, and the program with it.

    `hashes` are those of the rules that come in, by their ids: what an approval is bound to.
    """

    file: Path
    before: str | None
    after: str
    program: AnalysedProgram
    hashes: Mapping[str, Hashes]

    @property
    def folder(self) -> Path:
        """The folder, where the records of approvals lie too."""
        return self.file.parent


def place_draft(
    library: Library, drafted: DraftedRules, *, into: str = "", named: str = ""
) -> Placement:
    """Say where a draft goes, and what the file says then. Raises `ConstatError`.

    `into` is the name of a folder of rules, or a rule file; `named` is the id of its rule, or what
    the ids of its rules begin with.
    """
    rules = _renamed(drafted, named, library.program)
    fresh = _fresh(drafted, rules, library.program)
    text = print_program(fresh)
    _require_same(text, fresh)
    file = _target(library, drafted, into)
    before = _content(file)
    after = text if before is None else _edited(library, drafted, file, before, text)
    approved = _approved(library.program, drafted, fresh)
    return Placement(file, before, after, approved, _hashes(approved, rules))


def _edited(library: Library, drafted: DraftedRules, file: Path, before: str, text: str) -> str:
    """Give the text of a file that was there; the heading of a file of its own is left out."""
    heading, body = text.split("\n\n", 1)
    if PRELUDE_NAME in heading and PRELUDE_NAME not in before:
        body = f'.include "{PRELUDE_NAME}"\n\n{body}'
    rules = library.program.rules
    replaced = [rule for rule in rules if rule.id in drafted.draft.replaces]
    if not replaced:
        return joined_text(before, body)
    source = next(name for name, path in library.places.items() if path == file)
    return replaced_text(before, source, replaced, rules, body)


def _renamed(drafted: DraftedRules, named: str, program: AnalysedProgram) -> tuple[Rule, ...]:
    """Give the rules the ids that they will keep; a rule may have that of one it replaces."""
    rules = drafted.rules
    if named and not _ID.match(named):
        message = f"`{named[:80]}` is no id of a rule" if named.isprintable() else "this is no id"
        raise _misplaced(message, "write letters, digits, `_` and `-`, such as `--id VIP3`")
    ids = [rule.id for rule in rules]
    if named:
        ids = [named] if len(ids) == 1 else [f"{named}-{n}" for n in range(1, len(ids) + 1)]
    taken = {rule.id for rule in program.rules} & set(ids) - set(drafted.draft.replaces)
    if taken:
        hint = "name another `--id`" if named else f"decide about `{min(taken)}` by its id"
        raise _misplaced(f"the rule `{min(taken)}` is there already", hint)
    return tuple(replace(rule, id=one) for rule, one in zip(rules, ids, strict=True))


def _fresh(drafted: DraftedRules, rules: tuple[Rule, ...], program: AnalysedProgram) -> Program:
    """Give what the draft adds as a program of its own."""
    known = program.program
    return Program(
        {name: one for name, one in drafted.predicates.items() if name not in known.predicates},
        rules,
        {name: one for name, one in drafted.types.items() if name not in known.types},
    )


def _require_same(text: str, fresh: Program) -> None:
    """Raise unless the text that is written says what was reviewed."""
    found: list[Diagnostic] = []
    again = parse_text(text, "<approved>", found)
    errors = [one for one in found if one.severity is Severity.ERROR]
    before = [(rule.id, rule.head, rule.body) for rule in fresh.rules]
    if errors or [(rule.id, rule.head, rule.body) for rule in again.rules] != before:
        reason = errors[0].message if errors else "it would read differently"
        raise _misplaced(f"the draft cannot be written as a rule file: {reason}")


def _approved(program: AnalysedProgram, drafted: DraftedRules, fresh: Program) -> AnalysedProgram:
    """Give the program as it is read once the rules are in the file and approved."""
    base = program.program
    kept = [rule for rule in base.rules if rule.id not in drafted.draft.replaces]
    joined = replace(
        base,
        predicates={**base.predicates, **fresh.predicates},
        types={**base.types, **fresh.types},
        rules=(*kept, *(replace(rule, proposed=False) for rule in fresh.rules)),
    )
    found: list[Diagnostic] = []
    analysed = analyse(joined, found)
    if analysed is None:
        raise ConstatError([one for one in found if one.severity is Severity.ERROR])
    return analysed


def _hashes(program: AnalysedProgram, rules: tuple[Rule, ...]) -> dict[str, Hashes]:
    wanted = {rule.id for rule in rules}
    return {
        rule.id: hashes_of(program, number)
        for number, rule in enumerate(program.rules)
        if rule.id in wanted
    }


# ---------------------------------------------------------------------- which file


def _target(library: Library, drafted: DraftedRules, into: str) -> Path:
    """Say into which file a draft goes."""
    bound = _bound(library, drafted)
    if bound is not None:
        chosen = bound if not into else _named(library, drafted, into)
        if chosen != bound:
            message = f"the draft changes rules of `{bound.name}`, and goes into that file"
            raise _misplaced(message, "leave `--into` out")
        return bound
    return _named(library, drafted, into) if into else _nearest(library, drafted)


def _bound(library: Library, drafted: DraftedRules) -> Path | None:
    """Give the file whose rules the draft replaces or adds to, if any."""
    replaced = {
        _file(library, rule): rule.id
        for rule in library.program.rules
        if rule.id in drafted.draft.replaces
    }
    if len(replaced) > 1:
        names = " and ".join(f"`{one}`" for one in sorted(replaced.values())[:2])
        message = f"the draft replaces {names}, which lie in different files"
        raise _misplaced(message, "have it drafted in parts, one for each file")
    if replaced:
        return next(iter(replaced))
    heads = {rule.head.predicate for rule in drafted.rules}
    amended = (rule for rule in library.program.rules if rule.head.predicate in heads)
    return next((_file(library, rule) for rule in amended), None)


def _file(library: Library, rule: Rule) -> Path:
    found = None if rule.span is None else library.places.get(rule.span.source)
    if found is None:
        raise _misplaced(f"the rule `{rule.id}` lies in no file of the project")
    return found


def _named(library: Library, drafted: DraftedRules, into: str) -> Path:
    """Find the folder of that name, or the file."""
    project = library.project
    folders = [one for one in project.rule_folders if one.name == into]
    if len(folders) == 1:
        return folders[0] / _file_name(drafted)
    if len(folders) > 1:
        raise _misplaced(f"several folders of rules are called `{into}`", "name a file in one")
    file = _resolved(project.folder, into)
    if file is not None and file in library.places.values() and file in project.rules:
        return file
    if file is not None and file.parent in project.rule_folders and _FILE.match(file.name):
        return file
    shown = into[:80] if into.isprintable() else "that"
    known = [one.name for one in project.rule_folders]
    hint = suggestion(into[:80], known) or "add a folder under `rules:` in constat.yaml"
    raise _misplaced(f"`{shown}` is no folder or file that the project reads rules from", hint)


def _resolved(folder: Path, written: str) -> Path | None:
    try:
        return (folder / written).resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _nearest(library: Library, drafted: DraftedRules) -> Path:
    """Give the file or folder where what the draft speaks about is declared."""
    declared = list(_declaring(library, drafted))
    for file in declared:
        if file.parent in library.project.rule_folders:
            return file.parent / _file_name(drafted)
    for folder in library.project.rule_folders:
        return folder / _file_name(drafted)
    for file in (*declared, *library.project.rules):
        if file in library.project.rules:
            return file
    raise _misplaced("the project reads no rules", "add a folder under `rules:` in constat.yaml")


def _declaring(library: Library, drafted: DraftedRules) -> Iterator[Path]:
    known = library.program.program.predicates
    for name in sorted(mentioned(drafted.draft.text), key=drafted.draft.text.index):
        span = known[name].span if name in known else None
        if span is not None and span.source in library.places:
            yield library.places[span.source]


def _file_name(drafted: DraftedRules) -> str:
    """Name the file after what the draft derives."""
    return f"{drafted.rules[0].head.predicate[:80].strip('_') or 'drafted'}{SUFFIX}"


def _content(file: Path) -> str | None:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise _misplaced(f"`{file.name}` is larger than 4 MiB")
        return content.decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise _misplaced(f"`{file.name}` is not UTF-8") from None
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise _misplaced(f"`{file.name}` cannot be read: {reason}") from None


def case_files(file: Path, draft: Draft) -> tuple[tuple[Path, str], ...]:
    """Give the case files of a draft whose rules are in a file, with where they go."""
    stem = f"{file.stem}-{draft.identity[:8]}"
    return tuple(
        (
            file.parent / CASES / f"{stem}-{number}{SUFFIX}",
            text if text.endswith("\n") else f"{text}\n",
        )
        for number, text in enumerate(draft.tests, start=1)
    )


def _misplaced(message: str, hint: str = "") -> ConstatError:
    return ConstatError([Diagnostic("C0884", message, help=hint)])


# The library itself is not touched: the changed file, its records and the cases lie in a folder
# that is thrown away.

_MOST_CASES = 200


@frozen
class Tried:
    """A case: its name, whether it is the draft's own, and what is wrong; empty where nothing."""

    name: str
    own: bool
    problems: tuple[str, ...]


def try_cases(
    project: Project,
    placement: Placement,
    records: Sequence[Approval],
    cases: Sequence[tuple[Path, str]],
    checker: Checker | None = None,
) -> tuple[Tried, ...]:
    """Run the draft's cases and those of the library that it goes into."""
    added = frozenset(path for path, _ in cases)
    there = sorted(set((placement.folder / CASES).glob(f"*{SUFFIX}")) - added)[:_MOST_CASES]
    if not there and not cases:
        return ()
    with Scratch() as place:
        folder = (place.path / placement.folder.name).resolve()
        (folder / CASES).mkdir(parents=True)
        lines = (*_present(placement.folder), *records)
        (folder / FILE_NAME).write_bytes(b"".join(one.to_line() for one in lines))
        for path in (*placement.folder.glob(f"*{SUFFIX}"), *there):
            (folder / path.relative_to(placement.folder)).write_bytes(path.read_bytes())
        (folder / placement.file.name).write_text(placement.after, encoding="utf-8", newline="")
        for path, text in cases:
            (folder / CASES / path.name).write_text(text, encoding="utf-8", newline="")
        library = CaseLibrary(
            folder,
            tuple(sorted(folder.glob(f"*{SUFFIX}"))),
            tuple(folder / CASES / path.name for path in (*there, *(one for one, _ in cases))),
            project.rule_roots,
        )
        run = run_library(library, checker)
    names = frozenset(path.name for path, _ in cases)
    return tuple(_tried(one, names) for one in run.cases)


def _present(folder: Path) -> tuple[Approval, ...]:
    try:
        return read_approvals(folder)
    except ConstatError:
        # Whoever approves is told of the damage; to try the cases its records are not needed.
        return ()


def _tried(case: CaseResult, own: frozenset[str]) -> Tried:
    problems = [f"{one.message} [{one.code}]" for one in case.diagnostics]
    problems += [f"{one.goal}: {one.problem}" for one in case.results if one.problem]
    return Tried(case.name, Path(case.file).name in own, tuple(problems))


_RIGHTS: Final = 0o644
_PERMISSIONS: Final = 0o777


def write_placement(
    placement: Placement, records: Sequence[Approval], cases: Iterable[tuple[Path, str]]
) -> None:
    """Let the rules of a draft in. Raises `ConstatError`, and nothing is let in then."""
    with _failures(placement.file), _alone(placement.folder):
        _require_unchanged(placement)
        _add_records(placement.folder, records)
        _replace(placement.file, placement.after)
    write_cases(cases)


def write_cases(cases: Iterable[tuple[Path, str]]) -> None:
    """Write case files that are not there yet."""
    for path, text in cases:
        with _failures(path, "the rules are let in; approving again writes the cases"):
            path.parent.mkdir(exist_ok=True)
            if not path.exists():
                _replace(path, text)


def write_records(folder: Path, records: Sequence[Approval]) -> None:
    """Add records about rules that lie in a folder already."""
    with _failures(folder / FILE_NAME), _alone(folder):
        _add_records(folder, records)


def _require_unchanged(placement: Placement) -> None:
    try:
        found: str | None = placement.file.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        found = None
    if found != placement.before:
        message = f"`{placement.file.name}` was changed meanwhile"
        raise ConstatError([Diagnostic("C0884", message, help="review the draft again")])


def _add_records(folder: Path, records: Sequence[Approval]) -> None:
    known = read_approvals(folder)
    fresh = [one for one in records if not _stands(one, known)]
    if not fresh:
        return
    content = b"".join(one.to_line() for one in (*known, *fresh))
    if len(content) > MOST_BYTES:
        message = f"{FILE_NAME} would be larger than {MOST_BYTES >> 20} MiB"
        raise ConstatError([Diagnostic("C0885", message)])
    _replace(folder / FILE_NAME, content.decode())


def _stands(one: Approval, known: Sequence[Approval]) -> bool:
    """Whether the same person's same word is there and was not withdrawn."""
    about = [other for other in known if other.hashes == one.hashes]
    for other in reversed(about):
        if other.action != one.action:
            return False
        if one.action != APPROVED or (other.by, bool(other.envelope)) == (
            one.by,
            bool(one.envelope),
        ):
            return True
    return False


def _replace(path: Path, text: str) -> None:
    """Put a text into the place of a file; the file keeps the rights that it had."""
    try:
        mode = path.stat().st_mode & _PERMISSIONS
    except FileNotFoundError:
        mode = _RIGHTS
    with replaced(path, mode) as stream:
        stream.write(text.encode())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    message = f"another program is approving rules in `{folder.name}`"
    with alone(folder, ConstatError([Diagnostic("C0884", message, help="try again")])):
        yield


@contextmanager
def _failures(path: Path, note: str = "no rule was let in") -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        message = f"`{path.name}` cannot be written: {reason}"
        raise ConstatError([Diagnostic("C0884", message, note=note)]) from None
