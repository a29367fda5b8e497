"""What to say about a syntax error: a table of the mistakes that people make, tried in order; the last entry always applies.

Each rule looks at the tokens of the statement before the error, the token found and what the grammar would have taken, and gives a
diagnostic or None. tests/lang/golden/mistakes.txt shows them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from spn.dist.families import FAMILIES
from spn.errors import Diagnostic, nearest
from spn.lang.check import KINDS
from spn.lang.scan import Tok, begins_statement, depth_after, next_statement, open_braces, tokens
from spn.lang.words import AFTER_ARCS, CLAIMS, COMBINATORS, CONTINUED, RESERVED, STATEMENTS, TIMED_ONLY, TRANSFER_ONLY
from spn.source import Source, Span

DECLARE_ONE = frozenset({"param", "dist", "link", "place", "timed", "immediate", "measure", "property"})
LAWS = frozenset({*FAMILIES, *COMBINATORS})
LAW_WORDS = frozenset({"delay", "rate", "mean", "after", "takes", "law", "time", "duration", "with", "every", "distribution"}) | LAWS


@dataclass(frozen=True, slots=True)
class Mistake:
    """A syntax error: the statement's tokens before it, the token found, those after it, and the terminals that were expected."""

    source: Source
    before: tuple[Tok, ...]
    found: Tok
    after: tuple[Tok, ...]
    expected: frozenset[str]

    @property
    def keyword(self) -> str:
        return self.before[0].text if self.before else ""

    @property
    def last(self) -> Tok:
        """The token before the one found."""
        return self.before[-1] if self.before else Tok("end", "", self.found.start)

    def has(self, text: str) -> bool:
        return any(t.kind == "mark" and t.text == text for t in self.before)

    @property
    def over(self) -> bool:
        """Does the found token begin something else: the next statement, a clause, or the end of the file?"""
        words = STATEMENTS | CONTINUED | AFTER_ARCS
        return self.found.kind == "end" or self.found.text == "}" or (self.found.kind == "word" and self.found.text in words)

    def at(self, token: Tok) -> Span:
        return Span(self.source, token.start, token.end)

    def error(self, code: str, message: str, help: str = "", span: Span | None = None) -> Diagnostic:
        return Diagnostic(code=code, message=message, span=span or self.place(), help=help)

    def place(self) -> Span:
        """The found token; where that is the end of the file, the end of what stands before it."""
        return self.at(self.found) if self.found.kind != "end" else Span(self.source, self.last.end, self.last.end)


def explain(source: Source, begin: int, at: int, expected: frozenset[str]) -> tuple[Diagnostic, int | None]:
    """What is wrong at offset ``at`` of a text parsed from ``begin`` on, and the offset of the statement to go on with."""
    mistake = _mistake(source, begin, at, expected)
    problem = next(d for rule in RULES if (d := rule(mistake)) is not None)
    ahead = mistake.found
    depth = sum((t.text in ("(", "[")) - (t.text in (")", "]")) for t in mistake.before if t.kind == "mark")
    if begins_statement(ahead, depth) and ahead.text in STATEMENTS and ahead.start > begin and problem.code != "E0106":
        return problem, ahead.start
    return problem, next_statement(source.text, ahead.start)


def _mistake(source: Source, begin: int, at: int, expected: frozenset[str]) -> Mistake:
    before: list[Tok] = []
    depth = 0
    scanned = tokens(source.text, begin)
    for token in scanned:
        if token.start >= at or token.end > at:
            return Mistake(source, tuple(before), token, tuple(islice(scanned, 3)), expected)
        if begins_statement(token, depth):
            before, depth = [], 0
        before.append(token)
        depth = depth_after(token, depth)
    return Mistake(source, tuple(before), Tok("end", "", len(source.text), True), (), expected)


# --- the rules --------------------------------------------------------------------------------------------------------------------


def _unclosed_text(m: Mistake) -> Diagnostic | None:
    if m.found.kind != "open":
        return None
    what = {"/": ("comment", "*/"), '"': ("text", '"'), "`": ("name in backquotes", "`")}[m.found.text[0]]
    span = Span(m.source, m.found.start, m.found.start + (2 if m.found.text[0] == "/" else 1))
    return m.error("E0105", f"this {what[0]} is never closed", f"close it with {what[1]}", span)


