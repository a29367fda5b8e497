"""Nets of constant delays against closed forms, in fractions; the two exact methods against each other and against the simulator."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.dist.families import Deterministic, Empirical, Mixture
from spn.errors import AnalysisError, SemanticsError
from spn.expr.nodes import equal, tokens
from spn.measure import Average, Horizon, Passage, Quantile, Sojourn, Throughput, Utilisation
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.schedule import course
from spn.sim import simulate
from spn.solvers import solve
from tests.solvers.nets import E, P, X, model

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "analytic"
F = Fraction


def exact(m: Model, method: str = "schedule") -> dict[str, Fraction]:
    return {name: F(text) for name, text in solve(m, method=method).details["exact"].items()}


def ring(delays: list[Fraction], filled: set[int], servers: int = 1) -> NetBuilder:
    b = NetBuilder("ring")
    n = len(delays)
    for k in range(n):
        b.place(f"p{k}", int(k in filled))
    for k, d in enumerate(delays):
        b.timed(f"t{k}", f"p{k}", f"p{(k + 1) % n}", law=d, servers=servers)
    return b


def test_two_clocks_repeat_together() -> None:
    b = NetBuilder()
    b.place("a", 1)
    b.place("b", 1)
    b.timed("ta", "a", "a", law=F("0.1"))
    b.timed("tb", "b", "b", law=F("0.3"))
    m = model(b, ta=X("ta"), tb=X("tb"))
    assert exact(m) == {"ta": 10, "tb": F(10, 3)}
    result = solve(m, method="schedule")
    assert result.details["period"] == pytest.approx(0.3)
    assert result.measures["tb"].note == "10/3"


def test_a_line_of_two_machines() -> None:
    """Machines of 3 s and 2 s with room for one part between them: the slower is never blocked; the faster waits a third of the time."""
    b = NetBuilder()
    for name, tokens_ in (("free", 2), ("between", 0), ("done", 0), ("raw", 1)):
        b.place(name, tokens_)
    b.timed("first", ["raw", "free"], ["raw", "between"], law=3)
    b.timed("second", "between", "free", law=2)
    m = model(b, x=X("second"), u=Utilisation("second"), wip=E("between"), wait=Sojourn("between"))
    found = exact(m)
    assert found == {"x": F(1, 3), "u": F(2, 3), "wip": F(2, 3), "wait": 2}
    assert exact(model(b, x=X("second"), u=Utilisation("second")), "max-plus") == {"x": F(1, 3), "u": F(2, 3)}
    assert solve(m).method == "schedule"
    assert solve(model(b, x=X("second"))).method == "max-plus"


def test_round_robin_of_three_users() -> None:
    """A server that takes 1, 2 and 4 s for three users in turn: 1/7 rounds a second, and each is served for its part."""
    b = NetBuilder()
    for k in range(3):
        b.place(f"turn{k}", int(k == 0))
    for k, d in enumerate((1, 2, 4)):
        b.timed(f"serve{k}", f"turn{k}", f"turn{(k + 1) % 3}", law=d)
    assert exact(model(b, x=X("serve1"), p=P(tokens("turn2") > 0))) == {"x": F(1, 7), "p": F(4, 7)}


def test_a_ring_all_reduce() -> None:
    """Each of n workers sends to the next one and goes on when it has received: 2 (n - 1) steps of the slowest link a round."""
    n, steps = 4, 6
    delays = [F(2), F(3), F(5), F(4)]
    b = NetBuilder()
    for k in range(n):
        for s in range(steps):
            b.place(f"ready{k}_{s}", int(s == 0))
            b.place(f"got{k}_{s}", int(s == 0))
    for k in range(n):
        for s in range(steps):
            after = [f"ready{k}_{(s + 1) % steps}", f"got{(k + 1) % n}_{(s + 1) % steps}"]
            b.timed(f"send{k}_{s}", [f"ready{k}_{s}", f"got{k}_{s}"], after, law=delays[k])
    m = model(b, x=X("send0_0"))
    assert exact(m, "max-plus") == exact(m) == {"x": F(1, 30)}
    assert "critical cycle" in solve(m, method="max-plus").notes[0]


def test_a_tie_is_decided_by_weight_or_by_priority() -> None:
    b = NetBuilder()
    b.place("start", 1)
    b.timed("one", "start", "start", law=1, resets=["three"])
    b.timed("three", "start", "start", law=1, weight=3, resets=["one"])
    assert exact(model(b, one=X("one"), three=X("three"))) == {"one": F(1, 4), "three": F(3, 4)}


def test_chance_from_immediates_and_from_delays() -> None:
    """A part takes 1 or 4 s with equal chance, and is done again with chance 1/3: 3/2 passes of 5/2 s a part."""
    b = NetBuilder()
    b.place("raw", 1)
    b.place("seen")
    b.timed("work", "raw", "seen", law=Empirical(values=(F(1), F(4))))
    b.immediate("good", "seen", "raw", weight=2)
    b.immediate("again", "seen", "raw")
    found = exact(model(b, x=X("good"), y=X("work"), q=Quantile(F(1, 2), tokens("raw"))))
    assert found == {"x": F(4, 15), "y": F(2, 5), "q": 1}
    assert solve(model(b, x=X("good"))).method == "schedule"


@pytest.mark.parametrize("work", [10, course.MOST_WORK])
def test_many_forks(monkeypatch, work: int) -> None:
    """A random walk on a circle of 101 places, one step a second: it is everywhere for the same time. Beyond a limit in doubles."""
    monkeypatch.setattr(course, "MOST_WORK", work)
    n = 101
    b = NetBuilder()
    for k in range(n):
        b.place(f"p{k}", int(k == 0))
        b.place(f"q{k}")
    for k in range(n):
        b.timed(f"t{k}", f"p{k}", f"q{k}", law=1)
        b.immediate(f"left{k}", f"q{k}", f"p{(k - 1) % n}")
        b.immediate(f"right{k}", f"q{k}", f"p{(k + 1) % n}", weight=2)
    result = solve(model(b, p=E("p7"), x=X("right3")), method="schedule")
    assert result["p"] == pytest.approx(1 / n, rel=1e-12)
    assert result["x"] == pytest.approx(2 / 3 / n, rel=1e-12)
    assert result.details["arithmetic"] == ("double precision" if work == 10 else "rational")


@pytest.mark.parametrize(("memory", "rate"), [("restart", 0), ("resume", F(1, 8)), ("repeat", 0)])
def test_memory(memory: str, rate: Fraction) -> None:
    """5 s of work, stopped for 1 s after every 2 s: resumed it takes 2 + 1 + 2 + 1 + 1 and then 1 s of the spell is left, and so on: on
    average 5 s of work in 7.5 s; restarted or repeated it never ends."""
    b = NetBuilder()
    for name, n in (("job", 1), ("up", 1), ("down", 0)):
        b.place(name, n)
    b.timed("work", "job", "job", tests="up", law=5, memory=memory)
    b.timed("fail", "up", "down", law=2)
    b.timed("fix", "down", "up", law=1)
    found = exact(model(b, x=X("work"), up=E("up")))
    assert found == {"x": F(2, 15) if rate else 0, "up": F(2, 3)}


def test_transfers_share_a_link_and_meet() -> None:
    """Two workers compute for 1 and 2 s and send 6 bytes over one link of 2 bytes/s, with a latency of 1/2 s; against the simulator."""
    b = NetBuilder()
    b.link("net", 2)
    for k, d in ((1, F(1)), (2, F(2))):
        b.place(f"idle{k}", 1)
        b.place(f"send{k}")
        b.timed(f"work{k}", f"idle{k}", f"send{k}", law=d)
        b.timed(f"sent{k}", f"send{k}", f"idle{k}", law=6, over="net", latency=F(1, 2))
    m = model(b, x1=X("sent1"), x2=X("sent2"), u=Utilisation("net"), q=E("send1"))
    result = solve(m, method="schedule")
    other = simulate(m, seed=1, precision=0.002)
    for name in m.measures:
        v = other.measures[name.name]
        assert result[name.name] == pytest.approx(v.value, rel=5e-3)


def test_where_it_ends() -> None:
    b = NetBuilder()
    for name in ("a", "b", "c"):
        b.place(name, int(name == "a"))
    b.timed("t", "a", "b", law=2)
    b.immediate("left", "b", "c", weight=1)
    b.immediate("right", "b", "a", weight=3)
    m = model(b, c=E("c"), x=X("t"), first=Passage(tokens("c") > 0), soon=Passage(tokens("c") > 0, within=F(5)))
    result = solve(m, method="schedule")
    assert (result["c"], result["x"]) == (1, 0)
    assert result["soon"] == 1 - (3 / 4) ** 2
    assert result["first"] == pytest.approx(8, rel=1e-12)
    assert [(c.kind, c.probability) for c in result.classes] == [("dead", 1.0)]


@pytest.mark.parametrize("work", [0, course.MOST_WORK])
def test_two_ends(monkeypatch, work: int) -> None:
    monkeypatch.setattr(course, "MOST_WORK", work)
    b = NetBuilder()
    for name in ("a", "b", "left", "right"):
        b.place(name, int(name == "a"))
    b.timed("t", "a", "b", law=1)
    b.immediate("to_left", "b", "left", weight=1)
    b.immediate("to_right", "b", "right", weight=3)
    b.timed("one", "left", "left", law=1)
    b.timed("two", "right", "right", law=2)
    result = solve(model(b, one=X("one"), two=X("two")), method="schedule")
    assert (result["one"], result["two"]) == pytest.approx((1 / 4, 3 / 8), rel=1e-12)
    assert [c.probability for c in result.classes] == pytest.approx([0.25, 0.75], rel=1e-12)
    assert bool(result.details["exact"]) == (work > 0)


def test_at_times() -> None:
    b = ring([F(1), F(2)], {0})
    full = Average(tokens("p1"))
    m = model(
        b,
        before=Horizon(full, None, F("0.99")),
        after=Horizon(full, None, F(1)),
        share=Horizon(full, F(0), F(4)),
        count=Horizon(Throughput("t0"), F(0), F(4), total=True),
        median=Passage(tokens("p1") > 0, quantile=F(1, 2)),
    )
    found = exact(m)
    assert found == {"before": 0, "after": 1, "share": F(1, 2), "count": 2, "median": 1}


def test_scale_and_speed_depend_on_the_marking() -> None:
    """Three jobs at speed #q: 1/3 + 1/2 + 1 s for the three, then 1 s to bring them back."""
    b = NetBuilder()
    b.place("q", 3)
    b.place("done")
    b.timed("serve", "q", "done", law=1, speed=tokens("q"))
    b.timed("back", {"done": 3}, {"q": 3}, law=F(1, 2), scale=tokens("done") - 1)
    assert exact(model(b, x=X("serve"), q=E("q"))) == {"x": F(3) / (F(17, 6)), "q": F(3) / F(17, 6)}


