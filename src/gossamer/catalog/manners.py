"""How a request for a URL of a site is to be made. Pure but for the count of header values sent."""

from collections.abc import Mapping, Sequence

from gossamer.catalog.batch_facts import MemberFacts, Memo, SiteFacts
from gossamer.messages import Manner
from gossamer.objects.wishes import headers_of, milliseconds_of


def manner_of(
    site: SiteFacts,
    member: MemberFacts,
    properties: Mapping[str, str],
    memo: Memo,
    kept_as: Sequence[tuple[str, str]],
) -> Manner:
    """Return headers, time-outs and delay of a request, and under which names it is kept."""
    return Manner(
        headers=headers_of(properties, memo.uses),
        timeout_ms=int(member.http_timeout or site.http_timeout),
        connect_ms=milliseconds_of(properties.get("CONNECTION_TIMEOUT", "")),
        delay_ms=int(member.request_delay or site.request_delay),
        kept_as=tuple(kept_as),
        keeps_headers=properties.get("STORE_HTTP_HEADERS", "1") != "0",
        keeps_request=properties.get("STORE_HTTP_REQUEST", "1") != "0",
    )
