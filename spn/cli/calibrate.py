"""``spn calibrate``: a readable file of parameters for the mechanism models, from a profiling trace."""

from __future__ import annotations

import argparse
from pathlib import Path

from spn.cli.codes import Code
from spn.cli.inputs import existing_file
from spn.cli.terminal import note, say
from spn.errors import DataError, refuse


def run(arguments: argparse.Namespace) -> int:
    """Write the parameters, or print them."""
    from spn.sgd.calibrate import calibrate
    from spn.sgd.parameters import written

    text = written(calibrate(existing_file(arguments.file)))
    if arguments.output is None:
        say(text.rstrip())
        return Code.OK
    try:
        Path(arguments.output).write_text(text, encoding="utf-8")
    except OSError as e:
        raise refuse(DataError, "E0902", f"{arguments.output} cannot be written: {e.strerror}") from None
    note(f"wrote {arguments.output}; use it with --params {arguments.output}")
    return Code.OK
