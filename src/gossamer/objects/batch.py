"""Batch: the job order of crawling and processing."""

from typing import Annotated

from msgspec import Meta, field

from gossamer.objects.content import URLContentResponse
from gossamer.objects.enumerations import CrawlerType, DatabaseMode
from gossamer.objects.record import Count, Record, ShortText, SiteId
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
    """Override those of the site, for this item."""
    url_put_obj: URLPut | None = None
    url_content_response: URLContentResponse | None = None
    site_obj: SiteUpdate | None = None
    """What is not None overrides the fields of the site, for this item."""
    depth: Count = 0


class Batch(Record, frozen=True, kw_only=True):
    """Which URLs are crawled or processed together, and how."""

    id: Count = 0
    crawler_type: CrawlerType = CrawlerType.NORMAL
    items: Annotated[list[BatchItem], Meta(max_length=100_000)] = field(default_factory=list)
    error_mask: Count = 0
    db_mode: DatabaseMode = DatabaseMode.RW
    max_iterations: Count = 1
    max_items: Count | None = None
    max_execution_time: Count = 0
    """Seconds; 0: no limit."""
    remove_unprocessed_items: bool = False
