"""Nemo, which reads the facts itself: `python -m tests.bench.peers.nemo_peer w1 FOLDER`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, Final

from tests.bench.peers.spoken import CANNOT, CannotSayError, rules_of
from tests.bench.peers.spoken import nemo as nemo_rules
from tests.bench.peers.workloads import WORKLOADS

_PATHS: Final = "path(?a,?b) :- edge(?a,?b) . path(?a,?c) :- path(?a,?b), edge(?b,?c) ."
_RULES: Final = {
    "w1": _PATHS,
    "w2": _PATHS,
    "w2s": _PATHS,
    "w3": "same(?a,?b) :- parent(?a,?p), parent(?b,?p) ."
    "same(?a,?b) :- parent(?a,?p), same(?p,?q), parent(?b,?q) .",
    "w4": "reached(?a) :- source(?a) . reached(?b) :- reached(?a), edge(?a,?b) .",
    "w5": "revenue(?c,#sum(?a,?i)) :- orders(?i,?c,?a,?r,?d) ."
    'big(?c) :- revenue(?c,?s), ?s > 200000 . big(?c) :- customer(?c,"gold") .'
    "is_vip(?c) :- big(?c), ~blocked(?c) ."
    "buys_in(?r,?c) :- is_vip(?c), orders(?i,?c,?a,?r,?d) ."
    "vips_in(?r,#count(?c)) :- buys_in(?r,?c) .",
    "w7": "points(?y,?h) :- new(?y,?h) . points(?y,?h) :- assign(?y,?z), points(?z,?h) ."
    "points(?y,?k) :- load(?y,?x), points(?x,?h), field_points(?h,?k) ."
    "field_points(?h,?k) :- store(?y,?x), points(?y,?h), points(?x,?k) .",
}
_TEXTS: Final = frozenset({"reg", "d", "tier"})


def main(name: str, folder: Path) -> int:
    """Answer one workload; 3 where Nemo cannot say it."""
    workload = WORKLOADS[name]
    try:
        rules = _RULES.get(name) or nemo_rules(rules_of(workload.program(folder)))
    except CannotSayError:
        return CANNOT
    nemo: Any = importlib.import_module("nmo_python")
    lines = [rules]
    for relation, columns in workload.inputs.items():
        # With the type `any` a bare word is an IRI, and no text equals it.
        kinds = ("string" if name == "w2s" or one in _TEXTS else "int" for one in columns)
        place = folder / f"{relation}.facts"
        lines.append(
            f'@import {relation} :- tsv {{ resource = "{place}", format=({",".join(kinds)}) }} .'
        )
    lines += [f"@output {answer} ." for answer in workload.answers]
    engine = nemo.NemoEngine(nemo.load_string("\n".join(lines)))
    engine.reason()
    for answer in workload.answers:
        sys.stdout.write(f"{answer}\t{sum(1 for _ in engine.result(answer))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
