"""One general clock at a time: closed forms, textbook embedded chains, a phase-type twin on random nets, and the simulator."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from spn.dist.families import (
    Deterministic,
    Empirical,
    Erlang,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    Shifted,
    Triangular,
    TruncatedNormal,
    Uniform,
    Weibull,
)
from spn.dist.law import Law
from spn.errors import AnalysisError
from spn.expr.nodes import Binary, BinaryOp, as_node, tokens
from spn.loading import parse
from spn.markov.regenerative import regeneration
from spn.markov.renewal import Renewal
from spn.measure import Average, Measure, Passage, Quantile, Utilisation
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.net.clocked import clocked
from spn.reach.regenerative import regenerative
from spn.reach.space import Limits
from spn.result import Result
from spn.solvers import mrp, solve
from tests.oracles.queues import arrivals, dm1k, mg1k
from tests.solvers.nets import E, P, X, model

DET = Deterministic(value=Fraction(1))


def queue(size: int, law: Law, rate: float = 0.8, **options) -> NetBuilder:
    b = NetBuilder("queue")
    b.place("q", 0, capacity=size)
    b.timed("arrive", (), "q", rate=rate)
    b.timed("serve", "q", (), law=law, **options)
    return b


def shares(place: str, size: int) -> dict[str, Average]:
    """P(#place == k) for all k."""
    return {f"p{k}": P(Binary(BinaryOp.EQ, tokens(place), as_node(k))) for k in range(size + 1)}


def exact(net: NetBuilder, **measures) -> Result:
    result = mrp.compute(model(net, **measures))
    assert result.converged
    assert result.residual is not None and result.residual < 1e-12
    return result


# --- queues -------------------------------------------------------------------------------------------------------------------------


LAWS = [
    pytest.param(DET, None, 1.0, 1.0, id="det"),
    pytest.param(Uniform(low=0.2, high=1.8), lambda x: 1 / 1.6, 0.2, 1.8, id="uniform"),
    pytest.param(Weibull(shape=2.0, scale=1.0), lambda x: 2 * x * math.exp(-x * x), 0.0, 8.0, id="weibull"),
    pytest.param(
        Lognormal(mu=-0.2, sigma=0.5),
        lambda x: math.exp(-0.5 * ((math.log(x) + 0.2) / 0.5) ** 2) / (x * 0.5 * math.sqrt(2 * math.pi)) if x > 0 else 0.0,
        0.0,
        40.0,
        id="lognormal",
    ),
    pytest.param(
        Gamma(shape=2.5, scale=0.4),
        lambda x: x**1.5 * math.exp(-x / 0.4) / (math.gamma(2.5) * 0.4**2.5),
        0.0,
        25.0,
        id="gamma",
    ),
]


@pytest.mark.parametrize(("law", "density", "low", "high"), LAWS)
@pytest.mark.parametrize("size", [1, 4, 10])
def test_a_single_server_queue_by_its_chain_at_departures(law, density, low, high, size) -> None:
    right = mg1k(0.8, law.mean(), arrivals(0.8, density, 1.0, low, high, size), size)
    result = exact(queue(size, law), served=X("serve"), busy=Utilisation("serve"), **shares("q", size))
    for k, p in enumerate(right):
        assert result[f"p{k}"] == pytest.approx(p, rel=1e-9, abs=1e-12)
    assert result["served"] == pytest.approx(0.8 * (1 - right[-1]), rel=1e-10)
    assert result["busy"] == pytest.approx(1 - right[0], rel=1e-10)


def test_the_published_queue() -> None:
    """M/D/1/3 at load 0.8 to nine digits, as published for DSPN solvers."""
    result = exact(queue(3, DET), **shares("q", 3))
    assert [result[f"p{k}"] for k in range(4)] == pytest.approx([0.282639192, 0.346385898, 0.267675921, 0.103298990], abs=5e-10)


@pytest.mark.parametrize("size", [1, 3, 6])
def test_constant_times_between_arrivals(size: int) -> None:
    b = NetBuilder("dm1k")
    b.place("q")
    b.timed("serve", "q", (), rate=1.1)
    b.timed("arrive", (), "here", law=Deterministic(value=Fraction(3, 4)))
    b.place("here")
    b.immediate("enter", "here", "q", when=tokens("q") < size)
    b.immediate("lose", "here", (), when=tokens("q") >= size)
    right = dm1k(0.75, 1.1, size)
    result = exact(b, lost=X("lose"), entered=X("enter"), arrived=X("arrive"), served=X("serve"))
    assert result["arrived"] == pytest.approx(4 / 3, rel=1e-12)
    assert result["lost"] == pytest.approx(4 / 3 * right[-1], rel=1e-9)
    assert result["served"] == pytest.approx(result["entered"], rel=1e-12)


# --- semi-Markov ----------------------------------------------------------------------------------------------------------------------


EVERY = [
    DET,
    Uniform(low=0.5, high=1.5),
    Triangular(low=0.1, mode=0.3, high=2.0),
    Weibull(shape=0.7, scale=1.0),
    Lognormal(mu=0.1, sigma=1.0),
    Pareto(alpha=2.5, scale=0.5),
    TruncatedNormal(mu=0.5, sigma=0.5),
    Gamma(shape=0.6, scale=1.5),
    Empirical(values=(Fraction(1, 2), 2.0, 7.0), weights=(1, 5, 2)),
    Shifted(law=Gamma(shape=1.5, scale=1.0), by=0.25),
    Mixture(parts=((0.2, DET), (0.8, Uniform(low=2.0, high=3.0)))),
]


def test_a_cycle_of_every_law_turns_at_the_sum_of_the_means() -> None:
    b = NetBuilder("cycle")
    for k in range(len(EVERY)):
        b.place(f"s{k}", int(k == 0))
    for k, law in enumerate(EVERY):
        b.timed(f"t{k}", f"s{k}", f"s{(k + 1) % len(EVERY)}", law=law)
    result = exact(b, x=X("t0"), **{f"e{k}": E(f"s{k}") for k in range(len(EVERY))})
    total = math.fsum(law.mean() for law in EVERY)
    assert result["x"] == pytest.approx(1 / total, rel=1e-12)
    assert [result[f"e{k}"] for k in range(len(EVERY))] == pytest.approx([law.mean() / total for law in EVERY], rel=1e-12)


@pytest.mark.parametrize("law", EVERY, ids=lambda law: law.describe())
def test_a_race_against_an_exponential_clock_gives_the_laplace_transform(law: Law) -> None:
    """P(law first) = E[exp(-X)], by an independent rule: the mean of exp(-x) over the quantiles, or over the atoms."""
    from scipy.integrate import quad

    if law.atoms() is not None:
        right = math.fsum(p * math.exp(-float(v)) for v, p in law.atoms())
    else:
        edges = [0.0, *(float(law.quantile(p)) for p in (0.0, 0.2, 0.5, 0.8, 0.99, 0.999999)), 60.0]
        inner = [1.0, 2.0, 3.0, 0.3]  # where a law above jumps or bends
        parts = sorted({*(e for e in edges if e <= 60), *inner})
        right = math.fsum(quad(lambda x: math.exp(-x) * float(law.cdf(x)), a, b, epsabs=1e-13)[0] for a, b in pairwise(parts))
    b = NetBuilder("race")
    b.place("a", 1)
    b.place("won")
    b.place("lost")
    b.timed("law", "a", "won", law=law)
    b.timed("other", "a", "lost", rate=1)
    b.timed("back", "won", "a", rate=1)
    b.timed("again", "lost", "a", rate=1)
    result = exact(b, won=X("law"), lost=X("other"))
    assert result["won"] / (result["won"] + result["lost"]) == pytest.approx(right, rel=1e-9)


def test_reducible_nets_give_every_class_with_its_probability() -> None:
    """An immediate choice, weights 1:3, into one of two cycles det(1), exp."""
    b = NetBuilder("two")
    for p in ("start", "a", "b", "c", "d"):
        b.place(p, int(p == "start"))
    b.immediate("left", "start", "a", weight=1)
    b.immediate("right", "start", "c", weight=3)
    b.timed("work_a", "a", "b", law=DET)
    b.timed("rest_a", "b", "a", rate=1)
    b.timed("work_c", "c", "d", law=DET)
    b.timed("rest_c", "d", "c", rate=3)
    result = exact(b, a=E("a"), c=E("c"))
    assert (result["a"], result["c"]) == (pytest.approx(0.125, rel=1e-14), pytest.approx(0.5625, rel=1e-14))
    assert [(c.probability, c.kind) for c in result.classes] == [(pytest.approx(0.25), "recurrent"), (pytest.approx(0.75), "recurrent")]
    assert result.classes[0].measures["a"] == pytest.approx(0.5)


def test_an_absorbing_marking_is_named() -> None:
    b = NetBuilder("end")
    for p in ("a", "b", "c"):
        b.place(p, int(p == "a"))
    b.timed("late", "a", "b", law=Deterministic(value=2))
    b.timed("soon", "a", "c", rate=0.5)
    result = exact(b, b=E("b"), c=E("c"))
    assert (result["b"], result["c"]) == (pytest.approx(math.exp(-1)), pytest.approx(1 - math.exp(-1)))
    assert [c.kind for c in result.classes] == ["dead", "dead"]
    assert any("no transition is enabled" in note for note in result.notes)


# --- preemption ---------------------------------------------------------------------------------------------------------------------


def interrupted(law: Law, memory: str, failing: float = 0.4, mending: float = 1.5) -> NetBuilder:
    b = NetBuilder("interrupted")
    b.place("up", 1)
    b.place("down")
    b.timed("work", "up", "up", law=law, memory=memory)
    b.timed("fail", "up", "down", rate=failing)
    b.timed("mend", "down", "up", rate=mending)
    return b


@pytest.mark.parametrize("law", [DET, Uniform(low=0.5, high=2.5)], ids=["det", "uniform"])
def test_work_that_is_begun_again_after_every_failure(law: Law) -> None:
    """E[T] = (1 / phi(l) - 1) (1 / l + 1 / m) from the start of the work (V. F. Nicola, 1986)."""
    b = NetBuilder("restart")
    for p, k in (("job", 1), ("up", 1), ("down", 0)):
        b.place(p, k)
    b.timed("work", ("job", "up"), ("job", "up"), law=law)
    b.timed("fail", "up", "down", rate=0.4)
    b.timed("mend", "down", "up", rate=1.5)
    phi = math.exp(-0.4) if law is DET else (math.exp(-0.2) - math.exp(-1)) / (0.4 * 2)
    mean = (1 / phi - 1) * (1 / 0.4 + 1 / 1.5)
    assert exact(b, x=X("work"))["x"] == pytest.approx(1 / mean, rel=1e-12)


@pytest.mark.parametrize("law", [DET, Lognormal(mu=0.2, sigma=0.6)], ids=["det", "lognormal"])
def test_work_that_is_resumed_loses_only_the_time_down(law: Law) -> None:
    b = NetBuilder("resume")
    for p, k in (("job", 1), ("up", 1), ("down", 0)):
        b.place(p, k)
    b.timed("work", ("job", "up"), ("job", "up"), law=law, memory="resume")
    b.timed("fail", "up", "down", rate=0.4)
    b.timed("mend", "down", "up", rate=1.5)
    result = exact(b, x=X("work"), down=E("down"))
    assert result["x"] == pytest.approx(1.5 / 1.9 / law.mean(), rel=1e-12)
    assert result["down"] == pytest.approx(0.4 / 1.9, rel=1e-12)


def test_a_clock_whose_speed_the_surroundings_change() -> None:
    """The time to do work d at speed v(state) of a chain Q on the states: integral over (0, d) of p exp(V^-1 Q x) V^-1 1."""
    from scipy.integrate import quad
    from scipy.linalg import expm

    b = NetBuilder("speeds")
    b.place("slow")
    b.place("fast", 1)
    b.place("job", 1)
    b.timed("work", "job", "job", law=DET, speed=0.5 * tokens("slow") + 3 * tokens("fast"))
    b.timed("down", "fast", "slow", rate=0.7)
    b.timed("up", "slow", "fast", rate=0.3)
    speed = np.array([0.5, 3.0])
    q = np.array([[-0.3, 0.3], [0.7, -0.7]]) / speed[:, None]
    step = expm(q)
    p = np.linalg.matrix_power(step, 400)[0]  # the state when the work begins, in the long run
    mean = quad(lambda x: float(p @ expm(q * x) @ (1 / speed)), 0, 1, epsabs=1e-13)[0]
    assert exact(b, x=X("work"))["x"] == pytest.approx(1 / mean, rel=1e-10)


def test_one_transfer_at_the_rate_its_link_leaves_it() -> None:
    """A constant size beside an exponential one on one link: alone at 4, together at 2 bytes/s each."""
    net = """
        units none
        link l(capacity = 4)
        place a = 1, b = 1, off
        timed send : a -> a ~ det(2) over l
        timed other : b -> off ~ exp(mean = 3) over l
        timed back : off -> b ~ exp(rate = 0.5)
        measure x = throughput(send)
        measure used = utilisation(l)
    """
    result = solve(parse(net))
    alone = (2 / 3) / (2 / 3 + 0.5)
    assert result.method == "mrp"
    assert result["used"] == pytest.approx(1, rel=1e-12)
    assert result["x"] == pytest.approx((4 * alone + 2 * (1 - alone)) / 2, rel=1e-12)


# --- against a phase-type twin ----------------------------------------------------------------------------------------------------------


NEARLY = 1e-10  # added to the shape, so that Erlang's law is one of no phases
TWINS = 24


def random_net(seed: int, law: Law) -> NetBuilder:
    """A few tokens on a ring, and one clock that everything may stop, reset, slow down or freeze."""
    rng = random.Random(seed)
    b = NetBuilder(f"random{seed}")
    size = rng.randint(3, 4)
    for k in range(size):
        b.place(f"p{k}", rng.randint(0, 2))
    b.place("on", 1)
    b.place("off")
    b.place("passing")
    for k in range(size):
        resets = ["work"] if rng.random() < 0.3 else []
        b.timed(f"t{k}", f"p{k}", f"p{(k + 1) % size}", rate=rng.choice([0.3, 1.0, 2.5]), servers=rng.choice([1, 2, "inf"]), resets=resets)
    kept = rng.choice([["on"], ["on", "p0"], ["p0"], ["p1"]])
    speed = rng.choice([1, 1 + tokens("p1"), tokens("p2"), tokens("on") + tokens("p1")])
    b.timed("work", kept, [*kept[:-1], "passing"], law=law, memory=rng.choice(["restart", "resume"]), speed=speed, servers=1)
    back = kept[-1]
    b.immediate("this", "passing", back, weight=2)
    b.immediate("that", "passing", back, weight=1, resets=["work"] if rng.random() < 0.3 else [])
    b.timed("stop", "on", "off", rate=0.6)
    b.timed("go", "off", "on", law=Erlang(k=2, rate=2.0))
    return b


@pytest.mark.parametrize("seed", range(TWINS))
def test_random_nets_have_the_values_of_their_phase_type_twins(seed: int) -> None:
    asked = {"work": X("work"), "that": X("that"), "on": E("on"), "p0": E("p0"), "p2": E("p2"), "seen": X("t0")}
    general = mrp.compute(model(random_net(seed, Gamma(shape=2 + NEARLY, scale=0.5)), **asked))
    twin = solve(model(random_net(seed, Erlang(k=2, rate=2.0)), **asked), method="ctmc")
    assert general.converged
    for name in asked:
        assert general[name] == pytest.approx(twin[name], rel=2e-9, abs=1e-12), name


@pytest.mark.parametrize("seed", range(6))
def test_the_embedded_chain_is_the_same_written_down_and_applied(seed: int) -> None:
    net = random_net(seed, Lognormal(mu=0.0, sigma=0.5)).build()
    c = clocked(net)
    r = Renewal(regenerative(net, c, (), Limits()), [mrp.clock_of(t) for t in c.general])
    one, other = regeneration(r, written=True), regeneration(r, written=False)
    assert one.converged and other.converged
    assert np.abs(one.pi - other.pi).sum() < 1e-9
    assert [k.probability for k in one.classes] == pytest.approx([k.probability for k in other.classes], abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_random_nets_lie_in_the_intervals_of_the_simulator(seed: int) -> None:
    """5 values each at 4 standard errors: a false alarm has a probability of about 1e-3 in all; the seeds are fixed."""
    asked = {"work": X("work"), "on": E("on"), "p0": E("p0"), "p2": E("p2"), "seen": X("t0")}
    m = model(random_net(seed, Uniform(low=0.2, high=1.4)), **asked)
    right = mrp.compute(m)
    found = solve(m, method="simulate", seed=5, precision=0.02, confidence=0.99993666, max_firings=200_000)
    for name in asked:
        value = found.measures[name]
        assert abs(value.value - right[name]) <= value.half_width + 1e-12, name


# --- other questions, and refusals ------------------------------------------------------------------------------------------------------


def test_first_passages_have_means() -> None:
    """Until the work is done once, with failures: as the time between two ends of work that is resumed, or begun again."""
    condition = Binary(BinaryOp.EQ, tokens("done"), as_node(1))
    for memory, right in (("resume", 2 * (1 + 0.4 / 1.5)), ("restart", (math.exp(0.8) - 1) * (1 / 0.4 + 1 / 1.5))):
        b = NetBuilder("once")
        for p in ("up", "down", "done", "job"):
            b.place(p, int(p in ("up", "job")))
        b.timed("work", ("job", "up"), ("done", "up"), law=Deterministic(value=2), memory=memory)
        b.timed("fail", "up", "down", rate=0.4)
        b.timed("mend", "down", "up", rate=1.5)
        result = mrp.compute(model(b, mean=Passage(condition)))
        assert result["mean"] == pytest.approx(right, rel=1e-10)


def test_a_first_passage_that_may_never_happen() -> None:
    b = NetBuilder("maybe")
    for p in ("a", "b", "c"):
        b.place(p, int(p == "a"))
    b.timed("late", "a", "b", law=Deterministic(value=2))
    b.timed("soon", "a", "c", rate=0.5)
    result = mrp.compute(model(b, mean=Passage(Binary(BinaryOp.EQ, tokens("b"), as_node(1)))))
    assert result["mean"] == math.inf
    assert any("0.367879" in note for note in result.notes)


def test_quantiles_over_time_and_over_firings() -> None:
    result = exact(queue(4, DET), busy=Quantile(0.9, tokens("q")), seen=Quantile(0.5, tokens("q"), "serve"))
    right = mg1k(0.8, 1.0, arrivals(0.8, None, 1.0, 0, 0, 4), 4)
    assert result["busy"] == next(k for k in range(5) if math.fsum(right[: k + 1]) >= 0.9)
    assert result["seen"] == 2


@pytest.mark.parametrize(
    ("net", "code"),
    [
        (queue(3, DET, servers=2), "E0660"),
        (queue(3, DET, memory="repeat"), "E0611"),
        (queue(3, Pareto(alpha=1.0, scale=1.0)), "E0661"),
        (queue(3, DET, scale=1 + tokens("q")), "E0612"),
    ],
)
def test_what_is_refused(net: NetBuilder, code: str) -> None:
    with pytest.raises(AnalysisError) as e:
        mrp.compute(model(net, x=X("serve")))
    assert [d.code for d in e.value.diagnostics] == [code]


def test_two_clocks_are_named_with_a_marking_and_their_line() -> None:
    text = "units none\nplace a = 1, b = 1\ntimed s : a -> a ~ det(1)\ntimed t : b -> b ~ lognormal(mean = 1, cv = 1)\nmeasure x = E(#a)"
    with pytest.raises(AnalysisError) as e:
        solve(parse(text), method="mrp")
    (d,) = e.value.diagnostics
    assert "s and t" in d.message and "a=1, b=1" in d.message
    assert d.span is not None and d.span.text == "det(1)"


def test_a_parked_clock_counts_as_alive() -> None:
    b = interrupted(DET, "resume")
    b.timed("other", "down", "down", law=Uniform(low=1.0, high=2.0))
    with pytest.raises(AnalysisError, match="work and other"):
        mrp.compute(model(b, x=X("work")))


def test_a_heavy_tail_that_is_cut_off_is_said_unless_it_does_not_matter() -> None:
    heavy = Pareto(alpha=1.1, scale=1.0)
    at_rest = mrp.compute(model(queue(3, heavy), x=X("serve")))
    assert at_rest.converged and "tail_left_out" not in at_rest.details
    b = queue(3, heavy)
    b.place("slow", 1)
    b.place("slower")
    b.timed("rarely", "slow", "slower", rate=1e-9)
    b.timed("hardly", "slower", "slow", rate=1e-9)
    moving = mrp.compute(model(b, x=X("serve")))
    assert moving.details["tail_left_out"] > 1e-10
    assert not moving.converged


def test_it_is_chosen_and_says_why() -> None:
    m = Model(name="q", net=queue(3, DET).build(), measures=(Measure(name="x", body=X("serve")),), unitless=True)
    result = solve(m)
    assert (result.method, result.reason) == ("mrp", "one general clock at a time (serve): the chain embedded where it starts")


# --- over time ------------------------------------------------------------------------------------------------------------------------


def test_a_race_over_time_jumps_when_the_constant_is_over() -> None:
    net = """
        units none
        place a = 1, b, c
        timed late : a -> b ~ det(2)
        timed soon : a -> c ~ exp(rate = 0.5)
        measure a1 = P(#a == 1) at 1
        measure a2 = P(#a == 1) at 1.999
        measure b1 = P(#b == 1) at 1.999
        measure b2 = P(#b == 1) at 2
        measure c5 = P(#c == 1) at 5
        measure late5 = P(time until #b == 1 <= 5)
        measure soon1 = P(time until #c == 1 <= 1)
        measure spent = E(#a) over 0..3
        measure late = E(time until #b + #c == 1)
    """
    result = solve(parse(net), method="mrp")
    right = {"a1": math.exp(-0.5), "a2": math.exp(-0.9995), "b1": 0, "b2": math.exp(-1), "c5": 1 - math.exp(-1), "late5": math.exp(-1)}
    right |= {"soon1": 1 - math.exp(-0.5), "spent": 2 * (1 - math.exp(-1)) / 3, "late": 2 * (1 - math.exp(-1))}
    for name, value in right.items():
        assert result[name] == pytest.approx(value, abs=1e-12), name
    assert result.converged


def test_constant_times_between_arrivals_are_counted_over_time() -> None:
    """Arrivals at 0.75, 1.5, …; each served in an exponential time, all at once: 1 - exp(-x) of those of age x have gone."""
    net = """
        units none
        place here, q
        timed arrive : -> q ~ det(0.75)
        timed serve : q -> ~ exp(rate = 1) servers inf when #q <= 6
        immediate lose : 7*q -> 6*q
        measure before = E(#q) at 0.74
        measure two = E(#q) at 1.5
        measure count = throughput(arrive) over 0..3
        measure now = throughput(arrive) at 1.5
    """
    result = solve(parse(net), method="mrp")
    assert result["before"] == 0
    assert result["two"] == pytest.approx(1 + math.exp(-0.75), abs=1e-12)
    assert result["count"] == pytest.approx(4 / 3, abs=1e-12)
    assert result["now"] == math.inf


def test_a_renewal_process_of_two_constants_over_time() -> None:
    """A clock of 1 or 2, an exponential rest: the density of its starts solves a renewal equation, here by small steps of its own."""
    net = """
        units none
        place a = 1, b
        timed work : a -> b ~ empirical([1, 2], weights = [1, 3])
        timed rest : b -> a ~ exp(rate = 0.8)
        measure x = P(#a == 1) at 4.3
        measure y = P(#a == 1) at 2
    """
    result = solve(parse(net), method="mrp")

    def renewal(steps: int) -> tuple[float, float]:
        """P(#a == 1) at 2 and 4.3, by the flow r(t) of starts: r = 0.8 p_b, p_b' = sum of p r(t - x) - 0.8 p_b, in Heun's steps."""
        h = 1 / steps
        pb, r = 0.0, [0.0]
        found = []
        for k in range(round(4.3 * steps)):
            pb += (0.25 if k == steps else 0.0) + (0.75 if k == 2 * steps else 0.0)
            if k == 2 * steps:
                found.append(1 - pb)
            ends = [sum(w * r[j - x * steps] for w, x in ((0.25, 1), (0.75, 2)) if j > x * steps) for j in (k, k + 1)]
            ends[0] = sum(w * r[k - x * steps] for w, x in ((0.25, 1), (0.75, 2)) if k >= x * steps)
            r[k] = 0.8 * pb
            first = ends[0] - 0.8 * pb
            second = ends[1] - 0.8 * (pb + h * first)
            pb += h * (first + second) / 2
            r.append(0.8 * pb)
        return found[0], 1 - pb

    coarse, fine = renewal(200), renewal(400)
    right = [f + (f - c) / 3 for c, f in zip(coarse, fine, strict=True)]
    assert result["y"] == pytest.approx(right[0], abs=2e-4)
    assert result["x"] == pytest.approx(right[1], abs=2e-3)


def test_a_queue_over_time_settles_to_its_long_run_and_agrees_with_the_simulator() -> None:
    """4 standard errors, 2 values: a false alarm has a probability of 1.3e-4; the seed is fixed."""
    net = """
        units none
        place q capacity 5
        timed arrive : -> q ~ exp(rate = 0.9)
        timed serve : q -> ~ det(1)
    """
    early = "measure l = E(#q) at 3.3 measure a = E(#q) over 0..6"
    late = "measure l = E(#q) measure m = E(#q) at 300 measure x = throughput(serve) measure y = throughput(serve) at 300"
    settled = solve(parse(net + late))
    assert settled["l"] == pytest.approx(settled["m"], rel=1e-10)
    assert settled["x"] == pytest.approx(settled["y"], rel=1e-10)
    exact_ones = solve(parse(net + early))
    found = solve(parse(net + early), method="simulate", seed=3, replications=4_000, confidence=0.99993666)
    assert exact_ones.method == "mrp"
    for name in ("l", "a"):
        assert abs(found[name] - exact_ones[name]) <= found.measures[name].half_width


@pytest.mark.parametrize(
    ("law", "options", "why"),
    [
        ("lognormal(mean = 1, cv = 1)", "", "not where one is continuous, as that of work: lognormal"),
        ("det(1)", "speed 1 + #b", "changes its speed"),
        ("det(1)", "memory resume", "is stopped and keeps its age"),
    ],
)
def test_what_is_not_answered_at_a_time(law: str, options: str, why: str) -> None:
    text = f"""
        units none
        place a = 1, b, c
        timed work : a -> a ~ {law} {options} when #c == 0
        timed go : -> b ~ exp(rate = 1) when #b < 1
        timed back : b -> c ~ exp(rate = 1) when #c < 1
        timed on : c -> ~ exp(rate = 1)
        measure x = E(#b) at 3
    """
    with pytest.raises(AnalysisError, match=why) as e:
        solve(parse(text), method="mrp")
    assert [d.code for d in e.value.diagnostics] == ["E0662"]
    assert e.value.diagnostics[0].span is not None
