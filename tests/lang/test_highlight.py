"""The colours of editors and of Pygments know the words of the grammar, all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from spn.lang.units import UNITS
from spn.lang.words import CONTEXTUAL, RESERVED
from spn.resources import grammar

from .test_format import TEXTS

pygments = pytest.importorskip("pygments", reason="Pygments is not installed: pip install 'spn[test]'")
from pygments.token import Error, Keyword, Name, Operator, Text  # noqa: E402

from spn.lang.highlight import CALLED, SpnLexer  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TEXTMATE: dict[str, Any] = json.loads((ROOT / "editors/vscode/syntaxes/spn.tmLanguage.json").read_text(encoding="utf-8"))


def grammar_words() -> set[str]:
    """The keywords of the grammar: what its terminals match."""
    found = set()
    for line in grammar().splitlines():
        match = re.match(r"[A-Z_]+(?:\.\d+)?: /(.*)/\s*(?://.*)?$", line)
        if match and re.fullmatch(r"(?:[a-z]+|\\s\+|\\b|\s)+", match[1]):
            found |= set(re.findall(r"[a-z]+", match[1].replace(r"\s", " ").replace(r"\b", " ")))
    return found


def test_the_grammar_has_the_words_of_the_language() -> None:
    found = grammar_words()
    assert found >= {"param", "timed", "servers", "until", "within", "component", "sweep"}
    assert found <= RESERVED | CONTEXTUAL
    reserved = re.search(r"^NAME: .*\(\?!\(\?:([a-z|]+)\)", grammar(), re.MULTILINE)
    assert reserved is not None and set(reserved[1].split("|")) == RESERVED


def tokens(text: str) -> list[tuple[Any, str]]:
    return list(SpnLexer(stripnl=False, ensurenl=False).get_tokens(text))


@pytest.mark.parametrize("word", sorted(grammar_words() | RESERVED | CONTEXTUAL))
def test_pygments_colours_every_keyword(word: str) -> None:
    ((kind, _),) = tokens(word)
    assert kind in Keyword or kind in Operator


@pytest.mark.parametrize("name", TEXTS)
def test_pygments_reads_every_model(name: str) -> None:
    found = tokens(TEXTS[name])
    assert "".join(value for _, value in found) == TEXTS[name]
    assert not [value for kind, value in found if kind in Error or kind is Text]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("if(", Name.Builtin), ("exp(", Name.Builtin), ("exponent(", Name), ("Gbit", Name), ("place1", Name), ("`place`", Name)],
)
def test_pygments_tells_words_apart(text: str, kind: Any) -> None:
    assert tokens(text)[0][0] is kind


def test_pygments_finds_the_lexer() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points."pygments.lexers"]\nspn = "spn.lang.highlight:SpnLexer"' in text
    assert SpnLexer.aliases == ["spn"] and SpnLexer.filenames == ["*.spn"]


def textmate(kind: str) -> str:
    rule = TEXTMATE["repository"][kind]
    return str(rule["match"])


def words_of(pattern: str) -> set[str]:
    """The words that a pattern lists."""
    return set(re.findall(r"(?<=[(:|])[A-Za-z_]+(?=[|)])", pattern))


def test_textmate_has_every_keyword() -> None:
    kinds = ("statement", "clause", "constant", "operatorWord", "contextual")
    listed = set().union(*(words_of(textmate(k)) for k in kinds))
    assert listed >= RESERVED | CONTEXTUAL | grammar_words()
    assert words_of(textmate("call")) == set(CALLED)
    assert words_of(textmate("quantity")) == {u for u in UNITS if u.isalpha()}


def test_textmate_patterns_are_patterns() -> None:
    for rule in TEXTMATE["repository"].values():
        for part in ("match", "begin", "end"):
            if part in rule:
                re.compile(rule[part])
    assert {p["include"][1:] for p in TEXTMATE["patterns"]} == set(TEXTMATE["repository"])


def test_the_extension_is_complete() -> None:
    folder = ROOT / "editors/vscode"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    assert package["contributes"]["grammars"][0]["scopeName"] == TEXTMATE["scopeName"]
    for path in (
        package["main"],
        package["contributes"]["grammars"][0]["path"],
        package["contributes"]["languages"][0]["configuration"],
    ):
        assert (folder / path).is_file()
    json.loads((folder / "language-configuration.json").read_text(encoding="utf-8"))
