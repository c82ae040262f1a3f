"""Break what computes in bulk on purpose, once per run, and count which breaks are noticed.

In: the modules of `constat.forward` and the passes of `constat.plan.forward`. Out: the kill rate,
and every survivor with its place. A broken copy meets random programs with random openings first,
whose rows by strength come from the unbroken copy and, where nothing is loose, are held against the
reference engine; then the plain tests of the folder that is about it. Run it with
`python -m tests.mutation.forward [MODULE ...]`, a module as `forward.ways` or `plan.forward.share`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import constat.forward  # noqa: F401  its folder is looked up by name
from constat.engine import LazyEngine
from constat.plan.forward import PASSES
from tests.forward.doubtful_worlds import doubtful_cases
from tests.mutation.copies import folder_of, forget, noticed
from tests.mutation.operators import Mutant, mutants_of
from tests.mutation.plain_tests import PlainTests, modules_of
from tests.property.coverage import under
from tests.property.rules import Shape
from tests.property.running import LIMITS
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import Manner, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.logic import OpenRow

FORWARD: Final = "constat.forward"
PLAN: Final = "constat.plan.forward"
GRADING: Final = ("grades", "ways", "placeholders", "loosening", "rule_grading", "grading")
MODULES: Final = (
    *(f"forward.{name}" for name in (*GRADING, "division", "demands", "erring", "tasks")),
    *sorted({f"plan.forward.{one.__module__.rpartition('.')[2]}" for one in PASSES}),
)
TESTS: Final = Path(__file__).parents[1]
SECONDS: Final = 20.0
HOLDERS: Final = (
    *(FORWARD, PLAN, "constat.sql", "constat.columnar", "constat.session", "constat.cli"),
    *("tests.forward", "tests.plan", "tests.cli", "tests.session", "tests.oracle.forward_plan"),
)
_STRENGTHS: Final = (3, 2, 1, 0)


@dataclass(frozen=True, slots=True)
class Expectation:
    """A case, how it is run, and the rows of each strength that the unbroken copy finds."""

    case: Case
    manner: Manner
    magic: bool | None
    loose: bool
    how: str
    rows: tuple[frozenset[OpenRow], ...]


def expectation(case: Case, manner: Manner, *, magic: bool | None, loose: bool) -> Expectation:
    """Find out what is right; where nothing is loose, the reference engine has to agree."""
    blank = Expectation(case, manner, magic, loose, "", ())
    how, rows, is_loose = seen(blank)
    if not is_loose:
        externals = tables(case.program, case.world, manner)
        outcome = LazyEngine().evaluate(case.program, case.goal, externals, LIMITS, exhaust=True)
        told = (outcome.rows(case.goal.predicate, least) for least in _STRENGTHS)
        assert rows == tuple(frozenset(under(case.goal, one)) for one in told)
    return replace(blank, how=how, rows=rows)


def seen(one: Expectation) -> tuple[str, tuple[frozenset[OpenRow], ...], bool]:
    """Run a case on the copy that is imported now."""
    running: Any = importlib.import_module("tests.forward.running")
    case = one.case
    found = running.forward(
        case.program, case.world, case.goal, one.manner, magic=one.magic, loose=one.loose
    )
    rows = tuple(frozenset(found.rows[least]) for least in _STRENGTHS)
    return found.how, rows, bool(found.loose)


def corpus(size: int) -> list[Expectation]:
    """Give so many random cases, the same each time, those left to the reference engine last."""
    made: list[Expectation] = []
    calm = st.sampled_from([Shape(totals=False, errors=False), Shape(totals=False), Shape()])
    drawn = st.one_of(calm.flatmap(doubtful_cases), calm.flatmap(doubtful_cases), cases(EXACT))
    manners = st.builds(Manner, narrow=st.booleans(), wide=st.booleans(), far=st.booleans())

    @seed(11)
    @settings(
        max_examples=size,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn, manners, st.sampled_from([None, False, True]), st.booleans())
    def collect(case: Case, manner: Manner, magic: bool | None, loose: bool) -> None:  # noqa: FBT001  drawn
        made.append(expectation(case, manner, magic=magic, loose=loose))

    collect()
    return sorted(made, key=lambda one: one.how == "reference")


class Judges:
    """What a broken copy meets; the case that noticed the last break is tried first."""

    def __init__(self, size: int) -> None:
        self._corpus = corpus(size)
        self.killers: Counter[str] = Counter()

    def noticed(self, module: str, mutant: Mutant | None) -> str | None:
        """Give what notices a broken copy of a module."""
        package = f"constat.{module.rpartition('.')[0]}"
        for name, test in (("corpus", self._unmet), ("tests", lambda: _failing(module))):
            reason = noticed(package, mutant, lambda test=test: _anew(test), SECONDS)  # type: ignore[misc]
            if reason is not None:
                self.killers[name] += 1
                if reason.startswith("case "):
                    self._corpus.insert(0, self._corpus.pop(int(reason.split()[1])))
                return f"{name}: {reason}"
        return None

    def _unmet(self) -> str | None:
        for place, one in enumerate(self._corpus):
            try:
                how, rows, _ = seen(one)
            except Exception as problem:  # noqa: BLE001  any exception is a break that shows
                return f"case {place} {type(problem).__name__}"
            if (how, rows) != (one.how, one.rows):
                return f"case {place}"
        return None


def _anew(test: Any) -> str | None:  # noqa: ANN401  a test without arguments
    """Import both packages anew, and whoever holds parts of them."""
    forget(*HOLDERS)
    found: str | None = test()
    return found


def _failing(module: str) -> str | None:
    if module.startswith("forward."):
        return PlainTests("tests.forward", ["test_graded"]).failing()
    names = [name for name in modules_of(TESTS / "plan" / "forward") if name != "test_laws"]
    return PlainTests("tests.plan.forward", names).failing(f"test_{module.rpartition('.')[2]}")


def chosen_mutants(module: str, step: int) -> Iterator[Mutant]:
    """Yield every so manieth break of a module."""
    package, _, name = module.rpartition(".")
    path = folder_of(f"constat.{package}") / f"{name}.py"
    for place, mutant in enumerate(mutants_of(path)):
        if not place % step:
            yield mutant


def main() -> int:
    """Break and count."""
    parser = argparse.ArgumentParser(description="Break bulk evaluation and see what is noticed.")
    parser.add_argument("modules", nargs="*", default=list(MODULES))
    parser.add_argument("--step", type=int, default=1, help="take every STEP-th mutant only")
    parser.add_argument("--size", type=int, default=200, help="random cases of the corpus")
    given_ = parser.parse_args()
    judges = Judges(given_.size)
    begun = time.monotonic()
    for module in {one.rpartition(".")[0]: one for one in given_.modules}.values():
        unbroken = judges.noticed(module, None)
        if unbroken is not None:
            sys.stderr.write(f"{module} itself does not meet: {unbroken}\n")
            return 1
    sys.stderr.write(f"unbroken it takes {time.monotonic() - begun:.1f} s\n")
    made: Counter[str] = Counter()
    survivors: list[str] = []
    for module in given_.modules:
        for mutant in chosen_mutants(module, given_.step):
            made[module] += 1
            reason = judges.noticed(module, mutant)
            sys.stderr.write(f"{time.monotonic() - begun:.0f}s {module} {mutant} | {reason}\n")
            if reason is None:
                survivors.append(f"{module} {mutant}")
    _report(made, survivors, judges.killers)
    return 0


def _report(made: Counter[str], survivors: list[str], killers: Counter[str]) -> None:
    left = Counter(one.partition(" ")[0] for one in survivors)
    for module, count in made.items():
        sys.stdout.write(f"{module}: {count - left[module]} of {count} killed\n")
    sys.stdout.writelines(f"{one}\n" for one in survivors)
    sys.stdout.write(f"killed by: {dict(killers)}\n")
    sys.stdout.write(f"{made.total() - len(survivors)} of {made.total()} mutants killed\n")


if __name__ == "__main__":
    sys.exit(main())
