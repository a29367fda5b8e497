"""A net and the questions asked of it as a collection of *facts*: labelled trees whose leaves name places, links and transitions.

A permutation of names is a symmetry where it maps the collection of facts to itself. Trees are compared by interned keys in which the
operands of commutative operations have no order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from spn.expr.nodes import Atom, Binary, BinaryOp, Call, Conditional, Function, Node, Number, Tokens, Unary, walk
from spn.measure import Average, Delay, Horizon, Measure, Passage, Quantile, Sojourn, Throughput, Utilisation, atoms
from spn.net.model import Net, Timed, Transition
from spn.source import Span

Name = tuple[str, str]  # kind (place, link, transition) and name
Naming = Callable[[Name], Hashable]

_TURNED = {BinaryOp.GT: BinaryOp.LT, BinaryOp.GE: BinaryOp.LE}
_PARTIAL = {BinaryOp.DIV, BinaryOp.IDIV, BinaryOp.MOD, BinaryOp.POW}
_PARTIAL_FUNCTIONS = {Function.SQRT, Function.LN}


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """``head`` says what it is, ``name`` what a leaf names; ``ordered`` False where the order of the parts means nothing."""

    head: Hashable
    parts: tuple[Tree, ...] = ()
    ordered: bool = True
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is true of ``subject`` (None: of the model), said of it in ``what``; ``tree`` begins with the subject."""

    tree: Tree
    what: str
    subject: Name | None
    span: Span | None = field(compare=False)


