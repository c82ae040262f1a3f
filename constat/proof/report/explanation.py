"""The first screen of a report, and the outline of sentences below it."""

from __future__ import annotations

import json
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import Aggregate, Comparison, Constant, Kind, Negative, Positive, Spoken
from constat.proof.decoding import decode_row
from constat.proof.export.account import by_change, changes_tried
from constat.proof.export.denial import (
    ATTEMPTED,
    MOST_REASONS,
    became,
    decisive,
    followed,
    of_veiled,
)
from constat.proof.export.document import capital, own_words, shortened
from constat.proof.export.drawing import VERDICTS, rows_folded, rows_left
from constat.proof.export.steps import ABSENCE, CLOSURE, FACT, ROW, RULE
from constat.proof.levels import LEVELS
from constat.proof.render import in_words
from constat.proof.report.markup import (
    assumption_link,
    checked_by,
    code,
    kinds,
    level_of,
    listed,
    moment,
    prose,
    rule_name,
    said_of_approval,
    source_said,
    step_link,
    text,
)
from constat.proof.sentences import RuleWords, describe_fact, say_possible
from constat.proof.written import written_body

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from constat.logic import Literal
    from constat.proof.export.account import Account
    from constat.proof.export.denial import Path
    from constat.proof.export.document import Document
    from constat.proof.export.steps import Step
    from constat.proof.sentences import Speech
    from constat.proof.whynot import Attempt

# What was decided, when, on whose question, why, by whose rule and who approved it, and what would
# change it stand first; then assumptions, sources with their times, conflicts, and whether the page
# has verified itself.  A verdict has no colour of approval or alarm: a refusal is proved, too.

LABELS: Final = MappingProxyType(
    {
        "PROVED": ("settled", "●"),
        "PROVED_UNDER": ("warn", "▲"),
        "DISPROVED": ("settled", "○"),
        "DISPROVED_UNDER": ("warn", "▲"),
        "UNRESOLVED": ("open", "?"),
    }
)
_MEANINGS: Final = MappingProxyType(
    {
        "PROVED": Spoken(
            "It follows from the rules and from what the sources say.",
            "Es folgt aus den Regeln und aus dem, was die Quellen sagen.",
        ),
        "PROVED_UNDER": Spoken(
            "It follows if the assumptions below are accepted, and not without them.",
            "Es folgt, wenn man die Annahmen unten gelten lässt, und ohne sie nicht.",
        ),
        "DISPROVED": Spoken(
            "By the rules and what the sources say it does not hold.",
            "Nach den Regeln und dem, was die Quellen sagen, trifft es nicht zu.",
        ),
        "DISPROVED_UNDER": Spoken(
            "If the assumptions below are accepted, it does not hold.",
            "Wenn man die Annahmen unten gelten lässt, trifft es nicht zu.",
        ),
        "UNRESOLVED": Spoken(
            "Neither yes nor no follows: something that matters is not known.",
            "Weder Ja noch Nein folgt: etwas, worauf es ankommt, ist nicht bekannt.",
        ),
    }
)
_MOST_ASKED: Final = 12
_MOST_WEAK: Final = 5
_MOST_CONFLICTS: Final = 8
_MOST_LISTED: Final = 6
_MOST_FOLDED: Final = 40
_MOST_OPEN: Final = 8
_MOST_WHY: Final = 3
"""So many rules are told open where more than those that give the goal may decide."""
_MOST_FACTS: Final = 4
_MOST_ENDS: Final = 4
_MOST_DAYS: Final = 3


def opening(account: Account, *, paper: bool = False) -> str:
    """Return the first screen; on paper it says how to verify, for nothing runs there."""
    verdict, say = account.document.header["verdict"], account.document.speech.say
    tone, sign = LABELS.get(verdict, ("open", "?"))
    meaning = account.document.speech.said(_MEANINGS[verdict]) if verdict in _MEANINGS else ""
    decisive_ones = "" if account.reasons or account.veiled else _decisive(account)
    wide = (
        (say("Principal reasons", "Hauptgründe"), _reasons(account)),
        (say("What decides it", "Was es entscheidet"), decisive_ones),
        (say("Why", "Warum"), _why(account)),
        (say("What is counted", "Was gezählt wird"), _folded(account)),
        (say("What is missing", "Was fehlt"), _lacking(account)),
        (say("What would decide it", "Was es entscheiden würde"), _deciding(account)),
        (say("What would change it", "Was es ändern würde"), _changing(account)),
        (say("By whose rule", "Nach wessen Regel"), _ruled(account)),
    )
    others = (
        (say("How certain", "Wie sicher"), _confidence(account)),
        (say("Assumptions", "Annahmen"), _assumptions(account)),
        (say("Conflicts", "Widersprüche"), _conflicts(account)),
        (say("Rests on", "Worauf es beruht"), _sources(account)),
        (say("Verification", "Prüfung"), _state(account.document.speech, paper=paper)),
    )
    facts = "".join(
        f"<div{' class=wide' if listed_in is wide else ''}><dt>{name}</dt><dd>{said}</dd></div>"
        for listed_in in (wide, others)
        for name, said in listed_in
        if said
    )
    return (
        f'<section class="opening {tone}" aria-labelledby="question">'
        f'<p class="eyebrow">{say("Question", "Frage")}</p>'
        f'<p class="asked">{text(capital(account.question))}</p>'
        f'<h1 id="question">{text(account.headline)}</h1><p class="effective">{_for(account)}</p>'
        f'<p class="verdict"><span class="badge"><span aria-hidden="true">{sign}</span> '
        f"{verdict_label(account)}</span> <strong>{_approved(account)}</strong> "
        f"<span>{meaning}</span></p>{_when(account)}"
        f'<dl class="facts">{facts}</dl></section>'
    )


def verdict_label(account: Account) -> str:
    """Return the verdict as a page shows it."""
    spoken = VERDICTS.get(account.document.header["verdict"])
    return account.document.speech.said(spoken) if spoken else "UNKNOWN"


def _for(account: Account) -> str:
    """Say for which day the headline holds: that of the configuration, else that of the answer."""
    speech = account.document.speech
    day = text(speech.value(account.document.record["created"][:10], Kind.DATE))
    day = speech.say("Decided on {0}", "Entschieden am {0}", day)
    days = "; ".join(map(text, _days(account)))
    counting = speech.say(", counted for: {0}", ", gerechnet für: {0}", days)
    return f"{day}{counting}." if days else f"{day}."


