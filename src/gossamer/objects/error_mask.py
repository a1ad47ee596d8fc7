"""The error mask of sites and URLs: what each bit means, and which bit an outcome sets.

Bits are stored and part of the interface. 0 to 18 and 32 to 36 are those of the document; the
others are finer causes (C32). An outcome may set two bits: the general one, and its finer cause.
"""

from enum import IntEnum
from typing import Final

from gossamer.outcomes import Outcome


class ErrorBit(IntEnum):
    """The number of a bit."""

    WRONG_URL = 0
    TIMEOUT = 1
    HTTP_ERROR = 2
    EMPTY_CONTENT = 3
    WRONG_MIME_TYPE = 4
    CONNECTION_ERROR = 5
    CODE_PAGE_CONVERSION = 6
    BAD_REDIRECTION = 7
    SIZE_ERROR = 8
    AUTHORIZATION_ERROR = 9
    FILE_OPERATION = 10
    ROBOTS = 11
    HTML_PARSE = 12
    BAD_ENCODING = 13
    SITE_MAX_ERRORS = 14
    SITE_MAX_RESOURCES = 15
    RAW_NOT_STORED = 16
    MAX_HTTP_REDIRECTS = 17
    MAX_HTML_REDIRECTS = 18
    GENERAL_CRAWLER = 19
    INVALID_DTD = 20
    MACRO_DESERIALIZATION = 21
    FETCH_AMBIGUOUS_REQUEST = 22
    FETCH_CONNECTION_ERROR = 23
    FETCH_HTTP_ERROR = 24
    FETCH_INVALID_URL = 25
    FETCH_TOO_MANY_REDIRECTS = 26
    FETCH_CONNECT_TIMEOUT = 27
    FETCH_READ_TIMEOUT = 28
    FETCH_TIMEOUT = 29
    FETCHER_INTERNAL = 30
    MAX_RESOURCES_NUMBER = 31
    PROCESSING_MAX_ERRORS = 32
    PROCESSING_MAX_RESOURCES = 33
    UNSUPPORTED_CONTENT_TYPE = 34
    RAW_DECODING = 35
    SCRAPER = 36
    RAW_MISSING = 37
    REGULAR_EXPRESSION = 38
    MANDATORY_TEMPLATE = 39
    PROCESSOR_FILTER_BREAK = 40
    SITE_STATE = 41
    MAX_ITEMS = 42
    MAX_URLS_FROM_PAGE = 43
    TEMPLATE_SOURCE = 44
    EMPTY_FEED = 45
    EXTERNAL_URL_SCHEMA = 46
    NO_VALID_PROXY = 47
    FORBIDDEN = 48
    NO_TIME_WINDOW = 49
    FATAL_INITIALIZATION = 50
    BATCH_ITEM_PROCESSING = 51
    MAX_EXECUTION_TIME = 52


