"""Run a whole program: read fact files, compute, write every output."""

from __future__ import annotations

import errno
import gzip
import os
import re
import stat
import time
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never, cast

from constat.analysis import AnalysedProgram, analyse
from constat.catalog.fact_files import STDIN, block_pieces, file_pieces, require_file
from constat.catalog.fact_ports import OutputFile, input_file, output_file
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.evaluation import Resources, ignore_event
from constat.frozen import frozen
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Variable,
)
from constat.logic.arithmetic import WRAPPING, bounds, single, wrapped
from constat.plan.compilation import predicates_of
from constat.project.settings import BACKGROUND, OFF
from constat.session.run_relations import UNBOUNDED, Computation, computed
from constat.store.replacing import Replacements, remove_left
from constat.syntax import Mode, exit_code, load_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from constat.catalog.fact_files import FactFile
    from constat.evaluation import Observer
    from constat.logic import Literal, Rule, Term
    from constat.plan.forward import Strategy
    from constat.project.settings import SparkSetting
    from constat.recount import Recount
    from constat.session.run_relations import Relations
    from constat.syntax import Port

# Give a program the arithmetic of machine words that Souffle computes with.

_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_NARROW: Final = 32
_PIECES: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.A-Za-z0-9_]+|[^-+.A-Za-z0-9_"]+', re.DOTALL)
_WHOLE: Final = re.compile(r"-?[0-9]+\Z")
_HEXADECIMAL: Final = re.compile(r"-?0x")
_FOLDS: Final = frozenset({"sum", "mean"})


def with_machine_words(
    analysed: AnalysedProgram, width: int, diagnostics: list[Diagnostic]
) -> AnalysedProgram:
    """Give the program with wrapping functions; what cannot be given is reported."""
    low, high = bounds(Kind.NUMBER, width)
    if _has_unsigned(analysed):
        high = bounds(Kind.UNSIGNED, width)[1]
    rules = tuple(
        _Words(kinds, width, (low, high), diagnostics).rule(rule)
        for rule, kinds in zip(analysed.rules, analysed.variable_kinds, strict=True)
    )
    return replace(analysed, program=replace(analysed.program, rules=rules), rules=rules)


class _Words:
    """One rule while its functions are renamed."""

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        width: int,
        parts: tuple[int, int],
        diagnostics: list[Diagnostic],
    ) -> None:
        self.kinds = kinds
        self.width = width
        self.parts = parts
        self.diagnostics = diagnostics

    def rule(self, rule: Rule) -> Rule:
        body = tuple(self.literal(one) for one in rule.body)
        return replace(rule, head=self.atom(rule.head), body=body)

    def literal(self, literal: Literal) -> Literal:
        match literal:
            case Positive(atom):
                return Positive(self.atom(atom))
            case Negative(atom):
                return Negative(self.atom(atom))
            case Comparison(left=left, right=right):
                return replace(literal, left=self.term(left), right=self.term(right))
            case Aggregate():
                return self.aggregate(literal)
            case _:
                assert_never(literal)

    def aggregate(self, aggregate: Aggregate) -> Aggregate:
        if aggregate.recursive:
            self.diagnostics.append(_recursive(aggregate))
        target = None if aggregate.target is None else self.term(aggregate.target)
        body = tuple(self.literal(one) for one in aggregate.body)
        function = aggregate.function
        if target is not None and self.leaves_word(function, self.kind(target)):
            function = wrapped(function, self.width)
        return replace(
            aggregate,
            function=function,
            target=target,
            body=cast("tuple[Positive | Negative | Comparison, ...]", body),
        )

    def leaves_word(self, function: str, kind: Kind | None) -> bool:
        """Whether an aggregate over values of that kind may give what no word holds."""
        if function == "sum" and kind in _INTEGERS:
            return True
        return function in _FOLDS and self.width == _NARROW

    def atom(self, atom: Atom) -> Atom:
        if all(isinstance(term, Variable) for term in atom.terms):
            return atom
        return replace(atom, terms=tuple(map(self.term, atom.terms)))

    def term(self, term: Term) -> Term:
        """Rename the functions of a term; the parser bounds how deep it is."""
        match term:
            case Variable():
                return term
            case Constant():
                return self.constant(term)
            case Apply(arguments=arguments):
                self.refuse(term)
                inner = tuple(map(self.term, arguments))
                if term.function == "+" and term.kind is Kind.SYMBOL:
                    return replace(term, function="cat", arguments=inner)
                wide = term.kind in _INTEGERS or (term.kind is Kind.FLOAT and self.width == _NARROW)
                changes = wide and term.function in WRAPPING
                function = wrapped(term.function, self.width) if changes else term.function
                return replace(term, function=function, arguments=inner)
            case _:
                assert_never(term)

    def constant(self, constant: Constant) -> Constant:
        if constant.kind is Kind.FLOAT and self.width == _NARROW:
            return self.narrow(constant)
        if constant.kind is Kind.STRUCTURE:
            return self.structure(constant)
        if constant.kind in _INTEGERS:
            low, high = bounds(constant.kind, self.width)
            if not low <= cast("int", constant.value) <= high:
                self.diagnostics.append(_too_wide(constant, self.width))
        return constant

    def structure(self, constant: Constant) -> Constant:
        """Check and narrow the numbers in a structure; a text in quotes may look like one."""
        low, high = self.parts
        pieces = _PIECES.findall(str(constant.value))
        if any(_WHOLE.match(one) and not low <= int(one) <= high for one in pieces):
            self.diagnostics.append(_too_wide(constant, self.width))
            return constant
        if self.width == _NARROW:
            pieces = [self.part(one, constant) for one in pieces]
        return replace(constant, value="".join(pieces))

    def part(self, piece: str, constant: Constant) -> str:
        if not _HEXADECIMAL.match(piece):
            return piece
        narrowed = self.narrow(replace(constant, value=float.fromhex(piece)))
        return cast("float", narrowed.value).hex()

    def narrow(self, constant: Constant) -> Constant:
        try:
            return replace(constant, value=single(cast("float", constant.value)))
        except ValueError:
            self.diagnostics.append(_too_wide(constant, self.width))
            return constant

    def refuse(self, term: Apply) -> None:
        """Report what computes something else here than in Souffle."""
        if not term.arguments:
            return
        kind = self.kind(term.arguments[0])
        floats = (kind is Kind.FLOAT) is not (term.kind is Kind.FLOAT)
        if term.function == "as" and floats:
            what = "`as` between integers and floats"
            self.diagnostics.append(_refused(what, "keeps the bits, not the value", term))
        elif term.function == "to_string" and kind is Kind.FLOAT:
            what = "`to_string` of a float"
            self.diagnostics.append(_refused(what, "writes a fixed number of digits", term))

    def kind(self, term: Term) -> Kind | None:
        return self.kinds.get(term.name) if isinstance(term, Variable) else term.kind


