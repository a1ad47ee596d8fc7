"""Subscriptions in the catalog: what is due, what a hub may change, what a push makes due."""

import pytest
from catalog_rig import NOW, found

from gossamer.catalog import pushes
from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.catalog.pushes import PushState, note_hub
from gossamer.config.catalog import CatalogSettings

HUB = "https://hub.example/"
GAP = 30.0


@pytest.fixture
def catalog(tmp_path):
    with NewsCatalog.open(tmp_path / "catalog.db", CatalogSettings(), shared=True) as opened:
        yield opened


def add_feed(catalog, number=1, *, due_at=NOW + 5_000, last_attempt_at=NOW - 1_000):
    """A feed of its own source, polled before, and due again later."""
    url = f"https://news{number}.example/feed"
    source_id = catalog.add_source(f"news {number}", url, NOW)
    feed_id, _ = catalog.add_feed(source_id, url, NOW)
    with catalog.database.writing("set the stage") as connection:
        connection.execute(
            "UPDATE feed SET due_at = ?, last_attempt_at = ? WHERE feed_id = ?",
            (due_at, last_attempt_at, feed_id),
        )
    return feed_id


def add_push(catalog, number=1, hub=HUB, **feed):
    feed_id = add_feed(catalog, number, **feed)
    name_hub(catalog, feed_id, hub, f"https://news{number}.example/feed")
    return feed_id


def name_hub(catalog, feed_id, hub=HUB, topic="https://news1.example/feed"):
    with catalog.database.writing("note a hub") as connection:
        note_hub(connection, feed_id, hub, topic)


def row_of(catalog, feed_id):
    return next(row for row in pushes.push_rows(catalog.database) if row.feed_id == feed_id)


def feed_due_at(catalog, feed_id):
    with catalog.database.reading("look") as connection:
        return connection.execute(
            "SELECT due_at FROM feed WHERE feed_id = ?", (feed_id,)
        ).fetchone()[0]


def ask(catalog, token="t" * 43, secret="s", now=NOW):
    (push,) = pushes.due(catalog.database, now, 10)
    assert pushes.begin(catalog.database, push, token, secret, now, now + 600)
    return push


def test_a_feed_that_names_a_hub_is_due_at_once(catalog):
    feed_id = add_push(catalog)
    (push,) = pushes.due(catalog.database, NOW, 10)
    assert (push.feed_id, push.hub, push.topic) == (feed_id, HUB, "https://news1.example/feed")
    assert push.state is PushState.WANTED
    assert push.wanted


def test_naming_the_same_hub_again_changes_nothing(catalog):
    feed_id = add_push(catalog)
    ask(catalog)
    assert pushes.confirm(catalog.database, "t" * 43, NOW + 1_000, NOW + 800)
    before = row_of(catalog, feed_id)
    name_hub(catalog, feed_id)
    assert row_of(catalog, feed_id) == before
    assert pushes.find(catalog.database, "t" * 43) is not None


@pytest.mark.parametrize(
    ("hub", "topic"),
    [("https://other.example/", "https://news1.example/feed"), (HUB, "https://news1.example/b")],
)
def test_another_hub_or_topic_starts_anew_and_the_old_callback_is_dead(catalog, hub, topic):
    feed_id = add_push(catalog)
    ask(catalog)
    pushes.confirm(catalog.database, "t" * 43, NOW + 1_000, NOW + 800)
    name_hub(catalog, feed_id, hub, topic)
    assert pushes.find(catalog.database, "t" * 43) is None
    (push,) = pushes.due(catalog.database, NOW, 10)
    assert (push.hub, push.topic, push.token, push.asked) == (hub, topic, "", 0)


@pytest.mark.parametrize(
    ("hub", "topic"),
    [("", "https://t.example/"), (HUB, ""), ("h" * 3_000, "t"), ("h", "t" * 3_000)],
)
def test_a_feed_that_names_no_usable_hub_has_no_subscription(catalog, hub, topic):
    feed_id = add_feed(catalog)
    name_hub(catalog, feed_id, hub, topic)
    assert pushes.push_rows(catalog.database) == []


def test_a_token_that_is_empty_or_unknown_is_nobodys(catalog):
    add_push(catalog)
    assert pushes.find(catalog.database, "") is None
    assert pushes.find(catalog.database, "x" * 43) is None


def test_an_asked_hub_is_not_due_until_its_time_and_counts_the_questions(catalog):
    feed_id = add_push(catalog)
    ask(catalog)
    assert pushes.due(catalog.database, NOW + 599, 10) == []
    (push,) = pushes.due(catalog.database, NOW + 600, 10)
    assert (push.state, push.asked, push.token) == (PushState.ASKED, 1, "t" * 43)
    assert row_of(catalog, feed_id).next_at == NOW + 600


