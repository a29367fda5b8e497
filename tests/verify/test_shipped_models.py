"""The shipped models against their own expectations, by the command that users run; exactly where that is possible and by simulation."""

from __future__ import annotations

from pathlib import Path

from spn.cli.main import main

MODELS = Path(__file__).resolve().parents[2] / "models"


def test_the_shipped_models_meet_their_expectations() -> None:
    assert main(["test", str(MODELS), "--seed", "20261130"]) == 0
