"""Read a case: the rules of its library, the facts it states, what it expects.

In: the files of a library and one case file. Out: a `Case`, or nothing and what is wrong.
Invariant: facts of the case become answers from outside, as in a project, so that a case tests
rules and never adds to them; what rules derive cannot be stated. `.pragma "open" "p"` leaves p
open, `"closed"` closes it by declaration only, and `.pragma "unknown" "tier(C009, ?t)"` says that
there is a row whose other values nobody knows.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Diagnostic, Severity, Span, nearest
from constat.evaluation import Assumption, Origin
from constat.library.cases.expectations import Expectation, read_expectations
from constat.library.cases.world import Table
from constat.logic import OPEN, Constant
from constat.syntax import load_program, parse_goal, print_row, read_annotations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals
    from constat.logic import Predicate, Row, Rule
    from constat.syntax import Pragma

PRAGMAS: Final = ("open", "closed", "unknown")
_MODELS: Final = ("llm:", "model:")


@dataclass(frozen=True, slots=True)
class Library:
    """A folder of rule files with a folder `cases` in it; `roots` are where includes may lead."""

    folder: Path
    files: tuple[Path, ...]
    cases: tuple[Path, ...]
    roots: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class Case:
    """One case file, ready to run."""

    program: AnalysedProgram
    externals: Externals
    expectations: tuple[Expectation, ...]


def names_of_files(library: Library) -> frozenset[str]:
    """Name the files of a library, and those they include, as diagnostics do."""
    own: dict[str, str] = {}
    load_program(library.files, (library.folder, *library.roots), [], texts=own)
    return frozenset(own)


def read_case(
    library: Library,
    path: Path,
    own: frozenset[str],
    diagnostics: list[Diagnostic],
    texts: dict[str, str],
) -> Case | None:
    """Read a case; `own` names the files of the library, `texts` receives what was read."""
    roots = (library.folder, *library.roots)
    program = load_program((*library.files, path), roots, diagnostics, texts=texts)
    if _errors(diagnostics):
        return None
    analysed = analyse(program, diagnostics)
    if analysed is None:
        return None
    name = path.resolve().relative_to(library.folder).as_posix()
    # As the loader writes names, which need not be text.
    name = name.encode("utf-8", "replace").decode()
    facts = _Facts(analysed, own, name, diagnostics)
    stated = facts.read()
    rules = tuple(rule for number, rule in enumerate(program.rules) if number not in stated)
    bare = analyse(replace(program, rules=rules), [])
    if bare is not None and any(rule.proposed for rule in bare.rules):
        # Few libraries hold what a model wrote: the others run without what judges approvals.
        judging = importlib.import_module("constat.library.reviewing.standing")
        bare = judging.approved_program(bare, library.files, None, diagnostics)
    if bare is None or _errors(diagnostics):
        return None
    annotations = read_annotations(texts[name], name)
    world = _World(bare, facts, diagnostics)
    for pragma in annotations.pragmas:
        world.apply(pragma)
    expectations = read_expectations(annotations, bare, diagnostics)
    if _errors(diagnostics):
        return None
    if not expectations:
        diagnostics.append(_expects_nothing(name))
        return None
    externals = {one: world.table(one).external() for one in sorted(bare.external)}
    return Case(bare, externals, expectations)


def _errors(diagnostics: Sequence[Diagnostic]) -> bool:
    return any(one.severity is Severity.ERROR for one in diagnostics)


def _expects_nothing(name: str) -> Diagnostic:
    return Diagnostic(
        "C0440",
        "this case expects nothing",
        Span(name, 1, 1, 1, 1),
        note="a case without an expectation can never fail",
        help='write `@[expect(proved = "p(1)", disproved = "p(2)")]` before an `.output p`',
    )


class _Facts:
    """The facts of a case by predicate, apart from the rules of the program."""

    def __init__(
        self,
        analysed: AnalysedProgram,
        own: frozenset[str],
        source: str,
        diagnostics: list[Diagnostic],
    ) -> None:
        self.analysed = analysed
        self.own = own
        self.source = source
        self.diagnostics = diagnostics
        self.tables: dict[str, Table] = {}

    def read(self) -> frozenset[int]:
        """Take the facts of the case; give the numbers of the rules they were."""
        rules = self.analysed.rules
        declared = self.analysed.program.predicates
        # What has a source besides its rules is asked for outside as well, so it can be stated.
        derived = {
            rule.head.predicate
            for rule in rules
            if rule.body and declared[rule.head.predicate].source is None
        }
        listed = {rule.head.predicate for rule in rules if not rule.body and self._is_own(rule)}
        taken: set[int] = set()
        for number, rule in enumerate(rules):
            if rule.body or self._is_own(rule) or rule.head.predicate in listed - derived:
                continue
            if rule.head.predicate in derived:
                self._complain_derived(rule)
                continue
            taken.add(number)
            self._take(rule)
        return frozenset(taken)

    def table(self, name: str) -> Table:
        """The table of an external predicate."""
        found = self.tables.get(name)
        if found is None:
            declared = self.analysed.program.predicates[name]
            found = self.tables[name] = Table(declared, self.source)
        return found

    def _is_own(self, rule: Rule) -> bool:
        return rule.span is not None and rule.span.source in self.own

    def _take(self, rule: Rule) -> None:
        row = tuple(term.value for term in rule.head.terms if isinstance(term, Constant))
        if len(row) < len(rule.head.terms):
            self.diagnostics.append(
                Diagnostic(
                    "C0445",
                    "a fact of a case holds constants only",
                    rule.span,
                    note="a case says what sources would answer, and sources compute nothing",
                    help="write the value itself",
                )
            )
            return
        table = self.table(rule.head.predicate)
        table.state(row, *_grounds(rule, row, table.predicate))

    def _complain_derived(self, rule: Rule) -> None:
        name = rule.head.predicate
        self.diagnostics.append(
            Diagnostic(
                "C0444",
                f"a case cannot state `{name}`, which rules derive",
                rule.span,
                note="a stated conclusion would hide that its rules do not give it",
                help="state the facts that its rules rest on, and expect the conclusion",
            )
        )


def _grounds(
    rule: Rule, row: Row, predicate: Predicate
) -> tuple[Origin, str | None, Assumption | None]:
    """Whose word a fact is: the case's own is certain, that of an `@[author]` is assumed."""
    author = rule.attributes.get("author")
    if author is None and rule.confidence == 1:
        return Origin.CONFIG, None, None
    told = author or "somebody"
    text = f"{told} says {print_row(predicate, row)}"
    given = Assumption("fact", print_row(predicate, row), text, rule.confidence)
    origin = Origin.LLM_KNOWLEDGE if told.startswith(_MODELS) else Origin.USER_PROVIDED
    return origin, told, given


