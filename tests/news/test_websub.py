"""WebSub with a real hub over real sockets: asked, confirmed, pushed, renewed, refused, left."""

import hashlib
import hmac

import pytest
from hub_rig import CALLBACK, Hub, Newsroom, settings_for, until

from gossamer.catalog.pushes import PushState
from held_ports import HeldPort

DAY = 86_400.0


@pytest.fixture
def hub():
    with Hub() as made:
        yield made


@pytest.fixture
def room(tmp_path):
    with Newsroom(tmp_path) as made:
        yield made


def is_subscribed(room, feed_id=1):
    return lambda: room.row(feed_id).state is PushState.SUBSCRIBED and not room.row(feed_id).asked


def subscribed(room, hub, number=1, **feed):
    """Add a feed and wait until its hub tells us."""
    feed_id = room.add_feed(hub.url, number, **feed)
    until(is_subscribed(room, feed_id), "subscribed")
    return feed_id


@pytest.mark.parametrize("verifies_first", [False, True])
def test_a_hub_is_asked_asks_back_pushes_and_the_feed_is_due(room, hub, verifies_first):
    hub.verifies_first = verifies_first
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        (form,) = hub.forms
        assert form["hub.mode"] == "subscribe"
        assert form["hub.topic"] == "http://news1.example/feed"
        assert form["hub.lease_seconds"] == "864000"
        assert form["hub.callback"].startswith(CALLBACK + "/")
        assert len(form["hub.secret"]) == 43
        assert form["hub.secret"] not in form["hub.callback"]
        assert hub.heads[0]["content-type"] == "application/x-www-form-urlencoded"
        until(lambda: bool(hub.confirmed), "the hub has heard the answer, too")
        (confirmed,) = hub.confirmed
        assert (confirmed.status, confirmed.body) == (200, b"challenge 0")
        assert confirmed.headers["x-content-type-options"] == "nosniff"
        row = room.row(feed_id)
        assert (row.lease_until, row.next_at) == (room.now + 10 * DAY, room.now + 8 * DAY)
        assert room.due_at(feed_id) == room.now + 5_000
        assert hub.distribute(form).status == 202
        assert room.due_at(feed_id) == room.now
        assert (room.row(feed_id).pushes, room.row(feed_id).last_push_at) == (1, room.now)


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_every_method_of_the_standard_is_understood(room, hub, method):
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        assert hub.distribute(hub.forms[0], b"x" * 100_000, method=method).status == 202
        assert room.due_at(feed_id) == room.now


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret": "guessed"},
        {"signature": ""},
        {"signature": "sha256=" + "0" * 64},
        {"signature": "md5=" + "0" * 40},
        {"method": "md5"},
        {"signature": "sha256"},
        {"signature": "=" * 500},
        {"signature": "sha256=" + "g" * 64},
    ],
)
def test_what_is_not_signed_with_our_secret_is_answered_counted_and_ignored(room, hub, wrong):
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        assert hub.distribute(hub.forms[0], **wrong).status == 202
        assert room.due_at(feed_id) == room.now + 5_000
        assert room.row(feed_id).pushes == 0
    assert room.row(feed_id).detail == "ignored 1: not signed, or not with our secret"


def test_a_changed_body_is_ignored(room, hub):
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        signed = hmac.new(hub.forms[0]["hub.secret"].encode(), b"one", hashlib.sha256).hexdigest()
        assert hub.distribute(hub.forms[0], b"two", signature=f"sha256={signed}").status == 202
        assert room.due_at(feed_id) == room.now + 5_000


def test_a_secret_of_one_feed_opens_no_other(room, hub):
    with room.serving(hub):
        first = subscribed(room, hub, 1)
        second = subscribed(room, hub, 2)
        secret = hub.forms[0]["hub.secret"]
        assert secret != hub.forms[1]["hub.secret"]
        assert hub.distribute(hub.forms[1], secret=secret).status == 202
        assert room.due_at(second) == room.now + 5_000
        assert room.due_at(first) == room.now + 5_000


