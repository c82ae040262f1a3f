"""What became of the cases: values, JSON, text, JUnit XML and SARIF."""

from __future__ import annotations

import re
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from constat import __version__
from constat.diagnostics import counted, to_json
from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.diagnostics import Diagnostic, Span
    from constat.library.cases.coverage import Coverage, LiteralTried, RuleTried

# The order is that of the files and of the text in them; durations stand in fields of their own.

PASSED, FAILED, BROKEN = 0, 1, 2


@frozen
class ExpectationResult:
    """One goal: `problem` is empty where it passed; `proof` shows why the verdict is as it is."""

    goal: str
    expected: str
    verdict: str
    problem: str
    proof: str
    span: Span
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether all that was expected is so."""
        return not self.problem


@frozen
class CaseResult:
    """One case file: its results, or the mistakes that kept it from running."""

    library: str
    name: str
    file: str
    results: tuple[ExpectationResult, ...]
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]
    seconds: float
    sources: tuple[str, ...] = ()
    """What it has read from sources: then it is a test of these as well."""

    @property
    def exit_code(self) -> int:
        """0 where all passed, 1 where one failed, 2 where the case is broken."""
        if self.diagnostics:
            return BROKEN
        return PASSED if all(one.passed for one in self.results) else FAILED


@frozen
class LibraryRun:
    """The cases of one library and what they have tried of its rules."""

    name: str
    cases: tuple[CaseResult, ...]
    coverage: Coverage


@frozen
class CasesRun:
    """Everything that was run."""

    libraries: tuple[LibraryRun, ...]

    @property
    def cases(self) -> tuple[CaseResult, ...]:
        """All cases."""
        return tuple(case for library in self.libraries for case in library.cases)

    @property
    def results(self) -> tuple[ExpectationResult, ...]:
        """All results."""
        return tuple(one for case in self.cases for one in case.results)

    @property
    def failures(self) -> tuple[ExpectationResult, ...]:
        """The results that are not as expected."""
        return tuple(one for one in self.results if not one.passed)

    @property
    def exit_code(self) -> int:
        """The worst of the cases."""
        return max((case.exit_code for case in self.cases), default=BROKEN)

    def to_json(self, *, coverage: bool = False) -> dict[str, object]:
        """Give the run as JSON values; `constat schema rules test` describes them."""
        written: dict[str, object] = {
            "exit_code": self.exit_code,
            "passed": sum(one.passed for one in self.results),
            "failed": len(self.failures),
            "broken": sum(bool(case.diagnostics) for case in self.cases),
            "cases": [_case_json(case) for case in self.cases],
        }
        if coverage:
            written["coverage"] = [_coverage_json(library) for library in self.libraries]
        return written

    def to_text(self, *, coverage: bool = False) -> str:
        """Give the run for people; mistakes of case files are shown by whoever can show places."""
        return "\n".join(self._lines(coverage=coverage))

    def _lines(self, *, coverage: bool) -> Iterator[str]:
        for case in self.cases:
            yield from _case_lines(case)
        if coverage:
            for library in self.libraries:
                yield from _coverage_lines(library)
        passed = sum(one.passed for one in self.results)
        broken = sum(bool(case.diagnostics) for case in self.cases)
        told = [f"{passed} passed", f"{len(self.failures)} failed"]
        told += [f"{broken} broken"] if broken else []
        yield f"{', '.join(told)} in {counted(len(self.cases), 'case')}"


def _case_lines(case: CaseResult) -> Iterator[str]:
    if case.diagnostics:
        yield f"BROKEN {case.file}"
        return
    word = "passed" if case.exit_code == PASSED else "FAILED"
    yield f"{word} {case.file}: {counted(len(case.results), 'goal')}, {case.seconds * 1000:.1f} ms"
    for one in case.results:
        if not one.passed:
            yield f"  {one.span.source}:{one.span.line}: {one.goal}: {one.problem}"
            yield from (f"    {line}" for line in one.proof.splitlines())


def _coverage_lines(library: LibraryRun) -> Iterator[str]:
    rules = library.coverage.rules
    fired = sum(rule.fired > 0 for rule in rules)
    yield f"coverage of {library.name}: {fired} of {counted(len(rules), 'rule')} fired"
    for rule in rules:
        if not rule.fired:
            yield f"  {_place(rule)}: {rule.id} never fired"
        for literal in rule.literals:
            told = _told(literal)
            if told:
                yield f"  {_place(rule)}: {rule.id}: `{literal.text}` {told}"
    if not library.coverage.complete:
        yield "  some evaluations were too large to look through; more may have been tried"


def _told(literal: LiteralTried) -> str:
    if literal.never_tried:
        # What stands before it says why.
        return ""
    if literal.never_true:
        return "was never true"
    return "was never false" if literal.never_false else ""


def _place(rule: RuleTried) -> str:
    return f"{rule.span.source}:{rule.span.line}" if rule.span else ""


def _case_json(case: CaseResult) -> dict[str, object]:
    return {
        "library": case.library,
        "name": case.name,
        "file": case.file,
        "seconds": round(case.seconds, 6),
        "expectations": [_result_json(one) for one in case.results],
        "diagnostics": to_json(case.diagnostics),
    }


def _result_json(one: ExpectationResult) -> dict[str, object]:
    return {
        "goal": one.goal,
        "expected": one.expected,
        "verdict": one.verdict,
        "passed": one.passed,
        "problem": one.problem,
        "proof": "" if one.passed else one.proof,
        "line": one.span.line,
        "seconds": round(one.seconds, 6),
    }


def _coverage_json(library: LibraryRun) -> dict[str, object]:
    return {
        "library": library.name,
        "complete": library.coverage.complete,
        "rules": [_rule_json(rule) for rule in library.coverage.rules],
    }


def _rule_json(rule: RuleTried) -> dict[str, object]:
    return {
        "id": rule.id,
        "file": rule.span.source if rule.span else "",
        "line": rule.span.line if rule.span else 0,
        "fired": rule.fired,
        "literals": [
            {
                "text": literal.text,
                "held": literal.held,
                "failed": literal.failed,
                "never_true": literal.never_true,
                "never_false": literal.never_false,
            }
            for literal in rule.literals
        ],
    }


# Every character is one that XML 1.0 allows, whatever data holds.

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# An audit of a library's proofs for tools that read SARIF 2.1.0: each goal with what became of it,
# each case that does not run, each rule that no case has tried.

_SARIF: Final = MappingProxyType(
    {
        "goal-as-expected": "A goal of a case has the verdict that the library promises for it.",
        "goal-not-as-expected": "A goal of a case has another verdict than the library promises.",
        "case-broken": "A case file has a mistake, so that nothing of it was proved.",
        "rule-not-tried": "No proof of a case uses this rule.",
    }
)


def to_sarif(run: CasesRun) -> dict[str, object]:
    """Give a run as the log of one run of an analysis, in SARIF 2.1.0."""
    driver = {
        "name": "constat",
        "version": __version__,
        "rules": [
            {"id": name, "shortDescription": {"text": text}} for name, text in _SARIF.items()
        ],
    }
    found = [one for library in run.libraries for one in _sarif_results(library)]
    runs = [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": found}]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": runs}


def _sarif_results(library: LibraryRun) -> Iterator[dict[str, object]]:
    for case in library.cases:
        for mistake in case.diagnostics:
            text = f"{case.name}: {mistake.message} [{mistake.code}]"
            yield _sarif_result("case-broken", text, mistake.span, case.file)
        for one in case.results:
            name = "goal-as-expected" if one.passed else "goal-not-as-expected"
            told = one.problem or f"{one.verdict}, as expected; the checker accepts its certificate"
            yield _sarif_result(name, f"{case.name}: {one.goal}: {told}", one.span, case.file)
    for rule in library.coverage.rules:
        if not rule.fired:
            text = f"{library.name}: no proof of a case uses rule {rule.id}"
            yield _sarif_result("rule-not-tried", text, rule.span, library.name)


def _sarif_result(name: str, text: str, span: Span | None, file: str) -> dict[str, object]:
    kind = {"goal-as-expected": "pass", "rule-not-tried": "review"}.get(name, "fail")
    place: dict[str, object] = {
        "artifactLocation": {"uri": quote(span.source if span else file, errors="replace")}
    }
    if span is not None:
        place["region"] = {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
    return {
        "ruleId": name,
        "ruleIndex": list(_SARIF).index(name),
        "kind": kind,
        "level": "error" if kind == "fail" else "none",
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
    }


def to_junit(run: CasesRun) -> str:
    """Write a run as JUnit XML."""
    return "\n".join([*_document(run), ""])


def _document(run: CasesRun) -> Iterator[str]:
    seconds = sum(case.seconds for case in run.cases)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    tests = sum(_tests(case) for case in run.cases)
    errors = sum(bool(case.diagnostics) for case in run.cases)
    counts = _counts(tests, len(run.failures), errors)
    yield _open("testsuites", {"name": "constat rules test", **counts, "time": _time(seconds)})
    for case in run.cases:
        yield from _suite(case)
    yield "</testsuites>"


def _suite(case: CaseResult) -> Iterator[str]:
    failures = sum(not one.passed for one in case.results)
    counts = _counts(_tests(case), failures, int(bool(case.diagnostics)))
    yield _open(
        "testsuite", {"name": case.name, **counts, "skipped": "0", "time": _time(case.seconds)}
    )
    classname = case.name.replace("/", ".")
    if case.diagnostics:
        first = case.diagnostics[0]
        yield _open("testcase", {"classname": classname, "name": "the case", "time": "0.000"})
        yield _open("error", {"type": first.code, "message": first.message})
        told = (f"{one.code} {_junit_place(one.span)}: {one.message}" for one in case.diagnostics)
        yield f"{_clean(chr(10).join(told))}</error>"
        yield "</testcase>"
    for one in case.results:
        yield from _test(one, classname, case.file)
    yield "</testsuite>"


def _test(one: ExpectationResult, classname: str, file: str) -> Iterator[str]:
    attributes = {
        "classname": classname,
        "name": f"{one.goal} {one.expected}",
        "file": file,
        "line": str(one.span.line),
        "time": _time(one.seconds),
    }
    yield _open("testcase", attributes)
    if not one.passed:
        yield _open("failure", {"type": "verdict", "message": one.problem})
        yield f"{_clean(one.proof)}</failure>"
    yield "</testcase>"


def _tests(case: CaseResult) -> int:
    return len(case.results) or 1


def _counts(tests: int, failures: int, errors: int) -> dict[str, str]:
    return {"tests": str(tests), "failures": str(failures), "errors": str(errors)}


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"


def _junit_place(span: object) -> str:
    return str(span or "")


def _open(name: str, attributes: dict[str, str]) -> str:
    written = " ".join(f'{key}="{_clean(value)}"' for key, value in attributes.items())
    return f"<{name} {written}>"


def _clean(text: str) -> str:
    return escape(_FORBIDDEN.sub("�", text), quote=True)
