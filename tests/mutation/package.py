"""Break the modules of one package in random places and count what its own tests notice.

In: a package's name, as `sql` or `plan/forward`; a number of broken copies; a seed. Out: each copy
with the test that notices it, the share that is noticed, and the copies that no test tells apart. A
copy is broken in one place. It meets the tests of `tests/NAME` that run this place, the cheapest
first; one that all of them pass meets the whole folder once more, in a new process over a copy of
the tree, so that imports, fixtures and child processes run the broken place too. Copies that mean
the same are listed in `equivalent.md` with the reason, and are not counted.

    python -m tests.mutation.package sql --count 60 --seed 1
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from _pytest.runner import runtestprotocol

from tests import extras
from tests.mutation.copies import finished
from tests.mutation.reaching import Break, Key, Watch, breaks_of, tree_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = ("constat", "tests", "examples", "rules", "docs", "pyproject.toml", "README.md")
OPTIONS: Final = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-n", "0")
EQUIVALENT: Final = Path(__file__).with_name("equivalent.md")
MEMORY: Final = 8 << 30
LONGEST: Final = 3_600
"""Seconds of the clock after which a run of all tests counts as one that never ends."""


@dataclass(slots=True)
class Watching:
    """Notes what each test runs of the package, what it costs and whether it passes."""

    watch: Watch
    wanted: frozenset[Key]
    runs: dict[str, tuple[set[Key], float]] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.watch.seen.clear()
        begun = time.process_time()
        result = yield
        self.runs[item.nodeid] = self.watch.seen & self.wanted, time.process_time() - begun
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failing.add(report.nodeid)


@dataclass(slots=True)
class Breaking:
    """Collects the tests once; each broken copy runs those that reach it in a fork."""

    breaks: Sequence[Break]
    watching: Watching
    told: Callable[[Break, str | None], None]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {one.nodeid: one for one in session.items if one.nodeid in self.watching.runs}
        for broken in self.breaks:
            names = sorted(
                (self.watching.runs[name][1], name)
                for name in items.keys() - self.watching.failing
                if broken.key is None or broken.key in self.watching.runs[name][0]
            )
            chosen = [items[name] for _, name in names]
            seconds = 20 + 5 * sum(cost for cost, _ in names)
            self.told(broken, _finished(broken, chosen, seconds))
        return True


def _finished(broken: Break, items: Sequence[pytest.Item], seconds: float) -> str | None:
    return finished(lambda: _failing(broken, items), seconds, memory=MEMORY)


def _failing(broken: Break, items: Sequence[pytest.Item]) -> str | None:
    """Put the break and run the tests; give the first that fails."""
    if not items or not broken.patched():
        return None
    for fd in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), fd)
    for item, after in zip(items, [*items[1:], None], strict=True):
        if any(one.failed for one in runtestprotocol(item, nextitem=after, log=False)):
            return item.nodeid
    return None


def modules_of(package: str) -> Iterator[tuple[str, Path]]:
    """Yield the modules of a package and of the packages in it, with the package each is in."""
    place = ROOT / "constat" / package
    if not place.is_dir():
        yield "constat", place.with_suffix(".py")
        return
    for path in sorted(place.rglob("*.py")):
        if path.name not in {"__init__.py", "__main__.py"}:
            yield ".".join(path.parent.relative_to(ROOT).parts), path


def chosen(package: str, count: int, seed: int) -> list[Break]:
    """Draw broken copies of a package; the same seed draws the same ones."""
    every = [one for name, path in modules_of(package) for one in breaks_of(name, path)]
    drawn = random.Random(seed).sample(range(len(every)), min(count, len(every)))
    return [every[number] for number in sorted(drawn)]


def tests_of(package: str) -> list[str]:
    """Give the places of a package's own tests."""
    places = (ROOT / "tests" / package, ROOT / "tests" / f"test_{package}.py")
    return [str(one.relative_to(ROOT)) for one in places if one.exists()]


def name_of(broken: Break) -> str:
    """Name a copy so that other lines of the module may come and go."""
    names = [
        one.name
        for one in _definitions(broken.path)
        if one.lineno <= broken.line <= (one.end_lineno or 0)
    ]
    module = f"{broken.package}.{broken.path.stem}".removeprefix("constat.")
    return re.sub(r"\s+", " ", f"{module} {'.'.join(names)}: {broken.what}").strip()


