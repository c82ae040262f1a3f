"""Split derived predicates into components; decide which aggregates may run through recursion."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis.analysed import Component
from constat.diagnostics import Diagnostic, Related
from constat.frozen import frozen
from constat.logic import (
    Aggregate,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Variable,
    threshold_of,
)
from constat.syntax import print_literal, print_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from constat.analysis.analysed import Draft
    from constat.diagnostics import Span
    from constat.logic import Atom, Literal, Program, Rule, Term

# What is accepted is monotone, so that a least fixpoint exists.
# A float total is refused: it is rounded, so it could reach a bound that the exact sum does not,
# or the other way round, and the rounding depends on what else was added.

GROWING = frozenset({"sum", "count"})
"""Aggregates that more rows can only make greater, as long as none is negative."""


def mark_thresholds(draft: Draft, members: AbstractSet[str]) -> None:
    """Mark the aggregates of a component over itself, and report those that are no threshold."""
    for number, rule in enumerate(draft.rules):
        if rule.head.predicate not in members:
            continue
        marked = tuple(
            replace(literal, recursive=True)
            if isinstance(literal, Aggregate) and is_over(literal, members)
            else literal
            for literal in rule.body
        )
        draft.rules[number] = replace(rule, body=marked)
        for place, literal in enumerate(marked):
            if isinstance(literal, Aggregate) and literal.recursive:
                kinds = draft.variable_kinds[number]
                draft.diagnostics.extend(_mistakes(rule, place, literal, kinds))


def is_over(aggregate: Aggregate, members: AbstractSet[str]) -> bool:
    """Whether an aggregate has an atom of one of these predicates."""
    return any(
        isinstance(inner, Positive) and inner.atom.predicate in members for inner in aggregate.body
    )


def compares(rule: Rule, aggregate: Aggregate) -> Comparison | None:
    """The first comparison in which the aggregate's result stands alone on a side."""
    for literal in rule.body:
        if isinstance(literal, Comparison) and aggregate.result in {literal.left, literal.right}:
            return literal
    return None


def _mistakes(
    rule: Rule, place: int, aggregate: Aggregate, kinds: Mapping[str, Kind]
) -> Iterator[Diagnostic]:
    compared = compares(rule, aggregate)
    if aggregate.function not in GROWING or compared is None:
        return
    if threshold_of(rule, place) is None:
        yield _no_threshold(aggregate, compared)
    elif aggregate.target is not None and _kind(aggregate.target, kinds) is Kind.FLOAT:
        yield _rounded(aggregate)
    elif isinstance(aggregate.target, Constant) and aggregate.target.value < 0:  # type: ignore[operator]  # a number
        yield _falling(aggregate)


def _kind(term: Term, kinds: Mapping[str, Kind]) -> Kind | None:
    return kinds.get(term.name) if isinstance(term, Variable) else term.kind


def _term(aggregate: Aggregate) -> str:
    """Write an aggregate as it stands in a comparison."""
    return print_literal(aggregate).partition(" = ")[2]


def _no_threshold(aggregate: Aggregate, compared: Comparison) -> Diagnostic:
    shown = _term(aggregate)
    turned = compared.right == aggregate.result
    other = compared.left if turned else compared.right
    return Diagnostic(
        "C0280",
        f"a recursive {aggregate.function} that is not only compared by `>` or `>=`",
        aggregate.span,
        label="its rows depend on this rule",
        note="the rows are not all known when the rule is tried; more of them can only make the "
        f"{aggregate.function} greater, so nothing but a lower bound can be relied on",
        help=f"compare it once, and use the value nowhere else: `{shown} > {print_term(other)}`",
    )


def _rounded(aggregate: Aggregate) -> Diagnostic:
    return Diagnostic(
        "C0281",
        "a recursive sum of floats",
        aggregate.span,
        label="this sum is rounded",
        note="whether a rounded sum is beyond a bound can depend on rows that are added later",
        help="declare the column Decimal, or sum whole units: `as(?x, Decimal)` converts a value",
    )


def _falling(aggregate: Aggregate) -> Diagnostic:
    counted = replace(aggregate, function="count", target=None)
    return Diagnostic(
        "C0282",
        "a recursive sum of negative values",
        aggregate.span,
        label="every row makes it smaller",
        note="a rule that needs its own rows to be few contradicts itself; only what grows can be "
        "summed in a recursion",
        help=f"sum what is positive, or count: `{_term(counted)} > 5`",
    )


# No predicate of a component negates or aggregates over one of the same component, so each
# component sees only finished ones where absence matters (Apt, Blair and Walker, 1988); the
# exception are thresholds, which are monotone (see `thresholds`).
# Components are found by Tarjan's algorithm (1972), on a stack of our own: a chain of rules may be
# as long as a file.


@frozen
class Use:
    """A predicate used in the body of a rule.

    `how` is empty, `!`, an aggregate's name, or one of `THRESHOLDS` where nothing but a comparison
    uses the aggregate.
    """

    predicate: str
    how: str
    span: Span | None


Graph = dict[str, list[Use]]

THRESHOLDS = frozenset(f"compared {function}" for function in GROWING)
"""How `sum` and `count` use a predicate when their value is only compared."""


