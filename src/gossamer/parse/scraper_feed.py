"""Feeds as contents (FEED_PARSER) and as URLs to fetch (RSS)."""

from typing import Final

from gossamer.objects.enumerations import URLType
from gossamer.objects.error_mask import ErrorBit
from gossamer.outcomes import Outcome
from gossamer.parse.feed import Feed, Item, read_feed
from gossamer.parse.scraper_dates import FEED_DATE_HEADER
from gossamer.parse.scraper_records import MAX_VALUE, FeedLink, Problems, Tags
from gossamer.parse.scraper_values import date_text

FEED_URL_HEADER: Final = "X-feed_url"
BASE_URL_HEADER: Final = "X-base_url"
FIRST_YEAR_SECONDS: Final = -2_208_988_800
"""1900; no item was published before, and not every platform can write earlier dates."""


def read_contents(
    body: bytes, content_type: str, charset: str, url: str, problems: Problems
) -> tuple[list[Tags], list[FeedLink]]:
    """Return the entries of a feed as contents, and the URL of each, fetched already."""
    contents: list[Tags] = []
    links: list[FeedLink] = []
    feed = _read(body, content_type, charset, url, problems)
    for item in feed.items:
        tags = _tags_of(item, feed)
        if item.url:
            headers = _headers(item, feed, url)
            links.append(FeedLink(item.url, URLType.FETCHED, headers, len(contents)))
        contents.append(tags)
    return contents, links


def read_links(
    body: bytes, content_type: str, charset: str, url: str, problems: Problems
) -> list[FeedLink]:
    """Return the URLs of a feed's entries, to be fetched."""
    feed = _read(body, content_type, charset, url, problems)
    return [
        FeedLink(item.url, URLType.SINGLE, _headers(item, feed, url))
        for item in feed.items
        if item.url
    ]


def _read(body: bytes, content_type: str, charset: str, url: str, problems: Problems) -> Feed:
    feed = read_feed(body, content_type, charset, url)
    if feed.outcome is Outcome.PARSE_FAILED:
        problems.add(ErrorBit.SCRAPER, f"feed: {feed.detail}")
    elif not feed.items:
        problems.add(ErrorBit.EMPTY_FEED, "feed: it has no entries")
    return feed


def _tags_of(item: Item, feed: Feed) -> Tags:
    enclosures = [each.url for each in item.enclosures]
    tags = {
        "title": item.title,
        "link": item.url,
        "description": item.description,
        "pubdate": _date(item.published),
        "author": ",".join(item.authors),
        "guid": item.guid,
        "dc_date": _date(item.updated),
        "content_encoded": item.content_html,
        "keywords": ",".join(item.tags),
        "media": item.image,
        "enclosure": ",".join(enclosures[:1]),
        "media_content": ",".join(enclosures[1:]),
        "html_lang": item.language or feed.language,
    }
    return {tag: value[:MAX_VALUE] for tag, value in tags.items() if value}


def _date(moment: int | None) -> str:
    return "" if moment is None or moment < FIRST_YEAR_SECONDS else date_text(moment)


def _headers(item: Item, feed: Feed, url: str) -> dict[str, str]:
    headers = {FEED_URL_HEADER: url, BASE_URL_HEADER: feed.home or url}
    published = _date(item.published)
    return headers | {FEED_DATE_HEADER: published} if published else headers
