"""pyDatalog, rules as its text: `python -m tests.bench.peers.pydatalog_peer w1 FOLDER`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Final

from pyDatalog import pyDatalog

from tests.bench.peers.workloads import WORKLOADS

_PATHS: Final = "path(A,B) <= edge(A,B)\npath(A,C) <= path(A,B) & edge(B,C)"
_RULES: Final = {
    "w1": _PATHS,
    "w2": _PATHS,
    "w2s": _PATHS,
    "w3": "same(A,B) <= parent(A,P) & parent(B,P)\n"
    "same(A,B) <= parent(A,P) & same(P,Q) & parent(B,Q)",
    "w4": "reached(A) <= source(A)\nreached(B) <= reached(A) & edge(A,B)",
    "w5": "(revenue[C] == sum_(A, for_each=I)) <= orders(I,C,A,R,D)\n"
    "big(C) <= (revenue[C] == S) & (S > 200000)\nbig(C) <= customer(C,'gold')\n"
    "is_vip(C) <= big(C) & ~blocked(C)",
    "w7": "points(Y,H) <= new(Y,H)\npoints(Y,H) <= assign(Y,Z) & points(Z,H)\n"
    "points(Y,K) <= load(Y,X) & points(X,H) & field_points(H,K)\n"
    "field_points(H,K) <= store(Y,X) & points(Y,H) & points(X,K)",
}
_ARITIES: Final = {"reached": 1, "is_vip": 1}


def main(name: str, folder: Path) -> int:
    """Answer one workload; 3 where pyDatalog cannot say it."""
    if name not in _RULES:
        return 3
    workload = WORKLOADS[name]
    for relation in workload.inputs:
        with (folder / f"{relation}.facts").open(encoding="utf-8", newline="") as rows:
            for row in csv.reader(rows, delimiter="\t"):
                values = [int(cell) if cell.isdigit() else cell for cell in row]
                pyDatalog.assert_fact(relation, *values)
    pyDatalog.load(_RULES[name])
    for answer in workload.answers:
        terms = ",".join("XY"[: _ARITIES.get(answer, 2)])
        sys.stdout.write(f"{answer}\t{len(pyDatalog.ask(f'{answer}({terms})').answers)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
