"""A folder about everybody is accepted as it was written, and in no other form."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from constat import ConstatError, Session
from constat.check.population import PopulationError, check_population, chosen, members_of
from constat.session import population as module
from constat.session import querying
from constat.session.options import PopulationOptions
from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Callable

RULES = """
.pragma "constat" "0.1"
.decl person(p: symbol)
.decl spent(p: symbol, amount: Decimal)
.decl barred(p: symbol)
.input barred
.decl doubted(p: symbol)
.input doubted
.decl limit(n: Decimal)
limit(100).
.decl vip(p: symbol)
@[id = "V1"]
@[says = "{p} spent more than {n}"]
vip(?p) :- spent(?p, ?a), limit(?n), ?a > ?n.
.decl welcome(p: symbol)
@[id = "W1"]
welcome(?p) :- vip(?p), !barred(?p).
.decl odd(p: symbol)
odd(?p) :- person(?p), !doubted(?p).
"""
PEOPLE = (
    "".join(f'person("p{n}").\nspent("p{n}", {n * 7 % 200}).\n' for n in range(60))
    + 'person("<b>o,\\"x</b>").\nspent("<b>o,\\"x</b>", 150).\n'
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "rules.dl").write_text(RULES.replace('@[says = "{p} spent more than {n}"]\n', ""))
    (folder / "people.dl").write_text('.pragma "constat" "0.1"\n' + PEOPLE)
    (folder / "constat.yaml").write_text(
        "rules: [rules.dl, people.dl]\nclosed: [barred]\n", encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def whole(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of all vips, among all persons."""
    folder = tmp_path_factory.mktemp("out") / "vips"
    with Session(project) as session:
        session.population("vip(?p)", folder, PopulationOptions(4, among="person(?p)"))
    return folder


