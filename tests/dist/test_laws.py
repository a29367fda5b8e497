"""Properties of every family against numerical integration, simulation and independent formulas."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from spn.dist.families import Coxian, Erlang, Exponential, Gamma, HypoExponential, Mixture, PhaseTypeLaw, Scaled, TruncatedNormal, Weibull
from spn.dist.law import Law, PhaseType

from .laws import ALL, CONTINUOUS, MADE, identify

FALSE_ALARM = 1e-6  # of one test of draws; bound of Massart (1990), which holds for every n


def tail_moments(law: Law) -> tuple[float, float]:
    """Mean and variance from the distribution function: E X = int (1 - F), E X^2 = int 2 x (1 - F), piece by piece between quantiles."""
    cuts = [0.0, *(float(law.quantile(p)) for p in (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.9999, 1 - 1e-7, 1 - 1e-10))]

    def integral(weight: float) -> float:
        def integrand(x: float) -> float:
            return (1 + weight * (2 * x - 1)) * (1 - float(law.cdf(x)))

        return math.fsum(quad(integrand, a, b, limit=200)[0] for a, b in pairwise(cuts) if b > a)

    mean = integral(0)
    return mean, integral(1) - mean**2


@pytest.mark.parametrize("law", CONTINUOUS + MADE, ids=identify)
def test_moments_are_those_of_the_distribution_function(law: Law) -> None:
    mean, variance = tail_moments(law)
    assert law.mean() == pytest.approx(mean, rel=1e-5)
    assert law.variance() == pytest.approx(variance, rel=2e-3)  # the tail beyond the last quantile is left out


@pytest.mark.parametrize("law", CONTINUOUS, ids=identify)
def test_the_quantile_inverts_the_distribution_function(law: Law) -> None:
    p = np.array([1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-6])
    assert law.cdf(law.quantile(p)) == pytest.approx(p, rel=1e-9, abs=1e-10)  # quantiles just above 1 round by 2e-16


@pytest.mark.parametrize("law", ALL, ids=identify)
def test_the_quantile_is_the_smallest_value_that_suffices(law: Law) -> None:
    for p in (0.05, 0.25, 0.5, 0.97):
        x = float(law.quantile(p))
        assert float(law.cdf(x)) >= p - 1e-12
        assert float(law.cdf(x * (1 - 1e-9))) <= p + 1e-7


@pytest.mark.parametrize("law", ALL, ids=identify)
def test_the_distribution_function_grows_from_0_to_1(law: Law) -> None:
    x = np.linspace(0, float(law.quantile(1 - 1e-9)), 200)
    values = law.cdf(x)
    assert values.shape == x.shape
    assert np.all(np.diff(values) >= -1e-12)
    assert float(law.cdf(-1.0)) == 0.0
    assert float(law.cdf(np.inf)) == pytest.approx(1)
    assert np.shape(law.cdf(1.0)) == ()


@pytest.mark.parametrize("law", ALL, ids=identify)
def test_draws_follow_the_law(law: Law) -> None:
    """Kolmogorov-Smirnov with a fixed seed; P(D > d) <= 2 exp(-2 n d^2) whatever the law."""
    n = 4000
    rng = np.random.default_rng(20)
    values, counts = np.unique([law.draw(rng) for _ in range(n)], return_counts=True)
    after = np.cumsum(counts) / n
    slack = 1e-12 * values  # a value that rounding puts just beside its jump
    distance = max(np.max(after - law.cdf(values + slack)), np.max(law.cdf(values - slack) - (after - counts / n)))
    assert distance < math.sqrt(math.log(2 / FALSE_ALARM) / (2 * n))


@pytest.mark.parametrize("law", ALL, ids=identify)
def test_draws_repeat_with_the_seed_and_are_not_negative(law: Law) -> None:
    first, second = np.random.default_rng(3), np.random.default_rng(3)
    drawn = [law.draw(first) for _ in range(50)]
    assert drawn == [law.draw(second) for _ in range(50)]
    assert all(isinstance(x, float) and x >= 0 for x in drawn)


def uniformised(chain: PhaseType, x: float) -> float:
    """P(absorbed by x) by uniformisation: an independent way beside the matrix exponential."""
    generator = np.array(chain.generator)
    q = np.abs(np.diag(generator)).max()
    step = np.eye(len(generator)) + generator / q
    vector, weight, alive, k = np.array(chain.alpha), math.exp(-q * x), 0.0, 0
    while k < q * x + 60 * math.sqrt(q * x + 1):
        alive += weight * float(vector.sum())
        vector, k = vector @ step, k + 1
        weight *= q * x / k
    return 1 - alive


PHASE_TYPE = [law for law in ALL if law.phase_type() is not None]


@pytest.mark.parametrize("law", PHASE_TYPE, ids=identify)
def test_the_phases_are_the_law(law: Law) -> None:
    chain = law.phase_type()
    assert chain is not None
    assert math.fsum(chain.alpha) == pytest.approx(1)
    assert all(e >= 0 for e in chain.exits())
    for p in (0.05, 0.5, 0.95):
        x = float(law.quantile(p))
        assert uniformised(chain, x) == pytest.approx(float(law.cdf(x)), abs=1e-10)


def test_which_laws_have_phases() -> None:
    """Whole gamma shapes are Erlang laws, and a Weibull law of shape 1 is exponential; the rest of these families have none."""
    assert len(PHASE_TYPE) == 7
    assert Gamma(shape=3, scale=0.5).phase_type() == Erlang(k=3, rate=2).phase_type()
    assert Gamma(shape=2.5, scale=1).phase_type() is None
    assert Weibull(shape=1, scale=2).phase_type() == Exponential(rate=0.5).phase_type()
    assert Weibull(shape=2, scale=2).phase_type() is None
    assert Mixture(parts=((0.5, Exponential(rate=1)), (0.5, TruncatedNormal(mu=1, sigma=1)))).phase_type() is None


def test_a_scaled_phase_type_law_keeps_its_phases() -> None:
    scaled = Scaled(law=Erlang(k=3, rate=2), by=4.0)
    chain = scaled.phase_type()
    assert chain is not None
    assert chain == Erlang(k=3, rate=0.5).phase_type()


def test_a_hypoexponential_law_of_equal_rates_is_erlang() -> None:
    x = np.array([0.1, 1.0, 5.0])
    assert HypoExponential(rates=(2, 2, 2, 2)).cdf(x) == pytest.approx(Erlang(k=4, rate=2).cdf(x), abs=1e-13)


def test_coxian_and_general_phases_agree() -> None:
    coxian = Coxian(rates=(1, 2, 3), completion=(0.2, 0.5, 1))
    chain = coxian.phase_type()
    general = PhaseTypeLaw(alpha=chain.alpha, generator=chain.generator)
    assert general.mean() == pytest.approx(coxian.mean(), rel=1e-14)
    assert coxian.mean() == pytest.approx(1 + 0.8 * (0.5 + 0.5 / 3), rel=1e-14)
    assert general.quantile(0.9) == pytest.approx(coxian.quantile(0.9), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5),
    st.data(),
)
def test_a_coxian_law_has_the_mean_of_its_path(rates: list[float], data: st.DataObject) -> None:
    """E X = sum over stages of P(reached) / rate."""
    n = len(rates)
    completion = data.draw(st.lists(st.floats(0, 1), min_size=n - 1, max_size=n - 1))
    reached, mean = 1.0, 0.0
    for i, rate in enumerate(rates):
        mean += reached / rate
        reached *= 1 - completion[i] if i < n - 1 else 0
    assert Coxian(rates=tuple(rates), completion=tuple(completion)).mean() == pytest.approx(mean, rel=1e-9)


def test_infinite_moments_say_so() -> None:
    from spn.dist.families import Pareto

    heavy = Pareto(alpha=0.9, scale=1)
    assert heavy.mean() == math.inf
    assert Pareto(alpha=1.5, scale=1).variance() == math.inf
    assert math.isnan(Pareto(alpha=1.5, scale=1).cv())
    assert Mixture(parts=((0.5, heavy), (0.5, Exponential(rate=1)))).mean() == math.inf


def test_a_phase_without_exit_is_never_left_for_the_end_by_rounding() -> None:
    """Ten jumps of probability 0.1 add up to a little less than 1."""
    n = 11
    row = (-1.0, *(0.1,) * 10)
    rows = [row] + [tuple(-1.0 if i == j else 0.0 for j in range(n)) for i in range(1, n)]
    law = PhaseTypeLaw(alpha=(1.0,) + (0.0,) * 10, generator=tuple(rows))
    assert sum((0.1,) * 10) < 1
    assert law.walk.jumps[0][-1] == 1.0
    assert law.mean() == pytest.approx(2)
