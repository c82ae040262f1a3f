"""What the documents show is what the commands print."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import jsonschema
import pytest
import yaml

from constat.analysis import analyse
from constat.diagnostics import Diagnostic
from constat.evaluation import Verdict
from constat.project.loading import SCHEMA
from constat.syntax import parse_text
from tests.docs.consoles import Command, agrees, commands, files
from tests.docs.generated import configuration_schema, documents, sections, written_anew
from tests.docs.warm import warm_constat
from tests.examples.shop import ROOT

DOCS = ROOT / "docs"
DOCUMENTS = [
    one
    for one in (ROOT / "README.md", *sorted((DOCS / "guide").glob("*.md")))
    if "```console" in one.read_text(encoding="utf-8")
]
TUTORIALS = [*sorted((DOCS / "tutorial").glob("*.md")), DOCS / "comparison.md"]
PORT = "8378"
MOST_BYTES = 12_000
PROMISED = {0, 1, 3, 4, 5, 6, 7}


def run(command: Command, folder: Path, warm: Path, last: int) -> subprocess.CompletedProcess[str]:
    own = Path(sys.executable).parent
    path = os.pathsep.join([str(warm), str(own), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", f"(exit {last}); {command.line}"],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.sampled(16, "examples")
@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_the_commands_of_a_document_print_what_it_shows(file: Path, shop: Path) -> None:
    shown = commands(file)
    assert shown
    shutil.copytree(ROOT / "rules" / "lending", shop.parent.parent / "rules" / "lending")
    for name in ("grants", "lending", "memory", "reach"):
        shutil.copytree(ROOT / "examples" / name, shop.parent / name, dirs_exist_ok=True)
    build = runpy.run_path(str(ROOT / "examples" / "grants" / "make_data.py"))["build"]
    build(shop.parent / "grants" / "data" / "office.sqlite")
    last = 0
    with TemporaryDirectory() as place, warm_constat(Path(place)) as warm:
        for command in shown:
            ran = run(command, shop.parent.parent, warm, last)
            last = ran.returncode
            assert agrees(command.output, ran.stdout), (
                f"{command.place}: $ {command.line}\n{ran.stdout}"
            )
            assert last in PROMISED


@pytest.mark.sampled(8, "examples")
@pytest.mark.parametrize("file", TUTORIALS, ids=lambda file: file.name)
def test_a_tutorial_prints_what_it_shows_in_an_empty_folder(file: Path, tmp_path: Path) -> None:
    for name, text in files(file):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    shown = commands(file)
    last = 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with TemporaryDirectory() as place, warm_constat(Path(place)) as warm:
        for command in shown:
            own = replace(command, line=command.line.replace(PORT, str(port)))
            ran = run(own, tmp_path, warm, last)
            last = ran.returncode
            assert agrees(command.output, ran.stdout), (
                f"{command.place}: $ {command.line}\n{ran.stdout}"
            )
    assert shown


@pytest.mark.parametrize(
    ("file", "start"),
    [("README.md", "Verdict.PROVED 1 "), ("docs/guide/proofs.md", "['goal', ")],
)
def test_the_python_of_a_document_runs(file: str, start: str, shop: Path) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", block],
        cwd=shop.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.startswith(start), ran.stderr


@pytest.mark.examples
def test_the_guide_to_python_prints_what_it_shows(shop: Path) -> None:
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    steps = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, flags=re.DOTALL)
    program = "\nprint('--')\n".join(block for block, _ in steps)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=shop.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = ran.stdout.split("--\n")
    assert len(printed) == len(steps) > 3, ran.stderr
    for (_, wanted), given in zip(steps, printed, strict=True):
        assert agrees(wanted, given), given


def test_the_readme_shows_every_verdict() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = {line.partition(":")[0] for line in text.splitlines()}
    assert {verdict.label for verdict in Verdict} <= shown


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").stat().st_size <= MOST_BYTES


def test_the_architecture_names_every_package() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "constat").glob("*/__init__.py")}
    assert {name for name in packages if f"`{name}`" not in text} == set()


def test_the_index_names_every_page() -> None:
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in text} == set()


@pytest.mark.parametrize("file", list(documents()), ids=lambda file: file.name)
def test_a_part_of_a_document_is_what_the_code_says(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert written_anew(text) == text


def test_the_configuration_names_every_key() -> None:
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    keys = sections()["constat.yaml"]
    assert re.findall(r"^\| `([a-z_]+)` \|", text, flags=re.MULTILINE)[: len(keys)] == list(keys)


def test_the_schema_of_the_configuration_is_what_the_code_reads() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == configuration_schema()


CHECKS = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.mark.parametrize("file", sorted(ROOT.glob("examples/*/constat.yaml")), ids=str)
def test_the_schema_takes_every_configuration_of_the_examples(file: Path) -> None:
    assert [*CHECKS.iter_errors(yaml.safe_load(file.read_text(encoding="utf-8")))] == []


@pytest.mark.parametrize(
    "text",
    [
        "databasess: {}",
        "databases: {shop: {url: x}}",
        "limits: {second: 3}",
        "apis: {web: {operations: {one: {wher: x}}}}",
        "explore: {python: perhaps}",
    ],
)
def test_the_schema_notices_what_the_configuration_refuses(text: str) -> None:
    assert [*CHECKS.iter_errors(yaml.safe_load(text))] != []


def language_examples() -> list[str]:
    text = (DOCS / "language.md").read_text(encoding="utf-8")
    blocks: list[str] = re.findall(r"```prolog\n(.*?)```", text, flags=re.DOTALL)
    return blocks


@pytest.mark.parametrize("number", range(len(language_examples())))
def test_an_example_of_the_language_is_read_and_typed(number: int) -> None:
    text = language_examples()[number].replace('.include "types.dl"', "")
    diagnostics: list[Diagnostic] = []
    program = parse_text(text, "language.md", diagnostics)
    assert analyse(program, diagnostics) is not None
    assert [one.message for one in diagnostics] == []


@pytest.mark.parametrize("file", sorted(ROOT.glob("rules/*/README.md")), ids=str)
def test_a_library_describes_each_of_its_files(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert [path.name for path in file.parent.glob("*.dl") if f"`{path.name}`" not in text] == []


@pytest.mark.parametrize(
    "file",
    [
        *DOCUMENTS,
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("rules/*/README.md"),
        *ROOT.glob("tests/*/README.md"),
    ],
    ids=str,
)
def test_links_inside_the_repository_lead_somewhere(file: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read_text(encoding="utf-8"))
    assert [link for link in links if not (file.parent / link).exists()] == []


@pytest.mark.parametrize(
    ("wanted", "given", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n...\nd", "a\nd\n", True),
        ("a\n...", "b\n", False),
        ("at 2026-01-01T00:00:00Z", "at 2025-02-02T01:02:03.4Z\n", True),
        ("a", "a\nb\n", False),
        ("", "", True),
    ],
)
def test_outputs_are_compared_line_by_line(wanted: str, given: str, *, same: bool) -> None:
    assert agrees(wanted, given) is same
