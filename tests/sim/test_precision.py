"""When a run may end: relative and absolute precision, for all measures or for chosen ones."""

from __future__ import annotations

import pytest

from spn.errors import AnalysisError
from spn.loading import parse
from spn.sim import simulate

POOL = """
place up = 1, down
timed fail : up -> down ~ exp(rate = 1/ms)
timed fix : down -> up ~ exp(rate = 99/ms)
measure good = P(#up == 1)
measure bad = P(#down == 1)
measure lost in 1/ms = throughput(fail)
"""


def test_absolute_precision() -> None:
    """0.99 firings a ms to ± 0.02 a ms, which takes so long that 0.01 is known to 3 %, but no better."""
    found = simulate(parse(POOL), seed=1, absolute=0.02)
    assert found.converged
    widths = {n: (v.half_width or 0) / v.unit_factor for n, v in found.measures.items()}
    assert max(widths.values()) <= 0.02 and found.measures["lost"].unit_factor == 1000
    assert widths["bad"] > 0.01 * found["bad"]
    assert abs(found["bad"] - 0.01) < 2 * widths["bad"]
    assert found.provenance is not None and found.provenance.options["absolute"] == 0.02 and "precision" not in found.provenance.options


def test_either_precision_will_do() -> None:
    """With both, each measure has to meet the one that it meets more easily: fewer firings than with either alone."""
    both = simulate(parse(POOL), seed=1, precision=0.01, absolute=0.001)
    relative, absolute = simulate(parse(POOL), seed=1, precision=0.01), simulate(parse(POOL), seed=1, absolute=0.001)
    assert both.converged and both.details["firings"] <= min(relative.details["firings"], absolute.details["firings"])
    for v in both.measures.values():
        assert v.half_width is not None and v.half_width <= max(0.01 * v.value, 0.001 * v.unit_factor) * (1 + 1e-12)


def test_precision_for_chosen_measures() -> None:
    all_of_them = simulate(parse(POOL), seed=1, precision=0.02)
    chosen = simulate(parse(POOL), seed=1, precision=0.02, precise_for=["good"])
    assert chosen.converged and chosen.details["firings"] < all_of_them.details["firings"] / 3
    good, bad = chosen.measures["good"], chosen.measures["bad"]
    assert good.half_width is not None and good.half_width <= 0.02 * good.value
    assert bad.half_width is not None and bad.half_width > 0.02 * bad.value


def test_chosen_measures_that_other_runs_answer() -> None:
    """Measures for which no precision is due are estimated all the same."""
    text = POOL + "measure first = E(time until #down == 1)"
    found = simulate(parse(text), seed=1, precision=0.05, precise_for=["first"])
    first = found.measures["first"]
    assert found.converged and first.half_width is not None and first.half_width <= 0.05 * first.value
    assert abs(first.value - 1e-3) < 2 * first.half_width
    assert found.measures["good"].half_width is not None


@pytest.mark.parametrize("options", [{"absolute": 0.0}, {"absolute": -1}, {"absolute": "x"}])
def test_absolute_is_above_0(options: dict[str, object]) -> None:
    with pytest.raises(AnalysisError) as e:
        simulate(parse(POOL), **options)  # type: ignore[arg-type]
    assert e.value.diagnostics[0].code == "E0705"


def test_an_unknown_measure_proposes_the_nearest() -> None:
    with pytest.raises(AnalysisError) as e:
        simulate(parse(POOL), precise_for=["godo"])
    assert (e.value.diagnostics[0].code, e.value.diagnostics[0].help) == ("E0201", "did you mean good?")
    with pytest.raises(TypeError):
        simulate(parse(POOL), precise_for="good")
