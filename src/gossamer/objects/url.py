"""URL and the requests about URLs, other than for their contents."""

from typing import Annotated

from msgspec import Meta, field

from gossamer.objects.enumerations import (
    ContentMask,
    CrawlStatus,
    DelayedType,
    DeleteReason,
    RecalculateType,
    SiteSelect,
    URLKey,
    URLState,
    URLType,
)
from gossamer.objects.extras import Attribute
from gossamer.objects.methods import GET, check_method
from gossamer.objects.moments import NOW, Moment
from gossamer.objects.record import (
    ByteSize,
    Count,
    Mask,
    Number,
    Record,
    ShortText,
    SiteId,
    UrlText,
)
from gossamer.objects.selection import Criterions

Share = Annotated[float, Meta(ge=0, le=1e15)]


class URLPut(Record, frozen=True, kw_only=True):
    """Content that a client hands over for a URL."""

    site_id: SiteId = ""
    url_md5: ShortText | None = None
    """None: the URLs that the criterions select."""
    content_type: Count = 0
    """The kind of content, a number of ContentKind."""
    put_dict: dict[str, object] = field(default_factory=dict)
    """data (base64, but for processor content), id, cDate."""
    criterions: Criterions | None = None
    file_storage_suffix: ShortText | None = None


class URLUpdate(Record, frozen=True, kw_only=True):
    """New values for a URL; None leaves a value as it is."""

    site_id: SiteId | None = None
    url: UrlText | None = None
    url_md5: ShortText | None = None
    """None: the rows that the criterions select."""
    type: URLType | None = None
    state: URLState | None = None
    status: CrawlStatus | None = None
    site_select: SiteSelect | None = None
    crawled: Count | None = None
    processed: Count | None = None
    content_type: ShortText | None = None
    charset: ShortText | None = None
    request_delay: Count | None = None
    processing_delay: Count | None = None
    http_timeout: Count | None = None
    batch_id: Count | None = None
    error_mask: Mask | None = None
    crawling_time: Count | None = None
    processing_time: Count | None = None
    total_time: Count | None = None
    http_code: Count | None = None
    http_method: ShortText | None = None
    size: ByteSize | None = None
    links_i: Count | None = None
    links_e: Count | None = None
    freq: Count | None = None
    depth: Count | None = None
    raw_content_md5: ShortText | None = None
    parent_md5: ShortText | None = None
    content_url_md5: ShortText | None = None
    last_modified: Moment | None = None
    e_tag: ShortText | None = None
    m_rate: Share | None = None
    m_rate_counter: Count | None = None
    u_date: Moment | None = field(default=NOW, name="UDate")
    c_date: Moment | None = field(default=None, name="CDate")
    tc_date: Moment | None = None
    p_date: Moment | None = None
    max_urls_from_page: Count | None = None
    content_mask: ContentMask | None = None
    tags_mask: Mask | None = None
    tags_count: Count | None = None
    priority: Number | None = None
    classifier_mask: Mask | None = None
    url_update: "URLUpdate | None" = None
    url_put: URLPut | None = None
    chain_id: Number | None = None
    attributes: list[Attribute] | None = None
    criterions: Criterions = field(default_factory=lambda: Criterions(limit=1))

    def __post_init__(self) -> None:
        if self.http_method is not None:
            check_method(self.http_method)


class URL(Record, frozen=True, kw_only=True):
    """A resource of a site, and what became of it."""

    url: UrlText
    site_id: SiteId = ""
    url_md5: ShortText = ""
    """md5 of the normalised URL, filled in by `normal.identified_url`."""
    type: URLType | None = None
    """None in a request: as the site says, as for the next three."""
    request_delay: Count | None = None
    processing_delay: Count | None = None
    http_timeout: Count | None = None
    state: URLState = URLState.ENABLED
    status: CrawlStatus = CrawlStatus.NEW
    site_select: SiteSelect = SiteSelect.NONE
    crawled: Count = 0
    processed: Count = 0
    content_type: ShortText = ""
    charset: ShortText = ""
    batch_id: Count = 0
    error_mask: Mask = 0
    crawling_time: Count = 0
    processing_time: Count = 0
    total_time: Count = 0
    http_code: Count = 0
    http_method: ShortText = "get"
    size: ByteSize = 0
    links_i: Count = 0
    links_e: Count = 0
    freq: Count = 0
    depth: Count = 0
    raw_content_md5: ShortText = ""
    parent_md5: ShortText = ""
    """Empty: a root URL."""
    content_url_md5: ShortText = ""
    last_modified: Moment | None = None
    e_tag: ShortText = ""
    m_rate: Share = 0.0
    m_rate_counter: Count = 0
    u_date: Moment | None = field(default=None, name="UDate")
    c_date: Moment | None = field(default=None, name="CDate")
    tc_date: Moment | None = None
    p_date: Moment | None = None
    max_urls_from_page: Count = 100
    content_mask: ContentMask = ContentMask.EMPTY
    tags_mask: Mask = 0
    tags_count: Count = 0
    priority: Number = 0
    classifier_mask: Mask = 0
    url_update: URLUpdate | None = None
    """Applied when URL_NEW meets a URL that is there already."""
    url_put: URLPut | None = None
    """Content to store at once."""
    chain_id: Number | None = None
    attributes: list[Attribute] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.http_method != GET:
            check_method(self.http_method)


