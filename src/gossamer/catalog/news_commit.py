"""What visits mean for news: downloads end, feeds are planned anew, stories become known.

Runs inside the transaction that commits the visits, so that a story, the download of its page and
the end of the download of its feed are durable together: none can be lost or made twice.
"""

import datetime as dt
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.discover import discover
from gossamer.catalog.extractions import queue as queue_extraction
from gossamer.catalog.leases import json_list
from gossamer.catalog.memory import Memory
from gossamer.catalog.polling import FeedState, Poll, failure_of, plan
from gossamer.catalog.pushes import note_hub
from gossamer.catalog.queries import load_queries
from gossamer.catalog.tally import Tally
from gossamer.config.news import NewsSettings
from gossamer.messages import NOT_MODIFIED_STATUS, Findings, Found, Kind
from gossamer.outcomes import FOREVER, RULES, Outcome, State, name_of
from gossamer.reports import FeedReport, Hints, Sighting
from gossamer.url.address import port_refusal
from gossamer.url.parts import host_of, md5_of, port_of

NEWS: Final = load_queries("news.sql")
REDUNDANT: Final = "(redundant feed)"
UNSUPPORTED: Final = "(unsupported content type)"
_INTERRUPTED: Final = "it was being fetched when the crawl ended"
_ON_TIME_SECONDS: Final = 60.0
_MAX_ERROR: Final = 500
_KEYS_AT_ONCE: Final = 256
_FEED_CONFIDENCE: Final = 0.8
_PERMANENT: Final = frozenset({301, 308})


class Type(IntEnum):
    """What a URL is downloaded as."""

    FEED = 0
    CONTENT = 1


class DownloadState(IntEnum):
    """Where a download stands; the first two are those of its URL."""

    PENDING = 0
    FETCHING = 1
    SUCCESS = 2
    ERROR = 3
    FEED_ERROR = 4


class Rules(Struct, frozen=True):
    """What news needs to know of the settings."""

    news: NewsSettings
    allowed_ports: tuple[int, ...] = ()


class Download(Struct, frozen=True, gc=False):
    """An open download."""

    download_id: int
    type: int
    doc_id: int
    feed_id: int | None
    story_id: int | None
    retries: int
    hops: int


class FeedFacts(Struct, frozen=True, gc=False):
    """What the end of a poll needs to know of a feed."""

    source_id: int
    enabled: bool
    last_attempt_at: float | None
    last_new_story_at: float | None
    last_checksum: bytes | None
    failures: float
    successes_in_a_row: int
    interval_seconds: float | None
    ttl_seconds: float | None
    content_delay_seconds: float
    title: str
    form: str


class Target(Struct, frozen=True, gc=False):
    """A URL that is wanted, as the catalog knows it."""

    doc_id: int
    host_id: int
    state: int
    outcome: int | None
    last_page: int | None
    kind: int
    tries: int


