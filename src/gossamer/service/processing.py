"""The processor application: what was crawled becomes contents (S3.96-S3.108).

Theory of operation. A URL goes CRAWLED, SELECTED_PROCESSING, PROCESSING, PROCESSED. Its processed
content is durable before its row says so; whoever is killed before that leaves a row that the
return of stuck URLs makes CRAWLED again, and the content is made once more in the same place.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.catalog.processing import (
    Outcome,
    begin_processing,
    finish_processing,
    refuse_url,
    release_url,
    suspend_site,
)
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_fetch import with_attributes
from gossamer.catalog.service_sites import site_status
from gossamer.catalog.service_urls import url_status
from gossamer.clock import Clock, SystemClock
from gossamer.errors import GossamerError, StoreError
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.enumerations import (
    CrawlStatus,
    FilterStage,
    SiteState,
    URLKey,
    URLType,
)
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.extras import Attribute
from gossamer.objects.filters import passes
from gossamer.objects.moments import iso_moment
from gossamer.objects.normal import url_md5
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import Site, SiteStatus
from gossamer.objects.url import URL, URLStatus
from gossamer.parse.scraper import is_processable
from gossamer.parse.scraper_dates import read_date
from gossamer.parse.scraper_output import Processed as Kept
from gossamer.parse.scraper_records import FeedLink, Scraped, tags_mask_of
from gossamer.service.scrape_process import Failed, Page
from gossamer.store.contents import Contents, RawContent

FEED_HEADER_PREFIX: Final = "X-"
"""What a feed says about a URL travels as attributes of these names (X-feed_url and so on)."""
_MAX_HEAD: Final = 1 << 18
_LEFT_OUT: Final = frozenset(("urls",))
_CRAWLED: Final = range(CrawlStatus.CRAWLED, CrawlStatus.PROCESSED + 1)
_STORES: Final = frozenset(("template", "regular", "feed", "rss", "store"))

Scrape = Callable[[Page], Scraped | Failed]


class RawReader(Protocol):
    """Finds the raw content of a URL."""

    def __call__(self, url: URL) -> RawContent | None:
        """Return the newest version, None if there is none."""
        ...


class Processed(Struct):
    """What became of a batch."""

    batch: Batch
    processed: int = 0
    failed: int = 0
    skipped: int = 0
    messages: list[str] = field(default_factory=list)


class Processor:
    """Processes batches, one item after the other."""

    def __init__(
        self,
        catalog: ServiceCatalog,
        contents: Contents,
        scrape: Scrape,
        *,
        read_raw: RawReader | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._catalog = catalog
        self._contents = contents
        self._scrape = scrape
        self._read_raw = read_raw or self._newest
        self._clock = clock or SystemClock()

    def process_batch(self, batch: Batch) -> Processed:
        """Process a batch; its items come back with their URLs as they stand then.

        What cannot be read or written raises; what is not processed then is released before.
        """
        done = Processed(batch)
        items: list[BatchItem] = []
        mask = batch.error_mask
        try:
            for item in batch.items:
                mask |= self._item(item, done)
                items.append(replace(item, url_obj=self._url(item) or item.url_obj))
        except GossamerError:
            with contextlib.suppress(GossamerError):
                for item in batch.items[len(items) :]:
                    release_url(self._catalog, item.site_id, item.url_id, self._clock.time())
            raise
        done.batch = replace(batch, items=items, error_mask=mask)
        return done

    def _item(self, item: BatchItem, done: Processed) -> int:
        """Process an item (S3.97-S3.102); return the bits of its error mask that were set."""
        site = site_status(
            self._catalog.database, SiteStatus(id=item.site_id, exclude_list=list(_LEFT_OUT))
        )
        url = self._url(item)
        if url is None or url.status not in _CRAWLED:
            done.skipped += 1
            return 0
        if site.state is not SiteState.ACTIVE:
            return self._skip(url, done)
        bit = limit_bit(site)
        if bit is not None:
            suspend_site(self._catalog, url.site_id, bit, self._clock.time())
            return self._skip(url, done) | 1 << bit
        properties = properties_for(site, item)
        if not is_processable(url.content_type, properties):
            mask = 1 << ErrorBit.UNSUPPORTED_CONTENT_TYPE
            refuse_url(self._catalog, url.site_id, url.url_md5, mask, self._clock.time())
            done.failed += 1
            return mask
        if not begin_processing(self._catalog, url.site_id, url.url_md5, self._clock.time()):
            done.skipped += 1
            return 0
        mask = self._begun(site, url, properties, done)
        if mask:
            done.failed += 1
        else:
            done.processed += 1
        return mask

    def _begun(self, site: Site, url: URL, properties: Mapping[str, str], done: Processed) -> int:
        """Process a URL whose processing is on record (S3.103-S3.107)."""
        started = self._clock.monotonic()
        result, mask = self._result(site, url, properties)
        entries: list[URL] = []
        if isinstance(result, Failed):
            done.messages.append(f"{url.url}: {result.why}")
        else:
            done.messages += [f"{url.url}: {message}" for message in result.messages]
            entries = self._keep(site, url, result)
        outcome = outcome_of(result, mask, self._clock.monotonic() - started)
        now = self._clock.time()
        if not finish_processing(self._catalog, url.site_id, url.url_md5, outcome, entries, now):
            # The URL left its site meanwhile: nobody else would ever remove what was just kept.
            self._contents.delete(url.site_id, url.url_md5)
        return mask

    def _result(
        self, site: Site, url: URL, properties: Mapping[str, str]
    ) -> tuple[Scraped | Failed, int]:
        """Return what the scraper makes of a URL, and the bits of the error mask to be set."""
        try:
            raw = self._read_raw(url)
        except StoreError as error:
            # It is damaged, and will be so the next time.
            return Failed(str(error)), 1 << ErrorBit.RAW_DECODING
        if raw is None:
            return Failed("its raw content is missing"), 1 << ErrorBit.RAW_MISSING
        result = self._scrape(page_of(site, url, raw, properties))
        return result, mask_of_result(result)

    def _keep(self, site: Site, url: URL, result: Scraped) -> list[URL]:
        """Make contents durable; return the URLs of a feed's entries."""
        now = self._clock.time()
        if result.how in _STORES:
            self._contents.put_processed(url.site_id, url.url_md5, packed(result), now)
        entries = []
        for link in result.links:
            if not passes(link.url, site.filters, FilterStage.COLLECT_URLS):
                continue
            entry = entry_of(link, url, result)
            if entry is None:
                continue
            if link.content >= 0:
                content = msgspec.json.encode(Kept([result.contents[link.content]]))
                self._contents.put_processed(url.site_id, entry.url_md5, content, now)
            entries.append(entry)
        return entries

    def _skip(self, url: URL, done: Processed) -> int:
        release_url(self._catalog, url.site_id, url.url_md5, self._clock.time())
        done.skipped += 1
        return 0

    def _url(self, item: BatchItem) -> URL | None:
        request = URLStatus(site_id=item.site_id, url=item.url_id, url_type=URLKey.MD5)
        found = url_status(self._catalog.database, [request])
        dressed = with_attributes(self._catalog, found, ["*"])
        return dressed[0] if dressed else None

    def _newest(self, url: URL) -> RawContent | None:
        versions = self._contents.raw(url.site_id, url.url_md5, "last")
        return versions[-1] if versions else None


