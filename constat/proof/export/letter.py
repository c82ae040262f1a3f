"""A draft of the notice that somebody gets about a decision.

In: the bytes of a certificate.  Out: Markdown with places in brackets for what only the sender
knows.  Invariants: the reasons of a "no" are those of the certificate, in its order and at most
four; where its rules name none, they are the sentences of what decides it; nothing is said that the
certificate does not hold.

Example: the reason ``R01`` of ``approved(A104)`` stands as "Income ... is 1,700, less than ...".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.logic import SPOKEN, Kind, Spoken
from constat.proof.export.account import account_of, reading_certificate
from constat.proof.export.denial import MOST_REASONS, decisive, of_veiled
from constat.proof.export.document import capital
from constat.proof.export.markdown import escaped
from constat.proof.sentences import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.proof.export.account import Account
    from constat.proof.export.denial import Reason
    from constat.proof.sentences import Speech


_MOST_RULES: Final = 20


@reading_certificate()
def to_letter(certificate: bytes, speech: Speech = PLAIN) -> str:
    """Return the letter in a language; ``ValueError`` for what is no certificate."""
    return "\n\n".join(_parts(account_of(certificate, speech))) + "\n"


_SENDER: Final = Spoken(
    "[name and address of who decides]", "[Name und Anschrift dessen, der entscheidet]"
)
_RECEIVER: Final = Spoken(
    "[name and address of the person concerned]", "[Name und Anschrift der betroffenen Person]"
)
_DAY: Final = Spoken("[date of this letter]", "[Datum dieses Schreibens]")
_DECIDED: Final = Spoken(
    "This was decided on {0}. The question was: {1}",
    "Das wurde am {0} entschieden. Die Frage war: {1}",
)
_DECIDED_FOR: Final = Spoken(
    "This was decided on {0} for {2}. The question was: {1}",
    "Das wurde am {0} für {2} entschieden. Die Frage war: {1}",
)
_AS_OF: Final = Spoken(
    "It is about the facts as they were recorded on {0}.",
    "Es geht um die Tatsachen, wie sie am {0} verzeichnet waren.",
)
_SOURCES: Final = Spoken(
    "What was looked at comes from {0}. You may ask to have it corrected.",
    "Was angesehen wurde, stammt aus: {0}. Sie können verlangen, dass es berichtigt wird.",
)
_RULES_ALONE: Final = Spoken("our rules alone", "unseren Regeln allein")
_LAW: Final = Spoken(
    "[what the law asks to be said here: rights, time limits, authorities]",
    "[was das Gesetz hier verlangt: Rechte, Fristen, Behörden]",
)
_REFERENCE: Final = Spoken("Reference: `{0}`", "Zeichen: `{0}`")
_MISSING: Final = Spoken("What is missing to decide it:", "Was fehlt, um es zu entscheiden:")
_BECAUSE: Final = Spoken("It was decided so because:", "So wurde entschieden, denn:")
_FOLLOWS: Final = Spoken("It follows from {0}.", "Es folgt aus: {0}.")
_BELOW: Final = Spoken("That rests on {0}.", "Das beruht auf: {0}.")
_MORE: Final = Spoken("and {0} more rules", "und {0} weitere Regeln")
_PRINCIPAL: Final = Spoken("The principal reasons for this are:", "Die Hauptgründe dafür sind:")
_CHANGES: Final = Spoken(
    "Any one of these changes would have given another answer (computed, not proved):",
    "Jede dieser Änderungen für sich hätte eine andere Antwort ergeben (berechnet, nicht "
    "bewiesen):",
)
_RULE: Final = Spoken("rule {0}", "Regel {0}")
_VERSION: Final = Spoken("version {0}", "Fassung {0}")
_OWNER: Final = Spoken("of {0}", "von {0}")
_NOBODY: Final = Spoken("(nobody approved it)", "(niemand hat sie gebilligt)")
_ASSUMED: Final = Spoken(
    "It rests on what we could not check ourselves: {0}.",
    "Es beruht auf dem, was wir nicht selbst prüfen konnten: {0}.",
)
_MEASURED: Final = Spoken("{0}: {1}, and {2} {3} is needed", "{0}: {1}, nötig ist {2} {3}")


def _parts(account: Account) -> Iterator[str]:
    document = account.document
    said = document.speech.said
    day = _day(document.record["created"], document.speech)
    yield said(_SENDER)
    yield said(_RECEIVER)
    yield said(_DAY)
    yield f"# {escaped(account.headline)}"
    asked, question = document.header.get("asked_by"), escaped(account.question)
    yield (
        said(_DECIDED_FOR, day, question, escaped(asked))
        if asked
        else said(_DECIDED, day, question)
    )
    if document.header["as_of"]:
        yield said(_AS_OF, _day(document.header["as_of"], document.speech))
    yield from _because(account)
    yield from _changes(account)
    yield said(_SOURCES, _sources(account))
    yield from _assumed(account)
    yield said(_LAW)
    yield said(_REFERENCE, document.identity)


def _day(moment: str, speech: Speech) -> str:
    return speech.value(moment[:10], Kind.DATE)


def _because(account: Account) -> Iterator[str]:
    """Say why not, or what is missing."""
    said = account.document.speech.said
    if account.document.header["verdict"] == "UNRESOLVED":
        if account.gaps:
            yield said(_MISSING)
            yield "\n".join(f"- {escaped(capital(gap.words))}" for gap in account.gaps)
        return
    if not account.denial:
        # A refusal may be what is proved: whoever is concerned is told why as well.
        steps = [account.steps[root].reasoning for root in account.roots[:MOST_REASONS]]
        told = [f"- {escaped(capital(one))}." for one in dict.fromkeys(filter(None, steps))]
        if told:
            yield said(_BECAUSE)
            yield "\n".join(told)
            yield _followed(account)
        return
    reasons = [f"{capital(_reason(account, one))}. ({one.code})" for one in account.reasons]
    reasons = reasons or [f"{capital(one)}." for one in decisive(account.denial)]
    if reasons:
        yield said(_PRINCIPAL)
        yield "\n".join(
            f"{number}. {escaped(reason)}"
            for number, reason in enumerate(reasons[:MOST_REASONS], start=1)
        )
    if account.veiled:
        yield escaped(of_veiled(account.veiled, account.document.speech))
    if followed := _followed(account):
        yield followed


def _reason(account: Account, one: Reason) -> str:
    """Say a reason: in another language without the names of columns, which have one language."""
    speech = account.document.speech
    operator, _, needed = one.required.partition(" ")
    if speech.said(_PRINCIPAL) == _PRINCIPAL.english or not one.says:
        return one.text
    if one.actual and needed and operator in SPOKEN:
        return speech.said(_MEASURED, one.says, one.actual, speech.said(SPOKEN[operator]), needed)
    return one.text


def _changes(account: Account) -> Iterator[str]:
    """Say what would have turned it: tried when it was decided, and no part of the proof."""
    said = [capital(one["text"]) for one in account.document.changes[:MOST_REASONS]]
    if said:
        yield account.document.speech.said(_CHANGES)
        yield "\n".join(f"- {escaped(one)}." for one in said)


def _sources(account: Account) -> str:
    names = dict.fromkeys(
        escaped(one["name"] or one["tier"]) for one in account.document.sources if one["rows"]
    )
    return ", ".join(names) or account.document.speech.said(_RULES_ALONE)


def _followed(account: Account) -> str:
    """Name the rules that could have given it, then the others that the verdict rests on."""
    document = account.document
    said, rules = document.speech.said, document.program.rules
    first = _deciding(account)
    if not first:
        return ""
    rest = [
        place
        for place in account.rests_on()
        if place not in first and "." not in rules[place].head.predicate
    ]
    below = [_named(account, place) for place in rest[:_MOST_RULES]]
    more = len(rest) - _MOST_RULES
    below += [said(_MORE, document.speech.number(more))] if more > 0 else []
    told = said(_FOLLOWS, ", ".join(_named(account, place) for place in first))
    return f"{told} {said(_BELOW, ', '.join(below))}" if below else told


def _deciding(account: Account) -> list[int]:
    """Return the rules that could have given it."""
    numbers = {rule["id"]: place for place, rule in enumerate(account.document.rules)}
    names = [one.rule for one in account.reasons[:MOST_REASONS]]
    names = names or [path.attempt.rule for one in account.denial[:1] for path in one.paths]
    if names:
        return list(dict.fromkeys(numbers[name] for name in names if name in numbers))
    used = [account.steps[root].rule for root in account.roots[:MOST_REASONS]]
    return list(dict.fromkeys(place for place in used if place is not None))


def _named(account: Account, place: int) -> str:
    """Name a rule: with owner and version, and whether nobody approved it."""
    document = account.document
    said, rule = document.speech.said, document.rules[place]
    given = {one["rule"] for one in document.header["approvals"]}
    parts = [said(_RULE, escaped(rule["id"]))]
    parts += [said(_VERSION, escaped(rule["version"]))] if rule.get("version") else []
    parts += [said(_OWNER, escaped(rule["owner"]))] if rule.get("owner") else []
    parts += [] if document.rule_digests[place] in given else [said(_NOBODY)]
    return " ".join(parts)


def _assumed(account: Account) -> Iterator[str]:
    document = account.document
    taken = [escaped(document.assumption(place)) for place in document.header["under"]]
    if taken:
        yield document.speech.said(_ASSUMED, "; ".join(taken))
