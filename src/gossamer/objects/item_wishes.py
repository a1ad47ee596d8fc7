"""What an item of a batch asks for itself: properties and fields of a site that count for it alone.

Checked when a batch is accepted, with the checks of SITE_NEW; kept with the item as JSON until its
batch is over.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.objects.batch import BatchItem
from gossamer.objects.coding import decode_object, encode
from gossamer.objects.enumerations import GENERAL_SITE
from gossamer.objects.filters import check_filters
from gossamer.objects.methods import check_fetch_type
from gossamer.objects.problems import ObjectError
from gossamer.objects.properties import check_properties
from gossamer.objects.site import Properties, Property, Site, SiteUpdate

_KEPT: Final = 4_096
_LISTS: Final = frozenset(("urls", "filters", "properties"))
_STEERING: Final = (
    "state", "max_urls", "max_resources", "max_errors", "max_resource_size", "max_urls_from_page",
    "request_delay", "processing_delay", "http_timeout", "url_type", "recrawl_period", "filters",
    "properties",
)  # fmt: skip
_OWN: Final = frozenset(("id", "update_type", "criterions"))


class Wishes(Struct, frozen=True):
    """What counts for one item in place of what its site says."""

    properties: dict[str, str] = field(default_factory=dict)
    site_obj: SiteUpdate | None = None
    alone: bool = False
    """Whether what the site says counts for nothing: its record is not read."""

    @property
    def all_properties(self) -> dict[str, str]:
        """Those of `siteObj`, and over them the item's own."""
        given = (self.site_obj.properties if self.site_obj else None) or ()
        return {each.name: each.value for each in given} | self.properties

    @property
    def fields(self) -> dict[str, object]:
        """The fields of the site that are given, without its lists."""
        if self.site_obj is None:
            return {}
        names = (name for name in SiteUpdate.__struct_fields__ if name not in _LISTS | _OWN)
        values = ((name, getattr(self.site_obj, name)) for name in names)
        return {name: value for name, value in values if value is not None}


NOTHING: Final = Wishes()


def wishes_of(item: BatchItem, *, alone: bool = False) -> Wishes:
    """Return what an item asks for; ObjectError for what SITE_NEW would refuse.

    `alone`: what it leaves open is as for a site of which nothing is known.
    """
    own = [_property(name, value) for name, value in item.properties.items()]
    check_properties(own)
    site = item.site_obj
    if site is not None:
        if site.criterions is not None:
            raise ObjectError("BatchItem", "siteObj.criterions", "fields of one site are expected")
        if site.id is not None and (site.id or GENERAL_SITE) != (item.site_id or GENERAL_SITE):
            raise ObjectError("BatchItem", "siteObj.id", "the site of the item is expected")
        check_fetch_type("BatchItem.siteObj", site.fetch_type)
        check_properties(site.properties or ())
        check_filters(site.filters or ())
    values = {each.name: each.value for each in own}
    return Wishes(values, _completed(site), alone=True) if alone else Wishes(values, site)


def _completed(given: SiteUpdate | None) -> SiteUpdate:
    """Return the fields of a site that steer crawling, all of them."""
    usual = Site()
    given = given or SiteUpdate()
    missing = {name: getattr(usual, name) for name in _STEERING if getattr(given, name) is None}
    return replace(given, **missing)


def written(wishes: Wishes) -> str:
    """Return wishes as JSON; empty if there are none."""
    if not wishes.properties and wishes.site_obj is None:
        return ""
    plain = {
        "properties": wishes.properties,
        "siteObj": wishes.site_obj,
        "alone": wishes.alone,
    }
    return encode(plain).decode()


@lru_cache(maxsize=_KEPT)
def read(text: str) -> Wishes:
    """Return wishes that were written."""
    if not text:
        return NOTHING
    plain = msgspec.json.decode(text)
    given = plain["siteObj"]
    site = None if given is None else decode_object(SiteUpdate, given)
    return Wishes(plain["properties"], site, plain["alone"])


def site_for(site: Site, wishes: Wishes) -> Site:
    """Return a site as it is for an item."""
    given = wishes.site_obj
    changed = replace(site, **wishes.fields)
    if given is not None and given.filters is not None:
        changed = replace(changed, filters=given.filters)
    names = wishes.all_properties
    if not names and not wishes.alone:
        return changed
    known = () if wishes.alone else site.properties
    kept = [each for each in known if each.name not in names]
    added = [Property(name=name, value=value) for name, value in names.items()]
    return replace(changed, properties=Properties([*kept, *added]))


def properties_with(properties: Mapping[str, str], wishes: Wishes) -> Mapping[str, str]:
    """Return properties as they are for an item."""
    own = wishes.all_properties
    if wishes.alone:
        return own
    return {**properties, **own} if own else properties


def _property(name: str, value: object) -> Property:
    return decode_object(Property, {"name": name, "value": _text(value)})


def _text(value: object) -> str:
    """Return a value as properties have it: JSON for what is no text."""
    match value:
        case str():
            return value
        case bool():
            return "1" if value else "0"
        case None:
            return ""
    return msgspec.json.encode(value).decode()
