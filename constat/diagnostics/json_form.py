"""Diagnostics as JSON values, for editors and other programs.

In: diagnostics. Out: a list of objects of texts and numbers, sorted by place. Invariant: nothing
of a diagnostic is left out, and each object has the same members. Example: `{"code": "C0121",
"severity": "error", "message": ..., "span": ...}`.
"""

from __future__ import annotations

from collections.abc import Iterable

from constat.diagnostics.diagnostic import Diagnostic, Span

JsonObject = dict[str, object]


def to_json(diagnostics: Iterable[Diagnostic]) -> list[JsonObject]:
    """Give one object per diagnostic."""
    return [_diagnostic(one) for one in sorted(diagnostics, key=lambda one: one.place)]


def _diagnostic(one: Diagnostic) -> JsonObject:
    return {
        "code": one.code,
        "severity": one.severity.value,
        "message": one.message,
        "span": None if one.span is None else _span(one.span),
        "label": one.label,
        "note": one.note,
        "help": one.help,
        "related": [{"span": _span(other.span), "label": other.label} for other in one.related],
    }


def _span(span: Span) -> JsonObject:
    return {
        "source": span.source,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