def _approved(account: Account) -> str:
    """Say beside the verdict whether anybody approved the rules that it follows from."""
    document = account.document
    places = [at for at, rule in enumerate(document.rules) if rule["body"]]
    places = [one for one in places if _is_written(document, one)]
    given = {one["rule"] for one in document.header["approvals"]}
    lacking = sum(document.rule_digests[one] not in given for one in places)
    say, number = document.speech.say, document.speech.number
    if not lacking:
        return say("By approved rules.", "Nach gebilligten Regeln.") if places else ""
    if len(places) == 1:
        return say("Nobody approved the rule.", "Niemand hat die Regel gebilligt.")
    if lacking == len(places):
        return say("Nobody approved any of the rules.", "Niemand hat eine der Regeln gebilligt.")
    return say(
        "Nobody approved {0} of the {1} rules.",
        "{0} der {1} Regeln hat niemand gebilligt.",
        number(lacking),
        number(len(places)),
    )


def _when(account: Account) -> str:
    """Say when it was decided and of when its facts are, and who asked."""
    document, say = account.document, account.document.speech.say
    engine, created = text(document.record["engine"]), _time(account, document.record["created"])
    said = [say("Written on {0} by {1}.", "Geschrieben am {0} von {1}.", created, engine)]
    as_of = document.header["as_of"]
    if as_of:
        said.append(
            say(
                "The facts are those that were recorded on {0}.",
                "Die Tatsachen sind die, die am {0} verzeichnet waren.",
                _time(account, as_of),
            )
        )
    who, entry = document.header.get("asked_by"), document.header["decision"]
    if who:
        place = text(own_words(entry or "", document.speech))
        log = say(" (log of decisions: {0})", " (Protokoll der Entscheidungen: {0})", place)
        said.append(say("Asked by {0}{1}.", "Gefragt von {0}{1}.", text(who), log if entry else ""))
    return f'<p class="quiet">{" ".join(said)}</p>'


def _days(account: Account) -> list[str]:
    """Say which days of the configuration the rules use: those for which the answer holds."""
    document = account.document
    predicates = document.program.program.predicates
    found: dict[str, None] = {}
    for number, group in enumerate(document.facts):
        declared = predicates[group["predicate"]]
        days = [one.kind for one in declared.columns] == [Kind.DATE]
        if days and document.sources[group["source"]]["origin"] == "CONFIG":
            for row in document.rows(number):
                said = describe_fact(declared, decode_row(row, declared.kinds), document.speech)
                found[shortened(said)] = None
    return list(found)[:_MOST_DAYS]


def _folded(account: Account) -> str:
    """Say of sums and counts which entries they take, and name those that they leave out."""
    items = []
    speech = account.document.speech
    for one in account.folds(_MOST_LISTED):
        if not one.where and not one.left:
            continue
        entries = _entries(speech, one.counted)
        told = text(capital(one.sentence))
        said = speech.say("{0}, from {1}.", "{0}, aus {1}.", told, entries)
        if one.where:
            where = text("; ".join(one.where))
            english, german = (
                " Only those count for which {0}.",
                " Nur die zählen, für die gilt: {0}.",
            )
            said += speech.say(english, german, where)
        if one.left:
            more = len(one.left) - _MOST_FACTS
            rest = f"; {_and_more(speech, more)}" if more > 0 else ""
            title = speech.say("Left out:", "Nicht gezählt:")
            said += f" <strong>{title}</strong> {text('; '.join(one.left[:_MOST_FACTS]))}{rest}."
        items.append(said)
    sums = speech.say("sums", "Summen")
    return _short_list(account, list(dict.fromkeys(items)), sums)


def _entries(speech: Speech, count: int) -> str:
    """Say how many entries are folded."""
    if speech.german:
        return "einem Eintrag" if count == 1 else f"{speech.number(count)} Einträgen"
    return "1 entry" if count == 1 else f"{count:,} entries"


def _and_more(speech: Speech, more: int) -> str:
    return speech.say("and {0} more", "und {0} weitere", speech.number(more))


def _decisive(account: Account) -> str:
    """Say of what is not so what decides it: down to the row or the number that fails."""
    if not account.document.header["verdict"].startswith("DISPROVED"):
        return ""
    said = decisive(account.denial)
    # A rule for structures of another form decides nothing where a rule for this form fails.
    said = tuple(one for one in said if " not of the form " not in one) or said
    named = account.document.speech.say("rules", "Regeln")
    return _short_list(account, [f"{text(capital(one))}." for one in said], named)


def _why(account: Account) -> str:
    """Say of an answer by which words of a rule it holds, and on which comparisons."""
    items = []
    for root in account.roots[:_MOST_LISTED]:
        for place in _chain(account, root):
            step = account.steps[place]
            # What the rule of a goal of several literals says is the headline.
            ours = step.rule is not None and not _is_written(account.document, step.rule)
            if step.reasoning and not ours:
                items.append(f"{text(capital(step.reasoning))}.")
            told = f"{step.reasoning}, "
            items += [
                f"{text(capital(one.sentence))}."
                for one in account.tests(step)
                if f"{one.sentence}, " not in told and not one.turned
            ]
    sentences = account.document.speech.say("sentences", "Sätze")
    return _short_list(account, list(dict.fromkeys(items)), sentences)


def _changing(account: Account) -> str:
    """Say what fails of each rule that could give the goal: all of it would have to be otherwise.

    Of what holds, the comparisons by which it does and how far they are from turning, what is not
    there, and the facts of sources under it.
    """
    verdict, say = account.document.header["verdict"], account.document.speech.say
    if verdict.startswith("PROVED"):
        turning = [*_turning(account, account.roots[:1]), *_computed(account)]
        conditions = say("conditions", "Bedingungen")
        told = _short_list(account, [f"{capital(one)}." for one in turning], conditions)
        title = say(
            "This proof falls if one of these turns round:",
            "Dieser Beweis fällt, wenn sich eines davon umkehrt:",
        )
        return f"<p>{title}</p>{told}" if told else ""
    if not verdict.startswith("DISPROVED"):
        return ""
    items = []
    for path in account.denial[0].paths if account.denial else ():
        lacks = list(_lacks(account, path))
        if path.attempt.state == "failed" and lacks:
            name = rule_name(path.attempt.rule, account.document.speech)
            each = "".join(f"<li>{capital(one)}" for one in lacks)
            items.append(
                say(
                    "Rule {0} fails on this: {1}", "Regel {0} scheitert hieran: {1}", name, lacks[0]
                )
                if len(lacks) == 1
                else say(
                    "Rule {0} fails on each of these {1}:",
                    "Regel {0} scheitert an jedem dieser {1} Punkte:",
                    name,
                    str(len(lacks)),
                )
                + f"<ul>{each}</ul>"
            )
    return _short_list(account, items, say("rules", "Regeln")) + _tried(account)


def _computed(account: Account) -> list[str]:
    """Say that numbers of the answer that are computed change before a comparison turns."""
    predicate = account.document.header["goal"][0]
    kinds = account.document.program.program.predicates[predicate].kinds
    computed = any(not one.turned for one in account.tests(account.steps[account.roots[0]]))
    if not computed or not any(one.numeric for one in kinds):
        return []
    return [
        account.document.speech.say(
            "numbers of the answer are computed: they change with each number that they rest on",
            "Zahlen der Antwort sind berechnet: sie ändern sich mit jeder, auf der sie beruhen",
        )
    ]


