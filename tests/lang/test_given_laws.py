"""Laws of a file replaced by the caller, as text or as laws."""

from __future__ import annotations

from pathlib import Path

import pytest

from spn.dist.families import Deterministic, Exponential
from spn.errors import ModelError
from spn.loading import load, parse, settable
from spn.net.model import Timed

TEXT = """
param mean : time = 2 s
dist work = lognormal(mean = mean, cv = 0.1)
place a = 1
timed t : a -> a ~ work
measure r = throughput(t)
"""


def law(**given):
    (t,) = parse(TEXT, **given).net.transitions
    assert isinstance(t, Timed)
    return t.law


def test_a_law_may_be_given_as_text_that_reads_the_parameters_or_as_a_law():
    assert law(work="exp(mean = 2 * mean)") == Exponential(rate=0.25)
    assert law(work="exp(mean = mean)", mean="4 s") == Exponential(rate=0.25)
    assert law(work=Deterministic(value=3)) == Deterministic(value=3)


def test_a_replaced_law_leaves_no_warning_about_the_parameters_it_used():
    assert parse(TEXT, work="exp(mean = 3 s)").warnings == ()
    assert [d.code for d in parse(TEXT.replace("mean = mean", "mean = 2 s")).warnings] == ["W0202"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"work": 3}, r"work is a law, given 3"),
        ({"work": "exp(mean = 3 MB)"}, r"a law of a time is due, this is one of a size|time.*size|bytes"),
        ({"work": "exp(mean = )"}, r"<work>:1:12"),
        ({"work": "expo(mean = 3 s)"}, r"there is no law expo"),
        ({"mean": Exponential(rate=1.0)}, r"mean is a parameter, not a law"),
        ({"wrk": "exp(mean = 3 s)"}, r"there is no parameter or law wrk[\s\S]*did you mean work"),
    ],
)
def test_wrong_laws_are_refused(given, message):
    with pytest.raises(ModelError, match=message):
        law(**given)


def test_settable_names_are_parameters_and_laws(tmp_path: Path):
    file = tmp_path / "m.spn"
    file.write_text(TEXT)
    assert settable(file) == ("mean", "work")


def test_shipped_models_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert load("models/basics/mm1k.spn").name == load("basics/mm1k.spn").name == "mm1k"
