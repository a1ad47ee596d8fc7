"""Downloads: opened when a URL is wanted for something, ended with what became of it.

Works inside the transaction of its caller. A download is what a URL is wanted for; where it stands
meanwhile is told by the URL, which becomes pending here.
"""

import sqlite3
from enum import IntEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.discover import discover
from gossamer.catalog.extractions import queue as queue_extraction
from gossamer.catalog.memory import Memory
from gossamer.catalog.queries import load_queries
from gossamer.catalog.tally import Tally
from gossamer.catalog.waiting import keep_out
from gossamer.config.news import NewsSettings
from gossamer.messages import Found, Kind
from gossamer.outcomes import Outcome, State
from gossamer.url.address import port_refusal
from gossamer.url.parts import host_of, md5_of, port_of

NEWS: Final = load_queries("news.sql")
REDUNDANT: Final = "(redundant feed)"
UNSUPPORTED: Final = "(unsupported content type)"
_UNWANTED: Final = "its feed is not polled any more"
# A feed of an older workspace may have any number of tries: some are forgotten at each poll.
_PRUNED_AT_ONCE: Final = 1_000


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


class Target(Struct, frozen=True, gc=False):
    """A URL that is wanted, as the catalog knows it."""

    doc_id: int
    host_id: int
    state: int
    outcome: int | None
    last_page: int | None
    kind: int
    tries: int


class DownloadBook:
    """The downloads of one transaction."""

    def __init__(
        self, connection: sqlite3.Connection, memory: Memory, rules: Rules, now: float
    ) -> None:
        self._connection = connection
        self._memory = memory
        self._rules = rules
        self._now = now
        self._tally = Tally()
        self.wanted = 0
        """How many URLs are to be fetched because of this transaction."""

    def open(
        self,
        kind: Type,
        doc_id: int,
        url: str,
        *,
        feed_id: int | None = None,
        story_id: int | None = None,
    ) -> int:
        """Note what a URL is wanted for; return the number of the download."""
        values = (int(kind), doc_id, feed_id, story_id, url, self._now)
        return self._connection.execute(NEWS["insert_download"], values).lastrowid or 0

    def target(self, url: str, parent: int) -> Target | None:
        """Return the row of a URL, which becomes known if it is not."""
        row = self._connection.execute(NEWS["url_by_md5"], (md5_of(url),)).fetchone()
        if row is None:
            found = Found(url, md5_of(url), host_of(url), depth=1)
            if port_refusal(port_of(url), self._rules.allowed_ports) is not None:
                found = replace(found, state=int(State.EXCLUDED), outcome=int(Outcome.POLICY_PORT))
            discover(self._connection, self._memory, self._tally, [(found, parent)], self._now)
            row = self._connection.execute(NEWS["url_by_md5"], (md5_of(url),)).fetchone()
        return None if row is None else Target(*row)

    def want(self, target: Target, kind: Kind, delay_seconds: float = 0.0) -> None:
        """Have a URL fetched, unless it is about to be."""
        due_at = self._now + delay_seconds if delay_seconds > 0 else 0.0
        self.wanted += 1
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

    def succeed(self, download: Download, fetch_id: int | None) -> None:
        """Keep the page of a story, and queue its extraction (S4.36)."""
        self.end(download, DownloadState.SUCCESS, fetch_id)
        if download.story_id is not None:
            queue_extraction(self._connection, download.download_id, download.story_id, self._now)

    def end(
        self,
        download: Download,
        state: DownloadState,
        fetch_id: int | None,
        *,
        error: str = "",
        content: str | None = None,
    ) -> None:
        """End a download; of a feed, only the latest are kept."""
        self._connection.execute(
            NEWS["end_download"],
            (int(state), self._now, fetch_id, error, content, download.download_id),
        )
        if download.type == Type.FEED:
            pruned = {"feed_id": download.feed_id, "keep": self._rules.news.keep_downloads}
            self._connection.execute(NEWS["prune_downloads"], pruned)

    def end_waiting(self, feed_id: int | None) -> None:
        """End polls that wait for another try: who is not to be polled is not asked once more."""
        execute = self._connection.execute
        for download_id, doc_id in execute(NEWS["waiting_polls"], (feed_id,)).fetchall():
            ended = (int(DownloadState.ERROR), self._now, None, _UNWANTED, None, download_id)
            execute(NEWS["end_download"], ended)
            if not execute(NEWS["is_wanted"], (doc_id,)).fetchone()[0]:
                why = Outcome.POLICY_SCOPE, _UNWANTED
                keep_out(self._connection, self._tally, [doc_id], *why)

    def prune_tries(self, doc_id: int) -> None:
        """Forget the older tries of a feed, but none that something refers to.

        The latest with a document in the archive stays, too: a 304 vouches for that one.
        """
        keep = self._rules.news.keep_downloads
        look = {"doc_id": doc_id, "most": keep + _PRUNED_AT_ONCE}
        tries = self._connection.execute(NEWS["tries_of"], look).fetchall()
        if len(tries) <= keep:
            return
        latest, has_document = tries[keep - 1][0], any(stored for *_, stored in tries[:keep])
        gone: list[tuple[int]] = []
        links: list[tuple[int | None, int]] = []
        for fetch_id, _, stored in tries[keep:]:
            if (stored and not has_document) or self._is_referred_to(fetch_id, doc_id):
                has_document = has_document or stored
                links.append((fetch_id, latest))
                latest = fetch_id
            else:
                gone.append((fetch_id,))
        if gone:
            self._connection.executemany(NEWS["link_try"], [*links, (tries[-1][1], latest)])
            self._connection.executemany(NEWS["delete_try"], gone)

    def _is_referred_to(self, fetch_id: int, doc_id: int) -> bool:
        names = {"fetch_id": fetch_id, "doc_id": doc_id}
        return bool(self._connection.execute(NEWS["is_referred_to"], names).fetchone()[0])

    def close(self) -> None:
        """Write down what moved; the last thing in a transaction."""
        self._tally.write(self._connection, self._memory.new_turn(), self._now)
