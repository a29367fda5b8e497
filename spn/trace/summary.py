"""What a trace holds, as plain figures: for tables on a screen and for JSON. All times are seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from spn.errors import DataError
from spn.trace.collectives import collectives
from spn.trace.records import Ints, Kind, Trace
from spn.trace.steps import PHASES, Steps, busy, steps
from spn.trace.transfers import Phases, phases

NS = 1e9


def summary(trace: Trace, mark: str | None = None) -> dict[str, Any]:
    """Files, nodes, ranks, records by kind, steps with their phases, collectives over all ranks, phases of links, and problems.

    Steps that nothing tells are an empty table with the reason under ``why``; with ``mark`` that is an error (E0804).
    """
    found, why = _found(trace, mark)
    return {
        "format": trace.origin.format,
        "files": [{"path": p.path, "format": p.format, "events": p.events, "sha256": p.sha256} for p in trace.parts],
        "nodes": list(trace.nodes),
        "ranks": np.unique(trace.rank[trace.rank >= 0]).tolist(),
        "records": len(trace),
        "operations": len(trace.operations),
        "dependencies": len(trace.dependencies),
        "span": trace.span_ns() / NS,
        "kinds": _kinds(trace),
        "steps": _steps(found, why),
        "exposed": busy(trace).exposed() / NS,
        "collectives": _collectives(trace),
        "links": _links(trace, phases(trace, found)),
        "problems": [{"what": p.what, "count": p.count, "example": p.example} for p in trace.problems],
    }


def _kinds(trace: Trace) -> list[dict[str, Any]]:
    rows = []
    for kind in Kind:
        chosen = trace.kind == kind
        if chosen.any():
            timed, size = chosen & trace.timed(), trace.bytes[chosen]
            rows.append(
                {
                    "kind": kind.name.lower(),
                    "records": int(chosen.sum()),
                    "total": float(trace.duration_ns[timed].sum() / NS),
                    "without_size": int((size < 0).sum()),
                    "bytes": int(size[size >= 0].sum()) if (size >= 0).any() else None,
                }
            )
    return rows


def _found(trace: Trace, mark: str | None) -> tuple[Steps | None, str]:
    try:
        return steps(trace, mark), ""
    except DataError as error:
        if mark is not None:
            raise
        return None, error.diagnostics[0].message


def _steps(found: Steps | None, why: str) -> dict[str, Any]:
    if found is None:
        return {"count": 0, "why": why, "phases": [], "device_period": None, "bytes": None, "left_out": []}
    size = found.bytes[found.bytes >= 0]
    return {
        "count": len(found),
        "marked_by": found.marked_by,
        "on_device": found.on_device,
        "numbers": [int(found.number.min()), int(found.number.max())] if len(found) else [],
        "phases": [_phase(name, found.phase(name)) for name in PHASES if len(found) and found.phase(name).any()],
        "device_period": _mean(found.device_periods()),
        "bytes": {"mean": float(size.mean()), "least": int(size.min()), "most": int(size.max())} if len(size) else None,
        "left_out": [{"what": p.what, "count": p.count, "example": p.example} for p in found.problems],
    }


def _phase(name: str, values: Ints) -> dict[str, Any]:
    mean = float(values.mean())
    return {
        "name": name,
        "mean": mean / NS,
        "cv": float(values.std()) / mean,
        "least": int(values.min()) / NS,
        "most": int(values.max()) / NS,
    }


def _mean(values: Ints) -> float | None:
    return float(values.mean()) / NS if len(values) else None


def _collectives(trace: Trace) -> dict[str, Any]:
    found = collectives(trace)
    return {
        "matched": len(found),
        "ranks": list(found.ranks),
        "service": float(found.service_ns.sum()) / NS,
        "wait": [float(w) / NS for w in found.wait_ns.sum(axis=0)] if len(found) else [],
        "problems": [{"what": p.what, "count": p.count} for p in found.problems],
    }


def _links(trace: Trace, found: Phases) -> list[dict[str, Any]]:
    """Per direction: phases, messages, and bytes over time of the phases whose sizes are known."""
    rows = []
    for source, target in sorted(set(zip(found.source.tolist(), found.target.tolist(), strict=True))):
        chosen = (found.source == source) & (found.target == target)
        sized = chosen & (found.bytes >= 0)
        length = float(found.length_ns[sized].sum()) / NS
        rows.append(
            {
                "source": trace.nodes[source] if source >= 0 else None,
                "target": trace.nodes[target],
                "phases": int(chosen.sum()),
                "messages": int(found.messages[chosen].sum()),
                "bytes": int(found.bytes[sized].sum()) if sized.any() else None,
                "rate": float(found.bytes[sized].sum()) / length if length else None,
            }
        )
    return rows
