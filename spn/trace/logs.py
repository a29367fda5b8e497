"""Step times in the lines that training programs print: "iter 3: loss 10.8, time 469.40ms", "(0.123 sec/step)", "30ms/step",
"elapsed time per iteration (ms): 834.2", "1.23it/s", "global_step/sec: 12.5", "457.8 examples/sec".

A rate of examples gives a step time only where the log tells the batch size. Means that a program printed over several steps are read as
they are: their spread is not that of single steps, which is reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import numpy as np

from spn.errors import DataError, refuse
from spn.trace.durations import UNITS, with_ranks_and_steps
from spn.trace.files import UTF16, Source
from spn.trace.records import NO_TIME, Kind, Layer, Origin, Trace
from spn.trace.table import Table

_NUMBER: Final = r"(?P<value>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)"
_UNIT: Final = r"(?P<unit>ns|us|µs|ms|s|secs?|seconds?|min|minutes?)"
_STEP: Final = r"(?:steps?|iter(?:ation)?s?|it|batch(?:es)?)"
_TIMES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w.]){_NUMBER}\s*{_UNIT}\s*/\s*{_STEP}\b",
        rf"(?<![\w.]){_NUMBER}\s*{_UNIT}\s+per\s+{_STEP}\b",
        rf"time\s+per\s+{_STEP}\s*\(\s*{_UNIT}\s*\)\s*[:=]?\s*{_NUMBER}",
        rf"\b(?:step|iter(?:ation)?|batch)[ _]?time\s*[:=]?\s*{_NUMBER}\s*{_UNIT}\b",
        rf"\b(?:step|iter(?:ation)?)\s*\[?\d+.*?\b(?:time|took|dt|elapsed)\s*[:=]?\s*{_NUMBER}\s*{_UNIT}\b",
    )
)
_RATES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (rf"global_step/sec\s*[:=]\s*{_NUMBER}", rf"(?<![\w.]){_NUMBER}\s*{_STEP}\s*/\s*s(?:ec(?:ond)?)?\b")
)
_EXAMPLES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w.]){_NUMBER}\s*(?:examples|samples|images)\s*/\s*s(?:ec(?:ond)?)?\b",
        rf"(?:examples|samples|images)(?:/sec|/s|_per_second|PerSec)\s*[:=]\s*{_NUMBER}",
    )
)
_BATCH: Final = re.compile(r"\b(?:global[ _])?batch[ _]?size\s*[:=]?\s*(\d{1,12})\b", re.IGNORECASE)
_WHICH: Final = re.compile(r"\b(?:global[ _])?(?:step|iter(?:ation)?)s?\s*[:=#\[]?\s*(\d{1,18})\b", re.IGNORECASE)
_LINE = 2000  # characters of a line that are looked at
_LEAST = 2  # lines that make a log


def recognises(head: bytes) -> bool:
    """At least two lines that tell a step time or a rate, and no character that text does not have."""
    if b"\0" in head and head[:2] not in UTF16:
        return False
    lines = head.decode("utf-16" if head[:2] in UTF16 else "utf-8-sig", errors="replace").splitlines()
    found = 0
    for line in lines:
        found += any(pattern.search(line[:_LINE]) for pattern in (*_TIMES, *_RATES, *_EXAMPLES))
        if found >= _LEAST:
            return True
    return False


def read(source: Source, options: Mapping[str, str]) -> Trace:
    """A record "step" for every line that tells a step time; DataError E0803 where in the end there is none."""
    table, more = Table(), list[tuple[int, int]]()
    thread, label = table.thread("", ""), table.label("step", Kind.OTHER, Layer.RANGE)
    batch, lines = 0, 0
    for line in source.lines():
        lines += 1
        text = line[:_LINE]
        told = _BATCH.search(text)
        if told:
            batch = int(told[1])
        duration = _duration(text, batch, table)
        if duration is None:
            continue
        if not 0 < duration < 2**62:
            table.problem("duration of 0" if duration == 0 else "duration that is not finite", text.strip()[:80])
            table.zeros["step"] += duration == 0
            continue
        which = _WHICH.search(text)
        table.add(label, thread, NO_TIME, max(1, round(duration)), -1, -1, len(more), lines - 1)
        more.append((-1, int(which[1]) if which else -1))
    if not more:
        help = "; ".join(f"{n} x {what}" for what, n in table.problems.items())
        raise refuse(DataError, "E0803", f"{source.path} tells no step time", help=help)
    _report_gaps(table, more)
    origin = Origin(path=source.path, format="training log", events=lines, sha256=source.sha256)
    return with_ranks_and_steps(table, np.array(more, dtype=np.int64).reshape(-1, 2), origin)


def _duration(line: str, batch: int, table: Table) -> float | None:
    """Nanoseconds of a step that a line tells, or None."""
    for pattern in _TIMES:
        if found := pattern.search(line):
            return float(found["value"]) * UNITS[found["unit"].lower()]
    for pattern in _RATES:
        if found := pattern.search(line):
            return 1e9 / float(found["value"]) if float(found["value"]) else float("inf")
    for pattern in _EXAMPLES:
        if found := pattern.search(line):
            if not batch:
                table.problem("rate of examples without a batch size", line.strip()[:80])
                return None
            return 1e9 * batch / float(found["value"]) if float(found["value"]) else float("inf")
    return None


def _report_gaps(table: Table, more: list[tuple[int, int]]) -> None:
    """Lines that are several steps apart tell the mean of these, or one of them: nobody knows."""
    numbers = [step for _, step in more if step >= 0]
    gaps = [b - a for a, b in pairwise(numbers) if b > a]
    if gaps and min(gaps) > 1:
        table.problem("step time told only every few steps", f"every {min(gaps)}: perhaps a mean, whose spread is smaller", len(gaps))


__all__ = ["read", "recognises"]
