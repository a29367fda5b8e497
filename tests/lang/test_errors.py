"""Errors of names, dimensions and values: every entry of golden/errors.spn with what is said about it in golden/errors.txt.

After a change on purpose: ``python tests/lang/test_errors.py`` writes the answers anew, to be read before they are committed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spn.errors import ModelError, render
from spn.loading import parse

GOLDEN = Path(__file__).parent / "golden"


def _entries(file: str) -> dict[str, str]:
    """The parts of a golden file, by the title after ``////``."""
    parts = (GOLDEN / file).read_text(encoding="utf-8").split("//// ")[1:]
    return {title: body for title, _, body in (p.partition("\n") for p in parts)}


MODELS = _entries("errors.spn")


def answer(model: str) -> str:
    with pytest.raises(ModelError) as e:
        parse(model.rstrip("\n"), name="model.spn")
    return "\n".join(render(d) for d in e.value.diagnostics) + "\n"


@pytest.mark.parametrize("title", MODELS)
def test_what_is_said(title: str) -> None:
    assert answer(MODELS[title]) == _entries("errors.txt")[title]


def test_no_answer_is_left_over() -> None:
    assert list(_entries("errors.txt")) == list(MODELS)


if __name__ == "__main__":
    (GOLDEN / "errors.txt").write_text("".join(f"//// {t}\n{answer(m)}" for t, m in MODELS.items()), encoding="utf-8")
