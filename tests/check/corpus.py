"""Everything the checker must get right, as one list that can be run against any copy of it.

In: the modules of a checker.  Out: the names of the expectations that it does not meet, one by one.
The tests run parts of this against the checker itself; ``mutation`` runs it against broken copies.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.check import tables
from tests.check.catalog import GOOD, good, small
from tests.check.evidence_constructs import proved_by_many
from tests.check.forged_commitments import FORGERIES, forge
from tests.check.layers import programs
from tests.check.malformed import malformed
from tests.check.mutants import mutants
from tests.check.told_apart import told_apart
from tests.check.writer import seal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GOLDEN: Final = Path(__file__).parent / "golden"
SEEDS: Final = 2
SAMPLE: Final = 149
FEW_DIGITS: Final = (12, 26)


@dataclass(frozen=True, slots=True)
class Checker:
    """The modules of one copy of the checker; ``load`` imports one by name."""

    load: Callable[[str], Any]


UNBROKEN: Final = Checker(lambda name: importlib.import_module(f"constat.check.{name}"))
"""The checker itself; who breaks copies asks it first, and what it says is remembered."""


@cache
def sealed_mutants() -> tuple[tuple[str, bytes], ...]:
    """Return a sample of single-place mutants with hashes that fit: (name, bytes)."""
    return tuple(
        (f"{name} {'.'.join(map(str, path))} {what}", seal(mutant))
        for name in small()
        for path, what, mutant in mutants(good(name).tree, SAMPLE)
    )


@cache
def judged_mutants() -> tuple[str, ...]:
    """Return what the unbroken checker says of the mutants."""
    check = UNBROKEN.load("checking").check_certificate
    return tuple(outcome(check(data)) for _, data in sealed_mutants())


@cache
def certificates() -> tuple[tuple[str, bytes, str], ...]:
    return tuple(
        (name, good(name).data(), (GOLDEN / f"{name}.txt").read_text(encoding="utf-8"))
        for name in GOOD
    )


@cache
def forged() -> tuple[tuple[str, bytes, str], ...]:
    made = [(name, *forge(name, seed)) for seed in range(SEEDS) for name in FORGERIES]
    return tuple((name, seal(tree), code) for name, code, tree in made)


@cache
def damaged() -> tuple[tuple[str, bytes, str], ...]:
    return tuple(malformed())


@cache
def judged() -> tuple[tuple[str, bytes, str | None], ...]:
    return (*programs(), *told_apart())


@cache
def steps_needed() -> tuple[tuple[str, bytes, int], ...]:
    """Return the good certificates with the steps that the unbroken checker takes for them."""
    return tuple((name, data, steps_taken(UNBROKEN, data)) for name, data, _ in certificates())


def outcome(report: Any) -> str:  # noqa: ANN401  the report of any copy
    """Return the line that stands for a report in the golden file."""
    return f"{report.code} {report.place}" if report.code else str(report.verdict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the checker says about one certificate that is wrong or changed."""

    name: str
    data: bytes
    said: str

    def met(self, check: Callable[..., Any]) -> bool:
        """Tell whether a checker says that."""
        report = check(self.data)
        if report.code is not None and (report.exit_code, report.accepted, report.nodes) != REFUSED:
            return False
        return self.said in {str(report.code), outcome(report)}


def judgements() -> Iterator[Judgement]:
    """Yield the judgements of all certificates but the good ones."""
    for kind, cases in (("forgery", forged()), ("damage", damaged()), ("program", judged())):
        for name, data, code in cases:
            yield Judgement(f"{kind} {name}", data, str(code or "PROVED"))
    for (name, data), said in zip(sealed_mutants(), judged_mutants(), strict=True):
        yield Judgement(f"mutant {name}", data, said)


def unmet(checker: Checker) -> Iterator[str]:
    """Yield the names of the expectations that the checker does not meet."""
    check = checker.load("checking").check_certificate
    yield from (one.name for one in judgements() if not one.met(check))
    yield from unmet_by_the_good(checker)


