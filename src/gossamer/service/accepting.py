"""A batch is accepted: its URLs are members of their sites, and what it asks for is checked."""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.batch_facts import BatchOrder, Wanted
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_members import (
    Change,
    changing,
    enter,
    find_document,
    find_site,
    members_among,
    newcomer,
)
from gossamer.catalog.service_sites import site_status
from gossamer.catalog.service_urls import update_urls, url_status
from gossamer.catalog.site_book import type_of
from gossamer.clock import Clock
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.enumerations import (
    ContentKind,
    ContentMask,
    CrawlStatus,
    DatabaseMode,
    URLKey,
    URLState,
    URLType,
)
from gossamer.objects.item_wishes import Wishes, site_for, wishes_of, written
from gossamer.objects.moments import NOW
from gossamer.objects.normal import identified_url
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import Site, SiteStatus
from gossamer.objects.url import URL, URLStatus, URLUpdate
from gossamer.parse.scraper import processor_of
from gossamer.parse.scraper_records import Problems
from gossamer.service.opened_contents import open_contents
from gossamer.service.settings import ServiceSettings
from gossamer.service.url_contents import Handed, UrlContents, handed_over

_USUAL_TYPE: Final = "text/html"
_OK: Final = 200


class Asked(Struct, frozen=True):
    """An item, and what it brings along."""

    item: BatchItem
    wishes: Wishes
    handed: Handed | None


class Acceptor:
    """Accepts batches on a workspace."""

    def __init__(self, settings: ServiceSettings, catalog: ServiceCatalog, clock: Clock) -> None:
        self._settings = settings
        self._catalog = catalog
        self._clock = clock

    def accept(self, batch: Batch, seconds: float) -> int:
        """Have the URLs of a batch crawled, within so many seconds; return the batch's number.

        Its items have their ids (`identified`).
        A URL without a record gets one from what came along with it (S3.45, S3.46); one without
        either is left out. ObjectError, before anything happens, for what cannot be done.
        """
        now = self._clock.time()
        alone = not batch.db_mode & DatabaseMode.R
        asked = [_asked(place, item, now, alone) for place, item in enumerate(batch.items)]
        with changing(self._catalog, "read a batch", now) as change:
            known = [(each, _member(change, each)) for each in asked]
        members = [member for _, member in known if member is not None]
        self._put([each for each, member in known if member and each.handed is not None], now)
        order = BatchOrder(
            kind=int(batch.crawler_type),
            seconds=seconds,
            max_iterations=max(1, batch.max_iterations),
            max_items=batch.max_items or None,
            pauses=batch.max_iterations > 1 and self._name_feeds(asked),
            drops_rest=batch.remove_unprocessed_items,
        )
        batch_id, _ = self._catalog.accept_batch(order, members, now)
        return batch_id

    def identified(self, batch: Batch) -> Batch:
        """Return a batch whose items have the ids under which their URLs are, or will be, known.

        Whoever makes an id of a URL as it was typed means that URL all the same.
        """
        with self._catalog.database.reading("read a batch") as connection:
            items = [
                item if _is_member(connection, item) else replace(item, url_id=_md5_of(item))
                for item in batch.items
            ]
        return replace(batch, items=items)

    def _put(self, given: Sequence[Asked], now: float) -> None:
        """Store contents that came along in place of being fetched."""
        if not given:
            return
        with ExitStack() as closing:
            storage = open_contents(self._settings, closing, self._clock)
            contents = UrlContents(self._catalog, storage)
            for each in given:
                request = URLStatus(
                    site_id=each.item.site_id, url=each.item.url_id, url_type=URLKey.MD5
                )
                for url in url_status(self._catalog.database, [request]):
                    assert each.handed is not None
                    contents.take(url.site_id, url.url_md5, each.handed, url.url)
                    update_urls(self._catalog, [_crawled(url, each)], now)

    def _name_feeds(self, asked: Sequence[Asked]) -> bool:
        """Whether some items may be feeds whose entries the next iteration crawls."""
        sites: dict[str, Site] = {}
        for each in asked:
            if each.item.site_id not in sites:
                request = SiteStatus(id=each.item.site_id, exclude_list=["urls", "filters"])
                sites[each.item.site_id] = site_status(self._catalog.database, request)
            site = site_for(sites[each.item.site_id], each.wishes)
            if is_feed_of_links({one.name: one.value for one in site.properties}):
                return True
        return False