class URLStatus(Record, frozen=True, kw_only=True):
    """Asks for one URL."""

    url: UrlText
    site_id: SiteId = ""
    url_type: URLKey = URLKey.URL


class URLDelete(Record, frozen=True, kw_only=True):
    """Which URLs go; url None: those that the criterions select."""

    site_id: SiteId = ""
    url: UrlText | None = None
    url_type: URLKey = URLKey.URL
    criterions: Criterions | None = None
    delayed_type: DelayedType = DelayedType.NOT_DELAYED
    reason: DeleteReason = DeleteReason.USER_REQUEST

    def __post_init__(self) -> None:
        _need_url_or_criterions(self.url, self.criterions)


class URLCleanup(Record, frozen=True, kw_only=True):
    """Which URLs lose their contents and start again."""

    site_id: SiteId = ""
    url: UrlText | None = None
    url_type: URLKey = URLKey.URL
    state: URLState | None = None
    status: CrawlStatus | None = None
    criterions: Criterions | None = None
    delayed_type: DelayedType = DelayedType.NOT_DELAYED

    def __post_init__(self) -> None:
        _need_url_or_criterions(self.url, self.criterions)


class URLPurge(Record, frozen=True, kw_only=True):
    """Which deleted URLs are removed for good."""

    site_id: SiteId | None = None
    url: UrlText | None = None
    url_type: URLKey = URLKey.URL
    criterions: Criterions = field(default_factory=lambda: Criterions(limit=100))
    site_limits: tuple[Count, Number] | None = None
    """Offset and count of sites; count -1: all of them."""

    def __post_init__(self) -> None:
        if self.site_id is None and self.site_limits is None:
            raise ValueError("siteId or siteLimits is expected")


class URLAge(Record, frozen=True, kw_only=True):
    """Which old URLs are deleted."""

    urls_criterions: Criterions = field(default_factory=lambda: Criterions(limit=100))
    sites_criterions: Criterions = field(default_factory=lambda: Criterions(limit=10))
    max_urls: Count = 100
    delayed_type: DelayedType = DelayedType.NOT_DELAYED


class URLVerify(Record, frozen=True, kw_only=True):
    """Which URLs are looked up in which database."""

    site_id: SiteId = ""
    url: UrlText | None = None
    db_name: ShortText = ""
    url_type: URLKey = URLKey.URL
    criterions: Criterions | None = None


class URLHistoryRequest(Record, frozen=True, kw_only=True):
    """Asks for the history of URLs."""

    site_id: SiteId = ""
    url_md5: ShortText | None = None
    url_criterions: Criterions | None = None
    log_criterions: Criterions | None = None


class URLStatsRequest(Record, frozen=True, kw_only=True):
    """Asks for the counters of URLs."""

    site_id: SiteId = ""
    url_md5: ShortText | None = None
    url_criterions: Criterions | None = None
    stats_criterions: Criterions | None = None


class FieldRecalculator(Record, frozen=True, kw_only=True):
    """Whose counters are to be counted again."""

    site_id: SiteId | None = None
    recalc_type: RecalculateType = RecalculateType.FULL
    criterions: Criterions | None = None


def _need_url_or_criterions(url: str | None, criterions: Criterions | None) -> None:
    # Without both, a slip would mean every URL of a site.
    if url is None and criterions is None:
        raise ValueError("url or criterions are expected")
