"""The numbers of the service: operations, states, kinds and masks.

They are part of the interface and are stored: never change or reuse one.
"""

from enum import IntEnum, IntFlag
from typing import Final

RESPONSE_OFFSET: Final = 100
"""The code of an answer is the code of its request plus this."""

GENERAL_SITE: Final = "0"
"""The id of the site that URLs without a site belong to."""


class Operation(IntEnum):
    """What a client may ask for."""

    SITE_NEW = 1
    SITE_UPDATE = 2
    SITE_STATUS = 3
    SITE_DELETE = 4
    SITE_CLEANUP = 5
    URL_NEW = 6
    URL_UPDATE = 7
    URL_STATUS = 8
    URL_DELETE = 9
    URL_FETCH = 10
    URL_CLEANUP = 11
    URL_CONTENT = 12
    RESOURCE_FETCH = 13
    RESOURCE_DELETE = 14
    SITE_FIND = 15
    SQL_CUSTOM = 16
    BATCH = 17
    URL_PURGE = 18
    FIELD_RECALCULATE = 19
    URL_VERIFY = 20
    URL_AGE = 21
    URL_PUT = 22
    URL_HISTORY = 23
    URL_STATS = 24
    PROXY_NEW = 25
    PROXY_UPDATE = 26
    PROXY_DELETE = 27
    PROXY_STATUS = 28
    PROXY_FIND = 29
    ATTR_SET = 30
    ATTR_UPDATE = 31
    ATTR_DELETE = 32
    ATTR_FETCH = 33
    # Not part of the interface for clients: data hosts say these to each other.
    HOST_CLAIM = 60
    HOST_TASK = 61
    HOST_DONE = 62


HOST_OPERATIONS: Final = frozenset({Operation.HOST_CLAIM, Operation.HOST_TASK, Operation.HOST_DONE})
"""What data hosts that crawl together ask of each other."""


class SiteState(IntEnum):
    """Where a site stands."""

    ACTIVE = 1
    DISABLED = 2
    SUSPENDED = 3
    DELETED = 4
    DELETE_TASK = 5
    RESTART = 6
    CLEANED = 7
    CLEANUP_TASK = 8
    NOT_FOUND = 9


class FetchType(IntEnum):
    """How the pages of a site are fetched."""

    STATIC = 1
    DYNAMIC = 2
    EXTERNAL = 3
    AUTO = 7


class URLState(IntEnum):
    """Whether a URL takes part."""

    ENABLED = 0
    DISABLED = 1
    ERROR = 2


class CrawlStatus(IntEnum):
    """How far a URL has come."""

    UNDEFINED = 0
    NEW = 1
    SELECTED_CRAWLING = 2
    CRAWLING = 3
    CRAWLED = 4
    SELECTED_PROCESSING = 5
    PROCESSING = 6
    PROCESSED = 7
    SELECTED_CRAWLING_INCREMENTAL = 8


class URLType(IntEnum):
    """What is done with the URLs found on a page."""

    REGULAR = 0
    """Collected for this site only, by its filters."""
    SINGLE = 1
    """Not collected."""
    REGULAR_EXT = 2
    """Collected for all known sites."""
    NEW_SITE = 3
    """Collected; sites are created as needed."""
    FETCHED = 4
    """Came as an item of a feed."""
    REAL_TIME_CRAWLER = 5
    CHAIN = 6


class ContentMask(IntEnum):
    """Whether there is content for a URL."""

    EMPTY = 0
    STORED_ON_DISK = 1


class SiteSelect(IntEnum):
    """How URL_NEW finds the site of a URL."""

    EXPLICIT = 0
    AUTO = 1
    QUALIFY_URL = 2
    NONE = 3


class URLKey(IntEnum):
    """What the field `url` of a request holds (its `urlType`)."""

    URL = 0
    MD5 = 1


class UpdateType(IntEnum):
    """What SITE_UPDATE does with lists."""

    APPEND = 0
    OVERWRITE = 1
    UPDATE = 2


class DelayedType(IntEnum):
    """Whether contents are removed later, by the purge, or at once."""

    DELAYED = 0
    NOT_DELAYED = 1


class TaskType(IntEnum):
    """Whether the answer waits for the work."""

    SYNC = 1
    ASYNC = 2


class HistoryCleanUp(IntEnum):
    """What SITE_CLEANUP does with the history of URLs."""

    NOT = 0
    LOG = 1
    FULL = 2


class FilterType(IntEnum):
    """What a match of a filter means."""

    EXCLUDE = 0
    INCLUDE = 1


class FilterMode(IntEnum):
    """Which URLs a filter is about: MEDIA for images, audio and video, URL for all others."""

    URL = 0
    MEDIA = 1


class FilterState(IntEnum):
    """Whether a filter is used."""

    DISABLED = 0
    ENABLED = 1


