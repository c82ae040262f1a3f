"""A plan as queries of PostgreSQL, over relations that a server gives itself.

In: a plan without a dictionary of texts, and for each input the query that gives its rows there.
Out: for each wanted relation one query, in which a stage is a common table; linear recursion is a
recursive one. Invariant: the server gives what the language has, or fails; a rule without an exact
form is refused (`StrategyError`) before anything is asked. Nothing is written anywhere.
"""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.evaluation import StrategyError
from constat.logic import Kind
from constat.plan import Absence, Call, Compute, Filter, Fold, Join
from constat.plan.forward import Strategy
from constat.plan.planning import demanded
from constat.sql import trees
from constat.sql.pipelines import PipelineText
from constat.sql.stages import (
    LABEL,
    all_rows,
    nothing,
    recursive_queries,
    rows_of,
    shape_of,
    standing_alone,
    step_rows,
    tagged,
)
from constat.sql.trees import Functions, columns_of
from constat.sql.written import PlanTables, stated, typed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from sqlglot import exp

    from constat.plan import Step
    from constat.plan.forward import ForwardPlan, Pipeline, Relation, Stage
    from constat.sql.trees import Arguments

FAILED: Final = "constat: "
"""How the messages begin with which our own queries end."""
STATEMENT: Final = "PostgreSQL's statement"
RECURSION: Final = "PostgreSQL's recursion"
_EXACT_FLOATS: Final = 1 << 53
# The parts of which floats are added up exactly.
_COARSE: Final = 1 << 9
_FINE: Final = 1 << 62
# Exactly: a product would be rounded.
_LEAST: Final = Decimal((0, tuple(map(int, str(5**71))), -71))
_SMALL: Final = 2.0**-18
_LAST: Final = "last_round"
_MOST_STATED: Final = 1_000
# A quotient of the types that stand there, which fails where the divisor is zero.
_AS_IT_IS: Final = MappingProxyType({"typed": True, "safe": False})
_TEXTUAL: Final = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})


