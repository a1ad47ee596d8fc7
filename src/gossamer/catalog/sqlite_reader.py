"""What anybody may ask of the catalog on SQLite, also while other processes write.

The readable half of `SqliteCatalog`, which adds what changes the database.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Self

from gossamer.catalog import leases, reading, survey, waiting
from gossamer.catalog.catalog import (
    Counts,
    Excluded,
    FetchRow,
    HostClock,
    HostRow,
    Pending,
    RobotsRecord,
    Surveyed,
    TrapCount,
    UrlRow,
)
from gossamer.catalog.connection import Database
from gossamer.catalog.digest import written_digest
from gossamer.catalog.queries import QUERIES
from gossamer.messages import Pointer
from gossamer.outcomes import PAGE_OUTCOMES, Outcome

_RATE_LIMIT: Final = 1_000_000


class SqliteReader:
    """Answers out of one database; changes nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database; what was committed stays."""
        self._database.close()

    def counts(self) -> Counts:
        """Return where all URLs stand."""
        with self._database.doing("count URLs") as connection:
            row = connection.execute(QUERIES["totals"]).fetchone()
        pending, leased, done, excluded, failed, pages, duplicates, hosts, fetches = row
        return Counts(
            discovered=pending + leased + done + excluded + failed,
            done=done,
            pending=pending,
            leased=leased,
            excluded=excluded,
            failed=failed,
            pages=pages,
            duplicates=duplicates,
            hosts=hosts,
            fetches=fetches,
        )

    def pages_done(self) -> int:
        """Return how many URLs of kind PAGE have a document, over the life of the workspace."""
        return self.counts().pages

    def outcome_counts(self) -> Mapping[Outcome, int]:
        """Return how many URLs ended in each outcome when last tried or judged."""
        with self._database.doing("count outcomes") as connection:
            rows = connection.execute(QUERIES["outcome_counts"]).fetchall()
        return {Outcome(outcome): urls for outcome, urls in rows}

    def fetched_since(self, since: float) -> int:
        """Return how many tries began after a moment, the latest million looked at."""
        with self._database.doing("count fetches") as connection:
            bounds = {"since": since, "limit": _RATE_LIMIT}
            return int(connection.execute(QUERIES["fetched_since"], bounds).fetchone()[0])

    def first_fetched_at(self) -> float | None:
        """Return when the first try began."""
        with self._database.doing("read the first fetch") as connection:
            row = connection.execute(QUERIES["first_fetched_at"]).fetchone()
        return None if row is None else float(row[0])

    def last_fetched_at(self) -> float | None:
        """Return when the latest try began."""
        with self._database.doing("read the latest fetch") as connection:
            row = connection.execute(QUERIES["last_fetched_at"]).fetchone()
        return None if row is None else float(row[0])

    def pages_since(self, since: float) -> int:
        """Return how many tries began after a moment and brought a document."""
        with self._database.doing("count pages") as connection:
            outcomes = leases.json_list(int(outcome) for outcome in PAGE_OUTCOMES)
            bounds = {"since": since, "limit": _RATE_LIMIT, "outcomes": outcomes}
            return int(connection.execute(QUERIES["pages_since"], bounds).fetchone()[0])

    def near_duplicate_count(self) -> int:
        """Count documents near to an earlier one; reads every fingerprint."""
        return reading.near_duplicate_count(self._database)

    def host_rows(self, limit: int = 20) -> list[HostRow]:
        """Return the hosts with the most URLs."""
        with self._database.doing("read hosts") as connection:
            rows = connection.execute(QUERIES["host_rows"], (limit,)).fetchall()
        return [HostRow(**dict(zip(HostRow.__struct_fields__, row, strict=True))) for row in rows]

    def host_clocks(self, now: float) -> list[HostClock]:
        """Return the clocks of hosts that may not be visited yet or failed when last visited."""
        with self._database.doing("read host clocks") as connection:
            rows = connection.execute(QUERIES["host_clocks"], {"now": now}).fetchall()
        return [_host_clock(row) for row in rows]

    def host_clock(self, host: str) -> HostClock | None:
        """Return the clock of a host."""
        with self._database.doing("read a host clock") as connection:
            row = connection.execute(QUERIES["host_clock"], (host,)).fetchone()
        return None if row is None else _host_clock(row)

    def robots(self, authority: str) -> RobotsRecord | None:
        """Return the latest robots.txt of an authority."""
        with self._database.doing("read robots") as connection:
            row = connection.execute(QUERIES["robots"], (authority,)).fetchone()
        if row is None:
            return None
        return RobotsRecord(**dict(zip(RobotsRecord.__struct_fields__, row, strict=True)))

    def traps(self, limit: int = 1_000_000) -> list[TrapCount]:
        """Return the counts of shapes of URLs, those in quarantine first."""
        with self._database.doing("read traps") as connection:
            rows = connection.execute(QUERIES["traps"], (limit,)).fetchall()
        return [TrapCount(*row) for row in rows]

    def note(self, key: str) -> str | None:
        """Return a note about the whole crawl."""
        with self._database.doing("read a note") as connection:
            row = connection.execute(QUERIES["note"], (key,)).fetchone()
        return None if row is None else str(row[0])

    def deaths(self, doc_ids: Iterable[int]) -> dict[int, int]:
        """Return how many workers each document has killed, for those that have."""
        with self._database.doing("read deaths") as connection:
            rows = connection.execute(QUERIES["deaths_of"], (leases.json_list(doc_ids),)).fetchall()
        return dict(rows)

    def find(self, url: str) -> UrlRow | None:
        """Return what is known of a canonical URL."""
        with self._database.doing("find a URL") as connection:
            md5 = hashlib.md5(url.encode(), usedforsecurity=False).digest()
            row = connection.execute(QUERIES["doc_id_of"], (md5,)).fetchone()
        return None if row is None else reading.url_row(self._database, row[0])

    def row(self, doc_id: int) -> UrlRow | None:
        """Return what is known of one document."""
        return reading.url_row(self._database, doc_id)

    def history(self, doc_id: int) -> list[FetchRow]:
        """Return all tries of a URL, the latest first."""
        return reading.history(self._database, doc_id)

    def rows(self) -> Iterator[UrlRow]:
        """Go through all URLs in the order of their discovery, in constant memory."""
        return reading.url_rows(self._database)

    def links(self) -> Iterator[tuple[str, str]]:
        """Go through the link graph: pairs of known URLs."""
        return reading.links(self._database)

    def excluded(self) -> Iterator[Excluded]:
        """Go through the URLs that were kept out, for another look when settings have changed."""
        return reading.excluded(self._database)

    def pending(self) -> Iterator[Pending]:
        """Go through the URLs that wait, for another look when settings have changed."""
        return waiting.pending(self._database)

    def renew_view(self) -> None:
        """See the catalog as it is now until the next call: questions then need no locks.

        For readers that ask often; one who never renews keeps the log from being cut back.
        """
        with self._database.doing("renew the view") as connection:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute("BEGIN")

    def find_content(self, checksum: bytes) -> tuple[str, float, str, Pointer] | None:
        """Return URL, time, payload digest and place of the first URL's document with this body."""
        with self._database.doing("find a body") as connection:
            row = connection.execute(QUERIES["find_content"], (checksum,)).fetchone()
        if row is None:
            return None
        return row[0], row[1], written_digest(row[2]), Pointer(row[3], row[4], row[5])

    def bodies_after(self, fetch_id: int, limit: int) -> list[tuple[int, bytes | None]]:
        """Return tries after this one, each with the checksum of the body that it brought."""
        with self._database.doing("read checksums") as connection:
            return connection.execute(QUERIES["bodies_after"], (fetch_id, limit)).fetchall()

    def records(self) -> Iterator[tuple[str, str]]:
        """Go through what handlers made of documents: pairs of URL and JSON."""
        return reading.records(self._database)

    def known(self) -> Iterator[list[tuple[int, bytes, str, int]]]:
        """Go through the URLs in scope, in batches: number, key in the link graph, text, kind."""
        return survey.known(self._database)

    def surveyed(self, doc_id: int) -> Surveyed:
        """Return a document with its links and what a handler noted of it."""
        return self.surveyed_all([doc_id])[doc_id]

    def surveyed_all(self, doc_ids: Collection[int]) -> dict[int, Surveyed]:
        """Return such documents by their numbers."""
        return survey.surveyed(self._database, doc_ids)

    def kept_out_as(self, outcome: Outcome, detail: str) -> int:
        """Return how many URLs are kept out for this reason."""
        return survey.kept_out_as(self._database, int(outcome), detail)

    def known_good(self) -> dict[str, int]:
        """Return up to which offset each archive file is known to be good."""
        with self._database.doing("read archive files") as connection:
            return dict(connection.execute(QUERIES["known_good"]).fetchall())

    def is_sound(self) -> bool:
        """Whether the file can be what was written to it; reads all of it."""
        return reading.is_sound(self._database)

    def check(self) -> list[str]:
        """Return what is wrong with the accounting; nothing is the only good answer."""
        return reading.check(self._database)


def _host_clock(row: tuple[Any, ...]) -> HostClock:
    return HostClock(**dict(zip(HostClock.__struct_fields__, row, strict=True)))
