"""Every law flattened to a mixture of affine leaf laws.

Mixtures, shifts and scalings, however nested, vanish: what is left is a choice between ``shift + scale * X``, X of a family of its own.
A constant takes shift and scale into its (exact) value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from spn.dist.deterministic import Deterministic
from spn.dist.family import cumulative
from spn.dist.law import Law
from spn.dist.random import Source
from spn.expr.nodes import Exact

ONE, ZERO = Fraction(1), Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """With probability ``prob`` the value is ``shift + scale * X``, X drawn from ``law``."""

    prob: float
    scale: Exact = ONE
    shift: Exact = ZERO
    law: Law


def leaves(law: Law) -> tuple[Leaf, ...]:
    """The leaves in the order written, their probabilities summing to 1; those of probability 0 are left out."""
    return tuple(_flatten(Leaf(prob=1.0, law=law)))


def _flatten(leaf: Leaf) -> list[Leaf]:
    components = leaf.law.components()
    if components is None:
        return [_folded(leaf)]
    flat = []
    for prob, scale, shift, law in components:
        if prob > 0:
            flat += _flatten(Leaf(prob=leaf.prob * prob, scale=leaf.scale * scale, shift=leaf.shift + leaf.scale * shift, law=law))
    return flat


def _folded(leaf: Leaf) -> Leaf:
    if isinstance(leaf.law, Deterministic):
        return Leaf(prob=leaf.prob, law=Deterministic(value=leaf.shift + leaf.scale * leaf.law.value))
    return leaf


def encode(leaf: Leaf) -> tuple[int, tuple[float, ...]]:
    """Kind (:mod:`spn.dist.kinds`) and parameters for :func:`spn.dist.kernels.draw`, which draws the whole leaf: the first two
    parameters are its scale and shift."""
    kind, parameters = leaf.law.encoded()
    return kind, (float(leaf.scale), float(leaf.shift), *parameters)


def draw(choice: Sequence[Leaf], rng: Source) -> float:
    """One value: random() picks the leaf where there are several, then the leaf's own draw, times scale, plus shift."""
    leaf = choice[0]
    if len(choice) > 1:
        u = rng.random()
        leaf = next(candidate for candidate, s in zip(choice, cumulative([c.prob for c in choice]), strict=True) if u < s)
    return draw_leaf(leaf, rng)


def draw_leaf(leaf: Leaf, rng: Source) -> float:
    return float(leaf.shift) + float(leaf.scale) * leaf.law.draw(rng)
