"""What Python lacks on Windows is asked for where it is used, or has another way beside it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

import pytest

from tests.architecture.sources import PACKAGE, folders, shown, sources_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MISSING: Final = frozenset({"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"})
MISSING_NAMES: Final = frozenset(
    {
        *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "fork", "geteuid"),
        *("getuid", "killpg", "mknod", "pread", "pwrite", "register_at_fork", "setsid", "uname"),
        *("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPROF", "SIGXCPU", "ITIMER_REAL"),
        *("setitimer", "AF_UNIX"),
    }
)
# Runs where steps of Python are kept in, which is refused on Windows before it is loaded.
INSIDE: Final = PACKAGE / "explore" / "sandbox" / "inside"


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is loaded, and is neither tried nor asked about before."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Try | ast.If | ast.IfExp):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            for default in (*child.args.defaults, *child.args.kw_defaults, *child.decorator_list):
                if default is not None:
                    yield from (default, *at_import(default))
            continue
        if not isinstance(child, ast.Lambda):
            yield child
            yield from at_import(child)


def needed(node: ast.AST) -> set[str]:
    match node:
        case ast.Import(names=names):
            return {one.name for one in names} & MISSING
        case ast.ImportFrom(module=str(module), names=names):
            return ({module} & MISSING) | ({one.name for one in names} & MISSING_NAMES)
        case ast.Attribute(value=ast.Name(id="os" | "signal" | "socket"), attr=name):
            return {name} & MISSING_NAMES
    return set()


def found(text: str) -> set[str]:
    return {name for node in at_import(ast.parse(text)) for name in needed(node)}


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_no_module_needs_what_windows_lacks_to_be_loaded(folder: Path) -> None:
    if folder.is_relative_to(INSIDE):
        return
    told = {one.name: found(one.text) for one in sources_in(folder)}
    assert not {name: what for name, what in told.items() if what}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("import fcntl", {"fcntl"}),
        ("import os\nFLAGS = os.O_RDONLY | os.O_CLOEXEC", {"O_CLOEXEC"}),
        ("class A:\n    number = signal.SIGKILL", {"SIGKILL"}),
        ("def f(number=signal.SIGALRM): ...", {"SIGALRM"}),
        ("from resource import RLIMIT_AS", {"resource"}),
        ("from os import fork", {"fork"}),
        ("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None", set()),
        ("def f():\n    import resource", set()),
        ("LINK = getattr(os, 'O_NOFOLLOW', 0)", set()),
    ],
)
def test_it_is_found_wherever_it_runs_at_once(text: str, what: set[str]) -> None:
    assert found(text) == what
