"""Run test functions without starting pytest, which takes longer than the tests.

In: a folder of test modules.  Out: the name of the first test that fails.  Tests may be
parametrised and may take a monkeypatch; nothing else of pytest is known here.  The modules are
imported anew in a child, so that they test the copy that is imported there.
"""

from __future__ import annotations

import importlib
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PATCH: Final = "monkeypatch"


@dataclass(slots=True)
class PlainTests:
    """The tests of a folder; those that failed last are tried first."""

    package: str
    modules: list[str]
    left_out: frozenset[str] = frozenset()
    first: list[tuple[str, str]] = field(default_factory=list)

    def failing(self, likely: str = "") -> str | None:
        """Give the first test that fails, as its module and its name; a likely module is first."""
        for module, name in self.first:
            if module == likely and not self._passes(module, name):
                return f"{module} {name}"
        for module in sorted(self.modules, key=lambda one: one != likely):
            for name in self._names(module):
                if not self._passes(module, name):
                    return f"{module} {name}"
        return None

    def remember(self, failed: str) -> None:
        """Try this test first from now on."""
        module, _, name = failed.partition(" ")
        if (module, name) in self.first:
            self.first.remove((module, name))
        self.first.insert(0, (module, name))

    def _names(self, module: str) -> list[str]:
        found = importlib.import_module(f"{self.package}.{module}")
        return [
            name for name in vars(found) if name.startswith("test_") and name not in self.left_out
        ]

    def _passes(self, module: str, name: str) -> bool:
        test = getattr(importlib.import_module(f"{self.package}.{module}"), name)
        return all(_succeeds(test, arguments) for arguments in _cases(test))


def modules_of(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("test_*.py"))


def _cases(test: Callable[..., None]) -> Iterator[dict[str, object]]:
    """Yield the arguments of every case of a parametrised test."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    choices = [[_named(mark.args[0], values) for values in mark.args[1]] for mark in marks]
    for chosen in itertools.product(*choices):
        yield {name: value for part in chosen for name, value in part.items()}


def _named(names: Any, values: Any) -> dict[str, object]:  # noqa: ANN401  as pytest takes them
    listed = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    if isinstance(names, str) and len(listed) == 1:
        return {listed[0]: values}
    return dict(zip(listed, values, strict=True))


def _succeeds(test: Callable[..., None], arguments: dict[str, object]) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        if _PATCH in test.__code__.co_varnames[: test.__code__.co_argcount]:
            arguments = {**arguments, _PATCH: patch}
        try:
            test(**arguments)
        except (Exception, pytest.fail.Exception):  # noqa: BLE001  any exception fails a test
            return False
    return True
