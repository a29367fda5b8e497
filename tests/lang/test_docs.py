"""Every example of docs/language.md is a model, and the page names every reserved word, unit, clause and law there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spn.dist.families import FAMILIES
from spn.lang.units import UNITS
from spn.lang.words import AFTER_ARCS, COMBINATORS, FUNCTIONS, MEASURES, RESERVED
from spn.loading import parse

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```spn\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", EXAMPLES, ids=[str(i) for i in range(len(EXAMPLES))])
def test_example_is_a_model(text: str) -> None:
    model = parse(text)
    assert model.net.transitions and model.measures and not model.warnings


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("words", [RESERVED, AFTER_ARCS, FUNCTIONS, MEASURES, COMBINATORS, UNITS, FAMILIES], ids=min)
def test_the_page_names_them_all(words: frozenset[str]) -> None:
    assert [w for w in words if not re.search(rf"(?<!\w){re.escape(w)}(?!\w)", PAGE)] == []


@pytest.mark.parametrize("name", FAMILIES)
def test_the_page_names_the_parameters_of_every_law(name: str) -> None:
    (line,) = [line for line in PAGE.splitlines() if re.match(rf"\| `{name}\b", line) and '"file"' not in line]
    listed = set(re.findall(r"(\w+)=", line))
    known = {p.name: p.positional for form in FAMILIES[name].forms for p in form.parameters}
    assert listed <= set(known)
    assert {n for n, positional in known.items() if not positional} <= listed
