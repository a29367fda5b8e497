"""Profiling traces: one table of records from every format, and the training steps in it."""

from spn.trace.readers import read
from spn.trace.records import Kind, Layer, Origin, Problem, Trace
from spn.trace.steps import PHASES, Steps, busy, steps

__all__ = ["PHASES", "Kind", "Layer", "Origin", "Problem", "Steps", "Trace", "busy", "read", "steps"]
