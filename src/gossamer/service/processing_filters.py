"""What filters say around the processor: before it, after it, and about the entries of feeds."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.collecting_rules import Patience, Sieve, macros_of, rules_of
from gossamer.objects.enumerations import FilterMode, FilterStage, URLType
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.filters import judge
from gossamer.objects.normalizing import rewriting_of
from gossamer.objects.patterns import PatternError
from gossamer.objects.site import Site
from gossamer.objects.url import URL
from gossamer.parse.scraper_records import FeedLink, Scraped, Tags
from gossamer.url.canonical import canonicalize

STOPPED: Final = 1 << ErrorBit.PROCESSOR_FILTER_BREAK
_FAULT: Final = 1 << ErrorBit.REGULAR_EXPRESSION
_PATIENCE_SECONDS: Final = 2.0
_MOST_SHOWN: Final = 60_000
"""Characters of a tag that a filter sees."""


def stopped_before(site: Site, url: URL, properties: Mapping[str, str]) -> int:
    """Return the bits for a URL that filters keep from the processor (stage 7); 0 if none does."""
    return _stopped(site, url, properties, FilterStage.BEFORE_PROCESSOR)


def stopped_after(
    site: Site, url: URL, properties: Mapping[str, str], tags: Tags, entry: str = ""
) -> int:
    """Return the bits for a content that filters stop (stage 4); subjects may name its tags.

    `entry` is the URL of the content, if it is one of several that a page has.
    """
    return _stopped(site, url, properties, FilterStage.AFTER_PROCESSOR, tags, entry)


def wanted_links(
    site: Site,
    feed: URL,
    properties: Mapping[str, str],
    result: Scraped,
    monotonic: Callable[[], float] = time.monotonic,
) -> tuple[list[FeedLink], int]:
    """Return the entries of a feed that its site wants, as it wants them, and bits of faults."""
    rules = replace(rules_of(properties), rewriting=rewriting_of(properties, processor=True))
    patience = Patience(_PATIENCE_SECONDS, monotonic)
    macros = macros_of(properties, site_id=site.id, depth=feed.depth + 1, page_url=feed.url)
    sieve = Sieve(rules, site.filters, macros, patience)
    wanted: dict[str, FeedLink] = {}
    for link in result.links:
        canonical = canonicalize(link.url)
        name = None if canonical is None else sieve.passed(canonical, FilterMode.URL)
        if name is None or name in wanted:
            continue
        tags = result.contents[link.content] if link.content >= 0 else None
        if tags is None or not stopped_after(site, feed, properties, tags, name):
            wanted[name] = replace(link, url=name)
    try:
        names = rules.within_limits(list(wanted), feed.url, feed.content_type)
    except PatternError:
        names, patience.faults = [], patience.faults + 1
    return [wanted[name] for name in names], _FAULT if patience.faults else 0


def with_first_fields(entry: URL, properties: Mapping[str, str]) -> URL:
    """Return the URL of an entry that is to be fetched, with the fields that new URLs begin with.

    It stays of its type: that says what it is.
    """
    if entry.type is URLType.FETCHED:
        return entry
    fields = dict(rules_of(properties).first_fields)
    fields.pop("type", None)
    return replace(entry, **fields) if fields else entry


def _stopped(
    site: Site,
    url: URL,
    properties: Mapping[str, str],
    stage: FilterStage,
    tags: Tags | None = None,
    entry: str = "",
) -> int:
    macros = {
        **{name: value[:_MOST_SHOWN] for name, value in (tags or {}).items()},
        **macros_of(properties, site_id=site.id, depth=url.depth),
        "CONTENT_TYPE": url.content_type,
        "HTTP_CODE": str(url.http_code),
        "SIZE": str(url.size),
    }
    filters = site.filters
    if not url.parent_md5 and not entry:
        # Filters for all stages are about what is found; a root URL was named by the client.
        filters = [each for each in filters if each.stage == stage]
    verdict = judge(entry or url.url, filters, stage, macros=macros)
    if verdict.passes:
        return 0
    return STOPPED | (_FAULT if verdict.fault else 0)
