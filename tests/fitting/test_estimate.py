"""Maximum-likelihood estimates against other implementations, the likelihood itself, and the laws that the samples came from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from spn.dist.families import Erlang, Exponential, Gamma, HyperExponential, Lognormal, Weibull
from spn.dist.law import Floats, Law
from spn.fitting.density import log_density
from spn.fitting.estimate import ESTIMATORS, Unfit, erlang, exponential, gamma, hyperexponential, lognormal, weibull

RNG = np.random.default_rng
STEP_TIMES = np.array([102.1, 98.7, 105.4, 110.2, 99.9, 97.3, 120.8, 101.5, 103.3, 96.1, 133.0, 100.4])

SAMPLES: dict[str, Floats] = {
    "twelve step times": STEP_TIMES,
    "gamma": RNG(1).gamma(2.5, 0.4, 500),
    "nearly constant": 0.01 + 1e-6 * RNG(2).standard_normal(200),
    "heavy": RNG(3).weibull(0.4, 400) * 5,
    "exponential": RNG(4).exponential(3e-5, 300),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_gamma_weibull_and_lognormal_agree_with_scipy(name: str) -> None:
    x = SAMPLES[name]
    if name != "nearly constant":  # where scipy's own iteration stops early
        shape, _, scale = scipy.stats.gamma.fit(x, floc=0)
        assert (gamma(x).shape, gamma(x).scale) == (pytest.approx(shape, rel=1e-5), pytest.approx(scale, rel=1e-5))
        shape, _, scale = scipy.stats.weibull_min.fit(x, floc=0)
        assert (weibull(x).shape, weibull(x).scale) == (pytest.approx(shape, rel=1e-3), pytest.approx(scale, rel=1e-3))
    sigma, _, median = scipy.stats.lognorm.fit(x, floc=0)
    assert (lognormal(x).sigma, math.exp(lognormal(x).mu)) == (pytest.approx(sigma, rel=1e-6), pytest.approx(median, rel=1e-6))


def perturbed(law: Law) -> list[Law]:
    """The law with each parameter a little larger and smaller."""
    match law:
        case Gamma(shape=a, scale=b):
            return [Gamma(shape=a * f, scale=b * g) for f, g in moves(2)]
        case Weibull(shape=a, scale=b):
            return [Weibull(shape=a * f, scale=b * g) for f, g in moves(2)]
        case Lognormal(mu=a, sigma=b):
            return [Lognormal(mu=a + f - 1, sigma=b * g) for f, g in moves(2)]
        case Exponential(rate=a):
            return [Exponential(rate=a * f) for (f,) in moves(1)]
        case HyperExponential(probs=(p, _), rates=(a, b)):
            return [HyperExponential(probs=(p * f, 1 - p * f), rates=(a * g, b * h)) for f, g, h in moves(3) if p * f < 1]
    raise AssertionError(law)


def moves(n: int, by: float = 1e-4) -> list[tuple[float, ...]]:
    return [tuple(factor if i == j else 1.0 for j in range(n)) for i in range(n) for factor in (1 + by, 1 - by)]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("estimate", [exponential, gamma, lognormal, weibull, hyperexponential], ids=lambda f: f.__name__)
def test_no_neighbour_is_likelier(name: str, estimate: Callable[[Floats], Law]) -> None:
    x = SAMPLES[name]
    try:
        law = estimate(x)
    except Unfit:
        assert estimate is hyperexponential
        assert x.std() <= x.mean()
        return
    best = float(log_density(law, x).sum())
    slack = 1e-6 * len(x) if estimate is hyperexponential else 1e-9 * abs(best)  # EM comes near, the others meet the equation
    assert all(float(log_density(other, x).sum()) <= best + slack for other in perturbed(law))


def test_the_lognormal_has_no_free_location() -> None:
    """Twelve step times in ms: the values and the likelihood of the two-parameter law."""
    law = lognormal(STEP_TIMES)
    assert law.mu == pytest.approx(4.6563999159, abs=1e-10)
    assert law.sigma == pytest.approx(0.0921812168108, abs=1e-12)
    assert law.mean() == pytest.approx(105.704620395, rel=1e-11)
    assert math.sqrt(law.variance()) == pytest.approx(9.76471678984, rel=1e-10)
    assert float(log_density(law, STEP_TIMES).sum()) == pytest.approx(-44.2960746925, abs=1e-9)


def test_symmetric_durations_give_a_law_without_negative_ones() -> None:
    """Two hundred values at the quantiles of a normal of mean 47.55 and deviation 13.8, the positive ones."""
    x = scipy.stats.norm.ppf((np.arange(200) + 0.5) / 200, 47.55, 13.8)
    law = lognormal(x[x > 0])
    assert law.mu == pytest.approx(3.81272888997, abs=1e-10)
    assert law.sigma == pytest.approx(0.332421923377, abs=1e-10)
    assert float(law.cdf(0.0)) == 0.0


RECOVERED: list[tuple[Law, Callable[[Floats], Any], tuple[str, ...]]] = [
    (Exponential(rate=5), exponential, ("rate",)),
    (Gamma(shape=2.53, scale=0.4), gamma, ("shape", "scale")),
    (Gamma(shape=0.2, scale=3), gamma, ("shape", "scale")),
    (Gamma(shape=500, scale=1e-4), gamma, ("shape", "scale")),
    (Lognormal(mu=-1.7, sigma=0.08), lognormal, ("mu", "sigma")),
    (Weibull(shape=0.7, scale=2), weibull, ("shape", "scale")),
    (Weibull(shape=30, scale=0.01), weibull, ("shape", "scale")),
    (Erlang(k=7, rate=20), erlang, ("k", "rate")),
    (HyperExponential(probs=(0.9, 0.1), rates=(2, 0.2)), hyperexponential, ("probs", "rates")),
]


@pytest.mark.parametrize(("law", "estimate", "names"), RECOVERED, ids=lambda v: v.describe() if isinstance(v, Law) else "")
def test_parameters_are_recovered(law: Law, estimate: Callable[[Floats], Any], names: tuple[str, ...]) -> None:
    """Twenty thousand draws, fixed seed. Standard errors are near 1 % of a parameter (3 % for the small branch of a mixture); the bound
    is 5 of them, a false alarm in less than 1e-5."""
    rng = RNG(77)
    found = estimate(np.array([law.draw(rng) for _ in range(20_000)]))
    for name in names:
        assert getattr(found, name) == pytest.approx(getattr(law, name), rel=0.15 if isinstance(law, HyperExponential) else 0.05)


@pytest.mark.parametrize(
    "law",
    [
        Exponential(rate=5),
        Gamma(shape=2.53, scale=0.4),
        Gamma(shape=4000, scale=1e-4),
        Erlang(k=7, rate=20),
        Lognormal(mu=-1.7, sigma=0.3),
        Weibull(shape=1.7, scale=2),
        HyperExponential(probs=(0.9, 0.1), rates=(2, 0.2)),
    ],
    ids=lambda v: v.describe(),
)
def test_densities_integrate_to_the_distribution_function(law: Law) -> None:
    low, high = (float(law.quantile(p)) for p in (0.2, 0.8))
    area = quad(lambda x: math.exp(float(log_density(law, np.array([x]))[0])), low, high)[0]
    assert area == pytest.approx(0.6, abs=1e-8)


def test_only_families_with_a_density_have_one() -> None:
    from spn.dist.families import Uniform

    with pytest.raises(TypeError, match="no density of uniform"):
        log_density(Uniform(low=0, high=1), np.array([0.5]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=40), st.floats(1e-6, 1e6))
def test_a_change_of_unit_changes_the_scale_alone(values: list[float], factor: float) -> None:
    x = np.array(values)
    if np.ptp(x) < 1e-3 * x.mean():
        return
    for name in ("exp", "gamma", "lognormal", "weibull"):
        estimate = ESTIMATORS[name][0]
        assert estimate(x * factor).mean() == pytest.approx(estimate(x).mean() * factor, rel=1e-6)
        assert estimate(x * factor).cv() == pytest.approx(estimate(x).cv(), rel=1e-6)


def test_families_that_cannot_be_fitted_say_why() -> None:
    same = np.full(10, 0.5)
    for estimate in (gamma, lognormal, weibull, erlang):
        with pytest.raises(Unfit, match="equal"):
            estimate(same)
    with pytest.raises(Unfit, match=r"vary less than an exponential \(cv 0\.09858\)"):
        hyperexponential(STEP_TIMES)
    with pytest.raises(Unfit, match="stages"):
        erlang(SAMPLES["nearly constant"])


@pytest.mark.parametrize("shape", [1.02, 2.9, 3.1, 7.95])
def test_erlang_takes_the_nearer_whole_shape(shape: float) -> None:
    """At a thousandth of these distances from a whole number the likelihoods decide for it."""
    x = scipy.stats.gamma.ppf((np.arange(4000) + 0.5) / 4000, shape)
    assert erlang(x).k == round(shape)
