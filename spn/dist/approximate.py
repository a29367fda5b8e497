"""Phase-type laws near any law: by moments, by mixtures of Erlangs that converge to it, and by fitting its distribution function.

Mixtures of Erlangs. ``converging(law, k)`` spreads the law over the points j/c, c = k/mean, each value over the two points beside it so that
its mean is kept, and makes an Erlang law of j stages of every point. All measures that depend smoothly on the law have an expansion in
powers of 1/k, so that extrapolation (Romberg) from k, 2k, 4k … gains an order each. A constant becomes the Erlang law of k stages.
Source: S. Asmussen, Applied Probability and Queues, 2nd ed. (Springer, 2003), theorem III.4.2; H. C. Tijms, Stochastic Models (Wiley, 1994), p. 163.

Three moments. A mixture of two Erlang laws of one number of stages has them exactly: see :func:`three_moments`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spn.dist.acyclic import Acyclic
from spn.dist.hyperexponential import balanced
from spn.dist.law import Floats, Law
from spn.dist.mixture import Mixture
from spn.dist.erlang import Erlang

MOST_PHASES = 1_000
TAIL = 1e-8  # of a law is beyond the points, or what is beyond
FAR = 30.0  # means
FORGOTTEN = 1e-13  # chances of a first phase that are given to the next
NODES = 8  # Gauss points in every interval
GRID = 400  # points at which laws are compared
FITTED = 60  # quantiles, and as many points in time, at which one is fitted
SHORTEST = 0.01  # step of that search, in logarithms
FIT_STEPS = 1_500  # of uniformisation
MOST_SPREAD = 1e12  # of the third moment to the cube of the mean


class Unfit(ValueError):
    """No such approximation: the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """Between two laws: ``kolmogorov``, the largest difference of their distribution functions, and ``area`` between those, over the mean
    of the first (the Wasserstein distance of order 1)."""

    kolmogorov: float
    area: float


def distance(law: Law, other: Law) -> Distance:
    """Both distances, on a grid of quantiles of the two laws that is refined where jumps are; the largest difference is met to the grid's
    precision, the area to some percent."""
    p = (np.arange(GRID) + 0.5) / GRID
    points = np.unique(np.concatenate([law.quantile(p), [float(law.quantile(1 - 1e-6))], np.linspace(0, 4 * law.mean(), GRID)]))
    points = points[np.isfinite(points)]
    below = np.nextafter(points, -np.inf)
    gap = np.abs(law.cdf(points) - other.cdf(points))
    gap_before = np.abs(law.cdf(below) - other.cdf(points))
    area = float(np.sum((gap[:-1] + gap_before[1:]) / 2 * np.diff(points)))
    return Distance(kolmogorov=float(max(gap.max(), gap_before.max())), area=area / law.mean())


# --- mixtures of Erlangs ------------------------------------------------------------------------------------------------------------


def converging(law: Law, k: int) -> Acyclic:
    """The mixture of Erlangs of ``k`` stages a mean; its mean is that of the law. Unfit where it takes too many phases, or where the mean is
    0 or infinite.

    What lies beyond the last point (``FAR`` means, or all but 1e-8 of the law) is that point plus an exponential of the right mean; what
    is nearer to 0 than to the first point goes to the first point, and all rates are changed so that the mean is kept."""
    mean = law.mean()
    if not 0 < mean < math.inf:
        raise Unfit("its mean is infinite" if mean > 0 else "it is 0")
    top = min(float(law.quantile(1 - TAIL)), FAR * mean)
    n = max(1, math.ceil(k * top / mean * (1 - 1e-12)))
    if n > MOST_PHASES:
        raise Unfit(f"{k} stages a mean take {n} phases")
    pace = k / mean
    weights = _points(law, n, pace)
    beyond = 1.0 - float(np.sum(weights))
    alpha = np.concatenate([[max(0.0, beyond)], weights[:0:-1]])
    alpha[-1] += weights[0]
    alpha = _tidied(alpha)
    rates = np.full(n + 1, pace)
    if alpha[0] > 0:
        rates[0] = 1 / _excess(law, n / pace, float(alpha[0]))
    else:
        alpha, rates = alpha[1:], rates[1:]
    first = int(np.flatnonzero(alpha)[0])
    made = Acyclic(alpha=tuple((alpha[first:] / alpha.sum()).tolist()), rates=tuple(rates[first:].tolist()))
    return Acyclic(alpha=made.alpha, rates=tuple(r * made.mean() / mean for r in made.rates))


def _excess(law: Law, top: float, beyond: float) -> float:
    """The mean of what exceeds ``top``, given that it does, which has the chance ``beyond``: over the quantiles on a logarithmic scale."""
    y = np.linspace(0.0, 12.0, 241)
    over = np.maximum(np.asarray(law.quantile(1 - beyond * np.exp(-y))) - top, 0.0)
    found = float(_simpson(over * np.exp(-y), y[1]))
    return found if 0 < found < math.inf else top


