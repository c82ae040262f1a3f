"""What constructors say of the kinds and types of their arguments.

In: constructors with the classes of their parts. Out: classes whose kinds and structure types are
known, diagnostics C0234 to C0237. Invariant: a constructor without a diagnostic has the fields of
a branch of its type. Example: `$Add(?l, ?r)` tells the types of `?l` and `?r`; `[?x, ?y]` does so
once something tells which record it is: a column, an equation, or the field that it fills.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis import structure_mistakes as mistakes
from constat.analysis.kind_classes import Construction, Origin
from constat.logic import NIL, RECORD, Apply, Kind, is_constructor

if TYPE_CHECKING:
    from constat.analysis.kind_classes import Classes
    from constat.analysis.type_table import TypeTable
    from constat.diagnostics import Diagnostic
    from constat.logic import Branch


def makes_structure(function: str) -> bool:
    """Tell whether a function of the text makes structures; `nil` is one without arguments."""
    return is_constructor(function) or function == NIL


class Constructions:
    """The constructors of one rule."""

    def __init__(self, types: TypeTable, classes: Classes, diagnostics: list[Diagnostic]) -> None:
        self.types = types
        self.classes = classes
        self.diagnostics = diagnostics
        self.found: list[Construction] = []

    def add(self, term: Apply, arguments: tuple[int, ...]) -> int:
        """Give the class of a structure, its parts typed as far as its constructor tells."""
        one = Construction(term, arguments, self.classes.new())
        self.found.append(one)
        owner = self.types.owner(term.function)
        # A constructor of an analysed rule tells its type itself.
        known = self.types.structure(term.type_name) if owner is None else owner[0]
        self.classes.bind(one.result, Kind.STRUCTURE, Origin(term=term), known)
        if owner is not None:
            self.fields(one, *owner)
        elif term.function in {RECORD, NIL}:
            self.classes.watch(one)
        else:
            self.reject(one, mistakes.unknown_branch(term, self.types.constructors))
        return one.result

    def settle(self) -> bool:
        """Type the parts of records whose types have become known; tell whether there were any."""
        released = self.classes.released()
        for one in released:
            name = self.classes.structure(one.result)
            branch = self.types.branch(name, RECORD)
            if branch is None:
                origin = self.classes.origin(one.result)
                branches = self.types.structures.branches.get(name, ())
                self.reject(one, mistakes.no_record(one.term, name, branches, origin))
            elif one.term.function == RECORD:
                self.fields(one, name, branch)
        return bool(released)

    def fields(self, one: Construction, name: str, branch: Branch) -> None:
        """Say what the fields of a branch ask of the arguments."""
        if len(one.arguments) != len(branch.fields):
            self.reject(one, mistakes.wrong_fields(one.term, name, branch))
            return
        for place, (argument, column) in enumerate(zip(one.arguments, branch.fields, strict=True)):
            if column.type_name in self.types.kinds:
                term = one.term.arguments[place]
                origin = Origin(term=term, branch=branch, column=place, within=one.term)
                structure = self.types.structure(column.type_name)
                self.classes.bind(argument, column.kind, origin, structure)
            elif isinstance(one.term.arguments[place], Apply):
                # What is wrong with the field is told elsewhere.
                self.classes.spoil(argument)

    def finish(self) -> None:
        """Report records whose type nothing tells: the outermost of nested ones."""
        for one in reversed(self.found):
            if one.term.function in {RECORD, NIL} and not self.classes.structure(one.result):
                # Parts of what was reported are no mistakes of their own.
                self.reject(one, mistakes.which_record(one.term, self.types))

    def reject(self, one: Construction, mistake: Diagnostic) -> None:
        """Report a constructor, unless it stands in a class or a structure that was reported."""
        if not self.classes.broken(one.result):
            self.diagnostics.append(mistake)
        self.classes.spoil(one.result)
        for argument in one.arguments:
            self.classes.spoil(argument)