@pytest.mark.parametrize(
    "says",
    [
        {"hub.topic": "http://other.example/feed"},
        {"hub.mode": "unsubscribe"},
        {"hub.mode": "publish"},
        {"hub.challenge": ""},
    ],
)
def test_a_question_for_what_was_not_asked_is_not_confirmed(room, hub, says):
    hub.says = says
    with room.serving(hub):
        feed_id = room.add_feed(hub.url)
        until(lambda: bool(hub.confirmed), "the hub asked back")
        assert hub.confirmed[0].status == 404
        assert b"challenge" not in hub.confirmed[0].body
        assert room.row(feed_id).state is PushState.ASKED


def test_a_replayed_verification_with_another_topic_changes_nothing(room, hub):
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        before = room.row(feed_id)
        replay = {"hub.topic": "http://evil.example/", "hub.lease_seconds": "1"}
        assert hub.verify(hub.forms[0], **replay).status == 404
        # The same question again is answered, but moves no lease.
        assert hub.verify(hub.forms[0], **{"hub.lease_seconds": "1"}).status == 200
        assert room.row(feed_id) == before


def test_a_token_that_nobody_has_is_gone_and_any_other_path_is_not_found(room, hub):
    with room.serving(hub):
        subscribed(room, hub)
        unknown = {"hub.callback": f"{CALLBACK}/{'x' * 43}", "hub.secret": "s"}
        assert hub.distribute(unknown).status == 410
        for target in ("/", "/websub", "/websub/", "/robots.txt", "/websub/short", "/../etc"):
            assert hub.call("GET", target).status == 404
            assert hub.call("POST", target, b"x").status == 404
        path = hub.forms[0]["hub.callback"].removeprefix("http://news.example")
        assert hub.call("PUT", path, b"x").status == 405
        assert hub.call("GET", f"/elsewhere{path}").status == 404


def test_a_proxy_may_take_the_path_before_the_token_away(room, hub):
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        form = hub.forms[0]
        bare = {**form, "hub.callback": form["hub.callback"].replace("/websub/", "/")}
        assert hub.distribute(bare).status == 202
        assert room.due_at(feed_id) == room.now


def test_a_subscription_is_renewed_with_the_same_callback_before_its_lease_ends(room, hub):
    hub.lease = "100000"
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        room.clock.advance(79_999)
        assert len(hub.forms) == 1
        room.clock.advance(1)
        until(lambda: len(hub.forms) == 2, "renewed")
        assert hub.forms[1] == hub.forms[0]
        until(is_subscribed(room, feed_id), "subscribed again")
        assert room.row(feed_id).lease_until == room.now + 100_000


def test_a_lease_of_a_moment_does_not_make_us_ask_all_the_time(room, hub):
    hub.lease = "1"
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        row = room.row(feed_id)
        assert (row.lease_until, row.next_at) == (room.now + 1, room.now + 300)


def test_a_hub_that_fails_is_asked_again_later_and_later(room, hub):
    hub.status, hub.body = 500, b"out of\r\norder"
    with room.serving(hub):
        feed_id = room.add_feed(hub.url)
        waits: list[float] = []
        for tries in range(1, 5):
            room.clock.advance(sum(waits[-1:]))
            until(lambda tries=tries: len(hub.forms) == tries, "asked")
            until(lambda: room.row(feed_id).detail != "", "noted")
            until(lambda: (room.row(feed_id).next_at or 0) - room.now < 600, "noted")
            waits.append((room.row(feed_id).next_at or 0) - room.now)
        assert waits == [60, 120, 240, 480]
        assert room.row(feed_id).detail == "answered 500: out of order"
        # Before it is asked again, which may be as soon as the time has come.
        hub.status = 202
        room.clock.advance(waits[-1])
        until(is_subscribed(room, feed_id), "subscribed in the end")
        assert room.row(feed_id).detail == ""


