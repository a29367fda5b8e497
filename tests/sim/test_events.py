"""The event queue on large nets: crowds at one place, gates, attained work that begins anew, and streams of single transitions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.compiled import compile_net
from spn.compiled import layout as at
from spn.dist.families import Lognormal
from spn.dist.random import Random, seeded
from spn.expr.nodes import ONE, tokens
from spn.measure import FiringRate, LinkRate, RunningClocks, TimeAverage
from spn.net.model import INFINITE, Arc, Immediate, Link, Net, Place, Timed, Transfer, Transition
from spn.sim import layout as z
from spn.sim.fast import CompiledTrajectory
from spn.sim.reference import Trajectory
from spn.sim.setup import prepare
from tests.sim.nets import checks, det, exp, gives, inhibits, laws, random_nets, takes
from tests.sim.test_agreement import CHUNK, compare, pair, same, story

WORKERS = 20  # more than make a crowd
EVERY = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}

MEASURED = (TimeAverage(tokens("lock")), TimeAverage(tokens("b3") * 2), FiringRate("begin1"), FiringRate("end0", value=tokens("other")))

locks = st.sampled_from(["lock", "lock", "other", "both", "test", "inhibitor"])


def wants(lock: str) -> tuple[Arc, ...]:
    """What it takes to begin: a token of a place that all share, or of two, or that they are in some state."""
    match lock:
        case "both":
            return takes("lock"), takes("other")
        case "test":
            return takes("lock"), checks("other")
        case "inhibitor":
            return (takes("lock"), inhibits("other", 2))
    return (takes(lock),)


def returns(wanted: tuple[Arc, ...]) -> tuple[Arc, ...]:
    return tuple(gives(a.place) for a in wanted if a.kind == "input")


@st.composite
def crowded_nets(draw: st.DrawFn) -> Net:
    """Workers that wait for places which all of them share: by immediates of all sorts, or racing for them with clocks."""
    kinds = draw(st.lists(st.tuples(locks, st.booleans()), min_size=1, max_size=3))
    racing = draw(st.sampled_from([0, 0, 1, 2]))
    even = draw(st.booleans())
    places = [Place(name="lock", initial=draw(st.sampled_from([1, 2]))), Place(name="other", initial=draw(st.sampled_from([0, 1, 3])))]
    transitions: list[Transition] = []
    for w in range(WORKERS):
        lock, unlock = kinds[w % len(kinds)]
        wanted = wants(lock)
        places += [Place(name=f"{p}{w}", initial=int(p == "a")) for p in "abc"]
        transitions.append(Timed(name=f"think{w}", law=draw(laws), arcs=(takes(f"a{w}"), gives(f"b{w}"))))
        begins = (takes(f"b{w}"), *wanted, gives(f"c{w}"))
        if racing and w % 3 < racing:
            transitions.append(Timed(name=f"begin{w}", law=draw(laws), arcs=begins))
        else:
            transitions.append(Immediate(name=f"begin{w}", arcs=begins, weight=ONE if even or w % 4 else tokens("other") + 1))
        back = returns(wanted) if unlock or lock != "other" else ()
        transitions.append(Timed(name=f"end{w}", law=exp(3.0), arcs=(takes(f"c{w}"), gives(f"a{w}"), *back)))
    transitions.append(Timed(name="toggle", law=det("0.7"), arcs=(gives("other"), inhibits("other", 3))))
    transitions.append(Timed(name="drain", law=exp(1.0), arcs=(takes("other"),)))
    return Net(places=tuple(places), transitions=tuple(transitions))


@settings(max_examples=40, **EVERY)
@given(crowded_nets(), st.integers(0, 2**32))
def test_crowds(net: Net, seed: int) -> None:
    compare(net, seed, math.inf, MEASURED)


def lock_net(*kinds: str) -> Net:
    begins = [
        Immediate(name=f"begin{w}", arcs=(takes(f"b{w}"), *wants(kinds[w % len(kinds)]), gives(f"c{w}")))
        for w in range(len(kinds) * WORKERS)
    ]
    ends = [
        Timed(name=f"end{w}", law=exp(1.0), arcs=(takes(f"c{w}"), gives(f"b{w}"), *returns(wants(kinds[w % len(kinds)]))))
        for w in range(len(begins))
    ]
    places = [Place(name="lock", initial=1), Place(name="other", initial=1)]
    places += [Place(name=f"{p}{w}", initial=int(p == "b")) for w in range(len(begins)) for p in "bc"]
    return Net(places=tuple(places), transitions=(*begins, *ends))


@pytest.mark.parametrize(
    ("kinds", "gated"), [(("lock",), [1]), (("lock", "other"), [1, 1]), (("both",), [0, 0]), (("lock", "both"), [0, 0])]
)
def test_gates(kinds: tuple[str, ...], gated: list[int]) -> None:
    """A gate is for those that one place alone holds up, all alike."""
    net = lock_net(*kinds)
    compiled = compile_net(net)
    found = [
        int(compiled.image[int(compiled.image[at.H_CROWD]) + k * at.W_SIZE + at.W_GATED]) for k in range(len(compiled.dependencies.crowds))
    ]
    assert found == gated
    compare(net, 3, math.inf, (TimeAverage(tokens("lock")), FiringRate("begin0")))


def test_a_lock_taken_by_one_of_many_at_random() -> None:
    """Of 20 that wait each gets the lock equally often: chi-squared over 40,000 turns. False alarms: 1e-6."""
    from scipy import stats

    net = lock_net("lock")
    primitives = tuple(FiringRate(f"begin{w}") for w in range(WORKERS))
    engine = CompiledTrajectory(prepare(net, primitives), primitives, np.random.default_rng(4))
    engine.run(80_000, math.inf)
    assert stats.chisquare(engine.totals()).pvalue > 1e-6


@settings(max_examples=40, **EVERY)
@given(random_nets(), st.integers(0, 2**32), st.integers(1, 4))
def test_attained_work_may_begin_anew_at_any_finish(net: Net, seed: int, finishes: int) -> None:
    """Kernel and reference agree when groups begin anew ever so often."""
    fast, slow = pair(net, seed)
    fast.state[z.Z_RESTART] = slow.restart_after = finishes
    same(story(fast, CHUNK, math.inf), story(slow, CHUNK, math.inf))


def test_beginning_anew_changes_nothing_but_roundings() -> None:
    """40 transfers that never leave their link idle: with and without, the same firings at the same times, to rounding."""
    transitions = tuple(
        Timed(
            name=f"t{i}",
            law=Lognormal(mu=0.0, sigma=1.0),
            arcs=(takes("a"), gives("a")),
            servers=INFINITE,
            transfer=Transfer(links=("up",)),
        )
        for i in range(2)
    )
    net = Net(places=(Place(name="a", initial=20),), transitions=transitions, links=(Link(name="up", capacity=3),))
    often, never = (pair(net, 9, (TimeAverage(tokens("a")), FiringRate("t0"), LinkRate("up")))[0] for _ in range(2))
    often.state[z.Z_RESTART] = 5
    for engine in (often, never):
        engine.run(20_000, math.inf)
    assert often.words == never.words
    assert often.time == pytest.approx(never.time, rel=1e-12)
    assert often.totals() == pytest.approx(never.totals(), rel=1e-9)


@settings(max_examples=25, **EVERY)
@given(random_nets(), st.integers(0, 2**32))
def test_streams_of_single_transitions(net: Net, seed: int) -> None:
    fast, slow = pair(net, seed)
    count = len(net.transitions)
    works, choices = ([seeded(np.random.SeedSequence(seed, spawn_key=(k, t))) for t in range(count)] for k in range(2))
    fast.separate(works, choices)
    slow.work_streams.update({t: Random(words) for t, words in enumerate(works)})
    slow.choice_streams.update({t: Random(words) for t, words in enumerate(choices)})
    same(story(fast, CHUNK, math.inf), story(slow, CHUNK, math.inf))


def test_a_stream_of_its_own_keeps_works_when_others_change() -> None:
    """The first transition's works are the same beside a second one of another law."""
    done = []
    for rate in (1.0, 50.0):
        laws_of = {"t": exp(1.0), "u": exp(rate)}
        transitions = tuple(Timed(name=n, law=law, arcs=(takes(n), gives(n))) for n, law in laws_of.items())
        net = Net(places=(Place(name="t", initial=1), Place(name="u", initial=1)), transitions=transitions)
        primitives = (FiringRate("t"),)
        engine = CompiledTrajectory(prepare(net, primitives), primitives, np.random.default_rng(1))
        engine.separate(((1, 2, 3, 4), (5, 6, 7, 8)), ((9, 1, 1, 1), (9, 1, 1, 2)))
        engine.run(10**9, 50.0)
        done.append(engine.totals()[0])
    assert done[0] == done[1] > 0


