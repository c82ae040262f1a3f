"""`constat prove GOAL`: the verdict, the proof, and a certificate of it.

The certificate is on the disk before the verdict is printed: whoever reads the verdict can verify
it. A disk that is full hides no answer: the verdict is printed, and then what could not be written.
"""

from __future__ import annotations

import importlib
import json

import click

from constat.cli.asking import note_warned, project_option
from constat.cli.draft_options import (
    RulesThatCount,
    answering,
    draft_options,
    note_unapproved,
)
from constat.cli.engines import OWN, engine_option, give_second_opinion, refuse_with_another
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand
from constat.cli.log_options import log_options
from constat.cli.output import note, write_json
from constat.cli.progress import watching
from constat.cli.prove_options import NEEDS_PROOFS, Search, Shown, prove_options
from constat.cli.results import result_json
from constat.cli.speaking import locale_option
from constat.cli.verdict_text import print_result
from constat.proof import tree_to_json
from constat.session import Result, Session
from constat.session.log_as import LogAs


@click.command(name="prove", cls=PlainCommand)
@click.argument("goal")
@prove_options
@draft_options
@click.option("--no-cache", "anew", is_flag=True, help="Ask all sources anew, and keep that.")
@locale_option
@log_options
@engine_option
@project_option
def command(  # noqa: PLR0913  one argument for each group of options
    goal: str,
    *,
    search: Search,
    shown: Shown,
    counting: RulesThatCount,
    anew: bool,
    locale: str | None,
    log: LogAs | None,
    engine: str,
    project: str | None,
) -> int:
    """Prove or disprove GOAL.

    A goal is a predicate with constants, or with variables such as ?c. Constants need no quotes
    unless they hold spaces or commas. Columns may be named.

    Examples:
      constat prove "is_vip(C001)"
      constat prove "is_vip(customer = C002)" --format json     # exits with 5
      constat prove "in_vip_group(C032)" --certificate c032.json
      constat prove "is_vip(C004)" --trace-calls --depth 2      # exits with 5
      constat prove "is_vip(?c), customer_tier(?c, gold)" --quiet
      constat prove "in_vip_group(C032)" --minimal height
      constat prove "in_vip_group(C032)" --top-k 2 --depth 1
      constat prove "is_vip(C001)" --all --quiet
      constat prove "is_vip(C001)" --keep --no-cache
      constat prove "is_vip(C001)" --as-of 2026-01-31           # exits with 4
      constat prove "is_vip(C001)" --log --by alice
      constat prove "is_vip(C001)" --locale de_DE --depth 1
      constat prove "may_leave(C005)" --require-approved        # exits with 4
      constat prove "is_vip(C001)" --engine pydatalog

    Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved,
    5 disproved, 6 disproved under assumptions, 2 bad usage.
    With --engine pydatalog: 0 yes, 5 no, 4 no answer, 78 a construct that it lacks.
    """
    refuse_with_another(engine, *NEEDS_PROOFS)
    own = Session(project, cache=not anew, locale=locale)
    with answering(own, counting, goal) as session:
        if engine != OWN:
            return give_second_opinion(session, goal, form=shown.form, quiet=shown.quiet)
        if search.several:
            # Loaded on first use: most goals are asked for one proof.
            many = importlib.import_module("constat.cli.prove_many")
            code: int = many.prove_many(session, goal, search, shown, log)
            return code
        return _prove_one(session, goal, search, shown, log)


def _prove_one(session: Session, goal: str, search: Search, shown: Shown, log: LogAs | None) -> int:
    with watching() as observe:
        result = session.prove(
            goal,
            exhaust=search.minimal is not None,
            minimal=None if search.minimal == "confidence" else search.minimal,
            as_of=search.as_of,
            observe=observe,
            log=log,
        )
    try:
        told = _put_away(session, result, shown.certificate, keep=shown.keep)
    finally:
        _print(session, result, shown)
    for line in () if shown.quiet else told:
        note(line)
    if not shown.quiet:
        note_unapproved(result)
        note_warned(session)
    return result.exit_code


def _print(session: Session, result: Result, shown: Shown) -> None:
    if shown.form == "json":
        found = result_json(result, json.loads(tree_to_json(result.tree)))
        unapproved = list(result.unapproved)
        translation = None if result.translation is None else result.translation.as_json()
        write_json(
            {
                **found,
                "translation": translation,
                "unapproved": unapproved,
                "models": session.model_usage,
            }
        )
    else:
        print_result(result, depth=shown.depth, quiet=shown.quiet, trace_calls=shown.trace_calls)


def _put_away(session: Session, result: Result, file: str | None, *, keep: bool) -> list[str]:
    """Write and keep the certificate as asked for; give what to say of it."""
    told = [] if result.logged is None else [f"written down as entry {result.logged} of the log"]
    if file is not None:
        write_file(file, result.certificate)
        told.append(f"certificate written to {file}")
    if keep:
        told.append(f"certificate kept as {session.keep(result).name}")
    return told
