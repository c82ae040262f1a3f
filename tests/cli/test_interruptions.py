"""A signal at any moment ends a command: no file that was named changes, and nothing is left."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb
import pytest

from constat.check import check_certificate
from tests.cli.running import LONGEST, run

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.faults

ROOT: Final = Path(__file__).parents[2]
_SUBREAPER: Final = 36
RULES: Final = """
.decl sale(customer: symbol, amount: number)
.input sale(source="{source}", query="SELECT customer, amount FROM sale", distinct="true")
.decl total(customer: symbol, amount: number)
total(?c, ?t) :- sale(?c, _), ?t = sum ?a : {{ sale(?c, ?a) }}.
.decl big(customer: symbol)
big(?c) :- total(?c, ?t), ?t > 300.
"""
PLAN: Final = """
question: Who bought how much?
title: totals
steps:
  - name: totals
    goal: What each customer bought
    inputs: [sale]
    outputs: "totals(customer: symbol, amount: number)"
    rules: |
      totals(?c, ?t) :- sale(?c, _), ?t = sum ?a : { sale(?c, ?a) }.
  - name: doubled
    goal: Twice as much
    inputs: [totals]
    outputs: "doubled(customer: symbol, amount: number)"
    python: |
      totals = store.get("totals")
      store.put("doubled", totals.assign(amount=totals["amount"] * 2))
"""
PROGRAM: Final = """
.decl n(x: number)
.input n
.decl a(x: number, y: number)
a(x, y) :- n(x), n(y), x < y.
.output a
.decl b(x: number)
b(x) :- a(x, _).
.output b
"""
# `call`: at the n-th call that the main thread makes, of Python or C. `callback`: inside the n-th
# call of a function that SQLite calls. `count` tells how many calls there are.
DRIVER: Final = """
import os, signal, sys
kind, number, told = sys.argv[1], int(sys.argv[2]), sys.argv[3]
del sys.argv[1:4]
seen = 0

def arrived():
    global seen
    seen += 1
    if seen == number:
        with open(told, "w") as file:
            file.write("sent")
        os.kill(os.getpid(), signal.SIGINT)

def profiled(frame, event, value):
    if event in ("call", "c_call"):
        arrived()

def wrapped(old):
    def new(*given):
        arrived()
        return old(*given)
    return new

from constat.__main__ import main
if kind == "callback":
    import constat.catalog.sqlite as module
    module._STEPS_BETWEEN_CHECKS = 20
    for name in ("_authorize", "_is_late"):
        setattr(module.SqliteConnection, name, wrapped(getattr(module.SqliteConnection, name)))
elif kind != "count":
    sys.setprofile(profiled)
if kind == "count":
    def counted(frame, event, value):
        global seen
        seen += event in ("call", "c_call")
    sys.setprofile(counted)
code = main()
if kind == "count":
    sys.setprofile(None)
    with open(told, "w") as file:
        file.write(str(seen))
