"""Check a proposal: everything that can be known before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from constat.analysis import QUERIED, analyse, check_goal, refused_in_drafts
from constat.authoring.constants import atom_constants, constants_of, query_constants, unseen
from constat.authoring.fragments import (
    DRAFT_NAME,
    Fragment,
    check_declared,
    check_heads,
    check_sources,
    read_fragment,
    runaways,
)
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.frozen import frozen
from constat.library.approvals import RESERVED, bridge, sentence, used
from constat.logic import Program, Source, display_value
from constat.logic.structures import constructions, referred_types
from constat.model import Tool
from constat.syntax import parse_goal, print_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.authoring.fragments import Ground
    from constat.logic import Atom, Predicate, Rule
    from constat.model import ToolCall

# An argument of another type is refused, never converted.

PROPOSE: Final = "propose"
GIVE_UP: Final = "cannot_express"
MOST_GOAL: Final = 2_000
_MOST_REASON: Final = 1_000

PROPOSE_TOOL: Final = Tool(
    PROPOSE,
    "Hand in the goal that answers the question, with the rules it needs beyond existing ones.",
    {
        "type": "object",
        "properties": {
            "goal": {"type": "string", "description": "One atom"},
            "rules": {"type": "string", "description": "Declarations, queries, rules; or empty"},
        },
        "required": ["goal", "rules"],
        "additionalProperties": False,
    },
)
GIVE_UP_TOOL: Final = Tool(
    GIVE_UP,
    "Say that the question cannot be expressed here, and what is lacking.",
    {
        "type": "object",
        "properties": {"reason": {"type": "string"}},
        "required": ["reason"],
        "additionalProperties": False,
    },
)
ASK_BACK: Final = "ask_which"
_MOST_READINGS: Final = 5
ASK_BACK_TOOL: Final = Tool(
    ASK_BACK,
    "Say the meanings of a question that has several, each as a question.",
    {
        "type": "object",
        "properties": {"readings": {"type": "array", "items": {"type": "string"}}},
        "required": ["readings"],
        "additionalProperties": False,
    },
)


@frozen
class Proposal:
    """A goal, and rules as text."""

    goal: str
    rules: str = ""


def read_proposal(call: ToolCall, diagnostics: list[Diagnostic]) -> Proposal | None:
    """Read the arguments of a call of `propose`."""
    given: object = call.arguments
    if not isinstance(given, Mapping):
        diagnostics.append(_misshapen("its arguments are no object"))
        return None
    odd = sorted(str(name)[:40] for name in given.keys() - {"goal", "rules"})
    if odd:
        diagnostics.append(_misshapen(f"it has the unknown member `{odd[0]}`"))
    goal, rules = given.get("goal"), given.get("rules", "")
    if not isinstance(goal, str) or not goal.strip():
        diagnostics.append(_misshapen("`goal` is no text"))
    elif len(goal) > MOST_GOAL:
        diagnostics.append(_misshapen(f"`goal` is longer than {MOST_GOAL:,} characters"))
    if not isinstance(rules, str):
        diagnostics.append(_misshapen("`rules` is no text"))
    if diagnostics or not isinstance(goal, str) or not isinstance(rules, str):
        return None
    return Proposal(goal.strip(), rules.replace("\r\n", "\n").strip("\n"))


def read_reason(call: ToolCall) -> str:
    """Read why a model gives up, in one bounded line."""
    given: object = call.arguments
    said = given.get("reason", "") if isinstance(given, Mapping) else ""
    return one_line(said if isinstance(said, str) else "", _MOST_REASON)


def read_readings(call: ToolCall) -> tuple[str, ...]:
    """Read the meanings of a question, each in one bounded line; none where it names no two."""
    given: object = call.arguments
    said = given.get("readings") if isinstance(given, Mapping) else None
    texts = [one for one in said if isinstance(one, str)] if isinstance(said, list | tuple) else []
    lines = dict.fromkeys(one_line(one.strip(), _MOST_REASON) for one in texts if one.strip())
    return tuple(lines)[:_MOST_READINGS] if len(lines) > 1 else ()


def one_line(text: str, most: int) -> str:
    """Give a foreign text as one line without control characters, bounded."""
    shown = "".join(one if one.isprintable() else " " for one in text[: most + 1])
    return shown if len(shown) <= most else shown[:most] + "…"


def _misshapen(what: str) -> Diagnostic:
    hint = 'call `propose` with {"goal": "is_vip(C001)", "rules": ""}'
    return Diagnostic("C0861", f"the proposal cannot be read: {what}", help=hint)


# A query of a draft ends in `p_as_queried` and reaches `p` by a proposed rule alone, so presence
# and absence through it both rest on assumptions that the checker sees; no new kind of evidence is
# needed.


def bridged(fragment: Program) -> Program:
    """Give a fragment in which each query has a predicate of its own."""
    predicates: dict[str, Predicate] = {}
    bridges: list[Rule] = []
    for name, predicate in fragment.predicates.items():
        if predicate.source is None:
            predicates[name] = predicate
            continue
        attributes = {k: v for k, v in predicate.attributes.items() if k == "key"}
        said = sentence("a query that was drafted gives", predicate.columns)
        predicates[name + QUERIED] = replace(
            predicate,
            name=name + QUERIED,
            attributes={**attributes, "says": said},
            description="",
        )
        plain = tuple(replace(column, attributes={}) for column in predicate.columns)
        predicates[name] = replace(predicate, source=None, columns=plain)
        bridges.append(bridge(predicate, name + QUERIED, ""))
    rules = tuple(_numbered((*bridges, *fragment.rules)))
    return replace(fragment, predicates=predicates, rules=rules)


def _numbered(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Give rules the ids that they have when they are read again: none is written out."""
    counts: dict[str, int] = {}
    for rule in rules:
        name = rule.head.predicate
        counts[name] = counts.get(name, 0) + 1
        yield replace(rule, id=f"{name}.{counts[name]}")


