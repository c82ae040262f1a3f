"""Break what computes in bulk in one place, at random, and see whether counting again notices.

In: how many copies of `plan.forward`, `forward`, `sql` and `columnar`, and a corpus of random
programs whose right rows are known. A copy does harm where it calls closed what is not the right
set of rows. Out: how many copies do, and what the check said of the first wrong answer of each: it
has to differ, or at least not to pass.

Once, each program is run with every statement watched and its talk with DuckDB on tape. A copy then
meets the programs that reach its break only, those first in which others did harm, and DuckDB runs
from the first statement on that is another one; the first harm ends it. Run it with
`python -m tests.mutation.recount --count 100`; with `--log FILE` it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, cast

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as fixed
from hypothesis import strategies as st

from constat.catalog.fact_files import FactFile, cell_writer
from constat.logic import Kind
from constat.recount import Bounds, Claim, recount
from tests.forward.doubtful_worlds import doubtful_cases
from tests.mutation.copies import forget, noticed
from tests.mutation.reaching import Break, Key, Watch, breaks_of, modules_of, reached
from tests.mutation.tapes import Tape, played
from tests.oracle import naive
from tests.property.coverage import under
from tests.property.rules import Shape
from tests.property.strategies import Case
from tests.property.tables import tables
from tests.random_programs.drawing import draw
from tests.random_programs.judging import read_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Atom, Row

PACKAGES: Final = (*("constat.plan.forward", "constat.forward", "constat.sql", "constat.columnar"),)
HOLDERS: Final = (*PACKAGES, "constat.plan")
SECONDS: Final = 5.0
"""Of the processor, for one program; the slowest takes a tenth of it."""
MOST_STUCK: Final = 3
KINDS: Final = ("no wrong answer", "differs", "passed", "not checked", "does not end")


@dataclass(frozen=True, slots=True)
class Known:
    """A question, the rows that are right, and how a copy is to compute them.

    `seed` tells programs apart. `is_open` says that some rows may hold besides. The copy reads the
    inputs as `inputs` gives them, and the check in its own way.
    """

    seed: int
    program: AnalysedProgram
    world: naive.World
    goal: Atom
    rows: frozenset[Row]
    is_open: bool
    strategy: str | None
    magic: bool | None
    inputs: str
    folder: Path


WAYS: Final = ("outside", "outside", "rows", "files")


def make_corpus(size: int, first: int, folder: Path) -> list[Known]:
    """Give so many random programs, one question to each: to some of them nobody knows all rows.

    A sixth of them have openings, drawn by a library of tests; of the others, those whose instances
    err are open.
    """
    cases = [*islice(_drawn(first), size - size // 6), *_doubtful(size // 6, first)]
    return [_known(seed, case, folder) for seed, case in cases]


def _drawn(seed: int) -> Iterator[tuple[int, Case]]:
    while True:
        read, seed = read_program(draw(seed)), seed + 1
        if read is not None:
            goal = Random(seed).choice([read.goal, *read.wanted])
            yield seed, Case(read.program, read.world, goal)


def _doubtful(size: int, first: int) -> list[tuple[int, Case]]:
    """Give cases with openings, the same each time."""
    made: list[Case] = []
    shapes = [Shape(totals=False, errors=False), Shape(totals=False), Shape()]

    @fixed(first)
    @settings(
        max_examples=max(1, size),
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(shapes).flatmap(doubtful_cases))
    def collect(case: Case) -> None:
        made.append(case)

    collect()
    return [(-1 - place, case) for place, case in enumerate(made[:size])]


def _known(seed: int, case: Case, folder: Path) -> Known:
    program, world, goal, random = case.program, case.world, case.goal, Random(seed)
    truth = naive.evaluate(program, world, accepted=False)
    found = under(goal, truth[goal.predicate])
    rows: Any = frozenset(one for one in found if truth[goal.predicate][one])
    names = [one.name for one in importlib.import_module("constat.plan.forward").Strategy]
    strategy, magic = random.choice([None, *names]), random.choice([None, True, False])
    plain = not world.openings and not any(
        why is not None for listed in world.rows.values() for _, why in listed
    )
    kinds = {kind for name in program.external for kind in program.program.predicates[name].kinds}
    ways = [one for one in WAYS if plain or one == "outside"]
    way = random.choice(ways if Kind.STRUCTURE not in kinds else ways[:3])
    open_ = len(rows) < len(found)
    return Known(seed, program, world, goal, rows, open_, strategy, magic, way, folder)


def answered(one: Known) -> list[Row] | None:
    """Let the copy that is imported now answer; nothing where it calls nothing closed."""
    forward: Any = importlib.import_module("constat.forward")
    strategies: Any = importlib.import_module("constat.plan.forward").Strategy
    running: Any = importlib.import_module("constat.evaluation").Resources
    strategy = None if one.strategy is None else strategies[one.strategy]
    resources = running(seconds=600.0, memory=256 << 20, threads=1)
    options = forward.Options(resources, strategy=strategy, magic=one.magic, graded=True)
    with forward.evaluate(one.program, [one.goal], inputs_of(one, forward), options) as results:
        if not results.is_closed(0):
            return None
        return [row for batch in results.batches(0) for row in batch]


def inputs_of(one: Known, forward: Any) -> dict[str, object]:  # noqa: ANN401  a module
    """Give the inputs in the way of a program; files lie in a folder that lasts as long as this."""
    if one.inputs == "outside":
        found = tables(one.program, one.world)
        return {name: forward.Outside(table) for name, table in found.items()}
    made: dict[str, object] = {}
    for name in sorted(one.program.external):
        predicate = one.program.program.predicates[name]
        rows = [row for row, _ in one.world.rows.get(name, ())]
        if one.inputs == "rows" or not predicate.arity:
            made[name] = forward.Rows(rows)
            continue
        path = one.folder / f"{one.seed}.{name}.facts"
        if not path.exists():
            writers = [cell_writer(kind, 64, quoted=False) for kind in predicate.kinds]
            lines = ["\t".join(w(c) for w, c in zip(writers, row, strict=True)) for row in rows]
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        places = tuple(range(predicate.arity))
        made[name] = forward.Files((FactFile(path, path.name, predicate, places),))
    return made


def is_wrong(one: Known, rows: list[Row] | None) -> bool:
    """Tell whether an answer that is called closed is not right."""
    if rows is None:
        return False
    return one.is_open or len(rows) != len(one.rows) or set(rows) != one.rows


class StuckError(BaseException):
    """A program took far longer than it does."""


@dataclass(slots=True)
class Corpus:
    """Programs, what each asks of DuckDB, and which breaks it can meet."""

    known: Sequence[Known]
    tapes: list[Tape]
    runs: list[set[Key]]
    harmed: Counter[int] = field(default_factory=Counter)

    def first(self, numbers: Sequence[int]) -> list[int]:
        """Put programs first in which other copies did harm; of the others, those that ask less."""
        return sorted(numbers, key=lambda one: (-self.harmed[one], len(self.tapes[one])))


def prepared(known: Sequence[Known]) -> Corpus:
    """Run every program once, on tape, then watched; both in processes of their own."""
    tapes: list[Tape] = pickle.loads(_apart(lambda: _taped(known)))  # noqa: S301  from our own child
    runs: list[set[Key]] = pickle.loads(_apart(lambda: _watched(known)))  # noqa: S301  as above
    _without_threads()
    # What is loaded when it is first needed is loaded here, for all copies.
    for one, tape in zip(known, tapes, strict=True):
        with played(tape):
            answered(one)
    gc.freeze()
    return Corpus(known, tapes, runs)


def _taped(known: Sequence[Known]) -> list[Tape]:
    tapes: list[Tape] = []
    for one in known:
        with played(None) as real:
            rows = answered(one)
        if is_wrong(one, rows):
            message = f"the unbroken code is wrong: seed {one.seed}"
            raise AssertionError(message)
        tapes.append(real.recorded)
    return tapes


def _watched(known: Sequence[Known]) -> list[set[Key]]:
    names = [f"{package}.{path.stem}" for package, path in modules_of(PACKAGES)]
    watch = Watch()
    watch.install(modules_of(PACKAGES))
    forget(*HOLDERS)
    for name in names:
        importlib.import_module(name)
    always, runs = frozenset(watch.seen), []
    for one in known:
        watch.seen = set(always)
        answered(one)
        runs.append(watch.seen)
    return runs


def _apart(work: Callable[[], object]) -> bytes:
    """Give what a piece of work gives in a child, pickled: no thread of DuckDB's stays here."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "wb") as out:
                out.write(pickle.dumps(work()))
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            sys.stderr.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as found:
        told = found.read()
    os.waitpid(child, 0)
    return told


