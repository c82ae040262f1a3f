"""`kill -9` at any moment of what is kept: what was acknowledged is there, the next command works.

In: a kind of thing that is kept, and a number of rounds. Each round a child does several pieces of
work and acknowledges each; it is killed at a random moment of the time that this takes. Then
another one looks whether everything acknowledged is there, and works on.
"""

from __future__ import annotations

import io
import json
import random
import signal
import sqlite3
import statistics
import sys
from collections import Counter
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.faults import projects, warm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TURNS: Final = 4
"""Pieces of work that a child does before it ends by itself."""
_LATER: Final = 1_000_000
"""Names of approvals that whoever looks makes are greater than others."""
FRESH: Final = 25
"""Rounds after which a project is begun anew: looking at all that is kept takes time."""


class FaultError(AssertionError):
    """Something was lost, or stayed."""


class RefusedError(FaultError):
    """A command did not end as it should; `code` is how it did."""

    def __init__(self, words: Sequence[str], code: int, printed: str) -> None:
        super().__init__(f"{tuple(words)} ends with {code}: {printed[:2_000]}")
        self.code = code


def need(holds: object, message: str) -> None:
    """Raise `FaultError` where something does not hold."""
    if not holds:
        raise FaultError(message)


def cli(folder: Path, *words: str) -> tuple[int, str]:
    """Run a command of the project in this process; give its code and what it printed."""
    main = __import__("constat.cli", fromlist=["main"]).main
    out, said = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(said):
        code = main([*words, "--project", str(folder)])
    # Whoever reads a child's output sees the errors as well.
    sys.stderr.write(said.getvalue())
    return code, out.getvalue() if not code else out.getvalue() + said.getvalue()


def listed(folder: Path, *words: str) -> Any:  # noqa: ANN401  any JSON value
    """Run a command that has to work, and read its JSON."""
    return json.loads(done(folder, *words, "--format", "json"))


def done(folder: Path, *words: str, codes: tuple[int, ...] = (0,)) -> str:
    """Run a command that has to work."""
    code, out = cli(folder, *words)
    if code not in codes:
        raise RefusedError(words, code, out)
    return out


# ---------------------------------------------------------------------- what is kept, and how


def state_facts(folder: Path, name: str) -> str:
    """State a fact."""
    done(folder, "facts", "add", f"promised(c1, {name})", "--by", "ann")
    return f"promised(c1, {name})"


def look_at_facts(folder: Path, told: set[str]) -> None:
    """Every stated fact is there, once."""
    found = Counter(one["fact"] for one in listed(folder, "facts", "list"))
    need(told <= set(found), f"lost: {sorted(told - set(found))}")
    need(max(found.values(), default=1) == 1, "a fact is there twice")
    if told:
        done(folder, "prove", "known(c1)", "--quiet", codes=(3,))


def fill_cache(folder: Path, name: str) -> str:
    """Prove with a source whose answers are kept."""
    customer = f"c{int(name) % projects.CUSTOMERS}"
    done(folder, "prove", f"big({customer})", "--quiet")
    return customer


def look_at_cache(folder: Path, told: set[str]) -> None:
    """The file is whole, and what it serves is right."""
    listed(folder, "cache", "stats")
    for customer in sorted(told)[:1]:
        done(folder, "prove", f"big({customer})", "--quiet")
    done(folder, "prove", "big(nobody)", "--quiet", codes=(5,))


def log_decision(folder: Path, name: str) -> str:
    """Prove, and have it written down."""
    goal = f"total(c{int(name) % projects.CUSTOMERS}, {name})"
    done(folder, "prove", goal, "--log", "--quiet", codes=(5,))
    return goal


def look_at_log(folder: Path, told: set[str]) -> None:
    """Every decision is in the log, and the log is whole."""
    found = {one["goal"] for one in listed(folder, "log", "list")}
    need(told <= found, f"lost: {sorted(told - found)}")
    # What was torn is moved aside by the next entry.
    done(folder, "prove", "big(c1)", "--log", "--quiet")
    done(folder, "log", "verify")


