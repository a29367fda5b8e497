"""What all methods say to a model, and a second method beside the first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spn.loading import load, parse
from spn.solvers import solve
from spn.solvers.methods import METHODS
from spn.solvers.survey import methods, verify

MD1 = "models/basics/md1k.spn"


def offers(model) -> dict:
    return {o.name: o for o in methods(model)}


def test_every_method_is_listed_and_refusals_point_at_the_text():
    found = offers(load(MD1))
    assert tuple(found) == tuple(METHODS)
    assert {name for name, o in found.items() if o.applies} == {
        "mrp",
        "semi-markov",
        "phase-type",
        "simulate",
    }
    assert found["mrp"].cost == "4 markings"
    assert [d.code for d in found["ctmc"].refusals] == ["E0610"]
    assert all(d.span is not None for d in found["ctmc"].refusals)


def test_costs():
    assert offers(load("models/sgd/async_ps.spn", params={"workers": 64}))["product-form"].cost.startswith("4.79e+04 markings")
    many = parse("units none\nplace a = 30000, b\ntimed x : a -> b ~ exp(rate = 1)\ntimed y : b -> a ~ exp(rate = 1)\nmeasure m = E(#a)\n")
    assert offers(many)["ctmc"].cost == "more than 20,000 markings"


@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_that_applies_answers_or_says_why_not(name):
    """What it says before it computes holds: on models of each kind the figures of all methods agree."""
    texts = [
        "timed x : a -> b ~ exp(rate = 1) servers inf\ntimed y : b -> a ~ exp(rate = 2)\n",
        "timed x : a -> b ~ det(1) servers inf\nimmediate y : 2*b -> 2*a\n",
    ]
    for text, right in zip(texts, (6 / 5, 2.0), strict=True):
        model = parse(f"units none\nplace a = 2, b\n{text}measure m = throughput(x)\n")
        if offers(model)[name].applies and METHODS[name].exact:
            try:
                assert solve(model, method=name)["m"] == pytest.approx(right, rel=1e-5)
            except Exception as error:
                assert (name == "mrp" and "alive at once" in str(error)) or (name == "semi-markov" and "several clocks" in str(error))


@pytest.mark.parametrize("file", ["basics/md1k", "basics/mm1k", "basics/fork_join", "sgd/async_ps", "basics/ties"])
def test_two_methods_agree(file):
    model = load(f"models/{file}.spn")
    first = solve(model, seed=1, max_seconds=20)
    second = verify(model, first, seed=1, max_seconds=120)
    assert second.method not in ("", first.method) or first.method == "simulate"
    assert second.agrees, second
    assert second.to_dict()["agrees"] is True


def test_a_wrong_figure_is_found():
    model = load(MD1)
    right = solve(model)
    name, value = next(iter(right.measures.items()))
    wrong = replace(right, measures={**right.measures, name: replace(value, value=value.value * 1.001)})
    second = verify(model, wrong)
    assert second.agrees is False
    assert [n for n, c in second.checks.items() if not c.agrees] == [name]
