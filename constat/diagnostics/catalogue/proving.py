"""The codes about certificates of others: C0690 to C0699.

In: nothing. Out: `ENTRIES`. Invariant: a certificate that does not count leaves its fact unknown,
with the reason; these codes are for what is wrong before any certificate is read. Example: C0690
says that a folder of certificates lies outside the project.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0690",
        "an .input of certificates that means nothing",
        'With `source = "certificates"` the facts of a predicate are the goals that certificates '
        "prove. `folder` says where they lie, inside the project; without it they are those that "
        "`constat prove --keep` keeps. `rules` names the hashes of the rules that they may have, "
        "as `constat verify` shows them. There are no other parameters, and no database or tier "
        "is called `certificates`.",
        wrong='.decl is_vip(c: symbol)\n.input is_vip(source="certificates", folder="../theirs")',
        right='.decl is_vip(c: symbol)\n.input is_vip(source="certificates", folder="proofs")',
        kind="text",
    ),
    Entry(
        "C0691",
        "a proof that rests on too many certificates",
        "A certificate carries those that its facts rest on, so that whoever checks it needs no "
        "other file: 256 of them and 200 MiB at most. The verdict stands; only the certificate "
        "cannot be written.",
        wrong='constat prove "all_partners_are_vips()" --certificate all.json',
        right='constat prove "is_vip_of_a_partner(C001)" --certificate c001.json',
        kind="text",
    ),
)