def explore(folder: Path, name: str) -> str:
    """Carry out a plan, and keep each step."""
    del name
    plan = str(folder / "plan.yaml")
    words = ("solve", "--plan", plan, "--events", "none", "--format", "json")
    found = json.loads(done(folder, *words, codes=(3,)))
    need(found["sentence"].startswith("totals: 7 rows"), found["sentence"])
    return str(found["exploration"])


def look_at_explored(folder: Path, told: set[str]) -> None:
    """Every exploration is in the history, answered; the same plan gives the same answer."""
    # One that was killed before its question was kept has none.
    found = {
        one["exploration"]: one["questions"][-1]["status"] if one["questions"] else ""
        for one in listed(folder, "history")["explorations"]
    }
    need(told <= found.keys(), f"lost: {sorted(told - found.keys())}")
    need(all(found[one] == "answered" for one in told), "an answer is lost")
    explore(folder, "")


def approve(folder: Path, name: str) -> str:
    """Keep a draft, and approve it."""
    store = __import__("constat.session", fromlist=["Session"]).Session
    new = __import__("constat.store.drafts", fromlist=["NewDraft"]).NewDraft
    rule = f"drafted{name}(?c) :- big(?c), total(?c, ?t), ?t > {int(name) % 100}."
    with store(folder) as session:
        text = f".decl drafted{name}(customer: symbol)\n{rule}\n"
        kept = session.drafts.add(new(text, f"What is drafted{name}?", model="m"))
    done(folder, "rules", "approve", kept.short, "--by", "alice", "--reason", "agreed")
    return f"drafted{name}"


def look_at_approvals(folder: Path, told: set[str]) -> None:
    """Every approved rule counts, once; what was begun can be done again."""
    rules = listed(folder, "rules", "list")["rules"]
    found = Counter(one["predicate"] for one in rules)
    approved = {one["predicate"] for one in rules if one["status"] == "approved"}
    need(told <= approved, f"lost: {sorted(told - approved)}")
    need(max(found.values()) == 1, f"a rule is there twice: {found}")
    done(folder, "rules", "check")
    # What was left beside the rules goes with the next approval.
    approve(folder, f"{_LATER + len(found)}")
    for name in sorted(told)[:1]:
        done(folder, "prove", f"{name}(c1)", "--quiet")


def materialize(folder: Path, name: str) -> str:
    """Keep the answers of a query."""
    goal = ("big(?c)", "total(?c, ?t)")[int(name) % 2]
    done(folder, "materialize", goal)
    return goal


def look_at_materialized(folder: Path, told: set[str]) -> None:
    """What was kept answers; what was not can be kept again."""
    if "big(?c)" in told:
        done(folder, "query", "big(?c)", "--materialized")
    if "total(?c, ?t)" in told:
        done(folder, "query", "total(c1, ?t)", "--materialized")
    listed(folder, "materialize", "--list")
    done(folder, "materialize", "big(?c)")


def remember(folder: Path, name: str) -> str:
    """Append a round of a conversation to a memory."""
    memory = __import__("constat.memory", fromlist=["Memory"])
    rounds = __import__("tests.memory.rounds", fromlist=["one_round"])
    window = memory.Window(6_000, system=500, output=500, safety=500)
    with memory.Memory(
        folder / ".constat", "s", policy=memory.Policy(cap=600), window=window
    ) as it:
        numbers = it.append(rounds.one_round(int(name), random.Random(int(name))))
        it.context()
    return str(numbers[-1])


