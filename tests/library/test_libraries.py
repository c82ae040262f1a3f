"""Every rule library of the repository keeps the promises of one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from constat.evaluation import Verdict
from constat.library import check_rules
from constat.library.listing import read_listing, rewrite
from constat.session.cases import run_cases

if TYPE_CHECKING:
    from constat.library.cases import CasesRun

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = sorted(path.parent for path in (ROOT / "rules").glob("*/cases"))
FOLDERS = sorted(path for path in (ROOT / "rules").iterdir() if path.is_dir())
LAID_OUT = sorted(path for name in ("rules", "examples") for path in (ROOT / name).rglob("*.dl"))

CHECKED = re.compile(r"(checked|compared)[^|]{0,400}against|compared with")
UNCHECKED = re.compile(
    r"not checked|were not\b|was not (read|seen|compared)|wants? checking|not with|not against"
)

RUN_WHOLE = pytest.mark.sampled(6, "examples")


def by_name(path: Path) -> str:
    return path.name


@cache
def ran(folder: Path) -> CasesRun:
    return run_cases([folder])


def test_every_folder_of_rules_is_a_library_with_cases_and_a_readme() -> None:
    assert FOLDERS == LIBRARIES
    assert [path.name for path in FOLDERS if not (path / "README.md").is_file()] == []


@pytest.mark.parametrize("folder", LIBRARIES, ids=by_name)
def test_a_library_says_of_its_citations_what_was_checked_and_what_was_not(folder: Path) -> None:
    page = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    assert CHECKED.search(page)
    assert UNCHECKED.search(page)
    assert "source" in page


@pytest.mark.parametrize("folder", LIBRARIES, ids=by_name)
def test_what_the_page_of_a_library_says_of_sources_its_rules_cite(folder: Path) -> None:
    """A row `| EXE1, GRO1 to GRO5 | ... | GDPR Article 17(1) | |`: each of these rules cites it."""
    texts = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.dl")))
    cited = dict(re.findall(r'@\[id = (\w+)\]\n@\[cites = "(.+)"\]', texts))
    assert len(cited) == texts.count("@[cites = ")
    for rules, source in sourced(folder):
        for rule in rules:
            assert rule in cited, f"{rule} cites nothing, and the page says {source}"
            article = re.search(r"\d+", re.sub(r"\d+/\d+|\(EU\) \d+|SP \d+-\d+", "", source))
            told = article is None or article[0] in cited[rule]
            assert told or source.startswith("as "), f"{rule} cites {cited[rule]}, not {source}"


def sourced(folder: Path) -> list[tuple[list[str], str]]:
    """The rules of each row of a library's table of sources, and their source."""
    found = []
    page = (folder / "README.md").read_text(encoding="utf-8")
    for named, source in re.findall(
        r"^\| ([A-Z]{3}\d[^|]*) \| [^|]+ \| ([^|]+) \|", page, re.MULTILINE
    ):
        rules: list[str] = []
        for one in re.findall(r"[A-Z]{3}\d+(?: to [A-Z]{3}\d+)?", named):
            first, _, last = one.partition(" to ")
            numbers = range(int(first[3:]), int(last[3:] or first[3:]) + 1)
            rules += [f"{first[:3]}{number}" for number in numbers]
        found.append((rules, source.strip()))
    return found


@RUN_WHOLE
@pytest.mark.parametrize("folder", LIBRARIES, ids=by_name)
def test_all_cases_of_a_library_are_as_expected(folder: Path) -> None:
    run = ran(folder)
    assert [(case.file, case.diagnostics) for case in run.cases if case.diagnostics] == []
    assert [f"{one.span}: {one.goal}: {one.problem}\n{one.proof}" for one in run.failures] == []


@RUN_WHOLE
@pytest.mark.parametrize("folder", LIBRARIES, ids=by_name)
def test_the_cases_of_a_library_make_every_rule_fire(folder: Path) -> None:
    (library,) = ran(folder).libraries
    assert library.coverage.complete
    assert [rule.id for rule in library.coverage.never_fired] == []
    never_true = [
        (rule.id, literal.text)
        for rule in library.coverage.rules
        for literal in rule.literals
        if literal.never_true
    ]
    assert never_true == []


@RUN_WHOLE
@pytest.mark.parametrize("folder", LIBRARIES, ids=by_name)
def test_the_cases_of_a_library_have_proofs_refutations_and_open_goals(folder: Path) -> None:
    verdicts = {one.verdict for one in ran(folder).results}
    assert {"PROVED", "DISPROVED", "UNRESOLVED"} <= verdicts


def test_the_cases_of_the_customer_library_have_every_verdict() -> None:
    run = ran(ROOT / "rules" / "customer-value")
    assert {one.verdict for one in run.results} == {verdict.value for verdict in Verdict}


@pytest.mark.parametrize("folder", LIBRARIES, ids=by_name)
def test_every_derived_predicate_has_an_owner_and_a_sentence(folder: Path) -> None:
    assert check_rules([folder]).diagnostics == ()
    listing = read_listing([folder], {})
    derived = [one for one in listing.predicates if one.rules]
    assert [one.name for one in derived if not one.owner] == []
    assert [one.name for one in derived if not one.says] == []


@pytest.mark.parametrize("folder", LIBRARIES, ids=by_name)
def test_no_rule_of_a_library_is_a_proposal_and_each_has_an_id(folder: Path) -> None:
    listing = read_listing([folder], {})
    assert [rule.id for rule in listing.rules if rule.status == "proposed"] == []
    assert [rule.id for rule in listing.rules if rule.id.startswith(f"{rule.predicate}.")] == []


@pytest.mark.sampled(6, "laws")
@pytest.mark.parametrize("path", LAID_OUT, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_rule_files_are_in_the_canonical_layout(path: Path) -> None:
    assert rewrite(path.read_bytes(), path.name).status == "unchanged"
