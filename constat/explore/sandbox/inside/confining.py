"""Give up for good what a step must not have: files, network, privileges, more than its share.

In: what may be read, and how much may be used. Out: nothing; the process is confined or an
`OSError` says what could not be given up, and then no step runs. Invariant: nothing given up here
can be taken back, by any code. Example: `confine_files(["/usr/lib/python3.11"])`.
Reference: https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.explore.sandbox.inside.filters import known_machine, program

if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_NEW_PRIVILEGES: Final = 38
_DUMPABLE: Final = 4
_DEATH_SIGNAL: Final = 1
_SECCOMP: Final = 22
_FILTER: Final = 2
_GET_SECCOMP: Final = 21
_SIGKILL: Final = 9

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_ABI_FLAG: Final = 1
_BENEATH: Final = 1
_READ_FILE: Final = 1 << 2
_READ_FOLDER: Final = 1 << 3
_WRITE_FILE: Final = 1 << 1
_REMOVE_FILE: Final = 1 << 5
_MAKE_FILE: Final = 1 << 8
_TRUNCATE: Final = 1 << 14
_FIRST_RIGHTS: Final = 13
_REFER_ABI: Final = 2
_TRUNCATE_ABI: Final = 3
_NETWORK_ABI: Final = 4
_DEVICE_ABI: Final = 5
_SCOPE_ABI: Final = 6

_NEW_USER: Final = 0x10000000
_NEW_NETWORK: Final = 0x40000000
_NEW_IPC: Final = 0x08000000
_NEW_HOSTNAME: Final = 0x04000000
_CAPABILITY_VERSION: Final = 0x20080522

_MOST_FILES: Final = 64


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(found: int, what: str) -> int:
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return found


def landlock_version() -> int:
    """Give the version of Landlock; 0 where the kernel has none, or keeps it switched off."""
    found = int(_library().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ABI_FLAG))
    return max(found, 0)


def filters_work() -> bool:
    """Tell whether the kernel runs filters of system calls, and the numbers are known."""
    known = known_machine(platform.machine())
    return known and int(_library().prctl(_GET_SECCOMP, 0, 0, 0, 0)) >= 0


def give_up_privileges() -> None:
    """Never gain a privilege again, drop those there are, and be no one's to trace."""
    library = _library()
    _call(library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    header = struct.pack("<Ii", _CAPABILITY_VERSION, 0)
    _call(library.capset(header, bytes(24)), "capabilities")
    _call(library.prctl(_DUMPABLE, 0, 0, 0, 0), "tracing")


def leave_namespaces() -> bool:
    """Move into empty namespaces of network and messages; tells whether the machine allows it."""
    wanted = _NEW_USER | _NEW_NETWORK | _NEW_IPC | _NEW_HOSTNAME
    return int(_library().unshare(wanted)) == 0


def confine_files(
    readable: Sequence[str], listable: Sequence[str], writable: Sequence[str] = ()
) -> None:
    """Let nothing be opened but what lies beneath these paths; some folders may be listed only."""
    version = landlock_version()
    if not version:
        raise OSError("this kernel has no Landlock")
    library = _library()
    rights = (1 << _FIRST_RIGHTS) - 1
    rights |= (version >= _REFER_ABI) << 13 | (version >= _TRUNCATE_ABI) << 14
    rights |= (version >= _DEVICE_ABI) << 15
    network = 3 if version >= _NETWORK_ABI else 0
    scopes = 3 if version >= _SCOPE_ABI else 0
    words = 1 if version < _NETWORK_ABI else 2 if version < _SCOPE_ABI else 3
    told = struct.pack("<QQQ", rights, network, scopes)[: 8 * words]
    ruleset = _call(
        library.syscall(_CREATE_RULESET, told, ctypes.c_size_t(len(told)), 0), "ruleset"
    )
    try:
        for path in readable:
            _add_rule(library, ruleset, path, _READ_FILE | _READ_FOLDER)
        for path in listable:
            _add_rule(library, ruleset, path, _READ_FOLDER)
        written = _READ_FILE | _READ_FOLDER | _WRITE_FILE | _REMOVE_FILE | _MAKE_FILE
        written |= _TRUNCATE & rights
        for path in writable:
            _add_rule(library, ruleset, path, written)
        _call(library.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    finally:
        os.close(ruleset)


def _add_rule(library: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not Path(path).is_dir():
            rights &= _READ_FILE
        rule = struct.pack("<Qi", rights, descriptor)
        _call(library.syscall(_ADD_RULE, ruleset, _BENEATH, rule, 0), "rule")
    finally:
        os.close(descriptor)


def limit_use(memory: int, seconds: int) -> None:
    """Bound memory and processor time; nothing may be written, locked or queued."""
    bounds = (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _MOST_FILES),
        (resource.RLIMIT_MEMLOCK, 0),
    )
    for what, bound in bounds:
        resource.setrlimit(what, (bound, bound))


def filter_calls() -> None:
    """Leave only the system calls that a step may make; the last thing to be given up."""
    text = program(platform.machine(), os.getpid())
    code = ctypes.create_string_buffer(text, len(text))
    # struct sock_fprog: the number of instructions, and where they are.
    told = struct.pack("<HxxxxxxQ", len(text) // 8, ctypes.addressof(code))
    _call(_library().prctl(_SECCOMP, _FILTER, told, 0, 0), "filter of system calls")


def die_with(parent: int) -> None:
    """End when the parent ends."""
    _call(_library().prctl(_DEATH_SIGNAL, _SIGKILL, 0, 0, 0), "death signal")
    if os.getppid() != parent:
        raise OSError("the parent has ended")