def _unclosed_bracket(m: Mistake) -> Diagnostic | None:
    stack: list[Tok] = []
    for token in m.before:
        if token.kind == "mark" and token.text in "([{":
            stack.append(token)
        elif token.kind == "mark" and token.text in ")]}" and stack:
            stack.pop()
    if stack and (m.found.kind == "end" or (m.over and (m.found.first or m.found.text in AFTER_ARCS)) or m.found.text in ("{", "->", "~")):
        closing = {"(": ")", "[": "]", "{": "}"}[stack[-1].text]
        return m.error("E0105", f"this `{stack[-1].text}` is never closed", f"close it with `{closing}`", m.at(stack[-1]))
    braces = open_braces(m.source.text, m.found.start)
    if m.found.kind == "end" and braces and "RBRACE" in m.expected:
        return m.error("E0105", "this `{` is never closed", "close it with `}`", Span(m.source, braces[-1].start, braces[-1].start + 1))
    if not stack and m.found.kind == "mark" and m.found.text in ")]}" and not (m.found.text == "}" and braces):
        return m.error("E0105", f"nothing is open that this `{m.found.text}` closes", "remove it")
    return None


def _asked(m: Mistake) -> Diagnostic | None:
    """What goes wrong in questions: properties, sweeps, times, and `where`."""
    rule = {"property": _of_property, "sweep": _of_sweep, "measure": _of_times, "expect": _of_times}.get(m.keyword)
    return rule(m) if rule is not None else None


def _of_property(m: Mistake) -> Diagnostic | None:
    if len(m.before) == 2 and "COLON" in m.expected:
        found = f", not `{m.found.text}`" if m.found.text else ""
        help = f"property {m.last.text} : always #a <= 1, or live, bounded, deadlock_free …"
        return m.error("E0111", f"after the name of a property stands `:`{found}", help)
    if m.last.text == ":" and len(m.before) == 3:
        help = "property NAME : always #a <= 1; claims are " + ", ".join(CLAIMS)
        return m.error("E0122", "a property begins with what it claims", help, m.at(m.last) if m.over else None)
    together = f"{m.last.text}_{m.found.text}"
    if m.last.kind == "word" and together in CLAIMS:
        return m.error("E0122", f"`{together}` is one word", f"write {together}", m.at(m.last))
    return None


def _of_sweep(m: Mistake) -> Diagnostic | None:
    if m.found.text in ("=", ":", "from", "over") and "IN" in m.expected:
        return m.error("E0122", f"the values of a sweep follow `in`, not `{m.found.text}`", f"write {m.last.text} in 1..8")
    if (m.found.kind == "number" or m.found.text == "{") and m.last.text in (",", "in"):
        return m.error("E0122", "the values of a list stand in brackets", "for instance sweep n in [1, 2, 4]")
    if m.last.text in ("step", "by"):  # read as a unit
        return m.error("E0122", "a range goes in steps of 1", "list other values: sweep n in [1, 3, 5]", m.at(m.last))
    if m.last.text == "to":
        return m.error("E0122", "the ends of a range are joined by `..`", "write 1..8", m.at(m.last))
    return None


def _of_times(m: Mistake) -> Diagnostic | None:
    word = m.found.text
    if m.found.kind == "word" and word in ("at", "over", "total"):
        return m.error("E0122", f"`{word}` a time follows P(…), E(…) or throughput(…)", f"for instance P(#a > 1) {_TIMES[word]}")
    if "_DOTS" in m.expected and any(t.text == "over" for t in m.before):
        return m.error("E0122", "`over` takes the beginning and the end of a time", "write over 0 s..10 s")
    if m.last.text == "total" and word != "over":
        return m.error("E0122", "after `total` stands `over`", f"for instance throughput(t) {_TIMES['total']}")
    if m.last.text in ("at", "over", "..") and "NUMBER" in m.expected and "IF" not in m.expected:
        where = m.at(m.last) if m.over else None
        return m.error("E0122", "a time is a number with a unit, a name, or in parentheses", "write at 10 s, or at (2 * t)", where)
    return _of_waiting(m) or _of_where(m)


_TIMES = {"at": "at 10 s", "over": "over 0 s..10 s", "total": "total over 0 s..10 s"}


