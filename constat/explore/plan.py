"""A plan: the steps to the relation that answers a question, as values and as YAML."""

from __future__ import annotations

import json
import re
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse_or_raise
from constat.diagnostics import Diagnostic, nearest
from constat.frozen import frozen
from constat.library.approvals import Hashes
from constat.logic import Atom, Column, Kind, Positive, Predicate, Program, Rule, Variable
from constat.logic.structures import structure_names
from constat.proof.encoding import APPROVALS, canonical, rule_digest, sha256

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.diagnostics import Span
    from constat.explore.chain import Chain

# What is left neither moves a cursor nor hides.

_ELLIPSIS = "…"


def one_line(text: str, most: int = 0) -> str:
    """Give a text as one line, cut to so many characters where `most` is given."""
    shown = text if text.isprintable() else "".join(_shown(one) for one in text)
    return shown if not most or len(shown) <= most else shown[: most - 1] + _ELLIPSIS


def lines(text: str, most: int) -> str:
    """Give a text with its line ends, cut to so many characters."""
    cut = text[:most]
    return "".join(one if one == "\n" else _shown(one) for one in cut)


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else " "


# A plan says nothing about how far it has come, so equal plans mean the same work.

PLAN_NAME: Final = "<plan>"
MOST_STEPS: Final = 100
MOST_TEXT: Final = 64 * 1024
MOST_COLUMNS: Final = 64
LONGEST_QUESTION: Final = 10_000


class Work(Enum):
    """What does a step's work; the value is the key under which a plan writes it."""

    RULES = "rules"
    RANKING = "rank"
    SQL = "sql"
    PYTHON = "python"


@frozen
class Output:
    """A relation that a step gives: its name, and each column with its declared type."""

    name: str
    columns: tuple[tuple[str, str], ...]

    @property
    def declaration(self) -> str:
        """The relation as rule files declare it: `totals(customer: symbol, total: Decimal)`."""
        return f"{self.name}({', '.join(f'{name}: {kind}' for name, kind in self.columns)})"


@frozen
class Ranking:
    """The rows of a relation that come first, by these columns, each descending or not.

    `within` names the columns of a group; `place` is a column of the output that holds the rank,
    or nothing. Rows with equal values in `by` have one rank, so that a top 5 may have six rows:
    which of equals is cut off would be chance.
    """

    of: str
    by: tuple[tuple[str, bool], ...]
    top: int = 0
    within: tuple[str, ...] = ()
    place: str = ""


@frozen
class Step:
    """One step. `text` is rules, a SELECT, or Python; `ranking` is there for rankings.

    `inputs` are the relations that it is expected to read. A SELECT reads the database `source`,
    or, without one, the inputs; code may ask the databases that `source` names, with commas.
    """

    name: str
    goal: str
    work: Work
    outputs: tuple[Output, ...]
    inputs: tuple[str, ...] = ()
    text: str = ""
    source: str = ""
    ranking: Ranking | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def sources(self) -> tuple[str, ...]:
        """The databases that the step itself asks."""
        named = (one.strip() for one in self.source.split(","))
        return tuple(dict.fromkeys(one for one in named if one))


@frozen
class Plan:
    """Steps, and the relation that answers the question.

    `author` is the model that drafted it, empty where a person wrote it. `title` says in a few
    words what the answer is; `chart` is `bar`, `line`, `none`, or empty for "where one helps".
    """

    question: str
    steps: tuple[Step, ...]
    answer: str
    author: str = ""
    title: str = ""
    chart: str = ""

    def step_of(self, relation: str) -> Step | None:
        """The step that gives a relation."""
        for step in self.steps:
            if any(one.name == relation for one in step.outputs):
                return step
        return None


# Rows that are equal in what they are ranked by have one rank, so the result does not depend on
# the order in which rows lie.

_PLACE = '"constat place"'


def check_ranking(step: Step, program: Program) -> Iterator[Diagnostic]:
    """Report columns that are not there, and outputs that are not those of the relation."""
    ranking = step.ranking
    ranked = program.predicates.get(ranking.of) if ranking is not None else None
    if ranking is None or ranked is None:
        return
    known = {one.name: one for one in ranked.columns}
    used = (*(name for name, _ in ranking.by), *ranking.within)
    yield from (_missing(step, ranking, name, known) for name in used if name not in known)
    yield from _unordered(step, ranking, known, structure_names(program.types))
    if ranking.place in known:
        message = f"`{ranking.place}` is a column already"
        yield _mistake(step, message, "name the place otherwise, for example `rank_`")
    for output in step.outputs[:1]:
        for name, kind in output.columns:
            if name == ranking.place:
                if kind not in {"number", "unsigned"}:
                    yield _mistake(step, f"`{name}` is a rank", f"declare `{name}: number`")
            elif name not in known:
                yield _missing(step, ranking, name, known)
            elif known[name].type_name != kind:
                message = f"`{name}` is declared otherwise in `{ranking.of}`"
                yield _mistake(step, message, f"declare `{name}: {known[name].type_name}`")


