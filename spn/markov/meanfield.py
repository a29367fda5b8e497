"""Mean field: the fluid limit of a net with large populations, and its refinement.

With populations of the order of N whose rates are N f(x / N), the marking follows the differential equation dX/dt = F(X), the sum over
transitions of change times rate, markings taken as real numbers (T. G. Kurtz, J. Appl. Prob. 7 (1970) 49). Where all its trajectories end
in one fixed point X*, that is the stationary mean up to o(N). Be A = DF(X*), W the covariance of the fluctuations, which solves
A W + W A' + Q = 0 with Q = sum of change change' rate, and V = -1/2 A^-1 (D2F(X*) : W). Then the mean is X* + V up to o(1), and that of a
smooth h is h(X*) + Dh V + 1/2 D2h : W (N. Gast and B. Van Houdt, Proc. ACM Meas. Anal. Comput. Syst. 1 (2017) 28,
DOI 10.1145/3152542). Nothing is divided by N here: the formulas are the same in tokens, where V is the whole correction.

Linear invariants of the net make A singular, so all this is done in coordinates of the space that the changes span.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from spn.errors import Diagnostic
from spn.expr.nodes import Number
from spn.markov.jets import Floats, Jet, NotSmooth, Point, Switch
from spn.measure import FiringRate, LinkRate, Primitive, RunningClocks, TimeAverage
from spn.net.model import INFINITE, ArcKind, Immediate, Net, Timed, Transition, place_index, timed

if TYPE_CHECKING:
    from scipy.integrate import LSODA

SETTLED = 1e-9  # net flow over gross flow at which a trajectory has come to rest
MOST_CALLS = 20_000  # evaluations of the drift along one trajectory
STARTS = 5  # other beginnings from which the same end is looked for
WITHOUT_LIMIT = 1e7  # times the initial tokens: what grows so far grows for ever
APART = 1e-4  # of the population: ends that differ by more are two
NEAR = 3.0  # standard deviations from a switch within which a warning is due
AT = 1.0  # and within which no refinement is given


# --- may I ------------------------------------------------------------------------------------------------------------------------


def refusals(net: Net) -> list[Diagnostic]:
    """Why a net whose laws are exponential has no fluid limit; empty where it has one."""
    capacity = {p.name for p in net.places if p.capacity is not None}
    return [d for t in net.transitions for d in _refused(t, capacity)] + list(_refused_links(net))


def _refused(t: Transition, capacity: set[str]) -> Iterator[Diagnostic]:
    if isinstance(t, Immediate):
        yield _refusal(t, "is immediate, and takes no part in a flow over time", "put what it does into the timed transitions around it")
    elif (phases := t.law.phase_type()) is None or len(phases.alpha) != 1:
        yield _refusal(t, "has a law that is not exponential", "replicas may have phase-type laws; others take an exponential one")
    if t.guard is not None and not isinstance(t.guard, Number):
        yield _refusal(t, "has a guard, which switches it on and off", "a rate that falls to 0 smoothly has a limit")
    for a in t.arcs:
        if a.kind in (ArcKind.TEST, ArcKind.INHIBITOR):
            yield _refusal(t, f"is switched on and off by the tokens of {a.place}", "a rate that depends on them smoothly has a limit")
        elif a.kind is ArcKind.FLUSH:
            yield _refusal(t, f"empties {a.place} at one blow", "a limit has small steps")
        elif not isinstance(a.multiplicity, Number):
            yield _refusal(t, f"moves a number of tokens of {a.place} that depends on the marking", "a limit has small steps")
        elif a.kind is ArcKind.OUTPUT and a.place in capacity:
            yield _refusal(t, f"stops where {a.place} is full", "leave the capacity out if the place never fills")


def _refusal(t: Transition, what: str, help: str) -> Diagnostic:
    return Diagnostic(code="E0650", message=f"no fluid limit: {t.name} {what}", span=t.span, help=help)


def _refused_links(net: Net) -> Iterator[Diagnostic]:
    """Sharing of links is smooth where every transfer uses one link, and all on it have one cap and share, or none has a cap."""
    for link in net.links:
        users = [t for t in timed(net) if t.transfer is not None and link.name in t.transfer.links]
        found = [t.transfer for t in users if t.transfer is not None]
        if any(len(x.links) > 1 for x in found):
            yield _refusal(users[0], "goes over several links", "let every transfer use one link")
        elif any(x.cap is not None for x in found) and len({(x.cap, x.share) for x in found}) > 1:
            yield _refusal(users[0], f"has a cap or share on {link.name} that others do not have", "give all the same")
        elif any(not isinstance(t.speed, Number) for t in users):
            yield _refusal(users[0], "has a speed that depends on the marking, on a link", "let the share depend on it")


# --- the flow ---------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Fluid:
    """A net as a flow: ``changes`` (transitions, places) per firing, ``start`` (places)."""

    net: Net
    index: Mapping[str, int] = field(init=False)
    flows: tuple[Timed, ...] = field(init=False)
    changes: Floats = field(init=False)
    start: Floats = field(init=False)
    basis: Floats = field(init=False)
    capacity: Mapping[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.index = place_index(self.net)
        self.flows = timed(self.net)
        self.start = np.array([p.initial for p in self.net.places], dtype=np.float64)
        self.changes = np.array([self._change(t) for t in self.flows]).reshape(len(self.flows), len(self.start))
        self.capacity = {link.name: float(link.capacity) for link in self.net.links}
        _, s, v = (
            np.linalg.svd(self.changes, full_matrices=False) if self.changes.size else (0, np.zeros(0), np.zeros((0, len(self.start))))
        )
        self.basis = v[s > 1e-9 * s.max(initial=1.0)].T  # (places, dimensions)

    def _change(self, t: Timed) -> Floats:
        change = np.zeros(len(self.start))
        for a in t.arcs:
            sign = {ArcKind.INPUT: -1, ArcKind.OUTPUT: 1}.get(a.kind, 0)
            change[self.index[a.place]] += sign * _whole(a.multiplicity)
        return change

    def point(self, x: Floats, plain: bool = False) -> Point:
        """A place at which rates are evaluated; negative rounding is 0."""
        return Point(self.index, np.maximum(x, 0.0), plain)

    def clocks(self, t: Timed, at: Point) -> Jet:
        """How many clocks run: the least of servers and tokens over multiplicities."""
        needs: dict[str, float] = {}
        for a in t.arcs:
            if a.kind is ArcKind.INPUT:
                needs[a.place] = needs.get(a.place, 0.0) + _whole(a.multiplicity)
        degrees = [at.place(p).times(1.0 / k) for p, k in needs.items()] or [at.number(1.0)]
        found = degrees[0]
        for degree in degrees[1:]:
            found = at.least(found, degree)
        return found if t.servers == INFINITE else at.least(found, at.number(float(t.servers)))

    def rate(self, t: Timed, at: Point) -> Jet:
        """Firings per second."""
        law = t.law.phase_type()
        scale = t.scale.value if isinstance(t.scale, Number) else 1
        assert law is not None
        pace = at.jet(t.speed).times(-law.generator[0][0] / float(scale))
        return pace * self.work(t, at)

    def work(self, t: Timed, at: Point) -> Jet:
        """Clocks times what the link gives to each of them. Less than one transfer in all, as a single server with less than one token,
        uses the link in part."""
        running = self.clocks(t, at)
        if t.transfer is None:
            return running
        link = t.transfer.links[0]
        users = [(u, u.transfer) for u in self.flows if u.transfer is not None and u.transfer.links == (link,)]
        total, many = at.number(0.0), at.number(0.0)
        for u, transfer in users:
            clocks = self.clocks(u, at)
            total, many = total + at.jet(transfer.share) * clocks, many + clocks
        if total.value <= 0:
            return running.times(self.capacity[link])
        weight = at.jet(t.transfer.share)
        part = at.number(self.capacity[link]) * weight * total.through(1 / total.value, -1 / total.value**2, 2 / total.value**3)
        part = part * at.least(many, at.number(1.0))
        if t.transfer.cap is not None:
            part = at.least(part, at.number(float(t.transfer.cap)))
        return running * part

    def drift(self, x: Floats) -> Floats:
        """F(x), in places."""
        at = self.point(x, plain=True)
        return np.array([self.rate(t, at).value for t in self.flows]) @ self.changes

    def gross(self, x: Floats) -> float:
        """The sum of what all transitions change per second."""
        at = self.point(x, plain=True)
        return float(sum(self.rate(t, at).value * np.abs(c).sum() for t, c in zip(self.flows, self.changes, strict=True)))

    def jacobian(self, x: Floats) -> Floats:
        """DF(x) (places, places)."""
        at = self.point(x)
        slopes = np.array([self.rate(t, at).slope for t in self.flows])
        return np.asarray(self.changes.T @ slopes)


def _whole(node: object) -> float:
    assert isinstance(node, Number)
    return float(node.value)


# --- where it goes ----------------------------------------------------------------------------------------------------------------


class NoEnd(Exception):
    """A trajectory could not be followed."""


@dataclass(frozen=True, slots=True)
class Course:
    """Where a trajectory was followed to: ``x`` after ``time``; ``settled`` where it came to rest there."""

    x: Floats
    time: float
    settled: bool


def follow(fluid: Fluid, start: Floats, calls: int = MOST_CALLS) -> Course:
    """Follow the flow until it comes to rest, or for as long as the number of ``calls`` of the drift allows."""
    u = fluid.basis
    if not u.shape[1]:
        return Course(start, 0.0, True)
    gross = fluid.gross(start)
    norm = float(np.linalg.norm(fluid.jacobian(start), 2)) or 1.0
    y, at, span, left = np.zeros(u.shape[1]), 0.0, 1.0 / norm, calls
    while left > 0:
        x = start + u @ y
        gross = max(gross * 1e-6, fluid.gross(x))
        if float(np.abs(fluid.drift(x)).sum()) <= SETTLED * gross or gross == 0:
            return Course(np.maximum(x, 0.0), at, True)
        y, used = _advance(fluid, start, y, span, left)
        at, span, left = at + span, 2.0 * span, left - used
    return Course(np.maximum(start + u @ y, 0.0), at, False)


def _advance(fluid: Fluid, start: Floats, y: Floats, span: float, calls: int) -> tuple[Floats, int]:
    """The coordinates after ``span``, or when the ``calls`` are used up, and how many were used."""
    solver, used = _solver(fluid, start, y, span), 0
    while solver.status == "running":
        _step(solver, start)
        if solver.nfev > calls:
            return np.asarray(solver.y), solver.nfev + 1
        used = solver.nfev
    return np.asarray(solver.y), used + 1


def _solver(fluid: Fluid, start: Floats, y: Floats, span: float) -> LSODA:
    from scipy.integrate import LSODA

    u = fluid.basis

    def f(_: float, z: Floats) -> Floats:
        return np.asarray(u.T @ fluid.drift(start + u @ z))

    def jacobian(_: float, z: Floats) -> Floats:
        return np.asarray(u.T @ fluid.jacobian(start + u @ z) @ u)

    return LSODA(f, 0.0, y, span, rtol=1e-9, atol=1e-11 * _size(start), jac=jacobian)


def _size(start: Floats) -> float:
    return max(1.0, float(np.abs(start).sum()))


def _step(solver: LSODA, start: Floats) -> None:
    """One step; NoEnd where it fails, or the marking grows without limit."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver.step()
    if solver.status == "failed" or not np.abs(solver.y).max(initial=0.0) <= WITHOUT_LIMIT * _size(start):
        raise NoEnd


