"""What a visit means for a member of a site (S3.57-S3.62). Pure but for one look at members."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from gossamer.catalog.asking import Sequel, detection_of
from gossamer.catalog.batch_facts import Item, PageFacts, SiteFacts
from gossamer.catalog.leases import json_list
from gossamer.catalog.manners import aliases
from gossamer.catalog.proxies import REQUESTS
from gossamer.messages import NOT_MODIFIED_STATUS, Findings
from gossamer.objects.enumerations import CrawlStatus, URLState
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.methods import is_head
from gossamer.objects.modified import Behavior, Known, Seen, is_unchanged
from gossamer.objects.wishes import is_allowed, is_among, meant_type, status_after, types_of
from gossamer.reports import PageReport

_EMPTY_BIT: Final = 1 << ErrorBit.EMPTY_CONTENT
_CODE_PAGE_BIT: Final = 1 << ErrorBit.CODE_PAGE_CONVERSION
_TYPE_BIT: Final = 1 << ErrorBit.WRONG_MIME_TYPE
_SIZE_BIT: Final = 1 << ErrorBit.SIZE_ERROR
_PAGE: Final = 15
"""Where in a row the page begins."""


class Before(Struct, frozen=True, gc=False):
    """What a member was like before a visit."""

    size: int
    content_type: str
    charset: str
    raw_md5: str
    inside: int
    outside: int
    last_modified: float | None
    etag: str
    code: int
    is_processed: int
    has_content: int
    udate: float | None
    is_root: int
    method: str


class Visited(Struct, frozen=True):
    """A visit that counts for a member of a site."""

    site: SiteFacts
    properties: Mapping[str, str]
    before: Before
    findings: Findings
    report: PageReport
    mask: int
    """The bits of its outcome."""
    sequel: Sequel


class Standing(Struct, frozen=True):
    """A member before a visit, and as the page that it is."""

    before: Before
    handed_down: tuple[Any, ...]
    """The fields of PageFacts, but for the type of the content, which the visit brings."""

    def page(self, content_type: str) -> PageFacts:
        """Return what it hands down to the URLs that are found on it."""
        fields = (*self.handed_down, content_type)
        return PageFacts(*fields)


def before_visits(
    connection: sqlite3.Connection, items: Iterable[Item]
) -> dict[tuple[int, int], Standing]:
    """Return what members were like, by set and document, those that are not gone."""
    by_set: dict[int, list[int]] = {}
    for item in items:
        by_set.setdefault(item.set_id, []).append(item.doc_id)
    found = {}
    for set_id, doc_ids in by_set.items():
        for row in connection.execute(REQUESTS["members_before"], (set_id, json_list(doc_ids))):
            found[set_id, row[0]] = Standing(Before(*row[1:_PAGE]), row[_PAGE:])
    return found


def values_after(visited: Visited, now: float) -> dict[str, object]:
    """Return what the member is like now; `mask` among it says whether anything was wrong."""
    findings, report = visited.findings, visited.report
    unchanged = _is_unchanged(visited)
    content_type = meant_type(findings.content_type, aliases(visited.properties))
    mask = _mask(visited, content_type, unchanged=unchanged)
    status = status_after(findings.status, visited.properties)
    if visited.sequel.status is not None:
        status = visited.sequel.status
    kept = types_of(visited.properties.get("MIME_TYPE_STORE_ON_DISK", ""))
    is_kept = findings.body_bytes > 0 and not mask and is_among(content_type, kept)
    # One that is in error is not selected again.
    is_wrong = mask and status != CrawlStatus.NEW
    values: dict[str, object] = {
        "status": status,
        "state": int(URLState.ERROR if is_wrong else URLState.ENABLED),
        "content_type": content_type,
        "charset": report.charset,
        "mask": mask,
        "time": float(findings.milliseconds),
        "now": now,
        "code": findings.status,
        "size": findings.body_bytes,
        "raw_md5": report.raw_md5,
        "inside": report.links_inside,
        "outside": report.links_outside,
        "last_modified": report.last_modified,
        "etag": findings.etag or "",
        "content_mask": int(is_kept),
        "changed": int(not unchanged),
    }
    return values | _as_before(visited, now) if unchanged and not mask else values


def _mask(visited: Visited, content_type: str, *, unchanged: bool) -> int:
    findings, site = visited.findings, visited.site
    mask = visited.mask | visited.sequel.mask
    if site.max_resource_size and findings.body_bytes > site.max_resource_size:
        mask |= _SIZE_BIT
    if unchanged or is_head(visited.before.method):
        return mask
    if not mask and not findings.body_bytes:
        mask |= _EMPTY_BIT
    if visited.report.garbled:
        mask |= _CODE_PAGE_BIT
    if not mask and not is_allowed(content_type, visited.properties):
        mask |= _TYPE_BIT
    return mask


def _is_unchanged(visited: Visited) -> bool:
    findings, before = visited.findings, visited.before
    if findings.status == NOT_MODIFIED_STATUS:
        return True
    detection = detection_of(visited.properties)
    if not before.has_content or not detection.is_on(is_root=bool(before.is_root)):
        return False
    known = Known(before.raw_md5, before.size, before.last_modified)
    report = visited.report
    size = findings.body_bytes or report.length
    return is_unchanged(
        detection, known, Seen(findings.status, report.raw_md5, size, report.last_modified)
    )


def _as_before(visited: Visited, now: float) -> dict[str, object]:
    """Return what stays as it was when nothing has changed."""
    before, behavior = visited.before, detection_of(visited.properties).behavior
    values: dict[str, object] = {
        "content_type": before.content_type,
        "charset": before.charset,
        "code": NOT_MODIFIED_STATUS,
        "size": before.size,
        "raw_md5": before.raw_md5,
        "inside": before.inside,
        "outside": before.outside,
        "last_modified": visited.report.last_modified or before.last_modified,
        "etag": visited.findings.etag or before.etag,
        "content_mask": before.has_content,
    }
    if behavior in (Behavior.AS_BEFORE, Behavior.UNTOUCHED) and before.is_processed:
        values["status"] = int(CrawlStatus.PROCESSED)
    if behavior == Behavior.AGAIN:
        values["code"] = before.code
    if behavior == Behavior.UNTOUCHED:
        values["now"] = before.udate or now
    return values
