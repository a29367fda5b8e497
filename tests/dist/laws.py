"""One or more laws of every family, for tests that hold for all."""

from __future__ import annotations

from fractions import Fraction

from spn.dist.families import (
    Beta,
    Coxian,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    HypoExponential,
    Lognormal,
    Mixture,
    Pareto,
    PhaseTypeLaw,
    Scaled,
    Shifted,
    Triangular,
    TruncatedNormal,
    Uniform,
    Weibull,
)
from spn.dist.law import Law

CONTINUOUS: tuple[Law, ...] = (
    Exponential(rate=2.5),
    Uniform(low=1, high=3),
    Erlang(k=4, rate=2),
    Gamma(shape=0.3, scale=2),
    Gamma(shape=2.53, scale=0.4),
    HyperExponential(probs=(0.3, 0.7), rates=(0.5, 2)),
    HypoExponential(rates=(1, 2, 3)),
    Coxian(rates=(1, 2, 3), completion=(0.2, 0.5)),
    PhaseTypeLaw(alpha=(0.5, 0.5, 0), generator=((-2, 1, 0.5), (0, -1, 1), (1, 0, -3))),
    Weibull(shape=0.7, scale=2),
    Weibull(shape=3, scale=10),
    Lognormal(mu=-1.7, sigma=0.5),
    Pareto(alpha=5.5, scale=1.5),
    TruncatedNormal(mu=0.5, sigma=0.4),
    TruncatedNormal(mu=-0.2, sigma=0.4),
    Triangular(low=0, mode=1, high=2),
    Triangular(low=1, mode=1, high=3),
    Triangular(low=1, mode=3, high=3),
    Beta(alpha=0.5, beta=3, low=1, high=2),
    Beta(alpha=2, beta=3, low=0, high=0.1),
)

DISCRETE: tuple[Law, ...] = (
    Deterministic(value=Fraction(1, 10)),
    Empirical(values=(Fraction(3), Fraction(1), Fraction(2), Fraction(1)), weights=(1, 2, 1, 0)),
    Empirical(values=tuple(Fraction(i, 10) for i in range(1, 30))),
)

MADE: tuple[Law, ...] = (
    Scaled(law=Mixture(parts=((0.25, Exponential(rate=1)), (0.75, Erlang(k=2, rate=3)))), by=Fraction(1, 2)),
    Scaled(law=Weibull(shape=2, scale=1), by=Fraction(3)),
    Shifted(law=Gamma(shape=2, scale=1), by=Fraction(1, 3)),
    Mixture(parts=((0.9, Lognormal(mu=0, sigma=0.3)), (0.1, Uniform(low=5, high=6)))),
    Shifted(law=Scaled(law=Mixture(parts=((0.25, Exponential(rate=1)), (0.75, Erlang(k=2, rate=3)))), by=Fraction(2)), by=Fraction(1)),
)

ALL = CONTINUOUS + DISCRETE + MADE


def identify(law: Law) -> str:
    return law.describe().replace(" ", "")[:60]
