"""Fetches to store, and a second opinion on what was stored."""

from argparse import Namespace
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome

BASE = 1_800_000_000.125


def fetch_of(number: int = 1, **changes) -> Fetch:
    """Make an ordinary page; `changes` replaces fields of it or of its visit."""
    raw = changes.pop("raw", b"<html><title>%d</title>" % number + b"<p>web</p>" * (number % 50))
    visit = {
        "trans_id": number,
        "doc_id": number,
        "address": "127.0.0.1",
        "url": f"https://docs.example.org/page/{number}",
        "depth": 2,
        "tries": 1,
    }
    visit.update(
        {name: changes.pop(name) for name in list(changes) if name in Visit.__struct_fields__}
    )
    fields = {
        "outcome": Outcome.OK,
        "status": 200,
        "request_head": b"GET /page/%d HTTP/1.1\r\nHost: docs.example.org\r\n\r\n" % number,
        "head": b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
        b"Content-Length: %d\r\n\r\n" % len(raw),
        "raw": raw,
        "address": changes.pop("connected", "127.0.0.1"),
        "fetched_at": BASE + number,
        "milliseconds": 12,
    }
    fields.update(changes)
    return Fetch(Visit(**visit), **fields)


def warcio_problems(*paths: Path) -> int:
    """Return the exit code of `warcio check`."""
    return Checker(Namespace(inputs=[str(path) for path in paths], verbose=False)).process_all()


def warcio_records(path: Path) -> list[tuple[str, dict[str, str], dict[str, str], bytes]]:
    """Return type, WARC headers, HTTP headers and content of each record, as warcio sees it."""
    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            http = dict(record.http_headers.headers) if record.http_headers else {}
            content = record.content_stream().read()
            found.append((record.rec_type, dict(record.rec_headers.headers), http, content))
    return found
