"""`constat prove GOAL`: the verdict, the proofs, and certificates of them."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import wraps
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import click

from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import (
    OWN,
    RulesThatCount,
    answering,
    draft_options,
    engine_option,
    give_second_opinion,
    locale_option,
    log_options,
    note_unapproved,
    note_unmet,
    note_warned,
    project_option,
    refuse_with_another,
)
from constat.cli.output import note, write, write_certificate, write_json
from constat.cli.progress import watching
from constat.cli.results import calls_text, print_proof, print_result, print_verdict, result_json
from constat.diagnostics import counted
from constat.evaluation import Verdict
from constat.frozen import frozen
from constat.proof import tree_to_json
from constat.session import Result, Session
from constat.session.options import MOST, RANKINGS, SAMPLE, SECONDS, LogAs, PopulationOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.session.many_proofs import FoundProofs

# Options that say the same give the same value, and those that contradict each other are a usage
# error.


@frozen
class Search:
    """Which proofs are looked for: one, `number` of them, or all; and from the facts of when."""

    several: bool
    number: int | None
    minimal: str | None
    budget: float
    as_of: str | None
    counterfactuals: bool | None


@frozen
class Shown:
    """How a result is printed, and where its certificate goes."""

    form: str
    depth: int | None
    quiet: bool
    trace_calls: bool
    certificate: str | None
    keep: bool


_OPTIONS = (
    click.option("--all", "every", is_flag=True, help="Show all proofs, the best first."),
    click.option(
        "--top-k", metavar="N", type=click.IntRange(1, MOST), help="Show the N best proofs."
    ),
    click.option(
        "--minimal",
        type=click.Choice(RANKINGS),
        help="Of all proofs the most confident; of these the lowest, or the smallest tree.",
    ),
    click.option("--lowest", is_flag=True, help="The same as --minimal height."),
    click.option(
        "--budget",
        metavar="SECONDS",
        type=click.FloatRange(min=0),
        default=SECONDS,
        show_default=True,
        help="With --all and --top-k: how long proofs are looked for.",
    ),
    click.option(
        "--as-of", metavar="TIME", help="Answer from what was recorded at a time, in UTC."
    ),
    click.option(
        "--counterfactuals/--no-counterfactuals",
        default=None,
        help='Try small changes of rows that turn a "no"; the certificate lists them, unproved. '
        "By default a few, where a certificate is written and the answer read little.",
    ),
    format_option,
    click.option("--certificate", metavar="FILE", help="Write the certificate to FILE."),
    click.option("--trace-calls", is_flag=True, help="Print what was asked outside."),
    click.option("--depth", type=click.IntRange(min=0), help="Print the proof down to this depth."),
    click.option("--quiet", "-q", is_flag=True, help="Print the verdict only."),
    click.option("--keep", is_flag=True, help="Keep the certificate for `constat stale`."),
)
NEEDS_PROOFS = (
    *("every", "top_k", "minimal", "lowest", "budget", "as_of"),
    *("certificate", "trace_calls", "depth", "keep", "counterfactuals"),
    *("log", "by", "retention", "supersedes"),
)
"""The parameters that mean nothing to an engine without proofs."""


def prove_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets `search` and `shown`."""

    @wraps(command)
    def packed(*arguments: object, **options: Any) -> int:  # noqa: ANN401  whatever the command takes
        return command(*arguments, search=_search(options), shown=_shown(options), **options)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed


def _search(options: dict[str, Any]) -> Search:
    """Take what says which proofs are looked for."""
    every, number = options.pop("every"), options.pop("top_k")
    minimal, lowest = options.pop("minimal"), options.pop("lowest")
    budget, as_of = options.pop("budget"), options.pop("as_of")
    several = every or number is not None
    if as_of is not None and several:
        raise click.UsageError("--as-of shows one proof; leave --all and --top-k out")
    changes = options.pop("counterfactuals")
    if changes and (several or as_of is not None):
        raise click.UsageError(
            "--counterfactuals is about one proof of the present; leave --all, --top-k and --as-of "
            "out"
        )
    ranked = minimal or ("height" if lowest else None)
    return Search(several, number, ranked, budget, as_of, changes)


def _shown(options: dict[str, Any]) -> Shown:
    """Take what says how a result is shown and kept."""
    names = ("form", "depth", "quiet", "trace_calls", "certificate", "keep")
    return Shown(*(options.pop(name) for name in names))


# Whether there are more proofs is always said.


def prove_many(session: Session, goal: str, search: Search, shown: Shown, log: LogAs | None) -> int:
    """Find proofs and print them; give the exit code."""
    with watching() as observe:
        proofs = session.proofs(
            goal,
            ranking=search.minimal or "height",
            seconds=search.budget,
            observe=observe,
            log=log,
        )
        results = list(islice(proofs, search.number or MOST))
    try:
        told = _put_away(session, results, shown)
    finally:
        if shown.form == "json":
            write_json({**_as_json(results, proofs), "models": session.model_usage})
        else:
            _print(results, proofs, shown)
    for line in () if shown.quiet else told:
        note(line)
    if not shown.quiet:
        note_warned(session)
    return results[0].exit_code