def harm(corpus: Corpus, broken: Break | None, numbers: Sequence[int]) -> str | None:
    """Break the code and say what the check says of the first wrong answer, if any is wrong."""
    if broken is not None:
        broken.put(HOLDERS)
    _without_threads()
    # The child ends soon, with all that it holds.
    gc.disable()
    signal.signal(signal.SIGPROF, _stuck)
    stuck = 0
    for number in numbers:
        one = corpus.known[number]
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            with played(corpus.tapes[number]):
                rows = answered(one)
        except StuckError:
            stuck += 1
            if stuck == MOST_STUCK:
                return "does not end | "
            continue
        except Exception:  # noqa: BLE001, S112  what ends with an error calls no row proved
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if rows is not None and is_wrong(one, rows):
            return f"{checked(one, rows)} | {number}"
    return None


def _stuck(*_: object) -> None:
    raise StuckError


def _without_threads() -> None:
    """Have DuckDB asked by the thread that needs it: here nobody interrupts it."""
    connection: Any = importlib.import_module("constat.sql.connection")
    connection.Deadline = _NoDeadline
    connection.Worker = _NoWorker


class _NoDeadline(nullcontext[None]):
    """A time that is never up."""

    cancelled = late = False

    def __init__(self, *_: object) -> None:
        super().__init__()

    def cancel(self) -> None:
        """Nothing runs that would have to end."""