def test_a_hub_that_is_not_there_is_asked_again_after_a_minute(room, hub):
    with HeldPort() as nobody, room.serving(hub):
        feed_id = room.add_feed(f"http://127.0.0.1:{nobody.port}/")
        until(lambda: room.row(feed_id).detail != "", "failed")
        assert room.row(feed_id).next_at == room.now + 60
        assert room.row(feed_id).state is PushState.ASKED


def test_a_hub_that_asks_for_patience_gets_it(room, hub):
    hub.status, hub.answer_headers = 429, {"Retry-After": "1800"}
    with room.serving(hub):
        feed_id = room.add_feed(hub.url)
        until(lambda: room.row(feed_id).detail != "", "failed")
        assert room.row(feed_id).next_at == room.now + 1_800


def test_a_troubled_hub_is_not_asked_for_its_other_feeds_meanwhile(room, hub):
    hub.status = 503
    for number in range(1, 6):
        room.add_feed(hub.url, number)
    with room.serving(hub):
        until(lambda: room.row(1).detail != "", "failed")
        hub.status = 202
        room.clock.advance(59)
        other = Hub()
        with other:
            other.listener = hub.listener
            # While it waits, a hub at another address is asked.
            feed_id = room.add_feed(other.url.replace("127.0.0.1", "127.0.0.2"), 7)
            until(lambda: room.row(feed_id).asked > 0, "the other hub was asked")
        assert len(hub.forms) == 1
        room.clock.advance(61)
        until(lambda: len(hub.forms) == 6, "all were asked")


def test_a_refusal_is_recorded_and_lasts_a_week(room, hub):
    hub.status, hub.body = 403, b"not you"
    with room.serving(hub):
        feed_id = room.add_feed(hub.url)
        until(lambda: room.row(feed_id).state is PushState.REFUSED, "refused")
        row = room.row(feed_id)
        assert (row.next_at, row.detail) == (room.now + 7 * DAY, "answered 403: not you")
        hub.status = 202
        room.clock.advance(7 * DAY)
        until(is_subscribed(room, feed_id), "subscribed after a week")


def test_a_denial_is_recorded(room, hub):
    hub.verifies = False
    with room.serving(hub):
        feed_id = room.add_feed(hub.url)
        until(lambda: len(hub.forms) == 1, "asked")
        says = {"hub.mode": "denied", "hub.reason": "no \x1b[31mred"}
        assert hub.verify(hub.forms[0], **{**says, "hub.topic": "http://x.example/"}).status == 404
        assert room.row(feed_id).state is PushState.ASKED
        assert hub.verify(hub.forms[0], **says).status == 200
        row = room.row(feed_id)
        assert (row.state, row.detail) == (PushState.REFUSED, "denied: no [31mred")
        assert row.next_at == room.now + 7 * DAY


def test_a_hub_that_never_asks_back_is_asked_again(room, hub):
    hub.verifies = False
    with room.serving(hub):
        feed_id = room.add_feed(hub.url)
        until(lambda: len(hub.forms) == 1, "asked")
        assert room.row(feed_id).next_at == room.now + 600
        hub.verifies = True
        room.clock.advance(600)
        until(is_subscribed(room, feed_id), "subscribed")


@pytest.mark.parametrize("status", [307, 308])
def test_a_hub_may_send_us_to_another(room, hub, status):
    hub.status = status
    with Hub() as other, room.serving(hub):
        other.listener = hub.listener
        hub.answer_headers = {"Location": other.url}
        feed_id = room.add_feed(hub.url)
        until(is_subscribed(room, feed_id), "subscribed")
        assert other.forms == hub.forms


def test_a_hub_that_redirects_for_ever_is_refused(room, hub):
    hub.status, hub.answer_headers = 308, {"Location": hub.url}
    with room.serving(hub):
        feed_id = room.add_feed(hub.url)
        until(lambda: room.row(feed_id).state is PushState.REFUSED, "refused")
        assert len(hub.forms) == 4


