"""Deadlock and liveness from siphons and traps: the condition of Commoner, and what it proves of which nets.

The condition: every siphon (that is not empty) holds a trap that is initially marked; it suffices to look at the minimal siphons and the
largest trap in each. It proves

- of every ordinary net without inhibitors, guards, capacities and marking-dependent multiplicities: no marking is dead, since the empty
  places of a dead marking would form a siphon. Test arcs do no harm (a test is counted as a need). Priorities and times do no harm either:
  they leave fewer markings, and a marking is dead by its arcs alone;
- of ordinary asymmetric-choice nets: liveness (Commoner 1972; Barkaoui and Pradat-Peyre 1996, LNCS 1091, 103);
- of ordinary (extended) free-choice nets: liveness, and where it fails they are not live (Hack 1972, MIT; Desel and Esparza 1995,
  theorem 4.27).

Liveness is claimed only of nets in plain arcs alone whose times and priorities let every enabled transition fire. Where the condition fails
outside these classes nothing follows. Places that no transition needs are left out: that they stay empty harms nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from spn.net.model import ArcKind, Net
from spn.structural.classes import classes, is_ordinary, obstacles, restrictions
from spn.structural.incidence import constant
from spn.structural.siphons import Places, Sets, maximal_trap


@dataclass(frozen=True, slots=True)
class Commoner:
    """``holds`` is None where not all minimal siphons are known and none of the known fails. ``uncontrolled`` are the minimal siphons
    without a marked trap. ``deadlock_free`` and ``live`` are True or False where proved, None where nothing follows; ``why`` says why."""

    holds: bool | None
    uncontrolled: tuple[Places, ...]
    deadlock_free: bool | None
    live: bool | None
    why: str


def commoner(net: Net, siphons: Sets) -> Commoner:
    """The condition on a net with its minimal siphons, and what follows."""
    initial = [p.initial for p in net.places]
    needed = {a.place for t in net.transitions for a in t.arcs if a.kind in (ArcKind.INPUT, ArcKind.TEST)}
    used = [s for s in siphons.sets if any(net.places[p].name in needed for p in s)]
    bad = tuple(s for s in used if not any(initial[p] for p in maximal_trap(net, s)))
    holds = False if bad else None if siphons.stopped else True
    why = inapplicable(net)
    return Commoner(holds, bad, None, None, why) if why else _concluded(net, holds, bad)


def inapplicable(net: Net) -> str:
    """Why nothing can follow from the condition; empty where something may."""
    if not net.transitions:
        return "the net has no transition"
    harmful = [o for o in obstacles(net) if o != "test arcs"]
    heavy = any(constant(a) != 1 for t in net.transitions for a in t.arcs if a.kind is ArcKind.TEST)
    if harmful or heavy or not is_ordinary(net):
        return f"the theorems on siphons and traps do not hold with {', '.join(harmful) or 'weights other than 1'}"
    return ""


def _concluded(net: Net, holds: bool | None, bad: tuple[Places, ...]) -> Commoner:
    free = True if holds else None
    kinds = classes(net)
    limits = [*(["test arcs"] if obstacles(net) else []), *restrictions(net)]
    if holds is None:
        return Commoner(holds, bad, None, None, "not all minimal siphons are known")
    if limits:
        return Commoner(holds, bad, free, None, f"of liveness nothing follows: the net has {', '.join(limits)}")
    if "extended free choice" in kinds and (holds or all(any(a.kind is ArcKind.INPUT for a in t.arcs) for t in net.transitions)):
        return Commoner(holds, bad, free, holds, "free choice: live exactly where the condition holds")
    if "asymmetric choice" in kinds:
        return Commoner(holds, bad, free, True if holds else None, "asymmetric choice: live where the condition holds")
    return Commoner(holds, bad, free, None, "of liveness nothing follows outside asymmetric-choice nets")
