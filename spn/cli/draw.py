"""``spn draw``: the diagram of a net."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from spn.cli.answers import loaded
from spn.cli.codes import Code
from spn.cli.terminal import say
from spn.report.draw import chosen_format, draw, write


def run(arguments: argparse.Namespace) -> int:
    """Draw the net of a model into a file, or to stdout for ``-o -``."""
    if arguments.output == "-":
        sys.stdout.buffer.write(draw(loaded(arguments)).render(arguments.format or "svg"))
        sys.stdout.buffer.flush()
        return Code.OK
    model = loaded(arguments)
    path = Path(arguments.output or f"{Path(arguments.file).stem}.{arguments.format or 'svg'}")
    form = chosen_format(path, arguments.format)
    write(draw(model).render(form), path)
    say(f"wrote {path}")
    return Code.OK
