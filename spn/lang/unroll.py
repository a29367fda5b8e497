"""The flat model: components, arrays, loops and branches written out and the values of parameters put in, as text.

The text is a model of its own that loads to an equal net, with the same measures. What only makes sense with parameters is left out, and
said to be: sweeps, and expectations at other values of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from spn.expr.dims import NUMBER, Dimension
from spn.expr.evaluate import Undefined, binary
from spn.expr.nodes import LOGICAL, BinaryOp, UnaryOp
from spn.lang import ast
from spn.lang.elaborate import flat
from spn.lang.expand import TARGETS
from spn.lang.format import formatted
from spn.lang.given import Setting
from spn.lang.laws import Resolver
from spn.lang.libraries import Reader
from spn.lang.units import UNITS
from spn.lang.write import decimal, write
from spn.model import Parameter
from spn.source import Source

_CONDITIONS = ("always", "home", "leads")  # claims of conditions
_ARITHMETIC = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV, BinaryOp.IDIV, BinaryOp.MOD, BinaryOp.POW})


def unrolled(file: ast.File, *, name: str, given: Mapping[str, Setting], resolver: Resolver, reader: Reader | None = None) -> str:
    """The canonical text of the flat model; a ModelError holds all that is wrong with the file."""
    found, model = flat(file, name=name, given=given, resolver=resolver, reader=reader)
    kept = [s for s in found if not isinstance(s, ast.Param | ast.Sweep) and not (isinstance(s, ast.Expect) and s.where)]
    if model.unitless:
        kept.insert(0, ast.UnitsNone(span=file.statements[0].span))
    kept.sort(key=_section)
    values = _Values(model.parameters, found)
    plain = ast.File(source=file.source, statements=tuple(values.put(s) for s in kept), doc=file.doc)
    dropped = [s for s in found if s not in kept and not isinstance(s, ast.Param)]
    return formatted(Source(name, _head(file, model.parameters, dropped) + write(plain)))


def _section(s: ast.Statement) -> int:
    """Laws, links, places and transitions come first, each kind in its order; questions keep theirs."""
    order = (ast.UnitsNone, ast.Dist, ast.Link, ast.Places, ast.Transition)
    return order.index(type(s)) if type(s) in order else len(order)


def _head(file: ast.File, parameters: Sequence[Parameter], dropped: Sequence[ast.Statement]) -> str:
    """What was put in and left out, as comments."""
    lines = [f"unrolled from {file.source.name}", *(f"  {p.name} = {p.text or decimal(p.value)}" for p in parameters)]
    lines += [f"left out, since it gives parameters other values: {' '.join(s.span.text.split())}" for s in dropped]
    return "".join(f"// {' '.join(line.splitlines())}\n" for line in lines) + "\n"


# --- values ---------------------------------------------------------------------------------------------------------------------


_NO_VALUES = frozenset({"span", "doc", "name", "place", "over", "names", "given", "function", "first", "second", "unit", "claim", "path"})


class _Values:
    """Puts the values of parameters into statements, in base units with their dimensions. A value that is no fraction (a root, say) is put
    in as the expression that it is the default of, so that the same arithmetic gives the same digits."""

    def __init__(self, parameters: Sequence[Parameter], statements: Iterable[ast.Statement]) -> None:
        self.known: dict[str, ast.Expr] = {}
        defaults = {s.name.text: s.default for s in statements if isinstance(s, ast.Param)}
        for p in parameters:
            default = defaults.get(p.name)
            if isinstance(p.value, float) and default is not None and not p.given:
                self.known[p.name] = self.put(default)
            else:
                assert p.span is not None
                self.known[p.name] = ast.Value(p.value, p.dimension, p.span)

    def put(self, node: Any) -> Any:
        """The node with values for names, arithmetic on them done, and truth values where conditions are due."""
        match node:
            case tuple():
                return tuple(self.put(part) for part in node)
            case ast.Name(text=text, path=()) if text in self.known:
                return self.known[text]
            case ast.Unary(op=UnaryOp.NOT, operand=operand, span=span):
                return ast.Unary(UnaryOp.NOT, self.condition(operand), span)
            case ast.Binary(op=op, left=left, right=right, span=span) if op in LOGICAL:
                return ast.Binary(op, self.condition(left), self.condition(right), span)
            case ast.Binary(op=op, left=left, right=right, span=span):
                return _reduced(ast.Binary(op, self.put(left), self.put(right), span))
            case ast.Conditional(test=test, then=then, otherwise=otherwise, span=span):
                return ast.Conditional(self.condition(test), self.put(then), self.put(otherwise), span)
            case ast.Clause(word="when", value=value) if value is not None:
                return replace(node, value=self.condition(value))
            case ast.Until(condition=condition):
                return replace(self.rebuilt(node), condition=self.condition(condition))
            case ast.Property(claim=claim, arguments=arguments) if claim.text in _CONDITIONS:
                return replace(node, arguments=tuple(self.condition(a) for a in arguments))
            case ast.Call(function=function) if function.text in TARGETS:
                return node
            case ast.Call(function=ast.Name(text="P"), arguments=(ast.Argument(value=value) as first, *rest)):
                inside = value if isinstance(value, ast.Until) else None
                asked = self.put(inside) if inside is not None else self.condition(value)
                return replace(node, arguments=(replace(first, value=asked), *self.put(tuple(rest))))
        return self.rebuilt(node) if is_dataclass(node) and type(node).__module__ == ast.__name__ else node

    def rebuilt(self, node: Any) -> Any:
        return replace(node, **{f.name: self.put(getattr(node, f.name)) for f in fields(node) if f.name not in _NO_VALUES})

    def condition(self, node: ast.Expr) -> ast.Expr:
        """A condition: the value of a bool parameter is true or false here, not 1 or 0."""
        found: ast.Expr = self.put(node)
        if isinstance(found, ast.Value):
            return ast.Truth(bool(found.value), node.span)
        if isinstance(node, ast.Conditional):
            return ast.Conditional(self.condition(node.test), self.condition(node.then), self.condition(node.otherwise), node.span)
        return found


def _reduced(node: ast.Binary) -> ast.Expr:
    """The value of an operation on two constants of which one was a parameter, where it is an exact decimal; else the operation."""
    left, right = _constant(node.left), _constant(node.right)
    put_in = isinstance(node.left, ast.Value) or isinstance(node.right, ast.Value)
    if left is None or right is None or not put_in or node.op not in _ARITHMETIC:
        return node
    try:
        value = binary(node.op, left[0], right[0])
    except (Undefined, ArithmeticError):
        return node
    dimension = _dimension(node.op, left[1], right[1])
    if dimension is None or not isinstance(value, Fraction) or value < 0 or "/" in decimal(value) or len(decimal(value)) > 20:
        return node
    return ast.Value(value, dimension, node.span)


def _constant(node: ast.Expr) -> tuple[Fraction, Dimension] | None:
    match node:
        case ast.Number(value=value):
            return value, NUMBER
        case ast.Value(value=Fraction() as value, dimension=dimension):
            return value, dimension
        case ast.Quantity(value=value, unit=unit) if unit.text in UNITS:
            return value * UNITS[unit.text][1], UNITS[unit.text][0]
    return None


def _dimension(op: BinaryOp, left: Dimension, right: Dimension) -> Dimension | None:
    match op:
        case BinaryOp.MUL:
            return left * right
        case BinaryOp.DIV:
            return left / right
        case BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MOD:
            return left
        case _:
            return NUMBER if left == right == NUMBER else None
