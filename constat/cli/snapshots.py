"""`constat snapshot` and `constat openings`: commit to rows of a relation, and show them in it."""

from __future__ import annotations

import click

from constat.check import check_certificate
from constat.check.canonical import MAX_BYTES
from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import note, read_file, write, write_file, write_json
from constat.cli.signing import private_key
from constat.diagnostics import ConstatError, Diagnostic, counted
from constat.proof.signing import MOST_FILE_BYTES
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
def snapshot_command(  # noqa: PLR0913  each option has a name
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


@click.command(name="openings", cls=PlainCommand)
@click.argument("certificate", metavar="CERT")
@click.option(
    "--snapshot",
    "snapshots",
    metavar="FILE",
    multiple=True,
    required=True,
    help="A signed snapshot of a predicate.",
)
@click.option(
    "--inside",
    is_flag=True,
    help="Write the certificate again with the openings in it (at most 64 kB of them).",
)
@click.option("--output", "-o", metavar="FILE", required=True, help="Where the openings go.")
@project_option
def openings_command(
    certificate: str,
    *,
    snapshots: tuple[str, ...],
    inside: bool,
    output: str,
    project: str | None,
) -> None:
    """Write the rows that CERT shows, each with its neighbours and its path to a signed root.

    The source is read again and must still have the rows of the snapshot. What is written shows
    rows of the source: those of the certificate, and one beside each key. With --inside it is
    another certificate of the same conclusion, at level C2 where every key was opened; `verify`
    checks it, and with --snapshot also whose roots they are.

    Examples:
      constat openings c001.json --snapshot orders.dsse -o c001.openings
      constat openings c001.json --snapshot orders.dsse --inside -o c001.opened.json

    Exit codes: 0 written, 2 bad usage, or the source has changed since the snapshot.
    """
    content = read_file(certificate, MAX_BYTES)
    report = check_certificate(content)
    if not report.accepted:
        message = f"the certificate is rejected: {report.reason}"
        raise ConstatError([Diagnostic("C0403", message, note="`constat verify` says more")])
    signed = [(read_file(path, MOST_FILE_BYTES), path) for path in snapshots]
    with Session(project, cache=False) as session, asked(session):
        write_file(output, session.openings(content, signed, inside=inside))
    note(f"{'certificate' if inside else 'openings'} written to {output}")
