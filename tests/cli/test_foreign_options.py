"""Options of another way to answer: they are refused, for a user would believe that they counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from spn.cli.main import main
from tests.cli.conftest import MM1K


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("simulate FILE --control --horizon 9 --checkpoint x.ckpt", "--checkpoint"),
        ("simulate FILE --antithetic --horizon 9 --levels 1,2", "--levels"),
        ("simulate FILE --path x.csv --horizon 9 --replications 5", "--replications"),
        ("simulate FILE --path x.csv --horizon 9 --histogram #queue", "--histogram"),
        ("simulate FILE --histogram #queue --warmup 3", "--warmup"),
        ("simulate FILE --splitting #queue --estimator batches", "--estimator"),
        ("sensitivity FILE --max-seconds 3", "--max-seconds"),
        ("compare FILE --over room=1..2 --measure rate --horizon 9", "--horizon"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(command: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mm1k.spn").write_text(MM1K)
    assert main([str(tmp_path / "mm1k.spn") if word == "FILE" else word for word in command.split()]) == 3
    assert f"error[E0705]: {option} is no option of" in capsys.readouterr().err
