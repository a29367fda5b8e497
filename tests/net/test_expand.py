"""Phase-type expansion against closed forms, and against chains written by hand over the phases of every clock."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction as F

import pytest

from spn.dist.families import Coxian, Erlang, Exponential, HyperExponential, HypoExponential
from spn.expr.nodes import equal, tokens
from spn.measure import Utilisation
from spn.net import semantics
from spn.net.builder import NetBuilder
from spn.net.expand import expand, running_clocks, skeleton
from spn.net.model import Timed
from spn.reach import explore
from spn.solvers import solve
from tests.oracles.chains import stationary
from tests.solvers.nets import E, P, X, model


def exact(m):
    result = solve(m, method="ctmc")
    assert result.converged
    return result


def mean(pi: dict[Hashable, F], reward: Callable[..., F | int]) -> float:
    return float(sum(p * reward(*s) for s, p in pi.items()))


# --- single servers ---------------------------------------------------------------------------------------------------------


def queue(law, size: int, servers=1) -> NetBuilder:
    b = NetBuilder()
    b.place("free", size)
    b.place("q")
    b.timed("arrive", "free", "q", rate=1)
    b.timed("serve", "q", "free", law=law, servers=servers)
    return b


def test_m_erlang_1_k():
    """State: stages of work left, (customers - 1) * 3 + stages of the one in service."""
    size, k, rate = 4, 3, F(2)

    def moves(n: int, stage: int) -> Iterable[tuple[F, tuple[int, int]]]:
        if n < size:
            yield F(1), (n + 1, stage if n else 1)
        if n and stage < k:
            yield rate, (n, stage + 1)
        if n and stage == k:
            yield rate, (n - 1, 1 if n > 1 else 0)

    pi = stationary((0, 0), lambda s: moves(*s))
    result = exact(
        model(queue(Erlang(k=k, rate=2.0), size), full=P(equal(tokens("q"), size)), mean=E("q"), x=X("serve"), u=Utilisation("serve"))
    )
    assert result["full"] == pytest.approx(mean(pi, lambda n, s: n == size), rel=1e-12)
    assert result["mean"] == pytest.approx(mean(pi, lambda n, s: n), rel=1e-12)
    assert result["x"] == pytest.approx(mean(pi, lambda n, s: rate * (s == k)), rel=1e-12)
    assert result["u"] == pytest.approx(mean(pi, lambda n, s: n > 0), rel=1e-12)
    assert result.details["states"] == len(pi)
    assert result.details["phases"] == {"serve": 3}


def test_m_h2_1_k():
    size, probs, rates = 3, (F(1, 4), F(3, 4)), (F(1, 2), F(3))

    def moves(n: int, phase: int) -> Iterable[tuple[F, tuple[int, int]]]:
        begin = list(zip(probs, (1, 2), strict=True))
        if n < size:
            yield from [(F(1), (n + 1, phase))] if n else [(p, (1, i)) for p, i in begin]
        if n:
            yield from [(rates[phase - 1], (0, 0))] if n == 1 else [(rates[phase - 1] * p, (n - 1, i)) for p, i in begin]

    pi = stationary((0, 0), lambda s: moves(*s))
    law = HyperExponential(probs=(0.25, 0.75), rates=(0.5, 3.0))
    result = exact(model(queue(law, size), full=P(equal(tokens("q"), size)), x=X("serve")))
    assert result["full"] == pytest.approx(mean(pi, lambda n, s: n == size), rel=1e-12)
    assert result["x"] == pytest.approx(mean(pi, lambda n, s: rates[s - 1] if n else 0), rel=1e-12)


def test_a_law_of_many_stages_is_near_the_constant():
    """M/E_k/1/5 tends to M/D/1/5 like 1/k; and k stages add a place and four transitions."""
    net = queue(Erlang(k=400, rate=400.0), 5).build()
    expanded = expand(net).net
    assert (len(expanded.places), len(expanded.transitions)) == (3, 5)
    x = [exact(model(queue(Erlang(k=k, rate=float(k)), 5), x=X("serve")))["x"] for k in (100, 200, 400)]
    assert (x[1] - x[0]) / (x[2] - x[1]) == pytest.approx(2, rel=0.02)


def test_an_exponential_law_with_servers_needs_no_expansion():
    net = queue(Exponential(rate=1.0), 5, servers=3).build()
    assert expand(net).phases == {}
    assert expand(net).net.places == net.places


def test_a_constant_scale_multiplies_the_work():
    b = queue(Erlang(k=2, rate=2.0), 2)
    scaled = NetBuilder()
    scaled.place("free", 2)
    scaled.place("q")
    scaled.timed("arrive", "free", "q", rate=1, scale=F(1, 2))
    scaled.timed("serve", "q", "free", law=Erlang(k=2, rate=1.0), scale=F(1, 2))
    faster = exact(model(scaled, x=X("serve")))
    b = NetBuilder()
    b.place("free", 2)
    b.place("q")
    b.timed("arrive", "free", "q", rate=2)
    b.timed("serve", "q", "free", law=Erlang(k=2, rate=2.0))
    assert faster["x"] == pytest.approx(exact(model(b, x=X("serve")))["x"], rel=1e-13)


# --- several servers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("servers", [1, 2, "inf"])
def test_machines_repaired_in_stages_by_several_servers(servers):
    machines, fail, rate = 4, F(1, 3), F(3)
    most = machines if servers == "inf" else servers

    def moves(first: int, second: int, waiting: int) -> Iterable[tuple[F, tuple[int, int, int]]]:
        up = machines - first - second - waiting
        idle = first + second < most
        yield fail * up, (first + idle, second, waiting + (not idle))
        yield rate * first, (first - 1, second + 1, waiting)
        yield rate * second, (first + (waiting > 0), second - 1, waiting - (waiting > 0))

    pi = stationary((0, 0, 0), lambda s: moves(*s))
    b = NetBuilder()
    b.place("up", machines)
    b.place("down")
    b.timed("fail", "up", "down", rate=fail, servers="inf")
    b.timed("repair", "down", "up", law=Erlang(k=2, rate=3.0), servers=servers)
    asked = {"up": E("up"), "x": X("repair")} | ({"u": Utilisation("repair")} if servers != "inf" else {})
    result = exact(model(b, **asked))
    assert result["up"] == pytest.approx(mean(pi, lambda a, c, w: machines - a - c - w), rel=1e-12)
    assert result["x"] == pytest.approx(mean(pi, lambda a, c, w: rate * c), rel=1e-12)
    if servers != "inf":
        assert result["u"] == pytest.approx(mean(pi, lambda a, c, w: F(a + c, most)), rel=1e-12)
    assert result.details["states"] == len(pi)


# --- memory -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("memory", "right"), [("restart", F(25, 16)), ("resume", F(5, 4))])
def test_mean_completion_of_an_interrupted_job(memory, right):
    """Work W of two stages of rate 2, stopped at rate 1 for a repair of mean 1/4. Resumed: E W (1 + 1/4). Restarted with new work:
    (1 / E exp(-W) - 1) (1 + 1/4), Nicola, Kulkarni and Trivedi, IEEE Trans. Softw. Eng. 13 (1987) 363."""
    b = NetBuilder()
    b.place("job", 1)
    b.place("up", 1)
    b.place("down")
    b.timed("work", "job", "job", law=Erlang(k=2, rate=2.0), tests=["up"], memory=memory)
    b.timed("stop", "up", "down", rate=1)
    b.timed("repair", "down", "up", rate=4)
    assert exact(model(b, c=1 / X("work")))["c"] == pytest.approx(float(right), rel=1e-13)


def thieves(memory: str, servers) -> NetBuilder:
    """Three tokens are worked on; some are stolen for a while, so that clocks stop."""
    b = NetBuilder()
    b.place("q", 3)
    b.place("away")
    b.timed("work", "q", "q", law=Coxian(rates=(2.0, 1.0), completion=(0.25, 1.0)), servers=servers, memory=memory)
    b.timed("steal", "q", "away", rate=2)
    b.timed("back", "away", "q", rate=1)
    return b


@pytest.mark.parametrize("servers", [1, 2, "inf"])
@pytest.mark.parametrize("memory", ["restart", "resume"])
def test_which_clock_stops_is_chosen_uniformly_and_parked_ones_go_on_first(memory, servers):
    """State: clocks running in phase 1 and 2, parked in 1 and 2, tokens left. Stage 1 has rate 2 and ends the work with 1/4; stage 2
    has rate 1."""
    most = 3 if servers == "inf" else servers
    State = tuple[int, int, int, int, int]

    def settle(a: int, b: int, p: int, r: int, q: int) -> Iterable[tuple[F, State]]:
        n = min(most, q)
        if a + b > n:
            keep = memory == "resume"
            for share, s in ((F(a, a + b), (a - 1, b, p + keep, r, q)), (F(b, a + b), (a, b - 1, p, r + keep, q))):
                yield from ((share * w, t) for w, t in settle(*s)) if share else ()
        elif a + b < n and p + r:
            for share, s in ((F(p, p + r), (a + 1, b, p - 1, r, q)), (F(r, p + r), (a, b + 1, p, r - 1, q))):
                yield from ((share * w, t) for w, t in settle(*s)) if share else ()
        elif a + b < n:
            yield from settle(a + 1, b, p, r, q)
        else:
            yield F(1), (a, b, p, r, q)

    def moves(s: State) -> Iterable[tuple[F, State]]:
        a, b, p, r, q = s
        events = [
            (F(2) * a * F(3, 4), (a - 1, b + 1, p, r, q)),
            (F(2) * a * F(1, 4), (a - 1, b, p, r, q)),
            (F(1) * b, (a, b - 1, p, r, q)),
            (F(2) * (q > 0), (a, b, p, r, q - 1)),
            (F(1) * (q < 3), (a, b, p, r, q + 1)),
        ]
        for rate, after in events:
            if rate:
                yield from ((rate * w, t) for w, t in settle(*after))

    start = next(s for _, s in settle(0, 0, 0, 0, 3))
    pi = stationary(start, moves)
    result = exact(model(thieves(memory, servers), x=X("work"), q=E("q")))
    assert result["x"] == pytest.approx(mean(pi, lambda a, b, p, r, q: F(a, 2) + b), rel=1e-12)
    assert result["q"] == pytest.approx(mean(pi, lambda a, b, p, r, q: q), rel=1e-12)
    assert result.details["states"] == len(pi)


@pytest.mark.parametrize("resets", [True, False])
@pytest.mark.parametrize("memory", ["restart", "resume"])
def test_aborted_in_one_instant_only_where_reset(memory, resets):
    """Cut at rate 1/2, at once restored: without a reset the work (mean 1) goes on undisturbed, with one it begins anew."""
    b = NetBuilder()
    for place, k in (("a", 1), ("b", 0), ("c", 1)):
        b.place(place, k)
    b.timed("cut", "a", "b", rate=F(1, 2))
    b.immediate("back", "b", ["a", "c"], flushes=["c"], resets=["work"] if resets else [])
    b.timed("work", "c", "c", law=Erlang(k=2, rate=2.0), memory=memory)
    transform = (2 / 2.5) ** 2
    right = 0.5 / (1 / transform - 1) if resets else 1.0
    assert exact(model(b, x=X("work")))["x"] == pytest.approx(right, rel=1e-12)


def test_a_reset_ends_parked_clocks_too():
    """Work of two stages (rate 2) is stopped at rate 1 and let go on at rate 1; letting go resets, so that resume works like restart."""

    def net(memory: str, resets: list[str]) -> NetBuilder:
        b = NetBuilder()
        for place, k in (("job", 1), ("up", 1), ("down", 0)):
            b.place(place, k)
        b.timed("work", "job", "job", law=Erlang(k=2, rate=2.0), tests=["up"], memory=memory)
        b.timed("stop", "up", "down", rate=1)
        b.timed("go", "down", "up", rate=1, resets=resets)
        return b

    x = {(m, bool(r)): exact(model(net(m, r), x=X("work")))["x"] for m in ("restart", "resume") for r in ([], ["work"])}
    assert x["resume", True] == pytest.approx(x["restart", False], rel=1e-13)
    assert x["restart", True] == pytest.approx(x["restart", False], rel=1e-13)
    assert x["resume", False] > x["restart", False] * 1.1


def test_a_transition_may_reset_itself():
    b = NetBuilder()
    b.place("q", 3)
    b.place("done")
    b.timed("first", "q", "done", law=Erlang(k=2, rate=2.0), servers="inf", resets=["first"])
    b.immediate("again", {"done": 1}, "q")
    # the least of three two-stage clocks, each time from the start: state = clocks in stage 2
    pi = stationary(0, lambda s: [(F(2) * (3 - s), s + 1), (F(2) * s, 0)])
    right = float(sum(p * 2 * s for s, p in pi.items()))
    assert exact(model(b, x=X("first")))["x"] == pytest.approx(right, rel=1e-12)


# --- links ------------------------------------------------------------------------------------------------------------------

SIZES = {
    "erlang": Erlang(k=3, rate=3 / 50),
    "hyper": HyperExponential(probs=(0.5, 0.5), rates=(1 / 10, 1 / 90)),
    "coxian": Coxian(rates=(1 / 30, 1 / 40), completion=(0.5, 1.0)),
    "hypo": HypoExponential(rates=(1 / 20, 1 / 30)),
}


@pytest.mark.parametrize("law", SIZES.values(), ids=SIZES)
def test_processor_sharing_depends_on_the_mean_size_only(law):
    b = NetBuilder()
    b.link("nic", 100)
    b.place("think", 4)
    b.place("out")
    b.timed("ask", "think", "out", rate=1, servers="inf")
    b.timed("send", "out", "think", law=law, over="nic")
    result = exact(model(b, x=X("send"), u=Utilisation("nic")))
    assert (result["x"], result["u"]) == pytest.approx((38 / 21, 19 / 21), rel=1e-11)


def test_the_ways_out_of_a_phase_together_are_one_transfer():
    """A transfer of a Coxian size and one of an exponential size, always both on the link, with shares 1 and 2 and a cap of 20 of 100
    on the first: it gets 20, whichever ways its phases have."""
    b = NetBuilder()
    b.link("nic", 100)
    b.place("a", 1)
    b.place("b", 1)
    b.timed("slow", "a", "a", law=SIZES["coxian"], over="nic", cap=20)
    b.timed("fast", "b", "b", law=Exponential(rate=1 / 50), over="nic", share=2)
    result = exact(model(b, slow=X("slow"), fast=X("fast"), u=Utilisation("nic")))
    assert (result["slow"], result["fast"], result["u"]) == pytest.approx((20 / 50, 80 / 50, 1), rel=1e-13)


# --- the pieces -------------------------------------------------------------------------------------------------------------


def odd() -> NetBuilder:
    """One transition with arcs of every kind, constant and marking-dependent, a guard and a capacity."""
    b = NetBuilder()
    for place, k in (("a", 4), ("b", 2), ("c", 1)):
        b.place(place, k)
    b.place("d", 0, capacity=3)
    b.timed(
        "t", {"a": tokens("c"), "b": 1}, {"d": tokens("b"), "a": 1}, law=Erlang(k=2, rate=1.0), servers=3,
        tests={"a": tokens("b")}, inhibitors={"c": tokens("d")}, when=tokens("a") < 5,
    )  # fmt: skip
    return b


def test_the_expression_for_running_clocks_is_the_semantics():
    net = odd().build()
    r = semantics.rules(net)
    (t,) = net.transitions
    assert isinstance(t, Timed)
    n = running_clocks(t, net)
    seen = set()
    for m in [(a, b, c, d) for a in range(7) for b in range(4) for c in range(4) for d in range(4)]:
        right = semantics.running_clocks(r, 0, m)
        seen.add(right)
        assert semantics.value(r, n, m) == right, m
    assert seen == {0, 1, 2, 3}


def test_names_that_are_taken_are_left_alone():
    for servers in (1, 2):
        b = queue(Erlang(k=2, rate=2.0), 2, servers=servers)
        b.place("serve phase", 7)
        b.place("serve in phase 1", 7)
        net = expand(b.build()).net
        assert len({p.name for p in net.places}) == len(net.places)
        assert [p.initial for p in net.places if p.name in ("serve phase", "serve in phase 1")] == [7, 7]


def test_the_skeleton_reaches_the_same_markings():
    net = thieves("resume", 2).build()
    places = len(net.places)
    expanded = {tuple(m[:places]) for m in explore(expand(net).net).markings.tolist()}
    assert {tuple(m) for m in explore(skeleton(net)).markings.tolist()} == expanded


def test_immediates_of_the_model_come_before_all_adjustments():
    """The clock sees only what is enabled before and after: a job that leaves and comes back by immediates keeps its work."""
    b = NetBuilder()
    for place, k in (("job", 1), ("tick", 1), ("x", 0), ("y", 0)):
        b.place(place, k)
    b.timed("work", "job", "job", law=Erlang(k=4, rate=4.0))
    b.timed("blink", "tick", "x", rate=100)
    b.immediate("off", ["x", "job"], "y", priority=1)
    b.immediate("on", "y", ["job", "tick"], priority=3)
    assert exact(model(b, x=X("work")))["x"] == pytest.approx(1, rel=1e-10)
