"""External predicates as a role may see them.

In: external predicates, and what a role may see. Out: external predicates that give only that.
Invariants: what may not be seen is unknown and never absent, so no verdict is wrong; it does not
come in, so it is in no answer, near miss, certificate or export; apart from keys whose rows
contradict each other, what an answer says does not depend on what it does not show.

Example: with `rows: {region: north}` a customer of the south is neither there nor not there.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import Shown
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.evaluation import Answer, Demand, Opening, Origin, Portion
from constat.logic import OPEN, Kind, NullCell, NullPolicy, format_value
from constat.tiers.chain import Chain
from constat.tiers.declarations import uses_certificates
from constat.tiers.tier import (
    content_hash,
    has_null,
    key_of,
    matched_keys,
    may_be_any,
    pattern,
    read_canonical,
    rows_as_read,
)
from constat.tiers.user import USER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Evidence, ExternalPredicate, Externals
    from constat.logic import Column, OpenRow, Predicate, Row, Value
    from constat.project.settings import Sight, SightOf

_COMPARED: Final = re.compile(
    r"\bc([0-9]{1,4}) (?:(?:=|<>|<=|>=|<|>) \?|(IN \(SELECT value FROM json_each\(\?\)\)))"
)
"""What a query of ours compares with a parameter: its column, and whether the parameter lists."""
RIGHTS: Final = "rights"
"""The tier that openings name which are there because of rights."""


def restricted(externals: Externals, program: AnalysedProgram, sight: Sight) -> Externals:
    """Give external predicates as a role sees them; raises `ConstatError` for a name of nothing."""
    predicates = program.program.predicates
    if sight.relations is None:
        return externals
    _check(sight, program)
    return {
        name: one if name not in predicates else _seen(one, predicates[name], sight)
        for name, one in externals.items()
    }


def _seen(inner: ExternalPredicate, predicate: Predicate, sight: Sight) -> ExternalPredicate:
    found = sight.of(predicate.name)
    if found is None:
        return _Closed(sight.role)
    if found.everything and not uses_certificates(predicate):
        # The state of a source is that of its hidden rows, too.
        return inner.nameless() if isinstance(inner, Chain) else inner
    return _Restricted(inner, predicate, found, sight)


def is_shown(predicate: Predicate, row: Sequence[str | None], sight: Sight) -> bool:
    """Tell whether a role may see a whole row, given as canonical texts."""
    found = sight.of(predicate.name)
    if found is None or _hidden(predicate, found):
        return False
    wanted = _wanted(predicate, found, sight)
    return all(row[place] in texts for place, texts in wanted.items())


def may_meet_hidden(predicate: Predicate, sight: Sight) -> bool:
    """Tell whether a row that a role may not see may have the key of one that it may see."""
    found = sight.of(predicate.name)
    if found is None or not predicate.key:
        return False
    return not _wanted(predicate, found, sight).keys() <= set(predicate.key)


def _check(sight: Sight, program: AnalysedProgram) -> None:
    diagnostics = []
    for name, found in (sight.relations or {}).items():
        predicate = program.program.predicates.get(name)
        if predicate is None or name not in program.external:
            near = nearest(name, sorted(program.external))
            message = f"`rights` of {sight.role} name `{name}`, which is no relation of a source"
            hint = f"did you mean `{near}`?" if near else "rights are about what rules read"
            diagnostics.append(Diagnostic("C0593", message, help=hint))
            continue
        columns = [column.name for column in predicate.columns]
        for one in (*found.rows, *(found.columns or ())):
            if one not in columns:
                message = f"`rights` of {sight.role} name a column `{one}`, which `{name}` has not"
                hint = f"its columns: {', '.join(columns)}"
                diagnostics.append(Diagnostic("C0593", message, help=hint))
    if diagnostics:
        raise ConstatError(diagnostics)


def _hidden(predicate: Predicate, found: SightOf) -> frozenset[int]:
    """Give the places of the columns that are not shown."""
    if found.columns is None:
        return frozenset()
    return frozenset(
        place for place, one in enumerate(predicate.columns) if one.name not in found.columns
    )


def _wanted(
    predicate: Predicate, found: SightOf, sight: Sight
) -> Mapping[int, frozenset[str | None]]:
    """Give the texts, by places, that the cells of a shown row have."""
    places = {column.name: place for place, column in enumerate(predicate.columns)}
    return {places[name]: frozenset(map(sight.value, texts)) for name, texts in found.rows.items()}


class _Closed:
    """A relation of which a role sees nothing: everything is open, and nobody is asked."""

    cost = 1

    def __init__(self, role: str) -> None:
        self._role = role

    def answer(self, demand: Demand) -> Answer:
        """Answer: nothing is known."""
        reason = _reason(self._role, demand.predicate)
        return Answer(
            (), tuple(Opening(pattern(demand, key), reason, RIGHTS) for key in demand.keys)
        )


def _reason(role: str, predicate: Predicate) -> str:
    return f"the role {role} may not see everything of {predicate.name}"


class _Restricted:
    """A relation of which a role sees some rows or columns."""

    def __init__(
        self, inner: ExternalPredicate, predicate: Predicate, found: SightOf, sight: Sight
    ) -> None:
        self.cost = inner.cost
        self._inner = inner
        self._declared = predicate
        self._kinds = predicate.kinds
        self._hidden = _hidden(predicate, found)
        self._wanted = _wanted(predicate, found, sight)
        self._reason = _reason(sight.role, predicate)

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch with what may be seen; what that leaves open is open."""
        kept = [n for n, column in enumerate(demand.columns) if column not in self._hidden]
        columns = tuple(demand.columns[n] for n in kept)
        asked = {key: tuple(key[n] for n in kept) for key in demand.keys}
        columns, keys = self._narrowed(columns, tuple(dict.fromkeys(asked.values())))
        # Neither a key nor a range tells anybody what a hidden column holds.
        inner = Answer()
        if keys:
            ranges = tuple(one for one in demand.ranges if one.column not in self._hidden)
            inner = self._inner.answer(
                replace(
                    demand,
                    predicate=self._looking(demand.predicate),
                    columns=columns,
                    keys=keys,
                    ranges=ranges,
                    only=bool(self._wanted),
                )
            )
        openings: dict[Opening, None] = {}
        portions = [
            found
            for one in inner.portions
            if (found := self._portion(one, demand, openings)) is not None
        ]
        doubted = self._openings(inner, columns, set(keys), openings)
        doubted |= self._half_said(demand, columns, keys)
        for row in (row for one in inner.portions for row in one.rows if self._may_be_shown(row)):
            doubted.update(matched_keys(row, columns, set(keys)))
        answered = set()
        for key, narrow in asked.items():
            sure = narrow in inner.answered and narrow not in doubted
            if sure and self._is_whole(demand, key, portions):
                answered.add(key)
            else:
                openings[Opening(pattern(demand, key), self._reason, RIGHTS)] = None
        rows = [row for one in portions for row in one.rows]
        authorities = tuple(self._evidence(one, rows, demand) for one in inner.authorities)
        return Answer(
            tuple(portions),
            tuple(openings),
            frozenset(answered),
            authorities if answered else (),
        )

    def _narrowed(
        self, columns: tuple[int, ...], keys: tuple[Row, ...]
    ) -> tuple[tuple[int, ...], tuple[Row, ...]]:
        """Give what is asked for: rows that are shown, for others reach bounds of a source.

        Of a declared key there is one row. It is looked at whosoever it is: another row of the key
        stands against it. A row whose wanted cell is not known is asked for with each value.
        """
        known = {
            place: tuple(_values(texts, self._declared.columns[place]))
            for place, texts in self._wanted.items()
            if self._kinds[place] is not Kind.STRUCTURE
        }
        places = {place: columns.index(place) for place in known if place in columns}
        keys = tuple(
            key for key in keys if all(key[n] in known[place] for place, n in places.items())
        )
        unique = self._declared.key
        more = [place for place in known if place not in places]
        if not more or (unique and set(unique) <= set(columns)):
            return columns, keys
        wider = tuple(sorted((*columns, *more)))
        order = [(*columns, *more).index(place) for place in wider]
        rest = list(product(*(known[place] for place in more)))
        every = ((*key, *values) for key in keys for values in rest)
        return wider, tuple(tuple(one[n] for n in order) for one in every)

    def _half_said(
        self, demand: Demand, columns: tuple[int, ...], keys: tuple[Row, ...]
    ) -> set[Row]:
        """Give the keys of what people state without saying whether it is shown.

        A hidden row of its key would stand against it: it may be shown until a shown row does.
        """
        unique = self._declared.key
        if not (keys and self._wanted and unique and isinstance(self._inner, Chain)):
            return set()
        asked = replace(
            demand, predicate=self._looking(demand.predicate), columns=columns, keys=keys, ranges=()
        )
        told = [row for one in self._inner.stated(asked) for row in one.rows]
        said = [row for row in told if self._may_be_shown(row)]
        if not said:
            return set()
        of = dict.fromkeys(key_of(row, unique) for row in said if not has_null(row, unique))
        found = self._inner.answer(replace(asked, columns=unique, keys=tuple(of), only=True))
        rows = (row for one in found.portions for row in one.rows if self._is_shown(row))
        settled = {key_of(row, unique) for row in rows}
        left = (row for row in said if key_of(row, unique) not in settled)
        return {key for row in left for key in matched_keys(row, columns, set(keys))}

    def _looking(self, predicate: Predicate) -> Predicate:
        """Give the predicate as it is read to see whose rows these are."""
        columns = tuple(
            self._declared.columns[place] if place in self._wanted else column
            for place, column in enumerate(predicate.columns)
        )
        return replace(predicate, columns=columns)

    def _portion(
        self, portion: Portion, demand: Demand, openings: dict[Opening, None]
    ) -> Portion | None:
        """Give the rows that are shown whole; of the others what is shown is an opening."""
        rows = []
        for row in rows_as_read(filter(self._is_shown, portion.rows), demand.predicate):
            told = self._cells(row)
            if told == row and self._is_plain(portion):
                rows.append(row)
            else:
                cells: OpenRow = tuple(OPEN if isinstance(one, NullCell) else one for one in told)
                openings[Opening(cells, self._reason, RIGHTS)] = None
        if not rows:
            return None
        evidence = self._evidence(portion.evidence, rows, demand)
        return replace(portion, rows=tuple(rows), evidence=evidence)

    def _is_shown(self, row: OpenRow) -> bool:
        """Tell whether all cells that have to be are as the role may see them."""
        return all(
            _text(row[place], self._kinds[place]) in texts for place, texts in self._wanted.items()
        )

    def _may_be_shown(self, row: OpenRow) -> bool:
        """Tell whether nobody knows if a row is one that the role may see."""
        cells = [row[place] for place in self._wanted]
        return any(map(may_be_any, cells)) and all(
            may_be_any(row[place]) or _text(row[place], self._kinds[place]) in texts
            for place, texts in self._wanted.items()
        )

    def _cells(self, row: OpenRow) -> OpenRow:
        """Give a row without its hidden cells; what was not read is not there to be hidden."""
        return tuple(
            OPEN if place in self._hidden and not _is_unread(cell) else cell
            for place, cell in enumerate(row)
        )

    def _is_plain(self, portion: Portion) -> bool:
        """Tell whether where rows come from says no more than the rows themselves."""
        if not (self._hidden or self._wanted):
            return portion.evidence.proved is None
        for one in portion.evidence.every():
            told = one.attestation
            others = told is not None and one.origin is not Origin.USER_PROVIDED
            quoted = told is not None and told.quote is not None
            if others or quoted or one.proved is not None or one.fills is not None:
                return False
        return portion.assumption is None or portion.evidence.tier == USER or not self._hidden

    def _evidence(self, evidence: Evidence, rows: Sequence[Row], demand: Demand) -> Evidence:
        """Give evidence that counts and hashes the rows that are shown, and names no state.

        A query is left out where its parameters may say more than was asked and is shown: those of
        a look for keys are the keys of all rows that were found before.
        """
        if not (self._hidden or self._wanted):
            return evidence
        found = content_hash(rows, self._kinds)
        word = evidence.attestation
        if word is not None and self._hidden:
            # A note of a person is about the whole row.
            word = replace(word, note=None)
        told = replace(
            evidence,
            snapshot=None,
            row_count=len(rows),
            content_hash=found,
            attestation=word,
        )
        if self._says_no_more(evidence, rows, demand):
            return told
        return replace(told, query=None, parameters=())

    def _says_no_more(self, evidence: Evidence, rows: Sequence[Row], demand: Demand) -> bool:
        """Tell whether each parameter is a value of its column that was asked for or is shown."""
        parameters, query = evidence.parameters, evidence.query or ""
        compared = [(int(one[1]), one[2] is not None) for one in _COMPARED.finditer(query)]
        if not len(compared) == len(parameters) == query.count("?"):
            return not parameters
        for (column, several), said in zip(compared, parameters, strict=True):
            values = _listed(said) if several else (said,)
            known = {cell for cell in self._known(column, rows, demand) if cell is not None}
            if values is None or not known.issuperset(values):
                return False
        return True

    def _known(self, column: int, rows: Sequence[Row], demand: Demand) -> Iterator[str | None]:
        """Give the texts of a column that somebody knows who asks this and is shown these rows."""
        places = [place for place, one in enumerate(demand.columns) if one == column]
        cells: list[object] = [key[place] for key in demand.keys for place in places]
        cells += [one.value for one in demand.ranges if one.column == column]
        cells += [row[column] for row in rows] if column not in self._hidden else []
        yield from self._wanted.get(column, ()) if column not in self._hidden else ()
        for cell in cells:
            yield from (str(cell), _text(cell, self._kinds[column]))

    def _openings(
        self,
        inner: Answer,
        columns: tuple[int, ...],
        keys: set[Row],
        openings: dict[Opening, None],
    ) -> set[Row]:
        """Add the openings that tell nothing hidden; give the keys that others may have."""
        doubted: set[Row] = set()
        for one in inner.openings:
            asked = all(
                cell is OPEN or place in columns for place, cell in enumerate(one.row)
            ) and (not columns or _of(one.row, columns) in keys)
            if asked or self._is_shown(one.row):
                row, word = self._cells(one.row), one.assumption
                if word is not None and word.kind == "fact":
                    # It says a whole row, and to leave it open without it is safe.
                    word = None
                openings[Opening(row, self._reason, RIGHTS, word)] = None
            else:
                doubted.update(matched_keys(one.row, columns, keys))
        return doubted

    def _is_whole(self, demand: Demand, key: Row, portions: Iterable[Portion]) -> bool:
        """Tell whether nothing that a key asks for can be among what is not shown."""
        given = dict(zip(demand.columns, key, strict=True))
        bound = all(
            place in given and _text(given[place], self._kinds[place]) in texts
            for place, texts in self._wanted.items()
        )
        if bound:
            return True
        unique = demand.predicate.key
        if not unique or not set(unique) <= given.keys() - self._hidden:
            return False
        # Of the key there is one row, and it is shown.
        wanted = tuple(given[place] for place in unique)
        rows = (row for one in portions if one.assumption is None for row in one.rows)
        return any(key_of(row, unique) == wanted for row in rows)


