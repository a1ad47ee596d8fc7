"""Deadlines, without waiting for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.spider import SpiderSettings
from gossamer.outcomes import Outcome
from gossamer.spider.deadlines import Look, Overdue, Progress, check, first_look

SETTINGS = SpiderSettings()


def run(received_at, *, requested_at: float = 0.2, head_at: float = 0.5, secure: bool = False):
    """Look at a transfer that began at 0 whenever the rules ask for it; returns (outcome, time)."""
    at, sample = first_look(0.0, SETTINGS), None
    for _ in range(1_000):
        progress = Progress(
            started=0.0,
            connected=at >= requested_at / 2,
            requested_at=requested_at if at >= requested_at else 0.0,
            has_head=at >= head_at,
            received=received_at(at),
            secure=secure,
        )
        found = check(progress, sample, at, SETTINGS)
        if isinstance(found, Overdue):
            return found.outcome, at
        assert isinstance(found, Look)
        assert found.at > at, "time goes on"
        at, sample = found.at, found.sample
    pytest.fail("no end")


NEVER = 1e9


def test_no_connection() -> None:
    outcome, at = run(lambda _: 0, requested_at=NEVER)
    assert (outcome, at) == (Outcome.NET_TIMEOUT_CONNECT, 10.0)


def test_a_handshake_without_end() -> None:
    progress = Progress(
        0.0, connected=True, requested_at=0.0, has_head=False, received=0, secure=True
    )
    found = check(progress, None, 10.0, SETTINGS)
    assert isinstance(found, Overdue)
    assert found.outcome is Outcome.TLS_HANDSHAKE


def test_no_header() -> None:
    outcome, at = run(lambda _: 0, head_at=NEVER)
    assert outcome is Outcome.NET_TIMEOUT_HEADERS
    assert at == pytest.approx(15.2)


def test_half_a_header_and_then_silence_is_not_slow() -> None:
    """H04: who stopped speaking is silent, not slow."""
    assert run(lambda at: 17 if at > 0.3 else 0, head_at=NEVER)[0] is Outcome.NET_TIMEOUT_HEADERS


def test_a_header_and_then_silence_lasts_until_the_end() -> None:
    """H05."""
    assert run(lambda _: 300) == (Outcome.NET_TIMEOUT_TOTAL, 30.0)


def test_dripping_is_slow() -> None:
    """H06, H07: noticed after one window, long before the other deadlines."""
    outcome, at = run(lambda at: int(at * 10), head_at=NEVER)
    assert outcome is Outcome.NET_SLOW
    assert at <= 12
    outcome, at = run(lambda at: 300 + int(at * 99))
    assert outcome is Outcome.NET_SLOW
    assert at <= 12


def test_fast_enough_may_take_all_its_time() -> None:
    assert run(lambda at: int(at * 150)) == (Outcome.NET_TIMEOUT_TOTAL, 30.0)


@given(st.lists(st.integers(0, 2_000), min_size=40, max_size=40))
def test_every_transfer_ends_by_the_last_deadline(arrivals: list[int]) -> None:
    outcome, at = run(lambda at: sum(arrivals[: int(at)]))
    assert at <= 30.0
    assert outcome in (Outcome.NET_SLOW, Outcome.NET_TIMEOUT_TOTAL)