def derived(fragment: Program) -> tuple[str, ...]:
    """Name what a fragment derives, in order."""
    return tuple(dict.fromkeys(rule.head.predicate for rule in fragment.rules))


def reachable(rules: Sequence[Rule], names: Iterable[str]) -> frozenset[str]:
    """Name the predicates that some predicates rest on by rules, these included."""
    uses: dict[str, set[str]] = {}
    for rule in rules:
        uses.setdefault(rule.head.predicate, set()).update(used(rule.body))
    found = set(names)
    waiting = list(found)
    while waiting:
        for name in sorted(uses.get(waiting.pop(), ())):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


_CHECKING_MOST_REASON: Final = 300
_NOWHERE: Final = Source({})
"""A bare `.input`: rows may come from outside beside those that rules derive."""


@frozen
class Checked:
    """What a check gave. `goal` is there where there is no error; `text` is the draft, if any.

    `reused` are predicates of the project that goal and draft use; `invented` are constants that
    were seen nowhere.
    """

    diagnostics: tuple[Diagnostic, ...]
    goal: Atom | None = None
    text: str = ""
    fragment: Program | None = None
    reused: tuple[str, ...] = ()
    invented: tuple[str, ...] = field(default=())

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that are errors."""
        return tuple(one for one in self.diagnostics if one.severity is Severity.ERROR)


def check_proposal(proposal: Proposal, ground: Ground, seen: Sequence[str]) -> Checked:
    """Check a proposal; `seen` are the texts in which its constants may stand."""
    diagnostics: list[Diagnostic] = []
    fragment = _fragment(proposal, ground, diagnostics)
    joined = _joined(fragment, ground, diagnostics)
    goal = None if joined is None else _goal(proposal, joined, diagnostics)
    if goal is not None and fragment is not None:
        _check_known(fragment.program, goal, ground, diagnostics)
        _check_derived(fragment.program, goal, ground, diagnostics)
    if goal is None or fragment is None or not _sound(diagnostics):
        return Checked(_ordered(diagnostics))
    # Also those that the goal does not need: whoever writes such a query is told.
    _check_queries(fragment.program, ground, diagnostics)
    if not _sound(diagnostics):
        return Checked(_ordered(diagnostics))
    kept = _kept(fragment.program, goal, ground)
    drafted = bridged(kept)
    text = print_program(drafted) if drafted.rules else ""
    if text in ground.rejected:
        return Checked((_rejected(ground.rejected[text]),))
    invented = _invented(kept, goal, ground, seen, diagnostics)
    return Checked(
        _ordered(diagnostics),
        goal,
        text,
        drafted if drafted.rules else None,
        _reused(kept, goal, ground),
        invented,
    )


def _fragment(proposal: Proposal, ground: Ground, diagnostics: list[Diagnostic]) -> Fragment | None:
    if not proposal.rules.strip():
        return Fragment("", Program({}, ()))
    found = read_fragment(
        proposal.rules,
        diagnostics,
        variables=ground.setting.variables,
        known=ground.program.program.predicates,
    )
    if found is None:
        return None
    known = len(diagnostics)
    check_declared(found.program, ground.program.program, diagnostics)
    # Where a name has other columns than its author thinks, more would only mislead.
    clear = len(diagnostics) == known
    check_heads(found.program, ground.program, ground.plannable, diagnostics)
    check_sources(found.program, ground, diagnostics)
    return found if clear else None


def _joined(
    fragment: Fragment | None, ground: Ground, diagnostics: list[Diagnostic]
) -> AnalysedProgram | None:
    """Analyse the draft together with the rules that are there."""
    if fragment is None:
        return None
    if not fragment.program.predicates and not fragment.program.rules:
        return ground.program
    merged = merge(ground.program, fragment.program, ground.plannable)
    found: list[Diagnostic] = []
    analysed = analyse(merged, found)
    # The project's own warnings are no business of the model.
    diagnostics.extend(one for one in found if one.severity is Severity.ERROR)
    own = (one for one in found if one.span is not None and one.span.source == DRAFT_NAME)
    diagnostics.extend(refused_in_drafts(own))
    if analysed is not None:
        diagnostics.extend(runaways(analysed, derived(fragment.program)))
    return analysed


def merge(base: AnalysedProgram, fragment: Program, plannable: frozenset[str]) -> Program:
    """Put a fragment beside a program; its rules are proposed, and its ids nobody else's."""
    own = base.program
    rules = tuple(
        replace(rule, id=f"draft:{number}", proposed=True)
        for number, rule in enumerate(fragment.rules, start=1)
    )
    known = {name: stays_open(one, plannable) for name, one in own.predicates.items()}
    fresh = {name: one for name, one in fragment.predicates.items() if name not in known}
    return replace(
        own,
        predicates={**known, **fresh},
        rules=(*base.rules, *rules),
        types={**fragment.types, **own.types},
    )


