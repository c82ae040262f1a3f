"""Plan whole relations: recursions rewritten, common beginnings shared, the passes in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram
from constat.frozen import frozen, slotted
from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Variable,
    literal_variables,
    term_variables,
)
from constat.logic.arithmetic import unwrapped
from constat.plan.compilation import predicates_of, rules_by_head
from constat.plan.forward.demand import (
    Cut,
    Extracts,
    computes,
    extract,
    is_safe,
    keep_reachable,
    names_of,
    restrict_to_demand,
    settled,
)
from constat.plan.forward.estimates import (
    Draft,
    Pass,
    TypedRule,
    distinct_of,
    domain,
    follow,
    plan_rule,
)
from constat.plan.forward.operators import (
    ForwardPlan,
    Pipeline,
    PlanOptions,
    Relation,
    Stage,
    Statistics,
    Strategy,
    Wanted,
)
from constat.plan.forward.pipelines import TEXTS, compile_pipelines, encode_columns
from constat.plan.operators import (
    Absence,
    Call,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    Literally,
    Slot,
    Step,
)

if TYPE_CHECKING:
    from constat.analysis import Component
    from constat.logic import Predicate, Row
    from constat.plan.forward.demand import Extract
    from constat.plan.forward.estimates import Estimates, StageDraft

# Which strategies can compute a stage, and which one does.

# A strategy without a reason gives the right answer or raises `StrategyError`. The columnar back
# end works on 64-bit integers, so all columns that its rules read must be integers or encoded; a
# recursive table expression sees the last round only, so it takes linear rules.

INTEGERS = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_FOLDS = frozenset({"count", "sum", "min", "max"})


def refusals(stage: StageDraft, relations: Mapping[str, Relation]) -> dict[Strategy, str]:
    """Give for every strategy why it cannot compute a recursive stage; an empty text if it can."""
    columnar = next(_columnar(stage, relations), "")
    narrowest = min(relations[name].arity for name in stage.component.predicates)
    bitmap = f"all relations have over {_PAIR} columns" if narrowest > _PAIR else ""
    return {
        Strategy.STATEMENT: "the stage is recursive",
        Strategy.CTE: next(_expression(stage), ""),
        Strategy.LOOP: "",
        Strategy.BITMAP: columnar or bitmap,
        Strategy.RUNS: columnar,
        Strategy.REFERENCE: "",
    }


def _expression(stage: StageDraft) -> Iterator[str]:
    """Why a recursive table expression cannot hold the stage."""
    if not stage.linear:
        yield "a rule reads the stage twice"
    for pipeline in stage.recursive:
        if any(isinstance(step, Fold) for step in pipeline.plan.steps):
            yield "a recursive rule aggregates"


def _columnar(stage: StageDraft, relations: Mapping[str, Relation]) -> Iterator[str]:
    """Why 64-bit integers cannot hold the stage."""
    for name in stage.component.predicates:
        yield from _columns(relations[name])
    for pipeline in (*stage.base, *stage.recursive):
        for step in pipeline.plan.steps:
            yield from _step(step, pipeline, relations)
        for expression in pipeline.plan.head:
            yield from _arithmetic(expression)
        for layout in (pipeline.layout, *pipeline.inner.values()):
            for slot, kind in enumerate(layout.kinds):
                if kind not in INTEGERS and slot not in layout.encoded:
                    yield f"a rule carries {kind.value} values that are no integers"


def _columns(relation: Relation) -> Iterator[str]:
    if not relation.arity:
        yield f"{relation.name} has no columns"
    for kind, encoded in zip(relation.kinds, relation.encoded, strict=True):
        if kind not in INTEGERS and not encoded:
            yield f"{relation.name} has a {kind.value} column that is no integer"


def _step(step: Step, pipeline: Pipeline, relations: Mapping[str, Relation]) -> Iterator[str]:
    match step:
        case Join(predicate=predicate) | Absence(predicate=predicate):
            yield from _columns(relations[predicate])
        case Filter(operator=operator, left=left, right=right, kind=kind):
            if kind not in INTEGERS and (kind not in TEXTS or operator not in {"=", "!="}):
                yield f"a rule compares {kind.value} values"
            for expression in (left, right):
                yield from _arithmetic(expression)
        case Compute(expression=expression):
            yield from _arithmetic(expression)
        case Fold(function=function, steps=steps, kind=kind):
            plain = unwrapped(function)[0]
            if plain not in _FOLDS or (kind is not None and kind not in INTEGERS):
                values = "" if kind is None else f" of {kind.value} values"
                yield f"a rule needs {function}{values}"
            for one in steps:
                yield from _step(one, pipeline, relations)


def _arithmetic(expression: Expression) -> Iterator[str]:
    pending = [expression]
    while pending:
        match pending.pop():
            case Slot() | Literally():
                pass
            case Call(function, arguments, parameters, result):
                if not INTEGERS.issuperset((*parameters, result)):
                    yield f"a rule computes {function} of values that are no integers"
                pending.extend(arguments)


# `choices` has only strategies that give the right answer, the reference engine last; a forced
# strategy is taken where it is one of them. The order follows measurements: bitmaps for pairs that
# grow beyond their inputs (a closure of 7,000 edges: a tenth of the time of SQL); one table
# expression for other linear recursion (5 million edges from one node: less than half); sorted
# runs otherwise; rounds of statements last, for they scan the whole relation in each round.

_DEFAULT_MEMORY = 1 << 30
_SHARE_OF_MEMORY = 4
_BITS = 8
_SIMPLE: Final = MappingProxyType(
    {
        Strategy.STATEMENT: "not recursive: one statement",
        Strategy.REFERENCE: "any meaning",
    }
)


def choose_strategies(draft: Draft) -> None:
    """Turn drafts of stages into stages."""
    for number, stage in enumerate(draft.drafts):
        draft.stages.append(_stage(draft, number, stage))


def _stage(draft: Draft, number: int, stage: StageDraft) -> Stage:
    against: Mapping[Strategy, str] = {}
    ranked: Mapping[Strategy, str] = _SIMPLE
    if stage.recursive:
        against, ranked = refusals(stage, draft.relations), _ranked(draft, stage)
    choices = tuple(one for one in ranked if not against.get(one))
    strategy, why = choices[0], ranked[choices[0]]
    forced = draft.options.strategy
    if forced is not None and forced is not strategy:
        if forced in choices:
            strategy, why = forced, "asked for"
        elif stage.recursive:
            why = f"{why}; not {forced.value}: {against[forced]}"
    return Stage(
        number=number,
        predicates=stage.component.predicates,
        stated=_stated(draft, stage),
        base=tuple(stage.base),
        recursive=tuple(stage.recursive),
        linear=stage.linear,
        strategy=strategy,
        choices=choices,
        why=why,
        rows=stage.rows,
        rounds=stage.rounds,
    )


def _stated(draft: Draft, stage: StageDraft) -> dict[str, tuple[Row, ...]]:
    rows: dict[str, dict[Row, None]] = {}
    for number in stage.stated:
        head = draft.program.rules[number].head
        row = tuple(term.value for term in head.terms if isinstance(term, Constant))
        rows.setdefault(head.predicate, {})[row] = None
    return {name: tuple(found) for name, found in rows.items()}


def _ranked(draft: Draft, stage: StageDraft) -> dict[Strategy, str]:
    """All strategies with a reason for each, the best estimate first."""
    reasons = {
        Strategy.CTE: "linear recursion: one recursive table expression",
        Strategy.BITMAP: "recursion over pairs, with a bit for each that may be",
        Strategy.RUNS: "recursion over integers, kept sorted",
        Strategy.LOOP: "recursion in rounds of statements",
        Strategy.REFERENCE: "any meaning",
    }
    order = []
    fits = _fits(draft, stage)
    if fits and _is_dense(draft, stage):
        order.append(Strategy.BITMAP)
    order.append(Strategy.CTE)
    if fits:
        order.append(Strategy.BITMAP)
    order += [Strategy.RUNS, Strategy.LOOP, Strategy.BITMAP, Strategy.REFERENCE]
    return {one: reasons[one] for one in dict.fromkeys(order)}


def _fits(draft: Draft, stage: StageDraft) -> bool:
    """Whether a bit for each row that may be takes a small share of the memory."""
    bits = sum(domain(draft, name) for name in stage.component.predicates)
    memory = draft.options.memory or _DEFAULT_MEMORY
    return bits <= memory * _BITS / _SHARE_OF_MEMORY


def _is_dense(draft: Draft, stage: StageDraft) -> bool:
    """Whether pairs grow beyond what they are made of, so that reading inputs costs little.

    Reaching nodes from a few is not: there a table expression never sorts the edges.
    """
    own = set(stage.component.predicates)
    read = {
        step.predicate
        for pipeline in stage.recursive
        for step in pipeline.plan.steps
        if isinstance(step, Join) and step.predicate not in own
    }
    pairs = all(draft.relations[name].arity == _PAIR for name in own)
    return pairs and stage.rows > _GROWN * sum(draft.estimates.rows(name) for name in read)


# Plan whole relations: recursions rewritten, common beginnings shared, the passes in order.

# What is moved errs for no value, so it makes no difference when it is computed; the new relation
# holds for the same values of the kept variables.

NAME: Final = "fields first"
_TOTAL: Final = frozenset({CONSTRUCTOR_OF, FIELD_OF})


_NEVER_ERR: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
Moved = tuple[Literal, ...]


def take_fields_first(draft: Draft) -> None:
    """Let recursive rules read fields from relations of their own."""
    if not draft.options.rewrite:
        return
    members = {
        name: frozenset(one.predicates)
        for one in draft.program.components
        if one.recursive
        for name in one.predicates
    }
    made = Extracts()
    rules = [
        _taken(draft, typed, members[typed[0].head.predicate], made)
        if typed[0].head.predicate in members
        else typed
        for typed in draft.typed_rules()
    ]
    if made.made:
        draft.revise([*rules, *made.rules], made.predicates, NAME)


def _taken(draft: Draft, typed: TypedRule, own: frozenset[str], made: Extracts) -> TypedRule:
    rule, kinds = typed
    for literal in rule.body:
        if not isinstance(literal, Positive) or literal.atom.predicate in own:
            continue
        moved: Moved = (literal, *_following(literal.atom, rule.body))
        if not any(_computes(one) for one in moved[1:]):
            continue
        kept = _kept(moved, rule)
        found = made.take(f"{literal.atom.predicate}/fields", Cut.of(moved, kept, kinds))
        draft.note(NAME, literal.atom.predicate, f"{rule.id} reads fields of it", applied=True)
        atom = found.atom({name: name for name in kept})
        gone = {id(one) for one in moved[1:]}
        body = (Positive(atom) if one is literal else one for one in rule.body)
        rule = replace(rule, body=tuple(one for one in body if id(one) not in gone))
    return rule, kinds


def _following(atom: Atom, body: Sequence[Literal]) -> list[Comparison]:
    """Give the comparisons that need nothing but an atom, and each other."""
    if any(isinstance(term, Apply) for term in atom.terms):
        return []
    bound = {term.name for term in atom.terms if isinstance(term, Variable)}
    waiting = [one for one in body if isinstance(one, Comparison) and _is_total(one)]
    found: list[Comparison] = []
    while ready := next((one for one in waiting if _is_ready(one, bound)), None):
        waiting.remove(ready)
        found.append(ready)
        bound |= names_of(ready)
    return found


def _is_total(literal: Comparison) -> bool:
    return literal.operator in _NEVER_ERR and all(
        one.function in _TOTAL for side in (literal.left, literal.right) for one in _calls(side)
    )


def _is_ready(literal: Comparison, bound: set[str]) -> bool:
    sides = ((literal.left, literal.right), (literal.right, literal.left))
    binds = literal.operator == "=" and any(
        isinstance(one, Variable) and _names(other) <= bound for one, other in sides
    )
    return binds or names_of(literal) <= bound


def _computes(literal: Literal) -> bool:
    if not isinstance(literal, Comparison):
        return False
    return any(True for side in (literal.left, literal.right) for _ in _calls(side))


def _calls(term: Term) -> Iterator[Apply]:
    pending = [term]
    while pending:
        one = pending.pop()
        if isinstance(one, Apply):
            yield one
            pending.extend(one.arguments)


def _names(term: Term) -> set[str]:
    return {one.name for one in term_variables(term)}


def _kept(moved: Moved, rule: Rule) -> tuple[str, ...]:
    """Give the variables of what is moved that anything else of the rule reads."""
    gone = {id(one) for one in moved}
    later = {one.name for term in rule.head.terms for one in term_variables(term)}
    for literal in rule.body:
        if id(literal) not in gone:
            later |= names_of(literal)
    names = dict.fromkeys(v.name for one in moved for v in literal_variables(one))
    return tuple(name for name in names if name in later)


# Conditions, for a rule `p(h) :- p(a), p(b)` of a predicate without rows from outside. (1) Each
# column is of one of three sorts: a group column has one variable in h, a and b; a source column
# has one variable in h and a; a target column has one variable in h and b. (2) The variables of a
# in its target columns are those of b in its source columns. (3) No variable stands anywhere else.
# (4) It is the only rule of p whose body reaches p. Then p is the closure of what its other rules
# give, call it e, under the composition that the rule describes. Composition is associative, so
# the closure is the union of the powers of e, and the least relation that holds e and is closed
# under composition with e on one side has all of them, by induction on the power; it is contained
# in p because e is. With a further rule of p that reaches p the same holds, but e would be
# recursive with p and nothing be won, so the rule is kept. See Jagadish, Agrawal and Ness, A study
# of transitive closure as a recursion mechanism (1987), and Abiteboul, Hull and Vianu, chapter 13.

LINEAR_CLOSURE = "linear closure"


@frozen
class Closure:
    """A transitive rule: its number, and the sorts of the columns."""

    number: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]


@slotted
class _Change:
    """The rules of the program, some of them taken out, and what is new."""

    rules: list[TypedRule | None]
    added: list[TypedRule] = field(default_factory=list)
    made: dict[str, Predicate] = field(default_factory=dict)


def linearise(draft: Draft) -> None:
    """Replace the transitive rules for which the conditions hold."""
    if not draft.options.rewrite:
        return
    heads = rules_by_head(draft.program)
    change = _Change(list(draft.typed_rules()))
    for component in draft.program.components:
        for found in _closures(draft, component, heads):
            why = _against(draft, component, found, heads)
            name = component.predicates[0]
            if why:
                draft.note(LINEAR_CLOSURE, name, why, applied=False)
                continue
            base = _linear(draft, found, [n for n in heads[name] if n != found.number], change)
            why = f"{draft.program.rules[found.number].id} composes with {base} on one side"
            draft.note(LINEAR_CLOSURE, name, why, applied=True)
    if change.added:
        kept = [one for one in change.rules if one is not None]
        draft.revise([*kept, *change.added], change.made, LINEAR_CLOSURE)


def _closures(
    draft: Draft, component: Component, heads: Mapping[str, tuple[int, ...]]
) -> list[Closure]:
    if not component.recursive:
        return []
    numbers = (number for name in component.predicates for number in heads.get(name, ()))
    found = (closure_of(number, draft.program.rules[number]) for number in numbers)
    return [one for one in found if one is not None]


def closure_of(number: int, rule: Rule) -> Closure | None:
    """Recognise a transitive rule (conditions 1 to 3), in either order of its body."""
    match rule.body:
        case (Positive(one), Positive(other)) if (
            one.predicate == other.predicate == rule.head.predicate
        ):
            return _sorted(number, rule.head, one, other) or _sorted(number, rule.head, other, one)
        case _:
            return None


def _sorted(number: int, head: Atom, first: Atom, second: Atom) -> Closure | None:
    groups: list[str] = []
    sources: list[int] = []
    targets: list[int] = []
    for column, terms in enumerate(zip(head.terms, first.terms, second.terms, strict=True)):
        match terms:
            case (Variable(h), Variable(a), Variable(b)) if h == a == b:
                groups.append(h)
            case (Variable(h), Variable(a), Variable()) if h == a:
                sources.append(column)
            case (Variable(h), Variable(), Variable(b)) if h == b:
                targets.append(column)
            case _:
                return None
    joined = [_name(first, column) for column in targets]
    ends = [_name(head, column) for column in (*sources, *targets)]
    every = [*groups, *joined, *ends]
    if not sources or len(set(every)) != len(every):
        return None
    if sorted(joined) != sorted(_name(second, column) for column in sources):
        return None
    return Closure(number, tuple(sources), tuple(targets))


def _name(atom: Atom, column: int) -> str:
    term = atom.terms[column]
    return term.name if isinstance(term, Variable) else ""


def _against(
    draft: Draft, component: Component, found: Closure, heads: Mapping[str, tuple[int, ...]]
) -> str:
    """Why the rule has to stay, or nothing."""
    name = component.predicates[0]
    members = set(component.predicates)
    if name in draft.program.external:
        return "it has rows from outside, too"
    if not settled(draft, [name]):
        return "what it rests on may be unknown"
    others = (number for one in members for number in heads.get(one, ()) if number != found.number)
    if len(members) > 1 or any(
        members & set(predicates_of(literal))
        for number in others
        for literal in draft.program.rules[number].body
    ):
        return "another rule of it is recursive"
    return ""


def _linear(draft: Draft, found: Closure, exits: list[int], change: _Change) -> str:
    rule, kinds = draft.program.rules[found.number], draft.program.variable_kinds[found.number]
    base = _copied(draft, exits)
    if not base:
        base = f"{rule.head.predicate}/once"
        predicate = draft.program.program.predicates[rule.head.predicate]
        change.made[base] = replace(predicate, name=base, source=None, attributes={})
        for number in exits:
            one, its_kinds = draft.program.rules[number], draft.program.variable_kinds[number]
            change.rules[number] = None
            change.added.append((replace(one, head=replace(one.head, predicate=base)), its_kinds))
        start = Rule(f"{base}.start", rule.head, (Positive(Atom(base, rule.head.terms)),))
        change.added.append((start, kinds))
    change.rules[found.number] = None
    body = _body(draft, found, rule, base)
    change.added.append((replace(rule, body=body), kinds))
    return base


def _body(draft: Draft, found: Closure, rule: Rule, base: str) -> tuple[Positive, Positive]:
    """Compose with the base on the side where a wanted constant does not stand."""
    one, other = (literal for literal in rule.body if isinstance(literal, Positive))
    start = rule.head.terms[found.sources[0]]
    first, second = (one, other) if one.atom.terms[found.sources[0]] == start else (other, one)
    if _wants_target(draft, rule.head.predicate, found):
        return Positive(replace(first.atom, predicate=base)), second
    return first, Positive(replace(second.atom, predicate=base))


def _wants_target(draft: Draft, name: str, found: Closure) -> bool:
    bound = {
        column
        for one in draft.wanted
        if one.relation == name
        for column, term in enumerate(one.atom.terms)
        if isinstance(term, Constant)
    }
    return bool(bound & set(found.targets)) and not bound & set(found.sources)


def _copied(draft: Draft, exits: list[int]) -> str:
    """The relation that the only other rule copies as it is, or nothing."""
    if len(exits) != 1:
        return ""
    return copied_by(draft.program.rules[exits[0]])


def copied_by(rule: Rule) -> str:
    """Name the relation that a rule copies as it is, or nothing."""
    match rule.body:
        case (Positive(atom),) if atom.terms == rule.head.terms:
            names = {term.name for term in atom.terms if isinstance(term, Variable)}
            return atom.predicate if len(names) == len(atom.terms) else ""
        case _:
            return ""


@frozen
class EdgeClosure:
    """What a stage is that computes which rows of `edge` follow on each other.

    A row leads from the value of column `source` to that of column `target`, within the values of
    the columns `groups`.
    """

    edge: str
    source: int
    target: int
    groups: tuple[int, ...]


def edge_closure(plan: ForwardPlan, stage: Stage) -> EdgeClosure | None:
    """Recognise a stage of one relation: a copy of its edges, and a rule that adds an edge.

    It is the closure of the edges then, by the conditions of `linearise`.
    """
    if len(stage.predicates) != 1 or stage.stated or plan.relations[stage.predicates[0]].given:
        return None
    name = stage.predicates[0]
    rules = [one for one in plan.program.rules if one.head.predicate == name]
    if len(rules) != 2:  # noqa: PLR2004  the copy and the rule that adds an edge
        return None
    for copy, adding in (rules, rules[::-1]):
        edge = copied_by(copy)
        if not edge or edge == name:
            continue
        whole = replace(adding, body=tuple(_over(one, edge, name) for one in adding.body))
        read = [used for one in adding.body for used in predicates_of(one)]
        found = closure_of(0, whole)
        if found is None or sorted(read) != sorted([name, edge]):
            continue
        if len(found.sources) == len(found.targets) == 1:
            ends = {*found.sources, *found.targets}
            groups = tuple(n for n in range(len(copy.head.terms)) if n not in ends)
            return EdgeClosure(edge, found.sources[0], found.targets[0], groups)
    return None


def _over(literal: Literal, name: str, other: str) -> Literal:
    if isinstance(literal, Positive) and literal.atom.predicate == name:
        return Positive(replace(literal.atom, predicate=other))
    return literal


# A projection holds for the same values of the kept variables. It is made only where the stage
# then is one that integers serve better than SQL: not linear, or pairs that grow beyond what they
# are made of.

PROJECTION = "projection"
_GROWN = 2.0
_PAIR = 2


@slotted
class _ProjectChange:
    """The rules of the program, and the projections made so far."""

    rules: list[TypedRule]
    made: Extracts = field(default_factory=Extracts)


def project_inputs(draft: Draft) -> None:
    """Let recursive rules read projections, where that makes their stage one of integers."""
    if not draft.options.rewrite:
        return
    heads = rules_by_head(draft.program)
    wide = [
        one for one in draft.program.components if one.recursive and _is_wide(draft, one, heads)
    ]
    if not wide:
        return
    compile_pipelines(draft)
    stages = {stage.component.predicates: stage for stage in draft.drafts}
    change = _ProjectChange(draft.typed_rules())
    for component in wide:
        if _gains(draft, stages[component.predicates]):
            _project(draft, component, change)
    if change.made.made:
        draft.revise([*change.rules, *change.made.rules], change.made.predicates, PROJECTION)


def _is_wide(draft: Draft, component: Component, heads: Mapping[str, Sequence[int]]) -> bool:
    predicates = draft.program.program.predicates
    members = component.predicates
    if not all(_holds(predicates[name]) for name in members):
        return False
    return any(
        isinstance(one, Positive) and not _holds(predicates[one.atom.predicate])
        for name in members
        for number in heads.get(name, ())
        for one in draft.program.rules[number].body
    )


def _holds(predicate: Predicate) -> bool:
    """Whether integers, or numbers of texts, can stand for all values of a relation."""
    return all(kind in INTEGERS or kind in TEXTS for kind in predicate.kinds)


def _gains(compiled: Draft, stage: StageDraft) -> bool:
    if not stage.linear:
        return True
    own = stage.component.predicates
    read = {
        one.atom.predicate
        for rule in compiled.program.rules
        if rule.head.predicate in own
        for one in rule.body
        if isinstance(one, Positive) and one.atom.predicate not in own
    }
    pairs = all(compiled.program.program.predicates[name].arity == _PAIR for name in own)
    return pairs and stage.rows > _GROWN * sum(compiled.estimates.rows(name) for name in read)


def _project(draft: Draft, component: Component, change: _ProjectChange) -> None:
    members = set(component.predicates)
    for number, (rule, kinds) in enumerate(change.rules):
        if rule.head.predicate not in members:
            continue
        for literal in rule.body:
            if isinstance(literal, Positive) and literal.atom.predicate not in members:
                predicate = draft.program.program.predicates[literal.atom.predicate]
                # What an atom computes from other literals cannot leave them.
                if not computes(literal.atom) and not _holds(predicate):
                    found = _projected(draft, change.rules[number][0], literal, kinds, change)
                    change.rules[number] = (found, kinds)


def _projected(
    draft: Draft, rule: Rule, literal: Positive, kinds: Mapping[str, Kind], change: _ProjectChange
) -> Rule:
    names = {term.name for term in literal.atom.terms if isinstance(term, Variable)}
    moved = [literal, *(one for one in rule.body if _goes_with(one, names))]
    rest = [one for one in rule.body if all(one is not other for other in moved)]
    later = {v.name for term in rule.head.terms for v in term_variables(term)}
    for one in rest:
        later |= names_of(one)
    kept = [name for name in _order(literal.atom) if name in later]
    if any(kinds[name] not in INTEGERS | TEXTS for name in kept):
        draft.note(PROJECTION, rule.id, "a later step reads the column", applied=False)
        return rule
    found = change.made.take(literal.atom.predicate, Cut.of(moved, kept, kinds))
    draft.note(
        PROJECTION, literal.atom.predicate, f"{rule.id} reads {len(kept)} columns", applied=True
    )
    atom = found.atom({name: name for name in kept})
    places = {id(one) for one in moved[1:]}
    body = (Positive(atom) if one is literal else one for one in rule.body if id(one) not in places)
    return replace(rule, body=tuple(body))


def _goes_with(literal: Literal, names: set[str]) -> bool:
    return isinstance(literal, Comparison) and names_of(literal) <= names


def _order(atom: Atom) -> list[str]:
    return list(dict.fromkeys(term.name for term in atom.terms if isinstance(term, Variable)))


# A shared beginning reads no predicate of the rules' own components, so that it is complete before
# any of them begins. The longest beginning goes first; it pays where joining it again for every
# further rule makes more bindings than it has rows to keep.

SHARING = "common subplans"
_LONGEST = 6
_COST_OF_KEEPING = 2.0
_WORTH = 10_000.0

Beginning = tuple[tuple[Literal, ...], tuple[tuple[str, Kind], ...]]
"""Literals in canonical names, with the kind of each name: all that the rules have in common."""


@frozen
class _Use:
    """A rule that has a beginning; `names` gives for each of its variables the canonical one."""

    number: int
    length: int
    names: Mapping[str, str]


def share_subplans(draft: Draft) -> None:
    """Share beginnings of bodies where it pays."""
    if not draft.options.rewrite or not _is_large(draft):
        return
    groups = _groups(draft)
    if not groups:
        return
    compile_pipelines(draft)
    estimates = draft.estimates
    rules = draft.typed_rules()
    made: dict[str, Predicate] = {}
    added: list[TypedRule] = []
    taken: set[int] = set()
    for beginning in sorted(groups, key=lambda one: len(one[0]), reverse=True):
        uses = [use for use in groups[beginning] if use.number not in taken]
        if len(uses) < 2:  # noqa: PLR2004  one rule shares nothing
            continue
        found = _extracted(rules, beginning, uses, f"shared/{len(made) + 1}")
        why, pays = _weigh(found, len(uses), estimates)
        if why:
            subject = ", ".join(rules[use.number][0].id for use in uses)
            draft.note(SHARING, subject, why, applied=pays)
        if not pays:
            continue
        made[found.predicate.name] = found.predicate
        added.append(found.rule)
        for use in uses:
            taken.add(use.number)
            rules[use.number] = _shortened(rules[use.number], use, found)
    if made:
        draft.revise([*rules, *added], made, SHARING)


def _is_large(draft: Draft) -> bool:
    """Whether some input is known to be large; else it is not worth looking."""
    sizes = (draft.statistics.rows(name) for name in draft.program.external)
    return any(rows is not None and rows >= _WORTH for rows in sizes)


def _groups(draft: Draft) -> dict[Beginning, list[_Use]]:
    """Beginnings that several rules have."""
    component = {
        name: frozenset(one.predicates) if one.recursive else frozenset((name,))
        for one in draft.program.components
        for name in one.predicates
    }
    found: dict[Beginning, list[_Use]] = {}
    for number, typed in enumerate(draft.typed_rules()):
        own = component[typed[0].head.predicate]
        for use, beginning in _beginnings(number, typed, own):
            found.setdefault(beginning, []).append(use)
    return {one: uses for one, uses in found.items() if len(uses) > 1}


def _beginnings(
    number: int, typed: TypedRule, own: frozenset[str]
) -> Iterator[tuple[_Use, Beginning]]:
    rule, kinds = typed
    names: dict[str, str] = {}
    literals: list[Literal] = []
    atoms = 0
    for length, literal in enumerate(rule.body[:_LONGEST], start=1):
        match literal:
            case Positive(atom) | Negative(atom) if atom.predicate in own:
                return
            case Positive() | Negative() | Comparison():
                for variable in literal_variables(literal):
                    names.setdefault(variable.name, f"v{len(names)}")
                literals.append(_renamed(literal, names))
            case _:
                return
        atoms += isinstance(literal, Positive)
        if atoms > 1 and is_safe(literals):
            known = tuple((canonical, kinds[name]) for name, canonical in names.items())
            yield _Use(number, length, dict(names)), (tuple(literals), known)


def _renamed(
    literal: Positive | Negative | Comparison, names: Mapping[str, str]
) -> Positive | Negative | Comparison:
    match literal:
        case Positive(atom) | Negative(atom):
            terms = tuple(_term(term, names) for term in atom.terms)
            return replace(literal, atom=Atom(atom.predicate, terms))
        case Comparison(operator, left, right):
            return Comparison(operator, _term(left, names), _term(right, names))


def _term(term: Term, names: Mapping[str, str]) -> Term:
    match term:
        case Variable(name):
            return Variable(names[name])
        case Apply(arguments=arguments):
            return replace(term, arguments=tuple(_term(one, names) for one in arguments))
        case _:
            return term


def _extracted(
    rules: list[TypedRule], beginning: Beginning, uses: list[_Use], name: str
) -> Extract:
    literals, kinds = beginning
    needed = {name for use in uses for name in _needed(rules[use.number][0], use)}
    kept = (one for one, _ in kinds if one in needed)
    return extract(name, Cut.of(literals, kept, dict(kinds)))


def _needed(rule: Rule, use: _Use) -> set[str]:
    """The canonical names of what the rest of a rule reads."""
    later = {v.name for term in rule.head.terms for v in term_variables(term)}
    for literal in rule.body[use.length :]:
        later.update(variable.name for variable in literal_variables(literal))
    return {canonical for name, canonical in use.names.items() if name in later}


def _weigh(found: Extract, uses: int, estimates: Estimates) -> tuple[str, bool]:
    """Whether sharing pays, and why or why not where that is worth a word."""
    rule, kinds = found.rule
    plan = plan_rule(0, rule, kinds, estimates)
    counts, bindings = follow(plan, estimates)
    domain = 1.0
    for expression in plan.head:
        domain = min(domain * bindings.of(expression), 1e18)
    rows = distinct_of(bindings.rows, domain)
    saved = (uses - 1) * sum(counts)
    if saved < _WORTH:
        return "", False
    why = f"about {saved:,.0f} bindings saved, {rows:,.0f} rows to keep"
    return why, saved > _COST_OF_KEEPING * rows


def _shortened(typed: TypedRule, use: _Use, found: Extract) -> TypedRule:
    rule, kinds = typed
    back = {canonical: name for name, canonical in use.names.items()}
    first = Positive(found.atom(back))
    return replace(rule, body=(first, *rule.body[use.length :])), kinds


# With any options the wanted relations have the same rows. `constat.plan.PASSES` are the passes of
# demand plans, which answer one goal by asking for what it needs; both compile rules by
# `compile_rule`, so a step means the same in both.

PASSES: tuple[Pass, ...] = (
    keep_reachable,  # needs the wanted relations; drops the rules that none of them needs
    linearise,  # needs all rules of a predicate; gives linear closures, for demands to use
    restrict_to_demand,  # needs the wanted constants, and linear closures; adds predicates
    share_subplans,  # needs final bodies; adds relations for equal beginnings
    take_fields_first,  # needs final bodies; adds relations with the fields of structures
    project_inputs,  # needs final bodies; adds projections for fixpoints over integers
    compile_pipelines,  # needs final rules and sizes; gives steps, readings, liveness, estimates
    encode_columns,  # needs steps; gives relations and layouts
    choose_strategies,  # needs layouts and estimates; gives stages
)


def plan_forward(
    program: AnalysedProgram,
    wanted: Sequence[Atom],
    statistics: Statistics,
    options: PlanOptions | None = None,
) -> ForwardPlan:
    """Plan the wanted atoms over an analysed program."""
    results = [Wanted(atom, atom.predicate) for atom in wanted]
    draft = Draft(program, program, results, statistics, options or PlanOptions())
    for run in PASSES:
        run(draft)
    return ForwardPlan(
        original=program,
        program=draft.program,
        relations=draft.relations,
        inputs=tuple(name for name, one in draft.relations.items() if one.given),
        stages=tuple(draft.stages),
        wanted=tuple(draft.wanted),
        rewritings=tuple(draft.notes),
    )
