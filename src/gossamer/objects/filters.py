"""The filters of a site: which URLs are wanted.

Theory of operation. Of the filters that are enabled and made for this stage and this mode, those
that exclude must not match; those that include, if there are any, must match at least once (C19). A
filter that cannot be decided lets nothing pass, and the verdict says why. `groupId` is kept but
decides nothing, as in the origin.

A filter for all stages is asked wherever a URL is judged; the stage of the protocol judges a word
and not a URL, so only filters that were made for it are asked there.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from gossamer.objects.enumerations import FilterMode, FilterOperation, FilterStage, FilterState
from gossamer.objects.patterns import PatternError, check_pattern, found_in
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.objects.site import Filter

_NO_DOM: Final = frozenset(
    {
        FilterStage.BEFORE_DOM_PREPARATION,
        FilterStage.AFTER_DOM_PREPARATION,
        FilterStage.AFTER_DOM,
    }
)
_STAGES: Final = "stages 1 to 3 are not supported, since pages are not filtered by their DOM; use 7"
_NO_SQL: Final = "filters with an SQL expression (opCode 7) are not supported; opCode 0 to 6 are"
_PROTOCOL: Final = FilterStage.COLLECT_URLS_PROTOCOL


class Verdict(Struct, frozen=True):
    """What the filters say about a URL."""

    passes: bool
    fault: str = ""
    """Why nothing could be decided; then the URL does not pass."""


_PASSES: Final = Verdict(True)


def check_filters(filters: Sequence[Filter]) -> None:
    """Raise an ObjectError that names the first filter that cannot be used."""
    for number, each in enumerate(filters):
        if each.stage in _NO_DOM:
            raise UnsupportedError("Filter", f"[{number}].stage", _STAGES)
        if each.op_code == FilterOperation.SQL_EXPRESSION:
            raise UnsupportedError("Filter", f"[{number}].opCode", _NO_SQL)
        if each.op_code == FilterOperation.REGULAR_EXPRESSION:
            # Macros have no values yet; what stands for them hardly changes the pattern.
            for pattern in _lines(each.pattern):
                try:
                    check_pattern(pattern)
                except PatternError as fault:
                    raise ObjectError("Filter", f"[{number}].pattern", fault.expected) from None


def passes(
    url: str,
    filters: Sequence[Filter],
    stage: FilterStage = FilterStage.COLLECT_URLS,
    mode: FilterMode = FilterMode.URL,
) -> bool:
    """Whether the filters let a URL pass."""
    return judge(url, filters, stage, mode).passes


def judge(
    url: str,
    filters: Sequence[Filter],
    stage: FilterStage = FilterStage.COLLECT_URLS,
    mode: FilterMode = FilterMode.URL,
    macros: Mapping[str, str] | None = None,
) -> Verdict:
    """Return what the filters say about a URL; `macros` (name to value) are replaced first."""
    return judge_by(asked(filters, stage, mode), url, macros)


class Asked(Struct, frozen=True):
    """The filters that are made for a stage and a mode."""

    excluding: Sequence[Filter]
    including: Sequence[Filter]


def asked(filters: Sequence[Filter], stage: FilterStage, mode: FilterMode) -> Asked:
    """Return which filters have a say."""
    chosen = [each for each in filters if _is_asked(each, stage, mode)]
    return Asked(
        [each for each in chosen if not each.includes], [each for each in chosen if each.includes]
    )


def judge_by(filters: Asked, url: str, macros: Mapping[str, str] | None = None) -> Verdict:
    """Return what filters that have a say say about a URL."""
    if not filters.excluding and not filters.including:
        return _PASSES
    values = {"URL": url, **macros} if macros else {"URL": url}
    try:
        # What excludes comes first: it decides alone.
        if any(_matches(each, url, values) for each in filters.excluding):
            return Verdict(False)
        including = filters.including
        return Verdict(not including or any(_matches(each, url, values) for each in including))
    except ObjectError as error:
        return Verdict(False, error.expected)


def _is_asked(each: Filter, stage: FilterStage, mode: FilterMode) -> bool:
    return (
        each.state == FilterState.ENABLED
        and each.mode == mode
        and (each.stage == stage or (each.stage == FilterStage.ALL and stage != _PROTOCOL))
    )


def _matches(each: Filter, url: str, values: Mapping[str, str]) -> bool:
    subject = _with_values(each.subject, values) if each.subject else url
    pattern = _with_values(each.pattern, values)
    if each.op_code == FilterOperation.REGULAR_EXPRESSION:
        return any(found_in(line, subject) for line in _lines(pattern))
    compare = _COMPARISONS.get(each.op_code)
    if compare is None:
        raise UnsupportedError("Filter", "opCode", _NO_SQL)
    return compare(_order(subject, pattern))


# By the sign of subject minus pattern.
_COMPARISONS: Final[dict[FilterOperation, Callable[[int], bool]]] = {
    FilterOperation.EQUAL: lambda sign: sign == 0,
    FilterOperation.NOT_EQUAL: lambda sign: sign != 0,
    FilterOperation.EQUAL_OR_LESS: lambda sign: sign <= 0,
    FilterOperation.EQUAL_OR_MORE: lambda sign: sign >= 0,
    FilterOperation.LESS: lambda sign: sign < 0,
    FilterOperation.MORE: lambda sign: sign > 0,
}


def _order(left: str, right: str) -> int:
    """Return -1, 0 or 1: compared as numbers if both are numbers, else as texts."""
    numbers = _number(left), _number(right)
    if numbers[0] is not None and numbers[1] is not None:
        return (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])
    return (left > right) - (left < right)


def _number(text: str) -> float | None:
    try:
        number = float(text) if len(text) < 40 and text.isascii() and "_" not in text else None
    except ValueError:
        return None
    return None if number is None or number != number else number  # noqa: PLR0124 - not a number


@lru_cache(maxsize=2_048)
def _lines(pattern: str) -> tuple[str, ...]:
    """Return the alternatives of a pattern: one for each line."""
    return tuple(line for line in pattern.splitlines() if line) or ("",)


def _with_values(text: str, values: Mapping[str, str]) -> str:
    if "%" not in text:
        return text
    for name, value in values.items():
        text = text.replace(f"%{name}%", value)
    return text
