"""The first screen of a report, and the outline of sentences below it."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import counted
from constat.logic import Aggregate, Comparison, Constant, Kind, Negative, Positive
from constat.proof.decoding import decode_row
from constat.proof.export.account import by_change
from constat.proof.export.denial import MOST_REASONS, decisive, of_veiled
from constat.proof.export.document import capital, shortened
from constat.proof.export.drawing import rows_folded
from constat.proof.export.steps import ABSENCE, CLOSURE, FACT, ROW, RULE
from constat.proof.levels import LEVEL_WORDS
from constat.proof.render import in_words
from constat.proof.report.markup import (
    assumption_link,
    checked_by,
    code,
    kinds,
    level_of,
    listed,
    moment,
    rule_name,
    said_of_approval,
    source_kind,
    source_name,
    step_link,
    text,
)
from constat.proof.sentences import RuleWords, describe_fact
from constat.proof.written import written_body

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from constat.logic import Literal
    from constat.proof.export.account import Account
    from constat.proof.export.denial import Path
    from constat.proof.export.document import Document
    from constat.proof.export.steps import Step

# What was decided, when, on whose question, why, by whose rule and who approved it, and what would
# change it stand first; then assumptions, sources with their times, conflicts, and whether the page
# has verified itself.  A verdict has no colour of approval or alarm: a refusal is proved, too.

LABELS: Final = MappingProxyType(
    {
        "PROVED": ("settled", "●", "PROVED"),
        "PROVED_UNDER": ("warn", "▲", "PROVED UNDER assumptions"),
        "DISPROVED": ("settled", "○", "DISPROVED"),
        "DISPROVED_UNDER": ("warn", "▲", "DISPROVED UNDER assumptions"),
        "UNRESOLVED": ("open", "?", "UNRESOLVED"),
    }
)
_MEANINGS: Final = MappingProxyType(
    {
        "PROVED": "It follows from the rules and from what the sources say.",
        "PROVED_UNDER": "It follows if the assumptions below are accepted, and not without them.",
        "DISPROVED": "By the rules and what the sources say it does not hold.",
        "DISPROVED_UNDER": "If the assumptions below are accepted, it does not hold.",
        "UNRESOLVED": "Neither yes nor no follows: something that matters is not known.",
    }
)
_WIDE: Final = frozenset(
    {
        "Why",
        "What is counted",
        "What decides it",
        "Principal reasons",
        "What is missing",
        "What would decide it",
        "What would change it",
        "By whose rule",
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
    verdict = account.document.header["verdict"]
    tone, sign, label = LABELS.get(verdict, ("open", "?", "UNKNOWN"))
    facts = "".join(
        f"<div{' class=wide' if name in _WIDE else ''}><dt>{name}</dt><dd>{said}</dd></div>"
        for name, said in (
            ("Principal reasons", _reasons(account)),
            ("What decides it", "" if account.reasons or account.veiled else _decisive(account)),
            ("Why", _why(account)),
            ("What is counted", _folded(account)),
            ("What is missing", _lacking(account)),
            ("What would decide it", _deciding(account)),
            ("What would change it", _changing(account)),
            ("By whose rule", _ruled(account)),
            ("How certain", _confidence(account)),
            ("Assumptions", _assumptions(account)),
            ("Conflicts", _conflicts(account)),
            ("Rests on", _sources(account)),
            ("Verification", _state(paper=paper)),
        )
        if said
    )
    return (
        f'<section class="opening {tone}" aria-labelledby="question">'
        f'<p class="eyebrow">Question</p><p class="asked">{text(capital(account.question))}</p>'
        f'<h1 id="question">{text(account.headline)}</h1><p class="effective">{_for(account)}</p>'
        f'<p class="verdict"><span class="badge"><span aria-hidden="true">{sign}</span> {label}'
        f"</span> <strong>{_approved(account)}</strong> <span>{_MEANINGS.get(verdict, '')}</span>"
        f"</p>{_when(account)}"
        f'<dl class="facts">{facts}</dl></section>'
    )


def _for(account: Account) -> str:
    """Say for which day the headline holds: that of the configuration, else that of the answer."""
    day = f"Decided on {text(account.document.record['created'][:10])}"
    days = "; ".join(map(text, _days(account)))
    return f"{day}, counted for: {days}." if days else f"{day}."


def _approved(account: Account) -> str:
    """Say beside the verdict whether anybody approved the rules that it follows from."""
    document = account.document
    places = [at for at, rule in enumerate(document.rules) if rule["body"]]
    places = [one for one in places if _is_written(document, one)]
    given = {one["rule"] for one in document.header["approvals"]}
    lacking = sum(document.rule_digests[one] not in given for one in places)
    if not lacking:
        return "By approved rules." if places else ""
    if len(places) == 1:
        return "Nobody approved the rule."
    many = "any of the" if lacking == len(places) else f"{lacking:,} of the {len(places):,}"
    return f"Nobody approved {many} rules."


def _when(account: Account) -> str:
    """Say when it was decided and of when its facts are, and who asked."""
    document = account.document
    engine = text(document.record["engine"])
    said = [f"Written on {_time(document.record['created'])} by {engine}."]
    as_of = document.header["as_of"]
    if as_of:
        said.append(f"The facts are those that were recorded on {_time(as_of)}.")
    who, entry = document.header.get("asked_by"), document.header["decision"]
    if who:
        logged = f" (log of decisions: {text(entry)})" if entry else ""
        said.append(f"Asked by {text(who)}{logged}.")
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
                said = describe_fact(declared, decode_row(row, declared.kinds))
                found[shortened(said)] = None
    return list(found)[:_MOST_DAYS]


def _folded(account: Account) -> str:
    """Say of sums and counts which entries they take, and name those that they leave out."""
    items = []
    for one in account.folds(_MOST_LISTED):
        if not one.where and not one.left:
            continue
        entries = "1 entry" if one.counted == 1 else f"{one.counted:,} entries"
        said = f"{text(capital(one.sentence))}, from {entries}"
        where = f" Only those count for which {text('; '.join(one.where))}." if one.where else ""
        left = ""
        if one.left:
            more = len(one.left) - _MOST_FACTS
            rest = f"; and {more:,} more" if more > 0 else ""
            left = f" <strong>Left out:</strong> {text('; '.join(one.left[:_MOST_FACTS]))}{rest}."
        items.append(f"{said}.{where}{left}")
    return _short_list(list(dict.fromkeys(items)), "sums")


def _decisive(account: Account) -> str:
    """Say of what is not so what decides it: down to the row or the number that fails."""
    if not account.document.header["verdict"].startswith("DISPROVED"):
        return ""
    said = decisive(account.denial)
    # A rule for structures of another form decides nothing where a rule for this form fails.
    said = tuple(one for one in said if " not of the form " not in one) or said
    return _short_list([f"{text(capital(one))}." for one in said], "rules")


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
    return _short_list(list(dict.fromkeys(items)), "sentences")


def _changing(account: Account) -> str:
    """Say what fails of each rule that could give the goal: all of it would have to be otherwise.

    Of what holds, the comparisons by which it does and how far they are from turning, what is not
    there, and the facts of sources under it.
    """
    verdict = account.document.header["verdict"]
    if verdict.startswith("PROVED"):
        turning = [*_turning(account, account.roots[:1]), *_computed(account)]
        told = _short_list([f"{capital(one)}." for one in turning], "conditions")
        return f"<p>This proof falls if one of these turns round:</p>{told}" if told else ""
    if not verdict.startswith("DISPROVED"):
        return ""
    items = []
    for path in account.denial[0].paths if account.denial else ():
        lacks = list(_lacks(account, path))
        if path.attempt.state == "failed" and lacks:
            rule = f"Rule {rule_name(path.attempt.rule)} fails on"
            each = "".join(f"<li>{capital(one)}" for one in lacks)
            items.append(
                f"{rule} this: {lacks[0]}"
                if len(lacks) == 1
                else f"{rule} each of these {len(lacks)}:<ul>{each}</ul>"
            )
    return _short_list(items, "rules") + _tried(account)


def _computed(account: Account) -> list[str]:
    """Say that numbers of the answer that are computed change before a comparison turns."""
    predicate = account.document.header["goal"][0]
    kinds = account.document.program.program.predicates[predicate].kinds
    computed = any(not one.turned for one in account.tests(account.steps[account.roots[0]]))
    if not computed or not any(one.numeric for one in kinds):
        return []
    return ["numbers of the answer are computed: they change with each number that they rest on"]


def _lacks(account: Account, path: Path) -> Iterator[str]:
    """Say what a rule lacks, by how much, and what that rests on in its turn."""
    ends = [] if path.below is None else _ends(account, path.below)
    for place, (sentence, operator, apart) in enumerate(path.lacks):
        change = by_change(operator, apart)
        said = f"{text(sentence)}{f' ({text(change)} would do)' if change else ''}."
        there = [n for n, one in enumerate(account.steps) if one.sentence == sentence and one.rule]
        turning = _turning(account, there[:1]) if there else []
        if turning:
            said += f" That falls if one of these turns round:{_points(turning)}"
        elif ends and place == 0:
            said += f" That comes down to:{_points(ends)}"
        yield said


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
                change = by_change(operator, apart)
                found[f"{text(sentence)}{f' ({text(change)} would do)' if change else ''}"] = None
    return list(found)


def _turning(account: Account, roots: Sequence[int]) -> list[str]:
    """Say on which comparisons, absences and facts of sources steps rest, the nearest first."""
    compared: dict[str, None] = {}
    absent: dict[str, None] = {}
    facts: dict[str, None] = {}
    waiting, met = list(roots), set(roots)
    while waiting:
        place = waiting.pop(0)
        step = account.steps[place]
        for one in account.tests(step):
            if one.turned:
                compared[f"{text(one.sentence)}: {text(one.turned)} turns it"] = None
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
    more = f"; and {counted(len(facts) - len(few), 'more fact')}" if len(facts) > len(few) else ""
    named = [f"what the sources say: {'; '.join(few)}{more}"] if few else []
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
    each = "this change" if len(said) == 1 else "any one of these changes"
    return (
        f"<p>With {each} the answer would have been yes. Computed by Constat when it was decided, "
        f"not proved by this certificate:</p>{_short_list(said, 'changes')}"
    )


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
    items = [
        f"Rule {rule_name(path.attempt.rule)} gives it if"
        f"{text(path.attempt.sentence.removeprefix('it would, if'))}."
        for path in account.denial[0].paths
        if path.attempt.state == "open" and path.attempt.sentence
    ]
    return _short_list(items, "rules")


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
    if not rest:
        return first_rules
    below = "".join(f"<li>{_rule_said(account, place)}" for place in rest[:_MOST_FOLDED])
    if len(rest) > _MOST_FOLDED:
        below += f"<li>and {len(rest) - _MOST_FOLDED:,} more rules, in the audit"
    more = f"{counted(len(rest), 'more rule')} it rests on. {_approved_in_all(document, rest)}"
    return f"{first_rules}<details><summary>{more}</summary><ul>{below}</ul></details>"


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
    if not lacking:
        return "Each of them is approved." if len(places) > 1 else "It is approved."
    if len(places) == 1:
        return "Nobody approved it."
    return f"Nobody approved {'any' if lacking == len(places) else f'{lacking:,}'} of them."


def _rule_said(account: Account, place: int) -> str:
    """Say of a rule who wrote, owns and approved it, then its words beside what it requires."""
    document = account.document
    rule, stated = document.program.rules[place], document.rules[place]
    version = f", version {text(stated['version'])}" if stated.get("version") else ""
    people = [
        f"{did} by {text(stated[name])}"
        for name, did in (("author", "written"), ("owner", "owned"))
        if stated.get(name)
    ]
    whose = f", {' and '.join(people)}" if people else ", by an author it does not name"
    told = RuleWords.of(rule, document.program.program.predicates)
    says = told.says()
    words = f"In its words: “{text(capital(says))}.”" if says else "It has no words of its own."
    body = [one.literal for one in written_body(rule.body)]
    # Whoever looks a value up asks nothing; a rule that asks nothing else says what it looks up.
    asking = [one for one in body if _asks(document, one)] or body
    asked = [text(told.requires(one)) for one in asking]
    more = len(asked) - _MOST_ASKED
    rest = f"; and {more:,} more conditions" if more > 0 else ""
    needs = f"<p>It requires that {'; '.join(asked[:_MOST_ASKED])}{rest}.</p>" if asked else ""
    if asked == [text(says)]:
        needs = "<p>It requires just that.</p>"
    unlike = "".join(
        f"<p><strong>Its words and what it requires differ:</strong> the words say "
        f"“{text(said)}”, and what is checked is that {text(checked)}.</p>"
        for said, checked in told.contradicted()
    )
    unlike += "".join(
        f"<p><strong>Its words do not say</strong> that only those count for which {text(one)}.</p>"
        for one in told.unsaid()
    )
    unlike += "".join(f"<p>{text(capital(one))}.</p>" for one in told.unread())
    denied = told.unchecked()
    if denied:
        unlike += (
            f"<p><strong>Its words say</strong> “{text(denied)}”, and the rule checks of nothing "
            "that it is not so.</p>"
        )
    cites = rule.attributes.get("cites")
    source = f"<p>It cites {text(cites)}.</p>" if cites else ""
    approval = capital(said_of_approval(document, place))
    approved = f" <b>{approval}.</b>" if approval else ""
    return (
        f'Rule <a href="#r{place}">{rule_name(rule.id)}</a>{version}{whose}.{approved}'
        f"<p>{words}</p>{needs}{unlike}{source}"
    )


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
    more = len(account.reasons) - MOST_REASONS
    rest = f"<p>And {counted(more, 'more reason')}, in the explanation.</p>" if more > 0 else ""
    veiled = f"<p>{text(of_veiled(account.veiled))}</p>" if account.veiled else ""
    listed_all = f"<ol>{''.join(f'<li>{one}' for one in items)}</ol>" if items else ""
    return f"{listed_all}{rest}{veiled}"


def _lacking(account: Account) -> str:
    """Say what would have to be known, where the question is open, and why it is not."""
    items = []
    for gap in account.gaps:
        why = "; ".join(text(one) for one in gap.reasons)
        items.append(f"{text(capital(gap.words))}{f': {why}' if why else ''}.")
    return _short_list(items, "facts")


def _short_list(items: list[str], what: str) -> str:
    if not items:
        return ""
    # The line that says that one is left takes as much room as that one.
    shown = len(items) if len(items) == _MOST_LISTED + 1 else _MOST_LISTED
    more = len(items) - shown
    rest = f"<li>and {more:,} more {what}, in the explanation" if more > 0 else ""
    return f"<ul>{''.join(f'<li>{one}' for one in items[:shown])}{rest}</ul>"


def _confidence(account: Account) -> str:
    header = account.document.header
    value = header["confidence"]
    # That everything is certain needs no words.
    if header["verdict"] == "UNRESOLVED" or value == "1":
        return ""
    least = "" if header["search"] == "exhausted" else "at least "
    links = _weakest(account)
    where = f" It is that of step {listed(links, _MOST_WEAK)}." if links else ""
    return (
        f"{capital(least)}<b>{text(value)}</b>, where 1 is certain. A conclusion is as certain as "
        f"the least certain word it rests on; this is no probability.{where}"
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
    under = account.document.header["under"]
    if not under:
        return "None."
    items = "".join(f"<li>{assumption_link(account, place)}" for place in under)
    many = "this holds" if len(under) == 1 else f"these {len(under):,} hold"
    return f"The verdict stands if {many}:<ul>{items}</ul>"


def _conflicts(account: Account) -> str:
    """List who says another value for a key, and what counts."""
    told = account.document.conflicts
    items = "".join(f"<li>{text(one)}" for one in told[:_MOST_CONFLICTS])
    more = len(told) - _MOST_CONFLICTS
    return f"<ul>{items}{f'<li>and {more:,} more' if more > 0 else ''}</ul>" if told else ""


def _sources(account: Account) -> str:
    """List the sources by name, with the time of their last reading."""
    document = account.document
    read: dict[str, list[str]] = {}
    for source, time in zip(document.sources, document.record["executed"], strict=True):
        name = f"{source_name(source)} ({source_kind(source)})"
        read.setdefault(name, []).append(time or "")
    items = []
    for name, times in read.items():
        last = _time(max(times))
        when = f", {'read' if len(times) == 1 else 'last read'} {last}" if last else ""
        items.append(f"<li>{name}: {counted(len(times), 'reading')}{when}")
    if not items:
        return "Nothing outside: the rules alone."
    several = document.header["snapshot"] == "not one snapshot"
    note = "<p>The sources were not read in one snapshot.</p>" if several else ""
    return (
        f'<ul>{"".join(items)}</ul><p><a href="#boundary">Whose word is taken for it</a></p>{note}'
    )


def _time(time: str) -> str:
    """Return a time that is not broken over lines."""
    shown = moment(time)
    return f"<time>{shown}</time>" if shown else ""


def _state(*, paper: bool) -> str:
    how = "Save the certificate that is in this file and run <code>constat verify FILE</code>."
    if paper:
        how = (
            "The certificate is attached to this file; <code>constat verify FILE</code> checks it."
        )
    return (
        '<div id="state" role="status"><span class="m">○ not verified here</span> '
        f"{'' if paper else 'Scripts are off, or the check has not run. '}{how}</div>"
    )


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
    return "".join(parts) or "<p>Nothing was needed to decide it.</p>"


def left_steps(count: int) -> str:
    """Say where the steps are that a page does not tell."""
    return f"{counted(count, 'more step')} further from the conclusion stand in the certificate."


class _Outline:
    """Writes the steps, with a list of its own in place of recursion."""

    def __init__(self, account: Account, told: Collection[int] | None = None) -> None:
        self.account = account
        self.folded: Mapping[int, int] = rows_folded(account)
        self.left_out = Counter(self.folded.values())
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
        title = '<li class="part">What was looked at besides:'
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
            rests = f"<p class=q>Rests on step {', '.join(links)}." if links else ""
            parts.append(f"{self.item(place, opened=True, leaf=True)}{rests}")
        head = self.head(len(parts), 0)
        note = (
            f"<p>The proof is {self.height:,} steps deep, so it is told as a list: each step names "
            "the steps it rests on."
        )
        return f'{head}{note}<ul class="tree flat">{"".join(parts)}</ul>'

    def head(self, told: int, folded: int) -> str:
        """Say how much there is, and how much of it is folded."""
        rows = len(self.folded)
        more = f" {counted(rows, 'more row')} of sums are counted, not told." if rows else ""
        if self.left:
            more += f" {left_steps(len(self.left))}"
        return (
            f'<p class="counts"><span id="counts" data-told="{told}">{counted(told, "step")}, '
            f"{folded:,} of them folded.</span>{more} "
            '<span class="js" hidden><button type="button" id="unfold">Unfold all</button> '
            '<button type="button" id="fold">Fold all</button></span></p>'
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
        inside = counted(self.inside[place], "step")
        shown = " open" if opened else ""
        return (
            f"\n<li {css}><details{shown}><summary>{title} <small>{inside} inside</small></summary>"
            f"{body}"
        )

    def again(self, place: int) -> str:
        said = text(capital(self.account.steps[place].sentence))
        there = f"<span>(told at step {self.account.numbers[place]})</span>"
        return f"\n<li class=again>{step_link(self.account, place)} {said} {there}"

    def body(self, place: int, step: Step, number: int) -> str:
        """Say why: the rule's sentence, its comparisons, the source, the assumption."""
        account = self.account
        said: list[str] = []
        if step.reasoning:
            said.append(f"Because {text(step.reasoning)}.")
        tests = [one for one in account.tests(step) if not self.told_with(step, one.sentence)]
        said += [f"{one.label}: {text(one.sentence)}." for one in tests]
        why = _not_there(account, place)[:_MOST_WHY]
        said += [f"Because {text(one)}." for one in why]
        if step.kind == CLOSURE:
            said.append("Every rule was followed as far as it goes; there can be no other row.")
        more = self.left_out[place]
        if more:
            said.append(f"And {counted(more, 'more row')}, which the certificate lists.")
        under = len({one.step for one in step.premises} & self.left)
        if under:
            said.append(f"It also rests on {counted(under, 'step')} not told here.")
        if step.note:
            said.append(f"{text(capital(step.note))}.")
        links = [assumption_link(account, one) for one in account.taken[place]]
        said += [f"<strong>Assumed:</strong> {link}" for link in links]
        said.append(f"{self.origin(place, step)} <a href=#a{number}>Audit {number}</a>")
        return "".join(f"<p>{one}" for one in said[:-1]) + f"<p class=q>{said[-1]}"

    def told_with(self, step: Step, comparison: str) -> bool:
        """Say whether the reasoning in our own words tells a comparison; a template's may not."""
        if step.rule is None or self.account.document.rules[step.rule].get("says"):
            return False
        # A sign follows the sentence, so that "more than 100" is not found in "more than 100,000".
        return f"{comparison}, " in f"{step.reasoning}, "

    def origin(self, place: int, step: Step) -> str:
        """Say in few words where a step comes from."""
        document = self.account.document
        if step.kind == RULE and step.rule is not None:
            if not _is_written(document, step.rule):
                return "That follows from the entry itself."
            return f"By rule {rule_name(document.rules[step.rule]['id'])}."
        found = level_of(self.account, place)
        level = f"Complete: {text(LEVEL_WORDS.get(found, found))}." if found else ""
        if not step.sources:
            return level
        source = document.sources[step.sources[0]]
        more = f" and {counted(len(step.sources) - 1, 'other')}" if len(step.sources) > 1 else ""
        return f"From {source_name(source)} ({source_kind(source)}){more}. {level}".rstrip()


