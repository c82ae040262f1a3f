"""The audit: every step, rule, source and row, and which leaves are a model's word."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import counted
from constat.evaluation import CONFLICT
from constat.proof.export.document import capital
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
    source_kind,
    source_name,
    step_link,
    terms,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from constat.proof.export.account import Account
    from constat.proof.export.document import Members
    from constat.proof.export.steps import Step

# Every source that is no configuration and no database, every rule that nobody approved or that is
# less than certain, and every declared completeness is listed, with who said it and which steps
# rest on it.

# Rows of these are read and taken by nobody's word.
_READ: Final = frozenset({"CONFIG", "DATABASE"})
_KINDS: Final = MappingProxyType(
    {
        "fact": "a fact somebody stated",
        "rule": "a rule nobody has approved, or that is less than certain",
        "closure": "a list declared to be complete",
        "fall-through": "a source that did not answer",
    }
)
_MOST_STEPS: Final = 12


def boundary(account: Account) -> str:
    """Return which steps rest on somebody's word, and how many do not."""
    if not account.steps:
        return f"<p>Nothing is concluded, so nothing rests on a word.</p>{_assumptions(account)}"
    resting = _resting(account)
    rest = len(account.steps) - len(resting)
    from_where = "by rules from rows of databases and configuration"
    head = f"<p>No step rests on anybody's word: everything follows {from_where}.</p>"
    if resting:
        head = (
            f"<p>Of {counted(len(account.steps), 'step')} {rest:,} follow {from_where}. The others "
            f"({len(resting):,}) rest, directly or through others, on a word that was taken.</p>"
        )
    return head + _sources(account) + _assumptions(account)


def _resting(account: Account) -> set[int]:
    """Return the steps that rest on an assumption; premises stand before what rests on them."""
    found: set[int] = set()
    for place, step in enumerate(account.steps):
        if account.taken[place] or any(one.step in found for one in step.premises):
            found.add(place)
    return found


def _sources(account: Account) -> str:
    document = account.document
    told = _by_number(step.sources for step in account.steps)
    rows = []
    for place, source in enumerate(document.sources):
        if source["origin"] in _READ:
            continue
        steps = told.get(place, [])
        who = text(source["author"] or source["name"] or source["tier"])
        said = _attested(source.get("attestation"))
        rows.append(
            f"<tr><td><a href=#q{place}>{source_kind(source)}</a><td>{who}{said}"
            f"<td>{_unsure(source['confidence'])}<td>{moment(document.record['executed'][place])}"
            f"<td>{_links(account, steps)}"
        )
    if not rows:
        return ""
    names = ("Whose word", "Who", "Confidence below 1", "When", "Steps")
    head = "".join(f'<th scope="col">{name}' for name in names)
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Words taken">'
        f"<table><thead><tr>{head}<tbody>{''.join(rows)}</table></div>"
    )


