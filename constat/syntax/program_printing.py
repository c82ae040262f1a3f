"""Write a whole program in the canonical layout.

In: a `Program`. Out: the text of one file. Invariant: `parse_text(print_program(p))` gives `p`.
Order: marker, types, each predicate with its input and output, the sizes to print, then the rules
in their order, a blank line where the predicate changes.
"""

from __future__ import annotations

from constat.logic import (
    RECORD,
    Branch,
    Column,
    NullPolicy,
    Predicate,
    Program,
    Rule,
    TypeDefinition,
    null_words,
)
from constat.syntax.mistakes.declarations import LANGUAGE_VERSION
from constat.syntax.printing import (
    WIDTH,
    Predicates,
    attribute_texts,
    attribute_value,
    print_attributes,
    print_description,
    print_rule_as,
)
from constat.syntax.words import STAND_INS

PRELUDE_NAME = "constat/prelude.dl"


def print_program(program: Program) -> str:
    """Write a program."""
    header = [f'.pragma "constat" "{LANGUAGE_VERSION}"']
    if _needs_prelude(program):
        header.append(f'.include "{PRELUDE_NAME}"')
    blocks = ["\n".join(header)]
    if program.types:
        blocks.append("\n".join(map(_type, program.types.values())))
    blocks.extend(_predicate(one, program) for one in program.predicates.values())
    if program.sizes:
        blocks.append("\n".join(f".printsize {name}" for name in program.sizes))
    blocks.extend(_rules(program.rules, program.predicates))
    return "\n\n".join(blocks) + "\n"


def _needs_prelude(program: Program) -> bool:
    used = {column.type_name for one in program.predicates.values() for column in one.columns}
    used.update(member for one in program.types.values() for member in one.members)
    branches = (branch for one in program.types.values() for branch in one.branches)
    used.update(column.type_name for branch in branches for column in branch.fields)
    return not used.isdisjoint(STAND_INS)


def _type(definition: TypeDefinition) -> str:
    lines = [
        *print_description(definition.description),
        *print_attributes(dict(definition.attributes)),
        print_type(definition),
    ]
    return "\n".join(lines)


def print_type(definition: TypeDefinition) -> str:
    """Write a type definition without what stands before it."""
    sign = "<:" if definition.form == "subtype" else "="
    start = f".type {definition.name} {sign}"
    parts = [*definition.members, *map(_branch, definition.branches)]
    line = f"{start} {' | '.join(parts)}"
    if len(line) <= WIDTH or not definition.branches:
        return line
    if definition.form == "record":
        fields = ",\n  ".join(map(_column, definition.branches[0].fields))
        return f"{start} [\n  {fields}\n]"
    return f"{start}\n  " + "\n  | ".join(parts)


def _branch(branch: Branch) -> str:
    fields = ", ".join(map(_column, branch.fields))
    if branch.constructor == RECORD:
        return f"[{fields}]"
    name = branch.constructor.removeprefix("$")
    return f"{name} {{ {fields} }}" if fields else f"{name} {{}}"


def _predicate(predicate: Predicate, program: Program) -> str:
    attributes = dict(predicate.attributes)
    lines = [*print_description(predicate.description), *print_attributes(attributes)]
    columns = ", ".join(map(_column, predicate.columns))
    lines.append(f".decl {predicate.name}({columns})")
    if predicate.source is not None:
        lines.append(f".input {predicate.name}{_parameters(dict(predicate.source.parameters))}")
    if predicate.name in program.outputs:
        given = program.outputs[predicate.name]
        # `expect.proved` cannot be a parameter: it came from `@[expect(proved = ...)]`.
        lines.extend(print_attributes({k: v for k, v in given.items() if "." in k}))
        plain = {k: v for k, v in given.items() if "." not in k}
        lines.append(f".output {predicate.name}{_parameters(plain)}")
    return "\n".join(lines)


def _column(column: Column) -> str:
    attributes = attribute_texts(dict(column.attributes))
    return " ".join([*attributes, f"{column.name}: {column.type_name}"])


def print_signature(predicate: Predicate) -> str:
    """Write a predicate with the types of its columns, and which cells may have no value."""
    columns = zip(predicate.columns, null_words(predicate), strict=True)
    listed = ", ".join(print_column(column, word) for column, word in columns)
    return f"{predicate.name}({listed})"


def print_column(column: Column, word: str) -> str:
    """Write a column with its type; `word` is the one for its nulls."""
    return f"{column.name}: {column.type_name}{missing_note(word)}"


def missing_note(word: str) -> str:
    """Say what the word for the nulls of a column means to who asks about it; often nothing."""
    held = {policy.value for policy in NullPolicy}
    return " (may be missing)" if word in held else ""


def _parameters(parameters: dict[str, str]) -> str:
    if not parameters:
        return ""
    written = (f"{key}={attribute_value(value)}" for key, value in parameters.items())
    return f"({', '.join(written)})"


def _rules(rules: tuple[Rule, ...], predicates: Predicates) -> list[str]:
    """The rules, those of one predicate that follow each other in one block."""
    blocks: list[str] = []
    counts: dict[str, int] = {}
    before = ""
    for rule in rules:
        name = rule.head.predicate
        counts[name] = counts.get(name, 0) + 1
        text = print_rule_as(rule, predicates, with_id=rule.id != f"{name}.{counts[name]}")
        if blocks and name == before:
            blocks[-1] += f"\n{text}"
        else:
            blocks.append(text)
        before = name
    return blocks
