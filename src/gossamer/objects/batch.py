"""Batch: the job order of crawling and processing."""

from typing import Annotated

from msgspec import Meta, field

from gossamer.objects.content import URLContentResponse
from gossamer.objects.enumerations import CrawlerType, DatabaseMode
from gossamer.objects.record import Count, Mask, Record, ShortText, SiteId
from gossamer.objects.site import SiteUpdate
from gossamer.objects.url import URL, URLPut


class BatchItem(Record, frozen=True, kw_only=True):
    """One URL of a batch."""

    url_id: ShortText
    """md5 of the URL."""
    site_id: SiteId = ""
    url_obj: URL | None = None
    """Inserted where the URL is not known yet."""
    properties: dict[str, object] = field(default_factory=dict)
    """Override those of the site, for this item and what it finds; what is no text is JSON."""
    url_put_obj: URLPut | None = None
    """A raw content that is stored in place of a fetch."""
    url_content_response: URLContentResponse | None = None
    site_obj: SiteUpdate | None = None
    """What is not None overrides the fields of the site, for this item and what it finds."""
    depth: Count = 0
    """Of a URL that enters with the batch and does not say it itself."""


class Batch(Record, frozen=True, kw_only=True):
    """Which URLs are crawled or processed together, and how."""

    id: Count = 0
    crawler_type: CrawlerType = CrawlerType.NORMAL
    items: Annotated[list[BatchItem], Meta(max_length=100_000)] = field(default_factory=list)
    error_mask: Mask = 0
    """Faults of all its URLs, and of the batch itself."""
    db_mode: DatabaseMode = DatabaseMode.RW
    """Whether records are read, and whether what the batch brings is on record."""
    max_iterations: Count = 1
    """URLs that one iteration finds are crawled in the next."""
    max_items: Count | None = None
    """Of all iterations together; none or 0: no limit."""
    max_execution_time: Count = 0
    """Seconds; 0: no limit."""
    remove_unprocessed_items: bool = False
    """Whether found URLs that there was no time for are deleted; else they are NEW."""