def _of_waiting(m: Mistake) -> Diagnostic | None:
    """``time until`` and ``time from … to``, misspelt."""
    if "TO" in m.expected:
        return m.error("E0122", "`time from` a transition needs `to` another", "write E(time from t1 to t2)")
    if m.last.text == "time" and m.found.kind == "word" and m.found.text not in ("until", "from"):
        return m.error("E0122", f"`time {m.found.text}` is none to ask for", "write E(time until #a > 1), or E(time from t1 to t2)")
    if m.last.text == "until" and (len(m.before) < 2 or m.before[-2].text != "time"):
        return m.error("E0122", "`until` needs `time` before it", "write E(time until #a > 1)", m.at(m.last))
    if m.last.text == "until" and m.found.text == ")":
        return m.error("E0122", "the time until what?", "write E(time until #a > 1)", m.at(m.last))
    return None


def _of_where(m: Mistake) -> Diagnostic | None:
    after = any(t.text == "where" for t in m.before)
    if m.keyword != "expect" or not (after or m.found.text in ("if", "when", "with")):
        return None
    if m.found.text == "within":
        return m.error("E0122", "`within` comes before `where`", "write expect x == 1 within 1 % where n = 3")
    if not after:
        return m.error("E0122", f"the values of parameters follow `where`, not `{m.found.text}`", "write where n = 3")
    if "EQUAL" in m.expected or (m.found.text == "==" and m.before[-2].text in ("where", ",")):
        return m.error("E0122", f"`where` gives a parameter its value by `=`, not by `{m.found.text}`", f"write where {m.last.text} = 3")
    return None


def _composed(m: Mistake) -> Diagnostic | None:
    """What goes wrong in components, loops and branches."""
    rule = {"component": _of_component, "use": _of_use, "for": _of_for, "if": _of_if, "else": _of_if, "import": _of_import}.get(m.keyword)
    if m.found.text == "else" and m.keyword != "else":
        return m.error("E0121", "`else` follows the closing brace of an `if`", "if n > 1 { … } else { … }")
    if rule is not None and not any(t.text == "{" for t in m.before):
        return rule(m)
    return _of_index(m)


def _of_component(m: Mistake) -> Diagnostic | None:
    kinds = "kinds are place, link, transition, dist, and the types of a param"
    if m.found.kind == "word" and m.found.text in ("place", "link", "dist") and m.last.text in ("(", ","):
        name = m.after[0].text if m.after else "x"
        return m.error("E0121", "the kind of a parameter follows its name", f"write {name} : {m.found.text}")
    if m.found.text in (",", ")", "=") and m.last.text not in (",", "(") and "COLON" in m.expected:
        return m.error("E0121", f"parameter {m.last.text} has no kind", f"write {m.last.text} : place; {kinds}", m.at(m.last))
    return _braces(m, f"component {_name(m)}(…) {{ … }}")


def _of_use(m: Mistake) -> Diagnostic | None:
    if m.found.text == "(" and len(m.before) == 2:
        return m.error("E0121", "an instance has a name of its own", f"write use {m.last.text} w(…)")
    return _of_index(m)


def _of_for(m: Mistake) -> Diagnostic | None:
    if m.found.text == "(" and len(m.before) == 1:
        return m.error("E0121", "`for` has no parentheses", "write for i in 1..n { … }")
    if len(m.before) == 2:
        return m.error("E0121", "after the index of a loop stands `in`", f"write for {m.last.text} in 1..n {{ … }}")
    if "_DOTS" in m.expected:
        return m.error("E0121", "the ends of a range are joined by `..`", "write 1..n; both ends are included")
    return _braces(m, "for i in 1..n { … }")


def _of_if(m: Mistake) -> Diagnostic | None:
    return _braces(m, "else { … }" if m.keyword == "else" else "if n > 1 { … } else { … }")


def _of_import(m: Mistake) -> Diagnostic | None:
    if len(m.before) == 1:
        return m.error("E0121", "the file of an import stands in double quotes", 'import "lib.spn" as L')
    return m.error("E0121", "an import gets a name, after `as`", f"import {m.before[1].text} as L")


