"""Check answers in bulk: count them again from the rules, by another way, and compare.

Bulk evaluation plans, rewrites, shares, restricts by demand and chooses among strategies. None of
that is looked at here, and nothing of it is imported: a contract of the imports keeps it so. The
check reads the analysed rules, reads the inputs itself, computes what follows, and compares the
answer as it is given out (its columns, its constants) with that.

Why a check that passes means that every row is proved and none is missing (semantics 38):

- A rule becomes one statement, literal by literal: a row of the join of its atoms' tables, with the
  conditions, is exactly an instance of the rule. Tables hold each row once, so bindings of an
  aggregate are rows of its join, and none counts twice. Texts that no rule reads may be left out:
  `inputs` says why each row stays a row of its own. Where the rows of a body's tables follow from
  the head (`is_apart`), no two instances give one row, and nobody looks for equal ones.
- Components are taken callees first. Below a negation or an aggregate everything is complete, so
  `!p` (not in the table) is certain, and the group of an aggregate is all there is. Where inputs
  are whole and certain, certain and possible rows coincide (i, ii).
- Where they are not, each relation has its certain and its possible rows, and a literal is true,
  false or unknown, as the definition has it: `marks` says why that is enough (i, ii).
- A recursive component starts with nothing and takes a row in only by an instance over rows of
  earlier rounds: the number of the round is the rank, and a row that supports only itself never
  comes in (i). It ends with a round that brings nothing: then it is closed under its rules (ii).
- Where its relations have two columns and its rules are chains, the rounds are products of matrices
  of bits: `matrices` says why a bit is a row with an instance (i, ii).
- A group of a recursive threshold is added up over all rows of earlier rounds, so summands of
  lower rank alone pass the bound; at the end no summand may be negative (i). Before its component
  counts as closed the rule is looked at over all rows (ii).
- A term that errs fails its statement. Then rules that may err are computed with marks: such an
  instance is unknown unless another literal is false, so its head is possible (semantics 9).
- Where constants of the question lead on through keys, only rows that bear on it are computed:
  `restriction` says why these are exactly those that follow, for every pattern that is looked up,
  denied or aggregated (i, ii). The constants choose among the rows at the end.
- Two sets of rows are compared in both directions (iii). Of an answer that says that there may be
  more, the rows which it calls proved have to be among the certain ones.

Trusted are the parser and analysis, DuckDB over this fresh connection, numpy, the functions of
`constat.check`, and the sources' readers. What has no clause is refused by name: columns that a
caller gives, recursive thresholds over rows that are not fully known, answers with what a function
made of an unknown value, Decimals that do not fit 38 digits with 12 places.
"""

from constat.recount.folders import (
    ABOUT,
    Answered,
    Computed,
    FolderError,
    check_folder,
    write_folder,
)
from constat.recount.recounting import (
    Bounds,
    Claim,
    Prepared,
    Recount,
    State,
    recount,
    recount_all,
)
from constat.recount.statements import RefusedError

__all__ = [
    "ABOUT",
    "Answered",
    "Bounds",
    "Claim",
    "Computed",
    "FolderError",
    "Prepared",
    "Recount",
    "RefusedError",
    "State",
    "check_folder",
    "recount",
    "recount_all",
    "write_folder",
]
