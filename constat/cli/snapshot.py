"""`constat snapshot PREDICATE`: commit to all rows of a relation."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json
from constat.cli.signing_keys import private_key
from constat.diagnostics import ConstatError, Diagnostic
from constat.session import Session
from constat.session.signing import SOURCE


@click.command(name="snapshot", cls=PlainCommand)
@click.argument("predicate")
@click.option("--key", metavar="FILE", required=True, help="The private key of the source's owner.")
@click.option(
    "--sorted-by",
    "first",
    metavar="COLUMNS",
    default="",
    help="The columns to sort by first, with commas; a key of these can be shown to be complete.",
)
@click.option("--output", "-o", metavar="FILE", required=True, help="Where the statement goes.")
@click.option("--log", is_flag=True, help="Note it in the project's log of decisions.")
@click.option("--by", metavar="NAME", help="With the log: who commits; by default you.")
@format_option
@project_option
def command(  # noqa: PLR0913  each option has a name
    predicate: str,
    *,
    key: str,
    first: str,
    output: str,
    log: bool,
    by: str | None,
    form: str,
    project: str | None,
) -> None:
    """Read PREDICATE whole from its source and sign the root of its rows.

    The statement holds a Merkle root, the count, the order and the query, and no row. Whoever has
    it can check offline that a certificate shows the rows of the source, and all of a key. That is
    worth as much as the signer: let the owner of the source sign, not who makes certificates.
    Where the project keeps a log of decisions, it is noted there, so that `constat verify` can
    tell an older snapshot from the newest.

    Examples:
      constat snapshot placed_order --key source.pem -o placed_order.dsse
      constat snapshot placed_order --sorted-by order --key source.pem -o o.dsse --format json

    Exit codes: 0 signed, 2 bad usage, or not all rows of the relation are known.
    """
    owner = private_key(key)
    if owner.role != SOURCE:
        message = f"a snapshot is signed as {SOURCE}, and the key signs as {owner.role}"
        hint = f"`constat keygen --role {SOURCE}` makes a key for the owner of the source"
        raise ConstatError([Diagnostic("C0743", message, help=hint)])
    # What is kept for a while is no snapshot: the source itself is read.
    with Session(project, cache=False) as session, asked(session):
        columns = [one.strip() for one in first.split(",") if one.strip()]
        signed = session.snapshot(predicate, owner, columns)
        session.decisions.write_snapshot(signed, asked=log, by=by)
    write_file(output, signed.line)
    says = signed.snapshot.says
    if form == "json":
        write_json({"statement": output, "root": signed.snapshot.tree.root, **says})
        return
    size = signed.snapshot.tree.size
    write(f"{predicate}: {counted(size, 'row')}, root {signed.snapshot.tree.root}")
    write(f"signed by {owner.name} as {owner.role}: {output}")
