"""URLFetch, and the request for the contents of URLs with its answer."""

from typing import Annotated, Final

from msgspec import Meta, field

from gossamer.objects.enumerations import DEFAULT_CONTENT_MASK, ContentKind, FetchAlgorithm
from gossamer.objects.extras import Attribute
from gossamer.objects.moments import Moment
from gossamer.objects.record import Count, Record, ShortText, SiteId, UrlText
from gossamer.objects.selection import Criterions
from gossamer.objects.site import SiteUpdate
from gossamer.objects.url import URLUpdate

DB_FIELDS: Final = (
    "Status",
    "Crawled",
    "Processed",
    "ContentType",
    "Charset",
    "ErrorMask",
    "CrawlingTime",
    "ProcessingTime",
    "TotalTime",
    "HTTPCode",
    "HTTPMethod",
    "Size",
    "LinksI",
    "LinksE",
    "RawContentMd5",
    "LastModified",
    "CDate",
    "UDate",
    "TagsMask",
    "TagsCount",
    "PDate",
)
"""The columns of a URL that come along with its contents."""

DEFAULT_SITES_ORDER: Final = "Priority DESC, TcDate ASC"
"""The order of sites where the criterions of a URLFetch name none."""

Names = Annotated[list[ShortText], Meta(max_length=1_000)]


class URLFetch(Record, frozen=True, kw_only=True):
    """Which URLs are selected, over sites, and what is done to them on the way."""

    sites_list: list[SiteId] | None = None
    """None or empty: the sites that the criterions select, or all active ones."""
    sites_criterions: Criterions | None = None
    urls_criterions: Criterions = field(
        default_factory=lambda: Criterions(order_by="CDate ASC", limit=20)
    )
    max_urls: Count = 20
    algorithm: FetchAlgorithm = FetchAlgorithm.DEFAULT
    is_locking: bool = True
    lock_iteration_timeout: Annotated[float, Meta(ge=0, le=1e6)] = 1.0
    url_update: URLUpdate | None = None
    site_update: SiteUpdate | None = None
    attribute_names: Names = field(default_factory=lambda: ["*"])


class URLContentRequest(Record, frozen=True, kw_only=True):
    """Asks for contents of one URL, or of all that a URLFetch selects."""

    site_id: SiteId = ""
    url: UrlText | None = None
    url_md5: ShortText | None = None
    content_type_mask: Count = DEFAULT_CONTENT_MASK
    url_fetch: URLFetch | None = None
    attribute_names: Names = field(default_factory=lambda: ["*"])
    db_fields_list: Names = field(default_factory=lambda: list(DB_FIELDS))
    db_fields_list_default_values: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.url and not self.url_md5 and self.url_fetch is None:
            raise ValueError("url, urlMd5 or urlFetch is expected")


class Content(Record, frozen=True, kw_only=True):
    """One stored content."""

    buffer: str
    """base64."""
    c_date: Moment | None = None
    type_id: ContentKind = ContentKind.RAW


class URLContentResponse(Record, frozen=True, kw_only=True):
    """The contents of one URL."""

    url: str = ""
    url_md5: str = ""
    site_id: str = ""
    status: int = 0
    raw_contents: list[Content] = field(default_factory=list)
    processed_contents: list[Content] = field(default_factory=list)
    headers: list[Content | None] = field(default_factory=list)
    """One for each raw content, null where there is none; likewise the next three."""
    requests: list[Content | None] = field(default_factory=list)
    meta: list[Content | None] = field(default_factory=list)
    cookies: list[Content | None] = field(default_factory=list)
    raw_content_md5: str = ""
    content_url_md5: str = ""
    db_fields: dict[str, object] = field(default_factory=dict)
    item_properties: dict[str, object] | None = None
    attributes: list[Attribute] = field(default_factory=list)