MEANINGS: Final[dict[ErrorBit, str]] = {
    ErrorBit.WRONG_URL: "wrong URL",
    ErrorBit.TIMEOUT: "time-out",
    ErrorBit.HTTP_ERROR: "HTTP error",
    ErrorBit.EMPTY_CONTENT: "empty content",
    ErrorBit.WRONG_MIME_TYPE: "wrong MIME type",
    ErrorBit.CONNECTION_ERROR: "connection error",
    ErrorBit.CODE_PAGE_CONVERSION: "code page conversion error",
    ErrorBit.BAD_REDIRECTION: "bad redirection",
    ErrorBit.SIZE_ERROR: "size error",
    ErrorBit.AUTHORIZATION_ERROR: "authorization error",
    ErrorBit.FILE_OPERATION: "file operation error",
    ErrorBit.ROBOTS: "forbidden by robots.txt",
    ErrorBit.HTML_PARSE: "HTML parse error",
    ErrorBit.BAD_ENCODING: "bad encoding",
    ErrorBit.SITE_MAX_ERRORS: "maximum of errors of the site reached while crawling",
    ErrorBit.SITE_MAX_RESOURCES: "maximum of resources of the site reached while crawling",
    ErrorBit.RAW_NOT_STORED: "raw content not stored",
    ErrorBit.MAX_HTTP_REDIRECTS: "maximum of HTTP redirects reached",
    ErrorBit.MAX_HTML_REDIRECTS: "maximum of HTML redirects reached",
    ErrorBit.GENERAL_CRAWLER: "general error of the crawler",
    ErrorBit.INVALID_DTD: "invalid document type definition",
    ErrorBit.MACRO_DESERIALIZATION: "a macro cannot be read",
    ErrorBit.FETCH_AMBIGUOUS_REQUEST: "fetching: the request or the answer is not sound HTTP",
    ErrorBit.FETCH_CONNECTION_ERROR: "fetching: no connection, or it was lost",
    ErrorBit.FETCH_HTTP_ERROR: "fetching: HTTP error",
    ErrorBit.FETCH_INVALID_URL: "fetching: the URL cannot or must not be asked for",
    ErrorBit.FETCH_TOO_MANY_REDIRECTS: "fetching: too many redirects",
    ErrorBit.FETCH_CONNECT_TIMEOUT: "fetching: time-out while connecting",
    ErrorBit.FETCH_READ_TIMEOUT: "fetching: time-out while reading",
    ErrorBit.FETCH_TIMEOUT: "fetching: time-out as a whole",
    ErrorBit.FETCHER_INTERNAL: "fetching: internal error",
    ErrorBit.MAX_RESOURCES_NUMBER: "maximum number of resources reached",
    ErrorBit.PROCESSING_MAX_ERRORS: "maximum of errors of the site reached while processing",
    ErrorBit.PROCESSING_MAX_RESOURCES: "maximum of resources of the site reached while processing",
    ErrorBit.UNSUPPORTED_CONTENT_TYPE: "content type not supported for processing",
    ErrorBit.RAW_DECODING: "raw content cannot be decoded",
    ErrorBit.SCRAPER: "error of the scraper",
    ErrorBit.RAW_MISSING: "raw content is missing on disk",
    ErrorBit.REGULAR_EXPRESSION: "a regular expression cannot be used",
    ErrorBit.MANDATORY_TEMPLATE: "a mandatory template gave nothing",
    ErrorBit.PROCESSOR_FILTER_BREAK: "stopped by a filter while processing",
    ErrorBit.SITE_STATE: "the state of the site does not allow it",
    ErrorBit.MAX_ITEMS: "maximum of items of the batch reached",
    ErrorBit.MAX_URLS_FROM_PAGE: "maximum of URLs from one page reached",
    ErrorBit.TEMPLATE_SOURCE: "the source of templates cannot be used",
    ErrorBit.EMPTY_FEED: "empty feed",
    ErrorBit.EXTERNAL_URL_SCHEMA: "the schema of URLs cannot be used",
    ErrorBit.NO_VALID_PROXY: "no valid proxy",
    ErrorBit.FORBIDDEN: "forbidden (403)",
    ErrorBit.NO_TIME_WINDOW: "no time window for a request",
    ErrorBit.FATAL_INITIALIZATION: "fatal error at the start",
    ErrorBit.BATCH_ITEM_PROCESSING: "an item of the batch cannot be processed",
    ErrorBit.MAX_EXECUTION_TIME: "maximum of execution time reached",
}

FATAL_MASK: Final = 4_198_399
"""Bits 0 to 11 and 22: with any of them a URL is not processed."""

_B: Final = ErrorBit
_CONNECTION: Final = (_B.CONNECTION_ERROR, _B.FETCH_CONNECTION_ERROR)
_HTTP: Final = (_B.HTTP_ERROR, _B.FETCH_HTTP_ERROR)
_NOT_HTTP: Final = (_B.HTTP_ERROR, _B.FETCH_AMBIGUOUS_REQUEST)
_REFUSED: Final = (_B.WRONG_URL, _B.FETCH_INVALID_URL)
_STORED: Final = (_B.FILE_OPERATION, _B.RAW_NOT_STORED)

