"""`constat cache show|stats|clear`: the answers that are kept for `max_age`.

Nothing here touches what people have stated, which is in another file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainGroup, format_option
from constat.cli.output import counted, write, write_json
from constat.session import Session
from constat.store.answers import MOST_BYTES
from constat.tiers import age_in_words, parse_age

if TYPE_CHECKING:
    from constat.session.kept import KeptAnswer, KeptOfPredicate


@click.group(name="cache", cls=PlainGroup)
def command() -> None:
    """Look at the answers of sources that are kept, or clear them.

    Answers are kept only where an .input has a max_age, such as max_age="10m". What people
    have stated is not among them.
    """


@command.command()
@click.argument("predicate", required=False)
@format_option
@project_option
def show(predicate: str | None, *, form: str, project: str | None) -> None:
    """List the kept answers, of PREDICATE or all.

    Examples:
      constat cache show
      constat cache show customer_tier --format json

    Exit codes: 0 shown, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        found = session.cache.list(predicate)
    if form == "json":
        write_json({"answers": [_answer_json(one) for one in found]})
        return
    for one in found:
        write(_answer_text(one))
    if not found:
        write("nothing is kept")


@command.command()
@format_option
@project_option
def stats(*, form: str, project: str | None) -> None:
    """Print how much is kept, and how often it served.

    Examples:
      constat cache stats
      constat cache stats --format json

    Exit codes: 0 printed, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        found = session.cache.statistics()
    if form == "json":
        totals: dict[str, object] = {**_totals(found), "most_bytes": MOST_BYTES}
        write_json({**totals, "predicates": [_figures_json(one) for one in found]})
        return
    total = _totals(found)
    write(
        f"{counted(total['entries'], 'answer')}, {total['bytes']:,} of {MOST_BYTES:,} bytes, "
        f"{counted(total['hits'], 'key')} served, {counted(total['misses'], 'key')} asked"
    )
    for one in found:
        write(
            f"  {one.predicate}: {counted(one.entries, 'answer')}, {counted(one.rows, 'row')}, "
            f"{one.size:,} bytes, {one.hits:,} served, {one.misses:,} asked"
        )


@command.command()
@click.argument("predicate", required=False)
@click.option("--older-than", metavar="AGE", help="Only what is older: 90, 10m, 24h or 7d.")
@click.option("--expired", is_flag=True, help="Only what is older than its max_age.")
@format_option
@project_option
def clear(
    predicate: str | None,
    *,
    older_than: str | None,
    expired: bool,
    form: str,
    project: str | None,
) -> None:
    """Remove kept answers, of PREDICATE or all. Stated facts stay.

    Without arguments a damaged file of kept answers is removed as well.

    Examples:
      constat cache clear --older-than 1h --format json
      constat cache clear customer_tier
      constat cache clear

    Exit codes: 0 cleared, 2 bad usage or configuration.
    """
    seconds = None if older_than is None else _seconds(older_than)
    with Session(project) as session, asked(session):
        cleared = session.cache.clear(predicate, older_than=seconds, expired=expired)
    if form == "json":
        write_json({"cleared": cleared.answers, "file_removed": cleared.file})
    elif cleared.file:
        write("the damaged file of kept answers was removed")
    else:
        write(f"cleared: {counted(cleared.answers, 'answer')}")


def _seconds(written: str) -> int:
    try:
        return parse_age(written)
    except ValueError as problem:
        raise click.BadParameter(f"it {problem}", param_hint="--older-than") from None


def _answer_text(one: KeptAnswer) -> str:
    bound = f"by {', '.join(one.bound)}" if one.bound else "everything"
    text = (
        f"{one.predicate} {bound}: {counted(one.keys, 'key')}, {counted(one.rows, 'row')} "
        f"of {one.source}, {age_in_words(one.age)} old, served {counted(one.served, 'time')}"
    )
    if not one.current:
        return f"{text}, no longer served: the declaration or the configuration has changed"
    left = f"expires in {age_in_words(one.expires_in)}" if one.expires_in else "expired"
    return f"{text}, {left}"


def _answer_json(one: KeptAnswer) -> dict[str, object]:
    return {
        "predicate": one.predicate,
        "bound": list(one.bound),
        "keys": one.keys,
        "rows": one.rows,
        "source": one.source,
        "fetched_at": one.fetched_at,
        "age_seconds": one.age,
        "expires_in_seconds": one.expires_in,
        "served": one.served,
        "bytes": one.size,
        "current": one.current,
    }


def _totals(found: tuple[KeptOfPredicate, ...]) -> dict[str, int]:
    return {
        "entries": sum(one.entries for one in found),
        "bytes": sum(one.size for one in found),
        "hits": sum(one.hits for one in found),
        "misses": sum(one.misses for one in found),
    }


def _figures_json(one: KeptOfPredicate) -> dict[str, object]:
    return {
        "predicate": one.predicate,
        "entries": one.entries,
        "rows": one.rows,
        "bytes": one.size,
        "hits": one.hits,
        "misses": one.misses,
    }
