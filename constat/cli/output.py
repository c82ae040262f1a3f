"""How the command line writes: plain text that is safe on any terminal.

In: texts that may hold anything a database or a file holds. Out: characters on stdout or stderr.
Invariants: no control character of outside text reaches a terminal; colour is used only on a
terminal without NO_COLOR; a closed pipe ends the output and never the command, whose exit code
still counts; a stdout that takes no more, say for a full disk, is an error (C0975); where JSON was
asked for, a failure is one JSON object on stderr and stdout is empty. Example: `safe` shows the
escape character as four characters.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO

import click

from constat.diagnostics import ConstatError, Diagnostic, render, to_json
from constat.diagnostics.interruption import check_interrupted
from constat.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

GREEN: Final = "32"
YELLOW: Final = "33"
RED: Final = "31"
PLAIN: Final = "39"
_CHUNK: Final = 1 << 16

# C0, C1 and what separates lines or turns their direction: a value must not draw on the terminal.
_UNSAFE: Final = regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def prepare_streams() -> None:
    """Make both streams able to write any text."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def use_utf8() -> None:
    """Write stdout in UTF-8 whatever the locale is: for formats that other programs read."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8")


def safe(text: str) -> str:
    """Show control characters as escapes; line ends and tabs stay."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def write(text: str) -> None:
    """Write a result on stdout, with a line end."""
    _put(_results(), safe(text) + "\n")


