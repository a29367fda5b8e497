"""Closed networks of product form against the chains that they are, closed forms, and mean value analysis written only for this."""

from __future__ import annotations

import math
import random

import pytest

from spn.errors import AnalysisError
from spn.loading import load, parse
from spn.solvers import productform, solve

ROUND = """units none
param n : count = 6
place think = n, a, b, c
timed work  : think -> a     ~ exp(mean = 3) servers inf
timed first : a     -> b     ~ exp(mean = 0.5)
timed two   : b     -> c     ~ exp(mean = 0.7) servers 2
timed fast  : c     -> think ~ exp(rate = 1 + #c / 4)
measure rate  = throughput(two)
measure busy  = utilisation(two)
measure free  = P(#a == 0)
measure high  = P(#think >= 3)
measure sum   = E(2*#a - #b/3 + 1)
measure sq    = E(#b^2)
measure seen  = E(#a | two)
measure left  = E(#b | two)
measure stay  = sojourn(a)
"""

ROUTED = """units none
place cpu = 5, done, disk, net
timed burst : cpu -> done ~ exp(mean = 0.1)
immediate leave : done -> cpu  weight 1
immediate read  : done -> disk weight 3
immediate send  : done -> net  weight 6
timed io    : disk -> cpu ~ exp(mean = 0.4)
timed wire  : net  -> cpu ~ exp(mean = 0.2) servers inf
timed retry : net  -> net ~ exp(mean = 0.3) servers inf
measure rate  = throughput(read)
measure again = throughput(retry)
measure disk  = E(#disk)
measure ahead = E(#disk | send)
measure both  = E(#disk * #done | send)
measure wires = P(#net > 2)
"""

SHARED = """units none
link wire(capacity = 10)
place a = 3, pa
place b = 2, pb
timed ask   : a -> pa  ~ exp(mean = 20) over wire
timed work  : pa -> a  ~ exp(mean = 1.5) servers inf
timed asks  : b -> pb  ~ exp(mean = 5) over wire
timed works : pb -> b  ~ exp(mean = 4)
measure one   = throughput(ask)
measure two   = throughput(asks)
measure used  = utilisation(wire)
measure held  = E(#a)
measure most  = P(#b == 2)
measure sees  = E(#b | work)
"""

CAPPED = """units none
link wire(capacity = 10)
place a = 5, b
timed ask  : a -> b ~ exp(mean = 20) over wire cap 4
timed work : b -> a ~ exp(mean = 1.5) servers inf
measure one  = throughput(ask)
measure used = utilisation(wire)
measure held = P(#a > 2)
"""


def exact(text: str, **params):
    return solve(parse(text, params=params), method="product-form")


def codes(text: str) -> list[str]:
    return [d.message for d in productform.may(parse(text))]


@pytest.mark.parametrize("text", [ROUND, ROUTED, SHARED, CAPPED], ids=["round", "routed", "shared", "capped"])
def test_values_are_those_of_the_chain(text):
    model = parse(text)
    ours, chain = solve(model, method="product-form"), solve(model, method="ctmc")
    assert ours.residual < 1e-13
    assert {n: v.value for n, v in ours.measures.items()} == pytest.approx({n: v.value for n, v in chain.measures.items()}, rel=1e-9)


def mean_value_analysis(n: int, delay: float, queues: list[float]) -> float:
    """The throughput of single servers and a delay (Reiser and Lavenberg 1980, J. ACM 27, 313)."""
    held = [0.0] * len(queues)
    rate = 0.0
    for k in range(1, n + 1):
        times = [d * (1 + q) for d, q in zip(queues, held, strict=True)]
        rate = k / (delay + sum(times))
        held = [rate * t for t in times]
    return rate


def test_asynchronous_parameter_server_by_mean_value_analysis():
    wire = 97.5 * 2**20 / 1.25e9
    for n in (1, 4, 64, 1000):
        result = solve(load("models/sgd/async_ps.spn", params={"workers": n}))
        assert result.method == "product-form"
        assert result["steps"] == pytest.approx(mean_value_analysis(n, 0.18, [wire, wire, 0.012]), rel=1e-12)
        assert result["staleness"] == pytest.approx(n - 1, abs=1e-9)


