"""`constat rules add`, `remove`, `lock`, `publish` and `diff`: libraries of rules of others."""

from __future__ import annotations

import difflib
import os
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from constat.cli.comparison import DIFFERENT
from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import note, read_file, write, write_file, write_json
from constat.cli.signing import private_key
from constat.diagnostics import ConstatError, Diagnostic, counted, nearest
from constat.library.packages import (
    build_wheel,
    check_copies,
    check_library,
    edited_copies,
    fetch,
    install,
    prepare,
    present_packages,
    require_locked,
    signed_library,
    told_of_change,
    write_files,
)
from constat.project import CONFIGURATION, find_project
from constat.project.document import MAX_BYTES, read_document
from constat.project.loading import load_project
from constat.project.packages import (
    PREFIX,
    ROLE,
    WantedPackage,
    locked_packages,
    read_wanted,
    with_entry,
)
from constat.project.places import PACKAGES
from constat.project.reading import Sections
from constat.session import Session
from constat.session.cases import run_cases
from constat.session.reviewing import compare_upgrade, effect_lines, effect_to_json
from constat.store.clock import now
from constat.store.replacing import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.library.packages import Fetched, Locked
    from constat.project.document import Node
    from constat.project.packages import Package
    from constat.session.reviewing import Upgrade

_PREFIX_HELP: Final = "Put NAME_ before every name that the library declares."
_SIGNED_HELP: Final = "Take only what somebody signed in this role, by a key under `keys:`."
_VERSION_HELP: Final = "Which versions will do, such as '>=1.0,<2'."


@click.command(name="add", cls=PlainCommand)
@click.argument("source", metavar="SOURCE")
@click.option("--prefix", metavar="NAME", help=_PREFIX_HELP)
@click.option("--version", metavar="RANGE", help=_VERSION_HELP)
@click.option("--signed", metavar="ROLE", help=_SIGNED_HELP)
@format_option
@project_option
def add_command(
    source: str,
    *,
    prefix: str | None,
    version: str | None,
    signed: str | None,
    form: str,
    project: str | None,
) -> int:
    """Copy a library of rules into the project, and lock it by its hashes.

    SOURCE is a folder with a `library.yaml`, a wheel (FILE.whl), an index of wheels
    (index+https://HOST/simple#NAME: the newest of RANGE), a repository
    (git+https://HOST/PATH@REF#subdirectory=FOLDER), or the name of a library that pip installed
    or that comes with Constat. Its rule files, with their cases, go to `packages/NAME`, an entry to
    `packages:` in constat.yaml, and hashes to `packages.lock`; certificates name library, version
    and hash. What it requires has to be added first. Where it declares a name that is taken,
    --prefix gives it others. A library that is there already is replaced (see `constat rules diff`
    first) and keeps its prefix, range and role unless others are given; --prefix "" takes the
    prefix away. With
    --signed what nobody signed in that role, with a key that constat.yaml trusts for it, is
    refused, now and whenever it is locked anew.

    Examples:
      constat rules add rules/customer-value --project shop
      constat rules add rules/customer-value --prefix cv --version "<2" --project shop
      constat rules add rules/customer-value --project shop --format json

    Exit codes: 0 added, 2 bad usage, or the library cannot be read, is wrong or does not fit.
    """
    _require_plain(prefix, signed)
    folder = find_project(None if project is None else Path(project))
    content, wanted = _wanted(folder)
    written, base = _as_seen_from(source, folder)
    name = fetch(written, base, version=version or "").manifest.name
    before = wanted.get(name, WantedPackage(name, written))
    prefix = before.prefix if prefix is None else prefix
    version = before.version if version is None else version
    role = before.signed if signed is None else signed
    one = WantedPackage(name, written, prefix, version, role)
    edited = with_entry(content, name, one)
    wanted[name] = one
    before_it = present_packages(folder).get(name)
    locked = _lock(folder, wanted, [name])
    said = told_of_change(before_it, locked.packages[name])
    if said:
        note(f"note: {said}")
    write_file(str(folder / CONFIGURATION), edited)
    _show(locked, form, "added")
    return 0


def _require_plain(prefix: str | None, signed: str | None) -> None:
    if prefix and not PREFIX.match(prefix):
        hint = "use small letters, digits and `_`, with a letter first"
        raise click.BadParameter(hint, param_hint="--prefix")
    if signed and not ROLE.match(signed):
        hint = "use small letters, digits and `-`, with a letter first"
        raise click.BadParameter(hint, param_hint="--signed")


