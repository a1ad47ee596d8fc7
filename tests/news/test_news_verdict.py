"""Which failed downloads are tried again, and when."""

import pytest

from gossamer.config.news import NewsSettings
from gossamer.config.settings import Settings
from gossamer.messages import Findings
from gossamer.news.verdict import news_verdict
from gossamer.outcomes import RULES, Outcome, State

HOUR = 3_600.0
SETTINGS = Settings()


def failed(
    outcome: Outcome, status: int = 0, tries: int = 1, retry_after: float | None = None
) -> Findings:
    return Findings(
        doc_id=1,
        trans_id=1,
        outcome=int(outcome),
        status=status,
        fetched_at=1.0,
        milliseconds=1,
        tries=tries,
        retry_after_seconds=retry_after,
    )


TIME_OUTS = [
    Outcome.NET_TIMEOUT_CONNECT,
    Outcome.NET_TIMEOUT_HEADERS,
    Outcome.NET_TIMEOUT_TOTAL,
    Outcome.NET_SLOW,
    Outcome.DNS_TIMEOUT,
]


@pytest.mark.req("S4.37", "S4.38", "S4.39")
@pytest.mark.parametrize(
    ("outcome", "status"), [(Outcome.HTTP_5XX, 503), *((outcome, 0) for outcome in TIME_OUTS)]
)
def test_a_busy_server_is_tried_five_more_times_after_1_2_3_4_and_5_hours(
    outcome: Outcome, status: int
) -> None:
    verdicts = [
        news_verdict(failed(outcome, status, tries), SETTINGS, 1_000.0) for tries in range(1, 7)
    ]
    waits = [(each.due_at - 1_000.0) / HOUR for each in verdicts[:5]]
    assert waits == [1, 2, 3, 4, 5]
    assert [each.state for each in verdicts] == [State.PENDING] * 5 + [State.FAILED]


@pytest.mark.req("S4.40")
@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.HTTP_5XX, 500),
        (Outcome.HTTP_5XX, 502),
        (Outcome.HTTP_5XX, 504),
        (Outcome.HTTP_4XX, 404),
        (Outcome.HTTP_4XX, 408),
        (Outcome.HTTP_429, 429),
        (Outcome.NET_REFUSED, 0),
        (Outcome.NET_RESET, 0),
        (Outcome.DNS_NXDOMAIN, 0),
        (Outcome.TLS_EXPIRED, 0),
        (Outcome.BODY_SHORT, 200),
    ],
)
def test_any_other_error_is_final(outcome: Outcome, status: int) -> None:
    verdict = news_verdict(failed(outcome, status), SETTINGS, 1_000.0)
    assert verdict.state is RULES[outcome].final is State.FAILED


@pytest.mark.parametrize("status", [408, 429, 502, 504])
def test_other_statuses_may_be_added(status: int) -> None:
    settings = Settings(news=NewsSettings(retry_statuses=(503, status)))
    outcome = {408: Outcome.HTTP_4XX, 429: Outcome.HTTP_429}.get(status, Outcome.HTTP_5XX)
    assert news_verdict(failed(outcome, status), settings, 0.0).due_at == HOUR


def test_a_server_that_asks_for_more_time_gets_it() -> None:
    busy = failed(Outcome.HTTP_5XX, 503, retry_after=3 * HOUR)
    assert news_verdict(busy, SETTINGS, 0.0).due_at == 3 * HOUR
    short = failed(Outcome.HTTP_5XX, 503, retry_after=5.0)
    assert news_verdict(short, SETTINGS, 0.0).due_at == HOUR
    forever = failed(Outcome.HTTP_5XX, 503, retry_after=1e12)
    assert news_verdict(forever, SETTINGS, 0.0).due_at == 7 * 24 * HOUR
    deaf = Settings(news=NewsSettings(retry_after=False))
    assert news_verdict(busy, deaf, 0.0).due_at == HOUR


@pytest.mark.parametrize("outcome", [Outcome.POLICY_ROBOTS_UNREACHABLE, Outcome.STORE_FULL])
def test_what_says_nothing_about_the_url_never_ends_a_download(outcome: Outcome) -> None:
    assert news_verdict(failed(outcome, tries=1_000), SETTINGS, 0.0).state is State.PENDING


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.NOT_MODIFIED, Outcome.PARSE_FAILED])
def test_a_document_is_done(outcome: Outcome) -> None:
    assert news_verdict(failed(outcome, 200), SETTINGS, 0.0).state is State.DONE
