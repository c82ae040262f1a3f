"""Run a copy of a package with one module replaced, in a process of its own.

In: a package, a mutant of one of its modules, a test.  Out: why the test failed, or ``None``.  The
child forgets the package and imports it anew, so that whoever imports it then gets the copy; what
the parent has prepared is there without being made again.  An endless loop and endless memory end
the child and count as noticed.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType, ModuleType

    from tests.mutation.operators import Mutant

MEMORY: Final = 2 << 30
_LONGEST_REASON: Final = 200


class Replacing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from code that is given."""

    def __init__(self, name: str, code: CodeType, path: Path | None = None) -> None:
        self._name = name
        self._code = code
        self._path = path

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != self._name:
            return None
        where = None if self._path is None else str(self._path)
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=where)
        spec.has_location = where is not None
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)  # noqa: S102  our own code, broken on purpose


def forget(*packages: str) -> None:
    """Forget modules, so that they are imported anew."""
    for name in list(sys.modules):
        if any(name == one or name.startswith(f"{one}.") for one in packages):
            del sys.modules[name]


def noticed(
    package: str, mutant: Mutant | None, test: Callable[[], str | None], seconds: float
) -> str | None:
    """Run a test over a copy of the package in a child; give why it failed."""

    def over_the_copy() -> str | None:
        forget(package)
        if mutant is not None:
            name = f"{package}.{mutant.module}"
            code = compile(mutant.tree, f"{mutant.module}.py", "exec")
            sys.meta_path.insert(0, Replacing(name, code))
        return test()

    return finished(over_the_copy, seconds)


def finished(test: Callable[[], str | None], seconds: float, memory: int = MEMORY) -> str | None:
    """Run a test in a child that has so many seconds of the processor; give why it failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w", encoding="utf-8", errors="replace") as out:
            out.write(_in_child(test, seconds, memory))
            out.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as found:
        reason = found.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        return "it does not end"
    return reason or None


def _in_child(test: Callable[[], str | None], seconds: float, memory: int) -> str:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    # A loop that sleeps takes no processor time; it ends all the same.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(seconds * 20))
    try:
        return (test() or "")[:_LONGEST_REASON]
    except BaseException as error:  # noqa: BLE001  any exception is a break that shows
        return f"{type(error).__name__}: {error}"[:_LONGEST_REASON]


def folder_of(package: str) -> Path:
    """Give the folder of a package that is imported already."""
    return Path(str(sys.modules[package].__file__)).parent