class NewsCommit:
    """One transaction's worth of news."""

    def __init__(
        self, connection: sqlite3.Connection, memory: Memory, rules: Rules, now: float
    ) -> None:
        self._connection = connection
        self._memory = memory
        self._rules = rules
        self._settings = rules.news
        self._now = now
        self._tally = Tally()
        self._wanted = 0

    # ------------------------------------------------------------ feeds that are due

    def raise_feeds(self, limit: int) -> int:
        """Make downloads of feeds whose time has come (S4.17); return how many."""
        execute = self._connection.execute
        rows = execute(NEWS["feeds_due"], (self._now, limit)).fetchall()
        wanted: set[int] = set()
        for feed_id, url, due_at, *target in rows:
            # What is polled in time is planned from when it was due, so that delays do not drift.
            on_time = due_at > 0 and self._now - due_at < _ON_TIME_SECONDS
            execute(NEWS["feed_attempted"], (due_at if on_time else self._now, feed_id))
            doc_id = target[0]
            self._open(Type.FEED, doc_id, url, feed_id=feed_id)
            # Sources may share a feed: it is fetched once for all of them.
            if doc_id not in wanted:
                wanted.add(doc_id)
                self._want(Target(*target), Kind.FEED)
        self._finish()
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
        self._finish()
        return self._wanted

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

    def _follow(self, download: Download, findings: Findings, url: str) -> None:
        """Go on where a redirect leads; what is there already need not be fetched again."""
        if download.hops >= self._settings.max_redirects:
            error = f"{name_of(Outcome.REDIR_TOO_MANY)}: more than {download.hops} redirects"
            self._fail(download, findings, error)
            return
        kind = Kind.FEED if download.type == Type.FEED else Kind.PAGE
        target = self._target(url, findings.doc_id)
        if target is None:
            self._fail(download, findings, f"{name_of(Outcome.REDIR_BAD)}: {url[:200]}")
            return
        self._connection.execute(NEWS["move_download"], (target.doc_id, download.download_id))
        if download.type == Type.FEED and findings.status in _PERMANENT and not download.hops:
            self._connection.execute(NEWS["feed_moved"], (target.doc_id, download.feed_id))
        if kind is Kind.PAGE and target.state == State.DONE and target.last_page is not None:
            self._succeed(download, target.last_page)
        else:
            self._want(target, kind)

    def _arrived(self, findings: Findings, downloads: Sequence[Download]) -> None:
        last_fetch, last_page = self._connection.execute(
            NEWS["latest_fetch"], (findings.doc_id,)
        ).fetchone()
        for download in downloads:
            if download.type == Type.FEED:
                self._read_feed(download, findings, last_fetch)
            elif findings.status == NOT_MODIFIED_STATUS:
                self._succeed(download, last_page)
            elif findings.body_bytes and findings.pointer is None:
                self._end(download, DownloadState.SUCCESS, last_fetch, content=UNSUPPORTED)
            else:
                self._succeed(download, last_page)

    def _succeed(self, download: Download, fetch_id: int | None) -> None:
        """Keep the page of a story, and queue its extraction (S4.36)."""
        self._end(download, DownloadState.SUCCESS, fetch_id)
        if download.story_id is not None:
            queue_extraction(self._connection, download.download_id, download.story_id, self._now)

    def _fail(self, download: Download, findings: Findings, error: str) -> None:
        row = self._connection.execute(NEWS["latest_fetch"], (findings.doc_id,)).fetchone()
        fetch_id = row[0] if findings.fetched_at > 0 else None
        self._end(download, DownloadState.ERROR, fetch_id, error=error)
        if download.type == Type.FEED:
            failure = failure_of(findings.outcome, findings.status)
            self._plan(
                download,
                self._feed(download),
                lambda at: Poll(
                    attempted_at=at,
                    failure=failure,
                    retry_after_seconds=findings.retry_after_seconds,
                ),
                error=error,
            )

    def _end(
        self,
        download: Download,
        state: DownloadState,
        fetch_id: int | None,
        *,
        error: str = "",
        content: str | None = None,
    ) -> None:
        self._connection.execute(
            NEWS["end_download"],
            (int(state), self._now, fetch_id, error, content, download.download_id),
        )
        if download.type == Type.FEED:
            pruned = {"feed_id": download.feed_id, "keep": self._settings.keep_downloads}
            self._connection.execute(NEWS["prune_downloads"], pruned)

    # -------------------------------------------------------------------- feeds

    def _feed(self, download: Download) -> FeedFacts:
        row = self._connection.execute(NEWS["feed_facts"], (download.feed_id,)).fetchone()
        return FeedFacts(*row)

    def _read_feed(self, download: Download, findings: Findings, fetch_id: int | None) -> None:
        """Look for new stories, unless the feed is what it was at its last poll (S4.33-S4.35)."""
        feed = self._feed(download)
        if findings.status == NOT_MODIFIED_STATUS:
            self._redundant(download, feed, fetch_id, None)
            return
        report = _report(findings)
        if not report.form:
            error = f"{name_of(Outcome.PARSE_FAILED)}: {report.detail}"[:_MAX_ERROR]
            self._end(download, DownloadState.FEED_ERROR, fetch_id, error=error)
            failure = failure_of(Outcome.PARSE_FAILED, findings.status)
            self._plan(
                download, feed, lambda at: Poll(attempted_at=at, failure=failure), error=error
            )
            return
        if report.hub:
            note_hub(self._connection, download.feed_id or 0, report.hub, report.topic)
        if report.checksum == feed.last_checksum:
            self._redundant(download, feed, fetch_id, report)
            return
        if report.redundant:
            # The feed became another one's while it was fetched: it is looked at once more.
            self._end(download, DownloadState.SUCCESS, fetch_id, content=REDUNDANT)
            self._connection.execute(NEWS["feed_again"], (download.feed_id,))
            return
        new = self._stories(download, feed, report)
        self._end(download, DownloadState.SUCCESS, fetch_id, content=None if new else REDUNDANT)
        self._plan(
            download,
            feed,
            lambda at: Poll(attempted_at=at, stories=len(report.sightings), new_stories=new),
            report=report,
        )

    def _redundant(
        self, download: Download, feed: FeedFacts, fetch_id: int | None, report: FeedReport | None
    ) -> None:
        self._end(download, DownloadState.SUCCESS, fetch_id, content=REDUNDANT)
        self._plan(download, feed, lambda at: Poll(attempted_at=at), report=report)

    def _plan(
        self,
        download: Download,
        feed: FeedFacts,
        poll_at: Callable[[float], Poll],
        *,
        report: FeedReport | None = None,
        error: str = "",
    ) -> None:
        """Keep what a poll brought, and when the next one is due."""
        last = feed.last_attempt_at
        late = last is None or self._now - last > _ON_TIME_SECONDS
        attempted_at = self._now if late or last is None else last
        ttl = feed.ttl_seconds if report is None else report.ttl_seconds
        state = FeedState(
            last_new_story_at=feed.last_new_story_at,
            interval_seconds=feed.interval_seconds,
            ttl_seconds=ttl,
            failures=feed.failures,
            successes_in_a_row=feed.successes_in_a_row,
        )
        poll = poll_at(attempted_at)
        planned = plan(state, poll, self._settings)
        goes_on = feed.enabled and not planned.give_up
        self._connection.execute(
            NEWS["feed_polled"],
            {
                "feed_id": download.feed_id,
                "due_at": planned.due_at if goes_on else None,
                "attempted_at": attempted_at,
                "success_at": None if poll.failure else self._now,
                "new_story_at": planned.state.last_new_story_at,
                "checksum": report.checksum if report is not None else feed.last_checksum,
                "error": error,
                "failures": planned.state.failures,
                "successes": planned.state.successes_in_a_row,
                "interval": planned.state.interval_seconds,
                "ttl": ttl,
                "title": feed.title or (report.title if report is not None else ""),
                "form": report.form if report is not None else feed.form,
                "give_up": planned.give_up,
                "why": f"failed too often, the last time: {error}",
            },
        )

    # ------------------------------------------------------------------- stories

    def _stories(self, download: Download, feed: FeedFacts, report: FeedReport) -> int:
        """Enter what is new by URL, guid and title (S4.30, S4.31); return how many stories."""
        known = self._known_keys(feed.source_id, report.sightings)
        new = 0
        for sighting in report.sightings:
            story_id = next((known[key] for key in sighting.keys if key in known), None)
            if story_id is None:
                story_id = self._same_title(feed.source_id, sighting)
            if story_id is None:
                story_id = self._new_story(download, feed, sighting)
                new += 1
            fresh = [key for key in sighting.keys if key not in known]
            known.update(dict.fromkeys(fresh, story_id))
            self._connection.executemany(
                NEWS["insert_key"], [(feed.source_id, key, story_id) for key in fresh]
            )
            self._connection.execute(NEWS["insert_seen"], (story_id, download.feed_id, self._now))
        return new

    def _known_keys(self, source_id: int, sightings: Sequence[Sighting]) -> dict[bytes, int]:
        keys = list(dict.fromkeys(key for sighting in sightings for key in sighting.keys))
        known: dict[bytes, int] = {}
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            # As many placeholders each time, so that one prepared statement serves all.
            some += some[-1:] * (_KEYS_AT_ONCE - len(some))
            known.update(self._connection.execute(_KNOWN_KEYS, (source_id, *some)))
        return known

    def _same_title(self, source_id: int, sighting: Sighting) -> int | None:
        if sighting.title_key is None:
            return None
        week = week_of(sighting.published, self._now)
        row = self._connection.execute(
            NEWS["story_of_title"], (source_id, week, sighting.title_key)
        ).fetchone()
        return None if row is None else int(row[0])

    def _new_story(self, download: Download, feed: FeedFacts, sighting: Sighting) -> int:
        """Enter a story, and a download of its page (S4.32)."""
        target = self._target(sighting.url, download.doc_id)
        assert target is not None
        published = sighting.published
        hints = Hints(
            title=sighting.title,
            published=published,
            authors=sighting.authors,
            tags=sighting.tags,
            description=sighting.description,
            language=sighting.language,
            image=sighting.image,
            content_html=sighting.content_html,
        )
        story_id = self._connection.execute(
            NEWS["insert_story"],
            (
                feed.source_id, target.doc_id, sighting.url, sighting.guid, sighting.title,
                sighting.title_key, week_of(published, self._now), self._now,
                self._now if published is None else published,
                "download" if published is None else "feed",
                0.0 if published is None else _FEED_CONFIDENCE,
                _json(sighting.authors), sighting.language, sighting.description, sighting.image,
                _json(sighting.tags), msgspec.json.encode(hints).decode(),
            ),
        ).lastrowid or 0  # fmt: skip
        download_id = self._open(
            Type.CONTENT, target.doc_id, sighting.url, feed_id=download.feed_id, story_id=story_id
        )
        self._fetch_story(target, download_id, story_id, feed.content_delay_seconds)
        return story_id

    def _fetch_story(
        self, target: Target, download_id: int, story_id: int, delay_seconds: float
    ) -> None:
        opened = Download(download_id, int(Type.CONTENT), target.doc_id, None, story_id, 0, 0)
        if target.state == State.EXCLUDED and target.outcome == Outcome.POLICY_PORT:
            error = f"{name_of(Outcome.POLICY_PORT)}: its port is not among those allowed"
            self._end(opened, DownloadState.ERROR, None, error=error)
        elif target.state == State.DONE and target.last_page is not None:
            # Another source has it, too, or a crawl was there before.
            self._succeed(opened, target.last_page)
        else:
            self._want(target, Kind.PAGE, delay_seconds)

    # ------------------------------------------------------------------ URLs wanted

    def _open(
        self,
        kind: Type,
        doc_id: int,
        url: str,
        *,
        feed_id: int | None = None,
        story_id: int | None = None,
    ) -> int:
        values = (int(kind), doc_id, feed_id, story_id, url, self._now)
        return self._connection.execute(NEWS["insert_download"], values).lastrowid or 0

    def _target(self, url: str, parent: int) -> Target | None:
        """Return the row of a URL, which becomes known if it is not."""
        row = self._connection.execute(NEWS["url_by_md5"], (md5_of(url),)).fetchone()
        if row is None:
            found = Found(url, md5_of(url), host_of(url), depth=1)
            if port_refusal(port_of(url), self._rules.allowed_ports) is not None:
                found = msgspec.structs.replace(
                    found, state=int(State.EXCLUDED), outcome=int(Outcome.POLICY_PORT)
                )
            discover(self._connection, self._memory, self._tally, [(found, parent)], self._now)
            row = self._connection.execute(NEWS["url_by_md5"], (md5_of(url),)).fetchone()
        return None if row is None else Target(*row)

    def _want(self, target: Target, kind: Kind, delay_seconds: float = 0.0) -> None:
        """Have a URL fetched, unless it is about to be."""
        due_at = self._now + delay_seconds if delay_seconds > 0 else 0.0
        self._wanted += 1
        if target.state in (State.PENDING, State.LEASED):
            if due_at and target.state == State.PENDING and not target.tries:
                self._connection.execute(NEWS["delay_url"], (due_at, target.doc_id))
            if kind is Kind.FEED and target.kind != kind:
                self._connection.execute(NEWS["want_as"], (int(kind), target.doc_id))
            return
        query = "want_excluded_url" if target.state == State.EXCLUDED else "want_url"
        self._connection.execute(NEWS[query], (due_at, int(kind), target.doc_id))
        self._tally.move(target.host_id, target.state, State.PENDING, due_at)
        if target.state == State.EXCLUDED:
            self._tally.judge(target.outcome, None)

    def _finish(self) -> None:
        self._tally.write(self._connection, self._memory.new_turn(), self._now)


_KNOWN_KEYS: Final = NEWS["known_keys"].replace("(?)", f"({','.join('?' * _KEYS_AT_ONCE)})")


def week_of(published: float | None, now: float) -> int:
    """Return ISO year and week of a publication, or of now, in UTC (D5)."""
    moment = now if published is None else published
    try:
        date = dt.datetime.fromtimestamp(moment, dt.UTC)
    except (ValueError, OverflowError, OSError):
        date = dt.datetime.fromtimestamp(now, dt.UTC)
    year, week, _ = date.isocalendar()
    return year * 100 + week


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
    return ": ".join(word for word in words if word)[:_MAX_ERROR]


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()
