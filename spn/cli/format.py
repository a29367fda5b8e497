"""``spn format``: model files in canonical form."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from pathlib import Path

from spn.cli.codes import Code
from spn.cli.inputs import model_files, settings
from spn.cli.terminal import complain, note, report, say
from spn.errors import DataError, ModelError, refuse
from spn.show.text import count

STDIN = "-"


def run(arguments: argparse.Namespace) -> int:
    """Format each file; with ``--check`` exit code 1 where one would change, and 2 where one has errors."""
    if arguments.parameter and not arguments.unroll:
        raise refuse(ModelError, "E0905", "parameters have values only in the flat net", help="add --unroll")
    if arguments.unroll and (arguments.check or arguments.freeze):
        other = "--check" if arguments.check else "--freeze"
        raise refuse(ModelError, "E0905", f"--unroll prints another text, so {other} has no meaning with it")
    if arguments.files == [STDIN]:
        return _from_stdin(arguments)
    wrong, changed = 0, []
    files = model_files(arguments.files)
    for path in files:
        try:
            before, after = _texts(path, arguments)
        except (ModelError, DataError) as error:
            report(*error.diagnostics)
            wrong += 1
            continue
        if arguments.stdout or arguments.unroll:
            sys.stdout.write(after)
        elif before != after:
            changed.append(path)
            _differ(path, before, after) if arguments.check else _write(path, after)
    if not (arguments.stdout or arguments.unroll):
        _conclude(len(files) - wrong, changed, arguments.check)
    if wrong:
        return Code.USAGE
    return Code.NEGATIVE if arguments.check and changed else Code.OK


def _texts(path: Path, arguments: argparse.Namespace) -> tuple[str, str]:
    """The text of the file, byte for byte, and the one it should have."""
    from spn.loading import formatted, unrolled

    if arguments.unroll:
        return "", unrolled(path, params=settings(arguments.parameter))[1]
    _, after = formatted(path, freeze=arguments.freeze)
    return path.read_bytes().decode("utf-8"), after


def _from_stdin(arguments: argparse.Namespace) -> int:
    """Format what comes in; laws and imports are looked for in the current folder."""
    from spn.loading import formatted, source, unrolled

    data = sys.stdin.buffer.read()
    text = source(data, "<stdin>")
    if arguments.unroll:
        before, after = "", unrolled(text, params=settings(arguments.parameter))[1]
    else:
        before, after = data.decode("utf-8"), formatted(text, freeze=arguments.freeze)[1]
    if not arguments.check:
        sys.stdout.write(after)
        return Code.OK
    if before != after:
        _differ(Path("stdin"), before, after)
    return Code.NEGATIVE if before != after else Code.OK


def _differ(path: Path, before: str, after: str) -> None:
    """Show what would change."""
    if before.replace("\r\n", "\n") == after:
        say(f"{path}: line breaks would become \\n")
        return
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), f"{path} (formatted)", lineterm="")
    for line in lines:
        say(line)


def _write(path: Path, text: str) -> None:
    """Replace the file in one step, so that no reader sees half of it; a link stays a link, and the file keeps its permissions."""
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.chmod(name, target.stat().st_mode & 0o7777)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    say(f"formatted {path}")


def _conclude(files: int, changed: list[Path], check: bool) -> None:
    if check and changed:
        complain(f"{count(len(changed), 'file')} would change", "run `spn format` without --check")
    elif files and not changed:
        note(f"{count(files, 'file')} in canonical form already")