class Keys:
    """Numbers for trees: equal numbers for trees that are equal up to the order of commutative operands, under a naming of the leaves."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def number(self, *parts: Hashable) -> int:
        return self._known.setdefault(parts, len(self._known))

    def key(self, tree: Tree, naming: Naming) -> int:
        if tree.name is not None:
            return self.number("name", naming(tree.name))
        below = [self.key(p, naming) for p in tree.parts]
        return self.number(tree.head, *(below if tree.ordered else sorted(below)))

    def contexts(self, tree: Tree, naming: Naming) -> tuple[int, list[tuple[Name, int]]]:
        """The key of a tree and, for every leaf, a number for where it stands: the way down to it with the keys of what it stands in."""
        if tree.name is not None:
            own = self.number("name", naming(tree.name))
            return own, [(tree.name, own)]
        found: list[tuple[Name, int]] = []
        keys = []
        for place, part in enumerate(tree.parts):
            k, leaves = self.contexts(part, naming)
            keys.append(k)
            found += [(name, self.number("in", tree.head, place if tree.ordered else -1, k, context)) for name, context in leaves]
        return self.number(tree.head, *(keys if tree.ordered else sorted(keys))), found


def leaves(tree: Tree) -> Iterator[Name]:
    """The names in a tree."""
    stack = [tree]
    while stack:
        top = stack.pop()
        if top.name is not None:
            yield top.name
        stack.extend(top.parts)


# --- expressions ------------------------------------------------------------------------------------------------------------------


def _place(name: str) -> Tree:
    return Tree("", name=("place", name))


def _transition(name: str) -> Tree:
    return Tree("", name=("transition", name))


def total(node: Node) -> bool:
    """Whether an expression has a value in every marking, as far as its operations show."""
    return not any(
        (isinstance(n, Binary) and n.op in _PARTIAL) or (isinstance(n, Call) and n.function in _PARTIAL_FUNCTIONS) for n in walk(node)
    )


def operands(node: Node, op: BinaryOp | Function) -> list[Node]:
    """The operands of a chain of one operation, from left to right."""
    found: list[Node] = []
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Binary) and top.op is op:
            stack += [top.right, top.left]
        elif isinstance(top, Call) and top.function is op:
            stack += reversed(top.arguments)
        else:
            found.append(top)
    return found


def expression(node: Node) -> Tree:
    """The tree of an expression or a measure. Conjunctions whose operands may be undefined keep their order, for it protects them."""
    match node:
        case Number(value=v):
            return Tree(("number", v))
        case Tokens(place=p):
            return Tree("#", (_place(p),))
        case Unary(op=op, operand=x):
            return Tree(("unary", op), (expression(x),))
        case Binary(op=BinaryOp.ADD | BinaryOp.MUL as op):
            return Tree(op, tuple(expression(x) for x in operands(node, op)), ordered=False)
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op):
            parts = operands(node, op)
            return Tree(op, tuple(expression(x) for x in parts), ordered=not all(total(x) for x in parts))
        case Binary(op=op, left=a, right=b):
            if op in _TURNED:
                op, a, b = _TURNED[op], b, a
            return Tree(op, (expression(a), expression(b)), ordered=op not in (BinaryOp.EQ, BinaryOp.NE))
        case Conditional(test=c, then=a, otherwise=b):
            return Tree("if", (expression(c), expression(a), expression(b)))
        case Call(function=Function.MIN | Function.MAX as f):
            return Tree(f, tuple(expression(x) for x in operands(node, f)), ordered=False)
        case Call(function=f, arguments=arguments):
            return Tree(f, tuple(expression(x) for x in arguments))
    return _atom(node)


def _atom(node: Node) -> Tree:
    match node:
        case Average(value=v, given=t):
            return Tree("average", (expression(v), *([_transition(t)] if t is not None else [])))
        case Throughput(transition=t):
            return Tree("throughput", (_transition(t),))
        case Utilisation(target=t):
            return Tree("utilisation", (Tree("", name=("target", t)),))
        case Sojourn(place=p):
            return Tree("sojourn", (_place(p),))
        case Horizon(measure=m, start=a, end=b, total=whole):
            return Tree(("horizon", a, b, whole), (expression(m),))
        case Passage(condition=c, within=w, quantile=q):
            return Tree(("passage", w, q), (expression(c),))
        case Delay(first=a, second=b, quantile=q, within=w):
            return Tree(("delay", w, q), (_transition(a), _transition(b)))
        case Quantile(level=x, value=v, given=t):
            return Tree(("quantile", x), (expression(v), *([_transition(t)] if t is not None else [])))
    raise TypeError(f"not an expression: {node!r}")


# --- nets -------------------------------------------------------------------------------------------------------------------------


def facts(net: Net, measures: Sequence[Measure] = ()) -> list[Fact]:
    """All that matters of a net and its measures. Passages and quantiles are facts of their own, since each must be invariant by itself."""
    found: list[Fact] = []
    for p in net.places:
        found.append(_fact("initial tokens", ("place", p.name), p.span, p.initial))
        found.append(_fact("capacity", ("place", p.name), p.span, p.capacity))
    found += [_fact("capacity", ("link", link.name), link.span, link.capacity) for link in net.links]
    for t in net.transitions:
        found += _of_transition(t)
    timed = {t.name for t in net.transitions}
    found += _of_measures(measures, timed)
    return found


def _fact(what: str, subject: Name, span: Span | None, value: Hashable = None, parts: Iterable[Tree] = (), ordered: bool = True) -> Fact:
    inside = Tree((what, value), tuple(parts), ordered=ordered)
    return Fact(Tree("fact", (Tree("", name=subject), inside)), f"the {what} of {subject[1]}", subject, span)


def _of_transition(t: Transition) -> Iterator[Fact]:
    name = ("transition", t.name)
    yield _fact("kind", name, t.span, type(t).__name__)
    yield _fact("priority", name, t.span, t.priority)
    yield _quantity("weight", name, t.weight, t.span)
    if t.guard is not None:
        yield _quantity("guard", name, t.guard, t.span)
    for a in t.arcs:
        parts = (_place(a.place), expression(a.multiplicity))
        made = _fact(f"{a.kind} arc", name, a.span or t.span, parts=parts)
        yield Fact(made.tree, f"the {a.kind} arc between {a.place} and {t.name}", name, made.span)
    for u in t.resets:
        yield _fact("resets", name, t.span, parts=(_transition(u),))
    if not isinstance(t, Timed):
        return
    yield _fact("law", name, t.law_span or t.span, t.law)
    yield _fact("number of servers", name, t.span, t.servers)
    yield _fact("memory", name, t.span, t.memory)
    yield _quantity("rate or speed", name, t.speed, t.law_span or t.span)
    yield _quantity("scale", name, t.scale, t.law_span or t.span)
    if t.transfer is not None:
        span = t.transfer.span or t.span
        yield _fact("path over links", name, span, parts=(Tree("", name=("link", n)) for n in t.transfer.links), ordered=False)
        yield _quantity("share of the link", name, t.transfer.share, span)
        yield _fact("cap", name, span, t.transfer.cap)
        yield _fact("latency", name, span, t.transfer.latency)


def _quantity(what: str, name: Name, node: Node, span: Span | None) -> Fact:
    return _fact(what, name, getattr(node, "span", None) or span, parts=(expression(node),))


def _of_measures(measures: Sequence[Measure], transitions: set[str]) -> Iterator[Fact]:
    for k, m in enumerate(measures):
        yield _asked(("measure", k), m.body, f"measure {m.name}", m.span, transitions)
        for j, atom in enumerate(atoms(m.body)):
            if isinstance(atom, Passage | Quantile | Delay):
                yield _asked(("question", k, j), atom, f"measure {m.name}", atom.span or m.span, transitions)


def _asked(head: Hashable, body: Node | Atom, what: str, span: Span | None, transitions: set[str]) -> Fact:
    return Fact(_resolved(Tree(head, (expression(body),)), transitions), what, None, span)


def _resolved(tree: Tree, transitions: set[str]) -> Tree:
    """The same tree with the targets of utilisations told apart: a transition, or else a link."""
    if tree.name is not None and tree.name[0] == "target":
        name = tree.name[1]
        return Tree("", name=("transition" if name in transitions else "link", name))
    return Tree(tree.head, tuple(_resolved(p, transitions) for p in tree.parts), tree.ordered, tree.name)
