"""A draft of the notice that somebody gets about a decision.

In: the bytes of a certificate.  Out: Markdown with places in brackets for what only the sender
knows.  Invariants: the reasons of a "no" are those of the certificate, in its order and at most
four; where its rules name none, they are the sentences of what decides it; nothing is said that the
certificate does not hold.

Example: the reason ``R01`` of ``approved(A104)`` stands as "Income ... is 1,700, less than ...".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.proof.export.account import account_of, reading_certificate
from constat.proof.export.denial import MOST_REASONS, decisive, of_veiled
from constat.proof.export.document import capital
from constat.proof.export.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.proof.export.account import Account


@reading_certificate()
def to_letter(certificate: bytes) -> str:
    """Return the letter; ``ValueError`` for what is no certificate."""
    return "\n\n".join(_parts(account_of(certificate))) + "\n"


def _parts(account: Account) -> Iterator[str]:
    document = account.document
    day = document.record["created"][:10]
    yield "[name and address of who decides]"
    yield "[name and address of the person concerned]"
    yield "[date of this letter]"
    yield f"# {escaped(account.headline)}"
    asked = document.header.get("asked_by")
    who = f" for {escaped(asked)}" if asked else ""
    yield f"This was decided on {day}{who}. The question was: {escaped(account.question)}"
    if document.header["as_of"]:
        yield f"It is about the facts as they were recorded on {document.header['as_of'][:10]}."
    yield from _because(account)
    yield from _changes(account)
    yield f"What was looked at comes from {_sources(account)}. You may ask to have it corrected."
    yield from _assumed(account)
    yield "[what the law asks to be said here: rights, time limits, authorities]"
    yield f"Reference: `{document.identity}`"


def _because(account: Account) -> Iterator[str]:
    """Say why not, or what is missing."""
    if account.document.header["verdict"] == "UNRESOLVED":
        if account.gaps:
            yield "What is missing to decide it:"
            yield "\n".join(f"- {escaped(capital(gap.words))}" for gap in account.gaps)
        return
    if not account.denial:
        # A refusal may be what is proved: whoever is concerned is told why as well.
        said = [account.steps[root].reasoning for root in account.roots[:MOST_REASONS]]
        told = [f"- {escaped(capital(one))}." for one in dict.fromkeys(filter(None, said))]
        if told:
            yield "It was decided so because:"
            yield "\n".join(told)
            yield f"It follows from {_rules(account)}."
        return
    reasons = [f"{capital(one.text)}. ({one.code})" for one in account.reasons]
    reasons = reasons or [f"{capital(one)}." for one in decisive(account.denial)]
    if reasons:
        yield "The principal reasons for this are:"
        yield "\n".join(
            f"{number}. {escaped(reason)}"
            for number, reason in enumerate(reasons[:MOST_REASONS], start=1)
        )
    if account.veiled:
        yield escaped(of_veiled(account.veiled))
    rules = _rules(account)
    if rules:
        yield f"It follows from {rules}."


def _changes(account: Account) -> Iterator[str]:
    """Say what would have turned it: tried when it was decided, and no part of the proof."""
    said = [capital(one["text"]) for one in account.document.changes[:MOST_REASONS]]
    if said:
        yield "Any one of these changes would have given another answer (computed, not proved):"
        yield "\n".join(f"- {escaped(one)}." for one in said)


def _sources(account: Account) -> str:
    names = dict.fromkeys(
        escaped(one["name"] or one["tier"]) for one in account.document.sources if one["rows"]
    )
    return ", ".join(names) or "our rules alone"


def _rules(account: Account) -> str:
    """Name the rules that could have given it: with owner and version."""
    told = []
    by_name = {rule["id"]: (rule, n) for n, rule in enumerate(account.document.rules)}
    given = {one["rule"] for one in account.document.header["approvals"]}
    names = [one.rule for one in account.reasons[:MOST_REASONS]]
    names = names or [path.attempt.rule for one in account.denial[:1] for path in one.paths]
    used = [account.steps[root].rule for root in account.roots[:MOST_REASONS]]
    names = names or [account.document.rules[place]["id"] for place in used if place is not None]
    for name in dict.fromkeys(names):
        rule, place = by_name.get(name, ({}, -1))
        parts = [f"rule {escaped(name)}"]
        parts += [f"version {escaped(rule['version'])}"] if rule.get("version") else []
        parts += [f"of {escaped(rule['owner'])}"] if rule.get("owner") else []
        approved = place < 0 or account.document.rule_digests[place] in given
        parts += [] if approved else ["(nobody approved it)"]
        told.append(" ".join(parts))
    return ", ".join(told)


def _assumed(account: Account) -> Iterator[str]:
    document = account.document
    taken = [escaped(document.assumptions[place]["text"]) for place in document.header["under"]]
    if taken:
        yield f"It rests on what we could not check ourselves: {'; '.join(taken)}."