def is_feed_of_links(properties: Mapping[str, str]) -> bool:
    """Whether processing makes URLs to be fetched of a page (PROCESSOR_NAME = RSS)."""
    return processor_of(properties, Problems()) == "RSS"


def _asked(place: int, item: BatchItem, now: float, alone: bool) -> Asked:
    try:
        return Asked(item, wishes_of(item, alone=alone), _handed(item, now))
    except ObjectError as error:
        dot = "." if error.field and not error.field.startswith("[") else ""
        name = f"items[{place}]: {error.kind}{dot}{error.field}"
        raise type(error)("Batch", name, error.expected) from None


def _handed(item: BatchItem, now: float) -> Handed | None:
    if item.url_put_obj is None:
        return None
    handed = handed_over(item.url_put_obj, now)
    if handed.kind is not ContentKind.RAW:
        raise ObjectError("URLPut", "contentType", "a raw content (0) is expected")
    return handed


def _member(change: Change, asked: Asked) -> Wanted | None:
    """Return an item as a member, which it becomes if it is none yet; None if it cannot be."""
    item = asked.item
    site = find_site(change.connection, item.site_id)
    if site is None:
        return None
    wishes = written(asked.wishes)
    is_there = asked.handed is not None
    doc_id = find_document(change.connection, item.url_id, URLKey.MD5)
    if doc_id is not None and members_among(change.connection, site.set_id, [doc_id]):
        # An entry of a feed that is its own content is never fetched.
        is_there = is_there or type_of(change.connection, site.set_id, doc_id) == URLType.FETCHED
        return Wanted(site.set_id, doc_id, wishes, made=False, is_there=is_there)
    if item.url_obj is None or not item.url_obj.url:
        return None
    given = identified_url(_with_depth(item.url_obj, item.depth))
    (made,) = enter(change, [newcomer(site, given.url, given, change.now)])
    doc_id = find_document(change.connection, given.url)
    return None if doc_id is None else Wanted(site.set_id, doc_id, wishes, made, is_there)


def _is_member(connection: sqlite3.Connection, item: BatchItem) -> bool:
    """Whether the site of an item knows its id."""
    site = find_site(connection, item.site_id)
    doc_id = find_document(connection, item.url_id, URLKey.MD5)
    if site is None or doc_id is None:
        return False
    return bool(members_among(connection, site.set_id, [doc_id]))


def _with_depth(url: URL, depth: int) -> URL:
    """Return the URL of an item; how deep it is, one of both says."""
    return url if url.depth else replace(url, depth=depth)


def _md5_of(item: BatchItem) -> str:
    if item.url_obj is None or not item.url_obj.url:
        return item.url_id.lower()
    return identified_url(item.url_obj).url_md5


def _crawled(url: URL, asked: Asked) -> URLUpdate:
    """Return what becomes of a URL whose content was handed over."""
    assert asked.handed is not None
    data, given = asked.handed.data, asked.item.url_obj
    return URLUpdate(
        site_id=url.site_id,
        url_md5=url.url_md5,
        status=CrawlStatus.CRAWLED,
        state=URLState.ENABLED,
        crawled=url.crawled + 1,
        http_code=_OK,
        content_type=(given.content_type if given else "") or url.content_type or _USUAL_TYPE,
        size=len(data),
        raw_content_md5=hashlib.md5(data, usedforsecurity=False).hexdigest(),
        content_mask=ContentMask.STORED_ON_DISK,
        error_mask=0,
        tc_date=NOW,
    )
