"""Packages of rules: what is read of a source, what a prefix renames, what a lock holds."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from constat.cli.entry import cli
from constat.diagnostics import ConstatError
from constat.library import packages
from constat.library.cases import run_cases
from constat.library.packages import (
    build_wheel,
    check_copies,
    check_library,
    fetch,
    install,
    names_of,
    prepare,
    renamed,
    write_files,
)
from constat.project import load_project
from constat.project.packages import (
    MOST_FILE,
    WantedPackage,
    read_folder,
    read_manifest,
    with_entry,
)
from constat.proof.signing import generate_key, write_public_key, write_signing_key

RULES = Path(__file__).resolve().parents[2] / "rules"
MANIFEST = "library: parking\nversion: 1.0.0\nlicence: MIT\nowners: [traffic office]\n"
TEXT = """.pragma "constat" "0.1"
.include "constat/prelude.dl"
.once
.type Zone <: symbol
.type Area = Circle { radius: number } | Point {}
.decl lives(who: symbol, lives: Zone)   // `lives` is a column as well
.decl shape(zone: Zone, area: Area)
.decl fits(lives: symbol)
.output fits
.constraint known: lives(?w, ?z) => shape(?z, _).
@[id = R1] @[says = "{w} lives (in a zone) and fits"]
fits(?w) :- lives(who = ?w, lives = ?z), shape(?z, $Circle(?r)), ?r > 1, !shape(?z, $Point()).
"""
CASE = """.include "constat/prelude.dl"
lives("fits(x)", "A").
shape("A", $Circle(5)).
.pragma "open" "lives"
.pragma "unknown" "shape(lives, ?a)"
@[expect(proved = "fits(\\"fits(x)\\")", by = R1, uses = "lives; shape; R1")]
.output fits
"""


def library(folder: Path, **others: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    files = {"library.yaml": MANIFEST, "parking.dl": TEXT, "cases/first.dl": CASE, **others}
    write_files(folder, {name: text.encode() for name, text in files.items()})
    return folder


def project(folder: Path, text: str = "project: town\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    return folder


def add(folder: Path, *wanted: WantedPackage) -> None:
    everything = {one.name: one for one in wanted}
    made = prepare(folder, everything, [one.name for one in wanted])
    check_copies(made, {})
    install(folder, made)
    content = (folder / "constat.yaml").read_bytes()
    for one in wanted:
        content = with_entry(content, one.name, one)
    (folder / "constat.yaml").write_bytes(content)


def message(problem: pytest.ExceptionInfo[ConstatError]) -> str:
    first = problem.value.diagnostics[0]
    return f"{first.code} {first.message} {first.help}"


def test_a_prefix_renames_what_is_declared_and_nothing_else(tmp_path: Path) -> None:
    files = read_folder(library(tmp_path / "parking"))
    new = renamed(files, names_of(files, "p"))
    rules, case = new["parking.dl"].decode(), new["cases/first.dl"].decode()
    assert ".decl p_lives(who: symbol, lives: p_Zone)   // `lives` is a column as well" in rules
    assert ".type p_Area = p_Circle { radius: number } | p_Point {}" in rules
    assert ".constraint p_known: p_lives(?w, ?z) => p_shape(?z, _)." in rules
    assert '@[id = p_R1] @[says = "{w} lives (in a zone) and fits"]' in rules
    assert "p_fits(?w) :- p_lives(who = ?w, lives = ?z), p_shape(?z, $p_Circle(?r))" in rules
    assert 'p_lives("fits(x)", "A").' in case
    assert '.pragma "unknown" "p_shape(lives, ?a)"' in case
    assert 'proved = "p_fits(\\"fits(x)\\")", by = p_R1, uses = "p_lives; p_shape; p_R1"' in case


# The core tries the one that takes least.
@pytest.mark.sampled(99, "laws")
@pytest.mark.parametrize(
    "name",
    sorted((one.name for one in RULES.iterdir()), key=lambda name: (name != "lending", name)),
)
def test_a_library_keeps_its_promises_under_a_prefix(name: str, tmp_path: Path) -> None:
    folder = RULES / name
    fetched = fetch(str(folder), Path())
    assert fetched.manifest.name == folder.name
    own = names_of(fetched.files, "other")
    write_files(tmp_path / folder.name, renamed(fetched.files, own))
    assert run_cases([tmp_path / folder.name]).exit_code == 0


def test_every_library_of_ours_can_be_published() -> None:
    for folder in sorted(RULES.iterdir()):
        name, content = build_wheel(fetch(str(folder), Path()))
        assert name.startswith(f"constat_rules_{folder.name.replace('-', '_')}-1.0.0-")
        assert (name, content) == build_wheel(fetch(str(folder), Path()))
    assert check_library(RULES / "lending").manifest.name == "lending"


def test_the_libraries_of_ours_are_found_by_their_names() -> None:
    found, folder = fetch("tax-benefit", Path()), fetch(str(RULES / "tax-benefit"), Path())
    assert (found.files, found.digest) == (folder.files, folder.digest)
    with pytest.raises(ConstatError, match="there is no package"):
        fetch("tax-benefits", Path())


def test_a_wheel_is_read_as_the_folder_that_it_was_made_of_also_when_pip_has_installed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = library(tmp_path / "parking")
    name, content = build_wheel(fetch(str(place), Path()))
    (tmp_path / name).write_bytes(content)
    assert fetch(name, tmp_path).digest == fetch("parking", tmp_path).digest
    with zipfile.ZipFile(tmp_path / name) as archive:
        archive.extractall(tmp_path / "site")  # as pip does
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for called in ("parking", "constat-rules-parking"):
        assert fetch(called, tmp_path / "elsewhere").digest == fetch("parking", tmp_path).digest


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(("git", *who, *words), cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_repository_is_read_at_a_tag_and_its_links_are_refused(tmp_path: Path) -> None:
    library(tmp_path / "all" / "parking")
    git(tmp_path / "all", "init", "-q")
    git(tmp_path / "all", "add", ".")
    git(tmp_path / "all", "commit", "-qm", "one")
    git(tmp_path / "all", "tag", "v1")
    (tmp_path / "all" / "parking" / "secret.dl").symlink_to("/etc/passwd")
    git(tmp_path / "all", "add", ".")
    git(tmp_path / "all", "commit", "-qm", "two")
    address = f"git+file://{tmp_path}/all"
    found = fetch(f"{address}@v1#subdirectory=parking", tmp_path)
    (tmp_path / "all" / "parking" / "secret.dl").unlink()
    assert found.digest == fetch("all/parking", tmp_path).digest
    assert len(found.commit) == 40
    with pytest.raises(ConstatError) as problem:
        fetch(f"{address}#subdirectory=parking", tmp_path)
    assert "`secret.dl` is a link" in message(problem)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_server_that_says_nothing_ends_with_all_that_git_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_GIT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        with pytest.raises(ConstatError) as problem:
            fetch(f"git+https://127.0.0.1:{silent.getsockname()[1]}/x", tmp_path)
        assert time.monotonic() - begun < 20
        assert "git was not done within 1 seconds" in message(problem)
        # Whoever had connected is gone; on a busy machine nobody had yet, and nobody does later.
        silent.settimeout(3)
        with suppress(TimeoutError):
            other, _ = silent.accept()
            with other:
                other.settimeout(10)
                while other.recv(4096):
                    pass


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_one_bound_of_time_is_for_all_that_git_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library(tmp_path / "all")
    git(tmp_path / "all", "init", "-q")
    git(tmp_path / "all", "add", ".")
    git(tmp_path / "all", "commit", "-qm", "one")
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\nsleep 1\nexec {shutil.which("git")} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    address = f"git+file://{tmp_path}/all"
    assert fetch(address, tmp_path).commit
    # Each of its calls would be done in time.
    monkeypatch.setattr(packages, "_GIT_SECONDS", 4)
    with pytest.raises(ConstatError) as problem:
        fetch(address, tmp_path)
    assert "git was not done within 4 seconds" in message(problem)


@pytest.mark.parametrize(
    "source",
    [
        *("git+ext::sh -c id", "git+https://a:b@h/x", "git+file:///x@--upload-pack=id"),
        *("git+file:///nothing#subdirectory=../..", "git+ssh://-oProxyCommand=id/x", "a\nb"),
        *("nothing/there", "nothing.whl", "../../x"),
    ],
)
def test_what_is_no_source_is_refused_with_an_edit(source: str, tmp_path: Path) -> None:
    with pytest.raises(ConstatError) as problem:
        fetch(source, tmp_path)
    assert message(problem).startswith("C0595")
    assert problem.value.diagnostics[0].help


def test_a_folder_is_read_within_bounds_and_not_past_its_links(tmp_path: Path) -> None:
    for name, make in (
        ("out", lambda path: path.symlink_to("/etc/passwd")),
        ("pipe", os.mkfifo),
        ("large", lambda path: path.write_bytes(b" " * (MOST_FILE + 1))),
        ("loop", lambda path: path.symlink_to(path)),
    ):
        place = library(tmp_path / name)
        make(place / "more.dl")
        with pytest.raises(ConstatError) as problem:
            fetch(name, tmp_path)
        assert "`more.dl`" in message(problem), name


def wheel(path: Path, *entries: tuple[str, str], mode: int = 0o644) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, text)
    return path


def test_a_hostile_wheel_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    inside = "constat_rules/parking"
    good = (f"{inside}/library.yaml", MANIFEST)
    bomb = (f"{inside}/a.dl", "x" * (MOST_FILE + 1))
    wheel(tmp_path / "bomb.whl", good, bomb)
    wheel(tmp_path / "link.whl", (f"{inside}/a.dl", "/etc/passwd"), mode=0o120777)
    with pytest.warns(UserWarning, match="Duplicate name"):
        wheel(tmp_path / "twice.whl", good, (f"{inside}/a.dl", ""), (f"{inside}/a.dl", "b"))
    wheel(tmp_path / "none.whl", ("other/x.py", ""))
    (tmp_path / "broken.whl").write_bytes(b"PK\x03\x04" + b"\0" * 50)
    outside = (f"{inside}/../../../out.dl", "x"), ("/abs.dl", "x"), (f"{inside}/a.dl", "")
    wheel(tmp_path / "paths.whl", good, *outside)
    for name in ("bomb", "link", "twice", "none", "broken"):
        with pytest.raises(ConstatError) as problem:
            fetch(f"{name}.whl", tmp_path)
        assert message(problem).startswith("C0595"), name
    assert set(fetch("paths.whl", tmp_path).files) == {"library.yaml", "a.dl"}
    assert not (tmp_path.parent / "out.dl").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("library: parking\n", "", "has no `library`"),
        ("parking", "../parking", "no name of a library"),
        ("1.0.0", "first", "no version"),
        ("MIT", '"MIT\\nRequires-Dist: evil"', "no plain line"),
        ("[traffic office]\n", '["a\\nb"]\n', "no plain line"),
        ("owners: [traffic office]\n", "owner: me\n", "unknown key `owner`"),
        ("MIT\n", "MIT\nrequires: {parking: '>=1'}\n", "no library has that name"),
        ("MIT\n", "MIT\nrequires: {zones: latest}\n", "no range of versions"),
        ("MIT\n", "MIT\nconstat: '>=900'\n", "wants Constat >=900"),
        ("library", "&a library", "anchor"),
    ],
)
def test_a_manifest_says_what_it_must_and_nothing_strange(old: str, new: str, said: str) -> None:
    with pytest.raises(ConstatError) as problem:
        read_manifest(MANIFEST.replace(old, new, 1).encode())
    assert any(said in one.message for one in problem.value.diagnostics)


def test_a_project_reads_its_packages_as_they_are_locked(tmp_path: Path) -> None:
    library(tmp_path / "parking")
    folder = project(tmp_path / "town", "# Ours.\nproject: town\n\nfacts:\n  a: 1  # one\n")
    add(folder, WantedPackage("parking", "../parking", "p"))
    assert (folder / "constat.yaml").read_text(encoding="utf-8") == (
        "# Ours.\nproject: town\n\nfacts:\n  a: 1  # one\npackages:\n"
        '  parking: {from: "../parking", prefix: "p"}\n'
    )
    loaded = load_project(folder)
    assert [one.name for one in loaded.rules] == ["parking.dl"]
    (package,) = loaded.packages
    assert package.digest == fetch("parking", tmp_path).digest
    assert package.told == f"parking 1.0.0 {package.digest}, as p_ {package.copy}"


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda at: (at / "packages/parking/parking.dl").write_text(""), "has other files"),
        (lambda at: (at / "packages/parking/more.dl").write_text(""), "has other files"),
        (lambda at: (at / "packages/parking/more.dl").symlink_to("/etc/passwd"), "leads out"),
        (lambda at: shutil.rmtree(at / "packages/parking"), "is not in packages/parking"),
        (lambda at: (at / "packages.lock").unlink(), "is not in packages.lock"),
        (
            lambda at: project(at, "packages: {parking: {from: ../parking, version: '<9'}}"),
            "wanted in another way",
        ),
        (lambda at: project(at, "project: town"), "no longer in constat.yaml"),
    ],
)
def test_what_is_not_as_locked_is_not_read(break_it, said: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001  a way to break it
    library(tmp_path / "parking")
    folder = project(tmp_path / "town")
    add(folder, WantedPackage("parking", "../parking"))
    assert load_project(folder).packages
    break_it(folder)
    with pytest.raises(ConstatError) as problem:
        load_project(folder)
    assert said in message(problem)
    assert "constat rules" in message(problem)


def test_libraries_that_declare_a_name_both_need_a_prefix(tmp_path: Path) -> None:
    library(tmp_path / "parking")
    other = MANIFEST.replace("parking", "pools")
    library(tmp_path / "pools", **{"library.yaml": other})
    folder = project(tmp_path / "town")
    two = WantedPackage("parking", "../parking"), WantedPackage("pools", "../pools")
    with pytest.raises(ConstatError) as problem:
        add(folder, *two)
    assert message(problem).startswith("C0597 `pools` declares `$Circle`, `$Point`")
    assert "--prefix p" in message(problem)
    assert not (folder / "packages").exists()
    add(folder, two[0], WantedPackage("pools", "../pools", "p"))
    assert len(load_project(folder).packages) == 2


def test_what_is_added_again_keeps_its_prefix_and_range_unless_others_are_given(
    tmp_path: Path,
) -> None:
    town, words = project(tmp_path / "town"), ["rules", "add", str(library(tmp_path / "parking"))]

    def entry(*options: str) -> str:
        done = CliRunner().invoke(cli, [*words, "--project", str(town), *options])
        assert done.exit_code == 0, done.output
        return (town / "constat.yaml").read_text(encoding="utf-8").splitlines()[-1].strip()

    source = 'parking: {from: "../parking"'
    first = entry("--prefix", "p", "--version", "<2")
    assert entry() == first == f'{source}, prefix: "p", version: "<2"}}'
    assert entry("--version", "") == f'{source}, prefix: "p"}}'
    assert entry("--prefix", "") == f"{source}}}"


def test_what_a_library_requires_is_there_first_in_a_version_that_will_do(tmp_path: Path) -> None:
    library(tmp_path / "parking")
    needs = MANIFEST.replace("parking", "cars") + 'requires: {parking: ">=1,<2"}\n'
    text = '.include "constat/prelude.dl"\n.decl car(who: symbol)\ncar(?w) :- fits(?w).\n'
    place = tmp_path / "cars"
    write_files(place, {"library.yaml": needs.encode(), "cars.dl": text.encode()})
    folder = project(tmp_path / "town")
    cars, parking = WantedPackage("cars", "../cars"), WantedPackage("parking", "../parking", "p")
    with pytest.raises(ConstatError) as problem:
        add(folder, cars)
    assert message(problem).startswith("C0599 `cars` requires parking <2,>=1, which is not here")
    add(folder, cars, parking)
    assert "car(?w) :- p_fits(?w)." in (folder / "packages/cars/cars.dl").read_text("utf-8")
    (tmp_path / "parking/library.yaml").write_text(MANIFEST.replace("1.0.0", "2.0.0"), "utf-8")
    with pytest.raises(ConstatError) as problem:
        add(folder, parking, cars)
    assert "which is here as 2.0.0" in message(problem)
    undeclared = needs.replace("requires", "# ")
    (place / "library.yaml").write_text(undeclared, encoding="utf-8")
    with pytest.raises(ConstatError) as problem:
        check_library(place)
    assert "the rules of `cars` are wrong: cars.dl:3" in message(problem)


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ("packages:\n  a: {from: x}\n\n# b\nproject: y\n", "b", "packages:\n  b: "),
        ("packages:\n  a:\n    from: x\n    # why\n  b: {from: y}\nproject: z\n", "a", "from: q"),
        ("packages:\nproject: z", "a", "packages:\n  a: {"),
        ("project: z", "a", "project: z\n\npackages:\n  a: {"),
    ],
)
def test_an_entry_is_put_in_and_taken_out_line_by_line(text: str, name: str, wanted: str) -> None:
    one = WantedPackage(name, "q")
    put = with_entry(text.encode(), name, one)
    assert wanted.replace("from: q", 'from: "q"') in put.decode()
    again = with_entry(put, name, replaced := WantedPackage(name, "r", "p", "<2"))
    assert again == with_entry(again, name, replaced)
    assert f"{name}: " not in with_entry(again, name, None).decode().replace("project: ", "")


def test_an_entry_that_no_line_holds_is_left_to_people() -> None:
    with pytest.raises(ConstatError) as problem:
        with_entry(b"packages: {a: {from: x}}\n", "b", WantedPackage("b", "y"))
    assert '`b: {from: "y"}`; then `constat rules lock`' in message(problem)


def rules(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["rules", *map(str, words)])
    shown = done.exception.diagnostics if isinstance(done.exception, ConstatError) else ()
    return done.exit_code, done.output + "".join(f"{one.message} {one.help}" for one in shown)


def test_a_lock_takes_what_is_newer_and_nothing_else(tmp_path: Path) -> None:
    place, town = library(tmp_path / "parking"), project(tmp_path / "town")
    here = ("--project", town)
    assert rules("add", place, *here)[0] == 0
    (place / "parking.dl").write_text(f"{TEXT}// other\n", encoding="utf-8")
    code, said = rules("lock", *here)
    assert code != 0
    assert "`parking` 1.0.0 has other files than it had under this version" in said
    assert "constat rules add ../parking" in said
    assert "// other" not in (town / "packages/parking/parking.dl").read_text("utf-8")
    assert "other files" in rules("diff", "parking", *here)[1]
    (place / "library.yaml").write_text(MANIFEST.replace("1.0.0", "0.9.0"), encoding="utf-8")
    assert "`parking` 0.9.0 is older than 1.0.0" in rules("lock", *here)[1]
    (place / "library.yaml").write_text(MANIFEST.replace("1.0.0", "1.1.0"), encoding="utf-8")
    assert "locked parking 1.1.0" in rules("lock", *here)[1]
    (place / "library.yaml").write_text(MANIFEST, encoding="utf-8")
    code, said = rules("add", place, *here)
    assert code == 0
    assert "note: `parking` 1.0.0 is older than 1.1.0" in said


def test_a_lock_says_that_it_has_mended_a_copy(tmp_path: Path) -> None:
    place, town = library(tmp_path / "parking"), project(tmp_path / "town")
    here = ("--project", town)
    assert rules("add", place, *here)[0] == 0
    (town / "packages/parking/parking.dl").write_text("", encoding="utf-8")
    assert rules("lock", *here) == (0, "mended packages/parking: it is as locked again\n")
    assert rules("lock", *here) == (0, "nothing has changed\n")


def test_whoever_comes_later_gets_the_prefix(tmp_path: Path) -> None:
    place, town = library(tmp_path / "parking"), project(tmp_path / "town")
    other = library(
        tmp_path / "car-pools", **{"library.yaml": MANIFEST.replace("parking", "car-pools")}
    )
    assert rules("add", place, "--project", town)[0] == 0
    _, said = rules("add", other, "--project", town)
    assert "`car-pools` declares" in said
    assert "--prefix cp" in said


def test_a_folder_of_libraries_says_which_there_are(tmp_path: Path) -> None:
    library(tmp_path / "all" / "parking")
    with pytest.raises(ConstatError) as problem:
        fetch("all", tmp_path)
    assert "name the folder within: `all/parking`" in message(problem)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_repository_of_libraries_says_which_there_are(tmp_path: Path) -> None:
    library(tmp_path / "all" / "rules" / "parking")
    git(tmp_path / "all", "init", "-q")
    git(tmp_path / "all", "add", ".")
    git(tmp_path / "all", "commit", "-qm", "one")
    with pytest.raises(ConstatError) as problem:
        fetch(f"git+file://{tmp_path}/all", tmp_path)
    assert "#subdirectory=rules/parking`" in message(problem)


def keys_of(folder: Path, *owners: tuple[str, str], more: str = "") -> dict[str, str]:
    """Make keys, and a project that trusts each of them in its role; gives the private files."""
    files, said = {}, ["project: town", "rules: [own.dl]", "keys:"]
    project(folder)
    (folder / "own.dl").write_text('.include "constat/prelude.dl"\n', encoding="utf-8")
    for role, name in owners:
        key = generate_key(role, name)
        stem = name.lower().replace(" ", "-")
        (folder / f"{stem}.pub.pem").write_bytes(write_public_key(key))
        files[name] = str(folder.parent / f"{stem}.pem")
        Path(files[name]).write_bytes(write_signing_key(key, None))
        said += [f"  {stem}: {{file: {stem}.pub.pem, roles: [{role}]{more}}}"]
    (folder / "constat.yaml").write_text("\n".join([*said, ""]), encoding="utf-8")
    return files


def typed(*words: str, fails: bool = False) -> str:
    code, said = rules(*words)
    assert bool(code) == fails, said
    return said


def published(folder: Path, *options: str) -> str:
    typed("publish", str(folder), "--to", str(folder.parent / "dist"), *options)
    return str(max((folder.parent / "dist").iterdir(), key=lambda one: one.stat().st_mtime_ns))


def test_a_package_is_taken_if_the_role_that_is_wanted_has_signed_it(tmp_path: Path) -> None:
    town = tmp_path / "town"
    keys = keys_of(town, ("publisher", "Traffic Office"), ("auditor", "Ada"))
    files = library(tmp_path / "parking")
    options = ("--project", str(town), "--signed", "publisher")
    said = typed("add", published(files), *options, fails=True)
    assert "`parking` is not signed as wanted: there is no valid signature as publisher" in said
    said = typed("add", published(files, "--key", keys["Ada"]), *options, fails=True)
    assert "there is no valid signature as publisher" in said
    wheel = published(files, "--key", keys["Traffic Office"])
    said = typed("add", wheel, *options)
    assert "published by Traffic Office as publisher (key " in said
    (locked,) = load_project(town).packages
    assert locked.told.endswith(f", published by {locked.signer}")
    # The signature is no part of the rules: their hash is the one of unsigned files.
    assert locked.digest == fetch(str(files), tmp_path).digest
    assert not (town / "packages" / "parking" / "library.dsse").exists()
    # It is wanted again whenever it is fetched again.
    published(files)
    said = typed("lock", "--project", str(town), fails=True)
    assert "there is no valid signature as publisher" in said


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("parking.dl", b"?r > 1", b"?r > 2"),
        ("library.yaml", b"1.0.0", b"1.0.1"),
        ("library.dsse", b'"payload":"', b'"payload":"A'),
    ],
)
def test_a_signature_of_other_files_is_refused(
    path: str, old: bytes, new: bytes, tmp_path: Path
) -> None:
    town = tmp_path / "town"
    keys = keys_of(town, ("publisher", "Traffic Office"))
    signed = published(library(tmp_path / "parking"), "--key", keys["Traffic Office"])
    forged = str(tmp_path / Path(signed).name)
    with zipfile.ZipFile(signed) as before, zipfile.ZipFile(forged, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            changed = content.replace(old, new) if name.endswith(path) else content
            assert changed != content or not name.endswith(path)
            after.writestr(name, changed)
    said = typed("add", forged, "--project", str(town), "--signed", "publisher", fails=True)
    assert "`parking` is not signed as wanted" in said
    assert not (town / "packages").exists()


@pytest.mark.parametrize("more", [", revoked: 2020-01-01", ", expires: 2020-01-01"])
def test_a_key_that_was_given_up_signs_nothing(more: str, tmp_path: Path) -> None:
    town = tmp_path / "town"
    keys = keys_of(town, ("publisher", "Traffic Office"), more=more)
    signed = published(library(tmp_path / "parking"), "--key", keys["Traffic Office"])
    said = typed("add", signed, "--project", str(town), "--signed", "publisher", fails=True)
    assert "there is no valid signature as publisher" in said
    # Who asks for no signature takes it as any other.
    typed("add", signed, "--project", str(town))


def test_a_role_that_is_wanted_later_is_not_that_of_the_lock(tmp_path: Path) -> None:
    town = tmp_path / "town"
    keys = keys_of(town, ("publisher", "Traffic Office"))
    signed = published(library(tmp_path / "parking"), "--key", keys["Traffic Office"])
    typed("add", signed, "--project", str(town))
    file = town / "constat.yaml"
    text = file.read_text(encoding="utf-8")
    assert "signed" not in text
    file.write_text(text.replace('whl"}', 'whl", signed: publisher}'), encoding="utf-8")
    said = typed("lock", "--check", "--project", str(town))
    assert "is wanted in another way than packages.lock says" in said
    typed("lock", "--project", str(town))
    typed("lock", "--check", "--project", str(town))
    assert 'signer: "Traffic Office as publisher' in (town / "packages.lock").read_text("utf-8")
    typed("add", signed, "--project", str(town), "--signed", "Publisher!", fails=True)
