"""Draws programs as text, with all that programs from outside have.

A program has a few predicates from outside with rows, and layers of derived ones. A rule negates
and aggregates over lower layers and reads its own layer positively. Blocks of literals, letter for
letter the same, stand in several rules and several times in one. A letter tells a variable's type.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Final

from constat.logic import Kind
from constat.syntax import Mode

if TYPE_CHECKING:
    from constat.logic import Row, Value

TREE, PAIR = "Tree", "Pair"
_TYPES: Final = (
    ".type Tree = None {} | Leaf { n: number } | Node { s: symbol, t: Tree }",
    ".type Pair = [n: number, s: symbol]",
)
TYPES: Final = {
    "n": "number",
    "u": "unsigned",
    "f": "float",
    "s": "symbol",
    "t": TREE,
    "r": PAIR,
    "d": "Decimal",
    "y": "Date",
}
"""The type of a variable or a column, by its letter."""
KINDS: Final = {
    letter: Kind.STRUCTURE if letter in "tr" else Kind(name) for letter, name in TYPES.items()
}
DOMAINS: Final[dict[str, tuple[Value, ...]]] = {
    "n": (-1, 0, 1, 2, 3),
    "u": (0, 1, 2, 3),
    "f": (-0.5, 0.0, 0.5, 1.0, 2.5),
    "s": ("a", "b", "ab", ""),
    "t": ("$None", "$Leaf(1)", "$Leaf(2)", '$Node("a", $Leaf(1))', '$Node("b", $None)'),
    "r": ('[1, "a"]', '[2, "a"]', '[1, "b"]'),
    "d": (Decimal("-0.5"), Decimal(0), Decimal("0.5"), Decimal(1), Decimal("1.25")),
    "y": ("2025-01-01", "2025-01-31", "2026-12-31"),
}
_PLAIN: Final = "nnnnnusssfftr"
_STRICT: Final = _PLAIN + "ddy"
_ORDERED: Final = "nufsdy"
_COMPUTED: Final = "nufsdtr"
_VARIABLE: Final = re.compile(r"\?[a-z]\w*")
_LARGEST: Final = 4
"""A recursive rule computes from numbers below this one only, so that recursion ends."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A predicate: its name, the letters of its columns, its layer (0: from outside)."""

    name: str
    letters: str
    layer: int

    @property
    def declaration(self) -> str:
        """How the text declares it."""
        columns = ", ".join(f"c{n}: {TYPES[one]}" for n, one in enumerate(self.letters))
        return f".decl {self.name}({columns})"