def told_apart(inner: ExternalPredicate, shown: Callable[[Predicate], Shown]) -> ExternalPredicate:
    """Give a predicate of a database that shows each caller rows of their own."""
    return _ToldApart(inner, shown)


class _ToldApart:
    """A relation of which a database shows each caller what it lets them see.

    Rows that are shown are rows; that others are not there is nobody's word.
    """

    def __init__(self, inner: ExternalPredicate, shown: Callable[[Predicate], Shown]) -> None:
        self.cost = inner.cost
        self._inner = inner
        self._shown = shown

    def answer(self, demand: Demand) -> Answer:
        """Answer with the rows that are shown."""
        inner = self._inner.answer(demand)
        # Asked in the state that was read: what is shown may change with it.
        shown = self._shown(demand.predicate)
        if shown is Shown.ALL:
            return inner
        name = demand.predicate.name
        if shown is Shown.OTHER:
            reason = f"the database may show each caller other rows of {name}"
            openings = (Opening(pattern(demand, key), reason, RIGHTS) for key in demand.keys)
            return Answer((), tuple(openings))
        reason = f"the database shows each caller rows of their own of {name}"
        told = {key for key in inner.answered if self._is_whole(demand, key, inner.portions)}
        left = [
            Opening(pattern(demand, key), reason, RIGHTS) for key in demand.keys if key not in told
        ]
        portions = tuple(
            replace(one, evidence=replace(one.evidence, snapshot=None)) for one in inner.portions
        )
        authorities = tuple(replace(one, snapshot=None) for one in inner.authorities)
        openings_too = tuple(dict.fromkeys((*inner.openings, *left)))
        return Answer(
            portions, openings_too, frozenset(told), authorities if told else (), inner.conflicts
        )

    @staticmethod
    def _is_whole(demand: Demand, key: Row, portions: Iterable[Portion]) -> bool:
        """Tell whether the one row of a declared key is shown."""
        given, unique = dict(zip(demand.columns, key, strict=True)), demand.predicate.key
        if not unique or not set(unique) <= given.keys():
            return False
        wanted = tuple(given[place] for place in unique)
        rows = (row for one in portions if one.assumption is None for row in one.rows)
        return any(key_of(row, unique) == wanted for row in rows)


def _values(texts: Iterable[str | None], column: Column) -> Iterator[Value]:
    """Give the values of a column that have one of these canonical texts, in one order."""
    for text in sorted(one for one in texts if one is not None):
        with suppress(ValueError):
            value = read_canonical(text, column)
            if format_value(value, column.kind) == text:
                yield value


def _of(row: OpenRow, columns: tuple[int, ...]) -> OpenRow:
    return tuple(row[place] for place in columns)


def _listed(said: str) -> Sequence[str] | None:
    """Give the values in a list of keys; nothing for what is none."""
    try:
        found = json.loads(said)
    except ValueError:
        return None
    plain = isinstance(found, list) and all(isinstance(one, str | int) for one in found)
    return [str(one) for one in found] if plain else None


def _is_unread(cell: object) -> bool:
    return isinstance(cell, NullCell) and cell.policy is NullPolicy.UNREAD


def _text(cell: object, kind: Kind) -> str | None:
    """Give the canonical text of a cell; none where it has no value."""
    if cell is OPEN or isinstance(cell, NullCell):
        return None
    value: Any = cell
    return format_value(value, kind)