sys.exit(code)
"""


@dataclass(frozen=True, slots=True)
class World:
    """A project, facts and a certificate; `out` is what the commands are told to write."""

    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    def words(self, name: str) -> list[str]:
        out, project = self.out, ("--project", str(self.folder))
        quiet = ("--events", "none", "--certificate", str(out / "s.json"))
        html = ("--to", "html", "--output", str(out / "e.html"))
        return {
            "prove": ["prove", 'big("c1")', "--certificate", str(out / "c.json"), *project],
            "query": ["query", "big(?c)", "--output", str(out / "q.csv"), *project],
            "run": ["run", str(self.folder / "p.dl"), "-F", str(self.folder), "-D", str(out)],
            "solve": ["solve", "--plan", str(self.folder / "plan.yaml"), *quiet, *project],
            "export": ["export", str(self.folder / "proof.json"), *html],
        }[name]

    def drive(
        self, kind: str, number: int, name: str, told: Path, source: str = ""
    ) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "CONSTAT_DEBUG": "1",
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(ROOT),
        }
        words = self.words(name)
        return subprocess.Popen(
            [sys.executable, "-c", source or DRIVER, kind, str(number), str(told), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )

    def written(self) -> dict[str, bytes]:
        found = sorted(self.out.iterdir())
        return {one.name: one.read_bytes() for one in found}


def world(folder: Path, kind: str = "sqlite") -> World:
    """Make a project over 400 sales, with old files where commands will write."""
    made = World(folder)
    for place in (made.out, made.temporary):
        place.mkdir(parents=True)
    rows = [(f"c{number % 7}", number) for number in range(400)]
    if kind == "sqlite":
        with sqlite3.connect(folder / "shop.sqlite") as link:
            link.execute("CREATE TABLE sale (customer TEXT NOT NULL, amount INTEGER NOT NULL)")
            link.executemany("INSERT INTO sale VALUES (?, ?)", rows)
        link.close()
    else:
        with duckdb.connect(str(folder / "shop.duckdb")) as holder:
            holder.execute("CREATE TABLE sale (customer TEXT NOT NULL, amount INTEGER NOT NULL)")
            holder.executemany("INSERT INTO sale VALUES (?, ?)", rows)
    (folder / "constat.yaml").write_text(
        f"project: p\nrules: [r.dl]\ndatabases:\n  shop: {{uri: '{kind}:///shop.{kind}'}}\n"
    )
    (folder / "r.dl").write_text(RULES.format(source="shop"))
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "p.dl").write_text(PROGRAM)
    (folder / "n.facts").write_text("".join(f"{number}\n" for number in range(200)))
    proof = folder / "proof.json"
    assert run("prove", 'big("c1")', "--certificate", proof, "--project", folder).code == 0
    for name in ("c.json", "q.csv", "a.csv", "b.csv", "s.json", "e.html"):
        (made.out / name).write_text("old\n")
    return made


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How many calls each command makes, so that moments can be drawn from all of it."""
    found = {}
    for name in ("prove", "query", "run", "solve", "export"):
        folder = tmp_path_factory.mktemp(name)
        told = folder / "count"
        process = world(folder / "w").drive("count", 0, name, told)
        _, said = process.communicate(timeout=LONGEST)
        assert process.returncode in {0, 3}, said.decode()
        found[name] = int(told.read_text())
    return found


def children() -> set[int]:
    """Give the processes below this one that still run."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(os.getpid()) and fields[0] not in {"Z", "X"}:
            found.add(int(entry.name))
    return found


@pytest.fixture
def nobody_left() -> Iterator[None]:
    """Adopt what commands leave behind, so that it can be seen, and require that nothing is."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    before = children()
    yield
    until = time.monotonic() + 20
    while children() - before and time.monotonic() < until:
        time.sleep(0.05)
    left = children() - before
    ctypes.CDLL(None).prctl(_SUBREAPER, 0, 0, 0, 0)
    assert not left


def check_ended(made: World, process: subprocess.Popen[bytes], told: Path, code: int = 130) -> None:
    """Require that the command was ended and changed nothing, or was done before the signal."""
    _, said = process.communicate(timeout=LONGEST)
    shown = said.decode()
    assert "Traceback" not in shown
    assert "internal error" not in shown
    assert not list(made.temporary.glob("*constat-*")), shown
    hidden = [one.name for one in made.out.iterdir() if one.name.startswith(".")]
    assert not hidden, shown
    written = made.written()
    if process.returncode == code:
        assert "interrupted" in shown
        assert "error[" not in shown
        # The proof is on the disk before the verdict is told: it may be there, and is whole then.
        proof = written.pop("c.json"), written.pop("s.json")
        assert set(written.values()) == {b"old\n"}, shown
        for one in proof:
            assert one == b"old\n" or check_certificate(one).accepted
    else:
        # After its end nothing listens any more, and the signal does what it does by itself.
        assert process.returncode in {0, 3, -signal.SIGTERM}, shown
        changed = [one for one in written.values() if one != b"old\n"]
        assert changed
        assert not told.exists() or all(changed)


