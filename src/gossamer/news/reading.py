"""What a worker makes of a fetched feed, and which bytes it keeps: handlers like a user's own."""

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Final

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Fetch, Kind
from gossamer.news.titles import title_key
from gossamer.outcomes import Outcome
from gossamer.parse.feed import link_header, read_feed, urls_checksum
from gossamer.parse.feed_records import Feed, FeedLimits, Item
from gossamer.parse.sniff import claimed_by, content_type_of
from gossamer.reports import FeedReport, Sighting
from gossamer.url.canonical import Joiner
from gossamer.url.lossy import lossy
from gossamer.url.parts import host_of, md5_of

_KEY_BYTES: Final = 8
_NO_TITLE: Final = "(no title)"
_MAX_CONTENT: Final = 65_536
_JOINER: Final = Joiner(cache_bytes=1 << 16)


class Reader:
    """Reads feeds, and remembers the last one: both handlers ask about each."""

    def __init__(self, max_items: int) -> None:
        self._limits = FeedLimits(max_items=max_items)
        self._fetch: Fetch | None = None
        self._report = FeedReport()

    def report(self, fetch: Fetch) -> FeedReport:
        """Return what a feed says."""
        if fetch is not self._fetch:
            self._report = report_of(fetch, self._limits)
            self._fetch = fetch
        return self._report


@cache
def _reader(max_items: int) -> Reader:
    return Reader(max_items)


class FeedHandler:
    """Makes the one record of a feed."""

    def __init__(self, settings: Settings) -> None:
        self._reader = _reader(settings.news.max_items)

    def __call__(self, page: VisitedPage) -> Iterator[FeedReport]:
        """Yield the record, if the page was fetched as a feed."""
        if page.fetch.visit.kind == Kind.FEED:
            yield self._reader.report(page.fetch)


class KeepCondition:
    """Says which bytes are archived: not those of a feed without news, nor of films."""

    def __init__(self, settings: Settings) -> None:
        self._reader = _reader(settings.news.max_items)
        self._words = settings.news.content_types

    def __call__(self, fetch: Fetch) -> bool:
        """Whether the bytes of a fetch are archived."""
        if not 200 <= fetch.status < 300:
            return True
        if fetch.visit.kind == Kind.FEED:
            return not self._reader.report(fetch).redundant
        content_type = content_type_of(claimed_by(fetch.header("content-type"))[0], fetch.body)
        return any(word in content_type for word in self._words)


def report_of(fetch: Fetch, limits: FeedLimits) -> FeedReport:
    """Return what a feed says; of one that says what it said last time, only that."""
    claimed, charset = claimed_by(fetch.header("content-type"))
    feed = read_feed(fetch.body, claimed, charset, fetch.visit.url, limits)
    links = link_header([value for name, value in fetch.headers if name == "link"])
    report = FeedReport(
        # Of one that breaks off before its first story nobody knows what it says.
        form="" if feed.outcome is Outcome.PARSE_FAILED else feed.form,
        title=feed.title,
        home=feed.home,
        language=feed.language,
        ttl_seconds=feed.ttl_seconds or None,
        hub=_linked(links, "hub", fetch.visit.url) or feed.hub,
        topic=_linked(links, "self", fetch.visit.url) or feed.topic or fetch.visit.url,
        checksum=urls_checksum(_listed(feed)),
        detail=feed.detail,
    )
    if report.form and report.checksum == fetch.visit.seen:
        return replace(report, redundant=True)
    return replace(report, sightings=tuple(_sightings(feed)))


def _linked(links: dict[str, str], relation: str, base: str) -> str:
    """Return the URL that a Link header names; "" if there is none that can be one."""
    return _JOINER.join(base, links[relation]) or "" if relation in links else ""


def _listed(feed: Feed) -> list[str]:
    return [item.url or item.guid for item in feed.items]


def _sightings(feed: Feed) -> Iterator[Sighting]:
    trust_guids = "same_guid" not in feed.flags
    for item in feed.items:
        if item.url:
            yield _sighting(item, feed, trust_guid=trust_guids)


def _sighting(item: Item, feed: Feed, *, trust_guid: bool) -> Sighting:
    guid = item.guid if trust_guid and item.guid else item.url
    names = [item.url, lossy(item.url), guid]
    if "://" in guid:
        names.append(lossy(guid))
    return Sighting(
        url=item.url,
        md5=md5_of(item.url),
        host=host_of(item.url),
        guid=guid,
        title=item.title or _NO_TITLE,
        keys=tuple(dict.fromkeys(_key(name) for name in names)),
        title_key=title_key(item.title, feed.title),
        published=item.published,
        authors=item.authors,
        tags=item.tags,
        description=item.description,
        language=item.language or feed.language,
        image=item.image,
        content_html=item.content_html[:_MAX_CONTENT],
        updated=item.updated,
    )


def _key(name: str) -> bytes:
    return hashlib.blake2b(name.encode(errors="replace"), digest_size=_KEY_BYTES).digest()
