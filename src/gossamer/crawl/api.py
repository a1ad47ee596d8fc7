"""The Python interface: `async for page in gossamer.crawl(...)`.

The crawl runs in a thread of its own with its own workers, so it does not mind an event loop that
is busy, and a second crawl in the same process does not mind the first. A page is handed over
only after it is durable: it is read back from the archive, so nothing is shown that a crash could
take away.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.load import load_with_origins
from gossamer.config.settings import Settings
from gossamer.crawl.documents import visited_page
from gossamer.crawl.pipeline import Summary, crawl_workspace
from gossamer.crawl.stops import Stops
from gossamer.crawl.workspace import Workspace
from gossamer.errors import ConfigError, StoppedError
from gossamer.handlers.user import UserHandler, name_of_handler
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Kind
from gossamer.url.canonical import Joiner

_MAX_WAITING: Final = 256
_MIN_DELAY: Final = 1e-6
_MAX_DELAY: Final = 86_400
_FINE: Final = frozenset({"finished", "max_pages", "terminated"})


async def crawl(
    *urls: str,
    directory: str | Path | None = None,
    max_pages: int | None = None,
    max_depth: int | None = None,
    scope: str | None = None,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    concurrency: int | None = None,
    per_host: int | None = None,
    delay: float | None = None,
    workers: int | None = None,
    allow_private: bool = False,
    recrawl: bool = False,
    handlers: Sequence[UserHandler] = (),
    config: str | Path | None = None,
    settings: Mapping[str, Mapping[str, object]] | None = None,
) -> AsyncGenerator[VisitedPage, None]:
    """Crawl from these URLs and yield each page once it is safely stored.

    What is not given is as the settings say: those of `config`, or their defaults; but there is
    one worker. Without a `directory` the workspace is temporary. Leaving the loop early stops the
    crawl. A crawl that stops while work remains (hosts that do not answer, a full disk) raises
    after the last page. Sitemaps are read, and not yielded.
    """
    overrides = _overrides(
        {
            "crawl": {
                "max_pages": max_pages,
                "max_depth": max_depth,
                "scope": scope,
                "include": _several(include),
                "exclude": _several(exclude),
                "concurrency": concurrency,
                "workers": workers,
            },
            "urlserver": {
                "host_concurrent": per_host,
                "host_per_second": _per_second(delay),
            },
            "url": {"allow_private": allow_private or None},
            "handlers": {"use": tuple(map(name_of_handler, handlers or ())) or None},
        },
        settings or {},
    )
    with ExitStack() as stack:
        if directory is None:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-"))
        run = _Run(Path(directory), urls, _settings(config, overrides), recrawl)
        async with aclosing(run.pages()) as pages:
            async for page in pages:
                yield page


def _several(expressions: Sequence[str] | None) -> Sequence[str] | None:
    """Return expressions as settings take them; one alone is no list of letters, but refused."""
    if expressions is None or isinstance(expressions, str):
        return expressions
    return tuple(expressions)


def _per_second(delay: float | None) -> float | None:
    """Return how often a host is asked when so many seconds pass in between; 0: no limit."""
    if not delay:
        return delay
    if not _MIN_DELAY <= delay <= _MAX_DELAY:
        raise ConfigError(
            f"delay = {delay!r} is not allowed; expected: a number of seconds from 0 to 86400"
        )
    return 1.0 / delay


def _overrides(
    own: Mapping[str, Mapping[str, object]], given: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, object]]:
    said = {
        table: {name: value for name, value in entries.items() if value is not None}
        for table, entries in own.items()
    }
    return {table: {**said.get(table, {}), **given.get(table, {})} for table in {*own, *given}}


def _settings(config: str | Path | None, overrides: Mapping[str, Mapping[str, object]]) -> Settings:
    loaded = load_with_origins(None if config is None else Path(config), overrides)
    if ("crawl", "workers") in loaded.origins:
        return loaded.settings
    return replace(loaded.settings, crawl=replace(loaded.settings.crawl, workers=1))


class _Run:
    """One crawl in a thread, and its pages on the way to the event loop."""

    def __init__(
        self, directory: Path, urls: Sequence[str], settings: Settings, recrawl: bool
    ) -> None:
        self._directory = directory
        self._urls = urls
        self._settings = settings
        self._recrawl = recrawl
        self._stops = Stops()
        self._waiting: list[int] = []
        self._lock = threading.Lock()
        self._result: Summary | BaseException | None = None

    async def pages(self) -> AsyncGenerator[VisitedPage, None]:
        loop = asyncio.get_running_loop()
        news = asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(news.set)

        thread = threading.Thread(target=self._crawl, args=(tell,), name="gossamer-crawl")
        thread.start()
        try:
            async with aclosing(self._hand_over(news)) as pages:
                async for page in pages:
                    yield page
        finally:
            self._stops.terminate()
            # A future of the pool, no task: a loop that ends cancels tasks, and waits for its pool.
            await asyncio.shield(loop.run_in_executor(None, thread.join))
        self._complain()

    async def _hand_over(self, news: asyncio.Event) -> AsyncGenerator[VisitedPage, None]:
        async with aclosing(_Reader(self._directory, self._settings)) as reader:
            while True:
                await news.wait()
                news.clear()
                ended = self._result is not None
                while doc_ids := self._take():
                    for doc_id in doc_ids:
                        page = await reader.page(doc_id)
                        if page is not None:
                            yield page
                if ended:
                    return

    def _take(self) -> list[int]:
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def _crawl(self, tell: Callable[[], None]) -> None:
        def on_pages(doc_ids: Sequence[int]) -> bool:
            with self._lock:
                self._waiting.extend(doc_ids)
                room = len(self._waiting) < _MAX_WAITING
            if doc_ids:
                tell()
            return room

        try:
            self._result = crawl_workspace(
                self._directory,
                self._urls,
                self._settings,
                recrawl=self._recrawl,
                install_signals=False,
                main_script=_main_script(),
                stops=self._stops,
                on_pages=on_pages,
            )
        # Handed to the caller's side, where it is raised again.
        except BaseException as error:  # noqa: BLE001
            self._result = error
        finally:
            tell()

    def _complain(self) -> None:
        result: Any = self._result
        if isinstance(result, BaseException):
            raise result
        if result.reason not in _FINE:
            raise StoppedError(result.message)


class _Reader:
    """Reads pages back in a thread of its own, through a catalog that it opens once.

    One thread, so that closing comes after the read that a cancelled caller no longer waits for.
    """

    def __init__(self, directory: Path, settings: Settings) -> None:
        self._workspace = Workspace(directory)
        self._settings = settings
        self._joiner = Joiner(settings.url)
        self._catalog: SqliteCatalog | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-reader")

    async def page(self, doc_id: int) -> VisitedPage | None:
        """Return a page that was committed; None if nothing is stored for it."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, doc_id)

    async def aclose(self) -> None:
        """Let go of the catalog, also if the caller is cancelled meanwhile."""
        closing = asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)
        await asyncio.shield(closing)

    def _read(self, doc_id: int) -> VisitedPage | None:
        if self._catalog is None:
            self._catalog = SqliteCatalog.open(
                self._workspace.catalog, self._settings.catalog, read_only=True
            )
        # Each look at a row sees all that is committed by then.
        row = self._catalog.row(doc_id)
        if row is None or row.fetch is None or row.fetch.pointer is None:
            return None
        if row.kind == Kind.SITEMAP:
            # No limit counts it, and nobody asked for it.
            return None
        archive = self._workspace.archive
        return visited_page(archive, row, row.fetch, self._settings, self._joiner)

    def _close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()


def _main_script() -> str:
    main = sys.modules.get("__main__")
    return getattr(main, "__file__", None) or ""
