"""What a shell sees: help, codes, streams, colours, signals."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from constat import __version__
from constat.cli.entry import cli
from constat.cli.output import Pipe, write_bytes
from tests.cli.running import run, run_process

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands(group: click.Group = cli, *above: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every command with its help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*above, name), command.get_help(click.Context(command))
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


def test_the_list_of_commands_is_the_list_of_modules() -> None:
    for name, text in commands():
        assert text, name


def test_version_is_printed() -> None:
    assert run("--version").out == f"constat {__version__}\n"


def test_help_loads_no_command() -> None:
    program = (
        "import sys; from constat.cli import main; main(['--help']); "
        "print(*(m for m in sys.modules if m.startswith('constat.') and "
        "m.split('.')[1] not in ('cli', 'diagnostics', 'frozen', 'patterns')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing",),
        ("prove",),
        ("prove", "is_vip(C001)", "--format", "xml"),
        ("prove", "is_vip(C001)", "--depth", "-1"),
        ("prove", "is_vip(C001)", "--project", "no-such-folder-here"),
        ("explain", "C9999"),
        ("explain", "\x1b[2J"),
        ("rules", "fmt", "nothing.dl"),
        ("facts", "add", "p(1)"),
        ("export", "x"),
        ("completion", "dos"),
    ],
)
def test_bad_usage_ends_with_2_and_says_so_on_stderr(arguments: tuple[str, ...]) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err
    assert "\x1b" not in ran.err
    assert "Traceback" not in ran.err


def test_an_unknown_code_names_the_nearest() -> None:
    assert "is the nearest one" in run("explain", "C0411").err


def test_explain_shows_a_wrong_and_a_right_example() -> None:
    out = run("explain", "c0407").out
    assert out.startswith("C0407: ")
    assert out.index("Wrong:") < out.index("Right:")


def test_an_internal_error_is_70_without_a_traceback(
    still_shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("constat.session.session.decide", broken)
    monkeypatch.delenv("CONSTAT_DEBUG", raising=False)
    ran = run("prove", "is_vip(C001)", "--project", still_shop)
    assert (ran.code, ran.out) == (70, "")
    assert "ZeroDivisionError" in ran.err
    assert "secret" not in ran.err
    monkeypatch.setenv("CONSTAT_DEBUG", "1")
    assert "Traceback" in run("prove", "is_vip(C001)", "--project", still_shop).err


def test_an_interruption_is_130(still_shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("constat.session.session.decide", interrupted)
    ran = run("prove", "is_vip(C001)", "--project", still_shop)
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "constat: interrupted")


def test_a_closed_pipe_is_quiet_and_keeps_the_verdict(still_shop: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        [sys.executable, "-m", "constat", "prove", "is_vip(C002)", "--project", str(still_shop)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (5, "")


@pytest.mark.sampled(3, "faults")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("prove", "is_vip(C002)", "--format", "json"), '"code": "C0975"'),
        (("query", "is_vip(?c)", "--format", "arrow"), "C0975"),
        (("query", "--help"), "constat: no space is left to write to"),
    ],
)
def test_a_full_disk_behind_the_output_is_told_and_no_verdict(
    still_shop: Path, arguments: tuple[str, ...], told: str
) -> None:
    words = [sys.executable, "-m", "constat", *arguments, "--project", str(still_shop)]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2, ran.stderr
    assert told in ran.stderr
    assert not re.search("internal|Traceback|leaked|ignored", ran.stderr)


@pytest.mark.parametrize("arguments", [("query", "is_vip("), ("query",)])
def test_where_nobody_can_be_told_of_a_mistake_its_code_is_left(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "constat", *arguments]
        assert subprocess.run(words, stdout=full, stderr=full, check=False).returncode == 2


def test_a_file_that_cannot_be_read_is_not_blamed_on_the_output() -> None:
    def fill(_: Pipe) -> None:
        raise FileNotFoundError(2, "No such file or directory", "rows.parquet")

    with pytest.raises(FileNotFoundError):
        write_bytes(fill)


def test_a_reader_of_rows_in_arrow_may_leave(still_shop: Path) -> None:
    words = ["query", "is_vip(?c)", "--format", "arrow", "--project", str(still_shop)]
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        [sys.executable, "-m", "constat", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert ran.returncode == 0
    assert "leaked" not in ran.stderr


def on_terminal(*arguments: str, **env: str) -> str:
    """Run with a terminal as stdout; give what the terminal got."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "constat", *arguments],
        stdout=theirs,
        stderr=theirs,
        env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **env},
    )
    os.close(theirs)
    chunks = []
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    process.wait()
    os.close(ours)
    return b"".join(chunks).decode()


