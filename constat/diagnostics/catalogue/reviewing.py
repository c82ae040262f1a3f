"""The codes about drafts, their approval, and facts that are told: C0880 to C0889.

In: nothing. Out: `ENTRIES`. Invariant: nothing unapproved becomes approved by a mistake. Example:
C0885 says that a rule was edited since somebody approved it.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0880",
        "no such draft",
        "A draft is named by the beginning of its identity, four digits or more, as long as one "
        "draft alone begins so; a rule of a file by its id.",
        wrong="constat rules review 3f",
        right="constat rules review 3fa1b2c4",
        kind="text",
    ),
    Entry(
        "C0881",
        "a draft that cannot be kept",
        "A draft is a text of at most 64 KiB that says what it is for. Characters that a terminal "
        "or an editor acts on instead of showing them are refused: what a reviewer reads is what "
        "is there.",
        wrong="a draft whose text turns the direction of writing around (U+202E)",
        right="p(?x) :- q(?x).",
        kind="text",
    ),
    Entry(
        "C0882",
        "a draft that does more than propose rules",
        "A draft declares new predicates and proposes rules. It may not say where rows lie or give "
        "a predicate other columns. Rules for a predicate that is there already are an amendment, "
        "which joins only where the draft is named.",
        wrong='constat ask "Who is a VIP?"            # and the draft adds a rule for is_vip',
        right='constat prove "is_vip(C002)" --draft 3fa1b2c4',
        kind="text",
    ),
    Entry(
        "C0883",
        "a decision that this person cannot make",
        "An approval or a rejection has a name and a reason. Where the project trusts keys as "
        "approver, an approval is signed by one of them; with `review: {four_eyes: true}` whoever "
        "asked for a draft does not approve it.",
        wrong='constat rules approve 3fa1b2c4 --by alice --reason ""',
        right='constat rules approve 3fa1b2c4 --by alice --reason "as agreed with sales"',
        kind="text",
    ),
    Entry(
        "C0884",
        "no place for approved rules",
        "Approved rules go into a file that the project reads: one of its rule files, or a new one "
        "in a folder that `rules:` names. A draft changes one file, so that it is in the library "
        "or is not.",
        wrong='constat rules approve 3fa1b2c4 --by alice --reason "agreed" --into ../elsewhere',
        right='constat rules approve 3fa1b2c4 --by alice --reason "agreed" --into customer-value',
        kind="text",
    ),
    Entry(
        "C0885",
        "an approval that does not count",
        "Approvals are records in `approvals.jsonl` beside the rules, each bound to what a rule "
        "said when it was given. A rule that was edited, whose approval was withdrawn or is not "
        "signed by a key that the project trusts is a proposed one. A file of records that is "
        "damaged stops everything: it might withdraw something.",
        wrong="the threshold of the rule DRAFT1 is edited after its approval",
        right='constat rules approve DRAFT1 --by alice --reason "with the new threshold"',
        kind="text",
    ),
    Entry(
        "C0886",
        "the file of drafts cannot be used",
        "Drafts lie in `drafts.sqlite` in the project's state folder. It cannot be read or "
        "written, or it is another database. Nothing was changed.",
        wrong="the state folder belongs to somebody else",
        right="chmod u+rw .constat/drafts.sqlite",
        kind="text",
    ),
    Entry(
        "C0887",
        "a draft that fits no longer",
        "The draft replaces a rule that has been renamed or deleted since. Have it drafted again, "
        "for the rules as they are.",
        wrong="a draft that replaces VIP9, which is no rule any more",
        right='constat ask "Who is a VIP?"',
        kind="text",
    ),
    Entry(
        "C0888",
        "told words that give no fact",
        "A fact is kept as what somebody told only if the words say it: every value stands in one "
        "sentence, as it is or in another spelling (1 million), which affirms it and neither asks "
        "nor supposes.",
        wrong='constat facts tell "A million or so came" --as "march_size(1000000)" --by eve',
        right='constat facts tell "1 million people came" --as "march_size(1000000)" --by eve',
        kind="text",
    ),
    Entry(
        "C0889",
        "a policy of approval that nobody can meet",
        "`approvers` is a number of people from 1 to 20. `signed: true` needs a key that the "
        "project trusts as approver.",
        wrong="review:\n  signed: true",
        right="review:\n  four_eyes: true\n  approvers: 2",
        kind="project",
    ),
)