def _of_index(m: Mistake) -> Diagnostic | None:
    opened = next((i for i in range(len(m.before) - 1, 0, -1) if m.before[i].text in "[]"), 0)
    name = m.before[opened - 1].text if opened and m.before[opened].text == "[" else ""
    if m.found.text == ".." and name:
        low = " ".join(t.text for t in m.before[opened + 1 :])
        high = m.after[0].text if m.after and m.after[0].kind != "end" else "n"
        return m.error("E0121", "an index has a name", f"write {name}[i in {low}..{high}]")
    if m.found.text == "]" and m.last.text == "[":
        return m.error("E0121", "an index is missing", f"write {name}[1], or {name}[*] for all of them")
    if m.found.text == "*" and m.last.text == "." and len(m.before) > 1:
        return m.error("E0121", "all instances are written with [*]", f"write {m.before[-2].text}[*].…")
    return None


def _braces(m: Mistake, example: str) -> Diagnostic | None:
    if "LBRACE" not in m.expected or not (m.over or m.found.text == ":" or m.found.kind in ("word", "name")):
        return None
    return m.error("E0121", f"the statements of `{m.keyword}` stand in braces", f"write {example}")


def _name(m: Mistake) -> str:
    return m.before[1].text if len(m.before) > 1 else "NAME"


def _wants_name(m: Mistake) -> bool:
    """Was a name due, on this line, so that a reserved word is meant as one?"""
    if not m.before or m.found.first:
        return False
    return m.last.text in _BEFORE_NAMES or ("NAME" in m.expected and "NUMBER" not in m.expected and m.last.text != ",")


_BEFORE_NAMES = ("->", "*", "#", "?", "!", "/", "+", "-", "|")


def _reserved(m: Mistake) -> Diagnostic | None:
    word = m.found.text
    if m.found.kind != "word" or word not in RESERVED or not _wants_name(m):
        return None
    return m.error("E0106", f"`{word}` is a reserved word, not a name", f"write `{word}` in backquotes, or choose another name")


def _marks(m: Mistake) -> Diagnostic | None:
    """Spellings of other languages, and look-alikes."""
    text = m.source.text
    for wrong, right in _SPELLINGS.items():
        for start in (m.found.start, m.last.start):
            if text.startswith(wrong, start) and start + len(wrong) > m.found.start:
                span = Span(m.source, start, start + len(wrong))
                return m.error("E0101", f"`{wrong}` is written `{right}` here", f"write {right}", span)
    if m.found.text == "!" and "NOT" in m.expected:
        return m.error("E0101", "`!` is written `not` in expressions", "write not")
    if m.found.text == "?" and "COMPARE" in m.expected:
        return m.error("E0101", "a choice is written if(condition, a, b)", "for instance if(n > 1, 2 s, 1 s)")
    if m.found.text == "%" and "COMPARE" in m.expected:
        return m.error("E0101", "`%` is a unit, 0.01, and follows a number", "the remainder is `mod`")
    return None


_SPELLINGS = {
    "&&": "and",
    "||": "or",
    "**": "^",
    "<>": "!=",
    "=>": ">=",
    "=<": "<=",
    ":=": "=",
    "===": "==",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "→": "->",
    "⟶": "->",
    "×": "*",
    "·": "*",
    "−": "-",
    "–": "-",
    "∞": "inf",
    "'": '"',
    "“": '"',
    "”": '"',
}


def _semicolon(m: Mistake) -> Diagnostic | None:
    return m.error("E0101", "statements end by themselves, without `;`", "remove it") if m.found.text == ";" else None


def _comment(m: Mistake) -> Diagnostic | None:
    if m.found.text != "#" or not m.found.first or "NUMBER" in m.expected:
        return None
    return m.error("E0101", "a comment begins with //", "`#p` is the marking of place p")


def _decimal(m: Mistake) -> Diagnostic | None:
    follows = m.after[0] if m.after else m.found
    if m.found.text == "." and follows.kind == "number" and follows.start == m.found.end and "NUMBER" in m.expected:
        return m.error("E0101", "a number has a digit before the dot", f"write 0.{follows.text}")
    if m.found.text == "." and m.last.kind == "number" and m.last.end == m.found.start:
        return m.error("E0101", "a number has a digit after the dot", f"write {m.last.text}.0")
    return None


