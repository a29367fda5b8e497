"""``spn lsp``: the language server, for editors."""

from __future__ import annotations

import argparse

from spn.cli.codes import Code
from spn.cli.terminal import complain


def run(arguments: argparse.Namespace) -> int:
    """Serve one editor until it leaves; exit code 2 where the server's package is not installed."""
    try:
        from spn.lsp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pygls", "lsprotocol"):
            raise
        complain("the language server needs the package pygls", "install it with: pip install 'spn[lsp]'")
        return Code.USAGE
    serve()
    return Code.OK
