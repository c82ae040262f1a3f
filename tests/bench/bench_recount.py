"""What counting answers again costs, against computing them: W1 to W8 and ten further shapes.

Each workload is computed in a process of its own and counted again in another one, over the same
files of Parquet, which hold each row once. Times are those of processors after everything is
loaded (inputs are read within them, and the rows of the answer are handed out and looked at);
memory is the most that each process had. Where an aim is missed the quotient is bold.

Run it with `python -m tests.bench.bench_recount [w1 x3 ...] [--factor 0.5] [--rounds 3]`.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, run
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import numpy as np

from constat.analysis import AnalysedProgram, analyse
from constat.diagnostics import Diagnostic
from constat.evaluation import Answer, Demand, Evidence, Origin, Readable, Resources
from constat.forward import Options, Outside, evaluate
from constat.logic import Atom, Variable
from constat.recount import Bounds, Claim, recount_all
from constat.syntax import Mode, parse_goal
from constat.syntax.lowering import lower
from constat.syntax.parser import parse_file
from tests.bench.peers.generate import Size, write
from tests.bench.peers.workloads import PROGRAMS, WORKLOADS

_TIME: Final = "2026-01-31T10:00:00.000000Z"
_SIDES: Final = ("run", "check")
Tables = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Shape:
    """A program, its inputs, what is asked, and whether a stage below it is recursive."""

    title: str
    rules: str
    goals: tuple[str, ...]
    recursive: bool
    tables: Callable[[float], Tables]

    @property
    def most(self) -> float:
        """The aim: how many times the run's time of processors the check may take."""
        return 2.5 if self.recursive else 1.0


def _pairs(seed: int, most: int, size: int, *, skew: float = 1.0) -> Mapping[str, Any]:
    random = np.random.default_rng(seed)
    drawn = (random.random((2, size)) ** skew * most).astype(np.int64)
    found = np.unique(drawn, axis=1)
    return {"a": found[0], "b": found[1]}


def _columns(seed: int, size: int, *most: int) -> Mapping[str, Any]:
    random = np.random.default_rng(seed)
    drawn = np.stack([random.integers(0, one, size) for one in most])
    return {f"c{n}": column for n, column in enumerate(np.unique(drawn, axis=1))}


