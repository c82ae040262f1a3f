"""What `constat.yaml` may say, and what is reported about what it may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.catalogue import Entry, chapter
from constat.project import Bounds, Cell, FactRow, Project, find_project, load_project

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, text: str | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    content = text if isinstance(text, bytes) else text.encode()
    (folder / "constat.yaml").write_bytes(content)
    return folder


def load(folder: Path, text: str | bytes, **environment: str) -> Project:
    return load_project(write(folder, text), environment=environment)


def complaints(folder: Path, text: str | bytes, **environment: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(ConstatError) as caught:
        load(folder, text, **environment)
    assert caught.value.exit_code == 2
    return caught.value.diagnostics


def codes(folder: Path, text: str | bytes) -> list[str]:
    return [one.code for one in complaints(folder, text)]


def texts(row: FactRow) -> list[str | None]:
    return [cell.text for cell in row.cells]


def test_an_empty_configuration_is_a_project_named_after_its_folder(tmp_path: Path) -> None:
    project = load(tmp_path / "shop", "")
    assert project.name == "shop"
    assert project.limits == Bounds()
    assert project.state == tmp_path / "shop" / ".constat"
    assert project.rule_roots == (tmp_path / "shop",)


def test_scalars_stay_the_text_that_was_written(tmp_path: Path) -> None:
    written = [
        "no",
        "2025-01-31",
        "1e3",
        "0x1F",
        "012",
        "null",
        "~",
        "1_000",
        "3.10",
        ".inf",
        "yes",
    ]
    lines = "".join(f"  p{number}: {text}\n" for number, text in enumerate(written))
    project = load(tmp_path, "facts:\n" + lines)
    assert [texts(table.rows[0]) for table in project.facts.values()] == [[t] for t in written]
    assert {table.form for table in project.facts.values()} == {"scalar"}


def test_facts_are_a_scalar_or_rows_by_place_or_by_name(tmp_path: Path) -> None:
    facts = load(
        tmp_path,
        """
        facts:
          threshold: 150000
          rate: [[north, 0.1], [south, 0.2]]
          blocked: [C003, C007]
          limit: {tier: gold, amount: 5}
          limits: [{tier: gold, amount: 5}, {amount: 7, tier: silver}]
          empty: []
          text: ""
        """,
    ).facts
    assert [texts(row) for row in facts["rate"].rows] == [["north", "0.1"], ["south", "0.2"]]
    assert [texts(row) for row in facts["blocked"].rows] == [["C003"], ["C007"]]
    assert facts["limit"].rows[0].columns == ("tier", "amount")
    assert facts["limits"].rows[1].columns == ("amount", "tier")
    assert facts["empty"].rows == ()
    assert facts["text"].rows[0].cells == (Cell(""),)
    assert {name for name, table in facts.items() if table.form == "scalar"} == {
        "threshold",
        "text",
    }


def test_a_variable_in_facts_is_recorded_by_name(tmp_path: Path) -> None:
    text = "facts: {a: '${A}', b: 'x-${A}-${B}', c: '${NOPE}', d: '$${A}'}"
    facts = load(tmp_path, text, A="1", B="2").facts
    cells = {name: table.rows[0].cells[0] for name, table in facts.items()}
    assert cells["a"] == Cell("1", ("A",))
    assert cells["b"] == Cell("x-1-2", ("A", "B"))
    assert cells["c"] == Cell(None, ("NOPE",), ("NOPE",))
    assert cells["d"] == Cell("${A}")


def test_a_missing_variable_of_a_connection_is_an_error_only_when_it_is_needed(
    tmp_path: Path,
) -> None:
    project = load(tmp_path, "databases: {sales: {uri: 'sqlite:///${SHOP}/shop.sqlite'}}")
    with pytest.raises(ConstatError, match="SHOP"):
        project.databases["sales"].uri()


def test_an_address_never_shows_in_repr(tmp_path: Path) -> None:
    text = "databases: {a: {uri: 'postgresql://u:hunter2@h/${DB}'}, b: 'sqlite:///${P}hunter3.db'}"
    project = load(tmp_path, text, DB="s3cret", P="p4ss")
    assert project.databases["a"].uri() == "postgresql://u:hunter2@h/s3cret"
    shown = repr(project)
    assert not [word for word in ("hunter2", "hunter3", "s3cret", "p4ss") if word in shown]


def test_closed_names_who_declares_it(tmp_path: Path) -> None:
    assert load(tmp_path, "closed: {blocked: compliance}").closed == {"blocked": "compliance"}
    assert load(tmp_path, "closed: [blocked]").closed == {"blocked": "constat.yaml"}


def test_set_by_names_who_set_the_values_of_a_key_of_facts(tmp_path: Path) -> None:
    project = load(tmp_path, "facts: {quota: 3}\nset_by: {quota: the board}")
    assert project.set_by == {"quota": "the board"}


def test_tiers_and_limits_are_read(tmp_path: Path) -> None:
    project = load(
        tmp_path,
        """
        tiers:
          crm: {factory: "a.b:c", after: config, cost: 50, predicates: [tier], options: {url: x}}
          kb:
        limits: {seconds: 2.5, rows: 1_000, query_rows: 7, query_seconds: 1}
        """,
    )
    crm = project.tiers["crm"]
    assert (crm.factory, crm.after, crm.cost, crm.predicates) == ("a.b:c", "config", 50, ("tier",))
    assert crm.options == {"url": "x"}
    assert project.tiers["kb"].predicates is None
    assert project.limits == Bounds(2.5, 1_000, query_seconds=1.0, query_rows=7)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("fact: {}\n", "C0503", 1, 1),
        ("facts:\n  a: 1\n  a: 2\n", "C0502", 3, 3),
        ("limits:\n  row: 3\n", "C0503", 2, 3),
        ("limits:\n  rows: 0\n", "C0504", 2, 9),
        ("limits: {seconds: nan}\n", "C0504", 1, 19),
        ("rules: [a.dl]\n", "C0505", 1, 9),
        (f"rules: [{'a' * 300}.dl]\n", "C0505", 1, 9),
        (f"libraries: [{'a' * 300}]\n", "C0505", 1, 13),
        ("rules: [[a.dl]]\n", "C0504", 1, 9),
        ("state: ..\n", "C0505", 1, 8),
        ("databases: {s: {url: x}}\n", "C0503", 1, 17),
        ("databases: {s: {}}\n", "C0504", 1, 16),
        ("facts: {a: }\n", "C0504", 1, 12),
        ("facts: {a: 1}\nset_by: {b: x}\n", "C0504", 2, 10),
        ("facts: {a: [[{b: 1}]]}\n", "C0504", 1, 14),
        ("facts: {a: '${'}\n", "C0504", 1, 12),
        ("tiers: {t: {after: nowhere}}\n", "C0504", 1, 20),
        ("tiers: {database: {}}\n", "C0504", 1, 9),
        ("a: b: c\n", "C0501", 1, 5),
        ("a: &x 1\n", "C0501", 1, 4),
        ("a: *x\n", "C0501", 1, 4),
        ("a: !!python/object:os.system 1\n", "C0501", 1, 4),
        ("a: 1\n---\nb: 1\n", "C0501", 2, 1),
        ("[1, 2]\n", "C0504", 1, 1),
        ("? [a]\n: 1\n", "C0502", 1, 3),
    ],
)
def test_a_mistake_has_a_code_and_a_place(
    tmp_path: Path, text: str, code: str, line: int, column: int
) -> None:
    found = [
        (one.code, one.span.line, one.span.column)
        for one in complaints(tmp_path, text)
        if one.span is not None
    ]
    assert (code, line, column) in found


def test_every_mistake_is_reported_in_one_run(tmp_path: Path) -> None:
    text = "fact: 1\nlimits: {row: 1, rows: x}\nrules: [a.dl, ../b.dl]\nstate: ../x\n"
    assert codes(tmp_path, text) == ["C0503", "C0503", "C0504", "C0505", "C0505", "C0505"]


def test_an_unknown_key_comes_with_the_nearest_known_one(tmp_path: Path) -> None:
    assert complaints(tmp_path, "databses: {}\n")[0].help == "write `databases`"


def test_a_value_never_stands_in_a_message(tmp_path: Path) -> None:
    text = (
        "databases: {s: {uri: [hunter2]}}\nlimits: {rows: hunter2}\nfacts: {a: [[hunter2, [b]]]}\n"
    )
    assert "hunter2" not in str(complaints(tmp_path, text))
    assert "hunter2" not in str(complaints(tmp_path, "databases: {s: {uri: hunter2: x}}"))


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00a",
        b"a: \x00",
        b"a: \xed\xa0\x80",
        b"[" * 100_000,
        b"{a: " * 100_000,
        b"- " * 100_000,
        b"a: [" + b"x, " * 300_000 + b"]",
        b"x" * (1 << 21),
        b"a: &a [1]\nb: &b [*a,*a]\nc: [*b,*b]\n",
        b"%YAML 9.9\n---\na: 1\n",
        b"a: |\n" + b" x\n" * 10 + b"\tb",
        b"'",
        b'"\\ud800": 1',
    ],
    ids=range(13),
)
def test_hostile_bytes_give_one_clear_error(tmp_path: Path, content: bytes) -> None:
    found = complaints(tmp_path, content)
    assert found
    assert all(one.code.startswith("C05") and len(one.message) < 200 for one in found)


def test_rules_may_lie_in_the_project_or_a_named_library(tmp_path: Path) -> None:
    library = tmp_path / "rules"
    library.mkdir()
    for name in ("b.dl", "a.dl", "notes.txt"):
        (library / name).write_text("")
    shop = tmp_path / "shop"
    inside = shop / "own.dl"
    shop.mkdir()
    inside.write_text("")
    project = load(shop, "rules: [own.dl, ../rules]\nlibraries: [../rules]\n")
    assert project.rules == (inside, library / "a.dl", library / "b.dl")
    assert project.rule_roots == (shop, library)
    assert codes(shop, "rules: [own.dl, ../rules]\n") == ["C0505"]
    given = load_project(write(shop, "rules: [../rules/a.dl]\n"), libraries=[library])
    assert given.rules == (library / "a.dl",)


def test_a_link_does_not_lead_out_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "secret.dl").write_text("")
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "link.dl").symlink_to(tmp_path / "secret.dl")
    assert codes(shop, "rules: [link.dl]\n") == ["C0505"]


def test_the_project_is_searched_upward(tmp_path: Path) -> None:
    deep = tmp_path / "shop" / "rules" / "deep"
    deep.mkdir(parents=True)
    write(tmp_path / "shop", "")
    assert find_project(deep) == tmp_path / "shop"
    assert find_project(tmp_path / "shop" / "constat.yaml") == tmp_path / "shop"


def test_pyproject_redirects_to_a_folder_below_it(tmp_path: Path) -> None:
    write(tmp_path / "examples" / "vip", "")
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text('[tool.constat]\nproject = "examples/vip"\n')
    assert find_project(tmp_path) == tmp_path / "examples" / "vip"
    for wrong in ('"../elsewhere"', '"nowhere"', "3"):
        pyproject.write_text(f"[tool.constat]\nproject = {wrong}\n")
        with pytest.raises(ConstatError, match="C0500"):
            find_project(tmp_path)


def test_the_nearest_project_wins_over_a_redirect_above_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.constat]\nproject = "a"\n')
    write(tmp_path / "a", "")
    write(tmp_path / "b", "")
    assert find_project(tmp_path / "b") == tmp_path / "b"


@pytest.mark.parametrize("broken", ["[", "tool = 3\n", "[tool]\nconstat = 1\n"])
def test_another_tools_pyproject_does_not_stop_the_search(tmp_path: Path, broken: str) -> None:
    write(tmp_path, "")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text(broken)
    assert find_project(inner) == tmp_path


def test_no_project_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConstatError, match="C0500") as caught:
        find_project(tmp_path)
    assert "`constat init FILE_OR_ADDRESS`" in caught.value.diagnostics[0].help


def test_a_folder_without_a_configuration_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(ConstatError, match="C0500"):
        load_project(tmp_path)


@pytest.mark.parametrize(
    "entry", [e for e in chapter("sources") if e.kind == "project"], ids=lambda entry: entry.code
)
def test_the_catalogues_examples_are_wrong_and_right(tmp_path: Path, entry: Entry) -> None:
    assert entry.code in codes(tmp_path, entry.wrong)
    load(tmp_path, entry.right)
