"""For which nets the direct method is right, and the fixed tables that it works by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spn.compiled import CompiledNet
from spn.compiled import layout as at
from spn.compiled.clocks import is_positive
from spn.compiled.net import word
from spn.dist.exponential import Exponential
from spn.dist.leaves import Leaf, leaves
from spn.expr.evaluate import fold
from spn.expr.nodes import constant
from spn.net.model import INFINITE, Memory, Net, Timed, timed
from spn.net.semantics import Rules, rules
from spn.sim.direct import layout as n

MOST_RATES = 64  # of transitions that might as well run by clocks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """``slots``: the timed transitions, by index. Per slot the rate of one of its clocks at speed 1, and whether its speed depends on the
    marking (else it is in the rate). ``leaves``: their number rounded up to a power of two; ``words``: all of it for the kernel."""

    rules: Rules
    slots: tuple[int, ...]
    rates: tuple[float, ...]
    moving: tuple[bool, ...]
    leaves: int
    words: NDArray[np.int64]


def obstacle(net: Net) -> str:
    """Why the direct method is not for this net; empty where it is.

    It needs what makes a clock's past irrelevant: every timed law exponential, its scale a constant, no repetition of the same work (memory
    ``repeat``), no transfers."""
    found = list(timed(net))
    if not found:
        return "nothing in it takes time"
    return next(filter(None, map(obstacle_of, found)), "")


def obstacle_of(t: Timed) -> str:
    """Why the direct method does not take a transition; empty where it does."""
    if _leaf(t) is None:
        return f"the law of {t.name} is not exponential"
    if t.transfer is not None:
        return f"{t.name} is a transfer"
    if t.memory is Memory.REPEAT:
        return f"{t.name} repeats its work"
    if not is_positive(constant(fold(t.scale))):
        return f"the work of {t.name} is scaled by the marking"
    return ""


def slower(net: Net) -> str:
    """Why clocks are quicker than the direct method, where it is possible; empty where they are not.

    Measured: an indexed heap and a tree of sums cost the same at about fifty transitions; beyond, fewer heap entries than rates move. Only
    for single clocks at constant speed: several servers take a clock each, and moving speeds a group."""
    found = list(timed(net))
    if len(found) > MOST_RATES and all(t.servers == 1 and is_positive(constant(fold(t.speed))) for t in found):
        return f"{len(found)} transitions of one clock each, at constant speed"
    return ""


def _leaf(t: Timed) -> Leaf | None:
    """The one leaf of an exponential law."""
    found = leaves(t.law)
    leaf = found[0]
    plain = len(found) == 1 and leaf.shift == 0 and is_positive(leaf.scale)
    return leaf if plain and isinstance(leaf.law, Exponential) and 0 < leaf.law.rate < math.inf else None


def plan(compiled: CompiledNet) -> Plan:
    """The tables of a net without an :func:`obstacle`."""
    net = compiled.net
    slots = tuple(i for i, t in enumerate(net.transitions) if isinstance(t, Timed))
    grouped = {t for g in compiled.groups for t in g.members}
    rates = tuple(_rate(compiled, t) for t in slots)
    moving = tuple(t in grouped for t in slots)
    leaf_count = 1 << max(0, len(slots) - 1).bit_length()
    words = _words(compiled, slots, rates, moving, leaf_count)
    return Plan(rules=rules(net), slots=slots, rates=rates, moving=moving, leaves=leaf_count, words=words)


def _rate(compiled: CompiledNet, t: int) -> float:
    transition = compiled.net.transitions[t]
    leaf = _leaf(transition) if isinstance(transition, Timed) else None
    assert leaf is not None and isinstance(leaf.law, Exponential)
    return leaf.law.rate / (float(leaf.scale) * compiled.clockwork.factors[t])


def _words(
    compiled: CompiledNet, slots: Sequence[int], rates: Sequence[float], moving: Sequence[bool], leaf_count: int
) -> NDArray[np.int64]:
    words = [0] * n.N_SIZE
    words[n.N_LEAVES], words[n.N_SLOTS] = leaf_count, len(slots)
    words[n.N_SLOT] = len(words)
    for t, rate, moves in zip(slots, rates, moving, strict=True):
        words += [t, word(rate), int(moves), *_enabling(compiled, t), 0]
    known: dict[tuple[int, ...], int] = {}  # equal lists once: where all depend on one place they would be as long as the net each
    lists = []
    for affected in _affected(compiled, slots):
        if affected not in known:
            known[affected] = _listed(words, affected)
        lists.append(known[affected])
    words[n.N_LISTS] = len(words)
    words += lists
    return np.array(words, dtype=np.int64)


def _enabling(compiled: CompiledNet, t: int) -> list[int]:
    """Servers, and what decides on the clocks, as in the compiled net."""
    image, transition = compiled.image, compiled.net.transitions[t]
    assert isinstance(transition, Timed)
    record = int(image[at.H_RECORDS]) + t * at.F_SIZE
    servers = at.UNBOUNDED if transition.servers == INFINITE else transition.servers
    return [servers, int(image[record + at.F_PLACE]), int(image[record + at.F_NEEDS]), int(image[record + at.F_ENABLING])]


def _listed(words: list[int], items: Sequence[int]) -> int:
    """Append a list; its offset."""
    words += [len(items), *items]
    return len(words) - len(items) - 1


def _affected(compiled: CompiledNet, slots: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """By transition, the slots whose rate its firing may change: through the number of clocks or the speed."""
    slot = {t: k for k, t in enumerate(slots)}
    groups = compiled.groups
    reach = compiled.dependencies
    for i, clocks in enumerate(reach.timed):
        speeds = {m for r in reach.readers[i] if r < len(groups) for m in groups[r].members}
        yield tuple(sorted(slot[t] for t in speeds | set(clocks)))
