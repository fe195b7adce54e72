"""The threads in which jobs wait for the disk, so that nothing else has to.

A job is taken by whichever thread is free; those of different streams wait for the disk side by side, which lets the
file system commit them together. `finished` is called in the thread that ran the job: whoever drives an event loop
passes a function that brings the job there.

A thread outlives whatever a job does. A job that ends in anything but the errors that it expects is given back with
that as its `defect`; whoever finishes it must not go on as if it had been done.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue

from goqueue.storage.jobs import StreamJob


class DiskThreads:
    """A fixed number of threads that run jobs in the order given."""

    def __init__(self, finished: Callable[[StreamJob], None], count: int = 4) -> None:
        self._finished = finished
        self._jobs: SimpleQueue[StreamJob | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"goqueue-disk-{number}", daemon=True) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: StreamJob) -> None:
        """Run a job soon."""
        self._jobs.put(job)

    def close(self) -> None:
        """Finish what was submitted, then end the threads."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job.run()
            except BaseException as error:  # noqa: BLE001 - a thread that died with it would leave everybody waiting
                job.defect = error
            self._finished(job)
            # The last reference to a removed segment may be here, and closing one takes a while.
            del job
