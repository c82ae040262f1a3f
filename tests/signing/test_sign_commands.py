"""`keygen`, `sign` and `verify` with keys: as people and scripts use them."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from constat.proof.signing import read_signing_key
from constat.session.signing import add_signature, sign_certificate
from tests.cli.running import Ran, run
from tests.signing.keys import key

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def made(still_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a certificate and the keys of Ada, who approves, and Bob, who audits."""
    folder = tmp_path_factory.mktemp("signed")
    for goal, name in (("is_vip(C001)", "c001.json"), ("is_vip(C002)", "c002.json")):
        run("prove", goal, "-q", "--certificate", folder / name, "--project", still_shop)
    for role, name in (("approver", "Ada"), ("auditor", "Bob")):
        assert run("keygen", "--role", role, "--name", name, "-o", folder / f"{name}.pem").code == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "work"
    shutil.copytree(made, copy)
    (copy / "constat.yaml").write_text("project: keys\n")
    return copy


def sign(folder: Path, name: str, meaning: str, certificate: str = "c001.json") -> Ran:
    return run("sign", folder / certificate, "--key", folder / f"{name}.pem", "--meaning", meaning)


def verify(folder: Path, *options: str, certificate: str = "c001.json") -> Ran:
    return run("verify", folder / certificate, *options, "--project", folder)


def configure(folder: Path, **bounds: str) -> None:
    keys = {"ada": {"file": "Ada.pub.pem", "roles": ["approver"], **bounds}}
    (folder / "constat.yaml").write_text(f"keys: {json.dumps(keys)}\n")


def test_a_key_pair_is_for_its_owner_alone_and_never_written_over(folder: Path) -> None:
    private, public = folder / "Ada.pem", folder / "Ada.pub.pem"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    before = private.read_bytes(), public.read_bytes()
    again = run("keygen", "--role", "approver", "--name", "Eve", "-o", private)
    assert (again.code, "C0742" in again.err) == (2, True)
    private.unlink()
    again = run("keygen", "--role", "approver", "--name", "Eve", "-o", private)
    assert (again.code, private.exists()) == (2, False)
    assert public.read_bytes() == before[1]


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "k.pem").symlink_to(tmp_path / "elsewhere")
    assert run("keygen", "--role", "a", "--name", "A", "-o", tmp_path / "k.pem").code == 2
    assert not (tmp_path / "elsewhere").exists()


