"""The audit: every step, rule, source and row, and which leaves are a model's word."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.evaluation import CONFLICT
from constat.logic import Spoken
from constat.proof.export.document import (
    SEARCHED,
    SNAPSHOTS,
    by_code,
    capital,
    origin_of,
    own_words,
    tier_of,
)
from constat.proof.export.drawing import rows_folded
from constat.proof.export.steps import ROW
from constat.proof.levels import level_text
from constat.proof.report.explanation import left_steps
from constat.proof.report.markup import (
    assumption_link,
    block,
    code,
    level_of,
    listed,
    moment,
    owner,
    rule_name,
    said_of_approval,
    signed_with,
    source_kind,
    source_name,
    step_link,
    terms,
    text,
)
from constat.proof.sentences import NOT_READ

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from constat.proof.export.account import Account
    from constat.proof.export.document import Members
    from constat.proof.export.steps import Step
    from constat.proof.sentences import Speech

# Every source that is no configuration and no database, every rule that nobody approved or that is
# less than certain, and every declared completeness is listed, with who said it and which steps
# rest on it.

# Rows of these are read and taken by nobody's word.
_READ: Final = frozenset({"CONFIG", "DATABASE"})
_SAID: Final = MappingProxyType(
    {
        "CONFIG": Spoken("Set by", "Festgesetzt von"),
        "DATABASE": Spoken("Description", "Beschreibung"),
    }
)
_STATED: Final = Spoken("Stated by", "Angegeben von")
_KINDS: Final = MappingProxyType(
    {
        "fact": Spoken("a fact somebody stated", "eine Tatsache, die jemand angab"),
        "rule": Spoken(
            "a rule nobody has approved, or that is less than certain",
            "eine Regel, die niemand gebilligt hat oder die weniger als sicher ist",
        ),
        "closure": Spoken("a list declared to be complete", "eine Liste, die als vollständig gilt"),
        "fall-through": Spoken(
            "a source that did not answer", "eine Quelle, die nicht geantwortet hat"
        ),
    }
)
_AN_ASSUMPTION: Final = Spoken("an assumption", "eine Annahme")
_MOST_STEPS: Final = 12
_COMPLETENESS: Final = Spoken("Completeness", "Vollständigkeit")


def boundary(account: Account) -> str:
    """Return which steps rest on somebody's word, and how many do not."""
    speech = account.document.speech
    if not account.steps:
        nothing = speech.say(
            "<p>Nothing is concluded, so nothing rests on a word.</p>",
            "<p>Nichts ist gefolgert, also beruht nichts auf einem Wort.</p>",
        )
        return f"{nothing}{_assumptions(account)}"
    resting = _resting(account)
    rest = len(account.steps) - len(resting)
    from_where = speech.say(
        "by rules from rows of databases and configuration",
        "nach Regeln aus Zeilen von Datenbanken und Konfiguration",
    )
    head = speech.say(
        "<p>No step rests on anybody's word: everything follows {0}.</p>",
        "<p>Kein Schritt beruht auf jemandes Wort: alles folgt {0}.</p>",
        from_where,
    )
    if resting:
        head = speech.say(
            "<p>Of {0} {1} follow {2}. The others ({3}) rest, directly or through others, on a "
            "word that was taken.</p>",
            "<p>Insgesamt {0}. Davon folgen {2}: {1}. Auf einem Wort, das genommen wurde, beruhen "
            "unmittelbar oder über andere: {3}.</p>",
            speech.counted(len(account.steps), "step"),
            speech.number(rest),
            from_where,
            speech.number(len(resting)),
        )
    return head + _sources(account) + _assumptions(account)


def _resting(account: Account) -> set[int]:
    """Return the steps that rest on an assumption; premises stand before what rests on them."""
    found: set[int] = set()
    for place, step in enumerate(account.steps):
        if account.taken[place] or any(one.step in found for one in step.premises):
            found.add(place)
    return found


_BELOW_ONE: Final = Spoken("Confidence below 1", "Sicherheit unter 1")
_STEPS: Final = Spoken("Steps", "Schritte")


