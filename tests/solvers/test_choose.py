"""Which method is taken and why; what is refused, all of it and where; what a result carries."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest

from spn.dist.families import Deterministic, Erlang, Lognormal
from spn.errors import AnalysisError, SemanticsError
from spn.expr.nodes import tokens
from spn.measure import Sojourn
from spn.model import Model, Parameter
from spn.net.builder import NetBuilder
from spn.net.model import Net
from spn.provenance import canonical, digest
from spn.solvers import may_solve, simulation, solve
from spn.solvers.methods import METHODS, SIMULATION_OPTIONS
from tests.solvers.nets import E, X, model


def pair(law, start=1, **options) -> NetBuilder:
    b = NetBuilder("pair")
    b.place("a", start)
    b.place("b")
    b.place("key", start)
    b.timed("work", ("a", "key"), ("b", "key"), law=law, **options)
    b.timed("rest", "b", "a", rate=1)
    return b


def queue() -> NetBuilder:
    b = NetBuilder("open")
    b.place("Q")
    b.timed("arrive", (), "Q", rate=0.9)
    b.timed("serve", "Q", (), rate=1)
    return b


@pytest.fixture
def simulated(monkeypatch):
    """What the simulator is asked for, in place of a run."""
    asked: list[dict] = []

    def compute(m: Model, *, reason: str = "", **options):
        asked.append({"reason": reason, **options})
        return "simulated"

    monkeypatch.setattr(simulation, "compute", compute)
    return asked


def test_a_markov_chain_is_solved_exactly_and_says_so():
    result = solve(model(pair(Erlang(k=2, rate=2.0)), x=X("work")))
    assert (result.method, result.reason) == ("ctmc", "all laws are exponential or phase-type")
    assert result["x"] == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize(
    ("net", "why"),
    [
        (pair(Lognormal(mu=0.0, sigma=1.0), servers=2, start=2), "2 clocks of work are alive at once"),
        (pair(Erlang(k=2, rate=1.0), memory="repeat", servers=2, start=2), "work repeats its drawn work"),
        (pair(Erlang(k=2, rate=1.0), scale=1 + tokens("b")), "the work of work is scaled by the marking"),
        (queue(), "the net is unbounded: arrive puts ever more tokens into Q"),
    ],
)
def test_what_is_no_finite_chain_is_simulated_and_the_reason_given(net, why, simulated):
    assert solve(model(net, x=X(net.build().transitions[0].name)), seed=7, tolerance=1e-9) == "simulated"
    (asked,) = simulated
    assert why in asked["reason"] and asked["reason"].endswith(": simulated")
    assert asked["seed"] == 7 and "tolerance" not in asked


def test_too_many_states_are_simulated(simulated):
    b = NetBuilder()
    b.place("p", 500)
    b.place("q")
    b.timed("t", "p", "q", rate=1)
    b.timed("u", "q", "p", rate=1)
    assert solve(model(b, x=X("t")), max_states=100) == "simulated"
    assert "larger than the limit of 100 states" in simulated[0]["reason"]


def test_a_trap_is_an_error_for_every_method(simulated):
    b = pair(Erlang(k=2, rate=1.0))
    b.place("v")
    b.immediate("there", "b", "v")
    b.immediate("back", "v", "b")
    with pytest.raises(SemanticsError, match="zero-time loop without exit: there, back"):
        solve(model(b, x=X("work")))
    assert not simulated


def test_all_refusals_come_at_once():
    b = NetBuilder()
    b.link("nic", 100)
    b.place("a", 1)
    b.timed("fixed", "a", "a", law=Deterministic(value=Fraction(1)))
    b.timed("odd", "a", "a", law=Lognormal(mu=0.0, sigma=1.0), memory="repeat", scale=tokens("a"))
    b.timed("sent", "a", "a", law=Erlang(k=2, rate=1.0), over="nic", latency=0.1)
    m = model(b, x=X("odd"))
    assert [d.code for d in may_solve(m)] == ["E0610", "E0610", "E0611", "E0612", "E0614"]
    with pytest.raises(AnalysisError) as caught:
        solve(m, method="ctmc")
    assert caught.value.diagnostics == tuple(may_solve(m))


def test_an_unbounded_net_given_to_the_exact_method_is_an_error():
    with pytest.raises(AnalysisError, match="the net is unbounded"):
        solve(model(queue(), x=X("serve")), method="ctmc")


def test_an_unbounded_net_with_phases_is_reported_in_the_terms_of_the_model():
    b = NetBuilder()
    b.place("Q")
    b.timed("arrive", (), "Q", rate=0.9)
    b.timed("serve", "Q", (), law=Erlang(k=3, rate=3.0))
    with pytest.raises(AnalysisError, match="arrive puts ever more tokens into Q") as caught:
        solve(model(b, x=X("serve")), method="ctmc")
    assert "phase" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "options", "text"),
    [
        ("cmtc", {}, "did you mean ctmc"),
        ("ctmc", {"tolerence": 1}, "did you mean tolerance"),
        ("ctmc", {"seed": 1}, "seed is no option of method ctmc, but of simulate"),
    ],
)
def test_unknown_methods_and_options(method, options, text):
    with pytest.raises(AnalysisError, match=text):
        solve(model(queue(), x=X("serve")), method=method, **options)


def test_what_does_not_converge_is_marked_and_auto_turns_to_simulation(simulated):
    b = NetBuilder()
    b.place("p", 40)
    b.place("q")
    b.timed("work", "p", "q", rate=0.7, servers="inf")
    b.timed("back", "q", "p", rate=0.3, servers="inf")
    m = model(b, x=X("work"))
    result = solve(m, method="ctmc", tolerance=1e-300)
    assert not result.converged and any("not converged" in n for n in result.notes)
    assert solve(m, tolerance=1e-300) == "simulated"
    assert "steady state was not reached" in simulated[0]["reason"]


def test_a_ratio_of_nothing_is_nan_and_json_can_hold_it():
    b = NetBuilder()
    b.place("a", 1)
    b.place("never")
    b.timed("t", "a", "a", rate=1)
    b.timed("lose", "never", "never", rate=1)
    result = solve(model(b, s=Sojourn("a"), lost=Sojourn("never")))
    assert math.isnan(result["lost"]) and result["s"] == 1
    assert json.loads(json.dumps(result.to_dict()))["measures"]["lost"]["value"] == "nan"


def test_an_expression_undefined_in_a_marking_of_probability_0_does_not_matter():
    b = NetBuilder()
    b.place("a", 1)
    b.place("b")
    b.place("c")
    b.timed("once", "a", "b", rate=1)
    b.timed("on", "b", "c", rate=1)
    b.timed("off", "c", "b", rate=1)
    from spn.measure import Average

    result = solve(model(b, x=Average(1 / (1 - tokens("a")))))
    assert result["x"] == pytest.approx(1)


def test_units_travel_with_the_value():
    m = model(pair(Erlang(k=2, rate=2.0)), x=X("work"))
    m = replace(m, measures=(replace(m.measures[0], unit="1/min", unit_factor=1 / 60),))
    value = solve(m).measures["x"]
    assert (value.unit, value.unit_factor, value.half_width) == ("1/min", 1 / 60, None)


# --- provenance ---------------------------------------------------------------------------------------------------------------


def test_a_result_says_what_made_it():
    m = replace(model(pair(Erlang(k=2, rate=2.0)), x=X("work")), parameters=(Parameter(name="n", kind="count", value=Fraction(3)),))
    p = solve(m, tolerance=1e-9).provenance
    assert p is not None and p.model == "pair" and p.parameters == {"n": 3.0} and p.seed is None
    assert p.options["tolerance"] == 1e-9 and set(p.versions) >= {"python", "numpy", "scipy", "numba"}
    assert p.digest == digest(m) and len(p.digest) == 64


def test_the_digest_is_of_the_meaning_and_stable():
    m = model(pair(Erlang(k=2, rate=2.0)), x=X("work"))
    documented = replace(m, doc="words", net=replace(m.net, places=tuple(replace(p, doc="more") for p in m.net.places)))
    assert digest(documented) == digest(m)
    assert digest(model(pair(Erlang(k=2, rate=2.5)), x=X("work"))) != digest(m)
    assert digest(model(pair(Erlang(k=2, rate=2.0)), x=E("a"))) != digest(m)


def test_the_canonical_text_tells_values_apart():
    values = [1, 1.0, "1", True, None, Fraction(1, 2), (1,), ((1,),), {"a": 1}, Net(name="x"), float("nan")]
    assert len({canonical(v) for v in values}) == len(values)
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})


def test_the_table_of_options_is_that_of_the_simulator():
    import inspect

    simulate = pytest.importorskip("spn.sim").__dict__.get("simulate")
    if simulate is None:
        pytest.skip("no simulator")
    assert set(inspect.signature(simulate).parameters) - {"model"} == SIMULATION_OPTIONS


def test_the_command_line_knows_the_methods():
    from spn.cli import arguments

    assert tuple(METHODS) == arguments.METHODS
