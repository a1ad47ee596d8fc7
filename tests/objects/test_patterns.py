"""Patterns of clients: those that are searched without a limit of time find what others find."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.objects.patterns import MAX_SUBJECT, PatternError, found_in

QUICK = ["(a*)b", "^(ab)+$", "a.*b", "(.*)", "a|bb", "^a", "b$", "[ab]c", "x"]
SLOW = ["^(?:ab)+$", "(a*)*b", "(a|ab)(c|bcd)(d*)", "a{2,3}b", "(?:a?){3}a"]


@given(st.sampled_from(QUICK + SLOW), st.text("abcdx\n", max_size=60))
def test_a_pattern_is_found_where_the_standard_module_finds_it(pattern: str, text: str) -> None:
    assert found_in(pattern, text) == (re.search(pattern, text, re.MULTILINE) is not None)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+$b", "(?:a?){30}a{30}b"])
def test_what_takes_long_is_a_fault_also_on_a_short_text(pattern: str) -> None:
    with pytest.raises(PatternError, match="quick to decide"):
        found_in(f"(x+x+)+y|{pattern}", "x" * 4_000)


@pytest.mark.parametrize("pattern", ["(?R)", "a(?R)b", "(a|(?1))"])
def test_a_pattern_that_calls_itself_ends(pattern: str) -> None:
    with contextlib.suppress(PatternError):
        found_in(pattern, "a" * 100)


def test_a_text_that_is_too_long_is_a_fault() -> None:
    with pytest.raises(PatternError, match="at most"):
        found_in("a", "b" * (MAX_SUBJECT + 1))
