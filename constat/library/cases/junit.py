"""The result of cases as JUnit XML, which continuous integration systems read.

In: a `CasesRun`. Out: one document: a suite for each case file, a test for each expected goal.
Invariant: every character is one that XML 1.0 allows, whatever data holds. Example: a goal that
failed has a `failure` whose text is the proof, or why there is none.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.library.cases.results import CaseResult, CasesRun, ExpectationResult

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
        told = (f"{one.code} {_place(one.span)}: {one.message}" for one in case.diagnostics)
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


def _place(span: object) -> str:
    return str(span or "")


def _open(name: str, attributes: dict[str, str]) -> str:
    written = " ".join(f'{key}="{_clean(value)}"' for key, value in attributes.items())
    return f"<{name} {written}>"


def _clean(text: str) -> str:
    return escape(_FORBIDDEN.sub("�", text), quote=True)
