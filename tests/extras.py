"""Tests that need more than Python or much time, and the table of what a run has shown.

The core needs neither a server nor a browser nor public databases: `make test`. What needs one is
marked by the fixtures and parameters it asks for, and runs by `make test-NAME`. Examples that
run whole, faults and long families of laws are marked where they stand; the core has samples.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from types import ModuleType

    from _pytest.terminal import TerminalReporter


class Late:
    """A large library that is loaded by the first test that asks for something of it.

    Each worker collects all tests; what only some of them need would cost every one of them.
    """

    def __init__(self, name: str, *, extra: str = "") -> None:
        self._name = name
        if extra and find_spec(name.partition(".")[0]) is None:
            pytest.skip(f"the extra `{extra}` is not installed", allow_module_level=True)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the library has
        # pytest asks each name of a module for what tests and fixtures have.
        if name.startswith(("_", "pytest")):
            raise AttributeError(name)
        return getattr(loaded(self._name), name)


def loaded(name: str) -> ModuleType:
    """Load a package, or skip the test: it may be there, and a library of the system not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(name)
    except (ImportError, OSError):
        pytest.skip(f"{name} cannot be loaded here")


CORE: Final = "core"
EXTRAS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "postgres": frozenset({"postgresql", "postgresql_server"}),
        "mariadb": frozenset({"mariadb", "mariadb_server"}),
        "stores": frozenset({"store_server", "object_server"}),
        "sandbox": frozenset({"bubblewrap"}),
        "browser": frozenset({"browser", "pages"}),
        "notebook": frozenset({"kernel"}),
        "newcomer": frozenset({"installed"}),
        "site": frozenset({"site"}),
        "spark": frozenset({"spark_server"}),
        "data": frozenset({"data_folder"}),
        "examples": frozenset(),
        "faults": frozenset(),
        "laws": frozenset(),
    }
)
"""The names of fixtures, and the values of parameters, that need an extra; none: marked by hand."""

_SETTINGS: Final = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test, and looks for them when it runs."""

OUTCOMES: Final = ("passed", "failed", "skipped")
SHOWN: Final = "CONSTAT_SHOWN"
"""The variable that names a file in which several runs collect what they have shown."""

ONLY_CORE: Final = "CONSTAT_ONLY_CORE"
"""The variable that `make test` sets: a test that starts a server then lacks its mark."""


def mark(item: pytest.Item) -> None:
    """Mark a test with the extras it needs."""
    names = set(getattr(item, "fixturenames", ()))
    if hasattr(item, "callspec"):
        values = (getattr(one, "value", one) for one in item.callspec.params.values())
        names |= {value for value in values if isinstance(value, str)}
    for extra, needs in EXTRAS.items():
        if names & needs:
            item.add_marker(getattr(pytest.mark, extra))


def draw_fewer(test: object) -> None:
    """Have a property tried with a third of its examples; `make test-laws` tries it with all."""
    from hypothesis import is_hypothesis_test, settings

    if is_hypothesis_test(test):
        chosen = getattr(test, _SETTINGS)
        setattr(test, _SETTINGS, settings(chosen, max_examples=1 + chosen.max_examples // 3))


def need(extra: str) -> None:
    """Fail where a test of the core is about to start what belongs to an extra."""
    if os.environ.get(ONLY_CORE):
        message = f"this test needs {extra}: mark it with @pytest.mark.{extra}"
        raise AssertionError(message)


def tell(reporter: TerminalReporter) -> None:
    """Print what ran and what was skipped, with this run's tests and those before it."""
    shown = _before()
    for section, outcome, why in _outcomes(reporter):
        counts = shown.setdefault(section, {})
        counts[outcome] = counts.get(outcome, 0) + 1
        if why:
            reasons = shown.setdefault(f"{section} skipped", {})
            reasons[why] = reasons.get(why, 0) + 1
    if name := os.environ.get(SHOWN):
        Path(name).write_text(json.dumps(shown), encoding="utf-8")
        for line in table(shown):
            reporter.write_line(line)


def _before() -> dict[str, dict[str, int]]:
    name = os.environ.get(SHOWN)
    if not name or not Path(name).exists() or not Path(name).stat().st_size:
        return {}
    found: dict[str, dict[str, int]] = json.loads(Path(name).read_text(encoding="utf-8"))
    return found


def _outcomes(reporter: TerminalReporter) -> Iterator[tuple[str, str, str]]:
    """Yield the section, the outcome and the reason of each test."""
    kinds = {"error": "failed", "xfailed": "skipped"}
    for kind in (*OUTCOMES, *kinds):
        for report in reporter.stats.get(kind, ()):
            section = next((one for one in EXTRAS if one in getattr(report, "keywords", ())), CORE)
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            yield section, kinds.get(kind, kind), why.removeprefix("Skipped: ")


def table(shown: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield the lines of the table: a section for each line, then why tests were skipped."""
    rows: list[Sequence[object]] = [("", *OUTCOMES)]
    for section in (CORE, *EXTRAS):
        counts = shown.get(section)
        rows.append((section, *(counts.get(one, 0) for one in OUTCOMES)) if counts else ())
        if not counts:
            rows[-1] = (section, "not run", "", "")
    yield ""
    for row in rows:
        yield f"{row[0]!s:<10}" + "".join(f"{cell!s:>9}" for cell in row[1:])
    for section in (CORE, *EXTRAS):
        for why, count in Counter(shown.get(f"{section} skipped", {})).most_common():
            yield f"  {section}: {count} skipped, not shown: {why}"
