"""URL_CONTENT and URL_PUT: what is stored for URLs, in the shape of the document."""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_content import (
    claim_contents,
    column_values,
    mark_content,
    members_to_put,
)
from gossamer.catalog.service_fetch import fetch_urls, with_attributes
from gossamer.catalog.service_selection import epoch_at
from gossamer.catalog.service_urls import url_status
from gossamer.objects.coding import MAX_MESSAGE
from gossamer.objects.content import Content, URLContentRequest, URLContentResponse
from gossamer.objects.enumerations import ContentKind, ContentStatus, ContentTypeMask, URLKey
from gossamer.objects.moments import Moment, iso_moment
from gossamer.objects.normal import url_md5
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.objects.url import URL, URLPut, URLStatus
from gossamer.store.contents import Contents, RawContent

_RAW_CHOICE: Final = ContentTypeMask.RAW_LAST | ContentTypeMask.RAW_FIRST | ContentTypeMask.RAW_ALL
_OTHER_FORMS: Final = ContentTypeMask.TIDY | ContentTypeMask.DYNAMIC | ContentTypeMask.CHAIN
_PROCESSED: Final = (
    ContentTypeMask.PROCESSED
    | ContentTypeMask.PROCESSED_INTERNAL
    | ContentTypeMask.PROCESSED_CUSTOM
    | ContentTypeMask.PROCESSED_ALL
)
# What comes along with a raw content: the bit, the field of the answer, the part, the kind.
_PARTS: Final = (
    (ContentTypeMask.HEADERS, "headers", "headers", ContentKind.HEADERS),
    (ContentTypeMask.REQUESTS, "requests", "request", ContentKind.REQUESTS),
    (ContentTypeMask.META, "meta", "meta", ContentKind.META),
    (ContentTypeMask.COOKIES, "cookies", "cookies", ContentKind.COOKIES),
)
_PART_OF: Final = {kind: part for _, _, part, kind in _PARTS}


class Handed(Struct, frozen=True):
    """A content that a client hands over, decoded."""

    kind: ContentKind
    data: bytes
    stamp: float