def test_the_largest_population_of_the_shipped_model():
    result = solve(load("models/sgd/async_ps.spn", params={"workers": 4096, "bandwidth": "400 Gbit/s"}))
    assert result["steps"] == pytest.approx(1 / 0.012, rel=1e-9)  # the server is the bottleneck


def test_a_fixed_size_on_a_shared_link():
    assert solve(load("models/basics/shared_link.spn"))["rate"] == pytest.approx(38 / 21, rel=1e-12)


def test_laws_matter_by_their_means_alone():
    text = """units none
place think = 5, ask
link wire(capacity = 2)
timed work : think -> ask ~ {} servers inf
timed send : ask -> think ~ {} over wire latency 0.25
measure rate = throughput(send)
measure held = E(#ask)
"""
    means = [
        exact(text.format(work, size)).measures
        for work in ("exp(mean = 3)", "gamma(mean = 3, cv = 0.2)", "mix(0.5: exp(mean = 5), 0.5: det(1))")
        for size in ("exp(mean = 2)", "det(2)", "pareto(alpha = 3, scale = 4/3)", "uniform(1, 3)")
    ]
    assert all(m["rate"].value == pytest.approx(means[0]["rate"].value, rel=1e-12) for m in means)
    ends = exact(text.format("exp(mean = 3)", "det(2)"))
    assert ends["rate"] == pytest.approx(mean_value_analysis(5, 3.25, [1.0]), rel=1e-12)


def test_workers_told_apart_are_counted_together():
    told = """units none
param n : count = 40
link wire(capacity = 1)
place idle[i in 1..n] = 1, ready[i in 1..n]
for i in 1..n {
  timed send[i] : idle[i]  -> ready[i] ~ det(0.1) over wire
  timed work[i] : ready[i] -> idle[i]  ~ lognormal(mean = 2, cv = 0.3)
}
measure steps = sum(throughput(work[i]) for i in 1..n)
measure one   = P(#idle[1] == 1)
"""
    result = exact(told)
    assert result.details["chains"] == 1
    rate = mean_value_analysis(40, 2.0, [0.1])
    assert result["steps"] == pytest.approx(rate, rel=1e-12)
    assert result["one"] == pytest.approx(1 - rate * 2 / 40, rel=1e-12)


def test_tokens_outside_of_the_long_run_join_it():
    text = "units none\nplace start = 2, a = 1, b, never\ntimed go : start -> a ~ exp(rate = 1)\n"
    text += "timed x : a -> b ~ exp(rate = 2)\ntimed y : b -> a ~ exp(rate = 3)\ntimed z : never -> a ~ exp(rate = 3)\n"
    text += "measure held = E(#a)\nmeasure gone = E(#start) + E(#never) + throughput(go) + throughput(z)\n"
    result = exact(text)
    assert result["held"] == pytest.approx(solve(parse(text), method="ctmc")["held"], rel=1e-12)
    assert result["gone"] == 0


