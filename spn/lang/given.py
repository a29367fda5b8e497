"""What a caller gives for the names of a file: numbers for parameters, laws for ``dist``s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from spn.dist.law import Law
from spn.errors import Diagnostic, ModelError, nearest
from spn.lang import ast
from spn.lang.parameters import Given
from spn.lang.parse import parse_constant
from spn.lang.words import quoted
from spn.source import Source

Setting = Given | Law


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Values for parameters, and laws for ``dist``s that are given as such; those given as text are put into the file."""

    file: ast.File
    numbers: Mapping[str, Given] = field(default_factory=dict)
    laws: Mapping[str, Law] = field(default_factory=dict)


def names(file: ast.File) -> tuple[str, ...]:
    """The names that may be given: parameters and laws, in order."""
    return tuple(s.name.text for s in file.statements if isinstance(s, ast.Param | ast.Dist))


def apply(file: ast.File, given: Mapping[str, Setting]) -> Settings:
    """The file with the given laws in it. ModelError names every unknown name and every value that is none."""
    problems = [_unknown(name, file) for name in given if name not in names(file)]
    laws: dict[str, Law] = {}
    statements: list[ast.Statement] = []
    for s in file.statements:
        try:
            statements.append(_with_law(s, given[s.name.text], laws) if isinstance(s, ast.Dist) and s.name.text in given else s)
        except ModelError as error:
            problems.extend(error.diagnostics)
    numbers = {}
    for name, value in given.items():
        if isinstance(value, Law):
            if name in names(file) and name not in laws:
                problems.append(_error(f"{quoted(name)} is a parameter, not a law", 'give a number, or text such as "10 Gbit/s"'))
        elif not any(isinstance(s, ast.Dist) and s.name.text == name for s in file.statements):
            numbers[name] = value
    if problems:
        raise ModelError(*problems)
    return Settings(file=replace(file, statements=tuple(statements)), numbers=numbers, laws=laws)


def _with_law(s: ast.Dist, value: Setting, laws: dict[str, Law]) -> ast.Dist:
    if isinstance(value, Law):
        laws[s.name.text] = value
        return s
    if isinstance(value, str):
        return replace(s, law=parse_constant(Source(f"<{s.name.text}>", value)))
    raise ModelError(_error(f"{quoted(s.name.text)} is a law, given {value!r}", 'give a law, such as "exp(mean = 3 ms)"'))


def _unknown(name: str, file: ast.File) -> Diagnostic:
    known = names(file)
    near = nearest(name, known)
    listed = f"there are {', '.join(map(quoted, known))}" if known else "the model has none"
    return _error(f"there is no parameter or law {quoted(name)}", f"did you mean {quoted(near)}?" if near else listed)


def _error(message: str, help: str) -> Diagnostic:
    return Diagnostic(code="E0212", message=message, help=help)
