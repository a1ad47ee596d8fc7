"""Moments as people type them: a date, a time, or how long ago."""

import re
import time
from argparse import ArgumentTypeError
from datetime import UTC, datetime

_AGO = re.compile(r"([0-9]{1,9})([smhdw])", re.ASCII)
_EPOCH = re.compile(r"[0-9]{9,12}(\.[0-9]{1,9})?", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def moment(text: str) -> float:
    """Read an ISO 8601 date or time, in UTC unless it says otherwise, or seconds since 1970."""
    if _EPOCH.fullmatch(text):
        return float(text)
    try:
        read = datetime.fromisoformat(text.strip())
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise ArgumentTypeError(
            f"{text!r} is no time; write it as 2026-05-31 or 2026-05-31T12:30:00Z"
        ) from error


def when(text: str) -> float:
    """Read a moment, or how long ago: 45m, 12h, 7d, 2w."""
    ago = _AGO.fullmatch(text.strip())
    if ago:
        return time.time() - int(ago[1]) * _SECONDS[ago[2]]
    try:
        return moment(text)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}, or as 7d or 12h for how long ago") from error
