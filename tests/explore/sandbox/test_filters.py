"""The filter of system calls decides as it says, on each machine it knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.explore.sandbox.inside import confining

ALLOW: Final = 0x7FFF0000
EPERM: Final = 0x00050001
ENOSYS: Final = 0x00050026
KILL: Final = 0x80000000
MACHINES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
OWN: Final = 4242
ARGUMENTS = st.lists(st.integers(0, (1 << 64) - 1), min_size=6, max_size=6)
HEADERS: Final = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def decided(machine: str, number: int, arguments: list[int], architecture: int = 0) -> int:
    """Run the filter as the kernel does: a machine of our own, from its documentation."""
    words = [number, architecture or MACHINES[machine], 0, 0]
    for one in arguments:
        words += [one & 0xFFFFFFFF, one >> 32]
    code = confining.instructions(machine, OWN)
    accumulator = place = 0
    while True:
        operation, yes, no, constant = code[place]
        place += 1
        match operation:
            case 0x20:
                accumulator = words[constant // 4]
            case 0x15:
                place += yes if accumulator == constant else no
            case 0x45:
                place += yes if accumulator & constant else no
            case 0x06:
                return constant
            case _:
                raise AssertionError(operation)


def numbers(machine: str) -> dict[str, int]:
    place = list(MACHINES).index(machine)
    tables = (confining._ALLOWED, confining._JUDGED, confining._MISSING)
    return {
        name: number
        for table in tables
        for name, both in table.items()
        if (number := both[place]) is not None
    }


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_the_headers(machine: str) -> None:
    header = HEADERS[machine]
    if not header.exists():
        pytest.skip(f"there is no {header.name} here")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())
    known = {name: int(number) for name, number in found}
    if machine == "aarch64":
        known["newfstatat"] = known["fstatat"]
    for name, number in numbers(machine).items():
        assert known[name] == number, name


@pytest.mark.parametrize("machine", MACHINES)
@given(number=st.integers(0, 600) | st.integers(0, (1 << 32) - 1), arguments=ARGUMENTS)
def test_what_is_not_listed_is_refused(machine: str, number: int, arguments: list[int]) -> None:
    found = decided(machine, number, arguments)
    if number not in numbers(machine).values():
        assert found == EPERM
    else:
        assert found in {ALLOW, EPERM, ENOSYS}


@given(number=st.integers(0, 600), architecture=st.integers(1, (1 << 32) - 1))
def test_another_architecture_ends_the_process(number: int, architecture: int) -> None:
    expected = {KILL} if architecture != MACHINES["x86_64"] else {ALLOW, EPERM, ENOSYS}
    assert decided("x86_64", number, [0] * 6, architecture) in expected


@given(arguments=ARGUMENTS, name=st.sampled_from(sorted(confining._JUDGED)))
def test_both_machines_decide_alike(arguments: list[int], name: str) -> None:
    first, second = confining._JUDGED[name]
    if first is not None and second is not None:
        assert decided("x86_64", first, arguments) == decided("aarch64", second, arguments)


@given(flags=st.integers(0, (1 << 32) - 1))
def test_nothing_is_opened_for_writing(flags: int) -> None:
    writes = flags & (0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000)
    expected = EPERM if writes else ALLOW
    assert decided("x86_64", 257, [0, 0, flags, 0, 0, 0]) == expected
    assert decided("x86_64", 2, [0, flags, 0, 0, 0, 0]) == expected


@given(process=st.integers(0, 1 << 22))
def test_only_itself_is_signalled(process: int) -> None:
    expected = ALLOW if process == OWN else EPERM
    assert decided("x86_64", 234, [process, process, 6, 0, 0, 0]) == expected


@given(arguments=ARGUMENTS)
def test_no_limit_is_set_and_none_of_another_process_is_read(arguments: list[int]) -> None:
    harmless = arguments[0] & 0xFFFFFFFF == 0 and arguments[2] == 0
    assert decided("x86_64", 302, arguments) == (ALLOW if harmless else EPERM)
    assert decided("x86_64", 302, [0, 3, 0, arguments[3], 0, 0]) == ALLOW


def test_a_call_of_the_other_table_is_refused() -> None:
    assert decided("x86_64", 0x40000000 + 39, [0] * 6) == EPERM
    assert decided("x86_64", 435, [0] * 6) == ENOSYS


def test_an_unknown_machine_has_no_filter() -> None:
    assert not confining.known_machine("riscv64")
    assert confining.known_machine("x86_64")
