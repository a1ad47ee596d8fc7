"""The fields that newly collected URLs of a site begin with (URLS_FIELDS_INIT)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from gossamer.objects.coding import decode_object
from gossamer.objects.columns import URL_COLUMNS
from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.problems import ObjectError
from gossamer.objects.url import URL
from gossamer.wording import shortened

FIELDS_INIT: Final = "URLS_FIELDS_INIT"
ALLOWED: Final = (
    "type", "state", "status", "request_delay", "processing_delay", "http_timeout", "priority",
    "classifier_mask", "max_urls_from_page", "content_type", "charset", "http_method", "freq",
    "m_rate", "m_rate_counter", "e_tag", "last_modified", "u_date", "c_date", "tc_date", "p_date",
)  # fmt: skip
"""What a URL is known by, its place in the site and what crawling counts are not for clients."""
# One that is selected belongs to a batch; this one is in none.
_STATUSES: Final = frozenset({CrawlStatus.NEW, CrawlStatus.CRAWLED, CrawlStatus.PROCESSED})
_JSON_NAMES: Final = {each.name: each.encode_name for each in msgspec.structs.fields(URL)}
_ATTRIBUTES: Final = {_JSON_NAMES[name]: name for name in ALLOWED} | {
    column: form.attribute for column, form in URL_COLUMNS.items() if form.attribute in ALLOWED
}


def parse_first_fields(text: str) -> Mapping[str, Any]:
    """Return values by attribute of URL; ObjectError for a name or a value that does not fit."""
    if not text.strip():
        return {}
    try:
        given = msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        expected = f"a map of field names to values is expected ({shortened(str(error), 100)})"
        raise ObjectError("Property", FIELDS_INIT, expected) from None
    plain: dict[str, object] = {"url": ""}
    for name, value in given.items():
        if name not in _ATTRIBUTES:
            shown = shortened(name, 64)
            names = ", ".join(sorted(_JSON_NAMES[each] for each in ALLOWED))
            raise ObjectError("Property", FIELDS_INIT, f"not {shown!r}, but one of {names}")
        plain[_JSON_NAMES[_ATTRIBUTES[name]]] = value
    try:
        url = decode_object(URL, plain)
    except ObjectError as error:
        raise ObjectError("Property", FIELDS_INIT, f"{error.field}: {error.expected}") from None
    if url.status not in _STATUSES:
        expected = "a status of 1, 4 or 7 is expected: the others belong to batches"
        raise ObjectError("Property", FIELDS_INIT, expected)
    values = {_ATTRIBUTES[name]: getattr(url, _ATTRIBUTES[name]) for name in given}
    return {name: value for name, value in values.items() if value is not None}


@lru_cache(maxsize=1_024)
def first_fields_in(text: str) -> Mapping[str, Any]:
    """Return the first fields of a site; what cannot be used was refused when it was set."""
    try:
        return parse_first_fields(text)
    except ObjectError:
        return {}
