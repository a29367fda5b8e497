"""One table from several files: the ranks of a job, or the steps of one worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from spn.trace.records import Ints, Origin, Problem, Trace

_COLUMNS = ("kind", "layer", "collective", "group", "rank", "start_ns", "duration_ns", "bytes", "entry")


def combine(traces: Sequence[Trace], path: str) -> Trace:
    """All records in order of start, with ``part`` telling the file. Marks without a number (-1: one file a step) are counted through
    in order of start."""
    if len(traces) == 1:
        return _numbered(traces[0])
    traces = _told_apart(traces)
    operations, of_operation = _renumbered([t.operations for t in traces])
    threads, of_thread = _renumbered([t.threads for t in traces])
    nodes, of_node = _renumbered([t.nodes for t in traces])
    thread_node = np.zeros(len(threads), dtype=np.int32)
    for i, t in enumerate(traces):
        thread_node[of_thread[i]] = of_node[i][t.thread_node]
    start = np.concatenate([t.start_ns for t in traces])
    order = np.argsort(start, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    first = np.cumsum([0] + [len(t) for t in traces])
    first_mark = np.cumsum([0] + [len(t.mark_number) for t in traces])

    def joined(of: Callable[[int, Trace], Ints]) -> Ints:
        return np.concatenate([of(i, t) for i, t in enumerate(traces)])

    zeros: Counter[str] = Counter()
    for t in traces:
        zeros.update(t.zeros)
    return _numbered(
        Trace(
            operations=operations,
            types=_types(traces, operations),
            threads=threads,
            nodes=nodes,
            thread_node=thread_node,
            operation=joined(lambda i, t: of_operation[i][t.operation])[order],
            thread=joined(lambda i, t: of_thread[i][t.thread])[order],
            part=joined(lambda i, t: np.full(len(t), i, dtype=np.int32))[order],
            step=joined(lambda i, t: np.where(t.step >= 0, t.step + first_mark[i], -1).astype(np.int32))[order],
            **{name: np.concatenate([getattr(t, name) for t in traces])[order] for name in _COLUMNS},
            dependencies=place[joined(lambda i, t: t.dependencies + first[i])],
            mark_number=joined(lambda _, t: t.mark_number),
            mark_start_ns=joined(lambda _, t: t.mark_start_ns),
            mark_duration_ns=joined(lambda _, t: t.mark_duration_ns),
            mark_part=joined(lambda i, t: np.full(len(t.mark_number), i, dtype=np.int32)),
            zeros=zeros,
            problems=_problems(traces),
            origin=_origin(traces, path),
            parts=tuple(t.origin for t in traces),
        )
    )


def _told_apart(traces: Sequence[Trace]) -> list[Trace]:
    """The traces with the rank before names of nodes that several ranks use: process 1 of one host is not that of another. What begins
    with a slash is a device of the whole job (TensorFlow) and stays."""
    ranks = [int(_rank_of_part(t)[0]) for t in traces]
    users: dict[str, set[int]] = {}
    for rank, t in zip(ranks, traces, strict=True):
        for node in t.nodes:
            users.setdefault(node, set()).add(rank)
    return [
        _with_rank(t, rank, {n for n in t.nodes if len(users[n]) > 1 and not n.startswith("/")})
        for rank, t in zip(ranks, traces, strict=True)
    ]


def _with_rank(trace: Trace, rank: int, shared: set[str]) -> Trace:
    before = f"rank {rank} " if rank >= 0 else ""
    node_of = [trace.nodes[n] for n in trace.thread_node.tolist()]
    return replace(
        trace,
        nodes=tuple(before + n if n in shared else n for n in trace.nodes),
        threads=tuple(before + t if n in shared else t for n, t in zip(node_of, trace.threads, strict=True)),
    )


def _types(traces: Sequence[Trace], operations: tuple[str, ...]) -> tuple[str, ...]:
    types = dict.fromkeys(operations, "")
    for t in traces:
        types.update({name: type_ for name, type_ in zip(t.operations, t.types, strict=True) if type_})
    return tuple(types.values())


def _numbered(trace: Trace) -> Trace:
    """The trace with marks that had no number counted through, per rank, in order of start."""
    bare = np.flatnonzero(trace.mark_number < 0)
    if not len(bare):
        return trace
    number = trace.mark_number.copy()
    ranks = _rank_of_part(trace)[trace.mark_part]
    for rank in np.unique(ranks[bare]):
        own = bare[ranks[bare] == rank]
        number[own[np.argsort(trace.mark_start_ns[own], kind="stable")]] = np.arange(len(own))
    return replace(trace, mark_number=number)


def _rank_of_part(trace: Trace) -> Ints:
    """The rank that the records of each file tell, -1 where they tell none or several."""
    ranks = np.full(len(trace.parts), -1, dtype=np.int64)
    for part in range(len(trace.parts)):
        told = trace.rank[(trace.part == part) & (trace.rank >= 0)]
        if len(told) and told.min() == told.max():
            ranks[part] = told[0]
    return ranks


def _renumbered(lists: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], list[Ints]]:
    """All names, and for each list the places of its names among them."""
    places: dict[str, int] = {}
    found = [np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int32) for names in lists]
    return tuple(places), found


def _problems(traces: Sequence[Trace]) -> tuple[Problem, ...]:
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for trace in traces:
        for problem in trace.problems:
            counts[problem.what] += problem.count
            examples.setdefault(problem.what, f"{problem.example} ({trace.origin.path})" if problem.example else trace.origin.path)
    return tuple(Problem(what=what, count=n, example=examples[what]) for what, n in counts.most_common())


def _origin(traces: Sequence[Trace], path: str) -> Origin:
    formats = list(dict.fromkeys(t.origin.format for t in traces))
    return Origin(
        path=path,
        format=", ".join(formats),
        events=sum(t.origin.events for t in traces),
        sha256=traces[0].origin.sha256,
        about={"files": len(traces)},
    )
