"""What documents hold is listed, shown, found, sampled, drafted and watched like tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from constat.authoring import DiscoveryTools, PromptBuilder
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.session import Session
from constat.session.diagnosis import diagnose
from tests.documents.conftest import Write, docx, pdf

FIRST = """\
# Supply agreement

**Supplier:** Acme
Signed on: 2025-03-01

## Prices

| Item | Unit price | Note, if any |
|---|---|---|
| nut | 3.50 | |
| bolt | 4.00 | new |
"""
SECOND = FIRST.replace("Acme", "Basel").replace("Signed on: 2025-03-01\n", "")
RULES = ".decl p(x: symbol)\np(a).\n"
SETTINGS = "documents: {papers: papers/}\n"
SHOWN = "documents: {papers: {files: papers/, read_by_model: true}}\n"


def two(write: Write, settings: str = SETTINGS, rules: str = RULES, **more: str | bytes) -> Path:
    return write(rules, settings, a_md=FIRST, b_md=SECOND, **more)


def test_what_documents_hold_is_listed_shown_and_found(write: Write) -> None:
    with Session(two(write)) as session:
        (source,) = session.catalog.databases()
        assert (source.name, source.kind, source.tables) == ("papers", "documents", 4)
        listed = {one.label: one.rows for one in session.catalog.tables()}
        assert listed == {"documents": 2, "fields": 2, "prices": 4, "sections": 4}
        prices = session.catalog.table("papers.prices")
        # No declaration can name a heading with a comma.
        assert [one.name for one in prices.columns] == ["document", "line", "Item", "Unit price"]
        fields = {one.name: one.nullable for one in session.catalog.table("fields").columns}
        assert fields == {"document": False, "Supplier": False, "Signed on": True}
        hits = session.catalog.search("unit price").hits
        assert ("column", "papers.prices.Unit price") in {(one.kind, one.name) for one in hits}
        found = session.catalog.search("supply agreement", ("table",)).hits
        assert {one.name for one in found} >= {"papers.documents", "papers.sections"}


def test_values_are_shown_where_that_is_allowed(write: Write) -> None:
    with Session(two(write)) as session:
        with pytest.raises(ConstatError) as caught:
            session.catalog.sample("papers.prices", ["Item"])
        assert caught.value.diagnostics[0].code == "C0842"
        (item,) = session.catalog.sample("papers.prices", ["Item"], allowed=True)
        assert item.values == (("bolt", 2), ("nut", 2))
        with pytest.raises(ConstatError) as caught:
            session.catalog.check("papers.prices")
        assert caught.value.diagnostics[0].code == "C0842"
    allowed = f"{SETTINGS}catalog: {{samples: [papers.fields.Supplier]}}\n"
    with Session(two(write, allowed)) as session:
        (supplier,) = session.catalog.sample("papers.fields")
        assert supplier.values == (("Acme", 1), ("Basel", 1))


def test_a_draft_is_accepted_and_answers(write: Write) -> None:
    folder = two(write)
    with Session(folder) as session:
        draft = session.draft_tables(["papers"])
    assert draft.signatures == (
        "documents(line: number, document: symbol, title: symbol, kind: symbol, bytes: number)",
        "supplier(document: symbol, line: number, supplier: symbol)",
        "signed_on(document: symbol, line: number, signed_on: Date)",
        "prices(document: symbol, line: number, item: symbol, unit_price: Decimal)",
        "sections(line: number, document: symbol, section: symbol, level: number, text: symbol)",
    )
    (folder / "r.dl").write_text(draft.text)
    with Session(folder) as session:
        for goal in (
            'prices("papers/a.md", 11, bolt, 4)',
            'supplier("papers/b.md", 3, Basel)',
            'signed_on("papers/a.md", 4, "2025-03-01")',
            'sections(6, "papers/a.md", "Prices", 2, ?text)',
            'documents(1, "papers/a.md", "Supply agreement", markdown, ?bytes)',
        ):
            found = session.query(goal)
            assert [one.verdict for one in found.rows] == [Verdict.PROVED_UNDER], goal
    with Session(folder) as session:
        one = session.draft_tables(["papers.fields"], ["Supplier"])
    assert len(one.signatures) == 1
    with Session(folder) as session, pytest.raises(ConstatError) as caught:
        session.draft_tables(["papers.fields"], ["Supplies"])
    assert caught.value.diagnostics[0].code == "C0843"


def test_a_cell_that_may_be_empty_is_drafted_so(write: Write) -> None:
    table = "| Item | Left |\n|---|---|\n| nut | 3 |\n| bolt | |\n"
    with Session(write(RULES, SETTINGS, a_md=table)) as session:
        text = session.draft_tables(["papers.table"]).text
    assert "@[null = maybe] left: number" in text


def test_what_has_changed_in_documents_is_told(write: Write) -> None:
    folder = two(write)
    with Session(folder) as session:
        assert session.catalog.refresh("papers")[0].problems == ()
    (folder / "papers" / "a.md").write_text(FIRST.replace("Unit price", "Price"))
    (folder / "papers" / "b.md").unlink()
    (folder / "papers" / "c.pdf").write_bytes(b"%PDF-1.4 broken")
    with Session(folder) as session:
        (found,) = session.catalog.refresh("papers")
    broken, *changes = found.problems
    assert "papers/c.pdf" in broken
    assert changes == [
        "table `fields`: column `Signed on` may not be NULL now",
        "table `prices`: column `Unit price` is gone",
        "table `prices`: column `Price` is new",
    ]


def test_a_model_is_told_of_documents_where_somebody_allows_it(write: Write) -> None:
    with Session(two(write)) as session:
        tools = DiscoveryTools(session.catalog)
        told = tools.list_tables(), tools.search_tables("unit price supplier agreement")
        assert not any(word in text for text in told for word in ("prices", "Unit", "Supply"))
        for look in (tools.get_table_schema, tools.get_table_relationships):
            with pytest.raises(ConstatError) as caught:
                look("papers.prices")
            assert caught.value.diagnostics[0].code == "C0583"
        with pytest.raises(ConstatError):
            tools.get_sample_values("papers.prices")
        assert "Unit price" not in PromptBuilder(tools).build_prompt("claude-2").text
    with Session(two(write, SHOWN)) as session:
        tools = DiscoveryTools(session.catalog)
        assert "papers.prices" in tools.list_tables()
        assert "Unit price" in tools.get_table_schema("papers.prices")
        assert "Unit price" in tools.search_tables("unit price")
        assert "Unit price" in PromptBuilder(tools).build_prompt("claude-2").text


def test_documents_are_read_again_only_where_they_have_changed(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = two(write)
    with Session(folder) as session:
        session.catalog.tables()
    monkeypatch.setattr("constat.documents.library.read_documents", None)
    with Session(folder) as session:
        assert len(session.catalog.tables("papers")) == 4


def test_documents_of_other_kinds_are_listed_too(write: Write) -> None:
    body = "<w:p><w:r><w:t>Supplier: Acme</w:t></w:r></w:p>"
    with Session(
        write(RULES, SETTINGS, a_docx=docx(body), b_pdf=pdf("Supplier: Basel"))
    ) as session:
        fields = session.catalog.table("papers.fields")
        assert [one.name for one in fields.columns] == ["document", "Supplier"]
        assert fields.rows == 2


TWICE = """\
# Rates

