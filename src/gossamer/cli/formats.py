"""The forms of `gossamer export`: each has an encoder that hostile text cannot break."""

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gossamer.catalog.catalog import Catalog, CatalogReader, Remembered, UrlRow
from gossamer.outcomes import name_of
from gossamer.store.cdxj import cdxj_lines, index_folder
from gossamer.store.verify import Report, verify_lengths
from gossamer.wording import safe_json, visible

# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Record(Struct, frozen=True, gc=False, kw_only=True):
    """A URL as it is exported; the order of the fields is that of the CSV columns."""

    url: str
    doc_id: int
    md5: str
    host: str
    kind: str
    state: str
    outcome: str | None
    status: int | None
    content_type: str | None
    title: str | None
    depth: int
    parent: str | None
    bytes: int | None
    fetched_at: str | None
    milliseconds: int | None
    tries: int
    checksum: str | None
    duplicate_of: str | None
    near_duplicate_of: str | None
    redirect_to: str | None
    detail: str | None
    archive_file: str | None
    archive_offset: int | None
    archive_length: int | None


def lines(form: str, catalog: Catalog, archive: Path, report: Report) -> Iterator[bytes]:
    """Yield the export in this form, line by line; enter what of the archive cannot be read."""
    match form:
        case "jsonl":
            return jsonl(catalog)
        case "csv":
            return csv_lines(catalog)
        case "cdxj":
            return cdxj(catalog, archive, report)
        case "links":
            return links(catalog)
        case "records":
            return records(catalog)
    raise ValueError(form)


def record_of(row: UrlRow) -> Record:
    """Return a row of the catalog as it is exported."""
    fetch = row.fetch
    pointer = fetch.pointer if fetch else None
    return Record(
        url=row.url,
        doc_id=row.doc_id,
        md5=row.md5.hex(),
        host=row.host,
        kind=row.kind.name.lower(),
        state=row.state.name.lower(),
        outcome=name_of(row.outcome) if row.outcome is not None else None,
        status=(fetch.status or None) if fetch else None,
        content_type=(fetch.content_type or None) if fetch else None,
        title=(fetch.title or None) if fetch else None,
        depth=row.depth,
        parent=row.parent,
        bytes=fetch.body_bytes if fetch else None,
        fetched_at=iso_time(fetch.fetched_at) if fetch else None,
        milliseconds=fetch.milliseconds if fetch else None,
        tries=row.tries,
        checksum=fetch.checksum.hex() if fetch and fetch.checksum else None,
        duplicate_of=row.duplicate_of,
        near_duplicate_of=row.near_duplicate_of,
        redirect_to=fetch.redirect_to if fetch else None,
        detail=row.detail or None,
        archive_file=pointer.file if pointer else None,
        archive_offset=pointer.offset if pointer else None,
        archive_length=pointer.length if pointer else None,
    )


def iso_time(moment: float) -> str:
    """Write a wall time as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def jsonl(catalog: CatalogReader) -> Iterator[bytes]:
    """Yield one JSON object for each known URL."""
    encoder = msgspec.json.Encoder()
    for row in catalog.rows():
        yield safe_json(encoder.encode(record_of(row))) + b"\n"


def csv_lines(catalog: CatalogReader) -> Iterator[bytes]:
    """Yield a header and one line for each known URL."""
    yield _csv_line(Record.__struct_fields__)
    for row in catalog.rows():
        yield _csv_line(csv_cell(value) for value in msgspec.structs.astuple(record_of(row)))


def csv_cell(value: Any) -> Any:
    """Return a text that stays on its line and that no spreadsheet runs as a formula."""
    if not isinstance(value, str):
        return value
    neutral = f"'{value}" if value.startswith(_FORMULA) else value
    return visible(neutral)


def _csv_line(cells: Iterable[Any]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().encode()


def cdxj(catalog: Remembered, archive: Path, report: Report) -> Iterator[bytes]:
    """Yield the index of the archive, sorted as replay tools want it.

    Made from the archive, not from the catalog, so that it says of each record what it really is;
    the catalog knows whether anything is missing.
    """
    verify_lengths(archive, catalog.known_good(), report)
    for line in cdxj_lines(index_folder(archive, report)):
        yield safe_json(line.encode())


def links(catalog: CatalogReader) -> Iterator[bytes]:
    """Yield source, tab, target for each link between known URLs."""
    for source, target in catalog.links():
        yield f"{visible(source)}\t{visible(target)}\n".encode()


def records(catalog: CatalogReader) -> Iterator[bytes]:
    """Yield an object with `url` and `record` for each thing a handler made of a page."""
    for url, record in catalog.records():
        row = {"url": url, "record": msgspec.Raw(record.encode())}
        yield safe_json(msgspec.json.encode(row)) + b"\n"
