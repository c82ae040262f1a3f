"""Bills of materials: reading both formats, what the documentation says, and the rules."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session, Verdict
from tests.examples.projects import (
    ROOT,
    columns,
    copy_example,
    database_of,
    dump,
    prove_and_read_again,
    readme_goals,
    sql,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.sampled(3), pytest.mark.examples]

PROVED, DISPROVED, OPEN = Verdict.PROVED, Verdict.DISPROVED, Verdict.UNRESOLVED

TOLD = [
    ("may_release(Beacon)", PROVED),
    ("may_release(Harbor)", DISPROVED),
    ("vulnerable_below(Harbor, pkg:generic/json@1.9.0, ADV-1)", PROVED),
    ("report_late(Harbor, ADV-1, 2026-09-23)", PROVED),
    ("report_due(Fern, ADV-1, ?last)", DISPROVED),
    ("licence_problem(Canvas, pkg:generic/draw@3.0.0)", PROVED),
    ("licence_problem(Dory, pkg:generic/blob@1.0.0)", OPEN),
    ("may_release(Dory)", OPEN),
    ("lacks(Elder, pkg:generic/old@1.0.0, supplier)", PROVED),
    ("may_release(Fern)", PROVED),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_example("software", "software-supply-chain", tmp_path_factory.mktemp("software"))


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Session]:
    with Session(project) as opened:
        yield opened


@pytest.fixture(scope="module")
def reader() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "software" / "read_boms.py"))


@pytest.mark.parametrize(("goal", "verdict"), TOLD, ids=[goal for goal, _ in TOLD])
def test_the_told_part_is_as_told(project: Path, goal: str, verdict: Verdict) -> None:
    prove_and_read_again(project, goal, verdict)


# ---------------------------------------------------------------------------------- reading bills


def test_both_formats_say_the_same_of_a_product(reader: dict[str, Any], tmp_path: Path) -> None:
    made = runpy.run_path(str(ROOT / "examples" / "software" / "make_data.py"))
    parts = {f"{one['name']}@{one['version']}": one for one in made["TOLD_PARTS"]}
    found = []
    for name, licence, first in made["TOLD_PRODUCTS"]:
        for ending in ("spdx", "cyclonedx"):
            path = tmp_path / f"{ending}.json"
            document = made[ending](name, licence, first, parts)
            path.write_text(json.dumps(document), encoding="utf-8")
            found.append(reader["read_bill"](path))
    for one, other in zip(found[::2], found[1::2], strict=True):
        assert (one.product, one.licence, one.needs) == (other.product, other.licence, other.needs)
        assert one.components.keys() == other.components.keys()
        ours = {name for name in one.components if name.startswith("pkg:")}
        assert ours
        assert {one.components[name] == other.components[name] for name in ours} == {True}


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("MIT", [{"MIT"}]),
        ("MIT OR Apache-2.0", [{"Apache-2.0"}, {"MIT"}]),
        ("MIT AND (A OR B)", [{"A", "MIT"}, {"B", "MIT"}]),
        ("A OR B AND C", [{"A"}, {"B", "C"}]),
        (
            "GPL-2.0-only WITH Classpath-exception-2.0",
            [{"GPL-2.0-only WITH Classpath-exception-2.0"}],
        ),
        ("NOASSERTION", [None]),
        ("NONE", []),
    ],
)
def test_an_expression_is_read_as_its_choices(
    reader: dict[str, Any], expression: str, told: list[Any]
) -> None:
    assert list(reader["choices"](expression)) == told


@pytest.mark.parametrize(
    "expression",
    [
        *("", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT MIT", "MIT WITH", "A;B", "(" * 900 + "A"),
        " AND ".join(f"(A{number} OR B{number})" for number in range(9)),
    ],
)
def test_what_is_no_expression_is_refused(reader: dict[str, Any], expression: str) -> None:
    with pytest.raises(reader["BillError"]):
        reader["choices"](expression)


def test_ranks_are_ordered_as_versions_are(reader: dict[str, Any]) -> None:
    rank = reader["rank"]
    ordered = [
        "0",
        "0.9.9",
        "1.0.0.dev1",
        "1.0a1",
        "1.0.0-beta.2",
        "1.0.0-rc.1",
        "1.0",
        "v1.0.1",
        "1.2",
        "1.10",
        "2",
    ]
    ranks = [rank(one) for one in ordered]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)
    assert rank("1.0") == rank("1.0.0+build")
    assert rank("latest") is None
    assert max(ranks) < "~"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"bomFormat": "CycloneDX"}',
        '{"spdxVersion": "SPDX-2.3", "packages": 3}',
        '{"bomFormat": "CycloneDX", "metadata": {"component": {"name": 7}}}',
        '{"bomFormat": "CycloneDX", "metadata": {"component": {"name": "a"}}, "dependencies": 7}',
        '{"spdxVersion": "SPDX-2.3", "name": "a", "packages": [], "relationships": []}',
        "[" * 100_000,
    ],
)
def test_what_is_no_bill_is_refused_by_name(
    reader: dict[str, Any], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "one.cdx.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(reader["BillError"], match=r"one\.cdx\.json"):
        reader["read_bill"](path)


# ---------------------------------------------------------------------------------------- oracle


def test_findings_are_what_walking_the_bills_finds(session: Session, project: Path) -> None:
    path = database_of(project)
    needs: defaultdict[str, set[str]] = defaultdict(set)
    for one, other in sql(path, "SELECT * FROM dependencies"):
        needs[str(one)].add(str(other))
    parts: dict[str, set[str]] = {}
    for product, root, _ in sql(path, "SELECT * FROM products"):
        found, waiting = set(needs[str(root)]), list(needs[str(root)])
        while waiting:
            new = needs[waiting.pop()] - found
            found |= new
            waiting += new
        parts[str(product)] = found
    packages = {row[0]: row[1:] for row in sql(path, "SELECT id, package, rank FROM components")}
    hits = {
        (component, advisory)
        for advisory, package, first, fixed in sql(path, "SELECT * FROM ranges")
        for component, (of, rank) in packages.items()
        if of == package and rank is not None and str(first) <= str(rank) < str(fixed)
    }
    denied = {row[:3] for row in sql(path, "SELECT * FROM statements")}
    expected: set[tuple[object, ...]] = {
        (product, component, advisory)
        for product, held in parts.items()
        for component, advisory in hits
        if component in held and (product, component, advisory) not in denied
    }
    assert set(verdicts(session, "vulnerable(?product, ?component, ?advisory)")) == expected
    assert len(expected) > 20
    attested = {
        digest
        for digest, builder, level, _ in sql(path, "SELECT * FROM attestations")
        if builder == "forge" and int(str(level)) >= 2
    }
    digests = columns(path, "SELECT id, digest FROM components")
    bare = {
        (one, part) for one, held in parts.items() for part in held if digests[part] not in attested
    }
    assert set(verdicts(session, "unproven(?product, ?component)")) == bare


def test_licences_are_what_going_through_the_choices_finds(session: Session, project: Path) -> None:
    path = database_of(project)
    compatible = {row.values for row in session.query("compatible(?inbound, ?outbound)")}
    chosen: defaultdict[Any, defaultdict[Any, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for component, choice, licence in sql(path, "SELECT * FROM licences"):
        chosen[component][choice].add(licence)
    outbound = columns(path, "SELECT id, licence FROM products")
    expected = {}
    for product, component in (
        row.values for row in session.query("part_of(?product, ?component)")
    ):
        fits: set[bool | None] = set()
        for licences in chosen[component].values():
            bad = any(
                one is not None and (one, outbound[product]) not in compatible for one in licences
            )
            fits.add(False if bad else None if None in licences else True)
        if True not in fits:
            expected[product, component] = "UNRESOLVED" if None in fits else "PROVED"
    assert verdicts(session, "licence_problem(?product, ?component)") == expected
    assert set(expected.values()) == {"PROVED", "UNRESOLVED"}


def test_two_builds_hold_the_same_rows(tmp_path: Path, project: Path) -> None:
    again = copy_example("software", "software-supply-chain", tmp_path)
    assert dump(database_of(again)) == dump(database_of(project))


@pytest.mark.parametrize("goal", readme_goals("software"))
def test_the_goals_of_the_readme_are_answered(session: Session, goal: str) -> None:
    result = session.prove(goal)
    assert session.verify(result.certificate).verdict == result.verdict.value


def bill(**more: object) -> dict[str, object]:
    component = {"name": "app", "version": "1", "bom-ref": "app"}
    return {"bomFormat": "CycloneDX", "metadata": {"component": component}, **more}


@pytest.mark.parametrize(
    ("licenses", "wanted"),
    [
        (None, (None,)),
        ([{"license": {"name": "NOASSERTION"}}], (None,)),
        ([{"license": {"id": "MIT"}}, {"license": {"name": "NOASSERTION"}}], (None,)),
        ([{"license": {"name": "NONE"}}], ()),
        ([{"license": {"id": "MIT"}}], (frozenset({"MIT"}),)),
    ],
)
def test_a_licence_that_nobody_asserts_is_unknown(
    reader: dict[str, Any], tmp_path: Path, licenses: object, wanted: object
) -> None:
    file = tmp_path / "a.cdx.json"
    told = {"name": "lib", **({} if licenses is None else {"licenses": licenses})}
    file.write_text(json.dumps(bill(components=[told])))
    assert reader["read_bill"](file).components["lib@?"].licences == wanted


def test_a_folder_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "examples" / "software" / "read_boms.py")]
    lost = bill(dependencies=[{"ref": "app", "dependsOn": ["ghost"]}])
    (tmp_path / "a.cdx.json").write_text(json.dumps(lost))
    ran = subprocess.run(
        [*program, tmp_path, tmp_path / "x"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, "'ghost' is referred to and not listed" in ran.stderr) == (1, True)
    assert [one.name for one in tmp_path.iterdir()] == ["a.cdx.json"]
    (tmp_path / "a.cdx.json").write_text(json.dumps(bill(vulnerabilities=[{"id": "V"}])))
    ran = subprocess.run(
        [*program, tmp_path, tmp_path / "x"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "read 1 bill\n")
    assert ran.stderr == "app: its `vulnerabilities` were not read\n"
