"""Profiling traces: one table of records from every format, and the training steps in it."""

from spn.trace.collectives import Collectives, collectives
from spn.trace.export import write_records
from spn.trace.readers import read, sound
from spn.trace.records import NO_TIME, Collective, Kind, Layer, Origin, Problem, Trace
from spn.trace.steps import PHASES, Steps, busy, steps
from spn.trace.summary import summary
from spn.trace.transfers import Phases, phases

__all__ = [
    "NO_TIME",
    "PHASES",
    "Collective",
    "Collectives",
    "Kind",
    "Layer",
    "Origin",
    "Phases",
    "Problem",
    "Steps",
    "Trace",
    "busy",
    "collectives",
    "phases",
    "read",
    "sound",
    "steps",
    "summary",
    "write_records",
]