def find_strata(draft: Draft) -> None:
    """Fill the components, and report each cycle through negation or an aggregate."""
    graph = dependencies(draft.program)
    components = []
    for names in strong_components(graph):
        members = set(names)
        uses = [(name, use) for name in names for use in graph[name] if use.predicate in members]
        components.append(Component(tuple(names), recursive=bool(uses)))
        if any(use.how not in {"", "!"} for _, use in uses):
            mark_thresholds(draft, members)
        bad = next(((name, use) for name, use in uses if use.how not in {"", *THRESHOLDS}), None)
        if bad is not None:
            draft.diagnostics.append(_cycle(graph, members, *bad))
    draft.components = tuple(components)


def dependencies(program: Program) -> Graph:
    """Give for each derived predicate what its rules use, one entry per predicate and way."""
    graph: dict[str, dict[tuple[str, str], Use]] = {
        rule.head.predicate: {} for rule in program.rules
    }
    for rule in program.rules:
        uses = graph[rule.head.predicate]
        for atom, how in _uses(rule, rule.body):
            key = atom.predicate, how
            if atom.predicate in graph and key not in uses:
                uses[key] = Use(atom.predicate, how, atom.span)
    return {name: list(uses.values()) for name, uses in graph.items()}


def _uses(rule: Rule, body: Iterable[Literal]) -> Iterator[tuple[Atom, str]]:
    for literal in body:
        match literal:
            case Positive(atom):
                yield atom, ""
            case Negative(atom):
                yield atom, "!"
            case Aggregate(function=function, body=inner):
                compared = function in GROWING and compares(rule, literal) is not None
                how = f"compared {function}" if compared else function
                yield from ((atom, inside or how) for atom, inside in _uses(rule, inner))
            case _:
                pass


def components_of(program: Program) -> tuple[Component, ...]:
    """Return the components of a program that is known to be stratified, callees first."""
    graph = dependencies(program)
    found = []
    for names in strong_components(graph):
        members = set(names)
        recursive = any(use.predicate in members for name in names for use in graph[name])
        found.append(Component(tuple(names), recursive))
    return tuple(found)


def strong_components(graph: Mapping[str, Sequence[Use]]) -> Iterator[list[str]]:
    """Yield the strongly connected components, callees first, members in the order of rules."""
    order = {name: place for place, name in enumerate(graph)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: list[str] = []
    on_stack: set[str] = set()
    for start in graph:
        if start in index:
            continue
        frames: list[tuple[str, Iterator[Use]]] = []
        following: str | None = start
        while following is not None or frames:
            if following is not None:
                index[following] = low[following] = len(index)
                open_names.append(following)
                on_stack.add(following)
                frames.append((following, iter(graph[following])))
            name, uses = frames[-1]
            following = _unseen(name, uses, index, low, on_stack)
            if following is not None:
                continue
            frames.pop()
            if frames:
                caller = frames[-1][0]
                low[caller] = min(low[caller], low[name])
            if low[name] == index[name]:
                component = [open_names.pop()]
                while component[-1] != name:
                    component.append(open_names.pop())
                on_stack.difference_update(component)
                yield sorted(component, key=order.__getitem__)


def _unseen(
    name: str,
    uses: Iterator[Use],
    index: Mapping[str, int],
    low: dict[str, int],
    on_stack: set[str],
) -> str | None:
    """Give the next predicate to visit from here, or nothing when all are seen."""
    for use in uses:
        if use.predicate not in index:
            return use.predicate
        if use.predicate in on_stack:
            low[name] = min(low[name], index[use.predicate])
    return None


def _cycle(graph: Graph, members: set[str], name: str, use: Use) -> Diagnostic:
    """Draw the cycle that begins with one negated or aggregated use."""
    steps = [(name, use), *_path(graph, members, use.predicate, name)]
    path = f"`{name}`" + "".join(_arrow(step) for _, step in steps)
    what = "its own absence" if use.how == "!" else f"a {use.how} over itself"
    return Diagnostic(
        "C0250",
        f"`{name}` depends on {what}",
        use.span,
        label=path,
        note="what is negated or aggregated must be complete before: no predicate may reach itself "
        "through `!` or an aggregate; only a sum or count that is compared by `>` or `>=` may",
        help=f"split `{use.predicate}`: give the rules that do not need `{name}` a predicate of "
        f"their own, and {'negate' if use.how == '!' else 'aggregate over'} that one",
        related=tuple(
            Related(step.span, f"`{source}` uses `{step.predicate}` here")
            for source, step in steps[1:]
            if step.span is not None
        ),
    )


def _arrow(use: Use) -> str:
    sign = "!" if use.how == "!" else f"{use.how.split()[-1]} of " if use.how else ""
    return f" -> {sign}`{use.predicate}`"


def _path(graph: Graph, members: set[str], start: str, goal: str) -> list[tuple[str, Use]]:
    """Give the shortest chain of uses from one member of a component to another."""
    came: dict[str, tuple[str, Use]] = {}
    queue = deque([start])
    while queue and goal not in came and start != goal:
        name = queue.popleft()
        for use in graph[name]:
            if use.predicate in members and use.predicate not in came and use.predicate != start:
                came[use.predicate] = (name, use)
                queue.append(use.predicate)
    steps: list[tuple[str, Use]] = []
    while goal != start:
        steps.append(came[goal])
        goal = came[goal][0]
    return steps[::-1]