class UrlContents:
    """Reads and takes contents of URLs."""

    def __init__(self, catalog: ServiceCatalog, contents: Contents) -> None:
        self._catalog = catalog
        self._contents = contents

    def read(self, requests: Sequence[URLContentRequest], now: float) -> list[URLContentResponse]:
        """Return contents, one answer for each URL that is asked for (S3.174-S3.177)."""
        answers: list[URLContentResponse] = []
        room = MAX_MESSAGE
        for request in requests:
            if request.url_fetch is not None:
                urls = fetch_urls(self._catalog, request.url_fetch, now)
            else:
                urls = self._named(request)
                if not urls:
                    answers.append(_not_found(request))
            if ContentTypeMask.ATTRIBUTES & request.content_type_mask:
                urls = with_attributes(self._catalog, urls, request.attribute_names)
            for url in urls:
                answer = self._answer(request, url)
                room -= _length_of(answer)
                # Before there is no memory left for all of them; one alone has to do.
                if room < 0 and answers:
                    wanted = f"contents of at most {MAX_MESSAGE} bytes together are expected"
                    raise ObjectError("URLContentRequest", "", wanted)
                answers.append(answer)
        return answers

    def _named(self, request: URLContentRequest) -> list[URL]:
        """Return the URL of a request: by its md5 if given, else by its text (C24)."""
        key = URLKey.MD5 if request.url_md5 else URLKey.URL
        text = request.url_md5 or request.url or ""
        status = URLStatus(url=text, url_type=key, site_id=request.site_id)
        return url_status(self._catalog.database, [status])

    def _answer(self, request: URLContentRequest, url: URL) -> URLContentResponse:
        mask = ContentTypeMask(request.content_type_mask)
        versions = self._versions(mask, url)
        raw = _raw_contents(mask, versions)
        processed = self._processed_contents(mask, url)
        status = ContentStatus.OK
        if mask & _RAW_CHOICE and not raw:
            status = ContentStatus.RAW_NOT_FOUND
        elif mask & _PROCESSED and not processed:
            status = ContentStatus.PROCESSED_NOT_FOUND
        parts = {
            field: [_part(version, part, kind) for version in versions] if mask & bit else []
            for bit, field, part, kind in _PARTS
        }
        return URLContentResponse(
            url=url.url,
            url_md5=url.url_md5,
            site_id=url.site_id,
            status=int(status),
            raw_contents=raw,
            processed_contents=processed,
            raw_content_md5=url.raw_content_md5,
            content_url_md5=url.content_url_md5,
            db_fields=column_values(
                url, request.db_fields_list, request.db_fields_list_default_values
            ),
            attributes=url.attributes,
            headers=parts["headers"],
            requests=parts["requests"],
            meta=parts["meta"],
            cookies=parts["cookies"],
        )

    def _versions(self, mask: ContentTypeMask, url: URL) -> list[RawContent]:
        """Return the versions of a raw content that are asked for, the oldest first."""
        read = self._contents.raw
        if mask & ContentTypeMask.RAW_ALL:
            return read(url.site_id, url.url_md5, "all")
        found: dict[float, RawContent] = {}
        if mask & ContentTypeMask.RAW_FIRST:
            found.update({each.stamp: each for each in read(url.site_id, url.url_md5, "first")})
        parts = any(mask & bit for bit, *_ in _PARTS)
        # Headers and the like alone are those of the newest.
        if mask & ContentTypeMask.RAW_LAST or (parts and not mask & _RAW_CHOICE):
            found.update({each.stamp: each for each in read(url.site_id, url.url_md5, "last")})
        return [found[stamp] for stamp in sorted(found)]

    def _processed_contents(self, mask: ContentTypeMask, url: URL) -> list[Content]:
        if not mask & _PROCESSED:
            return []
        stored = self._contents.processed(url.site_id, url.url_md5)
        if stored is None:
            return []
        made, moment = stored[0], iso_moment(stored[1])
        default, internal, custom = _parts_of(made)
        wanted: list[object] = []
        if mask & ContentTypeMask.PROCESSED:
            wanted.append(custom[0] if custom else default)
        if mask & ContentTypeMask.PROCESSED_ALL:
            wanted.append(msgspec.Raw(made))
        both = ContentTypeMask.PROCESSED_INTERNAL | ContentTypeMask.PROCESSED_CUSTOM
        if mask & both == both:
            wanted += [list(pair) for pair in zip(internal, custom, strict=False)]
        elif mask & ContentTypeMask.PROCESSED_INTERNAL:
            wanted += internal
        elif mask & ContentTypeMask.PROCESSED_CUSTOM:
            wanted += custom
        return [_content(_bytes_of(each), moment, ContentKind.PROCESSOR) for each in wanted]

    # ------------------------------------------------------------------------------ put

    def put(self, requests: Iterable[URLPut], now: float) -> list[bool]:
        """Take contents of URLs that are there; whether each request found some."""
        read = [(request, handed_over(request, now)) for request in requests]
        statuses = []
        for request, handed in read:
            targets = members_to_put(self._catalog.database, request, now)
            claim_contents(self._catalog, request.site_id, [each[0] for each in targets], now)
            taken = [
                doc_id
                for doc_id, md5, url in targets
                if self.take(request.site_id, md5, handed, url)
            ]
            if taken:
                is_raw = handed.kind is ContentKind.RAW
                size = len(handed.data) if is_raw else None
                raw_md5 = hashlib.md5(handed.data).hexdigest() if is_raw else None
                mark_content(self._catalog, request.site_id, taken, now, size, raw_md5)
            statuses.append(bool(taken))
        return statuses

    def take(self, site_id: str, md5: str, handed: Handed, url: str) -> bool:
        """Store a content; whether it could be: a part needs the raw content it belongs to."""
        if handed.kind is ContentKind.PROCESSOR:
            self._contents.put_processed(site_id, md5, handed.data, handed.stamp)
            return True
        body, stamp = handed.data, handed.stamp
        parts: dict[str, bytes | None] = {"headers": None, "request": None}
        if handed.kind is not ContentKind.RAW:
            versions = self._contents.raw(site_id, md5, "last")
            if not versions:
                return False
            (version,) = versions
            body, stamp = version.body, version.stamp
            parts = {part: getattr(version, part) for part in _PART_OF.values()}
            parts[_PART_OF[handed.kind]] = handed.data
        self._contents.put_raw(site_id, md5, stamp, body=body, url=url, **parts)
        self._contents.sync()
        return True


