"""Look at what a project keeps: its state folder, the files in it, and the keys it trusts.

In: a project. Out: findings. Invariant: files are opened read-only; a file that another program is
writing is left alone. Example: a state folder that cannot be written is an error, because stated
facts would be lost.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from constat.session.diagnosing_values import ERROR, NOTE, OK, WARNING, Finding, counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.project import KeySetting, Project

_LEAST_FREE: Final = 64 << 20
_SECONDS: Final = 2.0
_STATE: Final = "state"
_MOST_LISTED: Final = 1_000


def state_findings(project: Project) -> Iterator[Finding]:
    """Look at the state folder and the databases in it."""
    folder = project.state
    if not folder.exists():
        parent = next(one for one in folder.parents if one.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            yield Finding(_STATE, OK, "nothing is kept yet; the folder is made when needed")
        else:
            yield _unwritable(project)
        return
    if not folder.is_dir():
        hint = f"move it away, or name another folder in `state:` of {project.config_name}"
        yield Finding(_STATE, ERROR, f"`{folder.name}` is no folder", hint)
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield _unwritable(project)
        return
    yield from _space(folder)
    every = sorted(folder.glob("*.sqlite"))
    found = every[:_MOST_LISTED]
    damaged = [problem for one in found if (problem := _damage(one)) is not None]
    yield from damaged
    yield from (one for path in found for one in _rights(path))
    if not damaged:
        others = f" of {len(every):,}" if len(every) > len(found) else ""
        told = f"looked at {counted(len(found), 'file')}{others}: nothing is damaged"
        yield Finding(_STATE, OK, told)


def key_findings(project: Project) -> Iterator[Finding]:
    """Look at the keys that the project trusts."""
    today = datetime.now(UTC).date().isoformat()
    for key in project.keys.values():
        yield _key(key, today, project)


def _key(key: KeySetting, today: str, project: Project) -> Finding:
    check = f"key {key.name}"
    if not key.file.is_file():
        hint = f"put it there, or take the key out of `keys:` in {project.config_name}"
        return Finding(check, ERROR, f"there is no file {key.file.name}", hint, "C0745")
    if key.revoked and str(key.revoked) <= today:
        return Finding(check, NOTE, f"revoked since {key.revoked}: newer signatures do not count")
    if key.expires and str(key.expires) < today:
        hint = f"`constat keygen` makes a new one; name it in `keys:` of {project.config_name}"
        return Finding(check, WARNING, f"expired on {key.expires}", hint)
    return Finding(check, OK, f"trusted as {', '.join(key.roles)}")


def _unwritable(project: Project) -> Finding:
    message = "the state folder cannot be written: facts, answers and records cannot be kept"
    hint = f"give it to this user, or name another one in `state:` of {project.config_name}"
    return Finding(_STATE, ERROR, message, hint)


def _space(folder: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free
    if free < _LEAST_FREE:
        message = f"only {free >> 20} MiB are free where the state is kept"
        yield Finding(
            _STATE, WARNING, message, "`constat cache clear` makes room, or the disk does"
        )


def _damage(path: Path) -> Finding | None:
    """Have SQLite check a file of ours."""
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_SECONDS
        )
        try:
            ((said,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as problem:
        code = (getattr(problem, "sqlite_errorcode", 0) or 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return None
        said = "not a database" if code == sqlite3.SQLITE_NOTADB else "cannot be read"
    if said == "ok":
        return None
    hint = "restore it from a backup, or move it away; `constat cache clear` removes kept answers"
    return Finding(_STATE, ERROR, f"{path.name} is damaged", hint)


def _rights(path: Path) -> Iterator[Finding]:
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        message = f"{path.name} can be written by other users"
        yield Finding(_STATE, WARNING, message, f"chmod go-w {path.name}")
