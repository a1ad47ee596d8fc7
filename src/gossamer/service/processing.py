"""The processor application: what was crawled becomes contents (S3.96-S3.108).

Theory of operation. A URL goes CRAWLED, SELECTED_PROCESSING, PROCESSING, PROCESSED. Its processed
content is durable before its row says so; whoever is killed before that leaves a row that the
return of stuck URLs makes CRAWLED again, and the content is made once more in the same place.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.catalog.processing import (
    Outcome,
    begin_processing,
    finish_processing,
    has_twin,
    refuse_url,
    release_urls,
    suspend_site,
)
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_fetch import with_attributes
from gossamer.catalog.service_removal import delete_urls
from gossamer.catalog.service_sites import site_status
from gossamer.catalog.service_urls import url_status
from gossamer.clock import Clock, SystemClock
from gossamer.errors import GossamerError, StoreError
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.enumerations import (
    CrawlStatus,
    DelayedType,
    DeleteReason,
    SiteState,
    URLKey,
    URLType,
)
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.extras import Attribute
from gossamer.objects.item_wishes import Wishes, site_for, wishes_of
from gossamer.objects.limits import limit_mask
from gossamer.objects.moments import iso_moment
from gossamer.objects.normal import url_md5
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import Site, SiteStatus
from gossamer.objects.url import URL, URLDelete, URLStatus
from gossamer.parse.scraper import is_processable
from gossamer.parse.scraper_dates import read_date
from gossamer.parse.scraper_measure import deletes_duplicates
from gossamer.parse.scraper_records import FeedLink, Scraped, tags_mask_of
from gossamer.service.processing_filters import (
    stopped_after,
    stopped_before,
    wanted_links,
    with_first_fields,
)
from gossamer.service.processing_pace import Pace, in_turns
from gossamer.service.scrape_process import Failed, Page
from gossamer.store.contents import Contents, RawContent

FEED_HEADER_PREFIX: Final = "X-"
"""What a feed says about a URL travels as attributes of these names (X-feed_url and so on)."""
_MAX_HEAD: Final = 1 << 18
_PATIENCE_SECONDS: Final = 3_600.0
_LEFT_OUT: Final = frozenset(("urls",))
_CRAWLED: Final = range(CrawlStatus.CRAWLED, CrawlStatus.PROCESSED + 1)
_STORES: Final = frozenset(("template", "regular", "feed", "rss", "store"))

Scrape = Callable[[Page], Scraped | Failed]


class RawReader(Protocol):
    """Finds the raw content of a URL."""

    def __call__(self, url: URL) -> RawContent | None:
        """Return the newest version, None if there is none."""
        ...


class Kept(Struct, frozen=True):
    """The processed content of a URL as it is stored: the default, and what modules add."""

    default: object = None
    internal: list[object] = field(default_factory=list)
    custom: list[object] = field(default_factory=list)


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
        patience_seconds: float = _PATIENCE_SECONDS,
        is_called_away: Callable[[], bool] = lambda: False,
    ) -> None:
        """`patience_seconds`: the time of a batch that may be spent on waiting for sites.

        Whoever is called away leaves the rest of a batch for later.
        """
        self._catalog = catalog
        self._contents = contents
        self._scrape = scrape
        self._read_raw = read_raw or self._newest
        self._clock = clock or SystemClock()
        self._pace = Pace(self._clock, patience_seconds)
        self._is_called_away = is_called_away

    def process_batch(self, batch: Batch) -> Processed:
        """Process a batch; its items come back with their URLs as they stand then.

        What cannot be read or written raises; what is not processed then is released before. If
        it is the store of one site that refuses, those of other sites have their turn first.
        """
        done = Processed(batch)
        items = dict(enumerate(batch.items))
        left = dict(in_turns(batch.items))
        mask = batch.error_mask
        refused: dict[str, StoreError] = {}
        self._pace.begin_batch()
        try:
            for place in list(left):
                if self._is_called_away():
                    break
                item = items[place]
                if item.site_id in refused:
                    continue
                try:
                    mask |= self._item(item, done)
                except StoreError as error:
                    refused[item.site_id] = error
                    continue
                items[place] = replace(item, url_obj=self._url(item) or item.url_obj)
                del left[place]
            for refusal in refused.values():
                raise refusal
        except GossamerError:
            with contextlib.suppress(GossamerError):
                self._release(left.values())
            raise
        done.skipped += len(left)
        self._release(left.values())
        done.batch = replace(batch, items=list(items.values()), error_mask=mask)
        return done

    def _release(self, items: Iterable[BatchItem]) -> None:
        urls = [(item.site_id, item.url_id) for item in items]
        if urls:
            release_urls(self._catalog, urls, self._clock.time())

    def _item(self, item: BatchItem, done: Processed) -> int:
        """Process an item (S3.97-S3.102); return the bits of its error mask that were set."""
        known = site_status(
            self._catalog.database, SiteStatus(id=item.site_id, exclude_list=list(_LEFT_OUT))
        )
        wishes = wishes_of(item)
        site = site_for(known, wishes)
        url = self._url(item)
        if url is None or url.status not in _CRAWLED or url.type is URLType.FETCHED:
            # An entry of a feed is its own content.
            done.skipped += 1
            return 0
        if site.state is not SiteState.ACTIVE:
            return self._skip(url, done)
        mask = limit_mask(site, processing=True)
        if mask:
            exceeded = limit_mask(known, processing=True)
            if exceeded:
                # A limit that an item brings along is no reason to suspend its site.
                suspend_site(self._catalog, url.site_id, exceeded, self._clock.time())
            return self._skip(url, done) | mask
        properties = properties_for(site, item)
        if not is_processable(url.content_type, properties):
            mask = 1 << ErrorBit.UNSUPPORTED_CONTENT_TYPE
            refuse_url(self._catalog, url.site_id, url.url_md5, mask, self._clock.time())
            done.failed += 1
            return mask
        mask = stopped_before(site, url, properties)
        if mask:
            refuse_url(self._catalog, url.site_id, url.url_md5, mask, self._clock.time())
            done.failed += 1
            return mask
        if not self._pace.wait(url.site_id, delay_of(url, wishes)):
            return self._skip(url, done)
        if not begin_processing(self._catalog, url.site_id, url.url_md5, self._clock.time()):
            done.skipped += 1
            return 0
        mask = self._begun(site, url, properties, done)
        self._pace.ran(url.site_id)
        if mask:
            done.failed += 1
        else:
            done.processed += 1
        return mask

    def _begun(self, site: Site, url: URL, properties: Mapping[str, str], done: Processed) -> int:
        """Process a URL whose processing is on record (S3.103-S3.107)."""
        started = self._clock.monotonic()
        result, mask = self._result(site, url, properties)
        if isinstance(result, Scraped) and not result.links:
            best = max(result.contents, key=len, default={})
            stopped = stopped_after(site, url, properties, best)
            if stopped:
                result, mask = Failed("filters stop what was made of it"), mask | stopped
        entries: list[URL] = []
        if isinstance(result, Failed):
            done.messages.append(f"{url.url}: {result.why}")
        else:
            done.messages += [f"{url.url}: {message}" for message in result.messages]
            entries, faults = self._keep(site, url, properties, result)
            mask |= faults
        outcome = outcome_of(result, mask, self._clock.monotonic() - started)
        now = self._clock.time()
        if not finish_processing(self._catalog, url.site_id, url.url_md5, outcome, entries, now):
            # The URL left its site meanwhile: nobody else would ever remove what was just kept.
            self._contents.delete(url.site_id, url.url_md5)
        elif outcome.content_url_md5 and deletes_duplicates(properties):
            self._delete_duplicate(url, outcome.content_url_md5, now)
        return mask

    def _delete_duplicate(self, url: URL, content_md5: str, now: float) -> None:
        """Delete a URL whose content another URL of its site has; never a root URL."""
        if url.parent_md5 and has_twin(
            self._catalog.database, url.site_id, url.url_md5, content_md5
        ):
            request = URLDelete(
                site_id=url.site_id,
                url=url.url_md5,
                url_type=URLKey.MD5,
                delayed_type=DelayedType.DELAYED,
                reason=DeleteReason.PROCESSOR_DUPLICATE,
            )
            delete_urls(self._catalog, [request], now)

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

    def _keep(
        self, site: Site, url: URL, properties: Mapping[str, str], result: Scraped
    ) -> tuple[list[URL], int]:
        """Make contents durable; return the URLs of a feed's entries, and bits of faults."""
        now = self._clock.time()
        if result.how in _STORES:
            self._contents.put_processed(url.site_id, url.url_md5, packed(result), now)
        entries = []
        links, faults = wanted_links(site, url, properties, result)
        for link in links:
            entry = entry_of(link, url, result)
            if entry is None:
                continue
            if link.content >= 0:
                content = msgspec.json.encode(Kept([result.contents[link.content]]))
                self._contents.put_processed(url.site_id, entry.url_md5, content, now)
            entries.append(with_first_fields(entry, properties))
        return entries, faults

    def _skip(self, url: URL, done: Processed) -> int:
        release_urls(self._catalog, [(url.site_id, url.url_md5)], self._clock.time())
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


def delay_of(url: URL, wishes: Wishes) -> int:
    """Return the milliseconds between a URL and the one of its site before it."""
    given = wishes.site_obj.processing_delay if wishes.site_obj else None
    return (url.processing_delay or 0) if given is None else given


def properties_for(site: Site, item: BatchItem) -> dict[str, str]:
    """Return the properties that count for an item: the site's, the URL's, then its own."""
    values = {each.name: each.value for each in site.properties if not each.url_md5}
    values |= {each.name: each.value for each in site.properties if each.url_md5 == item.url_id}
    return values | wishes_of(item).all_properties


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