COMMANDS: Final = ("prove", "query", "run", "solve", "export")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("nobody_left")
def test_an_interruption_at_any_call_ends_the_command(
    tmp_path: Path, counts: dict[str, int], name: str, seed: int
) -> None:
    made, told = world(tmp_path / "w"), tmp_path / "told"
    number = random.Random(f"{name} {seed}").randrange(1, counts[name])
    check_ended(made, made.drive("call", number, name, told), told)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", [1, 2, 5, 10, 20, 40, 60, 80, 120, 160, 200, 400])
@pytest.mark.parametrize("name", ["prove", "query", "solve"])
def test_an_interruption_inside_a_callback_of_sqlite_ends_the_command(
    tmp_path: Path, name: str, number: int
) -> None:
    made, told = world(tmp_path / "w"), tmp_path / "told"
    process = made.drive("callback", number, name, told)
    check_ended(made, process, told)
    assert process.returncode == (130 if told.exists() else {"solve": 3}.get(name, 0))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("nobody_left")
def test_sigterm_at_any_time_does_as_an_interruption_does(
    tmp_path: Path, name: str, seed: int
) -> None:
    made, told = world(tmp_path / "w", "duckdb" if seed % 2 else "sqlite"), tmp_path / "told"
    process = made.drive("none", 0, name, told, source=_STARTED)
    until = time.monotonic() + LONGEST
    while not told.exists() and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(random.Random(f"{name} {seed}").random() * 1.5)
    process.send_signal(signal.SIGTERM)
    check_ended(made, process, told, code=143)


_STARTED: Final = """
import sys
told = sys.argv[3]
del sys.argv[1:4]
from constat.diagnostics.interruption import listen
from constat.__main__ import main
listen()
open(told, "w").close()
sys.exit(main())
"""
_STRUCK: Final = """
import os, signal
os.kill(os.getpid(), signal.SIGINT)
whole = True
"""
_LOADING: Final = """
import sys, time
from constat.diagnostics.interruption import SignalError, listen
listen()
try:
    import struck
    time.sleep(60)
except SignalError as caught:
    print(caught.number, struck.whole)
"""

_FINALIZED: Final = """
import os, signal, time
from weakref import WeakSet
from constat.diagnostics.interruption import SignalError, listen

class Data(set):
    def discard(self, item):
        os.kill(os.getpid(), signal.SIGTERM)
        super().discard(item)
        self.whole = True

class Item:
    pass

listen()
held, item = WeakSet(), Item()
held.add(item)
held.data = Data(held.data)
try:
    del item
    time.sleep(60)
except SignalError as caught:
    print(caught.number, held.data.whole)
"""


def test_a_signal_while_an_object_is_finalized_is_not_swallowed_there() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FINALIZED],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"{signal.SIGTERM.value} True\n", "")


def test_a_module_that_is_being_loaded_is_loaded_whole_before_a_signal_ends_anything(
    tmp_path: Path,
) -> None:
    (tmp_path / "struck.py").write_text(_STRUCK)
    done = subprocess.run(
        [sys.executable, "-c", _LOADING],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.stdout == f"{int(signal.SIGINT)} True\n", done.stderr


_KILLED: Final = """
import os, signal, sys
del sys.argv[1:4]
from constat.store import replacing
from constat.explore.sandbox import sandbox
import constat.session.running, constat.cli.output

def kill(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

replacing.Replacements.commit = kill
from constat.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["query", "run", "export"])
def test_what_a_killed_command_left_goes_with_the_next(tmp_path: Path, name: str) -> None:
    made = world(tmp_path / "w")
    process = made.drive("none", 0, name, tmp_path / "told", source=_KILLED)
    process.communicate(timeout=LONGEST)
    assert process.returncode == -signal.SIGKILL
    left = [one for one in made.out.iterdir() if one.name.startswith(".constat-")]
    assert left
    again = made.drive("none", 0, name, tmp_path / "told", source=_STARTED)
    again.communicate(timeout=LONGEST)
    assert again.returncode == 0
    assert not [one for one in made.out.iterdir() if one.name.startswith(".")]
    assert not list(made.temporary.glob("constat-*"))