def test_colour_is_for_terminals_that_want_it(still_shop: Path) -> None:
    goal = ("prove", "is_vip(C001)", "--project", str(still_shop), "--quiet")
    assert "\x1b[1;32mPROVED: is_vip(C001)\x1b[0m" in on_terminal(*goal)
    assert "\x1b[1" not in on_terminal(*goal, NO_COLOR="1")
    assert "\x1b" not in on_terminal(*goal, TERM="dumb")
    assert "\x1b" not in run(*goal).out


def test_data_cannot_draw_on_the_terminal(shop: Path) -> None:
    fact = 'customer_tier("C0\x1b[31m\u202e9", gold)'
    run("facts", "add", fact, "--by", "alice", "--project", shop)
    for arguments in (
        ("facts", "list"),
        ("prove", "customer_tier(?c, gold)", "--minimal", "confidence"),
    ):
        shown = run(*arguments, "--project", shop).out
        assert shown
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", shown)


def test_a_signal_ends_a_run_at_once(still_shop: Path) -> None:
    goal = ["prove", "is_vip(C001)", "--project", str(still_shop), "--certificate", "/dev/stdout"]
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITING, *goal], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (130, b"", b"constat: interrupted")


_WAITING = """
import sys, time
import constat.session.session as session
from constat.cli import main

def wait(*arguments, **options):
    print("waiting", flush=True)
    time.sleep(60)

session.decide = wait
sys.exit(main(sys.argv[1:]))
"""


def every_command() -> list[tuple[tuple[str, ...], click.Command]]:
    """Name every command that is no group, and every group."""
    found: list[tuple[tuple[str, ...], click.Command]] = [((), cli)]
    for words, command in found:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                found.append(((*words, name), below))
    return found


def test_every_command_takes_a_project_and_quiet_and_verbose() -> None:
    lacking = [
        (words, name)
        for words, command in every_command()
        for name in ("--project", "-q", "-v")
        if not any(name in one.opts for one in command.get_params(click.Context(command)))
    ]
    assert lacking == []
    assert len(every_command()) > 80


