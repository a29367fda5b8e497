"""Running the command in this process, and small models for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from spn.cli.main import main


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]

MM1K = """\
/// A queue.
param rho  : number = 0.5 in 0..10
param room : count  = 2 in 1..100

place queue
place free = room

timed arrive : free -> queue ~ exp(rate = rho * 1/s)  servers 1
timed serve  : queue -> free ~ exp(mean = 1 s)  servers 1

measure rate      = throughput(serve)
measure delay in ms = sojourn(queue)
measure mean      = E(#queue)

expect rate == 3/7/s within 1e-9
"""


@pytest.fixture
def spn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``spn("solve", "net.spn")`` in an empty folder that holds ``mm1k.spn``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    Path("mm1k.spn").write_text(MM1K)

    def run(*arguments: str | Path) -> Done:
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        return Done(code, *capsys.readouterr())

    return run
