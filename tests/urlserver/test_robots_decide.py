"""What an answer to /robots.txt means: the table of 3.9."""

import pytest

from gossamer.config.urlserver import UrlServerSettings
from gossamer.outcomes import Outcome
from gossamer.urlserver.robots import (
    MAX_HOPS,
    RobotsAnswer,
    RobotsState,
    decide,
    ignored,
    redirect_target,
)

_DAY = 86_400.0
_RULES = b"User-agent: *\nDisallow: /no\nCrawl-delay: 3\nSitemap: http://a.test/map.xml\n"
GOOD = RobotsAnswer(Outcome.OK, status=200, body=_RULES)


def judged(answer, *, earlier=None, now=0.0, **changes):
    chosen = UrlServerSettings(**changes)
    return decide(answer, agents=("gossamer",), settings=chosen, earlier=earlier, now=now)


def status(code, outcome=None, **fields):
    family = {4: Outcome.HTTP_4XX, 5: Outcome.HTTP_5XX}.get(code // 100, Outcome.OK)
    return RobotsAnswer(outcome or family, status=code, **fields)


@pytest.mark.req("S1.7")
def test_a_file_that_was_read_is_obeyed_for_a_day():
    rules = judged(GOOD, now=5.0)
    assert rules.state is RobotsState.RULES
    assert rules.expires_at == 5.0 + _DAY
    assert rules.sitemaps == ("http://a.test/map.xml",)
    assert rules.crawl_delay == 3.0
    assert not rules.allows("/no/1")
    assert rules.allows("/yes")


@pytest.mark.parametrize(
    "body", [b"", b"<html>nothing here</html>", b"\x00\x01\x02", b"User-agent: *\n"]
)
def test_a_file_without_rules_allows_everything(body):
    rules = judged(RobotsAnswer(Outcome.OK, status=200, body=body))
    assert rules.state is RobotsState.ALLOW_ALL
    assert rules.allows("/")


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 418, 451, 499])
def test_a_file_that_is_not_there_allows_everything(code):
    rules = judged(status(code))
    assert rules.state is RobotsState.ALLOW_ALL
    assert rules.expires_at == _DAY


@pytest.mark.parametrize("code", [401, 403])
def test_forbidden_can_be_configured_to_mean_disallow(code):
    rules = judged(status(code), robots_forbidden_means_disallow=True)
    assert rules.state is RobotsState.UNREACHABLE
    assert judged(status(404), robots_forbidden_means_disallow=True).allows("/")


@pytest.mark.parametrize(
    "answer",
    [
        status(429, Outcome.HTTP_429),
        status(500),
        status(503),
        status(599),
        status(301),
        status(304),
        status(206, body=_RULES),
        status(700, Outcome.PROTO_STATUS),
        status(200, Outcome.BODY_SHORT, body=_RULES),
        status(200, Outcome.BODY_DECODE),
        status(200, Outcome.BODY_BOMB),
        *(
            RobotsAnswer(outcome)
            for outcome in (
                Outcome.NET_REFUSED,
                Outcome.NET_RESET,
                Outcome.NET_TIMEOUT_CONNECT,
                Outcome.NET_TIMEOUT_HEADERS,
                Outcome.NET_TIMEOUT_TOTAL,
                Outcome.NET_SLOW,
                Outcome.DNS_SERVFAIL,
                Outcome.DNS_NXDOMAIN,
                Outcome.TLS_EXPIRED,
                Outcome.PROTO_NOT_HTTP,
                Outcome.POLICY_PRIVATE_ADDRESS,
            )
        ),
    ],
    ids=lambda answer: f"{answer.outcome.name}-{answer.status}",
)
def test_a_file_that_cannot_be_read_forbids_everything(answer):
    rules = judged(answer, now=10.0, robots_retry_seconds=60.0)
    assert rules.state is RobotsState.UNREACHABLE
    assert not rules.allows("/")
    assert rules.expires_at == 70.0
    assert rules.unreachable_since == 10.0
    assert rules.detail


def test_an_earlier_copy_goes_on_to_count_while_the_file_cannot_be_read():
    earlier = judged(GOOD)
    rules = judged(status(503), earlier=earlier, now=_DAY)
    assert rules.state is RobotsState.RULES
    assert not rules.allows("/no")
    assert rules.allows("/yes")
    assert (rules.crawl_delay, rules.sitemaps) == (3.0, earlier.sitemaps)
    assert rules.expires_at == _DAY + 60.0
    again = judged(RobotsAnswer(Outcome.NET_RESET), earlier=rules, now=_DAY + 60.0)
    assert not again.allows("/no")
    assert again.expires_at == _DAY + 60.0 + 120.0


