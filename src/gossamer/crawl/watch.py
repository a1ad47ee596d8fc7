"""What a worker is parsing right now, readable from outside even after its death.

Parsing hostile bytes is the one step that may hang or crash a worker. The worker writes the time
and the document's number into a page of shared memory before the step, and clears the number after
it; the coordinator looks there when a worker has died, or has been at one page for too long.

Two processes without a lock: the number is 0 whenever the time is being changed, each of the two is
one aligned word, and a reader believes only what it has seen twice in a row. A page that has just
begun can therefore never look as if it had been parsed for ages.
"""

import mmap
import os


class Watch:
    """A small piece of memory shared by the coordinator and one worker."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, mmap.PAGESIZE)
        page = memoryview(self._memory)
        self._document = page[0:8].cast("Q")
        self._since = page[8:16].cast("d")
        page.release()

    @classmethod
    def make(cls) -> "Watch":
        """Return a new one, to be handed to a worker by its descriptor."""
        descriptor = os.memfd_create("gossamer-watch")
        os.ftruncate(descriptor, mmap.PAGESIZE)
        return cls(descriptor)

    def enter(self, doc_id: int, now: float) -> None:
        """Note that work on a document begins, and is over on the one before."""
        self._document[0] = 0
        self._since[0] = now
        self._document[0] = doc_id

    def leave(self) -> None:
        """Note that nothing is being parsed."""
        self._document[0] = 0

    def current(self) -> tuple[int, float] | None:
        """Return the document being parsed and since when (monotonic), or None."""
        first = self._document[0], self._since[0]
        second = self._document[0], self._since[0]
        return first if first[0] and first == second else None

    def close(self) -> None:
        """Give the memory back; may be called twice."""
        if not self._memory.closed:
            self._document.release()
            self._since.release()
            self._memory.close()
            os.close(self.descriptor)

    def __del__(self) -> None:
        # A crawl inside the caller's process has nobody else who would: a descriptor each.
        if hasattr(self, "_since"):
            self.close()
