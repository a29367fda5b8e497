"""What a diagram says beside each node: the law in a few words, then whatever departs from the defaults, a line each."""

from __future__ import annotations

import math
from dataclasses import dataclass

from spn.dist.families import Deterministic, Erlang, Exponential, Uniform
from spn.dist.law import Law
from spn.expr.dims import BANDWIDTH, DATA, NUMBER, RATE, TIME, Dimension
from spn.expr.nodes import ONE, Exact, Node, Number
from spn.expr.text import to_text
from spn.net.model import INFINITE, Link, Memory, Place, Timed, Transfer, Transition
from spn.show.text import is_short, number, quantity


@dataclass(frozen=True, slots=True)
class Units:
    """Which dimensions the numbers of a net have: time, data and their quotients, or none at all in a ``units none`` file."""

    time: Dimension = TIME
    data: Dimension = DATA
    rate: Dimension = RATE
    bandwidth: Dimension = BANDWIDTH


WITH_UNITS = Units()
UNITLESS = Units(NUMBER, NUMBER, NUMBER, NUMBER)


def place_lines(place: Place) -> tuple[str, ...]:
    return () if place.capacity is None else (f"at most {place.capacity}",)


def link_lines(link: Link, units: Units = WITH_UNITS) -> tuple[str, ...]:
    return (f"link {link.name}", quantity(link.capacity, units.bandwidth))


def transition_lines(transition: Transition, units: Units = WITH_UNITS) -> tuple[str, ...]:
    """Law, servers, guard, priority and weight, memory and resets, each only where it is not the default."""
    own = _timed_lines(transition, units) if isinstance(transition, Timed) else ()
    return own + _common_lines(transition)


def _timed_lines(t: Timed, units: Units) -> tuple[str, ...]:
    transfer = () if t.transfer is None else _transfer_lines(t.transfer, units)
    return (_work(t, units), *_speed_lines(t, units), *transfer, *_servers(t), *_memory(t))


def _common_lines(t: Transition) -> tuple[str, ...]:
    lines = []
    if t.guard is not None:
        lines.append(f"[{to_text(t.guard)}]")
    if t.priority != 1:
        lines.append(f"priority {t.priority}")
    if t.weight != ONE:
        lines.append(f"weight {to_text(t.weight)}")
    if t.resets:
        lines.append(f"resets {', '.join(t.resets)}")
    return tuple(lines)


def _work(t: Timed, units: Units) -> str:
    if t.transfer is not None:
        return f"{size_text(t.law, units)}{_scaled(t)} over {', '.join(t.transfer.links)}"
    if _is_rate(t):
        return f"exp {_rate(t.speed, units)}{_scaled(t)}"
    return law_text(t.law, units) + _scaled(t)


def _is_rate(t: Timed) -> bool:
    """``exp(rate = f(marking))``: Exp(1) at speed f."""
    return t.speed != ONE and t.law.family == "exp" and getattr(t.law, "rate", None) == 1 and t.transfer is None


def _rate(speed: Node, units: Units) -> str:
    suffix = "" if units.rate == NUMBER else "/s"
    text = to_text(speed)
    bare = text.replace("#", "").replace(".", "").isalnum()
    return text + suffix if bare else f"({text}){suffix}" if suffix else text


def _scaled(t: Timed) -> str:
    if t.scale == ONE:
        return ""
    text = to_text(t.scale)
    return f" × {text}" if isinstance(t.scale, Number) else f" × ({text})"


def _speed_lines(t: Timed, units: Units) -> tuple[str, ...]:
    return () if t.speed == ONE or _is_rate(t) else (f"speed {to_text(t.speed)}",)


def _transfer_lines(transfer: Transfer, units: Units) -> tuple[str, ...]:
    lines = []
    if transfer.share != ONE:
        lines.append(f"share {to_text(transfer.share)}")
    if transfer.cap is not None:
        lines.append(f"cap {quantity(transfer.cap, units.bandwidth)}")
    if transfer.latency:
        lines.append(f"latency {quantity(transfer.latency, units.time)}")
    return tuple(lines)


def _servers(t: Timed) -> tuple[str, ...]:
    """Single is the default, and for a transfer infinite is."""
    default = 1 if t.transfer is None else INFINITE
    if t.servers == default:
        return ()
    return ("servers ∞",) if t.servers == INFINITE else (f"servers {t.servers}",)


def _memory(t: Timed) -> tuple[str, ...]:
    return () if t.memory is Memory.RESTART else (t.memory.value,)


def law_text(law: Law, units: Units = WITH_UNITS) -> str:
    """A law of durations in a few words: ``exp 4/s``, ``det 1 s``, ``lognormal 180 ms cv 0.08``, ``uniform 0 s to 2 s``."""
    rate: Exact | None = getattr(law, "rate", None)
    if law.family == "exp" and rate is not None and is_short(rate, units.rate):
        return f"exp {quantity(rate, units.rate)}"
    return _described(law, units.time)


def size_text(law: Law, units: Units = WITH_UNITS) -> str:
    """A law of sizes: a constant by its value alone (``97.5 MiB``), any other as for durations."""
    if law.cv() == 0:
        return _point(law, units.data)
    return _described(law, units.data)


def _described(law: Law, dimension: Dimension) -> str:
    match law:
        case Exponential():
            return f"exp {_point(law, dimension)}"
        case Deterministic():
            return f"det {_point(law, dimension)}"
        case Uniform(low=low, high=high):
            return f"uniform {quantity(low, dimension)} to {quantity(high, dimension)}"
        case Erlang(k=k):
            return f"erlang({k}) {_point(law, dimension)}"
        case _:
            return f"{law.family} {_point(law, dimension)}{_spread(law)}"


def _spread(law: Law) -> str:
    cv = law.cv()
    return f" cv {number(cv, 3)}" if math.isfinite(cv) else " cv ∞"


def _point(law: Law, dimension: Dimension) -> str:
    """A constant's value exactly as written, any other law's mean."""
    atoms = law.atoms()
    if atoms is not None and len(atoms) == 1:
        return quantity(atoms[0][0], dimension)
    mean = law.mean()
    return quantity(mean, dimension, 4) if math.isfinite(mean) else "mean ∞"