def _sources(account: Account) -> str:
    document, speech = account.document, account.document.speech
    told = _by_number(step.sources for step in account.steps)
    rows = []
    for place, source in enumerate(document.sources):
        if source["origin"] in _READ:
            continue
        steps = told.get(place, [])
        who = text(source["author"] or source["name"] or source["tier"])
        said = _attested(source.get("attestation"), speech)
        rows.append(
            f"<tr><td><a href=#q{place}>{source_kind(source, speech)}</a><td>{who}{said}"
            f"<td>{_unsure(source['confidence'])}"
            f"<td>{moment(document.record['executed'][place], speech)}"
            f"<td>{_links(account, steps)}"
        )
    if not rows:
        return ""
    names = (
        speech.say("Whose word", "Wessen Wort"),
        speech.say("Who", "Wer"),
        speech.said(_BELOW_ONE),
        speech.say("When", "Wann"),
        speech.said(_STEPS),
    )
    head = "".join(f'<th scope="col">{name}' for name in names)
    label = speech.say("Words taken", "Worte, die genommen wurden")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f"<table><thead><tr>{head}<tbody>{''.join(rows)}</table></div>"
    )


def _attested(attestation: Members | None, speech: Speech) -> str:
    """Say how a word was got: the agent's version, the hashes of prompt and response, the quote."""
    if not attestation:
        return ""
    agent, quote, reviewer = (attestation[name] for name in ("agent", "quote", "reviewer"))
    parts = [
        (speech.say("version", "Fassung"), agent["version"]),
        (speech.say("digest", "Prüfsumme"), agent["digest"]),
        (speech.say("prompt", "Anfrage"), attestation["prompt"]),
        (speech.say("response", "Antwort"), attestation["response"]),
        (
            speech.say("quoted from", "zitiert aus"),
            quote and f"{quote['document']}: “{quote['text']}”",
        ),
        (
            speech.say("reviewed by", "durchgesehen von"),
            reviewer and f"{reviewer['name']}, {reviewer['at']}",
        ),
        (speech.say("note", "Anmerkung"), attestation["note"]),
    ]
    shown = (f"{name}: {text(said)}" for name, said in parts if said)
    return "".join(f'<br><span class="quiet">{one}</span>' for one in shown)


def _unsure(confidence: str) -> str:
    """Return a confidence; that something is certain needs no words."""
    return "" if confidence == "1" else text(confidence)


def _assumptions(account: Account) -> str:
    document = account.document
    if not document.assumptions:
        return ""
    resting, speech = _by_number(account.taken), document.speech
    items = []
    for place, assumption in enumerate(document.assumptions):
        steps = resting.get(place, [])
        if assumption["text"].startswith(CONFLICT):
            # It is no word that anything rests on: two tiers say different values.
            items.append(f'<li id="as{place}"><strong>{text(document.assumption(place))}</strong>')
            continue
        kind = speech.said(_KINDS.get(assumption["kind"], _AN_ASSUMPTION))
        links = f" {speech.said(_STEPS)}: {_links(account, steps)}." if steps else ""
        sure = _unsure(assumption["confidence"])
        if sure:
            sure = speech.say("; confidence {0}", "; Sicherheit {0}", sure)
        said = (
            speech.say(
                "{0}; the verdict counts on it{1}.",
                "{0}; das Ergebnis rechnet mit ihr{1}.",
                kind,
                sure,
            )
            if place in document.header["under"]
            else speech.say(
                "{0}; the verdict does not count on it{1}.",
                "{0}; das Ergebnis rechnet nicht mit ihr{1}.",
                kind,
                sure,
            )
        )
        items.append(
            f'<li id="as{place}"><strong>{text(document.assumption(place))}</strong><br>'
            f'<span class="quiet">{said}</span>{links}'
        )
    title = speech.say("Assumptions", "Annahmen")
    return f"<h3>{title}</h3><ol>{''.join(items)}</ol>"


