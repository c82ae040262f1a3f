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
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# The system calls of a step, as a program that the kernel runs before each of them.

_ARCHITECTURES: Final = MappingProxyType({"x86_64": 0xC000003E, "aarch64": 0xC00000B7})
# Each call with its number on x86_64 and on aarch64, which lacks the older ones.
_ALLOWED: Final = MappingProxyType(
    {
        "access": (21, None),
        "brk": (12, 214),
        "clock_getres": (229, 114),
        "clock_gettime": (228, 113),
        "clock_nanosleep": (230, 115),
        "close": (3, 57),
        "dup": (32, 23),
        "exit": (60, 93),
        "exit_group": (231, 94),
        "faccessat": (269, 48),
        "faccessat2": (439, 439),
        "fstat": (5, 80),
        "futex": (202, 98),
        "getcwd": (79, 17),
        "getdents64": (217, 61),
        "getegid": (108, 177),
        "geteuid": (107, 175),
        "getgid": (104, 176),
        "getpid": (39, 172),
        "getppid": (110, 173),
        "getrandom": (318, 278),
        "getrlimit": (97, 163),
        "getrusage": (98, 165),
        "gettid": (186, 178),
        "gettimeofday": (96, 169),
        "getuid": (102, 174),
        "lseek": (8, 62),
        "lstat": (6, None),
        "madvise": (28, 233),
        "mmap": (9, 222),
        "mprotect": (10, 226),
        "mremap": (25, 216),
        "munmap": (11, 215),
        "nanosleep": (35, 101),
        "newfstatat": (262, 79),
        "pread64": (17, 67),
        "read": (0, 63),
        "readlink": (89, None),
        "readlinkat": (267, 78),
        "readv": (19, 65),
        "restart_syscall": (219, 128),
        "rt_sigaction": (13, 134),
        "rt_sigprocmask": (14, 135),
        "rt_sigreturn": (15, 139),
        "sched_getaffinity": (204, 123),
        "sched_yield": (24, 124),
        "sigaltstack": (131, 132),
        "stat": (4, None),
        "statx": (332, 291),
        "time": (201, None),
        "times": (100, 153),
        "uname": (63, 160),
        "write": (1, 64),
        "writev": (20, 66),
    }
)
# Let through only with harmless arguments.
_JUDGED: Final = MappingProxyType(
    {
        "fcntl": (72, 25),
        "ioctl": (16, 29),
        "open": (2, None),
        "openat": (257, 56),
        "prlimit64": (302, 261),
        "tgkill": (234, 131),
    }
)
# The C library takes an older call where a newer one is said to be missing.
_MISSING: Final = MappingProxyType({"clone3": (435, 435), "openat2": (437, 437)})

# O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_TMPFILE: the same on both machines.
_WRITING: Final = 0x3 | 0o100 | 0o1000 | 0o2000 | 0o20000000
# TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX: what Python asks of a descriptor.
_IOCTLS: Final = (0x5401, 0x5413, 0x541B, 0x5451, 0x5450)
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC; none that names an owner to signal.
_FCNTLS: Final = (0, 1, 2, 3, 4, 1030)
# FASYNC would have the kernel send signals.
_ASYNC: Final = 0o20000

_LOAD: Final = 0x20
_EQUAL: Final = 0x15
_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_ARGUMENTS: Final = 16
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_REFUSE: Final = 0x00050000
_EPERM: Final = 1
_ENOSYS: Final = 38
_LOW_WORD: Final = 0xFFFFFFFF

Instruction = tuple[int, int, int, int]


def known_machine(machine: str) -> bool:
    """Tell whether the numbers of a machine's calls are known."""
    return machine in _ARCHITECTURES


def program(machine: str, process: int) -> bytes:
    """Assemble the filter of a step, as the kernel takes it."""
    return b"".join(struct.pack("<HBBI", *one) for one in instructions(machine, process))


def instructions(machine: str, process: int) -> list[Instruction]:
    """Give the filter of a step as instructions: operation, two jumps, and a constant."""
    place = list(_ARCHITECTURES).index(machine)
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for numbers in _ALLOWED.values():
        code += _case(numbers[place], [(_RETURN, 0, 0, _ALLOW)])
    for name, numbers in _JUDGED.items():
        code += _case(numbers[place], _judgement(name, process))
    for numbers in _MISSING.values():
        code += _case(numbers[place], [(_RETURN, 0, 0, _REFUSE | _ENOSYS)])
    code.append((_RETURN, 0, 0, _REFUSE | _EPERM))
    return code


def _case(number: int | None, body: list[Instruction]) -> list[Instruction]:
    """Run the body, which returns, for one call; go on behind it for the others."""
    if number is None:
        return []
    return [(_EQUAL, 0, len(body), number), *body]


def _judgement(name: str, process: int) -> list[Instruction]:
    match name:
        case "open":
            return _without(1, _WRITING)
        case "openat":
            return _without(2, _WRITING)
        case "ioctl":
            return _one_of(1, _IOCTLS)
        case "fcntl":
            # The owner of a descriptor is never set, and the flag that needs one neither.
            return [*_unless_any(2, _ASYNC), *_one_of(1, _FCNTLS)]
        case "tgkill":
            return _one_of(0, (process,))
        case _:
            # prlimit64 that asks about the process itself, and sets nothing.
            return [
                *_unless_any(0, _LOW_WORD),
                *_unless_any(2, _LOW_WORD),
                *_unless_any(2, _LOW_WORD, high=True),
                (_RETURN, 0, 0, _ALLOW),
            ]


def _argument(place: int, *, high: bool = False) -> Instruction:
    # Both machines are little-endian: the low word comes first.
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * place + 4 * high)


def _unless_any(place: int, bits: int, *, high: bool = False) -> list[Instruction]:
    """Refuse an argument that has any of the bits, and go on otherwise."""
    return [
        _argument(place, high=high),
        (_ANY_BIT, 0, 1, bits),
        (_RETURN, 0, 0, _REFUSE | _EPERM),
    ]


def _without(place: int, bits: int) -> list[Instruction]:
    return [*_unless_any(place, bits), (_RETURN, 0, 0, _ALLOW)]


def _one_of(place: int, values: tuple[int, ...]) -> list[Instruction]:
    tests = [(_EQUAL, len(values) - 1 - index + 1, 0, value) for index, value in enumerate(values)]
    return [
        _argument(place),
        *tests,
        (_RETURN, 0, 0, _REFUSE | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


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
