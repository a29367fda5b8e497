"""Maximum-likelihood estimates, one function a family: positive durations in, a law out.

Sources: gamma by Newton's method on the digamma equation (Minka 2002); Weibull by the profile equation of its shape, which is monotone;
hyperexponential by expectation-maximisation with squared extrapolation (Varadhan and Roland 2008, doi:10.1111/j.1467-9469.2007.00585.x).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from spn.dist.deterministic import Deterministic
from spn.dist.empirical import Empirical
from spn.dist.erlang import Erlang
from spn.dist.exponential import Exponential
from spn.dist.gamma import Gamma
from spn.dist.hyperexponential import HyperExponential, balanced
from spn.dist.law import Floats, Law
from spn.dist.lognormal import Lognormal
from spn.dist.weibull import Weibull
from spn.expr.nodes import exact
from spn.fitting.density import log_density

MAX_SHAPE = 1e12
MOST_STAGES = 10_000  # of an Erlang law: beyond it the stages are no model of anything
EM_CYCLES = 300
FARTHEST_LEAP = 3.0  # of a log-rate in one extrapolation
EM_TOLERANCE = 1e-10  # relative gain of the log-likelihood


class Unfit(ValueError):
    """The family cannot be fitted to these durations; the text says why."""


def exponential(x: Floats) -> Exponential:
    return Exponential(rate=1 / float(x.mean()))


def gamma(x: Floats) -> Gamma:
    mean = float(x.mean())
    shape = _gamma_shape(_log_gap(x, mean))
    return Gamma(shape=shape, scale=mean / shape)


def erlang(x: Floats) -> Erlang:
    """The better of the two whole shapes next to the gamma law's."""
    mean = float(x.mean())
    shape = _gamma_shape(_log_gap(x, mean))
    if shape > MOST_STAGES:
        raise Unfit(f"it would take {shape:.4g} stages")
    candidates = [Erlang(k=k, rate=k / mean) for k in {max(1, math.floor(shape)), math.ceil(shape)}]
    return max(candidates, key=lambda law: float(log_density(law, x).sum()))


def lognormal(x: Floats) -> Lognormal:
    """Mean and deviation of the logarithms, the deviation by n."""
    log = np.log(x)
    sigma = float(log.std())
    if sigma == 0:
        raise Unfit("all durations are equal")
    return Lognormal(mu=float(log.mean()), sigma=sigma)


def weibull(x: Floats) -> Weibull:
    log = np.log(x)
    top = float(log.max())
    relative = log - top
    spread = float(relative.std())
    if spread == 0:
        raise Unfit("all durations are equal")
    shape = _increasing_root(lambda c: _weibull_equation(c, relative), start=1.28 / spread)
    return Weibull(shape=shape, scale=math.exp(top + math.log(float(np.exp(shape * relative).mean())) / shape))


def hyperexponential(x: Floats) -> HyperExponential:
    """Two branches, by expectation-maximisation from the law of equal moments; only for durations that vary more than an exponential."""
    mean, cv = float(x.mean()), float(x.std() / x.mean())
    if cv <= 1:
        raise Unfit(f"the durations vary less than an exponential (cv {cv:.4g})")
    start = balanced(1.0, max(cv, 1.05))
    theta = np.array([start.probs[0], *np.log(start.rates)])
    theta = _accelerated(lambda t: _em_step(t, x / mean), theta, lambda t: _mixture_likelihood(t, x / mean))
    p, fast, slow = float(theta[0]), math.exp(theta[1]), math.exp(theta[2])
    return HyperExponential(probs=(p, 1 - p), rates=(fast / mean, slow / mean))


def deterministic(x: Floats) -> Deterministic:
    """The constant at the mean; the very value where all are equal."""
    return Deterministic(value=exact(float(x[0]) if np.ptp(x) == 0 else float(x.mean())))


def empirical(x: Floats) -> Empirical:
    values, counts = np.unique(x, return_counts=True)
    return Empirical(values=tuple(exact(v) for v in values.tolist()), weights=tuple(map(float, counts)))