def sampled(fluid: Fluid, start: Floats, times: Floats) -> list[Floats]:
    """The markings at ascending times from ``start``; NoEnd where too much work would be needed."""
    u = fluid.basis
    solver = _solver(fluid, start, np.zeros(u.shape[1]), float(times[-1]))
    found: list[Floats] = [start for t in times.tolist() if t <= 0]
    while len(found) < len(times):
        _step(solver, start)
        dense = solver.dense_output()
        while len(found) < len(times) and times[len(found)] <= solver.t:
            found.append(np.maximum(start + u @ dense(times[len(found)]), 0.0))
        if solver.nfev > 10 * MOST_CALLS:
            raise NoEnd
    return found


def state_at(fluid: Fluid, time: float) -> Floats:
    """The marking after ``time`` from the initial one."""
    if not fluid.basis.shape[1] or time <= 0:
        return fluid.start
    y, _ = _advance(fluid, fluid.start, np.zeros(fluid.basis.shape[1]), time, 50 * MOST_CALLS)
    return np.maximum(fluid.start + fluid.basis @ y, 0.0)


def polished(fluid: Fluid, x: Floats) -> Floats:
    """Newton's steps from where a trajectory came to rest; the point itself where they lead away."""
    u, size = fluid.basis, max(1.0, float(np.abs(x).sum()))
    y = np.zeros(u.shape[1])
    for _ in range(30):
        at = x + u @ y
        try:
            step = np.linalg.solve(u.T @ fluid.jacobian(at) @ u, u.T @ fluid.drift(at))
        except np.linalg.LinAlgError:
            return x
        y = y - step
        if not np.all(np.isfinite(y)) or np.abs(u @ y).max(initial=0.0) > 1e-3 * size or (x + u @ y).min() < -1e-9 * size:
            return x
        if np.abs(step).max(initial=0.0) <= 1e-14 * size:
            break
    return np.maximum(x + u @ y, 0.0)


