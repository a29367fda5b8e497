"""Files in: bytes in chunks, unpacked by what they are and not by what they are called, and text, decoded leniently.

Nothing is read whole before a reader asks for it, so that neither a large trace nor a gzip bomb fills the memory.
"""

from __future__ import annotations

import codecs
import hashlib
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from spn.errors import DataError, SpnError, refuse

GZIP = b"\x1f\x8b"
CHUNK = 1 << 20
HEAD = 1 << 16  # bytes by which a format is recognised
WHOLE = 1 << 29  # the most that a reader which needs all bytes at once is given
MEMBERS = 10_000  # files in one archive
UTF16 = (b"\xff\xfe", b"\xfe\xff")
SQLITE = b"SQLite format 3\0"
PARQUET = b"PAR1"
ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF document",
}


@dataclass(slots=True)
class Source:
    """One file, or one member of an archive, to be read once.

    ``head`` holds its first bytes, ``whole`` whether these are all; ``replaced`` counts characters that were not valid UTF-8, and
    ``sha256`` is the digest of the bytes on disk: both hold what has been read so far. ``plain`` is the path on disk of a file that
    is not packed, for readers that open it themselves.
    """

    path: str
    chunks: Iterator[bytes]
    digest: hashlib._Hash
    head: bytes = b""
    whole: bool = False
    replaced: int = 0
    plain: Path | None = None
    _ahead: list[bytes] = field(default_factory=list)

    def look(self) -> Source:
        """Read the head; DataError E0803 for a file without anything in it."""
        parts: list[bytes] = []
        while sum(map(len, parts)) < HEAD:
            chunk = next(self.chunks, None)
            if chunk is None:
                self.whole = True
                break
            parts.append(chunk)
        self.head = b"".join(parts)
        self._ahead = [self.head]
        if self.whole and not self.head.strip():
            raise refuse(DataError, "E0803", f"{self.path} is empty")
        return self

    def unpacked(self) -> Iterator[bytes]:
        """The unpacked content in chunks; once."""
        while self._ahead:
            yield self._ahead.pop()
        yield from self.chunks

    def text(self) -> Iterator[str]:
        """The content as text in chunks; undecodable bytes become U+FFFD and are counted."""
        encoding = "utf-16" if self.head[:2] in UTF16 else "utf-8-sig"
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        for chunk in self.unpacked():
            text = decoder.decode(chunk)
            self.replaced += text.count("\ufffd")
            yield text
        text = decoder.decode(b"", final=True)
        self.replaced += text.count("\ufffd")
        yield text

    def lines(self) -> Iterator[str]:
        """The lines of the text, without their ends."""
        rest = ""
        for chunk in self.text():
            lines = (rest + chunk).splitlines(keepends=True)
            rest = lines.pop() if lines and not lines[-1].endswith("\n") else ""
            if len(rest) > WHOLE:
                raise refuse(DataError, "E0802", f"{self.path} has a line of more than {WHOLE >> 20} MiB")
            yield from (line.rstrip("\r\n") for line in lines)
        if rest:
            yield rest.rstrip("\r\n")

    def all(self) -> bytearray:
        """All bytes at once; DataError E0802 where these are more than a reader that needs them all can take."""
        data = bytearray()
        for chunk in self.unpacked():
            data += chunk
            if len(data) > WHOLE:
                raise refuse(DataError, "E0802", f"{self.path} holds more than {WHOLE >> 20} MiB", help="record fewer steps")
        return data

    @property
    def sha256(self) -> str:
        return self.digest.hexdigest()


def open_sources(path: str | Path) -> Iterator[Source]:
    """The file, unpacked where it is gzipped; the files in it where it is a tar archive. DataError E0801, E0802 or E0803."""
    source = _opened(Path(path), str(path)).look()
    if source.head[257:262] == b"ustar":
        yield from _members(source)
        return
    _refuse_binary(source.head, str(path))
    yield source


def digest_of(path: Path) -> hashlib._Hash:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    for chunk in _raw(path, str(path), digest):
        del chunk
    return digest


