"""What the URLs of a batch have brought, put into its items."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gossamer.objects.batch import BatchItem
from gossamer.objects.coding import encode
from gossamer.objects.content import URLContentRequest, URLContentResponse
from gossamer.objects.enumerations import (
    DEFAULT_CONTENT_MASK,
    GENERAL_SITE,
    ContentTypeMask,
    Operation,
)
from gossamer.service.operations import Operations

_CONTENTS: Final = DEFAULT_CONTENT_MASK | ContentTypeMask.HEADERS


def with_contents(operations: Operations, items: Sequence[BatchItem], room: int) -> list[BatchItem]:
    """Return items with what their URLs have brought, as far as that has room in one answer.

    For what has none, the answer says of the URL what is on record, without its contents.
    """
    dressed = []
    for item in items:
        content = _content(operations, item)
        if content is not None and len(encode(content)) > room:
            content = replace(content, raw_contents=[], processed_contents=[], headers=[])
        if content is not None:
            room -= len(encode(content))
        dressed.append(replace(item, url_content_response=content if room >= 0 else None))
    return dressed


def _content(operations: Operations, item: BatchItem) -> URLContentResponse | None:
    request = URLContentRequest(
        site_id=item.site_id or GENERAL_SITE, url_md5=item.url_id, content_type_mask=_CONTENTS
    )
    answer = operations.execute(Operation.URL_CONTENT, [request])
    content = answer[0] if isinstance(answer, list) and answer else None
    return content if isinstance(content, URLContentResponse) else None