def test_pushes_one_upon_the_other_cost_one_poll_and_none_is_forgotten(room, hub):
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        for _ in range(20):
            assert hub.distribute(hub.forms[0]).status == 202
        assert room.due_at(feed_id) == room.now
        assert room.row(feed_id).pushes == 1
        poll(room, feed_id)
        room.clock.advance(10)
        assert hub.distribute(hub.forms[0]).status == 202
        assert room.due_at(feed_id) == room.now + 9_990
        room.clock.advance(20)
        until(lambda: room.row(feed_id).pushes == 21, "counted")
        assert room.row(feed_id).last_push_at == room.now
        # It is due once more: the poll before it cannot have seen the last push.
        assert room.due_at(feed_id) == room.now


def poll(room, feed_id):
    """Let the engine poll a feed, in no time."""
    with room.catalog.database.writing("poll") as connection:
        connection.execute(
            "UPDATE feed SET last_attempt_at = ?, due_at = ? WHERE feed_id = ?",
            (room.now, room.now + 10_000, feed_id),
        )


def test_a_push_during_a_poll_makes_the_feed_due_when_that_ends(room, hub):
    with room.serving(hub):
        feed_id = subscribed(room, hub, due_in=None)
        assert hub.distribute(hub.forms[0]).status == 202
        assert room.due_at(feed_id) is None
        with room.catalog.database.writing("end the poll") as connection:
            connection.execute(
                "UPDATE feed SET due_at = ? WHERE feed_id = ?", (room.now + 9_000, feed_id)
            )
        until(lambda: room.due_at(feed_id) == room.now, "due")


def test_what_is_owed_survives_a_restart(room, hub):
    with room.serving(hub):
        feed_id = subscribed(room, hub, due_in=None)
        assert hub.distribute(hub.forms[0]).status == 202
    with room.serving(hub):
        with room.catalog.database.writing("end the poll") as connection:
            connection.execute(
                "UPDATE feed SET due_at = ? WHERE feed_id = ?", (room.now + 9_000, feed_id)
            )
        until(lambda: room.due_at(feed_id) == room.now, "due")


def test_a_disabled_feed_is_left_and_the_hub_may_ask_whether_we_mean_it(room, hub):
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        room.catalog.set_feeds_enabled([feed_id], False, room.now, "rests")
        assert hub.distribute(hub.forms[0]).status == 410
        room.clock.advance(61)
        until(lambda: len(hub.confirmed) == 2, "left")
        assert hub.forms[1]["hub.mode"] == "unsubscribe"
        assert hub.forms[1]["hub.callback"] == hub.forms[0]["hub.callback"]
        assert "hub.secret" not in hub.forms[1]
        assert hub.confirmed[1].status == 200
        room.catalog.set_feeds_enabled([feed_id], True, room.now)
        room.clock.advance(61)
        until(lambda: len(hub.confirmed) == 3, "asked again")
        assert hub.forms[2]["hub.mode"] == "subscribe"
        until(is_subscribed(room, feed_id), "subscribed again")


def test_the_callback_of_a_removed_feed_is_gone(room, hub):
    with room.serving(hub):
        feed_id = subscribed(room, hub)
        room.catalog.remove_feed(feed_id)
        assert hub.distribute(hub.forms[0]).status == 410


def test_hubs_hear_of_a_new_callback_url(room, hub):
    with room.serving(hub):
        feed_id = subscribed(room, hub)
    with room.serving(hub):
        pass
    assert len(hub.forms) == 1
    room.settings = settings_for(callback_url="http://moved.example/ws/")
    with room.serving(hub):
        until(lambda: len(hub.forms) == 2, "asked again")
        until(is_subscribed(room, feed_id), "subscribed again")
    token = hub.forms[0]["hub.callback"].rpartition("/")[2]
    assert hub.forms[1]["hub.callback"] == f"http://moved.example/ws/{token}"
