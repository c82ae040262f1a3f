"""One goal over a database, a file, an API and documents: the example with its own server."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from constat import Session, Verdict
from tests.examples.projects import ROOT, database_of

GOAL = "rebate(C001, 998.3376)"


@pytest.fixture(scope="module")
def rebates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("rebates") / "rebates"
    shutil.copytree(
        ROOT / "examples" / "rebates", folder, ignore=shutil.ignore_patterns("*.sqlite", ".constat")
    )
    runpy.run_path(str(folder / "make_data.py"))["build"](database_of(folder))
    command = [sys.executable, str(folder / "server.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        settings = folder / "constat.yaml"
        url = process.stdout.readline().strip()
        settings.write_text(settings.read_text().replace("http://127.0.0.1:8643", url))
        yield folder
        process.terminate()


def test_one_goal_rests_on_four_sources_and_says_that_they_are_no_snapshot(rebates: Path) -> None:
    with Session(rebates) as session:
        result = session.prove(GOAL)
        assert result.verdict is Verdict.PROVED_UNDER
        assert result.snapshot == "not one snapshot"
        header, sources = (json.loads(result.certificate)[one] for one in ("header", "sources"))
        assert header["snapshot"] == "not one snapshot"
        met = {(one["origin"], one["name"]) for one in sources}
        assert met == {
            ("DATABASE", "shop"),
            ("DATABASE", "lists"),
            ("API", "compliance"),
            ("DOCUMENT", "contracts/c001.md"),
        }
        assert {one.text.split(" says ")[0] for one in result.assumptions} == {
            "document contracts/c001.md"
        }
        # The list is asked for one customer, and the orders of nobody else are read.
        assert b"C002" not in result.certificate
        assert session.verify_source(result.certificate).exit_code == result.exit_code


@pytest.mark.sampled(4, "examples")
@pytest.mark.parametrize(
    ("goal", "verdict", "snapshot"),
    [
        ("rebate(C002, 996.2176)", Verdict.DISPROVED, "not one snapshot"),  # on the list
        ("rebate(C003, 994.0976)", Verdict.DISPROVED, "one"),  # no gold tier: nothing else is read
        ("rebate(C004, 619.986)", Verdict.DISPROVED_UNDER, "not one snapshot"),  # too few orders
        ("rebate(C005, 742.3932)", Verdict.UNRESOLVED, "not one snapshot"),  # `three` is no number
        ("rebate(C006, 987.7376)", Verdict.PROVED_UNDER, "not one snapshot"),  # a contract in a PDF
        ("revenue(C001, 24958.44)", Verdict.PROVED, "not one snapshot"),
        ("blocked(C118)", Verdict.PROVED, "one"),
        ('agreed("contracts/c001.md", 4, 20000)', Verdict.PROVED_UNDER, "one"),
        # One document in one state, though two questions are put to it.
        (
            'contract(?d, C001), agreed(?d, 4, 20000), ?d = "contracts/c001.md"',
            Verdict.PROVED_UNDER,
            "one",
        ),
        # An API has no state with a name: two requests may have met two lists.
        ("blocked(C118), blocked(C002)", Verdict.PROVED, "not one snapshot"),
    ],
)
def test_each_answer_says_whether_it_is_of_one_state(
    rebates: Path, goal: str, verdict: Verdict, snapshot: str
) -> None:
    with Session(rebates) as session:
        result = session.prove(goal)
        assert (result.verdict, result.snapshot) == (verdict, snapshot)
        found = session.verify_source(result.certificate)
        assert found.exit_code == result.exit_code
