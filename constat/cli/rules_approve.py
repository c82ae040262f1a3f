"""`constat rules approve ID`: let a draft, or a proposed rule of a file, in."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.confirming_options import Once, accept_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import note, write, write_json
from constat.session import Session

if TYPE_CHECKING:
    from constat.proof.signing import SigningKey
    from constat.proof.translation import Translation
    from constat.session.reviewing_report import Decided


@click.command(name="approve", cls=PlainCommand)
@click.argument("rule_id", metavar="ID")
@click.option("--by", default="", metavar="NAME", help="Who approves; with --key its owner.")
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@click.option("--key", metavar="FILE", help="Sign the approval with this private key.")
@click.option(
    "--into",
    default="",
    metavar="FOLDER",
    help="The folder of rules, or the rule file, it goes to.",
)
@click.option("--id", "name", default="", metavar="NAME", help="The id that its rule gets.")
@accept_option
@format_option
@project_option
def command(  # noqa: PLR0913  each part of an approval has an option
    rule_id: str,
    *,
    by: str,
    reason: str,
    key: str | None,
    into: str,
    name: str,
    accept_goal: str,
    form: str,
    project: str | None,
) -> int:
    """Approve the draft ID, or the rule ID that a model wrote into a file.

    The rules of a draft are written into a rule file of the project: where they replace or add to
    rules, into the file of those; else into a new file beside the rules that they speak about, or
    where --into says. The approval is a record in `approvals.jsonl` beside that file, bound to what
    the rule says: whoever edits the rule loses it. Where the project trusts keys as approver, the
    record has to be signed with --key; where its `review:` asks for several approvers, the rules
    are let in with the last one.

    Whether the goal of a draft is what its question asks is another matter. It is asked once, when
    the draft is in, and kept as a word of its own; --accept-goal gives it without being asked.

    Examples:
      constat rules approve DRAFT1 --by alice --reason "as customer care asked"
      constat rules approve DRAFT1 --by alice --reason "as agreed" --format json

    Exit codes: 0 approved, 4 another approver is needed, 2 bad usage, configuration or rules, or
    this person may not approve it.
    """
    owner = approving_key(key)
    with Session(project) as session, asked(session):
        if accept_goal:
            session.translation_of_draft(rule_id, accept_goal=accept_goal)
        decided = session.reviews.approve(
            rule_id, by=by, reason=reason, key=owner, into=into, rule_id=name
        )
        translation = None
        if (decided.kind, decided.status) == ("draft", "approved"):
            translation = session.translation_of_draft(rule_id)
        who = by or ("" if owner is None else owner.name)
        confirm = Once(session, who, accepted=bool(accept_goal))
        show_decided(decided, form, translation, confirm)
    return 0 if decided.status == "approved" else 4


def approving_key(path: str | None) -> SigningKey | None:
    """Read the private key that signs an approval, where one is given."""
    if path is None:
        return None
    # Only who signs needs what reads keys.
    keys = importlib.import_module("constat.cli.signing_keys")
    found: SigningKey = keys.private_key(path)
    return found


def show_decided(
    decided: Decided,
    form: str,
    translation: Translation | None = None,
    confirm: Once | None = None,
) -> None:
    """Say what a decision came to; then the question is confirmed, if there is one."""
    if form == "json":
        if translation is not None and confirm is not None:
            translation = confirm(translation, asks=False)
        told = {} if translation is None else {"translation": translation.as_json()}
        write_json(
            {
                **told,
                "id": decided.identity,
                "kind": decided.kind,
                "status": decided.status,
                "rules": list(decided.rules),
                "file": decided.file,
                "signed": decided.signed,
                "approvals": decided.have,
                "needed": decided.needed,
            }
        )
        return
    where = f" in {decided.file}" if decided.file else ""
    rules = f": {', '.join(decided.rules)}{where}" if decided.rules else ""
    write(f"{decided.status}: {decided.kind} {decided.identity}{rules}")
    if decided.status == "proposed":
        note(f"{decided.have} of {decided.needed} approvals are there: another person has to agree")
    elif decided.status == "approved" and not decided.signed:
        note("the approval is not signed: nothing but its record says who gave it")
    if translation is not None and confirm is not None:
        confirm(translation, asks=True)