@dataclass(frozen=True, slots=True)
class RandomRule:
    """A rule in pieces, so that it can be made smaller."""

    heads: tuple[str, ...]
    body: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The line of the rule."""
        return ", ".join(self.heads) + (f" :- {', '.join(self.body)}" if self.body else "") + "."


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """A program, the rows of its inputs, and a goal: a value or nothing for each column."""

    mode: Mode
    relations: tuple[Relation, ...]
    rules: tuple[RandomRule, ...]
    rows: dict[str, tuple[Row, ...]]
    goal: tuple[str, tuple[Value | None, ...]]
    errs: bool
    marks: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """The program; the rules stand on the last lines, one on each."""
        strict = ['.pragma "constat" "0.1"', '.include "constat/prelude.dl"']
        lines = [*(strict if self.mode is Mode.STRICT else ()), *_TYPES]
        lines += [one.declaration for one in self.relations]
        lines += [f".input {name}" for name in self.rows]
        return "\n".join([*lines, *(one.text for one in self.rules)]) + "\n"

    def shown(self) -> str:
        """Everything that is needed to try it by hand."""
        facts = [f"{name}: {list(rows)}" for name, rows in self.rows.items()]
        name, values = self.goal
        return "\n".join([self.text, *facts, f"goal: {name}{values}"])


@dataclass(slots=True)
class _Body:
    """A body under construction; `stored` are the variables that atoms bind, `known` all."""

    literals: list[str] = field(default_factory=list)
    stored: dict[str, None] = field(default_factory=dict)
    known: dict[str, None] = field(default_factory=dict)

    def take(self, names: dict[str, None], *, stored: bool = True) -> None:
        self.known |= names
        if stored:
            self.stored |= names

    def of(self, letter: str, *, stored: bool = False) -> list[str]:
        """The variables of a type."""
        return [one for one in (self.stored if stored else self.known) if _letter(one) == letter]


def _letter(name: str) -> str:
    return name.removeprefix("?").removeprefix("l")[0]


def draw(seed: int) -> RandomProgram:
    """Draw the program of a seed."""
    return _Drawing(Random(seed)).program()


class _Drawing:
    """One program while it is drawn."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.mode = Mode.SOUFFLE if self.chance(50) else Mode.STRICT
        self.letters = _PLAIN if self.mode is Mode.SOUFFLE else _STRICT
        # Arrays hold stages of integers: half of the programs have few other columns.
        self.integers = self.chance(50)
        self.errs = self.chance(6)
        self.marks: set[str] = set()
        self.lower: list[Relation] = []
        self.layer: list[Relation] = []
        self.blocks: list[tuple[tuple[str, ...], dict[str, None]]] = []
        self.fresh = 0

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def one(self, *options: str) -> str:
        return self.random.choice(options)

    def program(self) -> RandomProgram:
        given = [self.relation(f"e{n}", 0) for n in range(self.random.randint(2, 4))]
        self.lower = list(given)
        rules: list[RandomRule] = []
        derived: list[Relation] = []
        self.blocks = [self.block() for _ in range(self.random.randint(1, 3))]
        for depth in range(1, self.random.choice((1, 1, 2, 2, 3)) + 1):
            count = self.random.choice((1, 1, 2, 2, 3))
            self.layer = [self.relation(f"{'xpqr'[depth]}{n}", depth) for n in range(count)]
            for one in self.layer:
                rules += self.rules(one)
            derived += self.layer
            self.lower += self.layer
            if self.chance(40):
                self.blocks.append(self.block())
        rows = {one.name: self.rows(one) for one in given}
        if self.chance(10):
            # A predicate may have rules and rows from outside.
            both = self.random.choice(derived)
            rows[both.name] = self.rows(both)
            self.marks.add("rules and rows")
        asked = self.random.choice(derived)
        values = tuple(
            self.random.choice(DOMAINS[one]) if self.chance(40) else None for one in asked.letters
        )
        relations = tuple(given + derived)
        return RandomProgram(
            self.mode,
            relations,
            tuple(rules),
            rows,
            (asked.name, values),
            self.errs,
            frozenset(self.marks),
        )

    def relation(self, name: str, layer: int) -> Relation:
        arity = 0 if self.chance(3) else self.random.choice((1, 1, 2, 2, 2, 3, 3))
        letters = self.letters
        if self.integers:
            letters = "nnnnu" if layer else "nnnnnuf"
        return Relation(name, "".join(self.one(*letters) for _ in range(arity)), layer)

    def rows(self, relation: Relation) -> tuple[Row, ...]:
        count = self.random.choice((0, 1, 2, 3, 4, 6, 8))
        found = {
            tuple(self.random.choice(DOMAINS[one]) for one in relation.letters)
            for _ in range(count)
        }
        return tuple(sorted(found, key=repr))

    # ------------------------------------------------------------------------------------ rules

    def rules(self, relation: Relation) -> list[RandomRule]:
        found = [self.rule(relation, recursive=False)]
        found += [
            self.rule(relation, recursive=self.chance(60))
            for _ in range(self.random.choice((0, 1, 1, 2, 2, 3)))
        ]
        if self.chance(15):
            values = (self.value(one) for one in relation.letters)
            found.append(RandomRule((f"{relation.name}({', '.join(values)})",)))
        return found

    def rule(self, relation: Relation, *, recursive: bool) -> RandomRule:
        body = _Body()
        if self.blocks and self.chance(60):
            self.add_block(body)
        if recursive:
            count = self.random.choice((1, 1, 1, 2, 2, 3))
            self.marks.add("recursion" if count == 1 else "non-linear recursion")
            for _ in range(count):
                self.add_atom(body, self.random.choice(self.layer))
        for _ in range(self.random.choice((0, 0, 1, 1, 2)) or int(not body.literals)):
            self.add_atom(body, self.random.choice(self.lower))
        if self.chance(15):
            self.add_alternatives(body)
        for _ in range(self.random.choice((0, 1, 1, 2))):
            self.add_further(body)
        if recursive and self.mode is Mode.STRICT and self.chance(6):
            self.add_threshold(body)
        if self.chance(15) and self.blocks:
            # The same literals a second time, mostly with the same variables.
            self.add_block(body)
            self.marks.add("a literal in several places")
        heads = [relation]
        if self.chance(20):
            heads += self.random.choices(self.layer, k=self.random.choice((1, 1, 2)))
            self.marks.add("several heads")
        texts = [self.head(body, one, recursive=recursive) for one in heads]
        self.random.shuffle(body.literals)
        return self.named(RandomRule(tuple(texts), tuple(body.literals)))

    def named(self, rule: RandomRule) -> RandomRule:
        """Write variables that occur once as strict mode wants them, or as `_`."""
        uses = Counter(_VARIABLE.findall(rule.text))
        once = {name for name, count in uses.items() if count == 1}

        def written(text: str) -> str:
            return _VARIABLE.sub(lambda m: f"_{m[0][1:]}" if m[0] in once else m[0], text)

        if self.mode is Mode.SOUFFLE:
            return rule
        return replace(rule, body=tuple(map(written, rule.body)))

    def head(self, body: _Body, relation: Relation, *, recursive: bool) -> str:
        terms = [self.head_term(body, one, recursive=recursive) for one in relation.letters]
        return f"{relation.name}({', '.join(terms)})"

    def head_term(self, body: _Body, letter: str, *, recursive: bool) -> str:
        names = body.of(letter, stored=recursive)
        if not names or self.chance(6):
            return self.value(letter)
        if recursive and letter == "n" and self.chance(25):
            name = self.one(*names)
            body.literals.append(f"{name} < {self.random.randint(1, _LARGEST)}")
            self.marks.add("computed in recursion")
            return f"{name} + {self.random.choice((1, 2, 10))}"
        if not recursive and self.chance(15):
            return self.expression(body, letter)
        return self.one(*names)

    # ----------------------------------------------------------------------------------- bodies

    def block(self) -> tuple[tuple[str, ...], dict[str, None]]:
        """Draw literals that several rules share: an atom, and comparisons of its variables."""
        relation = self.random.choice(self.lower)
        body = _Body()
        names = [f"?{one}{n + 1}" for n, one in enumerate(relation.letters)]
        body.take(dict.fromkeys(names))
        body.literals.append(f"{relation.name}({', '.join(names)})")
        for name in names:
            if _letter(name) in _ORDERED and self.chance(60):
                operator = self.one("<", "<=", ">", ">=", "!=")
                body.literals.append(f"{name} {operator} {self.value(_letter(name))}")
        return tuple(body.literals), body.stored

    def add_block(self, body: _Body) -> None:
        literals, names = self.random.choice(self.blocks)
        body.literals += literals
        body.take(names)
        self.marks.add("shared literals")

    def add_atom(self, body: _Body, relation: Relation) -> None:
        names: dict[str, None] = {}
        terms = [self.argument(body, one, names) for one in relation.letters]
        body.literals.append(f"{relation.name}({', '.join(terms)})")
        body.take(names)

    def argument(self, body: _Body, letter: str, names: dict[str, None]) -> str:
        choice = self.random.randrange(100)
        if choice < 10:
            self.marks.add("wildcards")
            return "_"
        if choice < 16:
            return self.value(letter)
        if choice < 22 and body.of(letter) and letter in _COMPUTED:
            self.marks.add("expressions as arguments")
            return self.expression(body, letter)
        if choice < 45 and letter in "tr":
            self.marks.add("patterns")
            return self.pattern(letter, names)
        return self.variable(letter, names)

    def variable(self, letter: str, names: dict[str, None]) -> str:
        name = f"?{letter}{self.random.randint(1, 3)}"
        names[name] = None
        return name

    def pattern(self, letter: str, names: dict[str, None]) -> str:
        number, text = self.variable("n", names), self.variable("s", names)
        if letter == "r":
            return f"[{number}, {text}]"
        if self.chance(50):
            names.pop(text, None)
            return f"$Leaf({number})"
        names.pop(number, None)
        return f"$Node({text}, {self.variable('t', names)})"

    def add_further(self, body: _Body) -> None:
        match self.one("compare", "compare", "deny", "deny", "equate", "aggregate", "require"):
            case "compare":
                self.add_if(body, self.comparison(body))
            case "deny":
                body.literals.append(f"!{self.tested(body, self.random.choice(self.lower))}")
                self.marks.add("negation")
            case "require":
                body.literals.append(self.tested(body, self.random.choice(self.lower)))
            case "equate":
                self.equate(body)
            case _:
                self.aggregate(body)

    @staticmethod
    def add_if(body: _Body, literal: str) -> None:
        if literal:
            body.literals.append(literal)

    def comparison(self, body: _Body) -> str:
        letters = [one for one in self.letters if body.of(one)]
        if not letters:
            return ""
        letter = self.one(*letters)
        left = self.term(body, letter, 25)
        right = self.term(body, letter, 25) if self.chance(60) else self.value(letter)
        operators = ("<", "<=", ">", ">=", "=", "!=") if letter in _ORDERED else ("=", "!=")
        return f"{left} {self.one(*operators)} {right}"

    def term(self, body: _Body, letter: str, percent: int) -> str:
        """Write a bound term, with this chance one that is computed."""
        names = body.of(letter)
        if not names:
            return self.value(letter)
        if letter in _COMPUTED and self.chance(percent):
            return self.expression(body, letter)
        return self.one(*names)

    def tested(self, body: _Body, relation: Relation) -> str:
        """Write an atom that binds nothing."""
        terms: list[str] = []
        for one in relation.letters:
            if self.chance(15):
                self.marks.add("wildcards")
                terms.append("_")
            else:
                terms.append(self.term(body, one, 15))
        return f"{relation.name}({', '.join(terms)})"

    def equate(self, body: _Body) -> None:
        letters = [one for one in _COMPUTED if body.of(one)]
        if not letters:
            return
        letter = self.one(*letters)
        self.fresh += 1
        name = f"?{letter}{self.fresh + 10}"
        sides = [name, self.expression(body, letter)]
        if letter in "tr" and self.chance(40):
            names: dict[str, None] = {}
            sides = [self.pattern(letter, names), self.one(*body.of(letter))]
            body.take(names)
        else:
            body.take({name: None}, stored=False)
        self.random.shuffle(sides)
        body.literals.append(" = ".join(sides))

    def add_alternatives(self, body: _Body) -> None:
        """Add a disjunction: of atoms that bind the same variables, or of tests."""
        self.marks.add("disjunction")
        if self.chance(40) and body.known:
            sides = [self.test(body) for _ in range(self.random.choice((2, 2, 3)))]
            body.literals.append(f"({' ; '.join(sides)})")
            return
        relation = self.random.choice(self.lower)
        names: dict[str, None] = {}
        terms = [self.variable(one, names) for one in relation.letters]
        first = f"{relation.name}({', '.join(terms)})"
        other = f"{relation.name}({', '.join(self.swapped(terms))})"
        extra = self.comparison(body)
        body.literals.append(f"({first}{', ' + extra if extra else ''} ; {other})")
        body.take(names)

    def swapped(self, terms: list[str]) -> list[str]:
        """Exchange two variables of one type."""
        found = list(terms)
        for one in range(len(found)):
            for other in range(one):
                if _letter(found[one]) == _letter(found[other]):
                    found[one], found[other] = found[other], found[one]
                    return found
        return found

    def test(self, body: _Body) -> str:
        found = self.comparison(body) if self.chance(50) else ""
        denied = "!" if self.chance(50) else ""
        return found or denied + self.tested(body, self.random.choice(self.lower))

    # ------------------------------------------------------------------------------- aggregates

    def aggregate(self, body: _Body) -> None:
        local = self.inside(body, self.lower)
        function, target, letter = self.folded(local)
        text = f"{function} : {{ {', '.join(local.literals)} }}"
        if target:
            text = f"{function} {target} : {{ {', '.join(local.literals)} }}"
        self.marks.add("aggregates")
        if self.chance(25) and letter in _ORDERED:
            body.literals.append(f"{text} {self.one('<', '>=', '!=')} {self.value(letter)}")
            return
        self.fresh += 1
        name = f"?{letter}{self.fresh + 10}"
        body.literals.append(f"{name} = {text}")
        body.take({name: None}, stored=False)

    def inside(self, body: _Body, over: list[Relation]) -> _Body:
        """Draw the body of an aggregate: its variables begin with an l."""
        local = _Body(known=dict(body.known))
        for _ in range(self.random.choice((1, 1, 1, 2))):
            relation = self.random.choice(over)
            names: dict[str, None] = {}
            terms: list[str] = []
            for one in relation.letters:
                if body.of(one) and self.chance(35):
                    terms.append(self.one(*body.of(one)))
                elif self.chance(8):
                    terms.append(self.value(one))
                else:
                    terms.append(f"?l{one}{self.random.randint(1, 3)}")
                    names[terms[-1]] = None
            local.literals.append(f"{relation.name}({', '.join(terms)})")
            local.take(names)
        if self.chance(30):
            self.marks.add("negation in aggregates")
            local.literals.append(f"!{self.denied_inside(local)}")
        if self.chance(25):
            self.add_if(local, self.comparison(local))
        return local

    def denied_inside(self, local: _Body) -> str:
        relation = self.random.choice(self.lower)
        if self.mode is Mode.SOUFFLE:
            return self.tested(local, relation)
        terms = (self.term(local, one, 10) for one in relation.letters)
        return f"{relation.name}({', '.join(terms)})"

    def folded(self, local: _Body) -> tuple[str, str, str]:
        """Choose a function, what it is of, and the type of its result."""
        targets = [one for one in local.stored if _letter(one) in _ORDERED]
        if not targets or self.chance(30):
            return "count", "", "n"
        target = self.one(*targets)
        letter = _letter(target)
        if letter in "sy":
            return self.one("min", "max"), target, letter
        function = self.one("sum", "sum", "min", "max", "mean")
        if function != "mean" and self.chance(15):
            local.known = dict(local.stored)
            target = f"({self.expression(local, letter)})"
        if function == "mean":
            letter = letter if letter == "d" else "f"
        return function, target, letter

    def add_threshold(self, body: _Body) -> None:
        local = self.inside(body, self.layer)
        self.fresh += 1
        name = f"?n{self.fresh + 10}"
        body.literals.append(f"{name} = count : {{ {', '.join(local.literals)} }}")
        body.literals.append(f"{name} > {self.random.choice((0, 1, 1, 2))}")
        self.marks.add("thresholds")

    # -------------------------------------------------------------------------------- expressions

    def expression(self, body: _Body, letter: str) -> str:
        """Compute something of a type from what is bound."""

        def some(wanted: str) -> str:
            names = body.of(wanted)
            return self.one(*names) if names and not self.chance(30) else self.value(wanted)

        match letter:
            case "s":
                number = some("n")
                return self.one(f'cat({some("s")}, "x")', f"to_string({number})")
            case "t":
                return self.one(f"$Leaf({some('n')})", f"$Node({some('s')}, {some('t')})")
            case "r":
                return f"[{some('n')}, {some('s')}]"
            case "y":
                return some("y")
        return self.arithmetic(letter, some(letter), some(letter), some("s"))

    def arithmetic(self, letter: str, left: str, right: str, text: str) -> str:
        if self.errs and self.chance(40):
            return f"({left}) {self.one('/', '/', '%') if letter in 'nu' else '/'} ({right})"
        options = [f"({left}) + ({right})", f"({left}) * ({right})", f"max({left}, {right})"]
        if letter != "u":
            options += [f"({left}) - ({right})", f"-({left})"]
        if letter in "nu":
            options.append(f"({left}) band ({right})")
        if letter == "n":
            options.append(f"strlen({text})")
        return self.one(*options)

    def value(self, letter: str) -> str:
        """Write a value of a type."""
        found = self.random.choice(DOMAINS[letter])
        if letter in "sy":
            return f'"{found}"'
        if letter == "u":
            return f"{found}u"
        return str(found)
