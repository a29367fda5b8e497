"""From files and texts to models: the one place that joins the language with what it reads from data files."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from spn import resources
from spn.errors import DataError, ModelError, nearest, refuse
from spn.expr.nodes import Exact, Node
from spn.interop import Format, as_bytes, format_of
from spn.lang.ast import File
from spn.lang.elaborate import declarations, elaborate
from spn.lang.given import Setting, names
from spn.lang.laws import Fitted, Resolver
from spn.lang.libraries import Reader
from spn.lang.parameters import Declared, Given
from spn.lang.parse import parse as parse_text
from spn.model import Model
from spn.source import Source

MAX_FILE = 32 * 2**20  # bytes

__all__ = ["Declared", "Given", "Setting", "elaborated", "formatted", "load", "load_parameters", "parse", "settable", "source", "unrolled"]


def load(path: str | os.PathLike[str], /, *, params: Mapping[str, Setting] | None = None, **more: Setting) -> Model:
    """The model in a file, with parameter values as given: ``load("ps.spn", workers=8, nic="25 Gbit/s")``.

    Numbers are in base units (seconds, bytes), texts are read as in a model. A ``dist`` takes a law, as text or as a
    :class:`spn.dist.law.Law`: ``step="exp(mean = 3 ms)"``. ``params`` takes the same as a mapping, for names that are no Python names.
    Files that laws read (``fit``, ``empirical``) are looked for beside the model, then in the current folder. A path that does not exist is
    looked for among the models that come with the package. Nets in other formats (PNML) are recognised by their content.
    DataError where the file cannot be read, ModelError with all that is wrong where it is no model.
    """
    file = find(path)
    data, given = _bytes(file), {**(params or {}), **more}
    other = format_of(data, file.name)
    if other is not None:
        return _foreign(other, data, str(file), file.stem, given)
    return _model(parse_text(_source(str(file), _decoded(data, file))), file.stem, file.parent, given)


def parse(
    text: str,
    /,
    *,
    name: str = "<text>",
    base: str | os.PathLike[str] | None = None,
    params: Mapping[str, Setting] | None = None,
    **more: Setting,
) -> Model:
    """The model in a text; ``name`` is what messages show, ``base`` the folder of the files it reads (default: the current one)."""
    if not isinstance(text, str):
        raise TypeError(f"the text of a model is a str, not {type(text).__name__}; spn.load(path) reads a file")
    if (other := format_of(text[:1024].encode(), "")) is not None:
        return _foreign(other, as_bytes(text), name, _title(name), {**(params or {}), **more})
    return _model(parse_text(_source(name, text)), _title(name), Path(base or "."), {**(params or {}), **more})


def _foreign(format: Format, data: bytes, name: str, title: str, given: Mapping[str, Setting]) -> Model:
    """The model in another format, which has no parameters."""
    if given:
        raise refuse(
            ModelError,
            "E0828",
            f"{name} is a net in {format.name}: it has no parameters, and so no {next(iter(given))}",
            help="leave it out",
        )
    return format.read(data, name, title)


def settable(path: str | os.PathLike[str], /) -> tuple[str, ...]:
    """The names that :func:`load` takes values for: the parameters and the laws (``dist``) of a file."""
    file = find(path)
    return () if format_of(_bytes(file), file.name) is not None else names(parse_text(_read(file)))


def load_parameters(path: str | os.PathLike[str], /) -> tuple[Declared, ...]:
    """The parameters that a file declares: name, kind, default and range. Only parameters are checked and computed."""
    return declarations(parse_text(_read(find(path))))


def source(data: bytes, name: str) -> Source:
    """The text of a model that comes from elsewhere than a file; ``name`` is what messages show."""
    return _source(name, _decoded(data, name))


def formatted(what: str | os.PathLike[str] | Source, /, *, freeze: bool = False) -> tuple[Source, str]:
    """A model file (or text) as it is, and its canonical text; ``freeze``: with every ``fit(…)`` replaced by the law it gives."""
    from spn.lang.format import formatted as canonical
    from spn.lang.freeze import frozen

    source, base, _ = _opened(what)
    return source, frozen(source, Files(base)) if freeze else canonical(source)


def unrolled(what: str | os.PathLike[str] | Source, /, *, params: Mapping[str, Setting] | None = None) -> tuple[Source, str]:
    """A model file (or text) as it is, and the text of its flat model: components, loops and parameters written out."""
    from spn.lang.unroll import unrolled as flat

    source, base, name = _opened(what)
    files = Files(base)
    return source, flat(parse_text(source), name=name, given=params or {}, resolver=files, reader=files)


def _opened(what: str | os.PathLike[str] | Source) -> tuple[Source, Path, str]:
    """The text, the folder of the files that it reads, and the name of the model."""
    if isinstance(what, Source):
        return what, Path("."), _title(what.name)
    file = find(what)
    return _read(file), file.parent, file.stem


def elaborated(file: File, base: Path) -> Model:
    """The model of a syntax tree with its default parameters; ``base`` is the folder of the files it reads."""
    return _model(file, _title(file.source.name), base, {})


def _model(file: File, name: str, base: Path, given: Mapping[str, Setting]) -> Model:
    files = Files(base)
    model = elaborate(file, name=name, given=given, resolver=files, reader=files)
    return replace(model, variant=partial(_variant, file, name, base, given), reader=partial(_question, file, name, base, given))


def _question(file: File, name: str, base: Path, given: Mapping[str, Setting], text: str) -> Node:
    """A question about the model, read as the body of a measure is."""
    fresh = "question"
    while fresh in file.source.text:
        fresh += "_"
    asked = parse_text(_source("<question>", f"measure {fresh} = {text}"))
    if len(asked.statements) != 1:
        raise refuse(ModelError, "E0101", f"one question is due, not {text!r}")
    files = Files(base)
    both = replace(file, statements=(*file.statements, *asked.statements))
    return next(m.body for m in elaborate(both, name=name, given=given, resolver=files, reader=files).measures if m.name == fresh)


def _variant(file: File, name: str, base: Path, given: Mapping[str, Setting], values: Mapping[str, Exact]) -> Model:
    """The model with some parameters at other values than those given."""
    return _model(file, name, base, {**given, **values})


def _title(name: str) -> str:
    return Path(name).stem if name.endswith(".spn") else name.strip("<>")


# --- reading ----------------------------------------------------------------------------------------------------------------------


def find(path: str | os.PathLike[str]) -> Path:
    """The path itself if it exists, else the shipped model of that name (``models/sgd/ring.spn``, ``sgd/ring.spn``) if there is one."""
    given = Path(path)
    if given.exists() or given.is_absolute():
        return given
    parts = given.parts[1:] if given.parts[:1] == ("models",) else given.parts
    shipped = resources.folder("models").joinpath(*parts)
    return shipped if parts and ".." not in parts and shipped.is_file() else given


def _read(path: Path) -> Source:
    """A text of the model language; ModelError for a net in another format."""
    data = _bytes(path)
    if (other := format_of(data, path.name)) is not None:
        raise refuse(
            ModelError, "E0829", f"{path} is a net in {other.name}, not a text of the model language", help="solve, check, draw it"
        )
    return _source(str(path), _decoded(data, path))


def _bytes(path: Path) -> bytes:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise refuse(DataError, "E0801", f"{path} is a folder, not a model file", help="name a file that ends in .spn")
        if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
            raise refuse(DataError, "E0801", f"{path} is a device, not a model file")
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE + 1)
    except FileNotFoundError:
        raise refuse(DataError, "E0801", f"there is no file {path}", help=_beside(path)) from None
    except (OSError, ValueError) as e:
        raise refuse(DataError, "E0801", f"{path} cannot be read: {getattr(e, 'strerror', None) or e}") from None
    if len(data) > MAX_FILE:
        raise refuse(DataError, "E0801", f"{path} is too large for a model file: more than {MAX_FILE // 2**20} MiB")
    return data


def _beside(path: Path) -> str:
    """The file in the same folder whose name is nearest."""
    try:
        names = [p.name for p in path.parent.iterdir() if p.suffix == ".spn"]
    except OSError:
        return f"there is no folder {path.parent} either"
    near = nearest(path.name, names)
    return f"did you mean {path.parent / near}?" if near else ""


def _decoded(data: bytes, path: Path | str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise refuse(
            DataError, "E0802", f"{path} is not UTF-8 text: byte {data[e.start]:#04x} in line {line}", help="save it as UTF-8"
        ) from None


def _source(name: str, text: str) -> Source:
    """The text with one kind of line break, and accents in one of their two encodings, so that equal names are equal."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return Source(name, unicodedata.normalize("NFC", text))


