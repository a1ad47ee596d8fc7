"""The one-byte codes of a result: what happened, and the HTTP status in a byte.

The numbers are part of the protocol (docs/reference/wire.md): never change or reuse one.
"""

from enum import IntEnum
from typing import Final

from gossamer.outcomes import Outcome


class Specific(IntEnum):
    """Field 3: what happened, more exactly than success or not."""

    OK = 0
    REDIRECTED = 1
    REDIRECT_LIMIT = 2
    TIMED_OUT = 3
    NOT_CONNECTED = 4
    DNS_FAILURE = 5
    TLS_FAILURE = 6
    MALFORMED = 7
    TOO_LARGE = 8
    NOT_ACCEPTABLE = 9
    ROBOTS = 10
    NOT_MODIFIED = 11
    HTTP_ERROR = 12
    OTHER = 255


NO_RESPONSE: Final = 0
OTHER_STATUS: Final = 255
UNKNOWN_STATUS: Final = 999
"""What 255 is read as: there was a status, of no class from 1 to 5."""

# First status, last status, the enumeration of the first.
_RANGES: Final = (
    (100, 103, 1),
    (200, 208, 10),
    (226, 226, 19),
    (300, 308, 30),
    (400, 431, 60),
    (451, 451, 95),
    (500, 511, 120),
    (520, 530, 140),
)
_BY_STATUS: Final = {
    status: first + status - low for low, high, first in _RANGES for status in range(low, high + 1)
}
_BY_ENUMERATION: Final = {
    **{number: status for status, number in _BY_STATUS.items()},
    # A class of which no more is known is read as its last code, which no standard assigns.
    **{249 + digit: digit * 100 + 99 for digit in range(1, 6)},
    OTHER_STATUS: UNKNOWN_STATUS,
}


def http_enumeration(status: int) -> int:
    """Return the byte for an HTTP status; 0 stands for no response at all."""
    if status == 0:
        return NO_RESPONSE
    known = _BY_STATUS.get(status)
    if known is not None:
        return known
    return 249 + status // 100 if 100 <= status < 600 else OTHER_STATUS


def status_of(enumeration: int) -> int:
    """Return the HTTP status for a byte; 0 for no response and for bytes without a meaning."""
    return _BY_ENUMERATION.get(enumeration, 0)


def success_of(outcome: Outcome, status: int) -> bool:
    """Whether a body arrived completely, within limits, with a status of 2xx (or 304)."""
    if outcome is Outcome.NOT_MODIFIED:
        return status == 304
    return outcome is Outcome.OK and 200 <= status < 300


def specific_of(outcome: Outcome, status: int, redirect_to: str | None) -> Specific:
    """Return the specific code of a fetch that ended so."""
    if outcome is Outcome.OK and redirect_to is not None and 300 <= status < 400:
        return Specific.REDIRECTED
    return _SPECIFIC[outcome]


_FAMILIES: Final = {
    "OK": Specific.OK,
    "HTTP": Specific.HTTP_ERROR,
    "NET": Specific.NOT_CONNECTED,
    "DNS": Specific.DNS_FAILURE,
    "TLS": Specific.TLS_FAILURE,
    "PROTO": Specific.MALFORMED,
}
_SPECIFIC: Final = {
    outcome: _FAMILIES.get(outcome.name.partition("_")[0], Specific.OTHER) for outcome in Outcome
} | {
    Outcome.NOT_MODIFIED: Specific.NOT_MODIFIED,
    Outcome.NET_TIMEOUT_HEADERS: Specific.TIMED_OUT,
    Outcome.NET_TIMEOUT_TOTAL: Specific.TIMED_OUT,
    Outcome.NET_SLOW: Specific.TIMED_OUT,
    # The connection ended, or was lost, before the body was complete.
    Outcome.BODY_SHORT: Specific.NOT_CONNECTED,
    Outcome.BODY_TOO_LARGE: Specific.TOO_LARGE,
    Outcome.BODY_BOMB: Specific.TOO_LARGE,
    Outcome.BODY_DECODE: Specific.NOT_ACCEPTABLE,
    Outcome.BODY_ENCODING: Specific.NOT_ACCEPTABLE,
    # A response like any other; its status of 3xx says the rest.
    Outcome.REDIR_NONE: Specific.OK,
    Outcome.REDIR_BAD: Specific.MALFORMED,
    Outcome.REDIR_LOOP: Specific.REDIRECT_LIMIT,
    Outcome.REDIR_TOO_MANY: Specific.REDIRECT_LIMIT,
    Outcome.POLICY_ROBOTS: Specific.ROBOTS,
    Outcome.POLICY_ROBOTS_UNREACHABLE: Specific.ROBOTS,
}


def outcome_of(specific: int, status: int) -> Outcome:
    """Return the outcome that comes nearest to the codes of a result; the way back loses detail."""
    match specific:
        case Specific.OK | Specific.HTTP_ERROR:
            return _meaning_of(status)
        case Specific.NOT_CONNECTED:
            # With a status there was a connection: it ended in the middle of the body.
            return Outcome.BODY_SHORT if status else Outcome.NET_REFUSED
        case Specific.MALFORMED:
            if not status:
                return Outcome.PROTO_NOT_HTTP
            return Outcome.REDIR_BAD if 300 <= status < 400 else Outcome.PROTO_FRAMING
    return _OUTCOMES.get(specific, Outcome.INTERNAL)


_OUTCOMES: Final[dict[int, Outcome]] = {
    Specific.REDIRECTED: Outcome.OK,
    Specific.REDIRECT_LIMIT: Outcome.REDIR_TOO_MANY,
    Specific.TIMED_OUT: Outcome.NET_TIMEOUT_TOTAL,
    Specific.DNS_FAILURE: Outcome.DNS_SERVFAIL,
    Specific.TLS_FAILURE: Outcome.TLS_HANDSHAKE,
    Specific.TOO_LARGE: Outcome.BODY_TOO_LARGE,
    Specific.NOT_ACCEPTABLE: Outcome.BODY_ENCODING,
    Specific.ROBOTS: Outcome.POLICY_ROBOTS,
    Specific.NOT_MODIFIED: Outcome.NOT_MODIFIED,
}


def _meaning_of(status: int) -> Outcome:
    if status == 304:
        return Outcome.NOT_MODIFIED
    if 200 <= status < 300:
        return Outcome.OK
    if 300 <= status < 400:
        return Outcome.REDIR_NONE
    if status == 429:
        return Outcome.HTTP_429
    if 400 <= status < 500:
        return Outcome.HTTP_4XX
    # No status, an interim one or an unknown one: nothing was fetched, and a later try may do.
    return Outcome.HTTP_5XX if status >= 500 else Outcome.INTERNAL