ESTIMATORS: dict[str, tuple[Callable[[Floats], Law], int]] = {  # with the number of parameters
    "exp": (exponential, 1),
    "erlang": (erlang, 2),
    "gamma": (gamma, 2),
    "lognormal": (lognormal, 2),
    "weibull": (weibull, 2),
    "hyperexp": (hyperexponential, 3),
}
DISCRETE: dict[str, Callable[[Floats], Law]] = {"det": deterministic, "empirical": empirical}


def _log_gap(x: Floats, mean: float) -> float:
    """ln(mean) - mean of ln, without cancellation where the durations are nearly equal."""
    y = x / mean
    return -float(np.where(y > 0.5, np.log1p(np.maximum((x - mean) / mean, -0.5)), np.log(y)).mean())


def _gamma_shape(gap: float) -> float:
    """The k with ln(k) - digamma(k) = gap."""
    from scipy.special import digamma, polygamma

    if gap <= 0.5 / MAX_SHAPE:
        raise Unfit("all durations are equal, to rounding")
    k = (3 - gap + math.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(50):
        step = (math.log(k) - float(digamma(k)) - gap) / (1 / k - float(polygamma(1, k)))
        k = k - step if step < k else k / 2
        if abs(step) < 1e-12 * k:
            break
    return k


def _weibull_equation(shape: float, log: Floats) -> tuple[float, float]:
    """The profile equation of the shape and its derivative; ``log`` holds the logarithms over the largest."""
    weight = np.exp(shape * log)
    weight /= weight.sum()
    first = float(weight @ log)
    return first - 1 / shape - float(log.mean()), float(weight @ (log - first) ** 2) + 1 / shape**2


def _increasing_root(f: Callable[[float], tuple[float, float]], start: float) -> float:
    """The positive root of an increasing function given with its derivative: Newton's method kept inside a bracket."""
    low, high, x = 0.0, math.inf, start
    for _ in range(200):
        value, slope = f(x)
        low, high = (x, high) if value < 0 else (low, x)
        new = x - value / slope
        if not low < new < high:
            new = (low + high) / 2 if high < math.inf else 2 * x
        if abs(new - x) <= 1e-13 * x:
            return new
        x = new
    return x


def _em_step(theta: Floats, x: Floats) -> Floats:
    """One step for (probability of the first branch, ln rates)."""
    p, rates = theta[0], np.exp(theta[1:])
    first = p * rates[0] * np.exp(-rates[0] * x)
    second = (1 - p) * rates[1] * np.exp(-rates[1] * x)
    share = first / np.maximum(first + second, 1e-300)
    counts = np.array([share.sum(), len(x) - share.sum()])
    work = np.array([share @ x, x.sum() - share @ x])
    with np.errstate(all="ignore"):  # a branch that died out gives a rate that is not finite, and no likelihood
        return np.array([counts[0] / len(x), *np.log(counts / work)])


def _mixture_likelihood(theta: Floats, x: Floats) -> float:
    p, rates = float(theta[0]), np.exp(theta[1:])
    if not 0 < p < 1 or not np.all(np.isfinite(rates)):
        return -math.inf
    density = p * rates[0] * np.exp(-rates[0] * x) + (1 - p) * rates[1] * np.exp(-rates[1] * x)
    return float(np.log(np.maximum(density, 1e-300)).sum())


def _accelerated(step: Callable[[Floats], Floats], theta: Floats, gain: Callable[[Floats], float]) -> Floats:
    """Squared extrapolation of a fixed-point iteration, taken back to the plain step wherever it does not raise ``gain``."""
    best = gain(theta)
    for _ in range(EM_CYCLES):
        once = step(theta)
        twice = step(once)
        change, bend = once - theta, (twice - once) - (once - theta)
        length = float(np.sqrt(change @ change) / max(float(np.sqrt(bend @ bend)), 1e-300))
        leap = theta + 2 * length * change + length**2 * bend
        near = 0 < leap[0] < 1 and np.abs(leap[1:] - theta[1:]).max() < FARTHEST_LEAP
        candidate = step(leap) if near else twice
        value = gain(candidate)
        if not value >= best:
            candidate, value = twice, gain(twice)
        if not value >= best - abs(best) * EM_TOLERANCE:
            break
        theta, before, best = candidate, best, value
        if abs(best - before) <= EM_TOLERANCE * max(1.0, abs(best)):
            break
    return theta
