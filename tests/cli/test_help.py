"""Help: every command says what it does, with examples that run and exit codes that hold."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from constat.cli.entry import cli
from constat.cli.help import TOPICS, topic_text
from tests.cli.records import make_records, restore
from tests.cli.running import Ran, run, run_process
from tests.examples.shop import ROOT, copy_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.sampled(2)

_CODE = re.compile(r"\s+# exits? with (\d+)$")
_KNOWN_CODES = {0, 1, 2, 3, 4, 5, 6, 7, 70, 78, 129, 130, 143}


@dataclass(frozen=True)
class Example:
    """A line under "Examples:" with the exit code that it names, if it does."""

    words: tuple[str, ...]
    line: str
    code: int | None


def every_command(
    group: click.Group = cli, *above: str
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command that is no group, with the words that name it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from every_command(command, *above, name)
        else:
            yield (*above, name), command


def lines_of(text: str, words: tuple[str, ...]) -> Iterator[Example]:
    """Yield the example lines of a text."""
    inside = False
    for line in text.splitlines():
        if re.match(r"\s*Examples?:$", line):
            inside = True
        elif inside and (not line.strip() or not line.startswith("  ")):
            inside = False
        elif inside:
            named = _CODE.search(line)
            shown = _CODE.sub("", line).strip()
            yield Example(words, shown, int(named[1]) if named else None)


def examples() -> list[Example]:
    """List the examples of all commands."""
    return [
        one
        for words, command in every_command()
        for one in lines_of(command.get_help(click.Context(command)), words)
    ]


def topic_examples() -> list[Example]:
    return [one for name, _ in TOPICS for one in lines_of(topic_text(name) or "", ("help", name))]


STATED = ("customer_tier(C009, gold)", "contract_value(C009, 250000)")
SHELL = re.compile(r"[<|>$`]|^\w+=")


@dataclass(frozen=True)
class Workplace:
    """A copy of the repository in which examples run; each finds the state it names."""

    where: Path
    home: Path

    def prepare(self, example: Example) -> None:
        """Bring the stated facts into the state that an example starts from."""
        state = self.where / "examples" / "vip" / ".constat"
        shutil.rmtree(state, ignore_errors=True)
        (state.parent / "approvals.jsonl").unlink(missing_ok=True)
        restore(self.where, state.parent, example.words[0])
        if "--project shop" in example.line:
            self.prepare_packages()
        for fact in STATED if example.words[0] == "facts" else ():
            run("facts", "add", fact, "--by", "alice", "--project", state.parent)

    def prepare_packages(self) -> None:
        """Begin a project with a library of others in it."""
        shop = self.where / "shop"
        shutil.rmtree(shop, ignore_errors=True)
        shop.mkdir()
        (shop / "constat.yaml").write_text("project: shop\n", encoding="utf-8")
        library = self.where / "rules" / "customer-value"
        assert run("rules", "add", library, "--project", shop).code == 0

    def run(self, example: Example) -> Ran:
        """Run an example: in this process, or by a shell where it needs one."""
        self.prepare(example)
        if not SHELL.search(example.line.replace('"', "")):
            with contextlib.chdir(self.where):
                return run(*shlex.split(example.line)[1:])
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        ran = subprocess.run(
            ["bash", "-c", example.line],
            cwd=self.where,
            env={**os.environ, "PATH": path, "HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)


def make_workplace(folder: Path, database: Path) -> Workplace:
    """Copy the repository and make the certificate and the folder that examples name."""
    project = copy_shop(folder / "repository", database)
    for name in (".local/share/bash-completion/completions", ".config/fish/completions", ".zfunc"):
        (folder / name).mkdir(parents=True)
    where = project.parent.parent
    for name in ("contracts", "deliveries", "memory", "pydatalog", "reach"):
        shutil.copytree(ROOT / "examples" / name, where / "examples" / name, dirs_exist_ok=True)
    file = where / "c001.json"
    assert run("prove", "is_vip(C001)", "--certificate", file, "--project", project).code == 0
    assert run("query", "is_vip(?c)", "--bulk", where / "vips", "--project", project).code == 0
    make_records(where, project)
    return Workplace(where, folder)


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory, shop_database: Path) -> Workplace:
    return make_workplace(tmp_path_factory.mktemp("help"), shop_database)


def plain_examples() -> list[Example]:
    """List what is no JSON, which `test_schemas.py` runs."""
    return [one for one in examples() if "--format json" not in one.line]


@pytest.mark.sampled(10, "examples")
@pytest.mark.parametrize(
    "example", [*plain_examples(), *topic_examples()], ids=lambda one: one.line
)
def test_an_example_ends_as_it_says(workplace: Workplace, example: Example) -> None:
    ran = workplace.run(example)
    assert ran.code == (example.code or 0), f"{example.line}\n{ran.out}\n{ran.err}"
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(("words", "command"), list(every_command()), ids=str)
def test_a_command_says_what_it_does(words: tuple[str, ...], command: click.Command) -> None:
    text = command.get_help(click.Context(command, info_name=" ".join(("constat", *words))))
    paragraph = (command.help or "").split("\n\n", maxsplit=1)[0]
    assert len(paragraph.split()) >= 2
    assert list(lines_of(text, words)), "no examples"
    assert "Exit codes:" in text
    assert "More: constat help" in text
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.opts
    assert all(len(line) <= 102 for line in text.splitlines())


@pytest.mark.parametrize(("words", "command"), list(every_command()), ids=str)
def test_the_exit_codes_of_a_help_are_known(words: tuple[str, ...], command: click.Command) -> None:
    _, _, told = inspect.cleandoc(command.help or "").partition("Exit codes:")
    told = told.split("\n\n")[0]
    codes = {int(one) for one in re.findall(r"(?<![\w.])(\d{1,3})(?=[ ,):])", told)}
    assert 0 in codes, told
    assert codes <= _KNOWN_CODES


@pytest.mark.parametrize("example", examples(), ids=lambda one: one.line)
def test_an_example_is_of_its_command(example: Example) -> None:
    assert f"constat {' '.join(example.words)}" in example.line


def test_the_help_lists_every_command_in_a_section() -> None:
    text = run("--help").out
    for name in cli.list_commands(click.Context(cli)):
        assert re.search(rf"^  {name} +\w", text, re.MULTILINE), name
    for section in ("Ask:", "Check what was answered:", "Facts and rules:", "More:"):
        assert f"\n{section}\n" in text


def test_topics_are_printed_within_80_columns() -> None:
    for name, title in TOPICS:
        ran = run("help", name)
        assert ran.code == 0
        assert title.endswith(".")
        assert all(len(line) <= 80 for line in ran.out.splitlines())


def test_every_exit_code_of_the_entry_is_explained() -> None:
    told = run("help", "exit-codes").out
    for code in _KNOWN_CODES:
        assert re.search(rf"^{code} +\w", told, re.MULTILINE), code


def test_every_environment_variable_that_is_read_is_explained() -> None:
    told = run("help", "environment").out
    source = Path(__file__).resolve().parents[2] / "constat"
    read = set()
    for file in source.rglob("*.py"):
        read.update(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", file.read_text()))
    assert "CONSTAT_DEBUG" in read
    assert {name for name in read if name not in told} <= {"COMP_WORDS", "COMP_CURRENT"}


def test_help_shows_a_command_by_its_words() -> None:
    assert run("help", "facts", "add").out == run("facts", "add", "--help").out
    assert run("help").out == run("--help").out


def test_an_unknown_topic_names_the_nearest() -> None:
    ran = run("help", "goal")
    assert (ran.code, ran.out) == (2, "")
    assert "constat help goals" in ran.err
    assert run("help", "facts", "no-such").code == 2


def test_a_group_without_a_command_shows_its_help() -> None:
    ran = run("facts")
    assert ran.code == 2 or "Usage:" in ran.out + ran.err


@pytest.mark.examples
def test_manual_pages_say_what_the_help_says(tmp_path: Path) -> None:
    folder = tmp_path / "man1"
    ran = run("help", "--man", folder)
    assert (ran.code, ran.out) == (0, "")
    names = {one.name for one in folder.iterdir()}
    assert {"constat.1", "constat-prove.1", "constat-facts-add.1", "constat-serve.1"} <= names
    page = (folder / "constat-serve.1").read_text()
    assert page.startswith('.TH "CONSTAT-SERVE" "1"')
    assert "constat\\-serve \\- Serve a project over HTTP" in page
    assert "\\-\\-workers N" in page
    groff = shutil.which("groff")
    if groff is None:
        return
    for file in folder.iterdir():
        shown = subprocess.run(
            [groff, "-man", "-Tascii", "-ww", str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "warning" not in shown.stderr, (file.name, shown.stderr)


def test_a_variable_names_the_project_and_an_option_goes_before_it(
    still_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("prove", "is_vip(C001)", "--quiet").code == 2
    monkeypatch.setenv("CONSTAT_PROJECT", str(still_shop))
    assert run("prove", "is_vip(C001)", "--quiet").code == 0
    assert run("facts", "list").code == 0
    assert run("prove", "is_vip(C001)", "--project", tmp_path).code == 2


def test_each_command_can_be_quiet_and_verbose() -> None:
    found = list(every_command())
    assert len(found) > 80
    for words, command in found:
        options = {name for one in command.get_params(click.Context(command)) for name in one.opts}
        assert {"-q", "-v"} <= options, words


def test_a_verbose_command_says_what_it_asks_and_a_quiet_one_nothing(still_shop: Path) -> None:
    asked = ("query", "is_vip(?c)", "--project", still_shop)
    loud, plain, quiet = run(*asked, "-v"), run(*asked), run(*asked, "-q")
    assert loud.out == plain.out == quiet.out
    assert "call 1: " in loud.err
    assert "C001" not in loud.err
    assert quiet.err == ""


@pytest.mark.examples
def test_a_certificate_goes_through_a_pipe(still_shop: Path) -> None:
    where = ("--project", str(still_shop))
    made = run_process("prove", "is_vip(C001)", "--certificate", "-", *where, cwd=still_shop)
    assert made.code == 0
    assert made.json["format"].startswith("constat-cert/")
    assert "PROVED: is_vip(C001)" in made.err
    checked = run_process("verify", "-", given=made.out.encode())
    assert checked.code == 0, checked.err
    shown = run_process("export", "-", "--to", "markdown", "-o", "-", given=made.out.encode())
    assert shown.out.startswith("#")
    rows = run_process("query", "is_vip(?c)", "--format", "csv", "-o", "-", *where, cwd=still_shop)
    assert rows.out.splitlines()[:2] == ["c,verdict,assumptions", "C001,PROVED,"]
    assert not (still_shop / "-").exists()
