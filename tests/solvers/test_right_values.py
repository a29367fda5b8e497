"""Exact steady states against closed forms and hand-solved chains, each given in full in the test."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from spn.expr.nodes import equal, tokens
from spn.measure import Average, Sojourn, Throughput, Utilisation
from spn.net.builder import NetBuilder
from spn.solvers import solve
from tests.solvers.nets import E, P, X, model


def exact(m):
    result = solve(m, method="ctmc")
    assert result.converged and result.residual is not None and result.residual <= 1e-10
    return result


@pytest.mark.parametrize(("rates", "right"), [((1, 2, 4, 8), (8, 4, 2, 1)), ((1, 1, 1, 1), (1, 1, 1, 1))])
def test_a_ring_that_plain_iteration_cannot_solve(rates, right):
    b = NetBuilder()
    for i in range(4):
        b.place(f"P{i}", int(i == 0))
    for i, rate in enumerate(rates):
        b.timed(f"t{i}", f"P{i}", f"P{(i + 1) % 4}", rate=rate)
    result = exact(model(b, **{f"p{i}": E(f"P{i}") for i in range(4)}, x=X("t2")))
    assert [result[f"p{i}"] for i in range(4)] == pytest.approx([r / sum(right) for r in right], rel=1e-14)
    assert result["x"] == pytest.approx(rates[0] * right[0] / sum(right), rel=1e-14)


@pytest.mark.parametrize(
    ("servers", "empty", "full", "mean", "rate"),
    [
        (1, F(1, 63), F(32, 63), F(86, 21), F(62, 63)),
        (3, F(27, 211), F(16, 211), F(446, 211), F(390, 211)),
        ("inf", F(15, 109), F(4, 109), F(210, 109), F(210, 109)),
    ],
)
def test_single_k_and_infinite_servers_are_three_models(servers, empty, full, mean, rate):
    b = NetBuilder()
    b.place("FREE", 5)
    b.place("Q")
    b.timed("arrive", "FREE", "Q", rate=2)
    b.timed("serve", "Q", "FREE", rate=1, servers=servers)
    asked = {"empty": P(equal(tokens("Q"), 0)), "full": P(equal(tokens("Q"), 5)), "mean": E("Q"), "rate": X("serve")}
    result = exact(model(b, **asked))
    assert [result[m] for m in asked] == pytest.approx([float(empty), float(full), float(mean), float(rate)], rel=1e-13)


def test_one_transition_of_two_servers_is_not_two_transitions_of_one():
    def queue(*servers: int) -> NetBuilder:
        b = NetBuilder()
        b.place("free", 3)
        b.place("q")
        b.timed("arrive", "free", "q", rate=1)
        for i, k in enumerate(servers):
            b.timed(f"serve{i}", "q", "free", rate=1, servers=k)
        return b

    two = exact(model(queue(2), p0=P(equal(tokens("q"), 0)), x=X("serve0"), u=Utilisation("serve0")))
    assert (two["p0"], two["x"], two["u"]) == pytest.approx((4 / 11, 10 / 11, 5 / 11), rel=1e-14)
    assert exact(model(queue(1, 1), p0=P(equal(tokens("q"), 0))))["p0"] == pytest.approx(8 / 15, rel=1e-14)


def test_a_vanishing_loop_that_can_be_left_counts_its_turns():
    b = NetBuilder()
    for place, k in (("P", 1), ("V1", 0), ("V2", 0)):
        b.place(place, k)
    b.timed("go", "P", "V1", rate=2)
    b.immediate("loop1", "V1", "V2", weight=9)
    b.immediate("loop2", "V2", "V1")
    b.immediate("exit", "V1", "P")
    result = exact(model(b, **{t: X(t) for t in ("go", "loop1", "loop2", "exit")}))
    assert [result[t] for t in ("go", "loop1", "loop2", "exit")] == pytest.approx([2, 18, 18, 2], rel=1e-13)


@pytest.mark.parametrize("way", ["inhibitor", "capacity"])
@pytest.mark.parametrize(
    ("size", "throughput", "blocked", "starved", "mean", "states"),
    [
        (1, F(546, 671), F(216, 671), F(125, 671), F(36, 61), 4),
        (2, F(4026, 4651), F(1296, 4651), F(625, 4651), F(5652, 4651), 5),
        (10, F(11595850266, 11839990891), F(2176782336, 11839990891), F(244140625, 11839990891), F(84976444260, 11839990891), 13),
    ],
)
def test_two_machines_with_a_buffer_block_after_service(way, size, throughput, blocked, starved, mean, states):
    b = NetBuilder()
    for place, k in (("M1", 1), ("HELD", 0), ("M2", 1), ("IDLE", 0)):
        b.place(place, k)
    b.place("BUF", capacity=size if way == "capacity" else None)
    b.timed("work1", "M1", "HELD", rate=1.2)
    b.immediate("put", "HELD", ["BUF", "M1"], inhibitors={"BUF": size} if way == "inhibitor" else ())
    b.immediate("take", ["BUF", "IDLE"], "M2")
    b.timed("work2", "M2", "IDLE", rate=1)
    asked = {"x": X("work2"), "put": X("put"), "blocked": E("HELD"), "starved": E("IDLE"), "mean": E("BUF")}
    result = exact(model(b, **asked))
    right = [throughput, throughput, blocked, starved, mean]
    assert [result[m] for m in asked] == pytest.approx([float(r) for r in right], rel=1e-12)
    assert result.details["states"] == states


def test_an_initial_vanishing_marking_gives_an_initial_distribution():
    b = NetBuilder()
    b.place("s", 1)
    b.place("a")
    b.place("b")
    b.immediate("to_a", "s", "a")
    b.immediate("to_b", "s", "b", weight=3)
    b.timed("ab", "a", "b", rate=2)
    b.timed("ba", "b", "a", rate=1)
    result = exact(model(b, a=E("a"), start=X("to_a")))
    assert (result["a"], result["start"]) == pytest.approx((1 / 3, 0), abs=1e-15)


def test_classes_entered_from_an_initial_vanishing_marking_are_mixed_and_listed():
    b = NetBuilder()
    for place, k in (("s", 1), ("a", 0), ("a2", 0), ("b", 0)):
        b.place(place, k)
    b.immediate("to_a", "s", "a")
    b.immediate("to_b", "s", "b", weight=3)
    b.timed("out", "a", "a2", rate=1)
    b.timed("back", "a2", "a", rate=4)
    b.timed("self", "b", "b", rate=5)
    result = exact(model(b, a=E("a"), b=E("b"), x=X("self")))
    assert (result["a"], result["b"], result["x"]) == pytest.approx((0.25 * 0.8, 0.75, 3.75), rel=1e-14)
    first, second = result.classes
    assert (first.probability, first.size, first.kind, first.measures["a"]) == (pytest.approx(0.25), 2, "recurrent", pytest.approx(0.8))
    assert (second.probability, second.marking, second.measures["x"]) == (pytest.approx(0.75), {"b": 1}, pytest.approx(5))
    assert any("2 recurrent classes" in note for note in result.notes)


def test_three_hundred_tokens_between_two_places():
    b = NetBuilder()
    b.place("p", 300)
    b.place("q")
    b.timed("there", "p", "q", rate=1)
    b.timed("back", "q", "p", rate=1)
    result = exact(model(b, x=X("there")))
    assert result["x"] == pytest.approx(300 / 301, rel=1e-13)
    assert result.details["states"] == 301


def test_a_net_that_dies_says_where():
    b = NetBuilder()
    b.place("P", 10)
    b.place("D")
    b.timed("t", "P", "D", rate=1)
    result = exact(model(b, x=X("t"), dead=P(equal(tokens("D"), 10))))
    assert (result["x"], result["dead"]) == (0, 1)
    (dead,) = result.classes
    assert (dead.kind, dead.probability, dict(dead.marking)) == ("dead", 1, {"D": 10})
    assert any("dead marking D=10" in note for note in result.notes)


def test_a_marking_in_which_every_speed_is_0_is_stuck_not_dead():
    b = NetBuilder()
    b.place("P", 2)
    b.place("D")
    b.timed("t", "P", "D", rate=tokens("P") - 1)
    result = exact(model(b, x=X("t")))
    (stuck,) = result.classes
    assert (stuck.kind, dict(stuck.marking)) == ("stuck", {"P": 1, "D": 1})


def test_a_closed_system_obeys_littles_law():
    b = NetBuilder()
    b.place("think", 4)
    b.place("q")
    b.timed("ask", "think", "q", rate=1, servers="inf")
    b.timed("serve", "q", "think", rate=2)
    asked = {"x": X("serve"), "r": Sojourn("q"), "u": Utilisation("serve")}
    result = exact(model(b, **asked, law=Throughput("serve") * (1 + Sojourn("q"))))
    assert [result[m] for m in asked] == pytest.approx([38 / 21, 23 / 19, 19 / 21], rel=1e-13)
    assert result["law"] == pytest.approx(4, rel=1e-13)


def test_a_shared_link_serves_as_one_processor_does():
    b = NetBuilder()
    b.link("nic", 100)
    b.place("think", 4)
    b.place("out")
    b.timed("ask", "think", "out", rate=1, servers="inf")
    b.timed("send", "out", "think", law=_exponential(50), over="nic")
    result = exact(model(b, x=X("send"), u=Utilisation("nic")))
    assert (result["x"], result["u"]) == pytest.approx((38 / 21, 19 / 21), rel=1e-13)


def _exponential(mean):
    from spn.dist.families import Exponential

    return Exponential(rate=1 / mean)


def test_a_stiff_chain_keeps_relative_accuracy_over_27_orders():
    b = NetBuilder()
    for place, k in (("up", 1), ("det", 0), ("down", 0)):
        b.place(place, k)
    b.timed("fail", "up", "det", rate=F(1, 10**8))
    b.timed("detect", "det", "down", rate=F(10**6))
    b.timed("repair", "down", "up", rate=F(1, 10))
    result = exact(model(b, det=E("det"), down=E("down")))
    total = 1 + F(1, 10**14) + F(1, 10**7)
    assert (result["det"], result["down"]) == pytest.approx((float(F(1, 10**14) / total), float(F(1, 10**7) / total)), rel=1e-14)


def test_averages_over_firings_read_the_marking_just_before():
    """In M/M/1/3 at rate 1 and 2 an arrival that is let in finds 0, 1, 2 with weights 4, 2, 1; a departure leaves from 1, 2, 3."""
    b = NetBuilder()
    b.place("free", 3)
    b.place("q")
    b.timed("arrive", "free", "q", rate=1)
    b.timed("serve", "q", "free", rate=2)
    result = exact(
        model(b, seen=Average(tokens("q"), "arrive"), left=Average(tokens("q"), "serve"), one=Average(equal(tokens("q"), 1), "arrive"))
    )
    assert (result["seen"], result["left"], result["one"]) == pytest.approx((4 / 7, 11 / 7, 2 / 7), rel=1e-13)


def test_an_immediate_reads_the_vanishing_marking_just_before_its_firing():
    """Batches of 3 arrive in an empty vestibule and step in one by one: the k-th sees 3, 2, 1 waiting."""
    b = NetBuilder()
    for place, k in (("away", 1), ("door", 0), ("in", 0)):
        b.place(place, k)
    b.timed("batch", "away", {"door": 3}, rate=1)
    b.immediate("step", "door", "in")
    b.timed("leave", {"in": 3}, "away", rate=1)
    result = exact(model(b, x=X("step"), seen=Average(tokens("door"), "step")))
    assert (result["x"], result["seen"]) == pytest.approx((1.5, 2.0), rel=1e-13)


def test_a_self_loop_counts_but_changes_nothing():
    b = NetBuilder()
    b.place("a", 1)
    b.place("b")
    b.timed("tick", "a", "a", rate=7)
    b.timed("ab", "a", "b", rate=1)
    b.timed("ba", "b", "a", rate=3)
    result = exact(model(b, tick=X("tick"), a=E("a")))
    assert (result["a"], result["tick"]) == pytest.approx((0.75, 5.25), rel=1e-14)


def test_a_flush_counts_what_it_took():
    """Tokens arrive at rate 1 up to 2; a flush at rate 1 takes all there is. Flow in = flow taken."""
    b = NetBuilder()
    b.place("free", 2)
    b.place("q")
    b.timed("arrive", "free", "q", rate=1)
    b.timed("clear", (), {"free": tokens("q")}, flushes=["q"], rate=1)
    result = exact(model(b, arrive=X("arrive"), taken=Throughput("clear") * Average(tokens("q"), "clear"), p=E("q")))
    # p0 = 1/2, p1 = 1/4, p2 = 1/4
    assert result["p"] == pytest.approx(0.75, rel=1e-13)
    assert result["arrive"] == pytest.approx(result["taken"], rel=1e-13) == pytest.approx(0.75, rel=1e-13)
