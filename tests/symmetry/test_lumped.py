"""Lumped and unlumped results are equal, whatever breaks the symmetry."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import SpnError
from spn.loading import load, parse
from spn.result import Result
from spn.solvers import solve
from tests.cases.test_models import twin
from tests.symmetry.random_models import text

SAME = 1e-10


def solved(source: str, lump: str, **params) -> Result | str:
    try:
        return solve(parse(source, params=params), method="ctmc", lump=lump)
    except SpnError as error:
        return error.diagnostics[0].code


def assert_same(a: Result | str, b: Result | str) -> None:
    if isinstance(b, str) or isinstance(a, str):
        assert a == b
        return
    assert a.converged and b.converged
    for name, value in b.measures.items():
        assert same(a[name], value.value), (name, a[name], value.value)
    assert sum(c.probability for c in a.classes) == pytest.approx(sum(c.probability for c in b.classes), abs=1e-12)


def same(x: float, y: float) -> bool:
    return (math.isnan(x) and math.isnan(y)) or x == y or abs(x - y) <= SAME * max(1.0, abs(y))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_random_models(seed: int):
    source = text(seed)
    assert_same(solved(source, "auto"), solved(source, "off"))


# --- what is known otherwise ------------------------------------------------------------------------------------------------------

WORKERS = """units none
param n : count = 4
component worker(rate : number) {
  place idle = 1
  place fetched, computed, sent
  timed pull    : idle     -> fetched  ~ exp(rate = 2*rate)
  timed compute : fetched  -> computed ~ exp(rate = rate)
  timed push    : computed -> sent     ~ exp(rate = 4*rate)
  timed absorb  : sent     -> idle     ~ exp(rate = 4*rate)
}
use worker w[i in 1..n](1)
measure busy  = E(sum(#w[i].fetched for i in 1..n))
measure steps = sum(throughput(w[i].absorb) for i in 1..n)
measure none  = P(all(#w[i].fetched == 0 for i in 1..n))
measure most  = E(max(#w[i].sent for i in 1..n))
measure pairs = E(sum(#w[i].sent for i in 1..n)^2)
"""


def test_independent_workers_are_multinomial():
    """Each worker is in `fetched` for 1/2 of the time, in the others for 1/4, 1/8, 1/8: all follows from the multinomial law."""
    n = 30
    r = solve(parse(WORKERS, params={"n": n}), method="ctmc")
    assert r.details["states"] == math.comb(n + 3, 3) == 5456
    assert r["busy"] == pytest.approx(n / 2, rel=1e-11)
    assert r["steps"] == pytest.approx(n / 2, rel=1e-11)
    assert r["none"] == pytest.approx(0.5**n, rel=1e-9)
    assert r["most"] == pytest.approx(1 - (7 / 8) ** n, rel=1e-11)
    assert r["pairs"] == pytest.approx(n * 7 / 64 + (n / 8) ** 2, rel=1e-11)
    assert r.details["lumped"] == "for 10^18 unlumped"
    assert r.notes == ("w: 30 interchangeable replicas of 4 local states are counted, 5,456 combinations at most instead of 4^30",)


def test_the_reduction_is_counted_exactly():
    lumped, whole = (solve(parse(WORKERS, params={"n": 5}), method="ctmc", lump=x) for x in ("auto", "off"))
    assert (lumped.details["states"], whole.details["states"]) == (56, 1024)
    assert lumped.details["lumped"] == "for 1,024 unlumped"
    assert_same(lumped, whole)


def test_a_worker_of_another_rate_is_left_out():
    text = WORKERS.replace("(1)", "(if(i == 2, 3, 1))")
    lumped, whole = (solve(parse(text), method="ctmc", lump=x) for x in ("auto", "off"))
    assert lumped.details["states"] == 4 * math.comb(3 + 3, 3)
    assert any("w[2] breaks the symmetry of w" in note for note in lumped.notes)
    assert_same(lumped, whole)


RACKS = """units none
param racks : count = 3
param n : count = 2
param odd : number = 1
place pool = 2
component worker(pool : place, up : place, slow : number = 1) {
  place idle = 1
  place busy
  timed start : idle, pool -> busy ~ exp(rate = slow)
  timed stop  : busy -> idle, pool ~ exp(rate = 2)
  timed wait  : busy -> busy ~ exp(rate = 1) when #up > 0
}
component rack(pool : place, n : count, odd : number = 1) {
  place up = 1
  place down
  use worker w[i in 1..n](pool, up, slow = if(i == 1, odd, 1))
  timed fail : up -> down ~ exp(rate = (1 + sum(#w[i].busy for i in 1..n))/10)
  timed mend : down -> up ~ exp(rate = 1)
}
use rack r[k in 1..racks](pool, n, odd)
measure flow = sum(throughput(r[k].w[i].start) for k in 1..racks, i in 1..n)
measure up   = P(all(#r[k].up > 0 for k in 1..racks))
measure used = E(sum(#r[k].w[i].busy for k in 1..racks, i in 1..n))
measure any  = E(max(#r[k].w[i].busy for k in 1..racks, i in 1..n))
"""


@pytest.mark.parametrize(
    ("params", "more", "states"),
    [
        ({}, "", 22),
        ({"odd": 2}, "", 42),  # the racks are alike, their workers are not
        ({"racks": 2, "n": 3}, "", 14),
        ({}, "measure second = E(#r[2].up)\n", 48),
        ({}, "measure firsts = sum(E(#r[k].w[1].busy) for k in 1..racks)\n", 42),
    ],
)
def test_replicas_inside_of_replicas(params: dict[str, int], more: str, states: int):
    lumped, whole = (solve(parse(RACKS + more, params=params), method="ctmc", lump=x) for x in ("auto", "off"))
    assert lumped.details["states"] == states < whole.details["states"]
    assert_same(lumped, whole)


# --- classes, passages, phases ----------------------------------------------------------------------------------------------------


def test_classes_are_those_of_all_permutations():
    """Whoever takes the one token first keeps it: three dead markings, one class of the lumped chain, in the names of the model."""
    text = """units none
place token = 1
place has[i in 1..3], had[i in 1..3] = 1
timed take[i in 1..3] : token, had[i] -> has[i] ~ exp(rate = 2)
measure who = E(sum(#has[i] for i in 1..3))
measure all = E(#has[1] + #has[2] + #has[3]) at 0.1
measure most = max(E(#has[1]), E(#has[2]), E(#has[3]))
measure gone = E(time until #token == 0)
"""
    lumped, whole = (solve(parse(text), method="ctmc", lump=x) for x in ("auto", "off"))
    assert_same(lumped, whole)
    assert len(whole.classes) == 3 and len(lumped.classes) == 1
    (c,) = lumped.classes
    assert c.kind == "dead" and c.probability == 1 and c.marking == {"had[1]": 1, "had[2]": 1, "has[3]": 1}
    assert c.measures == {"who": 1.0}  # the greatest of three means is not the same in each class as the mean of all
    assert lumped["gone"] == pytest.approx(1 / 6)
    assert lumped["most"] == pytest.approx(1 / 3)
    assert "dead marking has[3]=1, had[1]=1, had[2]=1: no transition is enabled" in lumped.notes


def test_phase_type_replicas():
    text = WORKERS.replace("~ exp(rate = rate)", "~ hyperexp(1/3: exp(rate = rate), 2/3: exp(rate = 2*rate))")
    text = text.replace("exp(rate = 4*rate)", "erlang(2, rate = 8*rate)  servers 1  memory resume", 1)
    try:
        parse(text)
    except SpnError:
        text = WORKERS.replace("exp(rate = 4*rate)", "erlang(2, rate = 8*rate)  servers 1  memory resume", 1)
    lumped, whole = (solve(parse(text, params={"n": 3}), method="ctmc", lump=x) for x in ("auto", "off"))
    assert lumped.details["states"] < whole.details["states"]
    assert_same(lumped, whole)


def test_errors_speak_of_the_model():
    """An unbounded net and a negative rate are shown in the names of the model."""
    text = "units none place a[i in 1..2] = 1, b[i in 1..2] timed t[i in 1..2] : a[i] -> a[i], b[i] ~ exp(rate = 1)"
    for lump in ("auto", "off"):
        with pytest.raises(SpnError) as found:
            solve(parse(f"{text} measure x = E(#b[1] + #b[2])"), method="ctmc", lump=lump)
        assert found.value.diagnostics[0].code == "E0600" and "b[1]" in str(found.value)
    text = "units none place a[i in 1..2] = 1, b[i in 1..2] timed t[i in 1..2] : a[i] -> b[i] ~ exp(rate = 1 - sum(2*#b[j] for j in 1..2))"
    for lump in ("auto", "off"):
        with pytest.raises(SpnError) as found:
            solve(parse(f"{text} measure x = E(#b[1] + #b[2])"), method="ctmc", lump=lump)
        assert found.value.diagnostics[0].code == "E0501" and "in marking" in str(found.value)
        assert "{" not in str(found.value)


def test_an_error_beyond_reach_is_still_told():
    """With 30 workers the marking in which the rate is negative is far away in the net as written, and near in the lumped one."""
    text = WORKERS.replace("measure busy", "timed odd : -> ~ exp(rate = 25 - sum(#w[i].sent for i in 1..n))\nmeasure busy", 1)
    with pytest.raises(SpnError) as found:
        solve(parse(text, params={"n": 30}), method="ctmc")
    assert found.value.diagnostics[0].code == "E0501" and "rate) of odd is -1" in str(found.value)


def test_options():
    model = parse(WORKERS)
    with pytest.raises(SpnError, match="lump is 'on'"):
        solve(model, method="ctmc", lump="on")
    assert "lumped" not in solve(model, method="ctmc", lump="off").details


ROOT = Path(__file__).resolve().parents[2]
FILES = [f for f in sorted([*ROOT.glob("models/**/*.spn"), *ROOT.glob("tests/cases/nets/*.spn")]) if load(f).net.replicas]


@pytest.mark.parametrize("path", [pytest.param(f, id=f"{f.parent.name}/{f.stem}") for f in FILES])
def test_shipped_models(path: Path):
    """Every model with replicas, as it is or with exponential laws of the same means."""
    model = load(path)
    if any(p.name == "workers" and p.value > 6 for p in model.parameters):
        model = load(path, params={"workers": 3})
    model = replace(model, net=replace(twin(model.net), replicas=model.net.replicas))
    lumped, whole = (solve(model, method="ctmc", lump=x) for x in ("auto", "off"))
    assert_same(lumped, whole)