def other_ends(fluid: Fluid, end: Course) -> list[Floats]:
    """Where trajectories from elsewhere come to rest, if not in the same point. The beginnings have the same conserved sums: they are
    reached with other rates."""
    rng = np.random.default_rng(20171)
    size = max(1.0, float(np.abs(fluid.start).sum()))
    found: list[Floats] = []
    for _ in range(STARTS):
        factors = np.exp(rng.normal(0.0, 2.0, len(fluid.flows)))
        try:
            begin = follow(_Faster(fluid.net, factors), fluid.start, MOST_CALLS // 10).x
            course = follow(fluid, begin, MOST_CALLS // 4)
        except (NoEnd, NotSmooth):
            continue
        known = [end.x, *found]
        if course.settled and all(np.abs(course.x - x).max() > APART * size for x in known):
            found.append(course.x)
    return found


class _Faster(Fluid):
    """The same flow with every rate multiplied by a factor."""

    def __init__(self, net: Net, factors: Floats) -> None:
        Fluid.__init__(self, net)
        self.factors = dict(zip((t.name for t in self.flows), factors.tolist(), strict=True))

    def rate(self, t: Timed, at: Point) -> Jet:
        return Fluid.rate(self, t, at).times(self.factors[t.name])


# --- the refinement ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Refined:
    """Around a fixed point: ``shift`` V (places), ``covariance`` W (places, places), ``slowest`` the rate at which deviations die out."""

    shift: Floats
    covariance: Floats
    slowest: float


class Unstable(Exception):
    """A fixed point does not attract, or is not isolated."""


def refined(fluid: Fluid, x: Floats) -> Refined:
    """The correction at a fixed point; Unstable where the linearised flow does not come back to it."""
    from scipy.linalg import solve_continuous_lyapunov

    u, places = fluid.basis, len(x)
    if not u.shape[1]:
        return Refined(np.zeros(places), np.zeros((places, places)), math.inf)
    at = fluid.point(x)
    rates = [fluid.rate(t, at) for t in fluid.flows]
    c = fluid.changes
    a = u.T @ (c.T @ np.array([r.slope for r in rates])) @ u
    slowest = -float(np.linalg.eigvals(a).real.max())
    if slowest <= 1e-12 * float(np.abs(a).max()):
        raise Unstable
    q = u.T @ np.einsum("t,ti,tj->ij", np.array([r.value for r in rates]), c, c) @ u
    w = u @ solve_continuous_lyapunov(a, -q) @ u.T
    bend = np.array([float(np.sum(r.bend * w)) for r in rates]) @ c
    return Refined(-0.5 * u @ np.linalg.solve(a, u.T @ bend), w, slowest)


def expected(h: Jet, by: Refined) -> float:
    """The mean of a smooth function of the marking."""
    return h.value + float(h.slope @ by.shift) + 0.5 * float(np.sum(h.bend * by.covariance))


def nearest_switch(switches: Sequence[Switch], by: Refined) -> float:
    """The distance to the nearest switch, in standard deviations of what it compares; infinite where there is none."""
    near = math.inf
    for s in switches:
        spread = math.sqrt(max(0.0, float(s.gap.slope @ by.covariance @ s.gap.slope)))
        if spread > 0:
            near = min(near, abs(s.gap.value) / spread)
    return near


# --- what is asked ----------------------------------------------------------------------------------------------------------------


def reward(fluid: Fluid, p: Primitive, at: Point) -> Jet:
    """A long-run average as a function of the marking; NotSmooth where it is none."""
    match p:
        case TimeAverage(value=v):
            return at.jet(v)
        case FiringRate(transition=t, value=v):
            return fluid.rate(_named(fluid, t), at) * at.jet(v)
        case RunningClocks(transition=t):
            return fluid.clocks(_named(fluid, t), at)
        case LinkRate(link=link):
            total = at.number(0.0)
            for u in fluid.flows:
                if u.transfer is not None and link in u.transfer.links:
                    total = total + fluid.work(u, at)
            return total
    raise NotSmooth("it is no long-run average")


def _named(fluid: Fluid, name: str) -> Timed:
    return next(t for t in fluid.flows if t.name == name)
