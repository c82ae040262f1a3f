"""Text to logic and back.

In: rule files, texts, goals. Out: `constat.logic` values, and diagnostics for what could not be
read. Invariant: reading what was printed gives what was printed. The stages: `lexer`, `parser`
(text to `surface`), `lowering` (surface to logic), `printing`. The grammar is the strict subset
0.1 of Souffle's: what is accepted here loads there unchanged.
"""

from constat.syntax.cursor import Mode
from constat.syntax.goals import parse_fact, parse_goal, parse_stated
from constat.syntax.loading import (
    LoadedRun,
    decode_rules,
    load_program,
    load_run,
    parse_text,
    prelude_text,
)
from constat.syntax.lowering import PartialFacts
from constat.syntax.mistakes.goals import incomplete_head
from constat.syntax.mistakes.refusals import exit_code
from constat.syntax.parser import (
    Annotated,
    Annotations,
    AttributePlace,
    attribute_places,
    read_annotations,
)
from constat.syntax.printing import (
    missing_note,
    print_atom,
    print_column,
    print_literal,
    print_program,
    print_row,
    print_rule,
    print_signature,
    print_stated,
    print_term,
    print_wanted,
)
from constat.syntax.surface import Port, Pragma

__all__ = [
    "Annotated",
    "Annotations",
    "AttributePlace",
    "LoadedRun",
    "Mode",
    "PartialFacts",
    "Port",
    "Pragma",
    "attribute_places",
    "decode_rules",
    "exit_code",
    "incomplete_head",
    "load_program",
    "load_run",
    "missing_note",
    "parse_fact",
    "parse_goal",
    "parse_stated",
    "parse_text",
    "prelude_text",
    "print_atom",
    "print_column",
    "print_literal",
    "print_program",
    "print_row",
    "print_rule",
    "print_signature",
    "print_stated",
    "print_term",
    "print_wanted",
    "read_annotations",
]
