"""Regular expressions of clients, searched within bounds.

Theory of operation. The standard module cannot be stopped, and an engine without backtracking has
no look-ahead, which filters are full of. So `regex` searches, with a time limit; what is not
decided by then counts as a fault of the pattern. Counted repetitions are expanded while compiling,
where there is no time limit, so their product is limited before.

Most patterns repeat or choose at most once; on a short text they are decided at once, and a time
limit would cost more than the search, the more so as `regex` lets other threads run meanwhile.
"""

import re
from functools import lru_cache
from math import prod
from typing import Final

import regex

from gossamer.objects.problems import ObjectError
from gossamer.wording import shortened

MAX_PATTERN: Final = 8_192
MAX_SUBJECT: Final = 65_535
_MOST_REPETITIONS: Final = 10_000
_SECONDS: Final = 0.25
_SHORT_SUBJECT: Final = 4_096
_CHOICES: Final = re.compile(r"[*+?|]")
_COUNTS: Final = re.compile(r"\{\s*(\d*)\s*(?:,\s*(\d*)\s*)?\}")


class PatternError(ObjectError):
    """A pattern cannot be used, or could not be decided in time."""

    def __init__(self, pattern: str, expected: str) -> None:
        super().__init__("pattern", "", f"{expected}: {shortened(pattern, 100)!r}")


def check_pattern(pattern: str) -> None:
    """Raise a PatternError if a pattern cannot be used."""
    _compiled(pattern)


def found_in(pattern: str, subject: str) -> bool:
    """Whether a pattern is found anywhere in a text; lines are matched one by one by ^ and $."""
    compiled, is_quick = _compiled(pattern)
    if is_quick and len(subject) <= _SHORT_SUBJECT:
        return compiled.search(subject, concurrent=False) is not None
    if len(subject) > MAX_SUBJECT:
        raise PatternError(pattern, f"a text of at most {MAX_SUBJECT} characters is expected for")
    try:
        return compiled.search(subject, timeout=_SECONDS) is not None
    except (TimeoutError, MemoryError, RecursionError):
        raise PatternError(pattern, "an expression that is quick to decide is expected") from None


def replaced(pattern: str, replacement: str, subject: str) -> str:
    """Return a text with all that matches replaced; the replacement may name groups."""
    compiled, _ = _compiled(pattern)
    if max(len(subject), len(replacement)) > MAX_SUBJECT:
        raise PatternError(pattern, f"a text of at most {MAX_SUBJECT} characters is expected for")
    try:
        result: str = compiled.sub(replacement, subject, count=100, timeout=_SECONDS)
    except (TimeoutError, MemoryError, RecursionError):
        raise PatternError(pattern, "an expression that is quick to decide is expected") from None
    except (regex.error, IndexError, ValueError):
        raise PatternError(
            pattern, "a replacement with groups of the pattern is expected"
        ) from None
    return result


@lru_cache(maxsize=2_048)
def _compiled(pattern: str) -> "tuple[regex.Pattern[str], bool]":
    """Return a pattern ready for use, and whether it repeats or chooses at most once."""
    if len(pattern) > MAX_PATTERN:
        raise PatternError(pattern, f"at most {MAX_PATTERN} characters are expected")
    if _repetitions(pattern) > _MOST_REPETITIONS:
        raise PatternError(pattern, f"at most {_MOST_REPETITIONS} repetitions are expected")
    try:
        compiled = regex.compile(pattern, regex.MULTILINE | regex.VERSION0)
    except (regex.error, ValueError, IndexError, OverflowError, RecursionError, MemoryError):
        raise PatternError(pattern, "a regular expression is expected") from None
    # (?R) and the like may go on for ever without repeating anything.
    is_quick = not any(sign in pattern for sign in ("{", "(?"))
    return compiled, is_quick and len(_CHOICES.findall(pattern)) <= 1


def _repetitions(pattern: str) -> int:
    """Return how often something might be repeated if all counts were nested in each other."""
    counts = (
        max(_number(low), _number(high)) for low, high in _COUNTS.findall(pattern) if low or high
    )
    return prod(max(count, 1) for count in counts)


def _number(digits: str) -> int:
    return int(digits[:9] or 0)