def _as_json(results: Sequence[Result], proofs: FoundProofs) -> dict[str, object]:
    first = results[0]
    return {
        "goal": proofs.goal,
        "verdict": first.verdict.value,
        "exit_code": first.exit_code,
        "count": len(results) if _is_proved(first) else 0,
        "complete": proofs.complete,
        "stopped": proofs.stopped,
        "shapes": [asdict(shape) for shape in proofs.shapes],
        "proofs": [result_json(one, json.loads(tree_to_json(one.tree))) for one in results],
    }


def _print(results: Sequence[Result], proofs: FoundProofs, shown: Shown) -> None:
    first = results[0]
    print_verdict(first, proofs.goal)
    if not shown.quiet:
        for number, result in enumerate(results, 1):
            if _is_proved(first):
                of_which = "" if result.goal == proofs.goal else f" of {result.goal}"
                write(f"\nproof {number}{of_which}{_measures(proofs, number)}")
            print_proof(result, depth=shown.depth)
        if _is_proved(first):
            write(f"\n{_how_many(len(results), proofs)}")
    if shown.trace_calls:
        write(calls_text(first.calls))


def _is_proved(result: Result) -> bool:
    return result.verdict in {Verdict.PROVED, Verdict.PROVED_UNDER}


def _measures(proofs: FoundProofs, number: int) -> str:
    if len(proofs.shapes) < number:
        return ""
    shape = proofs.shapes[number - 1]
    return f": {counted(shape.facts, 'fact')}, height {shape.height:,}, tree of {shape.size:,}"


def _how_many(count: int, proofs: FoundProofs) -> str:
    told = counted(count, "proof")
    if proofs.complete:
        return f"{told}; there are no others"
    why = f": {proofs.stopped}" if proofs.stopped else ""
    return f"at least {told}; there may be others{why}"


def _put_away(session: Session, results: Sequence[Result], shown: Shown) -> list[str]:
    """Write and keep the certificates as asked for; give what to say of them."""
    told: list[str] = []
    for number, result in enumerate(results, 1):
        if result.logged is not None:
            told.append(f"written down as entry {result.logged} of the log")
        if shown.certificate is not None:
            name = numbered(shown.certificate, number)
            write_certificate(name, result.certificate)
            told.append(f"certificate of proof {number} written to {name}")
        if shown.keep:
            told.append(f"certificate of proof {number} kept as {session.keep(result).name}")
    return told


def numbered(name: str, number: int) -> str:
    """Give the name of a file with a number before its suffix; the first one as it is."""
    path = Path(name)
    return name if number == 1 else str(path.with_name(f"{path.stem}.{number}{path.suffix}"))


# What is said of everybody goes into a folder, which is for people and for programs of auditors.

_POPULATION = (
    click.option(
        "--population",
        is_flag=True,
        help="Prove GOAL for everybody for whom it holds, into the folder --output.",
    ),
    click.option("--output", "-o", metavar="FOLDER", help="With --population: a new folder."),
    click.option(
        "--among",
        metavar="GOAL",
        help="With --population: who else is listed, as disproved; has the variables of GOAL.",
    ),
    click.option(
        "--sample",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"With --population: so many of each verdict get a certificate.  [default: {SAMPLE}]",
    ),
    click.option(
        "--seed",
        metavar="TEXT",
        help="With --population: what chooses the sample; by default the certificate's identity.",
    ),
)


@frozen
class Everybody:
    """Whether and how a goal is proved for everybody."""

    wanted: bool
    folder: str | None
    population: PopulationOptions


