"""The table of families: parametrisations by name, right values, and refusals that say what is wrong."""

from __future__ import annotations

import ast
import copy
import math
import pickle
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from spn.dist.families import FAMILIES, Deterministic, Empirical, Exponential, HyperExponential, Mixture, Role, Scaled, Shape, Shifted
from spn.dist.law import Law

from .laws import ALL, CONTINUOUS, DISCRETE, identify

F = Fraction


def build(name: str, **parameters: Any) -> Law:
    return FAMILIES[name].build(parameters)


RIGHT_MEANS = [
    ("exp", {"rate": F("0.2")}, 5),
    ("exp", {"mean": F("0.2")}, 0.2),
    ("det", {"value": F("0.1")}, 0.1),
    ("uniform", {"low": F(1), "high": F(3)}, 2),
    ("erlang", {"k": F(4), "mean": F("0.012")}, 0.012),
    ("erlang", {"k": F(3), "rate": F(4)}, 0.75),
    ("weibull", {"shape": F("1.5"), "scale": F(2)}, 1.8054905859),
    ("weibull", {"mean": F(3), "cv": F("0.4")}, 3),
    ("gamma", {"shape": F("2.53"), "scale": F("0.4")}, 1.012),
    ("gamma", {"mean": F(3), "cv": F("0.4")}, 3),
    ("lognormal", {"mean": F(10), "cv": F("0.5")}, 10),
    ("lognormal", {"mu": F(10), "sigma": F("0.5")}, 24959.2556419),
    ("pareto", {"alpha": F(3), "scale": F(1)}, 1.5),
    ("normal", {"mean": F("0.5"), "sd": F("0.4")}, 0.581690183559),
    ("triangular", {"low": F(0), "mode": F(1), "high": F(2)}, 1),
    ("beta", {"alpha": F(2), "beta": F(3), "high": F(1)}, 0.4),
    ("beta", {"alpha": F(2), "beta": F(3), "low": F(1), "high": F(2)}, 1.4),
    ("hyperexp", {"probs": (F("0.3"), F("0.7")), "rates": (F("0.5"), F(2))}, 0.95),
    ("hyperexp", {"mean": F(2), "cv": F("1.5")}, 2),
    ("hypoexp", {"rates": (F(1), F(2))}, 1.5),
    ("hypoexp", {"means": (F(1), F("0.5"))}, 1.5),
    ("coxian", {"rates": (F(1), F(2)), "completion": (F("0.5"), F(1))}, 1.25),
    ("coxian", {"rates": (F(1), F(2)), "completion": (F("0.5"),)}, 1.25),
    ("ph", {"alpha": (F(1), F(0)), "T": ((F(-1), F(1)), (F(0), F(-2)))}, 1.5),
    ("empirical", {"values": (F(1), F(2), F(6))}, 3),
    ("empirical", {"values": (F(1), F(2)), "weights": (F(3), F(1))}, 1.25),
]


@pytest.mark.parametrize(("name", "parameters", "mean"), RIGHT_MEANS)
def test_every_parametrisation_has_the_right_mean(name: str, parameters: dict[str, Any], mean: float) -> None:
    assert build(name, **parameters).mean() == pytest.approx(mean, rel=1e-10)


def test_every_form_of_every_family_is_tried_above() -> None:
    tried = {(name, FAMILIES[name].form(tuple(parameters)).signature()) for name, parameters, _ in RIGHT_MEANS}
    assert tried == {(f.name, form.signature()) for f in FAMILIES.values() for form in f.forms}


@pytest.mark.parametrize("cv", ["0.0002", "0.05", "0.5", "1", "3"])
@pytest.mark.parametrize("name", ["gamma", "weibull", "lognormal"])
def test_mean_and_cv_come_out_as_they_went_in(name: str, cv: str) -> None:
    law = build(name, mean=F(2), cv=F(cv))
    assert law.mean() == pytest.approx(2, rel=1e-12)
    assert law.cv() == pytest.approx(float(cv), rel=1e-7)


def test_lognormal_parameters_of_a_mean_and_cv() -> None:
    law: Any = build("lognormal", mean=F(10), cv=F("0.5"))
    assert (law.mu, law.sigma) == (pytest.approx(2.19101331734), pytest.approx(0.472380727077))


def test_the_normal_cut_at_0_reports_what_results() -> None:
    law = build("normal", mean=F("0.5"), sd=F("0.4"))
    assert law.mean() == pytest.approx(0.581690183559, rel=1e-11)
    assert math.sqrt(law.variance()) == pytest.approx(0.335382799395, rel=1e-10)


@pytest.mark.parametrize("cv", [1.0, 1.2, 5.0, 50.0])
def test_two_branches_of_balanced_means(cv: float) -> None:
    law = build("hyperexp", mean=F(3), cv=cv)
    assert isinstance(law, HyperExponential)
    assert law.cv() == pytest.approx(cv, rel=1e-12)
    shares = [p / r for p, r in zip(law.probs, law.rates, strict=True)]
    assert shares[0] == pytest.approx(shares[1], rel=1e-12)


