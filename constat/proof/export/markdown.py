r"""Write a proof as Markdown, to be pasted into a ticket.

In: the bytes of a certificate.  Out: one document: the question, the verdict, what it rests on,
then numbered steps.  Invariant: data is text and nothing else: it makes no heading, no link, no
mention, no HTML, whatever flavour of Markdown reads it.  See CommonMark 0.31, "Backslash escapes".

Example: ``escaped("*a* @b") == r"\*a\* &#64;b"``.
"""

from __future__ import annotations

import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import counted
from constat.proof.export.account import account_of, reading_certificate
from constat.proof.export.denial import MOST_REASONS, of_veiled
from constat.proof.export.document import capital, isolated, origin_of, shortened, shortened_lines
from constat.proof.export.drawing import rows_folded
from constat.proof.export.steps import RULE
from constat.proof.levels import LEVEL_WORDS
from constat.proof.render import in_words

if TYPE_CHECKING:
    from constat.proof.export.account import Account

# What begins markup anywhere, what links, mentions and HTML are made of, and what begins a block.
# A star between blanks marks nothing: `1700.0 * 0.35` stays as it is.
_MARKUP: Final = re.compile(r"([\\`_\[\]{}|~^=$]|(?<! )\*|\*(?! ))")
_CODED: Final = re.compile(r"[&<>@#]|(?<=[A-Za-z]):(?=/)|(?<=www)\.")
_BLOCK: Final = re.compile(r"\A[-+ ]|\A[0-9]{1,9}(?=[.)](?:\s|\Z))")
_FENCE: Final = re.compile(r"`+")
_STATES: Final = MappingProxyType(
    {
        "failed": "does not give it",
        "open": "may give it, but something is unknown",
        "not tried": "was not looked at: too many possibilities",
    }
)


@reading_certificate()
def to_markdown(certificate: bytes) -> str:
    """Return the proof as Markdown; ``ValueError`` for what is no certificate."""
    account = account_of(certificate)
    parts = (
        _head(account),
        _whose(account),
        _undecided(account),
        _changes(account),
        _rests(account),
        _steps(account),
        _rules(account),
    )
    identity = (
        f"Proof {_code(account.document.identity)}. Check the certificate with `constat verify`."
    )
    return "\n\n".join([*(part for part in parts if part), identity]) + "\n"


def escaped(data: str) -> str:
    """Return data as text of Markdown, wherever in a line it stands."""
    marked = _MARKUP.sub(r"\\\1", isolated(shortened(data)))
    coded = _CODED.sub(lambda found: f"&#{ord(found.group())};", marked)
    return _BLOCK.sub(lambda found: f"&#{ord(found.group()[0])};{found.group()[1:]}", coded)


def _code(data: str) -> str:
    """Return data as code: between more backticks than it holds."""
    data = isolated(shortened(data))
    fence = "`" * (max(map(len, _FENCE.findall(data)), default=0) + 1)
    pad = " " if data.startswith("`") or data.endswith("`") else ""
    return f"{fence}{pad}{data}{pad}{fence}"


def _head(account: Account) -> str:
    header = account.document.header
    created = account.document.record["created"]
    lines = [
        f"# {escaped(account.headline)}",
        "",
        f"**{header['verdict'].replace('_', ' ')}**. Question: {escaped(account.question)}",
        "",
        f"- Decided on: {escaped(created)} by {escaped(account.document.record['engine'])}",
    ]
    if header["as_of"]:
        lines.append(f"- Facts as recorded on: {escaped(header['as_of'])}")
    if header.get("asked_by"):
        lines.append(f"- Asked by: {escaped(header['asked_by'])}")
    lines.append(f"- Goal: {_code(account.document.goal())}")
    # That everything is certain needs no words.
    if header["verdict"] != "UNRESOLVED" and header["confidence"] != "1":
        least = "" if header["search"] == "exhausted" else "at least "
        lines.append(
            f"- How certain: {least}{header['confidence']}, where 1 is certain: as the least "
            "certain word it rests on, no probability"
        )
    taken = [account.document.assumptions[place] for place in header["under"]]
    lines.append("- Assumptions: none" if not taken else "- Assumptions:")
    lines += [
        f"  - {escaped(one['text'])} (confidence {escaped(one['confidence'])})" for one in taken
    ]
    if account.document.conflicts:
        lines.append("- Conflicts:")
        lines += [f"  - {escaped(one)}" for one in account.document.conflicts]
    return "\n".join(lines)


def _whose(account: Account) -> str:
    """Say of each rule that was used whose it is and who approved it, or that nobody did."""
    document = account.document
    lines = []
    for place in _used(account):
        rule = document.rules[place]
        told = [
            f"{did} {escaped(rule[name])}"
            for name, did in (
                ("version", "version"),
                ("author", "written by"),
                ("owner", "owned by"),
            )
            if rule.get(name)
        ]
        digest = document.rule_digests[place]
        given = [one for one in document.header["approvals"] if one["rule"] == digest]
        told += [f"approved by {escaped(one['by'])} on {escaped(one['at'])}" for one in given]
        told += [] if given else ["**nobody approved this rule**"]
        cites = document.program.rules[place].attributes.get("cites")
        told += [f"cites {escaped(cites)}"] if cites else []
        lines.append(f"- {escaped(rule['id'])}: {', '.join(told)}")
    return "\n".join(["## By whose rule", "", *lines]) if lines else ""