def _lacks(account: Account, path: Path) -> Iterator[str]:
    """Say what a rule lacks, by how much, and what that rests on in its turn."""
    ends = [] if path.below is None else _ends(account, path.below)
    say = account.document.speech.say
    for place, (sentence, operator, apart) in enumerate(path.lacks):
        said = f"{_lacked(account, sentence, operator, apart)}."
        there = [n for n, one in enumerate(account.steps) if one.sentence == sentence and one.rule]
        turning = _turning(account, there[:1]) if there else []
        if turning:
            falls = "That falls if one of these turns round:"
            said += f" {say(falls, 'Das fällt, wenn sich eines davon umkehrt:')}{_points(turning)}"
        elif ends and place == 0:
            said += f" {say('That comes down to:', 'Das läuft hinaus auf:')}{_points(ends)}"
        yield said


def _lacked(account: Account, sentence: str, operator: str, apart: str) -> str:
    """Say what is not so, and which change would do."""
    speech = account.document.speech
    change = by_change(operator, apart, speech)
    would = speech.say(" ({0} would do)", " ({0} würde genügen)", text(change)) if change else ""
    return f"{text(sentence)}{would}"


def _points(said: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{capital(one)}.' for one in said[:_MOST_ENDS])}</ul>"


def _ends(account: Account, place: int) -> list[str]:
    """Say at what the ways to a conclusion end, and by how much."""
    found: dict[str, None] = {}
    waiting, met = [place], {place}
    while waiting:
        for path in account.denial[waiting.pop(0)].paths:
            if path.below is not None and account.denial[path.below].paths:
                waiting += [] if path.below in met else [path.below]
                met.add(path.below)
                continue
            for sentence, operator, apart in path.lacks[:1]:
                found[_lacked(account, sentence, operator, apart)] = None
    return list(found)


def _turning(account: Account, roots: Sequence[int]) -> list[str]:
    """Say on which comparisons, absences and facts of sources steps rest, the nearest first."""
    compared: dict[str, None] = {}
    absent: dict[str, None] = {}
    facts: dict[str, None] = {}
    speech = account.document.speech
    waiting, met = list(roots), set(roots)
    while waiting:
        place = waiting.pop(0)
        step = account.steps[place]
        for one in account.tests(step):
            if one.turned:
                said, turned = text(one.sentence), text(one.turned)
                compared[
                    speech.say("{0}: {1} turns it", "{0}: {1}, und es kippt", said, turned)
                ] = None
        if step.kind == ABSENCE:
            why = _not_there(account, place)[:1]
            absent["".join([text(step.sentence), *(f": {text(one)}" for one in why)])] = None
        elif step.kind in {FACT, ROW} and not _is_configured(account, step):
            facts[text(step.sentence)] = None
        # What a closed set rests on is all there is.
        below = [one.step for one in step.premises if one.step not in met]
        waiting += [] if step.kind == ABSENCE else below
        met.update(below)
    few = list(facts)[:_MOST_FACTS]
    left = speech.counted(len(facts) - len(few), "more fact")
    more = speech.say("; and {0}", "; und {0}", left) if len(facts) > len(few) else ""
    told = f"{'; '.join(few)}{more}"
    named = (
        [speech.say("what the sources say: {0}", "was die Quellen sagen: {0}", told)] if few else []
    )
    room = _MOST_LISTED - len(named)
    every = [*list(compared)[: room - min(len(absent), 2)], *absent]
    return [*every[:room], *named]


def _not_there(account: Account, place: int) -> list[str]:
    """Say at what the rules fail that could give what an answer needs to be absent."""
    said = decisive(dict(account.absences).get(place, ()))
    return [one for one in said if one != account.steps[place].sentence]


def _is_configured(account: Account, step: Step) -> bool:
    sources = account.document.sources
    return all(sources[one]["origin"] == "CONFIG" for one in step.sources)


def _tried(account: Account) -> str:
    """List the changes that were tried when it was decided; they are no part of the proof."""
    said = [f"{text(capital(one['text']))}." for one in account.document.changes]
    if not said:
        return ""
    speech = account.document.speech
    title = changes_tried(speech, len(said))
    return f"<p>{title}</p>{_short_list(account, said, speech.say('changes', 'Änderungen'))}"


def _chain(account: Account, root: int) -> list[int]:
    """Go from a step down as long as all it rests on is one conclusion of another rule."""
    found = [root]
    while True:
        step = account.steps[found[-1]]
        below = step.premises
        if step.rule is None or len(below) != 1 or account.tests(step):
            return found
        rule = account.steps[below[0].step].rule
        negative = below[0].place and isinstance(
            account.document.program.rules[step.rule].body[below[0].place - 1], Negative
        )
        if rule is None or negative:
            return found
        found.append(below[0].step)


def _deciding(account: Account) -> str:
    """Say of an open question what has to hold of what is missing, rule by rule."""
    if account.document.header["verdict"] != "UNRESOLVED" or not account.denial:
        return ""
    speech = account.document.speech
    begin = say_possible(["\0"], speech).partition("\0")[0]
    items = [
        speech.say(
            "Rule {0} gives it if {1}.",
            "Regel {0} ergibt es, wenn gilt: {1}.",
            rule_name(path.attempt.rule, speech),
            text(path.attempt.sentence.removeprefix(begin)),
        )
        for path in account.denial[0].paths
        if path.attempt.state == "open" and path.attempt.sentence
    ]
    return _short_list(account, items, speech.say("rules", "Regeln"))


def _ruled(account: Account) -> str:
    """Say by which rules it is so: whose they are, who approved them, their words, what they ask.

    Those that decide stand first, and the rules that these rest on are folded.
    """
    document = account.document
    used = sorted({step.rule for step in account.steps if step.rule is not None})
    # What a rule file states is told where it is used.
    used = [place for place in used if document.rules[place]["body"]] or used
    # Of what is not so every rule below it is a way that was followed: one of them decides.
    with_body = [place for place, rule in enumerate(document.rules) if rule["body"]]
    behind = _behind_absences(account)
    absent = [one for one in with_body if document.rules[one]["id"] in behind]
    places = with_body if account.denial or not used else sorted({*used, *absent})
    places = [place for place in places if _is_written(document, place)]
    first = [place for place in _deciding_rules(account) if place in places] or places
    # Of those below, what compares, excludes or counts may decide as well.
    numbers: dict[int, int] = {}
    for number, step in zip(account.numbers, account.steps, strict=True):
        if step.rule is not None:
            numbers[step.rule] = min(number, numbers.get(step.rule, number))
    tried = {path.attempt.rule for one in account.denial for path in one.paths}
    tried |= set(_behind_absences(account))
    below_them = [
        place
        for place in places
        if place not in first
        and _decides(document, place)
        and (place in numbers or document.rules[place]["id"] in tried)
    ]
    # A rule whose words are not what it requires comes before all others.
    unlike = {place for place in below_them if _contradicted(document, place)}
    last = len(account.numbers)
    below_them.sort(key=lambda place: (place not in unlike, numbers.get(place, last)))
    first += below_them[: max(len(unlike), _MOST_OPEN - len(first))]
    items = [_rule_said(account, place) for place in first]
    rest = [place for place in places if place not in first]
    first_rules = f"<ul>{''.join(f'<li>{one}' for one in items)}</ul>" if items else ""
    return first_rules + (_rest_of_rules(account, rest) if rest else "")


def _rest_of_rules(account: Account, rest: Sequence[int]) -> str:
    """Fold the rules that those that decide rest on."""
    document, speech = account.document, account.document.speech
    below = "".join(f"<li>{_rule_said(account, place)}" for place in rest[:_MOST_FOLDED])
    if len(rest) > _MOST_FOLDED:
        left = speech.number(len(rest) - _MOST_FOLDED)
        below += speech.say(
            "<li>and {0} more rules, in the audit",
            "<li>und {0} weitere Regeln, in der Prüfspur",
            left,
        )
    more = speech.counted(len(rest), "more rule")
    more = speech.say("{0} it rests on.", "{0}, auf denen es beruht.", more)
    more = more.replace("denen", "der") if speech.german and len(rest) == 1 else more
    more = f"{more} {_approved_in_all(document, rest)}"
    return f"<details><summary>{more}</summary><ul>{below}</ul></details>"


def _behind_absences(account: Account) -> frozenset[str]:
    """Name the rules that could give what an answer needs to be absent."""
    return frozenset(
        path.attempt.rule
        for _, conclusions in account.absences
        for one in conclusions
        for path in one.paths
    )


def _deciding_rules(account: Account) -> list[int]:
    """Return the rules that give the goal or could: below those that are ours, not written."""
    document, steps = account.document, account.steps
    found: dict[int, None] = {}
    waiting, met = list(account.roots), set(account.roots)
    while waiting:
        step = steps[waiting.pop(0)]
        if step.rule is not None and _is_written(document, step.rule):
            found[step.rule] = None
        elif step.rule is not None:
            below = [one.step for one in step.premises if one.step not in met]
            waiting += below
            met.update(below)
    numbers: dict[str, int] = {}
    for place, rule in enumerate(document.rules):
        numbers.setdefault(rule["id"], place)
    for one in account.denial:
        # The goal stands first; where its rules are ours, those below it are what somebody wrote.
        for path in one.paths if not found else ():
            place = numbers.get(path.attempt.rule, -1)
            if place >= 0 and _is_written(document, place):
                found[place] = None
    return list(found)


def _approved_in_all(document: Document, places: Sequence[int]) -> str:
    """Say how many of some rules nobody approved."""
    given = {one["rule"] for one in document.header["approvals"]}
    lacking = sum(1 for place in places if document.rule_digests[place] not in given)
    say = document.speech.say
    if not lacking:
        several = say("Each of them is approved.", "Jede davon ist gebilligt.")
        return several if len(places) > 1 else say("It is approved.", "Sie ist gebilligt.")
    if len(places) == 1:
        return say("Nobody approved it.", "Niemand hat sie gebilligt.")
    if lacking == len(places):
        return say("Nobody approved any of them.", "Niemand hat eine davon gebilligt.")
    return say(
        "Nobody approved {0} of them.",
        "{0} davon hat niemand gebilligt.",
        document.speech.number(lacking),
    )


def _tried_here(account: Account, place: int) -> Path | None:
    """Return how far a rule got of which no step is, where it bound any value."""
    paths = (path for one in account.denial for path in one.paths)
    rule = account.document.rules[place]["id"]
    found = next((one for one in paths if one.attempt.rule == rule and one.values), None)
    return found or followed(account.document, account.lookups, place)


def _asked_here(path: Path, says: str, speech: Speech) -> str:
    """Say in a rule's words what it asks of this case, and that what it requires is not so."""
    words = speech.say(
        "What it asks here, in its words: “{0}.”",
        "Was sie hier fragt, in ihren Worten: „{0}.“",
        text(capital(says)),
    )
    if path.attempt.state != "failed":
        return words
    not_so = speech.say("What it requires does not hold.", "Was sie verlangt, trifft nicht zu.")
    return f"{words} {not_so}"


def _rule_said(account: Account, place: int) -> str:
    """Say of a rule who wrote, owns and approved it, then its words beside what it requires."""
    document = account.document
    say = document.speech.say
    rule = document.program.rules[place]
    told = RuleWords.of(rule, document.program.program.predicates, document.speech)
    says = told.says()
    # Where the proof applies it, what it says of this case; its conditions are told for every case.
    here = next((one.reasoning for one in account.steps if one.rule == place), "") if says else ""
    path = _tried_here(account, place) if says and not here else None
    if here:
        words = say("In its words, here: “{0}.”", "Ihre Worte hier: „{0}.“", text(capital(here)))
    elif path is not None:
        words = _asked_here(path, told.says(path.values), document.speech)
    elif says:
        words = say("In its words: “{0}.”", "In ihren Worten: „{0}.“", text(capital(says)))
    else:
        words = say("It has no words of its own.", "Sie hat keine eigenen Worte.")
    body = [one.literal for one in written_body(rule.body)]
    # Whoever looks a value up asks nothing; a rule that asks nothing else says what it looks up.
    asking = [one for one in body if _asks(document, one)] or body
    asked = [text(said) for one in asking if (said := told.requires(one))]
    more = len(asked) - _MOST_ASKED
    left = document.speech.counted(more, "more condition")
    rest = say("; and {0}", "; und {0}", left) if more > 0 else ""
    needs = "; ".join(asked[:_MOST_ASKED]) + rest
    needs = say("It requires that {0}.", "Sie verlangt, dass gilt: {0}.", needs) if asked else ""
    if asked == [text(says)]:
        needs = say("It requires just that.", "Sie verlangt eben das.")
    needs = f"<p>{needs}</p>" if needs else ""
    cites = text(rule.attributes.get("cites", ""))
    source = f"<p>{say('It cites {0}.', 'Als Quelle nennt sie: {0}.', cites)}</p>" if cites else ""
    approval = capital(said_of_approval(document, place))
    approved = f" <b>{approval}.</b>" if approval else ""
    title = f'<a href="#r{place}">{rule_name(rule.id, document.speech)}</a>'
    return (
        f"{say('Rule {0}', 'Regel {0}', title)}{_whose(document, place)}.{approved}"
        f"<p>{words}</p>{needs}{_unlike(told, document.speech)}{source}"
    )


def _whose(document: Document, place: int) -> str:
    """Say which version of a rule it is, and who wrote and owns it."""
    stated, say = document.rules[place], document.speech.say
    version, author, owner = (text(stated.get(one) or "") for one in ("version", "author", "owner"))
    people = [say("written by {0}", "geschrieben von {0}", author)] if author else []
    people += [say("owned by {0}", "verantwortet von {0}", owner)] if owner else []
    nobody = say("by an author it does not name", "von jemandem, den sie nicht nennt")
    told = say(" and ", " und ").join(people) or nobody
    return f"{say(', version {0}', ', Fassung {0}', version) if version else ''}, {told}"


def _unlike(told: RuleWords, speech: Speech) -> str:
    """Say where the words of a rule differ from what it requires; they are read in English."""
    found = [
        speech.say(
            "<strong>Its words and what it requires differ:</strong> the words say “{0}”, and "
            "what is checked is that {1}.",
            "<strong>Ihre Worte und das, was sie verlangt, sind verschieden:</strong> die "
            "englischen Worte sagen „{0}“, und geprüft wird, dass gilt: {1}.",
            text(said),
            text(checked),
        )
        for said, checked in told.contradicted()
    ]
    found += [
        speech.say(
            "<strong>Its words do not say</strong> that only those count for which {0}.",
            "<strong>Ihre Worte sagen nicht,</strong> dass nur die zählen, für die gilt: {0}.",
            text(one),
        )
        for one in told.unsaid()
    ]
    found += [f"{text(capital(one))}." for one in told.unread()]
    denied = told.unchecked()
    if denied:
        found.append(
            speech.say(
                "<strong>Its words say</strong> “{0}”: that something is not so. No condition of "
                "the rule checks that.",
                "<strong>Ihre englischen Worte sagen</strong> „{0}“: dass etwas nicht so ist. "
                "Keine Bedingung der Regel prüft das.",
                text(denied),
            )
        )
    return "".join(f"<p>{one}</p>" for one in found)


def _contradicted(document: Document, place: int) -> bool:
    """Whether the words of a rule say something else than what it requires."""
    told = RuleWords.of(document.program.rules[place], document.program.program.predicates)
    return bool(told.contradicted() or told.unsaid() or told.unchecked())


def _decides(document: Document, place: int) -> bool:
    """Whether a rule compares, excludes or counts, so that it may be what decides."""
    return any(
        isinstance(one.literal, Negative | Aggregate)
        or (isinstance(one.literal, Comparison) and one.literal.operator != "=")
        for one in written_body(document.program.rules[place].body)
    )


def _asks(document: Document, literal: Literal) -> bool:
    """Whether a literal is more than the looking up of a value in a row of a source.

    So is a conclusion, a value that the rule names, `customer_tier(?c, "gold")`, and `member(?c)`.
    """
    if not isinstance(literal, Positive):
        return True
    atom = literal.atom
    derived = bool(document.program.rule_numbers(atom.predicate))
    names = any(isinstance(term, Constant) for term in atom.terms)
    kinds = document.program.program.predicates[atom.predicate].kinds
    return derived or names or (len(kinds) == 1 and not kinds[0].numeric)


def _is_written(document: Document, place: int) -> bool:
    """Tell whether somebody wrote a rule: names with a point are those of projections and goals."""
    return "." not in document.program.rules[place].head.predicate


def _reasons(account: Account) -> str:
    """List the principal reasons, the nearest to holding first."""
    items = [
        f"{text(capital(one.text))}. <small>({text(one.code)})</small>"
        for one in account.reasons[:MOST_REASONS]
    ]
    more, speech = len(account.reasons) - MOST_REASONS, account.document.speech
    rest = speech.say(
        "<p>And {0}, in the explanation.</p>",
        "<p>Und {0}, in der Erklärung.</p>",
        speech.counted(more, "more reason"),
    )
    rest = rest if more > 0 else ""
    veiled = f"<p>{text(of_veiled(account.veiled, speech))}</p>" if account.veiled else ""
    listed_all = f"<ol>{''.join(f'<li>{one}' for one in items)}</ol>" if items else ""
    return f"{listed_all}{rest}{veiled}"


def _lacking(account: Account) -> str:
    """Say what would have to be known, where the question is open, and why it is not."""
    items = []
    for gap in account.gaps:
        why = "; ".join(map(prose, gap.reasons))
        items.append(f"{text(capital(gap.words))}{f': {why}' if why else ''}.")
    return _short_list(account, items, account.document.speech.say("facts", "Tatsachen"))


def _short_list(account: Account, items: list[str], what: str) -> str:
    if not items:
        return ""
    # The line that says that one is left takes as much room as that one.
    shown = len(items) if len(items) == _MOST_LISTED + 1 else _MOST_LISTED
    more = len(items) - shown
    speech = account.document.speech
    rest = speech.say(
        "<li>and {0} more {1}, in the explanation",
        "<li>und {0} weitere {1}, in der Erklärung",
        speech.number(more),
        what,
    )
    rest = rest if more > 0 else ""
    return f"<ul>{''.join(f'<li>{one}' for one in items[:shown])}{rest}</ul>"


def _confidence(account: Account) -> str:
    header = account.document.header
    value = header["confidence"]
    # That everything is certain needs no words.
    if header["verdict"] == "UNRESOLVED" or value == "1":
        return ""
    speech = account.document.speech
    say = speech.say
    least = "" if header["search"] == "exhausted" else say("At least ", "Mindestens ")
    links = _weakest(account)
    steps = listed(links, _MOST_WEAK, speech)
    where = say(" It is that of step {0}.", " Es ist die von Schritt {0}.", steps) if links else ""
    return say(
        "{0}<b>{1}</b>, where 1 is certain. A conclusion is as certain as the least certain word "
        "it rests on; this is no probability.{2}",
        "{0}<b>{1}</b>, wobei 1 sicher ist. Ein Schluss ist so sicher wie das unsicherste Wort, "
        "auf dem er beruht; das ist keine Wahrscheinlichkeit.{2}",
        least,
        text(value),
        where,
    )


def _weakest(account: Account) -> list[str]:
    """Return links to the steps at which the confidence comes in."""
    value = account.document.header["confidence"]
    return [
        step_link(account, place)
        for place in account.order
        if account.steps[place].confidence == value
        and not any(
            account.steps[one.step].confidence == value for one in account.steps[place].premises
        )
    ]


def _assumptions(account: Account) -> str:
    under, speech = account.document.header["under"], account.document.speech
    if not under:
        return speech.say("None.", "Keine.")
    items = "".join(f"<li>{assumption_link(account, place)}" for place in under)
    many = (
        speech.say("this holds", "dies gilt")
        if len(under) == 1
        else speech.say("these {0} hold", "diese {0} gelten", speech.number(len(under)))
    )
    stands = speech.say("The verdict stands if {0}:", "Das Ergebnis gilt, wenn {0}:", many)
    return f"{stands}<ul>{items}</ul>"


def _conflicts(account: Account) -> str:
    """List who says another value for a key, and what counts."""
    told = account.document.conflicts
    items = "".join(f"<li>{text(one)}" for one in told[:_MOST_CONFLICTS])
    more = len(told) - _MOST_CONFLICTS
    rest = f"<li>{_and_more(account.document.speech, more)}" if more > 0 else ""
    return f"<ul>{items}{rest}</ul>" if told else ""


def _sources(account: Account) -> str:
    """List the sources by name, with the time of their last reading."""
    document = account.document
    speech = document.speech
    say = speech.say
    read: dict[str, list[str]] = {}
    for source, time in zip(document.sources, document.record["executed"], strict=True):
        name = source_said(source, speech)
        read.setdefault(name, []).append(time or "")
    items = []
    for name, times in read.items():
        last = _time(account, max(times))
        once = say(", read {0}", ", gelesen am {0}", last)
        again = say(", last read {0}", ", zuletzt gelesen am {0}", last)
        when = (once if len(times) == 1 else again) if last else ""
        items.append(f"<li>{name}: {speech.counted(len(times), 'reading')}{when}")
    if not items:
        return say("Nothing outside: the rules alone.", "Auf nichts von außen: allein auf Regeln.")
    several = document.header["snapshot"] == "not one snapshot"
    note = say(
        "<p>The sources were not read in one snapshot.</p>",
        "<p>Die Quellen wurden nicht in einem Zug gelesen.</p>",
    )
    word = say("Whose word is taken for it", "Wessen Wort dafür genommen wird")
    return (
        f'<ul>{"".join(items)}</ul><p><a href="#boundary">{word}</a></p>{note if several else ""}'
    )


def _time(account: Account, time: str) -> str:
    """Return a time that is not broken over lines."""
    shown = moment(time, account.document.speech)
    return f"<time>{shown}</time>" if shown else ""


def _state(speech: Speech, *, paper: bool) -> str:
    how = speech.say(
        "Save the certificate that is in this file and run <code>constat verify FILE</code>.",
        "Speichern Sie die Bescheinigung, die in dieser Datei steht, und rufen Sie <code>constat "
        "verify DATEI</code> auf.",
    )
    if paper:
        how = speech.say(
            "The certificate is attached to this file; <code>constat verify FILE</code> checks it.",
            "Die Bescheinigung ist dieser Datei angehängt; <code>constat verify DATEI</code> prüft "
            "sie.",
        )
    unverified = speech.say("not verified here", "hier nicht geprüft")
    off = speech.say(
        "Scripts are off, or the check has not run. ",
        "Skripte sind ausgeschaltet, oder die Prüfung ist nicht gelaufen. ",
    )
    accepted = speech.say(
        "A second checker, which is part of this page, accepts the certificate in it. The rows of "
        "the sources are taken as recorded; whoever may read the sources can have them read again.",
        "Ein zweiter Prüfer, der zu dieser Seite gehört, nimmt die Bescheinigung darin an. Die "
        "Zeilen der Quellen gelten wie verzeichnet; wer die Quellen lesen darf, kann sie neu lesen "
        "lassen.",
    )
    rejected = speech.say(
        "The certificate in this page does not prove its verdict: … Do not rely on this page.",
        "Die Bescheinigung auf dieser Seite beweist ihr Ergebnis nicht: … Verlassen Sie sich nicht "
        "auf diese Seite.",
    )
    told = "" if paper else f' data-ok="{accepted}" data-no="{rejected}"'
    if speech.german and not paper:
        told += f' data-words="{escape(json.dumps(dict(_SCRIPT_IN_GERMAN), ensure_ascii=False))}"'
    return (
        f'<div id="state" role="status"{told}><span class="m">○ {unverified}</span> '
        f"{'' if paper else off}{how}</div>"
    )


_SCRIPT_IN_GERMAN: Final = MappingProxyType(
    {
        "○ unverified": "○ ungeprüft",
        "✓ checked": "✓ geprüft",
        "✓ as recorded": "✓ wie verzeichnet",
        "▲ assumed": "▲ angenommen",
        "as the system": "wie das System",
        "light": "hell",
        "dark": "dunkel",
        "Colours": "Farben",
        "step": "Schritt",
        "steps": "Schritte",
        "… of them folded.": "davon … eingeklappt.",
        "✓ verified in this page": "✓ auf dieser Seite geprüft",
        **{name.replace("_", " "): one.german for name, one in VERDICTS.items()},
        "✗ rejected": "✗ verworfen",
        "○ not confirmed": "○ nicht bestätigt",
        "at": "bei",
        "✗ REJECTED": "✗ VERWORFEN",
        "○ being verified": "○ wird geprüft",
        "One moment.": "Einen Augenblick.",
        "Verify now": "Jetzt prüfen",
        "This takes a while.": "Das dauert eine Weile.",
    }
)
"""What the script of a page says."""

# Each step is told once and named where it is met again; a proof of any depth is written without
# recursion, nested while it is shallow and as a flat list beyond.

_Item = tuple[int, int, bool] | str
"""A step, its level and whether it is folded; or a text that closes what was opened."""

# A deeper outline walks off the page and is no outline any more.
DEEPEST: Final = 14
_ALL_OPEN: Final = 14
_OPEN_LEVELS: Final = 2


def explanation(account: Account, told: Collection[int] | None = None) -> str:
    """Return the explanation of a verdict; `told` are the steps that are told, or all."""
    parts = [_missing(account), _denial(account)]
    if account.steps:
        outline = _Outline(account, told)
        parts.append(outline.nested() if outline.height <= DEEPEST else outline.flat())
    nothing = account.document.speech.say(
        "<p>Nothing was needed to decide it.</p>", "<p>Nichts war nötig, um es zu entscheiden.</p>"
    )
    return "".join(parts) or nothing


def left_steps(count: int, speech: Speech) -> str:
    """Say where the steps are that a page does not tell."""
    return speech.say(
        "{0} further from the conclusion stand in the certificate.",
        "{0}, weiter weg vom Schluss, in der Bescheinigung.",
        speech.counted(count, "more step"),
    )


class _Outline:
    """Writes the steps, with a list of its own in place of recursion."""

    def __init__(self, account: Account, told: Collection[int] | None = None) -> None:
        self.account = account
        self.speech = account.document.speech
        self.folded: Mapping[int, int] = rows_folded(account)
        self.left_out = rows_left(account, self.folded)
        every = range(len(account.steps))
        self.left = frozenset(() if told is None else every).difference(told or (), self.folded)
        self.inside = self._counted()
        self.height = self._height()

    def _height(self) -> int:
        """Return the longest way down; premises stand before what rests on them."""
        heights: list[int] = []
        for step in self.account.steps:
            heights.append(1 + max((heights[one.step] for one in step.premises), default=0))
        return max(heights, default=0)

    def _counted(self) -> list[int]:
        """Return for each step how many are told under it, which is where they are met first."""
        under = [0] * len(self.account.steps)
        parent: dict[int, int] = {}
        met: set[int] = set()
        order: list[int] = []
        for root in (*self.account.roots, *self.account.others):
            waiting = [(root, -1)]
            while waiting:
                place, above = waiting.pop()
                if place in met or place in self.folded:
                    continue
                met.add(place)
                parent[place] = above
                order.append(place)
                premises = self.account.steps[place].premises
                waiting += [(one.step, place) for one in reversed(premises)]
        for place in reversed(order):
            if parent[place] >= 0:
                under[parent[place]] += under[place] + 1
        return under

    # ------------------------------------------------------------------ shapes

    def nested(self) -> str:
        """Write lists within lists."""
        parts: list[str] = []
        folded = 0
        told: set[int] = set()
        all_open = len(self.account.steps) <= _ALL_OPEN
        waiting = self._roots()
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                parts.append(item)
                continue
            place, level, hidden = item
            if place in told:
                parts.append(self.again(place))
                continue
            told.add(place)
            folded += hidden
            below = [one.step for one in self.account.steps[place].premises]
            below = [one for one in below if one not in self.folded and one not in self.left]
            opened = all_open or level < _OPEN_LEVELS
            parts.append(self.item(place, opened=opened, leaf=not below))
            if below:
                parts.append("<ul>")
                waiting.append("</ul></details>")
                inside = hidden or not opened
                waiting += [(one, level + 1, inside) for one in reversed(below)]
        head = self.head(len(told), folded)
        return f'{head}<ul class="tree">{"".join(parts)}</ul>'

    def _roots(self) -> list[_Item]:
        found: list[_Item] = [(one, 0, False) for one in reversed(self.account.roots)]
        if not self.account.others:
            return found
        besides = self.speech.say("What was looked at besides:", "Was sonst angesehen wurde:")
        title = f'<li class="part">{besides}'
        others: list[_Item] = [
            (one, 1, False)
            for one in reversed(self.account.others)
            if one not in self.folded and one not in self.left
        ]
        return [*others, title, *found] if self.account.roots else others

    def flat(self) -> str:
        """Write one list in reading order, each step with the numbers of what it rests on."""
        parts = []
        for place in self.account.order:
            if place in self.folded or place in self.left:
                continue
            step = self.account.steps[place]
            links = [
                step_link(self.account, one.step)
                for one in step.premises
                if one.step not in self.folded
            ]
            rests = self.speech.say(
                "<p class=q>Rests on step {0}.",
                "<p class=q>Beruht auf Schritt {0}.",
                ", ".join(links),
            )
            rests = rests if links else ""
            parts.append(f"{self.item(place, opened=True, leaf=True)}{rests}")
        head = self.head(len(parts), 0)
        note = self.speech.say(
            "<p>The proof is {0} steps deep, so it is told as a list: each step names the steps it "
            "rests on.",
            "<p>Der Beweis ist {0} Schritte tief und steht darum als Liste da: jeder Schritt nennt "
            "die, auf denen er beruht.",
            self.speech.number(self.height),
        )
        return f'{head}{note}<ul class="tree flat">{"".join(parts)}</ul>'

    def head(self, told: int, folded: int) -> str:
        """Say how much there is, and how much of it is folded."""
        rows, speech = len(self.folded), self.speech
        more = speech.say(
            " {0} of sums are counted, not told.",
            " {0} von Summen: gezählt, nicht einzeln genannt.",
            speech.counted(rows, "more row"),
        )
        more = more if rows else ""
        if self.left:
            more += f" {left_steps(len(self.left), speech)}"
        count = speech.say(
            "{0}, {1} of them folded.",
            "{0}, davon {1} eingeklappt.",
            speech.counted(told, "step"),
            speech.number(folded),
        )
        unfold, fold = (
            speech.say("Unfold all", "Alle aufklappen"),
            speech.say("Fold all", "Alle zuklappen"),
        )
        return (
            f'<p class="counts"><span id="counts" data-told="{told}">{count}</span>{more} '
            f'<span class="js" hidden><button type="button" id="unfold">{unfold}</button> '
            f'<button type="button" id="fold">{fold}</button></span></p>'
        )

    # ------------------------------------------------------------------ steps

    def item(self, place: int, *, opened: bool, leaf: bool) -> str:
        """Write a step; what stands under it follows unless it is a leaf."""
        step, number = self.account.steps[place], self.account.numbers[place]
        title = f"<b>{number}</b> <span>{text(capital(step.sentence))}</span>"
        body = self.body(place, step, number)
        css = f"id=s{number} class={kinds(self.account, place)}{checked_by(self.account, step)}"
        if leaf:
            return f"\n<li {css}><div>{title}</div>{body}"
        inside = self.speech.counted(self.inside[place], "step")
        inside = self.speech.say("{0} inside", "{0} darin", inside)
        shown = " open" if opened else ""
        return (
            f"\n<li {css}><details{shown}><summary>{title} <small>{inside}</small></summary>{body}"
        )

    def again(self, place: int) -> str:
        said = text(capital(self.account.steps[place].sentence))
        number = str(self.account.numbers[place])
        told = self.speech.say("(told at step {0})", "(steht bei Schritt {0})", number)
        there = f"<span>{told}</span>"
        return f"\n<li class=again>{step_link(self.account, place)} {said} {there}"

    def body(self, place: int, step: Step, number: int) -> str:
        """Say why: the rule's sentence, its comparisons, the source, the assumption."""
        account, say = self.account, self.speech.say
        said: list[str] = []
        if step.reasoning:
            said.append(say("Because {0}.", "Denn {0}.", text(step.reasoning)))
        tests = [one for one in account.tests(step) if not self.told_with(step, one.sentence)]
        said += [f"{one.label}: {text(one.sentence)}." for one in tests]
        why = _not_there(account, place)[:_MOST_WHY]
        said += [say("Because {0}.", "Denn {0}.", text(one)) for one in why]
        if step.kind == CLOSURE:
            said.append(
                say(
                    "Every rule was followed as far as it goes; there can be no other row.",
                    "Jede Regel wurde verfolgt, so weit sie reicht; eine andere Zeile kann es "
                    "nicht geben.",
                )
            )
        rows = self.left_out.get(place)
        if rows:
            english, german = (
                "And {0}, which the certificate lists.",
                "Und {0} in der Bescheinigung.",
            )
            said.append(say(english, german, rows))
        under = len({one.step for one in step.premises} & self.left)
        if under:
            steps = self.speech.counted(under, "step")
            english, german = "It also rests on {0} not told here.", "Dazu {0}, hier nicht genannt."
            said.append(say(english, german, steps))
        if step.note:
            said.append(f"{text(capital(own_words(step.note, self.speech)))}.")
        links = [assumption_link(account, one) for one in account.taken[place]]
        assumed, trail = say("Assumed:", "Angenommen:"), say("Audit", "Prüfspur")
        said += [f"<strong>{assumed}</strong> {link}" for link in links]
        said.append(f"{self.origin(place, step)} <a href=#a{number}>{trail} {number}</a>")
        return "".join(f"<p>{one}" for one in said[:-1]) + f"<p class=q>{said[-1]}"

    def told_with(self, step: Step, comparison: str) -> bool:
        """Say whether the reasoning in our own words tells a comparison; a template's may not."""
        if step.rule is None or self.account.document.rules[step.rule].get("says"):
            return False
        # A sign follows the sentence, so that "more than 100" is not found in "more than 100,000".
        return f"{comparison}, " in f"{step.reasoning}, "

    def origin(self, place: int, step: Step) -> str:
        """Say in few words where a step comes from."""
        document, speech = self.account.document, self.speech
        say = speech.say
        if step.kind == RULE and step.rule is not None:
            if not _is_written(document, step.rule):
                return say(
                    "That follows from the entry itself.", "Das folgt aus dem Eintrag selbst."
                )
            name = rule_name(document.rules[step.rule]["id"], speech)
            return say("By rule {0}.", "Nach Regel {0}.", name)
        found = level_of(self.account, place)
        level = text(speech.said(LEVELS[found]) if found in LEVELS else found)
        level = say("Complete: {0}.", "Vollständig: {0}.", level) if found else ""
        if not step.sources:
            return level
        source = document.sources[step.sources[0]]
        others = speech.counted(len(step.sources) - 1, "other")
        more = say(" and {0}", " und {0}", others) if len(step.sources) > 1 else ""
        # What a database is stands with the sources; who set a value beside the value.
        named = source_said(source, speech, whose=source["origin"] == "CONFIG")
        return f"{say('From {0}{1}.', 'Aus {0}{1}.', named, more)} {level}".rstrip()


def _missing(account: Account) -> str:
    """Return what is missing, as goals to paste back."""
    if not account.gaps:
        return ""
    say = account.document.speech.say
    missing, contested = _gap_items(account, contested=False), _gap_items(account, contested=True)
    open_facts = say(
        "<h3>What is missing</h3><p>Whoever knows any of these brings the question further:</p>",
        "<h3>Was fehlt</h3><p>Wer etwas davon weiß, bringt die Frage weiter:</p>",
    )
    open_facts += f'<ul class="missing">{missing}</ul>'
    contradicting = say(
        "<h3>Rows that contradict each other</h3><p>None of these counts until the source is "
        "mended; stating one as a fact changes nothing:</p>",
        "<h3>Zeilen, die einander widersprechen</h3><p>Keine davon zählt, bis die Quelle "
        "berichtigt ist; eine davon als Tatsache anzugeben, ändert nichts:</p>",
    )
    contradicting += f'<ul class="missing">{contested}</ul>'
    return (open_facts if missing else "") + (contradicting if contested else "")


def _gap_items(account: Account, *, contested: bool) -> str:
    unknown = account.document.speech.say("Not known:", "Nicht bekannt:")
    return "".join(
        f"<li>{text(capital(gap.words))}"
        f"{''.join(f'<p>{unknown} {prose(one)}.' for one in gap.reasons)}"
        for gap in account.gaps
        if gap.contested is contested
    )


def _denial(account: Account) -> str:
    """Return one tree from the goal down to what decides it, rule by rule."""
    if not account.denial or not account.denial[0].paths:
        return ""
    verdict = account.document.header["verdict"]
    say = account.document.speech.say
    hangs, denied = say("What it hangs on", "Woran es hängt"), say("Why not", "Warum nicht")
    title = hangs if verdict == "UNRESOLVED" else denied
    return f"<h3>{title}</h3>{_conclusion(account, 0, set())}"


def _conclusion(account: Account, place: int, told: set[int]) -> str:
    """Write a conclusion that is not there with the rules that could give it; as deep as rules."""
    one = account.denial[place]
    told.add(place)
    items = "".join(_path(account, path, told) for path in one.paths)
    open_goal = place == 0 and account.document.header["verdict"] == "UNRESOLVED"
    said = account.question if open_goal else one.sentence
    return f"<p>{text(capital(said))}{'' if open_goal else '.'}</p><ol class=attempts>{items}</ol>"


_SIGNS: Final = MappingProxyType({"failed": "✗", "open": "?"})


def _path(account: Account, path: Path, told: set[int]) -> str:
    """Say of a rule what stops it, in words; what the rule's text says stands behind it."""
    attempt, say = path.attempt, account.document.speech.say
    came = became(account.document, attempt)
    state = f"{_SIGNS.get(came, '○')} {account.document.speech.said(ATTEMPTED[came])}"
    reason = f"{text(capital(attempt.sentence))}." if attempt.sentence else ""
    codes = ", ".join(text(one.code) for one in path.reasons)
    named = say("codes", "Zeichen") if path.reasons[1:] else say("code", "Zeichen")
    marks = f" <small>{named} {codes}</small>" if codes else ""
    besides = "".join(
        f"<p>{say('Fails besides:', 'Scheitert außerdem:')} {text(one.sentence)} "
        f"({text(one.code)}).</p>"
        for one in path.reasons[1:]
    )
    below = ""
    if path.below is not None:
        again = path.below in told
        said = text(capital(account.denial[path.below].sentence))
        below = (
            say("<p>{0}, as told above.</p>", "<p>{0}, wie oben gesagt.</p>", said)
            if again
            else _conclusion(account, path.below, told)
        )
    name = rule_name(attempt.rule, account.document.speech)
    return (
        f"<li><p><b>{say('Rule {0}', 'Regel {0}', name)}</b> {state}{marks}</p><p>{reason}</p>"
        f'{besides}{below}<p class="quiet">{_exact(attempt, account.document.speech)}</p>'
    )


def _exact(attempt: Attempt, speech: Speech) -> str:
    """Say what stops a rule by its values, and what of it was not looked at."""
    say = speech.say
    parts = []
    if attempt.literal and not attempt.sentence:
        english, german = "The condition that is not met: {0}.", "Die Bedingung, die fehlt: {0}."
        parts.append(say(english, german, code(attempt.literal)))
    # Of what is there though it must not be, the sentence says all.
    if attempt.actual and not attempt.required.startswith("no "):
        actual, required = code(attempt.actual), code(in_words(attempt.required, speech))
        english, german = "There is {0}; needed is {1}.", "Da ist {0}; nötig ist {1}."
        parts.append(say(english, german, actual, required))
    if attempt.distance == "0":
        parts.append(say("They are equal.", "Sie sind gleich."))
    elif attempt.distance:
        parts.append(say("Apart by {0}.", "Der Abstand ist {0}.", code(attempt.distance)))
    if attempt.untried:
        parts.append(
            say(
                "{0} of the rule not looked at, as this one fails.",
                "{0} der Regel nicht angesehen, weil diese fehlt.",
                speech.counted(len(attempt.untried), "more condition"),
            )
        )
    return " ".join(parts)
