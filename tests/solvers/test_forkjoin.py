"""Rounds of fork and join against closed forms, chains, and runs of the simulator."""

from __future__ import annotations

import math
import random

import pytest

from spn.errors import AnalysisError
from spn.loading import load, parse
from spn.sim import simulate
from spn.solvers import forkjoin, solve

ROUND = """units none
param n : count = 5
place start = n, ready, done, single, spare
timed load     : start  -> ready  ~ det(0.5) servers inf
timed work     : ready  -> done   ~ {} servers inf
timed apply    : n*done -> single ~ exp(mean = 0.7)
timed report   : single -> spare  ~ exp(mean = 0.2)
immediate fork : spare  -> n*start
measure rounds = throughput(apply)
measure steps  = throughput(work)
measure held   = E(#ready + 2*#done)
measure used   = utilisation(apply)
measure at     = E(#done | apply)
measure stay   = sojourn(done)
"""


def test_a_chain_gives_the_same():
    text = (
        ROUND.format("exp(mean = 2)")
        .replace("det(0.5)", "exp(mean = 0.5)")
        .replace("timed work", "immediate work")
        .split("~ exp(mean = 2)")
    )
    text = text[0] + text[1].removeprefix(" servers inf")
    ours, chain = (solve(parse(text), method=m) for m in ("fork-join", "ctmc"))
    assert ours.residual < 1e-12
    assert {k: v.value for k, v in ours.measures.items()} == pytest.approx({k: v.value for k, v in chain.measures.items()}, rel=1e-10)


def test_a_constant_and_a_random_time():
    result = solve(parse(ROUND.format("exp(mean = 2)")))
    assert result.method == "fork-join"
    longest = 0.5 + 2 * math.fsum(1 / k for k in range(1, 6))
    cycle = longest + 0.9
    assert result["rounds"] == pytest.approx(1 / cycle, rel=1e-12)
    assert result["steps"] == pytest.approx(5 / cycle, rel=1e-12)
    assert result["used"] == pytest.approx(0.7 / cycle, rel=1e-12)
    assert result["at"] == pytest.approx(5, rel=1e-14)
    assert result["stay"] == pytest.approx(longest - 2.5 + 0.7, rel=1e-12)
    assert result["held"] == pytest.approx((5 * 2 + 2 * 5 * (longest - 2.5 + 0.7)) / cycle, rel=1e-12)


@pytest.mark.parametrize(("n", "right"), [(2, 6 / 7), (4, 10 / 13), (8, 18 / 25)])
def test_a_barrier_of_uniform_times(n, right):
    result = solve(load("models/basics/barrier_uniform.spn", params={"n": n}))
    assert (result.method, result["rounds"]) == ("fork-join", pytest.approx(right, rel=1e-12))


def test_the_simulator_agrees():
    """Two laws, at 99.99 %: false alarms 1 in 5,000 at most."""
    text = """units none
place start = 1, a, b, c, w, v, x
immediate fork : start -> a, 3*b
timed slow : a -> w ~ lognormal(mean = 1, cv = 0.5) scaled 2
timed fast : b -> v ~ gamma(mean = 3, cv = 0.4) servers inf speed 2
immediate meet : w, 3*v -> c
timed rest : c -> start ~ weibull(shape = 3, scale = 1)
measure rounds = throughput(rest)
measure early  = E(#v)
"""
    exact = solve(parse(text), method="fork-join")
    drawn = simulate(parse(text), seed=3, precision=0.01, confidence=0.9999)
    for name, v in drawn.measures.items():
        assert abs(v.value - exact[name]) <= v.half_width


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("timed go : a -> b ~ det(1) servers inf\nimmediate meet : 2*b -> 2*a", "does not take all tokens at once"),
        ("timed go : a -> b ~ lognormal(mean = 1, cv = 1)\nimmediate meet : 3*b -> 3*a", "1 servers for 3 tokens"),
        ("timed go : a -> b ~ det(1) servers inf\nimmediate meet : 3*b -> 3*c", "come to rest in c"),
        ("timed go : a -> b ~ det(1) servers inf\nimmediate meet : 3*b -> 3*a when #a == 0", "has a condition"),
        ("timed go : a -> b ~ det(1) servers inf\ntimed no : a -> c ~ det(2) servers inf\nimmediate meet : 3*b -> 3*a", "compete"),
        ("timed go : a -> b ~ det(1) servers inf\ntimed no : b -> c ~ det(2)\nimmediate meet : 3*b -> 3*a", "compete"),
        ("timed go : a -> b ~ det(1) servers inf\nimmediate back : b -> a", "never wait for others"),
        ("timed go : a -> b ~ pareto(alpha = 1, scale = 1) servers inf\nimmediate meet : 3*b -> 3*a", "mean of go is inf"),
        (
            "timed go : a -> c ~ uniform(0, 1) servers inf\ntimed on : c -> b ~ uniform(0, 1) servers inf\nimmediate meet : 3*b -> 3*a",
            "law of the sum",
        ),
        ("timed go : a -> b ~ det(1) servers inf\nimmediate meet : 3*b -> 4*a", "does not take all tokens at once"),
    ],
)
def test_other_nets_are_refused(line, said):
    found = forkjoin.may(parse(f"units none\nplace a = 3, b, c\n{line}\nmeasure m = E(#a)\n"))
    assert len(found) == 1
    assert (found[0].code, said in found[0].message) == ("E0656", True), found[0].message


