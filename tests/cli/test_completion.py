"""Completion: what is offered where, quickly and silently, and in a real bash."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from constat.cli.completion import complete, offers, shallow_loading, unquoted
from constat.cli.entry import cli
from tests.cli.running import run, run_process
from tests.cli.test_help import every_command

if TYPE_CHECKING:
    from collections.abc import Iterator

GOAL_COMMANDS = (("prove",), ("query",), ("facts", "add"), ("facts", "retract"))


def offered(project: Path | None, *words: str) -> list[str]:
    """Give the values that are offered for the last word."""
    *before, current = words
    extra = [] if project is None else ["--project", str(project)]
    if before and project is not None:
        place = 2 if before[0] == "facts" else 1
        before = [*before[:place], *extra, *before[place:]]
    return [one.value or f"<{one.kind}>" for one in offers(cli, before, current)]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("ver",), ["verify"]),
        (("facts", ""), ["add", "list", "retract", "tell"]),
        (("facts", "add", "--b"), ["--by"]),
        (("prove", "--format", ""), ["text", "json"]),
        (("prove", "--format", "j"), ["json"]),
        (("query", "--format", "js"), ["json", "jsonl"]),
        (("export", "c001.json", "--to", "prov"), ["prov-json", "prov-n"]),
        (("prove", "--locale", "de_"), ["de_AT", "de_CH", "de_DE"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("completion", "bash", ""), ["--help"]),
        (("verify", ""), ["<file>"]),
        (("prove", "--certificate", ""), ["<file>"]),
        (("prove", "--project", ""), ["<dir>"]),
        (("rules", "check", "a.dl", ""), ["<file>"]),
        (("explain", "C0430"), ["C0430"]),
        (("schema", "fac"), ["facts-add", "facts-list", "facts-retract", "facts-tell"]),
        (("schema", "facts", "l"), ["list"]),
        (("help", "exi"), ["exit-codes"]),
        (("no-such-command", ""), "raises"),
        (("facts", "no-such-command", ""), "raises"),
    ],
)
def test_what_fits_is_offered(words: tuple[str, ...], wanted: list[str] | str) -> None:
    if wanted == "raises":
        with pytest.raises(LookupError):
            offered(None, *words)
    else:
        assert offered(None, *words) == wanted


def test_every_command_and_option_is_offered() -> None:
    top = offered(None, "")
    assert top == cli.list_commands(click.Context(cli))
    for words, command in every_command():
        given = offered(None, *words, "--")
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert {name for name in option.opts if name.startswith("--")} <= set(given), words


def test_an_option_that_was_given_is_not_offered_again() -> None:
    assert "--all" in offered(None, "prove", "--quiet", "--")
    assert "--format" not in offered(None, "prove", "--format", "json", "--")
    assert "--verdict" in offered(None, "query", "--verdict", "proved", "--")


@pytest.mark.parametrize("command", GOAL_COMMANDS)
def test_goals_get_predicates_with_a_variable_for_each_column(
    still_shop: Path, command: tuple[str, ...]
) -> None:
    assert offered(still_shop, *command, "is_v") == ["is_vip(?customer)"]
    assert "owns(?owner, ?owned, ?share)" in offered(still_shop, *command, "")


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("owns(", ["owns(?owner, ?owned, ?share)"]),
        ("owns(?ow", ["owns(?owner, ?owned, ?share)"]),
        ("owns(C001", ["owns(C001, ?owned, ?share)"]),
        ("owns(C001, ", ["owns(C001, ?owned, ?share)"]),
        ("owns(C001, ?x,", ["owns(C001, ?x, ?share)"]),
        ("owns(C001, ?x, 5", ["owns(C001, ?x, 5)"]),
        ("owns(C001, ?x, 5, ", []),
        ("owns([1, 2]", ["owns([1, 2], ?owned, ?share)"]),
        ("owns([1, 2], $Add($Zero, 1), ", ["owns([1, 2], $Add($Zero, 1), ?share)"]),
        ('owns("a, [", ', ['owns("a, [", ?owned, ?share)']),
        ("owns([1, ", []),
        ("owns($Add(", []),
        ("is_vip(?c), !blo", ["is_vip(?c), !blocked(?customer)"]),
        ("is_vip(?c), is_r", ["is_vip(?c), is_regular(?customer)"]),
        ("is_vip(?c) is_r", []),
        ("no_such(", []),
        ("is_vip(?c), owns(?c", ["is_vip(?c), owns(?c, ?owned, ?share)"]),
    ],
)
def test_a_goal_is_carried_on(still_shop: Path, goal: str, wanted: list[str]) -> None:
    assert offered(still_shop, "query", goal) == wanted


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("sol", ["sold(a = ?a, b = ?b, c = ?c, d = ?d, e = ?e, fee = ?fee)"]),
        ("sold(a", ["sold(a = ?a, b = ?b, c = ?c, d = ?d, e = ?e, fee = ?fee)", "sold(a = ?a"]),
        ("sold(a = 1, f", ["sold(a = 1, fee = ?fee"]),
        ("sold(a = 1, fee = 2", ["sold(a = 1, fee = 2)"]),
        ("sold(1, 2, 3, 4, ", ["sold(1, 2, 3, 4, ?e, ?fee)"]),
        ("owns(owned = C001, sh", ["owns(owned = C001, share = ?share"]),
    ],
)
def test_columns_are_offered_by_name(shop: Path, goal: str, wanted: list[str]) -> None:
    file = shop / "sources.dl"
    columns = ", ".join(f"{name}: number" for name in ("a", "b", "c", "d", "e", "fee"))
    file.write_text(f"{file.read_text()}\n.decl sold({columns})\n")
    assert offered(shop, "query", goal) == wanted


def test_the_variables_of_a_query_are_its_columns(still_shop: Path) -> None:
    words = ("query", "owns(?a, ?b, _)", "--order")
    assert offered(still_shop, *words, "") == ["a", "a:desc", "b", "b:desc"]
    assert offered(still_shop, *words, "b:desc,a") == ["b:desc,a", "b:desc,a:desc"]
    assert offered(still_shop, "query", "owns(?a, ?b, _)", "--columns", "b,") == ["b,a", "b,b"]


def test_predicates_are_offered_by_name(still_shop: Path) -> None:
    assert offered(still_shop, "facts", "list", "is_r") == ["is_regular"]


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ('"is_vip(', "is_vip("),
        ("'a b'c", "a bc"),
        ('"a \\" b"', 'a " b'),
        ("'a \\ b'", "a \\ b"),
        ("a\\ b", "a b"),
        ("", ""),
        ("a\\", "a"),
    ],
)
def test_words_are_read_as_a_shell_does(word: str, meaning: str) -> None:
    assert unquoted(word) == meaning


def lines(capsys: pytest.CaptureFixture[str], shell: str, current: str, *before: str) -> list[str]:
    environ = {
        "_CONSTAT_COMPLETE": shell,
        "COMP_WORDS": "\n".join(("constat", *before)),
        "COMP_CURRENT": current,
    }
    assert complete(environ, cli) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert isinstance(out, str)
    return [line.split("\t")[1] for line in out.splitlines()]


def test_bash_gets_quotes_where_it_needs_them(
    still_shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = ("query", "--project", str(still_shop))
    assert lines(capsys, "bash", "is_v", *before) == ['"is_vip(?customer)"']
    assert lines(capsys, "bash", '"is_v', *before) == ["is_vip(?customer)"]
    assert lines(capsys, "zsh", "is_v", *before) == ["is_vip(?customer)"]
    assert lines(capsys, "bash", "js", "prove", "--format", "=") == ["json"]
    assert lines(capsys, "bash", "=", "prove", "--format") == ["text", "json"]


@pytest.mark.parametrize(
    "environ",
    [
        {"_CONSTAT_COMPLETE": "bash"},
        {"_CONSTAT_COMPLETE": "", "COMP_WORDS": "constat\nx\ny"},
        {"_CONSTAT_COMPLETE": "no-such-shell", "COMP_WORDS": "constat\nprove\n\udcff"},
        {"_CONSTAT_COMPLETE": "bash", "COMP_WORDS": "constat\nprove\n--project\n/no/such/folder"},
        {"_CONSTAT_COMPLETE": "bash", "COMP_WORDS": "constat\nquery", "COMP_CURRENT": "a" * 10000},
        {"_CONSTAT_COMPLETE": "bash", "COMP_WORDS": "constat\nquery", "COMP_CURRENT": "(" * 10000},
    ],
)
def test_nothing_is_said_about_mistakes(
    environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete(environ, cli) == 0
    assert "rror" not in "".join(capsys.readouterr())


def test_a_project_with_mistakes_still_offers_its_predicates(shop: Path) -> None:
    file = shop / "sources.dl"
    file.write_text(file.read_text() + "\n.decl late_one(x: symbol)\nbroken(")
    assert offered(shop, "prove", "late") == ["late_one(?x)"]
    (shop / "constat.yaml").write_text("rules: [")
    environ = {"_CONSTAT_COMPLETE": "bash", "COMP_WORDS": "constat\nprove"}
    ran = run_process(cwd=shop, env=environ)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_completion_loads_nothing_heavy(still_shop: Path) -> None:
    program = (
        "import os, sys; from constat.cli import main; main([]); "
        "print('loaded:', *sorted(m for m in sys.modules if m.split('.')[0] in "
        "('duckdb', 'pandas', 'sqlglot', 'sqlalchemy', 'networkx', 'anthropic', 'pyDatalog') "
        "or m.startswith(('constat.session', 'constat.engine', 'constat.proof'))))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=still_shop,
        env={**os.environ, "_CONSTAT_COMPLETE": "bash", "COMP_WORDS": "constat\nquery"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "is_vip" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "loaded:"


def test_shallow_modules_are_forgotten() -> None:
    program = (
        "import sys; from constat.cli.completion import shallow_loading\n"
        "with shallow_loading():\n"
        "    import constat.cli.prove\n"
        "assert 'constat.cli.prove' not in sys.modules\n"
        "assert 'constat.session' not in sys.modules\n"
        "from constat.session import Session\n"
        "from constat.cli.prove import command\n"
        "assert isinstance(Session, type)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with shallow_loading():
        pass
    assert run("--version").code == 0


def test_scripts_ask_the_program_and_say_how_to_renew_them() -> None:
    for shell in ("bash", "zsh", "fish"):
        out = run("completion", shell).out
        assert "_CONSTAT_COMPLETE" in out
        assert f"constat completion {shell}" in out


@pytest.fixture
def path() -> str:
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_right_for_its_shell(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    file = tmp_path / f"constat.{shell}"
    file.write_text(run("completion", shell).out)
    subprocess.run([program, "-n", str(file)], check=True)


class Terminal:
    """An interactive bash on a terminal of its own."""

    def __init__(self, folder: Path, path: str) -> None:
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={
                "PATH": path,
                "TERM": "dumb",
                "PS1": "> ",
                "HOME": str(folder),
                "LC_ALL": "C.UTF-8",
            },
            start_new_session=True,
        )
        os.close(theirs)
        self.send("bind 'set enable-bracketed-paste off'; bind 'set bell-style none'\n")
        self.send('eval "$(constat completion bash)"; echo rea""dy\n')
        self.wait_for("ready")

    def send(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    def wait_for(self, wanted: str) -> str:
        """Read until a text has come."""
        seen, end = "", time.monotonic() + 60
        while wanted not in seen:
            if not select.select([self.ours], [], [], max(0.0, end - time.monotonic()))[0]:
                raise AssertionError(f"{wanted!r} did not come: {seen!r}")
            seen += os.read(self.ours, 65536).decode(errors="replace")
        return seen

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.fixture
def terminal(still_shop: Path, path: str) -> Iterator[Terminal]:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed here")
    found = Terminal(still_shop, path)
    yield found
    found.close()


@pytest.mark.examples
@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        ("constat ver\t", "constat verify "),
        ("constat prove --quie\t", "constat prove --quiet "),
        ("constat prove --format=js\t", "constat prove --format=json "),
        ('constat prove "is_v\t', 'constat prove "is_vip(?customer)" '),
        ("constat prove is_v\t", 'constat prove "is_vip(?customer)" '),
        ("constat prove 'is_v\t", "constat prove 'is_vip(?customer)' "),
        ('constat query "owns(C001, \t', 'constat query "owns(C001, ?owned, ?share)" '),
        ('constat query "is_vip(?c), is_r\t', 'constat query "is_vip(?c), is_regular(?customer)" '),
        ("constat explain C043\t6\t", "constat explain C0436 "),
        ("constat verify const\t", "constat verify constat.yaml "),
    ],
)
def test_a_tab_in_bash(terminal: Terminal, typed: str, becomes: str) -> None:
    # The line is turned into a comment, so that bash shows what it holds and runs nothing.
    terminal.send(typed)
    terminal.send("\x01#\x05 END\n")
    shown = terminal.wait_for(" END\r\n")
    flat = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\x07\x08]|\r", "", shown)
    terminal.send("history | tail -n 2 | head -n 1; echo do''ne\n")
    listed = terminal.wait_for("done\r\n")
    assert f"#{becomes} END" in listed.replace("\r\n", "\n"), flat