def _used(account: Account) -> list[int]:
    """Return the rules of the steps; where there are none, those that were tried for the goal."""
    used = sorted({step.rule for step in account.steps if step.rule is not None})
    tried = {one.rule for one in account.attempts}
    rules = enumerate(account.document.rules)
    named = [place for place, rule in rules if rule["id"] in tried and rule["body"]]
    return [place for place in sorted({*used, *named}) if account.document.rules[place]["body"]]


def _changes(account: Account) -> str:
    """List the changes that were tried when it was decided; they are no part of the proof."""
    said = [f"- {escaped(capital(one['text']))}." for one in account.document.changes]
    if not said:
        return ""
    each = "this change" if len(said) == 1 else "any one of these changes"
    note = (
        f"With {each} the answer would have been yes. Computed when it was decided, not proved by "
        "this certificate:"
    )
    return "\n".join(["## What would change it", "", note, "", *said])


def _rests(account: Account) -> str:
    """List the sources, each with query, rows and time."""
    document = account.document
    lines = []
    for place, source in enumerate(document.sources):
        time = document.record["executed"][place]
        when = f", read {escaped(time)}" if time else ""
        who = f", stated by {escaped(source['author'])}" if source["author"] else ""
        query = " ".join((source["query"] or "").split())
        asked = f": {_code(shortened(query, 300))}" if query else ""
        kind = escaped(origin_of(source))
        name = escaped(source["name"] or source["tier"])
        lines.append(
            f"{place}. {name} ({kind}), {counted(source['rows'], 'row')}{who}{when}{asked}"
        )
    return "\n".join(["## Rests on", "", *lines]) if lines else ""


def _undecided(account: Account) -> str:
    """Say what is missing, and how far each rule gets."""
    lines: list[str] = []
    if account.gaps:
        lines += ["## Missing", ""]
        for gap in account.gaps:
            reasons = "; ".join(map(escaped, gap.reasons))
            said = f"- {escaped(capital(gap.words))} ({_code(gap.goal)})"
            lines.append(f"{said}{f': {reasons}' if reasons else ''}")
    if account.reasons:
        lines += [*([""] if lines else []), "## Principal reasons", ""]
        lines += [
            f"{number}. {escaped(one.code)}: {escaped(one.text)}"
            for number, one in enumerate(account.reasons[:MOST_REASONS], start=1)
        ]
        more = len(account.reasons) - MOST_REASONS
        lines += [f"\nand {counted(more, 'more reason')}"] if more > 0 else []
    if account.veiled:
        lines += ["", escaped(of_veiled(account.veiled))]
    if account.attempts:
        lines += (
            ["", "## How far each rule gets", ""] if lines else ["## How far each rule gets", ""]
        )
    for attempt in account.attempts:
        stopped = f", stopped at {_code(attempt.literal)}" if attempt.literal else ""
        reason = f": {escaped(attempt.sentence)}" if attempt.sentence else stopped
        off = f" ({escaped(attempt.actual)} where {escaped(in_words(attempt.required))} is needed)"
        needed = off if attempt.actual and attempt.distance else ""
        left = counted(len(attempt.untried), "more condition")
        behind = f"; not tried: {left}" if attempt.untried else ""
        state = _STATES.get(attempt.state, attempt.state)
        lines.append(f"- {escaped(attempt.rule)} {state}{reason}{needed}{behind}")
    return "\n".join(lines)


def _steps(account: Account) -> str:
    """Number the steps from the answer down."""
    folded = rows_folded(account)
    left_out = Counter(folded.values())
    lines = []
    for place in account.order:
        if place in folded:
            continue
        step = account.steps[place]
        below = [account.numbers[one.step] for one in step.premises if one.step not in folded]
        more = left_out[place]
        parts = [f"{account.numbers[place]}. {escaped(step.sentence)}", *_why(account, place)]
        if below:
            parts.append(f"rests on {', '.join(map(str, below))}")
        if more:
            parts.append(f"and {counted(more, 'more row')}")
        lines.append("; ".join(parts) + ".")
    return "\n".join(["## Steps", "", *lines]) if lines else ""


def _why(account: Account, place: int) -> list[str]:
    step = account.steps[place]
    found = []
    if step.kind == RULE and step.rule is not None:
        rule = escaped(account.document.rules[step.rule]["id"])
        found.append(f"by rule {rule}, because {escaped(step.reasoning)}")
        found += [escaped(one.sentence) for one in account.tests(step)]
    elif step.sources:
        found.append(f"from source {', '.join(map(str, step.sources))}")
    if step.level:
        found.append(f"completeness {step.level}: {LEVEL_WORDS[step.level]}")
    taken = (account.document.assumptions[one]["text"] for one in account.taken[place])
    found += [f"**assumed**: {escaped(one)}" for one in taken]
    return found


def _rules(account: Account) -> str:
    """Print the rules that were used, from what a checker checks."""
    used = _used(account)
    if not used:
        return ""
    shown = "\n\n".join(shortened_lines(account.document.rule_texts[place]) for place in used)
    fence = "`" * max(3, max(map(len, _FENCE.findall(shown)), default=0) + 1)
    return f"## Rules\n\n{fence}prolog\n{shown}\n{fence}"
