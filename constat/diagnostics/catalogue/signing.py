"""The codes about keys, signatures, the decision log and snapshots: C0740 to C0769, C0960 to C0962.

In: nothing. Out: `ENTRIES`. Invariant: no message of these codes holds a byte of a private key or a
passphrase. Example: C0750 says that a decision could not be written down, and none was given out.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_KEYS: Final = (
    Entry(
        "C0740",
        "a file that is no usable key",
        "A key is one PEM block: an Ed25519 key in PKCS #8 form (private) or as a subject public "
        "key (public), in its one spelling. `constat keygen` writes both. A private key also says "
        "whose it is, in the lines `Role:` and `Name:` above the block.",
        wrong="constat sign c001.json --key key.pub.pem --meaning approved",
        right="constat sign c001.json --key key.pem --meaning approved",
        kind="text",
    ),
    Entry(
        "C0741",
        "a passphrase that is missing or wrong",
        "An encrypted key is opened with the passphrase in the environment variable "
        "`CONSTAT_KEY_PASSPHRASE`, or with what is typed at a terminal.",
        wrong="constat sign c001.json --key key.pem --meaning approved < /dev/null",
        right="read -rs CONSTAT_KEY_PASSPHRASE && export CONSTAT_KEY_PASSPHRASE\n"
        "constat sign c001.json --key key.pem --meaning approved",
        kind="text",
    ),
    Entry(
        "C0742",
        "a key file that is there already",
        "`constat keygen` never writes over a file: a private key that is gone cannot be made "
        "again, and what it signed could not be told from what others sign.",
        wrong='constat keygen --role approver --name "Ada" -o key.pem  # twice',
        right='constat keygen --role approver --name "Ada" -o key-2027.pem',
        kind="text",
    ),
    Entry(
        "C0743",
        "a role or a name that cannot stand in a signature",
        "A role is lower-case letters, digits and `-`, such as `approver`; a name is one printable "
        "line of at most 200 characters.",
        wrong='constat keygen --role "Head of Risk" --name "Ada" -o key.pem',
        right='constat keygen --role head-of-risk --name "Ada" -o key.pem',
        kind="text",
    ),
    Entry(
        "C0744",
        "it is not clear which key counts for which role",
        "`--role` asks for a signature in a role; the keys that count are those of `--key`, or "
        "those that `keys:` of constat.yaml trusts for the role. Where there are several roles, "
        "each key is given as `ROLE=FILE`.",
        wrong="constat verify c001.json --key a.pub.pem --key b.pub.pem --role engine "
        "--role approver",
        right="constat verify c001.json --key engine=a.pub.pem --key approver=b.pub.pem",
        kind="text",
    ),
    Entry(
        "C0745",
        "a key of the configuration that cannot be used",
        "`keys:` names public keys, each with its file inside the project and the roles it is "
        "trusted for; `expires` and `revoked` are dates. What a key signed before it expired "
        "counts; a revoked key counts for nothing, because whoever has it writes the time.",
        wrong="keys:\n  ada: {file: keys/ada.pub.pem, roles: [approver], expires: soon}\n",
        right="keys:\n  ada: {file: keys/ada.pub.pem, roles: [approver], expires: 2027-12-31}\n",
        kind="project",
    ),
    Entry(
        "C0746",
        "a certificate that nobody should sign",
        "The checker rejects it. A signature under it would say that somebody stands for a proof "
        "that is none.",
        wrong="sed s/150000/160000/ c001.json > x.json\n"
        "constat sign x.json --key key.pem --meaning approved",
        right="constat sign c001.json --key key.pem --meaning approved",
        kind="text",
    ),
    Entry(
        "C0747",
        "a file of signatures that cannot be added to",
        "The file beside the certificate holds one DSSE envelope on each line, each about this "
        "certificate. What is there is not that, and is left as it is.",
        wrong="echo x > c001.json.dsse\nconstat sign c001.json --key key.pem --meaning approved",
        right="mv c001.json.dsse aside\nconstat sign c001.json --key key.pem --meaning approved",
        kind="text",
    ),
)

_LOG: Final = (
    Entry(
        "C0750",
        "a decision that could not be written down",
        "The log of decisions fails closed: where the entry is not on the disk, no verdict is "
        "given out. The disk may be full, or the folder not writable.",
        wrong="chmod a-w .constat/decisions\nconstat prove GOAL --log",
        right="chmod u+w .constat/decisions\nconstat prove GOAL --log",
        kind="text",
    ),
    Entry(
        "C0751",
        "a log of decisions that another program holds",
        "Entries are written one after the other. Another program has held the lock for ten "
        "seconds; it may be expiring entries, or be stopped.",
        wrong="constat log expire & kill -STOP $!\nconstat prove GOAL --log",
        right="constat prove GOAL --log",
        kind="text",
    ),
    Entry(
        "C0752",
        "a log of decisions that is damaged",
        "The log is not what was written, or is missing although it was begun; nothing is added to "
        "such a log. `constat log verify` says where. A last line that a crash has torn is no "
        "damage: it is moved aside and noted.",
        wrong="rm .constat/decisions/log.jsonl\nconstat prove GOAL --log",
        right="cp backup/log.jsonl .constat/decisions/log.jsonl\nconstat prove GOAL --log",
        kind="text",
    ),
    Entry(
        "C0753",
        "a decision that cannot be superseded",
        "`--supersedes` names an earlier decision of the log by its number, or by the identity of "
        "its proof. It must be about the same goal, still be there, and not be superseded already: "
        "then the one that superseded it is meant.",
        wrong='constat prove "is_vip(C002)" --log --supersedes 1  # 1 is about C001',
        right='constat prove "is_vip(C001)" --log --supersedes 1',
        kind="text",
    ),
    Entry(
        "C0754",
        "no such entry in the log of decisions",
        "There is no log yet, or no entry of that number or identity. `constat log list` shows "
        "what there is; `log: true` in constat.yaml or `constat prove --log` begins a log.",
        wrong="constat log show 999",
        right="constat log list\nconstat log show 1",
        kind="text",
    ),
    Entry(
        "C0755",
        "a hold that cannot be placed or lifted",
        "A hold is for a matter, and of decisions: it is placed once for each matter, and lifted "
        "for the matter it was placed for.",
        wrong="constat log release 1 --matter Q-17 --by alice  # no such hold",
        right="constat log hold 1 --matter Q-17 --by alice\n"
        "constat log release 1 --matter Q-17 --by alice",
        kind="text",
    ),
    Entry(
        "C0756",
        "an unknown class of retention",
        "The classes are those of `log: {classes: ...}` in constat.yaml, and `kept`, which is for "
        "ever.",
        wrong="constat prove GOAL --log --retention long",
        right="constat prove GOAL --log --retention kept",
        kind="text",
    ),
    Entry(
        "C0757",
        "a retention in the configuration that means nothing",
        "A class has a name of lower-case letters and a number of days such as `3650d`, or "
        "`forever`; `retention` is the class of new entries.",
        wrong="log: {retention: lending, classes: {lending: 10 years}}\n",
        right="log: {retention: lending, classes: {lending: 3650d}}\n",
        kind="project",
    ),
    Entry(
        "C0758",
        "an option that belongs to the log of decisions",
        "`--by`, `--retention` and `--supersedes` say how a decision is written down, so there has "
        "to be a log: `--log`, or `log: true` in constat.yaml. What is written down is one verdict "
        "with its certificate.",
        wrong="constat prove GOAL --supersedes 1",
        right="constat prove GOAL --log --supersedes 1",
        kind="text",
    ),
)

_SNAPSHOTS: Final = (
    Entry(
        "C0760",
        "a relation that cannot be committed to",
        "A snapshot holds all rows of a predicate that one source answers, completely. Rules "
        "derive this one, a row of it is not known, or its source did not answer.",
        wrong="constat snapshot is_vip --key source.pem -o is_vip.dsse",
        right="constat snapshot placed_order --key source.pem -o placed_order.dsse",
        kind="text",
    ),
    Entry(
        "C0761",
        "a file that is no snapshot, or no openings",
        "`constat snapshot` writes one signed statement, `constat openings` the rows of a "
        "certificate with their paths to the roots of such statements.",
        wrong="constat verify c001.json --snapshot c001.json --openings openings.json",
        right="constat verify c001.json --snapshot placed_order.dsse --openings openings.json",
        kind="text",
    ),
    Entry(
        "C0762",
        "the source is not as the snapshot has it",
        "Openings are made from the rows of the source, whose root must be the signed one. The "
        "source has changed since; a new snapshot is one of the present rows.",
        wrong="constat openings c001.json --snapshot old.dsse -o c001.openings",
        right="constat snapshot placed_order --key source.pem -o new.dsse\n"
        "constat openings c001.json --snapshot new.dsse -o c001.openings",
        kind="text",
    ),
    Entry(
        "C0763",
        "a snapshot that is sorted by other columns",
        "The rows of a key can be shown to be all there are only where they lie side by side: the "
        "columns of the key come first in the order of the snapshot.",
        wrong="constat snapshot placed_order --sorted-by order --key source.pem -o orders.dsse\n"
        "constat openings c001.json --snapshot orders.dsse -o c001.openings",
        right="constat snapshot placed_order --sorted-by customer --key source.pem -o orders.dsse\n"
        "constat openings c001.json --snapshot orders.dsse -o c001.openings",
        kind="text",
    ),
)

_INSIDE: Final = (
    Entry(
        "C0960",
        "openings that are too large to go inside a certificate",
        "Inside a certificate go at most 64,000 bytes of openings, so that it stays something that "
        "people pass on. A file of openings beside it may be larger, and shows the same.",
        wrong="constat openings all.json --snapshot orders.dsse --inside -o all.opened.json",
        right="constat openings all.json --snapshot orders.dsse -o all.openings",
        kind="text",
    ),
    Entry(
        "C0961",
        "no snapshot is of what the certificate shows",
        "A row is opened in the root of the relation that it was read from: the same predicate, "
        "from the same source.",
        wrong="constat openings c001.json --snapshot prices.dsse --inside -o c001.opened.json",
        right="constat openings c001.json --snapshot orders.dsse --inside -o c001.opened.json",
        kind="text",
    ),
    Entry(
        "C0962",
        "a certificate that does not have the rows of the snapshot",
        "The rows that the certificate shows of a key are not those that the owner of the source "
        "committed to, so nothing can show that they are.",
        wrong="constat openings forged.json --snapshot orders.dsse --inside -o forged.opened.json",
        right='constat prove "is_vip(C001)" --certificate c001.json\n'
        "constat openings c001.json --snapshot orders.dsse --inside -o c001.opened.json",
        kind="text",
    ),
)

ENTRIES: Final = (*_KEYS, *_LOG, *_SNAPSHOTS, *_INSIDE)