# Every outcome is here; an empty entry is no error.
_BITS: Final[dict[Outcome, tuple[ErrorBit, ...]]] = {
    Outcome.OK: (),
    Outcome.OK_PARTIAL: (),
    Outcome.NOT_MODIFIED: (),
    Outcome.HTTP_4XX: _HTTP,
    Outcome.HTTP_429: _HTTP,
    Outcome.HTTP_5XX: _HTTP,
    Outcome.NET_REFUSED: _CONNECTION,
    Outcome.NET_RESET: _CONNECTION,
    Outcome.NET_UNREACHABLE: _CONNECTION,
    Outcome.NET_CLOSED_EARLY: _CONNECTION,
    Outcome.NET_TIMEOUT_CONNECT: (_B.TIMEOUT, _B.FETCH_CONNECT_TIMEOUT),
    Outcome.NET_TIMEOUT_HEADERS: (_B.TIMEOUT, _B.FETCH_READ_TIMEOUT),
    Outcome.NET_TIMEOUT_TOTAL: (_B.TIMEOUT, _B.FETCH_TIMEOUT),
    Outcome.NET_SLOW: (_B.TIMEOUT, _B.FETCH_READ_TIMEOUT),
    Outcome.DNS_NXDOMAIN: _CONNECTION,
    Outcome.DNS_NODATA: _CONNECTION,
    Outcome.DNS_SERVFAIL: _CONNECTION,
    Outcome.DNS_TIMEOUT: (_B.TIMEOUT, _B.FETCH_CONNECT_TIMEOUT),
    Outcome.DNS_BAD: _CONNECTION,
    Outcome.TLS_EXPIRED: _CONNECTION,
    Outcome.TLS_UNTRUSTED: _CONNECTION,
    Outcome.TLS_NAME: _CONNECTION,
    Outcome.TLS_HANDSHAKE: _CONNECTION,
    Outcome.TLS_NOT_TLS: _CONNECTION,
    Outcome.PROTO_NOT_HTTP: _NOT_HTTP,
    Outcome.PROTO_STATUS: _NOT_HTTP,
    Outcome.PROTO_VERSION: _NOT_HTTP,
    Outcome.PROTO_HEADER: _NOT_HTTP,
    Outcome.PROTO_HEADER_LIMIT: _NOT_HTTP,
    Outcome.PROTO_FRAMING: _NOT_HTTP,
    Outcome.PROTO_CHUNK: _NOT_HTTP,
    Outcome.PROTO_INTERIM: _NOT_HTTP,
    Outcome.PROTO_UPGRADE: _NOT_HTTP,
    Outcome.BODY_SHORT: _CONNECTION,
    Outcome.BODY_TOO_LARGE: (_B.SIZE_ERROR,),
    Outcome.BODY_DECODE: (_B.BAD_ENCODING,),
    Outcome.BODY_BOMB: (_B.SIZE_ERROR,),
    Outcome.BODY_ENCODING: (_B.BAD_ENCODING,),
    Outcome.REDIR_NONE: (_B.BAD_REDIRECTION,),
    Outcome.REDIR_BAD: (_B.BAD_REDIRECTION,),
    Outcome.REDIR_LOOP: (_B.BAD_REDIRECTION, _B.FETCH_TOO_MANY_REDIRECTS),
    Outcome.REDIR_TOO_MANY: (_B.MAX_HTTP_REDIRECTS, _B.FETCH_TOO_MANY_REDIRECTS),
    Outcome.REDIR_SCHEME: (_B.BAD_REDIRECTION,),
    Outcome.REDIR_SCOPE: (_B.BAD_REDIRECTION,),
    Outcome.POLICY_PRIVATE_ADDRESS: _REFUSED,
    Outcome.POLICY_PORT: _REFUSED,
    Outcome.POLICY_SCOPE: _REFUSED,
    Outcome.POLICY_ROBOTS: (_B.ROBOTS,),
    Outcome.POLICY_ROBOTS_UNREACHABLE: (_B.ROBOTS,),
    Outcome.POLICY_TRAP: _REFUSED,
    Outcome.POLICY_BUDGET: (_B.MAX_RESOURCES_NUMBER,),
    Outcome.PARSE_FAILED: (_B.HTML_PARSE,),
    Outcome.PARSE_TRUNCATED: (),
    Outcome.PARSE_BUDGET: (_B.HTML_PARSE, _B.MAX_EXECUTION_TIME),
    Outcome.STORE_FULL: _STORED,
    Outcome.STORE_FAILED: _STORED,
    Outcome.INTERNAL: (_B.GENERAL_CRAWLER, _B.FETCHER_INTERNAL),
}
_BY_STATUS: Final = {
    401: (_B.AUTHORIZATION_ERROR,),
    403: (_B.FORBIDDEN,),
    407: (_B.AUTHORIZATION_ERROR,),
}


def bits_of_outcome(outcome: Outcome, http_code: int = 0) -> tuple[ErrorBit, ...]:
    """Return the bits that an outcome sets; some HTTP codes add one of their own."""
    bits = _BITS[outcome]
    return bits + _BY_STATUS.get(http_code, ()) if bits == _HTTP else bits


def mask_of_outcome(outcome: Outcome, http_code: int = 0) -> int:
    """Return the error mask of a URL whose fetch ended so."""
    return mask_of(*bits_of_outcome(outcome, http_code))


def mask_of(*bits: ErrorBit) -> int:
    """Return the mask with these bits set."""
    mask = 0
    for bit in bits:
        mask |= 1 << bit
    return mask


def bits_in(mask: int) -> list[ErrorBit]:
    """Return the bits with a meaning that are set in a mask, the lowest first."""
    return [bit for bit in ErrorBit if mask >> bit & 1]


def described(mask: int) -> list[str]:
    """Return what the bits of a mask mean."""
    return [MEANINGS[bit] for bit in bits_in(mask)]
