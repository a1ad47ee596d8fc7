"""What a server's answer to /robots.txt means (RFC 9309), as pure functions.

The states are those of RFC 9309, 2.3.1: a file that was read gives rules, a file that is not there
(4xx) allows everything, a file that could not be read (5xx, 429, any network failure) forbids
everything until it can be, unless an earlier copy is at hand.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final

from msgspec import Struct

from gossamer.config.urlserver import UrlServerSettings
from gossamer.outcomes import Outcome, name_of
from gossamer.url.canonical import Joiner
from gossamer.url.header import reference_in_header
from gossamer.urlserver.robots_rules import RuleSet

MAX_HOPS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_READ: Final = frozenset({Outcome.OK, Outcome.BODY_TOO_LARGE})
_LONGEST_WAIT_SECONDS: Final = 86_400.0


class RobotsAnswer(Struct, frozen=True):
    """What came of one request for a robots.txt."""

    outcome: Outcome
    status: int = 0
    body: bytes = b""
    """Decoded; at least the first `robots_max_bytes` of it."""
    location: str | None = None
    """The Location header as it was sent."""
    sent_at: float = 0.0
    """Monotonic time at which the request went out; 0.0 if it never did."""
    retry_after_seconds: float | None = None
    detail: str = ""


class RobotsState(IntEnum):
    """The three things a robots.txt can say about a path."""

    ALLOW_ALL = 0
    RULES = 1
    UNREACHABLE = 2


class RobotsRules(Struct, frozen=True):
    """What holds for one authority until `expires_at` (monotonic)."""

    state: RobotsState
    expires_at: float
    rules: RuleSet | None = None
    crawl_delay: float = 0.0
    sitemaps: tuple[str, ...] = ()
    status: int = 0
    outcome: Outcome = Outcome.OK
    """How the last request ended, also when an earlier copy is in use."""
    failures: int = 0
    """How many requests in a row could not be read."""
    unreachable_since: float | None = None
    detail: str = ""

    def allows(self, path: str) -> bool:
        """Return whether a path (with query) may be fetched."""
        if self.state is RobotsState.RULES and self.rules is not None:
            return self.rules.allows(path)
        return self.state is RobotsState.ALLOW_ALL


def decide(
    answer: RobotsAnswer,
    *,
    agents: Sequence[str],
    settings: UrlServerSettings,
    earlier: RobotsRules | None,
    now: float,
) -> RobotsRules:
    """Return what holds from now on; with several agents, what is said to each of them."""
    status = answer.status
    if answer.outcome in _READ and 200 <= status < 300 and status != 206:
        return _read(answer, agents, settings, now)
    if answer.outcome is Outcome.NOT_MODIFIED and _is_copy(earlier):
        return _confirmed(earlier, settings, now)
    if 400 <= status < 500 and status != 429 and not _forbids(status, settings):
        return RobotsRules(
            RobotsState.ALLOW_ALL,
            now + settings.robots_max_age_seconds,
            status=status,
            outcome=answer.outcome,
            detail=f"status {status}: no robots.txt, everything is allowed",
        )
    return _unreachable(answer, settings, earlier, now)


def reason_to_ignore(named: Mapping[str, str], host: str) -> str | None:
    """Return why a host's robots.txt is set aside: for its name, or for all below another."""
    reason = named.get(host)
    while named and reason is None and host:
        host = host.partition(".")[2]
        reason = named.get(f"*.{host}")
    return reason


def ignored(reason: str) -> RobotsRules:
    """Return the rules of a host whose robots.txt the operator has set aside."""
    return RobotsRules(
        RobotsState.ALLOW_ALL,
        float("inf"),
        detail=f"robots.txt set aside by configuration: {reason}",
    )


def redirect_target(url: str, answer: RobotsAnswer, hops: int) -> str | None:
    """Return where to ask next; None when the answer is no redirect that may be followed.

    RFC 9309 (2.3.1.2): at least five redirects in a row are followed, to other hosts too; the rules
    count for the authority that was asked first.
    """
    if answer.status not in _REDIRECTS or not answer.location or hops >= MAX_HOPS:
        return None
    target = Joiner(cache_bytes=1 << 16).join(url, reference_in_header(answer.location))
    return None if target is None or target == url else target