def test_a_file_that_was_missing_is_no_copy():
    """Nothing was read then, so nothing can stand in for what cannot be read now."""
    assert (
        judged(status(500), earlier=judged(status(404)), now=_DAY).state is RobotsState.UNREACHABLE
    )


def test_retries_wait_longer_each_time_up_to_a_day():
    rules, waits = None, []
    now = 0.0
    for _ in range(14):
        rules = judged(status(500), earlier=rules, now=now, robots_retry_seconds=60.0)
        waits.append(rules.expires_at - now)
        now = rules.expires_at
    assert waits[:4] == [60.0, 120.0, 240.0, 480.0]
    assert waits[-1] == _DAY


def test_retry_after_is_honoured_and_clamped():
    assert judged(status(429, Outcome.HTTP_429, retry_after_seconds=900.0)).expires_at == 900.0
    assert judged(status(429, Outcome.HTTP_429, retry_after_seconds=1.0)).expires_at == 60.0
    assert judged(status(429, Outcome.HTTP_429, retry_after_seconds=1e12)).expires_at == 3_600.0


def test_after_thirty_days_the_configured_choice_counts():
    first = judged(status(500))
    late = 30 * _DAY
    assert judged(status(500), earlier=first, now=late - 1).state is RobotsState.UNREACHABLE
    assert judged(status(500), earlier=first, now=late).state is RobotsState.UNREACHABLE
    allowed = judged(status(500), earlier=first, now=late, robots_unreachable_means_allow=True)
    assert allowed.state is RobotsState.ALLOW_ALL
    copy = judged(status(500), earlier=judged(GOOD), now=_DAY)
    assert not judged(status(500), earlier=copy, now=_DAY + late).allows("/no")


def test_only_the_first_512_kib_count_and_the_cut_line_is_dropped():
    line = b"Disallow: /x%07d\n"
    many = b"User-agent: *\n" + b"".join(line % number for number in range(60_000))
    limit = 524_288
    rules = judged(RobotsAnswer(Outcome.OK, status=200, body=many))
    whole = many[:limit].count(b"\n") - 2
    assert not rules.allows(f"/x{whole:07d}")
    assert rules.allows(f"/x{whole + 1:07d}")
    assert str(len(many[:limit].rpartition(b"\n")[0]) + 1) in rules.detail
    cut = judged(
        RobotsAnswer(Outcome.BODY_TOO_LARGE, 200, b"User-agent: *\nDisallow: /a\nDisallow: /")
    )
    assert not cut.allows("/a")
    assert cut.allows("/b")


def test_not_modified_renews_a_copy():
    copy = judged(GOOD)
    answer = RobotsAnswer(Outcome.NOT_MODIFIED, status=304)
    rules = judged(answer, earlier=copy, now=_DAY)
    assert rules.expires_at == 2 * _DAY
    assert not rules.allows("/no")


def test_a_crawl_delay_is_clamped():
    answer = RobotsAnswer(Outcome.OK, status=200, body=b"User-agent: *\nCrawl-delay: 1e9\n")
    assert judged(answer).crawl_delay == 3_600.0


def test_rules_set_aside_say_why():
    rules = ignored("our own site")
    assert rules.allows("/")
    assert "our own site" in rules.detail


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("http://other.test/robots.txt", "http://other.test/robots.txt"),
        ("//other.test/r", "http://other.test/r"),
        ("/elsewhere", "http://a.test/elsewhere"),
        ("elsewhere?x", "http://a.test/elsewhere?x"),
        ("/caf\xc3\xa9", "http://a.test/caf%C3%A9"),
        ("/caf\xe9", "http://a.test/caf%C3%A9"),
        ("ftp://a.test/robots.txt", None),
        ("http://", None),
        ("", None),
        (None, None),
        ("/robots.txt", None),
    ],
)
def test_where_a_redirect_leads(location, target):
    answer = RobotsAnswer(Outcome.OK, status=302, location=location)
    assert redirect_target("http://a.test/robots.txt", answer, 0) == target


def test_a_redirect_is_followed_five_times():
    answer = RobotsAnswer(Outcome.OK, status=308, location="/x")
    assert redirect_target("http://a.test/robots.txt", answer, MAX_HOPS - 1) is not None
    assert redirect_target("http://a.test/robots.txt", answer, MAX_HOPS) is None
    assert (
        redirect_target("http://a.test/r", RobotsAnswer(Outcome.OK, 200, location="/x"), 0) is None
    )
