"""Every code that the package can show has a page, and the examples of the pages give that code, and not once they are mended.

A block marked ``spn`` is a model to check; ``spn solve``, ``spn ctmc``, ``spn mrp``, ``spn meanfield`` and ``spn simulate`` one to answer
by that method.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spn.errors import SpnError
from spn.loading import parse
from spn.sim import simulate
from spn.solvers import solve

ROOT = Path(__file__).resolve().parents[2]
PAGES = {p.stem: p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs" / "errors").glob("*.md"))}
CODE = re.compile(r"""["']([EW]0\d{3})["']""")
BLOCK = re.compile(r"^```(spn(?: \w+)?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
USED = {code for path in (ROOT / "spn").rglob("*.py") for code in CODE.findall(path.read_text(encoding="utf-8"))}
EXAMPLES = [
    pytest.param(code, how, text, bool(k), id=f"{code}{' mended' if k else ''}")
    for code, page in PAGES.items()
    for k, (how, text) in enumerate(BLOCK.findall(page))
]
LANGUAGE = re.compile(r"E0[1-4]|W0[23]")
ONLY_BUILT = {"E0405", "E0406", "E0212"}  # of nets built in Python, and of what a caller gives


def found(how: str, text: str) -> set[str]:
    """The codes of all that is said about a model."""
    try:
        model = parse(text.rstrip("\n"))
        match how:
            case "spn solve":
                solve(model, seed=1, max_seconds=0.5)
            case "spn ctmc":
                solve(model, method="ctmc")
            case "spn mrp":
                solve(model, method="mrp")
            case "spn meanfield":
                solve(model, method="meanfield")
            case "spn simulate":
                simulate(model, seed=1, max_firings=1e6, max_seconds=60)
    except SpnError as error:
        return {d.code for d in error.diagnostics}
    return {w.code for w in model.warnings}


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(PAGES) == sorted(USED)


def test_every_code_of_the_language_has_an_example() -> None:
    shown = {str(p.values[0]) for p in EXAMPLES}
    assert {code for code in PAGES if LANGUAGE.match(code)} - shown - ONLY_BUILT == set()


@pytest.mark.parametrize(("code", "how", "text", "mended"), EXAMPLES)
def test_an_example_gives_its_code(code: str, how: str, text: str, mended: bool) -> None:
    said = found(how, text)
    assert code not in said and not any(c[0] == "E" for c in said) if mended else code in said


@pytest.mark.parametrize("code", PAGES)
def test_a_page_has_a_title_a_text_and_a_way_out(code: str) -> None:
    page = PAGES[code]
    assert page.startswith(f"# {code}: ")
    assert len(page.split("```")[0].splitlines()) >= 4
    assert "\nInstead:\n" in page or not page.rstrip().endswith("```")