def test_resting_hubs_are_left_out_and_do_not_hide_others(catalog):
    for number in range(1, 6):
        add_push(catalog, number)
    other = add_push(catalog, 6, "https://other.example/")
    found_ones = pushes.due(catalog.database, NOW, 3, {HUB})
    assert [push.feed_id for push in found_ones] == [other]


def test_only_what_was_asked_for_can_be_confirmed(catalog):
    feed_id = add_push(catalog)
    assert not pushes.confirm(catalog.database, "t" * 43, NOW + 10, NOW + 8)
    ask(catalog)
    assert pushes.confirm(catalog.database, "t" * 43, NOW + 1_000, NOW + 800)
    # A repetition must not be able to move the lease.
    assert not pushes.confirm(catalog.database, "t" * 43, NOW + 9_999, NOW + 9_000)
    row = row_of(catalog, feed_id)
    assert (row.state, row.lease_until, row.next_at) == (2, NOW + 1_000, NOW + 800)


def test_a_renewal_keeps_the_subscription_while_its_lease_lasts(catalog):
    feed_id = add_push(catalog)
    ask(catalog)
    pushes.confirm(catalog.database, "t" * 43, NOW + 1_000, NOW + 800)
    ask(catalog, now=NOW + 800)
    assert row_of(catalog, feed_id).state is PushState.SUBSCRIBED
    (push,) = pushes.due(catalog.database, NOW + 1_400, 10)
    pushes.begin(catalog.database, push, push.token, "s", NOW + 1_400, NOW + 2_000)
    assert row_of(catalog, feed_id).state is PushState.ASKED


def test_a_failure_that_comes_after_the_confirmation_is_not_believed(catalog):
    feed_id = add_push(catalog)
    push = ask(catalog)
    pushes.confirm(catalog.database, "t" * 43, NOW + 1_000, NOW + 800)
    pushes.failed(catalog.database, push, "t" * 43, NOW + 60, "no answer", PushState.REFUSED)
    row = row_of(catalog, feed_id)
    assert (row.state, row.next_at, row.detail) == (2, NOW + 800, "")


def test_a_failure_says_when_to_ask_again(catalog):
    feed_id = add_push(catalog)
    push = ask(catalog)
    pushes.failed(catalog.database, push, "t" * 43, NOW + 60, "x" * 1_000)
    row = row_of(catalog, feed_id)
    assert (row.state, row.next_at, row.detail) == (1, NOW + 60, "x" * 300)
    pushes.deny(catalog.database, "t" * 43, NOW + 99, "denied")
    assert (row_of(catalog, feed_id).state, row_of(catalog, feed_id).detail) == (3, "denied")


def test_nothing_is_asked_for_a_feed_that_has_changed_its_hub_meanwhile(catalog):
    feed_id = add_push(catalog)
    (push,) = pushes.due(catalog.database, NOW, 10)
    name_hub(catalog, feed_id, "https://other.example/")
    assert not pushes.begin(catalog.database, push, "t" * 43, "s", NOW, NOW + 600)


def test_subscriptions_of_disabled_feeds_are_left_and_come_back_with_them(catalog):
    feed_id = add_push(catalog)
    ask(catalog)
    pushes.confirm(catalog.database, "t" * 43, NOW + 1_000, NOW + 800)
    assert pushes.unwanted(catalog.database, 10) == []
    catalog.set_feeds_enabled([feed_id], False, NOW, "rests")
    assert pushes.due(catalog.database, NOW + 900, 10) == []
    assert pushes.unwanted(catalog.database, 10, {HUB}) == []
    (push,) = pushes.unwanted(catalog.database, 10)
    pushes.leave(catalog.database, push)
    assert pushes.unwanted(catalog.database, 10) == []
    assert not pushes.find(catalog.database, "t" * 43).wanted
    assert pushes.want_again(catalog.database) == 0
    catalog.set_feeds_enabled([feed_id], True, NOW)
    assert pushes.want_again(catalog.database) == 1
    assert [push.feed_id for push in pushes.due(catalog.database, NOW, 10)] == [feed_id]


def test_a_disabled_source_counts_like_a_disabled_feed(catalog):
    add_push(catalog)
    ask(catalog)
    catalog.set_source_enabled(1, False, NOW)
    assert len(pushes.unwanted(catalog.database, 10)) == 1


def test_a_removed_feed_takes_its_subscription_along(catalog):
    feed_id = add_push(catalog)
    ask(catalog)
    catalog.remove_feed(feed_id)
    assert pushes.find(catalog.database, "t" * 43) is None
    assert pushes.push_rows(catalog.database) == []


