"""Colours for model texts wherever Pygments is used (Sphinx, MkDocs, LaTeX's minted, the console). The only module that knows Pygments."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from spn.dist.families import FAMILIES
from spn.lang.units import UNITS
from spn.lang.words import (
    CLAIMS,
    CLAUSES,
    COMBINATORS,
    CONTEXTUAL,
    CONTINUED,
    FUNCTIONS,
    MEASURES,
    OPERATORS,
    REDUCTIONS,
    STATEMENTS,
)

CONSTANTS = ("true", "false")
CALLED = tuple(sorted({*FAMILIES, *COMBINATORS, *FUNCTIONS, *MEASURES, *REDUCTIONS, "home", "leads"}))
_UNITS = tuple(u for u in UNITS if u.isalpha())


def _words(known: Any, after: str = r"\b") -> Any:
    return words(tuple(sorted(known)), prefix=r"(?<![\w`])", suffix=after)


class SpnLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Model files of stochastic Petri nets."""

    name = "SPN"
    aliases: ClassVar = ["spn"]
    filenames: ClassVar = ["*.spn"]
    url = ""
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"///[^\n]*", String.Doc),
            (r"//[^\n]*", Comment.Single),
            (r"/\*[\s\S]*?\*/", Comment.Multiline),
            (r'"[^"\n]*"', String.Double),
            (r"`[^`\n]+`", Name),
            (r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(\s*)(%)", bygroups(Number, Whitespace, Keyword.Type)),
            (
                rf"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(\s*)((?:{'|'.join(sorted(_UNITS, key=len, reverse=True))})\b)",
                bygroups(Number, Whitespace, Keyword.Type),
            ),
            (r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", Number),
            (r"(#)(\s*)([^\W\d]\w*)", bygroups(Operator, Whitespace, Name.Variable)),
            (_words(("if",), r"(?=\s*\()"), Name.Builtin),
            (_words(CALLED, r"(?=\s*\()"), Name.Builtin),
            (_words(STATEMENTS | CONTINUED), Keyword.Declaration),
            (_words(CLAUSES), Keyword),
            (_words(CONSTANTS), Keyword.Constant),
            (_words(OPERATORS - set(CONSTANTS)), Operator.Word),
            (_words(CONTEXTUAL | set(CLAIMS)), Keyword.Pseudo),
            (r"[^\W\d]\w*", Name),
            (r"->|\.\.|==|!=|<=|>=|[-+*/^<>~=|?!#%]", Operator),
            (r"[()\[\]{},:.]", Punctuation),
            (r"[\s\S]", Text),
        ]
    }
