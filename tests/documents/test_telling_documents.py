"""Facts that somebody finds in a document: held against its words, kept with its hash."""

from __future__ import annotations

import pytest

from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.session import Session
from tests.cli.running import run
from tests.documents.conftest import Write

RULES = ".decl value(who: symbol, amount: number)\n"
LETTER = "# Terms\n\nC077 pays 250 thousand a year.\n\n# Other\n\nC078 may pay 9 thousand.\n"
ATOM = "value(C077, 250000)"


def test_a_fact_of_a_document_is_kept_with_its_sentence_and_hash(write: Write) -> None:
    with Session(write(RULES, a_md=LETTER)) as session:
        told = session.provide_facts(document="a.md", section="Terms", author="eve", atoms=[ATOM])
        assert [one.sentence for one in told.said] == ["C077 pays 250 thousand a year."]
        (kept,) = told.keep("looked at it")
        assert "document papers/a.md, sha256:" in kept.note
        assert kept.note.endswith("section Terms; looked at it")
        found = session.prove(ATOM)
        assert found.verdict is Verdict.PROVED_UNDER
        assert check_certificate(found.certificate).accepted


@pytest.mark.parametrize(
    ("section", "atom"),
    [
        ("Terms", "value(C078, 9000)"),
        ("Other", "value(C078, 9000)"),
        ("", "value(C077, 9000)"),
        ("Other", ATOM),
    ],
)
def test_what_the_document_does_not_say_is_refused(write: Write, section: str, atom: str) -> None:
    with Session(write(RULES, a_md=LETTER)) as session:
        told = session.provide_facts(
            document="papers/a.md", section=section, author="eve", atoms=[atom]
        )
        assert told.said == ()
        assert told.refused


def test_no_model_reads_a_document_that_it_may_not_read(write: Write) -> None:
    folder = write(RULES, a_md=LETTER)
    with Session(folder) as session, pytest.raises(ConstatError, match="no model may read"):
        session.provide_facts(document="a.md", author="eve")
    allowed = "documents: {papers: {files: papers/, read_by_model: true}}\n"
    with Session(write(RULES, allowed, a_md=LETTER)) as session:
        with pytest.raises(ConstatError) as caught:
            session.provide_facts(document="a.md", author="eve")
        assert caught.value.diagnostics[0].code == "C0821"


def test_the_command_takes_a_document_instead_of_words(write: Write) -> None:
    folder = write(RULES, a_md=LETTER)
    given = ("--as", ATOM, "--by", "eve", "--yes", "--project", folder)
    ran = run("facts", "tell", "--document", "a.md", *given)
    assert (ran.code, f"says: {ATOM}" in ran.out) == (0, True)
    assert run("facts", "tell", "words", "--document", "a.md", *given).code == 2
    assert run("facts", "tell", *given).code == 2
    assert run("facts", "tell", "--document", "gone.md", *given).code == 2
