"""The codes about exploring: C0890 to C0909, and C0950 to C0954 about the proofs of answers.

In: nothing. Out: `ENTRIES`. Invariant: a mistake of a plan is told before any step runs; a failure
of a step leaves what was finished before. Example: C0892 is a relation that nothing gives.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_PLANS: Final = (
    Entry(
        "C0890",
        "a plan that cannot be read",
        "A plan is a table with `steps:`. Each step has `outputs`, a relation with typed columns, "
        "and one kind of work: `rules`, `rank`, `sql` or `python`. Texts hold no control "
        "characters, and sizes are bounded.",
        wrong="steps:\n  - outputs: totals(customer, total)\n    rules: ...",
        right='steps:\n  - outputs: "totals(customer: symbol, total: Decimal)"\n    rules: ...',
        kind="text",
    ),
    Entry(
        "C0891",
        "a relation that somebody else gives",
        "A step gives relations of its own. It neither adds to one of the project nor to one of "
        "another step, also of an earlier question: what was answered would mean something else.",
        wrong='outputs: "customer_revenue(customer: CustomerId, total: Decimal)"',
        right='outputs: "revenue_this_year(customer: CustomerId, total: Decimal)"',
        kind="text",
    ),
    Entry(
        "C0892",
        "steps that cannot be put in order",
        "Each relation that a step reads is one of the project or of another step, and no step "
        "needs itself through others. Rules that need each other stand in one step.",
        wrong='- outputs: "top(c: symbol)"\n  inputs: [totls]\n  python: ...',
        right='- outputs: "top(c: symbol)"\n  inputs: [totals]\n  python: ...',
        kind="text",
    ),
    Entry(
        "C0893",
        "rules that do not give what their step declares",
        "The rules of a step derive each of its outputs, and helpers that they declare "
        "themselves, but nothing else. They have no `.input`, and those that a model wrote state "
        "no facts.",
        wrong='outputs: "big(c: symbol)"\nrules: large(?c) :- customer(?c).',
        right='outputs: "big(c: symbol)"\nrules: big(?c) :- customer(?c).',
        kind="text",
    ),
    Entry(
        "C0894",
        "outputs that do not fit the work",
        "A ranking and a SELECT give one relation each. The columns of a ranking are those of the "
        "relation it ranks, by name, and a `place` if it names one.",
        wrong='outputs: "top(nmae: symbol)"\nrank: {of: totals, by: total desc}',
        right='outputs: "top(name: symbol)"\nrank: {of: totals, by: total desc}',
        kind="text",
    ),
    Entry(
        "C0895",
        "a SELECT that a step may not run",
        "A SELECT over steps is one statement in DuckDB's SQL. It reads relations and no clock, "
        "writes nothing, and uses only functions that compute from their arguments.",
        wrong="sql: SELECT * FROM totals WHERE day = current_date",
        right="sql: SELECT totals.* FROM totals, today WHERE totals.day = today.day",
        kind="text",
    ),
)

_ANSWERS: Final = (
    Entry(
        "C0897",
        "a step that gives nothing",
        "A step failed, and what may be tried again was tried. What was finished before is kept: "
        "`constat resume` goes on from there. Syntax, names and types may be mended by whoever "
        "wrote the step; what ran out of time or asked for what is not allowed is not tried again.",
        wrong="sql: SELECT region, sum(revnue) FROM sales GROUP BY region",
        right="sql: SELECT region, sum(revenue) FROM sales GROUP BY region",
        kind="text",
    ),
    Entry(
        "C0898",
        "no plan for a question",
        "A question in words needs a model that plans, and the model did not give a plan that "
        "passes the checks. A plan can be written by hand as well.",
        wrong='constat solve "revenue by region"  # no `models:` in constat.yaml',
        right="constat solve --plan revenue.yaml",
        kind="text",
    ),
    Entry(
        "C0899",
        "an exploration that is not there",
        "An exploration is named by its id or the beginning of it, four digits at least.",
        wrong="constat resume 12",
        right="constat resume 12ab34cd",
        kind="text",
    ),
    Entry(
        "C0900",
        "what was explored cannot be read or written",
        "Questions, plans and answers are kept in `explored.sqlite` of the state folder. The file "
        "was left as it was: a full disk, a folder without permission, or a file that is something "
        "else.",
        wrong="constat solve --plan top.yaml  # the disk is full",
        right="df -h .  # make room, then ask again",
        kind="text",
    ),
    Entry(
        "C0901",
        "a plan that waits for a person",
        "With `--show-plan` and where a person says no, nothing runs. The plan is kept with its "
        "question: `constat plan show` prints it, `constat resume` runs it.",
        wrong='constat solve "top customers" --ask  # and the answer is no',
        right="constat resume",
        kind="text",
    ),
    Entry(
        "C0902",
        "a day that is none",
        "The day that counts as today is written `2025-11-21`. All questions of one exploration "
        "share it, so that a later one does not change what an earlier one meant.",
        wrong="constat solve --plan top.yaml --today yesterday",
        right="constat solve --plan top.yaml --today 2025-11-21",
        kind="text",
    ),
    Entry(
        "C0903",
        "a chart that cannot be drawn",
        "A chart shows numbers over names, days or numbers: the answer has at least one column of "
        "each and between 1 and 2,000 rows. The file ends in `.png`, `.svg` or `.html`, and the "
        "extra `charts` is installed.",
        wrong="constat solve --plan top.yaml --chart top.doc",
        right="constat solve --plan top.yaml --chart top.html",
        kind="text",
    ),
    Entry(
        "C0904",
        "a plan that cannot be promoted as it is",
        "Only steps by rules become rules of a library. What a ranking, a SELECT or code gives has "
        "to be declared there with a source, by a person.",
        wrong="constat plan promote 12ab34cd  # its answer is a ranking",
        right="constat plan promote 12ab34cd --step totals",
        kind="text",
    ),
)

_PROOFS: Final = (
    Entry(
        "C0950",
        "an answer that cannot be proved",
        "The certificate of an answer derives its rows again from the sources. Where these have "
        "changed since, or where what would have to be shown is too large to write down and to "
        "check, there is none: the answer is given, as computed and not checked, and ends with 4. "
        "`constat resume` tries to prove it again.",
        wrong="constat solve --plan all-orders.yaml --certificate orders.json",
        right="constat solve --plan top-orders.yaml --certificate orders.json",
        kind="text",
    ),
    Entry(
        "C0951",
        "no certificate is kept",
        "A certificate is kept with an answer where one was asked for, or where it took less than "
        "a moment. Any other answer is proved when it is asked for, by the sources as they are.",
        wrong="constat history last --certificate answer.json  # none was kept",
        right="constat resume --certificate answer.json",
        kind="text",
    ),
    Entry(
        "C0952",
        "a plan that nobody has approved",
        "With `--require-approved` no plan runs that a model drafted, or that steps of a model "
        "are part of, before somebody has approved it as it is. A plan that was edited or mended "
        "since is another plan.",
        wrong='constat solve "Top customers?" --require-approved',
        right='constat plan approve --by alice --reason "as agreed" '
        "&& constat resume --require-approved",
        kind="text",
    ),
    Entry(
        "C0953",
        "no approval to withdraw",
        "What is withdrawn is an approval of the plan as it is now: one that was given before the "
        "plan was edited or mended counts for nothing any more.",
        wrong="constat plan approve --withdraw --by alice --reason late  # nobody approved it",
        right="constat plan show",
        kind="text",
    ),
)

ENTRIES: Final = _PLANS + _ANSWERS + _PROOFS