def _missing(account: Account) -> str:
    """Return what is missing, as goals to paste back."""
    if not account.gaps:
        return ""
    missing, contested = _gap_items(account, contested=False), _gap_items(account, contested=True)
    open_facts = (
        "<h3>What is missing</h3><p>Whoever knows any of these brings the question further:</p>"
        f'<ul class="missing">{missing}</ul>'
    )
    contradicting = (
        "<h3>Rows that contradict each other</h3><p>None of these counts until the source is "
        f'mended; stating one as a fact changes nothing:</p><ul class="missing">{contested}</ul>'
    )
    return (open_facts if missing else "") + (contradicting if contested else "")


def _gap_items(account: Account, *, contested: bool) -> str:
    return "".join(
        f"<li>{text(capital(gap.words))}"
        f"{''.join(f'<p>Not known: {text(one)}.' for one in gap.reasons)}"
        for gap in account.gaps
        if gap.contested is contested
    )


def _denial(account: Account) -> str:
    """Return one tree from the goal down to what decides it, rule by rule."""
    if not account.denial or not account.denial[0].paths:
        return ""
    verdict = account.document.header["verdict"]
    title = "What it hangs on" if verdict == "UNRESOLVED" else "Why not"
    return f"<h3>{title}</h3>{_conclusion(account, 0, set())}"


