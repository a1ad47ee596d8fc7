"""What a worker is parsing right now, readable from outside even after its death.

Parsing hostile bytes is the one step that may hang or crash a worker. The worker writes the
document's number and the time into a page of shared memory before the step and clears it after;
the coordinator looks there when a worker has died, or has been at one page for too long.
"""

import mmap
import os
import struct
from typing import Final

_LAYOUT: Final = struct.Struct("=Qd")


class Watch:
    """A small piece of memory shared by the coordinator and one worker."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, mmap.PAGESIZE)

    @classmethod
    def make(cls) -> "Watch":
        """Return a new one, to be handed to a worker by its descriptor."""
        descriptor = os.memfd_create("gossamer-watch")
        os.ftruncate(descriptor, mmap.PAGESIZE)
        return cls(descriptor)

    def enter(self, doc_id: int, now: float) -> None:
        """Note that work on a document begins."""
        _LAYOUT.pack_into(self._memory, 0, doc_id, now)

    def leave(self) -> None:
        """Note that nothing is being parsed."""
        _LAYOUT.pack_into(self._memory, 0, 0, 0.0)

    def current(self) -> tuple[int, float] | None:
        """Return the document being parsed and since when (monotonic), or None."""
        doc_id, since = _LAYOUT.unpack_from(self._memory, 0)
        return (doc_id, since) if doc_id else None

    def close(self) -> None:
        """Give the memory back; may be called twice."""
        if not self._memory.closed:
            self._memory.close()
            os.close(self.descriptor)
