"""Check that every predicate that is used is declared, with as many columns as it is given.

In: a draft with its declarations. Out: diagnostics C0201 and C0202. Invariant: afterwards every
atom that drew no diagnostic has one term per column. Example: `custmer(?c)` is C0201, and the
help names `customer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Related, nearest
from constat.logic import Aggregate, Constant, Negative, Positive, Variable
from constat.syntax import print_term
from constat.syntax.mistakes.habits import alike, literally, near_name, one_of, within
from constat.syntax.words import NO_VALUE_TESTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis.analysed import Draft
    from constat.logic import Atom, Predicate, Rule


def check_names(draft: Draft) -> None:
    """Report undeclared predicates and atoms with too few or too many terms."""
    for rule in draft.program.rules:
        for atom in atoms_of(rule):
            predicate = draft.predicates.get(atom.predicate)
            if predicate is None or len(predicate.columns) != len(atom.terms):
                said = atom is rule.head
                draft.diagnostics.append(
                    name_mistake(atom, draft.predicates, rule if said else None)
                )
    for name in dict.fromkeys((*draft.program.outputs, *draft.program.sizes)):
        if name not in draft.predicates:
            draft.diagnostics.append(_undeclared_output(name, draft.predicates))


def atoms_of(rule: Rule) -> Iterator[Atom]:
    """Yield the atoms of a rule: its head, then those of its body and aggregates."""
    yield rule.head
    for literal in rule.body:
        match literal:
            case Positive(atom) | Negative(atom):
                yield atom
            case Aggregate(body=body):
                yield from (one.atom for one in body if isinstance(one, Positive | Negative))
            case _:
                pass


def name_mistake(
    atom: Atom, predicates: Mapping[str, Predicate], rule: Rule | None = None
) -> Diagnostic:
    """Say what is wrong with an atom that is undeclared or has the wrong number of terms.

    Of one that is said, a head or a fact, every column has a term; `rule` is the one that says it.
    """
    predicate = predicates.get(atom.predicate)
    if predicate is None:
        return _undefined(atom, predicates, rule)
    return _wrong_arity(atom, predicate, said=rule is not None)


def declared_columns(predicate: Predicate) -> str:
    """Write a declaration without its dot and directive: `tier(c: CustomerId, t: symbol)`."""
    columns = ", ".join(f"{one.name}: {one.type_name}" for one in predicate.columns)
    return f"{predicate.name}({columns})"


def _undefined(atom: Atom, predicates: Mapping[str, Predicate], rule: Rule | None) -> Diagnostic:
    near = near_name(atom.predicate, predicates)
    if rule is not None and rule.body and near is not None and predicates[near].source is not None:
        # What a rule concludes is no table.
        near = None
    columns = ", ".join(_columns_told(atom, predicates, rule))
    edit = f"declare it: `.decl {atom.predicate}({columns})`"
    spoken = _as_comparison(atom)
    if spoken:
        near, edit = None, f"write `{spoken}`"
    elif near is None and atom.predicate.casefold() in NO_VALUE_TESTS:
        edit = (
            "for rows without a value declare `@[null = none]` for the column, name the rows that"
            " have one, and deny that (`constat help nulls`)"
        )
    if near is not None:
        edit = f"write `{near}`, declared as `.decl {declared_columns(predicates[near])}`"
    return Diagnostic(
        "C0201",
        f"there is no predicate `{atom.predicate}`",
        atom.span,
        label="not declared",
        note="a predicate is declared by `.decl` before rules, facts and goals can use it",
        help=edit,
        related=() if near is None else _declared(predicates[near]),
    )


def _columns_told(
    atom: Atom, predicates: Mapping[str, Predicate], rule: Rule | None
) -> Iterator[str]:
    """Yield columns as the body of the rule gives them: with its names and types."""
    given = {
        term: column
        for literal in (() if rule is None else rule.body)
        if isinstance(literal, Positive) and literal.atom.predicate in predicates
        for column, term in zip(
            predicates[literal.atom.predicate].columns, literal.atom.terms, strict=False
        )
        if isinstance(term, Variable)
    }
    names = [one.name if isinstance(one, Variable) else "" for one in atom.terms]
    for place, term in enumerate(atom.terms, start=1):
        column = given.get(term) if isinstance(term, Variable) else None
        if column is not None:
            heads = (one for one in atom.terms if isinstance(one, Variable))
            alone = sum(given.get(one) == column for one in heads) == 1
            yield f"{column.name if alone else names[place - 1]}: {column.type_name}"
        elif isinstance(term, Constant):
            yield f"c{place}: {term.kind.value}"
        else:
            yield f"c{place}: symbol"


def _as_comparison(atom: Atom) -> str:
    """Write `between(?x, 1, 5)`, `starts_with(?x, "a")` and the like as what says the same."""
    if not all(isinstance(term, Variable | Constant) for term in atom.terms):
        return ""
    match atom.predicate.casefold(), [print_term(term) for term in atom.terms]:
        case "between", [left, low, high]:
            return within(left, low, high, denied=False)
        case "in", [left, *values] if values:
            return one_of(left, values, denied=False)
        case name, [left, wanted] if wanted.startswith('"'):
            return _text_test(name, left, wanted[1:-1])
        case _:
            return ""


def _text_test(name: str, left: str, inner: str) -> str:
    """Write what other languages ask of a text; `inner` is what it is compared with."""
    match name:
        case "like":
            return alike(left, f'"{inner}"', denied=False)
        case "ilike":
            return alike(left, f'"{inner}"', denied=False, cased=False)
        case "starts_with" | "startswith" | "begins_with":
            return f'match("{literally(inner)}.*", {left})'
        case "ends_with" | "endswith":
            return f'match(".*{literally(inner)}", {left})'
        case "includes" | "has" | "contain" | "instr" | "strpos" | "charindex":
            return f'contains("{inner}", {left})'
        case "matches" | "regexp_full_match":
            return f'match("{inner}", {left})'
        case "regexp" | "regexp_like" | "regexp_matches" | "rlike" | "regex" | "regexp_contains":
            return f'match(".*({inner}).*", {left})'
        case _:
            return ""


def _wrong_arity(atom: Atom, predicate: Predicate, *, said: bool) -> Diagnostic:
    wanted, given = len(predicate.columns), len(atom.terms)
    edit = f"write `{predicate.name}({', '.join(f'?{one.name}' for one in predicate.columns)})`"
    edit += " with your terms in these places"
    if not given and not said:
        first = predicate.columns[predicate.key[0] if predicate.key else 0].name
        edit = f"for any row write `{predicate.name}({first} = _{first})`"
    if 0 < given < wanted and not said:
        pairs = zip(predicate.columns, atom.terms, strict=False)
        named = ", ".join(f"{column.name} = {print_term(term)}" for column, term in pairs)
        edit = f"write `{predicate.name}({named})`; columns that are not named may be anything"
    return Diagnostic(
        "C0202",
        f"`{predicate.name}` has {_count(wanted, 'column')}, given {_count(given, 'term')}",
        atom.span,
        label=f"declared as `{declared_columns(predicate)}`",
        note="an atom has one term for each column, in the order of the declaration; "
        "`_` stands for a value that does not matter",
        help=edit,
        related=_declared(predicate),
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _declared(predicate: Predicate) -> tuple[Related, ...]:
    if predicate.span is None:
        return ()
    return (Related(predicate.span, f"`{predicate.name}` is declared here"),)


def _undeclared_output(name: str, predicates: Mapping[str, Predicate]) -> Diagnostic:
    near = nearest(name, predicates)
    edit = f"write `.output {near}`" if near else f"declare it: `.decl {name}(c1: symbol)`"
    return Diagnostic(
        "C0201",
        f"there is no predicate `{name}`",
        label="named by `.output`",
        note="a predicate is declared by `.decl` before rules, facts and goals can use it",
        help=edit,
    )