def _by_number(numbers: Iterable[Iterable[int]]) -> dict[int, list[int]]:
    """Return for each number the places at which it stands."""
    found: dict[int, list[int]] = {}
    for place, several in enumerate(numbers):
        for one in several:
            found.setdefault(one, []).append(place)
    return found


def _links(account: Account, steps: list[int]) -> str:
    links = [step_link(account, place) for place in steps]
    return listed(links, _MOST_STEPS, account.document.speech)


# Every node of the certificate is listed with its rule, its substitution, its premises and its
# confidence, every rule is printed from what a checker checks, and every source has its query,
# parameters, count and hash.

_MOST_ROWS: Final = 50
_MOST_KEYS: Final = 20


def audit(account: Account, told: Collection[int] | None = None, *, folded: bool = False) -> str:
    """Return the audit; `told` are the steps that are told, with their sources, or all.

    Where it is `folded` each part can be opened, and says how long it is.
    """
    speech = account.document.speech
    say = speech.say
    parts = (
        (speech.said(_STEPS), "steps", _steps(account, told)),
        (say("Rules", "Regeln"), "rules", _rules(account)),
        (say("Sources", "Quellen"), "sources", _audit_sources(account, told)),
        (
            say("Rows, and what else may be", "Zeilen, und was sonst sein kann"),
            "rows",
            _rows(account, short=told is not None),
        ),
        (say("Closed sets", "Geschlossene Mengen"), "closed", _closure(account)),
        (say("Certificates inside", "Bescheinigungen darin"), "inside", _proofs(account)),
        (say("The certificate's head", "Kopf der Bescheinigung"), "head", _head(account)),
    )
    shown = [one for one in parts if one[2]]
    if folded:
        sizes = {"steps": len(account.steps), "rules": len(account.document.rules)}
        sizes["sources"] = len(account.document.sources)
        return "".join(
            f'<details><summary id="{name}"><h3>{title}'
            f"{f' ({speech.number(sizes[name])})' if name in sizes else ''}</h3></summary>{body}"
            "</details>"
            for title, name, body in shown
        )
    return "".join(
        f'<section aria-labelledby="{name}"><h3 id="{name}">{title}</h3>{body}</section>'
        for title, name, body in shown
    )


# ---------------------------------------------------------------------- steps


def _steps(account: Account, told: Collection[int] | None) -> str:
    """Return one row for each step: what it is, by what, resting on what, how sure."""
    if not account.steps:
        return ""
    folded = rows_folded(account)
    order = [place for place in account.order if told is None or place in told]
    left = len(account.order) - len(order)
    speech = account.document.speech
    names = (
        speech.say("Step", "Schritt"),
        speech.say("Fact", "Tatsache"),
        speech.say("By", "Nach"),
        speech.say("Rests on", "Beruht auf"),
        speech.said(_COMPLETENESS),
        speech.said(_BELOW_ONE),
    )
    label = speech.say("Steps of the proof", "Schritte des Beweises")
    head = "".join(f"<th scope=col>{name}" for name in names)
    rows = "\n".join(_step(account, place, told=place not in folded) for place in order)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f"<table><thead><tr>{head}<tbody>{rows}</table></div>"
        f"{f'<p>{left_steps(left, speech)}' if left else ''}{_levels(account, order)}"
    )


def _levels(account: Account, order: Sequence[int]) -> str:
    """Say what the levels of completeness of some steps mean."""
    found = sorted({level_of(account, place) for place in order} - {""})
    told = (level_text(one, account.document.speech) for one in found)
    return f"<p class=quiet>{text('; '.join(told))}." if found else ""


def _step(account: Account, place: int, *, told: bool) -> str:
    """Return a row; it leads to the explanation where the step is told there."""
    step, number = account.steps[place], account.numbers[place]
    by = "<br>".join(part for part in (_basis(account, place), _bindings(account, step)) if part)
    fact = step.fact.replace(NOT_READ.english, account.document.speech.said(NOT_READ))
    cells = (
        f"<a href=#s{number}>{number}</a>" if told else str(number),
        text(fact) + _where(account, step),
        by,
        _premises(account, step),
        text(level_of(account, place)),
        _unsure(step.confidence),
    )
    return f"<tr id=a{number}>{''.join(f'<td>{one}' for one in cells)}"


