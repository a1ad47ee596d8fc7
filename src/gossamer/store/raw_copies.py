"""Raw contents as the service keeps them: files by site and URL, in UTF-8 (S3.63-S3.66)."""

from pathlib import Path

from gossamer.messages import Fetch, Page
from gossamer.objects.proxying import is_spoiled
from gossamer.objects.wishes import is_among, meant_type
from gossamer.parse.charset import recoded
from gossamer.store.disk import System
from gossamer.store.raw_files import RawFiles


class RawCopies:
    """Keeps what was fetched for the sites that wanted it."""

    def __init__(
        self, folder: Path, *, system: System | None = None, keeps_old: bool = True
    ) -> None:
        self._files = RawFiles(folder, system=system, keeps_old=keeps_old)

    def keep(self, fetch: Fetch, page: Page) -> None:
        """Take a document for each site that wants it; durable after `sync`."""
        manner = fetch.visit.manner
        if manner is None or not fetch.success or not fetch.body:
            return
        if not is_among(meant_type(page.content_type, manner.aliases), manner.keeps_types):
            return
        if not manner.keeps_spoiled and is_spoiled(manner.spoiled_by, fetch.body):
            return
        body, _ = recoded(fetch.body, page.charset)
        parts = {
            "headers": fetch.head if manner.keeps_headers else None,
            "request": fetch.request_head if manner.keeps_request else None,
            "cookies": cookie_lines(fetch) if manner.keeps_cookies else None,
        }
        for site_id, md5 in manner.kept_as:
            self._files.put(site_id, md5, fetch.fetched_at, body, parts)

    def sync(self) -> None:
        """Make everything taken so far durable."""
        self._files.sync()

    def close(self) -> None:
        """Leave nothing to be done by others."""
        self._files.close()


def cookie_lines(fetch: Fetch) -> bytes | None:
    """Return the cookies that a response set, one on each line; None if it set none."""
    lines = [value for name, value in fetch.headers if name == "set-cookie"]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace") if lines else None
