r"""Write a proof as Markdown, to be pasted into a ticket.

In: the bytes of a certificate.  Out: one document: the question, the verdict, what it rests on,
then numbered steps.  Invariant: data is text and nothing else: it makes no heading, no link, no
mention, no HTML, whatever flavour of Markdown reads it.  See CommonMark 0.31, "Backslash escapes".

Example: ``escaped("*a* @b") == r"\*a\* &#64;b"``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.proof.export.account import account_of, changes_tried, reading_certificate
from constat.proof.export.denial import ATTEMPTED, MOST_REASONS, became, of_veiled
from constat.proof.export.document import (
    capital,
    isolated,
    origin_of,
    said_of,
    shortened,
    shortened_lines,
)
from constat.proof.export.drawing import VERDICTS, rows_folded, rows_left
from constat.proof.export.steps import RULE
from constat.proof.levels import level_text
from constat.proof.render import in_words
from constat.proof.sentences import PLAIN

if TYPE_CHECKING:
    from constat.proof.export.account import Account
    from constat.proof.sentences import Speech
    from constat.proof.whynot import Attempt

# What begins markup anywhere, what links, mentions and HTML are made of, and what begins a block.
# A star between blanks marks nothing: `1700.0 * 0.35` stays as it is.
_MARKUP: Final = re.compile(r"([\\`_\[\]{}|~^=$]|(?<! )\*|\*(?! ))")
_CODED: Final = re.compile(r"[&<>@#]|(?<=[A-Za-z]):(?=/)|(?<=www)\.")
_BLOCK: Final = re.compile(r"\A[-+ ]|\A[0-9]{1,9}(?=[.)](?:\s|\Z))")
_FENCE: Final = re.compile(r"`+")


@reading_certificate()
def to_markdown(certificate: bytes, speech: Speech = PLAIN) -> str:
    """Return the proof as Markdown in a language; ``ValueError`` for what is no certificate."""
    account = account_of(certificate, speech)
    parts = (
        _head(account),
        _whose(account),
        _undecided(account),
        _changes(account),
        _rests(account),
        _steps(account),
        _rules(account),
    )
    identity = speech.say(
        "Proof {0}. Check the certificate with `constat verify`.",
        "Beweis {0}. Die Bescheinigung prüft `constat verify`.",
        _code(account.document.identity),
    )
    return "\n\n".join([*(part for part in parts if part), identity]) + "\n"


def escaped(data: str) -> str:
    """Return data as text of Markdown, wherever in a line it stands."""
    marked = _MARKUP.sub(r"\\\1", isolated(shortened(data)))
    coded = _CODED.sub(lambda found: f"&#{ord(found.group())};", marked)
    return _BLOCK.sub(lambda found: f"&#{ord(found.group()[0])};{found.group()[1:]}", coded)


def _prose(data: str) -> str:
    """Return data as text of Markdown, with code where it has backticks."""
    parts = enumerate(shortened(data).split("`"))
    told = (_code(one) if place % 2 else escaped(one) for place, one in parts if one)
    return "".join(told)


def _code(data: str) -> str:
    """Return data as code: between more backticks than it holds."""
    data = isolated(shortened(data))
    fence = "`" * (max(map(len, _FENCE.findall(data)), default=0) + 1)
    pad = " " if data.startswith("`") or data.endswith("`") else ""
    return f"{fence}{pad}{data}{pad}{fence}"


def _head(account: Account) -> str:
    header, speech = account.document.header, account.document.speech
    say, engine = speech.say, escaped(account.document.record["engine"])
    verdict = header["verdict"].replace("_", " ")
    if speech.german:
        verdict = VERDICTS[header["verdict"]].german
    lines = [
        f"# {escaped(account.headline)}",
        "",
        f"**{verdict}**. {say('Question', 'Frage')}: {escaped(account.question)}",
        "",
        say(
            "- Decided on: {0} by {1}",
            "- Entschieden am: {0} von {1}",
            _moment(account.document.record["created"], speech),
            engine,
        ),
    ]
    if header["as_of"]:
        recorded = say("Facts as recorded on", "Tatsachen, verzeichnet am")
        lines.append(f"- {recorded}: {_moment(header['as_of'], speech)}")
    if header.get("asked_by"):
        lines.append(f"- {say('Asked by', 'Gefragt von')}: {escaped(header['asked_by'])}")
    lines.append(f"- {say('Goal', 'Ziel')}: {_code(account.document.goal())}")
    return "\n".join([*lines, *_trusted(account)])


def _trusted(account: Account) -> list[str]:
    """Say how certain it is, on which assumptions, and who says otherwise."""
    header, say = account.document.header, account.document.speech.say
    lines = []
    # That everything is certain needs no words.
    if header["verdict"] != "UNRESOLVED" and header["confidence"] != "1":
        least = "" if header["search"] == "exhausted" else say("at least ", "mindestens ")
        lines.append(
            say(
                "- How certain: {0}{1}, where 1 is certain: as the least certain word it rests "
                "on, no probability",
                "- Wie sicher: {0}{1}, wobei 1 sicher ist: wie das unsicherste Wort, auf dem es "
                "beruht, keine Wahrscheinlichkeit",
                least,
                header["confidence"],
            )
        )
    taken = header["under"]
    none = say("- Assumptions: none", "- Annahmen: keine")
    lines.append(say("- Assumptions:", "- Annahmen:") if taken else none)
    lines += [
        say(
            "  - {0} (confidence {1})",
            "  - {0} (Sicherheit {1})",
            escaped(account.document.assumption(one)),
            escaped(account.document.assumptions[one]["confidence"]),
        )
        for one in taken
    ]
    if account.document.conflicts:
        lines.append(say("- Conflicts:", "- Widersprüche:"))
        lines += [f"  - {escaped(one)}" for one in account.document.conflicts]
    return lines


def _whose(account: Account) -> str:
    """Say of each rule that it rests on whose it is and who approved it, or that nobody did."""
    document, speech = account.document, account.document.speech
    say = speech.say
    lines = []
    for place in account.rests_on():
        rule = document.rules[place]
        told = [
            f"{did} {escaped(rule[name])}"
            for name, did in (
                ("version", say("version", "Fassung")),
                ("author", say("written by", "geschrieben von")),
                ("owner", say("owned by", "verantwortet von")),
            )
            if rule.get(name)
        ]
        digest = document.rule_digests[place]
        given = [one for one in document.header["approvals"] if one["rule"] == digest]
        told += [
            say(
                "approved by {0} on {1}",
                "gebilligt von {0} am {1}",
                escaped(one["by"]),
                _moment(one["at"], speech),
            )
            for one in given
        ]
        nobody = say("**nobody approved this rule**", "**niemand hat diese Regel gebilligt**")
        told += [] if given else [nobody]
        cites = document.program.rules[place].attributes.get("cites")
        told += [f"{say('cites', 'nennt als Quelle:')} {escaped(cites)}"] if cites else []
        lines.append(f"- {escaped(rule['id'])}: {', '.join(told)}")
    title = say("## By whose rule", "## Nach wessen Regel")
    return "\n".join([title, "", *lines]) if lines else ""


def _moment(time: str, speech: Speech) -> str:
    """Return a time: in English as certificates have it."""
    return escaped(speech.moment(time) if speech.german else time)


def _changes(account: Account) -> str:
    """List the changes that were tried when it was decided; they are no part of the proof."""
    said = [f"- {escaped(capital(one['text']))}." for one in account.document.changes]
    if not said:
        return ""
    speech = account.document.speech
    title = speech.say("## What would change it", "## Was es ändern würde")
    return "\n".join([title, "", changes_tried(speech, len(said)), "", *said])


def _rests(account: Account) -> str:
    """List the sources, each with query, rows and time."""
    document, speech = account.document, account.document.speech
    lines = []
    for place, source in enumerate(document.sources):
        time = document.record["executed"][place]
        when = speech.say(", read {0}", ", gelesen am {0}", _moment(time or "", speech))
        who = f", {escaped(said_of(source, speech))}"
        query = " ".join((source["query"] or "").split())
        asked = f": {_code(shortened(query, 300))}" if query else ""
        kind = escaped(origin_of(source, speech))
        name, rows = (
            escaped(source["name"] or source["tier"]),
            speech.counted(source["rows"], "row"),
        )
        told = f"{who if source['author'] else ''}{when if time else ''}{asked}"
        lines.append(f"{place}. {name} ({kind}), {rows}{told}")
    title = speech.say("## Rests on", "## Worauf es beruht")
    return "\n".join([title, "", *lines]) if lines else ""


def _undecided(account: Account) -> str:
    """Say what is missing, and how far each rule gets."""
    lines: list[str] = []
    speech = account.document.speech
    if account.gaps:
        lines += [speech.say("## Missing", "## Was fehlt"), ""]
        for gap in account.gaps:
            reasons = "; ".join(map(_prose, gap.reasons))
            said = f"- {escaped(capital(gap.words))} ({_code(gap.goal)})"
            lines.append(f"{said}{f': {reasons}' if reasons else ''}")
    if account.reasons:
        title = speech.say("## Principal reasons", "## Hauptgründe")
        lines += [*([""] if lines else []), title, ""]
        lines += [
            f"{number}. {escaped(one.code)}: {escaped(one.text)}"
            for number, one in enumerate(account.reasons[:MOST_REASONS], start=1)
        ]
        more = len(account.reasons) - MOST_REASONS
        left = speech.say("and {0}", "und {0}", speech.counted(more, "more reason"))
        lines += [f"\n{left}"] if more > 0 else []
    if account.veiled:
        lines += ["", escaped(of_veiled(account.veiled, speech))]
    if account.attempts:
        title = speech.say("## How far each rule gets", "## Wie weit jede Regel kommt")
        lines += [*([""] if lines else []), title, ""]
    return "\n".join([*lines, *(_attempted(one, account) for one in account.attempts)])


def _attempted(attempt: Attempt, account: Account) -> str:
    """Say how far a rule gets."""
    speech = account.document.speech
    stopped = speech.say(", stopped at {0}", ", endet bei {0}", _code(attempt.literal or ""))
    stopped = stopped if attempt.literal else ""
    reason = f": {escaped(attempt.sentence)}" if attempt.sentence else stopped
    actual, required = escaped(attempt.actual), escaped(in_words(attempt.required, speech))
    english, german = " ({0} where {1} is needed)", " ({0}, nötig ist {1})"
    off = speech.say(english, german, actual, required)
    needed = off if attempt.actual and attempt.distance else ""
    left = speech.counted(len(attempt.untried), "more condition")
    behind = speech.say("; not tried: {0}", "; nicht angesehen: {0}", left)
    behind = behind if attempt.untried else ""
    state = speech.said(ATTEMPTED[became(account.document, attempt)])
    return f"- {escaped(attempt.rule)} {state}{reason}{needed}{behind}"


def _steps(account: Account) -> str:
    """Number the steps from the answer down."""
    folded, speech = rows_folded(account), account.document.speech
    left_out = rows_left(account, folded)
    lines = []
    for place in account.order:
        if place in folded:
            continue
        step = account.steps[place]
        below = [account.numbers[one.step] for one in step.premises if one.step not in folded]
        more = left_out.get(place)
        parts = [f"{account.numbers[place]}. {escaped(step.sentence)}", *_why(account, place)]
        if below:
            numbers = ", ".join(map(str, below))
            parts.append(speech.say("rests on {0}", "beruht auf {0}", numbers))
        if more:
            parts.append(speech.say("and {0}", "und {0}", more))
        lines.append("; ".join(parts) + ".")
    return "\n".join([speech.say("## Steps", "## Schritte"), "", *lines]) if lines else ""


def _why(account: Account, place: int) -> list[str]:
    step, speech = account.steps[place], account.document.speech
    found = []
    if step.kind == RULE and step.rule is not None:
        rule, why = escaped(account.document.rules[step.rule]["id"]), escaped(step.reasoning)
        found.append(speech.say("by rule {0}, because {1}", "nach Regel {0}, denn {1}", rule, why))
        found += [escaped(one.sentence) for one in account.tests(step)]
    elif step.sources:
        numbers = ", ".join(map(str, step.sources))
        found.append(speech.say("from source {0}", "aus Quelle {0}", numbers))
    if step.level:
        level = level_text(step.level, speech)
        found.append(speech.say("completeness {0}", "Vollständigkeit {0}", level))
    taken = (account.document.assumption(one) for one in account.taken[place])
    assumed = speech.say("assumed", "angenommen")
    found += [f"**{assumed}**: {escaped(one)}" for one in taken]
    return found


def _rules(account: Account) -> str:
    """Print the rules that it rests on, from what a checker checks."""
    used = account.rests_on()
    if not used:
        return ""
    shown = "\n\n".join(shortened_lines(account.document.rule_texts[place]) for place in used)
    fence = "`" * max(3, max(map(len, _FENCE.findall(shown)), default=0) + 1)
    title = account.document.speech.say("## Rules", "## Regeln")
    return f"{title}\n\n{fence}prolog\n{shown}\n{fence}"
