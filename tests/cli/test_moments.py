"""Moments as people type them."""

import time
from argparse import ArgumentTypeError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli.formats import iso_time
from gossamer.cli.moments import moment, when


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-02", 86_400.0),
        ("1970-01-01T00:01", 60.0),
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01 01:00:00+01:00", 0.0),
        (" 1970-01-02 ", 86_400.0),
        ("19700102", 86_400.0),
        ("1900000000", 1_900_000_000.0),
        ("1900000000.5", 1_900_000_000.5),
    ],
)
def test_a_moment_is_in_utc(text, expected):
    assert moment(text) == expected
    assert when(text) == expected


@given(st.integers(0, 4_000_000_000_000))
def test_what_we_write_we_read(milliseconds):
    assert round(moment(iso_time(milliseconds / 1_000)) * 1_000) == milliseconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0s", 0), ("45m", 2_700), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600)],
)
def test_how_long_ago(text, seconds):
    before = time.time()
    found = when(text)
    assert before - seconds <= found <= time.time() - seconds


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "7", "7x", "-7d", "2026-13-01", "\u0667d", "9999999999d", "2026-05-31Q"],
)
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(ArgumentTypeError, match="is no time"):
        when(text)
