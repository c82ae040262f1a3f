"""The vocabulary of Constat: rules, facts and goals as pure values.

Glossary. A *term* is a variable, a constant or a function applied to terms. A *predicate* has a
name and columns; an *atom* applies it to terms; a *literal* is an atom, a negated atom, a
comparison or an aggregate. A *rule* is a head and a body; a *fact* is a ground atom; a *goal* is
an atom to prove. *EDB* predicates are given (they have a source), *IDB* predicates are derived
(they have rules). A *relation* is the set of rows of a predicate.
"""

from __future__ import annotations

from constat.logic.canonical_rows import canonical_bytes, canonical_lines
from constat.logic.functors import (
    FUNCTIONS,
    OPERATORS,
    EvaluationError,
    Signature,
    aggregate_kind,
    comparison,
    fold,
    implementation,
    signatures,
)
from constat.logic.locales import LOCALES, Locale, find_locale
from constat.logic.patterns import Pattern, compile_pattern
from constat.logic.program import (
    Attributes,
    Column,
    Predicate,
    Program,
    Rule,
    Source,
    TypeDefinition,
    literal_variables,
    local_names,
    outer_names,
    term_variables,
)
from constat.logic.terms import (
    AGGREGATES,
    COMPARISONS,
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Literal,
    Negative,
    Positive,
    Term,
    Variable,
)
from constat.logic.thresholds import (
    Threshold,
    add_exactly,
    is_beyond,
    is_never_negative,
    threshold_of,
)
from constat.logic.values import (
    OPEN,
    Kind,
    Open,
    OpenRow,
    Row,
    Slot,
    Value,
    canonical_decimal,
    canonical_float,
    check_integer,
    check_symbol,
    display_value,
    format_value,
    parse_decimal,
    parse_value,
)

__all__ = [
    "AGGREGATES",
    "COMPARISONS",
    "FUNCTIONS",
    "LOCALES",
    "OPEN",
    "OPERATORS",
    "Aggregate",
    "Apply",
    "Atom",
    "Attributes",
    "Column",
    "Comparison",
    "Constant",
    "EvaluationError",
    "Kind",
    "Literal",
    "Locale",
    "Negative",
    "Open",
    "OpenRow",
    "Pattern",
    "Positive",
    "Predicate",
    "Program",
    "Row",
    "Rule",
    "Signature",
    "Slot",
    "Source",
    "Term",
    "Threshold",
    "TypeDefinition",
    "Value",
    "Variable",
    "add_exactly",
    "aggregate_kind",
    "canonical_bytes",
    "canonical_decimal",
    "canonical_float",
    "canonical_lines",
    "check_integer",
    "check_symbol",
    "comparison",
    "compile_pattern",
    "display_value",
    "find_locale",
    "fold",
    "format_value",
    "implementation",
    "is_beyond",
    "is_never_negative",
    "literal_variables",
    "local_names",
    "outer_names",
    "parse_decimal",
    "parse_value",
    "signatures",
    "term_variables",
    "threshold_of",
]
