from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from constat.project import load_project
from constat.project.apis import ApiSetting
from constat.session import Session

Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Write a project of one API, `crm`, and its rules."""

    def write(settings: str, rules: str, name: str = "crm") -> Path:
        lines = "".join(f"    {line}\n" for line in settings.strip().splitlines())
        text = f"project: t\nrules: rules\nlimits: {{seconds: 20}}\napis:\n  {name}:\n{lines}"
        (tmp_path / "constat.yaml").write_text(text)
        (tmp_path / "rules").mkdir(exist_ok=True)
        (tmp_path / "rules" / "a.dl").write_text(rules)
        return tmp_path

    return write


@pytest.fixture
def setting(tmp_path: Path) -> Callable[[str], ApiSetting]:
    """Read the settings of one API."""

    def read(settings: str) -> ApiSetting:
        lines = "".join(f"    {line}\n" for line in settings.strip().splitlines())
        (tmp_path / "constat.yaml").write_text(f"project: t\napis:\n  crm:\n{lines}")
        return load_project(tmp_path).apis["crm"]

    return read


@pytest.fixture
def opened() -> Iterator[Callable[[Path], Session]]:
    """Open sessions that are closed at the end."""
    found: list[Session] = []

    def open_one(folder: Path) -> Session:
        found.append(Session(folder))
        return found[-1]

    yield open_one
    for one in found:
        one.close()
