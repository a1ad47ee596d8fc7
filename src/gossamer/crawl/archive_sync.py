"""The archive made durable before the catalog points to it.

Workers of a crawl write what they fetched to their files and report it; that outlives a killed
process, and none of them waits for the disk. Before findings are committed, the files that they
point to are synced here, so that one sync serves a whole transaction. After a loss of power some
of what was written down may point to bytes that are not there: those visits are made once more.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from gossamer.errors import StorageError, StoreError
from gossamer.messages import Findings
from gossamer.store import disk
from gossamer.store.names import OPEN_SUFFIX


class ArchiveSync:
    """Syncs the files of a folder; for one thread."""

    def __init__(self, folder: Path, system: disk.System | None = None) -> None:
        self._folder = folder
        self._system = system or disk.System()
        self._open: dict[str, int] = {}
        """Kept open while they are written to, so that no failure between two syncs is missed."""

    def sync(self, findings: Iterable[Findings]) -> None:
        """Make durable what findings point to.

        Never to be repeated after a failure: the next call might succeed without it.
        """
        names = {each.pointer.file for each in findings if each.pointer is not None}
        try:
            is_new = not names.issubset(self._open)
            for name in names:
                if name not in self._open:
                    self._open[name] = self._descriptor(name)
                self._system.fdatasync(self._open[name])
            if is_new:
                disk.sync_folder(self._system, self._folder)
        except OSError as error:
            raise StoreError(str(disk.refusal("sync", self._folder, error))) from error
        for name in self._open.keys() - names:
            os.close(self._open.pop(name))

    def present(self, findings: Iterable[Findings]) -> list[Findings]:
        """Return those findings whose bytes are in the archive, which is durable then."""
        kept = [each for each in findings if each.pointer is None or self._is_whole(each)]
        self.sync(kept)
        return kept

    def close(self) -> None:
        """Let go of the files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _descriptor(self, name: str) -> int:
        # A file that is full gets its final name at any moment.
        for path in (self._folder / (name + OPEN_SUFFIX), self._folder / name):
            try:
                return self._system.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0)
            except FileNotFoundError:
                continue
        raise FileNotFoundError(2, f"{name} is not in the archive")

    def _is_whole(self, findings: Findings) -> bool:
        # Needed only after a crash.
        from gossamer.store.reading import read_document  # noqa: PLC0415

        assert findings.pointer is not None
        try:
            read_document(self._folder, findings.pointer)
        except StorageError:
            return False
        return True
