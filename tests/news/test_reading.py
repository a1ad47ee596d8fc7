"""What a worker makes of a fetched feed, and which bytes it keeps."""

from pathlib import Path

import msgspec
import pytest

from gossamer.clock import SystemClock
from gossamer.config.news import NewsSettings
from gossamer.config.settings import Settings
from gossamer.crawl.intake import Intake
from gossamer.crawl.link import Assignment, Report, Tag
from gossamer.crawl.watch import Watch
from gossamer.messages import Fetch, Kind, Visit
from gossamer.news.reading import KeepCondition, report_of
from gossamer.news.run import news_settings
from gossamer.outcomes import Outcome
from gossamer.parse.feed import urls_checksum
from gossamer.parse.feed_records import FeedLimits
from gossamer.reports import FeedReport
from gossamer.url.address import AddressPolicy

URL = "https://example.org/feed"
A, B = "https://example.org/a", "https://example.org/b"


def feed(*items: str, channel: str = "") -> bytes:
    listed = "".join(f"<item>{item}</item>" for item in items)
    return (
        f"<rss version='2.0'><channel><title>Loop</title>{channel}{listed}</channel></rss>".encode()
    )


def fetched(
    body: bytes,
    *,
    kind: Kind = Kind.FEED,
    seen: bytes | None = None,
    content_type: str = "application/rss+xml",
    headers: tuple[tuple[str, str], ...] = (),
    status: int = 200,
) -> Fetch:
    return Fetch(
        visit=Visit(1, 1, "127.0.0.1", URL, kind=int(kind), seen=seen),
        outcome=Outcome.OK if status < 400 else Outcome.HTTP_5XX,
        status=status,
        headers=(("content-type", content_type), *headers),
        body=body,
        raw=body,
        fetched_at=1.0,
    )


def report(body: bytes, **more: object) -> FeedReport:
    return report_of(fetched(body, **more), FeedLimits())  # type: ignore[arg-type]


@pytest.mark.req("S4.33")
def test_the_checksum_is_that_of_the_sorted_urls_each_once() -> None:
    one = report(feed(f"<link>{A}</link>", f"<link>{B}</link>", f"<link>{A}</link>"))
    other = report(feed(f"<title>x</title><link>{B}</link>", f"<link>{A}</link>"))
    assert one.checksum == other.checksum == urls_checksum([A, B])
    assert one.checksum != report(feed(f"<link>{A}</link>")).checksum


def test_a_feed_with_the_urls_of_last_time_is_redundant_and_says_no_more() -> None:
    body = feed(f"<link>{A}</link>")
    again = report(body, seen=report(body).checksum)
    assert again.redundant
    assert again.sightings == ()
    assert not report(body, seen=b"other").redundant


@pytest.mark.parametrize(
    "body",
    [b"<rss version='2.0'><channel><title>Loop</title>", b"<feed><entry><title>half", b"<feed>"],
)
def test_a_feed_that_ends_before_its_first_story_was_not_read(body: bytes) -> None:
    """It is a feed_error (D12): a success would hide that the site sends halves."""
    read = report(body, seen=urls_checksum([]))
    assert (read.form, read.redundant) == ("", False)
    assert read.detail == "the end is missing"


def test_a_story_is_known_by_url_and_guid_in_full_and_lossy() -> None:
    (one,) = report(feed(f"<link>{A}?utm_source=rss</link><guid>tag:1</guid>")).sightings
    (other,) = report(feed("<link>http://www.example.org/a</link><guid>tag:2</guid>")).sightings
    assert set(one.keys) & set(other.keys)
    (third,) = report(feed(f"<link>{B}</link><guid>tag:1</guid>")).sightings
    assert set(one.keys) & set(third.keys)
    assert not set(other.keys) & set(third.keys)


def test_an_entry_of_atom_may_say_only_when_it_was_updated() -> None:
    entry = f"<entry><id>1</id><link href='{A}'/><updated>2026-01-02T00:00:00Z</updated></entry>"
    (one,) = report(f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry}</feed>".encode()).sightings
    assert (one.published, one.updated) == (None, 1_767_312_000)


def test_one_guid_for_all_is_no_guid() -> None:
    sightings = report(
        feed(*(f"<link>https://example.org/{n}</link><guid>same</guid>" for n in range(5)))
    ).sightings
    assert len(sightings) == 5
    assert len({key for each in sightings for key in each.keys}) >= 5
    assert not set(sightings[0].keys) & set(sightings[1].keys)