class _NoWorker:
    """Works at once."""

    def __init__(self, *_: object) -> None:
        self.run = lambda work: work()

    def close(self) -> None:
        """There is no thread to end."""


def checked(one: Known, rows: list[Row]) -> str:
    """Let the check look at an answer."""
    claim = Claim(one.goal, tuple(range(len(one.goal.terms))), rows)
    found = recount(one.program, claim, tables(one.program, one.world), Bounds(threads=1, few=0))
    return f"{found.state.value} | seed {one.seed}: {found.why}"


def chosen(count: int, seed: int) -> list[Break]:
    """Choose so many breaks at random over all places."""
    for package in PACKAGES:
        importlib.import_module(package)
    every = [one for package, path in modules_of(PACKAGES) for one in breaks_of(package, path)]
    sys.stderr.write(f"{len(every):,} places\n")
    return Random(seed).sample(every, min(count, len(every)))


@dataclass(slots=True)
class Log:
    """What was found, a line for each copy, in a file where one is named."""

    path: Path | None
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def read(self) -> None:
        """Take up what an earlier run has found."""
        if self.path is not None and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                entry = cast("dict[str, Any]", json.loads(line))
                self.found[entry["name"]] = entry

    def left(self, one: Break, meets: Sequence[int]) -> list[int]:
        """Give the programs that a copy has not met yet: none once it did harm."""
        entry = self.found.get(one.name)
        return list(meets) if entry is None else entry.get("left", [])

    def add(self, one: Break, told: str, programs: int, left: Sequence[int]) -> None:
        """Note a copy: what was found, how many programs reach its break, and which are left."""
        kind = told.partition(" |")[0]
        entry = {
            "name": one.name,
            "line": one.line,
            "what": one.what,
            "programs": programs,
            "left": sorted(left) if kind == KINDS[0] else [],
            "kind": kind,
            "told": told,
        }
        self.found[one.name] = entry
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

    def counts(self) -> dict[str, int]:
        """Count the copies of each kind."""
        told = Counter(
            one["kind"] if one["kind"] in KINDS else "the copy does not run"
            for one in self.found.values()
        )
        told["reached by no program"] = sum(not one["programs"] for one in self.found.values())
        told["met by some of its programs only"] = sum(
            bool(one.get("left")) for one in self.found.values()
        )
        return dict(told)


