"""How a request for a URL of a site is to be made. Pure but for the count of header values sent."""

import contextlib
from collections.abc import Mapping, Sequence

from gossamer.catalog.batch_facts import MemberFacts, Memo, SiteFacts
from gossamer.catalog.request_memo import Asked
from gossamer.messages import Manner
from gossamer.objects.problems import ObjectError
from gossamer.objects.proxying import parse_user_proxy
from gossamer.objects.wishes import (
    Occasion,
    agent_of,
    aliases_of,
    headers_of,
    is_set,
    milliseconds_of,
    types_of,
)


def manner_of(
    site: SiteFacts,
    member: MemberFacts,
    properties: Mapping[str, str],
    memo: Memo,
    kept_as: Sequence[tuple[str, str]],
    occasion: Occasion,
    asked: Asked,
    gap_seconds: float = 0.0,
) -> Manner:
    """Return headers, time-outs, delay and proxy of a request, and under which names it is kept."""
    headers = headers_of(properties, memo.uses, occasion, memo.requests.read_file)
    return Manner(
        headers=headers,
        timeout_ms=int(member.http_timeout or site.http_timeout),
        connect_ms=milliseconds_of(properties.get("CONNECTION_TIMEOUT", "")),
        delay_ms=max(int(member.request_delay or site.request_delay), int(1_000 * gap_seconds)),
        kept_as=tuple(kept_as),
        keeps_headers=properties.get("STORE_HTTP_HEADERS", "1") != "0",
        keeps_request=properties.get("STORE_HTTP_REQUEST", "1") != "0",
        keeps_cookies=is_set(properties, "STORE_COOKIES"),
        keeps_types=types_of(properties.get("MIME_TYPE_STORE_ON_DISK", "")),
        aliases=aliases(properties),
        agent=agent_of(headers),
        proxy=asked.proxy,
        spoiled_by=_patterns(properties) if asked.proxy else (),
        keeps_spoiled=not asked.rotates,
    )


def aliases(properties: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the content types of CONTENT_TYPE_MAP; what cannot be read was refused when set."""
    text = properties.get("CONTENT_TYPE_MAP", "")
    if not text:
        return ()
    with contextlib.suppress(ObjectError):
        return aliases_of(text)
    return ()


def _patterns(properties: Mapping[str, str]) -> tuple[str, ...]:
    text = properties.get("USER_PROXY", "").strip()
    return parse_user_proxy(text).raw_content_check.patterns if text else ()