def test_a_key_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    ran = run("keygen", "--role", "a", "--name", "A", "-o", tmp_path / "no" / "k.pem")
    assert (ran.code, "C0402" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_passphrase_comes_from_the_environment(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = tmp_path / "c.json"
    shutil.copy(made / "c001.json", certificate)
    key = tmp_path / "k.pem"
    monkeypatch.setenv("CONSTAT_KEY_PASSPHRASE", "correct horse")
    told = run("keygen", "--role", "a", "--name", "A", "-o", key, "--format", "json")
    assert told.json["encrypted"]
    assert b"ENCRYPTED" in key.read_bytes()
    arguments = ("sign", certificate, "--key", key, "--meaning", "produced")
    assert run(*arguments).code == 0
    for value, wanted in (("wrong staple", "not that of the key"), ("", "no passphrase")):
        monkeypatch.setenv("CONSTAT_KEY_PASSPHRASE", value)
        ran = run(*arguments)
        assert (ran.code, "C0741" in ran.err, wanted in ran.err) == (2, True, True)
        assert "staple" not in ran.err
        assert "PRIVATE" not in ran.err


def test_the_certificate_does_not_change_and_signers_add_to_one_file(folder: Path) -> None:
    before = (folder / "c001.json").read_bytes()
    assert sign(folder, "Ada", "approved").code == 0
    assert sign(folder, "Bob", "audited").code == 0
    assert (folder / "c001.json").read_bytes() == before
    assert len((folder / "c001.json.dsse").read_text().splitlines()) == 2
    ran = verify(
        folder, "--key", f"approver={folder}/Ada.pub.pem", "--key", f"{folder}/Bob.pub.pem"
    )
    assert ran.code == 0, ran.out
    assert ran.out.startswith("PROVED")
    assert "signatures: 2 valid of 2" in ran.out
    assert "audited by Bob as auditor" in ran.out


def test_many_who_sign_at_once_lose_nothing(folder: Path) -> None:
    certificate = folder / "c001.json"
    content = certificate.read_bytes()
    lines = [
        sign_certificate(content, key("approver", "Ada", seed), "approved") for seed in range(1, 13)
    ]
    ready = threading.Barrier(len(lines))

    def work(line: bytes) -> None:
        ready.wait()
        digest = hashlib.sha256(content).hexdigest()
        add_signature(certificate, folder / "c001.json.dsse", line, digest)

    threads = [threading.Thread(target=work, args=(line,)) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = (folder / "c001.json.dsse").read_bytes().splitlines(keepends=True)
    assert sorted(written) == sorted(lines)


def test_the_exit_code_of_a_signed_certificate_is_that_of_its_verdict(folder: Path) -> None:
    sign(folder, "Ada", "approved", "c002.json")
    ran = verify(folder, "--key", f"{folder}/Ada.pub.pem", certificate="c002.json")
    assert (ran.code, ran.out.partition(":")[0]) == (5, "DISPROVED")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--key", "approver={}/Bob.pub.pem"), "no valid signature as approver"),
        (("--key", "{}/Bob.pub.pem", "--role", "approver"), "no valid signature as approver"),
        (("--key", "{}/Ada.pub.pem", "--meaning", "audited"), "that means audited"),
        (("--key", "approver={}/Ada.pub.pem", "--key", "engine={}/Ada.pub.pem"), "as engine"),
    ],
)
def test_what_was_asked_for_and_is_not_there_rejects(
    folder: Path, options: tuple[str, ...], reason: str
) -> None:
    sign(folder, "Ada", "approved")
    sign(folder, "Bob", "audited")
    ran = verify(folder, *(one.format(folder) for one in options))
    assert ran.code == 1
    assert ran.out.startswith("REJECTED at signatures: ")
    assert reason in ran.out
    assert "PROVED" not in ran.out
    told = verify(folder, *(one.format(folder) for one in options), "--format", "json").json
    assert (told["accepted"], told["verdict"], told["exit_code"]) == (False, None, 1)
    assert reason in told["reason"]


def test_a_certificate_that_nobody_signed_is_rejected_where_a_signature_is_asked_for(
    folder: Path,
) -> None:
    ran = verify(folder, "--key", f"{folder}/Ada.pub.pem")
    assert (ran.code, "no valid signature by the key" in ran.out) == (1, True)


def test_the_signature_of_another_certificate_is_rejected(folder: Path) -> None:
    sign(folder, "Ada", "approved", "c002.json")
    shutil.copy(folder / "c002.json.dsse", folder / "c001.json.dsse")
    ran = verify(folder, "--key", f"{folder}/Ada.pub.pem")
    assert (ran.code, "other bytes" in ran.out) == (1, True)
    named = verify(
        folder, "--key", f"{folder}/Ada.pub.pem", "--signature", f"{folder}/c002.json.dsse"
    )
    assert named.code == 1
    # Nothing is added to a file of other signatures, and it stays as it is.
    before = (folder / "c001.json.dsse").read_bytes()
    assert "C0747" in sign(folder, "Bob", "audited").err
    assert (folder / "c001.json.dsse").read_bytes() == before


def test_a_certificate_that_was_changed_after_it_was_signed_is_rejected(folder: Path) -> None:
    from tests.check.writer import seal

    sign(folder, "Ada", "approved")
    document = json.loads((folder / "c001.json").read_bytes())
    document["record"]["engine"] = "another"
    (folder / "c001.json").write_bytes(seal(document))
    assert verify(folder).code == 0
    ran = verify(folder, "--key", f"{folder}/Ada.pub.pem")
    assert (ran.code, "other bytes" in ran.out) == (1, True)


def test_keys_of_the_project_count_for_their_roles(folder: Path) -> None:
    sign(folder, "Ada", "approved")
    configure(folder)
    assert verify(folder, "--role", "approver").code == 0
    ran = verify(folder, "--role", "auditor")
    assert (ran.code, "C0744" in ran.err) == (2, True)
    sign(folder, "Bob", "approved")
    assert "nobody here trusts this key" in verify(folder, "--role", "approver").out


def test_python_programs_sign_and_judge_too(folder: Path) -> None:
    configure(folder)
    certificate = (folder / "c001.json").read_bytes()
    ada = read_signing_key((folder / "Ada.pem").read_bytes(), None)
    with Session(folder) as session:
        line = session.sign(certificate, ada, "approved")
        assert session.check_signatures(certificate, line, ["approver"]).reason == ""
        assert session.check_signatures(certificate, b"", ["approver"]).reason
        with pytest.raises(ConstatError):
            session.check_signatures(certificate, line, ["auditor"])


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [({"revoked": "2020-01-01"}, "revoked"), ({"expires": "2020-01-01"}, "expired")],
)
def test_what_the_project_says_of_a_key_binds_the_command_line(
    folder: Path, bounds: dict[str, str], reason: str
) -> None:
    sign(folder, "Ada", "approved")
    configure(folder, **bounds)
    for options in (("--role", "approver"), ("--key", f"{folder}/Ada.pub.pem")):
        ran = verify(folder, *options)
        assert (ran.code, reason in ran.out) == (1, True)