def _read(
    answer: RobotsAnswer, agents: Sequence[str], settings: UrlServerSettings, now: float
) -> RobotsRules:
    body = answer.body
    cut = len(body) > settings.robots_max_bytes or answer.outcome is Outcome.BODY_TOO_LARGE
    if cut:
        body = _without_partial_line(body[: settings.robots_max_bytes])
    rules = RuleSet(body, *agents)
    return RobotsRules(
        RobotsState.RULES if len(rules) else RobotsState.ALLOW_ALL,
        now + settings.robots_max_age_seconds,
        rules=rules if len(rules) else None,
        crawl_delay=min(rules.crawl_delay, settings.max_back_off_seconds),
        sitemaps=rules.sitemaps,
        status=answer.status,
        detail=f"only the first {len(body)} bytes are used" if cut else "",
    )


def _without_partial_line(body: bytes) -> bytes:
    """Drop the last line, for the limit may have cut it; lines end in LF, CR LF or CR."""
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def _is_copy(earlier: RobotsRules | None) -> bool:
    """Return whether the earlier rules come from a file that was read."""
    return (
        earlier is not None
        and earlier.state is not RobotsState.UNREACHABLE
        and 200 <= earlier.status < 300
    )


def _confirmed(earlier: RobotsRules | None, settings: UrlServerSettings, now: float) -> RobotsRules:
    assert earlier is not None
    return _with(earlier, expires_at=now + settings.robots_max_age_seconds)


def _forbids(status: int, settings: UrlServerSettings) -> bool:
    return status in (401, 403) and settings.robots_forbidden_means_disallow


def _unreachable(
    answer: RobotsAnswer, settings: UrlServerSettings, earlier: RobotsRules | None, now: float
) -> RobotsRules:
    failures = earlier.failures + 1 if earlier is not None else 1
    wait = min(settings.robots_retry_seconds * 2.0 ** min(failures - 1, 30), _LONGEST_WAIT_SECONDS)
    if answer.retry_after_seconds is not None:
        wait = max(wait, min(answer.retry_after_seconds, settings.max_back_off_seconds))
    since = now
    if earlier is not None and earlier.unreachable_since is not None:
        since = earlier.unreachable_since
    reason = "redirects lead nowhere" if 300 <= answer.status < 400 else name_of(answer.outcome)
    reason = answer.detail or reason
    detail = f"robots.txt cannot be read ({reason}, status {answer.status})"
    given_up = now - since >= settings.robots_unreachable_seconds
    if given_up and settings.robots_unreachable_means_allow:
        return RobotsRules(
            RobotsState.ALLOW_ALL,
            now + settings.robots_max_age_seconds,
            status=answer.status,
            outcome=answer.outcome,
            failures=failures,
            unreachable_since=since,
            detail=f"{detail} for {now - since:.0f} s: treated as missing, as configured",
        )
    if earlier is not None and _is_copy(earlier):
        return _with(
            earlier,
            expires_at=now + wait,
            outcome=answer.outcome,
            failures=failures,
            unreachable_since=since,
            detail=f"{detail}: the last good copy is used",
        )
    return RobotsRules(
        RobotsState.UNREACHABLE,
        now + wait,
        status=answer.status,
        outcome=answer.outcome,
        failures=failures,
        unreachable_since=since,
        detail=detail,
    )


def _with(
    earlier: RobotsRules,
    *,
    expires_at: float,
    outcome: Outcome = Outcome.OK,
    failures: int = 0,
    unreachable_since: float | None = None,
    detail: str = "",
) -> RobotsRules:
    """Return the earlier copy's rules under a new date."""
    return RobotsRules(
        earlier.state,
        expires_at,
        rules=earlier.rules,
        crawl_delay=earlier.crawl_delay,
        sitemaps=earlier.sitemaps,
        status=earlier.status,
        outcome=outcome,
        failures=failures,
        unreachable_since=unreachable_since,
        detail=detail,
    )
