"""The codes about questions in plain words and what is drafted: C0860 to C0879, C0980, C0981.

In: nothing. Out: `ENTRIES`. Invariant: what one of these refuses has had no effect: no fact, no
rule, no query of it was used. Example: C0863 says that a draft states no facts.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0860",
        "a setting of drafting",
        "`authoring:` bounds what a model may do for one question: `rounds` proposals (at most "
        "20), `lookups` (at most 200), `query_rows`; `variables` is `strict` or `bare`. "
        "`sub_plans:` has `predicates` and a `depth` of at most 5.",
        wrong="authoring: {rounds: 1000}",
        right="authoring: {rounds: 5}",
        kind="project",
    ),
    Entry(
        "C0861",
        "a proposal that cannot be read",
        "A model hands in its goal and its rules by calling the tool `propose` with two texts. "
        "Anything else is refused and told to the model, which may try again.",
        wrong='propose({"goal": 7})',
        right='propose({"goal": "is_vip(C001)", "rules": ""})',
        kind="text",
    ),
    Entry(
        "C0862",
        "a draft that changes what is there",
        "Predicates that approved rules derive, or whose rows come from outside, belong to the "
        "project. A draft uses them and derives predicates with names of their own.",
        wrong="is_vip(?c) :- customer(?c).   // in a draft",
        right=".decl is_friend(c: CustomerId)\nis_friend(?c) :- is_vip(?c), !blocked(?c).",
        kind="text",
    ),
    Entry(
        "C0863",
        "a fact in a draft",
        "A draft says how something follows from facts. A fact that stands in it, or a rule that "
        "takes no row of any predicate, would be true because a model says so.",
        wrong='is_vip("C001").   // in a draft',
        right=".decl is_large(c: CustomerId)\nis_large(?c) :- order_count(?c, ?n), ?n > 100.",
        kind="text",
    ),
    Entry(
        "C0864",
        "a source that a draft may not name",
        "A draft may give a query to a predicate that it declares itself, over a database of the "
        "project. It may not say where rows of other predicates come from, nor that something is "
        "configured, stated, proved or a tier's word.",
        wrong='.input vip_threshold(source = "config")   // in a draft',
        right=".decl gold(c: CustomerId)\n"
        '.input gold(source = "sales", query = "SELECT customer_id FROM accounts")',
        kind="text",
    ),
    Entry(
        "C0865",
        "a drafted query that is refused",
        "A query that a model wrote is one SELECT over tables that the source has, with the "
        "columns of its predicate, without functions that write, wait or read files, and of a size "
        "that `authoring: query_rows` allows. It is prepared by the source before it is accepted.",
        wrong='.input gold(source = "sales", query = "DELETE FROM accounts")',
        right='.input gold(source = "sales", query = "SELECT customer_id FROM accounts")',
        kind="text",
    ),
    Entry(
        "C0866",
        "a model that has no goal for a question",
        "The model has declined, or says that the project's predicates and databases cannot "
        "express the question. No goal was found, so there is no verdict.",
        wrong='constat ask "Will it rain tomorrow?"',
        right='constat ask "Is customer C001 a VIP?"',
        kind="text",
    ),
    Entry(
        "C0867",
        "no proposal that passes the checks",
        "Each proposal is checked as rules of people are, and its mistakes go back to the model. "
        "After `authoring: rounds` proposals Constat gives up; the transcript has all of them.",
        wrong="authoring: {rounds: 1}",
        right="authoring: {rounds: 5}",
        kind="text",
    ),
    Entry(
        "C0868",
        "a line that no draft may have",
        "A draft declares predicates and types, derives predicates, and may say a query for its "
        "own. It includes no file and writes none.",
        wrong='.include "../other.dl"   // in a draft',
        right=".decl is_large(c: CustomerId)   // in a draft",
        kind="text",
    ),
    Entry(
        "C0869",
        "a value that nobody has mentioned",
        "A warning: the goal or the draft holds a constant that stands neither in the question nor "
        "in what was looked up. A threshold that a model supplies is a guess; ask with the value, "
        "or let a predicate supply it.",
        wrong='constat ask "Which customers order a lot?"',
        right='constat ask "Which customers have more than 20 orders?"',
        kind="text",
    ),
    Entry(
        "C0870",
        "an attribute that is not a draft's to give",
        "A warning: approval, id, confidence, author, closure and age are taken out of drafts. An "
        "approval is a record outside the text.",
        wrong='@[approved(by = "me")] gold(?c) :- tier(?c, "gold").   // in a draft',
        right='gold(?c) :- tier(?c, "gold").   // in a draft',
        kind="text",
    ),
    Entry(
        "C0871",
        "a draft that nobody has approved, or that somebody has rejected",
        "With `--require-approved` no draft is used. The draft is kept in quarantine; once it is "
        "approved the question can be asked again. A draft that was rejected is never used: the "
        "model is told the reason and drafts anew.",
        wrong='constat ask "Which gold customers are idle?" --require-approved',
        right="constat rules review ID",
        kind="text",
    ),
    Entry(
        "C0872",
        "too many lookups",
        "A model looks up at most `authoring: lookups` things for one question. It is told so, and "
        "proposes with what it knows.",
        wrong="authoring: {lookups: 1}",
        right="authoring: {lookups: 16}",
        kind="text",
    ),
    Entry(
        "C0873",
        "a transcript that cannot be kept or read",
        "What was exchanged about a question is kept in the state folder, in a file of its own, "
        "written anew after each step. What cannot be written down is not gone on with.",
        wrong='constat ask --show "../../etc/passwd"',
        right="constat ask --show 0123456789abcdef",
        kind="text",
    ),
    Entry(
        "C0874",
        "no question",
        "A question is a sentence of 1 to 4,000 characters without control characters.",
        wrong='constat ask ""',
        right='constat ask "Is customer C001 a VIP?"',
        kind="text",
    ),
    Entry(
        "C0875",
        "a name that is kept for what is made from drafts",
        "Names that end in `_as_queried` and `_beyond_draft` are made when a draft joins a "
        "program: where a query of the draft ends, and what the draft leaves open. No draft may "
        "give them, and no goal is about the rows of such a query until somebody has approved it: "
        "that the database gives a row would be certain, and that the query is right is not.",
        wrong=".decl gold_as_queried(c: CustomerId)   // in a draft",
        right=".decl gold(c: CustomerId)   // in a draft",
        kind="text",
    ),
    Entry(
        "C0876",
        "a predicate that cannot be planned",
        "`sub_plans: {predicates: [...]}` names predicates that nothing answers: declared, without "
        "rules and without a source.",
        wrong="sub_plans: {predicates: [is_vip]}",
        right="sub_plans: {predicates: [contract_value]}",
        kind="text",
    ),
    Entry(
        "C0877",
        "a sub-plan that was not found",
        "A warning: a model was asked for rules that derive a predicate nothing answers, and none "
        "passed the checks. The predicate stays unknown.",
        wrong="sub_plans: {predicates: [weather]}",
        right="sub_plans: {predicates: [contract_value]}",
        kind="text",
    ),
    Entry(
        "C0878",
        "a drafted rule that may go on for ever",
        "A rule that calculates a value of its head from its own predicate, without a bound on "
        "it, may have no end. Rules of people run into the limits of an evaluation; a draft is "
        "refused.",
        wrong="n(?x + 1) :- n(?x).   // in a draft",
        right="n(?y) :- n(?x), ?y = ?x + 1, ?y < 100.   // in a draft",
        kind="text",
    ),
    Entry(
        "C0879",
        "a draft that is too large, or not plain text",
        "A draft has at most 20,000 characters, 60 rules and 40 predicates, and no character that "
        "a terminal would act upon.",
        wrong="p(?x) :- q(?x).   // and 60 more rules",
        right="p(?x) :- q(?x).",
        kind="text",
    ),
    Entry(
        "C0980",
        "another goal than the one that was accepted",
        "`--accept-goal` says which goal is meant by a question. Where the model reads the "
        "question as another goal nothing is proved: look at both, and accept the one that holds "
        "exactly when the answer to the question is yes. A goal that is not so is no negated atom "
        "but a predicate of its own, derived with `!` in its rule.",
        wrong='constat ask "Is C001 a VIP?" --accept-goal "blocked(C001)"',
        right='constat ask "Is C001 a VIP?" --accept-goal "is_vip(C001)"',
        kind="text",
    ),
    Entry(
        "C0981",
        "a confirmation that cannot be kept or read",
        "That a goal is what a question asks is a person's word, kept with name and time in "
        "`confirmations.jsonl` of the state folder. It needs a name, and a question in words: a "
        "goal that was typed needs no confirmation. A damaged file is not used, because what "
        "cannot be read might withdraw something.",
        wrong='session.confirm(session.prove("is_vip(C001)"), by="ada")',
        right='session.confirm(session.ask("Is C001 a VIP?"), by="ada")',
        kind="text",
    ),
)
