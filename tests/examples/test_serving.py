"""What runs a server for others: a unit, a manifest, a recipe of an image, and copies of state."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from constat import Session
from tests.cli.running import run
from tests.examples.projects import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ROOT / "examples" / "serving"
CONSTAT = Path(sys.executable).parent / "constat"


def documents() -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text(encoding="utf-8"))


def options() -> set[str]:
    told = run("serve", "--help").out
    return set(re.findall(r"--[a-z-]+", told))


def test_the_manifest_asks_what_the_server_has() -> None:
    kinds = {one["kind"]: one for one in documents()}
    assert set(kinds) == {"PersistentVolumeClaim", "Deployment", "Service"}
    pod = kinds["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert {one for one in container["args"] if one.startswith("--")} <= options()
    volumes = {one["name"] for one in pod["volumes"]}
    assert {one["name"] for one in container["volumeMounts"]} == volumes
    # The state belongs to one machine, so no second pod begins before the first has ended.
    assert kinds["Deployment"]["spec"]["replicas"] == 1
    assert kinds["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    labels = kinds["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert kinds["Service"]["spec"]["selector"].items() <= labels.items()


def test_the_recipe_of_an_image_starts_what_there_is() -> None:
    text = (FOLDER / "Containerfile").read_text(encoding="utf-8")
    started = re.findall(r"^(?:ENTRYPOINT|CMD) (\[.*\])$", text, re.MULTILINE)
    words = [word for line in started for word in yaml.safe_load(line)]
    assert words[:2] == ["constat", "serve"]
    assert {one for one in words if one.startswith("--")} <= options()
    assert "USER 10001" in text
    # What it installs is there, what it copies is what its page says, and it listens where it says.
    (wished,) = re.findall(r'"constat\[([a-z,]+)\]"', text)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert set(wished.split(",")) <= set(extras)
    assert re.findall(r"^COPY (?:--\S+ )?(\S+)", text, re.MULTILINE) == ["dist*/", "project"]
    (port,) = re.findall(r"^EXPOSE (\d+)$", text, re.MULTILINE)
    assert f"127.0.0.1:{port}/healthz" in text
    assert f"default: {port}" in run("serve", "--help").out
    folder = re.findall(r"^VOLUME (.*)$", text, re.MULTILINE)[0]
    assert folder == f"{re.findall('^WORKDIR (.*)$', text, re.MULTILINE)[0]}/.constat"


BEGINS_WITH = "docker.io/library/python:3.13-slim"
# How each builder says whether it has an image, and builds without fetching one.
BUILDERS = {
    "podman": (("image", "exists"), ("build", "--pull=never")),
    "buildah": (("inspect", "--type", "image"), ("bud", "--pull-never", "--isolation=chroot")),
    "docker": (("image", "inspect"), ("build",)),
}


def told(*words: object, **how: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401  of `run`
    return subprocess.run([*map(str, words)], check=False, capture_output=True, text=True, **how)


def builder() -> str:
    """Name a program that builds images here and has the one to begin with; else skip."""
    found = [one for one in BUILDERS if shutil.which(one) and not told(one, "info").returncode]
    if not found:
        pytest.skip("no builder of images: podman, buildah, or docker with its service")
    for one in found:
        if told(one, *BUILDERS[one][0], BEGINS_WITH).returncode == 0:
            return one
    pytest.skip(f"no image {BEGINS_WITH} for {found[0]}; `make image` fetches it where it can")


@pytest.mark.examples
def test_the_recipe_of_an_image_is_built_and_runs_where_a_builder_is(tmp_path: Path) -> None:
    name = builder()
    assert f"\nFROM {BEGINS_WITH}\n" in (FOLDER / "Containerfile").read_text(encoding="utf-8")
    begun = told(CONSTAT, "init", "--example", "vip", "--directory", tmp_path / "project")
    assert begun.returncode == 0, begun.stderr
    (tmp_path / "dist").mkdir()
    shutil.copy(FOLDER / "Containerfile", tmp_path)
    made = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist")
    assert told(*made, cwd=ROOT).returncode == 0
    ran = told(name, *BUILDERS[name][1], "-t", "constat-tried", ".", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    if name == "buildah":
        box = told(name, "from", "constat-tried").stdout.strip()
        ran = told(name, "run", "--isolation=chroot", box, "--", "constat", "prove", "is_vip(C001)")
        told(name, "rm", box)
    else:
        ran = told(name, "run", "--rm", "--entrypoint", "constat", "constat-tried",
                   *("prove", "is_vip(C001)"))  # fmt: skip
    assert "PROVED: is_vip(C001)" in ran.stdout, ran.stderr


@pytest.mark.examples
def test_the_unit_is_one(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not there")
    text = (FOLDER / "constat.service").read_text(encoding="utf-8")
    unit = tmp_path / "constat.service"
    unit.write_text(text.replace("/opt/constat/bin/constat", str(CONSTAT)))
    ran = subprocess.run(
        [verify, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    told = [one for one in ran.stderr.splitlines() if "constat.service" in one]
    assert told == []
    started = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert started is not None
    assert {one for one in started[1].split() if one.startswith("--")} <= options()


def backup(*words: object) -> int:
    command = [sys.executable, str(FOLDER / "backup.py"), *map(str, words)]
    return subprocess.run(command, check=False, capture_output=True).returncode


def modes(folder: Path) -> dict[str, int]:
    return {one.name: one.stat().st_mode for one in folder.rglob("*") if one.is_file()}


def test_a_copy_of_the_state_is_whole_while_others_write(shop: Path, tmp_path: Path) -> None:
    state, saved = shop / ".constat", tmp_path / "saved"
    with Session(shop) as session:
        session.facts.add("contract_value(C009, 7)", author="ann")
        stop = threading.Event()

        def write() -> None:
            with Session(shop) as other:
                for number in range(10, 400):
                    if stop.is_set():
                        return
                    other.facts.add(f"contract_value(C{number:03d}, {number})", author="bob")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            assert backup("save", state, saved) == 0
        finally:
            stop.set()
            writer.join()
    assert backup("save", state, saved) == 1
    before = modes(state)
    shutil.rmtree(state)
    assert backup("restore", saved, state) == 0
    assert modes(state).items() <= before.items()
    with Session(shop) as session:
        known = [session.facts.show(one) for one in session.facts.list(None)]
        assert "contract_value(C009, 7)" in known
        session.facts.add("contract_value(C500, 1)", author="ann")
