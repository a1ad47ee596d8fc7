"""Raw contents as the service keeps them: files by site and URL, in UTF-8 (S3.63-S3.66)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.messages import Fetch, Page
from gossamer.objects.proxying import is_spoiled
from gossamer.objects.wishes import is_among, meant_type
from gossamer.parse.charset import recoded
from gossamer.store.contents import md5_name, site_name
from gossamer.store.disk import System
from gossamer.store.raw_files import NotKeptError, RawFiles


class RawCopies:
    """Keeps what was fetched for the sites that wanted it."""

    def __init__(
        self, folder: Path, *, system: System | None = None, keeps_old: bool = True
    ) -> None:
        self._files = RawFiles(folder, system=system, keeps_old=keeps_old)
        self._documents: dict[tuple[str, str], int] = {}
        """Whose contents wait for `sync`, by the names of their site and URL."""
        self._refused: dict[int, str] = {}

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
            self._documents[site_name(site_id), md5_name(md5)] = fetch.visit.doc_id
            with self._noting():
                self._files.put(site_id, md5, fetch.fetched_at, body, parts)

    def sync(self) -> dict[int, str]:
        """Make everything taken so far durable; return the documents that cannot be, and why."""
        try:
            with self._noting():
                self._files.sync()
        finally:
            # What a failed sync leaves is fetched and taken again.
            refused, self._refused, self._documents = self._refused, {}, {}
        return refused

    def close(self) -> None:
        """Leave nothing to be done by others."""
        with self._noting():
            self._files.close()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Go on where only some contents cannot be kept, and note whose those are."""
        try:
            yield
        except NotKeptError as error:
            self._refused |= {self._documents[place]: str(error) for place in error.refused}


def cookie_lines(fetch: Fetch) -> bytes | None:
    """Return the cookies that a response set, one on each line; None if it set none."""
    lines = [value for name, value in fetch.headers if name == "set-cookie"]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace") if lines else None
