"""What leaves the catalog has the form that is promised, whatever stands in it."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.catalog.stories import StoryRow
from gossamer.cli.news_extract import Teller
from gossamer.cli.news_records import story_record
from gossamer.cli.news_writing import write_rss
from gossamer.news.extract_drain import Extracted
from gossamer.parse.feed import read_feed
from gossamer.parse.feed_records import FeedLimits

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def story(**fields) -> StoryRow:
    known = {
        "story_id": 1,
        "source": "Paper",
        "url": "https://a.example/1",
        "canonical_url": "",
        "guid": "g1",
        "title": "T",
        "authors": (),
        "authors_confidence": 0.0,
        "published": 1_780_000_000.0,
        "published_how": "feed",
        "published_confidence": 0.8,
        "language": "",
        "language_confidence": 0.0,
        "description": "",
        "image": "",
        "tags": (),
        "collected_at": 1_780_000_000.0,
        "group_id": None,
        "text": None,
        "text_how": "",
        "text_confidence": 0.0,
        "feeds": ("https://a.example/feed",),
        "content": None,
        "extraction": "none",
        "extraction_detail": "",
    }
    return StoryRow(**known | fields)


@pytest.mark.parametrize("moment", [None, float("nan"), 1e300, -1e300, 1e12, -1e12, float("inf")])
def test_a_date_that_no_calendar_has_is_none(moment):
    assert story_record(story(published=moment)).published is None


@given(st.floats(-30_000_000_000, 253_000_000_000))
def test_any_other_date_has_four_digits_for_the_year(moment):
    published = story_record(story(published=moment)).published
    assert published is not None
    assert len(published) == len("2026-05-31T12:30:00.000Z")


@given(any_text, any_text, any_text, any_text)
def test_no_text_breaks_the_feed(title, author, text, source):
    record = story_record(
        story(title=title, authors=(author,), tags=(author,), text=text, source=source)
    )
    out = io.BytesIO()
    write_rss([record], out, title=source, with_text=True)
    feed = read_feed(out.getvalue(), "text/xml", "", "https://x.example/", FeedLimits())
    assert [item.guid for item in feed.items] == ["g1"]
    assert not {"bad_xml", "cut", "wrong_charset"} & set(feed.flags)


def test_how_far_an_extraction_is_is_told_every_five_seconds():
    out, now = io.StringIO(), [0.0]
    tell = Teller(out, lambda: now[0])
    for second in (1, 4, 5, 9, 10, 11):
        now[0] = float(second)
        tell(Extracted(done=1_000 * second, failed=1))
    assert out.getvalue().splitlines() == [
        "5,000 extracted, 1 failed so far",
        "10,000 extracted, 1 failed so far",
    ]
