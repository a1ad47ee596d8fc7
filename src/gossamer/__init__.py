"""gossamer: a polite, crash-safe web crawler.

async for page in gossamer.crawl("https://example.org/", max_pages=100):
    print(page.status, page.url, page.title)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.crawl.api import crawl
    from gossamer.errors import (
        CatalogError,
        ConfigError,
        DiskFullError,
        GossamerError,
        InputError,
        ServiceError,
        StorageError,
        WorkspaceError,
    )
    from gossamer.handlers.user import handler
    from gossamer.handlers.visited import VisitedPage as Page
    from gossamer.service.client import Service

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022 - grouped, for readers
    # crawl
    "crawl",
    "Page",
    # extend
    "handler",
    # the crawling service
    "Service",
    # errors
    "GossamerError",
    "InputError",
    "ConfigError",
    "WorkspaceError",
    "StorageError",
    "CatalogError",
    "DiskFullError",
    "ServiceError",
]

# Imported on first use: `import gossamer` and `gossamer --help` stay light.
_HOMES = {
    "crawl": ("gossamer.crawl.api", "crawl"),
    "handler": ("gossamer.handlers.user", "handler"),
    "Page": ("gossamer.handlers.visited", "VisitedPage"),
    "Service": ("gossamer.service.client", "Service"),
    **{name: ("gossamer.errors", name) for name in __all__ if name.endswith("Error")},
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only when something is really asked for

    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
