"""WebSub's rules: waits grow and end, leases stay in reason, only what was asked is agreed to."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.catalog.pushes import Push, PushState
from gossamer.news.push_rules import (
    WEEK_SECONDS,
    Call,
    Seal,
    agrees,
    call_of,
    confirmation_wait,
    lease_of,
    renewal_wait,
    setback,
    token_of,
)

TOKEN = "aZ09_-" * 7 + "x"
TOPIC = "https://news.example/feed"


def push(state=PushState.ASKED, *, wanted=True):
    return Push(1, "https://hub.example/", TOPIC, state, TOKEN, "secret", 1, None, wanted)


def test_waits_double_up_to_a_day_and_then_the_hub_is_left_alone_for_a_week():
    waits = [setback(asked, 500).wait_seconds for asked in range(1, 12)]
    assert waits == [60.0 * 2**n for n in range(11)]
    assert not setback(11, 0).refused
    assert setback(12, 0) == setback(1, 404)
    assert setback(12, 0).wait_seconds == WEEK_SECONDS
    assert setback(12, 0).refused


@pytest.mark.parametrize("status", [0, 408, 421, 425, 429, 500, 503, 599])
def test_what_may_pass_is_tried_again_soon(status):
    assert not setback(1, status).refused


@pytest.mark.parametrize("status", [100, 301, 303, 400, 401, 403, 404, 410, 422, 451])
def test_what_will_not_pass_is_a_refusal(status):
    assert setback(1, status).refused


@given(st.integers(1, 10**6), st.integers(0, 999), st.none() | st.floats(0, 1e12))
def test_no_wait_is_shorter_than_a_minute_or_longer_than_a_week(asked, status, retry_after):
    assert 60.0 <= setback(asked, status, retry_after).wait_seconds <= WEEK_SECONDS
    assert 600.0 <= confirmation_wait(asked) <= 86_400.0


@given(st.none() | st.text(max_size=20), st.floats(60, 1e9))
def test_a_lease_is_never_absurd(text, wished):
    lease = lease_of(text, wished)
    assert lease == wished or 0.0 <= lease <= 366 * 86_400.0
    assert renewal_wait(lease) >= 300.0


@pytest.mark.parametrize(
    ("text", "lease"),
    [
        ("600", 600.0),
        ("9" * 12, 366 * 86_400.0),
        ("9" * 13, 7.0),
        (None, 7.0),
        ("", 7.0),
        ("-5", 7.0),
        ("1e9", 7.0),
        ("٣٠٠", 7.0),
    ],
)
def test_leases_are_read_as_digits_only(text, lease):
    assert lease_of(text, 7.0) == lease


def test_a_renewal_comes_at_four_fifths():
    assert renewal_wait(864_000.0) == 691_200.0


@given(st.text(max_size=200))
def test_no_query_breaks_the_reader(query):
    assert isinstance(call_of(query), Call)


def test_what_is_said_twice_is_not_said():
    call = call_of("hub.mode=subscribe&hub.mode=unsubscribe&hub.topic=a&hub.challenge=c%20d")
    assert call == Call(topic="a", challenge="c d")
    assert call_of("&".join(["hub.mode=subscribe"] + ["x=1"] * 200)) == Call()
    assert call_of("hub.topic=%ff&hub.mode=x") == Call()


def test_only_what_was_asked_for_is_agreed_to():
    good = Call("subscribe", TOPIC, "c")
    assert agrees(push(), good)
    assert agrees(push(PushState.SUBSCRIBED), good)
    assert not agrees(push(PushState.WANTED), good)
    assert not agrees(push(PushState.REFUSED), good)
    assert not agrees(push(wanted=False), good)
    assert not agrees(push(), Call("subscribe", TOPIC + "/", "c"))
    assert not agrees(push(), Call("subscribe", TOPIC, ""))
    assert not agrees(push(), Call("Subscribe", TOPIC, "c"))
    leave = Call("unsubscribe", TOPIC, "c")
    assert agrees(push(PushState.WANTED, wanted=False), leave)
    assert not agrees(push(PushState.SUBSCRIBED), leave)


@pytest.mark.parametrize("path", [f"/websub/{TOKEN}", f"/{TOKEN}"])
def test_a_callback_is_the_prefix_or_nothing_before_the_token(path):
    assert token_of(path, "/websub") == TOKEN


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/websub",
        "/websub/",
        f"/other/{TOKEN}",
        f"/websub/{TOKEN}/",
        f"/websub/{TOKEN}x",
        f"/websub/{TOKEN[:-1]}",
        f"/websub//{TOKEN}",
        f"/websub/../{TOKEN}",
        f"/websub/{TOKEN[:-1]}%",
        TOKEN,
    ],
)
def test_no_other_path_is_a_callback(path):
    assert token_of(path, "/websub") is None


def signed(body: bytes, secret: str = "secret", method: str = "sha256") -> str:
    return f"{method}={hmac.new(secret.encode(), body, getattr(hashlib, method)).hexdigest()}"


@given(st.lists(st.binary(max_size=50), max_size=10), st.sampled_from(["sha1", "sha256", "sha512"]))
def test_a_seal_fits_however_the_body_is_cut(pieces, method):
    seal = Seal("secret", signed(b"".join(pieces), method=method))
    for piece in pieces:
        seal.update(piece)
    assert seal.fits()


@given(st.none() | st.text(max_size=150))
def test_no_other_signature_fits(signature):
    seal = Seal("secret", signature)
    seal.update(b"body")
    assert not seal.fits()


def test_case_and_blanks_around_a_signature_do_not_matter_but_the_method_does():
    good = signed(b"body")
    for text in (good, f" {good} ", good.upper()):
        seal = Seal("secret", text)
        seal.update(b"body")
        assert seal.fits(), text
    crossed = Seal("secret", good.replace("sha256", "sha512"))
    crossed.update(b"body")
    assert not crossed.fits()
    weak = Seal("secret", signed(b"body", method="md5"))
    weak.update(b"body")
    assert not weak.fits()