@pytest.fixture
def vips(whole: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "vips"
    shutil.copytree(whole, copy)
    return copy


def test_everybody_is_proved_in_one_certificate(project: Path, whole: Path) -> None:
    with Session(project) as session:
        expected = {row.values for row in session.query("vip(?p)")}
    assert set(members_of((whole / "certificate.json").read_bytes())) == expected
    found = check_population(whole)
    assert found.goal == "vip(_)"
    assert (found.counts["PROVED"], found.counts["DISPROVED"]) == (
        len(expected),
        61 - len(expected),
    )
    assert dict(found.members)["p15",] == "PROVED"
    with (whole / "members.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["p", "verdict"]
    assert ['<b>o,"x</b>', "PROVED"] in lines
    assert {one.stat().st_mode & 0o077 for one in whole.rglob("*")} == {0}


def test_the_sample_is_chosen_by_the_seed_alone(project: Path, tmp_path: Path) -> None:
    listed: dict[tuple[str, ...], str] = {
        (f"p{n}",): "PROVED" if n % 2 else "DISPROVED" for n in range(40)
    }
    one = chosen(listed, "a", 5)
    assert one == chosen(dict(reversed(listed.items())), "a", 5)
    assert len(one) == 10
    assert one != chosen(listed, "b", 5)
    assert chosen(listed, "a", 3) < one
    with Session(project) as session:
        wish = PopulationOptions(3, "audit 7", "person(?p)")
        session.population("vip(?p)", tmp_path / "out", wish)
    found = check_population(tmp_path / "out")
    assert (found.seed, len([p for p in found.proofs if p.sampled])) == ("audit 7", 6)


@pytest.mark.laws
def test_rows_that_rest_on_something_have_certificates_of_their_own(
    project: Path, tmp_path: Path
) -> None:
    with Session(project) as session:
        written = session.population("welcome(?p)", tmp_path / "w", PopulationOptions(0))
        assert written.exit_code == 3
        found = check_population(tmp_path / "w")
        assert set(found.counts) - {"PROVED_UNDER"} == {k for k, v in found.counts.items() if not v}
        assert len(found.proofs) == found.counts["PROVED_UNDER"] > 0
        opened = session.population("odd(?p)", tmp_path / "o", PopulationOptions(0))
        assert opened.exit_code == 4
        assert check_population(tmp_path / "o").counts["UNRESOLVED"] == 61
        with pytest.raises(ConstatError, match="there may be other members"):
            session.population("odd(?p)", tmp_path / "q", PopulationOptions(0, among="person(?p)"))
    assert not (tmp_path / "q").exists()


@pytest.fixture(scope="module")
def divided(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of all vips, where a certificate may have 16 kB."""
    folder = tmp_path_factory.mktemp("divided") / "vips"
    with pytest.MonkeyPatch.context() as patch, Session(project) as session:
        patch.setattr(module, "MOST_BYTES", 16_000)
        session.population("vip(?p)", folder, PopulationOptions(4, among="person(?p)"))
    return folder


def test_a_long_certificate_is_written_as_several(
    project: Path, whole: Path, divided: Path
) -> None:
    one, several = check_population(whole), check_population(divided)
    assert (one.certificates, several.certificates > 2) == (1, True)
    assert (one.members, one.counts) == (several.members, several.counts)
    files = sorted((divided / "certificates").iterdir())
    assert all(file.stat().st_size <= 16_000 for file in files)
    assert {file.stat().st_mode & 0o077 for file in divided.rglob("*")} == {0}
    parts = [members_of(file.read_bytes()) for file in files]
    assert sum(map(len, parts)) == len(set().union(*parts)) == one.counts["PROVED"]
    page = (divided / "index.html").read_text()
    assert f"certificates/2.json</a> the next {len(parts[1])}, " in page
    ran = run("verify", divided)
    assert (ran.code, "the certificates prove the members" in ran.out) == (0, True)


def test_each_part_of_several_proves_its_own_members(divided: Path, tmp_path: Path) -> None:
    vips = tmp_path / "vips"

    def forged(change: Callable[[list[dict[str, object]]], object], why: str) -> None:
        shutil.rmtree(vips, ignore_errors=True)
        shutil.copytree(divided, vips)
        edited(vips, lambda about: change(about["certificates"]))  # type: ignore[arg-type]
        for file in (vips / "certificates").iterdir():
            about = json.loads((vips / "population.json").read_text())
            if f"certificates/{file.name}" not in {one["file"] for one in about["certificates"]}:
                file.unlink()
        with pytest.raises(PopulationError, match=why):
            check_population(vips)

    def moved(parts: list[dict[str, object]]) -> None:
        parts[0]["members"] = int(str(parts[0]["members"])) + 1
        parts[1]["members"] = int(str(parts[1]["members"])) - 1

    def swapped(parts: list[dict[str, object]]) -> None:
        parts[0]["sha256"], parts[1]["sha256"] = parts[1]["sha256"], parts[0]["sha256"]
        first, second = (vips / str(one["file"]) for one in parts[:2])
        one, two = first.read_bytes(), second.read_bytes()
        first.write_bytes(two)
        second.write_bytes(one)

    def enlarged(parts: list[dict[str, object]]) -> None:
        parts[-1]["members"] = int(str(parts[-1]["members"])) + 1

    forged(list.pop, "rows are called PROVED and are not proved")
    forged(moved, "1 rows are called PROVED and are not proved")
    forged(swapped, "rows are called PROVED and are not proved")
    forged(enlarged, "its counts are not those of its list")
    forged(list.reverse, r"not of the format constat-population/2")
    forged(list.clear, r"not of the format constat-population/2")


def test_a_folder_of_the_format_before_is_accepted(vips: Path) -> None:
    def older(about: dict[str, Any]) -> None:
        (one,) = about.pop("certificates")
        del one["members"]
        about.update(format="constat-population/1", certificate=one)

    found = check_population(vips)
    edited(vips, older)
    again = check_population(vips)
    assert (again.members, again.counts, again.certificates) == (found.members, found.counts, 1)
    edited(vips, lambda about: about.update(certificates=[]))
    with pytest.raises(PopulationError, match="is not of the format"):
        check_population(vips)


def test_an_index_that_says_a_thing_twice_is_rejected(vips: Path) -> None:
    index = vips / "population.json"
    index.write_text(index.read_text().replace("{", '{"goal": "vip(Nobody)",', 1))
    with pytest.raises(PopulationError, match="is not of the format"):
        check_population(vips)


def test_nobody_is_a_population_too(project: Path, tmp_path: Path) -> None:
    with Session(project) as session:
        session.population("spent(?p, 1000)", tmp_path / "none", PopulationOptions(2))
    found = check_population(tmp_path / "none")
    assert set(found.counts.values()) == {0}
    assert run("verify", tmp_path / "none").code == 0


@pytest.mark.parametrize(
    ("goal", "among", "code"),
    [
        ("vip(?p), person(?p)", "", "C0666"),
        ('vip("p1")', "", "C0666"),
        ("spent(?p, _)", "", "C0666"),
        ("vip(?p)", "spent(?q, ?a)", "C0667"),
        ("person(?p)", "vip(?p)", "C0667"),
    ],
)
def test_what_cannot_be_written_is_said(
    project: Path, tmp_path: Path, goal: str, among: str, code: str
) -> None:
    with Session(project) as session, pytest.raises(ConstatError) as caught:
        session.population(goal, tmp_path / "out", PopulationOptions(1, among=among))
    assert [one.code for one in caught.value.diagnostics] == [code]
    assert list(tmp_path.iterdir()) == []


def test_a_member_that_the_certificate_does_not_prove_is_a_difference(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = querying.outcome_answers

    def lying(*given: object, **more: object) -> object:
        from dataclasses import replace

        found = usual(*given, **more)  # type: ignore[arg-type]
        return replace(found, sure=[*found.sure, ("p0",)])

    monkeypatch.setattr(module, "outcome_answers", lying)
    with Session(project) as session, pytest.raises(ConstatError, match="1 rows are") as caught:
        session.population("vip(?p)", tmp_path / "out", PopulationOptions(1))
    assert caught.value.exit_code == 7


# ------------------------------------------------------------------------------------- alterations


def altered(content: bytes, chance: random.Random) -> bytes:
    """Change, drop, add or double some bytes."""
    place, found = chance.randrange(len(content)), bytearray(content)
    match chance.randrange(5):
        case 0:
            found[place] ^= 1 << chance.randrange(8)
        case 1:
            del found[place : place + chance.randrange(1, 40)]
        case 2:
            found[place:place] = chance.randbytes(chance.randrange(1, 9))
        case 3:
            found += found[place:]
        case _:
            found = found[:place]
    return bytes(found)


@pytest.mark.sampled(7, "laws")
@pytest.mark.parametrize("seed", range(60))
def test_a_file_that_was_altered_anyhow_is_rejected(vips: Path, seed: int) -> None:
    chance = random.Random(seed)
    before = check_population(vips)
    files = sorted(one for one in vips.rglob("*") if one.is_file())
    file = files[seed % len(files)]
    content = file.read_bytes()
    new = altered(content, chance)
    while new == content:
        new = altered(content, chance)
    file.write_bytes(new)
    try:
        found = check_population(vips)
    except PopulationError:
        return
    # Only what the index says in other words, or of itself alone, may stay: its hash is another.
    assert file.name == "population.json"
    assert found.index != before.index


def resigned(vips: Path, name: str) -> None:
    """Put the hash of a file into the index, as a forger would."""
    about = json.loads((vips / "population.json").read_text())
    digest = "sha256:" + hashlib.sha256((vips / name).read_bytes()).hexdigest()
    named = (*about["certificates"], about["members"], about["page"], *about["proofs"])
    for one in named:
        if one["file"] == name:
            one["sha256"] = digest
    (vips / "population.json").write_text(json.dumps(about))


def edited(vips: Path, change: Callable[[dict[str, object]], object]) -> None:
    about = json.loads((vips / "population.json").read_text())
    change(about)
    (vips / "population.json").write_text(json.dumps(about))


def test_a_forger_who_mends_the_hashes_is_found_out(vips: Path) -> None:
    """Each forgery keeps every hash right; what does not fit together is noticed all the same."""
    text = (vips / "members.csv").read_text()

    def forged(new: str, why: str, counts: dict[str, int] | None = None) -> None:
        (vips / "members.csv").write_text(new, newline="")
        resigned(vips, "members.csv")
        if counts:
            edited(vips, lambda about: about["counts"].update(counts))  # type: ignore[attr-defined]
        with pytest.raises(PopulationError, match=why):
            check_population(vips)

    proved = text.count(",PROVED")
    forged(text.replace("p15,PROVED", "p15,DISPROVED"), "1 rows are proved and are not called so")
    forged(text.replace("p0,DISPROVED", "p0,PROVED"), "1 rows are called PROVED and are not proved")
    forged(text.replace("p0,DISPROVED\n", ""), "its counts are not those of its list")
    forged(text + "p0,DISPROVED\r\n", "has a row twice")
    forged(
        text.replace("p0,DISPROVED", "p0,UNRESOLVED"),
        "a row that is not certain has no certificate|about another verdict",
        {"PROVED": proved, "UNRESOLVED": 1, "DISPROVED": 60 - proved},
    )


def test_another_certificate_seed_or_file_is_found_out(vips: Path) -> None:
    (vips / "more.txt").write_text("read me first")
    with pytest.raises(PopulationError, match="a file that `population"):
        check_population(vips)
    (vips / "more.txt").unlink()
    first, second = (vips / "proofs" / f"{n}.json" for n in (1, 2))
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    resigned(vips, "proofs/1.json")
    with pytest.raises(PopulationError, match=r"about another row|says something else"):
        check_population(vips)
    first.write_bytes(one)
    resigned(vips, "proofs/1.json")
    check_population(vips)
    edited(vips, lambda about: about.update(seed="chosen by a forger"))
    with pytest.raises(PopulationError, match="not the one that its seed chooses"):
        check_population(vips)


def test_other_rules_are_rejected(vips: Path) -> None:
    found = check_population(vips)
    assert check_population(vips, found.rules) == found
    with pytest.raises(PopulationError, match="these are not the rules that are pinned"):
        check_population(vips, "sha256:" + "0" * 64)


# ------------------------------------------------------------------------------------ commands


def test_an_outsider_checks_it_with_the_copied_checker_alone(vips: Path, tmp_path: Path) -> None:
    checker = tmp_path / "checker"
    shutil.copytree(Path(module.__file__).parents[1] / "check", checker)
    command = [sys.executable, "-I", "-S", str(checker), str(vips)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stdout.startswith("ACCEPTED: vip(_): ")) == (0, True)
    (vips / "index.html").write_text("forged")
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (
        1,
        "REJECTED: `index.html` is not the file that `population.json` names\n",
    )


def test_one_signature_is_under_all_of_it(project: Path, vips: Path, tmp_path: Path) -> None:
    key = tmp_path / "ada.pem"
    assert run("keygen", "--role", "auditor", "--name", "Ada", "-o", key).code == 0
    assert run("sign", vips, "--key", key, "--meaning", "audited").code == 0
    public = tmp_path / "ada.pub.pem"
    ran = run("verify", vips, "--key", f"auditor={public}")
    assert (ran.code, "1 valid of 1" in ran.out) == (0, True)
    told = run("verify", vips, "--key", f"auditor={public}", "--format", "json").json
    assert (told["state"], told["signatures"]["accepted"]) == ("passed", True)
    # Whoever makes another folder, each hash right, has not the key.
    other = tmp_path / "other"
    where = ("--project", str(project))
    assert run("prove", "--population", "vip(?p)", "-o", other, "--sample", "1", *where).code == 0
    shutil.copy(vips / "population.json.dsse", other / "population.json.dsse")
    assert run("verify", other).code == 0
    ran = run("verify", other, "--key", f"auditor={public}")
    assert (ran.code, "REJECTED at signatures: the signature is of other bytes" in ran.out) == (
        1,
        True,
    )
    (vips / "members.csv").write_text("p,verdict\r\n")
    ran = run("sign", vips, "--key", key, "--meaning", "audited")
    assert (ran.code, "the folder is not accepted" in ran.err) == (2, True)


def test_the_command_writes_and_says_what_is_there(project: Path, tmp_path: Path) -> None:
    where = ("--project", str(project))
    goal = ("prove", "--population", "vip(?p)", "--among", "person(?p)", "--sample", "2")
    told = run(*goal, "-o", tmp_path / "one", "--format", "json", *where).json
    assert (told["goal"], told["exit_code"], told["sampled"]) == ("vip(_)", 0, 4)
    assert sum(told["counts"].values()) == 61
    ran = run(*goal, "-o", tmp_path / "one", *where)
    assert (ran.code, "there is something of that name" in ran.err) == (2, True)
    assert run("prove", "vip(?p)", "--among", "person(?p)", *where).code == 2
    assert run("prove", "--population", "vip(?p)", *where).code == 2
    found = run("verify", tmp_path / "one", "--format", "json").json
    assert (found["counts"], found["certificates"]) == (told["counts"], 5)
    page = (tmp_path / "one" / "index.html").read_text()
    assert "<b>o" not in page
    assert page.count("<script") == 0
