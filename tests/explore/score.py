"""Score a language model on the forty questions: `python -m tests.explore.score --model NAME`.

In: a provider and a model, or the plans that people wrote (`--provider written`, the default),
served on the loopback interface. Out: for each world how many questions got a plan, an answer, and
the rows of independent SQL. Invariant: where no provider answers, the report says so and has no
figures; figures of written answers say that they are about the checks and no model. Columns may
stand in any order, and further ones beside the wanted ones: what is asked for is in the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path
from typing import Any, Final

from constat import Session
from constat.diagnostics import ConstatError
from tests.examples.shop import build_database
from tests.explore.asking import DAYS, plain, questions
from tests.explore.worlds import make_example, make_regions, make_small_shop, oracle
from tests.loopback.server import WRITTEN_MODEL, Asked, ModelServer, Written

WRITTEN: Final = "written"
_KEY: Final = "CONSTAT_WRITTEN_ANSWERS_KEY"
# Codes that say something about a plan or a step; every other failure is the provider's.
_ABOUT_PLANS: Final = frozenset({"C0897", "C0898"})
_MOST_COLUMNS: Final = 7


def covers(rows: Iterable[Sequence[Any]], wanted: Sequence[Sequence[Any]]) -> bool:
    """Whether some columns of the rows, in some order, are the wanted rows."""
    found, width = list(rows), len(wanted[0]) if wanted else 0
    if len(found) != len(wanted) or not wanted:
        return len(found) == len(wanted)
    columns = range(min(len(found[0]), _MOST_COLUMNS))
    return any(
        plain([one[place] for place in places] for one in found) == plain(wanted)
        for places in permutations(columns, width)
    )


def score(world: str, project: Path, database: Path) -> dict[str, Any]:
    """Ask every question of a world. Raises `ConstatError` where the provider fails."""
    right = answered = 0
    wrong: list[dict[str, str]] = []
    raw = oracle(database)
    with Session(project) as session:
        for one in questions(world):
            trouble = ""
            try:
                explored = session.solve(one["question"], today=DAYS[world])
            except ConstatError as problem:
                if problem.diagnostics[0].code not in _ABOUT_PLANS:
                    raise
                trouble = problem.diagnostics[0].message
            else:
                answered += 1
                if covers(explored.rows, raw.execute(one["sql"]).fetchall()):
                    right += 1
                    continue
                trouble = explored.sentence
            wrong.append({"question": one["question"], "trouble": trouble})
        usage = session.models.usage
    figures = {"questions": len(questions(world)), "answered": answered, "right": right}
    return {**figures, "calls": usage.calls, "tokens": usage.tokens, "wrong": wrong}


def written(asked: Asked) -> Written:
    """Answer with the plan that a person wrote for the question."""
    everything = [one for world in DAYS for one in questions(world)]
    fitting = [one for one in everything if one["question"] in asked.question]
    if "propose_plan" not in asked.tools:
        return Written("The answer is in the table.")
    one = max(fitting, key=lambda found: len(found["question"]))
    plan = {"steps": one["steps"], "answer": one["answer"]}
    return Written(calls=(("propose_plan", plan),))


def _with_models(project: Path, provider: str, model: str, address: str) -> None:
    """Let the project ask this model, and no tape."""
    file = project / "constat.yaml"
    own = file.read_text(encoding="utf-8").partition("\nmodels:")[0]
    named: dict[str, str] = {"provider": provider, "model": model}
    if address:
        named["base_url"] = address
    if provider == "anthropic" and address and os.environ.get(_KEY):
        named["key"] = _KEY
    text = json.dumps({"named": {"planner": named}})
    file.write_text(f"{own}\nmodels: {text}\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Print the report; gives 1 where no provider answers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--provider", default=WRITTEN, choices=(WRITTEN, "anthropic", "openai"))
    parser.add_argument("--model", default=WRITTEN_MODEL)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--only", choices=tuple(DAYS))
    given = parser.parse_args(arguments)
    report: dict[str, Any] = {"provider": given.provider, "model": given.model}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider, address = given.provider, given.base_url
        if provider == WRITTEN:
            server = stack.enter_context(ModelServer(written))
            os.environ[_KEY] = "written answers need no key"
            provider, address = "anthropic", server.address
            report["answers"] = "written by hand: this scores the checks, not a model"
        build_database(folder / "shop.sqlite")
        regions = make_regions(folder / "regions")
        shop = make_small_shop(folder / "repository", folder / "shop.sqlite")
        files = {"regions": (regions, "sales.sqlite"), "shop": (shop, "data/shop.sqlite")}
        for world, database in (("access", "directory"), ("ownership", "register")):
            project = make_example(world, folder / f"repository-{world}")
            files[world] = (project, f"data/{database}.sqlite")
        try:
            for world in [given.only] if given.only else list(DAYS):
                project, database = files[world]
                _with_models(project, provider, given.model, address)
                report[world] = score(world, project, project / database)
        except ConstatError as problem:
            silent = {"answered": False, "reason": problem.diagnostics[0].message}
            report = {"provider": given.provider, "model": given.model, **silent}
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return int("reason" in report)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
