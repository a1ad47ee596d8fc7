"""How often a host may be asked: HTTP_FREQ_LIMITS, and the limits of proxies. Pure."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer.objects.patterns import PatternError, check_pattern, found_in
from gossamer.objects.problems import ObjectError

_MAX_TEXT: Final = 65_536
_ANY: Final = "*"


class _Limit(Struct, frozen=True, forbid_unknown_fields=True):
    max_freq: Annotated[float, Meta(gt=0.0, le=1_000_000.0)]
    max_delay: Annotated[float, Meta(ge=0.0, le=86_400.0)] = 0.0


class FrequencyLimit(Struct, frozen=True):
    """How often hosts that match a pattern may be asked."""

    pattern: str
    gap_seconds: float
    max_delay_seconds: float
    """A request that would have to wait for longer is not made now."""


_Limits = Annotated[dict[str, _Limit], Meta(max_length=100)]


@lru_cache(maxsize=1_024)
def parse_freq_limits(text: str) -> tuple[FrequencyLimit, ...]:
    """Return the limits of HTTP_FREQ_LIMITS, in their order."""
    kind = "HTTP_FREQ_LIMITS"
    if not text.strip():
        return ()
    if len(text) > _MAX_TEXT:
        raise ObjectError("Property", kind, f"at most {_MAX_TEXT} characters are expected")
    try:
        plain = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ObjectError("Property", kind, "a JSON map of domains to limits is expected") from None
    return decode_limits(kind, plain)


def decode_limits(kind: str, plain: object) -> tuple[FrequencyLimit, ...]:
    """Return limits that were read as JSON; raises an ObjectError for what cannot be used."""
    try:
        limits = msgspec.convert(plain, _Limits)
    except msgspec.ValidationError as error:
        raise ObjectError(
            "Property", kind, f"domain: {{max_freq, max_delay}} is expected: {error}"
        ) from None
    for pattern in limits:
        try:
            if pattern != _ANY:
                check_pattern(pattern)
        except PatternError as fault:
            raise ObjectError("Property", kind, fault.expected) from None
    return tuple(
        FrequencyLimit(pattern, 1.0 / each.max_freq, each.max_delay)
        for pattern, each in limits.items()
    )


def limit_for(
    limits: Sequence[FrequencyLimit], host: str, is_over: Callable[[], bool] = lambda: False
) -> FrequencyLimit | None:
    """Return the first limit that is for this host; what cannot be decided may be meant for it.

    `is_over`: whether there is no more time to decide anything.
    """
    for each in limits:
        try:
            if each.pattern == _ANY or is_over() or found_in(each.pattern, host):
                return each
        except PatternError:
            return each
    return None