def _where(account: Account, step: Step) -> str:
    """Say where in the certificate a step stands."""
    if step.kind == ROW:
        group, _, row = step.name.removeprefix("row").partition("_")
        return f"<br>facts[{group}].rows[{row}]"
    node = account.node(step)
    if node is None:
        above = owner(account, step)
        return "" if above is None else f"<br>in nodes[{above}]"
    found = f"<br>nodes[{account.place(step)}]"
    if node["kind"] != "fact":
        return found
    return f"{found}, facts[{int(node['facts'])}].rows[{int(node['row'])}]"


def _basis(account: Account, place: int) -> str:
    """Say by which rule, from which sources and under which assumptions."""
    step, speech = account.steps[place], account.document.speech
    parts = []
    if step.rule is not None:
        name = rule_name(account.document.rules[step.rule]["id"], speech)
        parts.append(speech.say("rule {0}", "Regel {0}", f"<a href=#r{step.rule}>{name}</a>"))
    if step.sources:
        links = [_source_link(account, one) for one in step.sources]
        parts.append(speech.say("source {0}", "Quelle {0}", listed(links, _MOST_KEYS, speech)))
    assuming = speech.say("assuming", "angenommen:")
    parts += [f"{assuming} {assumption_link(account, one)}" for one in account.taken[place]]
    if step.note:
        parts.append(text(own_words(step.note, speech)))
    return "<br>".join(parts)


def _bindings(account: Account, step: Step) -> str:
    """Return the substitution; the explanation says what it compares."""
    return ", ".join(f"{text(name)} = {text(said)}" for name, said in account.bindings(step))


def _premises(account: Account, step: Step) -> str:
    """List the premises, each after the place of the literal in the body that it stands for."""
    found: dict[int, list[str]] = {}
    for one in step.premises:
        number = account.numbers[one.step]
        found.setdefault(one.place, []).append(f"<a href=#a{number}>{number}</a>")
    return "<br>".join(
        f"{f'{place}: ' if place else ''}{listed(links, _MOST_ROWS, account.document.speech)}"
        for place, links in found.items()
    )


def _source_link(account: Account, place: int) -> str:
    return f"<a href=#q{place}>{source_name(account.document.sources[place])} {place}</a>"


# ---------------------------------------------------------------------- rules and sources


def _rules(account: Account) -> str:
    """Print the rules from what is checked, never from a text beside it."""
    document = account.document
    return "".join(
        f'<article id="r{place}"><h4>{_titled(rule["id"], document.speech)}</h4>{block(shown)}'
        f"{terms(_people(account, place))}</article>"
        for place, (rule, shown) in enumerate(zip(document.rules, document.rule_texts, strict=True))
    )


def _titled(rule_id: str, speech: Speech) -> str:
    """Return a rule's name with the id that commands take."""
    name = rule_name(rule_id, speech)
    return name if name == text(rule_id) else f"{capital(name)} {code(rule_id)}"


def _people(account: Account, place: int) -> tuple[tuple[str, str], ...]:
    """Say whose rule it is, which version, and who approved it or that nobody did."""
    document = account.document
    rule, speech = document.rules[place], document.speech
    titles = (
        (speech.say("Author", "Verfasser"), "author"),
        (speech.say("Owner", "Verantwortlich"), "owner"),
        (speech.said(_VERSION), "version"),
    )
    cites = document.program.rules[place].attributes.get("cites", "")
    return (
        *((title, text(rule.get(name) or "")) for title, name in titles),
        (speech.say("Cites", "Genannte Quelle"), text(cites)),
        (speech.say("Approval", "Billigung"), said_of_approval(document, place)),
        ("Hash", code(document.rule_digests[place])),
    )


_VERSION: Final = Spoken("Version", "Fassung")


