"""The ring around one site: with a catalog in memory and no archive, or in a workspace."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gossamer.catalog.catalog import Catalog, Notebook, SiteCatalog
from gossamer.catalog.in_memory import InMemoryCatalog
from gossamer.config.settings import Settings
from gossamer.crawl.launch import Launched
from gossamer.crawl.pipeline import Summary, crawl_catalog, crawl_workspace
from gossamer.crawl.progress import Progress
from gossamer.crawl.stops import Stops
from gossamer.crawl.workspace import Workspace

LetIn = Callable[[Catalog], int]
"""Lets in what was kept out and is needed, when nothing else is left; says how many URLs."""


class TimeLimit:
    """Passes progress on, and stops the crawl when its time is over."""

    def __init__(
        self, seconds: float = 0.0, on_progress: Callable[[Progress], None] | None = None
    ) -> None:
        self.stops = Stops()
        self._until = time.monotonic() + seconds if seconds else float("inf")
        self._on_progress = on_progress

    def note(self, progress: Progress) -> None:
        """Hear how far the crawl is; a few times a second."""
        if self._on_progress is not None:
            self._on_progress(progress)
        if time.monotonic() >= self._until and self.stops.requested is None:
            self.stops.time_limit()


class Ring:
    """Crawls, as often as it is told to, and shows what is known then."""

    def __init__(
        self,
        settings: Settings,
        let_in: LetIn,
        directory: Path | None = None,
        notebook: Notebook | None = None,
    ) -> None:
        """Crawl in this folder, or in memory: what is done is left to the notebook then."""
        self._settings = settings
        self._let_in = let_in
        self._workspace = None if directory is None else Workspace(directory)
        self._memory: InMemoryCatalog | None = None
        if directory is None:
            self._memory = InMemoryCatalog(settings.catalog)
            if notebook is not None:
                self._memory.leave_notes_to(notebook)

    def crawl(
        self, starts: Sequence[str], limit: TimeLimit, launched: Sequence[Launched] = ()
    ) -> Summary:
        """Crawl from these and from all earlier start URLs until nothing is left."""
        if self._memory is not None:
            return crawl_catalog(
                self._memory,
                starts,
                self._settings,
                on_progress=limit.note,
                stops=limit.stops,
                launched=launched,
                before_end=self._let_in,
            )
        assert self._workspace is not None
        return crawl_workspace(
            self._workspace.directory,
            starts,
            self._settings,
            on_progress=limit.note,
            stops=limit.stops,
            launched=launched,
            before_end=self._let_in,
        )

    @contextlib.contextmanager
    def reading(self) -> Iterator[SiteCatalog]:
        """Give the catalog, while nothing crawls."""
        if self._memory is not None:
            yield self._memory
            return
        from gossamer.catalog.sqlite import SqliteCatalog  # noqa: PLC0415 - a map in memory has none

        assert self._workspace is not None
        path, settings = self._workspace.catalog, self._settings.catalog
        with SqliteCatalog.open(path, settings, read_only=True) as catalog:
            yield catalog

    def close(self) -> None:
        """Forget what was in memory."""
        if self._memory is not None:
            self._memory.close()
