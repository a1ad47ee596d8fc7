"""What visits mean for news: downloads end, feeds are planned anew, stories become known.

Runs inside the transaction that commits the visits, so that a story, the download of its page and
the end of the download of its feed are durable together: none can be lost or made twice.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.download_book import (
    NEWS,
    REDUNDANT,
    UNSUPPORTED,
    Download,
    DownloadBook,
    DownloadState,
    Rules,
    Target,
    Type,
)
from gossamer.catalog.feed_plans import ON_TIME_SECONDS, FeedFacts, FeedPlans
from gossamer.catalog.leases import json_list
from gossamer.catalog.memory import Memory
from gossamer.catalog.new_stories import NewStories
from gossamer.catalog.polling import Poll, failure_of
from gossamer.catalog.pushes import note_hub
from gossamer.messages import NOT_MODIFIED_STATUS, Findings, Kind
from gossamer.outcomes import FOREVER, RULES, Outcome, State, name_of
from gossamer.reports import FeedReport

_INTERRUPTED: Final = "it was being fetched when the crawl ended"
_MAX_ERROR: Final = 500
_PERMANENT: Final = frozenset({301, 308})


class NewsCommit:
    """One transaction's worth of news."""

    def __init__(
        self, connection: sqlite3.Connection, memory: Memory, rules: Rules, now: float
    ) -> None:
        self._connection = connection
        self._now = now
        self._max_redirects = rules.news.max_redirects
        self._longest_delay = rules.news.max_delay_seconds
        self._book = DownloadBook(connection, memory, rules, now)
        self._feeds = FeedPlans(connection, rules.news, now)
        self._stories = NewStories(connection, self._book, now)

    # ------------------------------------------------------------ feeds that are due

    def raise_feeds(self, limit: int) -> int:
        """Make downloads of feeds whose time has come (S4.17); return how many."""
        execute = self._connection.execute
        execute(NEWS["cut_feed_waits"], (self._now + self._longest_delay,))
        rows = execute(NEWS["feeds_due"], (self._now, limit)).fetchall()
        wanted: set[int] = set()
        for feed_id, url, due_at, *target in rows:
            # What is polled in time is planned from when it was due, so that delays do not drift.
            on_time = due_at > 0 and self._now - due_at < ON_TIME_SECONDS
            execute(NEWS["feed_attempted"], (due_at if on_time else self._now, feed_id))
            doc_id = target[0]
            self._book.open(Type.FEED, doc_id, url, feed_id=feed_id)
            # Sources may share a feed: it is fetched once for all of them.
            if doc_id not in wanted:
                wanted.add(doc_id)
                self._book.want(Target(*target), Kind.FEED)
        self._book.close()
        return len(rows)

    # ------------------------------------------------------------- what visits brought

    def apply(self, verdicts: Sequence[Verdict], stale: Iterable[int]) -> int:
        """Let visits count for the downloads that wanted them; return how many more are wanted."""
        gone = frozenset(stale)
        live = [each for each in verdicts if each.findings.doc_id not in gone]
        wanted = self._open_downloads(each.findings.doc_id for each in live)
        for verdict in live:
            downloads = wanted.get(verdict.findings.doc_id)
            if downloads:
                self._judge(verdict, downloads)
                if any(download.type == Type.FEED for download in downloads):
                    self._book.prune_tries(verdict.findings.doc_id)
        self._book.close()
        return self._book.wanted

    def interrupted(self) -> None:
        """Count what was being fetched when the last run ended as a try."""
        self._connection.execute(NEWS["count_interrupted"], (_INTERRUPTED,))

    def _open_downloads(self, doc_ids: Iterable[int]) -> dict[int, list[Download]]:
        wanted: dict[int, list[Download]] = {}
        for row in self._connection.execute(NEWS["open_downloads"], (json_list(doc_ids),)):
            wanted.setdefault(row[2], []).append(Download(*row))
        return wanted

    def _judge(self, verdict: Verdict, downloads: Sequence[Download]) -> None:
        findings = verdict.findings
        if verdict.state is State.PENDING:
            self._try_again(findings, downloads)
        elif verdict.state is State.DONE and findings.redirect_to is not None:
            for download in downloads:
                self._follow(download, findings, findings.redirect_to)
        elif verdict.state is State.DONE and findings.is_page:
            self._arrived(findings, downloads)
        else:
            for download in downloads:
                self._fail(download, findings, _error(findings))

    def _try_again(self, findings: Findings, downloads: Sequence[Download]) -> None:
        counts = int(RULES[findings.outcome].tries != FOREVER)
        error = _error(findings)
        for download in downloads:
            self._connection.execute(NEWS["retry_download"], (counts, error, download.download_id))
            if download.type == Type.FEED:
                self._connection.execute(NEWS["feed_failing"], (error, download.feed_id))
                if not self._feeds.facts(download).enabled:
                    # Disabled while it was fetched.
                    self._book.end_waiting(download.feed_id)

    def _follow(self, download: Download, findings: Findings, url: str) -> None:
        """Go on where a redirect leads; what is there already need not be fetched again."""
        if download.hops >= self._max_redirects:
            error = f"{name_of(Outcome.REDIR_TOO_MANY)}: more than {download.hops} redirects"
            self._fail(download, findings, error)
            return
        kind = Kind.FEED if download.type == Type.FEED else Kind.PAGE
        target = self._book.target(url, findings.doc_id)
        if target is None:
            self._fail(download, findings, f"{name_of(Outcome.REDIR_BAD)}: {url[:200]}")
            return
        self._connection.execute(NEWS["move_download"], (target.doc_id, download.download_id))
        if download.type == Type.FEED and findings.status in _PERMANENT and not download.hops:
            self._connection.execute(NEWS["feed_moved"], (target.doc_id, download.feed_id))
        if kind is Kind.PAGE and target.state == State.DONE and target.last_page is not None:
            self._book.succeed(download, target.last_page)
        else:
            self._book.want(target, kind)

    def _arrived(self, findings: Findings, downloads: Sequence[Download]) -> None:
        last_fetch, last_page = self._connection.execute(
            NEWS["latest_fetch"], (findings.doc_id,)
        ).fetchone()
        for download in downloads:
            if download.type == Type.FEED:
                self._read_feed(download, findings, last_fetch)
            elif findings.status == NOT_MODIFIED_STATUS:
                self._book.succeed(download, last_page)
            elif findings.body_bytes and findings.pointer is None:
                self._book.end(download, DownloadState.SUCCESS, last_fetch, content=UNSUPPORTED)
            else:
                self._book.succeed(download, last_page)

    def _fail(self, download: Download, findings: Findings, error: str) -> None:
        row = self._connection.execute(NEWS["latest_fetch"], (findings.doc_id,)).fetchone()
        fetch_id = row[0] if findings.fetched_at > 0 else None
        self._book.end(download, DownloadState.ERROR, fetch_id, error=error)
        if download.type == Type.FEED:
            failure = failure_of(findings.outcome, findings.status)
            self._feeds.polled(
                download,
                self._feeds.facts(download),
                lambda at: Poll(
                    attempted_at=at,
                    failure=failure,
                    retry_after_seconds=findings.retry_after_seconds,
                ),
                error=error,
            )

    # -------------------------------------------------------------------- feeds

    def _read_feed(self, download: Download, findings: Findings, fetch_id: int | None) -> None:
        """Look for new stories, unless the feed is what it was at its last poll (S4.33-S4.35)."""
        feed = self._feeds.facts(download)
        if findings.status == NOT_MODIFIED_STATUS:
            if self._feeds.has_read(feed, findings.doc_id):
                self._redundant(download, feed, fetch_id, None)
            else:
                self._look_again(download, fetch_id)
            return
        report = _report(findings)
        if not report.form:
            error = f"{name_of(Outcome.PARSE_FAILED)}: {report.detail}"[:_MAX_ERROR]
            self._book.end(download, DownloadState.FEED_ERROR, fetch_id, error=error)
            failure = failure_of(Outcome.PARSE_FAILED, findings.status)
            self._feeds.polled(
                download, feed, lambda at: Poll(attempted_at=at, failure=failure), error=error
            )
            return
        if report.hub:
            note_hub(self._connection, download.feed_id or 0, report.hub, report.topic)
        if report.checksum == feed.last_checksum:
            self._redundant(download, feed, fetch_id, report)
            return
        if report.redundant:
            self._look_again(download, fetch_id)
            return
        new = self._stories.enter(download, feed, report)
        self._book.end(
            download, DownloadState.SUCCESS, fetch_id, content=None if new else REDUNDANT
        )
        self._feeds.polled(
            download,
            feed,
            lambda at: Poll(attempted_at=at, stories=len(report.sightings), new_stories=new),
            report=report,
        )

    def _redundant(
        self, download: Download, feed: FeedFacts, fetch_id: int | None, report: FeedReport | None
    ) -> None:
        self._book.end(download, DownloadState.SUCCESS, fetch_id, content=REDUNDANT)
        self._feeds.polled(download, feed, lambda at: Poll(attempted_at=at), report=report)

    def _look_again(self, download: Download, fetch_id: int | None) -> None:
        """Poll once more: another feed's document became this one's while it was fetched."""
        self._book.end(download, DownloadState.SUCCESS, fetch_id, content=REDUNDANT)
        self._connection.execute(NEWS["feed_again"], (download.feed_id,))


def _report(findings: Findings) -> FeedReport:
    for record in findings.records:
        try:
            return msgspec.json.decode(record, type=FeedReport)
        except msgspec.DecodeError:
            continue
    return FeedReport(detail=findings.detail or "it was not read as a feed")


def _error(findings: Findings) -> str:
    """Return what went wrong, for people."""
    name = name_of(Outcome(findings.outcome))
    words = [name, f"status {findings.status}" if findings.status else "", findings.detail]
    # The detail of most answers is their status.
    return ": ".join(dict.fromkeys(word for word in words if word))[:_MAX_ERROR]