def _as_seen_from(source: str, folder: Path) -> tuple[str, Path]:
    """Give a path as the project sees it: relative, where it lies near, else as it is."""
    path = source.partition("#")[0]
    try:
        there = Path(path).exists() and not source.startswith("git+")
    except (OSError, ValueError):
        there = False
    if not there:
        return source, folder
    found = Path(os.path.relpath(Path(path).resolve(), folder.resolve())).as_posix()
    return f"{found}{source[len(path) :]}", folder


def _wanted(folder: Path) -> tuple[bytes, dict[str, WantedPackage]]:
    content = read_file(str(folder / CONFIGURATION), MAX_BYTES)
    mistakes: list[Diagnostic] = []
    document = read_document(content, CONFIGURATION, mistakes)
    node: Node | None = None
    if document is not None:
        named = Sections(mistakes).entries(document, CONFIGURATION)
        node = next((value for key, value in named if key.text == "packages"), None)
    found = {} if node is None else read_wanted(node, Sections(mistakes))
    if mistakes:
        raise ConstatError(mistakes)
    return content, found


def _lock(
    folder: Path,
    wanted: Mapping[str, WantedPackage],
    names: list[str] | None = None,
    *,
    only_newer: bool = False,
) -> Locked:
    made = prepare(folder, wanted, names, load_project(folder, packages=False).keys.values())
    if only_newer:
        require_locked(folder, made)
    check_copies(made, _own_files(folder))
    return install(folder, made)


def _own_files(folder: Path) -> dict[str, bytes]:
    """Give the rule files of the project itself."""
    plain = load_project(folder, packages=False)
    return {str(path): path.read_bytes() for path in plain.rules}


def _show(
    locked: Locked,
    form: str,
    done: str,
    more: Mapping[str, object] = MappingProxyType({}),
    mended: Sequence[str] = (),
) -> None:
    if form == "json":
        packages = [_package_json(one) for one in locked.packages.values()]
        write_json({"packages": packages, "changed": [*locked.changed, *mended], **more})
        return
    for name in locked.changed:
        one = locked.packages[name]
        under = f", with the prefix {one.prefix}_" if one.prefix else ""
        by = f", published by {one.signer}" if one.signer else ""
        write(f"{done} {name} {one.version} in {PACKAGES}/{name}{under}: {one.digest}{by}")
    for name in mended:
        write(f"mended {PACKAGES}/{name}: it is as locked again")
    if not locked.changed and not mended:
        write("nothing has changed")


def _package_json(one: Package) -> dict[str, object]:
    return {
        "name": one.name,
        "version": one.version,
        "source": one.source,
        "prefix": one.prefix,
        "commit": one.commit,
        "requires": dict(one.requires),
        "files": one.digest,
        "copy": one.copy,
        "signer": one.signer,
    }


@click.command(name="remove", cls=PlainCommand)
@click.argument("name", metavar="NAME")
@format_option
@project_option
def remove_command(name: str, *, form: str, project: str | None) -> int:
    """Take a library out of the project: its copy, its lock and its entry in constat.yaml.

    Examples:
      constat rules remove customer-value --project shop
      constat rules remove customer-value --project shop --format json

    Exit codes: 0 removed, 2 bad usage, there is no such package, or another one requires it.
    """
    folder = find_project(None if project is None else Path(project))
    content, wanted = _wanted(folder)
    present = _present(folder, wanted)
    if name not in wanted and name not in present:
        near = nearest(name, sorted({*wanted, *present}))
        hint = f"did you mean `{near}`?" if near else "`constat rules lock --check` lists them"
        raise ConstatError([Diagnostic("C0598", f"there is no package `{name}`", help=hint)])
    needing = [one.name for one in present.values() if name in one.requires]
    if needing:
        message = f"`{needing[0]}` requires `{name}`"
        hint = f"first `constat rules remove {needing[0]}`"
        raise ConstatError([Diagnostic("C0599", message, help=hint)])
    edited = with_entry(content, name, None) if name in wanted else content
    wanted.pop(name, None)
    locked = install(folder, prepare(folder, wanted, []))
    write_file(str(folder / CONFIGURATION), edited)
    if form == "json":
        packages = [_package_json(one) for one in locked.packages.values()]
        write_json({"packages": packages, "changed": [name]})
    else:
        write(f"removed {name}")
    return 0


