"""Work that is shared out: several long runs side by side, and replications, by threads of this process or by an executor."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from spn.sim.executors import Unit, do_all
from spn.sim.record import Finished, Track
from spn.sim.remote import Stretch, Task, limits, recipe, replication, replications, stretch
from spn.sim.streams import CHUNK, Crew, Stream

LOTS = 4  # of replications a worker: so that none waits long for the last


def extend(crew: Crew, streams: Sequence[Stream], count: int, *, kernel: bool) -> None:
    """Bring long runs to ``count`` batches each."""
    for s in streams:
        if kernel and not s.kernel:
            s.switch()
        s.extend(count, simulate=False)
    waiting = [s for s in streams if not s.still and len(s.rows) < count]
    if kernel and crew.control.site is not None and all(s.TRACED for s in waiting):
        _extend_elsewhere(crew, waiting, count)
    elif kernel and 1 < crew.control.workers < len(waiting):
        _take_turns(crew, waiting, count)
    else:
        crew.each(lambda k: waiting[k].extend(count), range(len(waiting)), kernel=kernel)


def _take_turns(crew: Crew, streams: Sequence[Stream], count: int) -> None:
    """Fewer threads than runs: whichever thread is free goes on with the run that is furthest behind, so that all end together."""
    free, lock = list(streams), Lock()

    def work(_: int) -> None:
        while True:
            with lock:
                if not free:
                    return  # the others are being run
                s = min(free, key=lambda s: len(s.rows))
                free.remove(s)
            s.extend(min(count, len(s.rows) + max(1, CHUNK // s.batch)))
            if len(s.rows) < count and not s.still:
                with lock:
                    free.append(s)

    crew.each(work, range(crew.control.workers), kernel=True)


def _extend_elsewhere(crew: Crew, streams: Sequence[Stream], count: int) -> None:
    def unit(s: Stream) -> Unit:
        return Unit(stretch, (recipe(s.crew), _asked(s, count), limits(crew.control)))

    def take(k: int, found: Track) -> Unit | None:
        s = streams[k]
        assert s.track is not None
        s.track.join(found)
        s.extend(count, simulate=False)
        return None if s.still or len(s.rows) >= count else unit(s)

    assert crew.control.site is not None
    do_all(crew.control.site, [unit(s) for s in streams], crew.control, take)


def _asked(s: Stream, count: int) -> Stretch:
    return Stretch(
        maker=s.maker,
        number=s.number,
        batch=s.batch,
        missing=count - len(s.rows),
        firings=s.firings,
        last=s.last,
        snapshot=s.track.snapshot if s.track is not None else None,
    )


class Runs:
    """Replications of one kind, by number in ``done``; those that a record has are not run again."""

    def __init__(self, crew: Crew, task: Task) -> None:
        self.crew = crew
        self.task = task
        self.done: dict[int, Finished] = {}
        record = crew.control.record
        self._kept: dict[int, Finished] | None = record.section() if record is not None else None

    def run(self, numbers: Sequence[int], *, kernel: bool) -> None:
        """Run the replications of these numbers that are not done. What is done when Stopped is raised stays."""
        kept = self._kept or {}
        for k in [k for k in numbers if k in kept and k not in self.done]:
            self._take(k, kept[k])
            self.crew.control.count(kept[k].firings)
        missing = [k for k in numbers if k not in self.done]
        if kernel and self.crew.control.site is not None and len(missing) > 1:
            self._elsewhere(missing)
            return
        one = self.task(self.crew)
        self.crew.each(lambda k: self._take(k, replication(self.crew, one, k, kernel=kernel)), missing, kernel=kernel)

    def _take(self, k: int, found: Finished) -> None:
        self.done[k] = found
        if self._kept is not None:
            self._kept[k] = found

    def _elsewhere(self, numbers: Sequence[int]) -> None:
        control = self.crew.control
        assert control.site is not None
        size = -(-len(numbers) // (LOTS * control.site.size))
        lots = [list(numbers[k : k + size]) for k in range(0, len(numbers), size)]

        def unit(k: int) -> Unit:
            return Unit(replications, (recipe(self.crew), self.task, tuple(lots[k]), limits(control)))

        def take(k: int, found: dict[int, Finished]) -> Unit | None:
            for number, finished in found.items():
                if number not in self.done:
                    self._take(number, finished)
                    control.count(finished.firings)
            lots[k] = [n for n in lots[k] if n not in self.done]
            return unit(k) if lots[k] else None

        do_all(control.site, [unit(k) for k in range(len(lots))], control, take)