def _opened(path: Path, shown: str) -> Source:
    digest = hashlib.sha256()
    raw = _raw(path, shown, digest)
    first = next(raw, b"")
    chunks = _joined(first, raw)
    if first[:2] == GZIP:
        return Source(path=shown, chunks=_unpacked(chunks, shown), digest=digest)
    return Source(path=shown, chunks=chunks, digest=digest, plain=path)


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _raw(path: Path, shown: str, digest: hashlib._Hash) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                yield chunk
    except FileNotFoundError:
        near = sorted(p.name for p in path.parent.glob("*") if p.suffix in (".json", ".gz", ".csv"))[:5] if path.parent.is_dir() else []
        help = f"in that folder: {', '.join(near)}" if near else ""
        raise refuse(DataError, "E0801", f"there is no file {shown}", help=help) from None
    except IsADirectoryError:
        raise refuse(DataError, "E0801", f"{shown} is a folder, not a trace", help="name the files in it") from None
    except (OSError, ValueError) as error:
        raise refuse(DataError, "E0801", f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _unpacked(chunks: Iterable[bytes], path: str) -> Iterator[bytes]:
    """gzip, several members too, at most a chunk at a time whatever the ratio; what follows the last member must be zeros."""
    unpacker, begun = zlib.decompressobj(31), False
    try:
        for chunk in chunks:
            data = chunk
            while data:
                if unpacker.eof:
                    data = data.lstrip(b"\0")
                    unpacker, begun = zlib.decompressobj(31), False
                    continue
                begun = True
                yield unpacker.decompress(data, CHUNK)
                data = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    except zlib.error as error:
        raise _damaged(path, str(error)) from None
    if begun and not unpacker.eof:
        raise _damaged(path, "it ends before its end mark")


def _damaged(path: str, why: str) -> SpnError:
    return refuse(DataError, "E0802", f"{path} is a damaged gzip file: {why}", help="copy or record it again")


class _Stream:
    """What tarfile needs of a file that is read forwards."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def read(self, size: int) -> bytes:
        parts, missing = [self._rest], size - len(self._rest)
        while missing > 0 and (chunk := next(self._chunks, None)) is not None:
            parts.append(chunk)
            missing -= len(chunk)
        data = b"".join(parts)
        self._rest = data[size:]
        return data[:size]


def _members(archive: Source) -> Iterator[Source]:
    """The plain files of a tar archive; each is to be read before the next is asked for."""
    count = 0
    try:
        with tarfile.open(fileobj=_Stream(archive.unpacked()), mode="r|") as files:  # type: ignore[call-overload]  # reading is all that a stream is asked for
            for member in files:
                data = files.extractfile(member) if member.isfile() else None
                if data is None or Path(member.name).name.startswith("."):
                    continue
                count += 1
                if count > MEMBERS:
                    raise refuse(DataError, "E0802", f"{archive.path} holds more than {MEMBERS:,} files")
                yield _member(archive.path, member.name, data)
    except tarfile.TarError as error:
        raise refuse(DataError, "E0802", f"{archive.path} is a damaged tar archive: {error}", help="copy it again") from None
    if not count:
        raise refuse(DataError, "E0803", f"{archive.path} is an archive without files")


def _member(archive: str, name: str, file: IO[bytes]) -> Source:
    digest = hashlib.sha256()
    shown = f"{archive}:{name}"

    def chunks() -> Iterator[bytes]:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            yield chunk

    raw = chunks()
    first = next(raw, b"")
    joined = _joined(first, raw)
    source = Source(path=shown, chunks=_unpacked(joined, shown) if first[:2] == GZIP else joined, digest=digest).look()
    _refuse_binary(source.head, shown)
    return source


def _refuse_binary(data: bytes, path: str) -> None:
    found = next((what for magic, what in ARCHIVES.items() if data.startswith(magic)), None)
    if found:
        raise refuse(DataError, "E0802", f"{path} is {found}", help="what is read unpacked: gzip, and tar archives of traces")