# ------------------------------------------------------------------------------ decisions


def limit_bit(site: Site) -> ErrorBit | None:
    """Return the bit of the limit that a site exceeds (S3.99); 0 means no limit (C16)."""
    if site.max_errors and site.errors > site.max_errors:
        return ErrorBit.PROCESSING_MAX_ERRORS
    if site.max_resources and site.resources > site.max_resources:
        return ErrorBit.PROCESSING_MAX_RESOURCES
    return None


def properties_for(site: Site, item: BatchItem) -> dict[str, str]:
    """Return the properties that count for an item: the site's, the URL's, then its own."""
    values = {each.name: each.value for each in site.properties if not each.url_md5}
    values |= {each.name: each.value for each in site.properties if each.url_md5 == item.url_id}
    return values | {name: str(value) for name, value in item.properties.items()}


def page_of(site: Site, url: URL, raw: RawContent, properties: Mapping[str, str]) -> Page:
    """Return what the scraper is told."""
    said = {
        each.name: each.value or ""
        for each in url.attributes
        if each.name.startswith(FEED_HEADER_PREFIX)
    }
    return Page(
        body=raw.body,
        content_type=url.content_type,
        charset=charset_of(raw.body, url.charset),
        url=url.url,
        properties=dict(properties),
        headers=headers_in(raw.headers or b"") | said,
        max_urls_from_page=site.max_urls_from_page or url.max_urls_from_page,
    )


