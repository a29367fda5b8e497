"""Checkpoints: the record of a run in a file, from which the run goes on after it was killed.

A file is a line that names the format, a line with the SHA-256 of the rest, and the rest: arrays in NumPy's ``npz`` form and one JSON text
among them. Nothing in it can run code. It is written beside its name, brought to disk and renamed, so that at every moment there is one
whole file.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spn.errors import DataError, SpnError, refuse
from spn.model import Model
from spn.provenance import digest
from spn.sim.longrun import Ended
from spn.sim.record import Finished, Reached, Record, Track
from spn.sim.snapshot import Snapshot

FORMAT = b"spn checkpoint 1\n"

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a run is: results of another are of no use to it. ``options`` are those that decide what is simulated or when it ends."""

    version: str
    numpy: str
    model: str
    digest: str
    seed: int
    options: Mapping[str, Any]


def identity(model: Model, seed: int, options: Mapping[str, Any]) -> Identity:
    return Identity(
        version=str(getattr(sys.modules["spn"], "__version__", "unknown")),
        numpy=np.__version__,
        model=model.name or model.net.name,
        digest=digest(model),
        seed=seed,
        options=json.loads(json.dumps(dict(options))),  # as it comes back from a file
    )


@dataclass(slots=True)
class Checkpoint:
    """A file for the record of one run. ``failed`` says why it could last not be written; empty where it could."""

    path: Path
    of: Identity
    failed: str = ""
    record: Record = field(default_factory=Record)

    def save(self, record: Record) -> None:
        """Write the record. A failure is noted, and the file as it was stays."""
        try:
            _replace(self.path, _file(self.of, record))
            self.failed = ""
        except OSError as error:
            self.failed = error.strerror or str(error)

    def notes(self, *, done: bool) -> list[str]:
        """What a result should tell: how to go on with a run that is not ``done``, and whether that is lost."""
        if self.failed:
            return [f"the checkpoint {self.path} could not be written ({self.failed}); it is as it was before"]
        return [] if done else [f"ask the same again to go on from {self.path}"]


def opened(path: str | os.PathLike[str], of: Identity, loaded: frozenset[str]) -> Checkpoint:
    """The checkpoint at a path: what a file there has of this very run, else a new one, which is written at once.

    DataError for a file that is damaged (E0721), of another run (E0720), or cannot be read or written (E0722)."""
    made = Checkpoint(Path(path), of)
    content = _read(made.path)
    if content is None:
        made.record = Record(loaded=loaded)
        made.save(made.record)
        if made.failed:
            raise _unusable(made.path, "written", made.failed)
    else:
        there, made.record = _parsed(made.path, content)
        _same(made.path, there, of)
    made.record.save = made.save
    return made


def seed_in(path: str | os.PathLike[str]) -> int | None:
    """The seed of the run that a file is of, None where there is no file."""
    content = _read(Path(path))
    return None if content is None else _parsed(Path(path), content)[0].seed


# --- files ------------------------------------------------------------------------------------------------------------------------


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, "read", error.strerror or str(error)) from None