def test_all_hubs_hear_of_a_new_callback(catalog):
    add_push(catalog, 1)
    ask(catalog)
    pushes.confirm(catalog.database, "t" * 43, NOW + 1_000, NOW + 800)
    assert pushes.ask_all_again(catalog.database) == 1
    (push,) = pushes.due(catalog.database, NOW, 10)
    assert (push.state, push.token) == (PushState.WANTED, "t" * 43)


def test_a_push_makes_a_feed_due_now(catalog):
    feed_id = add_push(catalog)
    assert not pushes.pushed(catalog.database, feed_id, 2, NOW, GAP)
    assert feed_due_at(catalog, feed_id) == NOW
    row = row_of(catalog, feed_id)
    assert (row.pushes, row.last_push_at) == (2, NOW)


def test_a_feed_that_was_polled_just_now_is_polled_after_the_gap(catalog):
    feed_id = add_push(catalog, last_attempt_at=NOW - 10)
    pushes.pushed(catalog.database, feed_id, 1, NOW, GAP)
    assert feed_due_at(catalog, feed_id) == NOW + 20


def test_a_push_never_delays_a_feed(catalog):
    feed_id = add_push(catalog, due_at=NOW - 50)
    pushes.pushed(catalog.database, feed_id, 1, NOW, GAP)
    assert feed_due_at(catalog, feed_id) == NOW - 50


def test_a_clock_that_was_set_back_delays_nothing_for_longer_than_the_gap(catalog):
    feed_id = add_push(catalog, last_attempt_at=NOW + 4_000)
    pushes.pushed(catalog.database, feed_id, 1, NOW, GAP)
    assert feed_due_at(catalog, feed_id) == NOW + GAP


def test_a_push_during_a_poll_is_owed_until_the_poll_ends(catalog):
    feed_id = add_push(catalog, due_at=None, last_attempt_at=NOW - 1)
    assert pushes.pushed(catalog.database, feed_id, 1, NOW, GAP)
    assert feed_due_at(catalog, feed_id) is None
    assert pushes.owed(catalog.database) == {feed_id}
    assert pushes.poll_owed(catalog.database, [feed_id], NOW + 1, GAP) == {feed_id}
    with catalog.database.writing("end the poll") as connection:
        connection.execute("UPDATE feed SET due_at = ? WHERE feed_id = ?", (NOW + 900, feed_id))
    assert pushes.poll_owed(catalog.database, [feed_id], NOW + 2, GAP) == set()
    assert feed_due_at(catalog, feed_id) == NOW + 29
    assert pushes.owed(catalog.database) == set()


def test_a_poll_that_began_after_the_push_settles_it(catalog):
    feed_id = add_push(catalog, due_at=None, last_attempt_at=NOW - 1)
    pushes.pushed(catalog.database, feed_id, 1, NOW, GAP)
    with catalog.database.writing("poll again") as connection:
        connection.execute(
            "UPDATE feed SET due_at = ?, last_attempt_at = ? WHERE feed_id = ?",
            (NOW + 900, NOW + 5, feed_id),
        )
    assert pushes.poll_owed(catalog.database, [feed_id], NOW + 6, GAP) == set()
    assert feed_due_at(catalog, feed_id) == NOW + 900


def test_a_disabled_feed_is_not_made_due_by_a_push(catalog):
    feed_id = add_push(catalog)
    catalog.set_feeds_enabled([feed_id], False, NOW, "rests")
    assert not pushes.pushed(catalog.database, feed_id, 1, NOW, GAP)
    assert feed_due_at(catalog, feed_id) is None


def test_what_was_ignored_is_noted_for_people_but_not_over_a_refusal(catalog):
    first, second = add_push(catalog, 1), add_push(catalog, 2)
    with catalog.database.writing("refuse") as connection:
        connection.execute(
            "UPDATE push SET state = 3, detail = 'denied' WHERE feed_id = ?", (second,)
        )
    pushes.note_ignored(catalog.database, {first: "ignored 3", second: "ignored 4"})
    assert row_of(catalog, first).detail == "ignored 3"
    assert row_of(catalog, second).detail == "denied"


def test_the_questions_use_the_indices(catalog):
    for number in range(1, 30):
        add_push(catalog, number)
    catalog.add([found("https://elsewhere.example/")], NOW)
    bounds = {"now": NOW, "resting": "[]", "limit": 5}
    with catalog.database.reading("explain") as connection:
        plan = connection.execute(
            f"EXPLAIN QUERY PLAN {pushes._QUERIES['pushes_due']}", bounds
        ).fetchall()
        token = connection.execute(
            f"EXPLAIN QUERY PLAN {pushes._QUERIES['push_by_token']}", ("t",)
        ).fetchall()
    assert any("push_next" in str(step) for step in plan)
    assert any("push_token" in str(step) for step in token)