def unmet_by_the_good(checker: Checker) -> Iterator[str]:
    """Yield what is not met by good certificates, functions, limits and spellings."""
    yield from _accepted(checker.load("checking").check_certificate)
    yield from _functions(checker.load("functions"))
    yield from _powers(checker)
    yield from _limits(checker)
    yield from _spellings(checker)


REFUSED: Final = (1, False, 0)
TOLD: Final = (
    "a_certificate_of_another_goal",
    "a_certificate_that_is_not_there",
    "a_certificate_that_nothing_needs",
    "a_confidence_raised_on_the_way",
    "a_level_forged_up",
    "a_model_passed_off_as_a_person",
    "a_model_without_a_question",
    "a_nameless_agent",
    "a_proof_by_a_database",
    "a_quote_that_is_too_long_for_its_place",
    "a_review_of_their_own",
    "a_service_without_an_answer",
    "a_word_that_was_never_said",
    "a_wrong_sum_two_certificates_down",
    "an_assumption_dropped_on_the_way",
    "an_assumption_exchanged_on_the_way",
    "nested_deeper_than_allowed",
    "the_name_of_another_certificate",
    "the_word_of_somebody_else",
)
"""Forgeries whose rejection is compared word for word."""
EXIT_CODES: Final = {
    "PROVED": 0,
    "PROVED_UNDER": 3,
    "UNRESOLVED": 4,
    "DISPROVED": 5,
    "DISPROVED_UNDER": 6,
}


def _accepted(check: Callable[..., Any]) -> Iterator[str]:
    for name, data, text in certificates():
        report = check(data)
        exit_code = EXIT_CODES.get(report.verdict, 1)
        if (report.to_text(), report.accepted, report.exit_code) != (text, True, exit_code):
            yield f"certificate {name}"
    name, data, _ = certificates()[0]
    pin = check(data).program
    if not check(data, pin=pin).accepted or check(data, pin=f"{pin}0").code != "pin":
        yield "the pin"
    yield from _nested_pins(check)
    if not check(proved_by_many(256).data()).accepted:
        yield "as many nested certificates as allowed"
    if check(data).to_json() != (GOLDEN / f"{name}.json").read_text(encoding="utf-8"):
        yield "the report as JSON"
    if rejections(check) != (GOLDEN / "rejected.txt").read_text(encoding="utf-8"):
        yield "the text of a rejection"


def _nested_pins(check: Callable[..., Any]) -> Iterator[str]:
    tree = good("nested_in_nested").tree
    inner = tree["proofs"][0]
    pins = [one["header"]["program"] for one in (tree, inner, inner["proofs"][0])]
    data = good("nested_in_nested").data()
    if not check(data, pin=pins[0], trusted=pins[1:]).accepted:
        yield "nested rules that are trusted"
    for place, trusted in (("proofs[0]", pins[2:]), ("proofs[0].proofs[0]", pins[1:2])):
        report = check(data, pin=pins[0], trusted=trusted)
        if (report.code, report.place) != ("pin", f"{place}.header.program"):
            yield f"rules at {place} that are not trusted"


def rejections(check: Callable[..., Any]) -> str:
    """Return what is said about some certificates that are rejected, with places and names."""
    name, data, _ = certificates()[0]
    empty = good("summary_proved").tree
    empty["summaries"][0]["chunks"][0] = [0, "7/1", "7", "7", "sha256:" + "0" * 64]
    reports = [check(b"{"), check(data[:-1]), check(data, pin="")]
    reports.append(check(seal({**good(name).tree, "z" * 1000: None})))
    reports.append(check(seal(empty)))
    wrong = [(data, code) for _, data, code in judged() if code is not None]
    reports += [check(data) for data, _ in wrong[:20]]
    reports += [check(data) for data, code in wrong if code == "safety"]
    reports += [check(seal(forge(name, 0)[1])) for name in TOLD]
    return "".join(report.to_text() for report in reports)


