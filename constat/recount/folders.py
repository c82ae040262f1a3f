"""An answer in a folder, with all that it takes to count it again: for who did not compute it.

In it lie `rules.dl` (the rules below the answer), `input-1.parquet` and so on (the rows of every
input as they were read), `answer.parquet`, and `answer.json`: the goal, and the hash of every other
file. Whoever has the folder needs no source and no project. That the inputs are those of a source
is not said by it: their hashes are, to be compared or signed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from constat.analysis import analyse
from constat.check.canonical import members_once
from constat.check.values import is_spelled
from constat.diagnostics import ConstatError, Severity
from constat.diagnostics.interruption import check_interrupted
from constat.frozen import frozen
from constat.logic import Kind, Predicate, Program, Variable, null_policies
from constat.recount.inputs import distinct, read_input
from constat.recount.recounting import (
    Claim,
    Evaluation,
    Recount,
    State,
    checked,
    claim_kinds,
    predicates_below,
)
from constat.recount.statements import RefusedError
from constat.recount.tables import Loaded, Tables, require_marks
from constat.syntax import parse_goal, parse_text, print_atom, print_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.evaluation import Externals
    from constat.logic import Atom
    from constat.recount.recounting import Bounds

FORMAT: Final = "constat-bulk/1"
ABOUT: Final = "answer.json"
SIGNATURES: Final = ".dsse"
"""How the name of a file of signatures ends, behind that of what is signed."""
_RULES: Final = "rules.dl"
_ANSWER: Final = "answer.parquet"
_MOST_BYTES: Final = 4 << 20
_MEMBERS: Final = frozenset({"format", "goal", "places", "created", "rules", "inputs", "answer"})
_BLOCK: Final = 1 << 20
_NOT_YET: Final = Recount(State.NOT_CHECKED)
_TEXTS: Final = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})


class FolderError(Exception):
    """What is in the folder is not what was written; `str()` says why, without outside bytes."""


@frozen
class Stored:
    """A relation in a file: its name, how many rows it has, and the hash of the file."""

    predicate: str
    rows: int
    sha256: str


@frozen
class Answered:
    """What a folder is about, and what counting again came to.

    `sha256` is the hash of `answer.json`, which names all the others.
    """

    goal: str
    places: tuple[int, ...]
    created: str
    rules: str
    inputs: tuple[Stored, ...]
    answer: Stored
    sha256: str
    found: Recount


# ------------------------------------------------------------------------------------- writing


@frozen
class Computed:
    """An answer that was computed: by which rules, over which inputs, and when."""

    program: AnalysedProgram
    claim: Claim
    externals: Externals
    created: str

    def read(self, tables: Tables, predicate: Predicate) -> Loaded:
        """Give tables with the rows of an input."""
        # A source is asked for what its own declaration says.
        own = self.program.program.predicates[predicate.name]
        return read_input(tables, own, self.externals.get(own.name))


def write_folder(target: Path, computed: Computed, bounds: Bounds) -> None:
    """Write an answer whole or not at all, into a folder that is not there yet or is empty.

    Raises `RefusedError` for what has no clause in the check, and `OSError`.
    """
    program, rules = _sliced(computed.program, computed.claim.atom)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    draft.mkdir(mode=0o700, parents=True)
    try:
        _save(draft / _RULES, rules.encode())
        _write(draft, computed, program, bounds)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _write(folder: Path, computed: Computed, program: AnalysedProgram, bounds: Bounds) -> None:
    claim = computed.claim
    names = sorted(predicates_below(program, claim.atom.predicate) & program.external)
    with Tables(bounds.seconds, bounds.memory, bounds.threads, folder) as tables:
        evaluation = Evaluation(tables, program, computed.read)
        evaluation.refuse(claim.atom.predicate)
        inputs = [program.program.predicates[name] for name in names]
        stored = [
            _copied(tables, computed.read(tables, one), file, (one.name, _columns(one)))
            for one, file in zip(inputs, _files(folder), strict=False)
        ]
        goal = program.program.predicates[claim.atom.predicate]
        columns = [_columns(goal)[place] for place in claim.places]
        table = evaluation.claimed(claim)
        answer = _copied(tables, table, folder / _ANSWER, (goal.name, columns))
    about = {
        "answer": {"rows": answer.rows, "sha256": answer.sha256},
        "created": computed.created,
        "format": FORMAT,
        "goal": print_atom(claim.atom),
        "inputs": [
            {"predicate": one.predicate, "rows": one.rows, "sha256": one.sha256} for one in stored
        ],
        "places": list(claim.places),
        "rules": {"sha256": _hash(folder / _RULES)},
    }
    _save(folder / ABOUT, (json.dumps(about, indent=2, sort_keys=True) + "\n").encode())


def _sliced(program: AnalysedProgram, goal: Atom) -> tuple[AnalysedProgram, str]:
    """Give what a goal rests on, and its text. Raises `RefusedError` where reading changes it."""
    below = predicates_below(program, goal.predicate)
    declared = {name: one for name, one in program.program.predicates.items() if name in below}
    rules = tuple(rule for rule in program.rules if rule.head.predicate in below)
    # No source is needed, so none is named: the rows are in files.
    inputs = {
        name: replace(one, source=replace(one.source, parameters={}) if one.source else None)
        for name, one in declared.items()
    }
    own = replace(program.program, predicates=inputs, rules=rules, outputs={}, sizes=())
    text = print_program(own)
    again = _analysed(text)
    if again is None or again.rules != rules or print_program(again.program) != text:
        raise RefusedError("its rules read otherwise once they are written down")
    if _goal(print_atom(goal), again.program) != goal:
        raise RefusedError("its goal reads otherwise once it is written down")
    return again, text


def _where(mistakes: Sequence[Diagnostic]) -> str:
    """Say where the first mistake is, without a word of the file."""
    first = next((one for one in mistakes if one.severity is Severity.ERROR), None)
    if first is None:
        return ""
    line = f"line {first.span.line}: " if first.span is not None else ""
    return f", the first of them {line}{first.code}"


def _analysed(text: str, diagnostics: list[Diagnostic] | None = None) -> AnalysedProgram | None:
    diagnostics = [] if diagnostics is None else diagnostics
    program = parse_text(text, _RULES, diagnostics)
    if any(one.severity is Severity.ERROR for one in diagnostics):
        return None
    return analyse(program, diagnostics)


def _goal(text: str, program: Program) -> Atom:
    return parse_goal(text, program)


def _copied(tables: Tables, loaded: Loaded, file: Path, named: tuple[str, list[str]]) -> Stored:
    name, columns = named
    if loaded.marked:
        rows = tables.save_marked(loaded, file, columns)
    else:
        tables.save(loaded.whole, file, columns)
        rows = tables.count(loaded.whole)
    _flush(file)
    return Stored(name, rows, _hash(file))


def _columns(predicate: Predicate) -> list[str]:
    return [column.name for column in predicate.columns]


def _files(folder: Path) -> Iterator[Path]:
    """Name the files of inputs, in order."""
    number = 0
    while True:
        number += 1
        yield folder / f"input-{number}.parquet"


def _save(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)


def _flush(path: Path) -> None:
    path.chmod(0o600)
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _hash(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return f"sha256:{found.hexdigest()}"


# ------------------------------------------------------------------------------------- checking


def check_folder(folder: Path, bounds: Bounds, pin: str | None = None) -> Answered:
    """Count an answer again from the rules and inputs of its folder.

    With `pin` only rules of that hash are taken. Raises `FolderError`.
    """
    begun = time.monotonic()
    content = _content(folder / ABOUT)
    about = _about(content)
    rules = _content(folder / _RULES)
    if f"sha256:{hashlib.sha256(rules).hexdigest()}" != about.rules:
        raise FolderError(f"`{_RULES}` is not the file that `{ABOUT}` names")
    if pin is not None and pin != about.rules:
        raise FolderError("its rules are not those that are trusted")
    files = dict(zip([one.predicate for one in about.inputs], _files(folder), strict=False))
    _require_no_others(folder, {path.name for path in files.values()})
    stored = [(folder / _ANSWER, about.answer)]
    stored += [(files[one.predicate], one) for one in about.inputs]
    _require_hashes(stored)
    found = _counted(folder, about, rules, files, bounds)
    # Whoever changed a file while it was read has to be noticed.
    _require_hashes(stored)
    return replace(
        about,
        found=replace(found, seconds=time.monotonic() - begun),
        sha256=f"sha256:{hashlib.sha256(content).hexdigest()}",
    )


def _require_no_others(folder: Path, inputs: set[str]) -> None:
    """Nobody shall take for a part of the answer what its index does not name."""
    known = {*inputs, ABOUT, f"{ABOUT}{SIGNATURES}", _RULES, _ANSWER}
    with _readable(folder):
        others = sorted(path.name for path in folder.iterdir() if path.name not in known)
    if others:
        count = f"{len(others)} files" if len(others) > 1 else "a file"
        raise FolderError(f"in it is {count} that `{ABOUT}` does not name")


def _require_hashes(stored: Sequence[tuple[Path, Stored]]) -> None:
    for path, one in stored:
        with _readable(path):
            if not path.is_file():
                raise FolderError(f"`{path.name}` is missing")
            if _hash(path) != one.sha256:
                raise FolderError(f"`{path.name}` is not the file that `{ABOUT}` names")


def _content(path: Path) -> bytes:
    with _readable(path):
        if not path.is_file():
            raise FolderError(f"`{path.name}` is missing")
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise FolderError(f"`{path.name}` is too large")
    return content


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise FolderError(f"`{path.name}` cannot be read: {reason}") from None


def _about(content: bytes) -> Answered:
    """Read what the folder says of itself; nothing is ignored."""
    try:
        told = json.loads(content.decode(), object_pairs_hook=members_once)
        if not isinstance(told, dict) or told.keys() != _MEMBERS or told["format"] != FORMAT:
            raise ValueError  # noqa: TRY301  one message for all that is wrong with it
        return Answered(
            goal=_text(told["goal"]),
            places=tuple(map(_count, _list(told["places"]))),
            created=_text(told["created"]),
            rules=_text(told["rules"]["sha256"]),
            inputs=tuple(_stored(one, _text(one["predicate"])) for one in _list(told["inputs"])),
            answer=_stored(told["answer"], ""),
            sha256="",
            found=_NOT_YET,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FolderError(f"`{ABOUT}` is not of the format {FORMAT}") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError
    return value


def _list(value: Any) -> list[Any]:  # noqa: ANN401  JSON
    if not isinstance(value, list):
        raise TypeError
    return value


def _stored(value: Any, name: str) -> Stored:  # noqa: ANN401  JSON
    return Stored(name, _count(value["rows"]), _text(value["sha256"]))


def _counted(
    folder: Path, about: Answered, rules: bytes, files: dict[str, Path], bounds: Bounds
) -> Recount:
    program, claim = _claimed(about, rules)
    names = predicates_below(program, claim.atom.predicate) & program.external
    if files.keys() != names:
        raise FolderError("its inputs are not those that its rules read")
    files = {**files, "": folder / _ANSWER}
    with Tables(bounds.seconds, bounds.memory, bounds.threads, folder) as tables:
        kinds = {name: program.program.predicates[name].kinds for name in names}
        try:
            found = {
                name: _loaded(tables, files[name], one)
                for name, one in {**kinds, "": claim_kinds(program, claim)}.items()
            }
            _require_counts(tables, found, about)
            inputs = {
                name: _input(tables, found[name], program.program.predicates[name], files[name])
                for name in names
            }
        except RefusedError as refused:
            return Recount(State.NOT_CHECKED, str(refused))
        evaluation = Evaluation(tables, program, lambda _, predicate: inputs[predicate.name])
        counted = checked(evaluation, claim, lambda: found[""])
        assumed = next((rule.id for rule in program.rules if rule.assumed), None)
        if counted.passed or assumed is None:
            return counted
        named = assumed if assumed.isprintable() else ascii(assumed)
        said = f"rule {named} is an assumption: it has a confidence, or nobody approved it"
        return replace(counted, why=f"{counted.why} ({said})")


def _input(tables: Tables, loaded: Loaded, predicate: Predicate, file: Path) -> Loaded:
    """Give the tables of an input. Raises `FolderError` for rows that no input has."""
    each = [one for one in (loaded.whole, loaded.marked) if one]
    if any(distinct(tables, one) != one for one in each):
        raise FolderError(f"`{file.name}` has a row twice")
    if predicate.key and _share_keys(tables, loaded, predicate.key):
        raise FolderError(f"`{file.name}` has two certain rows for one key of {predicate.name}")
    if loaded.marked:
        try:
            require_marks(tables, loaded, predicate, null_policies(predicate))
        except (ValueError, TypeError, RecursionError, ArithmeticError) as problem:
            why = str(problem) if type(problem) is ValueError else "a mark cannot be read"
            raise FolderError(f"`{file.name}` is not what was written: {why}") from None
    return loaded


def _share_keys(tables: Tables, loaded: Loaded, key: Sequence[int]) -> bool:
    """Whether two rows that are certain have one key: of such rows none is (semantics 6)."""
    columns = ", ".join(f"c{n}" for n in key)
    rows = f"SELECT {columns} FROM {loaded.whole}"  # noqa: S608  names are ours
    if loaded.marked:
        known = " AND ".join(["s IS TRUE", *(f"m{n} IS NULL" for n in key)])
        rows += f" UNION ALL SELECT {columns} FROM {loaded.marked} WHERE {known}"  # noqa: S608  as above
    keys = tables.number("SELECT count(*) FROM (SELECT DISTINCT * FROM (", rows, "))")
    return keys < tables.number("SELECT count(*) FROM (", rows, ")")


def _rows_of(tables: Tables, loaded: Loaded) -> int:
    return tables.count(loaded.whole) + (tables.count(loaded.marked) if loaded.marked else 0)


def _require_counts(tables: Tables, found: dict[str, Loaded], about: Answered) -> None:
    told = {one.predicate: one.rows for one in (*about.inputs, about.answer)}
    if any(_rows_of(tables, loaded) != told[name] for name, loaded in found.items()):
        raise FolderError(f"a file has not as many rows as `{ABOUT}` says")


def _claimed(about: Answered, rules: bytes) -> tuple[AnalysedProgram, Claim]:
    """Read rules and goal. Raises `FolderError` for what is not what we write."""
    try:
        mistakes: list[Diagnostic] = []
        program = _analysed(rules.decode(), mistakes)
        if program is None:
            raise FolderError(f"`{_RULES}` has mistakes{_where(mistakes)}")
        goal = _goal(about.goal, program.program)
    except (UnicodeDecodeError, ConstatError):
        raise FolderError("its rules or its goal cannot be read") from None
    if not all(place < len(goal.terms) for place in about.places):
        raise FolderError("its answer has other columns than its goal")
    free = {place for place, term in enumerate(goal.terms) if isinstance(term, Variable)}
    if set(about.places) != free or len(about.places) != len(free):
        raise FolderError("its answer has other columns than its goal")
    return program, Claim(goal, about.places)


def _loaded(tables: Tables, file: Path, kinds: Sequence[Kind]) -> Loaded:
    """Give tables with the rows of a file. Raises `FolderError` where it is not of that form."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    try:
        found = tables.load(file, kinds)
        for place, kind in enumerate(kinds):
            for table in filter(None, (found.whole, found.marked)):
                _require_values(tables, table, f"c{place}", kind)
    except duckdb.InterruptException:
        check_interrupted()
        raise RefusedError("the time for it was up") from None
    except duckdb.OutOfMemoryException:
        raise RefusedError("it needs more memory than there is") from None
    except duckdb.Error:
        raise FolderError(f"`{file.name}` cannot be read") from None
    except ValueError as problem:
        raise FolderError(f"`{file.name}` is not what was written: {problem}") from None
    return found


def _require_values(tables: Tables, table: str, column: str, kind: Kind) -> None:
    """Raise `ValueError` for values that are no canonical ones of the kind."""
    wrong = False
    if kind is Kind.FLOAT:
        query = f"WHERE NOT isfinite({column}) OR CAST({column} AS VARCHAR) = '-0.0'"
        wrong = tables.number("SELECT count(*) FROM", table, query) > 0
    elif kind in _TEXTS:
        query = f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608  names are ours
        texts = tables.batches(query)
        wrong = not all(is_spelled(kind.value, text) for (text,) in texts)
    if wrong:
        raise ValueError("it has a value that its kind does not have")