def write_json(value: object) -> None:
    """Write a result as JSON on stdout."""
    _put(_results(), json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def write_heading(text: str, style: str) -> None:
    """Write a line on stdout, in colour on a terminal."""
    shown = safe(text)
    _put(_results(), f"\x1b[1;{style}m{shown}\x1b[0m\n" if coloured(sys.stdout) else shown + "\n")


def complain(message: str) -> None:
    """Write one error line on stderr."""
    _put(sys.stderr, f"constat: {safe(message)}\n")


def note(message: str) -> None:
    """Write a remark on stderr, unless the command was told to be quiet."""
    if not wished("quiet"):
        _put(sys.stderr, safe(message) + "\n")


def _results() -> TextIO:
    """Give where results are told: not on stdout where a file of the command is written there."""
    return sys.stderr if wished("piped") else sys.stdout


def wished(how: str) -> bool:
    """Tell whether the command that runs was told to be `quiet` or `verbose`, or is `piped`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(f"constat.{how}"))


def show_error(
    problem: ConstatError,
    texts: Mapping[str, str] | None = None,
    *,
    as_json: bool = False,
    models: Mapping[str, object] | None = None,
) -> None:
    """Write the diagnostics of an error on stderr, with the lines they are about, or as JSON.

    `models` is what was spent on language models until then, which only JSON has in it.
    """
    if as_json:
        diagnostics = to_json(problem.diagnostics)
        message = problem.diagnostics[0].message if problem.diagnostics else ""
        show_failure(message, problem.exit_code, diagnostics, models)
        return
    _put(sys.stderr, render(problem.diagnostics, texts or {}, colour=coloured(sys.stderr)))


def show_failure(
    message: str,
    exit_code: int,
    diagnostics: Sequence[Mapping[str, object]] = (),
    models: Mapping[str, object] | None = None,
) -> None:
    """Write a failure on stderr as one JSON object; its form is `constat schema error`."""
    told = {"error": message, "exit_code": exit_code, "diagnostics": list(diagnostics)}
    if models is not None:
        told["models"] = dict(models)
    _put(sys.stderr, json.dumps(told, indent=2, ensure_ascii=True) + "\n")


def write_pieces(pieces: Iterable[str]) -> None:
    """Write a long result on stdout as it is made; stop making it when its reader has gone."""
    for chunk in joined(pieces):
        if not _put(_results(), chunk):
            return


class Pipe:
    """Stdout for bytes, which remembers why it takes no more; what writes may tell it anew."""

    def __init__(self) -> None:
        self.failure: OSError | None = None

    def write(self, content: bytes) -> int:
        """Write all of it; raises `OSError`."""
        try:
            return sys.stdout.buffer.write(content)
        except OSError as problem:
            # Without its traceback, which holds the rows that were to be written.
            self.failure = OSError(problem.errno, problem.strerror)
            raise


def write_bytes(fill: Callable[[Pipe], None]) -> None:
    """Let `fill` write a result that is no text on stdout; a reader that has gone ends it."""
    pipe = Pipe()
    try:
        fill(pipe)
    except Exception:
        # Libraries put errors of their own in the place of what has happened to the pipe; an error
        # that has nothing to do with it is none of stdout's.
        if pipe.failure is None:
            raise
    try:
        sys.stdout.buffer.flush()
    except OSError as problem:
        pipe.failure = pipe.failure or problem
    if pipe.failure is not None:
        _ended(sys.stdout, pipe.failure)


def joined(pieces: Iterable[str]) -> Iterator[str]:
    """Join short texts to chunks that are worth a system call."""
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield "".join(waiting)
            waiting.clear()
            size = 0
    if waiting:
        yield "".join(waiting)


def write_diagnostics(diagnostics: Sequence[Diagnostic], texts: Mapping[str, str]) -> None:
    """Write diagnostics as a result, on stdout."""
    _put(_results(), render(diagnostics, texts, colour=coloured(sys.stdout)))


def bold(text: str) -> str:
    """Make a line bold where stdout may show it."""
    return f"\x1b[1m{text}\x1b[0m" if coloured(sys.stdout) else text


def coloured(stream: TextIO) -> bool:
    """Whether the stream is a terminal that may show colour."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def silence(stream: TextIO) -> None:
    """Point a stream whose reader has gone at nothing, so that closing it cannot fail."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def _put(stream: TextIO, text: str) -> bool:
    if stream is sys.stdout:
        check_interrupted()
    try:
        stream.write(text)
        stream.flush()
    except OSError as problem:
        _ended(stream, problem)
        return False
    return True


def _ended(stream: TextIO, problem: OSError) -> None:
    """Write no more on a stream; raises `ConstatError` where results are lost that somebody reads.

    Of an error that nobody can be told, the exit code is left.
    """
    silence(stream)
    if stream is sys.stdout and not isinstance(problem, BrokenPipeError):
        reason = (problem.strerror or "the system refused it").lower()
        message = f"the standard output cannot be written: {reason}"
        told = "what was written until then may end in the middle of a line"
        raise ConstatError([Diagnostic("C0975", message, note=told)]) from problem


# Files that the user names: read within bounds, written whole or not at all.


def read_file(path: str, most: int) -> bytes:
    """Read a file, or stdin for `-`; more than `most` bytes are cut to `most` + 1."""
    try:
        if path == "-":
            return sys.stdin.buffer.read(most + 1)
        with Path(path).open("rb") as stream:
            return stream.read(most + 1)
    except (OSError, ValueError) as problem:
        raise _failure("C0401", path, "read", problem) from problem


def write_file(path: str, content: bytes, *, last: bool = False, private: bool = False) -> None:
    """Write a file atomically: beside the target, to the disk, then into place.

    `last` where the command has nothing left to do: an interruption comes too late then. A file
    that is `private` may be read by its owner alone, whoever could read the one that was there.
    """
    with replacing(path, last=last, private=private) as stream:
        stream.write(content)


def write_certificate(path: str, content: bytes) -> None:
    """Write a certificate, which holds rows of sources: the file is its owner's alone."""
    write_file(path, content, private=True)


@contextlib.contextmanager
def replacing(path: str, *, last: bool = False, private: bool = False) -> Iterator[BinaryIO]:
    """Give a stream whose bytes become the file once all are written, and nothing before.

    `-` is stdout.
    """
    from constat.store.replacing import replaced  # noqa: PLC0415  loaded when it is used

    _require_name(path)
    try:
        if path == "-":
            content = BytesIO()
            yield content
            sys.stdout.flush()
            sys.stdout.buffer.write(content.getvalue())
            sys.stdout.buffer.flush()
            return
        given = Path(path)
        if given.exists() and not stat.S_ISREG(given.stat().st_mode):
            # A device or a pipe must be written to; a rename would replace it.
            with given.open("wb") as stream:
                yield stream
        else:
            target = Path(os.path.realpath(path))
            mode = None if private else _mode(target)
            with replaced(target, mode, last=last) as stream:
                yield stream
    except OSError as problem:
        raise _failure("C0402", path, "written", problem) from problem


def _require_name(path: str) -> None:
    # Checked first: a ValueError of whoever writes must not be taken for a bad name.
    try:
        encoded = os.fsencode(path)
    except ValueError as problem:
        raise _failure("C0402", path, "written", problem) from problem
    if b"\0" in encoded:
        raise _failure("C0402", path, "written", ValueError("NUL"))


def _mode(target: Path) -> int:
    """Give the rights of the file that is there, or those of a new one."""
    return stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _failure(code: str, path: str, what: str, problem: Exception) -> ConstatError:
    reason = problem.strerror if isinstance(problem, OSError) else "this is no file name"
    return ConstatError([Diagnostic(code, f"`{path}` cannot be {what}: {reason}")])