def test_questions_that_do_not_follow_are_refused():
    model = parse(ROUND.format("det(2)") + "measure late = P(#done >= 3)\n")
    with pytest.raises(AnalysisError, match="measure late does not follow"):
        solve(model, method="fork-join")


def test_a_cycle_without_time_is_an_error():
    text = "units none\nplace a = 2, b\nimmediate x : a -> b\nimmediate y : 2*b -> 2*a\nmeasure m = throughput(x)\n"
    with pytest.raises(AnalysisError, match="takes no time"):
        solve(parse(text), method="fork-join")


def test_what_interrupts_a_gate_is_no_round():
    """Work of a job and a machine that may fail meanwhile: E[T] = (e^(f w) - 1) (1 / f + 1 / r) (V. F. Nicola, 1986)."""
    text = """units none
place job = 1
place up = 1
place down, done
timed work   : job, up -> done, up ~ det(1.5)
timed fail   : up -> down ~ exp(rate = 0.4)
timed repair : down -> up ~ exp(rate = 2)
timed next   : done -> job ~ exp(rate = 1)
measure x = throughput(work)
"""
    model = parse(text)
    assert any("compete" in d.message for d in forkjoin.may(model))
    result = solve(model)
    assert (result.method, result["x"]) == ("mrp", pytest.approx(0.283673463395253, rel=1e-12))


def written(rng: random.Random) -> str:
    """One or two phases of up to three branches, each gate immediate or timed."""
    lines, starts, ends = ["units none"], [], []
    for k in range(rng.randint(1, 2)):
        branches = [(f"{k}_{b}", rng.randint(1, 2)) for b in range(rng.randint(1, 3))]
        for name, tokens in branches:
            lines += [f"place p{name}{'' if k else f' = {tokens}'}", f"place q{name}"]
            lines.append(f"timed t{name} : p{name} -> q{name} ~ exp(mean = {rng.choice([0.5, 1, 2])}) servers inf")
        starts.append(", ".join(f"{n}*p{name}" for name, n in branches))
        ends.append(", ".join(f"{n}*q{name}" for name, n in branches))
    for k, end in enumerate(ends):
        kind, law = rng.choice([("immediate", ""), ("timed", f" ~ exp(mean = {rng.choice([0.3, 1])})")])
        lines.append(f"{kind} g{k} : {end} -> {starts[(k + 1) % len(starts)]}{law}")
    asked = ("throughput(g0)", "E(2*#p0_0 + #q0_0)", "sojourn(q0_0)", "E(#q0_0 | g0)")
    return "\n".join([*lines, *(f"measure m{k} = {text}" for k, text in enumerate(asked))]) + "\n"


@pytest.mark.parametrize("seed", range(20))
def test_random_rounds_against_their_chains(seed):
    model = parse(written(random.Random(seed)))
    if [d for d in forkjoin.may(model) if "never wait" in d.message]:
        return  # a single token with an immediate gate goes round alone
    ours, chain = (solve(model, method=m) for m in ("fork-join", "ctmc"))
    assert {k: v.value for k, v in ours.measures.items()} == pytest.approx({k: v.value for k, v in chain.measures.items()}, rel=1e-9)
