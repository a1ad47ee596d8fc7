"""Attributes, proxies and SQL of the client's own."""

from typing import Annotated

from msgspec import Meta, field

from gossamer.objects.enumerations import FieldNames
from gossamer.objects.moments import Moment
from gossamer.objects.record import Count, LongText, Number, Record, ShortText, SiteId
from gossamer.objects.selection import Criterions

AttributeName = Annotated[str, Meta(min_length=1, max_length=32)]
Degrees = Annotated[float, Meta(ge=-360, le=360)]
Query = Annotated[str, Meta(max_length=65_536)]


class Attribute(Record, frozen=True, kw_only=True):
    """A named value that a client keeps with a URL, or with a site if `urlMd5` is empty."""

    name: AttributeName
    site_id: SiteId = ""
    url_md5: ShortText = ""
    value: LongText | None = None
    c_date: Moment | None = None


class AttributeUpdate(Record, frozen=True, kw_only=True):
    """A new value; the attribute is made if it is missing."""

    name: AttributeName
    site_id: SiteId = ""
    url_md5: ShortText = ""
    value: LongText | None = None
    c_date: Moment | None = None


class AttributeDelete(Record, frozen=True, kw_only=True):
    """Which attributes go; name None: those that the criterions select."""

    site_id: SiteId = ""
    name: AttributeName | None = None
    url_md5: ShortText | None = None
    criterions: Criterions | None = None

    def __post_init__(self) -> None:
        _need_name_or_criterions(self.name, self.criterions)


class AttributeFetch(Record, frozen=True, kw_only=True):
    """Which attributes are asked for; name None: those that the criterions select."""

    site_id: SiteId = ""
    name: AttributeName | None = None
    url_md5: ShortText | None = None
    criterions: Criterions | None = None

    def __post_init__(self) -> None:
        _need_name_or_criterions(self.name, self.criterions)


class Proxy(Record, frozen=True, kw_only=True):
    """A proxy of a site."""

    host: ShortText
    id: Number | None = None
    site_id: SiteId = ""
    domains: list[str] = field(default_factory=lambda: ["*"])
    """Regular expressions; "*" is any domain."""
    priority: Number = 10
    state: Count = 1
    country_code: ShortText = ""
    country_name: ShortText = ""
    region_code: ShortText = ""
    region_name: ShortText = ""
    city_name: ShortText = ""
    zip_code: ShortText = ""
    time_zone: ShortText = ""
    latitude: Degrees | None = None
    longitude: Degrees | None = None
    metro_code: ShortText = ""
    faults: Count = 0
    faults_max: Count = 0
    """0: no limit."""
    category_id: Number = 0
    limits: LongText | None = None
    description: LongText = ""
    c_date: Moment | None = None
    u_date: Moment | None = None


class ProxyUpdate(Record, frozen=True, kw_only=True):
    """New values for the proxy of a site; None leaves a value as it is."""

    host: ShortText
    id: Number | None = None
    site_id: SiteId = ""
    domains: list[str] | None = None
    priority: Number | None = None
    state: Count | None = None
    country_code: ShortText | None = None
    country_name: ShortText | None = None
    region_code: ShortText | None = None
    region_name: ShortText | None = None
    city_name: ShortText | None = None
    zip_code: ShortText | None = None
    time_zone: ShortText | None = None
    latitude: Degrees | None = None
    longitude: Degrees | None = None
    metro_code: ShortText | None = None
    faults: Count | None = None
    faults_max: Count | None = None
    category_id: Number | None = None
    limits: LongText | None = None
    description: LongText | None = None
    c_date: Moment | None = None
    u_date: Moment | None = None


class ProxyDelete(Record, frozen=True, kw_only=True):
    """Which proxies go; host None: those that the criterions select."""

    site_id: SiteId = ""
    host: ShortText | None = None
    criterions: Criterions | None = None

    def __post_init__(self) -> None:
        if self.host is None and self.criterions is None:
            raise ValueError("host or criterions are expected")


class ProxyStatus(Record, frozen=True, kw_only=True):
    """Which proxies are asked for; host None: those that the criterions select."""

    site_id: SiteId = ""
    host: ShortText | None = None
    criterions: Criterions | None = None


class ProxyFind(Record, frozen=True, kw_only=True):
    """Which proxies are looked for, over sites."""

    site_id: SiteId | None = None
    criterions: Criterions | None = None
    site_criterions: Criterions | None = None


class CustomRequest(Record, frozen=True, kw_only=True):
    """Queries of the client's own (SQL_CUSTOM)."""

    query: Query | Annotated[list[Query], Meta(max_length=32)]
    rid: Number = 0
    db_name: ShortText = ""
    include_fields_names: FieldNames = FieldNames.INDEX


class CustomResponse(Record, frozen=True, kw_only=True):
    """What the queries gave."""

    rid: Number = 0
    query: str | list[str] = ""
    db_name: str = ""
    result: object = None
    err_string: str | None = None


def _need_name_or_criterions(name: str | None, criterions: Criterions | None) -> None:
    if name is None and criterions is None:
        raise ValueError("name or criterions are expected")
