"""White space inside a statement: which tokens stand close together, where a line may be broken, which columns line up.

One pass over the tokens of a statement, by what stands around each, in which part of the statement and in which brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from spn.lang.pieces import Piece
from spn.lang.units import is_unit
from spn.lang.words import AFTER_ARCS, CONTEXTUAL, RESERVED

TRANSITIONS = frozenset({"timed", "immediate", "join"})
CLAUSES = AFTER_ARCS - {"over"}
COLUMNS = {"param": (":", "="), "dist": ("=",), "measure": ("=",), "place": ("=",), "property": (":",)}  # lined up, by statement

# Where a line breaks first: the smaller, the sooner. Inside brackets DEEPER is added for each of them.
_CLAUSE, _LAW, _OUTPUTS, _COMMA, _OR, _AND, _COMPARE, _SUM, _PRODUCT, _EQUALS = range(10, 110, 10)
_DEEPER = 1000
_RANKS = {
    **dict.fromkeys(("within", "where", "in", "for", "at", "over", "total", "as", "|"), _CLAUSE),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), _COMPARE),
    **dict.fromkeys(("*", "/", "mod", "div"), _PRODUCT),
    **{"or": _OR, "and": _AND, "+": _SUM, "-": _SUM},
}
_INSIDE_BRACKETS = frozenset({"until", "from", "to", "at", "over", "total"})  # contextual words that are keywords there too
_AFTER_KEYWORDS = frozenset({("within", "abs"), ("total", "over"), (":", "always"), (":", "invariant")})


@dataclass(frozen=True, slots=True)
class Word:
    """A token or comment with the white space before it: spaces, or a line break where it must be one (``hard``). ``rank`` says how
    gladly a line is broken here, None for never; ``column`` begins a cell that is lined up with those of the statements around."""

    text: str
    space: str = " "
    rank: int | None = None
    hard: bool = False
    column: int | None = None


def words(pieces: Sequence[Piece], keyword: str) -> list[Word]:
    """The tokens and comments of a statement, or of the part of it before a block, with the white space before each."""
    tokens = [p for p in pieces if p.kind != "comment"]
    spaced = _Spacing(tokens, keyword)
    made = [spaced.word(at) for at in range(len(tokens))]
    if keyword == "place" and any(w.rank == _COMMA for w in made):
        made = [replace(w, column=None) for w in made]
    return made if len(tokens) == len(pieces) else _with_comments(pieces, made)


def _with_comments(pieces: Sequence[Piece], made: Sequence[Word]) -> list[Word]:
    """The comments in their places: one to the end of the line breaks it, one on lines of its own keeps them."""
    found: list[Word] = []
    tokens, commented, hard = iter(made), False, False
    for at, piece in enumerate(pieces):
        if piece.kind != "comment":
            word = next(tokens)
            found.append(replace(word, space=" ", rank=None, hard=hard, column=None) if commented else word)
            commented = hard = False
            continue
        alone = piece.breaks > 0 and (at + 1 == len(pieces) or pieces[at + 1].breaks > 0)
        rank = None if piece.line_comment or commented else _PRODUCT
        found.append(Word(piece.text, "  " if piece.line_comment else " ", rank, hard=hard or alone))
        commented, hard = True, piece.line_comment or alone
    return found


@dataclass(slots=True)
class _Spacing:
    """What was read so far: ``operand`` says whether the last token ends a value, so that a sign after it is an operator."""

    tokens: Sequence[Piece]
    keyword: str
    operand: bool = False
    keyed: bool = False  # was the last token a keyword?
    signed: bool = False  # was it a sign before a value?
    depth: int = 0
    region: str = "head"  # then "arcs", "type", "value" or "clauses"
    column: int = 0
    clauses: bool = False
    tight: set[int] = field(default_factory=set)  # the quotients written without spaces

    def word(self, at: int) -> Word:
        """The token with the white space before it; to be called for each in order."""
        token = self.tokens[at]
        keyword = self._is_keyword(at)
        self._follow(token, keyword)
        if at == 0 or self._close(at, keyword):
            made = Word(token.text, "")
        else:
            made = self._breakable(at, keyword)
        self._advance(token, keyword)
        return made

    # --- keywords and parts of the statement

    def _is_keyword(self, at: int) -> bool:
        token = self.tokens[at]
        if token.kind != "word":
            return False
        if token.text in RESERVED:
            return token.text not in ("true", "false") and not (token.text == "if" and self._is_call(at))
        if token.text not in CONTEXTUAL or at == 0:
            return False
        if self.operand:
            return self.depth == 0 or token.text in _INSIDE_BRACKETS
        return (self.tokens[at - 1].text, token.text) in _AFTER_KEYWORDS

    def _is_call(self, at: int) -> bool:
        """Is this ``if`` that of an expression, ``if(c, a, b)``?"""
        opens = at + 1 < len(self.tokens) and self.tokens[at + 1].text == "("
        return opens and at > 0 and self.tokens[at - 1].text != "else"

    def _follow(self, token: Piece, keyword: bool) -> None:
        """The part of the statement that the token ends."""
        text = token.text
        if self.keyword in TRANSITIONS and self.depth == 0 and ((text == "~" and token.kind == "mark") or (keyword and text in CLAUSES)):
            self.region = "clauses"
        elif text in ("=", "in", ",") and self.region == "type" and (token.kind == "mark" or keyword):
            self.region = "head" if text == "," else "value"

    def _advance(self, token: Piece, keyword: bool) -> None:
        text, mark = token.text, token.kind == "mark"
        self.signed = mark and text in ("+", "-") and not self.operand
        self.operand = text in (")", "]", "%") if mark else not keyword
        self.keyed = keyword
        if mark and text in ("(", "["):
            self.depth += 1
        elif mark and text in (")", "]"):
            self.depth -= 1
        elif mark and text == ":" and self.region == "head":
            self.region = "arcs" if self.keyword in TRANSITIONS else "type" if self.keyword in ("param", "component") else "value"
        elif keyword and text == "in" and self.keyword == "measure" and self.region == "head":
            self.region = "type"
        elif mark and text == "=" and self.keyword == "measure":
            self.region = "value"

    # --- close together or not

    def _close(self, at: int, keyword: bool) -> bool:
        """Does the token stand right after the one before it?"""
        token, last = self.tokens[at], self.tokens[at - 1]
        text = token.text
        if last.kind == "mark":
            if last.text in ("(", "[", ".", "..", "^", "#", "?", "!") or self.signed or at - 1 in self.tight:
                return True
            if last.text == "*" and self._tight_product():
                return True
        if token.kind != "mark":
            return False
        match text:
            case "," | ")" | "]" | "." | ".." | "^":
                return True
            case "(" | "[":
                return not self.keyed and (last.kind in ("word", "name") or last.text == "]")
            case "*":
                return self._tight_product()
            case ":":
                return self.depth > 0 and self.keyword != "component"
            case "/":
                return self._tight_quotient(at)
        return False

    def _tight_product(self) -> bool:
        return (self.region == "arcs" and self.depth == 0) or self.region == "type"

    def _tight_quotient(self, at: int) -> bool:
        """``4/s``, ``Gbit/s``, ``2/3``: a quotient of units or of plain numbers."""
        left, right = self.tokens[at - 1], self.tokens[at + 1]
        after = self.tokens[at + 2].text if at + 2 < len(self.tokens) else ""
        number = left.kind == "number" and (at < 2 or self.tokens[at - 2].text != "^")
        by_unit = right.kind == "word" and is_unit(right.text) and (number or (left.kind == "word" and is_unit(left.text)))
        by_number = number and right.kind == "number" and not is_unit(after) and after != "^"
        if self.region == "type" or by_unit or by_number:
            self.tight.add(at)
            return True
        return False

    # --- breaks and columns

    def _breakable(self, at: int, keyword: bool) -> Word:
        token, last = self.tokens[at], self.tokens[at - 1]
        text, space = token.text, " "
        operator = keyword or token.kind == "mark"
        rank = column = None
        if last.kind == "mark" and last.text == ",":
            rank = _COMMA
        elif operator and text in _RANKS and (self.operand or keyword):
            rank = _RANKS[text]
        elif last.kind == "mark" and last.text == "=" and self.depth == 0:
            rank = _EQUALS
        if operator and self.depth == 0:
            column = self._column(text)
            if self.keyword in TRANSITIONS:
                rank = {"->": _OUTPUTS, "~": _LAW, ":": None}.get(text, rank)
                if keyword and text in CLAUSES:
                    rank, space = _CLAUSE, "  "
        return Word(text, space, None if rank is None else rank + _DEEPER * self.depth, column=column)

    def _column(self, text: str) -> int | None:
        """The column that begins with this mark or keyword, each once in a statement."""
        if self.keyword in TRANSITIONS:
            clauses = 3 if self.column == 2 else 4
            number = {":": 1, "->": 2, "~": 3}.get(text, clauses if text in CLAUSES else 0)
            number = 0 if self.clauses and number == 4 else number
            self.clauses |= text in CLAUSES
        else:
            marks = COLUMNS.get(self.keyword, ())
            number = 1 + marks.index(text) if text in marks else 0
        if number <= self.column:
            return None
        self.column = number
        return number
