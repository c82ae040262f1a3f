"""Load commands without what they work with: completion needs their options only.

In: a block that loads modules of `constat.cli`. Out: the same modules, in which names from other
packages of Constat stand for nothing. Invariant: afterwards no such module can be imported by
others, so nothing is ever run in this state. It takes a fifth of the time of a full load.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Besides what prints: tables of names that options offer, which load nothing themselves.
_LOADED_IN_FULL: Final = (
    *("constat.cli", "constat.diagnostics"),
    *("constat.logic.locales", "constat.proof.formats"),
)
_ROOT: Final = Path(__file__).parents[2]


class Nothing:
    """Stands for any value while a module is loaded."""

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Nothing:
        """Give itself."""
        return self

    def __getitem__(self, key: object) -> Nothing:
        return self

    def __iter__(self) -> Iterator[Nothing]:
        return iter(())

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()


class _Empty(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class _Finder(MetaPathFinder, Loader):
    """Finds empty modules in place of ours."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  the protocol's
        target: ModuleType | None = None,  # noqa: ARG002  the protocol's
    ) -> ModuleSpec | None:
        """Take the packages that are not loaded in full."""
        ours = fullname.startswith("constat.")
        if not ours or fullname.startswith(_LOADED_IN_FULL):
            return None
        spec = ModuleSpec(fullname, self, is_package=True)
        # A module that is loaded in full is found in its empty package.
        spec.submodule_search_locations = [str(_ROOT.joinpath(*fullname.split(".")))]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make an empty module."""
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing."""


@contextmanager
def shallow_loading() -> Iterator[None]:
    """Load the modules of commands without their work, and forget them at the end."""
    before = dict(sys.modules)
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [one for one in sys.modules if one.startswith("constat.")]:
            if name not in before:
                del sys.modules[name]
        _unlink(before)


def _unlink(before: dict[str, ModuleType]) -> None:
    # `import constat.session` also sets an attribute of `constat`, which outlives `sys.modules`.
    for name in ("constat", "constat.cli"):
        package = before.get(name)
        for key, value in list(vars(package).items()) if package else ():
            if isinstance(value, ModuleType) and before.get(value.__name__) is not value:
                delattr(package, key)
