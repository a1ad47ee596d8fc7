"""What all records of the service have in common: names in JSON, limits of numbers and texts."""

from typing import Annotated, Final

from msgspec import Meta, Struct

# Far from where a database would overflow, which adds to counters, and adds them up over URLs.
_LARGEST: Final = 1 << 53

Count = Annotated[int, Meta(ge=0, le=_LARGEST)]
"""A counter, a limit or a time in milliseconds."""
Mask = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""Bits, as many as a database can hold."""
ByteSize = Annotated[int, Meta(ge=0, le=1 << 40)]
"""How long one document is."""
Number = Annotated[int, Meta(ge=-_LARGEST, le=_LARGEST)]
ShortText = Annotated[str, Meta(max_length=255)]
LongText = Annotated[str, Meta(max_length=1 << 20)]
UrlText = Annotated[str, Meta(max_length=65_535)]
"""Whether it is a URL is judged one by one, so that a wrong one does not spoil a whole list."""
SiteId = Annotated[str, Meta(pattern=r"^[0-9A-Za-z_-]{0,32}\Z")]
"""Without dots and slashes: it names a folder. Empty stands for the general site."""

# The words that are not just put together from capitalised parts.
_SPELLINGS: Final = {
    "collected_urls": "collectedURLs",
    "new_urls": "newURLs",
    "deleted_urls": "deletedURLs",
    "max_urls": "maxURLs",
    "max_urls_from_page": "maxURLsFromPage",
    "move_urls": "moveURLs",
    "content_url_md5": "contentURLMd5",
}


def json_name(attribute: str) -> str:
    """Return the name of a field in JSON: `http_timeout` is `httpTimeout`."""
    first, *rest = attribute.split("_")
    return _SPELLINGS.get(attribute) or first + "".join(word.capitalize() for word in rest)


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=json_name):
    """The shape of all objects: frozen, fields by name, nothing unknown accepted."""
