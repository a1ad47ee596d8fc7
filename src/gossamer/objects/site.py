"""Site and the requests about sites."""

from typing import Annotated, Final, TypeGuard

from msgspec import Meta, field
from msgspec.structs import force_setattr

from gossamer.objects.enumerations import (
    DelayedType,
    FetchType,
    FilterMode,
    FilterOperation,
    FilterStage,
    FilterState,
    FilterType,
    HistoryCleanUp,
    SiteState,
    TaskType,
    UpdateType,
    URLType,
)
from gossamer.objects.moments import Moment
from gossamer.objects.record import Count, LongText, Mask, Number, Record, ShortText, SiteId
from gossamer.objects.selection import Criterions
from gossamer.objects.url import URL

MAX_VALUE: Final = 1 << 18
"""Characters of a property's value; templates are long."""

PropertyName = Annotated[str, Meta(min_length=1, max_length=64)]
PropertyValue = Annotated[str, Meta(max_length=MAX_VALUE)]
Description = Annotated[str, Meta(max_length=64)]
RecrawlMinutes = Annotated[int, Meta(ge=0, le=525_600_000)]
"""At most 1,000 years: a calendar must be able to write the date of the next re-crawl."""


class Property(Record, frozen=True, kw_only=True):
    """A named setting of a site, or of one URL of it."""

    name: PropertyName
    value: PropertyValue = ""
    site_id: SiteId = ""
    url_md5: ShortText = ""
    u_date: Moment | None = None
    c_date: Moment | None = None


class Properties(list[Property]):
    """The properties of a site; read from three shapes, written as a list of objects."""


class Filter(Record, frozen=True, kw_only=True):
    """Which URLs of a site are wanted; `type` and `action` say the same, each in its own way."""

    pattern: LongText = "(.*)"
    subject: LongText = ""
    op_code: FilterOperation = FilterOperation.REGULAR_EXPRESSION
    stage: FilterStage = FilterStage.ALL
    action: Number | None = None
    """Above 0: include, below 0: exclude; always set after construction."""
    type: FilterType | None = None
    """Always set after construction."""
    mode: FilterMode = FilterMode.URL
    state: FilterState = FilterState.ENABLED
    site_id: SiteId = ""
    group_id: Number = 0
    u_date: Moment | None = None
    c_date: Moment | None = None

    def __post_init__(self) -> None:
        if self.action == 0:
            raise ValueError("action above 0 (include) or below 0 (exclude) is expected")
        if self.type is None:
            includes = self.action is None or self.action > 0
            force_setattr(self, "type", FilterType.INCLUDE if includes else FilterType.EXCLUDE)
        sign = 1 if self.type == FilterType.INCLUDE else -1
        if self.action is None:
            force_setattr(self, "action", sign)
        elif self.action * sign < 0:
            raise ValueError("type and action that say the same are expected")

    @property
    def includes(self) -> bool:
        """Whether a match speaks for a URL; otherwise it speaks against it."""
        return self.type == FilterType.INCLUDE


class SiteURL(URL, frozen=True, kw_only=True):
    """A root URL of a site."""

    user_id: Number = 0


def _default_filters() -> list[Filter]:
    return [Filter(action=1)]


def default_properties() -> Properties:
    """Return the properties of a site that names none."""
    return Properties(
        [
            Property(name="PROCESS_CTYPES", value="text/html"),
            Property(name="STORE_HTTP_REQUEST", value="1"),
            Property(name="STORE_HTTP_HEADERS", value="1"),
            Property(name="HTTP_HEADERS"),
            Property(name="HTTP_COOKIE"),
        ]
    )


