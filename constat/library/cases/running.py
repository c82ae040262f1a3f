"""Run the cases of rule libraries.

In: paths of libraries, of folders that hold some, or of case files. Out: a `CasesRun`. Invariants:
each goal is decided by the engine that answers people, over the facts of its case alone and the
sources that the case names, and its certificate is given to the checker that the caller hands in;
the order is that of the paths and of the names below them.
Example: `run_cases([Path("rules/customer-value")]).exit_code` is 0.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.frozen import frozen
from constat.library.cases.cases import (
    Case,
    Expectation,
    Library,
    find_libraries,
    is_caller,
    is_rule,
    names_of_files,
    read_case,
)
from constat.library.cases.coverage import Coverage
from constat.library.cases.results import CaseResult, CasesRun, ExpectationResult, LibraryRun
from constat.library.loading import CASES
from constat.logic import Negative, Positive
from constat.proof import build_certificate, decide, proof_tree, render_tree
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals
    from constat.logic import Literal
    from constat.proof import Decision

    Checker = Callable[[bytes], str]
    """Gives the verdict of a certificate; raises `ValueError` with the reason against it."""

    Sources = Callable[[AnalysedProgram, Collection[str]], AbstractContextManager[Externals]]
    """Opens the sources of these external predicates, of one project, for one case."""

_LIMITS: Final = Limits(seconds=30.0)


def run_cases(
    paths: Sequence[Path],
    *,
    roots: Sequence[Path] = (),
    only: str = "",
    checker: Checker | None = None,
    sources: Sources | None = None,
) -> CasesRun:
    """Run cases. `sources` opens what a case has read; without it such a case is broken.

    `roots` are folders that the rules may include from besides their own. With `only`, cases run
    whose name, such as `customer-value/vip`, holds it. Raises `ConstatError`
    where the paths name no cases; a broken case is part of the result.
    """
    libraries = find_libraries(paths, roots)
    runs = []
    for library in libraries:
        chosen = [path for path in library.cases if only in case_name(library, path)]
        if chosen or not only:
            own = names_of_files(library)
            runs.append(_Running(library, own, Coverage(), checker, sources).run(chosen))
    if not any(run.cases for run in runs):
        raise ConstatError([_no_cases(paths, only)])
    return CasesRun(tuple(runs))


def run_library(library: Library, checker: Checker | None = None) -> LibraryRun:
    """Run the cases of one library, but for those that are about sources as they are today."""
    own = names_of_files(library)
    run = _Running(library, own, Coverage(), checker, None).run(library.cases)
    return replace(run, cases=tuple(one for one in run.cases if not one.sources))


def case_name(library: Library, path: Path) -> str:
    """The name of a case: its library and its file."""
    return f"{library.name}/{path.stem}"


def _no_cases(paths: Sequence[Path], only: str) -> Diagnostic:
    if only:
        return Diagnostic(
            "C0447",
            f"no case has `{only}` in its name",
            note="a case is named by its library and its file, such as `customer-value/vip`",
        )
    named = ", ".join(f"`{path}`" for path in paths)
    return Diagnostic(
        "C0446",
        f"there are no cases in {named}",
        note="a library is a folder of rule files; its cases are `cases/*.dl` in it",
        help="write a file such as `cases/first.dl` with facts and `@[expect(...)]`",
    )


@frozen
class _Running:
    """The run of one library."""

    library: Library
    own: frozenset[str]
    coverage: Coverage
    checker: Checker | None
    sources: Sources | None

    def run(self, paths: Iterable[Path]) -> LibraryRun:
        """Run cases one after the other."""
        cases = tuple(self.case(path) for path in paths)
        return LibraryRun(self.library.name, cases, self.coverage)

    def case(self, path: Path) -> CaseResult:
        """Run one case."""
        start = time.perf_counter()
        diagnostics: list[Diagnostic] = []
        texts: dict[str, str] = {}
        case = read_case(self.library, path, self.own, diagnostics, texts)
        results: tuple[ExpectationResult, ...] = ()
        if case is not None:
            rules = case.program.rules
            self.coverage.know(rule for rule in rules if rule.span and rule.span.source in self.own)
            results = self.expectations(case, diagnostics)
        errors = sorted(
            (one for one in diagnostics if one.severity is Severity.ERROR),
            key=lambda one: one.place,
        )
        return CaseResult(
            self.library.name,
            case_name(self.library, path),
            f"{self.library.name}/{CASES}/{path.name}",
            results,
            tuple(errors),
            texts,
            time.perf_counter() - start,
            case.sources if case else (),
        )

    def expectations(
        self, case: Case, diagnostics: list[Diagnostic]
    ) -> tuple[ExpectationResult, ...]:
        """Decide the goals; each sees the sources that the case reads in one state."""
        if not case.sources:
            return tuple(self.expectation(case, one) for one in case.expectations)
        if self.sources is None:
            names = ", ".join(f"`{one}`" for one in case.sources)
            message = f"the case reads {names} from a source, and sources are those of a project"
            hint = "run it in its project: `constat rules test`"
            diagnostics.append(Diagnostic("C0443", message, help=hint))
            return ()
        try:
            with self.sources(case.program, case.sources) as read:
                whole = replace(case, externals={**case.externals, **read})
                return tuple(self.expectation(whole, one) for one in whole.expectations)
        except ConstatError as problem:
            diagnostics += problem.diagnostics
            return ()

    def expectation(self, case: Case, expected: Expectation) -> ExpectationResult:
        """Decide one goal and compare."""
        start = time.perf_counter()
        decision = decide(
            LazyEngine(), case.program, expected.goal, case.externals, _LIMITS, exhaust=True
        )
        self.coverage.add(decision)
        problem = next(self.problems(decision, expected), "")
        proof = render_tree(proof_tree(decision)) if problem else ""
        return ExpectationResult(
            expected.text,
            expected.verdict.value,
            decision.verdict.value,
            problem,
            proof,
            expected.span,
            time.perf_counter() - start,
        )

    def problems(self, decision: Decision, expected: Expectation) -> Iterator[str]:
        """Yield what is not as expected."""
        if decision.verdict is not expected.verdict:
            yield f"expected {expected.verdict.label}, got {decision.verdict.label}"
        elif expected.by or expected.uses:
            yield from differences(decision, expected)
        if self.checker is not None:
            yield from _rejections(self.checker, decision)


def _rejections(checker: Checker, decision: Decision) -> Iterator[str]:
    certificate = build_certificate(decision, created=now(), engine_version="constat rules test")
    try:
        verdict = checker(certificate)
    except ValueError as problem:
        yield f"its certificate is rejected: {problem}"
    else:
        if verdict != decision.verdict.value:
            yield f"its certificate says {verdict}"


def differences(decision: Decision, expected: Expectation) -> Iterator[str]:
    """Yield what is missing in the proof that the engine shows."""
    tree = proof_tree(decision)
    roots = [
        at
        for root in tree.roots
        for at in (tree.steps[root].premises if is_caller(tree.steps[root].rule) else (root,))
    ]
    last = sorted({tree.steps[root].rule or "a fact" for root in roots})
    if expected.by and not any(is_rule(expected.by, rule) for rule in last):
        yield f"expected a proof by {expected.by}, got one by {', '.join(last)}"
    used = {step.rule for step in tree.steps if step.rule}
    rules = [rule for rule in decision.reading.program.rules if rule.id in used]
    names = {name for rule in rules for literal in rule.body for name in _predicates(literal)}
    names.update(rule.head.predicate for rule in rules)
    for name in expected.uses:
        if name not in names and not any(is_rule(name, rule) for rule in used):
            yield f"its proof does not use {name}; it uses {', '.join(sorted(names | used))}"


def _predicates(literal: Literal) -> Iterator[str]:
    match literal:
        case Positive(atom) | Negative(atom):
            yield atom.predicate.partition(".")[0]
        case _:
            for inner in getattr(literal, "body", ()):
                yield from _predicates(inner)