def population_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets `everybody`."""

    @wraps(command)
    def packed(*arguments: object, **options: Any) -> int:  # noqa: ANN401  whatever the command takes
        return command(*arguments, everybody=_everybody(options), **options)

    for option in reversed(_POPULATION):
        packed = option(packed)
    return packed


def _everybody(options: dict[str, Any]) -> Everybody:
    wanted, folder, among, sample, seed = (
        options.pop(name) for name in ("population", "output", "among", "sample", "seed")
    )
    if not wanted and (folder, among, sample, seed) != (None,) * 4:
        message = "`--output`, `--among`, `--sample` and `--seed` are about a population"
        alone = f", or write the certificate with `--certificate {folder}`" if folder else ""
        raise click.UsageError(f"{message}: add `--population`{alone}")
    if wanted and not folder:
        raise click.UsageError("a population is written into a folder: add `--output FOLDER`")
    population = PopulationOptions(SAMPLE if sample is None else sample, seed or "", among or "")
    return Everybody(wanted, folder, population)


def prove_everybody(
    session: Session, goal: str, everybody: Everybody, search: Search, shown: Shown
) -> int:
    """Write the folder, and print what is in it; give the exit code."""
    if search.counterfactuals:
        raise click.UsageError("--counterfactuals is about one proof, not a population")
    with watching() as observe:
        found = session.population(
            goal, Path(everybody.folder or ""), everybody.population, observe=observe
        )
    if shown.form == "json":
        write_json(
            {
                "goal": found.goal,
                "status": found.settled.value,
                "exit_code": found.exit_code,
                "counts": found.counts,
                "sampled": found.sampled,
                "nodes": found.nodes,
                "index": found.index,
                "folder": str(found.folder),
                "open": list(found.reasons),
            }
        )
        return found.exit_code
    write(f"{found.goal}: {counted(sum(found.counts.values()), 'row')}")
    for verdict in Verdict:
        if found.counts[verdict.value]:
            write(f"  {found.counts[verdict.value]:,} {verdict.label}")
    write(_WHOLE[found.settled.value])
    for reason in found.reasons:
        write(f"  not known: {reason}")
    write(f"written to {found.folder}: {found.nodes:,} nodes, {found.sampled:,} rows as a sample")
    write(f"index: {found.index}; `constat verify {found.folder}` checks it")
    return found.exit_code


_WHOLE = MappingProxyType(
    {
        "SETTLED": "There are no other members.",
        "SETTLED_UNDER": "Under assumptions there are no other members.",
        "OPEN": "There may be other members.",
    }
)


# The certificate is on the disk before the verdict is printed: whoever reads the verdict can
# verify it. A disk that is full hides no answer: the verdict is printed, and then what could not
# be written.


@click.command(name="prove", cls=PlainCommand)
@click.argument("goal")
@prove_options
@draft_options
@click.option("--no-cache", "anew", is_flag=True, help="Ask all sources anew, and keep that.")
@locale_option
@log_options
@population_options
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
    everybody: Everybody,
    engine: str,
    project: str | None,
) -> int:
    """Prove or disprove GOAL.

    A goal is a predicate with constants, or with variables such as ?c. Constants need no quotes
    unless they hold spaces or commas. Columns may be named. --population proves it for everybody,
    into a folder that `constat verify` and `sign` take.

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
      constat prove --population "is_vip(?c)" --among "customer(?c)" -o members

    Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved,
    5 disproved, 6 disproved under assumptions, 2 bad usage.
    --population: 0 settled, 3 under assumptions, 4 there may be others, 7 a difference. With
    --engine pydatalog: 0 yes, 5 no, 4 no answer, 78 a construct that it lacks.
    """
    refuse_with_another(engine, *NEEDS_PROOFS)
    own = Session(project, cache=not anew, locale=locale)
    with answering(own, counting, goal) as session:
        if engine != OWN:
            return give_second_opinion(session, goal, form=shown.form, quiet=shown.quiet)
        if everybody.wanted:
            return prove_everybody(session, goal, everybody, search, shown)
        prove = prove_many if search.several else _prove_one
        return prove(session, goal, search, shown, log)


def _prove_one(session: Session, goal: str, search: Search, shown: Shown, log: LogAs | None) -> int:
    with watching() as observe:
        result = session.prove(
            goal,
            exhaust=search.minimal is not None,
            minimal=None if search.minimal == "confidence" else search.minimal,
            as_of=search.as_of,
            observe=observe,
            log=log,
            counterfactuals=_changes_tried(search, shown),
        )
    try:
        told = _prove_put_away(session, result, shown.certificate, keep=shown.keep)
    finally:
        _prove_print(session, result, shown)
    for line in () if shown.quiet else told:
        note(line)
    if not shown.quiet:
        for one in result.told.changes if result.told else ():
            note(f"note: it would hold with this change: {one['text']}")
        note_unmet(session, result)
        note_unapproved(result)
        note_warned(session)
    return result.exit_code


def _changes_tried(search: Search, shown: Shown) -> bool | Literal["cheap"] | None:
    """Say which changes of a "no" are tried: cheap ones where its certificate is put away."""
    put_away = shown.certificate is not None or shown.keep
    if search.counterfactuals is None and put_away and search.as_of is None:
        return "cheap"
    return search.counterfactuals


def _prove_print(session: Session, result: Result, shown: Shown) -> None:
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


def _prove_put_away(session: Session, result: Result, file: str | None, *, keep: bool) -> list[str]:
    """Write and keep the certificate as asked for; give what to say of it."""
    told = [] if result.logged is None else [f"written down as entry {result.logged} of the log"]
    if file is not None:
        write_certificate(file, result.certificate)
        told.append(f"certificate written to {file}")
    if keep:
        told.append(f"certificate kept as {session.keep(result).name}")
    return told
