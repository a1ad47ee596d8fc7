"""The tries of feeds do not pile up, and none goes that is still needed."""

from collections.abc import Callable
from typing import Any

from newsroom import Newsroom, report, sighting

from gossamer.messages import Due, Findings, Kind
from gossamer.outcomes import Outcome

FEED = "https://example.org/feed"
PLACE = "https://example.org/where-it-is-today"
KEEP = 5
POLLS = 100
Open = Callable[..., Newsroom]
Bring = Callable[[Due, int], Findings]


def tries(room: Newsroom, url: str = FEED) -> int:
    """Count the rows of a URL, in its history or not."""
    query = "SELECT count(*) FROM fetch JOIN url USING (doc_id) WHERE url.url = ?"
    return int(room.query(query, url)[0][0])


def history(room: Newsroom, url: str = FEED) -> list[Any]:
    row = room.catalog.find(url)
    assert row is not None
    return room.catalog.history(row.doc_id)


def poll(room: Newsroom, bring: Bring, polls: int = POLLS) -> None:
    """Poll all feeds so many times, and let pages of stories be fetched in between."""
    for number in range(polls):
        room.query("UPDATE feed SET due_at = 0 WHERE enabled")
        while batch := room.provide():
            room.commit(
                *(bring(due, number) if due.kind is Kind.FEED else room.bring(due) for due in batch)
            )
        room.now += 86_400.0


def test_a_hundred_polls_leave_the_latest_tries_and_every_story_with_its_page(
    newsroom: Open,
) -> None:
    room = newsroom(keep_downloads=KEEP)
    room.feed(FEED)
    poll(room, lambda due, number: room.bring(due, report(sighting(f"https://a.example/{number}"))))
    assert tries(room) == KEEP
    latest = [each.fetched_at for each in history(room)]
    assert latest == [room.now - 86_400.0 * day for day in range(1, KEEP + 1)]
    assert len(room.stories()) == POLLS
    pages = room.query(
        "SELECT count(DISTINCT fetch.offset) FROM download JOIN fetch USING (fetch_id) "
        "WHERE download.type = 1 AND fetch.file_id IS NOT NULL"
    )
    assert pages == [(POLLS,)]


def test_the_document_that_a_304_vouches_for_stays(newsroom: Open) -> None:
    room = newsroom(keep_downloads=KEEP)
    room.feed(FEED)

    def bring(due: Due, number: int) -> Findings:
        if number == 3:
            return room.bring(due, report(sighting("https://a.example/")), etag="one")
        if number < 3:
            return room.bring(due, report(sighting(f"https://a.example/{number}")))
        assert due.etag == "one"
        return room.bring(due, status=304, outcome=Outcome.NOT_MODIFIED)

    poll(room, bring)
    statuses = [each.status for each in history(room)]
    assert statuses == [304] * KEEP + [200]
    assert history(room)[-1].pointer is not None
    assert tries(room) == KEEP + 1


def test_a_try_that_a_story_has_its_page_from_stays(newsroom: Open) -> None:
    """A feed may name itself as a story: its bytes are then those of a page."""
    room = newsroom(keep_downloads=KEEP)
    room.feed(FEED)

    def bring(due: Due, number: int) -> Findings:
        url = FEED if number == 2 else f"https://a.example/{number}"
        return room.bring(due, report(sighting(url)))

    poll(room, bring)
    ((referred,),) = room.query(
        "SELECT download.fetch_id FROM download JOIN story USING (story_id) WHERE story.url = ?",
        FEED,
    )
    assert referred is not None
    kept = history(room)
    assert kept[-1].fetch_id == referred
    assert kept[-1].pointer is not None
    assert tries(room) == len(kept) == KEEP + 1


def test_tries_of_feeds_that_fail_or_lead_elsewhere_do_not_pile_up(newsroom: Open) -> None:
    room = newsroom(keep_downloads=KEEP)
    room.feed(FEED)

    def bring(due: Due, number: int) -> Findings:
        if due.url == FEED:
            return room.redirect(due, PLACE)
        if number % 2:
            return room.bring(due, status=404, outcome=Outcome.HTTP_4XX)
        return room.bring(due, report(sighting(f"https://a.example/{number}")))

    poll(room, bring)
    for url in (FEED, PLACE):
        assert KEEP <= tries(room, url) <= 2 * KEEP
        assert len(history(room, url)) == tries(room, url)


def test_tries_that_are_repeated_do_not_pile_up_while_downloads_refer_to_some(
    newsroom: Open,
) -> None:
    room = newsroom(keep_downloads=KEEP)
    room.feed(FEED)
    retried = 0
    for number in range(4 * POLLS):
        for due in room.provide():
            if due.kind is Kind.FEED and due.tries < 3:
                room.commit(room.bring(due, status=503, outcome=Outcome.HTTP_5XX))
                retried += 1
            else:
                stories = report(sighting(f"https://a.example/{number}"))
                room.commit(room.bring(due, stories if due.kind is Kind.FEED else None))
        room.now += 86_400.0
    assert retried > 2 * POLLS
    assert len(room.stories()) > POLLS // 2
    assert tries(room) == len(history(room)) <= 2 * KEEP


def test_sources_that_share_a_feed_share_its_tries(newsroom: Open) -> None:
    room = newsroom(keep_downloads=KEEP)
    for name in ("One", "Other"):
        room.feed(FEED, room.source(name))
    poll(room, lambda due, number: room.bring(due, report(sighting(f"https://a.example/{number}"))))
    assert tries(room) == KEEP
    assert len(room.stories()) == 2 * POLLS


def test_a_history_that_has_grown_for_years_is_cut_at_the_next_polls(newsroom: Open) -> None:
    room = newsroom(keep_downloads=2_000)
    room.feed(FEED)
    same = report(sighting("https://a.example/"))
    poll(room, lambda due, _: room.bring(due, same), 1_100)
    room.query("DELETE FROM download WHERE type = 0")
    later = newsroom(keep_downloads=KEEP)
    later.now = room.now
    assert tries(later) == 1_100
    poll(later, lambda due, _: later.bring(due, same), 3)
    assert tries(later) == len(history(later)) == KEEP
