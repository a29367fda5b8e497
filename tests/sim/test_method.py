"""The method of simulation is chosen by the net alone, and told."""

from __future__ import annotations

import pytest

import spn
from spn.sim.streams import Choice


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_exponential_nets_go_the_direct_way(engine: Choice) -> None:
    result = spn.simulate(spn.load("basics/mm1k.spn"), seed=1, precision=0.2, engine=engine)
    assert result.details["method"] == "direct method (all laws are exponential)"


def test_other_laws_need_clocks() -> None:
    result = spn.simulate(spn.load("basics/md1k.spn"), seed=1, precision=0.2)
    assert result.details["method"] == "event queue (the law of serve is not exponential)"


def test_python_and_kernel_give_one_answer() -> None:
    model = spn.load("basics/epidemic.spn")
    slow, fast = (spn.simulate(model, seed=4, precision=0.1, engine=engine) for engine in ("python", "compiled"))
    for name, value in slow.measures.items():
        assert (value.value, value.half_width) == pytest.approx((fast[name], fast.measures[name].half_width), rel=1e-9)