def _odd_name(m: Mistake) -> Diagnostic | None:
    """A name with marks, spaces or digits in the wrong place, where one is declared."""
    if m.found.kind == "number" and _wants_name(m) and m.keyword in DECLARE_ONE:
        text = _run(m, m.found.start)
        return m.error("E0107", f"`{text}` is no name: a name begins with a letter", f"write it in backquotes: `{text}`")
    if not _just_declared(m) or m.found.first or not (m.found.kind == "number" or m.found.text in tuple("-.+/\\@$&'!?*")):
        return None
    text, tokens = _run(m, m.last.start), ""
    if m.found.kind == "number":
        text = f"{m.last.text} {m.found.text}"
        tokens = f"; initial tokens are written {m.last.text} = {m.found.text}" if m.keyword == "place" else ""
    span = Span(m.source, m.last.start, max(m.last.start + len(text), m.found.end))
    return m.error("E0107", f"`{text}` is no name as it stands", f"write it in backquotes: `{text}`{tokens}", span)


def _two_words(m: Mistake) -> Diagnostic | None:
    """A name of two words, where one is declared: ``param big jobs : count``."""
    declared = len(m.before) == 2 and m.keyword in DECLARE_ONE - {"place"} and m.last.kind == "word"
    follows = m.after[0].text if m.after else ""
    if (
        not declared
        or m.found.kind != "word"
        or m.found.first
        or m.found.text in RESERVED
        or follows not in (":", "=", *("(" * (m.keyword == "link")))
    ):
        return None
    text = f"{m.last.text} {m.found.text}"
    if m.keyword == "param" and m.found.text in KINDS:
        return m.error(
            "E0111", f"after the name of a parameter stands `:`, not `{m.found.text}`", f"write param {m.last.text} : {m.found.text}"
        )
    help = f"write it in backquotes, `{text}`, or as {m.last.text}_{m.found.text}"
    return m.error("E0107", f"`{text}` is no name as it stands", help, Span(m.source, m.last.start, m.found.end))


def _just_declared(m: Mistake) -> bool:
    """Is the token before the error the name that a statement declares?"""
    if len(m.before) < 2 or m.last.kind != "word":
        return False
    return m.before[-2].text in DECLARE_ONE or (m.keyword == "place" and m.before[-2].text == ",")


def _run(m: Mistake, start: int) -> str:
    """The text from ``start`` up to a space or a mark that ends a name."""
    end = start
    while end < len(m.source.text) and not m.source.text[end].isspace() and m.source.text[end] not in ",=:~()[]{}`;":
        end += 1
    return m.source.text[start:end]


def _comma(m: Mistake) -> Diagnostic | None:
    """A comma with nothing after it, or one missing."""
    if m.last.text == "," and (m.over or m.found.text in ("->", "~", ")", "]")):
        ends = m.found.text in STATEMENTS or m.found.kind == "end"
        help = "remove it: a statement begins with its keyword, without a comma" if ends else "remove it"
        return m.error("E0109", "nothing follows this comma", help, m.at(m.last))
    if m.keyword == "place":
        return _comma_of_places(m)
    follows = m.after[0].text if m.after else ""
    names = m.found.kind in ("word", "name") and m.last.kind in ("word", "name")
    if names and _in_arcs(m) and m.found.text not in LAW_WORDS | RESERVED and (m.has("->") or follows in (",", "->", "*")):
        return m.error("E0109", f"a comma is missing before {m.found.text}", f"arcs are listed as {m.last.text}, {m.found.text}")
    return None


def _comma_of_places(m: Mistake) -> Diagnostic | None:
    if m.found.text == "=" and len(m.before) >= 4 and m.last.kind in ("word", "name"):
        return m.error("E0109", f"a comma is missing before {m.last.text}", "places are listed as place a = 1, b = 2", m.at(m.last))
    if m.found.kind in ("word", "name") and m.found.text not in RESERVED and not m.found.first and len(m.before) >= 2:
        two = f", or, if it is one name, write `{m.last.text} {m.found.text}`" if m.last.kind == "word" else ""
        return m.error("E0109", f"a comma is missing before {m.found.text}", f"places are listed as place a, b{two}")
    return None


def _plus(m: Mistake) -> Diagnostic | None:
    if _in_arcs(m) and m.found.text == "+":
        return m.error("E0109", "arcs are separated by commas, not by `+`", "write a, b -> c")
    return None


