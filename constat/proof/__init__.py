"""Proofs: decide a goal, show why, write it down so that others can check it, export it.

In: an engine, an analysed program, a goal and external predicates.  Out: a ``Decision``, its tree
for people, and its certificate for checkers. `constat.proof.export` writes certificates in the
notations of others.  Invariant: no verdict leaves
without a proof in the form that the independent checker verifies; the two share no code.
"""

from constat.proof.certificate import build_certificate
from constat.proof.decide import Decision, decide
from constat.proof.proofs import UnsupportedError
from constat.proof.render import render_tree, tree_to_json
from constat.proof.shown import SourceShown
from constat.proof.tree import GapShown, Step, Tree, proof_tree

__all__ = [
    "Decision",
    "GapShown",
    "SourceShown",
    "Step",
    "Tree",
    "UnsupportedError",
    "build_certificate",
    "decide",
    "proof_tree",
    "render_tree",
    "tree_to_json",
]
