"""How the commands of news get at a workspace, and at what is named in it."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.catalog.subscriptions import FeedRow, SourceRow, feeds, feeds_at, source_named
from gossamer.clock import SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.settings import Settings
from gossamer.crawl.pipeline import locked
from gossamer.crawl.workspace import Workspace
from gossamer.errors import InputError, WorkspaceError
from gossamer.url.canonical import parse_start_url
from gossamer.wording import visible


@contextmanager
def open_news(directory: Path) -> Iterator[NewsCatalog]:
    """Open the catalog for reading; an engine that runs there goes on undisturbed."""
    workspace = _existing(directory)
    with NewsCatalog.open(workspace.catalog, CatalogSettings(), read_only=True) as catalog:
        yield catalog


@contextmanager
def change_news(
    directory: Path, settings: Settings | None = None, *, create: bool = False
) -> Iterator[NewsCatalog]:
    """Open the catalog for writing, beside an engine of news but not beside a crawl."""
    workspace = Workspace(directory) if create else _existing(directory)
    catalog_settings = settings.catalog if settings else CatalogSettings()
    with (
        locked(workspace, SystemClock(), "add"),
        NewsCatalog.open(workspace.catalog, catalog_settings, shared=True) as catalog,
    ):
        yield catalog


def known_source(catalog: NewsCatalog, name: str) -> SourceRow:
    """Return the source with this name; complain if there is none."""
    source = source_named(catalog.database, name)
    if source is None:
        raise InputError(f"there is no source {name}; list all with: gossamer news list")
    return source


def source_filter(catalog: NewsCatalog, name: str | None) -> int | None:
    """Return the number of the source that --source names; None if it was not given."""
    return None if name is None else known_source(catalog, name).source_id


def known_feeds(catalog: NewsCatalog, typed: str) -> list[FeedRow]:
    """Return the feeds with this URL, one for each source that has it."""
    return feeds_at(catalog.database, typed) or feeds_at(catalog.database, canonical(typed))


def tell_disabled(catalog: NewsCatalog, feed_ids: Sequence[int], directory: Path) -> None:
    """Say which of these feeds are not polled, why, and how that is changed."""
    for feed in feeds(catalog.database, feed_ids):
        if feed.enabled and feed.source_enabled:
            continue
        # A source that is enabled is so with all its feeds.
        name = feed.url if feed.source_enabled else feed.source
        why = feed.why_disabled or "somebody said so"
        if not feed.source_enabled:
            why = f"its source {feed.source} is"
        print(
            f"gossamer: {visible(feed.url)} is disabled because {visible(why)}; to have it polled: "
            f"gossamer news enable {visible(quote(name))} --dir {visible(quote(str(directory)))}",
            file=sys.stderr,
        )


def canonical(typed: str) -> str:
    """Return the canonical form of what may be a URL; as it is if it cannot be one."""
    try:
        return parse_start_url(typed)
    except InputError:
        return typed


def _existing(directory: Path) -> Workspace:
    workspace = Workspace(directory)
    if not workspace.exists():
        raise WorkspaceError(
            f"no workspace in {directory}: there is no {workspace.catalog.name}; "
            f"make one with: gossamer news add URL --dir {quote(str(directory))}"
        )
    return workspace
