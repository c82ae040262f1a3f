"""Write the instances of a rule over rows that are not all whole and certain, in SQL.

A relation may have two tables. In one lie its rows that are certain and whole. In the other, the
marked ones, each column `c0` has a mark `m0` beside it, and each row says in `s` whether it is
certain: true, or nothing where it is only possible. A mark is nothing where there is a value, and
then the cell itself is empty: `L...` is a label (semantics 26a), `F...` what a total function made
of one (26b), `M...` a cell of `maybe`, `N` one of `none`, `*` the placeholder.

SQL has three truth values as the contract does, and its own "nothing" is the unknown one: an
equation with an empty side is unknown, unless both sides are one label. So each literal becomes an
expression that is true, false or unknown; an instance whose conjunction is not false is possible,
and it is certain where the conjunction is true, in which `s` of every row stands too (7, 8). That
is word for word what the definition of certain and possible says, with no case left out, so it
implies sentence 38, (i) and (ii), as rows come in by rounds here as well.

For each atom rows that are whole in the columns which it reads are taken apart from the others:
what nobody reads tells nothing (26), and the former join as any rows do.
"""

from __future__ import annotations

from dataclasses import field
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Variable,
    is_wildcard,
    literal_variables,
    outer_names,
    term_variables,
    vocabulary,
)
from constat.recount.statements import (
    INTEGERS,
    PLAIN,
    RefusedError,
    Statement,
    applied,
    conjunction,
    literal,
    once,
    select,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from constat.logic import Atom, Literal, Term

NOTHING: Final = "CAST(NULL AS VARCHAR)"
_MOST_STATEMENTS: Final = 64
_SAME: Final = MappingProxyType(
    {"=": "true", "<=": "true", ">=": "true", "!=": "false", "<": "false", ">": "false"}
)


@frozen
class Cell:
    """What a term is in SQL: its value, and its mark; without one it always has a value."""

    value: str
    mark: str = ""


@frozen
class Reading:
    """The columns that an atom reads, and those whose value nothing else reads."""

    read: tuple[int, ...]
    single: tuple[int, ...]


@frozen
class Source:
    """A table to read, and whether its rows have marks."""

    table: str
    marked: bool


@slotted
class MarkedRule(Statement):
    """One rule on its way into SQL.

    `sources` gives the tables of an atom, one with the rows that are whole where it reads them,
    and one with the others; `apart` says whether a known column tells its certain rows apart.
    """

    sources: Callable[[Atom, Reading], Sequence[Source]]
    apart: Callable[[str], bool]
    once: frozenset[str] = field(init=False)
    outer: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Look at the variables of the rule."""
        self.once = once(self.rule)
        self.outer = frozenset(outer_names(self.rule))

    def texts(self) -> Iterator[str]:
        """Yield queries that together give the heads: columns, marks, and `s`."""
        atoms = [one.atom for one in self.rule.body if isinstance(one, Positive)]
        for chosen in self.choices(atoms):
            body = MarkedBody(self, {}, list(chosen))
            body.add(self.rule.body)
            # As long as nobody accepts a rule that is an assumption, its heads are possible (10).
            body.truths += ["CAST(NULL AS BOOLEAN)"] * self.rule.assumed
            outputs: list[str] = []
            for place, term in enumerate(self.rule.head.terms):
                cell = body.cell(term)
                outputs += [f"{cell.value} AS c{place}", f"{cell.mark or NOTHING} AS m{place}"]
            outputs = outputs or ["CAST(0 AS BIGINT) AS c0", f"{NOTHING} AS m0"]
            inner = select(
                [*outputs, f"{conjunction(body.truths)} AS s"], body.sources, body.conditions
            )
            yield f"SELECT DISTINCT * FROM ({inner}) AS every WHERE s IS NOT FALSE"  # noqa: S608  names are ours

    def choices(self, atoms: Sequence[Atom]) -> Iterator[tuple[Source, ...]]:
        """Yield the tables to read for the atoms, in every combination."""
        every = [self.sources(atom, self.reading(atom)) for atom in atoms]
        total = 1
        for one in every:
            total *= len(one)
        if total > _MOST_STATEMENTS:
            raise RefusedError("a rule reads too many relations that are not fully known")
        yield from product(*every)

    def reading(self, atom: Atom) -> Reading:
        """Say which columns an atom reads: all but those that it writes `_` at (26)."""
        read: list[int] = []
        single: list[int] = []
        for place, term in enumerate(atom.terms):
            if is_wildcard(term):
                continue
            alone = isinstance(term, Variable) and term.name in self.once
            (single if alone else read).append(place)
        return Reading(tuple(read), tuple(single))


@slotted
class MarkedBody:
    """A conjunction: its tables, plain conditions, three-valued truths, and its variables.

    `chosen` are the tables of its positive atoms, in their order.
    """

    statement: MarkedRule
    names: dict[str, Cell]
    chosen: list[Source]
    sources: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    truths: list[str] = field(default_factory=list)
    unread: list[Cell] = field(default_factory=list)
    """What stands where an atom has `_`: each is a column of a binding (23)."""
    bounds: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By the result of a least or greatest: which of both, and the member that bounds it."""

    def add(self, literals: Sequence[Literal]) -> None:
        """Take all literals, each when what it reads is bound."""
        computed: list[tuple[Cell, Term]] = []
        waiting: list[Literal] = []
        for one in literals:
            if isinstance(one, Positive):
                computed += self._positive(one.atom, self.chosen.pop(0))
            else:
                waiting.append(one)
        while waiting or computed:
            left = [one for one in waiting if not self._taken(one)]
            more = [one for one in computed if not self._matched(*one)]
            if len(left) == len(waiting) and len(more) == len(computed):
                raise RefusedError("a body whose literals cannot be taken one after the other")
            waiting, computed = left, more

    # --------------------------------------------------------------------------------- cells

    def cell(self, term: Term) -> Cell:
        """Write a term whose variables are bound."""
        match term:
            case Variable(name):
                return self.names[name]
            case Constant(value, kind):
                return Cell(literal(value, kind))
            case Apply():
                cells = [self.cell(one) for one in term.arguments]
                value = applied(self.statement, term, [one.value for one in cells])
                return Cell(value, self._made(term, cells, value))

    def _made(self, term: Apply, cells: Sequence[Cell], value: str) -> str:
        """Write the mark of what a function gives: a label of one label, else the placeholder.

        What errs is unknown, and so is its instance, whatever becomes of the value (9).
        """
        marks = [one.mark for one in cells if one.mark]
        none = conjunction([f"{mark} IS NULL" for mark in marks])
        erring = f"{none} AND ({value}) IS NULL"
        if self.statement.functions.empty:
            self.truths.append(f"CASE WHEN {erring} THEN NULL ELSE true END")
            none = f"{none} AND ({value}) IS NOT NULL"
        elif not marks:
            return ""
        word = vocabulary.FUNCTIONS.get(term.function)
        made = ""
        if word is not None and word.total:
            for one in cells:
                if one.mark:
                    others = [f"{mark} IS NULL" for mark in marks if mark != one.mark]
                    label = conjunction([f"left({one.mark}, 1) = 'L'", *others])
                    same = [c for c in cells if c.mark == one.mark]
                    made += f" WHEN {label} THEN {_spelled(term, cells, one)}" * (len(same) == 1)
        return f"CASE WHEN {none} THEN NULL{made} ELSE '*' END"

    def _is_bound(self, terms: Iterable[Term]) -> bool:
        return all(v.name in self.names for term in terms for v in term_variables(term))

    def _hold(self, truth: str, *cells: Cell) -> None:
        """Add what has to hold: a condition where it is never unknown."""
        target = self.truths if any(one.mark for one in cells) else self.conditions
        target.append(truth)

    # ------------------------------------------------------------------------------ literals

    def _positive(self, atom: Atom, source: Source) -> list[tuple[Cell, Term]]:
        """Read a table; give the columns whose terms have to be computed."""
        alias = self.statement.alias()
        self.sources.append(f"{source.table} AS {alias}")
        if source.marked:
            self.truths.append(f"{alias}.s")
        computed: list[tuple[Cell, Term]] = []
        for place, term in enumerate(atom.terms):
            cell = Cell(f"{alias}.c{place}", f"{alias}.m{place}" if source.marked else "")
            if is_wildcard(term):
                self.unread.append(cell)
            elif isinstance(term, Variable) and term.name not in self.names:
                self.names[term.name] = cell
            elif isinstance(term, Apply):
                computed.append((cell, term))
            else:
                known = self.cell(term)
                self._hold(same(known, cell), known, cell)
                if isinstance(term, Variable):
                    self.names[term.name] = narrower(known, cell)
        return computed

    def _matched(self, cell: Cell, term: Term) -> bool:
        if not self._is_bound([term]):
            return False
        known = self.cell(term)
        self._hold(same(known, cell), known, cell)
        return True

    def _taken(self, one: Literal) -> bool:
        """Take a literal if its turn has come."""
        match one:
            case Comparison():
                return self._comparison(one)
            case Negative(atom):
                return self._negative(atom)
            case Aggregate():
                return self._aggregate(one)
            case _:
                raise RefusedError("a literal of an unknown form")

    def _ruled_out(self, one: Comparison) -> Iterator[str]:
        """Write where a comparison cannot hold because a member bounds its open least or greatest.

        The greatest of a group is at least the target of each certain member, and the least at
        most that.
        """
        turned = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
        if one.operator not in turned:
            return
        sides = (one.left, one.operator, one.right), (one.right, turned[one.operator], one.left)
        for side, operator, other in sides:
            if isinstance(side, Variable) and side.name in self.bounds:
                function, member = self.bounds[side.name]
                yield from _beyond(function, operator, self.cell(other), member)

    def _comparison(self, one: Comparison) -> bool:
        if one.operator == "=":
            for side, other in ((one.left, one.right), (one.right, one.left)):
                free = isinstance(side, Variable) and side.name not in self.names
                if free and self._is_bound([other]):
                    cell = self.cell(other)
                    self.names[side.name] = cell  # type: ignore[union-attr]  # a variable
                    if isinstance(other, Apply) and not cell.mark:
                        # It errs for an instance also where nobody reads the variable.
                        self.conditions.append(f"({cell.value}) IS NOT NULL")
                    return True
        if not self._is_bound([one.left, one.right]):
            return False
        left, right = self.cell(one.left), self.cell(one.right)
        text = self._compared(one, left, right)
        if self.statement.functions.empty:
            # It may err as well, and then it is unknown.
            self.truths.append(text)
        else:
            self._hold(text, left, right)
        self.conditions += [f"({text}) IS NOT TRUE" for text in self._ruled_out(one)]
        return True

    def _compared(self, one: Comparison, left: Cell, right: Cell) -> str:
        kind = self.statement.kind(one.left)
        if one.operator == "=":
            return same(left, right)
        if one.operator in PLAIN and (kind is not Kind.STRUCTURE or one.operator == "!="):
            text = f"({left.value} {PLAIN[one.operator]} {right.value})"
        else:
            test = self.statement.functions.test(one.operator, kind)
            text = f"{test}({left.value}, {right.value})"
        if left.mark and right.mark and one.operator in _SAME:
            return f"CASE WHEN {_one_label(left, right)} THEN {_SAME[one.operator]} ELSE {text} END"
        return text

    def _negative(self, atom: Atom) -> bool:
        free = {
            place
            for place, term in enumerate(atom.terms)
            if isinstance(term, Variable)
            and term.name not in self.names
            and (is_wildcard(term) or term.name in self.statement.once)
        }
        read = {place: term for place, term in enumerate(atom.terms) if place not in free}
        if not self._is_bound(read.values()):
            return False
        cells = {place: self.cell(term) for place, term in read.items()}
        for place, cell in cells.items():
            if isinstance(read[place], Apply) and not cell.mark:
                # It errs also where the table is empty.
                self.conditions.append(f"({cell.value}) IS NOT NULL")
        sure: list[str] = []
        possible: list[str] = []
        for source in self._sources(atom):
            alias = self.statement.alias()
            own = {n: Cell(f"{alias}.c{n}", f"{alias}.m{n}" * source.marked) for n in cells}
            alike = [same(cell, own[place]) for place, cell in cells.items()]
            alike += [f"{alias}.s"] * source.marked
            table, match = [f"{source.table} AS {alias}"], conjunction(alike)
            sure.append(f"EXISTS ({select(['1'], table, [match])})")
            if source.marked or any(one.mark for one in cells.values()):
                possible.append(f"EXISTS ({select(['1'], table, [f'({match}) IS NOT FALSE'])})")
        possible += [f"{one.mark} = '*'" for one in cells.values() if one.mark]
        if not possible:
            self.conditions += [f"NOT {one}" for one in sure]
            return True
        found, perhaps = " OR ".join(sure) or "false", " OR ".join(possible)
        self.truths.append(f"CASE WHEN {found} THEN false WHEN {perhaps} THEN NULL ELSE true END")
        return True

    # ---------------------------------------------------------------------------- aggregates

    def _aggregate(self, one: Aggregate) -> bool:
        outer = self.statement.outer
        inside = [variable for item in one.body for variable in literal_variables(item)]
        inside += [] if one.target is None else term_variables(one.target)
        if any(v.name in outer and v.name not in self.names for v in inside):
            return False
        group = sorted({v.name for v in inside} & self.names.keys())
        marks = [self.names[name].mark for name in group if self.names[name].mark]
        found, exact, sure = self._fold(one, {v.name for v in inside})
        if marks:
            # Rows that have the label of a group are members, and those that may have it are open.
            exact = conjunction([exact, *(f"({mark} IS NULL OR {mark} <> '*')" for mark in marks)])
        mark = f"CASE WHEN {exact} THEN NULL ELSE '*' END"
        cell = Cell(f"CASE WHEN {exact} THEN {found} END", mark)
        if one.function not in {"count", "sum"}:
            self.conditions.append(f"(({found}) IS NOT NULL OR NOT ({exact}))")
        bound = self.names.get(one.result.name)
        if bound is not None:
            self._hold(same(bound, cell), bound, cell)
        if self._is_extreme(one) and is_bounded(one):
            # Where its group is named by labels nobody knows whose member that would be.
            whole = conjunction([f"{mark} IS NULL" for mark in marks])
            member = f"CASE WHEN {whole} THEN {sure} END"
            self.bounds[one.result.name] = (one.function, member)
            if bound is not None:
                ruled_out = _beyond(one.function, "=", bound, member)
                self.conditions += [f"({text}) IS NOT TRUE" for text in ruled_out]
        self.names[one.result.name] = cell if bound is None else narrower(bound, cell)
        return True

    def _fold(self, one: Aggregate, inside: AbstractSet[str]) -> tuple[str, str, str]:
        """Fold the bindings of a body; write the value, whether it is known, and a bound of it.

        The members of a total are the distinct bindings of its body, whatever instances give them
        (23); one is certain if an instance of it is. A total has a value where every possible
        member is certain and has a known target, and any two members of a count, sum or mean differ
        in a known column (26c): then the members are the same in every way the world may be, and so
        is what they fold to. A least or greatest of a variable has one, too, where possible members
        lie between the certain ones. Else it is the placeholder, so its instance is possible and no
        more. A relation whose rows known columns tell apart tells its bindings apart; only where
        one does not are the bindings of a group compared by twos. A group that a label names has
        the rows of that label for members, and as soon as another row may belong to it this one is
        possible and the total open.
        """
        atoms = [item.atom for item in one.body if isinstance(item, Positive)]
        parts, width = [], 0
        for chosen in self.statement.choices(atoms):
            text, width = self._part(one, chosen, inside)
            parts.append(text)
        every = f"({' UNION ALL '.join(parts)})"
        alias, rows = self.statement.alias(), self.statement.alias()
        value = self._folded(one, f"{rows}.v")
        if self._is_extreme(one) and is_bounded(one):
            # What only may be there lies between the least and the greatest that are there.
            sure = f"{one.function}({rows}.v) FILTER ({rows}.s IS TRUE)"
            known = f"coalesce(bool_and({rows}.m IS NULL), true) AND {sure} IS NOT DISTINCT FROM"
            outputs = [f"{value} AS v", f"{sure} AS sure", f"({known} {value}) AS known"]
            text = select(outputs, [f"{every} AS {rows}"], [f"{rows}.s IS NOT FALSE"])
            self.sources.append(f"LATERAL ({text}) AS {alias}")
            return f"{alias}.v", f"{alias}.known", f"{alias}.sure"
        known = f"coalesce(bool_and({rows}.s IS TRUE AND {rows}.m IS NULL), true)"
        bindings = every
        if any(len(self._sources(atom)) > 1 for atom in atoms):
            bindings = _bindings(every, width, self.statement.alias())
        outputs = [f"{value} AS v", f"{known} AS known"]
        if self.statement.functions.empty:
            # A total that errs is unknown, and so is its instance.
            outputs.append(f"({known} AND count({rows}.v) > 0 AND ({value}) IS NULL) AS errs")
            self.truths.append(f"CASE WHEN {alias}.errs THEN NULL ELSE true END")
        text = select(outputs, [f"{bindings} AS {rows}"], [f"{rows}.s IS NOT FALSE"])
        self.sources.append(f"LATERAL ({text}) AS {alias}")
        names = set() if one.function in {"min", "max"} else {atom.predicate for atom in atoms}
        if all(self.statement.apart(name) for name in sorted(names)):
            return f"{alias}.v", f"{alias}.known", ""
        two = self.statement.alias()
        self.sources.append(f"LATERAL ({self._two(bindings, width)}) AS {two}")
        return f"{alias}.v", f"({alias}.known AND {two}.pairs = 0)", ""

    def _part(
        self, one: Aggregate, chosen: tuple[Source, ...], inside: AbstractSet[str]
    ) -> tuple[str, int]:
        """Write the instances over some tables: target, cells of the binding, `s`; count cells."""
        body = MarkedBody(self.statement, dict(self.names), list(chosen))
        body.add(one.body)
        target = Cell("1") if one.target is None else body.cell(one.target)
        cells = [body.names[name] for name in sorted(inside & body.names.keys())] + body.unread
        outputs = [f"{target.value} AS v", f"{target.mark or NOTHING} AS m"]
        for place, cell in enumerate(cells):
            outputs += [f"{cell.value} AS k{place}", f"{cell.mark or NOTHING} AS n{place}"]
        outputs.append(f"{conjunction(body.truths)} AS s")
        return select(outputs, body.sources, body.conditions), len(cells)

    def _two(self, bindings: str, width: int) -> str:
        """Write how many bindings may be one with another: no column tells them apart (26c)."""
        left, right = self.statement.alias(), self.statement.alias()
        unknown = [f"{left}.n{n} IS NOT NULL" for n in range(width)]
        cells = [f"{c}{n}" for n in range(width) for c in "kn"]
        other = [f"{left}.{cell} IS DISTINCT FROM {right}.{cell}" for cell in cells]
        conditions = [f"({' OR '.join(['false', *some])})" for some in (unknown, other)]
        conditions += [f"NOT {_told_apart(left, right, n)}" for n in range(width)]
        return select(
            ["count(*) AS pairs"], [f"{bindings} AS {left}", f"{bindings} AS {right}"], conditions
        )

    def _folded(self, one: Aggregate, value: str) -> str:
        """Write the value of a total over bindings."""
        if one.target is None or one.function == "count":
            return "CAST(count(*) AS BIGINT)"
        kind = self.statement.kind(one.target)
        if self._is_extreme(one):
            return f"{one.function}({value})"
        if one.function == "sum" and kind in INTEGERS:
            total = f"coalesce(sum(CAST({value} AS HUGEINT)), 0)"
            back = "TRY_CAST" if self.statement.functions.empty else "CAST"
            return f"{back}({total} AS {type_of(kind)})"
        result = self.statement.kinds[one.result.name]
        listed = f"list({value}) FILTER (WHERE {value} IS NOT NULL)"
        text = f"{self.statement.functions.fold(one.function, kind, result)}({listed})"
        nothing = literal(0, result) if one.function == "sum" else "NULL"
        return f"CASE WHEN count({value}) = 0 THEN {nothing} ELSE {text} END"

    def _sources(self, atom: Atom) -> Sequence[Source]:
        return self.statement.sources(atom, self.statement.reading(atom))

    def _is_extreme(self, one: Aggregate) -> bool:
        """Whether it is the least or the greatest of values that DuckDB orders as we do."""
        if one.function not in {"min", "max"} or one.target is None:
            return False
        return self.statement.kind(one.target) is not Kind.STRUCTURE


def is_bounded(one: Aggregate) -> bool:
    """Tell whether members bound the result: the target is a variable, and nothing is denied."""
    plain = not any(isinstance(item, Negative) for item in one.body)
    return plain and isinstance(one.target, Variable)


def _beyond(function: str, operator: str, cell: Cell, member: str) -> Iterator[str]:
    """Write that a member is further out than the result of its group can be, as it is held."""
    sign, reflexive = (">", "<=") if function == "max" else ("<", ">=")
    if operator in {"=", reflexive}:
        yield f"{member} {sign} {cell.value}"
    elif operator == reflexive[0]:
        yield f"{member} {sign}= {cell.value}"


def _bindings(instances: str, width: int, alias: str) -> str:
    """Write the distinct bindings of some instances; one is certain if any instance of it is."""
    cells = [f"{alias}.{c}{n}" for n in range(width) for c in "kn"]
    columns = [f"{alias}.v", f"{alias}.m", *cells]
    named = ", ".join(f"{one} AS {one.split('.')[1]}" for one in columns)
    sure = f"CASE WHEN bool_or({alias}.s IS TRUE) THEN true END AS s"
    read = f"{instances} AS {alias} WHERE {alias}.s IS NOT FALSE"
    return f"(SELECT {named}, {sure} FROM {read} GROUP BY {', '.join(columns)})"  # noqa: S608  ours


def _told_apart(left: str, right: str, place: int) -> str:
    """Write whether two cells differ: two values do, and no value is a thing of its own (26c)."""
    k, n = (f"{left}.k{place}", f"{right}.k{place}"), (f"{left}.n{place}", f"{right}.n{place}")
    some = "({0} IS NULL OR left({0}, 1) IN ('L', 'F'))"
    none = [f"({n[a]} = 'N' AND {some.format(n[b])})" for a, b in ((0, 1), (1, 0))]
    return f"coalesce({k[0]} <> {k[1]} OR {none[0]} OR {none[1]}, false)"


def same(left: Cell, right: Cell) -> str:
    """Write whether two cells are one value: unknown where a side has none (26a)."""
    equal = f"({left.value} = {right.value})"
    if left.mark and right.mark:
        return f"CASE WHEN {_one_label(left, right)} THEN true ELSE {equal} END"
    return equal


def narrower(left: Cell, right: Cell) -> Cell:
    """Write what is known of a variable that met two cells: a value, else a label."""
    if not left.mark or not right.mark:
        return left if not left.mark else right
    value = f"coalesce({left.value}, {right.value})"
    some = f"{left.mark} IS NULL OR {right.mark} IS NULL"
    label = f"WHEN {left.mark} <> '*' THEN {left.mark} ELSE {right.mark}"
    return Cell(value, f"CASE WHEN {some} THEN NULL {label} END")


def _one_label(left: Cell, right: Cell) -> str:
    return f"{left.mark} = {right.mark} AND {left.mark} <> '*'"


def _spelled(term: Apply, cells: Sequence[Cell], label: Cell) -> str:
    """Write the mark of what a function made of a label: its name, and every argument."""
    parts = [f"'F{term.function}'"]
    for one in cells:
        if one is label:
            parts.append(f"'(' || {one.mark} || ')'")
        else:
            text = f"CAST({one.value} AS VARCHAR)"
            parts.append(f"'(' || CAST(length({text}) AS VARCHAR) || ':' || {text} || ')'")
    return " || ".join(parts)
