"""Where a project lies, and which files belong to it.

In: a folder to start from. Out: the folder of the nearest project above it. Invariant: a path that
a project names is resolved through links and lies inside the project or a folder that was given.
Example: in `shop/rules/` the project is `shop/` when that holds a `constat.yaml`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIGURATION: Final = "constat.yaml"
PACKAGES: Final = "packages"
"""The folder of a project that the libraries of others are copied into."""
PACKAGES_LOCK: Final = "packages.lock"
MANIFEST: Final = "library.yaml"
"""What a library of rules says of itself."""
_PYPROJECT: Final = "pyproject.toml"
_LARGEST_PYPROJECT: Final = 1 << 20


def find_project(start: Path | None = None) -> Path:
    """Give the project folder: `start` itself, the nearest above, or what `pyproject.toml` names.

    Raises `ConstatError` where there is none.
    """
    given = Path.cwd() if start is None else Path(start)
    try:
        origin = given.resolve()
        if origin.is_file() and origin.name == CONFIGURATION:
            return origin.parent
        for folder in (origin, *origin.parents):
            if (folder / CONFIGURATION).is_file():
                return folder
            redirected = _redirect(folder)
            if redirected is not None:
                return redirected
    except (OSError, ValueError) as problem:
        message = f"the folder cannot be searched ({type(problem).__name__})"
        raise ConstatError([Diagnostic("C0500", message)]) from None
    raise ConstatError(
        [
            Diagnostic(
                "C0500",
                f"no {CONFIGURATION} in this folder or above it",
                help="begin one: `constat init FILE_OR_ADDRESS`, or with made-up data"
                " `constat init --example vip`",
            )
        ]
    )


def inside(path: str, folder: Path, roots: Sequence[Path] = ()) -> Path | None:
    """Resolve a path relative to `folder`; `None` when it leads out of the folder and the roots."""
    if "\0" in path:
        return None
    try:
        found = (folder / path).resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    allowed = (folder, *roots)
    return found if any(found.is_relative_to(root.resolve()) for root in allowed) else None


def folder_at(folder: Path, path: str) -> Path | None:
    """Resolve the path of a folder that may lie anywhere; `None` where there is none."""
    try:
        found = (folder / path).resolve()
        return found if found.is_dir() else None
    except (OSError, RuntimeError, ValueError):
        return None


def files_at(path: Path, suffix: str) -> tuple[Path, ...] | None:
    """Give a file, or the files of a folder with that suffix; `None` where there is neither.

    A name that no file system takes is the name of nothing.
    """
    try:
        if path.is_dir():
            return tuple(sorted(path.glob(f"*{suffix}")))
        return (path,) if path.is_file() else None
    except OSError:
        return None


def _redirect(folder: Path) -> Path | None:
    """Read `[tool.constat] project` of the folder's `pyproject.toml`."""
    file = folder / _PYPROJECT
    if not file.is_file() or file.stat().st_size > _LARGEST_PYPROJECT:
        return None
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return None  # another tool's broken file is no reason to stop the search
    tool = tables.get("tool")
    section = tool.get("constat") if isinstance(tool, dict) else None
    named = section.get("project") if isinstance(section, dict) else None
    if named is None:
        return None
    target = inside(named, folder) if isinstance(named, str) else None
    if target is None or not (target / CONFIGURATION).is_file():
        message = f"`[tool.constat] project` in {_PYPROJECT} names no project in its folder"
        hint = "name a folder in it that has one; `constat init FILE_OR_ADDRESS` begins one"
        raise ConstatError([Diagnostic("C0500", message, help=hint)])
    return target
