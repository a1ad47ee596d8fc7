"""Raw contents as the service keeps them: files by site and URL, in UTF-8 (S3.63-S3.66)."""

from pathlib import Path

from gossamer.messages import Fetch
from gossamer.store.raw_files import RawFiles


class RawCopies:
    """Keeps what was fetched for the sites that wanted it."""

    def __init__(self, folder: Path) -> None:
        self._files = RawFiles(folder)

    def keep(self, fetch: Fetch, charset: str) -> None:
        """Take a document for each site that wants it; durable after `sync`."""
        manner = fetch.visit.manner
        if manner is None or not fetch.success or not fetch.body:
            return
        body = in_utf8(fetch.body, charset)
        parts = {
            "headers": fetch.head if manner.keeps_headers else None,
            "request": fetch.request_head if manner.keeps_request else None,
        }
        for site_id, md5 in manner.kept_as:
            self._files.put(site_id, md5, fetch.fetched_at, body, parts)

    def sync(self) -> None:
        """Make everything taken so far durable."""
        self._files.sync()


def in_utf8(body: bytes, charset: str) -> bytes:
    """Return a text in UTF-8; what is no text, or has a charset nobody knows, as it is."""
    if not charset or charset.lower() in ("utf-8", "utf8", "us-ascii"):
        return body
    try:
        return body.decode(charset, "replace").encode()
    except LookupError:
        return body
