"""The table of syntax mistakes: every entry of golden/mistakes.spn with what is said about it in golden/mistakes.txt.

After a change on purpose: ``python tests/lang/test_mistakes.py`` writes the answers anew, to be read before they are committed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spn.errors import ModelError, render
from spn.lang.parse import parse
from spn.source import Source

GOLDEN = Path(__file__).parent / "golden"


def _entries(file: str) -> dict[str, str]:
    """The parts of a golden file, by the title after ``////``."""
    parts = (GOLDEN / file).read_text(encoding="utf-8").split("//// ")[1:]
    return {title: body for title, _, body in (p.partition("\n") for p in parts)}


MODELS = _entries("mistakes.spn")


def answer(model: str) -> str:
    with pytest.raises(ModelError) as e:
        parse(Source("model.spn", model.rstrip("\n")))
    return "\n".join(render(d) for d in e.value.diagnostics) + "\n"


@pytest.mark.parametrize("title", MODELS)
def test_what_is_said(title: str) -> None:
    assert answer(MODELS[title]) == _entries("mistakes.txt")[title]


def test_no_answer_is_left_over() -> None:
    assert list(_entries("mistakes.txt")) == list(MODELS)


if __name__ == "__main__":
    (GOLDEN / "mistakes.txt").write_text("".join(f"//// {t}\n{answer(m)}" for t, m in MODELS.items()), encoding="utf-8")
