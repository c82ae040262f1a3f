"""`constat verify FILE`: the independent checker, and on demand the sources and the signatures.

In: a certificate. Out: a report on stdout and an exit code: the verdict's own, or 1 where anything
that was asked for does not hold. Invariant: no verdict is printed of what is rejected.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from constat.check import check_certificate
from constat.check.canonical import MAX_BYTES
from constat.check.printing import printable
from constat.cli.folders import ANSWER, POPULATION, REJECTED, checked_folder
from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import project_option
from constat.cli.output import note, read_file, write, write_json

if TYPE_CHECKING:
    from constat.check import Report
    from constat.cli.verify_project import VerifyRequest

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")
SIGNATURES: Final = ".dsse"
_MEANINGS = ("produced", "approved", "reviewed", "audited")


class _Digest(click.ParamType[str]):
    """The hash of rules, whole."""

    name = "hash"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not _DIGEST.match(value):
            self.fail(
                "it takes `sha256:` and 64 digits of 0-9 and a-f, as the line `rules:` of"
                " `constat verify FILE` shows them",
                param,
                ctx,
            )
        return value


@click.command(name="verify", cls=PlainCommand)
@click.argument("file")
@click.option(
    "--bulk",
    is_flag=True,
    help="FILE is a folder that `query --bulk` wrote; any folder is checked as what it is.",
)
@format_option
@click.option(
    "--pin",
    type=_Digest(),
    metavar="sha256:...",
    help="The hash of the rules that are trusted.",
)
@click.option(
    "--trust",
    "trusted",
    type=_Digest(),
    metavar="sha256:...",
    multiple=True,
    help="With --pin: rules that nested certificates may have, too.",
)
@click.option(
    "--source",
    is_flag=True,
    help="Read the leaves again from the project's sources; compare rules.",
)
@click.option(
    "--documents",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder whose documents are quoted: hashes and words are compared.",
)
@click.option(
    "--allow-other-rules",
    is_flag=True,
    help="With --source: the verdict counts, though the project's rules are others now.",
)
@click.option(
    "--draft",
    "drafts",
    metavar="ID",
    multiple=True,
    help="With --source: ask with this draft; by default with those that the certificate names.",
)
@click.option(
    "--key",
    "keys",
    metavar="[ROLE=]FILE",
    multiple=True,
    help="A public key that must have signed, in this role.",
)
@click.option("--role", "roles", multiple=True, help="A role in which somebody must have signed.")
@click.option(
    "--meaning",
    "meanings",
    type=click.Choice(_MEANINGS),
    multiple=True,
    help="Only signatures that mean this count.",
)
@click.option(
    "--signature",
    "signatures",
    metavar="FILE",
    multiple=True,
    help="Where the signatures are; by default FILE.dsse.",
)
@click.option(
    "--snapshot",
    "snapshots",
    metavar="FILE",
    multiple=True,
    help="A signed snapshot that the leaves must be rows of.",
)
@click.option("--openings", metavar="FILE", help="The rows of the leaves in the snapshots.")
@click.option(
    "--require-opened",
    is_flag=True,
    help="With --snapshot: everything that rests on a source must be opened.",
)
@click.option(
    "--require-newest",
    is_flag=True,
    help="With --snapshot: the project's log of decisions must know no newer one.",
)
@project_option
def command(
    file: str,
    *,
    form: str,
    pin: str | None,
    trusted: tuple[str, ...],
    source: bool,
    project: str | None,
    **questions: Any,  # noqa: ANN401  the options about signatures and snapshots
) -> int:
    """Check the certificate in FILE, or on stdin for `-`.

    The checker shares no code with the engine and trusts nothing that the file says about itself.
    Whether the rows are those of the database is a second question; --source asks it (of what
    rests on a draft, with the draft of the quarantine that the certificate names), and
    --snapshot with --openings answers it offline, from roots that the source's owner signed;
    --require-opened takes nothing else as it stands, --require-newest no snapshot of earlier.
    --documents compares what is quoted of documents with the files, byte by byte.
    Who stands for the certificate is a third: --key and --role name whose signatures must be there.
    Keys count for the roles given here or under `keys:` in constat.yaml.

    FILE may be a folder. Of one that `constat query --bulk` wrote all that follows from its rules
    and inputs, as they stand, is counted again and compared with its answer. Of one that `constat
    prove --population` wrote every certificate is checked, and list, counts and sample with them.
    --pin names the rules, --key and --role whose signatures lie beside the index.

    Examples:
      constat verify c001.json
      constat verify c001.json --source
      constat verify c001.json --documents .
      constat verify c001.json --format json
      constat verify vips
      constat verify c001.json --key key.pub.pem --role approver
      constat verify c001.json --key approver=key.pub.pem --meaning approved --format json

    Exit codes: that of the verdict (0, 3, 4, 5, 6); 1 where the certificate is rejected (a folder:
    where it is not exactly what follows; 4 where that was not checked, or may not be all), where
    --source finds a leaf that is not as shown or other rules or words of them than the project's,
    or a signature or an opening does not hold or is missing; 2 bad usage.
    """
    how = (pin, project, form)
    questions |= {"source": source, "trusted": trusted}
    if questions.pop("bulk") or (file != "-" and Path(file).is_dir()):
        return _verify_folder(file, questions, how)
    return _verify_file(file, questions, how)


def _verify_file(
    file: str, questions: dict[str, Any], how: tuple[str | None, str | None, str]
) -> int:
    """Check a certificate; `how` is the pin, the project whose keys count, and the form."""
    pin, project, form = how
    source, trusted, documents = map(questions.pop, ("source", "trusted", "documents"))
    _require_sense(questions, source=source)
    certificate = _certificate(file)
    more_asked = source or any(questions.values())
    if documents is not None or not more_asked:
        report = check_certificate(certificate, pin=pin, trusted=trusted, documents=documents)
        if not (report.accepted and more_asked):
            return _check(file, report, form)
    # The checker alone starts faster than the engine and the ciphers, which only these need.
    from constat.cli import verify_project as more  # noqa: PLC0415  loaded when it is used

    asked = more.VerifyRequest(file, pin, project, source=source, trusted=trusted, **questions)
    return more.verify_more(certificate, asked, form=form)


def _certificate(file: str) -> bytes:
    found = read_file(file, MAX_BYTES)
    if found.lstrip()[:9].lower().startswith((b"<!doctype", b"<html", b"%pdf")):
        raise click.UsageError(
            f"{file} is a page or a paper about a certificate, and no certificate: its words are"
            " not checked here. Verify the certificate it was written from; a page lets you save"
            " it, and checks itself in a browser"
        )
    return found


def _require_sense(questions: dict[str, Any], *, source: bool) -> None:
    if questions["drafts"] and not source:
        raise click.UsageError("`--draft` is for reading leaves again: add `--source`")
    if questions["allow_other_rules"] and not source:
        raise click.UsageError("`--allow-other-rules` is for the project's rules: add `--source`")
    for name in ("require_opened", "require_newest"):
        if questions[name] and not questions["snapshots"]:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"`{option}` is about snapshots: add `--snapshot FILE`")


def _check(file: str, report: Report, form: str) -> int:
    """Print what the checker alone says, and that there are signatures nobody looked at."""
    text = report.to_text().rstrip("\n")
    write(text) if form == "text" else write_json(json.loads(report.to_json()))
    if report.accepted and file != "-" and Path(f"{file}.dsse").exists():
        note(f"note: the signatures in {file}.dsse were not checked; --role or --key asks for it")
    return report.exit_code


_OF_FOLDERS: Final = frozenset({"keys", "roles", "meanings", "signatures"})


def _verify_folder(
    folder: str, questions: dict[str, Any], how: tuple[str | None, str | None, str]
) -> int:
    """Check a folder; `how` is the pin, the project whose keys count, and the form."""
    if any(value for name, value in questions.items() if name not in _OF_FOLDERS):
        raise click.UsageError("of a folder there are `--pin`, `--format`, and whose signatures")
    del questions["documents"]
    if not Path(folder).is_dir():
        shown = f"`{printable(folder)}`"
        there = f"{shown} is a file" if Path(folder).exists() else f"there is no folder {shown}"
        raise click.UsageError(f"{there}; `--bulk` takes the folder that `constat query` wrote")
    from constat.cli.verify_project import VerifyRequest  # noqa: PLC0415  loaded when it is used

    pin, project, form = how
    asked = VerifyRequest(file=folder, pin=pin, project=project, **questions)
    return _check_folder(Path(folder), asked, form)


def _check_folder(folder: Path, asked: VerifyRequest, form: str) -> int:
    """Check a folder, of everybody or of an answer in bulk, and whose signatures it has."""
    is_population = (folder / POPULATION).exists()
    code, members, lines = checked_folder(folder, asked.pin)
    if code != REJECTED:
        from constat.cli.verify_project import folder_signatures  # noqa: PLC0415  loaded when it is used

        index = folder / (POPULATION if is_population else ANSWER)
        questions = folder_signatures(index, asked) if _asks_who(asked) else {}
        members |= {name: one.to_json() for name, one in questions.items()}
        wrong = next((one.reason for one in questions.values() if one.reason), "")
        if wrong:
            code, lines = REJECTED, [f"REJECTED at signatures: {wrong}"]
            members |= {"state": "rejected", "why": wrong, "exit_code": code}
        lines += [line for one in questions.values() for line in one.to_lines()]
        if not questions and index.with_name(f"{index.name}{SIGNATURES}").exists():
            note("note: its signatures were not checked; --role or --key asks for it")
    if form == "json":
        write_json(members)
    else:
        write("\n".join(lines))
    return code


def _asks_who(asked: VerifyRequest) -> bool:
    return bool(asked.keys or asked.roles or asked.meanings or asked.signatures)