class FilterOperation(IntEnum):
    """How a filter compares (its `opCode`)."""

    REGULAR_EXPRESSION = 0
    EQUAL = 1
    NOT_EQUAL = 2
    EQUAL_OR_LESS = 3
    EQUAL_OR_MORE = 4
    LESS = 5
    MORE = 6
    SQL_EXPRESSION = 7


class FilterStage(IntEnum):
    """When a filter is asked."""

    COLLECT_URLS = 0
    BEFORE_DOM_PREPARATION = 1
    AFTER_DOM_PREPARATION = 2
    AFTER_DOM = 3
    AFTER_PROCESSOR = 4
    ALL = 5
    COLLECT_URLS_PROTOCOL = 6
    BEFORE_PROCESSOR = 7
    REDIRECT_URL = 8


class CrawlerType(IntEnum):
    """What a batch is for."""

    NORMAL = 1
    INCREMENTAL = 2
    URLS_RETURN = 3
    REAL_TIME = 4
    PURGE = 5
    PROCESS = 6
    AGE = 7


class DatabaseMode(IntEnum):
    """Whether a batch reads and writes the records of its URLs (its `dbMode`)."""

    NO = 0
    R = 1
    W = 2
    RW = 3


class FetchAlgorithm(IntEnum):
    """How URL_FETCH goes over sites."""

    DEFAULT = 0
    PROPORTIONAL = 1


class DeleteReason(IntEnum):
    """Why a URL is deleted."""

    USER_REQUEST = 0
    AGING = 1
    SITE_LIMITS = 2
    SELECT_TO_CRAWL_TTL = 3
    SELECT_TO_PROCESS_TTL = 4
    RECRAWL = 5
    CRAWLER_AUTOREMOVE = 6
    SITE_UPDATE_ROOT_URLS = 7
    RT_FINALIZER = 10
    PROCESSOR_DUPLICATE = 11


class ContentTypeMask(IntFlag):
    """Which contents URL_CONTENT is asked for."""

    PROCESSED = 1
    RAW_LAST = 2
    RAW_FIRST = 4
    RAW_ALL = 8
    HEADERS = 16
    REQUESTS = 32
    META = 64
    COOKIES = 128
    TIDY = 256
    DYNAMIC = 512
    RAW = 1024
    CHAIN = 2048
    PROCESSED_INTERNAL = 4096
    PROCESSED_CUSTOM = 8192
    PROCESSED_ALL = 16384
    ATTRIBUTES = 32768


DEFAULT_CONTENT_MASK: Final = int(ContentTypeMask.PROCESSED | ContentTypeMask.RAW_LAST)


class ContentKind(IntEnum):
    """What a Content holds (its `typeId`)."""

    RAW = 0
    TIDY = 1
    HEADERS = 2
    REQUESTS = 3
    META = 4
    COOKIES = 5
    DYNAMIC = 9
    PROCESSOR = 10
    CHAIN_PARTS = 11


class ContentStatus(IntEnum):
    """What became of one URLContentRequest."""

    OK = 0
    URL_NOT_FOUND = 1
    RAW_NOT_FOUND = 2
    PROCESSED_NOT_FOUND = 3


class RecalculateType(IntEnum):
    """How much FIELD_RECALCULATE counts again."""

    FULL = 0
    PARTITION = 1


class FieldNames(IntEnum):
    """Whether rows of SQL_CUSTOM are lists or maps (its `includeFieldsNames`)."""

    INDEX = 0
    NAMES = 1


class LogOperation(IntEnum):
    """An entry of a URL's history; 1 to 7 are changes to the status of that number."""

    INSERT = 20
    DELETE = 21
    UPDATE = 22
    CLEANUP = 23
    AGING = 24
    CONTENT = 25


class ItemStatus(IntEnum):
    """What became of one object of URL_NEW, PROXY_NEW or ATTR_SET."""

    INSERTED = 0
    FAILED = 1
    EXISTED = 2
    NO_SITE = 3
    """Of ATTR_SET only."""


class ErrorCode(IntEnum):
    """Error codes of a GeneralResponse."""

    OK = 0
    SITE = 2020
    """Of SITE_NEW: there is such a site already. Of SITE_UPDATE: there is none."""
    SQL = 2021


class ResponseError(IntEnum):
    """Error codes of a ClientResponse."""

    OK = 0
    NO_ANSWER = 1
    NO_NODE = 2


class ResponseItemError(IntEnum):
    """Error codes of one node's item in a ClientResponse."""

    OK = 0
    NOT_RESTORED = 1
    EXECUTION = 2


class ModesFlag(IntFlag):
    """The site property MODES_FLAG: which periodic processes a site takes part in."""

    CRAWLING = 1
    PROCESSING = 2
    RECRAWL = 8
    AGING = 16


def response_code(operation: Operation) -> int:
    """Return the code under which the answer to an operation travels."""
    return operation + RESPONSE_OFFSET