def stays_open(predicate: Predicate, plannable: frozenset[str]) -> Predicate:
    """Keep a predicate that is planned open to what people state: it stays one of outside."""
    from_outside = predicate.name in plannable and predicate.source is None
    return replace(predicate, source=_NOWHERE) if from_outside else predicate


def _goal(
    proposal: Proposal, joined: AnalysedProgram, diagnostics: list[Diagnostic]
) -> Atom | None:
    try:
        goal = check_goal(parse_goal(proposal.goal, joined.program), joined)
    except ConstatError as problem:
        diagnostics.extend(problem.diagnostics)
        return None
    if goal.predicate.endswith(RESERVED):
        message = f"`{goal.predicate}` is not a predicate to ask about"
        diagnostics.append(Diagnostic("C0875", message, goal.span, help="ask for what it serves"))
        return None
    return goal


def _check_known(
    fragment: Program, goal: Atom, ground: Ground, diagnostics: list[Diagnostic]
) -> None:
    """Refuse a goal that a draft declares and does not derive: there would be nothing to prove."""
    declared = fragment.predicates.get(goal.predicate)
    own = goal.predicate in ground.program.program.predicates
    if own or declared is None or declared.source is not None:
        return
    if goal.predicate not in derived(fragment):
        message = (
            f"the goal is about `{goal.predicate}`, which the draft declares and nothing derives"
        )
        note = "a predicate without rules can be lacking in a body; as a goal it says nothing"
        hint = f"give `{goal.predicate}` a rule, or say with `{GIVE_UP}` what is lacking"
        diagnostics.append(Diagnostic("C0861", message, goal.span, note=note, help=hint))


