"""When a transfer has taken too long, and which of the deadlines it was.

Pure: a transfer's progress and the time come in; out goes either the class of its failure or the
time at which to look again. A server that is silent runs into the deadline of its phase; one that
drips is slow.
"""

from msgspec import Struct
from msgspec.structs import replace

from gossamer.config.spider import SpiderSettings
from gossamer.messages import Manner
from gossamer.outcomes import Outcome


class Progress(Struct, frozen=True, gc=False):
    """How far a transfer has come."""

    started: float
    connected: bool
    """TCP is there; with TLS the handshake may be under way."""
    requested_at: float
    """0.0 until the request has gone out."""
    has_head: bool
    received: int
    """Bytes from the server so far."""
    secure: bool = False


class Sample(Struct, frozen=True, gc=False):
    """What the rate was last measured by."""

    at: float
    received: int
    was_slow: bool
    """The half window before brought something, but too little."""


class Overdue(Struct, frozen=True, gc=False):
    """A deadline has passed."""

    outcome: Outcome
    detail: str


class Look(Struct, frozen=True, gc=False):
    """Nothing has passed yet: look again at this time."""

    at: float
    sample: Sample | None


def limits_for(manner: Manner, settings: SpiderSettings) -> SpiderSettings:
    """Return the deadlines of a visit: those of all, unless it has its own."""
    if not (manner.timeout_ms or manner.connect_ms):
        return settings
    return replace(
        settings,
        timeout_request_ms=manner.timeout_ms or settings.timeout_request_ms,
        timeout_first_byte_ms=manner.timeout_ms or settings.timeout_first_byte_ms,
        timeout_connect_ms=manner.connect_ms or settings.timeout_connect_ms,
    )


def first_look(started: float, settings: SpiderSettings) -> float:
    """Return when to look at a transfer for the first time; most have ended by then."""
    milliseconds = min(settings.timeout_connect_ms, settings.timeout_request_ms)
    return started + min(milliseconds / 1000.0, settings.min_rate_seconds / 10.0)


def check(
    progress: Progress, sample: Sample | None, now: float, settings: SpiderSettings
) -> Overdue | Look:
    """Judge a transfer at a moment."""
    total_at = progress.started + settings.timeout_request_ms / 1000.0
    if now >= total_at:
        milliseconds = settings.timeout_request_ms
        return Overdue(Outcome.NET_TIMEOUT_TOTAL, f"not complete after {milliseconds} ms")
    if not progress.requested_at:
        return _check_connect(progress, now, total_at, settings)
    next_at = total_at
    if not progress.has_head:
        head_at = progress.requested_at + settings.timeout_first_byte_ms / 1000.0
        if now >= head_at:
            milliseconds = settings.timeout_first_byte_ms
            return Overdue(
                Outcome.NET_TIMEOUT_HEADERS, f"no response header within {milliseconds} ms"
            )
        next_at = min(next_at, head_at)
    if not settings.min_bytes_per_second:
        return Look(next_at, sample)
    return _check_rate(progress, sample, now, next_at, settings)


def _check_connect(
    progress: Progress, now: float, total_at: float, settings: SpiderSettings
) -> Overdue | Look:
    connect_at = progress.started + settings.timeout_connect_ms / 1000.0
    if now < connect_at:
        return Look(min(connect_at, total_at, now + settings.min_rate_seconds / 10.0), None)
    milliseconds = settings.timeout_connect_ms
    if progress.connected and progress.secure:
        return Overdue(Outcome.TLS_HANDSHAKE, f"TLS handshake not done within {milliseconds} ms")
    return Overdue(Outcome.NET_TIMEOUT_CONNECT, f"no connection within {milliseconds} ms")


def _check_rate(
    progress: Progress,
    sample: Sample | None,
    now: float,
    next_at: float,
    settings: SpiderSettings,
) -> Overdue | Look:
    """Slow is who sent something, but too little, in two half windows in a row."""
    half = settings.min_rate_seconds / 2.0
    if sample is None:
        sample = Sample(now, progress.received, was_slow=False)
        return Look(min(next_at, now + half), sample)
    if now < sample.at + half:
        return Look(min(next_at, sample.at + half), sample)
    got = progress.received - sample.received
    rate = got / (now - sample.at)
    is_slow = got > 0 and rate < settings.min_bytes_per_second
    if is_slow and sample.was_slow:
        return Overdue(
            Outcome.NET_SLOW,
            f"{rate:.1f} bytes a second, at least {settings.min_bytes_per_second} are expected",
        )
    return Look(min(next_at, now + half), Sample(now, progress.received, is_slow))
