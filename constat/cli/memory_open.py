"""`constat memory open PLACE`: the bytes that a fact stands on."""

from __future__ import annotations

import hashlib

import click

from constat.cli.asking import project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.memory_options import remembered, session_option, store_option
from constat.cli.output import note, write, write_json
from constat.session import remembering


@click.command(name="open", cls=PlainCommand)
@click.argument("place")
@session_option
@click.option("-o", "--output", metavar="FILE", help="Write the bytes as they are.")
@store_option
@format_option
@project_option
def command(
    place: str,
    *,
    session: str,
    output: str | None,
    store: str | None,
    form: str,
    project: str | None,
) -> None:
    """Print what was said at PLACE: `m3`, bytes of it such as `m3[12:58]`, or a digest.

    What a terminal would obey is shown as escapes; with --output the bytes are written unchanged.

    Examples:
      constat memory open m0 --session refund
      constat memory open "m0[0:30]" --session refund --format json

    Exit codes: 0 printed, 2 there is no such place, bad usage or configuration.
    """
    with remembered(), remembering.opened(remembering.store_of(project, store), session) as memory:
        content = memory.open(place)
        if output is not None:
            write_file(output, content)
    if output is not None:
        note(f"{len(content):,} bytes written to {output}")
    text = content.decode("utf-8", "backslashreplace")
    if form == "json":
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        write_json({"place": place, "bytes": len(content), "digest": digest, "text": text})
    elif output is None:
        write(text)
