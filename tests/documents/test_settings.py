"""`documents:` of a configuration, declarations over it, and what commands and tools show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.project import load_project
from constat.session import Session
from constat.session.diagnosis import diagnose
from tests.documents.conftest import Write
from tests.examples.projects import ROOT, prove_and_read_again

# The databases of the first description of the product, as it writes them.
SEED = """\
databases:
  # SQL (default)
  sales:
    uri: postgresql://localhost/sales

  # MongoDB
  documents:
    type: mongodb
    uri: mongodb://localhost:27017
    database: myapp

  # DynamoDB
  events:
    type: dynamodb
    region: us-east-1
"""
EXAMPLE = ROOT / "examples" / "contracts"


def codes(folder: Path) -> list[tuple[str, str]]:
    with pytest.raises(ConstatError) as caught, Session(folder) as session:
        session.prove("p(1)")
    return [(one.code, one.message) for one in caught.value.diagnostics]


def test_stores_that_cannot_be_read_stop_nothing_else(write: Write) -> None:
    rules = ".decl p(x: number)\np(1).\n.decl q(x: number)\n"
    rules += '.input q(source = "events", query = "SELECT x FROM q")\n'
    with Session(write(rules, SEED)) as session:
        assert session.prove("p(1)").verdict is Verdict.PROVED
    folder = write(rules, SEED.replace("type: dynamodb", "type: granary"))
    with Session(folder) as session:
        assert session.prove("p(1)").verdict is Verdict.PROVED
        with pytest.raises(ConstatError, match="of a kind that this version") as caught:
            session.prove("q(1)")
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line if found.span else 0) == ("C0512", 15)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ("documents: {papers: ../papers}", "C0505"),
        ("documents: {papers: /etc/passwd}", "C0505"),
        ("documents: {papers: {folder: papers}}", "C0503"),
        ("documents: {papers: {files: []}}", "C0580"),
        ("documents: {papers: {files: a/, locale: xx_YY}}", "C0580"),
        ("documents: {papers: a/x**y}", "C0580"),
        ("documents: {config: a/}", "C0580"),
        ("documents: {'a b': a/}", "C0580"),
        ("databases: {papers: sqlite:///a}\ndocuments: {papers: a/}", "C0580"),
    ],
)
def test_settings_that_mean_nothing_are_refused(write: Write, settings: str, code: str) -> None:
    with pytest.raises(ConstatError) as caught:
        load_project(write("", f"{settings}\n"))
    assert code in [one.code for one in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("columns", "parameters", "message"),
    [
        ("a: symbol", 'pattern = "x {b}"', "nothing fills the column `a`"),
        ("a: symbol", "", "neither `pattern` nor `rows`"),
        ("a: symbol", 'rows = "tables"', "are none of"),
        ("a: symbol", 'rows = "fields"', "nothing fills the column `a`"),
        ("a: symbol", 'pattern = "{a}"', "begins with a column"),
        ("a: symbol", 'pattern = "x {a}", query = "SELECT 1"', "and `query`"),
        ("a: symbol", 'pattern = "x {a}", max_age = "1h"', "and `max_age`"),
        ("a: symbol", 'rows = "table", columns = "b = B"', "a column that it has not"),
        ("quote: symbol", 'rows = "quotes"', "is not asked with one"),
    ],
)
def test_declarations_that_mean_nothing_are_refused(
    write: Write, columns: str, parameters: str, message: str
) -> None:
    more = f", {parameters}" if parameters else ""
    rules = f'.decl p({columns})\n.input p(source = "papers"{more})\n'
    found = codes(write(rules))
    assert [code for code, _ in found] == ["C0582"] * len(found)
    assert message in " ".join(text for _, text in found)


def test_links_out_of_the_project_hidden_files_and_pipes_are_not_read(
    write: Write, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret.txt"
    secret.write_text("Key: secret")
    folder = write("", a_txt="Key: value", _hidden_txt="Key: hidden")
    (folder / "papers" / "link.txt").symlink_to(secret)
    (folder / "papers" / "loop").symlink_to(folder / "papers")
    (folder / "papers" / "other.bin").write_bytes(b"Key: other")
    with Session(folder) as session:
        assert [one.name for _, one in session.documents.list()] == ["papers/a.txt"]
        assert session.documents.search("secret hidden other") == ()


def test_a_file_that_is_named_and_not_there_is_told(write: Write) -> None:
    folder = write("", "documents: {papers: [papers/, gone.pdf]}\n")
    with Session(folder) as session:
        ((_, one),) = session.documents.list()
    assert (one.name, one.failure) == ("gone.pdf", "there is no such file")


def test_bounds_of_files_hold(write: Write) -> None:
    settings = "documents: {papers: {files: papers/, bytes: 10, most: 2}}\n"
    folder = write("", settings, a_txt="0123456789", b_txt="0123456789+", c_txt="x")
    with Session(folder) as session:
        failures = [one.failure for _, one in session.documents.list()]
    assert failures[0] == ""
    assert "more than 10 bytes" in failures[1]
    assert "more than 2 documents" in failures[2]


def test_words_are_found_where_they_are_rare(write: Write) -> None:
    texts = {f"n{n}_txt": "the common words\n\nof every paper" for n in range(5)}
    folder = write("", a_md="# Law\n\nThe notices of\nliability\n\nthe end", **texts)
    with Session(folder) as session:
        first, *_ = session.documents.search("the notice")
    assert (first.document, first.section, first.line) == ("papers/a.md", "Law", 3)
    with Session(folder) as session, pytest.raises(ConstatError, match="no document"):
        session.documents.open("b.md")


def test_a_model_reads_documents_only_where_somebody_allows_it(write: Write) -> None:
    def asked(settings: str) -> dict[str, str]:
        folder = write("", settings, a_md="# Law\n\nliability </data>\n\n## More\n\nrest")
        with Session(folder) as session:
            tools = {tool.name: answer for tool, answer in session.discovery().tools()}
        return {
            "list": tools["list_documents"]({}),
            "get": tools["get_document"]({"document": "papers/a.md"}),
            "section": tools["get_document_section"]({"document": "a.md", "section": "More"}),
            "search": tools["search_documents"]({"query": "liability"}),
        }

    closed = asked("documents: {papers: papers/}\n")
    assert "papers/a.md" in closed["list"]
    assert "Law" not in closed["list"]
    assert closed["get"].startswith("error: C0583")
    assert closed["section"].startswith("error: C0583")
    assert "liability" not in "".join(closed.values())
    opened = asked("documents: {papers: {files: papers/, read_by_model: true}}\n")
    assert '"liability \\u003c/data>"' in opened["get"]
    assert '"## More"\n"rest"' in opened["section"]
    assert "line 3" in opened["search"]


def test_tools_are_offered_for_what_a_project_has(write: Write) -> None:
    with Session(write("", "facts: {}\n")) as session:
        names = {tool.name for tool, _ in session.discovery().tools()}
    assert not names & {"list_documents", "list_apis"}


@pytest.mark.examples
@pytest.mark.sampled(3, "examples")
@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ('overcharged(I-1, "Bolt M8", 0.25, 0.2)', Verdict.PROVED_UNDER),
        ('may_be_left("Acme Ltd", 90)', Verdict.PROVED_UNDER),
        ('may_be_left("Birch & Sons", 30)', Verdict.DISPROVED_UNDER),
        ('may_be_left("Cedar plc", 60)', Verdict.UNRESOLVED),
        ('bound("Acme Ltd")', Verdict.PROVED_UNDER),
        ('bound("Birch & Sons")', Verdict.UNRESOLVED),
    ],
)
def test_the_example_proves_what_its_page_says(goal: str, verdict: Verdict) -> None:
    prove_and_read_again(EXAMPLE, goal, verdict)


def test_the_example_finds_the_invoices_that_charge_too_much() -> None:
    with Session(EXAMPLE) as session:
        found = session.query("overcharged(?id, _, _, _)")
        under = [row for row in found.rows if row.verdict is Verdict.PROVED_UNDER]
        assert sorted(str(row.values[0]) for row in under) == ["I-1", "I-3"]
        result = session.prove('may_be_left("Cedar plc", 60)')
    reasons = [one["reason"] for one in json.loads(result.certificate)["open"]]
    assert any("contracts/cedar.txt, line 3, says of notice" in one for one in reasons)


def test_doctor_holds_declarations_against_what_documents_say(write: Write) -> None:
    rules = """
    .decl fee(document: symbol, amount: Decimal)
    .input fee(source = "papers", pattern = "Fee: {amount} EUR")
    .decl price(item: symbol, price: Decimal)
    .input price(source = "papers", rows = "table")
    .decl quoted(quote: symbol)
    .input quoted(source = "papers", rows = "quotes", required = "quote")
    """

    def told(folder: Path) -> list[tuple[str, str]]:
        found = [one for one in diagnose(folder) if one.check == "documents papers"]
        return [(one.message, one.help) for one in found if one.state == "warning"]

    table = "| Item | Price |\n|---|---|\n| nut | 3.50 |\n"
    assert told(write(rules, a_md=f"Fee: 12 EUR\n\n{table}")) == []
    changed = table.replace("Price", "Amount").replace("3.50", "3.50 EUR")
    folder = write(rules, a_md=f"Fee: twelve EUR\n\n{changed}")
    (fee, _), (price, headings) = told(folder)
    assert "papers/a.md, line 1, says of fee, column amount (declared Decimal)" in fee
    assert 'no document of `papers` has what it looks for, rows = "table"' in price
    assert headings == "there are headings of tables `Item`, `Amount`"
