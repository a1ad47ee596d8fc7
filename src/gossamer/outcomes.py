"""The closed list of what can become of a URL, and the rule for each entry.

Every fetch ends in exactly one outcome. The number of an outcome is stored in catalogs: never
change or reuse one, only append. `RULES` is the table *kind of failure -> wait, tries, effect on
the host*.
"""

from enum import IntEnum
from typing import Final

from msgspec import Struct


class State(IntEnum):
    """Where a URL stands; discovered = done + pending + leased + excluded + failed, always."""

    PENDING = 0
    LEASED = 1
    DONE = 2
    EXCLUDED = 3
    FAILED = 4


class Outcome(IntEnum):
    """What became of a URL; `name_of` gives the written form, such as `net.timeout.connect`."""

    OK = 1
    OK_PARTIAL = 2
    NOT_MODIFIED = 3
    HTTP_4XX = 10
    HTTP_429 = 11
    HTTP_5XX = 12
    NET_REFUSED = 20
    NET_RESET = 21
    NET_UNREACHABLE = 22
    NET_CLOSED_EARLY = 23
    NET_TIMEOUT_CONNECT = 24
    NET_TIMEOUT_HEADERS = 25
    NET_TIMEOUT_TOTAL = 26
    NET_SLOW = 27
    DNS_NXDOMAIN = 40
    DNS_NODATA = 41
    DNS_SERVFAIL = 42
    DNS_TIMEOUT = 43
    DNS_BAD = 44
    TLS_EXPIRED = 50
    TLS_UNTRUSTED = 51
    TLS_NAME = 52
    TLS_HANDSHAKE = 53
    TLS_NOT_TLS = 54
    PROTO_NOT_HTTP = 60
    PROTO_STATUS = 61
    PROTO_VERSION = 62
    PROTO_HEADER = 63
    PROTO_HEADER_LIMIT = 64
    PROTO_FRAMING = 65
    PROTO_CHUNK = 66
    PROTO_INTERIM = 67
    PROTO_UPGRADE = 68
    BODY_SHORT = 80
    BODY_TOO_LARGE = 81
    BODY_DECODE = 82
    BODY_BOMB = 83
    BODY_ENCODING = 84
    REDIR_NONE = 100
    REDIR_BAD = 101
    REDIR_LOOP = 102
    REDIR_TOO_MANY = 103
    REDIR_SCHEME = 104
    REDIR_SCOPE = 105
    POLICY_PRIVATE_ADDRESS = 120
    POLICY_PORT = 121
    POLICY_SCOPE = 122
    POLICY_ROBOTS = 123
    POLICY_ROBOTS_UNREACHABLE = 124
    POLICY_TRAP = 125
    POLICY_BUDGET = 126
    PARSE_FAILED = 140
    PARSE_TRUNCATED = 141
    PARSE_BUDGET = 142
    STORE_FULL = 160
    STORE_FAILED = 161
    INTERNAL = 255


class Wait(IntEnum):
    """Kinds of waiting; how many seconds they are is a setting of the URL server."""

    NONE = 0
    SOON = 1
    BACK_OFF = 2


class Rule(Struct, frozen=True):
    """What follows from an outcome."""

    final: State
    """The state of the URL when there are no tries left."""
    tries: int = 1
    """How often the URL is tried in all before the outcome is final."""
    wait: Wait = Wait.NONE
    """How long before the second try; it doubles with each further one."""
    slows_host: bool = False
    """The whole host is backed off: its interval grows with each such outcome in a row."""
    parks_host: bool = False
    """The host gets no request at all meanwhile: every URL of it would end the same way."""


FOREVER: Final = 1_000_000
_SOON: Final = Wait.SOON
_BACK_OFF: Final = Wait.BACK_OFF