def test_refusals_name_what_prevents_it() -> None:
    b = ring([F(1), F(2)], {0})
    b.timed("noise", "p0", "p0", rate=1)
    with pytest.raises(AnalysisError) as error:
        solve(model(b, x=X("t0")), method="schedule")
    assert [d.code for d in error.value.diagnostics] == ["E0670"]
    assert "noise" in error.value.diagnostics[0].message
    with pytest.raises(AnalysisError) as error:
        solve(model(b, x=E("p0")), method="max-plus")
    assert {d.code for d in error.value.diagnostics} == {"E0673", "E0674"}


def test_no_end_of_states() -> None:
    b = NetBuilder()
    b.place("q")
    b.timed("arrive", (), "q", law=1)
    b.timed("serve", "q", (), law=2)
    with pytest.raises(AnalysisError) as error:
        solve(model(b, x=E("q")), method="schedule", max_states=500)
    assert error.value.diagnostics[0].code == "E0671"
    assert exact(model(b, a=X("arrive"), s=X("serve")), "max-plus") == {"a": 1, "s": F(1, 2)}


def test_time_that_never_passes() -> None:
    b = ring([F(0), F(0)], {0})
    for method in ("schedule", "max-plus"):
        with pytest.raises(SemanticsError) as error:
            solve(model(b, x=X("t0")), method=method)
        assert error.value.diagnostics[0].code == "E0701"