def _in_arcs(m: Mistake) -> bool:
    return m.keyword in ("timed", "immediate", "join") and m.has(":") and not m.has("~")


def _star(m: Mistake) -> Diagnostic | None:
    if _in_arcs(m) and m.last.kind == "number" and m.found.kind in ("word", "name") and m.found.text not in RESERVED:
        return m.error("E0110", "between a multiplicity and its place stands *", f"write {m.last.text}*{m.found.text}")
    return None


def _call(m: Mistake) -> Diagnostic | None:
    """``det 3`` and ``0.5 exp(…)``."""
    if m.found.kind == "number" and m.last.text in LAWS:
        example = _EXAMPLES.get(m.last.text, f"{m.last.text}(…)")
        return m.error("E0119", f"the parameters of {m.last.text} stand in parentheses", f"for instance {example}")
    if m.found.text == "(" and m.last.kind == "word" and len(m.before) > 1 and m.before[-2].kind == "number":
        help = "in mix(…) a colon: mix(0.9: d1, 0.1: d2)"
        return m.error("E0119", f"between {m.before[-2].text} and {m.last.text} stands an operator", help, m.at(m.last))
    return None


_EXAMPLES = {"exp": "exp(rate = 2/s) or exp(mean = 3 s)", "det": "det(3 s)"}


def _place_tokens(m: Mistake) -> Diagnostic | None:
    if m.keyword == "place" and m.found.text in ("(", ":") and len(m.before) >= 2:
        return m.error("E0101", "the initial tokens of a place follow `=`", f"write place {m.last.text} = 3")
    return None


def _capacity(m: Mistake) -> Diagnostic | None:
    if m.keyword == "link" and len(m.before) == 2 and "LPAR" in m.expected and not m.over:
        return m.error("E0101", "the capacity of a link stands in parentheses", f"write link {m.last.text}(capacity = 10 Gbit/s)")
    return None


def _colon(m: Mistake) -> Diagnostic | None:
    if m.keyword in ("timed", "immediate") and len(m.before) == 2 and "COLON" in m.expected:
        return m.error(
            "E0111",
            f"after the name of a transition stands `:`, not `{m.found.text}`" if m.found.text else "`:` is missing",
            f"{m.keyword} {m.last.text} : inputs -> outputs",
        )
    if m.keyword == "param" and len(m.before) == 2 and "COLON" in m.expected:
        help = f"param {m.last.text} : count = 4; types are count, number, bool, probability, time, bytes, 1/s, bytes/s"
        return m.error("E0111", "a parameter has a type, after `:`", help)
    return None


def _arrow(m: Mistake) -> Diagnostic | None:
    if not _in_arcs(m):
        return None
    if m.has("->"):
        return m.error("E0108", "a transition has one `->`, from inputs to outputs", "remove it") if m.found.text == "->" else None
    if m.over or m.found.text in ("~", "=", ">", "-", "<") or (m.found.kind in ("word", "name") and m.last.text != ":"):
        help = f"write {m.keyword} {m.before[1].text} : inputs -> outputs; either side may be empty"
        return m.error("E0108", "`->` is missing between inputs and outputs", help)
    return None


def _output(m: Mistake) -> Diagnostic | None:
    if _in_arcs(m) and m.has("->") and m.found.text in ("?", "!", "flush"):
        what = {"?": "a test", "!": "an inhibitor", "flush": "a flush"}[m.found.text]
        return m.error("E0112", f"{what} arc is an input arc", "write it before `->`")
    return None


def _timeless(m: Mistake) -> Diagnostic | None:
    """What only a timed transition can say, said of an immediate one."""
    if m.keyword != "immediate" or not m.has("->"):
        return None
    if m.found.text == "~" or (m.found.text in LAW_WORDS and m.found.kind == "word"):
        return m.error("E0113", "an immediate transition takes no time, so it has no law", "make it `timed`, or remove the law")
    if m.found.kind == "word" and m.found.text in TIMED_ONLY | TRANSFER_ONLY | {"over"}:
        help = "make it `timed`, with a law after `~`"
        return m.error("E0113", f"an immediate transition takes no time, so it has no `{m.found.text}`", help)
    return None