# Outcomes that a long wait might cure (TLS, protocol faults, unknown names) are final within one
# crawl; `crawl --recrawl` tries them again when their next fetch is due.
RULES: Final[dict[int, Rule]] = {
    Outcome.OK: Rule(State.DONE),
    Outcome.OK_PARTIAL: Rule(State.DONE),
    Outcome.NOT_MODIFIED: Rule(State.DONE),
    Outcome.HTTP_4XX: Rule(State.FAILED),
    Outcome.HTTP_429: Rule(State.FAILED, 5, _BACK_OFF, slows_host=True),
    Outcome.HTTP_5XX: Rule(State.FAILED, 3, _BACK_OFF, slows_host=True),
    Outcome.NET_REFUSED: Rule(State.FAILED, 3, _BACK_OFF, parks_host=True),
    Outcome.NET_RESET: Rule(State.FAILED, 3, _SOON, slows_host=True),
    Outcome.NET_UNREACHABLE: Rule(State.FAILED, 3, _BACK_OFF, parks_host=True),
    Outcome.NET_CLOSED_EARLY: Rule(State.FAILED, 3, _SOON, slows_host=True),
    Outcome.NET_TIMEOUT_CONNECT: Rule(State.FAILED, 3, _BACK_OFF, parks_host=True),
    Outcome.NET_TIMEOUT_HEADERS: Rule(State.FAILED, 3, _BACK_OFF, slows_host=True),
    Outcome.NET_TIMEOUT_TOTAL: Rule(State.FAILED, 3, _BACK_OFF, slows_host=True),
    Outcome.NET_SLOW: Rule(State.FAILED, 2, _BACK_OFF, slows_host=True),
    Outcome.DNS_NXDOMAIN: Rule(State.FAILED, parks_host=True),
    Outcome.DNS_NODATA: Rule(State.FAILED, parks_host=True),
    Outcome.DNS_SERVFAIL: Rule(State.FAILED, 5, _SOON),
    Outcome.DNS_TIMEOUT: Rule(State.FAILED, 5, _SOON),
    Outcome.DNS_BAD: Rule(State.FAILED, 5, _SOON),
    Outcome.TLS_EXPIRED: Rule(State.FAILED, parks_host=True),
    Outcome.TLS_UNTRUSTED: Rule(State.FAILED, parks_host=True),
    Outcome.TLS_NAME: Rule(State.FAILED, parks_host=True),
    Outcome.TLS_HANDSHAKE: Rule(State.FAILED, parks_host=True),
    Outcome.TLS_NOT_TLS: Rule(State.FAILED, parks_host=True),
    Outcome.PROTO_NOT_HTTP: Rule(State.FAILED),
    Outcome.PROTO_STATUS: Rule(State.FAILED),
    Outcome.PROTO_VERSION: Rule(State.FAILED),
    Outcome.PROTO_HEADER: Rule(State.FAILED),
    Outcome.PROTO_HEADER_LIMIT: Rule(State.FAILED),
    Outcome.PROTO_FRAMING: Rule(State.FAILED),
    Outcome.PROTO_CHUNK: Rule(State.FAILED, 2, _SOON),
    Outcome.PROTO_INTERIM: Rule(State.FAILED),
    Outcome.PROTO_UPGRADE: Rule(State.FAILED),
    Outcome.BODY_SHORT: Rule(State.FAILED, 3, _SOON),
    Outcome.BODY_TOO_LARGE: Rule(State.FAILED),
    Outcome.BODY_DECODE: Rule(State.FAILED, 2, _SOON),
    Outcome.BODY_BOMB: Rule(State.FAILED),
    Outcome.BODY_ENCODING: Rule(State.FAILED),
    Outcome.REDIR_NONE: Rule(State.DONE),
    Outcome.REDIR_BAD: Rule(State.FAILED),
    # Once more, in case that the page waits for its cookie (H76).
    Outcome.REDIR_LOOP: Rule(State.FAILED, 2, _SOON),
    Outcome.REDIR_TOO_MANY: Rule(State.FAILED),
    Outcome.REDIR_SCHEME: Rule(State.FAILED),
    Outcome.REDIR_SCOPE: Rule(State.EXCLUDED),
    Outcome.POLICY_PRIVATE_ADDRESS: Rule(State.EXCLUDED),
    Outcome.POLICY_PORT: Rule(State.EXCLUDED),
    Outcome.POLICY_SCOPE: Rule(State.EXCLUDED),
    Outcome.POLICY_ROBOTS: Rule(State.EXCLUDED),
    # Never final by itself: the URL stays pending until robots.txt can be read (RFC 9309, 2.3.1.4).
    Outcome.POLICY_ROBOTS_UNREACHABLE: Rule(State.PENDING, FOREVER, _BACK_OFF, parks_host=True),
    Outcome.POLICY_TRAP: Rule(State.EXCLUDED),
    Outcome.POLICY_BUDGET: Rule(State.EXCLUDED),
    # The bytes are stored all the same; only what was understood of them is incomplete.
    Outcome.PARSE_FAILED: Rule(State.DONE),
    Outcome.PARSE_TRUNCATED: Rule(State.DONE),
    Outcome.PARSE_BUDGET: Rule(State.FAILED),
    Outcome.STORE_FULL: Rule(State.PENDING, FOREVER, _SOON),
    Outcome.STORE_FAILED: Rule(State.PENDING, FOREVER, _SOON),
    Outcome.INTERNAL: Rule(State.FAILED, 2, _BACK_OFF),
}