def _points(law: Law, n: int, pace: float) -> Floats:
    """The chances of 0, 1, …, n points when every value goes to the two beside it in proportion; what is beyond n points is left out."""
    atoms = law.atoms()
    if atoms is not None:
        return _points_of_atoms([(float(v), p) for v, p in atoms], n, pace)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    middle = (np.arange(n) + 0.5) / pace
    inside = (law.cdf(middle[:, None] + node[None, :] / (2 * pace)) @ weight) / 2  # the mean of F over each interval
    level = np.concatenate([[0.0], inside])
    last = float(law.cdf(n / pace))
    chance = np.diff(np.concatenate([level, [last]]))
    return np.maximum(chance, 0.0)


def _points_of_atoms(atoms: list[tuple[float, float]], n: int, pace: float) -> Floats:
    chance = np.zeros(n + 1)
    for v, p in atoms:
        x = v * pace
        if x > n * (1 + 1e-9):
            continue
        x = min(x, float(n))
        j = min(int(x + 1e-9), n - 1) if n else 0
        part = x - j
        chance[j] += p * (1 - part)
        chance[min(j + 1, n)] += p * part
    return chance


def _tidied(alpha: Floats) -> Floats:
    """Tiny chances of the first phase are given to the next one, each of them a transition less."""
    found = alpha.copy()
    for i in range(len(found) - 1):
        if 0 < found[i] < FORGOTTEN:
            found[i + 1] += found[i]
            found[i] = 0.0
    return found


# --- moments ------------------------------------------------------------------------------------------------------------------------


def two_moments(law: Law) -> Law:
    """A law of few phases with the mean and the variance: below a coefficient of variation of 1 a mixture of Erlangs of k - 1 and k stages
    of one rate (Tijms 1994, p. 358), from 1 on two exponentials of balanced means. Unfit for constants and infinite variances."""
    mean, cv = law.mean(), law.cv()
    if not math.isfinite(cv):
        raise Unfit("its variance is infinite")
    if cv >= 1:
        return balanced(mean, cv)
    if cv * cv * MOST_PHASES < 1:
        raise Unfit(f"a coefficient of variation of {cv:.3g} takes more than {MOST_PHASES} phases")
    square = cv * cv
    k = max(2, math.ceil(1 / square - 1e-9))
    p = (k * square - math.sqrt(max(0.0, k * (1 + square) - k * k * square))) / (1 + square)
    alpha = [1 - p, p, *[0.0] * (k - 2)]
    return Acyclic(alpha=tuple(max(0.0, a) for a in alpha), rates=((k - p) / mean,) * k)