def test_a_hub_may_be_named_by_the_feed_or_by_a_header_and_be_relative() -> None:
    atom = "<link xmlns='http://www.w3.org/2005/Atom' rel='hub' href='https://hub.example/'/>"
    assert report(feed(channel=atom)).hub == "https://hub.example/"
    named = report(feed(), headers=(("link", '</hub>; rel="hub", </topic>; rel="self"'),))
    assert (named.hub, named.topic) == ("https://example.org/hub", "https://example.org/topic")
    silent = report(feed())
    assert (silent.hub, silent.topic) == ("", URL)


@pytest.mark.parametrize(
    "link",
    [
        # Every blog of WordPress sends this one.
        '<https://example.org/wp-json/>; rel="https://api.w.org/"',
        '<http://[>; rel="hub", <http://[>; rel="self"',
        '<javascript:hub()>; rel="hub", <mailto:me@example.org>; rel="self"',
        '<>; rel="hub self"',
    ],
)
def test_a_header_that_names_no_hub_makes_none_and_spoils_no_feed(link: str) -> None:
    read = report(feed(f"<link>{A}</link>"), headers=(("link", link),))
    assert (read.hub, read.topic) == ("", URL)
    assert [each.url for each in read.sightings] == [A]


@pytest.mark.parametrize(
    ("fetch", "kept"),
    [
        (fetched(b"<p>text", kind=Kind.PAGE, content_type="text/html"), True),
        (fetched(b"{}", kind=Kind.PAGE, content_type="application/json"), True),
        (fetched(b"\x00\x00\x00\x18ftypmp42", kind=Kind.PAGE, content_type="video/mp4"), False),
        (fetched(b"%PDF-1.7\n", kind=Kind.PAGE, content_type="application/pdf"), False),
        (fetched(feed(f"<link>{A}</link>")), True),
        (fetched(feed(f"<link>{A}</link>"), seen=urls_checksum([A])), False),
        (fetched(b"busy", status=503), True),
    ],
)
def test_only_text_and_feeds_with_news_are_kept(fetch: Fetch, kept: bool) -> None:
    assert KeepCondition(Settings())(fetch) is kept


def test_what_is_kept_is_a_setting() -> None:
    film = fetched(b"\x00\x00\x00\x18ftypmp42", kind=Kind.PAGE, content_type="video/mp4")
    assert KeepCondition(Settings(news=NewsSettings(content_types=("video",))))(film)


@pytest.mark.req("S4.26")
@pytest.mark.parametrize(
    ("status", "outcome"), [(200, Outcome.OK), (503, Outcome.HTTP_5XX)], ids=["good", "busy"]
)
def test_every_response_is_passed_to_the_handler(
    tmp_path: Path, status: int, outcome: Outcome
) -> None:
    heard: list[Report] = []

    def send(tag: Tag, payload: object) -> None:
        assert tag is Tag.REPORT
        assert isinstance(payload, Report)
        heard.append(payload)

    assignment = Assignment(
        name="w0",
        archive=str(tmp_path),
        catalog="",
        workers_lock="",
        settings=news_settings(Settings()),
        start_urls=(),
        policy=AddressPolicy(Settings().url).to_bytes(),
        main_script="",
    )
    intake = Intake(assignment, None, Watch.make(), SystemClock(), send)
    intake.step([fetched(feed(f"<link>{A}</link>"), status=status)])
    intake.flush()
    (findings,) = [each for batch in heard for each in batch.findings]
    assert (findings.status, findings.outcome) == (status, outcome)
    reports = [msgspec.json.decode(record, type=FeedReport) for record in findings.records]
    assert [each.url for one in reports for each in one.sightings] == ([A] if status == 200 else [])


def test_a_download_that_nobody_speaks_of_is_pending_again_after_five_minutes() -> None:
    assert news_settings(Settings()).urlserver.timeout_spider_status_seconds == 300
    quick = Settings(news=NewsSettings(stale_seconds=20))
    assert news_settings(quick).urlserver.timeout_spider_status_seconds == 20


def test_the_ring_follows_nothing_but_feeds_and_redirects() -> None:
    settings = news_settings(Settings())
    assert not settings.handlers.follow_links
    assert not settings.crawl.sitemaps
    assert settings.crawl.scope == "any"
