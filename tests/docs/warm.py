"""A `constat` that starts at once: each command is a fork of a process that has loaded it already.

In: a folder. Out: a program `constat` in it, which takes arguments, folder, environment and the
three streams to the process that waits, and ends with its exit code. Invariant: nothing but modules
is shared between commands; what a cold start costs and loads is tested elsewhere.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.examples.shop import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

# Modules of Python alone: threads of others would not survive a fork.
_LOADED: Final = (
    "constat.cli.entry",
    "constat.cli.prove",
    "constat.cli.query",
    "constat.cli.verify",
    "constat.session.session",
    "constat.check",
    "sqlglot",
    "yaml",
)
_MOST: Final = 1 << 20
_SHIM: Final = """#!{python} -SE
import json, os, socket, sys
link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
link.connect({place!r})
told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(link, [len(told).to_bytes(4, "big")], [0, 1, 2])
link.sendall(told)
sys.exit(int(link.recv(16) or b"70"))
"""


@contextmanager
def warm_constat(folder: Path) -> Iterator[Path]:
    """Give a folder for the path, in which `constat` is."""
    place = folder / "socket"
    program = folder / "constat"
    program.write_text(_SHIM.format(python=sys.executable, place=str(place)), encoding="utf-8")
    program.chmod(0o755)
    command = [sys.executable, "-m", "tests.docs.warm", str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == b"ready\n"
        try:
            yield folder
        finally:
            waiting.kill()


def serve(place: str) -> None:
    """Wait for commands for ever."""
    for name in _LOADED:
        import_module(name)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(place)
        server.listen()
        os.write(1, b"ready\n")
        while True:
            link, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _run(link)
            link.close()
            # Children that have ended are let go.
            while _reaped():
                pass


def _reaped() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _run(link: socket.socket) -> None:
    """Be the command: its arguments, folder, environment and streams. Never returns."""
    code: Any = 70
    try:
        size, streams, _, _ = socket.recv_fds(link, 4, 3)
        told = b""
        while len(told) < int.from_bytes(size, "big"):
            told += link.recv(_MOST)
        arguments, folder, environment = json.loads(told)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
        sys.argv = ["constat", *arguments]
        code = _ended()
        sys.stdout.flush()
    finally:
        link.sendall(str(code).encode())
        os._exit(0)


def _ended() -> int:
    try:
        found = import_module("constat.__main__").main()
    except SystemExit as end:
        found = end.code
    return found if isinstance(found, int) else int(found is not None)


if __name__ == "__main__":
    serve(sys.argv[1])
