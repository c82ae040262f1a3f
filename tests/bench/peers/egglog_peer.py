"""egglog, which reads tab-separated facts: `python -m tests.bench.peers.egglog_peer w1 FOLDER`."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.bench.peers.spoken import CANNOT, CannotSayError, rules_of
from tests.bench.peers.spoken import egglog as egglog_rules
from tests.bench.peers.workloads import WORKLOADS

_PATHS: Final = (
    "(relation path (i64 i64)) (rule ((edge a b)) ((path a b)))"
    "(rule ((path a b) (edge b c)) ((path a c)))"
)
_RULES: Final = {
    "w1": _PATHS,
    "w2": _PATHS,
    "w3": "(relation same (i64 i64)) (rule ((parent a p) (parent b p)) ((same a b)))"
    "(rule ((parent a p) (same p q) (parent b q)) ((same a b)))",
    "w4": "(relation reached (i64)) (rule ((source a)) ((reached a)))"
    "(rule ((reached a) (edge a b)) ((reached b)))",
    "w7": "(relation points (i64 i64)) (relation field_points (i64 i64))"
    "(rule ((new y h)) ((points y h))) (rule ((assign y z) (points z h)) ((points y h)))"
    "(rule ((load y x) (points x h) (field_points h k)) ((points y k)))"
    "(rule ((store y x) (points y h) (points x k)) ((field_points h k)))",
}


def main(name: str, folder: Path) -> int:
    """Answer one workload; 3 where egglog was not told how."""
    workload = WORKLOADS[name]
    try:
        rules = _RULES.get(name) or egglog_rules(
            rules_of(workload.program(folder)), list(workload.inputs)
        )
    except CannotSayError:
        return CANNOT
    bindings: Any = importlib.import_module("egglog.bindings")
    with tempfile.TemporaryDirectory() as place:
        lines = []
        for relation, columns in workload.inputs.items():
            copied = shutil.copy(folder / f"{relation}.facts", Path(place) / f"{relation}.tsv")
            lines.append(f"(relation {relation} ({' '.join(['i64'] * len(columns))}))")
            lines.append(f'(input {relation} "{copied}")')
        lines += [rules, "(run-schedule (saturate (run)))"]
        lines += [f"(print-size {answer})" for answer in workload.answers]
        graph = bindings.EGraph()
        said = graph.run_program(*graph.parse_program("\n".join(lines)))
    sizes = [found[0] for one in said if (found := re.findall(r"[0-9]+", str(one)))]
    for answer, size in zip(workload.answers, sizes[-len(workload.answers) :], strict=True):
        sys.stdout.write(f"{answer}\t{size}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