def ranking_query(step: Step, ranking: Ranking) -> str:
    """Write the SELECT, for DuckDB."""
    groups = ", ".join(_name(one) for one in ranking.within)
    order = ", ".join(f"{_name(one)} {'DESC' if desc else 'ASC'}" for one, desc in ranking.by)
    window = f"{f'PARTITION BY {groups} ' if groups else ''}ORDER BY {order}"
    columns = [name for output in step.outputs[:1] for name, _ in output.columns]
    taken = ", ".join(
        f"{_PLACE} AS {_name(name)}" if name == ranking.place else _name(name) for name in columns
    )
    limit = f" WHERE {_PLACE} <= {ranking.top}" if ranking.top else ""
    shown = ", ".join([*map(_name, ranking.within), _PLACE, *map(_name, columns)])
    # Nothing but names, which `_name` quotes, and numbers becomes part of the text.
    ranked = f"SELECT *, rank() OVER ({window}) AS {_PLACE} FROM {_name(ranking.of)}"  # noqa: S608
    kept = f"SELECT * FROM ({ranked}) AS ranked{limit}"  # noqa: S608
    return f"SELECT {taken} FROM ({kept}) AS kept ORDER BY {shown}"  # noqa: S608


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _unordered(
    step: Step, ranking: Ranking, known: Mapping[str, Column], made: frozenset[str]
) -> Iterator[Diagnostic]:
    for name, _ in ranking.by:
        if name in known and known[name].type_name in made:
            message = f"`{name}` is a {known[name].type_name}, and structures have no order"
            yield _mistake(step, message, "rank by a number, a text or a time")


def _missing(step: Step, ranking: Ranking, name: str, known: Mapping[str, object]) -> Diagnostic:
    near = nearest(name, list(known))
    hint = f"write `{near}`" if near else f"its columns are {', '.join(known)}"
    return _mistake(step, f"`{ranking.of}` has no column `{name}`", hint)


def _mistake(step: Step, message: str, hint: str) -> Diagnostic:
    return Diagnostic("C0894", f"step `{step.name}`: {message}", step.span, help=hint)


# Reading what was written gives the plan again, whatever its texts hold. Texts of several lines
# are written as blocks, so that rules, SELECTs and code look as in files of their own.

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*[A-Za-z0-9_]\Z")
_BLOCKS: Final = frozenset({Work.RULES.value, Work.SQL.value, Work.PYTHON.value})
# What other readers of YAML take for something else than a text.
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n"})
# Within a block scalar nothing is escaped: these would end a line, or be refused.
_UNBLOCKED: Final = re.compile("[^\n -~\u00a1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")


def write_plan(plan: Plan) -> str:
    """Write a plan."""
    return "\n".join(_lines(plan)) + "\n"


def plan_json(plan: Plan) -> dict[str, object]:
    """Give a plan as JSON, in the form in which models propose it."""
    told: dict[str, object] = {"question": plan.question}
    told |= {k: v for k, v in _optional(plan) if v}
    return {**told, "answer": plan.answer, "steps": [step_json(one) for one in plan.steps]}


def step_json(step: Step) -> dict[str, object]:
    """Give a step as JSON."""
    told: dict[str, object] = {"name": step.name, "goal": step.goal}
    told |= {"inputs": list(step.inputs), "outputs": [one.declaration for one in step.outputs]}
    if step.source:
        told["source"] = step.source
    told[step.work.value] = ranking_json(step.ranking) if step.ranking else step.text
    return told


def ranking_json(ranking: Ranking) -> dict[str, object]:
    """Give a ranking as JSON."""
    told: dict[str, object] = {
        "of": ranking.of,
        "by": [f"{name} {'desc' if descending else 'asc'}" for name, descending in ranking.by],
    }
    if ranking.top:
        told["top"] = ranking.top
    if ranking.within:
        told["within"] = list(ranking.within)
    if ranking.place:
        told["place"] = ranking.place
    return told


def _optional(plan: Plan) -> tuple[tuple[str, str], ...]:
    return (("title", plan.title), ("chart", plan.chart), ("author", plan.author))


def _lines(plan: Plan) -> Iterator[str]:
    yield from _entry("question", plan.question, 0)
    for key, value in _optional(plan):
        if value:
            yield from _entry(key, value, 0)
    yield from _entry("answer", plan.answer, 0)
    yield "steps:"
    for step in plan.steps:
        yield from _step_lines(step)


