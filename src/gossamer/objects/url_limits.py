"""Which of the URLs on a page are taken: COLLECT_URLS_LIMITS and URL_LIMITS. Pure."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer.objects.patterns import PatternError, check_pattern, found_in
from gossamer.objects.problems import ObjectError
from gossamer.objects.record import Count
from gossamer.wording import shortened

PAGE_LIMITS: Final = "COLLECT_URLS_LIMITS"
"""Its patterns name pages: what is taken from them."""
URL_LIMITS: Final = "URL_LIMITS"
"""Its patterns name URLs: what is taken of them from any page."""
ANY: Final = "*"
_MOST: Final = 100


class UrlLimit(Struct, frozen=True, forbid_unknown_fields=True):
    """How many URLs are taken from one page; what is not named is not limited."""

    max_items: Count | None = None
    offset: Count = 0
    """So many are passed over before."""
    content_types: tuple[str, ...] = ()
    """Only pages of these types are meant; empty: all."""
    url_masks: tuple[str, ...] = ()
    """Only URLs in which one of these patterns is found are counted; empty: all."""


UrlLimits = tuple[tuple[str, UrlLimit], ...]
_Given = Annotated[dict[str, UrlLimit], Meta(max_length=_MOST)]


def parse_limits(text: str, name: str) -> UrlLimits:
    """Return limits by pattern, in their order; ObjectError if they cannot be used."""
    if not text.strip():
        return ()
    try:
        given = msgspec.json.decode(text, type=_Given)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        expected = f"a map of patterns to limits is expected ({shortened(str(error), 100)})"
        raise ObjectError("Property", name, expected) from None
    for pattern, limit in given.items():
        if len(limit.url_masks) + len(limit.content_types) > _MOST:
            raise ObjectError("Property", name, f"at most {_MOST} masks and types are expected")
        for each in (pattern, *limit.url_masks):
            try:
                _check(each)
            except PatternError as error:
                raise ObjectError("Property", name, error.expected) from None
    return tuple(given.items())


@lru_cache(maxsize=1_024)
def limits_in(text: str, name: str) -> UrlLimits:
    """Return the limits of a site; what cannot be used was refused when it was set."""
    try:
        return parse_limits(text, name)
    except ObjectError:
        return ()


def within_page_limits(
    urls: Sequence[str], limits: UrlLimits, page_url: str, content_type: str
) -> list[str]:
    """Return the URLs that are taken from a page: by the first limit that means the page."""
    for pattern, limit in limits:
        is_of_type = not limit.content_types or content_type in limit.content_types
        if is_of_type and _is_meant(pattern, page_url):
            return _taken(urls, limit, partial(_has_mask, limit))
    return list(urls)


def within_url_limits(urls: Sequence[str], limits: UrlLimits, content_type: str) -> list[str]:
    """Return the URLs that are taken, each counted by the first limit that means it."""
    kept = list(urls)
    claimed: set[str] = set()
    for pattern, limit in limits:
        if limit.content_types and content_type not in limit.content_types:
            continue
        meant = {
            url
            for url in urls
            if url not in claimed and _is_meant(pattern, url) and _has_mask(limit, url)
        }
        claimed |= meant
        kept = _taken(kept, limit, meant.__contains__)
    return kept


def _taken(urls: Sequence[str], limit: UrlLimit, is_counted: Callable[[str], bool]) -> list[str]:
    """Leave out counted URLs before the offset and beyond the most; keep all others."""
    kept = []
    count = 0
    for url in urls:
        if is_counted(url):
            count += 1
            is_before = count <= limit.offset
            is_beyond = limit.max_items is not None and count > limit.offset + limit.max_items
            if is_before or is_beyond:
                continue
        kept.append(url)
    return kept


def _has_mask(limit: UrlLimit, url: str) -> bool:
    return not limit.url_masks or any(_is_meant(mask, url) for mask in limit.url_masks)


def _is_meant(pattern: str, url: str) -> bool:
    return pattern == ANY or found_in(pattern, url)


def _check(pattern: str) -> None:
    if pattern != ANY:
        check_pattern(pattern)