def _audit_sources(account: Account, told: Collection[int] | None) -> str:
    """Return the sources; those that were asked one query stand together."""
    groups: dict[tuple[str, str, str, str | None], list[int]] = {}
    used = {one for place in told or () for one in account.steps[place].sources}
    for place, source in enumerate(account.document.sources):
        if told is not None and place not in used:
            continue
        key = (source["tier"], source["origin"], source["name"], source["query"])
        groups.setdefault(key, []).append(place)
    left = len(account.document.sources) - sum(map(len, groups.values()))
    more = account.document.speech.counted(left, "more source")
    rest = account.document.speech.say(
        "<p>{0} stand in the certificate.", "<p>{0} in der Bescheinigung.", more
    )
    rest = rest if left else ""
    return "".join(_asked(account, places) for places in groups.values()) + rest


def _asked(account: Account, places: list[int]) -> str:
    document, say = account.document, account.document.speech.say
    first, speech = document.sources[places[0]], document.speech
    origin = text(first["origin"])
    origin = f"{text(origin_of(first, speech))} ({origin})" if speech.german else origin
    readings = {
        place: _reading(
            document.sources[place], document.record["executed"][place], document.speech
        )
        for place in places
    }
    # What all readings have in common is said once.
    common = [
        name
        for at, (name, said) in enumerate(readings[places[0]].items())
        if at >= _UNLIKE and all(one[name] == said for one in readings.values())
    ]
    shared = terms(
        (
            (
                say("Tier and origin", "Stufe und Herkunft"),
                f"{text(tier_of(first, speech))}, {origin}",
            ),
            (say("Query", "Anfrage"), block(first["query"]) if first["query"] else ""),
            (say("Feeds", "Speist"), ", ".join(map(code, document.fed_by(places)))),
            *((name, readings[places[0]][name]) for name in common),
        )
    )
    names = [name for name in readings[places[0]] if name not in common]
    head = "".join(f"<th scope=col>{name}" for name in (say("Source", "Quelle"), *names))
    rows = "\n".join(
        f"<tr id=q{place}><td>{place}{''.join(f'<td>{said[name]}' for name in names)}"
        for place, said in readings.items()
    )
    name = source_name(first, speech)
    label = say("Readings of {0}, from {1}", "Abfragen von {0}, ab {1}", name, str(places[0]))
    return (
        f'<article><h4>{name}</h4>{shared}<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{label}"><table><thead><tr>{head}<tbody>{rows}'
        "</table></div></article>"
    )


_UNLIKE: Final = 3
"""The first headings of a reading that are never said once for several."""


def _reading(source: Members, time: str | None, speech: Speech) -> dict[str, str]:
    """Return what is said of one reading of a source, by heading."""
    say, parameters = speech.say, source["parameters"]
    return {
        # What was asked for may be about people: the certificate has it, and a redacted one not.
        say("Parameters", "Parameter"): (
            speech.counted(len(parameters), "value") if parameters else ""
        ),
        say("Rows", "Zeilen"): speech.number(source["rows"]),
        say("Hash of the rows", "Hash der Zeilen"): code(source["hash"]),
        say("Read", "Gelesen"): moment(time, speech),
        say("Snapshot", "Abzug"): text(source["snapshot"] or ""),
        speech.said(_SAID.get(source["origin"], _STATED)): text(source["author"] or ""),
        say("Confidence", "Sicherheit"): _unsure(source["confidence"]),
    }


# ---------------------------------------------------------------------- rows


def _rows(account: Account, *, short: bool) -> str:
    document = account.document
    told = _told(account)
    parts = [_group(account, place, told.get(place, set())) for place in range(len(document.facts))]
    for place, one in enumerate(document.members["open"]):
        shown = _atoms(account, one["predicate"], [one["row"]])
        place_of = code(f"open[{place}]")
        reason = text(own_words(one["reason"], document.speech))
        english, german = "<p>{0}: {1} may be: {2}", "<p>{0}: {1} kann sein: {2}"
        parts.append(document.speech.say(english, german, place_of, shown, reason))
    parts += [_coverage(account, one) for one in document.members["coverage"]]
    parts += [
        _summary(place, one, document.speech)
        for place, one in enumerate(document.members["summaries"])
    ]
    parts = [one for one in parts if one]
    left = len(parts) - _MOST_ROWS if short else 0
    if left > 0:
        english = "<p>{0} more of this kind stand in the certificate."
        german = "<p>{0} weitere dieser Art in der Bescheinigung."
        parts[_MOST_ROWS:] = [document.speech.say(english, german, document.speech.number(left))]
    return "".join(parts)


