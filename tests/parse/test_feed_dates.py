"""Dates as feeds write them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.feed_dates import FIRST_YEAR, LAST_YEAR, moment_of

DAY = "2026-11-16T00:00:00"
SAME = "2026-11-16T03:14:01"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Mon, 16 Nov 2026 03:14:01 GMT", SAME),
        ("Mon, 16 Nov 2026 03:14:01 +0000", SAME),
        ("Mon, 16 Nov 2026 04:14:01 +0100", SAME),
        ("Mon, 16 Nov 2026 04:14:01 +01:00", SAME),
        ("Mon, 16 Nov 2026 08:44:01 IST", SAME),
        ("Sun, 15 Nov 2026 22:14:01 EST", SAME),
        ("Sun, 15 Nov 2026 20:14:01 PDT", SAME),
        ("Mon, 16 Nov 2026 04:14:01 CET", SAME),
        ("Mon, 16 Nov 2026 05:14:01 GMT+2", SAME),
        ("Mon, 16 Nov 2026 03:14:01 Nowhere", SAME),
        ("Mon, 16 Nov 2026 03:14:01 +9900", SAME),
        ("Mon,16 Nov 2026 3:14:1 Z", SAME),
        ("Monday, 16-Nov-26 03:14:01 UTC", SAME),
        ("16 Nov 26 03:14:01", SAME),
        ("Tue, 16 Nov 2026 03:14:01 GMT", SAME),
        ("  Mon,\n 16 Nov 2026\t03:14:01 GMT ", SAME),
        ("Mon Nov 16 03:14:01 2026", SAME),
        ("Mon Nov 16 03:14:01 UTC 2026", SAME),
        ("Nov 16, 2026 3:14:01 AM", SAME),
        ("November 16, 2026", DAY),
        ("16th November 2026", DAY),
        ("2026-11-16T03:14:01Z", SAME),
        ("2026-11-16T03:14:01.123456Z", SAME),
        ("2026-11-16T08:44:01+05:30", SAME),
        ("2026-11-16T04:14:01+01", SAME),
        ("2026-11-15T19:14:01-8:00", SAME),
        ("2026-11-16 03:14:01", SAME),
        ("2026-11-16T03:14:01 UTC", SAME),
        ("2026/11/16 03:14:01", SAME),
        ("20261116T031401Z", SAME),
        ("20261116031401", SAME),
        ("16.11.2026 03:14:01", SAME),
        ("2026-11-16", DAY),
        ("20261116", DAY),
        ("2026-W47-1", DAY),
        ("2026-320", DAY),
        ("2026-11", "2026-11-01T00:00:00"),
        ("2026", "2026-01-01T00:00:00"),
        ("1794798841", SAME),
        ("1794798841000", SAME),
        ("Mon, 16 Nov 2026 12:30 AM", "2026-11-16T00:30:00"),
        ("Mon, 16 Nov 2026 12:30 PM", "2026-11-16T12:30:00"),
        ("Sun, 15 Nov 2026 24:00:00 GMT", DAY),
        ("Sun, 15 Nov 2026 23:59:60 GMT", "2026-11-15T23:59:59"),
        ("Thu, 01 Jan 99 00:00:00 GMT", "1999-01-01T00:00:00"),
        ("Sat, 01 Jan 49 00:00:00 GMT", "2049-01-01T00:00:00"),
        ("Mon, 01 Jan 126 00:00:00 GMT", "2026-01-01T00:00:00"),
        ("Mo, 16. März 2026 12:00", "2026-03-16T12:00:00"),
        ("16 août 2026", "2026-08-16T00:00:00"),
        ("lun, 16 dic 2026 03:14:01 GMT", "2026-12-16T03:14:01"),
        ("16 de febrero de 2026", "2026-02-16T00:00:00"),
        ("Пн, 16 ноя 2026 06:14:01 +0300", SAME),
        ("16 ноября 2026", DAY),
        ("16 października 2026", "2026-10-16T00:00:00"),
        ("1450-01-01", "1450-01-01T00:00:00"),
        ("2300-12-31T23:59:59Z", "2300-12-31T23:59:59"),
    ],
)
def test_date_is_understood(text, moment):
    expected = int(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp())
    assert moment_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "03/04/2026",
        "Mon, 31 Feb 2026 00:00:00 GMT",
        "Mon, 16 Foo 2026 00:00:00 GMT",
        "Mon, 16 Nov 2026 25:00:00 GMT",
        "Mon, 16 Nov 2026 03:61:00 GMT",
        "2026-13-01",
        "2026-00-01",
        "2026-000",
        "2026-366",
        "2026-W54-1",
        "0000-00-00 00:00:00",
        "0001-01-01",
        "1449-12-31",
        "2301-01-01",
        "9999-12-31",
        "2026 or 2027",
        "99999999999999999999",
    ],
)
def test_no_date_is_guessed(text):
    assert moment_of(text) is None


@given(st.datetimes(datetime(FIRST_YEAR, 1, 1), datetime(LAST_YEAR, 12, 31)))  # noqa: DTZ001
def test_every_date_of_the_standards_is_understood(moment):
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    assert moment_of(moment.isoformat()) == moment.timestamp()
    assert moment_of(moment.strftime("%a, %d %b %Y %H:%M:%S GMT")) == moment.timestamp()


@given(
    st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{2,5} \d{1,3}:\d\d.{0,9}")
)
def test_whatever_the_text_the_year_is_sane(text):
    moment = moment_of(text)
    if moment is not None:
        first = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp()
        assert first <= moment < datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp()
