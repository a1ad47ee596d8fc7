"""Filters of a site, and the regular expressions in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.objects.enumerations import (
    FilterMode,
    FilterOperation,
    FilterStage,
    FilterState,
    FilterType,
)
from gossamer.objects.filters import check_filters, judge, passes
from gossamer.objects.patterns import PatternError, check_pattern, found_in, replaced
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.objects.site import Filter, Site

URL = "http://example.org/news/2026/story.html"


def include(pattern: str, **fields: object) -> Filter:
    return Filter(pattern=pattern, type=FilterType.INCLUDE, **fields)


def exclude(pattern: str, **fields: object) -> Filter:
    return Filter(pattern=pattern, type=FilterType.EXCLUDE, **fields)


@pytest.mark.req("S3.69")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], True),
        ([include("/news/")], True),
        ([include("/sport/")], False),
        ([include("/sport/"), include("/news/")], True),
        ([exclude("/news/")], False),
        ([exclude("/sport/")], True),
        ([include("/news/"), exclude("story")], False),
        ([exclude("story"), include("/news/")], False),
        ([include("/news/"), exclude("/sport/")], True),
        ([include("^http://example")], True),
        ([include("^example")], False),
        ([include("(?!.*sport)http")], True),
        ([include("/sport/\r\n/news/")], True),
        ([exclude("/sport/\n/news/")], False),
        ([exclude("/news/", state=FilterState.DISABLED)], True),
        ([include("/sport/", state=FilterState.DISABLED)], True),
    ],
)
def test_what_excludes_must_not_match_and_what_includes_must_once(filters, expected):
    assert passes(URL, filters) is expected


def test_the_default_filter_lets_everything_pass():
    assert passes(URL, Site().filters)
    assert passes(URL, Site().filters, mode=FilterMode.MEDIA)


def test_only_filters_of_the_stage_and_the_mode_are_asked():
    filters = [exclude("story", stage=FilterStage.REDIRECT_URL)]
    assert passes(URL, filters, FilterStage.COLLECT_URLS)
    assert not passes(URL, filters, FilterStage.REDIRECT_URL)
    assert not passes(URL, [exclude("story", stage=FilterStage.ALL)], FilterStage.REDIRECT_URL)
    media = [exclude("story", mode=FilterMode.MEDIA)]
    assert passes(URL, media)
    assert not passes(URL, media, mode=FilterMode.MEDIA)


@pytest.mark.parametrize(
    ("operation", "pattern", "matching"),
    [
        (FilterOperation.EQUAL, "3", {"3", "3.0"}),
        (FilterOperation.NOT_EQUAL, "3", {"2", "10", "x"}),
        (FilterOperation.EQUAL_OR_LESS, "3", {"2", "3", "3.0"}),
        (FilterOperation.EQUAL_OR_MORE, "3", {"3", "3.0", "10", "x"}),
        (FilterOperation.LESS, "3", {"2"}),
        (FilterOperation.MORE, "3", {"10", "x"}),
    ],
)
def test_comparisons_are_of_numbers_if_both_are_numbers(operation, pattern, matching):
    filters = [include(pattern, subject="%DEPTH%", op_code=operation)]
    for depth in ("2", "3", "3.0", "10", "x"):
        verdict = judge(URL, filters, macros={"DEPTH": depth})
        assert verdict.passes is (depth in matching), depth


def test_macros_are_replaced_in_the_pattern_first():
    filters = [exclude("%MAX_DEPTH%", subject="%DEPTH%", op_code=FilterOperation.MORE)]
    assert judge(URL, filters, macros={"MAX_DEPTH": "5", "DEPTH": "5"}).passes
    assert not judge(URL, filters, macros={"MAX_DEPTH": "5", "DEPTH": "6"}).passes


def test_sql_expressions_are_refused_by_name():
    filters = [include("x"), include("Status = 4", op_code=FilterOperation.SQL_EXPRESSION)]
    with pytest.raises(UnsupportedError, match=r"Filter\[1\]\.opCode.*not supported"):
        check_filters(filters)
    verdict = judge(URL, filters[1:])
    assert not verdict.passes
    assert "not supported" in verdict.fault


CATASTROPHIC = [
    r"(a+)+$",
    r"(a|aa)+$",
    r"(a*)*b",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(?:(?:(?:a{1,9}){1,9}){1,9}){1,9}b",
    r"(.*)*Q\1",
]


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_a_pattern_that_would_never_end_ends_with_a_fault_or_an_answer(pattern):
    verdict = judge("http://example.org/" + "a" * 5_000 + "!", [exclude(pattern)])
    assert verdict.passes is not bool(verdict.fault)


def test_what_is_not_decided_does_not_pass():
    for make in (include, exclude):
        verdict = judge("http://example.org/" + "a" * 5_000 + "!", [make("(a+)+$")])
        assert not verdict.passes
        assert "quick to decide" in verdict.fault


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "[",
        "*",
        "a{1000}{1000}",
        "((a{1000}){1000}){1000}",
        "(?P<a>x)(?P<a",
        "a" * 9_000,
        "(" * 4_000 + ")" * 4_000,
        "(?<=a*",
        "\\",
    ],
)
def test_patterns_that_cannot_be_used_are_named(pattern):
    with pytest.raises(PatternError):
        check_pattern(pattern)
    with pytest.raises(ObjectError, match=r"Filter\[0\]\.pattern"):
        check_filters([include(pattern)])
    assert judge(URL, [exclude(pattern)]).fault


@given(st.text(max_size=30), st.text(max_size=50))
def test_any_pattern_and_any_text_give_an_answer_or_a_fault(pattern, subject):
    try:
        found_in(pattern, subject)
        replaced(pattern, "x", subject)
    except PatternError:
        pass


def test_long_subjects_are_refused():
    with pytest.raises(PatternError, match="65535"):
        found_in("a", "a" * 70_000)
    with pytest.raises(PatternError, match="65535"):
        replaced("a", "b", "a" * 70_000)


def test_replacements_may_name_groups_of_the_pattern_and_no_others():
    assert replaced("(a)(b)", r"\2\1", "abx") == "bax"
    for replacement in (r"\3", r"\g<x>", "\\"):
        with pytest.raises(PatternError):
            replaced("(a)(b)", replacement, "ab")
    with pytest.raises(PatternError, match="quick to decide"):
        replaced("(a+)+$", "", "a" * 5_000 + "!")
