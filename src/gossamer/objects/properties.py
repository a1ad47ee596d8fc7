"""The properties of a site: which are supported, and what those that steer crawling mean."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from gossamer.objects.enumerations import ModesFlag
from gossamer.objects.headers import parse_cookies, parse_headers
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.objects.site import Property
from gossamer.wording import shortened

OWN_PREFIX: Final = "USER_"
"""Names that clients may give to properties of their own; the service keeps them and no more."""

SUPPORTED: Final = frozenset(
    {
        "AGING_URL_CRITERION",
        "ALLOWED_CTYPES",
        "CONNECTION_TIMEOUT",
        "CONTENT_HASH",
        "DEFAULT_METRIC",
        "HTML_REDIRECTS_MAX",
        "HTTP_AUTH_NAME",
        "HTTP_AUTH_PWD",
        "HTTP_CODE_STATUS_UPDATE",
        "HTTP_COOKIE",
        "HTTP_HEADERS",
        "HTTP_REDIRECTS_MAX",
        "INCREMENTAL_CRAWLING",
        "MODES_FLAG",
        "PDATE_DAY_MONTH_ORDER",
        "PDATE_SOURCES_MASK",
        "PDATE_SOURCES_MASK_OVERWRITE",
        "PDATE_TIMEZONES",
        "PROCESSOR_NAME",
        "PROCESSOR_NAME_REPLACE",
        "PROCESSOR_PROPERTIES",
        "PROCESS_CTYPES",
        "PROCESS_WHERE_SITES",
        "PROCESS_WHERE_URLS",
        "PROTOCOLS",
        "RECRAWL_DELETE",
        "RECRAWL_DELETE_WHERE",
        "RECRAWL_NO_ROOT_URLS",
        "RECRAWL_PERIOD_MAX",
        "RECRAWL_PERIOD_MIN",
        "RECRAWL_PERIOD_MODE",
        "RECRAWL_PERIOD_STEP",
        "RECRAWL_WHERE",
        "SCRAPER_METRICS",
        "STATS_FREQ_ENABLED",
        "STATS_LOG_ENABLED",
        "STORE_HTTP_HEADERS",
        "STORE_HTTP_REQUEST",
        "UPDATE_NOT_INSERT_ROOT_URLS",
        "template",
    }
)
_NO_BROWSER: Final = "pages are fetched without a browser"
_NOT_YET: Final = "it is not built yet"
_ONE_WAY: Final = "the crawler does this in one way, for all sites"
# Known from the origin; a site that asks for one of them is told so, and not crawled differently.
UNSUPPORTED: Final = {
    "AUTO_REMOVE_ORDER": _NOT_YET,
    "AUTO_REMOVE_RESOURCES": _NOT_YET,
    "AUTO_REMOVE_WHERE": _NOT_YET,
    "AUTO_REMOVE_WHERE_ACTIVE": _NOT_YET,
    "COLLECT_POST_DATA": "forms are never sent",
    "COLLECT_URLS_LIMITS": "use maxURLsFromPage and filters",
    "COLLECT_URLS_XPATH_LIST": "URLs are collected from all places of a page; use filters",
    "CONTENT_TYPE_MAP": _ONE_WAY,
    "COUNTER_CRIT_CLURLS": _NOT_YET,
    "COUNTER_CRIT_CONTENTS": _NOT_YET,
    "COUNTER_CRIT_DURLS": _NOT_YET,
    "COUNTER_CRIT_ERRORS": _NOT_YET,
    "COUNTER_CRIT_NURLS": _NOT_YET,
    "COUNTER_CRIT_RESOURCES": _NOT_YET,
    "DETECT_MODIFIED": "requests are conditional wherever a server allows it",
    "DYNAMIC_FETCH_ONLY_FOR_ROOT_URL": _NO_BROWSER,
    "EXTERNAL_URL": "URLs are not rewritten through other services; use URL_NORMALIZE",
    "FETCHER_MACRO": _NO_BROWSER,
    "FETCHER_POST": "forms are never sent",
    "FETCHER_TYPE": _NO_BROWSER,
    "HOST_ALIVE_CHECK": "the first request to a host is its check",
    "HOST_ALIVE_CHECK_PROXY": "the first request through a proxy is its check",
    "HTML_RECOVER": "pages are always parsed as browsers do",
    "HTTP_FREQ_LIMITS": "use requestDelay; Crawl-delay and Retry-After are kept anyway",
    "HTTP_PROXY_HOST": _NOT_YET,
    "HTTP_PROXY_PORT": _NOT_YET,
    "HTTP_REDIRECT_LINK": "an article's link is the URL that it was fetched from",
    "HTTP_REDIRECT_RESOLVER": "targets of redirects are discoveries like any other",
    "LINK_RESOLVE": "targets of redirects are discoveries like any other",
    "LOGGER": _ONE_WAY,
    "MEDIA_LIMITS": "media are not measured",
    "MIME_TYPE_AUTO_DETECT": "types are always detected as browsers do",
    "MIME_TYPE_STORE_ON_DISK": "use ALLOWED_CTYPES",
    "RECRAWL_OPTIMIZE": "the catalog keeps itself in order",
    "RECRAWL_URL_AGE_EXPRESSION": "use RECRAWL_WHERE",
    "REFERER_SELF_URL": "no Referer is sent; use HTTP_HEADERS",
    "REPLACE": "use rules of template",
    "ROBOTS_CACHE": "robots.txt is kept for all sites by the settings of the crawler",
    "ROBOTS_COLLECT": "robots.txt is always obeyed",
    "ROBOTS_MODE": "robots.txt is always obeyed",
    "RSS_FEEDPARSER_MODE": _ONE_WAY,
    "RSS_FEED_ZERO_ITEM": _ONE_WAY,
    "SCRAPER_LANG_DETECT": _ONE_WAY,
    "SOCIAL_RATE": "no other services are asked",
    "SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER": "values are never run as SQL",
    "SQL_EXPRESSION_FIELDS_UPDATE_PROCESSOR": "values are never run as SQL",
    "STORE_COOKIES": _NOT_YET,
    "TAGS_MAPPING": "use the tag names in template",
    "TAGS_TYPES": "use type in the rules of template",
    "TEMPLATE_SOURCE": "use template",
    "TIMEZONE": "dates are kept in UTC",
    "URLS_FIELDS_INIT": _NOT_YET,
    "URLS_SCHEMA": "add the URLs with URL_NEW",
    "URL_CHAIN": "each page is a content of its own",
    "URL_LIMITS": "use maxURLs and filters",
    "URL_NORMALIZE": _NOT_YET,
    "URL_NORMALIZE_MASK": _NOT_YET,
    "URL_NORMALIZE_MASK_PROCESSOR": "use URL_NORMALIZE",
    "URL_TEMPLATE_REALTIME": "URLs are not rewritten; use URL_NORMALIZE",
    "URL_TEMPLATE_REALTIME_URLENCODE": "URLs are not rewritten; use URL_NORMALIZE",
    "URL_TEMPLATE_REGULAR": "URLs are not rewritten; use URL_NORMALIZE",
    "URL_TEMPLATE_REGULAR_URLENCODE": "URLs are not rewritten; use URL_NORMALIZE",
    "USER_PROXY": _NOT_YET,
}
_UNSUPPORTED_PREFIXES: Final = {
    "HTTP_POST_FORM_": "forms are never sent",
    "RECRAWL_URL_UPDATE": "use RECRAWL_WHERE",
    "SCRAPER_TEXT_": _ONE_WAY,
}
_ALL_MODES: Final = ModesFlag.CRAWLING | ModesFlag.PROCESSING | ModesFlag.RECRAWL | ModesFlag.AGING


def check_properties(properties: Iterable[Property]) -> None:
    """Raise an ObjectError that names the first property that is not supported, or not sound."""
    for each in properties:
        reason = reason_against(each.name)
        if reason:
            raise UnsupportedError("Property", shortened(each.name, 64), reason)
        check = _CHECKS.get(each.name)
        if check is not None:
            check(each.value)


def reason_against(name: str) -> str:
    """Return why a property is not supported; empty if it is."""
    if name in UNSUPPORTED:
        return f"it is not supported: {UNSUPPORTED[name]}"
    if name in SUPPORTED or name.startswith(OWN_PREFIX):
        return ""
    for prefix, reason in _UNSUPPORTED_PREFIXES.items():
        if name.startswith(prefix):
            return f"it is not supported: {reason}"
    return f"there is no such property; names of your own start with {OWN_PREFIX}"


def value_of(
    properties: Sequence[Property], name: str, default: str = "", url_md5: str = ""
) -> str:
    """Return the value of a property: that of the URL if it has one, else that of the site."""
    found = default
    for each in properties:
        if each.name != name or each.url_md5 not in ("", url_md5):
            continue
        if each.url_md5:
            return each.value
        found = each.value
    return found


def values_of(properties: Sequence[Property], name: str) -> list[str]:
    """Return all values of a property: it may be there several times, each a list with commas."""
    texts = (each.value for each in properties if each.name == name)
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def is_on(properties: Sequence[Property], name: str, default: bool = False) -> bool:
    """Whether a switch is there and is not 0."""
    return value_of(properties, name, "1" if default else "0").strip() not in ("", "0")


def modes_of(text: str) -> ModesFlag:
    """Return the periodic processes that MODES_FLAG names; all, if it is empty."""
    text = text.strip()
    if not text:
        return _ALL_MODES
    if not text.isdecimal() or len(text) > 9 or not text.isascii():
        raise ObjectError("Property", "MODES_FLAG", "a sum of 1, 2, 8 and 16 is expected")
    return ModesFlag(int(text)) & _ALL_MODES


_CHECKS: Final[dict[str, Callable[[str], object]]] = {
    "HTTP_COOKIE": parse_cookies,
    "HTTP_HEADERS": parse_headers,
    "MODES_FLAG": modes_of,
}
