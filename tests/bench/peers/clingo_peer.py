"""clingo's grounder, which decides stratified programs: `python -m tests.bench.peers.clingo_peer`.

Facts are handed over as text, the form that clingo reads.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path
from typing import Final

import clingo

from tests.bench.peers.spoken import CANNOT, CannotSayError, rules_of
from tests.bench.peers.spoken import clingo as clingo_rules
from tests.bench.peers.workloads import WORKLOADS

_PATHS: Final = "path(A,B) :- edge(A,B). path(A,C) :- path(A,B), edge(B,C)."
_RULES: Final = {
    "w1": _PATHS,
    "w2": _PATHS,
    "w2s": _PATHS,
    "w3": "same(A,B) :- parent(A,P), parent(B,P).same(A,B) :- parent(A,P), same(P,Q), parent(B,Q).",
    "w4": "reached(A) :- source(A). reached(B) :- reached(A), edge(A,B).",
    "w5": "revenue(C,S) :- customer(C,_), S = #sum{A,I : orders(I,C,A,_,_)}."
    'big(C) :- revenue(C,S), S > 200000. big(C) :- customer(C,"gold").'
    "is_vip(C) :- big(C), not blocked(C)."
    "buys_in(R,C) :- is_vip(C), orders(_,C,_,R,_)."
    "vips_in(R,N) :- buys_in(R,_), N = #count{C : buys_in(R,C)}.",
    "w7": "points(Y,H) :- new(Y,H). points(Y,H) :- assign(Y,Z), points(Z,H)."
    "points(Y,K) :- load(Y,X), points(X,H), field_points(H,K)."
    "field_points(H,K) :- store(Y,X), points(Y,H), points(X,K).",
    "w8": "holds(X,X,Y,W) :- own(X,Y,W). holds(X,Z,Y,W) :- controls(X,Z), own(Z,Y,W), X != Z."
    "controls(X,Y) :- holds(X,_,Y,_), 51 <= #sum{W,Z : holds(X,Z,Y,W)}.",
}


def main(name: str, folder: Path) -> int:
    """Answer one workload."""
    workload = WORKLOADS[name]
    try:
        rules = _RULES.get(name) or clingo_rules(rules_of(workload.program(folder)))
    except CannotSayError:
        return CANNOT
    with tempfile.TemporaryDirectory() as place:
        text = Path(place) / "facts.lp"
        with text.open("w", encoding="utf-8") as facts:
            for relation in workload.inputs:
                with (folder / f"{relation}.facts").open(encoding="utf-8", newline="") as lines:
                    for row in csv.reader(lines, delimiter="\t"):
                        facts.write(f"{relation}({','.join(map(_spelled, row))}).\n")
            facts.write(rules)
        control = clingo.Control(["--warn=none"])
        control.load(str(text))
        control.ground([("base", [])])
    for answer in workload.answers:
        for symbol, arity, _ in control.symbolic_atoms.signatures:
            if symbol == answer:
                rows = control.symbolic_atoms.by_signature(symbol, arity)
                sys.stdout.write(f"{answer}\t{sum(1 for _ in rows)}\n")
    return 0


def _spelled(cell: str) -> str:
    return cell if cell.isdigit() else f'"{cell}"'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
