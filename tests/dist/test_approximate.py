"""Laws near others: what they keep, and how near they are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.dist.acyclic import Acyclic
from spn.dist.approximate import Unfit, converging, distance, fitted, third_moment, three_moments, two_moments
from spn.dist.families import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    Lognormal,
    Pareto,
    PhaseTypeLaw,
    Shifted,
    Uniform,
    Weibull,
)

LAWS = [
    Deterministic(value=Fraction(3, 2)),
    Uniform(low=0.0, high=2.0),
    Lognormal(mu=0.0, sigma=0.08),
    Lognormal(mu=0.0, sigma=1.0),
    Weibull(shape=0.7, scale=1.0),
    Weibull(shape=3.0, scale=1.0),
    Gamma(shape=2.5, scale=0.4),
    Pareto(alpha=2.5, scale=1.0),
    Empirical(values=(Fraction(1), Fraction(2), Fraction(7))),
    Shifted(law=Exponential(rate=2.0), by=Fraction(1)),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
@pytest.mark.parametrize("k", [2, 8])
def test_mixtures_of_erlangs_keep_the_mean(law, k: int) -> None:
    near = converging(law, k)
    assert near.mean() == pytest.approx(law.mean(), rel=1e-12)


@pytest.mark.parametrize("law", [x for x in LAWS if not isinstance(x, Pareto)], ids=lambda law: law.describe())
def test_mixtures_of_erlangs_come_nearer_as_one_over_k(law) -> None:
    """The area between the distribution functions shrinks at least as 1/sqrt(k) (jumps), the variance as 1/k: a stage has 1/k of it."""
    areas = [distance(law, converging(law, k)).area for k in (4, 16)]
    assert areas[1] < 0.6 * areas[0]
    if isinstance(law, Weibull) and law.shape < 1:
        return  # singular at 0, where all stages are too long: other powers of k take part
    extra = [converging(law, k).variance() - law.variance() for k in (8, 16)]
    assert extra[0] / extra[1] == pytest.approx(2.0, rel=0.2)


def test_a_constant_becomes_an_erlang_law() -> None:
    near, right = converging(Deterministic(value=Fraction(3)), 5), Erlang(k=5, rate=5 / 3)
    x = np.linspace(0, 12, 25)
    assert near.cdf(x) == pytest.approx(right.cdf(x), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6), st.data())
def test_the_distribution_function_of_a_chain(alpha: list[float], data: st.DataObject) -> None:
    rates = data.draw(st.lists(st.floats(0.1, 10.0), min_size=len(alpha), max_size=len(alpha)))
    total = math.fsum(alpha)
    chain = Acyclic(alpha=tuple(a / total for a in alpha), rates=tuple(rates))
    phases = chain.phase_type()
    dense = PhaseTypeLaw(alpha=phases.alpha, generator=phases.generator)
    x = np.linspace(0.0, 3 * chain.mean(), 7)
    assert chain.cdf(x) == pytest.approx(dense.cdf(x), abs=1e-10)
    assert chain.mean() == pytest.approx(dense.mean(), rel=1e-10)
    assert chain.variance() == pytest.approx(dense.variance(), rel=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 100.0), st.floats(0.05, 5.0))
def test_two_moments(mean: float, cv: float) -> None:
    law = Gamma(shape=1 / cv**2, scale=mean * cv**2)
    near = two_moments(law)
    assert (near.mean(), near.cv()) == pytest.approx((mean, cv), rel=1e-9)
    chain = near.phase_type()
    assert chain is not None
    assert len(chain.alpha) <= max(2, math.ceil(1 / cv**2) + 1)


@pytest.mark.parametrize(
    ("law", "third"),
    [
        (Uniform(low=0.0, high=2.0), 2.0),
        (Gamma(shape=2.5, scale=0.4), 2.5 * 3.5 * 4.5 * 0.4**3),
        (Gamma(shape=0.3, scale=2.0), 0.3 * 1.3 * 2.3 * 8),
        (Lognormal(mu=0.0, sigma=0.3), math.exp(4.5 * 0.09)),
        (Weibull(shape=3.0, scale=2.0), 8.0),
        (HyperExponential(probs=(0.3, 0.7), rates=(0.5, 2.0)), 6 * (0.3 / 0.125 + 0.7 / 8)),
    ],
    ids=lambda x: x.describe() if hasattr(x, "describe") else "",
)
def test_three_moments(law, third: float) -> None:
    assert third_moment(law) == pytest.approx(third, rel=1e-6)
    near = three_moments(law)
    assert (near.mean(), near.variance()) == pytest.approx((law.mean(), law.variance()), rel=1e-9)
    chain = near.phase_type()
    assert chain is not None
    back = np.linalg.inv(-np.array(chain.generator))
    assert 6 * np.array(chain.alpha) @ back @ back @ back @ np.ones(len(back)) == pytest.approx(third, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "law", "why"),
    [
        (two_moments, Deterministic(value=Fraction(1)), "phases"),
        (two_moments, Pareto(alpha=2.0, scale=1.0), "variance is infinite"),
        (three_moments, Pareto(alpha=3.0, scale=1.0), "third moment is infinite"),
        (three_moments, Deterministic(value=Fraction(1)), "constant"),
        (lambda law: converging(law, 4), Pareto(alpha=1.0, scale=1.0), "mean is infinite"),
        (lambda law: converging(law, 2000), Uniform(low=0.0, high=1.0), "phases"),
    ],
)
def test_out_of_reach(make, law, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        make(law)


def test_a_fit_finds_what_it_can_be() -> None:
    """Within its own family of laws nothing is left of the distance; for others more phases come nearer."""
    assert distance(Erlang(k=4, rate=2.0), fitted(Erlang(k=4, rate=2.0), 4)).kolmogorov < 2e-3
    areas = [distance(Weibull(shape=2.0, scale=1.0), fitted(Weibull(shape=2.0, scale=1.0), n)) for n in (2, 8)]
    assert areas[1].area < 0.2 * areas[0].area
    assert fitted(Weibull(shape=2.0, scale=1.0), 8).mean() == pytest.approx(Weibull(shape=2.0, scale=1.0).mean(), rel=1e-9)


def test_distances() -> None:
    """uniform(0, 2) and uniform(0, 1): the largest difference is 1/2, and the means differ by 1/2, which is the area between them."""
    found = distance(Uniform(low=0.0, high=2.0), Uniform(low=0.0, high=1.0))
    assert found.kolmogorov == pytest.approx(0.5, abs=2e-3)
    assert found.area == pytest.approx(0.5, rel=0.01)