def test_populations_whose_terms_leave_the_range_of_numbers():
    """Two single servers of rates 1 and 2: truncated geometric."""
    text = "units none\nparam n : count = 3000\nplace a = n, b\ntimed x : a -> b ~ exp(rate = 1000)\ntimed y : b -> a ~ exp(rate = 2000)\n"
    text += "measure held = E(#b)\nmeasure rate = throughput(x)\n"
    result = exact(text)
    assert result["held"] == pytest.approx(1.0, rel=1e-10)
    assert result["rate"] == pytest.approx(1000, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_against_their_chains(seed):
    rng = random.Random(seed)
    n = rng.randint(2, 4)
    places = [f"p{k}" for k in range(n)]
    lines = ["units none", "link wire(capacity = 3)", *(f"place {p} = {rng.randint(0 if k else 1, 3)}" for k, p in enumerate(places))]
    for k, p in enumerate(places):
        onto = {places[(k + 1) % n], *rng.sample(places, rng.randint(0, n - 1))}
        lines.append(f"place v{k}")
        law = f"exp(mean = {rng.choice([0.3, 1, 2.5])})"
        how = rng.choice(["servers inf", "servers 2", "", "over wire", "over wire", "over wire latency 0"])
        lines.append(f"timed t{k} : {p} -> v{k} ~ {law} {how}")
        lines += [f"immediate i{k}_{q} : v{k} -> {q} weight {rng.randint(1, 4)}" for q in sorted(onto)]
    lines += [f"measure m{k} = E(#{p})\nmeasure c{k} = throughput(t{k})\nmeasure z{k} = P(#{p} == 0)" for k, p in enumerate(places)]
    lines += [f"measure g = E(#{places[0]} | t{n - 1})", "measure u = utilisation(wire)"]
    text = "\n".join(lines) + "\n"
    model = parse(text)
    assert not productform.may(model), text
    ours, chain = solve(model, method="product-form"), solve(model, method="ctmc")
    assert {k: v.value for k, v in ours.measures.items()} == pytest.approx(
        {k: v.value for k, v in chain.measures.items()}, rel=1e-8, abs=1e-12
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("timed x : 2*a -> 2*b ~ exp(rate = 1)", "does not move one token"),
        ("timed x : a -> b ~ exp(rate = 1) when #b < 2", "has a condition"),
        ("timed x : a -> b ~ exp(rate = 1 + #b)", "other places"),
        ("timed x : a -> b ~ det(1)", "1 servers for 3 tokens"),
        ("timed x : a -> b ~ det(1) servers 2", "2 servers for 3 tokens"),
        ("timed x : a -> b ~ exp(rate = 1)\ntimed w : a -> b ~ det(1) servers inf", "race for the tokens"),
        ("timed x : a -> b ~ exp(rate = 1)\nimmediate w : a -> b", "timed and immediate"),
        ("timed x : a -> b ~ exp(rate = 1)\nplace c\ntimed w : b -> c ~ exp(rate = 1)", "come to rest in c"),
        ("timed x : a -> b ~ pareto(alpha = 1, scale = 1) servers inf", "mean of x is inf"),
        ("timed x : a -> b ~ exp(rate = 3 - #a)", "speed of x is 0 with 3 tokens"),
    ],
)
def test_what_is_no_such_network_is_refused(line, said):
    text = f"units none\nplace a = 3, b\n{line}\ntimed y : b -> a ~ exp(rate = 2)\nmeasure m = E(#a)\n"
    found = productform.may(parse(text))
    assert found
    assert all(d.code == "E0655" for d in found)
    assert any(said in d.message for d in found), [d.message for d in found]
    assert all(d.span is not None for d in found)
    with pytest.raises(AnalysisError):
        solve(parse(text), method="product-form")


def test_bounded_laws_alone_are_refused():
    """Two fixed times: the phase in which two tokens began stays for ever, and with it what they share."""
    text = (
        "units none\nlink w(capacity = 1)\nplace a = 2, b\ntimed x : a -> b ~ det(1) over w\ntimed y : b -> a ~ uniform(1, 2) servers inf\n"
    )
    assert any("bounded or discrete" in m for m in codes(text + "measure m = E(#a)\n"))


def test_joint_questions_are_refused_by_name():
    text = ROUND + "measure both = P(#a > 0 and #b > 0)\n"
    with pytest.raises(AnalysisError, match="joint distribution"):
        exact(text)
    assert solve(parse(text)).method == "ctmc"


def test_auto_takes_it_where_the_chain_is_large():
    big = parse(ROUND, params={"n": 200})
    result = solve(big)
    assert result.method == "product-form"
    assert result["rate"] < 2
    assert math.isfinite(result["sq"])
    assert solve(parse(ROUND)).method == "ctmc"
