"""How results look in a program: one short line, a few rows, a piece of HTML.

In: results. Out: text, and HTML in which every text from outside is escaped. Invariants: what is
shown is bounded, however large the result; nothing is told by colour alone; no script, no style
sheet and no address of another place is in it. A proof is folded: its steps are opened one by one.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Final

from constat.check import check_certificate
from constat.diagnostics import counted
from constat.logic import NullCell, display_value
from constat.proof import render_tree
from constat.proof.render import printable
from constat.proof.sentences import ASKED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.logic import Value
    from constat.proof.tree import Step, Tree
    from constat.session.answers import AnswerColumn, AnswerRow, Answers, Rows
    from constat.session.hypotheses import MissingFacts, WhatIf, WhyNotResult
    from constat.session.result import Answered, Result

SHOWN: Final = 10
"""So many rows of an answer are shown."""

_STEPS: Final = 200
_LINES: Final = 200
_CELL: Final = 60
_TEXT: Final = 400
_LISTED: Final = 8
_LARGEST_CHECKED: Final = 1 << 20
_NUMBERS: Final = 'style="text-align:right"'


def cut(text: str, most: int = _TEXT) -> str:
    """Give a text that is printable, one line, and no longer than that."""
    plain = printable(text).replace("\n", " ")
    return plain if len(plain) <= most else plain[: most - 1] + "…"


# Text.


def result_text(result: Result) -> str:
    """Give a result as one line."""
    under = len(result.assumptions)
    resting = f", under {under} assumption{'s' * (under > 1)}" if under else ""
    missing = len(result.missing)
    open_text = f", {missing} missing" if missing else ""
    goal = cut(result.goal, _CELL * 2)
    return f"<{result.verdict.label}: {goal}, confidence {result.confidence:f}{resting}{open_text}>"


def answers_text(rows: Rows) -> str:
    """Give rows as a table of the first ones, with a line that tells how many there are."""
    answers, count = rows.answers, len(rows)
    shown = list(islice(rows, SHOWN))
    names = [one.name for one in answers.columns]
    lines = [[*names, "verdict"], *(_cells(answers.columns, row) for row in shown)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numeric = [one.kind.numeric for one in answers.columns]
    table = "\n".join(_padded(line, widths, numeric) for line in lines) if shown else ""
    whys = [f"not known: {one.predicate}: {cut(one.reason, _TEXT)}" for one in answers.reasons]
    more = [f"and {len(whys) - _LISTED:,} more reasons"] if len(whys) > _LISTED else []
    told = [f"<{_told(answers, count)}>", table, *whys[:_LISTED], *more]
    return "\n".join(filter(None, told))


def _told(answers: Answers, count: int) -> str:
    left = f", {SHOWN} shown" if count > SHOWN else ""
    settled = answers.settled.value.replace("_", " ")
    return f"{counted(count, 'row')} of {cut(answers.query, _CELL * 2)}{left}: {settled}"


def _padded(line: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    places = zip(line, widths, [*numeric, False], strict=True)
    return "  ".join(t.rjust(w) if n else t.ljust(w) for t, w, n in places).rstrip()


def _cells(columns: Sequence[AnswerColumn], row: AnswerRow) -> list[str]:
    pairs = zip(row.values, columns, strict=True)
    return [*(cut(_value(v, c), _CELL) for v, c in pairs), row.verdict.label]


def _value(value: Value | NullCell, column: AnswerColumn) -> str:
    return "(unknown)" if isinstance(value, NullCell) else display_value(value, column.kind)


def why_not_text(found: WhyNotResult) -> str:
    """Give why a goal does not hold as one line; `to_text` tells all of it."""
    return result_text(found.result)


def what_if_text(found: WhatIf) -> str:
    """Give what follows from a supposition as one line."""
    supposed = cut(", ".join(found.supposed), _CELL * 2)
    return f"{result_text(found.after)[:-1]}; {found.before.verdict.label} without: {supposed}>"


def missing_text(found: MissingFacts) -> str:
    """Give how many sets of facts would prove a goal, and the cheapest."""
    best = found.sets[0] if found.sets else None
    added = [f"add {one.fact}" for one in best.add] if best else []
    removed = [f"remove {one}" for one in best.remove] if best else []
    first = ", ".join([*added, *removed]) or "none"
    return f"{result_text(found.result)[:-1]}; sets found: {len(found.sets)}, first: {cut(first)}>"


def explained(result: Result, depth: int | None = None) -> str:
    """Give a result with its proof as `constat prove` prints it."""
    tree = result.tree
    if tree.goal.startswith(f"{ASKED}("):
        tree = replace(tree, goal=result.goal)
    return render_tree(tree, depth=depth, moment=result.created)


# HTML.


def result_html(result: Result) -> str:
    """Give a result: verdict, whether a checker accepts it, what it rests on, its proof folded."""
    parts = [_heading(result), _mark(result)]
    parts += _listed("Assuming", [one.text for one in result.assumptions])
    tree = result.tree
    contested = [gap.goal for gap in tree.gaps if gap.contested]
    stated = [goal for goal in result.missing if goal not in contested]
    parts += _listed("Missing; ask for one of these, or state it", stated)
    parts += _listed("Rows that contradict each other; mend them in the source", contested)
    if tree.roots:
        roots = [tree.steps[root] for root in tree.roots[:_LISTED]]
        parts += [f"<p>{_html(_begun(one.reasoning or one.sentence))}</p>" for one in roots]
        count = counted(len(tree.steps), "step")
        parts.append(f"<details><summary>Proof ({count})</summary>{_proof(tree)}</details>")
    else:
        parts.append(_folded("Why", explained(result)))
    return _boxed(parts)


def answers_html(given: Rows) -> str:
    """Give rows as a table of the first ones."""
    answers = given.answers
    head = "".join(f"<th scope='col'>{_html(one.name)}</th>" for one in answers.columns)
    body = []
    for row in islice(given, SHOWN):
        cells = _cells(answers.columns, row)
        kinds = [*(one.kind.numeric for one in answers.columns), False]
        shown = zip(cells, kinds, strict=True)
        body.append("".join(f"<td{' ' + _NUMBERS if n else ''}>{_html(t)}</td>" for t, n in shown))
    rows = "".join(f"<tr>{one}</tr>" for one in body)
    caption = _html(_told(answers, len(given)))
    head += "<th scope='col'>verdict</th>"
    table = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    parts = [f"<table><caption>{caption}</caption>{table}</table>"]
    parts += _listed("Assuming", [one.text for one in answers.assumptions])
    whys = [f"{one.predicate}: {one.reason}" for one in answers.reasons]
    return _boxed([*parts, *_listed("There may be more, because", whys)])


def answered_html(answered: Answered) -> str:
    """Give the answer to a question, how it was read, and whether somebody confirmed that."""
    read = f"<code>{_html(answered.goal)}</code>: {_html(answered.translation.status.value)}"
    question = f"<p>{_html(answered.question)}</p><p>read as {read}</p>"
    return _boxed([question, result_html(answered.result)])


def why_not_html(found: WhyNotResult) -> str:
    """Give why a goal does not hold."""
    if found.refutation is None:
        return result_html(found.result)
    return _boxed([_heading(found.result), _pre(found.to_text())])


def what_if_html(found: WhatIf) -> str:
    """Give what follows from a supposition, beside what holds."""
    parts = [_heading(found.after), f"<p>without it: {_html(found.before.verdict.label)}</p>"]
    parts += _listed("Supposing", found.supposed)
    changes = [f"{one.kind}: {one.after or one.before}" for one in found.changes]
    return _boxed([*parts, *_listed("What changes", changes)])


def missing_html(found: MissingFacts) -> str:
    """Give the sets of facts that would prove a goal."""
    parts = [_heading(found.result)]
    for one in found.sets[:_LISTED]:
        facts = [shown.fact for shown in one.add] + [f"not {text}" for text in one.remove]
        parts += _listed(f"Cost {one.cost}, {one.verdict.label} with", facts)
    return _boxed(parts)


def _heading(result: Result) -> str:
    goal = f"<code>{_html(result.goal)}</code>"
    confidence = f"confidence {result.confidence:f}"
    return (
        f"<p><strong>{_html(result.verdict.label)}</strong> {goal} <small>{confidence}</small></p>"
    )


def _mark(result: Result) -> str:
    """Say whether the independent checker accepts the certificate."""
    if len(result.certificate) > _LARGEST_CHECKED:
        return "<p><small>certificate not checked here: it is large</small></p>"
    report = check_certificate(result.certificate)
    if not report.accepted:
        return f"<p><strong>✗ rejected by the checker</strong>: {_html(report.reason or '')}</p>"
    identity = _html((report.identity or "").removeprefix("sha256:")[:12])
    return f"<p><small>✓ certificate {identity} checked</small></p>"


def _proof(tree: Tree) -> str:
    """Give the steps as nested details; a step that stands already is named and not repeated."""
    parts: list[str] = []
    seen: set[int] = set()
    waiting: list[int | str] = [*reversed(tree.roots)]
    while waiting:
        place = waiting.pop()
        if isinstance(place, str):
            parts.append(place)
            continue
        step = tree.steps[place]
        head = f"<code>{_html(step.fact)}</code>"
        if place in seen or len(seen) >= _STEPS:
            why = "shown above" if place in seen else "not shown here: the proof is long"
            parts.append(f"<li>{head} <small>({why})</small></li>")
            continue
        seen.add(place)
        inner = "".join(f"<br><small>{_html(one)}</small>" for one in _said(step))
        if not step.premises:
            parts.append(f"<li>{head}{inner}</li>")
            continue
        parts.append(f"<li><details><summary>{head}</summary>{inner}<ul>")
        waiting.append("</ul></details></li>")
        waiting += reversed(step.premises)
    return f"<ul>{''.join(parts)}</ul>"


def _said(step: Step) -> Iterator[str]:
    """Yield what is said of a step: why, by which rule, from where."""
    if said := step.reasoning or step.sentence:
        yield _begun(said)
    if step.rule:
        yield f"rule {step.rule}"
    if step.assumption:
        yield f"assuming {step.assumption}"
    for one in step.sources[:2]:
        yield f"{one.origin} {one.name}, read at {one.executed_at}"
    if step.note:
        yield step.note


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _listed(title: str, texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    items = "".join(f"<li>{_html(one)}</li>" for one in texts[:_LISTED])
    left = len(texts) - _LISTED
    more = f"<li>and {left:,} more</li>" if left > 0 else ""
    return [f"<p>{_html(title)}:</p><ul>{items}{more}</ul>"]


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{_html(title)}</summary>{_pre(text)}</details>"


def _pre(written: str) -> str:
    lines = written.rstrip("\n").split("\n")
    left = len(lines) - _LINES
    shown = [*lines[:_LINES], *([f"and {left:,} more lines"] if left > 0 else [])]
    text = "\n".join(printable(one) for one in shown)
    return f"<pre>{escape(text)}</pre>"


def _html(text: str) -> str:
    return escape(cut(text))


def _boxed(parts: Iterable[str]) -> str:
    return f'<div class="constat">{"".join(parts)}</div>'
