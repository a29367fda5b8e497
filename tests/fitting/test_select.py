"""Choice of the family, goodness of fit, warnings and refusals."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from spn.dist.families import Deterministic, Empirical, Erlang, Exponential, Lognormal
from spn.dist.law import Floats, Style
from spn.errors import DataError
from spn.fitting import Fit, fit, match_moments
from spn.fitting.goodness import distance, draws, p_value

RNG = np.random.default_rng

DRAWN: dict[str, Floats] = {
    "exp": RNG(1).exponential(0.2, 2000),
    "gamma": RNG(2).gamma(2.5, 0.4, 20000),
    "lognormal": np.exp(RNG(3).normal(-1.7, 0.5, 2000)),
    "weibull": RNG(5).weibull(3.0, 5000) * 2,
    "hyperexp": np.where(RNG(6).random(5000) < 0.1, RNG(7).exponential(5, 5000), RNG(8).exponential(0.5, 5000)),
}


@pytest.mark.parametrize("criterion", ["aicc", "bic"])
@pytest.mark.parametrize("family", DRAWN)
def test_the_family_is_found(family: str, criterion: str) -> None:
    """Fixed seeds; samples so large that another family's likelihood is lower by tens (for the exponential law a family with one more
    parameter wins in a sixth of all samples by AICc: this seed is not one of them)."""
    found = fit(DRAWN[family], criterion=criterion)
    assert found.family == family
    assert found.p_value is not None
    assert found.p_value > 0.01
    assert "AICc" in found.reason or "BIC" in found.reason
    scores = [getattr(a, criterion) for a in found.alternatives]
    assert scores == sorted(scores)
    assert {a.family for a in found.alternatives} == {"exp", "erlang", "gamma", "lognormal", "weibull", "hyperexp"}


def test_of_equals_the_one_that_solvers_can_take_is_chosen() -> None:
    """A gamma law of whole shape is an Erlang law: the likelihoods nearly agree. One of many stages helps no solver."""
    found = fit(RNG(24).gamma(4, 0.1, 3000))
    assert (found.family, found.parameters["k"]) == ("erlang", 4)
    assert "exact solvers can take it (4 phases)" in found.reason or found.reason.startswith("lowest")
    assert found.aicc - min(a.aicc for a in found.alternatives) < 2
    many = fit(RNG(25).gamma(90, 0.1, 3000))
    assert many.family != "erlang" or many.aicc == min(a.aicc for a in many.alternatives)


def test_figures_are_those_of_the_sample() -> None:
    x = DRAWN["lognormal"]
    found = fit(x, "lognormal", samples=0)
    log = np.log(x)
    likelihood = float((-log - np.log(log.std()) - 0.5 * np.log(2 * np.pi) - 0.5 * ((log - log.mean()) / log.std()) ** 2).sum())
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-12)
    assert found.aicc == pytest.approx(4 - 2 * likelihood + 12 / (2000 - 3), rel=1e-12)
    assert found.bic == pytest.approx(2 * math.log(2000) - 2 * likelihood, rel=1e-12)
    assert (found.n, found.mean, found.cv) == (2000, pytest.approx(x.mean()), pytest.approx(x.std() / x.mean()))
    assert found.p_value is None
    assert found.parameters == {"mu": pytest.approx(log.mean()), "sigma": pytest.approx(log.std())}


def test_the_distance_is_kolmogorovs() -> None:
    import scipy.stats

    x, law = RNG(9).exponential(1.1, 200), Exponential(rate=1)
    assert distance(law, x) == pytest.approx(scipy.stats.kstest(x, "expon").statistic, abs=1e-12)
    tied = np.array([1.0, 1.0, 2.0])
    assert distance(law, tied) == pytest.approx(max(1 - math.exp(-1), abs(1 - math.exp(-2) - 2 / 3), 2 / 3 - (1 - math.exp(-1))))


def test_p_values_are_uniform_where_the_law_is_true() -> None:
    """Sixty samples from an exponential law: each p-value is nearly uniform, so at most 13 below 0.1 (binomial: P(> 13) < 2e-3 at 0.1;
    the seed is fixed) and at least 18 above one half."""
    from spn.fitting.estimate import exponential

    rng = RNG(10)
    found: list[float] = []
    for _ in range(60):
        x = rng.exponential(2.0, 40)
        law = exponential(x)
        p = p_value(law, 40, distance(law, x), exponential, rng, samples=60)
        assert p is not None
        found.append(p)
    assert sum(p < 0.1 for p in found) <= 13
    assert sum(p > 0.5 for p in found) >= 18


def test_a_tabulated_p_value_would_be_far_too_kind() -> None:
    """For an exponential law whose mean is estimated the distance is smaller than the tables think: p falls to a fraction of theirs."""
    import scipy.stats

    from spn.fitting.estimate import exponential

    x = RNG(12).gamma(1.5, 1.0, 40)
    law = exponential(x)
    found = distance(law, x)
    table = scipy.stats.kstwo.sf(found, 40)
    assert table > 0.04
    p = p_value(law, 40, found, exponential, RNG(1))
    assert p is not None
    assert p < 0.5 * table


def test_no_p_value_where_the_family_hardly_fits_its_own_samples() -> None:
    """Four durations from a mixture of exponentials mostly vary less than an exponential does: there is nothing to compare with."""
    from spn.dist.hyperexponential import balanced
    from spn.fitting.estimate import hyperexponential

    law = balanced(1.0, 1.01)
    assert p_value(law, 4, 0.3, hyperexponential, RNG(1)) is None


def test_draws_at_once_follow_the_law() -> None:
    for law in (Lognormal(mu=0, sigma=0.5), fit(DRAWN["hyperexp"], "hyperexp", samples=0).law):
        assert distance(law, draws(law, 5000, RNG(13))) < math.sqrt(math.log(2 / 1e-6) / 10000)


def test_the_same_seed_gives_the_same_fit() -> None:
    x = DRAWN["gamma"][:300]
    assert fit(x, seed=4).to_dict() == fit(x, seed=4).to_dict()
    assert fit(x, seed=4).law == fit(x, seed=5).law


def test_constants_are_constants() -> None:
    found = fit([0.1] * 40)
    assert found.law == Deterministic(value=found.law.value)  # type: ignore[attr-defined]
    assert found.literal() == "det(0.1 s)"
    assert (found.ks, found.cv, found.warnings) == (0.0, 0.0, ())
    assert found.reason == "all durations are equal"
    assert fit([0.1, 0.1 + 1e-9, 0.1], resolution=1e-9).family == "det"
    assert fit([0.25], "det").n == 1


def test_a_constant_asked_for_is_the_mean_and_says_what_it_leaves_out() -> None:
    found = fit([1.0, 2.0, 3.0, 6.0], "deterministic")
    assert found.law.mean() == 3
    assert found.ks == 0.5  # just below 3 lies half of them, and none of the law
    assert any("leaves out the variation" in w for w in found.warnings)


def test_the_empirical_law_asked_for_is_the_durations() -> None:
    found = fit([0.3, 0.1, 0.3], "empirical")
    assert isinstance(found.law, Empirical)
    assert [float(v) for v in found.law.values] == [0.1, 0.3]
    assert found.law.weights == pytest.approx((1 / 3, 2 / 3))
    assert math.isnan(found.aicc)
    assert found.ks == pytest.approx(0, abs=1e-15)


def test_where_no_family_comes_near_the_durations_themselves_are_used() -> None:
    rng = RNG(14)
    x = np.where(rng.random(400) < 0.3, rng.normal(5, 0.1, 400), rng.normal(1, 0.1, 400))
    found = fit(x)
    assert found.family == "empirical"
    assert any("no family comes near" in w and "exact solvers" in w for w in found.warnings)
    assert found.alternatives[0].ks > 0.2
    assert fit(x, found.alternatives[0].family).law == found.alternatives[0].law


def test_a_nearly_constant_sample_keeps_a_simple_law() -> None:
    """Two values a thousandth apart: no family fits, but the shape does not matter either."""
    found = fit([0.01, 0.01001] * 50)
    assert found.family != "empirical"
    assert any("differ far" in w for w in found.warnings)


@pytest.mark.parametrize(
    ("durations", "text"),
    [
        (np.abs(np.cumsum(RNG(15).normal(0, 1, 200))) + 1, "consecutive durations are correlated"),
        ([5.0, *RNG(16).gamma(100, 0.001, 100)], r"1 outliers, up to 5 s .* the first of all among them"),
        ([0.0, 0.0, *RNG(17).gamma(100, 0.001, 60)], "2 of 62 durations are 0 and were left out"),
        (RNG(18).gamma(100, 0.001, 12), "only 12 durations"),
        (RNG(19).uniform(0.1, 3, 3000), "differ visibly"),
    ],
    ids=["correlated", "outlier", "zeros", "few", "poor"],
)
def test_warnings(durations: Any, text: str) -> None:
    import re

    found = fit(durations)
    assert any(re.search(text, w) for w in found.warnings)
    assert "warning: " in repr(found)


def test_a_good_sample_has_no_warnings() -> None:
    assert fit(RNG(21).gamma(4, 0.1, 500)).warnings == ()


@pytest.mark.parametrize(
    ("durations", "options", "code", "text"),
    [
        ([], {}, "E0810", "no durations"),
        ([0.0, 0.0], {}, "E0810", "all 2 durations are zero"),
        ([1.0, 2.0], {}, "E0810", "2 durations are too few"),
        ([1.0, -2.0], {}, "E0813", "1 of 2 durations are negative or not finite, for instance -2"),
        ([1.0, math.nan, math.inf], {}, "E0813", "2 of 3"),
        (["fast"], {}, "E0813", "must be numbers"),
        ([1.0], {"family": "gama"}, "E0811", "did you mean gamma"),
        ([1.0], {"criterion": "aic"}, "E0811", "aicc or bic"),
        ([1.0, 1.0, 1.0], {"family": "gamma"}, "E0812", "equal"),
        ([1.0, 1.1, 1.2], {"family": "hyperexp"}, "E0812", "vary less"),
    ],
)
def test_refusals(durations: Any, options: dict[str, Any], code: str, text: str) -> None:
    with pytest.raises(DataError, match=text) as error:
        fit(durations, **options)
    assert error.value.diagnostics[0].code == code


def test_reports() -> None:
    found: Fit = fit(RNG(22).lognormal(-1.7, 0.08, 400), source="compute in trace.json.gz")
    assert found.describe().startswith(f"{found.law.spelling(Style(unit='s'))} from 400 durations of compute in trace.json.gz: mean 0.18")
    assert "by parametric bootstrap" in found.describe()
    assert found.literal().endswith(")")
    assert " s" in found.literal()
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["family"] == found.family
    assert plain["law_mean"] == pytest.approx(found.mean, rel=1e-3)
    assert len(plain["alternatives"]) == 6
    assert json.dumps(fit([0.1] * 9).to_dict(), allow_nan=False)
    text = repr(found)
    assert "AICc" in text
    assert "hyperexp" in text
    assert "vary less than an exponential" in text


MOMENTS = [  # mean, squared cv, stages of the longer branch, p of the shorter, rate, third moment
    (2, 0.3, 4, 0.436572667666, 1.781713666167, 16.5849901182),
    (2, 0.5, 2, 0.0, 1.0, 24.0),
    (2, 0.95, 2, 0.812190889222, 0.593904555389, 44.7794733192),
    (2, 0.01, 100, 0.0, 50.0, 8.2416),
    (2, 0.0123, 82, 0.452220118387, 40.773889940806, 8.2976166142),
    (1, 1 / 3, 3, 0.0, 3.0, 20 / 9),
]


@pytest.mark.parametrize(("mean", "square", "k", "p", "rate", "third"), MOMENTS)
def test_two_erlangs_meet_a_mean_and_a_low_cv(mean: float, square: float, k: int, p: float, rate: float, third: float) -> None:
    law: Any = match_moments(mean, math.sqrt(square)).law
    parts = law.parts if p > 0 else ((1.0, law),)
    assert (parts[-1][1].k, parts[-1][1].rate) == (k, pytest.approx(rate, rel=1e-11))
    assert [q for q, _ in parts] == pytest.approx([p, 1 - p] if p > 0 else [1.0], abs=1e-11)
    assert law.mean() == pytest.approx(mean, rel=1e-12)
    assert law.cv() ** 2 == pytest.approx(square, rel=1e-9)
    cubes = math.fsum(q * e.k * (e.k + 1) * (e.k + 2) / e.rate**3 for q, e in parts)
    assert cubes == pytest.approx(third, rel=1e-9)


def test_other_moments() -> None:
    assert match_moments(2, 0).law == Deterministic(value=match_moments(2, 0).law.value)  # type: ignore[attr-defined]
    assert match_moments(2, 1).law == Exponential(rate=0.5)
    wide = match_moments(2, 3)
    assert (wide.law.mean(), wide.law.cv(), wide.stages) == (pytest.approx(2), pytest.approx(3), 2)
    many = match_moments(1, 0.01)
    assert many.stages == 10000
    assert "10000 stages" in many.warning
    assert "det(1)" in many.warning
    for mean, cv in ((0, 1), (-1, 1), (1, -1), (math.nan, 1), (1, math.inf)):
        with pytest.raises(DataError, match="positive mean"):
            match_moments(mean, cv)


def test_ties_are_not_correlation() -> None:
    """Independent durations of two values: the share of each does not look like dependence (bound 3.3 standard errors, 1e-3)."""
    found = fit(np.where(RNG(23).random(1000) < 0.5, 1.0, 2.0), "lognormal")
    assert not any("correlated" in w for w in found.warnings)


def test_a_cv_of_one_over_a_root_is_a_single_erlang_law_whatever_the_rounding() -> None:
    for k in range(2, 80):
        law = match_moments(3, math.sqrt(1 / k)).law
        assert isinstance(law, Erlang)
        assert law.k == k


def test_many_durations_tell_a_wrong_family() -> None:
    """The samples of the bootstrap are smaller than the data: the distance counts as one of fifty thousand durations."""
    found = fit(RNG(26).gamma(20, 0.1, 50_000), "lognormal")
    assert found.ks < 0.03
    assert found.p_value is not None
    assert found.p_value < 0.01
