"""A draft of the notice that somebody gets whose application was refused.

In: the bytes of a certificate of a "no".  Out: Markdown with places in brackets for what only the
sender knows.  Invariants: the reasons are those of the certificate, in its order and at most four;
nothing is said that the certificate does not hold; a certificate of anything else gives no letter.

Example: the reason ``R01`` of ``approved(A104)`` stands as "Income ... is 1,700, not at least ...".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.export.account import account_of, reading_certificate
from constat.proof.export.denial import MOST_REASONS
from constat.proof.export.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.proof.export.account import Account


@reading_certificate()
def to_letter(certificate: bytes) -> str:
    """Return the letter; ``ConstatError`` where there is nothing to refuse or no reason for it."""
    account = account_of(certificate)
    if not account.document.header["verdict"].startswith("DISPROVED"):
        raise _unfit("it is of no refusal", "export it with `--to markdown`")
    if not account.reasons:
        help_ = 'write `@[reasons = "-,R01"]` above the rule: one code for each literal, or `-`'
        raise _unfit("no rule of it has reason codes that fail", help_)
    return "\n\n".join(_parts(account)) + "\n"


def _unfit(why: str, edit: str) -> ConstatError:
    return ConstatError(
        [Diagnostic("C0798", f"there is no letter for this certificate: {why}", help=edit)]
    )


def _parts(account: Account) -> Iterator[str]:
    document = account.document
    yield "[name and address of who decides]"
    yield "[name and address of the person concerned]"
    yield f"{document.record['created'][:10]}"
    yield f"# {escaped(account.answer)}"
    asked = document.header.get("asked_by")
    who = f" by {escaped(asked)}" if asked else ""
    yield f"We have decided{who} on {document.record['created'][:10]}: {escaped(account.answer)}"
    yield "The principal reasons for this are:"
    yield "\n".join(
        f"{number}. {escaped(_capital(reason.text))}. ({escaped(reason.code)})"
        for number, reason in enumerate(account.reasons[:MOST_REASONS], start=1)
    )
    yield f"They come from {_sources(account)}. You may ask us to correct what is wrong there."
    yield f"The decision follows from {_rules(account)}."
    yield from _assumed(account)
    yield "[what the law asks you to say here: rights, time limits, authorities]"
    yield f"Reference: `{document.identity}`"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _sources(account: Account) -> str:
    names = dict.fromkeys(
        escaped(one["name"] or one["tier"]) for one in account.document.sources if one["rows"]
    )
    return ", ".join(names) or "our rules alone"


def _rules(account: Account) -> str:
    """Name the rules that could have given it: with owner and version."""
    told = []
    document = account.document
    by_name = {rule["id"]: rule for rule in document.rules}
    for name in dict.fromkeys(reason.rule for reason in account.reasons[:MOST_REASONS]):
        rule = by_name.get(name, {})
        parts = [f"rule {escaped(name)}"]
        parts += [f"version {escaped(rule['version'])}"] if rule.get("version") else []
        parts += [f"of {escaped(rule['owner'])}"] if rule.get("owner") else []
        told.append(" ".join(parts))
    return ", ".join(told)


def _assumed(account: Account) -> Iterator[str]:
    document = account.document
    taken = [escaped(document.assumptions[place]["text"]) for place in document.header["under"]]
    if taken:
        yield f"It rests on what we could not check ourselves: {'; '.join(taken)}."
