"""``spn check --explain CODE``: the page on an error or a warning."""

from __future__ import annotations

from spn.cli.answers import print_json
from spn.cli.terminal import say
from spn.errors import DataError, nearest, refuse
from spn.resources import folder


def explain(text: str, *, json: bool = False) -> None:
    """Print the page on a code, in any case of its letter; a DataError with the nearest one where there is none."""
    code = text.strip().strip("[]").upper()
    pages = folder("docs/errors")
    known = sorted(p.stem for p in pages.glob("*.md"))
    if code not in known:
        raise refuse(DataError, "E0907", f"there is no code {text}", help=_hint(code, known))
    page = (pages / f"{code}.md").read_text(encoding="utf-8").rstrip("\n")
    print_json({"code": code, "page": page}) if json else say(page)


def _hint(code: str, known: list[str]) -> str:
    """The code most like it: by its digits where the letter or leading noughts are missing."""
    digits = code.lstrip("EW")
    same = [k for k in known if digits.isdecimal() and int(k[1:]) == int(digits)]
    near = next((k for k in same if k[0] == code[0]), None) or next(iter(same), None) or nearest(code, known)
    return f"did you mean {near}?" if near else f"codes run from {known[0]} to {known[-1]}"