REFUSED = [
    ("exp", {"rate": F(0)}, "rate must be positive"),
    ("exp", {"mean": F(-1)}, "mean must be positive"),
    ("exp", {"mean": math.inf}, "must be finite"),
    ("exp", {"rate": F(10) ** 400}, "must be finite"),
    ("exp", {"rate": F(1), "mean": F(1)}, r"exp takes exp\(mean=\) or exp\(rate=\); given mean, rate"),
    ("exp", {}, "given nothing"),
    ("exp", {"rate": (F(1),)}, "one number, not a list"),
    ("det", {"value": F(-1)}, "must not be negative"),
    ("uniform", {"low": F(3), "high": F(1)}, "3 is not below 1"),
    ("uniform", {"low": F(-1), "high": F(1)}, "low must not be negative"),
    ("erlang", {"k": F("2.5"), "mean": F(1)}, "whole number from 1, not 2.5"),
    ("erlang", {"k": F(0), "mean": F(1)}, "whole number from 1, not 0"),
    ("gamma", {"mean": F(1), "cv": F(0)}, r"cv is 0: a constant is det\(value\)"),
    ("weibull", {"mean": F(1), "cv": F("0.00001")}, "takes cv from"),
    ("lognormal", {"mu": F(0), "sigma": F(-1)}, "sigma must be positive"),
    ("lognormal", {"mu": F(180), "sigma": F(40)}, "leaves the range of numbers"),
    ("pareto", {"alpha": F("0.01"), "scale": F(1)}, "at least 0.1"),
    ("normal", {"mean": F(-4), "sd": F(1)}, "is negative with probability 0.99996"),
    ("normal", {"mean": F(1), "sd": F(0)}, "sd is 0"),
    ("triangular", {"low": F(1), "mode": F(3), "high": F(2)}, "low <= mode <= high"),
    ("beta", {"alpha": F("0.001"), "beta": F(1), "high": F(1)}, "at least 0.02"),
    ("beta", {"alpha": F(1), "beta": F(1), "low": F(2), "high": F(1)}, "2 is not below 1"),
    ("hyperexp", {"probs": (F("0.3"), F("0.6")), "rates": (F(1), F(2))}, "sum to 1, but sum to 0.9"),
    ("hyperexp", {"probs": (F(1),), "rates": (F(1), F(2))}, "one length, not 1 and 2"),
    ("hyperexp", {"mean": F(1), "cv": F("0.5")}, "at least 1, not 0.5"),
    ("hypoexp", {"rates": ()}, "rates is empty"),
    ("hypoexp", {"rates": F(1)}, "rates is a list"),
    ("coxian", {"rates": (F(1), F(2)), "completion": (F("0.5"), F("0.5"))}, "the last one is 1"),
    ("coxian", {"rates": (F(1), F(2)), "completion": (F("0.5"), F("0.5"), F(1))}, "one probability for each of the 2 rates"),
    ("ph", {"alpha": (F(1),), "T": ((F(1),),)}, "negative entry on the diagonal"),
    ("ph", {"alpha": (F(1), F(0)), "T": ((F(-1), F(2)), (F(0), F(-1)))}, "sums to 1; it must not be above 0"),
    ("ph", {"alpha": (F(1), F(0)), "T": ((F(-1), F(1)), (F(1), F(-1)))}, "never leads to completion"),
    ("ph", {"alpha": (F(1), F(0)), "T": ((F(-1),),)}, "2 rows of 2"),
    ("ph", {"alpha": (F(1),), "T": (F(-1),)}, "list of rows"),
    ("empirical", {"values": ()}, "at least one value"),
    ("empirical", {"values": (F(-1),)}, "must not be negative"),
    ("empirical", {"values": (F(1),), "weights": (F(0),)}, "sum to 0"),
    ("empirical", {"values": (F(1), F(2)), "weights": (F(1),)}, "2 values but 1 weights"),
]


