"""Break the engine on purpose, once per run, and count which breaks are noticed.

In: the modules of ``constat.engine``.  Out: the kill rate, and every survivor with its place.  A
broken copy meets the corpus first, then the tests of the folder ``tests/engine``, then a second,
larger corpus.  Run it with ``python -m tests.mutation.engine [MODULE ...]``; what survives is
argued in ``tests/engine/SURVIVORS.md``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import constat.engine
from tests.mutation.copies import folder_of, forget, noticed
from tests.mutation.engine_corpus import Expectation, corpus, current, unmet
from tests.mutation.operators import Mutant, mutants_of
from tests.mutation.plain_tests import PlainTests, modules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE: Final = constat.engine.__name__
CORE: Final = (
    *("relation", "joins", "steps", "component"),
    *("state", "batch", "goal_engine"),
)
STAGES: Final = ("corpus", "tests", "more")
TESTS: Final = Path(__file__).parents[1] / "engine"
SECONDS: Final = 6.0
# It takes longer than all the others together.
SLOW: Final = frozenset({"test_a_chain_of_five_thousand_predicates_costs_no_call_stack"})


# The tests that are about one module are the likeliest to notice what is broken there.
_TESTS_OF: Final = MappingProxyType(
    {
        "batch": "test_firing",
        "component": "test_recursion",
        "goal_engine": "test_derivations",
    }
    | {name: f"test_{name}" for name in ("relation", "joins", "steps", "state")}
)


class Judges:
    """The tests a broken copy meets, cheap ones first; what was noticed last is tried first."""

    def __init__(self, size: int, more: int, stages: list[str]) -> None:
        self._stages = stages
        self._corpus = corpus(size)
        self._more = corpus(more, number=2) if more else []
        self._tests = _tests()
        self.killers: Counter[str] = Counter()

    def noticed(self, mutant: Mutant | None) -> str | None:
        """Give what notices a broken copy."""
        for name, test in (
            ("corpus", lambda: self._unmet(self._corpus)),
            ("tests", lambda: self._failing_test(mutant)),
            ("more", lambda: self._unmet(self._more)),
        ):
            if name not in self._stages:
                continue
            reason = noticed(PACKAGE, mutant, test, SECONDS)
            if reason is not None:
                self.killers[name] += 1
                self._move_forward(name, reason)
                return f"{name}: {reason}"
        return None

    def _unmet(self, expected: list[Expectation]) -> str | None:
        engine = current()
        for place, one in enumerate(expected):
            try:
                if unmet(engine, one):
                    return f"case {place}"
            except Exception as problem:  # noqa: BLE001  any exception is a break that shows
                return f"case {place} {type(problem).__name__}"
        return None

    def _failing_test(self, mutant: Mutant | None) -> str | None:
        forget("tests.engine")
        return self._tests.failing(_TESTS_OF.get(mutant.module if mutant else "", ""))

    def _move_forward(self, name: str, reason: str) -> None:
        """What noticed this break is likely to notice the next one."""
        words = reason.split()
        if name == "tests" and words[0] in self._tests.modules:
            self._tests.remember(reason)
        if name == "corpus" and words[0] == "case":
            self._corpus.insert(0, self._corpus.pop(int(words[1])))


def _tests() -> PlainTests:
    return PlainTests("tests.engine", modules_of(TESTS), SLOW)


def chosen_mutants(modules: list[str], chosen: Callable[[int, Mutant], bool]) -> Iterator[Mutant]:
    for module in modules:
        path = folder_of(PACKAGE) / f"{module}.py"
        for position, mutant in enumerate(mutants_of(path)):
            if chosen(position, mutant):
                yield mutant


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the engine and see what is noticed.")
    parser.add_argument("modules", nargs="*", default=list(CORE))
    parser.add_argument("--step", type=int, default=1, help="take every STEP-th mutant only")
    parser.add_argument("--again", type=Path, help="take only the mutants that this file lists")
    parser.add_argument("--size", type=int, default=500, help="random cases of the corpus")
    parser.add_argument("--more", type=int, default=2_000, help="random cases for survivors")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    given = parser.parse_args()
    again = given.again and set(given.again.read_text(encoding="utf-8").splitlines())
    judges = Judges(given.size, given.more if "more" in given.stages else 0, given.stages)
    begun = time.monotonic()
    unbroken = judges.noticed(None)
    if unbroken is not None:
        sys.stderr.write(f"the engine itself does not meet: {unbroken}\n")
        return 1
    sys.stderr.write(f"the engine itself takes {time.monotonic() - begun:.1f} s\n")
    made: Counter[str] = Counter()
    survivors: list[Mutant] = []
    for mutant in chosen_mutants(
        given.modules,
        lambda place, one: not place % given.step and (not again or str(one) in again),
    ):
        made[mutant.module] += 1
        reason = judges.noticed(mutant)
        sys.stderr.write(f"{time.monotonic() - begun:.0f}s {mutant} | {reason}\n")
        if reason is None:
            survivors.append(mutant)
    _report(made, survivors, judges.killers)
    return 0


def _report(made: Counter[str], survivors: list[Mutant], killers: Counter[str]) -> None:
    left = Counter(mutant.module for mutant in survivors)
    for module, count in made.items():
        sys.stdout.write(f"{module}: {count - left[module]} of {count} killed\n")
    for mutant in survivors:
        sys.stdout.write(f"{mutant}\n")
    sys.stdout.write(f"killed by: {dict(killers)}\n")
    sys.stdout.write(f"{made.total() - len(survivors)} of {made.total()} mutants killed\n")


if __name__ == "__main__":
    sys.exit(main())
