"""Find rule libraries and their cases.

In: paths as people name them. Out: libraries, each once, in the order of the paths and of names.
Invariant: links are not followed out of a named folder. Example: `rules` gives a library for every
folder below it that has rule files and a folder `cases`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.library.cases.reading import Library
from constat.library.files import CASES, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_FOLDERS: Final = 10_000


def find_libraries(paths: Sequence[Path], roots: Sequence[Path] = ()) -> tuple[Library, ...]:
    """Give the libraries of the paths, with the cases that are meant."""
    chosen: dict[Path, dict[Path, None]] = {}
    for path in paths:
        for folder, cases in _under(path):
            chosen.setdefault(folder, {}).update(dict.fromkeys(cases))
    return tuple(
        Library(folder, tuple(_rule_files(folder)), tuple(cases), tuple(roots))
        for folder, cases in chosen.items()
    )


def _under(path: Path) -> Iterator[tuple[Path, list[Path]]]:
    try:
        found = path.resolve()
        if found.is_file():
            if found.parent.name == CASES and found.suffix == SUFFIX:
                yield found.parent.parent, [found]
        elif found.name == CASES and found.is_dir():
            yield found.parent, _rule_files(found)
        elif found.is_dir():
            yield from _below(found)
    except (OSError, RuntimeError, ValueError):
        # A path that the system does not know names no library.
        return


def _below(root: Path) -> Iterator[tuple[Path, list[Path]]]:
    for number, (place, folders, _) in enumerate(os.walk(root)):
        if number >= _MOST_FOLDERS:
            return
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if CASES in folders:
            folders.remove(CASES)
            folder = Path(place)
            if _rule_files(folder):
                yield folder, _rule_files(folder / CASES)


def _rule_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob(f"*{SUFFIX}")) if path.is_file()]
