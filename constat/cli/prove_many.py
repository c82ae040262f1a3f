"""`constat prove GOAL --all` and `--top-k N`: several proofs, numbered, the best first.

In: a session, a goal and what was wished. Out: the proofs as text or JSON, a certificate of each,
and the exit code of the verdict. Invariant: whether there are more proofs is always said. Example:
with `--certificate c.json` the second certificate is written to `c.2.json`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from constat.cli.asking import note_warned
from constat.cli.files import write_file
from constat.cli.output import counted, note, write, write_json
from constat.cli.progress import watching
from constat.cli.results import calls_text, result_json
from constat.cli.verdict_text import print_proof, print_verdict
from constat.evaluation import Verdict
from constat.proof import tree_to_json
from constat.session.rankings import MOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.cli.prove_options import Search, Shown
    from constat.session import Result, Session
    from constat.session.log_as import LogAs
    from constat.session.many_proofs import FoundProofs


def prove_many(session: Session, goal: str, search: Search, shown: Shown, log: LogAs | None) -> int:
    """Find proofs and print them; give the exit code."""
    with watching() as observe:
        proofs = session.proofs(
            goal,
            ranking=search.minimal or "height",
            seconds=search.budget,
            observe=observe,
            log=log,
        )
        results = list(islice(proofs, search.number or MOST))
    try:
        told = _put_away(session, results, shown)
    finally:
        if shown.form == "json":
            write_json({**_as_json(results, proofs), "models": session.model_usage})
        else:
            _print(results, proofs, shown)
    for line in () if shown.quiet else told:
        note(line)
    if not shown.quiet:
        note_warned(session)
    return results[0].exit_code


def _as_json(results: Sequence[Result], proofs: FoundProofs) -> dict[str, object]:
    first = results[0]
    return {
        "goal": proofs.goal,
        "verdict": first.verdict.value,
        "exit_code": first.exit_code,
        "count": len(results) if _is_proved(first) else 0,
        "complete": proofs.complete,
        "stopped": proofs.stopped,
        "shapes": [asdict(shape) for shape in proofs.shapes],
        "proofs": [result_json(one, json.loads(tree_to_json(one.tree))) for one in results],
    }


def _print(results: Sequence[Result], proofs: FoundProofs, shown: Shown) -> None:
    first = results[0]
    print_verdict(first, proofs.goal)
    if not shown.quiet:
        for number, result in enumerate(results, 1):
            if _is_proved(first):
                of_which = "" if result.goal == proofs.goal else f" of {result.goal}"
                write(f"\nproof {number}{of_which}{_measures(proofs, number)}")
            print_proof(result, depth=shown.depth)
        if _is_proved(first):
            write(f"\n{_how_many(len(results), proofs)}")
    if shown.trace_calls:
        write(calls_text(first.calls))


def _is_proved(result: Result) -> bool:
    return result.verdict in {Verdict.PROVED, Verdict.PROVED_UNDER}


def _measures(proofs: FoundProofs, number: int) -> str:
    if len(proofs.shapes) < number:
        return ""
    shape = proofs.shapes[number - 1]
    return f": {counted(shape.facts, 'fact')}, height {shape.height:,}, tree of {shape.size:,}"


def _how_many(count: int, proofs: FoundProofs) -> str:
    told = counted(count, "proof")
    if proofs.complete:
        return f"{told}; there are no others"
    why = f": {proofs.stopped}" if proofs.stopped else ""
    return f"at least {told}; there may be others{why}"


def _put_away(session: Session, results: Sequence[Result], shown: Shown) -> list[str]:
    """Write and keep the certificates as asked for; give what to say of them."""
    told: list[str] = []
    for number, result in enumerate(results, 1):
        if result.logged is not None:
            told.append(f"written down as entry {result.logged} of the log")
        if shown.certificate is not None:
            name = numbered(shown.certificate, number)
            write_file(name, result.certificate)
            told.append(f"certificate of proof {number} written to {name}")
        if shown.keep:
            told.append(f"certificate of proof {number} kept as {session.keep(result).name}")
    return told


def numbered(name: str, number: int) -> str:
    """Give the name of a file with a number before its suffix; the first one as it is."""
    path = Path(name)
    return name if number == 1 else str(path.with_name(f"{path.stem}.{number}{path.suffix}"))