@pytest.mark.parametrize(("name", "parameters", "text"), REFUSED)
def test_what_is_wrong_is_said(name: str, parameters: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        build(name, **parameters)


def test_combinations_are_checked_too() -> None:
    with pytest.raises(ValueError, match="makes values negative, down to -1"):
        Shifted(law=Deterministic(value=F(1)), by=F(-2))
    with pytest.raises(ValueError, match="factor of scale must be positive"):
        Scaled(law=Exponential(rate=1), by=F(0))
    with pytest.raises(ValueError, match="sum to 1"):
        Mixture(parts=((0.5, Exponential(rate=1)),))
    assert Shifted(law=Deterministic(value=F(3)), by=F(-2)).mean() == 1


def test_the_language_can_tell_units_and_shapes() -> None:
    roles = {(f.name, p.name): p.role for f in FAMILIES.values() for form in f.forms for p in form.parameters}
    assert roles["lognormal", "mu"] is Role.LOG
    assert roles["lognormal", "mean"] is roles["normal", "sd"] is roles["pareto", "scale"] is roles["empirical", "values"] is Role.WORK
    assert roles["erlang", "rate"] is roles["ph", "T"] is Role.RATE
    assert roles["gamma", "cv"] is roles["weibull", "shape"] is roles["coxian", "completion"] is Role.NUMBER
    matrix = FAMILIES["ph"].parameter("T")
    assert matrix is not None
    assert matrix.shape is Shape.MATRIX
    assert FAMILIES["erlang"].parameter("k").whole  # type: ignore[union-attr]
    assert FAMILIES["exp"].parameter("nonsense") is None


def test_rate_and_mean_are_never_positional() -> None:
    named = {p.name for f in FAMILIES.values() for form in f.forms for p in form.parameters if p.positional}
    assert named == {"value", "low", "high", "k", "alpha", "T", "values"}


def read_back(text: str) -> Law:
    """The law of a literal without units, which is a Python call in form: names to families, lists to tuples."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    family = FAMILIES[call.func.id]
    given = {k.arg: exact(k.value) for k in call.keywords}
    positional = [p.name for p in family.forms[0].parameters if p.positional]
    return family.build({**dict(zip(positional, map(exact, call.args), strict=False)), **given})  # type: ignore[dict-item]


def exact(node: ast.expr) -> Any:
    value = ast.literal_eval(node)
    return nested(value)


def nested(value: Any) -> Any:
    return tuple(nested(v) for v in value) if isinstance(value, list) else F(repr(value))


@pytest.mark.parametrize("law", CONTINUOUS + DISCRETE, ids=identify)
def test_a_literal_reads_back_as_the_law(law: Law) -> None:
    again = read_back(law.literal())
    assert type(again) is type(law)
    assert again.mean() == pytest.approx(law.mean(), rel=1e-14)
    assert again.variance() == pytest.approx(law.variance(), rel=1e-12)
    p = np.array([0.1, 0.9])
    assert again.quantile(p) == pytest.approx(law.quantile(p), rel=1e-12)


def test_descriptions_read_like_the_language() -> None:
    assert build("lognormal", mean=F("0.18"), cv=F("0.08")).describe() == "lognormal(mean=0.18, cv=0.08)"
    assert build("lognormal", mean=F("0.18"), cv=F("0.08")).literal("s").startswith("lognormal(mean=0.18")
    assert Deterministic(value=F(1, 10)).literal("s") == "det(0.1 s)"
    assert Exponential(rate=1e6).literal("s") == "exp(rate=1000000/s)"
    assert Exponential(rate=1e-20).describe() == "exp(rate=1e-20)"
    assert build("hyperexp", probs=(F("0.3"), F("0.7")), rates=(F(1), F(2))).literal("s") == "hyperexp(probs=[0.3, 0.7], rates=[1/s, 2/s])"
    mixed = Mixture(parts=((0.9, Exponential(rate=1)), (0.1, Scaled(law=Shifted(law=Deterministic(value=F(2)), by=F(1)), by=F(3)))))
    assert mixed.describe() == "mix(0.9: exp(rate=1), 0.1: scale(shift(det(2), 1), 3))"
    assert Empirical(values=tuple(F(i) for i in range(1, 9))).describe() == "empirical(8 values from 1 to 8)"


@pytest.mark.parametrize("law", CONTINUOUS + DISCRETE, ids=identify)
def test_laws_are_values(law: Law) -> None:
    assert hash(law) == hash(law)
    assert law == copy.copy(law)


@pytest.mark.parametrize("law", ALL, ids=identify)
def test_laws_travel_to_other_processes(law: Law) -> None:
    again = pickle.loads(pickle.dumps(law))
    assert again == law
    assert again.draw(np.random.default_rng(1)) == law.draw(np.random.default_rng(1))


@pytest.mark.parametrize("law", ALL, ids=identify)
def test_the_ends_of_a_law(law: Law) -> None:
    low, high = law.quantile(np.array([0.0, 1.0]))
    assert 0 <= low <= law.mean() <= high
    unbounded = law.family in ("exp", "erlang", "gamma", "hyperexp", "hypoexp", "coxian", "ph", "weibull", "lognormal", "pareto", "normal")
    assert not unbounded or high == math.inf
    assert float(law.cdf(high)) == pytest.approx(1)


def test_the_table_needs_no_heavy_library() -> None:
    """scipy and numba cost a second to import; a law of the language must not ask for them."""
    code = "import sys, spn.dist.families, spn.fitting, spn.trace; print([m for m in ('scipy', 'numba', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