# --- files that laws read ---------------------------------------------------------------------------------------------------------


class Files(Resolver, Reader):
    """Reads the files of ``fit`` and ``empirical``, relative to a folder, and those of ``import``, relative to the importing file."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def library(self, file: str, importer: Source) -> Source:
        """The text of an imported file: looked for beside the file that imports it, then in the current folder, then among the shipped
        models (``library/sgd.spn``). DataError where it is nowhere."""
        beside = Path(importer.name).parent if importer.name.endswith(".spn") else self.base
        for path in (beside / file, Path(file)):
            if path.is_file():
                return _read(Path(os.path.normpath(path)))
        shipped = find(file)
        if shipped.is_file():
            return _read(shipped)
        help = _beside(beside / file) if (beside / file).parent.is_dir() else ""
        places = f"looked for beside {importer.name}, in the current folder and among the models of the package"
        raise refuse(DataError, "E0801", f"there is no file {file}", help=help or places, notes=[places] if help else [])

    def _find(self, file: str) -> Path:
        beside = self.base / file
        return beside if beside.exists() or not Path(file).exists() else Path(file)

    def fit(self, file: str, options: Mapping[str, str]) -> Fitted:
        from spn.fitting import fit_file

        given: dict[str, Any] = dict(options)
        found = fit_file(self._find(file), **given)
        return Fitted(law=found.law, description=found.describe(), warnings=found.warnings)

    def samples(self, file: str, options: Mapping[str, str]) -> tuple[Exact, ...]:
        from spn.fitting import durations
        from spn.trace import read

        reading = {k: v for k, v in options.items() if k in ("column", "unit")}
        seconds, _ = durations(read(self._find(file), **reading), options.get("name"), options.get("mark"))
        return tuple(Fraction(round(float(v) * 10**9), 10**9) for v in seconds)