def test_what_is_said_before_a_command_is_what_it_is_told(
    still_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "nowhere"
    monkeypatch.setenv("CONSTAT_PROJECT", str(nowhere))
    assert run("prove", "is_vip(C001)").code == 2
    for words in ((), ("rules",)):
        command = ("rules", "list")[len(words) :] if words else ("prove", "is_vip(C001)")
        ran = run(*words, "--project", still_shop, *command)
        assert (ran.code, bool(ran.out)) == (0, True), ran.err
    # The command's own word counts, wherever another stands.
    ran = run("--project", nowhere, "-q", "prove", "is_vip(C001)", "--project", still_shop)
    assert (ran.code, ran.out) == (0, "PROVED: is_vip(C001)\n")
    begun = tmp_path / "begun"
    assert run("--project", nowhere, "init", "--example", "vip", "--project", begun).code == 0
    assert (begun / "constat.yaml").exists()
    assert run("help", "--project", nowhere).code == 0


RULES_OF_STDIN = b".decl p(n: number)\np(1). p(2).\n.output p\n"


@pytest.mark.sampled(3, "faults")
@pytest.mark.parametrize(
    ("words", "given", "code", "said"),
    [
        (("rules", "check", "-"), RULES_OF_STDIN, 0, "1 file, 1 predicate"),
        (("rules", "check", "-"), b".decl p(n: number)\nq(1).\n", 2, "stdin:2:1"),
        (("rules", "check", "-"), b'.include "vip.dl"\n', 2, "vip.dl"),
        (("rules", "list", "-"), RULES_OF_STDIN, 0, "stdin:1"),
        (("run", "-", "-D-"), RULES_OF_STDIN, 0, "1\n2\n"),
        (("explain-plan", "-"), RULES_OF_STDIN, 0, "p"),
        (("stale", "-"), b"{}", 1, "stdin"),
        (("watch", "is_vip(?c)", "--once", "--changes", "-"), b'{"op": 1}\n', 2, "line 1 of -"),
        (
            ("what-if", "is_vip(C001)", "-q", "--rules", "-"),
            b"is_vip(?c) :- other(?c).\n",
            2,
            "there is no predicate `other`",
        ),
    ],
)
def test_a_dash_is_stdin(
    still_shop: Path, words: tuple[str, ...], given: bytes, code: int, said: str
) -> None:
    ran = run_process(*words, "--project", str(still_shop), given=given)
    assert ran.code == code, ran
    assert said in ran.out + ran.err, ran


@pytest.mark.faults
def test_a_text_of_stdin_includes_what_lies_in_this_folder(tmp_path: Path) -> None:
    (tmp_path / "more.dl").write_text(".decl p(n: number)\np(7).\n")
    given = b'.include "more.dl"\n.output p\n'
    assert run_process("run", "-", "-D-", cwd=tmp_path, given=given).out.splitlines()[-2:] != []
    assert "7" in run_process("run", "-", "-D-", cwd=tmp_path, given=given).out
    assert run_process("rules", "check", "-", cwd=tmp_path, given=given).code == 0


# What Python lacks on Windows: no command may need any of it before it says so.
_ELSEWHERE = """
import asyncio, getpass, multiprocessing, os, shutil, signal, subprocess, sys, tempfile
sys.platform = "elsewhere"
for name in "fcntl grp pty pwd resource syslog termios tty".split():
    sys.modules[name] = None
for name in (
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK fchmod fork geteuid getgid getuid killpg mknod "
    "pidfd_open pread pwrite register_at_fork sched_getaffinity setsid sysconf uname"
).split():
    vars(os).pop(name, None)
for name in "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPROF SIGXCPU ITIMER_REAL alarm setitimer".split():
    vars(signal).pop(name, None)
from constat.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.faults
def test_a_system_without_locks_and_limits_proves_and_says_what_it_cannot(shop: Path) -> None:
    steps: tuple[tuple[str, int, str], ...] = (
        ("--help", 0, "Answer questions"),
        ("prove is_vip(C001) --certificate c.json", 0, "PROVED: is_vip(C001)"),
        ("verify c.json", 0, "PROVED"),
        ("query is_vip(?c) --output c.csv --format csv", 0, "rows written"),
        ("why-not is_vip(C002)", 5, "DISPROVED"),
        ("rules check", 0, "no errors"),
        ("doctor", 0, "0 errors"),
        ("prove is_vip(C001) --engine pydatalog", 4, "NO ANSWER"),
        ("facts add customer_tier(C002,gold) --by eve", 0, "added"),
        ("prove is_vip(C001) --log", 2, "no locks of files"),
        ("watch is_vip(?c) --once", 0, "watching is_vip(?c)"),
        ("watch is_vip(?c) --once --on-change log", 2, "no locks of files"),
        ("what-if is_vip(C002) --add blocked(C002)", 6, "DISPROVED"),
        ("missing is_vip(C002)", 0, "nothing is missing"),
        ("export c.json --to markdown --output c.md", 0, ""),
        ("rules list", 0, "is_vip"),
        ("catalog list", 0, "customers"),
        # The log of decisions needs locks: a project that is begun here keeps none.
        ("init data/shop.sqlite --directory begun", 0, "next: "),
        ("prove has_orders(C001) --project begun", 0, "PROVED"),
    )
    for line, code, said in steps:
        ran = subprocess.run(
            [sys.executable, "-c", _ELSEWHERE, *line.split()],
            cwd=shop,
            env={**os.environ, "USERNAME": "eve"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), (line, ran)
        assert said in ran.stdout + ran.stderr, (line, ran)
    assert "on: false" in (shop / "begun" / "constat.yaml").read_text()
