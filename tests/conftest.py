"""What every test shares: no network, reproducible generated examples, public databases."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import resource
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, settings

from tests import extras

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

Host = str | bytes | None
Address = tuple[Any, ...] | str | bytes

# The machine that runs the tests may be busy: an example is never failed for being slow.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "slow",
    deadline=None,
    max_examples=2_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell starts what runs in its background deaf to Ctrl-C, and programs that tests start inherit
# that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs an extra; leave most cases of tests that are `sampled` to it or to `slow`."""
    seen: Counter[tuple[str, str]] = Counter()
    fewer: set[int] = set()
    for item in items:
        extras.mark(item)
        if os.environ.get(extras.ONLY_CORE) and id(test := getattr(item, "obj", None)) not in fewer:
            fewer.add(id(test))
            extras.draw_fewer(test)
        if not hasattr(item, "callspec") or item.get_closest_marker("slow"):
            continue
        # The slow ones are taken out first: an extra keeps a sample of what is left.
        for sampled in sorted(item.iter_markers("sampled"), key=lambda one: len(one.args)):
            count, rest = sampled.args if len(sampled.args) > 1 else (*sampled.args, "slow")
            place = item.nodeid.partition("[")[0], rest
            seen[place] += 1
            if (seen[place] - 1) % count:
                item.add_marker(getattr(pytest.mark, rest))
                break


# Collected cases are a million objects that live to the end. Passes over them, again and again,
# took nearly half of the suite's time: there are none while cases are collected, and afterwards
# the collector leaves them out, with what little garbage collecting made (a pass to find it costs
# every worker a second).
gc.disable()


def pytest_collection_finish() -> None:
    """Let the garbage collector look at what tests make, not at the tests."""
    gc.freeze()
    gc.enable()


_LOOPBACK_NAMES: Final = frozenset({"", "localhost"})


class NetworkBlockedError(AssertionError):
    """A test tried to reach another machine."""


def _is_loopback(host: object) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    if name in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _require_loopback(address: object) -> None:
    # A path is the address of a Unix socket, which cannot leave the machine.
    if isinstance(address, tuple) and not _is_loopback(address[0]):
        message = f"a test may only reach the loopback interface, not {address[0]!r}"
        raise NetworkBlockedError(message)


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse connections and name look-ups that would leave this machine."""
    with pytest.MonkeyPatch.context() as patch:
        _guard(patch)
        yield


@pytest.fixture(autouse=True)
def _no_loop_of_a_browser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hide the loop that the browser of earlier tests keeps running in this thread."""
    held = asyncio._get_running_loop()
    if held is None or "browser" in request.fixturenames:
        yield
        return
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(held)


def _guard(patch: pytest.MonkeyPatch) -> None:
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    getaddrinfo = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Address) -> None:
        _require_loopback(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Address) -> int:
        _require_loopback(address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Host, *rest: Any, **options: Any) -> Any:  # noqa: ANN401  passed on
        if host is not None:
            _require_loopback((host,))
        return getaddrinfo(host, *rest, **options)

    patch.setattr(socket.socket, "connect", guarded_connect)
    patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of public databases; skip the test where there is none."""
    extras.need("data")
    named = os.environ.get("CONSTAT_DATA")
    if not named:
        pytest.skip("CONSTAT_DATA does not name a folder of public databases")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip("CONSTAT_DATA names a folder that does not exist")
    return folder


COSTS: Final = "CONSTAT_COSTS"
"""The variable that names a file to which each test adds its processor seconds and its name."""


def _processor_seconds() -> float:
    """Return what this process and the ended ones that it started have used."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Write down what a test costs, its fixtures included, where a file is named for that."""
    before = _processor_seconds()
    result = yield
    if name := os.environ.get(COSTS):
        with Path(name).open("a", encoding="utf-8") as costs:
            costs.write(f"{_processor_seconds() - before:.3f} {item.nodeid}\n")
    return result


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say what was shown and what was not; who has workers tells for them."""
    if not hasattr(terminalreporter.config, "workerinput"):
        extras.tell(terminalreporter)


def pytest_unconfigure() -> None:
    """Let what was left out be taken apart as ever."""
    gc.unfreeze()