def _present(folder: Path, wanted: Mapping[str, WantedPackage]) -> dict[str, Package]:
    mistakes: list[Diagnostic] = []
    return {one.name: one for one in locked_packages(folder, wanted, Sections(mistakes))}


@click.command(name="lock", cls=PlainCommand)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--check", is_flag=True, help="Write nothing: only tell whether all is as locked.")
@format_option
@project_option
def lock_command(names: tuple[str, ...], *, check: bool, form: str, project: str | None) -> int:
    """Fetch what `packages:` in constat.yaml names, and lock it; only NAMEs, where there are any.

    Copies are made anew, so this mends an edited copy and takes what is newer at each source. Other
    files under a version that is locked are refused, and so are older versions: look at them with
    `constat rules diff`, and take them with `constat rules add`.
    With --check the copies are compared with the lock, and the lock with constat.yaml; no source
    is asked.

    Examples:
      constat rules lock --project shop
      constat rules lock --check --project shop
      constat rules lock --check --project shop --format json

    Exit codes: 0 locked, or all is as locked; 1 with --check something is not; 2 bad usage, or a
    library cannot be read, is wrong or does not fit.
    """
    folder = find_project(None if project is None else Path(project))
    _, wanted = _wanted(folder)
    unknown = [one for one in names if one not in wanted]
    if unknown:
        near = nearest(unknown[0], sorted(wanted))
        hint = f"did you mean `{near}`?" if near else "`packages:` in constat.yaml names them"
        message = f"there is no package `{unknown[0]}`"
        raise ConstatError([Diagnostic("C0598", message, help=hint)])
    if not check:
        edited = edited_copies(folder)
        locked = _lock(folder, wanted, list(names) or None, only_newer=True)
        mended = [one for one in edited if one not in edited_copies(folder)]
        mended = [one for one in mended if one in locked.packages and one not in locked.changed]
        _show(locked, form, "locked", {"problems": []}, mended)
        return 0
    mistakes: list[Diagnostic] = []
    found = locked_packages(folder, wanted, Sections(mistakes))
    problems = [one.message for one in mistakes]
    if form == "json":
        packages = [_package_json(one) for one in found]
        write_json({"packages": packages, "changed": [], "problems": problems})
    else:
        for one in found:
            write(f"{one.name} {one.version}: as locked, {one.digest}")
        for problem in problems:
            write(problem)
        if problems:
            note("`constat rules lock` fetches what constat.yaml names, and locks it")
        elif not found:
            write("there are no packages")
    return 1 if problems else 0


@click.command(name="publish", cls=PlainCommand)
@click.argument("folder", metavar="FOLDER")
@click.option("--to", "target", default="dist", show_default=True, metavar="DIR", help="Where to.")
@click.option("--key", metavar="FILE", help="Sign it with this private key of `constat keygen`.")
@format_option
def publish_command(folder: str, *, target: str, key: str | None, form: str) -> int:
    """Check a library of rules, run its cases, and write it as a wheel.

    FOLDER holds rule files, `cases/` and a manifest, `library.yaml`:

      library: customer-value
      version: 1.0.0
      licence: Apache-2.0
      owners: [customer care]
      requires: {lending: ">=1.0,<2"}

    `requires` and `description` may be left out. Required libraries lie beside FOLDER, or pip has
    installed them. The wheel installs like any other (pip, any index); `constat rules add` reads
    it, installed or not. The same files make the same bytes; a signature has its time in it.

    Examples:
      constat rules publish rules/customer-value --to dist
      constat rules publish rules/customer-value --to dist --format json

    Exit codes: 0 written, 1 a case fails, 2 bad usage, or the library or its manifest is wrong.
    """
    fetched = check_library(Path(folder))
    manifest = fetched.manifest
    _require_cases(fetched, folder)
    fetched = replace(fetched, signatures=b"")
    if key is not None:
        fetched = signed_library(fetched, private_key(key), now())
    name, content = build_wheel(fetched)
    path = Path(target) / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        message = f"`{target}` cannot be made: {problem.strerror}"
        raise ConstatError([Diagnostic("C0402", message)]) from None
    write_file(str(path), content)
    if form == "json":
        told = {"library": manifest.name, "version": manifest.version, "wheel": str(path)}
        write_json(
            {
                **told,
                "signed": bool(fetched.signatures),
                "files": fetched.digest,
                "paths": sorted(fetched.files),
            }
        )
    else:
        signed = ", signed" if fetched.signatures else ""
        write(f"{path}: {counted(len(fetched.files), 'file')}, {fetched.digest}{signed}")
    return 0


