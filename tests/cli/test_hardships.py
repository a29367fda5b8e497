"""Streams that are closed, outputs that cannot be written, and Ctrl-C."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spn.loading import load
from spn.result import Result, Value
from spn.sim import simulate
from tests.cli.conftest import MM1K, Run

SIMULATED = """
place a = 1
place b
timed go   : a -> b ~ uniform(0.5 s, 1.5 s)
timed back : b -> a ~ uniform(0.5 s, 1.5 s)
expect throughput(go) == 0.5/s within 5 %
"""


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "mm1k.spn").write_text(MM1K)
    spn = f'"{sys.executable}" -m spn.cli'
    return subprocess.run(["bash", "-c", command.replace("spn ", spn + " ", 1)], capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("spn solve mm1k.spn >&-", 0),
        ("spn solve mm1k.spn --json >&- 2>&-", 0),
        ("spn nosuch 2>&-", 2),
        ("spn draw mm1k.spn -o - --format dot >&-", 0),
        ("spn solve mm1k.spn <&-", 0),
    ],
)
def test_closed_streams_are_no_bug(command: str, code: int, tmp_path: Path) -> None:
    done = shell(command, tmp_path)
    assert done.returncode == code
    assert "internal error" not in done.stderr and "Traceback" not in done.stderr


def test_answers_reach_stdout_where_stderr_is_closed(tmp_path: Path) -> None:
    assert "rate" in shell("spn solve mm1k.spn 2>&-", tmp_path).stdout


@pytest.mark.parametrize("path", ["nosuch/x.json", ".", "mm1k.spn/x.json"])
def test_an_output_that_cannot_be_written_is_said_before_the_work(path: str, spn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object, **__: object) -> Result:
        raise AssertionError("it was begun")

    monkeypatch.setattr("spn.sim.simulate", work)
    done = spn("simulate", "mm1k.spn", "-o", path)
    assert done.code == 2
    assert "E0914" in done.err and "cannot write" in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_what_was_found_is_printed_before_it_is_written(spn: Run) -> None:
    done = spn("solve", "mm1k.spn", "-o", "/dev/full")
    assert done.code == 2
    assert "rate" in done.out and "E0914" in done.err


def test_drawing_what_is_no_file_speaks_of_the_file(spn: Run) -> None:
    assert "is a folder" in spn("draw", ".").err


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------------------


def test_an_interrupted_test_ends_there_and_prints_what_it_has(spn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        Path(f"{name}.spn").write_text(SIMULATED)

    def cut_short(*_: Any, **__: Any) -> Result:
        measures = {"left 0": Value(value=0.5, half_width=0.4)}
        return Result(method="simulate", reason="", measures=measures, converged=False, details={"interrupted": True})

    monkeypatch.setattr("spn.sim.simulate", cut_short)
    done = spn("test", "one.spn", "two.spn", "--method", "simulate", "--json")
    assert done.code == 130
    (record,) = json.loads(done.out)
    assert [e["outcome"] for e in record["expectations"]] == ["undecided"]
    assert "interrupted: 1 of 2 files" in done.err


def test_a_test_interrupted_before_its_first_estimate(spn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("one.spn").write_text(SIMULATED + "place more = 2\ntimed other : more -> more ~ det(3 s) servers 2\n")

    def at_once(*_: Any, **__: Any) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr("spn.sim.simulate", at_once)
    done = spn("test", "mm1k.spn", "one.spn")
    assert done.code == 130
    assert "mm1k.spn: 1 passed" in done.out


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_real_signal_prints_the_estimates(tmp_path: Path) -> None:
    """The command has far more time than it needs; how fast it ends is not judged. The signal is reset first, for a shell that runs the
    tests in the background may have it ignored; and the kernels are compiled before, for the compiler may swallow it."""
    simulate(load("basics/md1k.spn"), seed=1, precision=0.1, engine="compiled")
    (tmp_path / "cycle.spn").write_text(SIMULATED + "measure rate = throughput(go)\n")
    command = [sys.executable, "-m", "spn.cli", "simulate", "cycle.spn", "--precision", "1e-9", "--seed", "1", "--max-seconds", "600"]
    reset = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, preexec_fn=reset, **pipes) as running:  # noqa: PLW1509
        time.sleep(4)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "rate" in out or "interrupted" in err
    assert "Traceback" not in err
