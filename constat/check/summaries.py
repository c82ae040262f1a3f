"""Summaries of aggregates whose rows are not in the certificate.

In: the member ``summaries``.  Out: ``Summary`` records whose chunks fit together.  Invariant: a
summary stands for what sources said and never for logic: no rule derives what it summarises, and
only configuration or databases vouch for it.  That the chunks are true, nobody can see offline.

Example: three chunks of 1,024, 1,024 and 7 assignments add up to a count of 2,055.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from . import values as shapes
from .canonical import Json, Rejected, each, sha256
from .functions import compare
from .records import AUTHORITIES, RowReader, Source
from .rules import Aggregate, Comparison, Positive, Program, Rule
from .values import NUMERIC, Known, parse

CHUNK: Final = 1024
MOST_CHUNKS: Final = 512
MOST_INLINE: Final = 1000
_LONGEST_FRACTION: Final = 2000


@dataclass(frozen=True, slots=True)
class Chunk:
    """Assignments that come one after another."""

    count: int
    sum: Fraction | None
    least: str | None
    greatest: str | None
    hash: str


@dataclass(frozen=True, slots=True)
class Summary:
    """All assignments of one aggregate of one group."""

    rule: int
    literal: int
    group: tuple[Known, ...]
    count: int
    sum: Fraction | None
    least: str | None
    greatest: str | None
    sources: tuple[int, ...]


def read_summary(
    value: Json, program: Program, sources: tuple[Source, ...], rows: RowReader
) -> Summary:
    """Read one summary and add its chunks up."""
    position, at, group, count, chunks, found, named = shapes.members(
        value, ("rule", "literal", "group", "count", "chunks", "hash", "sources")
    )
    number = shapes.index(position, len(program.rules))
    rule = program.rules[number]
    literal = _summarised(program, rule, shapes.index(at, max(1, len(rule.body))))
    cells = shapes.array(group, len(literal.outer))
    values = tuple(
        rows.value(rule.variables[variable][1], cell)
        for variable, cell in zip(literal.outer, cells, strict=True)
    )
    read = each("chunks", shapes.array(chunks), lambda chunk: _read_chunk(chunk, literal, rows))
    total = shapes.index(count)
    _check_chunks(read, total, shapes.sha(found))
    indices = tuple(shapes.index(source, len(sources)) for source in shapes.array(named))
    if not indices or any(sources[index].origin not in AUTHORITIES for index in indices):
        raise Rejected("summary", "only configuration or databases are summarised", "sources")
    least, greatest = _bounds(read, literal)
    added = None if read[0].sum is None else sum((c.sum or Fraction() for c in read), Fraction())
    return Summary(number, shapes.index(at), values, total, added, least, greatest, indices)


def _summarised(program: Program, rule: Rule, at: int) -> Aggregate:
    literal = rule.body[at] if rule.body else None
    if not isinstance(literal, Aggregate):
        raise Rejected("summary", "this literal is no aggregate", "literal")
    for test in literal.body:
        plain = isinstance(test, Positive) and test.atom.predicate not in program.derived
        if not plain and not isinstance(test, Comparison):
            raise Rejected("summary", "a summary stands for rows of sources only", "literal")
    return literal


def _read_chunk(value: Json, literal: Aggregate, rows: RowReader) -> Chunk:
    count, added, least, greatest, found = shapes.array(value, 5)
    number = shapes.index(count)
    chunk_hash = shapes.sha(found)
    if literal.target is None:
        if (added, least, greatest) != (None, None, None):
            raise Rejected("summary", "a count has no sum, least and greatest value")
        return Chunk(number, None, None, None, chunk_hash)
    kind = literal.target.kind
    total = _read_fraction(added) if kind in NUMERIC else None
    if total is None and added is not None:
        raise Rejected("summary", "only numbers have a sum")
    # Kinds that are ordered or added up have no structures.
    ends = str(rows.value(kind, least)), str(rows.value(kind, greatest))
    chunk = Chunk(number, total, *ends, chunk_hash)
    _check_possible(chunk, kind)
    return chunk


def _read_fraction(value: Json) -> Fraction:
    found = shapes.text(value)
    above, slash, below = found.partition("/")
    digits = above.removeprefix("-")
    if not slash or len(found) > _LONGEST_FRACTION or not (digits + below).isascii():
        raise Rejected("summary", "a sum is a fraction p/q")
    if not (digits.isdigit() and below.isdigit()) or not int(below):
        raise Rejected("summary", "a sum is a fraction p/q")
    fraction = Fraction(int(above), int(below))
    if f"{fraction.numerator}/{fraction.denominator}" != found:
        raise Rejected("summary", "the fraction is not in lowest terms")
    return fraction


def _check_possible(chunk: Chunk, kind: str) -> None:
    """Reject a sum that no values between least and greatest, both included, can have."""
    least, greatest = str(chunk.least), str(chunk.greatest)
    if chunk.count == 0 or compare("<=", kind, least, greatest) is not True:
        raise Rejected("summary", "an empty chunk, or a least value above the greatest")
    if chunk.count == 1 and least != greatest:
        raise Rejected("summary", "one assignment has one value")
    if chunk.sum is None:
        return
    low, high = Fraction(parse(kind, least)), Fraction(parse(kind, greatest))
    rest = max(0, chunk.count - 2)
    ends = low + high if chunk.count > 1 else low
    if not ends + rest * low <= chunk.sum <= ends + rest * high:
        raise Rejected("summary", "no such values have this sum")
    if not _denominator_fits(chunk.sum.denominator, kind):
        raise Rejected("summary", "values of this kind have no such sum")


def _denominator_fits(denominator: int, kind: str) -> bool:
    if kind == "float":
        return denominator & (denominator - 1) == 0
    if kind == "Decimal":
        return 10**38 % denominator == 0
    return denominator == 1


def _check_chunks(chunks: list[Chunk], count: int, found: str) -> None:
    if count <= MOST_INLINE:
        raise Rejected("summary", f"{count} rows stand in the certificate itself", "count")
    if sum(chunk.count for chunk in chunks) != count:
        raise Rejected("summary", "the chunks do not add up to the count", "chunks")
    size = chunk_size(count)
    if any(chunk.count != size for chunk in chunks[:-1]) or not 0 < chunks[-1].count <= size:
        raise Rejected("summary", f"every chunk but the last has {size} assignments", "chunks")
    if sha256("".join(chunk.hash + "\n" for chunk in chunks)) != found:
        raise Rejected("summary", "the hash is not that of the chunks", "hash")


def chunk_size(count: int) -> int:
    """Return how many assignments a chunk has where there are so many in all."""
    size = CHUNK
    while size * MOST_CHUNKS < count:
        size *= 2
    return size


def _bounds(chunks: list[Chunk], literal: Aggregate) -> tuple[str | None, str | None]:
    if literal.target is None:
        return None, None
    kind = literal.target.kind
    least, greatest = str(chunks[0].least), str(chunks[0].greatest)
    for chunk in chunks[1:]:
        if compare("<", kind, str(chunk.least), least):
            least = str(chunk.least)
        if compare(">", kind, str(chunk.greatest), greatest):
            greatest = str(chunk.greatest)
    return least, greatest
