"""`constat memory forget PLACE`: take what was said out of the archive."""

from __future__ import annotations

import click

from constat.cli.asking import project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.memory_options import remembered, session_option, store_option
from constat.cli.output import counted, write, write_json
from constat.session import remembering


@click.command(name="forget", cls=PlainCommand)
@click.argument("place")
@session_option
@click.option("--by", required=True, metavar="NAME", help="Who wants it.")
@click.option("--reason", required=True, metavar="TEXT", help="Why, without quoting the text.")
@store_option
@format_option
@project_option
def command(  # noqa: PLR0913  one argument for each option
    place: str,
    *,
    session: str,
    by: str,
    reason: str,
    store: str | None,
    form: str,
    project: str | None,
) -> None:
    """Forget the texts of PLACE: of a message such as `m3`, of a digest, or `all` of the session.

    The bytes leave the file, with the facts and contexts that were made of them; the digest stays,
    with who wanted it and why. A text is kept once, so it is forgotten in all sessions that hold
    it. What other texts repeat of it stays: `constat memory search` finds them. Nothing brings it
    back.

    Examples:
      constat memory forget m2 --session refund --by ann --reason "a card number"
      constat memory forget all --session refund --by ann --reason "closed" --format json

    Exit codes: 0 forgotten, 2 there is no such place, bad usage or configuration.
    """
    with remembered():
        folder = remembering.store_of(project, store)
        found = remembering.forgotten(folder, session, place, by=by, reason=reason)
    if form == "json":
        write_json(
            {
                "digests": list(found.texts),
                "messages": found.messages,
                "notes": found.notes,
                "checkpoints": found.checkpoints,
            }
        )
        return
    write(
        f"forgotten: {counted(len(found.texts), 'text')} of {counted(found.messages, 'message')}; "
        f"{counted(found.notes, 'noted fact')} and "
        f"{counted(found.checkpoints, 'checkpoint')} with them"
    )
    for digest in found.texts:
        write(f"  {digest}")