def _check_derived(
    fragment: Program, goal: Atom, ground: Ground, diagnostics: list[Diagnostic]
) -> None:
    """Hold a sub-plan to the predicate that it is for."""
    wanted = ground.must_derive
    if wanted and (goal.predicate != wanted or wanted not in derived(fragment)):
        message = f"a plan for `{wanted}` has that predicate as its goal and gives it rules"
        hint = f"write rules with the head `{wanted}(...)`"
        diagnostics.append(Diagnostic("C0861", message, goal.span, help=hint))


def _kept(fragment: Program, goal: Atom, ground: Ground) -> Program:
    """Give the part of a draft that the goal needs."""
    needed = reachable((*ground.program.rules, *fragment.rules), [goal.predicate])
    own = ground.program.program.predicates
    rules = tuple(rule for rule in fragment.rules if rule.head.predicate in needed)
    predicates = {
        name: one for name, one in fragment.predicates.items() if name in needed and name not in own
    }
    used_types = {column.type_name for one in predicates.values() for column in one.columns}
    own_types = ground.program.program.types
    made = {one.function for one in constructions(rules)}
    used_types |= {
        name
        for name, one in fragment.types.items()
        if any(branch.constructor in made for branch in one.branches)
    }
    # A type may rest on another one of the draft.
    waiting = list(used_types)
    while waiting:
        definition = fragment.types.get(waiting.pop())
        further = () if definition is None else referred_types(definition)
        waiting += [one for one in further if one not in used_types]
        used_types.update(further)
    types = {
        name: one
        for name, one in fragment.types.items()
        if name in used_types and name not in own_types
    }
    return replace(fragment, predicates=predicates, rules=rules, types=types, outputs={}, sizes=())


def _check_queries(fragment: Program, ground: Ground, diagnostics: list[Diagnostic]) -> None:
    for predicate in fragment.predicates.values():
        if predicate.source is not None and predicate.source.parameters.get("query"):
            diagnostics.extend(ground.check_query(predicate))


def _invented(
    kept: Program,
    goal: Atom,
    ground: Ground,
    seen: Sequence[str],
    diagnostics: list[Diagnostic],
) -> tuple[str, ...]:
    """Name the constants that nobody has mentioned; people are told of them."""
    known = constants_of(ground.program.rules)
    brought = constants_of(kept.rules)
    for predicate in kept.predicates.values():
        query = "" if predicate.source is None else predicate.source.parameters.get("query", "")
        brought.update(query_constants(query))
    drafted = {k: v for k, v in brought.items() if k not in known}
    invented = unseen(drafted.values(), seen)
    for constant in unseen(atom_constants(goal), seen):
        shown = display_value(constant.value, constant.kind)
        message = f"the goal is about `{shown}`, which the question does not mention"
        diagnostics.append(Diagnostic("C0869", message, constant.span, severity=Severity.WARNING))
    for constant in invented:
        shown = display_value(constant.value, constant.kind)
        message = f"the draft holds `{shown}`, which was neither asked for nor looked up"
        note = "a value that a model supplies is right only if somebody says so"
        diagnostics.append(
            Diagnostic("C0869", message, constant.span, note=note, severity=Severity.WARNING)
        )
    return tuple(display_value(one.value, one.kind) for one in invented)


def _reused(kept: Program, goal: Atom, ground: Ground) -> tuple[str, ...]:
    own = ground.program.program.predicates
    names = [goal.predicate, *(name for rule in kept.rules for name in used(rule.body))]
    return tuple(name for name in dict.fromkeys(names) if name in own)


def _rejected(reason: str) -> Diagnostic:
    shown = "".join(one if one.isprintable() else " " for one in reason[:_CHECKING_MOST_REASON])
    message = "this draft was rejected before"
    note = f"the reason: {shown}"
    return Diagnostic("C0871", message, note=note, help="draft it in another way")


def _sound(diagnostics: Sequence[Diagnostic]) -> bool:
    return not any(one.severity is Severity.ERROR for one in diagnostics)


def _ordered(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    distinct = {(one.code, one.span, one.message): one for one in reversed(diagnostics)}
    return tuple(sorted(distinct.values(), key=lambda one: one.place))