def _require_cases(fetched: Fetched, folder: str) -> None:
    """Run the cases of a library; a library without any is told of."""
    manifest = fetched.manifest
    if any(path.startswith("cases/") for path in fetched.files):
        run = run_cases([Path(folder)])
        if run.exit_code:
            message = f"cases of `{manifest.name}` fail: {counted(len(run.failures), 'failure')}"
            hint = f"`constat rules test {folder}` shows them"
            raise ConstatError([Diagnostic("C0595", message, help=hint)], exit_code=1)
    else:
        note(f"`{manifest.name}` has no cases: nobody can see what it promises")


@click.command(name="diff", cls=PlainCommand)
@click.argument("name", metavar="NAME")
@click.argument("source", required=False, metavar="[SOURCE]")
@click.option(
    "--budget",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="How long rows are compared.",
)
@format_option
@project_option
def diff_command(
    name: str, source: str | None, *, budget: float, form: str, project: str | None
) -> int:
    """Tell what another version of a library would change, with the present data.

    The package NAME is read from where constat.yaml says, or from SOURCE, and compared with the
    copy in the project: rules that are new, gone or others, predicates that would need rows, and
    rows of predicates that would be others. Nothing is changed; `constat rules add` takes it over.

    Examples:
      constat rules diff customer-value --project shop
      constat rules diff customer-value rules/customer-value --project shop
      constat rules diff customer-value --project shop --format json

    Exit codes: 0 nothing differs, 7 something does, 2 bad usage, or the library is wrong.
    """
    folder = find_project(None if project is None else Path(project))
    _, wanted = _wanted(folder)
    if name not in wanted:
        near = nearest(name, sorted(wanted))
        hint = f"did you mean `{near}`?" if near else "`constat rules add` adds it"
        raise ConstatError([Diagnostic("C0598", f"there is no package `{name}`", help=hint)])
    if source is not None:
        written, _ = _as_seen_from(source, folder)
        wanted[name] = replace(wanted[name], source=written, version="")
    made = prepare(folder, wanted, [name])
    check_copies(made, _own_files(folder))
    with Session(folder) as session, asked(session), Scratch() as place:
        present = {one.name: one for one in session.project.packages}
        before, after = present[name], made[name].package
        inside = {}
        for one, copy in made.items():
            if copy.fresh:
                write_files(place.path / one, copy.files)
                inside[(folder / PACKAGES / one).resolve()] = place.path / one
        rules = [one for one in session.project.rules if one.parent not in inside]
        new = [path for one in inside.values() for path in sorted(one.glob("*.dl"))]
        other = replace(
            session.project,
            rules=(*new, *rules),
            rule_roots=(*session.project.rule_roots, place.path),
        )
        found = compare_upgrade(session, other, budget)
    same = before.copy == after.copy
    if form == "json":
        write_json(_diff_json(before, after, found))
    else:
        for line in _diff_lines(before, after, found):
            write(line)
    return 0 if same else DIFFERENT


def _diff_lines(before: Package, after: Package, found: Upgrade) -> Iterator[str]:
    yield f"{before.name} {before.version} -> {after.version}"
    said = told_of_change(before, after)
    if said:
        yield said
    if before.copy == after.copy:
        yield "nothing differs"
        return
    for sign, rules in (("+", found.added), ("-", found.removed)):
        yield from (f"{sign} {line}" for rule in rules for line in rule.split("\n"))
    for _, old, new in found.changed:
        yield from (
            line.rstrip()
            for line in difflib.ndiff(old.split("\n"), new.split("\n"))
            if not line.startswith("?")
        )
    if found.needed:
        yield f"rows are needed from outside: {', '.join(found.needed)}"
    if not (found.added or found.removed or found.changed):
        yield "no rule differs: only facts, words, comments or cases do"
    if found.effects:
        yield "with the present data:"
    for one in found.effects:
        yield from effect_lines(one)


def _diff_json(before: Package, after: Package, found: Upgrade) -> dict[str, object]:
    return {
        "before": _package_json(before),
        "after": _package_json(after),
        "added": list(found.added),
        "removed": list(found.removed),
        "changed": [
            {"rule": rule, "before": old, "after": new} for rule, old, new in found.changed
        ],
        "needed": list(found.needed),
        "effects": [effect_to_json(one) for one in found.effects],
    }