@dataclass(slots=True)
class _World:
    """The tables of a case while its pragmas are applied."""

    analysed: AnalysedProgram
    facts: _Facts
    diagnostics: list[Diagnostic]

    def table(self, name: str) -> Table:
        """The table of an external predicate."""
        return self.facts.table(name)

    def apply(self, pragma: Pragma) -> None:
        """Apply a pragma, unless it is meant for another program."""
        key, value = pragma.texts[0], pragma.texts[-1]
        if key not in PRAGMAS:
            near = nearest(key, PRAGMAS)
            if near is not None:
                self._complain(pragma, f"a case has no pragma `{key}`", f'.pragma "{near}" "..."')
        elif len(pragma.texts) == 1:
            self._complain(pragma, f"the pragma `{key}` names nothing", f'.pragma "{key}" "..."')
        elif key == "unknown":
            self._unknown(pragma, value)
        elif self._is_external(pragma, value):
            table = self.table(value)
            table.open, table.vouched = table.open or key == "open", table.vouched or key != "open"

    def _unknown(self, pragma: Pragma, text: str) -> None:
        try:
            goal = parse_goal(text, self.analysed.program)
        except ConstatError as problem:
            first = problem.diagnostics[0]
            self._complain(pragma, first.message, '.pragma "unknown" "tier(C009, ?t)"')
            return
        if self._is_external(pragma, goal.predicate):
            row = tuple(t.value if isinstance(t, Constant) else OPEN for t in goal.terms)
            self.table(goal.predicate).unknown.append(row)

    def _is_external(self, pragma: Pragma, name: str) -> bool:
        if name in self.analysed.external:
            return True
        near = nearest(name, sorted(self.analysed.external))
        what = "is derived by rules" if name in self.analysed.program.predicates else "is unknown"
        edit = f'.pragma "{pragma.texts[0]}" "{near or "name"}"'
        self._complain(pragma, f"`{name}` {what}, so nothing outside can say it", edit)
        return False

    def _complain(self, pragma: Pragma, message: str, edit: str) -> None:
        note = f"the pragmas of a case are {', '.join(PRAGMAS)}"
        self.diagnostics.append(
            Diagnostic("C0443", message, pragma.span, note=note, help=f"write `{edit}`")
        )
