"""What the command's exit code tells a script."""

from __future__ import annotations

from enum import IntEnum

from spn.errors import SpnError

INTERRUPTED_EARLY = frozenset({"E0690", "E0706"})  # Ctrl-C before there was anything to print


class Code(IntEnum):
    OK = 0
    NEGATIVE = 1  # the answer is no: an expectation failed, `check` found errors
    USAGE = 2  # the command line or the input is wrong
    FAILED = 3  # the analysis refused, failed or did not converge
    INTERNAL = 70  # a bug of ours (EX_SOFTWARE of sysexits.h)
    INTERRUPTED = 130  # 128 + SIGINT
    BROKEN_PIPE = 141  # 128 + SIGPIPE: the reader of our output went away


def is_interruption(error: SpnError) -> bool:
    """Whether an analysis says that it was interrupted before it had anything to tell."""
    return any(d.code in INTERRUPTED_EARLY and d.message.startswith("interrupted") for d in error.diagnostics)