def _condition(m: Mistake) -> Diagnostic | None:
    """``if`` for ``when``, after the arcs or the law of a transition: on one line with them, and no block follows."""
    if m.keyword == "if" and not m.before[0].first and "{" not in (m.found.text, *(t.text for t in m.before)):
        start = m.before[0].start
        line = m.source.text[m.source.text.rfind("\n", 0, start) + 1 : start]
        if line.lstrip().startswith(("timed", "immediate")) and "->" in line:
            return m.error("E0101", "the condition of a transition follows `when`", "write when", m.at(m.before[0]))
    return None


def _clause(m: Mistake) -> Diagnostic | None:
    """A clause before the law, or one that is misspelt."""
    if m.keyword not in ("timed", "immediate") or not m.has("->") or m.found.kind != "word" or m.found.first:
        return None
    word = m.found.text
    if m.keyword == "timed" and word in AFTER_ARCS and not m.has("~") and any(t.text == "~" for t in m.after):
        return m.error("E0113", f"the law comes right after the arcs, before `{word}`", f"write ~ LAW {word} …")
    near = _CLAUSE_WORDS.get(word.casefold()) or nearest(word, AFTER_ARCS)
    if near and word not in RESERVED | AFTER_ARCS | LAW_WORDS and m.last.text not in (",", *_BEFORE_NAMES):
        return m.error("E0101", f"`{word}` begins no clause of a transition", f"did you mean {near}?")
    return None


_CLAUSE_WORDS = {"prob": "weight", "probability": "weight", "guard": "when", "policy": "memory", "prio": "priority", "on": "over"}


def _law(m: Mistake) -> Diagnostic | None:
    if m.keyword != "timed" or not m.has("->"):
        return None
    if m.has("~"):
        return m.error("E0113", "a law is due after `~`", "for instance ~ exp(rate = 2/s) or ~ det(3 s)") if m.last.text == "~" else None
    if m.found.text in ("=", ":", "@") and m.found.kind == "mark":
        return m.error("E0113", f"the law of a transition follows `~`, not `{m.found.text}`", "for instance ~ exp(rate = 2/s)")
    if m.found.text in LAW_WORDS:
        return m.error("E0113", "the law of a timed transition follows `~`", "for instance ~ det(3 s) or ~ exp(rate = 2/s)")
    if m.over:
        return m.error(
            "E0113", "a timed transition needs a law, after `~`", "for instance ~ exp(rate = 2/s); without one it is `immediate`"
        )
    return None


def _equals(m: Mistake) -> Diagnostic | None:
    """``=`` and ``==`` and ``~``, mixed up or missing."""
    if m.found.text == "=" and "COMPARE" in m.expected:
        return m.error("E0114", "`=` compares nothing", "to compare write ==")
    if m.keyword in ("dist", "measure", "param") and "EQUAL" in m.expected and m.found.kind != "end" and not m.over:
        return m.error(
            "E0114", f"`=` is missing, found `{m.found.text}`", f"{m.keyword} {m.before[1].text} = …" if len(m.before) > 1 else ""
        )
    return None


def _expectation(m: Mistake) -> Diagnostic | None:
    if m.keyword == "expect" and m.over and "COMPARE" in m.expected:
        return m.error("E0115", "an expectation compares a result", "expect x == 2.5/s within 1 %, or expect x < 3/s")
    return None


def _chain(m: Mistake) -> Diagnostic | None:
    compared = any(t.kind == "mark" and t.text in _COMPARE for t in m.before)
    if m.found.kind == "mark" and m.found.text in _COMPARE and compared:
        return m.error("E0116", "comparisons do not chain", "write a < b and b < c")
    return None


_COMPARE = ("==", "!=", "<", ">", "<=", ">=")


def _statement(m: Mistake) -> Diagnostic | None:
    """A word where a statement is due: the one found, or the one before it, taken for a unit or a place."""
    if m.found.kind == "word" and m.found.text not in RESERVED and {"PLACE", "TIMED"} <= m.expected and (m.found.first or not m.before):
        return _no_statement(m, m.found, nearest(m.found.text, STATEMENTS))
    near = nearest(m.last.text, STATEMENTS)
    if m.last.kind == "word" and m.last.first and len(m.before) > 1 and (near or m.last.text in _STATEMENT_WORDS):
        return _no_statement(m, m.last, near)
    return None


