"""Which processor the properties of a site name, as far as crawling needs to know it. Pure."""

from collections.abc import Mapping
from typing import Final

import msgspec

_FEEDS: Final = frozenset(("RSS", "FEED_PARSER"))
PAGE_TYPES: Final = frozenset(("text/html", "application/xhtml+xml"))


def is_read_as_feed(content_type: str, properties: Mapping[str, str]) -> bool:
    """Whether processing makes URLs of a document's entries: then nobody else collects them."""
    if content_type in PAGE_TYPES:
        return False
    name = properties.get("PROCESSOR_NAME", "").strip()
    replacements = properties.get("PROCESSOR_NAME_REPLACE", "")
    if replacements:
        try:
            name = msgspec.json.decode(replacements, type=dict[str, str]).get(name, name).strip()
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return False
    return name in _FEEDS
