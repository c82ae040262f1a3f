"""Break the second checker on purpose, place by place, and see whether the corpus notices.

In: names of its files.  Out: the mutants that nothing notices, as lines of the script before and
after.  Invariant: a mutant counts as noticed when it judges a certificate otherwise (accepted,
verdict, confidence, reason's code), gives another value for a function, throws, or does not end.

    python -m tests.report.checker.script_mutation nodes.js closure.js
"""

from __future__ import annotations

import argparse
import base64
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from constat.proof.report.markup import CHECKER_FILES, checker_parts
from tests.check import corpus, tables
from tests.check.catalog import GOOD, good
from tests.report.checker.cases import CASES
from tests.report.checker.second_checker import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OPERATORS: Final = (
    (r" === ", " !== "),
    (r" !== ", " === "),
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+ 1\b", ""),
    (r" - 1\b", ""),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bMath\.min\(", "Math.max("),
    (r"\bMath\.max\(", "Math.min("),
    (r"\.every\(", ".some("),
    (r"\.some\(", ".every("),
    (r"if \(!", "if ("),
)
STATEMENTS: Final = re.compile(
    r"^(?:reject|refuseSummary|each|inside|this\.\w+|world\.\w+|\w+)\(.*\);$|^return \w+\(.*\);$"
)
SECONDS: Final = 20

# One process judges everything with the script as it is, and then with each mutant in a context of
# its own; a mutant that runs for longer than the time limit does not end.
DRIVER: Final = """
const vm = require("node:vm");
const judge = `
const judgeOne = (content) => {
  const { accepted, verdict, confidence, reasonCode, level, levels, nodes } =
    constatCheck(content, {});
  return JSON.stringify([accepted, verdict, confidence, reasonCode, level, levels, nodes]);
};
const orNull = (found) => (found === ERROR ? null : found);
const judgeTables = ({ calls, comparisons, patterns, spellings, signatures, operators }) =>
  JSON.stringify([
    calls.map(([name, from, to, args]) => orNull(callFunction(name, to, from, args))),
    comparisons.map((one) => orNull(comparisonHolds(...one, () => {}))),
    patterns.map((one) => orNull(fullMatch(...one))),
    spellings.map((one) => isSpelled(...one)),
    signatures.map((one) => signatureHolds(...one)),
    operators.map((one) => operatorHolds(...one)),
  ]);
[judgeOne, judgeTables]`;
const run = (context, code, timeout) => vm.runInContext(code, context, { timeout });
const load = (script, given) => {
  const context = vm.createContext({ given, TextDecoder: undefined });
  run(context, '"use strict";\\n' + script + judge.replace("[judgeOne, judgeTables]", `
    globalThis.judgeOne = judgeOne; globalThis.judgeTables = judgeTables;`), 5000);
  return context;
};
const judgement = (context, i, timeout) =>
  run(context, i < 0 ? "judgeTables(given.tables)" : `judgeOne(given.contents[${i}])`, timeout);
const main = ({ script, mutants, contents, tables, seconds }) => {
  const given = { contents: contents.map((one) => Buffer.from(one, "base64").toString("latin1")) };
  given.tables = tables;
  const order = [-1, ...contents.keys()];
  const right = load(script, given);
  const expected = new Map(order.map((i) => [i, judgement(right, i, 60000)]));
  const survivors = [];
  mutants.forEach(([from, to, text], number) => {
    const changed = script.slice(0, from) + text + script.slice(to);
    let noticed = -2;
    try {
      const context = load(changed, given);
      for (const i of order) {
        if (judgement(context, i, seconds * 1000) !== expected.get(i)) {
          noticed = i;
          break;
        }
      }
    } catch (problem) {
      noticed = 0;
    }
    if (noticed === -2) {
      survivors.push(number);
    } else if (noticed > 0) {
      // What notices one mutant notices its neighbours, too.
      order.splice(order.indexOf(noticed), 1);
      order.unshift(noticed);
    }
  });
  return survivors;
};
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """The script with ``text`` in place of the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str


def mutants_of(script: str, begin: int, end: int) -> Iterator[Mutant]:
    """Yield all mutants of a part of the script."""
    for pattern, text in OPERATORS:
        for found in re.finditer(pattern, script[begin:end]):
            mutant = Mutant(begin + found.start(), begin + found.end(), text)
            if not _in_quotes(script, mutant.start):
                yield mutant
    start = begin
    for line in script[begin:end].splitlines(keepends=True):
        if STATEMENTS.match(line.rstrip()):
            yield Mutant(start, start + len(line), ";\n")
        start += len(line)


def _in_quotes(script: str, place: int) -> bool:
    """Tell whether a place lies in the text of a reason, whose words decide nothing."""
    line = script[script.rfind("\n", 0, place) + 1 : place]
    return line.count('"') % 2 == 1 or line.count("`") % 2 == 1


def parts(script: str, names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the named files with their places in the script."""
    begin = 0
    for name in CHECKER_FILES:
        end = begin + len(checker_parts((name,)))
        if name in names:
            yield name, begin, end
        begin = end
    assert begin == len(script)


def contents() -> list[str]:
    """Return the corpus of the first checker, and what was added for this one."""
    found = [good(name).data() for name in GOOD]
    for cases in (corpus.forged(), corpus.damaged(), corpus.judged()):
        found += [data for _, data, _ in cases]
    found += [data for _, data in corpus.sealed_mutants()[::6]]
    found += [make()[0] for make in CASES.values()]
    return [base64.b64encode(data).decode() for data in found]


def asked_tables() -> dict[str, list[Any]]:
    """Return the cases of functions, comparisons, patterns, spellings and signatures."""
    return {
        "calls": [case[:4] for case in tables.FUNCTIONS],
        "comparisons": [case[:4] for case in tables.COMPARISONS],
        "patterns": [case[:2] for case in tables.PATTERNS],
        "spellings": [*tables.SPELLED, *tables.MISSPELLED],
        "signatures": [*(case[:3] for case in tables.FUNCTIONS), *tables.NO_SIGNATURES],
        "operators": [*tables.OPERATORS, *tables.NO_OPERATORS],
    }


def survivors(name: str, step: int = 1) -> tuple[int, list[str]]:
    """Return the number of mutants of a file, and those that nothing notices."""
    script = checker_parts()
    ((_, begin, end),) = parts(script, [name])
    made = list(mutants_of(script, begin, end))[::step]
    given = {
        "script": script,
        "mutants": [(one.start, one.end, one.text) for one in made],
        "contents": contents(),
        "tables": asked_tables(),
        "seconds": SECONDS,
    }
    return len(made), [_shown(script, made[i]) for i in evaluate(DRIVER, given)]


def _shown(script: str, mutant: Mutant) -> str:
    begin = script.rfind("\n", 0, mutant.start) + 1
    end = script.find("\n", mutant.start)
    after = script[begin : mutant.start] + mutant.text + script[mutant.end : end]
    return f"{script[begin:end]}  ->  {after.strip()}"


def main() -> None:
    """Print what nothing notices."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", default=CHECKER_FILES)
    parser.add_argument("--step", type=int, default=1, help="try every n-th mutant only")
    asked = parser.parse_args()
    for name in asked.files:
        count, left = survivors(name, asked.step)
        lines = "".join(f"  {line}\n" for line in left)
        sys.stdout.write(f"{name}: {count - len(left)} of {count} noticed\n{lines}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