def _no_statement(m: Mistake, word: Tok, near: str | None) -> Diagnostic:
    near = _STATEMENT_WORDS.get(word.text.casefold()) or near
    help = f"did you mean {near}?" if near else f"statements begin with {', '.join(sorted(STATEMENTS))}"
    return m.error("E0117", f"`{word.text}` begins no statement", help, m.at(word))


_STATEMENT_WORDS = {
    "transition": "timed or immediate",
    "trans": "timed or immediate",
    "var": "param",
    "const": "param",
    "let": "param",
    "parameter": "param",
    "arc": "an arc in `timed t : a -> b`",
    "distribution": "dist",
    "assert": "expect",
    "reward": "measure",
    "exponential": "timed",
    "inhibitor": "`!p` among the inputs of a transition",
}


def _unfinished(m: Mistake) -> Diagnostic | None:
    if not m.over or not m.before or (m.found.kind == "word" and not m.found.first):
        return None
    return m.error("E0118", f"the statement ends too early: expected {_listed(m.expected)}", "", Span(m.source, m.last.end, m.last.end))


def _anything(m: Mistake) -> Diagnostic:
    found = f"`{m.found.text}`" if m.found.text.isprintable() and m.found.text else "the end" if not m.found.text else _code(m.found.text)
    return m.error("E0101", f"unexpected {found}: expected {_listed(m.expected)}")


def _code(text: str) -> str:
    return f"the character U+{ord(text[0]):04X}"


RULES: tuple[Callable[[Mistake], Diagnostic | None], ...] = (
    _unclosed_text,
    _semicolon,
    _comment,
    _unclosed_bracket,
    _marks,
    _decimal,
    _condition,
    _asked,
    _composed,
    _statement,
    _timeless,
    _odd_name,
    _two_words,
    _clause,
    _plus,
    _comma,
    _reserved,
    _call,
    _place_tokens,
    _capacity,
    _colon,
    _star,
    _arrow,
    _output,
    _law,
    _equals,
    _expectation,
    _chain,
    _unfinished,
    _anything,
)


# --- what was expected ------------------------------------------------------------------------------------------------------------

_EXPRESSION = frozenset({"NUMBER", "IF", "TRUE"})
_CALLED = {
    "NAME": "a name",
    "NUMBER": "a number",
    "COMPARE": "a comparison",
    "_ARROW": "->",
    "_DOTS": "..",
    "COLON": ":",
    "EQUAL": "=",
    "COMMA": ",",
    "TILDE": "~",
    "LPAR": "(",
    "RPAR": ")",
    "RSQB": "]",
    "LSQB": "[",
    "TIME_UNTIL": "`time until`",
    "TIME_FROM": "`time from`",
    "MEASURED": "P(…)",
    "LBRACE": "{",
    "RBRACE": "}",
    "DOT": ".",
    "STRING": "a text in double quotes",
    "STAR": "*",
    "VBAR": "|",
    "QMARK": "?",
    "BANG": "!",
    "HASH": "#",
}
_OPERATORS = frozenset({"SIGN", "STAR", "TIMES", "CIRCUMFLEX", "OR", "AND", "PERCENT", "COMPARE"})


def _listed(expected: frozenset[str]) -> str:
    """What the grammar would have taken, in words."""
    if expected >= _EXPRESSION:
        return "an expression"
    names = [n for n in expected if n not in _OPERATORS and n.lower() not in STATEMENTS and n not in ("$END", "COMMENT", "SPACE")]
    clauses = [n for n in names if n.lower() in AFTER_ARCS]
    if len(clauses) > 3:
        names = [n for n in names if n not in clauses]
    parts = sorted({_shown(n) for n in names}, key=lambda s: (not s.startswith("a "), s))
    if len(clauses) > 3:
        parts.append("a clause such as `servers`")
    if expected & _OPERATORS:
        parts.append("an operator")
    if "PLACE" in expected or not parts:
        parts.append("the next statement")
    return ", ".join(parts[:-1]) + (" or " if len(parts) > 1 else "") + parts[-1]


def _shown(terminal: str) -> str:
    called = _CALLED.get(terminal, terminal.lower())
    return called if called.startswith("a ") else f"`{called}`"
