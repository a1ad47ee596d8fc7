"""What a redirect leads to. Following it is a matter of discovery, not of the spider."""

from collections.abc import Sequence
from typing import Final

import ada_url

from gossamer.config.spider import SpiderSettings
from gossamer.outcomes import Outcome
from gossamer.url.canonical import canonicalize
from gossamer.url.header import reference_in_header

REDIRECT_STATUSES: Final = frozenset((301, 302, 303, 307, 308))
_TO: Final = "redirected to "
_KNOWN: Final = ", which is in the chain already"


def is_redirect(status: int, locations: Sequence[str]) -> bool:
    """Whether the response sends its reader elsewhere.

    300 and unknown 3xx codes do when they name a place (RFC 9110, 15.4.1); 305 and 306 never: they
    once told clients to use a proxy, which is a way to be led astray.
    """
    if not 300 <= status < 400:
        return False
    if status in REDIRECT_STATUSES:
        return True
    return (status == 300 or status > 308) and any(map(str.strip, locations))


def redirect(
    status: int,
    headers: Sequence[tuple[str, str]],
    url: str,
    via: Sequence[str],
    settings: SpiderSettings,
) -> tuple[Outcome, str | None, str]:
    """Return (outcome, canonical target, detail) of a redirect; there is a target when it is OK."""
    locations = list(
        dict.fromkeys(value.strip() for name, value in headers if name == "location" and value)
    )
    if not any(locations):
        return Outcome.REDIR_NONE, None, f"{status} without Location"
    if len(locations) > 1:
        return Outcome.REDIR_BAD, None, f"{len(locations)} different Locations"
    return _judge(locations[0], url, via, settings)


def end_of_loop(detail: str) -> str | None:
    """Return where a redirect led back to, from the detail of its outcome `redir.loop`."""
    if not (detail.startswith(_TO) and detail.endswith(_KNOWN)):
        return None
    return detail[len(_TO) : -len(_KNOWN)]


def _judge(
    location: str, url: str, via: Sequence[str], settings: SpiderSettings
) -> tuple[Outcome, str | None, str]:
    if len(location) > settings.max_url_bytes:
        return Outcome.REDIR_BAD, None, f"Location of {len(location)} bytes"
    try:
        joined = ada_url.join_url(url, reference_in_header(location))
    except ValueError:
        return Outcome.REDIR_BAD, None, f"Location cannot be understood: {location[:200]!r}"
    if not joined.startswith(("http://", "https://")):
        scheme = joined.partition(":")[0]
        return Outcome.REDIR_SCHEME, None, f"Location leads to a {scheme[:40]} URL"
    target = canonicalize(joined)
    if target is None or len(target) > settings.max_url_bytes:
        return Outcome.REDIR_BAD, None, f"Location cannot be used: {location[:200]!r}"
    if target == url or target in via:
        return Outcome.REDIR_LOOP, None, f"{_TO}{target}{_KNOWN}"
    if len(via) >= settings.max_redirects:
        return (
            Outcome.REDIR_TOO_MANY,
            None,
            f"chain of more than {settings.max_redirects} redirects",
        )
    return Outcome.OK, target, ""