def _conclusion(account: Account, place: int, told: set[int]) -> str:
    """Write a conclusion that is not there with the rules that could give it; as deep as rules."""
    one = account.denial[place]
    told.add(place)
    items = "".join(_path(account, path, told) for path in one.paths)
    open_goal = place == 0 and account.document.header["verdict"] == "UNRESOLVED"
    said = account.question if open_goal else one.sentence
    return f"<p>{text(capital(said))}{'' if open_goal else '.'}</p><ol class=attempts>{items}</ol>"


def _path(account: Account, path: Path, told: set[int]) -> str:
    """Say of a rule what stops it, in words; what the rule's text says stands behind it."""
    attempt = path.attempt
    states = {"failed": "✗ does not give it", "open": "? may give it, but something is unknown"}
    state = states.get(attempt.state, "○ was not followed: too many possibilities")
    reason = f"{text(capital(attempt.sentence))}." if attempt.sentence else ""
    codes = ", ".join(text(one.code) for one in path.reasons)
    marks = f" <small>{'codes' if path.reasons[1:] else 'code'} {codes}</small>" if codes else ""
    besides = "".join(
        f"<p>Fails besides: {text(one.sentence)} ({text(one.code)}).</p>"
        for one in path.reasons[1:]
    )
    below = ""
    if path.below is not None:
        again = path.below in told
        below = (
            f"<p>{text(capital(account.denial[path.below].sentence))}, as told above.</p>"
            if again
            else _conclusion(account, path.below, told)
        )
    coded = f"The condition that is not met: {code(attempt.literal)}." if attempt.literal else ""
    stopped = "" if attempt.sentence else coded
    left = counted(len(attempt.untried), "more condition")
    behind = f"{left} of the rule not looked at, as this one fails." if attempt.untried else ""
    # Of what is there though it must not be, the sentence says all.
    telling = attempt.actual and not attempt.required.startswith("no ")
    needed = f"There is {code(attempt.actual)}; needed is {code(in_words(attempt.required))}."
    actual = needed if telling else ""
    apart = "They are equal." if attempt.distance == "0" else f"Apart by {code(attempt.distance)}."
    exact = " ".join(p for p in (stopped, actual, apart if attempt.distance else "", behind) if p)
    return (
        f"<li><p><b>Rule {rule_name(attempt.rule)}</b> {state}{marks}</p><p>{reason}</p>"
        f'{besides}{below}<p class="quiet">{exact}</p>'
    )
