"""The command ``spn``: arguments in, an exit code out."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module

from spn.cli.arguments import parse
from spn.cli.codes import Code, is_interruption
from spn.cli.terminal import complain, report
from spn.errors import AnalysisError, SemanticsError, SpnError

DEBUG = "SPN_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (see :mod:`spn.cli.codes`); nothing but ``SystemExit`` ever escapes.

    Without ``argv`` it is the process's own command, which Ctrl-C ends at once, without waiting for threads that still compute.
    """
    code = _guarded(argv)
    if code == Code.INTERRUPTED and argv is None and threading.active_count() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _guarded(argv: Sequence[str] | None) -> int:
    _open_closed_streams()
    _tolerate_narrow_encodings()
    try:
        code = run(parse(argv))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        complain("interrupted")
        return Code.INTERRUPTED
    except BrokenPipeError:
        _discard_output()  # whoever read it has gone (`| head`): end in silence
        return Code.BROKEN_PIPE
    except SpnError as error:
        report(*error.diagnostics)
        return _code_of(error)
    except MemoryError:
        complain("out of memory", "make the model smaller, for instance by its parameters, or simulate it")
        return Code.FAILED
    except OSError as error:
        _discard_output()
        complain(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
        return Code.USAGE
    except Exception as error:
        return _bug(error)


def run(arguments: argparse.Namespace) -> int:
    """Run the command that was parsed; its module is imported only now."""
    command: Callable[[argparse.Namespace], int] = import_module(f"spn.cli.{arguments.command}").run
    try:
        return command(arguments)
    finally:
        if (client := getattr(arguments, "client", None)) is not None:
            client.close()


def _code_of(error: SpnError) -> int:
    if is_interruption(error):
        return Code.INTERRUPTED
    return Code.FAILED if isinstance(error, AnalysisError | SemanticsError) else Code.USAGE


def _open_closed_streams() -> None:
    """A stream that the shell closed (``>&-``) is no stream at all in Python: what goes there is dropped."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115  # open for the whole process


def _tolerate_narrow_encodings() -> None:
    """A terminal without the sign ± gets a question mark, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Keep the interpreter from complaining at exit about what could not be written."""
    with contextlib.suppress(OSError):  # not a real file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug(error: Exception) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exc()
    else:
        complain(f"internal error: {type(error).__name__}: {error}, please report", f"{DEBUG}=1 shows where it happened")
    return Code.INTERNAL


if __name__ == "__main__":
    raise SystemExit(main())