def look_at_memory(folder: Path, told: set[str]) -> None:
    """Every message is there, word for word, and the session goes on."""
    memory = __import__("constat.memory", fromlist=["Memory"])
    window = memory.Window(6_000, system=500, output=500, safety=500)
    with memory.Memory(
        folder / ".constat", "s", policy=memory.Policy(cap=600), window=window
    ) as it:
        last = max(map(int, told), default=-1)
        need(len(it.history.messages) > last, f"message {last} is lost")
        need(not told or it.context().messages, "nothing is in sight")
    listed(folder, "memory", "stats")


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that is kept: how it is added to, and how it is looked at."""

    add: Callable[[Path, str], str]
    look: Callable[[Path, set[str]], None]
    turns: int = TURNS


KINDS: Final[dict[str, Kept]] = {
    "facts": Kept(state_facts, look_at_facts),
    "cache": Kept(fill_cache, look_at_cache),
    "log": Kept(log_decision, look_at_log),
    "solve": Kept(explore, look_at_explored, turns=1),
    "memory": Kept(remember, look_at_memory),
    "approvals": Kept(approve, look_at_approvals),
    "materialized": Kept(materialize, look_at_materialized, turns=2),
}


def whole(folder: Path) -> None:
    """Every database of the state is whole."""
    for path in sorted((folder / ".constat").rglob("*.sqlite")):
        with closing(sqlite3.connect(path)) as connection:
            (said,) = connection.execute("PRAGMA integrity_check").fetchone()
        need(said == "ok", f"{path.name}: {said}")


def is_new(path: Path) -> bool:
    """Whether a folder has nothing in it yet; it goes after a minute, as its maker may live."""
    return path.is_dir() and {one.name for one in path.iterdir()} <= {"fresh"}


# ------------------------------------------------------------------------------------- rounds


@dataclass(slots=True)
class Rounds:
    """Rounds of one kind; `number` is that of the next piece of work, `told` what is kept."""

    kind: str
    base: Path
    draw: random.Random
    counts: Counter[str]
    project: Path = field(init=False)
    known: set[str] = field(init=False)
    told: set[str] = field(default_factory=set)
    number: int = 0
    durations: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.known = set()
        self._begin(0)

    def _begin(self, number: int) -> None:
        """Begin with a new project; what files one consists of is learned from undisturbed work."""
        self.told.clear()
        self.project = projects.make(self.base / f"{self.kind}{number}" / "project")
        for _ in range(1 if self.known else 2):
            self._let(None)
        self._look()
        self.known |= projects.names(self.project)

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self.project.parent / "tmp"

    def _let(self, moment: float | None) -> warm.Ended:
        """Work until the moment, or to the end."""
        kept = KINDS[self.kind]
        first, self.number = self.number, self.number + kept.turns

        def work(tell: Callable[[str], None]) -> int:
            for number in range(first, first + kept.turns):
                tell(kept.add(self.project, str(number)))
            return 0

        child = warm.start(work, self.temporary)
        ended = child.end() if moment is None else child.end_at(moment, signal.SIGKILL)
        if moment is None:
            need(ended.code == 0, f"undisturbed work ends with {ended.code}: {ended.printed}")
            self.durations.append(ended.seconds)
        self.told.update(ended.told)
        return ended

    def _look(self) -> None:
        """Another process looks at what is kept, and works on."""
        kept, told = KINDS[self.kind], set(self.told)

        def look(tell: Callable[[str], None]) -> int:
            try:
                kept.look(self.project, told)
                whole(self.project)
            except FaultError as problem:
                tell(str(problem).replace("\n", " "))
            return 0

        ended = warm.start(look, self.temporary).end()
        need(ended.code == 0 and not ended.told, f"{ended.told} {ended.printed[-2_000:]}")

    def run(self, count: int) -> None:
        """Kill so many children; raises `FaultError` at the first fault."""
        for number in range(count):
            if number and number % FRESH == 0:
                self._begin(number)
            before = warm.children()
            longest = statistics.median(self.durations[-5:])
            ended = self._let(self.draw.uniform(0.0, 1.05 * longest))
            self.counts["killed" if ended.was_killed else "ended before"] += 1
            self.counts["acknowledged"] += len(ended.told)
            left = warm.survivors(before)
            need(not left, f"round {number}: {len(left)} processes survive")
            self._look()
            new = projects.names(self.project) - self.known
            need(not new, f"round {number}: files stay: {sorted(new)}")
            stay = [path.name for path in self.temporary.iterdir() if not is_new(path)]
            need(not stay, f"round {number}: temporary files stay: {stay}")
            self.counts["rounds"] += 1


def run(kind: str, count: int, base: Path, draw: random.Random, counts: Counter[str]) -> None:
    """Kill so many children that add to one kind of thing; raises `FaultError` at a fault."""
    Rounds(kind, base, draw, counts).run(count)
