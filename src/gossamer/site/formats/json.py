"""JSON: one object with `summary`, `pages` and `errors`; docs/reference/site-map.md is its shape.

What an audit found and what has changed goes with it, where somebody asked for that; only then is
loaded what writes it: 1 ms of each map.

One page a line, so that two maps can be compared with `diff` and a map of any size is written as it
is encoded.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import BinaryIO, Final

import msgspec

from gossamer.site.compare import Comparison
from gossamer.site.findings import Finding
from gossamer.site.model import Page, SiteMap, is_error, summary_of
from gossamer.wording import safe_json

FIELDS: Final = tuple(name for name in Page.__struct_fields__ if name != "facts")
"""Of a page, in the order in which they are written."""

_ENCODER: Final = msgspec.json.Encoder()
_Line: Final = msgspec.defstruct("_Line", FIELDS)
_fields: Final = attrgetter(*FIELDS)


class ErrorEntry(msgspec.Struct):
    """A page that failed, with where it is linked."""

    url: str
    status: int
    error: str | None
    linked_from: list[str]


def write(
    site_map: SiteMap,
    file: BinaryIO,
    findings: Sequence[Finding] | None = None,
    comparison: Comparison | None = None,
) -> None:
    """Write the map as one JSON object."""
    file.write(b'{"summary": ' + encoded(summary_of(site_map)))
    file.write(b',\n"pages": [')
    _write_lines(map(page_line, site_map.pages), file)
    file.write(b'],\n"errors": [')
    _write_lines(_error_lines(site_map), file)
    file.write(b"]")
    if findings is not None:
        from gossamer.site.audit import writing as audit_writing  # noqa: PLC0415 - see above

        file.write(b',\n"audit": ')
        audit_writing.write_json(findings, file)
    if comparison is not None:
        from gossamer.site import compare_writing  # noqa: PLC0415 - see above

        file.write(b',\n"changes": ')
        compare_writing.write_json(comparison, file)
    file.write(b"}\n")


def page_line(page: Page) -> bytes:
    """Return a page as JSON, in one line."""
    return encoded(_Line(*_fields(page)))


def encoded(value: object) -> bytes:
    """Return a value as JSON that cannot steer a terminal."""
    return safe_json(_ENCODER.encode(value))


def _error_lines(site_map: SiteMap) -> Iterator[bytes]:
    for page in site_map.pages:
        if is_error(page):
            yield encoded(ErrorEntry(page.url, page.status, page.error, page.facts.linked_from))


def _write_lines(lines: Iterable[bytes], file: BinaryIO) -> None:
    between = b"\n"
    for line in lines:
        file.write(between + line)
        between = b",\n"
    if between != b"\n":
        file.write(b"\n")
