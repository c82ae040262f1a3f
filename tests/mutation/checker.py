"""Break the checker on purpose, once per run, and count which breaks the corpus notices.

In: the modules of ``constat.check``.  Out: the kill rate, and every survivor with its place.  Run
it with ``python -m tests.mutation.checker [MODULE ...]``; ``tests/check/SURVIVORS.md`` says why
what survives is equivalent.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import resource
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import constat.check
from tests.check.corpus import UNBROKEN, Checker, judgements, unmet, unmet_by_the_good
from tests.mutation.operators import Mutant, mutants_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType, ModuleType

FOLDER: Final = Path(constat.check.__file__).parent
# Reading a file and starting as a folder are tested in child processes, not by the corpus.
LEFT_OUT: Final = frozenset({"__init__", "__main__", "command"})
SECONDS: Final = 20
"""Of processor time: other programs on the machine do not count."""
MEMORY: Final = 3 * 1024**3


class Copies(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports copies of the checker under other names, with one module replaced."""

    def __init__(self) -> None:
        self.codes: dict[str, CodeType] = {}
        for path in FOLDER.glob("*.py"):
            self.codes[path.stem] = compile(path.read_text(encoding="utf-8"), str(path), "exec")
        self.replaced: dict[str, CodeType] = {}
        self.package = ""
        self.count = 0
        self.judgements = list(judgements())

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if not self.package or fullname.partition(".")[0] != self.package:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == self.package)

    def exec_module(self, module: ModuleType) -> None:
        stem = module.__name__.partition(".")[2] or "__init__"
        exec(self.replaced.get(stem, self.codes[stem]), module.__dict__)  # noqa: S102  our own code

    def first_unmet(self, mutant: Mutant | None) -> str | None:
        """Return the first expectation that a copy with this break does not meet."""
        self.count += 1
        self.package = f"checker_copy_{self.count}"
        self.replaced = {}
        try:
            if mutant is not None:
                self.replaced = {mutant.module: compile(mutant.tree, mutant.module, "exec")}
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            checker = Checker(lambda name: importlib.import_module(f"{self.package}.{name}"))
            return self._first_unmet(checker)
        except Exception as error:  # noqa: BLE001  any exception is a break that shows
            return f"{type(error).__name__}: {error}"[:80]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            for name in [name for name in sys.modules if name.startswith(self.package)]:
                del sys.modules[name]

    def _first_unmet(self, checker: Checker) -> str | None:
        """Try last what has noticed nothing for long, so that most copies end soon."""
        check = checker.load("checking").check_certificate
        for place, one in enumerate(self.judgements):
            if not one.met(check):
                self.judgements.insert(0, self.judgements.pop(place))
                return one.name
        return next(unmet_by_the_good(checker), None)


def _too_long(*_: object) -> None:
    raise TimeoutError("the copy does not end")


def run(
    modules: list[str], copies: Copies, chosen: Callable[[int, Mutant], bool]
) -> tuple[Counter[str], list[Mutant]]:
    """Return how many mutants of each module there are, and those that nothing notices."""
    made: Counter[str] = Counter()
    survivors: list[Mutant] = []
    for module in modules:
        for position, mutant in enumerate(mutants_of(FOLDER / f"{module}.py")):
            if not chosen(position, mutant):
                continue
            made[module] += 1
            if copies.first_unmet(mutant) is None:
                survivors.append(mutant)
                sys.stderr.write(f"survived: {mutant}\n")
    return made, survivors


def prepared() -> Copies:
    """Return the importer of copies; an endless loop and endless memory count as noticed."""
    signal.signal(signal.SIGPROF, _too_long)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    copies = Copies()
    sys.meta_path.insert(0, copies)
    return copies


def every_module() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in LEFT_OUT)


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the checker and see what is noticed.")
    parser.add_argument("modules", nargs="*", default=every_module())
    parser.add_argument("--step", type=int, default=1, help="take every STEP-th mutant only")
    parser.add_argument("--again", type=Path, help="take only the mutants that this file lists")
    chosen = parser.parse_args()
    again = chosen.again and set(chosen.again.read_text(encoding="utf-8").splitlines())
    # The corpus is made once, outside the time that a broken copy is given.
    list(unmet(UNBROKEN))
    copies = prepared()
    unbroken = copies.first_unmet(None)
    if unbroken is not None:
        sys.stderr.write(f"the checker itself does not meet: {unbroken}\n")
        return 1
    made, survivors = run(
        chosen.modules,
        copies,
        lambda position, mutant: not position % chosen.step and (not again or str(mutant) in again),
    )
    left = Counter(mutant.module for mutant in survivors)
    for module, count in made.items():
        sys.stdout.write(f"{module}: {count - left[module]} of {count} killed\n")
    for mutant in survivors:
        sys.stdout.write(f"{mutant}\n")
    total = sum(made.values())
    sys.stdout.write(f"{total - len(survivors)} of {total} mutants killed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
