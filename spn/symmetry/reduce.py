"""From the symmetries of a net to the smaller chain: groups folded to counts where that can be, the others by canonical markings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from spn.measure import Primitive, RunningClocks, TimeAverage
from spn.net.expand import Expansion, running_clocks
from spn.net.model import Immediate, Marking, Net, Timed, place_index
from spn.symmetry.counts import Folded, NotFoldable, Terms, folded
from spn.symmetry.groups import Group, Part, invariant
from spn.symmetry.orbits import Ints, canonical


@dataclass(frozen=True, slots=True)
class Step:
    """One group folded: as many replicas as its parts are, and what became of them."""

    group: Group
    folded: Folded


@dataclass(frozen=True, slots=True)
class Reduction:
    """``net`` (laws exponential) is to be explored, with ``canonical`` markings if that is not None. ``terms`` gives each primitive asked
    of the net before as a weighted sum of primitives of this one; ``averaged`` are those that hold for one replica among equals, whose
    value is the mean over all of them. ``steps`` are the groups folded, in order; ``orbits`` those whose markings are made canonical;
    ``notes`` say why a group was not folded."""

    net: Net
    terms: Mapping[Primitive, Terms]
    averaged: frozenset[Primitive]
    canonical: Callable[[Ints], Ints] | None
    steps: tuple[Step, ...]
    orbits: tuple[Group, ...]
    notes: tuple[str, ...] = ()


def reduction(net: Net, expansion: Expansion, groups: Sequence[Group], wanted: Iterable[Primitive]) -> Reduction:
    """Reduce the phase-type expansion of a net by the symmetry groups of the net. ``wanted`` are primitives of the expansion, running
    clocks of the net itself."""
    work = _Work(expansion, groups)
    asked = {p: _of_counts(p, net) if groups else p for p in wanted}
    work.terms = {q: ((1.0, q),) for q in dict.fromkeys(asked.values())}
    for k in range(len(work.groups)):
        work.fold(k)
    left = [g for g in work.groups if g is not None]
    terms, averaged = _orbit_means(work.terms, left)
    return Reduction(
        net=work.net,
        terms={p: terms[q] for p, q in asked.items()},
        averaged=frozenset(p for p, q in asked.items() if q in work.averaged or q in averaged),
        canonical=canonical(work.net, left) if left else None,
        steps=tuple(work.steps),
        orbits=tuple(left),
        notes=tuple(work.notes),
    )


def _of_counts(p: Primitive, net: Net) -> Primitive:
    """Running clocks as the average of an expression, which can be folded."""
    if isinstance(p, RunningClocks):
        t = next(t for t in net.transitions if t.name == p.transition)
        assert isinstance(t, Timed)
        return TimeAverage(running_clocks(t, net))
    return p


class _Work:
    """The net as far as it is folded, and the groups that are left (None: folded or dropped)."""

    def __init__(self, expansion: Expansion, groups: Sequence[Group]) -> None:
        self.net = expansion.net
        self.groups: list[Group | None] = [_extended(g, expansion) for g in sorted(groups, key=_size)]
        self.terms: dict[Primitive, Terms] = {}
        self.averaged: set[Primitive] = set()
        self.steps: list[Step] = []
        self.notes: list[str] = []
        self.changed: set[int] = set()
        self.late = frozenset(t.name for t in self.net.transitions if isinstance(t, Immediate) and t.name in expansion.owner)

    def fold(self, k: int) -> None:
        """Fold group k if it can be; the groups that contain its members get their counts instead."""
        group = self.groups[k]
        if group is None:
            return
        if k in self.changed and not (_even(group) and invariant(self.net, group)):
            self.groups[k] = None  # the members were folded in different ways
            return
        if group.step:
            return
        try:
            found = folded(self.net, group, dict.fromkeys(q for terms in self.terms.values() for _, q in terms), self.late)
        except NotFoldable as reason:
            self.notes.append(f"{group.family} is not counted, its markings are sorted: {reason}")
            return
        self.net = found.net
        for p, terms in self.terms.items():
            new = tuple((f * g, r) for f, q in terms for g, r in found.terms[q])
            if any(g != 1.0 for _, q in terms for g, _ in found.terms[q]):
                self.averaged.add(p)
            self.terms[p] = new
        self.steps.append(Step(group, found))
        self.groups[k] = None
        names = {n for part in group.parts for n in part.names()}
        for j, other in enumerate(self.groups):
            if other is not None and j > k:
                self._replace(j, other, names, found)

    def _replace(self, j: int, other: Group, names: set[tuple[str, str]], found: Folded) -> None:
        parts = []
        for part in other.parts:
            if not any(n in names for n in part.names()):
                parts.append(part)
                continue
            self.changed.add(j)
            parts.append(
                Part(
                    part.label,
                    (*(p for p in part.places if ("place", p) not in names), *found.places),
                    tuple(p for p in part.links if ("link", p) not in names),
                    (*(t for t in part.transitions if ("transition", t) not in names), *found.transitions),
                )
            )
        self.groups[j] = replace(other, parts=tuple(parts))


def _size(g: Group) -> int:
    return len(g.parts[0].places) + len(g.parts[0].transitions) + len(g.parts[0].links)


def _even(g: Group) -> bool:
    return len({(len(p.places), len(p.links), len(p.transitions)) for p in g.parts}) == 1


def _extended(g: Group, expansion: Expansion) -> Group | None:
    """The group with what the expansion added to its members."""
    places: dict[str, list[str]] = {}
    transitions: dict[str, list[str]] = {}
    for p in expansion.net.places:
        if p.name in expansion.owner:
            places.setdefault(expansion.owner[p.name], []).append(p.name)
    kept = {t.name for t in expansion.net.transitions}
    for t in expansion.net.transitions:
        transitions.setdefault(expansion.owner.get(t.name, t.name), []).append(t.name)
    parts = tuple(
        Part(
            part.label,
            (*part.places, *(p for t in part.transitions for p in places.get(t, ()))),
            part.links,
            tuple(u for t in part.transitions for u in transitions.get(t, ()) if u in kept),
        )
        for part in g.parts
    )
    made = replace(g, parts=parts)
    return made if _even(made) else None


# --- canonical markings -----------------------------------------------------------------------------------------------------------


def _orbit_means(terms: Mapping[Primitive, Terms], groups: Sequence[Group]) -> tuple[dict[Primitive, Terms], set[Primitive]]:
    """In a chain of canonical markings a primitive that is not invariant has the mean of its images."""
    if not groups:
        return dict(terms), set()
    from spn.symmetry.images import images

    result: dict[Primitive, Terms] = {}
    averaged: set[Primitive] = set()
    for p, weighted in terms.items():
        new: list[tuple[float, Primitive]] = []
        for f, q in weighted:
            orbit = images(q, groups)
            new += [(f / len(orbit), r) for r in orbit]
            if len(orbit) > 1:
                averaged.add(p)
        result[p] = tuple(new)
    return result, averaged


# --- back to the net before -------------------------------------------------------------------------------------------------------


def unfolded(r: Reduction, original: Net, marking: Marking) -> dict[str, int]:
    """A marking of the net before that one of the reduced net stands for: its non-empty places."""
    held = {p.name: k for p, k in zip(r.net.places, marking, strict=True)}
    for step in reversed(r.steps):
        members = iter(step.group.parts)
        for name, state in zip(step.folded.places, step.folded.states, strict=True):
            for _ in range(held.pop(name)):
                held.update(zip(next(members).places, state, strict=True))
    return {p.name: held[p.name] for p in original.places if held.get(p.name)}


def stands_for(r: Reduction, markings: Ints) -> int:
    """How many markings of the net before the rows of ``markings`` stand for, as far as groups are folded."""
    index = place_index(r.net)
    known = [[index[p] for p in step.folded.places if p in index] for step in r.steps]
    if len(r.steps) != 1:
        return 0
    n = len(r.steps[0].group.parts)
    factorial = [math.factorial(k) for k in range(n + 1)]
    total = 0
    for row in markings[:, known[0]].tolist():
        below = 1
        for k in row:
            below *= factorial[k]
        total += factorial[n] // below
    return total


def described(r: Reduction) -> list[str]:
    """What was done, for people."""
    told = []
    alike: dict[tuple[str, int, int], list[str]] = {}
    for step in r.steps:
        key = (re.sub(r"\[[^]]*\]", "[]", step.group.family), len(step.group.parts), len(step.folded.states))
        alike.setdefault(key, []).append(step.group.family)
    for (_, n, k), families in alike.items():
        most = math.comb(n + k - 1, k - 1)
        what = f"{n} interchangeable replicas of {k} local states"
        who = families[0] if len(families) == 1 else f"{families[0]} and {len(families) - 1} more like it"
        told.append(f"{who}: {what} are counted, {most:,} combinations at most instead of {_power(k, n)}")
    for g in r.orbits:
        how = f"rotations of its {len(g.parts)} members by {g.step}" if g.step else f"permutations of its {len(g.parts)} members"
        told.append(f"{g.family}: markings that {how} map to one another are one state")
    return told


def _power(k: int, n: int) -> str:
    return f"{k**n:,}" if n * math.log10(max(k, 2)) < 12 else f"{k}^{n}"
