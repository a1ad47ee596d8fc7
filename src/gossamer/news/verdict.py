"""What becomes of a download that failed: tried again or not, and when. Pure (S4.37-S4.40)."""

from typing import Final

from gossamer.catalog.catalog import Verdict
from gossamer.config.settings import Settings
from gossamer.crawl.verdict import verdict as usual_verdict
from gossamer.messages import Findings
from gossamer.outcomes import FOREVER, RULES, Outcome, State

_TIME_OUTS: Final = frozenset(
    {
        Outcome.NET_TIMEOUT_CONNECT,
        Outcome.NET_TIMEOUT_HEADERS,
        Outcome.NET_TIMEOUT_TOTAL,
        Outcome.NET_SLOW,
        Outcome.DNS_TIMEOUT,
    }
)


def news_verdict(findings: Findings, settings: Settings, now: float) -> Verdict:
    """Return what the catalog is to remember of a download; `now` is wall time.

    Unlike in a crawl, nothing is tried again within minutes: the n-th failure is followed by n
    hours of rest, and only busy servers and time-outs are given another try at all.
    """
    outcome, news = findings.outcome, settings.news
    rule = RULES[outcome]
    # What says nothing about the URL (disk full, robots.txt unreachable), and a redirect to itself
    # that waits for its cookie, are not failures of the download.
    if rule.tries == FOREVER or outcome == Outcome.REDIR_LOOP:
        return usual_verdict(findings, settings.urlserver, now)
    again = outcome in _TIME_OUTS or findings.status in news.retry_statuses
    if not again or findings.tries > news.max_retries or rule.final is State.DONE:
        return Verdict(findings, rule.final, 0.0)
    wait = findings.tries * news.retry_seconds
    if news.retry_after and findings.retry_after_seconds is not None:
        wait = max(wait, min(findings.retry_after_seconds, news.max_delay_seconds))
    return Verdict(findings, State.PENDING, now + wait)
