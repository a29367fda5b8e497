"""Where the nodes of a net go from left to right, so that its cycles look like cycles.

Laid out by direction alone, a closed net is a long strip with an arc all the way back. Here the strip is folded: from the middle on, nodes
go back from right to left, as often as keeps the picture from being much wider than high. Places have even columns and transitions odd
ones, so that every arc leads from one column to another, and a turn is always at a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from spn.net.model import ArcKind, Net

Node = tuple[str, str]  # kind ("place" or "transition") and name
MAX_WIDTH: Final = 4  # columns to a row of nodes, from which on a net is folded once more
MAX_ROWS: Final = 1.5  # nodes a column of the strip, up to which it is folded more than once: others are tangled enough


def columns(net: Net) -> dict[Node, int]:
    """The column of every node. An arc between two nodes leads to the right if the column of its end is the higher one."""
    heads = _heads(net)
    rank = _ranks(heads, _backward(heads))
    last = max(rank.values(), default=0)
    width = _width(last, len(rank))
    return {node: _folded(r, width) for node, r in rank.items()}


def _heads(net: Net) -> dict[Node, list[Node]]:
    """Where the arcs of each node lead to; nodes that no arc leads to come first."""
    nodes: list[Node] = [*(("place", p.name) for p in net.places), *(("transition", t.name) for t in net.transitions)]
    heads: dict[Node, list[Node]] = {node: [] for node in nodes}
    for t in net.transitions:
        for arc in t.arcs:
            place, transition = ("place", arc.place), ("transition", t.name)
            tail, head = (transition, place) if arc.kind is ArcKind.OUTPUT else (place, transition)
            heads[tail].append(head)
    reached = {head for ends in heads.values() for head in ends}
    return dict(sorted(heads.items(), key=lambda item: item[0] in reached))


def _backward(heads: Mapping[Node, list[Node]]) -> set[tuple[Node, Node]]:
    """The arcs that close a cycle, going from the first node on along the arcs."""
    found: set[tuple[Node, Node]] = set()
    open_: set[Node] = set()
    seen: set[Node] = set()
    for root in heads:
        if root in seen:
            continue
        path: list[tuple[Node, Iterator[Node]]] = [(root, iter(heads[root]))]
        open_.add(root)
        seen.add(root)
        while path:
            node, rest = path[-1]
            head = next(rest, None)
            if head is None:
                path.pop()
                open_.discard(node)
            elif head in open_:
                found.add((node, head))
            elif head not in seen:
                seen.add(head)
                open_.add(head)
                path.append((head, iter(heads[head])))
    return found


def _ranks(heads: Mapping[Node, list[Node]], backward: set[tuple[Node, Node]]) -> dict[Node, int]:
    """The length of the longest way to each node along the arcs that close no cycle; even for places, odd for transitions."""
    rank = {node: int(node[0] == "transition") for node in heads}
    forward = {node: [h for h in ends if (node, h) not in backward] for node, ends in heads.items()}
    waiting = dict.fromkeys(heads, 0)
    for ends in forward.values():
        for head in ends:
            waiting[head] += 1
    ready = [node for node, n in waiting.items() if not n]
    for node in ready:
        for head in forward[node]:
            rank[head] = max(rank[head], rank[node] + 1)
            waiting[head] -= 1
            if not waiting[head]:
                ready.append(head)
    return rank


def _width(last: int, nodes: int) -> int:
    """The column at which to turn: half of the way, less where the picture would still be a strip."""
    rows = nodes / (last + 1)
    turns = 2
    while rows <= MAX_ROWS and last / turns > MAX_WIDTH * turns * rows:
        turns += 2
    return max(2, 2 * -(-last // (2 * turns)))


def _folded(rank: int, width: int) -> int:
    """0, 1, …, width, width - 1, …, 0, 1, …"""
    return width - abs(width - rank % (2 * width))