def steps_taken(checker: Checker, data: bytes) -> int:
    """Return the least number of steps with which the certificate is accepted."""
    low, high = -1, 1
    while not accepted_within(checker, data, high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if accepted_within(checker, data, middle):
            high = middle
        else:
            low = middle
    return high


def accepted_within(checker: Checker, data: bytes, steps: int, per_row: int = 0) -> bool:
    """Tell whether the certificate is accepted with so few steps; ``limit`` otherwise."""
    bounds = checker.load("checking")
    usual = bounds.LEAST_STEPS, bounds.STEPS_PER_CLOSURE_ROW
    bounds.LEAST_STEPS, bounds.STEPS_PER_CLOSURE_ROW = steps, per_row
    try:
        report = checker.load("checking").check_certificate(data)
    finally:
        bounds.LEAST_STEPS, bounds.STEPS_PER_CLOSURE_ROW = usual
    assert report.code in {None, "limit"}
    return bool(report.accepted)


def _limits(checker: Checker) -> Iterator[str]:
    """Every enumeration counts its steps: one less than it takes is too few."""
    for name, data, steps in steps_needed():
        few = steps > 0 and accepted_within(checker, data, steps - 1)
        if few or not accepted_within(checker, data, steps):
            yield f"steps of {name}"
    bounds = checker.load("checking")
    bound = bounds.LEAST_STEPS, bounds.STEPS_PER_CLOSURE_ROW, bounds.UNDECIDED_SHARE
    if bound != (5_000_000, 2_000, 10):
        yield "the bounds of the format"
    # The closure of a cycle of four has 16 rows: 16 times what is granted for each.
    data = good("reach_disproved").data()
    needed = next(steps for name, _, steps in steps_needed() if name == "reach_disproved")
    each = -(-needed // 16)
    if not accepted_within(checker, data, 0, each) or accepted_within(checker, data, 0, each - 1):
        yield "steps for each row of the closure"
    reading = checker.load("canonical")
    usual, reading.MAX_BYTES = reading.MAX_BYTES, len(data)
    try:
        check = checker.load("checking").check_certificate
        if not check(data).accepted or check(data + b"\n").code != "size":
            yield "the size of the file"
    finally:
        reading.MAX_BYTES = usual
    if usual != 256 * 1024 * 1024:
        yield "the size of the format"


def _functions(functions: Any) -> Iterator[str]:  # noqa: ANN401  the module of any copy
    for name, kinds, result, args, expected in tables.FUNCTIONS:
        if not functions.signature_holds(name, kinds, result):
            yield f"signature {name}"
        if functions.call(name, kinds, result, args) != expected:
            yield f"function {name} {args!r}"[:60]
    yield from (f"{case}" for case in tables.NO_SIGNATURES if functions.signature_holds(*case))
    for operator, kind, left, right, truth in tables.COMPARISONS:
        if functions.compare(operator, kind, left, right) is not truth:
            yield f"comparison {operator} {left} {right}"[:60]
    yield from (f"{case}" for case in tables.OPERATORS if not functions.operator_holds(*case))
    yield from (f"{case}" for case in tables.NO_OPERATORS if functions.operator_holds(*case))


def _powers(checker: Checker) -> Iterator[str]:
    """Few digits to begin with change no power: where they decide nothing, there are more."""
    names = vars(checker.load("functions"))
    call, usual = names["call"], names["_FIRST_DIGITS"]
    cases = [one for one in tables.FUNCTIONS if (one[0], one[2]) == ("^", tables.F)]
    try:
        for digits in FEW_DIGITS:
            names["_FIRST_DIGITS"] = digits
            for name, kinds, result, args, expected in cases:
                if call(name, kinds, result, args) != expected:
                    yield f"power {args!r}"[:60]
    finally:
        names["_FIRST_DIGITS"] = usual


def _spellings(checker: Checker) -> Iterator[str]:
    is_spelled = checker.load("values").is_spelled
    for expected, spellings in ((True, tables.SPELLED), (False, tables.MISSPELLED)):
        for kind, text in spellings:
            if is_spelled(kind, text) is not expected:
                yield f"spelling {kind} {text}"[:60]
    full_match = checker.load("pattern").full_match
    for expression, text, found in tables.PATTERNS:
        if full_match(expression, text) is not found:
            yield f"pattern {expression}"[:60]
