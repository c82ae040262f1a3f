"""The codes of `constat run`, C0600 to C0639, and C0975 of every command that prints.

In: nothing. Out: `ENTRIES`. Invariant: after any of the errors no result is half written. Example:
C0600 names the line, the column and the type of a cell that cannot be read.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_EDGE: Final = ".decl edge(a: number, b: number)\n"

ENTRIES: Final = (
    Entry(
        "C0600",
        "a cell that is no value of its column",
        "The cell does not spell a value of the type that the declaration gives the column. An "
        "empty cell is the empty text in a column of texts and a mistake in all others, unless the "
        "column or the input says `null = skip`.",
        wrong="edge.facts:\n1\ttwo",
        right="edge.facts:\n1\t2",
        kind="text",
    ),
    Entry(
        "C0601",
        "a line with too few cells",
        "A row has a cell for each column; cells behind the last one are ignored, as Souffle does. "
        "Mostly the delimiter is another one than the tab.",
        wrong=_EDGE + ".input edge            // edge.facts: 1,2",
        right=_EDGE + '.input edge(delimiter=",")',
        kind="text",
    ),
    Entry(
        "C0602",
        "a damaged line of a fact file",
        "A line is UTF-8, at most 16 MiB long, and in CSV its quotes are paired. Where another "
        "file has a comma as its delimiter, brackets are paired and hold a cell together, as they "
        "do for Souffle. For a predicate without columns each line is `()`.",
        wrong='names.facts with rfc4180=true:\n"Smith, "Jane"',
        right='names.facts with rfc4180=true:\n"Smith, ""Jane"""',
        kind="text",
    ),
    Entry(
        "C0603",
        "a fact file that cannot be read",
        "Each `.input` of a relation that the results need has a file, by default NAME.facts in "
        "the folder given by `--facts`. An empty relation has an empty file.",
        wrong="constat run reach.dl --facts results",
        right="constat run reach.dl --facts facts",
        kind="text",
    ),
    Entry(
        "C0604",
        "a parameter of a file that means nothing",
        "`columns` has one place for each column, counted from 0; `delimiter` is a text within a "
        "line; `headers`, `rfc4180` and `compress` are true or false; `IO` is file, stdin or "
        "stdout. No two outputs go to one file.",
        wrong=_EDGE + '.input edge(columns="1")',
        right=_EDGE + '.input edge(columns="1:0")',
        kind="text",
    ),
    Entry(
        "C0605",
        "a file outside the folder",
        "A program reads below the folder given by `--facts` and writes below the one given by "
        "`--output`. Links are followed before that is checked.",
        wrong=_EDGE + '.input edge(filename="../secret/edge.facts")',
        right=_EDGE + '.input edge(filename="2025/edge.facts")',
        kind="text",
    ),
    Entry(
        "C0606",
        "a folder that does not exist",
        "The folders given by `--facts` and `--output` are there before the run; none is made.",
        wrong="constat run reach.dl --output resluts",
        right="mkdir results; constat run reach.dl --output results",
        kind="text",
    ),
    Entry(
        "C0607",
        "a result that cannot be written",
        "All files are written aside and moved into their places at the end, so every one is what "
        "it was before.",
        wrong="constat run reach.dl --output /",
        right="constat run reach.dl --output results",
        kind="text",
    ),
    Entry(
        "C0608",
        "a rule that cannot be evaluated",
        "A division by zero, a conversion of a text that is no number, or in strict mode an "
        "overflow. The relation would lack a row without saying so; so the run ends and nothing is "
        "written.",
        wrong="share(x, 100 / y) :- part(x, y).",
        right="share(x, 100 / y) :- part(x, y), y != 0.",
        kind="text",
    ),
    Entry(
        "C0609",
        "a run that was stopped",
        "The time given by `--timeout` is over, or the memory or the disk is full. No file "
        "has changed.",
        wrong="constat run all_pairs.dl --timeout 1",
        right="constat run all_pairs.dl --timeout 600",
        kind="text",
    ),
    Entry(
        "C0610",
        "a kind of input or output that is not supported",
        "`run` reads and writes separated texts. SQLite and JSON come later.",
        wrong=_EDGE + '.input edge(IO=sqlite, filename="edge.db")',
        right=_EDGE + '.input edge(filename="edge.csv", rfc4180=true)',
        kind="text",
    ),
    Entry(
        "C0611",
        "a number that a word does not hold",
        "In souffle mode integers have 32 bits, as in stock Souffle, and wrap; a number in the "
        "text must fit. `--word-size 64` computes as a build of 64 bits.",
        wrong="big(5000000000).",
        right="big(500000).",
        kind="text",
    ),
    Entry(
        "C0612",
        "a function that means something else in Souffle",
        "Souffle answers, and the answer would be another one here; so souffle mode refuses it.",
        wrong="half(as(x, float) / 2.0) :- p(x).",
        right="half(to_float(x) / 2.0) :- p(x).",
        kind="text",
    ),
    Entry(
        "C0613",
        "rows with cells that are no values",
        "Under `null = none`, `maybe` and `unknown` a row stays without a value. `run` writes "
        "values; only `prove` and `query` can say that something is not known.",
        wrong=".decl spent(c: symbol, @[null = unknown] amount: number)\n.input spent",
        right=".decl spent(c: symbol, @[null = skip] amount: number)\n.input spent",
        kind="text",
    ),
    Entry(
        "C0614",
        "an aggregate over itself in souffle mode",
        "Souffle refuses it. In strict mode a sum or count of what is never negative may be "
        "compared by `>` or `>=` in a recursion; with integers that wrap it would have no meaning.",
        wrong="controls(x, y) :- own(x, y, _), sum w : { holds(x, _via, y, w) } > 50.",
        right='.pragma "constat" "0.1"\n'
        "controls(?x, ?y) :- own(?x, ?y, _), sum ?w : { holds(?x, _via, ?y, ?w) } > 50.",
        kind="text",
    ),
    Entry(
        "C0615",
        "a program without results",
        "Only what `.output` and `.printsize` name is computed.",
        wrong=_EDGE + ".input edge",
        right=_EDGE + ".input edge\n.output edge",
        kind="text",
    ),
    Entry(
        "C0975",
        "the standard output cannot be written",
        "The disk or the device behind it takes no more. The exit code is not that of a verdict: "
        "whoever reads the output has only a part of it.",
        wrong='constat query "is_vip(?c)" --format csv > /dev/full',
        right='constat query "is_vip(?c)" --format csv > vip.csv',
        kind="text",
    ),
)