def _replace(path: Path, content: bytes) -> None:
    """Put a file in the place of another such that there is always one of the two, whatever happens."""
    beside = path.with_name(path.name + ".part")
    with open(beside, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    with suppress(OSError):  # some systems have no way to sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _unusable(path: Path, done: str, why: str) -> SpnError:
    help = "name a file in a folder where you may write"
    return refuse(DataError, "E0722", f"the checkpoint {path} cannot be {done}: {why}", help=help)


def _same(path: Path, there: Identity, here: Identity) -> None:
    """Refuse what belongs to another run, with what tells them apart."""
    pairs = [
        ("version of spn", there.version, here.version),
        ("version of NumPy, whose random numbers are used,", there.numpy, here.numpy),
        ("seed", there.seed, here.seed),
        *((name, there.options.get(name), here.options.get(name)) for name in {**there.options, **here.options}),
    ]
    different = [f"its {name} is {a}, not {b}" for name, a, b in pairs if a != b]
    if there.digest != here.digest:
        other = there.model if there.model != here.model else f"another {here.model}"
        different.insert(0, f"its model is {other}: the net, parameters or measures are not those of now")
    if different:
        help = "ask as it was asked then, or name another file, or delete this one to begin anew"
        raise refuse(DataError, "E0720", f"the checkpoint {path} is of another run: {'; '.join(different)}", help=help)


def _parsed(path: Path, content: bytes) -> tuple[Identity, Record]:
    """What a file says; DataError where it is not as it was written."""
    if not content.startswith(FORMAT):
        other = content.startswith(FORMAT[:-2])
        message = f"{path} is a checkpoint in the format of another version of spn" if other else f"{path} is no checkpoint"
        raise refuse(DataError, "E0721", message, help="name another file, or delete this one to begin anew")
    sum_, _, rest = content[len(FORMAT) :].partition(b"\n")
    if sha256(rest).hexdigest().encode() != sum_:
        help = "use a copy of it, or delete it to begin anew"
        raise refuse(DataError, "E0721", f"the checkpoint {path} is damaged: it is not as it was written", help=help)
    with np.load(io.BytesIO(rest), allow_pickle=False) as arrays:
        data = {name: arrays[name] for name in arrays.files}
    head = json.loads(data.pop("head").tobytes())
    return Identity(**head["of"]), _record(head, data)


def _file(of: Identity, record: Record) -> bytes:
    head, arrays = _told(record)
    text = json.dumps({"of": asdict(of), **head}).encode()
    out = io.BytesIO()
    named: dict[str, Any] = {"head": np.frombuffer(text, dtype=np.uint8), **arrays}
    np.savez(out, **named)
    rest = out.getvalue()
    return FORMAT + sha256(rest).hexdigest().encode() + b"\n" + rest


# --- a record as JSON and arrays --------------------------------------------------------------------------------------------------


def _told(record: Record) -> tuple[dict[str, Any], Arrays]:
    """A record as JSON and arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    tracks = [_track(f"t{i}", number, t, arrays) for i, (number, t) in enumerate(list(record.tracks.items()))]
    sections = [_section(f"s{i}", number, dict(done), arrays) for i, (number, done) in enumerate(list(record.sections.items())) if done]
    return {"loaded": sorted(record.loaded), "tracks": tracks, "sections": sections}, arrays


def _record(head: Mapping[str, Any], arrays: Arrays) -> Record:
    return Record(
        tracks=dict(_track_of(t, arrays) for t in head["tracks"]),
        sections=dict(_section_of(s, arrays) for s in head["sections"]),
        loaded=frozenset(head["loaded"]),
    )


def _track(label: str, number: int, t: Track, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Its points as two arrays, its snapshot's arrays beside them, and the rest for JSON. Another thread may go on with it meanwhile."""
    snapshot, drew, points = t.snapshot, t.drew, dict(t.points)
    found = list(points.values())
    arrays[f"{label}.targets"] = np.array(list(points), dtype=np.int64)
    arrays[f"{label}.firings"] = np.array([p.firings for p in found], dtype=np.int64)
    arrays[f"{label}.points"] = np.array([p.now for p in found], dtype=np.float64)
    arrays[f"{label}.still"] = np.array([p.still for p in found], dtype=np.bool_)
    told: dict[str, Any] = {"label": label, "number": number, "drew": drew, "snapshot": None}
    if snapshot is not None:
        names, rest = list(snapshot.arrays), snapshot.rest
        told["snapshot"] = {"engine": snapshot.engine, "firings": snapshot.firings, "arrays": names, "rest": rest}
        arrays.update({f"{label}.state.{name}": a for name, a in snapshot.arrays.items()})
    return told


def _track_of(told: Mapping[str, Any], arrays: Arrays) -> tuple[int, Track]:
    label, held = told["label"], told["snapshot"]
    columns = zip(*(arrays[f"{label}.{name}"] for name in ("targets", "firings", "points", "still")), strict=True)
    points = {int(target): Reached(int(firings), now, bool(still)) for target, firings, now, still in columns}
    track = Track(points=points, drew=told["drew"])
    if held is not None:
        state = {name: arrays[f"{label}.state.{name}"] for name in held["arrays"]}
        track.snapshot = Snapshot(held["engine"], held["firings"], state, held["rest"])
    return told["number"], track


def _section(label: str, number: int, done: Mapping[int, Finished], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Its replications as columns; where they ended by the numbers of a list of the different keys."""
    found = list(done.values())
    keys = list(dict.fromkeys(f.end.key for f in found))
    index = {key: i for i, key in enumerate(keys)}
    columns: dict[str, NDArray[Any]] = {
        "numbers": np.array(list(done), dtype=np.int64),
        "rows": np.array([f.row for f in found], dtype=np.float64),
        "firings": np.array([f.firings for f in found], dtype=np.int64),
        "flags": np.array([f.drew + 2 * f.end.still for f in found], dtype=np.int8),
        "keys": np.array([index[f.end.key] for f in found], dtype=np.int64),
        "markings": np.array([f.end.marking for f in found], dtype=np.int64),
        "sizes": np.array([f.end.size for f in found], dtype=np.int64),
    }
    arrays.update({f"{label}.{name}": a for name, a in columns.items()})
    return {"label": label, "number": number, "keys": keys}


def _section_of(told: Mapping[str, Any], arrays: Arrays) -> tuple[int, dict[int, Finished]]:
    label, keys = told["label"], [_tuple(key) for key in told["keys"]]
    columns = [arrays[f"{label}.{name}"] for name in ("rows", "firings", "flags", "keys", "markings", "sizes")]
    done = {}
    for k, row, firings, flags, key, marking, size in zip(arrays[f"{label}.numbers"].tolist(), *columns, strict=True):
        end = Ended(key=keys[key], marking=tuple(marking.tolist()), still=bool(flags & 2), size=int(size))
        done[k] = Finished(row=row, end=end, firings=int(firings), drew=bool(flags & 1))
    return told["number"], done


def _tuple(key: object) -> object:
    """A key as it was before JSON made lists of its tuples."""
    return tuple(_tuple(k) for k in key) if isinstance(key, Sequence) and not isinstance(key, str) else key
