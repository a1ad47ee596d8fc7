"""Batches that write nothing (dbMode without W): their URLs are guests in a site of their own.

Theory of operation. The engine needs records. So for the time of such a batch each of its sites has
a double that takes no part in anything else, with what the batch may read of the site (R), or with
nothing (NO). The answer says of the URLs what would be on record; then the double goes with all it
has. One whose batch was killed is removed by the next batch of this kind.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.enumerations import GENERAL_SITE, CrawlStatus, DatabaseMode, Operation, URLKey
from gossamer.objects.selection import Criterions
from gossamer.objects.site import Properties, Property, Site, SiteDelete, SiteStatus
from gossamer.objects.url import URL, URLStatus
from gossamer.service.operations import Operations

_MARK: Final = "guests of a batch"
_LEFT_BEHIND: Final = f"Description = '{_MARK}' AND CDate < DATE_SUB(NOW(), INTERVAL 2 DAY)"
_NO_PART: Final = Property(name="MODES_FLAG", value="0")


class Lodging(Struct):
    """A batch whose URLs are guests."""

    batch: Batch
    names: dict[str, str]
    """The sites that are meant, by their doubles."""

    def back(self, operations: Operations, batch: Batch) -> Batch:
        """Return what became of the batch, as if its URLs had been where they belong."""
        return replace(batch, items=[self._back(operations, item) for item in batch.items])

    def _back(self, operations: Operations, item: BatchItem) -> BatchItem:
        name = self.names[item.site_id]
        url = _url(operations, item)
        content = item.url_content_response
        return replace(
            item,
            site_id=name,
            url_obj=None if url is None else replace(url, site_id=name),
            url_content_response=None if content is None else replace(content, site_id=name),
        )


def writes(batch: Batch) -> bool:
    """Whether what a batch brings is put on record."""
    return bool(batch.db_mode & DatabaseMode.W)


@contextmanager
def lodged(operations: Operations, batch: Batch) -> Iterator[Lodging]:
    """Give the URLs of a batch a place that is gone with the block."""
    left = SiteDelete(criterions=Criterions(where=_LEFT_BEHIND, limit=100))
    operations.execute(Operation.SITE_DELETE, [left])
    doubles = {name: uuid.uuid4().hex for name in {item.site_id for item in batch.items}}
    made: list[str] = []
    try:
        for name, double in doubles.items():
            if _make(operations, batch, name, double):
                made.append(double)
        items = [_guest(operations, batch, item, doubles[item.site_id]) for item in batch.items]
        names = {double: name or GENERAL_SITE for name, double in doubles.items()}
        yield Lodging(replace(batch, items=items, db_mode=DatabaseMode.RW), names)
    finally:
        for double in made:
            operations.execute(Operation.SITE_DELETE, [SiteDelete(id=double)])


def _make(operations: Operations, batch: Batch, name: str, double: str) -> bool:
    """Make the double of a site; False if there is no such site to be read."""
    site = Site()
    if batch.db_mode & DatabaseMode.R:
        known = operations.execute(Operation.SITE_STATUS, SiteStatus(id=name))
        assert isinstance(known, Site)
        site = known
    kept = [each for each in site.properties if each.name != _NO_PART.name]
    guest = replace(
        site,
        id=double,
        description=_MARK,
        c_date=None,
        urls=[],
        recrawl_period=0,
        recrawl_date=None,
        properties=Properties([*kept, _NO_PART]),
    )
    answer = operations.execute(Operation.SITE_NEW, guest)
    return not getattr(answer, "error_code", 0)


def _guest(operations: Operations, batch: Batch, item: BatchItem, double: str) -> BatchItem:
    url = item.url_obj
    if batch.db_mode & DatabaseMode.R:
        url = _url(operations, item) or url
    if url is not None:
        url = replace(url, site_id=double, status=CrawlStatus.NEW, crawled=0, batch_id=0)
    own = None if item.site_obj is None else replace(item.site_obj, id=None)
    return replace(item, site_id=double, url_obj=url, site_obj=own)


def _url(operations: Operations, item: BatchItem) -> URL | None:
    request = URLStatus(site_id=item.site_id, url=item.url_id, url_type=URLKey.MD5)
    found = operations.execute(Operation.URL_STATUS, [request])
    url = found[0] if isinstance(found, list) and found else None
    return url if isinstance(url, URL) else None
