"""Quadrature over the law of a drawn work, for functions that may grow like e^(rate * work)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spn.dist.families import (
    Beta,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    Lognormal,
    Pareto,
    Triangular,
    TruncatedNormal,
    Uniform,
    Weibull,
)
from spn.dist.law import Floats, Law
from spn.dist.leaves import Leaf, leaves
from spn.fitting.density import log_density

POINTS = (6, 9)  # Gauss points of a panel, of the coarse and of the fine rule
HALVINGS = 30  # of panels towards the ends of a range, where a law may be singular
FEW_HALVINGS = 6  # where it is smooth
NEGLIGIBLE = 40.0  # in logarithms, what a density times the growth may have fallen to
MOST_PANELS = 400
SMOOTH = Exponential | Gamma | Erlang | HyperExponential | Lognormal | Weibull


@dataclass(frozen=True, slots=True)
class Nodes:
    """Works with their weights, which sum to 1 up to the error of the rule."""

    work: tuple[float, ...]
    weight: tuple[float, ...]


def nodes(law: Law, factor: float, growth: float, fine: bool) -> Nodes:
    """A rule for the law of ``factor`` times the work, and functions that grow by e^(growth * x); two rules, a coarse and a fine one."""
    found = [(p * w, factor * x) for leaf in leaves(law) for w, x, p in _leaf(leaf, growth * factor, POINTS[fine])]
    return Nodes(tuple(x for _, x in found), tuple(w for w, _ in found))


def _leaf(leaf: Leaf, growth: float, points: int) -> Iterator[tuple[float, float, float]]:
    scale, shift = float(leaf.scale), float(leaf.shift)
    for x, w in _rule(leaf.law, growth * scale, points):
        yield w, shift + scale * x, leaf.prob


def _rule(law: Law, growth: float, points: int) -> list[tuple[float, float]]:
    atoms = law.atoms()
    if atoms is not None:
        return [(float(v), p) for v, p in atoms]
    node, weight = np.polynomial.legendre.leggauss(points)
    if isinstance(law, SMOOTH):
        return _by_density(law, growth, node, weight)
    edges = [0.5 * 2.0**-k for k in range(HALVINGS, -1, -1)] if not isinstance(law, Uniform) else [0.25, 0.5]
    low = [0.0, *edges]
    found = []
    for a, b in pairwise(low):
        for x, w in zip((a + b) / 2 + node * (b - a) / 2, weight * (b - a) / 2, strict=True):
            found += [(float(law.quantile(x)), float(w)), (float(law.quantile(1 - x)), float(w))]
    return found


def _by_density(law: Law, growth: float, node: Floats, weight: Floats) -> list[tuple[float, float]]:
    """Panels that double from 0 to the median, and then grow slowly, until density times growth is negligible."""
    middle = float(law.quantile(0.5))
    halvings = HALVINGS if isinstance(law, Gamma | Weibull) and law.shape != int(law.shape) else FEW_HALVINGS
    edges = [0.0, *(middle * 2.0**-k for k in range(halvings, -1, -1))]
    found: list[tuple[float, float]] = []
    step, top = middle / 2, -math.inf
    while len(edges) < MOST_PANELS:
        edges.append(edges[-1] + step)
        here = float(log_density(law, np.array([edges[-1]]))[0]) + growth * edges[-1]
        top = max(top, here)
        if here < top - NEGLIGIBLE:
            break
        step *= 1.06
    for a, b in pairwise(edges):
        x = (a + b) / 2 + node * (b - a) / 2
        w = weight * (b - a) / 2 * np.exp(log_density(law, x))
        found += [(float(xi), float(wi)) for xi, wi in zip(x, w, strict=True) if wi > 0]
    return found


def heaviness(law: Law) -> float:
    """The largest s for which E e^(s X) is finite below it: infinite for bounded laws and light tails, 0 for heavy ones."""
    return min(_tail(leaf.law) / float(leaf.scale) if float(leaf.scale) > 0 else math.inf for leaf in leaves(law))


def _tail(law: Law) -> float:
    match law:
        case Uniform() | Deterministic() | Empirical() | Triangular() | Beta() | TruncatedNormal():
            return math.inf
        case Weibull(shape=shape, scale=scale):
            return math.inf if shape > 1 else 1 / scale if shape == 1 else 0.0
        case Gamma(scale=scale):
            return 1 / scale
        case Lognormal() | Pareto():
            return 0.0
    chain = law.phase_type()
    if chain is None:
        return 0.0
    return -float(np.linalg.eigvals(np.array(chain.generator)).real.max())
