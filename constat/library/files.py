"""Find rule files.

In: paths as people name them. Out: files, each once, in a fixed order. Invariant: a link that leads
out of a named folder is not followed. The folder `cases` of a library holds tests and no rules, so
it is left out unless it is named or wanted. Example: `rules/customer-value` gives its `.dl` files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUFFIX: Final = ".dl"
CASES: Final = "cases"
_MOST_FILES: Final = 10_000


def rule_files(
    paths: Sequence[Path], diagnostics: list[Diagnostic], *, with_cases: bool = False
) -> tuple[Path, ...]:
    """List the rule files that the paths name; folders are searched with what is below them."""
    files: dict[Path, None] = {}
    for path in paths:
        try:
            found = (
                [path.resolve()] if path.is_file() else list(_below(path, with_cases=with_cases))
            )
        except (OSError, RuntimeError, ValueError):
            found = []
        if not found:
            diagnostics.append(_nothing(path))
        files.update(dict.fromkeys(found))
    if len(files) > _MOST_FILES:
        diagnostics.append(Diagnostic("C0405", f"more than {_MOST_FILES} rule files are named"))
    return tuple(files)


def _below(folder: Path, *, with_cases: bool) -> Iterator[Path]:
    """Yield rule files of a folder; links to folders are not followed, nor hidden ones entered."""
    root = folder.resolve()
    for place, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and (with_cases or name != CASES)
        )
        for name in sorted(names):
            found = Path(place, name).resolve()
            if name.endswith(SUFFIX) and found.is_relative_to(root):
                yield found


def _nothing(path: Path) -> Diagnostic:
    if path.exists():
        message = f"`{path}` holds no rule files"
        return Diagnostic("C0405", message, note=f"rule files end in `{SUFFIX}`")
    return Diagnostic("C0405", f"there is no file or folder `{path}`")