def test_the_reference_runs_on_the_librarys_stream_too() -> None:
    net = Net(places=(Place(name="p", initial=1),), transitions=(Timed(name="t", law=exp(1.0), arcs=(takes("p"), gives("p"))),))
    compiled = prepare(net, ())
    rng, same_rng, untouched = (np.random.default_rng(1) for _ in range(3))
    engine = Trajectory(compiled, (), rng, library=True)
    engine.run(3, math.inf)
    assert engine.time == pytest.approx(sum(same_rng.standard_exponential() for _ in range(3)))
    Trajectory(compiled, (), rng := untouched).run(3, math.inf)
    assert rng.bit_generator.state == np.random.default_rng(1).bit_generator.state


@pytest.mark.parametrize("load", [1, 7])
def test_thousands_of_millions_of_tokens(load: int) -> None:
    """Single servers on 10^9 tokens: the kernel follows the reference, and no token is lost."""
    start = 10**9
    places = (Place(name="a", initial=start), Place(name="b"))
    forth = Timed(name="forth", law=Lognormal(mu=0.0, sigma=0.5), arcs=(takes("a", load * 10**8), gives("b", load * 10**8)))
    back = Timed(name="back", law=det("0.3"), arcs=(takes("b", 10**8), gives("a", 10**8)))
    net = Net(places=places, transitions=(forth, back))
    compare(net, 5, math.inf, (TimeAverage(tokens("a")), RunningClocks("back")))
    primitives = (TimeAverage(tokens("a") + tokens("b")),)
    engine = CompiledTrajectory(prepare(net, primitives), primitives, np.random.default_rng(2))
    engine.run(5000, math.inf)
    assert engine.totals()[0] == pytest.approx(start * engine.time, rel=1e-12)


def test_memberships_are_forgotten_with_their_net() -> None:
    """The compiled net is not changed by a run: a second trajectory of it does the same."""
    net = replace(lock_net("lock", "both"), links=())
    primitives = (FiringRate("begin0"),)
    compiled = prepare(net, primitives)
    ends = []
    for _ in range(2):
        engine = CompiledTrajectory(compiled, primitives, np.random.default_rng(7))
        engine.run(5000, math.inf)
        ends.append((engine.time, engine.words, engine.marking))
    assert ends[0] == ends[1]
