"""Images of primitives under the permutations of replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from spn.expr.nodes import Node, Tokens
from spn.measure import FiringRate, LinkRate, Primitive, RunningClocks, TimeAverage
from spn.symmetry.facts import Keys, Name, expression
from spn.symmetry.groups import Group
from spn.symmetry.trees import mapped

MOST = 10_000  # images of one primitive


class TooMany(Exception):
    """A primitive has too many images to be averaged over."""


def images(p: Primitive, groups: Sequence[Group]) -> tuple[Primitive, ...]:
    """The primitives that the groups map one to, itself included; those that differ only in the order of sums count once."""
    renamings = [r for g in groups for r in _generators(g)]
    keys = Keys()
    found = {_key(p, keys): p}
    todo = [p]
    while todo:
        q = todo.pop()
        for names in renamings:
            r = renamed(q, names)
            k = _key(r, keys)
            if k not in found:
                found[k] = r
                todo.append(r)
                if len(found) > MOST:
                    raise TooMany
    return tuple(found.values())


def _generators(g: Group) -> list[Mapping[Name, str]]:
    n = len(g.parts)
    turns = [{k: (k + (g.step or 1)) % n for k in range(n)}]
    if not g.step:
        turns.append({0: 1, 1: 0})
    return [
        {name: new[1] for i, j in turn.items() for name, new in zip(g.parts[i].names(), g.parts[j].names(), strict=True)} for turn in turns
    ]


def renamed(p: Primitive, names: Mapping[Name, str]) -> Primitive:
    """The same question with other names."""
    match p:
        case TimeAverage(value=v):
            return TimeAverage(_renamed(v, names))
        case FiringRate(transition=t, value=v):
            return FiringRate(names.get(("transition", t), t), _renamed(v, names))
        case RunningClocks(transition=t):
            return RunningClocks(names.get(("transition", t), t))
        case LinkRate(link=link):
            return LinkRate(names.get(("link", link), link))
    raise TypeError(f"not a long-run average: {p!r}")


def _renamed(node: Node, names: Mapping[Name, str]) -> Node:
    def leaf(n: Tokens) -> Node:
        return replace(n, place=names.get(("place", n.place), n.place))

    return mapped(node, leaf)


def _key(p: Primitive, keys: Keys) -> tuple[object, ...]:
    match p:
        case TimeAverage(value=v):
            return "average", keys.key(expression(v), lambda n: n)
        case FiringRate(transition=t, value=v):
            return "firing", t, keys.key(expression(v), lambda n: n)
    return (p,)
