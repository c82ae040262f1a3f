"""`prove --log` and `constat log`: written down before it is told, or not told."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from constat.session.options import LogAs
from tests.cli.running import Ran, run
from tests.signing.keys import with_one_bit_of_the_signature_turned

if TYPE_CHECKING:
    from pathlib import Path

LOG = ("decisions", "log.jsonl")


def log_of(shop: Path) -> Path:
    return shop.joinpath(".constat", *LOG)


def prove(shop: Path, goal: str, *options: str) -> Ran:
    return run("prove", goal, "-q", *options, "--project", shop)


def log(shop: Path, *arguments: str | Path) -> Ran:
    return run("log", *arguments, "--project", shop)


def configure(shop: Path, text: str) -> None:
    file = shop / "constat.yaml"
    file.write_text(file.read_text() + f"\n{text}\n")


def test_nothing_is_written_down_unless_it_is_asked_for(shop: Path) -> None:
    assert prove(shop, "is_vip(C001)").code == 0
    assert not log_of(shop).exists()
    told = run("prove", "is_vip(C001)", "--log", "--by", "ada", "--project", shop)
    assert "written down as entry 1 of the log" in told.err
    assert prove(shop, "is_vip(C002)", "--log").code == 5
    listed = log(shop, "list").out.splitlines()
    assert [line.split("  ")[3:5] for line in listed] == [
        ["PROVED", "is_vip(C001)"],
        ["DISPROVED", "is_vip(C002)"],
    ]
    assert listed[0].endswith("by ada")


def test_a_project_with_a_log_writes_every_verdict_down(shop: Path) -> None:
    configure(shop, "log: true")
    with Session(shop) as session:
        assert session.prove("is_strategic(C009)").logged == 1
        (entry,) = [one.entry for one in session.decisions.records()[1:]]
    assert entry.body is not None
    assert entry.body["verdict"] == "UNRESOLVED"
    configure(shop, "")
    assert prove(shop, "is_vip(C001)").code == 0
    assert log(shop, "verify").code == 0
    assert len(log(shop, "list").out.splitlines()) == 2


def test_the_certificate_of_the_log_is_the_one_that_was_given_out(
    shop: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    prove(shop, "is_vip(C001)", "--log", "--certificate", str(first))
    assert log(shop, "show", "1", "--certificate", second).code == 0
    assert first.read_bytes() == second.read_bytes()
    assert run("verify", second).code == 0


def test_where_it_cannot_be_written_down_no_verdict_is_given_out(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove(shop, "is_vip(C001)", "--log")
    whole = os.fsync

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for form in ("text", "json"):
        ran = run("prove", "is_vip(C001)", "--log", "--format", form, "--project", shop)
        assert (ran.code, ran.out) == (2, "")
        assert "C0750" in ran.err
    with Session(shop) as session, pytest.raises(ConstatError):
        session.prove("is_vip(C001)", log=LogAs())
    monkeypatch.setattr(os, "fsync", whole)
    assert log(shop, "verify").code == 0
    assert len(log(shop, "list").out.splitlines()) == 1


def test_a_damaged_log_gives_no_verdict_and_is_left_alone(shop: Path) -> None:
    prove(shop, "is_vip(C001)", "--log")
    changed = log_of(shop).read_bytes().replace(b"PROVED", b"PRAVED")
    log_of(shop).write_bytes(changed)
    ran = prove(shop, "is_vip(C001)", "--log")
    assert (ran.code, ran.out, "C0752" in ran.err) == (2, "", True)
    assert log_of(shop).read_bytes() == changed
    told = log(shop, "verify")
    assert told.code == 1
    assert told.out == "BROKEN: entry 1: its body is not the one that was written\n"


def test_a_decision_supersedes_an_earlier_one_and_says_so_in_its_certificate(
    shop: Path, tmp_path: Path
) -> None:
    file = tmp_path / "c.json"
    prove(shop, "is_vip(C001)", "--log")
    shown = json.loads(log(shop, "show", "1", "--format", "json").out)
    ran = prove(shop, "is_vip(C001)", "--log", "--supersedes", "1", "--certificate", str(file))
    assert ran.code == 0
    document = json.loads(file.read_bytes())
    assert document["header"]["supersedes"] == shown["identity"]
    assert run("verify", file).code == 0
    assert log(shop, "list").out.splitlines()[0].endswith("superseded by 2")
    assert len(log(shop, "list", "--current").out.splitlines()) == 1
    for earlier, code in (("1", "C0753"), ("9", "C0754"), ("0", "C0753")):
        ran = prove(shop, "is_vip(C001)", "--log", "--supersedes", earlier)
        assert (ran.code, ran.out, code in ran.err) == (2, "", True), earlier
    ran = prove(shop, "is_vip(C002)", "--log", "--supersedes", "2")
    assert (ran.code, "C0753" in ran.err) == (2, True)


def test_a_certificate_names_who_asked_and_the_entry_of_the_log(shop: Path) -> None:
    file = shop / "named.json"
    assert prove(shop, "is_vip(C001)", "--by", "ada", "--certificate", str(file)).code == 0
    header = json.loads(file.read_bytes())["header"]
    assert (header["asked_by"], header["decision"]) == ("ada", None)
    for number in (1, 2):
        prove(shop, "is_vip(C001)", "--by", "ada", "--log", "--certificate", str(file))
        header = json.loads(file.read_bytes())["header"]
        assert header["decision"].startswith(f"entry {number} of the log, after sha256:")
    assert [one.partition(" ")[0] for one in header["libraries"]] == ["customer-value"]


def test_options_of_the_log_need_a_log(shop: Path) -> None:
    for options in (
        ("--retention", "kept"),
        ("--supersedes", "1"),
        ("--by", "a", "--retention", "x"),
    ):
        ran = prove(shop, "is_vip(C001)", *options)
        assert (ran.code, ran.out, "C0758" in ran.err) == (2, "", True)
    configure(shop, "log: {on: true}")
    assert prove(shop, "is_vip(C001)", "--by", "ada").code == 0
    assert "C0756" in prove(shop, "is_vip(C001)", "--retention", "long").err


def test_a_second_opinion_is_no_decision_and_is_not_written_down(shop: Path) -> None:
    ran = prove(shop, "is_vip(C001)", "--log", "--engine", "pydatalog")
    assert (ran.code, ran.out, "--log cannot be used" in ran.err) == (2, "", True)


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[31m", "a" * 201])
def test_a_name_that_would_draw_on_a_terminal_is_refused(shop: Path, name: str) -> None:
    ran = prove(shop, "is_vip(C001)", "--log", "--by", name)
    assert (ran.code, ran.out, "C0743" in ran.err) == (2, "", True)


def test_retention_hold_and_expiry(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(shop, "log: {on: true, retention: short, classes: {short: 1d, long: 400d}}")
    prove(shop, "is_vip(C001)")
    prove(shop, "is_vip(C002)")
    prove(shop, "is_vip(C003)", "--retention", "long")
    prove(shop, "is_vip(C004)", "--retention", "kept")
    assert log(shop, "hold", "2", "--matter", "Q-17", "--by", "legal").code == 0
    assert log(shop, "expire").out == "expired: 0 decisions\n"
    monkeypatch.setattr("constat.session.decisions.now", lambda: "2100-01-01T00:00:00.000000Z")
    told = json.loads(log(shop, "expire", "--by", "archive", "--format", "json").out)
    assert told == {"expired": [1, 3], "held": [2]}
    assert log(shop, "verify").code == 0
    shown = log(shop, "list").out
    assert "is_vip(C001)" not in log_of(shop).read_text()
    assert shown.count("expired") == 2
    assert "held for Q-17" in shown
    assert "C0755" in log(shop, "release", "2", "--matter", "other").err
    assert log(shop, "release", "2", "--matter", "Q-17").code == 0
    assert log(shop, "expire").out == "expired: 1 decision\n"
    told = json.loads(log(shop, "verify", "--format", "json").out)
    assert (told["whole"], told["expired"], told["held"]) == (True, 3, 0)
    assert "C0754" in log(shop, "show", "1", "--certificate", "x.json").err


def test_a_cut_tail_is_found_with_a_signed_head(shop: Path, tmp_path: Path) -> None:
    key, head = tmp_path / "k.pem", tmp_path / "head.dsse"
    run("keygen", "--role", "auditor", "--name", "Bob", "-o", key)
    for goal in ("is_vip(C001)", "is_vip(C002)"):
        prove(shop, goal, "--log")
    assert log(shop, "anchor", "--key", key, "-o", head).code == 0
    trusted = ("--anchor", head, "--key", tmp_path / "k.pub.pem")
    assert log(shop, "verify", *trusted).code == 0
    content = log_of(shop).read_bytes()
    log_of(shop).write_bytes(b"".join(content.splitlines(keepends=True)[:2]))
    assert log(shop, "verify").code == 0
    told = log(shop, "verify", *trusted)
    assert (told.code, "cut off before entry 2" in told.out) == (1, True)
    log_of(shop).write_bytes(content)
    untrusted = log(shop, "verify", "--anchor", head)
    assert (untrusted.code, "nobody here trusts" in untrusted.out) == (1, True)
    head.write_text(with_one_bit_of_the_signature_turned(head.read_text()))
    assert log(shop, "verify", *trusted).code == 1
    head.write_bytes(b"")
    assert log(shop, "verify", *trusted).code == 1
    log_of(shop).write_bytes(content[:-5])
    assert "C0752" in log(shop, "anchor", "--key", key).err


def test_a_certificate_signature_is_no_anchor(shop: Path, tmp_path: Path) -> None:
    key, certificate = tmp_path / "k.pem", tmp_path / "c.json"
    run("keygen", "--role", "auditor", "--name", "Bob", "-o", key)
    prove(shop, "is_vip(C001)", "--log", "--certificate", str(certificate))
    run("sign", certificate, "--key", key, "--meaning", "audited")
    anchor = ("--anchor", tmp_path / "c.json.dsse", "--key", tmp_path / "k.pub.pem")
    told = log(shop, "verify", *anchor)
    assert (told.code, "kind of thing" in told.out) == (1, True)


def test_the_export_is_the_log_or_a_table_without_formulas(shop: Path, tmp_path: Path) -> None:
    prove(shop, "is_vip(C001)", "--log", "--by", "=1+1")
    assert log(shop, "export", "--to", "jsonl").out.encode() == log_of(shop).read_bytes()
    file = tmp_path / "log.csv"
    assert log(shop, "export", "--to", "csv", "-o", file).code == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert [row["who"] for row in rows] == ["", "'=1+1"]
    assert rows[1]["goal"] == "is_vip(C001)"


def test_a_log_that_is_not_there_is_named(shop: Path) -> None:
    assert log(shop, "list").code == 0
    for command in (("verify",), ("show", "1"), ("anchor", "--key", "x")):
        assert log(shop, *command).code == 2
    assert log(shop, "expire").out == "expired: 0 decisions\n"


def test_the_log_may_lie_in_a_folder_of_its_own(shop: Path) -> None:
    configure(shop, "log: {folder: audit}")
    prove(shop, "is_vip(C001)")
    assert (shop / "audit" / "log.jsonl").exists()
    assert not log_of(shop).exists()


@pytest.mark.parametrize(("readers", "rights"), [("owner", 0o600), ("group", 0o640)])
def test_the_project_says_who_may_read_the_log(shop: Path, readers: str, rights: int) -> None:
    configure(shop, f"log: {{readable_by: {readers}}}")
    assert run("prove", "is_vip(C001)", "--by", "ada", "--project", shop).code == 0
    folder = shop / ".constat" / "decisions"
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {rights}
    assert {file.name for file in files} >= {"log.jsonl", "lock"}


def test_readers_that_are_nobody_are_a_mistake_with_an_edit(shop: Path) -> None:
    configure(shop, "log: {readable_by: groups}")
    ran = run("prove", "is_vip(C001)", "--by", "ada", "--project", shop)
    assert (ran.code, "C0505" in ran.err, "group" in ran.err) == (2, True, True)
