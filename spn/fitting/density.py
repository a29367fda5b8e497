"""Log-densities of the families that are fitted by likelihood."""

from __future__ import annotations

import math

import numpy as np

from spn.dist.erlang import Erlang
from spn.dist.exponential import Exponential
from spn.dist.gamma import Gamma
from spn.dist.hyperexponential import HyperExponential
from spn.dist.law import Floats, Law
from spn.dist.lognormal import Lognormal
from spn.dist.weibull import Weibull


def log_density(law: Law, x: Floats) -> Floats:
    """ln f(x) for each x > 0; TypeError for a family without a density here."""
    match law:
        case Exponential(rate=rate):
            return np.asarray(math.log(rate) - rate * x)
        case Gamma(shape=shape, scale=scale):
            return _gamma(shape, scale, x)
        case Erlang(k=k, rate=rate):
            return _gamma(float(k), 1 / rate, x)
        case Lognormal(mu=mu, sigma=sigma):
            log = np.log(x)
            return np.asarray(-log - math.log(sigma) - math.log(2 * math.pi) / 2 - ((log - mu) / sigma) ** 2 / 2)
        case Weibull(shape=shape, scale=scale):
            log = np.log(x / scale)
            return np.asarray(math.log(shape / scale) + (shape - 1) * log - np.exp(shape * log))
        case HyperExponential(probs=probs, rates=rates):
            return np.asarray(np.logaddexp.reduce([math.log(p * r) - r * x for p, r in zip(probs, rates, strict=True) if p > 0], axis=0))
    raise TypeError(f"no density of {law.family}")


def _gamma(shape: float, scale: float, x: Floats) -> Floats:
    """In terms of x over the mean, so that large shapes lose no digits to large terms of either sign."""
    y = x / (shape * scale)
    constant = shape * math.log(shape) - shape - math.lgamma(shape)
    return np.asarray(constant - math.log(shape * scale) - np.log(y) - shape * (y - 1 - np.log(y)))