def _atoms(account: Account, predicate: str, rows: list[list[str | None]]) -> str:
    """Return rows of a predicate in the spelling of the certificate."""
    shown = [code(account.document.atom(predicate, row), 300) for row in rows[:_MOST_KEYS]]
    every = [*shown, *[""] * (len(rows) - len(shown))]
    return listed(every, _MOST_KEYS, account.document.speech)


def _told(account: Account) -> dict[int, set[int]]:
    """Return the rows of each fact group that are steps."""
    told: dict[int, set[int]] = {}
    for step in account.steps:
        node = account.node(step)
        if step.kind == ROW:
            group, _, row = step.name.removeprefix("row").partition("_")
            told.setdefault(int(group), set()).add(int(row))
        elif node is not None and node["kind"] == "fact":
            told.setdefault(node["facts"], set()).add(node["row"])
    return told


def _group(account: Account, place: int, told: set[int]) -> str:
    """Return the rows of a fact group that are no steps; of many the first."""
    group = account.document.facts[place]
    rows = [row for at, row in enumerate(group["rows"]) if at not in told]
    if not rows:
        return ""
    shown = [code(account.document.atom(group["predicate"], row), 300) for row in rows[:_MOST_ROWS]]
    more = len(rows) - len(shown)
    speech = account.document.speech
    rest = speech.say(
        "<li>and {0} more, in the certificate",
        "<li>und {0} weitere, in der Bescheinigung",
        speech.number(more),
    )
    rest = rest if more > 0 else ""
    title = speech.say(
        "{0} from {1}, {2} besides the steps",
        "{0} aus {1}, {2} neben den Schritten",
        code(f"facts[{place}]"),
        _source_link(account, group["source"]),
        speech.counted(len(rows), "row"),
    )
    return f"<p>{title}:<ul>{''.join(f'<li>{one}' for one in shown)}{rest}</ul>"


def _coverage(account: Account, one: Members) -> str:
    """Say for which keys everything was asked."""
    arity = len(account.document.columns.get(one["predicate"], ()))
    patterns = []
    for key in one["keys"]:
        pattern: list[str | None] = [None] * arity
        for column, value in zip(one["columns"], key, strict=True):
            pattern[column] = value
        patterns.append(pattern)
    sources = ", ".join(_source_link(account, source) for source in one["sources"])
    asked = _atoms(account, one["predicate"], patterns)
    say = account.document.speech.say
    told = say(
        "<p>Asked in full: {0}, answered by {1}",
        "<p>Vollständig gefragt: {0}, geantwortet hat {1}",
        asked,
        sources or say("nobody", "niemand"),
    )
    if "for" not in one:
        return told
    rule = account.document.rules[one["for"][0]]["id"]
    return told + say(
        "; of these only the rows are shown that pass the comparisons of {0}",
        "; gezeigt sind davon nur die Zeilen, die die Vergleiche von {0} bestehen",
        code(rule),
    )


def _summary(place: int, one: Members, speech: Speech) -> str:
    return speech.say(
        "<p>{0}: {1} rows of an aggregate are not in the certificate; {2}, hash {3}",
        "<p>{0}: {1} zusammengefasste Zeilen stehen nicht in der Bescheinigung; {2}, Hash {3}",
        code(f"summaries[{place}]"),
        speech.number(one["count"]),
        speech.counted(len(one["chunks"]), "chunk"),
        code(one["hash"]),
    )


