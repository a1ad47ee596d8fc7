"""Dates in objects: texts that are a literal date or an expression such as NOW()."""

from datetime import UTC, datetime
from typing import Final

_LONGEST: Final = 200


class Moment(str):
    """A date as it stands in JSON; `criterions.parse_moment` says what it means."""

    __slots__ = ()


NOW: Final = Moment("NOW()")


def iso_moment(epoch: float) -> Moment:
    """Return seconds since 1970 as an ISO date in UTC."""
    moment = datetime.fromtimestamp(epoch, UTC)
    return Moment(moment.isoformat().removesuffix("+00:00") + "Z")


def epoch_of(text: str) -> float | None:
    """Return the seconds since 1970 of a literal date, UTC if it names no zone; None if it is none.

    Dates before the year 1 or after 9999, and those that no calendar has, are none.
    """
    if not text[:1].isdecimal() or not text.isascii() or len(text) > 40:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def moment_from_json(data: object) -> Moment:
    """Read a date from JSON: a string, or {"str": string}; ValueError if it is neither."""
    if isinstance(data, dict) and set(data) == {"str"}:
        data = data["str"]
    if not isinstance(data, str):
        # msgspec adds the place to a ValueError and to nothing else.
        raise ValueError('a date is expected: a string, or {"str": string}')  # noqa: TRY004
    if len(data) > _LONGEST:
        raise ValueError(f"a date of at most {_LONGEST} characters is expected")
    return Moment(data)
