"""Whether a URL has changed since it was crawled: DETECT_MODIFIED. Pure."""

from enum import IntEnum
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.objects.problems import ObjectError

_MAX_TEXT: Final = 1_000


class Mode(IntEnum):
    """For which URLs it is on."""

    OFF = 0
    """None: requests are never conditional."""
    ALL = 1
    NO_ROOTS = 2
    """All but root URLs, which are always fetched as a whole: new URLs are found on them."""


class Algorithm(IntEnum):
    """How the server is asked."""

    AUTO = 0
    """With all conditions that are known."""
    ETAG = 1
    DATE = 2
    HEAD = 3
    """For the head first, and for the whole only if that shows a change."""


class Compare(IntEnum):
    """What shows that nothing has changed, beside the answer 304."""

    STATUS = 0
    DATE = 1
    MD5 = 2
    LENGTH = 3


class Behavior(IntEnum):
    """What becomes of a URL that has not changed."""

    CRAWLED = 0
    """CRAWLED with the code 304: it is not processed again."""
    AS_BEFORE = 1
    """PROCESSED if it was processed before, else CRAWLED."""
    AGAIN = 2
    """CRAWLED with the code it had: what is stored is processed again."""
    UNTOUCHED = 3
    """As before, and its date stays: ages count from the last change."""


class Detection(Struct, frozen=True, forbid_unknown_fields=True):
    """The value of DETECT_MODIFIED; the default is what holds without it."""

    mode: Mode = Mode.ALL
    algorithm: Algorithm = Algorithm.AUTO
    compare: Compare = Compare.STATUS
    behavior: Behavior = Behavior.CRAWLED

    def is_on(self, *, is_root: bool) -> bool:
        """Whether it is on for a URL."""
        return self.mode == Mode.ALL or (self.mode == Mode.NO_ROOTS and not is_root)


class Known(Struct, frozen=True):
    """What is known of a URL from before."""

    raw_md5: str
    size: int
    last_modified: float | None


class Seen(Struct, frozen=True):
    """What an answer says of it."""

    status: int
    raw_md5: str = ""
    size: int | None = None
    last_modified: float | None = None


_DEFAULT: Final = Detection()


@lru_cache(maxsize=1_024)
def parse_detection(text: str) -> Detection:
    """Return what DETECT_MODIFIED says; the default if it is empty."""
    kind = "DETECT_MODIFIED"
    if not text.strip():
        return _DEFAULT
    if len(text) > _MAX_TEXT:
        raise ObjectError("Property", kind, f"at most {_MAX_TEXT} characters are expected")
    try:
        found = msgspec.json.decode(text, type=Detection)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ObjectError("Property", kind, f"JSON as documented is expected: {error}") from None
    if found.algorithm == Algorithm.HEAD and found.compare == Compare.MD5:
        raise ObjectError("Property", kind, "a head has no md5: compare 0, 1 or 3 is expected")
    return found


def is_unchanged(detection: Detection, known: Known, seen: Seen) -> bool:
    """Whether an answer shows that a document is as it was."""
    if seen.status == 304:
        return True
    if not 200 <= seen.status < 300:
        return False
    if detection.compare == Compare.DATE:
        dates = seen.last_modified, known.last_modified
        return dates[0] is not None and dates[1] is not None and dates[0] <= dates[1]
    if detection.compare == Compare.MD5:
        return bool(seen.raw_md5) and seen.raw_md5 == known.raw_md5
    if detection.compare == Compare.LENGTH:
        return bool(seen.size) and seen.size == known.size
    return False