def _closure(account: Account) -> str:
    """Say what can be of each derived predicate that was asked about."""
    closure = account.document.members["closure"]
    rows = dict(closure["rows"])
    parts = []
    for entry in closure["entries"]:
        name = entry["predicate"]
        speech = account.document.speech
        can = _atoms(account, name, rows.get(name, [])) or speech.say("no row", "keine Zeile")
        orders = "; ".join(_order(account, *order) for order in entry["orders"])
        keys = speech.counted(len(entry["keys"]), "key")
        english = "<p>Of {0} for {1} there can be {2}. Rules: {3}"
        german = "<p>Von {0} kann es für {1} geben: {2}. Regeln: {3}"
        parts.append(speech.say(english, german, code(name), keys, can, orders))
    return "".join(parts)


def _order(account: Account, rule: int, order: list[int]) -> str:
    """Say in which order the body of a rule was followed."""
    places = ", ".join(str(at + 1) for at in order)
    name = f'<a href="#r{rule}">{text(account.document.rules[rule]["id"])}</a>'
    said = account.document.speech.say("{0}, literals {1}", "{0}, Literale {1}", name, places)
    return said if places else name


def _proofs(account: Account) -> str:
    """List the certificates that facts of this one rest on."""
    parts = []
    for place, proof in enumerate(account.document.members.get("proofs", ())):
        header = proof["header"]
        name, row = header["goal"]
        goal = f"{name}({', '.join(row)})"
        speech = account.document.speech
        parts.append(
            speech.say(
                "<p>{0}: {1} {2} under {3}, confidence {4}, {5}, identity {6}",
                "<p>{0}: {1} {2} unter {3}, Sicherheit {4}, {5}, Identität {6}",
                code(f"proofs[{place}]"),
                text(header["verdict"]),
                code(goal),
                speech.counted(len(header["under"]), "assumption"),
                text(header["confidence"]),
                speech.counted(len(proof["nodes"]), "node"),
                code(proof["identity"]),
            )
        )
    return "".join(parts)


# ---------------------------------------------------------------------- head


def _approvals(account: Account) -> Iterator[str]:
    """Say who approved which rules; the hash of a rule names it."""
    document = account.document
    ids = (rule["id"] for rule in document.rules)
    named = dict(zip(document.rule_digests, ids, strict=True))
    for one in document.header["approvals"]:
        signed = signed_with(one["key"], document.speech)
        rule, by = text(named[one["rule"]]), text(one["by"])
        at = moment(one["at"], document.speech)
        yield document.speech.say(
            "{0} by {1}, {2}, {3}", "{0} von {1}, {2}, {3}", rule, by, at, signed
        )


def _head(account: Account) -> str:
    document, speech = account.document, account.document.speech
    header, record, say = document.header, document.record, speech.say
    created = moment(record["created"], speech)
    return terms(
        (
            (say("Goal", "Ziel"), code(document.goal())),
            ("Format", code(document.members["format"])),
            (say("Identity of the proof", "Identität des Beweises"), code(document.identity)),
            (say("Digest of the file", "Prüfsumme der Datei"), code(document.members["digest"])),
            (say("Pin of the rules", "Prüfsumme der Regeln"), code(header["program"])),
            (speech.said(_COMPLETENESS), text(level_text(header["level"], speech))),
            (say("Search", "Suche"), text(by_code(header["search"], SEARCHED, speech))),
            (
                say("Snapshot", "Abzug"),
                text(by_code(header["snapshot"] or "", SNAPSHOTS, speech)),
            ),
            (
                say("Facts as recorded on", "Tatsachen, verzeichnet am"),
                moment(header["as_of"], speech),
            ),
            (say("Asked by", "Gefragt von"), text(header.get("asked_by") or "")),
            (say("Decision", "Entscheidung"), text(own_words(header["decision"] or "", speech))),
            (say("Supersedes", "Ersetzt"), text(header["supersedes"] or "")),
            (say("Libraries", "Bibliotheken"), ", ".join(code(one) for one in header["libraries"])),
            (say("Approvals", "Billigungen"), "<br>".join(_approvals(account))),
            (
                say("Decided", "Entschieden"),
                say("{0} by {1}", "{0} von {1}", created, text(record["engine"])),
            ),
            (say("Host", "Rechner"), text(record["host"] or "")),
        )
    )
