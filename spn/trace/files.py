"""Files in: bytes, unpacked by what they are and not by what they are called, and text, read leniently."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from spn.errors import DataError, refuse

GZIP = b"\x1f\x8b"
BINARY = {
    b"SQLite format 3": "an SQLite database",
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A file's path as given, its unpacked text, and the digest of its bytes as they lie on disk."""

    path: str
    text: str
    replaced: int  # characters that were not valid UTF-8
    sha256: str


def load(path: str | Path) -> Content:
    """Read and unpack (gzip, several members too); undecodable bytes become U+FFFD. DataError E0801, E0802 or E0803."""
    raw = _bytes(Path(path))
    unpacked = _unpack(raw, str(path))
    if not unpacked.strip():
        raise refuse(DataError, "E0803", f"{path} is empty")
    _refuse_binary(unpacked, str(path))
    text = unpacked.decode("utf-16" if unpacked[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", errors="replace")
    return Content(path=str(path), text=text, replaced=text.count("\ufffd"), sha256=hashlib.sha256(raw).hexdigest())


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        near = sorted(p.name for p in path.parent.glob("*") if p.suffix in (".json", ".gz", ".csv"))[:5] if path.parent.is_dir() else []
        help = f"in that folder: {', '.join(near)}" if near else ""
        raise refuse(DataError, "E0801", f"there is no file {path}", help=help) from None
    except IsADirectoryError:
        raise refuse(DataError, "E0801", f"{path} is a folder, not a trace", help="name one file in it") from None
    except OSError as error:
        raise refuse(DataError, "E0801", f"{path} cannot be read: {error.strerror or error}") from None


def _unpack(raw: bytes, path: str) -> bytes:
    if raw[:2] != GZIP:
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, OSError, zlib.error) as error:
        raise refuse(DataError, "E0802", f"{path} is a damaged gzip file: {error}", help="copy or record it again") from None


def _refuse_binary(data: bytes, path: str) -> None:
    found = next((what for magic, what in BINARY.items() if data.startswith(magic)), None)
    if found is None and data[257:262] == b"ustar":
        found = "a tar archive"
    if found is None and b"\0" in data[:4096] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        found = "a binary file of an unknown kind"
    if found:
        raise refuse(DataError, "E0802", f"{path} is {found}", help="what is read: Chrome trace JSON and CSV, also gzipped")
