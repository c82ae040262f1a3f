"""One project's certificate is another's leaf: what is taken over, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from tests.session.test_leaves import forged

if TYPE_CHECKING:
    from pathlib import Path

OURS = """.pragma "constat" "0.1"
.decl paid(c: symbol)
.input paid(source = "config")
.decl late(c: symbol)
.decl good(c: symbol)
good(?c) :- paid(?c), !late(?c).
.decl known(c: symbol)
known(?c) :- late(?c).
"""
THEIRS = """.pragma "constat" "0.1"
.decl good(c: symbol)
.input good(source = "certificates"PARAMETERS)
.decl bad(c: symbol)
.input bad(source = "config")
.decl welcome(c: symbol)
welcome(?c) :- good(?c).
.decl stranger(c: symbol)
stranger(?c) :- bad(?c), !good(?c).
"""


def project(folder: Path, rules: str, facts: str, *, closed: str = "") -> Path:
    folder.mkdir()
    (folder / "rules.dl").write_text(rules, encoding="utf-8")
    text = f"project: p\nrules: [rules.dl]\nfacts:\n  {facts}\n{closed}"
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return project(tmp_path / "ours", OURS, "paid: [[A], [B]]", closed="closed: {late: alice}\n")


def theirs(folder: Path, parameters: str = ', folder = "proofs"') -> Path:
    made = project(folder / "theirs", THEIRS.replace("PARAMETERS", parameters), "bad: [[A], [Z]]")
    (made / "proofs").mkdir()
    return made


def proved(folder: Path, goal: str) -> bytes:
    with Session(folder) as session:
        return session.prove(goal).certificate


def verdict(folder: Path, goal: str) -> str:
    with Session(folder) as session:
        result = session.prove(goal)
    report = check_certificate(result.certificate)
    assert report.accepted, (report.place, report.reason)
    assert report.verdict == result.verdict.value
    return result.verdict.value


def reasons(folder: Path, goal: str) -> str:
    with Session(folder) as session:
        return " ".join(gap.reason for gap in session.prove(goal).decision.gaps)


def test_what_was_proved_under_an_assumption_stays_under_it(ours: Path, tmp_path: Path) -> None:
    partner = theirs(tmp_path)
    (partner / "proofs" / "a.json").write_bytes(proved(ours, "good(A)"))
    with Session(partner) as session:
        result = session.prove("welcome(A)")
    assert result.verdict.value == "PROVED_UNDER"
    assert [one.text for one in result.assumptions] == [
        "alice declares that no fact of late is missing"
    ]
    report = check_certificate(result.certificate)
    assert report.accepted, report.reason
    assert report.under == (
        "closure: alice declares that no fact of late is missing (confidence 1)",
    )
    assert (len(report.proofs), report.level) == (1, "C0")


def test_a_word_is_carried_with_who_said_it(ours: Path, tmp_path: Path) -> None:
    with Session(ours) as session:
        session.facts.add("late(C)", author="bob", note="by telephone")
        certificate = session.prove("known(C)").certificate
    source = json.loads(certificate)["sources"][0]["attestation"]
    assert source["agent"] == {"kind": "person", "name": "bob", "version": None, "digest": None}
    assert source["note"] == "by telephone"
    rules = '.pragma "constat" "0.1"\n.decl known(c: symbol)\n.input known(source="certificates")\n'
    partner = project(tmp_path / "theirs", rules, "{}")
    kept = partner / ".constat" / "certificates"
    kept.mkdir(parents=True)
    (kept / "c.json").write_bytes(certificate)
    outer = json.loads(proved(partner, "known(C)"))
    inner = json.loads(certificate)
    assert outer["header"]["verdict"] == "PROVED_UNDER"
    assert outer["assumptions"] == inner["assumptions"]
    assert outer["assumptions"][0]["attestations"] != []


def test_a_forged_certificate_leaves_its_fact_unknown(ours: Path, tmp_path: Path) -> None:
    partner = theirs(tmp_path)

    def forge(document: dict[str, Any]) -> None:
        document["header"].update(verdict="PROVED", under=[])

    certificate = forged(proved(ours, "good(A)"), forge)
    (partner / "proofs" / "a.json").write_bytes(certificate)
    assert "is rejected" in reasons(partner, "welcome(A)")
    # Never absent: what negates it is open, too.
    assert verdict(partner, "stranger(A)") == "UNRESOLVED"


def test_a_certificate_of_the_opposite_makes_nothing_absent(ours: Path, tmp_path: Path) -> None:
    partner = theirs(tmp_path)
    (partner / "proofs" / "z.json").write_bytes(proved(ours, "good(Z)"))
    assert verdict(ours, "good(Z)") == "DISPROVED"
    assert "does not prove its goal" in reasons(partner, "welcome(Z)")
    assert verdict(partner, "stranger(Z)") == "UNRESOLVED"


def test_a_certificate_of_somebody_else_proves_nothing_here(ours: Path, tmp_path: Path) -> None:
    partner = theirs(tmp_path)
    (partner / "proofs" / "a.json").write_bytes(proved(ours, "good(B)"))
    assert verdict(partner, "welcome(A)") == "UNRESOLVED"
    assert verdict(partner, "welcome(B)") == "PROVED_UNDER"


def test_only_trusted_rules_count(ours: Path, tmp_path: Path) -> None:
    certificate = proved(ours, "good(A)")
    pin = json.loads(certificate)["header"]["program"]
    for name, rules, expected in (("one", pin, "PROVED_UNDER"), ("two", f"{pin[:-1]}0", "")):
        (tmp_path / name).mkdir()
        partner = theirs(tmp_path / name, f', folder = "proofs", rules = "{rules}"')
        (partner / "proofs" / "a.json").write_bytes(certificate)
        if expected:
            assert verdict(partner, "welcome(A)") == expected
        elif rules != pin:
            assert "other rules" in reasons(partner, "welcome(A)")


def test_the_better_of_two_certificates_counts(ours: Path, tmp_path: Path) -> None:
    partner = theirs(tmp_path)
    (partner / "proofs" / "a.json").write_bytes(proved(ours, "good(A)"))
    (ours / "constat.yaml").write_text(
        "project: p\nrules: [rules.dl]\nfacts:\n  paid: [[A]]\n  late: [[Q]]\n", encoding="utf-8"
    )
    text = (ours / "rules.dl").read_text(encoding="utf-8")
    closed = text.replace(".decl good", '.input late(source = "config")\n.decl good')
    (ours / "rules.dl").write_text(closed, encoding="utf-8")
    (partner / "proofs" / "b.json").write_bytes(proved(ours, "good(A)"))
    assert verdict(partner, "welcome(A)") == "PROVED"


def test_new_files_are_seen_and_missing_ones_are_drift(ours: Path, tmp_path: Path) -> None:
    partner = theirs(tmp_path)
    with Session(partner) as session:
        assert session.prove("welcome(A)").verdict.value == "UNRESOLVED"
        (partner / "proofs" / "a.json").write_bytes(proved(ours, "good(A)"))
        result = session.prove("welcome(A)")
        assert result.verdict.value == "PROVED_UNDER"
        assert session.verify_source(result.certificate).drift == ()
        (partner / "proofs" / "a.json").unlink()
        drift = session.verify_source(result.certificate).drift
    assert ("good(A)", "gone") in [(leaf.text, leaf.status) for leaf in drift]


def test_certificates_nest_as_deep_as_a_checker_accepts(ours: Path, tmp_path: Path) -> None:
    certificate = proved(ours, "good(A)")
    for depth in range(2, 10):
        (tmp_path / str(depth)).mkdir()
        partner = theirs(tmp_path / str(depth))
        (partner / "proofs" / "a.json").write_bytes(certificate)
        with Session(partner) as session:
            result = session.prove("good(A)")
        if depth == 9:
            assert result.verdict.value == "UNRESOLVED"
            assert "nests too many" in result.decision.gaps[0].reason
            return
        report = check_certificate(result.certificate)
        assert report.verdict == "PROVED_UNDER", report.reason
        assert len(report.proofs) == depth - 1
        certificate = result.certificate


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'"goal":["good",', b"\xff" * 9])
def test_other_files_in_the_folder_do_no_harm(content: bytes, ours: Path, tmp_path: Path) -> None:
    partner = theirs(tmp_path)
    (partner / "proofs" / "0.json").write_bytes(content)
    (partner / "proofs" / "1.json").write_bytes(content + b'"goal":["good",["A"]]')
    (partner / "proofs" / "2.json").symlink_to(ours / "constat.yaml")
    (partner / "proofs" / "a.json").write_bytes(proved(ours, "good(A)"))
    assert verdict(partner, "welcome(A)") == "PROVED_UNDER"


def test_a_folder_that_is_not_there_is_a_failed_source(tmp_path: Path) -> None:
    partner = theirs(tmp_path, ', folder = "elsewhere"')
    assert "is not there" in reasons(partner, "welcome(A)")


@pytest.mark.parametrize(
    "parameters",
    [', folder = "../x"', ', rules = "sha256:12"', ', query = "SELECT"', ', max_age = "1d"'],
)
def test_parameters_that_mean_nothing_are_refused(parameters: str, tmp_path: Path) -> None:
    partner = theirs(tmp_path, parameters)
    with Session(partner) as session, pytest.raises(ConstatError) as raised:
        session.prove("welcome(A)")
    assert [one.code for one in raised.value.diagnostics] == ["C0690"]


def test_nested_rules_are_trusted_by_name(ours: Path, tmp_path: Path) -> None:
    partner = theirs(tmp_path)
    certificate = proved(ours, "good(A)")
    (partner / "proofs" / "a.json").write_bytes(certificate)
    outer = proved(partner, "welcome(A)")
    pin, inner = (json.loads(one)["header"]["program"] for one in (outer, certificate))
    with Session(partner) as session:
        assert session.verify(outer, pin=pin).code == "pin"
        assert session.verify(outer, pin=pin, trusted=[inner]).accepted
        assert session.verify_source(outer, pin=pin, trusted=[inner]).drift == ()