def _has_unsigned(analysed: AnalysedProgram) -> bool:
    """Tell whether a structure of the program may hold an unsigned number.

    The text of a structure does not tell signed from unsigned.
    """
    columns = (one for each in analysed.program.predicates.values() for one in each.columns)
    structures = next((one.structures for one in columns if one.structures is not None), None)
    if structures is None:
        return False
    branches = (branch for found in structures.branches.values() for branch in found)
    return any(one.kind is Kind.UNSIGNED for branch in branches for one in branch.fields)


def _too_wide(constant: Constant, width: int) -> Diagnostic:
    return Diagnostic(
        "C0611",
        f"this {constant.kind.value} does not fit in {width} bits",
        constant.span,
        note="stock Souffle computes with 32 bits, and so does souffle mode unless told otherwise",
        help="run with `--word-size 64`, or write a smaller number",
    )


def _refused(what: str, there: str, term: Apply) -> Diagnostic:
    return Diagnostic(
        "C0612",
        f"{what} is not supported in souffle mode",
        term.span,
        note=f"Souffle {there}, so the answers would differ",
        help="use `to_number` or `to_float`, or compare the value itself",
    )


def _recursive(aggregate: Aggregate) -> Diagnostic:
    return Diagnostic(
        "C0614",
        f"`{aggregate.function}` is aggregated over what depends on it",
        aggregate.span,
        note="Souffle refuses this; strict mode allows sums and counts that are compared by `>`, "
        "which wrapping integers would break",
        help='write `.pragma "constat" "0.1"` at the top of the file, and `?` before variables',
    )


REFUSED: Final = 78
_WIDE: Final = 64
# What the analysis refuses in souffle mode though Souffle answers: its answer is easily wrong, or
# another one here. Codes of constructs that the parser refuses have exit code 78 by themselves.
_DIFFERENT: Final = frozenset(
    {"C0103", "C0115", "C0124", "C0129", "C0141", "C0143", "C0208", "C0209", "C0610", "C0612"}
)
# What is a warning in souffle mode and an error in strict mode.
_SOFTENED: Final = frozenset(
    {"C0116", "C0134", "C0135", "C0137", "C0175", "C0206", "C0207", "C0210", "C0223"}
)


