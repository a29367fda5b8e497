"""Nets for the simulator's tests: short constructors, and random nets with every attribute."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from spn.dist.families import Deterministic, Empirical, Erlang, Exponential, HyperExponential, Lognormal, Mixture, Uniform
from spn.dist.law import Law
from spn.expr.nodes import ONE, Node, Number, Operand, as_node, call, conditional, tokens
from spn.measure import FiringRate, LinkRate, Primitive, RunningClocks, TimeAverage
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Link, Memory, Net, Place, Servers, Timed, Transfer, Transition


def takes(place: str, k: Operand = 1) -> Arc:
    return Arc(kind=ArcKind.INPUT, place=place, multiplicity=as_node(k))


def gives(place: str, k: Operand = 1) -> Arc:
    return Arc(kind=ArcKind.OUTPUT, place=place, multiplicity=as_node(k))


def checks(place: str, k: Operand = 1) -> Arc:
    return Arc(kind=ArcKind.TEST, place=place, multiplicity=as_node(k))


def inhibits(place: str, k: Operand = 1) -> Arc:
    return Arc(kind=ArcKind.INHIBITOR, place=place, multiplicity=as_node(k))


def flushes(place: str) -> Arc:
    return Arc(kind=ArcKind.FLUSH, place=place)


def exp(rate: float) -> Exponential:
    return Exponential(rate=rate)


def det(value: str | int) -> Deterministic:
    return Deterministic(value=Fraction(value))


# --- random nets ------------------------------------------------------------------------------------------------------------

PLACES = ("a", "b", "c", "d")
LINKS = ("up", "down")

decimals = st.sampled_from(["0.1", "0.2", "0.3", "0.5", "1", "1.5", "0.25"]).map(Fraction)
discrete_laws = st.one_of(
    decimals.map(lambda v: Deterministic(value=v)),
    st.lists(decimals, min_size=1, max_size=3).map(lambda v: Empirical(values=tuple(v))),
)
continuous_laws = st.one_of(
    st.sampled_from([0.5, 1.0, 2.0]).map(lambda r: Exponential(rate=r)),
    st.just(Uniform(low=Fraction(0), high=Fraction(2))),
    st.just(Erlang(k=3, rate=2.0)),
    st.just(Lognormal(mu=-0.5, sigma=0.7)),
    st.just(HyperExponential(probs=(0.3, 0.7), rates=(0.5, 3.0))),
)
simple_laws: st.SearchStrategy[Law] = st.one_of(discrete_laws, continuous_laws)
mixtures = st.tuples(simple_laws, simple_laws).map(lambda p: Mixture(parts=((0.25, p[0]), (0.75, p[1]))))
laws: st.SearchStrategy[Law] = st.one_of(simple_laws, simple_laws, mixtures)


def _quantity(low: Operand) -> st.SearchStrategy[Node]:
    """A positive marking expression now and then; mostly a constant."""
    place = st.sampled_from(PLACES).map(tokens)
    return st.one_of(
        st.just(ONE),
        st.sampled_from([Fraction(2), Fraction(1, 2)]).map(Number),
        place.map(lambda p: p / 2 + low),
        place.map(lambda p: call("min", p, 3) * Fraction(1, 3) + low),
    )


def _speeds() -> st.SearchStrategy[Node]:
    frozen = st.sampled_from(PLACES).map(lambda p: conditional(tokens(p) > 1, 0, 1))
    return st.one_of(st.just(ONE), st.just(ONE), _quantity(Fraction(1, 2)), frozen, st.sampled_from(PLACES).map(lambda p: tokens(p) * 0.5))


@st.composite
def arcs(draw: st.DrawFn, *, immediate: bool) -> tuple[Arc, ...]:
    """One input at least, outputs that put back what was taken, so that nets stay small and mostly alive."""
    source, target = draw(st.sampled_from(PLACES)), draw(st.sampled_from(PLACES))
    k = draw(st.sampled_from([1, 1, 1, 2]))
    found = [takes(source, k), gives(target, k)]
    match draw(
        st.sampled_from(["", "", "", "test", "inhibitor", "flush", "variable", "through"] if not immediate else ["", "inhibitor", "test"])
    ):
        case "test":
            found.append(checks(draw(st.sampled_from(PLACES))))
        case "inhibitor":
            found.append(inhibits(draw(st.sampled_from(PLACES)), draw(st.sampled_from([2, 3]))))
        case "flush":
            other = draw(st.sampled_from(PLACES))
            found = [takes(source), gives(source), flushes(other), gives(target, tokens(other))]
        case "variable":
            found = [takes(source, call("min", tokens(source), 2)), gives(target, call("min", tokens(source), 2))]
        case "through":
            other = draw(st.sampled_from(PLACES))
            found += [takes(other), gives(other)]
    return tuple(found)


_guards = st.one_of(
    st.none(),
    st.none(),
    st.sampled_from(PLACES).map(lambda p: tokens(p) < 4),
    st.sampled_from(PLACES).map(lambda p: tokens(p) * 0.1 >= 0.1),
)


@st.composite
def timed_transitions(draw: st.DrawFn, name: str, names: tuple[str, ...]) -> Timed:
    transfer = None
    if draw(st.integers(0, 3)) == 0:
        transfer = Transfer(
            links=tuple(draw(st.sets(st.sampled_from(LINKS), min_size=1))),
            share=draw(st.one_of(st.just(ONE), _quantity(1))),
            cap=draw(st.sampled_from([None, Fraction(1), Fraction(1, 2)])),
            latency=draw(st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 10), Fraction(1, 4)])),
        )
    servers: Servers = draw(st.sampled_from([1, 1, 2, 3, INFINITE]))
    return Timed(
        name=name,
        law=draw(laws),
        arcs=draw(arcs(immediate=False)),
        guard=draw(_guards),
        servers=servers,
        memory=draw(st.sampled_from(list(Memory))),
        speed=draw(_speeds()),
        scale=draw(_quantity(1)),
        transfer=transfer,
        priority=draw(st.sampled_from([1, 1, 2])),
        weight=draw(_quantity(1)),
        resets=draw(st.one_of(st.just(()), st.just(()), st.sampled_from(names).map(lambda n: (n,)))),
    )


@st.composite
def immediate_transitions(draw: st.DrawFn, name: str, names: tuple[str, ...]) -> Immediate:
    return Immediate(
        name=name,
        arcs=draw(arcs(immediate=True)),
        guard=draw(st.sampled_from(PLACES).map(lambda p: tokens(p) > 1)),
        priority=draw(st.sampled_from([1, 1, 2])),
        weight=draw(_quantity(1)),
        resets=draw(st.one_of(st.just(()), st.sampled_from(names).map(lambda n: (n,)))),
    )


@st.composite
def random_nets(draw: st.DrawFn) -> Net:
    """Small nets that use every attribute of timed and immediate transitions."""
    count = draw(st.integers(2, 6))
    names = tuple(f"t{i}" for i in range(count))
    transitions: list[Transition] = [draw(timed_transitions(n, names)) for n in names]
    transitions += [draw(immediate_transitions(f"i{k}", names)) for k in range(draw(st.integers(0, 2)))]
    return Net(
        places=tuple(Place(name=p, initial=draw(st.integers(0, 3)), capacity=draw(st.sampled_from([None, None, 6]))) for p in PLACES),
        links=tuple(Link(name=n, capacity=draw(st.sampled_from([Fraction(1), Fraction(3, 2)]))) for n in LINKS),
        transitions=tuple(draw(st.permutations(transitions))),
    )


def primitives_of(net: Net) -> tuple[Primitive, ...]:
    """Some of every kind."""
    first = net.transitions[0].name
    timed = next(t.name for t in net.transitions if isinstance(t, Timed))
    return (
        TimeAverage(tokens("a") * 2 + tokens("b")),
        TimeAverage(tokens("c") > 1),
        *(FiringRate(t.name) for t in net.transitions),
        FiringRate(first, tokens("a") + 1),
        RunningClocks(timed),
        *(LinkRate(link.name) for link in net.links),
    )