| Item | Jan | Jan | Feb |
|---|---|---|---|
| nut | 1 | 2 | 3 |

# Sums

| Sum | sum |
|---|---|
| 4 | 5 |
"""


def test_a_heading_over_two_columns_is_told_and_never_guessed(write: Write) -> None:
    with Session(write(RULES, SETTINGS, a_md=TWICE)) as session:
        (source,) = session.catalog.databases()
        assert source.problems == (
            "papers/a.md, line 9: a table is left out: no declaration can name a heading of it",
        )
        rates = session.catalog.table("papers.rates")
        assert [one.name for one in rates.columns[2:]] == ["Item", "Feb"]
        said = 'no declaration can name the heading "Jan", which stands over 2 columns'
        assert rates.problems == (said,)
        text = session.draft_tables(["papers.rates"]).text
    assert f"// Left out: {said}." in text
    with Session(write(text, SETTINGS, a_md=TWICE)) as session:
        assert session.prove("rates(?, ?, nut, 3)").verdict.name.startswith("PROVED")
    by_hand = '.decl jan(item: symbol, n: number)\n.input jan(source = "papers", rows = "table",'
    by_hand += ' columns = "item = Item, n = Jan")\n'
    with Session(write(by_hand, SETTINGS, a_md=TWICE)) as session:
        result = session.prove("jan(nut, 1)")
        assert result.verdict is Verdict.UNRESOLVED
        (told,) = (one for one in diagnose(session.project.folder) if one.code == "C0854")
        assert told.state == "warning"