@frozen
class RunnableProgram:
    """A program with what it reads and writes.

    `outputs` and `sizes` are in the order of the text; `needed` are the predicates to compute or
    to read. `warnings` are what another mode or a careful reader would object to.
    """

    analysed: AnalysedProgram
    mode: Mode
    word_size: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    sizes: tuple[Port, ...]
    needed: frozenset[str]
    warnings: tuple[Diagnostic, ...]


def load_runnable(
    path: Path,
    mode: Mode | None,
    word_size: int,
    texts: dict[str, str],
    include: Sequence[Path] = (),
) -> RunnableProgram:
    """Read a program. `texts` receives every text by source name, for rendering.

    What it includes lies beside it or below it, or in the folders of `include`.
    """
    diagnostics: list[Diagnostic] = []
    # The program was named by its user, so it may be a link to a file of another folder.
    found = _resolved(path)
    roots = [found.parent, path.parent, *include]
    loaded = load_run(found, roots, diagnostics, mode=mode, texts=texts)
    width = word_size if loaded.mode is Mode.SOUFFLE else _WIDE
    # What was misread would draw errors of its own: of those nobody learns anything.
    analysed = None
    if not _errors(diagnostics):
        analysed = analyse(loaded.program, diagnostics, loaded.mode)
    if analysed is not None and loaded.mode is Mode.SOUFFLE:
        analysed = with_machine_words(analysed, width, diagnostics)
    if analysed is None or _errors(diagnostics):
        raise ConstatError(gathered(diagnostics), exit_code=_code(diagnostics, loaded.mode))
    by_directive = {
        directive: tuple(port for port in loaded.ports if port.directive == directive)
        for directive in ("input", "output", "printsize")
    }
    wanted = [*by_directive["output"], *by_directive["printsize"]]
    needed = _needed(analysed, {port.name for port in wanted})
    return RunnableProgram(
        accepted(analysed),
        loaded.mode,
        width,
        tuple(port for port in by_directive["input"] if port.name in needed),
        tuple(port for port in by_directive["output"] if not _only_size(port)),
        tuple(port for port in wanted if port.directive == "printsize" or _only_size(port)),
        needed,
        tuple(gathered(diagnostics)),
    )


def _resolved(path: Path) -> Path:
    """Follow the links of a path; what else is wrong with it is said by who reads it."""
    try:
        return path.resolve(strict=True)
    except RuntimeError as problem:
        raise _circle(path) from problem
    except OSError as problem:
        # A circle is a `RuntimeError` before Python 3.13.
        if problem.errno == errno.ELOOP:
            raise _circle(path) from problem
        return path.resolve()


def _circle(path: Path) -> ConstatError:
    found = Diagnostic(
        "C0155",
        f"the rule file `{path.name}` cannot be read: its links lead in a circle",
        note="a rule file is an ordinary file that this user may read",
        help="name the file itself",
    )
    return ConstatError([found])


def _only_size(port: Port) -> bool:
    """Whether an output says what `.printsize` says, as older programs do."""
    return any((one.key, one.value) == ("IO", "stdoutprintsize") for one in port.parameters)


def accepted(analysed: AnalysedProgram) -> AnalysedProgram:
    """Give the program with every rule taken for certain."""
    rules = tuple(
        replace(rule, proposed=False, confidence=Decimal(1)) if rule.assumed else rule
        for rule in analysed.rules
    )
    return replace(analysed, program=replace(analysed.program, rules=rules), rules=rules)