def test_a_key_without_a_role_counts_for_the_roles_of_the_project(folder: Path) -> None:
    text = (folder / "Ada.pem").read_text()
    (folder / "Ada.pem").write_text(text.replace("Role: approver", "Role: auditor"))
    sign(folder, "Ada", "audited")
    ada = f"{folder}/Ada.pub.pem"
    assert verify(folder, "--key", ada).code == 0
    configure(folder)
    ran = verify(folder, "--key", ada)
    assert (ran.code, "trusted as approver" in ran.out) == (1, True)
    assert verify(folder, "--key", f"auditor={ada}").code == 0


def test_sources_and_signatures_are_asked_for_together(folder: Path, still_shop: Path) -> None:
    sign(folder, "Ada", "approved")
    both = ("--source", "--key", f"approver={folder}/Ada.pub.pem", "--project", still_shop)
    ran = run("verify", folder / "c001.json", *both)
    assert ran.code == 0, ran.out
    assert "leaves: 9 read again, 0 changed" in ran.out
    assert "signatures: 1 valid of 1" in ran.out
    told = run("verify", folder / "c001.json", *both, "--format", "json").json
    assert (told["leaves_reread"], told["signatures"]["accepted"]) == (True, True)


def test_a_project_key_that_cannot_be_read_stops_everything(folder: Path) -> None:
    sign(folder, "Ada", "approved")
    configure(folder)
    (folder / "Ada.pub.pem").rename(folder / "moved.pub.pem")
    ran = verify(folder, "--key", f"{folder}/moved.pub.pem")
    assert (ran.code, "C0745" in ran.err) == (2, True)