def test_a_deadlocked_ring() -> None:
    result = solve(model(ring([F(1), F(2)], set()), x=X("t0")), method="max-plus")
    assert result["x"] == 0
    assert "holds no token" in result.notes[-1]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.fractions(min_value=F(1, 4), max_value=5, max_denominator=4), min_size=2, max_size=5),
    st.sets(st.integers(0, 4), min_size=1),
    st.integers(1, 2),
    st.integers(0, 3),
)
def test_both_methods_agree_on_event_graphs(delays: list[Fraction], filled: set[int], servers: int, extra: int) -> None:
    b = ring(delays, {k % len(delays) for k in filled}, servers)
    last = len(delays) - 1
    b.place("also", 1 + extra)
    b.place("back")
    b.timed("side", "also", "back", law=F(7, 3), servers="inf")
    b.timed("join", ["back", "raw"], ["also", "raw"], law=delays[last])
    b.place("raw", 1)
    m = model(b, a=X("t0"), b=X("side"), u=Utilisation("join"))
    assert exact(m, "max-plus") == exact(m)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared cases are not beside this checkout")
def test_published_event_graphs() -> None:
    """The delay of a transition stands on its outgoing arcs there: a token is available so long after the firing."""
    folder = SHARED / "teg-howard2"
    expected = json.loads((folder / "expected.json").read_text())["expected"]
    (net,) = json.loads((folder / "Howard2.json").read_text())["nets"]
    b = NetBuilder("howard2")
    for p in net["places"]:
        b.place(f"P{p['id']}", p["tokens"])
        b.place(f"on its way to P{p['id']}")
    for t in net["transitions"]:
        name = f"T{t['id']}"
        out = [a["to"] for a in net["arcs"] if a["from"] == name]
        b.immediate(name, [a["from"] for a in net["arcs"] if a["to"] == name], [f"on its way to {p}" for p in out])
    for a in net["arcs"]:
        if "duration" in a:
            b.timed(f"arc to {a['to']}", f"on its way to {a['to']}", a["to"], law=a["duration"], servers="inf")
    m = model(b, x=X("T0"))
    assert 1 / exact(m, "max-plus")["x"] == 1 / exact(m)["x"] == F(expected["cycle_time_exact"])


@pytest.mark.parametrize(
    "law", [Deterministic(value=F(3)), Mixture(parts=((0.5, Deterministic(value=F(1))), (0.5, Deterministic(value=F(5)))))]
)
def test_auto_prefers_what_is_exact(law) -> None:
    b = NetBuilder()
    b.place("a", 1)
    b.timed("t", "a", "a", law=law)
    b.place("b", 1)
    b.timed("u", "b", "b", law=2, when=equal(tokens("a"), 1))
    result = solve(model(b, x=X("t")))
    assert (result.method, result.details["exact"]["x"]) == ("schedule", "1/3")