def handed_over(request: URLPut, now: float) -> Handed:
    """Return the content of a request; ObjectError if it cannot be read or is of no known kind."""
    try:
        kind = ContentKind(request.content_type)
    except ValueError:
        raise ObjectError("URLPut", "contentType", "a kind of content is expected") from None
    if kind is not ContentKind.RAW and kind is not ContentKind.PROCESSOR and kind not in _PART_OF:
        raise UnsupportedError("URLPut", "contentType", f"{kind.name} is not stored here")
    data = request.put_dict.get("data")
    moment = request.put_dict.get("cDate")
    stamp = epoch_at(Moment(moment), now) if isinstance(moment, str) and moment else now
    if kind is ContentKind.PROCESSOR:
        return Handed(kind, _processed_data(data), stamp or now)
    if not isinstance(data, str):
        raise ObjectError("URLPut", "putDict.data", "a text in base64 is expected")
    try:
        return Handed(kind, base64.b64decode(data, validate=True), stamp or now)
    except (binascii.Error, ValueError):
        raise ObjectError("URLPut", "putDict.data", "a text in base64 is expected") from None


def _processed_data(data: object) -> bytes:
    """Return processed content as it is stored: JSON, whole or of the default alone."""
    if data is None:
        raise ObjectError("URLPut", "putDict.data", "a content is expected")
    if isinstance(data, str):
        try:
            data = msgspec.json.decode(data)
        except msgspec.DecodeError:
            pass
    if not _has_parts(data):
        data = {"default": data, "internal": [], "custom": []}
    return msgspec.json.encode(data)


def _has_parts(data: object) -> bool:
    return isinstance(data, dict) and "default" in data


def _parts_of(made: bytes) -> tuple[object, list[object], list[object]]:
    """Return default, internal and custom of a processed content."""
    try:
        data = msgspec.json.decode(made)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return made.decode("utf-8", "replace"), [], []
    if not isinstance(data, dict) or not _has_parts(data):
        return data, [], []
    return data["default"], _list_of(data, "internal"), _list_of(data, "custom")


def _list_of(data: Mapping[str, object], name: str) -> list[object]:
    value = data.get(name)
    return value if isinstance(value, list) else []


def _bytes_of(value: object) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


def _raw_contents(mask: ContentTypeMask, versions: Iterable[RawContent]) -> list[Content]:
    """Return raw contents, unless only other forms are asked for, which are not stored (C24)."""
    asked = mask & _RAW_CHOICE and (mask & ContentTypeMask.RAW or not mask & _OTHER_FORMS)
    if not asked:
        return []
    return [_content(each.body, iso_moment(each.stamp), ContentKind.RAW) for each in versions]


def _part(version: RawContent, part: str, kind: ContentKind) -> Content | None:
    data: bytes | None = getattr(version, part)
    return None if data is None else _content(data, iso_moment(version.stamp), kind)


def _content(data: bytes, moment: Moment, kind: ContentKind) -> Content:
    return Content(buffer=base64.b64encode(data).decode("ascii"), c_date=moment, type_id=kind)


def _length_of(answer: URLContentResponse) -> int:
    fields = (answer.raw_contents, answer.processed_contents, answer.headers)
    more = (answer.requests, answer.meta, answer.cookies)
    return sum(len(each.buffer) for field in (*fields, *more) for each in field if each)


def _not_found(request: URLContentRequest) -> URLContentResponse:
    md5 = request.url_md5 or ""
    if not md5 and request.url:
        try:
            md5 = url_md5(request.url)
        except ObjectError:
            md5 = ""
    return URLContentResponse(
        url=request.url or "",
        url_md5=md5,
        site_id=request.site_id,
        status=int(ContentStatus.URL_NOT_FOUND),
    )
