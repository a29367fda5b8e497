"""Components and replication, checked where they stand: names, kinds and dimensions, whatever the values and however many the replicas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spn.expr.dims import Dimension
from spn.lang import ast
from spn.lang.check import Checker, kind_of
from spn.lang.infer import Context, spell
from spn.lang.laws import check_law
from spn.lang.scope import FORMALS, IN_BRANCH, IN_COMPONENT, IN_LOOP, Component, Home, Kind, Report
from spn.lang.words import quoted
from spn.source import position

MAX_INSTANCES = 40  # inside one another
JOINABLE = ("when", "resets")
ARTICLES = {Kind.DIST: "a law", Kind.PLACE: "a place", Kind.LINK: "a link", Kind.TRANSITION: "a transition"}


def kind_of_formal(formal: ast.Formal) -> Kind:
    """Is a parameter of a component a law, a place, a link, a transition, or a value (then PARAM)?"""
    return FORMALS.get(formal.type.text, Kind.PARAM) if isinstance(formal.type, ast.Name) else Kind.PARAM


@dataclass(slots=True)
class Composition(Checker):
    """The checker of whole files, components included."""

    def statement(self, statement: ast.Statement) -> bool:
        before = len(self.report.errors)
        self.scope.statement = statement.span
        match statement:
            case ast.Component():
                self._component(statement)
            case ast.Use():
                with self.indexed(statement.index):
                    self._use(statement)
            case ast.For(range=each, body=body):
                with self.indexed((each,)):
                    self._block(body, IN_LOOP)
            case ast.If(test=test, then=then, otherwise=otherwise):
                self.condition(test, Context("the condition of `if`"))
                self._block((*then, *otherwise), IN_BRANCH)
            case ast.Join():
                if self.scope.within:
                    self._join(statement)
            case ast.Dist(name=name) | ast.Measure(name=name) if (symbol := self.scope.values.get(name.text)) and symbol.branches:
                self._in_branch(statement, name)
            case _:
                return Checker.statement(self, statement)
        return len(self.report.errors) == before

    def _block(self, body: Iterable[ast.Statement], allowed: tuple[type[ast.Statement], ...]) -> None:
        for inner in body:
            if isinstance(inner, allowed):  # others are reported where names are declared
                self.statement(inner)

    def _in_branch(self, statement: ast.Dist | ast.Measure, name: ast.Name) -> None:
        """A law or measure that both branches of an ``if`` may declare: it has one dimension."""
        one = self._dimension_of(statement, name)
        self.works.pop(name.text, None)
        self.types.pop(name.text, None)
        Checker.statement(self, statement)
        other = self._dimension_of(statement, name)
        if one is not None and other is not None and one != other:
            message = f"{quoted(name.text)} is {spell(other)} here and {spell(one)} in the other branch"
            self.report.error("E0303", message, name.span, help="give them two names")

    def _dimension_of(self, statement: ast.Dist | ast.Measure, name: ast.Name) -> Dimension | None:
        found = self.types.get(name.text)
        return self.works.get(name.text) if isinstance(statement, ast.Dist) else None if found is None else found.dimension

    # --- components

    def _component(self, statement: ast.Component) -> None:
        component = self.scope.components.get(statement.name.text)
        if component is None or component.statement is not statement:
            return
        before = len(self.report.errors)
        inner = Composition(component.scope, self.report, types=dict(self.types))
        for formal in statement.formals:
            inner._formal(formal)
        inner._block(statement.body, IN_COMPONENT)
        component.works = inner.works
        component.broken |= len(self.report.errors) > before
        own = {f.name.text for f in statement.formals}
        self.scope.used |= {(kind, name) for kind, name in component.scope.used if kind is Kind.PARAM and name not in own}

    def _formal(self, formal: ast.Formal) -> None:
        name, kind = formal.name.text, kind_of_formal(formal)
        where = Context(f"the default of {quoted(name)}")
        self.scope.statement = formal.span
        if kind is Kind.PARAM:
            self._param(ast.Param(name=formal.name, type=formal.type, default=formal.default, span=formal.span))
        elif formal.default is None:
            return
        elif kind is Kind.DIST:
            self.works.setdefault(name, check_law(self, formal.default, None, where))
        else:
            message = f"{quoted(name)} has no default: a component sees no {kind} but its own and those it is given"
            self.report.error("E0232", message, formal.default.span, help="leave it out")

    # --- use

    def _use(self, use: ast.Use) -> None:
        component = self._used(use)
        if component is None:
            return
        given = arguments_of(use, component, self.report)
        for formal, argument in given:
            if argument is not None:
                self._argument(use, formal, argument.value, component)

    def _used(self, use: ast.Use) -> Component | None:
        found = self.scope.component(use)
        if found is not None:
            self.scope.used_components.add(found.name if use.library is None else f"{use.library.text}.{found.name}")
            return found
        name, where, known = use.component, "", self.scope.components
        if use.library is not None:
            library = self.scope.libraries.get(use.library.text)
            if library is None:
                near = self.report.nearest(use.library.text, self.scope.libraries)
                help = f"did you mean {quoted(near)}?" if near else f'import "file.spn" as {quoted(use.library.text)}'
                self.report.error("E0201", f"no import is called {quoted(use.library.text)}", use.library.span, help=help)
                return None
            where, known = f" in {library.file.source.name}", library.scope.components
        near = self.report.nearest(name.text, known)
        elsewhere = [k for k, home in self.scope.libraries.items() if name.text in home.scope.components] if use.library is None else []
        help = f"did you mean {quoted(near)}?" if near else f"there are {', '.join(map(quoted, known))}" if known else ""
        if elsewhere:
            help = f"did you mean {quoted(elsewhere[0])}.{quoted(name.text)}?"
        self.report.error("E0201", f"there is no component {quoted(name.text)}{where}", name.span, help=help)
        return None

    def _argument(self, use: ast.Use, formal: ast.Formal, value: ast.Expr, component: Component) -> None:
        where = Context(f"{quoted(formal.name.text)} of {quoted(use.name.text)}")
        kind = kind_of_formal(formal)
        if kind is Kind.DIST:
            work = component.works.get(formal.name.text)
            check_law(self, value, work, where)
        elif kind is not Kind.PARAM:
            self._node(kind, value, where)
        else:
            type_ = kind_of(formal.type)
            if type_ is None:
                return
            if type_.condition:
                self.condition(value, where)
            else:
                self.quantity(value, type_.dimension, where)

    def _node(self, kind: Kind, value: ast.Expr, where: Context) -> None:
        """A place, link or transition that is given to a component."""
        if isinstance(value, ast.Name):
            self.scope.use(kind, value, self.report)
            return
        help = f"write {value.place.text}, without #" if isinstance(value, ast.Marking) else "give its name"
        self.report.error("E0232", f"{where.what}: {ARTICLES[kind]} is due", value.span, help=help)

    # --- join

    def _join(self, join: ast.Join) -> None:
        name = join.transition
        own = self.scope.transitions.get(name.text)
        if name.path or (own is not None and own.position >= 0):
            help = "write the arcs in the transition itself" if not name.path else "give the transition as a parameter"
            message = f"`join` adds to a transition that the component is given, {name.text} is none"
            self.report.error("E0236", message, name.span, help=help)
            return
        if not self.scope.use(Kind.TRANSITION, name, self.report):
            return
        clauses = tuple(c for c in join.clauses if c.word in JOINABLE)
        for c in join.clauses:
            if c not in clauses:
                help = "write it in the transition itself"
                message = f"`{c.word}` cannot be added to a transition: `join` has arcs, `when` and `resets`"
                self.report.error("E0236", message, c.span, help=help)
        self._transition(ast.Transition(name=name, arcs=join.arcs, law=None, over=(), clauses=clauses, span=join.span))


def arguments_of(use: ast.Use, component: Component, report: Report) -> list[tuple[ast.Formal, ast.Argument | None]]:
    """The parameters of a component with what a ``use`` gives for each, None for the default; all that does not fit is reported."""
    formals = component.statement.formals
    named = {a.name.text: a for a in use.arguments if a.name is not None}
    positional = [a for a in use.arguments if a.name is None]
    signature = f"it takes {signature_of(component)}"
    known = {f.name.text for f in formals}
    for a in use.arguments:
        if a.weight is not None or a.given is not None:
            report.error("E0232", "a component takes values and names", a.span, help=signature)
        elif a.name is not None and a.name.text not in known:
            near = report.nearest(a.name.text, known)
            help = f"did you mean {quoted(near)}?" if near else signature
            report.error("E0232", f"component {quoted(component.name)} has no parameter {quoted(a.name.text)}", a.name.span, help=help)
        elif a.name is not None and named[a.name.text] is not a:
            report.error("E0232", f"{quoted(a.name.text)} is given twice", a.span)
    for a, formal in zip(positional, formals, strict=False):
        if formal.name.text in named:
            report.error("E0232", f"{quoted(formal.name.text)} is given twice, by place and by name", a.span, help=signature)
    for a in positional[len(formals) :]:
        takes = f"{len(formals)} parameter{'s' if len(formals) != 1 else ''}" if formals else "no parameters"
        report.error("E0232", f"component {quoted(component.name)} has {takes}", a.span, help=signature if formals else "remove it")
        break
    given = [positional[i] if i < len(positional) else named.get(f.name.text) for i, f in enumerate(formals)]
    missing = [f for f, a in zip(formals, given, strict=True) if a is None and f.default is None]
    if missing:
        names = ", ".join(quoted(f.name.text) for f in missing)
        report.error("E0232", f"{quoted(use.name.text)} needs {names}", use.name.span, help=signature)
    return list(zip(formals, given, strict=True))


def signature_of(component: Component) -> str:
    """The parameters of a component, as it declares them."""
    formals = [" ".join(f.span.text.split()) for f in component.statement.formals]
    return f"{quoted(component.name)}({', '.join(formals)})"


# --- which component uses which -----------------------------------------------------------------------------------------------------


def uses(body: Iterable[ast.Statement]) -> Iterator[ast.Use]:
    """The ``use`` statements in a body, those in braces included."""
    stack = list(body)
    while stack:
        statement = stack.pop()
        if isinstance(statement, ast.Use):
            yield statement
        stack.extend(ast.nested(statement))


def inner_first(home: Home, report: Report) -> list[Component]:
    """The components of a file, those that others use before them; a component that contains itself is an error and broken."""
    done: dict[int, Component] = {}
    for root in home.scope.components.values():
        path = {} if id(root) in done else {id(root): (root, _inner(root))}
        while path:
            top, pending = next(reversed(path.values()))
            following = next(pending, None)
            if following is None:
                path.popitem()
                done[id(top)] = top
                _measure(top, report)
            elif id(following) in path:
                _recursive([c for c, _ in path.values()][list(path).index(id(following)) :], report)
            elif id(following) not in done and following.home is home:
                path[id(following)] = (following, _inner(following))
    return list(done.values())


def _measure(component: Component, report: Report) -> None:
    """How deep the instances in a component are nested; too deep is an error."""
    component.depth = 1 + max((c.depth for c in _inner(component)), default=0)
    if component.depth == MAX_INSTANCES + 1:
        message = f"instances are nested more than {MAX_INSTANCES} deep"
        help = "a component may hold others, but not endlessly"
        report.error("E0431", message, component.statement.name.span, help=help)
    component.broken |= component.depth > MAX_INSTANCES


def _inner(component: Component) -> Iterator[Component]:
    found = (component.scope.component(u) for u in uses(component.statement.body))
    return iter([c for c in found if c is not None])


def _recursive(cycle: Sequence[Component], report: Report) -> None:
    if any(c.broken for c in cycle):
        return
    for component in cycle:
        component.broken = True
    names = " -> ".join(quoted(c.name) for c in [*cycle, cycle[0]])
    notes = []
    for component, inner in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        use = next(u for u in uses(component.statement.body) if component.scope.component(u) is inner)
        line = position(use.span.source, use.span.start).line
        notes.append(f"{quoted(component.name)} uses {quoted(inner.name)} in line {line}")
    message = f"component {quoted(cycle[0].name)} contains itself: {names}"
    help = "a net is finite: replicate with `use NAME w[i in 1..n]`"
    report.error("E0230", message, cycle[0].statement.name.span, help=help, notes=notes)