def _step_lines(step: Step) -> Iterator[str]:
    first, *rest = list(_entry("name", step.name, 4))
    yield f"  - {first.lstrip()}"
    yield from rest
    if step.goal:
        yield from _entry("goal", step.goal, 4)
    if step.inputs:
        yield f"    inputs: [{', '.join(map(_quoted, step.inputs))}]"
    if len(step.outputs) == 1:
        yield from _entry("outputs", step.outputs[0].declaration, 4)
    elif step.outputs:
        yield "    outputs:"
        yield from (f"      - {_quoted(one.declaration)}" for one in step.outputs)
    if step.source:
        yield from _entry("source", step.source, 4)
    if step.ranking is None:
        yield from _entry(step.work.value, step.text, 4)
        return
    yield f"    {Work.RANKING.value}:"
    for key, value in ranking_json(step.ranking).items():
        if isinstance(value, list):
            yield f"      {key}: [{', '.join(_quoted(str(one)) for one in value)}]"
        else:
            yield f"      {key}: {_quoted(str(value))}"


def _entry(key: str, value: str, indent: int) -> Iterator[str]:
    margin = " " * indent
    if (key in _BLOCKS or "\n" in value) and _is_block(value):
        yield f"{margin}{key}: |-"
        yield from (f"{margin}  {line}" if line else "" for line in value.split("\n"))
    else:
        yield f"{margin}{key}: {_quoted(value)}"


def _is_block(value: str) -> bool:
    # A block takes its depth from its first line, and a final line end would be lost.
    lines = value.split("\n")
    return (
        bool(lines[0])
        and not lines[0].startswith((" ", "\t"))
        and bool(lines[-1].strip() and not _UNBLOCKED.search(value))
        and not any(line.isspace() for line in lines)
    )


def _quoted(value: str) -> str:
    if value.isdecimal() and value.isascii():
        return value
    if _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    plain = json.dumps(value, ensure_ascii=False)
    return _UNBLOCKED.sub(_escaped, plain)


def _escaped(found: re.Match[str]) -> str:
    """Write a character that YAML would not read as it is."""
    return f"\\U{ord(found[0]):08x}"


ANSWER: Final = "explored_answer"
ROWS: Final = "explored_rows"
_LONGEST: Final = 400


@frozen
class PlanWord:
    """Whose word a plan is: models that drafted steps of it, and approvals that count.

    `approvals` are records as certificates carry them, one line each.
    """

    authors: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()

    @property
    def proposed(self) -> bool:
        """Whether the plan is a draft that nobody has approved."""
        return bool(self.authors) and not self.approvals


def plan_digest(chain: Chain, plan: Plan) -> str:
    """Name everything that a plan does: `sha256:` and 64 digits."""
    steps = [step_json(one.step) for one in chain.below([plan.answer])]
    return sha256(canonical({"question": plan.question, "answer": plan.answer, "steps": steps}))


def plan_rule(chain: Chain, plan: Plan, word: PlanWord) -> tuple[Rule, Predicate]:
    """Write the rule that the plan answers its question, and declare what it gives."""
    digest = plan_digest(chain, plan)
    question = one_line(plan.question, _LONGEST).translate({ord("{"): "(", ord("}"): ")"})
    says = f"the plan answers the question \u201c{question}\u201d with {{rows}} rows"
    names = [_free(one, chain) for one in (ANSWER, ROWS)]
    head, body = (Atom(one, (Variable("rows"),)) for one in names)
    attributes = {"says": says}
    if word.approvals:
        attributes[APPROVALS] = "\n".join(word.approvals)
    rule = Rule(
        f"plan.{digest.removeprefix('sha256:')}",
        head,
        (Positive(body),),
        proposed=word.proposed,
        attributes=attributes,
    )
    return rule, Predicate(names[0], (Column("rows", "number", Kind.NUMBER),))


def rows_relation(chain: Chain) -> str:
    """Name the relation that the rule of a plan reads."""
    return _free(ROWS, chain)


def plan_hashes(chain: Chain, plan: Plan) -> Hashes:
    """Give what an approval of a plan is bound to: the rule that stands for it, and the plan."""
    rule, answer = plan_rule(chain, plan, PlanWord())
    rows = Predicate(rows_relation(chain), answer.columns)
    declared = {one.name: one for one in (answer, rows)}
    alone = analyse_or_raise(Program(declared, rules=(rule,)))
    return Hashes(rule_digest(alone, 0), plan_digest(chain, plan))


def _free(name: str, chain: Chain) -> str:
    while name in chain.analysed.program.predicates:
        name += "_"
    return name
