"""Read and analyse a program that is to be run as a whole.

In: the file, the mode (or none, then the file's pragma decides), the width of a word. Out: a
`RunnableProgram`, or `ConstatError` with every mistake. Invariants: only what the wanted relations
depend on is read and computed, as Souffle does; every rule counts as accepted, for Souffle knows
no assumptions. Example: of a program without `.output` and `.printsize` nothing is wanted.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram, analyse
from constat.analysis.machine_words import with_machine_words
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.logic import Aggregate, Negative, Positive
from constat.syntax import Mode, exit_code, load_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from constat.logic import Literal
    from constat.syntax import Port

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


@dataclass(frozen=True, slots=True)
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
        uses.setdefault(rule.head.predicate, set()).update(_predicates(rule.body))
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(uses.get(name, ()))
    return frozenset(found)


def _predicates(body: Iterable[Literal]) -> Iterator[str]:
    for literal in body:
        match literal:
            case Positive(atom) | Negative(atom):
                yield atom.predicate
            case Aggregate(body=inner):
                yield from _predicates(inner)
            case _:
                pass
