"""What a visit means for a member of a site (S3.57-S3.62). Pure but for one look at the member."""

import sqlite3
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from gossamer.catalog.asking import Sequel, detection_of
from gossamer.catalog.batch_facts import Item, SiteFacts
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
_TYPE_BIT: Final = 1 << ErrorBit.WRONG_MIME_TYPE
_SIZE_BIT: Final = 1 << ErrorBit.SIZE_ERROR


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


def before_visit(connection: sqlite3.Connection, item: Item) -> Before | None:
    """Return what a member was like; None if it is gone."""
    row = connection.execute(REQUESTS["member_before"], (item.set_id, item.doc_id)).fetchone()
    return None if row is None else Before(*row)


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