class PostgresFunctions(Functions):
    """Writes calls and aggregates for PostgreSQL.

    Its integers, exact numbers and floats fail where they overflow, divide by zero or underflow.
    """

    def compare(self, operator: str, kind: Kind, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """The truth of a comparison; texts are ordered by code points, whatever they come from."""
        if operator.endswith("contains"):
            at = trees.call("strpos", right, left)
            found = trees.binary(">", at, trees.integer(0))
            return trees.opposite(found) if operator.startswith("!") else found
        return super().compare(operator, kind, _by_bytes(left, kind), right)

    def _native(
        self, function: str, parameters: tuple[Kind, ...], result: Kind, arguments: Arguments
    ) -> exp.Expr | None:
        if Kind.UNSIGNED in {*parameters, result}:
            return None
        if function in {"min", "max"}:
            arguments = [_by_bytes(one, result) for one in arguments]
        return super()._native(function, parameters, result, arguments)

    def _wrapping(
        self, plain: str, width: int, result: Kind, arguments: Arguments
    ) -> exp.Expr | None:
        """Refuse arithmetic of machine words."""
        del plain, width, result, arguments
        return None

    def _integral(self, function: str, kind: Kind, arguments: Arguments) -> exp.Expr:
        if function == "neg":
            return trees.binary("-", trees.constant(0, kind), arguments[0])
        return trees.binary("//" if function == "/" else function, *arguments)

    def canonical_float(self, node: exp.Expr) -> exp.Expr:
        """A float with one zero: it is finite, or the server has failed."""
        return trees.binary("+", node, trees.constant(0.0, Kind.FLOAT))

    def _decimal(self, function: str, arguments: Arguments) -> exp.Expr | None:
        if function != "*":
            return super()._decimal(function, arguments)
        product = self._let(trees.binary("*", *arguments))
        near = trees.call("round", product, trees.integer(trees.PLACES))
        same = trees.binary("=", near, product.copy())
        wrong = trees.call("error", trees.text("too many places"))
        return trees.choose(same, trees.cast(product.copy(), trees.type_of(Kind.DECIMAL)), wrong)

    def _conversion(self, source: Kind, target: Kind, value: exp.Expr) -> exp.Expr | None:
        if source is Kind.NUMBER and target is Kind.FLOAT:
            whole = self._let(value)
            size = trees.call("abs", trees.cast(whole, trees.typed("INT128")))
            small = trees.binary("<=", size, trees.integer(_EXACT_FLOATS))
            wrong = trees.call("error", trees.text("a number beyond 2^53 as a float"))
            return trees.choose(small, trees.cast(whole.copy(), trees.type_of(target)), wrong)
        return super()._conversion(source, target, value)

    def folded(
        self, function: str, kind: Kind | None, result: Kind, target: exp.Expr | None
    ) -> exp.Expr:
        """The aggregate of a group; a mean of floats would be rounded twice, and is none here."""
        if target is not None and kind is not None:
            if kind is Kind.UNSIGNED:
                raise StrategyError(f"PostgreSQL has no exact form of {function} over unsigned")
            if kind is Kind.FLOAT and function == "sum":
                return self._sum_of_floats(target)
            target = _by_bytes(target, kind)
        return super().folded(function, kind, result, target)

    def _sum_of_floats(self, target: exp.Expr) -> exp.Expr:
        """The sum of a group, rounded once: of whole numbers of 2^-9, and of 2^-71 what is left.

        Both lie within 64 bits, else the cast fails, and the server adds them up exactly. A float
        nearer to zero than 2^-18 may have bits beyond that, and is none here.
        """
        value = self._let(target)
        whole = trees.call("trunc", _times(value, _COARSE))
        left = trees.binary("-", _times(value, _COARSE * _FINE), _times(whole.copy(), _FINE))
        coarse, fine = (
            trees.call("sum", trees.cast(one, trees.type_of(Kind.NUMBER))) for one in (whole, left)
        )
        total = trees.binary("+", trees.binary("*", coarse, trees.integer(_FINE)), fine)
        places = trees.cast(trees.text(f"{_LEAST:f}"), trees.typed("DECIMAL"))
        exact = trees.cast(trees.binary("*", total, places), trees.type_of(Kind.FLOAT))
        near = trees.binary(
            "<", trees.call("abs", value.copy()), trees.constant(_SMALL, Kind.FLOAT)
        )
        some = trees.binary("!=", value.copy(), trees.constant(0.0, Kind.FLOAT))
        small = trees.call("bool_or", trees.binary("and", near, some))
        return trees.choose(small, trees.call("error", trees.text("a float near zero")), exact)

    def narrowed(self, wide: exp.Expr, kind: Kind) -> exp.Expr:
        """A wide value as one of its kind; the server fails where it does not fit."""
        return trees.cast(wide, trees.type_of(kind))


def _times(node: exp.Expr, factor: int) -> exp.Expr:
    return trees.binary("*", node.copy(), trees.constant(float(factor), Kind.FLOAT))


def _by_bytes(node: exp.Expr, kind: Kind) -> exp.Expr:
    return trees.cast(node, trees.type_of(Kind.SYMBOL)) if kind in _TEXTUAL else node


class PostgresTables(PlanTables):
    """Where queries find relations, and what of the language they may call."""

    server = "PostgreSQL"
    # All groups of a table cost it little more than a join with the bindings before.
    few = 0.001

    def functions(self, let: Callable[[exp.Expr], exp.Expr]) -> PostgresFunctions:
        """What writes calls."""
        return PostgresFunctions(self, let)


def unsupported(plan: ForwardPlan) -> dict[str, str]:
    """Name the rules that PostgreSQL would not compute exactly, with reasons."""
    tables = PostgresTables(plan)
    found: dict[str, str] = {}
    for stage in plan.stages:
        rules = [plan.program.rules[one.plan.rule].id for one in (*stage.base, *stage.recursive)]
        try:
            written(_stage_rows(tables, stage, stage.predicates[0]))
        except StrategyError as problem:
            found |= dict.fromkeys(rules or stage.predicates, str(problem))
        except RecursionError:
            found |= dict.fromkeys(rules, "it is too long for a statement")
    for name in plan.inputs:
        if Kind.UNSIGNED in plan.relations[name].kinds:
            found[name] = "PostgreSQL has no unsigned numbers"
    return found


def statement(
    plan: ForwardPlan,
    given: Mapping[str, str],
    wanted: str,
    *,
    chosen: Collection[str] = (),
    careful: bool = False,
) -> str:
    """Write the query of a relation, with what it rests on; `given` are the queries of inputs.

    Those that are `chosen` give the same rows each time, and are cheap. Numbers with places come as
    texts.
    """
    tables = PostgresTables(plan)
    tables.careful = careful
    while any(tables.prefix in text.lower() for text in given.values()):
        tables.prefix += "_"
    needed, again = _below(plan, wanted), "NOT MATERIALIZED "
    parts = [
        f"{_quoted(tables.table(name))} AS {again if name in chosen else ''}(\n{given[name]}\n)"
        for name in plan.inputs
        if name in needed
    ]
    for stage in plan.stages:
        if needed.intersection(stage.predicates):
            parts += _common(tables, stage)
    outputs = [
        (label, trees.cast(trees.bare(label), trees.typed("TEXT")) if _has_places(kind) else None)
        for label, kind in columns_of(plan.relations[wanted])
    ]
    listed = [(label, trees.bare(label) if node is None else node) for label, node in outputs]
    last = written(trees.select(listed, source=trees.table(tables.table(wanted))))
    return f"WITH {', '.join(parts)}\n{last}"


def _has_places(kind: exp.DataType) -> bool:
    return bool(kind.expressions)


def _quoted(name: str) -> str:
    return written(trees.name(name))


def _below(plan: ForwardPlan, wanted: str) -> set[str]:
    """Name the relations that one rests on, itself among them."""
    stages = {name: stage for stage in plan.stages for name in stage.predicates}
    found: set[str] = set()
    waiting = [wanted]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        stage = stages.get(name)
        if stage is not None:
            waiting += stage.predicates
            for pipeline in (*stage.base, *stage.recursive):
                waiting += [one for one, _ in demanded(pipeline.plan.steps)]
    return found


def columns_read(plan: ForwardPlan, name: str) -> frozenset[int]:
    """Give the columns of a relation that rules read, or that are wanted."""
    if any(one.relation == name for one in plan.wanted):
        return frozenset(range(plan.relations[name].arity))
    found: set[int] = set()
    for stage in plan.stages:
        for pipeline in (*stage.base, *stage.recursive):
            for step in pipeline.plan.steps:
                found |= _columns_read(step, name)
    return frozenset(found)


def _columns_read(step: Step, name: str) -> set[int]:
    match step:
        case Join(predicate=read) if read == name:
            return {*step.columns, *step.kept, *(place for pair in step.same for place in pair)}
        case Absence(predicate=read) if read == name:
            return set(step.columns)
        case Fold():
            return set().union(*(_columns_read(one, name) for one in step.steps))
        case _:
            return set()


def statements(plan: ForwardPlan, stage: Stage) -> Iterator[tuple[str, str]]:
    """Yield the common tables of a stage, each with what it is for.

    Raises `StrategyError` where a rule has no exact form.
    """
    for text in _common(PostgresTables(plan), stage):
        yield ", ".join(stage.predicates), text


def way_of(stage: Stage) -> str:
    """Say in which way a stage is computed."""
    return RECURSION if stage.recursive else STATEMENT


def _common(tables: PostgresTables, stage: Stage) -> Iterator[str]:
    """Write the common tables of a stage."""
    names = list(stage.predicates)
    if stage.recursive and len(names) > 1:
        whole = "_and_".join([tables.table(names[0]), "others"])
        query = _stage_rows(tables, stage, names[0])
        yield f"{_quoted(whole)} AS MATERIALIZED (\n{written(query)}\n)"
        shape = shape_of([tables.relation(name) for name in names])
        for name in names:
            text = written(rows_of(shape, name, whole))
            yield f"{_quoted(tables.table(name))} AS (\n{text}\n)"
        return
    for name in names:
        query = _stage_rows(tables, stage, name)
        yield f"{_quoted(tables.table(name))} AS (\n{written(query)}\n)"


def may_fail(plan: ForwardPlan) -> bool:
    """Tell whether something is computed that may fail."""
    return any(map(_may_fail, plan.stages))


def _may_fail(stage: Stage) -> bool:
    return any(_computes(step) for one in stage.base for step in one.plan.steps) or any(
        isinstance(term, Call) for one in stage.base for term in one.plan.head
    )


def _computes(step: Step) -> bool:
    match step:
        case Compute(expression):
            return isinstance(expression, Call)
        case Filter(left=left, right=right):
            return isinstance(left, Call) or isinstance(right, Call)
        case Fold():
            return True
        case _:
            return False


def _stage_rows(tables: PostgresTables, stage: Stage, name: str) -> exp.Query:
    """The rows of a relation; of a recursive stage those of all its relations."""
    for one in stage.predicates:
        if Kind.UNSIGNED in tables.relation(one).kinds:
            raise StrategyError("PostgreSQL has no unsigned numbers")
        if tables.relation(one).given:
            raise StrategyError(f"`{one}` has rows of its own besides those of rules")
    if not stage.recursive:
        return _start(tables, stage, tables.relation(name))
    if Strategy.CTE not in stage.choices:
        raise StrategyError("its recursion is not linear")
    relations = [tables.relation(one) for one in stage.predicates]
    shape = shape_of(relations)
    base = [tagged(shape, one.name, _start(tables, stage, one)) for one in relations]
    steps = [
        tagged(shape, head, typed(tables.relation(head), query, distinct=False))
        for head, query in recursive_queries(tables, tables, stage, shape)
    ]
    return step_rows(shape, base, _reading_once(trees.union(steps)))


def _reading_once(query: exp.Query) -> exp.Query:
    """Read the rows of the last round in one place: PostgreSQL lets a recursion stand in no more.

    Reference: https://www.postgresql.org/docs/current/queries-with.html
    """
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    for one in query.find_all(exp.Table):
        if one.name == LABEL:
            one.set("this", trees.name(_LAST))
            if one.alias_or_name == _LAST:
                one.set("alias", exp.TableAlias(this=trees.name(LABEL)))
    alone = trees.everything(trees.nested(query, "s"))
    trees.with_table(alone, _LAST, trees.everything(trees.table(LABEL)), kept=False)
    return trees.everything(trees.nested(alone, "r"))


def _start(tables: PostgresTables, stage: Stage, relation: Relation) -> exp.Query:
    """The rows of a relation before any recursion, each once.

    Of a query that is no set PostgreSQL leaves out what nobody reads, also where it would fail.
    """
    rows = stage.stated.get(relation.name, ())
    if len(rows) > _MOST_STATED:
        raise StrategyError(f"rules state {len(rows):,} of its rows")
    queries: list[exp.Query] = list(stated(rows, relation.kinds))
    queries += [_head(tables, one) for one in stage.base if one.head == relation.name]
    query = all_rows(queries or [nothing(relation)], relation=relation, distinct=False)
    return typed(relation, query, distinct=True)


def _head(tables: PostgresTables, pipeline: Pipeline) -> exp.Query:
    return standing_alone(PipelineText(tables, tables).head(pipeline).query)


# ------------------------------------------------------------------------------------ the text


def written(tree: exp.Expr) -> str:
    """Write a tree as PostgreSQL reads it."""
    found = tree.copy()
    for node in reversed(list(found.walk())):
        adapted = _adapted(node)
        if adapted is not node:
            found = adapted if node is found else found
            node.replace(adapted)
    return found.sql("postgres")


def _adapted(node: exp.Expr) -> exp.Expr:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    kinds = exp.DataType.Type
    match node:
        case exp.DataType(this=kinds.UBIGINT):
            raise StrategyError("PostgreSQL has no unsigned numbers")
        case exp.DataType(this=kinds.INT128):
            return exp.DataType(this=kinds.DECIMAL)
        case exp.Cast(to=exp.DataType(this=kinds.VARCHAR)):
            plain = exp.Cast(this=node.this, to=exp.DataType(this=kinds.TEXT))
            return exp.Paren(this=exp.Collate(this=plain, expression=trees.name("C")))
        case exp.IntDiv() | exp.Div():
            return exp.Div(this=node.this, expression=node.expression, **_AS_IT_IS)
        case exp.Case():
            return _failing(node)
        case exp.CTE(this=rows) if node.args.get("materialized") and _is_plain(rows):
            # Read from a table that was put aside, the rows of a join are no work for several.
            node.args["materialized"] = False
        case exp.Group():
            # A bare constant would be the number of a column.
            texts = [
                trees.cast(one, trees.typed("VARCHAR")) if isinstance(one, exp.Literal) else one
                for one in node.expressions
            ]
            node.set("expressions", texts)
        case exp.Anonymous():
            return _call(node)
    return node


def _is_plain(rows: exp.Expr) -> bool:
    """Tell whether a query only chooses among the rows of one relation, which is cheap to repeat.

    It computes nothing: of what nobody reads PostgreSQL would not notice that it fails.
    """
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    dear = (exp.Func, exp.Group, exp.Join, exp.Binary)
    cheap = (exp.Predicate, exp.And)
    return not any(
        isinstance(one, dear)
        and not isinstance(one, cheap)
        and not (isinstance(one, exp.Cast) and isinstance(one.this, exp.Literal))
        for one in rows.walk()
    )


def _failing(node: exp.Case) -> exp.Expr:
    """Let a branch that ends the query do so: PostgreSQL has no function for it, but a cast."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    (branch,) = node.args["ifs"]
    condition, then, otherwise = branch.this, branch.args["true"], node.args["default"]
    if _is_error(otherwise):
        node.set("ifs", [branch, exp.If(this=_ended(otherwise), true=exp.Null())])
        node.set("default", None)
    elif _is_error(then):
        ends = trees.choose(condition, _ended(then), exp.false())
        return trees.choose(ends, exp.Null(), otherwise)
    return node


def _is_error(node: exp.Expr) -> bool:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return isinstance(node, exp.Anonymous) and str(node.this).lower() == "error"


def _ended(node: exp.Expr) -> exp.Expr:
    """A truth value that cannot be had, of a text that is not known before it is needed."""
    reason = trees.text(f"{FAILED}{node.expressions[0].name}")
    moment = trees.cast(trees.call("clock_timestamp"), trees.typed("TEXT"))
    empty = trees.call("left", moment, trees.integer(0))
    return trees.cast(trees.call("concat", reason, empty), trees.typed("BOOLEAN"))


def _call(node: exp.Anonymous) -> exp.Expr:
    arguments = node.expressions
    match str(node.this).lower():
        case "strlen":
            return _long(trees.call("octet_length", *arguments))
        case "date_diff":
            return _long(trees.binary("-", arguments[2], arguments[1]))
        case "hash":
            text = trees.cast(arguments[0], trees.typed("TEXT"))
            return trees.call("hashtextextended", text, trees.integer(0))
        case _:
            return node


def _long(node: exp.Expr) -> exp.Expr:
    return trees.cast(node, trees.typed("BIGINT"))
