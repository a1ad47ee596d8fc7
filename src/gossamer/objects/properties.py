"""The properties of a site: which are supported, and what those that steer crawling mean."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Final

from msgspec import Meta

from gossamer.objects.conditions import (
    condition_check,
    json_check,
    moment_check,
    number_check,
    order_check,
    site_condition_check,
)
from gossamer.objects.content_hash import check_content_hash
from gossamer.objects.enumerations import CrawlStatus, ModesFlag
from gossamer.objects.first_fields import FIELDS_INIT, parse_first_fields
from gossamer.objects.frequency import parse_freq_limits
from gossamer.objects.headers import check_headers, parse_cookie_rules
from gossamer.objects.modified import parse_detection
from gossamer.objects.normalizing import (
    NORMALIZE,
    NORMALIZE_MASK,
    PROCESSOR_MASK,
    parse_mask,
    parse_rewriting,
)
from gossamer.objects.picking import XPATH_LIST, parse_path_sets
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.objects.proxying import check_proxy_host, check_proxy_port, check_user_proxy
from gossamer.objects.site import Property
from gossamer.objects.url_limits import PAGE_LIMITS, URL_LIMITS, parse_limits
from gossamer.objects.wishes import aliases_of, check_types, milliseconds_of
from gossamer.wording import shortened

HttpCode = Annotated[str, Meta(pattern="^[1-9][0-9]{2}$")]
OWN_PREFIX: Final = "USER_"
"""Names that clients may give to properties of their own; the service keeps them and no more."""

SUPPORTED: Final = frozenset(
    {
        "AGING_URL_CRITERION",
        "ALLOWED_CTYPES",
        "AUTO_REMOVE_ORDER",
        "AUTO_REMOVE_RESOURCES",
        "AUTO_REMOVE_WHERE",
        "AUTO_REMOVE_WHERE_ACTIVE",
        "COLLECT_URLS_LIMITS",
        "COLLECT_URLS_XPATH_LIST",
        "CONNECTION_TIMEOUT",
        "CONTENT_HASH",
        "CONTENT_TYPE_MAP",
        "DEFAULT_METRIC",
        "DETECT_MODIFIED",
        "HTML_REDIRECTS_MAX",
        "HTTP_AUTH_NAME",
        "HTTP_AUTH_PWD",
        "HTTP_CODE_STATUS_UPDATE",
        "HTTP_COOKIE",
        "HTTP_FREQ_LIMITS",
        "HTTP_HEADERS",
        "HTTP_PROXY_HOST",
        "HTTP_PROXY_PORT",
        "HTTP_REDIRECTS_MAX",
        "INCREMENTAL_CRAWLING",
        "MIME_TYPE_STORE_ON_DISK",
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
        "RECRAWL_URL_AGE_EXPRESSION",
        "RECRAWL_URL_UPDATE",
        "RECRAWL_URL_UPDATE_CDATE",
        "RECRAWL_URL_UPDATE_STATUS",
        "RECRAWL_URL_UPDATE_TCDATE",
        "RECRAWL_URL_UPDATE_UDATE",
        "RECRAWL_WHERE",
        "REFERER_SELF_URL",
        "SCRAPER_METRICS",
        "STATS_FREQ_ENABLED",
        "STATS_LOG_ENABLED",
        "STORE_COOKIES",
        "STORE_HTTP_HEADERS",
        "STORE_HTTP_REQUEST",
        "UPDATE_NOT_INSERT_ROOT_URLS",
        "URLS_FIELDS_INIT",
        "URL_LIMITS",
        "URL_NORMALIZE",
        "URL_NORMALIZE_MASK",
        "URL_NORMALIZE_MASK_PROCESSOR",
        "USER_PROXY",
        "template",
    }
)
_NO_BROWSER: Final = "pages are fetched without a browser"
_ONE_WAY: Final = "the crawler does this in one way, for all sites"
_ONE_COUNT: Final = (
    "a counter moves with each URL, and means the same for all sites; count by a condition of your "
    "own with URL_FETCH, or with SQL_CUSTOM"
)
# Known from the origin; a site that asks for one of them is told so, and not crawled differently.
UNSUPPORTED: Final = {
    "COLLECT_POST_DATA": "forms are never sent",
    "COUNTER_CRIT_CLURLS": _ONE_COUNT,
    "COUNTER_CRIT_CONTENTS": _ONE_COUNT,
    "COUNTER_CRIT_DURLS": _ONE_COUNT,
    "COUNTER_CRIT_ERRORS": _ONE_COUNT,
    "COUNTER_CRIT_NURLS": _ONE_COUNT,
    "COUNTER_CRIT_RESOURCES": _ONE_COUNT,
    "DYNAMIC_FETCH_ONLY_FOR_ROOT_URL": _NO_BROWSER,
    "EXTERNAL_URL": "URLs are not rewritten through other services; use URL_NORMALIZE",
    "FETCHER_MACRO": _NO_BROWSER,
    "FETCHER_POST": "forms are never sent",
    "FETCHER_TYPE": _NO_BROWSER,
    "HOST_ALIVE_CHECK": "the first request to a host is its check",
    "HOST_ALIVE_CHECK_PROXY": "the first request through a proxy is its check",
    "HTML_RECOVER": "pages are always parsed as browsers do",
    "HTTP_REDIRECT_LINK": "an article's link is the URL that it was fetched from",
    "HTTP_REDIRECT_RESOLVER": "targets of redirects are discoveries like any other",
    "LINK_RESOLVE": "targets of redirects are discoveries like any other",
    "LOGGER": _ONE_WAY,
    "MEDIA_LIMITS": "media are not measured",
    "MIME_TYPE_AUTO_DETECT": "types are always detected as browsers do",
    "RECRAWL_OPTIMIZE": "the catalog keeps itself in order",
    "REPLACE": "use rules of template",
    "ROBOTS_CACHE": "robots.txt is kept for all sites by the settings of the crawler",
    "ROBOTS_COLLECT": "robots.txt is always obeyed",
    "ROBOTS_MODE": "robots.txt is always obeyed",
    "RSS_FEEDPARSER_MODE": "feeds of all forms are read by one reader, faults or not",
    "RSS_FEED_ZERO_ITEM": "no description of its effect is known; an empty feed sets bit 45",
    "SCRAPER_LANG_DETECT": _ONE_WAY,
    "SOCIAL_RATE": "no other services are asked",
    "SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER": "values are never run as SQL",
    "SQL_EXPRESSION_FIELDS_UPDATE_PROCESSOR": "values are never run as SQL",
    "TAGS_MAPPING": "use the tag names in template",
    "TAGS_TYPES": "use type in the rules of template",
    "TEMPLATE_SOURCE": "use template",
    "TIMEZONE": "dates are kept in UTC",
    "URLS_SCHEMA": "add the URLs with URL_NEW",
    "URL_CHAIN": "each page is a content of its own",
    "URL_TEMPLATE_REALTIME": "URLs are not rewritten; use URL_NORMALIZE",
    "URL_TEMPLATE_REALTIME_URLENCODE": "URLs are not rewritten; use URL_NORMALIZE",
    "URL_TEMPLATE_REGULAR": "URLs are not rewritten; use URL_NORMALIZE",
    "URL_TEMPLATE_REGULAR_URLENCODE": "URLs are not rewritten; use URL_NORMALIZE",
}
_UNSUPPORTED_PREFIXES: Final = {
    "HTTP_POST_FORM_": "forms are never sent",
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


def _check_protocols(text: str) -> None:
    """Refuse names of protocols that are never crawled."""
    for name in filter(None, map(str.strip, text.lower().split(","))):
        if name not in ("http", "https"):
            raise ObjectError("Property", "PROTOCOLS", "http, https, or both are expected")


def _check_connection_timeout(text: str) -> None:
    """Refuse what is no time."""
    if text.strip() and not milliseconds_of(text.strip()):
        raise ObjectError(
            "Property", "CONNECTION_TIMEOUT", "seconds are expected, from 0.001 to 3600"
        )


_REMOVED_AT_ONCE: Final = range(100_001)
_REDIRECTS: Final = range(100_000)
_MINUTES: Final = range(1, 525_601)
_MASKS: Final = range(100_000)
_STATUSES: Final = json_check(
    "HTTP_CODE_STATUS_UPDATE",
    dict[HttpCode, CrawlStatus],
    'a map of HTTP codes to statuses, such as {"404": 1},',
)
_STATUSES_WHEN_FOUND_AGAIN: Final = frozenset({1, 4, 7})

_CHECKS: Final[dict[str, Callable[[str], object]]] = {
    "AGING_URL_CRITERION": condition_check("AGING_URL_CRITERION"),
    "AUTO_REMOVE_ORDER": order_check("AUTO_REMOVE_ORDER"),
    "AUTO_REMOVE_RESOURCES": number_check("AUTO_REMOVE_RESOURCES", _REMOVED_AT_ONCE),
    "AUTO_REMOVE_WHERE": condition_check("AUTO_REMOVE_WHERE"),
    "AUTO_REMOVE_WHERE_ACTIVE": condition_check("AUTO_REMOVE_WHERE_ACTIVE"),
    PAGE_LIMITS: partial(parse_limits, name=PAGE_LIMITS),
    XPATH_LIST: parse_path_sets,
    "CONNECTION_TIMEOUT": _check_connection_timeout,
    "CONTENT_HASH": check_content_hash,
    "CONTENT_TYPE_MAP": aliases_of,
    "DETECT_MODIFIED": parse_detection,
    "HTML_REDIRECTS_MAX": number_check("HTML_REDIRECTS_MAX", _REDIRECTS),
    "HTTP_CODE_STATUS_UPDATE": _STATUSES,
    "HTTP_COOKIE": parse_cookie_rules,
    "HTTP_FREQ_LIMITS": parse_freq_limits,
    "HTTP_HEADERS": check_headers,
    "HTTP_PROXY_HOST": check_proxy_host,
    "HTTP_PROXY_PORT": check_proxy_port,
    "HTTP_REDIRECTS_MAX": number_check("HTTP_REDIRECTS_MAX", _REDIRECTS),
    "MIME_TYPE_STORE_ON_DISK": check_types,
    "MODES_FLAG": modes_of,
    "REFERER_SELF_URL": number_check("REFERER_SELF_URL", range(2)),
    "STORE_COOKIES": number_check("STORE_COOKIES", range(2)),
    "USER_PROXY": check_user_proxy,
    "PDATE_DAY_MONTH_ORDER": json_check("PDATE_DAY_MONTH_ORDER", list[object], "a list"),
    "PDATE_SOURCES_MASK": number_check("PDATE_SOURCES_MASK", _MASKS),
    "PDATE_SOURCES_MASK_OVERWRITE": number_check("PDATE_SOURCES_MASK_OVERWRITE", _MASKS),
    "PDATE_TIMEZONES": json_check("PDATE_TIMEZONES", list[object], "a list"),
    "PROCESSOR_NAME_REPLACE": json_check(
        "PROCESSOR_NAME_REPLACE", dict[str, str], "a map of names to names"
    ),
    "PROCESSOR_PROPERTIES": json_check("PROCESSOR_PROPERTIES", dict[str, object], "an object"),
    "PROCESS_WHERE_SITES": site_condition_check("PROCESS_WHERE_SITES"),
    "PROCESS_WHERE_URLS": condition_check("PROCESS_WHERE_URLS"),
    "PROTOCOLS": _check_protocols,
    "RECRAWL_DELETE_WHERE": condition_check("RECRAWL_DELETE_WHERE"),
    "RECRAWL_PERIOD_MAX": number_check("RECRAWL_PERIOD_MAX", _MINUTES),
    "RECRAWL_PERIOD_MIN": number_check("RECRAWL_PERIOD_MIN", _MINUTES),
    "RECRAWL_PERIOD_MODE": number_check("RECRAWL_PERIOD_MODE", range(2)),
    "RECRAWL_PERIOD_STEP": number_check("RECRAWL_PERIOD_STEP", _MINUTES),
    "RECRAWL_URL_AGE_EXPRESSION": condition_check("RECRAWL_URL_AGE_EXPRESSION"),
    "RECRAWL_URL_UPDATE": number_check("RECRAWL_URL_UPDATE", range(2)),
    "RECRAWL_URL_UPDATE_CDATE": moment_check("RECRAWL_URL_UPDATE_CDATE"),
    "RECRAWL_URL_UPDATE_STATUS": number_check(
        "RECRAWL_URL_UPDATE_STATUS", _STATUSES_WHEN_FOUND_AGAIN
    ),
    "RECRAWL_URL_UPDATE_TCDATE": moment_check("RECRAWL_URL_UPDATE_TCDATE"),
    "RECRAWL_URL_UPDATE_UDATE": moment_check("RECRAWL_URL_UPDATE_UDATE"),
    "RECRAWL_WHERE": condition_check("RECRAWL_WHERE"),
    "SCRAPER_METRICS": json_check("SCRAPER_METRICS", dict[str, object], "an object"),
    FIELDS_INIT: parse_first_fields,
    URL_LIMITS: partial(parse_limits, name=URL_LIMITS),
    NORMALIZE: parse_rewriting,
    NORMALIZE_MASK: parse_mask,
    PROCESSOR_MASK: partial(parse_mask, name=PROCESSOR_MASK),
    "template": json_check("template", dict[str, object], "an object with templates"),
}