def test_options_that_leave_the_trust_open_are_refused(folder: Path) -> None:
    ada, bob = f"{folder}/Ada.pub.pem", f"{folder}/Bob.pub.pem"
    for options in (
        ("--key", ada, "--key", bob, "--role", "approver", "--role", "auditor"),
        ("--meaning", "approved"),
        ("--signature", f"{folder}/c001.json.dsse"),
        ("--role", "approver"),
    ):
        (folder / "c001.json.dsse").write_text("")
        ran = verify(folder, *options)
        assert (ran.code, "C0744" in ran.err) == (2, True), options


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("sign", "c001.json", "--key", "Ada.pub.pem", "--meaning", "approved"), "C0740"),
        (("sign", "Ada.pem", "--key", "Ada.pem", "--meaning", "approved"), "C0746"),
        (("sign", "c001.json", "--key", "c001.json", "--meaning", "approved"), "C0740"),
        (("verify", "c001.json", "--key", "Ada.pem"), "C0740"),
        (("verify", "c001.json", "--key", "nothing.pem"), "C0401"),
        (("keygen", "--role", "Head of Risk", "--name", "A", "-o", "x.pem"), "C0743"),
        (("keygen", "--role", "a", "--name", "A\nB", "-o", "x.pem"), "C0743"),
    ],
)
def test_mistakes_are_diagnostics_without_a_byte_of_a_key(
    folder: Path, arguments: tuple[str, ...], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert code in ran.err
    body = (folder / "Ada.pem").read_text().split("-----")[2].strip()
    assert body not in ran.err + ran.out


def test_roles_and_classes_are_offered(folder: Path) -> None:
    from constat.cli.completion import known

    configure(folder)
    (folder / "constat.yaml").write_text(
        (folder / "constat.yaml").read_text() + "log: {classes: {short: 30d}}\n"
    )
    for name, wanted in (("roles", "approver"), ("retention", "short"), ("retention", "kept")):
        offers = known(name, "", project=str(folder), given=())
        assert wanted in [one.value for one in offers or ()]


def test_a_rejected_certificate_is_not_signed(folder: Path) -> None:
    content = (folder / "c001.json").read_bytes().replace(b"150000", b"160000")
    (folder / "c001.json").write_bytes(content)
    ran = sign(folder, "Ada", "approved")
    assert (ran.code, "C0746" in ran.err) == (2, True)
    assert not (folder / "c001.json.dsse").exists()


def test_verify_says_when_signatures_were_not_looked_at(folder: Path) -> None:
    sign(folder, "Ada", "approved")
    assert "were not checked" in run("verify", folder / "c001.json").err


def test_snapshots_and_signatures_are_asked_for_together(folder: Path, still_shop: Path) -> None:
    run("keygen", "--role", "source", "--name", "Sales", "-o", folder / "s.pem")
    sign(folder, "Ada", "approved")
    names = ("customer", "blocked")
    for name in names:
        ran = run(
            *("snapshot", name, "--key", folder / "s.pem", "-o", folder / f"{name}.dsse"),
            *("--project", still_shop),
        )
        assert ran.code == 0, ran.err
    snapshots = [part for name in names for part in ("--snapshot", f"{folder}/{name}.dsse")]
    opened = folder / "openings.json"
    ran = run("openings", folder / "c001.json", *snapshots, "-o", opened, "--project", still_shop)
    assert ran.code == 0, ran.err
    both = ("--openings", str(opened), "--key", f"source={folder}/s.pub.pem")
    ran = verify(folder, *snapshots, *both, "--key", f"approver={folder}/Ada.pub.pem")
    assert ran.code == 0, ran.out
    assert "signatures: 1 valid of 1" in ran.out
    assert "opened: customer, 1 row\n" in ran.out
    assert "not opened, taken as they stand: placed_order" in ran.out
    ran = verify(folder, *snapshots, *both, "--key", f"approver={folder}/Bob.pub.pem")
    assert (ran.code, ran.out.startswith("REJECTED at signatures")) == (1, True)
    # The source's key was used by somebody with another role: the roots do not count.
    wrong = ("--openings", str(opened), "--key", f"source={folder}/Ada.pub.pem")
    ran = verify(folder, *snapshots, *wrong)
    assert (ran.code, ran.out.startswith("REJECTED at snapshots")) == (1, True)
    for options in (snapshots, ["--openings", str(opened)]):
        ran = verify(folder, *options, "--key", f"source={folder}/s.pub.pem")
        assert (ran.code, "C0761" in ran.err) == (2, True)


def opened_whole(folder: Path, shop: Path, names: tuple[str, ...]) -> list[str]:
    """Commit to some relations, open the certificate in them, and give the options that ask."""
    run("keygen", "--role", "source", "--name", "Sales", "-o", folder / "s.pem")
    options: list[str] = []
    for name in names:
        line = folder / f"{name}.dsse"
        ran = run("snapshot", name, "--key", folder / "s.pem", "-o", line, "--project", shop)
        assert ran.code == 0, ran.err
        options += ["--snapshot", str(line)]
    opened = folder / "openings.json"
    ran = run("openings", folder / "c001.json", *options, "-o", opened, "--project", shop)
    assert ran.code == 0, ran.err
    return [*options, "--openings", str(opened), "--key", f"source={folder}/s.pub.pem"]


def test_everything_can_be_demanded_to_be_opened(folder: Path, still_shop: Path) -> None:
    names = ("placed_order", "customer", "blocked", "vip_threshold", "revenue_since")
    asked = opened_whole(folder, still_shop, names)
    assert verify(folder, *asked, "--require-opened").code == 0
    some = opened_whole(folder, still_shop, ("customer", "blocked"))
    assert verify(folder, *some).code == 0
    ran = verify(folder, *some, "--require-opened")
    told = "not everything is opened: placed_order, revenue_since, vip_threshold"
    assert (ran.code, ran.out.splitlines()[0]) == (1, f"REJECTED at snapshots: {told}")
    told = json.loads(verify(folder, *some, "--require-opened", "--format", "json").out)
    assert (told["accepted"], told["verdict"], told["exit_code"]) == (False, None, 1)
    for option in ("--require-opened", "--require-newest"):
        ran = verify(folder, option)
        assert (ran.code, "--snapshot FILE" in ran.err) == (2, True)


def test_an_older_snapshot_is_told_from_a_newer_one_that_the_log_knows(
    folder: Path, shop: Path
) -> None:
    asked = opened_whole(folder, shop, ("customer", "blocked"))

    def verified(*options: str) -> Ran:
        return run("verify", folder / "c001.json", *options, "--project", shop)

    assert "older snapshot" not in verified(*asked).out
    ran = verified(*asked, "--require-newest")
    assert (ran.code, "knows no snapshot of customer, blocked" in ran.out) == (1, True)
    newest = list(asked)
    for name in ("customer", "blocked"):
        newer = folder / f"newer-{name}.dsse"
        taken = ("snapshot", name, "--key", folder / "s.pem", "-o", newer, "--project", shop)
        ran = run(*taken, "--log", "--by", "Sales")
        assert ran.code == 0, ran.err
        newest[newest.index(str(folder / f"{name}.dsse"))] = str(newer)
    listed = run("log", "list", "--all", "--project", shop).out
    assert "  snapshot  customer of " in listed
    assert run("log", "verify", "--project", shop).code == 0
    ran = verified(*asked)
    assert ran.code == 0, ran.out
    line, other = (one for one in ran.out.splitlines() if one.startswith("older snapshot: "))
    assert line.startswith("older snapshot: customer is shown as of ")
    assert other.startswith("older snapshot: blocked is shown as of ")
    assert line.endswith("--require-newest demands the newest")
    ran = verified(*asked, "--require-newest")
    assert (ran.code, ran.out.startswith("REJECTED at snapshots: customer is shown")) == (1, True)
    assert verified(*newest, "--require-newest").code == 0
