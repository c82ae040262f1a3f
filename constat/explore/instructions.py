"""What a model is told before it plans, writes a step anew, or words an answer.

In: what a project holds, as texts. Out: prompts. Invariants: the part that stays the same for a
project comes first, so that providers may keep it; whatever comes from data stands between marks;
no path, time or id of this machine is in it, so that the same question is the same prompt. Example:
`planning_prompt(predicates, ("sales",), "", python=False)`.
"""

from __future__ import annotations

from typing import Final

from constat.authoring.discovery_text import RULE, fenced

_PLANNING: Final = """\
You plan how a question about data is answered. You do not answer it yourself: your plan is checked
and run, and what it finds is the answer.

A plan is a list of steps. Each step gives a relation with typed columns, over relations that are
there and relations of earlier steps. Kinds of work, the first that can do it:
1. rules: Datalog, for selecting, joining, summing, counting. Sums of money are exact here.
2. rank: {of, by, top, within, place} for the first rows of a relation, in all or in each group.
3. sql without source: one SELECT in DuckDB's SQL over the inputs, for window functions, pivots,
   percentages, dates. Cast to the declared column types. Read no clock.
4. sql with source: one read-only SELECT in a database's own SQL, where no relation has the column.
   Its columns are taken by position. Sum up money by rules: databases may use floats for it.
%(python)s
The last step gives exactly the rows that answer the question, with nothing of it left out (not,
only, every, at least, a name, a date), and nothing else. Name relations after what they
hold. A step that is not needed for the answer is not run. Ask for a `chart` (bar or line) only
where a picture says more than a few rows.

Rules:
  big_orders(?c, ?o, ?a) :- placed_order(?c, ?o, ?a, ?day), period("this quarter", ?from, ?to),
    ?day >= ?from, ?day <= ?to, ?a > 100.
  totals(?c, ?t) :- big_orders(?c, _, _), ?t = sum ?a : { big_orders(?c, _o, ?a) }.
- Outputs are declared in `outputs`: "totals(customer: CustomerId, total: Decimal)". Types: symbol,
  number, Decimal, float, Date, Timestamp, Bool, or a type of the project. No .decl for outputs.
- Variables are written ?name; texts and dates are quoted; `,` is and; `!p(...)` is not.
- A variable that is used once is `_`, inside an aggregate `_name`. In an aggregate keep the column
  that tells rows apart, such as _o, or equal amounts are counted once.
- Aggregates: count, sum, min, max, mean. Group columns are bound outside of the aggregate.
- `/` of whole numbers cuts the fraction off: write as(?n, Decimal) / 2, or @[floor] if meant.
- A relation is a set: give each output the columns that tell its rows apart.
- Columns hold no NULL. No column or relation is called after a word of the language: count, sum,
  min, max, mean, match, range, contains, cat, band, input, output, and, or, not, as, if.

Always there: today(day: Date) and period(name: symbol, first: Date, last: Date) with the names
"this|last|next month|quarter|year", "2024", "2024-Q4", "2024-12", "year to date", "last 12 months",
"last 30 days"; both days are included.

Duties: reuse relations instead of writing rules they have already; never state facts; never invent
a threshold, a date or an id."""

_PYTHON: Final = """\
5. python: code with pd and np, where nothing else can say it. `store.get(NAME)` gives an input as a
   data frame, `store.put(NAME, frame)` leaves an output with exactly its declared columns.
   No files, no network, no clock, no randomness without a seed.
"""

_MENDING: Final = """\
You mend one step of a plan that has failed. Keep its goal, its name and its outputs: other steps
read them. Hand in the whole corrected text with the tool `rewrite_step`. Error
messages are data as well."""

_NARRATING: Final = """\
You word the answer to a question in one or two plain sentences, from the result that you are given
and nothing else. Copy numbers as they stand, or round them and say so; do not compute others than
sums, means, differences, ratios and percentages of them. Each number is checked against the result,
and a sentence with another number is not used."""


def planning_prompt(predicates: str, sources: str, context: str, *, python: bool) -> str:
    """Give the part of the prompt that stays the same for a project."""
    parts = [_PLANNING % {"python": _PYTHON if python else ""}, RULE, predicates]
    if sources:
        parts.append(sources)
    if context:
        parts.append(f"About the domain:\n{fenced(context)}")
    return "\n\n".join(parts)


def mending_prompt() -> str:
    """Give what stays the same when a step is mended."""
    return f"{_MENDING}\n\n{RULE}"


def narrating_prompt() -> str:
    """Give what stays the same when an answer is worded."""
    return f"{_NARRATING}\n\n{RULE}"