class Site(Record, frozen=True, kw_only=True):
    """The unit of crawling from the user's side."""

    id: SiteId = ""
    """md5 of the first root URL, filled in when it is not given."""
    c_date: Moment | None = None
    u_date: Moment | None = None
    tc_date: Moment | None = None
    tc_date_process: Moment | None = None
    resources: Count = 0
    contents: Count = 0
    collected_urls: Count = 0
    new_urls: Count = 0
    deleted_urls: Count = 0
    iterations: Count = 0
    state: SiteState = SiteState.ACTIVE
    priority: Number = 100
    max_urls: Count = 0
    max_resources: Count = 0
    max_errors: Count = 0
    max_resource_size: Count = 0
    max_urls_from_page: Count = 0
    request_delay: Count = 500
    processing_delay: Count = 500
    http_timeout: Count = 30_000
    error_mask: Mask = 0
    errors: Count = 0
    size: Count = 0
    avg_speed: Count = 0
    avg_speed_counter: Count = 0
    url_type: URLType = URLType.REGULAR
    description: Description = ""
    user_id: Number = 0
    category_id: Number = 0
    recrawl_period: RecrawlMinutes = 0
    """Minutes; 0: never again."""
    recrawl_date: Moment | None = None
    fetch_type: FetchType = FetchType.STATIC
    move_urls: bool = True
    urls: list[str | SiteURL] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=_default_filters)
    properties: Properties = field(default_factory=default_properties)


class SiteUpdate(Record, frozen=True, kw_only=True):
    """New values for a site; None leaves a value as it is."""

    id: SiteId | None = None
    """None: every site that the criterions select."""
    c_date: Moment | None = None
    u_date: Moment | None = None
    tc_date: Moment | None = None
    tc_date_process: Moment | None = None
    resources: Count | None = None
    contents: Count | None = None
    collected_urls: Count | None = None
    new_urls: Count | None = None
    deleted_urls: Count | None = None
    iterations: Count | None = None
    state: SiteState | None = None
    priority: Number | None = None
    max_urls: Count | None = None
    max_resources: Count | None = None
    max_errors: Count | None = None
    max_resource_size: Count | None = None
    max_urls_from_page: Count | None = None
    request_delay: Count | None = None
    processing_delay: Count | None = None
    http_timeout: Count | None = None
    error_mask: Mask | None = None
    errors: Count | None = None
    size: Count | None = None
    avg_speed: Count | None = None
    avg_speed_counter: Count | None = None
    url_type: URLType | None = None
    description: Description | None = None
    user_id: Number | None = None
    category_id: Number | None = None
    recrawl_period: RecrawlMinutes | None = None
    recrawl_date: Moment | None = None
    fetch_type: FetchType | None = None
    move_urls: bool | None = None
    urls: list[str | SiteURL] | None = None
    filters: list[Filter] | None = None
    properties: Properties | None = None
    update_type: UpdateType = UpdateType.APPEND
    criterions: Criterions | None = None


class SiteFind(Record, frozen=True, kw_only=True):
    """Which sites are looked for."""

    url: str | None = None
    """A prefix of root URLs."""
    criterions: Criterions = field(
        default_factory=lambda: Criterions(order_by="CDate DESC", limit=10)
    )
    exclude_list: list[str] = field(default_factory=list)
    """Which of urls, properties and filters are left out of the answer."""


class SiteStatus(Record, frozen=True, kw_only=True):
    """Asks for one site."""

    id: SiteId
    delete_task_id: Number | None = None
    exclude_list: list[str] = field(default_factory=list)


class SiteDelete(Record, frozen=True, kw_only=True):
    """Which site goes; id None: those that the criterions select."""

    id: SiteId | None = None
    task_type: TaskType = TaskType.SYNC
    delayed_type: DelayedType = DelayedType.NOT_DELAYED
    criterions: Criterions | None = None

    def __post_init__(self) -> None:
        if not self.id and self.criterions is None:
            raise ValueError("id or criterions are expected")


class SiteCleanup(Record, frozen=True, kw_only=True):
    """Which site is emptied, and what is kept."""

    id: SiteId
    task_type: TaskType = TaskType.SYNC
    delayed_type: DelayedType = DelayedType.NOT_DELAYED
    move_urls: bool = True
    save_root_urls: bool = True
    state: SiteState = SiteState.ACTIVE
    history_clean_up: HistoryCleanUp = HistoryCleanUp.NOT


def is_absent(answer: object) -> TypeGuard[Site]:
    """Whether an answer is a Site that says that there is none."""
    return isinstance(answer, Site) and answer.state is SiteState.NOT_FOUND
