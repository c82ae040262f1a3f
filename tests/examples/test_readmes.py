"""The pages of the examples print what they show, typed in a copy of their folders."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.cli.running import run
from tests.docs.consoles import agrees, commands
from tests.docs.warm import warm_constat
from tests.examples.projects import ROOT

if TYPE_CHECKING:
    from tests.servers.leasing import ServedDatabase

EXAMPLES = ROOT / "examples"
DBT = ROOT / ".venv" / "dbt" / "bin" / "dbt"
WITH_A_SERVER = {"claims", "clients"}
WITH_OTHER_TOOLS = {"beside"}
SHOWN = sorted(
    page.parent.name
    for page in EXAMPLES.glob("*/README.md")
    if "```console" in page.read_text(encoding="utf-8")
)
_PSQL = re.compile(r'psql "\$\w+" --quiet --(file|command) (?:"(.+)"|(\S+))')


def follow(name: str, folder: Path, **environment: str) -> None:
    """Type the commands of an example's page in a copy of it, beside a copy of the libraries."""
    ignored = shutil.ignore_patterns(".constat", "__pycache__", "*.sqlite", "*.duckdb", ".env")
    here = folder / "examples" / name
    shutil.copytree(EXAMPLES / name, here, ignore=ignored)
    shutil.copytree(ROOT / "rules", folder / "rules", ignore=ignored)
    last = 0
    with TemporaryDirectory() as place, warm_constat(Path(place)) as warm:
        cold = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        for command in commands(here / "README.md"):
            if sent := _PSQL.fullmatch(command.line):
                # Whoever runs the tests may lack the server's own client.
                text = sent[2] or (here / sent[3]).read_text(encoding="utf-8")
                with psycopg.connect(environment["CLAIMS"]) as link:
                    link.execute(text.encode())
                last = 0
                continue
            # A process that runs already looks for modules where it did before.
            path = cold if "PYTHONPATH=" in command.line else f"{warm}{os.pathsep}{cold}"
            ran = subprocess.run(
                ["bash", "-c", f"(exit {last}); {command.line}"],
                cwd=here,
                env={**os.environ, **environment, "PATH": path, "COLUMNS": "100"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=120,
                check=False,
            )
            last = ran.returncode
            assert agrees(command.output, ran.stdout), (
                f"{command.place}: $ {command.line}\n{ran.stdout}"
            )


@pytest.mark.examples
@pytest.mark.parametrize("name", sorted({*SHOWN} - WITH_A_SERVER - WITH_OTHER_TOOLS))
def test_the_page_of_an_example_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    follow(name, tmp_path)


def test_the_page_about_postgresql_prints_what_it_shows(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    follow("claims", tmp_path, CLAIMS=postgresql.uri)


@pytest.mark.examples
def test_the_list_of_examples_prints_what_it_shows(tmp_path: Path) -> None:
    follow(".", tmp_path)


def test_the_list_of_examples_names_every_one_of_them() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    numbers = re.findall(r"^## (\d+)\. ", text, re.MULTILINE)
    assert numbers == [str(number + 1) for number in range(len(numbers))]
    folders = {one.parent.name for one in EXAMPLES.glob("*/*") if one.is_file()}
    assert {one for one in folders if f"[{one}]({one}/)" not in text} == set()


@pytest.mark.parametrize("page", [*EXAMPLES.glob("**/README.md")], ids=str)
def test_links_of_the_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.examples
@pytest.mark.skipif(not DBT.exists(), reason="dbt is not there; `make dbt` fetches it")
def test_the_manifest_that_is_checked_in_says_what_dbt_writes(tmp_path: Path) -> None:
    folder = tmp_path / "dbt"
    ignored = shutil.ignore_patterns("target", "rules", "*.duckdb", ".constat")
    shutil.copytree(EXAMPLES / "dbt", folder, ignore=ignored)
    quiet = {**os.environ, "DO_NOT_TRACK": "1", "DBT_SEND_ANONYMOUS_USAGE_STATS": "False"}
    built = subprocess.run(
        [str(DBT), "build"], cwd=folder, env=quiet, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout

    def told(*words: str) -> str:
        ran = run("catalog", *words, "--project", folder)
        assert ran.code == 0, ran
        return ran.out

    (folder / "rules").mkdir()
    shown = [
        ("draft", "customers", "orders", "revenue"),
        ("show", "orders"),
        ("show", "raw_orders"),
    ]
    written = [told(*words) for words in shown]
    drafted = (EXAMPLES / "dbt" / "rules" / "sources.dl").read_text(encoding="utf-8")
    assert written[0].replace("@[null = maybe]", "@[null = none]") == drafted
    shutil.copy(EXAMPLES / "dbt" / "target" / "manifest.json", folder / "target")
    assert [told(*words) for words in shown] == written
    shutil.copytree(EXAMPLES / "dbt" / "rules", folder / "rules", dirs_exist_ok=True)
    assert run("rules", "test", "--project", folder).code == 0
