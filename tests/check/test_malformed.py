"""Damaged certificates are rejected for what is wrong with them."""

from __future__ import annotations

import pytest

from constat.check import check_certificate, checking
from constat.check.canonical import Rejected
from tests.check import malformed
from tests.check.catalog import good

CASES = tuple(malformed.malformed())


@pytest.mark.parametrize(("name", "data", "code"), CASES, ids=[name for name, _, _ in CASES])
def test_a_damage_is_rejected_for_what_it_is(name: str, data: bytes, code: str) -> None:
    report = check_certificate(data)
    assert (report.code, report.exit_code) == (code, 1), (report.place, report.reason)
    assert not report.accepted


@pytest.mark.slow
def test_a_certificate_that_takes_too_long_is_rejected() -> None:
    for _, data, code in malformed.limit_cases():
        assert check_certificate(data).code == code
    assert check_certificate(malformed.matches(2)).accepted


def test_every_changed_byte_is_noticed() -> None:
    data = good("gold_by_user").data()
    for position, byte in enumerate(data):
        for new in {byte ^ 1, byte ^ 32, ord("0")} - {byte}:
            changed = data[:position] + bytes([new]) + data[position + 1 :]
            assert check_certificate(changed).code in {
                "canonical",
                "json",
                "digest",
                "number",
                "schema",
            }


def test_every_dropped_or_doubled_byte_is_noticed() -> None:
    data = good("gold_by_user").data()
    for position in range(len(data)):
        assert not check_certificate(data[:position] + data[position + 1 :]).accepted
        assert not check_certificate(data[: position + 1] + data[position:]).accepted


def test_a_pin_that_is_none_of_ours_is_refused() -> None:
    assert check_certificate(good("vip_proved").data(), pin="").code == "pin"


def test_running_out_of_stack_or_memory_is_a_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (RecursionError, MemoryError):

        def fail(_: object, error: type[Exception] = error) -> None:
            raise error

        monkeypatch.setattr(checking, "read_certificate", fail)
        assert check_certificate(good("vip_proved").data()).code == "limit"


def test_a_place_is_built_from_inside_out() -> None:
    rejected = Rejected("code", "reason")
    rejected.within("rows[1]")
    rejected.within("facts[2]")
    assert rejected.place == "facts[2].rows[1]"