def tried(corpus: Corpus, breaks: Sequence[Break], log: Log, turn: int, beyond: int = -1) -> None:
    """Let every copy meet the programs that reach its break: `turn` each first, then all.

    Copies that no more than `beyond` programs reach are left out.
    """
    meets = reached(breaks, corpus.runs)
    breaks = [one for one in breaks if len(meets[one.name]) > beyond]
    begun = time.monotonic()
    # Those that no program reaches are settled at once; then those that most reach.
    most = 1 + len(corpus.known)
    ordered = sorted(breaks, key=lambda each: -(len(meets[each.name]) or most))
    for last in (turn, most):
        for one in ordered:
            left = log.left(one, meets[one.name])
            count = len(meets[one.name])
            numbers = corpus.first(left)[: max(0, last - (count - len(left)))]
            if not numbers and (one.name in log.found or left):
                continue
            told = _met(corpus, one, numbers)
            log.add(one, told, count, sorted({*left} - {*numbers}))
            shown = f"{one.name}, line {one.line}: {one.what} | {len(numbers)} programs | {told}"
            sys.stderr.write(f"{time.monotonic() - begun:.0f}s {shown}\n")


def _met(corpus: Corpus, one: Break, numbers: Sequence[int]) -> str:
    """Let a copy meet programs; say what came of it."""
    if not numbers:
        return KINDS[0]
    seconds = SECONDS * (MOST_STUCK + 1) + len(numbers)
    found = noticed("", None, partial(harm, corpus, one, numbers), seconds)
    if found and found.count(" | ") > 1:
        corpus.harmed[int(found.rpartition(" | ")[2])] += 1
    return found or KINDS[0]


def _at_once(pieces: Sequence[Callable[[], None]]) -> None:
    """Work on several pieces, each in a process of its own."""
    children = []
    for piece in pieces:
        child = os.fork()
        if child == 0:
            try:
                piece()
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def main() -> int:
    """Break and count; 1 where a wrong answer passed."""
    parser = argparse.ArgumentParser(description="Break bulk evaluation; see if the check notices.")
    parser.add_argument("--count", type=int, default=100, help="broken copies")
    parser.add_argument("--size", type=int, default=300, help="programs of the corpus")
    parser.add_argument("--first", type=int, default=50_000, help="the first seed of the corpus")
    parser.add_argument("--seed", type=int, default=1, help="which copies")
    parser.add_argument("--log", type=Path, help="a file to note each copy in, and to go on from")
    parser.add_argument("--turn", type=int, default=60, help="programs for each, before more")
    parser.add_argument(
        "--beyond", type=int, default=-1, help="only copies that more programs reach than this"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes; several need a log")
    told = parser.parse_args()
    log = Log(told.log)
    log.read()
    begun = time.monotonic()
    breaks = chosen(told.count, told.seed)
    with tempfile.TemporaryDirectory() as folder:
        corpus = prepared(make_corpus(told.size, told.first, Path(folder)))
        sys.stderr.write(f"{told.size} programs prepared in {time.monotonic() - begun:.0f} s\n")
        if told.workers == 1:
            tried(corpus, breaks, log, told.turn, told.beyond)
        else:
            shares = [breaks[one :: told.workers] for one in range(told.workers)]
            _at_once([partial(tried, corpus, one, log, told.turn, told.beyond) for one in shares])
            log.read()
    sys.stdout.write(f"{len(log.found)} copies: {log.counts()}\n")
    return int(log.counts().get("passed", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