def third_moment(law: Law) -> float:
    """E X^3 by quadrature over quantiles, both halves on their own logarithmic scale; infinite where the tail has not died out."""
    y = np.linspace(0.0, 32.0, 6_401)
    with np.errstate(over="ignore"):
        low = np.asarray(law.quantile(0.5 * np.exp(-y))) ** 3 * 0.5 * np.exp(-y)
        high = np.asarray(law.quantile(1 - 0.5 * np.exp(-y))) ** 3 * 0.5 * np.exp(-y)
    total = float(_simpson(low, y[1]) + _simpson(high, y[1]))
    return math.inf if high[-1] > 0.1 * high[len(y) // 2] > 0 or not math.isfinite(total) else total


def _simpson(values: Floats, step: float) -> float:
    return float(step / 3 * (values[0] + values[-1] + 4 * values[1:-1:2].sum() + 2 * values[2:-1:2].sum()))


def three_moments(law: Law) -> Law:
    """A mixture of two Erlang laws of n stages, n as small as can be, with the mean, the variance and the third moment.

    The stage of a mixture of Erlangs of n stages has the moments m1/n, m2/(n (n + 1)), m3/(n (n + 1) (n + 2)); the two values with these
    moments are the roots of a quadratic equation. They are positive once n is large enough, unless the law is one of two values, one of
    them 0. Source: M. A. Johnson and M. R. Taaffe, Commun. Stat. Stoch. Models 5 (1989) 711, doi:10.1080/15326348908807131.
    Unfit for constants, infinite moments and where that takes too many phases."""
    mean, variance = law.mean(), law.variance()
    second, third = variance + mean * mean, third_moment(law)
    if not math.isfinite(third) or third > MOST_SPREAD * mean**3:
        raise Unfit("its third moment is infinite")
    if variance <= 0:
        raise Unfit("it is constant")
    for n in range(max(1, math.floor(mean * mean / variance)), MOST_PHASES // 2 + 1):
        stage = (mean / n, second / (n * (n + 1)), third / (n * (n + 1) * (n + 2)))
        found = _two_points(*stage)
        if found is not None:
            (p, a), (q, b) = found
            if p * q == 0:
                return Erlang(k=n, rate=1 / (a if p else b))
            return Mixture(parts=((p, Erlang(k=n, rate=1 / a)), (q, Erlang(k=n, rate=1 / b))))
    raise Unfit(f"its three moments take more than {MOST_PHASES} phases")


def _two_points(m1: float, m2: float, m3: float) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Two positive values and their chances with these moments, or None."""
    spread = m2 - m1 * m1
    if spread <= 1e-14 * m2:
        return ((1.0, m1), (0.0, m1)) if spread >= -1e-12 * m2 and abs(m3 - m1**3) <= 1e-9 * m3 else None
    a, b = (m3 - m1 * m2) / spread, (m1 * m3 - m2 * m2) / spread
    root = a * a - 4 * b
    if a <= 0 or b <= 1e-12 * a * a or root <= 0:
        return None
    high = (a + math.sqrt(root)) / 2
    low = b / high
    p = (m1 - low) / (high - low)
    return ((p, high), (1 - p, low)) if 0 <= p <= 1 else None


# --- fitting the distribution function ----------------------------------------------------------------------------------------------


def fitted(law: Law, n: int) -> Acyclic:
    """The canonical chain of ``n`` phases whose distribution function is nearest, in the mean square over the range of the law.

    The rates rise by one factor from phase to phase; for given rates the chances of the first phase solve a convex problem (non-negative
    least squares, C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, 1974); factor and pace are searched for. In the end all
    rates are changed so that the mean is kept. After A. Bobbio and A. Cumani, ML estimation of the parameters of a PH distribution in
    triangular canonical form, in: Computer Performance Evaluation (Elsevier, 1992) 33, with least squares in place of likelihood."""
    mean = law.mean()
    if not 0 < mean < math.inf:
        raise Unfit("its mean is infinite" if mean > 0 else "it is 0")
    p = (np.arange(FITTED) + 0.5) / FITTED
    high = min(float(law.quantile(1 - 1e-4)), FAR * mean)
    x = np.unique(np.concatenate([np.asarray(law.quantile(p)), np.linspace(0.0, 1.5 * high, FITTED)]))
    x = x[(x <= 1.5 * high)]
    root = np.sqrt(np.gradient(x))
    goal = law.cdf(x) * root

    def solved(at: Floats) -> tuple[float, Floats, Floats]:
        rates = math.exp(at[0]) / mean * n * np.exp(-abs(at[1]) * (n - 1 - np.arange(n)) / max(1, n - 1))
        return _first_phases(rates, x, root, goal)

    best = min(((lead, ratio) for lead in (0.0, 0.4, 0.8, 1.4) for ratio in (0.0, 1.0, 3.0)), key=lambda at: solved(np.array(at))[0])
    _, alpha, rates = solved(_descended(lambda at: solved(at)[0], np.array(best)))
    alpha = np.maximum(alpha, 0.0) / alpha.sum()
    made = Acyclic(alpha=tuple(alpha.tolist()), rates=tuple(rates.tolist()))
    return Acyclic(alpha=made.alpha, rates=tuple(r * made.mean() / mean for r in made.rates))


def _descended(height: Callable[[Floats], float], at: Floats) -> Floats:
    """A minimum near a point of the plane, by steps along the axes that shrink where none goes down."""
    low, step = height(at), 0.4
    while step > SHORTEST:
        tried = [at + step * np.array(way) for way in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        heights = [height(x) for x in tried]
        if min(heights) < low:
            low, at = min(heights), tried[int(np.argmin(heights))]
        else:
            step /= 2
    return at


def _first_phases(rates: Floats, x: Floats, root: Floats, goal: Floats) -> tuple[float, Floats, Floats]:
    """The chances of the first phase that come nearest, with how far they are."""
    from scipy.optimize import nnls

    columns = _stages(rates, x) * root[:, None]
    heavy = 1e3 * root.max()
    alpha, _ = nnls(np.vstack([columns, np.full(len(rates), heavy)]), np.append(goal, heavy))
    gap = columns @ alpha - goal
    return float(gap @ gap), alpha, rates


def _stages(rates: Floats, x: Floats) -> Floats:
    """P(phases i, …, n are passed by x), for every x and i: uniformisation of the chain from each first phase at once."""
    from scipy.special import gammainc

    fastest, n = float(rates.max()), len(rates)
    most = min(int(fastest * x.max() + 8 * math.sqrt(fastest * x.max()) + 30), FIT_STEPS)
    ended = np.zeros((most, n))  # chance that the chain from phase i has ended after so many steps
    p = rates / fastest
    now = np.zeros(n + 1)
    now[n] = 1.0
    for m in range(most):
        now[:n] = (1 - p) * now[:n] + p * now[1:]
        ended[m] = now[:n]
    grown = np.diff(ended, axis=0, prepend=0.0)
    reached = gammainc(np.arange(1, most + 1)[None, :], fastest * x[:, None])  # so many events by x
    return np.asarray(reached @ grown)
