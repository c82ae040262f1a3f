"""What changes under a command: the clock, the rows of its source, the text of its rules.

In: what changes. The clock of a child is set back by seconds to years between pieces of work; a
program swaps the rows of a source, or the text of a rule file, all the time while others ask. What
was acknowledged is there whatever the time is; every answer is of one state that there was.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import signal
import sqlite3
import sys
import time
from collections import Counter
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.faults import projects, warm
from tests.faults.kills import KINDS as KEPT
from tests.faults.kills import FaultError, cli, done, need, whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FRESH: Final = 10
_BACK: Final = (3.0, 90.0, 3_700.0, 90_000.0, 4e7, 3e8)
_TOTALS: Final = tuple(sum(range(customer, 200, projects.CUSTOMERS)) for customer in range(7))
_MAX_AGE: Final = 600.0
CLOCKS: Final = tuple(f"clock {kind}" for kind in KEPT)
KINDS: Final = (*CLOCKS, "source", "rules replaced", "rules written in place")


def run(kind: str, rounds: int, base: Path, draw: random.Random, counts: Counter[str]) -> None:
    """Change something so many times; raises `FaultError` at the first fault."""
    if kind.startswith("clock "):
        _clock(kind.removeprefix("clock "), rounds, base, draw, counts)
    elif kind == "source":
        _source(rounds, base, counts)
    else:
        _rules(kind, rounds, base, draw, counts)


# -------------------------------------------------------------------------------------- clock


def set_clock(back: float) -> None:
    """Let this process think that it is so many seconds earlier."""
    real = time.time

    class Earlier(dt.datetime):
        """The date and time of a clock that is behind."""

        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:  # type: ignore[override]
            return dt.datetime.fromtimestamp(real() - back, tz)

    time.time = lambda: real() - back
    for name, module in list(sys.modules.items()):
        if name.startswith("constat.") and vars(module).get("datetime") is dt.datetime:
            vars(module)["datetime"] = Earlier


def _clock(kind: str, rounds: int, base: Path, draw: random.Random, counts: Counter[str]) -> None:
    kept, number, told = KEPT[kind], 0, set[str]()
    project = base / "none"
    for turn in range(rounds):
        if turn % _FRESH == 0:
            project, told = projects.make(base / f"{turn}" / "project"), set()
        first, number = number, number + kept.turns
        add = _adding(kept.add, project, range(first, first + kept.turns))
        back = draw.choice((0.0, *_BACK))
        added = warm.start(add, project.parent / "tmp", partial(set_clock, back)).end()
        need(added.code == 0, f"{back:.0f} s back: {added}")
        told |= set(added.told)
        for further in (draw.choice(_BACK), 0.0):
            total = _changed(project) if kind == "cache" and further > _MAX_AGE else 0
            look = _looking(kept.look, project, set(told), total)
            before = partial(set_clock, back + further if further else 0.0)
            seen = warm.start(look, project.parent / "tmp", before).end()
            need(seen.code == 0 and not seen.told, f"{back:.0f}+{further:.0f} s back: {seen}")
        counts["acknowledged"] += len(added.told)
        counts["looks"] += 2
        counts["rounds"] += 1


def _adding(
    add: Callable[[Path, str], str], project: Path, numbers: range
) -> Callable[[Callable[[str], None]], int]:
    def work(tell: Callable[[str], None]) -> int:
        for number in numbers:
            tell(add(project, str(number)))
        return 0

    return work


def _looking(
    look: Callable[[Path, set[str]], None], project: Path, told: set[str], total: int
) -> Callable[[Callable[[str], None]], int]:
    def work(tell: Callable[[str], None]) -> int:
        try:
            if total:
                # Nobody knows how old the answers are that were kept at a later time.
                done(project, "prove", f"total(c1, {total})", "--quiet")
            look(project, told)
            whole(project)
        except FaultError as problem:
            tell(str(problem).replace("\n", " "))
        return 0

    return work


def _changed(project: Path) -> int:
    """Change what a source says of a customer; give the new total."""
    with closing(sqlite3.connect(project / "shop.sqlite")) as link, link:
        link.execute("UPDATE sale SET amount = amount + 1000 WHERE customer = 'c1'")
        (total,) = link.execute("SELECT sum(amount) FROM sale WHERE customer = 'c1'").fetchone()
    return int(total)


# ---------------------------------------------------------------------------- source and rules


def _while(change: Callable[[int], None], work: Callable[[], None], temporary: Path) -> int:
    """Work while a child changes something all the time; give how often it did."""

    def changing(_: object) -> int:
        stopped: list[int] = []
        signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
        number = 0
        while not stopped:
            number += 1
            change(number)
            time.sleep(0.002)
        return min(number, 100)

    child = warm.start(changing, temporary)
    try:
        work()
    finally:
        child.send(signal.SIGTERM)
        ended = child.end()
    need(ended.code > 1, f"the changes ended: {ended}")
    return ended.code


def _asked(words: list[str], project: Path) -> warm.Ended:
    def work(_: object) -> int:
        code, out = cli(project, *words)
        sys.stdout.write(out)
        return code

    ended = warm.start(work, project.parent / "tmp").end()
    for word in ("Traceback", "internal error"):
        need(word not in ended.printed, ended.printed[-1_500:])
    return ended


_ASKED: Final = (
    ["query", "total(?c, ?t)", "--format", "json"],
    ["solve", "--plan", "plan.yaml", "--events", "none", "--format", "json"],
    ["materialize", "total(?c, ?t)"],
    ["query", "total(?c, ?t)", "--materialized", "--format", "json"],
)


def _source(rounds: int, base: Path, counts: Counter[str]) -> None:
    """Swap all rows of the source, ten times as large or as small, in one transaction."""
    project = projects.make(base / "project")
    rules = project / "rules" / "r.dl"
    rules.write_text(rules.read_text().replace(',\n  max_age="10m"', ""))

    def change(number: int) -> None:
        with closing(sqlite3.connect(project / "shop.sqlite", timeout=60)) as link, link:
            link.execute("UPDATE sale SET amount = amount * 10" if number % 2 else _SMALLER)

    def ask() -> None:
        for turn in range(rounds):
            words = [str(project / w) if w == "plan.yaml" else w for w in _ASKED[turn % 4]]
            ended = _asked(words, project)
            counts["rounds"] += 1
            if ended.code in {2, 4} and "--materialized" not in words:
                counts["said that it changed"] += 1
                need(re.search("chang|any more", ended.printed), f"{words}: {ended}")
                continue
            counts[f"{words[0]} ends with {ended.code}"] += 1
            if ended.code in {0, 3}:
                _one_state(ended.printed, words)

    counts["changes, at least"] = _while(change, ask, base / "tmp2")


_SMALLER: Final = "UPDATE sale SET amount = amount / 10"


def _one_state(printed: str, words: list[str]) -> None:
    """Every total is of the same state."""
    if words[0] == "materialize" or not printed.lstrip().startswith("{"):
        return
    found = json.loads(printed)
    rows = found.get("rows") or []
    doubled = 2 if words[0] == "solve" else 1
    totals = sorted(row["values"]["t"] if isinstance(row, dict) else row[1] for row in rows)
    states = [sorted(total * doubled * size for total in _TOTALS) for size in (1, 10)]
    need(not rows or totals in states, f"{words}: rows of two states: {totals}")


def _rules(kind: str, rounds: int, base: Path, draw: random.Random, counts: Counter[str]) -> None:
    """Swap a bound in the rules: by another file of that name, or by writing into it slowly."""
    project = projects.make(base / "project")
    path = project / "rules" / "r.dl"
    one = path.read_text()
    texts = (one, re.sub(r"\?t > 300", "?t > 300000", one))

    def change(number: int) -> None:
        text = texts[number % 2]
        if kind == "rules replaced":
            new = path.with_suffix(".new")
            new.write_text(text)
            new.replace(path)
            return
        with path.open("w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            time.sleep(draw.random() * 0.003)
            file.write(text[len(text) // 2 :])

    def ask() -> None:
        certificate = base / "c.json"
        for turn in range(rounds):
            words = ["prove", "big(c1)", "--certificate", str(certificate)]
            if turn % 3:
                words = [["query", "big(?c)", "--format", "json"], ["materialize", "big(?c)"]][
                    turn % 2
                ]
            ended = _asked(words, project)
            need(ended.code in {0, 2, 4, 5}, f"{words}: {ended}")
            # Half of a file is an error; a file that is replaced is always whole.
            need(
                ended.code != 2 or kind != "rules replaced" or "chang" in ended.printed, f"{ended}"
            )
            counts[f"{words[0]} ends with {ended.code}"] += 1
            counts["rounds"] += 1
            if words[0] == "prove" and ended.code in {0, 5}:
                accepted = _asked(["verify", str(certificate)], project)
                need(accepted.code == ended.code, f"{ended.code}, and its proof: {accepted}")
            if words[0] == "query" and ended.code == 0:
                count = len(json.loads(ended.printed)["rows"])
                need(count in {0, projects.CUSTOMERS}, f"{count} answers")

    counts["changes, at least"] = _while(change, ask, base / "tmp2")