PASSING_STATUSES: Final = frozenset({408, 421, 425})
"""Of http.4xx those that are about the moment or the connection, and not about the document."""
_PASSING: Final = Rule(State.FAILED, 3, _SOON)

# Outcomes that count as a fetched page: there is a document to show for them.
PAGE_OUTCOMES: Final = frozenset(
    {
        Outcome.OK,
        Outcome.OK_PARTIAL,
        Outcome.NOT_MODIFIED,
        Outcome.PARSE_FAILED,
        Outcome.PARSE_TRUNCATED,
    }
)

# What a proxy may be to blame for, and not the server, when a request went through one.
PROXY_FAULTS: Final = frozenset(
    {
        Outcome.NET_REFUSED,
        Outcome.NET_RESET,
        Outcome.NET_UNREACHABLE,
        Outcome.NET_CLOSED_EARLY,
        Outcome.NET_TIMEOUT_CONNECT,
        Outcome.NET_TIMEOUT_HEADERS,
        Outcome.NET_TIMEOUT_TOTAL,
        Outcome.NET_SLOW,
    }
)


def _written(outcome: Outcome) -> str:
    """NET_TIMEOUT_CONNECT is written net.timeout.connect; other families have one dot."""
    if outcome is Outcome.NOT_MODIFIED:
        return "not_modified"
    family, _, rest = outcome.name.lower().partition("_")
    if rest.startswith("timeout_"):
        rest = rest.replace("_", ".", 1)
    return f"{family}.{rest}" if rest else family


_NAMES: Final = {outcome: _written(outcome) for outcome in Outcome}
_BY_NAME: Final = {name: outcome for outcome, name in _NAMES.items()}


HOST_TO_BLAME: Final = frozenset(
    outcome for outcome, rule in RULES.items() if rule.slows_host or rule.parks_host
)
"""Outcomes that slow or park the whole host."""


def name_of(outcome: int) -> str:
    """Return the written form of an outcome, such as `body.too_large`."""
    return _NAMES[Outcome(outcome)]


def outcome_named(name: str) -> Outcome:
    """Return the outcome with this written form."""
    return _BY_NAME[name]


def rule_of(outcome: int, status: int) -> Rule:
    """Return the rule of an outcome, or of the few statuses that have their own."""
    is_passing = outcome == Outcome.HTTP_4XX and status in PASSING_STATUSES
    return _PASSING if is_passing else RULES[outcome]


def wait_before_try(
    outcome: int,
    tries: int,
    soon_seconds: float,
    back_off_seconds: float,
    max_tries: int = 0,
    *,
    status: int = 0,
) -> float | None:
    """Return the seconds to wait after `tries` tries ended in `outcome`; None when it is final.

    `max_tries` (0: none) limits the tries of all outcomes but those that never become final.
    """
    rule = rule_of(outcome, status)
    limit = min(rule.tries, max_tries) if max_tries and rule.tries < FOREVER else rule.tries
    if tries >= limit:
        return None
    first = (0.0, soon_seconds, back_off_seconds)[rule.wait]
    return float(min(first * 2 ** min(tries - 1, 20), 86_400.0))
