"""`constat export CERT --to FORMAT`: a certificate in a standard format, or a view of it.

In: a certificate that the checker accepts. Out: the export, on stdout or in a file. Invariants:
what is rejected is not exported; a format that is no text never reaches a terminal; every format of
a view is written from the view, so what is hidden there is in none of them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from constat.check import check_certificate
from constat.check.canonical import MAX_BYTES
from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import locale_option
from constat.cli.output import (
    note,
    read_file,
    use_utf8,
    write,
    write_bytes,
    write_file,
    write_json,
    write_pieces,
)
from constat.diagnostics import ConstatError, Diagnostic
from constat.project.apis import ApiSetting
from constat.project.loading import is_private_line
from constat.proof.formats import FORMATS, Format, format_named, write_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.cli.output import Pipe

LINEAGE: Final = "openlineage"
VIEWS: Final = ("subject", "authority", "auditor")


@click.command(name="export", cls=PlainCommand)
@click.argument("certificate", metavar="CERT", required=False)
@click.option(
    "--to",
    "target",
    metavar="FORMAT",
    type=click.Choice([one.name for one in FORMATS]),
    help="The format; --list names them.",
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
@click.option(
    "--redact",
    "columns",
    metavar="COLUMN",
    multiple=True,
    help="Hide the values of a column (also predicate.column); again for others.",
)
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    help="Hide what declarations mark: for auditors what is personal; for the person concerned "
    "what is confidential, and what is personal of others; for an authority nothing.",
)
@click.option(
    "--open",
    "opened",
    metavar="CODE",
    multiple=True,
    help="Show one hidden value after all: hidden(CODE) in the view.",
)
@click.option(
    "--salts",
    metavar="FILE",
    help="The secret of the salts; without it CERT.salts, made if needed.",
)
@click.option(
    "--send",
    metavar="URL",
    help="With --to openlineage: where a collector takes events; OPENLINEAGE_API_KEY is its key.",
)
@click.option(
    "--namespace",
    "namespaces",
    metavar="NAME=URI",
    multiple=True,
    help="With --to openlineage: what others call the database NAME, as "
    "postgres://db.example:5432/shop.public; again for others.",
)
@locale_option
@click.option("--list", "listed", is_flag=True, help="List the formats.")
@click.option("--quiet", "-q", is_flag=True, help="Do not say which file was written.")
@format_option
def command(  # noqa: PLR0913  one for each option
    certificate: str | None,
    *,
    target: str | None,
    output: str | None,
    columns: tuple[str, ...],
    view: str | None,
    opened: tuple[str, ...],
    salts: str | None,
    send: str | None,
    namespaces: tuple[str, ...],
    locale: str | None,
    listed: bool,
    quiet: bool,
    form: str,
) -> None:
    """Write the proof in CERT in another format: as a report, a drawing, a table, provenance.

    The certificate is checked first; one that the checker rejects is not exported.

    With --redact or --view values are hidden: commitments stand in their place, which nobody can
    try out without the salts. A view is a certificate that `constat verify` checks; it says how
    many values are hidden, and rests on the assumption that they are as its writer says. Without
    --to it is written as a certificate. Who keeps CERT and CERT.salts can open single values.

    Examples:
      constat export --list --format json
      constat export c001.json --to csv
      constat export c001.json --to graphml -o c001.graphml
      constat export c001.json --to prov-json
      constat export c001.json --redact placed_order.amount -o view.json
      constat export c001.json --view auditor --to html -o c001.html
      constat export c001.json --to letter --locale de_DE
      constat export c001.json --to openlineage --namespace sales=postgres://db.example:5432/shop.public

    Exit codes: 0 written or sent, 2 bad usage, the certificate is rejected or cannot be read, the
    format has no word for something in it, a value cannot be hidden, or an event was not taken.
    """
    if listed:
        _list(as_json=form == "json")
        return
    if certificate is None:
        raise click.UsageError("Missing argument 'CERT'.")
    hides = bool(columns or view or opened)
    chosen = _chosen(target, output, locale, hides=hides)
    content = _accepted(certificate)
    if hides:
        content = _view(content, Path(salts or f"{certificate}.salts"), columns, view, opened)
    give = partial(_write, chosen, output) if send is None else partial(_send, target, send)
    give(_formatted(content, chosen, locale, namespaces), quiet=quiet)


def _chosen(
    target: str | None, output: str | None, locale: str | None, *, hides: bool
) -> Format | None:
    """Give the format that is wanted; without one a certificate whose values are hidden is."""
    if target is None and not hides:
        raise click.UsageError("Missing option '--to'; `constat export --list` names the formats.")
    chosen = None if target is None else format_named(target)
    _check_target(chosen, output, locale)
    return chosen


def _send(target: str | None, url: str, written: bytes, *, quiet: bool) -> None:
    """Send events of OpenLineage to a collector, one after the other; ends the command."""
    if target != LINEAGE:
        raise click.UsageError(f"--send is about events: write --to {LINEAGE}")
    number = send_events(json.loads(written), url, os.environ.get("OPENLINEAGE_API_KEY", ""))
    if not quiet:
        note(f"sent: {number} events of OpenLineage")


def _named(content: bytes, target: str | None, written: Sequence[str]) -> bytes:
    """Give the events of OpenLineage, with databases named as others name them."""
    from constat.proof.export.lineage import to_openlineage  # noqa: PLC0415  loaded when it is used

    if target != LINEAGE:
        raise click.UsageError(f"--namespace is about events: write --to {LINEAGE}")
    pairs = [one.partition("=") for one in written]
    if not all(name and uri for name, _, uri in pairs):
        raise click.UsageError(
            "write --namespace NAME=URI, such as shop=postgres://db.example:5432"
        )
    try:
        return to_openlineage(content, {name: uri for name, _, uri in pairs}).encode()
    except ValueError as problem:
        raise click.UsageError(f"--namespace: {problem}") from None


def _formatted(
    content: bytes, chosen: Format | None, locale: str | None, namespaces: Sequence[str]
) -> bytes:
    if namespaces:
        return _named(content, None if chosen is None else chosen.name, namespaces)
    return content if chosen is None else write_format(chosen, content, locale or "")


def _write(chosen: Format | None, output: str | None, content: bytes, *, quiet: bool) -> None:
    if output is not None:
        # A report is there to be given away: who has let others read the file means so.
        write_file(output, content, last=True, private=not Path(output).exists())
        if not quiet:
            note(f"written: {output} ({'certificate' if chosen is None else chosen.name})")
    elif chosen is not None and chosen.binary:
        write_bytes(partial(_fill, content))
    else:
        use_utf8()
        write_pieces([content.decode()])


def _fill(content: bytes, pipe: Pipe) -> None:
    pipe.write(content)


def _accepted(path: str) -> bytes:
    content = read_file(path, MAX_BYTES)
    report = check_certificate(content)
    if not report.accepted:
        message = f"the certificate is rejected: {report.reason}"
        raise ConstatError([Diagnostic("C0403", message, note="`constat verify` says more")])
    return content


def _view(
    content: bytes,
    salts: Path,
    columns: tuple[str, ...],
    view: str | None,
    opened: tuple[str, ...],
) -> bytes:
    from constat.session.redacting import Hiding, make_view, read_salts  # noqa: PLC0415  loaded when it is used

    identity = json.loads(content)["identity"]
    secret = read_salts(
        salts, identity, lambda path, said: write_file(str(path), said, private=True)
    )
    return make_view(content, Hiding(columns, view, opened), secret)


def _check_target(chosen: Format | None, output: str | None, locale: str | None = None) -> None:
    if locale and (chosen is None or chosen.write_in is None):
        spoken = ", ".join(one.name for one in FORMATS if one.write_in is not None)
        raise click.UsageError(f"'--locale' is for --to {spoken}; other formats are in English.")
    if chosen is not None and chosen.binary and output is None and sys.stdout.isatty():
        diagnostic = Diagnostic(
            "C0773",
            f"`{chosen.name}` is not text, so it is not written to a terminal",
            help=f"add `--output proof{chosen.suffix}`",
        )
        raise ConstatError([diagnostic])


def _list(*, as_json: bool) -> None:
    if as_json:
        told = [
            {
                "name": one.name,
                "purpose": one.purpose,
                "suffix": one.suffix,
                "binary": one.binary,
                "extra": one.extra or None,
            }
            for one in FORMATS
        ]
        write_json({"formats": told})
        return
    width = max(len(one.name) for one in FORMATS)
    for one in FORMATS:
        extra = f" (needs the extra `{one.extra}`)" if one.extra else ""
        write(f"{one.name:<{width}}  {one.purpose}{extra}")


# Send events of OpenLineage to a collector: `constat export CERT --to openlineage --send URL`.

_SECONDS: Final = 30.0
_TAKEN: Final = range(200, 300)


def send_events(events: Sequence[Any], url: str, key: str) -> int:
    """Send events in their order; raises `ConstatError` for the first that is not taken.

    A key goes over a private line alone, and to no other address.
    """
    from constat.apis.transport import ApiError, Asking, Transport  # noqa: PLC0415  loaded when it is used

    if key and not is_private_line(url):
        raise _not_sent("a key is sent over https alone, or to this machine")
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    # The person has named the address; it may well be one of a private network.
    transport = Transport(ApiSetting("lineage", private=True, seconds=_SECONDS))
    try:
        for number, event in enumerate(events, 1):
            asking = Asking("POST", url, headers, json.dumps(event).encode(), keyed=False)
            reply = transport.fetch(asking, time.monotonic() + _SECONDS)
            if reply.status not in _TAKEN:
                raise _not_sent(f"event {number} was answered with status {reply.status}")
    except ApiError as problem:
        raise _not_sent(problem.reason) from None
    finally:
        transport.close()
    return len(events)


def _not_sent(reason: str) -> ConstatError:
    hint = "name where the collector takes events, for Marquez `https://HOST/api/v1/lineage`"
    return ConstatError([Diagnostic("C0437", f"the events were not sent: {reason}", help=hint)])