def _attested(attestation: Members | None) -> str:
    """Say how a word was got: the agent's version, the hashes of prompt and response, the quote."""
    if not attestation:
        return ""
    agent, quote, reviewer = (attestation[name] for name in ("agent", "quote", "reviewer"))
    parts = [
        ("version", agent["version"]),
        ("digest", agent["digest"]),
        ("prompt", attestation["prompt"]),
        ("response", attestation["response"]),
        ("quoted from", quote and f"{quote['document']}: “{quote['text']}”"),
        ("reviewed by", reviewer and f"{reviewer['name']}, {reviewer['at']}"),
        ("note", attestation["note"]),
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
    resting = _by_number(account.taken)
    items = []
    for place, assumption in enumerate(document.assumptions):
        steps = resting.get(place, [])
        if assumption["text"].startswith(CONFLICT):
            # It is no word that anything rests on: two tiers say different values.
            items.append(f'<li id="as{place}"><strong>{text(assumption["text"])}</strong>')
            continue
        counts = "counts" if place in document.header["under"] else "does not count"
        kind = _KINDS.get(assumption["kind"], "an assumption")
        links = f" Steps: {_links(account, steps)}." if steps else ""
        sure = _unsure(assumption["confidence"])
        said = f"{kind}; the verdict {counts} on it{f'; confidence {sure}' if sure else ''}."
        items.append(
            f'<li id="as{place}"><strong>{text(assumption["text"])}</strong><br>'
            f'<span class="quiet">{said}</span>{links}'
        )
    return f"<h3>Assumptions</h3><ol>{''.join(items)}</ol>"


def _by_number(numbers: Iterable[Iterable[int]]) -> dict[int, list[int]]:
    """Return for each number the places at which it stands."""
    found: dict[int, list[int]] = {}
    for place, several in enumerate(numbers):
        for one in several:
            found.setdefault(one, []).append(place)
    return found


def _links(account: Account, steps: list[int]) -> str:
    return listed([step_link(account, place) for place in steps], _MOST_STEPS)


# Every node of the certificate is listed with its rule, its substitution, its premises and its
# confidence, every rule is printed from what a checker checks, and every source has its query,
# parameters, count and hash.

_MOST_ROWS: Final = 50
_MOST_KEYS: Final = 20


def audit(account: Account, told: Collection[int] | None = None, *, folded: bool = False) -> str:
    """Return the audit; `told` are the steps that are told, with their sources, or all.

    Where it is `folded` each part can be opened, and says how long it is.
    """
    parts = (
        ("Steps", "steps", _steps(account, told)),
        ("Rules", "rules", _rules(account)),
        ("Sources", "sources", _audit_sources(account, told)),
        ("Rows, and what else may be", "rows", _rows(account, short=told is not None)),
        ("Closed sets", "closed", _closure(account)),
        ("Certificates inside", "inside", _proofs(account)),
        ("The certificate's head", "head", _head(account)),
    )
    shown = [one for one in parts if one[2]]
    if folded:
        sizes = {"steps": len(account.steps), "rules": len(account.document.rules)}
        sizes["sources"] = len(account.document.sources)
        return "".join(
            f'<details><summary id="{name}"><h3>{title}'
            f"{f' ({sizes[name]:,})' if name in sizes else ''}</h3></summary>{body}</details>"
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
    names = ("Step", "Fact", "By", "Rests on", "Completeness", "Confidence below 1")
    head = "".join(f"<th scope=col>{name}" for name in names)
    rows = "\n".join(_step(account, place, told=place not in folded) for place in order)
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Steps of the proof">'
        f"<table><thead><tr>{head}<tbody>{rows}</table></div>"
        f"{f'<p>{left_steps(left)}' if left else ''}{_levels(account, order)}"
    )


def _levels(account: Account, order: Sequence[int]) -> str:
    """Say what the levels of completeness of some steps mean."""
    found = sorted({level_of(account, place) for place in order} - {""})
    return f"<p class=quiet>{text('; '.join(map(level_text, found)))}." if found else ""


def _step(account: Account, place: int, *, told: bool) -> str:
    """Return a row; it leads to the explanation where the step is told there."""
    step, number = account.steps[place], account.numbers[place]
    by = "<br>".join(part for part in (_basis(account, place), _bindings(account, step)) if part)
    cells = (
        f"<a href=#s{number}>{number}</a>" if told else str(number),
        text(step.fact) + _where(account, step),
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
    step = account.steps[place]
    parts = []
    if step.rule is not None:
        name = rule_name(account.document.rules[step.rule]["id"])
        parts.append(f"rule <a href=#r{step.rule}>{name}</a>")
    if step.sources:
        links = [_source_link(account, one) for one in step.sources]
        parts.append(f"source {listed(links, _MOST_KEYS)}")
    parts += [f"assuming {assumption_link(account, one)}" for one in account.taken[place]]
    if step.note:
        parts.append(text(step.note))
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
        f"{f'{place}: ' if place else ''}{listed(links, _MOST_ROWS)}"
        for place, links in found.items()
    )


def _source_link(account: Account, place: int) -> str:
    return f"<a href=#q{place}>{source_name(account.document.sources[place])} {place}</a>"


# ---------------------------------------------------------------------- rules and sources


def _rules(account: Account) -> str:
    """Print the rules from what is checked, never from a text beside it."""
    document = account.document
    return "".join(
        f'<article id="r{place}"><h4>{_titled(rule["id"])}</h4>{block(shown)}'
        f"{terms(_people(account, place))}</article>"
        for place, (rule, shown) in enumerate(zip(document.rules, document.rule_texts, strict=True))
    )


def _titled(rule_id: str) -> str:
    """Return a rule's name with the id that commands take."""
    name = rule_name(rule_id)
    return name if name == text(rule_id) else f"{capital(name)} {code(rule_id)}"


def _people(account: Account, place: int) -> tuple[tuple[str, str], ...]:
    """Say whose rule it is, which version, and who approved it or that nobody did."""
    rule = account.document.rules[place]
    titles = (("Author", "author"), ("Owner", "owner"), ("Version", "version"))
    return (
        *((title, text(rule.get(name) or "")) for title, name in titles),
        ("Cites", text(account.document.program.rules[place].attributes.get("cites", ""))),
        ("Approval", said_of_approval(account.document, place)),
        ("Hash", code(account.document.rule_digests[place])),
    )


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
    rest = f"<p>{counted(left, 'more source')} stand in the certificate." if left else ""
    return "".join(_asked(account, places) for places in groups.values()) + rest


def _asked(account: Account, places: list[int]) -> str:
    document = account.document
    first = document.sources[places[0]]
    readings = {
        place: _reading(document.sources[place], document.record["executed"][place])
        for place in places
    }
    # What all readings have in common is said once.
    common = [
        name for name, said in readings[places[0]].items() if _is_common(name, said, readings)
    ]
    shared = terms(
        (
            ("Tier and origin", f"{text(first['tier'])}, {text(first['origin'])}"),
            ("Query", block(first["query"]) if first["query"] else ""),
            ("Feeds", ", ".join(map(code, document.fed_by(places)))),
            *((name, readings[places[0]][name]) for name in common),
        )
    )
    names = [name for name in readings[places[0]] if name not in common]
    head = "".join(f"<th scope=col>{name}" for name in ("Source", *names))
    rows = "\n".join(
        f"<tr id=q{place}><td>{place}{''.join(f'<td>{said[name]}' for name in names)}"
        for place, said in readings.items()
    )
    name = source_name(first)
    return (
        f'<article><h4>{name}</h4>{shared}<div class="scroll" tabindex="0" role="region" '
        f'aria-label="Readings of {name}, from {places[0]}"><table><thead><tr>{head}<tbody>{rows}'
        "</table></div></article>"
    )


def _reading(source: Members, time: str | None) -> dict[str, str]:
    """Return what is said of one reading of a source, by heading."""
    return {
        # What was asked for may be about people: the certificate has it, and a redacted one not.
        "Parameters": counted(len(source["parameters"]), "value") if source["parameters"] else "",
        "Rows": f"{source['rows']:,}",
        "Hash of the rows": code(source["hash"]),
        "Read": moment(time),
        "Snapshot": text(source["snapshot"] or ""),
        "Stated by": text(source["author"] or ""),
        "Confidence": _unsure(source["confidence"]),
    }


def _is_common(name: str, said: str, readings: dict[int, dict[str, str]]) -> bool:
    unlike = {"Parameters", "Rows", "Hash of the rows"}
    return name not in unlike and all(one[name] == said for one in readings.values())


# ---------------------------------------------------------------------- rows


def _rows(account: Account, *, short: bool) -> str:
    document = account.document
    told = _told(account)
    parts = [_group(account, place, told.get(place, set())) for place in range(len(document.facts))]
    for place, one in enumerate(document.members["open"]):
        shown = _atoms(account, one["predicate"], [one["row"]])
        parts.append(f"<p>{code(f'open[{place}]')}: {shown} may be: {text(one['reason'])}")
    parts += [_coverage(account, one) for one in document.members["coverage"]]
    parts += [_summary(place, one) for place, one in enumerate(document.members["summaries"])]
    parts = [one for one in parts if one]
    left = len(parts) - _MOST_ROWS if short else 0
    if left > 0:
        parts[_MOST_ROWS:] = [f"<p>{left:,} more of this kind stand in the certificate."]
    return "".join(parts)


def _atoms(account: Account, predicate: str, rows: list[list[str | None]]) -> str:
    """Return rows of a predicate in the spelling of the certificate."""
    shown = [code(account.document.atom(predicate, row), 300) for row in rows[:_MOST_KEYS]]
    return listed([*shown, *[""] * (len(rows) - len(shown))], _MOST_KEYS)


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
    rest = f"<li>and {more:,} more, in the certificate" if more > 0 else ""
    source = _source_link(account, group["source"])
    title = (
        f"{code(f'facts[{place}]')} from {source}, {counted(len(rows), 'row')} besides the steps"
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
    told = f"<p>Asked in full: {asked}, answered by {sources or 'nobody'}"
    if "for" not in one:
        return told
    rule = account.document.rules[one["for"][0]]["id"]
    return f"{told}; of these only the rows are shown that pass the comparisons of {code(rule)}"


def _summary(place: int, one: Members) -> str:
    chunks = len(one["chunks"])
    return (
        f"<p>{code(f'summaries[{place}]')}: {one['count']:,} rows of an aggregate are not in the "
        f"certificate; {counted(chunks, 'chunk')}, hash {code(one['hash'])}"
    )


def _closure(account: Account) -> str:
    """Say what can be of each derived predicate that was asked about."""
    closure = account.document.members["closure"]
    rows = dict(closure["rows"])
    parts = []
    for entry in closure["entries"]:
        name = entry["predicate"]
        can = _atoms(account, name, rows.get(name, [])) or "no row"
        orders = "; ".join(_order(account, *order) for order in entry["orders"])
        keys = counted(len(entry["keys"]), "key")
        parts.append(f"<p>Of {code(name)} for {keys} there can be {can}. Rules: {orders}")
    return "".join(parts)


def _order(account: Account, rule: int, order: list[int]) -> str:
    """Say in which order the body of a rule was followed."""
    places = ", ".join(str(at + 1) for at in order)
    name = f'<a href="#r{rule}">{text(account.document.rules[rule]["id"])}</a>'
    return f"{name}, literals {places}" if places else name


def _proofs(account: Account) -> str:
    """List the certificates that facts of this one rest on."""
    parts = []
    for place, proof in enumerate(account.document.members.get("proofs", ())):
        header = proof["header"]
        name, row = header["goal"]
        goal = f"{name}({', '.join(row)})"
        under = counted(len(header["under"]), "assumption")
        parts.append(
            f"<p>{code(f'proofs[{place}]')}: {text(header['verdict'])} {code(goal)} under {under}, "
            f"confidence {text(header['confidence'])}, {counted(len(proof['nodes']), 'node')}, "
            f"identity {code(proof['identity'])}"
        )
    return "".join(parts)


# ---------------------------------------------------------------------- head


def _approvals(account: Account) -> Iterator[str]:
    """Say who approved which rules; the hash of a rule names it."""
    document = account.document
    ids = (rule["id"] for rule in document.rules)
    named = dict(zip(document.rule_digests, ids, strict=True))
    for one in document.header["approvals"]:
        signed = "not signed" if one["key"] is None else f"signed with {code(one['key'])}"
        rule, by = text(named[one["rule"]]), text(one["by"])
        yield f"{rule} by {by}, {moment(one['at'])}, {signed}"


def _head(account: Account) -> str:
    document = account.document
    header, record = document.header, document.record
    return terms(
        (
            ("Goal", code(document.goal())),
            ("Format", code(document.members["format"])),
            ("Identity of the proof", code(document.identity)),
            ("Digest of the file", code(document.members["digest"])),
            ("Pin of the rules", code(header["program"])),
            ("Completeness", text(level_text(header["level"]))),
            ("Search", text(header["search"])),
            ("Snapshot", text(header["snapshot"] or "")),
            ("Facts as recorded on", moment(header["as_of"])),
            ("Asked by", text(header.get("asked_by") or "")),
            ("Decision", text(header["decision"] or "")),
            ("Supersedes", text(header["supersedes"] or "")),
            ("Libraries", ", ".join(code(one) for one in header["libraries"])),
            ("Approvals", "<br>".join(_approvals(account))),
            ("Decided", f"{moment(record['created'])} by {text(record['engine'])}"),
            ("Host", text(record["host"] or "")),
        )
    )