@cache
def _definitions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Give the functions and classes of a module."""
    return [
        one
        for one in ast.walk(tree_of(path))
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]


def equivalent() -> frozenset[str]:
    """Read the names of the copies that are argued to mean the same."""
    text = EQUIVALENT.read_text(encoding="utf-8")
    return frozenset(re.findall(r"^- `` (.*?) ``", text, flags=re.MULTILINE))


def watched(package: str, breaks: Sequence[Break]) -> Watching:
    """Run the tests of a package once, unbroken; note which breaks each of them reaches."""
    wanted = frozenset(one.key for one in breaks if one.key is not None)
    file = Path(tempfile.mkstemp(suffix=".json")[1])
    child = os.fork()
    if child == 0:
        watch = Watch()
        watch.install(modules_of(package))
        watching = Watching(watch, wanted)
        pytest.main([*OPTIONS, *tests_of(package)], plugins=[watching])
        runs = {name: (sorted(seen, key=str), cost) for name, (seen, cost) in watching.runs.items()}
        file.write_text(json.dumps([runs, sorted(watching.failing)]), encoding="utf-8")
        os._exit(0)
    os.waitpid(child, 0)
    runs, failing = json.loads(file.read_text(encoding="utf-8"))
    file.unlink()
    read = {name: ({(m, n, t) for m, n, t in seen}, cost) for name, (seen, cost) in runs.items()}
    return Watching(Watch(), wanted, read, set(failing))


class Tree:
    """A copy of the tree, in which one module at a time is broken."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in COPIED:
            whole = ROOT / name
            copy = shutil.copytree if whole.is_dir() else shutil.copy2
            copy(whole, folder / name)

    def failing(self, broken: Break | None, package: str, left_out: set[str]) -> str | None:
        """Run all tests of the package over a broken copy, in a new process; give what fails."""
        if broken is None:
            return self._run(package, left_out)
        path = self._folder / broken.path.relative_to(ROOT)
        text = path.read_text(encoding="utf-8")
        path.write_text(broken.text(), encoding="utf-8")
        try:
            return self._run(package, left_out)
        finally:
            path.write_text(text, encoding="utf-8")

    def _run(self, package: str, left_out: set[str]) -> str | None:
        command = [sys.executable, "-m", "pytest", "-x", "--tb=no", *OPTIONS, *tests_of(package)]
        command += [f"--deselect={name}" for name in sorted(left_out)]
        variables = {"PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1"}
        environment = {**os.environ, **variables}
        try:
            run = subprocess.run(
                command,
                check=False,
                cwd=self._folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            return "it does not end"
        if run.returncode == 0:
            return None
        lines = [one for one in run.stdout.splitlines() if one.startswith(("FAILED", "ERROR"))]
        return (lines or run.stdout.splitlines() or ["it ends early"])[0].partition(" - ")[0]


def survivors(
    package: str, breaks: Sequence[Break], out: Callable[[str], Any], *, quick: bool
) -> list[Break]:
    """Break copies and tell of each; give those that the tests of the package do not notice."""
    watching = watched(package, breaks)
    if not watching.runs:
        message = "no test of the package ran"
        raise RuntimeError(message)
    out(f"{len(watching.runs)} tests; unbroken these fail: {sorted(watching.failing)}")
    left: list[Break] = []

    def told(broken: Break, reason: str | None) -> None:
        if reason is None:
            left.append(broken)
        else:
            out(f"{broken.line} {name_of(broken)} | {reason}")

    plugins = [Breaking(breaks, watching, told)]
    pytest.main([*OPTIONS, *tests_of(package)], plugins=plugins)
    left_over: list[Break] = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder))
        for broken in left:
            reason = None
            if not (quick and broken.patched()):
                reason = tree.failing(broken, package, watching.failing)
            out(f"{broken.line} {name_of(broken)} | {reason or 'SURVIVES'}")
            if reason is None:
                left_over.append(broken)
        if len(left) > len(left_over) and (why := tree.failing(None, package, watching.failing)):
            message = f"the copy that is not broken fails, too: {why}"
            raise RuntimeError(message)
    return left_over


def main() -> int:
    parser = argparse.ArgumentParser(description="Break a package and see what its tests notice.")
    parser.add_argument("package", help="as `sql` or `plan/forward`")
    parser.add_argument("--count", type=int, default=60, help="broken copies")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="try in new processes only what must")
    given = parser.parse_args()
    package = given.package.strip("/")
    os.environ[extras.ONLY_CORE] = "1"

    def out(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    breaks = chosen(package, given.count, given.seed)
    left = survivors(package, breaks, out, quick=given.quick)
    same = equivalent()
    holes = [one for one in left if name_of(one) not in same]
    made = len(breaks)
    counted = made - (len(left) - len(holes))
    share = 100 * (counted - len(holes)) // max(counted, 1)
    out(
        f"{package}: {counted - len(holes)} of {counted} broken copies are noticed ({share} %);"
        f" {made - counted} more mean the same"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
