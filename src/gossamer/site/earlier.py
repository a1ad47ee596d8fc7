"""Reads an earlier map: a file in the JSON shape of docs/reference/site-map.md.

Only what a comparison needs is decoded; the lists of links, most of a large file, are passed over.
"""

from msgspec import Struct, ValidationError, json

from gossamer.errors import InputError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EarlierPage(Struct, gc=False):
    """A page as it was; the names are those of `model.Page`."""

    url: str
    status: int
    checksum: str
    alias_of: str | None
    assets: dict[str, list[str]]
    title: str
    bytes: int
    error: str | None


class EarlierSummary(Struct):
    """What is needed of the summary."""

    start_url: str
    site: str
    complete: bool


class EarlierMap(Struct):
    """A map as it was."""

    summary: EarlierSummary
    pages: list[EarlierPage]


def read_earlier(content: bytes, name: str) -> EarlierMap:
    """Return the map in a file; `name` is the file's, for the message if it is none."""
    content = content.removeprefix(_BYTE_ORDER_MARK)
    if not content.strip():
        raise InputError(_refusal(name, "it is empty"))
    try:
        return json.decode(content, type=EarlierMap)
    except ValidationError as error:
        raise InputError(_refusal(name, f"it is JSON of another shape ({error})")) from error
    # Text that is no UTF-8 and brackets without end have errors of their own.
    except (ValueError, RecursionError) as error:
        raise InputError(_refusal(name, f"it is not JSON ({error})")) from error


def _refusal(name: str, reason: str) -> str:
    return (
        f"cannot compare with {name}: {reason}; "
        "give a file that `gossamer site --format json` wrote"
    )