def charset_of(body: bytes, charset: str) -> str:
    """Return how a raw content is encoded: raw files are in UTF-8, whatever the page was in.

    What comes from the archive or from clients is as it was; text in UTF-8 has no zeros, and no
    escapes that switch alphabets.
    """
    if b"\0" in body or b"\x1b" in body:
        return charset
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return charset
    return "utf-8"


def headers_in(head: bytes) -> dict[str, str]:
    """Return the headers of a stored response; lines that are none are passed over."""
    lines = head[:_MAX_HEAD].decode("utf-8", "replace").splitlines()
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs if " " not in name.strip()}


def mask_of_result(result: Scraped | Failed) -> int:
    """Return the bits that a result sets in the error mask of its URL."""
    if isinstance(result, Scraped):
        return result.errors
    mask = 1 << ErrorBit.SCRAPER
    return mask | 1 << ErrorBit.MAX_EXECUTION_TIME if result.is_overdue else mask


def outcome_of(result: Scraped | Failed, mask: int, seconds: float) -> Outcome:
    """Return what the catalog is told."""
    milliseconds = round(1_000 * seconds)
    if isinstance(result, Failed):
        return Outcome(mask=mask, milliseconds=milliseconds)
    return Outcome(
        mask=mask,
        tags_mask=result.tags_mask,
        tags_count=result.tags_count,
        pdate=result.pdate,
        content_url_md5=result.content_hash,
        milliseconds=milliseconds,
    )


def packed(result: Scraped) -> bytes:
    """Return a result as JSON (S3.103): its contents, and what its template makes of them."""
    made: list[object] = [result.output] if result.output else []
    return msgspec.json.encode(Kept(result.contents, custom=made))


def entry_of(link: FeedLink, feed: URL, result: Scraped) -> URL | None:
    """Return the URL of a feed's entry as it enters the site; None if it cannot be one.

    An entry that is its own content (FETCHED) is processed at once; any other is to be fetched.
    """
    try:
        md5 = url_md5(link.url)
    except ObjectError:
        return None
    attributes = [
        Attribute(name=name, site_id=feed.site_id, url_md5=md5, value=value)
        for name, value in link.headers.items()
    ]
    entry = URL(
        url=link.url,
        url_md5=md5,
        site_id=feed.site_id,
        type=link.kind,
        parent_md5=feed.url_md5,
        depth=feed.depth + 1,
        priority=feed.priority,
        attributes=attributes,
    )
    if link.kind is not URLType.FETCHED or link.content < 0:
        return entry
    content = result.contents[link.content]
    published = read_date(content.get("pubdate", ""))
    return replace(
        entry,
        status=CrawlStatus.PROCESSED,
        processed=1,
        tags_mask=tags_mask_of(content),
        tags_count=len(content),
        p_date=None if published is None else iso_moment(published),
    )


def batch_of(urls: Sequence[URL], batch_id: int = 0) -> Batch:
    """Return a list of URLs as a batch (S3.22)."""
    items = [BatchItem(url_id=url.url_md5, site_id=url.site_id, depth=url.depth) for url in urls]
    return Batch(id=batch_id, items=items)