def _alias(factor: float) -> Tables:
    random, nodes = np.random.default_rng(21), int(20_000 * factor)
    start = random.integers(1, nodes, nodes // 2)
    near = np.maximum(0, start - random.integers(1, 50, len(start)))
    found = np.unique(np.stack([start, near]), axis=1)
    return {
        "assign": {"a": found[0], "b": found[1]},
        "read": _columns(22, nodes // 6, nodes, nodes),
    }


def _fields(factor: float) -> Tables:
    nodes, objects = int(5_000 * factor), int(1_200 * factor)
    return {
        "new": _columns(31, objects, nodes, objects),
        "move": _pairs(32, nodes, int(3_200 * factor)),
        "load": _columns(33, int(800 * factor), nodes, nodes, 30),
        "store": _columns(34, int(800 * factor), nodes, 30, nodes),
    }


def _packages(factor: float) -> Tables:
    random, size = np.random.default_rng(41), int(3_500 * factor)
    names = np.array([f"lib/{random.integers(0, 10)}/{n:05d}" for n in range(size * 2 // 3)])
    chosen = random.integers(0, len(names), (2, size))
    wanted = np.array([f">={random.integers(0, 4)}.{random.integers(0, 9)}" for _ in range(size)])
    found = np.unique(np.stack([names[chosen[0]], names[chosen[1]], wanted]), axis=1)
    return {"needs": dict(zip("abv", found, strict=True))}


def _sales(factor: float) -> Tables:
    random, size = np.random.default_rng(51), int(1_500_000 * factor)
    shops, goods = 400, 3_000
    return {
        "sold": {
            "id": np.arange(size),
            "shop": random.integers(0, shops, size),
            "good": random.integers(0, goods, size),
            "pieces": random.integers(1, 20, size),
        },
        "price": {"good": np.arange(goods), "cents": random.integers(50, 9_000, goods)},
        "in_town": {
            "shop": np.arange(shops),
            "town": np.array([f"town {n % 37}" for n in range(shops)]),
        },
    }


def _layered_rules(count: int) -> str:
    random = np.random.default_rng(61)
    lines = [".decl e(a: number, b: number)", ".input e"]
    lines += [f".decl q{n}(a: number, b: number)" for n in range(count)]
    for n in range(count):
        low = n - n % 5
        lines.append(f"q{n}(a, b) :- e(a, b), a % {random.integers(3, 40)} = 0.")
        inner = low + int(random.integers(0, 5))
        lines.append(f"q{n}(a, c) :- q{inner}(a, b), e(b, c), c % {random.integers(4, 30)} = 1.")
        if low:
            one, other = random.integers(max(0, low - 10), low, 2)
            lines.append(f"q{n}(b, a) :- q{one}(a, b), !q{other}(b, a).")
    return "\n".join(lines)


def _concepts(factor: float) -> Tables:
    size = int(6_000 * factor)
    random = np.random.default_rng(71)
    child = random.integers(1, size, size * 2)
    above = (child * random.random(len(child))).astype(np.int64)
    found = np.unique(np.stack([child, above]), axis=1)
    return {
        "is_a": {"a": found[0], "b": found[1]},
        "has": _columns(72, size // 2, size, 12, size),
        "implies": _columns(73, size // 3, 12, size, size),
        "chain": _columns(74, 16, 12, 12, 12),
    }


_EDGES: Final = ".decl edge(a: number, b: number)\n.input edge\n"
_SHAPES: Final[Mapping[str, Shape]] = {
    "x1": Shape(
        "aliases of pointers, three relations that need each other",
        """.decl assign(a: number, b: number)
.input assign
.decl read(a: number, b: number)
.input read
.decl flows(a: number, b: number)
.decl in_memory(a: number, b: number)
.decl alias(a: number, b: number)
flows(y, x) :- assign(y, x).
flows(x, y) :- assign(x, z), in_memory(z, y).
flows(x, y) :- flows(x, z), flows(z, y).
flows(x, x) :- assign(x, _).
flows(x, x) :- assign(_, x).
in_memory(x, w) :- read(y, x), alias(y, z), read(z, w).
in_memory(x, x) :- assign(_, x).
alias(x, y) :- flows(z, x), flows(z, y).
alias(x, y) :- flows(z, x), in_memory(z, w), flows(w, y).
""",
        ("flows(?a, ?b)", "alias(?a, ?b)"),
        recursive=True,
        tables=_alias,
    ),
    "x2": Shape(
        "300 rules in layers, with cycles and negation",
        _layered_rules(110),
        ("q109(?a, ?b)",),
        recursive=True,
        tables=lambda factor: {"e": _pairs(62, int(700 * factor), int(2_500 * factor))},
    ),
    "x3": Shape(
        "points-to over fields, three columns",
        """.decl new(v: number, o: number)
.input new
.decl move(a: number, b: number)
.input move
.decl load(a: number, b: number, f: number)
.input load
.decl store(a: number, f: number, b: number)
.input store
.decl points(v: number, o: number)
.decl holds(o: number, f: number, p: number)
points(v, o) :- new(v, o).
points(a, o) :- move(a, b), points(b, o).
holds(o, f, p) :- store(a, f, b), points(a, o), points(b, p).
points(a, p) :- load(a, b, f), points(b, o), holds(o, f, p).
""",
        ("points(?v, ?o)", "holds(?o, ?f, ?p)"),
        recursive=True,
        tables=_fields,
    ),
    "x4": Shape(
        "texts that are made as keys of a recursion",
        """.decl needs(a: symbol, b: symbol, v: symbol)
.input needs
.decl at(a: symbol, k: symbol)
.decl uses(a: symbol, k: symbol)
.decl reach(a: symbol, k: symbol)
at(b, cat(b, v)) :- needs(_, b, v).
uses(a, cat(b, v)) :- needs(a, b, v).
reach(a, k) :- uses(a, k).
reach(a, k) :- uses(a, m), at(b, m), reach(b, k).
""",
        ("reach(?a, ?k)",),
        recursive=True,
        tables=_packages,
    ),
    "x5": Shape(
        "triangles of a skewed graph",
        _EDGES + ".decl three(a: number, b: number, c: number)\n"
        "three(a, b, c) :- edge(a, b), edge(b, c), edge(a, c).\n",
        ("three(?a, ?b, ?c)",),
        recursive=False,
        tables=lambda factor: {
            "edge": _pairs(81, int(30_000 * factor), int(150_000 * factor), skew=2.0)
        },
    ),
    "x6": Shape(
        "paths that count their steps, with arithmetic",
        _EDGES + ".decl far(a: number, b: number, n: number)\n"
        "far(a, b, 1) :- edge(a, b).\nfar(a, c, n + 1) :- far(a, b, n), edge(b, c), n < 6.\n",
        ("far(?a, ?b, ?n)",),
        recursive=True,
        tables=lambda factor: {"edge": _pairs(82, int(4_000 * factor), int(12_000 * factor))},
    ),
    "x7": Shape(
        "what is not reached: negation over a recursion",
        _EDGES + ".decl node(a: number)\n.decl path(a: number, b: number)\n"
        ".decl apart(a: number, b: number)\n"
        "node(a) :- edge(a, _).\nnode(b) :- edge(_, b).\n"
        "path(a, b) :- edge(a, b).\npath(a, c) :- path(a, b), edge(b, c).\n"
        "apart(a, b) :- node(a), node(b), !path(a, b).\n",
        ("apart(?a, ?b)",),
        recursive=True,
        tables=lambda factor: {"edge": _pairs(83, int(1_500 * factor), int(2_200 * factor))},
    ),
    "x8": Shape(
        "joins and totals over 1.5 million sales",
        """.decl sold(id: number, shop: number, good: number, pieces: number)
.input sold
.decl price(good: number, cents: number)
.input price
.decl in_town(shop: number, town: symbol)
.input in_town
.decl worth(id: number, shop: number, cents: number)
.decl turnover(town: symbol, cents: number)
.decl best(town: symbol, cents: number)
.decl over(town: symbol, n: number)
worth(i, s, p * c) :- sold(i, s, g, p), price(g, c).
turnover(t, n) :- in_town(_, t), n = sum c : { in_town(s, t), worth(i, s, c) }.
best(t, n) :- in_town(_, t), n = max c : { in_town(s, t), worth(i, s, c) }.
over(t, n) :- best(t, b), n = count : { in_town(s, t), worth(i, s, c), c * 2 > b }.
""",
        ("turnover(?t, ?n)", "over(?t, ?n)"),
        recursive=False,
        tables=_sales,
    ),
    "x9": Shape(
        "classification of concepts with roles",
        """.decl is_a(a: number, b: number)
.input is_a
.decl has(a: number, r: number, b: number)
.input has
.decl implies(r: number, a: number, b: number)
.input implies
.decl chain(r: number, s: number, t: number)
.input chain
.decl sub(a: number, b: number)
.decl role(a: number, r: number, b: number)
sub(a, b) :- is_a(a, b).
sub(a, c) :- sub(a, b), is_a(b, c).
role(a, r, b) :- has(a, r, b).
role(a, r, b) :- sub(a, c), has(c, r, b).
sub(a, d) :- role(a, r, b), implies(r, b, d).
role(a, t, c) :- role(a, r, b), role(b, s, c), chain(r, s, t).
""",
        ("sub(?a, ?b)", "role(?a, ?r, ?b)"),
        recursive=True,
        tables=_concepts,
    ),
    "x10": Shape(
        "two-step neighbours without a direct edge",
        _EDGES + ".decl near(a: number, b: number)\n"
        "near(a, c) :- edge(a, b), edge(b, c), a != c, !edge(a, c).\n",
        ("near(?a, ?c)",),
        recursive=False,
        tables=lambda factor: {"edge": _pairs(84, int(100_000 * factor), int(600_000 * factor))},
    ),
}
_OF_PEERS: Final[Mapping[str, tuple[str, tuple[str, ...], bool]]] = {
    "w1": ("w1", ("path(?a, ?b)",), True),
    "w2": ("w2", ("path(?a, ?b)",), True),
    "w2s": ("w2s", ("path(?a, ?b)",), True),
    "w3": ("w3", ("same(?a, ?b)",), True),
    "w4": ("w4", ("reached(?a)",), True),
    "w5": ("w5", ("is_vip(?c)", "vips_in(?r, ?n)"), False),
    "w6": ("w5", ("is_vip(11)",), False),
    "w7": ("w7", ("points(?v, ?h)", "field_points(?h, ?k)"), True),
    "w8": ("w8", ("controls(?x, ?y)",), True),
}
# What follows from a constant alone: the run and the check both restrict the rules to that.
_OF_CONSTANTS: Final[Mapping[str, tuple[str, str, bool]]] = {
    "k1": ("w1", "path(1900, ?b)", True),
    "k2": ("w2", "path(?a, 9)", True),
    "k3": ("w3", "same(77, ?b)", True),
    "k5": ("w5", 'vips_in("north", ?n)', False),
    "k7": ("x7", "apart(7, ?b)", True),
}
NAMES: Final = (*_OF_PEERS, *_SHAPES, *_OF_CONSTANTS)


def _most(name: str) -> float:
    if name in _OF_CONSTANTS:
        return 2.5 if _OF_CONSTANTS[name][2] else 1.0
    if name in _SHAPES:
        return _SHAPES[name].most
    return 2.5 if _OF_PEERS[name][2] else 1.0


def _title(name: str) -> str:
    if name in _OF_CONSTANTS:
        source, goal, _ = _OF_CONSTANTS[name]
        return f"{source.upper()}, `{goal}`"
    if name in _SHAPES:
        return _SHAPES[name].title
    return "one ground goal of w5" if name == "w6" else WORKLOADS[name].title


def prepare(name: str, folder: Path, factor: float, size: Size = Size.FULL) -> None:
    """Write the rules and the inputs of a workload."""
    folder.mkdir(exist_ok=True)
    name = _OF_CONSTANTS[name][0] if name in _OF_CONSTANTS else name
    if name in _SHAPES:
        shape = _SHAPES[name]
        (folder / "rules.dl").write_text(shape.rules, encoding="utf-8")
        with duckdb.connect() as connection:
            for relation, table in shape.tables(factor).items():
                connection.register("rows", dict(table))
                connection.execute(f"COPY (FROM rows) TO '{folder / relation}.parquet'")
                connection.unregister("rows")
        return
    source = _OF_PEERS[name][0]
    text = (PROGRAMS / f"{source}.dl").read_text(encoding="utf-8")
    (folder / "rules.dl").write_text(text, encoding="utf-8")
    write(source, folder, size, factor)


@dataclass(slots=True)
class Stored:
    """A relation in a Parquet file that has each row once, handed over as a stream."""

    path: Path
    cost: int = 10

    def answer(self, demand: Demand) -> Answer:
        """Nobody asks for single rows here."""
        raise NotImplementedError

    def estimate(self) -> float | None:
        """How many rows the file has."""
        return float(self._count())

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        """Hand out all rows, once each."""
        evidence = Evidence("database", Origin.DATABASE, self.path.stem, _TIME)
        names = self._read("*").columns[: demand.predicate.arity]
        rows = self._read(", ".join(f'"{one}" AS v{n}' for n, one in enumerate(names)))
        return Readable(demand.predicate, self._count(), evidence, lambda: _Stream(rows))

    def _count(self) -> int:
        return int(self._read("count(*)").fetchall()[0][0])

    def _read(self, what: str) -> duckdb.DuckDBPyRelation:
        found = duckdb.sql(f"SELECT {what} FROM '{self.path}'")
        assert found is not None
        return found


class _Stream:
    def __init__(self, rows: duckdb.DuckDBPyRelation) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


def program_of(path: Path) -> AnalysedProgram:
    """Read the rules of a workload."""
    text = path.read_text(encoding="utf-8")
    diagnostics: list[Diagnostic] = []
    mode = Mode.STRICT if ".pragma" in text else Mode.SOUFFLE
    surface = parse_file(text, path.name, diagnostics, mode)
    program = analyse(lower(surface.items, diagnostics, mode), diagnostics, mode)
    assert program is not None, [one for one in diagnostics if one.severity.value == "error"]
    return program


def goals_of(name: str, program: AnalysedProgram) -> list[Atom]:
    """Read the goals of a workload."""
    if name in _OF_CONSTANTS:
        return [parse_goal(_OF_CONSTANTS[name][1], program.program)]
    texts = _SHAPES[name].goals if name in _SHAPES else _OF_PEERS[name][1]
    return [parse_goal(text, program.program) for text in texts]


def _used(begun: float) -> tuple[float, float]:
    """Give seconds of processors since `begun`, and the most memory so far in MiB."""
    seconds = time.process_time() - begun
    status = Path("/proc/self/status")
    if status.exists():
        # What `getrusage` says begins at the peak of the process that started this one.
        told = status.read_text(encoding="utf-8").partition("VmHWM:")[2]
        return seconds, int(told.split()[0]) / 2**10
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, most / (2**20 if sys.platform == "darwin" else 2**10)


def computed(name: str, folder: Path) -> dict[str, object]:
    """Compute the goals, hand their rows out, and leave them in files for the check."""
    program = program_of(folder / "rules.dl")
    goals = goals_of(name, program)
    inputs = {path.stem: Outside(Stored(path)) for path in folder.glob("*.parquet")}
    begun = time.process_time()
    with evaluate(program, goals, inputs, Options(Resources())) as results:
        rows = 0
        for place in range(len(goals)):
            looked = results.select(place).aggregate("count(*), bit_xor(hash(*COLUMNS(*)))")
            rows += int(looked.fetchall()[0][0])
        seconds, memory = _used(begun)
        for place in range(len(goals)):
            with duckdb.connect() as connection:
                connection.register("rows", _Stream(results.select(place)))
                file = folder / f"answer.{place}"
                connection.execute(f"COPY (FROM rows) TO '{file}' (FORMAT parquet)")
                connection.unregister("rows")
        ways = dict.fromkeys(one.strategy for one in results.reports)
    return {"seconds": seconds, "memory": memory, "rows": rows, "said": ", ".join(ways)}


def counted(name: str, folder: Path, most: float) -> dict[str, object]:
    """Count the answers in the files again."""
    program = program_of(folder / "rules.dl")
    goals = goals_of(name, program)
    inputs = {path.stem: Stored(path) for path in folder.glob("*.parquet")}
    claims = [_claim(goal, folder / f"answer.{place}") for place, goal in enumerate(goals)]
    begun = time.process_time()
    found = recount_all(program, claims, inputs, Bounds(most))
    seconds, memory = _used(begun)
    said = dict.fromkeys(one.state.value + f" ({one.why})" * bool(one.why) for one in found)
    return {"seconds": seconds, "memory": memory, "said": "; ".join(said)}


def _claim(goal: Atom, path: Path) -> Claim:
    places = tuple(n for n, term in enumerate(goal.terms) if isinstance(term, Variable))
    rows = duckdb.sql(f"SELECT * FROM read_parquet('{path}')")
    assert rows is not None
    rows = rows.select(*(duckdb.ColumnExpression(rows.columns[n]) for n in places or (0,)))
    return Claim(goal, places, stream=lambda: _Stream(rows))


def _child(side: str, name: str, folder: Path, most: float) -> dict[str, Any]:
    """Take one side of a workload in a process of its own."""
    asked = [name, "--side", side, "--folder", str(folder), "--most", str(most)]
    ended = run(
        [sys.executable, "-m", "tests.bench.bench_recount", *asked], stdout=PIPE, check=False
    )
    if ended.returncode:
        return {
            "seconds": float("inf"),
            "memory": float("inf"),
            "said": f"ended {ended.returncode}",
        }
    return dict(json.loads(ended.stdout))


def measure(name: str, factor: float, rounds: int, most: float) -> str:
    """Compute a workload, count it again, and give a line of the table."""
    with TemporaryDirectory() as found:
        folder = Path(found)
        prepare(name, folder, factor)
        prepare(name, folder / "small", 0.02 if name in {*_SHAPES, "k7"} else 1.0, Size.SMALL)
        taken = {}
        for side in _SIDES:
            every = [_child(side, name, folder, most) for _ in range(rounds)]
            taken[side] = min(every, key=lambda one: float(one["seconds"]))
    mine, check = (taken[side] for side in _SIDES)
    cells = [name.upper(), _title(name), f"{mine.get('rows', 0):,}", mine["said"]]
    for what, unit, aim in (("seconds", "s", _most(name)), ("memory", "MiB", 1.5)):
        places = 2 if unit == "s" else 0
        cells += [f"{one[what]:,.{places}f} {unit}" for one in (mine, check)]
        quotient = check[what] / mine[what]
        cells.append(f"{quotient:.2f}" if quotient <= aim else f"**{quotient:.2f}**")
    return " | ".join(["|", *cells, check["said"], "|"]).strip()


def main() -> None:
    """Measure and write the table, or take one side of one workload."""
    parser = argparse.ArgumentParser(description="What counting answers again costs.")
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--factor", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=1, help="the least of so many counts")
    parser.add_argument("--most", type=float, default=300.0, help="seconds of one check")
    parser.add_argument("--side", choices=_SIDES, help="one side of one workload (of a child)")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.side:
        (name,) = given.names
        told: dict[str, object] = {}
        for folder in (given.folder / "small", given.folder):
            # What is loaded when it is first needed is loaded for the small one.
            told = (
                computed(name, folder) if given.side == "run" else counted(name, folder, given.most)
            )
        sys.stdout.write(json.dumps(told))
        return
    sys.stdout.write(
        "| | | rows | computed by | run | check | quotient | run | check | quotient | |\n"
        "|---|---|---:|---|---:|---:|---:|---:|---:|---:|---|\n"
    )
    for name in given.names:
        line = measure(name.lower(), given.factor, given.rounds, given.most)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
