"""What a step may import: a second line, which gives a clear word early and is no confinement.

In: the text of a step, or a name at run time. Out: the first import that is blocked, or the module.
Invariant: libraries import what they need; only the step's own imports are looked at. Example:
`import os` in line 3 is `("os", 3)`.
"""

from __future__ import annotations

import ast
import builtins
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ALLOWED: Final = frozenset(
    {
        *("__future__", "abc", "base64", "binascii", "bisect", "calendar", "cmath", "collections"),
        *("contextlib", "copy", "csv", "dataclasses", "datetime", "dateutil", "decimal", "difflib"),
        *("enum", "fractions", "functools", "hashlib", "heapq", "html", "io", "itertools", "json"),
        *("math", "matplotlib", "numbers", "numpy", "operator", "pandas", "pprint", "random", "re"),
        *("statistics", "string", "textwrap", "time", "traceback", "types", "typing"),
        *("unicodedata", "uuid", "warnings", "zoneinfo"),
    }
)


class BlockedImportError(ImportError):
    """A step may not import this."""


def blocked_import(tree: ast.AST) -> tuple[str, int] | None:
    """Find the first import that is blocked, with its line."""
    found = [
        (node.lineno, name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in _names(node)
        if name.partition(".")[0] not in ALLOWED
    ]
    line, name = min(found, default=(0, ""))
    return (name, line) if line else None


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return ["." * node.level + (node.module or "")]


def step_builtins() -> dict[str, Any]:
    """Give the built-in names of a step, among them an `__import__` that asks here first."""
    return {**vars(builtins), "__import__": _importer(builtins.__import__)}


def _importer(original: Callable[..., Any]) -> Callable[..., Any]:
    def imported(
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002  the built-in's own names
        locals: Mapping[str, object] | None = None,  # noqa: A002  as above
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:  # noqa: ANN401  a module
        if level or name.partition(".")[0] not in ALLOWED:
            raise BlockedImportError(f"a step may not import `{name}`")
        return original(name, globals, locals, fromlist, level)

    return imported


ALIASES: Final = MappingProxyType({"pd": "pandas", "np": "numpy"})