def gathered(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Keep of the warnings of one code and file the first, which says how many follow.

    A program in Souffle's own style has a bare name in every line.
    """
    first: dict[tuple[str, str], Diagnostic] = {}
    more: dict[tuple[str, str], int] = {}
    kept = []
    for one in sorted(diagnostics, key=lambda one: one.place):
        key = one.code, one.span.source if one.span else ""
        if one.severity is Severity.ERROR:
            kept.append(one)
        elif key in first:
            more[key] = more.get(key, 0) + 1
        else:
            first[key] = one
    for key, one in first.items():
        told = [one.note] if one.note else []
        if one.code in _SOFTENED:
            told.append("strict mode refuses it, Souffle does not")
        if key in more:
            told.append(f"{more[key]} more of these follow")
        kept.append(replace(one, note="; ".join(told)))
    return kept


def _errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    return [one for one in diagnostics if one.severity is Severity.ERROR]


def _code(diagnostics: Iterable[Diagnostic], mode: Mode) -> int:
    """78 where every error is a construct refused on purpose, else 2."""
    errors = _errors(diagnostics)
    if mode is Mode.SOUFFLE:
        errors = [one for one in errors if one.code not in _DIFFERENT]
    return exit_code(errors) if errors else REFUSED


def _needed(analysed: AnalysedProgram, wanted: set[str]) -> frozenset[str]:
    uses: dict[str, set[str]] = {}
    for rule in analysed.rules:
        used = uses.setdefault(rule.head.predicate, set())
        for literal in rule.body:
            used.update(predicates_of(literal))
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(uses.get(name, ()))
    return frozenset(found)


if TYPE_CHECKING:
    Print = Callable[[Iterable[str]], None]

_CHUNK: Final = 1 << 16


@frozen
class RunOptions:
    """How to run.

    Without an `output` folder everything goes to the standard output. Without a `mode` the file's
    pragma decides. The engine `auto` is `reference` for a small program, else `forward`.
    `word_size` is the width of integers in souffle mode, 32 or 64. `include` are
    the folders besides its own that the program may include files from. `resources` bound the
    work, `strategy` is taken in bulk wherever it gives the right answer. What is computed in bulk
    is counted again from the rules, by another way, as `check` says: `always` before anything is
    written, in the `background` afterwards, or it is `off`. `spark` says where the engine of that
    name computes.
    """

    facts: Path
    output: Path | None
    mode: Mode | None = None
    engine: str = "auto"
    word_size: int = 32
    include: tuple[Path, ...] = ()
    resources: Resources = UNBOUNDED
    strategy: Strategy | None = None
    check: str = OFF
    spark: SparkSetting | None = None


@frozen
class Written:
    """One result: `kind` is `file`, `stdout` or `size`; `file` is how the program names it."""

    relation: str
    rows: int
    kind: str
    file: str = ""


@frozen
class RunSummary:
    """What a run did."""

    mode: str
    word_size: int
    engine: str
    read: tuple[tuple[str, str], ...]
    written: tuple[Written, ...]
    seconds: float
    warnings: tuple[Diagnostic, ...]
    checks: tuple[tuple[str, Recount], ...] = ()


def run_program(
    path: Path,
    options: RunOptions,
    show: Print,
    *,
    texts: dict[str, str] | None = None,
    observe: Observer = ignore_event,
) -> RunSummary:
    """Run a program. `show` writes on the standard output. Raises `ConstatError`."""
    started = time.monotonic()
    remove_left()
    known: dict[str, str] = {} if texts is None else texts
    program = load_runnable(path, options.mode, options.word_size, known, options.include)
    given = _given(program, options.facts)
    outputs = _outputs(program, options.output)
    wanted = tuple(dict.fromkeys([*(one.name for one in program.outputs), *_sizes(program)]))
    computation = Computation(
        program.analysed,
        wanted,
        given,
        observe,
        options.resources,
        options.strategy,
        options.check,
        options.spark,
    )
    with Replacements() as files:
        with computed(computation, options.engine) as relations:
            there = options.spark.results if options.spark is not None else ""
            written = [_write(one, relations, show, files, there) for one in outputs]
            written += [_print_size(name, relations, show) for name in _sizes(program)]
            checks = relations.checks
            engine = relations.engine if options.engine == "auto" else options.engine
            if options.check == BACKGROUND:
                _commit(files, outputs, last=False)
                checks = relations.check_written()
        if options.check != BACKGROUND:
            _commit(files, outputs, last=True)
    return RunSummary(
        program.mode.value,
        program.word_size,
        engine,
        tuple((name, one.shown) for name, files in given.items() for one in files),
        tuple(written),
        time.monotonic() - started,
        (*program.warnings, *([] if wanted else [_nothing_wanted()])),
        checks,
    )


def _given(program: RunnableProgram, folder: Path) -> dict[str, tuple[FactFile, ...]]:
    """Give the files of every predicate from outside that is needed; none is an empty relation."""
    names = sorted(program.analysed.external & program.needed)
    found: dict[str, tuple[FactFile, ...]] = dict.fromkeys(names, ())
    if program.inputs:
        _require_folder(folder, "--facts")
    problems: list[Diagnostic] = []
    predicates = program.analysed.program.predicates
    for port in program.inputs:
        try:
            file = input_file(port, predicates[port.name], folder, program.word_size)
            if file.path != STDIN:
                require_file(file)
        except ConstatError as problem:
            if problem.exit_code == REFUSED:
                raise
            problems.extend(problem.diagnostics)
        else:
            found[port.name] = (*found[port.name], file)
    if problems:
        raise ConstatError(problems)
    return found


def _outputs(program: RunnableProgram, folder: Path | None) -> list[OutputFile]:
    found: dict[object, OutputFile] = {}
    predicates = program.analysed.program.predicates
    for port in program.outputs:
        one = output_file(port, predicates[port.name], folder, program.word_size)
        if one.path is not None and folder is not None:
            _require_folder(folder, "--output")
        other = found.setdefault(one.path or len(found), one)
        if other != one:
            raise ConstatError(
                [
                    Diagnostic(
                        "C0604",
                        f"two outputs are written to `{one.shown}`",
                        port.span,
                        note="the second would replace the first",
                        help=f'write `.output {port.name}(filename="{port.name}_2.csv")`',
                    )
                ]
            )
    return list(found.values())


def _sizes(program: RunnableProgram) -> list[str]:
    return [port.name for port in program.sizes]


def _require_folder(folder: Path, option: str) -> None:
    if not folder.is_dir():
        raise ConstatError(
            [
                Diagnostic(
                    "C0606",
                    f"the folder given by `{option}` does not exist",
                    note="a missing folder is mostly a misspelt one, so none is made",
                    help=f"make the folder, or name another one: `{option} DIR`",
                )
            ]
        )


def _write(
    output: OutputFile,
    relations: Relations,
    show: Print,
    files: Replacements,
    written_there: str = "",
) -> Written:
    name = output.predicate.name
    if written_there:
        path = f"{written_there.rstrip('/')}/{name}"
        return Written(name, relations.count(name), "parquet", path)
    body = relations.lines(output)
    count = relations.count(name)
    if output.path is None:
        show(block_pieces(output, body))
        return Written(name, count, "stdout")
    with _aside(output, output.path, files) as stream:
        for chunk in _chunks(file_pieces(output, body)):
            stream.write(chunk)
    return Written(name, count, "file", output.shown)


def _print_size(name: str, relations: Relations, show: Print) -> Written:
    count = relations.count(name)
    show([f"{name}\t{count}\n"])
    return Written(name, count, "size")


def _chunks(pieces: Iterable[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield "".join(waiting).encode()
            waiting.clear()
            size = 0
    yield "".join(waiting).encode()


def _commit(files: Replacements, outputs: list[OutputFile], *, last: bool) -> None:
    try:
        files.commit(last=last)
    except OSError as problem:
        shown = ", ".join(one.shown for one in outputs)
        note = "each file is whole, and the old one or the new one"
        raise _unwritable(shown, problem, note) from problem


@contextmanager
def _aside(output: OutputFile, path: Path, files: Replacements) -> Iterator[BinaryIO]:
    try:
        _require_file(path)
        with files.stream(path, _rights(path)) as stream:
            if output.packed:
                # No time and no name inside, so that equal rows are equal files.
                with gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0) as packed:
                    yield packed  # type: ignore[misc]  # it writes as a binary stream does
            else:
                yield stream
    except OSError as problem:
        note = "all files are what they were before"
        raise _unwritable(output.shown, problem, note) from problem


def _unwritable(shown: str, problem: OSError, note: str) -> ConstatError:
    reason = (problem.strerror or "the system refused it").lower()
    message = f"`{shown}` cannot be written: {reason}"
    hint = "make room, or give another folder by `--output DIR`"
    return ConstatError([Diagnostic("C0607", message, note=note, help=hint)])


def _require_file(path: Path) -> None:
    # A rename would put a file in the place of a device.
    if path.exists() and not path.is_file():
        raise OSError(0, "it is not a file")


def _rights(path: Path) -> int:
    """Give the rights of the file that is there, or those of a new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _nothing_wanted() -> Diagnostic:
    return Diagnostic(
        "C0615",
        "the program has neither `.output` nor `.printsize`",
        note="only what these name is computed, so nothing was",
        help="name a result, for example `.output path`",
        severity=Severity.WARNING,
    )
