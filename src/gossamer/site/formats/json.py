"""JSON: one object with `summary`, `pages` and `errors`; docs/reference/site-map.md is its shape.

What an audit found and what has changed goes with it, where somebody asked for that; only then is
loaded what writes it: 1 ms of each map.

One page a line, so that two maps can be compared with `diff` and a map of any size is written as it
is encoded.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final

import msgspec

from gossamer.site.model import Page, SiteMap, is_error, summary_of
from gossamer.wording import safe_json

if TYPE_CHECKING:
    from gossamer.site.compare import Comparison
    from gossamer.site.findings import Finding

FIELDS: Final = tuple(name for name in Page.__struct_fields__ if name != "facts")
"""Of a page, in the order in which they are written."""

_TOGETHER: Final = 8
"""So many pages are encoded, looked through and written together."""
_LONG_BYTES: Final = 1 << 16
"""A buffer that held so much is not used again: it may have come from the kernel itself (glibc:
128 KB or more, of which a third may be spare), and each time it was emptied it would be given back
and asked for anew, 4 KB at a time, which takes longer than all else here."""
_MAX_ASSETS: Final = 4_096
"""So many different assets are kept as JSON: those of pages near to each other are the same."""
_ENCODER: Final = msgspec.json.Encoder()
_BETWEEN: Final = b",\n"
_Line: Final = msgspec.defstruct("_Line", FIELDS, gc=False)


class ErrorEntry(msgspec.Struct):
    """A page that failed, with where it is linked."""

    url: str
    status: int
    error: str | None
    linked_from: list[str]


def write(
    site_map: SiteMap,
    file: BinaryIO,
    findings: "Sequence[Finding] | None" = None,
    comparison: "Comparison | None" = None,
) -> None:
    """Write the map as one JSON object."""
    file.write(b'{"summary": ' + encoded(summary_of(site_map)))
    file.write(b',\n"pages": [')
    _write_lines(page_lines(site_map.pages, _BETWEEN), file)
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


def page_lines(pages: Sequence[Page], between: bytes) -> Iterator[bytes]:
    """Yield pages as JSON, some at a time; each in one line, with this between two of them."""
    lines = bytearray()
    # By what they are in memory: the pages keep them there.
    written: dict[int, msgspec.Raw] = {}
    for start in range(0, len(pages), _TOGETHER):
        if len(lines) < _LONG_BYTES:
            lines.clear()
        else:
            lines = bytearray()
        for page in pages[start : start + _TOGETHER]:
            assets = written.get(id(page.assets))
            if assets is None:
                if len(written) >= _MAX_ASSETS:
                    written.clear()
                assets = msgspec.Raw(_ENCODER.encode(page.assets))
                written[id(page.assets)] = assets
            _ENCODER.encode_into(_line(page, assets), lines, -1)
            lines += between
        del lines[-len(between) :]
        yield safe_json(bytes(lines))


def _line(page: Page, assets: msgspec.Raw) -> msgspec.Struct:
    # Each by its name: to get the fields of a page in a loop takes twice as long.
    return _Line(
        page.url, page.parent, page.depth, page.status, page.content_type, page.checksum,
        page.alias_of, page.aliases, assets, page.links, page.title, page.bytes,
        page.milliseconds, page.error,
    )  # fmt: skip


def encoded(value: object) -> bytes:
    """Return a value as JSON that cannot steer a terminal."""
    return safe_json(_ENCODER.encode(value))


def _error_lines(site_map: SiteMap) -> Iterator[bytes]:
    for page in site_map.pages:
        if is_error(page):
            yield encoded(ErrorEntry(page.url, page.status, page.error, page.facts.linked_from))


def _write_lines(lines: Iterator[bytes], file: BinaryIO) -> None:
    first = next(lines, None)
    if first is None:
        return
    file.write(b"\n" + first)
    file.writelines(_BETWEEN + more for more in lines)
    file.write(b"\n")
