"""Goals that are more than one atom: conjunctions, and atoms with functions.

Such a goal becomes a rule for a relation of its own, as a query does (decision 0007), and the goal
is that relation. A certificate carries the rule: whoever reads its leaves again takes it there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from constat.analysis import analyse, check_goal
from constat.analysis.kind_mistakes import TURNED
from constat.diagnostics import ConstatError, Diagnostic, Severity, Span, nearest
from constat.frozen import frozen
from constat.logic import (
    COMPARISONS,
    FUNCTIONS,
    RANGE,
    Aggregate,
    Apply,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
    as_literal,
    is_wildcard,
    literal_variables,
    outer_names,
)
from constat.patterns import regex
from constat.proof.decoding import decode_program
from constat.proof.sentences import ASKED, speech_in
from constat.proof.written import written_literal
from constat.syntax import parse_goal, parse_text, print_literal
from constat.syntax.goals import GOAL_NAME
from constat.syntax.mistakes.habits import NOT_QUOTED, in_double_quotes, literally
from constat.syntax.mistakes.spelling import single_quotes

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import Program, Term
    from constat.session.parts import SessionParts
    from constat.session.query_text import Query

_Read = TypeVar("_Read")
_PLACE: Final = regex(r"\{(\w+)\}")
_GERMAN: Final = speech_in("de_DE")
# What is no atom, and a variable that stands twice.
_MORE = frozenset({"C0180", "C0187"})
# What a query cannot be made of; a rule has more forms.
_SHAPES = frozenset({"C0180", "C0430"})
_BARE = "C0116"
_HEAD: Final = "asked() :- "
_NO_PREDICATE = "C0181"


Goal = str | Atom | Positive | Negative | Comparison | Aggregate | Sequence[Atom | Literal]
"""A goal as text, or built of `constat.logic`: an atom, or literals that hold together."""


def goal_text(goal: Goal) -> str:
    """Give a goal as text; raises `ConstatError` for names that no text can say."""
    if isinstance(goal, str):
        return goal
    if isinstance(goal, Atom | Positive | Negative | Comparison | Aggregate):
        return goal_text([goal])
    check_spelling(goal)
    return ", ".join(print_literal(as_literal(one)) for one in goal)


# Values are quoted where they are printed; names are not, and one of them could say anything.
_NAMES: Final = frozenset(
    {"name", "predicate", "function", "operator", "type_name", "constructor", "form", "members"}
)
# Comparisons that are written like atoms.
_TEXT_TESTS: Final = frozenset(filter(str.isalpha, COMPARISONS))
# `not`, `like`, `between`, `in`, `avg`: the message of rules has the edit.
_HABITS: Final = frozenset({"C0117", "C0118", "C0133", "C0158"})
_SINGLE_QUOTES: Final = "C0104"
_LONGEST_EDIT: Final = 300
_ALTERNATIVES: Final = regex(r"\((\?\w+) = \"[^\"\\]*\"(?:; \1 = \"[^\"\\]*\")*\)")
_UNBOUND: Final = frozenset({"C0204", "C0205"})
_MOST_TRIED: Final = 50
_QUOTED_OR_BLANKS: Final = regex(r'("(?:[^"\\]|\\.)*")|\s+')
_SPELLED: Final = regex(r"\$?[A-Za-z_][A-Za-z0-9_.]*|[-+*/%^<>=!]{1,3}|<:|\[\]|")


def check_spelling(nodes: Sequence[object]) -> None:
    """Look whether every name of what a program built can be written; raises `ConstatError`."""
    for node in nodes:
        for field in fields(node) if is_dataclass(node) else ():
            value = getattr(node, field.name)
            if isinstance(value, Mapping):
                _check_names(value.keys())
                check_spelling(tuple(value.values()))
            elif field.name in _NAMES:
                _check_names((value,) if isinstance(value, str) else value)
            else:
                check_spelling(value if isinstance(value, tuple) else (value,))


def _check_names(names: Iterable[object]) -> None:
    for one in names:
        if not isinstance(one, str) or not _SPELLED.fullmatch(one):
            hint = "names are letters, digits and `_`, and values stand as `Constant`s"
            message = f"{one!r:.60} is no name that a rule or goal can have"
            raise ConstatError([Diagnostic("C0590", message, help=hint)])


@frozen
class AskedGoal:
    """A goal over a program; `text` is what was typed where that is more than the atom."""

    atom: Atom
    program: AnalysedProgram
    text: str = ""


def read_goal(text: str, program: AnalysedProgram) -> AskedGoal:
    """Read a goal: an atom, or literals with commas between. Raises `ConstatError`."""
    return _mending(text, program, lambda one: _read_goal(one, program))


def _mending(text: str, program: AnalysedProgram, read: Callable[[str], _Read]) -> _Read:
    """Read a text; where it cannot be, offer the whole goal that is meant if that can be read."""
    try:
        return _quotes_told(text, read)
    except ConstatError as problem:
        first, *others = problem.diagnostics
        if first.message == NOT_QUOTED:
            first = _unquoted(first, program)
            raise ConstatError([first, *others], exit_code=problem.exit_code) from None
        if _leads(first):
            raise
        from constat.syntax.mistakes.goals import whole_goal  # noqa: PLC0415  loaded when it is used

        either = _as_rule(first, text, program)
        if either is not None:
            raise ConstatError([either], exit_code=problem.exit_code) from None
        meant = whole_goal(text, program.program.predicates)
        if not _reads(meant, read):
            raise ConstatError(
                [_without_or(first, text), *others], exit_code=problem.exit_code
            ) from None
        told = [one for one in others if one.code != first.code]
        mended = replace(first, help=f"write `{meant}`")
        raise ConstatError([mended, *told][:1], exit_code=problem.exit_code) from None


def _unquoted(one: Diagnostic, program: AnalysedProgram) -> Diagnostic:
    """Name what a quoted name may mean, where no predicate is called so."""
    name, _, arguments = one.help.removeprefix("write `").partition("(")
    predicates = program.program.predicates
    if name in predicates:
        return one
    having = [each for each in predicates.values() if name in {c.name for c in each.columns}]
    near = nearest(name, list(predicates))
    if having and near is None:
        edit = f"{having[0].name}({name} = ?{name})"
        return replace(one, help=f"write `{edit}`, where the column of it is meant")
    hint = "`constat rules list` lists the predicates"
    return replace(one, help=f"write `{near}({arguments}" if near else hint)


def _reads(meant: str, read: Callable[[str], _Read]) -> bool:
    """Tell whether an edit can be read, and is short enough to be shown."""
    try:
        return 0 < len(meant) <= _LONGEST_EDIT and read(meant) is not None
    except ConstatError:
        return False


def _as_rule(one: Diagnostic, text: str, program: AnalysedProgram) -> Diagnostic | None:
    """Say which rule has the alternatives of a goal, and what is asked then; each can be read."""
    plain = _plain(text)
    blank = _QUOTED_OR_BLANKS.sub(lambda each: " " * len(each[0]) if each[1] else each[0], plain)
    places = [found.span() for found in _OR.finditer(blank)]
    if not places or one.code not in _SHAPES:
        return None
    ends = [0, *(place for span in places for place in span), len(plain)]
    parts = [plain[ends[n] : ends[n + 1]].strip() for n in range(0, len(ends), 2)]
    if parts[0].startswith("(") and parts[-1].endswith("))"):
        parts = [parts[0][1:], *parts[1:-1], parts[-1][:-1]]
    try:
        read = [_read_query(each, program, None).columns for each in parts]
    except ConstatError:
        return None
    both = {each.name for each in read[0]}.intersection(*({each.name for each in c} for c in read))
    columns = [each for each in read[0] if each.name in both]
    name = next(each for each in _HEADS if each not in program.program.predicates)
    declared = ", ".join(f"{each.name}: {each.type_name}" for each in columns)
    head = f"{name}({', '.join(f'?{each.name}' for each in columns)})"
    rule = f".decl {name}({declared}) {head} :- {' ; '.join(parts)}."
    return replace(
        one,
        message="a goal has no alternatives; a rule has",
        note="`;` is or in the body of a rule",
        help=f"write `{rule}` into a rule file, and ask `{head}`",
    )


_HEADS: Final = ("either", "any_of_these", *(f"either_{number}" for number in range(1, 1_000)))


def _without_or(one: Diagnostic, text: str) -> Diagnostic:
    """Say how alternatives are asked for, where they are what a goal has."""
    found = _OR.search(_QUOTED_OR_BLANKS.sub(lambda each: " " * len(each[0]), text))
    if found is None or one.code not in _SHAPES:
        return one
    first = _plain(text[: found.start()]).rstrip()
    first += ")" * max(0, first.count("(") - first.count(")"))
    hint = (
        f"ask for one at a time, first `{first}`, or for the head of a rule: `;` is or in its body"
    )
    return replace(one, message="a goal has no alternatives", help=hint)


_OR: Final = regex(r";|\|\|?|\b[oO][rR]\b")


def _leads(one: Diagnostic) -> bool:
    """Tell whether the help of a message is an edit already."""
    edit = one.help.startswith("write `") and "(...)" not in one.help
    left = any(each in one.message for each in _LEFT) and "`, ?" not in one.help
    sign = _QUOTED_SIGN.match(one.help)
    return edit and one.code not in _TURNED and not left and not sign


# The message goes by one operator, or by one word of several.
_TURNED: Final = frozenset({"C0223"})
_QUOTED_SIGN: Final = regex(r'write `"[<>=!]+"')
_LEFT: Final = ("`where`", "`join`", "`?-`")


def _quotes_told(text: str, read: Callable[[str], _Read]) -> _Read:
    """Read a text; where it has single quotes, what else is wrong is told with them."""
    try:
        return read(text)
    except ConstatError as problem:
        mended = in_double_quotes(text)
        if mended == text:
            raise
        told = [one for one in problem.diagnostics if one.code == _SINGLE_QUOTES]
        quotes = told or [_first_quote(text, mended)]
        try:
            read(mended)
        except ConstatError as other:
            spans = [one.span for one in other.diagnostics]
            apart = [one for one in told if not any(_overlap(one.span, each) for each in spans)]
            raise ConstatError([*apart, *other.diagnostics]) from None
        edit = f"write `{_plain(mended)}`" if len(mended) <= _LONGEST_EDIT else quotes[0].help
        raise ConstatError([replace(quotes[0], help=edit)]) from None


def _first_quote(text: str, mended: str) -> Diagnostic:
    """Give the diagnostic of the first text in single quotes."""
    start = next(
        at for at, (one, other) in enumerate(zip(text, mended, strict=True)) if one != other
    )
    end = text.index("'", start + 1)
    line, before = text.count("\n", 0, start) + 1, text.rfind("\n", 0, start)
    span = Span(GOAL_NAME, line, start - before, line, end + 1 - before)
    return single_quotes(span, text[start + 1 : end])


def _overlap(one: Span | None, other: Span | None) -> bool:
    if one is None or other is None:
        return False
    return one.column < other.end_column and other.column < one.end_column


def _read_goal(text: str, program: AnalysedProgram) -> AskedGoal:
    try:
        goal = parse_goal(text, program.program)
        if program.program.predicates[goal.predicate].given:
            asked = _over_literals([Positive(goal)], program)
            return _saying(_telling(asked, _plain(text)), goal)
        return AskedGoal(check_goal(goal, program), program)
    except ConstatError as problem:
        if not all(_is_more(one, text, _MORE) for one in problem.diagnostics):
            raise _clearest(problem, text, program) from None
        return _telling(_conjunction(text, program, problem), _plain(text))


def _telling(asked: AskedGoal, text: str) -> AskedGoal:
    """Give the relation of a goal the sentence that says it: what was typed."""
    analysed = asked.program
    relation = analysed.program.predicates[asked.atom.predicate]
    if asked.atom.predicate != ASKED or "{" in text:
        return replace(asked, text=text)
    names = "|".join(re.escape(one.name) for one in relation.columns)
    says = re.sub(rf"\?({names})\b", r"{\1}", text) if names else text
    told = replace(relation, attributes={**relation.attributes, "says": says})
    predicates = {**analysed.program.predicates, ASKED: told}
    program = replace(analysed.program, predicates=predicates)
    return AskedGoal(asked.atom, replace(analysed, program=program), text)


def _saying(asked: AskedGoal, goal: Atom) -> AskedGoal:
    """Give the relation of a goal over one predicate the sentences of that predicate."""
    predicates = asked.program.program.predicates
    relation, predicate = predicates[ASKED], predicates[goal.predicate]
    names = {one.name for one in relation.columns}
    said: dict[str, str] = {}
    german: dict[str, str] = {}
    for term, column in zip(goal.terms, predicate.columns, strict=True):
        if isinstance(term, Variable) and term.name in names:
            said[column.name] = f"{{{term.name}}}"
        elif (
            isinstance(term, Constant) and "{" not in str(term.value) and "}" not in str(term.value)
        ):
            said[column.name] = str(term.value)
            if column.kind in {Kind.DATE, Kind.TIMESTAMP}:
                german[column.name] = _GERMAN.value(term.value, column.kind, column.name)
        else:
            return asked
    told = {}
    for key, words in predicate.attributes.items():
        if key.partition(".")[0] in {"says", "says_not", "says_unknown"}:
            filled = {**said, **german} if key.endswith(".de") else said
            told[key] = _PLACE.sub(partial(_filled, filled), words)
    relation = replace(relation, attributes={**relation.attributes, **told})
    program = replace(asked.program.program, predicates={**predicates, ASKED: relation})
    return replace(asked, program=replace(asked.program, program=program))


def _filled(said: Mapping[str, str], place: re.Match[str]) -> str:
    return said.get(place[1], place[0])


def asked_over(parts: SessionParts, text: str) -> tuple[SessionParts, AskedGoal]:
    """Read a goal, and give what answers it: the program may have got its relation.

    The constants of the goal are among what was said. Raises `ConstatError`.
    """
    asked = read_goal(text, parts.program)
    if not asked.text:
        parts.mention(asked.atom)
        return parts, asked
    for rule in asked.program.program.rules_for(asked.atom.predicate):
        for literal in rule.body:
            if isinstance(literal, Positive | Negative):
                parts.mention(literal.atom)
    return replace(parts, program=asked.program), asked


def _plain(text: str) -> str:
    """Write a goal on one line; what stands in quotes stays as it is."""
    one_line = _QUOTED_OR_BLANKS.sub(lambda found: found[1] or " ", text.strip())
    return one_line.removesuffix(".")


def _conjunction(text: str, program: AnalysedProgram, problem: ConstatError) -> AskedGoal:
    """Read literals as a query does."""
    # Plain goals are proved without what only these need.
    from constat.session.querying import compile_query  # noqa: PLC0415  loaded when it is used

    query = read_query(text, program, problem)
    if len(query.literals) == 1 and isinstance(query.literals[0], Negative):
        # Whoever denies one atom is told how to derive what is not so.
        raise problem
    compiled = compile_query(query, program, name=ASKED)
    return AskedGoal(compiled.goal, compiled.program)


def read_query(text: str, program: AnalysedProgram, first: ConstatError | None = None) -> Query:
    """Read a query, or else what a rule may have as its body: functions and aggregates, too.

    `first` is what was wrong with the text as a goal. Raises `ConstatError`.
    """
    if first is None:
        return _mending(text, program, lambda one: _read_query(one, program, None))
    return _read_query(text, program, first)


def _read_query(text: str, program: AnalysedProgram, first: ConstatError | None) -> Query:
    # Plain goals are proved without it.
    from constat.session.query_text import MAX_LITERALS, Query, parse_query  # noqa: PLC0415  loaded when it is used

    try:
        return parse_query(text, program.program)
    except ConstatError as problem:
        if not all(_is_more(one, text, _SHAPES) for one in problem.diagnostics):
            raise _clearest(problem, text, program) from None
        literals = _as_body(text, program, first or problem, problem)
        beyond = any(map(_is_beyond_queries, literals))
        if first is None and (len(literals) > MAX_LITERALS or not beyond):
            raise
    columns = _columns_of(literals, program)
    return Query(literals, columns, text.strip(), Span(GOAL_NAME, 1, 1, 1, 1))


def _is_more(problem: Diagnostic, text: str, codes: frozenset[str]) -> bool:
    """Tell whether the text may be more than an atom: a comparison may begin with a function."""
    if problem.code in codes:
        return True
    place = problem.span
    if problem.code != _NO_PREDICATE or place is None or place.line != 1:
        return False
    return text[place.column - 1 : place.end_column - 1] in {*FUNCTIONS, *_TEXT_TESTS, RANGE}


def _is_beyond_queries(literal: Literal) -> bool:
    """Tell whether a literal has an aggregate or a function: more than a query itself reads."""
    match literal:
        case Positive(atom) | Negative(atom):
            return any(isinstance(term, Apply) for term in atom.terms)
        case Comparison(operator=operator, left=left, right=right):
            return (
                isinstance(left, Apply)
                or isinstance(right, Apply)
                or operator.removeprefix("!") in _TEXT_TESTS
            )
        case Aggregate():
            return True


def _as_body(
    text: str, program: AnalysedProgram, first: ConstatError, second: ConstatError
) -> tuple[Literal, ...]:
    """Read a text as the body of a rule; bare words are texts, as in every goal."""
    plain = text.strip().removesuffix(".")
    literals, errors = _body_of(plain, program)
    if errors and {one.code for one in errors} == {_BARE}:
        literals, errors = _body_of(_quoted(plain, errors), program)
    if errors:
        # Only bare words keep it from being read: the edit is to quote them.
        if {one.code for one in errors} == {_BARE}:
            raise ConstatError([_moved(one) for one in errors])
        goes_on = any("goes on" in one.message for one in first.diagnostics)
        raise _habit(text, program) or (second if goes_on else first)
    if literals is None:
        raise first
    return tuple(map(_placed, literals))


def _clearest(problem: ConstatError, text: str, program: AnalysedProgram) -> ConstatError:
    """Choose what is told: the goal's own words for another language's, else those of rules."""
    if all(one.code in _HABITS for one in problem.diagnostics):
        return problem
    return _habit(text, program) or problem


def _habit(text: str, program: AnalysedProgram) -> ConstatError | None:
    """Say what a rule with this body would be told: which word of other languages is meant how."""
    plain = text.strip().removesuffix(".")
    literals, errors = _body_of(plain, program)
    if errors and {one.code for one in errors} == {_BARE}:
        literals, errors = _body_of(_quoted(plain, errors), program)
    elif plain[:4].casefold() == "not " and errors:
        # Who denies one atom is told how to derive what is not so.
        several, _ = _body_of(f"!{plain[4:]}", program)
        errors = errors if several and len(several) > 1 else []
    told = [_of_goal(_moved(one)) for one in errors if one.code in _HABITS]
    if not errors and literals is not None:
        try:
            _columns_of(tuple(map(_placed, literals)), program)
        except ConstatError as problem:
            told = [_of_goal(one) for one in problem.diagnostics if _is_habit(one)]
    return ConstatError(told) if told else None


def _of_goal(one: Diagnostic) -> Diagnostic:
    """Give an edit that a goal takes: one with alternatives is the body of a rule."""
    if "; " not in one.help.partition("`")[2].partition("`")[0]:
        return one
    several = one.help.partition("`")[2].partition("`")[0]
    texts = _ALTERNATIVES.fullmatch(several)
    if texts:
        values = re.findall(r'= "([^"]*)"', several)
        return replace(one, help=f'write `match("{"|".join(map(literally, values))}", {texts[1]})`')
    first = several.strip("()!").partition(";")[0]
    hint = f"ask for one value at a time, `{first}`, or for the head of a rule with `{several}`"
    return replace(one, help=hint)


def _is_habit(one: Diagnostic) -> bool:
    """Tell whether analysis knows what is meant: a function, or an atom for a comparison."""
    return one.code == "C0222" or (
        one.code == "C0201" and one.help.startswith("write `") and "declared as" not in one.help
    )


def _body_of(
    text: str, program: AnalysedProgram
) -> tuple[tuple[Literal, ...] | None, list[Diagnostic]]:
    """Parse the body of a rule; nothing where it is another thing than one body."""
    found: list[Diagnostic] = []
    rules = parse_text(_HEAD + f"{text}.", "<goal>", found, program.program.predicates).rules
    errors = [one for one in found if one.severity is Severity.ERROR]
    return (rules[0].body if len(rules) == 1 else None), errors


def _quoted(text: str, errors: Sequence[Diagnostic]) -> str:
    """Put quotes around bare words, the last one first."""
    spans = {(one.span.column, one.span.end_column) for one in errors if one.span is not None}
    for start, end in sorted(spans, reverse=True):
        begin, behind = start - 1 - len(_HEAD), end - 1 - len(_HEAD)
        text = f'{text[:begin]}"{text[begin:behind]}"{text[behind:]}'
    return text


def _moved(one: Diagnostic) -> Diagnostic:
    """Give a mistake of the body at its place in the goal."""
    if one.span is None:
        return one
    return replace(one, span=_in_goal(one.span))


def _in_goal(span: Span) -> Span:
    shift = len(_HEAD)
    return replace(span, column=span.column - shift, end_column=span.end_column - shift)


def _placed(node: Any) -> Any:  # noqa: ANN401  each part of a body gives its like
    """Give a part of the body with its places in the goal, for whatever analysis says of it."""
    if isinstance(node, Span):
        return _in_goal(node)
    if isinstance(node, tuple):
        return tuple(map(_placed, node))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    placed = {one.name: _placed(getattr(node, one.name)) for one in fields(node) if one.init}
    return replace(node, **placed)


def _over_literals(literals: Sequence[Literal], program: AnalysedProgram) -> AskedGoal:
    """Give the relation of the variables of some literals."""
    columns = _columns_of(literals, program)
    head = Atom(ASKED, tuple(Variable(one.name) for one in columns))
    asked = Rule(f"{ASKED}.1", head, tuple(literals))
    return AskedGoal(head, _analysed(program, Predicate(ASKED, columns), asked))


def _columns_of(literals: Sequence[Literal], program: AnalysedProgram) -> tuple[Column, ...]:
    """Give the variables of some literals as columns, but those that stand for structures."""
    try:
        return _known_columns(literals, program)
    except ConstatError as problem:
        found = [_with_binder(one, literals, program) for one in problem.diagnostics]
        raise ConstatError(found, exit_code=problem.exit_code) from None


def _with_binder(
    one: Diagnostic, literals: Sequence[Literal], program: AnalysedProgram
) -> Diagnostic:
    """Name an atom that gives an unbound variable its values; it is tried before it is told."""
    name = re.search(r"`\?(\w+)`", one.message)
    if one.code not in _UNBOUND or name is None:
        return one
    columns = [
        (column.name != name[1], predicate, place)
        for predicate in program.program.predicates.values()
        for place, column in enumerate(predicate.columns)
        if not predicate.name.startswith(ASKED)
    ]
    for _, predicate, place in sorted(columns, key=lambda each: each[0])[:_MOST_TRIED]:
        terms = [Variable(f"_{1_000 + at}") for at in range(predicate.arity)]
        terms[place] = Variable(name[1])
        try:
            _known_columns((Positive(Atom(predicate.name, tuple(terms))), *literals), program)
        except ConstatError as problem:
            if any(
                other.code not in _UNBOUND or name[0] in other.message
                for other in problem.diagnostics
            ):
                continue
        atom = f"{predicate.name}({predicate.columns[place].name} = ?{name[1]})"
        return replace(one, help=f"begin with what has its values: `{atom}, ...`")
    return one


def _known_columns(literals: Sequence[Literal], program: AnalysedProgram) -> tuple[Column, ...]:
    # Each literal twice, so that no variable is taken for a slip while kinds are inferred; what is
    # denied has `_` of its own, and binds nothing.
    again = (one for one in literals if not isinstance(one, Negative))
    probe = Rule(f"{ASKED}.1", Atom(ASKED, ()), (*literals, *again))
    probed = _analysed(program, Predicate(ASKED, ()), probe)
    places = (at for at, rule in enumerate(probed.rules) if rule.head.predicate == ASKED)
    kinds = probed.variable_kinds[next(places)]
    named = [one for one in outer_names(probe) if one[0] != "_"]
    names = [one for one in named if kinds[one] is not Kind.STRUCTURE]
    return tuple(Column(one, kinds[one].value, kinds[one]) for one in names)


def _analysed(program: AnalysedProgram, predicate: Predicate, rule: Rule) -> AnalysedProgram:
    """Analyse a program with one more predicate and its rule."""
    base = program.program
    predicates = {**base.predicates, predicate.name: predicate}
    found: list[Diagnostic] = []
    joined = replace(base, predicates=predicates, rules=(*base.rules, rule))
    analysed = analyse(joined, found)
    if analysed is None:
        raise ConstatError([one for one in found if one.severity is Severity.ERROR])
    turned = [one for one in found if one.code == TURNED and one.span in _spans(rule)]
    if turned:
        # A goal is asked now: that nobody is found must not be said of what was not meant.
        raise ConstatError([replace(one, severity=Severity.ERROR) for one in turned[:1]])
    return analysed


def _spans(rule: Rule) -> set[Span | None]:
    return {one.span for one in rule.body if isinstance(one, Comparison)}


def with_asked(document: Mapping[str, Any], program: AnalysedProgram) -> AnalysedProgram:
    """Give the program with the rule of a certificate's goal, where the goal is such a relation.

    The rule adds a relation that nothing else uses, so it says what was asked and no more.
    """
    if document["header"]["goal"][0] != ASKED or ASKED in program.program.predicates:
        return program
    try:
        carried = decode_program(document)  # type: ignore[arg-type]  # members of JSON
    except ValueError:
        return program
    own = [rule for rule in carried.rules if _is_asked(rule.head.predicate)]
    rule = next((one for one in own if one.head.predicate == ASKED), None)
    heads = Counter(one.head.predicate for one in own)
    if rule is None or heads[ASKED] != 1 or not rule.body or any(one.assumed for one in own):
        return program
    base = program.program
    declared = {name: one for name, one in carried.program.predicates.items() if _is_asked(name)}
    try:
        rules = [replace(one, body=_as_written(one.body, carried.program)) for one in own]
    except (StopIteration, TypeError, ValueError):
        # A projection that nothing projects: no goal has such a rule.
        return program
    joined = replace(base, predicates={**base.predicates, **declared}, rules=(*base.rules, *rules))
    return analyse(joined, []) or program


def _as_written(body: Sequence[Literal], program: Program) -> tuple[Literal, ...]:
    """Give a body as it was before its negated atoms were projected."""
    variables = (one for literal in body for one in literal_variables(literal))
    number = max((int(one.name[1:]) for one in variables if is_wildcard(one)), default=0)
    found: list[Literal] = []
    for literal in body:
        written = written_literal(program, literal)
        if isinstance(written, Negative) and written is not literal:
            # Numbered anew: the projection has numbered them by its columns. What is read there has
            # a name that no text spells, since it stands in no other place.
            terms: list[Term] = []
            for term in written.atom.terms:
                number += 1
                if is_wildcard(term):
                    terms.append(Variable(f"_{number}"))
                elif isinstance(literal, Negative) and term not in literal.atom.terms:
                    terms.append(Variable(f"_read.{number}"))
                else:
                    terms.append(term)
            written = Negative(replace(written.atom, terms=tuple(terms)))
        found.append(written)
    return tuple(found)


def _is_asked(name: str) -> bool:
    """Tell whether it is the relation of a goal, or one that this needs for its ranges."""
    return name == ASKED or name.startswith(f"{ASKED}.range")
