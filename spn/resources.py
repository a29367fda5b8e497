"""Where the grammar and the shipped models lie: at the top of a checkout or an editable install, beside the package in a wheel."""

from __future__ import annotations

from pathlib import Path

from spn.errors import DataError, refuse

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder ``grammar``, ``models`` or ``docs/errors``; an error if the installation lost it."""
    for parent in (_PACKAGE.parent, _PACKAGE / "_data"):
        if (parent / name).is_dir() and (parent is not _PACKAGE.parent or (parent / "pyproject.toml").is_file()):
            return parent / name
    raise refuse(DataError, "E0900", f"the folder {name}/ of this installation is missing", help="reinstall the package")


def grammar() -> str:
    """The text of the one grammar."""
    return (folder("grammar") / "spn.lark").read_text(encoding="utf-8")
