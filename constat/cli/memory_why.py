"""`constat memory why PLACE`: the proof that a fact is in sight, or is not."""

from __future__ import annotations

import click

from constat.cli.asking import project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.memory_options import (
    goal_option,
    remembered,
    rules_option,
    session_option,
    store_option,
)
from constat.cli.memory_text import proof_json, proof_text
from constat.cli.output import note, write, write_json
from constat.session import remembering


@click.command(name="why", cls=PlainCommand)
@click.argument("place")
@session_option
@goal_option
@click.option("--certificate", metavar="FILE", help="Write the certificate of the first proof.")
@store_option
@rules_option
@format_option
@project_option
def command(  # noqa: PLR0913  one argument for each option
    place: str,
    *,
    session: str,
    goal: str,
    certificate: str | None,
    store: str | None,
    rules: str | None,
    form: str,
    project: str | None,
) -> int:
    """Prove why what is said at PLACE is in sight, or why it is not.

    PLACE is what a line of `show` ends with, such as `m3[12:58]`, or a whole text, `m3`. Each
    proof is checked by the independent checker before it is printed.

    Examples:
      constat memory why "m0[34:66]" --session refund
      constat memory why m12 --session refund --format json

    Exit codes: 0 proved and checked, 1 rejected by the checker, 2 there is no such place, bad usage
    or configuration.
    """
    with remembered(), remembering.opened_by(project, store, session, rules) as memory:
        found = remembering.proved(memory, place, goal)
        if certificate is not None and found:
            write_file(certificate, found[0].proof.certificate)
    if form == "json":
        write_json([proof_json(one) for one in found])
    else:
        write("\n\n".join(proof_text(one) for one in found))
    if certificate is not None:
        note(f"certificate written to {certificate}")
    return 0 if all(one.report.accepted for one in found) else 1
